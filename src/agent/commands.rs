//! Slash commands: the table of them all, and those that the agent answers itself, without the model.

use std::fmt::Write;
use std::ops::DerefMut;
use std::path::Path;

use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::language::Language;
use crate::limits::agent::{ENDED_CHARS, ENDED_NAMES, MODEL_BUTTONS_MAX, MODELS_LISTED_MAX};
use crate::markup::inline_code;
use crate::message::{CommandButton, Envelope, SessionKey};
use crate::provider::offers;
use crate::session::{Session, store};
use crate::text::{ellipsize_chars, join_with_last, nearest, reveal};

use super::{Agent, texts};

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
    /// `/approvals`
    Approvals,
    /// `/pair`
    Pair,
    /// `/id`
    Id,
    /// `/restart`
    Restart,
    /// `/update`
    Update,
    /// `/exit`
    Exit,
    /// A word that is not a command.
    Unknown,
}

/// Where a command can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
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
    /// At once; it stops what is running.
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
    pub surface: Surface,
    /// What it does; `None` keeps it out of help and menus.
    pub help: Option<fn(Language) -> &'static str>,
}

/// Every slash command: what is parsed, listed by `/help` and shown in a channel's menu.
#[rustfmt::skip]
pub const COMMANDS: [Row; 17] = [
    row(Slash::Help, &["help"], Surface::Everywhere, texts::help_help),
    row(Slash::New, &["new", "reset", "clear"], Surface::Everywhere, texts::help_new),
    row(Slash::Status, &["status"], Surface::Everywhere, texts::help_status),
    row(Slash::Model, &["model", "models"], Surface::Everywhere, texts::help_model),
    row(Slash::Tools, &["tools"], Surface::Everywhere, texts::help_tools),
    row(Slash::Usage, &["usage"], Surface::Everywhere, texts::help_usage),
    row(Slash::Sh, &["sh"], Surface::Chat, texts::help_sh),
    row(Slash::Stop, &["stop"], Surface::Chat, texts::help_stop),
    row(Slash::Approve, &["approve"], Surface::Chat, texts::help_approve),
    row(Slash::Deny, &["deny"], Surface::Chat, texts::help_deny),
    row(Slash::Approvals, &["approvals"], Surface::Everywhere, texts::help_approvals),
    row(Slash::Pair, &["pair"], Surface::Chat, texts::help_pair),
    row(Slash::Id, &["id"], Surface::Chat, texts::help_id),
    row(Slash::Restart, &["restart"], Surface::Chat, texts::help_restart),
    row(Slash::Update, &["update", "upgrade"], Surface::Chat, texts::help_update),
    Row { slash: Slash::Start, names: &["start"], surface: Surface::Chat, help: None },
    row(Slash::Exit, &["exit", "quit"], Surface::Terminal, texts::help_exit),
];

const fn row(
    slash: Slash,
    names: &'static [&'static str],
    surface: Surface,
    help: fn(Language) -> &'static str,
) -> Row {
    Row {
        slash,
        names,
        surface,
        help: Some(help),
    }
}

/// The commands of a surface.
fn rows_of(surface: Surface) -> impl Iterator<Item = &'static Row> {
    let is_there = move |row: &&Row| row.surface == Surface::Everywhere || row.surface == surface;
    COMMANDS.iter().filter(is_there)
}

/// A command as help and menus show it.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// Its name without the slash.
    pub name: &'static str,
    /// What it does, in a language.
    pub help: fn(Language) -> &'static str,
}

/// The commands of a surface that help and menus show.
pub fn list_commands(surface: Surface) -> impl Iterator<Item = Listed> {
    rows_of(surface).filter_map(|row| {
        Some(Listed {
            name: row.names.first()?,
            help: row.help?,
        })
    })
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
            // An update is fetched over the network.
            Slash::Sh | Slash::Update => When::Beside,
            Slash::New => When::InOrder,
            // It asks the provider's server.
            Slash::Model if self.lists_models() => When::Beside,
            Slash::Model => When::InOrder,
            _ => When::AtOnce,
        }
    }

    /// Whether it is a `/model` that changes nothing.
    fn lists_models(&self) -> bool {
        self.argument.is_empty() || self.argument.eq_ignore_ascii_case("list")
    }
}

