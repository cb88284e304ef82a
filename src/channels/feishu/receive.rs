//! Receives events over Feishu's long connection and passes them on to the intake.
//!
//! An event is acknowledged when the intake has it on the disk. What was not acknowledged, or came while there was
//! no connection, Feishu sends again after 15 seconds, 5 minutes, an hour and six hours; so nothing has to be fetched
//! after an outage. When Feishu asks clients to wait before they connect again, that is not done: a minute without
//! events is worse than a connection more.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::Api;
use super::connection::Feishu;
use super::event::{Meaning, Reader, Written};
use super::frame::Frame;
use super::session::{Action, Session, acknowledge};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::limits::channels::feishu::NAMES;
use crate::base::limits::channels::{CALL_TIME, IDLE, INBOX_BACKOFF, LONGEST_BACKOFF, PATIENCE};
use crate::base::message::{Address, Sender};
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::{Backoff, doubled, with_jitter};
use crate::net::http::Settings;
use crate::net::http::websocket::{Received, Websocket};
use crate::sys::memory;

/// A connection that was shorter counts as a failure: the next one waits longer.
const STEADY: Duration = Duration::from_secs(60);
/// How long a question about a message may take before the message is accepted without its answer: two of
/// them fit into the three seconds in which Feishu expects an acknowledgement.
const LOOKUP_PATIENCE: Duration = Duration::from_millis(1200);

/// Closes a connection.
const CLOSE: u16 = 1000;

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub feishu: &'a Feishu,
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
    /// The bot's id, once it is known.
    me: String,
    watch: Stopwatch,
    /// When the present connection began to work, on `watch`.
    working_since: Option<Duration>,
    /// Connections in a row that worked only for a short time.
    short_lived: u32,
    /// Failures of Feishu, and of the inbox.
    backoff: Backoff,
    full: Backoff,
    /// The names of people, by their ids, the newest at the end; empty where the app may not know.
    names: VecDeque<(String, String)>,
}

/// Why a connection is over.
enum End {
    /// It failed.
    Failed(String),
    /// Reconnecting is useless until the configuration is changed.
    Fatal(String),
    /// Feishu asks to wait.
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
            Failure::Down(said) if said == super::api::BAD_CREDENTIALS => Self::Fatal(said),
            failure => Self::Failed(failure.to_string()),
        }
    }
}

