//! Times that there are not, although they look like some. PURE.

use chrono::NaiveDate;

use super::texts;
use super::words::{self, Word};

/// The most days of a month: a larger number is no mistyped day.
const DAYS: u32 = 31;

/// Why a text does not begin with a time, although it looks so: `at 26:00`, `7:75`, `13pm`, `26点`, `feb 30`,
/// `in -5 minutes`.
/// Behind `at`, every number does that was not read as a time.
pub fn impossible_time(text: &str) -> Option<String> {
    if let Some(wrong) = impossible_day(text) {
        return Some(wrong);
    }
    let words = words::read(text);
    let is_part = |word: &Word| matches!(word, Word::Part(_) | Word::Tonight);
    let parts = words.iter().take_while(|(word, _)| is_part(word)).count();
    let at = words.get(parts).filter(|(word, _)| *word == Word::At);
    let before = parts + usize::from(at.is_some());
    let behind = words.get(before..)?;
    let start = before.checked_sub(1).and_then(|last| words.get(last));
    let start = start.map_or(0, |(_, end)| *end);
    let end = match behind {
        [
            (Word::Number(_), _),
            (Word::Hour, _),
            (Word::Number(_), _),
            (Word::Unit(_), end),
            ..,
        ] => *end,
        [
            (Word::Number(hour), _),
            (Word::Hour | Word::Noon(_), end),
            ..,
        ] if *hour < 100 => *end,
        [(Word::Half, _), (Word::Past, _), (Word::Number(_), end), ..] => *end,
        _ => {
            let from = text.get(start..)?.trim_start();
            let is_end =
                |char: char| !char.is_ascii() || char.is_whitespace() || char == ',' || char == ';';
            let word = from.split(is_end).next()?.trim_end_matches(['.', ':']);
            if !looks_like_time(word, at.is_some()) {
                return None;
            }
            text.len() - from.len() + word.len()
        }
    };
    text.get(..end).map(texts::no_time_of_day)
}

/// The same for days that no year has, and for times that have passed.
fn impossible_day(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if let Some(ago) = lower.strip_prefix("in -") {
        let end = match words::read(ago).as_slice() {
            [(Word::Number(_), _), (Word::Unit(_), end), ..] | [(Word::Duration(_), end), ..] => {
                *end
            }
            _ => return None,
        };
        return text.get(..end + "in -".len()).map(texts::passed);
    }
    let words = words::read(text);
    let is_before = |(word, _): &&(Word, usize)| matches!(word, Word::On | Word::Next | Word::The);
    let before = words.iter().take_while(is_before).count();
    let start = before.checked_sub(1).and_then(|last| words.get(last));
    let start = start.map_or(0, |(_, end)| *end);
    // In a year that has all days.
    let in_leap_year = |month: &u32, day: &u32| (2000, *month, *day);
    let (date, end) = match words.get(before..)? {
        [
            (Word::Month(month), _),
            (Word::Number(day) | Word::Nth(day), end),
            ..,
        ]
        | [
            (Word::Number(day) | Word::Nth(day), _),
            (Word::Month(month), end),
            ..,
        ]
        | [
            (Word::Number(day) | Word::Nth(day), _),
            (Word::Of, _),
            (Word::Month(month), end),
            ..,
        ] => (in_leap_year(month, day), *end),
        _ => {
            let from = text.get(start..)?.trim_start();
            let word = from.split_whitespace().next()?;
            let date = read_numbers(word.trim_end_matches([',', ':', ';']))?;
            (date, text.len() - from.len() + word.len())
        }
    };
    let (year, month, day) = date;
    let looks_so = (1..=12).contains(&month) && day <= DAYS;
    let is_wrong = looks_so && NaiveDate::from_ymd_opt(year, month, day).is_none();
    text.get(..end).filter(|_| is_wrong).map(texts::no_day)
}

/// The year, month and day of `30.2.`, `30.2.2027` and `2027-02-30`.
fn read_numbers(word: &str) -> Option<(i32, u32, u32)> {
    let is_iso = !word.contains('.');
    let parts: Vec<&str> = word.split(['.', '-']).collect();
    let [first, second, third] = *parts.as_slice() else {
        return None;
    };
    let (year, day) = if is_iso {
        (first, third)
    } else {
        (third, first)
    };
    let year = match year {
        "" if !is_iso => 2000,
        year => year.parse().ok().filter(|_| year.len() == 4)?,
    };
    Some((year, second.parse().ok()?, day.parse().ok()?))
}

/// An hour from which nothing is a mistyped time of day.
const HOURS_MISTYPED: u32 = 30;

/// Whether a word looks like a time of day: `26:00`, `13pm`; behind `at` also `26` and `7.30`, and not `100%` or `221B`.
fn looks_like_time(word: &str, is_behind_at: bool) -> bool {
    let word = word.to_ascii_lowercase();
    let half = word.strip_suffix("am").or(word.strip_suffix("pm"));
    let signs: &[char] = if is_behind_at {
        &[':', '.', '-']
    } else {
        &[':']
    };
    let parts: Vec<&str> = half.unwrap_or(&word).split(signs).collect();
    let is_short = |part: &&str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    // "50:50" is none.
    let is_hour = |part: &&str| {
        part.parse::<u32>()
            .is_ok_and(|hour| is_behind_at || hour < HOURS_MISTYPED)
    };
    parts.iter().all(is_short)
        && parts.first().is_some_and(is_hour)
        && (is_behind_at || parts.len() > 1 || half.is_some())
}
