//! Running commands: exec and exec_session for the model, and what a person types.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::base::approval::{Answer, Question};
use crate::base::chat::{Effect, ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::tools::SHELL_CHARS;
use crate::sandbox::confine::{
    End, Observer, Outcome, OutputChunk, SessionInfo, SessionStart, Sessions, ShellCommand,
    UnreadOutput,
};
use crate::sandbox::files::PromptPlaces;
use crate::store::state::audit::Entry;
use crate::text::emulator::keys;
use crate::text::end_in_lines;
use crate::tools::arguments::Arguments;
use crate::tools::results::Keeper;
use crate::tools::results::Spool;
use crate::tools::{Caller, Context, Tool, Toolbox};

use super::{Commands, Folder, Permit, Request, Uses, terminal, texts};

/// The command tools as the model is told about them.
pub(in crate::tools) const SPECS: [ToolSpec; 2] = [EXEC, EXEC_SESSION];

/// What runs them, in the same order.
pub(in crate::tools) fn tools(commands: &Arc<Commands>) -> [Box<dyn Tool>; 2] {
    [
        Box::new(Exec(Arc::clone(commands))),
        Box::new(ExecSession(Arc::clone(commands))),
    ]
}

const EXEC: ToolSpec = ToolSpec::fixed(
    "exec",
    "Run a shell command (sh -c) in the sandbox; get exit status and output. background \
     or pty gives a session id for exec_session. If it needs more than the sandbox gives, set escalate \
     with a reason: the person is asked.",
    r#"{"type":"object","properties":{"command":{"type":"string"},"working_dir":{"type":"string"},"timeout":{"type":"integer","description":"seconds"},"background":{"type":"boolean"},"pty":{"type":"boolean"},"escalate":{"type":"boolean"},"reason":{"type":"string"}},"required":["command"]}"#,
);

/// Runs a command in the sandbox, or outside when a person allows it.
struct Exec(Arc<Commands>);

impl Tool for Exec {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let commands = &*self.0;
        let mut request = parse_request(context, arguments)?;
        let timeout = parse_timeout(commands, arguments)?;
        let entry = match commands.permit(&mut request, context.caller)? {
            Permit::Run(entry) => entry,
            Permit::Ask(question) => return Ok(ask(question)),
        };
        if request.is_background {
            let command = request.shell_command();
            let Caller { session, role, .. } = *context.caller;
            let observer = commands.observer(entry.clone(), false);
            let start = SessionStart {
                command: &command,
                terminal: request.on_terminal.then_some(terminal::USUAL_SIZE),
                owner: session,
                role,
            };
            let started = commands.start_for(role, request.unsandboxed, |exec, kept| {
                let observer = keeping(observer, kept);
                commands.sessions.start(exec, &start, observer)
            });
            let id = started.inspect_err(|error| entry.end(&error.to_string()))?;
            return Ok(ToolResult::new(format!(
                "Started as session {id}; exec_session reads, writes and kills it."
            )));
        }
        let keeper = if request.unsandboxed {
            Keeper::Nothing
        } else {
            Keeper::Workspace(context.results, context.workspace)
        };
        let mut spool = Spool::new(keeper, context.eraser, "exec");
        let mut output = |chunk: OutputChunk<'_>| {
            if let OutputChunk::Whole(bytes) = chunk {
                spool.write(bytes);
            }
        };
        let outcome = commands.run(&request, timeout, context.caller, &mut output);
        record_end(&entry, &outcome);
        Ok(ToolResult {
            is_from_outside: request.unsandboxed,
            ..render_outcome(context, &outcome?, spool.finish())
        })
    }
}

/// The observer of a command, which holds on to this until the command has ended and is forgotten.
fn keeping(observer: Observer, kept: Option<Arc<PromptPlaces>>) -> Observer {
    Arc::new(move |event| {
        let _ = &kept;
        observer(event)
    })
}

fn ask(question: Box<Question>) -> ToolResult {
    ToolResult {
        effect: Some(Effect::Ask(question)),
        ..ToolResult::default()
    }
}

impl Request {
    pub(super) fn shell_command(&self) -> ShellCommand<'_> {
        ShellCommand {
            line: &self.command,
            folder: &self.folder.path,
            inode: Some(self.folder.inode),
            unsandboxed: self.unsandboxed,
        }
    }
}

/// Records how a command in the foreground ended.
pub(super) fn record_end(entry: &Entry, outcome: &Result<Outcome>) {
    match outcome {
        Ok(outcome) => entry.end(&outcome.end.to_string()),
        Err(error) => entry.end(&error.to_string()),
    }
}

