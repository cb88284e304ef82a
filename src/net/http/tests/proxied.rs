//! Through a proxy, and around it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use super::server::{Authority, Server, answer, close, keep};
use super::{client_with, through, trusting};
use crate::base::cancel::Cancel;
use crate::base::error::Error;
use crate::net::http::{Client, Tls};

#[test]
fn a_tunnel_is_opened_with_the_proxys_password_and_the_name_is_left_to_the_proxy() {
    let tunnel = keep("HTTP/1.1 200 Connection established\r\n\r\n");
    let proxy = Server::plain([tunnel, answer("200 OK", "", b"from afar")]);
    let client = client_with(through(&format!("http://me:p%40ss@{}", proxy.address)));
    let response = client.get("http://model.test/v1", &[]).unwrap();
    assert_eq!(response.read_to_end(9).unwrap(), b"from afar");
    let opening = proxy.request();
    assert!(
        opening.starts_with("connect model.test:80 http/1.1\r\n"),
        "{opening}"
    );
    // me:p@ss
    assert!(
        opening.contains("proxy-authorization: basic bwu6cebzcw==\r\n"),
        "{opening}"
    );
    assert!(!proxy.request().contains("proxy-authorization"));
}

/// Answers any CONNECT with a way to `target`.
pub fn tunnel_to(target: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            near.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut far = TcpStream::connect(target).unwrap();
        let (mut back, mut forth) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut back, &mut forth));
        let _ = io::copy(&mut near, &mut far);
    });
    address
}

#[test]
fn tls_in_the_tunnel_is_with_the_server_and_not_with_the_proxy() {
    let authority = Authority::new();
    let server = Server::tls(
        authority.issue("model.test", |_| ()),
        [answer("200 OK", "", b"from afar")],
    );
    let proxy = through(&format!("http://{}", tunnel_to(server.address)));
    let client = Client::new(&trusting(&authority.pem()), proxy, &Cancel::new()).unwrap();
    let response = client.post("https://model.test/v1", &[], b"{}").unwrap();
    assert_eq!(response.read_to_end(9).unwrap(), b"from afar");
}

#[test]
fn this_machine_is_never_asked_for_through_a_proxy() {
    let server = Server::plain([answer("200 OK", "", b""), answer("200 OK", "", b"")]);
    let proxy = Server::plain([]);
    let client = client_with(through(&format!("http://{}", proxy.address)));
    client.get(&server.http(), &[]).unwrap();
    client
        .get(&server.http().replace("127.0.0.1", "localhost"), &[])
        .unwrap();
    assert_eq!(proxy.connections(), 0);
}

#[test]
fn a_proxy_that_refuses_is_named_without_its_password() {
    let proxy = Server::plain([close("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")]);
    let nobody = TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap();
    for (address, said) in [(proxy.address, "407"), (nobody, "refuses connections")] {
        let client = client_with(through(&format!("http://me:canary@{address}")));
        let error = client
            .get("https://model.test/v1", &[])
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, Error::Network { .. }), "{error}");
        let error = error.to_string();
        let place = format!("{address} (the proxy on the way to model.test:443)");
        assert!(error.contains(&place) && error.contains(said), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_a_clear_error() {
    for url in [
        "socks5://me:canary@127.0.0.1:1080",
        "ftp://canary",
        "http://",
        "canary canary",
    ] {
        let outcome = Client::new(&Tls::new(None).unwrap(), through(url), &Cancel::new())
            .and_then(|client| client.get("http://model.test/", &[]).map(drop));
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{url}: {error}");
        assert!(error.to_string().contains("http://host:port"), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}
