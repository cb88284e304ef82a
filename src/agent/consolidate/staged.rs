//! Results that wait until their journal can be written: `sessions/consolidations/NAME.json`.
//!
//! A result is on the disk, whole, before anything of it is applied. Each step of applying it can be
//! repeated after a kill: see [`Agent::apply_consolidation`](crate::agent::Agent::apply_consolidation).

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::state::{LOCK_PAUSE, LOCK_TRIES};
use crate::base::message::SessionKey;
use crate::store::memory::{Consolidated, Digest, Lesson};
use crate::store::session::{Remembered, store};
use crate::sys;

/// Bytes of a file with a result that is not applied yet. The memory and the paragraph fit, with
/// six bytes of JSON for each of theirs.
const STAGED_BYTES: usize = 512 * 1024;
/// Results that wait for their journal; more means that they cannot be applied.
const STAGED_MAX: usize = 256;

/// The folder of the results, beside the journals.
const FOLDER: &str = "consolidations";

/// A result of a consolidation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Staged {
    /// The conversation.
    pub session: String,
    /// Whether the memory has it.
    pub is_saved: bool,
    /// The paragraph for HISTORY.md, with its date.
    pub history_entry: String,
    /// The new MEMORY.md; empty when it does not change.
    pub memory_update: String,
    /// What calls that failed have taught.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<Lesson>,
    /// The MEMORY.md that the model was given.
    pub base: Option<Digest>,
    /// Whether the model insists on an update that drops more than half.
    pub is_confirmed: bool,
    /// What the journal is to note.
    pub remembered: Remembered,
    /// How many turns it is about.
    pub turns: usize,
}

impl Staged {
    /// What the memory is to save.
    pub fn consolidated(&self) -> Consolidated {
        Consolidated {
            history_entry: self.history_entry.clone(),
            memory_update: self.memory_update.clone(),
            base: self.base.clone(),
            is_confirmed: self.is_confirmed,
        }
    }

    /// Writes it: it is on the disk when this returns.
    pub fn write(&self, sessions: &Path, key: &SessionKey) -> Result<()> {
        let path = path_of(sessions, key);
        let encoded = serde_json::to_vec(self)
            .map_err(|error| Error::Failed(format!("cannot write {}: {error}", path.display())))?;
        sys::file::write_atomic(&path, &encoded, 0o600)
    }
}

/// The result that waits for a conversation, if any. One that cannot be read is removed: its part of the
/// conversation is then consolidated once more.
pub fn read(sessions: &Path, key: &SessionKey) -> Result<Option<Staged>> {
    let path = path_of(sessions, key);
    let content = match sys::file::read_at_most(&path, STAGED_BYTES) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
        content => content,
    };
    let staged = content.and_then(|content| {
        json::from_slice::<Staged>(&content)
            .map_err(|error| Error::Failed(format!("{} is damaged: {error}", path.display())))
    });
    match staged {
        Ok(staged) if staged.session == key.as_str() => Ok(Some(staged)),
        Ok(_) => remove(sessions, key).map(|()| None),
        Err(error) => {
            tracing::warn!(session = %key, "failed to read a consolidation, starting it again: {error}");
            remove(sessions, key).map(|()| None)
        }
    }
}

/// Whether a result waits for a conversation.
pub fn exists(sessions: &Path, key: &SessionKey) -> bool {
    path_of(sessions, key).exists()
}

/// Removes the result of a conversation, if there is one.
pub fn remove(sessions: &Path, key: &SessionKey) -> Result<()> {
    let path = path_of(sessions, key);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("delete", path)(error)),
        _ => Ok(()),
    }
}

/// The conversations with a result that waits, at most [`STAGED_MAX`]. Removes what a kill has left of a
/// result that was being written.
pub fn list(sessions: &Path) -> Vec<SessionKey> {
    let folder = sessions.join(FOLDER);
    if !folder.exists() {
        return Vec::new();
    }
    let lock = lock(sessions);
    let entries = std::fs::read_dir(folder);
    let names = entries.into_iter().flatten().flatten().take(STAGED_MAX);
    let paths: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    let is_remains = |path: &&PathBuf| path.extension().is_some_and(|end| end == "tmp");
    for remains in paths.iter().filter(is_remains).filter(|_| lock.is_ok()) {
        let _ = std::fs::remove_file(remains);
    }
    let staged = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "json"));
    let content = staged.filter_map(|path| sys::file::read_at_most(path, STAGED_BYTES).ok());
    let read = content.filter_map(|content| json::from_slice::<Staged>(&content).ok());
    read.map(|staged| SessionKey::parse(&staged.session))
        .collect()
}

/// Keeps other threads and processes from changing results, and the memory with them, while it lives.
/// `None` where the file system has no locks.
pub fn lock(sessions: &Path) -> Result<Option<File>> {
    let folder = sessions.join(FOLDER);
    sys::file::private_folder(&folder)?;
    let handle = File::open(&folder).map_err(Error::io("open", &folder))?;
    for _ in 0..LOCK_TRIES {
        match sys::file::try_lock(&handle) {
            Ok(true) => return Ok(Some(handle)),
            Ok(false) => std::thread::sleep(LOCK_PAUSE),
            Err(_) => return Ok(None),
        }
    }
    Err(Error::Failed(format!(
        "Another peacrab has locked {}. Try again.",
        folder.display()
    )))
}

fn path_of(sessions: &Path, key: &SessionKey) -> PathBuf {
    let journal = store::path_of(sessions, key);
    let name = journal.file_stem().unwrap_or_default();
    let mut name = name.to_os_string();
    name.push(".json");
    sessions.join(FOLDER).join(name)
}

/// Ends the process as a power cut would, at the step that a test names.
#[cfg(feature = "test-hooks")]
pub fn reached(step: &str) {
    if std::env::var("PEACRAB_TEST_CONSOLIDATION_CUT").is_ok_and(|named| named == step) {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    }
}

#[cfg(not(feature = "test-hooks"))]
pub fn reached(_step: &str) {}
