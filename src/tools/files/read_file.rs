//! read_file: a text file in parts, or an image.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::chat::{Image, ToolResult, ToolSpec};
use crate::error::{Error, Result};
use crate::limits::chat::IMAGE_BYTES;
use crate::limits::tools::{NOTE_CHARS, READ_CHARS, SNIFF_BYTES};
use crate::secret::Eraser;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

use super::lines::{Line, Lines};
use super::media::{self, Media};
use super::path_of;

pub(in crate::tools) const SPEC: ToolSpec = ToolSpec {
    name: "read_file",
    description: "Read a text file, or look at an image (png, jpeg, gif, webp). A long file comes in \
                  parts; the end of a part says how to go on.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string","description":"Relative to the workspace, or absolute"},"offset":{"type":"integer","description":"First line, from 1"},"limit":{"type":"integer","description":"Number of lines"},"numbered":{"type":"boolean","description":"With line numbers"}},"required":["path"]}"#,
    read_only: true,
};

pub(in crate::tools) fn run(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = path_of(arguments)?;
    let part = Part {
        first: arguments
            .number("offset", "a line number")?
            .unwrap_or(1)
            .max(1),
        lines: arguments
            .number("limit", "a number of lines")?
            .unwrap_or(usize::MAX)
            .max(1),
        numbered: arguments.flag("numbered")?,
        chars: READ_CHARS
            .min(context.most_chars)
            .saturating_sub(NOTE_CHARS),
        eraser: context.eraser,
    };
    let mut file = context.workspace.open_read(Path::new(path.as_ref()))?;
    let failed = |error| Error::io("read", path.as_ref())(error);
    let size = file.metadata().map_err(failed)?.len();
    let mut head = Vec::new();
    let sniff = SNIFF_BYTES as u64;
    (&mut file)
        .take(sniff)
        .read_to_end(&mut head)
        .map_err(failed)?;
    match media::detect(&head) {
        Media::Binary(what) => Ok(ToolResult {
            text: format!("{path} is not a text file: {what}, {size} bytes"),
            ..ToolResult::default()
        }),
        Media::Image(media_type) => image(&path, media_type, head, file),
        Media::Text => {
            let whole = Cursor::new(head).chain(file);
            let lines = Lines::new(whole, Path::new(path.as_ref()), context.cancel);
            Ok(ToolResult {
                text: part.of(lines)?,
                ..ToolResult::default()
            })
        }
    }
}

fn image(path: &str, media_type: &str, mut bytes: Vec<u8>, file: File) -> Result<ToolResult> {
    let rest = (IMAGE_BYTES + 1).saturating_sub(bytes.len()) as u64;
    file.take(rest)
        .read_to_end(&mut bytes)
        .map_err(Error::io("read", path))?;
    if bytes.len() > IMAGE_BYTES {
        return Err(Error::TooLarge {
            what: format!("the image {path} ({media_type})"),
            limit: IMAGE_BYTES,
        });
    }
    Ok(ToolResult {
        text: format!("{path}: {media_type}, {} bytes", bytes.len()),
        images: vec![Image {
            media_type: media_type.to_owned(),
            base64: STANDARD.encode(bytes),
            path: path.to_owned(),
        }],
        ..ToolResult::default()
    })
}

/// Which part of a file is wanted.
struct Part<'a> {
    first: usize,
    lines: usize,
    numbered: bool,
    chars: usize,
    eraser: &'a Eraser,
}

impl Part<'_> {
    /// The lines, and a note when there are more of them.
    fn of<R: Read>(&self, mut lines: Lines<'_, R>) -> Result<String> {
        let mut line = Vec::new();
        for passed in 1..self.first {
            if lines.next(&mut line)?.is_none() {
                return Err(self.beyond(passed - 1));
            }
        }
        let mut text = String::new();
        let mut left = self.chars;
        let mut number = self.first;
        while number - self.first < self.lines
            && let Some(read) = lines.next(&mut line)?
        {
            let shown = self.shown(number, &line);
            let chars = shown.chars().count();
            if chars > left && number > self.first {
                return Ok(text + &goes_on(number));
            }
            text.extend(shown.chars().take(left));
            number += 1;
            if read == Line::Cut || chars > left {
                text.push_str(LINE_CUT);
                break;
            }
            left -= chars;
        }
        if !lines.peek()?.is_empty() {
            text.push_str(&goes_on(number));
        } else if number == self.first && number > 1 {
            return Err(self.beyond(number - 1));
        } else if number == 1 {
            text.push_str("[the file is empty]");
        }
        Ok(text)
    }

    fn beyond(&self, lines: usize) -> Error {
        Error::Failed(format!(
            "the offset {} is beyond the end: the file has {lines} lines",
            self.first
        ))
    }

    fn shown(&self, number: usize, line: &[u8]) -> String {
        let line = String::from_utf8_lossy(line);
        let line = self.eraser.clean(&line);
        if self.numbered {
            format!("{number:>5}  {line}\n")
        } else {
            format!("{line}\n")
        }
    }
}

/// Says that a line is longer than what can be shown.
const LINE_CUT: &str = "\n[this line is longer than what can be shown; grep finds what is in it]";

fn goes_on(next: usize) -> String {
    format!(
        "\n[up to line {} of a longer file; go on with offset {next}]",
        next - 1
    )
}
