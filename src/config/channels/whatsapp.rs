//! WhatsApp, by nanobot's bridge.

use super::{channel_keys, own, usual};
use crate::config::table::Kind::{NamedRoles, Names, Secret, Text, Texts};

channel_keys!("whatsapp", "WhatsApp", ids: (Names, NamedRoles, "phone numbers with the country code and without +"), [
    own!("whatsapp", "bridgeUrl", Text, r#""ws://localhost:3001""#, "URL of the WhatsApp bridge."),
    own!("whatsapp", "bridgeToken", Secret, r#""""#, "The bridge's BRIDGE_TOKEN, if it has one. ${NAME} reads it from the environment, file:PATH from a file."),
    usual!("whatsapp", groupPolicy, "Which messages in groups are for the bot. mention: those that contain one of mentionNames; open: all; off: none. The bridge does not tell who writes in a group, so a group needs an entry in roles."),
    own!("whatsapp", "mentionNames", Texts, "[]", "What addresses the bot in a group, such as [\"@41791234567\", \"crab\"]."),
    own!("whatsapp", "mediaDir", Text, r#""""#, "Folder in which a later bridge than v0.1.4 stores received files, such as /home/pi/.nanobot/media. Empty: files are not fetched."),
]);
