//! Days that depend on the month: the last one, the working day nearest to a date, the third Friday. PURE.

use chrono::{Datelike, NaiveDate};

/// Days that a month decides, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonthlyDays {
    /// How many days before the last one: `L` and `L-3`.
    before_last: u64,
    /// Days of the month, each of which means the working day nearest to it: `15W`. Bit 0 is `LW`.
    nearest: u64,
    /// Days of the month in whose place shorter months have their last day: `30L`.
    or_last: u64,
    /// For each weekday, from Sunday, 8 bits: the first to the fifth of the month, and bit 0 for the last.
    nth: u64,
}

/// The last day that every month has.
pub const EVERY_MONTH_DAYS: u32 = 28;
const LAST: u32 = 0;
const NTH_MAX: u32 = 5;

impl MonthlyDays {
    /// The days that are `30L` and the like, as bits, and whether the last one is among the days; `None` where others are.
    pub fn simple(&self) -> Option<(u64, bool)> {
        let is_last = self.before_last == 1;
        let is_simple = self.nearest | self.nth == 0 && (is_last || self.before_last == 0);
        is_simple.then_some((self.or_last, is_last))
    }

    /// Adds an item of the days of the month: `L`, `L-3`, `30L`, `LW`, `15W` or `W15`. `None` for anything else.
    pub fn add_day(&mut self, item: &str, day: impl Fn(&str) -> Option<u32>) -> Option<()> {
        let item = item.to_ascii_uppercase();
        if item == "L" {
            self.before_last |= 1;
        } else if item == "LW" {
            self.nearest |= 1 << LAST;
        } else if let Some(before) = item.strip_prefix("L-") {
            // The first day of a short month may be 27 days before the last.
            self.before_last |= 1 << day(before).filter(|before| *before < 28)?;
        } else if let Some(date) = item.strip_suffix('L') {
            self.or_last |= 1 << day(date).filter(|date| *date > EVERY_MONTH_DAYS)?;
        } else {
            let date = item.strip_suffix('W').or_else(|| item.strip_prefix('W'))?;
            self.nearest |= 1 << day(date)?;
        }
        Some(())
    }

    /// Adds an item of the weekdays: `5#3`, `5L` or `L5`. `weekdays` reads what is a weekday or a range
    /// of them, as bits.
    pub fn add_weekday(
        &mut self,
        item: &str,
        weekdays: impl Fn(&str) -> Option<u64>,
    ) -> Option<()> {
        let (weekdays, nth) = match item.split_once('#') {
            Some((weekday, nth)) => {
                let nth = super::number(nth).filter(|nth| (1..=NTH_MAX).contains(nth))?;
                (weekdays(weekday)?, nth)
            }
            None => {
                let last = item.strip_suffix(['L', 'l']);
                let last = last.or_else(|| item.strip_prefix(['L', 'l']))?;
                (weekdays(last)?, LAST)
            }
        };
        let each = (0..8).filter(|weekday| weekdays >> weekday & 1 == 1);
        // Sunday is 0 and 7.
        self.nth |= each.fold(0, |bits, weekday| bits | 1 << (weekday % 7 * 8 + nth));
        Some(())
    }

    /// Whether a date is one by its day of the month.
    pub fn has_day(&self, date: NaiveDate) -> bool {
        if self.before_last | self.nearest | self.or_last == 0 {
            return false;
        }
        let last = u32::from(date.num_days_in_month());
        let is_nearest = |day: u32| {
            let day = if day == LAST { last } else { day.min(last) };
            self.nearest != 0 && date.with_day(day).map(nearest_working_day) == Some(date)
        };
        let is_or_last =
            self.or_last >> date.day() & 1 == 1 || date.day() == last && self.or_last >> last > 1;
        is_or_last
            || self.before_last >> (last - date.day()) & 1 == 1
            || (0..=31).any(|day| self.nearest >> day & 1 == 1 && is_nearest(day))
    }

    /// Whether a date is one by its weekday.
    pub fn has_weekday(&self, date: NaiveDate) -> bool {
        let nth = self.nth >> (date.weekday().num_days_from_sunday() * 8);
        let is_last = date.day() + 7 > u32::from(date.num_days_in_month());
        nth >> date.day().div_ceil(7) & 1 == 1 || is_last && nth >> LAST & 1 == 1
    }
}

/// The day from Monday to Friday that is nearest to a date, within its month.
fn nearest_working_day(date: NaiveDate) -> NaiveDate {
    let days = match date.weekday() {
        chrono::Weekday::Sat if date.day() == 1 => 2,
        chrono::Weekday::Sat => -1,
        chrono::Weekday::Sun if date.day() == u32::from(date.num_days_in_month()) => -2,
        chrono::Weekday::Sun => 1,
        _ => 0,
    };
    date.checked_add_signed(chrono::TimeDelta::days(days))
        .unwrap_or(date)
}
