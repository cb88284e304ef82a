//! Floor 1: the question to a person whether one command may be run, and the answer.

use std::fmt;

/// What the person is asked. The answer holds for exactly this and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The exact command, as `sh -c` will get it.
    pub command: String,
    /// The folder it will run in.
    pub folder: String,
    /// The reason that the model gives. It may be untrue.
    pub reason: String,
    /// Which rule asks.
    pub rule: String,
    /// Names of files in the folder that the model can write and that can change what the command
    /// does, such as `Makefile` or `.git`.
    pub influences: Vec<String>,
    /// Files that the command runs and that the model can write. The hash covers what is in them.
    pub scripts: Vec<Script>,
    /// Whether the command will run outside the sandbox.
    pub unsandboxed: bool,
    /// SHA-256 of command, folder and whether it is unsandboxed, in hexadecimal. What is run later has to
    /// have the same.
    pub hash: String,
}

/// A file that a command runs, as it was when the question was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its real path.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its first lines; empty when it is no text.
    pub head: String,
}

/// What the person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Run it once.
    Once,
    /// Run it, and from now on without asking.
    Always,
    /// Do not run it.
    Deny,
    /// No answer came in time, which denies it.
    Late,
    /// There is nobody to ask, which denies it.
    Nobody,
    /// A standing approval allows it; nobody was asked.
    Standing,
}

impl Answer {
    /// Whether the command may run.
    pub fn allows(self) -> bool {
        matches!(self, Self::Once | Self::Always | Self::Standing)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Once => "allowed once",
            Self::Always => "allowed always",
            Self::Deny => "denied",
            Self::Late => "denied: no answer in time",
            Self::Nobody => "denied: nobody to ask",
            Self::Standing => "allowed by a standing approval",
        })
    }
}
