//! Commands of the configuration, such as `/backup`: a shell line under a name.

use std::fmt::Write;

use super::services::Confirmed;
use super::{Answer, Asking, describe_output, texts};
use crate::base::error::{Error, Result};
use crate::base::limits::gateway::board::OWN_COMMANDS_MAX;
use crate::channels::kit::adapter::MenuEntry;
use crate::config::schema::{OwnCommand, Place};
use crate::gateway::commands::{OWN, ParsedMessage, Reader, least_role};
use crate::gateway::{Gateway, Live};
use crate::text::markup::inline_code;
use crate::tools::commands::OwnerAction;

/// The commands of the configuration for the channels' menus.
pub fn own_menu(live: &Live) -> impl Iterator<Item = MenuEntry> {
    let commands = live.commands.iter().take(OWN_COMMANDS_MAX);
    commands.map(|(name, command)| MenuEntry::own(name, help_of(command).to_owned()))
}

/// What a command does, or what it runs.
fn help_of(command: &OwnCommand) -> &str {
    if command.help.is_empty() {
        &command.run
    } else {
        &command.help
    }
}

impl Gateway {
    /// The same message, with a command of the configuration in the words of the table of commands.
    pub(in crate::gateway) fn with_own_command(&self, mut message: ParsedMessage) -> ParsedMessage {
        if let Some(command) = message.command()
            && command.row.is_none()
            && let word = command.word.to_ascii_lowercase()
            && self.live().commands.contains_key(&word)
        {
            let text = format!("/{OWN} {word} {}", command.argument);
            message.change(|message| message.text = text);
        }
        message
    }

    /// The commands of the configuration as a list below the others, for owners; empty when there are none.
    pub(in crate::gateway) fn own_help(&self, reader: Reader) -> String {
        let mut text = String::new();
        if reader.role < least_role(OWN, reader.is_group) {
            return text;
        }
        for (name, command) in self.live().commands.iter().take(OWN_COMMANDS_MAX) {
            let help = crate::text::markup::inline_text(help_of(command));
            let _ = write!(text, "\n- `/{name}` {help}");
        }
        text
    }
}

/// What is asked for: `NAME ARGUMENTS`, or the same confirmed: `SECONDS NAME ARGUMENTS` by a button,
/// `now NAME ARGUMENTS` by typing. No command has such a name.
fn read(argument: &str) -> (Option<Confirmed>, &str, &str) {
    let split = |text: &'_ str| -> (usize, usize) {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let rest = text.len() - text[end..].trim_start().len();
        (end, rest)
    };
    let (end, rest) = split(argument);
    let confirmed = match &argument[..end] {
        "now" => Some(Confirmed::Typed),
        first => first.parse().ok().map(Confirmed::Pressed),
    };
    let argument = match confirmed {
        Some(_) => &argument[rest..],
        None => argument,
    };
    let (end, rest) = split(argument);
    (confirmed, &argument[..end], argument[rest..].trim_end())
}

/// The line with its arguments as `$1`, `$2` and `"$@"`.
fn with_arguments(run: &str, arguments: &str) -> String {
    let words = arguments.split_whitespace();
    let quoted: Vec<String> = words
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    if quoted.is_empty() {
        run.to_owned()
    } else {
        format!("set -- {}\n{run}", quoted.join(" "))
    }
}

impl Asking<'_> {
    pub(in crate::gateway) fn own(&self) -> Result<Answer> {
        let language = self.language;
        let unknown = || Error::Usage(texts::own_unknown(language).to_owned());
        let (confirmed, name, arguments) = read(self.argument);
        let live = self.gateway.live();
        let command = live.commands.get(name).ok_or_else(unknown)?;
        if command.confirm && confirmed.is_none() {
            let shown = format!("/{name} {arguments}");
            let question = texts::own_question(language, &inline_code(shown.trim_end()));
            let command = |time: i64| format!("/own {time} {name} {arguments}");
            let typed = format!("/own now {name} {arguments}");
            return Ok(self.confirm(question, texts::run(language), command, &typed));
        }
        if let Some(confirmed) = confirmed {
            self.check_confirmed(confirmed, texts::run(language))?;
        }
        self.begin()?;
        let action = OwnerAction {
            line: &with_arguments(&command.run, arguments),
            unsandboxed: command.r#where == Place::Host,
            changes: false,
            configured: Some(&command.run),
            decision: "allowed: a command of the configuration",
            time: None,
            language,
        };
        let ran = self.run(action, true)?;
        Ok(describe_output(ran, texts::done(language)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_with_its_confirmation() {
        assert_eq!(read("backup  a b "), (None, "backup", "a b"));
        let pressed = Some(Confirmed::Pressed(12));
        assert_eq!(read("12 backup a b"), (pressed, "backup", "a b"));
        assert_eq!(read("12  backup"), (pressed, "backup", ""));
        assert_eq!(
            read("now backup x"),
            (Some(Confirmed::Typed), "backup", "x")
        );
        assert_eq!(read("now"), (Some(Confirmed::Typed), "", ""));
        assert_eq!(read(""), (None, "", ""));
    }

    #[test]
    fn arguments_stay_words_whatever_is_in_them() {
        assert_eq!(with_arguments("ls", ""), "ls");
        assert_eq!(
            with_arguments("tar c \"$@\"", "a $(x) it's `y`"),
            "set -- 'a' '$(x)' 'it'\\''s' '`y`'\ntar c \"$@\""
        );
    }
}
