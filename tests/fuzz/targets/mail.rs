//! Mails, answers of IMAP servers, and what servers say about senders are from outside.

use peacrab::channels::email::compose;
use peacrab::channels::email::mime::address::{self, Mailbox, mailbox};
use peacrab::channels::email::mime::body;
use peacrab::channels::email::mime::decode::{Decoder, Encoding};
use peacrab::channels::email::mime::headers::Headers;
use peacrab::channels::email::mime::results::Results;
use peacrab::channels::email::mime::words::decode_words;
use peacrab::channels::email::structure::content;
use peacrab::channels::email::value::Response;
use peacrab::text::is_prose;

pub fn run(bytes: &[u8]) {
    if let Some(Response::Numbered {
        value: Some(value), ..
    }) = Response::parse(bytes)
        && let Some(structure) = value.named("BODYSTRUCTURE")
    {
        let content = content(structure);
        for part in content.texts.iter().chain(&content.files) {
            assert!(!part.name().is_empty());
            part.charset();
        }
    }
    let headers = Headers::parse(bytes);
    let earlier = headers.earlier();
    assert!(
        earlier
            .iter()
            .all(|id| id.is_ascii() && !id.contains([' ', '\r', '\n']))
    );
    for encoding in [Encoding::Plain, Encoding::Base64, Encoding::Quoted] {
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        let mut decoder = Decoder::new(encoding);
        decoder.push(bytes, &mut whole);
        decoder.finish(&mut whole);
        let mut decoder = Decoder::new(encoding);
        bytes
            .chunks(3)
            .for_each(|piece| decoder.push(piece, &mut pieces));
        decoder.finish(&mut pieces);
        assert_eq!(whole, pieces);
    }
    let text = String::from_utf8_lossy(bytes);
    if let Some(Mailbox { address, .. }) = mailbox(&text) {
        assert_eq!(address::address(&address).as_ref(), Some(&address));
        assert!(
            !address.contains(':') && address.chars().all(is_prose),
            "{address:?}"
        );
    }
    Results::parse(&text);
    decode_words(&text);
    compose::plain(&text);
    for is_forward in [false, true] {
        body::split(&body::unflow(&text, is_forward), is_forward);
    }
    body::without_uuencoded(&text);
    body::of_html(&text, 1000);
}
