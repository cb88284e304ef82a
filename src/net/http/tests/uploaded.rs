//! Files: sent while they are read, and written while they are received.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::server::{Server, answer};
use super::{client, settings};
use crate::base::cancel::Cancel;
use crate::base::error::Error;
use crate::base::limits;
use crate::net::http::BUFFER_BYTES;
use crate::net::http::{Client, Tls, Upload};

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
        .post_reader(&server.http(), &headers, Upload::new(&mut film, 5_000_000))
        .unwrap();
    assert_eq!(response.read_to_end(9).unwrap(), b"got it");
    let (head, body) = server.request_with_body();
    for line in ["content-length: 5000000", "content-type: video/mp4"] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert!(body.len() == 5_000_000 && body.iter().all(|byte| *byte == b'f'));
    assert!(film.most <= BUFFER_BYTES, "{}", film.most);
}

#[test]
fn what_a_file_has_grown_by_is_not_sent_and_the_connection_stays() {
    let server = Server::plain([answer("200 OK", "", b"1"), answer("200 OK", "", b"2")]);
    let client = client();
    let mut film = Film::of(1000);
    let sent = client.post_reader(&server.http(), &[], Upload::new(&mut film, 600));
    sent.unwrap().read_to_end(9).unwrap();
    assert_eq!(server.request_with_body().1.len(), 600);
    let empty = client.post_reader(&server.http(), &[], Upload::new(&mut film, 0));
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
        .post_reader(&server.http(), &[], Upload::new(&mut film, 100_001))
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
        .post_reader(&server.http(), &[], Upload::new(&mut Torn, 9))
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

#[test]
fn progress_is_told_in_both_directions_up_to_the_end() {
    let server = Server::plain([answer("200 OK", "", &vec![b'd'; 100_000])]);
    let told = RefCell::new(Vec::new());
    let note = |bytes| told.borrow_mut().push(bytes);
    let mut film = Film::of(100_000);
    let response = client()
        .post_reader(
            &server.http(),
            &[],
            Upload::new(&mut film, 100_000).with_progress(&note),
        )
        .unwrap();
    let sent = told.take();
    let mut content = Vec::new();
    assert_eq!(
        response.download(&mut content, 100_000, &note).unwrap(),
        100_000
    );
    for told in [sent, told.take()] {
        assert!(told.len() > 5 && told.is_sorted(), "{told:?}");
        assert_eq!(told.last(), Some(&100_000));
    }
    assert_eq!(content.len(), 100_000);
}

/// A large send buffer would swallow a whole file at once and then show nothing for minutes.
#[test]
fn progress_stops_where_the_line_does() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let cancel = Cancel::new();
    let sent = Arc::new(AtomicU64::new(0));
    let (line, seen) = (cancel.clone(), sent.clone());
    let upload = thread::spawn(move || {
        let client = Client::new(&Tls::new(None).unwrap(), settings(), &line).unwrap();
        let note = |bytes| seen.store(bytes, Ordering::SeqCst);
        let mut film = io::repeat(b'f');
        client
            .post_reader(
                &url,
                &[],
                Upload::new(&mut film, u64::MAX).with_progress(&note),
            )
            .map(drop)
    });
    let (_stream, _) = listener.accept().unwrap();
    let mut before = u64::MAX;
    while sent.load(Ordering::SeqCst) != before || before == 0 {
        before = sent.load(Ordering::SeqCst);
        Cancel::new().wait(Duration::from_millis(100));
    }
    cancel.cancel();
    upload.join().unwrap().unwrap_err();
    let receivers_buffer = 2 * 1024 * 1024;
    let most = limits::net::SEND_BUFFER_BYTES as u64 * 2 + receivers_buffer;
    assert!(before < most, "{before} bytes");
}
