//! `peacrab config set` and `unset`: a change with which Peacrab would not start is not written.

use std::path::Path;

use serde_json::Value;

use super::check::check_start;
use super::{find_setting, texts};
use crate::base::error::{Error, Result};
use crate::cli::terminal::print;
use crate::cli::{Context, service};
use crate::config::Loaded;
use crate::config::key::Key;
use crate::config::load::{load_text, save, text_with, text_without};
use crate::config::table;
use crate::config::texts::UNSAFE_BACKUP;
use crate::gateway::control;

/// Sets a setting in the file. null resets it, unless null is one of its values.
pub fn set(context: &Context, path: &str, text: &str) -> Result<()> {
    let (key, path) = find_setting(path)?;
    let value = key.parse(text);
    if value == Value::Null && !key.nullable {
        return unset(context, &path);
    }
    let file = context.config_file()?;
    write(context, &file, &text_with(&file, &[(key, &path, &value)])?)?;
    print::line(&texts::was_set(&path, &key.masked(value), &file))?;
    apply(context, Some(key), &path)
}

/// Removes a setting from the file. What is unknown can be removed too.
pub fn unset(context: &Context, path: &str) -> Result<()> {
    let file = context.config_file()?;
    let known = table::find_spelt(path);
    match (text_without(&file, path)?, known) {
        (Some(text), known) => {
            write(context, &file, &text)?;
            match known {
                Some((key, path)) => {
                    print::line(&texts::was_reset(&path, key.default))?;
                    apply(context, Some(key), &path)
                }
                None => {
                    print::line(&texts::was_removed(path, &file))?;
                    apply(context, None, path)
                }
            }
        }
        (None, Some((key, path))) => {
            print::line(&texts::is_not_set(&path, &file, key.default))?;
            warn_of_variable(context, key, &path);
            Ok(())
        }
        // It says what there is.
        (None, None) => find_setting(path).map(drop),
    }
}

/// Writes the new text, unless Peacrab would not start with it but did start before.
pub fn write(context: &Context, file: &Path, text: &str) -> Result<()> {
    let is_sent_open = |loaded: &Loaded| {
        let mut ignored = loaded.ignored.iter();
        ignored.any(|problem| problem.contains(UNSAFE_BACKUP))
    };
    let check = |text: &str| {
        let loaded = load_text(Some(text), file, context.environment())?;
        if is_sent_open(&loaded) && !context.load().is_ok_and(|before| is_sent_open(&before)) {
            return Err(Error::Config(UNSAFE_BACKUP.to_owned()));
        }
        let mut warnings = check_start(context, &loaded)?;
        warnings.extend(loaded.ignored);
        Ok::<_, Error>(warnings)
    };
    match check(text) {
        Ok(warnings) => {
            save(file, text)?;
            for warning in warnings {
                print::complain(&texts::warning(&warning));
            }
        }
        Err(error) => {
            let is_new = context
                .load()
                .is_ok_and(|loaded| check_start(context, &loaded).is_ok());
            // A variable may be set for the service alone.
            if is_new && load_text(Some(text), file, context.environment()).is_ok() {
                return Err(Error::Config(texts::was_refused(&error)));
            }
            save(file, text)?;
            print::complain(&texts::warning(&texts::is_still_wrong(&error)));
        }
    }
    Ok(())
}

/// Has a running gateway apply the change, or says what it needs to take effect.
pub fn apply(context: &Context, key: Option<&Key>, path: &str) -> Result<()> {
    if let Some(key) = key {
        warn_of_variable(context, key, path);
    }
    let needs_restart = match control::reload(&context.home()?.control()) {
        Ok(None) => return Ok(()),
        Ok(Some(changes)) => changes.restart.iter().any(|changed| changed == path),
        Err(error) => {
            print::complain(&texts::warning(&error));
            true
        }
    };
    if !needs_restart {
        return print::line(texts::APPLIED);
    }
    let command = service::restart_command(context);
    print::line(&texts::restart_needed(command.as_deref()))
}

fn warn_of_variable(context: &Context, key: &Key, path: &str) {
    let variable = key.variable(path);
    if context.environment().contains_key(&variable) {
        print::complain(&texts::warning(&texts::variable_wins(&variable)));
    }
}
