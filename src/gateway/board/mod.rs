//! The commands about the board: plots, logs, services, processes, addresses, restarts, and commands of the
//! configuration. They work when no model can be reached. What changes something asks for a pressed button first.

mod machine;
mod own;
mod plot;
mod power;
mod services;
mod texts;
mod unit;

pub use own::own_menu;
pub(super) use power::tell_back;
pub(super) use services::is_following;

use std::sync::Arc;
use std::time::Duration;

use super::Gateway;
use super::commands::Call;
use super::commands::texts::format_error;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::board::SAMPLE_INTERVAL;
use crate::base::limits::channels::BUTTON_DATA_BYTES;
use crate::base::limits::gateway::SHOWN_OUTPUT_BYTES;
use crate::base::message::{CommandButton, DraftKey, Envelope, OutgoingMessage};
use crate::text::markup::{self, inline_code};
use crate::text::reveal_but;
use crate::tools::Caller;
use crate::tools::commands::{OwnerAction, ShellResult, Watched};

use power::Power;
use services::Confirmed;

/// How long a command that only looks may take.
const LOOK_TIME: Duration = Duration::from_secs(20);
/// How long a change of a service may take; systemd gives a service 90 s to start.
const CHANGE_TIME: Duration = Duration::from_secs(120);

/// How long a button can confirm something that changes the board, in seconds: pressed by mistake the day after
/// it does nothing.
const CONFIRM_SECONDS: i64 = 600;
/// The time in the button that refuses it, which no question was asked at.
const REFUSED: i64 = 0;
/// Buttons in a row.
const BUTTONS_IN_ROW: usize = 3;

/// What a command comes to.
#[derive(Default)]
pub struct Answer {
    text: String,
    buttons: Vec<Vec<CommandButton>>,
    /// Files to attach.
    files: Vec<String>,
    /// What is done once the message is sent.
    then: Option<Power>,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// A command that is being answered.
pub struct Asking<'a> {
    gateway: &'a Arc<Gateway>,
    message: &'a Envelope,
    argument: &'a str,
    language: Language,
    cancel: &'a Cancel,
    draft: &'a DraftKey,
}

/// Keeps the board's history, with the values of what is watched.
pub async fn keep(gateway: Arc<Gateway>) {
    let mut interval = tokio::time::interval(SAMPLE_INTERVAL);
    loop {
        interval.tick().await;
        gateway.later(|gateway| {
            let is_trusted = gateway.trust().is_trusted();
            let watched = gateway.parts.watches.values();
            if let Err(error) = gateway.parts.board.record(is_trusted, &watched) {
                tracing::warn!("failed to save the history of the board: {error}");
            }
        });
    }
}

impl Gateway {
    /// Answers a command about the board: one message, which replaces what was shown meanwhile.
    pub(super) fn answer_board(
        self: &Arc<Self>,
        call: &Call<'_>,
        answer: fn(&Asking<'_>) -> Result<Answer>,
    ) {
        let Call {
            message,
            argument,
            language,
            cancel,
        } = *call;
        let (to, draft) = (message.address(), DraftKey::command(&message.id));
        if let Some(delivery) = self.delivery(&to) {
            delivery.working(&draft, &to);
        }
        let asking = Asking {
            gateway: self,
            message,
            argument,
            language,
            cancel,
            draft: &draft,
        };
        let answer = answer(&asking);
        let answer = answer.unwrap_or_else(|error| format_error(&error, language).into());
        self.tell_with(OutgoingMessage {
            reply_to: message.reference.clone(),
            replaces: Some(draft.clone()),
            command_buttons: answer.buttons,
            files: answer.files,
            ..OutgoingMessage::text(&to, answer.text)
        });
        self.parts.inbox.taken(&message.id);
        if let Some(delivery) = self.delivery(&to) {
            delivery.resting(&draft);
        }
        if let Some(power) = answer.then {
            self.switch(power, message);
        }
    }
}

impl Asking<'_> {
    /// Whether something may be done now; an error when it is refused or its button is too old. The question says which
    /// button was pressed, and has none any more.
    fn check_confirmed(&self, confirmed: Confirmed, label: &str) -> Result<()> {
        let Confirmed::Pressed(at) = confirmed else {
            return Ok(());
        };
        if at == REFUSED {
            self.settle_question(Some(format!("✗ {}", texts::no(self.language))));
            return Err(Error::Usage(texts::refused(self.language).to_owned()));
        }
        let age = self.gateway.parts.board.now().saturating_sub(at);
        let is_fresh = age.unsigned_abs() <= CONFIRM_SECONDS.unsigned_abs();
        self.settle_question(is_fresh.then(|| format!("✓ {label}")));
        if !is_fresh {
            return Err(Error::Usage(
                texts::button_too_old(self.language).to_owned(),
            ));
        }
        Ok(())
    }

