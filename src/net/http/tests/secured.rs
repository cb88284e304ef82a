//! TLS: whom it trusts, and what it says of those whom it does not.

use std::path::Path;
use std::sync::Arc;

use super::server::{Authority, Server, answer, keep, self_signed};
use super::{client, settings, trusting};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::net::http::{Client, Settings, Tls};

#[test]
fn an_authority_from_the_file_is_trusted_and_its_connection_is_reused() {
    let (first, second) = (Authority::new(), Authority::new());
    let hello = || {
        [
            answer("200 OK", "", b"hello"),
            answer("200 OK", "", b"again"),
        ]
    };
    let server = Server::tls(second.issue("localhost", |_| ()), hello());
    let tls = trusting(&format!("{}{}", first.pem(), second.pem()));
    let client = Client::new(&tls, settings(), &Cancel::new()).unwrap();
    let whole = client
        .get(&server.https(), &[])
        .unwrap()
        .read_to_end(9)
        .unwrap();
    assert_eq!(whole, b"hello");
    client.post(&server.https(), &[], b"{}").unwrap();
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_large_body_and_a_large_answer_pass_through_tls() {
    let authority = Authority::new();
    let large: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
    let server = Server::tls(
        authority.issue("localhost", |_| ()),
        [answer("200 OK", "", &large)],
    );
    let client = Client::new(&trusting(&authority.pem()), settings(), &Cancel::new()).unwrap();
    let response = client.post(&server.https(), &[], &large).unwrap();
    assert_eq!(response.read_to_end(large.len()).unwrap(), large);
}

#[test]
fn an_unknown_authority_is_refused_with_the_key_that_would_help() {
    let server = Server::tls(Authority::new().issue("localhost", |_| ()), []);
    let error = client().get(&server.https(), &[]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Network { .. }), "{error}");
    assert!(error.to_string().contains("tls.caFile"), "{error}");
}

/// What a client that trusts a file says of a server; `None` when it answered.
fn refusal(config: rustls::ServerConfig, trusted: &str) -> Option<String> {
    let server = Server::tls(config, [answer("200 OK", "", b"")]);
    let client = Client::new(&trusting(trusted), settings(), &Cancel::new()).unwrap();
    let outcome = client.get(&server.https(), &[]);
    outcome.err().map(|error| error.to_string())
}

#[test]
fn a_certificate_in_the_file_is_trusted_for_its_names() {
    let named = |name: &'static str| {
        move |params: &mut rcgen::CertificateParams| {
            params.distinguished_name = rcgen::DistinguishedName::new();
            params
                .distinguished_name
                .push(rcgen::DnType::OrganizationName, "Home");
            params
                .distinguished_name
                .push(rcgen::DnType::CommonName, name);
        }
    };
    for (names, common_name) in [
        (&["localhost"][..], "x"),
        (&[], "localhost"),
        (&[], "LOCALHOST"),
    ] {
        let (config, pem) = self_signed(names, named(common_name));
        assert_eq!(refusal(config, &pem), None, "{names:?} {common_name}");
    }
    for (names, common_name) in [
        (&["nas.home"][..], "localhost"),
        (&[], "nas.home"),
        (&[], "*"),
    ] {
        let (config, pem) = self_signed(names, named(common_name));
        let said = refusal(config, &pem).unwrap();
        assert!(said.contains("is for another name"), "{said}");
    }
    // One whose purpose is another.
    let (config, pem) = self_signed(&["localhost"], |params| {
        params.is_ca = rcgen::IsCa::ExplicitNoCa;
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    });
    assert_eq!(refusal(config, &pem), None);
}

#[test]
fn a_certificate_in_the_file_has_its_time_and_its_bytes() {
    let authority = |params: &mut rcgen::CertificateParams| {
        params.not_after = rcgen::date_time_ymd(1990, 1, 1);
    };
    let (config, pem) = self_signed(&["localhost"], authority);
    let said = refusal(config, &pem).unwrap();
    assert!(said.contains("has expired"), "{said}");
    let (config, _) = self_signed(&["localhost"], |_| ());
    let (_, other) = self_signed(&["localhost"], |_| ());
    let said = refusal(config, &other).unwrap();
    assert!(said.contains("tls.caFile"), "{said}");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new();
    let server = Server::tls(authority.issue("other.example", |_| ()), []);
    let client = Client::new(&trusting(&authority.pem()), settings(), &Cancel::new()).unwrap();
    let error = client
        .get(&server.https(), &[])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(error.contains("is for another name"), "{error}");
}

#[test]
fn a_certificate_out_of_its_time_points_to_the_clock_when_that_is_not_set() {
    let authority = Authority::new();
    for (from, to, said) in [
        (1975, 1976, "has expired"),
        (4000, 4001, "is not valid yet"),
    ] {
        let server = Server::tls(
            authority.issue("localhost", |params| {
                params.not_before = rcgen::date_time_ymd(from, 1, 1);
                params.not_after = rcgen::date_time_ymd(to, 1, 1);
            }),
            [],
        );
        let tls = trusting(&authority.pem());
        for (clock, hint) in [(Clock::System, false), (Clock::Hand(Arc::default()), true)] {
            let settings = Settings {
                clock,
                ..settings()
            };
            let client = Client::new(&tls, settings, &Cancel::new()).unwrap();
            let error = client
                .get(&server.https(), &[])
                .map(drop)
                .unwrap_err()
                .to_string();
            let waits =
                "the clock says 1970-01-01; certificates cannot be checked until the time is set";
            assert_eq!(error.contains(waits), hint, "{error}");
            assert_eq!(
                error.contains(&format!("{said}; the clock says 20")),
                !hint,
                "{error}"
            );
        }
    }
}

#[test]
fn a_server_without_tls_is_told_from_a_broken_one() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let error = client().get(&url, &[]).map(drop).unwrap_err().to_string();
    assert!(error.contains("http://"), "{error}");
}

#[test]
fn a_plain_call_to_a_tls_server_is_not_http() {
    let server = Server::tls(Authority::new().issue("localhost", |_| ()), [keep("")]);
    let error = client().get(&server.http(), &[]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Network { .. }), "{error}");
}

#[test]
fn a_file_without_certificates_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (name, content) in [("empty", ""), ("noise", "hello"), ("broken", broken)] {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        let error = Tls::new(Some(&file)).map(drop).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
        assert!(
            error.to_string().contains(file.to_str().unwrap()),
            "{error}"
        );
    }
    let error = Tls::new(Some(Path::new("/nowhere/ca.pem")))
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("tls.caFile: cannot read /nowhere/ca.pem"),
        "{error}"
    );
}
