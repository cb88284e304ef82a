//! Commands for the model: who may run what, and how it is told. The walls are the sandbox's.

mod decision;
pub(super) mod exec;
pub(super) mod exec_session;
pub mod risk;
pub mod shell;
mod spool;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{SHA256, digest};

use crate::approval::{Answer, Question};
use crate::clock::Clock;
use crate::config::schema::{ApprovalMode, ExecTool, SandboxChoice};
use crate::confine::{Exec, Sessions};
use crate::error::{Error, Result};
use crate::state::audit::Record;
use crate::state::{Approvals, Audit};

use super::Caller;
use decision::Decision;
use risk::Patterns;

/// Everything that the two tools for commands need.
pub struct Commands {
    exec: Exec,
    sessions: Sessions,
    patterns: Patterns,
    mode: ApprovalMode,
    sandboxed: bool,
    network: bool,
    timeout: Duration,
    max_timeout: Duration,
    approvals: Approvals,
    audit: Audit,
    clock: Clock,
}

/// Where what was allowed and done is kept.
#[derive(Clone, Debug)]
pub struct Records {
    /// Standing approvals.
    pub approvals: Approvals,
    /// What was run, asked, allowed, refused.
    pub audit: Audit,
    /// Where the time comes from.
    pub clock: Clock,
}

impl Commands {
    /// Puts them together. Fails when a pattern of the configuration is none.
    pub fn new(exec: Exec, config: &ExecTool, records: Records) -> Result<Self> {
        Ok(Self {
            exec,
            sessions: Sessions::default(),
            patterns: Patterns::new(&config.deny_patterns, &config.allow_patterns)?,
            mode: config.approval,
            sandboxed: config.sandbox != SandboxChoice::Off,
            network: config.network,
            timeout: Duration::from_secs(config.timeout.min(config.max_timeout)),
            max_timeout: Duration::from_secs(config.max_timeout),
            approvals: records.approvals,
            audit: records.audit,
            clock: records.clock,
        })
    }

    /// What the model is told of the walls and of the way through them. Nothing is tried for it: where
    /// the kernel offers too little, exec itself says so.
    pub fn rules(&self) -> String {
        let within = if self.sandboxed {
            "exec runs in a sandbox that the kernel keeps: commands see the system read-only, your workspace (and \
             the folders above) as said, and a /tmp of their own; no other files, no other processes, no more rights."
        } else {
            "exec runs with all rights of this account (tools.exec.sandbox is off)."
        };
        let network = if self.network {
            ""
        } else {
            " They have no network."
        };
        let beyond = match self.mode {
            _ if !self.sandboxed => "",
            ApprovalMode::Never => {
                " What needs more cannot be done here: say so instead of trying."
            }
            _ => {
                " What needs more (restart a service, read a log elsewhere) fails there: call exec once with escalate \
                 and a reason, and the person decides. Do not look for ways around the sandbox."
            }
        };
        format!("{within}{network}{beyond}")
    }

    /// Ends what a conversation has running in the background.
    pub fn end_of(&self, session: &str) {
        self.sessions.end_of(session);
    }

    /// Decides about a command and, where a person has to, says what to ask. The answer that the
    /// caller brings holds for exactly the question that would be asked now.
    fn permit(&self, wanted: &Wanted, caller: &Caller<'_>) -> Result<Permit> {
        let objection = self.patterns.objection(&wanted.command);
        let rule = match decision::decide(objection.as_ref(), self.mode, wanted.lifted) {
            Decision::Run => return Ok(Permit::Run("allowed: no rule against it".to_owned())),
            Decision::Refuse {
                why,
                rule,
                can_be_asked,
            } => {
                self.log(wanted, caller, &format!("refused: {rule}"), "")?;
                let way = match (can_be_asked, wanted.is_typed) {
                    (false, _) => "",
                    (true, false) => {
                        ". With escalate and a reason the person can be asked to allow it"
                    }
                    (true, true) => ". With a ! before the command you are asked, and can allow it",
                };
                return Err(Error::Failed(format!(
                    "the command was not run: {why}{way}"
                )));
            }
            Decision::Ask { rule } => rule,
        };
        let question = wanted.question(rule);
        let answer = match caller.answer {
            Some((asked, answer)) if asked.hash == question.hash => answer,
            // Between the question and the answer something became another thing.
            Some(_) => Answer::Deny,
            None if self.approvals.allow(&question) => Answer::Standing,
            None => return Ok(Permit::Ask(Box::new(question))),
        };
        if !answer.allows() {
            self.log(wanted, caller, &answer.to_string(), "")?;
            let way = match wanted.is_typed {
                true => "",
                false => ". Do it within the sandbox, or tell the person what you would need",
            };
            return Err(Error::Failed(format!(
                "the command was not run: {answer}{way}"
            )));
        }
        if answer == Answer::Always {
            self.approvals
                .add(&question, self.clock.now().to_rfc3339())?;
        }
        Ok(Permit::Run(answer.to_string()))
    }

    fn log(
        &self,
        wanted: &Wanted,
        caller: &Caller<'_>,
        decision: &str,
        result: &str,
    ) -> Result<()> {
        self.audit.write(Record {
            who: caller.session,
            tool: "exec",
            command: &wanted.command,
            hash: &wanted.hash(),
            folder: &wanted.folder.to_string_lossy(),
            decision,
            result,
        })
    }
}

/// Whether a command may run now.
enum Permit {
    /// It may; how that was decided.
    Run(String),
    /// A person has to be asked first.
    Ask(Box<Question>),
}

/// A command that the model or a person wants to run.
struct Wanted {
    command: String,
    folder: PathBuf,
    /// Whether it should run outside the sandbox.
    lifted: bool,
    reason: String,
    /// Whether a person has typed it, and not the model.
    is_typed: bool,
}

impl Wanted {
    fn question(&self, rule: String) -> Question {
        Question {
            command: self.command.clone(),
            folder: self.folder.to_string_lossy().into_owned(),
            reason: self.reason.clone(),
            rule,
            lifted: self.lifted,
            hash: self.hash(),
        }
    }

    /// SHA-256 of the command, the folder (its path and its inode, so that another folder under the
    /// same name is another one) and whether it is lifted, in hexadecimal.
    fn hash(&self) -> String {
        let mut bytes = self.command.clone().into_bytes();
        bytes.push(0);
        bytes.extend_from_slice(self.folder.as_os_str().as_encoded_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&inode(&self.folder));
        bytes.push(u8::from(self.lifted));
        digest(&SHA256, &bytes)
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

fn inode(folder: &Path) -> [u8; 16] {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = [0; 16];
    if let Ok(found) = std::fs::metadata(folder) {
        bytes[..8].copy_from_slice(&found.dev().to_le_bytes());
        bytes[8..].copy_from_slice(&found.ino().to_le_bytes());
    }
    bytes
}
