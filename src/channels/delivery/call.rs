//! Performs what the plan has decided, over one connection.

mod files;
mod offer;
mod over;
mod put;
mod whole;

use std::borrow::Cow;

use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::Error;
use crate::base::limits::channels::CALL_TIME;
use crate::base::message::{Address, DraftKey};
use crate::channels::kit::adapter::{Capabilities, Connection, Failure, Piece, Post, Sent};
use crate::channels::kit::buttons;
use crate::channels::kit::choices::Offer;
use crate::channels::kit::texts::message_not_deleted;
use crate::store::outbox::Pending;

use super::DELIVERY_LINGER;
use super::DeliveryParts;
use super::job::{Content, Job, Outcome};
use super::question;
use super::question::Settled;
use super::work::DraftText;
pub(super) use files::RefusedAlbums;
use offer::{RenderedMessage, buttons_of};
use put::{Refused, is_refusal, put};

/// The name of the file with a command that is too long for its question.
const COMMAND_FILE: &str = "command.sh";

/// One worker's connection to the channel.
pub(super) struct Caller<'a> {
    parts: &'a DeliveryParts,
    cancel: &'a Cancel,
    heartbeat: Heartbeat,
    connection: Option<Box<dyn Connection>>,
    /// The pieces of the message that was sent from last, by its number: a long one is rendered once.
    rendered: Option<(u64, RenderedMessage)>,
    refused_albums: &'a RefusedAlbums,
}

impl<'a> Caller<'a> {
    /// Nothing is connected yet.
    pub fn new(
        parts: &'a DeliveryParts,
        cancel: &'a Cancel,
        refused_albums: &'a RefusedAlbums,
    ) -> Self {
        let heartbeat = parts.heartbeats.register("delivery");
        heartbeat.beat(CALL_TIME);
        Self {
            parts,
            cancel,
            heartbeat,
            connection: None,
            rendered: None,
            refused_albums,
        }
    }

    /// The worker is about to rest.
    pub fn rest(&mut self) {
        self.rendered = None;
        self.heartbeat.beat(2 * DELIVERY_LINGER);
    }

    /// Performs a job. The outbox has recorded the result when this returns.
    pub fn call(&mut self, job: &Job) -> Outcome {
        self.heartbeat.beat(CALL_TIME);
        if let Job::SetAside { id, why, .. } = job {
            self.set_aside(*id, why);
            return done(None, true);
        }
        if self.connection.is_none() {
            match self.parts.adapter.connect(self.cancel, &self.heartbeat) {
                Ok(connection) => self.connection = Some(connection),
                Err(Error::Stopped) => return Outcome::Stopped,
                Err(error) => return Outcome::Down(error.to_string()),
            }
        }
        let Some(mut connection) = self.connection.take() else {
            return Outcome::Stopped;
        };
        let done = self.call_with(connection.as_mut(), job);
        let outcome = done.unwrap_or_else(|failure| failed(job, failure));
        if !matches!(outcome, Outcome::Down(_)) {
            self.connection = Some(connection);
        }
        outcome
    }

    fn call_with(&mut self, connection: &mut dyn Connection, job: &Job) -> Sent<Outcome> {
        match job {
            Job::Deliver { to, id, edits, .. } => {
                return Ok(self.deliver(connection, to, *id, edits.as_deref()));
            }
            // It needs no connection.
            Job::SetAside { .. } => {}
            Job::Delete {
                to, key, message, ..
            } => self.delete(connection, to, key, message)?,
            Job::Show {
                to,
                key,
                text,
                message,
                preview,
            } => {
                if message.is_none() {
                    self.parts.observer.shows(to, &text.buttons);
                }
                if let Some(id) = preview
                    && self.preview(connection, to, *id, text)?
                {
                    return Ok(Outcome::Previewed);
                }
                return self.show(connection, (to, key), text, message.as_deref());
            }
            Job::Remove { to, message } => self.remove(connection, to, message)?,
            Job::Notify {
                to, content, piece, ..
            } => return self.notify(connection, to, content, *piece),
            Job::Settle {
                to,
                content,
                message,
                settled,
                ..
            } => self.settle(connection, to, content, (message, settled))?,
            Job::React { to, message } => {
                let reaction = &self.parts.adapter.capabilities().reaction;
                connection.react(to, message, reaction)?;
            }
            Job::Type { to } => connection.typing(to)?,
            Job::SetMenu => connection.set_menu(&(self.parts.menu)())?,
        }
        Ok(done(None, true))
    }

