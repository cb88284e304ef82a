//! What comes in: the long poll, the door, and the inbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::api::{Api, ApiError, Me, Words};
use super::backoff::Backoff;
use super::files;
use super::html;
use super::question::{self, Press};
use super::update::{self, Incoming, Meaning, Pressed};
use super::{Parts, Watched};
use crate::bus::{InboundSender, Pulse};
use crate::cancel::Cancel;
use crate::channels::door;
use crate::error::Result;
use crate::limits::channels::{
    ALBUM_LOOKS, ALBUM_WAIT, FILE_TRIES, LONG_POLL, LONGEST_BACKOFF, OFFSET_AGE, PATIENCE,
    UPDATES_AT_ONCE,
};
use crate::message::{Envelope, Inbound, Sender};
use crate::sys::memory;

use super::api::types::Update;

/// The thread that polls.
pub(super) struct Poller {
    parts: Arc<Parts>,
    api: Api,
    inbound: InboundSender,
    cancel: Cancel,
    pulse: Pulse,
    me: Option<Me>,
    /// The first update that has not been dealt with.
    offset: Option<i64>,
    backoff: Backoff,
    /// Raised when Telegram is reached again after a failure.
    reached: Arc<AtomicBool>,
    /// Whether the next poll only looks if Telegram is reached: one that waits tells that much later.
    looks: bool,
    /// The message whose files could not be fetched, and how often.
    troubled: (String, u32),
}

impl Poller {
    pub fn new(parts: Arc<Parts>, api: Api, inbound: InboundSender, watched: Watched) -> Self {
        let now = parts.clock.now();
        // After a week without updates Telegram begins at another number (the API's `Update`).
        let newest = parts.inbox.last_update(super::NAME);
        let offset = newest.and_then(|(number, at)| {
            let age = now.signed_duration_since(at).to_std().unwrap_or_default();
            (age < OFFSET_AGE).then_some(number + 1)
        });
        Self {
            backoff: Backoff::new("polling Telegram", parts.clock.clone()),
            parts,
            api,
            inbound,
            cancel: watched.cancel,
            pulse: watched.pulse,
            reached: watched.reached,
            me: None,
            offset,
            looks: false,
            troubled: (String::new(), 0),
        }
    }

    /// Polls until the token is raised.
    pub fn run(mut self) {
        while !self.cancel.is_cancelled() {
            self.pulse.beat(LONG_POLL + 2 * PATIENCE);
            memory::give_back_stack();
            match self.poll() {
                Ok(()) => self.worked(),
                Err(ApiError::Stopped) => {}
                Err(error) => {
                    self.looks = matches!(error, ApiError::Network(_) | ApiError::Timeout(_));
                    let wait = self.backoff.failed(&error, u32::MAX);
                    self.pulse.beat(wait + PATIENCE);
                    self.cancel.wait(wait);
                }
            }
        }
    }

    /// What the sender wants to know: that Telegram can be reached again.
    fn worked(&mut self) {
        self.looks = false;
        if self.backoff.worked() {
            self.reached.store(true, Ordering::Relaxed);
        }
    }

    fn poll(&mut self) -> Result<(), ApiError> {
        let time = if self.looks {
            Duration::ZERO
        } else {
            LONG_POLL
        };
        let updates = self.api.get_updates(self.offset, UPDATES_AT_ONCE, time)?;
        if updates.is_empty() {
            return Ok(());
        }
        let updates = self.whole_albums(updates)?;
        let next = updates.iter().map(|update| update.update_id + 1).max();
        self.take(updates)?;
        self.offset = next.or(self.offset);
        Ok(())
    }

    /// An album comes as several updates. When the last ones are of one, it is looked again whether
    /// more of it has come, before any of it is confirmed.
    fn whole_albums(&self, mut updates: Vec<Update>) -> Result<Vec<Update>, ApiError> {
        for _ in 0..ALBUM_LOOKS {
            let ends_in_album = updates.last().and_then(album_of).is_some();
            let first = updates.iter().map(|update| update.update_id).min();
            if !ends_in_album || updates.len() >= UPDATES_AT_ONCE || self.cancel.wait(ALBUM_WAIT) {
                break;
            }
            let again = self
                .api
                .get_updates(first, UPDATES_AT_ONCE, Duration::ZERO)?;
            let is_whole = again.len() <= updates.len();
            if !again.is_empty() {
                updates = again;
            }
            if is_whole {
                break;
            }
        }
        Ok(updates)
    }

