//! The IMAP side: as much of RFC 3501, 2177 and 4959 as clients of one mailbox use, and strict about it.

use std::fmt::Write as _;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::mime::Part;
use super::{BOT, Client, Fault, PASSWORD, Security, Server, State};

/// How often a session that waits looks whether there is news.
const LOOK: Duration = Duration::from_millis(20);

struct Session<'a> {
    server: &'a Arc<Server>,
    client: Client,
    is_logged_in: bool,
    is_selected: bool,
    /// How many mails the client knows of.
    known: usize,
}

pub(super) fn serve(server: &Arc<Server>, socket: &TcpStream) -> io::Result<()> {
    let mut session = Session {
        server,
        client: Client::new(server, &server.imap, socket)?,
        is_logged_in: false,
        is_selected: false,
        known: 0,
    };
    session.client.say("* OK ready\r\n")?;
    while let Some(line) = session.line()? {
        let Some((tag, command)) = line.split_once(' ') else {
            session.complain(&format!("{line:?} has no tag"));
            session.client.say("* BAD no tag\r\n")?;
            continue;
        };
        let shown = match command.to_uppercase() {
            secret if secret.starts_with("LOGIN") => "LOGIN".to_owned(),
            secret if secret.starts_with("AUTHENTICATE") => "AUTHENTICATE".to_owned(),
            shown => shown,
        };
        server.change(|state| state.commands.push(shown.clone()));
        match server.change(|state| state.fault(&shown)) {
            Some(Fault::Says(_, answer)) => {
                session.client.say(format!("{tag} {answer}\r\n"))?;
                continue;
            }
            Some(_) => return Ok(()),
            None => {}
        }
        if !session.obey(tag, command)? {
            return Ok(());
        }
    }
    Ok(())
}

