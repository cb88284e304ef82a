//! Files: those of a message, and commands that are too long for their question.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;

use super::offer::{RenderedMessage, buttons_of};
use super::put::{is_refusal, put};
use super::{COMMAND_FILE, Caller, is_silent, key, only};
use crate::base::error::Error;
use crate::base::limits::channels::CALL_TIME;
use crate::base::message::{Address, OutgoingMessage};
use crate::base::sync::Mutex;
use crate::channels::delivery::question;
use crate::channels::kit::adapter::{Connection, Failure, Post, Sent, Upload};
use crate::channels::kit::texts::file_not_sent;
use crate::store::outbox::Pending;
use crate::sys::file::open_to_read;
use crate::text::markup::inline_code;

/// Files of an album, on every channel that has albums.
const ALBUM_FILES: usize = 10;
/// Messages of which it is known that their files go one by one. Of more the album is tried once more.
const REFUSED_ALBUMS: usize = 16;

/// The messages whose files go one by one, because the channel has refused them as an album. All workers know them: each
/// piece of a message may be sent by another one.
#[derive(Default)]
pub(in crate::channels::delivery) struct RefusedAlbums(Mutex<VecDeque<u64>>);

impl RefusedAlbums {
    fn has(&self, message: u64) -> bool {
        self.0.lock().contains(&message)
    }

    fn add(&self, message: u64) {
        let mut messages = self.0.lock();
        if messages.len() >= REFUSED_ALBUMS {
            messages.pop_front();
        }
        messages.push_back(message);
    }
}

