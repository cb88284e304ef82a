//! A provider of mail: a mailbox over IMAP, and a server that takes mails over SMTP. It is as strict as real ones, adds
//! to each mail what a receiving server adds, and goes wrong when the test says so. Python's imaplib, smtplib and
//! email are content with it: see tests/mail/check.py. <https://www.rfc-editor.org/rfc/rfc3501>

mod imap;
mod mime;
mod person;
mod smtp;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::harness::line::Paced;
use crate::harness::network::Network;
use crate::harness::shared::{Recent, Shared, last};
use crate::harness::tls::Authority;
use crate::harness::wire::Stream;

pub use person::{Letter, Person};

/// The bot's address, and its user name.
pub const BOT: &str = "bot@example.org";
/// The bot's password in every test; it must never appear in the program's output.
pub const PASSWORD: &str = "mail-canary-0123456789";
/// The name of the server that checks senders.
pub const CHECKER: &str = "mx.example.org";

/// How connections are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Not at all.
    Plain,
    /// After STARTTLS; a password before it is a complaint.
    StartTls,
    /// From the beginning.
    Tls,
}

/// Something that goes wrong, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A command whose line begins so is answered with this, such as `NO [UNAVAILABLE] later` or `451 4.3.0 busy`.
    Says(&'static str, &'static str),
    /// The connection is cut when such a command comes, before it has an effect.
    Cuts(&'static str),
    /// The mail is taken, and the connection cut before the client is told.
    LosesReply,
}

/// A mail that the bot has sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its Message-ID.
    pub id: String,
    /// Who gets it.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The plain text, with simple newlines.
    pub text: String,
    /// The HTML; empty for none.
    pub html: String,
    /// Names and contents of files.
    pub files: Vec<(String, Vec<u8>)>,
    /// The mail that it answers; empty for none.
    pub in_reply_to: String,
    /// The mails before it.
    pub references: Vec<String>,
    /// As it was sent.
    pub raw: Vec<u8>,
}

/// The provider. It stops when it is dropped, and fails the test then if it was asked what a real one would refuse, or
/// if something that was to go wrong never did.
pub struct Mail {
    server: Arc<Server>,
}

struct Server {
    imap: Arc<Network>,
    smtp: Arc<Network>,
    security: Security,
    tls: Option<(Authority, Arc<ServerConfig>)>,
    shared: Shared<State>,
}

/// A mail in the mailbox.
struct Stored {
    uid: u64,
    raw: Vec<u8>,
    is_seen: bool,
}

struct State {
    validity: u64,
    next_uid: u64,
    mails: Vec<Stored>,
    sent: Vec<Sent>,
    faults: VecDeque<Fault>,
    complaints: Vec<String>,
    has_idle: bool,
    /// Bytes of the largest mail that is taken.
    most: usize,
    /// Addresses that do not exist.
    unknown: Vec<String>,
    /// Commands of IMAP so far, without their tags.
    commands: Vec<String>,
    /// Sessions that are in IDLE now.
    idling: usize,
    written: u64,
}

impl Mail {
    /// An empty mailbox, without TLS.
    pub fn start() -> Self {
        Self::with(Security::Plain)
    }

    /// An empty mailbox.
    pub fn with(security: Security) -> Self {
        let state = State {
            validity: 1_700_000_000,
            next_uid: 1,
            mails: Vec::new(),
            sent: Vec::new(),
            faults: VecDeque::new(),
            complaints: Vec::new(),
            has_idle: true,
            most: 10_000_000,
            unknown: Vec::new(),
            commands: Vec::new(),
            idling: 0,
            written: 0,
        };
        let server = Arc::new(Server {
            imap: Network::new(),
            smtp: Network::new(),
            security,
            tls: (security != Security::Plain).then(Authority::self_signed),
            shared: Shared::new(state),
        });
        server.listen();
        Self { server }
    }

