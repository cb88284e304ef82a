//! Where people are reached: the settings of each channel, and what a channel gets of them.
//!
//! The common settings are fields of [`Bot`]; a channel asks for its own ones by their names. The defaults of both are
//! in the rows, so that they stand in one place.

mod dingtalk;
mod discord;
mod email;
mod feishu;
mod matrix;
mod mochat;
mod qq;
mod slack;
mod telegram;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::key::Key;
use crate::base::access::{Role, Rules};
use crate::base::secret::Secret;
use crate::text::nearest;

/// The settings of each channel, in the order in which they are listed.
pub static ALL: &[(&str, &[Key])] = &[
    ("telegram", telegram::KEYS),
    ("discord", discord::KEYS),
    ("slack", slack::KEYS),
    ("matrix", matrix::KEYS),
    ("email", email::KEYS),
    ("feishu", feishu::KEYS),
    ("local", mochat::LOCAL),
    ("whatsapp", mochat::WHATSAPP),
    ("qq", qq::KEYS),
    ("mochat", mochat::MOCHAT),
    ("dingtalk", dingtalk::KEYS),
    ("irc", mochat::IRC),
];

/// The settings of a channel; none for a name that is no channel's.
pub fn rows(channel: &str) -> &'static [Key] {
    let found = ALL.iter().find(|(name, _)| *name == channel);
    found.map_or(&[], |(_, keys)| keys)
}

/// The names of all channels.
pub static NAMES: [&str; ALL.len()] = {
    let mut names = [""; ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = ALL[at].0;
        at += 1;
    }
    names
};

/// The channels of programs and of the web page, whose settings are in `http`.
const CLIENTS: [&str; 2] = ["http", "web"];

/// The names of all channels with those two: where a message can come from.
pub static SOURCES: [&str; NAMES.len() + CLIENTS.len()] = {
    let mut names = [""; NAMES.len() + CLIENTS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = if at < NAMES.len() {
            NAMES[at]
        } else {
            CLIENTS[at - NAMES.len()]
        };
        at += 1;
    }
    names
};

/// The names of all channels, one after the other.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// The channel that a mistyped name probably means, as a question behind other sentences; else empty.
pub fn did_you_mean(name: &str) -> String {
    let meant = nearest(&name.to_lowercase(), names());
    meant.map_or_else(String::new, |meant| format!(" Did you mean {meant}?"))
}

