//! A command that a person types: the same rules and the same sandbox, without the model.

use std::path::PathBuf;

use crate::approval::Question;
use crate::confine::{Outcome, OutputChunk, ShellCommand};
use crate::error::{Error, Result};
use crate::limits::tools::SHELL_CHARS;
use crate::tools::{Caller, Toolbox};

use super::Permit;
use super::decision::Request;
use super::exec::Spool;

/// What came of a typed command.
#[derive(Debug)]
pub enum Shell {
    /// A person has to be asked first; then it is called again with the answer.
    Ask(Box<Question>),
    /// It was run.
    Ran(Ran),
}

/// A typed command that was run.
#[derive(Debug)]
pub struct Ran {
    /// How it ended, such as `exit status 0`.
    pub end: String,
    /// Whether it did what it was to do.
    pub is_success: bool,
    /// Its output; of a long one the end.
    pub output: String,
    /// The workspace's file with the whole of a long output, as far as that is kept.
    pub file: Option<String>,
}

impl Toolbox {
    /// Runs what a person has typed, in the workspace; with `unsandboxed` outside the sandbox, if a person
    /// allows it. `watch` gets the output as it comes.
    pub fn shell(
        &self,
        command: &str,
        unsandboxed: bool,
        caller: &Caller<'_>,
        watch: &mut dyn FnMut(&[u8]),
    ) -> Result<Shell> {
        let commands = self.commands.as_ref().ok_or_else(|| {
            Error::Failed("there are no commands here (tools.exec.enabled)".to_owned())
        })?;
        let request = Request {
            command: command.to_owned(),
            folder: self.workspace.path().to_owned(),
            unsandboxed,
            reason: String::new(),
            is_typed: true,
        };
        let entry = match commands.permit(&request, caller)? {
            Permit::Run(entry) => entry,
            Permit::Ask(question) => return Ok(Shell::Ask(question)),
        };
        let command = ShellCommand {
            line: command,
            folder: &request.folder,
            unsandboxed,
        };
        let mut spool = Spool::new(&self.results, &self.workspace, &self.eraser, "sh");
        let mut output = |piece: OutputChunk<'_>| match piece {
            OutputChunk::Fresh(bytes) => watch(bytes),
            OutputChunk::Whole(bytes) => spool.write(bytes),
        };
        let outcome = commands
            .exec
            .run(&command, commands.max_timeout, caller.cancel, &mut output);
        let result = outcome
            .as_ref()
            .map_or_else(ToString::to_string, |outcome| outcome.end.to_string());
        entry.end(&result);
        Ok(Shell::Ran(self.ran(&outcome?, spool.finish())))
    }

    fn ran(&self, outcome: &Outcome, spilled: Option<Result<PathBuf>>) -> Ran {
        let mut end = outcome.end.to_string();
        for note in &outcome.notes {
            end.push_str(&format!(" ({note})"));
        }
        let text = outcome.output.text();
        let text = self.cleaned(text.trim_end());
        let over = text.chars().count().saturating_sub(SHELL_CHARS);
        let file = spilled
            .or_else(|| (over > 0).then(|| self.results.store(&self.workspace, "sh", &text)));
        let from = text.char_indices().nth(over).map_or(0, |(index, _)| index);
        Ran {
            end,
            is_success: outcome.end.is_success(),
            output: text[from..].to_owned(),
            // Without the file its end is still shown.
            file: file
                .and_then(Result::ok)
                .map(|path| path.display().to_string()),
        }
    }
}
