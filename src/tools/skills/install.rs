//! Writes a skill into the workspace, all of it at once, and removes one.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::built_in::built_in;
use super::package::Package;
use super::{FOLDER, Skills, is_folder_name};
use crate::base::error::{Error, Result};

impl Skills<'_> {
    /// Whether the workspace has a folder or anything else for this skill.
    pub fn is_own(&self, name: &str) -> bool {
        let folder = Path::new(FOLDER).join(name);
        is_folder_name(name)
            && !self
                .workspace
                .kind(&folder)
                .is_err_and(|error| error.is_not_found())
    }

    /// Installs a skill: either all of it is there afterwards, or nothing has changed. One of that name in
    /// the workspace is replaced only if `replaces` says so.
    pub fn install(&self, package: &Package, replaces: bool) -> Result<()> {
        let name = &package.name;
        // A link in its place may lead out of the workspace.
        match self.workspace.kind(Path::new(FOLDER)) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        if self.is_own(name) && !replaces {
            return Err(Error::Usage(format!(
                "The skill {name} is installed already. Use --force to replace it."
            )));
        }
        // Hidden, so that it is not listed; a killed installation leaves it to the next one.
        let staged = Path::new(FOLDER).join(format!(".{name}.new"));
        self.discard(&staged)?;
        let written = self
            .write(package, &staged)
            .and_then(|()| self.workspace.move_folder(&staged, OsStr::new(name)));
        // What is there now is the skill that was replaced, or half of the new one.
        if let Err(error) = self.discard(&staged) {
            tracing::warn!("failed to remove what was left of an installation: {error}");
        }
        written
    }

    fn write(&self, package: &Package, staged: &Path) -> Result<()> {
        for file in &package.files {
            let path = staged.join(&file.path);
            let failed = || Error::io("write", &path);
            let mut to = self.workspace.create(&path)?;
            to.write_all(&file.content).map_err(failed())?;
            if file.is_executable {
                let runs = Permissions::from_mode(0o755);
                to.set_permissions(runs).map_err(failed())?;
            }
            to.sync_all().map_err(failed())?;
        }
        Ok(())
    }

    /// Removes a skill from the workspace.
    pub fn remove(&self, name: &str) -> Result<()> {
        match (self.is_own(name), built_in(name)) {
            (true, _) => self.discard(&Path::new(FOLDER).join(name)),
            (false, Some(_)) => Err(Error::Usage(format!(
                "{name} is a built-in skill and cannot be removed. A skill of that name in the workspace replaces it."
            ))),
            (false, None) => Err(self.unknown(name)),
        }
    }

    fn discard(&self, folder: &Path) -> Result<()> {
        match self.workspace.remove_folder(folder) {
            Err(error) if error.is_not_found() => Ok(()),
            removed => removed,
        }
    }
}
