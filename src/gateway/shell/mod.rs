//! The shells of chats, as people see them: `/sh`, the prompt, what a command writes while it runs, the way to
//! its input, and what was typed before. It works when no model can be reached.

mod recall;
mod running;
mod screen;
pub mod texts;

use std::sync::Arc;

use super::Gateway;
use super::commands::texts as answers;
use super::commands::{Call, IN, ParsedMessage, least_role, with_command};
use super::host::long_turn;
use crate::agent::commands::CommandAnswer;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Address, CommandButton, DraftKey, Envelope, OutgoingMessage};
use crate::store::state::chats::shells::History;
use crate::text::ellipsize_chars;
use crate::text::markup::{self, inline_code};
use crate::tools::commands::{Attached, Attempt, ShellResult, TypedCommand};

use recall::Typed;
use running::Running;
pub use running::{Begun, RunningCommands};

/// Characters of a command in the line of its prompt.
const PROMPT_CHARS: usize = 400;

/// Characters of each.
const PROCESS_CHARS: usize = 80;
/// Commands that `/history` shows unless it names a number.
const HISTORY_SHOWN: usize = 20;

impl Gateway {
    /// Runs a command, shows its output as it comes, and stores the outcome for delivery: one message
    /// for each command.
    pub(in crate::gateway) fn shell(self: &Arc<Self>, call: &Call<'_>) {
        let message = call.message;
        let (to, draft) = (message.address(), DraftKey::command(&message.id));
        let Some(running) = self.commands.begin(message) else {
            return;
        };
        let watch = Stopwatch::start();
        if let Some(delivery) = self.delivery(&to) {
            delivery.working(&draft, &to);
        }
        let outcome = match self.try_shell(call, &running) {
            Err(_) if self.approvals.says_refusal(&message.id) => None,
            outcome => Some(outcome.unwrap_or_else(|error| {
                let text = answers::format_error(&error, message.language());
                OutgoingMessage::text(&to, text)
            })),
        };
        let is_input_unused = running.input.is_unused();
        drop(running);
        let outcome = outcome.map(|outcome| OutgoingMessage {
            reply_to: message.reference.clone(),
            // An edit would make no sound.
            replaces: Some(draft.clone()).filter(|_| watch.elapsed() < long_turn()),
            only_for: message.only_for().to_owned(),
            ..outcome
        });
        if let Some(outcome) = outcome {
            let text = outcome.text.clone();
            if let Err(error) = self.enqueue(outcome, None) {
                tracing::error!(chat = %to, "failed to store a command's output: {error}");
                self.tell_at_once(&to, &with_command(message, &text));
            }
        }
        if is_input_unused {
            self.tell(&to, texts::takes_no_input(message.language()));
        }
        self.parts.inbox.taken(&message.id);
        if let Some(delivery) = self.delivery(&to) {
            delivery.resting(&draft);
        }
    }

