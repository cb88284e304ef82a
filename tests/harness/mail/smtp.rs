//! The SMTP side: RFC 5321 as submission uses it, and strict about it.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::mime::{Part, words};
use super::{BOT, Client, Fault, PASSWORD, Security, Sent, Server};

struct Session<'a> {
    server: &'a Arc<Server>,
    client: Client,
    has_greeted: bool,
    is_logged_in: bool,
    from: String,
    to: String,
}

pub(super) fn serve(server: &Arc<Server>, socket: &TcpStream) -> io::Result<()> {
    let mut session = Session {
        server,
        client: Client::new(server, &server.smtp, socket)?,
        has_greeted: false,
        is_logged_in: false,
        from: String::new(),
        to: String::new(),
    };
    session.client.say("220 mail.example.org ESMTP\r\n")?;
    while let Some(line) = session.client.line()? {
        let line = String::from_utf8(line).map_err(io::Error::other)?;
        match server.change(|state| state.fault(&line.to_uppercase())) {
            Some(Fault::Says(_, answer)) => {
                session.client.say(format!("{answer}\r\n"))?;
                continue;
            }
            Some(_) => return Ok(()),
            None => {}
        }
        if !session.obey(&line)? {
            return Ok(());
        }
    }
    Ok(())
}

impl Session<'_> {
    fn complain(&self, what: &str) -> &'static str {
        self.server
            .change(|state| state.complain(format!("SMTP: {what}")));
        "503 5.5.1 refused"
    }

    /// Whether the session goes on.
    fn obey(&mut self, line: &str) -> io::Result<bool> {
        let upper = line.to_uppercase();
        let answer = if upper.starts_with("EHLO ") {
            let name = line[5..].trim();
            if !name.starts_with('[') && !name.contains('.') {
                self.complain(&format!("EHLO {name}"));
            }
            self.has_greeted = true;
            self.greeting()
        } else if upper == "QUIT" {
            self.client.say("221 bye\r\n")?;
            return Ok(false);
        } else if !self.has_greeted {
            self.complain(&format!("{line} before EHLO")).to_owned()
        } else if upper == "STARTTLS"
            && self.server.security == Security::StartTls
            && !self.client.is_secure
        {
            self.client.say("220 go ahead\r\n")?;
            self.secure()?;
            return Ok(true);
        } else if upper.starts_with("AUTH ") {
            self.authenticate(&line[5..])?
        } else if upper == "RSET" || upper == "NOOP" {
            "250 fine".to_owned()
        } else if !self.is_logged_in {
            "530 5.7.0 authentication required".to_owned()
        } else if upper.starts_with("MAIL FROM:") {
            self.from = address(&line[10..]);
            match self.from == BOT {
                true => "250 fine".to_owned(),
                false => "550 5.7.1 not your address".to_owned(),
            }
        } else if upper.starts_with("RCPT TO:") {
            self.recipient(&line[8..])
        } else if upper == "DATA" {
            return self.data();
        } else {
            self.complain(&format!("unknown command {line}")).to_owned()
        };
        self.client.say(format!("{answer}\r\n"))?;
        Ok(true)
    }

    fn greeting(&self) -> String {
        let most = self.server.state().most;
        let more = match self.server.security {
            Security::StartTls if !self.client.is_secure => "250 STARTTLS",
            _ => "250 AUTH PLAIN LOGIN",
        };
        format!("250-mail.example.org hello\r\n250-SIZE {most}\r\n250-8BITMIME\r\n{more}")
    }

    fn secure(&mut self) -> io::Result<()> {
        let client = Client {
            stream: io::BufReader::new(Box::new(io::empty())),
            socket: self.client.socket.try_clone()?,
            is_secure: true,
        };
        let open = std::mem::replace(&mut self.client, client);
        self.client = open.secure(self.server)?;
        self.has_greeted = false;
        Ok(())
    }

    fn authenticate(&mut self, rest: &str) -> io::Result<String> {
        if self.server.security == Security::StartTls && !self.client.is_secure {
            return Ok(self.complain("a password without TLS").to_owned());
        }
        let mut ask = |question: &str| -> io::Result<Vec<u8>> {
            self.client
                .say(format!("334 {}\r\n", BASE64_STANDARD.encode(question)))?;
            let line = self.client.line()?.unwrap_or_default();
            Ok(BASE64_STANDARD.decode(line).unwrap_or_default())
        };
        let is_right = match rest.split(' ').collect::<Vec<_>>().as_slice() {
            ["PLAIN", token] => {
                BASE64_STANDARD.decode(token).unwrap_or_default()
                    == format!("\0{BOT}\0{PASSWORD}").as_bytes()
            }
            ["LOGIN"] => {
                let (user, password) = (ask("Username:")?, ask("Password:")?);
                user == BOT.as_bytes() && password == PASSWORD.as_bytes()
            }
            _ => return Ok(self.complain(&format!("AUTH {rest}")).to_owned()),
        };
        self.is_logged_in = is_right;
        Ok(match is_right {
            true => "235 2.7.0 fine".to_owned(),
            false => "535 5.7.8 wrong name or password".to_owned(),
        })
    }

    fn recipient(&mut self, rest: &str) -> String {
        if self.from.is_empty() {
            return self.complain("RCPT before MAIL").to_owned();
        }
        self.to = address(rest);
        match self.server.state().unknown.contains(&self.to) {
            true => "550 5.1.1 no such user".to_owned(),
            false => "250 fine".to_owned(),
        }
    }

    fn data(&mut self) -> io::Result<bool> {
        if self.to.is_empty() {
            let answer = self.complain("DATA before RCPT");
            self.client.say(format!("{answer}\r\n"))?;
            return Ok(true);
        }
        self.client.say("354 go on\r\n")?;
        let mut raw = Vec::new();
        loop {
            let Some(line) = self.client.line()? else {
                return Ok(false);
            };
            if line == b"." {
                break;
            }
            if line.len() > 998 {
                self.complain("a line of more than 998 bytes");
            }
            if line.contains(&b'\r') {
                self.complain("a carriage return within a line");
            }
            raw.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
            raw.extend_from_slice(b"\r\n");
        }
        let fault = self.server.change(|state| state.fault("."));
        if let Some(Fault::Says(_, answer)) = fault {
            self.client.say(format!("{answer}\r\n"))?;
            return Ok(true);
        }
        if raw.len() > self.server.state().most {
            self.complain("a mail that is larger than SIZE");
            self.client.say("552 5.3.4 too large\r\n")?;
            return Ok(true);
        }
        let sent = self.read(raw);
        self.server.change(|state| state.sent.push(sent));
        (self.from, self.to) = Default::default();
        if fault.is_some() {
            return Ok(false);
        }
        self.client.say("250 2.0.0 queued\r\n")?;
        Ok(true)
    }

    /// Reads a mail as a person's program does, and complains of what others would refuse or misread.
    fn read(&self, raw: Vec<u8>) -> Sent {
        let part = Part::parse(&raw);
        if !part.head.is_ascii() {
            self.complain("a header that is not ASCII");
        }
        for name in [
            "from",
            "to",
            "subject",
            "date",
            "message-id",
            "mime-version",
            "auto-submitted",
        ] {
            let count = part
                .fields
                .iter()
                .filter(|(known, _)| known == name)
                .count();
            if count != 1 {
                self.complain(&format!("{count} fields {name}"));
            }
        }
        let field = |name: &str| part.field(name).unwrap_or_default().to_owned();
        if chrono::DateTime::parse_from_rfc2822(&field("date")).is_err() {
            self.complain(&format!("the date {}", field("date")));
        }
        if field("to") != self.to || field("from") != self.from {
            self.complain("other addresses in the head than in the envelope");
        }
        let id = field("message-id");
        if !(id.starts_with('<') && id.ends_with("@example.org>")) {
            self.complain(&format!("the id {id}"));
        }
        let (mut text, mut html, mut files) = (String::new(), String::new(), Vec::new());
        for leaf in part.leaves() {
            let bytes = leaf.decoded();
            let name = leaf.parameter("content-disposition", "filename");
            match (leaf.kind().as_str(), name) {
                (_, Some(name)) => {
                    let long = leaf.parameter("content-disposition", "filename*");
                    files.push((long.map_or(name, |long| percent(&long)), bytes));
                }
                ("text/plain", None) => {
                    text += &String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
                }
                ("text/html", None) => {
                    html += &String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
                }
                (kind, None) => {
                    self.complain(&format!("a part {kind}"));
                }
            }
        }
        Sent {
            id,
            to: self.to.clone(),
            subject: words(&field("subject")),
            text: text.trim_end().to_owned(),
            html,
            files,
            in_reply_to: field("in-reply-to"),
            references: field("references")
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            raw,
        }
    }
}

/// The address in angle brackets.
fn address(text: &str) -> String {
    let inner = text
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'));
    inner.map_or(String::new(), |(address, _)| address.to_lowercase())
}

/// A name as RFC 2231 writes it.
fn percent(text: &str) -> String {
    let text = text.strip_prefix("UTF-8''").unwrap();
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(&after[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).unwrap()
}
