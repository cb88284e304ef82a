//! Changes of the files of the prompt, with the texts before them: `state/changes.json`, where no tool reaches.

mod diff;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::file::{Damaged, Policy, StateFile};
use crate::config::agents::MAIN;
use crate::error::{Error, Result};
use crate::files::{Found, Next, PROMPT_PLACES, Workspace};
use crate::limits::files::PROMPT_LINKS;
use crate::limits::memory::{
    CHANGED_FILES, CHANGED_NOTES, CHANGED_TEXT_BYTES, CHANGES, CHANGES_BYTES, CHANGES_FILE_BYTES,
};
use crate::secret::Eraser;
use crate::sync::Mutex;
use crate::sys::at::{self, Kind};
use crate::sys::beneath::links_on_the_way;
use crate::sys::file::read_sized;

/// The folder of the facts and of the notes of a day.
const MEMORY: &str = "memory";
/// The file of facts.
pub const FACTS: &str = "memory/MEMORY.md";
/// A file that comes and goes with the first conversation.
const BOOTSTRAP: &str = "BOOTSTRAP.md";

/// What a file has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Content {
    /// A text that is kept.
    Text(String),
    /// One that is too long, has a secret or is no text: its size, and when it was changed, by the time that a command cannot set.
    Other(u64, i64),
}

/// A change of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Change {
    path: String,
    /// What it had before; `None` when there was no such file.
    before: Option<Content>,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// What the files had at the last look; `None` before the first one.
    known: Option<BTreeMap<String, Content>>,
    /// The oldest first.
    changes: Vec<Change>,
}

/// The changes of an agent's workspace.
#[derive(Debug)]
pub struct PromptChanges {
    file: StateFile<Kept>,
    /// Turns that are running: what changes meanwhile is theirs.
    turns: Mutex<usize>,
    eraser: Eraser,
}

impl PromptChanges {
    /// Those of an agent, by its id, below the folder `state`.
    pub fn new(state: &Path, agent: &str) -> Self {
        let name = match agent {
            MAIN => "changes.json".to_owned(),
            id => format!("changes_{id}.json"),
        };
        let policy = Policy {
            bytes_max: CHANGES_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: false,
        };
        Self {
            file: StateFile::new(state.join(name), policy),
            turns: Mutex::new(0),
            eraser: Eraser::default(),
        }
    }

    /// A turn of an owner begins. Returns the paths of what was changed since the last one, by hand or by a command that
    /// a person has typed. A turn that goes on after a kill has begun before.
    pub fn begin_turn(&self, workspace: &Workspace, goes_on: bool) -> Result<Vec<String>> {
        let mut turns = self.turns.lock();
        *turns += 1;
        match *turns == 1 && !goes_on {
            true => self.look(workspace),
            false => Ok(Vec::new()),
        }
    }

    /// The turn has ended. Returns the paths of the files that have changed.
    pub fn end_turn(&self, workspace: &Workspace) -> Result<Vec<String>> {
        let mut turns = self.turns.lock();
        *turns = turns.saturating_sub(1);
        self.look(workspace)
    }

    /// Secrets: of a file with one in it, the content is not kept.
    #[must_use]
    pub fn hiding(mut self, eraser: Eraser) -> Self {
        self.eraser = eraser;
        self
    }

    /// Has the program itself write a file, which is no change. Nothing is looked at meanwhile.
    pub fn write<T>(
        &self,
        workspace: &Workspace,
        path: &str,
        write: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let _turns = self.turns.lock();
        let written = write()?;
        if let Err(error) = self.pass(workspace, path) {
            tracing::warn!("failed to note that {path} was changed: {error}");
        }
        Ok(written)
    }

    /// Takes what a file has now as known: the program itself has written it.
    pub fn pass(&self, workspace: &Workspace, path: &str) -> Result<()> {
        let now = scan(workspace, &self.eraser).remove(path);
        self.file.update(|kept| {
            if let (Some(known), Some(now)) = (&mut kept.known, now) {
                known.insert(path.to_owned(), now);
            }
            Ok(())
        })
    }