    fn deliver(
        &mut self,
        connection: &mut dyn Connection,
        to: &Address,
        id: u64,
        edits: Option<&str>,
    ) -> Outcome {
        let Some(pending) = self.parts.outbox.get(id) else {
            return Outcome::Dropped;
        };
        if self.parts.adapter.is_group(to).is_none() {
            let why = "not an address of the channel";
            tracing::error!(chat = %to, "failed to deliver a message: {why}");
            self.give_up(&pending, why, true);
            return Outcome::Dropped;
        }
        self.parts.observer.sends(&pending.message);
        let rendered = match self.rendered.take() {
            Some((of, rendered)) if of == id => rendered,
            _ => self.render_message(&pending.message),
        };
        let total = rendered.pieces.len() + pending.message.files.len();
        let as_one = self.send_with_file(connection, &pending, &rendered, edits);
        let sent = as_one
            .map(|sent| sent.map(|()| total))
            .or_else(|| self.send_album(connection, &pending, &rendered, edits))
            .or_else(|| self.send_rich(connection, &pending, &rendered, edits))
            .unwrap_or_else(|| {
                let sent = self.send_next(connection, &pending, &rendered, edits);
                sent.map(|()| pending.pieces + 1)
            });
        match sent {
            Ok(pieces) => {
                let is_last = pieces >= total;
                self.confirm(id, (!is_last).then_some(pieces));
                if is_last {
                    self.remove_made(&pending.message);
                } else {
                    self.rendered = Some((id, rendered));
                }
                done(None, is_last)
            }
            Err(failure) => {
                self.rendered = Some((id, rendered));
                self.undelivered(&pending, failure)
            }
        }
    }

    /// Sends the next piece of the text, or the next file.
    fn send_next(
        &self,
        connection: &mut dyn Connection,
        pending: &Pending,
        RenderedMessage { pieces, offer }: &RenderedMessage,
        edits: Option<&str>,
    ) -> Sent {
        if let Some(piece) = pieces.get(pending.pieces) {
            let is_last = pending.pieces + 1 == pieces.len();
            let offer = offer.as_ref().filter(|_| is_last);
            return self.send_piece(connection, pending, (piece, is_last), (edits, offer));
        }
        let index = pending.pieces.saturating_sub(pieces.len());
        match pending.message.files.get(index) {
            Some(file) => self.send_file(connection, pending, file),
            None => Ok(()),
        }
    }

    fn send_piece(
        &self,
        connection: &mut dyn Connection,
        pending: &Pending,
        (piece, is_last): (&Piece, bool),
        (edits, offer): (Option<&str>, Option<&Offer>),
    ) -> Sent {
        let message = &pending.message;
        let bytes = self.parts.adapter.capabilities().button_data_bytes;
        let rows = if is_last {
            buttons_of(message, bytes)
        } else {
            Vec::new()
        };
        let is_first = pending.pieces == 0;
        let silent = is_silent(pending);
        let post = Post {
            text: &piece.written,
            is_marked: true,
            buttons: self.posted(&rows),
            reply_to: self.reply_to(&message.reply_to).filter(|_| is_first),
            key: Some(key(pending)),
            silent,
            only_for: only(&message.only_for),
        };
        let edits = edits.filter(|_| is_first);
        let to = &message.to;
        let put = (&post, &*piece.plain);
        match self.put_offer(connection, to, put, (edits, offer.cloned())) {
            Err(failure) if is_refusal(&failure) => {
                let refused = Refused {
                    plain: &piece.plain,
                    edits,
                    silent,
                    only_for: post.only_for,
                    failure,
                };
                self.rescue(connection, to, refused)?;
            }
            done => {
                let sent = done?;
                let shown = sent.as_deref().or(edits);
                if let Some(shown) = shown.filter(|_| !message.command_buttons.is_empty()) {
                    self.parts.outbox.note_shown(pending.id, shown);
                }
            }
        }
        let is_of_agent =
            message.run.is_some() || message.replaces.as_ref().is_some_and(DraftKey::is_of_turn);
        if let (Some(choices), None, true) = (&self.parts.choices, offer, is_of_agent && is_last) {
            choices.moved_on(to, false);
        }
        Ok(())
    }

