//! Errors of the Bot API, told apart by what can be done about them.

use std::fmt;
use std::time::Duration;

use super::answer::Answer;
use crate::base::error::Error;
use crate::base::json;
use crate::base::limits::channels::{LONGEST_WAIT, SAID_CHARS, USUAL_WAIT};
use crate::text::ellipsize_chars;

/// Why a call failed. No text in it contains the token.
#[derive(Debug)]
pub enum ApiError {
    /// The token is wrong (401, and 404 for one that does not even look like a token).
    Token,
    /// Another receiver gets the bot's updates (409).
    Conflict {
        /// To a webhook; otherwise to another program that polls.
        webhook: bool,
    },
    /// Too many requests (429).
    TooManyRequests {
        /// How long to wait, at most [`LONGEST_WAIT`].
        retry_after: Duration,
    },
    /// The markup in the text is wrong; the text would be accepted without it.
    CannotParse(String),
    /// The message already has this content.
    NotModified,
    /// The message to edit, delete, reply or react to does not exist, or can no longer be changed.
    MessageGone,
    /// The text is too long.
    TooLong,
    /// Nothing can be sent to this chat: the bot is blocked, not a member, or the chat is gone.
    Gone {
        /// Telegram's description.
        said: String,
        /// The chat that took its place, when a group became a supergroup.
        moved_to: Option<i64>,
    },
    /// The topic of the chat is deleted or closed; the chat itself may take messages.
    TopicGone(String),
    /// Any other refusal; asking again changes nothing.
    Refused(String),
    /// A failure of Telegram's servers or of a proxy.
    Server(String),
    /// There is no connection, or it was lost.
    Network(String),
    /// No answer in time.
    Timeout(String),
    /// The call was cancelled.
    Stopped,
    /// A file or the configuration is at fault, on this side.
    Local(Error),
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Status {
                status,
                retry_after,
                body,
                ..
            } => classify(status, retry_after, &body),
            error @ Error::Network { .. } => Self::Network(error.to_string()),
            error @ Error::Timeout { .. } => Self::Timeout(error.to_string()),
            Error::Stopped => Self::Stopped,
            error => Self::Local(error),
        }
    }
}

impl ApiError {
    /// Whether asking again changes nothing.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::CannotParse(_)
                | Self::NotModified
                | Self::MessageGone
                | Self::TooLong
                | Self::Gone { .. }
                | Self::TopicGone(_)
                | Self::Refused(_)
        )
    }
}

/// The error that a reply with this HTTP status and body means. `wait` is what the reply's headers ask
/// for.
pub fn classify(status: u16, wait: Option<Duration>, body: &str) -> ApiError {
    match json::envelope_from_str::<Answer<'_>>(body) {
        Ok(answer) => answer.refusal(status, wait),
        Err(_) => no_answer(status),
    }
}

/// The error for a reply that is not from the Bot API, such as a proxy's page.
pub fn no_answer(status: u16) -> ApiError {
    ApiError::Server(format!("status {status}, not a reply of the Bot API"))
}

impl Answer<'_> {
    /// The error that a reply without a result means.
    pub fn refusal(&self, status: u16, wait: Option<Duration>) -> ApiError {
        let said = one_line(&self.description);
        let lower = said.to_lowercase();
        match self.error_code.unwrap_or(status) {
            401 => ApiError::Token,
            404 if !lower.contains("method") => ApiError::Token,
            409 => ApiError::Conflict {
                webhook: lower.contains("webhook"),
            },
            429 => {
                let asked = self.parameters.retry_after.map(Duration::from_secs);
                let retry_after = asked.or(wait).unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
                ApiError::TooManyRequests { retry_after }
            }
            403 => ApiError::Gone {
                said,
                moved_to: None,
            },
            400 => match BAD_REQUESTS.iter().find(|(part, _)| lower.contains(part)) {
                Some((_, meaning)) => meaning.with(said, self.parameters.migrate_to_chat_id),
                None => ApiError::Refused(said),
            },
            500.. => ApiError::Server(said),
            _ => ApiError::Refused(said),
        }
    }
}

/// The kinds of bad requests about which something can be done.
#[derive(Clone, Copy)]
enum Meaning {
    CannotParse,
    NotModified,
    MessageGone,
    TooLong,
    Gone,
    TopicGone,
}

