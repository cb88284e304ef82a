//! A client of IMAP (RFC 3501), as far as a mailbox is read: new mails are found by their UIDs, their headers and
//! structure are fetched, and then only the parts that are wanted.

pub mod structure;
pub mod value;

#[cfg(test)]
mod tests;

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use self::value::{Response, Status, Value, literal};
use super::CONNECT_TIME;
use super::wire::{Security, Server, Wire};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::limits::channels::email::ANSWER_TIME;
use crate::base::secret::Secret;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::net::Tls;

/// Bytes of one answer of an IMAP server with its literals: headers, the structure, and a part of a file.
const RESPONSE_BYTES: usize = 384 * 1024;

/// Who logs in, and where.
#[derive(Clone, Debug)]
pub struct Account {
    /// The server.
    pub server: Server,
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: Secret,
}

/// A mailbox as it was when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// The UIDs of mails have their meaning as long as this is the same.
    pub validity: u64,
    /// The UID of the next mail.
    pub next: u64,
}

/// A session.
pub struct Imap {
    wire: Wire,
    heartbeat: Heartbeat,
    capabilities: Vec<String>,
    tags: u32,
    mailbox: Mailbox,
    /// Set when the server has said that there is a new mail.
    has_news: bool,
}

impl Imap {
    /// Connects and logs in.
    pub fn open(
        account: &Account,
        tls: &Tls,
        cancel: &Cancel,
        heartbeat: &Heartbeat,
    ) -> Sent<Self> {
        heartbeat.beat(CONNECT_TIME + ANSWER_TIME);
        let mut imap = Self {
            wire: Wire::dial(&account.server, tls, cancel)?,
            heartbeat: heartbeat.clone(),
            capabilities: Vec::new(),
            tags: 0,
            mailbox: Mailbox::default(),
            has_news: false,
        };
        let greeting = imap.response()?;
        match imap.note(&greeting)? {
            Some(Status::Ok | Status::PreAuth) => {}
            _ => return Err(Failure::Down("the IMAP server does not greet".to_owned())),
        }
        if account.server.security == Security::StartTls && !imap.wire.is_secure() {
            imap.need_capabilities()?;
            if imap.can("STARTTLS") {
                imap.run("STARTTLS")?;
                imap = Self {
                    wire: imap.wire.secure(tls)?,
                    // What was said before TLS does not count.
                    capabilities: Vec::new(),
                    ..imap
                };
            }
        }
        imap.wire.check_secrecy(tls)?;
        imap.need_capabilities()?;
        imap.log_in(account)?;
        // Others may be offered to those who are logged in.
        imap.capabilities.clear();
        imap.need_capabilities()?;
        Ok(imap)
    }

    /// Whether the server can do something.
    pub fn can(&self, capability: &str) -> bool {
        let mut all = self.capabilities.iter();
        all.any(|known| known == capability)
    }

    fn need_capabilities(&mut self) -> Sent {
        if self.capabilities.is_empty() {
            self.run("CAPABILITY")
        } else {
            Ok(())
        }
    }

    fn log_in(&mut self, account: &Account) -> Sent {
        let password = account.password.expose();
        if self.can("AUTH=PLAIN") {
            let token = BASE64_STANDARD.encode(format!("\0{}\0{password}", account.user));
            let outcome = if self.can("SASL-IR") {
                self.run(&format!("AUTHENTICATE PLAIN {token}"))
            } else {
                self.run_with("AUTHENTICATE PLAIN", &[token.as_bytes()])
            };
            return outcome.map_err(rejected);
        }
        if self.can("LOGINDISABLED") {
            return Err(Failure::Down(
                "the IMAP server offers no login with a password".to_owned(),
            ));
        }
        // As literals, which may contain anything.
        let user = account.user.as_bytes();
        let password = password.as_bytes();
        let line = format!("LOGIN {{{}}}", user.len());
        let second = [user, format!(" {{{}}}", password.len()).as_bytes()].concat();
        self.run_with(&line, &[&second, password]).map_err(rejected)
    }

