//! Slash commands in a chat, answered without the model. The table of all commands is the agent's
//! (`agent::commands`); here is what a chat has beside the terminal's.

mod shell;

use std::fmt::Write;
use std::sync::Arc;

use super::host::Work;
use super::scheduler::{Reason, Stopped};
use super::{Gateway, spawn};
use crate::agent::commands::{self, Command, Invocation, Slash, Surface, describe_ended};
use crate::approval::Answer;
use crate::bus::Event;
use crate::channels::delivery::render_outcome;
use crate::channels::texts::welcome;
use crate::error::{Error, Result};
use crate::language::Language;
use crate::limits::gateway::{COMMANDS_MAX, REFUSED_CHARS, WAITING_MAX};
use crate::markup::inline_code;
use crate::message::{Address, Envelope, OutgoingMessage};
use crate::text::{count_of, truncate_chars};

/// Every command of a chat with its description, for the channels' menus.
pub fn menu() -> impl Iterator<Item = (&'static str, &'static str)> {
    commands::list_commands(Surface::Chat)
        .map(|listed| (listed.name, (listed.help)(Language::English)))
}

impl Gateway {
    /// Answers a command on the loop.
    pub(super) fn answer_command(&self, message: &Envelope) {
        let Some(command) = commands::typed_command(message) else {
            return;
        };
        let answer = self.answer_to(message, command);
        self.finish_command(message, &answer.unwrap_or_else(|error| sentence(&error)));
    }

    /// Ends the background commands of a chat in which the rest was stopped, and answers the `/stop`:
    /// on a thread, because a command can take a while to be gone.
    pub(super) fn answer_stop(self: &Arc<Self>, message: Envelope, count: Stopped) {
        let (gateway, stop) = (Arc::clone(self), message.clone());
        let spawned = spawn("stop", move || {
            let ended = gateway.parts.agent.end_background(&stop.session);
            gateway.finish_command(
                &stop,
                &describe_stop(count, &describe_ended(&ended, stop.language())),
            );
        });
        if let Err(error) = spawned {
            let note = format!("Background commands may still run: {error}.");
            self.finish_command(&message, &describe_stop(count, &note));
        }
    }

    /// Runs a command on a thread: one that takes long, or that has its conversation to itself.
    pub(super) fn run_command(self: &Arc<Self>, work: &Work, message: &Envelope) {
        match commands::typed_command(message) {
            Some(command) if command.slash == Slash::Sh => {
                self.shell(message, command.argument, &work.cancel);
            }
            Some(command) => {
                let answer = self.answer_to(message, command);
                self.finish_command(message, &answer.unwrap_or_else(|error| sentence(&error)));
            }
            None => {}
        }
        let (work, unread) = (work.id, Vec::new());
        self.events.send(Event::Finished { work, unread });
    }

    /// Tells people that their messages were not accepted, and forgets these.
    pub(super) fn refuse(&self, messages: &[Envelope], more: usize, reason: Reason) {
        let Some(first) = messages.first() else {
            return;
        };
        let to = first.address();
        tracing::warn!(chat = %to, count = messages.len() + more, "messages refused: {reason:?}");
        self.tell(&to, &describe_refusal(messages, more, reason));
        for message in messages {
            self.parts.inbox.taken(&message.id);
        }
    }

    /// Stores a command's answer, and forgets the command: also where the answer could not be stored,
    /// else every start would run it again, and /restart for ever.
    fn finish_command(&self, message: &Envelope, answer: &str) {
        let to = message.address();
        let reply = OutgoingMessage {
            reply_to: message.reference.clone(),
            ..OutgoingMessage::text(&to, answer)
        };
        if let Err(error) = self.enqueue(reply, None) {
            tracing::error!(chat = %to, "failed to store the answer to a command: {error}");
            if let Some(delivery) = self.delivery(&to) {
                delivery.tell(&to, answer);
            }
        }
        self.parts.inbox.taken(&message.id);
    }

