//! One connection: what a client sends, and what it is answered.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pipe::Pipe;
use super::server::{Client, LINE_BYTES, SERVER, Server, State};
use super::{ACCOUNT, CHANNEL, Fault, Piece};

/// Lines that a client may be ahead of what its pace allows: a burst.
const AHEAD: u32 = 8;
/// How late a busy machine may read them: they then seem to have come at once.
const READ_LATE: Duration = Duration::from_secs(2);
/// Bytes of a piece of a SASL response.
const SASL_BYTES: usize = 400;

impl Server {
    pub(super) fn listen(self: &Arc<Self>) {
        let server = Arc::clone(self);
        self.network.listen(move |socket| server.serve(socket));
    }

    fn serve(&self, socket: &TcpStream) -> io::Result<()> {
        let pipe = Arc::new(Pipe::new(socket, self.tls.as_ref())?);
        let number = self.change(|state| {
            state.connections += 1;
            state.clients.push(Client {
                number: state.connections,
                pipe: Arc::clone(&pipe),
                nick: String::new(),
                user: String::new(),
                account: None,
                capabilities: Vec::new(),
                is_negotiating: false,
                is_in: false,
                has_joined: false,
                response: None,
                paid_at: Instant::now(),
                open: Vec::new(),
            });
            state.connections
        });
        let mut bytes = Vec::new();
        while pipe.read(&mut bytes)? {
            while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = bytes.drain(..=end).collect();
                let is_open = self.change(|state| state.take(number, &line));
                if !is_open {
                    self.change(|state| state.clients.retain(|client| client.number != number));
                    return Ok(());
                }
            }
        }
        self.change(|state| state.clients.retain(|client| client.number != number));
        Ok(())
    }
}

/// The words of a line, the last of which may have spaces.
fn words(line: &str) -> Vec<String> {
    let (words, last) = match line.split_once(" :") {
        Some((words, last)) => (words, Some(last)),
        None => (line, None),
    };
    let words = words.split(' ').map(str::to_owned);
    words.chain(last.map(str::to_owned)).collect()
}

