//! Telegram as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::api::{
    Album, Api, ApiError, Button, ChatTarget, Extra, Extras, MessageBody, MessageRef, SendAs,
    Upload,
};
use super::{receive, rich};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::channels::{
    BUTTON_DATA_BYTES, CALL_TIME, CHAT_INTERVAL, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE,
    TOTAL_SPAN, UPLOAD_BYTES,
};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    self, Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent,
};
use crate::channels::kit::markdown::html;
use crate::channels::kit::sink::SharedSink;
use crate::config::schema;
use crate::net::http::Tls;
use crate::text::markup;

/// Messages to one group within [`GROUP_SPAN`].
const GROUP_MESSAGES: usize = 20;
/// See [`GROUP_MESSAGES`].
const GROUP_SPAN: Duration = Duration::from_secs(60);
/// Messages to all chats within [`TOTAL_SPAN`].
const TOTAL_MESSAGES: usize = 30;
/// How often "typing" is shown, which Telegram takes away after five seconds.
const TYPING_INTERVAL: Duration = Duration::from_secs(4);
/// Bytes of a picture that is sent as one; a larger one goes as a file.
const PHOTO_BYTES: u64 = 10 * 1024 * 1024;

/// UTF-16 units of a caption.
const CAPTION_UNITS: usize = 1024;

/// The endings of pictures that Telegram shows as such.
const PHOTO_ENDINGS: [&str; 4] = ["jpg", "jpeg", "png", "webp"];

/// The endings of files that Telegram takes as stickers. <https://core.telegram.org/bots/api#sendsticker>
const STICKER_ENDINGS: [&str; 3] = ["webp", "tgs", "webm"];

/// The endings of videos that Telegram shows as such in an album.
const VIDEO_ENDINGS: [&str; 2] = ["mp4", "mov"];
/// Files of an album. <https://core.telegram.org/bots/api#sendmediagroup>
const ALBUM_FILES: usize = 10;
/// Bytes of an album: all of it goes again when the line breaks.
const ALBUM_BYTES: u64 = UPLOAD_BYTES;

/// The part of a refusal that says that a server is of a version without a method. Any other one is about one message.
const NO_METHOD: &str = "method not found";

/// Parts of refusals, in lower case, that say that a server has no messages for one person.
const NO_EPHEMERAL: [&str; 4] = [
    NO_METHOD,
    "ephemeral_disabled",
    "ephemeral_not_supported",
    "ephemeral messages are not supported",
];

/// Telegram, as the configuration describes it.
pub struct Telegram {
    config: schema::Bot,
    tls: Tls,
    clock: Clock,
    capabilities: Capabilities,
    state: Option<PathBuf>,
    /// What is wanted and no server has refused.
    extras: Arc<Extras>,
}

impl Telegram {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(config: schema::Bot, tls: Tls, clock: Clock) -> Self {
        let capabilities = Capabilities {
            buttons: true,
            edits: true,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            typing_interval: Some(TYPING_INTERVAL),
            chat_interval: CHAT_INTERVAL,
            group_rate: (GROUP_MESSAGES, GROUP_SPAN),
            total_rate: (TOTAL_MESSAGES, TOTAL_SPAN),
            reaction: config.react_emoji.clone(),
            quotes: config.reply_to_message,
            edit_interval: Some(Duration::from_millis(config.stream_edit_interval_ms)),
        };
        Self {
            extras: Arc::new(Extras::of([
                (Extra::Drafts, config.flag("drafts")),
                (Extra::Ephemeral, config.flag("ephemeral")),
                (Extra::Rich, config.text("richMessages") != "off"),
            ])),
            config,
            tls,
            clock,
            capabilities,
            state: None,
        }
    }

    /// Notes in this folder which updates crash the program, so that each can do so only twice.
    #[must_use]
    pub fn remembering(self, state: PathBuf) -> Self {
        Self {
            state: Some(state),
            ..self
        }
    }
}

