//! write_file: a whole file, atomically.

use std::path::Path;

use crate::chat::{ToolResult, ToolSpec};
use crate::error::Result;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::path_of;

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "write_file",
    description: "Write a whole file, replacing what was there; makes missing folders. To change a \
                  part use edit_file.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
    read_only: false,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = path_of(arguments)?;
    let content = arguments.text("content", "the file's whole text")?;
    context
        .workspace
        .write(Path::new(path.as_ref()), content.as_bytes())?;
    Ok(ToolResult {
        text: format!("Wrote {} bytes to {path}", content.len()),
        ..ToolResult::default()
    })
}
