mod log;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use serde_json::{Value, json};

use super::*;
use crate::base::limits::schedule::MESSAGE_BYTES_MAX;
use crate::schedule::job::{Deliver, Payload, PayloadKind};
use crate::schedule::times::Schedule;

/// A home folder, and its store.
pub(super) fn home() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path());
    (folder, store)
}

/// A store with this text in its file.
pub(super) fn home_with(text: impl AsRef<[u8]>) -> (tempfile::TempDir, Store) {
    let (folder, store) = home();
    fs::create_dir_all(store.path().parent().unwrap()).unwrap();
    fs::write(store.path(), text).unwrap();
    (folder, store)
}

fn job(id: &str) -> Job {
    let payload = Payload {
        message: format!("message of {id}"),
        ..Payload::default()
    };
    Job::new(id, Schedule::Every { every_ms: 60_000 }, payload, 1_000)
}

pub(super) fn add(store: &Store, id: &str) -> Result<()> {
    store.change(|jobs| {
        jobs.push(job(id));
        Ok(())
    })
}

pub(super) fn ids(store: &Store) -> Vec<String> {
    let jobs = store.read().unwrap().jobs;
    jobs.into_iter().map(|job| job.id).collect()
}

fn text(store: &Store) -> String {
    fs::read_to_string(store.path()).unwrap()
}

pub(super) fn ok(duration_ms: i64) -> RunOutcome {
    RunOutcome {
        status: Status::Ok,
        error: None,
        unshown: false,
        duration_ms,
    }
}

/// As nanobot 0.1.4 writes it: two jobs of which one has run, with members that are not ours.
const NANOBOT: &str = r#"{
  "version": 1,
  "jobs": [
    {
      "id": "a1b2c3d4", "name": "Morning", "enabled": true,
      "schedule": {"kind": "cron", "atMs": null, "everyMs": null, "expr": "0 7 * * *", "tz": "Europe/Zurich"},
      "payload": {"kind": "agent_turn", "message": "Say good morning ☀", "deliver": true,
                  "channel": "telegram", "to": "812", "channelMeta": {"thread": 5}},
      "state": {"nextRunAtMs": 1795410000000, "lastRunAtMs": 1795323600000, "lastStatus": "ok",
                "lastError": null,
                "runHistory": [{"runAtMs": 1795323600000, "status": "ok", "durationMs": 4200, "error": null}]},
      "createdAtMs": 1795000000000, "updatedAtMs": 1795323604200, "deleteAfterRun": false
    },
    {
      "id": "e5f6a7b8", "name": "Water", "enabled": false,
      "schedule": {"kind": "every", "atMs": null, "everyMs": 3600000, "expr": null, "tz": null},
      "payload": {"kind": "agent_turn", "message": "Check the tank", "deliver": false, "channel": null, "to": null},
      "state": {"nextRunAtMs": null, "lastRunAtMs": null, "lastStatus": null, "lastError": null},
      "createdAtMs": 1795000000000, "updatedAtMs": 1795000000000, "deleteAfterRun": true
    },
    {
      "id": "c9", "name": "In a chat", "enabled": true,
      "schedule": {"kind": "at", "atMs": 1795500000000},
      "payload": {"kind": "agent_turn", "message": "Call Ann", "deliver": false, "sessionKey": "telegram:812",
                  "originChannel": "telegram", "originChatId": "812"},
      "state": {}, "createdAtMs": 1795000000000, "updatedAtMs": 1795000000000, "deleteAfterRun": true
    }
  ]
}"#;

/// As PicoClaw writes it.
const PICOCLAW: &str = r#"{
  "version": 1,
  "jobs": [
    {
      "id": "9f86d081884c7d65", "name": "Disk", "enabled": true,
      "schedule": {"kind": "every", "everyMs": 60000},
      "payload": {"kind": "agent_turn", "message": "how full is the disk", "command": "df -h", "deliver": false,
                  "channel": "discord", "to": "77"},
      "state": {"nextRunAtMs": 1795410000000},
      "createdAtMs": 1795000000000, "updatedAtMs": 1795000000000, "deleteAfterRun": false
    }
  ]
}"#;

