//! What Telegram refuses, and its error messages. <https://core.telegram.org/bots/api>

use serde_json::{Value, json};

use super::request::Call;
use super::text::{html, utf16_length};

/// Maximum text of a message, in UTF-16 units, without tags.
const TEXT: usize = 4096;
/// The same for a caption.
const CAPTION: usize = 1024;
/// Maximum data of a button, in bytes.
const BUTTON_DATA: usize = 64;
/// Maximum number of buttons of a message.
const BUTTONS: usize = 100;
/// Maximum number of buttons in a row.
const ROW: usize = 8;
/// Maximum number of commands in the menu.
const COMMANDS: usize = 100;

/// The reactions that a bot may set.
/// <https://core.telegram.org/bots/api#reactiontypeemoji>
const REACTIONS: &str = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤\u{200d}🔥 \
    🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u{200d}💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 \
    🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷\u{200d}♂ 🤷 🤷\u{200d}♀ 😡";

/// The chat actions of a bot. <https://core.telegram.org/bots/api#sendchataction>
const ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// An error as an answer.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub code: u16,
    pub description: String,
    pub retry_after: Option<u32>,
    /// The chat that has taken the place of this one.
    pub migrated_to: Option<i64>,
    /// Whether a correct program may get it too, because of what people do meanwhile.
    pub innocent: bool,
}

impl Refusal {
    pub(super) fn new(code: u16, description: impl Into<String>) -> Self {
        Self {
            code,
            description: description.into(),
            retry_after: None,
            migrated_to: None,
            innocent: false,
        }
    }

    /// `Bad Request`, caused by the program.
    pub(super) fn bad(description: &str) -> Self {
        Self::new(400, format!("Bad Request: {description}"))
    }

    /// What the real server would accept, and no program should send.
    pub(super) fn never(description: String) -> Self {
        Self::bad(&description)
    }

    /// Another bot polls.
    pub(super) fn conflict() -> Self {
        Self::new(
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot \
             instance is running",
        )
        .innocent()
    }

    /// The person has blocked the bot.
    pub(super) fn blocked() -> Self {
        Self::new(403, "Forbidden: bot was blocked by the user").innocent()
    }

    /// The group is a supergroup now.
    pub(super) fn upgraded(to: i64) -> Self {
        let refusal = Self::bad("group chat was upgraded to a supergroup chat");
        Self {
            migrated_to: Some(to),
            ..refusal.innocent()
        }
    }

    /// Marks the error as caused by people.
    pub(super) fn innocent(mut self) -> Self {
        self.innocent = true;
        self
    }

    /// The answer's body.
    pub(super) fn body(&self) -> Value {
        let mut body =
            json!({"ok": false, "error_code": self.code, "description": self.description});
        if let Some(seconds) = self.retry_after {
            body["parameters"] = json!({"retry_after": seconds});
        }
        if let Some(chat) = self.migrated_to {
            body["parameters"] = json!({"migrate_to_chat_id": chat});
        }
        body
    }
}

