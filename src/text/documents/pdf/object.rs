//! Objects of a PDF document (ISO 32000-1, 7.3), read leniently from bytes.

/// Arrays and dictionaries within one another.
const DEPTH: usize = 32;
/// Members of one array or dictionary.
const MEMBERS: usize = 200_000;
/// Bytes of a string or a name; a longer one ends there.
const STRING_BYTES: usize = 256 * 1024;

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// Nothing, or what means nothing.
    Null,
    /// A number of either kind.
    Number(f64),
    /// A name, without its slash.
    Name(String),
    /// A string of bytes.
    Text(Vec<u8>),
    /// An array.
    Array(Vec<Object>),
    /// A dictionary, or that of a stream.
    Dictionary(Dictionary),
    /// A reference to the object of a number.
    Reference(u32),
    /// A word: an operator, `true`, `endobj`.
    Word(String),
}

/// Objects by name.
pub type Dictionary = Vec<(String, Object)>;

impl Object {
    /// A number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A number that counts something.
    pub fn count(&self) -> Option<usize> {
        let number = self.number().filter(|number| *number >= 0.0);
        number.map(|number| number as usize)
    }

    /// A name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The members of an array; none of anything else.
    pub fn members(&self) -> &[Object] {
        match self {
            Self::Array(members) => members,
            _ => &[],
        }
    }

    /// The members of a dictionary; none of anything else.
    pub fn entries(&self) -> &[(String, Object)] {
        match self {
            Self::Dictionary(entries) => entries,
            _ => &[],
        }
    }

    /// A member of a dictionary; nothing where it has none of this name.
    pub fn get(&self, name: &str) -> &Object {
        let mut entries = self.entries().iter();
        let found = entries.find_map(|(known, value)| (known == name).then_some(value));
        found.unwrap_or(&Object::Null)
    }
}

/// Reads objects from bytes.
pub struct Lexer<'a> {
    bytes: &'a [u8],
    /// Its place.
    pub at: usize,
}

/// Whether a byte is white space.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | 9 | 10 | 12 | 13 | 32)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}

