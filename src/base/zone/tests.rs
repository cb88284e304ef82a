use chrono::{DateTime, NaiveDateTime};
use proptest::prelude::*;

use super::*;

fn utc(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp()
}

fn local(text: &str) -> NaiveDateTime {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap()
}

fn find(name: &str) -> Zone {
    Zone::find(name).unwrap_or_else(|| panic!("{name}"))
}

/// A zone from the table that is built in, as on a system without zone data.
fn built_in(name: &str) -> Zone {
    Zone::from_rule(built_in::find_rule(name).unwrap_or_else(|| panic!("{name}"))).unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn local_time_is_right_in_both_hemispheres_and_at_odd_changes() {
    for (zone, instant, expected) in [
        (
            "Europe/Zurich",
            "2026-03-29T00:59:59Z",
            "2026-03-29T01:59:59+01:00",
        ),
        (
            "Europe/Zurich",
            "2026-03-29T01:00:00Z",
            "2026-03-29T03:00:00+02:00",
        ),
        (
            "Europe/Zurich",
            "2026-10-25T00:59:59Z",
            "2026-10-25T02:59:59+02:00",
        ),
        (
            "Europe/Zurich",
            "2026-10-25T01:00:00Z",
            "2026-10-25T02:00:00+01:00",
        ),
        (
            "America/New_York",
            "2026-07-04T12:00:00Z",
            "2026-07-04T08:00:00-04:00",
        ),
        (
            "Australia/Sydney",
            "2027-01-01T00:00:00Z",
            "2027-01-01T11:00:00+11:00",
        ),
        (
            "Australia/Sydney",
            "2026-04-04T16:00:00Z",
            "2026-04-05T02:00:00+10:00",
        ),
        (
            "Australia/Lord_Howe",
            "2026-04-04T15:00:00Z",
            "2026-04-05T01:30:00+10:30",
        ),
        (
            "America/Santiago",
            "2026-09-06T04:00:00Z",
            "2026-09-06T01:00:00-03:00",
        ),
        (
            "America/Nuuk",
            "2026-03-29T01:00:00Z",
            "2026-03-29T00:00:00-01:00",
        ),
        (
            "Europe/Dublin",
            "2026-07-01T00:00:00Z",
            "2026-07-01T01:00:00+01:00",
        ),
        (
            "Europe/Dublin",
            "2026-12-01T00:00:00Z",
            "2026-12-01T00:00:00+00:00",
        ),
        (
            "Asia/Gaza",
            "2030-03-30T00:00:00Z",
            "2030-03-30T03:00:00+03:00",
        ),
        (
            "Asia/Kathmandu",
            "2026-01-01T00:00:00Z",
            "2026-01-01T05:45:00+05:45",
        ),
        (
            "Africa/Cairo",
            "2027-04-29T22:00:00Z",
            "2027-04-30T01:00:00+03:00",
        ),
        (
            "Etc/GMT+5",
            "2026-01-01T00:00:00Z",
            "2025-12-31T19:00:00-05:00",
        ),
        ("UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00"),
        // Behind the last change in the files.
        (
            "Europe/Zurich",
            "2100-07-01T00:00:00Z",
            "2100-07-01T02:00:00+02:00",
        ),
        (
            "Australia/Sydney",
            "2100-07-01T00:00:00Z",
            "2100-07-01T10:00:00+10:00",
        ),
    ] {
        // Palestine's clocks also follow the moon, which no rule says.
        let zones = match zone {
            "Asia/Gaza" => vec![built_in(zone)],
            _ => vec![find(zone), built_in(zone)],
        };
        for found in zones {
            let time = found.at(utc(instant));
            assert_eq!(time.to_rfc3339(), expected, "{zone} {instant}");
        }
    }
    // The system's files know the past too.
    let soviet = find("Europe/Moscow").at(utc("1985-07-01T00:00:00Z"));
    assert_eq!(soviet.to_rfc3339(), "1985-07-01T04:00:00+04:00");
    let ramadan = find("Africa/Casablanca").at(utc("2027-02-20T12:00:00Z"));
    assert_eq!(ramadan.to_rfc3339(), "2027-02-20T12:00:00+00:00");
}

#[test]
fn a_local_time_happens_once_twice_or_not_at_all() {
    for zone in [find("Europe/Zurich"), built_in("Europe/Zurich")] {
        assert_eq!(
            zone.resolve(local("2026-11-23 07:00")),
            Local::Once(utc("2026-11-23T06:00:00Z"))
        );
        assert_eq!(
            zone.resolve(local("2026-03-29 02:30")),
            Local::Gap {
                after: utc("2026-03-29T01:00:00Z")
            }
        );
        assert_eq!(
            zone.resolve(local("2026-03-29 03:00")),
            Local::Once(utc("2026-03-29T01:00:00Z"))
        );
        assert_eq!(
            zone.resolve(local("2026-10-25 02:00")),
            Local::Twice(utc("2026-10-25T00:00:00Z"), utc("2026-10-25T01:00:00Z"))
        );
        assert_eq!(
            zone.resolve(local("2026-10-25 03:00")),
            Local::Once(utc("2026-10-25T02:00:00Z"))
        );
    }
    // Half an hour.
    let island = find("Australia/Lord_Howe");
    assert_eq!(
        island.resolve(local("2026-10-04 02:15")),
        Local::Gap {
            after: utc("2026-10-03T15:30:00Z")
        }
    );
    // A whole day, when Samoa went to the other side of the date line.
    let samoa = find("Pacific/Apia");
    assert_eq!(
        samoa.resolve(local("2011-12-30 12:00")),
        Local::Gap {
            after: utc("2011-12-30T10:00:00Z")
        }
    );
}

#[test]
fn rules_are_read_in_every_form() {
    let offset = |rule: &str, at: &str| {
        let zone = Zone::from_rule(rule).unwrap_or_else(|| panic!("{rule}"));
        zone.at(utc(at)).offset().local_minus_utc() / 60
    };
    let (january, july) = ("2028-01-15T00:00:00Z", "2028-07-15T00:00:00Z");
    for (rule, in_january, in_july) in [
        ("UTC0", 0, 0),
        ("<-03>3", -180, -180),
        ("<+0545>-5:45", 345, 345),
        ("EST5EDT", -300, -240),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 60, 120),
        ("CET-1CEST-3,J60,J300", 60, 180),
        ("NZST-12NZDT,M9.5.0,M4.1.0/3", 780, 720),
        ("AAA0BBB,59,300", 0, 60),
        // All year.
        ("EST5EDT4,0/0,J365/25", -240, -240),
        ("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", -180, -120),
    ] {
        assert_eq!(offset(rule, january), in_january, "{rule}");
        assert_eq!(offset(rule, july), in_july, "{rule}");
    }
    // J60 is March 1 in each year, 59 is February 29 in a leap year.
    assert_eq!(offset("AAA0BBB,J60/0,J300", "2028-02-29T12:00:00Z"), 0);
    assert_eq!(offset("AAA0BBB,J60/0,J300", "2028-03-01T12:00:00Z"), 60);
    assert_eq!(offset("AAA0BBB,59/0,J300", "2028-02-29T12:00:00Z"), 60);
    for wrong in [
        "",
        "C",
        "CET",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-25",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5.0.1,M10.5.0",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,J0,J366",
        "CET-1CEST,M3.5.0,M10.5.0/3x",
        "<CET-1",
        "CET-1:60",
        "CET--1",
        "CET-1CEST,M+3.5.0,M10.5.0",
    ] {
        assert!(Zone::from_rule(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn a_name_is_no_way_to_another_file() {
    for wrong in [
        "",
        ".",
        "..",
        "../../../etc/localtime",
        "/etc/localtime",
        "Europe",
        "Europe/",
        "Europe//Zurich",
        "Europe/./Zurich",
        "Europe/Zurich\0",
        "Europe/Nowhere",
        "zone.tab",
        "tzdata.zi",
        "-Europe/Zurich",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "欧洲/苏黎世",
    ] {
        assert!(Zone::find(wrong).is_none(), "{wrong}");
    }
    assert_eq!(find("Asia/Shanghai").name(), "Asia/Shanghai");
}

#[test]
fn a_zone_is_found_as_people_write_it() {
    let at = utc("2028-01-01T00:00:00Z");
    for (name, offset, shown) in [
        ("utc", 0, "UTC"),
        ("Utc", 0, "UTC"),
        ("etc/utc", 0, "Etc/UTC"),
        ("EUROPE/ZURICH", 3600, "Europe/Zurich"),
        ("GMT+1", 3600, "UTC+0100"),
        ("gmt-3:30", -12_600, "UTC-0330"),
        ("UTC+0530", 19_800, "UTC+0530"),
        ("UTC +05:45", 20_700, "UTC+0545"),
        ("+02:00", 7200, "UTC+0200"),
        ("UTC+0", 0, "UTC+0000"),
        // As the data has it, where a plus is west.
        ("Etc/GMT+1", -3600, "Etc/GMT+1"),
    ] {
        let zone = find(name);
        assert_eq!(
            (zone.span(at).offset, zone.name()),
            (offset, shown),
            "{name}"
        );
        assert_eq!(find(zone.name()).span(at).offset, offset, "{name}");
    }
    for wrong in [
        "GMT+15", "UTC+1:60", "UTC+", "UTC+1h", "+", "UTC+١", "GMT++1", "UTC+é1",
    ] {
        assert!(Zone::find(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn a_wrong_name_gets_the_nearest() {
    for (wrong, expected) in [
        ("europe/zurich", Some("Europe/Zurich")),
        ("Zurich", Some("Europe/Zurich")),
        ("new york", Some("America/New_York")),
        ("Europe/Zürich", Some("Europe/Zurich")),
        ("Europe/Zuerich", Some("Europe/Zurich")),
        ("asia/shanghi", Some("Asia/Shanghai")),
        ("utc", Some("UTC")),
        ("Mars", None),
        ("x", None),
        ("", None),
    ] {
        assert_eq!(suggest(wrong).as_deref(), expected, "{wrong}");
    }
}

/// The system may have newer data, in which some countries have changed their minds.
#[test]
fn the_table_agrees_with_the_system() {
    let (mut equal, mut all) = (0, 0);
    for name in built_in::names() {
        let (own, of_system) = (built_in(&name), find(&name));
        all += 1;
        let is_equal = (0..365 * 4).all(|quarter| {
            let at = utc("2028-01-01T00:00:00Z") + quarter * 21_600;
            own.span(at).offset == of_system.span(at).offset
        });
        equal += u32::from(is_equal);
    }
    assert!(all > 550, "only {all} zones");
    assert!(equal * 100 > all * 95, "{equal} of {all} zones agree");
}

#[test]
fn a_damaged_file_is_refused() {
    let whole = std::fs::read("/usr/share/zoneinfo/Europe/Zurich").expect("tzdata is installed");
    assert!(Zone::from_file("x", &whole).is_some());
    for length in 0..whole.len() {
        assert!(
            Zone::from_file("x", &whole[..length]).is_none(),
            "cut to {length} bytes"
        );
    }
    let mut leap = whole.clone();
    // Counts that ask for more than there is, or for more than fits a number.
    for at in 20..44 {
        leap.copy_from_slice(&whole);
        leap[at] = 0xff;
        assert!(Zone::from_file("x", &leap).is_none(), "byte {at}");
    }
    let right = std::fs::read("/usr/share/zoneinfo/right/Europe/Zurich");
    assert!(right.map_or(true, |bytes| Zone::from_file("x", &bytes).is_none()));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<i64>()) {
        let mut file = b"TZif".to_vec();
        file.extend(bytes);
        if let Some(zone) = Zone::from_file("x", &file) {
            zone.at(at);
        }
    }

    #[test]
    fn any_change_of_a_file_is_survived(
        (byte, value) in (44_usize..1900, any::<u8>()),
        at in any::<i64>(),
    ) {
        let mut file = std::fs::read("/usr/share/zoneinfo/Europe/Zurich").unwrap();
        if let Some(place) = file.get_mut(byte) {
            *place = value;
        }
        if let Some(zone) = Zone::from_file("x", &file) {
            let span = zone.span(at);
            prop_assert!(span.start <= at && at < span.end || at == i64::MAX);
            zone.resolve(zone.at(at).naive_local());
        }
    }

    #[test]
    fn any_rule_is_read_or_refused(rule in "[A-Z]{3}-?[0-9]{1,2}[A-Z]{0,3}(,[JM]?[0-9.]{1,6}(/-?[0-9]{1,3})?){0,2}", at in any::<i64>()) {
        if let Some(zone) = Zone::from_rule(&rule) {
            let span = zone.span(at);
            prop_assert!(span.start <= at && (at < span.end || at == i64::MAX), "{:?}", span);
        }
    }

    /// A local time is resolved to the instants at which it is shown.
    #[test]
    fn resolve_is_the_inverse_of_at(
        name in prop::sample::select(vec![
            "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Gaza",
            "Africa/Casablanca", "Pacific/Apia", "America/Nuuk", "Europe/Dublin", "UTC",
        ]),
        at in 0_i64..4_000_000_000,
    ) {
        let zone = find(name);
        match zone.resolve(zone.at(at).naive_local()) {
            Local::Once(once) => prop_assert_eq!(once, at),
            Local::Twice(first, second) => prop_assert!(first == at || second == at),
            Local::Gap { .. } => prop_assert!(false, "it is shown at {}", at),
        }
    }
}
