//! list_dir: what is in a folder.

use std::fmt::Write;
use std::path::Path;

use crate::chat::{ToolResult, ToolSpec};
use crate::error::{Error, Result};
use crate::limits::tools::{LIST_NAMES, LIST_NAMES_MOST};
use crate::sandbox::{Found, Next};
use crate::sys::at::Kind;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::{at_most, enter, folder_of, left_out, shown};

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "list_dir",
    description: "List a folder with sizes; \".\" is the workspace.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string"},"recursive":{"type":"boolean"},"max_entries":{"type":"integer","description":"Default 200"}},"required":["path"]}"#,
    read_only: true,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = folder_of(arguments)?;
    let is_recursive = arguments.flag("recursive")?;
    let most = at_most(arguments, "max_entries", LIST_NAMES, LIST_NAMES_MOST)?;
    let mut text = String::new();
    let mut count = 0;
    let walked = context
        .workspace
        .walk(Path::new(path.as_ref()), &mut |found| {
            if context.cancel.is_cancelled() {
                return Next::Stop;
            }
            count += 1;
            if count > most {
                return Next::Stop;
            }
            text.push_str(&described(found));
            if is_recursive {
                enter(found)
            } else {
                Next::Pass
            }
        })?;
    if context.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    if count == 0 {
        text.push_str("[the folder is empty]");
    } else if count > most {
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "[there are more than {most}; raise max_entries, name a folder further down, or use find_files]"
        );
    }
    text.push_str(&left_out(walked));
    Ok(ToolResult {
        text,
        ..ToolResult::default()
    })
}

fn described(found: &Found<'_>) -> String {
    let name = shown(found.path);
    match found.status.kind {
        Kind::File => format!("{name} ({} bytes)\n", found.status.size),
        Kind::Folder => format!("{name}/\n"),
        Kind::Link => format!("{name} (link)\n"),
        Kind::Special => format!("{name} (FIFO, socket or device)\n"),
    }
}
