//! The rule that a zone follows today, as POSIX writes it in `TZ`, with the extensions of [RFC 9636]:
//! `CET-1CEST,M3.5.0,M10.5.0/3`. PURE.
//!
//! [RFC 9636]: https://www.rfc-editor.org/rfc/rfc9636#name-tzif-footer

use chrono::{DateTime, Datelike, Days, Months, NaiveDate};

use super::OFFSET_SECONDS_MAX;
use super::Span;

/// Hours between a day's midnight and a change of the clocks on it (RFC 9636).
const RULE_TIME_HOURS_MAX: u32 = 167;

/// When daylight-saving time begins and ends where a rule names it without saying that (POSIX leaves
/// it open; these are the dates of the C libraries).
const USUAL_CHANGES: &str = "M3.2.0,M11.1.0";

/// The offsets of a zone, and when they change in each year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    standard: i32,
    daylight: Option<Daylight>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Daylight {
    offset: i32,
    begins: Change,
    ends: Change,
}

/// A day of each year, and a local time in seconds after its midnight, which may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    day: Day,
    time: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// `J1` to `J365`: February 29 is not counted.
    Common(u32),
    /// `0` to `365`.
    Plain(u32),
    /// `M3.5.0`: a month, a week (5: the last one), and a day from Sunday.
    Week(u32, u32, u32),
}

impl Rule {
    /// Coordinated universal time.
    pub const UTC: Self = Self {
        standard: 0,
        daylight: None,
    };

