//! Files that were made for messages: in the home, where no tool and no command in the sandbox sees them. The delivery
//! deletes each once its message is over.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::message::{NAME_MARK, OutgoingMessage};
use crate::sys;

/// Files that wait for their delivery. Older ones are deleted, and their messages say so.
const WAITING_MAX: usize = 64;
/// Bytes of all of them.
const WAITING_BYTES: u64 = 256 * 1024 * 1024;
/// How long a file waits that no message has taken along.
const WAITING_TIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// The folder of these files.
#[derive(Clone, Debug)]
pub struct OutgoingFiles(PathBuf);

impl OutgoingFiles {
    /// The files in a folder, which is made when it is needed.
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Whether a path is that of a file here.
    pub fn holds(&self, path: &Path) -> bool {
        path.parent() == Some(&self.0) && path.file_name().is_some()
    }

    /// Makes an empty file with a name that people see, and returns its path. Older ones make room for it.
    pub fn create(&self, name: &str) -> Result<(String, File)> {
        sys::file::private_folder(&self.0)?;
        self.prune();
        let number = u64::from_ne_bytes(sys::random::bytes()?);
        let path = self.0.join(format!("{number:016x}{NAME_MARK}{name}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io("make", &path))?;
        let path = path.into_os_string().into_string();
        let odd =
            |path: std::ffi::OsString| Error::Failed(format!("{} is not UTF-8", path.display()));
        Ok((path.map_err(odd)?, file))
    }

    /// Stores a file under a name that people see, and returns its path.
    pub fn store(&self, name: &str, content: &[u8]) -> Result<String> {
        let (path, mut file) = self.create(name)?;
        let written = file.write_all(content);
        match written.map_err(Error::io("write", &path)) {
            Ok(()) => Ok(path),
            Err(error) => {
                self.remove(&path);
                Err(error)
            }
        }
    }

    /// Removes a file that no message takes along.
    pub fn remove(&self, path: &str) {
        let path = Path::new(path);
        if self.holds(path)
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::warn!("failed to delete {}: {error}", path.display());
        }
    }

    /// The message, which takes along the files of it that are here: they are deleted once it is over.
    #[must_use]
    pub fn taken_along(&self, mut message: OutgoingMessage) -> OutgoingMessage {
        let OutgoingMessage {
            files, made_files, ..
        } = &mut message;
        let mut ours = files.iter().filter(|file| self.holds(Path::new(file)));
        let is_new = |file: &&String| !made_files.contains(file);
        let new: Vec<String> = ours.by_ref().filter(is_new).cloned().collect();
        made_files.extend(new);
        message
    }

    /// Deletes what is old, and the oldest of what is too much.
    fn prune(&self) {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten();
        let mut found: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let about = entry.metadata().ok()?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        found.sort_unstable();
        let now = u64::try_from(Clock::System.now_ms()).unwrap_or(0);
        let earliest = UNIX_EPOCH + Duration::from_millis(now).saturating_sub(WAITING_TIME);
        let mut bytes = 0_u64;
        for (newer, (time, size, path)) in found.iter().rev().enumerate() {
            bytes = bytes.saturating_add(*size);
            if newer + 1 < WAITING_MAX && bytes <= WAITING_BYTES && *time >= earliest {
                continue;
            }
            tracing::info!("deleting a file that was not sent: {}", path.display());
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!("failed to delete {}: {error}", path.display());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_make_room_for_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let files = OutgoingFiles::new(folder.path().join("outgoing"));
        let first = files.store("first.txt", b"1").unwrap();
        let week = SystemTime::now() - WAITING_TIME - Duration::from_mins(1);
        let stored: Vec<String> = (0..=WAITING_MAX)
            .map(|number| files.store(&format!("{number}.txt"), b"x").unwrap())
            .collect();
        let left = std::fs::read_dir(folder.path().join("outgoing")).unwrap();
        assert_eq!(left.count(), WAITING_MAX);
        assert!(!Path::new(&first).exists() && !Path::new(&stored[0]).exists());
        let newest = stored.last().unwrap();
        assert!(files.holds(Path::new(newest)) && newest.ends_with(".txt"));
        let old = File::options().write(true).open(newest).unwrap();
        old.set_modified(week).unwrap();
        files.store("next.txt", b"x").unwrap();
        assert!(!Path::new(newest).exists());
    }

    #[test]
    fn only_files_of_the_folder_itself_are_here() {
        let files = OutgoingFiles::new("/home/x/outgoing".into());
        assert!(files.holds(Path::new("/home/x/outgoing/a")));
        for path in [
            "/home/x/outgoing",
            "/home/x/outgoing/..",
            "/home/x/outgoing/../config.json",
            "/home/x/outgoing/a/b",
            "outgoing/a",
        ] {
            assert!(!files.holds(Path::new(path)), "{path}");
        }
    }
}
