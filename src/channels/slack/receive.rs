//! Receives envelopes in socket mode and passes what they have on to the intake.
//!
//! An envelope is acknowledged when the intake has it on the disk; Slack sends an event that was not acknowledged
//! again. Before Slack ends a connection it says so: another one is opened first, and both are listened to for a
//! while. After an interruption, messages that were written meanwhile are fetched: see `missed`.

mod missed;
mod people;
mod session;
mod threads;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use self::missed::Question;
use self::session::{Frame, Kind, Life, Need};
use self::threads::Threads;
use super::NAME;
use super::api::{Access, Api};
use super::connection::{Slack, identify};
use super::event::{Known, Me, Scope, shown};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Error;
use crate::base::limits::channels::{
    CALL_TIME, FIRST_WAIT, IDLE, INBOX_BACKOFF, MISSED_TIME, MISSED_TURN, PATIENCE, PRESS_PATIENCE,
};
use crate::base::message::Address;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::channels::kit::health::Task;
use crate::channels::kit::presses::{Presses, role_of};
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::{Backoff, doubled, with_jitter};
use crate::channels::kit::stream::missed::Missed;
use crate::channels::kit::texts::no_access;
use crate::net::http::websocket::{Received, Websocket};
use crate::net::http::{Settings, Tls};
use crate::sys::memory;

/// A connection that was shorter counts as a failure: the next one waits longer.
const STEADY: Duration = Duration::from_secs(60);
/// How long a connection that was replaced is still listened to: presses are sent once, to any of both.
const OLD_TIME: Duration = Duration::from_secs(15);
/// While there are two connections, how long each is listened to at a time.
const TURN_TIME: Duration = Duration::from_millis(100);
/// Events that are received and wait while missed messages are fetched. The rest waits in the connection.
const WAITING_FRAMES: usize = 64;

/// Closes a connection.
const CLOSE: u16 = 1000;

const NOT_ALONE: &str = "Another program is connected to Slack with the same app token: each of them gets only some of the messages";

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub slack: &'a Slack,
    pub access: &'a Access,
    pub scope: &'a Scope,
    pub tls: &'a Tls,
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

pub(super) struct Receiver<'a> {
    pub(super) parts: ReceiverParts<'a>,
    pub(super) me: Me,
    watch: Stopwatch,
    /// When the present connection began to work, on `watch`.
    working_since: Option<Duration>,
    /// Connections in a row that worked only for a short time.
    short_lived: u32,
    /// Failures of Slack, and of the inbox.
    backoff: Backoff,
    full: Backoff,
    presses: Presses,
    /// What is to be fetched of the chats and threads that were active last.
    missed: Missed<Address, Question>,
    people: RefCell<VecDeque<(String, Known)>>,
    threads: Threads,
    is_shared_told: bool,
}

/// A connection. What was received while something else was done waits in it.
pub(super) struct Line {
    socket: Websocket,
    life: Life,
    waiting: VecDeque<String>,
}

/// Why a connection is over.
pub(super) enum End {
    /// Slack ended it as it had said.
    Planned,
    /// It failed.
    Failed(String),
    /// Slack asks to wait.
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

/// What a frame asks for, besides what has been done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Nothing,
    /// The connection works now.
    Hello,
    /// The connection is about to end.
    Leave,
}

impl<'a> Receiver<'a> {
    fn new(parts: ReceiverParts<'a>) -> Self {
        let health = parts.intake.health();
        let backoff = |task, name| Backoff::new(task, name, parts.clock.clone(), health.clone());
        Self {
            me: Me::default(),
            watch: Stopwatch::start(),
            working_since: None,
            short_lived: 0,
            backoff: backoff(Task::Receive, "receive from Slack"),
            full: backoff(Task::Accept, "accept messages from Slack"),
            presses: Presses::default(),
            missed: Missed::open(parts.state, (NAME, "Slack")),
            people: RefCell::default(),
            threads: Threads::read(parts.state),
            is_shared_told: false,
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
                Ok(line) => self.serve(line),
                Err(end) => end,
            };
            // What comes from now on until the next connection may be missed.
            self.interrupted();
            let wait = self.wait_after(end);
            self.parts.heartbeat.beat(wait + PATIENCE);
            cancel.wait(wait);
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.watch.elapsed()
    }

