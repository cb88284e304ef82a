//! Any bytes are a table with a text of bounded length, or an error.

use peacrab::text::documents::Kind;

pub fn run(bytes: &[u8]) {
    super::read_document(Kind::Table, bytes);
}
