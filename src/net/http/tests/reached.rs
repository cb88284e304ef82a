//! From a name to a connection.

use std::net::{Ipv4Addr, TcpListener};

use super::server::{Server, answer};
use super::{client, client_with, dialer, settings, through};
use crate::base::cancel::Cancel;
use crate::net::Guard;
use crate::net::http::{Client, Settings, Tls};

#[test]
fn a_name_that_cannot_be_resolved_is_said() {
    let unknown = |_: &str, _: u16| Err(std::io::ErrorKind::NotFound.into());
    let tls = Tls::new(None).unwrap();
    let client = Client::with_dialer(&tls, settings(), dialer(&Cancel::new(), unknown)).unwrap();
    let error = client
        .get("https://model.test/canary", &[])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "cannot connect to model.test:443: cannot resolve its name; check the name and your network"
    );
}

#[test]
fn the_next_address_is_tried_when_one_refuses() {
    let addresses = |_: &str, port: u16| {
        let hosts = [Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST];
        Ok(hosts.map(|host| (host, port).into()).to_vec())
    };
    let server = Server::plain([answer("200 OK", "", b"second")]);
    let url = format!("http://model.test:{}/", server.address.port());
    let tls = Tls::new(None).unwrap();
    let client = Client::with_dialer(&tls, settings(), dialer(&Cancel::new(), addresses)).unwrap();
    let response = client.get(&url, &[]).unwrap();
    assert_eq!(response.read_to_end(9).unwrap(), b"second");
}

#[test]
fn a_closed_port_is_reported_with_its_address_and_without_the_path() {
    let address = TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{address}/canary?key=canary");
    let error = client().get(&url, &[]).map(drop).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot connect to {address}: it refuses connections; check that the server is running and the port is right"
        )
    );
}

#[test]
fn an_address_that_the_guard_refuses_is_named_and_not_called() {
    let server = Server::plain([]);
    let proxy = Server::plain([]);
    for settings in [settings(), through(&format!("http://{}", proxy.address))] {
        let settings = Settings {
            guard: Guard::new(|_| Err("it is on a private network")),
            ..settings
        };
        for url in [server.http(), "http://10.0.0.1/".to_owned()] {
            let error = client_with(settings.clone()).get(&url, &[]).map(drop);
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains("not allowed: it is on a private network"),
                "{error}"
            );
        }
    }
    assert_eq!((server.connections(), proxy.connections()), (0, 0));
}

/// A server of another user's; `None` where this test may not make one.
fn server_of_another_user() -> Option<(TcpListener, String)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    std::os::unix::fs::fchown(&listener, Some(65534), None).ok()?;
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    Some((listener, url))
}

/// What was sent to the server: it has hung up by now.
fn sent_to(listener: &TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut sent = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut sent);
    sent
}

#[test]
fn a_key_is_not_sent_to_another_users_server_nor_through_another_users_proxy() {
    let Some((listener, url)) = server_of_another_user() else {
        eprintln!("not tried: it takes root to be another user");
        return;
    };
    let headers = [("authorization", "Bearer canary")];
    let direct = client().post(&url, &headers, b"{}").map(drop);
    let proxied = client_with(through(&url));
    let proxied = proxied
        .post("http://model.test/", &headers, b"{}")
        .map(drop);
    for refused in [direct, proxied] {
        let error = refused.unwrap_err().to_string();
        assert!(
            error.contains("no key was sent: this port belongs to the user nobody"),
            "{error}"
        );
        assert_eq!(sent_to(&listener), b"");
    }
    // What has no key is sent.
    let settings = Settings {
        carries_secret: false,
        first_byte: std::time::Duration::from_millis(100),
        ..settings()
    };
    client_with(settings)
        .post(&url, &[], b"{}")
        .map(drop)
        .unwrap_err();
    assert!(!sent_to(&listener).is_empty());
}
