//! Receives messages over DingTalk's stream and passes them on to the intake.
//!
//! A message is acknowledged when the intake has it on the disk. What was not acknowledged DingTalk sends again about
//! a minute later, under the same id, to whatever connection there is then.

use std::time::Duration;

use super::connection::DingTalk;
use super::event;
use super::fault::BAD_CREDENTIALS;
use super::session::{Action, Session, acknowledge};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::limits::channels::{CALL_TIME, IDLE, INBOX_BACKOFF, LONGEST_BACKOFF, PATIENCE};
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::SharedSink;
use crate::channels::kit::stream::backoff::{Backoff, doubled, with_jitter};
use crate::net::http::Settings;
use crate::net::http::websocket::{Received, Websocket};
use crate::sys::memory;

/// A connection that was shorter counts as a failure: the next one waits longer.
const STEADY: Duration = Duration::from_secs(60);

/// Closes a connection.
const CLOSE: u16 = 1000;

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub dingtalk: &'a DingTalk,
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
    watch: Stopwatch,
    /// When the present connection was made, on `watch`.
    working_since: Option<Duration>,
    /// Connections in a row that worked only for a short time.
    short_lived: u32,
    /// Failures of DingTalk, and of the inbox.
    backoff: Backoff,
    full: Backoff,
}

/// Why a connection is over.
enum End {
    /// It failed.
    Failed(String),
    /// The server has said that it disconnects.
    Told,
    /// Reconnecting is useless until the configuration is changed.
    Fatal(String),
    /// DingTalk asks to wait.
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
            Failure::Down(said) if said == BAD_CREDENTIALS => Self::Fatal(said),
            failure => Self::Failed(failure.to_string()),
        }
    }
}

impl<'a> Receiver<'a> {
    fn new(parts: ReceiverParts<'a>) -> Self {
        let health = parts.intake.health();
        let clock = &parts.dingtalk.making.clock;
        let backoff = |task, name| Backoff::new(task, name, clock.clone(), health.clone());
        Self {
            watch: Stopwatch::start(),
            working_since: None,
            short_lived: 0,
            backoff: backoff(Task::Receive, "receive from DingTalk"),
            full: backoff(Task::Accept, "accept messages from DingTalk"),
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
            End::Told => {
                tracing::debug!("DingTalk disconnects, reconnecting");
                let before = self.short_lived;
                self.short_lived = before.saturating_add(1);
                match before {
                    // Messages that come meanwhile would be a minute late.
                    0 => Duration::ZERO,
                    before => with_jitter(doubled(before - 1)),
                }
            }
            End::Failed(why) if worked.is_some() => {
                tracing::info!("lost the connection to DingTalk, reconnecting: {why}");
                self.short_lived = self.short_lived.saturating_add(1);
                with_jitter(doubled(self.short_lived - 1))
            }
            End::Failed(why) => self.backoff.failed(&why, None),
            End::Wait(wait) => {
                let why = format!("rate-limited for {} s", wait.as_secs());
                self.backoff.failed(&why, Some(wait))
            }
            End::Fatal(why) => self.backoff.failed(&why, Some(LONGEST_BACKOFF)),
            End::Inbox(error) => self.full.failed(&error, None).min(INBOX_BACKOFF),
        }
    }

    /// Each connection takes a ticket of its own: one that was refused, or was used, is worthless.
    fn connect(&mut self) -> Result<Websocket, End> {
        let making = &self.parts.dingtalk.making;
        let api = self.parts.dingtalk.api(PATIENCE, &self.parts.cancel)?;
        let url = api.open_stream()?;
        drop(api);
        let settings = Settings {
            proxy: making.bot.proxy.clone(),
            ..Settings::new(PATIENCE, IDLE)
        };
        let url = url.expose();
        let socket = Websocket::connect(&making.tls, settings, url, &[], &self.parts.cancel)?;
        self.working_since = Some(self.now());
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
        Ok(socket)
    }

    /// Serves a connection to its end.
    fn serve(&mut self, mut socket: Websocket) -> End {
        let mut session = Session::new(self.now());
        loop {
            if let Err(end) = self.step(&mut socket, &mut session) {
                socket.close(CLOSE, "");
                return end;
            }
        }
    }

    /// Waits for a frame, or until something is due, and performs the action.
    fn step(&mut self, socket: &mut Websocket, session: &mut Session) -> Result<(), End> {
        let idle = session.idle(self.now());
        self.parts.heartbeat.beat(idle + 2 * PATIENCE);
        // Most of the time is spent in here.
        memory::give_back_stack();
        let received = socket.receive(idle)?;
        let is_idle = received == Received::Idle;
        match received {
            Received::Idle => {}
            Received::Text(text) => {
                let action = session.receive(&text, self.now());
                drop(text);
                self.perform(action, socket)?;
            }
            Received::Closed { code, reason } => {
                return Err(End::Failed(match reason.as_str() {
                    "" => format!("DingTalk closed the connection ({code})"),
                    reason => format!("DingTalk closed the connection ({code}: {reason})"),
                }));
            }
            Received::Binary(_) | Received::Ping(_) | Received::Pong(_) => {
                session.heard(self.now());
            }
        }
        let action = session.tick(self.now(), is_idle);
        self.perform(action, socket)
    }

    fn perform(&mut self, action: Option<Action>, socket: &mut Websocket) -> Result<(), End> {
        match action {
            None => {}
            Some(Action::Send(frame)) => socket.send_text(&frame)?,
            Some(Action::Ping) => socket.ping(&[])?,
            Some(Action::Disconnect) => return Err(End::Told),
            Some(Action::Reconnect(why)) => return Err(End::Failed(why.to_owned())),
            Some(Action::Message { id, data }) => {
                self.message(&id, &data)?;
                socket.send_text(&acknowledge(&id))?;
            }
        }
        Ok(())
    }

    /// Passes a message to the intake, which stores it.
    fn message(&mut self, id: &str, data: &str) -> Result<(), End> {
        let policy = self.parts.dingtalk.making.bot.group_policy;
        let Some(incoming) = event::read(data, id, policy) else {
            return Ok(());
        };
        let taken = self
            .parts
            .intake
            .take(vec![incoming], &self.parts.heartbeat);
        taken.map_err(End::Inbox)?;
        self.full.succeeded();
        Ok(())
    }
}