    fn interrupted(&mut self) {
        let newest = self.parts.intake.last_update().map(|(newest, _)| newest);
        self.missed.interrupted(newest);
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
            End::Failed(why) if worked.is_some() => {
                tracing::info!("lost the connection to Slack, reconnecting: {why}");
                self.short_lived = self.short_lived.saturating_add(1);
                with_jitter(doubled(self.short_lived - 1))
            }
            End::Failed(why) => self.backoff.failed(&why, None),
            End::Wait(wait) => {
                let why = format!("rate-limited for {} s", wait.as_secs());
                self.backoff.failed(&why, Some(wait))
            }
            End::Inbox(error) => self.full.failed(&error, None).min(INBOX_BACKOFF),
        }
    }

    /// Opens a connection, whose address can be used once.
    fn connect(&mut self) -> Result<Line, End> {
        let api = self.api(PATIENCE)?;
        if self.me.user.is_empty() {
            self.me = identify(&api)?;
            self.interrupted();
        }
        let url = api.open_connection()?;
        drop(api);
        let settings = Settings {
            proxy: self.parts.access.proxy.clone(),
            ..Settings::new(PATIENCE, IDLE)
        };
        let cancel = &self.parts.cancel;
        let socket = Websocket::connect(self.parts.tls, settings, url.expose(), &[], cancel)?;
        Ok(Line {
            socket,
            life: Life::begin(self.now()),
            waiting: VecDeque::new(),
        })
    }

    pub(super) fn api(&self, patience: Duration) -> Result<Api, End> {
        Ok(self.parts.slack.api(patience, &self.parts.cancel)?)
    }

    /// Serves a connection, and those that replace it, to the end.
    fn serve(&mut self, mut line: Line) -> End {
        let mut old: Option<(Line, Duration)> = None;
        let end = loop {
            if let Some((mut before, until)) = old.take() {
                let is_over = self.now() >= until || self.hear(&mut before, TURN_TIME).is_err();
                if is_over {
                    before.socket.close(CLOSE, "")
                } else {
                    old = Some((before, until))
                }
            }
            let mut idle = match &old {
                Some(_) => TURN_TIME,
                None => line.life.idle(self.now()),
            };
            if let Some(wait) = self.missed.wait(self.now())
                && line.life.is_ready()
            {
                idle = idle.min(wait);
            }
            let heard = match self.hear(&mut line, idle) {
                Ok(heard) => heard,
                Err(end) => break end,
            };
            let done = match heard {
                // Before the hello, the first ones are still to be fetched.
                Heard::Nothing if line.life.is_ready() => self.fetch_missed(&mut line, MISSED_TURN),
                Heard::Nothing => Ok(()),
                Heard::Hello => self.works(&mut line),
                Heard::Leave => self.replace(&mut line).map(|before| {
                    let until = self.now() + OLD_TIME;
                    old = before.map(|before| (before, until));
                }),
            };
            if let Err(end) = done {
                break end;
            }
        };
        if let Some((before, _)) = old {
            before.socket.close(CLOSE, "");
        }
        line.socket.close(CLOSE, "");
        end
    }

    /// Opens another connection in place of one that is about to end; returns that one. When there is no other
    /// yet, it is served to its end.
    fn replace(&mut self, line: &mut Line) -> Result<Option<Line>, End> {
        let mut new = match self.connect() {
            Ok(new) => new,
            Err(End::Stopped) => return Err(End::Stopped),
            Err(_) => {
                tracing::debug!("failed to open another connection to Slack before this one ends");
                return Ok(None);
            }
        };
        while !new.life.is_ready() {
            let idle = new.life.idle(self.now());
            match self.hear(&mut new, idle) {
                Ok(_) => {}
                Err(End::Failed(why)) => {
                    tracing::debug!("a new connection to Slack failed: {why}");
                    return Ok(None);
                }
                Err(end) => return Err(end),
            }
        }
        tracing::debug!("replaced the connection to Slack, which is about to end");
        Ok(Some(std::mem::replace(line, new)))
    }

    /// Waits for something on a connection, and does what it asks for.
    fn hear(&mut self, line: &mut Line, idle: Duration) -> Result<Heard, End> {
        self.parts.heartbeat.beat(idle + 2 * PATIENCE);
        let frame = match line.waiting.pop_front() {
            Some(frame) => frame,
            None => {
                // Most of the time is spent in here.
                memory::give_back_stack();
                match self.receive(line, idle)? {
                    Some(frame) => frame,
                    None => return Ok(Heard::Nothing),
                }
            }
        };
        match session::read(&frame) {
            Frame::Hello { connections } => {
                line.life.ready();
                self.note_connections(connections);
                Ok(Heard::Hello)
            }
            Frame::Disconnect { reason } => match reason.as_str() {
                "link_disabled" => Err(End::Failed(
                    "socket mode was turned off for the app".to_owned(),
                )),
                _ => Ok(Heard::Leave),
            },
            Frame::Envelope { id, kind, payload } => {
                self.envelope(line, (&id, kind), &payload)?;
                Ok(Heard::Nothing)
            }
            Frame::Unknown => Ok(Heard::Nothing),
        }
    }

    /// Waits for a frame.
    fn receive(&self, line: &mut Line, idle: Duration) -> Result<Option<String>, End> {
        let received = line.socket.receive(idle)?;
        let now = self.now();
        match received {
            Received::Idle => match line.life.need(now) {
                Need::Nothing => Ok(None),
                Need::Ping => {
                    line.socket.ping(b"peacrab")?;
                    Ok(None)
                }
                Need::End(why) => Err(End::Failed(why.to_owned())),
            },
            Received::Closed { code, reason } if line.life.is_ready() => {
                tracing::debug!(code, reason, "Slack closed the connection");
                Err(End::Planned)
            }
            Received::Closed { code, reason } => Err(End::Failed(format!(
                "Slack closed the connection ({code} {reason})"
            ))),
            received => {
                line.life.heard(now);
                Ok(match received {
                    Received::Text(frame) => Some(frame),
                    _ => None,
                })
            }
        }
    }

    /// Keeps a connection alive while something else is done. What comes waits.
    pub(super) fn keep(&self, line: &mut Line) -> Result<(), End> {
        while line.waiting.len() < WAITING_FRAMES {
            match self.receive(line, Duration::ZERO)? {
                Some(frame) => line.waiting.push_back(frame),
                None => break,
            }
        }
        Ok(())
    }

    fn note_connections(&mut self, connections: u64) {
        // While a connection is replaced, two are ours.
        let ours = if self.working_since.is_some() { 2 } else { 1 };
        if connections > ours && !self.is_shared_told {
            self.is_shared_told = true;
            tracing::warn!("{NOT_ALONE}");
        }
    }

    /// The connection works.
    fn works(&mut self, line: &mut Line) -> Result<(), End> {
        self.working_since = Some(self.now());
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
        self.fetch_missed(line, MISSED_TIME)
    }

    /// Passes what is in an envelope on, and acknowledges it.
    fn envelope(
        &mut self,
        line: &mut Line,
        (id, kind): (&str, Kind),
        payload: &str,
    ) -> Result<(), End> {
        let read = self.read(|reader| match kind {
            Kind::Event => reader.event(payload),
            Kind::Press => reader.press(payload),
            Kind::Command => reader.command(payload),
            Kind::Other => None,
        });
        let Some(incoming) = read else {
            // It is not acknowledged, so that Slack sends it again.
            return Ok(());
        };
        let answer = incoming
            .as_ref()
            .and_then(|incoming| self.answer(kind, incoming));
        let whisper = match (kind, &incoming) {
            (Kind::Press, Some(incoming)) => self.notice(incoming),
            _ => None,
        };
        let intake = &self.parts.intake;
        let role = incoming.as_ref().and_then(|press| role_of(press, intake));
        if let Some(incoming) = incoming {
            self.take(vec![incoming])?;
        }
        let acknowledgement = session::acknowledgement(id, answer.as_deref());
        line.socket.send_text(&acknowledgement)?;
        if let Some((place, person, text)) = whisper {
            let api = self.api(PRESS_PATIENCE)?;
            let thread = place.thread.as_deref();
            let call = || api.whisper(&place.chat, thread, &person, text);
            match self.presses.answer(role, call) {
                Some(Err(Failure::Stopped)) => return Err(End::Stopped),
                Some(Err(failure)) => tracing::debug!("failed to answer a press: {failure}"),
                None | Some(Ok(())) => {}
            }
        }
        Ok(())
    }

    /// What a person is shown at once who has used a command.
    fn answer(&self, kind: Kind, incoming: &Incoming) -> Option<String> {
        let Incoming::Message { envelope, username } = incoming else {
            return None;
        };
        if kind != Kind::Command {
            return None;
        }
        let sender = envelope.sender().cloned().unwrap_or_default();
        // An unknown sender who writes in private is given a pairing code.
        let may = !envelope.is_group || self.parts.intake.has_access(&sender, username);
        Some(if may {
            shown(&envelope.text)
        } else {
            no_access(sender.language).to_owned()
        })
    }

    /// What a person is told, and where, whose press does not count.
    fn notice(&self, incoming: &Incoming) -> Option<(Address, String, &'static str)> {
        let Incoming::Pressed {
            sender,
            username,
            data,
            address,
            is_group,
            ..
        } = incoming
        else {
            return None;
        };
        let group = is_group.then_some(address);
        let notice = self
            .parts
            .intake
            .press_notice(sender, username, group, data)?;
        Some((address.clone(), sender.id.clone(), notice))
    }

    /// Passes messages to the intake, which stores them.
    pub(super) fn take(&mut self, batch: Vec<Incoming>) -> Result<(), End> {
        for incoming in &batch {
            if let Incoming::Message { envelope, username } = incoming {
                let address = envelope.address();
                let sender = envelope.sender().cloned().unwrap_or_default();
                if envelope.is_group
                    && address.thread.is_some()
                    && self.parts.intake.has_access(&sender, username)
                {
                    self.threads.add(&address);
                }
                self.missed.note_chat(address);
            }
        }
        self.missed.save().map_err(End::Inbox)?;
        let taken = self.parts.intake.take(batch, &self.parts.heartbeat);
        taken.map_err(End::Inbox)?;
        self.full.succeeded();
        Ok(())
    }

    /// The outcome of a call as the end of a connection, for those that end it.
    pub(super) fn stopped<T>(outcome: Sent<T>) -> Result<Sent<T>, End> {
        match outcome {
            Err(Failure::Stopped) => Err(End::Stopped),
            outcome => Ok(outcome),
        }
    }
}
