//! Telegram.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{Choice, Flag, Ids, Roles, Secret, Url};

channel_keys!("telegram", "Telegram", ids: (Ids, Roles, "numeric user ids, or user names with an @"), [
    own!("telegram", "token", Secret, r#""""#, "The bot's token, from @BotFather. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("telegram", "apiBase", Url, r#""https://api.telegram.org""#, "URL of the Bot API. Change it if you run your own Bot API server."),
    usual!("telegram", proxy),
    usual!("telegram", groupPolicy, "Which messages in groups are for the agent. mention: those that mention the bot or reply to it, and commands; open: all; off: none."),
    usual!("telegram", replyToMessage),
    usual!("telegram", streaming),
    own!("telegram", "drafts", Flag, "true", "Show answers in private chats as drafts while they are being written, with Telegram's own button that stops them. false, or on a server without drafts: by editing one message."),
    own!("telegram", "richMessages", Choice(&["auto", "on", "off"]), r#""auto""#, "Messages with real tables and check boxes, up to 32,768 characters. auto: for tables, task lists and long answers; on: for all answers; off, or on a server without them: several messages, with tables as text. Apps older than June 2026 do not show them. Never for answers with an address, which Telegram would fetch for a preview."),
    own!("telegram", "ephemeral", Flag, "true", "In groups, show questions for approval and the answers to /sh and /status of an owner to that owner alone. false, or on a server without such messages: to everyone in the group."),
    usual!("telegram", streamEditIntervalMs),
    usual!("telegram", reactEmoji, r#""👀""#),
]);
