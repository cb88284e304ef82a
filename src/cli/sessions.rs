//! `peacrab sessions`: the conversations that are kept.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local};
use clap::{Args, Subcommand};

use crate::chat::{Entry, Role};

use super::Context;
use super::terminal::markdown::visible;
use super::terminal::print;
use crate::error::{Error, Exit, Result};
use crate::message::ChatId;
use crate::session::line::Line;
use crate::session::store;

/// `peacrab sessions …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists them, the one written last first
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Prints a conversation
    Show(Name),
    /// Copies a journal as it is (JSON lines), to standard output or a file
    Export {
        /// Which one
        #[command(flatten)]
        name: Name,
        /// Where to; it must not exist
        file: Option<PathBuf>,
    },
    /// Deletes a journal for good
    Delete(Name),
}

/// Which session.
#[derive(Debug, Args)]
struct Name {
    /// A name of `peacrab agent -s`, or a key such as telegram:123
    #[arg(value_name = "SESSION")]
    session: String,
}

impl Name {
    fn chat(&self) -> ChatId {
        ChatId::parse(&self.session)
    }
}

/// Runs the action on the home's journals.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    context.start()?;
    let folder = context.home()?.sessions();
    match &arguments.action {
        Action::List { json } => list(&folder, *json)?,
        Action::Show(name) => show(&folder, &name.chat())?,
        Action::Export { name, file: None } => {
            print::unbroken(store::export(
                &folder,
                &name.chat(),
                &mut std::io::stdout().lock(),
            ))?;
        }
        Action::Export {
            name,
            file: Some(file),
        } => {
            let created = File::options()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(file);
            store::export(
                &folder,
                &name.chat(),
                &mut created.map_err(Error::io("create", file))?,
            )?;
        }
        Action::Delete(name) => {
            store::delete(&folder, &name.chat())?;
            print::line(&format!("deleted {}", name.chat()))?;
        }
    }
    Ok(Exit::Done)
}

fn list(folder: &Path, json: bool) -> Result<()> {
    let summaries = store::list(folder)?;
    if summaries.is_empty() && !json {
        return print::out("no sessions yet; `peacrab agent` begins one\n");
    }
    let mut text = String::new();
    for summary in &summaries {
        let changed = local(summary.changed);
        let line = if json {
            let value = serde_json::json!({
                "key": summary.chat.to_string(), "bytes": summary.bytes, "changed": changed, "last": summary.last,
            });
            value.to_string()
        } else {
            let key = summary.chat.to_string();
            let name = key.strip_prefix("cli:").unwrap_or(&key);
            format!(
                "{name:<20} {changed}  {:>9}  {}",
                size(summary.bytes),
                brief(&summary.last)
            )
        };
        let _ = writeln!(text, "{line}");
    }
    print::out(&text)
}

fn show(folder: &Path, chat: &ChatId) -> Result<()> {
    let garbled = store::read(folder, chat, |line| match line {
        Line::Entry(entry) => print::out(&shown(&entry)),
        Line::State(_) => Ok(()),
    })?;
    if garbled > 0 {
        print::out(&format!("({garbled} unreadable lines were skipped)\n"))?;
    }
    Ok(())
}

fn shown(entry: &Entry) -> String {
    let time = entry
        .timestamp
        .map(|time| time.format("%Y-%m-%d %H:%M ").to_string())
        .unwrap_or_default();
    let who = match entry.role {
        Role::User => "you",
        Role::Assistant => "peacrab",
        Role::Tool => entry.name.as_deref().unwrap_or("tool"),
    };
    let mut text = String::new();
    if !entry.content.is_empty() {
        let _ = writeln!(text, "{time}{who}: {}", entry.content.trim_end());
    }
    for call in &entry.tool_calls {
        let _ = writeln!(text, "{time}peacrab calls {} {}", call.name, call.arguments);
    }
    text.retain(visible);
    text
}

/// Bytes as a person reads them.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn local(seconds: i64) -> String {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.with_timezone(&Local)
        .format("%Y-%m-%d %H:%M")
        .to_string()
}

/// The beginning of a line, for a column at the end of a row.
fn brief(text: &str) -> String {
    const COLUMN: usize = 60;
    let mut letters = text.chars().filter(|letter| visible(*letter));
    let mut brief: String = letters.by_ref().take(COLUMN - 1).collect();
    match (letters.next(), letters.next()) {
        (Some(last), None) => brief.push(last),
        (Some(_), Some(_)) => brief.push('…'),
        (None, _) => {}
    }
    brief
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_short_and_clean() {
        assert_eq!(brief("a\x1b[2Jb"), "a[2Jb");
        assert_eq!(brief(&"x".repeat(100)).chars().count(), 60);
        assert_eq!(
            (
                size(999).as_str(),
                size(1_500).as_str(),
                size(2_000_000).as_str()
            ),
            ("999 B", "1.5 kB", "2.0 MB")
        );
    }
}
