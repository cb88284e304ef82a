//! `peacrab sessions`: the saved conversations.

use std::fmt::Write as _;
use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local};
use clap::{Args, Subcommand};

use crate::base::chat::{Entry, EntryKind};

use super::Context;
use super::terminal::{print, texts};
use crate::base::error::{Error, Exit, Result};
use crate::base::message::SessionKey;
use crate::config::Home;
use crate::store::session::conversation::STOPPED_NOTE;
use crate::store::session::line::Line;
use crate::store::session::store::{self, Summary};
use crate::text::{escape_json, is_prose as visible};

/// Lines of a tool's result that `sessions show` prints: enough to recognise it.
const SHOWN_RESULT_LINES: usize = 10;
/// Characters of the same; ten lines of a terminal.
const SHOWN_RESULT_CHARS: usize = 800;
/// Columns for the names in a list of sessions; a longer one pushes its own row aside.
const NAME_COLUMNS: usize = 24;
/// Columns for what was said last in a session: the rest of a line of 80.
const LAST_COLUMNS: usize = 40;

/// `peacrab sessions …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// The agent whose conversations these are [default: list: all agents, else the default agent]
    #[arg(long, global = true, value_name = "ID")]
    agent: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the conversations, the latest first
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Print a conversation
    Show {
        #[command(flatten)]
        name: Name,
        /// Print long tool results in full
        #[arg(long)]
        full: bool,
    },
    /// Copy a journal (JSON lines) to standard output or to a file
    Export {
        #[command(flatten)]
        name: Name,
        /// The new file; it must not exist yet
        file: Option<PathBuf>,
    },
    /// Delete a conversation and its archive
    Delete {
        #[command(flatten)]
        name: Name,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

/// Which session.
#[derive(Debug, Args)]
struct Name {
    /// A name from `sessions list`, or a key such as telegram:123
    #[arg(value_name = "SESSION")]
    session: String,
}

impl Name {
    fn chat(&self) -> SessionKey {
        SessionKey::parse(&self.session)
    }
}

/// Runs the action on the home's journals.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let all = context.start()?;
    let home = context.home()?;
    let loaded = all.of_agent(arguments.agent.as_deref())?;
    let folder = home.sessions_of(loaded.agent_id());
    match arguments
        .action
        .as_ref()
        .unwrap_or(&Action::List { json: false })
    {
        Action::List { json } if all.config.agents.are_several() => {
            let profiles = all.config.agents.profiles().into_iter();
            let is_meant = |id: &str| arguments.agent.is_none() || id == loaded.agent_id();
            let agents = profiles.map(|profile| profile.id).filter(|id| is_meant(id));
            list_by_agent(&home, agents, *json)?;
        }
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
        Action::Delete { name, yes } => {
            let chat = name.chat();
            if !yes && print::can_ask() && !confirm_delete(&folder, &chat)? {
                print::line(texts::KEPT)?;
                return Ok(Exit::Done);
            }
            store::delete(&folder, &chat)?;
            print::line(&texts::deleted(&chat))?;
        }
    }
    Ok(Exit::Done)
}

