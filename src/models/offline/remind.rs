//! Requests for reminders: when, and what about.

use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::zone::Zone;
use crate::schedule::edit::{self, Asker, schedule, split};
use crate::schedule::when::{ONE_TIME, has_time, impossible_time};

/// Characters of a request that is looked through for a time: a reminder is a sentence.
const REQUEST_CHARS: usize = 500;

/// How other wishes begin that are reminders, and their texts where they have none.
const ALARMS: [(&str, &str); 8] = [
    ("set a timer for ", "time is up"),
    ("set timer for ", "time is up"),
    ("start a timer for ", "time is up"),
    ("timer for ", "time is up"),
    ("set an alarm for ", "alarm"),
    ("set the alarm for ", "alarm"),
    ("wake me up ", "wake up"),
    ("wake me ", "wake up"),
];

/// The time and the text of a reminder.
type When<'a> = (&'a str, &'a str);

/// The time and the text of a reminder that a sentence asks for, without politeness around it. Fails when it names a
/// time that there is not.
pub fn find(sentence: &str) -> Result<Option<(String, String)>> {
    if sentence.chars().count() > REQUEST_CHARS {
        return Ok(None);
    }
    let zone = Zone::utc();
    let asker = reader(&zone);
    let is_time = |words: &str| schedule(words, None, asker).is_ok();
    let found = match english(sentence, asker, &is_time)? {
        Some(found) => Some(found),
        None => chinese(sentence, asker, &is_time)?,
    };
    let Some((when, text)) = found else {
        return Ok(None);
    };
    // Between a time and its text.
    let when = when.trim();
    let when = when.strip_suffix(" to").unwrap_or(when);
    let (when, text) = (when.trim(), text.trim());
    let is_whole = !when.is_empty() && !text.is_empty();
    Ok(is_whole.then(|| (when.to_owned(), text.to_owned())))
}

/// The hour that a number between the day and the text of a reminder may stand for, and the reminder with it.
pub fn suggest_hour(sentence: &str) -> Option<(String, String)> {
    let (when, text) = find(sentence).ok()??;
    edit::suggest_hour(&when, &text, reader(&Zone::utc()))
}

/// Only whether it is a time counts here: the tool reckons with the clock.
fn reader(zone: &Zone) -> Asker<'_> {
    Asker {
        now_ms: 0,
        zone,
        language: Language::English,
        is_clock_right: false,
    }
}

/// Whether a sentence is a wish for a reminder in other words, such as `wake me at 7` and `in 5 minutes tea`.
pub fn is_alarm(sentence: &str) -> bool {
    let is_later = begins_with(sentence, "in ");
    let is_short = sentence.chars().count() <= REQUEST_CHARS;
    let zone = Zone::utc();
    let is_time =
        || is_later && is_short && !matches!(split(sentence, None, reader(&zone)), Ok(None));
    ALARMS.iter().any(|(begin, _)| begins_with(sentence, begin)) || is_time()
}

fn begins_with(sentence: &str, words: &str) -> bool {
    let begin = sentence.get(..words.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(words))
}

/// Such as `set a timer for 3 minutes`, `wake me at 7` and `in 5 minutes tea`.
fn alarm<'a>(sentence: &'a str, asker: Asker<'_>) -> Result<Option<When<'a>>> {
    let mut all = ALARMS.iter();
    let found = all.find(|(begin, _)| begins_with(sentence, begin));
    let (rest, usual) = match found {
        Some((begin, usual)) => (&sentence[begin.len()..], *usual),
        None if begins_with(sentence, "in ") => (sentence, ""),
        None => return Ok(None),
    };
    let Some((when, text)) = time_first(rest, asker)? else {
        return Ok(None);
    };
    let text = ["to ", "for ", "about "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    Ok(Some((when, if text.is_empty() { usual } else { text })))
}

/// Such as `remind me in 20 minutes to call mum` and `remind me to call mum at 18:00`.
fn english<'a>(
    sentence: &'a str,
    asker: Asker<'_>,
    is_time: &dyn Fn(&str) -> bool,
) -> Result<Option<When<'a>>> {
    const BEGINNINGS: [&str; 5] = [
        "remind me ",
        "set a reminder for ",
        "set a reminder ",
        "add a reminder for ",
        "add a reminder ",
    ];
    let mut beginnings = BEGINNINGS.iter();
    let Some(beginning) = beginnings.find(|words| begins_with(sentence, words)) else {
        return alarm(sentence, asker);
    };
    let rest = &sentence[beginning.len()..];
    let about = |text: &'a str| text.strip_prefix("to ").or(text.strip_prefix("about "));
    let Some(text) = about(rest) else {
        let found = time_first(rest, asker)?;
        return Ok(found.map(|(when, text)| (when, about(text).unwrap_or(text))));
    };
    let mut ends = text.match_indices(' ').map(|(end, _)| text.split_at(end));
    let found = ends.find(|(_, when)| is_time(when.trim()));
    // "take pills on monday 8am and 9am"
    if found.is_some_and(|(text, _)| text.ends_with(" and")) {
        return Err(Error::Usage(ONE_TIME.to_owned()));
    }
    // "take pills at 26:00", "take pills at 26:00 tomorrow", "take pills on feb 30"
    let text = found.map_or(text, |(text, _)| text);
    let is_day = found.is_none_or(|(_, when)| !has_time(when));
    for word in [" at ", " on "] {
        let last = text.rfind(word).and_then(|at| text.get(at..));
        let is_end = |last: &&str| found.is_none() || last.split_whitespace().count() == 2;
        if let Some(last) = last.map(str::trim).filter(is_end)
            && is_day
        {
            time_first(last, asker)?;
        }
    }
    Ok(found.map(|(text, when)| (when, text)))
}

