//! The tool as the model uses it, on a file of jobs.

use std::sync::Mutex;
use std::sync::atomic::AtomicI64;

use serde_json::{Value, json};

use super::*;
use crate::base::cancel::Cancel;
use crate::base::chat::ToolCall;
use crate::store::state::Approvals;
use crate::tools::Caller;
use crate::tools::tests::{Bench, refused, said};

/// Notes what it is asked.
#[derive(Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Runner for Asked {
    fn look_again(&self) {
        self.0.lock().unwrap().push("changed".to_owned());
    }

    fn is_running(&self) -> bool {
        true
    }

    fn run(&self, id: &str) -> Result<String> {
        self.0.lock().unwrap().push(format!("run {id}"));
        Ok(format!("Started {id}."))
    }
}

struct Desk {
    bench: Bench,
    store: Store,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Monday, 2026-11-23 12:00 UTC.
const NOON: i64 = 1_795_435_200_000;

impl Desk {
    fn new() -> Self {
        let mut bench = Bench::new(16_000);
        let store = Store::open(&bench.path("home"));
        let asked = Asked::default();
        let heard = Arc::clone(&asked.0);
        let of_tool = Store::open(&bench.path("home"));
        bench.toolbox = bench.toolbox.with_cron(Arc::new(Planner {
            store: of_tool,
            zone: Zone::utc(),
            clock: Clock::Hand(Arc::new(AtomicI64::new(NOON))),
            runner: Box::new(asked),
            agent: None,
        }));
        std::fs::create_dir_all(bench.path("home")).unwrap();
        Self {
            bench,
            store,
            asked: heard,
        }
    }

    fn run(&self, session: &str, arguments: Value) -> ToolResult {
        self.run_for("", session, arguments)
    }

    /// A call in the turn that answers a message.
    fn run_for(&self, message: &str, session: &str, arguments: Value) -> ToolResult {
        self.bench.run_in("cron", session, message, &arguments)
    }

    /// A call for a person who has asked for it.
    fn run_as(&self, (role, id): (Role, &str), session: &str, arguments: &Value) -> ToolResult {
        self.run_in_turn((role, id, true), session, arguments)
    }

    /// A call for a person, in a turn that people have asked for, or that a job or a watch has begun.
    fn run_in_turn(
        &self,
        (role, id, is_asked): (Role, &str, bool),
        session: &str,
        arguments: &Value,
    ) -> ToolResult {
        let author = Author {
            id: id.to_owned(),
            ..Author::default()
        };
        let cancel = Cancel::new();
        let caller = Caller {
            author: Some(&author).filter(|_| !id.is_empty()),
            is_asked,
            ..Caller::new(session, role, "", &cancel)
        };
        let call = ToolCall {
            id: String::new(),
            name: "cron".to_owned(),
            arguments: arguments.to_string(),
            signature: None,
        };
        self.bench.toolbox.run(&call, &caller)
    }

    /// The job whose message begins so.
    fn job(&self, message: &str) -> Job {
        let mut jobs = self.store.read().unwrap().jobs.into_iter();
        jobs.find(|job| job.payload.message.starts_with(message))
            .unwrap()
    }

    fn says(&self, session: &str, arguments: Value) -> String {
        said(self.run(session, arguments))
    }