fn parse_request(context: &Context<'_>, arguments: &Arguments) -> Result<Request> {
    let command = arguments
        .text("command", "the command, as for sh -c")?
        .into_owned();
    if command.trim().is_empty() || command.contains('\0') {
        return Err(Error::Failed(
            "command must be a shell command, such as \"df -h\"".to_owned(),
        ));
    }
    let unsandboxed = arguments.flag("escalate")?;
    let reason = arguments
        .optional_text("reason", "why the sandbox is not enough")?
        .unwrap_or_default();
    if unsandboxed && reason.trim().is_empty() {
        return Err(Error::Failed(
            "escalate needs a reason, in a sentence: the person reads it and decides".to_owned(),
        ));
    }
    let on_terminal = arguments.flag("pty")?;
    let folder = arguments.optional_text("working_dir", "a folder")?;
    let workspace = context.workspace.path();
    // Joining an absolute path gives that path.
    let folder = folder.map_or_else(
        || workspace.to_owned(),
        |folder| workspace.join(folder.as_ref()),
    );
    let folder = Folder::at(&folder);
    Ok(Request {
        command,
        folder: folder.map_err(|error| Error::Failed(format!("working_dir: {error}")))?,
        unsandboxed,
        reason: reason.into_owned(),
        typed_in: None,
        is_background: arguments.flag("background")? || on_terminal,
        on_terminal,
        is_in_own_shell: false,
        uses: Uses::default(),
        held: None,
    })
}

/// The time limit that a call asks for, within the configured maximum.
fn parse_timeout(commands: &Commands, arguments: &Arguments) -> Result<Duration> {
    let asked = arguments.number("timeout", "seconds, such as 120")?;
    let asked = asked.map_or(commands.timeout, |seconds| {
        Duration::from_secs(seconds as u64)
    });
    Ok(asked.clamp(Duration::from_secs(1), commands.max_timeout))
}

/// The result as the model reads it: how it ended, then the output.
fn render_outcome(
    context: &Context<'_>,
    outcome: &Outcome,
    spilled: Option<Result<PathBuf>>,
) -> ToolResult {
    let failed = !matches!(outcome.end, End::Exit(_));
    let mut text = if failed {
        format!("Error: {}", outcome.end)
    } else {
        outcome.end.to_string()
    };
    for note in &outcome.notes {
        text.push_str(&format!(" ({note})"));
    }
    if outcome.needs_more {
        text.push_str(" (use escalate to ask for more)");
    }
    let output = outcome.output.text();
    // Before it is cut: half of a key is still a secret.
    let output = context.eraser.clean(&output);
    let output = match spilled {
        Some(Ok(path)) => context
            .results
            .cut(&output, &format!("the whole is in {}", path.display())),
        Some(Err(error)) => context
            .results
            .cut(&output, &format!("the whole could not be kept: {error}")),
        None => output.into_owned(),
    };
    text.push('\n');
    text.push_str(if output.trim().is_empty() {
        "(no output)"
    } else {
        &output
    });
    ToolResult {
        text,
        failed,
        ..ToolResult::default()
    }
}

const EXEC_SESSION: ToolSpec = ToolSpec::fixed(
    "exec_session",
    "Sessions of exec: list, read (pty: screen), write input, press keys (ctrl-x enter \"a\"), kill.",
    r#"{"type":"object","properties":{"action":{"enum":["list","read","write","keys","kill"]},"session_id":{"type":"integer"},"input":{"type":"string"}},"required":["action"]}"#,
);

/// Lists, reads, writes and kills commands in the background.
struct ExecSession(Arc<Commands>);

