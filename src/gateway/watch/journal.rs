//! Programs of the system that say how it is: `systemctl`, and `journalctl` with what is new in the journal.

use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::{Item, Look, system};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::board::look::journal::{complaint, cursor, is_entry};
use crate::board::watch::{Blind, Lines, parse};
use crate::gateway::Gateway;
use crate::sys::time::CpuBudget;

/// How long such a program may take: `journalctl` opens each file of the journal, on a slow card.
const PROGRAM_TIME: Duration = Duration::from_secs(30);
/// Bytes of the journal that one look reads; of more the rest is passed over.
const JOURNAL_BYTES: usize = 1024 * 1024;
/// Processor time in which one look compares lines with a pattern.
const MATCH_TIME: Duration = Duration::from_secs(1);

/// The lines of the journal that a rule is about.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The unit, or `kernel`.
    pub unit: Option<&'a str>,
    /// The least urgent level.
    pub level: Option<usize>,
    /// The regular expression.
    pub pattern: Option<&'a str>,
}

/// What is new.
#[derive(Default)]
struct News {
    count: u32,
    last: String,
    cursor: Option<String>,
    complaint: Option<String>,
}

impl Gateway {
    /// Looks for new lines of the journal, and notes them. The first look only finds out where it ends.
    pub(super) fn probe_journal(self: &Arc<Self>, item: &Item, wanted: Wanted<'_>) -> Look {
        if item.by_model {
            // Its own tools do not reach the journal either.
            return Look::default();
        }
        let watches = &self.parts.watches;
        let known = |shared: &super::Shared| {
            let known = shared.entries.get(&item.key)?.known.as_ref()?;
            known.first().cloned()
        };
        let before = known(&watches.shared.lock());
        let news = match read(wanted, before.as_deref()) {
            Ok(news) => news,
            Err(why) => return Look::blind(why),
        };
        let mut shared = watches.shared.lock();
        let shared = &mut *shared;
        if let Some(entry) = shared.entries.get_mut(&item.key) {
            if news.count > 0 {
                entry.seen.note(news.count, news.last.clone());
            }
            shared.is_unsaved |= news.count > 0 || entry.known.is_none() && news.cursor.is_some();
            entry.known = news.cursor.map(|cursor| vec![cursor]);
        }
        let last = shared.found.get(&item.key).filter(|_| news.count == 0);
        let unit = wanted
            .unit
            .filter(|unit| *unit != "kernel" && !unit.contains('.'));
        let blind = unit.and_then(|unit| system::blind_service(&watches.root, unit));
        Look {
            value: None,
            note: last.map_or(news.last, |last| last.note.clone()),
            blind: news.complaint.map(Blind::NoJournal).or(blind),
        }
    }
}

/// Why this account cannot read the journal.
pub fn complain() -> Option<Blind> {
    let wanted = Wanted {
        unit: None,
        level: None,
        pattern: None,
    };
    match read(wanted, None) {
        Ok(news) => news.complaint.map(Blind::NoJournal),
        Err(why) => Some(why),
    }
}

/// Reads what is new since a place in the journal; without one, where it ends.
fn read(wanted: Wanted<'_>, after: Option<&str>) -> std::result::Result<News, Blind> {
    let mut arguments = vec!["--no-pager", "-o", "short", "--show-cursor"];
    let (place, level);
    match after {
        None => arguments.extend(["-n", "1"]),
        Some(after) => {
            place = format!("--after-cursor={after}");
            level = wanted.level.unwrap_or_default().to_string();
            arguments.push(&place);
            if wanted.level.is_some() {
                arguments.extend(["-p", &level]);
            }
            match wanted.unit {
                Some("kernel") => arguments.push("_TRANSPORT=kernel"),
                Some(unit) => arguments.extend(["-u", unit]),
                None => {}
            }
        }
    }
    let pattern = match wanted.pattern {
        Some(pattern) => Some(parse::compile(pattern).map_err(Blind::NoJournal)?),
        None => None,
    };
    let mut news = News::default();
    let (mut lines, budget) = (Lines::default(), CpuBudget::new(MATCH_TIME));
    let ran = run("journalctl", &arguments, JOURNAL_BYTES, &mut |piece| {
        lines.push(piece, &mut |line| {
            if let Some(cursor) = cursor(line) {
                news.cursor = Some(cursor.to_owned());
            } else if let Some(why) = complaint(line) {
                news.complaint = Some(why.to_owned());
            } else if after.is_some()
                && is_entry(line)
                && !budget.is_spent()
                && pattern
                    .as_ref()
                    .is_none_or(|pattern| pattern.is_match(line))
            {
                news.count = news.count.saturating_add(1);
                line.clone_into(&mut news.last);
            }
        });
    });
    match ran {
        Ok(true) => {
            news.cursor = news.cursor.or_else(|| after.map(str::to_owned));
            Ok(news)
        }
        // It has not said where it ended: the next look begins at the end.
        Err(Error::TooLarge { .. }) => Ok(news),
        // Such as for a place that the journal has no more, which is not asked for again.
        Ok(false) => {
            news.cursor = None;
            let complaint = news.complaint.take();
            news.complaint = complaint.or_else(|| Some("journalctl failed".to_owned()));
            Ok(news)
        }
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Err(Blind::NoJournalctl)
        }
        Err(error) => Err(Blind::NoJournal(error.to_string())),
    }
}

/// Runs a program that only reads, and hands on what it prints, its errors included. True when it succeeded.
pub fn run(
    program: &'static str,
    arguments: &[&str],
    bytes_max: usize,
    take: &mut dyn FnMut(&[u8]),
) -> Result<bool> {
    let failed = |source| Error::io("run", program)(source);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let (mut output, writer) = std::io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .stdin(Stdio::null())
        .stderr(writer.try_clone().map_err(failed)?)
        .stdout(writer);
    let mut child = command.spawn().map_err(failed)?;
    // It holds the pipe open.
    drop(command);
    let (watch, mut total) = (Stopwatch::start(), 0_usize);
    let end = loop {
        let left = PROGRAM_TIME.saturating_sub(watch.elapsed());
        let ready = crate::sys::process::readable([output.as_fd()], Some(left));
        let mut piece = [0; 4096];
        let read = match ready {
            Ok([true]) => output.read(&mut piece),
            Ok([false]) => break Err(Error::Failed(format!("{program} took too long"))),
            Err(error) => break Err(failed(error)),
        };
        match read {
            Ok(0) => break Ok(()),
            Ok(read) => {
                take(piece.get(..read).unwrap_or_default());
                total += read;
            }
            Err(error) => break Err(failed(error)),
        }
        if total > bytes_max {
            break Err(Error::TooLarge {
                what: program.to_owned(),
                limit: bytes_max,
            });
        }
    };
    if end.is_err() {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let status = child.wait().map_err(failed)?;
    end.map(|()| status.success())
}
