//! Paths in the home folder, and the command that reaches it from a shell.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::schema::MAIN;
use super::texts;
use crate::base::error::{Error, Result};
use crate::sys::beneath::real_path;
use crate::sys::environment::Environment;

/// The first user id of accounts that people log in to; those below are the system's (login.defs(5),
/// `UID_MIN`).
const LOGIN_USER_MIN: u32 = 1000;

/// The home folder, mode 0700, and the places in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// Finds the home folder, as [`Home::named`] says; links are followed. Nothing is created.
    pub fn find(option: Option<&Path>, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let path = Self::named(option, variable)?;
        // Commands see folders at their real paths only.
        Ok(Self(real_path(&path, &[]).unwrap_or(path)))
    }

    /// The absolute path by which the home folder is named: `--home`, else `PEACRAB_HOME`, else systemd's
    /// `STATE_DIRECTORY`, else `~/.peacrab`. `variable` looks a name up in the environment.
    pub fn named(
        option: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<PathBuf> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let path = match option {
            Some(path) => path.to_owned(),
            None => match set("PEACRAB_HOME").or_else(|| set("STATE_DIRECTORY")) {
                Some(path) => PathBuf::from(path),
                None => Path::new(&set("HOME").ok_or_else(no_home)?).join(".peacrab"),
            },
        };
        std::path::absolute(&path).map_err(Error::io("find", &path))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `config.json`
    pub fn config_file(&self) -> PathBuf {
        self.0.join("config.json")
    }

    /// `sessions/`: one journal per conversation.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// `agents/`: the folders of the agents besides `main`.
    pub fn agents(&self) -> PathBuf {
        self.0.join("agents")
    }

    /// The journals of an agent: `sessions/` for `main`, `agents/ID/sessions/` for another.
    pub fn sessions_of(&self, agent: &str) -> PathBuf {
        match agent {
            MAIN => self.sessions(),
            id => self.agents().join(id).join("sessions"),
        }
    }

    /// `inbox.jsonl`: accepted messages that are not yet in a session's journal.
    pub fn inbox(&self) -> PathBuf {
        self.0.join("inbox.jsonl")
    }

    /// `outbox.jsonl`: messages that are not delivered yet.
    pub fn outbox(&self) -> PathBuf {
        self.0.join("outbox.jsonl")
    }

    /// `control.sock`: the socket of the running gateway.
    pub fn control(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// `gateway.lock`: locked by the running gateway; contains its process id.
    pub fn lock(&self) -> PathBuf {
        self.0.join("gateway.lock")
    }

    /// `audit.jsonl`: what was run, asked, allowed and refused.
    pub fn audit(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    /// `state/`: small facts, each in a file that is replaced atomically.
    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// `outgoing/`: files that were made for a message and are not delivered yet.
    pub fn outgoing(&self) -> PathBuf {
        self.0.join("outgoing")
    }

    /// `cron/`: scheduled jobs and their runs.
    pub fn cron(&self) -> PathBuf {
        self.0.join("cron")
    }

    /// `update/`: a release that the gateway has fetched, for root to install.
    pub fn update(&self) -> PathBuf {
        self.0.join("update")
    }

    /// The folder with the homes of an agent's programs: of its MCP servers, and of the commands of the configuration.
    pub fn programs(&self, agent: &str) -> PathBuf {
        let folder = self.0.join("programs");
        match agent {
            MAIN => folder,
            agent => folder.join(format!("agent.{agent}")),
        }
    }

    /// The folder of automatic backups: `backup.folder`, else `backups/`.
    pub fn backups(&self, configured: &str) -> PathBuf {
        let named = if configured.is_empty() {
            "backups"
        } else {
            configured
        };
        self.0.join(named)
    }

    /// Real paths of what the home keeps elsewhere (links in it, and mounts of another file system), except
    /// the workspace. Whatever hides the home has to hide these too.
    pub fn elsewhere(&self, workspace: &Path) -> Vec<PathBuf> {
        let device = |path: &Path| Some(path.metadata().ok()?.dev());
        let own = device(self.path());
        let entries = std::fs::read_dir(self.path()).into_iter().flatten();
        let real = entries.flatten().filter_map(|entry| {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let path = entry.path();
            if is_link {
                path.canonicalize().ok()
            } else {
                Some(path)
            }
        });
        let is_elsewhere = |path: &PathBuf| {
            !workspace.starts_with(path)
                && (path.parent() != Some(self.path()) || device(path) != own)
        };
        real.filter(is_elsewhere).collect()
    }

    /// Takes the lock of the home's gateway; `None` while another process has it.
    pub fn try_lock(&self) -> Result<Option<File>> {
        let path = self.lock();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let opened = crate::sys::file::open_regular(&path, &mut options);
        let mut file = opened.map_err(Error::io("open", &path))?;
        if !crate::sys::file::try_lock(&file).map_err(Error::io("lock", &path))? {
            return Ok(None);
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(Error::io("write", &path))?;
        Ok(Some(file))
    }

    /// The workspace: `agents.defaults.workspace`, else `workspace/`; links are followed.
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

/// The command that reaches this home from a shell on this machine, to be followed by a subcommand:
/// `peacrab`, `peacrab --home DIR` where the program would find another home by itself, behind `sudo`
/// where the home belongs to an account without a login. A program that is not in `PATH` is named by
/// its path. The environment is that of this process.
pub fn command_for(home: &Home, environment: &Environment) -> String {
    let owner = match std::fs::metadata(home.path()) {
        Ok(found) => found.uid(),
        Err(_) => rustix::process::geteuid().as_raw(),
    };
    let has_sudo = || in_path("sudo", environment).is_some();
    let needs_sudo = owner != 0 && owner < LOGIN_USER_MIN && has_sudo();
    // PEACRAB_HOME of this process may not be set in another shell.
    let only_home = |name: &str| environment.get(name).filter(|_| name == "HOME").cloned();
    let is_default = Home::find(None, only_home).is_ok_and(|default| default == *home);
    let mut command = String::new();
    if needs_sudo {
        command.push_str("sudo ");
    }
    command.push_str(&program_for(environment));
    if !is_default {
        command.push_str(" --home ");
        command.push_str(&quote_for_shell(home.path()));
    }
    command
}

/// This program as a word of a shell: `peacrab`, or its path where `PATH` does not lead to it.
pub fn program_for(environment: &Environment) -> String {
    let own = std::env::current_exe().unwrap_or_default();
    // After an update the kernel appends this; the new program has the same path.
    let own = PathBuf::from(own.to_string_lossy().trim_end_matches(" (deleted)"));
    match in_path(PROGRAM, environment).and_then(|path| path.canonicalize().ok()) {
        Some(path) if path == own => PROGRAM.to_owned(),
        _ => quote_for_shell(&own),
    }
}

/// The program's name in `PATH`.
const PROGRAM: &str = "peacrab";

/// The file of this name that a shell would run.
fn in_path(name: &str, environment: &Environment) -> Option<PathBuf> {
    let folders = std::env::split_paths(environment.get("PATH")?);
    folders.map(|folder| folder.join(name)).find(|path| {
        std::fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// A path as one word of a shell.
pub fn quote_for_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+@,:".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn no_home() -> Error {
    Error::Config(texts::no_home().to_owned())
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

    #[test]
    fn a_command_names_the_home_that_the_program_would_not_find() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(at("bin")).unwrap();
        let own = std::env::current_exe().unwrap();
        std::os::unix::fs::symlink(&own, at("bin/peacrab")).unwrap();
        std::os::unix::fs::symlink("/bin/true", at("bin/sudo")).unwrap();
        let command = |home: &Path, path: &str| {
            let variables = [("HOME", at("")), ("PATH", at(path))];
            let environment =
                variables.map(|(name, path)| (name.to_owned(), path.display().to_string()));
            let home = Home::find(Some(home), |_| None).unwrap();
            command_for(&home, &environment.into())
        };
        assert_eq!(command(&at(".peacrab"), "bin"), "peacrab");
        let other = at("it's mine");
        assert_eq!(
            command(&other, "bin"),
            format!(
                "peacrab --home '{}/it'\\''s mine'",
                at("").display().to_string().trim_end_matches('/')
            )
        );
        assert_eq!(command(&at(".peacrab"), "none"), quote_for_shell(&own));
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir(&other).unwrap();
            std::os::unix::fs::chown(&other, Some(999), None).unwrap();
            assert!(command(&other, "bin").starts_with("sudo peacrab --home "));
            std::os::unix::fs::chown(&other, Some(1000), None).unwrap();
            assert!(command(&other, "bin").starts_with("peacrab --home "));
        }
    }
}
