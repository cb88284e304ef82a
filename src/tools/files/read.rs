//! read_file: a text file in parts, or an image. Also what it shares with grep: the type of a file, and
//! its lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::base::cancel::Cancel;
use crate::base::chat::{self, ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::base::limits::chat::IMAGE_BYTES;
use crate::base::limits::tools::NOTE_CHARS;
use crate::base::secret::Eraser;
use crate::sys::file::read_beginning;
use crate::sys::time::CpuBudget;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::skills::built_in::built_in_at;

use super::{SEARCH_TIME, document, required_path};
use crate::text::documents::Kind;

/// Characters that one read_file gives, however large a result may be.
const READ_CHARS: usize = 128 * 1024;
/// Bytes at a file's beginning by which it is told what it is.
const SNIFF_BYTES: usize = 8 * 1024;
/// Bytes of a line that are held; the rest of a longer one is passed over.
const LINE_BYTES: usize = 128 * 1024;

pub(in crate::tools) const READ_FILE: ToolSpec = ToolSpec::fixed(
    "read_file",
    "Read a text file, a document (pdf, docx, xlsx) or an image. A long file comes in parts; the end of a part says \
     how to go on.",
    r#"{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","description":"First line, from 1"},"limit":{"type":"integer"},"numbered":{"type":"boolean"},"page":{"type":"integer","description":"Of a document"}},"required":["path"]}"#,
).read_only();

pub(super) fn read_file(context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let path = required_path(arguments)?;
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
            .min(context.results.max_chars())
            .saturating_sub(NOTE_CHARS),
        eraser: context.eraser,
    };
    let file = match context.workspace.open_read(Path::new(path.as_ref())) {
        Err(error) => return read_built_in(context, &path, &part).unwrap_or(Err(error)),
        Ok(file) => file,
    };
    let failed = |error| Error::io("read", path.as_ref())(error);
    let size = file.metadata().map_err(failed)?.len();
    let head = read_beginning(&file, SNIFF_BYTES as u64).map_err(failed)?;
    let is_text =
        std::str::from_utf8(&head).map_or_else(|error| error.error_len().is_none(), |_| true);
    // Who edits a table needs it as it is.
    if let Some(kind) = Kind::detect(&path, &head).filter(|kind| *kind != Kind::Table || !is_text) {
        let page = arguments
            .number("page", "the number of a page")?
            .unwrap_or(1);
        return document::read((&path, kind, page), file, &part, context.caller.cancel);
    }
    match FileType::detect(&head) {
        Binary(what) => Ok(ToolResult {
            text: format!("{path} is not a text file: {what}, {size} bytes"),
            ..ToolResult::default()
        }),
        Image(media_type) => image(&path, media_type, head, file),
        Text => {
            let whole = Cursor::new(head).chain(file);
            let lines = Lines::new(whole, Path::new(path.as_ref()), context.caller.cancel);
            Ok(ToolResult::new(part.read(lines)?))
        }
    }
}

/// A skill that comes with the program, where the workspace has no file of that name.
fn read_built_in(context: &Context<'_>, path: &str, part: &Part<'_>) -> Option<Result<ToolResult>> {
    let below = path.strip_prefix(context.workspace.path().to_str()?);
    let below = below.and_then(|below| below.strip_prefix('/'));
    let text = built_in_at(below.unwrap_or(path))?;
    let is_free = |path: &Path| match context.workspace.kind(path) {
        Err(Error::Io { source, .. }) => source.kind() == ErrorKind::NotFound,
        _ => false,
    };
    is_free(Path::new(path)).then(|| {
        let lines = Lines::new(text.as_bytes(), Path::new(path), context.caller.cancel);
        part.read(lines).map(ToolResult::new)
    })
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
        images: vec![chat::Image {
            media_type: media_type.to_owned(),
            base64: STANDARD.encode(bytes),
            path: path.to_owned(),
        }],
        ..ToolResult::default()
    })
}

/// The part of a file that a call asks for.
pub(super) struct Part<'a> {
    first: usize,
    lines: usize,
    numbered: bool,
    chars: usize,
    /// Removes secrets.
    pub eraser: &'a Eraser,
}

