//! A client of SMTP (RFC 5321): one session for each mail.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::imap::Account;
use super::wire::{Security, Wire};
use super::{CONNECT_TIME, SAID_CHARS};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::limits::channels::email::ANSWER_TIME;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::net::Tls;
use crate::text::one_line;

/// Lines of an SMTP server's reply.
const REPLY_LINES: usize = 64;

/// A session.
pub struct Smtp {
    wire: Wire,
    heartbeat: Heartbeat,
    /// What the server can do, in upper case.
    extensions: Vec<String>,
    /// Whether the next byte of a mail begins a line.
    is_at_line: bool,
}

/// A server's reply.
struct Reply {
    code: u16,
    lines: Vec<String>,
}

impl Reply {
    /// What it says, on one line.
    fn text(&self) -> String {
        one_line(
            &format!("{} {}", self.code, self.lines.join(" ")),
            SAID_CHARS,
        )
    }

    /// Why a mail is not taken. With 421 the server ends the connection; other replies with 4 mean that it may
    /// take it later, and those with 5 that it never does.
    fn failure(&self) -> Failure {
        match self.code {
            421 => Failure::Down(self.text()),
            400..500 => Failure::Trouble(self.text()),
            // The login was not enough, or is missing.
            530 | 534 | 535 => Failure::Down(self.text()),
            _ => Failure::Refused(self.text()),
        }
    }
}

impl Smtp {
    /// Connects and logs in.
    pub fn open(
        account: &Account,
        tls: &Tls,
        cancel: &Cancel,
        heartbeat: &Heartbeat,
    ) -> Sent<Self> {
        heartbeat.beat(CONNECT_TIME + ANSWER_TIME);
        let mut smtp = Self {
            wire: Wire::dial(&account.server, tls, cancel)?,
            heartbeat: heartbeat.clone(),
            extensions: Vec::new(),
            is_at_line: true,
        };
        let greeting = smtp.reply()?;
        if greeting.code != 220 {
            return Err(Failure::Down(greeting.text()));
        }
        smtp.hello()?;
        if account.server.security == Security::StartTls && smtp.parameters("STARTTLS").is_some() {
            smtp.expect("STARTTLS", 220)?;
            smtp = Self {
                wire: smtp.wire.secure(tls)?,
                ..smtp
            };
            // What was said before TLS does not count.
            smtp.hello()?;
        }
        smtp.log_in(account, tls)?;
        Ok(smtp)
    }

    fn hello(&mut self) -> Sent {
        let line = format!("EHLO {}", self.wire.own_name());
        let reply = self.expect(&line, 250).map_err(down)?;
        let lines = reply.lines.iter().skip(1);
        self.extensions = lines.map(|line| line.to_ascii_uppercase()).collect();
        Ok(())
    }

