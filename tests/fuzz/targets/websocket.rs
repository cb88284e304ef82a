//! The cuts between the pieces of a stream do not matter, and no message exceeds the limit.

use super::in_two;
use peacrab::base::limits::http::WEBSOCKET_MESSAGE_BYTES;
use peacrab::net::http::websocket::{Decoder, Received, Violation};

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

pub fn run(bytes: &[u8]) {
    let (stream, left, right) = in_two(bytes);
    assert_eq!(decode(&[left, right]), decode(&[stream]));
}
