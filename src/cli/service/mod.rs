//! `peacrab service`: the systemd unit that keeps the gateway running.

mod adopt;
mod apparmor;
mod install;
pub mod manager;
mod status;
mod texts;
mod uninstall;
mod unit;
mod updates;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::print;
use crate::base::error::{Error, Exit, Result};
use crate::config::Home;
use crate::sys;
use crate::sys::host::account::{self, Account};
use manager::NAME;
pub use status::is_running;
use unit::Unit;
pub use unit::{Profile, Scope, UnitHome, is_hidden};
pub use updates::has_update_unit;

/// Bytes of a unit that lies there; ours have 4 kB.
const UNIT_BYTES: usize = 64 * 1024;

/// Where a package installs its units (systemd.unit(5), "Unit File Load Path"); the second is the first on
/// most systems.
const PACKAGE_UNITS: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];

/// The home folder of the hardened system service (`StateDirectory=`).
const SYSTEM_HOME: &str = "/var/lib/peacrab";

/// The script that starts the gateway where there is no systemd. scripts/install.sh puts it there.
const INIT_SCRIPT: &str = "/etc/init.d/peacrab";

/// `peacrab service …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Install, enable and start the service
    Install {
        #[command(flatten)]
        whose: Whose,
        /// How strictly systemd confines it
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Copy this home folder for the system service, with its configuration and conversations
        #[arg(long, value_name = "DIR")]
        adopt: Option<PathBuf>,
    },
    /// Stop and remove the service; its home folder stays
    Uninstall {
        #[command(flatten)]
        whose: Whose,
        /// Also delete its home folder, with the configuration, conversations and workspace
        #[arg(long)]
        purge: bool,
        /// Delete without asking
        #[arg(long, requires = "purge")]
        yes: bool,
    },
    /// Show whether the service is installed and running
    Status {
        #[command(flatten)]
        whose: Whose,
    },
    /// Print the systemd unit
    Print {
        #[command(flatten)]
        whose: Whose,
        /// How strictly systemd confines it
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Print the AppArmor profile that allows user namespaces instead
        #[arg(long, conflicts_with_all = ["user", "system", "profile"])]
        apparmor: bool,
    },
}

#[derive(Debug, Args)]
struct Whose {
    /// A per-user service, which does not need root
    #[arg(long, conflicts_with = "system")]
    user: bool,
    /// A system service [default for root]
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

