//! Standing approvals: commands that a person has allowed always, `state/approvals.json`.

pub mod tools;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::approval::{Question, pattern};
use crate::base::error::{Error, Result};
use crate::base::message::SessionKey;
use crate::config::agents::MAIN;

use super::file::{Damaged, Policy, StateFile};

/// Standing approvals that are kept; who has more has lost sight of them.
const APPROVALS: usize = 100;
/// Bytes of the file of standing approvals that are read.
const APPROVALS_FILE_BYTES: usize = 1024 * 1024;

/// A standing approval. The hash decides; the rest is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StandingApproval {
    /// The number that a person removes it by. It is not used again while there is a newer one; 0 is
    /// one of an earlier version, which gets its number with the next change of the file.
    #[serde(default)]
    pub number: u64,
    hash: String,
    /// Whether the command is a pattern, which allows all lines that match it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_pattern: bool,
    /// The command, as `sh -c` gets it, or the pattern.
    pub command: String,
    /// The folder that it runs in.
    pub folder: String,
    /// Whether it runs outside the sandbox.
    #[serde(rename = "lifted")]
    pub unsandboxed: bool,
    /// When it was given, RFC 3339.
    pub since: String,
    /// The session key of the chat in which it was given and in which alone it applies. One of an
    /// earlier version has none and applies nowhere: who gave it, and to whom, is not known. It stays
    /// in the file, for the person who wonders why there is a question again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The id of the agent whose command was allowed, in whose sandbox alone it applies; `None` for
    /// `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl StandingApproval {
    fn applies(&self, question: &Question, chat: &str, agent: Option<&str>) -> bool {
        !self.is_pattern
            && self.hash == question.hash
            && self.chat.as_deref() == Some(chat)
            && self.agent.as_deref() == agent
    }
}

/// A damaged file allows nothing and is not written over.
const POLICY: Policy = Policy {
    bytes_max: APPROVALS_FILE_BYTES,
    damaged: Damaged::Refuse,
    synced: true,
};

/// The file of one home, and the agent for which it is looked at; `None` for `main`.
#[derive(Clone, Debug)]
pub struct Approvals(StateFile<Vec<StandingApproval>>, Option<String>);

impl Approvals {
    /// The approvals below the folder `state`.
    pub fn new(state: &Path) -> Self {
        Self(StateFile::new(state.join("approvals.json"), POLICY), None)
    }

    /// Those of an agent: another one's commands run with other files, so nothing that was allowed to one
    /// is allowed to another.
    #[must_use]
    pub fn of_agent(self, agent: &str) -> Self {
        Self(self.0, (agent != MAIN).then(|| agent.to_owned()))
    }

    /// Whether exactly this was allowed always in this chat, which is a session key. A file that
    /// cannot be read allows nothing.
    pub fn allow(&self, question: &Question, chat: &str) -> bool {
        let (chat, agent) = (SessionKey::approval_scope(chat), self.1.as_deref());
        let is_same = |standing: &StandingApproval| standing.applies(question, chat, agent);
        self.0.read().is_ok_and(|list| list.iter().any(is_same))
    }

    /// Whether a pattern that was allowed in this chat matches a command line.
    pub fn matches(&self, line: &str, chat: &str) -> bool {
        let (chat, agent) = (SessionKey::approval_scope(chat), self.1.as_deref());
        let is_meant = |one: &StandingApproval| {
            one.is_pattern
                && one.chat.as_deref() == Some(chat)
                && one.agent.as_deref() == agent
                && pattern::matches(&one.command, line)
        };
        self.0.read().is_ok_and(|list| list.iter().any(is_meant))
    }

    /// Allows all lines that match a pattern, which [`pattern::parse`] has made, in this chat. Returns its
    /// number; it keeps that of one that is there already.
    pub fn add_pattern(&self, pattern: &str, chat: &str, since: String) -> Result<u64> {
        let chat = SessionKey::approval_scope(chat);
        self.0.update(|list| {
            number_all(list);
            let is_same = |one: &&StandingApproval| {
                one.is_pattern && one.command == pattern && self.is_of(one, Some(chat))
            };
            if let Some(same) = list.iter().find(is_same) {
                return Ok(same.number);
            }
            check_room(list)?;
            let number = next_number(list);
            list.push(StandingApproval {
                number,
                hash: String::new(),
                is_pattern: true,
                command: pattern.to_owned(),
                folder: String::new(),
                unsandboxed: true,
                since,
                chat: Some(chat.to_owned()),
                agent: self.1.clone(),
            });
            Ok(number)
        })
    }

    /// Allows exactly this always in this chat. `since` is the time, RFC 3339.
    pub fn add(&self, question: &Question, chat: &str, since: String) -> Result<()> {
        let (chat, agent) = (SessionKey::approval_scope(chat), self.1.as_deref());
        self.0.update(|list| {
            if list
                .iter()
                .any(|standing| standing.applies(question, chat, agent))
            {
                return Ok(());
            }
            check_room(list)?;
            number_all(list);
            list.push(StandingApproval {
                number: next_number(list),
                hash: question.hash.clone(),
                is_pattern: false,
                command: question.command.clone(),
                folder: question.folder.clone(),
                unsandboxed: question.unsandboxed,
                since,
                chat: Some(chat.to_owned()),
                agent: self.1.clone(),
            });
            Ok(())
        })
    }
}