impl Adapter for Telegram {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        // The ids of groups are negative, and no chat has 0.
        let place = ChatTarget::parse(address).filter(|place| place.chat != 0);
        place.map(|place| place.chat < 0)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &html::Html)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &html::Html)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        let api = Api::new(&self.tls, &self.config, TEST_PATIENCE, cancel)?;
        Ok(format!("@{}", api.get_me()?.username))
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        let api = Api::new(&self.tls, &self.config, PATIENCE, cancel)?;
        let heartbeat = heartbeat.clone();
        let api = api.with_progress(move || heartbeat.beat(CALL_TIME));
        let mut api = api.with_extras(&self.extras);
        api.is_always_rich = self.config.text("richMessages") == "on";
        Ok(Box::new(api))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(receive::ReceiverParts {
            tls: &self.tls,
            config: &self.config,
            clock: &self.clock,
            intake,
            heartbeat,
            cancel,
            state: self.state.clone(),
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let buttons = keyboard(post);
        let reply_to = post.reply_to.and_then(|message| message.parse().ok());
        let place = place(to)?;
        let sent = to_receiver(self, place, body(post, &buttons), |to, body| {
            let reply_to = reply_to.filter(|_| to == place);
            let send = |to, reply_to| self.send_message(to, body, reply_to);
            let sent = in_topic_or_chat((to, reply_to), send)?;
            let moved_to = (to != place).then_some(to.chat);
            Ok(MessageRef { moved_to, ..sent })
        });
        Ok(sent?.to_string())
    }

    fn send_rich(
        &mut self,
        to: &Address,
        markdown: &str,
        post: &Post<'_>,
        edits: Option<&str>,
    ) -> Option<Sent<String>> {
        if !self.extras.has(Extra::Rich) {
            return None;
        }
        let blocks = rich::blocks(markdown, self.is_always_rich && post.buttons.is_empty())?;
        let (place, edits) = (ChatTarget::parse(to)?, edits.and_then(MessageRef::parse));
        let buttons = keyboard(post);
        let reply_to = post.reply_to.and_then(|message| message.parse().ok());
        let mut body = body(post, &buttons);
        let is_for_one = is_for_one(self, place, &body);
        body.only_for = body.only_for.filter(|_| is_for_one);
        let sent = match edits {
            Some(message) => {
                let (place, body) = (message.place(place), of_place(body, message));
                let edited = self.edit_rich_message(place, message, &blocks, &body);
                edited.map(|()| message)
            }
            None => in_topic_or_chat((place, reply_to), |place, reply_to| {
                self.send_rich_message(place, &blocks, &body, reply_to)
            }),
        };
        match sent {
            Err(ApiError::Refused(said)) => {
                // Only this is not about the chat, the person or the blocks.
                if is_unknown_method(&said) && !is_for_one {
                    self.extras.forget(Extra::Rich, &said);
                }
                None
            }
            // The usual message shows what can be done about it.
            Err(error)
                if error.is_final() && (is_for_one || !matches!(error, ApiError::Gone { .. })) =>
            {
                None
            }
            sent => Some(sent.map(|sent| sent.to_string()).map_err(Failure::from)),
        }
    }

    fn preview(&mut self, to: &Address, id: u32, post: &Post<'_>) -> Option<Sent> {
        let place = ChatTarget::parse(to).filter(|place| place.chat > 0)?;
        if !self.extras.has(Extra::Drafts) {
            return None;
        }
        let shown = match self.send_message_draft(place, id, &body(post, &[])) {
            Err(ApiError::Refused(said) | ApiError::TopicGone(said)) => {
                if is_unknown_method(&said) {
                    self.extras.forget(Extra::Drafts, &said);
                }
                return None;
            }
            shown => shown,
        };
        Some(shown.map_err(Failure::from))
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        let buttons = keyboard(post);
        let (place, message) = (place(to)?, id(message)?);
        let body = of_place(body(post, &buttons), message);
        let edited = self.edit_message_text(message.place(place), message, &body);
        match (edited, message.only_for.or(message.moved_to)) {
            // It is sent again: where its topic was, into the chat.
            (Err(ApiError::TopicGone(_)), _) => Err(Failure::MessageGone),
            // The same, into the person's private chat if need be.
            (Err(ApiError::Refused(_) | ApiError::Gone { moved_to: None, .. }), Some(_)) => {
                Err(Failure::MessageGone)
            }
            (edited, _) => Ok(edited?),
        }
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        let message = id(message)?;
        Ok(self.delete_message(message.place(place(to)?), message)?)
    }

    fn upload(&mut self, to: &Address, upload: &adapter::Upload<'_>) -> Sent {
        let caption = MessageBody {
            silent: upload.silent,
            only_for: receiver(upload.only_for),
            ..MessageBody::default()
        };
        send_as_it_is(self, place(to)?, upload, (caption, None))
    }

    fn upload_with_text(
        &mut self,
        to: &Address,
        upload: &adapter::Upload<'_>,
        text: &Post<'_>,
    ) -> Option<Sent> {
        // Its markup is counted too, which does no harm.
        if text.text.encode_utf16().count() > CAPTION_UNITS {
            return None;
        }
        let buttons = keyboard(text);
        let reply_to = text.reply_to.and_then(|message| message.parse().ok());
        let caption = (body(text, &buttons), reply_to);
        Some(place(to).and_then(|place| send_as_it_is(self, place, upload, caption)))
    }

    fn upload_album(
        &mut self,
        to: &Address,
        uploads: &[adapter::Upload<'_>],
        text: Option<&Post<'_>>,
    ) -> Option<Sent<usize>> {
        let text = text.copied().unwrap_or_default();
        if text.text.encode_utf16().count() > CAPTION_UNITS {
            return None;
        }
        let caption = MessageBody {
            silent: uploads.first()?.silent,
            ..body(&text, &[])
        };
        let album = album(uploads, caption)?;
        let reply_to = text.reply_to.and_then(|message| message.parse().ok());
        let sent = place(to).and_then(|place| {
            let sent = in_topic_or_chat((place, reply_to), |place, reply_to| {
                album.rewind()?;
                self.send_media_group(place, &album, reply_to)
            });
            Ok(sent?)
        });
        Some(sent.map(|()| album.files.len()))
    }

    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent {
        Ok(self.set_message_reaction(place(to)?, id(message)?.id, emoji)?)
    }

    fn typing(&mut self, to: &Address) -> Sent {
        Ok(self.send_chat_action(place(to)?, "typing")?)
    }

    fn fetch(&mut self, id: &str, into: &mut File, limit: usize) -> Sent {
        let found = self.get_file(id)?;
        if found.file_size.is_some_and(|size| size > limit as u64) {
            return Err(Failure::Local(Error::TooLarge {
                what: "the file".to_owned(),
                limit,
            }));
        }
        Ok(self.download(&found.file_path, into, limit)?)
    }

    fn set_menu(&mut self, commands: &[MenuEntry]) -> Sent {
        for language in Language::ALL {
            self.set_my_commands(commands, language)?;
        }
        Ok(())
    }
}

/// The first of these files, as far as they go together; `None` for fewer than two.
fn album<'a>(uploads: &[adapter::Upload<'a>], caption: MessageBody<'a>) -> Option<Album<'a>> {
    let mut album = Album {
        files: Vec::new(),
        kinds: Vec::new(),
        caption,
    };
    let mut bytes = 0;
    for adapter::Upload { file, name, .. } in uploads.iter().take(ALBUM_FILES) {
        let Ok(length) = file.metadata().map(|status| status.len()) else {
            break;
        };
        let kind = match () {
            () if has_ending(name, &PHOTO_ENDINGS) && length <= PHOTO_BYTES => "photo",
            () if has_ending(name, &VIDEO_ENDINGS) => "video",
            () => "document",
        };
        bytes += length;
        let is_document = |kind: &str| kind == "document";
        let mixes = album
            .kinds
            .first()
            .is_none_or(|first| is_document(first) == is_document(kind));
        if !mixes || bytes > ALBUM_BYTES {
            break;
        }
        album.files.push((*file, *name, length));
        album.kinds.push(kind);
    }
    (album.files.len() > 1).then_some(album)
}

