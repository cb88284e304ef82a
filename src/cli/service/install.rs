//! Installing and uninstalling: files first, then systemd is told; what it cannot be told is said.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::manager::{self, NAME, NotDone};
use super::unit::{Profile, SYSUSERS, Scope, is_hidden};
use super::{Plan, account, is_roots, no_linger, unit_path};
use crate::cli::Context;
use crate::cli::terminal::print;
use crate::error::{Error, Exit, Result};
use crate::limits::service as limits;
use crate::sys;
use crate::sys::file;

/// Units and their like hold no secret, and systemd wants to read them.
const UNIT_MODE: u32 = 0o644;

/// Where systemd-sysusers finds what it is to make.
const SYSUSERS_FILE: &str = "/etc/sysusers.d/peacrab.conf";

/// The user of the hardened service.
const USER: &str = "peacrab";

/// Writes the unit, has systemd read and enable it, and starts it where there is a configuration.
pub fn install(context: &Context, plan: &Plan) -> Result<Exit> {
    needs_root(plan.scope)?;
    let path = unit_path(context, plan.scope)?;
    warn_of_program(plan);
    let lives_alone = plan.scope == Scope::System && plan.profile == Profile::Hardened;
    if lives_alone {
        make_user()?;
    }
    write(&path, &plan.text)?;
    let drop_ins = with_ending(&path, ".d");
    if drop_ins.is_dir() {
        print::line(&format!("kept    {}: your own changes", drop_ins.display()))?;
    }
    let mut to_do = Vec::new();
    tell(
        plan.scope,
        &[&["daemon-reload"], &["enable", NAME]],
        &mut to_do,
    )?;
    let has_config = plan.config.exists();
    if has_config {
        // It may run already, with the unit that was there before.
        tell(plan.scope, &[&["restart", NAME]], &mut to_do)?;
    }
    print::out(&what_is_next(context, plan, has_config, &to_do))?;
    Ok(match to_do.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

/// Stops the service and removes what was written for it.
pub fn uninstall(context: &Context, scope: Scope) -> Result<Exit> {
    needs_root(scope)?;
    let path = unit_path(context, scope)?;
    if !path.exists() {
        print::line("nothing is installed")?;
        return Ok(Exit::Done);
    }
    let mut to_do = Vec::new();
    tell(scope, &[&["disable", "--now", NAME]], &mut to_do)?;
    std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    print::line(&format!("removed {}", path.display()))?;
    if scope == Scope::System && Path::new(SYSUSERS_FILE).exists() {
        std::fs::remove_file(SYSUSERS_FILE).map_err(Error::io("remove", SYSUSERS_FILE))?;
        print::line(&format!("removed {SYSUSERS_FILE}; the user {USER} stays"))?;
    }
    tell(scope, &[&["daemon-reload"]], &mut to_do)?;
    print::line("kept    the home folder: configuration, conversations and workspace")?;
    print::out(&by_hand(&to_do))?;
    Ok(match to_do.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

fn needs_root(scope: Scope) -> Result<()> {
    match scope == Scope::User || sys::process::is_administrator() {
        true => Ok(()),
        false => Err(Error::Usage(
            "a service of the system is root's to change: put sudo before the command, or use \
             --user for one of this account"
                .to_owned(),
        )),
    }
}

/// Says why the program lies in a bad place for a service. It is not moved: where programs belong is
/// the person's to say.
fn warn_of_program(plan: &Plan) {
    let program = plan.program.display();
    let advice = "`sudo install peacrab /usr/local/bin/` puts it where it belongs; then install the \
                  service from there";
    if plan.scope == Scope::System && plan.profile == Profile::Hardened && is_hidden(&plan.program)
    {
        print::complain(&format!(
            "warning: the hardened service does not see {program} (ProtectHome=, PrivateTmp=), and \
             will not start; {advice}"
        ));
    } else if plan.scope == Scope::System && !is_roots(&plan.program) {
        print::complain(&format!(
            "warning: {program} can be changed by others than root, who then decide what the \
             service does; {advice}"
        ));
    }
}

/// Makes the user of the hardened service, and its home, so that it can be configured before the
/// first start.
fn make_user() -> Result<()> {
    let file = Path::new(SYSUSERS_FILE);
    write(file, SYSUSERS)?;
    if account::find(USER).is_none()
        && let Err(not_done) = manager::run("systemd-sysusers", &[SYSUSERS_FILE])
    {
        return Err(Error::Failed(format!(
            "the user {USER} cannot be made: {}. Make it by hand, then try again: useradd --system \
             --home-dir {} --shell /usr/sbin/nologin {USER}",
            not_done.why,
            super::SYSTEM_HOME
        )));
    }
    let Some(account) = account::find(USER) else {
        return Err(Error::Failed(format!(
            "the user {USER} is not in /etc/passwd, though systemd-sysusers made it"
        )));
    };
    let home = Path::new(super::SYSTEM_HOME);
    if !home.exists() {
        file::private_folder(home)?;
        std::os::unix::fs::chown(home, Some(account.user), Some(account.group))
            .map_err(Error::io("give to its user", home))?;
        print::line(&format!("made    {}", home.display()))?;
    }
    Ok(())
}

/// Writes a file that systemd reads; what another one said is kept beside it.
fn write(path: &Path, text: &str) -> Result<()> {
    let shown = path.display();
    if path.exists() {
        let old = file::read_at_most(path, limits::UNIT_BYTES)?;
        if old == text.as_bytes() {
            return print::line(&format!("kept    {shown}"));
        }
        let kept = with_ending(path, ".old");
        file::write_atomic(&kept, &old, UNIT_MODE)?;
        print::line(&format!("kept    what was there, as {}", kept.display()))?;
    } else if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    file::write_atomic(path, text.as_bytes(), UNIT_MODE)?;
    print::line(&format!("wrote   {shown}"))
}

/// A neighbour of the path, whose name goes on.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Folders that systemd reads are open to all, as the ones around them.
fn make_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)))
        .map_err(Error::io("make the folder", folder))
}

