//! Finds the home folder of the installed service, and becomes the account that a home folder belongs to, as root.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::service::ServiceHome;
use super::{Context, Error, Exit, HomeUse, Result, service};
use crate::config::Home;
use crate::config::check::looks_secret;
use crate::config::home::{command_for, quote_for_shell};
use crate::store::backup::swap;
use crate::sys::beneath::links_on_the_way;
use crate::sys::process::{Alone, become_user};

/// Where systemd puts the credentials of the system's service (systemd.exec(5), "Credentials").
const CREDENTIALS: &str = "/run/credentials/peacrab.service";

/// Where a command looked, for people.
pub enum HomeNote {
    /// A sentence: the home has no configuration.
    Unconfigured(String),
    /// A remark to the error, without a full stop.
    Used(String),
}

impl Context {
    /// Takes the home of the installed service where nothing else is named or set up.
    pub(super) fn choose_home(&mut self, home_use: HomeUse) -> Result<()> {
        let services = service::homes(self);
        let configured = self.service_of_config(&services);
        if let (Some(found), false) = (configured, self.is_other_home_named()) {
            self.global.home = Some(found.home.clone());
        }
        let own = self.home();
        let is_set_up = |home: &Home| home.config_file().exists() || swap::is_begun(home.path());
        if !self.is_home_named() && !own.as_ref().is_ok_and(is_set_up) {
            for found in &services {
                match std::fs::read_dir(&found.home).map_err(|error| error.kind()) {
                    Ok(_) => {
                        self.global.home = Some(found.home.clone());
                        self.global.config.clone_from(&found.config);
                        break;
                    }
                    Err(ErrorKind::PermissionDenied) if home_use == HomeUse::Installed => {
                        return Err(self.needs_root(&found.home));
                    }
                    Err(ErrorKind::PermissionDenied) => {
                        self.unreadable_home = Some(found.home.clone());
                    }
                    Err(_) => {}
                }
            }
        }
        let home = self.home()?;
        if let Err(error) = std::fs::read_dir(home.path())
            && error.kind() == ErrorKind::PermissionDenied
        {
            return Err(self.needs_root(home.path()));
        }
        self.become_owner()?;
        // Before anything of it is read: half of it may be moved.
        swap::complete(&self.home()?)
    }

