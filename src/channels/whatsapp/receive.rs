//! Receives what the bridge hears, and passes it on to the intake.
//!
//! The bridge knows no acknowledgement: it sends a message once, to those who are connected. While the inbox cannot
//! store messages they are kept here, and the bridge is not read.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::Reader;
use super::frame::Frame;
use super::socket::{Came, Socket};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Error;
use crate::base::limits::channels::whatsapp::ANSWER_TIME;
use crate::base::limits::channels::{CALL_TIME, INBOX_BACKOFF, PATIENCE};
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::{Backoff, doubled, with_jitter};
use crate::channels::kit::stream::history::History;
use crate::config::schema::Bot;
use crate::net::http::Tls;
use crate::store::state::{Damaged, Policy, StateFile};
use crate::sys::memory;

/// The longest silence of the bridge before it is asked whether it still answers.
const LOOK: Duration = Duration::from_secs(60);
/// A connection to the bridge that was shorter counts as a failure: the next one waits longer.
const STEADY: Duration = Duration::from_secs(60);
/// Bytes of the file with the time of the newest message.
const STATE_BYTES: usize = 4096;

/// The file with the time of the newest message.
const FILE: &str = "whatsapp.json";

const NOT_LINKED: &str = "the WhatsApp bridge is not linked to an account: run `peacrab channels login whatsapp` and scan the \
                          code with your phone";

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub bot: &'a Bot,
    pub tls: &'a Tls,
    pub clock: &'a Clock,
    pub state: &'a Path,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
}

/// What is on the disk.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Saved {
    /// When the newest message was written, in seconds since 1970.
    newest: Option<i64>,
}

/// Why a connection is over.
enum End {
    /// It failed, or the bridge closed it.
    Failed(Failure),
    Stopped,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::Stopped,
            failure => Self::Failed(failure),
        }
    }
}

struct Receiver<'a> {
    parts: ReceiverParts<'a>,
    names: Vec<String>,
    takes_files: bool,
    file: StateFile<Saved>,
    history: History,
    watch: Stopwatch,
    /// When the present connection began to work, on `watch`.
    working_since: Option<Duration>,
    /// Connections in a row that worked only for a short time.
    short_lived: u32,
    /// Failures of the bridge, and of the inbox.
    backoff: Backoff,
    full: Backoff,
}

/// Receives until the token is raised.
pub(super) fn run(parts: ReceiverParts<'_>) {
    let policy = Policy {
        bytes_max: STATE_BYTES,
        damaged: Damaged::StartFresh,
        synced: true,
    };
    let file: StateFile<Saved> = StateFile::new(parts.state.join(FILE), policy);
    let saved = file.read().unwrap_or_default();
    let health = parts.intake.health();
    let backoff = |task, name| Backoff::new(task, name, parts.clock.clone(), health.clone());
    Receiver {
        names: parts.bot.texts("mentionNames"),
        takes_files: !parts.bot.text("mediaDir").is_empty(),
        history: History::new(saved.newest),
        file,
        watch: Stopwatch::start(),
        working_since: None,
        short_lived: 0,
        backoff: backoff(Task::Receive, "receive from the WhatsApp bridge"),
        full: backoff(Task::Accept, "accept messages from WhatsApp"),
        parts,
    }
    .run();
}

