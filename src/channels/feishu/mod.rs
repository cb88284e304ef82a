//! Feishu, and Lark, as it is called outside of China, as an app with a bot: its API for what goes out, its long
//! connection, a websocket with binary frames, for what comes in.
//!
//! The address of a private chat is the person's id (`feishu:ou_…`), that of a group the group's (`feishu:oc_…`), and
//! a thread is named by the message that it began with (`feishu:oc_…:om_…`).

mod api;
mod card;
mod connection;
mod content;
pub mod event;
pub mod frame;
mod receive;
pub mod session;

use std::sync::Arc;

use self::connection::Feishu;
use super::kit::service::{Making, Need, Service};
use crate::config::channels::Bot;

/// Bytes of a button's data; Feishu has no bound below that of the card.
const BUTTON_DATA_BYTES: usize = 256;
/// Bytes of a file that is sent: Feishu takes no larger ones.
const UPLOAD_BYTES: u64 = 30 * 1024 * 1024;

/// The channel's name in addresses.
pub const NAME: &str = "feishu";

/// The channel for the table of channels.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "Feishu",
    needs: &[
        Need {
            key: "appId",
            how: "Create an app at https://open.feishu.cn/app (Lark: https://open.larksuite.com/app), add the feature \"Bot\", and copy the App ID \
                  from its page \"Credentials & Basic Info\".",
        },
        Need {
            key: "appSecret",
            how: "Copy the App Secret from the same page. Then choose the long connection under \"Events & Callbacks\", for events and for \
                  callbacks, and publish a version of the app.",
        },
    ],
    make: |making: Making| Arc::new(Feishu::new(making)),
    check,
    login: None,
};

/// What cannot be right about the settings.
fn check(bot: &Bot) -> Option<&'static str> {
    let app = bot.text("appId");
    let domain = bot.text("domain");
    if !app.is_empty() && !app.starts_with("cli_") {
        return Some(
            "channels.feishu.appId is not an App ID, which begins with cli_: copy it from the page \"Credentials & Basic Info\" of your app",
        );
    }
    (!matches!(domain, "" | "feishu" | "lark"))
        .then_some("channels.feishu.domain must be feishu or lark")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bot_is_reached_where_its_app_is() {
        let bot = Bot::default();
        assert_eq!(check(&bot), None);
        assert_eq!(api::base(&bot), "https://open.feishu.cn");
    }
}