impl Part<'_> {
    /// Its lines, and a note when there are more.
    pub fn read<R: Read>(&self, mut lines: Lines<'_, R>) -> Result<String> {
        let mut line = Vec::new();
        let before = self.first.saturating_sub(1);
        if before > 0 {
            let passed = lines.skip(before, CpuBudget::new(SEARCH_TIME))?;
            if passed < before {
                return Err(self.beyond_end(passed));
            }
        }
        let mut text = String::new();
        let mut left = self.chars;
        let mut number = self.first;
        while number - self.first < self.lines
            && let Some(read) = lines.next(&mut line)?
        {
            let shown = self.format(number, &line);
            let chars = shown.chars().count();
            if chars > left && number > self.first {
                return Ok(text + &continuation(number));
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
            text.push_str(&continuation(number));
        } else if number == self.first && number > 1 {
            return Err(self.beyond_end(number - 1));
        } else if number == 1 {
            text.push_str("[the file is empty]");
        }
        Ok(text)
    }

    fn beyond_end(&self, lines: usize) -> Error {
        Error::Failed(format!(
            "the offset {} is beyond the end: the file has {lines} lines",
            self.first
        ))
    }

    fn format(&self, number: usize, line: &[u8]) -> String {
        let line = String::from_utf8_lossy(line);
        let line = self.eraser.clean(&line);
        if self.numbered {
            format!("{number:>5}  {line}\n")
        } else {
            format!("{line}\n")
        }
    }
}

/// The note after a line that is too long to be shown whole.
const LINE_CUT: &str = "\n[this line is longer than what can be shown; grep finds what is in it]";

fn continuation(next: usize) -> String {
    format!(
        "\n[up to line {} of a longer file; go on with offset {next}]",
        next - 1
    )
}

/// Reads the lines of a file of any size in constant memory, until it is cancelled.
pub(super) struct Lines<'a, R> {
    reader: BufReader<R>,
    path: &'a Path,
    cancel: &'a Cancel,
    is_within_line: bool,
    /// Bytes read so far.
    pub(super) taken: u64,
}

/// What [`Lines::next`] has put into the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole line, without its newline.
    Whole,
    /// The first [`LINE_BYTES`] bytes of a longer line.
    Cut,
}

impl<'a, R: Read> Lines<'a, R> {
    /// The lines of a reader. The path is for errors.
    pub(super) fn new(reader: R, path: &'a Path, cancel: &'a Cancel) -> Self {
        Self {
            reader: BufReader::with_capacity(SNIFF_BYTES, reader),
            path,
            cancel,
            is_within_line: false,
            taken: 0,
        }
    }

    /// The next bytes, at most [`SNIFF_BYTES`], without consuming them; empty at the end.
    pub(super) fn peek(&mut self) -> Result<&[u8]> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            match self.reader.fill_buf() {
                // Returning the bytes from here would borrow the reader for the whole loop.
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", self.path)(error)),
            }
        }
        Ok(self.reader.buffer())
    }

    /// Reads the next line into the buffer, which is cleared first; `None` at the end. The rest of a cut
    /// line is skipped by the next call.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Result<Option<Line>> {
        line.clear();
        while self.is_within_line {
            let bytes = self.peek()?.len();
            self.consume(bytes);
        }
        if self.peek()?.is_empty() {
            return Ok(None);
        }
        self.is_within_line = true;
        while self.is_within_line && line.len() < LINE_BYTES {
            let bytes = self.peek()?;
            let part = bytes.len().min(LINE_BYTES - line.len());
            line.extend_from_slice(&bytes[..part]);
            let taken = self.consume(part);
            line.truncate(line.len() - (part - taken));
        }
        if self.is_within_line {
            return Ok(Some(Line::Cut));
        }
        for end in [b'\n', b'\r'] {
            if line.last() == Some(&end) {
                line.pop();
            }
        }
        Ok(Some(Line::Whole))
    }

    /// Passes so many lines without looking at them. Returns how many there were. Fails when the budget is spent.
    fn skip(&mut self, lines: usize, budget: CpuBudget) -> Result<usize> {
        let (mut passed, mut is_within) = (0, false);
        while passed < lines {
            if budget.is_spent() {
                return Err(Error::Failed(format!(
                    "stopped at line {passed} after {} s of processor time: a line that far into a file is found \
                     faster by a command, such as tail or sed",
                    SEARCH_TIME.as_secs()
                )));
            }
            let bytes = self.peek()?;
            if bytes.is_empty() {
                return Ok(passed + usize::from(is_within));
            }
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            let (mut count, mut end) = (0, 0);
            for (at, _) in ends.take(lines - passed) {
                (count, end) = (count + 1, at + 1);
            }
            if passed + count < lines {
                is_within = end < bytes.len() || (is_within && count == 0);
                end = bytes.len();
            }
            passed += count;
            self.reader.consume(end);
            self.taken += end as u64;
        }
        Ok(passed)
    }

    /// Consumes what was peeked, up to and including a newline; the end of the file ends the line too.
    /// Returns the number of bytes.
    fn consume(&mut self, most: usize) -> usize {
        let bytes = &self.reader.buffer()[..most];
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(most, |end| end + 1);
        self.is_within_line = end.is_none() && most > 0;
        self.reader.consume(taken);
        self.taken += taken as u64;
        taken
    }
}