use Meaning::{CannotParse, Gone, MessageGone, NotModified, TooLong, TopicGone};

/// Parts of the descriptions of bad requests, in lower case, and what they mean. The API documents
/// none of them; these are those of its server, `Client.cpp` in
/// <https://github.com/tdlib/telegram-bot-api>.
const BAD_REQUESTS: [(&str, Meaning); 25] = [
    ("can't parse entities", CannotParse),
    ("message is not modified", NotModified),
    ("message_not_modified", NotModified),
    ("message to edit not found", MessageGone),
    ("message to delete not found", MessageGone),
    ("message to be replied not found", MessageGone),
    ("replied message not found", MessageGone),
    ("reply message not found", MessageGone),
    ("message to react not found", MessageGone),
    ("message can't be edited", MessageGone),
    ("message can't be deleted", MessageGone),
    ("message_id_invalid", MessageGone),
    ("message is too long", TooLong),
    ("message caption is too long", TooLong),
    ("_too_long", TooLong),
    ("entities too long", TooLong),
    ("chat not found", Gone),
    ("chat was upgraded", Gone),
    ("chat is deactivated", Gone),
    ("group chat was deactivated", Gone),
    ("peer_id_invalid", Gone),
    ("message thread not found", TopicGone),
    ("topic_deleted", TopicGone),
    ("topic_closed", TopicGone),
    ("have no rights to send a message", Gone),
];

impl Meaning {
    fn with(self, said: String, moved_to: Option<i64>) -> ApiError {
        match self {
            CannotParse => ApiError::CannotParse(said),
            NotModified => ApiError::NotModified,
            MessageGone => ApiError::MessageGone,
            TooLong => ApiError::TooLong,
            Gone => ApiError::Gone { said, moved_to },
            TopicGone => ApiError::TopicGone(said),
        }
    }
}

