//! Requests for reminders: when, and what about.

use crate::base::language::Language;
use crate::base::zone::Zone;
use crate::schedule::edit::{Asker, schedule, split};

/// Characters of a request that is looked through for a time: a reminder is a sentence.
const REQUEST_CHARS: usize = 500;

/// The time and the text of a reminder that a sentence asks for, without politeness around it.
pub fn find(sentence: &str) -> Option<(String, String)> {
    if sentence.chars().count() > REQUEST_CHARS {
        return None;
    }
    let zone = Zone::utc();
    // Only whether it is a time counts here: the tool reckons with the clock.
    let asker = Asker {
        now_ms: 0,
        zone: &zone,
        language: Language::English,
        is_clock_right: false,
    };
    let is_time = |words: &str| schedule(words, None, asker).is_ok();
    let found = english(sentence, asker, &is_time).or_else(|| chinese(sentence, asker, &is_time));
    let (when, text) = found?;
    // Between a time and its text.
    let when = when.trim();
    let when = when.strip_suffix(" to").unwrap_or(when);
    let (when, text) = (when.trim(), text.trim());
    (!when.is_empty() && !text.is_empty()).then(|| (when.to_owned(), text.to_owned()))
}

/// Such as `remind me in 20 minutes to call mum` and `remind me to call mum at 18:00`.
fn english<'a>(
    sentence: &'a str,
    asker: Asker<'_>,
    is_time: &dyn Fn(&str) -> bool,
) -> Option<(&'a str, &'a str)> {
    const BEGINNINGS: [&str; 5] = [
        "remind me ",
        "set a reminder for ",
        "set a reminder ",
        "add a reminder for ",
        "add a reminder ",
    ];
    let begins = |words: &&str| {
        let begin = sentence.get(..words.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(words))
    };
    let rest = &sentence[BEGINNINGS.iter().find(|words| begins(words))?.len()..];
    let about = |text: &'a str| text.strip_prefix("to ").or(text.strip_prefix("about "));
    let Some(text) = about(rest) else {
        return time_first(rest, asker).map(|(when, text)| (when, about(text).unwrap_or(text)));
    };
    let mut ends = text.match_indices(' ').map(|(end, _)| text.split_at(end));
    ends.find(|(_, when)| is_time(when.trim()))
        .map(|(text, when)| (when, text))
}

/// Such as `20分钟后提醒我喝水` and `提醒我20分钟后喝水`.
fn chinese<'a>(
    sentence: &'a str,
    asker: Asker<'_>,
    is_time: &dyn Fn(&str) -> bool,
) -> Option<(&'a str, &'a str)> {
    let (when, text) = sentence.split_once("提醒我")?;
    let when = when.trim_end_matches(['，', ',', ' ']);
    if is_time(when) {
        return Some((when, text));
    }
    if !when.is_empty() {
        return None;
    }
    let ends = text.char_indices().map(|(end, _)| end).skip(1);
    let ends: Vec<usize> = ends.collect();
    let longest = ends.iter().rev().find(|end| is_time(&text[..**end]));
    longest
        .map(|end| text.split_at(*end))
        .or_else(|| time_first(text, asker))
}

/// A text that begins with a time.
fn time_first<'a>(text: &'a str, asker: Asker<'_>) -> Option<(&'a str, &'a str)> {
    let (_, rest) = split(text, None, asker).ok()??;
    Some((&text[..text.len() - rest.len()], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_and_the_text_are_found_in_either_order() {
        for (sentence, when, text) in [
            (
                "remind me in 5 minutes to call mum",
                "in 5 minutes",
                "call mum",
            ),
            (
                "Remind me to call mum in 5 minutes",
                "in 5 minutes",
                "call mum",
            ),
            (
                "remind me tomorrow at 7:00 to stretch",
                "tomorrow at 7:00",
                "stretch",
            ),
            ("remind me to go to bed at 22:00", "at 22:00", "go to bed"),
            (
                "remind me every day at 7:00 to stretch",
                "every day at 7:00",
                "stretch",
            ),
            ("set a reminder for 18:00 to cook", "18:00", "cook"),
            ("remind me at seven to call mum", "at seven", "call mum"),
            (
                "remind me every month on the 1st to pay rent",
                "every month on the 1st",
                "pay rent",
            ),
            (
                "remind me to pay rent on the 15th of each month at 8:00",
                "on the 15th of each month at 8:00",
                "pay rent",
            ),
            (
                "remind me to take pills at 7 every day",
                "at 7 every day",
                "take pills",
            ),
            (
                "remind me at half past seven to buy 3 eggs",
                "at half past seven",
                "buy 3 eggs",
            ),
            (
                "remind me to call mum tomorrow at half past seven",
                "tomorrow at half past seven",
                "call mum",
            ),
            (
                "remind me every year on dec 24 to wrap the presents",
                "every year on dec 24",
                "wrap the presents",
            ),
            (
                "remind me to wrap the presents on dec 24 every year",
                "on dec 24 every year",
                "wrap the presents",
            ),
            ("10分钟后提醒我喝水", "10分钟后", "喝水"),
            ("提醒我10分钟后喝水", "10分钟后", "喝水"),
            ("明天7:00提醒我跑步", "明天7:00", "跑步"),
        ] {
            let found = find(sentence);
            let found = found.as_ref().map(|(when, text)| (&**when, &**text));
            assert_eq!(found, Some((when, text)), "{sentence}");
        }
        for sentence in [
            "remind me",
            "remind me to call mum",
            "remind me in 5 minutes",
            "提醒我喝水",
        ] {
            assert_eq!(find(sentence), None, "{sentence}");
        }
    }
}
