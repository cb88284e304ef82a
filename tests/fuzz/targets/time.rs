//! A time or cron line that somebody writes is a schedule that can be used, or an error.

use super::number;
use peacrab::base::language::Language;
use peacrab::base::zone::Zone;
use peacrab::schedule::{Phase, when};

pub fn run(bytes: &[u8]) {
    let (now_ms, text) = number(bytes, 8);
    let text = &*String::from_utf8_lossy(text);
    // Up to the year 10000.
    let now_ms = now_ms.rem_euclid(253_402_300_800_000);
    let zone = Zone::find("Europe/Zurich").expect("a zone");
    if let Ok(schedule) = when::parse(text, now_ms, &zone) {
        assert_eq!(schedule.check(), Ok(()));
        when::describe(&schedule, &zone, Language::Chinese);
        let phase = Phase {
            created_ms: now_ms,
            id: text,
        };
        let next = schedule.next_after(now_ms, &phase, &zone);
        assert!(next.is_none_or(|next| next > now_ms), "{schedule:?}");
    }
    if let Ok(Some((_, rest))) = when::take_leading(text, now_ms, &zone) {
        assert!(text.contains(rest));
    }
}
