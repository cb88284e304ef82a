//! Allowances: for some minutes an owner lets everything run in a chat without being asked. They are kept in
//! memory only, so a restart ends them, and their time is monotonic: setting the clock lengthens none.

use std::time::Duration;

use crate::base::clock::Stopwatch;
use crate::base::message::SessionKey;
use crate::base::sync::Mutex;

/// How long everything is allowed in a chat when an owner says so: enough for one repair.
const ALLOWANCE_TIME: Duration = Duration::from_mins(10);
/// Chats of an agent in which everything is allowed at a time; the oldest gives way.
const ALLOWANCES_MAX: usize = 16;

/// The allowances of an agent, by the session key of their chat.
#[derive(Default)]
pub struct Allowances(Mutex<Vec<(String, Stopwatch)>>);

impl Allowances {
    /// Allows everything in a chat from now on; one that holds begins again. Of too many the oldest ends.
    pub fn begin(&self, chat: &str) {
        let chat = SessionKey::approval_scope(chat);
        let mut held = self.0.lock();
        held.retain(|(other, since)| other != chat && left(since).is_some());
        if held.len() >= ALLOWANCES_MAX {
            held.remove(0);
        }
        held.push((chat.to_owned(), Stopwatch::start()));
    }

    /// How long everything is still allowed in a chat; `None` when it is not.
    pub fn left(&self, chat: &str) -> Option<Duration> {
        let chat = SessionKey::approval_scope(chat);
        let held = self.0.lock();
        let mut of_chat = held.iter().filter(|(other, _)| other == chat);
        of_chat.find_map(|(_, since)| left(since))
    }

    /// Ends the allowance of a chat. Returns whether there was one.
    pub fn revoke(&self, chat: &str) -> bool {
        let had = self.left(chat).is_some();
        let chat = SessionKey::approval_scope(chat);
        self.0.lock().retain(|(other, _)| other != chat);
        had
    }
}

/// How long an allowance lasts.
fn time() -> Duration {
    #[cfg(feature = "test-hooks")]
    if let Some(seconds) = std::env::var_os("PEACRAB_TEST_ALLOWANCE_SECS") {
        let seconds = seconds.to_string_lossy().parse().unwrap_or_default();
        return Duration::from_secs(seconds);
    }
    ALLOWANCE_TIME
}

fn left(since: &Stopwatch) -> Option<Duration> {
    let left = time().checked_sub(since.elapsed());
    left.filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_of_one_chat_and_ends_when_it_is_revoked() {
        let allowances = Allowances::default();
        assert_eq!(allowances.left("a"), None);
        allowances.begin("a");
        let left = allowances.left("a").unwrap();
        assert!(left <= ALLOWANCE_TIME && left > ALLOWANCE_TIME / 2);
        assert_eq!(allowances.left("b"), None, "another chat");
        assert!(allowances.revoke("a") && !allowances.revoke("a"));
        assert_eq!(allowances.left("a"), None);
    }

    #[test]
    fn their_number_is_bounded() {
        let allowances = Allowances::default();
        for chat in 0..=ALLOWANCES_MAX {
            allowances.begin(&chat.to_string());
        }
        assert_eq!(allowances.0.lock().len(), ALLOWANCES_MAX);
        assert_eq!(allowances.left("0"), None, "the oldest has ended");
    }
}
