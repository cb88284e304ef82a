//! Puts the files of a backup in the place of those of a home.
//!
//! The home folder itself stays, because it may be a mount or in a folder of root: what is in it changes. The new files
//! are in `.restore/new`. `.restore/ready` says that they are all there, and where the present ones go: then these are
//! moved, the file becomes `.restore/moved`, and the new ones are moved to their places. Each step can be repeated. A
//! kill before `ready` leaves the old home; after it, the next command completes the change.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{ASIDE, KEPT_NAMES, is_aside};
use crate::base::error::{Error, Result};
use crate::config::Home;
use crate::sys::at;
use crate::sys::file::{
    open_to_read, private_folder, read_at_most, try_share, unlock, write_atomic,
};
use crate::sys::process::cut_at;

/// The folder in the home for what is being restored.
pub const FOLDER: &str = ".restore";
const NEW: &str = ".restore/new";
const READY: &str = ".restore/ready";
const MOVED: &str = ".restore/moved";
/// Bytes of the file that says where the present files go.
const NAME_BYTES_MAX: usize = 255;
/// Earlier folders with what was there before.
const ASIDES_MAX: usize = 1000;

/// Prepares a home, which may not exist: returns the empty folder for the new files. Fails while another process has a
/// conversation open: it would go on writing into what was moved aside.
pub fn prepare(home: &Path) -> Result<PathBuf> {
    private_folder(home)?;
    if let Some(open) = open_journal(home) {
        return Err(Error::Failed(format!(
            "Another peacrab has the conversation {} open. Close it first.",
            open.display()
        )));
    }
    discard(home)?;
    let new = home.join(NEW);
    private_folder(&new)?;
    Ok(new)
}

fn open_journal(home: &Path) -> Option<PathBuf> {
    let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let agents = list(home.join("agents")).map(|agent| agent.path().join("sessions"));
    let mut journals = agents.chain([home.join("sessions")]).flat_map(list);
    journals.find_map(|journal| {
        let file = open_to_read(&journal.path()).ok()?;
        let is_free = try_share(&file).unwrap_or(true);
        (!is_free).then(|| journal.path())
    })
}

/// Removes what an interrupted restore has left that had not changed anything yet.
pub fn discard(home: &Path) -> Result<()> {
    let folder = home.join(FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", &folder)(error))
        }
        _ => Ok(()),
    }
}

/// Whether a restore has changed something, and is not complete.
pub fn is_begun(home: &Path) -> bool {
    home.join(READY).exists() || home.join(MOVED).exists()
}

/// Exchanges the files of the home for the prepared ones. Returns the folder of the old ones; `None` when there were
/// none.
pub fn exchange(home: &Path) -> Result<Option<PathBuf>> {
    cut_at("extracted");
    let old = old_entries(home)?;
    let device = |path: &Path| fs::symlink_metadata(path).map(|about| about.dev()).ok();
    let own = device(home);
    if let Some(mount) = old.iter().find(|path| device(path) != own) {
        return Err(Error::Failed(format!(
            "{} is on a file system of its own and cannot be moved aside. Unmount it first, or restore into another \
             folder (--home DIR) and copy what you need. Nothing was changed.",
            mount.display()
        )));
    }
    // A folder of root's cannot be moved by another account.
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    let is_fixed = |path: &&PathBuf| is_folder(path) && access(*path, Access::WRITE_OK).is_err();
    if let Some(fixed) = old.iter().find(is_fixed) {
        return Err(Error::Failed(format!(
            "{} belongs to another account and cannot be moved aside. Nothing was changed.",
            fixed.display()
        )));
    }
    let is_free = |name: &String| fs::symlink_metadata(home.join(name)).is_err();
    let mut names = (1..ASIDES_MAX).map(|number| match number {
        1 => ASIDE.to_owned(),
        number => format!("{ASIDE}-{number}"),
    });
    let aside = names.find(is_free).ok_or_else(|| {
        let text = format!(
            "Remove some of the folders {ASIDE}* in {} first.",
            home.display()
        );
        Error::Failed(text)
    })?;
    write_atomic(&home.join(READY), aside.as_bytes(), 0o600)?;
    cut_at("ready");
    go_on(home)?;
    Ok((!old.is_empty()).then(|| home.join(aside)))
}

/// Completes a restore that was interrupted, if there is one; of one that had not changed anything yet it removes what is
/// left, which has keys in it. Fails while one is changing the home.
pub fn complete(home: &Home) -> Result<()> {
    if !is_begun(home.path()) {
        if home.path().join(FOLDER).exists()
            && let Ok(Some(lock)) = home.try_lock()
        {
            let discarded = discard(home.path());
            let _ = unlock(&lock);
            return discarded;
        }
        return Ok(());
    }
    let Some(lock) = home.try_lock()? else {
        let text = "A backup is being restored right now. Try again in a moment.";
        return Err(Error::Failed(text.to_owned()));
    };
    let done = go_on(home.path());
    let _ = unlock(&lock);
    done
}

fn go_on(home: &Path) -> Result<()> {
    let (ready, moved) = (home.join(READY), home.join(MOVED));
    let renaming = |path: &Path| Error::io("move", path.to_owned());
    if ready.exists() {
        let name = read_at_most(&ready, NAME_BYTES_MAX)?;
        let name = String::from_utf8_lossy(&name).into_owned();
        if !is_aside(&name) || name.contains('/') {
            return Err(Error::Failed(format!("{} is damaged", ready.display())));
        }
        let aside = home.join(name);
        for path in old_entries(home)? {
            private_folder(&aside)?;
            let to = aside.join(path.file_name().unwrap_or_default());
            fs::rename(&path, to).map_err(renaming(&path))?;
            cut_at("aside");
        }
        settle(&aside);
        settle(home);
        fs::rename(&ready, &moved).map_err(renaming(&ready))?;
        settle(&home.join(FOLDER));
    }
    cut_at("moved");
    let new = home.join(NEW);
    for entry in fs::read_dir(&new).into_iter().flatten().flatten() {
        let path = entry.path();
        let to = home.join(entry.file_name());
        fs::rename(&path, to).map_err(renaming(&path))?;
        cut_at("new");
    }
    settle(home);
    discard(home)
}

/// Names at the top of a home that go aside.
fn old_entries(home: &Path) -> Result<Vec<PathBuf>> {
    let listing = fs::read_dir(home).map_err(Error::io("list", home))?;
    let names = listing.map(|entry| entry.map(|entry| entry.file_name()));
    let names: io::Result<Vec<_>> = names.collect();
    let names = names.map_err(Error::io("list", home))?.into_iter();
    let goes = names.filter(|name| {
        let name = name.to_string_lossy();
        !KEPT_NAMES.contains(&&*name) && !is_aside(&name)
    });
    Ok(goes.map(|name| home.join(name)).collect())
}

/// Forces the names in a folder to the disk.
fn settle(folder: &Path) {
    if let Ok(folder) = at::open_root(folder) {
        at::settle_names(folder);
    }
}