impl Tool for ExecSession {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let sessions = &self.0.sessions;
        let owner = context.caller.session;
        let action = arguments.text("action", ACTIONS)?;
        if action == "list" {
            return Ok(ToolResult::new(list_sessions(sessions, owner)));
        }
        let wants = "the number that exec gave";
        let id = arguments.number("session_id", wants)?.ok_or_else(|| {
            Error::Failed(format!(
                "session_id is missing: {wants}; action list shows what runs"
            ))
        })?;
        let id = u32::try_from(id).unwrap_or(u32::MAX);
        let listed = sessions.list(owner).into_iter().find(|one| one.id == id);
        // What a watch or a job does for an owner, with the role of a user, may look at what was begun in their own chat.
        let looks = matches!(&*action, "read" | "screen" | "kill");
        let is_own = looks && context.caller.alone().is_some();
        if listed.is_some() && !is_own && !self.0.may_use(id, context.caller.role) {
            return Err(Error::Failed(format!(
                "session {id} was started for an owner, and this is not done for one: start a session of your own"
            )));
        }
        let is_from_outside = listed.is_some_and(|one| one.unsandboxed);
        let shown = |text| ToolResult {
            is_from_outside,
            ..ToolResult::new(text)
        };
        match action.as_ref() {
            "read" | "screen" => {
                let unread = sessions.read(owner, id, context.caller.cancel)?;
                Ok(shown(render_output(&unread)))
            }
            "kill" => Ok(shown(format!(
                "Killed.\n{}",
                render_output(&sessions.kill(owner, id)?)
            ))),
            "write" => {
                let input =
                    arguments.text("input", "the text for its standard input, with its newline")?;
                self.write(context, id, &input)
            }
            "keys" => {
                let pressed = arguments.text("input", "keys, such as ctrl-x y \"word\" enter")?;
                let pressed = keys::parse(&pressed).map_err(terminal::bad_keys)?;
                let mut listed = sessions.list(owner).into_iter();
                let Some(session) = listed.find(|one| one.id == id) else {
                    return self.write(context, id, "");
                };
                let mode = session.application_cursor;
                let mode = mode.ok_or_else(|| {
                    Error::Failed(format!("session {id} has no terminal: start it with pty"))
                })?;
                let input = keys::encode(&pressed, mode);
                self.write(context, id, &String::from_utf8_lossy(&input))
            }
            other => Err(Error::Failed(format!(
                "action must be {ACTIONS}, not {other:?}"
            ))),
        }
    }
}

/// What can be done with a session.
const ACTIONS: &str = "list, read, write, screen, keys or kill";

impl ExecSession {
    /// Gives a session input, of which a person decides if it runs outside the sandbox.
    fn write(&self, context: &Context<'_>, id: u32, input: &str) -> Result<ToolResult> {
        let owner = context.caller.session;
        let listed = self.0.sessions.list(owner).into_iter();
        let is_asked = |one: &SessionInfo| one.id == id && one.unsandboxed;
        let answer = match listed.into_iter().find(is_asked) {
            None => None,
            Some(one) => match self.0.permit_input(&one, input, context.caller)? {
                Ok(answer) => Some(answer),
                Err(question) => return Ok(ask(question)),
            },
        };
        self.0.sessions.write_answered(owner, id, input, answer)?;
        Ok(ToolResult::new("Written."))
    }
}

fn list_sessions(sessions: &Sessions, owner: &str) -> String {
    let mut text = String::new();
    for session in sessions.list(owner) {
        let state = session
            .end
            .map_or_else(|| "running".to_owned(), |end| end.to_string());
        let _ = writeln!(
            text,
            "{}: {state}, {} bytes unread: {}",
            session.id, session.unread, session.command
        );
    }
    if text.is_empty() {
        "Nothing is running in the background.".to_owned()
    } else {
        text
    }
}

fn render_output(since: &UnreadOutput) -> String {
    let mut text = match &since.end {
        Some(end) => end.to_string(),
        None => "running".to_owned(),
    };
    if since.dropped > 0 {
        let _ = write!(
            text,
            " ({} bytes before this were dropped, because they were not read)",
            since.dropped
        );
    }
    text.push('\n');
    text.push_str(if since.text.is_empty() {
        "(nothing new)"
    } else {
        &since.text
    });
    text
}

/// A command that a person typed.
#[derive(Clone, Copy, Debug)]
pub struct TypedCommand<'a> {
    /// The argument of `sh -c`.
    pub line: &'a str,
    /// Whether it is to run outside the sandbox, which the person has to allow.
    pub unsandboxed: bool,
    /// What the person is told in.
    pub language: Language,
}

/// The outcome of trying what may have to be allowed first.
#[derive(Debug)]
pub enum Attempt<T> {
    /// Not done yet: a person has to be asked, and it is tried again with the answer.
    Ask(Box<Question>),
    /// It was done.
    Done(T),
}

