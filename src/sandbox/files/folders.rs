//! Whole folders of the workspace: put in place at once, and removed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use crate::base::error::Result;
use crate::sys::at::{self, Kind};
use crate::sys::mounts;

use super::Workspace;
use super::roots::{self, Failure, Intent};
use super::spot::Spot;
use super::{FOLDER_NAMES, WALK_DEPTH};

impl Workspace {
    /// Gives a folder another name in the same folder. What has that name already, if it is a folder,
    /// gets the old one in the same instant.
    pub fn move_folder(&self, from: &Path, to: &OsStr) -> Result<()> {
        self.access("rename", from, |root, rest| {
            self.needs_writable(root)?;
            let marks = self.marks(Intent::Write)?;
            let from = self.locate(root, rest, Intent::Write, &marks)?;
            roots::check_within(&marks, from.status()?.inode)?;
            let above = rest.parent().unwrap_or(Path::new(""));
            let target = self.locate(root, &above.join(to), Intent::Write, &marks)?;
            let exchanges = match &target.found {
                None => false,
                Some(status) if status.kind == Kind::Folder => {
                    roots::check_within(&marks, status.inode)?;
                    true
                }
                Some(_) => return Err(Failure::System(io::ErrorKind::NotADirectory.into())),
            };
            at::rename(
                &from.folder,
                &from.name,
                &target.folder,
                &target.name,
                exchanges,
            )?;
            at::settle_names(&target.folder);
            Ok(())
        })
    }

    /// Removes a folder and everything in it. A link is removed, and not what it leads to.
    pub fn remove_folder(&self, path: &Path) -> Result<()> {
        self.access("remove", path, |root, rest| {
            self.needs_writable(root)?;
            let marks = self.marks(Intent::Write)?;
            let above = rest.parent().unwrap_or(Path::new(""));
            let above = self.locate(root, above, Intent::Write, &marks)?;
            let name = rest
                .file_name()
                .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
            let mut spot = Spot::within(root, at::open_folder(&above.folder, &above.name)?)?;
            spot.name = name.to_owned();
            self.permit(root, &spot, Intent::Write, &marks)?;
            let folder = &spot.folder;
            let status = at::status_at(folder, name)?;
            roots::check_thing(&marks, status.inode, Intent::Write)?;
            if status.kind == Kind::Folder {
                self.locate(root, rest, Intent::Write, &marks)?;
                self.empty(at::open_folder(folder, name)?)?;
                at::remove_folder(folder, name)?;
            } else {
                at::remove_file(folder, name)?;
            }
            at::settle_names(folder);
            Ok(())
        })
    }

    /// Removes everything in a folder. Neither a mount nor what is protected is removed.
    fn empty(&self, top: OwnedFd) -> Result<(), Failure> {
        let marks = self.marks(Intent::Write)?;
        let mut open: Vec<(OwnedFd, OsString)> = vec![(top, OsString::new())];
        while let Some((folder, _)) = open.last() {
            let (names, _) = at::names(at::open_folder(folder, OsStr::new("."))?, FOLDER_NAMES)?;
            let mut below = None;
            for name in names {
                let status = at::status_at(folder, &name)?;
                roots::check_thing(&marks, status.inode, Intent::Write)?;
                match status.kind {
                    Kind::Folder => below = Some(name),
                    _ => at::remove_file(folder, &name)?,
                }
            }
            if let Some(name) = below {
                if open.len() == WALK_DEPTH {
                    return Err(Failure::System(io::Error::other("it is nested too deeply")));
                }
                let next = at::open_folder(folder, &name)?;
                self.cross(
                    mounts::number_of(folder)?,
                    mounts::number_of(&next)?,
                    Intent::Write,
                )?;
                open.push((next, name));
            } else if let Some((_, name)) = open.pop()
                && let Some((above, _)) = open.last()
            {
                at::remove_folder(above, &name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::config::schema::Tools;
    use crate::sandbox::files::Places;
    use crate::sys::beneath::Resolver;

    #[test]
    fn folders_change_places_and_are_removed_without_following_links() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("w");
        for folder in ["w/s/a/b/c", "w/s/new", "outside"] {
            std::fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        for file in ["w/s/a/b/c/x", "w/s/a/y", "w/s/new/z", "outside/kept"] {
            std::fs::write(top.path().join(file), "x").unwrap();
        }
        symlink(top.path().join("outside"), path.join("s/a/out")).unwrap();
        symlink(top.path().join("outside"), path.join("s/link")).unwrap();
        let places = Places {
            workspace: &path,
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let read = |path: &str| std::fs::exists(top.path().join(path)).unwrap();
        workspace
            .move_folder(Path::new("s/new"), OsStr::new("a"))
            .unwrap();
        assert!(read("w/s/a/z") && read("w/s/new/b/c/x"));
        workspace
            .move_folder(Path::new("s/a"), OsStr::new("d"))
            .unwrap();
        assert!(read("w/s/d/z") && !read("w/s/a"));
        workspace.remove_folder(Path::new("s/new")).unwrap();
        workspace.remove_folder(Path::new("s/link")).unwrap();
        assert!(!read("w/s/new") && !read("w/s/link") && read("outside/kept"));
        assert!(workspace.remove_folder(Path::new("s/none")).is_err());
        assert!(workspace.remove_folder(Path::new("../outside")).is_err());
        assert!(
            workspace
                .move_folder(Path::new("s/d"), OsStr::new("../../x"))
                .is_err()
        );
        assert!(read("outside/kept") && read("w/s/d/z"));
    }
}
