//! `/think`: how much the model thinks in a conversation.

use super::{CommandAnswer, Invocation};
use crate::agent::{Agent, texts};
use crate::base::chat::ReasoningEffort;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{CommandButton, SessionKey};
use crate::models::quirks::ThinkingControl;
use crate::text::markup::inline_code;
use crate::text::reveal;

/// Buttons side by side, so that a phone shows their words.
const BUTTONS_PER_ROW: usize = 4;

/// The word that goes back to the configuration.
const DEFAULT: &str = "default";

impl Agent {
    /// How much the model thinks in a conversation: what it has chosen, else what is configured; `None`
    /// leaves it to the model.
    pub(in crate::agent) fn effort_of(&self, chat: &SessionKey) -> Option<ReasoningEffort> {
        let chosen = self.selection.effort(chat.as_str());
        chosen.or(self.settings.reasoning_effort)
    }

    /// Shows or changes it, and says when it has no effect.
    pub fn answer_think(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let Invocation { key, language, .. } = *invocation;
        let word = invocation.argument.to_ascii_lowercase();
        let known = |effort: &ReasoningEffort| effort.as_str() == word;
        match ReasoningEffort::ALL.into_iter().find(known) {
            _ if word.is_empty() => return Ok(self.show_thinking(key, language)),
            Some(effort) => self.selection.choose_effort(key.as_str(), Some(effort))?,
            None if word == DEFAULT => self.selection.choose_effort(key.as_str(), None)?,
            None => {
                let word = inline_code(&reveal(&word));
                return Err(Error::Usage(texts::think_unknown(language, &word)));
            }
        }
        let line = self.thinking_line(key, language);
        Ok(match self.thinking_note(key, language) {
            Some(note) => texts::with_note(language, &line, &note).into(),
            None => line.into(),
        })
    }

    fn show_thinking(&self, key: &SessionKey, language: Language) -> CommandAnswer {
        let line = self.thinking_line(key, language);
        let note = self.thinking_note(key, language);
        let note = note.unwrap_or_else(|| texts::think_how(language).to_owned());
        let words = ReasoningEffort::ALL.map(ReasoningEffort::as_str);
        let button = |word: &str| CommandButton {
            label: word.to_owned(),
            command: format!("/think {word}"),
        };
        let buttons: Vec<_> = words.into_iter().chain([DEFAULT]).map(button).collect();
        CommandAnswer {
            text: texts::with_note(language, &line, &note),
            buttons: buttons.chunks(BUTTONS_PER_ROW).map(<[_]>::to_vec).collect(),
            is_private: false,
        }
    }

    /// How much the model thinks, as a line.
    pub(super) fn thinking_line(&self, key: &SessionKey, language: Language) -> String {
        let chosen = self.selection.effort(key.as_str());
        match (chosen, self.settings.reasoning_effort) {
            (Some(effort), _) => texts::thinking(language, &effort.as_str()),
            (None, Some(effort)) => {
                let level = texts::think_configured(language, &effort.as_str());
                texts::thinking(language, &level)
            }
            (None, None) => texts::thinking(language, &texts::think_default(language)),
        }
    }

    /// What the model cannot do.
    fn thinking_note(&self, key: &SessionKey, language: Language) -> Option<String> {
        let models = self.selection.models_of(key.as_str()).ok()?;
        if models.primary().is_offline() {
            return None;
        }
        let model = models.names().into_iter().next().unwrap_or_default();
        let effort = self.effort_of(key);
        match models.thinking_control() {
            ThinkingControl::Never => Some(texts::think_never(language, &model)),
            ThinkingControl::NotWithTools => Some(texts::think_not_with_tools(language, &model)),
            ThinkingControl::AlwaysThinks if effort == Some(ReasoningEffort::Off) => {
                Some(texts::think_always(language, &model))
            }
            _ => None,
        }
    }
}
