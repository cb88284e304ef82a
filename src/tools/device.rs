//! device: how the board is, and how it was in the last 24 hours.

use crate::chat::{ToolResult, ToolSpec};
use crate::error::{Error, Result};

use super::Context;
use super::arguments::Arguments;

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "device",
    description: "How this machine is: temperature, throttling, load, memory, disk, uptime, network. history is its last 24 hours.",
    parameters: r#"{"type":"object","properties":{"action":{"type":"string","enum":["status","history"]}},"required":["action"]}"#,
    read_only: true,
};

pub(super) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let board = context
        .board
        .ok_or_else(|| Error::Failed("there are no readings of the machine here".to_owned()))?;
    let text = match arguments.text("action", "status or history")?.as_ref() {
        "status" => board.status_text(),
        "history" => board.history_text(),
        other => {
            return Err(Error::Failed(format!(
                "action wants status or history, not {other:?}"
            )));
        }
    };
    Ok(ToolResult {
        text,
        ..ToolResult::default()
    })
}