impl Approvals {
    /// All standing approvals of all agents, oldest first; with `chat` only those of this agent in that chat.
    pub fn list(&self, chat: Option<&str>) -> Result<Vec<StandingApproval>> {
        let mut list = self.0.read()?;
        number_all(&mut list);
        list.retain(|standing| chat.is_none() || self.is_of(standing, chat));
        Ok(list)
    }

    fn is_of(&self, standing: &StandingApproval, chat: Option<&str>) -> bool {
        standing.chat.as_deref() == chat && standing.agent == self.1
    }

    /// Whether anything is allowed in a conversation, whichever agent it is.
    pub fn are_in(&self, chat: &str) -> Result<bool> {
        let list = self.0.read()?;
        Ok(list.iter().any(|one| one.chat.as_deref() == Some(chat)))
    }

    /// Removes all that is allowed in a conversation.
    pub fn forget(&self, chat: &str) -> Result<()> {
        if !self.are_in(chat)? {
            return Ok(());
        }
        self.0.update(|list| {
            list.retain(|one| one.chat.as_deref() != Some(chat));
            Ok(())
        })
    }

    /// Removes the standing approval with this number; with `chat` only if it is that chat's. Returns
    /// what was removed.
    pub fn remove(&self, number: u64, chat: Option<&str>) -> Result<Option<StandingApproval>> {
        self.0.update(|list| {
            number_all(list);
            let is_meant = |standing: &StandingApproval| {
                standing.number == number && (chat.is_none() || self.is_of(standing, chat))
            };
            let found = list.iter().position(is_meant);
            Ok(found.map(|index| list.remove(index)))
        })
    }
}

fn check_room(list: &[StandingApproval]) -> Result<()> {
    if list.len() >= APPROVALS {
        Err(Error::Failed(format!(
            "there are already {APPROVALS} standing approvals; remove some with `peacrab approvals remove`"
        )))
    } else {
        Ok(())
    }
}

/// Gives a number to each that has none.
fn number_all(list: &mut [StandingApproval]) {
    for index in 0..list.len() {
        if list[index].number == 0 {
            list[index].number = next_number(list);
        }
    }
}

fn next_number(list: &[StandingApproval]) -> u64 {
    let numbers = list.iter().map(|standing| standing.number);
    numbers.max().unwrap_or(0).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(hash: &str) -> Question {
        Question {
            command: "systemctl restart nginx".into(),
            folder: "/w".into(),
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
    fn what_is_allowed_to_one_agent_is_not_allowed_to_another() {
        let folder = tempfile::tempdir().unwrap();
        let of_agent = |id| Approvals::new(folder.path()).of_agent(id);
        of_agent("work")
            .add(&question("a"), "c", "now".into())
            .unwrap();
        assert!(of_agent("work").allow(&question("a"), "c"));
        for other in ["main", "home"] {
            assert!(!of_agent(other).allow(&question("a"), "c"), "{other}");
            assert!(of_agent(other).list(Some("c")).unwrap().is_empty());
            assert_eq!(of_agent(other).remove(1, Some("c")).unwrap(), None);
        }
        of_agent("main")
            .add(&question("a"), "c", "now".into())
            .unwrap();
        assert_eq!(of_agent("main").list(None).unwrap().len(), 2);
        of_agent("work").remove(1, Some("c")).unwrap().unwrap();
        assert!(of_agent("main").allow(&question("a"), "c"));
    }

    #[test]
    fn a_pattern_allows_the_lines_that_match_in_its_chat_and_for_its_agent() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(folder.path());
        let add = |chat| approvals.add_pattern("systemctl restart *", chat, "now".into());
        assert_eq!((add("c").unwrap(), add("c").unwrap()), (1, 1));
        assert!(approvals.matches("systemctl restart nginx", "c"));
        assert!(!approvals.matches("systemctl restart nginx; id", "c"));
        assert!(!approvals.matches("systemctl restart nginx", "d"));
        let other = Approvals::new(folder.path()).of_agent("work");
        assert!(!other.matches("systemctl restart nginx", "c"));
        assert!(!approvals.allow(&question(""), "c"), "it is no exact one");
        assert!(approvals.remove(1, Some("c")).unwrap().is_some());
        assert!(!approvals.matches("systemctl restart nginx", "c"));
    }

    #[test]
    fn they_are_listed_and_removed_by_number() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(folder.path());
        for (hash, chat) in [("a", "c"), ("b", "d"), ("e", "c")] {
            approvals.add(&question(hash), chat, "now".into()).unwrap();
        }
        let numbers = |chat| {
            let list = approvals.list(chat).unwrap();
            list.iter().map(|one| one.number).collect::<Vec<_>>()
        };
        assert_eq!(
            (numbers(None), numbers(Some("c"))),
            (vec![1, 2, 3], vec![1, 3])
        );
        assert_eq!(
            approvals.remove(2, Some("c")).unwrap(),
            None,
            "another chat's"
        );
        let removed = approvals.remove(1, Some("c")).unwrap().unwrap();
        assert_eq!(removed.command, "systemctl restart nginx");
        assert!(!approvals.allow(&question("a"), "c"));
        assert_eq!(approvals.remove(1, None).unwrap(), None, "it is gone");
        approvals.add(&question("f"), "c", "now".into()).unwrap();
        assert_eq!(numbers(None), [2, 3, 4]);
    }

    #[test]
    fn one_that_does_not_say_its_chat_applies_nowhere_and_stays() {
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
