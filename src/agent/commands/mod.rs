//! Slash commands: the table of them all, and those that the agent answers itself, without the model.

use std::ops::DerefMut;
use std::path::Path;

use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::{Author, CommandButton, SessionKey};
use crate::store::session::Session;
use crate::text::markup::{inline_code, inline_text, plain};
use crate::text::{ellipsize_chars, reveal};

use super::{Agent, texts};

mod context;
mod cron;
mod mcp;
mod memory;
mod model;
mod skills;
mod status;
mod table;
mod think;
pub mod usage;
mod voice;

pub use context::{describe_compacted, nothing_to_compact};
pub use table::{
    COMMANDS, Command, Listed, REMINDER_BUTTONS, Reader, Row, Slash, Surface, When, format_help,
    list_commands, may_use, parse, typed_command, unknown_command,
};

/// Background commands that are named when they are ended.
const ENDED_NAMES: usize = 5;
/// Characters shown of each of them.
const ENDED_CHARS: usize = 60;

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
    /// The id of its message; empty at the terminal.
    pub message: &'a str,
    /// Who wrote it in a chat.
    pub author: Option<&'a Author>,
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
                let is_remembered = {
                    let mut session = session()?;
                    session.clear()?;
                    !session.pending().is_empty() && !self.is_offline(key)
                };
                self.ledger.forget_turn(key.as_str());
                let ended = describe_ended(&self.end_background(key), language);
                let mut sentences = vec![texts::started_new(language)];
                if is_remembered {
                    sentences.push(texts::remembered_later(language));
                }
                sentences.push(&ended);
                let text = sentences.join(language.sentence_space());
                text.trim_end().to_owned()
            }
            Slash::Status => self.format_status(key, folder, language)?,
            Slash::Model if command.lists_models() => {
                return self.list_models(invocation).map(Some);
            }
            Slash::Model => return self.choose_model(invocation).map(Some),
            Slash::Tools => self.list_tools(language),
            Slash::Memory => self.answer_memory(invocation)?,
            Slash::Diff => self.show_change(invocation)?,
            Slash::Undo => self.undo_change(invocation)?,
            Slash::Skills => return Ok(Some(self.answer_skills(invocation))),
            Slash::Mcp => return self.answer_mcp(invocation).map(Some),
            Slash::Remind => return self.answer_remind(invocation).map(Some),
            Slash::Cron => return self.answer_cron(invocation).map(Some),
            Slash::Usage => self.list_usage(language),
            Slash::Think => return self.answer_think(invocation).map(Some),
            Slash::Voice => self.answer_voice(invocation)?,
            Slash::Context => context::format_account(&self.account(folder, key)?, language),
            Slash::Approvals => {
                let chat = key.to_string();
                self.toolbox
                    .answer_approvals(&chat, command.argument, language)?
            }
            _ => return Ok(None),
        };
        Ok(Some(text.into()))
    }

    fn list_tools(&self, language: Language) -> String {
        let specs = self.toolbox.specs();
        let lines = specs.iter().map(|spec| {
            // One that was added at run time comes with the model's text only.
            let first_sentence = || {
                let sentence = spec.description.split_once(". ");
                let first = sentence.map_or(&*spec.description, |(first, _)| first);
                plain(inline_text(first).trim_end_matches('.'))
            };
            let does = texts::describe_tool(&spec.name, language);
            let does =
                does.map_or_else(first_sentence, |does| does.trim_end_matches('.').to_owned());
            format!("- `{}`: {does}", spec.name)
        });
        lines.collect::<Vec<_>>().join("\n")
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
