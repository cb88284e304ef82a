//! write_file, append_file and edit_file.

use std::cmp::Reverse;
use std::fmt::Write;
use std::path::Path;

use crate::base::chat::{ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::sys::file::read_beginning;
use crate::sys::time::CpuBudget;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::required_path;
use std::time::Duration;

/// Bytes of a file that is edited: it is held whole, twice.
const EDIT_BYTES: usize = 2 * 1024 * 1024;
/// Places shown when the text to be replaced is not found.
const EDIT_CANDIDATES: usize = 3;
/// Lines shown of each such place.
const EDIT_CANDIDATE_LINES: usize = 12;
/// Line numbers named when the text to be replaced stands in several places.
const EDIT_PLACES: usize = 10;
/// Processor time in which places near to a text that was not found are looked for.
const EDIT_NEAR_TIME: Duration = Duration::from_secs(2);

pub(super) const WRITE_FILE: ToolSpec = ToolSpec::fixed(
    "write_file",
    "Write a whole file; makes missing folders. To change a \
     part use edit_file.",
    r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
);

pub(super) fn write_file(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = required_path(arguments)?;
    let content = arguments.text("content", "the file's whole text")?;
    context
        .workspace
        .write(Path::new(path.as_ref()), content.as_bytes())?;
    Ok(ToolResult {
        text: format!("Wrote {} bytes to {path}", content.len()),
        ..ToolResult::default()
    })
}

pub(super) const APPEND_FILE: ToolSpec = ToolSpec::fixed(
    "append_file",
    "Add text to a file's end, exactly as given, with its line breaks.",
    r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
);

pub(super) fn append_file(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = required_path(arguments)?;
    let content = arguments.text("content", "the text to add")?;
    context
        .workspace
        .append(Path::new(path.as_ref()), content.as_bytes())?;
    Ok(ToolResult {
        text: format!("Added {} bytes to {path}", content.len()),
        ..ToolResult::default()
    })
}

pub(super) const EDIT_FILE: ToolSpec = ToolSpec::fixed(
    "edit_file",
    "Replace text in a file. old_text must match exactly, white space too, and stand there \
     once: add lines around it, or set replace_all.",
    r#"{"type":"object","properties":{"path":{"type":"string"},"old_text":{"type":"string"},"new_text":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["path","old_text","new_text"]}"#,
);

pub(super) fn edit_file(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = required_path(arguments)?;
    let old = arguments.text("old_text", "the text to be replaced")?;
    let new = arguments.text("new_text", "its replacement; may be empty")?;
    let content = read_text(context, &path)?;
    let replace_all = arguments.flag("replace_all")?;
    let edited = edit(&content, &old, &new, replace_all)
        .map_err(|what| Error::Failed(format!("{path}: {what}")))?;
    context
        .workspace
        .write(Path::new(path.as_ref()), edited.content.as_bytes())?;
    Ok(ToolResult {
        text: match edited.lines.as_slice() {
            [line] => format!("Edited {path} at line {line}"),
            lines => format!("Edited {path} at {} places", lines.len()),
        },
        ..ToolResult::default()
    })
}

fn read_text(context: &Context<'_>, path: &str) -> Result<String> {
    let file = context.workspace.open_read(Path::new(path))?;
    let content = read_beginning(&file, EDIT_BYTES as u64 + 1).map_err(Error::io("read", path))?;
    if content.len() > EDIT_BYTES {
        return Err(Error::TooLarge {
            what: path.to_owned(),
            limit: EDIT_BYTES,
        });
    }
    String::from_utf8(content).map_err(|_| {
        Error::Failed(format!(
            "{path} is not UTF-8 text, and cannot be edited as such"
        ))
    })
}

#[derive(Debug)]
struct Edited {
    content: String,
    /// The lines of the old content at which something was replaced.
    lines: Vec<usize>,
}

/// Replaces a text that occurs once, or every occurrence. The error says why it cannot.
fn edit(content: &str, old: &str, new: &str, replace_all: bool) -> Result<Edited, String> {
    if old.is_empty() {
        return Err("old_text is empty; append_file and write_file add text".to_owned());
    }
    if old == new {
        return Err("old_text and new_text are the same".to_owned());
    }
    if !content.contains(old) && content.contains("\r\n") && !old.contains('\r') {
        // read_file shows lines without their ends, so the model cannot know that these end in CR LF.
        let (old, new) = (with_cr(old), with_cr(&new.replace("\r\n", "\n")));
        if content.contains(&old) {
            return edit(content, &old, &new, replace_all);
        }
    }
    let lines = lines_of_matches(content, old);
    match lines.len() {
        0 => Err(not_found(content, old)),
        1 => Ok(Edited {
            content: content.replacen(old, new, 1),
            lines,
        }),
        _ if replace_all => Ok(Edited {
            content: content.replace(old, new),
            lines,
        }),
        count => Err(format!(
            "old_text occurs {count} times, at lines {}; add lines around it until it is \
             unique, or set replace_all",
            join_lines(&lines)
        )),
    }
}

fn with_cr(text: &str) -> String {
    text.replace('\n', "\r\n")
}

fn lines_of_matches(content: &str, old: &str) -> Vec<usize> {
    let mut line = 1;
    let mut counted = 0;
    let places = content.match_indices(old).map(|(place, _)| {
        line += content[counted..place].matches('\n').count();
        counted = place;
        line
    });
    places.collect()
}

fn join_lines(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines
        .iter()
        .take(EDIT_PLACES)
        .map(usize::to_string)
        .collect();
    let more = if lines.len() > EDIT_PLACES {
        " …"
    } else {
        ""
    };
    numbers.join(", ") + more
}

fn not_found(content: &str, old: &str) -> String {
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    let mut text = String::from("old_text was not found");
    for (start, _) in candidates(&lines, &wanted) {
        let end = lines.len().min(start + wanted.len());
        let shown = (start..end).take(EDIT_CANDIDATE_LINES);
        // Writing to a String does not fail.
        let _ = write!(text, "\nNear to it, from line {}:", start + 1);
        for number in shown {
            let _ = write!(text, "\n{:>5}  {}", number + 1, lines[number]);
        }
    }
    if text.ends_with("found") {
        text.push_str(", nor anything near to it; read the file again");
    }
    text
}

/// Where the file is most similar to the wanted lines, best first, with a score: the number of lines
/// that are equal but for whitespace around them, and the similarity of the longest one.
fn candidates(lines: &[&str], wanted: &[&str]) -> Vec<(usize, u32)> {
    let Some((longest, anchor)) = wanted
        .iter()
        .map(|line| line.trim())
        .enumerate()
        .max_by_key(|(_, line)| line.len())
    else {
        return Vec::new();
    };
    let anchor = pairs(anchor);
    let mut found: Vec<(usize, u32)> = Vec::new();
    let budget = CpuBudget::new(EDIT_NEAR_TIME);
    for start in 0..lines.len() {
        // What was found until then helps as well.
        if budget.is_spent() {
            break;
        }
        let here = &lines[start..lines.len().min(start + wanted.len())];
        let equal = here.iter().zip(wanted).filter(|(line, wanted)| {
            let wanted = wanted.trim();
            !wanted.is_empty() && line.trim() == wanted
        });
        let similarity = here
            .get(longest)
            .map_or(0, |line| similarity(&anchor, line.trim()));
        let score = 100 * equal.count() as u32 + similarity;
        if score >= 50 {
            found.push((start, score));
        }
    }
    found.sort_by_key(|(start, score)| (Reverse(*score), *start));
    found.truncate(EDIT_CANDIDATES);
    found
}

/// The pairs of adjacent bytes of a line, sorted.
fn pairs(line: &str) -> Vec<[u8; 2]> {
    let mut pairs: Vec<[u8; 2]> = line
        .as_bytes()
        .windows(2)
        .map(|pair| [pair[0], pair[1]])
        .collect();
    pairs.sort_unstable();
    pairs
}

/// The similarity of two lines, from 0 to 100: the Dice coefficient of their byte pairs.
fn similarity(anchor: &[[u8; 2]], line: &str) -> u32 {
    // With such different lengths the score stays under half, and a minified line would take long.
    if line.len() > 3 * anchor.len() + 3 {
        return 0;
    }
    let other = pairs(line);
    let (mut left, mut right, mut common) = (anchor, other.as_slice(), 0);
    while let ([first, rest @ ..], [second, others @ ..]) = (left, right) {
        match first.cmp(second) {
            std::cmp::Ordering::Less => left = rest,
            std::cmp::Ordering::Greater => right = others,
            std::cmp::Ordering::Equal => {
                common += 1;
                (left, right) = (rest, others);
            }
        }
    }
    (200 * common / (anchor.len() + other.len()).max(1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_stands_there_once_is_replaced() {
        let edited = edit("one\ntwo\nthree\n", "two\nthr", "2\n3", false).unwrap();
        assert_eq!(edited.content, "one\n2\n3ee\n");
        assert_eq!(edited.lines, [2]);
    }

    #[test]
    fn a_text_that_stands_there_twice_is_replaced_only_when_all_are_meant() {
        let content = "x = 1\ny = 2\nx = 1\n";
        let error = edit(content, "x = 1", "x = 3", false).unwrap_err();
        assert!(error.contains("2 times, at lines 1, 3;"), "{error}");
        let edited = edit(content, "x = 1", "x = 3", true).unwrap();
        assert_eq!(edited.content, "x = 3\ny = 2\nx = 3\n");
        assert_eq!(edited.lines, [1, 3]);
    }

    #[test]
    fn a_text_that_is_not_there_brings_the_nearest_with_their_lines() {
        let content = "fn add(a: u8) {\n    a + 1\n}\n\nfn sub(a: u8) {\n\ta - 1\n}\n";
        let error = edit(content, "fn sub(a: u8) {\n    a - 1\n}", "", false).unwrap_err();
        assert!(
            error.starts_with("old_text was not found\nNear to it, from line 5:\n    5  fn sub(a: u8) {\n    6  \ta - 1\n    7  }"),
            "{error}"
        );
        let error = edit(content, "fn summ(a: u8) {", "", false).unwrap_err();
        assert!(error.contains("from line 5"), "{error}");
        let error = edit(content, "import numpy as np", "", false).unwrap_err();
        assert!(
            error.ends_with("nor anything near to it; read the file again"),
            "{error}"
        );
    }

    #[test]
    fn lines_that_end_in_cr_lf_keep_their_ends() {
        let edited = edit("a\r\nb\r\nc\r\n", "a\nb\n", "1\n2\n", false).unwrap();
        assert_eq!(edited.content, "1\r\n2\r\nc\r\n");
    }

    #[test]
    fn nothing_to_replace_is_an_error() {
        assert!(edit("a", "", "b", false).is_err());
        assert!(edit("a", "a", "a", false).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_asked_for_only_what_matches_changes(
            content in "[ab\r\n ]{0,40}", old in "[ab\n ]{0,5}", new in "[ab\n]{0,5}", all: bool,
        ) {
            if let Ok(edited) = edit(&content, &old, &new, all) {
                prop_assert!(all || edited.lines.len() == 1);
                prop_assert!(edited.lines.iter().all(|line| *line <= content.matches('\n').count() + 1));
            }
        }
    }
}
