//! `/sh`: the remote terminal. It works when no model can be reached.

use std::sync::Arc;

use crate::agent::commands;
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::gateway::Gateway;
use crate::gateway::typed::sentence;
use crate::markup::{self, inline_code};

use crate::limits::gateway::SHOWN_OUTPUT_BYTES;
use crate::message::{Address, Envelope, Outbound, OutgoingMessage};
use crate::tools::Caller;
use crate::tools::commands::shell::{Ran, Shell};

impl Gateway {
    /// Runs a typed command, shows its output as it comes, and owes it when it has ended.
    pub(in crate::gateway) fn shell(self: &Arc<Self>, message: &Envelope, cancel: &Cancel) {
        let parcel = self
            .try_shell(message, cancel)
            .unwrap_or_else(|error| OutgoingMessage::text(&message.address(), sentence(&error)));
        let parcel = OutgoingMessage {
            reply_to: message.reference.clone(),
            ..parcel
        };
        let text = parcel.text.clone();
        if let Err(error) = self.owe(parcel, None) {
            tracing::error!(chat = %message.address(), "a command's output cannot be kept: {error}");
            self.show(Outbound::Draft {
                chat: message.address(),
                text,
                reply_to: message.reference.clone(),
            });
        }
        self.inbox().taken(&message.id);
    }

    fn try_shell(self: &Arc<Self>, message: &Envelope, cancel: &Cancel) -> Result<OutgoingMessage> {
        let argument = commands::parse(&message.text).map_or("", |command| command.argument);
        let (lifted, line) = match argument.strip_prefix('!') {
            Some(line) => (true, line.trim()),
            None => (false, argument),
        };
        if line.is_empty() {
            return Err(Error::Usage(
                "/sh wants a command, such as /sh df -h".to_owned(),
            ));
        }
        // From here on it is not run again: a kill leaves it with an unknown outcome.
        self.inbox().begin(&message.id)?;
        let chat = &message.address();
        // Where a turn shows its draft already, the output comes as a message of its own.
        let has_screen = !self.lanes().is_running(chat);
        let mut tail = Tail::new(self, message, has_screen);
        let session = chat.to_string();
        let toolbox = self.parts.agent.toolbox();
        let caller = Caller {
            session: &session,
            cancel,
            answer: None,
        };
        let mut shell = toolbox.shell(line, lifted, &caller, &mut |bytes| tail.push(bytes))?;
        if let Shell::Ask(question) = shell {
            let answer = self.ask(chat, &question, cancel);
            let caller = Caller {
                answer: Some((&question, answer)),
                ..caller
            };
            shell = toolbox.shell(line, lifted, &caller, &mut |bytes| tail.push(bytes))?;
        }
        let Shell::Ran(ran) = shell else {
            return Err(Error::Failed(
                "the command was not run: it changed while it was asked about".to_owned(),
            ));
        };
        Ok(parcel_of(chat, ran, has_screen))
    }
}

fn parcel_of(chat: &Address, ran: Ran, replaces_draft: bool) -> OutgoingMessage {
    let output = ran.output.trim_end();
    let mut text = match (output.is_empty(), ran.is_success) {
        (true, true) => "Done, without output.".to_owned(),
        (true, false) => String::new(),
        (false, _) => markup::code_block(output, ""),
    };
    if !ran.is_success {
        text.push_str(&format!("\n{}", inline_code(&ran.end)));
    }
    if ran.file.is_some() {
        text.push_str("\nThe beginning is left out here; the whole is in the file.");
    }
    OutgoingMessage {
        files: ran.file.into_iter().collect(),
        replaces_draft,
        ..OutgoingMessage::text(chat, text)
    }
}

/// The end of a running command's output, shown as it comes.
struct Tail<'a> {
    gateway: &'a Gateway,
    message: &'a Envelope,
    is_shown: bool,
    bytes: Vec<u8>,
    is_fresh: bool,
    shown: Stopwatch,
}

impl<'a> Tail<'a> {
    fn new(gateway: &'a Gateway, message: &'a Envelope, is_shown: bool) -> Self {
        Self {
            gateway,
            message,
            is_shown,
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
        let interval = self.gateway.shows().interval;
        if self.is_shown && self.is_fresh && self.shown.elapsed() >= interval {
            self.is_fresh = false;
            self.shown = Stopwatch::start();
            let output = String::from_utf8_lossy(&self.bytes);
            let output = self.gateway.parts.agent.toolbox().cleaned(&output);
            self.gateway.show(Outbound::Draft {
                chat: self.message.address(),
                text: markup::code_block(&output, ""),
                reply_to: self.message.reference.clone(),
            });
        }
    }
}
