//! QQ, as an official bot: its REST API for what goes out, its gateway, a websocket, for what comes in.
//! <https://bot.q.qq.com/wiki/develop/api-v2/>
//!
//! A bot may hardly write on its own: it replies, five times to each message and for some time. See [`replies`].

mod api;
mod connection;
pub mod event;
pub mod fault;
pub mod place;
mod receive;
pub mod replies;

use std::sync::Arc;

pub use connection::Qq;

use super::kit::service::{Need, Service};
use crate::config::schema::Bot;

/// How long a message in a private chat can be replied to: 60 minutes, less what a request takes.
const PRIVATE_REPLY_MS: i64 = 59 * 60 * 1000;
/// The same for a message in a group, in a channel or in a guild's private chat: five minutes.
const GROUP_REPLY_MS: i64 = 4 * 60 * 1000 + 50 * 1000;
/// Bytes of an id; QQ's have up to 150.
const ID_BYTES: usize = 256;
/// Bytes of a file that goes to QQ. It travels as base64, and QQ's edge takes few larger requests.
const UPLOAD_BYTES: u64 = 10 * 1024 * 1024;

/// The channel's name in addresses.
pub const NAME: &str = "qq";

/// What the program knows of the channel before it is used.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "QQ",
    needs: &[
        Need {
            key: "appId",
            how: "Create a bot at https://q.qq.com and copy its AppID from the page \"Development settings\" (开发设置).",
        },
        Need {
            key: "secret",
            how: "Copy the AppSecret from the same page. It is shown once; generate another one if you have lost it.",
        },
    ],
    check,
    make: |making| Arc::new(Qq::new(making)),
    login: None,
};

/// What cannot be right in a configuration.
fn check(bot: &Bot) -> Option<&'static str> {
    if !bot.text("appId").bytes().all(|byte| byte.is_ascii_digit()) {
        return Some("channels.qq.appId must be the number that QQ shows as AppID");
    }
    (bot.flag("sendKeyboards") && !bot.flag("sendMarkdown")).then_some(
        "channels.qq.sendKeyboards needs sendMarkdown: QQ takes buttons only below Markdown",
    )
}