    /// What was asked for; else a system service for root, and a per-user service for others.
    fn to_install(&self) -> Scope {
        self.named().unwrap_or_else(|| {
            if sys::process::is_administrator() {
                Scope::System
            } else {
                Scope::User
            }
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

/// Runs the command. `status` fails when the service is not running.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    match &arguments.action {
        Action::Install {
            whose,
            profile,
            adopt,
        } => {
            let scope = whose.to_install();
            let plan = Plan::new(context, scope, *profile, adopt.is_some())?;
            install::install(context, plan, adopt.as_deref())
        }
        Action::Uninstall { whose, purge, yes } => {
            let scope = whose.installed(context);
            let purge = purge.then_some(*yes);
            uninstall::uninstall(context, scope, purge)
        }
        Action::Status { whose } => status::status(context, whose.installed(context)),
        Action::Print { apparmor: true, .. } => {
            let program = std::env::current_exe().map_err(Error::io("find", "this program"))?;
            print::out(&apparmor::profile(&program)?).map(|()| Exit::Done)
        }
        Action::Print { whose, profile, .. } => {
            let plan = Plan::new(context, whose.to_install(), *profile, false)?;
            print::out(&plan.text).map(|()| Exit::Done)
        }
    }
}

/// What a service that is to be installed will find; `None` for any other action, and where it has no configuration yet.
pub fn planned(context: &Context, arguments: &Arguments) -> Result<Option<Context>> {
    let Action::Install {
        whose,
        profile,
        adopt,
    } = &arguments.action
    else {
        return Ok(None);
    };
    let scope = whose.to_install();
    if install::check_root(scope).is_err() || packaged_unit(scope).is_some() {
        return Ok(None);
    }
    let plan = Plan::new(context, scope, *profile, adopt.is_some())?;
    let (home, config) = match adopt {
        Some(adopted) => (adopted.clone(), adopted.join("config.json")),
        None => (plan.home, plan.config),
    };
    let service = || context.of_service(&home, &config, &plan.account.home);
    Ok(config.exists().then(service))
}

/// The installed service and the path of its unit; the per-user one before the system's.
pub fn installed(context: &Context) -> Option<(Scope, PathBuf)> {
    all_installed(context).next()
}

fn all_installed(context: &Context) -> impl Iterator<Item = (Scope, PathBuf)> {
    [Scope::User, Scope::System]
        .into_iter()
        .filter_map(|scope| find_unit(context, scope).ok()?.map(|path| (scope, path)))
}

/// The unit in force: the one that this program has installed, else that of a package.
fn find_unit(context: &Context, scope: Scope) -> Result<Option<PathBuf>> {
    let own = unit_path(context, scope)?;
    Ok(if own.exists() {
        Some(own)
    } else {
        packaged_unit(scope)
    })
}

/// The unit that a package has installed.
pub fn packaged_unit(scope: Scope) -> Option<PathBuf> {
    let units = PACKAGE_UNITS.map(|folder| Path::new(folder).join(NAME));
    units
        .into_iter()
        .find(|path| scope == Scope::System && path.exists())
}

/// The text of an installed unit.
pub fn read_unit(path: &Path) -> Result<String> {
    let text = sys::file::read_at_most(path, UNIT_BYTES)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether the unit is the one that this version writes, whatever program and account it names.
pub fn is_current(scope: Scope, text: &str) -> bool {
    unit::is_current(scope, text)
}

/// Where an installed service has its home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceHome {
    /// Whose service it is.
    pub scope: Scope,
    /// The home folder.
    pub home: PathBuf,
    /// The configuration file, if it is elsewhere.
    pub config: Option<PathBuf>,
}

/// The homes of the installed services, as their units say; the per-user one before the system's. Without a
/// unit, that of the init script.
pub fn homes(context: &Context) -> Vec<ServiceHome> {
    let read = |(scope, path): (Scope, PathBuf)| {
        let unit = UnitHome::read(&read_unit(&path).ok()?);
        let home = match (unit.home, scope) {
            (Some(home), _) => home,
            (None, Scope::System) if unit.has_state_directory => SYSTEM_HOME.into(),
            (None, Scope::System) => account::find(&unit.user?)?.home.join(".peacrab"),
            (None, Scope::User) => own_home(context).ok()?,
        };
        let config = unit.config;
        Some(ServiceHome {
            scope,
            home,
            config,
        })
    };
    let mut homes: Vec<ServiceHome> = all_installed(context).filter_map(read).collect();
    if homes.is_empty()
        && let Ok(script) = sys::file::read_at_most(INIT_SCRIPT.as_ref(), UNIT_BYTES)
    {
        let home = init_script_home(&String::from_utf8_lossy(&script));
        homes.extend(home.map(|home| ServiceHome {
            scope: Scope::System,
            home,
            config: None,
        }));
    }
    homes
}

/// The init script that starts the service, on a system without systemd. (A package installs both.)
pub fn init_script() -> Option<&'static str> {
    let is_used = Path::new(INIT_SCRIPT).exists() && !Path::new("/run/systemd/system").exists();
    is_used.then_some(INIT_SCRIPT)
}

/// The home in an init script (scripts/init).
fn init_script_home(script: &str) -> Option<PathBuf> {
    let home = script.lines().find_map(|line| line.strip_prefix("home="))?;
    Some(PathBuf::from(home)).filter(|home| home.is_absolute())
}

/// The command that restarts the installed service; `None` when none is installed.
pub fn restart_command(context: &Context) -> Option<String> {
    installed(context).map(|(scope, _)| match scope {
        Scope::System => "sudo systemctl restart peacrab".to_owned(),
        Scope::User => "systemctl --user restart peacrab".to_owned(),
    })
}

/// The path of the unit (systemd.unit(5), "Unit File Load Path").
fn unit_path(context: &Context, scope: Scope) -> Result<PathBuf> {
    let folder = match scope {
        Scope::System => PathBuf::from("/etc/systemd/system"),
        Scope::User => {
            let set = |name: &str| variable(context, name).map(PathBuf::from);
            let configuration = set("XDG_CONFIG_HOME")
                .filter(|path| path.is_absolute())
                .or_else(|| set("HOME").map(|home| home.join(".config")));
            let missing = || Error::Config(texts::NO_HOME.to_owned());
            configuration.ok_or_else(missing)?.join("systemd/user")
        }
    };
    Ok(folder.join(NAME))
}

fn variable<'a>(context: &'a Context, name: &str) -> Option<&'a str> {
    let value = context.environment().get(name)?;
    Some(value.as_str()).filter(|value| !value.is_empty())
}

