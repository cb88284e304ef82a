//! After a start: what the last run had accepted, begun or owed goes on.

use std::sync::Arc;

use super::Gateway;
use crate::chat::{Entry, EntryKind};
use crate::error::Result;
use crate::markup::inline_code;
use crate::message::{Address, Inbound};
use crate::outbox::Owed;
use crate::session::line::TurnEnd;
use crate::session::{Session, store};

impl Gateway {
    /// Ends turns whose answer is owed already, goes on with those that were interrupted, and takes
    /// what was accepted and not yet read.
    pub(super) fn recover(self: &Arc<Self>) {
        for owed in self.parts.outbox.pending() {
            if let Err(error) = self.close(&owed) {
                tracing::error!(chat = %owed.parcel.to, "a turn cannot be closed: {error}");
            }
            self.release(&owed.parcel.to);
        }
        for chat in self.interrupted() {
            tracing::info!(%chat, "an interrupted turn goes on");
            self.lanes().resume(chat);
        }
        for message in self.inbox().begun() {
            self.say(&message.address(), &format!(
                "{} was interrupted by a restart. Whether it took effect is not known, and it is not run again.",
                inline_code(&message.text)
            ));
            self.inbox().taken(&message.id);
        }
        for message in self.inbox().waiting() {
            self.take(Inbound::Message(message));
        }
        self.start_turns();
    }

    /// Ends a turn that was killed after its answer was owed and before the journal said so. The
    /// model is not asked again: the answer will go out.
    fn close(&self, owed: &Owed) -> Result<()> {
        let Some(turn) = owed.turn else {
            return Ok(());
        };
        let chat = &owed.parcel.to;
        let mut session = Session::open(
            &self.parts.sessions,
            &chat.session(),
            self.parts.journals.clone(),
        )?;
        if session.is_unfinished() && session.length() == turn {
            let answer = Entry::new(EntryKind::Assistant, owed.parcel.text.as_str());
            session.end_turn(Some(answer), TurnEnd::Answered)?;
        }
        Ok(())
    }

    /// The chats of channels whose last turn has not ended.
    fn interrupted(&self) -> Vec<Address> {
        let unfinished = store::unfinished(&self.parts.sessions).unwrap_or_else(|error| {
            tracing::error!("interrupted turns cannot be found: {error}");
            Vec::new()
        });
        let ours = |chat: &Address| self.outbound.contains_key(chat.channel.as_str());
        let chats = unfinished.iter().map(|key| Address::parse(key.as_str()));
        chats.filter(ours).collect()
    }
}
