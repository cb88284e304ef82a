//! What `/compact` answers.

use crate::agent::texts;
use crate::base::language::Language;
use crate::text::format_tokens;

/// How many turns have become a summary, and the tokens of the conversation before and after that.
pub fn describe_compacted(
    turns: usize,
    (before, after): (usize, usize),
    language: Language,
) -> String {
    let tokens = |count: usize| format_tokens(count as u64);
    texts::compacted(language, &turns, &tokens(before), &tokens(after))
}

/// The answer where all that could be a summary is one.
pub fn nothing_to_compact(language: Language) -> String {
    texts::nothing_to_compact(language).to_owned()
}
