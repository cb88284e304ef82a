use super::*;
use crate::schedule::RunOutcome;

const HOUR: i64 = 3_600_000;
const NOW: i64 = 1_796_000_400_000;

fn home() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path());
    (folder, store)
}

fn at(now_ms: i64, act: impl FnOnce(Asker<'_>)) {
    act(Asker {
        now_ms,
        zone: &Zone::utc(),
        language: Language::English,
        is_clock_right: false,
    });
}

fn named(name: &str) -> NewJob {
    NewJob {
        name: name.to_owned(),
        message: "Drink tea".to_owned(),
        ..NewJob::default()
    }
}

fn every(hours: i64) -> Schedule {
    let every_ms = hours * HOUR;
    Schedule::Every { every_ms }
}

#[test]
fn nothing_runs_more_often_than_once_a_minute() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        for words in ["every 5s", "* * * * * *", "*/30 * 7 * * *"] {
            let schedule = schedule(words, None, asker).unwrap();
            let refused = add(&store, schedule, named("often"), asker).unwrap_err();
            assert!(
                refused.to_string().contains("once a minute"),
                "{words}: {refused}"
            );
        }
        for words in ["every 1m", "* * * * *", "30 * * * * *"] {
            let schedule = schedule(words, None, asker).unwrap();
            add(&store, schedule, named("fine"), asker).unwrap();
        }
    });
}

#[test]
fn ids_are_short_and_different() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        for number in 0..60 {
            let name = format!("Job {number}\n\u{202e}{}", "x".repeat(99));
            let job = add(&store, every(1), named(&name), asker).unwrap();
            let kinds: Vec<bool> = job.id.chars().map(|char| char.is_ascii_digit()).collect();
            assert_eq!(kinds, [false, true, false, true], "{}", job.id);
            assert!(
                job.name.chars().count() <= NAME_CHARS_MAX + 1,
                "{}",
                job.name
            );
            assert!(!job.name.contains(['\n', '\u{202e}']), "{}", job.name);
        }
    });
    assert_eq!(store.read().unwrap().jobs.len(), 60);
}

#[test]
fn a_job_is_found_by_its_id_its_name_or_a_unique_beginning() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        for name in ["Tea", "Tea at night", "Café"] {
            add(&store, every(1), named(name), asker).unwrap();
        }
    });
    let jobs = store.read().unwrap().jobs;
    let name_of = |name: &str| {
        let found = find(&jobs, name, Language::English);
        found.map(Job::title).map_err(|error| error.to_string())
    };
    for (typed, name) in [
        ("tea", "Tea"),
        (" TEA ", "Tea"),
        ("tea at", "Tea at night"),
        ("CAFÉ", "Café"),
        (jobs[2].id.as_str(), "Café"),
        (&jobs[2].id.to_uppercase(), "Café"),
    ] {
        assert_eq!(name_of(typed).as_deref(), Ok(name), "{typed}");
    }
    let candidates = format!("{} (Tea), {} (Tea at night)", jobs[0].id, jobs[1].id);
    let error = name_of("te").unwrap_err();
    assert!(error.contains(&candidates), "{error}");
    for typed in ["", " ", "zz\n\u{7}"] {
        let error = name_of(typed).unwrap_err();
        assert!(error.starts_with("There is no job \""), "{error}");
        assert!(!error.contains(['\n', '\u{7}']), "{error}");
    }
    let chinese = find(&jobs, "zz", Language::Chinese).unwrap_err();
    assert_eq!(chinese.to_string(), "没有名为“zz”的任务。");
}

#[test]
fn what_would_never_run_is_not_planned() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        let past = Schedule::At { at_ms: NOW - HOUR };
        let error = add(&store, past.clone(), named(""), asker).unwrap_err();
        assert!(
            error.to_string().starts_with("That time has passed: "),
            "{error}"
        );
        let empty = NewJob::default();
        assert!(add(&store, every(1), empty, asker).is_err());
        let job = add(&store, every(1), named(""), asker).unwrap();
        let changes = Changes {
            schedule: Some(past),
            ..Changes::default()
        };
        assert!(edit(&store, &job.id, changes, asker).is_err());
    });
    assert_eq!(store.read().unwrap().jobs.len(), 1);
}