    /// What follows an extension's name; `None` when the server does not have it.
    fn parameters(&self, name: &str) -> Option<&str> {
        self.extensions.iter().find_map(|line| {
            let rest = line.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with([' ', '='])).then(|| rest.trim())
        })
    }

    fn log_in(&mut self, account: &Account, tls: &Tls) -> Sent {
        if account.user.is_empty() {
            return Ok(());
        }
        self.wire.check_secrecy(tls)?;
        let methods = self.parameters("AUTH").unwrap_or_default().to_owned();
        let has = |method: &str| methods.split([' ', '=']).any(|known| known == method);
        let password = account.password.expose();
        let outcome = if has("PLAIN") {
            let token = BASE64_STANDARD.encode(format!("\0{}\0{password}", account.user));
            self.expect(&format!("AUTH PLAIN {token}"), 235)
        } else if has("LOGIN") {
            self.expect("AUTH LOGIN", 334)?;
            self.expect(&BASE64_STANDARD.encode(&account.user), 334)?;
            self.expect(&BASE64_STANDARD.encode(password), 235)
        } else {
            return Err(Failure::Down(
                "the SMTP server offers no login with a password".to_owned(),
            ));
        };
        match outcome {
            Ok(_) => Ok(()),
            Err(Failure::Down(said) | Failure::Refused(said)) => Err(Failure::Down(format!(
                "the SMTP server rejects the user name or the password: {said}"
            ))),
            Err(failure) => Err(failure),
        }
    }

    /// Fails when the server has said that it takes no mail of this size.
    pub fn check_size(&self, bytes: u64) -> Sent {
        let most = self.parameters("SIZE").and_then(|most| most.parse().ok());
        match most {
            Some(most) if most > 0 && bytes > most => Err(Failure::Refused(format!(
                "the mail server takes at most {} MB",
                most / 1_000_000
            ))),
            _ => Ok(()),
        }
    }

    /// Begins a mail.
    pub fn begin(&mut self, from: &str, to: &str) -> Sent {
        let parameter = match (
            from.is_ascii() && to.is_ascii(),
            self.parameters("SMTPUTF8"),
        ) {
            (true, _) => "",
            (false, Some(_)) => " SMTPUTF8",
            (false, None) => {
                return Err(Failure::Refused(format!(
                    "the mail server takes no addresses such as {to} (SMTPUTF8)"
                )));
            }
        };
        self.expect(&format!("MAIL FROM:<{from}>{parameter}"), 250)?;
        let reply = self.ask(&format!("RCPT TO:<{to}>"))?;
        match reply.code {
            250 | 251 => {}
            // The mailbox does not exist, or is closed. A policy (554) may concern us instead.
            550 | 551 | 553 | 556 => {
                return Err(Failure::Gone {
                    said: reply.text(),
                    moved_to: None,
                });
            }
            _ => return Err(reply.failure()),
        }
        self.expect("DATA", 354)?;
        self.is_at_line = true;
        Ok(())
    }

    /// Sends a piece of the mail, whose newlines are CRLF.
    pub fn data(&mut self, bytes: &[u8]) -> Sent {
        self.heartbeat.beat(2 * ANSWER_TIME);
        let mut out = Vec::with_capacity(bytes.len() + 16);
        for byte in bytes {
            // A full stop alone on a line ends a mail, so that each at a line's beginning is doubled.
            if *byte == b'.' && self.is_at_line {
                out.push(b'.');
            }
            out.push(*byte);
            self.is_at_line = *byte == b'\n';
        }
        self.wire.write(&out)
    }

    /// Ends the mail, which the server has taken when this succeeds.
    pub fn end(&mut self) -> Sent {
        let end: &[u8] = if self.is_at_line {
            b".\r\n"
        } else {
            b"\r\n.\r\n"
        };
        self.heartbeat.beat(2 * ANSWER_TIME);
        self.wire.write(end)?;
        let reply = self.reply()?;
        match reply.code {
            250 => Ok(()),
            _ => Err(reply.failure()),
        }
    }

    /// Ends the session. The mail is on its way already, so that failures do not count.
    pub fn quit(mut self) {
        if self.wire.write(b"QUIT\r\n").is_ok() {
            let _ = self.reply();
        }
    }

    fn expect(&mut self, line: &str, code: u16) -> Sent<Reply> {
        let reply = self.ask(line)?;
        if reply.code == code {
            Ok(reply)
        } else {
            Err(reply.failure())
        }
    }

    fn ask(&mut self, line: &str) -> Sent<Reply> {
        self.heartbeat.beat(2 * ANSWER_TIME);
        self.wire.write(format!("{line}\r\n").as_bytes())?;
        self.reply()
    }

    fn reply(&mut self) -> Sent<Reply> {
        let unknown = || Failure::Down("the SMTP server sent what is not SMTP".to_owned());
        let mut lines = Vec::new();
        loop {
            let line = self.wire.line()?;
            let line = String::from_utf8_lossy(&line);
            let (code, rest) = line.split_at_checked(3).ok_or_else(unknown)?;
            let code = code.parse().map_err(|_| unknown())?;
            let goes_on = rest.starts_with('-');
            if lines.len() < REPLY_LINES {
                lines.push(rest.get(1..).unwrap_or_default().to_owned());
            } else if goes_on {
                return Err(unknown());
            }
            if !goes_on {
                return Ok(Reply { code, lines });
            }
        }
    }
}

/// A server that refuses the greeting serves nothing.
fn down(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(said) | Failure::Trouble(said) => Failure::Down(said),
        failure => failure,
    }
}
