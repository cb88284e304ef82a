//! The server with a certificate.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

use super::{Door, Reply, home, request, token};
use crate::harness::PATIENCE;
use crate::harness::model::{Model, say};

fn client(authority: &CertificateDer<'static>) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("crab.example").unwrap();
    ClientConnection::new(Arc::new(config), name).unwrap()
}

#[test]
fn with_a_certificate_it_speaks_tls_alone() {
    let answer = "x".repeat(150_000);
    let model = Model::playing([say(&answer)]);
    let mut home = home(&model);
    let made = rcgen::generate_simple_self_signed(["crab.example".to_owned()]).unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("cert.pem"), made.cert.pem()).unwrap();
    fs::write(path("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let tls = json!({"certificate": path("cert.pem"), "key": path("key.pem")});
    home.set("/http/tls", tls);
    home.set("/http/hosts", json!(["crab.example"]));
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let ask = |text: &str| {
        let stream = TcpStream::connect(door.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = StreamOwned::new(client(made.cert.der()), stream);
        stream.write_all(text.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        Reply::read(&text)
    };
    let text = request("GET", "/health", "", "", "").replace("localhost", "crab.example");
    assert_eq!(ask(&text).status, 200);
    // A question in many records, and an answer that does not fit what the kernel takes at once.
    let long = "y".repeat(50_000);
    let body = json!({"messages": [{"role": "user", "content": long}]}).to_string();
    let reply = ask(&request("POST", "/v1/chat/completions", &token, "", &body));
    assert!(reply.body.contains(&answer), "{} bytes", reply.body.len());
    assert!(model.requests()[0].last_message().contains(&long));
    // Whoever does not speak it gets nothing, and holds up nobody.
    let plain = door.raw(&request("GET", "/health", "", "", ""));
    assert!(
        plain.status == 0 && !plain.head.contains("ok"),
        "{}",
        plain.head
    );
    assert_eq!(ask(&text).status, 200);
    door.gateway.stop().ends_with(0);
}
