//! Floor 8: the gateway. Messages come in from channels, become turns, and what they come to is owed
//! to people until it has arrived.
//!
//! tokio's current_thread runtime has the signals, the timers, the queue from the channels and the
//! control socket; a turn or a typed command is blocking code on a thread of its own.

pub mod control;
mod desk;
mod lanes;
mod listener;
mod notify;
mod recover;
mod run;
mod screen;
mod turns;
pub mod typed;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::agent::Agent;
use crate::agent::commands;
use crate::approval::{Answer, Question};
use crate::board::Board;
use crate::bus::OutboundSender;
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::config::schema::Channels;
use crate::error::{Error, Result};
use crate::inbox::Inbox;
use crate::limits::agent::TURN_STACK_BYTES;
use crate::limits::cancel::POLL;
use crate::limits::gateway::{COMMANDS_AT_ONCE, WAITING};
use crate::message::{Address, Envelope, Inbound, Outbound, OutgoingMessage};
use crate::outbox::Outbox;
use crate::session::Settings;
use crate::state::{LastChat, Pairing};

use desk::Desk;
use lanes::{Lanes, Pushed};
pub use run::{Ending, run};
use screen::Shows;

/// What a gateway is made of.
pub struct Parts {
    /// Who answers.
    pub agent: Agent,
    /// Where the journals are.
    pub sessions: PathBuf,
    /// How they are opened.
    pub journals: Settings,
    /// What was accepted.
    pub inbox: Arc<Inbox>,
    /// What is owed.
    pub outbox: Arc<Outbox>,
    /// Who may speak.
    pub pairing: Arc<Pairing>,
    /// Where somebody spoke last.
    pub recent: LastChat,
    /// The machine.
    pub board: Arc<Board>,
    /// What people see of turns.
    pub channels: Channels,
    /// Most turns at a time.
    pub most_turns: usize,
}

/// What the main loop is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Stop,
    Restart,
}

/// The running gateway, shared by its threads.
pub struct Gateway {
    parts: Parts,
    lanes: Mutex<Lanes>,
    desk: Desk,
    /// What can be stopped: each turn and command with its chat and its token.
    work: Mutex<BTreeMap<u64, Work>>,
    next_work: AtomicU64,
    rests: Condvar,
    /// Whether somebody was told that too many typed commands run.
    is_busy_told: AtomicBool,
    /// Whether no new turn begins.
    is_stopping: AtomicBool,
    outbound: BTreeMap<&'static str, OutboundSender>,
    orders: mpsc::Sender<Order>,
    /// Where something is done later.
    timers: Handle,
    since: Stopwatch,
}

struct Work {
    chat: Address,
    cancel: Cancel,
    is_command: bool,
}

/// Work that is going on until this is dropped.
struct Working {
    gateway: Arc<Gateway>,
    number: u64,
    chat: Address,
    cancel: Cancel,
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut work = self.gateway.work();
        work.remove(&self.number);
        let is_resting = !work.values().any(|other| other.chat == self.chat);
        drop(work);
        if is_resting {
            self.gateway.show(Outbound::Resting(self.chat.clone()));
        }
        self.gateway.rests.notify_all();
    }
}

impl Gateway {
    fn new(
        parts: Parts,
        outbound: BTreeMap<&'static str, OutboundSender>,
        orders: mpsc::Sender<Order>,
        timers: Handle,
    ) -> Arc<Self> {
        Arc::new(Self {
            lanes: Mutex::new(Lanes::new(parts.most_turns)),
            desk: Desk::default(),
            work: Mutex::default(),
            next_work: AtomicU64::new(0),
            rests: Condvar::new(),
            is_busy_told: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            since: Stopwatch::start(),
            outbound,
            orders,
            timers,
            parts,
        })
    }