/// The rows that (nearly) every channel has, and its own ones. `ids` is how people and groups are named in it,
/// `groups` which messages in a group are for the agent.
macro_rules! channel_keys {
    ($name:literal, $title:literal, ids: ($ids:expr, $roles:expr, $who:literal), [$($own:expr),* $(,)?]) => {
        #[rustfmt::skip]
        pub(super) static KEYS: &[crate::config::key::Key] = &[
            crate::config::key::key(concat!("channels.", $name, ".enabled"), crate::config::key::Kind::Flag, "false", concat!("Connect to ", $title, " when `peacrab gateway` runs.")),
            crate::config::key::key(concat!("channels.", $name, ".allowFrom"), $ids, "[]", concat!("Who may use the bot: ", $who, ". Empty: only people who were paired; *: everyone.")),
            crate::config::key::key(concat!("channels.", $name, ".roles"), $roles, "{}", concat!("What people may do: {\"ID\": \"owner\"}, by ", $who, ". owner: everything; user: talk with the agent, whose tools work in the sandbox, while an owner answers questions; guest: only talk. A person with an entry has access; people in allowFrom and paired ones without an entry are owners. The entry of a group, by its id, is the highest role there, except for owners with an entry of their own.")),
            crate::config::key::key(concat!("channels.", $name, ".defaultRole"), crate::config::key::Kind::Choice(&["guest", "user"]), r#""user""#, "Role of people who have access only because allowFrom contains *."),
            $($own),*
        ];
    };
}
use channel_keys;

/// A row of a channel's own.
macro_rules! own {
    ($name:literal, $key:literal, $kind:expr, $default:expr, $meaning:expr) => {
        crate::config::key::key(
            concat!("channels.", $name, ".", $key),
            $kind,
            $default,
            $meaning,
        )
    };
}
use own;

/// A row that several channels have.
macro_rules! usual {
    ($name:literal, proxy) => {
        own!(
            $name,
            "proxy",
            crate::config::key::Kind::Secret,
            "null",
            "URL of a proxy. null uses HTTPS_PROXY and the like from the environment."
        )
        .or_null()
    };
    ($name:literal, replyToMessage) => {
        own!(
            $name,
            "replyToMessage",
            crate::config::key::Kind::Flag,
            "false",
            "Send answers as replies to the message that they answer."
        )
    };
    ($name:literal, streaming) => {
        own!(
            $name,
            "streaming",
            crate::config::key::Kind::Flag,
            "true",
            "Show answers while they are being written, by editing one message."
        )
    };
    ($name:literal, streamEditIntervalMs) => {
        own!(
            $name,
            "streamEditIntervalMs",
            crate::config::key::Kind::Whole(300, 60_000),
            "1000",
            "Shortest time between two edits of an answer that is being written, in milliseconds."
        )
    };
    ($name:literal, reactEmoji, $default:expr) => {
        own!(
            $name,
            "reactEmoji",
            crate::config::key::Kind::Text,
            $default,
            "Reaction that a message gets when it was accepted. Empty: none."
        )
    };
    ($name:literal, groupPolicy, $meaning:expr) => {
        own!(
            $name,
            "groupPolicy",
            crate::config::key::Kind::Choice(&["mention", "open", "off"]),
            r#""mention""#,
            $meaning
        )
    };
}
use usual;

/// `channels`
#[derive(Clone)]
pub struct Channels {
    /// Whether people see what a turn says on its way.
    pub send_progress: bool,
    /// Whether people see which tools run.
    pub send_tool_hints: bool,
    /// Quick tries for something that is owed, before it waits longer.
    pub send_max_retries: u32,
    /// Those that the file mentions, in the order of [`ALL`]: one that is not set up takes no memory.
    bots: Vec<Bot>,
}

impl Channels {
    /// Every channel, as it is set up.
    pub fn all(&self) -> impl Iterator<Item = Bot> {
        names().map(|name| self.of(name))
    }

    /// The channel of this name; with all defaults if it is not set up, or if there is none of this name.
    pub fn of(&self, name: &str) -> Bot {
        let found = self.bots.iter().find(|bot| bot.name == name);
        found.cloned().unwrap_or_else(|| Bot::of(name))
    }

    /// The channel of this name, if there is one.
    pub fn named(&self, name: &str) -> Option<Bot> {
        names().any(|known| known == name).then(|| self.of(name))
    }

    /// The channels that are used.
    pub fn enabled(&self) -> impl Iterator<Item = &Bot> {
        self.bots.iter().filter(|bot| bot.enabled)
    }

    /// Has all channels as they are set up here, except for what `change` takes over from `new`.
    pub fn merged(&self, new: &Self, change: impl Fn(&mut Bot, &Bot)) -> Self {
        let bots = names().filter_map(|name| {
            let is_named = |bot: &&Bot| bot.name == name;
            let old = self.bots.iter().find(is_named);
            let new = new.bots.iter().find(is_named);
            let mut bot = match (old, new) {
                (None, None) => return None,
                (old, _) => old.cloned().unwrap_or_else(|| Bot::of(name)),
            };
            change(&mut bot, &new.cloned().unwrap_or_else(|| Bot::of(name)));
            Some(bot)
        });
        Self {
            bots: bots.collect(),
            ..self.clone()
        }
    }

    /// Puts one in place of another, or beside the others.
    pub fn set(&mut self, bot: Bot) {
        self.bots.retain(|other| other.name != bot.name);
        self.bots.push(bot);
        let place = |bot: &Bot| names().position(|name| name == bot.name);
        self.bots.sort_by_key(place);
    }
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            send_progress: true,
            send_tool_hints: true,
            send_max_retries: 5,
            bots: Vec::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Channels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Map::deserialize(deserializer)?;
        let mut channels = Self::default();
        let mut take = |name: &str| given.remove(name);
        if let Some(value) = take("sendProgress") {
            channels.send_progress = read(value)?;
        }
        if let Some(value) = take("sendToolHints") {
            channels.send_tool_hints = read(value)?;
        }
        if let Some(value) = take("sendMaxRetries") {
            channels.send_max_retries = read(value)?;
        }
        for name in names() {
            match take(name) {
                None | Some(Value::Null) => {}
                Some(value) => channels
                    .bots
                    .push(Bot::read(name, read(value)?).map_err(D::Error::custom)?),
            }
        }
        Ok(channels)
    }
}

fn read<T: for<'a> Deserialize<'a>, E: serde::de::Error>(value: Value) -> Result<T, E> {
    T::deserialize(value).map_err(E::custom)
}

