use super::press::{Choice, Press, text_of, without_outcome};
use super::*;
use crate::base::zone::Zone;
use crate::schedule::Schedule;

fn time(text: &str) -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339(text).unwrap()
}

fn reminder<'a>(text: &'a str, planned: &str, now: &str) -> Reminder<'a> {
    Reminder {
        job: "a1b2c3d4",
        text,
        planned: time(planned),
        now: time(now),
        delay: None,
    }
}

const PLANNED: &str = "2026-11-23T18:20:00+01:00";

#[test]
fn a_late_reminder_says_how_late_it_is() {
    let said = |now, language| reminder("take the bread out", PLANNED, now).describe(language);
    for (now, english) in [
        ("2026-11-23T18:20:03+01:00", ""),
        (
            "2026-11-23T18:25:59+01:00",
            r" (planned for 18:20, 5 min late)",
        ),
        (
            "2026-11-23T20:20:00+01:00",
            r" (planned for 18:20, 2 h late)",
        ),
        (
            "2026-11-23T20:50:00+01:00",
            r" (planned for 18:20, 2 h 30 min late)",
        ),
        (
            "2026-11-26T19:20:00+01:00",
            r" (planned for 2026-11-23 18:20, 3 d 1 h late)",
        ),
        // A clock that went back.
        ("2026-11-23T17:20:00+01:00", ""),
    ] {
        let expected = format!("⏰ take the bread out{english}");
        assert_eq!(said(now, Language::English), expected);
    }
    let chinese = said("2026-11-23T20:20:00+01:00", Language::Chinese);
    assert_eq!(chinese, "⏰ take the bread out（原定 18:20，晚了 2 小时）");
}

#[test]
fn its_buttons_name_the_job_and_the_run_in_64_bytes() {
    let to = Address::new("telegram", "1");
    let message = reminder("x", PLANNED, PLANNED).message(&to, Language::English);
    let buttons: Vec<_> = message.command_buttons.concat();
    let labels: Vec<&str> = buttons.iter().map(|button| &*button.label).collect();
    assert_eq!(labels, ["✓ Done", "Snooze 10 min", "Tomorrow"]);
    assert_eq!(buttons[1].command, "/remind snooze a1b2c3d4 1795454400000");
    assert!(buttons.iter().all(|button| button.command.len() <= 62));
    assert_eq!(message.once, "cron:a1b2c3d4:1795454400000");
}

#[test]
fn a_text_is_neither_markup_nor_invisible() {
    let odd = reminder("**bold** \u{202e}x\nline", PLANNED, PLANNED);
    let said = odd.describe(Language::English);
    assert_eq!(said, "⏰ \\*\\*bold\\*\\* \\\\u\\{202e\\}x\nline");
}

#[test]
fn every_text_is_there_in_each_language() {
    crate::base::language::check_table(texts::TABLE);
}

#[test]
fn a_press_names_its_job_and_its_run() {
    let to = Address::new("telegram", "1");
    let message = reminder("x", PLANNED, PLANNED).message(&to, Language::English);
    let choices = [Choice::Done, Choice::Snooze, Choice::Tomorrow];
    for (button, choice) in message.command_buttons.concat().iter().zip(choices) {
        let argument = button.command.strip_prefix("/remind ").unwrap();
        let press = Press {
            choice,
            job: "a1b2c3d4",
            planned_ms: 1_795_454_400_000,
        };
        assert_eq!(Press::parse(argument), Some(press));
    }
    for other in [
        "",
        "done",
        "done a",
        "done a 1 2",
        "done a b",
        "20m done a 1",
    ] {
        assert_eq!(Press::parse(other), None, "{other}");
    }
}

#[test]
fn it_comes_again_in_ten_minutes_or_at_the_same_time_tomorrow() {
    let at = |text| time(text).timestamp_millis();
    let again = |argument: &str, now| {
        let again = Press::parse(argument)
            .unwrap()
            .again_at(at(now), &Zone::utc());
        again.map(|ms| DateTime::from_timestamp_millis(ms).unwrap().to_rfc3339())
    };
    let planned = at("2026-11-23T07:00:00Z");
    let pressed = "2026-11-23T08:13:20Z";
    assert_eq!(again(&format!("done a {planned}"), pressed), None);
    let snoozed = again(&format!("snooze a {planned}"), pressed);
    assert_eq!(snoozed.as_deref(), Some("2026-11-23T08:23:20+00:00"));
    let tomorrow = format!("again a {planned}");
    let next = again(&tomorrow, pressed);
    assert_eq!(next.as_deref(), Some("2026-11-24T07:00:00+00:00"));
    // In Zurich the clocks go from 2:00 to 3:00 on that day.
    let zurich = Zone::find("Europe/Zurich").unwrap();
    let planned_at_night = at("2026-03-28T02:30:00+01:00");
    let argument = format!("again a {planned_at_night}");
    let press = Press::parse(&argument).unwrap();
    let over_the_gap = press.again_at(planned_at_night + 60_000, &zurich);
    assert_eq!(over_the_gap, Some(at("2026-03-29T03:00:00+02:00")));
    let next_year = again(&tomorrow, "2027-11-23T12:00:00Z");
    assert_eq!(next_year.as_deref(), Some("2027-11-24T07:00:00+00:00"));
    assert!(again(&format!("again a {}", i64::MAX), pressed).is_some());
}

#[test]
fn the_text_comes_back_from_the_message() {
    for text in ["take the bread out", "buy (two) eggs", "x late)", "a\nb"] {
        for language in Language::ALL {
            for now in [PLANNED, "2026-11-23T20:20:00+01:00"] {
                let said = reminder(text, PLANNED, now).describe(language);
                let shown = said.replace('\\', "");
                assert_eq!(text_of(&shown), text, "{shown}");
                for outcome in [
                    texts::done(language, &"07:00"),
                    texts::again_by(language, &"tomorrow 07:00", &"Ben"),
                ] {
                    let pressed = format!("{shown}\n\n{outcome}");
                    assert_eq!(without_outcome(&pressed), shown);
                    assert_eq!(text_of(&pressed), text, "{pressed}");
                }
            }
            for delay in [Delay::FullDisk, Delay::NotStored] {
                let held_up = Reminder {
                    delay: Some(delay),
                    ..reminder(text, PLANNED, PLANNED)
                };
                let shown = held_up.describe(language).replace('\\', "");
                assert!(shown.contains("18:20"), "{shown}");
                assert_eq!(text_of(&shown), text, "{shown}");
            }
        }
    }
}

#[test]
fn the_words_for_when_it_comes_again_mean_that_time() {
    let zone = Zone::find("Europe/Zurich").unwrap();
    let planned_ms = 1_795_420_800_000;
    let now_ms = planned_ms + 3 * 60_000;
    for choice in [Choice::Snooze, Choice::Tomorrow] {
        let press = Press {
            choice,
            job: "a",
            planned_ms,
        };
        let words = press.words(&zone).unwrap();
        let read = crate::schedule::when::take_leading(&words, now_ms, &zone);
        let at_ms = press.again_at(now_ms, &zone).unwrap();
        assert_eq!(read.unwrap().unwrap().0, Schedule::At { at_ms }, "{words}");
    }
}