    fn try_shell(
        self: &Arc<Self>,
        call: &Call<'_>,
        running: &Begun<'_>,
    ) -> Result<OutgoingMessage> {
        let Call {
            message,
            argument,
            language,
            cancel,
        } = *call;
        let hosted = self.agent_for(&self.live(), &message.session, Some(message));
        let agent = hosted.agent()?;
        let toolbox = agent.toolbox();
        let session = message.session.as_str();
        let history = || toolbox.typed_lines(session);
        let (line, unsandboxed) = read_line(argument, history, language)?;
        let to = message.address();
        let typed = TypedCommand {
            line: &line,
            unsandboxed,
            language,
        };
        if let Some(program) = screen::needed_by(&line) {
            return Ok(offer_terminal(&to, &program, typed));
        }
        if screen::follows_journal(&line) && toolbox.hides(&typed, &screen::JOURNALS) {
            return Ok(offer_board(&to, typed));
        }
        // From here on it does not run again: a kill leaves it with an unknown outcome.
        self.parts.inbox.begin(&message.id)?;
        toolbox.remember_line(session, &line);
        running.set_line(&line);
        let mut watch = |watched: crate::tools::commands::Watched<'_>| {
            if let Some(text) = running.watch(watched, self.display_settings(&to).interval) {
                self.show(running, message, &text);
            }
        };
        let input = &running.input;
        let ran = self.run_typed(message, &hosted, cancel, |caller| {
            let watch = &mut watch;
            let attempt = toolbox.type_line(typed, caller, Attached { input, watch })?;
            // It may never run, and what was meant for it is for no other.
            if matches!(attempt, Attempt::Ask(_)) && running.input.refuse() {
                self.tell(&to, texts::takes_no_input(language));
            }
            Ok(attempt)
        })?;
        self.commands
            .ended(running, self.shown_by(&to, &running.draft));
        let again = ran.needs_more.then(|| {
            let number = recall::number_of(&toolbox.typed_lines(session), &line);
            recall::on_the_board(&line, number)
        });
        let again = again.flatten();
        let mut outcome = format_typed(&to, &line, ran, (again.is_some(), language));
        if let Some(command) = again {
            let label = texts::run_on_board(language).to_owned();
            outcome.command_buttons = vec![vec![CommandButton { label, command }]];
        }
        for file in &mut outcome.files {
            *file = hosted.absolute(file);
        }
        Ok(outcome)
    }

    /// The message that shows a command.
    fn shown_by(&self, to: &Address, draft: &DraftKey) -> Vec<String> {
        let delivery = self.delivery(to);
        delivery.map_or_else(Vec::new, |delivery| delivery.shown_by(draft))
    }

    /// Shows what a command has written so far.
    fn show(&self, running: &Running, message: &Envelope, text: &str) {
        let to = &message.address();
        let live = self.live();
        let text = live.agents.default_agent().toolbox().cleaned(text);
        if let Some(delivery) = self.delivery(to) {
            let text = markup::code_block(&text, "");
            let about = (message.reference.as_str(), message.only_for());
            delivery.draft_for(&running.draft, to, text, about);
        }
    }

    /// Answers `/in`: the text goes to the command of this chat that was started last and reads, which then answers.
    pub(in crate::gateway) fn answer_in(self: &Arc<Self>, call: &Call<'_>) {
        let reading = self.commands.reading_in(&call.message.session);
        let written = reading.map_or(Ok(false), |running| match call.argument {
            "^D" | "^d" => Ok(running.input.close()),
            text => running.input.send(&format!("{text}\n")),
        });
        match written {
            Ok(true) => self.parts.inbox.taken(&call.message.id),
            Ok(false) => {
                let text = texts::nothing_reads(call.language).to_owned();
                self.finish_with(call.message, Err::<String, _>(Error::Usage(text)));
            }
            Err(error) => self.finish_with(call.message, Err::<String, _>(error)),
        }
    }

    /// Takes a reply to a running command's message, or to the message that started it, as its input. Only of
    /// the person who started it, as long as they may write to it.
    pub(in crate::gateway) fn take_reply(self: &Arc<Self>, message: &ParsedMessage) -> bool {
        let has_files = !message.remote_files.is_empty() || !message.attachments.is_empty();
        if message.replies_to.is_empty() || has_files || message.is_relayed {
            return false;
        }
        if message.role < least_role(IN, message.is_group) {
            return false;
        }
        let Some(sender) = message.sender() else {
            return false;
        };
        if message.command().is_some() {
            return false;
        }
        let to = message.address();
        let target = message.replies_to.as_str();
        let found = self.commands.find(&message.session, |running| {
            running.sender == sender.id
                && (running.reference == target
                    || self
                        .shown_by(&to, &running.draft)
                        .iter()
                        .any(|shown| shown == target))
        });
        let language = message.language();
        let Some(running) = found else {
            let session = &message.session;
            let is_late = self.commands.has_just_ended(session, &sender.id, target);
            if is_late {
                // It may be a password, which is not for a model.
                self.finish_later(message, texts::has_ended(language).to_owned());
            }
            return is_late;
        };
        // It is recorded before it is passed on. Inputs keep their order, also with those of /in.
        let message = Envelope::clone(message);
        self.later(move |gateway| {
            match running.input.send(&format!("{}\n", message.typed_text())) {
                Ok(true) => gateway.parts.inbox.taken(&message.id),
                Ok(false) => {
                    gateway.finish_command(&message, texts::takes_no_input(language).to_owned());
                }
                Err(error) => {
                    gateway.finish_command(&message, answers::format_error(&error, language));
                }
            }
        });
        true
    }

    /// Answers `/bg`: what runs in this chat, and what the shell's own background has written; with a number,
    /// what that command has written so far.
    pub(in crate::gateway) fn answer_bg(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let Call {
            message,
            argument,
            language,
            ..
        } = *call;
        let mut all = self.commands.all_in(&message.session);
        all.retain(|running| running.has_begun());
        if !argument.is_empty() {
            let number = argument.parse().ok();
            let found = all.iter().find(|running| Some(running.number) == number);
            let Some(running) = found else {
                return Err(Error::Usage(texts::bg_unknown(language).to_owned()));
            };
            let text = running.shown();
            self.show(running, message, &text);
            let line = inline_code(running.line());
            return Ok(texts::following(language, &running.number, &line).into());
        }
        let mut text = String::new();
        for running in &all {
            let minutes = running.since.elapsed().as_secs() / 60;
            let time = answers::format_minutes(minutes, language);
            let line = inline_code(&ellipsize_chars(running.line(), PROMPT_CHARS));
            text += &texts::bg_row(language, &running.number, &line, &time);
            text.push('\n');
        }
        let agent = self.live().agents.serving(message).agent()?;
        let background = agent
            .toolbox()
            .background(message.session.as_str(), language);
        let background = background.unwrap_or_default();
        if !background.processes.is_empty() {
            let names = background.processes.iter();
            let names: Vec<_> = names.map(|name| process_name(name)).collect();
            text += &texts::bg_in_shell(language, &names.join(answers::list_comma(language)));
            text.push('\n');
        }
        if !background.output.is_empty() {
            text += texts::bg_output(language);
            text.push('\n');
            text += &markup::code_block(&background.output, "");
        }
        if let Some(about) = background.about {
            text += &format!("\n_{about}_");
        }
        if text.is_empty() {
            text = texts::bg_none(language).to_owned();
        }
        Ok(CommandAnswer::private(text))
    }

    /// Answers `/history`: the last commands of this chat, or those with a word.
    pub(in crate::gateway) fn answer_history(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let Call {
            message,
            argument,
            language,
            ..
        } = *call;
        let agent = self.live().agents.serving(message).agent()?;
        let history = agent.toolbox().typed_lines(message.session.as_str());
        let total = history.lines.len();
        let count = argument.parse().ok();
        let count = count.filter(|count| (1..=total).contains(count));
        let contains = |line: &str| count.is_some() || line.contains(argument);
        let mut rows: Vec<String> = history
            .numbered()
            .rev()
            .filter(|(_, line)| contains(line))
            .take(count.unwrap_or(HISTORY_SHOWN))
            .map(|(number, line)| format!("{number:>4}  {}", line.replace('\n', "\n      ")))
            .collect();
        rows.reverse();
        let text = match rows.is_empty() {
            true if total > 0 => texts::history_without(language, &inline_code(argument)),
            true => texts::history_none(language).to_owned(),
            false => markup::code_block(&rows.join("\n"), "") + texts::history_how(language),
        };
        Ok(CommandAnswer::private(text))
    }
}

