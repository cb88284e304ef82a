//! Receives events over Discord's gateway and passes them on to the intake.
//!
//! An event is confirmed when the intake has it on the disk. What was not confirmed is sent again: the
//! next connection resumes the session from there. When a session is lost, or the program was not
//! running, messages that were written meanwhile are fetched: see `missed`.

mod missed;

use std::path::Path;
use std::time::Duration;

use self::missed::Question;
use super::api::{Api, BAD_TOKEN};
use super::connection::Discord;
use super::event::{Meaning, Reader};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Error;
use crate::base::limits::channels::{
    CALL_TIME, FILE_TRIES, FIRST_WAIT, IDLE, INBOX_BACKOFF, LONGEST_BACKOFF, MISSED_TIME,
    MISSED_TURN, PATIENCE, PRESS_PATIENCE, QUOTE_CHARS,
};
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::health::Task;
use crate::channels::kit::presses::{Presses, role_of};
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::{Backoff, doubled, with_jitter};
use crate::channels::kit::stream::missed::Missed;
use crate::channels::kit::stream::session::{Action, Closed, Me, Scope, Session};
use crate::channels::kit::texts::no_access;
use crate::config::schema::{Bot, GroupPolicy};
use crate::net::http::websocket::{Received, Websocket};
use crate::net::http::{Settings, Tls};
use crate::sys::{memory, random};
use crate::text::ellipsize_chars;

/// A connection to Discord's gateway that was shorter counts as a failure: the next one waits longer.
const DISCORD_STEADY: Duration = Duration::from_secs(60);

/// Closes a connection and ends the session.
const CLOSE: u16 = 1000;
/// Closes a connection so that the session can be resumed.
const CLOSE_AND_RESUME: u16 = 4000;

const NO_INTENT: &str = "Discord hides messages in servers that do not mention the bot. To read them, turn on \"Message Content Intent\" on the page \"Bot\" of your application at \
                         https://discord.com/developers/applications and restart the gateway";

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub discord: &'a Discord,
    pub tls: &'a Tls,
    pub config: &'a Bot,
    pub clock: &'a Clock,
    pub state: &'a Path,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
}

/// Receives until the token is raised.
pub(super) fn run(parts: ReceiverParts<'_>) {
    Receiver::new(parts).run();
}

struct Receiver<'a> {
    parts: ReceiverParts<'a>,
    session: Session,
    me: Me,
    watch: Stopwatch,
    /// When the present connection began to work, on `watch`.
    working_since: Option<Duration>,
    /// Connections in a row that worked only for a short time.
    short_lived: u32,
    /// Failures in a row to resume the session.
    failed_resumes: u32,
    /// Failures of Discord, and of the inbox.
    backoff: Backoff,
    full: Backoff,
    presses: Presses,
    /// What is to be fetched of the chats that were active last, of which it says whether they are in a server.
    missed: Missed<(String, bool), Question>,
}

/// Why a connection is over.
enum End {
    /// Discord asked for another one.
    Planned,
    /// It failed.
    Failed(String),
    /// It failed, and is closed with this code.
    Lost(u16, String),
    /// Reconnecting is useless until the configuration is changed.
    Fatal(String),
    /// Discord asks to wait.
    Wait(Duration),
    /// The inbox cannot store the messages.
    Inbox(Error),
    Stopped,
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        match error {
            Error::Stopped => Self::Stopped,
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::Stopped,
            Failure::RetryAfter(wait) => Self::Wait(wait),
            failure => Self::Failed(failure.to_string()),
        }
    }
}

impl<'a> Receiver<'a> {
    fn new(parts: ReceiverParts<'a>) -> Self {
        let scope = match parts.config.group_policy {
            GroupPolicy::Off => Scope::Private,
            GroupPolicy::Mention | GroupPolicy::Open => Scope::All,
        };
        let health = parts.intake.health();
        let backoff = |task, name| Backoff::new(task, name, parts.clock.clone(), health.clone());
        Self {
            session: Session::new(scope),
            me: Me::default(),
            watch: Stopwatch::start(),
            working_since: None,
            short_lived: 0,
            failed_resumes: 0,
            backoff: backoff(Task::Receive, "receive from Discord"),
            full: backoff(Task::Accept, "accept messages from Discord"),
            presses: Presses::default(),
            missed: Missed::open(parts.state, (super::NAME, "Discord")),
            parts,
        }
    }

    fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        while !cancel.is_cancelled() {
            self.parts.heartbeat.beat(CALL_TIME);
            memory::give_back_stack();
            self.working_since = None;
            let end = match self.connect() {
                Ok(socket) => self.serve(socket),
                Err(end) => end,
            };
            // A question may have been lost with the connection.
            self.missed.interrupted(None);
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
        if worked.is_some_and(|time| time >= DISCORD_STEADY) {
            self.short_lived = 0;
        }
        match end {
            End::Stopped => Duration::ZERO,
            End::Planned => with_jitter(FIRST_WAIT),
            End::Failed(why) | End::Lost(_, why) if worked.is_some() => {
                tracing::info!("lost the connection to Discord, reconnecting: {why}");
                self.short_lived = self.short_lived.saturating_add(1);
                with_jitter(doubled(self.short_lived - 1))
            }
            End::Failed(why) | End::Lost(_, why) => {
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

    fn connect(&mut self) -> Result<Websocket, End> {
        let url = match self.session.resume_url() {
            Some(url) => url.to_owned(),
            None => self.gateway_url()?,
        };
        let settings = Settings {
            proxy: self.parts.config.proxy.clone(),
            ..Settings::new(PATIENCE, IDLE)
        };
        let url = with_version(&url);
        let socket = Websocket::connect(self.parts.tls, settings, &url, &[], &self.parts.cancel);
        socket.map_err(|error| {
            if matches!(error, Error::Status { .. } | Error::Config(_)) {
                self.session.forget();
            }
            error.into()
        })
    }

    /// Asks for the gateway's address, which also tests the token.
    fn gateway_url(&self) -> Result<String, End> {
        let api = self.api(PATIENCE)?;
        let address = api.get_gateway()?;
        if address.session_start_limit.remaining == 0 {
            let wait = Duration::from_millis(address.session_start_limit.reset_after);
            let why = "the bot has connected too often today, so Discord makes it wait".to_owned();
            tracing::warn!(seconds = wait.as_secs(), "{why}");
            return Err(End::Wait(wait.min(LONGEST_BACKOFF)));
        }
        Ok(address.url)
    }

    fn api(&self, patience: Duration) -> Result<Api, End> {
        Ok(self.parts.discord.api(patience, &self.parts.cancel)?)
    }

    /// Serves a connection to its end.
    fn serve(&mut self, mut socket: Websocket) -> End {
        self.session.opened(self.now());
        let end = self.listen(&mut socket);
        let code = match &end {
            End::Stopped => CLOSE,
            End::Lost(code, _) => *code,
            _ => CLOSE_AND_RESUME,
        };
        socket.close(code, "");
        end
    }

    fn listen(&mut self, socket: &mut Websocket) -> End {
        loop {
            if let Err(end) = self.step(socket) {
                return end;
            }
        }
    }

    /// Waits for a frame, or until something is due, and performs the actions.
    fn step(&mut self, socket: &mut Websocket) -> Result<(), End> {
        let mut idle = self.session.idle(self.now());
        if let Some(wait) = self.missed.wait(self.now())
            && self.working_since.is_some()
        {
            idle = idle.min(wait);
        }
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
        for action in actions {
            self.perform(action, socket)?;
        }
        match self.working_since {
            Some(_) => self.fetch_missed(socket, MISSED_TURN),
            None => Ok(()),
        }
    }

    fn perform(&mut self, action: Action, socket: &mut Websocket) -> Result<(), End> {
        match action {
            Action::Send(message) => {
                socket.send_text(&message.to_json(&self.parts.config.token))?;
            }
            Action::Begun(ready) => {
                self.me = ready.user;
                let known = self.parts.intake.last_update();
                let known = known.map(|(newest, _)| newest);
                self.missed.interrupted(known);
                self.works(socket)?;
            }
            Action::Resumed => self.works(socket)?,
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
                tracing::debug!("closing the connection to Discord: {why}");
                return Err(if is_planned {
                    End::Planned
                } else {
                    End::Lost(code, why.to_owned())
                });
            }
        }
        Ok(())
    }

    /// The connection works.
    fn works(&mut self, socket: &mut Websocket) -> Result<(), End> {
        self.working_since = Some(self.now());
        self.failed_resumes = 0;
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
        self.fetch_missed(socket, MISSED_TIME)
    }

    /// Discord closed the connection.
    fn closed(&mut self, code: u16, reason: &str) -> End {
        match self.session.closed(code, reason) {
            Closed::Again(said) => End::Failed(said),
            Closed::Token => End::Fatal(BAD_TOKEN.to_owned()),
            Closed::Fatal(said) => End::Fatal(said),
            Closed::Intent => {
                tracing::warn!("{NO_INTENT}");
                *self.session.scope() = Scope::Mentions;
                End::Planned
            }
        }
    }

    fn event(&mut self, kind: &str, data: &str) -> Result<(), End> {
        let intake = self.parts.intake.clone();
        let reader = Reader {
            me: &self.me,
            policy: self.parts.config.group_policy,
            awaits: &|chat, person| intake.is_awaited(chat, person),
        };
        match reader.read(kind, data) {
            Meaning::Nothing => Ok(()),
            Meaning::Incoming(incoming) => self.take(vec![incoming]),
            Meaning::Interaction {
                incoming,
                id,
                token,
            } => {
                self.acknowledge(&incoming, &id, &token)?;
                self.take(vec![incoming])
            }
        }
    }

    /// Passes messages to the intake, which stores them.
    fn take(&mut self, batch: Vec<Incoming>) -> Result<(), End> {
        for incoming in &batch {
            if let Incoming::Message { envelope, .. } = incoming {
                let chat = envelope.address().chat;
                self.missed.note_chat((chat, envelope.is_group));
            }
        }
        self.missed.save().map_err(End::Inbox)?;
        let taken = self.parts.intake.take(batch, &self.parts.heartbeat);
        taken.map_err(End::Inbox)?;
        self.full.succeeded();
        Ok(())
    }

    /// Acknowledges a press or a command in time. When that fails, Discord shows an error, and the press
    /// is processed all the same.
    fn acknowledge(&mut self, incoming: &Incoming, id: &str, token: &str) -> Result<(), End> {
        let intake = &self.parts.intake;
        let text = match incoming {
            Incoming::Pressed {
                sender,
                username,
                data,
                address,
                is_group,
                ..
            } => {
                let group = is_group.then_some(address);
                let notice = intake.press_notice(sender, username, group, data);
                notice.map(str::to_owned)
            }
            Incoming::Message { envelope, username } => {
                let sender = envelope.sender().cloned().unwrap_or_default();
                let command = ellipsize_chars(&envelope.text, QUOTE_CHARS).replace('`', "'");
                // An unknown sender who writes in private is given a pairing code.
                let may = !envelope.is_group || intake.has_access(&sender, username);
                Some(if may {
                    format!("✓ `{command}`")
                } else {
                    no_access(sender.language).to_owned()
                })
            }
            Incoming::Edited { .. } => return Ok(()),
        };
        let role = role_of(incoming, intake);
        let api = self.api(PRESS_PATIENCE)?;
        let call = || api.acknowledge(id, token, text.as_deref());
        match self.presses.answer(role, call) {
            Some(Err(Failure::Stopped)) => Err(End::Stopped),
            // It was acknowledged before the connection was lost, it is too late, or such people have had enough.
            None | Some(Ok(()) | Err(Failure::MessageGone)) => Ok(()),
            Some(Err(failure)) => {
                tracing::debug!("failed to acknowledge an interaction: {failure}");
                Ok(())
            }
        }
    }
}

/// The gateway's address with the API version and the encoding.
fn with_version(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let has_path = url
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('/'));
    let slash = if has_path { "" } else { "/" };
    format!("{url}{slash}?v=10&encoding=json")
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
    fn the_address_has_the_api_version() {
        for (url, expected) in [
            (
                "wss://gateway.discord.gg",
                "wss://gateway.discord.gg/?v=10&encoding=json",
            ),
            (
                "wss://gateway.discord.gg/",
                "wss://gateway.discord.gg/?v=10&encoding=json",
            ),
            (
                "ws://127.0.0.1:9/resume",
                "ws://127.0.0.1:9/resume?v=10&encoding=json",
            ),
        ] {
            assert_eq!(with_version(url), expected);
        }
    }
}
