//! A bounded walk down a folder, by handles and never by path text, that follows no link.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::Result;
use crate::sys::at::{self, Kind, Status, Use};
use crate::sys::mounts;

use super::Workspace;
use super::roots::{Intent, Mark};
use super::spot::{Held, Spot};
use super::{FOLDER_NAMES, WALK_DEPTH};

/// Names that one listing or search looks at: some seconds on a slow card.
const WALK_NAMES: usize = 50_000;

/// What a walk finds.
pub struct Found<'a> {
    /// Its path from where the walk began; not always UTF-8.
    pub path: &'a Path,
    /// What it is. A link is a link, wherever it leads.
    pub status: Status,
    spot: &'a Spot<'a>,
    walk: (&'a Workspace, &'a [Mark]),
}

impl Found<'_> {
    /// Opens a regular file to be read, under the same rules as [`Workspace::open_read`].
    pub fn open(&self) -> Result<File> {
        let (workspace, marks) = self.walk;
        workspace
            .open_file(self.spot, Use::Read, marks)
            .map_err(|failure| failure.explain("read", self.path))
    }
}

/// How a walk goes on after a find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Into it, if it is a folder.
    Enter,
    /// Past it.
    Pass,
    /// No further.
    Stop,
}

/// What a walk left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Whether a bound on depth or names was hit.
    pub cut: bool,
    /// Folders that the system does not let us list.
    pub unreadable: usize,
}

impl Workspace {
    /// Shows everything in a folder, sorted by name, a folder before what is in it. Hidden places
    /// and views into the kernel are passed over.
    pub fn walk(&self, path: &Path, visit: &mut dyn FnMut(&Found<'_>) -> Next) -> Result<Walked> {
        let (folder, marks) = self.open_listing(path)?;
        let mut walk = Walk {
            workspace: self,
            marks,
            visit,
            seen: 0,
            walked: Walked::default(),
        };
        walk.folder(folder, &mut PathBuf::new(), 0);
        Ok(walk.walked)
    }
}

struct Walk<'a> {
    workspace: &'a Workspace,
    marks: Arc<[Mark]>,
    visit: &'a mut dyn FnMut(&Found<'_>) -> Next,
    seen: usize,
    walked: Walked,
}

impl Walk<'_> {
    /// True when the walk goes on.
    fn folder(&mut self, mut spot: Spot<'_>, path: &mut PathBuf, depth: usize) -> bool {
        if depth == WALK_DEPTH {
            self.walked.cut = true;
            return true;
        }
        let Ok((mut names, more)) = at::names(&spot.folder, FOLDER_NAMES) else {
            self.walked.unreadable += 1;
            return true;
        };
        self.walked.cut |= more;
        names.sort_unstable();
        for name in names {
            if self.seen == WALK_NAMES {
                self.walked.cut = true;
                return false;
            }
            self.seen += 1;
            path.push(&name);
            spot.name = name;
            let goes_on = self.name(&mut spot, path, depth);
            path.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn name(&mut self, spot: &mut Spot<'_>, path: &mut PathBuf, depth: usize) -> bool {
        // A name that was removed meanwhile is not there.
        let Ok(status) = at::status_at(&spot.folder, &spot.name) else {
            return true;
        };
        spot.found = Some(status);
        if self.hides(spot, &status) {
            return true;
        }
        let found = Found {
            path,
            status,
            spot,
            walk: (self.workspace, &self.marks),
        };
        match (self.visit)(&found) {
            Next::Stop => false,
            Next::Enter if status.kind == Kind::Folder => self.enter(spot, path, depth),
            Next::Enter | Next::Pass => true,
        }
    }

    fn enter(&mut self, spot: &Spot<'_>, path: &mut PathBuf, depth: usize) -> bool {
        let Ok(folder) = at::open_folder(&spot.folder, &spot.name) else {
            self.walked.unreadable += 1;
            return true;
        };
        match self.opened(spot, folder) {
            Some(folder) => self.folder(folder, path, depth + 1),
            None => true,
        }
    }

    /// A folder that was opened; `None` if it is hidden. It counts, and not what was there when it was looked at.
    fn opened(&self, spot: &Spot<'_>, folder: OwnedFd) -> Option<Spot<'static>> {
        let (status, mount) = mounts::status_and_number(&folder).ok()?;
        if self.hides(spot, &status) {
            return None;
        }
        if mount != spot.mount {
            let crossed = self.workspace.cross(spot.mount, mount, Intent::Read);
            if crossed.is_err() || at::is_kernel_view(&folder).unwrap_or(true) {
                return None;
            }
        }
        Some(Spot {
            folder: Held::Opened(folder),
            inode: status.inode,
            mount,
            name: OsString::new(),
            found: None,
        })
    }

    fn hides(&self, spot: &Spot<'_>, status: &Status) -> bool {
        let mut marks = self.marks.iter();
        marks.any(|mark| mark.hides(spot.inode, &spot.name, status.inode))
    }
}
