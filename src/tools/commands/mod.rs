//! Commands: whether one may run, has to be approved or is refused. Each is recorded before it runs;
//! `confine` runs it.

pub(super) mod bound;
mod exec;
mod lesser;
mod owner;
mod permission;
mod request;
mod shell;
mod still;
mod terminal;
pub mod texts;
mod tool;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::base::access::Role;
use crate::base::approval::{AlwaysOption, Answer, Cause, Question};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::tools::INPUT_LINE_BYTES;
use crate::base::sync::Mutex;
use crate::config::schema::{ApprovalMode, ExecTool, SandboxChoice, ShellPlace};
use crate::sandbox::confine::{
    Exec, Observer, Outcome, Output, SessionEvent, SessionInfo, Sessions, Shells,
};
use crate::store::outgoing::OutgoingFiles;
use crate::store::state::audit::{Entry, InputText, Record};
use crate::store::state::{Approvals, Audit, ShellMemory};
use crate::text::reveal_name;

use super::Caller;
use bound::{Place, Uses};
pub use permission::allowance::Allowances;
use permission::decide::{Decision, Placement, decide};
use permission::folders::Folders;
use permission::grant::Grant;
use permission::refusal::Refusal;
pub use permission::risk;
use risk::{Objection, Patterns};

pub use exec::{Attempt, ShellResult, TypedCommand, ask_and_retry};
pub(super) use exec::{SPECS, tools};
use lesser::Lesser;
pub use owner::OwnerAction;
pub use permission::standing::parse_pattern;
use request::{Folder, Request, account, first_changed, hash};
pub use shell::{Attached, Background, Watched, describe_unseen};
pub use terminal::{OpenTerminal, TypedTerminal};
pub(super) use tool::{ToolRun, quote, with_errors};

/// Scripts within scripts (`sh -c`) that are searched for risky commands.
const SPLIT_DEPTH: usize = 16;

/// What the command tools share.
pub struct Commands {
    exec: Exec,
    workspace: PathBuf,
    lesser: Arc<Lesser>,
    sessions: Arc<Sessions>,
    /// The shells of the chats.
    shells: Arc<Shells>,
    /// Where they were, and what was typed.
    memory: ShellMemory,
    /// Whether they run outside the sandbox.
    is_shell_outside: bool,
    /// The hash of the settings that commands run with.
    settings: u64,
    patterns: Arc<Patterns>,
    mode: ApprovalMode,
    sandboxed: bool,
    network: bool,
    timeout: Duration,
    max_timeout: Duration,
    approvals: Approvals,
    allowances: Arc<Allowances>,
    audit: Audit,
    /// Takes long outputs of what ran outside the sandbox.
    outgoing: OutgoingFiles,
    clock: Clock,
}

/// Where approvals and commands are recorded.
#[derive(Clone, Debug)]
pub struct Records {
    /// Standing approvals.
    pub approvals: Approvals,
    /// The audit log.
    pub audit: Audit,
    /// What is remembered of the shells of chats.
    pub shells: ShellMemory,
    /// The files that were made for messages.
    pub outgoing: OutgoingFiles,
    /// The source of the time.
    pub clock: Clock,
}

impl Commands {
    /// Fails when a configured pattern is invalid.
    pub fn new(exec: Exec, config: &ExecTool, records: Records) -> Result<Self> {
        let workspace = exec.workspace().to_owned();
        Ok(Self {
            settings: shell::hash_settings(&exec),
            workspace,
            lesser: Arc::default(),
            exec,
            sessions: Arc::default(),
            shells: Arc::default(),
            memory: records.shells,
            is_shell_outside: config.shell == ShellPlace::Host,
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
            allowances: Arc::default(),
            audit: records.audit,
            outgoing: records.outgoing,
            clock: records.clock,
        })
    }

    /// Goes on with the running commands of other settings, which these replace.
    pub fn continuing(mut self, earlier: &Self) -> Self {
        self.sessions = Arc::clone(&earlier.sessions);
        self.lesser = Arc::clone(&earlier.lesser);
        self.shells = Arc::clone(&earlier.shells);
        self.allowances = Arc::clone(&earlier.allowances);
        self
    }

