//! Lines of crontab(5): five fields, or six with the seconds first, with the `L`, `W` and `#` of Quartz,
//! which nanobot's library (croniter) and PicoClaw's (gronx) take too. PURE.
//!
//! Our own code: the crate `cron` adds 88 kB to the program, counts Sunday as 1, and needs both
//! day fields to match where crontab(5) needs one.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

use crate::base::zone::Zone;

use super::times_texts as texts;
use days::MonthlyDays;

mod days;

pub use days::EVERY_MONTH_DAYS;

/// Bytes of a cron line. A field has lists, but no more than its values.
const LINE_BYTES: usize = 400;
/// Days that are searched for a cron line's next run: a February 29 that is a Monday can be 40 years away.
const SEARCH_DAYS: u64 = 41 * 366;
/// Changes of the clocks that are passed meanwhile; the most restless zone has four a year.
const SPANS: usize = 41 * 4;

/// A cron line: for each field the bits of the values that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    /// From Sunday.
    weekdays: u64,
    /// Days that match too.
    monthly: MonthlyDays,
    /// One of both day fields is enough.
    either_day: bool,
    /// The hours are named, so that a local time that comes twice is meant once.
    named_hours: bool,
}

impl Line {
    /// Whether it matches several seconds of a minute.
    pub fn is_within_minutes(&self) -> bool {
        self.seconds.count_ones() > 1
    }
}

struct Field {
    name: &'static str,
    values: RangeInclusive<u32>,
    /// Names of the values, from the lowest.
    names: &'static str,
}

const HOUR: usize = 2;
const DAY: usize = 3;
const WEEKDAY: usize = 5;
const DAY_NAME: &str = "day of the month";
const WEEKDAY_NAME: &str = "day of the week";
const FIELDS: [Field; 6] = [
    field("second", 0..=59, ""),
    field("minute", 0..=59, ""),
    field("hour", 0..=23, ""),
    field(DAY_NAME, 1..=31, ""),
    field(
        "month",
        1..=12,
        "jan feb mar apr may jun jul aug sep oct nov dec",
    ),
    field(WEEKDAY_NAME, 0..=7, "sun mon tue wed thu fri sat"),
];

const fn field(name: &'static str, values: RangeInclusive<u32>, names: &'static str) -> Field {
    Field {
        name,
        values,
        names,
    }
}