impl Receiver<'_> {
    fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        while !cancel.is_cancelled() {
            self.parts.heartbeat.beat(CALL_TIME);
            memory::give_back_stack();
            self.working_since = None;
            self.history.interrupted();
            let wait = match self.serve() {
                End::Stopped => Duration::ZERO,
                End::Failed(failure) => self.wait_after(&failure),
            };
            self.parts.heartbeat.beat(wait + PATIENCE);
            cancel.wait(wait);
        }
    }

    /// How long to wait before the next connection.
    fn wait_after(&mut self, failure: &Failure) -> Duration {
        let worked = self.working_since.map(|since| self.watch.elapsed() - since);
        let Some(worked) = worked else {
            return self.backoff.failed(failure, None);
        };
        if worked >= STEADY {
            self.short_lived = 0;
        }
        tracing::info!("lost the connection to the WhatsApp bridge, reconnecting: {failure}");
        self.short_lived = self.short_lived.saturating_add(1);
        with_jitter(doubled(self.short_lived - 1))
    }

    /// Serves a connection to its end.
    fn serve(&mut self) -> End {
        let connected = Socket::connect(self.parts.bot, self.parts.tls, &self.parts.cancel);
        let mut socket = match connected {
            Ok(socket) => socket,
            Err(Error::Stopped) => return End::Stopped,
            Err(error) => return End::Failed(Failure::Down(error.to_string())),
        };
        let end = self.listen(&mut socket);
        socket.close();
        end
    }

    fn listen(&mut self, socket: &mut Socket) -> End {
        if let Err(failure) = socket.ask() {
            return failure.into();
        }
        let mut is_asked = true;
        loop {
            let time = if is_asked { ANSWER_TIME } else { LOOK };
            self.parts.heartbeat.beat(time + 2 * PATIENCE);
            // Most of the time is spent in here.
            memory::give_back_stack();
            let outcome = match socket.receive(time) {
                Ok(Came::Idle) if is_asked => Err(Failure::Down(
                    "the WhatsApp bridge does not answer".to_owned(),
                )),
                Ok(Came::Idle) => {
                    is_asked = true;
                    socket.ask()
                }
                Ok(Came::Frame(frame)) => {
                    is_asked &= !shows_access(&frame);
                    match self.frame(frame) {
                        Ok(()) => Ok(()),
                        Err(end) => return end,
                    }
                }
                Err(failure) => Err(failure),
            };
            if let Err(failure) = outcome {
                return failure.into();
            }
        }
    }

    fn frame(&mut self, frame: Frame) -> Result<(), End> {
        if shows_access(&frame) && self.working_since.is_none() {
            self.working_since = Some(self.watch.elapsed());
            if self.backoff.succeeded() {
                self.parts.intake.reachable();
            }
        }
        match frame {
            Frame::Message(message) => {
                if !self.history.is_new(message.time) {
                    tracing::debug!("ignored a message that WhatsApp has delivered before");
                    return Ok(());
                }
                let intake = self.parts.intake.clone();
                let reader = Reader {
                    policy: self.parts.bot.group_policy,
                    names: &self.names,
                    takes_files: self.takes_files,
                    awaits: &|chat, person| intake.is_awaited(chat, person),
                };
                let time = message.time;
                if let Some(incoming) = reader.read(&message) {
                    self.take(incoming)?;
                }
                self.note(time);
            }
            Frame::Status { is_connected: true } => {
                self.history.interrupted();
                tracing::info!("the WhatsApp bridge is connected to WhatsApp");
                self.parts.intake.reachable();
            }
            Frame::Status {
                is_connected: false,
            } => {
                self.history.interrupted();
                tracing::warn!("the WhatsApp bridge has lost its connection to WhatsApp");
            }
            Frame::Qr(_) => tracing::warn!("{NOT_LINKED}"),
            Frame::Error(said) => tracing::debug!("the WhatsApp bridge reports an error: {said}"),
            Frame::Sent(_) | Frame::Other => {}
        }
        Ok(())
    }

    /// Passes a message to the intake, and again until it is stored: the bridge would not send it again.
    fn take(&mut self, incoming: Incoming) -> Result<(), End> {
        loop {
            let batch = vec![incoming.clone()];
            let Err(error) = self.parts.intake.take(batch, &self.parts.heartbeat) else {
                self.full.succeeded();
                return Ok(());
            };
            let wait = self.full.failed(&error, None).min(INBOX_BACKOFF);
            self.parts.heartbeat.beat(wait + PATIENCE);
            if self.parts.cancel.wait(wait) {
                return Err(End::Stopped);
            }
        }
    }

    fn note(&mut self, time: Option<i64>) {
        let now = self.parts.clock.now_ms() / 1000;
        let Some(newest) = self.history.accepted(time, now) else {
            return;
        };
        let saved = self.file.update(|saved| {
            saved.newest = Some(newest);
            Ok(())
        });
        if let Err(error) = saved {
            tracing::warn!("failed to save the time of the newest WhatsApp message: {error}");
        }
    }
}

/// Whether a frame is one that only clients with the right token get.
fn shows_access(frame: &Frame) -> bool {
    !matches!(frame, Frame::Other)
}
