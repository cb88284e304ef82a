//! What a refusal of a homeserver means. Pure.
//! <https://spec.matrix.org/latest/client-server-api/#standard-error-response>

use std::time::Duration;

use crate::base::json::Members;
use crate::base::limits::channels::{LONGEST_WAIT, SAID_CHARS, USUAL_WAIT};
use crate::channels::kit::adapter::Failure;
use crate::text::ellipsize_chars;

/// The error for a token that is not valid.
pub const BAD_TOKEN: &str = "the homeserver rejects the access token: log the bot's account in again and set \
                             channels.matrix.accessToken to its new token";

/// The failure that an error reply means. `asked` is the wait in its header.
pub fn classify(status: u16, asked: Option<Duration>, body: &str) -> Failure {
    let refusal = Members::read(body).unwrap_or_default();
    let code = refusal.text_or_empty("errcode");
    if status == 429 {
        let millis = refusal.value("retry_after_ms").as_u64();
        let said = millis.map(Duration::from_millis).or(asked);
        return Failure::RetryAfter(said.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT));
    }
    if code.is_empty() {
        return Failure::Trouble(format!(
            "the homeserver or a proxy is having trouble (status {status}). If this goes on, check \
             channels.matrix.homeserver and channels.matrix.proxy."
        ));
    }
    let error = refusal
        .text_or_empty("error")
        .replace(char::is_control, " ");
    let said = format!(
        "the homeserver refused the request: {} ({code})",
        ellipsize_chars(error.trim(), SAID_CHARS)
    );
    match code.as_str() {
        "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" => Failure::Down(BAD_TOKEN.to_owned()),
        "M_USER_DEACTIVATED" | "M_USER_LOCKED" | "M_USER_SUSPENDED" | "M_CONSENT_NOT_GIVEN" => {
            Failure::Down(said)
        }
        _ if status >= 500 => Failure::Trouble(said),
        "M_TOO_LARGE" => Failure::TooLong,
        "M_UNRECOGNIZED" => Failure::Refused(format!(
            "{said}. Check that channels.matrix.homeserver is the URL of a homeserver"
        )),
        "M_NOT_FOUND" => Failure::MessageGone,
        "M_FORBIDDEN" if is_outside(&error) => Failure::Gone {
            said: format!("{said} (invite the bot again)"),
            moved_to: None,
        },
        _ => Failure::Refused(said),
    }
}

/// Whether a refusal says that the bot is not in the room. There is no code for that, so these are the words of
/// Synapse, Dendrite and Conduit.
fn is_outside(error: &str) -> bool {
    let error = error.to_ascii_lowercase();
    let words = [
        "not in room",
        "not in the room",
        "not joined",
        "aren't a member",
        "not a member",
    ];
    words.iter().any(|words| error.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, body: &str) -> String {
        format!("{:?}", classify(status, None, body))
    }

    #[test]
    fn each_code_has_its_consequence() {
        for (status, body, expected) in [
            (
                401,
                r#"{"errcode":"M_UNKNOWN_TOKEN","error":"x","soft_logout":true}"#,
                "Down(\"the homeserver rejects",
            ),
            (
                403,
                r#"{"errcode":"M_FORBIDDEN","error":"User @b:x not in room !r:x"}"#,
                "Gone {",
            ),
            (
                403,
                r#"{"errcode":"M_FORBIDDEN","error":"You don't have permission"}"#,
                "Refused(",
            ),
            (
                404,
                r#"{"errcode":"M_NOT_FOUND","error":"Event not found."}"#,
                "MessageGone",
            ),
            (
                404,
                r#"{"errcode":"M_UNRECOGNIZED","error":"Unrecognized request"}"#,
                "Refused(",
            ),
            (
                413,
                r#"{"errcode":"M_TOO_LARGE","error":"event too large"}"#,
                "TooLong",
            ),
            (
                500,
                r#"{"errcode":"M_UNKNOWN","error":"Internal"}"#,
                "Trouble(",
            ),
            (502, "<html>", "Trouble("),
            (404, "<html>", "Trouble("),
            (
                400,
                r#"{"errcode":"M_BAD_JSON","error":"a\u0007b"}"#,
                "Refused(\"the homeserver refused the request: a b (M_BAD_JSON)",
            ),
        ] {
            let told = told(status, body);
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn the_wait_is_that_of_the_reply_of_its_header_or_a_usual_one() {
        let wait = |asked, body: &str| match classify(429, asked, body) {
            Failure::RetryAfter(wait) => wait,
            other => panic!("{other:?}"),
        };
        let limited = r#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1500}"#;
        let header = Some(Duration::from_secs(7));
        assert_eq!(wait(header, limited), Duration::from_millis(1500));
        assert_eq!(wait(header, "<html>"), Duration::from_secs(7));
        assert_eq!(wait(None, "{}"), USUAL_WAIT);
        let huge = r#"{"retry_after_ms":99999999999}"#;
        assert_eq!(wait(None, huge), LONGEST_WAIT);
    }
}