/// Short names of lines; those without hours are gronx's.
const NAMED_LINES: [(&str, &str); 12] = [
    ("@always", "* * * * *"),
    ("@5minutes", "*/5 * * * *"),
    ("@10minutes", "*/10 * * * *"),
    ("@15minutes", "*/15 * * * *"),
    ("@30minutes", "*/30 * * * *"),
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

impl Line {
    /// Reads a line; otherwise says which field is wrong. `id` is the job's: `H` in a field stands for a
    /// value that is made of it, so that not all jobs begin in the same minute.
    pub fn parse(text: &str, id: &str) -> Result<Self, String> {
        if text.len() > LINE_BYTES {
            return Err(texts::line_too_long());
        }
        let named = NAMED_LINES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
        let text = named.map_or(text, |(_, line)| *line);
        let mut fields: Vec<&str> = text.split_whitespace().collect();
        if fields.len() == 5 {
            fields.insert(0, "0");
        }
        let Ok(fields) = <[&str; 6]>::try_from(fields.as_slice()) else {
            return Err(texts::wrong_field_count(text, fields.len()));
        };
        let mut bits = [0; 6];
        let mut monthly = MonthlyDays::default();
        for ((bits, text), field) in bits.iter_mut().zip(fields).zip(&FIELDS) {
            *bits = field.bits(text, id, &mut monthly)?;
        }
        let [seconds, minutes, hours, days, months, weekdays] = bits;
        // Sunday is 0 and 7.
        let weekdays = (weekdays | (weekdays >> 7)) & 0x7f;
        let line = Self {
            seconds,
            minutes,
            hours,
            days,
            months,
            weekdays,
            monthly,
            // As crontab(5) has it: `*/2` is not a restriction in this sense.
            either_day: !is_open(fields[DAY]) && !is_open(fields[WEEKDAY]),
            named_hours: !is_open(fields[HOUR]) && hours != ALL_HOURS,
        };
        match NaiveDate::from_ymd_opt(2001, 1, 1).map(|date| line.next_local(date.into())) {
            Some(Some(_)) => Ok(line),
            _ => Err(texts::never(text)),
        }
    }

    /// The first matching instant after another, in seconds since 1970. When the clocks are put forward,
    /// a run in the gap comes at its end; when they are put back, named hours come once, at first, and
    /// others as often as the clock shows them.
    pub fn next_after(&self, seconds: i64, zone: &Zone) -> Option<i64> {
        let mut at = seconds.checked_add(1)?;
        for _ in 0..SPANS {
            let span = zone.span(at);
            let (before, offset) = (i64::from(span.before), i64::from(span.offset));
            let mut local = at.checked_add(offset)?;
            if at == span.start && offset > before && self.hours != ALL_HOURS {
                let skipped = self.next_second(at + before)?;
                if skipped < local {
                    return Some(at);
                }
            }
            if offset < before && self.named_hours {
                local = local.max(span.start.saturating_add(before));
            }
            let next = self.next_second(local)? - offset;
            if next < span.end {
                return Some(next);
            }
            at = span.end;
        }
        None
    }

    /// The time and the days of a line that comes at one time of a day, every day, on some weekdays, on some days of
    /// every month, or on one day of the year.
    pub fn simple(&self) -> Option<(NaiveTime, SimpleDays)> {
        let one = |bits: u64| (bits.count_ones() == 1).then(|| bits.trailing_zeros());
        let (hour, minute, second) = (one(self.hours)?, one(self.minutes)?, one(self.seconds)?);
        let (or_last, is_last) = self.monthly.simple()?;
        let month = one(self.months);
        let days = SimpleDays {
            month,
            month_days: if self.days == ALL_DAYS { 0 } else { self.days },
            or_last,
            is_last,
            weekdays: self.weekdays,
        };
        let is_simple = !days.is_monthly() || self.weekdays == ALL_WEEKDAYS;
        let is_date = month.is_some() && one(days.month_days).is_some() && or_last == 0 && !is_last;
        if !is_simple || self.months != ALL_MONTHS && !is_date {
            return None;
        }
        Some((NaiveTime::from_hms_opt(hour, minute, second)?, days))
    }

    /// As `next_local`, in seconds of local time since 1970.
    fn next_second(&self, local: i64) -> Option<i64> {
        let from = DateTime::from_timestamp(local, 0)?.naive_utc();
        Some(self.next_local(from)?.and_utc().timestamp())
    }

    /// The first matching local time that is not before another one.
    fn next_local(&self, from: NaiveDateTime) -> Option<NaiveDateTime> {
        let mut date = from.date();
        let last = date.checked_add_days(Days::new(SEARCH_DAYS))?;
        let mut second = from.time().num_seconds_from_midnight();
        while date <= last {
            if !has(self.months, date.month()) {
                date = date.with_day(1)?.checked_add_months(Months::new(1))?;
            } else if self.has_day(date)
                && let Some(second) = self.next_time(second)
            {
                return date.and_hms_opt(second / 3600, second / 60 % 60, second % 60);
            } else {
                date = date.succ_opt()?;
            }
            second = 0;
        }
        None
    }

    fn has_day(&self, date: NaiveDate) -> bool {
        let day = has(self.days, date.day()) || self.monthly.has_day(date);
        let weekday = has(self.weekdays, date.weekday().num_days_from_sunday());
        let weekday = weekday || self.monthly.has_weekday(date);
        if self.either_day {
            day || weekday
        } else {
            day && weekday
        }
    }

    /// The first matching second of a day that is not before another one.
    fn next_time(&self, from: u32) -> Option<u32> {
        let in_minute = |minute: u32, from: u32| {
            let second = next_bit(self.seconds, from)?;
            Some(minute * 60 + second)
        };
        let in_hour = |hour: u32, minute: u32, second: u32| {
            let this = has(self.minutes, minute).then(|| in_minute(minute, second));
            let later = || in_minute(next_bit(self.minutes, minute + 1)?, 0);
            Some(hour * 3600 + this.flatten().or_else(later)?)
        };
        let (hour, minute, second) = (from / 3600, from / 60 % 60, from % 60);
        let this = has(self.hours, hour).then(|| in_hour(hour, minute, second));
        let later = || in_hour(next_bit(self.hours, hour + 1)?, 0, 0);
        this.flatten().or_else(later)
    }
}

/// The days of a simple line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimpleDays {
    /// The month, from 1, of a day of the year.
    pub month: Option<u32>,
    /// The bits of the days of every month; empty if it is every day, or weekdays.
    pub month_days: u64,
    /// The bits of those in whose place shorter months have their last day.
    pub or_last: u64,
    /// Whether the last day of every month is one.
    pub is_last: bool,
    /// The bits of the weekdays, from Sunday.
    pub weekdays: u64,
}

impl SimpleDays {
    /// Whether they are days of the month.
    pub fn is_monthly(&self) -> bool {
        self.month_days | self.or_last != 0 || self.is_last
    }
}

