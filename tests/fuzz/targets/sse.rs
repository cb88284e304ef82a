//! The cuts between the pieces of a stream do not matter, and no event exceeds the limit of a line.

use super::in_two;
use peacrab::base::limits::http::EVENT_BYTES;
use peacrab::net::http::sse::{Parser, TooLong};

fn events(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, TooLong> {
    let mut events = Vec::new();
    let mut parser = Parser::default();
    let mut keep = |event: peacrab::net::http::sse::Event<'_>| {
        assert!(event.data.len() <= EVENT_BYTES);
        events.push((event.name.to_owned(), event.data.to_owned()));
        Ok(())
    };
    for piece in pieces {
        parser.push(piece, &mut keep)?;
    }
    parser.finish(&mut keep)?;
    Ok(events)
}

pub fn run(bytes: &[u8]) {
    let (stream, left, right) = in_two(bytes);
    assert_eq!(events(&[left, right]), events(&[stream]));
}
