//! The hours of a day in which chats are left alone.

/// Minutes of a day.
const DAY: u32 = 24 * 60;

/// A part of each day, from one minute to another; it may go over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    /// Minutes after midnight.
    from: u32,
    /// Minutes after midnight; the first one that is not quiet.
    to: u32,
}

impl QuietHours {
    /// Reads `22:00-07:00`; `None` for anything else, and when both times are the same.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute(from)?, minute(to)?);
        (from != to).then_some(Self { from, to })
    }

    /// Whether a minute of a day, counted from midnight, is quiet.
    pub fn contains(self, minute: u32) -> bool {
        (minute + DAY - self.from) % DAY < (self.to + DAY - self.from) % DAY
    }

    /// The hour and the minute at which they end.
    pub fn end(self) -> (u32, u32) {
        (self.to / 60, self.to % 60)
    }

    /// Whether those that a minute of a day belongs to end on the next day.
    pub fn end_tomorrow(self, minute: u32) -> bool {
        minute >= self.to
    }
}

/// The minute of a day of `7:00` or `07:00`; `24:00` is midnight.
fn minute(text: &str) -> Option<u32> {
    let (hour, minute) = text.trim().split_once(':')?;
    let number = |text: &str| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let all = hour * 60 + minute;
    (minute < 60 && all <= DAY).then_some(all % DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_may_go_over_midnight() {
        for (text, quiet, loud) in [
            (
                "22:00-07:00",
                [22 * 60, 0, 7 * 60 - 1],
                [7 * 60, 12 * 60, 22 * 60 - 1],
            ),
            (
                "13:00-14:30",
                [13 * 60, 14 * 60, 14 * 60 + 29],
                [0, 14 * 60 + 30, 13 * 60 - 1],
            ),
            ("0:00-6:00", [0, 60, 6 * 60 - 1], [6 * 60, 12 * 60, DAY - 1]),
            (
                "22:00-24:00",
                [22 * 60, 23 * 60, DAY - 1],
                [0, 60, 22 * 60 - 1],
            ),
        ] {
            let hours = QuietHours::parse(text).unwrap();
            assert!(quiet.iter().all(|minute| hours.contains(*minute)), "{text}");
            assert!(!loud.iter().any(|minute| hours.contains(*minute)), "{text}");
        }
        let night = QuietHours::parse(" 22:00 - 7:00 ").unwrap();
        assert_eq!(night.end(), (7, 0));
        assert!(night.end_tomorrow(23 * 60) && !night.end_tomorrow(60));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "22-7",
            "22:00",
            "22:00-22:00",
            "25:00-1:00",
            "1:60-2:00",
            "a:b-c:d",
            "-",
            "+1:00-2:00",
            "00:00-24:00",
        ] {
            assert_eq!(QuietHours::parse(text), None, "{text}");
        }
    }
}
