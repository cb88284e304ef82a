//! A connection's life as the server sees it: capabilities, login, nick, channels, pings. Pure: it is told lines and
//! times, and returns what to do. <https://modern.ircdocs.horse/#connection-registration>

pub mod line;
mod login;
pub mod outgoing;
mod pace;
mod rooms;
pub mod support;

use std::time::Duration;

use login::Login;
pub use pace::Pace;
use rooms::Rooms;

use super::settings::Settings;
use super::{PING_INTERVAL, REGISTER_TIME, TEXT_BYTES};
use crate::base::limits::channels::SAID_CHARS;
use crate::text::one_line;
use line::{Line, write};
use support::Support;

/// Bytes of a line that servers pass on, with CR and LF and with the sender before it (RFC 1459, 2.3).
const WIRE_BYTES: usize = 512;
/// The first wait before a channel is joined again; each further one is twice as long.
const REJOIN_WAIT: Duration = Duration::from_secs(5);

/// The least bytes of a text's line, whatever the prefix and the target take.
const TEXT_BYTES_MIN: usize = 100;
/// Bytes of the user name and of the host in our prefix while the server has not shown it.
const PREFIX_USER_BYTES: usize = 11;
/// See [`PREFIX_USER_BYTES`].
const PREFIX_HOST_BYTES: usize = 63;
/// Time for the server to answer that.
const PONG_TIME: Duration = Duration::from_secs(30);
/// Nicks that are tried when the wanted one is in use.
const NICK_TRIES: u32 = 8;
/// How often the wanted nick is asked for while another one is used.
const REGAIN_INTERVAL: Duration = Duration::from_secs(60);

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a line now: the server waits for it.
    Send(String),
    /// Send a line when there is room.
    Chore(String),
    /// The server has let us in.
    Ready,
    /// The connection is over.
    End(Ending),
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It may work the next time.
    Failed(String),
    /// It will not, until the configuration is changed.
    Fatal(String),
}

/// A connection.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    login: Login,
    rooms: Rooms,
    support: Support,
    /// The nick that we have, or ask for.
    nick: String,
    /// How often another nick was tried.
    nick_tries: u32,
    is_ready: bool,
    begun: Duration,
    heard: Duration,
    /// When the server was asked whether it is there.
    asked: Option<Duration>,
    /// When the wanted nick is asked for.
    regain_at: Duration,
    /// Our user name and host, as others see them.
    prefix: Option<(String, String)>,
}

impl Session {
    /// A connection that was just made, and what to say at first.
    pub fn begin(settings: Settings, now: Duration) -> (Self, Vec<Action>) {
        let session = Self {
            login: Login::new(&settings),
            rooms: Rooms::new(&settings),
            support: Support::default(),
            nick: settings.nick.clone(),
            nick_tries: 0,
            is_ready: false,
            begun: now,
            heard: now,
            asked: None,
            regain_at: now,
            prefix: None,
            settings,
        };
        let settings = &session.settings;
        let mut lines = vec![write("CAP", &["LS", "302"], None)];
        if !settings.password.is_empty() {
            lines.push(write("PASS", &[], Some(settings.password.expose())));
        }
        lines.push(write("NICK", &[&session.nick], None));
        let user = write(
            "USER",
            &[&settings.user, "0", "*"],
            Some(&settings.real_name),
        );
        lines.push(user);
        let actions = lines.into_iter().map(Action::Send).collect();
        (session, actions)
    }

    /// Whether the server has let us in.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Our nick.
    pub fn nick(&self) -> &str {
        &self.nick
    }

    /// What the server says of itself.
    pub fn support(&self) -> &Support {
        &self.support
    }

    /// Whether it has agreed to a capability.
    pub fn has(&self, capability: &str) -> bool {
        self.login.has(capability)
    }

    /// Whether we are in a channel.
    pub fn is_in(&self, channel: &str) -> bool {
        self.rooms.is_in(channel, self.support.case)
    }

    /// Whether a channel is one that is joined, now or soon.
    pub fn knows(&self, channel: &str) -> bool {
        self.rooms.name(channel, self.support.case).is_some()
    }

