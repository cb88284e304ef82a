//! What the configuration says about IRC.

use super::person::{has_host, is_channel, is_mask};
use crate::base::secret::Secret;
use crate::config::schema::{Bot, GroupPolicy};
use crate::sys::random;

use super::CHANNELS;
use std::time::Duration;

/// Characters of the nick of a connection that only tests the settings; the oldest servers allow 9.
const TRIAL_NICK_CHARS: usize = 9;

/// A channel to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Its name.
    pub name: String,
    /// Its key, if it has one.
    pub key: Option<Secret>,
}

/// The settings, completed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server's name.
    pub server: String,
    /// Its port.
    pub port: u16,
    /// Whether the connection begins with TLS.
    pub tls: bool,
    /// The nick that is wanted.
    pub nick: String,
    /// The user name.
    pub user: String,
    /// The real name, which people see in WHOIS.
    pub real_name: String,
    /// The server's password; may be empty.
    pub password: Secret,
    /// The account to log in to by SASL; empty for none.
    pub sasl_user: String,
    /// Its password.
    pub sasl_password: Secret,
    /// The password for NickServ; may be empty.
    pub nickserv_password: Secret,
    /// The channels to join.
    pub rooms: Vec<Room>,
    /// The time between two lines, after the first few.
    pub interval: Duration,
    /// Which messages in channels are for us.
    pub policy: GroupPolicy,
}

impl Settings {
    /// Reads the settings.
    pub fn new(bot: &Bot) -> Self {
        let text = |name: &str| bot.text(name).trim().to_owned();
        let or = |text: String, usual: &str| match text.as_str() {
            "" => usual.to_owned(),
            _ => text,
        };
        let nick = text("nick");
        let rooms = bot.texts("channels");
        let (server, port) = server_and_port(&text("server"));
        Self {
            server,
            port: port.unwrap_or_else(|| u16::try_from(bot.number("port")).unwrap_or_default()),
            tls: bot.flag("tls"),
            user: or(text("username"), &nick),
            real_name: or(text("realname"), &nick),
            password: bot.secret("password"),
            sasl_user: text("saslUser"),
            sasl_password: bot.secret("saslPassword"),
            nickserv_password: bot.secret("nickservPassword"),
            rooms: rooms
                .iter()
                .filter_map(|entry| room(entry))
                .take(CHANNELS)
                .collect(),
            interval: Duration::from_millis(bot.number("sendIntervalMs")),
            policy: bot.group_policy,
            nick,
        }
    }

    /// The same for a short connection beside the one of a running gateway: with a nick of its own, for which NickServ has no
    /// password, and no channels.
    pub fn for_trial(&self) -> Self {
        let [number] = random::bytes().unwrap_or_default();
        let ending = format!("_{number:02x}");
        let kept = TRIAL_NICK_CHARS - ending.len();
        let nick: String = self.nick.chars().take(kept).collect();
        Self {
            nick: nick + &ending,
            nickserv_password: Secret::default(),
            rooms: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether something is sent that only the server may read.
    pub fn has_secrets(&self) -> bool {
        let rooms = self.rooms.iter().any(|room| room.key.is_some());
        let secrets = [&self.password, &self.sasl_password, &self.nickserv_password];
        rooms || secrets.iter().any(|secret| !secret.is_empty())
    }

    /// Its name and port, for people.
    pub fn server_name(&self) -> String {
        format!("{}:{}", self.server, self.port)
    }
}

/// A host name or an address, and the port behind it, as in `irc.libera.chat:6697`.
fn server_and_port(text: &str) -> (String, Option<u16>) {
    let split = text
        .rsplit_once(':')
        .filter(|(host, _)| !host.contains(':'));
    match split.map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) => (host.to_owned(), Some(port)),
        _ => (text.to_owned(), None),
    }
}

/// An entry of `channels`: a name, and the key behind a space.
fn room(entry: &str) -> Option<Room> {
    let mut words = entry.split_whitespace();
    let name = words.next()?;
    Some(Room {
        name: name.to_owned(),
        key: words.next().map(Secret::new),
    })
}

