//! `peacrab config`: shows, explains, changes and checks the configuration.

pub(super) mod change;
pub mod check;
pub(super) mod texts;

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use super::Context;
use super::terminal::print;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::cli::IGNORED_SHOWN;
use crate::config::agents::table::members;
use crate::config::check::{Installation, safe_path, weaknesses};
use crate::config::key::Key;
use crate::config::settings::insert;
use crate::config::table::{self, keys};
use crate::config::{Current, Loaded, nearest, texts as config_texts};

/// Characters of the shortest word that is searched for in all settings: shorter ones are in nearly all.
const WORD_CHARS: usize = 3;
/// Settings with a word that are explained in full, about a screen; more are listed.
const FOUND_EXPLAINED: usize = 8;

/// `peacrab config …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the settings that differ from their defaults, and where each comes from (secrets are hidden)
    Show {
        /// All settings, with their defaults
        #[arg(long)]
        all: bool,
        /// Only settings that differ, as without it
        #[arg(long, hide = true, conflicts_with = "all")]
        changed: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain a setting, a section such as agents.defaults, what a word is about, or all settings
    Explain {
        /// The setting, section or words
        key: Vec<String>,
    },
    /// Print the value of a setting
    Get {
        /// The setting, such as agents.defaults.model
        key: String,
        /// Show secrets
        #[arg(long)]
        reveal: bool,
    },
    /// Change a setting in the file; the rest of the file stays as it is
    Set {
        /// The setting, such as agents.defaults.model
        key: String,
        /// The new value, as plain text or JSON
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a setting from the file, which resets it to its default
    Unset {
        /// The setting, such as agents.defaults.model
        key: String,
    },
    /// Check the configuration and warn about insecure settings
    Check,
    /// Print the path of the configuration file
    Path,
}

impl Arguments {
    /// Whether the file is changed.
    pub fn changes(&self) -> bool {
        matches!(self.action, Action::Set { .. } | Action::Unset { .. })
    }
}

/// Runs the action.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    match arguments.action {
        Action::Show { all, json, .. } => show(&context.start()?, all, json),
        Action::Explain { key } => explain(context, &key.join(" ")),
        Action::Get { key, reveal } => get(&context.start()?, &key, reveal),
        Action::Set { key, value } => change::set(context, &key, &value),
        Action::Unset { key } => change::unset(context, &key),
        Action::Check => return check(context),
        Action::Path => print::line(&context.config_file()?.display().to_string()),
    }?;
    Ok(Exit::Done)
}

fn show(loaded: &Loaded, all: bool, json: bool) -> Result<()> {
    let settings = loaded.collect(all);
    if json {
        return show_json(loaded, settings);
    }
    if settings.is_empty() {
        return print::line(texts::NOTHING_CHANGED);
    }
    let mut text = String::new();
    for (path, Current { key, value, source }) in settings {
        let value = loaded.shown(key, value);
        text.push_str(&format!("{} = {value}  ({source})\n", print::bold(&path)));
    }
    print::out(&text)?;
    if !all {
        print::notice(texts::OTHERS_ARE_DEFAULT);
    }
    Ok(())
}

fn show_json(loaded: &Loaded, settings: BTreeMap<String, Current>) -> Result<()> {
    let mut values = Map::new();
    for (path, current) in settings {
        let names: Vec<String> = current
            .key
            .split(&path)
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect();
        insert(
            &mut values,
            &names,
            loaded.shown(current.key, current.value),
        );
    }
    print::json(&format!("{:#}", Value::Object(values)))
}

fn get(loaded: &Loaded, path: &str, reveal: bool) -> Result<()> {
    let (key, path) = find_setting(path)?;
    let (value, _) = loaded.current(key, &path);
    let value = if reveal {
        value
    } else {
        loaded.shown(key, value)
    };
    match value {
        Value::String(text) => print::line(&text),
        value => print::line(&value.to_string()),
    }
}

