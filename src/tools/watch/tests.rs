//! The tool as the model uses it.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
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
