//! WhatsApp and MoChat.

use crate::config::table::Key;

/// WhatsApp, by nanobot's bridge.
pub(super) static WHATSAPP: &[Key] = whatsapp::KEYS;
/// MoChat.
pub(super) static MOCHAT: &[Key] = own_server::KEYS;

mod whatsapp {
    use crate::config::channels::{channel_keys, own, usual};
    use crate::config::table::Kind::{NamedRoles, Names, Secret, Text, Texts};

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
    use crate::config::table::Kind::{NamedRoles, Names, Secret, Text, Texts, Url, Whole};

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
