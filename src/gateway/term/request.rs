//! What a person wants with `/term`. PURE.

use super::{CELLS_MAX, COLUMNS, ROWS};
use crate::base::limits::gateway::term::SIZE;
use crate::sys::pty::Size;

/// The same for the screen of a phone, where a line of code has about forty characters.
const PHONE_SIZE: (u16, u16) = (40, 20);

/// What `/term` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Open a terminal, or show the open one again.
    Open {
        /// Whether outside the sandbox.
        unsandboxed: bool,
        /// The size that was typed.
        size: Option<Size>,
        /// The command; may be empty.
        line: &'a str,
    },
    /// Close the open one.
    Close,
    /// Send a picture of the open one.
    Picture,
    /// The size is not one that a terminal can have.
    BadSize,
}

/// The size of a terminal for which none was typed.
pub const USUAL: Size = Size {
    columns: SIZE.0,
    rows: SIZE.1,
};

/// Reads what follows `/term`: `[!] [SIZE] [COMMAND]`, `close` or `screenshot`.
pub fn parse(argument: &str) -> Request<'_> {
    let (unsandboxed, rest) = match argument.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, argument.trim_start()),
    };
    let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_alone = !unsandboxed && after.trim().is_empty();
    match word.to_ascii_lowercase().as_str() {
        "close" if is_alone => return Request::Close,
        "screenshot" if is_alone => return Request::Picture,
        _ => {}
    }
    match size(word) {
        Some(Some(size)) => Request::Open {
            unsandboxed,
            size: Some(size),
            line: after.trim(),
        },
        Some(None) => Request::BadSize,
        None => Request::Open {
            unsandboxed,
            size: None,
            line: rest.trim(),
        },
    }
}

/// The size that a word is; `None` when it is none, and `Some(None)` when no terminal can have it.
fn size(word: &str) -> Option<Option<Size>> {
    if word.eq_ignore_ascii_case("phone") {
        let (columns, rows) = PHONE_SIZE;
        return Some(Some(Size { columns, rows }));
    }
    let (columns, rows) = word.split_once(['x', 'X', '×'])?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(columns) || !is_number(rows) {
        return None;
    }
    let (columns, rows) = match (columns.parse::<u16>(), rows.parse::<u16>()) {
        (Ok(columns), Ok(rows)) => (columns, rows),
        _ => return Some(None),
    };
    let fits = COLUMNS.contains(&columns)
        && ROWS.contains(&rows)
        && u32::from(columns) * u32::from(rows) <= CELLS_MAX;
    Some(fits.then_some(Size { columns, rows }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(unsandboxed: bool, size: Option<(u16, u16)>, line: &str) -> Request<'_> {
        let size = size.map(|(columns, rows)| Size { columns, rows });
        Request::Open {
            unsandboxed,
            size,
            line,
        }
    }

    #[test]
    fn a_size_comes_before_the_command() {
        for (argument, expected) in [
            ("", open(false, None, "")),
            ("phone", open(false, Some(PHONE_SIZE), "")),
            ("60x24", open(false, Some((60, 24)), "")),
            ("60×24  top -d 1", open(false, Some((60, 24)), "top -d 1")),
            ("top -d 1", open(false, None, "top -d 1")),
            ("!", open(true, None, "")),
            ("! phone vi x", open(true, Some(PHONE_SIZE), "vi x")),
            ("!htop", open(true, None, "htop")),
            ("close", Request::Close),
            ("Screenshot", Request::Picture),
            ("close me", open(false, None, "close me")),
            ("0x10", Request::BadSize),
            ("132x60", Request::BadSize),
            ("99999x5", Request::BadSize),
            ("xx", open(false, None, "xx")),
            ("./12x", open(false, None, "./12x")),
        ] {
            assert_eq!(parse(argument), expected, "{argument}");
        }
    }

    #[test]
    fn the_sizes_that_are_offered_can_be_had() {
        let text = format!("{}x{}", SIZE.0, SIZE.1);
        assert_eq!(size(&text), Some(Some(USUAL)));
        assert!(matches!(size("phone"), Some(Some(_))));
    }
}
