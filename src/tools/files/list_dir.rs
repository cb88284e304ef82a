//! list_dir: what is in a folder.

use crate::chat::{ToolResult, ToolSpec};
use crate::error::Result;
use crate::files::{Found, Next};
use crate::limits::tools::{LIST_NAMES, LIST_NAMES_MOST};
use crate::sys::at::Kind;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::{Ends, at_most, enter, folder_of, list, shown};

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "list_dir",
    description: "List a folder with sizes; \".\" is the workspace.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string"},"recursive":{"type":"boolean"},"max_entries":{"type":"integer","description":"Default 200"}},"required":["path"]}"#,
    read_only: true,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = folder_of(arguments)?;
    let is_recursive = arguments.flag("recursive")?;
    let ends = Ends {
        most: at_most(arguments, "max_entries", LIST_NAMES, LIST_NAMES_MOST)?,
        empty: "[the folder is empty]",
        closer: "raise max_entries, name a folder further down, or use find_files",
    };
    list(context, &path, &ends, &|found| {
        let next = match is_recursive {
            true => enter(found),
            false => Next::Pass,
        };
        (Some(described(found)), next)
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
