//! Commands: who may run what. Each is on record before it runs; `confine` runs it.

mod decision;
pub(super) mod exec;
pub(super) mod exec_session;
pub mod risk;
pub mod shell;

use std::sync::Arc;
use std::time::Duration;

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
use decision::{Decision, Request};
use risk::Patterns;

/// Everything that the two tools for commands need.
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
    /// Puts them together. Fails when a pattern of the configuration is invalid.
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

    /// What the model is told of the sandbox and of the way out of it. Nothing is tried for it: where
    /// the kernel supports too little, exec itself says so.
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
    /// caller brings holds for exactly the question that would be asked now. A command that may run is
    /// on record; one that cannot be recorded may not.
    fn permit(&self, request: &Request, caller: &Caller<'_>) -> Result<Permit> {
        let objection = self.patterns.objection(&request.command);
        let rule = match decision::decide(objection.as_ref(), self.mode, request.unsandboxed) {
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
            // Between the question and the answer something became another thing.
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

    /// Checks and records what is written to a command in the background, and records its end.
    fn observer(&self, entry: Entry) -> Observer {
        let patterns = self.patterns.clone();
        // A command that is written in pieces is still one command.
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
    /// It may, and that is on record.
    Run(Entry),
    /// A person has to be asked first.
    Ask(Box<Question>),
}

/// Makes the record of a request and does something with it.
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
