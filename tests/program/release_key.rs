//! scripts/release/key: the key that signs releases.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use ring::signature::{ED25519, UnparsedPublicKey};

use crate::harness::home::Home;
use crate::harness::program::{Output, Program};

const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/release/key");

/// Runs the script with a key in the home's folder `keys`.
fn run_key(home: &Home, arguments: &[&str]) -> Output {
    let key = home.path().join("keys/release-key.pem");
    Program::of(KEY, home)
        .args(arguments)
        .env("PEACRAB_RELEASE_KEY", key.to_str().unwrap())
        .run()
}

#[test]
fn a_release_key_is_made_once_and_only_its_owner_can_read_it() {
    let home = Home::new();
    let first = run_key(&home, &[]).ends_with(0);
    for text in ["made a new release key", "Keep a copy of this file"] {
        assert!(first.stderr.contains(text), "{text:?} in {first:?}");
    }
    let key = home.path().join("keys/release-key.pem");
    let mode = fs::metadata(key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let files = fs::read_dir(home.path().join("keys")).unwrap();
    assert_eq!(files.count(), 1, "nothing else is left in the folder");

    let second = run_key(&home, &[]).ends_with(0);
    assert_eq!(second.stdout, first.stdout);
    assert_eq!(second.stderr, "");
    let pem = run_key(&home, &["pem"]).ends_with(0);
    assert!(
        pem.stdout.starts_with("-----BEGIN PUBLIC KEY-----"),
        "{pem:?}"
    );
}

#[test]
fn ring_accepts_the_signature_with_the_printed_key() {
    let home = Home::new();
    let file = home.path().join("SHA256SUMS");
    fs::write(&file, "0123  peacrab-0.1.0-armv7\n").unwrap();
    run_key(&home, &["sign", file.to_str().unwrap()]).ends_with(0);
    let signature = fs::read(home.path().join("SHA256SUMS.sig")).unwrap();
    let printed = run_key(&home, &[]).ends_with(0).stdout;
    let bytes = base64::engine::general_purpose::STANDARD.decode(printed.trim_end());
    let key = UnparsedPublicKey::new(&ED25519, bytes.unwrap());
    let message = fs::read(&file).unwrap();
    key.verify(&message, &signature).unwrap();
    key.verify(b"another release\n", &signature).unwrap_err();
}

#[test]
fn a_release_key_of_another_kind_is_refused() {
    let home = Home::new();
    fs::create_dir(home.path().join("keys")).unwrap();
    fs::write(home.path().join("keys/release-key.pem"), "not a key\n").unwrap();
    let output = run_key(&home, &[]).ends_with(1);
    assert_eq!(output.stdout, "");
    assert!(
        output.stderr.contains("is not an Ed25519 private key"),
        "{output:?}"
    );
}
