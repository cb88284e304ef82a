//! Files of JSON lines that only grow, and lose nothing that was forced to the disk.
//!
//! A torn end is cut off when a log is opened. A write that fails leaves the log as it was. What is
//! dead leaves with a new file that takes the old one's place.

mod line;
mod lines;
mod tail;

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::append_log::COMPACT_BYTES;
use crate::sys;

pub use line::{cut, shorten, to_line};
pub use lines::Lines;
use tail::starts_line;
pub use tail::{Tail, TailLine};

/// Bytes that are reserved beyond what is needed, so that few messages need more: a block of most disks.
const RESERVED_BYTES: u64 = 4096;

/// What an appended line survives once it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: one write and one fdatasync(2).
    Synced,
    /// A kill. A power cut may take it, unless a synced line came after it.
    Buffered,
}

/// An open log. It is locked, so nothing else writes to it.
#[derive(Debug)]
pub struct AppendLog {
    path: PathBuf,
    file: File,
    /// Where the log ends: after the last whole line.
    length: u64,
    /// Up to where the disk has room for it for sure.
    reserved: u64,
    /// Bytes that were cut off when it was opened.
    torn: u64,
    /// Whether a power cut leaves the file under its name.
    is_named: bool,
    /// Whether something may stand behind `length` that a failed write left.
    has_remains: bool,
    /// Size in bytes above which the log may be worth rewriting.
    compact_above: u64,
}

impl Drop for AppendLog {
    fn drop(&mut self) {
        // What cannot be unlocked is unlocked when the last copy of the file is closed.
        let _ = sys::file::unlock(&self.file);
    }
}

