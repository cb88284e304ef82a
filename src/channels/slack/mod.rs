//! Slack, as an app in socket mode: its Web API for what goes out (<https://docs.slack.dev/apis/web-api>), a
//! websocket for what comes in (<https://docs.slack.dev/apis/events-api/using-socket-mode>).
//!
//! A chat's id is Slack's, such as `C0123ABCD` or, for the private chat with a person, also the person's. A thread
//! is named by the number of its first message, its `ts`, which also is a message's id within its chat.

mod api;
mod connection;
pub mod event;
mod mrkdwn;
mod receive;
mod sent;

use std::sync::Arc;

pub use connection::Slack;

use super::kit::service::{Need, Service};
use crate::config::channels::Bot;

/// Those of a draft: an edit cannot have more. <https://docs.slack.dev/reference/methods/chat.update>
const EDIT_UNITS: usize = 4000;
/// Bytes of a button's data, its `value`.
const BUTTON_DATA_BYTES: usize = 2000;
/// Bytes of a connection's address with its ticket, and of the address of a file.
const URL_BYTES: usize = 2048;
/// Bytes of a connection's other short strings, such as an envelope's id.
const TOKEN_BYTES: usize = 256;

/// Bytes of an id of Slack's; they have eleven characters.
const ID_BYTES: usize = 32;

/// The channel's name in addresses.
pub const NAME: &str = "slack";

/// The channel.
pub static SERVICE: Service = Service {
    name: NAME,
    title: "Slack",
    needs: &[
        Need {
            key: "botToken",
            how: "Create an app at https://api.slack.com/apps, install it, and copy the \"Bot User OAuth Token\" (xoxb-…) from its page \"OAuth & Permissions\".",
        },
        Need {
            key: "appToken",
            how: "Turn on \"Socket Mode\" for the app, and copy the app-level token (xapp-…) with the scope connections:write from its page \"Basic Information\".",
        },
    ],
    check,
    make: |making| Arc::new(Slack::new(making)),
    login: None,
};

/// Whether a token cannot be one. <https://docs.slack.dev/authentication/tokens>
fn check(bot: &Bot) -> Option<&'static str> {
    let starts = |key, start: &str| {
        let token = bot.secret(key);
        token.is_empty() || token.expose().starts_with(start)
    };
    if !starts("botToken", "xoxb-") {
        return Some(
            "channels.slack.botToken does not look like a bot token, which begins with xoxb-. Copy the \"Bot User OAuth Token\" from the page \"OAuth & Permissions\" of your app",
        );
    }
    if !starts("appToken", "xapp-") {
        return Some(
            "channels.slack.appToken does not look like an app-level token, which begins with xapp-. Create one with the scope connections:write on the page \"Basic Information\" of your app",
        );
    }
    let is_known = bot.react_emoji.is_empty() || connection::emoji_name(&bot.react_emoji).is_some();
    (!is_known).then_some(
        "channels.slack.reactEmoji is not the name of an emoji. Slack knows them by names, such as eyes or white_check_mark",
    )
}

/// Whether a text can be an id of Slack's: it becomes a part of a request.
fn is_id(text: &str) -> bool {
    let fits = (2..=ID_BYTES).contains(&text.len());
    fits && text
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// The number of a message, `1355517523.000005`, in microseconds; `None` for anything else.
fn micros(ts: &str) -> Option<i64> {
    let (seconds, micros) = ts.split_once('.')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=11).contains(&seconds.len()) && micros.len() == 6;
    if !(fits && is_number(seconds) && is_number(micros)) {
        return None;
    }
    let seconds: i64 = seconds.parse().ok()?;
    Some(seconds * 1_000_000 + micros.parse::<i64>().ok()?)
}

/// The same backwards.
fn ts_of(micros: i64) -> String {
    let micros = micros.max(0);
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_numbered_in_microseconds() {
        for (ts, expected) in [
            ("1355517523.000005", Some(1_355_517_523_000_005)),
            ("0.000001", Some(1)),
            ("1355517523", None),
            ("1355517523.5", None),
            ("-1.000005", None),
            ("1.00000x", None),
            ("123456789012.000005", None),
            ("1.0000055", None),
            ("", None),
        ] {
            assert_eq!(micros(ts), expected, "{ts}");
            if let Some(micros) = expected {
                assert_eq!(ts_of(micros), ts);
            }
        }
    }

    #[test]
    fn only_ids_get_into_requests() {
        for id in ["C0123ABCD", "D1", "U0LAN0Z89", "W012A3CDE"] {
            assert!(is_id(id), "{id}");
        }
        for text in ["", "C", "c0123", "C01 23", "C01/../2", "C\n1", "#general"] {
            assert!(!is_id(text), "{text}");
        }
        assert!(!is_id(&"C".repeat(99)));
    }
}
