//! Times as people write them, and schedules in words: PURE.

mod describe;
mod impossible;
mod repeated;
mod words;

use chrono::{DateTime, Datelike, Days, FixedOffset, Months, NaiveDate, NaiveDateTime, NaiveTime};

use crate::base::error::{Error, Result};
use crate::base::limits::schedule::WHEN_BYTES;
use crate::base::zone::{Local, Zone};

use super::times::Schedule;
use super::times_texts as texts;

pub use super::times_texts::ONE_TIME;
pub use describe::describe;
pub use impossible::impossible_time;
use words::{Duration, Part, Unit, Word, hour_of_day};

/// Reads a time or a schedule, such as `in 20m`, `tomorrow 7:00`, `every 2h`, `0 7 * * 1-5`,
/// `20分钟后`. A time of day that has passed today means tomorrow.
pub fn parse(text: &str, now_ms: i64, zone: &Zone) -> Result<Schedule> {
    let text = text.trim();
    let usage = |text| Error::Usage(text);
    if text.len() > WHEN_BYTES {
        return Err(usage(texts::unknown_time(text)));
    }
    let has_fields = (5..=6).contains(&text.split_whitespace().count())
        && !text.contains(|char: char| char.is_alphabetic());
    let looks_like_cron = has_fields || text.starts_with('@') || text.contains('*');
    match take(text, now_ms, zone) {
        Some((schedule, "")) => {
            let schedule = schedule.map_err(usage)?;
            schedule.check().map_err(usage)?;
            Ok(schedule)
        }
        _ if looks_like_cron => {
            let schedule = cron(text);
            schedule.check().map_err(usage)?;
            Ok(schedule)
        }
        _ => Err(usage(texts::unknown_time(text))),
    }
}

/// Reads a time or a schedule at the beginning of a text; also returns the rest, without the space
/// before it. `None` when the text does not begin with one; fails when it begins with one that has passed, or
/// with days and a time of day that there is not, or with two times.
pub fn take_leading<'a>(
    text: &'a str,
    now_ms: i64,
    zone: &Zone,
) -> Result<Option<(Schedule, &'a str)>> {
    let text = text.trim();
    let line = take_line(text);
    let is_line = line.is_some();
    let line = line.map(|(schedule, rest)| (Ok(schedule), rest));
    let Some((schedule, rest)) = line.or_else(|| take(text, now_ms, zone)) else {
        return Ok(None);
    };
    let schedule = schedule.map_err(Error::Usage)?;
    if schedule.check().is_err() {
        return Ok(None);
    }
    let rest = rest.trim_start_matches(is_pause);
    let taken = text.strip_suffix(rest).unwrap_or(text);
    let is_timed = is_line || has_time(taken);
    if let Some(wrong) = impossible_time(rest).filter(|_| !is_timed) {
        return Err(Error::Usage(wrong));
    }
    // "on monday 8am and 9am", "8am, 9am"
    let joined = ["and ", "or ", "& ", "和", "或"];
    let behind = joined.iter().find_map(|word| rest.strip_prefix(word));
    let listed = taken
        .trim_end()
        .ends_with([',', '，', '、'])
        .then_some(rest);
    let is_second = |text: &str| {
        take(text, now_ms, zone).is_some_and(|(_, rest)| {
            behind.is_some() || has_time(text.strip_suffix(rest).unwrap_or_default())
        })
    };
    // "every day at 9 and 18 to take pills"
    let is_hour = |text: &str| {
        let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
        number.parse::<u8>().is_ok_and(|hour| hour < 24)
            && (rest.is_empty() || rest.starts_with("to "))
    };
    // "5 minutes before 9 to leave"
    let relative = ["before ", "after "]
        .iter()
        .find_map(|word| rest.strip_prefix(word));
    let is_relative = |text: &str| is_hour(text) || is_second(text);
    let has_number = taken.contains(|char: char| char.is_ascii_digit());
    if has_number && relative.is_some_and(is_relative)
        || behind.is_some_and(is_hour) && is_timed
        || behind
            .or(listed)
            .is_some_and(|text| is_second(text.trim_start()))
    {
        return Err(Error::Usage(ONE_TIME.to_owned()));
    }
    // "in 20 minutes to take the bread out"
    let linked = LINKS.iter().find_map(|link| rest.strip_prefix(link));
    let rest = linked.unwrap_or(rest).trim_start();
    Ok(Some((schedule, rest)))
}