    /// The service whose configuration `--config` names.
    fn service_of_config<'a>(&self, services: &'a [ServiceHome]) -> Option<&'a ServiceHome> {
        self.global.config.as_ref()?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let named = real(&self.config_file().ok()?);
        services.iter().find(|found| {
            let own = found.home.join("config.json");
            real(found.config.as_deref().unwrap_or(&own)) == named
        })
    }

    fn is_home_named(&self) -> bool {
        self.global.config.is_some() || self.is_other_home_named()
    }

    /// Whether a home is named otherwise than by its configuration.
    fn is_other_home_named(&self) -> bool {
        let is_set = |name: &str| {
            self.environment
                .get(name)
                .is_some_and(|value| !value.is_empty())
        };
        self.global.home.is_some() || is_set("PEACRAB_HOME") || is_set("STATE_DIRECTORY")
    }

    /// As root, becomes the account that the home belongs to: files that root made there would be closed to that
    /// account, and root would follow links that it can make, read what it names and send that where it says.
    fn become_owner(&mut self) -> Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let variable = |name: &str| self.environment.get(name).cloned();
        let named = Home::named(self.global.home.as_deref(), variable)?;
        let Some(owner) = other_owner(&named) else {
            return self.check_config_owner();
        };
        Alone::prove()
            .and_then(|alone| become_user(alone, owner.uid(), owner.gid()))
            .map_err(Error::io("become the owner of", &named))?;
        if let Some(account) = crate::sys::host::account::own() {
            let home = account.home.display().to_string();
            self.environment.insert("HOME".to_owned(), home);
        }
        if Path::new(CREDENTIALS).exists() {
            let name = "CREDENTIALS_DIRECTORY".to_owned();
            self.environment
                .entry(name)
                .or_insert_with(|| CREDENTIALS.to_owned());
        }
        Ok(())
    }

    /// Refuses a named configuration file of another account beside root's own home: it says what root reads and
    /// where that is sent.
    fn check_config_owner(&self) -> Result<()> {
        let Some(config) = &self.global.config else {
            return Ok(());
        };
        match std::fs::metadata(config) {
            Ok(found) if found.uid() != 0 => Err(Error::Failed(format!(
                "The configuration file {} belongs to another account, and the home folder {} to root. \
                 Make the file root's (chown root), or run this instead:\n  sudo -u '#{}' peacrab {}",
                config.display(),
                self.home()?.path().display(),
                found.uid(),
                typed_words()
            ))),
            _ => Ok(()),
        }
    }

    /// The home belongs to somebody else: the command to type instead.
    fn needs_root(&self, home: &Path) -> Error {
        let peacrab = if self.is_home_named() {
            "peacrab".to_owned()
        } else {
            self.home_command(home)
        };
        Error::Failed(format!(
            "Cannot open the home folder {}: permission denied. Run this instead:\n  sudo {} {}",
            home.display(),
            peacrab.trim_start_matches("sudo "),
            typed_words()
        ))
    }

    /// The command that reaches a home, without the subcommand.
    pub fn home_command(&self, home: &Path) -> String {
        match Home::find(Some(home), |_| None) {
            Ok(home) => command_for(&home, self.environment()),
            Err(_) => "peacrab".to_owned(),
        }
    }

    /// Where the command looked, for people, in a home that is not the usual one: after a failure, which what is there or
    /// not there may explain.
    pub fn note_home(&self, home_use: HomeUse, ran: &Result<Exit>) -> Option<HomeNote> {
        if home_use != HomeUse::Installed || !self.has_looked.load(Ordering::Relaxed) {
            return None;
        }
        let home = self.home().ok()?;
        // The usual one goes without saying.
        let user_home = self.environment.get("HOME").map(PathBuf::from);
        let usual = user_home.and_then(|it| Home::find(Some(&it.join(".peacrab")), |_| None).ok());
        if usual.is_some_and(|usual| usual.path() == home.path())
            || ran.as_ref().is_err_and(is_elsewhere)
        {
            return None;
        }
        if matches!(ran, Ok(exit) if *exit != Exit::Failed) {
            return None;
        }
        Some(if !self.config_file().is_ok_and(|file| file.exists()) {
            HomeNote::Unconfigured(format!(
                "Looked in {}, which has no configuration. Use --home DIR for another home folder.",
                home.path().display()
            ))
        } else {
            HomeNote::Used(format!("home folder: {}", home.path().display()))
        })
    }
}

/// Whether an error says itself where it happened, which is not in the home.
fn is_elsewhere(error: &Error) -> bool {
    matches!(
        error,
        Error::Config(_)
            | Error::Stopped
            | Error::Io { .. }
            | Error::Network { .. }
            | Error::Timeout { .. }
            | Error::Status { .. }
            | Error::Model(_)
            | Error::TooLarge { .. }
    )
}

/// The words behind the program's name as this process was started, for a shell, without keys.
fn typed_words() -> String {
    let words = std::env::args_os().skip(1).map(|word| {
        let text = word.to_string_lossy();
        if looks_secret(&text) && !text.contains('/') {
            "…".to_owned()
        } else {
            quote_for_shell(Path::new(&word))
        }
    });
    words.collect::<Vec<String>>().join(" ")
}

/// What belongs to another account than root: a link on the way to the home, or the home itself; the nearest folder above
/// where there is none yet.
fn other_owner(home: &Path) -> Option<Metadata> {
    let (real, links) = links_on_the_way(home);
    let links = links.iter().filter_map(|link| link.symlink_metadata().ok());
    let folder = real.unwrap_or_else(|_| home.to_owned());
    let folder = folder.ancestors().find_map(|path| path.metadata().ok());
    links.chain(folder).find(|found| found.uid() != 0)
}
