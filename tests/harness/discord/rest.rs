//! What the REST API's routes do. <https://discord.com/developers/docs/reference>

use serde_json::{Value, json};

use super::fault::{Refusal, cannot_send, unknown_channel};
use super::request::Call;
use super::server::{GATEWAY, State};
use super::store::{APPLICATION_ID, BOT_ID, BOT_NAME, DM, Message, Place, now};

/// Maximum text of a message, in code points.
pub(super) const LONGEST: usize = 2000;
/// Maximum nonce, in characters.
const NONCE: usize = 25;
/// Maximum number of files of a message.
const FILES: usize = 10;
/// Maximum request with files, in bytes.
const LARGEST: usize = 10 << 20;

/// The status and the body of an answer; null for an empty body.
pub(super) type Outcome = Result<(u16, Value), Refusal>;

const NOTHING: (u16, Value) = (204, Value::Null);

impl State {
    /// Carries out a call.
    pub(super) fn act(&mut self, call: &Call) -> Outcome {
        match call.route {
            "getGateway" => Ok((200, self.gateway_address())),
            "getMe" => Ok((200, self.store.user(None))),
            "getApplication" => Ok((200, application())),
            "createDm" => self.create_dm(call),
            "getChannel" => {
                let place = self.place(call)?;
                Ok((200, self.store.channel_json(place.0)))
            }
            "getMessages" => self.get_messages(call),
            "getMessage" => {
                let message = self.named(call)?.clone();
                Ok((200, self.store.json(&message)))
            }
            "createMessage" => self.create_message(call),
            "editMessage" => self.edit_message(call),
            "deleteMessage" => self.delete_message(call),
            "typing" => self.writable(call).map(|_| NOTHING),
            "react" | "unreact" => self.react(call),
            _ => self.act_on_interaction(call),
        }
    }

    fn gateway_address(&self) -> Value {
        json!({
            "url": format!("ws://{}{GATEWAY}", self.address), "shards": 1,
            "session_start_limit": {
                "total": 1000, "remaining": 1000 - self.gateway.readies,
                "reset_after": 14_400_000, "max_concurrency": 1,
            },
        })
    }

    fn create_dm(&mut self, call: &Call) -> Outcome {
        let recipient = snowflake(&call.parameters["recipient_id"]);
        let channel = recipient.and_then(|id| self.store.dm(id));
        let unknown = || Refusal::new(400, 50033, "Invalid Recipient(s)");
        let channel = channel.ok_or_else(unknown)?;
        Ok((200, self.store.channel_json(channel)))
    }

    fn get_messages(&mut self, call: &Call) -> Outcome {
        let place = self.place(call)?;
        let number = |name| call.asked(name).and_then(|value| value.parse::<u64>().ok());
        let limit = number("limit").unwrap_or(50);
        if !(1..=100).contains(&limit) {
            let words = "int value should be between 1 and 100.";
            return Err(Refusal::form("limit", "NUMBER_TYPE_MAX", words));
        }
        let (after, before) = (
            number("after").unwrap_or(0),
            number("before").unwrap_or(u64::MAX),
        );
        let messages = self.store.channels[&place.0].messages.values();
        let mut found: Vec<&Message> = messages
            .filter(|message| message.id > after && message.id < before && !message.is_gone)
            .collect();
        // The newest, unless the client asks for those after a message.
        if number("after").is_none() {
            found.drain(..found.len().saturating_sub(limit as usize));
        }
        found.truncate(limit as usize);
        let found: Vec<Value> = found
            .iter()
            .rev()
            .map(|message| self.store.json(message))
            .collect();
        Ok((200, json!(found)))
    }

    fn create_message(&mut self, call: &Call) -> Outcome {
        let place = self.writable(call)?;
        let message = self.draft(call, place)?;
        if let Some(known) = self.sent_before(call, place) {
            return Ok((200, self.store.json(&known)));
        }
        Ok((200, self.post(message)))
    }

