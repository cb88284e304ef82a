//! The question to a person whether one command may be run, and the answer.

pub mod pattern;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The path of a file that is bound to an approval, and a hash of what is in it.
pub type Mark = (PathBuf, Vec<u8>);

/// What the person is asked. The answer holds for exactly this and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The exact command, as `sh -c` will get it; for [`Cause::Input`] the input.
    pub command: String,
    /// The folder it will run in.
    pub folder: String,
    /// The account that it will run as, such as `root`.
    pub account: String,
    /// The reason that the model gives; empty for a command that the person typed. It may be untrue.
    pub reason: String,
    /// Why the person is asked.
    pub cause: Cause,
    /// For whom it is, when that is someone else than the one who is asked; may be empty. It may be anything.
    pub asked_for: String,
    /// Names of files in the folder that the model can write and that can change what the command
    /// does, such as `Makefile` or `.git`.
    pub influences: Vec<String>,
    /// Files that the command runs and that the model can write. The hash covers what is in them.
    pub scripts: Vec<Script>,
    /// All files that the hash covers.
    pub marks: Arc<Vec<Mark>>,
    /// Whether the command will run outside the sandbox.
    pub unsandboxed: bool,
    /// Whether it can be allowed always.
    pub always: AlwaysOption,
    /// Whether the answer can be to allow everything in this chat for some minutes.
    pub can_allow_all: bool,
    /// Whether a standing approval allows it already: then the person is not asked, only shown it.
    pub is_standing: bool,
    /// SHA-256 of command, folder and whether it is unsandboxed, in hexadecimal. What is run later has to
    /// have the same.
    pub hash: String,
}

impl Question {
    /// The same, asked by a subagent: what is kept for a conversation is of no use for one that ends with
    /// its task. A tool of the workspace is allowed for its agent.
    #[must_use]
    pub fn of_subagent(&self) -> Self {
        let mut question = self.clone();
        question.can_allow_all = false;
        if question.always == AlwaysOption::Offered && !matches!(question.cause, Cause::Tool { .. })
        {
            question.always = AlwaysOption::Subagent;
        }
        question
    }
}

/// Why a person is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// The command will run outside the sandbox, as the question says.
    #[default]
    Unsandboxed,
    /// A built-in pattern calls the command risky.
    Risk(Risk),
    /// `tools.exec.approval` is `always`.
    Configured,
    /// It is a custom tool that no one has allowed as it is now.
    Tool {
        /// Its name.
        name: String,
        /// What it says it does.
        description: String,
        /// Whether it was allowed as it was before.
        is_changed: bool,
    },
    /// It is the command that fetches a file from outside the sandbox for the chat, `/get!`.
    Fetch {
        /// The file.
        path: String,
        /// Whether it is one of the program's own, such as its configuration.
        is_own: bool,
    },
    /// It is input for a command that runs outside the sandbox.
    Input {
        /// The number of the background session.
        session: u32,
        /// The command.
        command: String,
    },
}

/// What a risky command would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Delete system files or a home folder.
    DeleteRoot,
    /// Change who may use system files or a home folder.
    OpenRoot,
    /// Create a file system where there is one already.
    Format,
    /// Overwrite a disk or the kernel's memory.
    WriteDevice,
    /// Shut the board down or restart it.
    Power,
    /// Start copies of itself without end.
    ForkBomb,
    /// Stop Peacrab itself, or every program.
    StopPeacrab,
}

impl Risk {
    /// Its name in the audit log and in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeleteRoot => "delete-root",
            Self::OpenRoot => "open-root",
            Self::Format => "format",
            Self::WriteDevice => "write-device",
            Self::Power => "power",
            Self::ForkBomb => "fork-bomb",
            Self::StopPeacrab => "stop-peacrab",
        }
    }
}

/// Whether a command can be allowed always, or why not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlwaysOption {
    /// It can.
    #[default]
    Offered,
    /// It would stop, erase or break the machine: such a command is confirmed each time.
    TooRisky(Risk),
    /// It loads files that the model can change and that the hash does not cover.
    Changeable,
    /// It is a terminal, in which anything can be typed.
    Terminal,
    /// A subagent wants it, whose conversation ends with its task.
    Subagent,
    /// It is for somebody else than an owner, in whose chat no owner would see that it stays allowed.
    Other,
}

/// A file that a command runs, as it was when the question was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its real path.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its first lines; empty when it is not text.
    pub head: String,
    /// How many lines it has; 0 when it is not text.
    pub lines: u64,
    /// Whether it did not exist.
    pub is_missing: bool,
}

impl Script {
    /// Whether its first lines are all of it.
    pub fn is_whole(&self) -> bool {
        let shown = self.head.len() as u64;
        self.lines > 0 && (self.bytes == shown || self.bytes == shown + 1)
    }
}

/// What the person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Run it once.
    Once,
    /// Run it, and from now on without asking.
    Always,
    /// Run it, and for some minutes everything else in this chat.
    Everything,
    /// Do not run it.
    Deny,
    /// No answer came in time, which denies it.
    TimedOut,
    /// There is no one to ask, which denies it.
    Unattended,
    /// The turn or the command was stopped while the question was open, which denies it.
    Stopped,
    /// The gateway stops while the question is open, which denies it.
    ShuttingDown,
    /// A standing approval allows it; no one was asked.
    Standing,
}

impl Question {
    /// The answer where no one can be asked.
    pub fn unattended(&self) -> Answer {
        if self.is_standing {
            Answer::Standing
        } else {
            Answer::Unattended
        }
    }
}

impl Answer {
    /// Whether the command may run.
    pub fn allows(self) -> bool {
        matches!(
            self,
            Self::Once | Self::Always | Self::Everything | Self::Standing
        )
    }
}

/// For the log, the audit log and the model.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Once => "allowed once",
            Self::Always => "allowed always",
            Self::Everything => "allowed, with everything for 10 minutes",
            Self::Deny => "denied",
            Self::TimedOut => "denied: no answer in time",
            Self::Unattended => "denied: no one to ask",
            Self::Stopped => "denied: stopped",
            Self::ShuttingDown => "denied: Peacrab stopped before there was an answer",
            Self::Standing => "allowed by a standing approval",
        })
    }
}