    fn answer_to(&self, message: &Envelope, command: Command<'_>) -> Result<String> {
        let to = message.address();
        Ok(match command.slash {
            Slash::Start => format!(
                "I'm Peacrab, and I live on this board. Write to me, or use a command:\n\n{}",
                commands::format_help(Surface::Chat, message.language())
            ),
            Slash::Help => commands::format_help(Surface::Chat, message.language()),
            Slash::Approve => self.approve(&to, command.argument)?,
            Slash::Deny => self.settle(&to, command.argument, Answer::Deny)?,
            Slash::Id => describe_ids(message),
            Slash::Pair => self.pair(command.argument)?,
            Slash::Restart => "Restarting… running work will continue afterwards.".to_owned(),
            _ => {
                let agent = &self.parts.agent;
                let (key, folder) = (&message.session, &self.parts.sessions);
                let session = || self.open(key, &to).map(Box::new);
                let invocation = Invocation {
                    key,
                    command,
                    language: message.language(),
                    folder,
                };
                match agent.answer_command(&invocation, session)? {
                    Some(text) if command.slash == Slash::Status => self.status(&text),
                    Some(text) => text,
                    None => {
                        commands::unknown_command(command.word, Surface::Chat, message.language())
                    }
                }
            }
        })
    }

    fn approve(&self, to: &Address, argument: &str) -> Result<String> {
        let (number, answer) = match argument.strip_suffix("always") {
            Some(number) => (number, Answer::Always),
            None => (argument, Answer::Once),
        };
        self.settle(to, number, answer)
    }

    /// Answers a pending approval of this chat.
    fn settle(&self, to: &Address, number: &str, answer: Answer) -> Result<String> {
        let number = match number.trim() {
            "" => None,
            text => Some(text.parse().map_err(|_| {
                Error::Usage(format!(
                    "{text:?} is not the number of an approval. You find the number at the end of the question."
                ))
            })?),
        };
        if self.approvals.answer(to, number, answer) {
            return Ok(render_outcome(answer).to_owned());
        }
        let open: Vec<String> = self.approvals.of(to).iter().map(u64::to_string).collect();
        Ok(match open.as_slice() {
            [] => "Nothing is waiting for approval here.".to_owned(),
            open => format!("Which one? Waiting for approval: {}.", open.join(", ")),
        })
    }

    /// Gives somebody access who has this pairing code.
    pub(super) fn pair(&self, code: &str) -> Result<String> {
        if code.is_empty() {
            return Err(Error::Usage(
                "Add the code that the other person got, for example /pair ABCD2345".to_owned(),
            ));
        }
        let paired = self.parts.pairing.confirm(code)?;
        let (id, name) = (&paired.sender.id, &paired.sender.name);
        let of_person = || Address::new(&paired.channel, id);
        let welcome = welcome(paired.sender.language);
        self.tell(&paired.chat.clone().unwrap_or_else(of_person), welcome);
        // As code, a name is neither markup nor a link.
        let (name, id) = (inline_code(name), inline_code(id));
        Ok(format!(
            "{name} ({id}) is now paired on {}.",
            paired.channel
        ))
    }

    /// The status of the conversation, the gateway and the machine.
    fn status(&self, of_the_agent: &str) -> String {
        let mut text = String::from("**Agent**\n");
        for line in of_the_agent.lines() {
            let _ = writeln!(text, "- {line}");
        }
        let (gateway, board) = (self.figures(), self.parts.board.status_text());
        let _ = write!(text, "\n**Gateway**: {gateway}\n\n{board}");
        text
    }

    /// The gateway in a line.
    pub(super) fn figures(&self) -> String {
        let load = *self.load.lock();
        let uptime = format_minutes(self.since.elapsed().as_secs() / 60);
        let unsent = self.parts.outbox.count();
        let (running, waiting) = (load.running, load.waiting);
        format!("running for {uptime} · {running} active · {waiting} waiting · {unsent} unsent")
    }
}

