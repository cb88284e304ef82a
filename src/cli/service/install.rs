//! Installs the service: files first, then systemd; prints the commands that it refused.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::UNIT_BYTES;
use super::manager::{self, NAME, NotDone};
use super::unit::{Profile, SYSUSERS, Scope, is_hidden};
use super::updates::{self, PATH_UNIT};
use super::{
    Plan, account, adopt, apparmor, is_roots, no_linger, packaged_unit, texts, unit_path,
    with_ending,
};
use crate::base::error::{Error, Exit, Result};
use crate::cli::Context;
use crate::cli::terminal::print;
use crate::sys;
use crate::sys::file;
use crate::sys::host::account::Account;

/// Unit files contain no secrets.
const UNIT_MODE: u32 = 0o644;

/// The file that systemd-sysusers reads.
pub(super) const SYSUSERS_FILE: &str = "/etc/sysusers.d/peacrab.conf";

/// The user of the hardened service.
pub(super) const USER: &str = "peacrab";

/// Writes the unit, enables the service, and starts it if it has a configuration. `adopted` is the home
/// to copy, if one was named.
pub fn install(context: &Context, mut plan: Plan, adopted: Option<&Path>) -> Result<Exit> {
    check_root(plan.scope)?;
    let path = unit_path(context, plan.scope)?;
    if let Some(packaged) = packaged_unit(plan.scope) {
        return Err(Error::Usage(texts::is_packaged(&packaged)));
    }
    check_program(&plan)?;
    warn_of_program(&plan);
    if plan.scope == Scope::System && plan.profile == Profile::Hardened {
        plan.account = make_user()?;
    }
    adopt::adopt(context, &plan, adopted)?;
    let plan = &plan;
    if plan.profile == Profile::Hardened && plan.scope == Scope::System {
        make_home(plan)?;
    }
    apparmor::install(plan.scope, &plan.program, |path, text| {
        write_and_keep(path, text, apparmor::KEPT_ENDING)
    })?;
    write(&path, &plan.text)?;
    let drop_ins = with_ending(&path, ".d");
    if drop_ins.is_dir() {
        print::line(&texts::kept_changes(&drop_ins))?;
    }
    let updates = updates::units(context, plan)?;
    for (path, text) in &updates {
        write(path, text)?;
    }
    let mut to_do = Vec::new();
    let commands: [&[&str]; 4] = [
        &["daemon-reload"],
        &["enable", NAME],
        &["enable", PATH_UNIT],
        // It may be watching already, with the old unit.
        &["restart", PATH_UNIT],
    ];
    let count = if updates.is_empty() { 2 } else { 4 };
    run_all(plan.scope, &commands[..count], &mut to_do)?;
    let has_config = plan.config.exists();
    if has_config {
        // It may be running already, with the old unit.
        run_all(plan.scope, &[&["restart", NAME]], &mut to_do)?;
    }
    print::out(&print::folded(&format_next(
        context, plan, has_config, &to_do,
    )))?;
    Ok(if to_do.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

pub(super) fn check_root(scope: Scope) -> Result<()> {
    if scope == Scope::User || sys::process::is_administrator() {
        Ok(())
    } else {
        Err(Error::Usage(texts::NEEDS_ROOT.to_owned()))
    }
}

/// Refuses a program that systemd will not find.
fn check_program(plan: &Plan) -> Result<()> {
    let is_confined = plan.scope == Scope::System && plan.profile == Profile::Hardened;
    if is_confined && is_hidden(&plan.program) {
        return Err(Error::Usage(texts::program_is_hidden(&plan.program)));
    }
    Ok(())
}

/// Warns if others can replace the program. It is not moved: the user decides where programs belong.
fn warn_of_program(plan: &Plan) {
    if plan.scope == Scope::System && !is_roots(&plan.program) {
        print::complain(&texts::program_is_writable(&plan.program));
    }
}

/// Creates the user of the hardened service.
fn make_user() -> Result<Account> {
    let file = Path::new(SYSUSERS_FILE);
    write(file, SYSUSERS)?;
    if account::find(USER).is_none()
        && let Err(not_done) = manager::run("systemd-sysusers", &[SYSUSERS_FILE])
    {
        return Err(Error::Failed(texts::no_user(
            USER,
            super::SYSTEM_HOME,
            &not_done.why,
        )));
    }
    account::find(USER).ok_or_else(|| Error::Failed(texts::user_is_missing(USER)))
}

/// Creates the home of the hardened service, so that it can be configured before the first start.
fn make_home(plan: &Plan) -> Result<()> {
    let (home, account) = (&plan.home, &plan.account);
    if home.exists() {
        return Ok(());
    }
    file::private_folder(home)?;
    std::os::unix::fs::chown(home, Some(account.user), Some(account.group))
        .map_err(Error::io("change the owner of", home))?;
    print::line(&texts::created(home))
}

/// Writes a file for systemd; one with other content is kept beside it.
fn write(path: &Path, text: &str) -> Result<()> {
    write_and_keep(path, text, ".old")
}

/// The same, with the ending of the file that is kept.
fn write_and_keep(path: &Path, text: &str, ending: &str) -> Result<()> {
    // A masked unit is a link to /dev/null: a package that was removed leaves one (deb-systemd-helper(1p)).
    let is_masked = std::fs::read_link(path).is_ok_and(|to| to == Path::new("/dev/null"));
    if path.exists() && !is_masked {
        let old = file::read_at_most(path, UNIT_BYTES)?;
        if old == text.as_bytes() {
            return print::line(&texts::kept(path));
        }
        let kept = with_ending(path, ending);
        file::write_atomic(&kept, &old, UNIT_MODE)?;
        print::line(&texts::kept_old(&kept))?;
    } else if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    file::write_atomic(path, text.as_bytes(), UNIT_MODE)?;
    print::line(&texts::wrote(path))
}

/// Creates a folder for systemd, readable for all users like those around it.
fn make_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)))
        .map_err(Error::io("create the folder", folder))
}

/// Runs `systemctl` commands; from the first one that fails, they all go on the list.
pub(super) fn run_all(scope: Scope, commands: &[&[&str]], to_do: &mut Vec<NotDone>) -> Result<()> {
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
            Ok(_) => print::line(&texts::ran(&typed))?,
            Err(not_done) => to_do.push(not_done),
        }
    }
    Ok(())
}

/// What to do next, for people.
fn format_next(context: &Context, plan: &Plan, has_config: bool, to_do: &[NotDone]) -> String {
    let mut text = texts::by_hand(to_do);
    let (sudo, own) = match plan.scope {
        Scope::System => ("sudo ", ""),
        Scope::User => ("", "--user "),
    };
    let peacrab = context.home_command(&plan.home);
    if !has_config {
        let start = format!("{sudo}systemctl {own}start peacrab");
        text.push_str(&texts::not_started(&plan.home, &peacrab, &start));
    }
    if plan.profile == Profile::Terminal {
        text.push_str(texts::TERMINAL_PROFILE);
    }
    let account = super::account_name(context);
    if plan.scope == Scope::User && !manager::lingers(account) {
        text.push_str(&format!("\nNote: {}.\n", no_linger(context)));
    }
    text.push_str(&texts::next(&peacrab, own));
    text
}
