//! What holds for every cron line, and what it has in common with the crate `cron`.

use proptest::prelude::*;

use crate::base::zone::{Local, Zone};
use crate::schedule::line::Line;
use crate::schedule::times::Plan;

fn any_line() -> impl Strategy<Value = String> {
    let item = prop::sample::select(vec![
        "*", "*/2", "1", "2", "2-5", "1,3", "5/2", "?", "H", "L", "mon", "29", "31", "0", "5#3",
        "L5", "15W", "LW", "L-3",
    ]);
    prop::collection::vec(item, 5..7).prop_map(|fields| fields.join(" "))
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused(line in ".{0,40}", after in any::<i64>()) {
        if let Ok(line) = Line::parse(&line, "id") {
            line.next_after(after, &Zone::utc());
        }
    }

    /// Times ascend; in UTC each is the one that a search second by second finds; the latest of many is the
    /// one that counting finds.
    #[test]
    fn the_next_time_is_later_and_matches(
        line in any_line(),
        zone in prop::sample::select(vec!["Europe/Zurich", "Australia/Lord_Howe", "America/Santiago", "UTC"]),
        after in 1_700_000_000_i64..1_900_000_000,
    ) {
        let Ok(line) = Line::parse(&line, "id") else {
            return Ok(());
        };
        let zone = Zone::find(zone).unwrap();
        let plan = Plan::Cron { line, zone: zone.clone() };
        let first = plan.next_after(after * 1000).unwrap();
        prop_assert!(first > after * 1000);
        // Nothing is planned between: from just before it, it is the next as well.
        prop_assert_eq!(plan.next_after(first - 1), Some(first));
        prop_assert_eq!(plan.next_after(after * 1000 + (first - after * 1000 - 1) / 2), Some(first));
        let second = plan.next_after(first).unwrap();
        prop_assert!(second > first);
        let local = zone.at(first / 1000).naive_local();
        let is_shown = !matches!(zone.resolve(local), Local::Gap { .. });
        prop_assert!(is_shown);
        let mut times = vec![first, second];
        while times.len() < 260 {
            times.push(plan.next_after(times[times.len() - 1]).unwrap());
        }
        for count in [1, 2, 200, 201, 260] {
            let passed = plan.passed(after * 1000, times[count - 1]).unwrap();
            prop_assert_eq!(passed.latest_ms, times[count - 1], "{}", count);
            prop_assert_eq!(passed.earlier, (count as u32 - 1).min(200), "{}", count);
        }
    }
}

/// A field of the crate `cron`: stars, steps, ranges and lists.
fn field(least: u32, most: u32) -> impl Strategy<Value = String> {
    let item = (least..=most, least..=most, 1..=most).prop_map(move |(first, last, step)| {
        let (first, last) = (first.min(last), first.max(last));
        match step % 4 {
            0 => format!("{first}"),
            1 => format!("{first}-{last}/{step}"),
            _ => format!("{first}-{last}"),
        }
    });
    prop_oneof![
        2 => Just("*".to_owned()),
        1 => (1..=most).prop_map(|step| format!("*/{step}")),
        3 => proptest::collection::vec(item, 1..3).prop_map(|items| items.join(",")),
    ]
}

proptest! {
    /// The crate wants both day fields to match, so only one of them is restricted here. It begins the
    /// weekdays with 1 for Sunday, so they are named.
    #[test]
    fn a_line_means_what_the_crate_cron_says(
        minutes in field(0, 59),
        hours in field(0, 23),
        months in field(1, 12),
        days in prop_oneof![
            field(1, 31).prop_map(|days| (days, "*")),
            proptest::sample::select(vec!["mon", "mon-fri", "sat,sun", "wed"])
                .prop_map(|weekdays| ("*".to_owned(), weekdays)),
        ],
        start in 946_684_800_i64..4_102_444_800,
    ) {
        use std::str::FromStr as _;
        let line = format!("{minutes} {hours} {} {months} {}", days.0, days.1);
        let theirs = cron::Schedule::from_str(&format!("0 {line}")).unwrap();
        let Ok(ours) = Line::parse(&line, "job") else {
            // No date matches it.
            let start = chrono::DateTime::from_timestamp(start, 0).unwrap();
            prop_assert_eq!(theirs.after(&start).next(), None, "{}", line);
            return Ok(());
        };
        let mut at = start;
        let start = chrono::DateTime::from_timestamp(start, 0).unwrap();
        for expected in theirs.after(&start).take(5) {
            at = ours.next_after(at, &Zone::utc()).unwrap();
            prop_assert_eq!(at, expected.timestamp(), "{}", line);
        }
    }
}
