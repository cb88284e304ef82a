//! append_file: text at a file's end.

use std::path::Path;

use crate::chat::{ToolResult, ToolSpec};
use crate::error::Result;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::path_of;

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "append_file",
    description: "Add text to a file's end, exactly as given: begin or end it with a line break where \
                  one is needed. Makes the file if there is none.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
    read_only: false,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = path_of(arguments)?;
    let content = arguments.text("content", "the text to add")?;
    context
        .workspace
        .append(Path::new(path.as_ref()), content.as_bytes())?;
    Ok(ToolResult {
        text: format!("Added {} bytes to {path}", content.len()),
        ..ToolResult::default()
    })
}
