//! A folder for people: folders first, then files, each with its size and date.

use std::path::Path;

use crate::base::error::Result;
use crate::sandbox::files::{Next, Workspace};
use crate::sys::at::Kind;
use crate::text::{ellipsize_chars, one_line};

use super::format_bytes;

/// Names that `/ls` shows.
const LS_NAMES_MAX: usize = 100;
/// Characters of a name that it shows: two lines on a phone.
const LS_NAME_CHARS: usize = 60;

/// What is in a folder.
pub(super) struct Listed {
    /// A line for each name.
    pub lines: Vec<String>,
    /// Names that are left out.
    pub more: usize,
}

/// Lists a folder. `date` writes a time, in seconds since 1970.
pub(super) fn folder(
    workspace: &Workspace,
    path: &Path,
    date: &dyn Fn(i64) -> String,
) -> Result<Listed> {
    let mut names = Vec::new();
    workspace.walk(path, &mut |found| {
        let name = one_line(&found.path.to_string_lossy(), usize::MAX);
        let name = ellipsize_chars(&name, LS_NAME_CHARS).into_owned();
        names.push((found.status.kind != Kind::Folder, name, found.status));
        Next::Pass
    })?;
    names.sort_by(|(is_file, name, _), (is_other_file, other, _)| {
        (is_file, name).cmp(&(is_other_file, other))
    });
    let more = names.len().saturating_sub(LS_NAMES_MAX);
    let lines = names.iter().take(LS_NAMES_MAX).map(|(_, name, status)| {
        let (size, end) = match status.kind {
            Kind::File => (format_bytes(status.size), ""),
            Kind::Folder => (String::new(), "/"),
            Kind::Link => ("link".to_owned(), ""),
            Kind::Special => ("special".to_owned(), ""),
        };
        format!("{} {size:>8} {name}{end}", date(status.modified))
    });
    Ok(Listed {
        lines: lines.collect(),
        more,
    })
}
