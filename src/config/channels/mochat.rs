//! MoChat.

use super::{channel_keys, own, usual};
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
