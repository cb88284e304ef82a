//! Reads spans such as `5 minutes` or `两小时`, and clock times such as `8:30 pm` or `晚上8点半`.

/// The seconds of a span.
pub fn span(text: &str) -> Option<u64> {
    const UNITS: [(&[&str], u64); 5] = [
        (&["weeks", "week", "周", "个星期", "星期"], 7 * 24 * 3600),
        (&["days", "day", "天", "日"], 24 * 3600),
        (&["hours", "hour", "h", "个小时", "小时", "个钟头"], 3600),
        (&["minutes", "minute", "mins", "min", "m", "分钟", "分"], 60),
        (&["seconds", "second", "secs", "sec", "s", "秒钟", "秒"], 1),
    ];
    let text = text.trim().to_ascii_lowercase();
    if matches!(text.as_str(), "half an hour" | "半小时" | "半个小时") {
        return Some(30 * 60);
    }
    UNITS.iter().find_map(|(names, seconds)| {
        let amount = names.iter().find_map(|name| text.strip_suffix(name))?;
        let amount = match amount.trim() {
            "" => 1,
            amount => number(amount)?,
        };
        amount.checked_mul(*seconds).filter(|seconds| *seconds > 0)
    })
}

/// Hour and minute of a clock time.
pub fn clock(text: &str) -> Option<(u64, u64)> {
    const HALVES: [(&str, bool); 6] = [
        ("早上", false),
        ("上午", false),
        ("凌晨", false),
        ("中午", true),
        ("下午", true),
        ("晚上", true),
    ];
    let lower = text.trim().to_ascii_lowercase();
    let mut rest = lower.as_str();
    let mut afternoon = None;
    for (word, is_afternoon) in HALVES {
        if let Some(after) = rest.strip_prefix(word) {
            (rest, afternoon) = (after.trim(), Some(is_afternoon));
        }
    }
    for (word, is_afternoon) in [("am", false), ("pm", true)] {
        if let Some(before) = rest.strip_suffix(word) {
            (rest, afternoon) = (before.trim(), Some(is_afternoon));
        }
    }
    let (hour, minute) = hour_and_minute(rest, afternoon.is_some())?;
    let hour = match afternoon {
        Some(true) if hour < 12 => hour + 12,
        Some(false) if hour == 12 => 0,
        _ => hour,
    };
    (hour < 24 && minute < 60).then_some((hour, minute))
}

/// `18:30`, `8点`, `8点半`, `8点30分`; a number alone only where `am` or the like stood beside it.
fn hour_and_minute(text: &str, alone: bool) -> Option<(u64, u64)> {
    if let Some((hour, minute)) = text.split_once([':', '：', '点', '时']) {
        let minute = match minute.trim().trim_end_matches('分') {
            "" | "钟" => 0,
            "半" => 30,
            minute => number(minute)?,
        };
        return Some((number(hour)?, minute));
    }
    if alone {
        Some((number(text)?, 0))
    } else {
        None
    }
}

/// A number in digits or a small one in words.
fn number(text: &str) -> Option<u64> {
    const WORDS: [(&str, u64); 25] = [
        ("a", 1),
        ("an", 1),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("ten", 10),
        ("fifteen", 15),
        ("twenty", 20),
        ("thirty", 30),
        ("一", 1),
        ("两", 2),
        ("二", 2),
        ("三", 3),
        ("四", 4),
        ("五", 5),
        ("六", 6),
        ("七", 7),
        ("八", 8),
        ("九", 9),
        ("十", 10),
        ("十一", 11),
        ("十二", 12),
        ("三十", 30),
    ];
    let text = text.trim();
    let word = WORDS.iter().find(|(word, _)| *word == text);
    word.map(|(_, number)| *number)
        .or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_in_both_languages() {
        for (text, seconds) in [
            ("5 minutes", Some(300)),
            ("an hour", Some(3600)),
            ("half an hour", Some(1800)),
            ("90s", Some(90)),
            ("2 days", Some(172_800)),
            ("day", Some(86_400)),
            ("10分钟", Some(600)),
            ("两个小时", Some(7200)),
            ("半小时", Some(1800)),
            ("天", Some(86_400)),
            ("soon", None),
            ("0 minutes", None),
            ("99999999999999999999 days", None),
            ("18446744073709551615 weeks", None),
            ("", None),
        ] {
            assert_eq!(span(text), seconds, "{text}");
        }
    }

    #[test]
    fn clock_times_are_read_in_both_languages() {
        for (text, time) in [
            ("18:30", Some((18, 30))),
            ("8:05 am", Some((8, 5))),
            ("8pm", Some((20, 0))),
            ("12 am", Some((0, 0))),
            ("12 pm", Some((12, 0))),
            ("8点", Some((8, 0))),
            ("8点半", Some((8, 30))),
            ("晚上9点15分", Some((21, 15))),
            ("下午三点", Some((15, 0))),
            ("25:00", None),
            ("8:75", None),
            ("8", None),
            ("noonish", None),
        ] {
            assert_eq!(clock(text), time, "{text}");
        }
    }
}