/// Such as `20分钟后提醒我喝水` and `提醒我20分钟后喝水`.
fn chinese<'a>(
    sentence: &'a str,
    asker: Asker<'_>,
    is_time: &dyn Fn(&str) -> bool,
) -> Result<Option<When<'a>>> {
    let Some((when, text)) = sentence.split_once("提醒我") else {
        return Ok(None);
    };
    let when = when.trim_end_matches(['，', ',', ' ']);
    if is_time(when) {
        return Ok(Some((when, text)));
    }
    if !when.is_empty() {
        time_first(when, asker)?;
        return Ok(None);
    }
    let first = time_first(text, asker)?;
    let ends = text.char_indices().map(|(end, _)| end).skip(1);
    let ends: Vec<usize> = ends.collect();
    let longest = ends.iter().rev().find(|end| is_time(&text[..**end]));
    Ok(longest.map(|end| text.split_at(*end)).or(first))
}

/// A text that begins with a time.
fn time_first<'a>(text: &'a str, asker: Asker<'_>) -> Result<Option<When<'a>>> {
    let Some((_, rest)) = split(text, None, asker)? else {
        return match impossible_time(text) {
            Some(wrong) => Err(Error::Usage(wrong)),
            None => Ok(None),
        };
    };
    Ok(Some((&text[..text.len() - rest.len()], rest)))
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
            let found = find(sentence).unwrap();
            let found = found.as_ref().map(|(when, text)| (&**when, &**text));
            assert_eq!(found, Some((when, text)), "{sentence}");
        }
        for sentence in [
            "remind me",
            "remind me to call mum",
            "remind me in 5 minutes",
            "提醒我喝水",
            "in 5 minutes",
            "in the oven",
            "wake me gently",
        ] {
            assert_eq!(find(sentence).unwrap(), None, "{sentence}");
        }
    }

    #[test]
    fn parts_of_hours_and_the_day_after_tomorrow_are_times() {
        for (sentence, when) in [
            ("remind me in 1.5 hours to call", "in 1.5 hours"),
            ("in two and a half hours to call", "in two and a half hours"),
            (
                "remind me to call the day after tomorrow at 9",
                "the day after tomorrow at 9",
            ),
        ] {
            let found = find(sentence).unwrap().unwrap();
            assert_eq!(found, (when.to_owned(), "call".to_owned()), "{sentence}");
        }
    }

    #[test]
    fn a_time_that_there_is_not_is_refused() {
        for (sentence, wrong) in [
            ("remind me every day at 26:00 to take pills", "at 26:00"),
            ("remind me at 26:00 to take pills", "at 26:00"),
            ("remind me tomorrow at 7:75 to take pills", "at 7:75"),
            ("remind me to take pills at 26:00", "at 26:00"),
            ("remind me to take pills every day at 25:00", "at 25:00"),
            ("remind me to take pills at 26:00 tomorrow", "at 26:00"),
            ("提醒我每天26点吃药", "26点"),
            ("每天26点提醒我吃药", "26点"),
        ] {
            let error = find(sentence).unwrap_err().to_string();
            let reason = format!("\"{wrong}\" is not a time of day");
            assert!(error.starts_with(&reason), "{sentence}: {error}");
        }
        for (sentence, reason) in [
            ("remind me on feb 30 x", "\"on feb 30\" never comes"),
            ("remind me on 31.2. to x", "\"on 31.2.\" never comes"),
            ("remind me to x on feb 30", "\"on feb 30\" never comes"),
            ("remind me in -5 minutes x", "\"in -5 minutes\" has passed"),
        ] {
            let error = find(sentence).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{sentence}: {error}");
        }
        let about_a_street = "remind me to meet bob at 26 in 20 minutes";
        assert!(find(about_a_street).unwrap().is_some());
    }

    #[test]
    fn a_wish_in_other_words_is_a_reminder_too() {
        for (sentence, when, text) in [
            ("in 5 minutes tea", "in 5 minutes", "tea"),
            ("In 2 hours to call mum", "In 2 hours", "call mum"),
            ("set a timer for 3 minutes", "3 minutes", "time is up"),
            ("Set a timer for 3 minutes for eggs", "3 minutes", "eggs"),
            ("wake me at 7", "at 7", "wake up"),
            ("wake me up tomorrow at 6:30", "tomorrow at 6:30", "wake up"),
        ] {
            assert!(is_alarm(sentence), "{sentence}");
            let found = find(sentence).unwrap().unwrap();
            assert_eq!(found, (when.to_owned(), text.to_owned()), "{sentence}");
        }
        for sentence in [
            "in the oven",
            "in my opinion",
            "set the table",
            "list files",
        ] {
            assert!(!is_alarm(sentence), "{sentence}");
        }
    }

    #[test]
    fn two_times_are_refused() {
        for sentence in [
            "remind me on monday 8am and 9am to take pills",
            "remind me to take pills on monday 8am and 9am",
            "提醒我明天8点和9点吃药",
        ] {
            let error = find(sentence).unwrap_err().to_string();
            assert!(
                error.starts_with("There are two times"),
                "{sentence}: {error}"
            );
        }
    }

    #[test]
    fn a_number_behind_the_day_may_be_the_hour() {
        let meant = |sentence| suggest_hour(sentence).map(|(_, meant)| meant);
        let with_hour = Some("tomorrow 7:00 call mum".to_owned());
        assert_eq!(meant("remind me tomorrow 7 call mum"), with_hour);
        assert_eq!(meant("remind me tomorrow 7 to call mum"), with_hour);
        assert_eq!(meant("remind me tomorrow 3 eggs"), None);
        assert_eq!(meant("remind me tomorrow at 7 to call mum"), None);
    }
}
