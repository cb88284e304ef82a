//! Files: sent while they are read, and written while they are received.

use std::fs::File;
use std::io::{self, Read};

use super::client;
use super::server::{Server, answer};
use crate::error::Error;
use crate::limits;

/// Gives as much as it is asked for, and remembers the most that was asked for at once.
struct Film {
    left: usize,
    most: usize,
}

impl Film {
    fn of(length: usize) -> Self {
        Self {
            left: length,
            most: 0,
        }
    }
}

impl Read for Film {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.most = self.most.max(buffer.len());
        let count = self.left.min(buffer.len());
        self.left -= count;
        buffer[..count].fill(b'f');
        Ok(count)
    }
}

#[test]
fn a_file_goes_out_with_its_length_through_one_small_buffer() {
    let server = Server::plain([answer("200 OK", "", b"got it")]);
    let mut film = Film::of(5_000_000);
    let headers = [("content-type", "video/mp4")];
    let response = client()
        .post_reader(&server.http(), &headers, 5_000_000, &mut film)
        .unwrap();
    assert_eq!(response.read_to_end(9).unwrap(), b"got it");
    let (head, body) = server.request_with_body();
    for line in ["content-length: 5000000", "content-type: video/mp4"] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert!(body.len() == 5_000_000 && body.iter().all(|byte| *byte == b'f'));
    assert!(film.most <= limits::http::BUFFER_BYTES, "{}", film.most);
}

#[test]
fn what_a_file_has_grown_by_is_not_sent_and_the_connection_stays() {
    let server = Server::plain([answer("200 OK", "", b"1"), answer("200 OK", "", b"2")]);
    let client = client();
    let mut film = Film::of(1000);
    let sent = client.post_reader(&server.http(), &[], 600, &mut film);
    sent.unwrap().read_to_end(9).unwrap();
    assert_eq!(server.request_with_body().1.len(), 600);
    let empty = client.post_reader(&server.http(), &[], 0, &mut film);
    empty.unwrap().read_to_end(9).unwrap();
    let (head, body) = server.request_with_body();
    assert!(head.contains("content-length: 0\r\n") && body.is_empty());
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_file_that_became_shorter_is_said_to_be_at_fault_and_not_the_network() {
    let server = Server::plain([]);
    let mut film = Film::of(100_000);
    let error = client()
        .post_reader(&server.http(), &[], 100_001, &mut film)
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, Error::Failed(_)), "{error}");
    assert!(error.to_string().contains("shorter"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_said_to_be_at_fault_and_not_the_network() {
    struct Torn;
    impl Read for Torn {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the card is worn"))
        }
    }
    let server = Server::plain([]);
    let error = client()
        .post_reader(&server.http(), &[], 9, &mut Torn)
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, Error::Failed(_)), "{error}");
    assert!(error.to_string().contains("the card is worn"), "{error}");
}

#[test]
fn a_download_is_written_as_it_comes_and_stops_at_its_limit() {
    let content = vec![b'd'; 2_000_000];
    let server = Server::plain([
        answer("200 OK", "", &content),
        answer("200 OK", "", &content),
    ]);
    let client = client();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("download");
    for (limit, expected) in [(content.len(), true), (content.len() - 1, false)] {
        let mut file = File::create(&path).unwrap();
        let response = client.get(&server.http(), &[]).unwrap();
        let copied = io::copy(&mut response.into_reader(limit), &mut file);
        assert_eq!(copied.is_ok(), expected, "{copied:?}");
        let written = std::fs::metadata(&path).unwrap().len();
        assert!(written <= limit as u64, "{written}");
    }
}
