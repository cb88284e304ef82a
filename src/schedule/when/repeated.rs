//! Schedules that repeat, in words: `every 2h`, `weekdays at 7`, `every month on the 1st at 9`, `every year on dec 24`.

use chrono::{Datelike, NaiveDate, NaiveTime};

use super::words::{Duration, Part, Unit, Word};
use super::{DAY_MS, DEFAULT_TIME, Reader, cron};
use crate::base::limits::schedule::AHEAD_MS_MAX;
use crate::schedule::line::EVERY_MONTH_DAYS;
use crate::schedule::times::Schedule;

/// The last day that a month can have.
const MONTH_DAYS: u32 = 31;
/// A year that has all days.
const LEAP_YEAR: i32 = 2000;

/// What comes again with the days that are named.
#[derive(Clone, Copy)]
enum Period {
    Week,
    Month,
    Year,
}

impl Reader<'_> {
    /// `every 2h`, `hourly`, `every day at 7`, `at 7 every day`, `on mondays and thursdays 8:30`, `weekdays at 7`,
    /// `every month on the 1st at 9`, `on the 15th of each month at 8:00`, `every year on dec 24`.
    pub(super) fn repeated(&mut self) -> Option<Schedule> {
        if let Some(interval) = self.maybe(Self::interval) {
            return Some(interval);
        }
        let before = self.maybe(Self::time_of_day);
        let (days, after) = self.days()?;
        let time = match (before, after) {
            (Some(time), Some(_)) => self.part_alone()?.turn(time)?,
            (time, None) | (None, time) => time.unwrap_or(DEFAULT_TIME),
        };
        let (hour, minute) = (time.format("%-H"), time.format("%-M"));
        Some(match time.format("%-S").to_string().as_str() {
            "0" => cron(&format!("{minute} {hour} {days}")),
            second => cron(&format!("{second} {minute} {hour} {days}")),
        })
    }

    /// The part of the day that was read last, without a time: `at 7 every evening` has one time, `at 7 every day at 9` two.
    fn part_alone(&self) -> Option<Part> {
        let back = |words: usize| Some(self.words.get(self.at.checked_sub(words)?)?.0);
        let part = match back(1)? {
            Word::Part(part) => part,
            Word::Tonight => Part::Evening,
            _ => return None,
        };
        (back(2) != Some(Word::At)).then_some(part)
    }

    /// An interval, which has no time of day: `every day` is none, and `every 3 days at 7` cannot be planned.
    fn interval(&mut self) -> Option<Schedule> {
        match self.next()? {
            Word::Hourly => return Some(cron("0 * * * *")),
            Word::Every => {}
            _ => return None,
        }
        let duration = self.maybe(Self::duration).or_else(|| match self.next()? {
            Word::Unit(unit) if unit != Unit::Day => Duration::of(1, unit),
            _ => None,
        })?;
        let is_at = |reader: &mut Self| {
            let has_day = |reader: &mut Self| reader.skip(Word::On).then(|| reader.weekdays())?;
            reader.maybe(Self::time_of_day).is_some() || reader.maybe(has_day).is_some()
        };
        if duration.days > 0 && is_at(self) {
            return None;
        }
        let every_ms = i64::from(duration.days) * DAY_MS + duration.ms;
        (every_ms <= AHEAD_MS_MAX).then_some(Schedule::Every { every_ms })
    }

    /// The days of a schedule, as the last three fields of a cron line, and the time behind or among them.
    pub(super) fn days(&mut self) -> Option<(String, Option<NaiveTime>)> {
        if let Some(days) = self.maybe(Self::day_of_year) {
            return Some(days);
        }
        let days = self.maybe(Self::days_of_month);
        if let Some(days) = days.or_else(|| self.maybe(Self::plain_days)) {
            return Some((days, self.maybe(Self::time_of_day)));
        }
        let period = self.maybe(Self::every_period)?;
        let time = self.maybe(Self::time_of_day);
        let named = self.maybe(|reader| {
            reader.skip(Word::On);
            match period {
                Period::Week => reader.weekdays(),
                Period::Month => reader.month_days(),
                Period::Year => reader.date_of_year(),
            }
        });
        let today = || match period {
            Period::Week => Some(format!("* * {}", self.now.weekday().num_days_from_sunday())),
            Period::Month => Some(format!("{} * *", month_day(self.now.day())?)),
            Period::Year => year_day(self.now.month(), self.now.day()),
        };
        let days = match named {
            Some(days) => days,
            // Days that are not understood, such as the first Monday, are no part of the text.
            None if matches!(self.peek(), Some(Word::On | Word::Next)) => return None,
            None => today()?,
        };
        Some((days, time.or_else(|| self.maybe(Self::time_of_day))))
    }

    /// `every month`, `weekly`, `yearly`.
    fn every_period(&mut self) -> Option<Period> {
        match self.next()? {
            Word::Weekly => Some(Period::Week),
            Word::Monthly => Some(Period::Month),
            Word::Yearly => Some(Period::Year),
            Word::Every => match self.next()? {
                Word::Unit(Unit::Week) => Some(Period::Week),
                Word::Months | Word::MonthNumber => Some(Period::Month),
                Word::Years => Some(Period::Year),
                _ => None,
            },
            _ => None,
        }
    }

    /// `every dec 24`, `on the 24th of December every year`, and the time behind or among them.
    fn day_of_year(&mut self) -> Option<(String, Option<NaiveTime>)> {
        if self.skip(Word::Every) {
            return Some((self.date_of_year()?, self.maybe(Self::time_of_day)));
        }
        self.skip(Word::On);
        let day = self.date_of_year()?;
        let time = self.maybe(Self::time_of_day);
        let is_each = self.skip(Word::Yearly) || self.skip(Word::Every) && self.skip(Word::Years);
        is_each.then_some(())?;
        Some((day, time.or_else(|| self.maybe(Self::time_of_day))))
    }

    /// `dec 24`, `the 24th of December`, `12月24日`, as the last three fields of a cron line.
    fn date_of_year(&mut self) -> Option<String> {
        self.skip(Word::The);
        match self.next()? {
            Word::Month(month) => match self.next()? {
                Word::Number(day) | Word::Nth(day) => year_day(month, day),
                _ => None,
            },
            Word::Number(month) if self.skip(Word::MonthNumber) => match self.next()? {
                Word::Number(day) => self.skip(Word::DayNumber).then(|| year_day(month, day))?,
                _ => None,
            },
            // "every 1.5 hours" has none.
            Word::Dotted(day, month, true) => year_day(month, day),
            Word::Number(day) | Word::Nth(day) => {
                self.skip(Word::Of);
                match self.next()? {
                    Word::Month(month) => year_day(month, day),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `every day`, `weekdays`, `every mon and thu`, `on mondays`, `every 1st`.
    fn plain_days(&mut self) -> Option<String> {
        let every = self.skip(Word::Every);
        if !every {
            self.skip(Word::On);
        }
        let days = match self.peek()? {
            Word::Daily => "* * *",
            Word::Unit(Unit::Day) if every => "* * *",
            Word::Weekdays => "* * 1-5",
            Word::Weekends => "* * 0,6",
            // It is read once more, for the time.
            Word::Part(_) | Word::Tonight if every => return Some("* * *".to_owned()),
            // `每周一` is read as "every week one" nowhere: the weekday is the longer word.
            Word::Weekday(..) if every => return self.weekdays(),
            Word::Each(_) => return self.weekdays(),
            Word::Nth(_) | Word::Last if every => {
                let days = self.month_days()?;
                let is_day = self.words.get(self.at.saturating_sub(1));
                let is_day = is_day.is_some_and(|(word, _)| *word == Word::Unit(Unit::Day));
                let is_more = matches!(
                    self.peek(),
                    Some(Word::Of | Word::Unit(_) | Word::Months | Word::MonthNumber | Word::Years)
                );
                // "every 2nd day", "every 2nd week": no day of a month.
                let is_month = self.maybe(Self::of_each_month).is_some();
                return (is_month || !is_day && !is_more).then_some(days);
            }
            _ => return None,
        };
        self.next()?;
        Some(days.to_owned())
    }

    /// `mon and thu`.
    fn weekdays(&mut self) -> Option<String> {
        let one = |reader: &mut Self| match reader.next()? {
            Word::Weekday(day, _) | Word::Each(day) => Some(day.to_string()),
            _ => None,
        };
        let days = self.list(one)?;
        Some(format!("* * {days}"))
    }

    /// `on the 15th of each month`, `the last day of the month`.
    fn days_of_month(&mut self) -> Option<String> {
        self.skip(Word::On);
        let days = self.month_days()?;
        self.of_each_month()?;
        Some(days)
    }

    /// `of each month`, `every month`, `of the month`.
    fn of_each_month(&mut self) -> Option<()> {
        let of = self.skip(Word::Of);
        let is_each = self.skip(Word::Every) || of && self.skip(Word::The);
        (is_each && (self.skip(Word::Months) || self.skip(Word::MonthNumber))).then_some(())
    }

    /// `the 1st and the 15th`, `day 3`, `the last day`, `15 号`.
    fn month_days(&mut self) -> Option<String> {
        let days = self.list(|reader| {
            reader.skip(Word::The);
            let day = match reader.next()? {
                Word::Last => "L".to_owned(),
                Word::Nth(day) => month_day(day)?,
                Word::Number(day) => {
                    reader.skip(Word::DayNumber).then_some(())?;
                    return month_day(day);
                }
                Word::Unit(Unit::Day) => match reader.next()? {
                    Word::Number(day) => return month_day(day),
                    _ => return None,
                },
                _ => return None,
            };
            reader.skip(Word::Unit(Unit::Day));
            // "the first Monday"
            let is_weekday = matches!(reader.peek(), Some(Word::Weekday(..) | Word::Each(_)));
            (!is_weekday).then_some(day)
        })?;
        Some(format!("{days} * *"))
    }

    /// One or several, with or without `and` between them, as an item of a cron line.
    fn list(&mut self, one: impl Fn(&mut Self) -> Option<String>) -> Option<String> {
        let mut all = one(self)?;
        while let Some(more) = self.maybe(|reader| {
            reader.skip(Word::And);
            one(reader)
        }) {
            all = format!("{all},{more}");
        }
        Some(all)
    }
}

/// A day of the year as the last three fields of a cron line: February 29 is the last day of it in other years.
fn year_day(month: u32, day: u32) -> Option<String> {
    NaiveDate::from_ymd_opt(LEAP_YEAR, month, day)?;
    Some(match (month, day) {
        (2, 29) => "29L 2 *".to_owned(),
        _ => format!("{day} {month} *"),
    })
}

/// A day of the month as a cron line has it: in shorter months the last day takes its place.
fn month_day(day: u32) -> Option<String> {
    match day {
        1..=EVERY_MONTH_DAYS => Some(day.to_string()),
        MONTH_DAYS => Some("L".to_owned()),
        ..MONTH_DAYS if day > 0 => Some(format!("{day}L")),
        _ => None,
    }
}
