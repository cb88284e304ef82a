//! What the agent remembers across conversations, as files in its workspace that people can
//! read and edit, and the search over them.
//!
//! `memory/MEMORY.md` has the facts, `memory/HISTORY.md` dated paragraphs about what happened, and
//! `memory/YYYY-MM-DD.md` the notes of a day; `memory/LESSONS.md` what calls that failed have taught. Earlier texts of MEMORY.md are in `memory/.versions`.
//! Every change leaves the old text or the new one after a crash, and can be repeated.

mod history;
mod lessons;
mod notes;
mod save;
pub mod search;
mod versions;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::limits::memory::{FACTS_BYTES, UPDATE_BYTES_MAX};
use crate::sandbox::files::Workspace;
use crate::text::truncate_bytes;

pub use lessons::{LESSON_BYTES, LESSONS, Lesson};
pub use notes::Note;
pub use save::{Consolidated, Saved};
pub use versions::Version;

/// Bytes of a MEMORY.md that is read whole, so that a person may write a longer one.
const FACTS_FILE_BYTES_MAX: usize = 256 * 1024;
/// Bytes of HISTORY.md after which a new one is begun. It is held whole then, so it is not longer.
const HISTORY_BYTES_MAX: u64 = 256 * 1024;
/// Earlier texts of MEMORY.md that are kept.
const VERSIONS: usize = 20;

/// The folder of the memory in the workspace.
pub const FOLDER: &str = "memory";
/// The file of facts.
pub const FACTS: &str = "memory/MEMORY.md";
/// The log of what happened.
pub const HISTORY: &str = "memory/HISTORY.md";

/// The memory of an agent: a view of its workspace that costs nothing to make.
#[derive(Clone, Copy)]
pub struct Memory<'a> {
    workspace: &'a Workspace,
    clock: &'a Clock,
}

/// What MEMORY.md says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its beginning, in whole lines where that is possible.
    pub text: String,
    /// Of the whole file, to save an update that is based on it.
    pub digest: Digest,
    /// Whether there is more than `text` has.
    pub is_cut: bool,
}

/// A MEMORY.md as it was when a model read it. A text that begins with it is recognised again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// Bytes of the whole file.
    bytes: usize,
    /// Bytes at its beginning that the model read.
    seen: usize,
    /// SHA-256 of the whole file, in hexadecimal.
    sha256: String,
}

impl Digest {
    fn new(content: &[u8], seen: usize) -> Self {
        Self {
            bytes: content.len(),
            seen,
            sha256: hash(content),
        }
    }

    /// Splits a text after the part that the model read; `None` when the text does not begin with the
    /// whole file as it was, or when its last line goes on.
    fn split<'t>(&self, content: &'t [u8]) -> Option<(&'t [u8], &'t [u8])> {
        let (before, after) = content.split_at_checked(self.bytes)?;
        let is_whole = matches!(before.last(), None | Some(b'\n'))
            || matches!(after.first(), None | Some(b'\n'));
        if !is_whole || hash(before) != self.sha256 {
            return None;
        }
        content.split_at_checked(self.seen)
    }
}

fn hash(content: &[u8]) -> String {
    hex(digest(&SHA256, content).as_ref())
}

impl<'a> Memory<'a> {
    /// The memory of the agent that works in a workspace.
    pub fn new(workspace: &'a Workspace, clock: &'a Clock) -> Self {
        Self { workspace, clock }
    }

    /// The facts for the system prompt: at most [`FACTS_BYTES`]. `None` when MEMORY.md is missing or blank.
    pub fn facts(&self) -> Result<Option<Facts>> {
        self.facts_within(FACTS_BYTES)
    }

    /// The facts for a consolidation, which can shorten what the prompt has no room for: at most `bytes` and
    /// [`UPDATE_BYTES_MAX`]. `None` when MEMORY.md is missing or blank. Fails when it is longer than a
    /// MEMORY.md that can be saved again.
    pub fn facts_to_update(&self, bytes: usize) -> Result<Option<Facts>> {
        let content = self.current()?;
        Ok(facts_of(&content, bytes.min(UPDATE_BYTES_MAX)))
    }

