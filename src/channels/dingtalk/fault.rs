//! What an error reply of DingTalk means. Pure.
//!
//! The API answers with a status and a word, `{"code": "…", "message": "…"}`; the older one, which takes uploads, with
//! the status 200 and a number, `{"errcode": 40014, "errmsg": "…"}`.
//! <https://open.dingtalk.com/document/orgapp/error-code-3>

use std::time::Duration;

use serde_json::Value;

use crate::base::limits::channels::{LONGEST_WAIT, SAID_CHARS};
use crate::channels::kit::adapter::Failure;
use crate::text::one_line;

/// Wait after too many calls of one kind: DingTalk counts them by the second.
const QPS_WAIT: Duration = Duration::from_secs(1);

/// The error for wrong credentials.
pub const BAD_CREDENTIALS: &str = "DingTalk rejects the app's credentials: set channels.dingtalk.clientId and channels.dingtalk.clientSecret to \
     the Client ID and the Client Secret on the page of your app at https://open-dev.dingtalk.com";

/// Why a call was not carried out.
#[derive(Debug)]
pub enum Fault {
    /// The token is not valid any more; a new one may help.
    Token(String),
    /// All calls have to wait.
    Held(Duration),
    /// Anything else.
    Failed(Failure),
}

impl Fault {
    /// The failure that it is for a caller who does not try again.
    pub fn failure(self) -> Failure {
        match self {
            Self::Token(said) => Failure::Down(said),
            Self::Held(wait) => Failure::RetryAfter(wait),
            Self::Failed(failure) => failure,
        }
    }
}

/// What an error reply means. `wait` is the time that a header asks for.
pub fn classify(status: u16, reply: &Value, wait: Option<Duration>) -> Fault {
    if let Some(code) = reply["errcode"].as_i64() {
        return classify_number(code, reply);
    }
    let word = reply["code"].as_str().unwrap_or_default();
    if word.is_empty() {
        return Fault::Failed(explain_refusal(status));
    }
    let said = said(reply["message"].as_str().unwrap_or_default(), word);
    let code = word.to_ascii_lowercase();
    let has = |part: &str| code.contains(part);
    let wait = wait.unwrap_or(QPS_WAIT).min(LONGEST_WAIT);
    if has("qpslimit") || has("qpmlimit") || has("throttl") || has("toofast") || status == 429 {
        return Fault::Held(wait);
    }
    if has("invalidclientidorsecret") || has("authfailed") || has("invalidappkey") {
        return Fault::Failed(Failure::Down(BAD_CREDENTIALS.to_owned()));
    }
    if has("invalidauthentication") || has("invalidaccesstoken") || status == 401 {
        return Fault::Token(said);
    }
    Fault::Failed(if has("permissiondenied") {
        Failure::Refused(format!(
            "{said}. Add the permission qyapi_robot_sendmsg on the page \"Permissions\" of the app, and publish a new version"
        ))
    } else if has("whitelist") {
        Failure::Down(format!(
            "{said}. Add this machine's public address to the app's allowed addresses"
        ))
    } else if is_chat_gone(&code) {
        Failure::Gone {
            said,
            moved_to: None,
        }
    } else if has("robot") || said.to_ascii_lowercase().contains("robot") {
        Failure::Refused(format!(
            "{said}. Add a robot to the app, publish a version, and check channels.dingtalk.robotCode"
        ))
    } else if status >= 500
        || has("internalerror")
        || has("serviceunavailable")
        || has("systemerror")
    {
        Failure::Trouble(said.replace("refused the request", "is having trouble"))
    } else {
        Failure::Refused(said)
    })
}

/// Whether the person or the group is not there, rather than a robot, a file or an address of the API: those have
/// codes like `resource.not.found` too.
fn is_chat_gone(code: &str) -> bool {
    let is_missing = ["notexist", "notfound", "not.found"]
        .into_iter()
        .any(|part| code.contains(part));
    let is_chat = ["staffid", "user", "conversation", "group", "chat"]
        .into_iter()
        .any(|part| code.contains(part));
    (is_missing && is_chat) || code.contains("notingroup") || code.contains("disbanded")
}

