//! The data of the fake Discord: people, servers (guilds), channels, messages and files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::fault::Refusal;

/// The bot's id.
pub const BOT_ID: u64 = 1_100_000_000_000_000_001;
/// The application's id. Those of old applications differ from the bot's.
pub const APPLICATION_ID: u64 = 1_100_000_000_000_000_002;
/// The bot's name.
pub const BOT_NAME: &str = "peacrab";
/// Discord's epoch, in milliseconds since 1970.
/// <https://discord.com/developers/docs/reference#snowflakes>
const EPOCH: u64 = 1_420_070_400_000;

/// A channel of any kind: a private chat, a channel of a server, a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub u64);

/// A message in a channel.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id.
    pub id: u64,
    /// Its channel.
    pub place: Place,
    /// Its text.
    pub text: String,
    /// The rows of buttons: a list.
    pub components: Value,
    /// The message that it replies to.
    pub reply_to: Option<u64>,
    /// Its files.
    pub files: Vec<File>,
    /// Whether it is a voice message.
    pub is_voice: bool,
    /// The bot's reactions to it.
    pub reactions: Vec<String>,
    /// All versions of its text, oldest first.
    pub versions: Vec<String>,
    /// Who is notified: ids of people, or `everyone`.
    pub pings: Vec<String>,
    /// When it was written.
    pub at: Instant,
    /// Whether it only shows that the bot is thinking, after a deferred answer.
    pub is_thinking: bool,
    /// Whether only one person sees it.
    pub is_ephemeral: bool,
    /// Its author; `None` for the bot.
    pub(super) from: Option<u64>,
    pub(super) nonce: Value,
    pub(super) written: String,
    pub(super) edited: Option<String>,
    pub(super) is_gone: bool,
    /// What it forwards.
    pub(super) forwarded: Option<String>,
}

/// A file that was sent in a channel.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name, as changed by Discord.
    pub name: String,
    /// Its type.
    pub mime: String,
    /// Its content.
    pub bytes: Arc<[u8]>,
    pub(super) id: u64,
}

/// A channel.
pub(super) struct Channel {
    pub kind: u64,
    pub name: String,
    pub guild: Option<u64>,
    pub parent: Option<u64>,
    /// The person of a private chat.
    pub recipient: Option<u64>,
    pub messages: BTreeMap<u64, Message>,
    /// The error if the bot may not write here.
    pub closed: Option<Refusal>,
}

pub(super) const TEXT: u64 = 0;
pub(super) const DM: u64 = 1;
pub(super) const THREAD: u64 = 11;

#[derive(Default)]
pub(super) struct Store {
    pub people: BTreeMap<u64, String>,
    pub guilds: BTreeMap<u64, String>,
    pub channels: BTreeMap<u64, Channel>,
    /// Channels that were deleted.
    pub gone: Vec<u64>,
    /// The server's address for files, and the time until which links are valid.
    pub cdn: String,
    /// How many times all links have expired.
    pub era: u64,
    last: u64,
}

impl Store {
    /// A unique number that grows with time.
    pub(super) fn next_id(&mut self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = now
            .map_or(0, |now| now.as_millis() as u64)
            .saturating_sub(EPOCH);
        self.last = (millis << 22).max(self.last + 1);
        self.last
    }

    pub(super) fn add_channel(&mut self, kind: u64, name: &str, guild: Option<u64>) -> u64 {
        let id = self.next_id();
        let channel = Channel {
            kind,
            name: name.to_owned(),
            guild,
            parent: None,
            recipient: None,
            messages: BTreeMap::new(),
            closed: None,
        };
        self.channels.insert(id, channel);
        id
    }

    /// A channel of the test; panics if it does not exist.
    pub(super) fn channel(&mut self, place: Place) -> &mut Channel {
        match self.channels.get_mut(&place.0) {
            Some(channel) => channel,
            None => panic!("there is no channel {place:?}"),
        }
    }

    /// A message; panics if it does not exist.
    pub(super) fn message(&mut self, place: Place, id: u64) -> &mut Message {
        match self.channel(place).messages.get_mut(&id) {
            Some(message) => message,
            None => panic!("there is no message {id} in {place:?}"),
        }
    }

    /// The private chat with a person.
    pub(super) fn dm(&self, person: u64) -> Option<u64> {
        let mut channels = self.channels.iter();
        let found = channels.find(|(_, channel)| channel.recipient == Some(person));
        found.map(|(id, _)| *id)
    }

