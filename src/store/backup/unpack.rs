//! Reads an archive that may have been made by anyone: gzip (RFC 1952) and tar, within bounds. Only files and folders
//! with plain relative paths come out of it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use crate::sandbox::files::gzip::crc32;
use crate::sandbox::files::tar::{BLOCK, padding};

/// Files and folders in an archive; the paths of all are held meanwhile.
pub const ENTRIES_MAX: usize = 200_000;
/// Bytes of all files together: more than fits on the cards of most boards.
pub const TOTAL_BYTES_MAX: u64 = 64 << 30;
/// Folders within each other.
pub const DEPTH_MAX: usize = 64;
/// Bytes of a path, as the system has it (PATH_MAX less the closing zero).
const PATH_BYTES_MAX: usize = 4095;
/// Bytes of a name in a path (NAME_MAX).
const NAME_BYTES_MAX: usize = 255;
/// Bytes of an extended header, which has a path and a size.
const EXTENDED_BYTES_MAX: u64 = 16 * 1024;
/// Bytes that are read from the file at a time.
const INPUT_BYTES: usize = 16 * 1024;
/// Bytes before the end of a gzip file: checksum and length.
const TRAILER: usize = 8;

pub(super) fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn cut_off() -> io::Error {
    damaged("it is damaged or was cut off")
}

/// Unpacks one gzip file, and checks its end.
pub struct Gunzip<R> {
    from: R,
    input: Vec<u8>,
    /// Bytes of `input` that are used up.
    used: usize,
    state: Box<InflateState>,
    checksum: u32,
    length: u32,
    is_ended: bool,
}

impl<R: Read> Gunzip<R> {
    /// Reads the head.
    pub fn new(mut from: R) -> io::Result<Self> {
        const NAMED: u8 = 8;
        const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
        let mut magic = Vec::new();
        from.by_ref().take(3).read_to_end(&mut magic)?;
        let mut head = [0; 7];
        // A file that is shorter than a head may still not be one.
        if MAGIC.starts_with(&magic) {
            read_whole(&mut from, &mut head)?;
        }
        let [flags, ..] = head;
        if magic != MAGIC || flags & !NAMED != 0 {
            return Err(damaged("it is not a backup"));
        }
        if flags == NAMED {
            let mut byte = [1];
            while byte != [0] {
                read_whole(&mut from, &mut byte)?;
            }
        }
        Ok(Self {
            from,
            input: Vec::new(),
            used: 0,
            state: InflateState::new_boxed(DataFormat::Raw),
            checksum: !0,
            length: 0,
            is_ended: false,
        })
    }

    /// Reads more; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        self.input.drain(..self.used);
        self.used = 0;
        let mut from = self.from.by_ref().take(INPUT_BYTES as u64);
        Ok(from.read_to_end(&mut self.input)? > 0)
    }

    /// Checks what comes after the content: nothing may follow.
    fn end(&mut self) -> io::Result<()> {
        while self.input.len() - self.used <= TRAILER && self.fill()? {}
        let expected = [(!self.checksum).to_le_bytes(), self.length.to_le_bytes()].concat();
        if self.input[self.used..] != *expected {
            return Err(cut_off());
        }
        self.is_ended = true;
        Ok(())
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_ended || to.is_empty() {
                return Ok(0);
            }
            let input = &self.input[self.used..];
            let result = inflate(&mut self.state, input, to, MZFlush::None);
            self.used += result.bytes_consumed;
            let written = &to[..result.bytes_written];
            self.checksum = crc32(self.checksum, written);
            self.length = self.length.wrapping_add(written.len() as u32);
            let written = written.len();
            match result.status {
                Ok(MZStatus::StreamEnd) => self.end()?,
                Ok(_) | Err(MZError::Buf) => {}
                Err(_) => return Err(cut_off()),
            }
            if written > 0 {
                return Ok(written);
            }
            if !self.is_ended && !self.fill()? {
                return Err(cut_off());
            }
        }
    }
}

/// A file or folder of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path: names only, relative.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Bytes of a file.
    pub size: u64,
    /// Its permissions.
    pub mode: u32,
    /// When it was changed, in seconds since 1970.
    pub modified: i64,
}