/// Tells systemd; from the first thing on that it does not do, all goes on the list.
fn tell(scope: Scope, commands: &[&[&str]], to_do: &mut Vec<NotDone>) -> Result<()> {
    for command in commands {
        let own = if scope == Scope::User { "--user " } else { "" };
        let typed = format!("systemctl {own}{}", command.join(" "));
        if !to_do.is_empty() {
            to_do.push(NotDone {
                command: typed,
                why: String::new(),
            });
            continue;
        }
        match manager::systemctl(scope, command) {
            Ok(_) => print::line(&format!("did     {typed}"))?,
            Err(not_done) => to_do.push(not_done),
        }
    }
    Ok(())
}

/// What systemd did not do, to be typed.
fn by_hand(to_do: &[NotDone]) -> String {
    let Some(first) = to_do.first() else {
        return String::new();
    };
    let commands: String = to_do
        .iter()
        .map(|not_done| format!("  {}\n", not_done.command))
        .collect();
    format!(
        "\nsystemd did not do it ({}). To type yourself:\n{commands}",
        first.why
    )
}

fn what_is_next(context: &Context, plan: &Plan, has_config: bool, to_do: &[NotDone]) -> String {
    let mut text = by_hand(to_do);
    let (sudo, own) = match plan.scope {
        Scope::System => ("sudo ", ""),
        Scope::User => ("", "--user "),
    };
    if !has_config {
        let peacrab = match (plan.scope, plan.profile) {
            (Scope::System, Profile::Hardened) => {
                format!(
                    "sudo -u {USER} {} --home {}",
                    plan.program.display(),
                    plan.home.display()
                )
            }
            _ => "peacrab".to_owned(),
        };
        text.push_str(&format!(
            "\nIt is not started yet, because there is no configuration in {}:\n  \
             {peacrab} onboard\n  {sudo}systemctl {own}start peacrab\n",
            plan.home.display()
        ));
    }
    if plan.profile == Profile::Terminal {
        text.push_str(
            "\nNote: the terminal profile has no protection of systemd's. Who may talk to it can do \
             with /sh what your account can, and with sudo everything.\n",
        );
    }
    let account = super::account_name(context);
    if plan.scope == Scope::User && !manager::lingers(account) {
        text.push_str(&format!("\nNote: {}.\n", no_linger(context)));
    }
    text.push_str(&format!(
        "\nNext:\n  peacrab service status\n  journalctl {own}-u peacrab -f\n"
    ));
    text
}
