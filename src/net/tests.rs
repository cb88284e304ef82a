//! Who is asked, and who is dialled.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;

const TIME: Duration = Duration::from_secs(60);

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A dialer whose guard notes what it is asked and refuses what `refused` says.
fn guarded(refused: fn(SocketAddr) -> bool) -> (Dialer, Arc<Mutex<Vec<SocketAddr>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = asked.clone();
    let guard = Guard::new(move |address| {
        noted.lock().unwrap().push(address);
        match refused(address) {
            true => Err("it is a test"),
            false => Ok(()),
        }
    });
    let dialer = Dialer {
        guard,
        ..Dialer::new(&Cancel::new())
    };
    (dialer, asked)
}

#[test]
fn the_guard_is_asked_about_every_address_up_to_the_one_that_answers() {
    let (_listener, answers) = listen();
    let refuses = SocketAddr::from(([127, 0, 0, 2], answers.port()));
    let never = SocketAddr::from(([127, 0, 0, 3], answers.port()));
    let (dialer, asked) = guarded(|_| false);
    dialer.connect(&[refuses, answers, never], TIME).unwrap();
    assert_eq!(*asked.lock().unwrap(), [refuses, answers]);
}

#[test]
fn a_refused_address_is_not_dialled_and_the_next_one_is() {
    let (listener, forbidden) = listen();
    listener.set_nonblocking(true).unwrap();
    let (_listener, allowed) = {
        let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    };
    let (dialer, asked) = guarded(|address| address.ip() == Ipv4Addr::LOCALHOST);
    dialer.connect(&[forbidden, allowed], TIME).unwrap();
    assert_eq!(*asked.lock().unwrap(), [forbidden, allowed]);
    match dialer.connect(&[forbidden], TIME).map(drop) {
        Err(Failure::Refused { address, why }) => {
            assert_eq!((address, why), (forbidden, "it is a test"));
        }
        other => panic!("{other:?}"),
    }
    assert!(listener.accept().is_err(), "it was dialled");
}

#[test]
fn a_read_that_is_late_loses_nothing() {
    let (listener, address) = listen();
    let mut near = Dialer::new(&Cancel::new())
        .connect(&[address], TIME)
        .unwrap();
    let (mut far, _) = listener.accept().unwrap();
    near.set_read_deadline(Duration::from_millis(10));
    let late = near.read(&mut [0; 9]).unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    assert!(near.is_open());
    far.write_all(b"late").unwrap();
    near.set_read_deadline(TIME);
    let mut received = [0; 4];
    near.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"late");
    drop(far);
    assert_eq!(near.read(&mut received).unwrap(), 0);
    assert!(!near.is_open());
}

#[test]
fn a_raised_token_ends_a_read() {
    let (listener, address) = listen();
    let cancel = Cancel::new();
    let mut stream = Dialer::new(&cancel).connect(&[address], TIME).unwrap();
    let reader = std::thread::spawn(move || stream.read(&mut [0; 9]).unwrap_or(0));
    let _far = listener.accept().unwrap();
    cancel.cancel();
    assert_eq!(reader.join().unwrap(), 0);
}

#[test]
fn this_machine_has_many_names() {
    for host in [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "127.8.9.1",
        "::1",
        "0.0.0.0",
    ] {
        assert!(is_loopback(host), "{host}");
    }
    for host in ["localhost.example.com", "128.0.0.1", "mylocalhost", "::2"] {
        assert!(!is_loopback(host), "{host}");
    }
}

#[test]
fn a_name_of_this_machine_is_one_address() {
    for name in ["localhost", "LOCALHOST.", "model.localhost"] {
        let addresses = known_addresses(name, 80).unwrap();
        assert_eq!(addresses, [SocketAddr::from(([127, 0, 0, 1], 80))]);
    }
}

/// The ends of a connection to a listener of this process, which is no child of ours.
fn ends(listener: &TcpListener) -> (Stream, SocketAddr, SocketAddr) {
    let dialer = Dialer::new(&Cancel::new());
    let stream = dialer
        .connect(&[listener.local_addr().unwrap()], TIME)
        .unwrap();
    let (theirs, ours) = stream.ends().unwrap();
    (stream, theirs, ours)
}

#[test]
fn our_own_server_is_trusted_and_what_cannot_be_seen_is_not() {
    let (listener, _) = listen();
    let (_stream, theirs, ours) = ends(&listener);
    owner::check(theirs, ours, &[]).unwrap();
    // Nobody has this port.
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let refused = owner::check(nobody, ours, &[]).unwrap_err();
    assert!(matches!(&refused, Failure::Untrusted(what) if what.contains("is unknown")));
    owner::check(nobody, ours, &["*".to_owned()]).unwrap();
    // On another machine there is nothing to see.
    owner::check(SocketAddr::from(([192, 0, 2, 1], 1)), ours, &[]).unwrap();
}

#[test]
fn a_command_of_ours_is_not_trusted_with_a_key() {
    let (listener, _) = listen();
    let (_stream, theirs, ours) = ends(&listener);
    // It has the listener as its standard input, and nobody else has it.
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .stdin(std::os::fd::OwnedFd::from(listener))
        .spawn()
        .unwrap();
    let refused = owner::check(theirs, ours, &[]);
    child.kill().unwrap();
    child.wait().unwrap();
    match refused {
        Err(Failure::Untrusted(what)) => assert!(what.contains("own commands"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_users_server_is_trusted_only_when_it_is_named() {
    if crate::sys::port::own_user() != 0 {
        eprintln!("not tried: it takes root to be another user");
        return;
    }
    let (listener, _) = listen();
    // The table shows the socket's owner.
    std::os::unix::fs::fchown(&listener, Some(65534), None).unwrap();
    let (_stream, theirs, ours) = ends(&listener);
    let outcomes = [
        &[][..],
        &["65533".to_owned()],
        &["nobody".to_owned()],
        &["65534".to_owned()],
    ]
    .map(|users| owner::check(theirs, ours, users));
    let [none, other, name, number] = outcomes;
    for refused in [none, other] {
        match refused {
            Err(Failure::Untrusted(what)) => assert!(what.contains("nobody"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    name.unwrap();
    number.unwrap();
}
