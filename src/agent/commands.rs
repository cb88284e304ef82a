//! What a person types with a slash: answered by the program, without the model.

use std::fmt::Write;
use std::ops::DerefMut;
use std::path::Path;

use crate::error::Result;
use crate::message::SessionKey;
use crate::session::{Session, store};

use super::Agent;

/// A typed command: its name and what it does.
pub type Listed = (&'static str, &'static str);

/// The commands that there are wherever one talks with the agent. `/help` lists them with those of
/// the place.
pub const COMMANDS: [Listed; 6] = [
    ("help", "lists the commands"),
    (
        "new",
        "begins the conversation anew; the journal keeps the old one",
    ),
    ("status", "shows the model, the session and the workspace"),
    (
        "model",
        "shows the model, or takes another for this conversation: /model NAME",
    ),
    ("tools", "lists the tools"),
    ("usage", "shows the tokens of today and of the days before"),
];

/// A line that begins with a slash and a known name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// One of [`COMMANDS`], or one of their other names.
    pub name: &'a str,
    /// What stands behind it.
    pub argument: &'a str,
}

/// Reads a typed command; none when the text is for the model. `/etc/hosts is empty` is no command.
pub fn parse(text: &str) -> Option<Command<'_>> {
    let line = text.trim();
    let rest = line.strip_prefix('/')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let word = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    word.then_some(Command {
        name,
        argument: argument.trim(),
    })
}

impl Agent {
    /// Answers a typed command of a chat, for the person; none when it is not one of [`COMMANDS`].
    /// `session` opens the chat's session, which only some commands need; `folder` is where the journals
    /// are, to look at one that a turn has open.
    pub fn command<S: DerefMut<Target = Session>>(
        &self,
        chat: &SessionKey,
        command: Command<'_>,
        folder: &Path,
        session: impl FnOnce() -> Result<S>,
    ) -> Result<Option<String>> {
        Ok(Some(match command.name {
            "new" | "reset" | "clear" => {
                session()?.clear()?;
                self.end_of(chat);
                "A new conversation. The journal keeps the old one.".to_owned()
            }
            "status" => self.status(chat, folder)?,
            "model" if command.argument.is_empty() => self.model_line(chat),
            "model" => self.choose_model(chat, command.argument)?,
            "tools" => self.tool_lines(),
            "usage" => self.usage_lines(),
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
        Ok(format!(
            "{}\nConversation: {chat}, {entries} messages in context\nWorkspace: {}\nToday: {today}",
            self.model_line(chat),
            self.surroundings.workspace,
        ))
    }

    fn tool_lines(&self) -> String {
        let lines = self.toolbox.specs().iter().map(|spec| {
            let sentence = spec
                .description
                .split_once(". ")
                .map_or(spec.description, |(first, _)| first);
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

/// The commands as a list, for the person: [`COMMANDS`], and those of the place.
pub fn help(of_the_place: &[Listed]) -> String {
    let lines = COMMANDS
        .iter()
        .chain(of_the_place)
        .map(|(name, meaning)| format!("- `/{name}` {meaning}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What a person is told who types a command that there is not.
pub fn unknown(name: &str, of_the_place: &[Listed]) -> String {
    format!("There is no command /{name}.\n\n{}", help(of_the_place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_with_a_word_is_a_command() {
        assert_eq!(
            parse(" /model gpt-5 \n"),
            Some(Command {
                name: "model",
                argument: "gpt-5"
            })
        );
        assert_eq!(
            parse("/help"),
            Some(Command {
                name: "help",
                argument: ""
            })
        );
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
    fn the_help_names_every_command() {
        assert!(
            COMMANDS
                .iter()
                .all(|(name, _)| help(&[]).contains(&format!("`/{name}`")))
        );
    }
}
