//! What becomes of messages after they were handed over: a chat that takes nothing any more, a group that has
//! got another address, a message that always fails.

use std::sync::{Arc, OnceLock, Weak};

use crate::base::message::{Address, CommandButton, OutgoingMessage};
use crate::board::watch;
use crate::channels::delivery::Observer;
use crate::channels::table::title;
use crate::gateway::commands::texts;
use crate::gateway::{Gateway, Parts};
use crate::schedule;
use crate::text::markup::inline_code;

/// Notes in jobs and watches what the deliveries learn, and tells the owner what they cannot send.
pub struct Deliveries {
    jobs: schedule::Store,
    watches: watch::Store,
    gateway: OnceLock<Weak<Gateway>>,
}

impl Deliveries {
    pub fn new(parts: &Parts) -> Arc<Self> {
        Arc::new(Self {
            jobs: parts.jobs.clone(),
            watches: parts.watches.store().clone(),
            gateway: OnceLock::new(),
        })
    }

    /// Once the gateway is there, before anything is delivered.
    pub fn attach(&self, gateway: &Arc<Gateway>) {
        let _ = self.gateway.set(Arc::downgrade(gateway));
    }
}

impl Observer for Deliveries {
    fn given_up(&self, message: &OutgoingMessage, why: &str, is_chat_gone: bool) {
        let Some(run) = &message.run else { return };
        let (job, planned_ms) = (&run.job, run.planned_ms);
        match self
            .jobs
            .note_undelivered(job, planned_ms, why, is_chat_gone)
        {
            Ok(true) => tracing::error!(
                job = %run.job, chat = %message.to,
                "disabled a job whose results cannot be delivered: {why}"
            ),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(job = %run.job, "failed to note what was not delivered: {error}");
            }
        }
    }

    fn set_aside(&self, message: &OutgoingMessage, why: &str, is_first: bool) {
        let gateway = self.gateway.get().and_then(Weak::upgrade);
        let owner = gateway.as_ref().and_then(|it| it.owner_chat());
        // A word about each would follow the messages to where they fail.
        if let (Some(gateway), Some(owner), true) = (gateway, owner, is_first) {
            let language = gateway.parts.languages.get(&owner);
            let (channel, chat) = (title(&message.to.channel), inline_code(&message.to.chat));
            let text = texts::set_aside(language, &channel, &chat, &inline_code(why));
            gateway.tell(&owner, &text);
        }
    }

    fn sends(&self, message: &OutgoingMessage) {
        if let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) {
            let now_ms = gateway.clock().now_ms();
            gateway.approvals.said(message, now_ms);
        }
    }

    fn shows(&self, to: &Address, buttons: &[Vec<CommandButton>]) {
        if let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) {
            let now_ms = gateway.clock().now_ms();
            gateway.approvals.showed(to, buttons, now_ms);
        }
    }

    fn asked(&self, number: u64, message: &str) {
        if let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) {
            let now_ms = gateway.clock().now_ms();
            gateway.approvals.asked(number, message, now_ms);
        }
    }

    fn moved(&self, from: &Address, to: &Address) {
        if let Err(error) = self.watches.move_chat(from, to) {
            tracing::error!(chat = %from, "failed to change the chat of watches: {error}");
        }
        match self.jobs.move_chat(from, to) {
            Ok(0) => {}
            Ok(jobs) => {
                tracing::info!(chat = %from, to = %to, jobs, "the jobs of the group follow")
            }
            // The next message to the old address brings it up again.
            Err(error) => {
                tracing::error!(chat = %from, "failed to change the chat of jobs: {error}")
            }
        }
    }
}
