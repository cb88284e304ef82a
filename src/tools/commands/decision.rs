//! A command that somebody wants to run, and whether it may run, has to be approved, or is refused. Pure,
//! but for the folder's inode.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use ring::digest::{SHA256, digest};

use super::risk::Objection;
use crate::approval::Question;
use crate::config::schema::ApprovalMode;

/// A command that the model or a person wants to run.
pub struct Request {
    /// What `sh -c` will get.
    pub command: String,
    /// Where it will run.
    pub folder: PathBuf,
    /// Whether it should run outside the sandbox.
    pub unsandboxed: bool,
    /// Why, in the model's words.
    pub reason: String,
    /// Whether a person has typed it, and not the model.
    pub is_typed: bool,
}

impl Request {
    /// The question to a person, because of this rule.
    pub fn question(&self, rule: String) -> Question {
        Question {
            command: self.command.clone(),
            folder: self.folder.to_string_lossy().into_owned(),
            reason: self.reason.clone(),
            rule,
            lifted: self.unsandboxed,
            hash: self.hash(),
        }
    }

    /// SHA-256 of the command, the folder (its path and its inode, so that another folder under the
    /// same name is another one) and whether it is unsandboxed, in hexadecimal.
    pub fn hash(&self) -> String {
        let inode = std::fs::metadata(&self.folder);
        let (device, inode) = inode.map_or((0, 0), |found| (found.dev(), found.ino()));
        let bytes = [
            self.command.as_bytes(),
            self.folder.as_os_str().as_encoded_bytes(),
            &[device.to_le_bytes(), inode.to_le_bytes()].concat(),
        ];
        let mut bytes = bytes.join(&0);
        bytes.push(u8::from(self.unsandboxed));
        let hash = digest(&SHA256, &bytes);
        let hash = hash.as_ref().iter();
        hash.map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What is to be done about a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run it, in the sandbox.
    Run,
    /// Ask a person first.
    Ask {
        /// Why, in words that go behind "because".
        rule: String,
    },
    /// Do not run it.
    Refuse {
        /// The rule.
        rule: String,
        /// Why, for whoever wanted to run it.
        why: String,
        /// Whether a person can be asked to allow it all the same.
        can_be_asked: bool,
    },
}

/// Decides about a command.
pub fn decide(objection: Option<&Objection>, mode: ApprovalMode, unsandboxed: bool) -> Decision {
    let asks_about_risk = matches!(mode, ApprovalMode::Risky | ApprovalMode::Always);
    match objection {
        Some(Objection {
            rule,
            reason,
            is_configured: true,
        }) => Decision::Refuse {
            rule: rule.clone(),
            why: format!("{reason} ({rule}). Only a change of the configuration would allow it"),
            can_be_asked: false,
        },
        Some(Objection { rule, reason, .. }) if !unsandboxed && !asks_about_risk => {
            Decision::Refuse {
                rule: rule.clone(),
                why: format!("{reason} (built-in pattern {rule})"),
                can_be_asked: mode != ApprovalMode::Never,
            }
        }
        _ if unsandboxed && mode == ApprovalMode::Never => Decision::Refuse {
            rule: "tools.exec.approval".to_owned(),
            why: "tools.exec.approval is \"never\", so no command runs outside the sandbox"
                .to_owned(),
            can_be_asked: false,
        },
        Some(Objection { reason, .. }) if unsandboxed => Decision::Ask {
            rule: format!("it wants to run outside the sandbox, and {reason}"),
        },
        Some(Objection { reason, .. }) => Decision::Ask {
            rule: reason.clone(),
        },
        None if unsandboxed => Decision::Ask {
            rule: "it wants to run outside the sandbox".to_owned(),
        },
        None if mode == ApprovalMode::Always => Decision::Ask {
            rule: "tools.exec.approval is \"always\"".to_owned(),
        },
        None => Decision::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each mode does with a plain command, a risky one, one that the configuration forbids, and
    /// each of them outside the sandbox.
    #[test]
    fn each_mode_decides() {
        let objection = |is_configured| Objection {
            rule: "a rule".to_owned(),
            reason: "because".to_owned(),
            is_configured,
        };
        let risky = objection(false);
        let forbidden = objection(true);
        let table = [
            (
                ApprovalMode::Never,
                ["run", "refuse", "refuse", "refuse", "refuse", "refuse"],
            ),
            (
                ApprovalMode::Escalation,
                ["run", "refuse", "refuse", "ask", "ask", "refuse"],
            ),
            (
                ApprovalMode::Risky,
                ["run", "ask", "refuse", "ask", "ask", "refuse"],
            ),
            (
                ApprovalMode::Always,
                ["ask", "ask", "refuse", "ask", "ask", "refuse"],
            ),
        ];
        for (mode, expected) in table {
            let cases = [
                (None, false),
                (Some(&risky), false),
                (Some(&forbidden), false),
                (None, true),
                (Some(&risky), true),
                (Some(&forbidden), true),
            ];
            let decided =
                cases.map(
                    |(objection, unsandboxed)| match decide(objection, mode, unsandboxed) {
                        Decision::Run => "run",
                        Decision::Ask { .. } => "ask",
                        Decision::Refuse { .. } => "refuse",
                    },
                );
            assert_eq!(decided, expected, "{mode:?}");
        }
    }
}