/// As the derived ones are printed, with all channels: a test compares it with the table.
impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Channels");
        out.field("send_progress", &self.send_progress)
            .field("send_tool_hints", &self.send_tool_hints)
            .field("send_max_retries", &self.send_max_retries);
        for bot in self.all() {
            out.field(bot.name, &bot);
        }
        out.finish()
    }
}

/// When a message in a group is for us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupPolicy {
    /// When it names us, or answers us.
    #[default]
    Mention,
    /// Always.
    Open,
    /// Never.
    Off,
}

/// A channel: a chat service at which the program is a bot. Settings that it does not have are at their defaults.
#[derive(Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Bot {
    /// The channel's name.
    #[serde(skip)]
    pub name: &'static str,
    /// Whether it is used.
    pub enabled: bool,
    /// The bot's token.
    pub token: Secret,
    /// The address of its API.
    pub api_base: String,
    /// Who may speak with it: ids, or names with an @; `*`: everyone.
    pub allow_from: Vec<String>,
    /// The roles of people and groups.
    pub roles: BTreeMap<String, Role>,
    /// The role of a person whom only `*` lets in.
    pub default_role: Role,
    /// A proxy's URL; `None`: from the environment.
    pub proxy: Option<Secret>,
    /// When a message in a group is for us.
    pub group_policy: GroupPolicy,
    /// Whether answers quote what they answer.
    pub reply_to_message: bool,
    /// Whether an answer is shown while it comes.
    pub streaming: bool,
    /// Milliseconds between two edits of an answer that comes.
    pub stream_edit_interval_ms: u64,
    /// The reaction that a message gets when it was accepted; empty: none.
    pub react_emoji: String,
    /// All members of its section, defaults included.
    #[serde(skip)]
    own: Map<String, Value>,
}

impl Bot {
    /// The defaults of a channel.
    pub fn of(name: &str) -> Self {
        let known = names().find(|known| *known == name).unwrap_or_default();
        // The defaults of the rows fit: a test reads each.
        Self::read(known, Map::new()).unwrap_or_default()
    }

    /// Reads a section. What is missing, and an address that is empty, is as usual.
    fn read(name: &'static str, given: Map<String, Value>) -> serde_json::Result<Self> {
        let mut own = Map::new();
        for key in rows(name) {
            if let Some(member) = leaf(key, name) {
                own.insert(member.to_owned(), key.default_value());
            }
        }
        for (member, value) in given {
            if member == "apiBase" && value.as_str() == Some("") {
                continue;
            }
            own.insert(member, value);
        }
        let mut bot = Self::deserialize(Value::Object(own.clone()))?;
        bot.name = name;
        // What has a field is not kept twice.
        own.retain(|member, _| bot.field(member).is_none());
        bot.own = own;
        Ok(bot)
    }