/// The names of a method's parameters that are used here; `None` if there is no such method.
#[expect(clippy::too_many_lines, reason = "a table")]
fn parameters(method: &str) -> Option<&'static [&'static str]> {
    Some(match method {
        "getMe" => &[],
        "getUpdates" => &["offset", "limit", "timeout", "allowed_updates"],
        "deleteWebhook" => &["drop_pending_updates"],
        "setMyCommands" => &["commands", "scope", "language_code"],
        "sendMessage" => &[
            "ephemeral_message_parameters",
            "chat_id",
            "message_thread_id",
            "text",
            "parse_mode",
            "link_preview_options",
            "disable_notification",
            "reply_parameters",
            "reply_markup",
        ],
        "sendMessageDraft" => &[
            "chat_id",
            "message_thread_id",
            "draft_id",
            "text",
            "parse_mode",
            "can_stop",
            "keep_on_stop",
        ],
        "sendPhoto" => &[
            "ephemeral_message_parameters",
            "chat_id",
            "message_thread_id",
            "photo",
            "caption",
            "parse_mode",
            "disable_notification",
            "reply_parameters",
            "reply_markup",
        ],
        "sendVoice" => &[
            "ephemeral_message_parameters",
            "chat_id",
            "message_thread_id",
            "voice",
            "duration",
            "caption",
            "parse_mode",
            "disable_notification",
            "reply_parameters",
            "reply_markup",
        ],
        "sendSticker" => &[
            "chat_id",
            "message_thread_id",
            "sticker",
            "emoji",
            "disable_notification",
            "reply_parameters",
            "reply_markup",
        ],
        "sendDocument" => &[
            "ephemeral_message_parameters",
            "chat_id",
            "message_thread_id",
            "document",
            "caption",
            "parse_mode",
            "disable_content_type_detection",
            "disable_notification",
            "reply_parameters",
            "reply_markup",
        ],
        "sendRichMessage" => &[
            "chat_id",
            "message_thread_id",
            "rich_message",
            "disable_notification",
            "reply_parameters",
            "reply_markup",
            "ephemeral_message_parameters",
        ],
        "sendMediaGroup" => &[
            "chat_id",
            "message_thread_id",
            "media",
            "disable_notification",
            "reply_parameters",
        ],
        "editMessageCaption" => &[
            "chat_id",
            "message_id",
            "caption",
            "caption_entities",
            "reply_markup",
        ],
        "editMessageText" => &[
            "chat_id",
            "message_id",
            "rich_message",
            "text",
            "entities",
            "parse_mode",
            "link_preview_options",
            "reply_markup",
        ],
        "editEphemeralMessageText" => &[
            "chat_id",
            "rich_message",
            "receiver_user_id",
            "ephemeral_message_id",
            "text",
            "parse_mode",
            "link_preview_options",
            "reply_markup",
        ],
        "deleteEphemeralMessage" => &["chat_id", "receiver_user_id", "ephemeral_message_id"],
        "editMessageReplyMarkup" => &["chat_id", "message_id", "reply_markup"],
        "editForumTopic" => &["chat_id", "message_thread_id", "name"],
        "deleteMessage" => &["chat_id", "message_id"],
        "sendChatAction" => &["chat_id", "message_thread_id", "action"],
        "setMessageReaction" => &["chat_id", "message_id", "reaction", "is_big"],
        "answerCallbackQuery" => &["callback_query_id", "text", "show_alert", "cache_time"],
        "getFile" => &["file_id"],
        _ => return None,
    })
}

/// Checks that there is such a method, and that it has such parameters. The real server ignores
/// unknown parameters; here they are errors.
pub(super) fn call(call: &Call) -> Result<(), Refusal> {
    let Some(known) = parameters(&call.method) else {
        return Err(Refusal::new(404, "Not Found"));
    };
    let given = call.parameters.as_object().into_iter().flatten();
    for (name, _) in given {
        let is_attached = call.method == "sendMediaGroup" && call.attaches(name);
        if !known.contains(&name.as_str()) && !is_attached {
            let unknown = format!("{} has no parameter {name}", call.method);
            return Err(Refusal::never(unknown));
        }
    }
    Ok(())
}

/// The visible text: without tags, and without spaces around it.
pub(super) struct Shown {
    pub text: String,
    /// Its formatted parts.
    pub entities: Vec<Value>,
    /// What the server accepts although its documentation forbids it.
    pub breaches: Vec<String>,
}

/// Reads the text of a message.
pub(super) fn text(call: &Call) -> Result<Shown, Refusal> {
    let shown = formatted(call, "text")?;
    let is_quiet = call.parameters["link_preview_options"]["is_disabled"] == true;
    if shown.text.contains("://") && !is_quiet {
        return Err(Refusal::never(
            "the address in this text would be fetched for a preview".to_owned(),
        ));
    }
    match utf16_length(&shown.text) {
        0 => Err(Refusal::bad("message text is empty")),
        1..=TEXT => Ok(shown),
        _ => Err(Refusal::bad("message is too long")),
    }
}

/// Reads the text of a draft, which may be empty.
pub(super) fn draft(call: &Call) -> Result<Shown, Refusal> {
    let shown = formatted(call, "text")?;
    if call.integer("draft_id").is_none_or(|id| id == 0) {
        return Err(Refusal::bad("draft identifier must be non-zero"));
    }
    if utf16_length(&shown.text) > TEXT {
        return Err(Refusal::bad("message is too long"));
    }
    Ok(shown)
}

/// Reads a caption.
pub(super) fn caption(call: &Call) -> Result<Shown, Refusal> {
    let shown = formatted(call, "caption")?;
    if utf16_length(&shown.text) > CAPTION {
        return Err(Refusal::bad("message caption is too long"));
    }
    Ok(shown)
}

