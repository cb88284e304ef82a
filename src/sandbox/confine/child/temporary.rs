//! The folders for the temporary files of commands without a view of their own. The supervisor of a command removes its
//! folder; the gateway removes, at its next start, those of supervisors that were killed.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::base::clock::Clock;
use crate::sys::file::try_lock;
use crate::sys::random;

/// Folders for temporary files that killed supervisors left, of which one start of the gateway removes so many.
const LEFTOVERS_MAX: usize = 64;
/// Seconds since the last change of such a folder. A younger one may be just being made.
const LEFTOVER_SECONDS_MIN: i64 = 60;

pub const PREFIX: &str = "peacrab-";
const DIGITS: usize = 32;

/// A new folder that no other user can enter, or create beforehand. It is in use as long as the handle is open.
pub(super) fn create() -> io::Result<(PathBuf, File)> {
    create_in(&std::env::temp_dir())
}

/// Removes the folders that are no longer in use. What cannot be removed is in the system's own folder for such things.
pub fn remove_leftovers() {
    remove_in(&std::env::temp_dir());
}

fn create_in(parent: &Path) -> io::Result<(PathBuf, File)> {
    let random = random::bytes().map_err(io::Error::other)?;
    let path = parent.join(format!("{PREFIX}{:032x}", u128::from_ne_bytes(random)));
    rustix::fs::mkdir(&path, Mode::RWXU)?;
    let folder = open(&path)?;
    // Without locks nothing is removed either.
    let _ = try_lock(&folder);
    Ok((path, folder))
}

fn remove_in(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    let paths = entries.flatten().map(|entry| entry.path());
    for path in paths.filter(|path| is_ours(path)).take(LEFTOVERS_MAX) {
        if open(&path).is_ok_and(|folder| is_unused(&folder)) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder: OwnedFd = rustix::fs::open(path, flags, Mode::empty())?;
    Ok(folder.into())
}

fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let digits = name.and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|it| it.len() == DIGITS && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a folder belongs to this user, nobody holds it, and it is not one that is just being made.
fn is_unused(folder: &File) -> bool {
    let Ok(about) = folder.metadata() else {
        return false;
    };
    let age = Clock::System.now_ms() / 1000 - about.mtime();
    let is_old = age >= LEFTOVER_SECONDS_MIN;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    is_own && is_old && try_lock(folder).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn only_what_a_killed_supervisor_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let make = |is_old: bool| {
            let (path, folder) = create_in(parent.path()).unwrap();
            std::fs::write(path.join("file"), "text").unwrap();
            if is_old {
                folder.set_modified(UNIX_EPOCH).unwrap();
            }
            (path, folder)
        };
        let (used, _handle) = make(true);
        let (new, _) = make(false);
        let (left, _) = make(true);
        let other = parent.path().join("peacrab-notes");
        std::fs::create_dir(&other).unwrap();
        let link = parent.path().join(format!("{PREFIX}{:032x}", 7));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        remove_in(parent.path());
        assert!(!left.exists());
        assert!(used.join("file").exists() && new.join("file").exists());
        assert!(other.exists() && link.is_symlink());
    }
}
