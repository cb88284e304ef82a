//! What Slack's refusals mean. PURE. Errors are replies with status 200 and `ok: false`; only a rate limit has a
//! status of its own. <https://docs.slack.dev/reference/methods/chat.postMessage#errors>

use crate::base::json::Members;
use crate::base::limits::channels::{SAID_CHARS, USUAL_WAIT};
use crate::channels::kit::adapter::Failure;
use crate::text::one_line;

/// The error for wrong tokens.
pub const BAD_TOKEN: &str = "Slack rejects a token: set channels.slack.botToken to the \"Bot User OAuth Token\" (xoxb-…) and \
                             channels.slack.appToken to an \"App-Level Token\" (xapp-…) of your app at https://api.slack.com/apps";

/// What to do when socket mode is off.
const NO_SOCKET_MODE: &str = "turn on \"Socket Mode\" for your app at https://api.slack.com/apps";

/// The failure that a refusal means.
pub fn refusal(reply: &Members<'_>) -> Failure {
    let error = one_line(&reply.text_or_empty("error"), SAID_CHARS);
    let said = format!("Slack refused the request: {error}");
    let with = |hint: &str| format!("{said} ({hint})");
    let gone = |said: String| Failure::Gone {
        said,
        moved_to: None,
    };
    match error.as_str() {
        "invalid_auth"
        | "not_authed"
        | "account_inactive"
        | "token_revoked"
        | "token_expired"
        | "not_allowed_token_type" => Failure::Down(format!("{BAD_TOKEN} ({error})")),
        "missing_scope" => {
            let needed = one_line(&reply.text_or_empty("needed"), SAID_CHARS);
            Failure::Refused(with(&format!(
                "add the scope {needed} on the page \"OAuth & Permissions\" of your app, and install it again"
            )))
        }
        "socket_mode_disabled" | "socket_mode_not_enabled" => Failure::Down(with(NO_SOCKET_MODE)),
        "ratelimited" | "rate_limited" => Failure::RetryAfter(USUAL_WAIT),
        "internal_error"
        | "fatal_error"
        | "service_unavailable"
        | "request_timeout"
        | "team_added_to_org"
        | "accesslimited" => {
            Failure::Trouble(said.replace("refused the request", "is having trouble"))
        }
        "channel_not_found" | "user_not_found" | "users_not_found" | "user_disabled"
        | "is_archived" | "cannot_dm_bot" | "user_not_visible" => gone(said),
        "not_in_channel" => gone(with("invite the app to the channel with /invite")),
        "messages_tab_disabled" => {
            gone(with("allow messages on the page \"App Home\" of your app"))
        }
        "message_not_found"
        | "cant_update_message"
        | "edit_window_closed"
        | "cant_delete_message"
        | "bad_timestamp" => Failure::MessageGone,
        "msg_too_long" => Failure::TooLong,
        "invalid_blocks" | "invalid_blocks_format" | "msg_blocks_too_long" => Failure::Markup(said),
        _ => Failure::Refused(said),
    }
}

/// Whether the outcome of a call is known: what it was to do has been done, or will not be.
pub fn is_certain<T>(outcome: &Result<T, Failure>) -> bool {
    !matches!(
        outcome,
        Err(Failure::Trouble(_) | Failure::Down(_) | Failure::Local(_) | Failure::Stopped)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reply: &str) -> Failure {
        refusal(&Members::read(reply).unwrap())
    }

    #[test]
    fn each_refusal_is_told_apart_by_what_can_be_done() {
        for (error, expected) in [
            ("invalid_auth", "Down"),
            ("ratelimited", "RetryAfter"),
            ("internal_error", "Trouble"),
            ("channel_not_found", "Gone"),
            ("not_in_channel", "Gone"),
            ("message_not_found", "MessageGone"),
            ("msg_too_long", "TooLong"),
            ("invalid_blocks", "Markup"),
            ("something_new", "Refused"),
        ] {
            let failure = of(&format!(r#"{{"ok":false,"error":"{error}"}}"#));
            assert!(format!("{failure:?}").starts_with(expected), "{failure:?}");
        }
    }

    #[test]
    fn a_missing_scope_is_named() {
        let failure = of(r#"{"ok":false,"error":"missing_scope","needed":"files:read"}"#);
        assert!(
            failure.to_string().contains("scope files:read on"),
            "{failure}"
        );
    }

    #[test]
    fn what_may_have_been_done_is_not_certain() {
        assert!(is_certain(&Ok(())));
        assert!(is_certain::<()>(&Err(of(r#"{"error":"x"}"#))));
        assert!(!is_certain::<()>(&Err(Failure::Trouble(String::new()))));
        assert!(!is_certain::<()>(&Err(Failure::Stopped)));
    }
}