/// One line of at most [`SAID_CHARS`] characters.
fn one_line(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    ellipsize_chars(&line, SAID_CHARS).into_owned()
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Token => {
                "Telegram rejected the bot token. Set channels.telegram.token to the token from \
                 @BotFather."
            }
            Self::Conflict { webhook: true } => {
                "a webhook is set for this bot, so Telegram sends its messages there. Remove it \
                 (deleteWebhook) or use another bot."
            }
            Self::Conflict { webhook: false } => {
                "another program is receiving this bot's messages. Stop it or use another bot."
            }
            Self::TooManyRequests { retry_after } => {
                let seconds = retry_after.as_secs();
                return write!(f, "rate-limited by Telegram for {seconds} s");
            }
            Self::NotModified => "the message already has this content",
            Self::MessageGone => "the message no longer exists or cannot be changed",
            Self::TooLong => "the text is too long for Telegram",
            Self::CannotParse(said)
            | Self::Gone { said, .. }
            | Self::TopicGone(said)
            | Self::Refused(said) => {
                return write!(f, "Telegram refused the request: {said}");
            }
            Self::Server(said) => {
                return write!(
                    f,
                    "Telegram or a proxy is having trouble: {said}. If this goes on, check \
                     channels.telegram.apiBase and channels.telegram.proxy."
                );
            }
            Self::Network(said) | Self::Timeout(said) => said,
            Self::Stopped => "stopped",
            Self::Local(error) => return error.fmt(f),
        };
        f.write_str(text)
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal as Telegram writes it.
    fn refused(code: u16, description: &str) -> ApiError {
        let body = serde_json::json!({"ok": false, "error_code": code, "description": description});
        classify(code, None, &body.to_string())
    }

    #[test]
    fn each_refusal_is_recognised_by_its_description() {
        let table = [
            (401, "Unauthorized", "Token"),
            (404, "Not Found", "Token"),
            (404, "Not Found: method not found", "Refused("),
            (
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                "Conflict { webhook: false }",
            ),
            (
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
                "Conflict { webhook: true }",
            ),
            (
                400,
                "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\"",
                "CannotParse(",
            ),
            (
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
                "NotModified",
            ),
            (400, "Bad Request: message to edit not found", "MessageGone"),
            (
                400,
                "Bad Request: message to delete not found",
                "MessageGone",
            ),
            (
                400,
                "Bad Request: message to be replied not found",
                "MessageGone",
            ),
            (400, "Bad Request: message can't be edited", "MessageGone"),
            (400, "Bad Request: MESSAGE_ID_INVALID", "MessageGone"),
            (400, "Bad Request: message is too long", "TooLong"),
            (400, "Bad Request: message caption is too long", "TooLong"),
            (400, "Bad Request: MEDIA_CAPTION_TOO_LONG", "TooLong"),
            (400, "Bad Request: chat not found", "Gone {"),
            (400, "Bad Request: PEER_ID_INVALID", "Gone {"),
            (400, "Bad Request: message thread not found", "TopicGone("),
            (400, "Bad Request: TOPIC_DELETED", "TopicGone("),
            (400, "Bad Request: TOPIC_CLOSED", "TopicGone("),
            (403, "Forbidden: bot was blocked by the user", "Gone {"),
            (
                403,
                "Forbidden: bot was kicked from the supergroup chat",
                "Gone {",
            ),
            (403, "Forbidden: user is deactivated", "Gone {"),
            (400, "Bad Request: message text is empty", "Refused("),
            (400, "Bad Request: file is too big", "Refused("),
            (
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
                "Refused(",
            ),
            (413, "Request Entity Too Large", "Refused("),
            (500, "Internal Server Error", "Server("),
            (502, "Bad Gateway", "Server("),
        ];
        for (code, description, expected) in table {
            let error = format!("{:?}", refused(code, description));
            assert!(error.starts_with(expected), "{description}: {error}");
        }
    }

    #[test]
    fn every_row_of_the_table_can_be_reached() {
        for (at, (part, meaning)) in BAD_REQUESTS.iter().enumerate() {
            let first = BAD_REQUESTS
                .iter()
                .position(|(other, _)| part.contains(other));
            assert_eq!(first, Some(at), "{part}");
            let expected = format!("{:?}", meaning.with(part.to_string(), None));
            assert_eq!(format!("{:?}", refused(400, part)), expected);
        }
    }

    #[test]
    fn the_wait_is_the_bodys_else_the_heads_and_never_endless() {
        let wait = |body: &str, head: Option<u64>| match classify(
            429,
            head.map(Duration::from_secs),
            body,
        ) {
            ApiError::TooManyRequests { retry_after } => retry_after,
            other => panic!("{other:?}"),
        };
        let asks = |seconds: u64| {
            format!(
                r#"{{"ok":false,"error_code":429,"description":"Too Many Requests: retry after {seconds}","parameters":{{"retry_after":{seconds}}}}}"#
            )
        };
        assert_eq!(wait(&asks(17), Some(3)), Duration::from_secs(17));
        assert_eq!(wait(&asks(u64::MAX), None), LONGEST_WAIT);
        let silent = r#"{"ok":false,"error_code":429,"description":"Too Many Requests"}"#;
        assert_eq!(wait(silent, Some(3)), Duration::from_secs(3));
        assert_eq!(wait(silent, None), USUAL_WAIT);
    }

    #[test]
    fn a_group_that_became_a_supergroup_says_where_it_is_now() {
        let body = r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1001557912345}}"#;
        let error = classify(400, None, body);
        assert!(
            matches!(
                error,
                ApiError::Gone {
                    moved_to: Some(-1_001_557_912_345),
                    ..
                }
            ),
            "{error:?}"
        );
    }

    #[test]
    fn a_reply_that_is_not_from_the_bot_api_is_a_server_error_whatever_its_status() {
        let page = "<html><head><title>403 Forbidden</title></head></html>";
        for (status, body) in [
            (200, "<!DOCTYPE html><title>Log in to the hotel</title>"),
            (403, page),
            (404, r#"{"error": "no such route"}"#),
            (502, ""),
            (400, "[]"),
        ] {
            let error = classify(status, None, body);
            assert!(
                matches!(error, ApiError::Server(_)),
                "{status} {body}: {error:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_answer_has_a_meaning(status in 200_u16..600, body in "(\\{\"ok\":false,\"description\":\")?.{0,40}(\"\\})?") {
            let _ = classify(status, None, &body).to_string();
        }
    }
}
