//! Mails taken apart, as a server does it (RFC 2045, RFC 3501): the structure that it tells, the sections that it gives
//! out, and what a person's program shows.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// A mail, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Names in lower case, and unfolded values.
    pub fields: Vec<(String, String)>,
    /// The head as it came, with the empty line.
    pub head: Vec<u8>,
    /// What follows, as it is encoded.
    pub body: Vec<u8>,
    pub children: Vec<Part>,
}

impl Part {
    pub fn parse(raw: &[u8]) -> Self {
        let end = find(raw, b"\r\n\r\n").map_or(raw.len(), |at| at + 4);
        let (head, body) = match raw.starts_with(b"\r\n") {
            true => raw.split_at(2),
            false => raw.split_at(end),
        };
        let text = String::from_utf8_lossy(head)
            .replace("\r\n ", " ")
            .replace("\r\n\t", "\t");
        let fields = text.split("\r\n").filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_lowercase(), value.trim().to_owned()))
        });
        let mut part = Self {
            fields: fields.collect(),
            head: head.to_vec(),
            body: body.to_vec(),
            children: Vec::new(),
        };
        if part.kind().starts_with("multipart/") {
            let boundary = part.parameter("content-type", "boundary").unwrap();
            part.children = split(body, &boundary)
                .iter()
                .map(|raw| Self::parse(raw))
                .collect();
        }
        part
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    pub fn kind(&self) -> String {
        let kind = self.field("content-type").unwrap_or("text/plain");
        kind.split(';').next().unwrap().trim().to_lowercase()
    }

    pub fn parameter(&self, field: &str, name: &str) -> Option<String> {
        self.parameters(field)
            .into_iter()
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    fn parameters(&self, field: &str) -> Vec<(String, String)> {
        let rest = self.field(field).and_then(|value| value.split_once(';'));
        let rest = rest.map(|(_, rest)| rest).unwrap_or_default();
        let pairs = rest.split(';').filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((
                name.trim().to_lowercase(),
                value.trim().trim_matches('"').to_owned(),
            ))
        });
        pairs.collect()
    }

    /// The content without its transfer encoding.
    pub fn decoded(&self) -> Vec<u8> {
        match self
            .field("content-transfer-encoding")
            .unwrap_or_default()
            .to_lowercase()
            .as_str()
        {
            "base64" => {
                let text: Vec<u8> = self
                    .body
                    .iter()
                    .copied()
                    .filter(|byte| !byte.is_ascii_whitespace())
                    .collect();
                BASE64_STANDARD.decode(text).unwrap()
            }
            "quoted-printable" => unquote(&self.body),
            _ => self.body.clone(),
        }
    }

    /// The part with this number, such as `1.2`.
    pub fn section(&self, number: &str) -> Option<&Part> {
        let mut part = self;
        for index in number.split('.') {
            let index: usize = index.parse().ok()?;
            match part.children.is_empty() {
                true if index == 1 => {}
                true => return None,
                false => part = part.children.get(index.checked_sub(1)?)?,
            }
        }
        Some(part)
    }

    /// All parts that are not made of parts.
    pub fn leaves(&self) -> Vec<&Part> {
        match self.children.is_empty() {
            true => vec![self],
            false => self.children.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// What IMAP tells about it.
    pub fn structure(&self) -> String {
        let kind = self.kind();
        let (main, detail) = kind.split_once('/').unwrap();
        let listed = |pairs: Vec<(String, String)>| {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(name, value)| format!("{} {}", string(name), string(value)))
                .collect();
            if pairs.is_empty() {
                "NIL".to_owned()
            } else {
                format!("({})", pairs.join(" "))
            }
        };
        let parameters = listed(self.parameters("content-type"));
        let disposition = match self.field("content-disposition") {
            None => "NIL".to_owned(),
            Some(value) => {
                let name = value.split(';').next().unwrap().trim();
                format!(
                    "({} {})",
                    string(name),
                    listed(self.parameters("content-disposition"))
                )
            }
        };
        if !self.children.is_empty() {
            let children: String = self.children.iter().map(Self::structure).collect();
            return format!(
                "({children} {} {parameters} {disposition} NIL NIL)",
                string(detail)
            );
        }
        let encoding = self.field("content-transfer-encoding").unwrap_or("7bit");
        let lines = match main {
            "text" => format!(
                " {}",
                self.body.iter().filter(|byte| **byte == b'\n').count()
            ),
            _ => String::new(),
        };
        format!(
            "({} {} {parameters} NIL NIL {} {}{lines} NIL {disposition} NIL NIL)",
            string(main),
            string(detail),
            string(encoding),
            self.body.len()
        )
    }
}

/// A quoted string.
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn find(text: &[u8], words: &[u8]) -> Option<usize> {
    text.windows(words.len()).position(|window| window == words)
}

/// The parts between the lines with a boundary.
fn split(body: &[u8], boundary: &str) -> Vec<Vec<u8>> {
    let text = [b"\r\n", body].concat();
    let line = format!("\r\n--{boundary}");
    let mut parts = Vec::new();
    let mut rest = &text[find(&text, line.as_bytes()).expect("a boundary")..];
    loop {
        rest = &rest[line.len()..];
        if rest.starts_with(b"--") {
            return parts;
        }
        let start = find(rest, b"\r\n").unwrap() + 2;
        let end = find(&rest[start - 2..], line.as_bytes()).expect("the last boundary") + start - 2;
        parts.push(rest[start..end.max(start)].to_vec());
        rest = &rest[end..];
    }
}

fn unquote(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'=', [b'\r', b'\n', after @ ..]) => rest = after,
            (b'=', [high, low, after @ ..]) => {
                let digits = String::from_utf8(vec![*high, *low]).unwrap();
                out.push(u8::from_str_radix(&digits, 16).expect("two digits after ="));
                rest = after;
            }
            _ => out.push(*first),
        }
    }
    out
}

/// A field's value with its encoded words decoded: those of UTF-8 in Base64, which are all that is expected here.
pub(super) fn words(value: &str) -> String {
    let mut out = String::new();
    let mut bytes = Vec::new();
    for word in value.split(' ') {
        let inner = word
            .strip_prefix("=?UTF-8?B?")
            .and_then(|rest| rest.strip_suffix("?="));
        match inner {
            Some(inner) => bytes.extend(BASE64_STANDARD.decode(inner).unwrap()),
            None => {
                out += &String::from_utf8(std::mem::take(&mut bytes)).unwrap();
                if !out.is_empty() {
                    out.push(' ');
                }
                out += word;
            }
        }
    }
    out + &String::from_utf8(bytes).unwrap()
}
