//! Floor 5: how the board is, from /proc and /sys, and how it was in the last 24 hours.
//!
//! No child process is started, and nothing here fails: a value that the machine does not offer is
//! `None`.

pub mod history;
mod parse;
pub mod reading;
mod text;
mod texts;
mod tree;
mod units;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::language::Language;
use crate::sync::{Mutex, MutexGuard};
use crate::sys;

use history::History;
use reading::Reading;

/// The board. Any thread may read it.
#[derive(Debug)]
pub struct Board {
    root: PathBuf,
    home: PathBuf,
    machine: String,
    history: Mutex<History>,
}

impl Board {
    /// A board without a history. `root` contains `proc` and `sys`: `/`, or a made-up tree in tests.
    /// The disk is the one that contains `home`.
    pub fn new(root: &Path, home: &Path) -> Self {
        Self {
            root: root.to_owned(),
            home: home.to_owned(),
            machine: sys::host::board().unwrap_or_else(sys::host::kernel),
            history: Mutex::default(),
        }
    }

    /// How the board is now.
    pub fn reading(&self) -> Reading {
        Reading::take(&self.root, &self.home)
    }

    /// Takes a sample for the history. Call it every
    /// [`SAMPLE_INTERVAL`](crate::limits::board::SAMPLE_INTERVAL); a missed call leaves a gap.
    pub fn sample(&self) {
        let reading = self.reading();
        self.history().add(&reading);
    }

    /// How the board is, as Markdown: a line for each quantity, and a small line of its history
    /// below where there is one.
    pub fn format_status(&self, language: Language) -> String {
        text::format_status(&self.machine, &self.reading(), &self.history(), language)
    }

    /// The history in numbers, as Markdown for the model, or when it begins.
    pub fn format_history(&self) -> String {
        text::format_history(&self.history())
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock()
    }
}
