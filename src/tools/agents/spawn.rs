//! spawn: gives a task to a subagent, which does it beside the conversation.

use crate::base::chat::{Effect, SpawnRequest, ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::text::one_line;

use crate::tools::Context;
use crate::tools::arguments::Arguments;

/// Bytes of a task: what the subagent has to know.
const TASK_BYTES: usize = 16 * 1024;
/// Characters of the label that people see.
const LABEL_CHARS: usize = 60;

/// The tool as the model is told about it.
pub const SPAWN: ToolSpec = ToolSpec::fixed(
    "spawn",
    "Give long work to a subagent. It knows only the task; its report comes as a message, or with wait as the result.",
    r#"{"type":"object","properties":{"task":{"type":"string"},"label":{"type":"string"},"agent":{"type":"string"},"wait":{"type":"boolean"}},"required":["task"]}"#,
);

/// Reads a call. The host of the turn gives the task away.
pub fn spawn(_: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let task = arguments.text("task", "all that the subagent has to know")?;
    let task = task.trim();
    if task.is_empty() {
        return Err(Error::Failed("the task is empty".to_owned()));
    }
    if task.len() > TASK_BYTES {
        return Err(Error::TooLarge {
            what: "the task".to_owned(),
            limit: TASK_BYTES,
        });
    }
    let label = arguments.optional_text("label", "a few words for people")?;
    let label = label
        .as_deref()
        .map(str::trim)
        .filter(|label| !label.is_empty());
    let agent = arguments.optional_text("agent", "the id of another agent")?;
    let request = SpawnRequest {
        task: task.to_owned(),
        label: one_line(label.unwrap_or(task), LABEL_CHARS),
        agent: agent
            .map(|id| id.trim().to_owned())
            .filter(|id| !id.is_empty()),
        waits: arguments.flag("wait")?,
    };
    Ok(ToolResult {
        effect: Some(Effect::Spawn(Box::new(request))),
        ..ToolResult::default()
    })
}
