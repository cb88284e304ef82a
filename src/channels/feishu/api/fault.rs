//! What Feishu's codes mean. Pure.
//! <https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code>

use std::time::Duration;

use super::BAD_CREDENTIALS;
use crate::base::limits::channels::{LONGEST_WAIT, SAID_CHARS, USUAL_WAIT};
use crate::channels::kit::adapter::Failure;
use crate::text::ellipsize_chars;

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

/// The fault that a reply means. `said` are Feishu's words, `reset` is the wait that a header asks for.
pub fn classify(status: u16, code: Option<i64>, said: &str, reset: Option<Duration>) -> Fault {
    let Some(code) = code else {
        return Fault::Failed(explain_refusal(status));
    };
    let words = said.replace(char::is_control, " ");
    let words = ellipsize_chars(words.trim(), SAID_CHARS);
    let said = format!("Feishu refused the request: {words} ({code})");
    let wait = reset.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
    let gone = |why: &str| {
        let said = match why {
            "" => said.clone(),
            why => format!("{said}: {why}"),
        };
        Failure::Gone {
            said,
            moved_to: None,
        }
    };
    Fault::Failed(match code {
        99_991_661 | 99_991_663..=99_991_665 | 99_991_668 | 99_991_671 => {
            return Fault::Token(said);
        }
        // One API, all chats.
        99_991_400 => return Fault::Held(wait),
        _ if status == 429 => return Fault::Held(wait),
        // One chat; one message; the whole service at a busy time.
        230_020 | 230_047 | 11_232 | 11_233 => Failure::RetryAfter(wait),
        // The app's id or its secret. 1000040345 comes from the address of the long connection.
        10_003 | 10_014 | 10_015 | 10_012 | 1_000_040_344 | 1_000_040_345 => {
            Failure::Down(BAD_CREDENTIALS.to_owned())
        }
        99_991_672 | 99_991_679 | 230_027 => Failure::Refused(format!(
            "{said}. Add the permission on the page \"Permissions & Scopes\" of the app, and publish a new version"
        )),
        230_006 => Failure::Down(format!(
            "{said}. Add the feature \"Bot\" to the app, and publish a new version"
        )),
        230_002 => gone("the bot is not in the group"),
        230_013 => gone("the person is not in the app's range of availability"),
        230_029 | 230_034 | 230_038 | 230_045 | 230_053 | 232_006 | 232_009 => gone(""),
        // Withdrawn, deleted, too old, somebody else's, no card, invisible, unknown; threads are not possible here.
        230_011 | 230_110 | 230_031 | 230_012 | 230_017 | 230_054 | 230_050 | 230_030 | 230_071
        | 230_072 | 231_003 => Failure::MessageGone,
        230_025 => Failure::TooLong,
        230_049 => Failure::Trouble(said),
        // The inner code tells what is wrong with a card; 11310 are too many tables.
        230_099 => Failure::Markup(said),
        // A file that is gone, or one of a message that is.
        234_003 | 234_004 | 234_041 => Failure::MessageGone,
        1 | 1_500 | 1_551 | 2_200 | 55_001 | 1_000_040_343 | 99_991_407 => {
            Failure::Trouble(said.replace("refused the request", "is having trouble"))
        }
        _ if status >= 500 => {
            Failure::Trouble(said.replace("refused the request", "is having trouble"))
        }
        _ => Failure::Refused(said),
    })
}

/// The failure for a reply that is not Feishu's, such as a proxy's page.
pub fn explain_refusal(status: u16) -> Failure {
    Failure::Trouble(format!(
        "Feishu or a proxy is having trouble (status {status}). If this goes on, check channels.feishu.apiBase and \
         channels.feishu.proxy."
    ))
}
