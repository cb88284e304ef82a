//! Any bytes are results of a search engine or an error.

use peacrab::tools::web::results::{of_json, of_page};

pub fn run(bytes: &[u8]) {
    let read = [of_json(bytes), of_page(&String::from_utf8_lossy(bytes))];
    for hit in read.into_iter().flatten().flatten() {
        assert!(hit.url.is_ascii());
    }
}
