//! How many tokens a request may have, and what was learned from those that were sent.

use crate::base::chat::ToolSpec;
use crate::base::limits::agent::{HISTORY_FLOOR_TOKENS, SMALL_WINDOW_TOKENS};
use crate::base::message::SessionKey;
use crate::base::tokens;
use crate::models;
use crate::tools::agents::plan;

use super::Agent;

/// Tokens of a model's window, where neither the configuration nor its server tells.
const WINDOW_TOKENS: u32 = 128_000;
/// The part of such a window, and of one that a server told, that a reply may have: a fourth.
const REPLY_SHARE: u32 = 4;

/// The tools of a model with a small window.
const SMALL_TOOLS: [&str; 5] = ["read_file", "write_file", "exec", "cron", "message"];

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
        let window = self.window_of(model);
        let window = window.saturating_sub(self.reply_tokens(model));
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

    /// Tokens of a model's window: as configured or as its server tells, or less where a request was too long for
    /// it.
    pub(super) fn window_of(&self, model: &str) -> u32 {
        let configured = self.settings.context_window_tokens;
        let known = configured.or_else(|| self.learned.told_window(model));
        let known = known.unwrap_or(WINDOW_TOKENS);
        let learned = self.learned.window(model);
        learned.map_or(known, |learned| learned.min(known))
    }

    /// Learns the window of the model that is asked next, unless it is configured.
    pub(super) fn learn_window(&self, models: &mut models::Turn<'_>) {
        if self.settings.context_window_tokens.is_none()
            && let Some(window) = models.window()
        {
            self.learned
                .note_told_window(&models.model_name(), window.tokens);
        }
    }

    /// Whether a model's window has no room for all that goes along with a conversation. Then its requests have the
    /// small prompt and [`SMALL_TOOLS`].
    pub(super) fn is_small(&self, model: &str) -> bool {
        self.window_of(model) < SMALL_WINDOW_TOKENS
    }

    /// Leaves out the tools that a model's window has no room for. Without its tools no agent could work on a plan.
    pub(super) fn fit_tools(&self, model: &str, specs: &mut Vec<ToolSpec>) {
        if self.is_small(model) {
            let is_of_plan = |spec: &ToolSpec| plan::reads(&spec.name).is_some();
            specs.retain(|spec| SMALL_TOOLS.contains(&&*spec.name) || is_of_plan(spec));
        }
    }

    /// Tokens that a reply of a model may have: as configured, and of a small window no more than its part.
    pub(super) fn reply_tokens(&self, model: &str) -> u32 {
        let configured = self.settings.max_tokens;
        let is_told = self.settings.context_window_tokens.is_none()
            && self.learned.told_window(model).is_some();
        if is_told || self.is_small(model) {
            configured.min(self.window_of(model) / REPLY_SHARE)
        } else {
            configured
        }
    }

    /// Tokens that thoughts may have beside the reply to a request of so many estimated tokens: half of what is left of
    /// the model's window, where that is known; an estimate may be too low.
    pub(super) fn thoughts_max(&self, model: &str, estimated: usize) -> u32 {
        let is_known = self.settings.context_window_tokens.is_some()
            || self.learned.told_window(model).is_some()
            || self.learned.window(model).is_some();
        if !is_known {
            return u32::MAX;
        }
        let counted = (estimated as f32 * self.learned.factor(model)) as u32;
        let used = counted.saturating_add(self.reply_tokens(model));
        self.window_of(model).saturating_sub(used) / 2
    }

    /// Tokens of the window of the model that is asked first in a chat, and those of them that its reply may have.
    pub(super) fn window_of_chat(&self, chat: &SessionKey) -> (usize, usize) {
        let models = self.model_names(chat).unwrap_or_default();
        let model = models.first().map_or("", String::as_str);
        let (window, reply) = (self.window_of(model), self.reply_tokens(model));
        (window as usize, reply as usize)
    }

    /// Remembers that a request with so many estimated tokens was too long for a model. What is between
    /// half of it, which is tried next, and all of it is not known; a fourth less is a fair guess.
    pub(super) fn learn_overflow(&self, model: &str, estimated: usize) {
        let counted = estimated as f32 * self.learned.factor(model);
        let tokens = counted as usize / 4 * 3 + self.reply_tokens(model) as usize;
        self.learned.note_overflow(model, tokens);
    }
}
