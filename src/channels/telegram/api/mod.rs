//! The methods of the Bot API that are used, over one connection.

mod answer;
mod extras;
mod fault;
mod place;
mod transfer;
pub mod types;

pub use extras::{Extra, Extras};
pub use fault::ApiError;
pub use place::{Button, CHANNEL, ChatTarget, MessageBody, MessageRef};
pub use transfer::{Album, SendAs, Upload};

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits;
use crate::base::secret::{Eraser, Secret};
use crate::channels::kit::adapter::MenuEntry;
use crate::config::schema::Bot;
use crate::net::http::{Client, Settings, Tls};
use types::{File, Message, Peer, Update};

/// How long Telegram may take for what is over in a moment, drafts and "typing": the message that follows waits for it,
/// since it would be shown below that one otherwise. One that comes too late for all that goes after 30 s.
const MOMENT_PATIENCE: Duration = Duration::from_secs(3);

/// The kinds of updates that mean something to us.
const UPDATES: [&str; 4] = [
    "message",
    "edited_message",
    "callback_query",
    "stopped_message_generation",
];

/// Who the bot is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Me {
    /// Its id.
    pub id: i64,
    /// Its name without the `@`.
    pub username: String,
}

/// A connection to the Bot API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    base: String,
    token: Secret,
    /// Removes the token from replies: a proxy's page may contain the requested URL.
    eraser: Eraser,
    /// Called while the bytes of a file are moving.
    progress: Box<dyn Fn() + Send>,
    /// What the server takes besides; all connections share it.
    pub extras: Arc<Extras>,
    /// Whether all answers are messages of blocks.
    pub is_always_rich: bool,
}

