//! exec: a command within the isolation, or outside when a person allows it.

use std::path::PathBuf;
use std::time::Duration;

use crate::chat::{Effect, ToolResult, ToolSpec};
use crate::confine::{End, Outcome, OutputChunk, ShellCommand};
use crate::error::{Error, Result};
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::spool::Spool;
use super::{Commands, Permit, Wanted};

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
    let wanted = wanted(context, arguments)?;
    let decision = match commands.permit(&wanted, context.caller)? {
        Permit::Run(decision) => decision,
        Permit::Ask(question) => {
            return Ok(ToolResult {
                effect: Some(Effect::Ask(question)),
                ..ToolResult::default()
            });
        }
    };
    let job = ShellCommand {
        line: &wanted.command,
        folder: &wanted.folder,
        unsandboxed: wanted.lifted,
    };
    if arguments.flag("background")? {
        let started = commands
            .sessions
            .start(&commands.exec, &job, context.caller.session);
        let result = started
            .as_ref()
            .map_or_else(ToString::to_string, |id| format!("background session {id}"));
        commands.log(&wanted, context.caller, &decision, &result)?;
        let id = started?;
        return Ok(said(format!(
            "Started as session {id}; exec_session reads, writes and kills it."
        )));
    }
    let mut spool = Spool::new(context.results, context.workspace, context.eraser, "exec");
    let time = timeout(commands, arguments)?;
    let outcome = commands
        .exec
        .run(&job, time, context.caller.cancel, &mut |piece| {
            if let OutputChunk::Whole(bytes) = piece {
                spool.write(bytes);
            }
        });
    let result = outcome
        .as_ref()
        .map_or_else(ToString::to_string, |outcome| outcome.end.to_string());
    commands.log(&wanted, context.caller, &decision, &result)?;
    Ok(told(context, &outcome?, spool.finish()))
}

fn wanted(context: &Context<'_>, arguments: &Arguments) -> Result<Wanted> {
    let command = arguments
        .text("command", "the command, as for sh -c")?
        .into_owned();
    if command.trim().is_empty() || command.contains('\0') {
        return Err(Error::Failed(
            "command wants a shell command, such as \"df -h\"".to_owned(),
        ));
    }
    let lifted = arguments.flag("escalate")?;
    let reason = arguments
        .optional_text("reason", "why the sandbox is not enough")?
        .unwrap_or_default();
    if lifted && reason.trim().is_empty() {
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
    Ok(Wanted {
        command,
        folder,
        lifted,
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
fn told(context: &Context<'_>, outcome: &Outcome, spilled: Option<Result<PathBuf>>) -> ToolResult {
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
