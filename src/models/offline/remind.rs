//! Requests for reminders, when and what about, and for the end of one.

use super::words::has;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::zone::Zone;
use crate::schedule::Schedule;
use crate::schedule::edit::{self, Asker, schedule, split};
use crate::schedule::when::{LINKS, ONE_TIME, has_time, impossible_time};

/// Characters of a request that is looked through for a time: a reminder is a sentence.
const REQUEST_CHARS: usize = 500;

/// How requests for reminders begin.
const BEGINNINGS: [&str; 14] = [
    "remind me ",
    "set a reminder ",
    "set reminder ",
    "add a reminder ",
    "add reminder ",
    "create a reminder ",
    "make a reminder ",
    "new reminder ",
    "reminder: ",
    "reminder ",
    "don't let me forget ",
    "dont let me forget ",
    "don't forget ",
    "dont forget ",
];

/// How other wishes begin that are reminders, and their texts where they have none.
const ALARMS: [(&str, &str); 4] = [
    ("timer ", TIMER),
    ("alarm ", "alarm"),
    ("wake me up ", "wake up"),
    ("wake me ", "wake up"),
];
const TIMER: &str = "time is up";

/// The time and the text of a reminder.
type When = (String, String);

/// The time and the text of a reminder that a sentence asks for, without politeness around it. Fails when it names a
/// time that there is not.
pub fn find(sentence: &str) -> Result<Option<When>> {
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
    let is_end = |char: char| char.is_whitespace() || ",，".contains(char);
    let trimmed = found.map(|(when, text)| {
        let text = text.trim().trim_end_matches(is_end);
        (when.trim().to_owned(), text.to_owned())
    });
    Ok(trimmed.filter(|(when, text)| !when.is_empty() && !text.is_empty()))
}

/// The hour that a number between the day and the text of a reminder may stand for, and the reminder with it.
pub fn suggest_hour(sentence: &str) -> Option<(String, String)> {
    let (when, text) = find(sentence).ok()??;
    edit::suggest_hour(&when, &text, reader(&Zone::utc()))
}

/// The text of a request for a reminder that lacks a time, with the word before it.
pub fn text_without_time(sentence: &str) -> Option<&str> {
    let rest = beginning(sentence).or_else(|| sentence.strip_prefix("提醒我"))?;
    let zone = Zone::utc();
    let is_timeless = matches!(split(rest, None, reader(&zone)), Ok(None));
    (is_timeless && !rest.trim().is_empty()).then_some(rest.trim())
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

/// What follows the beginning of a request for a reminder.
pub fn beginning(sentence: &str) -> Option<&str> {
    let found = BEGINNINGS.iter().find(|words| begins_with(sentence, words));
    found.map(|words| without(&sentence[words.len()..], &["please ", "pls ", "for "]))
}

/// Whether a sentence is a wish for a reminder, also in other words, such as `wake me at 7` and `in 5 minutes tea`.
pub fn is_wish(sentence: &str) -> bool {
    let names = sentence.to_lowercase().contains("remind") || sentence.contains("提醒");
    names || beginning(sentence).is_some() || strip_alarm(sentence).is_some() || is_bare(sentence)
}

/// Whether a sentence is a time and a text, such as `tomorrow gym`, and does not tell something, as `tomorrow is my
/// birthday` does.
fn is_bare(sentence: &str) -> bool {
    const STARTS: &str = "in at on every a an set start mon tue wed thu fri sat sun";
    const PARTS: &str = "morning noon afternoon evening midnight";
    const TELLING: &str = "is was will would are were has had have can i it we you he she they ago before after of \
        what how why who when where";
    let is_named = sentence.to_lowercase().contains("remind") || sentence.contains("提醒");
    if is_named || sentence.chars().count() > REQUEST_CHARS {
        return false;
    }
    let zone = Zone::utc();
    let asker = reader(&zone);
    let found = split(without_article(sentence), None, asker);
    if begins_with(sentence, "in ") {
        return !matches!(found, Ok(None));
    }
    let first = sentence.split_whitespace().next().unwrap_or_default();
    let first = first.to_lowercase();
    let is_day =
        || matches!(schedule(&first, None, asker), Ok(Schedule::At { .. })) && !has(PARTS, &first);
    let is_start =
        has(STARTS, &first) || first.starts_with(|char: char| char.is_ascii_digit()) || is_day();
    let Ok(Some((_, text))) = found else {
        return false;
    };
    let next = text.split_whitespace().next().unwrap_or_default();
    let is_timer = next.eq_ignore_ascii_case("timer");
    let is_article = has("a an set start", &first);
    is_start && !text.is_empty() && !has(TELLING, &next.to_lowercase()) && (is_timer || !is_article)
}

fn begins_with(sentence: &str, words: &str) -> bool {
    let begin = sentence.get(..words.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(words))
}

/// The text without the first of some words that it begins with.
fn without<'a>(text: &'a str, words: &[&str]) -> &'a str {
    let found = words.iter().find(|word| begins_with(text, word));
    found.map_or(text, |word| text[word.len()..].trim_start())
}

