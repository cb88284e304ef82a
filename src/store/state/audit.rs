//! The audit log: what was run, asked, allowed and refused, one JSON object a line.
//!
//! It is written ahead: a command's `start` is on the disk before the command runs, and so is the
//! `input` of a command in the background. Its `end` follows under the same id. A start without an end
//! is a command that was killed together with the program.
//!
//! It is appended to and, when it is full, rotated: `audit.jsonl`, then `.1`, `.2`, `.3`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::sync::Mutex;
use crate::sys;
use crate::text::truncate_bytes;

/// Bytes of the audit log after which a new one is begun.
const AUDIT_BYTES: u64 = 1_000_000;
/// Older audit logs that are kept.
const AUDIT_FILES: u32 = 3;
/// Bytes of a command or of its input in the audit log; a command's hash stands for the rest.
const AUDIT_TEXT_BYTES: usize = 4 * 1024;

/// A command that is about to run, or that was refused.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Record<'a> {
    /// The session that asked for it.
    pub who: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The command; only its beginning if it is long.
    pub command: &'a str,
    /// SHA-256 of the command, the folder and whether it is unsandboxed, in hexadecimal.
    pub hash: &'a str,
    /// The folder.
    pub folder: &'a str,
    /// Who or what decided, and how.
    pub decision: &'a str,
}

/// The audit log of one home. Clones share a lock, so that a full log is rotated once.
#[derive(Clone, Debug)]
pub struct Audit {
    path: PathBuf,
    clock: Clock,
    writing: Arc<Mutex<()>>,
}

/// A command whose start is recorded: its later records have the same id.
#[derive(Clone, Debug)]
pub struct Entry {
    audit: Audit,
    id: String,
}

#[derive(Serialize)]
struct Line<'a, T> {
    time: String,
    event: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct Input<'a> {
    #[serde(flatten)]
    what: InputText<'a>,
    decision: &'a str,
}

/// What is recorded of an input.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InputText<'a> {
    /// Its text.
    Input(&'a str),
    /// Its bytes: what a person types may be a password.
    Length(usize),
}

#[derive(Serialize)]
struct End<'a> {
    result: &'a str,
}

impl Audit {
    /// The log at this path.
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self {
            path,
            clock,
            writing: Arc::default(),
        }
    }

    /// Records that a command is about to run. When this returns the record is on the disk; after an
    /// error the command must not run.
    pub fn start(&self, record: Record<'_>) -> Result<Entry> {
        let id = hex(&sys::random::bytes::<8>()?);
        self.write("start", &id, record.cut(), true)?;
        Ok(Entry {
            audit: self.clone(),
            id,
        })
    }

    /// Records that a command was refused.
    pub fn refuse(&self, record: Record<'_>) -> Result<()> {
        self.write("refused", "", record.cut(), false)
    }

    fn write(
        &self,
        event: &'static str,
        id: &str,
        content: impl Serialize,
        sync: bool,
    ) -> Result<()> {
        let line = Line {
            time: self.clock.now().to_rfc3339(),
            event,
            id,
            content,
        };
        // Strings only, which always serialize.
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        let _writing = self.writing.lock();
        let file = self.open()?;
        let length = file.metadata().map_or(0, |found| found.len());
        let mut last = [b'\n'];
        // A full disk may have cut the last line short: start on a new one.
        if length > 0 && file.read_exact_at(&mut last, length - 1).is_ok() && last != [b'\n'] {
            bytes.insert(0, b'\n');
        }
        // Two processes of one home write whole lines one after the other (open(2), O_APPEND).
        (&file)
            .write_all(&bytes)
            .map_err(Error::io("write", &self.path))?;
        if !sync {
            return Ok(());
        }
        crate::base::sync::may_wait_for_disk();
        file.sync_data().map_err(Error::io("sync", &self.path))?;
        match self.path.parent().filter(|_| length == 0) {
            Some(folder) => File::open(folder)
                .and_then(|folder| sys::file::sync_folder(folder.as_fd()))
                .map_err(Error::io("sync", folder)),
            None => Ok(()),
        }
    }

    fn open(&self) -> Result<File> {
        if let Some(folder) = self.path.parent() {
            sys::file::private_folder(folder)?;
        }
        if std::fs::metadata(&self.path).is_ok_and(|found| found.len() >= AUDIT_BYTES) {
            self.rotate()?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let opened = sys::file::open_regular(&self.path, &mut options);
        opened.map_err(Error::io("open", &self.path))
    }

    /// Moves each log to the next number; the oldest is deleted.
    fn rotate(&self) -> Result<()> {
        for number in (0..AUDIT_FILES).rev() {
            let from = self.numbered(number);
            if from.exists() {
                std::fs::rename(&from, self.numbered(number + 1))
                    .map_err(Error::io("rename", &from))?;
            }
        }
        Ok(())
    }

    fn numbered(&self, number: u32) -> PathBuf {
        match number {
            0 => self.path.clone(),
            _ => Path::new(&format!("{}.{number}", self.path.display())).to_owned(),
        }
    }
}

