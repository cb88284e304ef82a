//! The prompt of a conversation: line editing, history, the names of commands.

use std::fs::{File, Metadata};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::agent::commands::{Surface, list_commands};
use crate::error::{Error, Result};
use crate::limits::cli::{HISTORY_BYTES, HISTORY_LINES};
use crate::sys;

/// What the person did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The prompt, with the lines of earlier runs.
pub struct Prompt {
    editor: Editor<CommandNames, DefaultHistory>,
    /// Where lines are kept; none when they cannot be.
    history: Option<File>,
}

impl Prompt {
    /// A prompt whose history is kept in the file `history`.
    pub fn new(history: PathBuf) -> Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY_LINES)
            .map_err(no_terminal)?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(no_terminal)?;
        editor.set_helper(Some(CommandNames));
        // A first run has none, and one that cannot be read is no reason not to talk.
        let kept = sys::file::read_at_most(&history, HISTORY_BYTES).unwrap_or_default();
        let kept = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = kept.lines().collect();
        let lines = &lines[lines.len().saturating_sub(HISTORY_LINES)..];
        for line in lines {
            let _ = editor.add_history_entry(unfolded(line));
        }
        let history = keep(&history, lines)
            .inspect_err(|error| tracing::warn!("the prompt's history is not kept: {error}"))
            .ok();
        Ok(Self { editor, history })
    }

    /// Waits for a line, and keeps it: whoever is cut off later finds it in the next run.
    pub fn read(&mut self, prompt: &str) -> Result<Typed> {
        match self.editor.readline(prompt) {
            Ok(line) => {
                let is_new = self.editor.add_history_entry(&line).unwrap_or(false);
                if let Some(file) = self.history.as_mut().filter(|_| is_new) {
                    // Not synced: a lost line of the history is no loss to wear a card for.
                    let _ = file.write_all(format!("{}\n", folded(&line)).as_bytes());
                }
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupt),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(no_terminal(error)),
        }
    }
}

/// Opens the file to append to. One that has grown far beyond its last lines is written anew.
fn keep(path: &Path, last: &[&str]) -> Result<File> {
    if let Some(folder) = path.parent() {
        sys::file::private_folder(folder)?;
    }
    let has_grown = |found: Metadata| found.len() > HISTORY_BYTES as u64 / 2;
    if path.metadata().is_ok_and(has_grown) {
        let lines: String = last.iter().map(|line| format!("{line}\n")).collect();
        sys::file::write_atomic(path, lines.as_bytes(), 0o600)?;
    }
    let mut options = File::options();
    options.append(true).create(true).mode(0o600);
    let opened = sys::file::open_regular(path, &mut options);
    opened.map_err(Error::io("write", path))
}

/// A pasted text of several lines in one line of the file.
fn folded(text: &str) -> String {
    text.replace('\\', r"\\").replace('\n', r"\n")
}

fn unfolded(line: &str) -> String {
    let mut text = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                other => text.push(other.unwrap_or('\\')),
            },
            _ => text.push(letter),
        }
    }
    text
}

fn no_terminal(error: ReadlineError) -> Error {
    Error::Failed(format!(
        "the terminal cannot be used for a conversation: {error}; `peacrab agent -m TEXT` needs none"
    ))
}

/// Completes the names of typed commands.
struct CommandNames;

impl Completer for CommandNames {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Some(begun) = line[..position].strip_prefix('/') else {
            return Ok((0, Vec::new()));
        };
        let names = list_commands(Surface::Terminal).map(|listed| listed.name);
        let fitting = names.filter(|name| name.starts_with(begun));
        Ok((
            1,
            fitting
                .map(|name| Pair {
                    display: format!("/{name}"),
                    replacement: name.to_owned(),
                })
                .collect(),
        ))
    }
}

impl Hinter for CommandNames {
    type Hint = String;
}
impl Highlighter for CommandNames {}
impl Validator for CommandNames {}
impl Helper for CommandNames {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_of_several_lines_is_one_line_of_the_file_and_comes_back(text in "[a\\\\n\n]{0,12}") {
            prop_assert!(!folded(&text).contains('\n'));
            prop_assert_eq!(unfolded(&folded(&text)), text);
        }
    }

    #[test]
    fn a_history_that_has_grown_is_cut_to_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prompt_history");
        let mut file = keep(&path, &[]).unwrap();
        file.write_all(&vec![b'\n'; HISTORY_BYTES]).unwrap();
        keep(&path, &["new"]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    }
}
