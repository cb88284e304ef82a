//! PURE: round ticks along an axis, and how numbers are written there.

use chrono::{Datelike, Timelike};

use crate::base::zone::Zone;

/// Ticks along an axis of values.
const TICKS: u32 = 5;
/// Ticks along the axis of time that are aimed at; a label has up to ten characters.
const TIME_TICKS: i64 = 7;
/// The most that there are.
const TIME_TICKS_MAX: usize = 16;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// Steps between two ticks of time, in seconds. Steps above a day are days.
const STEPS: [i64; 17] = [
    60,
    300,
    600,
    1800,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    91 * DAY,
    365 * DAY,
    3650 * DAY,
];

/// An axis of values: its ends and its ticks are round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value at the bottom.
    pub low: f64,
    /// The value at the top.
    pub high: f64,
    step: f64,
}

impl Scale {
    /// The scale of some values, all finite. It begins at 0 when that costs little room, and a share ends at
    /// 100.
    pub fn of_values(values: impl Iterator<Item = f64>, is_share: bool) -> Self {
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (mut low, mut high) = ends.unwrap_or((0.0, 1.0));
        if low >= 0.0 && low <= high * 0.4 {
            low = 0.0;
        }
        if high - low < high.abs().max(low.abs()) * 1e-3 {
            let room = (high.abs() * 0.05).max(0.5);
            (low, high) = (low - room, high + room);
        }
        let mut scale = Self::over(low, high);
        scale.low = (low / scale.step).floor() * scale.step;
        scale.high = (high / scale.step).ceil() * scale.step;
        if is_share && high <= 100.0 {
            scale.high = scale.high.min(100.0);
        }
        scale
    }

    /// A scale from one end to the other, with round ticks between them.
    pub fn over(low: f64, high: f64) -> Self {
        let is_usable = low.is_finite() && high.is_finite() && high > low && (high - low) < 1e300;
        let (low, high) = if is_usable { (low, high) } else { (0.0, 1.0) };
        let rough = (high - low) / f64::from(TICKS);
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter();
        let step = factor
            .map(|factor| factor * power)
            .find(|step| *step >= rough * 0.99)
            .unwrap_or(rough);
        Self { low, high, step }
    }

    /// The ticks with their labels.
    pub fn labels(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step - 1e-6).ceil();
        let ticks = (0..=TICKS * 2).map(|number| (first + f64::from(number)) * self.step);
        ticks
            .take_while(|tick| *tick <= self.high + self.step * 1e-6)
            .map(|tick| (tick, format_value(tick, self.step)))
            .collect()
    }
}

/// A number in few characters: to the precision of a step, or with three digits where that is 0.
pub fn format_value(value: f64, step: f64) -> String {
    let size = value.abs();
    let (divisor, letter) = match size {
        size if size >= 1e15 => return format!("{value:.1e}"),
        size if size >= 1e10 => (1e9, "G"),
        size if size >= 1e7 => (1e6, "M"),
        size if size >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let (value, step, size) = (value / divisor, step / divisor, size / divisor);
    let decimals = match step > 0.0 {
        true => (-(step * 1.001).log10().floor()).clamp(0.0, 6.0) as usize,
        false if size >= 99.95 => 0,
        false if size >= 9.995 || size == 0.0 => 1,
        false => 2,
    };
    let text = format!("{value:.decimals$}");
    // A zero has no sign.
    let digits = text.trim_start_matches('-');
    if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
        format!("{digits}{letter}")
    } else {
        format!("{text}{letter}")
    }
}

