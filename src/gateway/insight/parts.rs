//! What the web page shows besides the chat: the board, what the agent does, and the files of its workspace.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use chrono::Days;
use serde_json::{Value, json};

use crate::agent::commands::{CommandAnswer, Surface};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::NANODOLLARS;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::json as parser;
use crate::base::message::{Address, Envelope, Sender};
use crate::channels::http::{PAGE, Part};
use crate::config::Home;
use crate::gateway::Gateway;
use crate::gateway::commands::{Call, Run, Terminal, list_commands};
use crate::sandbox::confine::Hold;
use crate::sandbox::files::{Next, Workspace};
use crate::store::state::pairing::pages::Visitor;
use crate::store::state::usage::Day;
use crate::sys::at::Kind;
use crate::sys::file::open_to_read;
use crate::text::picture::plot::Curve;

/// The commands whose answers the page shows. Without an argument none of them changes anything.
const REPORTS: [&str; 7] = [
    "status", "usage", "watch", "cron", "remind", "tasks", "memory",
];
/// Days whose tokens and cost are shown.
const USAGE_DAYS: u64 = 30;
/// Points of a curve: a screen shows no more.
const POINTS: usize = 360;
/// Seconds of the longest plot, a week.
const LONGEST: u64 = 7 * 24 * 3600;
/// Bytes of the audit log that are read, from its end.
const AUDIT_BYTES: u64 = 128 * 1024;
/// Entries of it that are shown.
const AUDIT_ENTRIES: usize = 200;
/// Names of a folder that are shown.
const NAMES: usize = 500;

impl Gateway {
    /// A part of the page for a person. The caller has looked at their role.
    pub(super) fn show_part(
        self: &Arc<Self>,
        part: &Part,
        visitor: &Visitor,
        role: Role,
    ) -> Result<Value> {
        match part {
            Part::Report(name) => self.answer_report(name, visitor, role),
            Part::Board(seconds) => Ok(self.show_board(*seconds, visitor)),
            Part::Audit => self.show_audit(),
            Part::Settings => (self.parts.settings)(),
            Part::Usage => Ok(self.show_usage()),
            Part::Folder(path) => list_folder(&*self.workspace_of(visitor)?, path),
        }
    }

    /// Reads a file of the workspace, of at most so many bytes.
    pub(super) fn load_file(&self, visitor: &Visitor, path: &str, most: u64) -> Result<Vec<u8>> {
        let file = self.workspace_of(visitor)?.open_read(Path::new(path))?;
        let mut bytes = Vec::new();
        let read = file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(Error::io("read", path))?;
        match bytes.len() as u64 > most {
            true => Err(Error::Usage(format!("{path} has more than {most} bytes"))),
            false => Ok(bytes),
        }
    }

    /// Stores a file in the workspace. One that is there is replaced only where that is said.
    pub(super) fn store_file(
        &self,
        visitor: &Visitor,
        (path, overwrites): (&str, bool),
        bytes: &[u8],
    ) -> Result<()> {
        let workspace = self.workspace_of(visitor)?;
        let path = Path::new(path);
        if !overwrites && workspace.kind(path).is_ok() {
            return Err(Error::Usage(format!("{} exists", path.display())));
        }
        // The server waits for nothing: the page says that it has to be tried again.
        let _change = Hold::of_process().try_write()?;
        workspace.write(path, bytes)
    }

    fn workspace_of(&self, visitor: &Visitor) -> Result<Arc<Workspace>> {
        let session = Address::new(PAGE, &visitor.key()).session();
        self.agent_for(&self.live(), &session, None).workspace()
    }

    /// The answer to a command, in the main conversation of a person on the page.
    fn answer_report(self: &Arc<Self>, name: &str, visitor: &Visitor, role: Role) -> Result<Value> {
        let row = list_commands(Surface::Chat).find(|row| row.name() == name);
        let row = row.filter(|_| REPORTS.contains(&name));
        let row = row.filter(|row| (row.access)("", false) <= role);
        let row = row.ok_or_else(|| Error::Usage(format!("{name} is not shown here")))?;
        let sender = Sender {
            id: visitor.key(),
            name: visitor.name.clone(),
            language: visitor.language,
            thread_of: None,
        };
        let address = Address::new(PAGE, &visitor.key());
        let mut message = Envelope::written(&address, sender, &format!("/{name}"));
        message.role = role;
        if self.live().agents.serving(&message).made().is_none() {
            // The page asks again soon; its server waits for nothing.
            let gateway = Arc::clone(self);
            self.spawn_when_possible("page", move || {
                let _ = gateway.live().agents.serving(&message).agent();
            });
            return Ok(json!({"wait": true}));
        }
        let cancel = Cancel::new();
        let call = Call {
            message: &message,
            argument: "",
            language: visitor.language,
            cancel: &cancel,
        };
        let answer: CommandAnswer = match (row.run, row.terminal) {
            (Run::Agent(run), _) | (_, Some(Terminal::Agent(run))) if name != "status" => {
                self.have_agent_answer(&call, run)?
            }
            (Run::Answer(run), _) => run(self, &call)?,
            _ => self.report_watches(&call)?,
        };
        Ok(json!({"text": answer.text}))
    }

