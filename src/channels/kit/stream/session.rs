//! A session with Discord's gateway, as a state machine. Pure: frames and the time go in, actions come
//! out.
//!
//! One session outlives its connections: a new connection resumes it, and Discord sends the events
//! that were missed. What counts as received is what was [confirmed](Session::confirm). Times are
//! measured from any fixed moment. <https://discord.com/developers/docs/events/gateway>

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::base::json;
use crate::base::limits::channels::JSON_LEVELS_MAX;
use crate::base::secret::Secret;

/// Time between two IDENTIFY: Discord refuses a second one within 5 s.
const DISCORD_IDENTIFY_INTERVAL: Duration = Duration::from_secs(6);
/// Time in which Discord's gateway has to say HELLO.
const DISCORD_HELLO_TIME: Duration = Duration::from_secs(20);
/// Time in which Discord's gateway has to begin a session, or to resume one.
const DISCORD_BEGIN_TIME: Duration = Duration::from_secs(60);
/// The least and the longest time between two heartbeats to Discord; it asks for about 41 s.
const DISCORD_HEARTBEATS: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_mins(2));
/// The longest wait until the receiver of Discord's events shows that it is alive.
const DISCORD_LOOK: Duration = Duration::from_secs(60);
/// Bytes of an id or a token that Discord gives; none is longer than a few hundred.
const DISCORD_TOKEN_BYTES: usize = 1024;

/// Messages in servers; with them come those in threads.
const GUILD_MESSAGES: u64 = 1 << 9;
const DIRECT_MESSAGES: u64 = 1 << 12;
/// What messages in servers say that do not mention the bot. It has to be allowed in the portal.
const MESSAGE_CONTENT: u64 = 1 << 15;

/// Closes a connection so that its session lives on: any code but 1000 and 1001.
const CLOSE_AND_RESUME: u16 = 4000;

/// A frame of the gateway.
#[derive(Deserialize)]
struct Frame<'a> {
    op: u8,
    #[serde(default)]
    s: Option<u64>,
    #[serde(default, borrow)]
    t: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    d: Option<&'a RawValue>,
}

/// Which events a session hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Private chats.
    Private,
    /// Servers too, of which only what mentions the bot can be read.
    Mentions,
    /// Everything.
    All,
}

impl Scope {
    fn intents(self) -> u64 {
        match self {
            Self::Private => DIRECT_MESSAGES,
            Self::Mentions => DIRECT_MESSAGES | GUILD_MESSAGES,
            Self::All => DIRECT_MESSAGES | GUILD_MESSAGES | MESSAGE_CONTENT,
        }
    }
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// To be sent, with the token added where [`Outgoing`] says.
    Send(Outgoing),
    /// The session has begun. What happened before is unknown.
    Begun(Ready),
    /// The session goes on; nothing was missed.
    Resumed,
    /// An event, to be [confirmed](Session::confirm) once it has been dealt with.
    Event {
        /// Its number.
        sequence: u64,
        /// Its kind, such as `MESSAGE_CREATE`.
        kind: String,
        /// What it says, as JSON.
        data: String,
    },
    /// The connection is to be closed, with this code, and a new one made.
    Reconnect {
        /// The code.
        code: u16,
        /// Why, for the log.
        why: &'static str,
        /// Whether Discord asked for it, which is no failure.
        is_planned: bool,
    },
}

/// A message to the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// Begins a session.
    Identify {
        /// The events that it is to hear of.
        scope: Scope,
    },
    /// Goes on with one.
    Resume {
        /// The session.
        id: String,
        /// The last event that was confirmed.
        sequence: u64,
    },
    /// Shows that the connection lives.
    Heartbeat {
        /// The last event that was confirmed.
        sequence: Option<u64>,
    },
}

impl Outgoing {
    /// As JSON, with the token where it is needed.
    pub fn to_json(&self, token: &Secret) -> String {
        let frame = |op: u8, data: Value| json!({"op": op, "d": data}).to_string();
        match self {
            Self::Heartbeat { sequence } => frame(1, json!(sequence)),
            Self::Identify { scope } => frame(
                2,
                json!({
                    "token": token.expose(),
                    "intents": scope.intents(),
                    "properties": {"os": "linux", "browser": "peacrab", "device": "peacrab"},
                }),
            ),
            Self::Resume { id, sequence } => frame(
                6,
                json!({"token": token.expose(), "session_id": id, "seq": sequence}),
            ),
        }
    }
}

/// Who the bot is, and how its session is resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Ready {
    /// The session's id.
    pub session_id: String,
    /// Where it is resumed. QQ, whose gateway speaks the same protocol, does not say.
    #[serde(default)]
    pub resume_gateway_url: String,
    /// The bot.
    pub user: Me,
}

/// The bot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Me {
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(default)]
    pub username: String,
}

