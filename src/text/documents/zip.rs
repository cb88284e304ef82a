//! The parts of an Office document, which is a ZIP archive. They are found by name and unpacked one by one; what is
//! damaged counts as missing.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::UNPACKED_BYTES;

/// Entries that are looked at; a workbook has a few for each sheet.
const ENTRIES: usize = 4096;

/// An archive and what may still be unpacked from it.
pub struct Archive<'a> {
    bytes: &'a [u8],
    parts: Vec<(String, Part)>,
    left: usize,
}

#[derive(Clone, Copy)]
struct Part {
    method: u16,
    packed: usize,
    offset: usize,
}

impl<'a> Archive<'a> {
    /// Reads the central directory.
    pub fn open(bytes: &'a [u8]) -> Option<Self> {
        let from = bytes.len().saturating_sub(usize::from(u16::MAX) + 22);
        let tail = bytes.get(from..)?;
        let end = tail
            .windows(4)
            .rposition(|window| window == b"PK\x05\x06")?;
        let mut at = number(tail, end + 16, 4)?;
        let mut parts = Vec::new();
        while let Some(entry) = bytes
            .get(at..)
            .filter(|rest| rest.starts_with(b"PK\x01\x02"))
            && parts.len() < ENTRIES
        {
            let length = number(entry, 28, 2)?;
            let name = entry.get(46..46 + length)?;
            // Some programs on Windows write backslashes, and names count in any case.
            let name = String::from_utf8_lossy(name).replace('\\', "/");
            let part = Part {
                method: number(entry, 10, 2)? as u16,
                packed: number(entry, 20, 4)?,
                offset: number(entry, 42, 4)?,
            };
            parts.push((name.to_lowercase(), part));
            at += 46 + length + number(entry, 30, 2)? + number(entry, 32, 2)?;
        }
        (!parts.is_empty()).then_some(Self {
            bytes,
            parts,
            left: UNPACKED_BYTES,
        })
    }

    /// Whether there is a part of this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<Part> {
        let name = name.trim_start_matches('/').to_lowercase();
        let mut parts = self.parts.iter();
        parts.find_map(|(known, part)| (*known == name).then_some(*part))
    }

    /// The text of a part; empty where it is missing. One that is too large ends early.
    pub fn text(&mut self, name: &str) -> String {
        let bytes = self.find(name).and_then(|part| self.unpack(part));
        let bytes = bytes.unwrap_or_default();
        self.left = self.left.saturating_sub(bytes.len());
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn unpack(&self, part: Part) -> Option<Vec<u8>> {
        let header = self.bytes.get(part.offset..)?;
        let header = header.strip_prefix(b"PK\x03\x04")?;
        let start = 26 + number(header, 22, 2)? + number(header, 24, 2)?;
        let packed = header.get(start..)?;
        let packed = packed.get(..part.packed).unwrap_or(packed);
        match part.method {
            0 => Some(packed.get(..self.left).unwrap_or(packed).to_vec()),
            8 => Some(
                decompress_to_vec_with_limit(packed, self.left)
                    .unwrap_or_else(|error| error.output),
            ),
            _ => None,
        }
    }
}

/// A number of so many bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    let add = |number, byte: &u8| number << 8 | usize::from(*byte);
    Some(bytes.iter().rev().fold(0, add))
}
