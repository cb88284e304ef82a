//! exec: a command in the sandbox, or outside when a person allows it.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::chat::{Effect, ToolResult, ToolSpec};
use crate::confine::{End, Outcome, OutputChunk, ShellCommand};
use crate::error::{Error, Result};
use crate::files::Workspace;
use crate::limits::tools::SPILL_BYTES;
use crate::secret::Eraser;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::results::Results;

use super::decision::Request;
use super::{Commands, Permit};

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "exec",
    description: "Run a shell command (sh -c) in the sandbox and get its exit status and output. background \
                  gives a session id for exec_session. If it needs more than the sandbox gives, set escalate \
                  with a reason: the person is asked.",
    parameters: r#"{"type":"object","properties":{"command":{"type":"string"},"working_dir":{"type":"string"},"timeout":{"type":"integer","description":"seconds"},"background":{"type":"boolean"},"escalate":{"type":"boolean"},"reason":{"type":"string"}},"required":["command"]}"#,
    read_only: false,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let commands = context.commands()?;
    let request = request(context, arguments)?;
    let entry = match commands.permit(&request, context.caller)? {
        Permit::Run(entry) => entry,
        Permit::Ask(question) => {
            return Ok(ToolResult {
                effect: Some(Effect::Ask(question)),
                ..ToolResult::default()
            });
        }
    };
    let command = ShellCommand {
        line: &request.command,
        folder: &request.folder,
        unsandboxed: request.unsandboxed,
    };
    if arguments.flag("background")? {
        let (owner, observer) = (context.caller.session, commands.observer(entry.clone()));
        let started = commands
            .sessions
            .start(&commands.exec, &command, owner, observer);
        let id = started.inspect_err(|error| entry.end(&error.to_string()))?;
        return Ok(said(format!(
            "Started as session {id}; exec_session reads, writes and kills it."
        )));
    }
    let mut spool = Spool::new(context.results, context.workspace, context.eraser, "exec");
    let time = timeout(commands, arguments)?;
    let outcome = commands
        .exec
        .run(&command, time, context.caller.cancel, &mut |piece| {
            if let OutputChunk::Whole(bytes) = piece {
                spool.write(bytes);
            }
        });
    let result = outcome
        .as_ref()
        .map_or_else(ToString::to_string, |outcome| outcome.end.to_string());
    entry.end(&result);
    Ok(render_outcome(context, &outcome?, spool.finish()))
}

fn request(context: &Context<'_>, arguments: &Arguments) -> Result<Request> {
    let command = arguments
        .text("command", "the command, as for sh -c")?
        .into_owned();
    if command.trim().is_empty() || command.contains('\0') {
        return Err(Error::Failed(
            "command wants a shell command, such as \"df -h\"".to_owned(),
        ));
    }
    let unsandboxed = arguments.flag("escalate")?;
    let reason = arguments
        .optional_text("reason", "why the sandbox is not enough")?
        .unwrap_or_default();
    if unsandboxed && reason.trim().is_empty() {
        return Err(Error::Failed(
            "escalate wants a reason, in a sentence: the person reads it and decides".to_owned(),
        ));
    }
    let folder = arguments.optional_text("working_dir", "a folder")?;
    let workspace = context.workspace.path();
    // An absolute path takes the workspace's place.
    let folder = folder.map_or_else(
        || workspace.to_owned(),
        |folder| workspace.join(folder.as_ref()),
    );
    if !folder.is_dir() {
        return Err(Error::Failed(format!(
            "working_dir: there is no folder {}",
            folder.display()
        )));
    }
    Ok(Request {
        command,
        folder,
        unsandboxed,
        reason: reason.into_owned(),
        is_typed: false,
    })
}

/// The time that a call asks for, within what the configuration allows.
fn timeout(commands: &Commands, arguments: &Arguments) -> Result<Duration> {
    let asked = arguments.number("timeout", "seconds, such as 120")?;
    let asked = asked.map_or(commands.timeout, |seconds| {
        Duration::from_secs(seconds as u64)
    });
    Ok(asked.clamp(Duration::from_secs(1), commands.max_timeout))
}

/// The result as the model reads it: how it ended, then the output.
fn render_outcome(
    context: &Context<'_>,
    outcome: &Outcome,
    spilled: Option<Result<PathBuf>>,
) -> ToolResult {
    let failed = !matches!(outcome.end, End::Exit(_));
    let mut text = if failed {
        format!("Error: {}", outcome.end)
    } else {
        outcome.end.to_string()
    };
    for note in &outcome.notes {
        text.push_str(&format!(" ({note})"));
    }
    let output = outcome.output.text();
    // Before it is cut: half a key is still half a key.
    let output = context.eraser.clean(&output);
    let output = match spilled {
        Some(Ok(path)) => context
            .results
            .cut(&output, &format!("the whole is in {}", path.display())),
        Some(Err(error)) => context
            .results
            .cut(&output, &format!("the whole could not be kept: {error}")),
        None => output.into_owned(),
    };
    text.push('\n');
    text.push_str(if output.trim().is_empty() {
        "(no output)"
    } else {
        &output
    });
    ToolResult {
        text,
        failed,
        ..ToolResult::default()
    }
}

pub(super) fn said(text: String) -> ToolResult {
    ToolResult {
        text,
        ..ToolResult::default()
    }
}

/// The file with the whole of an output that is too long to be held. It is made when the first of the
/// output comes, and no secret gets into it.
pub(super) struct Spool<'a> {
    results: &'a Results,
    workspace: &'a Workspace,
    eraser: &'a Eraser,
    tool: &'static str,
    file: Option<Result<(PathBuf, File)>>,
    /// What is not written: a secret may go on in what comes next.
    waiting: Vec<u8>,
}

impl<'a> Spool<'a> {
    /// A spool without a file.
    pub fn new(
        results: &'a Results,
        workspace: &'a Workspace,
        eraser: &'a Eraser,
        tool: &'static str,
    ) -> Self {
        Self {
            results,
            workspace,
            eraser,
            tool,
            file: None,
            waiting: Vec::new(),
        }
    }

    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        let begin = || self.results.begin(self.workspace, self.tool);
        self.file.get_or_insert_with(begin);
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() < SPILL_BYTES {
            return;
        }
        // A secret is within a line; a line that is longer than all this is cut somewhere.
        let end = self.waiting.iter().rposition(|byte| *byte == b'\n');
        self.flush(end.map_or(self.waiting.len(), |newline| newline + 1));
    }

    /// The file with the whole; none when there was nothing.
    pub fn finish(mut self) -> Option<Result<PathBuf>> {
        self.flush(self.waiting.len());
        Some(self.file?.map(|(path, _)| path))
    }

    fn flush(&mut self, end: usize) {
        let text = String::from_utf8_lossy(&self.waiting[..end]);
        let clean = self.eraser.clean(&text);
        if let Some(Ok((path, file))) = &mut self.file
            && let Err(error) = file.write_all(clean.as_bytes())
        {
            self.file = Some(Err(Error::io("write", path)(error)));
        }
        self.waiting.drain(..end);
    }
}