impl Record<'_> {
    fn cut(self) -> Self {
        Self {
            command: cut(self.command),
            ..self
        }
    }
}

impl Entry {
    /// Records input that is about to be written to the command, like [`Audit::start`], or that was
    /// refused.
    pub fn input(&self, input: InputText<'_>, decision: &str) -> Result<()> {
        let what = match input {
            InputText::Input(text) => InputText::Input(cut(text)),
            length @ InputText::Length(_) => length,
        };
        let content = Input { what, decision };
        self.audit.write("input", &self.id, content, true)
    }

    /// Records how the command ended. A failure is only logged, because the command has run; the next
    /// one will not run while the log cannot be written.
    pub fn end(&self, result: &str) {
        if let Err(error) = self.audit.write("end", &self.id, End { result }, false) {
            tracing::warn!("failed to record the end of a command: {error}");
        }
    }
}

fn cut(text: &str) -> &str {
    truncate_bytes(text, AUDIT_TEXT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(command: &str) -> Record<'_> {
        Record {
            who: "cli:x",
            tool: "exec",
            command,
            hash: "h",
            folder: "/w",
            decision: "d",
        }
    }

    #[test]
    fn a_record_is_a_line_that_a_person_and_a_program_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::new(path.clone(), Clock::System);
        audit.start(record("echo \"a\nb\"")).unwrap();
        audit.start(record(&"ä".repeat(AUDIT_TEXT_BYTES))).unwrap();
        let content = std::fs::read_to_string(&path).unwrap();
        assert_eq!(content.lines().count(), 2);
        let first: serde_json::Value =
            serde_json::from_str(content.lines().next().unwrap()).unwrap();
        assert_eq!(
            (first["who"].as_str(), first["command"].as_str()),
            (Some("cli:x"), Some("echo \"a\nb\""))
        );
    }

    #[test]
    fn what_happens_to_a_command_goes_under_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::new(path.clone(), Clock::System);
        let entry = audit.start(record("sh")).unwrap();
        // What a full disk leaves of a line.
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + "{\"time").unwrap();
        entry.input(InputText::Input("ls\n"), "allowed").unwrap();
        entry.input(InputText::Length(8), "allowed").unwrap();
        entry.end("exit status 0");
        audit.refuse(record("reboot")).unwrap();
        let content = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = content
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let events: Vec<_> = lines
            .iter()
            .map(|line| line["event"].as_str().unwrap())
            .collect();
        assert_eq!(events, ["start", "input", "input", "end", "refused"]);
        assert_eq!(lines[1]["input"], "ls\n");
        assert_eq!(
            (&lines[2]["length"], lines[2].get("input")),
            (&8.into(), None)
        );
        assert!(lines[..4].iter().all(|line| line["id"] == lines[0]["id"]));
        assert!(lines[4].get("id").is_none());
    }

    #[test]
    fn what_cannot_be_written_or_synced_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        // The first takes no byte; the second takes all of them and cannot be synced.
        for target in ["/dev/full", "/dev/null"] {
            std::os::unix::fs::symlink(target, &path).unwrap();
            let audit = Audit::new(path.clone(), Clock::System);
            assert!(audit.start(record("x")).is_err(), "{target}");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_full_log_is_rotated_once_however_many_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::new(path.clone(), Clock::System);
        for _ in 0..20 {
            std::fs::write(&path, vec![b'x'; AUDIT_BYTES as usize]).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let audit = audit.clone();
                    scope.spawn(move || audit.start(record("x")).unwrap());
                }
            });
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            assert_eq!(lines, 4);
            let rotated = std::fs::metadata(folder.path().join("audit.jsonl.1")).unwrap();
            assert_eq!(rotated.len(), AUDIT_BYTES);
        }
    }

    #[test]
    fn a_full_log_is_rotated_and_three_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::new(path.clone(), Clock::System);
        for round in 0..6 {
            std::fs::write(&path, vec![b'0' + round; AUDIT_BYTES as usize]).unwrap();
            audit.start(record("x")).unwrap();
        }
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "audit.jsonl",
                "audit.jsonl.1",
                "audit.jsonl.2",
                "audit.jsonl.3"
            ]
        );
        assert_eq!(
            std::fs::read(folder.path().join("audit.jsonl.1")).unwrap()[0],
            b'5'
        );
    }
}
