use super::*;
use crate::schedule::{Payload, Run, Schedule, State};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
/// 2026-11-23T00:00:00Z
const DAY: i64 = 1_795_392_000_000;

fn job(id: &str, kind: PayloadKind, at_ms: i64) -> Job {
    let payload = Payload {
        kind,
        message: "x".to_owned(),
        ..Payload::default()
    };
    Job::new(id, Schedule::At { at_ms }, payload, DAY - HOUR)
}

fn look_at<'a>(jobs: &'a [Job], now_ms: i64, change: impl FnOnce(&mut Conditions<'_>)) -> Look<'a> {
    let (zone, running) = (Zone::utc(), BTreeSet::new());
    let mut now = Conditions {
        now_ms,
        zone: &zone,
        quiet: None,
        running: &running,
        slots: 2,
        room: Some(Room {
            default_chat: Some(chat("1")),
            ..Room::default()
        }),
    };
    change(&mut now);
    look(jobs, &now)
}

fn started(look: &Look<'_>) -> Vec<String> {
    look.start.iter().map(|(job, _)| job.id.clone()).collect()
}

#[test]
fn a_job_starts_at_its_time_and_not_before() {
    let jobs = [job("a", PayloadKind::Reminder, DAY + HOUR)];
    let early = look_at(&jobs, DAY, |_| ());
    assert_eq!((started(&early), early.next_ms), (vec![], Some(DAY + HOUR)));
    let due = look_at(&jobs, DAY + HOUR, |_| ());
    assert_eq!(started(&due), ["a"]);
    assert_eq!(due.start[0].1.planned_ms, DAY + HOUR);
}

#[test]
fn a_job_that_runs_or_is_disabled_does_not_start() {
    let mut jobs = [job("a", PayloadKind::Command, DAY)];
    let running = BTreeSet::from(["a".to_owned()]);
    let zone = Zone::utc();
    let now = Conditions {
        now_ms: DAY + HOUR,
        zone: &zone,
        quiet: None,
        running: &running,
        slots: 2,
        room: Some(Room {
            default_chat: Some(chat("1")),
            ..Room::default()
        }),
    };
    assert_eq!(look(&jobs, &now), Look::default());
    jobs[0].enabled = false;
    assert_eq!(look_at(&jobs, DAY + HOUR, |_| ()), Look::default());
}

#[test]
fn turns_wait_for_a_slot_and_those_planned_first_go_first() {
    let jobs = [
        job("late", PayloadKind::AgentTurn, DAY + 2 * MINUTE),
        job("first", PayloadKind::AgentTurn, DAY),
        job("second", PayloadKind::Command, DAY + MINUTE),
        job("bread", PayloadKind::Reminder, DAY + 3 * MINUTE),
    ];
    let now = look_at(&jobs, DAY + 4 * MINUTE, |_| ());
    assert_eq!(started(&now), ["first", "second", "bread"]);
    // The end of a run is what starts the one that waits.
    assert_eq!(now.next_ms, None);
    let full = look_at(&jobs, DAY + 4 * MINUTE, |now| now.slots = 0);
    assert_eq!(started(&full), ["bread"]);
}

fn chat(id: &str) -> Address {
    Address::new("telegram", id)
}

fn reminder_for(id: &str, to: &str) -> Job {
    let mut job = job(id, PayloadKind::Reminder, DAY);
    (job.payload.channel, job.payload.to) = (Some("telegram".to_owned()), Some(to.to_owned()));
    job
}

fn pending(counts: &[(&str, usize)]) -> Option<Room> {
    let counts = counts.iter().map(|(to, count)| (chat(to), *count));
    Some(Room {
        pending: counts.collect(),
        default_chat: Some(chat("1")),
    })
}

#[test]
fn a_flood_for_one_chat_holds_up_no_other() {
    let mut jobs: Vec<Job> = (0..200)
        .map(|number| reminder_for(&format!("a{number}"), "1"))
        .collect();
    jobs.push(job("last", PayloadKind::Reminder, DAY));
    jobs.push(reminder_for("b", "2"));
    let now = look_at(&jobs, DAY, |_| ());
    let started_now = started(&now);
    assert_eq!(started_now.len(), CHAT_ROOM_MAX + 1);
    assert_eq!(started_now.last().map(String::as_str), Some("b"));
    assert!(now.waits_for_room);
    // The chat of jobs that name none is the first one.
    let full = look_at(&jobs, DAY, |now| {
        now.room = pending(&[("1", CHAT_ROOM_MAX)])
    });
    assert_eq!(started(&full), ["b"]);
}

#[test]
fn reminders_wait_for_room_in_the_outbox() {
    let jobs = [reminder_for("a", "1"), reminder_for("b", "2")];
    // Messages of others, one of them for the second chat.
    let full = look_at(&jobs, DAY, |now| {
        now.room = pending(&[("9", OUTBOX_ROOM_MAX), ("2", 1)]);
    });
    assert_eq!(started(&full), ["a"]);
    assert!(full.waits_for_room);
    let fuller = look_at(&jobs, DAY, |now| {
        now.room = pending(&[("9", OUTBOX_ROOM_FIRST_MAX)]);
    });
    assert_eq!(started(&fuller), Vec::<String>::new());
}

#[test]
fn reminders_without_a_chat_wait_for_one() {
    let jobs = [
        job("a", PayloadKind::Reminder, DAY),
        reminder_for("b", "2"),
        job("c", PayloadKind::Command, DAY),
    ];
    let none = look_at(&jobs, DAY, |now| now.room = Some(Room::default()));
    assert_eq!(started(&none), ["b", "c"]);
    assert!(!none.waits_for_room);
}

#[test]
fn reminders_wait_until_those_of_the_last_look_are_stored() {
    let jobs = [reminder_for("a", "1")];
    // The end of their runs is what starts the others.
    assert_eq!(look_at(&jobs, DAY, |now| now.room = None), Look::default());
}

#[test]
fn quiet_hours_hold_reminders_and_nothing_else() {
    let quiet = QuietHours::parse("22:00-07:00");
    let mut jobs = vec![
        job("bread", PayloadKind::Reminder, DAY + 23 * HOUR),
        job("report", PayloadKind::AgentTurn, DAY + 23 * HOUR),
        job("pills", PayloadKind::Reminder, DAY + 23 * HOUR),
    ];
    jobs[2].catch_up = false;
    let night = look_at(&jobs, DAY + 23 * HOUR, |now| now.quiet = quiet);
    assert_eq!(started(&night), ["report", "pills"]);
    assert_eq!(night.next_ms, Some(DAY + 31 * HOUR));
    let morning = look_at(&jobs[..1], DAY + 31 * HOUR, |now| now.quiet = quiet);
    assert_eq!(started(&morning), ["bread"]);
    assert_eq!(morning.start[0].1.planned_ms, DAY + 23 * HOUR);
    assert_eq!(morning.start[0].1.late_ms, 8 * HOUR);
}

#[test]
fn quiet_hours_end_today_or_tomorrow() {
    let zone = Zone::utc();
    let end = |text, now| end_of_quiet(QuietHours::parse(text).unwrap(), now, &zone);
    assert_eq!(end("22:00-07:00", DAY + 21 * HOUR), None);
    assert_eq!(end("22:00-07:00", DAY + 22 * HOUR), Some(DAY + 31 * HOUR));
    assert_eq!(end("22:00-07:00", DAY + 6 * HOUR), Some(DAY + 7 * HOUR));
    assert_eq!(end("22:00-07:00", DAY + 7 * HOUR), None);
    assert_eq!(
        end("13:00-14:30", DAY + 14 * HOUR),
        Some(DAY + 14 * HOUR + 30 * MINUTE)
    );
}

#[test]
fn a_job_is_failing_until_a_run_of_it_succeeds() {
    let of = |statuses: &[Status]| {
        let mut job = job("a", PayloadKind::Command, DAY);
        let run = |status: &Status| Run {
            status: *status,
            ..Run::default()
        };
        job.state = State {
            runs: statuses.iter().map(run).collect(),
            ..State::default()
        };
        is_failing(&job)
    };
    assert!(!of(&[]));
    assert!(of(&[Status::Ok, Status::Failed]));
    assert!(of(&[Status::Failed, Status::Interrupted, Status::Skipped]));
    assert!(!of(&[Status::Failed, Status::Ok, Status::Running]));
    let mut job = job("a", PayloadKind::Command, DAY);
    job.state.runs.push(Run {
        status: Status::Failed,
        undelivered: true,
        ..Run::default()
    });
    assert!(!is_failing(&job), "no one knows of it");
}
