//! What follows `/sh`: a command, one of the history, and where it is to run. PURE.
//!
//! A `!` before a command has always meant *outside the sandbox*, so only what is no command recalls one:
//! `!!` is the last, `!12` the one with that number, `!?text` the last with that text in it.

use std::borrow::Cow;

use crate::store::state::chats::shells::History;

/// What was typed after `/sh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed<'a> {
    /// Nothing to run.
    Nothing,
    /// A command.
    Line {
        /// It.
        line: &'a str,
        /// Whether it is to run outside the sandbox.
        unsandboxed: bool,
    },
    /// An earlier command.
    Recall {
        /// Which one.
        which: Recalled<'a>,
        /// Whether it is to run outside the sandbox.
        unsandboxed: bool,
    },
}

/// An earlier command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled<'a> {
    /// The last one.
    Last,
    /// The one with this number.
    Number(u64),
    /// The last one that contains this.
    Containing(&'a str),
}

/// Reads what was typed.
pub fn read(argument: &str) -> Typed<'_> {
    let argument = argument.trim();
    let (line, unsandboxed) = match (recalled(argument), argument.strip_prefix('!')) {
        (Some(which), _) => {
            return Typed::Recall {
                which,
                unsandboxed: false,
            };
        }
        (None, Some(line)) => (line.trim(), true),
        (None, None) => (argument, false),
    };
    match (recalled(line), line.is_empty()) {
        (Some(which), _) => Typed::Recall { which, unsandboxed },
        (None, true) => Typed::Nothing,
        (None, false) => Typed::Line { line, unsandboxed },
    }
}

fn recalled(text: &str) -> Option<Recalled<'_>> {
    match text.strip_prefix('!')? {
        "!" => Some(Recalled::Last),
        rest => match rest.strip_prefix('?').map(str::trim) {
            Some("") => None,
            Some(text) => Some(Recalled::Containing(text)),
            None => {
                let digits = rest.strip_prefix('-').unwrap_or(rest);
                let is_number =
                    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                // No command has the number 0.
                is_number.then(|| Recalled::Number(rest.parse().unwrap_or(0)))
            }
        },
    }
}

/// The command that is meant.
pub fn find<'a>(history: &'a History, which: Recalled<'_>) -> Option<&'a str> {
    match which {
        Recalled::Last => history.lines.last().map(String::as_str),
        Recalled::Number(number) => history.get(number),
        Recalled::Containing(text) => {
            let mut lines = history.lines.iter().rev();
            lines.find(|line| line.contains(text)).map(String::as_str)
        }
    }
}

/// The number of a command that was just typed; `None` when it is not in the history as it was typed.
pub fn number_of(history: &History, line: &str) -> Option<u64> {
    let mut lines = history.numbered().rev();
    lines
        .find(|(_, known)| *known == line)
        .map(|(number, _)| number)
}

/// Undoes the long dashes that phones put into a command: iPhones make `—` of two hyphens as they are typed, and texts that
/// were copied have `–` for one or two. One or two letters are options such as `-la`, which no program takes with two
/// hyphens; more are a word, such as `--all`. In quotes, within a word and by itself a dash is left as it is.
pub fn undo_dashes(line: &str) -> Cow<'_, str> {
    if !line.contains(['—', '–']) {
        return Cow::Borrowed(line);
    }
    let (mut undone, mut quote, mut before) = (String::new(), None, ' ');
    for (at, char) in line.char_indices() {
        let rest = line.get(at + char.len_utf8()..).unwrap_or_default();
        let begins = quote.is_none() && (before.is_whitespace() || "|;&(".contains(before));
        undone.push_str(match char {
            '—' | '–' if begins => {
                hyphens(rest).unwrap_or(if char == '—' { "—" } else { "–" })
            }
            _ => line.get(at..at + char.len_utf8()).unwrap_or_default(),
        });
        quote = match quote {
            _ if before == '\\' => quote,
            None if matches!(char, '\'' | '"') => Some(char),
            Some(open) if open == char => None,
            quote => quote,
        };
        before = char;
    }
    Cow::Owned(undone)
}

/// What a dash before the rest of a word is meant to be; `None` when it begins no option.
fn hyphens(rest: &str) -> Option<&'static str> {
    let letters = rest.chars().take_while(char::is_ascii_alphanumeric).count();
    let after = rest.chars().nth(letters);
    let is_number = rest.starts_with(|char: char| char.is_ascii_digit());
    match letters {
        0 => None,
        1 | 2 if after != Some('-') => Some("-"),
        _ if is_number => Some("-"),
        _ => Some("--"),
    }
}

