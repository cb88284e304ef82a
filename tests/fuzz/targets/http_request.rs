//! Any bytes are requests or a refusal, and the same ones wherever they are cut. Nothing is held beyond its bounds.

use super::in_two;
use peacrab::channels::http::guard::{is_fine_origin, is_our_host};
use peacrab::channels::http::wire::request::{HEAD_BYTES, Head, Reader, Refusal, Step};

/// Bytes of a body.
const MOST: usize = 300;

/// Heads, each with its body if that was complete.
type Requests = Vec<(Head, Option<Vec<u8>>)>;

/// The requests of the pieces, and how they end.
fn read(pieces: &[&[u8]]) -> (Requests, Option<Refusal>) {
    let (mut reader, mut all) = (Reader::default(), Requests::new());
    for piece in pieces {
        reader.push(piece);
        loop {
            match reader.step() {
                Ok(Step::More) => break,
                Ok(Step::Head(head)) => {
                    assert!(head.path.starts_with('/') && head.header("host").is_some());
                    reader.allow(MOST);
                    all.push((head, None));
                }
                Ok(Step::Body(body)) => {
                    assert!(body.len() <= MOST);
                    all.last_mut().unwrap().1 = Some(body);
                }
                Err(refusal) => {
                    assert!((400..=501).contains(&refusal.status));
                    return (all, Some(refusal));
                }
            }
        }
        assert!(reader.held() <= HEAD_BYTES + MOST + piece.len());
    }
    (all, None)
}

pub fn run(bytes: &[u8]) {
    let (whole, left, right) = in_two(bytes);
    let (once, end) = read(&[whole]);
    let (cut, cut_end) = read(&[left, right]);
    assert_eq!(once, cut);
    assert_eq!(end.is_some(), cut_end.is_some());
    for (head, _) in &once {
        let host = head.header("host").unwrap();
        // A name of somebody else's is never ours, and no origin but our own is fine.
        if is_our_host(host, "crab", &[]) {
            assert!(!host.contains("evil"), "{host}");
        }
        let origin = head.header("origin").unwrap_or("null");
        if is_fine_origin(origin, host, &[]) {
            assert!(
                origin
                    .to_ascii_lowercase()
                    .ends_with(&host.to_ascii_lowercase())
            );
        }
    }
}
