//! list_dir, find_files and grep.

use std::collections::VecDeque;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use regex_lite::{Regex, RegexBuilder};

use crate::base::cancel::Cancel;
use crate::base::chat::{ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::base::secret::Eraser;
use crate::sandbox::files::{Found, Next, Walked};
use crate::sys::at::Kind;
use crate::sys::time::CpuBudget;
use crate::text::count_of;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::SEARCH_TIME;
use super::path_or_workspace;
use super::read::{FileType, Lines};

/// Names in a listing, unless the call says otherwise.
const LIST_NAMES: usize = 200;
/// Names in a listing, whatever the call says.
const LIST_NAMES_MOST: usize = 5000;
/// Matching lines of a search, unless the call says otherwise.
const GREP_MATCHES: usize = 100;
/// Matching lines of a search, whatever the call says.
const GREP_MATCHES_MOST: usize = 1000;
/// Lines around a match, whatever the call says.
const GREP_CONTEXT_MOST: usize = 20;
/// Characters shown of a line that a search finds; minified files have one line.
const GREP_LINE_CHARS: usize = 300;
/// Bytes that one search reads: some ten seconds on a board.
const GREP_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes between two looks at the processor time of a search.
const SEARCH_CHECK_BYTES: usize = 4 * 1024;
/// Bytes of a line in which a pattern is looked for at once; with the longest pattern a second on a board.
const GREP_PIECE_BYTES: usize = 8 * 1024;
/// Bytes that two such pieces share: a longer match may be missed.
const GREP_SHARED_BYTES: usize = 1024;
/// Bytes of a regular expression or a glob as it is written.
const PATTERN_BYTES: usize = 1000;
/// Bytes of a regular expression as it is held: each byte of a text is compared with all of it.
const PATTERN_HELD_BYTES: usize = 128 * 1024;
/// Groups `{a,b}` of a glob, and commas in all of them: each combination is tried with each path.
const GLOB_GROUPS: usize = 6;
/// See [`GLOB_GROUPS`].
const GLOB_COMMAS: usize = 32;

pub(super) const LIST_DIR: ToolSpec = ToolSpec::fixed(
    "list_dir",
    "List a folder with sizes; \".\" is the workspace.",
    r#"{"type":"object","properties":{"path":{"type":"string"},"recursive":{"type":"boolean"},"max_entries":{"type":"integer"}},"required":["path"]}"#,
).read_only();

pub(super) fn list_dir(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = path_or_workspace(arguments)?;
    let is_recursive = arguments.flag("recursive")?;
    let listing = Listing {
        max: max_of(arguments, "max_entries", LIST_NAMES, LIST_NAMES_MOST)?,
        empty: "[the folder is empty]",
        advice: "raise max_entries, name a folder further down, or use find_files",
    };
    list(context, &path, &listing, &|found| {
        let next = if is_recursive {
            enter(found)
        } else {
            Next::Pass
        };
        (Some(format_entry(found)), next)
    })
}

fn format_entry(found: &Found<'_>) -> String {
    let name = display_path(found.path);
    match found.status.kind {
        Kind::File => format!("{name} ({} bytes)\n", found.status.size),
        Kind::Folder => format!("{name}/\n"),
        Kind::Link => format!("{name} (link)\n"),
        Kind::Special => format!("{name} (FIFO, socket or device)\n"),
    }
}

pub(super) const FIND_FILES: ToolSpec = ToolSpec::fixed(
    "find_files",
    "Find files and folders by name. A glob without \"/\" is matched with names at any \
     depth (*.md), one with \"/\" with paths from the start folder (src/**/*.rs).",
    r#"{"type":"object","properties":{"glob":{"type":"string"},"path":{"type":"string"},"type":{"enum":["file","folder"]},"max_entries":{"type":"integer"}}}"#,
).read_only();

pub(super) fn find_files(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = path_or_workspace(arguments)?;
    let wants = "a glob such as *.md";
    let glob = Glob::new(
        &arguments
            .optional_text("glob", wants)?
            .unwrap_or("**".into()),
    )?;
    let kind = parse_kind(arguments)?;
    let listing = Listing {
        max: max_of(arguments, "max_entries", LIST_NAMES, LIST_NAMES_MOST)?,
        empty: "[nothing found]",
        advice: "raise max_entries or use a closer glob",
    };
    list(context, &path, &listing, &|found| {
        let is_kind = kind.is_none_or(|kind| kind == found.status.kind);
        let is_wanted = is_kind && glob.matches(found.path);
        let suffix = match found.status.kind {
            Kind::Folder => "/",
            _ => "",
        };
        let line = is_wanted.then(|| path_below(&path, found.path) + suffix + "\n");
        (line, enter(found))
    })
}

fn parse_kind(arguments: &Arguments) -> Result<Option<Kind>> {
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

pub(super) const GREP: ToolSpec = ToolSpec::fixed(
    "grep",
    "Search text files for a regular expression (no look-around, no back-references).",
    r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string","description":"Only these files, as in find_files"},"case_insensitive":{"type":"boolean"},"context":{"type":"integer"},"max_matches":{"type":"integer"}},"required":["pattern"]}"#,
).read_only();

pub(super) fn grep(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = path_or_workspace(arguments)?;
    let start = Path::new(path.as_ref());
    let glob = arguments.optional_text("glob", "a glob such as *.md")?;
    let glob = glob.map(|text| Glob::new(&text)).transpose()?;
    let around = arguments.number("context", "a number of lines")?;
    let mut search = Search {
        regex: parse_pattern(arguments)?,
        around: around.unwrap_or(0).min(GREP_CONTEXT_MOST),
        max: max_of(arguments, "max_matches", GREP_MATCHES, GREP_MATCHES_MOST)?,
        cancel: context.caller.cancel,
        eraser: context.eraser,
        text: String::new(),
        matches: 0,
        bytes: 0,
        unreadable: 0,
        budget: CpuBudget::new(SEARCH_TIME),
        unchecked: 0,
        is_spent: false,
    };
    if context.workspace.kind(start)? != Kind::Folder {
        search.file(&path, context.workspace.open_read(start)?)?;
        return Ok(search.result());
    }
    let walked = context.workspace.walk(start, &mut |found| {
        let is_wanted = glob.as_ref().is_none_or(|glob| glob.matches(found.path));
        if found.status.kind == Kind::File && is_wanted {
            let searched = found
                .open()
                .and_then(|file| search.file(&path_below(&path, found.path), file));
            search.unreadable += usize::from(searched.is_err());
        }
        if search.is_over() {
            Next::Stop
        } else {
            enter(found)
        }
    })?;
    if context.caller.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    let mut result = search.result();
    result.text.push_str(&left_out(walked));
    Ok(result)
}

fn parse_pattern(arguments: &Arguments) -> Result<Regex> {
    let pattern = arguments.text("pattern", "a regular expression")?;
    if pattern.len() > PATTERN_BYTES {
        return Err(Error::TooLarge {
            what: "the pattern".to_owned(),
            limit: PATTERN_BYTES,
        });
    }
    RegexBuilder::new(&pattern)
        .case_insensitive(arguments.flag("case_insensitive")?)
        .size_limit(PATTERN_HELD_BYTES)
        .build()
        .map_err(|error| {
            Error::Failed(format!(
                "the pattern {pattern:?} is not understood: {error}; to search for ( [ * and the \
                 like themselves, put a \\ before them"
            ))
        })
}

struct Search<'a> {
    regex: Regex,
    /// Lines shown before and after a match.
    around: usize,
    max: usize,
    cancel: &'a Cancel,
    eraser: &'a Eraser,
    text: String,
    matches: usize,
    bytes: u64,
    unreadable: usize,
    budget: CpuBudget,
    /// Bytes since the last look at the budget.
    unchecked: usize,
    is_spent: bool,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.matches >= self.max
            || self.bytes >= GREP_BYTES
            || self.is_spent
            || self.cancel.is_cancelled()
    }

    /// Notes that so many bytes are about to be searched. Whether there is time for them.
    fn has_time_for(&mut self, bytes: usize) -> bool {
        self.unchecked = self.unchecked.saturating_add(bytes);
        if self.unchecked >= SEARCH_CHECK_BYTES {
            self.unchecked = 0;
            self.is_spent |= self.budget.is_spent();
        }
        !self.is_spent
    }

    /// Where a line matches first. A long line is searched in pieces, since a search cannot be ended within one.
    fn find(&mut self, line: &str) -> Option<usize> {
        let mut begin = 0;
        loop {
            let end = line.floor_char_boundary(begin + GREP_PIECE_BYTES);
            if !self.has_time_for(end - begin) {
                return None;
            }
            // What is before it decides whether a word or the line begins there.
            let context = line.floor_char_boundary(begin.saturating_sub(1));
            let find = |from: usize, end: usize| {
                let found = self.regex.find_at(&line[context..end], from - context);
                found.map(|found| (context + found.start(), context + found.end()))
            };
            let is_last = end == line.len();
            match find(begin, end) {
                // It may end there only because the piece does.
                Some((start, last)) if last == end && !is_last => {
                    let further = line.floor_char_boundary(end + GREP_PIECE_BYTES);
                    let again = find(start, further).map(|(start, _)| start);
                    if again == Some(start) {
                        return again;
                    }
                }
                Some((start, _)) => return Some(start),
                None if is_last => return None,
                None => {}
            }
            begin = line.floor_char_boundary(end - GREP_SHARED_BYTES);
        }
    }

    fn file(&mut self, shown: &str, file: File) -> Result<()> {
        let left = GREP_BYTES - self.bytes;
        let mut lines = Lines::new(file.take(left), Path::new(shown), self.cancel);
        if FileType::detect(lines.peek()?) == FileType::Text {
            let searched = self.lines(shown, &mut lines);
            self.bytes += lines.taken;
            searched?;
        }
        Ok(())
    }

    fn lines<R: Read>(&mut self, shown: &str, lines: &mut Lines<'_, R>) -> Result<()> {
        let mut line = Vec::new();
        let mut before: VecDeque<String> = VecDeque::new();
        let mut after = 0;
        let mut last_shown = 0;
        let mut number = 0;
        while lines.next(&mut line)?.is_some() {
            number += 1;
            let text = String::from_utf8_lossy(&line);
            let text = self.eraser.clean(&text);
            let is_over = self.matches >= self.max;
            let found = if is_over { None } else { self.find(&text) };
            if let Some(found) = found {
                self.matches += 1;
                self.heading(shown, last_shown, number - before.len());
                before.drain(..).for_each(|line| self.text.push_str(&line));
                self.show(number, ':', &excerpt(&text, found));
                after = self.around;
                last_shown = number;
            } else if after > 0 {
                self.show(number, '-', &excerpt(&text, 0));
                after -= 1;
                last_shown = number;
            } else if is_over || self.is_spent {
                break;
            } else if self.around > 0 {
                if before.len() == self.around {
                    before.pop_front();
                }
                before.push_back(format!("{number}- {}\n", excerpt(&text, 0)));
            }
        }
        Ok(())
    }

    /// Writes the path before the first lines of a file, and `--` where lines are left out.
    fn heading(&mut self, shown: &str, last_shown: usize, next: usize) {
        if last_shown == 0 {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(shown);
            self.text.push('\n');
        } else if self.around > 0 && next > last_shown + 1 {
            self.text.push_str("--\n");
        }
    }

    fn show(&mut self, number: usize, mark: char, line: &str) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{number}{mark} {line}");
    }

    fn result(self) -> ToolResult {
        let mut text = self.text;
        if self.matches == 0 {
            text.push_str("[no match]");
        }
        if self.matches >= self.max {
            let _ = write!(
                text,
                "\n[stopped after {} matches; use a closer pattern, a glob, or max_matches]",
                self.max
            );
        }
        if self.bytes >= GREP_BYTES {
            let _ = write!(
                text,
                "\n[stopped after {GREP_BYTES} bytes; name a folder further down, or a glob]"
            );
        }
        if self.is_spent {
            let _ = write!(
                text,
                "\n[stopped after {} s of processor time: not everything was searched; use a simpler pattern, a \
                 folder further down, or a glob]",
                SEARCH_TIME.as_secs()
            );
        }
        if self.unreadable > 0 {
            let files = count_of(self.unreadable, "file", "files");
            let _ = write!(text, "\n[{files} may not be read]");
        }
        ToolResult::new(text)
    }
}

