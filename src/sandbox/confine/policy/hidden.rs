//! What commands must not reach, wherever it is mounted.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use crate::base::error::{Error, Result};
use crate::sys::at::{self, Inode};
use crate::sys::beneath::canonical;
use crate::sys::mounts::Mounts;

/// The home folder, held from the start on.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    /// Held, because the inode of a folder that is gone is soon another one's.
    _handle: OwnedFd,
    inode: Inode,
}

impl Home {
    /// Opens the home; `None` when there is no such folder yet.
    pub fn hold(path: &Path) -> Result<Option<Self>> {
        let Ok(path) = canonical(path) else {
            return Ok(None);
        };
        let held = at::open_root(&path).and_then(|handle| Ok((at::status(&handle)?.inode, handle)));
        let (inode, handle) = held.map_err(Error::io("open the home", &path))?;
        Ok(Some(Self {
            path,
            _handle: handle,
            inode,
        }))
    }

    /// The real path, at which the home still is. Elsewhere a command would find it unhidden, so it is
    /// an error when it was moved.
    pub fn path(&self) -> Result<&Path> {
        let top = at::open_root(Path::new("/"));
        let now = top.and_then(|top| at::hold_below(top, &self.path, None));
        match now.and_then(at::status) {
            Ok(now) if now.inode == self.inode => Ok(&self.path),
            _ => Err(Error::Failed(format!(
                "the command was not run: the home folder of Peacrab is no longer at {}. Put it back, \
                 or restart Peacrab with --home",
                self.path.display()
            ))),
        }
    }
}

/// The paths, and all others at which mounts show the same files. What lies in `exempt` may be seen.
pub fn with_mounts(paths: Vec<PathBuf>, exempt: Option<&Path>) -> Result<Vec<PathBuf>> {
    let failed = || Error::io("read", "the table of mounts");
    let mounts = Mounts::read().map_err(failed())?;
    let location = |path: &Path| match at::hold(CWD, path.as_os_str()) {
        Ok(handle) => mounts.location(handle).map_err(failed()),
        // What we may not reach a command may not either.
        Err(_) => Ok(None),
    };
    let exempt = exempt.map_or(Ok(None), location)?;
    let mut all = paths.clone();
    for path in &paths {
        if let Some(location) = location(path)? {
            all.extend(mounts.paths_to(&location, exempt.as_ref()));
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}