/// What a file holds, according to its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// Text, as far as one can tell.
    Text,
    /// An image that models can see, with its media type.
    Image(&'static str),
    /// Anything else, with what it is called.
    Binary(&'static str),
}

use FileType::{Binary, Image, Text};

/// Offset, signature and what it means. The first match counts.
const SIGNATURES: [(usize, &[u8], FileType); 25] = [
    (0, b"\x89PNG\r\n\x1a\n", Image("image/png")),
    (0, b"\xff\xd8\xff", Image("image/jpeg")),
    (0, b"GIF87a", Image("image/gif")),
    (0, b"GIF89a", Image("image/gif")),
    (8, b"WEBP", Image("image/webp")),
    (0, b"%PDF-", Binary("PDF document")),
    (0, b"PK\x03\x04", Binary("ZIP archive or Office document")),
    (0, b"\x1f\x8b", Binary("gzip archive")),
    (0, b"BZh", Binary("bzip2 archive")),
    (0, b"\xfd7zXZ\0", Binary("xz archive")),
    (0, b"\x28\xb5\x2f\xfd", Binary("zstd archive")),
    (0, b"7z\xbc\xaf\x27\x1c", Binary("7z archive")),
    (257, b"ustar", Binary("tar archive")),
    (
        0,
        b"\xd0\xcf\x11\xe0",
        Binary(
            "file of an old Office program, which can be read once it is saved as .docx, .xlsx or PDF",
        ),
    ),
    (0, b"\x7fELF", Binary("ELF program or library")),
    (0, b"SQLite format 3\0", Binary("SQLite database")),
    (0, b"OggS", Binary("Ogg audio")),
    (0, b"ID3", Binary("MP3 audio")),
    (8, b"WAVE", Binary("WAV audio")),
    (8, b"AVI ", Binary("AVI video")),
    (4, b"ftyp", Binary("MP4 audio, video or image")),
    (0, b"\x1aE\xdf\xa3", Binary("Matroska or WebM video")),
    (0, b"\xff\xfe", Binary("UTF-16 text")),
    (0, b"\xfe\xff", Binary("UTF-16 text")),
    (0, b"\0asm", Binary("WebAssembly module")),
];

impl FileType {
    /// Recognises a file by its first bytes.
    pub fn detect(head: &[u8]) -> Self {
        let is_match = |offset: &usize, signature: &[u8]| {
            let rest = head.get(*offset..).unwrap_or_default();
            // These name a kind of RIFF file, and a text may have them there by chance.
            let is_riff =
                !matches!(signature, b"WEBP" | b"WAVE" | b"AVI ") || head.starts_with(b"RIFF");
            rest.starts_with(signature) && is_riff
        };
        let known = SIGNATURES
            .iter()
            .find(|(offset, signature, _)| is_match(offset, signature));
        match known {
            // A text can begin with a short signature of letters too.
            Some((_, b"BZh" | b"ID3" | b"OggS" | b"ftyp" | b"ustar", _)) if !head.contains(&0) => {
                Text
            }
            Some((_, _, found)) => *found,
            None if head.contains(&0) => Binary("binary data"),
            None => Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<(Vec<u8>, Line)> {
        let cancel = Cancel::new();
        let mut lines = Lines::new(text, Path::new("x"), &cancel);
        let mut line = Vec::new();
        let mut found = Vec::new();
        while let Some(read) = lines.next(&mut line).unwrap() {
            found.push((line.clone(), read));
        }
        assert_eq!(lines.taken, text.len() as u64);
        found
    }

    /// A reader without an end.
    struct Endless(u8);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(self.0);
            Ok(buffer.len())
        }
    }

    #[test]
    fn lines_before_an_offset_are_passed_within_a_budget() {
        let cancel = Cancel::new();
        for byte in [b'\n', b'x'] {
            let mut lines = Lines::new(Endless(byte), Path::new("x"), &cancel);
            let budget = CpuBudget::new(std::time::Duration::from_millis(20));
            let error = lines.skip(usize::MAX, budget).unwrap_err().to_string();
            assert!(error.contains("of processor time"), "{error}");
        }
        let long = vec![b'x'; 2 * SNIFF_BYTES];
        let text = [b"one\n\n", long.as_slice(), b"\nfour\nfive"].concat();
        for (first, next) in [(0, "one"), (1, ""), (3, "four"), (4, "five")] {
            let mut lines = Lines::new(text.as_slice(), Path::new("x"), &cancel);
            let budget = || CpuBudget::new(SEARCH_TIME);
            assert_eq!(lines.skip(first, budget()).unwrap(), first);
            let mut line = Vec::new();
            lines.next(&mut line).unwrap();
            assert_eq!(line, next.as_bytes());
        }
        for most in [5, 6, 1000] {
            let mut lines = Lines::new(text.as_slice(), Path::new("x"), &cancel);
            assert_eq!(lines.skip(most, CpuBudget::new(SEARCH_TIME)).unwrap(), 5);
        }
    }

    #[test]
    fn lines_end_with_the_file_too_and_long_ones_are_cut() {
        let lines = all(b"one\n\ntwo\r\nthree");
        let texts: Vec<&[u8]> = lines.iter().map(|(line, _)| line.as_slice()).collect();
        assert_eq!(texts, [&b"one"[..], b"", b"two", b"three"]);
        assert!(all(b"").is_empty());
        let long = [vec![b'x'; LINE_BYTES + 1], b"\nshort\n".to_vec()].concat();
        let lines = all(&long);
        assert_eq!(lines[0], (vec![b'x'; LINE_BYTES], Line::Cut));
        assert_eq!(lines[1], (b"short".to_vec(), Line::Whole));
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn a_raised_flag_ends_the_reading_also_within_a_line_that_never_ends() {
        let cancel = Cancel::new();
        let mut lines = Lines::new(std::io::repeat(b'x'), Path::new("x"), &cancel);
        assert_eq!(lines.peek().unwrap().len(), SNIFF_BYTES);
        assert_eq!(lines.next(&mut Vec::new()).unwrap(), Some(Line::Cut));
        let stopper = cancel.clone();
        let stopping = std::thread::spawn(move || stopper.cancel());
        let stopped = lines.next(&mut Vec::new());
        assert!(matches!(stopped, Err(Error::Stopped)));
        stopping.join().unwrap();
    }

    #[test]
    fn a_file_is_what_its_first_bytes_say() {
        let cases: [(&[u8], FileType); 10] = [
            (b"", Text),
            (b"fn main() {}", Text),
            ("Zürich, 日本".as_bytes(), Text),
            (b"caf\xe9", Text),
            (b"BZh is no archive", Text),
            (b"BZh91AY\0\0", Binary("bzip2 archive")),
            (b"\x89PNG\r\n\x1a\n\0", Image("image/png")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Image("image/webp")),
            (b"%PDF-1.7\n", Binary("PDF document")),
            (b"x\0y", Binary("binary data")),
        ];
        for (head, expected) in cases {
            assert_eq!(FileType::detect(head), expected, "{head:?}");
        }
    }
}
