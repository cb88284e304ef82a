//! The files of the prompt, kept in place while commands run that must not make or change it.
//!
//! The kernel can protect only what is there. Where a place is missing, an empty file or folder takes it until the
//! last of these commands has ended. It shows a time that nothing else does: by that the next start finds those that
//! a killed program has left.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::sys::at::{self, Inode, Kind, Use};
use crate::sys::beneath::canonical;
use crate::sys::file::{try_lock, try_share, unlock};

use super::Kept;
use super::changing::{End, wait_for_changes};
use super::survey::{PromptSurvey, refused};

/// When what was made was changed, as it shows: on 3 February 2001, at 4:05:06 UTC.
const MADE: Duration = Duration::from_secs(981_173_106);

/// The workspaces in which such commands run. Agents that are loaded again share a workspace's entry.
static KEPT: Mutex<BTreeMap<PathBuf, Weak<Made>>> = Mutex::new(BTreeMap::new());

/// The places of a workspace's prompts as a command found them, all of which are there until this is dropped.
pub struct PromptPlaces {
    found: PromptSurvey,
    made: Arc<Made>,
    number: u64,
}

/// What was made in a workspace because it was missing. In its other folders nothing is made: a command can put something
/// else in their place.
struct Made {
    workspace: PathBuf,
    folder: OwnedFd,
    /// The workspace, shared with other processes that keep it; `None` where it cannot be.
    shared: Option<File>,
    things: Mutex<Vec<(PathBuf, Inode)>>,
    /// What ends those that keep the places, by their numbers.
    ends: Mutex<BTreeMap<u64, End>>,
}

impl PromptPlaces {
    /// Whether they are kept now: an empty one may be there for a command.
    pub fn are_kept(workspace: &Path) -> bool {
        made_in(workspace).is_some()
    }

    /// Makes what is missing, and keeps it. `can_write` says whether a command could make something at a real path outside
    /// the workspace. `end` is asked before something takes the place of a kept file. Fails where a link leads to what
    /// cannot be protected.
    pub fn hold(workspace: &Path, can_write: &dyn Fn(&Path) -> bool, end: End) -> Result<Self> {
        let workspace = canonical(workspace).map_err(Error::io("find the workspace", workspace))?;
        let _unchanged = wait_for_changes(&workspace)?;
        let mut kept = KEPT.lock();
        kept.retain(|_, made| made.strong_count() > 0);
        let made = match kept.get(&workspace).and_then(Weak::upgrade) {
            Some(made) => made,
            None => Arc::new(Made::none_in(&workspace)?),
        };
        kept.insert(workspace, Arc::downgrade(&made));
        let found = made.fill(can_write);
        // Before what was made can be dropped, which takes the lock too.
        drop(kept);
        let found = found?;
        let number = made.add(end);
        Ok(Self {
            found,
            made,
            number,
        })
    }

    /// Whether what is at a real path was made here to keep a place, and has nothing in it.
    pub fn is_made(path: &Path, found: &Metadata) -> bool {
        if found.is_file() && found.len() > 0 || !(found.is_file() || found.is_dir()) {
            return false;
        }
        let made = path.parent().and_then(|workspace| {
            let kept = KEPT.lock();
            kept.get(workspace).and_then(Weak::upgrade)
        });
        let is_known = made.is_some_and(|made| {
            let things = made.things.lock();
            let numbers = (found.dev(), found.ino());
            let mut things = things.iter();
            things.any(|(known, inode)| known == path && inode.numbers() == numbers)
        });
        let is_empty = || {
            path.read_dir()
                .is_ok_and(|mut entries| entries.next().is_none())
        };
        is_known && (found.is_file() || is_empty())
    }

    /// Removes what a killed program has left, unless another process keeps it.
    pub fn clean(workspace: &Path) {
        let Ok(workspace) = canonical(workspace) else {
            return;
        };
        let kept = KEPT.lock();
        if kept.get(&workspace).and_then(Weak::upgrade).is_some() {
            return;
        }
        let (Ok(folder), Ok(found)) = (File::open(&workspace), look(&workspace, &[])) else {
            return;
        };
        if !try_lock(&folder).unwrap_or(true) {
            return;
        }
        let missing = found.missing();
        let above = missing.iter().filter_map(|path| path.parent());
        for path in found.paths().iter().map(PathBuf::as_path).chain(above) {
            if let Some(name) = name_in(&workspace, path)
                && let Ok(status) = at::status_at(&folder, name)
                && u64::try_from(status.modified) == Ok(MADE.as_secs())
            {
                remove(&folder, name, status.inode);
            }
        }
        let _ = unlock(&folder);
    }

    /// The paths that have to be protected: places, links, and what these lead to.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.found.paths()
    }

    /// The places as they are now; `None` while they are kept for no command.
    pub fn look(workspace: &Path) -> Option<Result<PromptSurvey>> {
        let made = made_in(workspace)?;
        let paths = made.paths();
        Some(look(&made.workspace, &paths))
    }

    /// Whether the places are still those that were found, and what has the changed paths in the workspace too: what took
    /// their place is not protected from what has begun before.
    pub fn are_still(&self, now: &Result<PromptSurvey>, changed: &[String]) -> bool {
        let now = now.as_ref();
        now.is_ok_and(|now| self.found.has_all_of(now, changed))
    }
}

