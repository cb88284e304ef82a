//! PURE: what is known of a watch, in words.

use crate::base::language::Language;
use crate::board::watch::notice::format_span;
use crate::board::watch::{Moment, Subject, Told, What};
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
        state = match now.since(since) {
            Some(span) => texts::state_alarm(language, &state, &format_span(span, language)),
            None => texts::state_alarm_now(language, &state),
        };
    }
    match entry.and_then(|entry| entry.muted?.left(now)) {
        Some(left) => texts::state_muted(language, &state, &format_span(left, language)),
        None => state,
    }
}

/// What a look has found, as a part of a line.
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
            (What::Value { quantity, .. }, Some(value)) => return quantity.format(value),
            (what, Some(value)) => describe_flag(what, value > 0.5, language).to_owned(),
        },
        (Subject::BuiltIn(_), None) if blind.is_some() => return blind.unwrap_or_default(),
        (Subject::BuiltIn(_), Some(value)) if value > 0.5 => texts::alarm(language).to_owned(),
        (Subject::BuiltIn(_), _) => texts::fine(language).to_owned(),
    };
    match (blind, look.note.is_empty()) {
        (Some(why), _) => texts::with_note(language, &state, &why),
        (None, true) => state,
        (None, false) => texts::with_note(language, &state, &note),
    }
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