    fn inbox(&self) -> &Inbox {
        &self.parts.inbox
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    fn shows(&self) -> Shows {
        Shows::new(&self.parts.channels)
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> MutexGuard<'_, BTreeMap<u64, Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the chat's channel what to show; false when its queue is full, or there is no such
    /// channel.
    fn show(&self, outbound: Outbound) -> bool {
        let channel = match &outbound {
            Outbound::Owed => None,
            Outbound::Working(chat) | Outbound::Resting(chat) => Some(chat),
            Outbound::Taken { chat, .. }
            | Outbound::Draft { chat, .. }
            | Outbound::Asked { chat, .. }
            | Outbound::Settled { chat, .. } => Some(chat),
        };
        let sender = channel.and_then(|chat| self.outbound.get(chat.channel.as_str()));
        sender.is_some_and(|sender| sender.send(outbound))
    }

    /// Owes something to a chat: it is on disk when this returns. No secret goes along.
    fn owe(&self, parcel: OutgoingMessage, turn: Option<u64>) -> Result<()> {
        let channel = parcel.to.channel.as_str();
        let Some(sender) = self.outbound.get(channel) else {
            let known: Vec<&str> = self.outbound.keys().copied().collect();
            return Err(Error::Failed(format!(
                "there is no channel {channel:?} here; there are {}",
                known.join(", ")
            )));
        };
        let text = self
            .parts
            .agent
            .toolbox()
            .cleaned(&parcel.text)
            .into_owned();
        self.parts
            .outbox
            .add(&OutgoingMessage { text, ..parcel }, turn)?;
        // A worker whose queue is full looks into the outbox anyway once it has emptied it.
        sender.send(Outbound::Owed);
        Ok(())
    }

    /// Lets the words go that close a turn: its journal says by now that it has ended.
    fn release(&self, chat: &Address) {
        self.parts.outbox.release(chat);
        if let Some(sender) = self.outbound.get(chat.channel.as_str()) {
            sender.send(Outbound::Owed);
        }
    }

    /// Says something to a chat, as surely as it can be said.
    fn say(&self, chat: &Address, text: &str) {
        if let Err(error) = self.owe(OutgoingMessage::text(chat, text), None) {
            tracing::error!(%chat, "this cannot be owed and is only shown: {error}");
            self.show(Outbound::Draft {
                chat: chat.clone(),
                text: text.to_owned(),
                reply_to: String::new(),
            });
        }
    }

    /// Asks a person in a chat, and waits for the answer.
    fn ask(&self, chat: &Address, question: &Question, cancel: &Cancel) -> Answer {
        let number = self.desk.open(chat);
        let asked = || Outbound::Asked {
            chat: chat.clone(),
            number,
            question: Box::new(question.clone()),
        };
        while !self.show(asked()) {
            if cancel.wait(POLL) {
                break;
            }
        }
        let answer = self.desk.wait(number, cancel);
        self.show(Outbound::Settled {
            chat: chat.clone(),
            number,
            outcome: answer.to_string(),
        });
        answer
    }

    /// Begins work in a chat that can be stopped.
    fn begin(self: &Arc<Self>, chat: &Address, is_command: bool) -> Working {
        let number = self.next_work.fetch_add(1, Ordering::Relaxed);
        let cancel = Cancel::new();
        let work = Work {
            chat: chat.clone(),
            cancel: cancel.clone(),
            is_command,
        };
        self.work().insert(number, work);
        self.show(Outbound::Working(chat.clone()));
        Working {
            gateway: Arc::clone(self),
            number,
            chat: chat.clone(),
            cancel,
        }
    }

    /// Takes what a channel brings. Quick: what takes time gets a thread.
    fn take(self: &Arc<Self>, inbound: Inbound) {
        match inbound {
            Inbound::Message(message) => self.message(message),
            Inbound::Edited {
                chat,
                reference,
                text,
            } => {
                self.lanes().edit(&chat, &reference, &text);
            }
            Inbound::Answered {
                chat,
                sender,
                question,
                answer,
            } => {
                let is_taken = self.desk.answer(&chat, Some(question), answer);
                tracing::info!(%chat, sender = %sender.id, is_taken, "{answer}");
                if !is_taken && !self.desk.knows(question) {
                    self.say(
                        &chat,
                        "That question is no longer open, so nothing was done. If it is still needed, ask me again.",
                    );
                }
            }
        }
    }

    fn message(self: &Arc<Self>, message: Envelope) {
        if self.is_stopping() {
            // It is in the inbox, and the next start finds it there.
            return;
        }
        if let Err(error) = self.parts.recent.note(&message.address()) {
            tracing::warn!("who was active last is not kept: {error}");
        }
        self.show(Outbound::Taken {
            chat: message.address(),
            reference: message.reference.clone(),
        });
        if commands::parse(&message.text).is_some() {
            return self.command(message);
        }
        let (id, chat) = (message.id.clone(), message.address());
        let pushed = self.lanes().push(message);
        if let Pushed::Full { first } = pushed {
            if first {
                self.say(&chat, &format!(
                    "{WAITING} messages wait here already. I do not take more until some are answered; \
                     please send what came after them again later. /stop ends what is running."
                ));
            }
            self.inbox().taken(&id);
        }
        self.start_turns();
    }

    /// Runs a typed command on a thread of its own, if not too many run; says that they do, once.
    fn spawn_command(self: &Arc<Self>, message: Envelope, run: fn(&Arc<Self>, &Envelope, &Cancel)) {
        let running = self.work().values().filter(|work| work.is_command).count();
        let (id, chat) = (message.id.clone(), message.address());
        let started = match running < COMMANDS_AT_ONCE {
            true => {
                let (gateway, working) = (Arc::clone(self), self.begin(&chat, true));
                let run = move || run(&gateway, &message, &working.cancel);
                spawn("command", run).map_err(|error| error.to_string())
            }
            false => Err(format!("{COMMANDS_AT_ONCE} commands run already")),
        };
        match started {
            Ok(()) => self.is_busy_told.store(false, Ordering::Relaxed),
            Err(why) => {
                if !self.is_busy_told.swap(true, Ordering::Relaxed) {
                    self.say(&chat, &format!("Not now: {why}. Try again later."));
                }
                self.inbox().taken(&id);
            }
        }
    }

    /// No new turn begins; those that run get so long to end. What is left then stays unfinished in
    /// its journal and goes on after the next start.
    fn wind_down(&self, grace: Duration) {
        self.is_stopping.store(true, Ordering::SeqCst);
        let watch = Stopwatch::start();
        let mut work = self.work();
        while !work.is_empty() && watch.elapsed() < grace {
            let left = grace.saturating_sub(watch.elapsed());
            let waited = self.rests.wait_timeout(work, left);
            work = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if !work.is_empty() {
            tracing::warn!("{} turns go on after the next start", work.len());
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(TURN_STACK_BYTES)
        .spawn(run)
        .map(drop)
}