    /// Deals with updates. What is for us is in the inbox when this returns.
    fn take(&mut self, updates: Vec<Update>) -> Result<(), ApiError> {
        let me = match self.me.take() {
            Some(me) => me,
            None => self.api.get_me()?,
        };
        let policy = self.parts.channels.telegram.group_policy;
        let meanings: Vec<Meaning> = updates
            .into_iter()
            .map(|update| update::read(update, &me, policy))
            .collect();
        self.me = Some(me);
        let mut inbound = Vec::new();
        let mut albums: Vec<Incoming> = Vec::new();
        for meaning in meanings {
            match meaning {
                Meaning::Message(incoming) => match join(&mut albums, *incoming) {
                    Some(single) => inbound.extend(self.message(single)?),
                    None => continue,
                },
                Meaning::Edited {
                    chat,
                    reference,
                    text,
                } => inbound.push(Inbound::Edited {
                    chat,
                    reference,
                    text,
                }),
                Meaning::Pressed(pressed) => inbound.extend(self.pressed(*pressed)),
                Meaning::Nothing => {}
            }
        }
        for album in albums.into_iter().filter(|album| album.addressed) {
            inbound.extend(self.message(album)?);
        }
        self.accept(inbound)
    }

    /// Puts what is new into the inbox, with one write, and then hands it over in order.
    fn accept(&self, inbound: Vec<Inbound>) -> Result<(), ApiError> {
        let messages = inbound.iter().filter_map(|inbound| match inbound {
            Inbound::Message(message) => Some(message.clone()),
            _ => None,
        });
        let messages: Vec<Envelope> = messages.collect();
        let new = match messages.is_empty() {
            true => Vec::new(),
            false => self.parts.inbox.accept(messages)?,
        };
        let mut new = new.into_iter().peekable();
        for next in inbound {
            let next = match next {
                Inbound::Message(message) => {
                    match new.next_if(|accepted| accepted.id == message.id) {
                        Some(accepted) => Inbound::Message(accepted),
                        None => continue,
                    }
                }
                other => other,
            };
            // While the queue is full nothing is polled, and the thread is alive all the same.
            self.pulse.beat(LONGEST_BACKOFF);
            if !self.inbound.send(next) {
                break;
            }
        }
        Ok(())
    }

    /// A message with its files, when its sender may speak.
    fn message(&mut self, incoming: Incoming) -> Result<Option<Inbound>, ApiError> {
        let Incoming {
            mut message,
            username,
            wanted,
            ..
        } = incoming;
        let sender = message.sender().cloned().unwrap_or_default();
        if !self.may_speak(&sender, &username) {
            self.stranger(&message)?;
            return Ok(None);
        }
        for wanted in &wanted {
            self.pulse.beat(LONGEST_BACKOFF);
            let now = self.parts.clock.now();
            match files::fetch(&self.api, &self.parts.workspace, wanted, now) {
                Ok(attachment) => message.attachments.push(attachment),
                // It is tried again with the whole update.
                Err(error) if self.may_come_right(&message.id, &error) => return Err(error),
                Err(error) => {
                    tracing::warn!(chat = %message.address(), "a file is not fetched: {error}");
                    let gap = if message.text.is_empty() { "" } else { "\n" };
                    message.text +=
                        &format!("{gap}[{} could not be fetched: {error}]", wanted.name);
                }
            }
        }
        Ok(Some(Inbound::Message(message)))
    }

