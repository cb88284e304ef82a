//! Texts that go as one message: with their picture, or in the channel's own layout.

use super::offer::{RenderedMessage, buttons_of};
use super::put::is_refusal;
use super::{Caller, is_silent, key, only};
use crate::base::message::OutgoingMessage;
use crate::channels::kit::adapter::{Connection, Failure, Post, Sent, Upload};
use crate::store::outbox::Pending;
use crate::text::markup::inline_code;

/// The endings of pictures, which chats show with the words below them.
const PICTURE_ENDINGS: [&str; 5] = ["jpg", "jpeg", "png", "webp", "gif"];

fn is_picture(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    let mut known = PICTURE_ENDINGS.iter();
    known.any(|known| ending.eq_ignore_ascii_case(known))
}

impl Caller<'_> {
    /// Sends a picture, or a file that is not one of the workspace, together with its text, and any file with a line that
    /// names it; `None` where they go apart.
    pub(super) fn send_with_file(
        &self,
        connection: &mut dyn Connection,
        pending: &Pending,
        rendered: &RenderedMessage,
        edits: Option<&str>,
    ) -> Option<Sent> {
        let message = &pending.message;
        let ([piece], None, None, 0) = (
            rendered.pieces.as_slice(),
            &rendered.offer,
            edits,
            pending.pieces,
        ) else {
            return None;
        };
        let [path] = message.files.as_slice() else {
            return None;
        };
        let name = OutgoingMessage::name_of(path);
        let is_named = !message.text.contains('\n') && message.text.contains(&inline_code(name));
        let is_shown_with_text = !message.made_files.is_empty() || is_picture(path) || is_named;
        if message.sticker.is_some() || !is_shown_with_text {
            return None;
        }
        let rows = buttons_of(message, self.parts.adapter.capabilities().button_data_bytes);
        let (key, silent) = (Some(key(pending)), is_silent(pending));
        let text = Post {
            text: &piece.written,
            is_marked: true,
            buttons: self.posted(&rows),
            reply_to: self.reply_to(&message.reply_to),
            key,
            silent,
            only_for: only(&message.only_for),
        };
        let file = self.open(path, name).ok()?;
        let upload = Upload {
            file: &file,
            name,
            key,
            silent,
            only_for: text.only_for,
            voice: message.voice,
            is_sticker: false,
        };
        match connection.upload_with_text(&message.to, &upload, &text)? {
            Err(failure) if is_refusal(&failure) => None,
            Err(Failure::Local(_)) => None,
            sent => Some(sent),
        }
    }

    /// Sends the whole text as one message of the channel's own layout: how many pieces have been sent then. `None` where it
    /// goes in its pieces.
    pub(super) fn send_rich(
        &self,
        connection: &mut dyn Connection,
        pending: &Pending,
        rendered: &RenderedMessage,
        edits: Option<&str>,
    ) -> Option<Sent<usize>> {
        let message = &pending.message;
        // Once one of its buttons is pressed, a choice is shown as plain text.
        let may = pending.pieces == 0 && rendered.offer.is_none() && message.buttons.is_empty();
        if !may || rendered.pieces.is_empty() {
            return None;
        }
        let rows = buttons_of(message, self.parts.adapter.capabilities().button_data_bytes);
        let post = Post {
            buttons: &rows,
            reply_to: self.reply_to(&message.reply_to),
            key: Some(key(pending)),
            silent: is_silent(pending),
            only_for: only(&message.only_for),
            ..Post::default()
        };
        let sent = connection.send_rich(&message.to, &message.text, &post, edits)?;
        Some(sent.map(|shown| {
            if !message.command_buttons.is_empty() {
                self.parts.outbox.note_shown(pending.id, &shown);
            }
            rendered.pieces.len()
        }))
    }
}