#[test]
fn a_store_of_nanobots_is_read_and_keeps_what_is_not_ours() {
    let (_folder, store) = home_with(NANOBOT);
    let jobs = store.read().unwrap();
    assert_eq!(jobs.faults, []);
    let morning = jobs.find("a1b2c3d4").unwrap();
    assert_eq!(morning.payload.chat().unwrap().to_string(), "telegram:812");
    assert_eq!(morning.payload.deliver, Deliver::Chat);
    assert_eq!(morning.state.last_status, Some(Status::Ok));
    assert_eq!(morning.state.runs[0].duration_ms, 4200);
    let zone = "Europe/Zurich".to_owned();
    let expr = "0 7 * * *".to_owned();
    let tz = Some(zone);
    assert_eq!(morning.schedule, Schedule::Cron { expr, tz });
    let water = jobs.find("e5f6a7b8").unwrap();
    assert!(!water.enabled && water.delete_after_run && water.catch_up);
    assert_eq!(water.payload.deliver, Deliver::None);
    // What was planned in a chat is delivered there.
    let call = jobs.find("c9").unwrap();
    assert_eq!(call.payload.deliver, Deliver::Chat);
    assert_eq!(call.payload.chat().unwrap().to_string(), "telegram:812");
    assert_eq!(call.payload.session.as_deref(), Some("telegram:812"));

    store
        .change(|jobs| {
            jobs[0].name = "Early".to_owned();
            jobs[1].schedule = Schedule::At { at_ms: 5 };
            Ok(())
        })
        .unwrap();
    let written: Value = serde_json::from_str(&text(&store)).unwrap();
    let morning = &written["jobs"][0];
    assert_eq!(morning["name"], "Early");
    assert_eq!(morning["payload"]["channelMeta"], json!({"thread": 5}));
    assert_eq!(morning["payload"]["deliver"], true);
    assert_eq!(morning["schedule"]["expr"], "0 7 * * *");
    assert_eq!(
        written["jobs"][1]["schedule"],
        json!({"kind": "at", "atMs": 5})
    );
    // A job that was not changed is left as it was, to the byte.
    let unchanged = NANOBOT.find("{\n      \"id\": \"c9\"").unwrap();
    let unchanged = NANOBOT[unchanged..].split("\n  ]").next().unwrap();
    assert!(text(&store).contains(unchanged), "{}", text(&store));
}

