use super::*;

fn time(text: &str) -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339(text).unwrap()
}

fn reminder<'a>(text: &'a str, planned: &str, now: &str) -> Reminder<'a> {
    Reminder {
        job: "a1b2c3d4",
        text,
        planned: time(planned),
        now: time(now),
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
    crate::language::check_table(texts::TABLE);
}
