//! People: what they write, press and edit.

use std::sync::Arc;

use serde_json::{Value, json};

use super::server::{Server, State};
use super::store::{BOT_ID, File, Message, Place, TEAM};

/// A person who has a private chat with the app.
#[derive(Clone)]
pub struct Person {
    pub(super) server: Arc<Server>,
    pub(super) id: String,
    pub(super) dm: Place,
}

/// A message that a person has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The message's number.
    pub ts: String,
    /// Its place.
    pub place: Place,
}

impl Person {
    /// The private chat.
    pub fn chat(&self) -> Place {
        self.dm.clone()
    }

    /// The person's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes to the app. The text is escaped, as Slack's own program does it.
    pub fn says(&self, text: &str) -> Said {
        self.says_in(&self.dm, text)
    }

    /// Writes in a channel or a thread.
    pub fn says_in(&self, place: &Place, text: &str) -> Said {
        let text = escape(text);
        self.post(place, |_, message| message.says(&text))
    }

    /// Forwards what somebody else has written.
    pub fn forwards_in(&self, place: &Place, text: &str) -> Said {
        self.post(place, |_, message| {
            message.says("");
            message.shared = Some(escape(text));
        })
    }

    /// The same, with a mention of the app.
    pub fn mentions_in(&self, place: &Place, text: &str) -> Said {
        let text = format!("<@{BOT_ID}> {}", escape(text));
        self.post(place, |_, message| message.says(&text))
    }

    /// Mentions the app and people in a channel, those by their ids.
    pub fn mentions_people_in(&self, place: &Place, people: &[String]) -> Said {
        let text = format!("<@{BOT_ID}> <@{}>", people.join("> <@"));
        self.post(place, |_, message| message.says(&text))
    }

    /// Sends a file with a text to the app.
    pub fn sends(&self, text: &str, name: &str, mime: &str, bytes: impl Into<Vec<u8>>) -> Said {
        self.sends_in(&self.dm, text, (name, mime, bytes.into()))
    }

    /// Sends a file with a text to a channel: its name, its type and its content.
    pub fn sends_in(
        &self,
        place: &Place,
        text: &str,
        (name, mime, bytes): (&str, &str, Vec<u8>),
    ) -> Said {
        self.post(place, |state, message| {
            message.says(&escape(text));
            let file = File {
                name: name.to_owned(),
                mime: mime.to_owned(),
                bytes: bytes.into(),
                id: state.store.next_id("F"),
            };
            let known = (file.clone(), None);
            state.store.files.insert(file.id.clone(), known);
            message.files.push(file);
        })
    }

    /// Edits a message.
    pub fn edits(&self, said: &Said, text: &str) {
        self.server.change(|state| {
            let edited = state.store.next_ts();
            let channel = state.store.channel(&said.place);
            let Some(message) = channel.messages.get_mut(&said.ts) else {
                panic!("there is no message {said:?}");
            };
            let before = message.clone();
            message.says(&escape(text));
            message.edited = Some(edited);
            let message = message.clone();
            state.changed(&said.place, &before, &message);
        });
    }

    /// Deletes a message for everyone.
    pub fn deletes(&self, place: &Place, ts: &str) {
        self.server.change(|state| {
            let channel = state.store.channel(place);
            if let Some(message) = channel.messages.get_mut(ts) {
                message.is_gone = true;
            }
            let event = json!({
                "type": "message", "subtype": "message_deleted", "hidden": true, "channel": place.chat,
                "ts": state.store.next_ts(), "deleted_ts": ts,
            });
            state.event(event);
        });
    }

    /// Presses the newest button of that name in a chat, as soon as it is there.
    pub fn presses_in(&self, place: &Place, label: &str) {
        let find = |message: Message| -> Option<(Message, Value)> {
            let elements = message.elements();
            let button = elements
                .iter()
                .find(|button| button["text"]["text"] == label)?;
            Some((message, button.clone()))
        };
        let (message, button) = self
            .server
            .wait_until(&format!("a button {label:?}"), |state| {
                let mut newest_first = state.store.messages(place).into_iter().rev();
                newest_first.find_map(find)
            });
        self.server.change(|state| {
            let json = state.store.json(&place.chat, &message, false);
            let mut action = button.clone();
            action["block_id"] = json!("a1");
            action["action_ts"] = json!(state.store.next_ts());
            let trigger = state.store.next_id("trigger");
            let payload = json!({
                "type": "block_actions", "user": self.user(state), "api_app_id": "A0CRAB",
                "token": "verification", "trigger_id": trigger, "team": {"id": TEAM, "domain": "harbour"},
                "container": {
                    "type": "message", "message_ts": message.ts, "channel_id": place.chat,
                    "is_ephemeral": false,
                },
                "channel": {"id": place.chat, "name": "directmessage"}, "message": json,
                "state": {"values": {}}, "response_url": "https://hooks.slack.com/actions/x",
                "actions": [action],
            });
            state.sockets.push("interactive", payload);
        });
    }

    /// Uses a slash command of the app's.
    pub fn uses_in(&self, place: &Place, command: &str, text: &str) {
        self.server.change(|state| {
            let trigger = state.store.next_id("trigger");
            let payload = json!({
                "token": "verification", "team_id": TEAM, "team_domain": "harbour",
                "channel_id": place.chat, "channel_name": "directmessage", "user_id": self.id,
                "user_name": state.store.people[&self.id].to_lowercase(), "command": command,
                "text": escape(text), "api_app_id": "A0CRAB", "is_enterprise_install": "false",
                "response_url": "https://hooks.slack.com/commands/x", "trigger_id": trigger,
            });
            state.sockets.push("slash_commands", payload);
        });
    }

    fn user(&self, state: &State) -> Value {
        let name = state.store.people[&self.id].to_lowercase();
        json!({"id": self.id, "username": name, "name": name, "team_id": TEAM})
    }

    /// Writes a message that `write` fills.
    fn post(&self, place: &Place, write: impl FnOnce(&mut State, &mut Message)) -> Said {
        self.server.change(|state| {
            let mut message = state.store.new_message(place, Some(&self.id));
            write(state, &mut message);
            let ts = message.ts.clone();
            state.add(place, message);
            Said {
                ts,
                place: place.clone(),
            }
        })
    }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}
