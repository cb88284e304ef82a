//! Plain answers: good ones, errors, and what is no answer at all.

use std::io::Read;
use std::time::Duration;

use super::server::{Server, answer, close, keep, silence};
use super::{client, client_with, settings};
use crate::base::error::Error;
use crate::base::limits;
use crate::net::http::HEAD_BYTES;
use crate::net::http::{Method, Settings, error_of};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn a_post_says_who_asks_and_hands_the_whole_answer_over() {
    let server = Server::plain([answer(
        "200 OK",
        "Content-Type: text/event-stream; charset=utf-8\r\n",
        b"data: hi\n\n",
    )]);
    let headers = [("authorization", "Bearer sk-1"), ("x-title", "Peacrab")];
    let response = client().post(&server.http(), &headers, b"{}").unwrap();
    assert_eq!(response.read_to_end(100).unwrap(), b"data: hi\n\n");
    let request = server.request();
    assert!(
        request.starts_with("post /v1/chat http/1.1\r\n"),
        "{request}"
    );
    for line in [
        &format!("host: {}", server.address),
        "authorization: bearer sk-1",
        "x-title: peacrab",
        "content-length: 2",
        "accept-encoding: gzip",
        concat!("user-agent: peacrab/", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(
            request.lines().any(|sent| sent == line),
            "{line} in {request}"
        );
    }
}

#[test]
fn any_method_has_its_length_and_a_reply_its_headers() {
    let server = Server::plain([
        answer("200 OK", "X-RateLimit-Left: 4\r\n", b""),
        answer("204 No Content", "", b""),
    ]);
    let client = client();
    let headers = [("user-agent", "Somebody (else)")];
    let put = client.send(Method::PUT, &server.http(), &headers, b"");
    let put = put.unwrap();
    assert_eq!(
        (
            put.header("x-ratelimit-left"),
            put.header("x-ratelimit-right")
        ),
        (Some("4"), None)
    );
    let request = server.request();
    assert!(
        request.starts_with("put /v1/chat http/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("\r\ncontent-length: 0\r\n"), "{request}");
    assert!(
        request.contains("\r\nuser-agent: somebody (else)\r\n"),
        "{request}"
    );
    assert!(!request.contains("peacrab/"), "{request}");
    drop(put);
    client
        .send(Method::DELETE, &server.http(), &[], b"")
        .unwrap();
    assert!(server.request().starts_with("delete /v1/chat"));
}

#[test]
fn a_second_call_uses_the_first_ones_connection_also_after_an_error() {
    let server = Server::plain([
        answer("200 OK", "", b"one"),
        answer("500 Oops", "", b"two"),
        answer("200 OK", "", b"three"),
    ]);
    let client = client();
    client
        .get(&server.http(), &[])
        .unwrap()
        .read_to_end(9)
        .unwrap();
    client.get(&server.http(), &[]).map(drop).unwrap_err();
    client
        .post(&server.http(), &[], b"x")
        .unwrap()
        .read_to_end(9)
        .unwrap();
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_stream_that_is_left_before_its_end_keeps_the_connection_when_the_end_is_near() {
    let stream = |tail: &str| keep(format!("{CHUNKED}c\r\ndata: DONE\n\n\r\n{tail}"));
    let server = Server::plain([stream("0\r\n\r\n"), stream(""), answer("200 OK", "", b"")]);
    let client = client();
    for _ in 0..2 {
        let response = client.get(&server.http(), &[]).unwrap();
        let mut body = response.into_reader(limits::http::STREAM_BYTES);
        body.read_exact(&mut [0; 12]).unwrap();
        body.finish();
    }
    assert_eq!(server.connections(), 1);
    // The second stream never ended, and finishing it did not wait for that.
    client.get(&server.http(), &[]).unwrap();
    assert_eq!(server.connections(), 2);
}

/// Half a key would not be recognised as one.
#[test]
fn an_error_is_not_cut_within_a_word() {
    let key = "sk-canary-0123456789abcdef";
    let most = limits::http::ERROR_BODY_BYTES;
    for before in most - 30..=most {
        let body = format!("{} {key}\" and more", "x".repeat(before - 1));
        let server = Server::plain([answer("401 No", "", body.as_bytes())]);
        match client().post(&server.http(), &[], b"{}").map(drop) {
            Err(Error::Status { body, .. }) => {
                assert!(
                    body.contains(key) || !body.contains("sk-"),
                    "{before}: {body}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_error_keeps_its_body_without_control_characters_and_its_wait() {
    let body = [
        b"{\"error\":\x1b[31m \"no quota\"}\r\n\x00 \xff",
        "x ".repeat(4500).as_bytes(),
    ]
    .concat();
    let server = Server::plain([answer("429 Too Many", "Retry-After: 7\r\n", &body)]);
    match client().post(&server.http(), &[], b"{}").map(drop) {
        Err(Error::Status {
            host,
            status,
            retry_after,
            body,
        }) => {
            assert_eq!(host, server.address.to_string());
            assert_eq!(status, 429);
            assert_eq!(retry_after, Some(Duration::from_secs(7)));
            assert!(
                body.starts_with("{\"error\":[31m \"no quota\"}\n \u{fffd}x x"),
                "{body}"
            );
            assert!(body.len() < limits::http::ERROR_BODY_BYTES + 10);
            assert!(body.len() > limits::http::ERROR_BODY_BYTES - 10);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_whose_body_breaks_off_is_still_that_error() {
    let server = Server::plain([close(
        "HTTP/1.1 503 Busy\r\ncontent-length: 99\r\n\r\ntry la",
    )]);
    let error = client().get(&server.http(), &[]).map(drop).unwrap_err();
    assert!(
        matches!(&error, Error::Status { status: 503, body, .. } if body == "try la"),
        "{error}"
    );
}

#[test]
fn a_redirect_is_named_and_not_followed() {
    let location = "Location: https://user:canary@new.example:8443/canary?canary\r\n";
    let server = Server::plain([answer("308 Moved", location, b"")]);
    let error = client()
        .post(&server.http(), &[], b"{}")
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("308: a redirect to https://new.example:8443,"),
        "{error}"
    );
    assert!(!error.contains("canary"), "{error}");
}

/// 100,000 times `a`.
#[rustfmt::skip]
const BOMB: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01, 0x00, 0x00,
    0x00, 0xc2, 0xa0, 0xac, 0xeb, 0x5f, 0xc2, 0x1a, 0x1e, 0x40, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xaf, 0x06, 0x87, 0xfa, 0xe2,
    0x1b, 0xa0, 0x86, 0x01, 0x00,
];

#[test]
fn a_compressed_answer_counts_as_large_as_it_becomes() {
    let packed = || answer("200 OK", "content-encoding: gzip\r\n", BOMB);
    let server = Server::plain([packed(), packed()]);
    let client = client();
    let whole = client
        .get(&server.http(), &[])
        .unwrap()
        .read_to_end(100_000)
        .unwrap();
    assert!(whole.len() == 100_000 && whole.iter().all(|byte| *byte == b'a'));
    let error = client
        .get(&server.http(), &[])
        .unwrap()
        .read_to_end(99_999)
        .unwrap_err();
    assert!(
        matches!(error, Error::TooLarge { limit: 99_999, .. }),
        "{error}"
    );
    assert_eq!(server.connections(), 1);
}

#[test]
fn an_encoding_that_was_not_asked_for_is_an_error_and_not_an_answer() {
    let server = Server::plain([answer("200 OK", "content-encoding: br\r\n", b"xyz")]);
    let error = client().get(&server.http(), &[]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Network { .. }), "{error}");
}

#[test]
fn silence_within_an_answer_breaks_it() {
    let server = Server::plain([keep(format!("{CHUNKED}2\r\nhi\r\n"))]);
    let client = client_with(Settings {
        idle: Duration::from_millis(50),
        ..settings()
    });
    let mut body = client.get(&server.http(), &[]).unwrap().into_reader(100);
    body.read_exact(&mut [0; 2]).unwrap();
    let error = error_of(body.read(&mut [0; 9]).unwrap_err());
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(
        error.to_string().contains("its reply stopped for 0.05 s"),
        "{error}"
    );
}

#[test]
fn the_wait_for_the_first_byte_has_a_limit_of_its_own() {
    let slow = answer("200 OK", "", b"worth it").after(Duration::from_millis(150));
    let server = Server::plain([slow, silence()]);
    let patient = client_with(Settings {
        idle: Duration::from_millis(50),
        ..settings()
    });
    let thought = patient.get(&server.http(), &[]).unwrap();
    assert_eq!(thought.read_to_end(9).unwrap(), b"worth it");
    let hasty = client_with(Settings {
        first_byte: Duration::from_millis(50),
        ..settings()
    });
    let error = hasty.get(&server.http(), &[]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(
        error.to_string().contains("no reply began within 0.05 s"),
        "{error}"
    );
}

#[test]
fn an_answer_that_breaks_off_is_an_error_and_not_a_short_answer() {
    let cut = [
        "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nshort".to_owned(),
        format!("{CHUNKED}5\r\nshort\r\n"),
        format!("{CHUNKED}9\r\nshort"),
        format!("{CHUNKED}zz\r\nshort"),
        "HTTP/1.1 200 OK\r\ncontent-le".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nnot".to_owned(),
        String::new(),
    ];
    let server = Server::plain(cut.iter().map(|bytes| close(bytes.as_str())));
    for bytes in &cut {
        let outcome = client()
            .get(&server.http(), &[])
            .and_then(|response| response.read_to_end(100));
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Network { .. }), "{bytes}: {error}");
    }
}

#[test]
fn what_is_not_http_is_said_to_be_that() {
    for garbage in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "\x15\x03\x01\x00\x02\x02\x46",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    ] {
        let server = Server::plain([close(garbage)]);
        let error = client().get(&server.http(), &[]).map(drop).unwrap_err();
        assert!(
            matches!(error, Error::Network { .. }),
            "{garbage:?}: {error}"
        );
        assert!(
            error.to_string().contains("not HTTP"),
            "{garbage:?}: {error}"
        );
    }
}

#[test]
fn a_head_without_end_is_cut_off() {
    let head = format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(2 * HEAD_BYTES));
    let server = Server::plain([keep(head)]);
    let error = client()
        .post(&server.http(), &[], b"{}")
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("the header of the reply from 127.0.0.1:"),
        "{error}"
    );
}

#[test]
fn an_answer_may_have_any_form_that_the_standard_allows() {
    let cookies = format!("Set-Cookie: {}\r\n", "x".repeat(1_000)).repeat(90);
    let policies = "Content-Security-Policy: a\r\n".repeat(300);
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200\nContent-Length: 2, 2\n\nok",
        "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\n\tc\r\nContent-Length:\r\n 2\r\n\r\nok",
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n\
         1;name=\"a rather long value of an extension\"\r\no\r\n1 \nk\n0\r\nExpires: x\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nok",
        &format!("HTTP/1.1 200 OK\r\n{cookies}{policies}Content-Length: 2\r\n\r\nok"),
    ] {
        let server = Server::plain([close(head)]);
        let reply = client().post(&server.http(), &[], b"{}");
        let body = reply.and_then(|reply| reply.read_to_end(9)).unwrap();
        assert_eq!(body, b"ok", "{head}");
    }
    for encoding in [
        "x-gzip",
        "GZIP",
        "gzip, identity",
        "identity\r\nContent-Encoding: gzip",
    ] {
        let headers = format!("Content-Encoding: {encoding}\r\n");
        let server = Server::plain([answer("200 OK", &headers, BOMB)]);
        let reply = client().get(&server.http(), &[]).unwrap();
        assert_eq!(
            reply.read_to_end(100_000).unwrap().len(),
            100_000,
            "{encoding}"
        );
    }
}

#[test]
fn a_body_in_deflate_is_unpacked_with_and_without_its_frame() {
    let text = "text ".repeat(20_000).into_bytes();
    let framed = miniz_oxide::deflate::compress_to_vec_zlib(&text, 6);
    let bare = miniz_oxide::deflate::compress_to_vec(&text, 6);
    let packed = |body: &[u8]| answer("200 OK", "Content-Encoding: deflate\r\n", body);
    let server = Server::plain([packed(&framed), packed(&bare), packed(&framed[..30])]);
    let client = client();
    let read = || {
        client
            .get(&server.http(), &[])
            .unwrap()
            .read_to_end(200_000)
    };
    assert_eq!(read().unwrap(), text);
    assert_eq!(read().unwrap(), text);
    assert_eq!(server.connections(), 1);
    let error = read().unwrap_err().to_string();
    assert!(error.contains("before the reply was complete"), "{error}");
}

#[test]
fn a_reply_that_cannot_be_used_says_what_was_wrong() {
    for (head, expected) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, br\r\nContent-Length: 0\r\n\r\n",
            "not asked for (gzip, br)",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
            "not HTTP (it has two different lengths)",
        ),
        (
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "not HTTP (a line of its header has no colon)",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "not HTTP (the length of a chunk is not a number)",
        ),
    ] {
        let server = Server::plain([close(head)]);
        let reply = client().get(&server.http(), &[]);
        let error = reply.and_then(|reply| reply.read_to_end(9)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_header_that_would_smuggle_another_is_refused_without_showing_it() {
    let server = Server::plain([]);
    for (name, value) in [
        ("x-key", "canary\r\nx-admin: 1"),
        ("x-key", "canary\0"),
        ("x key", "canary"),
    ] {
        let error = client()
            .post(&server.http(), &[(name, value)], b"")
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]
    #[test]
    fn any_bytes_are_an_answer_or_an_error(
        head in "(HTTP/1.1 200 OK\r\n)?((content-length|transfer-encoding|content-encoding): ?(chunked|gzip|[0-9]{0,3})\r\n){0,3}(\r\n)?",
        body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..50),
    ) {
        let server = Server::plain([close([head.as_bytes(), &body].concat())]);
        let _ = client().get(&server.http(), &[]).and_then(|response| response.read_to_end(100));
    }
}