fn process_name(line: &str) -> String {
    inline_code(&ellipsize_chars(line, PROCESS_CHARS))
}

/// What a command came to, as a message for a chat. The path of its file is relative to the workspace.
pub fn format_output(to: &Address, ran: ShellResult, language: Language) -> OutgoingMessage {
    format_shown(to, "", ran, (false, language))
}

/// The same for one that was typed at a prompt, which is shown above what it wrote; with whether a button runs it on the
/// board.
fn format_typed(
    to: &Address,
    line: &str,
    ran: ShellResult,
    (has_button, language): (bool, Language),
) -> OutgoingMessage {
    let prompt = running::prompt_line(&ran.prompt, line);
    format_shown(to, &prompt, ran, (has_button, language))
}

/// The command that was typed or is recalled from the history, and whether it is to run outside the sandbox.
fn read_line(
    argument: &str,
    history: impl FnOnce() -> History,
    language: Language,
) -> Result<(String, bool)> {
    match recall::read(argument) {
        Typed::Nothing => Err(Error::Usage(answers::command_missing(language).to_owned())),
        Typed::Line { line, unsandboxed } => {
            Ok((recall::undo_dashes(line).into_owned(), unsandboxed))
        }
        Typed::Recall { which, unsandboxed } => match recall::find(&history(), which) {
            Some(line) => Ok((line.to_owned(), unsandboxed)),
            None => Err(Error::Usage(texts::not_in_history(language).to_owned())),
        },
    }
}

/// That a program needs a terminal, with a button that opens one with it.
fn offer_terminal(to: &Address, program: &str, typed: TypedCommand<'_>) -> OutgoingMessage {
    // The sandbox has no other rights to give.
    let is_outside = typed.unsandboxed
        || ["sudo ", "doas "]
            .iter()
            .any(|word| typed.line.starts_with(word));
    let command = recall::in_a_terminal(typed.line, is_outside);
    let button = command.map(|command| CommandButton {
        label: command.clone(),
        command,
    });
    OutgoingMessage {
        command_buttons: button.into_iter().map(|button| vec![button]).collect(),
        ..OutgoingMessage::text(
            to,
            texts::needs_terminal(typed.language, &inline_code(program)),
        )
    }
}

