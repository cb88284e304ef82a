//! What a person types with a slash: answered by the program, without the model.

use std::fmt::Write;

use crate::error::Result;
use crate::session::Session;

use super::Agent;

/// A typed command: its name and what it does, as `/help` lists it.
pub const COMMANDS: [(&str, &str); 6] = [
    ("help", "lists the commands"),
    (
        "new",
        "begins the conversation anew; the journal keeps the old one",
    ),
    ("status", "shows the model, the session and the workspace"),
    (
        "model",
        "shows the model, or takes another for this run: /model NAME",
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
    /// Answers a typed command, for the person.
    pub fn command(&mut self, session: &mut Session, command: Command<'_>) -> Result<String> {
        Ok(match command.name {
            "help" | "start" => help(),
            "new" | "reset" | "clear" => {
                session.clear()?;
                self.toolbox.end_of(&session.chat().to_string());
                "A new conversation. The journal keeps the old one.".to_owned()
            }
            "status" => self.status(session),
            "model" if command.argument.is_empty() => self.model_line(),
            "model" => {
                self.choose_model(command.argument)?;
                match self.lacks_model() {
                    true => format!(
                        "No provider is connected that could run {}, so the offline helper answers. \
                         `peacrab onboard` connects one.",
                        command.argument
                    ),
                    false => self.model_line(),
                }
            }
            "tools" => self.tool_lines(),
            "usage" => self.usage_lines(),
            other => format!("There is no command /{other}.\n\n{}", help()),
        })
    }

    fn status(&self, session: &Session) -> String {
        let today = self.ledger.counts().today();
        format!(
            "{}\nSession: {}, {} entries in the model's window\nWorkspace: {}\nToday: {}",
            self.model_line(),
            session.chat(),
            session.entries().len(),
            self.surroundings.workspace,
            today
        )
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

fn help() -> String {
    let lines = COMMANDS
        .iter()
        .map(|(name, meaning)| format!("- `/{name}` {meaning}"));
    lines.collect::<Vec<_>>().join("\n")
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
                .all(|(name, _)| help().contains(&format!("`/{name}`")))
        );
    }
}
