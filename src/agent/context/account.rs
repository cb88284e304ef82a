//! What of the model's window is used, part by part: the numbers of `/context` and `peacrab context`.

use std::path::Path;

use crate::agent::Agent;
use crate::base::chat::{Entry, EntryKind, ToolSpec};
use crate::base::error::Result;
use crate::base::message::SessionKey;
use crate::base::tokens;
use crate::store::session::store;

use super::prompt::Prompt;

/// Tokens of an entry beside its text: its role and what separates it from the next one.
const ENTRY_TOKENS: usize = 4;
/// Tokens that an image counts as, however long its file is.
const IMAGE_TOKENS: usize = 1500;

/// Bytes and tokens of something that goes to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of the text.
    pub bytes: usize,
    /// Tokens, estimated.
    pub tokens: usize,
}

impl Weight {
    /// The weight of a text.
    pub fn of(text: &str) -> Self {
        Self {
            bytes: text.len(),
            tokens: tokens::estimate(text),
        }
    }

    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.tokens += other.tokens;
    }
}

impl std::iter::Sum for Weight {
    fn sum<I: Iterator<Item = Self>>(weights: I) -> Self {
        let mut sum = Self::default();
        weights.for_each(|weight| sum.add(weight));
        sum
    }
}

/// The account of a conversation's next request.
#[derive(Clone, Debug)]
pub struct Account {
    /// The model that is asked first.
    pub model: String,
    /// The system prompt.
    pub prompt: Prompt,
    /// The number of tools.
    pub tools: usize,
    /// What their descriptions weigh.
    pub tools_weight: Weight,
    /// Turns of the conversation that go to the model.
    pub turns: usize,
    /// Entries of these turns.
    pub entries: usize,
    /// What they weigh.
    pub history: Weight,
    /// What the runtime's facts weigh.
    pub facts: Weight,
    /// The model's window, in tokens.
    pub window: usize,
    /// Tokens that are kept for the answer.
    pub answer: usize,
}

impl Account {
    /// What all but the answer weighs.
    pub fn used(&self) -> Weight {
        let parts = self.prompt.parts.iter().map(|part| Weight::of(&part.text));
        let others = [self.tools_weight, self.history, self.facts];
        parts.chain(others).sum()
    }

    /// Tokens that are left for the conversation.
    pub fn left(&self) -> usize {
        self.window.saturating_sub(self.used().tokens + self.answer)
    }
}

impl Agent {
    /// Weighs what the next request of a conversation would contain, without its message. Its journal
    /// is not locked: a turn may be running.
    pub fn account(&self, folder: &Path, key: &SessionKey) -> Result<Account> {
        let facts = self.runtime_facts(key, None);
        let facts = Entry::new(EntryKind::Note, facts);
        let model = self.model_names(key)?.into_iter().next();
        let model = model.unwrap_or_default();
        let prompt = self.prompt(&model);
        let mut specs = self.toolbox.specs_for(key.as_str());
        self.fit_tools(&model, &mut specs);
        let budget = self
            .budget(&model, &prompt.text(), &facts.content, &specs)
            .history;
        let window = self.settings.memory_window;
        let mut conversation = store::read_conversation(folder, key, window)?;
        let fitted = conversation.fit(window, budget, &facts);
        // The facts are among the entries.
        let is_history = |entry: &&&Entry| !std::ptr::eq::<Entry>(**entry, &facts);
        let history = fitted.entries.iter().filter(is_history);
        let history: Vec<Weight> = history.map(|entry| weigh_entry(entry)).collect();
        Ok(Account {
            prompt,
            tools: specs.len(),
            tools_weight: specs.iter().map(weigh_tool).sum(),
            entries: history.len(),
            history: history.into_iter().sum(),
            facts: weigh_entry(&facts),
            turns: conversation.count_turns(),
            window: self.window_of(&model) as usize,
            answer: self.reply_tokens(&model) as usize,
            model,
        })
    }
}

fn weigh_tool(spec: &ToolSpec) -> Weight {
    let texts = [&spec.name, &spec.description, &spec.parameters];
    texts.into_iter().map(|text| Weight::of(text)).sum()
}

fn weigh_entry(entry: &Entry) -> Weight {
    let calls = entry.tool_calls.iter();
    let calls = calls.flat_map(|call| [call.name.as_str(), &call.arguments]);
    let mut weight: Weight = calls.chain([entry.content.as_str()]).map(Weight::of).sum();
    weight.tokens += ENTRY_TOKENS + entry.images.len() * IMAGE_TOKENS;
    weight
}
