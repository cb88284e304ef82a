//! What a person types with a slash: answered by the program, without the model.

use std::fmt::Write;
use std::ops::DerefMut;
use std::path::Path;

use crate::error::Result;
use crate::limits::agent::{ENDED_CHARS, ENDED_NAMES};
use crate::markup::inline_code;
use crate::message::{Envelope, SessionKey};
use crate::session::{Session, store};
use crate::text::{count_of, ellipsize_chars, reveal};

use super::Agent;

/// The slash commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slash {
    /// `/start`, which Telegram sends when a person opens the chat.
    Start,
    /// `/help`
    Help,
    /// `/new`
    New,
    /// `/status`
    Status,
    /// `/model`
    Model,
    /// `/tools`
    Tools,
    /// `/usage`
    Usage,
    /// `/sh`
    Sh,
    /// `/stop`
    Stop,
    /// `/approve`
    Approve,
    /// `/deny`
    Deny,
    /// `/pair`
    Pair,
    /// `/id`
    Id,
    /// `/restart`
    Restart,
    /// `/exit`
    Exit,
    /// None of them.
    Unknown,
}

/// Where a command can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In chats and at the terminal.
    Everywhere,
    /// In chats.
    Chat,
    /// At the terminal.
    Terminal,
}

/// When a command of a chat runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once, and quickly.
    AtOnce,
    /// At once, and it ends what runs.
    Stop,
    /// At once, on a thread of its own.
    Beside,
    /// After everything that was sent before it: it touches the conversation.
    InOrder,
}

/// A row of [`COMMANDS`].
#[derive(Debug)]
pub struct Row {
    /// The command.
    pub slash: Slash,
    /// Its names without the slash; the first one is shown.
    pub names: &'static [&'static str],
    /// Where it can be typed.
    pub place: Place,
    /// What it does, for the person.
    pub help: &'static str,
}

/// Every slash command: what is parsed, listed by `/help` and shown in a channel's menu.
pub const COMMANDS: [Row; 15] = [
    row(
        Slash::Help,
        &["help"],
        Place::Everywhere,
        "List the commands",
    ),
    row(
        Slash::New,
        &["new", "reset", "clear"],
        Place::Everywhere,
        "Start a new conversation (the old one is kept)",
    ),
    row(
        Slash::Status,
        &["status"],
        Place::Everywhere,
        "Show the model, the conversation and the board",
    ),
    row(
        Slash::Model,
        &["model"],
        Place::Everywhere,
        "Show or change the model: /model NAME",
    ),
    row(
        Slash::Tools,
        &["tools"],
        Place::Everywhere,
        "List the tools",
    ),
    row(
        Slash::Usage,
        &["usage"],
        Place::Everywhere,
        "Token usage by day",
    ),
    row(
        Slash::Sh,
        &["sh"],
        Place::Chat,
        "Run a command: /sh df -h; /sh !COMMAND asks to run it outside the sandbox",
    ),
    row(
        Slash::Stop,
        &["stop"],
        Place::Chat,
        "Stop what is running in this chat",
    ),
    row(
        Slash::Approve,
        &["approve"],
        Place::Chat,
        "Allow the pending command: /approve [NUMBER] [always]",
    ),
    row(
        Slash::Deny,
        &["deny"],
        Place::Chat,
        "Refuse it: /deny [NUMBER]",
    ),
    row(
        Slash::Pair,
        &["pair"],
        Place::Chat,
        "Give someone access: /pair CODE",
    ),
    row(
        Slash::Id,
        &["id"],
        Place::Chat,
        "Show the ids of this chat and of you",
    ),
    row(Slash::Restart, &["restart"], Place::Chat, "Restart Peacrab"),
    row(Slash::Start, &["start"], Place::Chat, ""),
    row(
        Slash::Exit,
        &["exit", "quit"],
        Place::Terminal,
        "Quit (or Ctrl-D)",
    ),
];

const fn row(
    slash: Slash,
    names: &'static [&'static str],
    place: Place,
    help: &'static str,
) -> Row {
    Row {
        slash,
        names,
        place,
        help,
    }
}

/// The names and descriptions of the commands of a place, for help and menus.
pub fn listed(place: Place) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_there = move |row: &&Row| row.place == Place::Everywhere || row.place == place;
    let rows = COMMANDS.iter().filter(is_there);
    rows.filter(|row| !row.help.is_empty())
        .filter_map(|row| Some((*row.names.first()?, row.help)))
}

/// A line that begins with a slash and a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Which one.
    pub slash: Slash,
    /// The word as it was typed, without the slash.
    pub word: &'a str,
    /// What follows the word.
    pub argument: &'a str,
}

impl Command<'_> {
    /// When it runs in a chat.
    pub fn when(&self) -> When {
        match self.slash {
            Slash::Stop => When::Stop,
            Slash::Sh => When::Beside,
            Slash::New => When::InOrder,
            Slash::Model if !self.argument.is_empty() => When::InOrder,
            _ => When::AtOnce,
        }
    }
}

/// Reads a slash command; `None` when the text is for the model. `/etc/hosts is empty` is no command.
pub fn parse(text: &str) -> Option<Command<'_>> {
    let line = text.trim();
    let rest = line.strip_prefix('/')?;
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_word = !word.is_empty()
        && word
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let row = COMMANDS.iter().find(|row| row.names.contains(&word));
    is_word.then_some(Command {
        slash: row.map_or(Slash::Unknown, |row| row.slash),
        word,
        argument: argument.trim(),
    })
}

