//! Updates that crash the program: found one by one after a crash, and set aside.
//!
//! While the receiver runs, there is a file `state/receiving-telegram` in which a crash leaves a mark; a
//! kill or a power cut leaves none. A start that finds the mark processes the waiting updates one at a time
//! and first writes the number of each into the file: a number that the next start finds beside a mark is
//! that of an update that has crashed the program twice. No write is synced; a crash of the program loses
//! none.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::sys::file;
use crate::sys::process::crash::{self, MARK, MARK_AT};
use crate::text::truncate_bytes;

/// Files of updates that crashed the program and were set aside. One is enough to find the bug.
const SET_ASIDE_FILES: usize = 8;
/// Bytes of such a file; a long message with its entities has 30 kB.
const SET_ASIDE_BYTES: usize = 64 * 1024;

/// The updates of this run and the one before.
#[derive(Default)]
pub struct Trial {
    /// `None` where nothing is remembered.
    state: Option<PathBuf>,
    /// The file, where it could be opened.
    file: Option<File>,
    /// Whether the run before crashed and not all waiting updates have been processed.
    is_careful: bool,
    /// The update that crashed the run before.
    suspect: Option<i64>,
    /// The number that the file has.
    noted: Option<i64>,
    /// Where updates were set aside, until people are told.
    set_aside: Vec<PathBuf>,
}

impl Trial {
    /// Begins a run; `state` is the folder of the small facts.
    pub fn begin(state: Option<PathBuf>) -> Self {
        let mut trial = Self {
            state,
            ..Self::default()
        };
        if let Err(error) = trial.open() {
            tracing::debug!("failed to note which update is being read: {error}");
        }
        trial
    }

    fn open(&mut self) -> Result<()> {
        let (Some(state), Some(path)) = (&self.state, self.path()) else {
            return Ok(());
        };
        file::private_folder(state)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let failed = Error::io("open", &path);
        let begun = file::open_regular(&path, options.truncate(false)).and_then(|file| {
            let mut content = Vec::new();
            (&file).take(MARK_AT + 1).read_to_end(&mut content)?;
            file.set_len(0)?;
            crash::mark_in(&file)?;
            Ok((file, content))
        });
        let (file, content) = begun.map_err(failed)?;
        self.file = Some(file);
        if let Some((&MARK, number)) = content.split_last()
            && number.len() as u64 == MARK_AT
        {
            self.is_careful = true;
            let number = number.split(|byte| !byte.is_ascii_digit()).next();
            let number = number.and_then(|digits| str::from_utf8(digits).ok());
            self.suspect = number.and_then(|digits| digits.parse().ok());
        }
        Ok(())
    }

    /// Ends the run in order.
    pub fn end(&self) {
        crash::forget();
        if let Some(path) = self.path() {
            let _ = fs::remove_file(path);
        }
    }

    /// Whether updates are to be processed one by one.
    pub fn is_careful(&self) -> bool {
        self.is_careful
    }

    /// Everything that waited has been processed.
    pub fn passed(&mut self) {
        self.is_careful = false;
        self.note(None);
    }

    /// Notes which update is being processed from now on.
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

    /// Where updates were set aside since the last call.
    pub fn take_set_aside(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.set_aside)
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.state.as_ref()?.join("receiving-telegram"))
    }

    fn write(&mut self, number: Option<i64>) {
        self.noted = number;
        let text = number.map(|number| number.to_string()).unwrap_or_default();
        let width = MARK_AT as usize;
        let written = |file: &File| file.write_all_at(format!("{text:<width$}").as_bytes(), 0);
        if let Some(Err(error)) = self.file.as_ref().map(written) {
            tracing::debug!("failed to note which update is being read: {error}");
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
                    "an update from Telegram crashed the program twice and was set aside: {file}"
                );
                // The same update may come again in this run.
                if !self.set_aside.contains(&path) {
                    self.set_aside.push(path);
                }
            }
            Err(error) => tracing::error!(
                update_id = number,
                "an update from Telegram crashed the program twice and is skipped: {error}"
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
    fn what_crashes_two_runs_is_set_aside_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let begin = || Trial::begin(Some(folder.path().join("state")));
        let crash = |trial: Trial| trial.file.unwrap().write_all_at(&[MARK], MARK_AT).unwrap();
        // A kill is no crash.
        let killed = begin();
        drop(killed);
        // The first crash says only that there was one.
        let mut first = begin();
        assert!(first.admits(7, "{}") && !first.is_careful());
        crash(first);
        // The second one names the update.
        let mut second = begin();
        assert!(second.is_careful() && second.admits(6, "{}") && second.admits(7, "{}"));
        crash(second);
        // So the third start sets it aside, goes on with the others, and trusts them again.
        let mut third = begin();
        assert!(third.admits(6, "{}") && !third.admits(7, "{\"poison\": 1}"));
        assert!(!third.admits(7, "{\"poison\": 1}") && third.admits(8, "{}"));
        let kept = third.take_set_aside();
        assert_eq!(kept.len(), 1);
        assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "{\"poison\": 1}");
        third.passed();
        assert!(!third.is_careful());
        // One that was killed while it read an update does not blame that one.
        third.note(Some(9));
        drop(third);
        let mut fourth = begin();
        assert!(!fourth.is_careful() && fourth.admits(9, "{}"));
        fourth.end();
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
