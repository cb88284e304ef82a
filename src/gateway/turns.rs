//! Turns: when they begin, what each is made of, and what becomes of one that fails.

use std::sync::Arc;

use super::lanes::Start;
use super::listener::ChatListener;
use super::{Gateway, Working, spawn, typed};
use crate::agent::Outcome;
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::error::Result;
use crate::limits::gateway::STOP_GRACE;
use crate::message::{Address, Envelope, OutgoingMessage};
use crate::session::{Session, store};

impl Gateway {
    /// Starts as many turns as may run.
    pub(super) fn start_turns(self: &Arc<Self>) {
        while !self.is_stopping() {
            let Some((start, working)) = self.next_turn() else {
                return;
            };
            let (gateway, chat) = (Arc::clone(self), start.chat.clone());
            let id = start.message.as_ref().map(|message| message.id.clone());
            let started = spawn("turn", move || gateway.turn(start, working));
            if let Err(error) = started {
                self.say(
                    &chat,
                    &format!("The turn cannot begin: {error}. Say it again later."),
                );
                id.iter().for_each(|id| self.inbox().taken(id));
                self.lanes().ended(&chat);
            }
        }
    }

    /// Whoever stops a chat's work finds a message among those that wait or its turn at work, whenever
    /// it looks.
    fn next_turn(self: &Arc<Self>) -> Option<(Start, Working)> {
        let mut lanes = self.lanes();
        let start = lanes.next()?;
        let working = self.begin(&start.chat, false);
        Some((start, working))
    }

    /// Runs a turn to its end, and starts the next ones.
    fn turn(self: &Arc<Self>, start: Start, working: Working) {
        let Start { chat, message } = start;
        let mut is_told = false;
        while let Err(error) = self.try_turn(&chat, message.as_ref(), &working.cancel) {
            let is_owed = self
                .owe(OutgoingMessage::text(&chat, typed::sentence(&error)), None)
                .is_ok();
            if !std::mem::replace(&mut is_told, true) {
                tracing::error!(%chat, "the turn failed: {error}");
            }
            // Where not even that can be kept the disk is full: it is tried again when it has room, and
            // often enough for the end of the gateway not to wait for it.
            if is_owed || working.cancel.wait(STOP_GRACE / 2) {
                message
                    .iter()
                    .for_each(|message| self.inbox().taken(&message.id));
                break;
            }
            if self.is_stopping() {
                break;
            }
        }
        // The next turn of this chat must not find this one's draft.
        drop(working);
        self.lanes().ended(&chat);
        self.start_turns();
    }

    fn try_turn(
        self: &Arc<Self>,
        chat: &Address,
        message: Option<&Envelope>,
        cancel: &Cancel,
    ) -> Result<()> {
        let mut session = self.open(chat)?;
        if !session.is_unfinished() && message.is_none_or(|message| session.holds(&message.id)) {
            // A power cut has taken the note that the session has the message.
            message
                .iter()
                .for_each(|message| self.inbox().taken(&message.id));
            return Ok(());
        }
        let mut listener = ChatListener::new(self, chat, message);
        let watch = Stopwatch::start();
        let report = self
            .parts
            .agent
            .run(&mut session, message, &mut listener, cancel);
        let unread = listener.unread();
        self.lanes().put_back(chat, unread);
        drop(listener);
        self.release(chat);
        let report = report?;
        let outcome = match report.outcome {
            Outcome::Answered => "answered",
            Outcome::Bounded(_) => "ended at a bound",
            Outcome::Stopped => "stopped",
            Outcome::Failed(_) => "failed",
        };
        let (seconds, steps) = (watch.elapsed().as_secs(), report.steps);
        tracing::info!(%chat, steps, seconds, "turn {outcome}");
        Ok(())
    }

    /// Whether somebody who may has spoken in a chat: only there the model may send something.
    pub(super) fn knows(&self, chat: &Address) -> bool {
        store::path_of(&self.parts.sessions, &chat.session()).exists()
    }

    /// Opens a chat's session, and tells what had to be repaired.
    pub(super) fn open(&self, chat: &Address) -> Result<Session> {
        let session = Session::open(
            &self.parts.sessions,
            &chat.session(),
            self.parts.journals.clone(),
        )?;
        for repair in session.repairs() {
            tracing::warn!(%chat, "{repair}");
            self.say(chat, &format!("A note: {repair}."));
        }
        Ok(session)
    }
}