    /// The channel's section of the configuration, in which Ana has access.
    pub fn section(&self) -> Value {
        let is_tls = self.server.security == Security::Tls;
        json!({
            "enabled": true, "consentGranted": true, "allowFrom": ["ana@example.org"],
            "imapHost": "127.0.0.1", "imapPort": self.server.imap.address().port(), "imapUseSsl": is_tls,
            "imapUsername": BOT, "imapPassword": PASSWORD,
            "smtpHost": "127.0.0.1", "smtpPort": self.server.smtp.address().port(), "smtpUseSsl": is_tls,
            "smtpUseTls": self.server.security == Security::StartTls,
            "smtpUsername": BOT, "smtpPassword": PASSWORD, "fromAddress": BOT, "authservId": CHECKER,
            "pollIntervalSeconds": 5,
        })
    }

    /// The ports of IMAP and SMTP.
    pub fn ports(&self) -> (u16, u16) {
        (
            self.server.imap.address().port(),
            self.server.smtp.address().port(),
        )
    }

    /// The certificate authority; `None` without TLS.
    pub fn authority_file(&self) -> Option<PathBuf> {
        self.server
            .tls
            .as_ref()
            .map(|(authority, _)| authority.file())
    }

    /// A person who writes mails.
    pub fn person(&self, address: &str, name: &str) -> Person {
        Person {
            server: Arc::clone(&self.server),
            address: address.to_owned(),
            name: name.to_owned(),
        }
    }

    /// What the bot has sent to an address, oldest first.
    pub fn sent(&self, to: &str) -> Vec<Sent> {
        let state = self.server.state();
        state
            .sent
            .iter()
            .filter(|mail| mail.to == to)
            .cloned()
            .collect()
    }

    /// Waits for a mail of the bot's.
    #[track_caller]
    pub fn wait_for(&self, what: &str, is_meant: impl Fn(&Sent) -> bool) -> Sent {
        let what = format!("a mail: {what}");
        self.server.wait_until(&what, |state| {
            state.sent.iter().find(|mail| is_meant(mail)).cloned()
        })
    }

    /// Waits until a session waits for news.
    pub fn wait_for_idle(&self) {
        self.server
            .wait_until("IDLE", |state| (state.idling > 0).then_some(()));
    }

    /// Waits for a command of IMAP that begins so, such as `UID STORE 1`, and has come this often.
    pub fn wait_for_command(&self, start: &str, times: usize) {
        let come = |state: &State| {
            state
                .commands
                .iter()
                .filter(|command| command.starts_with(start))
                .count()
        };
        self.server
            .wait_until(start, |state| (come(state) >= times).then_some(()));
    }

    /// The commands of IMAP so far, without their tags.
    pub fn commands(&self) -> Vec<String> {
        self.server.state().commands.clone()
    }

    /// The UIDs of the mails that are marked as read.
    pub fn seen(&self) -> Vec<u64> {
        let state = self.server.state();
        state
            .mails
            .iter()
            .filter(|mail| mail.is_seen)
            .map(|mail| mail.uid)
            .collect()
    }

    /// The server does not know IDLE.
    pub fn forgets_idle(&self) {
        self.server.change(|state| state.has_idle = false);
    }

    /// The server numbers its mails again.
    pub fn renumbers(&self) {
        self.server.change(|state| {
            state.validity += 1;
            for (mail, uid) in state.mails.iter_mut().zip(101..) {
                mail.uid = uid;
            }
            state.next_uid = 101 + state.mails.len() as u64;
        });
        self.disconnect();
    }

    /// The server takes mails of at most so many bytes.
    pub fn takes_at_most(&self, bytes: usize) {
        self.server.change(|state| state.most = bytes);
    }

    /// No one has this address.
    pub fn does_not_know(&self, address: &str) {
        self.server
            .change(|state| state.unknown.push(address.to_owned()));
    }

    /// Something goes wrong, once.
    pub fn goes_wrong(&self, fault: Fault) {
        self.server.change(|state| state.faults.push_back(fault));
    }

    /// What clients have done that a real server would refuse; it does not fail the test any more.
    pub fn take_complaints(&self) -> Vec<String> {
        std::mem::take(&mut self.server.state().complaints)
    }

