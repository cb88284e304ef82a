//! exec_session: commands in the background.

use std::fmt::Write;

use crate::chat::{ToolResult, ToolSpec};
use crate::confine::UnreadOutput;
use crate::error::{Error, Result};
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::exec::said;

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "exec_session",
    description: "Background commands of exec: list them, read what came since the last read, write input, kill.",
    parameters: r#"{"type":"object","properties":{"action":{"type":"string","enum":["list","read","write","kill"]},"session_id":{"type":"integer"},"input":{"type":"string"}},"required":["action"]}"#,
    read_only: false,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let sessions = &context.commands()?.sessions;
    let owner = context.caller.session;
    let action = arguments.text("action", "list, read, write or kill")?;
    if action == "list" {
        return Ok(said(listed(context)));
    }
    let wants = "the number that exec gave";
    let id = arguments.number("session_id", wants)?.ok_or_else(|| {
        Error::Failed(format!(
            "session_id is missing: {wants}; action list shows what runs"
        ))
    })?;
    let id = u32::try_from(id).unwrap_or(u32::MAX);
    match action.as_ref() {
        "read" => Ok(said(render_output(&sessions.read(owner, id)?))),
        "kill" => Ok(said(format!(
            "Killed.\n{}",
            render_output(&sessions.kill(owner, id)?)
        ))),
        "write" => {
            let input = arguments.text(
                "input",
                "the text for its standard input, with its line end",
            )?;
            sessions.write(owner, id, &input)?;
            Ok(said("Written.".to_owned()))
        }
        other => Err(Error::Failed(format!(
            "action wants list, read, write or kill, not {other:?}"
        ))),
    }
}

fn listed(context: &Context<'_>) -> String {
    let Ok(commands) = context.commands() else {
        return String::new();
    };
    let mut text = String::new();
    for session in commands.sessions.list(context.caller.session) {
        let state = session
            .end
            .map_or_else(|| "running".to_owned(), |end| end.to_string());
        let _ = writeln!(
            text,
            "{}: {state}, {} bytes unread: {}",
            session.id, session.unread, session.command
        );
    }
    if text.is_empty() {
        "Nothing runs in the background.".to_owned()
    } else {
        text
    }
}

fn render_output(since: &UnreadOutput) -> String {
    let mut text = match &since.end {
        Some(end) => end.to_string(),
        None => "running".to_owned(),
    };
    if since.dropped > 0 {
        let _ = write!(
            text,
            " ({} bytes before this were dropped, because nobody read them)",
            since.dropped
        );
    }
    text.push('\n');
    text.push_str(if since.text.is_empty() {
        "(nothing new)"
    } else {
        &since.text
    });
    text
}
