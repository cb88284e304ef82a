//! A raised token ends every wait at once, whatever it is for.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::server::{Server, keep, silence};
use super::{dialer, settings};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::net::http::{Client, Tls, Upload, error_of};

/// Without the token each of these waits for a minute or for ever; a busy machine gets the rest.
const AT_ONCE: Duration = Duration::from_secs(5);

fn client(cancel: &Cancel) -> Client {
    Client::new(&Tls::new(None).unwrap(), settings(), cancel).unwrap()
}

/// Runs a call, raises the token as soon as `blocked` says so, and checks how it ends.
fn stops(blocked: impl FnOnce() + Send + 'static, call: impl FnOnce(&Cancel) -> Result<()>) {
    let cancel = Cancel::new();
    let raiser = cancel.clone();
    let raised = thread::spawn(move || {
        blocked();
        raiser.cancel();
        Stopwatch::start()
    });
    let outcome = call(&cancel);
    let took = raised.join().unwrap().elapsed();
    assert!(matches!(outcome, Err(Error::Stopped)), "{outcome:?}");
    assert!(took < AT_ONCE, "{took:?}");
}

/// For waits that nobody sees from outside: time enough to get into them, and the outcome is the
/// same when it was not.
fn soon() {
    Cancel::new().wait(Duration::from_millis(50));
}

fn on(signal: Receiver<()>) -> impl FnOnce() + Send {
    move || signal.recv_timeout(Duration::from_secs(60)).unwrap()
}

#[test]
fn while_a_name_is_resolved() {
    fn never(_: &str, _: u16) -> std::io::Result<Vec<SocketAddr>> {
        loop {
            thread::park();
        }
    }
    stops(soon, |cancel| {
        let client =
            Client::with_dialer(&Tls::new(None).unwrap(), settings(), dialer(cancel, never))?;
        client.get("http://model.test/", &[]).map(drop)
    });
}

/// A listener whose queue is full answers no further attempt (listen(2)).
fn deaf() -> (SocketAddr, [TcpStream; 1], TcpListener) {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    (address, [TcpStream::connect(address).unwrap()], listener)
}

#[test]
fn while_it_connects() {
    let (address, _filling, _listener) = deaf();
    stops(soon, |cancel| {
        client(cancel)
            .get(&format!("http://{address}/"), &[])
            .map(drop)
    });
}

#[test]
fn while_tls_is_agreed_on() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let (sender, hello) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        sender.send(()).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    stops(on(hello), |cancel| client(cancel).get(&url, &[]).map(drop));
}

#[test]
fn while_the_request_is_sent() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, begun) = channel();
    let (done, end) = channel::<()>();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        sender.send(()).unwrap();
        // Holds the stream and reads no more of it.
        let _ = end.recv();
    });
    let more_than_sockets_buffer = vec![0; 64 << 20];
    stops(on(begun), |cancel| {
        client(cancel)
            .post(&url, &[], &more_than_sockets_buffer)
            .map(drop)
    });
    drop(done);
}

#[test]
fn while_a_file_is_sent() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, begun) = channel();
    let (done, end) = channel::<()>();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        sender.send(()).unwrap();
        let _ = end.recv();
    });
    stops(on(begun), |cancel| {
        client(cancel)
            .post_reader(&url, &[], Upload::new(&mut std::io::repeat(0), u64::MAX))
            .map(drop)
    });
    drop(done);
}

#[test]
fn while_the_model_thinks() {
    let server = Server::plain([silence()]);
    let url = server.http();
    stops(
        move || drop(server.request()),
        |cancel| client(cancel).post(&url, &[], b"{}").map(drop),
    );
}

#[test]
fn while_the_answer_pauses_even_when_nothing_says_how_long_it_is() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n";
    let until_closed = "HTTP/1.1 200 OK\r\n\r\nhi";
    for head in [chunked, until_closed] {
        let server = Server::plain([keep(head)]);
        let (sender, reading) = channel();
        stops(on(reading), |cancel| {
            let mut body = client(cancel).get(&server.http(), &[])?.into_reader(100);
            body.read_exact(&mut [0; 2]).unwrap();
            sender.send(()).unwrap();
            body.read_to_end(&mut Vec::new())
                .map(drop)
                .map_err(error_of)
        });
    }
}

#[test]
fn before_it_begins() {
    let server = Server::plain([]);
    let cancel = Cancel::new();
    cancel.cancel();
    let outcome = client(&cancel).get(&server.http(), &[]).map(drop);
    assert!(matches!(outcome, Err(Error::Stopped)), "{outcome:?}");
    assert_eq!(server.connections(), 0);
}
