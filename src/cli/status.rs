//! `peacrab status`: what is set up, which model answers, tokens of today.

use std::fmt::Write;

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::agent::models_of;
use super::terminal::print;
use crate::clock::Clock;
use crate::error::{Exit, Result};
use crate::session::store;
use crate::state::Ledger;
use crate::sys;

/// `peacrab status …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

/// Shows the status. Nothing is made, and no model is asked.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let home = context.home()?;
    let models = models_of(context, &loaded)?;
    let file = context.config_file()?;
    let workspace = home.workspace(&loaded.config.agents.defaults.workspace);
    let sessions = store::list(&home.sessions())?;
    let counts = Ledger::new(&home.state(), Clock::System).counts();
    let rows = [
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        (
            "machine",
            json!(sys::host::board().unwrap_or_else(sys::host::kernel)),
        ),
        ("home", exists(home.path())),
        ("config", exists(&file)),
        ("workspace", exists(&workspace)),
        ("models", json!(models.names())),
        ("sessions", json!(sessions.len())),
        (
            "sessionBytes",
            json!(sessions.iter().map(|session| session.bytes).sum::<u64>()),
        ),
        ("clockIsSet", json!(Clock::System.is_set())),
        ("tokensToday", json!(counts.today())),
        ("tokensByModel", json!(counts.models)),
    ];
    if arguments.json {
        let object: serde_json::Map<String, Value> = rows
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        print::line(&Value::Object(object).to_string())?;
    } else {
        let mut text = String::new();
        for (name, value) in &rows {
            if let Some(shown) = shown(value) {
                let _ = writeln!(text, "{:<18} {shown}", words(name));
            }
        }
        print::out(&text)?;
    }
    Ok(Exit::Done)
}

/// A place, and whether there is something.
fn exists(path: &std::path::Path) -> Value {
    let note = if path.exists() {
        ""
    } else {
        " (not there yet; `peacrab onboard` makes it)"
    };
    json!(format!("{}{note}", path.display()))
}

/// `usageToday` as `usage today`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// A value as a person reads it; none for what says nothing.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Array(items) => Some(
            items
                .iter()
                .filter_map(shown)
                .collect::<Vec<_>>()
                .join(", "),
        ),
        Value::Object(members) if members.is_empty() => None,
        Value::Object(usage) if usage.contains_key("cached") => Some(format!(
            "{} in ({} cached), {} out",
            usage["input"], usage["cached"], usage["output"]
        )),
        Value::Object(members) => {
            let each = members
                .iter()
                .filter_map(|(name, value)| Some(format!("{name} {}", shown(value)?)));
            Some(each.collect::<Vec<_>>().join(", "))
        }
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_like_a_sentence() {
        assert_eq!(words("tokensByModel"), "tokens by model");
        let usage = json!({"input": 3, "output": 1, "cached": 2});
        assert_eq!(
            shown(&json!({"m": usage})).unwrap(),
            "m 3 in (2 cached), 1 out"
        );
        assert_eq!(shown(&json!(["a", "b"])).unwrap(), "a, b");
        assert_eq!(shown(&json!({})), None);
    }
}
