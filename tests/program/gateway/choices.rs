//! Buttons of the model's: once one is pressed, their message shows which.

use std::fs;

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::model::{Step, call, say};
use crate::harness::telegram::{Fault, Message, Place};

const QUESTION: &str = "**Which** of `a*b*c` and [the other](https://example.org/x)?";
const SHOWN: &str = "Which of a*b*c and the other?";

fn asking(more: Value) -> [Step; 3] {
    let mut arguments = json!({"content": QUESTION, "buttons": [["The first", "The other"]]});
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    [call("message", arguments), say("I wait."), say("Fine.")]
}

/// Waits until the question shows a choice.
fn wait_for_choice(scene: &Scene, place: Place, choice: &str) -> Message {
    let text = format!("{SHOWN}\n✓ {choice}");
    scene
        .telegram
        .wait_for_message(place, |message| message.text == text)
}

#[test]
fn a_message_shows_what_was_chosen_in_its_own_format_and_has_no_buttons_any_more() {
    let scene = Scene::playing(asking(json!({})));
    let gateway = scene.start();
    scene.ana.says("ask me");
    let asked = scene.wait_for(SHOWN);
    scene.wait_for("I wait.");
    scene.ana.presses("The other");
    let shown = wait_for_choice(&scene, scene.ana.chat(), "The other");
    scene.wait_for("Fine.");
    gateway.stop().ends_with(0);
    assert_eq!((shown.id, shown.markup), (asked.id, None));
    assert_eq!(shown.entities, asked.entities);
    assert_eq!(asked.entities.len(), 3);
    assert!(scene.asked(2).contains("[button] The other"));
}

#[test]
fn the_words_of_a_picture_show_it_too() {
    let scene = Scene::playing(asking(json!({"media": ["plot.png"]})));
    let png = b"\x89PNG\r\n\x1a\nnothing more";
    fs::write(scene.home.workspace("plot.png"), png).unwrap();
    let gateway = scene.start();
    scene.ana.says("ask me");
    scene.wait_for("I wait.");
    scene.ana.presses("The first");
    let shown = wait_for_choice(&scene, scene.ana.chat(), "The first");
    scene.wait_for("Fine.");
    gateway.stop().ends_with(0);
    assert!(shown.file.is_some() && shown.markup.is_none(), "{shown:?}");
}

#[test]
fn of_two_people_who_press_at_once_the_first_is_heard_and_named() {
    let scene = Scene::playing(asking(json!({}))).set("allowFrom", json!(["1001", "1002"]));
    let home = scene.telegram.group(-900, "Home");
    let ben = scene.telegram.person(1002, "Ben", None);
    let eve = scene.telegram.person(6, "Eve", None);
    let gateway = scene.start();
    scene.ana.says_in(home, "@peacrab_bot ask us");
    let asked = scene.wait_in(home, SHOWN);
    scene.wait_in(home, "I wait.");
    scene.telegram.wait_for_poll();
    scene.telegram.hold_updates();
    let first = eve.presses_on(&asked, "The first");
    ben.presses_on(&asked, "The other");
    let last = scene.ana.presses_on(&asked, "The first");
    scene.telegram.release_as(&[first]);
    wait_for_choice(&scene, home, "The other (Ben)");
    scene.wait_in(home, "Fine.");
    scene.telegram.wait_for_offset(last);
    gateway.stop().ends_with(0);
    assert!(scene.asked(2).contains("[button] The other"));
    assert_eq!(scene.model.requests().len(), 3);
    let toasts = scene.telegram.calls("answerCallbackQuery");
    let toasts = toasts.iter().filter_map(|call| call["text"].as_str());
    let mut toasts: Vec<&str> = toasts.collect();
    toasts.sort_unstable();
    assert_eq!(
        toasts,
        ["Already answered.", "You don't have access to this bot."]
    );
}

#[test]
fn a_choice_that_was_not_shown_because_of_a_kill_can_be_made_again() {
    let scene = Scene::playing(asking(json!({})).into_iter().chain([say("Still fine.")]));
    let gateway = scene.start();
    scene.ana.says("ask me");
    scene.wait_for("I wait.");
    scene.telegram.fail_next("editMessageText", Fault::Hang);
    scene.ana.presses("The other");
    scene.telegram.wait_for_calls("editMessageText", 1);
    scene.wait_for("Fine.");
    gateway.kill();
    let gateway = scene.start();
    scene.ana.presses("The other");
    wait_for_choice(&scene, scene.ana.chat(), "The other");
    scene.wait_for("Still fine.");
    gateway.stop().ends_with(0);
}