/// Words between a time and what it is for.
pub const LINKS: [&str; 3] = ["to ", "that ", "about "];

/// Whether a schedule in words has a time, and not only days.
pub fn has_time(text: &str) -> bool {
    words::read(text).iter().any(|(word, _)| word.has_time())
}

fn is_pause(char: char) -> bool {
    char.is_whitespace() || ",:;-，：、".contains(char)
}

/// Takes a cron line. Of six words that could be one, the sixth belongs to it when it is no plain word.
fn take_line(text: &str) -> Option<(Schedule, &str)> {
    let is_field = |word: &str| word.contains(['*', '/', '-', ',', '?']);
    let words: Vec<&str> = text.split_whitespace().take(6).collect();
    let count = match words.as_slice() {
        [name, ..] if name.starts_with('@') => 1,
        [.., sixth] if words.len() == 6 && is_field(sixth) => 6,
        _ => 5,
    };
    [count, 5].into_iter().find_map(|count| {
        let mut rest = text;
        for _ in 0..count {
            rest = rest.trim_start();
            rest = rest.get(rest.find(char::is_whitespace).unwrap_or(rest.len())..)?;
        }
        let schedule = cron(text.strip_suffix(rest)?);
        schedule.check().ok()?;
        Some((schedule, rest))
    })
}

fn cron(line: &str) -> Schedule {
    let expr = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Schedule::Cron { expr, tz: None }
}

/// A schedule, or why it cannot be one.
type Taken = Result<Schedule, String>;

fn take<'a>(text: &'a str, now_ms: i64, zone: &Zone) -> Option<(Taken, &'a str)> {
    let words = words::read(text);
    let now = zone.at(now_ms.div_euclid(1000));
    let mut reader = Reader {
        words: &words,
        at: 0,
        now,
        now_ms,
        zone,
    };
    let taken = reader.schedule()?;
    let (_, end) = words.get(reader.at.checked_sub(1)?)?;
    let taken = taken.ok_or_else(|| texts::passed(text.get(..*end).unwrap_or(text)));
    Some((taken, text.get(*end..)?))
}

/// Reads a grammar from words. A function that returns `None` may have read some: `maybe` goes back.
struct Reader<'a> {
    words: &'a [(Word, usize)],
    at: usize,
    now: DateTime<FixedOffset>,
    now_ms: i64,
    zone: &'a Zone,
}

