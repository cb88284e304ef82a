//! Floor 5: how the board is, from /proc and /sys, and how it was in the last 24 hours.
//!
//! No child process is started, and nothing here fails: what a machine does not tell is not known.

pub mod history;
mod parse;
pub mod reading;
mod text;
mod tree;
mod units;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::sync::{Mutex, MutexGuard};
use crate::sys;

use history::History;
use reading::Reading;

/// The board, to be asked from any thread.
#[derive(Debug)]
pub struct Board {
    root: PathBuf,
    home: PathBuf,
    machine: String,
    history: Mutex<History>,
}

impl Board {
    /// A board without a history. `root` holds `proc` and `sys`, so it is `/` unless a test has made
    /// up a tree; the disk is the one that holds `home`.
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

    /// Takes a sample for the history. To be called every
    /// [`SAMPLE_INTERVAL`](crate::limits::board::SAMPLE_INTERVAL); a call that is missed is a gap.
    pub fn sample(&self) {
        let reading = self.reading();
        self.history().add(&reading);
    }

    /// How the board is, as Markdown: a line for each quantity, and a small line of its history
    /// below where there is one.
    pub fn status_text(&self) -> String {
        text::status(&self.machine, &self.reading(), &self.history())
    }

    /// The history in numbers, as Markdown, or when it begins.
    pub fn history_text(&self) -> String {
        text::history(&self.history())
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock()
    }
}
