//! Scheduled jobs on the command line: planned in words, shown, changed, and kept.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::clock::Turned;
use crate::harness::home::Home;
use crate::harness::program::{Output, Program};

fn cron(home: &Home, arguments: &[&str]) -> Output {
    Program::new(home).arg("cron").args(arguments).run()
}

fn store(home: &Home) -> std::path::PathBuf {
    home.path().join("cron/jobs.json")
}

fn write_store(home: &Home, text: &str) {
    fs::create_dir_all(home.path().join("cron")).unwrap();
    fs::write(store(home), text).unwrap();
}

/// The jobs as `list --json` prints them.
fn jobs(home: &Home) -> Vec<Value> {
    let output = cron(home, &["list", "--json"]).ends_with(0);
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A home with a configuration.
fn home() -> Home {
    Home::with_endpoint("openai", "http://127.0.0.1:9/v1")
}

#[test]
fn a_job_is_planned_in_words_and_shown() {
    let (mut home, noon) = (home(), Turned::at("2026-11-23T12:00:00Z"));
    home.turn(&noon);
    let empty = cron(&home, &[]).ends_with(0);
    assert!(
        empty.stdout.starts_with("No jobs yet. To plan one: "),
        "{empty:?}"
    );

    let added = cron(
        &home,
        &[
            "add",
            "every day at 7",
            "Say good morning",
            "--name",
            "Morning",
        ],
    );
    let added = added.ends_with(0);
    let lines: Vec<&str> = added.stdout.lines().collect();
    assert!(
        lines[0].contains("(Morning): every day at 07:00"),
        "{added:?}"
    );
    assert!(lines[1].contains(" 07:00, in "), "{added:?}");
    assert!(
        lines[2].starts_with("            ") && lines[2].ends_with(" 07:00"),
        "{added:?}"
    );
    assert!(lines[3].starts_with("            "), "{added:?}");
    assert!(
        added
            .stderr
            .contains("The gateway is not running. Jobs run while it does: ")
    );

    // Without quotes, as one types it.
    cron(
        &home,
        &[
            "add", "in", "20m", "take", "the", "bread", "out", "--remind",
        ],
    )
    .ends_with(0);
    let listed = jobs(&home);
    assert_eq!(listed[0]["message"], "take the bread out");
    assert_eq!(listed[0]["kind"], "reminder");
    assert_eq!(listed[0]["schedule"]["kind"], "at");
    let shown = cron(&home, &["list"]).ends_with(0).stdout;
    let rows: Vec<&str> = shown.lines().collect();
    assert_eq!(rows.len(), 3, "{shown}");
    assert!(
        rows[1].contains(", in 20 min  "),
        "the next one is first: {shown}"
    );
    assert!(
        rows[2].contains("every day at 07:00") && rows[2].ends_with("Morning"),
        "{shown}"
    );
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{shown}");

    let next = cron(&home, &["next", "3"]).ends_with(0).stdout;
    assert_eq!(next.lines().count(), 4, "{next}");
    assert_eq!(next.matches("Morning").count(), 2, "{next}");
}

#[test]
fn a_job_is_changed_switched_off_and_removed() {
    let home = home();
    let morning = [
        "add",
        "every day at 7",
        "Say good morning",
        "--name",
        "Morning",
    ];
    let added = cron(&home, &morning).ends_with(0);
    let id = added.stdout.strip_prefix("Added ").unwrap()[..4].to_owned();
    cron(&home, &["add", "in 20m", "take the bread out", "--remind"]).ends_with(0);

    // By the beginning of its name.
    let edit = [
        "edit",
        "morn",
        "--when",
        "0 6 * * 1-5",
        "--tz",
        "Europe/Zurich",
        "--model",
        "small",
    ];
    let edited = cron(&home, &edit).ends_with(0).stdout;
    assert!(
        edited.starts_with(&format!("Changed {id} (Morning): ")),
        "{edited}"
    );
    assert!(edited.contains("model small"), "{edited}");
    let job = jobs(&home)
        .into_iter()
        .find(|job| job["id"] == id.as_str())
        .unwrap();
    let schedule = json!({"kind": "cron", "expr": "0 6 * * 1-5", "tz": "Europe/Zurich"});
    assert_eq!(job["schedule"], schedule);
    assert_eq!(job["message"], "Say good morning");
    let shown = cron(&home, &["show", &id]).ends_with(0).stdout;
    for part in [
        "0 6 * * 1-5 (Europe/Zurich)",
        "a missed run is made up for, once",
        "Say good morning",
    ] {
        assert!(shown.contains(part), "{shown}");
    }

    cron(&home, &["disable", &id]).ends_with(0);
    let shown = cron(&home, &["list"]).ends_with(0).stdout;
    assert!(
        shown.lines().last().unwrap().contains("  disabled  "),
        "{shown}"
    );
    assert!(
        !cron(&home, &["next"])
            .ends_with(0)
            .stdout
            .contains("Morning")
    );
    cron(&home, &["enable", &id]).ends_with(0);
    cron(&home, &["run", &id])
        .ends_with(1)
        .complains_of(&["The gateway is not running"]);
    let none = cron(&home, &["history"]).ends_with(0);
    assert_eq!(none.stdout, "No job has run yet.\n");
    let removed = cron(&home, &["remove", &id, "take the"])
        .ends_with(0)
        .stdout;
    assert!(
        removed.contains(&format!("Removed {id} (Morning).")),
        "{removed}"
    );
    assert_eq!(jobs(&home), [] as [Value; 0]);
}

#[test]
fn what_cannot_be_planned_is_explained() {
    let home = home();
    let refused = |arguments: &[&str], parts: &[&str]| {
        cron(&home, arguments).ends_with(2).complains_of(parts);
    };
    refused(&["add", "every day at 7"], &["The message is missing."]);
    refused(&["add", "feed the cat"], &["When should it run?"]);
    refused(&["add", "2020-01-01 10:00", "x"], &["pass"]);
    refused(&["add", "0 0 30 2 *", "x"], &["never"]);
    refused(
        &["add", "every day at 7", "x", "--tz", "Mars"],
        &["Unknown time zone \"Mars\""],
    );
    refused(
        &["add", "every 2h", "x", "--tz", "Europe/Zurich"],
        &["not to an interval or a single time"],
    );
    refused(
        &["add", "in 2h", "x", "--to", "fax:1"],
        &["Unknown channel \"fax\""],
    );
    refused(&["add", "in 2h", "x", "--agent", "nobody"], &["nobody"]);
    refused(
        &["add", "in 2h", "x", "--remind", "--command"],
        &["cannot be used with"],
    );
    // The sandbox has no home folder for it.
    refused(
        &["add", "every day at 7", "peacrab backup", "--command"],
        &["peacrab config set backup.every 24"],
    );
    refused(&["remove", "x"], &["There is no job \"x\"."]);
    refused(&["edit", "x"], &["Nothing to change."]);
    assert!(!store(&home).exists());

    for name in ["Tea in the morning", "Tea at night"] {
        cron(&home, &["add", "in 2h", "Drink tea", "--name", name]).ends_with(0);
    }
    refused(
        &["show", "tea"],
        &[
            "\"tea\" matches several jobs: ",
            "(Tea at night)",
            "Use the id.",
        ],
    );
    refused(&["show", "Tea at nigt"], &["Did you mean Tea at night?"]);
}

#[test]
fn a_store_of_nanobots_is_taken_over() {
    let home = home();
    write_store(
        &home,
        r#"{"version": 1, "jobs": [
        {"id": "a1b2c3d4", "name": "Morning", "enabled": true,
         "schedule": {"kind": "cron", "atMs": null, "everyMs": null, "expr": "0 7 * * *", "tz": "Europe/Zurich"},
         "payload": {"kind": "agent_turn", "message": "Say good morning", "deliver": true,
                     "channel": "telegram", "to": "812", "channelMeta": {"thread": 5}},
         "state": {"nextRunAtMs": 1795410000000, "lastRunAtMs": 1795323600000, "lastStatus": "error",
                   "lastError": "no network", "runHistory": [
                     {"runAtMs": 1795323600000, "status": "error", "durationMs": 4200, "error": "no network"}]},
         "createdAtMs": 1795000000000, "updatedAtMs": 1795323604200, "deleteAfterRun": false},
        {"id": "dream", "name": "dream", "schedule": {"kind": "every", "everyMs": 3600000},
         "payload": {"kind": "system_event", "message": ""}, "state": {}}]}"#,
    );
    let listed = cron(&home, &["list"]).ends_with(0);
    assert!(listed.stdout.contains("[failed] Morning"), "{listed:?}");
    let named = [
        "cannot use job 2 (dream): unknown variant `system_event`",
        "jobs.json",
    ];
    listed.complains_of(&named);
    let shown = cron(&home, &["show", "morning"]).ends_with(0).stdout;
    for part in [
        "telegram:812",
        "0 7 * * * (Europe/Zurich)",
        "failed, 4.2 s: no network",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let history = cron(&home, &["history"]).ends_with(0).stdout;
    assert!(
        history.contains("failed, 4.2 s") && history.contains("no network"),
        "{history}"
    );
    cron(&home, &["edit", "morning", "--message", "Say hello"]).ends_with(0);
    let written: Value = serde_json::from_slice(&fs::read(store(&home)).unwrap()).unwrap();
    assert_eq!(written["jobs"][0]["payload"]["message"], "Say hello");
    assert_eq!(written["jobs"][0]["payload"]["channelMeta"]["thread"], 5);
    assert_eq!(written["jobs"][1]["id"], "dream");
    cron(&home, &["remove", "dream"]).ends_with(0);
    assert_eq!(
        cron(&home, &["list"]).ends_with(0).stdout.lines().count(),
        2
    );
}

