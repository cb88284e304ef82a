//! Standing approvals: commands that a person has allowed for good, `state/approvals.json`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::approval::Question;
use crate::error::{Error, Result};
use crate::limits::state::{APPROVALS, APPROVALS_FILE_BYTES};
use crate::message::SessionKey;

use super::file::{Damaged, Policy, StateFile};

/// One of them. The hash decides; the rest is for the person who reads the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Standing {
    hash: String,
    command: String,
    folder: String,
    #[serde(rename = "lifted")]
    unsandboxed: bool,
    since: String,
    /// The session key of the chat in which it was given, and in which alone it holds. One of an
    /// earlier version has none and holds nowhere: who gave it, and to whom, is not known. It stays in
    /// the file, for the person who wonders why there is a question again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat: Option<String>,
}

impl Standing {
    fn holds(&self, question: &Question, chat: &str) -> bool {
        self.hash == question.hash && self.chat.as_deref() == Some(chat)
    }
}

/// A damaged file allows nothing and is not written over.
const POLICY: Policy = Policy {
    bytes_max: APPROVALS_FILE_BYTES,
    damaged: Damaged::Refuse,
    synced: true,
};

/// The file of one home.
#[derive(Clone, Debug)]
pub struct Approvals(StateFile<Vec<Standing>>);

impl Approvals {
    /// The approvals below the folder `state`.
    pub fn new(state: &Path) -> Self {
        Self(StateFile::new(state.join("approvals.json"), POLICY))
    }

    /// Whether exactly this was allowed for good in this chat, which is a session key. A file that
    /// cannot be read allows nothing.
    pub fn allow(&self, question: &Question, chat: &str) -> bool {
        let chat = SessionKey::approval_scope(chat);
        let is_same = |standing: &Standing| standing.holds(question, chat);
        self.0.read().is_ok_and(|list| list.iter().any(is_same))
    }

    /// Allows exactly this for good in this chat. `since` is the time, for the person.
    pub fn add(&self, question: &Question, chat: &str, since: String) -> Result<()> {
        let chat = SessionKey::approval_scope(chat);
        self.0.update(|list| {
            if list.iter().any(|standing| standing.holds(question, chat)) {
                return Ok(());
            }
            if list.len() >= APPROVALS {
                return Err(Error::Failed(format!(
                    "there are {APPROVALS} standing approvals in {} already; remove some",
                    self.0.path().display()
                )));
            }
            list.push(Standing {
                hash: question.hash.clone(),
                command: question.command.clone(),
                folder: question.folder.clone(),
                unsandboxed: question.unsandboxed,
                since,
                chat: Some(chat.to_owned()),
            });
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(hash: &str) -> Question {
        Question {
            command: "systemctl restart nginx".into(),
            folder: "/w".into(),
            reason: "r".into(),
            rule: "u".into(),
            unsandboxed: true,
            hash: hash.into(),
            ..Question::default()
        }
    }

    #[test]
    fn only_exactly_what_was_allowed_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(folder.path());
        assert!(!approvals.allow(&question("a"), "c"));
        approvals.add(&question("a"), "c", "now".into()).unwrap();
        approvals.add(&question("a"), "c", "later".into()).unwrap();
        assert!(Approvals::new(folder.path()).allow(&question("a"), "c"));
        assert!(!approvals.allow(&question("b"), "c"));
        assert!(!approvals.allow(&question("a"), "d"), "another chat");
        assert_eq!(approvals.0.read().unwrap().len(), 1);
        approvals.add(&question("a"), "d", "now".into()).unwrap();
        assert!(approvals.allow(&question("a"), "d"));
    }

    #[test]
    fn one_that_does_not_say_its_chat_holds_nowhere_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(folder.path());
        let file = folder.path().join("approvals.json");
        let old = r#"[{"hash":"a","command":"id","folder":"/w","lifted":true,"since":"then"}]"#;
        std::fs::write(&file, old).unwrap();
        for chat in ["c", ""] {
            assert!(!approvals.allow(&question("a"), chat), "{chat}");
        }
        approvals.add(&question("a"), "c", "now".into()).unwrap();
        assert!(approvals.allow(&question("a"), "c"));
        assert!(std::fs::read_to_string(&file).unwrap().contains("then"));
    }

    #[test]
    fn what_is_allowed_at_the_same_time_is_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(folder.path());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let approvals = approvals.clone();
                scope.spawn(move || {
                    let hash = number.to_string();
                    approvals.add(&question(&hash), "c", String::new()).unwrap();
                });
            }
        });
        assert_eq!(approvals.0.read().unwrap().len(), 8);
    }

    #[test]
    fn a_file_that_cannot_be_read_allows_nothing_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(folder.path());
        std::fs::write(folder.path().join("approvals.json"), "[{").unwrap();
        assert!(!approvals.allow(&question("a"), "c"));
        let error = approvals
            .add(&question("a"), "c", String::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("approvals.json is damaged"), "{error}");
    }
}