    /// An empty message that is not in its channel yet.
    pub(super) fn new_message(&mut self, place: Place, from: Option<u64>) -> Message {
        Message {
            id: self.next_id(),
            place,
            text: String::new(),
            components: json!([]),
            reply_to: None,
            files: Vec::new(),
            is_voice: false,
            reactions: Vec::new(),
            versions: Vec::new(),
            pings: Vec::new(),
            at: Instant::now(),
            is_thinking: false,
            is_ephemeral: false,
            from,
            nonce: Value::Null,
            written: now(),
            edited: None,
            is_gone: false,
            forwarded: None,
        }
    }

    /// Stores a file under a name for URLs.
    pub(super) fn keep(&mut self, name: &str, mime: &str, bytes: Arc<[u8]>) -> File {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let name = name
            .replace(' ', "_")
            .chars()
            .filter(|letter| fits(*letter))
            .collect();
        File {
            name,
            mime: mime.to_owned(),
            bytes,
            id: self.next_id(),
        }
    }

    /// The bot's messages in a place, oldest first.
    pub(super) fn messages(&self, place: Place) -> impl DoubleEndedIterator<Item = &Message> {
        let channel = self.channels.get(&place.0);
        let all = channel
            .into_iter()
            .flat_map(|channel| channel.messages.values());
        all.filter(|message| message.from.is_none() && !message.is_gone)
    }

    /// A file by its path on the CDN.
    pub(super) fn file(&self, channel: u64, id: u64) -> Option<&File> {
        let messages = self.channels.get(&channel)?.messages.values();
        messages
            .flat_map(|message| &message.files)
            .find(|file| file.id == id)
    }

    /// <https://discord.com/developers/docs/resources/user#user-object>
    pub(super) fn user(&self, person: Option<u64>) -> Value {
        let (id, name, is_bot) = match person {
            Some(id) => (id, self.people[&id].as_str(), false),
            None => (BOT_ID, BOT_NAME, true),
        };
        json!({
            "id": id.to_string(), "username": name.to_lowercase(), "global_name": name,
            "discriminator": "0", "avatar": null, "bot": is_bot, "public_flags": 0,
        })
    }

    /// <https://discord.com/developers/docs/resources/guild#guild-member-object>
    pub(super) fn member(&self) -> Value {
        json!({
            "roles": [], "nick": null, "avatar": null, "joined_at": now(), "premium_since": null,
            "deaf": false, "mute": false, "flags": 0, "pending": false,
            "communication_disabled_until": null,
        })
    }

    /// <https://discord.com/developers/docs/resources/channel#channel-object>
    pub(super) fn channel_json(&self, id: u64) -> Value {
        let channel = &self.channels[&id];
        let last = channel
            .messages
            .last_key_value()
            .map(|(id, _)| id.to_string());
        let mut json = json!({"id": id.to_string(), "type": channel.kind, "last_message_id": last, "flags": 0});
        if channel.kind == DM {
            json["recipients"] = json!([self.user(channel.recipient)]);
            return json;
        }
        json["name"] = json!(channel.name);
        json["guild_id"] = json!(channel.guild.map(|guild| guild.to_string()));
        json["parent_id"] = json!(channel.parent.map(|parent| parent.to_string()));
        json["rate_limit_per_user"] = json!(0);
        if channel.kind == THREAD {
            json["owner_id"] = json!(BOT_ID.to_string());
            json["message_count"] = json!(channel.messages.len());
            json["total_message_sent"] = json!(channel.messages.len());
            json["member_count"] = json!(1);
            json["thread_metadata"] = json!({
                "archived": false, "auto_archive_duration": 1440, "archive_timestamp": now(),
                "locked": false, "create_timestamp": now(),
            });
        } else {
            json["position"] = json!(0);
            json["permission_overwrites"] = json!([]);
            json["topic"] = Value::Null;
            json["nsfw"] = json!(false);
        }
        json
    }

