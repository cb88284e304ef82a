//! The tools that work with files, one file a tool, and what they share.

pub(super) mod append_file;
pub(super) mod edit_file;
pub(super) mod find_files;
pub(super) mod grep;
mod lines;
pub(super) mod list_dir;
mod media;
pub(super) mod read_file;
pub(super) mod write_file;

use std::borrow::Cow;
use std::path::Path;

use crate::chat::ToolResult;
use crate::error::{Error, Result};
use crate::files::{Found, Next, Walked};
use crate::sys::at::Kind;

use super::Context;
use super::arguments::Arguments;

/// What a path's parameter wants.
const A_PATH: &str = "a path, relative to the workspace or absolute";

/// The path of a call, which has to be there.
fn path_of(arguments: &Arguments) -> Result<Cow<'_, str>> {
    let path = arguments.text("path", A_PATH)?;
    if path.is_empty() {
        return Err(Error::Failed(format!(
            "the parameter path is empty; it wants {A_PATH}"
        )));
    }
    Ok(path)
}

/// The folder of a call; the workspace when it is missing.
fn folder_of(arguments: &Arguments) -> Result<Cow<'_, str>> {
    let folder = arguments.optional_text("path", A_PATH)?;
    Ok(folder
        .filter(|path| !path.is_empty())
        .unwrap_or(Cow::Borrowed(".")))
}

/// How many of something a call wants, within bounds.
fn at_most(arguments: &Arguments, name: &str, usual: usize, most: usize) -> Result<usize> {
    let number = arguments.number(name, "a whole number")?;
    Ok(number.unwrap_or(usual).clamp(1, most))
}

/// A path as it can be shown in one line: what is no text, or would break the line, is replaced.
fn shown(path: &Path) -> String {
    path.to_string_lossy().replace(char::is_control, "\u{fffd}")
}

/// The path under which something that a walk found can be used in the next call.
fn below(start: &str, found: &Path) -> String {
    let start = start.trim_start_matches("./");
    if matches!(start, "" | ".") {
        shown(found)
    } else {
        shown(&Path::new(start).join(found))
    }
}

/// Goes into folders, except those that hold other tools' stores and not what people wrote.
fn enter(found: &Found<'_>) -> Next {
    let name = found.path.file_name();
    let is_store = name.is_some_and(|name| name == ".git" || name == ".results");
    if is_store && found.status.kind == Kind::Folder {
        Next::Pass
    } else {
        Next::Enter
    }
}

/// How a list of names ends.
struct Ends<'a> {
    /// Names at most.
    most: usize,
    /// When there is none.
    empty: &'a str,
    /// What to do when there are more.
    closer: &'a str,
}

/// Walks down a folder and lists what `line` makes a line of.
fn list(
    context: &Context<'_>,
    folder: &str,
    ends: &Ends<'_>,
    line: &dyn Fn(&Found<'_>) -> (Option<String>, Next),
) -> Result<ToolResult> {
    let mut text = String::new();
    let mut count = 0;
    let walked = context.workspace.walk(Path::new(folder), &mut |found| {
        if context.cancel.is_cancelled() {
            return Next::Stop;
        }
        let (line, next) = line(found);
        if let Some(line) = line {
            count += 1;
            if count > ends.most {
                return Next::Stop;
            }
            text.push_str(&line);
        }
        next
    })?;
    if context.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    if count == 0 {
        text.push_str(ends.empty);
    } else if count > ends.most {
        text.push_str(&format!(
            "[there are more than {}; {}]",
            ends.most, ends.closer
        ));
    }
    text.push_str(&left_out(walked));
    Ok(ToolResult {
        text,
        ..ToolResult::default()
    })
}

/// What a walk left out, as a note; empty when it was nothing.
fn left_out(walked: Walked) -> String {
    let mut note = String::new();
    if walked.cut {
        note.push_str("\n[too many or too deep folders: not everything was looked at; name a folder further down]");
    }
    if walked.unreadable > 0 {
        note.push_str("\n[some folders may not be read]");
    }
    note
}

/// A glob for paths: without `/` it is about the name only, at any depth.
struct Glob(String);

impl Glob {
    /// Checks the pattern.
    fn new(text: &str) -> Result<Self> {
        fast_glob::validate(text).map_err(|error| {
            Error::Failed(format!(
                "the glob {text:?} is wrong: {error}; use * ? ** [a-z] {{a,b}}, as in src/**/*.rs"
            ))
        })?;
        Ok(Self(text.trim_start_matches("./").to_owned()))
    }

    /// Whether the path, as it was found beneath the start, fits.
    fn matches(&self, path: &Path) -> bool {
        let subject = if self.0.contains('/') {
            Some(path.as_os_str())
        } else {
            path.file_name()
        };
        subject.is_some_and(|subject| fast_glob::glob_match(&self.0, subject.as_encoded_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_is_about_names_at_any_depth() {
        let matches = |glob: &str, path: &str| Glob::new(glob).unwrap().matches(Path::new(path));
        assert!(matches("*.rs", "src/a/b.rs"));
        assert!(matches("*.{rs,toml}", "Cargo.toml"));
        assert!(matches("src/**/*.rs", "src/a/b.rs"));
        assert!(matches("./src/*.rs", "src/b.rs"));
        assert!(!matches("src/*.rs", "src/a/b.rs"));
        assert!(!matches("*.rs", "src/b.rst"));
        assert!(Glob::new("src/{a").is_err());
    }

    #[test]
    fn a_path_that_was_found_can_be_used_again() {
        assert_eq!(below(".", Path::new("a/b")), "a/b");
        assert_eq!(below("./src", Path::new("b")), "src/b");
        assert_eq!(below("/data/", Path::new("b\nc")), "/data/b\u{fffd}c");
    }
}