    /// Reads a rule; `None` when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = skip_name(text)?;
        let (west, text) = take_time(text, 24)?;
        let standard = -west;
        if text.is_empty() {
            return Some(Self {
                standard,
                daylight: None,
            });
        }
        let text = skip_name(text)?;
        let (offset, text) = if text.is_empty() || text.starts_with(',') {
            (standard + 3600, text)
        } else {
            take_time(text, 24).map(|(west, text)| (-west, text))?
        };
        let changes = if text.is_empty() {
            USUAL_CHANGES
        } else {
            text.strip_prefix(',')?
        };
        let (begins, ends) = changes.split_once(',')?;
        let daylight = Daylight {
            offset,
            begins: Change::parse(begins)?,
            ends: Change::parse(ends)?,
        };
        let is_fine = |offset: i32| offset.abs() <= OFFSET_SECONDS_MAX;
        (is_fine(standard) && is_fine(offset)).then_some(Self {
            standard,
            daylight: Some(daylight),
        })
    }

    /// The time around an instant in which the clocks are not changed.
    pub fn span(&self, seconds: i64) -> Span {
        let changes = self.changes_around(seconds);
        let passed = changes.partition_point(|(instant, _)| *instant <= seconds);
        let offset_after = |count: usize| match count.checked_sub(1).and_then(|at| changes.get(at))
        {
            Some((_, offset)) => *offset,
            // Before the first change that was looked at; there always is one in a year before.
            None => self.standard,
        };
        Span {
            start: match passed.checked_sub(1).and_then(|at| changes.get(at)) {
                Some((instant, _)) => *instant,
                None => i64::MIN,
            },
            before: offset_after(passed.saturating_sub(1)),
            offset: offset_after(passed),
            end: changes
                .get(passed)
                .map_or(i64::MAX, |(instant, _)| *instant),
        }
    }

    /// The changes of the years around an instant, each with the offset behind it.
    fn changes_around(&self, seconds: i64) -> Vec<(i64, i32)> {
        let (Some(daylight), Some(at)) = (&self.daylight, DateTime::from_timestamp(seconds, 0))
        else {
            return Vec::new();
        };
        let mut changes = Vec::new();
        // Ten of them need no sorting function, which has some kilobytes.
        let mut add = |change: (i64, bool)| {
            let at = changes.partition_point(|known| *known < change);
            changes.insert(at, change);
        };
        for year in at.year() - 2..=at.year() + 2 {
            let begins = daylight.begins.instant(year, self.standard);
            let ends = daylight.ends.instant(year, daylight.offset);
            begins.into_iter().for_each(|begins| add((begins, true)));
            ends.into_iter().for_each(|ends| add((ends, false)));
        }
        // Where one year's daylight-saving time ends when the next one's begins, it never ends.
        let mut offsets: Vec<(i64, i32)> = Vec::new();
        for (instant, is_daylight) in changes {
            let offset = if is_daylight {
                daylight.offset
            } else {
                self.standard
            };
            if offsets.last().is_some_and(|(last, _)| *last == instant) {
                offsets.pop();
            }
            if offsets.last().is_none_or(|(_, last)| *last != offset) {
                offsets.push((instant, offset));
            }
        }
        offsets
    }
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        let (day, time) = text.split_once('/').unwrap_or((text, "2"));
        let (time, rest) = take_time(time, RULE_TIME_HOURS_MAX)?;
        let day = if let Some(day) = day.strip_prefix('J') {
            Day::Common(number(day, 1, 365)?)
        } else if let Some(day) = day.strip_prefix('M') {
            let mut parts = day.split('.');
            let month = number(parts.next()?, 1, 12)?;
            let week = number(parts.next()?, 1, 5)?;
            let weekday = number(parts.next()?, 0, 6)?;
            if parts.next().is_some() {
                return None;
            }
            Day::Week(month, week, weekday)
        } else {
            Day::Plain(number(day, 0, 365)?)
        };
        rest.is_empty().then_some(Self { day, time })
    }

    /// When the clocks are changed in a year; `offset` is the one before.
    fn instant(&self, year: i32, offset: i32) -> Option<i64> {
        let new_year = NaiveDate::from_yo_opt(year, 1)?;
        let date = match self.day {
            Day::Common(day) => {
                let leap_day = u32::from(new_year.leap_year() && day > 59);
                new_year.checked_add_days(Days::new(u64::from(day + leap_day - 1)))?
            }
            Day::Plain(day) => new_year.checked_add_days(Days::new(u64::from(day)))?,
            Day::Week(month, week, weekday) => {
                let first = NaiveDate::from_ymd_opt(year, month, 1)?;
                let next_month = first.checked_add_months(Months::new(1))?;
                let days = (weekday + 7 - first.weekday().num_days_from_sunday()) % 7;
                let date = first.checked_add_days(Days::new(u64::from(days + (week - 1) * 7)))?;
                if date < next_month {
                    date
                } else {
                    date.checked_sub_days(Days::new(7))?
                }
            }
        };
        let midnight = date.and_hms_opt(0, 0, 0)?.and_utc().timestamp();
        Some(midnight + i64::from(self.time) - i64::from(offset))
    }
}

/// Skips the abbreviation of a zone's time: `CET` or `<-03>`.
fn skip_name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('<') {
        return Some(quoted.split_once('>')?.1);
    }
    let rest = text.trim_start_matches(|char: char| char.is_ascii_alphabetic());
    (text.len() - rest.len() >= 3).then_some(rest)
}

/// Takes `[+-]hh[:mm[:ss]]` from the beginning, as seconds.
fn take_time(text: &str, hours_max: u32) -> Option<(i32, &str)> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => (-1, text),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let is_part = |char: char| char.is_ascii_digit() || char == ':';
    let end = text.find(|char| !is_part(char)).unwrap_or(text.len());
    let (time, rest) = text.split_at_checked(end)?;
    let mut seconds = 0;
    for (at, part) in time.split(':').enumerate() {
        let (unit, most) = *[(3600, hours_max), (60, 59), (1, 59)].get(at)?;
        seconds += number(part, 0, most)? * unit;
    }
    Some((sign * i32::try_from(seconds).ok()?, rest))
}

fn number(text: &str, least: u32, most: u32) -> Option<u32> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = text.parse().ok()?;
    (least..=most).contains(&number).then_some(number)
}
