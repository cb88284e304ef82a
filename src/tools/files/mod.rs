//! The tools that work with files.

mod document;
mod read;
mod search;
mod write;

use std::borrow::Cow;

use crate::base::chat::ToolSpec;
use crate::base::error::{Error, Result};

use super::arguments::Arguments;
use super::registry::BuiltIn;

pub(super) use document::excerpt;
pub use document::{DocumentFault, Excerpt};
pub use read::FileType;
pub(super) use read::READ_FILE;
use std::time::Duration;

/// Processor time of one search or list: a pattern and a text that do not go well together take hours.
const SEARCH_TIME: Duration = Duration::from_secs(5);

/// The file tools, in the order in which the model is told about them.
pub(super) const TOOLS: [(ToolSpec, BuiltIn); 7] = [
    (READ_FILE, read::read_file),
    (write::WRITE_FILE, write::write_file),
    (write::EDIT_FILE, write::edit_file),
    (write::APPEND_FILE, write::append_file),
    (search::LIST_DIR, search::list_dir),
    (search::FIND_FILES, search::find_files),
    (search::GREP, search::grep),
];

/// What the model is told that a path should be.
const PATH_HINT: &str = "a path, relative to the workspace or absolute";

/// The path that a call has to name.
fn required_path(arguments: &Arguments) -> Result<Cow<'_, str>> {
    let path = arguments.text("path", PATH_HINT)?;
    if path.is_empty() {
        return Err(Error::Failed(format!(
            "the parameter path is empty; it must be {PATH_HINT}"
        )));
    }
    Ok(path)
}

/// The path of a call; the workspace when it names none.
fn path_or_workspace(arguments: &Arguments) -> Result<Cow<'_, str>> {
    let path = arguments.optional_text("path", PATH_HINT)?;
    Ok(path
        .filter(|path| !path.is_empty())
        .unwrap_or(Cow::Borrowed(".")))
}
