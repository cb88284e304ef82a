//! Commands: whether one may run, has to be approved or is refused. Each is recorded before it runs;
//! `confine` runs it.

mod exec;
pub mod risk;

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};

use crate::approval::{Answer, Question};
use crate::clock::Clock;
use crate::config::schema::{ApprovalMode, ExecTool, SandboxChoice};
use crate::confine::{Exec, Observer, SessionEvent, Sessions};
use crate::error::{Error, Result};
use crate::limits::tools::INPUT_LINE_BYTES;
use crate::state::audit::{Entry, Record};
use crate::state::{Approvals, Audit};
use crate::sync::Mutex;

use super::Caller;
use risk::{Objection, Patterns};

pub(super) use exec::{SPECS, tools};
pub use exec::{Shell, ShellResult};

/// What the command tools share.
pub struct Commands {
    exec: Exec,
    sessions: Sessions,
    patterns: Arc<Patterns>,
    mode: ApprovalMode,
    sandboxed: bool,
    network: bool,
    timeout: Duration,
    max_timeout: Duration,
    approvals: Approvals,
    audit: Audit,
    clock: Clock,
}

/// Where approvals and commands are recorded.
#[derive(Clone, Debug)]
pub struct Records {
    /// Standing approvals.
    pub approvals: Approvals,
    /// The audit log.
    pub audit: Audit,
    /// The source of the time.
    pub clock: Clock,
}

impl Commands {
    /// Fails when a configured pattern is invalid.
    pub fn new(exec: Exec, config: &ExecTool, records: Records) -> Result<Self> {
        Ok(Self {
            exec,
            sessions: Sessions::default(),
            patterns: Arc::new(Patterns::new(
                &config.deny_patterns,
                &config.allow_patterns,
            )?),
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

    /// What the model is told about the sandbox and the way out of it. This does not probe the kernel: if
    /// it supports too little, exec itself says so.
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

    /// Ends the background commands of a session, and returns those that were running. Blocks until
    /// they are gone.
    pub fn end_of(&self, session: &str) -> Vec<String> {
        self.sessions.end_of(session)
    }

    /// Decides about a command. The caller's answer counts only for exactly the question that would be
    /// asked now. A command that may run has been recorded; one that cannot be recorded may not run.
    fn permit(&self, request: &Request, caller: &Caller<'_>) -> Result<Permit> {
        let objection = self.patterns.objection(&request.command);
        let rule = match decide(objection.as_ref(), self.mode, request.unsandboxed) {
            Decision::Run => return self.start(request, caller, "allowed: no rule against it"),
            Decision::Refuse {
                why,
                rule,
                can_be_asked,
            } => {
                self.refuse(request, caller, &format!("refused: {rule}"))?;
                let way = match (can_be_asked, request.is_typed) {
                    (false, _) => "",
                    (true, false) => {
                        ". With escalate and a reason the person can be asked to allow it"
                    }
                    (true, true) => ". Put a ! before the command to be asked for confirmation",
                };
                return Err(Error::Failed(format!(
                    "the command was not run: {why}{way}"
                )));
            }
            Decision::Ask { rule } => rule,
        };
        let question = request.question(rule);
        let answer = match caller.answer {
            Some((asked, answer)) if asked.hash == question.hash => answer,
            // Something changed between the question and the answer.
            Some(_) => Answer::Deny,
            None if self.approvals.allow(&question) => Answer::Standing,
            None => return Ok(Permit::Ask(Box::new(question))),
        };
        if !answer.allows() {
            self.refuse(request, caller, &answer.to_string())?;
            let way = match request.is_typed {
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
        self.start(request, caller, &answer.to_string())
    }

    fn start(&self, request: &Request, caller: &Caller<'_>, decision: &str) -> Result<Permit> {
        let entry = with_record(request, caller, decision, |record| self.audit.start(record));
        entry.map(Permit::Run).map_err(|error| {
            Error::Failed(format!(
                "the command was not run, because it could not be recorded: {error}"
            ))
        })
    }

    fn refuse(&self, request: &Request, caller: &Caller<'_>, decision: &str) -> Result<()> {
        with_record(request, caller, decision, |record| {
            self.audit.refuse(record)
        })
    }

    /// Checks and records the input of a background command, and records its end.
    fn observer(&self, entry: Entry) -> Observer {
        let patterns = self.patterns.clone();
        // A line may be written in pieces.
        let unfinished = Mutex::new(String::new());
        Arc::new(move |event| {
            let input = match event {
                SessionEvent::Input(input) => input,
                SessionEvent::Ended(end) => {
                    entry.end(&end.to_string());
                    return Ok(());
                }
            };
            let mut unfinished = unfinished.lock();
            let lines = format!("{unfinished}{input}");
            if let Some(objection) = patterns.objection_to_input(&lines) {
                entry.input(input, &format!("refused: {}", objection.rule))?;
                return Err(Error::Failed(format!(
                    "the input was not written: {} ({})",
                    objection.reason, objection.rule
                )));
            }
            entry.input(input, "allowed").map_err(|error| {
                Error::Failed(format!(
                    "the input was not written, because it could not be recorded: {error}"
                ))
            })?;
            let last = lines.rsplit('\n').next().unwrap_or_default();
            let from = last.ceil_char_boundary(last.len().saturating_sub(INPUT_LINE_BYTES));
            last[from..].clone_into(&mut unfinished);
            Ok(())
        })
    }
}

/// Whether a command may run now.
enum Permit {
    /// Yes, and it is recorded.
    Run(Entry),
    /// Not before a person has been asked.
    Ask(Box<Question>),
}

/// Writes the record of a request.
fn with_record<T>(
    request: &Request,
    caller: &Caller<'_>,
    decision: &str,
    write: impl FnOnce(Record<'_>) -> Result<T>,
) -> Result<T> {
    write(Record {
        who: caller.session,
        tool: "exec",
        command: &request.command,
        hash: &request.hash(),
        folder: &request.folder.to_string_lossy(),
        decision,
    })
}

/// A command that the model or a person wants to run.
struct Request {
    /// The argument of `sh -c`.
    command: String,
    /// Where it will run.
    folder: PathBuf,
    /// Whether it should run outside the sandbox.
    unsandboxed: bool,
    /// Why, in the model's words.
    reason: String,
    /// Whether a person typed it, not the model.
    is_typed: bool,
}

impl Request {
    /// The question to a person, because of this rule.
    fn question(&self, rule: String) -> Question {
        Question {
            command: self.command.clone(),
            folder: self.folder.to_string_lossy().into_owned(),
            reason: self.reason.clone(),
            rule,
            unsandboxed: self.unsandboxed,
            influences: Vec::new(),
            scripts: Vec::new(),
            hash: self.hash(),
        }
    }

    /// SHA-256, in hexadecimal, of the command, the folder and whether it is unsandboxed. The folder's inode
    /// counts too, so that another folder with the same path is another one.
    fn hash(&self) -> String {
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

/// What to do about a command.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// Run it, in the sandbox.
    Run,
    /// Ask a person first.
    Ask {
        /// Why, as a clause that follows "because".
        rule: String,
    },
    /// Do not run it.
    Refuse {
        /// The rule.
        rule: String,
        /// Why, for whoever wants to run it.
        why: String,
        /// Whether a person could still allow it.
        can_be_asked: bool,
    },
}

/// Decides about a command.
fn decide(objection: Option<&Objection>, mode: ApprovalMode, unsandboxed: bool) -> Decision {
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

    /// Each mode with a harmless, a risky and a forbidden command, and each of them outside the sandbox.
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
