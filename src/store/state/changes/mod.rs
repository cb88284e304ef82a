//! Changes of the files of the prompt, with the texts before them: `state/changes.json`, where no tool reaches.

mod diff;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::Days;
use serde::{Deserialize, Serialize};

use super::file::{Damaged, Policy, StateFile};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::files::PROMPT_LINKS;
use crate::base::limits::memory::NOTE_DAYS;
use crate::base::secret::Eraser;
use crate::base::sync::Mutex;
use crate::config::agents::MAIN;
use crate::sandbox::files::{Found, Next, PROMPT_PLACES, Workspace};
use crate::sys::at::{self, Kind, Status};
use crate::sys::beneath::links_on_the_way;
use crate::sys::file::read_sized;

/// Files whose changes are noticed and can be taken back: those that stand in prompts, the skills and the tools.
const CHANGED_FILES: usize = 256;
/// Bytes of such a file beyond which only the change is noticed, and its text not kept.
const CHANGED_TEXT_BYTES: u64 = 32 * 1024;
/// Notes of days among them that went into the system prompt, and may again when the clock is set back.
const CHANGED_NOTES: usize = NOTE_DAYS as usize;
/// Changes of such files that are kept.
const CHANGES: usize = 40;
/// Bytes of the earlier texts that are kept with them.
const CHANGES_BYTES: usize = 512 * 1024;
/// Bytes of the file with the changes that are read: with all texts, in which JSON can make six bytes of one.
const CHANGES_FILE_BYTES: usize = 16 * 1024 * 1024;

/// The folder of the notes of a day.
const MEMORY: &str = "memory";
/// Folders of which every file counts, with what a skill or tool in them says of itself.
const WHOLE: [(&str, &str); 2] = [("skills", "SKILL.md"), ("tools", "tool.json")];
/// The file of facts.
pub const FACTS: &str = "memory/MEMORY.md";
/// The file of lessons.
const LESSONS: &str = "memory/LESSONS.md";
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

/// How much older than a look a file's last change has to be, so that the next one has another time for certain: the
/// clocks of file systems tick in up to two seconds.
const SETTLED: Duration = Duration::from_secs(3);

/// What a look has seen, when all of it was old enough: as long as it is the same, nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// A sum of all files with their inodes, sizes and times.
    files: u64,
    /// The inode and the time of our own file.
    ours: Option<(u64, i64)>,
}

/// The changes of an agent's workspace.
#[derive(Debug)]
pub struct PromptChanges {
    path: PathBuf,
    file: StateFile<Kept>,
    seen: Mutex<Option<Seen>>,
    /// Turns that are running: what changes meanwhile is theirs.
    turns: Mutex<usize>,
    eraser: Eraser,
    clock: Clock,
}

impl PromptChanges {
    /// Those of an agent, by its id, below the folder `state`. The clock says which days' notes are in prompts.
    pub fn new(state: &Path, agent: &str, clock: Clock) -> Self {
        let name = match agent {
            MAIN => "changes.json".to_owned(),
            id => format!("changes_{id}.json"),
        };
        let policy = Policy {
            bytes_max: CHANGES_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: false,
        };
        let path = state.join(name);
        Self {
            file: StateFile::new(path.clone(), policy),
            path,
            seen: Mutex::new(None),
            turns: Mutex::new(0),
            eraser: Eraser::default(),
            clock,
        }
    }