    /// The facts as people see them: at most [`UPDATE_BYTES_MAX`]. `None` when MEMORY.md is missing or blank.
    pub fn all_facts(&self) -> Result<Option<Facts>> {
        self.facts_within(UPDATE_BYTES_MAX)
    }

    fn facts_within(&self, bytes: usize) -> Result<Option<Facts>> {
        let path = Path::new(FACTS);
        let content = self.read_beginning(path, FACTS_FILE_BYTES_MAX + 1)?;
        Ok(facts_of(&content.unwrap_or_default(), bytes))
    }

    /// The present MEMORY.md, empty when there is none.
    fn current(&self) -> Result<Vec<u8>> {
        let path = Path::new(FACTS);
        let content = self.read_beginning(path, FACTS_FILE_BYTES_MAX + 1)?;
        let content = content.unwrap_or_default();
        if content.len() > FACTS_FILE_BYTES_MAX {
            Err(Error::TooLarge {
                what: FACTS.to_owned(),
                limit: FACTS_FILE_BYTES_MAX,
            })
        } else {
            Ok(content)
        }
    }

    /// Replaces MEMORY.md, which had `current` just now, and keeps that as a version. False, and nothing is
    /// replaced, when it has another text by now.
    fn replace(&self, current: &[u8], new: &[u8]) -> Result<bool> {
        if current == new {
            return Ok(true);
        }
        let path = Path::new(FACTS);
        self.keep(current)?;
        let before = if_any(self.workspace.open_read(path))?;
        if self.current()? != current {
            return Ok(false);
        }
        self.workspace.write(path, new)?;
        if let Some(before) = before {
            self.rescue(current, before)?;
        }
        // What is surplus goes last: the new text may be a version that it is made from.
        self.prune_versions();
        Ok(true)
    }

    /// What was written to the replaced file at the last moment: lines at its end are added to the new
    /// one, and any other text is kept as a version.
    fn rescue(&self, current: &[u8], before: File) -> Result<()> {
        let mut late = Vec::new();
        before
            .take(FACTS_FILE_BYTES_MAX as u64)
            .read_to_end(&mut late)
            .map_err(Error::io("read", FACTS))?;
        match late.strip_prefix(current) {
            Some([]) => Ok(()),
            Some(added) => self.workspace.append(Path::new(FACTS), added),
            None => self.keep(&late),
        }
    }

    /// At most so many bytes of a file's beginning; `None` when there is no such file.
    fn read_beginning(&self, path: &Path, bytes: usize) -> Result<Option<Vec<u8>>> {
        let Some(file) = if_any(self.workspace.open_read(path))? else {
            return Ok(None);
        };
        let mut content = Vec::new();
        file.take(bytes as u64)
            .read_to_end(&mut content)
            .map_err(Error::io("read", path))?;
        Ok(Some(content))
    }
}

/// What a MEMORY.md says, at most `bytes` of it; `None` when it is blank.
fn facts_of(content: &[u8], bytes: usize) -> Option<Facts> {
    if content.trim_ascii().is_empty() {
        return None;
    }
    let seen = beginning(content, bytes);
    let text = String::from_utf8_lossy(content.get(..seen).unwrap_or_default());
    Some(Facts {
        // What is not UTF-8 may have grown.
        text: truncate_bytes(&text, bytes).to_owned(),
        is_cut: seen < content.len(),
        digest: Digest::new(content, seen),
    })
}

/// Turns the error of a missing file or folder into `None`.
fn if_any<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Where the beginning of a text ends that has at most so many bytes: after a line, else after a character.
fn beginning(content: &[u8], bytes: usize) -> usize {
    if content.len() <= bytes {
        return content.len();
    }
    let part = content.get(..bytes).unwrap_or(content);
    let line = part.iter().rposition(|byte| *byte == b'\n');
    let is_boundary = |end: &usize| content.get(*end).is_none_or(|byte| byte & 0xc0 != 0x80);
    let char = || (bytes.saturating_sub(3)..=bytes).rev().find(is_boundary);
    line.map(|newline| newline + 1)
        .or_else(char)
        .unwrap_or(bytes)
}
