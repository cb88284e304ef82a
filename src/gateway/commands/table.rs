//! The table of all slash commands: who may use each, when it runs, what it does, and what runs it. A new one is a row
//! here, its help in `help`, its function, and its names in `config::check::TAKEN`.

use std::sync::Arc;

use super::{Call, answer_id, help};
use crate::agent::Agent;
use crate::agent::commands::{CommandAnswer, Invocation, lists_models};
use crate::base::access::Role;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::OutgoingMessage;
use crate::gateway::Gateway;
use crate::gateway::board::{self, Asking};
use crate::gateway::files::Job;
use crate::gateway::reminders::is_button;

/// The command whose thread is expected before it runs.
pub const SH: &str = "sh";
/// A command that an open terminal takes.
pub const TERM: &str = "term";
/// The other one that an open terminal takes.
pub const KEY: &str = "key";
/// The command whose role replies to a running command need.
pub const IN: &str = "in";
/// The command that the configuration's own become.
pub const OWN: &str = "own";

/// Every slash command: what is parsed, listed by `/help`, shown in a channel's menu, and run.
#[rustfmt::skip]
pub const COMMANDS: &[Row] = &[
    row(&["help"], GUEST, AT_ONCE, help::help, Run::Answer(Gateway::help)).at_terminal(Terminal::Help),
    row(&["new", "reset", "clear"], USER, IN_ORDER, help::new, Run::Work(Gateway::answer_new)).at_terminal(Terminal::New),
    row(&["compact"], USER, QUEUED, help::compact, Run::Work(Gateway::compact)).at_terminal(Terminal::Compact),
    row(&["status"], USER, AT_ONCE, help::status, Run::Answer(Gateway::answer_status)).at_terminal(Terminal::Agent(Agent::answer_status)),
    row(&["model", "models"], USER, MODEL, help::model, Run::Agent(Agent::answer_model)),
    row(&["think", "thinking"], USER, IN_ORDER_WITH_ARGUMENT, help::think, Run::Agent(Agent::answer_think)),
    row(&["voice"], USER, IN_ORDER_WITH_ARGUMENT, help::voice, Run::Agent(Agent::answer_voice)),
    row(&["lang", "language"], GUEST_OR_OWNER_IN_GROUP, AT_ONCE, help::lang, Run::Answer(Gateway::answer_lang)),
    row(&["tools"], USER, AT_ONCE, help::tools, Run::Agent(Agent::answer_tools)),
    row(&["memory"], USER, QUEUED_WITH_ARGUMENT, help::memory, Run::Agent(Agent::answer_memory)),
    row(&["lessons"], OWNER_WITH_ARGUMENT, QUEUED_WITH_ARGUMENT, help::lessons, Run::Agent(Agent::answer_lessons)),
    row(&["diff"], OWNER, QUEUED, help::diff, Run::Agent(Agent::show_change)),
    row(&["undo"], OWNER, QUEUED, help::undo, Run::Agent(Agent::undo_change)),
    row(&["skills", "skill"], USER, AT_ONCE, help::skills, Run::Agent(Agent::answer_skills)),
    row(&["mcp"], OWNER_WITH_ARGUMENT, QUEUED_WITH_ARGUMENT, help::mcp, Run::Agent(Agent::answer_mcp)),
    row(&["remind", "reminder", "reminders"], USER, REMIND, help::remind, Run::Work(Gateway::answer_remind)).at_terminal(Terminal::Agent(Agent::answer_remind)),
    row(&["cron", "jobs"], USER, QUEUED, help::cron, Run::Agent(Agent::answer_cron)),
    row(&["usage"], USER, AT_ONCE, help::usage, Run::Agent(Agent::answer_usage)),
    row(&["context"], USER, AT_ONCE, help::context, Run::Agent(Agent::answer_context)),
    row(&[SH], OWNER, QUEUED, help::sh, Run::Work(Gateway::shell)).forceable(),
    row(&["get"], OWNER, QUEUED, help::get, Run::Files(|job, argument| job.get(argument))).forceable(),
    row(&["put"], OWNER, QUEUED, help::put, Run::Files(|job, argument| job.put(argument))).forceable(),
    row(&["ls"], OWNER, QUEUED, help::ls, Run::Files(|job, argument| job.list(argument))),
    row(&[TERM, "terminal"], OWNER, QUEUED, help::term, Run::Work(Gateway::terminal)).forceable(),
    row(&[KEY, "keys"], OWNER, AT_ONCE, help::key, Run::Answer(Gateway::answer_key)),
    row(&[IN], OWNER, AT_ONCE, help::r#in, Run::Work(Gateway::answer_in)),
    row(&["bg"], OWNER, BESIDE, help::bg, Run::Answer(Gateway::answer_bg)),
    row(&["history"], OWNER, AT_ONCE, help::history, Run::Answer(Gateway::answer_history)),
    row(&["stop"], GUEST_OR_USER_IN_GROUP, STOP, help::stop, Run::Work(Gateway::stop)),
    row(&["tasks"], USER, AT_ONCE, help::tasks, Run::Answer(Gateway::answer_tasks)),
    row(&["plan", "plans"], USER, AT_ONCE, help::plan, Run::Answer(Gateway::answer_plan)),
    row(&["approve"], OWNER, ANSWER, help::approve, Run::Work(Gateway::approve)),
    row(&["deny"], OWNER, ANSWER, help::deny, Run::Work(Gateway::deny)),
    row(&["answer"], GUEST, ANSWER, help::answer, Run::Work(Gateway::answer_question)),
    row(&["approvals"], OWNER, AT_ONCE, help::approvals, Run::Answer(Gateway::answer_approvals)).at_terminal(Terminal::Agent(Agent::answer_approvals)),
    row(&["pair"], OWNER, AT_ONCE, help::pair, Run::Answer(Gateway::answer_pair)),
    row(&["web"], GUEST, AT_ONCE, help::web, Run::Answer(Gateway::answer_web)),
    row(&["id"], GUEST, AT_ONCE, help::id, Run::Answer(answer_id)),
    row(&["heartbeat"], OWNER, AT_ONCE, help::heartbeat, Run::Answer(Gateway::answer_heartbeat)),
    row(&["watch", "watches"], OWNER, QUEUED, help::watch, Run::Work(Gateway::watch_command)),
    row(&["agents"], USER, AT_ONCE, help::agents, Run::Answer(Gateway::answer_agents)),
    row(&["retry"], OWNER, BESIDE, help::retry, Run::Answer(Gateway::retry)),
    row(&["restart"], OWNER, AT_ONCE, help::restart, Run::Work(Gateway::restart)),
    row(&["update", "upgrade"], OWNER, QUEUED, help::update, Run::Work(Gateway::update)),
    row(&["plot"], USER, QUEUED, help::plot, Run::Board(|it| it.plot())),
    row(&["logs", "log"], OWNER, LOGS, help::logs, Run::Board(|it| it.logs())),
    row(&["svc", "service", "services"], OWNER, QUEUED, help::svc, Run::Board(|it| it.services())),
    row(&["top"], OWNER, QUEUED, help::top, Run::Board(|it| it.top())),
    row(&["ip"], USER, QUEUED, help::ip, Run::Board(|it| it.addresses())),
    row(&["wol"], OWNER, QUEUED, help::wol, Run::Board(|it| it.wake())),
    row(&["reboot"], OWNER, QUEUED, help::reboot, Run::Board(|it| it.reboot())),
    row(&["shutdown", "poweroff"], OWNER, QUEUED, help::shutdown, Run::Board(|it| it.shut_down())),
    row(&[OWN], OWNER, QUEUED, help::help, Run::Board(|it| it.own())).hidden(),
    row(&["start"], GUEST, AT_ONCE, help::help, Run::Answer(Gateway::greet)).hidden().at_terminal(Terminal::Help),
    row(&["exit", "quit"], GUEST, AT_ONCE, help::exit, Run::Nothing).at_terminal(Terminal::Exit),
];

/// A row of the table of commands.
#[derive(Debug)]
pub struct Row {
    /// Its names without the slash; the first one is shown.
    pub names: &'static [&'static str],
    /// Who may use it.
    pub access: Access,
    /// When it runs in a chat.
    pub when: Timing,
    /// Whether a `!` can follow its name, which then begins its argument.
    pub is_forceable: bool,
    /// What it does; `None` keeps it out of help and menus.
    pub help: Option<fn(Language) -> &'static str>,
    /// What runs it in a chat.
    pub run: Run,
    /// What runs it at the terminal.
    pub terminal: Option<Terminal>,
}

