//! Floor 4: the two bounded queues between channels and the gateway. It calls nobody.
//!
//! Inbound: a channel sends and waits while the queue is full, so that polling stops and nothing is
//! lost. Outbound: one queue to each channel's worker; what it holds may be merged or dropped, because
//! what has to arrive lies in the outbox.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::limits::bus::ENTRIES;
use crate::message::{Inbound, Outbound};

/// A queue from the channels to the gateway.
pub fn inbound() -> (InboundSender, Receiver<Inbound>) {
    let (sender, receiver) = channel(ENTRIES);
    (InboundSender(sender), receiver)
}

/// A queue from the gateway to one channel's worker. The handle is of the runtime whose timers the
/// worker waits on.
pub fn outbound(handle: Handle) -> (OutboundSender, OutboundReceiver) {
    let (sender, receiver) = channel(ENTRIES);
    (
        OutboundSender(sender),
        OutboundReceiver { receiver, handle },
    )
}

/// The channels' end of the inbound queue.
#[derive(Clone)]
pub struct InboundSender(Sender<Inbound>);

impl InboundSender {
    /// Waits for a place and puts it there; false when the gateway has gone. Not for use within the
    /// runtime's own thread.
    pub fn send(&self, inbound: Inbound) -> bool {
        self.0.blocking_send(inbound).is_ok()
    }
}

/// The gateway's end of an outbound queue.
#[derive(Clone)]
pub struct OutboundSender(Sender<Outbound>);

impl OutboundSender {
    /// Puts it in the queue, or drops it where that is full; false when it was dropped.
    pub fn send(&self, outbound: Outbound) -> bool {
        !matches!(self.0.try_send(outbound), Err(TrySendError::Full(_)))
    }
}

/// What a worker heard.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Something to show.
    Outbound(Outbound),
    /// Nothing within the time.
    Nothing,
    /// The gateway has gone.
    Closed,
}

/// A worker's end of its outbound queue.
pub struct OutboundReceiver {
    receiver: Receiver<Outbound>,
    handle: Handle,
}

impl OutboundReceiver {
    /// Waits for the next entry, at most so long. Blocks the thread, which must not be the runtime's.
    pub fn receive(&mut self, time: Duration) -> Heard {
        let next = async { tokio::time::timeout(time, self.receiver.recv()).await };
        match self.handle.block_on(next) {
            Ok(Some(outbound)) => Heard::Outbound(outbound),
            Ok(None) => Heard::Closed,
            Err(_) => Heard::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ChatId;

    #[test]
    fn a_full_outbound_queue_drops_what_comes_and_keeps_what_is_there() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (sender, mut receiver) = outbound(runtime.handle().clone());
        let working = Outbound::Working(ChatId::new("telegram", "1"));
        assert!((0..ENTRIES).all(|_| sender.send(working.clone())));
        assert!(!sender.send(Outbound::Owed));
        let keeper = std::thread::spawn(move || {
            let heard = receiver.receive(Duration::from_secs(60));
            (heard, receiver)
        });
        runtime.block_on(async {
            while !keeper.is_finished() {
                tokio::task::yield_now().await
            }
        });
        let (heard, _receiver) = keeper.join().unwrap();
        assert_eq!(heard, Heard::Outbound(working));
        assert!(sender.send(Outbound::Owed));
    }
}
