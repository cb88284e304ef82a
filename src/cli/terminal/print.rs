//! The one place that writes to the terminal.

use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Read, Write};

use crate::error::{Error, Result};
use crate::limits::cli as limits;
use crate::text::{escape_json, reveal_but};

/// How [`bold`] begins and ends: all that this program writes in codes besides rendered answers.
const BOLD: [&str; 2] = ["\x1b[1m", "\x1b[0m"];

/// Writes to standard output, with everything spelt out that a terminal would obey or not show. A reader that has gone away (`peacrab … | head -1`) is no error; a full
/// disk behind a redirection is one.
pub fn out(text: &str) -> Result<()> {
    raw(&reveal_but(text, &BOLD))
}

/// Writes JSON and a newline to standard output, with everything escaped that a terminal would obey or
/// not show; see [`out`].
pub fn json(json: &str) -> Result<()> {
    raw(&format!("{}\n", escape_json(json)))
}

fn raw(text: &str) -> Result<()> {
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

/// For what writes to standard output by itself: a reader that has gone away is no error.
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

/// Says on standard error what went wrong. There is nobody to tell when that fails.
pub fn complain(text: &str) {
    raw_error(&format!("peacrab: {}\n", reveal_but(text, &[])));
}

/// Writes to standard error as it is: for what was cleaned before.
pub fn raw_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The text in bold where that is wanted: on a terminal, without NO_COLOR (no-color.org).
pub fn bold(text: &str) -> Cow<'_, str> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    match io::stdout().is_terminal() && !set("NO_COLOR") && !dumb {
        true => Cow::Owned([BOLD[0], text, BOLD[1]].concat()),
        false => Cow::Borrowed(text),
    }
}

/// Whether a person sits at the keyboard and can be asked.
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