/// The text of a reminder without the words that lead to it, such as `please to`.
fn without_link(text: &str) -> &str {
    without(
        without(text, &["please ", "pls "]),
        &["to ", "that ", "about ", "of "],
    )
}

/// A wish without `set a` before it.
fn without_article(sentence: &str) -> &str {
    without(
        without(sentence, &["set ", "start "]),
        &["a ", "an ", "the "],
    )
}

/// What follows in a wish for a timer or an alarm, and its text where it has none.
fn strip_alarm(sentence: &str) -> Option<(&str, &'static str)> {
    let wish = without_article(sentence);
    let mut all = ALARMS.iter();
    let (begin, usual) = all.find(|(begin, _)| begins_with(wish, begin))?;
    Some((without(&wish[begin.len()..], &["for "]), *usual))
}

/// Such as `set a timer for 3 minutes`, `wake me at 7`, `set a 5 minute timer` and `in 5 minutes tea`.
fn alarm(sentence: &str, asker: Asker<'_>) -> Result<Option<When>> {
    let Some((rest, usual)) = strip_alarm(sentence) else {
        if !is_bare(sentence) {
            return Ok(None);
        }
        let found = time_first(without_article(sentence), asker)?;
        return Ok(found.map(|(when, text)| match text.as_str() {
            "timer" => (when, TIMER.to_owned()),
            _ => (
                when,
                without(&text, &["timer for ", "timer ", "for "]).to_owned(),
            ),
        }));
    };
    let found = match time_first(rest, asker)? {
        // "set an alarm for 7"
        None if usual != TIMER => time_first(&format!("at {rest}"), asker)?,
        found => found,
    };
    Ok(found.map(|(when, text)| match without(&text, &["for "]) {
        "" => (when, usual.to_owned()),
        // "wake me tomorrow 7"
        hour if hour.parse::<u8>().is_ok_and(|hour| hour < 24) => {
            (format!("{when} at {hour}"), usual.to_owned())
        }
        text => (when, text.to_owned()),
    }))
}

/// Such as `remind me in 20 minutes to call mum`, `remind me to call mum at 18:00` and `at 18:00 remind me to call mum`.
fn english(
    sentence: &str,
    asker: Asker<'_>,
    is_time: &dyn Fn(&str) -> bool,
) -> Result<Option<When>> {
    const BETWEEN: &str = " remind me ";
    let lower = sentence.to_ascii_lowercase();
    let around = lower.find(BETWEEN).map(|at| {
        let when = sentence[..at].trim_end_matches([',', ' ']);
        (when, without_link(&sentence[at + BETWEEN.len()..]))
    });
    if let Some((when, text)) = around.filter(|&(when, _)| is_time(when)) {
        return Ok(Some((when.to_owned(), text.to_owned())));
    }
    let Some(rest) = beginning(sentence) else {
        return alarm(sentence, asker);
    };
    let text = without_link(rest);
    if text.len() == rest.len()
        && let Some(found) = time_first(rest, asker)?
    {
        return Ok(Some(found));
    }
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
    match found {
        Some((text, when)) => Ok(Some((when.to_owned(), text.to_owned()))),
        // "remind me that at 5 the shop closes"
        None => time_first(text, asker),
    }
}

/// Such as `20分钟后提醒我喝水` and `提醒我20分钟后喝水`.
fn chinese(
    sentence: &str,
    asker: Asker<'_>,
    is_time: &dyn Fn(&str) -> bool,
) -> Result<Option<When>> {
    let Some((when, text)) = sentence.split_once("提醒我") else {
        return Ok(None);
    };
    let when = when.trim_end_matches(['，', ',', ' ']);
    if is_time(when) {
        return Ok(Some((when.to_owned(), text.to_owned())));
    }
    if !when.is_empty() {
        time_first(when, asker)?;
        return Ok(None);
    }
    let first = time_first(text, asker)?;
    let ends = text.char_indices().map(|(end, _)| end).skip(1);
    let ends: Vec<usize> = ends.collect();
    let longest = ends.iter().rev().find(|end| is_time(&text[..**end]));
    let split = longest.map(|end| text.split_at(*end));
    Ok(split
        .map(|(when, text)| (when.to_owned(), text.to_owned()))
        .or(first))
}

/// A text that begins with a time.
fn time_first(text: &str, asker: Asker<'_>) -> Result<Option<When>> {
    let Some((_, rest)) = split(text, None, asker)? else {
        return match impossible_time(text) {
            Some(wrong) => Err(Error::Usage(wrong)),
            None => Ok(None),
        };
    };
    let when = text[..text.len() - rest.len()].trim();
    let linked = LINKS
        .iter()
        .find_map(|link| when.strip_suffix(link.trim_end())?.strip_suffix(' '));
    let rest = match linked {
        Some(_) => rest,
        None => without_link(rest),
    };
    let is_pause = |char: char| char.is_whitespace() || ",:;-，：、".contains(char);
    let when = linked.unwrap_or(when).trim_end_matches(is_pause);
    Ok(Some((when.to_owned(), rest.to_owned())))
}

