//! Telegram, by its Bot API (<https://core.telegram.org/bots/api>).

mod albums;
pub mod api;
mod connection;
mod press;
mod receive;
mod rich;
mod topics;
mod trial;
pub mod update;

use std::sync::Arc;

pub use connection::Telegram;

use super::kit::service::{Need, Service};
use crate::config::channels::Bot;

/// The channel's name in addresses.
pub const NAME: &str = api::CHANNEL;

/// The channel.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "Telegram",
    needs: &[Need {
        key: "token",
        how: "Create a bot with @BotFather on Telegram (/newbot) and copy its token.",
    }],
    check,
    make: |making| {
        let telegram = Telegram::new(making.bot, making.tls, making.clock);
        Arc::new(telegram.remembering(making.state))
    },
    login: None,
};

/// Whether the token cannot be one. <https://core.telegram.org/bots/api#authorizing-your-bot>
fn check(bot: &Bot) -> Option<&'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_right = bot
        .token
        .expose()
        .split_once(':')
        .is_some_and(|(id, secret)| {
            let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
            is_number && !secret.is_empty() && secret.bytes().all(is_plain)
        });
    (!is_right).then_some(
        "channels.telegram.token does not look like a bot token. @BotFather gives you one such as 123456789:AAE…",
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
        assert!(!is_wrong("123:AAE-x_y"));
        for token in ["123", ":AA", "bot123:AA", "123:", "123:A A", "123:AA/../x"] {
            assert!(is_wrong(token), "{token}");
        }
    }
}