    fn show_board(&self, seconds: u64, visitor: &Visitor) -> Value {
        let board = &self.parts.board;
        let seconds = seconds.min(LONGEST);
        let curves = board.names().into_iter();
        let curves = curves.filter_map(|name| board.series(&name, seconds));
        let curves = curves.filter(|curve| curve.summary().is_some());
        let curves: Vec<Value> = curves.map(|curve| describe_curve(&curve)).collect();
        json!({"now": board.now(), "status": board.format_status(visitor.language), "curves": curves})
    }

    /// Tokens and cost of each of the last days, the present one last.
    fn show_usage(&self) -> Value {
        let known = self.live().agents.default_agent().usage_days();
        let today = Clock::System.now().date_naive();
        let day = |ago: u64| {
            let day = today.checked_sub_days(Days::new(ago)).unwrap_or(today);
            let day = day.to_string();
            let found = known.iter().find(|one| one.day == day);
            let usage = found.map(Day::usage).unwrap_or_default();
            let cost = usage.cost as f64 / NANODOLLARS;
            json!({"day": day, "cost": cost, "tokens": usage.input + usage.output})
        };
        (0..USAGE_DAYS).rev().map(day).collect()
    }

    /// The newest entries of the audit log, the newest first.
    fn show_audit(&self) -> Result<Value> {
        let home = self.parts.state.parent().unwrap_or(&self.parts.state);
        let path = Home::find(Some(home), |_| None)?.audit();
        let mut file = match open_to_read(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(json!([])),
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        let text = read_end(&mut file).map_err(Error::io("read", &path))?;
        let lines = text.lines().rev();
        let entries = lines.filter_map(|line| parser::from_str::<Value>(line).ok());
        Ok(entries.take(AUDIT_ENTRIES).collect())
    }
}

fn read_end(file: &mut File) -> std::io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(AUDIT_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(AUDIT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn describe_curve(curve: &Curve) -> Value {
    let points: Vec<Value> = thin(&curve.points)
        .into_iter()
        .map(|(at, value)| json!([at as i64, value.is_finite().then_some(value)]))
        .collect();
    json!({"name": curve.name, "unit": curve.unit, "points": points})
}

/// Fewer points, each the mean of some neighbours; a gap stays one. The last one is the newest value.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let size = points.len().div_ceil(POINTS).max(1);
    let mean = |chunk: &[(f64, f64)]| {
        let finite = chunk.iter().filter(|(_, value)| value.is_finite());
        let (count, at, sum) = finite.fold((0.0, 0.0, 0.0), |(count, at, sum), one| {
            (count + 1.0, at + one.0, sum + one.1)
        });
        match count > 0.0 {
            true => (at / count, sum / count),
            false => chunk
                .first()
                .map_or((0.0, f64::NAN), |one| (one.0, f64::NAN)),
        }
    };
    let mut all: Vec<_> = points.chunks(size).map(mean).collect();
    if let (Some(end), Some(last)) = (all.last_mut(), points.last()) {
        *end = *last;
    }
    all
}

fn list_folder(workspace: &Workspace, path: &str) -> Result<Value> {
    let path = if path.is_empty() { "." } else { path };
    let mut names = Vec::new();
    let mut more = 0_usize;
    workspace.walk(Path::new(path), &mut |found| {
        // One that is not UTF-8 could not be asked for.
        if let Some(name) = found.path.to_str() {
            let is_folder = found.status.kind == Kind::Folder;
            if names.len() >= NAMES {
                more += 1;
            } else if is_folder || found.status.kind == Kind::File {
                names.push((!is_folder, name.to_owned(), found.status));
            }
        }
        Next::Pass
    })?;
    names.sort_by(|(is_file, name, _), (other_is_file, other, _)| {
        (is_file, name).cmp(&(other_is_file, other))
    });
    let names: Vec<Value> = names
        .iter()
        .map(|(is_file, name, status)| {
            json!({"name": name, "folder": !is_file, "bytes": status.size, "at": status.modified})
        })
        .collect();
    Ok(json!({"names": names, "more": more}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_becomes_a_short_one_with_its_gaps_and_its_last_value() {
        let mut points: Vec<(f64, f64)> = (0..10 * POINTS).map(|at| (at as f64, 1.0)).collect();
        points[20..40]
            .iter_mut()
            .for_each(|point| point.1 = f64::NAN);
        points.push((1e6, 7.0));
        let short = thin(&points);
        assert!(short.len() <= POINTS && short[2].1.is_nan());
        assert_eq!(short.first(), Some(&(5.0, 1.0)));
        assert_eq!(short.last(), Some(&(1e6, 7.0)));
        assert_eq!(thin(&[]), []);
    }
}
