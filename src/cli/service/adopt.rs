//! Copies an existing home folder to where a system service has its home, so that there is only one.

use std::path::{Path, PathBuf};

use super::unit::{Profile, Scope, is_hidden};
use super::{Plan, manager, texts};
use crate::base::error::{Error, Result};
use crate::cli::Context;
use crate::cli::terminal::print;
use crate::config::Home;
use crate::config::load::load_text;
use crate::sys::environment::Environment;
use crate::sys::file;
use crate::sys::host::account::{self, Account};

/// Adopts the home that `--adopt` names, or one that is found and that the user wants.
pub fn adopt(context: &Context, plan: &Plan, named: Option<&Path>) -> Result<()> {
    if plan.scope == Scope::User {
        return match named {
            Some(_) => Err(Error::Usage(texts::ADOPT_IS_FOR_SYSTEM.to_owned())),
            None => Ok(()),
        };
    }
    let is_empty = std::fs::read_dir(&plan.home).map_or(true, |mut found| found.next().is_none());
    let from = match named {
        Some(named) => {
            let from = Home::find(Some(named), |_| None)?.path().to_owned();
            if !from.join("config.json").exists() {
                return Err(Error::Usage(texts::nothing_to_adopt(&from)));
            }
            if !is_empty {
                return Err(Error::Usage(texts::home_is_not_empty(&plan.home)));
            }
            from
        }
        None => match find(context, plan).filter(|_| is_empty) {
            None => return Ok(()),
            Some(from) if !print::can_ask() => return print::line(&texts::can_adopt(&from)),
            Some(from) => {
                let answer = print::ask(&texts::ask_to_adopt(&from, &plan.home))?;
                if answer.is_empty() || answer.to_lowercase().starts_with('y') {
                    from
                } else {
                    return Ok(());
                }
            }
        },
    };
    copy(&from, plan)?;
    print::line(&texts::adopted(&from, &plan.home))?;
    set_aside(&from)?;
    check(plan);
    Ok(())
}

/// A home with a configuration: that of root, or of the user who called sudo.
fn find(context: &Context, plan: &Plan) -> Option<PathBuf> {
    let own = context.home().ok().map(|home| home.path().to_owned());
    let caller = super::variable(context, "SUDO_USER")
        .and_then(account::find)
        .map(|account| account.home.join(".peacrab"));
    [own, caller]
        .into_iter()
        .flatten()
        .find(|home| *home != plan.home && home.join("config.json").exists())
}

/// Copies the home beside its new place and then moves it there, so that it is there whole or not at all.
fn copy(from: &Path, plan: &Plan) -> Result<()> {
    let old = Home::find(Some(from), |_| None)?;
    let Some(lock) = old.try_lock()? else {
        return Err(Error::Failed(texts::home_is_in_use(from)));
    };
    let copy = plan.home.with_extension("new");
    let _ = std::fs::remove_dir_all(&copy);
    if let Some(folder) = plan.home.parent() {
        file::private_folder(folder)?;
    }
    let path = |path: &Path| path.display().to_string();
    run("cp", &["-a", "--", &path(from), &path(&copy)])?;
    for name in ["control.sock", "gateway.lock"] {
        let _ = std::fs::remove_file(copy.join(name));
    }
    let Account { user, group, .. } = plan.account;
    let owner = format!("{user}:{group}");
    run("chown", &["-R", "-h", "--", &owner, &path(&copy)])?;
    rustix::fs::sync();
    let _ = std::fs::remove_dir(&plan.home);
    std::fs::rename(&copy, &plan.home).map_err(Error::io("create", &plan.home))?;
    let _ = file::unlock(&lock);
    Ok(())
}

/// Renames the old home, so that no command finds it any more.
fn set_aside(from: &Path) -> Result<()> {
    let mut number = 0_u32;
    let old = loop {
        let ending = if number == 0 {
            String::new()
        } else {
            number.to_string()
        };
        let old = super::with_ending(from, &format!(".old{ending}"));
        if !old.exists() {
            break old;
        }
        number += 1;
    };
    std::fs::rename(from, &old).map_err(Error::io("rename", from))?;
    print::line(&texts::renamed(from, &old))
}

/// Warns of what worked where the home was, and will not work where it is now.
fn check(plan: &Plan) {
    let home = plan.account.home.display().to_string();
    let environment = Environment::from([("HOME".to_owned(), home)]);
    let text = std::fs::read_to_string(&plan.config).unwrap_or_default();
    let loaded = match load_text(Some(&text), &plan.config, &environment) {
        Ok(loaded) => loaded,
        Err(error) => return print::complain(&texts::adopted_with_problem(&error)),
    };
    if plan.profile != Profile::Hardened {
        return;
    }
    for (path, setting) in &loaded.settings {
        let values = setting.value.as_array().into_iter().flatten();
        for value in values
            .chain([&setting.value])
            .filter_map(|value| value.as_str())
        {
            if !setting.key.is_secret() && value.starts_with('/') && is_hidden(Path::new(value)) {
                print::complain(&texts::path_is_hidden(path, value));
            }
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    manager::run(program, arguments)
        .map(drop)
        .map_err(|not_done| Error::Failed(format!("{}: {}", not_done.command, not_done.why)))
}
