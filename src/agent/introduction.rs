//! The first conversation in a new workspace: as long as its BOOTSTRAP.md is there, the model is asked to
//! get to know its owner, in passing. The file goes when the model empties it, when a person has filled in
//! USER.md beforehand, or after `INTRODUCTION_TURNS` turns.

use std::path::Path;

use super::Agent;
use crate::base::error::Result;
use crate::sandbox::files::PromptPlaces;
use crate::sys::file::read_beginning;

/// Turns after which the first conversation ends by itself: enough for a few questions in passing.
const INTRODUCTION_TURNS: u32 = 20;
/// Bytes of BOOTSTRAP.md that go into the system prompt; of USER.md, those that are looked at then.
const INTRODUCTION_BYTES: u64 = 4 * 1024;

/// The file that asks for it.
pub const FILE: &str = "BOOTSTRAP.md";
/// Its content in a new workspace.
pub const TEMPLATE: &str = include_str!("../../templates/BOOTSTRAP.md");
/// The file about the person.
const USER_FILE: &str = "USER.md";
/// Its content in a new workspace.
pub const USER_TEMPLATE: &str = include_str!("../../templates/USER.md");

impl Agent {
    /// The part of the system prompt that asks for it; `None` when it is over or was never wanted.
    pub fn introduction(&self) -> Option<String> {
        let text = self.introduction_file(FILE)?;
        let is_wanted = !text.trim().is_empty() && self.needs_introduction();
        is_wanted.then(|| self.toolbox.cleaned(text.trim()).into_owned())
    }

    /// Counts a turn that begins, and ends the introduction when its time has come.
    pub(super) fn count_introduction(&self) {
        let Some(text) = self.introduction_file(FILE) else {
            return;
        };
        let result = if text.trim().is_empty() || !self.needs_introduction() {
            self.end_introduction()
        } else {
            match self.first_turns.count() {
                Ok(turns) if turns > INTRODUCTION_TURNS => self.end_introduction(),
                result => result.map(drop),
            }
        };
        if let Err(error) = result {
            tracing::debug!("failed to keep track of the first conversation: {error}");
        }
    }

    /// Removes an emptied file: the model has done what it asked for.
    pub(super) fn finish_introduction(&self) {
        let text = self.introduction_file(FILE);
        if text.is_some_and(|text| text.trim().is_empty())
            && let Err(error) = self.end_introduction()
        {
            tracing::debug!("failed to remove {FILE}: {error}");
        }
    }

    /// Whether it has begun and may go on, or nothing is known about the person yet.
    fn needs_introduction(&self) -> bool {
        match self.first_turns.get() {
            0 => self.introduction_file(USER_FILE).is_none_or(|text| {
                let text = text.trim();
                text.is_empty() || text == USER_TEMPLATE.trim()
            }),
            turns => turns <= INTRODUCTION_TURNS,
        }
    }

    fn end_introduction(&self) -> Result<()> {
        let workspace = self.toolbox.workspace();
        // A command that runs for someone else could make it again.
        if PromptPlaces::are_kept(workspace.path()) {
            return Ok(());
        }
        workspace.remove(Path::new(FILE))?;
        self.first_turns.clear()
    }

    /// The beginning of a file of the workspace; `None` when it is missing or not text.
    fn introduction_file(&self, name: &str) -> Option<String> {
        let file = self.toolbox.workspace().open_read(Path::new(name)).ok()?;
        let content = read_beginning(&file, INTRODUCTION_BYTES).ok()?;
        Some(String::from_utf8_lossy(&content).into_owned())
    }
}