    /// The message to quote, where quotes are enabled.
    fn reply_to<'b>(&self, reference: &'b str) -> Option<&'b str> {
        let quotes = self.parts.adapter.capabilities().quotes;
        (quotes && !reference.is_empty()).then_some(reference)
    }

    /// Shows a text as a preview; false where the channel has none.
    fn preview(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        id: u32,
        text: &DraftText,
    ) -> Sent<bool> {
        let Some(piece) = self.parts.adapter.render_draft(&text.text) else {
            return Ok(false);
        };
        let marked = Post {
            text: &piece.written,
            is_marked: true,
            ..Post::default()
        };
        let plain = Post {
            text: &piece.plain,
            ..Post::default()
        };
        for post in [&marked, &plain] {
            match connection.preview(to, id, post) {
                Some(Err(failure)) if is_refusal(&failure) => {}
                Some(shown) => return shown.map(|()| true),
                None => break,
            }
        }
        Ok(false)
    }

    fn show(
        &self,
        connection: &mut dyn Connection,
        (to, key): (&Address, &DraftKey),
        text: &DraftText,
        message: Option<&str>,
    ) -> Sent<Outcome> {
        let Capabilities {
            edits,
            button_data_bytes,
            ..
        } = *self.parts.adapter.capabilities();
        if let (Some(choices), Some(message)) = (&self.parts.choices, message) {
            choices.replaced(to, message);
        }
        let (instead, offer) = self.instead_of_buttons(to, text);
        let with_choices = if instead.is_empty() {
            Cow::Borrowed(&text.text)
        } else {
            Cow::Owned(format!("{}\n\n{instead}", text.text))
        };
        let Some(piece) = self.parts.adapter.render_draft(&with_choices) else {
            return Ok(Outcome::Dropped);
        };
        let buttons = buttons::for_commands(&text.buttons, button_data_bytes);
        let post = Post {
            text: &piece.written,
            is_marked: true,
            buttons: self.posted(&buttons),
            reply_to: self.reply_to(&text.reply_to),
            // What it comes to rings.
            silent: true,
            only_for: only(&text.only_for),
            ..Post::default()
        };
        let sent = self.put_offer(connection, to, (&post, &piece.plain), (message, offer))?;
        if let Some(sent) = &sent
            && (edits || key.is_told_after_restart())
        {
            self.parts.outbox.set_draft(key, Some((to, sent)));
        }
        Ok(done(sent, true))
    }

    fn delete(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        key: &DraftKey,
        message: &str,
    ) -> Sent {
        let deleted = connection.delete(to, message);
        let may_come_right = matches!(
            deleted,
            Err(Failure::RetryAfter(_) | Failure::Down(_) | Failure::Stopped)
        );
        if !may_come_right {
            self.parts.outbox.set_draft(key, None);
        }
        deleted
    }

    /// Deletes a message of a person's. Where the channel does not let us, they are asked to do it.
    fn remove(&self, connection: &mut dyn Connection, to: &Address, message: &str) -> Sent {
        let failure = match connection.delete(to, message) {
            Err(failure @ (Failure::Refused(_) | Failure::MessageGone | Failure::Markup(_))) => {
                failure
            }
            deleted => return deleted,
        };
        tracing::warn!(chat = %to, "failed to delete a message: {failure}");
        let text = message_not_deleted(self.parts.languages.get(to));
        let post = Post {
            text,
            ..Post::default()
        };
        put(connection, to, &post, text, None).map(drop)
    }

    fn notify(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        content: &Content,
        index: usize,
    ) -> Sent<Outcome> {
        let render = |text: &str| self.parts.adapter.render(text);
        let mut offer = None;
        let (piece, buttons, is_last) = match content {
            Content::Question(asked) => {
                let rows = buttons::for_question(asked.number, &asked.question, asked.language);
                let choices = self.parts.choices.as_ref();
                let offered = choices.and_then(|it| it.prepare(to, &rows, asked.language));
                let (made, choices) = offered.unzip();
                offer = made.map(|offer| Offer {
                    question: Some(asked.number),
                    ..offer
                });
                let choices = choices.unwrap_or_default();
                let rendered = question::render_question(asked, None, &choices, &render);
                if rendered.is_cut && index == 0 {
                    let command = (asked.question.command.as_str(), only(&asked.only_for));
                    return match self.show_whole(connection, to, command) {
                        Err(failure) if command.1.is_some() && is_refusal(&failure) => {
                            self.say_not_sent(connection, to, failure)?;
                            self.parts.observer.asked(asked.number, "");
                            Ok(done(None, true))
                        }
                        shown => shown.map(|()| done(None, false)),
                    };
                }
                (rendered.piece, rows, true)
            }
            Content::Text(text) => {
                self.parts.observer.shows(to, &[]);
                let mut pieces = render(text).into_iter().skip(index);
                (pieces.next(), Vec::new(), pieces.next().is_none())
            }
        };
        let Some(piece) = piece else {
            return Ok(Outcome::Dropped);
        };
        let post = Post {
            text: &piece.written,
            is_marked: true,
            buttons: self.posted(&buttons),
            only_for: match content {
                Content::Question(asked) => only(&asked.only_for),
                Content::Text(_) => None,
            },
            ..Post::default()
        };
        match self.put_offer(connection, to, (&post, &piece.plain), (None, offer)) {
            Err(failure) if is_refusal(&failure) && matches!(content, Content::Text(_)) => {
                let refused = Refused {
                    plain: &piece.plain,
                    edits: None,
                    silent: false,
                    only_for: None,
                    failure,
                };
                self.rescue(connection, to, refused)?;
                Ok(done(None, is_last))
            }
            sent => {
                let message = match sent {
                    Err(failure) if post.only_for.is_some() && is_refusal(&failure) => {
                        self.say_not_sent(connection, to, failure)?;
                        None
                    }
                    sent => sent?,
                };
                if let Content::Question(asked) = content {
                    let shown = message.as_deref().unwrap_or_default();
                    self.parts.observer.asked(asked.number, shown);
                }
                Ok(done(message, is_last))
            }
        }
    }

    /// Puts the outcome in the place of a question; where the channel refuses that, the question only loses its buttons.
    fn settle(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        content: &Content,
        (message, settled): (&str, &Settled),
    ) -> Sent {
        let Content::Question(asked) = content else {
            return Ok(());
        };
        let render = |text: &str| self.parts.adapter.render(text);
        if !self.parts.adapter.capabilities().edits {
            // In a private chat, who has answered knows it.
            let is_group = self.parts.adapter.is_group(to).unwrap_or(false);
            let is_news = is_group || !settled.is_by_person();
            let text = settled.describe(asked);
            let piece = render(&text).into_iter().next().filter(|_| is_news);
            return piece.map_or(Ok(()), |piece| {
                let post = Post {
                    text: &piece.written,
                    is_marked: true,
                    reply_to: self.reply_to(message),
                    ..Post::default()
                };
                put(connection, to, &post, &piece.plain, None).map(drop)
            });
        }
        let piece = |settled| question::render_question(asked, settled, "", &render).piece;
        let mut edit = |piece: &Piece| {
            let post = Post {
                text: &piece.written,
                is_marked: true,
                ..Post::default()
            };
            connection.edit(to, message, &post)
        };
        let edited = match piece(Some(settled)) {
            Some(piece) => edit(&piece),
            None => Err(Failure::TooLong),
        };
        match (edited, piece(None)) {
            (Err(Failure::NotModified), _) => Ok(()),
            (Err(Failure::TooLong | Failure::Markup(_) | Failure::Refused(_)), Some(piece)) => {
                edit(&piece)
            }
            (edited, _) => edited,
        }
    }
}

/// See [`Post::only_for`].
fn only(person: &str) -> Option<&str> {
    (!person.is_empty()).then_some(person)
}

/// Whether the next piece makes no sound: of a message with several only the first one does.
fn is_silent(pending: &Pending) -> bool {
    pending.message.silent || pending.pieces > 0
}

/// The same for each attempt to send the same piece.
fn key(pending: &Pending) -> u64 {
    pending.key.wrapping_add(pending.pieces as u64)
}

fn done(message: Option<String>, is_last: bool) -> Outcome {
    Outcome::Done { message, is_last }
}

/// The outcome of a job that failed and is not a delivery.
fn failed(job: &Job, failure: Failure) -> Outcome {
    let why = failure.to_string();
    let outcome = Outcome::from(failure);
    if matches!(outcome, Outcome::Dropped) {
        match job {
            Job::Notify { to, .. } => {
                tracing::error!(chat = %to, "failed to deliver a question or a notice, giving up: {why}");
            }
            Job::SetMenu => tracing::warn!("failed to set the menu of commands: {why}"),
            _ => tracing::debug!("not shown: {why}"),
        }
    }
    outcome
}
