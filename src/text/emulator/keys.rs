//! Keys by their names, and the bytes that a terminal sends for them. PURE.

use crate::base::limits::gateway::term::KEYS_MAX;

/// A key, with what is held down beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Characters as they are.
    Text(String),
    /// A byte of its own, such as Ctrl-C.
    Byte(u8),
    /// A key of the cursor's block: the letter that its codes end with. Application mode changes it.
    Cursor(char),
    /// Another key, whose codes are `CSI number ~`.
    Numbered(u8),
    /// F1 to F4: the letter that their codes end with.
    Function(char),
    /// A key of the cursor's block together with Ctrl.
    CtrlCursor(char),
    /// Shift and Tab.
    BackTab,
    /// Alt and another key.
    Alt(Box<Key>),
}

/// Why keys cannot be pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadKeys {
    /// There is none.
    Missing,
    /// This is not a key's name.
    Unknown(String),
    /// A quotation mark is not closed.
    Unclosed,
    /// There are more than [`KEYS_MAX`].
    TooMany,
}

/// The quotation marks of keyboards and phones: each with the one that closes it.
const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('“', '”'), ('„', '“'), ('«', '»')];

/// Reads key names and quoted texts, such as `ctrl-x y "a text" enter`.
pub fn parse(text: &str) -> Result<Vec<Key>, BadKeys> {
    let mut keys = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if keys.len() >= KEYS_MAX {
            return Err(BadKeys::TooMany);
        }
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        let closing = QUOTES.iter().find(|(open, _)| *open == first);
        // A quotation mark alone is that key.
        let closing =
            closing.filter(|_| !after.is_empty() && !after.starts_with(char::is_whitespace));
        if let Some((_, closing)) = closing {
            let (quoted, after) = after.split_once(*closing).ok_or(BadKeys::Unclosed)?;
            keys.push(Key::Text(quoted.to_owned()));
            rest = after.trim_start();
            continue;
        }
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        keys.push(named(word).ok_or_else(|| BadKeys::Unknown(word.to_owned()))?);
        rest = after.trim_start();
    }
    if keys.is_empty() {
        Err(BadKeys::Missing)
    } else {
        Ok(keys)
    }
}

/// The key with this name.
fn named(word: &str) -> Option<Key> {
    let lower = word.to_lowercase();
    let held = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| {
            let rest = lower.strip_prefix(name)?.strip_prefix(['-', '+'])?;
            // What it is held with is as it was typed.
            word.get(word.len().checked_sub(rest.len())?..)
        });
        found.next().filter(|rest| !rest.is_empty())
    };
    let single = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|_| chars.next().is_none())
    };
    if let Some(char) = single(word) {
        return Some(Key::Text(char.to_string()));
    }
    if let Some(rest) = held(&["ctrl", "control", "c", "strg"]) {
        return with_ctrl(rest, single(rest));
    }
    if let Some(char) = word.strip_prefix('^').and_then(single) {
        return with_ctrl("", Some(char));
    }
    if let Some(rest) = held(&["alt", "meta", "m"]) {
        return Some(Key::Alt(Box::new(named(rest)?)));
    }
    Some(match lower.as_str() {
        "enter" | "return" => Key::Byte(b'\r'),
        "tab" => Key::Byte(b'\t'),
        "esc" | "escape" => Key::Byte(0x1b),
        "space" => Key::Byte(b' '),
        "backspace" | "bs" => Key::Byte(0x7f),
        "shift-tab" | "backtab" => Key::BackTab,
        "delete" | "del" => Key::Numbered(3),
        "insert" | "ins" => Key::Numbered(2),
        "pgup" | "pageup" => Key::Numbered(5),
        "pgdn" | "pgdown" | "pagedown" => Key::Numbered(6),
        name => match cursor(name) {
            Some(letter) => Key::Cursor(letter),
            None => function(name)?,
        },
    })
}

fn cursor(name: &str) -> Option<char> {
    Some(match name {
        "up" => 'A',
        "down" => 'B',
        "right" => 'C',
        "left" => 'D',
        "home" => 'H',
        "end" => 'F',
        _ => return None,
    })
}

fn function(name: &str) -> Option<Key> {
    Some(match name.strip_prefix('f')?.parse::<u8>().ok()? {
        1 => Key::Function('P'),
        2 => Key::Function('Q'),
        3 => Key::Function('R'),
        4 => Key::Function('S'),
        5 => Key::Numbered(15),
        number @ 6..=10 => Key::Numbered(number + 11),
        number @ 11..=12 => Key::Numbered(number + 12),
        _ => return None,
    })
}

/// Ctrl with another key, which is this character if it is one.
fn with_ctrl(name: &str, char: Option<char>) -> Option<Key> {
    match char.map(|char| char.to_ascii_lowercase()) {
        Some(char @ ('a'..='z' | '[' | '\\' | ']' | '^' | '_')) => {
            Some(Key::Byte(char as u8 & 0x1f))
        }
        Some('@' | '2') => Some(Key::Byte(0)),
        Some('?') => Some(Key::Byte(0x7f)),
        Some('/') => Some(Key::Byte(0x1f)),
        Some(_) => None,
        None if name.eq_ignore_ascii_case("space") => Some(Key::Byte(0)),
        None => cursor(&name.to_lowercase()).map(Key::CtrlCursor),
    }
}

/// The bytes of keys, as a terminal in this mode sends them.
pub fn encode(keys: &[Key], application_cursor: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for key in keys {
        write(key, application_cursor, &mut bytes);
    }
    bytes
}

