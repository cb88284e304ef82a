//! `peacrab service`: the systemd unit that keeps the gateway running.

pub(in crate::cli) mod account;
mod install;
pub mod manager;
mod status;
mod unit;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::print;
use crate::config::Home;
use crate::error::{Error, Exit, Result};
use crate::sys;
use account::Account;
use manager::NAME;
pub use status::is_running;
pub use unit::Scope;
use unit::{Profile, Unit};

/// Where the hardened service of the system lives (`StateDirectory=`).
const SYSTEM_HOME: &str = "/var/lib/peacrab";

/// `peacrab service …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the unit, enable and start it
    Install {
        #[command(flatten)]
        whose: Whose,
        /// How much of systemd's protection stands around it
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Stop it and remove the unit; the home folder stays
    Uninstall {
        #[command(flatten)]
        whose: Whose,
    },
    /// Show whether it is installed and runs
    Status {
        #[command(flatten)]
        whose: Whose,
    },
    /// Print the unit
    Print {
        #[command(flatten)]
        whose: Whose,
        /// How much of systemd's protection stands around it
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
}

#[derive(Debug, Args)]
struct Whose {
    /// A service of this account, which needs no root
    #[arg(long, conflicts_with = "system")]
    user: bool,
    /// A service of the system [default for root]
    #[arg(long)]
    system: bool,
}

impl Whose {
    fn named(&self) -> Option<Scope> {
        match (self.user, self.system) {
            (true, _) => Some(Scope::User),
            (_, true) => Some(Scope::System),
            _ => None,
        }
    }

    /// What was asked for; else the system for root, the account for anybody else.
    fn to_install(&self) -> Scope {
        self.named()
            .unwrap_or_else(|| match sys::process::is_administrator() {
                true => Scope::System,
                false => Scope::User,
            })
    }

    /// What was asked for; else the one that is installed.
    fn installed(&self, context: &Context) -> Scope {
        let found = || installed(context).map(|(scope, _)| scope);
        self.named()
            .or_else(found)
            .unwrap_or_else(|| self.to_install())
    }
}

/// Runs the command. `status` fails when the service does not run.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    match &arguments.action {
        Action::Install { whose, profile } => {
            install::install(context, &Plan::new(context, whose.to_install(), *profile)?)
        }
        Action::Uninstall { whose } => install::uninstall(context, whose.installed(context)),
        Action::Status { whose } => status::status(context, whose.installed(context)),
        Action::Print { whose, profile } => {
            let plan = Plan::new(context, whose.to_install(), *profile)?;
            print::out(&plan.text).map(|()| Exit::Done)
        }
    }
}

/// The service that is installed, with its unit; the account's own before the system's.
pub fn installed(context: &Context) -> Option<(Scope, PathBuf)> {
    [Scope::User, Scope::System].into_iter().find_map(|scope| {
        let path = unit_path(context, scope).ok()?;
        path.exists().then_some((scope, path))
    })
}

/// The command that restarts the installed service; `None` when none is installed.
pub fn restart_command(context: &Context) -> Option<String> {
    installed(context).map(|(scope, _)| match scope {
        Scope::System => "sudo systemctl restart peacrab".to_owned(),
        Scope::User => "systemctl --user restart peacrab".to_owned(),
    })
}

/// Where the unit lies (systemd.unit(5), "Unit File Load Path").
fn unit_path(context: &Context, scope: Scope) -> Result<PathBuf> {
    let folder = match scope {
        Scope::System => PathBuf::from("/etc/systemd/system"),
        Scope::User => {
            let set = |name: &str| variable(context, name).map(PathBuf::from);
            let configuration = set("XDG_CONFIG_HOME")
                .filter(|path| path.is_absolute())
                .or_else(|| set("HOME").map(|home| home.join(".config")));
            let missing = || {
                Error::Config("there is no HOME, where units of an account lie: set it".to_owned())
            };
            configuration.ok_or_else(missing)?.join("systemd/user")
        }
    };
    Ok(folder.join(NAME))
}

fn variable<'a>(context: &'a Context, name: &str) -> Option<&'a str> {
    let value = context.environment().get(name)?;
    Some(value.as_str()).filter(|value| !value.is_empty())
}