/// A service that is to be installed.
struct Plan {
    scope: Scope,
    profile: Profile,
    program: PathBuf,
    /// Its home folder.
    home: PathBuf,
    /// Its configuration file.
    config: PathBuf,
    /// The account that it runs as; the hardened system service has one once it is created.
    account: Account,
    /// The text of its unit.
    text: String,
}

impl Plan {
    /// `adopts`: another home will be copied to this service's.
    fn new(context: &Context, scope: Scope, profile: Profile, adopts: bool) -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::io("find", "this program"))?;
        let own = account::own().unwrap_or_default();
        let (user, account, home) = match (scope, profile) {
            (Scope::System, Profile::Hardened) => {
                check_fixed_home(context, adopts)?;
                (String::new(), Account::default(), SYSTEM_HOME.into())
            }
            (Scope::System, Profile::Terminal) => {
                let (name, account) = find_caller(context)?;
                let home = account.home.join(".peacrab");
                (name, account, home)
            }
            (Scope::User, _) => (String::new(), own, own_home(context)?),
        };
        let named = match (scope, profile) {
            (Scope::System, Profile::Hardened) => None,
            _ => named_home(context, scope)?,
        };
        let config = if context.is_config_named() {
            Some(context.config_file()?)
        } else {
            None
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
            account,
            text,
        })
    }
}

/// Refuses another home than that of the hardened service, which can write nowhere else.
fn check_fixed_home(context: &Context, adopts: bool) -> Result<()> {
    if context.is_config_named() {
        return Err(Error::Usage(texts::fixed_config(SYSTEM_HOME)));
    }
    if is_home_named(context) && !adopts {
        let named = context.home()?;
        if named.path() != Path::new(SYSTEM_HOME) {
            return Err(Error::Usage(texts::fixed_home(named.path(), SYSTEM_HOME)));
        }
    }
    Ok(())
}

fn is_home_named(context: &Context) -> bool {
    context.home_option().is_some() || variable(context, "PEACRAB_HOME").is_some()
}

/// The home that the service finds by itself.
fn own_home(context: &Context) -> Result<PathBuf> {
    let only_home = |name: &str| match name {
        "HOME" => variable(context, name).map(str::to_owned),
        _ => None,
    };
    Ok(Home::find(None, only_home)?.path().to_owned())
}

/// The home that the unit has to name, because the service would find another one.
fn named_home(context: &Context, scope: Scope) -> Result<Option<PathBuf>> {
    let named = match scope {
        Scope::System if !is_home_named(context) => return Ok(None),
        _ => context.home()?.path().to_owned(),
    };
    let is_own = scope == Scope::User && named == own_home(context)?;
    Ok((!is_own).then_some(named))
}

/// The account of the user who called sudo, as which the terminal profile runs.
fn find_caller(context: &Context) -> Result<(String, Account)> {
    let asking = if sys::process::is_administrator() {
        variable(context, "SUDO_USER").filter(|name| *name != "root")
    } else {
        variable(context, "USER")
    };
    let found = asking.and_then(|name| Some((name.to_owned(), account::find(name)?)));
    found.ok_or_else(|| Error::Usage(texts::UNKNOWN_USER.to_owned()))
}

/// The name of this account.
pub fn account_name(context: &Context) -> &str {
    variable(context, "USER")
        .or_else(|| variable(context, "LOGNAME"))
        .unwrap_or_default()
}

/// What to do so that a per-user service runs without a login.
pub fn no_linger(context: &Context) -> String {
    texts::stops_at_logout(account_name(context))
}

/// A neighbour of the path, with this at the end of its name.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Whether only root can change what is at the path.
pub fn is_roots(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.ancestors().all(|part| {
        std::fs::metadata(part).is_ok_and(|found| {
            // In a folder with the sticky bit, users can replace their own files only.
            let is_shared = found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0;
            found.uid() == 0 && !is_shared
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_in_each_init_script_is_found() {
        let home = |script| init_script_home(script).unwrap();
        let usual = Path::new(SYSTEM_HOME);
        assert_eq!(
            home(include_str!("../../../scripts/init/peacrab.sysv")),
            usual
        );
        assert_eq!(
            home(include_str!("../../../scripts/init/peacrab.openrc")),
            usual
        );
        let openwrt = include_str!("../../../scripts/init/peacrab.openwrt");
        assert_eq!(home(openwrt), Path::new("/srv/peacrab"));
        assert_eq!(init_script_home("home=\nhome=here\n"), None);
    }

    #[test]
    fn a_program_that_others_can_replace_is_detected() {
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
