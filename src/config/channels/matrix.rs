//! Matrix.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{Flag, NamedRoles, Names, Secret, Text, Texts, Url, Whole};

channel_keys!("matrix", "Matrix", ids: (Names, NamedRoles, "user ids, such as @ana:example.org"), [
    own!("matrix", "homeserver", Url, r#""""#, "URL of the bot's homeserver without a path, such as https://matrix.org, or of a proxy before it, such as pantalaimon."),
    own!("matrix", "userId", Text, r#""""#, "The bot's user id, such as @crab:example.org. Empty: the one that the access token belongs to."),
    own!("matrix", "accessToken", Secret, r#""""#, "The bot's access token. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("matrix", "deviceId", Text, r#""""#, "Accepted for configurations of other programs. The access token decides."),
    own!("matrix", "joinOnInvite", Flag, "true", "Join rooms also when people without access invite the bot; those who write to it in private get a pairing code. false: such invitations are declined."),
    own!("matrix", "groupAllowFrom", Texts, "[]", "Ids of the rooms with several people in which the bot reads messages, such as !abc:example.org. Empty: all that it is in."),
    own!("matrix", "maxMediaBytes", Whole(0, 1_073_741_824), "20971520", "Largest file that is fetched, in bytes; at most 20 MiB."),
    usual!("matrix", proxy),
    usual!("matrix", groupPolicy, "Which messages in rooms with several people are for the agent. mention: those that mention the bot or reply to it; open: all; off: none."),
    usual!("matrix", replyToMessage),
    usual!("matrix", streaming),
    own!("matrix", "streamEditIntervalMs", Whole(300, 60_000), "5000", "Shortest time between two edits of an answer that is being written, in milliseconds. Homeservers usually allow one event every 5 seconds; on your own you can raise that (rc_message) and set this lower."),
    usual!("matrix", reactEmoji, r#""👀""#),
]);
