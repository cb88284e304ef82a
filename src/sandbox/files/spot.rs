//! Names in folders that are held open: what a path leads to.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::itself;
use super::roots::{Failure, Root, Rule};
use crate::base::error::Result;
use crate::sys::at::{self, Inode, Status};
use crate::sys::mounts;

/// A folder that is held open.
pub(super) enum Held<'a> {
    /// A root, which is open anyway.
    Root(&'a Root),
    /// A folder below it.
    Opened(OwnedFd),
}

impl AsFd for Held<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(root) => root.handle.as_fd(),
            Self::Opened(handle) => handle.as_fd(),
        }
    }
}

/// A name in a folder that is held open: where a path leads when every link is followed.
pub(super) struct Spot<'a> {
    pub(super) folder: Held<'a>,
    /// The folder's inode.
    pub(super) inode: Inode,
    /// The mount of the folder.
    pub(super) mount: u64,
    /// One component; `.` is the folder itself.
    pub(super) name: OsString,
    /// What had this name when it was looked at, if anything.
    pub(super) found: Option<Status>,
}

impl<'a> Spot<'a> {
    /// A root itself.
    pub(super) fn of_root(root: &'a Root) -> Result<Self, Failure> {
        if root.is_kernel_view {
            return Err(Rule::Outside.into());
        }
        Ok(Self {
            folder: Held::Root(root),
            inode: root.inode,
            mount: root.mount,
            name: itself().to_owned(),
            found: None,
        })
    }

    /// A folder that was opened beneath a root.
    pub(super) fn within(root: &Root, folder: OwnedFd) -> Result<Self, Failure> {
        let (status, mount) = mounts::status_and_number(&folder)?;
        // What is on the root's mount is on its file system.
        let is_kernel_view = if mount == root.mount {
            root.is_kernel_view
        } else {
            at::is_kernel_view(&folder)?
        };
        if is_kernel_view {
            return Err(Rule::Outside.into());
        }
        Ok(Self {
            inode: status.inode,
            folder: Held::Opened(folder),
            mount,
            name: itself().to_owned(),
            found: None,
        })
    }

    pub(super) fn status(&self) -> io::Result<&Status> {
        self.found
            .as_ref()
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }
}
