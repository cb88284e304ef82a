//! Messages to people, for every channel: what the outbox holds, and what is only shown.

use std::sync::Arc;

use crate::approval::Question;
use crate::bus::Heartbeats;
use crate::clock::Clock;
use crate::message::{Address, DraftKey};
use crate::outbox::Outbox;
use crate::sandbox::Workspace;

use super::adapter::Adapter;

/// What deliveries of a channel are made of.
pub struct DeliveryParts {
    /// The channel.
    pub adapter: Arc<dyn Adapter>,
    /// What is to be delivered.
    pub outbox: Arc<Outbox>,
    /// Where the files lie that are sent.
    pub workspace: Arc<Workspace>,
    /// Where the time comes from.
    pub clock: Clock,
    /// Where the workers show that they are alive.
    pub heartbeats: Heartbeats,
    /// The runtime whose timers wake the workers.
    pub timers: tokio::runtime::Handle,
    /// The slash commands for the channel's menu, without the slash.
    pub menu: Vec<(&'static str, &'static str)>,
    /// Quick tries for a message; then the longest wait lies between two tries.
    pub max_retries: u32,
}

/// The deliveries of one channel. Clones share them. No method blocks.
#[derive(Clone)]
pub struct Delivery(Arc<DeliveryParts>);

impl Delivery {
    /// Prepares deliveries; no thread runs before there is something to deliver.
    pub fn new(parts: DeliveryParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The outbox has something new, or released something.
    pub fn wake(&self) {}

    /// Reacts to a person's message: it was accepted.
    pub fn accepted(&self, _to: &Address, _reference: &str) {}

    /// Work has begun: "typing" is shown until [`Delivery::resting`].
    pub fn working(&self, _work: &DraftKey, _to: &Address) {}

    /// Work has ended. Its draft is deleted, unless a message in the outbox replaces it.
    pub fn resting(&self, _work: &DraftKey) {}

    /// Shows what work has come to so far, as Markdown. A newer draft replaces one that was not shown
    /// yet.
    pub fn draft(&self, _work: &DraftKey, _to: &Address, _text: String, _reply_to: &str) {}

    /// Asks for an approval. It is tried until it is shown or settled.
    pub fn ask(&self, _to: &Address, _number: u64, _question: Question) {}

    /// A question is over: its buttons go, and the outcome is written below it.
    pub fn settle(&self, _number: u64, _outcome: &str) {}

    /// The receiver has reached the channel again: waiting for it is over.
    pub fn reachable(&self) {}

    /// Ends every call and waits for the workers to end. What was not confirmed stays in the outbox.
    pub fn stop(&self) {
        let _ = &self.0.adapter;
    }
}