    /// A turn of an owner begins. Returns the paths of what was changed since the last one, by hand or by a command that
    /// a person has typed. A turn that goes on after a kill has begun before.
    pub fn begin_turn(&self, workspace: &Workspace, goes_on: bool) -> Result<Vec<String>> {
        let mut turns = self.turns.lock();
        *turns += 1;
        if *turns == 1 && !goes_on {
            self.look(workspace)
        } else {
            Ok(Vec::new())
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

    /// Has a file written for a person, who can take that back.
    pub fn change(&self, workspace: &Workspace, write: impl FnOnce() -> Result<()>) -> Result<()> {
        self.look(workspace)?;
        write()?;
        self.look(workspace).map(drop)
    }

    /// Takes what a file has now as known: the program itself has written it.
    pub fn pass(&self, workspace: &Workspace, path: &str) -> Result<()> {
        *self.seen.lock() = None;
        let now = self.scan(workspace, &self.noted(), true).0.remove(path);
        self.file.update(|kept| {
            if let (Some(known), Some(now)) = (&mut kept.known, now) {
                known.insert(path.to_owned(), now);
            }
            Ok(())
        })
    }

    /// Keeps what files had before that have changed since the last look, and returns their paths.
    fn look(&self, workspace: &Workspace) -> Result<Vec<String>> {
        let (workspace, noted) = (&workspace.at_once(), self.noted());
        let mut seen = self.seen.lock();
        if let Some(seen) = *seen {
            let (_, files) = self.scan(workspace, &noted, false);
            if files.is_some_and(|files| seen == self.seen(files)) {
                return Ok(Vec::new());
            }
        }
        *seen = None;
        let (now, files) = self.scan(workspace, &noted, true);
        let changed = self.compare(now, &noted)?;
        *seen = files.map(|files| self.seen(files));
        Ok(changed)
    }

    fn seen(&self, files: u64) -> Seen {
        let ours = std::fs::symlink_metadata(&self.path).ok();
        let ours = ours.map(|ours| (ours.ino(), ours.ctime()));
        Seen { files, ours }
    }

    /// Compares what the files have with what they had at the last look.
    fn compare(&self, mut now: BTreeMap<String, Content>, noted: &[String]) -> Result<Vec<String>> {
        let known = self.file.read()?.known;
        // Days go out of the prompt, and come back when the clock is set back.
        let past = known.iter().flatten();
        let past = past.filter(|(path, _)| is_note(path) && !noted.contains(path));
        let past = past.rev().take(CHANGED_NOTES);
        now.extend(past.map(|(path, content)| (path.clone(), content.clone())));
        if known.as_ref() == Some(&now) {
            return Ok(Vec::new());
        }
        self.file.update(|kept| {
            let Some(known) = kept.known.replace(now.clone()) else {
                return Ok(Vec::new());
            };
            let paths: BTreeSet<&String> = known.keys().chain(now.keys()).collect();
            let mut changed = Vec::new();
            for path in paths {
                let (before, after) = (known.get(path), now.get(path));
                if before == after {
                    continue;
                }
                // An older day is forgotten, and the first conversation ends.
                let is_passing = is_note(path) && !noted.contains(path) || path == BOOTSTRAP;
                if is_passing && after.is_none() {
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

    /// The notes that go into prompts now.
    fn noted(&self) -> Vec<String> {
        if !self.clock.is_set() {
            return Vec::new();
        }
        let today = self.clock.now().date_naive();
        let days = (0..NOTE_DAYS).filter_map(|days| today.checked_sub_days(Days::new(days)));
        days.map(|date| format!("{MEMORY}/{date}.md")).collect()
    }

    /// What the files have now, by the names that the prompt has for them, and the sum of their times if they are settled.
    /// What is blank, or cannot be read, is left out; without `reads` nothing is read, and the sum alone is of use.
    fn scan(
        &self,
        workspace: &Workspace,
        noted: &[String],
        reads: bool,
    ) -> (BTreeMap<String, Content>, Option<u64>) {
        let begun = self.clock.now_ms().saturating_mul(1_000_000);
        let mut scan = Scan {
            workspace,
            reads,
            sum: DefaultHasher::new(),
            newest: i64::MIN,
            eraser: &self.eraser,
            found: BTreeMap::new(),
            followed: 0,
            linked: Vec::new(),
        };
        scan.places(".", &PROMPT_PLACES.map(str::to_owned));
        let fixed = [FACTS, LESSONS].map(str::to_owned);
        scan.places(MEMORY, &[&fixed, noted].concat());
        let is_filled = WHOLE.map(|(folder, manifest)| scan.manifests(folder, manifest));
        for ((folder, _), _) in WHOLE.iter().zip(is_filled).filter(|(_, filled)| *filled) {
            scan.whole(folder, true);
        }
        let mut linked = std::mem::take(&mut scan.linked);
        linked.truncate(PROMPT_LINKS);
        for folder in linked {
            // Links in these could lead in circles.
            scan.whole(&folder, false);
        }
        let settled = begun.saturating_sub(SETTLED.as_nanos() as i64);
        let sum = (scan.newest < settled).then(|| scan.sum.finish());
        (scan.found, sum)
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
            Some(Content::Other(files, _)) if change.path.ends_with("/*") => {
                format!("({files} more files than are kept)")
            }
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
                    "the earlier version of {} was not kept",
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

/// In place of a content that is not read.
const UNREAD: Content = Content::Other(0, 0);

/// Looks through a workspace.
struct Scan<'a> {
    workspace: &'a Workspace,
    /// Whether the texts are read.
    reads: bool,
    /// Of all files that were met.
    sum: DefaultHasher,
    /// When the newest of them was changed, in nanoseconds since 1970.
    newest: i64,
    eraser: &'a Eraser,
    found: BTreeMap<String, Content>,
    /// How many of these are no fixed places.
    followed: usize,
    /// Links in folders that are looked through whole, which lead to folders.
    linked: Vec<String>,
}

impl Scan<'_> {
    /// Files of a folder by their paths, found by one look at it where that shows everything.
    fn places(&mut self, folder: &str, paths: &[String]) {
        let cut = self.walk(folder, |scan, entry, path| {
            if paths.iter().any(|wanted| wanted == path) {
                let content = scan.content(entry, path);
                scan.add(path, content);
            }
            Next::Pass
        });
        if cut {
            self.files(paths.iter().cloned());
        }
    }

    /// Files by their paths.
    fn files(&mut self, paths: impl Iterator<Item = String>) {
        for path in paths {
            let content = self.content_at(&path);
            self.add(&path, content);
        }
    }

    /// What the skills or tools of a folder say of themselves, however many other files there are. Returns whether it
    /// has anything.
    fn manifests(&mut self, folder: &str, manifest: &str) -> bool {
        let mut names = Vec::new();
        self.walk(folder, |_, _, path| {
            names.push(format!("{path}/{manifest}"));
            Next::Pass
        });
        let has_any = !names.is_empty();
        self.files(names.into_iter());
        has_any
    }

    /// All that is in a folder: of what is more than [`CHANGED_FILES`], one sum of names, sizes and times.
    fn whole(&mut self, folder: &str, follows: bool) {
        let mut more = DefaultHasher::new();
        let mut count = 0;
        let cut = self.walk(folder, |scan, entry, path| {
            if follows && scan.is_linked_folder(entry, path) {
                scan.linked.push(path.to_owned());
            } else if scan.followed < CHANGED_FILES {
                if !scan.found.contains_key(path) {
                    let content = scan.content(entry, path);
                    scan.add(path, content);
                }
            } else if entry.status.kind != Kind::Folder {
                (path, entry.status.size, entry.status.changed).hash(&mut more);
                scan.pass(path, Some(&entry.status));
                count += 1;
            }
            Next::Enter
        });
        if count > 0 || cut {
            let sum = Content::Other(count, more.finish() as i64);
            self.found.insert(format!("{folder}/*"), sum);
        }
    }

    /// Shows what is in a folder, with its path in the workspace. Returns whether there may be more than it has
    /// shown.
    fn walk(
        &mut self,
        folder: &str,
        mut visit: impl FnMut(&mut Self, &Found<'_>, &str) -> Next,
    ) -> bool {
        let workspace = self.workspace;
        let mut visit = |entry: &Found<'_>| {
            let name = entry.path.to_str().unwrap_or_default();
            let is_hidden = name.split('/').any(|part| part.starts_with('.'));
            if name.is_empty() || is_hidden {
                return Next::Pass;
            }
            match folder {
                "." => visit(self, entry, name),
                folder => visit(self, entry, &format!("{folder}/{name}")),
            }
        };
        let walked = workspace.walk(Path::new(folder), &mut visit);
        // A folder that is not there has nothing in it; of one that cannot be listed a file may still be opened.
        walked.map_or_else(
            |error| !error.is_not_found() && workspace.kind(Path::new(folder)).is_ok(),
            |walked| walked.cut || walked.unreadable > 0,
        )
    }

    fn is_linked_folder(&self, entry: &Found<'_>, path: &str) -> bool {
        let is_link = entry.status.kind == Kind::Link;
        is_link && matches!(self.workspace.kind(Path::new(path)), Ok(Kind::Folder))
    }

    fn content(&mut self, entry: &Found<'_>, path: &str) -> Option<Content> {
        match entry.status.kind {
            Kind::File => {
                self.pass(path, Some(&entry.status));
                if !self.reads {
                    return Some(UNREAD);
                }
                let file = entry.open().ok()?;
                self.read(&file, &at::status(&file).ok()?)
            }
            Kind::Link => self.content_at(path),
            _ => None,
        }
    }

    /// What is at a path, links followed.
    fn content_at(&mut self, path: &str) -> Option<Content> {
        if !self.reads {
            let status = self.workspace.status(Path::new(path)).ok();
            self.pass(
                path,
                status.filter(|found| found.kind == Kind::File).as_ref(),
            );
            return None;
        }
        let file = self.workspace.open_read(Path::new(path)).ok();
        let status = file.as_ref().and_then(|file| at::status(file).ok());
        self.pass(path, status.as_ref());
        self.read(&file?, &status?)
    }

    /// Takes a file that was met into the sum.
    fn pass(&mut self, path: &str, status: Option<&Status>) {
        let found = status.map(|found| (found.inode.numbers(), found.size, found.changed));
        (path, found).hash(&mut self.sum);
        let changed = status.map_or(i64::MIN, |found| found.changed);
        self.newest = self.newest.max(changed);
    }

    fn read(&self, file: &File, status: &Status) -> Option<Content> {
        let other = Content::Other(status.size, status.changed);
        if status.size > CHANGED_TEXT_BYTES || self.followed >= CHANGED_FILES {
            return Some(other);
        }
        let content = read_sized(file, status.size, CHANGED_TEXT_BYTES).ok()?;
        match String::from_utf8(content) {
            // One that is kept for a command says nothing.
            Ok(text) if text.trim().is_empty() => None,
            Ok(text) if self.eraser.clean(&text) != text => Some(other),
            Ok(text) => Some(Content::Text(text)),
            Err(_) => Some(other),
        }
    }

    fn add(&mut self, path: &str, content: Option<Content>) {
        if let Some(content) = content {
            self.followed += usize::from(path.contains('/'));
            self.found.insert(path.to_owned(), content);
        }
    }
}

#[cfg(test)]
mod tests;
