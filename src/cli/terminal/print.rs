//! The one place that writes to the terminal.

use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Read, Write};

use unicode_width::UnicodeWidthStr;

use super::{mode, status};
use crate::base::error::{Error, Result};
use crate::base::limits::cli as limits;
use crate::text::{escape_json, reveal_but};

/// How [`bold`] and [`dim`] begin, and how both end: all the codes that this program writes outside of
/// rendered answers.
const STYLES: [&str; 3] = ["\x1b[1m", "\x1b[2m", "\x1b[0m"];

/// Writes to standard output, with everything spelt out that a terminal would obey or not show. A reader
/// that has gone away (`peacrab … | head -1`) is not an error; a full disk behind a redirection is.
pub fn out(text: &str) -> Result<()> {
    raw(&reveal_but(text, &STYLES))
}

/// Writes JSON and a newline to standard output, with everything escaped that a terminal would obey or
/// not show; see [`out`].
pub fn json(json: &str) -> Result<()> {
    raw(&format!("{}\n", escape_json(json)))
}

fn raw(text: &str) -> Result<()> {
    let _line = status::hide();
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write to", "standard output")(error))
        }
        _ => Ok(()),
    }
}

/// For code that writes to standard output itself: a reader that has gone away is not an error.
pub fn unbroken(written: Result<()>) -> Result<()> {
    match written {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a line to standard output; see [`out`].
pub fn line(text: &str) -> Result<()> {
    out(&format!("{text}\n"))
}

/// Writes lines to standard output that are wrapped between words to a terminal's columns.
pub fn paragraph(text: &str) -> Result<()> {
    line(&wrap(&signs(text), columns_of(&io::stdout())))
}

/// The same lines, for a text that is not written alone.
pub fn wrapped(text: &str) -> String {
    wrap(text, columns())
}

/// The columns of standard output; a file or a pipe has no end.
pub fn columns() -> usize {
    columns_of(&io::stdout())
}

/// The columns that lines are wrapped to: those of a terminal; a file or a pipe gets them whole.
fn columns_of(stream: &impl IsTerminal) -> usize {
    if stream.is_terminal() {
        mode::size().0
    } else {
        usize::MAX
    }
}

/// The program's own text with signs that the terminal can show: where that is only ASCII, a hyphen for
/// a middle dot and so on.
pub fn signs(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(ascii_signs(text))
    }
}

/// The text with ASCII for the program's own signs.
pub fn ascii_signs(text: &str) -> String {
    const ASCII: [(char, &str); 5] = [('·', "-"), ('…', "..."), ('▸', ">"), ('✗', "x"), ('⚠', "!")];
    let replaced = |char: char| ASCII.iter().find(|(sign, _)| *sign == char);
    let mut plain = String::with_capacity(text.len());
    for char in text.chars() {
        match replaced(char) {
            Some((_, ascii)) => plain.push_str(ascii),
            None => plain.push(char),
        }
    }
    plain
}

/// Wraps each line between words, each part indented as the line is; a word that is longer than a line
/// is left as it is.
fn wrap(text: &str, columns: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            wrapped.push('\n');
        }
        let words = line.trim_start_matches(' ');
        let indent = &line[..line.len() - words.len()];
        wrapped.push_str(indent);
        let mut column = indent.len();
        for (index, word) in words.split(' ').enumerate() {
            let width = word.width();
            if index > 0 && column.saturating_add(1 + width) > columns {
                wrapped.push('\n');
                wrapped.push_str(indent);
                column = indent.len();
            } else if index > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += width;
        }
    }
    wrapped
}

/// Reports on standard error what went wrong. A failure to write that is ignored.
pub fn complain(text: &str) {
    let text = format!("peacrab: {}\n", reveal_but(text, &[]));
    raw_error(&wrap(&signs(&text), columns_of(&io::stderr())));
}

/// Writes to standard error as it is: for what was cleaned before.
pub fn raw_error(text: &str) {
    let _line = status::hide();
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Shows a remark of the program's own on standard error.
pub fn notice(text: &str) {
    let text = format!("· {}\n", reveal_but(text, &[]));
    raw_error(&wrap(&signs(&text), columns_of(&io::stderr())));
}

/// Writes codes for the terminal itself; text among them was cleaned before.
pub fn control(codes: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout
        .write_all(codes.as_bytes())
        .and_then(|()| stdout.flush());
}

/// Whether the terminal only takes text, one line after the other.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb" || terminal.is_empty())
}

/// Whether the terminal shows nothing but ASCII, as far as the locale says (setlocale(3)): then the
/// program's own signs are ASCII too.
pub fn is_ascii() -> bool {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    let is_utf8 = |locale: String| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    is_dumb() || !locale.is_some_and(is_utf8)
}

/// The text in bold, on a terminal and without NO_COLOR (no-color.org).
pub fn bold(text: &str) -> Cow<'_, str> {
    styled(text, STYLES[0])
}

/// The text faint, where [`bold`] would be bold.
pub fn dim(text: &str) -> Cow<'_, str> {
    styled(text, STYLES[1])
}

fn styled<'a>(text: &'a str, style: &str) -> Cow<'a, str> {
    if io::stdout().is_terminal() && !is_colourless() && !is_dumb() {
        Cow::Owned([style, text, STYLES[2]].concat())
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether the person wants no styles (no-color.org).
pub fn is_colourless() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether a person can be asked at the keyboard.
pub fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks and reads a line, without the white space around it. The end of the input is [`Error::Stopped`].
pub fn ask(question: &str) -> Result<String> {
    out(question)?;
    let mut answer = String::new();
    let stdin = io::stdin().lock();
    let read = stdin.take(limits::ANSWER_BYTES).read_line(&mut answer);
    match read.map_err(Error::io("read", "standard input"))? {
        0 => Err(Error::Stopped),
        _ => Ok(answer.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(wrap("one two three", 8), "one two\nthree");
        assert_eq!(wrap("a\nlonglong b 中文", 6), "a\nlonglong\nb 中文");
        assert_eq!(wrap("one two", usize::MAX), "one two");
        assert_eq!(wrap("  one two\n  a  b", 6), "  one\n  two\n  a  b");
    }
}