    /// Keeps what files had before that have changed since the last look, and returns their paths.
    fn look(&self, workspace: &Workspace) -> Result<Vec<String>> {
        let now = scan(workspace, &self.eraser);
        if self.file.read()?.known.as_ref() == Some(&now) {
            return Ok(Vec::new());
        }
        self.file.update(|kept| {
            let Some(known) = kept.known.replace(now.clone()) else {
                return Ok(Vec::new());
            };
            let paths: BTreeSet<&String> = known.keys().chain(now.keys()).collect();
            let is_cut = known.len().max(now.len()) >= CHANGED_FILES;
            let mut changed = Vec::new();
            for path in paths {
                let (before, after) = (known.get(path), now.get(path));
                if before == after {
                    continue;
                }
                // Days go out of what is looked at, files may when there are too many, and the first conversation
                // ends.
                let is_passing = is_note(path) || path == BOOTSTRAP;
                if is_passing && after.is_none() || is_cut && (before.is_none() || after.is_none())
                {
                    continue;
                }
                kept.changes.push(Change {
                    path: path.clone(),
                    before: before.cloned(),
                });
                if !is_noted(path, before, after) {
                    changed.push(path.clone());
                }
            }
            kept.prune();
            Ok(changed)
        })
    }

    /// The last change of a file, or of any, as a diff, and the file's path; `None` when there is none.
    pub fn diff(&self, workspace: &Workspace, file: &str) -> Result<Option<(String, String)>> {
        self.look(workspace)?;
        let kept = self.file.read()?;
        let Some(change) = kept.last(file) else {
            return Ok(None);
        };
        let after = kept
            .known
            .as_ref()
            .and_then(|known| known.get(&change.path));
        let text = |content: Option<&Content>| match content {
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Other(bytes, _)) => format!("({bytes} bytes that are not kept)"),
            None => String::new(),
        };
        let diff = diff::unified(&text(change.before.as_ref()), &text(after));
        Ok(Some((change.path.clone(), diff)))
    }

    /// Gives a file, or the one that changed last, what it had before. Returns its path; `None` when nothing has
    /// changed.
    pub fn undo(&self, workspace: &Workspace, file: &str) -> Result<Option<String>> {
        self.look(workspace)?;
        let kept = self.file.read()?;
        let Some(change) = kept.last(file) else {
            return Ok(None);
        };
        let path = Path::new(&change.path);
        match &change.before {
            Some(Content::Text(text)) => workspace.write(path, text.as_bytes())?,
            // What a new link leads to was there before.
            None if links_on_the_way(&workspace.path().join(path)).1.len()
                > of_workspace(workspace) =>
            {
                return Err(Error::Failed(format!(
                    "{} was not there before, and a link is on the way to it. Remove the link or the file by hand",
                    change.path
                )));
            }
            None => workspace.remove(path)?,
            Some(Content::Other(..)) => {
                return Err(Error::Failed(format!(
                    "the earlier version of {} was too large to be kept",
                    change.path
                )));
            }
        }
        self.look(workspace)?;
        Ok(Some(change.path.clone()))
    }
}

