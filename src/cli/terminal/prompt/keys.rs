//! Bytes from the keyboard as keys (xterm's control sequences, and those of its kin).

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;

use crate::base::limits::agent::MESSAGE_BYTES;
use crate::cli::terminal::mode;
use crate::gateway::commands::parse;
use crate::sys::process::readable;

/// How long after a return key more input means that the lines were pasted. A person is slower, and
/// does not notice the wait; a paste over a slow line comes in pieces.
const PASTE_GAP: Duration = Duration::from_millis(30);
/// How long after an escape character the rest of a key's sequence may take.
const ESCAPE_GAP: Duration = Duration::from_millis(50);

/// What a key, or a paste, asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A pasted text.
    Text(String),
    /// The line is done.
    Enter,
    /// A new line in the text: Alt-Enter, Ctrl-J, or the end of a pasted line.
    Newline,
    /// Complete the word.
    Tab,
    /// Delete the character before the cursor.
    Backspace,
    /// Delete the character at the cursor; Ctrl-D does so too, or ends an empty line.
    Delete,
    /// Move.
    Left,
    /// Move.
    Right,
    /// A line up, or the history.
    Up,
    /// A line down, or the history.
    Down,
    /// An older line of the history.
    Previous,
    /// A newer line of the history.
    Next,
    /// To the beginning of the line.
    Home,
    /// To the end of the line.
    End,
    /// A word to the left.
    WordLeft,
    /// A word to the right.
    WordRight,
    /// Cut to the end of the line.
    CutToEnd,
    /// Cut to the beginning of the line.
    CutToStart,
    /// Cut the word before the cursor.
    CutWordLeft,
    /// Cut the word behind the cursor.
    CutWordRight,
    /// Insert what was cut.
    Paste,
    /// Search the history.
    Search,
    /// Clear the screen.
    Clear,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfText,
    /// Ctrl-Z.
    Suspend,
    /// The terminal is gone, or nobody waits for a key any more.
    Gone,
    /// The terminal has another size.
    Resized,
    /// Anything else.
    Other,
}

/// The keyboard, with the bytes that were read and not used.
#[derive(Default)]
pub struct Keyboard {
    bytes: VecDeque<u8>,
    /// Whether the last byte was waited for: it did not come together with the one before it.
    was_waiting: bool,
    /// How many bytes follow the last return key of what was typed before anyone read it.
    behind_return: Option<usize>,
    /// What ends the waiting for a key when it can be read.
    woken: Option<OwnedFd>,
    /// What can be read once the terminal has another size.
    resized: Option<OwnedFd>,
    /// Whether a key begins with the next byte.
    is_between_keys: bool,
    is_resized: bool,
}

impl Keyboard {
    /// Ends the waiting for a key with [`Key::Gone`] as soon as a descriptor can be read.
    pub fn ends_with(&mut self, woken: Option<OwnedFd>) {
        self.woken = woken;
    }

    /// Tells of another size of the terminal, while it waits for a key, as soon as a descriptor can be read.
    pub fn is_resized_by(&mut self, resized: Option<OwnedFd>) {
        self.resized = resized;
    }

    /// Takes what was typed before anyone read it. The last return key in it ends a text, although more
    /// may follow: the person has begun the next one. So does one before a command.
    pub fn take_typed_ahead(&mut self) -> io::Result<()> {
        self.bytes.extend(mode::take_typed());
        while readable([rustix::stdio::stdin()], Some(Duration::ZERO))?[0] {
            let before = self.bytes.len();
            self.fill(Some(Duration::ZERO))?;
            if self.bytes.len() == before || before > MESSAGE_BYTES {
                break;
            }
        }
        let last = self.bytes.iter().rposition(|byte| *byte == b'\r');
        self.behind_return = last.map(|last| self.bytes.len() - last - 1);
        Ok(())
    }

    /// Takes keys that were read elsewhere, before all others.
    pub fn put_back(&mut self, keys: Vec<u8>) {
        for byte in keys.into_iter().rev() {
            self.bytes.push_front(byte);
        }
    }

