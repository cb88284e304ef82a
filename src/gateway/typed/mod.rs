//! What a person types with a slash in a chat: answered by the program, without the model.

mod shell;

use std::fmt::Write;
use std::sync::Arc;

use super::{Gateway, Order};
use crate::agent::commands::{self, Command, Listed};
use crate::approval::Answer;
use crate::error::{Error, Result};
use crate::markup::inline_code;
use crate::message::{Address, Envelope, OutgoingMessage};

/// The commands that only a chat has, beside those of the agent.
pub const OF_THE_CHAT: [Listed; 7] = [
    (
        "sh",
        "runs a command without the model: /sh df -h; /sh !COMMAND asks to run it outside the sandbox",
    ),
    ("stop", "ends what is running here"),
    (
        "approve",
        "allows the command that is asked about: /approve [NUMBER] [always]",
    ),
    ("deny", "refuses it: /deny [NUMBER]"),
    ("pair", "lets somebody in who has got a code: /pair CODE"),
    ("id", "shows the ids of this chat and of you"),
    ("restart", "starts the program anew"),
];

/// Every command of a chat, for menus.
pub fn menu() -> impl Iterator<Item = Listed> {
    commands::COMMANDS.into_iter().chain(OF_THE_CHAT)
}

impl Gateway {
    /// Takes a typed command. What has to act at once does; the rest gets a thread.
    pub(super) fn command(self: &Arc<Self>, message: Envelope) {
        let Some(command) = commands::parse(&message.text) else {
            return;
        };
        match command.name {
            "sh" => self.spawn_command(message, Self::shell),
            "stop" | "approve" | "deny" | "id" | "help" | "start" => self.answer(&message),
            _ => self.spawn_command(message, |gateway, message, _| gateway.answer(message)),
        }
    }

    /// Answers a command, and then does not know it any more.
    fn answer(self: &Arc<Self>, message: &Envelope) {
        let Some(command) = commands::parse(&message.text) else {
            return;
        };
        let answer = self
            .answer_to(message, command)
            .unwrap_or_else(|error| sentence(&error));
        let parcel = OutgoingMessage {
            reply_to: message.reference.clone(),
            ..OutgoingMessage::text(&message.address(), answer)
        };
        if let Err(error) = self.owe(parcel, None) {
            tracing::error!(chat = %message.address(), "a command has no answer: {error}");
        }
        // Also without an answer: else every start would do it again, and /restart for ever.
        self.inbox().taken(&message.id);
        if command.name == "restart" {
            let _ = self.orders.try_send(Order::Restart);
        }
    }

    fn answer_to(self: &Arc<Self>, message: &Envelope, command: Command<'_>) -> Result<String> {
        let chat = &message.address();
        Ok(match command.name {
            "start" => format!(
                "I am Peacrab, and I live on this board. Write to me, or type a command:\n\n{}",
                commands::help(&OF_THE_CHAT)
            ),
            "help" => commands::help(&OF_THE_CHAT),
            "stop" => self.stop(chat),
            "approve" => self.approve(chat, command.argument)?,
            "deny" => self.settle(chat, command.argument, Answer::Deny)?,
            "id" => format!(
                "This chat: `{chat}`\nYou: `{}` {}",
                message.sender().map_or("", |sender| &sender.id),
                inline_code(&message.sender().map_or("", |sender| &sender.name))
            ),
            "pair" => self.pair(command.argument)?,
            "restart" => "Restarting. What runs here goes on afterwards.".to_owned(),
            "new" | "reset" | "clear" if self.lanes().is_running(chat) => {
                "A turn is running here. /stop ends it; then /new.".to_owned()
            }
            _ => match self.parts.agent.command(
                &chat.session(),
                command,
                &self.parts.sessions,
                || self.open(chat).map(Box::new),
            )? {
                Some(text) if command.name == "status" => self.status(&text),
                Some(text) => text,
                None => format!(
                    "There is no command /{}. /help lists those that there are.",
                    command.name
                ),
            },
        })
    }

