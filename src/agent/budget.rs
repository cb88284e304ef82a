//! How many tokens a request may have, and what was learned from those that were sent.

use crate::chat::ToolSpec;
use crate::limits::agent::HISTORY_FLOOR_TOKENS;
use crate::message::SessionKey;
use crate::tokens;

use super::Agent;

/// The tokens of a turn's requests, as estimated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// What goes along with the conversation: the prompt, the tools, the facts.
    pub fixed: usize,
    /// What the conversation may have.
    pub history: usize,
}

impl Agent {
    /// The budget of a turn with a model.
    pub(super) fn budget(
        &self,
        model: &str,
        prompt: &str,
        facts: &str,
        specs: &[ToolSpec],
    ) -> Budget {
        let window = self
            .window_of(model)
            .saturating_sub(self.settings.max_tokens);
        let factor = self.learned.factor(model);
        let tools: usize = specs.iter().map(ToolSpec::tokens).sum();
        let fixed = tokens::estimate(prompt) + tokens::estimate(facts) + tools;
        // Estimated tokens for which the model counts as many as it has room for.
        let room = (window as f32 / factor) as usize;
        Budget {
            fixed,
            history: room.saturating_sub(fixed).max(HISTORY_FLOOR_TOKENS),
        }
    }

    /// Tokens of a model's window: as configured, or less where a request was too long for it.
    pub(super) fn window_of(&self, model: &str) -> u32 {
        let configured = self.settings.context_window_tokens;
        let learned = self.learned.window(model);
        learned.map_or(configured, |learned| learned.min(configured))
    }

    /// The same, for the model that is asked first in a chat.
    pub(super) fn window_of_chat(&self, chat: &SessionKey) -> usize {
        let models = self.model_names(chat).unwrap_or_default();
        self.window_of(models.first().map_or("", String::as_str)) as usize
    }

    /// Remembers that a request with so many estimated tokens was too long for a model. What is between
    /// half of it, which is tried next, and all of it is not known; a fourth less is a fair guess.
    pub(super) fn learn_overflow(&self, model: &str, estimated: usize) {
        let counted = estimated as f32 * self.learned.factor(model);
        let tokens = counted as usize / 4 * 3 + self.settings.max_tokens as usize;
        self.learned.note_overflow(model, tokens);
    }
}
