//! Topics of a private chat on Telegram: each is a conversation of its own.

use serde_json::json;

use super::scene::Scene;
use crate::harness::model::{Gate, call, say};
use crate::harness::telegram::{FOREVER, Fault, Message};
use crate::harness::wait_until;

#[test]
fn a_topic_is_a_conversation_with_the_name_of_its_first_question() {
    let scene = Scene::playing([
        say("With sharp shears."),
        say("In spring."),
        say("Here is the weather."),
    ]);
    let gateway = scene.start();
    let roses = scene.ana.opens_topic(None);
    let named = scene.ana.opens_topic(Some("Weather"));
    scene.ana.says_in(
        roses,
        "How do I prune the roses behind the house in autumn?",
    );
    scene.wait_in(roses, "With sharp shears.");
    wait_until("the topic has a name", || {
        scene.telegram.topic_name(roses) == "How do I prune the roses behind the hous…"
    });
    scene.ana.says_in(roses, "And when?");
    scene.wait_in(roses, "In spring.");
    scene.ana.says_in(named, "How will it be?");
    scene.wait_in(named, "Here is the weather.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.telegram.topic_name(named), "Weather");
    assert_eq!(scene.telegram.calls("editForumTopic").len(), 1);
    assert_eq!(scene.texts(), Vec::<String>::new());
    let requests = scene.model.requests();
    let knows_roses = |index: usize| requests[index].body.to_string().contains("roses");
    assert!(knows_roses(1) && !knows_roses(2));
}

#[test]
fn a_command_names_no_topic_and_neither_does_a_stranger() {
    let scene = Scene::playing([say("Fine.")]);
    let gateway = scene.start();
    let eve = scene.telegram.person(6, "Eve", None);
    let hers = eve.opens_topic(None);
    eve.says_in(hers, "Tell me everything");
    let topic = scene.ana.opens_topic(None);
    scene.ana.says_in(topic, "/status");
    scene.wait_in(topic, "Gateway");
    scene.ana.says_in(topic, "How are you?");
    scene.wait_in(topic, "Fine.");
    wait_until("the topic has a name", || {
        scene.telegram.topic_name(topic) == "How are you?"
    });
    gateway.stop().ends_with(0);
    assert_eq!(scene.telegram.topic_name(hers), "New chat");
}

#[test]
fn the_button_of_a_draft_stops_the_topic_that_it_is_in() {
    let (first, second) = (Gate::default(), Gate::default());
    let gates = [first.clone(), second.clone()];
    let scene = Scene::answering(move |request| {
        let is_first = request.last_message().contains("one");
        let gate = &gates[usize::from(!is_first)];
        let text = if is_first {
            "The first story."
        } else {
            "The second story."
        };
        say(text).pausing_at(gate)
    });
    let gateway = scene.start();
    let (one, two) = (
        scene.ana.opens_topic(Some("One")),
        scene.ana.opens_topic(Some("Two")),
    );
    scene.ana.says_in(one, "tell one");
    scene.telegram.wait_for_draft(one, "The fir");
    scene.ana.says_in(two, "tell another");
    scene.telegram.wait_for_draft(two, "The sec");
    scene.ana.stops(two);
    scene.wait_in(two, "Stopped.");
    first.open();
    scene.wait_in(one, "The first story.");
    second.open();
    gateway.stop().ends_with(0);
    assert!(!scene.texts_in(one).join("\n").contains("Stopped"));
}

#[test]
fn what_was_for_a_topic_that_is_closed_or_deleted_comes_into_its_chat() {
    const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\nnothing more";
    let table = "| pot | water |\n|---|--:|\n| fern | 2 |\n| crab | 30 |";
    for words in ["TOPIC_CLOSED", "message thread not found"] {
        let one = json!({"content": "One.", "media": ["a.png"]});
        let both = json!({"content": "Both.", "media": ["a.png", "b.png"]});
        let scene = Scene::playing([
            call("message", one),
            call("message", both),
            say(table),
            say("In private."),
        ]);
        for name in ["a.png", "b.png"] {
            std::fs::write(scene.home.workspace(name), PICTURE).unwrap();
        }
        let home = scene.telegram.group(-900, "Home");
        let plants = scene.telegram.topic(home, "Plants");
        let gateway = scene.start();
        let refused = Fault::BadRequest(words);
        scene.telegram.fail_in(plants, FOREVER, refused.clone());
        scene.ana.says_in(plants, "@peacrab_bot show me");
        let rich = |message: &Message| message.text.contains("crab") && message.rich.is_some();
        scene.telegram.wait_for_message(home, rich);
        let topic = scene.ana.opens_topic(Some("Trip"));
        scene.telegram.fail_in(topic, FOREVER, refused);
        scene.ana.says_in(topic, "and here?");
        scene.wait_for("In private.");
        gateway.stop().ends_with(0);
        let shown = scene.telegram.messages(home);
        let files = shown.iter().filter(|message| message.file.is_some());
        assert_eq!(files.count(), 3, "{shown:?}");
        assert_eq!(scene.texts_in(plants), Vec::<String>::new());
        assert_eq!(scene.texts(), ["In private."]);
    }
}
