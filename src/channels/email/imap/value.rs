//! What an IMAP server sends, as values (RFC 3501, section 9). PURE.

use crate::channels::email::SAID_CHARS;
use crate::text::one_line;

/// Lists within lists of an answer: a mail with parts in parts has few.
const VALUE_LEVELS: usize = 24;
/// Values of an answer: a mail with fifty attachments has two thousand.
const VALUES: usize = 8192;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An atom or a number, such as `UID` or `BODY[1]<0>`. NIL too.
    Word(String),
    /// A quoted string or a literal.
    Text(Vec<u8>),
    /// A list in parentheses.
    List(Vec<Value>),
}

impl Value {
    /// Its text; `None` for NIL and lists.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Word(word) if word.eq_ignore_ascii_case("NIL") => None,
            Self::Word(word) => Some(word.clone()),
            Self::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::List(_) => None,
        }
    }

    /// Its bytes, as [`Self::text`].
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Word(word) if word.eq_ignore_ascii_case("NIL") => None,
            Self::Word(word) => Some(word.as_bytes()),
            Self::Text(bytes) => Some(bytes),
            Self::List(_) => None,
        }
    }

    /// Its members; none for what is not a list.
    pub fn members(&self) -> &[Self] {
        match self {
            Self::List(members) => members,
            _ => &[],
        }
    }

    /// Its number.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Word(word) => word.parse().ok(),
            _ => None,
        }
    }

    fn is(&self, name: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(name))
    }

    /// The value after a name in a list such as `(UID 7 RFC822.SIZE 100)`. A name that ends with a bracket
    /// stands for all that begin with it: servers add where a part of a text begins.
    pub fn named(&self, name: &str) -> Option<&Self> {
        let is_meant = |value: &Self| match value {
            Self::Word(word) if name.ends_with(']') => word
                .get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name)),
            value => value.is(name),
        };
        let mut pairs = self.members().chunks_exact(2);
        pairs.find_map(|pair| match pair {
            [key, value] if is_meant(key) => Some(value),
            _ => None,
        })
    }
}

/// How a command ended, or what a server says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success, or information.
    Ok,
    /// The server refuses.
    No,
    /// The server did not understand.
    Bad,
    /// The server ends the connection.
    Bye,
    /// The connection is logged in already.
    PreAuth,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The server waits for more of a command.
    Continue,
    /// A status: of the command with this tag, or by itself.
    Status {
        /// The command's tag; empty for none.
        tag: String,
        /// The status.
        status: Status,
        /// What is in brackets before the text, such as `UIDNEXT 7`.
        code: String,
        /// The text for people.
        text: String,
    },
    /// Something about a message or the mailbox, such as `3 EXISTS`.
    Numbered {
        /// The number.
        number: u64,
        /// What it is, in upper case.
        kind: String,
        /// What follows.
        value: Option<Value>,
    },
    /// Other data, such as `SEARCH 1 2 3`.
    Data {
        /// What it is, in upper case.
        kind: String,
        /// What follows.
        values: Vec<Value>,
    },
}

impl Response {
    /// Reads an answer without its last newline, with its literals within; `None` for what is not one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut parser = Parser {
            bytes,
            at: 0,
            values: 0,
        };
        let tag = parser.plain_word();
        parser.skip_space();
        if tag == "+" {
            return Some(Self::Continue);
        }
        if tag.is_empty() {
            return None;
        }
        let word = parser.plain_word();
        parser.skip_space();
        if let Some(status) = status(&word) {
            let (code, text) = parser.status_text();
            let tag = if tag == "*" { String::new() } else { tag };
            return Some(Self::Status {
                tag,
                status,
                code,
                text,
            });
        }
        if tag != "*" || word.is_empty() {
            return None;
        }
        if let Ok(number) = word.parse() {
            let kind = parser.plain_word().to_ascii_uppercase();
            parser.skip_space();
            let value = if parser.is_at_end() {
                None
            } else {
                Some(parser.value(0)?)
            };
            return Some(Self::Numbered {
                number,
                kind,
                value,
            });
        }
        let mut values = Vec::new();
        while !parser.is_at_end() {
            values.push(parser.value(0)?);
            parser.skip_space();
        }
        Some(Self::Data {
            kind: word.to_ascii_uppercase(),
            values,
        })
    }
}

fn status(word: &str) -> Option<Status> {
    Some(match word.to_ascii_uppercase().as_str() {
        "OK" => Status::Ok,
        "NO" => Status::No,
        "BAD" => Status::Bad,
        "BYE" => Status::Bye,
        "PREAUTH" => Status::PreAuth,
        _ => return None,
    })
}

/// The bytes of the literal that a line announces at its end: `{12}`.
pub fn literal(line: &[u8]) -> Option<usize> {
    let rest = line.strip_suffix(b"}")?;
    let at = rest.iter().rposition(|byte| *byte == b'{')?;
    let digits = std::str::from_utf8(rest.get(at + 1..)?).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    values: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn skip_space(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// The bytes up to the next space.
    fn plain_word(&mut self) -> String {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b' ');
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        String::from_utf8_lossy(word).into_owned()
    }

    fn status_text(&mut self) -> (String, String) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let text = String::from_utf8_lossy(rest);
        let (code, text) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((code, text)) => (code.to_owned(), text.to_owned()),
            None => (String::new(), text.into_owned()),
        };
        (code, one_line(&text, SAID_CHARS))
    }

    fn value(&mut self, level: usize) -> Option<Value> {
        self.values += 1;
        if level > VALUE_LEVELS || self.values > VALUES {
            return None;
        }
        match self.peek()? {
            b'(' => {
                self.at += 1;
                let mut members = Vec::new();
                loop {
                    self.skip_space();
                    if self.peek()? == b')' {
                        self.at += 1;
                        return Some(Value::List(members));
                    }
                    members.push(self.value(level + 1)?);
                }
            }
            b'"' => self.quoted(),
            b'{' => self.literal(),
            b')' => None,
            _ => self.word(),
        }
    }

    fn quoted(&mut self) -> Option<Value> {
        let mut text = Vec::new();
        self.at += 1;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(Value::Text(text)),
                b'\\' => {
                    text.push(self.peek()?);
                    self.at += 1;
                }
                byte => text.push(byte),
            }
        }
    }

    fn literal(&mut self) -> Option<Value> {
        let rest = self.bytes.get(self.at..)?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = rest.get(..end)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let length = literal(line)?;
        let start = self.at + end + 1;
        let text = self.bytes.get(start..start.checked_add(length)?)?.to_vec();
        self.at = start + length;
        Some(Value::Text(text))
    }

    /// An atom. What is in brackets belongs to it: `BODY[HEADER.FIELDS (DATE)]`.
    fn word(&mut self) -> Option<Value> {
        let start = self.at;
        let mut is_bracketed = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'[' => is_bracketed = true,
                b']' => is_bracketed = false,
                b' ' | b'(' | b')' if !is_bracketed => break,
                b'\r' | b'\n' => break,
                _ => {}
            }
            self.at += 1;
        }
        let word = self.bytes.get(start..self.at)?;
        let is_something = !word.is_empty();
        is_something.then(|| Value::Word(String::from_utf8_lossy(word).into_owned()))
    }
}
