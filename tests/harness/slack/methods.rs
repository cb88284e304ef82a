//! What the methods do. An error that begins with `?` may be met by a correct client too.

use serde_json::{Value, json};

use super::blocks;
use super::request::Call;
use super::server::State;
use super::store::{BOT, BOT_ID, Message, Place, TEAM};

/// A body, or an error.
pub(super) type Outcome = Result<Value, &'static str>;

/// Characters of an edited text.
const EDITED_CHARS: usize = 4000;
/// Characters of a text, beyond which it is cut.
const TEXT_CHARS: usize = 40_000;

impl State {
    /// Carries out a call.
    pub(super) fn act(&mut self, call: &Call) -> Outcome {
        match call.method.as_str() {
            "auth.test" => Ok(json!({
                "url": "https://harbour.slack.com/", "team": "Harbour", "user": "crab", "team_id": TEAM,
                "user_id": BOT_ID, "bot_id": BOT, "is_enterprise_install": false,
            })),
            "apps.connections.open" => Ok(self.open_connection()),
            "users.info" => {
                let user = self.store.user_json(call.argument("user"));
                Ok(json!({"user": user.ok_or("user_not_found")?}))
            }
            "users.conversations" => Ok(self.conversations()),
            "conversations.open" => {
                let dm = format!("D0{}", call.argument("users"));
                let is_known = self.store.channels.contains_key(&dm);
                let dm = Some(dm).filter(|_| is_known).ok_or("user_not_found")?;
                Ok(json!({"channel": {"id": dm}, "already_open": true, "no_op": true}))
            }
            "conversations.history" => self.history(call, None),
            "conversations.replies" => {
                let thread = call.argument("ts").to_owned();
                self.history(call, Some(&thread))
            }
            "chat.postMessage" => self.post(call),
            "chat.update" => self.update(call),
            "chat.delete" => self.delete(call),
            "chat.postEphemeral" => self.whisper(call),
            "reactions.add" => self.react(call),
            "files.getUploadURLExternal" => self.begin_upload(call),
            "files.completeUploadExternal" => self.end_upload(call),
            "files.info" => {
                let file = self.store.files.get(call.argument("file"));
                let (file, _) = file.ok_or("file_not_found")?;
                Ok(json!({"file": self.store.file_json(file)}))
            }
            _ => Err("unknown_method"),
        }
    }

    fn conversations(&self) -> Value {
        let ours = self
            .store
            .channels
            .iter()
            .filter(|(_, channel)| channel.has_bot);
        let channel = |(id, channel): (&String, &super::store::Channel)| {
            let mut json = json!({"id": id, "is_im": channel.is_private(), "is_archived": false});
            match &channel.kind {
                super::store::Kind::Private(person) => json["user"] = json!(person),
                super::store::Kind::Public => json["name"] = json!(channel.name),
            }
            json
        };
        let channels: Vec<Value> = ours.map(channel).collect();
        json!({"channels": channels, "response_metadata": {"next_cursor": ""}})
    }