    /// Reads a new message from a request, and checks it.
    pub(super) fn draft(&mut self, call: &Call, place: Place) -> Result<Message, Refusal> {
        let parameters = &call.parameters;
        let size: usize = call.parts.iter().map(|part| part.bytes.len()).sum();
        if size > LARGEST {
            return Err(Refusal::new(413, 40005, "Request entity too large"));
        }
        if call.parts.len() > FILES {
            let words = "Must be 10 or fewer in length.";
            return Err(Refusal::form("attachments", "BASE_TYPE_MAX_LENGTH", words));
        }
        check_parts(call)?;
        let text = check_text(&parameters["content"])?;
        let has_more = !call.parts.is_empty() || parameters["embeds"].get(0).is_some();
        if text.trim().is_empty() && !has_more {
            return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
        }
        let nonce = &parameters["nonce"];
        if nonce
            .as_str()
            .is_some_and(|nonce| nonce.chars().count() > NONCE)
        {
            return Err(Refusal::form(
                "nonce",
                "BASE_TYPE_MAX_LENGTH",
                "Must be 25 or fewer in length.",
            ));
        }
        let components = check_components(&parameters["components"])?;
        let reply_to = self.replied(call, place)?;
        let mut message = self.store.new_message(place, None);
        for part in &call.parts {
            let name = part.file_name.as_deref().unwrap_or_default();
            let file = self.store.keep(name, &part.mime, part.bytes.clone());
            message.files.push(file);
        }
        message.pings = pings(text, &parameters["allowed_mentions"]);
        message.components = components;
        message.reply_to = reply_to;
        message.nonce = nonce.clone();
        message.is_ephemeral = parameters["flags"].as_u64().unwrap_or(0) & 64 != 0;
        message.is_voice = check_voice(call, text)?;
        message.says(text.trim());
        Ok(message)
    }

    /// Adds a message of the bot to its channel; returns it in the format of answers.
    pub(super) fn post(&mut self, message: Message) -> Value {
        let place = message.place;
        let json = self.store.json(&message);
        let event = self.store.event(&message);
        let is_seen = !message.is_ephemeral;
        self.store
            .channel(place)
            .messages
            .insert(message.id, message);
        // The bot gets an event for its own messages, too.
        if is_seen {
            self.dispatch("MESSAGE_CREATE", place.0, &event);
        }
        json
    }

    /// The message that was sent with the same nonce, if the nonce is enforced.
    fn sent_before(&self, call: &Call, place: Place) -> Option<Message> {
        let nonce = &call.parameters["nonce"];
        if call.parameters["enforce_nonce"] != true || nonce.is_null() {
            return None;
        }
        let messages = &self.store.channels[&place.0].messages;
        let mut ours = messages.values().filter(|message| message.from.is_none());
        ours.find(|message| message.nonce == *nonce).cloned()
    }

    fn edit_message(&mut self, call: &Call) -> Outcome {
        self.writable(call)?;
        let message = self.named(call)?.clone();
        if message.from.is_some() {
            let words = "Cannot edit a message authored by another user";
            return Err(Refusal::new(403, 50005, words));
        }
        self.change_message(call, message)
    }

    /// Edits a message of the bot as requested.
    pub(super) fn change_message(&mut self, call: &Call, mut message: Message) -> Outcome {
        let parameters = &call.parameters;
        check_parts(call)?;
        if !parameters["content"].is_null() {
            let text = check_text(&parameters["content"])?;
            if text.trim().is_empty() && message.files.is_empty() && call.parts.is_empty() {
                return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
            }
            message.says(text.trim());
        }
        if !parameters["components"].is_null() {
            message.components = check_components(&parameters["components"])?;
        }
        for part in &call.parts {
            let name = part.file_name.as_deref().unwrap_or_default();
            let file = self.store.keep(name, &part.mime, part.bytes.clone());
            message.files.push(file);
        }
        message.is_thinking = false;
        message.edited = Some(now());
        let json = self.store.json(&message);
        let event = self.store.event(&message);
        let place = message.place;
        let is_seen = !message.is_ephemeral;
        self.store
            .channel(place)
            .messages
            .insert(message.id, message);
        if is_seen {
            self.dispatch("MESSAGE_UPDATE", place.0, &event);
        }
        Ok((200, json))
    }

    fn delete_message(&mut self, call: &Call) -> Outcome {
        let place = self.place(call)?;
        let message = self.named(call)?;
        if message.from.is_some() {
            return Err(Refusal::new(
                403,
                50003,
                "Cannot execute action on a DM channel",
            ));
        }
        message.is_gone = true;
        let mut event = json!({"id": message.id.to_string(), "channel_id": place.0.to_string()});
        if let Some(guild) = self.store.channel(place).guild {
            event["guild_id"] = json!(guild.to_string());
        }
        self.dispatch("MESSAGE_DELETE", place.0, &event);
        Ok(NOTHING)
    }

