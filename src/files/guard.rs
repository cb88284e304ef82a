//! Places that are not for tools although they lie within a folder that is.
//!
//! A place is told by its inode, so that no other name of it helps, and also by its name within its
//! folder's inode, because files are replaced by atomic writes and some do not exist yet.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use crate::sys::at::{self, Inode};

use super::refusal::{Failure, Rule};

/// What an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Read,
    Write,
}

/// How a place is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Neither read nor written; the workspace within it is exempt.
    Hidden,
    /// Not written.
    ReadOnly,
}

impl Protection {
    fn forbids(self, intent: Intent) -> Option<Rule> {
        match (self, intent) {
            (Self::Hidden, _) => Some(Rule::Hidden),
            (Self::ReadOnly, Intent::Write) => Some(Rule::ReadOnly),
            (Self::ReadOnly, Intent::Read) => None,
        }
    }
}

/// A protected place.
#[derive(Debug)]
pub(super) struct Guard {
    folder: OwnedFd,
    folder_inode: Inode,
    name: OsString,
    /// What it was at the start: it stays protected when somebody moves it. It is held, because the
    /// inode of a file that is gone is soon another file's.
    first: Option<(OwnedFd, Inode)>,
    protection: Protection,
}

impl Guard {
    /// Guards a place by its absolute path. A place that does not exist is guarded from the first
    /// folder on that is missing.
    pub(super) fn new(place: &Path, protection: Protection) -> io::Result<Self> {
        let mut existing = place;
        let mut name = OsStr::new(".");
        let canonical = loop {
            match (existing.canonicalize(), existing.parent()) {
                (Err(error), Some(parent)) if is_out_of_sight(&error) => {
                    name = existing.file_name().unwrap_or(name);
                    existing = parent;
                }
                (canonical, _) => break canonical?,
            }
        };
        let (parent, name) = match (canonical.parent(), canonical.file_name()) {
            (Some(parent), Some(own)) if existing == place => (parent, own),
            _ => (canonical.as_path(), name),
        };
        let folder = at::open_root(parent)?;
        let first = match at::hold(&folder, name) {
            Ok(handle) => {
                let inode = at::status(&handle)?.inode;
                Some((handle, inode))
            }
            Err(error) if is_out_of_sight(&error) => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            folder_inode: at::status(&folder)?.inode,
            first,
            name: name.to_owned(),
            folder,
            protection,
        })
    }

    /// Whether the place lies beneath the folder.
    pub(super) fn is_beneath(&self, root: Inode) -> io::Result<bool> {
        is_beneath(self.folder.as_fd(), root)
    }

    /// The place as it is now, for comparing.
    pub(super) fn mark(&self) -> io::Result<Mark<'_>> {
        let now = inode_at(&self.folder, &self.name)?;
        Ok(Mark { guard: self, now })
    }
}

/// A protected place as it is at this moment.
#[derive(Debug)]
pub(super) struct Mark<'a> {
    guard: &'a Guard,
    now: Option<Inode>,
}

impl Mark<'_> {
    fn is(&self, inode: Inode) -> bool {
        let first = self.guard.first.as_ref().map(|(_, inode)| *inode);
        self.now == Some(inode) || first == Some(inode)
    }

    fn is_name(&self, folder: Inode, name: &OsStr) -> bool {
        self.guard.folder_inode == folder && self.guard.name == name
    }

    /// Whether what has this name in this folder is hidden.
    pub(super) fn hides(&self, folder: Inode, name: &OsStr, inode: Inode) -> bool {
        self.guard.protection == Protection::Hidden
            && (self.is(inode) || self.is_name(folder, name))
    }
}

/// Refuses what meets a protected place, if its protection forbids the intent.
fn refuse(
    marks: &[Mark<'_>],
    intent: Intent,
    meets: impl Fn(&Mark<'_>) -> bool,
) -> Result<(), Failure> {
    let mut met = marks.iter().filter(|mark| meets(mark));
    match met.find_map(|mark| mark.guard.protection.forbids(intent)) {
        Some(rule) => Err(rule.into()),
        None => Ok(()),
    }
}

/// Compares a thing with the protected ones, whatever its name.
pub(super) fn check_thing(marks: &[Mark<'_>], inode: Inode, intent: Intent) -> Result<(), Failure> {
    refuse(marks, intent, |mark| mark.is(inode))
}

/// A name in an open folder, beneath a root.
pub(super) struct Place<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
    pub(super) root: Inode,
    pub(super) workspace: Inode,
}

/// Compares a name and every folder above it, up to the root, with the protected places.
pub(super) fn check_place(
    marks: &[Mark<'_>],
    place: &Place<'_>,
    intent: Intent,
) -> Result<(), Failure> {
    let folder = at::status(place.folder)?.inode;
    refuse(marks, intent, |mark| mark.is_name(folder, place.name))?;
    let mut in_workspace = false;
    let reached = climb(place.folder, |here| {
        in_workspace |= here == place.workspace;
        refuse(marks, intent, |mark| {
            let exempt = in_workspace && mark.guard.protection == Protection::Hidden;
            mark.is(here) && !exempt
        })?;
        Ok::<bool, Failure>(here == place.root)
    })?;
    if reached {
        Ok(())
    } else {
        // The folder was moved out of the root while it was held.
        Err(Rule::Outside.into())
    }
}

/// Whether a folder is the root or lies beneath it.
pub(super) fn is_beneath(folder: BorrowedFd<'_>, root: Inode) -> io::Result<bool> {
    climb(folder, |here| Ok(here == root))
}

/// Goes from a folder up to the top of the file system until `found` says true. False at the top.
fn climb<E: From<io::Error>>(
    folder: BorrowedFd<'_>,
    mut found: impl FnMut(Inode) -> Result<bool, E>,
) -> Result<bool, E> {
    let mut here = at::status(folder)?.inode;
    let mut held: Option<OwnedFd> = None;
    loop {
        if found(here)? {
            return Ok(true);
        }
        let above = at::open_above(held.as_ref().map_or(folder, AsFd::as_fd))?;
        let inode = at::status(&above)?.inode;
        if inode == here {
            return Ok(false);
        }
        here = inode;
        held = Some(above);
    }
}

fn is_out_of_sight(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    )
}

/// What stands at the name. What may not even be looked at cannot be reached by tools either.
fn inode_at(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Inode>> {
    match at::status_if_any(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        status => Ok(status?.map(|status| status.inode)),
    }
}
