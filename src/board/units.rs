//! PURE: numbers in the units that people use.

use super::texts;
use crate::base::language::Language;

/// A number of bytes in the largest unit that it fills.
pub fn format_amount(bytes: u64, language: Language) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return texts::bytes(language, &bytes);
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A time in its two largest units.
pub fn format_span(seconds: u64, language: Language) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, minutes) => texts::minutes(language, &minutes),
        (0, hours, 0) => texts::hours(language, &hours),
        (0, hours, minutes) => texts::hours_minutes(language, &hours, &minutes),
        (1, 0, _) => texts::hours(language, &24),
        (days, hours, _) => texts::days_hours(language, &days, &hours),
    }
}

/// A number that counts tenths.
pub fn tenths(value: i32) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let value = value.unsigned_abs();
    format!("{sign}{}.{}", value / 10, value % 10)
}

/// A number that counts hundredths.
pub fn hundredths(value: u32) -> String {
    format!("{}.{:02}", value / 100, value % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_times_are_short() {
        let amounts = [0, 999, 1000, 945_364_000, 31_914_983_424, u64::MAX];
        let shown = [
            "0 bytes",
            "999 bytes",
            "1.0 kB",
            "945.3 MB",
            "31.9 GB",
            "18446.7 PB",
        ];
        assert_eq!(
            amounts.map(|bytes| format_amount(bytes, Language::English)),
            shown
        );
        let times = [59, 3600, 3661, 86_400, 273_600];
        let shown = ["0 min", "1 h", "1 h 1 min", "24 h", "3 d 4 h"];
        assert_eq!(
            times.map(|seconds| format_span(seconds, Language::English)),
            shown
        );
        assert_eq!([-5, 512].map(tenths), ["-0.5", "51.2"]);
    }
}
