//! Uninstalls the service, and deletes its home folder where that is wanted.

use std::path::{Path, PathBuf};

use super::install::{SYSUSERS_FILE, USER, check_root, run_all};
use super::manager::{self, NAME};
use super::unit::Scope;
use super::updates::{self, PATH_UNIT};
use super::{apparmor, homes, packaged_unit, texts, unit_path};
use crate::base::error::{Error, Exit, Result};
use crate::cli::Context;
use crate::cli::terminal::print;
use crate::config::Home;
use crate::sys;

/// Parts of the path of a home folder, from the root folder on: those with fewer, such as `/srv`, belong to the system.
const HOME_COMPONENTS: usize = 3;

/// Stops the service and removes its files; with `purge` also its home folder, which is asked about unless that says
/// yes.
pub fn uninstall(context: &Context, scope: Scope, purge: Option<bool>) -> Result<Exit> {
    check_root(scope)?;
    let path = unit_path(context, scope)?;
    if !path.exists() {
        if packaged_unit(scope).is_some() {
            return Err(Error::Usage(texts::REMOVE_PACKAGE.to_owned()));
        }
        print::line(texts::NOTHING_INSTALLED)?;
        return Ok(Exit::Done);
    }
    // The unit names the home.
    let home = match purge {
        Some(is_sure) => Some(to_delete(context, scope, is_sure)?),
        None => None,
    };
    let mut to_do = Vec::new();
    let updates = updates::paths(context, scope)?;
    if updates.iter().any(|path| path.exists()) {
        run_all(scope, &[&["disable", "--now", PATH_UNIT]], &mut to_do)?;
    }
    run_all(scope, &[&["disable", "--now", NAME]], &mut to_do)?;
    for path in [path]
        .iter()
        .chain(updates.iter().filter(|path| path.exists()))
    {
        std::fs::remove_file(path).map_err(Error::io("remove", path))?;
        print::line(&texts::removed(path))?;
    }
    if scope == Scope::System && Path::new(SYSUSERS_FILE).exists() {
        std::fs::remove_file(SYSUSERS_FILE).map_err(Error::io("remove", SYSUSERS_FILE))?;
        print::line(&texts::removed(Path::new(SYSUSERS_FILE)))?;
        if home.is_none() {
            print::line(&texts::kept_user(USER))?;
        }
    }
    apparmor::uninstall(scope)?;
    run_all(scope, &[&["daemon-reload"]], &mut to_do)?;
    match home {
        None => print::line(texts::HOME_STAYS)?,
        Some(home) => delete(&home, scope)?,
    }
    print::out(&print::folded(&texts::by_hand(&to_do)))?;
    Ok(if to_do.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// The home folder of the service, once it is certain that it is one and that it is to go.
fn to_delete(context: &Context, scope: Scope, is_sure: bool) -> Result<PathBuf> {
    let found = homes(context).into_iter().find(|home| home.scope == scope);
    let found = found.ok_or_else(|| Error::Failed(texts::NO_HOME_FOUND.to_owned()))?;
    let home = Home::find(Some(&found.home), |_| None)?.path().to_owned();
    let user_home = super::variable(context, "HOME").map(Path::new);
    let is_above = user_home.is_some_and(|user_home| user_home.starts_with(&home));
    let has_one_of = |names: &[&str]| names.iter().any(|name| home.join(name).exists());
    let is_a_home = has_one_of(&["config.json", "gateway.lock", "state"]);
    let is_shared = is_above
        || home.components().count() < HOME_COMPONENTS
        || has_one_of(&[".ssh", ".profile", ".bashrc"]);
    if is_shared || home.exists() && !is_a_home {
        return Err(Error::Usage(texts::is_no_home(&home)));
    }
    if is_sure || !home.exists() {
        return Ok(home);
    }
    if !print::can_ask() {
        return Err(Error::Usage(texts::purge_needs_yes(&home)));
    }
    let answer = print::ask(&texts::ask_to_purge(&home))?;
    match answer.to_lowercase().as_str() {
        "y" | "yes" => Ok(home),
        _ => Err(Error::Failed(texts::NOTHING_REMOVED.to_owned())),
    }
}

/// Deletes the home folder, unless something still runs in it, and the account of the system's service.
fn delete(home: &Path, scope: Scope) -> Result<()> {
    if home.exists() {
        let locked = Home::find(Some(home), |_| None)?.try_lock()?;
        let lock = locked.ok_or_else(|| Error::Failed(texts::home_is_in_use(home)))?;
        std::fs::remove_dir_all(home).map_err(Error::io("delete", home))?;
        let _ = sys::file::unlock(&lock);
        print::line(&texts::removed(home))?;
    }
    if scope == Scope::System
        && home == Path::new(super::SYSTEM_HOME)
        && super::account::find(USER).is_some()
    {
        match manager::run("userdel", &[USER]) {
            Ok(_) => print::line(&texts::ran(&format!("userdel {USER}")))?,
            Err(not_done) => print::complain(&texts::user_stays(&not_done.command, &not_done.why)),
        }
    }
    Ok(())
}