    /// Stops a chat's work, and forgets what waits for it.
    fn stop(&self, chat: &Address) -> String {
        let waiting = self.lanes().interjections(chat);
        waiting
            .iter()
            .for_each(|message| self.inbox().taken(&message.id));
        let work = self.work();
        let mine = work.values().filter(|work| work.chat == *chat);
        let (commands, turns): (Vec<_>, Vec<_>) = mine.partition(|work| work.is_command);
        for work in commands.iter().chain(&turns) {
            work.cancel.cancel();
        }
        let counted = [
            (turns.len(), "turn"),
            (commands.len(), "command"),
            (waiting.len(), "waiting message"),
        ];
        let parts = counted.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| counted_words(count, what))
            .collect();
        match parts.as_slice() {
            [] => "Nothing is running here.".to_owned(),
            parts => format!("Stopped: {}.", parts.join(", ")),
        }
    }

    fn approve(&self, chat: &Address, argument: &str) -> Result<String> {
        let (number, answer) = match argument.strip_suffix("always") {
            Some(number) => (number, Answer::Always),
            None => (argument, Answer::Once),
        };
        self.settle(chat, number, answer)
    }

    /// Answers a question of this chat.
    fn settle(&self, chat: &Address, number: &str, answer: Answer) -> Result<String> {
        let number = match number.trim() {
            "" => None,
            text => Some(text.parse().map_err(|_| {
                Error::Usage(format!(
                    "{text:?} is no question's number; it stands in the question"
                ))
            })?),
        };
        if self.desk.answer(chat, number, answer) {
            return Ok(format!("The command is {answer}."));
        }
        let open: Vec<String> = self.desk.of(chat).iter().map(u64::to_string).collect();
        Ok(match open.as_slice() {
            [] => "No question is open here.".to_owned(),
            open => format!("Which one? Open questions: {}.", open.join(", ")),
        })
    }

    /// Lets a stranger in who has got this code.
    pub(super) fn pair(&self, code: &str) -> Result<String> {
        if code.is_empty() {
            return Err(Error::Usage(
                "/pair wants the code that the other person has got, such as /pair ABCD2345"
                    .to_owned(),
            ));
        }
        let paired = self.parts.pairing.confirm(code)?;
        let (id, name) = (&paired.sender.id, &paired.sender.name);
        self.say(
            &Address::new(&paired.channel, id),
            "You are paired: I am listening. /help shows what I can do.",
        );
        Ok(format!(
            "{name} ({id}) may talk with me on {} now.",
            paired.channel
        ))
    }

    /// The agent's status with the gateway's and the machine's.
    fn status(&self, of_the_agent: &str) -> String {
        let mut text = String::from("**Agent**\n");
        for line in of_the_agent.lines() {
            let _ = writeln!(text, "- {line}");
        }
        let _ = write!(
            text,
            "\n**Gateway**: {}\n\n{}",
            self.figures(),
            self.parts.board.status_text()
        );
        text
    }

    /// The gateway in a line.
    pub(super) fn figures(&self) -> String {
        let (running, waiting) = {
            let lanes = self.lanes();
            (lanes.running(), lanes.waiting())
        };
        let minutes = self.since.elapsed().as_secs() / 60;
        let owed = self.parts.outbox.count();
        format!(
            "up {}, {} running, {waiting} waiting, {owed} to be sent",
            time_words(minutes),
            counted_words(running, "turn"),
        )
    }
}

/// An error as a sentence, for a chat.
pub(super) fn sentence(error: &Error) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase());
    let end = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    let mut sentence: String = first.into_iter().flatten().chain(letters).collect();
    sentence.push_str(end);
    sentence
}

fn counted_words(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn time_words(minutes: u64) -> String {
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
    fn a_time_is_told_in_two_words() {
        assert_eq!(time_words(59), "59 min");
        assert_eq!(time_words(61), "1 h 1 min");
        assert_eq!(time_words(24 * 60 * 3 + 60), "3 d 1 h");
    }
}
