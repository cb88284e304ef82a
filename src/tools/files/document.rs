//! The text of documents: for read_file, and for the message that a document came with.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use super::read::{Lines, Part};
use crate::base::cancel::Cancel;
use crate::base::chat::ToolResult;
use crate::base::error::{Error, Result};
use crate::base::secret::Eraser;
use crate::sandbox::documents;
use crate::sandbox::files::Workspace;
use crate::sys::file::read_beginning;
use crate::text::documents::{Kind, Text, is_old, is_other, is_scan};
use crate::text::truncate_chars;

/// Bytes at a file's beginning by which a document is recognised.
const SNIFF_BYTES: u64 = 8 * 1024;

/// What the model is told of a file that is no document.
const MISNAMED: &str = "it is not the kind of document that its name says";

/// The same of a file with no bytes.
const EMPTY: &str = "it is an empty file";

/// The same of a document of a kind that is not read.
const OTHER: &str =
    "a kind of document that cannot be read here; saved as .docx, .xlsx or PDF it can";

/// The same of one that has a newer name than what is in it, as those with a password have.
const LOCKED: &str = "it is protected by a password, or of an old format; saved without a password as .docx, .xlsx or PDF it \
                      can be read";

/// The tool that reads on in a document.
const READER: &str = "read_file";

/// A document as the message with it shows it.
pub struct Excerpt {
    /// The kind and size in words, or why it has no text.
    pub about: String,
    /// The beginning of the text, or all of it.
    pub text: String,
    /// Whether there is more.
    pub is_cut: bool,
    /// The line that says how to read on.
    pub reader: &'static str,
    /// Why there is nothing to read, or not all; `None` where there is.
    pub fault: Option<DocumentFault>,
}

/// Why a document cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFault {
    /// It is something else than its name says.
    Misnamed,
    /// It has no bytes.
    Empty,
    /// It is damaged, protected or too large.
    Unreadable,
    /// It is of a kind that is not read.
    Other,
    /// It is protected by a password, or of a kind that is not read.
    Locked,
    /// Its pages are pictures; the text says so page by page.
    Scan,
    /// Parts of it are missing from the file.
    Partial,
}

impl Excerpt {
    /// The excerpt of a document that cannot be read; `about` says why.
    fn without_text(about: String, fault: DocumentFault) -> Self {
        Self {
            about,
            text: String::new(),
            is_cut: false,
            reader: READER,
            fault: Some(fault),
        }
    }
}

/// A part of a document's text.
pub(super) fn read(
    (path, kind, page): (&str, Kind, usize),
    file: File,
    part: &Part<'_>,
    cancel: &Cancel,
) -> Result<ToolResult> {
    let document = documents::read(file, path, (kind, page), cancel)?;
    let text = whole(&document);
    let lines = Lines::new(Cursor::new(text.as_bytes()), Path::new(path), cancel);
    let about = part.eraser.clean(&document.about);
    Ok(ToolResult::new(format!("[{about}]\n{}", part.read(lines)?)))
}

/// The text, with a line at its end where pages follow.
fn whole(document: &Text) -> String {
    match document.next {
        None => document.text.clone(),
        Some(next) => format!("{}\n[go on with page {next}]\n", document.text),
    }
}

/// The first characters of a document in the workspace; `None` for files that are none by their names either.
pub(in crate::tools) fn excerpt(
    (workspace, path): (&Workspace, &str),
    chars: usize,
    eraser: &Eraser,
    cancel: &Cancel,
) -> Option<Excerpt> {
    let file = workspace.open_read(Path::new(path)).ok()?;
    let head = read_beginning(&file, SNIFF_BYTES).ok()?;
    if is_other(path, &head) {
        return Some(Excerpt::without_text(
            OTHER.to_owned(),
            DocumentFault::Other,
        ));
    }
    let Some(kind) = Kind::detect(path, &head) else {
        let (why, fault) = match head.is_empty() {
            true => (EMPTY, DocumentFault::Empty),
            false if is_old(&head) => (LOCKED, DocumentFault::Locked),
            false => (MISNAMED, DocumentFault::Misnamed),
        };
        let excerpt = || Excerpt::without_text(why.to_owned(), fault);
        return Kind::is_named(path).then(excerpt);
    };
    Some(match documents::read(file, path, (kind, 1), cancel) {
        Ok(document) => {
            let whole = eraser.clean(&document.text);
            let text = truncate_chars(&whole, chars);
            Excerpt {
                is_cut: text.len() < whole.len() || document.next.is_some(),
                text: text.to_owned(),
                about: eraser.clean(&document.about).into_owned(),
                reader: READER,
                fault: match document.is_partial {
                    true => Some(DocumentFault::Partial),
                    false => is_scan(&document.text).then_some(DocumentFault::Scan),
                },
            }
        }
        Err(Error::Stopped) => return None,
        Err(error) => Excerpt::without_text(error.to_string(), DocumentFault::Unreadable),
    })
}
