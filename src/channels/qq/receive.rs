//! Receives events over QQ's gateway and passes them on to the intake.
//!
//! The gateway is a websocket with the protocol of Discord's, whose state machine is used here. An event is confirmed
//! when the intake has it on the disk; what was not confirmed is sent again when the session is resumed, which it is
//! after a restart too. QQ keeps no messages for a bot whose session is lost.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::api::{Api, Tokens};
use super::connection::{Memory, Qq};
use super::event::{Meaning, read};
use super::fault::BAD_SECRET;
use super::place::Place;
use crate::base::access::Role;
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Error;
use crate::base::limits::channels::{
    CALL_TIME, FILE_TRIES, FIRST_WAIT, IDLE, INBOX_BACKOFF, LONGEST_BACKOFF, PATIENCE,
    PRESS_PATIENCE,
};
use crate::base::message::UNKNOWN_MESSAGE;
use crate::base::secret::Secret;
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::health::Task;
use crate::channels::kit::presses::{Presses, role_of};
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::{Backoff, doubled, with_jitter};
use crate::channels::kit::stream::session::{Action, Outgoing, Scope, Session};
use crate::config::schema::Bot;
use crate::net::http::websocket::{Received, Websocket};
use crate::net::http::{Settings, Tls};
use crate::sys::{memory, random};

/// A connection to the gateway that was shorter counts as a failure: the next one waits longer.
const STEADY: Duration = Duration::from_secs(60);

/// Closes a connection so that the session can be resumed.
const CLOSE_AND_RESUME: u16 = 4000;

/// Private chats and groups, and presses of buttons there.
const PRIVATE_INTENTS: u64 = 1 << 25 | 1 << 26;
/// The same, private chats with members of guilds, and mentions in guilds.
const ALL_INTENTS: u64 = PRIVATE_INTENTS | 1 << 12 | 1 << 30;

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub qq: &'a Qq,
    pub bot: &'a Bot,
    pub tls: &'a Tls,
    pub clock: &'a Clock,
    pub tokens: &'a Arc<Tokens>,
    pub memory: &'a Memory,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
}

/// Receives until the token is raised.
pub(super) fn run(parts: ReceiverParts<'_>) {
    let health = parts.intake.health();
    let backoff = |task, name| Backoff::new(task, name, parts.clock.clone(), health.clone());
    let saved = parts.memory.saved();
    let mut session = Session::new(Scope::All);
    if !saved.session.is_empty() {
        session.restore(&saved.session, saved.sequence);
    }
    Receiver {
        session,
        me: saved.me,
        watch: Stopwatch::start(),
        working_since: None,
        short_lived: 0,
        failed_resumes: 0,
        backoff: backoff(Task::Receive, "receive from QQ"),
        full: backoff(Task::Accept, "accept messages from QQ"),
        presses: Presses::default(),
        parts,
    }
    .run();
}

struct Receiver<'a> {
    parts: ReceiverParts<'a>,
    session: Session,
    /// The bot's id.
    me: String,
    watch: Stopwatch,
    /// When the present connection began to work, on `watch`.
    working_since: Option<Duration>,
    /// Connections in a row that worked only for a short time.
    short_lived: u32,
    /// Failures in a row to resume the session.
    failed_resumes: u32,
    /// Failures of QQ, and of the inbox.
    backoff: Backoff,
    full: Backoff,
    presses: Presses,
}

/// Why a connection is over.
#[derive(Debug)]
enum End {
    /// QQ asked for another one.
    Planned,
    /// It failed, and is closed with this code.
    Failed(u16, String),
    /// Reconnecting is useless until the configuration, or the bot at QQ, is changed.
    Fatal(String),
    /// QQ asks to wait.
    Wait(Duration),
    /// The inbox cannot store the messages.
    Inbox(Error),
    Stopped,
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        match error {
            Error::Stopped => Self::Stopped,
            error => Self::Failed(CLOSE_AND_RESUME, error.to_string()),
        }
    }
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::Stopped,
            Failure::RetryAfter(wait) => Self::Wait(wait),
            Failure::Down(said) if said == BAD_SECRET => Self::Fatal(said),
            failure => Self::Failed(CLOSE_AND_RESUME, failure.to_string()),
        }
    }
}

/// What is left of a session when QQ has closed its connection with a code.
/// <https://bot.q.qq.com/wiki/develop/api-v2/dev-prepare/interface-framework/event-emit.html>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// It can be resumed.
    Session,
    /// Another one can begin.
    Nothing,
    /// The same with another access token.
    NoToken,
    /// The same without guilds, which the bot is not allowed to hear of.
    NoGuilds,
    /// The bot is not allowed to connect.
    Fatal,
}

fn left_by(code: u16, scope: Scope) -> Left {
    match code {
        // Too many payloads; the connection has been open for long enough.
        4008 | 4009 => Left::Session,
        4004 => Left::NoToken,
        // A payload or a session that QQ does not know, an event number that is wrong, errors within QQ.
        4001..=4003 | 4005..=4007 | 4900..=4913 => Left::Nothing,
        4013 | 4014 if scope == Scope::All => Left::NoGuilds,
        // Shards, versions, intents that the bot may not have; taken off line, banned.
        4010..=4014 | 4914 | 4915 => Left::Fatal,
        _ => Left::Session,
    }
}

