//! Discord, as a bot: its REST API for what goes out (<https://discord.com/developers/docs/reference>),
//! its gateway, a websocket, for what comes in.

pub mod api;
mod connection;
pub mod event;
mod receive;
pub mod types;

use std::sync::Arc;

pub use connection::Discord;

use super::kit::service::{Need, Service};
use crate::config::channels::Bot;

/// Bytes of a file that goes to Discord: what a server without boosts takes.
const DISCORD_UPLOAD_BYTES: u64 = 10 * 1024 * 1024;
/// Messages asked for at once; Discord gives no more.
const DISCORD_MISSED_MESSAGES: usize = 100;

/// The channel's name in addresses.
pub const NAME: &str = "discord";

/// The channel.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "Discord",
    needs: &[Need {
        key: "token",
        how: "Create an application at https://discord.com/developers/applications and copy the token from its page \"Bot\".",
    }],
    check,
    make: |making| Arc::new(Discord::new(making)),
    login: None,
};

/// Whether the token cannot be one. <https://docs.discord.com/developers/reference#authentication>
fn check(bot: &Bot) -> Option<&'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_part = |text: &str| !text.is_empty() && text.bytes().all(is_plain);
    let token = bot.token.expose();
    let is_right = token.split('.').count() == 3 && token.split('.').all(is_part);
    (!is_right).then_some(
        "channels.discord.token does not look like a bot token. Copy it from the page \"Bot\" of your application, without \"Bot\" before it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::Secret;

    #[test]
    fn a_token_of_the_wrong_shape_is_found() {
        let is_wrong = |token: &str| {
            let mut bot = Bot::of(NAME);
            bot.token = Secret::new(token);
            check(&bot).is_some()
        };
        assert!(!is_wrong("a1.b-2.c_3"));
        for token in ["a.b", "Bot a.b.c", "a..c", "a.b.c.d"] {
            assert!(is_wrong(token), "{token}");
        }
    }
}
