//! The audit log: what was run, asked, allowed and refused, one JSON object a line.
//!
//! It is appended to and, when it is full, rotated: `audit.jsonl`, then `.1`, `.2`, `.3`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::limits::state::{AUDIT_BYTES, AUDIT_COMMAND_BYTES, AUDIT_FILES};
use crate::sync::Mutex;
use crate::sys;
use crate::text::truncate_bytes;

/// What is logged of one command.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Record<'a> {
    /// The session that asked for it.
    pub who: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The command, its beginning if it is long.
    pub command: &'a str,
    /// SHA-256 of the command, the folder and whether it is lifted, in hexadecimal.
    pub hash: &'a str,
    /// The folder.
    pub folder: &'a str,
    /// Who or what decided, and how.
    pub decision: &'a str,
    /// How it ended; empty when it was not run.
    pub result: &'a str,
}

/// The log of one home. Clones wait for each other, so that a full log is rotated once.
#[derive(Clone, Debug)]
pub struct Audit {
    path: PathBuf,
    clock: Clock,
    writing: Arc<Mutex<()>>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    record: Record<'a>,
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

    /// Writes a record. What cannot be logged must not be run, so an error is the caller's to heed.
    pub fn write(&self, record: Record<'_>) -> Result<()> {
        let command = truncate_bytes(record.command, AUDIT_COMMAND_BYTES);
        let line = Line {
            time: self.clock.now().to_rfc3339(),
            record: Record { command, ..record },
        };
        // Strings only: nothing here that JSON cannot say.
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        let _writing = self.writing.lock();
        let file = self.open()?;
        // Two processes of one home write whole lines one after the other (open(2), O_APPEND).
        (&file)
            .write_all(&bytes)
            .map_err(Error::io("write", &self.path))
    }

    fn open(&self) -> Result<File> {
        if let Some(folder) = self.path.parent() {
            sys::file::private_folder(folder)?;
        }
        if std::fs::metadata(&self.path).is_ok_and(|found| found.len() >= AUDIT_BYTES) {
            self.rotate()?;
        }
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path);
        opened.map_err(Error::io("open", &self.path))
    }

    /// Moves each log to the next number; the oldest goes.
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
            result: "exit status 0",
        }
    }

    #[test]
    fn a_record_is_a_line_that_a_person_and_a_program_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::new(path.clone(), Clock::System);
        audit.write(record("echo \"a\nb\"")).unwrap();
        audit
            .write(record(&"ä".repeat(AUDIT_COMMAND_BYTES)))
            .unwrap();
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
    fn a_full_log_is_rotated_once_however_many_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::new(path.clone(), Clock::System);
        for _ in 0..20 {
            std::fs::write(&path, vec![b'x'; AUDIT_BYTES as usize]).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let audit = audit.clone();
                    scope.spawn(move || audit.write(record("x")).unwrap());
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
            audit.write(record("x")).unwrap();
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