    /// A channel's name as the configuration spells it, or in lower case.
    pub fn channel_name(&self, channel: &str) -> String {
        let known = self.rooms.name(channel, self.support.case);
        known.unwrap_or_else(|| self.support.case.fold(channel))
    }

    /// Joins one more channel, which need not be in the configuration.
    pub fn join(&mut self, channel: &str, now: Duration) {
        self.rooms.add(channel, now);
    }

    /// Bytes of a text to this target that others get whole: the server puts our prefix before it.
    pub fn text_bytes(&self, target: &str) -> usize {
        let (user, host) = match &self.prefix {
            Some((user, host)) => (user.len(), host.len()),
            None => (PREFIX_USER_BYTES, PREFIX_HOST_BYTES),
        };
        let prefix = ":!@ ".len() + self.nick.len() + user + host;
        let command = "PRIVMSG  :\r\n".len() + target.len();
        let bytes = self.support.line_bytes.saturating_sub(prefix + command);
        bytes.clamp(TEXT_BYTES_MIN, TEXT_BYTES)
    }

    /// Takes a line.
    pub fn receive(&mut self, line: &Line, now: Duration) -> Vec<Action> {
        self.heard = now;
        self.asked = None;
        let mut actions = Vec::new();
        let is_ours = self.support.case.is_same(&line.source.nick, &self.nick);
        if is_ours && line.source.is_person() {
            self.prefix = Some((line.source.user.clone(), line.source.host.clone()));
        }
        match line.command.as_str() {
            "PING" => actions.push(Action::Send(write("PONG", &[], Some(line.last())))),
            "ERROR" => actions.push(failed(&format!(
                "the server ended it: {}",
                said(line.last())
            ))),
            "CAP" | "AUTHENTICATE" => actions.extend(self.login.receive(line)),
            "NICK" if is_ours && !line.parameter(0).is_empty() => {
                let had_other = self.wants_nick();
                line.parameter(0).clone_into(&mut self.nick);
                tracing::info!(nick = %self.nick, "has another nick on IRC");
                if self.is_ready && had_other && !self.wants_nick() {
                    actions.extend(self.identify());
                }
            }
            "JOIN" if is_ours => self.rooms.joined(line.parameter(0), self.support.case, now),
            "PART" if is_ours => self.rooms.left(line.parameter(0), self.support.case, now),
            "KICK" if self.support.case.is_same(line.parameter(1), &self.nick) => {
                let channel = line.parameter(0);
                tracing::warn!(
                    channel,
                    "was removed from a channel of IRC: {}",
                    said(line.last())
                );
                self.rooms.left(channel, self.support.case, now);
            }
            _ => {}
        }
        if let Some(number) = line.number() {
            actions.extend(self.numeric(number, line, now));
        }
        actions
    }

    fn numeric(&mut self, number: u16, line: &Line, now: Duration) -> Vec<Action> {
        let words = || said(line.last());
        match number {
            1 => {
                if !line.parameter(0).is_empty() {
                    line.parameter(0).clone_into(&mut self.nick);
                }
                // A server that knows no capabilities has let us in all the same.
                if self.login.is_required_and_missing() {
                    return vec![fatal(
                        "the server offers no login by SASL, which channels.irc.saslUser asks for",
                    )];
                }
                Vec::new()
            }
            5 => {
                self.support.read(&line.parameters);
                Vec::new()
            }
            // The end of the words of welcome, or that there are none.
            376 | 422 if !self.is_ready => self.become_ready(now),
            // Our host as others see it.
            396 => {
                let host = line.parameter(1).to_owned();
                if let Some((_, known)) = &mut self.prefix {
                    *known = host;
                }
                Vec::new()
            }
            433 | 436 | 437 if !self.is_ready && self.is_about_nick(line) => {
                self.other_nick(&words())
            }
            431 | 432 if !self.is_ready => vec![fatal(&format!(
                "the server refuses the nick {}: {}",
                self.nick,
                words()
            ))],
            463..=465 if !self.is_ready => {
                vec![fatal(&format!("the server refuses us: {}", words()))]
            }
            403 | 405 | 437 | 471 | 473..=477 | 480 | 489 => {
                let channel = line.parameter(1);
                if self.rooms.refused(channel, self.support.case, now) {
                    tracing::warn!(channel, "failed to join a channel of IRC: {}", words());
                }
                Vec::new()
            }
            900..=908 => self.login.numeric(number, &words()),
            _ => Vec::new(),
        }
    }

