//! A file that grows, such as a log: followed over its rotation.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use crate::board::watch::{Lines, parse};
use crate::sys::time::CpuBudget;
use std::time::Duration;

/// Bytes of a file that one look reads.
const READ_BYTES: usize = 64 * 1024;
/// Bytes of a file that are caught up with: of a longer backlog the end.
const BACKLOG_BYTES: u64 = 1024 * 1024;
/// Processor time in which one look compares a file's lines with a pattern: all rules share one thread.
const MATCH_TIME: Duration = Duration::from_secs(1);

/// Opens the file.
pub type Open<'a> = &'a dyn Fn() -> io::Result<File>;

/// The open file, and how far it was read.
#[derive(Debug, Default)]
pub struct Follower {
    open: Option<(File, u64)>,
    offset: u64,
    lines: Lines,
    /// Whether it did not exist: when it comes, all of it is new.
    was_missing: bool,
}

/// What a look at the file has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many complete lines match.
    pub count: u32,
    /// The last of them.
    pub last: String,
    /// Whether there is more to read.
    pub has_more: bool,
    /// Whether the file exists.
    pub exists: bool,
}

impl Follower {
    /// Reads what is new, and looks for lines with a pattern: an expression, which is compiled only for this, because
    /// a compiled one takes some kB. `mark` says how far the file was read before a restart; without one it begins at
    /// the end.
    pub fn read(&mut self, open: Open<'_>, mark: Option<(u64, u64)>, pattern: &str) -> Found {
        let mut found = Found::default();
        let current = open().ok();
        found.exists = current.is_some();
        let inode = |file: &File| file.metadata().map(|data| data.ino()).unwrap_or_default();
        let new = current.map(|file| (inode(&file), file));
        match (self.open.take(), new) {
            (None, Some((id, file))) => {
                let length = file.metadata().map_or(0, |data| data.len());
                self.offset = match mark {
                    Some((same, offset)) if same == id && offset <= length => offset,
                    // Another file is there now, and all of it is new.
                    Some(_) => 0,
                    None if self.was_missing => 0,
                    None => length,
                };
                self.open = Some((file, id));
            }
            (Some((old, id)), Some((other, file))) if id != other => {
                // Rotated: what the old one still has, then the new one from its beginning.
                self.open = Some((old, id));
                self.take(pattern, &mut found);
                if !found.has_more {
                    self.open = Some((file, other));
                    self.offset = 0;
                    self.lines.reset();
                }
            }
            // While it does not exist, what was written before it went can still be read.
            (Some(old), _) => self.open = Some(old),
            (None, None) => {
                self.was_missing = true;
                return found;
            }
        }
        self.take(pattern, &mut found);
        found
    }

    /// How far the file was read, up to the last complete line.
    pub fn mark(&self) -> Option<(u64, u64)> {
        let (_, id) = self.open.as_ref()?;
        Some((
            *id,
            self.offset.saturating_sub(self.lines.unfinished() as u64),
        ))
    }

    fn take(&mut self, pattern: &str, found: &mut Found) {
        if let Err(error) = self.try_take(pattern, found) {
            tracing::debug!("failed to read a watched file: {error}");
        }
    }

    fn try_take(&mut self, pattern: &str, found: &mut Found) -> io::Result<()> {
        let Some((file, _)) = &mut self.open else {
            return Ok(());
        };
        let length = file.metadata()?.len();
        if length < self.offset {
            // Emptied in place.
            self.offset = 0;
            self.lines.reset();
        }
        if length - self.offset > BACKLOG_BYTES {
            self.offset = length - BACKLOG_BYTES;
            self.lines.reset();
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut piece = Vec::new();
        let read = file.take(READ_BYTES as u64).read_to_end(&mut piece)?;
        self.offset += read as u64;
        found.has_more = read == READ_BYTES;
        if read == 0 {
            return Ok(());
        }
        let Ok(pattern) = parse::compile(pattern) else {
            return Ok(());
        };
        let Found { count, last, .. } = found;
        let budget = CpuBudget::new(MATCH_TIME);
        let mut passed = 0_usize;
        self.lines.push(&piece, &mut |line| {
            if budget.is_spent() {
                passed += 1;
            } else if pattern.is_match(line) {
                *count = count.saturating_add(1);
                line.clone_into(last);
            }
        });
        if passed > 0 {
            tracing::warn!(
                lines = passed,
                "passed over lines of a watched file: its pattern takes too long"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::Path;

    fn append(path: &Path, text: &str) {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn read(follower: &mut Follower, path: &Path, mark: Option<(u64, u64)>) -> (u32, String) {
        let found = follower.read(&|| File::open(path), mark, "ERR");
        (found.count, found.last)
    }

    #[test]
    fn only_what_comes_after_the_beginning_is_found_and_only_complete_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, "ERR old\n");
        let mut follower = Follower::default();
        assert_eq!(read(&mut follower, &path, None).0, 0);
        append(&path, "fine\nERR on");
        assert_eq!(read(&mut follower, &path, None).0, 0);
        append(&path, "e\nERR two\nfine\n");
        assert_eq!(read(&mut follower, &path, None), (2, "ERR two".to_owned()));
        assert_eq!(read(&mut follower, &path, None).0, 0);
    }

    #[test]
    fn a_rotated_an_emptied_and_a_new_file_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
        append(&path, "x\n");
        let mut follower = Follower::default();
        read(&mut follower, &path, None);
        append(&path, "ERR last of the old\n");
        fs::rename(&path, &old).unwrap();
        append(&path, "ERR first of the new\n");
        assert_eq!(
            read(&mut follower, &path, None),
            (2, "ERR first of the new".to_owned())
        );
        fs::write(&path, "ERR a\n").unwrap();
        assert_eq!(read(&mut follower, &path, None), (1, "ERR a".to_owned()));
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&mut follower, &path, None).0, 0);
        append(&path, "ERR again\n");
        assert_eq!(
            read(&mut follower, &path, None),
            (1, "ERR again".to_owned())
        );
        let late = folder.path().join("late");
        let mut follower = Follower::default();
        assert_eq!(read(&mut follower, &late, None).0, 0);
        append(&late, "ERR first\n");
        assert_eq!(read(&mut follower, &late, None).0, 1);
    }

    #[test]
    fn what_was_written_while_the_gateway_was_off_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, "ERR told\nhalf");
        let mut before = Follower::default();
        read(&mut before, &path, None);
        let mark = before.mark();
        append(&path, " ERR line\nERR meanwhile\n");
        let mut after = Follower::default();
        assert_eq!(read(&mut after, &path, mark).0, 2);
        let mut other = Follower::default();
        assert_eq!(read(&mut other, &path, Some((1, 5))).0, 3, "another file");
    }

    #[test]
    fn a_long_backlog_is_cut_and_read_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, "");
        let mut follower = Follower::default();
        read(&mut follower, &path, None);
        append(&path, &"ERR 0123456789\n".repeat(200_000));
        let (mut looks, mut count) = (0, 0);
        loop {
            let found = follower.read(&|| File::open(&path), None, "ERR");
            looks += 1;
            count += u64::from(found.count);
            if !found.has_more {
                break;
            }
        }
        assert!(looks <= 1 + BACKLOG_BYTES as usize / READ_BYTES);
        assert!(count <= BACKLOG_BYTES / 15 && count > BACKLOG_BYTES / 16);
    }
}