/// What cannot be right in a configuration.
pub fn check(bot: &Bot) -> Option<&'static str> {
    let settings = Settings::new(bot);
    let is_odd = |char: char| char.is_whitespace() || "/@".contains(char);
    // An address of IPv6 has more colons.
    let has_odd_port = settings.server.matches(':').count() == 1;
    if has_odd_port || settings.server.contains(is_odd) {
        return Some(
            "channels.irc.server must be a host name alone, such as irc.libera.chat; its port is channels.irc.port",
        );
    }
    let is_nick = |char: char| char.is_alphanumeric() || "[]\\`_^{|}-".contains(char);
    let begins = settings
        .nick
        .starts_with(|char: char| char.is_ascii_digit() || char == '-');
    if begins || !settings.nick.chars().all(is_nick) {
        return Some(
            "channels.irc.nick may have letters, digits and []\\`_^{|}-, and must not begin with a digit or -",
        );
    }
    let is_room = |entry: &String| {
        let words = entry.split_whitespace();
        words.clone().count() <= 2
            && words
                .take(1)
                .all(|name| is_channel(name) && !name.contains(','))
    };
    if !bot.texts("channels").iter().all(is_room) {
        return Some(
            "channels.irc.channels must contain names such as #peacrab, with the key behind a space where there is one",
        );
    }
    if settings.sasl_user.is_empty() != settings.sasl_password.is_empty() {
        return Some("channels.irc.saslUser and channels.irc.saslPassword need each other");
    }
    let mut people = bot.allow_from.iter().chain(bot.roles.keys());
    people
        .any(|entry| {
            let is_half = entry.contains(['!', '@']) && !is_mask(entry) && !is_channel(entry);
            is_half || is_mask(entry) && !has_host(entry)
        })
        .then_some(
            "people in channels.irc.allowFrom and channels.irc.roles are services accounts, such as ana, or masks with a host, \
             such as ana!*@home.example.org: anyone can take a nick",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::channels::Channels;
    use serde_json::{Value, json};

    fn bot(section: Value) -> Bot {
        let channels: Channels = serde_json::from_value(json!({"irc": section})).unwrap();
        channels.of("irc")
    }

    #[test]
    fn what_is_not_set_is_as_usual() {
        let settings = Settings::new(&bot(json!({
            "server": "irc.example.org", "nick": "crab", "channels": ["#a", "#b canary"], "password": "canary",
        })));
        assert_eq!((settings.port, settings.tls), (6697, true));
        assert_eq!(
            (settings.user.as_str(), settings.real_name.as_str()),
            ("crab", "crab")
        );
        assert_eq!(settings.interval, Duration::from_secs(2));
        assert_eq!(settings.rooms.len(), 2);
        assert!(settings.has_secrets() && !format!("{settings:?}").contains("canary"));
        let trial = settings.for_trial();
        assert!(trial.nick.starts_with("crab_") && trial.nick.len() <= 9 && trial.rooms.is_empty());
    }

    #[test]
    fn slips_are_found() {
        let right = json!({"server": "irc.example.org", "nick": "crab", "channels": ["#a key"],
            "allowFrom": ["ana", "*", "bob!*@home.example", "*!*@1.2.3.4"], "roles": {"#a": "guest"}});
        assert_eq!(check(&bot(right.clone())), None);
        assert_eq!(check(&bot(json!({"server": "::1", "nick": "crab"}))), None);
        let settings = Settings::new(&bot(
            json!({"server": "irc.example.org:6670", "nick": "crab"}),
        ));
        assert_eq!(settings.server_name(), "irc.example.org:6670");
        for (key, value, word) in [
            ("server", json!("irc://irc.example.org"), "server"),
            ("server", json!("irc.example.org/6697"), "its port"),
            ("server", json!("irc.example.org:abc"), "its port"),
            ("server", json!("irc.example.org:70000"), "its port"),
            ("nick", json!("1crab"), "nick"),
            ("nick", json!("a b"), "nick"),
            ("channels", json!(["crab"]), "channels.irc.channels"),
            ("channels", json!(["#a,#b"]), "channels.irc.channels"),
            ("channels", json!(["#a b c"]), "channels.irc.channels"),
            ("saslUser", json!("crab"), "saslPassword"),
            ("allowFrom", json!(["ana!*@*"]), "masks"),
            ("allowFrom", json!(["@ana"]), "masks"),
            ("allowFrom", json!(["ana@home"]), "masks"),
            ("roles", json!({"ana!ana@*": "owner"}), "masks"),
        ] {
            let mut wrong = right.clone();
            wrong[key] = value;
            let found = check(&bot(wrong.clone())).unwrap_or_default();
            assert!(found.contains(word), "{wrong}: {found}");
        }
    }
}