impl<'a> Receiver<'a> {
    fn new(parts: ReceiverParts<'a>) -> Self {
        let health = parts.intake.health();
        let clock = &parts.feishu.parts.clock;
        let backoff = |task, name| Backoff::new(task, name, clock.clone(), health.clone());
        Self {
            me: String::new(),
            watch: Stopwatch::start(),
            working_since: None,
            short_lived: 0,
            backoff: backoff(Task::Receive, "receive from Feishu"),
            full: backoff(Task::Accept, "accept messages from Feishu"),
            names: VecDeque::new(),
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
                Ok((socket, session)) => self.serve(socket, session),
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
            End::Failed(why) if worked.is_some() => {
                tracing::info!("lost the connection to Feishu, reconnecting: {why}");
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

    fn connect(&mut self) -> Result<(Websocket, Session), End> {
        let api = self.api(PATIENCE)?;
        if self.me.is_empty() {
            // Without this no mention would be recognised.
            (self.me, _) = api.get_me()?;
        }
        let endpoint = api.get_endpoint()?;
        drop(api);
        let making = &self.parts.feishu.parts;
        let settings = Settings {
            proxy: making.bot.proxy.clone(),
            ..Settings::new(PATIENCE, IDLE)
        };
        let url = endpoint.url.expose();
        let socket = Websocket::connect(&making.tls, settings, url, &[], &self.parts.cancel)?;
        let mut session = Session::new(endpoint.service, self.now());
        session.configure(&endpoint.settings);
        Ok((socket, session))
    }

    fn api(&self, patience: Duration) -> Result<Api, End> {
        Ok(self.parts.feishu.api(patience, &self.parts.cancel)?)
    }

    /// Serves a connection to its end.
    fn serve(&mut self, mut socket: Websocket, mut session: Session) -> End {
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
            Received::Binary(frame) => {
                let action = session.receive(&frame, self.now());
                drop(frame);
                self.perform(action, socket)?;
            }
            Received::Closed { code, reason } => {
                return Err(End::Failed(match reason.as_str() {
                    "" => format!("Feishu closed the connection ({code})"),
                    reason => format!("Feishu closed the connection ({code}: {reason})"),
                }));
            }
            Received::Idle | Received::Text(_) | Received::Ping(_) | Received::Pong(_) => {}
        }
        let action = session.tick(self.now(), is_idle);
        self.perform(action, socket)
    }

    fn perform(&mut self, action: Option<Action>, socket: &mut Websocket) -> Result<(), End> {
        match action {
            None => {}
            Some(Action::Send(frame)) => socket.send_binary(&frame)?,
            Some(Action::Works) => self.works(),
            Some(Action::Reconnect(why)) => return Err(End::Failed(why.to_owned())),
            Some(Action::Ignore(frame)) => {
                tracing::warn!("ignored an event that is too large");
                socket.send_binary(&acknowledge(frame, Duration::ZERO, None))?;
            }
            Some(Action::Event { frame, payload }) => {
                self.works();
                self.event(frame, &payload, socket)?;
            }
        }
        Ok(())
    }

    /// The connection works.
    fn works(&mut self) {
        self.working_since = self.working_since.or(Some(self.now()));
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
    }

    /// Takes an event, and acknowledges it.
    fn event(&mut self, frame: Frame, payload: &[u8], socket: &mut Websocket) -> Result<(), End> {
        let watch = Stopwatch::start();
        let intake = self.parts.intake.clone();
        let reader = Reader {
            me: &self.me,
            app: self.parts.feishu.parts.bot.text("appId"),
            policy: self.parts.feishu.parts.bot.group_policy,
            awaits: &|chat, person| intake.is_awaited(chat, person),
        };
        let reply = match reader.read(payload) {
            Meaning::Nothing => None,
            Meaning::Message(written) => {
                if let Some(incoming) = self.complete(*written)? {
                    self.take(incoming)?;
                }
                None
            }
            Meaning::Press(incoming) => {
                let reply = self.notice(&incoming);
                self.take(*incoming)?;
                Some(reply)
            }
        };
        let answer = acknowledge(frame, watch.elapsed(), reply.as_ref());
        socket.send_binary(&answer)?;
        Ok(())
    }

    /// Looks up what a message replies to, and who wrote it. What cannot be found out in time is left out.
    fn complete(&mut self, mut written: Written) -> Result<Option<Incoming>, End> {
        let envelope = &written.envelope;
        let sender = envelope.sender().cloned().unwrap_or_default();
        let place = envelope.address();
        let group = envelope.is_group.then_some(&place);
        let is_known = self.parts.intake.role(&sender, "", group).is_some();
        if !is_known && (envelope.is_group || !envelope.replies_to.is_empty()) {
            // Strangers cause no calls, except for the name in a request for pairing.
            return Ok(written.finish(None));
        }
        let name = self.names.iter().find(|(id, _)| *id == sender.id);
        let name = name.map(|(_, name)| name.clone());
        let mut answered = None;
        if name.is_none() || !envelope.replies_to.is_empty() {
            let api = self.api(LOOKUP_PATIENCE)?;
            if !envelope.replies_to.is_empty() {
                answered = found(api.get_answered(&envelope.replies_to))?;
            }
            if name.is_none() {
                self.learn_name(&api, &sender)?;
            }
        }
        if let Some((_, name)) = self.names.iter().find(|(id, _)| *id == sender.id) {
            let name = name.clone();
            written.set_name(&name);
        }
        Ok(written.finish(answered.as_ref()))
    }

    /// Asks once how a person is called. The app needs a permission for that, which it may not have.
    fn learn_name(&mut self, api: &Api, sender: &Sender) -> Result<(), End> {
        let name = match api.get_name(&sender.id) {
            Err(Failure::Stopped) => return Err(End::Stopped),
            Err(Failure::Refused(_) | Failure::Gone { .. } | Failure::MessageGone) => String::new(),
            // It may be known later.
            Err(_) => return Ok(()),
            Ok(name) => name,
        };
        if self.names.len() >= NAMES {
            self.names.pop_front();
        }
        self.names.push_back((sender.id.clone(), name));
        Ok(())
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

    /// What a person is shown who presses a button: nothing, or why it does not count.
    fn notice(&self, incoming: &Incoming) -> Value {
        let Incoming::Pressed {
            sender,
            username,
            data,
            address,
            is_group,
            ..
        } = incoming
        else {
            return json!({});
        };
        let group: Option<&Address> = is_group.then_some(address);
        let intake = &self.parts.intake;
        match intake.press_notice(sender, username, group, data) {
            Some(notice) => json!({"toast": {"type": "warning", "content": notice}}),
            None => json!({}),
        }
    }
}

/// What was found; a failure means that nothing was.
fn found<T>(outcome: Result<T, Failure>) -> Result<Option<T>, End> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Failure::Stopped) => Err(End::Stopped),
        Err(failure) => {
            tracing::debug!("failed to look up a message: {failure}");
            Ok(None)
        }
    }
}