/// The same for the older API.
fn classify_number(code: i64, reply: &Value) -> Fault {
    let said = said(
        reply["errmsg"].as_str().unwrap_or_default(),
        &code.to_string(),
    );
    match code {
        // None, a wrong one, one that has ended.
        40_001 | 40_014 | 41_001 | 42_001 => Fault::Token(said),
        // Too many calls: of this kind, of the app, of all, by the second or by the minute.
        90_001..=90_018 | 130_101 => Fault::Held(QPS_WAIT),
        88 if ["90018", "90002", "9000"]
            .into_iter()
            .any(|sub| said.contains(sub)) =>
        {
            Fault::Held(QPS_WAIT)
        }
        -1 => Fault::Failed(Failure::Trouble(
            said.replace("refused the request", "is having trouble"),
        )),
        _ => Fault::Failed(Failure::Refused(said)),
    }
}

fn said(words: &str, code: &str) -> String {
    format!(
        "DingTalk refused the request: {} ({})",
        one_line(words, SAID_CHARS),
        one_line(code, SAID_CHARS)
    )
}

/// The failure for a reply that is not DingTalk's, such as a proxy's page.
pub fn explain_refusal(status: u16) -> Failure {
    Failure::Trouble(format!(
        "DingTalk or a proxy is having trouble (status {status}). If this goes on, check channels.dingtalk.apiBase, \
         channels.dingtalk.oapiBase and channels.dingtalk.proxy."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(status: u16, reply: Value) -> &'static str {
        match classify(status, &reply, None) {
            Fault::Token(_) => "token",
            Fault::Held(_) => "held",
            Fault::Failed(Failure::Down(said)) if said == BAD_CREDENTIALS => "credentials",
            Fault::Failed(Failure::Down(_)) => "down",
            Fault::Failed(Failure::Gone { .. }) => "gone",
            Fault::Failed(Failure::Trouble(_)) => "trouble",
            Fault::Failed(Failure::Refused(_)) => "refused",
            Fault::Failed(_) => "other",
        }
    }

    #[test]
    fn each_code_has_its_meaning() {
        for (status, code, expected) in [
            (403, "Forbidden.AccessDenied.QpsLimitForApi", "held"),
            (
                403,
                "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi",
                "held",
            ),
            (
                403,
                "Forbidden.AccessDenied.AccessTokenPermissionDenied",
                "refused",
            ),
            (403, "Forbidden.AccessDenied.IpNotInWhiteList", "down"),
            (429, "x", "held"),
            (400, "InvalidAuthentication", "token"),
            (401, "x", "token"),
            (400, "invalidClientIdOrSecret", "credentials"),
            (401, "authFailed", "credentials"),
            (400, "staffId.notExisted", "gone"),
            (400, "invalidParameter.robotCode.empty", "refused"),
            (400, "robotNotInGroup", "gone"),
            (400, "openConversationId.notExist", "gone"),
            (400, "group.disbanded", "gone"),
            (404, "resource.not.found", "refused"),
            (404, "invalidAction.NotFound", "refused"),
            (400, "invalidParameter.msgParam.invalid", "refused"),
            (500, "InternalError", "trouble"),
            (503, "ServiceUnavailable", "trouble"),
            (502, "", "trouble"),
        ] {
            let reply = json!({"code": code, "message": "words", "requestid": "r"});
            assert_eq!(kind(status, reply), expected, "{status} {code}");
        }
        for (code, expected) in [
            (40_014, "token"),
            (90_018, "held"),
            (40_004, "refused"),
            (-1, "trouble"),
        ] {
            let reply = json!({"errcode": code, "errmsg": "words"});
            assert_eq!(kind(200, reply), expected, "{code}");
        }
        assert_eq!(kind(502, json!(null)), "trouble");
    }

    #[test]
    fn a_wait_that_is_asked_for_counts() {
        let reply = json!({"code": "Throttling.Api", "message": ""});
        let wait = Duration::from_secs(7);
        assert!(matches!(classify(403, &reply, Some(wait)), Fault::Held(held) if held == wait));
    }
}
