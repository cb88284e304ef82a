//! DingTalk.

use super::{channel_keys, own, usual};
use crate::config::key::Kind::{NamedRoles, Names, Secret, Text, Url};

channel_keys!("dingtalk", "DingTalk", ids: (Names, NamedRoles, "staff ids, such as manager1234"), [
    own!("dingtalk", "clientId", Text, r#""""#, "The app's Client ID (formerly AppKey), from https://open-dev.dingtalk.com."),
    own!("dingtalk", "clientSecret", Secret, r#""""#, "The app's Client Secret (formerly AppSecret), from the same page. ${NAME} reads it from the environment, file:PATH from a file."),
    own!("dingtalk", "robotCode", Text, r#""""#, "The robot's code. Empty: the Client ID."),
    own!("dingtalk", "apiBase", Url, r#""https://api.dingtalk.com""#, "URL of the API."),
    own!("dingtalk", "oapiBase", Url, r#""https://oapi.dingtalk.com""#, "URL of the older API, which takes uploads."),
    usual!("dingtalk", proxy),
    usual!("dingtalk", groupPolicy, "Which messages in groups are for the agent. mention: those that mention the robot; open: all that DingTalk delivers, which are the same for most robots; off: none."),
]);
