//! The log of runs: what it keeps, and for how long.

use super::*;
use crate::base::limits::schedule::RUN_TRIES_MAX;
use crate::schedule::store::{RUNS_KEPT, RUNS_KEPT_MIN};

#[test]
fn a_run_is_noted_before_it_begins_and_after_it_ends() {
    let (folder, store) = home();
    add(&store, "a").unwrap();
    let stamp = store.changed();
    store.begin("a", 60_000, 60_005).unwrap();
    let state = store.read().unwrap().jobs.remove(0).state;
    assert_eq!(state.last_planned_ms, Some(60_000));
    assert_eq!(state.last_status, Some(Status::Running));
    let failed = RunOutcome {
        status: Status::Failed,
        error: Some("no\nnetwork".to_owned() + &"!".repeat(999)),
        unshown: false,
        duration_ms: 1200,
    };
    store.end("a", 60_000, 61_205, &failed).unwrap();
    store.begin("a", 120_000, 120_001).unwrap();
    store.end("a", 120_000, 120_101, &ok(100)).unwrap();
    let skipped = RunOutcome {
        status: Status::Skipped,
        ..ok(0)
    };
    store.end("a", 180_000, 200_000, &skipped).unwrap();
    // A new process sees the same.
    let store = Store::open(folder.path());
    let runs = store.runs("a", 9).unwrap();
    let statuses: Vec<Status> = runs.iter().map(|run| run.status).collect();
    assert_eq!(statuses, [Status::Skipped, Status::Ok, Status::Failed]);
    assert_eq!((runs[2].begun_ms, runs[2].duration_ms), (60_005, 1200));
    let error = runs[2].error.as_deref().unwrap();
    assert!(error.starts_with("no network!"), "{error}");
    assert!(error.chars().count() <= ERROR_CHARS_MAX + 1);
    let job = store.read().unwrap().jobs.remove(0);
    assert_eq!(job.state.last_planned_ms, Some(180_000));
    assert_eq!((job.state.last_error.clone(), job.open_run()), (None, None));
    assert_eq!(store.changed(), stamp, "a run does not rewrite the jobs");
    // A change takes the runs into the file, and leaves the last one in the log.
    add(&store, "b").unwrap();
    let log = fs::read_to_string(store.log_path()).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("180000"), "{log}");
    assert_eq!(store.runs("a", 9).unwrap(), runs);
    store.begin("a", 240_000, 240_000).unwrap();
    let job = store.read().unwrap().jobs.remove(0);
    assert_eq!(job.open_run().map(|run| run.planned_ms), Some(240_000));
    assert_eq!(store.runs("a", 2).unwrap().len(), 2);
    assert_eq!(store.runs("none", 9).unwrap(), []);
}

#[test]
fn a_torn_or_garbled_log_loses_only_what_is_torn() {
    let (_folder, store) = home();
    add(&store, "a").unwrap();
    store.begin("a", 1, 1).unwrap();
    store.end("a", 1, 2, &ok(1)).unwrap();
    let whole = fs::read(store.log_path()).unwrap();
    for cut in 0..whole.len() {
        fs::write(store.log_path(), &whole[..cut]).unwrap();
        let runs = store.runs("a", 9).unwrap();
        assert!(runs.len() <= 1, "{cut}");
        store.begin("a", 3, 3).unwrap();
        assert_eq!(store.runs("a", 1).unwrap()[0].planned_ms, 3, "{cut}");
    }
    fs::write(
        store.log_path(),
        [b"\0\0\xff garbage\n{}\n", &whole[..]].concat(),
    )
    .unwrap();
    assert_eq!(store.runs("a", 9).unwrap()[0].status, Status::Ok);
}

/// A crash between the two steps of a folding leaves the log's lines in both files.
#[test]
fn lines_that_are_folded_already_are_not_counted_again() {
    let (_folder, store) = home();
    add(&store, "a").unwrap();
    for time in 1..=30 {
        store.begin("a", time, time).unwrap();
        store.end("a", time, time, &ok(1)).unwrap();
    }
    let log = fs::read(store.log_path()).unwrap();
    add(&store, "b").unwrap();
    let runs = store.runs("a", 99).unwrap();
    assert_eq!(runs.len(), RUNS_KEPT);
    fs::write(store.log_path(), &log).unwrap();
    assert_eq!(store.runs("a", 99).unwrap(), runs);
    store.begin("a", 31, 31).unwrap();
    let job = &store.read().unwrap().jobs[0];
    assert_eq!(job.state.last_planned_ms, Some(31));
    assert_eq!(job.state.runs.len(), RUNS_KEPT);
    // The log is removed by hand: the next lines count all the same.
    fs::remove_file(store.log_path()).unwrap();
    store.begin("a", 32, 32).unwrap();
    assert_eq!(store.runs("a", 1).unwrap()[0].planned_ms, 32);
}

#[test]
fn the_log_stays_bounded_and_the_jobs_file_is_rarely_written() {
    let (_folder, store) = home();
    add(&store, "a").unwrap();
    let (mut stamp, mut writes) = (store.changed(), 0);
    for time in 0..900 {
        store.begin("a", time, time).unwrap();
        store.end("a", time, time, &ok(1)).unwrap();
        let now = store.changed();
        writes += usize::from(now != stamp);
        stamp = now;
    }
    let length = fs::metadata(store.log_path()).unwrap().len();
    assert!(length <= RUNS_FOLD_BYTES, "{length}");
    assert!((1..=4).contains(&writes), "{writes}");
    assert!(text(&store).len() < 8_000);
    assert_eq!(store.runs("a", 99).unwrap()[0].planned_ms, 899);
}

