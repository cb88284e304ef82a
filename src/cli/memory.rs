//! `peacrab memory`: what the agent remembers.

use std::fmt::Write;

use chrono::{DateTime, Local};
use clap::{Args, Subcommand};

use super::sessions::size;
use super::terminal::print;
use super::{Context, compose};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Exit, Result};
use crate::sandbox::files::Workspace;
use crate::store::memory::search::{Hit, Query};
use crate::store::memory::{FACTS, Memory, Version};
use crate::text::{count_of, escape_json};
use crate::tools::memory::{Past, Reach, describe_place};

/// `peacrab memory …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// The agent of agents.list [default: the default agent]
    #[arg(long, global = true, value_name = "ID")]
    agent: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print what the agent remembers (memory/MEMORY.md)
    Show,
    /// Search the memory and all conversations
    #[command(alias = "find")]
    Search {
        /// Words, "exact phrases" or a date such as 2026-11
        #[arg(required = true)]
        words: Vec<String>,
        /// Search only the last days
        #[arg(long, value_name = "DAYS")]
        days: Option<usize>,
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// List the earlier versions of MEMORY.md
    #[command(alias = "versions")]
    History {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Bring back an earlier version; the present one is kept too
    Restore {
        /// A number from `memory history` [default: the newest]
        number: Option<u32>,
    },
}

/// Runs the action on the memory in the workspace.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?.of_agent(arguments.agent.as_deref())?;
    let home = context.home()?;
    let workspace = compose::open_workspace(context, &home, &loaded)?;
    let clock = Clock::System;
    let memory = Memory::new(&workspace, &clock);
    match arguments.action.as_ref().unwrap_or(&Action::Show) {
        Action::Show => show(&memory, &workspace)?,
        Action::Search { words, days, json } => {
            // The shell has taken the quotes off a phrase.
            let quote = |word: &String| {
                if word.contains(' ') && !word.contains('"') && words.len() > 1 {
                    format!("\"{word}\"")
                } else {
                    word.clone()
                }
            };
            let words: Vec<String> = words.iter().map(quote).collect();
            let query = Query::parse(&words.join(" "), *days, clock.now().date_naive())?;
            let past = Past {
                workspace: &workspace,
                sessions: &home.sessions_of(loaded.agent_id()),
                reach: Reach::All(None),
            };
            print_hits(&past.search(&query, &Cancel::new())?, *json)?;
        }
        Action::History { json } => list_versions(&memory, *json)?,
        Action::Restore { number } => restore(&memory, *number)?,
    }
    Ok(Exit::Done)
}

fn show(memory: &Memory<'_>, workspace: &Workspace) -> Result<()> {
    let Some(facts) = memory.all_facts()? else {
        return print::line(&format!(
            "Nothing is remembered yet. The agent writes what it learns to {}.",
            workspace.path().join(FACTS).display()
        ));
    };
    print::line(facts.text.trim_end())?;
    if facts.is_cut {
        let file = workspace.path().join(FACTS);
        print::notice(&format!(
            "only the beginning is shown; all of it is in {}",
            file.display()
        ));
    }
    Ok(())
}

fn print_hits(hits: &[Hit], json: bool) -> Result<()> {
    if json {
        return print::out(&hits.iter().map(hit_as_json).collect::<String>());
    }
    if hits.is_empty() {
        return print::line("Nothing found. Try other or fewer words.");
    }
    for (index, hit) in hits.iter().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        print::out(&format!("{gap}{}\n", print::bold(&describe_place(hit))))?;
        print::paragraph(&hit.text)?;
    }
    Ok(())
}

fn hit_as_json(hit: &Hit) -> String {
    let value = serde_json::json!({
        "place": hit.place,
        "who": hit.who,
        "time": hit.time.map(|time| time.format("%Y-%m-%dT%H:%M").to_string()),
        "text": hit.text,
    });
    format!("{}\n", escape_json(&value.to_string()))
}

/// Lists the versions with what was changed when each was replaced.
fn list_versions(memory: &Memory<'_>, json: bool) -> Result<()> {
    let versions = memory.versions()?;
    if versions.is_empty() && !json {
        return print::line(&format!("There are no earlier versions of {FACTS} yet."));
    }
    let mut after = memory
        .all_facts()?
        .map_or_else(String::new, |facts| facts.text);
    let mut text = String::new();
    for version in &versions {
        let before = memory.version(version.number)?;
        let (added, removed) = changed_lines(&before, &after);
        if json {
            text.push_str(&version_as_json(version, added, removed))
        } else {
            let _ = writeln!(
                text,
                "{:>4}  {}  {:>8}  then +{added} −{removed} {}",
                version.number,
                local(version.replaced),
                size(version.bytes),
                if added + removed == 1 {
                    "line"
                } else {
                    "lines"
                }
            );
        }
        after = before;
    }
    print::out(&text)
}

fn version_as_json(version: &Version, added: usize, removed: usize) -> String {
    let value = serde_json::json!({
        "number": version.number,
        "replaced": local(version.replaced),
        "bytes": version.bytes,
        "added": added,
        "removed": removed,
    });
    format!("{value}\n")
}

/// How many lines of the later version are not in the earlier one, and the other way round.
fn changed_lines(before: &str, after: &str) -> (usize, usize) {
    let missing = |from: &str, others: &str| {
        let mut others: Vec<&str> = others.lines().collect();
        others.sort_unstable();
        let is_new = |line: &&str| others.binary_search(line).is_err();
        from.lines().filter(is_new).count()
    };
    (missing(after, before), missing(before, after))
}

fn restore(memory: &Memory<'_>, number: Option<u32>) -> Result<()> {
    let newest = memory.versions()?.first().map(|version| version.number);
    let Some(number) = number.or(newest) else {
        return print::line(&format!("There are no earlier versions of {FACTS} yet."));
    };
    memory.restore(number)?;
    let restored = memory
        .all_facts()?
        .map_or_else(String::new, |facts| facts.text);
    let lines = count_of(restored.lines().count(), "line", "lines");
    let kept = memory.versions()?.first().map(|version| version.number);
    let undo = kept.map_or_else(String::new, |kept| {
        format!(" To undo: peacrab memory restore {kept}")
    });
    print::line(&format!(
        "{FACTS} is version {number} again ({lines}).{undo}"
    ))
}

fn local(seconds: i64) -> String {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.with_timezone(&Local)
        .format("%Y-%m-%d %H:%M")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_wherever_they_are() {
        assert_eq!(changed_lines("a\nb\n", "b\nc\nd\n"), (2, 1));
        assert_eq!(changed_lines("", "a\n"), (1, 0));
        assert_eq!(changed_lines("a\na\n", "a\n"), (0, 0));
    }
}
