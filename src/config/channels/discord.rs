//! Discord.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{Ids, Roles, Secret, Url};

channel_keys!("discord", "Discord", ids: (Ids, Roles, "numeric user ids, or user names with an @"), [
    own!("discord", "token", Secret, r#""""#, "The bot's token, from the page \"Bot\" of your application at https://discord.com/developers/applications. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("discord", "apiBase", Url, r#""https://discord.com/api/v10""#, "URL of Discord's API, including its version."),
    usual!("discord", proxy),
    usual!("discord", groupPolicy, "Which messages in servers are for the agent. mention: those that mention the bot or reply to it, and slash commands; open: all in the channels that the bot can see (needs the message content intent); off: none."),
    usual!("discord", replyToMessage),
    usual!("discord", streaming),
    usual!("discord", streamEditIntervalMs),
    usual!("discord", reactEmoji, r#""👀""#),
]);