/// A unit that is to be, and what its service needs.
struct Plan {
    scope: Scope,
    profile: Profile,
    program: PathBuf,
    /// Its home folder.
    home: PathBuf,
    /// Its configuration file.
    config: PathBuf,
    text: String,
}

impl Plan {
    fn new(context: &Context, scope: Scope, profile: Profile) -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::io("find", "this program"))?;
        let (user, home) = match (scope, profile) {
            (Scope::System, Profile::Hardened) => (String::new(), fixed_home(context)?),
            (Scope::System, Profile::Terminal) => {
                let (name, account) = person(context)?;
                (name, account.home.join(".peacrab"))
            }
            (Scope::User, _) => (String::new(), own_home(context)?),
        };
        let named = named_home(context, scope)?;
        let config = match context.global.config {
            Some(_) => Some(context.config_file()?),
            None => None,
        };
        let option = |name, path: &'_ Option<PathBuf>| path.clone().map(|path| (name, path));
        let options: Vec<(&'static str, PathBuf)> =
            [option("--home", &named), option("--config", &config)]
                .into_iter()
                .flatten()
                .collect();
        let text = Unit {
            scope,
            profile,
            program: &program,
            user: &user,
            options: options
                .iter()
                .map(|(name, path)| (*name, path.as_path()))
                .collect(),
        }
        .text()?;
        let home = named.unwrap_or(home);
        Ok(Self {
            scope,
            profile,
            program,
            config: config.unwrap_or_else(|| home.join("config.json")),
            home,
            text,
        })
    }
}

/// The home of the hardened service, which systemd makes and nothing else can be written.
fn fixed_home(context: &Context) -> Result<PathBuf> {
    if context.global.home.is_some() || context.global.config.is_some() {
        return Err(Error::Usage(format!(
            "the hardened service of the system lives in {SYSTEM_HOME} and nowhere else; \
             --home and --config go with --user or --profile terminal"
        )));
    }
    Ok(SYSTEM_HOME.into())
}

/// The home that the service finds by itself.
fn own_home(context: &Context) -> Result<PathBuf> {
    let only_home = |name: &str| match name {
        "HOME" => variable(context, name).map(str::to_owned),
        _ => None,
    };
    Ok(Home::find(None, only_home)?.path().to_owned())
}

/// The home that has to be named to the service, because it is another than it would find.
fn named_home(context: &Context, scope: Scope) -> Result<Option<PathBuf>> {
    let named = match scope {
        Scope::System if context.global.home.is_none() => return Ok(None),
        _ => context.home()?.path().to_owned(),
    };
    let is_own = scope == Scope::User && named == own_home(context)?;
    Ok((!is_own).then_some(named))
}

/// Who asked root to install a service that runs as a person.
fn person(context: &Context) -> Result<(String, Account)> {
    let asking = match sys::process::is_administrator() {
        true => variable(context, "SUDO_USER").filter(|name| *name != "root"),
        false => variable(context, "USER"),
    };
    let found = asking.and_then(|name| Some((name.to_owned(), account::find(name)?)));
    found.ok_or_else(|| {
        Error::Usage(
            "the terminal profile runs as a person who may use sudo, and it is not known who that \
             is: run `sudo peacrab service install --profile terminal` from that account"
                .to_owned(),
        )
    })
}

/// The name of the account that runs this.
pub fn account_name(context: &Context) -> &str {
    variable(context, "USER")
        .or_else(|| variable(context, "LOGNAME"))
        .unwrap_or_default()
}

/// What to do so that an account's service runs without a login.
pub fn no_linger(context: &Context) -> String {
    let command = format!("loginctl enable-linger {}", account_name(context));
    format!(
        "it ends with the last login; `{}` lets it run without one",
        command.trim_end()
    )
}

/// Whether everybody on the path but root is kept from changing what lies there.
fn is_roots(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.ancestors().all(|part| {
        std::fs::metadata(part).is_ok_and(|found| {
            // In a folder with the sticky bit only owners replace what is theirs.
            let is_shared = found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0;
            found.uid() == 0 && !is_shared
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_somebody_else_may_replace_is_seen() {
        use std::os::unix::fs::PermissionsExt;
        assert!(is_roots(Path::new("/usr/bin/env")));
        assert!(!is_roots(Path::new("/no such file")));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("peacrab");
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_roots(&file));
    }
}