impl Caller<'_> {
    /// Sends the files that come next as an album, and the text with them if it comes next and is the only one: how many
    /// pieces have been sent then. `None` where they go one by one.
    pub(super) fn send_album(
        &self,
        connection: &mut dyn Connection,
        pending: &Pending,
        rendered: &RenderedMessage,
        edits: Option<&str>,
    ) -> Option<Sent<usize>> {
        let Pending { id, message, .. } = pending;
        // No album can be for one person alone.
        let is_alone = message.voice.is_some() || message.sticker.is_some();
        if is_alone || !message.only_for.is_empty() || self.refused_albums.has(*id) {
            return None;
        }
        let (piece, first) = match (rendered.pieces.as_slice(), pending.pieces) {
            (pieces, sent) if sent >= pieces.len() => (None, sent - pieces.len()),
            ([piece], 0) if edits.is_none() && rendered.offer.is_none() => (Some(piece), 0),
            _ => return None,
        };
        if piece.is_some() && !buttons_of(message, usize::MAX).is_empty() {
            return None;
        }
        let paths = message.files.get(first..).filter(|files| files.len() > 1)?;
        let names = paths.iter().map(|path| OutgoingMessage::name_of(path));
        let opened = paths.iter().zip(names).take(ALBUM_FILES);
        let opened = opened.map_while(|(path, name)| Some((self.open(path, name).ok()?, name)));
        let files: Vec<(File, &str)> = opened.collect();
        let (key, silent) = (Some(key(pending)), is_silent(pending));
        let uploads = files.iter().map(|(file, name)| Upload {
            file,
            name,
            key,
            silent,
            only_for: None,
            voice: None,
            is_sticker: false,
        });
        let uploads: Vec<Upload<'_>> = uploads.collect();
        let text = piece.map(|piece| Post {
            text: &piece.written,
            is_marked: true,
            reply_to: self.reply_to(&message.reply_to),
            key,
            silent,
            ..Post::default()
        });
        match connection.upload_album(&message.to, &uploads, text.as_ref())? {
            Err(failure) if is_lasting(&failure) => {
                tracing::info!(chat = %message.to, "files go one by one: {failure}");
                self.refused_albums.add(*id);
                None
            }
            sent => Some(sent.map(|files| pending.pieces + usize::from(piece.is_some()) + files)),
        }
    }

    /// Sends a file of the workspace; if that fails, the person is told why instead.
    pub(super) fn send_file(
        &self,
        connection: &mut dyn Connection,
        pending: &Pending,
        path: &str,
    ) -> Sent {
        let (to, name) = (&pending.message.to, OutgoingMessage::name_of(path));
        let first = pending.message.files.first();
        let voice = pending
            .message
            .voice
            .filter(|_| first.is_some_and(|first| first == path));
        let sticker = &pending.message.sticker;
        let sticker = sticker
            .as_ref()
            .filter(|_| first.is_some_and(|first| first == path));
        let (key, silent) = (Some(key(pending)), is_silent(pending));
        let only_for = only(&pending.message.only_for);
        let file = self.open(path, name).map_err(Failure::Local);
        let sent = file.and_then(|file| {
            let upload = Upload {
                file: &file,
                name,
                key,
                silent,
                only_for,
                voice,
                is_sticker: sticker.is_some(),
            };
            connection.upload(to, &upload)
        });
        let failure = match sent {
            Err(failure) if is_lasting(&failure) => failure,
            sent => return sent,
        };
        tracing::warn!(chat = %to, "failed to send a file: {failure}");
        self.heartbeat.beat(CALL_TIME);
        let name = inline_code(name);
        let text = match sticker {
            // Where no picture can be shown, its name says what was meant.
            Some(sticker) => format!("({sticker})"),
            None => file_not_sent(self.parts.languages.get(to), &name, &failure),
        };
        let Some(piece) = self.parts.adapter.render(&text).into_iter().next() else {
            return Ok(());
        };
        let post = Post {
            text: &piece.written,
            is_marked: true,
            key,
            silent,
            only_for,
            ..Post::default()
        };
        match put(connection, to, &post, &piece.plain, None) {
            Err(failure) if only_for.is_some() && is_refusal(&failure) => {
                self.say_not_sent(connection, to, failure)
            }
            put => put.map(drop),
        }
    }

    /// Shows all of a command before it is asked about: as a file, or else in messages, which begin again when one of them
    /// fails.
    pub(super) fn show_whole(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        (command, only_for): (&str, Option<&str>),
    ) -> Sent {
        let file = question::as_file(command).map_err(Failure::Local);
        let sent = file.and_then(|file| {
            let upload = Upload {
                file: &file,
                name: COMMAND_FILE,
                key: None,
                silent: false,
                only_for,
                voice: None,
                is_sticker: false,
            };
            connection.upload(to, &upload)
        });
        match sent {
            Err(failure) if is_lasting(&failure) => {
                tracing::info!(chat = %to, "a long command goes as text: {failure}");
            }
            sent => return sent,
        }
        for piece in question::whole(command, &|text| self.parts.adapter.render(text)) {
            self.heartbeat.beat(CALL_TIME);
            let post = Post {
                text: &piece.written,
                is_marked: true,
                silent: true,
                only_for,
                ..Post::default()
            };
            put(connection, to, &post, &piece.plain, None)?;
        }
        Ok(())
    }

    pub(super) fn open(&self, path: &str, name: &str) -> crate::base::error::Result<File> {
        let path = Path::new(path);
        let file = if self.parts.outgoing.holds(path) {
            open_to_read(path).map_err(Error::io("open", name))?
        } else {
            (self.parts.workspace_with)(path)?.open_read(path)?
        };
        let length = file.metadata().map_err(Error::io("read", name))?.len();
        let limit = self.parts.adapter.capabilities().upload_bytes;
        if length > limit {
            Err(Error::TooLarge {
                what: name.to_owned(),
                limit: usize::try_from(limit).unwrap_or(usize::MAX),
            })
        } else {
            Ok(file)
        }
    }
}

/// Whether a file would be refused again.
fn is_lasting(failure: &Failure) -> bool {
    is_refusal(failure) || matches!(failure, Failure::Local(_) | Failure::NotModified)
}
