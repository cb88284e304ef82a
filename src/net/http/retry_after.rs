//! How long a server asks us to wait, in all the forms in use.

use std::time::Duration;

use chrono::DateTime;
use ureq::http::HeaderMap;

use crate::base::clock::Clock;

/// The wait that an error reply asks for.
///
/// `retry-after` is seconds or a date (RFC 9110, section 10.2.3), `retry-after-ms` is OpenAI's. When
/// a rate limit (429) has neither, `x-ratelimit-reset…` says when it opens again: OpenAI and Groq
/// give a time such as `1m6.5s` for each kind of limit, OpenRouter the instant in milliseconds.
pub fn retry_after(status: u16, headers: &HeaderMap, clock: &Clock) -> Option<Duration> {
    let value = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    if let Some(wait) = value("retry-after-ms").and_then(|text| seconds(text, 1000.0)) {
        return Some(wait);
    }
    if let Some(text) = value("retry-after") {
        return seconds(text, 1.0).or_else(|| until_date(text, clock));
    }
    if status != 429 {
        return None;
    }
    let spent = |kind: &str| value(&format!("x-ratelimit-remaining-{kind}")) == Some("0");
    let reset = |kind: &str| value(&format!("x-ratelimit-reset-{kind}")).and_then(units);
    ["requests", "tokens"]
        .into_iter()
        .filter(|kind| spent(kind))
        .filter_map(reset)
        .max()
        .or_else(|| until_instant(value("x-ratelimit-reset")?, clock))
}

fn seconds(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}

fn until_date(text: &str, clock: &Clock) -> Option<Duration> {
    let date = DateTime::parse_from_rfc2822(text).ok()?;
    until_millis(date.timestamp_millis(), clock)
}

/// Milliseconds since 1970, as its size shows; a small number is seconds to wait.
fn until_instant(text: &str, clock: &Clock) -> Option<Duration> {
    const SURELY_AN_INSTANT: i64 = 1_000_000_000_000;
    match text.parse::<i64>() {
        Ok(millis) if millis >= SURELY_AN_INSTANT => until_millis(millis, clock),
        _ => seconds(text, 1.0),
    }
}

/// An instant means nothing while the clock is not set.
fn until_millis(millis: i64, clock: &Clock) -> Option<Duration> {
    if !clock.is_set() {
        return None;
    }
    let wait = millis.saturating_sub(clock.now().timestamp_millis());
    Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
}

/// A time with units, as Go prints it: `1h2m3.5s`, `120ms`.
fn units(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (amount, tail) = rest.split_at(number);
        let unit = tail
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let per_second = match unit {
            "h" => 1.0 / 3600.0,
            "m" => 1.0 / 60.0,
            "s" => 1.0,
            "ms" => 1000.0,
            _ => return None,
        };
        total = total.checked_add(seconds(amount, per_second)?)?;
        rest = tail;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use ureq::http::{HeaderName, HeaderValue};

    /// 2027-01-01T00:00:00Z
    const NOW: i64 = 1_798_761_600_000;

    fn wait(status: u16, pairs: &[(&str, &str)]) -> Option<f32> {
        let headers = pairs.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        let clock = Clock::Hand(Arc::new(NOW.into()));
        retry_after(status, &headers.collect(), &clock).map(|wait| wait.as_secs_f32())
    }

    #[test]
    fn every_form_of_a_wait_is_understood() {
        assert_eq!(wait(503, &[("retry-after", "7")]), Some(7.0));
        assert_eq!(wait(503, &[("retry-after", " 1.5 ")]), Some(1.5));
        let date = "Fri, 01 Jan 2027 00:00:30 GMT";
        assert_eq!(wait(503, &[("retry-after", date)]), Some(30.0));
        let past = "Fri, 01 Jan 2021 00:00:30 GMT";
        assert_eq!(wait(503, &[("retry-after", past)]), Some(0.0));
        let both = [("retry-after", "7"), ("retry-after-ms", "250")];
        assert_eq!(wait(429, &both), Some(0.25));
    }

    #[test]
    fn the_reset_of_a_limit_counts_when_it_is_that_limit_that_was_hit() {
        let headers = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1m6.5s"),
            ("x-ratelimit-remaining-tokens", "9000"),
            ("x-ratelimit-reset-tokens", "1h"),
        ];
        assert_eq!(wait(429, &headers), Some(66.5));
        assert_eq!(wait(500, &headers), None);
        assert_eq!(wait(429, &headers[2..]), None);
        assert_eq!(
            wait(429, &[("x-ratelimit-reset", "1798761602000")]),
            Some(2.0)
        );
        assert_eq!(wait(429, &[("x-ratelimit-reset", "12")]), Some(12.0));
    }

    #[test]
    fn nonsense_asks_for_nothing() {
        for text in ["", "-1", "NaN", "inf", "1e300", "soon", "12 monkeys"] {
            assert_eq!(wait(429, &[("retry-after", text)]), None, "{text}");
            assert_eq!(wait(429, &[("x-ratelimit-reset", text)]), None, "{text}");
        }
    }

    #[test]
    fn a_board_without_a_clock_ignores_dates() {
        let mut headers = HeaderMap::new();
        headers.insert(
            "retry-after",
            HeaderValue::from_static("Fri, 01 Jan 2027 00:00:30 GMT"),
        );
        let clock = Clock::Hand(Arc::default());
        assert_eq!(retry_after(503, &headers, &clock), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_time_or_none(text in "[0-9hms.-]{0,12}|.{0,20}") {
            let _ = units(&text);
        }
    }
}
