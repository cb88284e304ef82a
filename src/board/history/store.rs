//! The history's file in `state/`, and the samples that are not in it yet.
//!
//! The file has a fixed size, and rows are overwritten in place, an hour's worth at once: about 1 kB. A sample keeps
//! the uptime at which it was taken until it is written, so that a clock that is set meanwhile puts it in its right
//! place.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::base::limits::board::SAMPLE_INTERVAL;
use crate::sys;
use crate::text::truncate_bytes;

use super::row::{
    COLUMNS, FILE_BYTES, HEADER_BYTES, Header, ROW_BYTES, Slot, Values, decode, encode, offset,
};
use super::{NAME_BYTES, OTHERS, SAMPLES, UNWRITTEN_MAX, WRITTEN_TOGETHER};

/// Rows that are read at once: 9 kB.
const ROWS_AT_ONCE: u32 = 96;

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Milliseconds since 1970, by the wall clock.
    pub now_ms: i64,
    /// Seconds since the machine was started.
    pub uptime: u64,
}

impl Moment {
    /// The slot of something that was at this uptime.
    fn slot_at(self, uptime: u64) -> Slot {
        let since = i64::try_from(self.uptime).unwrap_or(i64::MAX);
        let at = i64::try_from(uptime).unwrap_or(i64::MAX);
        let seconds = (self.now_ms / 1000).saturating_sub(since.saturating_sub(at));
        (seconds.max(0) as u64 / SAMPLE_INTERVAL.as_secs()).min(u64::from(u32::MAX / 2)) as Slot
    }

    /// The slot now.
    pub fn slot(self) -> Slot {
        self.slot_at(self.uptime)
    }
}

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    /// Times that the file was written to.
    pub writes: u64,
    /// Bytes that were written.
    pub bytes: u64,
}

/// The file, and what is not in it yet.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Read when it is needed first.
    header: Option<Header>,
    is_header_written: bool,
    unwritten: Vec<(u64, Values)>,
    wear: Wear,
}