    /// Cuts all connections.
    pub fn disconnect(&self) {
        self.outage(true);
        self.outage(false);
    }

    /// Cuts the network, or restores it.
    pub fn outage(&self, is_on: bool) {
        match is_on {
            true => {
                self.server.imap.close();
                self.server.smtp.close();
            }
            false => self.server.listen(),
        }
    }
}

impl Drop for Mail {
    fn drop(&mut self) {
        self.server.imap.close();
        self.server.smtp.close();
        if thread::panicking() {
            return;
        }
        let state = self.server.state();
        let unmet = state
            .faults
            .iter()
            .map(|fault| format!("nobody met {fault:?}"));
        let complaints: Vec<String> = state.complaints.iter().cloned().chain(unmet).collect();
        // The lock is released before a panic: threads may still need it.
        drop(state);
        assert!(complaints.is_empty(), "mail: {complaints:#?}");
    }
}

impl Deref for Server {
    type Target = Shared<State>;

    fn deref(&self) -> &Self::Target {
        &self.shared
    }
}

impl Recent for State {
    fn recent(&self) -> Vec<String> {
        let mut recent = last(self.commands.iter().cloned());
        recent.extend(last(self.sent.iter().map(|mail| format!("{mail:?}"))));
        recent
    }
}

impl Server {
    fn listen(self: &Arc<Self>) {
        let server = Arc::clone(self);
        self.imap.listen(move |socket| imap::serve(&server, socket));
        let server = Arc::clone(self);
        self.smtp.listen(move |socket| smtp::serve(&server, socket));
    }

    /// Adds a mail to the mailbox.
    fn deliver(&self, raw: Vec<u8>) -> u64 {
        self.change(|state| {
            let uid = state.next_uid;
            state.next_uid += 1;
            state.mails.push(Stored {
                uid,
                raw,
                is_seen: false,
            });
            uid
        })
    }
}

impl State {
    fn complain(&mut self, what: String) {
        self.complaints.push(what);
    }

    /// The fault that concerns a command.
    fn fault(&mut self, command: &str) -> Option<Fault> {
        let is_meant = |fault: &Fault| match fault {
            Fault::Says(start, _) | Fault::Cuts(start) => command.starts_with(start),
            Fault::LosesReply => command == ".",
        };
        let at = self.faults.iter().position(is_meant)?;
        self.faults.remove(at)
    }
}

/// A client's connection.
struct Client {
    stream: BufReader<Box<dyn Stream>>,
    /// To set its timeouts.
    socket: TcpStream,
    is_secure: bool,
}

impl Client {
    fn new(server: &Server, network: &Network, socket: &TcpStream) -> std::io::Result<Self> {
        let paced = Paced {
            socket: socket.try_clone()?,
            line: network.line(),
        };
        let mut client = Self {
            stream: BufReader::new(Box::new(paced)),
            socket: socket.try_clone()?,
            is_secure: false,
        };
        if server.security == Security::Tls {
            client = client.secure(server)?;
        }
        Ok(client)
    }

    fn secure(self, server: &Server) -> std::io::Result<Self> {
        assert!(
            self.stream.buffer().is_empty(),
            "the client sent data before TLS began"
        );
        let (_, config) = server.tls.as_ref().unwrap();
        let connection =
            ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
        let stream = StreamOwned::new(connection, self.stream.into_inner());
        Ok(Self {
            stream: BufReader::new(Box::new(stream)),
            is_secure: true,
            ..self
        })
    }

    fn say(&mut self, text: impl AsRef<[u8]>) -> std::io::Result<()> {
        let out = self.stream.get_mut();
        out.write_all(text.as_ref())?;
        out.flush()
    }

    /// The next line without its CRLF; `None` when the client has gone.
    fn line(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line)? {
            0 => Ok(None),
            _ if line.ends_with(b"\r\n") => {
                line.truncate(line.len() - 2);
                Ok(Some(line))
            }
            _ => Err(std::io::Error::other(format!(
                "a line without CRLF: {line:?}"
            ))),
        }
    }
}
