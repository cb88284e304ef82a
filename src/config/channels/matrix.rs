//! Matrix.

use super::{channel_keys, own, usual};
use crate::config::table::Kind::{Flag, NamedRoles, Names, Secret, Text, Url, Whole};

channel_keys!("matrix", "Matrix", ids: (Names, NamedRoles, "user ids, such as @ana:example.org"), [
    own!("matrix", "homeserver", Url, r#""""#, "URL of the bot's homeserver, such as https://matrix.org."),
    own!("matrix", "userId", Text, r#""""#, "The bot's user id, such as @crab:example.org."),
    own!("matrix", "accessToken", Secret, r#""""#, "The bot's access token. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("matrix", "deviceId", Text, r#""""#, "The device of the access token. Empty: as the server says."),
    own!("matrix", "joinOnInvite", Flag, "true", "Join a room when somebody with access invites the bot."),
    own!("matrix", "maxMediaBytes", Whole(0, 1_073_741_824), "20971520", "Largest file that is fetched, in bytes."),
    usual!("matrix", proxy),
    usual!("matrix", groupPolicy, "Which messages in rooms with several people are for the agent. mention: those that mention the bot or reply to it, and commands; open: all; off: none."),
    usual!("matrix", replyToMessage),
    usual!("matrix", streaming),
    usual!("matrix", streamEditIntervalMs),
    usual!("matrix", reactEmoji, r#""👀""#),
]);
