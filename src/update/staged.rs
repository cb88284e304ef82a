//! The folder `update` of the home, where the gateway puts a release for root to install.
//!
//! The gateway may not replace its own program. It verifies a release, stores it here, and writes the file
//! `request`; systemd sees that and starts `peacrab update --staged` as root, which believes nothing here
//! but the signature.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::{LIST, Release, SIGNATURE, Source, Version};
use crate::base::error::{Error, Result};
use crate::sys::file;

/// The file that asks for the update; systemd waits for it.
const REQUEST: &str = "request";

/// The folder.
#[derive(Clone, Debug)]
pub struct Staged(PathBuf);

impl Staged {
    /// At this path.
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Whether an update was asked for and has not begun.
    pub fn is_requested(&self) -> bool {
        self.0.join(REQUEST).exists()
    }

    /// Stores a release, in place of what is there.
    pub fn store(&self, release: &Release) -> Result<()> {
        file::private_folder(&self.0)?;
        self.clear()?;
        let stored = self.try_store(release);
        if stored.is_err() {
            let _ = self.clear();
        }
        stored
    }

    fn try_store(&self, release: &Release) -> Result<()> {
        let program = self.0.join(&release.program.name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o700);
        let mut file = options
            .open(&program)
            .map_err(Error::io("write", &program))?;
        release.fetch(&mut file, &|_| ())?;
        file::write_atomic(&self.0.join(LIST), &release.list, 0o600)?;
        file::write_atomic(&self.0.join(SIGNATURE), &release.signature, 0o600)
    }

    /// Asks for the installation of what is stored.
    pub fn request(&self, version: Version) -> Result<()> {
        let text = format!("{version}\n");
        file::write_atomic(&self.0.join(REQUEST), text.as_bytes(), 0o600)
    }

    /// Removes what is stored.
    pub fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let path = entry.path();
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
    }
}

/// Opens the folder of a home whose owner is not trusted, and takes the request away: it counts once. No
/// link is followed there. Fails when the request stays, as on a read-only disk: systemd would see it again.
pub fn take_request(folder: &Path) -> Result<Source> {
    let source = Source::open_folder(folder.to_owned())?;
    if let Source::Folder(opened, _) = &source {
        match rustix::fs::unlinkat(opened, REQUEST, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => {
                return Err(Error::io("remove", folder.join(REQUEST))(errno.into()));
            }
        }
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_once_and_one_that_stays_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let staged = Staged::new(home.path().join("update"));
        fs::create_dir(&staged.0).unwrap();
        staged.request(Version::own()).unwrap();
        take_request(&staged.0).unwrap();
        assert!(!staged.is_requested());
        take_request(&staged.0).unwrap();
        fs::create_dir(staged.0.join(REQUEST)).unwrap();
        assert!(take_request(&staged.0).is_err());
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&staged.0, &link).unwrap();
        assert!(take_request(&link).is_err());
    }
}
