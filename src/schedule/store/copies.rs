//! Tests: the list is replaced by an old copy, is a link, or was edited by hand.

use std::fs;
use std::os::unix::fs::symlink;

use super::tests::{add, home, home_with, ids, ok};
use super::*;

/// An editor has the list open while jobs run, and saves what it had.
#[test]
fn an_old_copy_of_the_list_knows_the_runs_since() {
    let (_folder, store) = home();
    for id in ["a", "b", "once"] {
        add(&store, id).unwrap();
    }
    store.begin("a", 60_000, 60_005).unwrap();
    store.end("a", 60_000, 60_105, &ok(100)).unwrap();
    add(&store, "c").unwrap();
    let old = fs::read(store.path()).unwrap();
    for time in [120_000, 180_000] {
        store.begin("a", time, time).unwrap();
        store.end("a", time, time, &ok(1)).unwrap();
    }
    store.begin("once", 130_000, 130_000).unwrap();
    store.end("once", 130_000, 130_000, &ok(1)).unwrap();
    // Folded several times, and one that has run is removed.
    store
        .change(|jobs| {
            jobs.retain(|job| job.id != "once");
            Ok(())
        })
        .unwrap();
    add(&store, "d").unwrap();
    store.begin("b", 190_000, 190_000).unwrap();
    add(&store, "e").unwrap();
    fs::write(store.path(), &old).unwrap();
    let last = |id: &str| {
        store
            .read()
            .unwrap()
            .find(id)
            .unwrap()
            .state
            .last_planned_ms
    };
    assert_eq!(last("a"), Some(180_000));
    assert_eq!(last("once"), Some(130_000));
    assert_eq!(last("b"), Some(190_000));
    assert_eq!(last("c"), None);
    assert_eq!(
        store
            .read()
            .unwrap()
            .find("b")
            .unwrap()
            .open_run()
            .map(|run| run.status),
        Some(Status::Running)
    );
    // And so does what is written next.
    add(&store, "f").unwrap();
    assert_eq!(last("a"), Some(180_000));
    store.begin("a", 240_000, 240_000).unwrap();
    assert_eq!(last("a"), Some(240_000));
}

#[test]
fn the_log_remembers_some_jobs_that_are_gone() {
    let (_folder, store) = home();
    add(&store, "stays").unwrap();
    store.begin("stays", 1, 1).unwrap();
    for number in 0..REMOVED_JOBS_KNOWN as i64 + 50 {
        let id = format!("j{number}");
        add(&store, &id).unwrap();
        store.end(&id, number, number, &ok(1)).unwrap();
        store
            .change(|jobs| {
                jobs.retain(|job| job.id != id);
                Ok(())
            })
            .unwrap();
    }
    let log = fs::read_to_string(store.log_path()).unwrap();
    assert_eq!(log.lines().count(), REMOVED_JOBS_KNOWN + 1);
    assert!(log.contains("\"j149\"") && !log.contains("\"j1\""), "{log}");
}

#[test]
fn a_planned_time_that_comes_again_is_another_run() {
    let (_folder, store) = home();
    add(&store, "a").unwrap();
    let state = || store.read().unwrap().jobs.remove(0).state;
    for time in [120_000, 180_000, 180_000] {
        store.begin("a", time, time).unwrap();
        store.end("a", time, time, &ok(1)).unwrap();
    }
    assert_eq!(state().set_backs, 0);
    let back = RunOutcome {
        status: Status::Skipped,
        ..ok(0)
    };
    store.end("a", 90_000, 90_000, &back).unwrap();
    assert_eq!(state().set_backs_with(120_000), 1);
    store.begin("a", 120_000, 120_000).unwrap();
    assert_eq!((state().set_backs, state().set_backs_with(120_000)), (1, 1));
    add(&store, "b").unwrap();
    assert_eq!(state().set_backs, 1);
}

#[test]
fn a_list_that_is_a_link_stays_one() {
    let (folder, store) = home();
    let real = folder.path().join("lists/mine.json");
    fs::create_dir(folder.path().join("lists")).unwrap();
    fs::create_dir(folder.path().join("cron")).unwrap();
    fs::write(&real, "").unwrap();
    symlink("../lists/mine.json", store.path()).unwrap();
    add(&store, "a").unwrap();
    store.begin("a", 60_000, 60_000).unwrap();
    add(&store, "b").unwrap();
    assert!(store.path().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"b\""));
    assert_eq!(ids(&store), ["a", "b"]);

    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("jobs.json");
    fs::copy(&real, &outside).unwrap();
    fs::remove_file(store.path()).unwrap();
    symlink(&outside, store.path()).unwrap();
    let error = add(&store, "c").unwrap_err().to_string();
    assert!(
        error.contains("is a link to") && error.contains("not changed"),
        "{error}"
    );
    assert_eq!(fs::read(&outside).unwrap(), fs::read(&real).unwrap());
    // Its jobs run all the same.
    store.begin("b", 60_000, 60_000).unwrap();
    assert_eq!(ids(&store), ["a", "b"]);
}

#[test]
fn a_job_of_the_file_that_would_run_all_the_time_is_refused() {
    for schedule in [
        r#"{"kind": "every", "everyMs": 1000}"#,
        r#"{"kind": "cron", "expr": "* * * * * *"}"#,
        r#"{"kind": "cron", "expr": "0,30 * * * * *"}"#,
    ] {
        let text = format!(
            r#"{{"jobs": [{{"id": "a", "schedule": {schedule}, "payload": {{"message": "x"}}}}]}}"#
        );
        let (_folder, store) = home_with(text);
        let jobs = store.read().unwrap();
        assert!(jobs.jobs.is_empty(), "{schedule}");
        let fault = jobs.faults[0].to_string();
        assert_eq!(
            fault,
            "job 1 (a): it would run more often than once a minute"
        );
    }
}
