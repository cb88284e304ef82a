//! grep: lines by regular expression, in a file or beneath a folder.

use std::collections::VecDeque;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use regex_lite::{Regex, RegexBuilder};

use crate::cancel::Cancel;
use crate::chat::{ToolResult, ToolSpec};
use crate::error::{Error, Result};
use crate::files::Next;
use crate::limits::tools::{
    GREP_BYTES, GREP_CONTEXT_MOST, GREP_LINE_CHARS, GREP_MATCHES, GREP_MATCHES_MOST, PATTERN_BYTES,
    PATTERN_HELD_BYTES,
};
use crate::secret::Eraser;
use crate::sys::at::Kind;
use crate::text::count_of;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::lines::Lines;
use super::media::{self, Media};
use super::{Glob, at_most, below, enter, folder_of, left_out};

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "grep",
    description: "Search text files for a regular expression (no look-around, no back-references). \
                  Shows each file's path, then its matching lines with their numbers.",
    parameters: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"File or folder; default: workspace"},"glob":{"type":"string","description":"Only these files, as in find_files"},"case_insensitive":{"type":"boolean"},"context":{"type":"integer","description":"Lines around a match"},"max_matches":{"type":"integer","description":"Default 100"}},"required":["pattern"]}"#,
    read_only: true,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = folder_of(arguments)?;
    let start = Path::new(path.as_ref());
    let glob = arguments.optional_text("glob", "a glob such as *.md")?;
    let glob = glob.map(|text| Glob::new(&text)).transpose()?;
    let around = arguments.number("context", "a number of lines")?;
    let mut search = Search {
        regex: regex_of(arguments)?,
        around: around.unwrap_or(0).min(GREP_CONTEXT_MOST),
        most: at_most(arguments, "max_matches", GREP_MATCHES, GREP_MATCHES_MOST)?,
        cancel: context.cancel,
        eraser: context.eraser,
        text: String::new(),
        matches: 0,
        bytes: 0,
        unreadable: 0,
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
                .and_then(|file| search.file(&below(&path, found.path), file));
            search.unreadable += usize::from(searched.is_err());
        }
        if search.is_over() {
            Next::Stop
        } else {
            enter(found)
        }
    })?;
    if context.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    let mut result = search.result();
    result.text.push_str(&left_out(walked));
    Ok(result)
}

fn regex_of(arguments: &Arguments) -> Result<Regex> {
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
    most: usize,
    cancel: &'a Cancel,
    eraser: &'a Eraser,
    text: String,
    matches: usize,
    bytes: u64,
    unreadable: usize,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.matches >= self.most || self.bytes >= GREP_BYTES || self.cancel.is_cancelled()
    }

    fn file(&mut self, shown: &str, file: File) -> Result<()> {
        let left = GREP_BYTES - self.bytes;
        let mut lines = Lines::new(file.take(left), Path::new(shown), self.cancel);
        if media::detect(lines.peek()?) == Media::Text {
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
            let is_over = self.matches >= self.most;
            let found = self.regex.find(&text).filter(|_| !is_over);
            if let Some(found) = found {
                self.matches += 1;
                self.heading(shown, last_shown, number - before.len());
                before.drain(..).for_each(|line| self.text.push_str(&line));
                self.show(number, ':', &excerpt(&text, found.start()));
                after = self.around;
                last_shown = number;
            } else if after > 0 {
                self.show(number, '-', &excerpt(&text, 0));
                after -= 1;
                last_shown = number;
            } else if is_over {
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

    /// The file's path before its first lines, a mark where lines between two matches are left out.
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
        if self.matches >= self.most {
            let _ = write!(
                text,
                "\n[stopped after {} matches; use a closer pattern, a glob, or max_matches]",
                self.most
            );
        }
        if self.bytes >= GREP_BYTES {
            let _ = write!(
                text,
                "\n[stopped after {GREP_BYTES} bytes; name a folder further down, or a glob]"
            );
        }
        if self.unreadable > 0 {
            let files = count_of(self.unreadable, "file", "files");
            let _ = write!(text, "\n[{files} may not be read]");
        }
        ToolResult {
            text,
            ..ToolResult::default()
        }
    }
}

/// A line as it is shown; of a long one the part in which something was found.
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
