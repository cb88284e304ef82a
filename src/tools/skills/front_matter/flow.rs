//! Values in brackets and quotes, which may go over several lines: `{ "a": [b, 'c'] }`.

use super::LEVELS;
use super::{Member, Reader, Value, key_of};

/// Where such a value is being read.
struct Flow<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// The next byte.
    at: usize,
    /// Its line.
    line: usize,
    /// A line that is indented by no more than this and begins with a key ends the value, closed or not.
    parent: isize,
    /// Whether it was not closed.
    is_cut: bool,
}

impl Reader<'_> {
    /// The value in brackets or quotes that begins at the content of the next line.
    pub(super) fn flow_value(&mut self, parent: isize, level: usize) -> Value {
        let first = self.next;
        let mut flow = Flow {
            at: self.lines.get(first).map_or(0, |line| line.at),
            line: first,
            parent,
            is_cut: false,
            reader: self,
        };
        let value = flow.value(level);
        let (at, mut line, is_cut) = (flow.at, flow.line, flow.is_cut);
        if is_cut {
            while line < self.lines.len() && (line == first || !self.ends_flow(line, parent)) {
                line += 1;
            }
            self.note(self.number(first), "a closing bracket or quote is missing");
            self.next = line;
            return value;
        }
        let end = self.lines.get(line).map_or(at, |line| line.end);
        let rest = super::slice(self.text, at, end.max(at)).trim_start();
        let is_text = matches!(value, Value::Text(_)) && line == first;
        if !rest.is_empty() && !rest.starts_with('#') {
            self.note(
                self.number(line),
                "there is something behind the closing bracket or quote",
            );
            if is_text {
                // A sentence that begins with a quoted word.
                return Value::Text(self.plain(parent));
            }
        }
        self.next = line + 1;
        value
    }

    fn ends_flow(&self, line: usize, parent: isize) -> bool {
        let content = self.content(line);
        self.indent(line) <= parent
            && !content.starts_with(['"', '\''])
            && key_of(content).is_some()
    }
}

