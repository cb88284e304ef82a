//! What lies where: the one place that joins names to the home folder.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::sys::beneath::real_path;

/// The home folder, mode 0700, and the places in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// Finds the home folder: `--home`, else `PEACRAB_HOME`, else systemd's `STATE_DIRECTORY`, else
    /// `~/.peacrab`; links are followed. `variable` looks a name up in the environment. Nothing is
    /// created.
    pub fn find(option: Option<&Path>, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let path = match option {
            Some(path) => path.to_owned(),
            None => match set("PEACRAB_HOME").or_else(|| set("STATE_DIRECTORY")) {
                Some(path) => PathBuf::from(path),
                None => Path::new(&set("HOME").ok_or_else(no_home)?).join(".peacrab"),
            },
        };
        let path = std::path::absolute(&path).map_err(Error::io("find", &path))?;
        // Commands see folders at their real paths only.
        Ok(Self(real_path(&path, &[]).unwrap_or(path)))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `config.json`
    pub fn config_file(&self) -> PathBuf {
        self.0.join("config.json")
    }

    /// `sessions/`, one journal a conversation.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// `inbox.jsonl`, messages that were accepted and that no session has yet.
    pub fn inbox(&self) -> PathBuf {
        self.0.join("inbox.jsonl")
    }

    /// `outbox.jsonl`, what is owed to people.
    pub fn outbox(&self) -> PathBuf {
        self.0.join("outbox.jsonl")
    }

    /// `control.sock`, where the running gateway listens.
    pub fn control(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// `gateway.lock`, which the running gateway holds and which names its process.
    pub fn lock(&self) -> PathBuf {
        self.0.join("gateway.lock")
    }

    /// `audit.jsonl`, what was run, asked, allowed, refused.
    pub fn audit(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    /// `state/`, small facts, each an atomic file.
    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// Real paths of what the home has elsewhere: links in it, and mounts of another file system, but for
    /// the workspace. What hides the home has to hide these too.
    pub fn elsewhere(&self, workspace: &Path) -> Vec<PathBuf> {
        let device = |path: &Path| Some(path.metadata().ok()?.dev());
        let own = device(self.path());
        let entries = std::fs::read_dir(self.path()).into_iter().flatten();
        let real = entries
            .flatten()
            .filter_map(|entry| entry.path().canonicalize().ok());
        let is_elsewhere = |path: &PathBuf| {
            !workspace.starts_with(path)
                && (path.parent() != Some(self.path()) || device(path) != own)
        };
        real.filter(is_elsewhere).collect()
    }

    /// The workspace: what `agents.defaults.workspace` says, else `workspace/`; links are followed.
    pub fn workspace(&self, configured: &str) -> PathBuf {
        let named = if configured.is_empty() {
            "workspace"
        } else {
            configured
        };
        let path = self.0.join(named);
        real_path(&path, &[]).unwrap_or(path)
    }
}

fn no_home() -> Error {
    Error::Config(
        "there is no home folder: set HOME or PEACRAB_HOME, or pass --home DIR".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_set_wins() {
        let environment = |names: &'static [(&'static str, &'static str)]| {
            move |name: &str| {
                names
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            }
        };
        let find =
            |option: Option<&str>, names| Home::find(option.map(Path::new), environment(names));
        assert_eq!(
            find(None, &[("HOME", "/h")]).unwrap().config_file(),
            Path::new("/h/.peacrab/config.json")
        );
        assert_eq!(
            find(None, &[("HOME", "/h"), ("STATE_DIRECTORY", "/s")])
                .unwrap()
                .path(),
            Path::new("/s")
        );
        assert_eq!(
            find(None, &[("PEACRAB_HOME", "/p"), ("STATE_DIRECTORY", "/s")])
                .unwrap()
                .path(),
            Path::new("/p")
        );
        assert_eq!(
            find(Some("/o"), &[("PEACRAB_HOME", "/p")]).unwrap().path(),
            Path::new("/o")
        );
        assert!(find(None, &[("HOME", "")]).is_err());
    }
}