    /// Whether there are more keys already.
    pub fn has_more(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Waits for a key. `ends_here` says whether a return key ends the text even when more follows.
    pub fn read(&mut self, ends_here: impl Fn() -> bool) -> io::Result<Key> {
        self.is_between_keys = true;
        let first = self.next(None);
        self.is_between_keys = false;
        let Some(byte) = first? else {
            return Ok(match std::mem::take(&mut self.is_resized) {
                true => Key::Resized,
                false => Key::Gone,
            });
        };
        Ok(match byte {
            0x01 => Key::Home,
            0x02 => Key::Left,
            0x03 => Key::Interrupt,
            0x04 => Key::EndOfText,
            0x05 => Key::End,
            0x06 => Key::Right,
            0x08 | 0x7f => Key::Backspace,
            b'\t' => Key::Tab,
            b'\n' | b'\r' => self.read_return(byte, ends_here)?,
            0x0b => Key::CutToEnd,
            0x0c => Key::Clear,
            0x0e => Key::Next,
            0x10 => Key::Previous,
            0x12 => Key::Search,
            0x15 => Key::CutToStart,
            0x17 => Key::CutWordLeft,
            0x19 => Key::Paste,
            0x1a => Key::Suspend,
            0x1b => self.read_escape()?,
            0x20..=0x7e => Key::Char(byte.into()),
            0x80.. => self.read_char(byte)?,
            _ => Key::Other,
        })
    }

    /// The return key, the end of a pasted line, or Ctrl-J. Programs that play a person end their lines
    /// with either character; only a Ctrl-J that comes alone is one.
    fn read_return(&mut self, byte: u8, ends_here: impl Fn() -> bool) -> io::Result<Key> {
        let is_alone = self.was_waiting;
        if byte == b'\r' && self.bytes.front() == Some(&b'\n') {
            self.bytes.pop_front();
        }
        let is_last = byte == b'\r' && self.behind_return == Some(self.bytes.len());
        if ends_here() || is_last || self.is_before_command() {
            self.behind_return = None;
            return Ok(Key::Enter);
        }
        if self.bytes.is_empty() && (byte == b'\r' || !is_alone) {
            self.fill(Some(PASTE_GAP))?;
        }
        let is_newline = !self.bytes.is_empty() || (byte == b'\n' && is_alone);
        Ok(if is_newline { Key::Newline } else { Key::Enter })
    }

    /// Whether the next line of what was typed ahead is a slash command.
    fn is_before_command(&self) -> bool {
        if self.behind_return.is_none() || self.bytes.front() != Some(&b'/') {
            return false;
        }
        let line = self.bytes.iter().copied();
        let line = line.take_while(|byte| !matches!(byte, b'\r' | b'\n'));
        parse(&String::from_utf8_lossy(&line.collect::<Vec<u8>>())).is_some()
    }

    fn read_escape(&mut self) -> io::Result<Key> {
        Ok(match self.next(Some(ESCAPE_GAP))? {
            Some(b'\r' | b'\n') => Key::Newline,
            Some(b'b') => Key::WordLeft,
            Some(b'f') => Key::WordRight,
            Some(b'd') => Key::CutWordRight,
            Some(0x08 | 0x7f) => Key::CutWordLeft,
            Some(b'[') => self.read_sequence()?,
            Some(b'O') => match self.next(Some(ESCAPE_GAP))? {
                Some(last) => cursor_key(last, ""),
                None => Key::Other,
            },
            _ => Key::Other,
        })
    }

    fn read_sequence(&mut self) -> io::Result<Key> {
        /// Longer than any sequence of a key.
        const PARAMETERS: usize = 16;
        let mut parameters = String::new();
        while let Some(byte) = self.next(Some(ESCAPE_GAP))? {
            if (0x40..=0x7e).contains(&byte) {
                return match (byte, parameters.as_str()) {
                    (b'~', "200") => self.read_paste(),
                    // Alt or Shift with the return key, where the terminal tells them apart.
                    (b'~', "27;2;13" | "27;3;13") | (b'u', "13;2" | "13;3") => Ok(Key::Newline),
                    (b'~', "1" | "7") => Ok(Key::Home),
                    (b'~', "4" | "8") => Ok(Key::End),
                    (b'~', "3") => Ok(Key::Delete),
                    (last, parameters) => Ok(cursor_key(last, parameters)),
                };
            }
            if parameters.len() < PARAMETERS {
                parameters.push(byte.into());
            }
        }
        Ok(Key::Other)
    }

    /// A pasted text, up to its mark. What is longer than a message can be is dropped.
    fn read_paste(&mut self) -> io::Result<Key> {
        const END: &[u8] = b"\x1b[201~";
        let mut text = Vec::new();
        while let Some(byte) = self.next(None)? {
            text.push(byte);
            if text.ends_with(END) {
                text.truncate(text.len() - END.len());
                break;
            }
            if text.len() > 2 * MESSAGE_BYTES {
                text.drain(MESSAGE_BYTES..text.len() - END.len());
            }
        }
        let text = String::from_utf8_lossy(&text);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        Ok(Key::Text(text))
    }

    fn read_char(&mut self, first: u8) -> io::Result<Key> {
        let length = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return Ok(Key::Other),
        };
        let mut bytes = vec![first];
        while bytes.len() < length {
            match self.next(Some(ESCAPE_GAP))? {
                Some(byte) => bytes.push(byte),
                None => break,
            }
        }
        let char = std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| text.chars().next());
        Ok(char.map_or(Key::Other, Key::Char))
    }

    /// The next byte; `None` when there is none `within` that time, or none any more.
    fn next(&mut self, within: Option<Duration>) -> io::Result<Option<u8>> {
        self.was_waiting = self.bytes.is_empty();
        if self.was_waiting {
            self.fill(within)?;
        }
        Ok(self.bytes.pop_front())
    }

    fn fill(&mut self, within: Option<Duration>) -> io::Result<()> {
        let kept = mode::take_typed();
        if !kept.is_empty() {
            self.bytes.extend(kept);
            return Ok(());
        }
        let stdin = rustix::stdio::stdin();
        if within.is_some() && !readable([stdin], within)?[0] {
            return Ok(());
        }
        if within.is_none() {
            // In place of those that there are not.
            let resized = self.resized.as_ref().filter(|_| self.is_between_keys);
            let [woken, resized] =
                [self.woken.as_ref(), resized].map(|one| one.map_or(stdin, AsFd::as_fd));
            let [is_typed, is_woken, is_resized] = readable([stdin, woken, resized], None)?;
            if is_woken && self.woken.is_some() {
                return Ok(());
            }
            if is_resized && !is_typed {
                self.is_resized = rustix::io::read(resized, &mut [0; 64])? > 0;
                return Ok(());
            }
        }
        let mut block = [0; 1024];
        let count = match rustix::io::read(stdin, &mut block) {
            // The terminal is gone, or a signal asks the program to end: as at the end of the input.
            Err(Errno::IO | Errno::INTR) => 0,
            read => read?,
        };
        self.bytes.extend(&block[..count]);
        Ok(())
    }
}