/// Shows each member of a tar archive, and its content where it is a file. What is wrong is an error of the kind
/// [`io::ErrorKind::InvalidData`]; nothing is shown of a member that is not allowed.
pub fn read_tar(
    from: &mut dyn Read,
    visit: &mut dyn FnMut(&Entry, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let (mut entries, mut total) = (0, 0_u64);
    let mut extended = Extended::default();
    loop {
        let block = read_block(from)?;
        if block.iter().all(|byte| *byte == 0) {
            return read_end(from);
        }
        let header = Header::read(&block)?;
        total = total.saturating_add(BLOCK as u64);
        if header.kind == b'x' {
            extended = Extended::read(from, header.size)?;
            continue;
        }
        let Extended { path, size } = std::mem::take(&mut extended);
        let path = check_path(&path.unwrap_or(header.path))?;
        let shown = || path.as_deref().unwrap_or(Path::new(".")).display();
        let is_folder = match header.kind {
            b'0' | 0 => false,
            b'5' => true,
            _ => {
                let what = format!("{} in it is a link or a device", shown());
                return Err(damaged(what));
            }
        };
        let size = if is_folder {
            0
        } else {
            size.unwrap_or(header.size)
        };
        entries += 1;
        total = total.saturating_add(size);
        if entries > ENTRIES_MAX || total > TOTAL_BYTES_MAX {
            let most = TOTAL_BYTES_MAX >> 30;
            return Err(damaged(format!(
                "it has more than {ENTRIES_MAX} files or {most} GB"
            )));
        }
        let mut content = from.take(size);
        if let Some(path) = path {
            let entry = Entry {
                path,
                is_folder,
                size,
                mode: header.mode,
                modified: header.modified,
            };
            visit(&entry, &mut content)?;
        } else if !is_folder {
            return Err(damaged("a file in it has no name"));
        }
        let left = content.limit();
        if skip(from, left)? < left {
            return Err(cut_off());
        }
        let padding = padding(size) as u64;
        if skip(from, padding)? < padding {
            return Err(cut_off());
        }
    }
}

/// Passes over bytes; returns how many there were.
fn skip(from: &mut dyn Read, bytes: u64) -> io::Result<u64> {
    io::copy(&mut from.take(bytes), &mut io::sink())
}

/// Fills a buffer, for which there have to be bytes.
fn read_whole(from: &mut dyn Read, buffer: &mut [u8]) -> io::Result<()> {
    let read = from.read_exact(buffer);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => cut_off(),
        _ => error,
    })
}

fn read_block(from: &mut dyn Read) -> io::Result<[u8; BLOCK]> {
    let mut block = [0; BLOCK];
    read_whole(from, &mut block)?;
    Ok(block)
}

/// Reads to the end, where only zero bytes may be: tar fills its last record with them.
fn read_end(from: &mut dyn Read) -> io::Result<()> {
    let mut buffer = [0; BLOCK];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        if buffer.iter().take(count).any(|byte| *byte != 0) {
            return Err(damaged("something follows its end"));
        }
    }
}

struct Header {
    path: Vec<u8>,
    kind: u8,
    size: u64,
    mode: u32,
    modified: i64,
}

impl Header {
    fn read(block: &[u8; BLOCK]) -> io::Result<Self> {
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        let own: u32 = block[148..156].iter().map(|byte| u32::from(*byte)).sum();
        if octal(&block[148..156]) != Some(u64::from(sum - own + 8 * u32::from(b' '))) {
            return Err(cut_off());
        }
        let number = |field: &[u8]| octal(field).ok_or_else(|| damaged("a size in it is odd"));
        let mut path = until_zero(&block[..100]).to_vec();
        let prefix = until_zero(&block[345..500]);
        if block[257..].starts_with(b"ustar\0") && !prefix.is_empty() {
            path = [prefix, b"/", &path].concat();
        }
        Ok(Self {
            path,
            kind: block[156],
            size: number(&block[124..136])?,
            mode: number(&block[100..108])? as u32,
            modified: number(&block[136..148])?.cast_signed(),
        })
    }
}

fn until_zero(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number in octal digits between spaces.
fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(until_zero(field)).ok()?.trim();
    u64::from_str_radix(text, 8).ok()
}

/// The extended header of the member that follows.
#[derive(Default)]
struct Extended {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extended {
    fn read(from: &mut dyn Read, size: u64) -> io::Result<Self> {
        if size > EXTENDED_BYTES_MAX {
            return Err(damaged("a path in it is too long"));
        }
        let mut bytes = vec![0; size as usize];
        read_whole(from, &mut bytes)?;
        skip(from, padding(size) as u64)?;
        let mut extended = Self::default();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (record, others) = split_record(rest).ok_or_else(cut_off)?;
            rest = others;
            match record.split_at_checked(5) {
                Some((b"path=", path)) => extended.path = Some(path.to_vec()),
                Some((b"size=", size)) => {
                    let size = std::str::from_utf8(size).ok();
                    let size = size.and_then(|size| size.parse().ok());
                    extended.size = Some(size.ok_or_else(cut_off)?);
                }
                _ => {}
            }
        }
        Ok(extended)
    }
}

/// The first `LENGTH KEY=VALUE` without its length, and what comes behind its newline.
fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
    let record = bytes.get(space + 1..length)?;
    Some((record.strip_suffix(b"\n")?, &bytes[length..]))
}

/// The path of a member; `None` for the top folder. Refuses what could lead elsewhere.
fn check_path(bytes: &[u8]) -> io::Result<Option<PathBuf>> {
    let path = Path::new(OsStr::from_bytes(bytes));
    let refuse = |why: &str| Err(damaged(format!("the path {path:?} in it {why}")));
    if bytes.len() > PATH_BYTES_MAX || bytes.contains(&0) {
        return Err(damaged("a path in it is too long"));
    }
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if name.len() <= NAME_BYTES_MAX => plain.push(name),
            Component::Normal(_) => return refuse("is too long"),
            Component::CurDir => {}
            _ => return refuse("leads elsewhere"),
        }
    }
    match plain.components().count() {
        0 => Ok(None),
        1..=DEPTH_MAX => Ok(Some(plain)),
        _ => refuse("is too deep"),
    }
}

#[cfg(test)]
mod tests;
