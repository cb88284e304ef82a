//! `/sh`: the remote terminal. It works when no model can be reached.

use std::sync::Arc;

use super::texts::{self, format_error};
use crate::approval::Answer;
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::gateway::Gateway;
use crate::gateway::approvals::Asker;
use crate::gateway::host::long_turn;
use crate::language::Language;
use crate::limits::gateway::SHOWN_OUTPUT_BYTES;
use crate::markup::{self, inline_code};
use crate::message::{Address, DraftKey, Envelope, OutgoingMessage};
use crate::tools::Caller;
use crate::tools::commands::{Shell, ShellResult, TypedCommand};

impl Gateway {
    /// Runs a command, shows its output as it comes, and stores the outcome for delivery: one message
    /// for each command.
    pub(in crate::gateway) fn shell(
        self: &Arc<Self>,
        message: &Envelope,
        argument: &str,
        cancel: &Cancel,
    ) {
        let (to, draft) = (message.address(), DraftKey::command(&message.id));
        let watch = Stopwatch::start();
        if let Some(delivery) = self.delivery(&to) {
            delivery.working(&draft, &to);
        }
        let outcome = self
            .try_shell(message, argument, &draft, cancel)
            .unwrap_or_else(|error| {
                OutgoingMessage::text(&to, format_error(&error, message.language()))
            });
        let outcome = OutgoingMessage {
            reply_to: message.reference.clone(),
            // An edit would make no sound.
            replaces: Some(draft.clone()).filter(|_| watch.elapsed() < long_turn()),
            ..outcome
        };
        let text = outcome.text.clone();
        if let Err(error) = self.enqueue(outcome, None) {
            tracing::error!(chat = %to, "failed to store a command's output: {error}");
            if let Some(delivery) = self.delivery(&to) {
                delivery.tell(&to, &text);
            }
        }
        self.parts.inbox.taken(&message.id);
        if let Some(delivery) = self.delivery(&to) {
            delivery.resting(&draft);
        }
    }

    fn try_shell(
        self: &Arc<Self>,
        message: &Envelope,
        argument: &str,
        draft: &DraftKey,
        cancel: &Cancel,
    ) -> Result<OutgoingMessage> {
        let (is_unsandboxed, line) = match argument.strip_prefix('!') {
            Some(line) => (true, line.trim()),
            None => (false, argument),
        };
        if line.is_empty() {
            let text = texts::command_missing(message.language());
            return Err(Error::Usage(text.to_owned()));
        }
        // From here on it does not run again: a kill leaves it with an unknown outcome.
        self.parts.inbox.begin(&message.id)?;
        let to = message.address();
        let mut tail = Tail::new(self, message, draft);
        let hosted = self.agent_for(&self.live(), &message.session, Some(message));
        let agent = hosted.agent()?;
        let toolbox = agent.toolbox();
        let typed = TypedCommand {
            line,
            unsandboxed: is_unsandboxed,
            language: message.language(),
        };
        let caller = Caller {
            session: message.session.as_str(),
            role: message.role,
            message: &message.id,
            cancel,
            answer: None,
            progress: None,
            input: None,
            without: &[],
        };
        let mut push = |bytes: &[u8]| tail.push(bytes);
        let mut shell = toolbox.shell(typed, &caller, &mut push)?;
        if let Shell::Ask(question) = shell {
            let answer = match question.is_standing {
                true => Answer::Standing,
                false => {
                    let asker = Asker {
                        hosted: &hosted,
                        session: &message.session,
                        to: &to,
                        language: typed.language,
                    };
                    self.ask(&asker, &question, cancel)
                }
            };
            let caller = Caller {
                answer: Some((&question, answer)),
                ..caller
            };
            shell = toolbox.shell(typed, &caller, &mut push)?;
        }
        let Shell::Ran(ran) = shell else {
            let text = texts::command_changed(message.language());
            return Err(Error::Failed(text.to_owned()));
        };
        let mut outcome = format_output(&to, ran, message.language());
        for file in &mut outcome.files {
            *file = hosted.absolute(file);
        }
        Ok(outcome)
    }
}

/// What a command came to, as a message for a chat. The path of its file is relative to the workspace.
pub fn format_output(to: &Address, ran: ShellResult, language: Language) -> OutgoingMessage {
    let output = ran.output.trim_end();
    let mut text = match (output.is_empty(), ran.is_success) {
        (true, true) => texts::no_output(language).to_owned(),
        (true, false) => String::new(),
        (false, _) => markup::code_block(output, ""),
    };
    if !ran.is_success {
        text.push_str(&format!("\n{}", inline_code(&ran.end)));
    }
    if ran.file.is_some() {
        text.push('\n');
        text.push_str(texts::output_in_file(language));
    }
    OutgoingMessage {
        files: ran.file.into_iter().collect(),
        ..OutgoingMessage::text(to, text)
    }
}

/// The end of a running command's output, shown as it comes.
struct Tail<'a> {
    gateway: &'a Gateway,
    to: Address,
    draft: &'a DraftKey,
    reply_to: &'a str,
    bytes: Vec<u8>,
    is_fresh: bool,
    shown: Stopwatch,
}

impl<'a> Tail<'a> {
    fn new(gateway: &'a Gateway, message: &'a Envelope, draft: &'a DraftKey) -> Self {
        Self {
            gateway,
            to: message.address(),
            draft,
            reply_to: &message.reference,
            bytes: Vec::new(),
            is_fresh: false,
            shown: Stopwatch::start(),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.is_fresh |= !bytes.is_empty();
        self.bytes.extend_from_slice(bytes);
        let over = self.bytes.len().saturating_sub(SHOWN_OUTPUT_BYTES);
        self.bytes.drain(..over);
        let interval = self.gateway.display_settings(&self.to).interval;
        if self.is_fresh && self.shown.elapsed() >= interval {
            self.is_fresh = false;
            self.shown = Stopwatch::start();
            let output = String::from_utf8_lossy(&self.bytes);
            let live = self.gateway.live();
            let output = live.agents.default_agent().toolbox().cleaned(&output);
            if let Some(delivery) = self.gateway.delivery(&self.to) {
                let text = markup::code_block(&output, "");
                delivery.draft(self.draft, &self.to, text, self.reply_to);
            }
        }
    }
}
