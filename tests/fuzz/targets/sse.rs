//! The cuts between the pieces of a stream do not matter, and no event exceeds the limit of a line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peacrab::limits::http::EVENT_BYTES;
use peacrab::http::sse::{Parser, TooLong};

fn events(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, TooLong> {
    let mut events = Vec::new();
    let mut parser = Parser::default();
    let mut keep = |event: peacrab::http::sse::Event<'_>| {
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

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, stream) = input;
    let (left, right) = stream.split_at(usize::from(cut).min(stream.len()));
    assert_eq!(events(&[left, right]), events(&[stream]));
});
