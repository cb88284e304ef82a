//! DingTalk, as an internal app with a robot: its API for what goes out, its stream, a websocket, for what comes in.
//! <https://open.dingtalk.com/document/orgapp/robot-overview>
//!
//! The address of a private chat is the person's staff id (`dingtalk:manager1234`), that of a group its open
//! conversation id (`dingtalk:cid…`). Answers go by the API and not by the `sessionWebhook` of a message, which ends
//! after 90 minutes, so that a reminder and an answer after an outage take the same way. Messages cannot be edited;
//! cards could, but each app would need a template of its own for them.

mod api;
mod connection;
pub mod event;
pub mod fault;
pub mod markdown;
pub mod place;
mod receive;
pub mod session;

use std::sync::Arc;

pub use connection::DingTalk;

use super::kit::service::{Need, Service};
use crate::config::schema::Bot;

/// Bytes of a file that is sent: DingTalk takes no larger ones.
const UPLOAD_BYTES: u64 = 20 * 1024 * 1024;
/// Bytes of an id of a person, a group or a message; DingTalk's have up to 100.
const ID_BYTES: usize = 256;

/// The channel's name in addresses.
pub const NAME: &str = "dingtalk";

/// What the program knows of the channel before it is used.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "DingTalk",
    needs: &[
        Need {
            key: "clientId",
            how: "Create an internal app at https://open-dev.dingtalk.com, add a robot in stream mode (Stream模式), and copy the Client ID from \
                  the page \"Credentials and Basic Information\" (凭证与基础信息).",
        },
        Need {
            key: "clientSecret",
            how: "Copy the Client Secret from the same page. Then add the permission qyapi_robot_sendmsg, and publish a version of the app.",
        },
    ],
    check,
    make: |making| Arc::new(DingTalk::new(making)),
    login: None,
};

/// What cannot be right in a configuration.
fn check(bot: &Bot) -> Option<&'static str> {
    let id = bot.text("clientId");
    let is_odd = |byte: u8| !byte.is_ascii_alphanumeric() && !b"_-".contains(&byte);
    id.bytes().any(is_odd).then_some(
        "channels.dingtalk.clientId is not a Client ID, which consists of letters and digits: copy it from the page of your app",
    )
}