/// The slash command that a person typed; `None` when the message is for the model.
pub fn of(message: &Envelope) -> Option<Command<'_>> {
    let typed = Some(message).filter(|message| !message.is_relayed);
    typed.and_then(|message| parse(&message.text))
}

impl Agent {
    /// Answers a slash command for the person; `None` when it is not one that the agent knows. `session`
    /// opens the conversation, which only `/new` needs. `folder` is where the journals are, to look at
    /// one that a turn has open.
    pub fn command<S: DerefMut<Target = Session>>(
        &self,
        key: &SessionKey,
        command: Command<'_>,
        folder: &Path,
        session: impl FnOnce() -> Result<S>,
    ) -> Result<Option<String>> {
        Ok(Some(match command.slash {
            Slash::New => {
                session()?.clear()?;
                let ended = describe_ended(&self.end_of(key));
                let text = "Started a new conversation. The old one is still saved.";
                format!("{text} {ended}").trim_end().to_owned()
            }
            Slash::Status => self.status(key, folder)?,
            Slash::Model if command.argument.is_empty() => self.model_line(key),
            Slash::Model => self.choose_model(key, command.argument)?,
            Slash::Tools => self.tool_lines(),
            Slash::Usage => self.usage_lines(),
            _ => return Ok(None),
        }))
    }

    /// Takes another model for a chat from the next turn on; `default` goes back to the configuration's.
    fn choose_model(&self, chat: &SessionKey, name: &str) -> Result<String> {
        let named = Some(name).filter(|name| *name != "default");
        self.selection.choose(&chat.to_string(), named)?;
        Ok(match self.lacks_model(chat) {
            true => format!(
                "No provider is connected that could run {name}, so the offline helper answers. \
                 `peacrab onboard` connects one."
            ),
            false => self.model_line(chat),
        })
    }

    fn status(&self, chat: &SessionKey, folder: &Path) -> Result<String> {
        let today = self.ledger.counts().today();
        let entries = store::count_window(folder, chat, self.settings.memory_window)?;
        let messages = count_of(entries, "message", "messages");
        Ok(format!(
            "{}\nConversation: {chat}, {messages} in context\nWorkspace: {}\nTokens today: {today}",
            self.model_line(chat),
            self.surroundings.workspace,
        ))
    }

    fn tool_lines(&self) -> String {
        let lines = self.toolbox.specs().iter().map(|spec| {
            let sentence = spec
                .description
                .split_once(". ")
                .map_or(&*spec.description, |(first, _)| first);
            format!("- `{}`: {}", spec.name, sentence.trim_end_matches('.'))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn usage_lines(&self) -> String {
        let counts = self.ledger.counts();
        let mut text = format!("Tokens of {}:\n", counts.day);
        for (model, usage) in &counts.models {
            let _ = writeln!(text, "- {model}: {}", usage);
        }
        if counts.models.is_empty() {
            text.push_str("- none yet\n");
        }
        for day in counts.past.iter().rev() {
            let _ = writeln!(text, "- {}: {}", day.day, day.usage);
        }
        text
    }
}

/// Names the background commands that were ended, as a sentence; empty when there were none.
pub fn describe_ended(commands: &[String]) -> String {
    if commands.is_empty() {
        return String::new();
    }
    let left_out = commands.len().saturating_sub(ENDED_NAMES);
    let named = commands.iter().take(ENDED_NAMES);
    let named = named.map(|command| inline_code(&ellipsize_chars(&reveal(command), ENDED_CHARS)));
    let mut names = named.collect::<Vec<_>>().join(", ");
    if left_out > 0 {
        let _ = write!(names, " and {left_out} more");
    }
    let (one, many) = ("background command was", "background commands were");
    format!("{} ended: {names}.", count_of(commands.len(), one, many))
}

/// The commands of a place as a list, for the person.
pub fn help(place: Place) -> String {
    let lines = listed(place).map(|(name, help)| format!("- `/{name}` {help}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_with_a_word_is_a_command() {
        let command = |text| parse(text).map(|command| (command.slash, command.argument));
        assert_eq!(command(" /model gpt-5 \n"), Some((Slash::Model, "gpt-5")));
        assert_eq!(command("/help"), Some((Slash::Help, "")));
        assert_eq!(command("/clear"), Some((Slash::New, "")));
        assert_eq!(command("/sh\nls"), Some((Slash::Sh, "ls")));
        assert_eq!(command("/foo x"), Some((Slash::Unknown, "x")));
        for text in [
            "hello",
            "/",
            "/etc/hosts is empty",
            "a /help",
            "/ help",
            "//x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_help_of_a_place_names_its_commands() {
        let (chat, terminal) = (help(Place::Chat), help(Place::Terminal));
        assert!(
            chat.contains("`/sh`") && !terminal.contains("`/sh`"),
            "{chat}"
        );
        assert!(
            terminal.contains("`/exit`") && !chat.contains("`/exit`"),
            "{terminal}"
        );
        assert!(chat.contains("`/new`") && terminal.contains("`/new`"));
    }
}
