//! Character sets: which one a page is in, and its characters as they arrive.
//!
//! The tables take 62 kB: encoding_rs, which has those for writing too, adds 177 kB to the program.

mod decoder;
mod label;
mod tables;

#[cfg(test)]
mod tests;

use std::io::{self, Read};

use decoder::Decoder;
pub use decoder::windows_1252;
use label::Label;

/// Bytes at a page's beginning by which its character set and its type are recognised (HTML, section 13.2.3.2).
const SNIFF_BYTES: usize = 1024;
/// Bytes that are decoded at once.
const CHUNK_BYTES: usize = 8 * 1024;

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8; what is invalid becomes U+FFFD.
    Utf8,
    /// UTF-16; whether the high byte comes first.
    Utf16(bool),
    /// Windows-1252, which is what the web means by ISO-8859-1 and ASCII too.
    Windows1252,
    /// A row of the table of single bytes.
    SingleByte(usize),
    /// GB18030, with GBK and GB2312 in it.
    Gb18030,
    /// Big5, as Windows has it.
    Big5,
    /// Shift JIS, as Windows has it.
    ShiftJis,
    /// EUC-JP.
    EucJp,
    /// ISO-2022-JP, the set of Japanese mails.
    Iso2022Jp,
    /// EUC-KR, with the other syllables of Windows.
    EucKr,
}

impl Charset {
    /// The set of a name in a header or a page, such as `"UTF-8"`.
    pub fn named(name: &str) -> Option<Self> {
        match Label::read(name) {
            Label::Known(charset) => Some(charset),
            Label::Unknown(_) | Label::Meaningless => None,
        }
    }
}

/// All characters of a text in a character set.
pub fn decode_all(charset: Charset, bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut take = |char| {
        text.push(char);
        true
    };
    let source = Source {
        reader: io::empty(),
        bytes: bytes.to_vec(),
    };
    // Nothing that is in memory fails to be read.
    let _ = source.decode(charset, &mut take);
    text
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
    /// if it is HTML or XML, and else from how its first bytes look. A label that means nothing counts as none.
    /// The error is the name of a set that is not known here.
    pub fn charset(&self, header: Option<&str>, is_html: bool) -> Result<Charset, String> {
        match self.bytes.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => return Ok(Charset::Utf8),
            [0xff, 0xfe, ..] => return Ok(Charset::Utf16(false)),
            [0xfe, 0xff, ..] => return Ok(Charset::Utf16(true)),
            _ => {}
        }
        match header.map_or(Label::Meaningless, Label::read) {
            Label::Known(charset) => return Ok(charset),
            Label::Unknown(name) => return Err(name),
            Label::Meaningless => {}
        }
        let is_xml = self.bytes.starts_with(b"<?xml");
        let name = declared(&self.bytes).filter(|_| is_html || is_xml);
        match name.as_deref().map_or(Label::Meaningless, Label::read) {
            // It could be read, so it is not.
            Label::Known(Charset::Utf16(_)) => return Ok(Charset::Utf8),
            Label::Known(charset) => return Ok(charset),
            Label::Unknown(name) => return Err(name),
            Label::Meaningless => {}
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
            _ => &[],
        };
        if self.bytes.starts_with(mark) {
            self.bytes.drain(..mark.len());
        }
        let mut decoder = Decoder::new(charset);
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            let Some(decoded) = decoder.decode(&self.bytes, take) else {
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

/// The character set that the beginning of a page names: `<meta charset=utf-8>`, or as a part of `content`; in XML
/// `<?xml encoding="utf-8"?>`.
fn declared(beginning: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let instruction = text
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split_once("?>"));
    if let Some((instruction, _)) = instruction {
        return named_in(instruction, "encoding");
    }
    let mut rest = &*text;
    while let Some(at) = ["<meta", "<!--"]
        .iter()
        .filter_map(|start| rest.find(start))
        .min()
    {
        let tag = rest.get(at..)?;
        let end = if tag.starts_with("<!--") { "-->" } else { ">" };
        let (tag, after) = tag.split_once(end).unwrap_or((tag, ""));
        let name = named_in(tag, "charset").filter(|_| end == ">");
        if name.is_some() {
            return name;
        }
        rest = after;
    }
    None
}

/// The character set that a tag names in a parameter.
fn named_in(tag: &str, parameter: &str) -> Option<String> {
    let is_part =
        |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | ':' | '.');
    tag.split(parameter).skip(1).find_map(|rest| {
        let rest = rest.trim_start().strip_prefix('=')?;
        let rest = rest.trim_start().trim_start_matches(['"', '\'']);
        let name = rest.split(|char| !is_part(char)).next()?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}
