//! Backups of a home folder: one file, a compressed tar archive, which may be encrypted with a passphrase.

mod pack;
mod restore;
mod seal;
pub mod series;
pub mod settings;
pub mod swap;
mod unpack;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::json::Members;
use crate::base::secret::Secret;
use crate::sandbox::files::gzip::Gzip;

pub use pack::{Packed, Packing};
pub use restore::{Backup, Changes, Survey};
use settings::Settled;

use pack::writing;
use seal::Sealer;

/// The first file of the archive, which says what it is.
const MANIFEST: &str = ".peacrab-backup.json";
/// The configuration.
const CONFIG: &str = "config.json";
/// The folder of automatic backups in the home folder.
const FOLDER: &str = "backups";
/// Names at the top of a home that are not part of a backup, and that stay where they are when one is restored: they
/// belong to what runs, or to this machine.
const KEPT_NAMES: [&str; 6] = [
    swap::FOLDER,
    "lost+found",
    "gateway.lock",
    "control.sock",
    "update",
    FOLDER,
];
/// How the name of a folder begins to which a restore has moved what was there.
const ASIDE: &str = "before-restore";
/// The version of the layout.
const FORMAT: u64 = 1;
/// Names of settings and folders that a manifest lists.
const NAMES_MAX: usize = 200;

fn is_aside(name: &str) -> bool {
    name.starts_with(ASIDE)
}

/// Description of a backup, in its first member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The version of the program that made it.
    pub program: String,
    /// When it was made, for people.
    pub made: String,
    /// Whether keys and tokens are left out.
    pub is_without_secrets: bool,
    /// Settings and logins that are left out for that.
    pub missing: Vec<String>,
    /// Folders outside the home folder that belong to it, and are not in the backup.
    pub outside: Vec<String>,
}

impl Manifest {
    /// The text in the archive.
    fn to_json(&self) -> String {
        let text = json!({
            "format": FORMAT,
            "program": self.program,
            "made": self.made,
            "withoutSecrets": self.is_without_secrets,
            "missing": self.missing,
            "outside": self.outside,
        });
        format!("{text}\n")
    }

    /// Reads the text; the error is the version of the layout that is too new, or 0.
    fn read(text: &str) -> Result<Self, u64> {
        let members = Members::read(text).ok_or(0_u64)?;
        let format = members.number("format").unwrap_or(0);
        if format != FORMAT {
            return Err(format);
        }
        let list = |name| {
            let mut names = members.texts(name).unwrap_or_default();
            names.truncate(NAMES_MAX);
            names
        };
        Ok(Self {
            program: members.text_or_empty("program"),
            made: members.text_or_empty("made"),
            is_without_secrets: members.is_true("withoutSecrets"),
            missing: list("missing"),
            outside: list("outside"),
        })
    }
}

/// A home that is about to be saved.
pub struct Saving {
    home: PathBuf,
    settled: Settled,
    /// The description of the backup.
    pub manifest: Manifest,
}

impl Saving {
    /// Reads the configuration of a home, and finds what is to be left out. `user_home` is the account's own folder, for
    /// paths that begin with `~`.
    pub fn new(
        home: &Path,
        config: &Path,
        user_home: Option<&str>,
        is_without_secrets: bool,
        clock: &Clock,
    ) -> Result<Self> {
        let mut settled = settings::settle(home, config, user_home, is_without_secrets)?;
        Ok(Self {
            home: home.to_owned(),
            manifest: Manifest {
                program: env!("CARGO_PKG_VERSION").to_owned(),
                made: clock.now().format("%Y-%m-%d %H:%M").to_string(),
                is_without_secrets,
                missing: std::mem::take(&mut settled.missing),
                outside: std::mem::take(&mut settled.outside),
            },
            settled,
        })
    }

    /// The things to write.
    pub fn packing<'a>(&'a self, cancel: &'a Cancel) -> Packing<'a> {
        Packing {
            home: &self.home,
            config: self.settled.text.as_deref(),
            manifest: &self.manifest,
            left_out: &self.settled.left_out,
            cancel,
        }
    }
}

/// Writes a backup; with a passphrase it is encrypted. Returns what is in it.
pub fn write(
    packing: &Packing<'_>,
    passphrase: Option<&Secret>,
    to: &mut dyn Write,
) -> Result<Packed> {
    let Some(passphrase) = passphrase else {
        let mut gzip = Gzip::new(to).map_err(writing)?;
        let packed = pack::pack(packing, &mut gzip)?;
        gzip.finish().and_then(|to| to.flush()).map_err(writing)?;
        return Ok(packed);
    };
    let sealer = Sealer::new(to, passphrase).map_err(writing)?;
    let mut gzip = Gzip::new(sealer).map_err(writing)?;
    let packed = pack::pack(packing, &mut gzip)?;
    let ended = gzip.finish().and_then(Sealer::finish);
    ended.and_then(|to| to.flush()).map_err(writing)?;
    Ok(packed)
}

/// The same into a file, which is there whole or not at all. A file with this name is replaced.
pub fn write_file(
    packing: &Packing<'_>,
    passphrase: Option<&Secret>,
    path: &Path,
) -> Result<(Packed, u64)> {
    let mut outcome = None;
    let written = crate::sys::file::replace(path, 0o600, |file: &mut File| {
        let packed = write(packing, passphrase, file);
        let failed = packed.is_err();
        outcome = Some(packed);
        match failed {
            true => Err(io::ErrorKind::Other.into()),
            false => Ok(()),
        }
    });
    match (written, outcome) {
        (_, Some(Err(error))) => Err(error),
        (Ok(file), Some(Ok(packed))) => {
            let size = file.metadata().map_or(0, |about| about.len());
            Ok((packed, size))
        }
        (Err(error), _) => Err(error),
        (Ok(_), None) => Ok((Packed::default(), 0)),
    }
}

/// Whether the token stopped it, whatever the error is.
fn or_stopped<T>(result: Result<T>, cancel: &Cancel) -> Result<T> {
    match result {
        Err(_) if cancel.is_cancelled() => Err(crate::base::error::Error::Stopped),
        result => result,
    }
}

#[cfg(test)]
mod tests;