/// Reads a slash command, in any case; `None` when the text is for the model, such as
/// `/etc/hosts is empty`.
pub fn parse(text: &str) -> Option<Command<'_>> {
    let line = text.trim();
    let rest = line.strip_prefix('/')?;
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_word = !word.is_empty()
        && word
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_');
    let is_named = |name: &&str| name.eq_ignore_ascii_case(word);
    let row = COMMANDS.iter().find(|row| row.names.iter().any(is_named));
    is_word.then_some(Command {
        slash: row.map_or(Slash::Unknown, |row| row.slash),
        word,
        argument: argument.trim(),
    })
}

/// The slash command that a person typed; `None` when the message is for the model.
pub fn typed_command(message: &Envelope) -> Option<Command<'_>> {
    let typed = Some(message).filter(|message| !message.is_relayed);
    typed.and_then(|message| parse(&message.text))
}

/// The commands of a surface as a list.
pub fn format_help(surface: Surface, language: Language) -> String {
    let lines = list_commands(surface)
        .map(|listed| format!("- `/{}` {}", listed.name, (listed.help)(language)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The answer to a command that does not exist on a surface, with the nearest one that does.
pub fn unknown_command(word: &str, surface: Surface, language: Language) -> String {
    let names = rows_of(surface).flat_map(|row| row.names.iter().copied());
    match nearest(&word.to_ascii_lowercase(), names) {
        Some(near) => texts::unknown_command_near(language, &word, &near),
        None => texts::unknown_command(language, &word),
    }
}

/// The answer to a slash command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandAnswer {
    /// The text, as Markdown.
    pub text: String,
    /// Rows of buttons, for chats.
    pub buttons: Vec<Vec<CommandButton>>,
}

impl From<String> for CommandAnswer {
    fn from(text: String) -> Self {
        Self {
            text,
            buttons: Vec::new(),
        }
    }
}

/// A typed command, and what answering it takes.
#[derive(Clone, Copy)]
pub struct Invocation<'a> {
    /// The conversation.
    pub key: &'a SessionKey,
    /// The command.
    pub command: Command<'a>,
    /// The language of the answer.
    pub language: Language,
    /// Where it was typed.
    pub surface: Surface,
    /// The folder of the journals, to look at one that a turn has open.
    pub folder: &'a Path,
    /// Stops the question to a provider's server.
    pub cancel: &'a Cancel,
}

impl Agent {
    /// Answers a slash command; `None` when the agent does not know it. `session` opens the
    /// conversation, which only `/new` needs.
    pub fn answer_command<S: DerefMut<Target = Session>>(
        &self,
        invocation: &Invocation<'_>,
        session: impl FnOnce() -> Result<S>,
    ) -> Result<Option<CommandAnswer>> {
        let Invocation {
            key,
            command,
            language,
            folder,
            ..
        } = *invocation;
        let text = match command.slash {
            Slash::New => {
                session()?.clear()?;
                let ended = describe_ended(&self.end_background(key), language);
                let text = texts::started_new(language);
                let space = language.sentence_space();
                format!("{text}{space}{ended}").trim_end().to_owned()
            }
            Slash::Status => self.format_status(key, folder, language)?,
            Slash::Model if command.lists_models() => {
                return self.list_models(invocation).map(Some);
            }
            Slash::Model => self.choose_model(invocation)?,
            Slash::Tools => self.list_tools(language),
            Slash::Usage => self.list_usage(language),
            Slash::Approvals => {
                let chat = key.to_string();
                self.toolbox
                    .answer_approvals(&chat, command.argument, language)?
            }
            _ => return Ok(None),
        };
        Ok(Some(text.into()))
    }

    /// The model of a conversation, and what its server offers, with buttons to choose another.
    fn list_models(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let Invocation { key, language, .. } = *invocation;
        let line = self.model_line(key, language);
        let models = self.selection.models_of(key.as_str())?;
        let route = models.primary();
        if route.is_offline() {
            return Ok(line.into());
        }
        let tls = self.connections.tls();
        let mut offers = match offers::list(tls, route, invocation.cancel) {
            Ok(offers) => offers,
            Err(error) => return Ok(format!("{line}\n\n{error}").into()),
        };
        // The current one first, whatever else is left out.
        let current = offers.iter().position(|offer| *offer == route.model);
        if let Some(index) = current {
            offers[..=index].rotate_right(1);
        }
        let provider = &route.provider;
        let mut text = match invocation.surface {
            Surface::Terminal => texts::offers_typed(language, provider),
            _ => texts::offers_tapped(language, provider),
        };
        let mark = |index: usize| match (index, current) {
            (0, Some(_)) => "✓ ",
            _ => "",
        };
        for (index, offer) in offers.iter().take(MODELS_LISTED_MAX).enumerate() {
            let _ = write!(text, "\n- {}{}", mark(index), inline_code(offer));
        }
        if let Some(left @ 1..) = offers.len().checked_sub(MODELS_LISTED_MAX) {
            let _ = write!(text, "\n\n{}", texts::more_offers(language, &left));
        }
        let button = |(index, offer): (usize, &String)| {
            vec![CommandButton {
                label: format!("{}{offer}", mark(index)),
                command: format!("/model {provider}/{offer}"),
            }]
        };
        let buttons = offers.iter().take(MODEL_BUTTONS_MAX).enumerate();
        Ok(CommandAnswer {
            text: format!("{line}\n\n{text}"),
            buttons: buttons.map(button).collect(),
        })
    }

    /// Uses another model for a chat from the next turn on; `default` goes back to the configured one.
    /// A name that the server does not know is refused, and one that it spells otherwise is stored in its
    /// spelling; where the server cannot be asked, a warning says so.
    fn choose_model(&self, invocation: &Invocation<'_>) -> Result<String> {
        let Invocation { key, language, .. } = *invocation;
        let name = invocation.command.argument;
        let named = Some(name).filter(|name| !name.eq_ignore_ascii_case("default"));
        let (spelt, warning) = match named {
            Some(name) => self.check_model(name, invocation)?,
            None => (None, None),
        };
        let name = spelt.as_deref().unwrap_or(name);
        self.selection.choose(key.as_str(), named.map(|_| name))?;
        let line = match self.lacks_model(key) {
            true => texts::no_provider_for(language, &inline_code(name)),
            false => self.model_line(key, language),
        };
        Ok(match warning {
            Some(warning) => format!("{line}\n\n{warning}"),
            None => line,
        })
    }

    /// Fails when the server does not offer the model of this name. Returns the name in the server's
    /// spelling if that is another, and a warning when it cannot be asked.
    fn check_model(
        &self,
        name: &str,
        invocation: &Invocation<'_>,
    ) -> Result<(Option<String>, Option<String>)> {
        let language = invocation.language;
        let models = self.selection.preview(Some(name))?;
        let route = models.primary();
        if route.is_offline() {
            return Ok((None, None));
        }
        let (provider, model) = (&route.provider, &route.model);
        match offers::list(self.connections.tls(), route, invocation.cancel) {
            Ok(offers) if offers::is_offered(model, &offers) => {
                let spelling = offers::offered_spelling(model, &offers);
                // The name may have the provider's before it.
                let before = name.strip_suffix(model.as_str());
                let spelt = before.filter(|_| spelling != model);
                Ok((spelt.map(|before| format!("{before}{spelling}")), None))
            }
            Ok(offers) => {
                let near = offers::nearest(model, &offers).into_iter();
                let near: Vec<String> = near.map(inline_code).collect();
                let model = inline_code(model);
                Err(Error::Usage(match near.is_empty() {
                    true => texts::unknown_model(language, provider, &model),
                    false => {
                        let near =
                            join_with_last(&near, texts::comma(language), texts::or(language));
                        texts::unknown_model_near(language, provider, &model, &near)
                    }
                }))
            }
            Err(error) => Ok((None, Some(texts::unchecked_model(language, &error)))),
        }
    }

    fn format_status(&self, key: &SessionKey, folder: &Path, language: Language) -> Result<String> {
        let model = self.model_line(key, language);
        let conversation = match store::count_window(folder, key, self.settings.memory_window)? {
            1 => texts::status_message(language, key),
            count => texts::status_messages(language, key, &count),
        };
        let workspace = texts::status_workspace(language, &self.host_info.workspace);
        let tokens = texts::format_usage(self.ledger.counts().today(), language);
        let today = texts::status_today(language, &tokens);
        Ok([model, conversation, workspace, today].join("\n"))
    }

    fn list_tools(&self, language: Language) -> String {
        let lines = self.toolbox.specs().iter().map(|spec| {
            let does = texts::describe_tool(&spec.name, language).unwrap_or_else(|| {
                // One that was added at run time comes with the model's text only.
                let sentence = spec.description.split_once(". ");
                sentence.map_or(&*spec.description, |(first, _)| first)
            });
            format!("- `{}`: {}", spec.name, does.trim_end_matches('.'))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn list_usage(&self, language: Language) -> String {
        let counts = self.ledger.counts();
        let mut text = texts::tokens_on(language, &counts.day);
        for (model, usage) in &counts.models {
            let usage = texts::format_usage(*usage, language);
            let _ = write!(text, "\n- {model}: {usage}");
        }
        if counts.models.is_empty() {
            let _ = write!(text, "\n- {}", texts::no_tokens(language));
        }
        for day in counts.past.iter().rev() {
            let usage = texts::format_usage(day.usage, language);
            let _ = write!(text, "\n- {}: {usage}", day.day);
        }
        text
    }
}

/// Names the background commands that were ended, as a sentence; empty when there were none.
pub fn describe_ended(commands: &[String], language: Language) -> String {
    if commands.is_empty() {
        return String::new();
    }
    let left_out = commands.len().saturating_sub(ENDED_NAMES);
    let named = commands.iter().take(ENDED_NAMES);
    let named = named.map(|command| inline_code(&ellipsize_chars(&reveal(command), ENDED_CHARS)));
    let mut names = named.collect::<Vec<_>>().join(texts::comma(language));
    if left_out > 0 {
        names.push_str(&texts::and_more(language, &left_out));
    }
    match commands.len() {
        1 => texts::ended_command(language, &names),
        count => texts::ended_commands(language, &count, &names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_with_a_word_is_a_command() {
        let command = |text| parse(text).map(|command| (command.slash, command.argument));
        assert_eq!(command(" /model gpt-5 \n"), Some((Slash::Model, "gpt-5")));
        assert_eq!(command("/help"), Some((Slash::Help, "")));
        assert_eq!(command("/HELP"), Some((Slash::Help, "")));
        assert_eq!(command("/clear"), Some((Slash::New, "")));
        assert_eq!(command("/sh\nls"), Some((Slash::Sh, "ls")));
        let lists = |text| parse(text).is_some_and(|command| command.lists_models());
        assert!(lists("/model") && lists("/model LIST") && !lists("/model gpt-5"));
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
    fn the_help_of_a_surface_names_its_commands() {
        let help = |surface| format_help(surface, Language::English);
        let (chat, terminal) = (help(Surface::Chat), help(Surface::Terminal));
        assert!(
            chat.contains("`/sh`") && !terminal.contains("`/sh`"),
            "{chat}"
        );
        assert!(
            terminal.contains("`/exit`") && !chat.contains("`/exit`"),
            "{terminal}"
        );
        assert!(chat.contains("`/new`") && terminal.contains("`/new`"));
        let chinese = format_help(Surface::Chat, Language::Chinese);
        assert!(chinese.contains("- `/stop` 停止"), "{chinese}");
        assert_eq!(chinese.lines().count(), chat.lines().count());
    }

    #[test]
    fn an_unknown_command_names_the_nearest_of_its_surface() {
        let unknown = |word, surface| unknown_command(word, surface, Language::English);
        let near = "Unknown command /stats. Did you mean /status?";
        assert_eq!(unknown("stats", Surface::Chat), near);
        assert!(unknown("Stat", Surface::Chat).ends_with("Did you mean /status?"));
        let none = "Unknown command /sudo. See /help.";
        assert_eq!(unknown("sudo", Surface::Chat), none);
        let exit = unknown("exi", Surface::Terminal);
        assert!(exit.ends_with("Did you mean /exit?"), "{exit}");
    }
}