#[test]
fn an_edit_changes_only_what_it_names_and_makes_up_for_nothing() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        let new = NewJob {
            chat: Some(Address::parse("telegram:-100:7")),
            model: Some("small".to_owned()),
            ..named("Tea")
        };
        add(&store, every(1), new, asker).unwrap();
    });
    at(NOW + 5 * HOUR, |asker| {
        let changes = Changes {
            schedule: Some(every(2)),
            model: Some(None),
            deliver: Some(Deliver::Both),
            ..Changes::default()
        };
        let job = edit(&store, "tea", changes, asker).unwrap();
        assert_eq!(job.payload.message, "Drink tea");
        assert_eq!(job.payload.chat().unwrap().to_string(), "telegram:-100:7");
        assert_eq!(
            (&job.payload.model, job.payload.deliver),
            (&None, Deliver::Both)
        );
        let next = show::next_run(&job, asker.now_ms, asker.zone);
        assert_eq!(next, Some(NOW + 7 * HOUR));
    });
}

#[test]
fn what_a_disabled_job_missed_is_not_made_up_for() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        add(&store, every(1), named("Tea"), asker).unwrap();
        assert!(!enable(&store, "tea", false, asker).unwrap().enabled);
    });
    at(NOW + 5 * HOUR + 1, |asker| {
        let job = enable(&store, "tea", true, asker).unwrap();
        let next = show::next_run(&job, asker.now_ms, asker.zone);
        assert_eq!((job.enabled, next), (true, Some(NOW + 6 * HOUR)));
    });
    assert!(
        remove(&store, "tea", Language::English)
            .unwrap()
            .contains("(Tea)")
    );
    assert!(remove(&store, "tea", Language::English).is_err());
}

#[test]
fn one_time_jobs_that_have_run_make_room() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        for number in 0..60 {
            let at_ms = NOW + HOUR + number;
            let name = format!("Job {number}");
            let job = add(&store, Schedule::At { at_ms }, named(&name), asker).unwrap();
            let outcome = RunOutcome {
                status: Status::Ok,
                error: None,
                unshown: false,
                duration_ms: 1,
            };
            if number != 7 {
                store.begin(&job.id, at_ms, at_ms).unwrap();
                store.end(&job.id, at_ms, at_ms + 1, &outcome).unwrap();
            }
        }
    });
    at(NOW + 2 * HOUR, |asker| {
        add(&store, every(1), named("new"), asker).unwrap();
    });
    let names: Vec<String> = store.read().unwrap().jobs.iter().map(Job::title).collect();
    assert_eq!(names.len(), SPENT_JOBS_KEPT + 2);
    // The one that has not run stays, however old it is.
    assert_eq!((names[0].as_str(), names[1].as_str()), ("Job 7", "Job 10"));
}

#[test]
fn a_run_that_was_cut_off_is_closed_by_a_new_schedule_and_by_enabling() {
    let interrupted = RunOutcome {
        status: Status::Interrupted,
        error: None,
        unshown: false,
        duration_ms: 0,
    };
    let cut_off = || {
        let (folder, store) = home();
        at(NOW, |asker| {
            add(&store, every(1), named("tea"), asker).unwrap();
        });
        let id = store.read().unwrap().jobs[0].id.clone();
        store.begin(&id, NOW + HOUR, NOW + HOUR).unwrap();
        store
            .end(&id, NOW + HOUR, NOW + HOUR + 1, &interrupted)
            .unwrap();
        (folder, store)
    };
    let is_made_up_for = |store: &Store| {
        let job = store.read().unwrap().jobs.remove(0);
        let last = job.state.runs.last().map(|run| run.status);
        assert_eq!(job.state.runs.len(), 1);
        let is_closed = last == Some(Status::Skipped);
        assert_eq!(job.times().interrupted_ms.is_none(), is_closed);
        !is_closed
    };
    let (_folder, store) = cut_off();
    assert!(is_made_up_for(&store));
    at(NOW + HOUR + 2, |asker| {
        let changes = Changes {
            message: Some("Drink water".to_owned()),
            ..Changes::default()
        };
        edit(&store, "tea", changes, asker).unwrap();
        assert!(is_made_up_for(&store), "another message is no other time");
        let changes = Changes {
            schedule: Some(every(2)),
            ..Changes::default()
        };
        edit(&store, "tea", changes, asker).unwrap();
        assert!(!is_made_up_for(&store));
    });
    let (_folder, store) = cut_off();
    at(NOW + HOUR + 2, |asker| {
        enable(&store, "tea", true, asker).unwrap();
        assert!(is_made_up_for(&store), "it was enabled all the time");
        enable(&store, "tea", false, asker).unwrap();
        enable(&store, "tea", true, asker).unwrap();
        assert!(!is_made_up_for(&store));
    });
}