impl Api {
    /// Prepares calls; nothing is connected yet. `patience` is how long a reply may take to begin,
    /// for a long poll longer than its own time.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL is invalid.
    pub fn new(tls: &Tls, config: &Bot, patience: Duration, cancel: &Cancel) -> Result<Self> {
        let settings = Settings {
            proxy: config.proxy.clone(),
            ..Settings::new(patience, limits::channels::IDLE)
        };
        let token = config.token.clone();
        let secret_part = token.expose().rsplit(':').next().unwrap_or_default();
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            base: config.api_base.trim_end_matches('/').to_owned(),
            eraser: Eraser::new([token.clone(), Secret::new(secret_part)]),
            token,
            progress: Box::new(|| ()),
            extras: Arc::default(),
            is_always_rich: false,
        })
    }

    /// Tries these.
    #[must_use]
    pub fn with_extras(self, extras: &Arc<Extras>) -> Self {
        Self {
            extras: Arc::clone(extras),
            ..self
        }
    }

    /// Calls `progress` whenever bytes of a file have moved.
    #[must_use]
    pub fn with_progress(self, progress: impl Fn() + Send + 'static) -> Self {
        Self {
            progress: Box::new(progress),
            ..self
        }
    }

    /// Who the token belongs to.
    pub fn get_me(&self) -> Result<Me, ApiError> {
        let me: Peer = self.call("getMe", &[])?;
        Ok(Me {
            id: me.id,
            username: me.username,
        })
    }

    /// The updates from the number `offset` on, which confirms all before it. Waits up to `time` for the
    /// first; returns at most `limit`.
    pub fn get_updates(
        &self,
        offset: Option<i64>,
        limit: usize,
        time: Duration,
        admits: types::Admission<'_>,
    ) -> Result<Vec<Update>, ApiError> {
        let fields = [
            ("offset", offset.into()),
            ("limit", limit.into()),
            ("timeout", time.as_secs().into()),
            ("allowed_updates", json!(UPDATES)),
        ];
        let answer = self.ask("getUpdates", &fields)?;
        types::updates(answer::result(&answer)?, admits)
            .map_err(|error| answer::not_understood(&error))
    }

    /// Sets the menu of commands in a language; the English one is for everyone without one of their
    /// own.
    pub fn set_my_commands(
        &self,
        commands: &[MenuEntry],
        language: Language,
    ) -> Result<(), ApiError> {
        let entry = |entry: &MenuEntry| {
            let does = entry.help(language);
            json!({"command": entry.name, "description": does})
        };
        let commands: Vec<Value> = commands.iter().map(entry).collect();
        let code = match language {
            Language::English => "",
            other => other.code(),
        };
        self.act(
            "setMyCommands",
            &[
                ("commands", commands.into()),
                ("language_code", code.into()),
            ],
        )
    }

    /// Sends a message, as a reply if the message replied to still exists. Returns the new message.
    pub fn send_message(
        &self,
        place: ChatTarget,
        body: &MessageBody<'_>,
        reply_to: Option<i64>,
    ) -> Result<MessageRef, ApiError> {
        let sent: Message = self.call(
            "sendMessage",
            &[
                place.chat(),
                place.thread(),
                ("text", body.text.into()),
                no_preview(),
                body.mode(),
                body.sound(),
                body.markup(),
                body.receiver(),
                place::reply(reply_to),
            ],
        )?;
        Ok(MessageRef::of(&sent, body.only_for))
    }

    /// Sends a message of blocks, as a reply if the message replied to still exists. `body` has no text.
    pub fn send_rich_message(
        &self,
        place: ChatTarget,
        blocks: &Value,
        body: &MessageBody<'_>,
        reply_to: Option<i64>,
    ) -> Result<MessageRef, ApiError> {
        let fields = [
            place.chat(),
            place.thread(),
            ("rich_message", json!({"blocks": blocks})),
            body.sound(),
            body.markup(),
            body.receiver(),
            place::reply(reply_to),
        ];
        let sent: Message = self.call("sendRichMessage", &fields)?;
        Ok(MessageRef::of(&sent, body.only_for))
    }

    /// Puts blocks and buttons in the place of one of the bot's messages.
    pub fn edit_rich_message(
        &self,
        place: ChatTarget,
        message: MessageRef,
        blocks: &Value,
        body: &MessageBody<'_>,
    ) -> Result<(), ApiError> {
        let [id, receiver] = message.names();
        let rich = ("rich_message", json!({"blocks": blocks}));
        let method = message.method("editMessageText", "editEphemeralMessageText");
        self.act(method, &[place.chat(), id, receiver, rich, body.markup()])
    }

    /// Shows a text that is not finished in a private chat, for 30 s or until the next message, with a button that stops
    /// it. `draft` is not 0; of the same one the newest text is shown.
    pub fn send_message_draft(
        &self,
        place: ChatTarget,
        draft: u32,
        body: &MessageBody<'_>,
    ) -> Result<(), ApiError> {
        let fields = [
            place.chat(),
            place.thread(),
            ("draft_id", draft.into()),
            ("text", body.text.into()),
            body.mode(),
            ("can_stop", true.into()),
        ];
        self.act_for_a_moment("sendMessageDraft", &fields)
    }

    /// Replaces the text and the buttons of one of the bot's messages.
    pub fn edit_message_text(
        &self,
        place: ChatTarget,
        message: MessageRef,
        body: &MessageBody<'_>,
    ) -> Result<(), ApiError> {
        let [id, receiver] = message.names();
        let fields = [
            place.chat(),
            id,
            receiver,
            ("text", body.text.into()),
            no_preview(),
            body.mode(),
            body.markup(),
        ];
        let method = message.method("editMessageText", "editEphemeralMessageText");
        self.act(method, &fields)
    }

    /// Replaces the text or the caption of one of the bot's messages, with its formatted parts, and removes its buttons.
    pub fn edit_formatted(
        &self,
        place: ChatTarget,
        message: i64,
        (text, entities): (&str, &[Value]),
        is_caption: bool,
    ) -> Result<(), ApiError> {
        let (method, names, preview) = match is_caption {
            true => (
                "editMessageCaption",
                ["caption", "caption_entities"],
                ("link_preview_options", Value::Null),
            ),
            false => ("editMessageText", ["text", "entities"], no_preview()),
        };
        let entities = (!entities.is_empty()).then_some(entities);
        let fields = [
            place.chat(),
            ("message_id", message.into()),
            (names[0], text.into()),
            (names[1], entities.into()),
            preview,
        ];
        self.act(method, &fields)
    }

    /// Replaces or removes the buttons of one of the bot's messages.
    pub fn edit_reply_markup(
        &self,
        place: ChatTarget,
        message: i64,
        buttons: &[Vec<Button>],
    ) -> Result<(), ApiError> {
        let fields = [
            place.chat(),
            ("message_id", message.into()),
            ("reply_markup", place::keyboard(buttons)),
        ];
        self.act("editMessageReplyMarkup", &fields)
    }

    /// Changes the name of a topic.
    pub fn edit_forum_topic(&self, place: ChatTarget, name: &str) -> Result<(), ApiError> {
        let fields = [place.chat(), place.thread(), ("name", name.into())];
        self.act("editForumTopic", &fields)
    }

    /// Deletes a message.
    pub fn delete_message(&self, place: ChatTarget, message: MessageRef) -> Result<(), ApiError> {
        let [id, receiver] = message.names();
        let method = message.method("deleteMessage", "deleteEphemeralMessage");
        self.act(method, &[place.chat(), id, receiver])
    }

    /// Shows an action such as `typing` for 5 s.
    pub fn send_chat_action(&self, place: ChatTarget, action: &str) -> Result<(), ApiError> {
        let fields = [place.chat(), place.thread(), ("action", action.into())];
        self.act_for_a_moment("sendChatAction", &fields)
    }

    /// Adds a reaction to a message; Telegram allows only some emoji.
    pub fn set_message_reaction(
        &self,
        place: ChatTarget,
        message: i64,
        emoji: &str,
    ) -> Result<(), ApiError> {
        let fields = [
            place.chat(),
            ("message_id", message.into()),
            ("reaction", json!([{"type": "emoji", "emoji": emoji}])),
        ];
        self.act("setMessageReaction", &fields)
    }

    /// Confirms a pressed button; `text` is shown to the person for a moment, unless it is empty.
    pub fn answer_callback_query(&self, id: &str, text: &str) -> Result<(), ApiError> {
        let text = (!text.is_empty()).then_some(text);
        let fields = [("callback_query_id", id.into()), ("text", text.into())];
        self.act("answerCallbackQuery", &fields)
    }

    /// Where a file can be downloaded.
    pub fn get_file(&self, id: &str) -> Result<File, ApiError> {
        self.call("getFile", &[("file_id", id.into())])
    }

    fn call<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        fields: &[(&str, Value)],
    ) -> Result<T, ApiError> {
        answer::read(answer::result(&self.ask(method, fields)?)?)
    }

    /// Calls a method and ignores its result.
    fn act(&self, method: &str, fields: &[(&str, Value)]) -> Result<(), ApiError> {
        answer::result(&self.ask(method, fields)?).map(drop)
    }

    /// The same for what is over in a moment, and no longer worth it after [`MOMENT_PATIENCE`].
    fn act_for_a_moment(&self, method: &str, fields: &[(&str, Value)]) -> Result<(), ApiError> {
        self.client.set_reply_time(Some(MOMENT_PATIENCE));
        let done = self.act(method, fields);
        self.client.set_reply_time(None);
        done
    }

    /// Calls a method. Fields that are null are left out.
    fn ask(&self, method: &str, fields: &[(&str, Value)]) -> Result<Vec<u8>, ApiError> {
        let given = fields.iter().filter(|(_, value)| !value.is_null());
        let members: Map<String, Value> = given
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let json = Value::Object(members).to_string();
        let headers = [("content-type", "application/json")];
        let url = self.url("", method);
        let answer = self.client.post(&url, &headers, json.as_bytes());
        answer
            .and_then(|answer| answer.read_to_end(limits::http::BODY_BYTES))
            .map_err(|error| self.explain(error))
    }

    /// The one place where the token is written into a URL.
    fn url(&self, area: &str, rest: &str) -> String {
        format!("{}{area}/bot{}/{rest}", self.base, self.token.expose())
    }

    /// The error without the token, which the reply may have repeated.
    fn explain(&self, error: Error) -> ApiError {
        match error {
            Error::Status {
                host,
                status,
                retry_after,
                body,
            } => Error::Status {
                host,
                status,
                retry_after,
                body: self.eraser.clean(&body).into_owned(),
            },
            error => error,
        }
        .into()
    }
}

/// Telegram fetches the first address of a text for its preview, without anybody's tap: an address that the model was talked
/// into would carry out what is in it.
fn no_preview() -> (&'static str, Value) {
    ("link_preview_options", json!({"is_disabled": true}))
}

#[cfg(test)]
mod tests;