    fn react(&mut self, call: &Call) -> Outcome {
        let place = self.writable(call)?;
        let emoji = call.arguments[2].clone();
        let is_emoji =
            !emoji.is_empty() && emoji.chars().all(|letter| !letter.is_ascii_alphanumeric());
        // A server's custom emoji is written name:id.
        if !is_emoji && !emoji.contains(':') {
            return Err(Refusal::new(400, 10014, "Unknown Emoji"));
        }
        let message = self.named(call)?;
        message.reactions.retain(|other| *other != emoji);
        if call.route == "react" {
            message.reactions.push(emoji.clone());
        }
        let kind = match call.route {
            "react" => "MESSAGE_REACTION_ADD",
            _ => "MESSAGE_REACTION_REMOVE",
        };
        let mut event = json!({
            "user_id": BOT_ID.to_string(), "channel_id": place.0.to_string(),
            "message_id": message.id.to_string(), "emoji": {"id": null, "name": emoji},
            "burst": false, "type": 0,
        });
        if let Some(guild) = self.store.channel(place).guild {
            event["guild_id"] = json!(guild.to_string());
            event["member"] = self.store.member();
            event["member"]["user"] = self.store.user(None);
        }
        self.dispatch(kind, place.0, &event);
        Ok(NOTHING)
    }

    /// The channel that a call names.
    fn place(&self, call: &Call) -> Result<Place, Refusal> {
        let place = call.place.ok_or_else(unknown_channel)?;
        if self.store.channels.contains_key(&place.0) {
            return Ok(place);
        }
        match self.store.gone.contains(&place.0) {
            true => Err(unknown_channel().innocent()),
            false => Err(unknown_channel()),
        }
    }

    /// The same, if the bot may write there.
    fn writable(&self, call: &Call) -> Result<Place, Refusal> {
        let place = self.place(call)?;
        match &self.store.channels[&place.0].closed {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(place),
        }
    }

    /// The message that a call names.
    fn named(&mut self, call: &Call) -> Result<&mut Message, Refusal> {
        let place = self.place(call)?;
        let unknown = Refusal::new(404, 10008, "Unknown Message");
        let message = self.store.channel(place).messages.get_mut(&call.id(1));
        match message {
            // Its answer may be lost, or a person was faster.
            Some(message) if message.is_gone => Err(unknown.innocent()),
            Some(message) => Ok(message),
            None => Err(unknown),
        }
    }

    /// The message that a new one replies to.
    fn replied(&self, call: &Call, place: Place) -> Result<Option<u64>, Refusal> {
        let reference = &call.parameters["message_reference"];
        if reference.is_null() {
            return Ok(None);
        }
        let id = snowflake(&reference["message_id"]);
        let known = id.and_then(|id: u64| self.store.channels[&place.0].messages.get(&id));
        match known.filter(|message| !message.is_gone) {
            Some(message) => Ok(Some(message.id)),
            None if reference["fail_if_not_exists"] == false => Ok(None),
            None => {
                let refusal = Refusal::form(
                    "message_reference",
                    "REPLIES_UNKNOWN_MESSAGE",
                    "Unknown message",
                );
                Err(if known.is_some() {
                    refusal.innocent()
                } else {
                    refusal
                })
            }
        }
    }

    /// Makes a channel refuse the bot's messages, or accept them again.
    pub(super) fn close_channel(&mut self, place: Place, refusal: Option<Refusal>) {
        let channel = self.store.channel(place);
        let is_dm = channel.kind == DM;
        channel.closed = refusal.map(|refusal| if is_dm { cannot_send() } else { refusal });
    }
}

impl Message {
    pub(super) fn says(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.versions.push(text.to_owned());
    }
}