/// Explains a setting, a section, or what has a word in its path or meaning. This works with a broken configuration too: its error comes last.
fn explain(context: &Context, path: &str) -> Result<()> {
    let loaded = context.start();
    let keys: Vec<(&Key, String)> = match table::section(path) {
        Some(section) => table::within(section)
            .map(|key| (key, key.path.replacen(section, path, 1)))
            .collect(),
        None => match (find_setting(path), about(path)) {
            (Err(_), found) if found.len() > FOUND_EXPLAINED => return list(&found),
            (Err(_), found) if !found.is_empty() => found,
            (setting, _) => vec![setting?],
        },
    };
    let blocks: Vec<String> = keys
        .into_iter()
        .map(|(key, path)| format_explanation(key, &path, loaded.as_ref().ok()))
        .collect();
    print::out(&print::wrapped(&blocks.join("\n")))?;
    loaded.map(drop)
}

/// The settings whose paths or meanings have a word, those with it in their paths first.
fn about(word: &str) -> Vec<(&'static Key, String)> {
    let word = word.to_lowercase();
    if word.chars().count() < WORD_CHARS || word.contains('.') {
        return Vec::new();
    }
    // The words of a path have no spaces between them.
    let joined = word.replace(char::is_whitespace, "");
    let is_in_path = |key: &&Key| key.path.to_lowercase().contains(&joined);
    let (mut found, of_meaning): (Vec<_>, Vec<_>) = keys()
        .filter(|key| is_in_path(key) || key.meaning.to_lowercase().contains(&word))
        .partition(is_in_path);
    found.extend(of_meaning);
    found
        .into_iter()
        .map(|key| (key, key.path.to_owned()))
        .collect()
}

/// Lists settings with the first sentences of their meanings.
fn list(found: &[(&Key, String)]) -> Result<()> {
    let lines = found.iter().map(|(key, path)| {
        let sentence = key
            .meaning
            .split_once(". ")
            .map_or(key.meaning, |(first, _)| first);
        format!("{}\n  {sentence}\n", print::bold(path))
    });
    print::out(&print::wrapped(&lines.collect::<String>()))?;
    print::notice(texts::EXPLAINS_ONE);
    Ok(())
}

fn format_explanation(key: &Key, path: &str, loaded: Option<&Loaded>) -> String {
    let kind = config_texts::describe_type(key.kind);
    let kind = kind.trim_start_matches("a ").trim_start_matches("an ");
    let or_null = if key.nullable { ", or null" } else { "" };
    let mut text = format!(
        "{}\n  {}\n  type:     {kind}{or_null}\n  default:  {}\n",
        print::bold(path),
        key.meaning,
        key.default
    );
    for (name, member) in members(key.kind) {
        text.push_str(&format!("    {name}: {}\n", member.meaning));
    }
    if let Some(loaded) = loaded
        && !path.contains('*')
    {
        let (value, source) = loaded.current(key, path);
        text.push_str(&format!(
            "  now:      {}  ({source})\n",
            loaded.shown(key, value)
        ));
    }
    let variable = key.variable(&path.replace('*', "name"));
    text.push_str(&format!("  variable: {variable}\n"));
    text
}

/// Prints what a start would complain of. What it would ignore has been printed by then, and fails the check.
fn check(context: &Context) -> Result<Exit> {
    let file = context.config_file()?;
    let loaded = context.start()?;
    let warnings = check::check_start(context, &loaded)?;
    for problem in loaded.ignored.iter().skip(IGNORED_SHOWN) {
        print::complain(&texts::warning(problem));
    }
    let ignored = loaded.ignored.len();
    let verdict = match ignored {
        0 => texts::is_valid(&file, file.exists(), loaded.settings.len()),
        _ => texts::has_ignored(&file, ignored),
    };
    print::line(&verdict)?;
    let weaknesses = weaknesses(&loaded.config, &installation(context)?);
    for warning in warnings.iter().chain(&weaknesses) {
        print::line(&texts::warning(warning))?;
    }
    Ok(match ignored {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}

/// Where Peacrab is installed, and how open its home folder is.
pub fn installation(context: &Context) -> Result<Installation> {
    let user_home = context.environment().get("HOME").map(Path::new);
    let home = context.home()?;
    Ok(Installation::examine(home.path(), user_home))
}

/// The setting at a path, in either spelling, and its path; the error names the nearest one.
fn find_setting(path: &str) -> Result<(&'static Key, String)> {
    table::find_spelt(path).ok_or_else(|| {
        let safe = safe_path(path.split('.'));
        let what = match table::section(path) {
            Some(section) => config_texts::is_section(&safe, &table::names_within(section)),
            None => config_texts::unknown_setting(&safe, &nearest::advise(&safe)),
        };
        Error::Config(what)
    })
}