impl Flow<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.reader.text.as_bytes().get(self.at).copied()
    }

    fn fault(&mut self, text: &str) {
        let line = self.reader.number(self.line);
        self.reader.note(line, text);
    }

    /// Goes over a newline. False when the value ends there although it is not closed.
    fn enter_line(&mut self) -> bool {
        self.at += 1;
        self.line += 1;
        self.is_cut |= self.reader.ends_flow(self.line, self.parent);
        !self.is_cut
    }

    /// The next byte that is neither blank nor in a comment; `None` at the end.
    fn next(&mut self) -> Option<u8> {
        while !self.is_cut {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') => drop(self.enter_line()),
                Some(b'#') => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                Some(byte) => return Some(byte),
                None => self.is_cut = true,
            }
        }
        None
    }

    fn value(&mut self, level: usize) -> Value {
        match self.next() {
            Some(b'{' | b'[') if level > LEVELS => {
                self.fault("this is nested too deeply");
                self.is_cut = true;
                Value::Text(String::new())
            }
            Some(b'{') => self.map(level),
            Some(b'[') => self.list(level),
            Some(_) => Value::Text(self.text(false)),
            None => Value::Text(String::new()),
        }
    }

    fn list(&mut self, level: usize) -> Value {
        self.at += 1;
        let mut items = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b']' => {
                    self.at += 1;
                    break;
                }
                b',' => self.at += 1,
                b'}' => self.stray(),
                _ => items.push(self.value(level + 1)),
            }
        }
        Value::List(items)
    }

    fn map(&mut self, level: usize) -> Value {
        self.at += 1;
        let mut members = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b'}' => {
                    self.at += 1;
                    break;
                }
                b',' => self.at += 1,
                b']' | b'[' | b'{' | b':' => self.stray(),
                _ => {
                    let line = self.reader.number(self.line);
                    let key = self.text(true);
                    let mut value = Value::Text(String::new());
                    if self.next() == Some(b':') {
                        self.at += 1;
                        if !matches!(self.next(), Some(b',' | b'}' | b']') | None) {
                            value = self.value(level + 1);
                        }
                    }
                    members.push(Member { key, line, value });
                }
            }
        }
        Value::Map(members)
    }

    /// A bracket that closes or opens nothing.
    fn stray(&mut self) {
        self.fault("this bracket or colon does not belong here");
        self.at += 1;
    }

    /// A string, quoted or not. As a key it ends at a colon.
    fn text(&mut self, is_key: bool) -> String {
        match self.peek() {
            Some(b'"') => self.double_quoted(),
            Some(b'\'') => self.single_quoted(),
            _ => self.plain(is_key),
        }
    }

    fn plain(&mut self, is_key: bool) -> String {
        let from = self.at;
        let mut before = b'x';
        while let Some(byte) = self.peek() {
            match byte {
                b',' | b']' | b'}' | b'\n' => break,
                b':' if is_key => break,
                b'#' if before == b' ' => break,
                _ => before = byte,
            }
            self.at += 1;
        }
        let text = super::slice(self.reader.text, from, self.at).trim();
        match text {
            "null" | "~" => String::new(),
            _ => text.to_owned(),
        }
    }

    fn single_quoted(&mut self) -> String {
        self.at += 1;
        let mut text = Vec::new();
        while let Some(byte) = self.quoted_byte(&mut text) {
            if byte != b'\'' {
                text.push(byte);
            } else if self.peek() == Some(b'\'') {
                self.at += 1;
                text.push(byte);
            } else {
                break;
            }
        }
        to_string(text)
    }

    fn double_quoted(&mut self) -> String {
        self.at += 1;
        let mut text = Vec::new();
        while let Some(byte) = self.quoted_byte(&mut text) {
            match byte {
                b'"' => break,
                b'\\' => self.escape(&mut text),
                _ => text.push(byte),
            }
        }
        to_string(text)
    }

    /// The next byte within quotes; lines are joined on the way. `None` when the quotes are not closed.
    fn quoted_byte(&mut self, text: &mut Vec<u8>) -> Option<u8> {
        let byte = self.peek();
        match byte {
            Some(b'\n') => {
                while text
                    .last()
                    .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
                {
                    text.pop();
                }
                let mut breaks = 0;
                while matches!(self.peek(), Some(b'\n' | b' ' | b'\t' | b'\r')) {
                    match self.peek() {
                        Some(b'\n') if !self.enter_line() => return None,
                        Some(b'\n') => breaks += 1,
                        _ => self.at += 1,
                    }
                }
                match breaks {
                    1 => text.push(b' '),
                    _ => text.extend(std::iter::repeat_n(b'\n', breaks - 1)),
                }
                self.quoted_byte_in_line()
            }
            Some(_) => self.quoted_byte_in_line(),
            None => {
                self.is_cut = true;
                None
            }
        }
    }

    fn quoted_byte_in_line(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        self.is_cut |= byte.is_none();
        byte
    }

    /// What is behind a backslash.
    fn escape(&mut self, text: &mut Vec<u8>) {
        // A newline that is escaped joins the lines without a space; it is left to the next byte.
        let Some(byte) = self.peek().filter(|byte| *byte != b'\n') else {
            return;
        };
        self.at += 1;
        let char = match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'0' => '\0',
            b'x' => self.hexadecimal(2),
            b'u' => self.hexadecimal(4),
            b'U' => self.hexadecimal(8),
            _ => {
                text.push(byte);
                return;
            }
        };
        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn hexadecimal(&mut self, digits: usize) -> char {
        let mut code = self.digits(digits);
        // JSON writes a character beyond 16 bits as two.
        let behind = super::slice(self.reader.text, self.at, self.at + 2);
        if (0xd800..0xdc00).contains(&code) && behind == "\\u" {
            self.at += 2;
            let low = self.digits(4);
            code = 0x10000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
        }
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn digits(&mut self, digits: usize) -> u32 {
        let text = super::slice(self.reader.text, self.at, self.at + digits);
        match u32::from_str_radix(text, 16) {
            Ok(code) => {
                self.at += digits;
                code
            }
            Err(_) => u32::from(char::REPLACEMENT_CHARACTER),
        }
    }
}

/// The bytes are those of a string, but for escapes that cut a character in two.
fn to_string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
