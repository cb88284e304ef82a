//! The one place that writes to the terminal.

use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Read, Write};
use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
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

/// Writes a line to standard output; see [`out`]. On a terminal it is wrapped between words.
pub fn line(text: &str) -> Result<()> {
    out(&format!("{}\n", folded(text)))
}

/// The same lines, for a text that is not written alone.
pub fn folded(text: &str) -> String {
    fold(text, columns())
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
pub fn wrap(text: &str, columns: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            wrapped.push('\n');
        }
        let words = line.trim_start_matches(' ');
        let indent = &line[..line.len() - words.len()];
        wrapped.push_str(indent);
        push_words(words, indent, columns, &mut wrapped);
    }
    wrapped
}

/// Adds words to a line that is indented so far already, wrapped with the same indent.
fn push_words(words: &str, indent: &str, columns: usize, wrapped: &mut String) {
    let mut column = indent.len();
    for (index, word) in words.split(' ').enumerate() {
        let width = shown_width(word);
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

/// Wraps each line between words; of a row of a table, what is behind the last gap at its beginning stays in its column.
/// Other indented lines, which are commands to copy, stay as they are.
fn fold(text: &str, columns: usize) -> String {
    let fold_line = |line: &str| {
        let value = value_column(line);
        let indent = line.len() - line.trim_start_matches(' ').len();
        let is_command = indent > 0 && value.is_none_or(|column| column <= indent);
        if shown_width(line) <= columns || is_command {
            return line.to_owned();
        }
        let value = value.filter(|column| column * 2 <= columns);
        let (head, rest) = line.split_at(value.unwrap_or(indent));
        let indent = " ".repeat(shown_width(head));
        let mut folded = String::from(head);
        push_words(rest, &indent, columns, &mut folded);
        folded
    };
    let lines: Vec<String> = text.split('\n').map(fold_line).collect();
    lines.join("\n")
}

/// Where the last column of a row of a table begins, in bytes; `None` for prose. A gap has two spaces or more.
fn value_column(line: &str) -> Option<usize> {
    const HEAD_BYTES: usize = 40;
    let head = &line[..line.floor_char_boundary(HEAD_BYTES)];
    let gap = head.rfind("  ")? + 2;
    (!head[gap..].is_empty()).then_some(gap)
}

/// The columns of a text, without its styles.
fn shown_width(text: &str) -> usize {
    let styles: usize = STYLES
        .iter()
        .map(|style| text.matches(style).count() * style.width())
        .sum();
    text.width().saturating_sub(styles)
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

/// Writes lines of the program's own to standard error, wrapped as [`line()`] does.
pub fn guide(text: &str) {
    raw_error(&fold(text, columns_of(&io::stderr())));
}

/// Writes lines of the log, which were cleaned before, wrapped between words on a terminal.
pub fn log_line(text: &str) {
    raw_error(&wrap(text, columns_of(&io::stderr())));
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
    out(&folded(question))?;
    let mut answer = String::new();
    let stdin = io::stdin().lock();
    let read = stdin.take(limits::ANSWER_BYTES).read_line(&mut answer);
    match read.map_err(Error::io("read", "standard input"))? {
        0 => Err(Error::Stopped),
        _ => Ok(answer.trim().to_owned()),
    }
}

/// Asks for a line that the terminal does not show. Ctrl-C and Ctrl-D are [`Error::Stopped`].
pub fn ask_hidden(prompt: &str, keyboard: impl AsFd + Read) -> Result<String> {
    let failed = |error: rustix::io::Errno| Error::io("read", "the terminal")(error.into());
    let before = tcgetattr(&keyboard).map_err(failed)?;
    let mut hidden = before.clone();
    hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    let terminal = keyboard.as_fd().try_clone_to_owned();
    let terminal = terminal.map_err(Error::io("read", "the terminal"))?;
    tcsetattr(&terminal, OptionalActions::Now, &hidden).map_err(failed)?;
    // What is typed as soon as the question is there must be hidden too.
    raw_error(&reveal_but(prompt, &[]));
    let line = read_keys(keyboard);
    tcsetattr(&terminal, OptionalActions::Now, &before).map_err(failed)?;
    raw_error("\n");
    line
}

/// Reads what is typed up to the return key.
fn read_keys(mut keyboard: impl Read) -> Result<String> {
    let mut line = Vec::new();
    // Key by key: what is typed behind the return key is for the next question.
    let mut key = [0];
    for _ in 0..limits::ANSWER_BYTES {
        let read = keyboard.read(&mut key);
        if read.map_err(Error::io("read", "the terminal"))? == 0 {
            break;
        }
        match key[0] {
            b'\r' | b'\n' => return Ok(String::from_utf8_lossy(&line).into_owned()),
            CTRL_C | CTRL_D => return Err(Error::Stopped),
            BACKSPACE | DELETE => drop(line.pop()),
            CTRL_U => line.clear(),
            byte => line.push(byte),
        }
    }
    Err(Error::Stopped)
}

const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const CTRL_U: u8 = 0x15;
const BACKSPACE: u8 = 0x08;
const DELETE: u8 = 0x7f;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_line_can_be_corrected_and_stopped() {
        let read = |keys: &str| read_keys(keys.as_bytes()).ok();
        assert_eq!(read("sk-ab\x7fc\r").as_deref(), Some("sk-ac"));
        assert_eq!(read("wrong\x15right\n").as_deref(), Some("right"));
        assert_eq!(read("sk\x03\r"), None);
        assert_eq!(read("sk"), None);
    }

    #[test]
    fn rows_are_wrapped_in_their_column_and_commands_stay_whole() {
        assert_eq!(fold("one two three", 8), "one two\nthree");
        let row = "ok       disk      /home is writable, 12 GB free";
        assert_eq!(
            fold(row, 40),
            "ok       disk      /home is writable, 12\n                   GB free"
        );
        let command = "Run:\n  sudo systemctl restart peacrab";
        assert_eq!(fold(command, 10), command);
        let step = "  peacrab onboard              set up Peacrab and connect a model";
        assert_eq!(
            fold(step, 64),
            "  peacrab onboard              set up Peacrab and connect a\n                               model"
        );
        assert_eq!(fold(step, usize::MAX), step, "a pipe gets it whole");
        let styled = format!("{}one{} two", STYLES[0], STYLES[2]);
        assert_eq!(fold(&styled, 7), styled);
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(wrap("one two three", 8), "one two\nthree");
        assert_eq!(wrap("a\nlonglong b 中文", 6), "a\nlonglong\nb 中文");
        assert_eq!(wrap("one two", usize::MAX), "one two");
        assert_eq!(wrap("  one two\n  a  b", 6), "  one\n  two\n  a  b");
    }
}
