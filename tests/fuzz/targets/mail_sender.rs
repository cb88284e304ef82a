//! No headers below what our own server says about a sender confirm another one.

use peacrab::channels::email::incoming::{Judgement, Policy, bare_subject, judge, place, subject};
use peacrab::channels::email::mime::headers::Headers;
use peacrab::channels::email::mime::trust::Servers;

/// What the server has put above all that a sender can write.
const DENIED: &[u8] =
    b"Authentication-Results: mx.example.org; dmarc=fail header.from=example.net\r\n";

fn judged(bytes: &[u8]) -> Judgement {
    let headers = Headers::parse(bytes);
    bare_subject(&subject(&headers));
    place(&headers, "ann@example.net", "1.2");
    let policy = Policy {
        own: vec!["bot@example.org".to_owned()],
        servers: Servers::new("mx.example.org", "imap.example.org"),
        is_strict: true,
    };
    judge(&headers, &policy)
}

pub fn run(bytes: &[u8]) {
    judged(bytes);
    let judgement = judged(&[DENIED, bytes].concat());
    assert!(!matches!(judgement, Judgement::From(_)), "{judgement:?}");
}
