//! What a supervisor reports of its command, line by line. PURE.

use std::time::Duration;

use super::End;
use crate::base::error::Error;
use crate::sandbox::confine::TRY_TIME;

/// What the supervisor has reported.
#[derive(Debug, Default)]
pub struct SupervisorReport {
    rest: Vec<u8>,
    /// Whether the command is confined.
    pub confined: bool,
    /// Whether the command began in its control group.
    pub grouped: bool,
    /// How the command ended.
    pub end: Option<End>,
    /// Why it did not run.
    pub failed: Option<String>,
    /// What it lacks without being less isolated.
    pub notes: Vec<String>,
}

impl SupervisorReport {
    /// Takes the next bytes of the supervisor's lines.
    pub fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.line(&String::from_utf8_lossy(&line[..end]));
        }
    }

    /// Takes bytes until the command is confined; returns what came after that.
    pub fn take_until_confined(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        while !self.confined
            && let Some(end) = self.rest.iter().position(|byte| *byte == b'\n')
        {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.line(&String::from_utf8_lossy(
                line.get(..end).unwrap_or_default(),
            ));
        }
        if self.confined {
            std::mem::take(&mut self.rest)
        } else {
            Vec::new()
        }
    }

    fn line(&mut self, line: &str) {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        let number = text.parse().unwrap_or_default();
        match word {
            "confined" => self.confined = true,
            "grouped" => self.grouped = true,
            "exit" => self.end = Some(End::Exit(number)),
            "signal" => self.end = Some(End::Signal(number)),
            "stopped" => self.end = Some(End::Stopped(text.to_owned())),
            "note" => self.notes.push(text.to_owned()),
            "failed" => self.failed = Some(text.to_owned()),
            "" => {}
            // From a panic, or a loader that does not find something; the first line says most.
            _ => drop(self.failed.get_or_insert_with(|| line.to_owned())),
        }
    }

    /// The error that this is, if the command did not run.
    pub fn failure(&self) -> Option<Error> {
        self.failure_after(Duration::ZERO)
    }

    /// The same when it was waited for so long.
    pub fn failure_after(&self, waited: Duration) -> Option<Error> {
        let why = match (&self.failed, self.confined) {
            (Some(why), _) => why,
            (None, true) => return None,
            (None, false) if waited >= TRY_TIME => "it took too long; this machine is very busy",
            (None, false) => "its process ended before it was confined",
        };
        Some(Error::Failed(format!(
            "the command was not run, because the sandbox could not be set up: {why} \
             (see `peacrab doctor sandbox`)"
        )))
    }
}
