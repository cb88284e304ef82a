//! One message through the connection, and its other forms when the channel refuses it for good.

use super::Caller;
use crate::base::limits::channels::CALL_TIME;
use crate::base::message::Address;
use crate::channels::delivery::question::as_file;
use crate::channels::kit::adapter::{Connection, Failure, Post, Sent, Upload};
use crate::channels::kit::texts::message_not_sent;
use crate::text::truncate_bytes;

/// Parts of a message that is sent once more in smaller ones, because the channel refuses it.
const RESCUE_PARTS: usize = 4;
/// Bytes of a message that is not made smaller.
const RESCUE_BYTES: usize = 256;

/// The name of the file with a text that the channel refuses as a message.
const TEXT_FILE: &str = "message.txt";

/// A message that the channel has refused.
pub(super) struct Refused<'a> {
    /// Its text without markup.
    pub plain: &'a str,
    /// The draft that it was to replace.
    pub edits: Option<&'a str>,
    /// See [`Post::silent`].
    pub silent: bool,
    /// See [`Post::only_for`].
    pub only_for: Option<&'a str>,
    /// What the channel says.
    pub failure: Failure,
}

/// Whether the channel refuses this message for good, and may take another form of it.
pub(super) fn is_refusal(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Markup(_) | Failure::TooLong | Failure::Refused(_) | Failure::MessageGone
    )
}

impl Caller<'_> {
    /// Brings the text of a refused message to the person in another form: without markup and buttons, in smaller
    /// parts, as a file; else says that there is one. The error is what all of that ended with.
    pub(super) fn rescue(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        refused: Refused<'_>,
    ) -> Sent {
        let Refused {
            plain,
            edits,
            silent,
            only_for,
            failure,
        } = refused;
        tracing::warn!(chat = %to, "the channel refuses a message, which goes in another form: {failure}");
        if let Some(draft) = edits {
            // It stays beside the message otherwise.
            let _ = connection.delete(to, draft);
        }
        let post = |text, silent| Post {
            text,
            silent,
            only_for,
            ..Post::default()
        };
        let smaller = parts(plain);
        for parts in [&[plain][..], &smaller] {
            let sent = parts.iter().enumerate().try_for_each(|(index, part)| {
                self.heartbeat.beat(CALL_TIME);
                let post = post(part, silent || index > 0);
                connection.send(to, &post).map(drop)
            });
            match sent {
                Err(failure) if is_refusal(&failure) => {}
                sent => return sent,
            }
        }
        self.heartbeat.beat(CALL_TIME);
        let uploaded = as_file(plain).map_err(Failure::Local).and_then(|file| {
            let upload = Upload {
                file: &file,
                name: TEXT_FILE,
                key: None,
                silent,
                only_for,
                voice: None,
                is_sticker: false,
            };
            connection.upload(to, &upload)
        });
        match uploaded {
            Err(failure) if is_refusal(&failure) || matches!(failure, Failure::Local(_)) => {}
            uploaded => return uploaded,
        }
        self.say_not_sent(connection, to, failure)
    }

    /// Says to all who are in the chat that a message could not be sent, and nothing of what it says.
    pub(super) fn say_not_sent(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        failure: Failure,
    ) -> Sent {
        self.heartbeat.beat(CALL_TIME);
        let text = message_not_sent(self.parts.languages.get(to), &failure);
        let post = Post {
            text: &text,
            ..Post::default()
        };
        match connection.send(to, &post) {
            Err(other) if is_refusal(&other) => Err(failure),
            sent => sent.map(drop),
        }
    }
}

/// A text in smaller parts, which end at the end of a line or a word where there is one.
fn parts(text: &str) -> Vec<&str> {
    let most = text.len().div_ceil(RESCUE_PARTS).max(RESCUE_BYTES);
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    while rest.len() > most {
        let head = truncate_bytes(rest, most);
        let end = head.rfind('\n').or_else(|| head.rfind(' '));
        let (part, after) = rest.split_at(end.filter(|end| *end > most / 2).unwrap_or(head.len()));
        parts.push(part.trim_end());
        rest = after.trim_start();
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Edits a message, or sends one if there is none to edit; as plain text if the channel rejects the
/// markup. Returns the id of the message that was sent.
pub(super) fn put(
    connection: &mut dyn Connection,
    to: &Address,
    post: &Post<'_>,
    plain: &str,
    edits: Option<&str>,
) -> Sent<Option<String>> {
    match put_once(connection, to, post, edits) {
        Err(Failure::Markup(said)) => {
            tracing::warn!(chat = %to, "sent as plain text, because the channel rejects the markup: {said}");
            let post = Post {
                text: plain,
                is_marked: false,
                ..*post
            };
            put_once(connection, to, &post, edits)
        }
        done => done,
    }
}

fn put_once(
    connection: &mut dyn Connection,
    to: &Address,
    post: &Post<'_>,
    edits: Option<&str>,
) -> Sent<Option<String>> {
    if let Some(message) = edits {
        match connection.edit(to, message, post) {
            Err(Failure::MessageGone) => {}
            Err(Failure::NotModified) | Ok(()) => return Ok(None),
            Err(failure) => return Err(failure),
        }
    }
    let sent = match connection.send(to, post) {
        // What it quotes was deleted.
        Err(Failure::MessageGone) if post.reply_to.is_some() => {
            let post = Post {
                reply_to: None,
                ..*post
            };
            connection.send(to, &post)
        }
        sent => sent,
    };
    sent.map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_parts_of_a_text_are_all_of_it(text in "[a-z é漢\n]{0,900}") {
            let parts = parts(&text);
            prop_assert!(parts.len() <= 2 * RESCUE_PARTS + 1);
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(plain(&parts.concat()), plain(&text));
        }
    }
}
