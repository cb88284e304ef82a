//! Any bytes are a reply of a server's or an error, wherever they are cut.

use std::io::Read;

use super::in_two;
use peacrab::net::http::address;
use peacrab::net::http::reply::frames::Frames;
use peacrab::net::http::reply::head::{HeadError, HeadReader};
use peacrab::net::http::reply::inflate::Inflate;

/// More than is unpacked from any input.
const UNPACKED: u64 = 1 << 20;

/// What becomes of the pieces, and whether all of it could be used.
fn passed(pieces: &[&[u8]], room: usize) -> (Vec<u8>, Result<(), HeadError>) {
    let (mut frames, mut all) = (Frames::default(), Vec::new());
    let mut room = vec![0; room];
    for mut piece in pieces.iter().copied() {
        loop {
            match frames.pass(piece, &mut room) {
                Ok((taken, written)) => {
                    all.extend_from_slice(&room[..written]);
                    piece = &piece[taken..];
                    if piece.is_empty() && written == 0 {
                        break;
                    }
                    assert!(taken > 0 || written > 0, "{piece:?}");
                }
                Err(error) => return (all, Err(error)),
            }
        }
    }
    (all, Ok(()))
}

pub fn run(bytes: &[u8]) {
    let (whole, left, right) = in_two(bytes);
    let (once, result) = passed(&[whole], 1000);
    let (cut, cut_result) = passed(&[left, right], 7);
    assert_eq!(result, cut_result);
    if result.is_ok() {
        assert_eq!(once, cut);
    }
    let mut reader = HeadReader::default();
    for byte in whole {
        match reader.push(*byte) {
            Ok(None) => {}
            Ok(Some(head)) => {
                let mut again = HeadReader::default();
                let written = head.write();
                let read = written
                    .iter()
                    .find_map(|byte| again.push(*byte).transpose());
                assert_eq!(
                    read.expect("a whole head").expect("a head").headers,
                    head.headers
                );
                break;
            }
            Err(_) => break,
        }
    }
    let _ = Inflate::new(whole)
        .take(UNPACKED)
        .read_to_end(&mut Vec::new());
    let (here, target) = ("https://example.org/a/b?c", String::from_utf8_lossy(whole));
    let joined = address::join(here, &target).unwrap_or_default();
    if target.starts_with('/') && address::parse(&joined).is_ok() {
        assert!(address::is_same_origin(here, &joined), "{joined:?}");
    }
}