impl Session<'_> {
    /// A command with its literals, which are asked for.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut whole = String::new();
        loop {
            let Some(line) = self.client.line()? else {
                return Ok(None);
            };
            let line = String::from_utf8(line).map_err(io::Error::other)?;
            let length = line
                .strip_suffix('}')
                .and_then(|rest| rest.rsplit_once('{'));
            match length.and_then(|(before, length)| Some((before, length.parse::<usize>().ok()?)))
            {
                None => return Ok(Some(whole + &line)),
                Some((before, length)) => {
                    self.client.say("+ go on\r\n")?;
                    let mut literal = vec![0; length];
                    io::Read::read_exact(&mut self.client.stream, &mut literal)?;
                    let literal = String::from_utf8(literal).map_err(io::Error::other)?;
                    let literal = literal.replace('\\', "\\\\").replace('"', "\\\"");
                    write!(whole, "{before}\"{literal}\"").unwrap();
                }
            }
        }
    }

    fn complain(&self, what: &str) {
        self.server
            .change(|state| state.complain(format!("IMAP: {what}")));
    }

    fn capabilities(&self) -> String {
        let mut all = "IMAP4rev1 SASL-IR".to_owned();
        if self.server.state().has_idle {
            all += " IDLE";
        }
        if self.server.security == Security::StartTls && !self.client.is_secure {
            return all + " STARTTLS LOGINDISABLED";
        }
        all + " AUTH=PLAIN"
    }

    /// Whether the session goes on.
    fn obey(&mut self, tag: &str, command: &str) -> io::Result<bool> {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let name = name.to_uppercase();
        let done = match name.as_str() {
            "CAPABILITY" => {
                let all = self.capabilities();
                self.client.say(format!("* CAPABILITY {all}\r\n"))?;
                "OK done"
            }
            "NOOP" => {
                self.tell_news()?;
                "OK done"
            }
            "LOGOUT" => {
                self.client.say(format!("* BYE bye\r\n{tag} OK done\r\n"))?;
                return Ok(false);
            }
            "STARTTLS" if self.server.security == Security::StartTls && !self.client.is_secure => {
                self.client.say(format!("{tag} OK begin\r\n"))?;
                return self.secure();
            }
            "AUTHENTICATE" => self.authenticate(rest)?,
            "LOGIN" => {
                let words: Vec<&str> = rest.split(' ').map(|word| word.trim_matches('"')).collect();
                self.log_in(words == [BOT, PASSWORD])
            }
            _ if !self.is_logged_in => self.refuse(&format!("{name} without a login")),
            "SELECT" | "EXAMINE" => {
                let answer = self.select(rest.trim_matches('"'));
                self.client.say(answer.0)?;
                answer.1
            }
            _ if !self.is_selected => self.refuse(&format!("{name} without a mailbox")),
            "IDLE" => return self.idle(tag),
            "UID" => {
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let answer = self.uid(&name.to_uppercase(), rest);
                match answer {
                    Ok(data) => {
                        self.client.say(data)?;
                        "OK done"
                    }
                    Err(why) => self.refuse(&why),
                }
            }
            _ => self.refuse(&format!("unknown command {command}")),
        };
        self.client.say(format!("{tag} {done}\r\n"))?;
        Ok(true)
    }

    fn refuse(&self, why: &str) -> &'static str {
        self.complain(why);
        "BAD refused"
    }

    fn secure(&mut self) -> io::Result<bool> {
        let client = Client {
            stream: std::io::BufReader::new(Box::new(io::empty())),
            socket: self.client.socket.try_clone()?,
            is_secure: true,
        };
        let open = std::mem::replace(&mut self.client, client);
        self.client = open.secure(self.server)?;
        Ok(true)
    }

    fn authenticate(&mut self, rest: &str) -> io::Result<&'static str> {
        let mut words = rest.split(' ');
        if words.next() != Some("PLAIN") {
            return Ok(self.refuse("AUTHENTICATE with something else than PLAIN"));
        }
        let token = match words.next() {
            Some(token) => token.to_owned(),
            None => {
                self.client.say("+ \r\n")?;
                String::from_utf8(self.client.line()?.unwrap_or_default())
                    .map_err(io::Error::other)?
            }
        };
        let token = BASE64_STANDARD.decode(token).unwrap_or_default();
        Ok(self.log_in(token == format!("\0{BOT}\0{PASSWORD}").as_bytes()))
    }

    fn log_in(&mut self, is_right: bool) -> &'static str {
        if self.server.security == Security::StartTls && !self.client.is_secure {
            return self.refuse("a password without TLS");
        }
        self.is_logged_in = is_right;
        match is_right {
            true => "OK logged in",
            false => "NO [AUTHENTICATIONFAILED] wrong name or password",
        }
    }

    fn select(&mut self, mailbox: &str) -> (String, &'static str) {
        self.is_selected = mailbox.eq_ignore_ascii_case("INBOX");
        if !self.is_selected {
            return (String::new(), "NO [NONEXISTENT] no such mailbox");
        }
        let state = self.server.state();
        self.known = state.mails.len();
        let answer = format!(
            "* FLAGS (\\Seen)\r\n* {} EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY {}] valid\r\n* OK [UIDNEXT {}] next\r\n",
            self.known, state.validity, state.next_uid
        );
        (answer, "OK [READ-WRITE] selected")
    }

    fn tell_news(&mut self) -> io::Result<()> {
        let count = self.server.state().mails.len();
        if std::mem::replace(&mut self.known, count) != count {
            self.client.say(format!("* {count} EXISTS\r\n"))?;
        }
        Ok(())
    }

    fn idle(&mut self, tag: &str) -> io::Result<bool> {
        if !self.server.state().has_idle {
            let done = self.refuse("IDLE, which was not offered");
            self.client.say(format!("{tag} {done}\r\n"))?;
            return Ok(true);
        }
        self.client.say("+ idling\r\n")?;
        self.tell_news()?;
        self.server.change(|state| state.idling += 1);
        self.client.socket.set_read_timeout(Some(LOOK))?;
        let ended = loop {
            match self.client.line() {
                Ok(None) => break Ok(false),
                Ok(Some(line)) if line.eq_ignore_ascii_case(b"DONE") => break Ok(true),
                Ok(Some(line)) => {
                    self.complain(&format!("{:?} within IDLE", String::from_utf8_lossy(&line)));
                    break Ok(false);
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    if let Err(error) = self.tell_news() {
                        break Err(error);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        self.server.change(|state| state.idling -= 1);
        self.client.socket.set_read_timeout(None)?;
        if *ended.as_ref().unwrap_or(&false) {
            self.client.say(format!("{tag} OK done\r\n"))?;
        }
        ended
    }

    /// What a command with UIDs is answered with before its end.
    fn uid(&self, name: &str, rest: &str) -> Result<Vec<u8>, String> {
        match name {
            "SEARCH" => {
                let state = self.server.state();
                let found = search(&state, rest)?;
                let words: String = found.iter().map(|uid| format!(" {uid}")).collect();
                Ok(format!("* SEARCH{words}\r\n").into_bytes())
            }
            "FETCH" => {
                let (uid, items) = rest.split_once(' ').ok_or("FETCH without items")?;
                let uid: u64 = uid.parse().map_err(|_| format!("FETCH of {uid}"))?;
                let items = items
                    .strip_prefix('(')
                    .and_then(|items| items.strip_suffix(')'));
                self.fetch(uid, items.ok_or("items without parentheses")?)
            }
            "STORE" => {
                let (uid, flags) = rest.split_once(' ').ok_or("STORE without flags")?;
                if flags != "+FLAGS.SILENT (\\Seen)" && flags != "+FLAGS (\\Seen)" {
                    return Err(format!("STORE {flags}"));
                }
                let uid: u64 = uid.parse().map_err(|_| format!("STORE of {uid}"))?;
                self.server.change(|state| {
                    let found = state.mails.iter_mut().find(|mail| mail.uid == uid);
                    found.into_iter().for_each(|mail| mail.is_seen = true);
                });
                Ok(Vec::new())
            }
            other => Err(format!("UID {other}")),
        }
    }

    fn fetch(&self, uid: u64, items: &str) -> Result<Vec<u8>, String> {
        let state = self.server.state();
        let Some(at) = state.mails.iter().position(|mail| mail.uid == uid) else {
            return Ok(Vec::new());
        };
        let mail = &state.mails[at];
        let part = Part::parse(&mail.raw);
        let mut out = format!("* {} FETCH (", at + 1).into_bytes();
        for (index, item) in items.split(' ').enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            match item.to_uppercase().as_str() {
                "UID" => out.extend(format!("UID {uid}").bytes()),
                "RFC822.SIZE" => out.extend(format!("RFC822.SIZE {}", mail.raw.len()).bytes()),
                "BODYSTRUCTURE" => {
                    out.extend(format!("BODYSTRUCTURE {}", part.structure()).bytes())
                }
                "FLAGS" => out.extend(if mail.is_seen {
                    &b"FLAGS (\\Seen)"[..]
                } else {
                    &b"FLAGS ()"[..]
                }),
                item => {
                    let rest = item
                        .strip_prefix("BODY.PEEK[")
                        .ok_or(format!("FETCH {item}"))?;
                    let (section, range) = rest.split_once(']').ok_or(format!("FETCH {item}"))?;
                    let bytes = match section {
                        "" => mail.raw.clone(),
                        "HEADER" => part.head.clone(),
                        number => part
                            .section(number)
                            .map(|part| part.body.clone())
                            .unwrap_or_default(),
                    };
                    let (from, bytes) = cut(&bytes, range)?;
                    let from = from.map_or(String::new(), |from| format!("<{from}>"));
                    out.extend(format!("BODY[{section}]{from} {{{}}}\r\n", bytes.len()).bytes());
                    out.extend(bytes);
                }
            }
        }
        if !items.to_uppercase().contains("UID") {
            return Err("UID FETCH without the UID".to_owned());
        }
        out.extend(b")\r\n");
        Ok(out)
    }
}

/// A range such as `<0.100>` of bytes, and where it begins.
fn cut<'a>(bytes: &'a [u8], range: &str) -> Result<(Option<usize>, &'a [u8]), String> {
    if range.is_empty() {
        return Ok((None, bytes));
    }
    let wrong = || format!("the range {range}");
    let inner = range
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .ok_or_else(wrong)?;
    let (from, count) = inner.split_once('.').ok_or_else(wrong)?;
    let (from, count): (usize, usize) = (
        from.parse().map_err(|_| wrong())?,
        count.parse().map_err(|_| wrong())?,
    );
    if count == 0 {
        return Err(wrong());
    }
    let start = from.min(bytes.len());
    Ok((Some(from), &bytes[start..(start + count).min(bytes.len())]))
}

fn search(state: &State, criteria: &str) -> Result<Vec<u64>, String> {
    let all = || state.mails.iter();
    let last = all().map(|mail| mail.uid).max();
    let words: Vec<&str> = criteria.split(' ').collect();
    match words.as_slice() {
        ["ALL"] => Ok(all().map(|mail| mail.uid).collect()),
        ["UNSEEN"] => Ok(all()
            .filter(|mail| !mail.is_seen)
            .map(|mail| mail.uid)
            .collect()),
        ["UNSEEN", "SINCE", date] => {
            // Such as 2-Nov-2026, whose month is a name; all mails here are of today.
            let parts: Vec<&str> = date.split('-').collect();
            let is_date = matches!(parts.as_slice(), [day, month, year]
                if day.parse::<u8>().is_ok() && month.len() == 3 && year.len() == 4);
            match is_date {
                true => search(state, "UNSEEN"),
                false => Err(format!("SEARCH since {date}")),
            }
        }
        ["UID", "*"] => Ok(last.into_iter().collect()),
        ["UID", range] => {
            let first = range
                .strip_suffix(":*")
                .and_then(|first| first.parse::<u64>().ok());
            let first = first.ok_or(format!("SEARCH UID {range}"))?;
            // As RFC 3501 has it, the range holds the last mail in any case.
            Ok(all()
                .map(|mail| mail.uid)
                .filter(|uid| *uid >= first || Some(*uid) == last)
                .collect())
        }
        _ => Err(format!("SEARCH {criteria}")),
    }
}