fn write(key: &Key, application_cursor: bool, bytes: &mut Vec<u8>) {
    let code = match key {
        Key::Text(text) => printable(text),
        Key::Byte(byte) => return bytes.push(*byte),
        Key::Cursor(letter) if application_cursor => format!("\x1bO{letter}"),
        Key::Cursor(letter) => format!("\x1b[{letter}"),
        Key::CtrlCursor(letter) => format!("\x1b[1;5{letter}"),
        Key::Numbered(number) => format!("\x1b[{number}~"),
        Key::Function(letter) => format!("\x1bO{letter}"),
        Key::BackTab => "\x1b[Z".to_owned(),
        Key::Alt(key) => {
            bytes.push(0x1b);
            return write(key, application_cursor, bytes);
        }
    };
    bytes.extend_from_slice(code.as_bytes());
}

/// The bytes of a text that is typed: a new line is the return key. Where the program wants to know what is pasted, a text
/// of several lines is marked as such.
pub fn encode_text(text: &str, bracketed_paste: bool) -> Vec<u8> {
    let text = text.replace("\r\n", "\n");
    let is_pasted = bracketed_paste && text.contains('\n');
    let mut bytes = Vec::with_capacity(text.len() + 16);
    if is_pasted {
        bytes.extend_from_slice(b"\x1b[200~");
    }
    bytes.extend_from_slice(printable(&text).replace('\n', "\r").as_bytes());
    if is_pasted {
        bytes.extend_from_slice(b"\x1b[201~");
    }
    bytes
}

/// A text without what could be a key: keys have names.
fn printable(text: &str) -> String {
    let is_typed = |char: &char| !char.is_control() || matches!(char, '\n' | '\t');
    text.chars().filter(is_typed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(text: &str) -> Vec<u8> {
        encode(&parse(text).unwrap(), false)
    }

    #[test]
    fn each_name_is_its_key() {
        let table: [(&str, &[u8]); 30] = [
            ("enter", b"\r"),
            ("TAB", b"\t"),
            ("Esc", b"\x1b"),
            ("space", b" "),
            ("backspace", b"\x7f"),
            ("delete", b"\x1b[3~"),
            ("up down left right", b"\x1b[A\x1b[B\x1b[D\x1b[C"),
            ("home end", b"\x1b[H\x1b[F"),
            ("pgup PgDn", b"\x1b[5~\x1b[6~"),
            (
                "f1 f4 f5 f6 f10 f11 f12",
                b"\x1bOP\x1bOS\x1b[15~\x1b[17~\x1b[21~\x1b[23~\x1b[24~",
            ),
            ("ctrl-x y", b"\x18y"),
            ("Ctrl-C", b"\x03"),
            ("ctrl+d", b"\x04"),
            ("^z", b"\x1a"),
            ("C-a", b"\x01"),
            ("ctrl-space", b"\0"),
            ("ctrl-[", b"\x1b"),
            ("ctrl-left", b"\x1b[1;5D"),
            ("alt-f", b"\x1bf"),
            ("alt-F", b"\x1bF"),
            ("alt-enter", b"\x1b\r"),
            ("M-x", b"\x1bx"),
            ("shift-tab", b"\x1b[Z"),
            (": w q enter", b":wq\r"),
            ("\":wq\" enter", b":wq\r"),
            ("“a b” enter", b"a b\r"),
            ("'it' esc", b"it\x1b"),
            ("\"/etc\"", b"/etc"),
            ("é", "é".as_bytes()),
            ("\"", b"\""),
        ];
        for (text, expected) in table {
            assert_eq!(bytes(text), expected, "{text}");
        }
        let up = parse("up").unwrap();
        assert_eq!(encode(&up, true), b"\x1bOA");
    }

    #[test]
    fn what_is_not_a_key_is_named() {
        assert_eq!(parse("  "), Err(BadKeys::Missing));
        assert_eq!(
            parse("enter entr"),
            Err(BadKeys::Unknown("entr".to_owned()))
        );
        assert_eq!(parse("\"open"), Err(BadKeys::Unclosed));
        for word in ["f0", "f13", "ctrl-é", "ctrl-xx", "alt-nothing", "ctrl-"] {
            assert_eq!(
                parse(word),
                Err(BadKeys::Unknown(word.to_owned())),
                "{word}"
            );
        }
        assert_eq!(parse(&"x ".repeat(KEYS_MAX + 1)), Err(BadKeys::TooMany));
    }

    #[test]
    fn a_text_is_typed_and_one_of_several_lines_is_pasted() {
        assert_eq!(encode_text("ls -l", true), b"ls -l");
        assert_eq!(encode_text("a\r\nb", false), b"a\rb");
        assert_eq!(encode_text("a\nb", true), b"\x1b[200~a\rb\x1b[201~");
        assert_eq!(
            encode_text("a\x1b[201~\nb\x03", true),
            b"\x1b[200~a[201~\rb\x1b[201~"
        );
    }

    proptest! {
        #[test]
        fn any_keys_are_read_or_refused(text in ".{0,60}", mode: bool) {
            if let Ok(keys) = parse(&text) {
                prop_assert!(keys.len() <= KEYS_MAX);
                let _ = encode(&keys, mode);
            }
            let typed = encode_text(&text, mode);
            let inner = typed.strip_prefix(b"\x1b[200~").unwrap_or(&typed);
            let inner = inner.strip_suffix(b"\x1b[201~").unwrap_or(inner);
            prop_assert!(!inner.contains(&0x1b) && !inner.contains(&3));
        }
    }
}