impl Receiver<'_> {
    fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        while !cancel.is_cancelled() {
            self.parts.heartbeat.beat(CALL_TIME);
            memory::give_back_stack();
            self.working_since = None;
            let end = match self.connect() {
                Ok((socket, token)) => self.serve(socket, &token),
                Err(end) => end,
            };
            let wait = self.wait_after(end);
            self.parts.heartbeat.beat(wait + PATIENCE);
            cancel.wait(wait);
        }
    }

    fn now(&self) -> Duration {
        self.watch.elapsed()
    }

    /// How long to wait before the next connection.
    fn wait_after(&mut self, end: End) -> Duration {
        let worked = self.working_since.map(|since| self.now() - since);
        if worked.is_some_and(|time| time >= STEADY) {
            self.short_lived = 0;
        }
        match end {
            End::Stopped => Duration::ZERO,
            End::Planned => with_jitter(FIRST_WAIT),
            End::Failed(_, why) if worked.is_some() => {
                tracing::info!("lost the connection to QQ, reconnecting: {why}");
                self.short_lived = self.short_lived.saturating_add(1);
                with_jitter(doubled(self.short_lived - 1))
            }
            End::Failed(_, why) => {
                self.failed_resumes += 1;
                if self.failed_resumes > FILE_TRIES {
                    self.session.forget();
                }
                self.backoff.failed(&why, None)
            }
            End::Wait(wait) => {
                let why = format!("rate-limited for {} s", wait.as_secs());
                self.backoff.failed(&why, Some(wait))
            }
            End::Fatal(why) => self.backoff.failed(&why, Some(LONGEST_BACKOFF)),
            End::Inbox(error) => self.full.failed(&error, None).min(INBOX_BACKOFF),
        }
    }

    fn api(&self, patience: Duration) -> Result<Api, End> {
        Ok(self.parts.qq.api(patience, &self.parts.cancel)?)
    }

    /// Asks for the gateway's address and connects. The calls' own connection is closed again.
    fn connect(&self) -> Result<(Websocket, Secret), End> {
        let api = self.api(PATIENCE)?;
        let url = api.gateway()?;
        let token = api.token()?;
        drop(api);
        let settings = Settings {
            proxy: self.parts.bot.proxy.clone(),
            ..Settings::new(PATIENCE, IDLE)
        };
        let socket = Websocket::connect(self.parts.tls, settings, &url, &[], &self.parts.cancel)?;
        Ok((socket, token))
    }

    /// Serves a connection to its end.
    fn serve(&mut self, mut socket: Websocket, token: &Secret) -> End {
        self.session.opened(self.now());
        let end = loop {
            if let Err(end) = self.step(&mut socket, token) {
                break end;
            }
        };
        socket.close(
            match end {
                End::Failed(code, _) => code,
                _ => CLOSE_AND_RESUME,
            },
            "",
        );
        end
    }

    /// Waits for a frame, or until something is due, and performs the actions.
    fn step(&mut self, socket: &mut Websocket, token: &Secret) -> Result<(), End> {
        let idle = self.session.idle(self.now());
        self.parts.heartbeat.beat(idle + 2 * PATIENCE);
        // Most of the time is spent in here.
        memory::give_back_stack();
        let received = socket.receive(idle)?;
        let now = self.now();
        let actions = match received {
            Received::Text(frame) => {
                let mut actions = self.session.receive(&frame, now, chance());
                actions.extend(self.session.tick(now, false));
                actions
            }
            Received::Closed { code, reason } => return Err(self.closed(code, &reason)),
            Received::Idle => self.session.tick(now, true),
            Received::Binary(_) | Received::Ping(_) | Received::Pong(_) => {
                self.session.tick(now, false)
            }
        };
        actions
            .into_iter()
            .try_for_each(|action| self.perform(action, socket, token))
    }

    fn perform(
        &mut self,
        action: Action,
        socket: &mut Websocket,
        token: &Secret,
    ) -> Result<(), End> {
        match action {
            Action::Send(message) => socket.send_text(&to_json(&message, token))?,
            Action::Begun(ready) => {
                self.me = ready.user.id;
                self.save();
                self.works();
            }
            Action::Resumed => self.works(),
            Action::Event {
                sequence,
                kind,
                data,
            } => {
                self.event(&kind, &data)?;
                self.session.confirm(sequence);
            }
            Action::Reconnect {
                code,
                why,
                is_planned,
            } => {
                tracing::debug!("closing the connection to QQ: {why}");
                return Err(if is_planned {
                    End::Planned
                } else {
                    End::Failed(code, why.to_owned())
                });
            }
        }
        Ok(())
    }

    fn save(&self) {
        self.parts.memory.save(self.session.saved(), &self.me);
    }

    fn works(&mut self) {
        self.working_since = Some(self.now());
        self.failed_resumes = 0;
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
    }

    /// QQ closed the connection.
    fn closed(&mut self, code: u16, reason: &str) -> End {
        let said = match reason {
            "" => format!("QQ closed the connection ({code})"),
            reason => format!("QQ closed the connection ({code}: {reason})"),
        };
        let left = left_by(code, *self.session.scope());
        if left != Left::Session {
            self.session.forget();
        }
        match left {
            Left::Session | Left::Nothing => End::Failed(CLOSE_AND_RESUME, said),
            Left::NoToken => {
                self.parts.tokens.forget();
                End::Failed(CLOSE_AND_RESUME, said)
            }
            Left::NoGuilds => {
                tracing::info!(
                    "QQ does not let the bot into guilds, so it hears of private chats and groups only"
                );
                *self.session.scope() = Scope::Private;
                End::Planned
            }
            Left::Fatal => End::Fatal(format!(
                "{said}: check on https://q.qq.com that the bot is published, or set channels.qq.sandbox"
            )),
        }
    }

    fn event(&mut self, kind: &str, data: &str) -> Result<(), End> {
        match read(kind, data, &self.me, self.parts.bot.group_policy) {
            Meaning::Nothing => Ok(()),
            Meaning::Message {
                mut incoming,
                chat,
                id,
                index,
            } => {
                if let Incoming::Message { envelope, .. } = &mut incoming
                    && envelope.replies_to == UNKNOWN_MESSAGE
                    && let Some(own) = self.parts.memory.sent_as(&index)
                {
                    envelope.replies_to = own;
                }
                let place = Place::parse(&chat);
                let is_awaited = place.is_some_and(|place| self.parts.memory.heard(place, &id));
                self.save();
                self.take(incoming)?;
                if is_awaited {
                    self.parts.intake.reachable();
                }
                Ok(())
            }
            Meaning::Pressed { incoming, id } => {
                let intake = &self.parts.intake;
                let role = incoming.as_ref().and_then(|press| role_of(press, intake));
                self.acknowledge(&id, role)?;
                incoming.map_or(Ok(()), |incoming| self.take(incoming))
            }
        }
    }

    /// Passes a message to the intake, which stores it.
    fn take(&mut self, incoming: Incoming) -> Result<(), End> {
        let taken = self
            .parts
            .intake
            .take(vec![incoming], &self.parts.heartbeat);
        taken.map_err(End::Inbox)?;
        self.full.succeeded();
        Ok(())
    }

    /// Acknowledges a press in time. When that fails, QQ shows an error, and the press is processed all the same.
    fn acknowledge(&mut self, press: &str, role: Option<Role>) -> Result<(), End> {
        let api = self.api(PRESS_PATIENCE)?;
        match self.presses.answer(role, || api.acknowledge(press)) {
            Some(Err(Failure::Stopped)) => Err(End::Stopped),
            Some(Err(failure)) => {
                tracing::debug!("failed to acknowledge a press: {failure}");
                Ok(())
            }
            None | Some(Ok(())) => Ok(()),
        }
    }
}