    fn refuses(&self, session: &str, arguments: Value) -> String {
        refused(self.run(session, arguments))
    }
}

const CHAT: &str = "telegram:-100:7";
const ANA: (Role, &str) = (Role::Owner, "1001");
const BOB: (Role, &str) = (Role::User, "2002");

fn adding(message: &str) -> Value {
    json!({"action": "add", "when": "every 2h", "message": message, "kind": "task"})
}

#[test]
fn a_user_changes_the_jobs_of_users_and_an_owner_those_of_all() {
    let desk = Desk::new();
    said(desk.run_as(ANA, CHAT, &adding("restart the pump")));
    said(desk.run_as(BOB, CHAT, &adding("water the plants")));
    // As no one has planned it in a chat.
    desk.says(CHAT, adding("deploy"));
    let of_bob = desk.job("water").id;
    let change = |action: &str, id: &str| json!({"action": action, "job": id, "message": "go"});
    let actions = ["edit", "disable", "enable", "run", "remove"];
    for action in actions {
        for message in ["restart", "deploy"] {
            let call = change(action, &desk.job(message).id);
            // Also in a turn of hers that he has joined.
            for person in [BOB, (Role::User, "1001")] {
                let error = refused(desk.run_as(person, CHAT, &call));
                assert!(error.contains("Only an owner"), "{action}: {error}");
            }
        }
    }
    let listed = said(desk.run_as(BOB, CHAT, &json!({"action": "list"})));
    assert!(listed.contains("restart the pump"), "{listed}");
    said(desk.run_as(ANA, CHAT, &change("edit", &of_bob)));
    let job = desk.job("go");
    assert_eq!(job.planned_by.unwrap().id, "2002", "it is still his");
    assert_eq!(job.planned_role, Some(Role::User));
    let cora = (Role::User, "3003");
    let water = json!({"action": "edit", "job": of_bob, "message": "water them all"});
    said(desk.run_as(cora, CHAT, &water));
    let job = desk.job("water");
    assert_eq!(job.planned_by.unwrap().id, "3003", "it is done for her now");
    for action in actions {
        said(desk.run_as(BOB, CHAT, &change(action, &of_bob)));
    }
    for message in ["restart", "deploy"] {
        let id = desk.job(message).id;
        actions
            .iter()
            .for_each(|action| drop(said(desk.run_as(ANA, CHAT, &change(action, &id)))));
    }
    assert!(desk.store.read().unwrap().jobs.is_empty());
}

#[test]
fn what_a_watch_or_a_job_begins_plans_nothing_and_changes_nothing_of_an_owner() {
    let (desk, chat) = (Desk::new(), "telegram:1001");
    said(desk.run_as(ANA, chat, &adding("take the pills")));
    said(desk.run_as(BOB, chat, &adding("water the plants")));
    let of_ana = desk.job("take").id;
    let change = |action: &str, id: &str| json!({"action": action, "job": id, "message": "pay"});
    // Both have the role of a user; a watch has the person who has made it, and a job with this conversation none.
    for turn in [(Role::User, "1001", false), (Role::User, "", false)] {
        for action in ["edit", "enable", "run"] {
            let error = refused(desk.run_in_turn(turn, chat, &change(action, &of_ana)));
            assert!(error.contains("cannot plan"), "{action}: {error}");
        }
        for action in ["disable", "remove"] {
            let error = refused(desk.run_in_turn(turn, chat, &change(action, &of_ana)));
            assert!(error.contains("Only an owner"), "{action}: {error}");
        }
        let error = refused(desk.run_in_turn(turn, chat, &adding("again")));
        assert!(error.contains("cannot plan"), "{error}");
        let listed = said(desk.run_in_turn(turn, chat, &json!({"action": "list"})));
        assert!(listed.contains("take the pills"), "{listed}");
    }
    let of_bob = desk.job("water").id;
    let watch = (Role::User, "1001", false);
    said(desk.run_in_turn(watch, chat, &change("disable", &of_bob)));
    // In person she has a say in what she has planned, also with less than she had then.
    let as_user = (Role::User, "1001");
    said(desk.run_as(as_user, chat, &change("edit", &of_ana)));
    said(desk.run_as(as_user, chat, &change("remove", &of_ana)));
}

#[test]
fn what_was_allowed_to_a_job_is_not_allowed_to_what_it_is_changed_to() {
    let desk = Desk::new();
    said(desk.run_as(BOB, CHAT, &adding("look at the disk")));
    let id = desk.job("look").id;
    let approvals = Approvals::new(&desk.bench.path("home/state"));
    let chats = [format!("cron:{id}"), "cron:other".to_owned()];
    for chat in &chats {
        let since = "2026-11-23T12:00:00Z".to_owned();
        approvals
            .add_pattern("systemctl restart *", chat, since)
            .unwrap();
    }
    let edit = |members: Value| {
        let mut call = json!({"action": "edit", "job": id});
        for (name, value) in members.as_object().unwrap() {
            call[name] = value.clone();
        }
        said(desk.run_as(BOB, CHAT, &call));
        chats
            .clone()
            .map(|chat| approvals.matches("systemctl restart nginx", &chat))
    };
    assert_eq!(edit(json!({"when": "every 3h", "name": "disk"})), [true; 2]);
    assert_eq!(edit(json!({"message": "look at the disk"})), [true; 2]);
    assert_eq!(edit(json!({"message": "erase it"})), [false, true]);
}

/// A turn of an owner that others' words have joined has the least of the roles.
#[test]
fn in_their_private_chat_an_owner_changes_their_jobs_with_any_role() {
    let desk = Desk::new();
    let (own, other) = ("telegram:1001", "telegram:2002");
    said(desk.run_as(ANA, own, &adding("restart the pump")));
    let edit = json!({"action": "edit", "job": "restart", "message": "stop the pump"});
    said(desk.run_as((Role::User, "1001"), own, &edit));
    // As if she had planned one for him at the terminal.
    desk.says(other, adding("restart the pump"));
    refused(desk.run_as(BOB, other, &edit));
}

#[test]
fn the_run_of_a_job_in_the_conversation_of_the_terminal_reaches_no_other_jobs() {
    let desk = Desk::new();
    said(desk.run_as(ANA, CHAT, &adding("restart the pump")));
    let list = json!({"action": "list"});
    let listed = said(desk.run_as(BOB, "cli:default", &list));
    assert_eq!(listed, "No jobs are planned.");
    let error = refused(desk.run_as(BOB, "cli:default", &adding("x")));
    assert!(
        error.contains("a scheduled job or a watch cannot plan"),
        "{error}"
    );
}

/// The offline helper names the language of the person, who reads the answers as they are.
#[test]
fn a_person_reads_jobs_in_their_language_and_without_those_that_are_done() {
    let desk = Desk::new();
    let bread = json!({"action": "add", "when": "20m", "message": "Brot", "language": "de"});
    let planned = desk.says(CHAT, bread);
    assert!(
        planned.ends_with("` Brot: heute 12:20, in 20 min"),
        "{planned}"
    );
    let list = |language: &str| json!({"action": "list", "language": language});
    let chinese = desk.says(CHAT, list("zh"));
    assert!(
        chinese.ends_with("` Brot，时间：今天 12:20，20 分钟后"),
        "{chinese}"
    );
    let id = desk.job("Brot").id;
    let remove = json!({"action": "remove", "job": id, "language": "de"});
    assert_eq!(desk.says(CHAT, remove), format!("Removed {id} (Brot)."));
    assert_eq!(desk.says(CHAT, list("de")), "No jobs are planned.");

    desk.says(
        CHAT,
        json!({"action": "add", "when": "5m", "message": "tea"}),
    );
    desk.store
        .change(|jobs| {
            jobs[0].state.note_planned(NOON + 5 * 60_000);
            Ok(())
        })
        .unwrap();
    assert!(desk.says(CHAT, json!({"action": "list"})).contains("(tea)"));
    assert_eq!(desk.says(CHAT, list("de")), "No jobs are planned.");
}

#[test]
fn a_job_belongs_to_its_chat_and_the_answer_says_what_was_understood() {
    let desk = Desk::new();
    let bread = json!({"action": "add", "when": "20m", "message": "take the bread out"});
    let planned = desk.says(CHAT, bread);
    assert!(planned.starts_with("Planned "), "{planned}");
    assert!(
        planned.contains("(take the bread out): reminder,")
            && planned.ends_with("Next: today 12:20, in 20 min"),
        "{planned}"
    );
    let jobs = desk.store.read().unwrap().jobs;
    let [job] = jobs.as_slice() else {
        panic!("{jobs:?}");
    };
    assert_eq!(job.payload.chat(), Some(Address::parse(CHAT)));
    assert_eq!(job.payload.kind, PayloadKind::Reminder);
    assert_eq!(*desk.asked.lock().unwrap(), ["changed"]);
    let list = json!({"action": "list"});
    assert!(desk.says(CHAT, list.clone()).contains("take the bread out"));
    assert!(
        desk.says("cli:a", list.clone())
            .contains("take the bread out")
    );
    desk.says(
        CHAT,
        json!({"action": "add", "when": "5m", "message": "tea"}),
    );
    let listed = desk.says(CHAT, list.clone());
    let at = |text: &str| listed.find(text).unwrap();
    assert!(at("tea") < at("take the bread out"), "{listed}");
    desk.says(CHAT, json!({"action": "remove", "job": "tea"}));
    for other in ["telegram:-100", "telegram:5", "discord:7"] {
        assert_eq!(desk.says(other, list.clone()), "No jobs are planned.");
        for action in ["remove", "disable", "enable", "run", "edit"] {
            let error = desk.refuses(other, json!({"action": action, "job": job.id}));
            assert!(error.contains("There is no job"), "{error}");
        }
    }
    let edited = desk.says(
        CHAT,
        json!({"action": "edit", "job": "take", "when": "tomorrow 7:00", "kind": "task"}),
    );
    assert!(
        edited.contains(": task, ") && edited.contains("tomorrow 07:00"),
        "{edited}"
    );
    assert!(
        desk.says(CHAT, json!({"action": "disable", "job": job.id}))
            .contains("disabled")
    );
    let started = desk.says(CHAT, json!({"action": "run", "job": job.id}));
    assert_eq!(started, format!("Started {}.", job.id));
    let removed = desk.says("cli:a", json!({"action": "remove", "job": job.id}));
    assert!(removed.starts_with("Removed "), "{removed}");
    assert!(desk.store.read().unwrap().jobs.is_empty());
}

#[test]
fn times_may_be_members_and_secrets_are_not_stored() {
    let desk = Desk::new();
    let add = |members: Value| {
        let mut call = json!({"action": "add", "message": "the key is sk-canary-98765"});
        for (name, value) in members.as_object().unwrap() {
            call[name] = value.clone();
        }
        call
    };
    desk.says(
        "telegram:1",
        add(json!({"every_seconds": 7200, "kind": "command"})),
    );
    desk.says(
        "telegram:1",
        add(json!({"cron_expr": "0 7 * * 1-5", "deliver": false})),
    );
    desk.says("cli:a", add(json!({"at": "2026-12-24 18:00"})));
    let jobs = desk.store.read().unwrap().jobs;
    assert_eq!(
        jobs[0].schedule,
        Schedule::Every {
            every_ms: 7_200_000
        }
    );
    assert_eq!(jobs[0].payload.kind, PayloadKind::Command);
    assert_eq!(jobs[1].payload.deliver, Deliver::None);
    assert!(matches!(jobs[2].schedule, Schedule::At { .. }));
    assert_eq!(jobs[2].payload.chat(), None);
    assert!(
        jobs.iter()
            .all(|job| !job.payload.message.contains("canary"))
    );
    for (arguments, error) in [
        (json!({}), "the parameter action is missing"),
        (json!({"action": "plan"}), "action wants add, list"),
        (json!({"action": "add", "message": "x"}), "when is missing"),
        (
            json!({"action": "add", "when": "20m"}),
            "message is missing",
        ),
        (
            json!({"action": "add", "when": "20m", "message": "x", "kind": "song"}),
            "kind wants",
        ),
        (json!({"action": "remove"}), "the parameter job is missing"),
    ] {
        let told = desk.refuses("telegram:1", arguments);
        assert!(told.starts_with(&format!("Error: {error}")), "{told}");
    }
}

#[test]
fn the_run_of_a_job_plans_nothing_and_may_end_its_job() {
    let desk = Desk::new();
    desk.says(
        "telegram:1",
        json!({"action": "add", "when": "every 2h", "message": "look"}),
    );
    let id = desk.store.read().unwrap().jobs[0].id.clone();
    for own in [
        format!("cron:{id}"),
        "cron:other".to_owned(),
        "heartbeat:main".to_owned(),
    ] {
        let call = json!({"action": "add", "when": "20m", "message": "x"});
        let error = desk.refuses(&own, call);
        assert!(
            error.contains("a scheduled job or a watch cannot plan"),
            "{error}"
        );
    }
    let error = desk.refuses("cron:other", json!({"action": "remove", "job": id}));
    assert!(error.contains("There is no job"), "{error}");
    desk.says(
        &format!("cron:{id}"),
        json!({"action": "remove", "job": id}),
    );
    assert!(desk.store.read().unwrap().jobs.is_empty());
}

#[test]
fn a_chat_has_a_bounded_number_of_jobs() {
    let desk = Desk::new();
    let add = json!({"action": "add", "when": "every 2h", "message": "x"});
    for _ in 0..CHAT_JOBS_MAX {
        desk.says("telegram:1", add.clone());
    }
    let error = desk.refuses("telegram:1", add.clone());
    assert!(error.contains("This chat has 100 jobs already"), "{error}");
    desk.says("telegram:2", add.clone());
    assert_eq!(desk.asked.lock().unwrap().len(), CHAT_JOBS_MAX + 1);
    // What a user fills leaves an owner some.
    for _ in 0..CHAT_JOBS_MAX - CHAT_JOBS_MAX / 4 {
        said(desk.run_as(BOB, CHAT, &add));
    }
    let error = refused(desk.run_as(BOB, CHAT, &add));
    assert!(error.contains("kept for owners"), "{error}");
    said(desk.run_as(ANA, CHAT, &add));
}

#[test]
fn what_each_prompt_carries_is_small() {
    assert!(CRON.bytes() <= 800, "{}", CRON.bytes());
    crate::base::language::check_table(texts::TABLE);
}

/// A kill can come between a call and its result; the model then makes the call again.
#[test]
fn a_call_that_is_made_again_for_the_same_message_plans_nothing_new() {
    let desk = Desk::new();
    let add = |message: &str, when: &str| {
        let tea = json!({"action": "add", "when": when, "message": "drink tea"});
        let result = desk.run_for(message, CHAT, tea);
        assert!(!result.failed, "{}", result.text);
        (result.text, desk.store.read().unwrap().jobs.len())
    };
    let (first, count) = add("telegram:1001:17", "in 20m");
    assert_eq!((add("telegram:1001:17", "in 20m"), count), ((first, 1), 1));
    assert_eq!(add("telegram:1001:17", "in 40m").1, 2);
    assert_eq!(add("telegram:1001:18", "in 20m").1, 3);
    // Without a message there is nothing that is repeated.
    assert_eq!((add("", "in 20m").1, add("", "in 20m").1), (4, 5));
}
