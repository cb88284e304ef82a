//! `peacrab sessions`: the conversations that are kept.

use std::fmt::Write as _;
use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local};
use clap::{Args, Subcommand};

use crate::chat::{Entry, EntryKind};

use super::Context;
use super::terminal::markdown::visible;
use super::terminal::print;
use crate::error::{Error, Exit, Result};
use crate::limits::cli::{LAST_COLUMNS, NAME_COLUMNS, SHOWN_RESULT_CHARS, SHOWN_RESULT_LINES};
use crate::message::SessionKey;
use crate::session::line::Line;
use crate::session::store::{self, Summary};
use crate::text::escape_json;

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
    Show {
        /// Which one
        #[command(flatten)]
        name: Name,
        /// Long tool results too, as they are in the journal
        #[arg(long)]
        full: bool,
    },
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
    fn chat(&self) -> SessionKey {
        SessionKey::parse(&self.session)
    }
}

/// Runs the action on the home's journals.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    context.start()?;
    let folder = context.home()?.sessions();
    match &arguments.action {
        Action::List { json } => list(&folder, *json)?,
        Action::Show { name, full } => show(&folder, &name.chat(), *full)?,
        Action::Export { name, file: None } => {
            if std::io::stdout().is_terminal() {
                let mut lines = Vec::new();
                store::export(&folder, &name.chat(), &mut lines)?;
                print::json(String::from_utf8_lossy(&lines).trim_end())?;
            } else {
                // A file gets the journal as it is.
                let mut stdout = std::io::stdout().lock();
                print::unbroken(store::export(&folder, &name.chat(), &mut stdout))?;
            }
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
    let lines = summaries.iter().map(|summary| match json {
        true => as_json(summary),
        false => row(summary, widest(&summaries)),
    });
    print::out(&lines.collect::<String>())
}

fn as_json(summary: &Summary) -> String {
    let value = serde_json::json!({
        "key": summary.chat.to_string(),
        "bytes": summary.bytes,
        "changed": local(summary.changed),
        "last": summary.last,
    });
    format!("{}\n", escape_json(&value.to_string()))
}

/// A line of the list. What is asked for by name comes first, and has the room that it needs.
fn row(summary: &Summary, width: usize) -> String {
    format!(
        "{:<width$}  {}  {:>8}  {}\n",
        name(summary),
        local(summary.changed),
        size(summary.bytes),
        brief(&summary.last)
    )
}

/// What `peacrab agent -s` calls it.
fn name(summary: &Summary) -> String {
    let key = summary.chat.to_string();
    let name = key.strip_prefix("cli:").unwrap_or(&key);
    name.chars().filter(|letter| visible(*letter)).collect()
}

/// The room for names; a single very long one does not push all the others away.
fn widest(summaries: &[Summary]) -> usize {
    let widths = summaries
        .iter()
        .map(|summary| name(summary).chars().count());
    widths.max().unwrap_or(0).min(NAME_COLUMNS)
}

fn show(folder: &Path, chat: &SessionKey, full: bool) -> Result<()> {
    let mut first = true;
    let garbled = store::read(folder, chat, |line| match line {
        Line::Entry(entry) => {
            let gap = if std::mem::take(&mut first) { "" } else { "\n" };
            print::out(&format!("{gap}{}", shown(&entry, full)))
        }
        Line::State(_) => Ok(()),
    })?;
    if garbled > 0 {
        print::complain(&format!("{garbled} unreadable lines were skipped"));
    }
    Ok(())
}

/// An entry below a line that says who and when.
fn shown(entry: &Entry, full: bool) -> String {
    let who = match entry.kind {
        EntryKind::Person => "you",
        EntryKind::Note => "note to the model",
        EntryKind::Summary => "summary",
        EntryKind::Assistant => "peacrab",
        EntryKind::Tool => entry.name.as_deref().unwrap_or("tool"),
    };
    let time = entry
        .timestamp
        .map(|time| time.format(" · %Y-%m-%d %H:%M").to_string())
        .unwrap_or_default();
    let mut text = entry.content.trim().to_owned();
    if entry.kind == EntryKind::Tool && !full {
        cut(&mut text);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    for call in &entry.tool_calls {
        let _ = writeln!(text, "▸ {} {}", call.name, call.arguments);
    }
    text.retain(visible);
    format!("{}\n{text}", print::bold(&format!("{who}{time}")))
}

/// Leaves the beginning of a long tool result, and says how much more there is.
fn cut(text: &mut String) {
    let lines = text.match_indices('\n').nth(SHOWN_RESULT_LINES - 1);
    let letters = text.char_indices().nth(SHOWN_RESULT_CHARS);
    let ends = [lines.map(|(end, _)| end), letters.map(|(end, _)| end)];
    if let Some(end) = ends.into_iter().flatten().min() {
        let left = size((text.len() - end) as u64);
        text.truncate(end);
        let _ = write!(text, "\n… {left} more; --full shows all");
    }
}

/// Bytes as a person reads them.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
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
    let mut letters = text.chars().filter(|letter| visible(*letter));
    let mut brief: String = letters.by_ref().take(LAST_COLUMNS - 1).collect();
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
    fn a_long_result_is_cut_by_lines_or_letters() {
        for (long, kept) in [("line\n".repeat(100), 49), ("x".repeat(5_000), 800)] {
            let mut text = long;
            cut(&mut text);
            let (start, note) = text.split_once("\n… ").unwrap();
            assert_eq!(start.len(), kept);
            assert!(note.ends_with(" more; --full shows all"), "{note}");
        }
        let mut short = "line\n".repeat(9) + "line";
        cut(&mut short);
        assert!(!short.contains('…'));
    }

    #[test]
    fn columns_stay_short_and_clean() {
        assert_eq!(brief("a\x1b[2Jb"), "a[2Jb");
        assert_eq!(brief(&"x".repeat(100)).chars().count(), 40);
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
