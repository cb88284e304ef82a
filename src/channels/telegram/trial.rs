//! Updates that end the program: found one by one after a start that follows a crash, and set aside.
//!
//! While the receiver runs there is the file `state/receiving-telegram`. A clean end removes it. A start
//! that finds it deals with what waits one update after the other and notes the number of each in the
//! file first: so the number that the next start finds is that of an update that ended the program, for
//! the second time. No write is synced; a crash of the program loses none.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::limits::channels::{SET_ASIDE_BYTES, SET_ASIDE_FILES};
use crate::sys::file;
use crate::text::truncate_bytes;

/// What is known of the updates of this run and the one before.
#[derive(Default)]
pub struct Trial {
    /// `None` where nothing is remembered.
    state: Option<PathBuf>,
    /// Whether the run before ended without saying so, and not all that waited has been dealt with.
    is_careful: bool,
    /// The update that ended the run before.
    suspect: Option<i64>,
    /// The number that the file has.
    noted: Option<i64>,
    /// Where updates were set aside, until somebody is told.
    set_aside: Vec<PathBuf>,
}

impl Trial {
    /// Begins a run; `state` is the folder of the small facts.
    pub fn begin(state: Option<PathBuf>) -> Self {
        let mut trial = Self {
            state,
            ..Self::default()
        };
        let Some(path) = trial.path() else {
            return trial;
        };
        match file::read_at_most(&path, 32) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            found => {
                trial.is_careful = true;
                let found = found.unwrap_or_default();
                trial.suspect = str::from_utf8(&found)
                    .ok()
                    .and_then(|text| text.parse().ok());
            }
        }
        trial.write(None);
        trial
    }

    /// Ends the run, as it should end.
    pub fn end(&self) {
        if let Some(path) = self.path() {
            let _ = fs::remove_file(path);
        }
    }

    /// Whether updates are to be dealt with one by one.
    pub fn is_careful(&self) -> bool {
        self.is_careful
    }

    /// Everything that waited has been dealt with.
    pub fn passed(&mut self) {
        self.is_careful = false;
        self.note(None);
    }

    /// Notes which update is dealt with from now on; `None` for none.
    pub fn note(&mut self, number: Option<i64>) {
        if self.noted != number {
            self.write(number);
        }
    }

    /// Whether an update, whose JSON this is, may be read. If not, it has been set aside.
    pub fn admits(&mut self, number: i64, json: &str) -> bool {
        if self.suspect == Some(number) {
            self.set_aside(number, json);
            return false;
        }
        if self.is_careful {
            self.note(Some(number));
        }
        true
    }

    /// Where updates were set aside since this was asked last.
    pub fn take_set_aside(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.set_aside)
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.state.as_ref()?.join("receiving-telegram"))
    }

    fn write(&mut self, number: Option<i64>) {
        self.noted = number;
        let (Some(state), Some(path)) = (&self.state, self.path()) else {
            return;
        };
        let text = number.map(|number| number.to_string()).unwrap_or_default();
        let written = file::private_folder(state)
            .and_then(|()| file::replace_unsynced(&path, text.as_bytes(), 0o600));
        if let Err(error) = written {
            tracing::debug!("failed to note which update is read: {error}");
        }
    }

    fn set_aside(&mut self, number: i64, json: &str) {
        let Some(state) = &self.state else {
            return;
        };
        match keep(&state.join("set-aside"), number, json) {
            Ok(path) => {
                let file = path.display();
                tracing::error!(
                    update_id = number,
                    "an update of Telegram's ended the program twice and was set aside: {file}"
                );
                // The same update may come again in this run.
                if !self.set_aside.contains(&path) {
                    self.set_aside.push(path);
                }
            }
            Err(error) => tracing::error!(
                update_id = number,
                "an update of Telegram's ended the program twice and is passed over: {error}"
            ),
        }
    }
}

/// Writes the beginning of an update into a file of its own, and deletes the oldest ones.
fn keep(folder: &Path, number: i64, json: &str) -> Result<PathBuf> {
    file::private_folder(folder)?;
    let read = |source| Error::io("read", folder)(source);
    let mut names: Vec<OsString> = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        names.push(entry.map_err(read)?.file_name());
    }
    // Later updates have higher numbers, and those of a bot have as many digits for years.
    names.sort();
    for name in names.iter().rev().skip(SET_ASIDE_FILES - 1) {
        let _ = fs::remove_file(folder.join(name));
    }
    let path = folder.join(format!("telegram-{number}.json"));
    let json = truncate_bytes(json, SET_ASIDE_BYTES);
    file::write_atomic(&path, json.as_bytes(), 0o600)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_two_runs_is_set_aside_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let begin = || Trial::begin(Some(folder.path().join("state")));
        // The first crash says only that there was one.
        let mut first = begin();
        assert!(first.admits(7, "{}") && !first.is_careful());
        // The second one names the update.
        let mut second = begin();
        assert!(second.is_careful() && second.admits(6, "{}") && second.admits(7, "{}"));
        // So the third start sets it aside, goes on with the others, and trusts them again.
        let mut third = begin();
        assert!(third.admits(6, "{}") && !third.admits(7, "{\"poison\": 1}"));
        assert!(!third.admits(7, "{\"poison\": 1}") && third.admits(8, "{}"));
        let kept = third.take_set_aside();
        assert_eq!(kept.len(), 1);
        assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "{\"poison\": 1}");
        third.passed();
        assert!(!third.is_careful());
        third.end();
        assert!(!begin().is_careful());
    }

    #[test]
    fn what_is_set_aside_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for number in 10..40 {
            keep(folder.path(), number, &"x".repeat(SET_ASIDE_BYTES + 1)).unwrap();
        }
        let kept: Vec<u64> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(kept, [SET_ASIDE_BYTES as u64; SET_ASIDE_FILES]);
        assert!(folder.path().join("telegram-39.json").exists());
    }
}