    /// Opens a mailbox.
    pub fn select(&mut self, name: &str) -> Sent<Mailbox> {
        self.mailbox = Mailbox::default();
        let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
        let outcome = self.run(&format!("SELECT \"{escaped}\""));
        outcome.map_err(|failure| match failure {
            Failure::Refused(said) => {
                Failure::Down(format!("the mailbox {name} cannot be opened: {said}"))
            }
            failure => failure,
        })?;
        match self.mailbox.validity {
            0 => Err(Failure::Down(format!(
                "the mailbox {name} has no UIDVALIDITY"
            ))),
            _ => Ok(self.mailbox),
        }
    }

    /// The UIDs of the mails that match, in order.
    pub fn search(&mut self, criteria: &str) -> Sent<Vec<u64>> {
        let mut found = Vec::new();
        let command = format!("UID SEARCH {criteria}");
        self.command(&command, &[], &mut |response| {
            if let Response::Data { kind, values } = response
                && kind == "SEARCH"
            {
                found.extend(values.iter().filter_map(Value::number));
            }
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Fetches items of a mail; `None` when there is no such mail. `wanted` is the item that the answer has to have:
    /// servers tell about flags at any time, in answers of the same kind.
    pub fn fetch(&mut self, uid: u64, items: &str, wanted: &str) -> Sent<Option<Value>> {
        let mut found = None;
        let command = format!("UID FETCH {uid} ({items})");
        self.command(&command, &[], &mut |response| {
            if let Response::Numbered {
                kind,
                value: Some(value),
                ..
            } = response
                && kind == "FETCH"
                && value.named("UID").and_then(Value::number) == Some(uid)
                && value.named(wanted).is_some()
            {
                found = Some(value);
            }
        })?;
        Ok(found)
    }

    /// Marks a mail as read.
    pub fn mark_seen(&mut self, uid: u64) -> Sent {
        self.run(&format!("UID STORE {uid} +FLAGS.SILENT (\\Seen)"))
    }

    /// Waits until there may be a new mail, or the time is over. Needs the capability IDLE.
    pub fn idle(&mut self, time: Duration) -> Sent {
        if std::mem::take(&mut self.has_news) {
            return Ok(());
        }
        let tag = self.send("IDLE")?;
        let watch = Stopwatch::start();
        let mut is_waiting = false;
        loop {
            let left = time.saturating_sub(watch.elapsed());
            self.heartbeat.beat(left + 2 * ANSWER_TIME);
            self.wire.rest();
            crate::sys::memory::give_back_stack();
            let Some(line) = self.wire.line_within(left.max(Duration::from_millis(1)))? else {
                break;
            };
            let response = self.whole(line)?;
            if response == Response::Continue {
                is_waiting = true;
            } else if self.note(&response)?.is_some() && is_of(&response, &tag) {
                // The server has ended it by itself, or refuses it.
                return match response {
                    Response::Status {
                        status: Status::Ok, ..
                    } => Ok(()),
                    Response::Status { text, .. } => Err(Failure::Trouble(text)),
                    _ => Ok(()),
                };
            }
            if self.has_news && is_waiting {
                break;
            }
        }
        self.has_news = false;
        self.wire.write(b"DONE\r\n")?;
        self.finish(&tag, &mut |_| {})
    }

    /// Asks whether there is something new, of a server without IDLE.
    pub fn look(&mut self) -> Sent {
        self.has_news = false;
        self.run("NOOP")
    }

    /// Ends the session.
    pub fn log_out(mut self) {
        if let Ok(tag) = self.send("LOGOUT") {
            // The server says goodbye, which is not an error here.
            let _ = self.finish(&tag, &mut |_| {});
        }
    }

    fn run(&mut self, command: &str) -> Sent {
        self.command(command, &[], &mut |_| {})
    }

    fn run_with(&mut self, command: &str, more: &[&[u8]]) -> Sent {
        self.command(command, more, &mut |_| {})
    }

    /// Sends a command, and what follows each time the server asks for it; passes the answers on.
    fn command(&mut self, command: &str, more: &[&[u8]], take: &mut dyn FnMut(Response)) -> Sent {
        self.heartbeat.beat(2 * ANSWER_TIME);
        let tag = self.send(command)?;
        for piece in more {
            loop {
                let response = self.response()?;
                if response == Response::Continue {
                    break;
                }
                self.note(&response)?;
                if is_of(&response, &tag) {
                    return ended(response);
                }
            }
            self.wire.write(&[piece, b"\r\n".as_slice()].concat())?;
        }
        self.finish(&tag, take)
    }

    fn send(&mut self, command: &str) -> Sent<String> {
        self.tags = self.tags.wrapping_add(1);
        let tag = format!("a{}", self.tags);
        self.wire.write(format!("{tag} {command}\r\n").as_bytes())?;
        Ok(tag)
    }

    /// Reads answers up to the one that ends a command.
    fn finish(&mut self, tag: &str, take: &mut dyn FnMut(Response)) -> Sent {
        loop {
            let response = self.response()?;
            self.heartbeat.beat(2 * ANSWER_TIME);
            self.note(&response)?;
            if is_of(&response, tag) {
                return ended(response);
            }
            take(response);
        }
    }

    fn response(&mut self) -> Sent<Response> {
        let line = self.wire.line()?;
        self.whole(line)
    }

    /// Reads the literals that a line announces, and what follows them.
    fn whole(&mut self, line: Vec<u8>) -> Sent<Response> {
        let mut bytes = line;
        let mut start = 0;
        while let Some(length) = literal(bytes.get(start..).unwrap_or_default()) {
            if bytes.len().saturating_add(length) > RESPONSE_BYTES {
                return Err(too_large());
            }
            bytes.extend_from_slice(b"\r\n");
            self.wire.exactly(length, &mut bytes)?;
            start = bytes.len();
            bytes.extend(self.wire.line()?);
            if bytes.len() > RESPONSE_BYTES {
                return Err(too_large());
            }
        }
        let unknown = || Failure::Trouble("the IMAP server sent what is not IMAP".to_owned());
        Response::parse(&bytes).ok_or_else(unknown)
    }

    /// Takes note of what concerns the session. Returns the status, if it is one.
    fn note(&mut self, response: &Response) -> Sent<Option<Status>> {
        match response {
            Response::Status {
                tag,
                status,
                code,
                text,
            } => {
                let (name, rest) = code.split_once(' ').unwrap_or((code, ""));
                match name.to_ascii_uppercase().as_str() {
                    "UIDVALIDITY" => self.mailbox.validity = rest.parse().unwrap_or_default(),
                    "UIDNEXT" => self.mailbox.next = rest.parse().unwrap_or_default(),
                    "CAPABILITY" => self.set_capabilities(rest.split(' ')),
                    _ => {}
                }
                if *status == Status::Bye && tag.is_empty() {
                    return Err(Failure::Down(format!(
                        "the IMAP server said goodbye: {text}"
                    )));
                }
                Ok(Some(*status))
            }
            Response::Numbered { kind, .. } => {
                self.has_news |= kind == "EXISTS";
                Ok(None)
            }
            Response::Data { kind, values } => {
                if kind == "CAPABILITY" {
                    let words: Vec<String> = values.iter().filter_map(Value::text).collect();
                    self.set_capabilities(words.iter().map(String::as_str));
                }
                Ok(None)
            }
            Response::Continue => Ok(None),
        }
    }

    fn set_capabilities<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        self.capabilities = words.map(str::to_ascii_uppercase).collect();
    }
}

/// Whether an answer ends the command with a tag.
fn is_of(response: &Response, tag: &str) -> bool {
    matches!(response, Response::Status { tag: of, .. } if of == tag)
}

fn ended(response: Response) -> Sent {
    match response {
        Response::Status {
            status: Status::Ok, ..
        } => Ok(()),
        // It goes better later, and is not the fault of one mail: the mailbox is in use, the server is busy, or it limits
        // commands, as Gmail does with OVERQUOTA. <https://www.rfc-editor.org/rfc/rfc5530#section-3>
        Response::Status { code, text, .. }
            if ["UNAVAILABLE", "INUSE", "LIMIT", "OVERQUOTA", "THROTTLED"]
                .contains(&code.as_str()) =>
        {
            Err(Failure::Down(text))
        }
        Response::Status { code, text, .. } if code == "SERVERBUG" => Err(Failure::Trouble(text)),
        Response::Status { text, .. } => Err(Failure::Refused(text)),
        _ => Ok(()),
    }
}

/// A login that the server refuses.
fn rejected(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(said) => Failure::Down(format!(
            "the IMAP server rejects the user name or the password: {said}"
        )),
        failure => failure,
    }
}

fn too_large() -> Failure {
    Failure::Trouble("the IMAP server sent an answer that is too large".to_owned())
}