    /// Takes the buttons away from the question that was answered, and adds the answer.
    fn settle_question(&self, answer: Option<String>) {
        // A channel may not say what the message is: then it is left as it is.
        let pressed = self.message.pressed.as_ref();
        let Some(pressed) = pressed.filter(|pressed| !pressed.text.trim().is_empty()) else {
            return;
        };
        let said = markup::plain(&reveal_but(pressed.text.trim(), &["\n"]));
        let text = match answer {
            Some(answer) => format!("{said}\n{answer}"),
            None => said,
        };
        self.gateway.tell_with(OutgoingMessage {
            edits: pressed.id.clone(),
            ..OutgoingMessage::text(&self.message.address(), text)
        });
    }

    /// A question whose buttons type a command with a time. One that does not fit into a button is shown, so that it can
    /// be sent.
    fn confirm(
        &self,
        question: String,
        label: &str,
        command: impl Fn(i64) -> String,
        typed: &str,
    ) -> Answer {
        let pressed = command(self.gateway.parts.board.now());
        // Two bytes say that it is a command.
        if pressed.len() + 2 > BUTTON_DATA_BYTES {
            let typed = markup::code_block(typed, "");
            return texts::confirm_by_typing(self.language, &question, &typed).into();
        }
        Answer {
            text: question,
            buttons: vec![vec![
                button(label, pressed),
                button(texts::no(self.language), command(REFUSED)),
            ]],
            ..Answer::default()
        }
    }

    /// Notes that the command is not to be run again after a restart of the program.
    fn begin(&self) -> Result<()> {
        self.gateway.parts.inbox.begin(&self.message.id)
    }

    /// Runs a command line, and shows its output as it comes where `is_shown`.
    fn run(&self, action: OwnerAction<'_>, is_shown: bool) -> Result<ShellResult> {
        let gateway = self.gateway;
        let hosted = gateway.agent_for(&gateway.live(), &self.message.session, Some(self.message));
        let agent = hosted.agent()?;
        let caller = Caller::of(self.message, self.cancel);
        let mut tail = Tail {
            asking: self,
            bytes: Vec::new(),
            is_fresh: false,
            shown: Stopwatch::start(),
        };
        let mut watch = |bytes: &[u8]| {
            if is_shown {
                tail.push(bytes);
            }
        };
        let mut ran = agent.toolbox().act(action, &caller, &mut watch)?;
        ran.file = ran.file.map(|file| hosted.absolute(&file));
        Ok(ran)
    }

    /// Runs a fixed line that only reads on the board itself.
    fn look(&self, line: &str, time: Duration, is_shown: bool) -> Result<ShellResult> {
        let action = OwnerAction {
            line,
            unsandboxed: true,
            changes: false,
            configured: None,
            decision: "allowed: built in, it only reads",
            time: Some(time),
            language: self.language,
        };
        self.run(action, is_shown)
    }
}

/// An output as a message: the output as a block, and how it ended when that was not well.
fn describe_output(ran: ShellResult, empty: &str) -> Answer {
    let output = ran.output.trim_end();
    let mut text = match (output.is_empty(), ran.is_success) {
        (true, true) => empty.to_owned(),
        (true, false) => String::new(),
        (false, _) => markup::code_block(output, ""),
    };
    if !ran.is_success {
        text.push_str(&format!("\n{}", inline_code(&ran.end)));
    }
    Answer {
        text,
        files: ran.file.into_iter().collect(),
        ..Answer::default()
    }
}

fn button(label: &str, command: String) -> CommandButton {
    CommandButton {
        label: label.to_owned(),
        command,
    }
}

/// The button below a status.
pub(super) fn plot_buttons(language: Language) -> Vec<Vec<CommandButton>> {
    vec![vec![button(texts::plot(language), "/plot".to_owned())]]
}

/// Buttons in rows.
fn in_rows(buttons: Vec<CommandButton>) -> Vec<Vec<CommandButton>> {
    let rows = buttons.chunks(BUTTONS_IN_ROW);
    rows.map(<[CommandButton]>::to_vec).collect()
}

/// The end of a running command's output, shown as it comes.
struct Tail<'a> {
    asking: &'a Asking<'a>,
    bytes: Vec<u8>,
    is_fresh: bool,
    shown: Stopwatch,
}

impl Tail<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.is_fresh |= !bytes.is_empty();
        self.bytes.extend_from_slice(bytes);
        let over = self.bytes.len().saturating_sub(SHOWN_OUTPUT_BYTES);
        self.bytes.drain(..over);
        let (gateway, to) = (self.asking.gateway, self.asking.message.address());
        // What `/bg` lists can also be shown by it.
        let (session, draft) = (&self.asking.message.session, self.asking.draft);
        let running = gateway.commands.find(session, |one| one.draft == *draft);
        if let Some(running) = running {
            running.watch(Watched::Output(bytes), Duration::MAX);
        }
        if !self.is_fresh || self.shown.elapsed() < gateway.display_settings(&to).interval {
            return;
        }
        self.is_fresh = false;
        self.shown = Stopwatch::start();
        let output = String::from_utf8_lossy(&self.bytes);
        let live = gateway.live();
        let output = live.agents.default_agent().toolbox().cleaned(&output);
        if let Some(delivery) = gateway.delivery(&to) {
            let text = markup::code_block(&output, "");
            delivery.draft(self.asking.draft, &to, text, &self.asking.message.reference);
        }
    }
}