/// Asks whether a conversation is to be deleted; one that does not exist is left to the deletion.
fn confirm_delete(folder: &Path, chat: &SessionKey) -> Result<bool> {
    let found = store::list(folder)?
        .into_iter()
        .find(|found| found.chat == *chat);
    let Some(found) = found else {
        return Ok(true);
    };
    let answer = print::ask(&texts::ask_to_delete(
        chat,
        &brief(&found.title),
        &size(found.bytes),
    ))?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn list(folder: &Path, json: bool) -> Result<()> {
    let summaries = store::list(folder)?;
    if summaries.is_empty() && !json {
        return print::line(texts::NO_SESSIONS);
    }
    let lines = summaries.iter().map(|summary| {
        if json {
            as_json(summary, None)
        } else {
            row(summary, widest(&summaries))
        }
    });
    print::out(&lines.collect::<String>())
}

/// The conversations of several agents, below the id of each.
fn list_by_agent(home: &Home, agents: impl Iterator<Item = String>, json: bool) -> Result<()> {
    let mut text = String::new();
    for agent in agents {
        let summaries = store::list(&home.sessions_of(&agent))?;
        let gap = if text.is_empty() { "" } else { "\n" };
        if !json && !summaries.is_empty() {
            let _ = writeln!(text, "{gap}{}", print::bold(&agent));
        }
        for summary in &summaries {
            text += &if json {
                as_json(summary, Some(&agent))
            } else {
                row(summary, widest(&summaries))
            };
        }
    }
    if text.is_empty() && !json {
        print::line(texts::NO_SESSIONS)
    } else {
        print::out(&text)
    }
}

fn as_json(summary: &Summary, agent: Option<&str>) -> String {
    let mut value = serde_json::json!({
        "key": summary.chat.to_string(),
        "bytes": summary.bytes,
        "changed": local(summary.changed),
        "title": summary.title,
        "last": summary.last,
    });
    if let Some(agent) = agent {
        value["agent"] = agent.into();
    }
    format!("{}\n", escape_json(&value.to_string()))
}

/// A line of the list. The name comes first and in full, because other commands take it.
fn row(summary: &Summary, width: usize) -> String {
    format!(
        "{:<width$}  {}  {:>8}  {}\n",
        name(summary),
        local(summary.changed),
        size(summary.bytes),
        brief(&summary.title)
    )
}

/// The name that `peacrab agent -s` takes.
fn name(summary: &Summary) -> String {
    let key = summary.chat.to_string();
    let name = key.strip_prefix("cli:").unwrap_or(&key);
    name.chars().filter(|char| visible(*char)).collect()
}

/// The width of the column of names; a single very long one does not widen it for all the others.
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
            print::out(&format!("{gap}{}", format_entry(&entry, full)))
        }
        Line::State(_) => Ok(()),
    })?;
    if garbled > 0 {
        print::complain(&texts::skipped(garbled));
    }
    Ok(())
}

/// An entry below a line that says who and when. What the runtime added is dim.
fn format_entry(entry: &Entry, full: bool) -> String {
    let is_runtime = matches!(entry.kind, EntryKind::Note | EntryKind::Summary);
    let who = match entry.kind {
        EntryKind::Person => "you",
        EntryKind::Note => texts::RUNTIME_NOTE,
        EntryKind::Summary => texts::RUNTIME_SUMMARY,
        EntryKind::Assistant => "peacrab",
        EntryKind::Tool => entry.name.as_deref().unwrap_or("tool"),
    };
    let time = entry
        .timestamp
        .map(|time| time.format(" · %Y-%m-%d %H:%M").to_string())
        .unwrap_or_default();
    let mut text = entry.content.trim().to_owned();
    let was_stopped = entry.kind == EntryKind::Assistant && text.ends_with(STOPPED_NOTE);
    if was_stopped {
        text.truncate(text.len() - STOPPED_NOTE.len());
        text.truncate(text.trim_end().len());
    }
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
    let head = format!("{who}{time}");
    if is_runtime {
        return format!("{}\n", print::dim(&format!("{head}\n{}", text.trim_end())));
    }
    let stopped = if was_stopped {
        format!("{}\n", print::dim(texts::WAS_STOPPED))
    } else {
        String::new()
    };
    format!("{}\n{text}{stopped}", print::bold(&head))
}

/// Leaves the beginning of a long tool result, and says how much more there is.
fn cut(text: &mut String) {
    let lines = text.match_indices('\n').nth(SHOWN_RESULT_LINES - 1);
    let chars = text.char_indices().nth(SHOWN_RESULT_CHARS);
    let ends = [lines.map(|(end, _)| end), chars.map(|(end, _)| end)];
    if let Some(end) = ends.into_iter().flatten().min() {
        let left = size((text.len() - end) as u64);
        text.truncate(end);
        let _ = write!(text, "\n{}", texts::more(&left));
    }
}

/// A number of bytes in words, such as `1.5 kB`.
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
    let mut chars = text.chars().filter(|char| visible(*char));
    let mut brief: String = chars.by_ref().take(LAST_COLUMNS - 1).collect();
    match (chars.next(), chars.next()) {
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
    fn a_long_result_is_cut_by_lines_or_chars() {
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
