//! What an error reply of QQ means. Pure.
//!
//! QQ documents its codes in several places, and not all of them:
//! <https://bot.q.qq.com/wiki/develop/api-v2/openapi/error/error.html>

use std::time::Duration;

use serde_json::Value;

use crate::base::json;
use crate::base::limits::channels::{JSON_LEVELS_MAX, LONGEST_WAIT, SAID_CHARS, USUAL_WAIT};
use crate::channels::kit::adapter::Failure;
use crate::text::one_line;

/// The error for a wrong AppID or AppSecret.
pub const BAD_SECRET: &str = "QQ rejects the bot's AppID or AppSecret: set channels.qq.appId and channels.qq.secret to those on \
                              the page of your bot at https://q.qq.com";

/// Why a call failed, as far as the caller can do something about it.
#[derive(Debug)]
pub enum Fault {
    /// The access token is not taken any more.
    Token,
    /// The message to reply to is too old, or was replied to too often.
    Closed,
    /// QQ takes only replies here.
    OnlyReplies,
    /// This message was sent before: it has the same number.
    Repeated,
    /// QQ holds the message back to look at it, and sends it later.
    Audited,
    /// The text has a link, which is not allowed here.
    Link,
    /// Anything else.
    Failed(Failure),
}

impl Fault {
    /// The failure that it is to those who can do nothing else about it.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Token => Failure::Down(BAD_SECRET.to_owned()),
            Self::Closed => {
                Failure::Refused("QQ no longer takes a reply to this message".to_owned())
            }
            Self::OnlyReplies => Failure::Refused("QQ lets the bot only reply here".to_owned()),
            Self::Repeated => Failure::NotModified,
            Self::Audited => {
                Failure::Refused("QQ looks at the message before it shows it".to_owned())
            }
            Self::Link => Failure::Refused("QQ does not allow this link here".to_owned()),
            Self::Failed(failure) => failure,
        }
    }
}

/// Why there was no access token.
pub fn no_token(reply: &Value) -> Failure {
    let code = reply["code"].as_u64().unwrap_or_default();
    match code {
        // Unknown AppID, wrong secret, bot that is banned or not approved.
        100_007 | 100_016 | 100_017 | 10_004 => Failure::Down(BAD_SECRET.to_owned()),
        _ => {
            let said = one_line(reply["message"].as_str().unwrap_or_default(), SAID_CHARS);
            Failure::Trouble(format!("QQ gives no access token ({code} {said})"))
        }
    }
}

/// What an error reply means.
pub fn classify(status: u16, body: &str, retry_after: Option<Duration>) -> Fault {
    let reply = json::from_str_within::<Value>(body, JSON_LEVELS_MAX).unwrap_or_default();
    let number = |name: &str| reply[name].as_u64();
    let code = number("code")
        .or_else(|| number("err_code"))
        .unwrap_or_default();
    let said = one_line(reply["message"].as_str().unwrap_or_default(), SAID_CHARS);
    let trouble = || {
        Fault::Failed(Failure::Trouble(format!(
            "QQ is having trouble ({status} {code} {said}). If this goes on, check channels.qq.apiBase"
        )))
    };
    let refused = || {
        Fault::Failed(Failure::Refused(format!(
            "QQ refused the request: {said} ({code})"
        )))
    };
    let wait = || {
        let wait = retry_after.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
        Fault::Failed(Failure::RetryAfter(wait))
    };
    match code {
        // No token, a wrong one, one that has ended.
        11_241..=11_244 | 11_252..=11_255 => Fault::Token,
        40_034_024 | 40_034_025 | 304_027 | 304_022 | 22_009 | 40_034_005 | 40_034_006 => {
            Fault::Closed
        }
        40_034_102 | 304_045..=304_050 | 40_034_103 | 40_054_001 => Fault::OnlyReplies,
        40_054_005 => Fault::Repeated,
        304_023 | 304_024 => Fault::Audited,
        40_054_010 | 40_054_011 | 304_003 => Fault::Link,
        // The bot may not use Markdown, or not this one.
        304_036 | 304_037 | 50_056 | 40_034_012..=40_034_018 => Fault::Failed(Failure::Markup(
            format!("QQ refused the Markdown: {said} ({code})"),
        )),
        // The bot was removed, or the person is no friend any more.
        11_255_001 | 40_054_002 | 40_054_003 | 10_003 | 10_004 => Fault::Failed(Failure::Gone {
            said: format!("QQ refused the request: {said} ({code})"),
            moved_to: None,
        }),
        // Too many calls, of this kind or at all.
        11_281 | 11_282 | 20_028 | 304_016 | 304_026 | 1_100_100 | 1_100_308 => wait(),
        850_000..=850_999 if status >= 500 => trouble(),
        _ => match status {
            401 => Fault::Token,
            429 => wait(),
            500.. => trouble(),
            _ if code == 0 && said.is_empty() => trouble(),
            404 => Fault::Failed(Failure::MessageGone),
            _ => refused(),
        },
    }
}