impl Reader<'_> {
    fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let at = self.at;
        let read = read(self);
        if read.is_none() {
            self.at = at;
        }
        read
    }

    fn next(&mut self) -> Option<Word> {
        let (word, _) = self.words.get(self.at)?;
        self.at += 1;
        Some(*word)
    }

    fn peek(&self) -> Option<Word> {
        self.words.get(self.at).map(|(word, _)| *word)
    }

    fn skip(&mut self, word: Word) -> bool {
        self.maybe(|reader| (reader.next()? == word).then_some(()))
            .is_some()
    }

    /// A schedule; `Some(None)` for a time that has passed.
    fn schedule(&mut self) -> Option<Option<Schedule>> {
        let at = |at_ms| Schedule::At { at_ms };
        self.maybe(Self::repeated)
            .map(Some)
            .or_else(|| self.maybe(Self::later).map(|at_ms| Some(at(at_ms))))
            .or_else(|| self.maybe(Self::once).map(|at_ms| at_ms.map(at)))
    }

    /// `in 20m`, `1 hour and 30 minutes`, `20 minutes later`, `in 2 days at 7:00`; in milliseconds since 1970.
    fn later(&mut self) -> Option<i64> {
        if let Some(at_ms) = self.maybe(Self::months_later) {
            return Some(at_ms);
        }
        self.skip(Word::In);
        let duration = self.duration()?;
        self.skip(Word::Later);
        if duration.days == 0 {
            return self.now_ms.checked_add(duration.ms);
        }
        let days = Days::new(u64::from(duration.days));
        let local = self.now.naive_local();
        let date = local.date().checked_add_days(days)?;
        if duration.ms == 0
            && let Some(time) = self.maybe(Self::time_of_day)
        {
            return self.instant(date.and_time(time));
        }
        self.instant(date.and_time(local.time()))?
            .checked_add(duration.ms)
    }

    /// `in 2 months`, `in a year at 7:00`, `3个月后`.
    fn months_later(&mut self) -> Option<i64> {
        let is_in = self.skip(Word::In);
        let Word::Number(count) = self.next()? else {
            return None;
        };
        let months = match self.next()? {
            Word::Months | Word::MonthNumber => count,
            Word::Years => count.checked_mul(12)?,
            _ => return None,
        };
        let is_later = self.skip(Word::Later);
        (is_in || is_later).then_some(())?;
        let local = self.now.naive_local();
        let date = local.date().checked_add_months(Months::new(months))?;
        let time = self.maybe(Self::time_of_day);
        // "in one year and two months" is not understood, and must not become another time.
        let is_more = self.maybe(|reader| {
            reader.skip(Word::And);
            match reader.next()? {
                Word::Half | Word::Duration(_) => Some(()),
                Word::Number(_) => match reader.next()? {
                    Word::Unit(_) | Word::Months | Word::MonthNumber | Word::Years => Some(()),
                    _ => None,
                },
                _ => None,
            }
        });
        if is_more.is_some() {
            return None;
        }
        self.instant(date.and_time(time.unwrap_or(local.time())))
    }

    fn duration(&mut self) -> Option<Duration> {
        let mut sum = self.one_duration()?;
        while let Some(more) = self.maybe(|reader| {
            reader.skip(Word::And);
            reader.one_duration()
        }) {
            sum = sum.plus(more)?;
        }
        Some(sum)
    }

    /// `1h30m`, `20 minutes`, `half an hour`, `半小时`, `1 个半小时`.
    fn one_duration(&mut self) -> Option<Duration> {
        match self.next()? {
            Word::Duration(duration) => Some(duration),
            Word::Half => {
                self.skip(Word::Number(1));
                match self.next()? {
                    Word::Unit(Unit::Hour) => Duration::of(30, Unit::Minute),
                    _ => None,
                }
            }
            Word::Number(count) => {
                let half = self.maybe(Self::and_a_half);
                let Word::Unit(unit) = self.next()? else {
                    return None;
                };
                // Not the half hour of "1 day and a half hour".
                let behind = self.maybe(|reader| {
                    reader.and_a_half()?;
                    (!matches!(reader.peek(), Some(Word::Unit(_)))).then_some(())
                });
                let is_half = half.or(behind).is_some();
                let half = Duration::part(if is_half { 50 } else { 0 }, unit);
                Duration::of(count, unit)?.plus(half)
            }
            _ => None,
        }
    }

    /// `two and a half hours`, `an hour and a half`.
    fn and_a_half(&mut self) -> Option<()> {
        let is_half = self.skip(Word::And) && self.skip(Word::Number(1)) && self.skip(Word::Half);
        is_half.then_some(())
    }

    /// A day and a time, in any order. `Some(None)` when it has passed.
    fn once(&mut self) -> Option<Option<i64>> {
        if let Some(at_ms) = self.maybe(|reader| match reader.next()? {
            Word::Instant(at_ms) => Some(at_ms),
            Word::Local(local) => reader.instant(local),
            _ => None,
        }) {
            return Some(Some(at_ms).filter(|at_ms| *at_ms > self.now_ms));
        }
        let from = self.at;
        let time = self.maybe(Self::time_of_day);
        let day = self.maybe(Self::day);
        // Days that repeat have two times here, such as "at 7 every day at 9": it is not known which one is meant.
        if time.is_some() && day.is_none() && self.maybe(Self::days).is_some() {
            return None;
        }
        let time = match time {
            // "at 9 tonight"
            Some(time) if self.skip(Word::Tonight) => Part::Evening.turn(time),
            time => time.or_else(|| self.maybe(Self::time_of_day)),
        };
        let today = self.now.date_naive();
        let (date, again) = match day {
            None => (today, Some(1)),
            Some((_, Again::OnlyWithTime)) if time.is_none() => return None,
            Some((date, again)) => (date, again.days()),
        };
        let time = match (time, day) {
            (Some(time), _) => time,
            (None, Some(_)) => DEFAULT_TIME,
            (None, None) => return None,
        };
        let at_ms = self.instant(date.and_time(time))?;
        if at_ms > self.now_ms {
            return Some(Some(at_ms));
        }
        let mut read = self.words.get(from..self.at)?.iter();
        if read.len() == 1 && read.clone().all(|(word, _)| *word == Word::Tonight) {
            return Some(self.now_ms.checked_add(LATE_TONIGHT_MS));
        }
        // Midnight is tomorrow's, and any other time of the evening has passed.
        let is_tonight = time >= MORNING && read.any(|(word, _)| *word == Word::Tonight);
        let Some(days) = again.filter(|_| !is_tonight) else {
            return Some(None);
        };
        let date = date.checked_add_days(Days::new(days))?;
        Some(self.instant(date.and_time(time)))
    }

    /// A day, and when it comes again.
    fn day(&mut self) -> Option<(NaiveDate, Again)> {
        let is_on = self.skip(Word::On);
        let is_next = self.skip(Word::Next);
        let on = is_on || is_next;
        if on {
            self.skip(Word::The);
        }
        let today = self.now.date_naive();
        let day = match self.next()? {
            Word::Day(days) => {
                let again = if days == 0 {
                    Again::TodayOnly
                } else {
                    Again::Never
                };
                (today.checked_add_days(Days::new(days))?, again)
            }
            Word::Tonight => {
                // The part of the day is read once more, for the time.
                self.at -= 1;
                (today, Again::Never)
            }
            Word::Date(date) => (date, Again::Never),
            // "3.5 kg" is none.
            Word::Dotted(day, month, has_dot) => {
                let from = self.at;
                let is_date = has_dot || on && self.time_of_day().is_some();
                self.at = from;
                is_date.then_some(())?;
                (self.date(month, day)?, Again::Never)
            }
            Word::Weekday(day, is_short) => {
                // `Tuesday 2026-11-24`
                if let Some(date) = self.maybe(|reader| match reader.next()? {
                    Word::Date(date) => Some(date),
                    _ => None,
                }) {
                    return Some((date, Again::Never));
                }
                let ahead = (day + 7 - today.weekday().num_days_from_sunday()) % 7;
                let again = if is_short && !on {
                    Again::OnlyWithTime
                } else {
                    Again::NextWeek
                };
                let ahead = if is_next && ahead == 0 { 7 } else { ahead };
                (today.checked_add_days(Days::new(u64::from(ahead)))?, again)
            }
            Word::Month(month) => match self.next()? {
                Word::Number(day) | Word::Nth(day) => (self.date(month, day)?, Again::Never),
                _ => return None,
            },
            word @ (Word::Number(day) | Word::Nth(day)) => {
                let month = self.maybe(|reader| {
                    reader.skip(Word::Of);
                    match reader.next()? {
                        Word::Month(month) => Some(month),
                        _ => None,
                    }
                });
                let is_nth = on && word == Word::Nth(day);
                match (month, self.peek()) {
                    (Some(month), _) => (self.date(month, day)?, Again::Never),
                    // "on the first Monday", "on the 15th of ..."
                    (None, Some(Word::Weekday(..) | Word::Of | Word::Unit(_))) => return None,
                    (None, _) if is_nth => (self.day_of_month(day)?, Again::Never),
                    (None, _) => return None,
                }
            }
            _ => return None,
        };
        Some(day)
    }

    /// The next day of a month with this number that is not before today.
    fn day_of_month(&self, day: u32) -> Option<NaiveDate> {
        // The 31st comes at least every second month.
        let dates = self.now.date_naive().iter_days().take(62);
        dates.into_iter().find(|date| date.day() == day)
    }

    /// The next such date that is not before today.
    fn date(&self, month: u32, day: u32) -> Option<NaiveDate> {
        let today = self.now.date_naive();
        let in_year = |year| NaiveDate::from_ymd_opt(year, month, day);
        (0..=8)
            .filter_map(|years| in_year(today.year() + years))
            .find(|date| *date >= today)
    }

    /// `7:30`, `at 7`, `7 pm`, `half past seven`, `evening`, `evening at 7`, `下午3点半`.
    fn time_of_day(&mut self) -> Option<NaiveTime> {
        let part = self.maybe(|reader| match reader.next()? {
            Word::Part(part) => Some(part),
            Word::Tonight => Some(Part::Evening),
            _ => None,
        });
        let at = self.skip(Word::At);
        let time = self.maybe(|reader| reader.clock_time(at));
        match (part, time) {
            (None, Some(time)) => Some(time),
            (Some(part), Some(time)) => part.turn(time),
            (Some(part), None) if !at => Some(part.usual_time()),
            (None, None) if at => match self.next()? {
                Word::Part(Part::Midday) => Some(Part::Midday.usual_time()),
                _ => None,
            },
            _ => None,
        }
    }

    fn clock_time(&mut self, at: bool) -> Option<NaiveTime> {
        let hour = match self.next()? {
            Word::Time(time) => {
                let half = self.maybe(|reader| reader.half_of_day());
                return match half {
                    Some(after_noon) => turn_hour(time, Some(after_noon)),
                    None => Some(time),
                };
            }
            Word::Half => {
                self.skip(Word::Past).then_some(())?;
                let Word::Number(hour) = self.next()? else {
                    return None;
                };
                let half = self.maybe(|reader| reader.half_of_day());
                return NaiveTime::from_hms_opt(hour_of_day(hour, half)?, 30, 0);
            }
            Word::Number(hour) => hour,
            _ => return None,
        };
        if self.skip(Word::Hour) {
            let minute = self.maybe(|reader| match reader.next()? {
                Word::Half => Some(30),
                Word::Number(minute) => reader.skip(Word::Unit(Unit::Minute)).then_some(minute),
                _ => None,
            });
            return NaiveTime::from_hms_opt(hour, minute.unwrap_or(0), 0);
        }
        let half = self.maybe(|reader| reader.half_of_day());
        // A number alone may be part of what comes behind.
        if !at && half.is_none() {
            return None;
        }
        NaiveTime::from_hms_opt(hour_of_day(hour, half)?, 0, 0)
    }

    fn half_of_day(&mut self) -> Option<bool> {
        match self.next()? {
            Word::Noon(after_noon) => Some(after_noon),
            _ => None,
        }
    }

    /// A local time as milliseconds since 1970: in a gap its end, and the first of two.
    fn instant(&self, local: NaiveDateTime) -> Option<i64> {
        let seconds = match self.zone.resolve(local) {
            Local::Once(seconds) | Local::Twice(seconds, _) | Local::Gap { after: seconds } => {
                seconds
            }
        };
        seconds.checked_mul(1000)
    }
}