/// Bytes of a command that a button holds as it is; a longer one is named by its number.
const BUTTON_BYTES: usize = 48;

/// What to type to open a terminal with a command; `None` when it is too long to be on a button.
pub fn in_a_terminal(line: &str, unsandboxed: bool) -> Option<String> {
    let is_short = line.len() <= BUTTON_BYTES && !line.contains('\n') && !line.starts_with('!');
    let name = if unsandboxed { "/term!" } else { "/term" };
    is_short.then(|| format!("{name} {line}"))
}

/// What to type to run a command on the board itself; `None` when it is too long to be on a button.
pub fn on_the_board(line: &str, number: Option<u64>) -> Option<String> {
    if line.len() <= BUTTON_BYTES && !line.contains('\n') && !line.starts_with('!') {
        Some(format!("/sh! {line}"))
    } else {
        number.map(|number| format!("/sh! !{number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_dashes_of_phones_are_options_again() {
        for (typed, meant) in [
            ("ls —la", "ls -la"),
            ("ls –l /tmp", "ls -l /tmp"),
            ("ps —version", "ps --version"),
            ("ls —all —sort=size", "ls --all --sort=size"),
            ("git log —no-color", "git log --no-color"),
            ("tail —20 log", "tail -20 log"),
            ("echo a — b – c", "echo a — b – c"),
            ("ls|sort —r", "ls|sort -r"),
            ("echo 'a —la' \"—b\" x—y", "echo 'a —la' \"—b\" x—y"),
            ("echo it\\'s —n", "echo it\\'s -n"),
            ("echo 1 —ü", "echo 1 —ü"),
            ("ls -la", "ls -la"),
        ] {
            assert_eq!(undo_dashes(typed), meant);
        }
    }

    #[test]
    fn what_follows_sh_is_read() {
        let line = |line, unsandboxed| Typed::Line { line, unsandboxed };
        let recall = |which, unsandboxed| Typed::Recall { which, unsandboxed };
        for (argument, typed) in [
            ("", Typed::Nothing),
            ("!", Typed::Nothing),
            ("! ", Typed::Nothing),
            ("ls", line("ls", false)),
            ("!ls", line("ls", true)),
            ("! ls -l", line("ls -l", true)),
            ("!!", recall(Recalled::Last, false)),
            ("! !!", recall(Recalled::Last, true)),
            ("!!!", recall(Recalled::Last, true)),
            ("!12", recall(Recalled::Number(12), false)),
            ("! !12", recall(Recalled::Number(12), true)),
            ("!18446744073709551616", recall(Recalled::Number(0), false)),
            ("!-1", recall(Recalled::Number(0), false)),
            ("! !-1", recall(Recalled::Number(0), true)),
            ("!-", line("-", true)),
            ("!12x", line("12x", true)),
            ("!7z x a.7z", line("7z x a.7z", true)),
            ("!?make", recall(Recalled::Containing("make"), false)),
            ("! !?make", recall(Recalled::Containing("make"), true)),
            ("!?", line("?", true)),
            ("echo !!", line("echo !!", false)),
        ] {
            assert_eq!(read(argument), typed, "{argument:?}");
        }
    }

    #[test]
    fn a_command_of_the_history_is_found() {
        let history = History {
            first: 5,
            lines: ["make", "ls", "make install"].map(str::to_owned).to_vec(),
        };
        assert_eq!(find(&history, Recalled::Last), Some("make install"));
        assert_eq!(find(&history, Recalled::Number(6)), Some("ls"));
        assert_eq!(find(&history, Recalled::Number(4)), None);
        assert_eq!(find(&history, Recalled::Number(0)), None);
        assert_eq!(
            find(&history, Recalled::Containing("mak")),
            Some("make install")
        );
        assert_eq!(find(&history, Recalled::Containing("x")), None);
        assert_eq!(find(&History::default(), Recalled::Last), None);
        assert_eq!(number_of(&history, "ls"), Some(6));
        assert_eq!(on_the_board("ls", None).as_deref(), Some("/sh! ls"));
        let long = "x".repeat(100);
        assert_eq!(on_the_board(&long, Some(6)).as_deref(), Some("/sh! !6"));
        assert_eq!(on_the_board(&long, None), None);
    }

    proptest! {
        #[test]
        fn what_a_button_types_is_the_same_command_outside(line in "[a-z][ -~]{0,60}") {
            let line = line.trim();
            if let Some(command) = on_the_board(line, None) {
                let argument = command.strip_prefix("/sh").unwrap();
                prop_assert_eq!(read(argument), Typed::Line { line, unsandboxed: true });
            }
        }
    }
}