/// A line as it is shown: the part of a long one around the match.
fn excerpt(line: &str, found: usize) -> String {
    if line.chars().nth(GREP_LINE_CHARS).is_none() {
        return line.to_owned();
    }
    let place = line[..found].chars().count();
    let skipped = place.saturating_sub(GREP_LINE_CHARS / 3);
    let shown = line.chars().skip(skipped).take(GREP_LINE_CHARS);
    let mut text = String::from(if skipped > 0 { "…" } else { "" });
    text.extend(shown);
    if line.chars().nth(skipped + GREP_LINE_CHARS).is_some() {
        text.push('…');
    }
    text
}

/// The number of results that a call asks for, within bounds.
fn max_of(arguments: &Arguments, name: &str, default: usize, max: usize) -> Result<usize> {
    let number = arguments.number(name, "a whole number")?;
    Ok(number.unwrap_or(default).clamp(1, max))
}

/// A path on one line: what is not UTF-8 or would break the line is replaced.
fn display_path(path: &Path) -> String {
    path.to_string_lossy().replace(char::is_control, "\u{fffd}")
}

/// The path under which the next call can use what a walk found.
fn path_below(start: &str, found: &Path) -> String {
    let start = start.trim_start_matches("./");
    if matches!(start, "" | ".") {
        display_path(found)
    } else {
        display_path(&Path::new(start).join(found))
    }
}

