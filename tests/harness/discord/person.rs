//! People: what they write, press and delete.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::fault::cannot_send;
use super::interactions::Interaction;
use super::server::{Server, State};
use super::store::{APPLICATION_ID, BOT_ID, Message, Place, now};

/// A person who has a private chat with the bot.
#[derive(Clone)]
pub struct Person {
    pub(super) server: Arc<Server>,
    pub(super) id: u64,
    pub(super) dm: Place,
}

/// A message that a person has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The message's id.
    pub message: u64,
    /// Its place.
    pub place: Place,
}

/// A file that a person sends.
#[derive(Clone, Debug)]
pub struct Upload {
    name: String,
    mime: String,
    bytes: Vec<u8>,
}

impl Upload {
    /// A file with this name and type.
    pub fn new(name: &str, mime: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.to_owned(),
            mime: mime.to_owned(),
            bytes: bytes.into(),
        }
    }
}

impl Person {
    /// The private chat.
    pub fn chat(&self) -> Place {
        self.dm
    }

    /// The person's id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Writes to the bot.
    pub fn says(&self, text: &str) -> Said {
        self.says_in(self.dm, text)
    }

    /// Writes in a channel or a thread.
    pub fn says_in(&self, place: Place, text: &str) -> Said {
        self.post(place, |_, message| message.says(text))
    }

    /// The same, with a mention of the bot.
    pub fn mentions_in(&self, place: Place, text: &str) -> Said {
        self.says_in(place, &format!("<@{BOT_ID}> {text}"))
    }

    /// Forwards what somebody else has written.
    pub fn forwards_in(&self, place: Place, text: &str) -> Said {
        self.post(place, |_, message| {
            message.forwarded = Some(text.to_owned());
        })
    }

    /// Replies to a message.
    pub fn replies(&self, place: Place, to: u64, text: &str) -> Said {
        self.post(place, |_, message| {
            message.reply_to = Some(to);
            message.says(text);
        })
    }

    /// Sends files with a text to the bot.
    pub fn sends(&self, text: &str, uploads: impl IntoIterator<Item = Upload>) -> Said {
        self.sends_in(self.dm, text, uploads)
    }

    /// Sends files with a text to a channel.
    pub fn sends_in(
        &self,
        place: Place,
        text: &str,
        uploads: impl IntoIterator<Item = Upload>,
    ) -> Said {
        self.post(place, |state, message| {
            message.says(text);
            for upload in uploads {
                let file = state
                    .store
                    .keep(&upload.name, &upload.mime, upload.bytes.into());
                message.files.push(file);
            }
        })
    }

    /// Edits a message.
    pub fn edits(&self, said: &Said, text: &str) {
        self.server.change(|state| {
            let message = state.store.message(said.place, said.message);
            message.says(text);
            message.edited = Some(now());
            let message = message.clone();
            let event = state.store.event(&message);
            state.dispatch("MESSAGE_UPDATE", said.place.0, &event);
        });
    }

    /// Deletes a message for everyone.
    pub fn deletes(&self, place: Place, message: u64) {
        self.server.change(|state| {
            state.store.message(place, message).is_gone = true;
            let event = json!({"id": message.to_string(), "channel_id": place.0.to_string()});
            state.dispatch("MESSAGE_DELETE", place.0, &event);
        });
    }

    /// Presses a button in the private chat as soon as it is there; returns the interaction's token.
    pub fn presses(&self, label: &str) -> String {
        self.presses_in(self.dm, label)
    }

    /// Presses the newest button of that name as soon as it is there.
    pub fn presses_in(&self, place: Place, label: &str) -> String {
        let (message, id) = self
            .server
            .wait_until(&format!("a button {label:?}"), |state| {
                let mut newest_first = state.store.messages(place).rev();
                newest_first
                    .find_map(|message| Some((message.clone(), message.button(label)?.to_owned())))
            });
        self.server.change(|state| {
            let pressed = Some(message.id);
            let message = state.store.json(&message);
            let data = json!({"custom_id": id, "component_type": 2});
            self.interact(
                state,
                place,
                pressed,
                json!({"type": 3, "data": data, "message": message}),
            )
        })
    }

    /// Uses a slash command in the private chat: options by their names. Returns the interaction's
    /// token.
    pub fn uses(&self, command: &str, options: &[(&str, Value)]) -> String {
        self.uses_in(self.dm, command, options)
    }

    /// Uses a slash command in a channel.
    pub fn uses_in(&self, place: Place, command: &str, options: &[(&str, Value)]) -> String {
        self.server.change(|state| {
            let commands = state.interactions.commands.iter();
            let id = commands
                .filter(|known| known["name"] == command)
                .map(|known| known["id"].clone())
                .next();
            let Some(id) = id else {
                panic!("the bot has no command {command}");
            };
            let options: Vec<Value> = options
                .iter()
                .map(|(name, value)| json!({"name": name, "type": 3, "value": value}))
                .collect();
            let data = json!({"id": id, "name": command, "type": 1, "options": options});
            self.interact(state, place, None, json!({"type": 2, "data": data}))
        })
    }

    /// Blocks the bot.
    pub fn blocks(&self) {
        self.server
            .change(|state| state.close_channel(self.dm, Some(cannot_send())));
    }

    /// Unblocks the bot.
    pub fn unblocks(&self) {
        self.server
            .change(|state| state.close_channel(self.dm, None));
    }

    /// Sends an interaction to the bot; returns its token.
    fn interact(
        &self,
        state: &mut State,
        place: Place,
        message: Option<u64>,
        what: Value,
    ) -> String {
        let id = state.store.next_id();
        let token = format!("interaction-token-{id}");
        let guild = state.store.channel(place).guild;
        let mut event = json!({
            "id": id.to_string(), "application_id": APPLICATION_ID.to_string(), "token": token,
            "version": 1, "channel_id": place.0.to_string(),
            "channel": state.store.channel_json(place.0), "locale": "en-GB",
            "app_permissions": "2248473465835073", "entitlements": [],
            "attachment_size_limit": 10_485_760, "context": if guild.is_some() { 0 } else { 1 },
            "authorizing_integration_owners": {},
        });
        if let (Some(event), Some(what)) = (event.as_object_mut(), what.as_object()) {
            event.extend(what.clone());
        }
        let user = state.store.user(Some(self.id));
        if let Some(guild) = guild {
            let mut member = state.store.member();
            member["user"] = user;
            member["permissions"] = json!("2248473465835073");
            event["member"] = member;
            event["guild_id"] = json!(guild.to_string());
            event["guild"] = json!({"id": guild.to_string(), "locale": "en-US", "features": []});
            event["guild_locale"] = json!("en-US");
        } else {
            event["user"] = user;
        }
        let interaction = Interaction {
            id,
            at: Instant::now(),
            place,
            message,
            answer: None,
            original: None,
        };
        state.interactions.open.insert(token.clone(), interaction);
        state.dispatch("INTERACTION_CREATE", place.0, &event);
        token
    }

    /// Writes a message that `write` fills.
    fn post(&self, place: Place, write: impl FnOnce(&mut State, &mut Message)) -> Said {
        self.server.change(|state| {
            let mut message = state.store.new_message(place, Some(self.id));
            write(state, &mut message);
            let id = message.id;
            let event = state.store.event(&message);
            state.store.channel(place).messages.insert(id, message);
            state.dispatch("MESSAGE_CREATE", place.0, &event);
            Said { message: id, place }
        })
    }
}