/// A message to the gateway as JSON.
fn to_json(message: &Outgoing, token: &Secret) -> String {
    let token = || format!("QQBot {}", token.expose());
    let frame = match message {
        Outgoing::Heartbeat { sequence } => json!({"op": 1, "d": sequence}),
        Outgoing::Identify { scope } => json!({"op": 2, "d": {
            "token": token(), "shard": [0, 1],
            "intents": if *scope == Scope::Private { PRIVATE_INTENTS } else { ALL_INTENTS },
            "properties": {"$os": "linux", "$browser": "peacrab", "$device": "peacrab"},
        }}),
        Outgoing::Resume { id, sequence } => {
            json!({"op": 6, "d": {"token": token(), "session_id": id, "seq": sequence}})
        }
    };
    frame.to_string()
}

/// From 0 to 1.
fn chance() -> f64 {
    let [chance] = random::bytes().unwrap_or([128]);
    f64::from(chance) / 256.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_leaves_the_session_only_where_qq_says_so() {
        for (code, expected) in [
            (4009, Left::Session),
            (4008, Left::Session),
            (1006, Left::Session),
            (4006, Left::Nothing),
            (4007, Left::Nothing),
            (4900, Left::Nothing),
            (4004, Left::NoToken),
            (4014, Left::NoGuilds),
            (4010, Left::Fatal),
            (4915, Left::Fatal),
        ] {
            assert_eq!(left_by(code, Scope::All), expected, "{code}");
        }
        assert_eq!(left_by(4014, Scope::Private), Left::Fatal);
    }

    #[test]
    fn frames_are_qqs() {
        let token = Secret::new("t");
        let identify: serde_json::Value =
            serde_json::from_str(&to_json(&Outgoing::Identify { scope: Scope::All }, &token))
                .unwrap();
        assert_eq!(identify["d"]["token"], "QQBot t");
        assert_eq!(identify["d"]["intents"], ALL_INTENTS);
        let beat = to_json(&Outgoing::Heartbeat { sequence: None }, &token);
        assert_eq!(beat, r#"{"d":null,"op":1}"#);
    }
}
