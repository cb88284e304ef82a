//! What a path leads to, held open, and what of it is bound.

use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::reach::{Reach, is_stream, leads_by_process};
use super::tree::{self, Budget, Content};
use super::{Result, by_process};
use crate::sandbox::files::PromptPlaces;
use crate::sys::beneath::links_on_the_way;

/// What a path leads to, held open without being used.
pub(in crate::tools::commands) struct Located {
    handle: File,
    pub path: PathBuf,
    pub metadata: Metadata,
}

impl Located {
    /// None when there is nothing. The path is the real one of what is held, whatever happens to the
    /// name meanwhile.
    pub fn at(path: &Path) -> Option<Self> {
        Self::open(path).ok().flatten()
    }

    /// The same. Fails where the way leads through a link of /proc, which is another file for another process
    /// (proc(5), "magic links"), or in a circle.
    pub(super) fn open(path: &Path) -> Result<Option<Self>> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_MAGICLINKS;
        let opened = match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
            // Not before Linux 5.6, not with every filter, and not while something was renamed.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) if leads_by_process(path) => {
                Err(Errno::LOOP)
            }
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {
                rustix::fs::openat(CWD, path, flags, Mode::empty())
            }
            opened => opened,
        };
        let handle: File = match opened {
            Ok(handle) => handle.into(),
            Err(Errno::LOOP) if !is_stream(path) => return Err(by_process()),
            Err(_) => return Ok(None),
        };
        let found = || {
            Some(Self {
                path: std::fs::read_link(Self::link(&handle)).ok()?,
                metadata: handle.metadata().ok()?,
                handle,
            })
        };
        Ok(found())
    }

    /// The same, without what the program itself keeps a place with: that comes and goes with other commands.
    pub(super) fn of_others(path: &Path) -> Result<Option<Self>> {
        let is_kept = |found: &Self| PromptPlaces::is_made(&found.path, &found.metadata);
        Ok(Self::open(path)?.filter(|found| !is_kept(found)))
    }

    fn link(handle: &File) -> String {
        format!("/proc/self/fd/{}", handle.as_raw_fd())
    }

    /// What is in a file; `is_own` says whether a word of its text names a file of the program's own.
    pub(super) fn read(
        &self,
        budget: &mut Budget,
        is_own: &dyn Fn(&str) -> bool,
    ) -> Result<Content> {
        let path = PathBuf::from(Self::link(&self.handle));
        let reach = Reach::new(is_own);
        tree::content((&path, &self.path), &self.metadata, budget, reach)
    }
}

/// The links on the way of a path that are where something can be written.
pub(super) fn links_within(path: &Path, is_writable: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let (_, mut links) = links_on_the_way(path);
    links.retain(|link| is_writable(link));
    links
}
