//! Topics of a private chat on Telegram: each is a conversation of its own.

use super::scene::Scene;
use crate::harness::model::{Gate, say};
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
