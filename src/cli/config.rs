//! `peacrab config`: the configuration shown, explained, changed and checked.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use super::Context;
use super::terminal::print;
use crate::config::check::{self, Installation, safe_path};
use crate::config::load::change;
use crate::config::settings::{Source, insert};
use crate::config::table::{self, KEYS, Key};
use crate::config::{Loaded, nearest};
use crate::error::{Error, Exit, Result};
use crate::secret::Secret;

/// `peacrab config …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show what holds, and where each value comes from; secrets are not shown
    Show {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Explain a key, a section (such as agents.defaults), or all
    Explain {
        /// The key or the section
        key: Option<String>,
    },
    /// Print the value of a key
    Get {
        /// The key, such as agents.defaults.model
        key: String,
        /// Print a secret too
        #[arg(long)]
        reveal: bool,
    },
    /// Set a key in the file; the rest of the file stays as it is
    Set {
        /// The key, such as agents.defaults.model
        key: String,
        /// Its value: a plain text or JSON; null takes a key back to its default where it is no value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Check the file and the environment, and name settings that weaken security
    Check,
    /// Print where the file is
    Path,
}

/// Runs the action.
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    match arguments.action {
        Action::Show { json: true } => show_json(&context.start()?),
        Action::Show { json: false } => show(&context.start()?),
        Action::Explain { key } => explain(context, key.as_deref().unwrap_or_default()),
        Action::Get { key, reveal } => get(&context.start()?, &key, reveal),
        Action::Set { key, value } => set(context, &key, &value),
        Action::Check => check(context),
        Action::Path => print::line(&context.config_file()?.display().to_string()),
    }?;
    Ok(Exit::Done)
}

/// A key with the value that holds.
struct Current {
    key: &'static Key,
    value: Value,
    source: Source,
}

/// Every key that has a value, by its path: those that are set, and the others with their default.
fn all(loaded: &Loaded) -> BTreeMap<String, Current> {
    let set = loaded
        .settings
        .iter()
        .map(|(path, setting)| (path.clone(), setting.key));
    let known = KEYS.iter().filter(|key| !key.path.contains('*'));
    known
        .map(|key| (key.path.to_owned(), key))
        .chain(set)
        .map(|(path, key)| {
            let (value, source) = loaded.current(key, &path);
            (path, Current { key, value, source })
        })
        .collect()
}

fn show(loaded: &Loaded) -> Result<()> {
    let mut text = String::new();
    for (path, Current { key, value, source }) in all(loaded) {
        let value = masked(key, value);
        text.push_str(&format!("{} = {value}  ({source})\n", print::bold(&path)));
    }
    print::out(&text)
}

fn show_json(loaded: &Loaded) -> Result<()> {
    let mut values = Map::new();
    for (path, current) in all(loaded) {
        let names: Vec<String> = current
            .key
            .split(&path)
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect();
        insert(&mut values, &names, masked(current.key, current.value));
    }
    print::json(&format!("{:#}", Value::Object(values)))
}

fn get(loaded: &Loaded, path: &str, reveal: bool) -> Result<()> {
    let (key, path) = known(path)?;
    let (value, _) = loaded.current(key, &path);
    let value = if reveal { value } else { masked(key, value) };
    match value {
        Value::String(text) => print::line(&text),
        value => print::line(&value.to_string()),
    }
}

/// Explains what the path names. That works with a broken configuration too, whose error comes then.
fn explain(context: &Context, path: &str) -> Result<()> {
    let loaded = context.start();
    let keys: Vec<(&Key, String)> = match table::section(path) {
        Some(section) => table::within(section)
            .map(|key| (key, key.path.replacen(section, path, 1)))
            .collect(),
        None => vec![known(path)?],
    };
    let blocks: Vec<String> = keys
        .into_iter()
        .map(|(key, path)| explanation(key, &path, loaded.as_ref().ok()))
        .collect();
    print::out(&blocks.join("\n"))?;
    loaded.map(drop)
}

fn explanation(key: &Key, path: &str, loaded: Option<&Loaded>) -> String {
    let or_null = if key.nullable { ", or null" } else { "" };
    let mut text = format!(
        "{}\n  {}\n  wants:    {}{or_null}\n  default:  {}\n",
        print::bold(path),
        key.meaning,
        key.kind.wants(),
        key.default
    );
    if let Some(loaded) = loaded
        && !path.contains('*')
    {
        let (value, source) = loaded.current(key, path);
        text.push_str(&format!("  now:      {}  ({source})\n", masked(key, value)));
    }
    let variable = key.variable(&path.replace('*', "name"));
    text.push_str(&format!("  variable: {variable}\n"));
    text
}

fn set(context: &Context, path: &str, text: &str) -> Result<()> {
    let (key, path) = known(path)?;
    let value = key.parse(text);
    let file = context.config_file()?;
    change(&file, &[(key, &path, &value)])?;
    let variable = key.variable(&path);
    if context.environment().contains_key(&variable) {
        print::complain(&format!(
            "warning: {variable} in the environment wins over the file"
        ));
    }
    print::line(&format!(
        "{path} = {}, in {}",
        masked(key, value),
        file.display()
    ))
}

fn check(context: &Context) -> Result<()> {
    let file = context.config_file()?;
    let loaded = context.start()?;
    let set = loaded.settings.len();
    let text = match file.exists() {
        true => format!("{} is right; keys that are set: {set}", file.display()),
        false => format!(
            "there is no file {}; keys that are set: {set}",
            file.display()
        ),
    };
    print::line(&text)?;
    for weakness in check::weaknesses(&loaded.config, &installation(context)?) {
        print::line(&format!("warning: {weakness}"))?;
    }
    Ok(())
}

/// Where the program is installed, and how open that is.
pub fn installation(context: &Context) -> Result<Installation> {
    let user_home = context.environment().get("HOME").map(Path::new);
    let home = context.home()?;
    Ok(Installation::examine(home.path(), user_home))
}

/// The key that a person names, and its path; else an error with the nearest.
fn known(path: &str) -> Result<(&'static Key, String)> {
    table::find_spelt(path).ok_or_else(|| {
        let safe = safe_path(path.split('.'));
        let what = match table::section(path) {
            Some(section) => {
                let names = table::names_within(section).join(", ");
                format!("{safe} is a section; in it there are {names}")
            }
            None => format!("{safe} is no key; {}", nearest::advice(&safe)),
        };
        Error::Config(what)
    })
}

/// The value as it may be shown.
pub fn masked(key: &Key, value: Value) -> Value {
    match value {
        value if !key.is_secret() => value,
        Value::String(text) if text.is_empty() => Value::String(text),
        Value::String(text) => Value::String(format!("{:?}", Secret::new(&text))),
        Value::Object(members) => {
            let members = members.into_iter();
            Value::Object(
                members
                    .map(|(name, value)| (name, masked(key, value)))
                    .collect(),
            )
        }
        value => value,
    }
}
