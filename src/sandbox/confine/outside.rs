//! Commands outside the sandbox: what decides about them is out of the model's reach. Programs look for
//! configuration in HOME, and for programs in PATH; neither may be where the model can write.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::Exec;
use super::NEIGHBOURS;
use super::child::TEMPORARY;
use super::policy::{Access, Settings, USUAL_PATH, closest, real};
use crate::base::error::{Error, Result};
use crate::sys::file::private_folder;

/// Folders of the system, which only root can write. Where root's commands may write all files there
/// is nothing that they could not change anyway.
const SYSTEM: [&str; 8] = [
    "/usr", "/etc", "/bin", "/sbin", "/lib", "/proc", "/sys", "/dev",
];

/// What Debian gives to accounts without a home.
const NOWHERE: &str = "/nonexistent";

impl Exec {
    /// Whether a command in the sandbox can write to this real path, which has no links in it.
    pub fn is_writable(&self, path: &Path) -> bool {
        self.settings.is_writable(path)
    }

    /// Whether that, or a command of another agent or a server of tools, can write to it.
    pub fn is_changeable(&self, path: &Path) -> bool {
        self.settings.is_changeable(path)
    }

    /// Whether a real path is hidden from commands in the sandbox, such as one in the home of the program.
    pub fn is_hidden(&self, path: &Path) -> bool {
        self.settings.access(path) == Some(Access::Hidden)
    }

    /// The folders beside the workspace that any of those can write to: real paths.
    pub fn changeable(&self) -> &[PathBuf] {
        &self.settings.others
    }

    /// HOME of a command outside the sandbox.
    pub fn outside_home(&self) -> PathBuf {
        self.settings.outside_home()
    }

    /// The same as a folder to start in, which is there.
    pub fn outside_folder(&self) -> Result<PathBuf> {
        let home = self.settings.made_outside_home()?;
        Ok(if home.is_dir() { home } else { "/".into() })
    }
}

/// The folders in a folder, up to a bound; links are none.
fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let folders = entries.take(NEIGHBOURS).filter(is_folder);
    folders.map(|entry| entry.path())
}

/// Whether a path is in a command's folder for temporary files, where that is one of the system's.
fn is_temporary(path: &Path) -> bool {
    let name = path
        .strip_prefix("/tmp")
        .ok()
        .and_then(|rest| rest.iter().next());
    name.is_some_and(|name| name.as_bytes().starts_with(TEMPORARY.as_bytes()))
}