const DAY_MS: i64 = 86_400_000;

/// The time of a day that is named without one.
const DEFAULT_TIME: NaiveTime = hour(9);

/// `tonight`, where the evening's usual time has passed: an hour from then on.
const LATE_TONIGHT_MS: i64 = 3_600_000;

/// The end of the night.
const MORNING: NaiveTime = hour(6);

const fn hour(hour: u32) -> NaiveTime {
    match NaiveTime::from_hms_opt(hour, 0, 0) {
        Some(time) => time,
        None => NaiveTime::MIN,
    }
}

/// When a day comes again whose time has passed.
#[derive(Clone, Copy, Debug)]
enum Again {
    Never,
    /// `today` needs a time too.
    TodayOnly,
    NextWeek,
    /// `sun` may begin any sentence: it is a day only beside a time.
    OnlyWithTime,
}

impl Again {
    fn days(self) -> Option<u64> {
        match self {
            Self::Never | Self::TodayOnly => None,
            Self::NextWeek | Self::OnlyWithTime => Some(7),
        }
    }
}

impl Part {
    /// The time that is meant when only the part of the day is named.
    fn usual_time(self) -> NaiveTime {
        match self {
            Self::Morning => DEFAULT_TIME,
            Self::Midday => hour(12),
            Self::Afternoon => hour(15),
            Self::Evening => hour(20),
        }
    }

    /// A time in this part of the day: 7 in the evening is 19.
    fn turn(self, time: NaiveTime) -> Option<NaiveTime> {
        match self {
            Self::Afternoon | Self::Evening => turn_hour(time, Some(true)).or(Some(time)),
            Self::Morning | Self::Midday => Some(time),
        }
    }
}

fn turn_hour(time: NaiveTime, after_noon: Option<bool>) -> Option<NaiveTime> {
    use chrono::Timelike;
    time.with_hour(hour_of_day(time.hour(), after_noon)?)
}
