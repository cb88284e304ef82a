//! Any bytes are a document of Word or Excel with a text of bounded length, or an error.

use peacrab::text::documents::Kind;

pub fn run(bytes: &[u8]) {
    super::read_document(Kind::Office, bytes);
}
