//! Documents as text: PDF, Word, Excel and tables in files of their own. The bytes may be anything.
//!
//! Sizes, output and nesting are bounded here; the process that reads has limits of time and memory too.

mod csv;
mod docx;
mod pdf;
mod table;
mod xlsx;
mod xml;
mod zip;

#[cfg(test)]
mod tests;

use std::fmt;

use table::Writer;
use zip::Archive;

/// Bytes of the largest document that is read.
pub const DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a document's text that one reading gives; more is read from a later page on.
pub const TEXT_BYTES: usize = 512 * 1024;
/// Bytes that the packed parts of a document become: an allowance for all of them. The process has as much memory again.
const UNPACKED_BYTES: usize = 64 * 1024 * 1024;

/// Parts with which documents of Word and Excel begin, whatever their file is called.
const OFFICE_PARTS: [&[u8]; 5] = [
    b"[Content_Types].xml",
    b"_rels/",
    b"docProps/",
    b"word/",
    b"xl/",
];
/// The ends of their files' names.
const OFFICE_NAMES: [&str; 6] = ["docx", "docm", "dotx", "xlsx", "xlsm", "xltx"];

/// Of documents that are not read: how those of old programs begin, and the ends of names of those and others.
const OLD_MARK: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const OTHER_NAMES: [&str; 13] = [
    "doc", "dot", "xls", "xlt", "ppt", "pps", "pptx", "odt", "ods", "odp", "pages", "numbers",
    "key",
];

/// Whether a file is a document of a kind that is not read, such as one of Word before 2007.
pub fn is_other(name: &str, beginning: &[u8]) -> bool {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    let mut names = OTHER_NAMES.iter();
    names.any(|name| extension.eq_ignore_ascii_case(name))
        && (is_old(beginning) || beginning.starts_with(b"PK\x03\x04"))
}

/// Whether a file begins as documents of old programs do, and as those with a password do whatever they are called.
pub fn is_old(beginning: &[u8]) -> bool {
    beginning.starts_with(OLD_MARK)
}

/// Whether the text of a document has nothing but the notes about scanned pages.
pub fn is_scan(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let is_blank = |line: &str| line.starts_with("[page ") && line.contains(" has no text");
    text.contains(SCAN) && lines.all(is_blank)
}

/// What stands for the text of a page that is a picture.
const SCAN: &str = "it seems to be a scan]";

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A PDF document.
    Pdf,
    /// A ZIP archive, which may be a document of Word or Excel.
    Office,
    /// A table with separators.
    Table,
}

impl Kind {
    /// Whether a file's name says that it is a document of PDF, Word or Excel, whatever is in it.
    pub fn is_named(name: &str) -> bool {
        let (_, extension) = name.rsplit_once('.').unwrap_or_default();
        let mut names = OFFICE_NAMES.iter().chain(&["pdf"]);
        names.any(|name| extension.eq_ignore_ascii_case(name))
    }

    /// The kind of a file that has this name and begins like this.
    pub fn detect(name: &str, beginning: &[u8]) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.').unwrap_or_default();
        let is = |names: &[&str]| {
            names
                .iter()
                .any(|name| extension.eq_ignore_ascii_case(name))
        };
        // Programs write some bytes before the mark, and readers look for it in the first kilobyte.
        let start = beginning.get(..1024).unwrap_or(beginning);
        let is_pdf = start.windows(5).any(|window| window == b"%PDF-");
        // Of other archives the names are in another folder.
        let part = beginning.get(30..).unwrap_or_default();
        let is_office = OFFICE_PARTS.iter().any(|name| part.starts_with(name));
        match beginning {
            [b'P', b'K', 3, 4, ..] if is_office || is(&OFFICE_NAMES) => Some(Self::Office),
            _ if beginning.starts_with(b"%PDF-") || is(&["pdf"]) && is_pdf => Some(Self::Pdf),
            _ if is(&["csv", "tsv"]) => Some(Self::Table),
            _ => None,
        }
    }
}

/// The text of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The kind and size in words, such as `PDF document, 3 pages`.
    pub about: String,
    /// The text, with a line before each page or sheet.
    pub text: String,
    /// The page or sheet with which to go on, where the text ends before the document does.
    pub next: Option<usize>,
    /// Whether a part of it is missing, because the file is damaged or was cut off.
    pub is_partial: bool,
}

/// The reason why a document has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is another kind of file.
    Unknown,
    /// It needs a password.
    Protected,
    /// Nothing of it can be understood.
    Damaged,
    /// It has fewer pages or sheets than the one that was asked for.
    Beyond(usize),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("it is neither a PDF document nor one of Word or Excel"),
            Self::Protected => f.write_str("it is protected by a password"),
            Self::Damaged => f.write_str("the document is damaged"),
            Self::Beyond(last) => write!(f, "it ends with page or sheet {last}"),
        }
    }
}

/// Reads a document, from a page or sheet on, counted from 1.
pub fn read(kind: Kind, bytes: &[u8], first: usize) -> Result<Text, Unreadable> {
    let first = first.max(1);
    match kind {
        Kind::Pdf => pdf::read(bytes, first),
        Kind::Table => Ok(csv::read(bytes)),
        Kind::Office => {
            let mut archive = Archive::open(bytes).ok_or(Unreadable::Damaged)?;
            if archive.has("word/document.xml") {
                docx::read(&mut archive)
            } else if archive.has("xl/workbook.xml") {
                xlsx::read(&mut archive, first)
            } else {
                Err(Unreadable::Unknown)
            }
        }
    }
}
