//! PURE: what is known of a watch, in words.

use crate::base::language::Language;
use crate::board::watch::notice::format_span;
use crate::board::watch::{Blind, Entry, Moment, SEEN_PAUSE_MS, Subject, Told, What};
use crate::gateway::watch::{Item, Look, Shared, texts};
use crate::text::markup::inline_code;
use crate::text::{ellipsize_chars, one_line};

use super::NOTE_CHARS;

/// How an item of the list is.
pub fn describe_state(item: &Item, shared: &Shared, now: Moment, language: Language) -> String {
    let entry = shared.entries.get(&item.key);
    if item.is_paused {
        return texts::state_paused(language).to_owned();
    }
    if entry.is_some_and(|entry| entry.is_off) {
        return texts::state_off(language).to_owned();
    }
    let look = shared.found.get(&item.key).cloned().unwrap_or_default();
    let mut state = describe_look(item, &look, language);
    if let Some(since) = entry.and_then(|entry| entry.tracker.raised_since()) {
        // It may be well again, but not for long enough.
        if !state.starts_with(sign_of(item)) {
            state = signed(item, &state);
        }
        if let Some(span) = now.since(since) {
            state = texts::state_alarm(language, &state, &format_span(span, language));
        }
    }
    match entry.and_then(|entry| entry.muted?.left(now)) {
        Some(left) => texts::state_muted(language, &state, &format_span(left, language)),
        None => state,
    }
}

/// Whether there is nothing to say about an item: it is watched, makes itself heard, and all is well, or the board does
/// not have what it is about.
pub fn is_well(item: &Item, shared: &Shared) -> bool {
    let entry = shared.entries.get(&item.key);
    let is_calm = |entry: &Entry| {
        !entry.is_off && entry.muted.is_none() && entry.tracker.raised_since().is_none()
    };
    let look = shared.found.get(&item.key).cloned().unwrap_or_default();
    let is_bad = describe_look(item, &look, Language::English).starts_with(sign_of(item));
    let is_blind = look.blind.is_some() && is_reported(item, shared);
    entry.is_none_or(|entry| is_calm(entry)) && !is_bad && !is_blind
}

/// Whether the board has what an item is about.
pub fn is_reported(item: &Item, shared: &Shared) -> bool {
    let look = shared.found.get(&item.key);
    look.is_none_or(|look| look.blind != Some(Blind::NotReported))
}

/// The sign that the alarm of an item has: not everything that is waited for is bad.
fn sign_of(item: &Item) -> &'static str {
    match item.rule().map(|rule| &rule.what) {
        Some(What::Command {
            told: Told::Success,
            ..
        }) => "✅",
        Some(What::Pid(_)) => "🏁",
        _ => "🔴",
    }
}

fn signed(item: &Item, state: &str) -> String {
    format!("{} {state}", sign_of(item))
}

/// What a look has found, as a part of a line, with the sign of the alarm where it is one.
pub fn describe_look(item: &Item, look: &Look, language: Language) -> String {
    let note = inline_code(&ellipsize_chars(
        &one_line(&look.note, NOTE_CHARS),
        NOTE_CHARS,
    ));
    let blind = look.blind.as_ref().map(|why| why.describe(language));
    let state = match (&item.subject, look.value) {
        (Subject::Rule(rule), value) => match (&rule.what, value) {
            (What::File { .. } | What::Log { .. }, _) => {
                let last = match look.note.is_empty() {
                    true => texts::no_line(language).to_owned(),
                    false => texts::last_line(language, &note),
                };
                return match blind {
                    Some(why) if look.note.is_empty() => why,
                    Some(why) => texts::with_note(language, &last, &why),
                    None => last,
                };
            }
            (_, None) if blind.is_some() => return blind.unwrap_or_default(),
            (_, None) => texts::unknown_value(language).to_owned(),
            (
                What::Value {
                    quantity,
                    is_over,
                    threshold,
                    ..
                },
                Some(value),
            ) => {
                let text = quantity.format(value);
                let is_beyond = match is_over {
                    true => value > *threshold,
                    false => value < *threshold,
                };
                return match is_beyond {
                    true => signed(item, &text),
                    false => text,
                };
            }
            (what, Some(value)) if value > 0.5 => signed(item, describe_flag(what, true, language)),
            (what, Some(_)) => describe_flag(what, false, language).to_owned(),
        },
        (Subject::BuiltIn(_), None) if blind.is_some() => return blind.unwrap_or_default(),
        (Subject::BuiltIn(_), Some(value)) if value > 0.5 => signed(item, texts::alarm(language)),
        (Subject::BuiltIn(_), _) => texts::fine(language).to_owned(),
    };
    match (blind, look.note.is_empty()) {
        (Some(why), _) => texts::with_note(language, &state, &why),
        (None, true) => state,
        (None, false) => texts::with_note(language, &state, &note),
    }
}

/// The confirmation of a rule, with how often it tells of lines.
pub fn with_pause(added: String, what: &What, language: Language) -> String {
    if !matches!(what, What::File { .. } | What::Log { .. }) {
        return added;
    }
    let pause = texts::at_most_every(language, &(SEEN_PAUSE_MS / 60_000));
    format!("{added} {pause}")
}

fn describe_flag(what: &What, is_bad: bool, language: Language) -> &'static str {
    match (what, is_bad) {
        (What::Service(_) | What::Pid(_), false) => texts::running(language),
        (What::Service(_) | What::Pid(_), true) => texts::not_running(language),
        (What::Host { .. }, false) => texts::answers(language),
        (What::Host { .. }, true) => texts::does_not_answer(language),
        (What::Port(_), false) => texts::open(language),
        (What::Port(_), true) => texts::closed(language),
        (What::Command { told, .. }, is_bad) => match is_bad == (*told == Told::Success) {
            true => texts::succeeds(language),
            false => texts::fails(language),
        },
        (_, false) => texts::fine(language),
        (_, true) => texts::alarm(language),
    }
}