/// Reads the caption of a part of an album.
pub(super) fn caption_of(media: &Value) -> Result<Shown, Refusal> {
    let text = |name: &str| media[name].as_str().unwrap_or_default();
    let shown = format(text("caption"), text("parse_mode"))?;
    if utf16_length(&shown.text) > CAPTION {
        return Err(Refusal::bad("message caption is too long"));
    }
    Ok(shown)
}

fn formatted(call: &Call, name: &str) -> Result<Shown, Refusal> {
    let shown = format(call.text(name), call.text("parse_mode"))?;
    let given = match name {
        "text" => &call.parameters["entities"],
        _ => &call.parameters["caption_entities"],
    };
    Ok(match given.as_array() {
        Some(entities) => Shown {
            entities: entities.clone(),
            ..shown
        },
        None => shown,
    })
}

fn format(raw: &str, mode: &str) -> Result<Shown, Refusal> {
    let rendered = match mode {
        "" => html::Rendered {
            text: raw.to_owned(),
            ..html::Rendered::default()
        },
        "HTML" => html::render(raw)
            .map_err(|error| Refusal::bad(&format!("can't parse entities: {error}")))?,
        _ => return Err(Refusal::bad("unsupported parse_mode")),
    };
    let text = rendered
        .text
        .trim_end()
        .trim_start_matches(['\n', '\r'])
        .to_owned();
    Ok(Shown {
        text,
        entities: rendered.entities,
        breaches: rendered.breaches,
    })
}

/// Reads the buttons; `None` if there are none.
pub(super) fn markup(call: &Call) -> Result<Option<Value>, Refusal> {
    let markup = &call.parameters["reply_markup"];
    if markup.is_null() {
        return Ok(None);
    }
    let rows = markup["inline_keyboard"]
        .as_array()
        .ok_or_else(|| Refusal::bad("object expected as reply markup"))?;
    let mut count = 0;
    for row in rows {
        let row = row
            .as_array()
            .ok_or_else(|| Refusal::bad("field \"inline_keyboard\" must be an Array of Arrays"))?;
        count += row.len();
        if row.len() > ROW || count > BUTTONS {
            return Err(Refusal::bad("reply markup is too long"));
        }
        row.iter().try_for_each(button)?;
    }
    Ok((count > 0).then(|| markup.clone()))
}

fn button(button: &Value) -> Result<(), Refusal> {
    if button["text"].as_str().is_none_or(str::is_empty) {
        return Err(Refusal::bad(
            "inline keyboard button text must be non-empty",
        ));
    }
    match (&button["callback_data"], &button["url"]) {
        (Value::String(data), Value::Null) if (1..=BUTTON_DATA).contains(&data.len()) => Ok(()),
        (Value::Null, Value::String(_)) => Ok(()),
        (Value::Null, Value::Null) => Err(Refusal::bad(
            "text buttons are unallowed in the inline keyboard",
        )),
        _ => Err(Refusal::bad("BUTTON_DATA_INVALID")),
    }
}

/// Checks the menu of commands.
pub(super) fn commands(call: &Call) -> Result<(), Refusal> {
    let commands = call.parameters["commands"]
        .as_array()
        .ok_or_else(|| Refusal::bad("can't parse commands JSON object"))?;
    if commands.len() > COMMANDS {
        return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in commands {
        let name = command["command"].as_str().unwrap_or_default();
        let spelled = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '_');
        if !(1..=32).contains(&name.len()) || !name.chars().all(spelled) {
            return Err(Refusal::bad("BOT_COMMAND_INVALID"));
        }
        let description = command["description"].as_str().unwrap_or_default();
        if !(1..=256).contains(&utf16_length(description)) {
            return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    Ok(())
}

/// Reads the reactions to a message. A bot may set one.
pub(super) fn reactions(call: &Call) -> Result<Vec<String>, Refusal> {
    let given = call.parameters["reaction"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let invalid = || Refusal::bad("REACTION_INVALID");
    if given.len() > 1 {
        return Err(Refusal::bad("REACTIONS_TOO_MANY"));
    }
    let read = |reaction: &Value| {
        let emoji = reaction["emoji"]
            .as_str()
            .filter(|_| reaction["type"] == "emoji");
        let known = emoji.filter(|emoji| REACTIONS.split(' ').any(|known| known == *emoji));
        known.map(str::to_owned).ok_or_else(invalid)
    };
    given.iter().map(read).collect()
}

/// Checks a chat action.
pub(super) fn action(call: &Call) -> Result<(), Refusal> {
    if ACTIONS.contains(&call.text("action")) {
        Ok(())
    } else {
        Err(Refusal::bad("wrong parameter action in request"))
    }
}
