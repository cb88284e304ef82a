//! Standing approvals: commands that a person has allowed for good, `state/approvals.json`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::approval::Question;
use crate::error::{Error, Result};
use crate::limits::state::{APPROVALS, APPROVALS_FILE_BYTES};

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

    /// Whether exactly this was allowed for good. A file that cannot be read allows nothing.
    pub fn allow(&self, question: &Question) -> bool {
        let is_same = |standing: &Standing| standing.hash == question.hash;
        self.0.read().is_ok_and(|list| list.iter().any(is_same))
    }

    /// Allows exactly this for good. `since` is the time, for the person.
    pub fn add(&self, question: &Question, since: String) -> Result<()> {
        self.0.update(|list| {
            if list.iter().any(|standing| standing.hash == question.hash) {
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
        assert!(!approvals.allow(&question("a")));
        approvals.add(&question("a"), "now".into()).unwrap();
        approvals.add(&question("a"), "later".into()).unwrap();
        assert!(Approvals::new(folder.path()).allow(&question("a")));
        assert!(!approvals.allow(&question("b")));
        assert_eq!(approvals.0.read().unwrap().len(), 1);
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
                    approvals.add(&question(&hash), String::new()).unwrap();
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
        assert!(!approvals.allow(&question("a")));
        let error = approvals
            .add(&question("a"), String::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("approvals.json is damaged"), "{error}");
    }
}