#[test]
fn a_message_that_is_refused_is_noted_and_only_a_chat_that_is_gone_ends_the_job() {
    let (_folder, store) = home();
    let mut id = String::new();
    at(NOW, |asker| {
        id = add(&store, every(1), named("tea"), asker).unwrap().id
    });
    let ended = RunOutcome {
        status: Status::Ok,
        error: None,
        unshown: false,
        duration_ms: 5,
    };
    let run = |number: i64, is_chat_gone| {
        let planned_ms = NOW + number * HOUR;
        store.begin(&id, planned_ms, planned_ms).unwrap();
        // Something that it says while it runs.
        let refused = store.note_undelivered(&id, planned_ms, "refused", is_chat_gone);
        store.end(&id, planned_ms, planned_ms, &ended).unwrap();
        let run = store.runs(&id, 1).unwrap().remove(0);
        assert_eq!(run.error.as_deref(), Some("not delivered: refused"));
        (run.status, refused.unwrap())
    };
    for number in 1..=4 {
        assert_eq!(run(number, false), (Status::Ok, false));
    }
    for number in 5..=6 {
        assert_eq!(run(number, true), (Status::Failed, false));
    }
    assert_eq!(run(7, true), (Status::Failed, true));
    assert!(!store.read().unwrap().jobs[0].enabled);
}

#[test]
fn the_words_for_a_time_are_kept_only_while_the_clock_may_be_wrong() {
    let (_folder, store) = home();
    for (is_clock_right, kept) in [(false, Some("in 20m")), (true, None)] {
        at(NOW, |asker| {
            let asker = Asker {
                is_clock_right,
                ..asker
            };
            let new = NewJob {
                said: Some("in 20m".to_owned()),
                ..named("tea")
            };
            let schedule = schedule("in 20m", None, asker).unwrap();
            let job = add(&store, schedule, new, asker).unwrap();
            assert_eq!(job.said.as_deref(), kept);
        });
    }
}

#[test]
fn a_quarter_of_all_jobs_is_for_owners() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        let planned = |role| {
            let new = NewJob {
                role,
                ..named("tea")
            };
            let added = add(&store, every(1), new, asker);
            added.map(drop).map_err(|error| error.to_string())
        };
        let fill = |to: usize| {
            let job = |number: usize| {
                let id = format!("job-{number}");
                let payload = Payload {
                    message: "Drink tea".to_owned(),
                    ..Payload::default()
                };
                Job::new(&id, every(1), payload, NOW)
            };
            let filled = store.change(|jobs| {
                jobs.extend((jobs.len()..to).map(job));
                Ok(())
            });
            filled.unwrap();
        };
        fill(749);
        planned(Role::User).unwrap();
        let refused = planned(Role::User).unwrap_err();
        assert!(refused.contains("750 jobs already"), "{refused}");
        assert!(refused.contains("kept for owners"), "{refused}");
        fill(999);
        planned(Role::Owner).unwrap();
        planned(Role::Owner).unwrap_err();
    });
}

#[test]
fn a_users_job_that_an_owner_has_given_a_conversation_is_for_owners_to_change() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        let person = Author {
            id: "2002".to_owned(),
            ..Author::default()
        };
        let new = NewJob {
            planned_by: Some(person),
            role: Role::User,
            ..named("news")
        };
        let job = add(&store, every(1), new, asker).unwrap();
        assert!(job.may_be_changed_by(Role::User, None));
        let changes = Changes {
            session: Some(Some("telegram:1001".to_owned())),
            ..Changes::default()
        };
        edit(&store, &job.id, changes, asker).unwrap();
        let job = store.read().unwrap().jobs.remove(0);
        assert!(!job.may_be_changed_by(Role::User, None));
        assert!(job.may_be_changed_by(Role::Owner, None));
    });
}

#[test]
fn what_is_planned_for_a_user_is_a_users_job_also_without_a_person() {
    let (_folder, store) = home();
    at(NOW, |asker| {
        let of_role = |role: Role| NewJob {
            role,
            ..named("news")
        };
        let by_command = add(&store, every(1), of_role(Role::Owner), asker).unwrap();
        assert!(!by_command.may_be_changed_by(Role::User, None));
        let job = add(&store, every(1), of_role(Role::User), asker).unwrap();
        assert!(job.may_be_changed_by(Role::User, None));
        let by = Author {
            id: "1001".to_owned(),
            ..Author::default()
        };
        let changes = Changes {
            message: Some("something else".to_owned()),
            by: Some((by, Role::Owner)),
            ..Changes::default()
        };
        let job = edit(&store, &job.id, changes, asker).unwrap();
        assert_eq!((job.planned_by, job.planned_role), (None, Some(Role::User)));
        // A hook's job is an owner's, although it does no more than a user may.
        let of_hook = NewJob {
            session: Some("cron:hook-door".to_owned()),
            ..of_role(Role::User)
        };
        let job = add(&store, every(1), of_hook, asker).unwrap();
        assert!(!job.may_be_changed_by(Role::User, None));
    });
}
