//! Recorded series of values, and what is told of them.

use proptest::prelude::*;

use crate::base::clock::BUILD_EPOCH;
use crate::base::language::Language;
use crate::board::watch::judge::{Event, Moment, Phase, Seen, Tracker};
use crate::board::watch::notice::{Notice, Subject, format_span};
use crate::board::watch::parse::parse;
use crate::board::watch::rule::Rule;
use crate::board::watch::{FLAP_CALM_MS, SEEN_PAUSE_MS};

const MINUTE: i64 = 60_000;

fn rule(text: &str) -> Rule {
    parse(text, Language::English).unwrap()
}

fn at(seconds: i64) -> Moment {
    Moment {
        up_ms: seconds * 1000,
        wall_ms: (BUILD_EPOCH + 1_000_000 + seconds) * 1000,
        boot: 1,
    }
}

/// What is told of a series of looks, each `seconds=value` or `seconds=?`: `seconds text`.
fn told(text: &str, series: &str) -> Vec<String> {
    let rule = rule(text);
    let criterion = rule.criterion();
    let mut tracker = Tracker::default();
    let subject = Subject::Rule(rule);
    let looks = series.split_whitespace().map(|look| {
        let (seconds, value) = look.split_once('=').unwrap();
        (seconds.parse::<i64>().unwrap(), value.parse::<f64>().ok())
    });
    looks
        .filter_map(|(seconds, value)| {
            let event = tracker.step(&criterion, value, at(seconds))?;
            let notice = Notice::of(event, at(seconds), "");
            Some(format!(
                "{seconds} {}",
                notice.describe(&subject, Language::English)
            ))
        })
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn recorded_series() {
    let table: [(&str, &str, &str, &[&str]); 15] = [
        (
            "an alarm is told once, and its end",
            "temperature > 75",
            "0=70 30=76 60=81 90=78 120=70 150=69",
            &[
                "30 🌡 temperature 76 °C (over 75).",
                "120 ✅ temperature is back to 70 °C after 1 min 30 s (peak 81 °C).",
            ],
        ),
        (
            "exactly the threshold is normal",
            "disk / > 90%",
            "0=90 30=90 60=91",
            &["60 💾 disk \\/ 91 % (over 90)."],
        ),
        (
            "the disk of the home needs no path",
            "disk > 60%",
            "0=62",
            &["0 💾 disk 62 % (over 60)."],
        ),
        (
            "a little below is not over yet",
            "temperature > 75",
            "0=76 30=74 60=73 90=76 120=71.25",
            &[
                "0 🌡 temperature 76 °C (over 75).",
                "120 ✅ temperature is back to 71.2 °C after 2 min (peak 76 °C).",
            ],
        ),
        (
            "what passes before its time is not told",
            "temperature > 75 for 5m",
            "0=80 60=80 120=80 180=70 200=80 260=80 320=80 380=80 440=80 500=81",
            &["500 🌡 temperature 81 °C (over 75 for 5 min)."],
        ),
        (
            "nothing is known about a gap, such as a suspend",
            "temperature > 75 for 5m",
            "0=80 30=80 600=80 660=80 720=80 780=80 840=80 900=80",
            &["900 🌡 temperature 80 °C (over 75 for 5 min)."],
        ),
        (
            "a look that finds out nothing changes nothing",
            "temperature > 75",
            "0=80 30=? 60=? 90=80 120=? 150=60",
            &[
                "0 🌡 temperature 80 °C (over 75).",
                "150 ✅ temperature is back to 60 °C after 2 min 30 s (peak 80 °C).",
            ],
        ),
        (
            "too little is an alarm too",
            "memory < 10% back 15%",
            "0=20 30=9 60=12 90=16",
            &[
                "30 🧠 memory 9 % (under 10).",
                "90 ✅ memory is back to 16 % after 1 min (peak 9 %).",
            ],
        ),
        (
            "it is repeated only where that is wanted",
            "load > 4 repeat 1h",
            "0=5 1800=5 3599=6 3600=5 3630=5 7200=5.5 7260=1",
            &[
                "0 📈 load 5.00 (over 4).",
                "3600 📈 load still 5.00, peak 6.00 (for 1 h).",
                "7200 📈 load still 5.50, peak 6.00 (for 2 h).",
                "7260 ✅ load is back to 1.00 after 2 h 1 min (peak 6.00).",
            ],
        ),
        (
            "a service that restarts is no alarm",
            "service nginx",
            "0=0 10=1 12=1 14=0 60=0",
            &[],
        ),
        (
            "one that stays away is",
            "service nginx",
            "0=0 10=1 15=1 700=0",
            &[
                "15 🔴 nginx is not running (for 5 s).",
                "700 ✅ nginx is running again (after 11 min).",
            ],
        ),
        (
            "a host that comes and goes is told three times, and then after some calm",
            "host nas",
            "0=1 60=0 120=1 180=0 240=1 300=0 360=1 420=0 480=1 540=0 660=0 800=0 950=0 1100=0 1140=0",
            &[
                "0 🔴 nas does not answer.",
                "60 ✅ nas answers again (after 1 min).",
                "120 🔴 nas does not answer.",
                "180 ✅ nas answers again (after 1 min).",
                "240 🔴 nas does not answer. It comes and goes. I'll say that it is over once it has been quiet for 10 min.",
                "1140 ✅ nas answers again (after 5 min).",
            ],
        ),
        (
            "values that are none are passed over",
            "temperature > 75",
            "0=NaN 30=inf 60=-inf 90=76",
            &["90 🌡 temperature 76 °C (over 75)."],
        ),
        (
            "the first look can be an alarm",
            "port 443",
            "0=1 60=0",
            &[
                "0 🔴 Nothing listens on port 443.",
                "60 ✅ Port 443 is open again (after 1 min).",
            ],
        ),
        (
            "a command's success is the news",
            "cmd 'test -e /x' succeeds",
            "0=0 300=1 600=0",
            &[
                "300 ✅ `test -e /x` succeeds.",
                "600 🔴 `test -e /x` fails (after 5 min).",
            ],
        ),
    ];
    for (name, rule, series, expected) in table {
        assert_eq!(told(rule, series), expected, "{name}");
    }
}

#[test]
fn the_wall_clock_does_not_matter_to_a_running_board() {
    let criterion = rule("temperature > 75 for 5m").criterion();
    for jump in [-40_000_000_000, 0, 86_400_000, i64::MAX / 2] {
        let mut tracker = Tracker::default();
        let mut events = Vec::new();
        for (index, seconds) in (0..=360).step_by(60).enumerate() {
            let mut now = at(seconds);
            if index > 2 {
                now.wall_ms = now.wall_ms.saturating_add(jump);
            }
            events.extend(tracker.step(&criterion, Some(80.0), now).map(|_| seconds));
        }
        assert_eq!(events, [300], "{jump}");
    }
}

/// The state after a restart: what is kept is written and read.
fn restarted(tracker: &Tracker) -> Tracker {
    serde_json::from_str(&serde_json::to_string(tracker).unwrap()).unwrap()
}

#[test]
fn a_restart_neither_repeats_an_alarm_nor_forgets_its_end() {
    let criterion = rule("temperature > 75").criterion();
    let mut tracker = Tracker::default();
    assert!(tracker.step(&criterion, Some(80.0), at(0)).is_some());
    let mut tracker = restarted(&tracker);
    assert_eq!(tracker.step(&criterion, Some(81.0), at(100)), None);
    let mut tracker = restarted(&tracker);
    let over = tracker.step(&criterion, Some(50.0), at(200));
    let lasted_ms = Some(200_000);
    assert_eq!(
        over,
        Some(Event::Recovered {
            value: 50.0,
            lasted_ms,
            peak: 81.0
        })
    );
}

#[test]
fn what_was_not_told_begins_again_after_a_restart() {
    let criterion = rule("temperature > 75 for 5m").criterion();
    let mut tracker = Tracker::default();
    assert_eq!(tracker.step(&criterion, Some(80.0), at(0)), None);
    let mut tracker = restarted(&tracker);
    assert_eq!(tracker.step(&criterion, Some(80.0), at(400)), None);
    for seconds in [460, 520, 580, 640] {
        assert_eq!(tracker.step(&criterion, Some(80.0), at(seconds)), None);
    }
    assert!(tracker.step(&criterion, Some(80.0), at(700)).is_some());
}

#[test]
fn over_a_reboot_the_wall_clock_counts_if_it_can_be_true() {
    let mut later = at(500);
    (later.boot, later.up_ms) = (2, 7_000);
    assert_eq!(later.since(at(100)), Some(400_000));
    later.wall_ms = 0;
    assert_eq!(later.since(at(100)), None, "in 1970");
    later.wall_ms = at(50).wall_ms;
    assert_eq!(later.since(at(100)), None, "set back");
    let criterion = rule("temperature > 75 repeat 1h").criterion();
    let mut tracker = Tracker::default();
    tracker.step(&criterion, Some(80.0), at(100));
    assert_eq!(tracker.step(&criterion, Some(80.0), later), None);
    let over = tracker.step(&criterion, Some(50.0), later);
    assert_eq!(
        over,
        Some(Event::Recovered {
            value: 50.0,
            lasted_ms: None,
            peak: 80.0
        })
    );
}

#[test]
fn the_next_look_is_when_something_has_lasted_long_enough() {
    let criterion = rule("service nginx").criterion();
    let mut tracker = Tracker::default();
    assert_eq!(tracker.deadline(&criterion), None);
    tracker.step(&criterion, Some(1.0), at(100));
    assert_eq!(tracker.deadline(&criterion), Some(105_000));
    tracker.step(&criterion, Some(1.0), at(105));
    assert_eq!(tracker.deadline(&criterion), None);
}

#[test]
fn the_first_of_many_lines_is_told_at_once_and_the_others_together() {
    let mut seen = Seen::default();
    assert_eq!(seen.take(at(0)), None);
    seen.note(1, "one".to_owned());
    assert_eq!(seen.deadline(at(0)), Some(0));
    assert_eq!(seen.take(at(0)), Some((1, "one".to_owned())));
    seen.note(3, "four".to_owned());
    seen.note(1, "five".to_owned());
    assert_eq!(seen.take(at(10)), None);
    assert_eq!(seen.deadline(at(10)), Some(SEEN_PAUSE_MS));
    let later = at(SEEN_PAUSE_MS / 1000);
    assert_eq!(seen.take(later), Some((4, "five".to_owned())));
    assert_eq!(seen.deadline(later), None);
}

#[test]
fn spans_are_short() {
    let spans = [
        0,
        59_999,
        MINUTE,
        90_000,
        12 * MINUTE + 5000,
        125 * MINUTE,
        1500 * MINUTE,
    ];
    let shown = [
        "0 s",
        "59 s",
        "1 min",
        "1 min 30 s",
        "12 min",
        "2 h 5 min",
        "1 d 1 h",
    ];
    assert_eq!(
        spans.map(|span| format_span(span, Language::English)),
        shown
    );
}

proptest! {
    /// Alarms and their ends alternate, whatever the values and clocks do.
    #[test]
    fn an_alarm_is_told_once_until_it_is_over(
        looks in prop::collection::vec((0..10_000_i64, prop::option::of(0..100_u8), any::<i32>()), 0..80),
        hold in 0..600_u64,
    ) {
        let criterion = rule(&format!("temperature > 50 for {}s", hold + 1)).criterion();
        let (mut tracker, mut seconds, mut is_raised) = (Tracker::default(), 0, false);
        for (step, value, jump) in looks {
            seconds += step;
            let mut now = at(seconds);
            now.wall_ms += i64::from(jump);
            let event = tracker.step(&criterion, value.map(f64::from), now);
            match event {
                Some(Event::Raised { value, held_ms, .. }) => {
                    prop_assert!(!is_raised && value > 50.0 && held_ms > hold as i64 * 1000);
                    is_raised = true;
                }
                Some(Event::Recovered { value, peak, lasted_ms }) => {
                    prop_assert!(is_raised && value <= 47.5 && peak > 50.0 && lasted_ms.unwrap_or(0) >= 0);
                    is_raised = false;
                }
                Some(Event::Repeated { .. }) => prop_assert!(false, "it was not asked for"),
                None => {}
            }
            prop_assert_eq!(tracker.is_raised(), is_raised);
        }
    }

    /// However a value flaps, few messages come of it.
    #[test]
    fn a_value_that_flaps_is_told_rarely(period in 1..90_i64) {
        let criterion = rule("temperature > 50").criterion();
        let mut tracker = Tracker::default();
        let hours = 10;
        let looks = (0..hours * 3600).step_by(30);
        let told = looks.filter(|seconds| {
            let value = if seconds / 30 / period % 2 == 0 { 80.0 } else { 20.0 };
            tracker.step(&criterion, Some(value), at(*seconds)).is_some()
        });
        prop_assert!(told.count() as i64 <= 7 * hours);
    }
}

#[test]
fn a_pending_value_is_not_an_alarm() {
    let mut tracker = Tracker::default();
    tracker.step(
        &rule("temperature > 50 for 1m").criterion(),
        Some(60.0),
        at(1),
    );
    assert!(matches!(tracker.phase, Phase::Pending { .. }) && !tracker.is_raised());
    assert_eq!(FLAP_CALM_MS % MINUTE, 0, "it is told in minutes");
}
