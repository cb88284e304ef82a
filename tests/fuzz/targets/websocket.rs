//! The cuts between the pieces of a stream do not matter, and no message exceeds the limit.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peacrab::http::websocket::{Decoder, Received, Violation};
use peacrab::limits::http::WEBSOCKET_MESSAGE_BYTES;

fn decode(pieces: &[&[u8]]) -> (Vec<Received>, Option<Violation>) {
    let (mut decoder, mut all) = (Decoder::default(), Vec::new());
    for mut piece in pieces.iter().copied() {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(received)) => all.push(received),
                Ok(None) => break,
                Err(violation) => return (all, Some(violation)),
            }
        }
    }
    for received in &all {
        if let Received::Binary(bytes) = received {
            assert!(bytes.len() <= WEBSOCKET_MESSAGE_BYTES);
        }
    }
    (all, None)
}

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, stream) = input;
    let (left, right) = stream.split_at(usize::from(cut).min(stream.len()));
    assert_eq!(decode(&[left, right]), decode(&[stream]));
});