fn cursor_key(last: u8, parameters: &str) -> Key {
    let by_words = matches!(parameters, "1;5" | "1;3" | "5" | "3");
    match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' if by_words => Key::WordRight,
        b'D' if by_words => Key::WordLeft,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of bytes that are all there at once, up to the last one.
    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keyboard = Keyboard::default();
        keyboard.put_back(bytes.to_vec());
        let mut keys = Vec::new();
        while keyboard.has_more() {
            keys.push(keyboard.read(|| false).unwrap());
        }
        keys
    }

    #[test]
    fn sequences_become_keys() {
        let table: &[(&[u8], Key)] = &[
            (b"a", Key::Char('a')),
            ("中".as_bytes(), Key::Char('中')),
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[1;5C", Key::WordRight),
            (b"\x1b[3~", Key::Delete),
            (b"\x1b[3;5~", Key::Other),
            (b"\x1b\r", Key::Newline),
            (b"\x1b[13;2u", Key::Newline),
            (b"\x1b\x7f", Key::CutWordLeft),
            (b"\x1b[200~a\rb\r\nc\x1b[201~", Key::Text("a\nb\nc".into())),
            (b"\xff", Key::Other),
        ];
        for (bytes, key) in table {
            assert_eq!(keys(bytes), std::slice::from_ref(key), "{bytes:?}");
        }
    }

    #[test]
    fn lines_that_come_at_once_are_one_text() {
        let [a, b] = ['a', 'b'].map(Key::Char);
        for text in ["a\rb", "a\nb", "a\r\nb"] {
            assert_eq!(
                keys(text.as_bytes()),
                [a.clone(), Key::Newline, b.clone()],
                "{text:?}"
            );
        }
        let mut keyboard = Keyboard::default();
        keyboard.put_back(b"/\rb".to_vec());
        assert_eq!(keyboard.read(|| true).unwrap(), Key::Char('/'));
        assert_eq!(keyboard.read(|| true).unwrap(), Key::Enter, "a command");
    }

    #[test]
    fn a_command_typed_ahead_behind_a_text_is_a_line_of_its_own() {
        for (typed, ends) in [
            ("a\r/help\r", true),
            ("a\r/etc/hosts is what?\r", false),
            ("a\rb\r", false),
        ] {
            let mut keyboard = Keyboard::default();
            keyboard.put_back(typed.as_bytes().to_vec());
            let last = typed.rfind('\r').unwrap();
            keyboard.behind_return = Some(typed.len() - last - 1);
            assert_eq!(keyboard.read(|| false).unwrap(), Key::Char('a'));
            let key = match ends {
                true => Key::Enter,
                false => Key::Newline,
            };
            assert_eq!(keyboard.read(|| false).unwrap(), key, "{typed:?}");
        }
    }
}