/// Why Discord closed a connection, by what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// A new connection may help.
    Again(String),
    /// The token is wrong.
    Token,
    /// The portal does not allow the bot to read the content of messages.
    Intent,
    /// A new connection does not help.
    Fatal(String),
}

/// See the module.
#[derive(Debug)]
pub struct Session {
    scope: Scope,
    ready: Option<Ready>,
    sequence: Option<u64>,
    last_identify: Option<Duration>,
    link: Link,
}

/// What is known of the connection.
#[derive(Debug, Default)]
struct Link {
    opened: Duration,
    /// The time between heartbeats; `None` before HELLO.
    interval: Option<Duration>,
    next_heartbeat: Duration,
    /// Whether the last heartbeat was not acknowledged yet.
    is_unanswered: bool,
    /// When it is to be identified; `None` when that is done or not needed.
    identify_at: Option<Duration>,
    /// Since when nothing has come of an IDENTIFY or RESUME.
    asked_at: Option<Duration>,
    is_over: bool,
}

impl Session {
    /// No session yet.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            ready: None,
            sequence: None,
            last_identify: None,
            link: Link::default(),
        }
    }

    /// The events that it hears of, and asks for the next time that it begins.
    pub fn scope(&mut self) -> &mut Scope {
        &mut self.scope
    }

    /// Where to connect, if a session is to be resumed.
    pub fn resume_url(&self) -> Option<&str> {
        let ready = self.ready.as_ref()?;
        Some(ready.resume_gateway_url.as_str()).filter(|url| !url.is_empty())
    }

    /// A session of an earlier run, to be resumed. Its events after `sequence` were not confirmed.
    pub fn restore(&mut self, session_id: &str, sequence: u64) {
        self.ready = Some(Ready {
            session_id: session_id.to_owned(),
            ..Ready::default()
        });
        self.sequence = Some(sequence);
    }

    /// The session's id and the last event that was confirmed, for [`Session::restore`].
    pub fn saved(&self) -> Option<(&str, u64)> {
        Some((&self.ready.as_ref()?.session_id, self.sequence?))
    }

    /// The session is lost: the next connection begins another one.
    pub fn forget(&mut self) {
        (self.ready, self.sequence) = (None, None);
    }

    /// There is a new connection.
    pub fn opened(&mut self, now: Duration) {
        self.link = Link {
            opened: now,
            ..Link::default()
        };
    }

    /// The event with this number has been dealt with, and need not come again.
    pub fn confirm(&mut self, sequence: u64) {
        self.sequence = self.sequence.max(Some(sequence));
    }

    /// Takes a frame. `chance`, from 0 to 1, spreads the heartbeats of many programs. A frame that
    /// cannot be understood means nothing.
    pub fn receive(&mut self, frame: &str, now: Duration, chance: f64) -> Vec<Action> {
        let Ok(frame) = json::envelope_from_str::<Frame<'_>>(frame) else {
            tracing::debug!(
                bytes = frame.len(),
                "ignored a frame that is not understood"
            );
            return Vec::new();
        };
        match frame.op {
            _ if self.link.is_over => Vec::new(),
            0 => {
                // The events before RESUMED are those that were missed.
                self.link.asked_at = self.link.asked_at.map(|_| now);
                self.event(&frame).into_iter().collect()
            }
            1 => vec![self.heartbeat(now)],
            7 => vec![self.reconnect(CLOSE_AND_RESUME, "Discord asked for it", true)],
            9 => vec![self.invalidated(&frame)],
            10 => self.hello(&frame, now, chance),
            11 => {
                self.link.is_unanswered = false;
                Vec::new()
            }
            op => {
                tracing::debug!(op, "ignored a frame of an unknown kind");
                Vec::new()
            }
        }
    }

    /// Does what is due by now. `is_idle` says that nothing else has come that is still to be received,
    /// such as an acknowledgement.
    pub fn tick(&mut self, now: Duration, is_idle: bool) -> Vec<Action> {
        let link = &mut self.link;
        if link.is_over {
            return Vec::new();
        }
        if link.interval.is_none() {
            let is_late = now >= link.opened + DISCORD_HELLO_TIME;
            let why = "it did not say hello";
            let late = is_late.then(|| self.reconnect(CLOSE_AND_RESUME, why, false));
            return late.into_iter().collect();
        }
        let mut actions = Vec::new();
        let is_ignored = |asked: Duration| now >= asked + DISCORD_BEGIN_TIME;
        if is_idle && link.asked_at.is_some_and(is_ignored) {
            return vec![self.reconnect(CLOSE_AND_RESUME, "it did not begin the session", false)];
        }
        if link.identify_at.is_some_and(|at| now >= at) {
            link.identify_at = None;
            link.asked_at = Some(now);
            self.last_identify = Some(now);
            let scope = self.scope;
            actions.push(Action::Send(Outgoing::Identify { scope }));
        }
        if now >= self.link.next_heartbeat {
            match self.link.is_unanswered {
                false => actions.push(self.heartbeat(now)),
                true if is_idle => {
                    actions.push(self.reconnect(CLOSE_AND_RESUME, "it stopped answering", false));
                }
                true => {}
            }
        }
        actions
    }

    /// How long nothing is to be done, unless a frame comes.
    pub fn idle(&self, now: Duration) -> Duration {
        let link = &self.link;
        let due = match link.interval {
            None => link.opened + DISCORD_HELLO_TIME,
            Some(_) => {
                let identify = link.identify_at.unwrap_or(link.next_heartbeat);
                link.next_heartbeat.min(identify)
            }
        };
        due.saturating_sub(now).min(DISCORD_LOOK)
    }

    /// Discord closed the connection.
    /// <https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes>
    pub fn closed(&mut self, code: u16, reason: &str) -> Closed {
        self.link.is_over = true;
        let said = match reason {
            "" => format!("Discord closed the connection ({code})"),
            reason => format!("Discord closed the connection ({code}: {reason})"),
        };
        match code {
            // A number that is not right, a session that has timed out, or one that was never there.
            4003 | 4007 | 4009 => self.forget(),
            4004 | 4010..=4014 => self.forget(),
            _ => {}
        }
        match code {
            4004 => Closed::Token,
            4014 if self.scope == Scope::All => Closed::Intent,
            4010..=4014 => Closed::Fatal(said),
            _ => Closed::Again(said),
        }
    }

    fn hello(&mut self, frame: &Frame<'_>, now: Duration, chance: f64) -> Vec<Action> {
        #[derive(Default, Deserialize)]
        struct Hello {
            heartbeat_interval: u64,
        }
        let hello: Hello = read(frame).unwrap_or_default();
        let (least, most) = DISCORD_HEARTBEATS;
        let interval = Duration::from_millis(hello.heartbeat_interval).clamp(least, most);
        self.link.interval = Some(interval);
        self.link.next_heartbeat = now + interval.mul_f64(chance.clamp(0.0, 1.0));
        if let (Some(ready), Some(sequence)) = (&self.ready, self.sequence) {
            let id = ready.session_id.clone();
            self.link.asked_at = Some(now);
            return vec![Action::Send(Outgoing::Resume { id, sequence })];
        }
        let soonest = self
            .last_identify
            .map(|last| last + DISCORD_IDENTIFY_INTERVAL);
        self.link.identify_at = Some(soonest.unwrap_or_default().max(now));
        self.tick(now, false)
    }

    fn event(&mut self, frame: &Frame<'_>) -> Option<Action> {
        let kind = frame.t.as_deref().unwrap_or_default();
        let sequence = frame.s.unwrap_or_default();
        match kind {
            "READY" => {
                let fits = |ready: &Ready| {
                    let parts = [&ready.session_id, &ready.resume_gateway_url, &ready.user.id];
                    parts.iter().all(|part| part.len() <= DISCORD_TOKEN_BYTES)
                };
                let Some(ready) = read::<Ready>(frame).filter(fits) else {
                    return Some(self.reconnect(1000, "its greeting is not understood", false));
                };
                self.link.asked_at = None;
                self.ready = Some(ready.clone());
                self.sequence = Some(sequence);
                Some(Action::Begun(ready))
            }
            "RESUMED" => {
                self.link.asked_at = None;
                self.confirm(sequence);
                Some(Action::Resumed)
            }
            kind => Some(Action::Event {
                sequence,
                kind: kind.to_owned(),
                data: frame.d.map_or("null", RawValue::get).to_owned(),
            }),
        }
    }

    fn heartbeat(&mut self, now: Duration) -> Action {
        let interval = self.link.interval.unwrap_or(DISCORD_HEARTBEATS.1);
        self.link.next_heartbeat = now + interval;
        self.link.is_unanswered = true;
        let sequence = self.sequence;
        Action::Send(Outgoing::Heartbeat { sequence })
    }

    fn invalidated(&mut self, frame: &Frame<'_>) -> Action {
        if read(frame).unwrap_or(false) {
            return self.reconnect(CLOSE_AND_RESUME, "the session was interrupted", false);
        }
        self.forget();
        self.reconnect(
            1000,
            "it does not accept the session, or the last one began just before",
            false,
        )
    }

    fn reconnect(&mut self, code: u16, why: &'static str, is_planned: bool) -> Action {
        self.link.is_over = true;
        Action::Reconnect {
            code,
            why,
            is_planned,
        }
    }
}

fn read<T: DeserializeOwned>(frame: &Frame<'_>) -> Option<T> {
    json::lenient_from_str_within(frame.d?.get(), JSON_LEVELS_MAX).ok()
}

#[cfg(test)]
mod tests;