#[test]
fn a_store_that_cannot_be_read_is_left_as_it_is() {
    let home = home();
    let damaged = r#"{"version": 1, "jobs": [{"id": "a1b2""#;
    write_store(&home, damaged);
    for arguments in [
        vec!["list"],
        vec!["add", "in 20m", "x"],
        vec!["next"],
        vec!["remove", "a1b2"],
    ] {
        let output = cron(&home, &arguments).ends_with(1);
        output.complains_of(&[
            "cannot be read",
            "It was left as it is. Repair it, or move it away",
        ]);
    }
    assert_eq!(fs::read_to_string(store(&home)).unwrap(), damaged);
    let doctor = Program::new(&home).arg("doctor").run();
    assert!(doctor.stdout.contains("failed   jobs"), "{doctor:?}");
}

#[test]
fn doctor_names_jobs_that_cannot_run() {
    let mut home = home();
    let before = Program::new(&home).arg("doctor").run();
    assert!(!before.stdout.contains(" jobs "), "{before:?}");
    write_store(
        &home,
        r#"{"version": 1, "jobs": [{"id": "tea",
        "schedule": {"kind": "every", "everyMs": 3600000}, "payload": {"message": "x"}}, {"id": "feb", "name": "Thirtieth",
        "schedule": {"kind": "cron", "expr": "0 0 30 2 *"}, "payload": {"message": "x"}}]}"#,
    );
    let report = |home: &Home| Program::new(home).arg("doctor").run().stdout;
    assert!(
        report(&home).contains("job 2 (feb)") && report(&home).contains("never comes"),
        "{}",
        report(&home)
    );
    home.set("/cron", json!({"enabled": false}));
    assert!(report(&home).contains("1 job is planned, but cron.enabled is false"));
    cron(&home, &["list"])
        .ends_with(0)
        .complains_of(&["Jobs are switched off."]);
}