    /// Whether a file is worth another try. One that always fails must not hold up everything that
    /// was said after it.
    fn may_come_right(&mut self, message: &str, error: &ApiError) -> bool {
        match error {
            ApiError::Stopped | ApiError::TooManyRequests { .. } => true,
            ApiError::Network(_) | ApiError::Timeout(_) | ApiError::Server(_) => {
                let (known, tries) = &mut self.troubled;
                if known != message {
                    (*known, *tries) = (message.to_owned(), 0);
                }
                *tries += 1;
                *tries < FILE_TRIES
            }
            _ => false,
        }
    }

    fn may_speak(&self, sender: &Sender, username: &str) -> bool {
        let username = Some(username).filter(|name| !name.is_empty());
        door::is_allowed(
            &self.parts.channels.telegram.allow_from,
            &sender.id,
            username,
        ) || self.parts.pairing.is_paired(super::NAME, &sender.id)
    }

    /// Offers a stranger who writes to us alone a code to be let in with.
    fn stranger(&self, message: &Envelope) -> Result<(), ApiError> {
        let Some(sender) = message.sender() else {
            return Ok(());
        };
        if message.is_group {
            tracing::debug!(sender = %sender.id, chat = %message.address(), "a stranger is not heard");
            return Ok(());
        }
        tracing::info!(sender = %sender.id, chat = %message.address(), "a stranger is not let in");
        let offered = self.parts.pairing.offer(super::NAME, sender);
        let code = offered.unwrap_or_else(|error| {
            tracing::warn!("no code can be offered: {error}");
            None
        });
        let (Some(code), Some(place)) = (code, super::api::Place::of(&message.address())) else {
            return Ok(());
        };
        let text = format!(
            "I do not know you yet.\n\nIf I am yours, run this on the board:\n\
             <code>peacrab channels pair {code}</code>\n\n\
             If not, ask somebody who may talk with me to send me this:\n<code>/pair {code}</code>\n\n\
             The code is valid for 10 minutes. Your id is <code>{}</code>.",
            html::escape(&sender.id)
        );
        let words = Words {
            text: &text,
            html: true,
            ..Words::default()
        };
        match self.api.send_message(place, &words, None) {
            Err(ApiError::Gone { .. } | ApiError::Refused(_)) | Ok(_) => Ok(()),
            Err(error) => {
                // The code may not have arrived: with the next try there is another.
                if let Err(error) = self.parts.pairing.remove(super::NAME, &sender.id) {
                    tracing::warn!("a code is not taken back: {error}");
                }
                Err(error)
            }
        }
    }

    /// A button that was pressed by somebody who may.
    fn pressed(&self, pressed: Pressed) -> Option<Inbound> {
        let may = self.may_speak(&pressed.sender, &pressed.username);
        let said = if may { "" } else { "This is not for you." };
        if let Err(error) = self.api.answer_callback_query(&pressed.callback, said) {
            tracing::debug!("a press is not confirmed: {error}");
        }
        let press = question::press(&pressed.data).filter(|_| may)?;
        Some(match press {
            Press::Answer { number, answer } => Inbound::Answered {
                chat: pressed.chat,
                sender: pressed.sender,
                question: number,
                answer,
            },
            Press::Words(words) => Inbound::Message(Envelope {
                id: format!("{}:{}", super::NAME, pressed.number),
                is_group: pressed.is_group,
                reference: pressed.message.to_string(),
                ..Envelope::written(&pressed.chat, pressed.sender, &words)
            }),
        })
    }
}

fn album_of(update: &Update) -> Option<&str> {
    update.message.as_ref()?.media_group_id.as_deref()
}

/// Puts the parts of an album together; gives back what is of none.
fn join(albums: &mut Vec<Incoming>, incoming: Incoming) -> Option<Incoming> {
    if incoming.album.is_none() {
        return Some(incoming);
    }
    let same = |album: &&mut Incoming| {
        album.album == incoming.album && album.message.session == incoming.message.session
    };
    match albums.iter_mut().find(same) {
        Some(album) => {
            album.wanted.extend(incoming.wanted);
            album.addressed |= incoming.addressed;
            if album.message.text.is_empty() {
                album.message.text = incoming.message.text;
            }
        }
        None => albums.push(incoming),
    }
    None
}
