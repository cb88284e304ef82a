//! Character sets: which one a page is in, and its characters as they arrive.
//!
//! The sets of East Asia are not here: their tables take 180 kB.

use std::io::{self, Read};

use crate::limits::web::{CHUNK_BYTES, SNIFF_BYTES};

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8; what is invalid becomes U+FFFD.
    Utf8,
    /// UTF-16; whether the high byte comes first.
    Utf16(bool),
    /// Windows-1252, which is what the web means by ISO-8859-1 and ASCII too.
    Windows1252,
    /// ISO-8859-15.
    Latin9,
}

impl Charset {
    /// The set of a name in a header or a page, such as `"UTF-8"`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
        Some(match &*name {
            "utf-8" | "utf8" | "unicode-1-1-utf-8" => Self::Utf8,
            "utf-16" | "utf-16le" | "unicode" | "ucs-2" => Self::Utf16(false),
            "utf-16be" => Self::Utf16(true),
            "ascii" | "us-ascii" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1"
            | "latin-1" | "l1" | "windows-1252" | "cp1252" | "x-cp1252" | "ansi_x3.4-1968" => {
                Self::Windows1252
            }
            "iso-8859-15" | "iso8859-15" | "iso_8859-15" | "latin9" | "latin-9" | "l9" => {
                Self::Latin9
            }
            _ => return None,
        })
    }
}

/// A page's bytes, of which the first are known before the rest is decoded.
pub struct Source<R> {
    reader: R,
    /// What has been read and not been decoded.
    bytes: Vec<u8>,
}

impl<R: Read> Source<R> {
    /// Reads the beginning.
    pub fn new(mut reader: R) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(CHUNK_BYTES);
        let beginning = &mut reader as &mut dyn Read;
        beginning.take(SNIFF_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(Self { reader, bytes })
    }

    /// The first bytes.
    pub fn beginning(&self) -> &[u8] {
        &self.bytes
    }

    /// The character set, from the page's first bytes, from what the header says, from what the page says
    /// if it is HTML, and else from how its first bytes look. A label that means nothing counts as none.
    /// The error is the name of a set that is not known here.
    pub fn charset(&self, header: Option<&str>, is_html: bool) -> Result<Charset, String> {
        match self.bytes.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => return Ok(Charset::Utf8),
            [0xff, 0xfe, ..] => return Ok(Charset::Utf16(false)),
            [0xfe, 0xff, ..] => return Ok(Charset::Utf16(true)),
            _ => {}
        }
        if let Some(charset) = header.and_then(labelled) {
            return charset;
        }
        let name = declared(&self.bytes).filter(|_| is_html);
        if let Some(charset) = name.as_deref().and_then(labelled) {
            return match charset? {
                // It could be read, so it is not.
                Charset::Utf16(_) => Ok(Charset::Utf8),
                charset => Ok(charset),
            };
        }
        Ok(match std::str::from_utf8(&self.bytes) {
            Err(error) if error.error_len().is_some() => Charset::Windows1252,
            _ => Charset::Utf8,
        })
    }

    /// Passes the characters on until there are no more, or `take` returns false.
    pub fn decode(
        mut self,
        charset: Charset,
        take: &mut dyn FnMut(char) -> bool,
    ) -> io::Result<()> {
        let mark: &[u8] = match charset {
            Charset::Utf8 => &[0xef, 0xbb, 0xbf],
            Charset::Utf16(true) => &[0xfe, 0xff],
            Charset::Utf16(false) => &[0xff, 0xfe],
            Charset::Windows1252 | Charset::Latin9 => &[],
        };
        if self.bytes.starts_with(mark) {
            self.bytes.drain(..mark.len());
        }
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            let Some(decoded) = decode(charset, &self.bytes, take) else {
                return Ok(());
            };
            self.bytes.drain(..decoded.min(self.bytes.len()));
            let count = match self.reader.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if count == 0 {
                // A character of which only a part has come.
                if !self.bytes.is_empty() {
                    take(char::REPLACEMENT_CHARACTER);
                }
                return Ok(());
            }
            self.bytes.extend(chunk.iter().take(count));
        }
    }
}