impl Store {
    /// The store at this path. Nothing is read or written yet.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            header: None,
            is_header_written: true,
            unwritten: Vec::new(),
            wear: Wear::default(),
        }
    }

    /// How much this store has written.
    pub fn wear(&self) -> Wear {
        self.wear
    }

    /// The names of the columns behind the built-in ones that are in use.
    pub fn names(&self) -> Vec<String> {
        let header = self.read_header();
        let names = header.names.into_iter().map(|(name, _)| name);
        names.filter(|name| !name.is_empty()).collect()
    }

    /// The column of a name, and the first slot that is its own.
    pub fn column(&self, name: &str) -> Option<(usize, Slot)> {
        let header = self.read_header();
        let place = header.names.iter().position(|(known, _)| known == name)?;
        let (_, since) = header.names.get(place)?;
        Some((header.column(name)?, *since))
    }

    /// Takes a sample: the values of the built-in quantities, and others with their names, of which those
    /// beyond `OTHERS` are left out.
    pub fn add(&mut self, moment: Moment, built_in: &[f32], others: &[(String, f64)]) {
        let mut values: Values = [f32::NAN; COLUMNS];
        for (place, value) in values.iter_mut().zip(built_in) {
            *place = *value;
        }
        let others = others.get(..OTHERS).unwrap_or(others);
        let short = |name: &str| truncate_bytes(name, NAME_BYTES).to_owned();
        let names: Vec<String> = others.iter().map(|(name, _)| short(name)).collect();
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut header = self.read_header();
        for (name, (_, value)) in names.iter().zip(others) {
            let known = header.column(name).is_some();
            let column = header.assign(name, moment.slot(), &wanted);
            if !known && let Some(column) = column {
                // What was there before belongs to another name.
                self.is_header_written = false;
                for (_, values) in &mut self.unwritten {
                    if let Some(place) = values.get_mut(column) {
                        *place = f32::NAN;
                    }
                }
            }
            if let Some(place) = column.and_then(|column| values.get_mut(column)) {
                *place = *value as f32;
            }
        }
        self.header = Some(header);
        if self.unwritten.len() >= UNWRITTEN_MAX {
            self.unwritten.remove(0);
        }
        self.unwritten.push((moment.uptime, values));
    }

    /// Whether enough has been collected to be written.
    pub fn is_due(&self) -> bool {
        self.unwritten.len() >= WRITTEN_TOGETHER
    }

    /// Writes what is not in the file yet. Call it only while the clock can be trusted. What could not be
    /// written is tried again with the next samples.
    pub fn write(&mut self, moment: Moment) -> Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let file = self.open_to_write()?;
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        if !self.is_header_written
            && let Some(header) = &mut self.header
        {
            header.generation = header.generation.wrapping_add(1);
            // They may have come while the clock was wrong.
            for (_, since) in &mut header.names {
                *since = (*since).min(moment.slot());
            }
            pieces.push((header.offset(), header.encode()));
        }
        for (uptime, values) in &self.unwritten {
            let slot = moment.slot_at(*uptime);
            let (place, row) = (offset(slot), encode(slot, values));
            match pieces.last_mut() {
                Some((start, bytes)) if *start + bytes.len() as u64 == place => bytes.extend(row),
                _ => pieces.push((place, row)),
            }
        }
        let written = pieces.iter().try_for_each(|(place, bytes)| {
            self.wear.bytes += bytes.len() as u64;
            file.write_all_at(bytes, *place)
        });
        self.wear.writes += 1;
        written.map_err(Error::io("write", &self.path))?;
        self.is_header_written = true;
        self.unwritten.clear();
        Ok(())
    }

    /// The values of some columns from one slot up to now, a slot after another; what is not known is not a
    /// number.
    pub fn read(&self, columns: &[usize], since: Slot, moment: Moment) -> Vec<Vec<f32>> {
        let now = moment.slot();
        let since = since.max(now.saturating_sub(SAMPLES as u32 - 1));
        let count = (now + 1).saturating_sub(since) as usize;
        let mut found = vec![vec![f32::NAN; count]; columns.len()];
        let mut put = |slot: Slot, values: &Values| {
            let Some(index) = slot.checked_sub(since) else {
                return;
            };
            for (series, column) in found.iter_mut().zip(columns) {
                let place = series.get_mut(index as usize);
                if let (Some(place), Some(value)) = (place, values.get(*column)) {
                    *place = *value;
                }
            }
        };
        if let Some(file) = self.open_to_read() {
            read_rows(&file, since, now, &mut put);
        }
        for (uptime, values) in &self.unwritten {
            put(moment.slot_at(*uptime), values);
        }
        found
    }

    fn read_header(&self) -> Header {
        if let Some(header) = &self.header {
            return header.clone();
        }
        let mut bytes = [0; 2 * HEADER_BYTES];
        let read = self
            .open_to_read()
            .map(|file| file.read_exact_at(&mut bytes, 0));
        match read {
            Some(Ok(())) => Header::newest(&bytes).unwrap_or_default(),
            _ => Header::default(),
        }
    }

    /// The file, if it is one of ours.
    fn open_to_read(&self) -> Option<File> {
        let file = sys::file::open_to_read(&self.path).ok()?;
        is_whole(&file).then_some(file)
    }

    /// The file, which is begun where there is none. A damaged one gets another name.
    fn open_to_write(&mut self) -> Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        match sys::file::open_regular(&self.path, &mut options) {
            Ok(file) if is_whole(&file) => return Ok(file),
            Ok(_) => {
                let aside = self.path.with_extension("damaged");
                tracing::warn!(
                    "the history of the board is damaged, and begins again; the old file is {}",
                    aside.display()
                );
                std::fs::rename(&self.path, &aside).map_err(Error::io("move", &self.path))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("open", &self.path)(error)),
        }
        if let Some(folder) = self.path.parent() {
            sys::file::private_folder(folder)?;
        }
        let header = self.header.clone().unwrap_or_default();
        // A new file has zeros, which no checksum fits, behind its header.
        let file = sys::file::replace(&self.path, 0o600, |file| {
            file.write_all(&vec![0; header.offset() as usize])?;
            file.write_all(&header.encode())?;
            file.set_len(FILE_BYTES)
        })?;
        self.wear.writes += 1;
        self.wear.bytes += header.offset() + HEADER_BYTES as u64;
        drop(file);
        sys::file::open_regular(&self.path, &mut options).map_err(Error::io("open", &self.path))
    }
}

/// Whether a file has the right size and a good header.
fn is_whole(file: &File) -> bool {
    let mut bytes = [0; 2 * HEADER_BYTES];
    let length = file.metadata().map(|metadata| metadata.len());
    length.is_ok_and(|length| length == FILE_BYTES)
        && file.read_exact_at(&mut bytes, 0).is_ok()
        && Header::newest(&bytes).is_some()
}

/// Reads the rows from one slot to another, as far as they are there.
fn read_rows(file: &File, since: Slot, until: Slot, put: &mut dyn FnMut(Slot, &Values)) {
    let mut buffer = vec![0; ROWS_AT_ONCE as usize * ROW_BYTES];
    let mut slot = since;
    while slot <= until {
        // Up to the end of the ring.
        let to_end = SAMPLES as u32 - slot % SAMPLES as u32;
        let count = (until - slot + 1).min(ROWS_AT_ONCE).min(to_end);
        let bytes = buffer.get_mut(..count as usize * ROW_BYTES);
        if let Some(bytes) = bytes
            && file.read_exact_at(bytes, offset(slot)).is_ok()
        {
            let rows = bytes.chunks_exact(ROW_BYTES).zip(slot..);
            for (row, expected) in rows {
                // Another slot is of an earlier week, or of a clock that was wrong.
                if let Some((found, values)) = decode(row)
                    && found == expected
                {
                    put(found, &values);
                }
            }
        }
        slot += count;
    }
}
