//! PURE: what may be meant by a rule about something that cannot be watched.

use super::{EXAMPLES, Parser, Quantity, VALUE_EXAMPLES, examples, parse_spelled, texts};
use crate::text::markup::inline_code;
use crate::text::{nearest, truncate_chars};

impl Parser<'_> {
    /// That nothing of this name can be watched, with the rule that may be meant: the typed one with the nearest name, or
    /// the example of that name.
    pub(super) fn unknown(&self, name: &str) -> String {
        let quantities = Quantity::NAMES
            .iter()
            .flat_map(|names| names.iter().copied());
        let known = EXAMPLES.iter().map(|(word, _)| *word).chain(quantities);
        let near = nearest(name, known);
        let row = near.and_then(|near| {
            let mut names = Quantity::NAMES.iter();
            names.position(|names| names.contains(&near))
        });
        let line = row.and_then(|row| VALUE_EXAMPLES.get(row).copied());
        let of_word = || EXAMPLES.iter().find(|(word, _)| Some(*word) == near);
        let line = line.or_else(|| of_word().map(|(_, line)| *line));
        let corrected = near.filter(|near| *near != name);
        let corrected = corrected.map(|near| format!("{near} {}", self.rest.trim()));
        let corrected =
            corrected.filter(|rule| parse_spelled(rule, self.spelling, self.language).is_ok());
        let name = inline_code(truncate_chars(name, 60));
        match corrected.as_deref().or(line) {
            Some(line) => {
                let line = inline_code(&(self.spelling)(line));
                texts::unknown_near(self.language, &name, &line)
            }
            None => texts::unknown(self.language, &name, &examples(self.spelling)),
        }
    }
}