/// Sends a file with its caption: as a voice message, as a picture where Telegram takes it for one, else as a document.
fn send_as_it_is(
    api: &Api,
    place: ChatTarget,
    upload: &adapter::Upload<'_>,
    (caption, reply_to): (MessageBody<'_>, Option<i64>),
) -> Sent {
    let adapter::Upload {
        mut file,
        name,
        voice,
        is_sticker,
        ..
    } = *upload;
    let length = file.metadata().map_err(Error::io("read", name));
    let length = length.map_err(Failure::Local)?.len();
    let is_photo = has_ending(name, &PHOTO_ENDINGS) && length <= PHOTO_BYTES;
    let sent = to_receiver(api, place, caption, |to, caption| {
        let mut send_to = |(to, reply_to), send_as| {
            let rewound = file.seek(SeekFrom::Start(0));
            rewound.map_err(|error| ApiError::Local(Error::io("read", name)(error)))?;
            let upload = Upload {
                file,
                name,
                send_as,
                caption: *caption,
            };
            api.send_file(to, &upload, reply_to)
        };
        let quoted = reply_to.filter(|_| to == place);
        let mut send =
            |send_as| in_topic_or_chat((to, quoted), |to, quoted| send_to((to, quoted), send_as));
        let is_sticker = is_sticker && has_ending(name, &STICKER_ENDINGS);
        let as_sticker = is_sticker.then(|| send(SendAs::Sticker));
        // One that Telegram refuses is a picture.
        if let Some(sent) = as_sticker.filter(|sent| !matches!(sent, Err(ApiError::Refused(_)))) {
            return sent;
        }
        let first = match voice {
            Some(seconds) => send(SendAs::Voice(seconds)),
            None if is_photo => send(SendAs::Photo),
            None => return send(SendAs::Document),
        };
        match first {
            Err(ApiError::Refused(said))
                if caption.only_for.is_some() && has_no_ephemeral(&said) =>
            {
                Err(ApiError::Refused(said))
            }
            // Too wide, too high, or not a picture after all; or the person takes no voice messages.
            Err(ApiError::Refused(_)) => send(SendAs::Document),
            sent => sent,
        }
    });
    Ok(sent.map(drop)?)
}

/// Sends something to a topic; where it is deleted or closed, to the chat that it was in, whose members are the same. It
/// quotes nothing there: a reply would go into the topic of what it quotes.
fn in_topic_or_chat<T>(
    (place, reply_to): (ChatTarget, Option<i64>),
    mut send: impl FnMut(ChatTarget, Option<i64>) -> std::result::Result<T, ApiError>,
) -> std::result::Result<T, ApiError> {
    match send(place, reply_to) {
        Err(ApiError::TopicGone(said)) if place.thread.is_some() => {
            tracing::warn!(chat = %place.address(), "a message goes into the chat of its topic: {said}");
            let chat = ChatTarget {
                thread: None,
                ..place
            };
            send(chat, None)
        }
        sent => sent,
    }
}

/// Whether a refusal says that the server is too old for a method. It says nothing about a chat or a message.
fn is_unknown_method(said: &str) -> bool {
    said.to_lowercase().contains(NO_METHOD)
}

/// Whether one person alone is to see a message in a group, and the server may do that.
fn is_for_one(api: &Api, place: ChatTarget, body: &MessageBody<'_>) -> bool {
    body.only_for.is_some() && place.chat < 0 && api.extras.has(Extra::Ephemeral)
}

/// Whether a refusal says that the server has no messages for one person. It says nothing else about this one.
fn has_no_ephemeral(said: &str) -> bool {
    let said = said.to_lowercase();
    NO_EPHEMERAL.iter().any(|known| said.contains(known))
}

/// Sends something that one person alone is to see in a group, `send` to a chat. To everyone only where the server has no
/// such messages; where it refuses this one, into the person's private chat, without buttons, which belong to the group.
fn to_receiver<T>(
    api: &Api,
    place: ChatTarget,
    body: MessageBody<'_>,
    mut send: impl FnMut(ChatTarget, &MessageBody<'_>) -> std::result::Result<T, ApiError>,
) -> std::result::Result<T, ApiError> {
    let to_all = MessageBody {
        only_for: None,
        ..body
    };
    let Some(person) = body.only_for.filter(|_| is_for_one(api, place, &body)) else {
        return send(place, &to_all);
    };
    let said = match send(place, &body) {
        Err(ApiError::Refused(said)) if has_no_ephemeral(&said) => {
            api.extras.forget(Extra::Ephemeral, &said);
            return send(place, &to_all);
        }
        Err(
            ApiError::Refused(said)
            | ApiError::TopicGone(said)
            | ApiError::Gone {
                said,
                moved_to: None,
            },
        ) => said,
        sent => return sent,
    };
    tracing::warn!("a message for one person goes into their private chat: {said}");
    let alone = MessageBody {
        buttons: &[],
        ..to_all
    };
    match send(ChatTarget::private(person), &alone) {
        Err(ApiError::Refused(_) | ApiError::Gone { .. }) => Err(ApiError::Refused(format!(
            "{said}. It is for one person alone, and neither this group nor a private chat can show it. Write to me in \
             private and ask there."
        ))),
        sent => sent,
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let said = error.to_string();
        match error {
            ApiError::TooManyRequests { retry_after } => Self::RetryAfter(retry_after),
            ApiError::CannotParse(said) => Self::Markup(said),
            ApiError::NotModified => Self::NotModified,
            ApiError::MessageGone => Self::MessageGone,
            ApiError::TooLong => Self::TooLong,
            ApiError::Gone { moved_to, .. } => Self::Gone {
                said,
                moved_to: moved_to.map(|chat| ChatTarget { chat, thread: None }.address()),
            },
            ApiError::TopicGone(_) | ApiError::Refused(_) => Self::Refused(said),
            ApiError::Server(_) | ApiError::Timeout(_) => Self::Trouble(said),
            ApiError::Token | ApiError::Conflict { .. } | ApiError::Network(_) => Self::Down(said),
            ApiError::Local(error) => Self::Local(error),
            ApiError::Stopped => Self::Stopped,
        }
    }
}

fn place(to: &Address) -> Sent<ChatTarget> {
    ChatTarget::parse(to).ok_or_else(|| Failure::Refused(format!("{to} is not a Telegram chat")))
}

/// The number of a message. A draft of another version of the program may have any text.
fn id(message: &str) -> Sent<MessageRef> {
    MessageRef::parse(message).ok_or(Failure::MessageGone)
}

fn receiver(person: Option<&str>) -> Option<i64> {
    person.and_then(|person| person.parse().ok())
}

fn keyboard(post: &Post<'_>) -> Vec<Vec<Button>> {
    let button = |button: &adapter::Button| Button {
        text: button.label.clone(),
        data: button.data.clone(),
    };
    let rows = post.buttons.iter();
    rows.map(|row| row.iter().map(button).collect()).collect()
}

fn body<'a>(post: &Post<'a>, buttons: &'a [Vec<Button>]) -> MessageBody<'a> {
    MessageBody {
        text: post.text,
        html: post.is_marked,
        buttons,
        silent: post.silent,
        only_for: receiver(post.only_for),
    }
}

/// The new content of a message: its buttons belong to the chat that it was for.
fn of_place(mut body: MessageBody<'_>, message: MessageRef) -> MessageBody<'_> {
    if message.moved_to.is_some() {
        body.buttons = &[];
    }
    body
}

fn has_ending(name: &str, known: &[&str]) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    known.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests;