impl Kept {
    /// The last change of a file, by its path or name; of any when that is empty.
    fn last(&self, file: &str) -> Option<&Change> {
        let file = file.trim_start_matches("./");
        let is_meant = |change: &&Change| {
            let rest = change.path.strip_suffix(file);
            file.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        self.changes.iter().rev().find(is_meant)
    }

    /// Drops the oldest changes beyond the bounds.
    fn prune(&mut self) {
        let mut bytes = 0;
        let mut newest = self.changes.iter().rev();
        let fitting = newest.position(|change| {
            bytes += match &change.before {
                Some(Content::Text(text)) => text.len(),
                _ => 0,
            };
            bytes > CHANGES_BYTES
        });
        let fitting = fitting.unwrap_or(self.changes.len()).min(CHANGES);
        self.changes.drain(..self.changes.len() - fitting);
    }
}

/// How many links are on the way to the workspace itself.
fn of_workspace(workspace: &Workspace) -> usize {
    links_on_the_way(workspace.path()).1.len()
}

/// Whether lines were added to the notes of a day: that is what the tool `memory` does.
fn is_noted(path: &str, before: Option<&Content>, after: Option<&Content>) -> bool {
    let before = match before {
        Some(Content::Text(before)) => before,
        Some(Content::Other(..)) => return false,
        None => "",
    };
    let Some(Content::Text(after)) = after else {
        return false;
    };
    is_note(path) && after.starts_with(before)
}

/// Whether a path is that of the notes of a day.
fn is_note(path: &str) -> bool {
    path.strip_prefix("memory/").is_some_and(is_date)
}

/// Whether a name is that of the notes of a day, such as `2026-11-27.md`.
fn is_date(name: &str) -> bool {
    let date = name.strip_suffix(".md");
    date.is_some_and(|date| {
        date.len() == 10
            && date
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

/// What the files have now, by the names that the prompt has for them. What is blank, or cannot be read, is left out.
fn scan(workspace: &Workspace, eraser: &Eraser) -> BTreeMap<String, Content> {
    let mut found = BTreeMap::new();
    let mut linked = Vec::new();
    for folder in [".", MEMORY, "skills", "tools"] {
        scan_folder((workspace, eraser), folder, &mut found, &mut linked);
    }
    linked.truncate(PROMPT_LINKS);
    for folder in linked {
        // Links in these could lead in circles.
        scan_folder((workspace, eraser), &folder, &mut found, &mut Vec::new());
    }
    let notes = found.keys().filter(|path| path.starts_with("memory/2"));
    let notes: Vec<String> = notes.cloned().collect();
    for old in notes.iter().rev().skip(CHANGED_NOTES) {
        found.remove(old);
    }
    found
}

/// Adds what a folder has, and the paths of links in it that lead to folders.
fn scan_folder(
    (workspace, eraser): (&Workspace, &Eraser),
    folder: &str,
    found: &mut BTreeMap<String, Content>,
    linked: &mut Vec<String>,
) {
    let read_file = |file| read(file, eraser);
    let mut visit = |entry: &Found<'_>| {
        let name = entry.path.to_str().unwrap_or_default();
        let is_hidden = name.split('/').any(|part| part.starts_with('.'));
        if name.is_empty() || is_hidden {
            return Next::Pass;
        }
        let path = match folder {
            "." => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let is_meant = match folder {
            "." => PROMPT_PLACES.contains(&name),
            MEMORY => path == FACTS || is_date(name),
            _ => true,
        };
        let is_whole = !matches!(folder, "." | MEMORY);
        let content = match entry.status.kind {
            Kind::File if is_meant => entry.open().ok().and_then(read_file),
            Kind::Link if is_meant => {
                let leads_to = workspace.kind(Path::new(&path));
                if is_whole && matches!(leads_to, Ok(Kind::Folder)) {
                    linked.push(path.clone());
                }
                workspace
                    .open_read(Path::new(&path))
                    .ok()
                    .and_then(read_file)
            }
            _ => None,
        };
        if let Some(content) = content {
            found.insert(path, content);
        }
        match is_whole {
            _ if found.len() >= CHANGED_FILES => Next::Stop,
            false => Next::Pass,
            true => Next::Enter,
        }
    };
    // A folder that is not there has nothing in it.
    let _ = workspace.walk(Path::new(folder), &mut visit);
}

fn read(file: File, eraser: &Eraser) -> Option<Content> {
    let status = at::status(&file).ok()?;
    let other = Content::Other(status.size, status.changed);
    if status.size > CHANGED_TEXT_BYTES {
        return Some(other);
    }
    let content = read_sized(&file, status.size, CHANGED_TEXT_BYTES).ok()?;
    match String::from_utf8(content) {
        // One that is kept for a command says nothing.
        Ok(text) if text.trim().is_empty() => None,
        Ok(text) if eraser.clean(&text) != text => Some(other),
        Ok(text) => Some(Content::Text(text)),
        Err(_) => Some(other),
    }
}

#[cfg(test)]
mod tests;
