//! Invitations, rooms that become others, and encrypted rooms.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Fault, Me, Receiver};
use crate::base::language::Language;
use crate::base::limits::channels::CALL_TIME;
use crate::base::message::Sender;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::channels::matrix::address::is_id;
use crate::channels::matrix::sync::{Event, Invitation};
use crate::channels::matrix::texts;
use std::time::Duration;

/// Rooms that strangers may bring the bot into within [`STRANGERS_SPAN`].
const STRANGERS_ROOMS: usize = 10;
/// See [`STRANGERS_ROOMS`].
const STRANGERS_SPAN: Duration = Duration::from_hours(1);
/// Tries to join a room.
const JOIN_TRIES: u32 = 3;

impl Receiver<'_> {
    /// Answers the invitations that wait; returns whether there were any. What the homeserver cannot do now is tried
    /// again after the next sync.
    pub(super) fn answer_invitations(&mut self, me: &mut Me) -> Result<bool, Fault> {
        let waiting = std::mem::take(&mut me.kept.now.invitations);
        let had_any = !waiting.is_empty();
        let mut is_off = false;
        for mut invitation in waiting {
            self.parts.heartbeat.beat(CALL_TIME);
            let answered = if is_off {
                Err(Failure::Stopped)
            } else {
                self.answer(&invitation)
            };
            match answered {
                Ok(()) => {}
                Err(Failure::Stopped | Failure::Down(_) | Failure::RetryAfter(_)) => {
                    is_off = true;
                    me.kept.now.invitations.push(invitation);
                }
                Err(failure) => {
                    invitation.tries += 1;
                    if invitation.tries < JOIN_TRIES && matches!(failure, Failure::Trouble(_)) {
                        me.kept.now.invitations.push(invitation);
                        continue;
                    }
                    tracing::warn!(room = %invitation.room, "failed to join a room: {failure}");
                }
            }
        }
        Ok(had_any)
    }

    fn answer(&mut self, invitation: &Invitation) -> Sent {
        let Invitation { room, from, .. } = invitation;
        let sender = Sender {
            id: from.clone(),
            name: invitation.name.clone(),
            ..Sender::default()
        };
        let is_known = self.parts.intake.has_access(&sender, "");
        if !is_known && !self.parts.account.joins_anyone {
            tracing::info!(%room, sender = %from, "declined an invitation of an unknown user");
            let why = texts::declined(Language::of_text(&invitation.name), from);
            return self.api.leave(room, &why);
        }
        if !is_known && !self.may_follow_a_stranger() {
            tracing::warn!(%room, sender = %from, "ignored an invitation: there are too many of unknown users");
            return Ok(());
        }
        self.api.join(room)?;
        tracing::info!(%room, sender = %from, "joined a room");
        if invitation.is_direct
            && let Err(failure) = self.api.add_private_chat(from, room)
        {
            tracing::debug!("failed to note a private chat: {failure}");
        }
        Ok(())
    }

    /// Whether one more stranger may bring the bot into a room now.
    fn may_follow_a_stranger(&mut self) -> bool {
        let now = self.watch.elapsed();
        self.strangers.retain(|at| now < *at + STRANGERS_SPAN);
        let may = self.strangers.len() < STRANGERS_ROOMS;
        if may {
            self.strangers.push(now);
        }
        may
    }

    /// Says once in an encrypted room what to do. Its messages cannot be read.
    pub(super) fn tell_of_encryption(
        &mut self,
        room: &str,
        event: &Event<'_>,
        names: &BTreeMap<String, String>,
        me: &mut Me,
    ) -> Result<(), Fault> {
        if me.kept.was_told(room) {
            return Ok(());
        }
        if self.is_group(room)? && !self.parts.account.reads_group(room) {
            return Ok(());
        }
        let name = names.get(&event.sender).map_or("", String::as_str);
        let text = texts::encrypted(Language::of_text(name));
        let content = json!({"msgtype": "m.notice", "body": text, "m.mentions": {}});
        match self
            .api
            .send(room, "m.room.message", "told-encrypted", &content)
        {
            Err(Failure::Stopped) => return Err(Failure::Stopped.into()),
            // Another message in this room is another chance.
            Err(failure @ (Failure::Trouble(_) | Failure::Down(_) | Failure::RetryAfter(_))) => {
                tracing::debug!("failed to say that a room is encrypted: {failure}");
                return Ok(());
            }
            Ok(_) => tracing::info!(%room, "a room is encrypted: its messages cannot be read"),
            Err(failure) => {
                tracing::warn!(%room, "failed to say that a room is encrypted: {failure}")
            }
        }
        me.kept.note_told(room);
        me.kept.save();
        Ok(())
    }
}

/// A room is replaced by another one, which the bot joins as if it were invited by the one who has done that.
pub(super) fn follow(event: &Event<'_>, me: &mut Me) {
    let replacement = event.content.text("replacement_room");
    let is_state = event.state_key.as_deref() == Some("");
    if let Some(room) = replacement.filter(|room| is_state && is_id('!', room)) {
        me.kept.add_invitation(Invitation {
            room,
            from: event.sender.clone(),
            ..Invitation::default()
        });
    }
}
