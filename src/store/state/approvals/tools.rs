//! Custom tools that a person has allowed always, `state/tools.json`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::config::agents::MAIN;
use crate::store::state::file::{Damaged, Policy, StateFile};

/// Approved custom tools that are kept, of all agents together.
const TOOL_APPROVALS: usize = 200;
/// Bytes of the file of approved tools that are read; what we write is a quarter of it.
const TOOL_APPROVALS_FILE_BYTES: usize = 256 * 1024;

/// A tool as it was when it was allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApprovedTool {
    name: String,
    /// The hash of its folder.
    hash: String,
    /// When, RFC 3339.
    since: String,
    /// The id of the agent in whose workspace it is; `None` for `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
}

/// What is known of a tool with this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolApproval {
    /// It was never allowed.
    New,
    /// It was allowed and has changed since.
    Changed,
    /// It is allowed as it is.
    Approved,
}

/// A damaged file allows nothing and is not written over.
const POLICY: Policy = Policy {
    bytes_max: TOOL_APPROVALS_FILE_BYTES,
    damaged: Damaged::Refuse,
    synced: true,
};

/// The file of one home, and the agent for which it is looked at; `None` for `main`.
#[derive(Clone, Debug)]
pub struct ToolApprovals(StateFile<Vec<ApprovedTool>>, Option<String>);

impl ToolApprovals {
    /// The approved tools of an agent, below the folder `state`. Each agent has tools of its own.
    pub fn new(state: &Path, agent: &str) -> Self {
        let file = StateFile::new(state.join("tools.json"), POLICY);
        Self(file, (agent != MAIN).then(|| agent.to_owned()))
    }

    /// What is known of a tool whose folder has this hash. A file that cannot be read allows nothing.
    pub fn find(&self, name: &str, hash: &str) -> ToolApproval {
        let list = self.0.read().unwrap_or_default();
        match list.iter().find(|tool| self.is_of(tool, name)) {
            None => ToolApproval::New,
            Some(tool) if tool.hash == hash => ToolApproval::Approved,
            Some(_) => ToolApproval::Changed,
        }
    }

    /// Allows a tool as it is, and no longer as it was. `since` is the time, RFC 3339.
    pub fn add(&self, name: &str, hash: &str, since: String) -> Result<()> {
        self.0.update(|list| {
            if let Some(tool) = list.iter_mut().find(|tool| self.is_of(tool, name)) {
                if tool.hash != hash {
                    (tool.hash, tool.since) = (hash.to_owned(), since);
                }
                return Ok(());
            }
            if list.len() >= TOOL_APPROVALS {
                return Err(Error::Failed(format!(
                    "{TOOL_APPROVALS} tools are already approved; remove some with `peacrab tools revoke`"
                )));
            }
            list.push(ApprovedTool {
                name: name.to_owned(),
                hash: hash.to_owned(),
                since,
                agent: self.1.clone(),
            });
            Ok(())
        })
    }

    /// Allows a tool no longer. Returns whether it was allowed.
    pub fn remove(&self, name: &str) -> Result<bool> {
        self.0.update(|list| {
            let before = list.len();
            list.retain(|tool| !self.is_of(tool, name));
            Ok(list.len() < before)
        })
    }

    /// The hashes of all approved tools, of every agent.
    pub fn hashes(&self) -> Result<Vec<String>> {
        Ok(self.0.read()?.into_iter().map(|tool| tool.hash).collect())
    }

    fn is_of(&self, tool: &ApprovedTool, name: &str) -> bool {
        tool.name == name && tool.agent == self.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_allowed_as_it_is_to_one_agent() {
        let folder = tempfile::tempdir().unwrap();
        let main = ToolApprovals::new(folder.path(), "main");
        let work = ToolApprovals::new(folder.path(), "work");
        assert_eq!(main.find("lamp", "a"), ToolApproval::New);
        main.add("lamp", "a", "now".into()).unwrap();
        assert_eq!(main.find("lamp", "a"), ToolApproval::Approved);
        assert_eq!(main.find("lamp", "b"), ToolApproval::Changed);
        assert_eq!(main.find("fan", "a"), ToolApproval::New);
        assert_eq!(work.find("lamp", "a"), ToolApproval::New);
        work.add("lamp", "a", "now".into()).unwrap();
        main.add("lamp", "b", "later".into()).unwrap();
        assert_eq!(main.find("lamp", "a"), ToolApproval::Changed);
        assert_eq!(main.hashes().unwrap(), ["b", "a"]);
        assert!(main.remove("lamp").unwrap());
        assert!(!main.remove("lamp").unwrap());
        assert_eq!(work.find("lamp", "a"), ToolApproval::Approved);
        for number in 0..TOOL_APPROVALS - 1 {
            let name = format!("t{number}");
            main.add(&name, "a", "now".into()).unwrap();
        }
        assert!(main.add("one_more", "a", "now".into()).is_err());
        let bytes = std::fs::metadata(folder.path().join("tools.json")).unwrap();
        assert!(bytes.len() < TOOL_APPROVALS_FILE_BYTES as u64 / 4);
    }

    #[test]
    fn a_damaged_file_allows_nothing_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tools.json"), "[{").unwrap();
        let approvals = ToolApprovals::new(folder.path(), "main");
        assert_eq!(approvals.find("lamp", "a"), ToolApproval::New);
        assert!(approvals.add("lamp", "a", "now".into()).is_err());
        assert!(approvals.remove("lamp").is_err());
    }
}
