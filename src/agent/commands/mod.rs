//! The slash commands that the agent answers itself, without the model. Their table is the gateway's.

use std::path::Path;

use crate::base::access::Role;
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
mod think;
pub mod usage;
mod voice;

pub use context::{describe_compacted, nothing_to_compact};
pub use model::lists_models;

/// Background commands that are named when they are ended.
const ENDED_NAMES: usize = 5;
/// Characters shown of each of them.
const ENDED_CHARS: usize = 60;

/// Where a command can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// In chats.
    Chat,
    /// At the terminal.
    Terminal,
}

/// The answer to a slash command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandAnswer {
    /// The text, as Markdown.
    pub text: String,
    /// Rows of buttons, for chats.
    pub buttons: Vec<Vec<CommandButton>>,
    /// Whether an owner alone is to see it in a group.
    pub is_private: bool,
}

impl CommandAnswer {
    /// One that an owner alone sees in a group.
    pub fn private(text: String) -> Self {
        Self {
            is_private: true,
            ..text.into()
        }
    }
}

impl From<String> for CommandAnswer {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// A typed command, and what answering it takes.
#[derive(Clone, Copy)]
pub struct Invocation<'a> {
    /// The conversation.
    pub key: &'a SessionKey,
    /// What follows the name of the command.
    pub argument: &'a str,
    /// The language of the answer.
    pub language: Language,
    /// Where it was typed.
    pub surface: Surface,
    /// The id of its message; empty at the terminal.
    pub message: &'a str,
    /// Who wrote it in a chat.
    pub author: Option<&'a Author>,
    /// The role of the person.
    pub role: Role,
    /// The folder of the journals, to look at one that a turn has open.
    pub folder: &'a Path,
    /// Stops the question to a provider's server.
    pub cancel: &'a Cancel,
}

impl Agent {
    /// Answers `/new` of someone with a role: begins a new conversation in a journal.
    pub fn start_new(
        &self,
        session: &mut Session,
        role: Role,
        language: Language,
    ) -> Result<CommandAnswer> {
        session.clear()?;
        let key = session.chat();
        self.ledger.forget_turn(key.as_str());
        let ended = describe_ended(&self.end_background_for(key, role), language);
        let mut sentences = vec![texts::started_new(language)];
        if !session.pending().is_empty() && !self.is_offline(key) {
            sentences.push(texts::remembered_later(language));
        }
        sentences.push(&ended);
        let text = sentences.join(language.sentence_space());
        Ok(text.trim_end().to_owned().into())
    }

    /// Answers `/context`.
    pub fn answer_context(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let account = self.account(invocation.folder, invocation.key)?;
        Ok(context::format_account(&account, invocation.language).into())
    }

    /// Answers `/approvals`.
    pub fn answer_approvals(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let chat = invocation.key.as_str();
        let answer =
            (self.toolbox).answer_approvals(chat, invocation.argument, invocation.language);
        answer.map(CommandAnswer::from)
    }

    /// Answers `/tools`.
    pub fn answer_tools(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let language = invocation.language;
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
        Ok(lines.collect::<Vec<_>>().join("\n").into())
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