impl Drop for PromptPlaces {
    fn drop(&mut self) {
        self.made.ends.lock().remove(&self.number);
    }
}

/// Ends what keeps the places of a workspace, by its real path. Returns whether nothing does any more.
pub(super) fn end_all(workspace: &Path) -> bool {
    let made = KEPT.lock().get(workspace).and_then(Weak::upgrade);
    let ends = made.map(|made| made.ends.lock().values().cloned().collect::<Vec<End>>());
    // Each is told before the first is waited for.
    let still_there = ends.iter().flatten().filter(|end| !end()).count();
    still_there == 0
}

/// Whether anything keeps the places of a workspace, by its real path.
pub(super) fn is_any_at_work(workspace: &Path) -> bool {
    let made = KEPT.lock().get(workspace).and_then(Weak::upgrade);
    made.is_some_and(|made| !made.ends.lock().is_empty())
}

fn look(workspace: &Path, made: &[PathBuf]) -> Result<PromptSurvey> {
    PromptSurvey::look(workspace, made, Kept::PromptAndReceived)
}

fn made_in(workspace: &Path) -> Option<Arc<Made>> {
    let workspace = canonical(workspace).ok()?;
    KEPT.lock().get(&workspace).and_then(Weak::upgrade)
}

impl Made {
    fn none_in(workspace: &Path) -> Result<Self> {
        // By its real path: no link is followed.
        let folder = at::open_root(Path::new("/"))
            .and_then(|top| at::hold_below(top, workspace, None))
            .map_err(Error::io("open the workspace", workspace))?;
        let shared = File::open(workspace).ok();
        Ok(Self {
            shared: shared.filter(|folder| try_share(folder).is_ok_and(|is_shared| is_shared)),
            workspace: workspace.to_owned(),
            folder,
            things: Mutex::default(),
            ends: Mutex::default(),
        })
    }

    fn add(&self, end: End) -> u64 {
        let mut ends = self.ends.lock();
        let number = ends.last_key_value().map_or(0, |(last, _)| last + 1);
        ends.insert(number, end);
        number
    }

    fn paths(&self) -> Vec<PathBuf> {
        let things = self.things.lock();
        things.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Makes what is missing, and returns all that is there then.
    fn fill(&self, can_write: &dyn Fn(&Path) -> bool) -> Result<PromptSurvey> {
        let mut found = look(&self.workspace, &self.paths())?;
        for path in found.missing() {
            let Some(name) = name_in(&self.workspace, &path) else {
                let is_open =
                    path.starts_with(&self.workspace) || path.parent().is_some_and(can_write);
                if is_open {
                    return Err(refused(&path, "is missing, and a link leads to it"));
                } else {
                    continue;
                }
            };
            match make(&self.folder, name) {
                Ok(inode) => self.things.lock().push((path.clone(), inode)),
                // Someone else's, which stays.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make", &path)(error)),
            }
            found.fill(path)?;
        }
        Ok(found)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut kept = KEPT.lock();
        let others = kept.get(&self.workspace).and_then(Weak::upgrade);
        if let Some(others) = others {
            // A command that began meanwhile has found them in place.
            others.things.lock().append(&mut self.things.lock());
            drop(kept);
            return;
        }
        kept.remove(&self.workspace);
        let folder = self.shared.as_ref();
        if folder.is_none_or(|folder| try_lock(folder).unwrap_or(true)) {
            for (path, inode) in self.things.lock().iter() {
                if let Some(name) = path.file_name() {
                    remove(&self.folder, name, *inode);
                }
            }
        }
        let _ = folder.map(unlock);
    }
}

/// The name of what is in the workspace itself.
fn name_in<'a>(workspace: &Path, path: &'a Path) -> Option<&'a OsStr> {
    path.file_name()
        .filter(|_| path.parent() == Some(workspace))
}

/// Makes an empty file, or a folder where the name has no ending.
fn make(folder: &OwnedFd, name: &OsStr) -> io::Result<Inode> {
    let made = match Path::new(name).extension() {
        Some(_) => at::open_file(folder, name, Use::Create)?,
        None => {
            at::make_new_folder(folder, name)?;
            File::from(at::open_folder(folder, name)?)
        }
    };
    made.set_modified(SystemTime::UNIX_EPOCH + MADE)?;
    Ok(at::status(&made)?.inode)
}

/// Removes what was made. A folder with something in it stays, and so does a file; and what is there instead.
fn remove(folder: impl std::os::fd::AsFd, name: &OsStr, inode: Inode) {
    let Ok(found) = at::status_at(&folder, name) else {
        return;
    };
    let _ = match found.kind {
        _ if found.inode != inode => Ok(()),
        Kind::Folder => at::remove_folder(&folder, name),
        Kind::File if found.size == 0 => at::remove_file(&folder, name),
        _ => Ok(()),
    };
}

#[cfg(test)]
mod tests;
