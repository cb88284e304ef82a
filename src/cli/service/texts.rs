//! What `peacrab service` says.

use std::fmt::Display;
use std::path::Path;

use super::manager::NotDone;

/// A system service was asked for without root.
pub const NEEDS_ROOT: &str =
    "Installing a system service needs root: use sudo, or --user for a per-user service.";

/// `service uninstall` where nothing is installed.
pub const NOTHING_INSTALLED: &str = "No service is installed.";

/// `service uninstall` of a service that belongs to a package.
pub const REMOVE_PACKAGE: &str = "The service belongs to the package peacrab. Remove it with `sudo apt remove peacrab`; the home folder \
     stays.";

/// `service status` where nothing is installed.
pub const NOT_INSTALLED: &str = "unit       not installed; run `peacrab service install`";

/// What stays after `service uninstall`.
pub const HOME_STAYS: &str =
    "kept    the home folder with its configuration, conversations and workspace";

/// `service uninstall --purge` of a service whose unit does not say where its home is.
pub const NO_HOME_FOUND: &str = "Cannot tell which home folder the service has. Uninstall it without --purge, and delete the folder yourself.";

/// The answer to [`ask_to_purge`] was no.
pub const NOTHING_REMOVED: &str = "Nothing was removed.";

/// What the terminal profile means.
pub const TERMINAL_PROFILE: &str = "\nNote: with the terminal profile, systemd does not confine the service. Anyone who may use the bot \
     can do with /sh whatever your account can, and everything if it may use sudo.\n";

/// Nobody knows as whom the terminal profile should run.
pub const UNKNOWN_USER: &str = "The terminal profile runs as your own account. Run `sudo peacrab service install --profile terminal` \
     from that account.";

/// The environment has no `HOME`.
pub const NO_HOME: &str = "HOME is not set. Set it to your home folder.";

/// `--adopt` for a per-user service.
pub const ADOPT_IS_FOR_SYSTEM: &str =
    "--adopt is for system services. A per-user service can use any home folder: add --home DIR.";

/// A line of the report: something was written.
pub fn wrote(path: &Path) -> String {
    format!("wrote   {}", path.display())
}

/// A line of the report: something stays as it is.
pub fn kept(path: &Path) -> String {
    format!("kept    {}", path.display())
}

/// A line of the report: the user's changes to the unit stay.
pub fn kept_changes(path: &Path) -> String {
    format!("kept    {} (your own changes)", path.display())
}

/// A line of the report: the file that was there before.
pub fn kept_old(path: &Path) -> String {
    format!("kept    the old file as {}", path.display())
}

/// A line of the report: a folder was created.
pub fn created(path: &Path) -> String {
    format!("created {}", path.display())
}

/// A line of the report: a file was removed.
pub fn removed(path: &Path) -> String {
    format!("removed {}", path.display())
}

/// The system service of a package is there.
pub fn is_packaged(unit: &Path) -> String {
    format!(
        "The package peacrab has installed the service already ({}). To start it: \
         sudo systemctl enable --now peacrab. To change it: sudo systemctl edit peacrab",
        unit.display()
    )
}

/// A line of the report: the AppArmor profile was not loaded or removed.
pub fn no_profile(command: &str, why: &str) -> String {
    format!("note    AppArmor does not use the profile (`{command}`: {why})")
}

/// A path that cannot be in an AppArmor profile.
pub fn odd_profile_path(path: &Path) -> String {
    format!(
        "{} contains characters that an AppArmor profile cannot contain. {INSTALL_PROGRAM}.",
        path.display()
    )
}

/// A line of the report: the account stays.
pub fn kept_user(user: &str) -> String {
    format!("kept    the user {user}")
}

/// A line of the report: a command succeeded.
pub fn ran(command: &str) -> String {
    format!("ran     {command}")
}

/// The hardened service cannot see the program.
pub fn program_is_hidden(program: &Path) -> String {
    format!(
        "The hardened service cannot see {} (ProtectHome=, PrivateTmp=) and would not start. {}",
        program.display(),
        INSTALL_PROGRAM
    )
}

/// A folder that is not deleted.
pub fn is_no_home(home: &Path) -> String {
    format!(
        "{} does not look like a home folder of Peacrab, so it is not deleted. Uninstall without --purge.",
        home.display()
    )
}

/// `--purge` where nobody can be asked.
pub fn purge_needs_yes(home: &Path) -> String {
    format!(
        "--purge deletes {}, with the configuration, conversations and workspace. Add --yes to do it.",
        home.display()
    )
}

/// Asks whether to delete a home.
pub fn ask_to_purge(home: &Path) -> String {
    format!(
        "Delete {}, with its configuration, conversations and workspace? This cannot be undone. [y/N] ",
        home.display()
    )
}

/// A line of the report: the account could not be deleted.
pub fn user_stays(command: &str, why: &str) -> String {
    format!("note    the account stays (`{command}`: {why})")
}

/// Other users can replace the program.
pub fn program_is_writable(program: &Path) -> String {
    format!(
        "warning: users other than root can change {}, and with it what the service does. {INSTALL_PROGRAM}",
        program.display()
    )
}

const INSTALL_PROGRAM: &str = "Install it with `sudo install peacrab /usr/local/bin/`, then run \
     `sudo /usr/local/bin/peacrab service install`";