#[test]
fn many_jobs_keep_fewer_runs_each() {
    let (_folder, store) = home();
    store
        .change(|jobs| {
            jobs.extend((0..JOBS_MAX).map(|number| {
                let mut job = job(&format!("j{number}"));
                job.state.runs = vec![Run::default(); RUNS_KEPT];
                job
            }));
            Ok(())
        })
        .unwrap();
    let jobs = store.read().unwrap().jobs;
    assert!(
        jobs.iter()
            .all(|job| (RUNS_KEPT_MIN..=5).contains(&job.state.runs.len()))
    );
}

/// Each `Store` here has a lock of its own, as in processes of their own.
#[test]
fn a_hundred_writers_at_once_lose_nothing() {
    let (folder, store) = home();
    add(&store, "first").unwrap();
    std::thread::scope(|scope| {
        for number in 0..100 {
            let path = folder.path();
            scope.spawn(move || {
                let store = Store::open(path);
                match number % 4 {
                    0 => store.begin("first", number, number).unwrap(),
                    _ => add(&store, &format!("j{number}")).unwrap(),
                }
            });
        }
    });
    assert_eq!(ids(&store).len(), 76);
    assert_eq!(store.runs("first", 99).unwrap().len(), RUNS_KEPT);
    assert_eq!(store.load().unwrap().0.folded_to, 25);
}

#[test]
fn a_run_that_is_cut_off_each_time_is_not_tried_for_ever() {
    let (_folder, store) = home();
    add(&store, "a").unwrap();
    let interrupted = RunOutcome {
        status: Status::Interrupted,
        ..ok(0)
    };
    let is_tried_again = || {
        let job = store.read().unwrap().jobs.remove(0);
        job.times().interrupted_ms.is_some()
    };
    for attempt in 1..=RUN_TRIES_MAX {
        store.begin("a", 60_000, 60_005).unwrap();
        store.end("a", 60_000, 60_010, &interrupted).unwrap();
        assert_eq!(is_tried_again(), attempt < RUN_TRIES_MAX, "{attempt}");
    }
    // The next planned time is another run.
    store.begin("a", 120_000, 120_000).unwrap();
    store.end("a", 120_000, 120_010, &interrupted).unwrap();
    assert!(is_tried_again());
}

#[test]
fn a_list_that_comes_from_a_board_with_a_longer_log_does_not_hide_new_runs() {
    let (folder, store) = home();
    add(&store, "a").unwrap();
    store.begin("a", 60_000, 60_005).unwrap();
    let path = folder.path().join("cron/jobs.json");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.trim_end().strip_suffix('}').unwrap().to_owned();
    fs::write(&path, text + ",\"runsFoldedTo\": 5000}").unwrap();
    store.begin("a", 120_000, 120_005).unwrap();
    store.begin("a", 180_000, 180_005).unwrap();
    let job = store.read().unwrap().jobs.remove(0);
    assert_eq!(job.state.last_planned_ms, Some(180_000));
}

#[test]
fn times_that_no_clock_shows_do_no_harm() {
    for time in [i64::MIN, -1, 8_210_266_876_799_000, i64::MAX] {
        let (folder, store) = home();
        fs::create_dir(folder.path().join("cron")).unwrap();
        let text = json!({"jobs": [{
            "id": "a", "schedule": {"kind": "every", "everyMs": 60_000}, "payload": {"message": "x"},
            "createdAtMs": time,
            "state": {
                "lastPlannedAtMs": time, "lastRunAtMs": time,
                "runHistory": [{"plannedAtMs": time, "runAtMs": time, "durationMs": time, "status": "interrupted"}],
            },
        }]});
        fs::write(folder.path().join("cron/jobs.json"), text.to_string()).unwrap();
        let job = store.read().unwrap().jobs.remove(0);
        let zone = crate::base::zone::Zone::utc();
        crate::schedule::due::look(&job.times(), 1_795_500_000_000, &zone);
        for run in &job.state.runs {
            zone.at(run.planned_ms / 1000);
        }
    }
}

#[test]
fn a_mark_of_a_wrong_kind_loses_no_line() {
    let (_folder, store) = home();
    add(&store, "a").unwrap();
    store.begin("a", 1, 1).unwrap();
    let shown = RunOutcome {
        unshown: true,
        ..ok(1)
    };
    store.end("a", 1, 2, &shown).unwrap();
    assert!(store.runs("a", 9).unwrap()[0].unshown);
    let log = fs::read_to_string(store.log_path()).unwrap();
    for odd in ["\"yes\"", "1", "null", "{}"] {
        let odd = log.replace("\"unshown\":true", &format!("\"unshown\":{odd}"));
        assert_ne!(odd, log);
        fs::write(store.log_path(), odd).unwrap();
        let runs = store.runs("a", 9).unwrap();
        assert_eq!((runs[0].status, runs[0].unshown), (Status::Ok, false));
    }
}
