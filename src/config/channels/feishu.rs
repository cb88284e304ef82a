//! Feishu and Lark.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{Choice, NamedRoles, Names, Secret, Text, Url};

channel_keys!("feishu", "Feishu or Lark", ids: (Names, NamedRoles, "open ids, such as ou_…"), [
    own!("feishu", "appId", Text, r#""""#, "The app's id (cli_…), from https://open.feishu.cn/app or https://open.larksuite.com/app."),
    own!("feishu", "appSecret", Secret, r#""""#, "The app's secret, from the same page. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("feishu", "domain", Choice(&["feishu", "lark"]), r#""feishu""#, "Which service: feishu in China, lark elsewhere."),
    own!("feishu", "apiBase", Url, r#""""#, "URL of the open platform. Empty: by domain."),
    own!("feishu", "encryptKey", Secret, r#""""#, "Not needed: the long connection is not encrypted again. Accepted so that a configuration of another program can be taken over."),
    own!("feishu", "verificationToken", Secret, r#""""#, "Not needed, as encryptKey."),
    usual!("feishu", proxy),
    usual!("feishu", groupPolicy, "Which messages in groups are for the agent. mention: those that mention the bot or reply to it; open: all (needs the permission to read all messages of groups); off: none."),
    usual!("feishu", replyToMessage),
    usual!("feishu", streaming),
    usual!("feishu", streamEditIntervalMs),
    usual!("feishu", reactEmoji, r#""THUMBSUP""#),
]);