    /// A text of its own settings; empty if it is not one.
    pub fn text(&self, member: &str) -> &str {
        self.member(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// A secret of its own settings; empty if it is not one.
    pub fn secret(&self, member: &str) -> Secret {
        match member {
            "token" => self.token.clone(),
            member => Secret::new(self.text(member)),
        }
    }

    /// A switch of its own settings.
    pub fn flag(&self, member: &str) -> bool {
        self.member(member)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    /// A number of its own settings; 0 if it is not one.
    pub fn number(&self, member: &str) -> u64 {
        self.member(member)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }

    /// A list of its own settings.
    pub fn texts(&self, member: &str) -> Vec<String> {
        let list = self
            .member(member)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        list.filter_map(|text| Some(text.as_str()?.to_owned()))
            .collect()
    }

    /// Whether a text or a secret is set, or a switch is on.
    pub fn has(&self, member: &str) -> bool {
        match member {
            "apiBase" => !self.api_base.is_empty(),
            "allowFrom" => !self.allow_from.is_empty(),
            member => self.flag(member) || !self.secret(member).is_empty(),
        }
    }

    /// Whether a setting has another value than usually.
    pub fn is_given(&self, member: &str) -> bool {
        let usual = Self::of(self.name);
        let shown = |bot: &Self| match (bot.field(member), bot.member(member)) {
            (Some(value), _) => format!("{value:?}"),
            (None, value) => format!("{value:?}"),
        };
        shown(self) != shown(&usual)
    }

    /// Any other value of its own settings.
    pub fn member(&self, member: &str) -> Option<&Value> {
        self.own.get(member)
    }

    /// Changes one of its own settings, or the token.
    pub fn set(&mut self, member: &str, value: Value) {
        match member {
            "token" => self.token = Secret::new(value.as_str().unwrap_or_default()),
            member => drop(self.own.insert(member.to_owned(), value)),
        }
    }

    /// Who has access, and with which role.
    pub fn rules(&self) -> Rules {
        Rules {
            allow_from: self.allow_from.clone(),
            roles: self.roles.clone(),
            default_role: self.default_role,
        }
    }

    fn field(&self, member: &str) -> Option<&dyn fmt::Debug> {
        Some(match member {
            "enabled" => &self.enabled,
            "token" => &self.token,
            "apiBase" => &self.api_base,
            "allowFrom" => &self.allow_from,
            "roles" => &self.roles,
            "defaultRole" => &self.default_role,
            "proxy" => &self.proxy,
            "groupPolicy" => &self.group_policy,
            "replyToMessage" => &self.reply_to_message,
            "streaming" => &self.streaming,
            "streamEditIntervalMs" => &self.stream_edit_interval_ms,
            "reactEmoji" => &self.react_emoji,
            _ => return None,
        })
    }
}

/// The name of a setting within its channel's section.
fn leaf<'a>(key: &Key, channel: &str) -> Option<&'a str>
where
    'static: 'a,
{
    let rest = key.path.strip_prefix("channels.")?;
    rest.strip_prefix(channel)?.strip_prefix('.')
}

impl Default for Bot {
    fn default() -> Self {
        Self {
            name: "",
            enabled: false,
            token: Secret::default(),
            api_base: String::new(),
            allow_from: Vec::new(),
            roles: BTreeMap::new(),
            default_role: Role::User,
            proxy: None,
            group_policy: GroupPolicy::Mention,
            reply_to_message: false,
            streaming: true,
            stream_edit_interval_ms: 1000,
            react_emoji: String::new(),
            own: Map::new(),
        }
    }
}

/// By the rows; secrets show nothing.
impl fmt::Debug for Bot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Bot");
        for key in rows(self.name) {
            let Some(member) = leaf(key, self.name) else {
                continue;
            };
            match (self.field(member), key.is_secret()) {
                (Some(value), _) => out.field(member, value),
                (None, true) => out.field(member, &self.secret(member)),
                (None, false) => out.field(
                    member,
                    &format_args!("{}", self.member(member).unwrap_or(&Value::Null)),
                ),
            };
        }
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_defaults_of_each_channel_are_read() {
        for name in names() {
            assert_eq!(Bot::read(name, Map::new()).unwrap().name, name);
            assert!(!rows(name).is_empty());
        }
        assert_eq!(Bot::of("nothing").name, "");
        assert_eq!(Bot::of("telegram").api_base, "https://api.telegram.org");
        assert_eq!(Bot::of("telegram").react_emoji, "👀");
    }

    #[test]
    fn each_common_setting_is_read_and_a_secret_is_not_shown() {
        let given = json!({"telegram": {
            "enabled": true, "token": "12345:canary", "apiBase": "", "allowFrom": ["1"], "roles": {"2": "guest"},
            "defaultRole": "guest", "proxy": "http://user:canary@p", "groupPolicy": "off", "replyToMessage": true,
            "streaming": false, "streamEditIntervalMs": 500, "reactEmoji": "x"
        }, "sendProgress": false, "sendToolHints": false, "sendMaxRetries": 1});
        let channels: Channels = serde_json::from_value(given).unwrap();
        assert!(
            !channels.send_progress && !channels.send_tool_hints && channels.send_max_retries == 1
        );
        let bot = channels.of("telegram");
        assert!(bot.enabled && bot.reply_to_message && !bot.streaming);
        assert_eq!(
            (bot.token.expose(), &*bot.api_base),
            ("12345:canary", "https://api.telegram.org")
        );
        assert_eq!((bot.stream_edit_interval_ms, &*bot.react_emoji), (500, "x"));
        assert_eq!(
            (bot.group_policy, bot.default_role),
            (GroupPolicy::Off, Role::Guest)
        );
        assert!(bot.proxy.is_some() && bot.roles.len() == 1 && bot.allow_from == ["1"]);
        assert!(!format!("{channels:?}").contains("canary"));
        assert_eq!(channels.enabled().count(), 1);
        assert!(!channels.of("discord").enabled);
    }
}
