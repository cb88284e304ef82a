//! find_files: paths by glob.

use crate::chat::{ToolResult, ToolSpec};
use crate::error::{Error, Result};
use crate::limits::tools::{LIST_NAMES, LIST_NAMES_MOST};
use crate::sys::at::Kind;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::{Ends, Glob, at_most, below, enter, folder_of, list};

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "find_files",
    description: "Find files and folders by name. A glob without \"/\" is matched with names at any \
                  depth (*.md), one with \"/\" with paths from the start folder (src/**/*.rs).",
    parameters: r#"{"type":"object","properties":{"glob":{"type":"string"},"path":{"type":"string","description":"Start folder; default: workspace"},"type":{"enum":["file","folder"]},"max_entries":{"type":"integer","description":"Default 200"}}}"#,
    read_only: true,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = folder_of(arguments)?;
    let wants = "a glob such as *.md";
    let glob = Glob::new(
        &arguments
            .optional_text("glob", wants)?
            .unwrap_or("**".into()),
    )?;
    let kind = kind_of(arguments)?;
    let ends = Ends {
        most: at_most(arguments, "max_entries", LIST_NAMES, LIST_NAMES_MOST)?,
        empty: "[nothing found]",
        closer: "raise max_entries or use a closer glob",
    };
    list(context, &path, &ends, &|found| {
        let is_kind = kind.is_none_or(|kind| kind == found.status.kind);
        let is_wanted = is_kind && glob.matches(found.path);
        let sign = match found.status.kind {
            Kind::Folder => "/",
            _ => "",
        };
        let line = is_wanted.then(|| below(&path, found.path) + sign + "\n");
        (line, enter(found))
    })
}

fn kind_of(arguments: &Arguments) -> Result<Option<Kind>> {
    let wants = "file or folder";
    let Some(word) = arguments.optional_text("type", wants)? else {
        return Ok(None);
    };
    match word.as_ref() {
        "" | "any" | "all" => Ok(None),
        "file" | "files" | "f" => Ok(Some(Kind::File)),
        "folder" | "folders" | "dir" | "directory" | "d" => Ok(Some(Kind::Folder)),
        _ => Err(Error::Failed(format!(
            "the parameter type wants {wants}, and is {word:?}"
        ))),
    }
}
