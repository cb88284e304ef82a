//! Slack.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{Choice, Flag, NamedRoles, Names, Secret, Url};

channel_keys!("slack", "Slack", ids: (Names, NamedRoles, "member ids, such as U012AB3CD"), [
    own!("slack", "botToken", Secret, r#""""#, "The bot's token (xoxb-…), from the page \"OAuth & Permissions\" of your app. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("slack", "appToken", Secret, r#""""#, "The app's token for socket mode (xapp-…), from its page \"Basic Information\". ${NAME} reads it from the environment, file:PATH from a file."),
    own!("slack", "apiBase", Url, r#""https://slack.com/api""#, "URL of Slack's Web API."),
    usual!("slack", proxy),
    usual!("slack", groupPolicy, "Which messages in channels are for the agent. mention: those that mention the bot, and those in a thread in which it answers; open: all in the channels that the bot is in; off: none."),
    own!("slack", "groupAllowFrom", Names, "[]", "The only channels in which messages are for the agent: ids, such as C012AB3CD. Empty: all that the bot is in."),
    own!("slack", "dmPolicy", Choice(&["open", "off"]), r#""open""#, "Whether direct messages are for the agent."),
    own!("slack", "replyInThread", Flag, "true", "Answer a mention in a channel in a thread below it."),
    usual!("slack", streaming),
    usual!("slack", streamEditIntervalMs),
    usual!("slack", reactEmoji, r#""eyes""#),
]);