/// An id, as a string or a number.
fn snowflake(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// A string that is not too long.
fn check_text(content: &Value) -> Result<&str, Refusal> {
    let text = content.as_str().unwrap_or_default();
    if !content.is_null() && !content.is_string() {
        return Err(Refusal::form("content", "BASE_TYPE_STRING", "Not a string"));
    }
    if text.chars().count() > LONGEST {
        let words = "Must be 2000 or fewer in length.";
        return Err(Refusal::form("content", "BASE_TYPE_MAX_LENGTH", words));
    }
    Ok(text)
}

/// Whether it is a voice message, which has a recording with its length and its picture, and no text
/// (<https://docs.discord.com/developers/resources/message#message-object-message-flags>).
fn check_voice(call: &Call, text: &str) -> Result<bool, Refusal> {
    if call.parameters["flags"].as_u64().unwrap_or(0) & 1 << 13 == 0 {
        return Ok(false);
    }
    let about = &call.parameters["attachments"][0];
    let [part] = &call.parts[..] else {
        return Err(Refusal::new(
            400,
            50161,
            "Voice messages must have a single audio attachment",
        ));
    };
    if !text.is_empty() {
        return Err(Refusal::new(
            400,
            50160,
            "Voice messages do not support additional content",
        ));
    }
    let has_all = about["duration_secs"].is_number() && about["waveform"].is_string();
    if !has_all || !part.mime.starts_with("audio/") {
        return Err(Refusal::new(
            400,
            50162,
            "Voice messages must have supporting metadata",
        ));
    }
    Ok(true)
}

/// Files are `files[n]`, and what `attachments` says about them names one that is there.
fn check_parts(call: &Call) -> Result<(), Refusal> {
    let number = |name: &str| {
        name.strip_prefix("files[")?
            .strip_suffix(']')?
            .parse::<u64>()
            .ok()
    };
    let numbers: Vec<Option<u64>> = call.parts.iter().map(|part| number(&part.name)).collect();
    if numbers.contains(&None) {
        return Err(Refusal::form(
            "attachments",
            "FILE_NAME_INVALID",
            "files are named files[n]",
        ));
    }
    let described = call.parameters["attachments"].as_array();
    for attachment in described.into_iter().flatten() {
        let id = snowflake(&attachment["id"]);
        // A large number is that of a file which is there already.
        if !numbers.contains(&id) && id.is_none_or(|id| id < 1_000) {
            let words = "an attachment without its file";
            return Err(Refusal::form("attachments", "ATTACHMENT_NOT_FOUND", words));
        }
    }
    Ok(())
}

/// Rows of buttons. <https://discord.com/developers/docs/components/reference>
fn check_components(components: &Value) -> Result<Value, Refusal> {
    let Some(rows) = components.as_array() else {
        return Ok(json!([]));
    };
    let wrong = |words: &str| Err(Refusal::form("components", "BASE_TYPE_BAD_LENGTH", words));
    if rows.len() > 5 {
        return wrong("Must be 5 or fewer in length.");
    }
    let mut ids = Vec::new();
    for row in rows {
        let buttons = row["components"].as_array().map_or(&[][..], Vec::as_slice);
        if row["type"] != 1 || buttons.is_empty() || buttons.len() > 5 {
            return wrong("a row (type 1) has 1 to 5 buttons");
        }
        for button in buttons {
            let length = |name: &str| button[name].as_str().map_or(0, |text| text.chars().count());
            let style = button["style"].as_u64().unwrap_or(0);
            let (label, id) = (length("label"), length("custom_id"));
            if button["type"] != 2 || !(1..=4).contains(&style) || label > 80 {
                return wrong("a button has type 2, a style from 1 to 4 and a label of at most 80");
            }
            if !(1..=100).contains(&id) || ids.contains(&&button["custom_id"]) {
                return wrong("a custom_id has 1 to 100 characters, and no other button has it");
            }
            ids.push(&button["custom_id"]);
        }
    }
    Ok(components.clone())
}

/// The people who are notified of a text.
fn pings(text: &str, allowed: &Value) -> Vec<String> {
    let may = |kind: &str| {
        allowed.is_null()
            || allowed["parse"]
                .as_array()
                .is_some_and(|all| all.contains(&json!(kind)))
    };
    let mut pings = Vec::new();
    if may("everyone") && (text.contains("@everyone") || text.contains("@here")) {
        pings.push("everyone".to_owned());
    }
    for rest in text.split("<@").skip(1) {
        let Some((id, _)) = rest.trim_start_matches('!').split_once('>') else {
            continue;
        };
        let is_listed = allowed["users"]
            .as_array()
            .is_some_and(|all| all.contains(&json!(id)));
        if id.bytes().all(|byte| byte.is_ascii_digit()) && (may("users") || is_listed) {
            pings.push(id.to_owned());
        }
    }
    pings
}

fn application() -> Value {
    json!({
        "id": APPLICATION_ID.to_string(), "name": BOT_NAME, "icon": null, "description": "",
        "summary": "", "bot_public": false, "bot_require_code_grant": false, "verify_key": "00",
        "flags": 565_248, "team": null, "hook": true, "is_monetized": false,
        "owner": {"id": "1", "username": "owner", "discriminator": "0", "avatar": null},
        "redirect_uris": [], "interactions_endpoint_url": null, "tags": [],
    })
}
