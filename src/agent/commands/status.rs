//! `/status`: the model, and how much of everything is used.

use super::usage::{describe_price, format_usage};
use super::{CommandAnswer, Invocation};
use crate::agent::{Agent, texts};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::SessionKey;
use crate::store::session::store;
use crate::text::format_tokens;
use crate::text::markup::inline_code;
use std::path::Path;

/// Where the agent keeps what it should not forget.
const MEMORY_FILE: &str = "memory/MEMORY.md";

impl Agent {
    /// Answers `/status`, a line for each fact.
    pub fn answer_status(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let Invocation {
            key,
            folder,
            language,
            ..
        } = *invocation;
        let models = self.selection.models_of(key.as_str()).ok();
        let price = models.and_then(|models| describe_price(&models, language));
        let thinking = (!self.lacks_model(key)).then(|| self.thinking_line(key, language));
        let conversation = match store::count_window(folder, key, self.settings.memory_window)? {
            1 => texts::status_message(language, key),
            count => texts::status_messages(language, key, &count),
        };
        let (context, cache) = self.context_lines(key, language);
        let usage = format_usage(self.ledger.counts().today(), language);
        let label = self.label.as_deref().map(inline_code);
        let lines = [
            label.map(|label| texts::status_agent(language, &label)),
            Some(self.model_line(key, language)),
            price,
            thinking,
            Some(conversation),
            Some(context),
            cache,
            Some(texts::status_today(language, &usage)),
            Some(self.memory_line(language)),
            Some(texts::status_workspace(language, &self.host_info.workspace)),
        ];
        let lines: Vec<_> = lines.into_iter().flatten().collect();
        Ok(lines.join("\n").into())
    }

    /// How much of the model's window the conversation takes, as the last request has shown, and how much
    /// of the last turn came from the cache.
    fn context_lines(&self, key: &SessionKey, language: Language) -> (String, Option<String>) {
        let window = self.window_of_chat(key).0 as u64;
        let Some(turn) = self.ledger.last_turn(key.as_str()) else {
            let text = texts::status_context_unused(language, &format_tokens(window));
            return (text, None);
        };
        let percent = turn.context.saturating_mul(100) / window.max(1);
        let context = texts::status_context(
            language,
            &format_tokens(turn.context),
            &format_tokens(window),
            &format_tokens(window.saturating_sub(turn.context)),
            &percent,
        );
        let cached = turn.cached.saturating_mul(100);
        let cached = cached.checked_div(turn.input).unwrap_or(0);
        (context, Some(texts::status_cache(language, &cached)))
    }

    fn memory_line(&self, language: Language) -> String {
        let workspace = self.toolbox.workspace();
        let file = workspace.open_read(Path::new(MEMORY_FILE));
        let bytes = file.map(|file| file.metadata().map_or(0, |found| found.len()));
        match bytes {
            Ok(bytes @ 1..) => {
                let size = format!("{:.1}", bytes as f64 / 1e3);
                texts::status_memory(language, &size)
            }
            _ => texts::status_no_memory(language).to_owned(),
        }
    }
}
