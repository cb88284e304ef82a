//! Updates that end the program, or would.

use std::fs;

use serde_json::{Value, json};

use crate::gateway::scene::Scene;
use crate::harness::model::say;

#[test]
fn an_update_that_ends_the_program_twice_is_set_aside_and_reported() {
    let scene = Scene::playing([say("Hello, Ana!")]);
    let gateway = scene.start();
    scene.telegram.wait_for_poll();
    scene.telegram.hold_updates();
    scene.ana.says("/status");
    scene.ana.says("test-hooks: abort");
    scene.ana.says("hello");
    scene.telegram.release_as(&[]);
    for end in [gateway.finish(), scene.start().finish()] {
        assert_eq!(end.code, None, "{}", end.stderr);
    }
    let gateway = scene.start();
    scene.wait_for("Hello, Ana!");
    let report = scene.wait_for("set it aside");
    let file = report.text.split_whitespace().last().unwrap();
    assert!(
        fs::read_to_string(file).unwrap().contains("abort"),
        "{file}"
    );
    let end = gateway.stop();
    assert!(end.stderr.contains("was set aside"), "{}", end.stderr);
    // What came before and after it was answered once.
    let texts = scene.texts();
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!(
        (count("Hello, Ana!"), count("Conversation:")),
        (1, 1),
        "{texts:?}"
    );
    let left = scene.home.path().join("state/receiving-telegram");
    assert!(!left.exists(), "a clean end leaves nothing");
}

#[test]
fn a_message_that_is_nested_deeply_is_read_without_what_it_answers() {
    // Of a message that is only in this update there is nothing to react to.
    let scene = Scene::playing([say("An x."), say("Hello, Ana!")]).set("reactEmoji", json!(""));
    let gateway = scene.start();
    scene.telegram.wait_for_poll();
    let chat = json!({"id": 1001, "type": "private"});
    let nested = (0..90).fold(Value::Null, |answered, number| {
        json!({
            "message_id": 5000 + number, "text": "x", "chat": chat,
            "from": {"id": 1001, "is_bot": false, "first_name": "Ana"},
            "reply_to_message": answered,
        })
    });
    scene.telegram.pushes("message", nested);
    scene.wait_for("An x.");
    scene.ana.says("hello");
    scene.wait_for("Hello, Ana!");
    gateway.stop().ends_with(0);
}
