//! Paths that commands must not change or see. What a path led to at the start stays protected wherever it is moved,
//! and so does what the path leads to now.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use super::hidden::with_mounts;
use super::{Settings, real};
use crate::base::error::{Error, Result};
use crate::sys::at::{self, Inode};
use crate::sys::beneath::{links_on_the_way, real_path};

/// How often is looked where protected paths are, while they change places with others.
const LOOKS: usize = 8;

/// A path as it was resolved at the start.
#[derive(Debug)]
pub struct Pinned {
    /// Without links; what it names may not exist.
    path: PathBuf,
    /// What was there. Held, because the inode of a file that is gone is soon another one's.
    first: Option<(OwnedFd, Inode)>,
}

impl Pinned {
    /// Resolves each path.
    pub fn all(paths: &[PathBuf]) -> Vec<Self> {
        let resolved = paths.iter().filter_map(|path| real_path(path, &[]).ok());
        let pin = |path: PathBuf| Self {
            first: at::hold(CWD, path.as_os_str())
                .and_then(|handle| Ok((at::status(&handle)?.inode, handle)))
                .ok()
                .map(|(inode, handle)| (handle, inode)),
            path,
        };
        resolved.map(pin).collect()
    }

    /// Where the thing of the start is now; `None` when it is gone.
    fn place(&self) -> Option<PathBuf> {
        let (handle, _) = self.first.as_ref()?;
        let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let path = std::fs::read_link(link).ok()?;
        // The kernel writes that behind the path of what was removed.
        let is_gone = path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)");
        (!is_gone && path.symlink_metadata().is_ok()).then_some(path)
    }
}

/// What a policy has to protect or to hide: real paths, and the device and inode of each.
#[derive(Debug, Default)]
pub struct Found {
    /// The paths.
    pub paths: Vec<PathBuf>,
    /// In the same order.
    pub inodes: Vec<(u64, u64)>,
}

impl Found {
    /// The real paths of what is there: of what was resolved at the start, wherever it is now, and of what the paths
    /// lead to now. `others` are looked for as they are; what is mounted elsewhere is found there too. An error when things
    /// change places all the time.
    pub fn look(
        pinned: &[Pinned],
        named: &[PathBuf],
        others: &[PathBuf],
        exempt: Option<&Path>,
    ) -> Result<Self> {
        for _ in 0..LOOKS {
            let places = pinned.iter().filter_map(Pinned::place);
            // A link that is there now was none at the start.
            let first = pinned.iter().map(|one| one.path.clone());
            let first = first.filter(|path| path.canonicalize().is_ok_and(|real| real == *path));
            let paths = places
                .chain(first)
                .chain(real(named))
                .chain(others.iter().cloned());
            let found = Self::at(with_mounts(paths.collect(), exempt)?);
            let is_found = |one: &Pinned| {
                let inode = one.first.as_ref().map(|(_, inode)| inode.numbers());
                inode.is_none_or(|inode| found.inodes.contains(&inode)) || one.place().is_none()
            };
            if pinned.iter().all(is_found) {
                return Ok(found);
            }
        }
        Err(Error::Failed(
            "the command was not run: a protected path changes places with another one all the time".to_owned(),
        ))
    }

    /// Those that are there.
    fn at(paths: Vec<PathBuf>) -> Self {
        let mut all = Self::default();
        for path in paths {
            if let Ok(found) = at::status_at(CWD, path.as_os_str()) {
                all.inodes.push(found.inode.numbers());
                all.paths.push(path);
            }
        }
        all
    }
}

impl Settings {
    /// The links on the way to paths of the configuration, in folders that commands may change.
    pub fn links_to_keep(&self) -> Vec<PathBuf> {
        let changeable =
            |link: &PathBuf| self.whole || self.write.iter().any(|folder| link.starts_with(folder));
        let named = self.links.iter().map(|(link, _)| link);
        let named = named.chain(
            [&self.named, &self.protect, &self.hide]
                .into_iter()
                .flatten(),
        );
        let links = named
            .chain(&self.home)
            .flat_map(|path: &PathBuf| links_on_the_way(path).1);
        let mut links: Vec<PathBuf> = links.filter(changeable).collect();
        links.sort_unstable();
        links.dedup();
        links
    }
}
