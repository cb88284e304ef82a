//! The tool as the model uses it.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
use crate::base::cancel::Cancel;
use crate::base::chat::ToolCall;
use crate::base::message::Author;
use crate::tools::Caller;
use crate::tools::tests::{Bench, refused, said};

struct Scene {
    bench: Bench,
    store: Store,
    changes: Arc<Mutex<usize>>,
}

impl Scene {
    fn new() -> Self {
        let mut bench = Bench::new(16_000);
        std::fs::create_dir_all(bench.path("home")).unwrap();
        let changes = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&changes);
        let changed = move || *counted.lock().unwrap() += 1;
        let watches = Watches::new(Store::open(&bench.path("home")), Box::new(changed));
        bench.toolbox = bench.toolbox.with_watches(watches);
        Self {
            store: Store::open(&bench.path("home")),
            bench,
            changes,
        }
    }

    fn run(&self, session: &str, arguments: Value) -> ToolResult {
        self.bench.run_in("watch", session, "", &arguments)
    }

    /// A call for a user.
    fn run_for_user(&self, arguments: &Value) -> ToolResult {
        self.run_in_turn((CHAT, "", true), arguments)
    }

    /// A call for a user, in a turn that people have asked for, or that a job or a watch has begun.
    fn run_in_turn(
        &self,
        (session, person, is_asked): (&str, &str, bool),
        arguments: &Value,
    ) -> ToolResult {
        let cancel = Cancel::new();
        let author = Author {
            id: person.to_owned(),
            ..Author::default()
        };
        let call = ToolCall {
            id: String::new(),
            name: "watch".to_owned(),
            arguments: arguments.to_string(),
            signature: None,
        };
        let caller = Caller {
            author: Some(&author).filter(|_| !person.is_empty()),
            is_asked,
            ..Caller::new(session, Role::User, "", &cancel)
        };
        self.bench.toolbox.run(&call, &caller)
    }

    fn says(&self, session: &str, arguments: Value) -> String {
        said(self.run(session, arguments))
    }

    fn refuses(&self, session: &str, arguments: Value) -> String {
        refused(self.run(session, arguments))
    }
}

fn adding(rule: &str) -> Value {
    json!({"action": "add", "rule": rule})
}

const CHAT: &str = "telegram:-100:7";

#[test]
fn a_watch_of_the_model_tells_the_chat_in_which_it_was_asked() {
    let scene = Scene::new();
    let added = scene.says(CHAT, adding("temp > 75 for 5m then ask why is it hot?"));
    assert_eq!(
        added,
        "Watching, as number 1: temperature > 75 for 5m then ask why is it hot?. This chat gets the news."
    );
    let watch = scene.store.read().unwrap().watches.remove(0);
    assert!(watch.by_model);
    assert_eq!(watch.chat, Some(Address::parse(CHAT)));
    let again = scene.says(
        CHAT,
        adding("temperature > 75 for 5m then ask why is it hot?"),
    );
    assert!(
        again.starts_with("It is watched already, as number 1"),
        "{again}"
    );
    let own = format!("pid {}", std::process::id());
    scene.says(CHAT, adding(&own));
    let listed = scene.says(CHAT, json!({"action": "list"}));
    assert!(listed.contains(&format!("- 2: {own}")), "{listed}");
    let elsewhere = scene.says("telegram:5", json!({"action": "list"}));
    assert!(elsewhere.starts_with("Nothing is watched"), "{elsewhere}");
    scene.refuses("telegram:5", json!({"action": "remove", "id": 1}));
    scene.says(CHAT, json!({"action": "remove", "id": "1"}));
    assert_eq!(scene.store.read().unwrap().watches.len(), 1);
    assert_eq!(*scene.changes.lock().unwrap(), 4);
}

