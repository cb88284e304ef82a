//! One small JSON file below `state/`: read whole, changed under a lock, replaced atomically.

use std::io::ErrorKind;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::sync::Mutex;
use crate::sys;

/// What happens when a state file cannot be read or parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// It counts as missing, and the next change replaces it. For facts that may be lost.
    StartFresh,
    /// Reading and changing it fail until it is repaired or deleted. For facts that decide who may do
    /// something: an empty list would lose them.
    Refuse,
}

/// How a state file is treated.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Bytes of the largest file that is read.
    pub bytes_max: usize,
    /// What to do with a damaged file.
    pub damaged: Damaged,
    /// Whether each change is forced to the disk before [`StateFile::update`] returns. Without it a
    /// killed process loses nothing, but a power cut may bring back the content of seconds ago.
    pub synced: bool,
}

/// A file that holds one `T` as JSON, mode 0600. A missing file is `T::default()`.
///
/// Changes are made one after the other, also those of other processes of the same home: each reads
/// the file again. Clones share the lock within the process.
#[derive(Clone, Debug)]
pub struct StateFile<T> {
    path: PathBuf,
    policy: Policy,
    writing: Arc<Mutex<()>>,
    holds: PhantomData<fn() -> T>,
}

impl<T: Default + Serialize + DeserializeOwned> StateFile<T> {
    /// The file at this path, which need not exist.
    pub fn new(path: PathBuf, policy: Policy) -> Self {
        Self {
            path,
            policy,
            writing: Arc::default(),
            holds: PhantomData,
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of the file. Fails only with [`Damaged::Refuse`].
    pub fn read(&self) -> Result<T> {
        match (self.read_strictly(), self.policy.damaged) {
            (Err(_), Damaged::StartFresh) => Ok(T::default()),
            (result, _) => result,
        }
    }

    /// Reads the file, changes its value and writes it back if it differs. Nothing is written when
    /// `change` fails. `change` must not touch another state file of the same folder.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let (mut change, mut result) = (Some(change), None);
        self.rewrite(&mut |value| {
            if let Some(change) = change.take() {
                result = Some(change(value)?);
            }
            Ok(())
        })?;
        result.ok_or(Error::Stopped)
    }

    /// The same for all changes of a type of file, of which the program has one copy each.
    fn rewrite(&self, change: &mut dyn FnMut(&mut T) -> Result<()>) -> Result<()> {
        let _writing = self.writing.lock();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        sys::file::private_folder(folder)?;
        let _lock = sys::file::lock_folder(folder)?;
        let mut value = match (self.read_strictly(), self.policy.damaged) {
            (Err(error), Damaged::StartFresh) => {
                tracing::warn!("starting with an empty file: {error}");
                T::default()
            }
            (result, _) => result?,
        };
        let before = self.encode(&value)?;
        change(&mut value)?;
        let after = self.encode(&value)?;
        if before == after {
            Ok(())
        } else {
            write(&self.path, self.policy, &after)
        }
    }

    /// Forces what was written to the disk, for a policy that does not do it with each change.
    pub fn sync(&self) -> Result<()> {
        match sys::file::open_to_read(&self.path).and_then(|file| file.sync_all()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result.map_err(Error::io("sync", &self.path)),
        }
    }

    fn read_strictly(&self) -> Result<T> {
        let Some(content) = read(&self.path, self.policy)? else {
            return Ok(T::default());
        };
        json::from_slice(&content).map_err(|error| damaged(&self.path, &error))
    }

    fn encode(&self, value: &T) -> Result<Vec<u8>> {
        // What is written too often to be synced is also kept short.
        let encoded = if self.policy.synced {
            serde_json::to_vec_pretty(value)
        } else {
            serde_json::to_vec(value)
        };
        encoded.map_err(|error| cannot_write(&self.path, &error))
    }
}

fn read(path: &Path, policy: Policy) -> Result<Option<Vec<u8>>> {
    match sys::file::read_at_most(path, policy.bytes_max) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        content => content.map(Some),
    }
}

fn write(path: &Path, policy: Policy, content: &[u8]) -> Result<()> {
    // It could not be read again.
    if content.len() > policy.bytes_max {
        return Err(Error::TooLarge {
            what: format!("the new content of {}", path.display()),
            limit: policy.bytes_max,
        });
    }
    if policy.synced {
        sys::file::write_atomic(path, content, 0o600)
    } else {
        sys::file::replace_unsynced(path, content, 0o600)
    }
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> Error {
    let path = path.display();
    Error::Failed(format!("{path} is damaged, repair or delete it: {error}"))
}

fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Failed(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn file(folder: &Path, damaged: Damaged) -> StateFile<Vec<u32>> {
        let policy = Policy {
            bytes_max: 100,
            damaged,
            synced: false,
        };
        StateFile::new(folder.join("state/list.json"), policy)
    }

    fn push(file: &StateFile<Vec<u32>>, number: u32) -> Result<()> {
        file.update(|list| {
            list.push(number);
            Ok(())
        })
    }

    #[test]
    fn a_change_is_written_for_the_owner_only_and_no_change_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), Damaged::Refuse);
        file.update(|_| Ok(())).unwrap();
        assert!(!file.path().exists());
        push(&file, 1).unwrap();
        let failed: Result<()> = file.update(|list| {
            list.clear();
            Err(Error::Stopped)
        });
        assert!(failed.is_err());
        assert_eq!(file.read().unwrap(), [1]);
        file.sync().unwrap();
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let names = fs::read_dir(folder.path().join("state")).unwrap();
        assert_eq!(names.count(), 1, "nothing is left beside the file");
    }

    #[test]
    fn a_damaged_or_endless_file_is_replaced_or_refused_as_the_policy_says() {
        let folder = tempfile::tempdir().unwrap();
        let (fresh, strict) = (
            file(folder.path(), Damaged::StartFresh),
            file(folder.path(), Damaged::Refuse),
        );
        push(&strict, 1).unwrap();
        for content in ["[1,", "{}", &format!("[{}1]", " ".repeat(100))] {
            fs::write(strict.path(), content).unwrap();
            assert!(push(&strict, 2).is_err(), "{content}");
            let error = strict.read().unwrap_err().to_string();
            assert!(error.contains("list.json"), "{error}");
            assert_eq!(fs::read_to_string(strict.path()).unwrap(), content);
            assert_eq!(fresh.read().unwrap(), [0; 0]);
            push(&fresh, 3).unwrap();
            assert_eq!(strict.read().unwrap(), [3]);
        }
    }

    #[test]
    fn a_file_that_could_not_be_read_again_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), Damaged::Refuse);
        push(&file, 1).unwrap();
        let grown = file.update(|list| {
            list.extend(0..100);
            Ok(())
        });
        assert!(
            grown
                .unwrap_err()
                .to_string()
                .contains("larger than the limit of 100 bytes")
        );
        assert_eq!(file.read().unwrap(), [1]);
    }

    /// Each `StateFile` here has a lock of its own, as in processes of their own.
    #[test]
    fn processes_that_change_a_file_at_the_same_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let file = file(folder.path(), Damaged::StartFresh);
                scope.spawn(move || push(&file, number).unwrap());
            }
        });
        let file = file(folder.path(), Damaged::Refuse);
        let mut numbers = file.read().unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