#[test]
fn a_thousand_jobs_are_listed_quickly() {
    let home = home();
    let jobs: Vec<Value> = (0..1000)
        .map(|number| {
            json!({"id": format!("j{number}"), "name": format!("Job {number}"),
                "schedule": {"kind": "cron", "expr": format!("{} {} * * *", number % 60, number % 24)},
                "payload": {"message": "x".repeat(200)}, "createdAtMs": 1_795_000_000_000_i64})
        })
        .collect();
    write_store(&home, &json!({"version": 1, "jobs": jobs}).to_string());
    let watch = Instant::now();
    let listed = cron(&home, &["list"]).ends_with(0);
    let next = cron(&home, &["next", "50"]).ends_with(0);
    let took = watch.elapsed();
    assert_eq!(listed.stdout.lines().count(), 1001);
    assert_eq!(next.stdout.lines().count(), 51);
    assert!(took.as_secs() < 30, "{took:?}");
    cron(&home, &["add", "in 20m", "x"])
        .ends_with(1)
        .complains_of(&["1,000 jobs already"]);
}

#[test]
fn jobs_are_completed() {
    let home = home();
    cron(&home, &["add", "in 2h", "Drink tea"]).ends_with(0);
    let id = jobs(&home)[0]["id"].as_str().unwrap().to_owned();
    for command in ["show", "edit", "remove", "run", "history"] {
        let words = ["__complete", "fish", "--", "cron", command, &id[..1]];
        let output = Program::new(&home).args(words).run().ends_with(0);
        assert_eq!(output.stdout, format!("{id}\tDrink tea\n"), "{command}");
    }
}

#[test]
fn many_who_plan_at_the_same_time_lose_nothing() {
    let home = home();
    std::thread::scope(|scope| {
        for number in 0..12 {
            let home = &home;
            scope.spawn(move || {
                let name = format!("Job {number}");
                cron(home, &["add", "in 2h", "Drink tea", "--name", &name]).ends_with(0);
            });
        }
    });
    assert_eq!(jobs(&home).len(), 12);
}