/// The account of the hardened service cannot be created.
pub fn no_user(user: &str, home: &str, why: &dyn Display) -> String {
    format!(
        "Cannot create the user {user}: {why}. Create it yourself, then try again:\n  \
         useradd --system --home-dir {home} --shell /usr/sbin/nologin {user}"
    )
}

/// systemd-sysusers succeeded, and yet the account is missing.
pub fn user_is_missing(user: &str) -> String {
    format!("systemd-sysusers ran, but the user {user} is not in /etc/passwd.")
}

/// Commands that systemd refused; empty for none.
pub fn by_hand(to_do: &[NotDone]) -> String {
    let Some(first) = to_do.first() else {
        return String::new();
    };
    let commands = to_do
        .iter()
        .map(|not_done| format!("  {}\n", not_done.command));
    format!(
        "\nsystemd refused ({}). Run these yourself:\n{}",
        first.why,
        commands.collect::<String>()
    )
}

/// The service has no configuration yet.
pub fn not_started(home: &Path, onboard: &str, start: &str) -> String {
    format!(
        "\nNot started yet: there is no configuration in {}. Run:\n  {onboard} onboard\n  {start}\n",
        home.display()
    )
}

/// What to do with an installed service. `own` is `--user ` for a per-user service.
pub fn next(peacrab: &str, own: &str) -> String {
    format!(
        "\nNext:\n  {peacrab} status\n  peacrab service status\n  journalctl {own}-u peacrab -f\n"
    )
}

/// A per-user service stops at logout.
pub fn stops_at_logout(account: &str) -> String {
    let command = format!("loginctl enable-linger {account}");
    format!(
        "it stops when you log out; `{}` keeps it running",
        command.trim_end()
    )
}

/// systemd cannot be asked.
pub fn no_status(why: &dyn Display) -> String {
    format!("Cannot get the service's status from systemd: {why}")
}

/// A program that cannot be started.
pub fn cannot_start(program: &str, error: &dyn Display) -> String {
    format!("cannot start {program}: {error}")
}

/// Another home was named than the hardened service can have.
pub fn fixed_home(named: &Path, fixed: &str) -> String {
    let named_path = named.display();
    let to_move = match named.exists() {
        true => format!("To move {named_path} there, add --adopt {named_path}. "),
        false => String::new(),
    };
    format!(
        "The hardened system service always uses the home folder {fixed}, not {named_path}. {to_move}To use that one, add \
         --user or --profile terminal."
    )
}

/// A configuration file was named, and the hardened service cannot have another one.
pub fn fixed_config(fixed: &str) -> String {
    format!(
        "The hardened system service always uses {fixed}/config.json. To use --config, add --user or \
         --profile terminal."
    )
}

/// Asks whether to adopt a home.
pub fn ask_to_adopt(from: &Path, to: &Path) -> String {
    format!(
        "Use the existing configuration in {}? It is copied to {}, the service's home folder. [Y/n] ",
        from.display(),
        to.display()
    )
}

/// A home that could be adopted, where nobody can be asked.
pub fn can_adopt(from: &Path) -> String {
    format!(
        "note    {0} has a configuration. To use it for the service, add: --adopt {0}",
        from.display()
    )
}

/// The folder of `--adopt` has no configuration.
pub fn nothing_to_adopt(from: &Path) -> String {
    format!(
        "There is no configuration in {}: config.json is missing.",
        from.display()
    )
}

/// The service's home has content already.
pub fn home_is_not_empty(home: &Path) -> String {
    format!(
        "{0} is not empty, so nothing can be adopted. To replace it, move it away first: sudo mv {0} {0}.old",
        home.display()
    )
}

/// The home that would be adopted is in use.
pub fn home_is_in_use(from: &Path) -> String {
    format!("A gateway is running in {}. Stop it first.", from.display())
}

/// A line of the report: a home was copied.
pub fn adopted(from: &Path, to: &Path) -> String {
    format!("copied  {} to {}", from.display(), to.display())
}

/// A line of the report: where the adopted home is now.
pub fn renamed(from: &Path, to: &Path) -> String {
    format!(
        "renamed {} to {}; delete it when the service works",
        from.display(),
        to.display()
    )
}

/// The adopted configuration has a problem in its new home.
pub fn adopted_with_problem(why: &dyn Display) -> String {
    format!("warning: the adopted configuration has a problem: {why}")
}

/// A path in the adopted configuration that the hardened service cannot see.
pub fn path_is_hidden(setting: &str, path: &str) -> String {
    format!("warning: {setting} contains {path}, which the hardened service cannot see")
}

/// A path that cannot be in a unit.
pub fn odd_path(path: &Path) -> String {
    format!(
        "{} contains characters that a systemd unit cannot contain. Use a simpler path.",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_is_not_there_is_not_offered_to_be_moved() {
        let folder = tempfile::tempdir().unwrap();
        let there = fixed_home(folder.path(), "/var/lib/peacrab");
        assert!(there.contains("add --adopt /"), "{there}");
        let missing = fixed_home(&folder.path().join("x"), "/var/lib/peacrab");
        assert!(
            !missing.contains("--adopt") && missing.contains("add --user"),
            "{missing}"
        );
    }
}