const ALL_HOURS: u64 = (1 << 24) - 1;
const ALL_DAYS: u64 = (1 << 32) - 2;
const ALL_MONTHS: u64 = (1 << 13) - 2;
const ALL_WEEKDAYS: u64 = (1 << 7) - 1;

/// Whether a field begins with a star, or is left open.
fn is_open(field: &str) -> bool {
    field.starts_with(['*', '?'])
}

fn has(bits: u64, value: u32) -> bool {
    bits.checked_shr(value).is_some_and(|bits| bits & 1 == 1)
}

/// The lowest bit that is set, from a place on.
fn next_bit(bits: u64, from: u32) -> Option<u32> {
    let rest = bits.checked_shr(from).filter(|rest| *rest != 0)?;
    Some(from + rest.trailing_zeros())
}

impl Field {
    fn bits(&self, text: &str, id: &str, monthly: &mut MonthlyDays) -> Result<u64, String> {
        let mut bits = 0;
        for item in text.split(',') {
            let item_bits = self.item_bits(item, id).or_else(|| {
                match self.name {
                    DAY_NAME => monthly.add_day(item, |day| self.value(day))?,
                    WEEKDAY_NAME => monthly.add_weekday(item, |part| self.item_bits(part, id))?,
                    _ => return None,
                }
                Some(0)
            });
            bits |=
                item_bits.ok_or_else(|| texts::wrong_field(self.name, item, &self.allowed()))?;
        }
        Ok(bits)
    }

    /// The values of one item of a list: `*`, `5`, `1-5`, `*/2`, `5/10`, `1-30/2`, `10-L`, `H`, `H/15`.
    fn item_bits(&self, item: &str, id: &str) -> Option<u64> {
        let is_day = self.name == DAY_NAME;
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step)?)),
            None => (item, None),
        };
        let (least, most) = (*self.values.start(), *self.values.end());
        let is_weekday = self.name == WEEKDAY_NAME;
        // Without Sunday's second number.
        let whole = (least, if is_weekday { 6 } else { most });
        let (first, last) = match range {
            "*" => whole,
            "?" if is_day || is_weekday => whole,
            "H" | "h" => {
                // A day that every month has.
                let end = if is_day { 28 } else { whole.1 };
                let count = step.unwrap_or(end - least + 1).min(end - least + 1);
                let first = least + u32::try_from(hash(id, self.name) % u64::from(count)).ok()?;
                (first, if step.is_some() { end } else { first })
            }
            _ => match range.split_once('-') {
                Some((first, "L" | "l")) if is_day => (self.value(first)?, most),
                Some((first, last)) => (self.value(first)?, self.value(last)?),
                // crontab(5) does not have it, but every other cron: from there on.
                None if step.is_some() => (self.value(range)?, whole.1),
                None => (self.value(range)?, self.value(range)?),
            },
        };
        // A range may go over the end, such as 22-6.
        let last = if last < first {
            last + whole.1 + 1 - least
        } else {
            last
        };
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        let wrap = |value: u32| {
            if value > most {
                value - (whole.1 + 1 - least)
            } else {
                value
            }
        };
        Some(
            (first..=last)
                .step_by(step)
                .fold(0, |bits, value| bits | 1 << wrap(value)),
        )
    }

    fn step(&self, text: &str) -> Option<u32> {
        let step = number(text)?;
        let count = *self.values.end() - *self.values.start() + 1;
        (1..=count).contains(&step).then_some(step)
    }

    /// A number or a name, of which three letters count: `monday` is `mon`.
    fn value(&self, text: &str) -> Option<u32> {
        if let Some(number) = number(text) {
            return self.values.contains(&number).then_some(number);
        }
        let mut names = self.names.split_whitespace();
        let at = names.position(|name| name.eq_ignore_ascii_case(text))?;
        Some(self.values.start() + u32::try_from(at).ok()?)
    }

    /// What the field may be, for an error.
    fn allowed(&self) -> String {
        let (least, most) = (self.values.start(), self.values.end());
        let monthly = match self.name {
            DAY_NAME => texts::MONTHLY_DAYS,
            WEEKDAY_NAME => texts::MONTHLY_WEEKDAYS,
            _ => "",
        };
        match self.names.split_once(' ') {
            Some((first, _)) => {
                let last = self.names.rsplit(' ').next().unwrap_or_default();
                format!("{least}-{most}, {first}-{last}{monthly}")
            }
            None => format!("{least}-{most}{monthly}"),
        }
    }
}

fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

/// A stable number of a job's id and a field's name ([FNV-1a]).
///
/// [FNV-1a]: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
fn hash(id: &str, field: &str) -> u64 {
    let bytes = id.bytes().chain(field.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