/// Tries something, and once more with the answer when there is a question about it.
pub fn ask_and_retry<T>(
    caller: &Caller<'_>,
    language: Language,
    ask: impl FnOnce(&Question) -> Result<Answer>,
    mut attempt: impl FnMut(&Caller<'_>) -> Result<Attempt<T>>,
) -> Result<T> {
    let question = match attempt(caller)? {
        Attempt::Done(done) => return Ok(done),
        Attempt::Ask(question) => question,
    };
    let answer = Some((&*question, ask(&question)?));
    match attempt(&Caller { answer, ..*caller })? {
        Attempt::Done(done) => Ok(done),
        Attempt::Ask(_) => Err(Error::Failed(texts::command_changed(language).to_owned())),
    }
}

/// A typed command that was run.
#[derive(Debug, Default)]
pub struct ShellResult {
    /// How it ended, such as `exit status 0`, in the language of the person.
    pub end: String,
    /// Whether it succeeded.
    pub is_success: bool,
    /// Its exit status; `None` when it was ended.
    pub status: Option<i32>,
    /// Its output, or the end of a long one.
    pub output: String,
    /// The workspace file with all of a long output, if it could be stored.
    pub file: Option<String>,
    /// Whether it failed because it needs something outside the sandbox.
    pub needs_more: bool,
    /// The prompt at which it was typed; empty where there is no shell.
    pub prompt: String,
    /// What programs in the background had written before it.
    pub earlier: String,
    /// Sentences about the shell that it ran in.
    pub about: Vec<String>,
    /// Whether it has ended that shell.
    pub has_ended_shell: bool,
}

impl Toolbox {
    /// Runs a command that a person typed, in the workspace: by the same rules and in the same sandbox as
    /// the agent's. `watch` gets the output as it arrives.
    pub fn shell(
        &self,
        typed: TypedCommand<'_>,
        caller: &Caller<'_>,
        watch: &mut dyn FnMut(&[u8]),
    ) -> Result<Attempt<ShellResult>> {
        self.prompt_changed(&[]);
        let commands = self
            .commands
            .as_ref()
            .ok_or_else(|| Error::Failed(texts::turned_off(typed.language).to_owned()))?;
        let mut request = Request {
            command: typed.line.to_owned(),
            folder: Folder::at(self.workspace.path())?,
            unsandboxed: typed.unsandboxed,
            reason: String::new(),
            typed_in: Some(typed.language),
            is_background: false,
            on_terminal: false,
            is_in_own_shell: false,
            uses: Uses::default(),
            held: None,
        };
        let entry = match commands.permit(&mut request, caller)? {
            Permit::Run(entry) => entry,
            Permit::Ask(question) => return Ok(Attempt::Ask(question)),
        };
        let keeper = self.keeper_of_typed(commands, typed.unsandboxed);
        let mut spool = Spool::new(keeper, &self.eraser, "sh");
        let mut output = |chunk: OutputChunk<'_>| match chunk {
            OutputChunk::Fresh(bytes) => watch(bytes),
            OutputChunk::Whole(bytes) => spool.write(bytes),
        };
        let timeout = commands.max_timeout;
        let outcome = commands.run(&request, timeout, caller, &mut output);
        record_end(&entry, &outcome);
        Ok(Attempt::Done(self.shell_result(
            &outcome?,
            (keeper, spool.finish()),
            typed.language,
        )))
    }

    /// What takes the long output of something typed: what ran outside the sandbox is for the chat alone.
    pub(super) fn keeper_of_typed<'a>(
        &'a self,
        commands: &'a Commands,
        is_outside: bool,
    ) -> Keeper<'a> {
        if is_outside {
            Keeper::Home(&commands.outgoing)
        } else {
            Keeper::Workspace(&self.results, &self.workspace)
        }
    }

    pub(super) fn shell_result(
        &self,
        outcome: &Outcome,
        (keeper, spilled): (Keeper<'_>, Option<Result<PathBuf>>),
        language: Language,
    ) -> ShellResult {
        // A file of it would not have its bytes.
        let is_binary = outcome.output.is_binary();
        if let Some(Ok(path)) = spilled.as_ref().filter(|_| is_binary)
            && let Err(error) = keeper.remove(path)
        {
            tracing::warn!("failed to remove {}: {error}", path.display());
        }
        let spilled = spilled.filter(|_| !is_binary);
        let mut end = texts::describe_end(language, &outcome.end);
        for note in &outcome.notes {
            end.push_str(&format!(" ({})", note.in_language(language)));
        }
        let text = outcome.output.text();
        let text = self.cleaned(text.trim_end());
        let over = text.chars().count().saturating_sub(SHELL_CHARS);
        let file = spilled.or_else(|| (over > 0).then(|| keeper.store("sh", &text)));
        ShellResult {
            end,
            is_success: outcome.end.is_success(),
            needs_more: outcome.needs_more,
            status: match outcome.end {
                End::Exit(status) => Some(status),
                _ => None,
            },
            output: end_in_lines(&text, SHELL_CHARS).to_owned(),
            // Without the file the end is still shown.
            file: file
                .and_then(Result::ok)
                .map(|path| path.display().to_string()),
            ..ShellResult::default()
        }
    }
}