impl AppendLog {
    /// Opens the log, or begins it with mode 0600, and cuts a torn end off: a last line that has no
    /// line end or that `is_line` does not know. None when another process has it open.
    pub fn open(path: &Path, is_line: fn(&[u8]) -> bool) -> Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            sys::file::private_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let opened = sys::file::open_regular(path, &mut options);
        let file = opened.map_err(Error::io("open", path))?;
        let is_locked = sys::file::try_lock(&file).map_err(Error::io("lock", path))?;
        // Whoever had it may have put a new file in its place between the two steps above.
        if !is_locked || !is_named(&file, path).map_err(Error::io("open", path))? {
            return Ok(None);
        }
        let (length, torn) = cut_torn_end(&file, is_line).map_err(Error::io("read", path))?;
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            length,
            reserved: 0,
            torn,
            // The first line of all has synced the folder.
            is_named: length > 0,
            has_remains: false,
            compact_above: COMPACT_BYTES,
        }))
    }

    /// Opens a log and hands over each of its facts with the bytes of its line, oldest first.
    ///
    /// Returns what had to be repaired too, as sentences about the log called `what`. Fails when
    /// another process has it open.
    pub fn replay<Fact: DeserializeOwned>(
        path: &Path,
        what: &str,
        mut apply: impl FnMut(Fact, usize),
    ) -> Result<(Self, Vec<String>)> {
        let opened = Self::open(path, |line| json::from_slice::<Fact>(line).is_ok())?;
        let mut log = opened.ok_or_else(|| {
            Error::Failed(format!("{} is in use by another peacrab", path.display()))
        })?;
        let mut read_all = || {
            let mut garbled = 0;
            let mut lines = Lines::new(BufReader::new(&log.file));
            while let Some(line) = lines.following()? {
                match json::from_slice(line) {
                    Ok(fact) => apply(fact, line.len() + 1),
                    Err(_) => garbled += 1,
                }
            }
            Ok(garbled)
        };
        let garbled = read_all().map_err(Error::io("read", path))?;
        // A kill may have come between the rename of a new file and the folder's sync.
        log.is_named = false;
        log.make_named().map_err(Error::io("write", path))?;
        let repairs = log.repairs(what, garbled);
        Ok((log, repairs))
    }

    /// The path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the log ends, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Its lines, the last one first.
    pub fn tail(&self) -> Tail<'_> {
        Tail::new(&self.file, self.length)
    }

    /// Whether a line begins at a place of the log, or may begin there.
    pub fn starts_line(&self, offset: u64) -> io::Result<bool> {
        starts_line(&self.file, offset)
    }

    /// What was repaired, as sentences about the log called `what`: a torn end, and `garbled` lines
    /// that its reader could not read.
    pub fn repairs(&self, what: &str, garbled: usize) -> Vec<String> {
        let mut repairs = Vec::new();
        if self.torn > 0 {
            repairs.push(format!(
                "the last {} bytes of the {what} were torn by a crash and have been cut off",
                self.torn
            ));
        }
        if garbled > 0 {
            repairs.push(format!(
                "{garbled} unreadable lines of the {what} were skipped"
            ));
        }
        repairs
    }

    /// Appends whole lines, all or none. The first ones of a new file sync its folder too.
    pub fn append(&mut self, lines: &[u8], durability: Durability) -> Result<()> {
        if let Err(error) = self.write(lines, durability) {
            // A full disk can leave half a line. Should it not go now, it goes before the next one.
            self.has_remains = true;
            let _ = self.cut_remains();
            return Err(Error::io("write", &self.path)(error));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Makes sure that so many bytes can still be appended when the disk fills up. A file system that cannot promise
    /// that is taken as it is.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.length + bytes as u64 <= self.reserved {
            return Ok(());
        }
        let room = (bytes as u64).next_multiple_of(RESERVED_BYTES) + RESERVED_BYTES;
        sys::file::reserve(&self.file, self.length, room)
            .map_err(Error::io("write", &self.path))?;
        self.reserved = self.length + room;
        Ok(())
    }

    /// Empties the log, of which nothing is needed any more, and starts it again with `lines`, in place.
    pub fn restart(&mut self, lines: &[u8], durability: Durability) -> Result<()> {
        self.file
            .set_len(0)
            .map_err(Error::io("empty", &self.path))?;
        (self.length, self.reserved) = (0, 0);
        self.append(lines, durability)
    }

    /// Rewrites the log as `content`, if it is long and at least half of it is dead: all but
    /// `live` bytes. Returns whether it did.
    ///
    /// A failure is logged and nothing else: the log is as it was, and it is tried again when it has
    /// grown some more.
    pub fn compact(&mut self, live: usize, content: impl FnOnce() -> Vec<u8>) -> bool {
        if self.length <= self.compact_above || 2 * live as u64 > self.length {
            return false;
        }
        if let Err(error) = self.replace(|file| file.write_all(&content())) {
            self.compact_above = self.length + COMPACT_BYTES;
            tracing::warn!("failed to rewrite a log, which keeps growing: {error}");
            return false;
        }
        self.compact_above = COMPACT_BYTES;
        true
    }

    /// Moves everything before the byte `keep`, where a line begins, to a file of its own, and goes on
    /// with `head` and each later line as `edit` returns it.
    ///
    /// A kill at any instant loses nothing: there is a moment at which both files have the later lines.
    /// `archive` must not exist. A failure leaves the log as it was, and no archive.
    pub fn archive(
        &mut self,
        archive: &Path,
        keep: u64,
        head: &[u8],
        mut edit: impl FnMut(&[u8]) -> Vec<u8>,
    ) -> Result<()> {
        let is_linked = self.copy_to(archive, keep)?;
        let mut old = self
            .file
            .try_clone()
            .map_err(Error::io("read", &self.path))?;
        let replaced = self.replace(|new| {
            new.write_all(head)?;
            let mut new = BufWriter::new(new);
            old.seek(SeekFrom::Start(keep))?;
            let mut lines = Lines::new(BufReader::new(&old));
            while let Some(line) = lines.following()? {
                new.write_all(&edit(line))?;
            }
            new.flush()
        });
        if let Err(error) = replaced {
            let _ = std::fs::remove_file(archive);
            return Err(error);
        }
        // Until the new file is found after a power cut, the old one has to be whole.
        if is_linked && self.is_named {
            // The archive is the old file. Should this fail, its last lines are there twice.
            let _ = old.set_len(keep).and_then(|()| old.sync_data());
        }
        Ok(())
    }

    /// Makes the log's beginning known under another name too. Returns whether that is the same file,
    /// with all of it; some file systems of sticks and cards know no links, and get a copy.
    fn copy_to(&self, archive: &Path, keep: u64) -> Result<bool> {
        if let Some(folder) = archive.parent() {
            sys::file::private_folder(folder)?;
        }
        let is_linked = match std::fs::hard_link(&self.path, archive) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::io("make", archive)(error));
            }
            Err(_) => {
                let mut from =
                    sys::file::open_to_read(&self.path).map_err(Error::io("read", &self.path))?;
                let copy = |to: &mut File| io::copy(&mut (&mut from).take(keep), to).map(drop);
                sys::file::replace(archive, 0o600, copy)?;
                false
            }
        };
        if let Err(error) = sync_folder_of(archive) {
            let _ = std::fs::remove_file(archive);
            return Err(Error::io("write", archive)(error));
        }
        Ok(is_linked)
    }

    /// A new file takes the old one's place; from then on lines go there. It fails only while the old one is
    /// in place: a folder that cannot be synced then is synced with the next line.
    fn replace(&mut self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        let mut length = 0;
        self.file = sys::file::replace(&self.path, 0o600, |file| {
            fill(file)?;
            length = file.metadata()?.len();
            // Before anybody can find it.
            sys::file::try_lock(&*file).map(drop)
        })?;
        (self.length, self.reserved) = (length, 0);
        (self.is_named, self.has_remains) = (false, false);
        if let Err(error) = self.make_named() {
            tracing::warn!(
                "failed to sync the folder of {}: {error}",
                self.path.display()
            );
        }
        Ok(())
    }

    fn write(&mut self, lines: &[u8], durability: Durability) -> io::Result<()> {
        self.cut_remains()?;
        crate::base::sync::may_wait_for_disk();
        self.file.write_all(lines)?;
        if durability == Durability::Synced {
            self.file.sync_data()?;
        }
        self.make_named()
    }

    fn cut_remains(&mut self) -> io::Result<()> {
        if self.has_remains {
            self.file.set_len(self.length)?;
            (self.has_remains, self.reserved) = (false, 0);
        }
        Ok(())
    }

    fn make_named(&mut self) -> io::Result<()> {
        if !self.is_named {
            sync_folder_of(&self.path)?;
            self.is_named = true;
        }
        Ok(())
    }
}

/// Makes sure that a new file is found after a power cut.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    tests::fail_sync()?;
    match path.parent() {
        Some(folder) => sys::file::sync_folder(sys::file::open_folder(folder)?.as_fd()),
        None => Ok(()),
    }
}

/// Whether a file is the one that its path leads to.
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let (ours, named) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino()))
}

/// Cuts off everything after the last complete line. Returns the bytes that stay and those that were cut.
fn cut_torn_end(file: &File, is_line: fn(&[u8]) -> bool) -> io::Result<(u64, u64)> {
    let found = file.metadata()?.len();
    let Some(last) = Tail::new(file, found).previous()? else {
        return Ok((found, 0));
    };
    let is_ended = last.offset + (last.bytes.len() as u64) < found;
    if is_ended && is_line(&last.bytes) {
        return Ok((found, 0));
    }
    file.set_len(last.offset)?;
    Ok((last.offset, found - last.offset))
}

#[cfg(test)]
pub mod tests;
