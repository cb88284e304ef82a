//! Telegram.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{Flag, Ids, Roles, Secret, Url};

channel_keys!("telegram", "Telegram", ids: (Ids, Roles, "numeric user ids, or user names with an @"), [
    own!("telegram", "token", Secret, r#""""#, "The bot's token, from @BotFather. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("telegram", "apiBase", Url, r#""https://api.telegram.org""#, "URL of the Bot API. Change it if you run your own Bot API server."),
    usual!("telegram", proxy),
    usual!("telegram", groupPolicy, "Which messages in groups are for the agent. mention: those that mention the bot or reply to it, and commands; open: all; off: none."),
    usual!("telegram", replyToMessage),
    usual!("telegram", streaming),
    own!("telegram", "drafts", Flag, "true", "Show answers in private chats as drafts while they are being written, with Telegram's own button that stops them. false, or on a server without drafts: by editing one message."),
    usual!("telegram", streamEditIntervalMs),
    usual!("telegram", reactEmoji, r#""👀""#),
]);