/// That a command would wait for what the sandbox does not show, with a button that runs it on the board.
fn offer_board(to: &Address, typed: TypedCommand<'_>) -> OutgoingMessage {
    let command = recall::on_the_board(typed.line, None);
    let button = command.map(|command| CommandButton {
        label: texts::run_on_board(typed.language).to_owned(),
        command,
    });
    let line = inline_code(&ellipsize_chars(typed.line, PROCESS_CHARS));
    OutgoingMessage {
        command_buttons: button.into_iter().map(|button| vec![button]).collect(),
        ..OutgoingMessage::text(to, texts::follows_unseen(typed.language, &line))
    }
}

fn format_shown(
    to: &Address,
    prompt: &str,
    ran: ShellResult,
    (has_button, language): (bool, Language),
) -> OutgoingMessage {
    let output = ran.output.trim_end();
    let parts = [ran.earlier.as_str(), prompt, output];
    let shown: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = match &ran.file {
        Some(_) => format!("{}\n", answers::output_in_file(language)),
        None => String::new(),
    };
    if !shown.is_empty() {
        text.push_str(&markup::code_block(&shown.join("\n"), ""));
    }
    if output.is_empty() && ran.is_success && !ran.has_ended_shell {
        text.push_str(answers::no_output(language));
    }
    if !ran.is_success {
        text.push_str(&format!("\n{}", inline_code(&ran.end)));
    }
    let mut add = |sentence: &str| {
        text.push('\n');
        text.push_str(sentence);
    };
    let end = match ran.is_success {
        true => "",
        false => ran.end.as_str(),
    };
    // The end has it already.
    let mut about = ran.about;
    about.retain(|sentence| !end.contains(sentence));
    for sentence in &about {
        add(&format!("_{sentence}_"));
    }
    if ran.needs_more && !has_button {
        add(&format!("_{}_", texts::on_the_board(language)));
    }
    OutgoingMessage {
        files: ran.file.into_iter().collect(),
        ..OutgoingMessage::text(to, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ran: ShellResult) -> String {
        let to = Address::new("telegram", "1");
        format_typed(&to, "ls", ran, (false, Language::English)).text
    }

    #[test]
    fn what_a_button_says_is_not_said_again() {
        let shown = |about: &str| {
            let ran = ShellResult {
                prompt: "~ $".to_owned(),
                output: "no".to_owned(),
                is_success: true,
                needs_more: true,
                about: vec![about.to_owned()],
                ..ShellResult::default()
            };
            let to = Address::new("telegram", "1");
            format_typed(&to, "ls", ran, (true, Language::English)).text
        };
        assert_eq!(
            shown("the sandbox shows only its own processes"),
            "```\n~ $ ls\nno\n```\n\n_the sandbox shows only its own processes_"
        );
    }

    #[test]
    fn an_answer_begins_with_the_prompt_and_ends_with_what_there_is_to_know() {
        let ran = |output: &str, is_success| ShellResult {
            prompt: "~ $".to_owned(),
            output: output.to_owned(),
            is_success,
            end: "exit status 2".to_owned(),
            ..ShellResult::default()
        };
        assert_eq!(shown(ran("a\nb\n", true)), "```\n~ $ ls\na\nb\n```\n");
        assert_eq!(shown(ran("", true)), "```\n~ $ ls\n```\nDone, no output.");
        let failed = ShellResult {
            needs_more: true,
            about: vec!["The shell has ended.".to_owned()],
            earlier: "job done".to_owned(),
            ..ran("no", false)
        };
        assert_eq!(
            shown(failed),
            "```\njob done\n~ $ ls\nno\n```\n\n`exit status 2`\n_The shell has ended._\n_`/sh! …` runs it on the \
             board itself._"
        );
        for why in [
            "the system is read-only in the sandbox",
            "the sandbox has no access to the system's services and logs",
        ] {
            let explained = ShellResult {
                needs_more: true,
                end: format!("exit status 100 ({why})"),
                about: vec![why.to_owned()],
                ..ran("no", false)
            };
            assert_eq!(
                shown(explained),
                format!(
                    "```\n~ $ ls\nno\n```\n\n`exit status 100 ({why})`\n_`/sh! …` runs it on the board \
                     itself._"
                )
            );
        }
    }
}
