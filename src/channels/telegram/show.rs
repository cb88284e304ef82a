//! What is only shown: questions with buttons, drafts, typing and signs.

use std::time::Duration;

use super::api::{ApiError, Place, Words};
use super::draft::{Asked, Draft};
use super::html::{self, Piece};
use super::question;
use super::send::{Sender, Sent};
use crate::limits::channels::IDLE_LOOK;
use crate::message::Address;

impl Sender {
    /// Takes the buttons from questions that are over.
    pub(super) fn settle(&mut self) -> Sent {
        let mut index = 0;
        while let Some((chat, number, outcome)) = self.settled.get(index) {
            let (chat, number) = (chat.clone(), *number);
            let display = self.displays.get(&chat);
            let asked = display.and_then(|display| display.asked.get(&number));
            if let (Some(asked), Some(place)) = (asked, Place::of(&chat)) {
                if !self.pace.held(place.chat, self.now()).is_zero() {
                    index += 1;
                    continue;
                }
                match self.close_question(place, asked, outcome) {
                    Err(ApiError::TooManyRequests { retry_after }) => {
                        self.hold(&chat, retry_after);
                        continue;
                    }
                    closed => shown(&chat, closed)?,
                }
            }
            if let Some(display) = self.displays.get_mut(&chat) {
                display.asked.remove(&number);
            }
            self.settled.remove(index);
        }
        Ok(())
    }

    /// Writes below a question how it came out; without room for that it only loses its buttons.
    fn close_question(&self, place: Place, asked: &Asked, outcome: &str) -> Sent {
        let words = Words {
            text: &question::settled(&asked.html, outcome),
            html: true,
            buttons: &[],
        };
        match self.api.edit_message_text(place, asked.message, &words) {
            Err(ApiError::TooLong | ApiError::CannotParse(_) | ApiError::Refused(_)) => {
                self.api.edit_reply_markup(place, asked.message, &[])
            }
            done => done,
        }
    }

    /// Asks what is to be asked. A question that did not get through is tried again until it is over.
    pub(super) fn ask(&mut self) -> Sent {
        let mut index = 0;
        while let Some((chat, number, question)) = self.questions.get(index) {
            let now = self.now();
            let Some(place) = Place::of(chat) else {
                self.questions.remove(index);
                continue;
            };
            if !self.pace.wait(place.chat, now).is_zero() {
                index += 1;
                continue;
            }
            let (chat, number) = (chat.clone(), *number);
            let pieces = html::render(&question::text(number, question));
            let asked = self
                .remove_draft(&chat, place)
                .and_then(|()| self.ask_in(place, number, &pieces));
            match asked {
                Ok(asked) => {
                    self.pace.sent(place.chat, now);
                    self.display(chat, |display| drop(display.asked.insert(number, asked)));
                }
                Err(ApiError::TooManyRequests { retry_after }) => {
                    self.hold(&chat, retry_after);
                    continue;
                }
                Err(error) if error.is_final() => {
                    tracing::error!(%chat, number, "a question cannot be asked: {error}");
                }
                Err(error) => return Err(error),
            }
            self.questions.remove(index);
        }
        Ok(())
    }

    fn ask_in(&self, place: Place, number: u64, pieces: &[Piece]) -> Sent<Asked> {
        let mut asked = Asked {
            message: 0,
            html: String::new(),
        };
        let buttons = question::answers(number);
        for (index, piece) in pieces.iter().enumerate() {
            let is_last = index + 1 == pieces.len();
            let words = Words {
                text: &piece.html,
                html: true,
                buttons: if is_last { &buttons } else { &[] },
            };
            asked.message = self.api.send_message(place, &words, None)?;
            asked.html.clone_from(&piece.html);
        }
        Ok(asked)
    }

    /// Shows drafts, typing and signs; says how long there is nothing to be shown.
    pub(super) fn show(&mut self) -> Sent<Duration> {
        let chats: Vec<Address> = self.displays.keys().cloned().collect();
        let mut wait = self.next_delivery();
        for chat in chats {
            match self.show_in(&chat) {
                Err(ApiError::TooManyRequests { retry_after }) => {
                    self.hold(&chat, retry_after);
                    wait = wait.min(retry_after);
                }
                shown => wait = wait.min(shown?),
            }
        }
        let outbox = &self.parts.outbox;
        self.displays
            .retain(|chat, display| !display.is_idle() || outbox.draft(chat).is_some());
        Ok(wait)
    }

