//! Transfer encodings (RFC 2045, section 6), decoded while they arrive, and written. PURE.

use super::QUOTED_LINE_BYTES;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// How a part is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all: 7bit, 8bit and binary.
    Plain,
    /// Base64.
    Base64,
    /// Quoted-printable.
    Quoted,
}

impl Encoding {
    /// The encoding of this name. What is unknown is taken as it is.
    pub fn named(name: &str) -> Self {
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '-';
        let name = name
            .trim_start_matches(|char| !is_part(char))
            .to_ascii_lowercase();
        match name.split(|char| !is_part(char)).next().unwrap_or_default() {
            "base64" | "base-64" | "b64" => Self::Base64,
            "quoted-printable" | "quoted" | "quotedprintable" => Self::Quoted,
            _ => Self::Plain,
        }
    }

    /// Its letter in the id of a file.
    pub fn letter(self) -> char {
        match self {
            Self::Plain => 'p',
            Self::Base64 => 'b',
            Self::Quoted => 'q',
        }
    }

    /// The encoding of a letter.
    pub fn of_letter(letter: &str) -> Option<Self> {
        let all = [Self::Plain, Self::Base64, Self::Quoted];
        all.into_iter()
            .find(|one| letter.chars().eq([one.letter()]))
    }
}

/// Decodes a part piece by piece.
#[derive(Debug)]
pub struct Decoder {
    encoding: Encoding,
    /// Bits of Base64 that are not a whole byte, and how many there are.
    bits: u32,
    count: u32,
    /// Quoted-printable: an equals sign, and what has come after it.
    escape: Vec<u8>,
}

impl Decoder {
    /// A decoder at the beginning of a part.
    pub fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            bits: 0,
            count: 0,
            escape: Vec::new(),
        }
    }

    /// Decodes what has come.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match self.encoding {
            Encoding::Plain => out.extend_from_slice(bytes),
            Encoding::Base64 => bytes.iter().for_each(|byte| self.push_base64(*byte, out)),
            Encoding::Quoted => bytes.iter().for_each(|byte| self.push_quoted(*byte, out)),
        }
    }

    /// The part has ended.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        out.append(&mut self.escape);
    }

    /// Everything that is not of the alphabet is skipped, as RFC 2045 asks.
    fn push_base64(&mut self, byte: u8, out: &mut Vec<u8>) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            // What follows the end is a text of its own: some programs join them.
            b'=' => {
                (self.bits, self.count) = (0, 0);
                return;
            }
            _ => return,
        };
        self.bits = (self.bits << 6 | u32::from(value)) & 0xffff;
        self.count += 6;
        if self.count >= 8 {
            self.count -= 8;
            out.push((self.bits >> self.count) as u8);
        }
    }

    fn push_quoted(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.escape.is_empty() {
            match byte {
                b'=' => self.escape.push(byte),
                _ => out.push(byte),
            }
            return;
        }
        self.escape.push(byte);
        match self.escape.as_slice() {
            // White space at the end of a line was added on the way (RFC 2045, section 6.7).
            [b'=', blank @ .., b'\n'] if blank.trim_ascii().is_empty() => self.escape.clear(),
            [b'=', blank @ ..]
                if blank.trim_ascii().is_empty() && self.escape.len() < QUOTED_LINE_BYTES => {}
            [b'=', high] if high.is_ascii_hexdigit() => {}
            [b'=', high, low] => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    out.push(high << 4 | low);
                    self.escape.clear();
                }
                _ => self.leave(out),
            },
            _ => self.leave(out),
        }
    }

    /// It was not an escape: it is taken as it is, but for the last byte, which may begin one.
    fn leave(&mut self, out: &mut Vec<u8>) {
        let last = self.escape.pop();
        out.append(&mut self.escape);
        if let Some(last) = last {
            self.push_quoted(last, out);
        }
    }
}

/// The value of a hexadecimal digit.
pub fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

/// A text in quoted-printable, with CRLF for its newlines.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let (line, ends) = match line.strip_suffix('\n') {
            Some(line) => (line.strip_suffix('\r').unwrap_or(line), true),
            None => (line, false),
        };
        let bytes = line.as_bytes();
        let mut width = 0;
        for (index, byte) in bytes.iter().enumerate() {
            let is_last = index + 1 == bytes.len();
            // White space at the end of a line would be lost on the way.
            let is_plain = match byte {
                b' ' | b'\t' => !is_last,
                b'=' => false,
                byte => byte.is_ascii_graphic(),
            };
            let length = if is_plain { 1 } else { 3 };
            if width + length >= QUOTED_LINE_BYTES {
                out.push_str("=\r\n");
                width = 0;
            }
            // A server that forgets to double it would end the mail at a lonely full stop.
            let is_plain = is_plain && !(width == 0 && *byte == b'.');
            if is_plain {
                out.push(char::from(*byte))
            } else {
                out.push_str(&format!("={byte:02X}"))
            }
            width += if is_plain { 1 } else { 3 };
        }
        if ends {
            out.push_str("\r\n");
        }
    }
    out
}

/// Bytes in Base64, in lines of 76 characters with CRLF.
pub fn base64_lines(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + bytes.len() / 20 + 4);
    for line in bytes.chunks(QUOTED_LINE_BYTES / 4 * 3) {
        BASE64_STANDARD.encode_string(line, &mut out);
        out.push_str("\r\n");
    }
    out
}
