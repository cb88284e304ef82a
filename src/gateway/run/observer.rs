//! What becomes of messages after they were handed over: a chat that takes nothing any more, a group that has
//! got another address, a message that always fails.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use crate::base::language::texts;
use crate::base::message::{Address, CommandButton, OutgoingMessage};
use crate::base::sync::Mutex;
use crate::board::watch;
use crate::channels::delivery::Observer;
use crate::channels::table::title;
use crate::gateway::commands::texts::set_aside;
use crate::gateway::{Gateway, Parts};
use crate::schedule;
use crate::text::markup::inline_code;

/// The least time between two words about messages to one chat that are lost: all of them fail when one does.
const LOSS_INTERVAL_MS: i64 = 3_600_000;
/// Chats that the owner is told about in that time.
const LOSSES: usize = 16;

texts! {
    fn given_up(channel, chat, why) {
        "A message to {channel} ({chat}) can't be delivered and is lost: {why}",
        "发往 {channel}（{chat}）的一条消息无法送达，已经丢失：{why}",
    }
}

/// Notes in jobs and watches what the deliveries learn, and tells the owner what they cannot send.
pub struct Deliveries {
    jobs: schedule::Store,
    watches: watch::Store,
    gateway: OnceLock<Weak<Gateway>>,
    /// The chats of which the owner was told that a message is lost, and when.
    losses: Mutex<BTreeMap<Address, i64>>,
}

impl Deliveries {
    pub fn new(parts: &Parts) -> Arc<Self> {
        Arc::new(Self {
            jobs: parts.jobs.clone(),
            watches: parts.watches.store().clone(),
            gateway: OnceLock::new(),
            losses: Mutex::default(),
        })
    }

    /// Tells the owner about a message that will never arrive, now and then for each chat.
    fn tell_owner_of_loss(&self, to: &Address, why: &str) {
        let gateway = self.gateway.get().and_then(Weak::upgrade);
        let owner = gateway.as_ref().and_then(|it| it.owner_chat());
        let (Some(gateway), Some(owner)) = (gateway, owner) else {
            return;
        };
        // A word about what cannot be said to the owner would be lost as well.
        if (&owner.channel, &owner.chat) == (&to.channel, &to.chat) {
            return;
        }
        let now_ms = gateway.clock().now_ms();
        let is_known = {
            let mut losses = self.losses.lock();
            losses.retain(|_, told_ms| (0..LOSS_INTERVAL_MS).contains(&(now_ms - *told_ms)));
            losses.len() >= LOSSES || losses.insert(to.clone(), now_ms).is_some()
        };
        if !is_known {
            let language = gateway.parts.languages.get(&owner);
            let (channel, chat) = (title(&to.channel), inline_code(&to.chat));
            let text = given_up(language, &channel, &chat, &inline_code(why));
            gateway.tell(&owner, &text);
        }
    }

    /// Once the gateway is there, before anything is delivered.
    pub fn attach(&self, gateway: &Arc<Gateway>) {
        let _ = self.gateway.set(Arc::downgrade(gateway));
    }
}

impl Observer for Deliveries {
    fn given_up(&self, message: &OutgoingMessage, why: &str, is_chat_gone: bool) {
        self.tell_owner_of_loss(&message.to, why);
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
            let text = set_aside(language, &channel, &chat, &inline_code(why));
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

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_owner_hears_comes_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