#[test]
fn the_sixth_field_of_a_job_of_nanobots_has_the_seconds() {
    let file = |schedule: &str, payload: &str| {
        format!(
            r#"{{"jobs": [{{"id": "a", "schedule": {{"kind": "cron", "expr": "5 7 * * 1 30"{schedule}}},
                "payload": {{"message": "x"{payload}}}}}]}}"#
        )
    };
    let expr = |store: &Store| match store.read().unwrap().jobs.remove(0).schedule {
        Schedule::Cron { expr, .. } => expr,
        other => panic!("{other:?}"),
    };
    for (schedule, payload) in [
        (r#", "atMs": null, "everyMs": null, "tz": null"#, ""),
        (r#", "every_ms": null"#, ""),
        (r#", "tz": "Europe/Zurich""#, r#", "to": null"#),
        ("", r#", "channelMeta": {}"#),
        ("", r#", "originChatId": "5""#),
    ] {
        let (_folder, store) = home_with(file(schedule, payload));
        assert_eq!(expr(&store), "30 5 7 * * 1", "{schedule} {payload}");
        let written = text(&store);
        add(&store, "b").unwrap();
        // What is not changed stays as nanobot wrote it.
        let job = &written[written.find("{\"id\"").unwrap()..written.len() - 2];
        assert!(text(&store).contains(job), "{}", text(&store));
        assert_eq!(expr(&store), "30 5 7 * * 1", "{schedule} {payload}");
        store
            .change(|jobs| {
                jobs[0].name = "Early".to_owned();
                Ok(())
            })
            .unwrap();
        assert_eq!(expr(&store), "30 5 7 * * 1", "{}", text(&store));
    }
    // PicoClaw's and ours have the seconds first, and this hour does not exist.
    for (schedule, payload) in [("", ""), (r#", "tz": "Europe/Zurich""#, r#", "to": "7""#)] {
        let (_folder, store) = home_with(file(schedule, payload));
        let jobs = store.read().unwrap();
        let fault = jobs.faults[0].to_string();
        assert!(fault.contains("Wrong day of the week \"30\""), "{fault}");
    }
}

#[test]
fn a_command_of_picoclaws_is_read_as_one() {
    let (_folder, store) = home_with(PICOCLAW);
    let jobs = store.read().unwrap();
    let payload = &jobs.jobs[0].payload;
    assert_eq!(
        (payload.kind, payload.message.as_str()),
        (PayloadKind::Command, "df -h")
    );
    assert_eq!(payload.deliver, Deliver::None);
    store
        .change(|jobs| {
            jobs[0].payload.message = "df".to_owned();
            Ok(())
        })
        .unwrap();
    assert_eq!(store.read().unwrap().jobs[0].payload.message, "df");
}

#[test]
fn names_with_underscores_are_read_and_written_once() {
    let (_folder, store) = home_with(
        r#"{"jobs": [{"id": "a", "schedule": {"kind": "every", "everyMs": 60000},
            "payload": {"message": "x", "session_key": "cli:a"}, "created_at_ms": 7, "delete_after_run": true,
            "state": {"last_run_at_ms": 5, "run_history": null}}]}"#,
    );
    let read = |store: &Store| {
        let jobs = store.read().unwrap();
        assert_eq!(jobs.faults, []);
        let job = &jobs.jobs[0];
        assert_eq!(job.created_at_ms, 7);
        assert_eq!(job.state.last_run_at_ms, Some(5));
        assert_eq!(job.payload.session.as_deref(), Some("cli:a"));
        assert!(job.delete_after_run);
    };
    read(&store);
    let rename = |jobs: &mut Vec<Job>| {
        jobs[0].name = "b".to_owned();
        Ok(())
    };
    store.change(rename).unwrap();
    read(&store);
    let written = text(&store);
    assert!(
        !written.contains("_at_ms") && !written.contains("session_key"),
        "{written}"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_bad_job_is_named_and_stays_and_the_others_run() {
    let good = r#"{"id": "good", "schedule": {"kind": "every", "everyMs": 60000}, "payload": {"message": "x"}}"#;
    let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
    let with = |id: &str, message: &str, schedule: &str| {
        format!(r#"{{"id": {id}, "schedule": {schedule}, "payload": {{"message": {message}}}}}"#)
    };
    let every = r#"{"kind": "every", "everyMs": 60000}"#;
    for (bad, id, reason) in [
        ("7".to_owned(), None, "invalid type"),
        ("null".to_owned(), None, "invalid type"),
        ("{}".to_owned(), None, "missing field `id`"),
        (
            with("7", "\"x\"", every),
            None,
            "invalid type: integer `7`, expected a string",
        ),
        (with("\"\"", "\"x\"", every), Some(""), "the id must have"),
        (
            with("\"a b\"", "\"x\"", every),
            Some("a b"),
            "the id must have",
        ),
        (
            with("\"../x\"", "\"x\"", every),
            Some("../x"),
            "the id must have",
        ),
        (
            with("\"good\"", "\"x\"", every),
            Some("good"),
            "another job has the same id",
        ),
        (
            with("\"b\"", "\" \"", every),
            Some("b"),
            "the message is empty",
        ),
        (
            with("\"b\"", "null", every),
            Some("b"),
            "invalid type: null",
        ),
        (
            with("\"b\"", &format!("\"{long}\""), every),
            Some("b"),
            "longer than 4,096 bytes",
        ),
        (
            with("\"b\"", "\"x\"", r#"{"kind": "weekly"}"#),
            Some("b"),
            "unknown variant",
        ),
        (
            with("\"b\"", "\"x\"", r#"{"kind": "at"}"#),
            Some("b"),
            "missing field",
        ),
        (
            with("\"b\"", "\"x\"", r#"{"kind": "every", "everyMs": "1h"}"#),
            Some("b"),
            "invalid type",
        ),
        (
            with("\"b\"", "\"x\"", r#"{"kind": "at", "atMs": 1e99}"#),
            Some("b"),
            "invalid",
        ),
        (
            format!("{}1{}", "[".repeat(40), "]".repeat(40)),
            None,
            "nested more than 32 levels",
        ),
        (
            good.replace(
                "\"id\"",
                "\"payload\": {\"kind\": \"system_event\"}, \"id\"",
            )
            .replace("good", "s"),
            None,
            "unknown variant `system_event`",
        ),
        (
            good.replace("good", "d")
                .replace("\"x\"", "\"x\", \"deliver\": \"fax\""),
            Some("d"),
            "deliver must be chat, file, both or none",
        ),
    ] {
        let (_folder, store) = home_with(format!(r#"{{"version": 1, "jobs": [{good}, {bad}]}}"#));
        let jobs = store
            .read()
            .unwrap_or_else(|error| panic!("{bad}: {error}"));
        assert_eq!(jobs.jobs.len(), 1, "{bad}");
        let fault = &jobs.faults[0];
        assert!(fault.reason.contains(reason), "{bad}: {fault}");
        assert_eq!(fault.place, 2);
        if id.is_some() {
            assert_eq!(fault.id.as_deref(), id, "{bad}");
        }
        // It survives a change of the others.
        add(&store, "new").unwrap();
        assert_eq!(ids(&store), ["good", "new"], "{bad}");
        assert!(text(&store).contains(&bad), "{bad}");
        if let Some(id) = id {
            assert!(store.remove_unusable(id).unwrap(), "{bad}");
            assert_eq!(store.read().unwrap().faults, []);
            assert_eq!(ids(&store), ["good", "new"], "{bad}");
        }
    }
}

#[test]
fn a_damaged_store_is_refused_and_never_overwritten() {
    let whole = NANOBOT.as_bytes();
    let truncated = &whole[..whole.len() / 2];
    let mut zeros = whole.to_vec();
    zeros[100..200].fill(0);
    let mut latin = whole.to_vec();
    latin[90] = 0xe4;
    let deep = format!("{{\"jobs\": {}1{}}}", "[".repeat(9999), "]".repeat(9999));
    let huge = " ".repeat(JOBS_FILE_BYTES_MAX + 1);
    let cases: [(&str, &[u8]); 16] = [
        ("truncated", truncated),
        ("one byte short", &whole[..whole.len() - 1]),
        ("NUL bytes only", &[0; 512]),
        ("NUL bytes within", &zeros),
        ("not UTF-8", &latin),
        ("not JSON", b"jobs:\n  - id: a\n"),
        ("a list", b"[]"),
        ("a text", b"\"jobs\""),
        ("a number", b"1"),
        ("null", b"null"),
        ("jobs of a wrong type", b"{\"jobs\": {}}"),
        ("jobs as a text", b"{\"jobs\": \"none\"}"),
        ("version 2", b"{\"version\": 2, \"jobs\": []}"),
        ("version as text", b"{\"version\": \"1.0\", \"jobs\": []}"),
        ("nested deeply", deep.as_bytes()),
        ("too large", huge.as_bytes()),
    ];
    for (name, content) in cases {
        let (_folder, store) = home_with(content);
        let error = store.read().err().map(|error| error.to_string());
        // What is within one job spoils only that one.
        if name == "nested deeply" && error.is_none() {
            continue;
        }
        let error = error.unwrap_or_else(|| panic!("{name} was read"));
        assert!(error.contains("jobs.json"), "{name}: {error}");
        assert!(add(&store, "new").is_err(), "{name}");
        assert!(store.remove_unusable("a").is_err(), "{name}");
        assert_eq!(fs::read(store.path()).unwrap(), content, "{name}");
        if name != "too large" {
            let advice = "It was left as it is. Repair it, or move it away";
            assert!(error.contains(advice), "{name}: {error}");
        }
    }
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let (folder, store) = home();
    fs::create_dir(folder.path().join("cron")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, store.path(), mode).unwrap();
    assert!(store.read().is_err() && add(&store, "a").is_err());
    fs::remove_file(store.path()).unwrap();
    // A link to a disk that is not mounted.
    symlink("/nowhere/jobs.json", store.path()).unwrap();
    assert!(store.read().is_err() && add(&store, "a").is_err());
    assert!(store.path().is_symlink());
    fs::remove_file(store.path()).unwrap();
    fs::create_dir(store.path()).unwrap();
    assert!(store.read().is_err() && add(&store, "a").is_err());
    fs::remove_dir(store.path()).unwrap();
    symlink("/dev/zero", store.path()).unwrap();
    assert!(store.read().is_err() && add(&store, "a").is_err());
    fs::remove_file(store.path()).unwrap();
    // 100 MB, of which nothing is read into memory.
    let large = File::create(store.path()).unwrap();
    large.set_len(100_000_000).unwrap();
    assert!(store.read().is_err() && add(&store, "a").is_err());
    assert_eq!(fs::metadata(store.path()).unwrap().len(), 100_000_000);
}

#[test]
fn an_empty_file_and_a_byte_order_mark_are_read() {
    for content in ["", " \n", "{}", r#"{"version": 1}"#, r#"{"jobs": null}"#] {
        let (_folder, store) = home_with(content);
        assert_eq!(ids(&store), [""; 0], "{content}");
        add(&store, "a").unwrap();
        assert_eq!(ids(&store), ["a"], "{content}");
    }
    let (_folder, store) = home_with(format!("\u{feff}{PICOCLAW}"));
    assert_eq!(ids(&store).len(), 1);
}

#[test]
fn reading_creates_nothing_and_no_change_writes_nothing() {
    let (folder, store) = home();
    assert!(store.read().unwrap().jobs.is_empty());
    assert_eq!(store.changed(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    add(&store, "a").unwrap();
    let before = store.changed();
    assert_ne!(before, 0);
    store.change(|_| Ok(())).unwrap();
    let failed: Result<()> = store.change(|jobs| {
        jobs.clear();
        Err(Error::Stopped)
    });
    assert!(failed.is_err());
    assert_eq!(store.changed(), before);
    add(&store, "b").unwrap();
    assert_ne!(store.changed(), before);
    let mode = fs::metadata(store.path()).unwrap().mode() & 0o777;
    let folder_mode = fs::metadata(folder.path().join("cron")).unwrap().mode() & 0o777;
    assert_eq!((mode, folder_mode), (0o600, 0o700));
}

#[test]
fn a_change_that_could_not_be_read_again_is_refused() {
    let (_folder, store) = home();
    add(&store, "a").unwrap();
    assert!(add(&store, "a").is_err());
    assert!(add(&store, "a/b").is_err());
    let error = store.change(|jobs| {
        jobs.extend((0..JOBS_MAX).map(|number| job(&format!("j{number}"))));
        Ok(())
    });
    assert!(error.unwrap_err().to_string().contains("1,000 jobs"));
    let error = store.change(|jobs| {
        let long = "\u{1}".repeat(MESSAGE_BYTES_MAX);
        jobs.extend((1..JOBS_MAX).map(|number| {
            let mut job = job(&format!("j{number}"));
            job.payload.message.clone_from(&long);
            job
        }));
        Ok(())
    });
    assert!(matches!(error, Err(Error::TooLarge { .. })), "{error:?}");
    assert_eq!(ids(&store), ["a"]);
}