impl Settings {
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        if is_temporary(path) {
            return true;
        }
        match self.access(path) {
            Some(access) => access == Access::Write,
            None => self.whole && !SYSTEM.iter().any(|folder| path.starts_with(folder)),
        }
    }

    /// See [`Exec::is_changeable`].
    fn is_changeable(&self, path: &Path) -> bool {
        let mut others = self.others.iter();
        self.is_writable(path)
            || others.any(|folder| path.starts_with(folder))
            || self
                .homes
                .as_ref()
                .is_some_and(|homes| path.starts_with(homes))
    }

    /// What the closest of the settings says of a real path.
    fn access(&self, path: &Path) -> Option<Access> {
        closest(
            path,
            [
                (&self.write, Access::Write),
                (&self.read, Access::Read),
                (&real(&self.protect), Access::Read),
                (&real(&self.hide), Access::Hidden),
                (&real(self.home.as_slice()), Access::Hidden),
            ],
        )
    }

    fn outside_home(&self) -> PathBuf {
        let home = self.account_home.as_deref();
        let home = home.and_then(|home| home.canonicalize().ok());
        home.filter(|home| !self.is_in_reach(home))
            .or_else(|| self.empty_home.clone())
            .unwrap_or_else(|| NOWHERE.into())
    }

    /// Whether something in the sandbox can write to a home folder, or to a part of it such as `.config`. Workspaces of
    /// agents in the home of the program are no such parts.
    fn is_in_reach(&self, home: &Path) -> bool {
        let own = real(self.home.as_slice());
        let is_own = |folder: &Path| own.iter().any(|own| folder.starts_with(own));
        let is_configuration = |folder: &PathBuf| {
            let rest = folder.strip_prefix(home);
            *folder != self.workspace
                && !is_own(folder)
                && rest.is_ok_and(|rest| rest.as_os_str().as_bytes().starts_with(b"."))
        };
        // A dotfile may be a link to where the model can write.
        let leads_there = |folder: &Path| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.take(NEIGHBOURS).any(|entry| {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                let is_dotted = folder != home || entry.file_name().as_bytes().starts_with(b".");
                let real = || entry.path().canonicalize();
                is_link && is_dotted && real().is_ok_and(|path| self.is_changeable(&path))
            })
        };
        let mut changeable = self.write.iter().chain(&self.others);
        let dotted = folders_in(home).filter(|folder| {
            let name = folder.file_name().unwrap_or_default();
            name.as_bytes().starts_with(b".") && !is_own(folder)
        });
        // Programs keep their configuration in a folder there, or in one of these.
        let deeper = [".config", ".local"].map(|name| folders_in(&home.join(name)));
        self.is_changeable(home)
            || changeable.any(is_configuration)
            || std::iter::once(home.to_owned())
                .chain(dotted)
                .chain(deeper.into_iter().flatten())
                .any(|folder| leads_there(&folder))
    }

    /// HOME outside the sandbox. An empty one is made.
    fn made_outside_home(&self) -> Result<PathBuf> {
        let home = self.outside_home();
        if self.empty_home.as_ref() == Some(&home) && !home.exists() {
            home.parent().map_or(Ok(()), private_folder)?;
            let made = std::fs::DirBuilder::new().mode(0o500).create(&home);
            made.map_err(Error::io("make the folder", &home))?;
        }
        Ok(home)
    }

    /// The environment outside the sandbox: without what leads to where the model can write.
    pub(super) fn outside_environment(&self) -> Result<Vec<(OsString, OsString)>> {
        let home = self.made_outside_home()?;
        let known = self.environment.iter();
        let mut environment: Vec<(OsString, OsString)> = known
            .filter(|(name, value)| name != "PATH" && name != "HOME" && !self.leads_astray(value))
            .cloned()
            .collect();
        let path = self.environment.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new(USUAL_PATH), |(_, path)| path);
        environment.push(("PATH".into(), self.clean_path(path)));
        environment.push(("HOME".into(), home.into()));
        Ok(environment)
    }

    /// Real paths, so that no link can be swapped in them, without those that the model can write to.
    fn clean_path(&self, path: &OsStr) -> OsString {
        let mut folders: Vec<PathBuf> = Vec::new();
        for part in path.as_bytes().split(|byte| *byte == b':') {
            let real = Path::new(OsStr::from_bytes(part)).canonicalize();
            if let Ok(folder) = real
                && folder.is_absolute()
                && !folders.contains(&folder)
                && !self.is_changeable(&folder)
            {
                folders.push(folder);
            }
        }
        let folders: Vec<&OsStr> = folders.iter().map(|folder| folder.as_os_str()).collect();
        folders.join(OsStr::new(":"))
    }

    /// Whether a variable names a place that the model can write to.
    fn leads_astray(&self, value: &OsStr) -> bool {
        let mut parts = value.as_bytes().split(|byte| *byte == b':');
        parts.any(|part| {
            let path = Path::new(OsStr::from_bytes(part));
            let real = path.canonicalize();
            path.is_absolute() && self.is_changeable(real.as_deref().unwrap_or(path))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A home with a workspace in it, and the settings for both.
    fn place() -> (tempfile::TempDir, PathBuf, Settings) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let workspace = home.join(".peacrab/workspace");
        std::fs::create_dir_all(workspace.join("bin")).unwrap();
        let mut settings = Settings::new(&workspace);
        settings.account_home = Some(home.clone());
        settings.empty_home = Some(folder.path().join("state/empty"));
        (folder, home, settings)
    }

    fn value(settings: &Settings, name: &str) -> Option<OsString> {
        let environment = settings.outside_environment().unwrap();
        let mut found = environment.into_iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value);
        assert_eq!(found.next(), None);
        value
    }

    #[test]
    fn home_is_the_accounts_own() {
        let (folder, home, settings) = place();
        let link = folder.path().join("link");
        symlink(&home, &link).unwrap();
        let mut settings = settings.resolved().unwrap();
        assert_eq!(value(&settings, "HOME"), Some(home.clone().into()));
        settings.account_home = Some(link);
        assert_eq!(value(&settings, "HOME"), Some(home.into()));
        assert!(!settings.empty_home.unwrap().exists());
    }

    #[test]
    fn home_is_empty_where_the_accounts_own_is_in_reach() {
        for (write, whole) in [
            (Some(""), false),
            (Some(".config"), false),
            (Some(".local/bin"), false),
            (None, true),
        ] {
            let (_folder, home, mut settings) = place();
            std::fs::create_dir_all(home.join(".local/bin")).unwrap();
            std::fs::create_dir_all(home.join(".config")).unwrap();
            settings.write = write.into_iter().map(|name| home.join(name)).collect();
            settings.whole = whole;
            let settings = settings.resolved().unwrap();
            let empty = settings.empty_home.clone().unwrap();
            assert_eq!(
                value(&settings, "HOME"),
                Some(empty.clone().into()),
                "{write:?}"
            );
            let found = std::fs::metadata(&empty).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o500);
            assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
        }
        // A dotfile that is a link to where commands can write.
        let (_folder, home, mut settings) = place();
        std::fs::create_dir_all(home.join("dotfiles")).unwrap();
        std::fs::write(home.join("dotfiles/gitconfig"), "").unwrap();
        symlink("dotfiles/gitconfig", home.join(".gitconfig")).unwrap();
        settings.write = vec![home.join("dotfiles")];
        let settings = settings.resolved().unwrap();
        assert_eq!(
            value(&settings, "HOME"),
            settings.empty_home.clone().map(Into::into)
        );
        // The same in a folder of a program.
        for deep in [".docker/config.json", ".config/git/config"] {
            let (_folder, home, mut settings) = place();
            std::fs::create_dir_all(home.join("dotfiles")).unwrap();
            std::fs::write(home.join("dotfiles/file"), "").unwrap();
            std::fs::create_dir_all(home.join(deep).parent().unwrap()).unwrap();
            symlink(home.join("dotfiles/file"), home.join(deep)).unwrap();
            settings.write = vec![home.join("dotfiles")];
            let settings = settings.resolved().unwrap();
            let empty = settings.empty_home.clone();
            assert_eq!(settings.made_outside_home().ok(), empty, "{deep}");
        }
        let (_folder, home, mut settings) = place();
        std::fs::create_dir_all(home.join("data")).unwrap();
        settings.write = vec![home.join("data")];
        let settings = settings.resolved().unwrap();
        assert_eq!(value(&settings, "HOME"), Some(home.into()));
        let (_folder, _, mut settings) = place();
        (settings.account_home, settings.empty_home) = (None, None);
        let settings = settings.resolved().unwrap();
        assert_eq!(value(&settings, "HOME"), Some(NOWHERE.into()));
    }

    #[test]
    fn path_and_variables_do_not_lead_to_the_workspace() {
        let (folder, home, settings) = place();
        let workspace = home.join(".peacrab/workspace");
        let tools = folder.path().canonicalize().unwrap().join("tools");
        std::fs::create_dir(&tools).unwrap();
        symlink(workspace.join("bin"), tools.join("there")).unwrap();
        symlink(&tools, workspace.join("back")).unwrap();
        let inside = workspace.display().to_string();
        let path = format!("/usr/bin:{inside}/bin:{0}/there:/usr/bin", tools.display());
        let variables = [
            ("PATH", path),
            ("LIBRARIES", format!("/usr/lib:{inside}/new")),
            ("EDITOR", "vi".to_owned()),
        ];
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let allowed = ["LIBRARIES".to_owned(), "EDITOR".to_owned()];
        let append = format!("{inside}/back");
        let settings = settings.environment(&append, &allowed, variable);
        let settings = settings.resolved().unwrap();
        let clean = format!("/usr/bin:{}", tools.display());
        assert_eq!(value(&settings, "PATH"), Some(clean.into()));
        assert_eq!(value(&settings, "LIBRARIES"), None);
        assert_eq!(value(&settings, "EDITOR"), Some("vi".into()));
    }

    #[test]
    fn what_servers_of_tools_can_write_is_neither_home_nor_in_path() {
        let (folder, home, mut settings) = place();
        let tools = folder.path().canonicalize().unwrap().join("tools");
        std::fs::create_dir(&tools).unwrap();
        settings.others = vec![tools.clone()];
        let homes = folder.path().canonicalize().unwrap().join("programs");
        std::fs::create_dir_all(homes.join("mcp.lamp.0123/bin")).unwrap();
        settings.homes = Some(homes.clone());
        let bin = homes.join("mcp.lamp.0123/bin");
        let path = format!("/usr/bin:{}:{}", tools.display(), bin.display());
        let variable = |name: &str| (name == "PATH").then(|| OsString::from(&path));
        let settings = settings.environment("", &[], variable).resolved().unwrap();
        assert!(settings.is_changeable(&bin) && !settings.is_writable(&bin));
        assert_eq!(value(&settings, "PATH"), Some("/usr/bin".into()));
        assert_eq!(value(&settings, "HOME"), Some(home.clone().into()));
        let (_folder, home, mut settings) = place();
        std::fs::create_dir(home.join(".config")).unwrap();
        settings.others = vec![home.join(".config")];
        let settings = settings.resolved().unwrap();
        let empty = settings.empty_home.clone().unwrap();
        assert_eq!(value(&settings, "HOME"), Some(empty.into()));
        // The workspace of another agent is in the home of the program, which is hidden.
        let (_folder, home, mut settings) = place();
        let other = home.join(".peacrab/agents/work/workspace");
        std::fs::create_dir_all(&other).unwrap();
        settings.home = Some(home.join(".peacrab"));
        // A person may keep it elsewhere.
        symlink(&other, home.join(".peacrab/other")).unwrap();
        settings.others = vec![other];
        let settings = settings.resolved().unwrap();
        assert_eq!(value(&settings, "HOME"), Some(home.into()));
    }
}