    /// In how long something that is owed or asked can go out, and waits only for its pace.
    fn next_delivery(&self) -> Duration {
        let now = self.now();
        let owed = self.parts.outbox.chats(super::NAME);
        let chats = owed
            .iter()
            .chain(self.questions.iter().map(|(chat, ..)| chat))
            .chain(self.settled.iter().map(|(chat, ..)| chat));
        let waits = chats
            .filter_map(Place::of)
            .map(|place| self.pace.wait(place.chat, now));
        waits.min().unwrap_or(IDLE_LOOK).min(IDLE_LOOK)
    }

    fn show_in(&mut self, chat: &Address) -> Sent<Duration> {
        let Some(place) = Place::of(chat) else {
            self.displays.remove(chat);
            return Ok(IDLE_LOOK);
        };
        let now = self.now();
        let held = self.pace.held(place.chat, now);
        if !held.is_zero() {
            return Ok(held);
        }
        let config = &self.parts.channels.telegram;
        let interval = Duration::from_millis(config.stream_edit_interval_ms);
        let Some(display) = self.displays.get_mut(chat) else {
            return Ok(IDLE_LOOK);
        };
        if let Some(reference) = display.reactions.pop()
            && let Ok(message) = reference.parse()
        {
            let reacted = self
                .api
                .set_message_reaction(place, message, &config.react_emoji);
            shown(chat, reacted)?;
        }
        if display.typing_wait(now) == Some(Duration::ZERO) {
            display.typed(now);
            shown(chat, self.api.send_chat_action(place, "typing"))?;
        }
        let paced = self.pace.draft_wait(place.chat, now);
        if display.draft_wait(interval, now) == Some(Duration::ZERO)
            && paced.is_zero()
            && let Some(draft) = display.take_draft(now)
        {
            self.show_draft(chat, place, &draft)?;
        }
        if !self
            .displays
            .get(chat)
            .is_some_and(|display| display.is_working)
        {
            self.clear_draft(chat, place)?;
        }
        let now = self.now();
        let Some(display) = self.displays.get(chat) else {
            return Ok(IDLE_LOOK);
        };
        let draft = display.draft_wait(interval, now);
        let draft = draft.map(|wait| wait.max(self.pace.draft_wait(place.chat, now)));
        let typing = display.typing_wait(now);
        let signs = (!display.reactions.is_empty()).then_some(Duration::ZERO);
        let waits = [draft, typing, signs].into_iter().flatten();
        Ok(waits.min().unwrap_or(IDLE_LOOK))
    }

    fn show_draft(&mut self, chat: &Address, place: Place, draft: &Draft) -> Sent {
        let Some(piece) = html::draft(&draft.text) else {
            return Ok(());
        };
        let words = Words {
            text: &piece.html,
            html: true,
            buttons: &[],
        };
        let quotes = self.parts.channels.telegram.reply_to_message;
        let reply_to = draft.reply_to.parse().ok().filter(|_| quotes);
        let outbox = &self.parts.outbox;
        let known = outbox.draft(chat).and_then(|message| message.parse().ok());
        let now = self.now();
        self.pace.sent(place.chat, now);
        let edited = match known {
            Some(message) => self.api.edit_message_text(place, message, &words),
            None => Err(ApiError::MessageGone),
        };
        match edited {
            Err(ApiError::MessageGone) => match self.api.send_message(place, &words, reply_to) {
                Ok(message) => {
                    outbox.set_draft(chat, Some(&message.to_string()));
                    Ok(())
                }
                Err(error) => shown(chat, Err(error)),
            },
            done => shown(chat, done),
        }
    }

    /// A draft whose work has ended, and that no answer will replace, goes away.
    fn clear_draft(&self, chat: &Address, place: Place) -> Sent {
        let outbox = &self.parts.outbox;
        match outbox.draft(chat).is_some() && !outbox.replaces_draft(chat) {
            true => self.remove_draft(chat, place),
            false => Ok(()),
        }
    }

    /// Takes a draft away, so that what is sent now stands above what comes of the work.
    pub(super) fn remove_draft(&self, chat: &Address, place: Place) -> Sent {
        let outbox = &self.parts.outbox;
        let Some(message) = outbox.draft(chat) else {
            return Ok(());
        };
        if let Ok(message) = message.parse() {
            shown(chat, self.api.delete_message(place, message))?;
        }
        outbox.set_draft(chat, None);
        Ok(())
    }
}

/// What is only shown may fail: what comes right by waiting is no reason to give up on the rest.
fn shown(chat: &Address, result: Sent) -> Sent {
    match result {
        Err(
            error @ (ApiError::Stopped
            | ApiError::Network(_)
            | ApiError::Timeout(_)
            | ApiError::Token
            | ApiError::TooManyRequests { .. }),
        ) => Err(error),
        Err(error) => {
            tracing::debug!(%chat, "not shown: {error}");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