/// Enters folders, except those in which programs keep their data.
fn enter(found: &Found<'_>) -> Next {
    let name = found.path.file_name();
    let is_store = name.is_some_and(|name| name == ".git" || name == ".results");
    if is_store && found.status.kind == Kind::Folder {
        Next::Pass
    } else {
        Next::Enter
    }
}

/// The bounds and notes of a list of names.
struct Listing<'a> {
    /// The most names.
    max: usize,
    /// The text when there are none.
    empty: &'a str,
    /// What to do when there are more.
    advice: &'a str,
}

/// Walks a folder and lists what `line` makes a line of.
fn list(
    context: &Context<'_>,
    folder: &str,
    listing: &Listing<'_>,
    line: &dyn Fn(&Found<'_>) -> (Option<String>, Next),
) -> Result<ToolResult> {
    let mut text = String::new();
    let mut count = 0;
    let budget = CpuBudget::new(SEARCH_TIME);
    let mut is_spent = false;
    let walked = context.workspace.walk(Path::new(folder), &mut |found| {
        is_spent = budget.is_spent();
        if context.caller.cancel.is_cancelled() || is_spent {
            return Next::Stop;
        }
        let (line, next) = line(found);
        if let Some(line) = line {
            count += 1;
            if count > listing.max {
                return Next::Stop;
            }
            text.push_str(&line);
        }
        next
    })?;
    if context.caller.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    if count == 0 {
        text.push_str(listing.empty);
    } else if count > listing.max {
        text.push_str(&format!(
            "[there are more than {}; {}]",
            listing.max, listing.advice
        ));
    }
    if is_spent {
        let _ = write!(
            text,
            "\n[stopped after {} s of processor time: not everything was looked at; name a folder further down, or \
             use a simpler glob]",
            SEARCH_TIME.as_secs()
        );
    }
    text.push_str(&left_out(walked));
    Ok(ToolResult::new(text))
}

/// A note about what a walk left out; empty when that is nothing.
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

/// A glob for paths. Without `/` it matches names, at any depth.
struct Glob(String);

impl Glob {
    /// Parses a pattern.
    fn new(text: &str) -> Result<Self> {
        let count = |sign| text.bytes().filter(|byte| *byte == sign).count();
        if text.len() > PATTERN_BYTES || count(b'{') > GLOB_GROUPS || count(b',') > GLOB_COMMAS {
            return Err(Error::Failed(format!(
                "the glob is too long: it may have {PATTERN_BYTES} bytes, {GLOB_GROUPS} groups and {GLOB_COMMAS} commas"
            )));
        }
        fast_glob::validate(text).map_err(|error| {
            Error::Failed(format!(
                "the glob {text:?} is wrong: {error}; use * ? ** [a-z] {{a,b}}, as in src/**/*.rs"
            ))
        })?;
        Ok(Self(text.trim_start_matches("./").to_owned()))
    }

    /// Whether it matches a path relative to the start folder.
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
mod tests;
