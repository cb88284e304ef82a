//! Floor 8: the gateway. Messages from channels become turns and commands, and what these come to
//! is stored until it has been delivered.
//!
//! `scheduler` decides, `run` performs: one loop on tokio's current_thread runtime takes every event
//! from one queue. Turns and commands are blocking code on threads of their own. What these threads
//! share is [`Gateway`].

mod approvals;
mod commands;
pub mod control;
mod host;
mod notify;
mod progress;
mod recover;
mod run;
mod scheduler;
mod turns;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::agent::Agent;
use crate::approval::{Answer, Question};
use crate::board::Board;
use crate::bus::EventSender;
use crate::cancel::Cancel;
use crate::channels::delivery::{Delivery, render_outcome};
use crate::clock::Stopwatch;
use crate::config::schema::Channels;
use crate::error::{Error, Result};
use crate::files::Workspace;
use crate::inbox::Inbox;
use crate::limits::agent::TURN_STACK_BYTES;
use crate::message::{Address, OutgoingMessage, SessionKey};
use crate::outbox::{ClosesTurn, Outbox};
use crate::session::{Session, Settings, store};
use crate::state::{LastChat, Pairing};
use crate::sync::Mutex;

pub use crate::bus::Ending;
use approvals::Approvals;
pub use commands::menu;
use progress::DisplaySettings;
pub use run::{Channel, run};
use scheduler::Load;

/// What a gateway is made of.
pub struct Parts {
    /// Runs the turns.
    pub agent: Agent,
    /// The folder of the journals.
    pub sessions: PathBuf,
    /// How they are opened.
    pub journals: Settings,
    /// Accepted messages.
    pub inbox: Arc<Inbox>,
    /// Messages to be delivered.
    pub outbox: Arc<Outbox>,
    /// The people who were given access.
    pub pairing: Arc<Pairing>,
    /// The chat that was active last.
    pub recent: LastChat,
    /// The machine.
    pub board: Arc<Board>,
    /// Where files of messages come to and go from.
    pub workspace: Arc<Workspace>,
    /// Bytes of received files that are kept; `None` for no bound.
    pub files_max_bytes: Option<u64>,
    /// What people see of running turns.
    pub channels: Channels,
    /// Turns at a time.
    pub max_parallel_turns: usize,
}

/// What the loop and the threads of turns and commands share.
pub struct Gateway {
    parts: Parts,
    approvals: Approvals,
    /// By the channel's name.
    deliveries: BTreeMap<&'static str, Delivery>,
    events: EventSender,
    /// Runs what is to be done later.
    timers: Handle,
    /// How much runs and waits, as the scheduler said last.
    load: Mutex<Load>,
    is_stopping: AtomicBool,
    /// Whether somebody waits to close idle connections to the models.
    is_closing_idle: AtomicBool,
    since: Stopwatch,
}

impl Gateway {
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    fn display_settings(&self, to: &Address) -> DisplaySettings {
        DisplaySettings::new(&self.parts.channels, &to.channel)
    }

    /// The delivery of an address's channel.
    fn delivery(&self, to: &Address) -> Option<&Delivery> {
        self.deliveries.get(to.channel.as_str())
    }

    /// Stores a message for delivery: it is on the disk when this returns. Secrets are removed from it.
    /// Returns its number in the outbox.
    fn enqueue(&self, message: OutgoingMessage, closes: Option<ClosesTurn>) -> Result<u64> {
        let Some(delivery) = self.delivery(&message.to) else {
            let known: Vec<&str> = self.deliveries.keys().copied().collect();
            return Err(Error::Failed(format!(
                "No channel {:?} here. Channels: {}",
                message.to.channel,
                known.join(", ")
            )));
        };
        let toolbox = self.parts.agent.toolbox();
        let text = toolbox.cleaned(&message.text).into_owned();
        let message = OutgoingMessage { text, ..message };
        let id = self.parts.outbox.add(&message, closes)?;
        delivery.wake();
        Ok(id)
    }

    /// Delivers the answer that closed a session's turn: the journal has recorded the turn's end.
    fn release(&self, session: &SessionKey) {
        self.parts.outbox.release(session);
        self.deliveries.values().for_each(Delivery::wake);
    }

    /// Tells a chat something. When it cannot be stored, it is sent without being stored.
    fn tell(&self, to: &Address, text: &str) {
        if let Err(error) = self.enqueue(OutgoingMessage::text(to, text), None) {
            tracing::error!(chat = %to, "failed to store a message, sending it at once: {error}");
            if let Some(delivery) = self.delivery(to) {
                delivery.tell(to, text);
            }
        }
    }

    /// Asks a person for approval, and waits for the answer.
    fn ask(&self, to: &Address, question: &Question, cancel: &Cancel) -> Answer {
        let number = self.approvals.open(to);
        let is_asked = self
            .delivery(to)
            .is_some_and(|delivery| delivery.ask(to, number, question.clone()));
        if !is_asked {
            tracing::error!(chat = %to, "failed to ask for approval: too many questions are open");
            self.approvals.answer(to, Some(number), Answer::Nobody);
        }
        let answer = self.approvals.wait(number, cancel);
        if let Some(delivery) = self.delivery(to) {
            delivery.settle(number, render_outcome(answer));
        }
        answer
    }

    /// Whether somebody has used this chat: the model may send messages there only.
    fn knows(&self, to: &Address) -> bool {
        store::path_of(&self.parts.sessions, &to.session()).exists()
    }

    /// Opens a session, and tells the chat what had to be repaired.
    fn open(&self, session: &SessionKey, reply: &Address) -> Result<Session> {
        let opened = Session::open(&self.parts.sessions, session, self.parts.journals.clone())?;
        for repair in opened.repairs() {
            tracing::warn!(%session, "{repair}");
            self.tell(reply, &format!("Note: {repair}."));
        }
        Ok(opened)
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(TURN_STACK_BYTES)
        .spawn(run)
        .map(drop)
}

/// Waits on the runtime.
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}
