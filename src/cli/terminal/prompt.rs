//! The prompt of a conversation: line editing, history, the names of commands.

use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History, SearchDirection};
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};

use crate::agent::commands::COMMANDS;
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
    history: PathBuf,
}

impl Prompt {
    /// A prompt whose history is kept in `history`.
    pub fn new(history: PathBuf) -> Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY_LINES)
            .map_err(no_terminal)?
            .auto_add_history(true)
            .build();
        let mut editor = Editor::with_config(config).map_err(no_terminal)?;
        editor.set_helper(Some(CommandNames));
        // A first run has none, and one that cannot be read is no reason not to talk.
        let lines = sys::file::read_at_most(&history, HISTORY_BYTES).unwrap_or_default();
        for line in String::from_utf8_lossy(&lines).lines() {
            let _ = editor.add_history_entry(line);
        }
        Ok(Self { editor, history })
    }

    /// Waits for a line.
    pub fn read(&mut self, prompt: &str) -> Result<Typed> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Typed::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupt),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(no_terminal(error)),
        }
    }

    /// Keeps the lines for the next run.
    pub fn save(&self) -> Result<()> {
        let history = self.editor.history();
        let mut lines = String::new();
        for index in 0..history.len() {
            if let Ok(Some(found)) = history.get(index, SearchDirection::Forward) {
                // A pasted text of several lines comes back as several.
                lines.push_str(&found.entry);
                lines.push('\n');
            }
        }
        sys::file::write_atomic(&self.history, lines.as_bytes(), 0o600)
    }
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
        let names = COMMANDS.iter().map(|(name, _)| *name).chain(["exit"]);
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