/// An error as a sentence, for a chat.
pub(super) fn sentence(error: &Error) -> String {
    let text = error.to_string();
    let mut sentence = capitalize(&text);
    if !text.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// `background` is a sentence about background commands; empty when there were none.
fn describe_stop(count: Stopped, background: &str) -> String {
    let Stopped {
        turns,
        commands,
        messages,
    } = count;
    let mut parts = Vec::new();
    if turns > 0 {
        parts.push(format!("{} cancelled", count_of(turns, "reply", "replies")));
    }
    if commands > 0 {
        parts.push(format!(
            "{} ended",
            count_of(commands, "command", "commands")
        ));
    }
    if messages > 0 {
        let messages = count_of(messages, "queued message", "queued messages");
        parts.push(format!("{messages} dropped"));
    }
    let parts = match parts.is_empty() {
        true => String::new(),
        false => format!(" {}.", capitalize(&parts.join(", "))),
    };
    match (parts.as_str(), background) {
        ("", "") => "Nothing is running here.".to_owned(),
        (parts, "") => format!("Stopped.{parts}"),
        (parts, background) => format!("Stopped.{parts} {background}"),
    }
}

/// Says which messages were not accepted, by the beginning of each, and how many more.
fn describe_refusal(messages: &[Envelope], more: usize, reason: Reason) -> String {
    let why = match reason {
        Reason::QueueFull => {
            format!("{WAITING_MAX} messages are waiting here already. /stop clears them.")
        }
        Reason::TooManyCommands => format!("{COMMANDS_MAX} commands are running already."),
        Reason::Edited => "An edited message does not answer a question.".to_owned(),
    };
    let names = messages.iter().map(|message| {
        let first = message.text.lines().next().unwrap_or_default();
        inline_code(truncate_chars(first, REFUSED_CHARS))
    });
    let mut names = names.collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(names, " and {more} more");
    }
    format!("Not accepted: {names}. {why} Please send it again later.")
}

fn describe_ids(message: &Envelope) -> String {
    let chat = format!("This chat: `{}`", message.address());
    match message.sender() {
        Some(sender) => {
            format!("{chat}\nYou: `{}` {}", sender.id, inline_code(&sender.name))
        }
        None => chat,
    }
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

fn format_minutes(minutes: u64) -> String {
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_as_a_sentence() {
        let told = |text: &str| sentence(&Error::Failed(text.to_owned()));
        assert_eq!(told("éa is gone"), "Éa is gone.");
        assert_eq!(told("Why?"), "Why?");
    }

    #[test]
    fn a_time_is_told_in_two_units() {
        assert_eq!(format_minutes(59), "59 min");
        assert_eq!(format_minutes(61), "1 h 1 min");
        assert_eq!(format_minutes(24 * 60 * 3 + 60), "3 d 1 h");
    }

    #[test]
    fn a_stop_says_what_it_stopped() {
        let count = Stopped {
            turns: 1,
            commands: 0,
            messages: 2,
        };
        let told = "Stopped. 1 reply cancelled, 2 queued messages dropped.";
        assert_eq!(describe_stop(count, ""), told);
        let none = Stopped::default();
        assert_eq!(describe_stop(none, ""), "Nothing is running here.");
        let commands = vec!["sleep 600".to_owned(), "make\u{202e}".to_owned()];
        assert_eq!(
            describe_stop(none, &describe_ended(&commands, Language::English)),
            "Stopped. 2 background commands were ended: `sleep 600`, `make\\u{202e}`."
        );
        let many = vec!["x".repeat(100); 7];
        let told = describe_stop(count, &describe_ended(&many, Language::English));
        assert!(
            told.contains("dropped. 7 background") && told.ends_with("…` and 2 more."),
            "{told}"
        );
    }

    #[test]
    fn refused_messages_are_named() {
        let address = Address::new("telegram", "1");
        let message = |text: &str| Envelope::written(&address, Default::default(), text);
        let told = describe_refusal(
            &[message("/sh ls"), message("b\nc")],
            0,
            Reason::TooManyCommands,
        );
        assert!(
            told.starts_with("Not accepted: `/sh ls`, `b`. 8 commands"),
            "{told}"
        );
        let told = describe_refusal(&[message("x")], 3, Reason::QueueFull);
        assert!(told.starts_with("Not accepted: `x` and 3 more. "), "{told}");
    }
}