    /// What the model is told about the sandbox and escalation. This does not probe the kernel: if it
    /// supports too little, exec itself says so.
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

    /// Whether there is a sandbox for commands.
    pub fn is_sandboxed(&self) -> bool {
        self.sandboxed
    }

    /// The environment of commands in the sandbox.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        self.exec.environment()
    }

    /// Ends the background commands of a session that someone with a role may end, and returns those that were running.
    /// Blocks until they are gone.
    pub fn end_of(&self, session: &str, role: Role) -> Vec<String> {
        if role == Role::Owner {
            return self.sessions.end_of(session);
        }
        let mut theirs = self.sessions.list(session);
        theirs.retain(|one| self.may_use(one.id, role));
        let ids = theirs.iter().map(|one| one.id).collect();
        self.sessions.end_these(&ids);
        let running = theirs.into_iter().filter(|one| one.end.is_none());
        running.map(|one| one.command).collect()
    }

    /// Ends all background commands. Blocks until they are gone.
    pub fn end_all(&self) {
        self.sessions.end_all();
        self.shells.end_all();
    }

    /// Decides about a command. The caller's answer counts only for exactly the question that would be
    /// asked now. A command that may run has been recorded; one that cannot be recorded may not run.
    fn permit(&self, request: &mut Request, caller: &Caller<'_>) -> Result<Permit> {
        // Without a sandbox only an owner's word keeps what is done for others from the board.
        request.unsandboxed |= !self.sandboxed && caller.role < Role::Owner;
        let any_risk = || {
            let folders = Folders::at(&request.folder.path);
            risk::find_any_risk(&request.command, folders).filter(|_| request.unsandboxed)
        };
        let objection = self.patterns.objection(&request.command);
        let objection = objection.or_else(|| any_risk().map(Objection::Risk));
        let place = match request.is_in_own_shell {
            true => Placement::OwnShell,
            false if request.unsandboxed => Placement::Outside,
            false => Placement::Sandbox,
        };
        let cause = match decide(objection, self.mode, place) {
            Decision::Run => return self.start(request, caller, "allowed: no rule against it"),
            Decision::Refuse(refusal) => return self.refuse(request, caller, &refusal),
            Decision::Ask(cause) => cause,
        };
        if request.unsandboxed
            && !request.is_in_own_shell
            && caller.answer.is_some_and(|(_, answer)| answer.allows())
        {
            self.hold_still(request, caller)?;
        }
        match self.uses(request) {
            Ok(uses) => request.uses = uses,
            Err(error) => {
                self.record_refusal(request, caller, &format!("refused: {error}"))?;
                return Err(error);
            }
        }
        let mut question = request.question(cause);
        let is_too_risky = matches!(question.always, AlwaysOption::TooRisky(_));
        question.can_allow_all = caller.role == Role::Owner && !is_too_risky;
        let grant = self.grant(request, &question, caller);
        question.is_standing = grant.is_some();
        if caller.role < Role::Owner && question.always == AlwaysOption::Offered {
            question.always = AlwaysOption::Other;
        }
        let Some((asked, answer)) = caller.answer else {
            return Ok(Permit::Ask(Box::new(question)));
        };
        let is_changed = asked.hash != question.hash
            // It was removed after the turn's host had been shown it.
            || answer == Answer::Standing && !question.is_standing;
        if answer.allows() && is_changed {
            let file = first_changed(&asked.marks, &question.marks);
            let has_ended = caller.role == Role::Owner && self.end_others();
            return self.refuse(request, caller, &Refusal::Changed { file, has_ended });
        }
        let answer = match answer {
            Answer::Always if question.always != AlwaysOption::Offered => Answer::Once,
            answer => answer,
        };
        if !answer.allows() {
            return self.refuse(request, caller, &Refusal::Denied(answer));
        }
        if answer == Answer::Always {
            let now = self.clock.now().to_rfc3339();
            self.approvals.add(&question, caller.session, now)?;
        }
        let decision = match (answer, grant) {
            (Answer::Standing, Some(grant)) => grant.decision().to_owned(),
            (answer, _) => answer.to_string(),
        };
        self.start(request, caller, &decision)
    }

    /// Decides about a command that is kept and runs later, in the sandbox and by the rules of then. Returns the
    /// question that has to be answered first.
    pub(in crate::tools) fn permit_later(
        &self,
        line: &str,
        context: &super::Context<'_>,
    ) -> Result<Option<Box<Question>>> {
        let mut request = Request {
            command: line.to_owned(),
            folder: Folder::at(context.workspace.path())?,
            unsandboxed: false,
            reason: String::new(),
            typed_in: None,
            is_background: false,
            is_in_own_shell: false,
            on_terminal: false,
            uses: Uses::default(),
            held: None,
        };
        match self.permit(&mut request, context.caller)? {
            Permit::Ask(question) => Ok(Some(question)),
            Permit::Run(entry) => {
                entry.end("kept for later");
                Ok(None)
            }
        }
    }

    /// What the command uses of the files that the model can write. An error where an approval cannot
    /// cover it; within the sandbox that does not matter, for the kernel confines it all the same.
    fn uses(&self, request: &Request) -> Result<Uses> {
        let is_typed = request.typed_in.is_some();
        let binds_all = request.unsandboxed && !request.is_background && !request.is_in_own_shell;
        let uses = self.uses_of(&request.command, &request.folder.path, binds_all);
        if !request.unsandboxed {
            let unknown = Uses {
                loads_unbound: true,
                ..Uses::default()
            };
            return Ok(uses.unwrap_or(unknown));
        }
        let uses = uses?;
        let is_open = uses.loads_unbound && !is_typed;
        // Shells and others read their scripts piece by piece as they go.
        if request.is_background && (is_open || !uses.marks.is_empty() || uses.has_folder) {
            let file = uses.marks.first().map(|(path, _)| path.to_string_lossy());
            let what = file.map_or_else(
                || "files of the agent".to_owned(),
                |file| reveal_name(&file).into_owned(),
            );
            return Err(Error::Failed(format!(
                "the command was not run: {what} could be changed while it runs outside the sandbox in the background; \
                 run it in the foreground"
            )));
        }
        Ok(uses)
    }

    /// What a line uses. With `binds_all` a line that is not simple is bound to everything that the model can write.
    fn uses_of(&self, line: &str, folder: &Path, binds_all: bool) -> Result<Uses> {
        let place = Place {
            folder,
            home: &self.exec.outside_home(),
            workspace: &self.workspace,
            others: self.exec.changeable(),
            is_writable: &|path| self.exec.is_changeable(path),
            is_hidden: &|path| self.exec.is_hidden(path),
        };
        let mut uses = bound::find(line, &place)?;
        if binds_all && uses.loads_unbound {
            bound::bind_all(&mut uses, &place)?;
        }
        uses.shorten();
        Ok(uses)
    }

    /// Runs a command in the foreground.
    fn run(
        &self,
        request: &Request,
        timeout: Duration,
        caller: &Caller<'_>,
        output: Output<'_>,
    ) -> Result<Outcome> {
        self.run_for(caller, request.unsandboxed, &mut |exec, cancel| {
            exec.run(&request.shell_command(), timeout, cancel, output)
        })
    }

    /// Decides about input for a command outside the sandbox. `Always` holds until the command ends.
    /// The observer records the answer.
    fn permit_input(
        &self,
        session: &SessionInfo,
        input: &str,
        caller: &Caller<'_>,
    ) -> Result<std::result::Result<Answer, Box<Question>>> {
        let SessionInfo { id, command, .. } = session;
        // What was allowed without this input being seen does not cover what can stop or break the machine.
        let risk = self.input_risk(session, input);
        // What others write on was not seen by the owner who answered.
        let risk = risk.or((caller.role != Role::Owner).then_some(AlwaysOption::Other));
        let is_unasked = caller.answer.is_none() && risk.is_none();
        if is_unasked && session.is_input_allowed {
            return Ok(Ok(Answer::Always));
        }
        let is_owner = caller.role == Role::Owner && self.mode != ApprovalMode::Never;
        if is_unasked && is_owner && self.allowances.left(caller.session).is_some() {
            return Ok(Ok(Answer::Standing));
        }
        let uses = self.uses_of(input, &session.folder, false)?;
        let id_text = id.to_string();
        let mut parts: Vec<&[u8]> = vec![
            b"input",
            id_text.as_bytes(),
            command.as_bytes(),
            input.as_bytes(),
        ];
        parts.extend(uses.parts());
        let hash = hash(&parts);
        Ok(match caller.answer {
            Some((asked, answer)) if asked.hash == hash => Ok(match answer {
                Answer::Always if risk.is_some() => Answer::Once,
                answer => answer,
            }),
            Some(_) => Ok(Answer::Deny),
            None if self.mode == ApprovalMode::Never => Ok(Answer::Deny),
            None => Err(Box::new(Question {
                // A line that was begun is shown whole.
                command: match risk {
                    Some(AlwaysOption::Other) | None => input.to_owned(),
                    Some(_) => [&session.unfinished, input].concat(),
                },
                always: risk.unwrap_or_default(),
                folder: session.folder.to_string_lossy().into_owned(),
                account: account(),
                cause: Cause::Input {
                    session: *id,
                    command: command.clone(),
                },
                unsandboxed: true,
                influences: uses.influences,
                scripts: uses.scripts,
                hash,
                ..Question::default()
            })),
        })
    }

    fn start(&self, request: &Request, caller: &Caller<'_>, decision: &str) -> Result<Permit> {
        let entry = with_record(request, caller, decision, |record| self.audit.start(record));
        entry.map(Permit::Run).map_err(|error| {
            Error::Failed(format!(
                "the command was not run, because it could not be recorded: {error}"
            ))
        })
    }

    /// Records that a command is not run, and says why to the one who wanted it.
    fn refuse(&self, request: &Request, caller: &Caller<'_>, refusal: &Refusal) -> Result<Permit> {
        self.record_refusal(request, caller, &refusal.decision())?;
        Err(Error::Failed(match request.typed_in {
            Some(language) => refusal.for_person(language, &request.command),
            None => refusal.for_model(),
        }))
    }

    fn record_refusal(&self, request: &Request, caller: &Caller<'_>, decision: &str) -> Result<()> {
        with_record(request, caller, decision, |record| {
            self.audit.refuse(record)
        })
    }

    /// Checks and records the input of a background command, and records its end. Of what a person types only
    /// the length is recorded.
    fn observer(&self, entry: Entry, is_typed: bool) -> Observer {
        let patterns = self.patterns.clone();
        // A line may be written in pieces.
        let unfinished = Mutex::new(String::new());
        Arc::new(move |event| {
            let (input, answer) = match event {
                SessionEvent::Input(input, answer) => (input, answer),
                SessionEvent::Ended(end) => {
                    entry.end(&end.to_string());
                    return Ok(());
                }
            };
            let recorded = match is_typed {
                true => InputText::Length(input.len()),
                false => InputText::Input(input),
            };
            let decision = match answer {
                None => "allowed".to_owned(),
                Some(Answer::Standing) => Grant::Allowance.decision().to_owned(),
                Some(answer) => answer.to_string(),
            };
            let is_unseen = matches!(answer, None | Some(Answer::Standing));
            if answer.is_some_and(|answer| !answer.allows()) {
                entry.input(recorded, &decision)?;
                return Err(Error::Failed(format!(
                    "the input was not written: {decision}"
                )));
            }
            let mut unfinished = unfinished.lock();
            let lines = format!("{unfinished}{input}").replace('\r', "\n");
            let objection = patterns.objection_to_input(&lines);
            // A person who has seen the input may allow what the built-in patterns call risky.
            if let Some(objection) = objection.filter(|one| is_unseen || one.is_configured()) {
                entry.input(recorded, &format!("refused: {}", objection.rule()))?;
                let why = objection.for_model();
                return Err(Error::Failed(format!("the input was not written: {why}")));
            }
            entry.input(recorded, &decision).map_err(|error| {
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
        folder: &request.folder.path.to_string_lossy(),
        decision,
    })
}