    /// The chat that a call names, if the app is in it.
    pub(super) fn place(&self, call: &Call, name: &str) -> Result<Place, &'static str> {
        let id = call.argument(name);
        let channel = self.store.channels.get(id).ok_or("channel_not_found")?;
        match channel.has_bot {
            true => Ok(Place::of(id)),
            false => Err("?not_in_channel"),
        }
    }

    /// The same, with the thread that it names.
    pub(super) fn place_in_thread(&self, call: &Call, name: &str) -> Result<Place, &'static str> {
        let place = self.place(call, name)?;
        let thread = call.argument("thread_ts");
        if thread.is_empty() {
            return Ok(place);
        }
        let parent = self.store.channels[&place.chat].messages.get(thread);
        match parent {
            None => Err("thread_not_found"),
            Some(parent) if parent.is_gone => Err("?thread_not_found"),
            Some(parent) if parent.thread.is_some() => Err("cannot_reply_to_message"),
            Some(_) => Ok(place.below(thread)),
        }
    }

    fn history(&mut self, call: &Call, thread: Option<&str>) -> Outcome {
        let place = self.place(call, "channel")?;
        let limit: usize = call.argument("limit").parse().unwrap_or(100);
        if !(1..=999).contains(&limit) {
            return Err("invalid_limit");
        }
        let has_metadata = ["1", "true"].contains(&call.argument("include_all_metadata"));
        let from: usize = call.argument("cursor").parse().unwrap_or(0);
        let oldest = call.argument("oldest");
        let all = self.store.channels[&place.chat].messages.values();
        let found = all.filter(|message| !message.is_gone && message.ts.as_str() > oldest);
        let is_there = |message: &&Message| match thread {
            Some(thread) => message.ts == thread || message.thread.as_deref() == Some(thread),
            None => message.thread.is_none(),
        };
        let mut found: Vec<&Message> = found.filter(is_there).collect();
        if thread.is_none() {
            found.reverse();
        } else if !self.store.channels[&place.chat]
            .messages
            .contains_key(thread.unwrap_or_default())
        {
            return Err("thread_not_found");
        }
        let next = from + limit;
        let cursor = if next < found.len() {
            next.to_string()
        } else {
            String::new()
        };
        let page = found.into_iter().skip(from).take(limit);
        let messages: Vec<Value> = page
            .map(|message| self.store.history_json(&place.chat, message, has_metadata))
            .collect();
        Ok(json!({
            "messages": messages, "has_more": !cursor.is_empty(),
            "response_metadata": {"next_cursor": cursor},
        }))
    }

    fn post(&mut self, call: &Call) -> Outcome {
        let place = self.place_in_thread(call, "channel")?;
        let text: String = call.argument("text").chars().take(TEXT_CHARS).collect();
        let blocks = self.blocks(call)?;
        if text.trim().is_empty() && blocks.is_null() {
            return Err("no_text");
        }
        let metadata = call.json("metadata");
        let is_metadata =
            metadata["event_type"].is_string() && metadata["event_payload"].is_object();
        if call.arguments.contains_key("metadata") && !is_metadata {
            return Err("invalid_metadata_format");
        }
        let mut message = self.store.new_message(&place, None);
        message.says(&text);
        message.metadata = metadata;
        if !blocks.is_null() {
            message.blocks = blocks;
        }
        let ts = message.ts.clone();
        let json = self.add(&place, message);
        Ok(json!({"channel": place.chat, "ts": ts, "message": json}))
    }

    fn blocks(&mut self, call: &Call) -> Result<Value, &'static str> {
        if !call.arguments.contains_key("blocks") {
            return Ok(Value::Null);
        }
        let blocks = call.json("blocks");
        match blocks::check(&blocks) {
            Ok(()) => Ok(blocks),
            Err(why) => {
                self.complain(why);
                Err("invalid_blocks")
            }
        }
    }

    /// Adds a message to its chat, and sends its events; returns it in the format of answers.
    pub(super) fn add(&mut self, place: &Place, message: Message) -> Value {
        let channel = self.store.channel(place);
        let is_private = channel.is_private();
        channel.messages.insert(message.ts.clone(), message.clone());
        let mut event = self.store.json(&place.chat, &message, false);
        let json = event.clone();
        event["channel"] = json!(place.chat);
        event["event_ts"] = event["ts"].clone();
        event["channel_type"] = json!(if is_private { "im" } else { "channel" });
        self.event(event.clone());
        // A mention in a channel comes twice.
        if !is_private && message.from.is_some() && message.text.contains(&format!("<@{BOT_ID}>")) {
            event["type"] = json!("app_mention");
            if let Some(event) = event.as_object_mut() {
                event.remove("channel_type");
                event.remove("parent_user_id");
            }
            self.event(event);
        }
        json
    }

    /// The message of the app that a call names.
    fn ours(
        &mut self,
        call: &Call,
        wrong: &'static str,
    ) -> Result<(Place, &mut Message), &'static str> {
        let place = self.place(call, "channel")?;
        let found = self
            .store
            .channel(&place)
            .messages
            .get_mut(call.argument("ts"));
        match found {
            None => Err("message_not_found"),
            Some(message) if message.is_gone => Err("?message_not_found"),
            Some(message) if message.from.is_some() => Err(wrong),
            Some(message) => Ok((place, message)),
        }
    }

    fn update(&mut self, call: &Call) -> Outcome {
        let text = call.argument("text").to_owned();
        if text.chars().count() > EDITED_CHARS {
            return Err("msg_too_long");
        }
        let blocks = self.blocks(call)?;
        if text.is_empty() && blocks.is_null() {
            return Err("no_text");
        }
        let edited = self.store.next_ts();
        let (place, message) = self.ours(call, "?cant_update_message")?;
        let before = message.clone();
        message.says(&text);
        // A text without blocks removes those that were there.
        message.blocks = if blocks.is_null() { json!([]) } else { blocks };
        message.edited = Some(edited);
        let message = message.clone();
        self.changed(&place, &before, &message);
        Ok(json!({"channel": place.chat, "ts": message.ts, "text": text}))
    }

    /// Sends the event of an edit.
    pub(super) fn changed(&mut self, place: &Place, before: &Message, message: &Message) {
        let ts = self.store.next_ts();
        let is_private = self.store.channel(place).is_private();
        let event = json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": place.chat,
            "ts": ts, "event_ts": ts, "channel_type": if is_private { "im" } else { "channel" },
            "message": self.store.json(&place.chat, message, false),
            "previous_message": self.store.json(&place.chat, before, false),
        });
        self.event(event);
    }

    fn delete(&mut self, call: &Call) -> Outcome {
        let (place, message) = self.ours(call, "?cant_delete_message")?;
        message.is_gone = true;
        let ts = message.ts.clone();
        let event = json!({
            "type": "message", "subtype": "message_deleted", "hidden": true, "channel": place.chat,
            "ts": self.store.next_ts(), "deleted_ts": ts,
        });
        self.event(event);
        Ok(json!({"channel": place.chat, "ts": ts}))
    }

    fn whisper(&mut self, call: &Call) -> Outcome {
        self.place_in_thread(call, "channel")?;
        let person = call.argument("user").to_owned();
        if !self.store.people.contains_key(&person) {
            return Err("user_not_in_channel");
        }
        self.whispers
            .push((person, call.argument("text").to_owned()));
        Ok(json!({"message_ts": self.store.next_ts()}))
    }

    fn react(&mut self, call: &Call) -> Outcome {
        let place = self.place(call, "channel")?;
        let name = call.argument("name").to_owned();
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_+-".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return Err("invalid_name");
        }
        let messages = &mut self.store.channel(&place).messages;
        let message = messages.get_mut(call.argument("timestamp"));
        let message = message.ok_or("message_not_found")?;
        if message.reactions.contains(&name) {
            return Err("?already_reacted");
        }
        message.reactions.push(name);
        Ok(json!({}))
    }
}
