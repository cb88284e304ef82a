//! Slack, as an app in socket mode: its Web API for what goes out (<https://docs.slack.dev/apis/web-api>), a
//! websocket for what comes in (<https://docs.slack.dev/apis/events-api/using-socket-mode>).
//!
//! A chat's id is Slack's, such as `C0123ABCD` or, for the private chat with a person, also the person's. A thread
//! is named by the number of its first message, its `ts`, which also is a message's id within its chat.

mod api;
mod connection;
mod event;
mod explain;
mod missed;
mod mrkdwn;
mod receive;
mod sent;
mod session;
mod text;

pub use connection::Slack;

/// The channel's name in addresses.
pub const NAME: &str = "slack";

/// Whether a text can be an id of Slack's: it becomes a part of a request.
fn is_id(text: &str) -> bool {
    let fits = (2..=crate::limits::channels::slack::ID_BYTES).contains(&text.len());
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
