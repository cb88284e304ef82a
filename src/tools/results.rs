//! Results that are too long for a conversation: head and tail go to the model, the whole to a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::clock::Clock;
use crate::files::{Next, Workspace};
use crate::limits::tools::{NOTE_CHARS, RESULTS_AGE, RESULTS_BYTES};
use crate::sys::at::Kind;

/// The folder of whole results, in the workspace.
const FOLDER: &str = ".results";

/// Where results that are too long go.
#[derive(Debug)]
pub(super) struct Results {
    clock: Clock,
    /// Characters of a result in the conversation.
    most_chars: usize,
    written: AtomicU32,
}

impl Results {
    pub(super) fn new(most_chars: usize, clock: Clock) -> Self {
        Self {
            clock,
            most_chars,
            written: AtomicU32::new(0),
        }
    }

    pub(super) fn most_chars(&self) -> usize {
        self.most_chars
    }

    /// The text, or when it is too long its head and tail with the name of the file that has all.
    pub(super) fn fit(&self, workspace: &Workspace, tool: &str, text: String) -> String {
        let chars = text.chars().count();
        if chars <= self.most_chars {
            return text;
        }
        let note = match self.store(workspace, tool, &text) {
            Ok(path) => format!("the whole is in {}", path.display()),
            Err(error) => format!("the whole could not be kept: {error}"),
        };
        self.cut(&text, &note)
    }

    /// Head and tail of a text, as many characters as fit, with a note between them.
    pub(super) fn cut(&self, text: &str, note: &str) -> String {
        let kept = self.most_chars.saturating_sub(NOTE_CHARS);
        let (head, tail) = ends(text, kept * 2 / 3, kept / 3);
        let left_out = text.chars().count() - head.chars().count() - tail.chars().count();
        format!("{head}\n[{left_out} characters are left out here; {note}]\n{tail}")
    }

    /// Begins a file for a result that comes in pieces and is too long already.
    pub(super) fn begin(
        &self,
        workspace: &Workspace,
        tool: &str,
    ) -> crate::error::Result<(PathBuf, File)> {
        let path = self.name(tool);
        let file = workspace.create(&path)?;
        self.clean(workspace, self.clock.now().timestamp());
        Ok((path, file))
    }

    pub(super) fn store(
        &self,
        workspace: &Workspace,
        tool: &str,
        text: &str,
    ) -> crate::error::Result<PathBuf> {
        let path = self.name(tool);
        workspace.write(&path, text.as_bytes())?;
        self.clean(workspace, self.clock.now().timestamp());
        Ok(path)
    }

    /// A name that no other result has.
    fn name(&self, tool: &str) -> PathBuf {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let now = self.clock.now();
        // Two processes may write in the same second.
        let process = std::process::id();
        let name = format!(
            "{}-{tool}-{process}-{number}.txt",
            now.format("%Y%m%d-%H%M%S")
        );
        Path::new(FOLDER).join(name)
    }

    /// Removes what is too old or too much. What cannot be removed now will be next time.
    fn clean(&self, workspace: &Workspace, now: i64) {
        let mut files = Vec::new();
        let walked = workspace.walk(Path::new(FOLDER), &mut |found| {
            if found.status.kind == Kind::File {
                files.push(Kept {
                    path: Path::new(FOLDER).join(found.path),
                    bytes: found.status.size,
                    written: found.status.modified,
                });
            }
            Next::Pass
        });
        if walked.is_ok() {
            for file in superfluous(files, now) {
                let _ = workspace.remove(&file);
            }
        }
    }
}

struct Kept {
    path: PathBuf,
    bytes: u64,
    /// Seconds since 1970.
    written: i64,
}

/// The files that are too old, and the oldest of those that are too much together.
fn superfluous(mut files: Vec<Kept>, now: i64) -> Vec<PathBuf> {
    files.sort_by_key(|file| std::cmp::Reverse(file.written));
    let oldest = now.saturating_sub_unsigned(RESULTS_AGE.as_secs());
    let mut bytes = 0;
    let mut is_superfluous = |file: &Kept| {
        bytes += file.bytes;
        file.written < oldest || bytes > RESULTS_BYTES
    };
    files
        .into_iter()
        .filter_map(|file| is_superfluous(&file).then_some(file.path))
        .collect()
}

/// The first and the last characters of a text.
fn ends(text: &str, first: usize, last: usize) -> (&str, &str) {
    let head = text
        .char_indices()
        .nth(first)
        .map_or(text.len(), |(place, _)| place);
    let tail = match last {
        0 => text.len(),
        _ => text
            .char_indices()
            .nth_back(last - 1)
            .map_or(0, |(place, _)| place),
    };
    (&text[..head], &text[tail.max(head)..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn old_files_go_and_of_too_many_the_oldest() {
        let week = RESULTS_AGE.as_secs() as i64;
        let file = |name: &str, bytes, written| Kept {
            path: name.into(),
            bytes,
            written,
        };
        let now = 10 * week;
        let gone = superfluous(
            vec![
                file("half", RESULTS_BYTES / 2, now - 3),
                file("new", 1, now),
                file("too much", RESULTS_BYTES / 2, now - 4),
                file("too old", 1, now - week - 1),
                file("just in time", RESULTS_BYTES / 2 - 1, now - 2),
            ],
            now,
        );
        assert_eq!(gone, [Path::new("too much"), Path::new("too old")]);
        assert!(superfluous(vec![file("a", 1, 0)], week).is_empty());
    }

    proptest! {
        #[test]
        fn the_ends_of_any_text_are_its_ends(text in any::<String>(), first in 0..20usize, last in 0..20usize) {
            let (head, tail) = ends(&text, first, last);
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert!(head.len() + tail.len() <= text.len());
            prop_assert!(head.chars().count() <= first && tail.chars().count() <= last);
        }
    }
}
