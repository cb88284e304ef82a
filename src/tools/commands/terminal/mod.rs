//! Terminals: those that people open in their chats, and what the model needs for its own.

use std::path::Path;

use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::gateway::term as limits;
use crate::sandbox::confine::{Terminal, TerminalRequest};
use crate::store::state::audit::Entry;
use crate::sys::port::{login_shell, own_user};
use crate::sys::pty::Size;
use crate::text::emulator::keys::BadKeys;
use crate::tools::{Caller, Toolbox};

use super::{Attempt, Folder, Permit, Request, Uses, texts};

/// The size of the model's terminals.
pub(super) const USUAL_SIZE: Size = Size {
    columns: limits::SIZE.0,
    rows: limits::SIZE.1,
};

/// A terminal that a person wants.
#[derive(Clone, Copy, Debug)]
pub struct TypedTerminal<'a> {
    /// The argument of `sh -c`; empty for the shell with which the account logs in.
    pub line: &'a str,
    /// Whether it is to run outside the sandbox, which the person has to allow.
    pub unsandboxed: bool,
    /// What the person is told in.
    pub language: Language,
    /// Its size.
    pub size: Size,
}

/// An open terminal.
pub struct OpenTerminal {
    /// The terminal with its command.
    pub terminal: Terminal,
    /// Where its end is recorded.
    pub entry: Entry,
}

/// Shells that are there, where the account's own is none: that of a service, for one.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/ash"];

/// The shell of a terminal for which no command was typed.
fn usual_shell() -> String {
    let is_there = |shell: &&&str| Path::new(shell).exists();
    let other = || SHELLS.iter().find(is_there).unwrap_or(&"/bin/sh");
    login_shell(own_user()).unwrap_or_else(|| (*other()).to_owned())
}

impl Toolbox {
    /// Opens a terminal for a person, in the workspace: by the same rules and in the same sandbox as commands.
    pub fn terminal(
        &self,
        typed: TypedTerminal<'_>,
        caller: &Caller<'_>,
    ) -> Result<Attempt<Box<OpenTerminal>>> {
        let commands = self
            .commands
            .as_ref()
            .ok_or_else(|| Error::Failed(texts::turned_off(typed.language).to_owned()))?;
        let command = match typed.line.trim() {
            "" => usual_shell(),
            line => line.to_owned(),
        };
        let mut request = Request {
            command,
            folder: Folder::at(self.workspace.path())?,
            unsandboxed: typed.unsandboxed,
            reason: String::new(),
            typed_in: Some(typed.language),
            is_background: true,
            is_in_own_shell: false,
            on_terminal: true,
            uses: Uses::default(),
            held: None,
        };
        let entry = match commands.permit(&mut request, caller)? {
            Permit::Run(entry) => entry,
            Permit::Ask(question) => return Ok(Attempt::Ask(question)),
        };
        if caller.role < Role::Owner {
            return Err(Error::Failed(texts::denied(typed.language).to_owned()));
        }
        let terminal = commands.exec.open_terminal(
            &TerminalRequest {
                command: request.shell_command(),
                size: typed.size,
            },
            caller.cancel,
        );
        Ok(Attempt::Done(Box::new(OpenTerminal {
            terminal: terminal.inspect_err(|error| entry.end(&error.to_string()))?,
            entry,
        })))
    }
}

/// Why the model's keys cannot be pressed.
pub(super) fn bad_keys(bad: BadKeys) -> Error {
    Error::Failed(match bad {
        BadKeys::Missing => "input has no keys, such as ctrl-x y \"word\" enter".to_owned(),
        BadKeys::Unknown(word) => format!(
            "{word:?} is not a key: names are enter tab esc space backspace delete up down left right home end pgup pgdn \
             f1 ctrl-x alt-x; texts are in quotes"
        ),
        BadKeys::Unclosed => "a quotation mark in input is not closed".to_owned(),
        BadKeys::TooMany => format!("input has more than {} keys", limits::KEYS_MAX),
    })
}
