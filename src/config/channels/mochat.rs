//! WhatsApp, MoChat, IRC, and the local channel.

use crate::config::key::Key;

/// WhatsApp, by nanobot's bridge.
pub(super) static WHATSAPP: &[Key] = whatsapp::KEYS;
/// MoChat.
pub(super) static MOCHAT: &[Key] = own_server::KEYS;
/// The local channel.
pub(super) static LOCAL: &[Key] = local::KEYS;
/// IRC.
pub(super) static IRC: &[Key] = irc::KEYS;

mod whatsapp {
    use crate::config::channels::{channel_keys, own, usual};
    use crate::config::key::Kind::{NamedRoles, Names, Secret, Text, Texts};

    channel_keys!("whatsapp", "WhatsApp", ids: (Names, NamedRoles, "phone numbers with the country code and without +"), [
        own!("whatsapp", "bridgeUrl", Text, r#""ws://localhost:3001""#, "URL of the WhatsApp bridge."),
        own!("whatsapp", "bridgeToken", Secret, r#""""#, "The bridge's BRIDGE_TOKEN, if it has one. ${NAME} reads it from the environment, file:PATH from a file."),
        usual!("whatsapp", groupPolicy, "Which messages in groups are for the bot. mention: those that contain one of mentionNames; open: all; off: none. The bridge does not tell who writes in a group, so a group needs an entry in roles."),
        own!("whatsapp", "mentionNames", Texts, "[]", "What addresses the bot in a group, such as [\"@41791234567\", \"crab\"]."),
        own!("whatsapp", "mediaDir", Text, r#""""#, "Folder in which a later bridge than v0.1.4 stores received files, such as /home/pi/.nanobot/media. Empty: files are not fetched."),
    ]);
}

mod own_server {
    use crate::config::channels::{channel_keys, own, usual};
    use crate::config::key::Kind::{NamedRoles, Names, Secret, Text, Texts, Url, Whole};

    channel_keys!("mochat", "MoChat", ids: (Names, NamedRoles, "user ids"), [
        own!("mochat", "baseUrl", Url, r#""https://mochat.io""#, "URL of the server."),
        own!("mochat", "clawToken", Secret, r#""""#, "The agent's token. ${NAME} reads it from the environment, file:PATH from a file."),
        own!("mochat", "agentUserId", Text, r#""""#, "The agent's own user id."),
        own!("mochat", "sessions", Texts, "[]", "Sessions to follow; *: all."),
        own!("mochat", "panels", Texts, "[]", "Panels to follow; *: all."),
        own!("mochat", "watchTimeoutMs", Whole(1_000, 60_000), "25000", "How long one request waits for news, in milliseconds."),
        usual!("mochat", proxy),
        usual!("mochat", groupPolicy, "Which messages in panels are for the agent. mention: those that mention it; open: all; off: none."),
    ]);
}

mod irc {
    use crate::config::channels::{channel_keys, own, usual};
    use crate::config::key::Kind::{Flag, NamedRoles, Names, Secret, Text, Texts, Whole};

    channel_keys!("irc", "IRC", ids: (Names, NamedRoles, "services accounts, such as ana, or masks, such as ana!*@home.example.org; never nicks, which anyone can take"), [
        own!("irc", "server", Text, r#""""#, "Host name of the server, such as irc.libera.chat."),
        own!("irc", "port", Whole(1, 65_535), "6697", "Its port."),
        own!("irc", "tls", Flag, "true", "Begin with TLS. false: without encryption; passwords are then sent only to a server on this machine."),
        own!("irc", "nick", Text, r#""""#, "The bot's nick. While it is in use, another one is taken."),
        own!("irc", "username", Text, r#""""#, "User name. Empty: the nick."),
        own!("irc", "realname", Text, r#""""#, "Real name, which WHOIS shows. Empty: the nick."),
        own!("irc", "password", Secret, r#""""#, "Password of the server or bouncer (PASS), if it has one. ${NAME} reads it from the environment, file:PATH from a file."),
        own!("irc", "saslUser", Text, r#""""#, "Services account of the bot, to log in to by SASL PLAIN. Empty: no login."),
        own!("irc", "saslPassword", Secret, r#""""#, "Its password. ${NAME} reads it from the environment, file:PATH from a file."),
        own!("irc", "nickservPassword", Secret, r#""""#, "Password to send to NickServ, on networks without SASL."),
        own!("irc", "channels", Texts, "[]", "Channels to join, such as [\"#peacrab\"]; a channel's key follows behind a space."),
        own!("irc", "sendIntervalMs", Whole(0, 6_000), "2000", "Shortest time between two lines, after the first five, in milliseconds. Networks disconnect clients that write faster; on your own server you can set it lower."),
        usual!("irc", groupPolicy, "Which messages in channels are for the agent. mention: those that begin with its nick and : or , or contain @nick; open: all; off: none."),
    ]);
}

mod local {
    use crate::config::channels::{channel_keys, own, usual};
    use crate::config::key::Kind::{NamedRoles, Names, Path};

    channel_keys!("local", "programs on this machine", ids: (Names, NamedRoles, "the ids that the programs give"), [
        own!("local", "socket", Path, r#""""#, "Path of the Unix socket, in a folder that exists and that the agent cannot reach. Empty: state/local.sock in the home folder."),
        usual!("local", streaming),
        usual!("local", streamEditIntervalMs),
    ]);
}
