//! How much room a message may take. Pure.
//!
//! No backlog of one chat keeps the answers from another, and what is not waited for leaves room for answers.

use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::limits::schedule::{CHAT_ROOM_MAX, OUTBOX_ROOM_MAX};
use crate::base::message::{OutgoingMessage, Writer};

use super::state::State;
use super::{BYTES_MAX, CHAT_MAX, CHAT_NOTICES_MAX, MESSAGES_MAX, NOTICES_MAX};

/// Messages that are pending at a time where the next one goes to a chat for which something waits: the rest is
/// for the others.
const SHARED_MAX: usize = 450;
/// Bytes of the lines that wait for one chat, but for the first of them.
const CHAT_BYTES_MAX: usize = BYTES_MAX / 8;

/// Fails when a message with a line of so many bytes has no room, and says whose messages take it.
pub(super) fn check(message: &OutgoingMessage, bytes: usize, state: &State) -> Result<()> {
    let (here, here_bytes) = state.waiting_for(&message.to);
    let (here_max, mut all_max) = match message.from {
        Writer::Answer => (CHAT_MAX, MESSAGES_MAX),
        Writer::Others => (Role::User.places(CHAT_MAX), MESSAGES_MAX),
        Writer::Notice => (CHAT_NOTICES_MAX, NOTICES_MAX),
        Writer::Model => (CHAT_ROOM_MAX, OUTBOX_ROOM_MAX),
    };
    if here > 0 {
        all_max = all_max.min(SHARED_MAX);
    }
    // One message always fits into its chat.
    let has_bytes = here == 0 || here_bytes + bytes <= CHAT_BYTES_MAX / CHAT_MAX * here_max;
    if here >= here_max || !has_bytes {
        return Err(Error::Failed(format!(
            "{here} messages to {} are waiting until it can be reached, and no more fit",
            message.to
        )));
    }
    let all = state.pending().count();
    let bytes_max = BYTES_MAX / MESSAGES_MAX * all_max;
    if all < all_max && state.live_bytes() + bytes <= bytes_max {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "The outbox is full: {all} messages are waiting until their channel can be reached"
    )))
}