/// The ticks of a span of time, in seconds since 1970, with labels in local time: at full hours, midnights and
/// the like.
pub fn times((from, to): (f64, f64), zone: &Zone) -> Vec<(f64, String)> {
    // Years 1 to 9999: what chrono and people can write.
    const YEARS: std::ops::RangeInclusive<f64> = -62_135_596_800.0..=253_402_300_799.0;
    if !YEARS.contains(&from) || !YEARS.contains(&to) || to <= from {
        return Vec::new();
    }
    let (from, to) = (from as i64, to as i64);
    let wanted = (to - from) / TIME_TICKS;
    let steps = STEPS.into_iter();
    let step = steps.clone().find(|step| *step >= wanted);
    let step = step.or(steps.last()).unwrap_or(DAY);
    let mut ticks = Vec::new();
    let mut at = aligned(from, step, zone);
    while at <= to && ticks.len() < TIME_TICKS_MAX {
        ticks.push((at as f64, label(at, step, zone)));
        // Where the clocks are changed a step is an hour shorter or longer.
        at = aligned(at + step, step, zone).max(at + step / 2 + 1);
    }
    ticks
}

/// The nearest instant at which the local time is a multiple of a step.
fn aligned(at: i64, step: i64, zone: &Zone) -> i64 {
    let local = at + i64::from(zone.at(at).offset().local_minus_utc());
    let beyond = local.rem_euclid(step);
    if beyond * 2 > step {
        at - beyond + step
    } else {
        at - beyond
    }
}

fn label(at: i64, step: i64, zone: &Zone) -> String {
    let local = zone.at(at);
    let (hour, minute) = (local.hour(), local.minute());
    match (step, hour, minute) {
        (step, ..) if step > DAY => {
            format!("{}-{:02}-{:02}", local.year(), local.month(), local.day())
        }
        (DAY, ..) | (_, 0, 0) if step >= 3 * HOUR => format!("{} {}", local.weekday(), local.day()),
        _ => format!("{hour:02}:{minute:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.labels().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        let of = |values: &[f64]| labels(Scale::of_values(values.iter().copied(), false));
        assert_eq!(of(&[45.0, 63.0]), ["45", "50", "55", "60", "65"]);
        assert_eq!(of(&[0.02, 3.4]), ["0", "1", "2", "3", "4"]);
        assert_eq!(
            of(&[0.2, 0.21]),
            ["0.200", "0.202", "0.204", "0.206", "0.208", "0.210"]
        );
        assert_eq!(of(&[-3.0, 2.0]), ["-3", "-2", "-1", "0", "1", "2"]);
        assert_eq!(of(&[71.0]), ["66", "68", "70", "72", "74", "76"]);
        assert_eq!(of(&[0.0, 52_000.0]), ["0", "20k", "40k", "60k"]);
        let share = Scale::of_values([70.0, 99.0].into_iter(), true);
        assert_eq!((share.low, share.high), (70.0, 100.0));
    }

    #[test]
    fn numbers_are_short() {
        let short = |value| format_value(value, 0.0);
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0001, "0.00"),
            (1.234, "1.23"),
            (52.06, "52.1"),
            (-250.4, "-250"),
            (12_345.0, "12.3k"),
            (8e9, "8000M"),
            (1e300, "1.0e300"),
        ] {
            assert_eq!(short(value), expected);
        }
    }

    #[test]
    fn ticks_of_time_are_local_also_across_a_change_of_the_clocks() {
        let zone = Zone::from_rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let labels = |from: i64, hours: i64| {
            let ticks = times((from as f64, (from + hours * HOUR) as f64), &zone);
            ticks
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
        };
        // Saturday, 2026-10-24, 12:20 in Zurich; the clocks go back in the night.
        let noon = 1_792_837_200;
        assert_eq!(
            labels(noon, 1),
            [
                "12:20", "12:30", "12:40", "12:50", "13:00", "13:10", "13:20"
            ]
        );
        assert_eq!(labels(noon, 24), ["12:00", "18:00", "Sun 25", "06:00"]);
        let week = [
            "Sun 25", "Mon 26", "Tue 27", "Wed 28", "Thu 29", "Fri 30", "Sat 31",
        ];
        assert_eq!(labels(noon, 24 * 7), week);
        assert_eq!(labels(noon, 24 * 300)[0], "2026-10-22");
    }
}