#[test]
fn what_cannot_be_watched_is_said() {
    let scene = Scene::new();
    for (session, rule, said) in [
        (CHAT, "temprature > 75", "Did you mean"),
        (CHAT, "pid 4194304", "is not running"),
        (CHAT, "cmd 'test -e /x'", "commands are turned off"),
        (CHAT, "port 1 then run ls", "commands are turned off"),
        (CHAT, "cmd true then run ls", "one command"),
        (
            CHAT,
            "file /etc/shadow matches root",
            "outside the workspace",
        ),
        (CHAT, "host 127.0.0.1 port 9", "do not reach it"),
        (CHAT, "host localhost", "do not reach it"),
        (CHAT, "log matches x", "do not reach it"),
        ("cron:j1", "port 1", "scheduled job"),
    ] {
        let error = scene.refuses(session, adding(rule));
        assert!(error.contains(said), "{rule}: {error}");
    }
    scene.refuses(CHAT, json!({"action": "dance"}));
    assert!(scene.store.read().unwrap().watches.is_empty());
}

#[test]
fn a_model_in_a_loop_is_stopped() {
    let scene = Scene::new();
    for port in 1..=MODEL_WATCHES_MAX {
        scene.says(CHAT, adding(&format!("port {port}")));
    }
    let error = scene.refuses(CHAT, adding("port 999"));
    assert!(error.contains("as many as possible"), "{error}");
    scene.says("telegram:5", adding("port 999"));
}

#[test]
fn a_user_removes_no_watch_of_an_owner_and_leaves_room_for_some() {
    let scene = Scene::new();
    scene.says(CHAT, adding("port 1"));
    let chat = Address::parse(CHAT);
    let typed = parse::parse("port 2", Language::English).unwrap();
    scene
        .store
        .insert(typed, Cause::typed(Some(&chat)))
        .unwrap();
    said(scene.run_for_user(&adding("port 3")));
    let remove = |id: u32| scene.run_for_user(&json!({"action": "remove", "id": id}));
    for of_owner in [1, 2] {
        let error = refused(remove(of_owner));
        assert!(error.contains("only an owner can remove it"), "{error}");
    }
    said(remove(3));
    let room = Role::User.places(MODEL_WATCHES_MAX) - 1;
    for port in 4..4 + room {
        said(scene.run_for_user(&adding(&format!("port {port}"))));
    }
    let error = refused(scene.run_for_user(&adding("port 99")));
    assert!(error.contains("as many as possible"), "{error}");
    scene.says(CHAT, adding("port 99"));
    scene.says(CHAT, json!({"action": "remove", "id": 2}));
}

#[test]
fn what_a_watch_or_a_job_begins_adds_no_watch_and_removes_none_of_an_owner() {
    let (scene, session) = (Scene::new(), "telegram:1001");
    let (chat, ana) = (
        Address::parse(session),
        Author {
            id: "1001".to_owned(),
            ..Author::default()
        },
    );
    for (rule, role) in [("port 1", Role::Owner), ("port 2", Role::User)] {
        let rule = parse::parse(rule, Language::English).unwrap();
        let cause = Cause {
            chat: Some(&chat),
            role,
            author: Some(&ana),
            by_model: true,
        };
        scene.store.insert(rule, cause).unwrap();
    }
    let remove = |id: u32| json!({"action": "remove", "id": id});
    for person in ["1001", ""] {
        let turn = (session, person, false);
        let error = refused(scene.run_in_turn(turn, &adding("port 3")));
        assert!(error.contains("cannot change watches"), "{error}");
        let error = refused(scene.run_in_turn(turn, &remove(1)));
        assert!(error.contains("only an owner"), "{error}");
        let listed = said(scene.run_in_turn(turn, &json!({"action": "list"})));
        assert!(listed.contains("port 1"), "{listed}");
    }
    said(scene.run_in_turn((session, "1001", false), &remove(2)));
    said(scene.run_in_turn((session, "1001", true), &remove(1)));
    assert!(scene.store.read().unwrap().watches.is_empty());
}