/// A text whose links QQ does not take, with a full stop that is none in their hosts: they are not links then, and
/// people can read them.
pub fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|char: char| char.is_whitespace() || "/?#)>\"".contains(char));
        let (host, more) = after.split_at(end.unwrap_or(after.len()));
        out.push_str(&host.replace('.', "。"));
        rest = more;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> &'static str {
        match classify(status, body, None) {
            Fault::Token => "token",
            Fault::Closed => "closed",
            Fault::OnlyReplies => "only replies",
            Fault::Repeated => "repeated",
            Fault::Audited => "audited",
            Fault::Link => "link",
            Fault::Failed(Failure::Markup(_)) => "markup",
            Fault::Failed(Failure::Trouble(_)) => "trouble",
            Fault::Failed(Failure::Refused(_)) => "refused",
            Fault::Failed(Failure::RetryAfter(_)) => "wait",
            Fault::Failed(Failure::MessageGone) => "gone",
            Fault::Failed(_) => "other",
        }
    }

    #[test]
    fn each_code_has_its_meaning() {
        for (status, body, expected) in [
            (
                400,
                r#"{"message":"x","code":40034102,"err_code":40034102}"#,
                "only replies",
            ),
            (400, r#"{"message":"x","code":40034024}"#, "closed"),
            (400, r#"{"message":"x","err_code":40054005}"#, "repeated"),
            (400, r#"{"message":"x","code":40054010}"#, "link"),
            (
                401,
                r#"{"message":"token not exist or expire","code":11244}"#,
                "token",
            ),
            (401, "", "token"),
            (429, "", "wait"),
            (400, r#"{"message":"x","code":22009}"#, "closed"),
            (202, r#"{"message":"x","code":304023}"#, "audited"),
            (500, "<html>", "trouble"),
            (502, "", "trouble"),
            (403, "<html>", "trouble"),
            (404, r#"{"message":"not found","code":11}"#, "gone"),
            (400, r#"{"message":"bad","code":11}"#, "refused"),
            (400, r#"{"message":"markdown","code":304036}"#, "markup"),
        ] {
            assert_eq!(kind(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn links_stay_readable() {
        for (text, expected) in [
            (
                "see https://a.example.org/b.html.",
                "see https://a。example。org/b.html.",
            ),
            ("(http://a.b) x.y", "(http://a。b) x.y"),
            ("no link", "no link"),
            ("https://", "https://"),
        ] {
            assert_eq!(without_links(text), expected);
        }
    }

    #[test]
    fn a_wrong_secret_is_told_apart_from_trouble() {
        let wrong = serde_json::json!({"code": 100_016, "message": "invalid appid or secret"});
        assert!(matches!(no_token(&wrong), Failure::Down(said) if said == BAD_SECRET));
        assert!(matches!(no_token(&Value::Null), Failure::Trouble(_)));
    }
}