impl<'a> Lexer<'a> {
    /// Begins at an offset.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes white space and comments.
    pub fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    while self
                        .peek()
                        .is_some_and(|byte| byte != b'\n' && byte != b'\r')
                    {
                        self.at += 1;
                    }
                }
                byte if is_space(byte) => self.at += 1,
                _ => break,
            }
        }
    }

    /// The next object; `None` at the end. Two numbers and an `R` are a reference.
    pub fn next(&mut self) -> Option<Object> {
        self.object(0)
    }

    fn object(&mut self, depth: usize) -> Option<Object> {
        self.skip_space();
        let byte = self.peek()?;
        match byte {
            b'/' => {
                self.at += 1;
                let name = self.regular();
                Some(Object::Name(decode_name(name)))
            }
            b'(' => Some(Object::Text(self.literal())),
            b'<' if self.bytes.get(self.at + 1) == Some(&b'<') => {
                self.at += 2;
                Some(Object::Dictionary(self.dictionary(depth)))
            }
            b'<' => Some(Object::Text(self.hexadecimal())),
            b'[' => {
                self.at += 1;
                Some(Object::Array(self.array(depth)))
            }
            b'+' | b'-' | b'.' | b'0'..=b'9' => Some(self.number()),
            byte if is_delimiter(byte) => {
                self.at += 1;
                let is_end = byte == b'>' && self.peek() == Some(b'>');
                self.at += usize::from(is_end);
                Some(Object::Word(if is_end {
                    ">>".to_owned()
                } else {
                    char::from(byte).to_string()
                }))
            }
            _ => {
                let word = String::from_utf8_lossy(self.regular()).into_owned();
                Some(if word == "null" {
                    Object::Null
                } else {
                    Object::Word(word)
                })
            }
        }
    }

    /// Bytes up to white space or a delimiter.
    fn regular(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|byte| is_space(*byte) || is_delimiter(*byte));
        let end = end.unwrap_or(rest.len());
        self.at += end;
        rest.get(..end.min(STRING_BYTES)).unwrap_or_default()
    }

    fn number(&mut self) -> Object {
        let text = self.regular();
        let number = parse_number(text);
        if text.iter().all(u8::is_ascii_digit) && text.len() <= 10 {
            let before = self.at;
            self.skip_space();
            let generation = self.regular();
            let is_generation = !generation.is_empty()
                && generation.len() <= 5
                && generation.iter().all(u8::is_ascii_digit);
            if is_generation {
                self.skip_space();
                if self.regular() == b"R" {
                    return Object::Reference(number as u32);
                }
            }
            self.at = before;
        }
        Object::Number(number)
    }

    fn array(&mut self, depth: usize) -> Vec<Object> {
        let mut members = Vec::new();
        while depth < DEPTH && members.len() < MEMBERS {
            let before = self.at;
            match self.object(depth + 1) {
                None => break,
                Some(Object::Word(word)) if word == "]" => break,
                Some(Object::Word(word)) if ends_object(&word) => {
                    self.at = before;
                    break;
                }
                Some(object) => members.push(object),
            }
        }
        members
    }

    fn dictionary(&mut self, depth: usize) -> Dictionary {
        let mut entries = Vec::new();
        while depth < DEPTH && entries.len() < MEMBERS {
            let before = self.at;
            match self.object(depth + 1) {
                None => break,
                Some(Object::Name(name)) => {
                    let before = self.at;
                    match self.object(depth + 1) {
                        None => break,
                        Some(Object::Word(word)) if word == ">>" || ends_object(&word) => {
                            self.at = before;
                        }
                        Some(value) => entries.push((name, value)),
                    }
                }
                Some(Object::Word(word)) if word == ">>" => break,
                Some(Object::Word(word)) if ends_object(&word) => {
                    self.at = before;
                    break;
                }
                // Not a pair.
                Some(_) => {}
            }
        }
        entries
    }

    /// A string in brackets, which may have brackets in it.
    fn literal(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut depth = 0_usize;
        while let Some(byte) = self.peek()
            && text.len() < STRING_BYTES
        {
            self.at += 1;
            match byte {
                b'(' => {
                    depth += 1;
                    if depth == 1 {
                        continue;
                    }
                }
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                b'\\' => {
                    text.extend(self.escape());
                    continue;
                }
                _ => {}
            }
            text.push(byte);
        }
        text
    }

    fn escape(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'\r' => {
                self.at += usize::from(self.peek() == Some(b'\n'));
                return None;
            }
            b'\n' => return None,
            b'0'..=b'7' => {
                let mut value = u32::from(byte - b'0');
                for _ in 0..2 {
                    match self.peek() {
                        Some(digit @ b'0'..=b'7') => value = value * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    self.at += 1;
                }
                value as u8
            }
            other => other,
        })
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        self.at += 1;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|byte| *byte == b'>')
            .unwrap_or(rest.len());
        self.at += (end + 1).min(rest.len());
        let end = end.min(STRING_BYTES);
        unhex(rest.get(..end).unwrap_or_default())
    }
}

/// The bytes of hexadecimal digits; others are passed over, and a zero completes the last one.
pub fn unhex(text: &[u8]) -> Vec<u8> {
    let digits = text
        .iter()
        .filter_map(|byte| char::from(*byte).to_digit(16));
    let digits: Vec<u8> = digits.map(|digit| digit as u8).collect();
    let byte = |pair: &[u8]| match pair {
        [high, low] => high << 4 | low,
        [high] => high << 4,
        _ => 0,
    };
    digits.chunks(2).map(byte).collect()
}

/// Words that stand in no object.
fn ends_object(word: &str) -> bool {
    matches!(
        word,
        "obj" | "endobj" | "stream" | "endstream" | "xref" | "trailer"
    )
}

/// A number as programs write it: `--5`, `1.2.3` and `4-5` have been seen.
fn parse_number(text: &[u8]) -> f64 {
    let is_negative = text.starts_with(b"-");
    let text = text.iter().skip_while(|byte| matches!(byte, b'+' | b'-'));
    let (mut value, mut scale) = (0.0, None);
    for byte in text {
        match (byte, scale) {
            (b'0'..=b'9', None) => value = value * 10.0 + f64::from(byte - b'0'),
            (b'0'..=b'9', Some(place)) => {
                value += f64::from(byte - b'0') * place;
                scale = Some(place / 10.0);
            }
            (b'.', None) => scale = Some(0.1),
            _ => break,
        }
    }
    if is_negative { -value } else { value }
}

fn decode_name(name: &[u8]) -> String {
    if !name.contains(&b'#') {
        return String::from_utf8_lossy(name).into_owned();
    }
    let mut decoded = Vec::new();
    let mut rest = name;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'#', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                decoded.extend(unhex(&[*high, *low]));
                rest = after;
            }
            _ => decoded.push(*byte),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
