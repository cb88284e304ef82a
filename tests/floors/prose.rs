//! What people read, and the phrases that are not in it.

use crate::phrases::{FINE, PHRASES};
use crate::source::{documentation, strings};

/// The faults in the strings of one source, and in its documentation where clap prints that.
pub fn check_strings(path: &str, text: &str) -> Vec<String> {
    let mut read = strings(text);
    // A key, a name or a tag is not read as a sentence.
    read.retain(|string| string.text.trim().contains(char::is_whitespace));
    if text.contains("clap::") {
        read.extend(documentation(text));
    }
    let faults = |word: &crate::source::Word| check_text(path, word.line, &word.text);
    read.iter().flat_map(faults).collect()
}

/// The faults in a document.
pub fn check_document(path: &str, text: &str) -> Vec<String> {
    let paragraphs = text.split("\n\n").scan(1, |line, paragraph| {
        let first = *line;
        *line += paragraph.matches('\n').count() + 2;
        Some((first, paragraph))
    });
    paragraphs
        .flat_map(|(line, paragraph)| check_text(path, line, paragraph))
        .collect()
}

/// The faults in a text that begins on a line.
fn check_text(path: &str, line: usize, text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ").to_lowercase();
    let fault = |(phrase, example): &(&str, &str)| {
        let around = excerpt(&text, find(&text, phrase)?);
        Some(format!(
            "{path}:{line}: {phrase:?} in \u{201c}{around}\u{201d}; say it as in \u{201c}{example}\u{201d}"
        ))
    };
    PHRASES.iter().filter_map(fault).collect()
}

/// Where the phrase is in the text as whole words, and is not fine there.
fn find(text: &str, phrase: &str) -> Option<usize> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut found = text.match_indices(phrase).map(|(at, _)| at);
    found.find(|at| {
        let (before, after) = (&text[..*at], &text[at + phrase.len()..]);
        let goes_on = phrase.ends_with(is_word) && after.starts_with(is_word);
        !before.ends_with(is_word) && !goes_on && !is_fine(before, phrase, after)
    })
}

/// Some words around a place.
fn excerpt(text: &str, at: usize) -> &str {
    const AROUND: usize = 40;
    let start = text.floor_char_boundary(at.saturating_sub(AROUND));
    &text[start..text.floor_char_boundary(at + AROUND)]
}

fn is_fine<'a>(before: &'a str, phrase: &str, after: &'a str) -> bool {
    let words = |text: &'a str| text.split(|char: char| !char.is_alphanumeric());
    let is_filled = |word: &&str| !word.is_empty();
    let last = words(before).rfind(is_filled).unwrap_or_default();
    let next = words(after).find(is_filled).unwrap_or_default();
    FINE.iter().any(|(of, befores, afters)| {
        *of == phrase && (befores.contains(&last) || afters.contains(&next))
    })
}
