//! Numbers as a workbook shows them (ECMA-376, part 1, 18.8.30): dates, times and parts of a hundred; others in full.

use chrono::{Days, NaiveDate};

/// The day that the number 0 stands for; Excel counts a 29 February 1900 that there was not.
const EPOCH: Option<NaiveDate> = NaiveDate::from_ymd_opt(1899, 12, 30);
/// The days from there to the one with which old Macintosh programs begin.
const DAYS_TO_1904: f64 = 1462.0;
const DAY_SECONDS: f64 = 86_400.0;

/// How a number is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As it is.
    #[default]
    Plain,
    /// In parts of a hundred.
    Percent,
    /// As a day.
    Date,
    /// As a time of day.
    Time,
    /// As a day and a time.
    DateTime,
    /// As hours, minutes and seconds, of which there may be more than a day has.
    Duration,
}

impl Format {
    /// A format that has a number and no code.
    pub fn built_in(id: u32) -> Self {
        match id {
            9 | 10 => Self::Percent,
            14..=17 | 27..=31 | 36 | 50..=54 | 57..=58 => Self::Date,
            18..=21 | 32..=35 | 45 | 47 | 55..=56 => Self::Time,
            22 => Self::DateTime,
            46 => Self::Duration,
            _ => Self::Plain,
        }
    }

    /// A format by its code, such as `yyyy\-mm\-dd`.
    pub fn of_code(code: &str) -> Self {
        let (mut has_day, mut has_time, mut is_percent) = (false, false, false);
        let mut chars = code.chars();
        while let Some(char) = chars.next() {
            match char.to_ascii_lowercase() {
                ';' => break,
                '"' => while chars.next().is_some_and(|char| char != '"') {},
                '\\' | '_' | '*' => drop(chars.next()),
                '[' => {
                    let inner: String = chars.by_ref().take_while(|char| *char != ']').collect();
                    // Others are colours, conditions and languages.
                    if matches!(
                        inner.to_ascii_lowercase().as_str(),
                        "h" | "hh" | "m" | "mm" | "s" | "ss"
                    ) {
                        return Self::Duration;
                    }
                }
                'y' | 'd' => has_day = true,
                'h' | 's' => has_time = true,
                'm' if !code.to_ascii_lowercase().contains(['h', 's']) => has_day = true,
                '%' => is_percent = true,
                _ => {}
            }
        }
        match (has_day, has_time) {
            (true, true) => Self::DateTime,
            (true, false) => Self::Date,
            (false, true) => Self::Time,
            (false, false) if is_percent => Self::Percent,
            (false, false) => Self::Plain,
        }
    }

    /// The number as text.
    pub fn show(self, text: &str, is_1904: bool) -> String {
        let Some(number) = text.parse().ok().filter(|number: &f64| number.is_finite()) else {
            return text.to_owned();
        };
        let shown = match self {
            Self::Plain => None,
            Self::Percent => Some(format!("{}%", shorten(number * 100.0))),
            Self::Duration => duration(number),
            Self::Date | Self::Time | Self::DateTime => self.moment(number, is_1904),
        };
        shown.unwrap_or_else(|| shorten(number))
    }

    fn moment(self, number: f64, is_1904: bool) -> Option<String> {
        let number = if is_1904 {
            number + DAYS_TO_1904
        } else {
            number
        };
        // To a second: a time is a fraction, which is a little less or more.
        let seconds = (number * DAY_SECONDS).round();
        if !(0.0..1e12).contains(&seconds) {
            return None;
        }
        let seconds = seconds as u64;
        let mut days = seconds / DAY_SECONDS as u64;
        if days > 0 && days < 60 && !is_1904 {
            days += 1;
        }
        let day = EPOCH?.checked_add_days(Days::new(days))?;
        let clock = seconds % DAY_SECONDS as u64;
        let (hours, minutes, rest) = (clock / 3600, clock / 60 % 60, clock % 60);
        let mut time = format!("{hours:02}:{minutes:02}");
        if rest > 0 {
            time.push_str(&format!(":{rest:02}"));
        }
        Some(match self {
            Self::Time if days == 0 => time,
            Self::Date if clock == 0 => day.to_string(),
            _ => format!("{day} {time}"),
        })
    }
}

fn duration(number: f64) -> Option<String> {
    let seconds = (number * DAY_SECONDS).round();
    let seconds = (0.0..1e12).contains(&seconds).then_some(seconds as u64)?;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    Some(format!("{hours}:{minutes:02}:{:02}", seconds % 60))
}

/// A number with as many digits as Excel computes with, and no more than it needs.
fn shorten(number: f64) -> String {
    let digits: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    match digits.abs() {
        0.0 => "0".to_owned(),
        large if !(1e-9..1e15).contains(&large) => format!("{digits:e}"),
        _ => digits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_a_workbook_shows_them() {
        for (code, number, shown) in [
            ("General", "0.30000000000000004", "0.3"),
            ("0.00", "1234567", "1234567"),
            ("yyyy-mm-dd", "46082", "2026-03-01"),
            ("[$-409]d\\-mmm;@", "1", "1900-01-01"),
            ("h:mm AM/PM", "0.3125", "07:30"),
            ("d/m/yy h:mm", "46082.5", "2026-03-01 12:00"),
            ("[h]:mm:ss", "1.25", "30:00:00"),
            ("0.0%", "0.07", "7%"),
            ("\"days\" 0", "3", "3"),
            ("[Red]0.00", "-2.50", "-2.5"),
            ("yyyy\"年\"m\"月\"", "46082", "2026-03-01"),
            ("yyyy", "-5", "-5"),
            ("yyyy", "1e300", "1e300"),
            ("0", "x", "x"),
        ] {
            assert_eq!(
                Format::of_code(code).show(number, false),
                shown,
                "{code} {number}"
            );
        }
        assert_eq!(Format::built_in(14).show("44620", true), "2026-03-01");
    }
}