/// Whether a sentence is a wish to end a reminder.
pub fn is_end(sentence: &str) -> bool {
    const ENDS: &str = "cancel delete remove stop clear";
    const NAMED: &str = "reminder reminders reminding remind timer timers alarm alarms";
    if ["取消", "删除"].iter().any(|end| sentence.starts_with(end)) {
        return sentence.contains("提醒") || sentence.contains("闹钟");
    }
    let words = tokens(sentence);
    words.first().is_some_and(|first| has(ENDS, first)) && words.iter().any(|word| has(NAMED, word))
}

/// Finds in a list of jobs the only one that a wish to end a reminder fits, by its words; returns its id.
pub fn find_ended<'a>(sentence: &str, list: &'a str) -> Option<&'a str> {
    let wanted = wanted(sentence);
    // The list has no numbers.
    let is_number = |words: &Vec<String>| {
        words
            .iter()
            .all(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if wanted.iter().all(is_number) {
        return None;
    }
    let fits = |line: &&str| {
        let line = line.to_lowercase();
        let has = |word: &String| {
            let is_whole = word.is_ascii() && !word.contains(':');
            let mut words = line.split(|char: char| !char.is_alphanumeric());
            match is_whole {
                true => words.any(|known| known == word),
                false => line.contains(word),
            }
        };
        wanted.iter().all(|words| words.iter().any(has))
    };
    let mut found = list.lines().filter(fits);
    let line = found.next().filter(|_| found.next().is_none())?;
    let id = line.strip_prefix("- ")?.split_whitespace().next()?;
    Some(id.trim_matches('`'))
}

/// The words that say which reminder is meant, each with others that would do.
fn wanted(sentence: &str) -> Vec<Vec<String>> {
    const OTHERS: &str = "cancel delete remove stop clear the my a an this that reminder reminders reminding remind timer \
        timers alarm alarms job jobs me about to for of at on in with all every any please pls o'clock oclock am pm";
    if let Some(text) = chinese_wanted(sentence) {
        return vec![vec![text.to_owned()]];
    }
    let tokens = tokens(sentence);
    let behind = |at: usize| tokens.get(at + 1).map_or("", String::as_str);
    let mut wanted = Vec::new();
    for (at, word) in tokens.iter().enumerate() {
        let times = times(word, behind(at));
        if !times.is_empty() {
            wanted.push(times);
        } else if !has(OTHERS, word) {
            wanted.push(vec![word.clone()]);
        }
    }
    let is_timer = |word: &String| has("timer timers", word);
    if wanted.is_empty() && tokens.iter().any(is_timer) {
        // As it is called.
        wanted = TIMER.split(' ').map(|word| vec![word.to_owned()]).collect();
    }
    wanted
}

fn chinese_wanted(sentence: &str) -> Option<&str> {
    const AROUND: [&str; 9] = [
        "所有",
        "全部",
        "我的",
        "那个",
        "关于",
        "提醒我",
        "提醒",
        "闹钟",
        "的",
    ];
    let rest = sentence.strip_prefix("取消");
    let mut text = rest.or_else(|| sentence.strip_prefix("删除"))?.trim();
    loop {
        let mut around = AROUND.iter();
        let rest = around.find_map(|word| text.strip_prefix(word).or(text.strip_suffix(word)));
        let Some(rest) = rest else {
            return Some(text);
        };
        text = rest.trim();
    }
}

/// The words of a sentence in small letters, without what makes a word possessive.
fn tokens(sentence: &str) -> Vec<String> {
    let lower = sentence.to_lowercase().replace('’', "'");
    let is_between = |char: char| !char.is_alphanumeric() && !":'".contains(char);
    let words = lower.split(is_between).map(|word| {
        let word = word.trim_matches([':', '\'']);
        word.strip_suffix("'s").unwrap_or(word).to_owned()
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// The times of day that a word may mean, with the word behind it: `8 o'clock` is 08:00 or 20:00.
fn times(word: &str, behind: &str) -> Vec<String> {
    const DAY: i64 = 24 * 60;
    let half = |word: &str| word.ends_with("am") || word.ends_with("pm");
    let words = match behind {
        "am" | "pm" => format!("at {word} {behind}"),
        "o'clock" | "oclock" => format!("at {word} o'clock"),
        _ if word.contains(':') || half(word) => format!("at {word}"),
        _ => return Vec::new(),
    };
    let zone = Zone::utc();
    let Ok(Schedule::At { at_ms }) = schedule(&words, None, reader(&zone)) else {
        return Vec::new();
    };
    let minutes = at_ms / 60_000 % DAY;
    let time = |minutes: i64| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let mut times = vec![time(minutes)];
    if !half(&words) && minutes < DAY / 2 {
        times.push(time(minutes + DAY / 2));
    }
    times
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
            assert!(is_wish(sentence), "{sentence}");
            let found = find(sentence).unwrap().unwrap();
            assert_eq!(found, (when.to_owned(), text.to_owned()), "{sentence}");
        }
        for sentence in [
            "in the oven",
            "in my opinion",
            "set the table",
            "list files",
        ] {
            assert!(!is_wish(sentence), "{sentence}");
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