    fn is_about_nick(&self, line: &Line) -> bool {
        !super::person::is_channel(line.parameter(1))
    }

    fn become_ready(&mut self, now: Duration) -> Vec<Action> {
        self.is_ready = true;
        self.regain_at = now + REGAIN_INTERVAL;
        let mut actions = vec![Action::Ready];
        actions.extend(self.identify());
        self.rooms.begin(now);
        actions.extend(self.rooms.tick(now));
        actions
    }

    /// Logs in at NickServ, whatever nick we have, if there is a password for that.
    fn identify(&self) -> Option<Action> {
        let (nick, password) = (&self.settings.nick, &self.settings.nickserv_password);
        let words = format!("IDENTIFY {nick} {}", password.expose());
        let line = write("PRIVMSG", &["NickServ"], Some(&words));
        (!password.is_empty()).then_some(Action::Chore(line))
    }

    /// Tries another nick while the server has not let us in.
    fn other_nick(&mut self, why: &str) -> Vec<Action> {
        self.nick_tries += 1;
        if self.nick_tries > NICK_TRIES {
            return vec![failed(&format!("no nick is free: {why}"))];
        }
        let ending = match self.nick_tries {
            1 => "_".to_owned(),
            tries => format!("_{tries}"),
        };
        // Old servers cut what is longer than nine.
        let most = self
            .support
            .nick_bytes
            .unwrap_or(self.settings.nick.len().max(9));
        let kept = most.saturating_sub(ending.len());
        let nick = &self.settings.nick;
        let kept = nick.floor_char_boundary(kept.min(nick.len()));
        self.nick = format!("{}{ending}", nick.get(..kept).unwrap_or_default());
        vec![Action::Send(write("NICK", &[&self.nick], None))]
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Duration) -> Vec<Action> {
        if !self.is_ready {
            return if now >= self.begun + REGISTER_TIME {
                vec![failed(
                    "the server does not let us in, and does not say why",
                )]
            } else {
                Vec::new()
            };
        }
        let mut actions = Vec::new();
        match self.asked {
            Some(asked) if now >= asked + PONG_TIME => {
                return vec![failed("the server does not answer")];
            }
            None if now >= self.heard + PING_INTERVAL => {
                self.asked = Some(now);
                actions.push(Action::Send(write("PING", &[], Some("alive"))));
            }
            _ => {}
        }
        if self.wants_nick() && now >= self.regain_at {
            self.regain_at = now + REGAIN_INTERVAL;
            actions.push(Action::Chore(write("NICK", &[&self.settings.nick], None)));
        }
        actions.extend(self.rooms.tick(now));
        actions
    }

    fn wants_nick(&self) -> bool {
        !self.support.case.is_same(&self.nick, &self.settings.nick)
    }

    /// When [`tick`](Self::tick) has something to do.
    pub fn next(&self) -> Duration {
        if !self.is_ready {
            return self.begun + REGISTER_TIME;
        }
        let alive = match self.asked {
            Some(asked) => asked + PONG_TIME,
            None => self.heard + PING_INTERVAL,
        };
        let nick = self.wants_nick().then_some(self.regain_at);
        let others = [nick, self.rooms.next()];
        others.into_iter().flatten().fold(alive, Duration::min)
    }
}

fn failed(why: &str) -> Action {
    Action::End(Ending::Failed(why.to_owned()))
}

fn fatal(why: &str) -> Action {
    Action::End(Ending::Fatal(why.to_owned()))
}

/// What a server said, for the log.
pub fn said(text: &str) -> String {
    one_line(&super::format::strip(text), SAID_CHARS)
}

#[cfg(test)]
pub(super) mod tests;
