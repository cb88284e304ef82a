//! What commands may do, from the configuration's words to real paths.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::policy::Bounds;
use crate::error::{Error, Result};
use crate::limits::confine as bounds;

/// Which walls are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// All that work, and at least namespaces or Landlock.
    #[default]
    Auto,
    /// Namespaces, and not Landlock.
    Namespaces,
    /// Landlock, and not namespaces.
    Landlock,
    /// None.
    Off,
}

/// What commands may do and see.
#[derive(Clone, Debug)]
pub struct Settings {
    /// This program, which confines itself when it is called with [`super::CONFINE`].
    pub program: PathBuf,
    /// Which walls.
    pub choice: Choice,
    /// Whether commands reach the network.
    pub network: bool,
    /// Whether commands see all files and not just the folders below.
    pub whole: bool,
    /// The folder to work in; it is HOME too.
    pub workspace: PathBuf,
    /// Further folders, read and write.
    pub write: Vec<PathBuf>,
    /// Further folders, read only.
    pub read: Vec<PathBuf>,
    /// Never written, even inside a folder to write.
    pub protect: Vec<PathBuf>,
    /// Never seen, even inside a folder to read: the keys, the configuration, the sessions.
    pub hide: Vec<PathBuf>,
    /// The whole environment; see [`Settings::environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// Limits of a command's processes.
    pub bounds: Bounds,
}

impl Settings {
    /// The usual ones, with this workspace and nothing beside it.
    pub fn new(workspace: &Path) -> Self {
        Self {
            // The running program, even if its file has been replaced since.
            program: "/proc/self/exe".into(),
            choice: Choice::Auto,
            network: true,
            whole: false,
            workspace: workspace.to_owned(),
            write: Vec::new(),
            read: Vec::new(),
            protect: Vec::new(),
            hide: Vec::new(),
            environment: Vec::new(),
            bounds: Bounds {
                cpu_seconds: bounds::CPU_SECONDS,
                memory_bytes: bounds::MEMORY_BYTES,
                file_bytes: bounds::FILE_BYTES,
                tmp_bytes: bounds::TMP_BYTES,
                processes: bounds::PROCESSES,
                files: bounds::FILES,
            },
        }
    }

    /// The clean environment: PATH with `append` behind it, HOME, LANG, TERM, TZ and the keys that
    /// the configuration allows. `variable` looks a name up in our own environment.
    pub fn environment(
        mut self,
        append: &str,
        allowed: &[String],
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let path = variable("PATH").and_then(|path| path.into_string().ok());
        let folders = path
            .as_deref()
            .unwrap_or(USUAL_PATH)
            .split(':')
            .chain(append.split(':'));
        // A relative folder would be one that the model can fill.
        let folders: Vec<&str> = folders.filter(|folder| folder.starts_with('/')).collect();
        let mut set = |name: &str, value: OsString| {
            self.environment.retain(|(known, _)| known != name);
            self.environment.push((name.into(), value));
        };
        set("PATH", folders.join(":").into());
        set("LANG", variable("LANG").unwrap_or_else(|| "C.UTF-8".into()));
        set("TERM", "dumb".into());
        for name in allowed.iter().map(String::as_str).chain(["TZ"]) {
            if let Some(value) = variable(name) {
                set(name, value);
            }
        }
        set("HOME", self.workspace.clone().into());
        self
    }

    /// The same with real paths. What does not exist is left out, apart from the workspace.
    pub(super) fn resolved(mut self) -> Result<Self> {
        let workspace = std::fs::canonicalize(&self.workspace);
        self.workspace = workspace.map_err(Error::io("find the workspace", &self.workspace))?;
        // A folder in a folder to write is there already. Were its name looked up, a command could
        // have put a link in its place since.
        let mut write = vec![self.workspace.clone()];
        write.extend(real(outside(&self.write, &write)));
        let (inside, apart) = std::mem::take(&mut self.read)
            .into_iter()
            .partition(|path: &PathBuf| write.iter().any(|folder| path.starts_with(folder)));
        self.read = real(apart);
        self.protect = real(std::mem::take(&mut self.protect))
            .into_iter()
            .chain(inside)
            .collect();
        self.hide = real(std::mem::take(&mut self.hide));
        self.write = write;
        self.environment.retain(|(name, _)| name != "HOME");
        self.environment
            .push(("HOME".into(), self.workspace.clone().into()));
        Ok(self)
    }
}

const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

fn outside(paths: &[PathBuf], folders: &[PathBuf]) -> Vec<PathBuf> {
    let is_outside = |path: &&PathBuf| !folders.iter().any(|folder| path.starts_with(folder));
    paths.iter().filter(is_outside).cloned().collect()
}

fn real(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths
        .iter()
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_a_clean_environment() {
        let ours = |name: &str| {
            let known = [
                ("PATH", "/a:.::b:/c"),
                ("SECRET", "s"),
                ("EDITOR", "vi"),
                ("TZ", "UTC"),
            ];
            let found = known.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let settings =
            Settings::new(Path::new("/w")).environment("/extra", &["EDITOR".to_owned()], ours);
        let mut shown: Vec<String> = settings
            .environment
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        shown.sort();
        assert_eq!(
            shown,
            [
                "EDITOR=vi",
                "HOME=/w",
                "LANG=C.UTF-8",
                "PATH=/a:/c:/extra",
                "TERM=dumb",
                "TZ=UTC"
            ]
        );
    }

    #[test]
    fn folders_within_the_workspace_are_not_looked_up_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", workspace.join("link")).unwrap();
        let mut settings = Settings::new(&workspace);
        settings.write = vec![workspace.join("link")];
        settings.read = vec![workspace.join("link")];
        let resolved = settings.resolved().unwrap();
        assert_eq!(resolved.write, std::slice::from_ref(&workspace));
        assert!(resolved.read.is_empty());
        assert_eq!(resolved.protect, [workspace.join("link")]);
        assert!(Settings::new(Path::new("/nowhere")).resolved().is_err());
    }
}
