//! QQ.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{Flag, NamedRoles, Names, Secret, Text, Url};

channel_keys!("qq", "QQ", ids: (Names, NamedRoles, "open ids"), [
    own!("qq", "appId", Text, r#""""#, "The bot's AppID, from https://q.qq.com."),
    own!("qq", "secret", Secret, r#""""#, "The bot's AppSecret. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("qq", "sandbox", Flag, "false", "Use QQ's sandbox for bots that are not published."),
    own!("qq", "apiBase", Url, r#""""#, "URL of the API. Empty: QQ's own, or its sandbox."),
    own!("qq", "tokenUrl", Url, r#""https://bots.qq.com/app/getAppAccessToken""#, "URL that gives access tokens."),
    own!("qq", "sendMarkdown", Flag, "false", "Send Markdown. QQ has to permit it for the bot; otherwise text is sent."),
    own!("qq", "sendKeyboards", Flag, "false", "Send buttons. QQ has to permit them for the bot; they need sendMarkdown. Otherwise choices have numbers."),
    usual!("qq", groupPolicy, "Which messages in groups and channels are for the bot; QQ delivers only those that mention it. mention, open: these; off: none."),
    usual!("qq", proxy),
]);
