//! A server that plays a script: one answer after the other, whichever connection asks.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::base::cancel::Cancel;

/// What the server sends for one request.
pub struct Answer {
    bytes: Vec<u8>,
    delay: Duration,
    closes: bool,
}

/// Sends the bytes and waits for the next request.
pub fn keep(bytes: impl Into<Vec<u8>>) -> Answer {
    Answer {
        bytes: bytes.into(),
        delay: Duration::ZERO,
        closes: false,
    }
}

/// Sends the bytes and closes the connection.
pub fn close(bytes: impl Into<Vec<u8>>) -> Answer {
    Answer {
        closes: true,
        ..keep(bytes)
    }
}

/// Sends nothing.
pub fn silence() -> Answer {
    keep("")
}

/// A whole answer with a status line, such as `200 OK`, headers and a body of known length.
pub fn answer(status: &str, headers: &str, body: &[u8]) -> Answer {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n");
    keep([head.as_bytes(), body].concat())
}

impl Answer {
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }
}

struct Play {
    answers: Mutex<VecDeque<Answer>>,
    connections: AtomicUsize,
    requests: Sender<(String, Vec<u8>)>,
    tls: Option<Arc<ServerConfig>>,
}

pub struct Server {
    pub address: SocketAddr,
    play: Arc<Play>,
    requests: Receiver<(String, Vec<u8>)>,
}

impl Server {
    pub fn plain(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start(answers, None)
    }

    pub fn tls(config: ServerConfig, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start(answers, Some(Arc::new(config)))
    }

    fn start(answers: impl IntoIterator<Item = Answer>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = channel();
        let play = Arc::new(Play {
            answers: Mutex::new(answers.into_iter().collect()),
            connections: AtomicUsize::new(0),
            requests: sender,
            tls,
        });
        let shared = play.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let play = shared.clone();
                thread::spawn(move || play.serve(stream));
            }
        });
        Self {
            address,
            play,
            requests,
        }
    }

    pub fn http(&self) -> String {
        format!("http://{}/v1/chat", self.address)
    }

    /// By its name, which is what its certificate is for.
    pub fn https(&self) -> String {
        format!("https://localhost:{}/v1/chat", self.address.port())
    }

    pub fn connections(&self) -> usize {
        self.play.connections.load(Ordering::SeqCst)
    }

    /// The next request's head, in lower case, as soon as it and its body are there.
    pub fn request(&self) -> String {
        self.request_with_body().0
    }

    /// The same, and the body as it came.
    pub fn request_with_body(&self) -> (String, Vec<u8>) {
        self.requests.recv_timeout(Duration::from_secs(60)).unwrap()
    }
}

impl Play {
    fn serve(&self, stream: TcpStream) {
        match &self.tls {
            None => self.talk(stream),
            Some(config) => {
                let connection = ServerConnection::new(config.clone()).unwrap();
                self.talk(StreamOwned::new(connection, stream));
            }
        }
    }

    fn talk(&self, stream: impl Read + Write) {
        let mut stream = BufReader::new(stream);
        while let Some(request) = read_request(&mut stream) {
            let _ = self.requests.send(request);
            let Some(answer) = self.answers.lock().unwrap().pop_front() else {
                continue;
            };
            Cancel::new().wait(answer.delay);
            let sent = stream.get_mut().write_all(&answer.bytes);
            if sent.is_err() || stream.get_mut().flush().is_err() || answer.closes {
                return;
            }
        }
    }
}

fn read_request(stream: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    head.make_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body).ok()?;
    Some((head, body))
}

/// An authority of our own, as a company or a home lab has one.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A server's configuration with a certificate for a name, changed by `change`.
    pub fn issue(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        server_config(&certificate, &key)
    }
}

/// A server's configuration with a certificate that only it vouches for and that calls itself an authority's, as
/// `openssl req -x509` makes it; with its PEM.
pub fn self_signed(
    names: &[&str],
    change: impl FnOnce(&mut CertificateParams),
) -> (ServerConfig, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (server_config(&certificate, &key), certificate.pem())
}

fn server_config(certificate: &Certificate, key: &KeyPair) -> ServerConfig {
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap()
}
