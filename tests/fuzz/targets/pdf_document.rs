//! Any bytes are a PDF document with a text of bounded length, or an error.

use peacrab::text::documents::Kind;

pub fn run(bytes: &[u8]) {
    super::read_document(Kind::Pdf, bytes);
}
