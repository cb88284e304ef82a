//! Automatic backups: files of one folder, named by their time, of which the last ones are kept.

use std::path::{Path, PathBuf};

use chrono::NaiveDateTime;

use super::{Manifest, Packed, Saving, write_file};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::config::PASSPHRASE_CHARS_MIN;
use crate::config::{Home, schema};
use crate::sys::file::private_folder;

/// How the name of a file begins.
const PREFIX: &str = "peacrab-";
/// The time in it, which is UTC, so that names are in the order of time.
const TIME: &str = "%Y-%m-%dT%H%M%SZ";
/// How it ends when it is not encrypted, and when it is.
const ENDINGS: [&str; 2] = [".tar.gz", ".backup"];

/// A home, and how it is saved.
#[derive(Clone, Debug)]
pub struct Series {
    /// The home folder.
    pub home: Home,
    /// The configuration file.
    pub config: PathBuf,
    /// The account's own folder, for paths that begin with `~`.
    pub user_home: Option<String>,
    /// The settings.
    pub settings: schema::Backup,
}

/// A backup that was made.
#[derive(Debug)]
pub struct Made {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
    /// Counts of its files.
    pub packed: Packed,
    /// Its description.
    pub manifest: Manifest,
}

/// The name of a backup that is made now, and is encrypted or not.
pub fn name_at(clock: &Clock, is_encrypted: bool) -> String {
    let time = clock.now().naive_utc().format(TIME);
    format!("{PREFIX}{time}{}", ENDINGS[usize::from(is_encrypted)])
}

impl Series {
    fn folder(&self) -> PathBuf {
        self.home.backups(&self.settings.folder)
    }

    /// The folder, ready for a file. One that is configured is not made: a disk may be missing there, and only what is
    /// there at the start is kept from commands.
    fn prepare_folder(&self, saving: &Saving) -> Result<PathBuf> {
        let folder = self.folder();
        if self.settings.folder.is_empty() {
            private_folder(&folder)?;
        }
        let real = folder.canonicalize();
        let real = real.map_err(Error::io("open backup.folder", &folder))?;
        let outside = saving.manifest.outside.iter().map(Path::new);
        let mut within = outside.chain([self.home.path()]);
        if within.any(|path| path.starts_with(&real)) {
            let text = "backup.folder must not contain the home folder or a workspace";
            return Err(Error::Config(text.to_owned()));
        }
        Ok(folder)
    }

    /// When the last one was made, in milliseconds since 1970; `None` when there is none.
    pub fn last_ms(&self) -> Option<i64> {
        let times = self.files().into_iter().map(|(time, _)| time);
        times.max().map(|time| time.and_utc().timestamp_millis())
    }

    fn files(&self) -> Vec<(NaiveDateTime, PathBuf)> {
        let entries = std::fs::read_dir(self.folder()).into_iter().flatten();
        let mut files: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Some((time_of(entry.file_name().to_str()?)?, entry.path())))
            .collect();
        files.sort_unstable();
        files
    }

    /// Makes one, and then deletes the oldest that are too many.
    pub fn make(&self, clock: &Clock, cancel: &Cancel) -> Result<Made> {
        let passphrase = &self.settings.passphrase;
        let is_sealed = !passphrase.is_empty();
        if is_sealed && passphrase.expose().chars().count() < PASSPHRASE_CHARS_MIN {
            return Err(Error::Config(format!(
                "backup.passphrase must have at least {PASSPHRASE_CHARS_MIN} characters"
            )));
        }
        let without_secrets = self.settings.without_secrets;
        let user_home = self.user_home.as_deref();
        let home = self.home.path();
        let saving = Saving::new(home, &self.config, user_home, without_secrets, clock)?;
        let folder = self.prepare_folder(&saving)?;
        remove_unfinished(&folder);
        let packing = saving.packing(cancel);
        let path = folder.join(name_at(clock, is_sealed));
        let (packed, size) = write_file(&packing, Some(passphrase).filter(|_| is_sealed), &path)?;
        let files = self.files();
        let over = files.len().saturating_sub(self.settings.keep);
        for (_, old) in files.iter().take(over).filter(|(_, old)| *old != path) {
            if let Err(error) = std::fs::remove_file(old) {
                tracing::warn!("failed to delete {}: {error}", old.display());
            }
        }
        Ok(Made {
            path,
            size,
            packed,
            manifest: saving.manifest,
        })
    }
}

/// The time in the name of a backup.
fn time_of(name: &str) -> Option<NaiveDateTime> {
    let rest = name.strip_prefix(PREFIX)?;
    let time = ENDINGS
        .iter()
        .find_map(|ending| rest.strip_suffix(ending))?;
    NaiveDateTime::parse_from_str(time, TIME).ok()
}

/// Removes what was being written when the program or the power went.
fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&format!(".{PREFIX}")) && name.ends_with(".tmp") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::Secret;

    #[test]
    fn the_last_ones_are_kept_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let files = home.join("backups");
        std::fs::create_dir_all(&files).unwrap();
        let old = [
            "peacrab-2026-01-01T000000Z.tar.gz",
            "peacrab-2026-01-02T000000Z.backup",
            "peacrab-2026-01-03T000000Z.tar.gz",
        ];
        let others = [
            "peacrab-notes.tar.gz",
            "mine.tar.gz",
            "peacrab-2026-01-01T000000Z.txt",
        ];
        for name in old.iter().chain(&others).chain(&[".peacrab-x.1.tmp"]) {
            std::fs::write(files.join(name), "x").unwrap();
        }
        let mut series = Series {
            config: home.join("config.json"),
            home: Home::find(Some(&home), |_| None).unwrap(),
            user_home: None,
            settings: schema::Backup {
                keep: 2,
                passphrase: Secret::new("short"),
                ..schema::Backup::default()
            },
        };
        assert_eq!(series.last_ms(), Some(1_767_398_400_000));
        let make = |series: &Series| series.make(&Clock::System, &Cancel::new());
        assert!(make(&series).is_err());
        series.settings.passphrase = Secret::new("long enough");
        let made = make(&series).unwrap();
        let name = made.path.file_name().unwrap().to_str().unwrap();
        assert!(name.ends_with(".backup"), "{name}");
        let left = std::fs::read_dir(&files).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort_unstable();
        let mut expected = vec![old[2], name];
        expected.extend(others);
        expected.sort_unstable();
        assert_eq!(left, expected);
        assert!(series.last_ms() > Some(1_767_398_400_000));
        for wrong in [folder.path().join("missing"), folder.path().to_owned()] {
            series.settings.folder = wrong.display().to_string();
            let error = make(&series).unwrap_err().to_string();
            assert!(error.contains("backup.folder"), "{error}");
        }
    }
}