/// What runs a command in a chat.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// The agent of the chat, and at the terminal the agent there.
    Agent(AgentRun),
    /// It has an answer, which is stored for delivery.
    Answer(fn(&Gateway, &Call<'_>) -> Result<CommandAnswer>),
    /// It stores its answer itself, and has the message forgotten.
    Work(fn(&Arc<Gateway>, &Call<'_>)),
    /// It answers about the board.
    Board(fn(&Asking<'_>) -> Result<board::Answer>),
    /// It answers with files, or about them.
    Files(fn(&Job<'_>, &str) -> Result<OutgoingMessage>),
    /// It is none of a chat.
    Nothing,
}

/// The answer of an agent to a command.
pub type AgentRun = fn(&Agent, &Invocation<'_>) -> Result<CommandAnswer>;

/// What the terminal does for a command.
#[derive(Clone, Copy, Debug)]
pub enum Terminal {
    /// It has the agent answer.
    Agent(AgentRun),
    /// It lists its commands.
    Help,
    /// It begins a new conversation.
    New,
    /// It compacts the conversation.
    Compact,
    /// It ends.
    Exit,
}

/// When a command of a chat runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once, and quickly.
    AtOnce,
    /// At once: the answer to an open question, which an edited message is not.
    Answer,
    /// At once, after others like it.
    WithJobs,
    /// At once; it stops what is running.
    Stop,
    /// At once, on a thread of its own.
    Beside,
    /// After the commands that were sent before it, beside the conversation, on a thread of its own.
    Queued,
    /// After everything that was sent before it: it touches the conversation.
    InOrder,
}

const fn row(
    names: &'static [&'static str],
    access: Access,
    when: Timing,
    help: fn(Language) -> &'static str,
    run: Run,
) -> Row {
    Row {
        names,
        access,
        when,
        is_forceable: false,
        help: Some(help),
        run,
        terminal: match run {
            Run::Agent(run) => Some(Terminal::Agent(run)),
            _ => None,
        },
    }
}

impl Row {
    /// The same without a place in help and menus.
    const fn hidden(mut self) -> Self {
        self.help = None;
        self
    }

    const fn forceable(mut self) -> Self {
        self.is_forceable = true;
        self
    }

    const fn at_terminal(mut self, terminal: Terminal) -> Self {
        self.terminal = Some(terminal);
        self
    }
}

/// The least role that may use a command with this argument, and whether in a group.
pub type Access = fn(&str, bool) -> Role;

const GUEST: Access = |_, _| Role::Guest;
const USER: Access = |_, _| Role::User;
const OWNER: Access = |_, _| Role::Owner;
/// In a group it changes what others do there.
const GUEST_OR_USER_IN_GROUP: Access =
    |_, is_group| if is_group { Role::User } else { Role::Guest };
/// In a group it is for all of them.
const GUEST_OR_OWNER_IN_GROUP: Access = |argument, is_group| match (argument, is_group) {
    ("", _) | (_, false) => Role::Guest,
    (_, true) => Role::Owner,
};
/// A login gives the agent an account elsewhere.
const OWNER_WITH_ARGUMENT: Access = |argument, _| match argument {
    "" => Role::User,
    _ => Role::Owner,
};

/// When a command with this argument runs.
pub type Timing = fn(&str) -> When;

const AT_ONCE: Timing = |_| When::AtOnce;
const ANSWER: Timing = |_| When::Answer;
const STOP: Timing = |_| When::Stop;
/// What writes the outbox, or looks at what it would wait for.
const BESIDE: Timing = |_| When::Beside;
/// What reads or writes files, runs a command, or talks to a server.
const QUEUED: Timing = |_| When::Queued;
const IN_ORDER: Timing = |_| When::InOrder;
const QUEUED_WITH_ARGUMENT: Timing = |argument| match argument {
    "" => When::AtOnce,
    _ => When::Queued,
};
const IN_ORDER_WITH_ARGUMENT: Timing = |argument| match argument {
    "" => When::AtOnce,
    _ => When::InOrder,
};
/// The list asks the provider's server.
const MODEL: Timing = |argument| match lists_models(argument) {
    true => When::Queued,
    false => When::InOrder,
};
/// What follows a log would keep the commands behind it waiting.
const LOGS: Timing = |argument| match board::is_following(argument) {
    true => When::Beside,
    false => When::Queued,
};
/// Presses are taken in their order.
const REMIND: Timing = |argument| match is_button(argument) {
    true => When::WithJobs,
    false => When::Queued,
};
