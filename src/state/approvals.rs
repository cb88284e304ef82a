//! Standing approvals: commands that a person has allowed for good, `state/approvals.json`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::approval::Question;
use crate::error::{Error, Result};
use crate::limits::state::{APPROVALS, APPROVALS_FILE_BYTES};
use crate::sync::Mutex;
use crate::sys;

/// One of them. The hash decides; the rest is for the person who reads the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Standing {
    hash: String,
    command: String,
    folder: String,
    lifted: bool,
    since: String,
}

/// The file of one home. Clones wait for each other.
#[derive(Clone, Debug)]
pub struct Approvals {
    path: PathBuf,
    writing: Arc<Mutex<()>>,
}

impl Approvals {
    /// The approvals below the folder `state`.
    pub fn new(state: &Path) -> Self {
        Self {
            path: state.join("approvals.json"),
            writing: Arc::default(),
        }
    }

    /// Whether exactly this was allowed for good. A file that cannot be read allows nothing.
    pub fn allow(&self, question: &Question) -> bool {
        self.read()
            .is_ok_and(|list| list.iter().any(|standing| standing.hash == question.hash))
    }

    /// Allows exactly this for good. `since` is the time, for the person.
    pub fn add(&self, question: &Question, since: String) -> Result<()> {
        let _writing = self.writing.lock();
        let mut list = self.read()?;
        if list.iter().any(|standing| standing.hash == question.hash) {
            return Ok(());
        }
        if list.len() >= APPROVALS {
            return Err(Error::Failed(format!(
                "there are {APPROVALS} standing approvals in {} already; remove some",
                self.path.display()
            )));
        }
        list.push(Standing {
            hash: question.hash.clone(),
            command: question.command.clone(),
            folder: question.folder.clone(),
            lifted: question.lifted,
            since,
        });
        super::write(&self.path, &list)
    }

    fn read(&self) -> Result<Vec<Standing>> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        let content = sys::file::read_at_most(&self.path, APPROVALS_FILE_BYTES)?;
        serde_json::from_slice(&content).map_err(|error| {
            Error::Failed(format!(
                "{} cannot be understood, so nothing in it holds: {error}",
                self.path.display()
            ))
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
            lifted: true,
            hash: hash.into(),
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
        assert_eq!(approvals.read().unwrap().len(), 1);
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
        assert_eq!(approvals.read().unwrap().len(), 8);
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
        assert!(error.contains("cannot be understood"), "{error}");
    }
}