/// How the labels of the other sets begin (Encoding standard, section 4.2).
const OTHERS: [&str; 24] = [
    "gb", "x-gbk", "chinese", "iso-ir", "big5", "cn-big5", "x-x-big5", "shift", "sjis", "x-sjis",
    "ms_kanji", "windows", "ms932", "euc", "x-euc", "iso-2022", "iso-8859", "iso8859", "iso_8859",
    "ks", "koi", "cp", "mac", "x-mac",
];

/// The set of a label; `None` where the label means nothing. The error is the name of another set.
fn labelled(label: &str) -> Option<Result<Charset, String>> {
    let name = label.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
    match Charset::named(&name) {
        Some(charset) => Some(Ok(charset)),
        None => OTHERS
            .iter()
            .any(|other| name.starts_with(other))
            .then_some(Err(name)),
    }
}

/// The character set that the beginning of a page names: `<meta charset=utf-8>`, or as a part of `content`.
fn declared(beginning: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let (_, rest) = text.split_once("<meta")?;
    let (_, rest) = rest.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?;
    let rest = rest.trim_start().trim_start_matches(['"', '\'']);
    let is_part =
        |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | ':' | '.');
    let name = rest.split(|char| !is_part(char)).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Passes characters on, and gives how many bytes they had: all but those of a character that is not
/// complete. `None` when `take` had enough.
fn decode(charset: Charset, bytes: &[u8], take: &mut dyn FnMut(char) -> bool) -> Option<usize> {
    match charset {
        Charset::Utf8 => decode_utf8(bytes, take),
        Charset::Utf16(is_big) => decode_utf16(is_big, bytes, take),
        Charset::Windows1252 => {
            let mut chars = bytes.iter().map(|byte| windows_1252(*byte));
            chars.all(take).then_some(bytes.len())
        }
        Charset::Latin9 => {
            let mut chars = bytes.iter().map(|byte| latin_9(*byte));
            chars.all(take).then_some(bytes.len())
        }
    }
}

fn decode_utf8(mut bytes: &[u8], take: &mut dyn FnMut(char) -> bool) -> Option<usize> {
    let length = bytes.len();
    loop {
        let (valid, error) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                (std::str::from_utf8(valid).unwrap_or_default(), Some(error))
            }
        };
        if !valid.chars().all(&mut *take) {
            return None;
        }
        bytes = bytes.get(valid.len()..).unwrap_or_default();
        match error.map(|error| error.error_len()) {
            Some(Some(invalid)) => {
                if !take(char::REPLACEMENT_CHARACTER) {
                    return None;
                }
                bytes = bytes.get(invalid..).unwrap_or_default();
            }
            Some(None) | None => return Some(length - bytes.len()),
        }
    }
}

fn decode_utf16(is_big: bool, bytes: &[u8], take: &mut dyn FnMut(char) -> bool) -> Option<usize> {
    let unit = |pair: &[u8; 2]| match is_big {
        true => u16::from_be_bytes(*pair),
        false => u16::from_le_bytes(*pair),
    };
    let (pairs, _) = bytes.as_chunks();
    let is_high = |pair: &&[u8; 2]| (0xd800..0xdc00).contains(&unit(pair));
    // Its other half may come.
    let waiting = usize::from(pairs.last().is_some_and(|pair| is_high(&pair)));
    let whole = pairs.len() - waiting;
    let mut chars = char::decode_utf16(pairs.iter().take(whole).map(unit));
    let goes_on = chars.all(|char| take(char.unwrap_or(char::REPLACEMENT_CHARACTER)));
    goes_on.then_some(2 * whole)
}

/// A byte of Windows-1252, with what browsers make of the five that are not in use.
pub fn windows_1252(byte: u8) -> char {
    const UPPER: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    let upper = byte
        .checked_sub(0x80)
        .and_then(|index| UPPER.get(usize::from(index)));
    upper.copied().unwrap_or(char::from(byte))
}

fn latin_9(byte: u8) -> char {
    match byte {
        0xa4 => '€',
        0xa6 => 'Š',
        0xa8 => 'š',
        0xb4 => 'Ž',
        0xb8 => 'ž',
        0xbc => 'Œ',
        0xbd => 'œ',
        0xbe => 'Ÿ',
        _ => char::from(byte),
    }
}