    /// The content of `GUILD_CREATE`.
    /// <https://discord.com/developers/docs/events/gateway-events#guild-create>
    pub(super) fn guild_json(&self, id: u64) -> Value {
        let of_kind = |kind: u64| -> Vec<Value> {
            let ours = self
                .channels
                .iter()
                .filter(|(_, channel)| channel.guild == Some(id));
            let ours = ours.filter(|(_, channel)| channel.kind == kind);
            ours.map(|(id, _)| self.channel_json(*id)).collect()
        };
        let mut me = self.member();
        me["user"] = self.user(None);
        let everyone = json!({
            "id": id.to_string(), "name": "@everyone", "permissions": "2248473465835073",
            "position": 0, "color": 0, "hoist": false, "managed": false, "mentionable": false,
            "icon": null, "unicode_emoji": null, "flags": 0,
            "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
        });
        json!({
            "id": id.to_string(), "name": self.guilds[&id], "icon": null, "splash": null,
            "discovery_splash": null, "banner": null, "description": null, "owner_id": "1",
            "afk_channel_id": null, "afk_timeout": 300, "verification_level": 0,
            "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
            "roles": [everyone], "emojis": [], "stickers": [], "features": [],
            "application_id": null, "system_channel_id": null, "system_channel_flags": 0,
            "rules_channel_id": null, "vanity_url_code": null, "premium_tier": 0,
            "premium_subscription_count": 0, "preferred_locale": "en-US", "nsfw_level": 0,
            "public_updates_channel_id": null, "premium_progress_bar_enabled": false,
            "joined_at": now(), "large": false, "unavailable": false, "member_count": 2,
            "members": [me], "channels": of_kind(TEXT), "threads": of_kind(THREAD),
            "voice_states": [], "presences": [], "stage_instances": [],
            "guild_scheduled_events": [], "soundboard_sounds": [],
        })
    }

    /// A message in the format of events and answers.
    /// <https://discord.com/developers/docs/resources/message#message-object>
    pub(super) fn json(&self, message: &Message) -> Value {
        let channel = &self.channels[&message.place.0];
        let attachments: Vec<Value> = message
            .files
            .iter()
            .map(|file| self.attachment(message.place, file))
            .collect();
        let mentioned = |id: &u64| message.text.contains(&format!("<@{id}>"));
        let mut mentions: Vec<Value> = self
            .people
            .keys()
            .filter(|id| mentioned(id))
            .map(|id| self.user(Some(*id)))
            .collect();
        if mentioned(&BOT_ID) {
            mentions.push(self.user(None));
        }
        let flags = u64::from(message.is_ephemeral) << 6 | u64::from(message.is_thinking) << 7;
        let mut json = json!({
            "id": message.id.to_string(), "channel_id": message.place.0.to_string(),
            "author": self.user(message.from), "content": message.text,
            "timestamp": message.written, "edited_timestamp": message.edited, "tts": false,
            "mention_everyone": message.pings.iter().any(|ping| ping == "everyone"),
            "mentions": mentions, "mention_roles": [], "attachments": attachments, "embeds": [],
            "pinned": false, "type": if message.reply_to.is_some() { 19 } else { 0 },
            "flags": flags, "components": message.components,
        });
        if !message.nonce.is_null() {
            json["nonce"] = message.nonce.clone();
        }
        if let Some(id) = message.reply_to {
            json["message_reference"] = json!({
                "type": 0, "message_id": id.to_string(),
                "channel_id": message.place.0.to_string(),
                "guild_id": channel.guild.map(|guild| guild.to_string()),
            });
            let replied = channel.messages.get(&id).filter(|replied| !replied.is_gone);
            json["referenced_message"] = replied.map_or(Value::Null, |replied| {
                let mut replied = replied.clone();
                replied.reply_to = None;
                self.json(&replied)
            });
        }
        if let Some(text) = &message.forwarded {
            json["message_reference"] = json!({"type": 1, "message_id": "5", "channel_id": "6"});
            json["message_snapshots"] = json!([{"message": {
                "content": text, "mentions": [], "attachments": [], "embeds": [], "type": 0, "flags": 0,
                "timestamp": message.written, "edited_timestamp": null,
            }}]);
        }
        json
    }

    /// The same as an event shows it: with the server and its member.
    pub(super) fn event(&self, message: &Message) -> Value {
        let mut json = self.json(message);
        if let Some(guild) = self.channels[&message.place.0].guild {
            json["guild_id"] = json!(guild.to_string());
            json["member"] = self.member();
        } else {
            json["channel_type"] = json!(DM);
        }
        json
    }

    fn attachment(&self, place: Place, file: &File) -> Value {
        let url = format!(
            "{}/attachments/{}/{}/{}?ex={}&is=6900&hm=5eed",
            self.cdn, place.0, file.id, file.name, self.era
        );
        json!({
            "id": file.id.to_string(), "filename": file.name, "size": file.bytes.len(),
            "url": url, "proxy_url": url, "content_type": file.mime, "flags": 0,
        })
    }
}

impl Message {
    /// The data of the button with this name.
    pub(super) fn button(&self, label: &str) -> Option<&str> {
        let rows = self.components.as_array()?.iter();
        let mut buttons = rows
            .filter_map(|row| row["components"].as_array())
            .flatten();
        let button = buttons.find(|button| button["label"] == label && button["disabled"] != true);
        button?["custom_id"].as_str()
    }
}

pub(super) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, false)
}