impl State {
    /// Takes a line; false when the connection is over.
    fn take(&mut self, number: usize, bytes: &[u8]) -> bool {
        let is_short = bytes.len() <= LINE_BYTES;
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.complain("a line that is not UTF-8".to_owned());
            return false;
        };
        let Some(line) = text.strip_suffix("\r\n") else {
            self.complain(format!("a line without CR: {text:?}"));
            return false;
        };
        if !is_short || line.contains(['\0', '\r']) {
            self.complain(format!(
                "a line that is too long, or has a NUL or a CR: {line:?}"
            ));
            return false;
        }
        self.lines.push(line.to_owned());
        let words = words(line);
        let command = words[0].to_uppercase();
        let line_millis = self.line_millis;
        let Some(client) = self.client(number) else {
            return false;
        };
        if client.is_in && command != "PONG" {
            let interval = Duration::from_millis(line_millis);
            let now = Instant::now();
            client.paid_at = client.paid_at.max(now) + interval;
            if client.paid_at > now + interval * AHEAD + READ_LATE {
                client.pipe.send("ERROR :Closing Link: (Excess Flood)");
                self.complain(format!("a flood: {line}"));
                return false;
            }
        }
        let is_early = matches!(
            command.as_str(),
            "CAP" | "PASS" | "NICK" | "USER" | "AUTHENTICATE" | "QUIT" | "PING" | "PONG"
        );
        if !client.is_in && !is_early {
            client.number(451, ":You have not registered");
            self.complain(format!("before it was let in: {line}"));
            return true;
        }
        let word = |at: usize| words.get(at).cloned().unwrap_or_default();
        match command.as_str() {
            "CAP" => self.negotiate(number, &words),
            "AUTHENTICATE" => self.authenticate(number, &word(1)),
            "PASS" | "PONG" => {}
            "USER" => client.user = word(1),
            "NICK" => self.nick(number, &word(1)),
            "PING" => {
                // More of it comes: what is cut by the bot for its own sake is one message for people.
                let is_whole = !word(1).starts_with("part-");
                let open = is_whole.then(|| std::mem::take(&mut client.open));
                let pipe = Arc::clone(&client.pipe);
                self.pieces.extend(open.unwrap_or_default());
                pipe.send(&format!(":{SERVER} PONG {SERVER} :{}", word(1)));
            }
            "JOIN" => self.join(number, &word(1)),
            "WHOIS" => self.whois(number, &word(1)),
            "PRIVMSG" | "NOTICE" => return self.message(number, &command, &word(1), &word(2)),
            "QUIT" => {
                client.pipe.send("ERROR :Closing Link: (Quit)");
                return false;
            }
            // Libraries ask for these.
            "MODE" | "WHO" => {}
            other => {
                client.number(421, &format!("{other} :Unknown command"));
                self.complain(format!("unknown: {line}"));
            }
        }
        self.let_in(number);
        true
    }

    fn negotiate(&mut self, number: usize, words: &[String]) {
        let offered = self.capabilities.clone();
        let Some(client) = self.client(number) else {
            return;
        };
        let names = words.last().map(String::as_str).unwrap_or_default();
        let answer = |kind: &str, names: &str| {
            client
                .pipe
                .send(&format!(":{SERVER} CAP * {kind} :{names}"));
        };
        match words.get(1).map(String::as_str) {
            // Two lines, as long lists come.
            Some("LS") => {
                let half = offered.find(' ').unwrap_or(offered.len());
                let (first, rest) = offered.split_at(half);
                client.pipe.send(&format!(":{SERVER} CAP * LS * :{first}"));
                answer("LS", rest.trim());
                client.is_negotiating = true;
            }
            Some("REQ") => {
                let is_known = |name: &str| {
                    offered
                        .split(' ')
                        .any(|offer| offer.split('=').next() == Some(name))
                };
                match names.split_whitespace().all(is_known) {
                    true => {
                        answer("ACK", names);
                        client
                            .capabilities
                            .extend(names.split_whitespace().map(str::to_owned));
                    }
                    false => {
                        answer("NAK", names);
                        self.complain(format!("asked for what is not offered: {names}"));
                    }
                }
            }
            Some("END") => client.is_negotiating = false,
            _ => self.complain(format!("CAP {words:?}")),
        }
    }

    fn authenticate(&mut self, number: usize, piece: &str) {
        let Some(client) = self.client(number) else {
            return;
        };
        if client.response.is_none() {
            match piece {
                "PLAIN" => {
                    client.response = Some(String::new());
                    client.pipe.send("AUTHENTICATE +");
                }
                _ => client.number(908, "PLAIN :are available SASL mechanisms"),
            }
            return;
        }
        if piece.len() > SASL_BYTES {
            client.number(905, ":SASL message too long");
            self.complain("a piece of a SASL response that is too long".to_owned());
            return;
        }
        let mut response = client.response.take().unwrap_or_default();
        response.push_str(if piece == "+" { "" } else { piece });
        if piece.len() == SASL_BYTES {
            client.response = Some(response);
            return;
        }
        let is_right = Server::is_right(self, &response);
        let Some(client) = self.client(number) else {
            return;
        };
        match is_right {
            true => {
                client.account = Some(ACCOUNT.to_owned());
                let mask = client.mask();
                client.number(
                    900,
                    &format!("{mask} {ACCOUNT} :You are now logged in as {ACCOUNT}"),
                );
                client.number(903, ":SASL authentication successful");
            }
            false => client.number(904, ":SASL authentication failed"),
        }
    }

    fn nick(&mut self, number: usize, nick: &str) {
        let clients = self.clients.iter();
        let is_taken = clients
            .filter(|client| client.number != number)
            .any(|client| client.nick.eq_ignore_ascii_case(nick));
        let is_taken = is_taken || self.holder(nick).is_some();
        let Some(client) = self.client(number) else {
            return;
        };
        if is_taken {
            return client.number(433, &format!("{nick} :Nickname is already in use"));
        }
        if client.is_in {
            let line = format!(":{} NICK :{nick}", client.mask());
            client.pipe.send(&line);
        }
        nick.clone_into(&mut client.nick);
    }

    /// Lets a client in that has said everything.
    fn let_in(&mut self, number: usize) {
        let Some(client) = self.client(number) else {
            return;
        };
        if client.is_in || client.is_negotiating || client.nick.is_empty() || client.user.is_empty()
        {
            return;
        }
        client.is_in = true;
        client.paid_at = Instant::now();
        client.number(1, ":Welcome");
        client.number(
            5,
            "CASEMAPPING=ascii CHANTYPES=# NETWORK=Garden NICKLEN=16 STATUSMSG=@+ :are supported by this server",
        );
        client.number(375, ":- Message of the day");
        client.number(376, ":End of /MOTD command.");
        self.let_in += 1;
    }

    fn join(&mut self, number: usize, channel: &str) {
        let kept = std::mem::take(&mut self.kept);
        let Some(client) = self.client(number) else {
            return;
        };
        if !channel.eq_ignore_ascii_case(CHANNEL) {
            return client.number(403, &format!("{channel} :No such channel"));
        }
        client.has_joined = true;
        let line = format!(":{} JOIN {CHANNEL}", client.mask());
        client.pipe.send(&line);
        client.number(353, &format!("= {CHANNEL} :{} ana bob", client.nick));
        client.number(366, &format!("{CHANNEL} :End of /NAMES list."));
        if !kept.is_empty() {
            client.replay(&kept);
        }
    }

    fn whois(&mut self, number: usize, nick: &str) {
        let found = self.holder(nick).cloned();
        let Some(client) = self.client(number) else {
            return;
        };
        match found {
            None => client.number(401, &format!("{nick} :No such nick")),
            Some(holder) => {
                let mask = holder.mask();
                let (user, host) = mask
                    .split_once('!')
                    .and_then(|(_, rest)| rest.split_once('@'))
                    .unwrap();
                client.number(311, &format!("{} {user} {host} * :somebody", holder.nick));
                if let Some(account) = &holder.account {
                    client.number(330, &format!("{} {account} :is logged in as", holder.nick));
                }
            }
        }
        client.number(318, &format!("{nick} :End of /WHOIS list."));
    }

    fn message(&mut self, number: usize, command: &str, target: &str, text: &str) -> bool {
        if text.is_empty() {
            self.complain(format!("{command} {target} without a text"));
        }
        if text.contains('\u{1}') {
            self.complain(format!("a request to a program: {text:?}"));
        }
        let is_channel = target.starts_with('#');
        let has_nick = self.holder(target).is_some();
        let is_notice = command == "NOTICE";
        let fault = (!self.faults.is_empty() && !is_notice).then(|| self.faults.remove(0));
        let Some(client) = self.client(number) else {
            return false;
        };
        let passed_on = format!(":{} {command} {target} :{text}\r\n", client.mask());
        match fault {
            Some(Fault::TooFast) => {
                client.number(
                    439,
                    &format!("{target} :Target change too fast. Please wait 1 seconds."),
                );
                return true;
            }
            Some(Fault::Refused(number)) => {
                client.number(number, &format!("{target} :Cannot send"));
                return true;
            }
            Some(Fault::LostPong) | None => {}
        }
        if is_channel && !(client.has_joined && target.eq_ignore_ascii_case(CHANNEL)) {
            client.number(404, &format!("{target} :Cannot send to channel"));
            return true;
        }
        if !is_channel && !has_nick {
            client.number(401, &format!("{target} :No such nick/channel"));
            return true;
        }
        let piece = Piece {
            from: client.nick.clone(),
            target: target.to_owned(),
            lines: vec![text.to_owned()],
            is_notice,
        };
        let same = |open: &&mut Piece| open.target == target && open.is_notice == is_notice;
        match client.open.iter_mut().find(same) {
            _ if is_notice => self.pieces.push(piece),
            Some(open) => open.lines.push(text.to_owned()),
            None => client.open.push(piece),
        }
        if fault == Some(Fault::LostPong) {
            let client = self.client(number);
            let open = client
                .map(|client| std::mem::take(&mut client.open))
                .unwrap_or_default();
            self.pieces.extend(open);
            self.clients
                .iter()
                .filter(|client| client.number == number)
                .for_each(|client| client.pipe.cut());
            return false;
        }
        if passed_on.len() > LINE_BYTES {
            self.complain(format!("people would get only a part of {text:?}"));
        }
        true
    }
}
