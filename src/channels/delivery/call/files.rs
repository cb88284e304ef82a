//! Files: those of a message, and commands that are too long for their question.

use std::fs::File;
use std::path::Path;

use super::put::{is_refusal, put};
use super::{COMMAND_FILE, Caller, is_silent, key};
use crate::base::error::Error;
use crate::base::limits::channels::CALL_TIME;
use crate::base::message::{Address, OutgoingMessage};
use crate::channels::delivery::question;
use crate::channels::kit::adapter::{Connection, Failure, Post, Sent, Upload};
use crate::channels::kit::texts::file_not_sent;
use crate::store::outbox::Pending;
use crate::sys::file::open_to_read;
use crate::text::markup::inline_code;

impl Caller<'_> {
    /// Sends a file of the workspace; if that fails, the person is told why instead.
    pub(super) fn send_file(
        &self,
        connection: &mut dyn Connection,
        pending: &Pending,
        path: &str,
    ) -> Sent {
        let name = OutgoingMessage::name_of(path);
        let file = self.open(path, name);
        let first = pending.message.files.first();
        let voice = pending
            .message
            .voice
            .filter(|_| first.is_some_and(|first| first == path));
        self.upload(
            connection,
            &pending.message.to,
            (file, name),
            (Some(key(pending)), is_silent(pending), voice),
        )
    }

    /// Sends a file; if that fails permanently, the person is told why instead.
    fn upload(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        (file, name): (crate::base::error::Result<File>, &str),
        (key, silent, voice): (Option<u64>, bool, Option<u64>),
    ) -> Sent {
        let sent = file.map_err(Failure::Local).and_then(|file| {
            let upload = Upload {
                file: &file,
                name,
                key,
                silent,
                voice,
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
        let text = file_not_sent(self.parts.languages.get(to), &name, &failure);
        let Some(piece) = self.parts.adapter.render(&text).into_iter().next() else {
            return Ok(());
        };
        let post = Post {
            text: &piece.written,
            is_marked: true,
            key,
            silent,
            ..Post::default()
        };
        put(connection, to, &post, &piece.plain, None).map(drop)
    }

    /// Shows all of a command before it is asked about: as a file, or else in messages, which begin again when one of them
    /// fails.
    pub(super) fn show_whole(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        command: &str,
    ) -> Sent {
        let file = question::as_file(command).map_err(Failure::Local);
        let sent = file.and_then(|file| {
            let upload = Upload {
                file: &file,
                name: COMMAND_FILE,
                key: None,
                silent: false,
                voice: None,
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
