//! Tables, task lists and long answers: messages of blocks, where the server takes them.

use serde_json::json;

use super::scene::Scene;
use crate::harness::model::{Gate, say};
use crate::harness::telegram::Fault;

const TABLE: &str = "All **three**:\n\n| pot | water |\n|---|--:|\n| fern | 2 |\n| crab | 30 |";
const TASKS: &str = "- [x] milk\n- [ ] bread";

#[test]
fn a_table_a_task_list_and_a_long_answer_are_each_one_message_of_blocks() {
    let long = "A long story. ".repeat(1000);
    let plain = "Just **words**.";
    let scene = Scene::playing([say(TABLE), say(TASKS), say(&long), say(plain)]);
    let gateway = scene.start();
    for (asked, words) in [
        ("1", "crab"),
        ("2", "bread"),
        ("3", "A long"),
        ("4", "Just"),
    ] {
        scene.ana.says(asked);
        scene.wait_for(words);
    }
    gateway.stop().ends_with(0);
    let messages = scene.telegram.messages(scene.ana.chat());
    let rich: Vec<bool> = messages.iter().map(|it| it.rich.is_some()).collect();
    assert_eq!(rich, [true, true, true, false]);
    let table = "All three:\npot | water | \nfern | 2 | \ncrab | 30 |";
    assert_eq!(messages[0].text, table);
    assert_eq!(messages[1].text, "☑ milk\n☐ bread");
    assert_eq!(messages[2].text, long.trim());
}

#[test]
fn a_server_without_rich_messages_is_asked_once_and_the_table_fits_a_phone() {
    let wide = "| a plant with a long name | how much water |\n|---|---|\n| fern | two litres |";
    let scene = Scene::playing([say(TABLE), say(wide)]);
    scene.telegram.fail_next("sendRichMessage", Fault::NoMethod);
    let gateway = scene.start();
    scene.ana.says("1");
    scene.wait_for("crab | ");
    scene.ana.says("2");
    let shown = scene.wait_for("litres");
    gateway.stop().ends_with(0);
    assert_eq!(scene.telegram.calls("sendRichMessage").len(), 1);
    let widths = shown.text.lines().map(|line| line.chars().count());
    assert!(widths.max() <= Some(36), "{}", shown.text);
}

#[test]
fn one_chat_that_refuses_them_takes_them_from_no_other() {
    let scene = Scene::playing([say(TABLE), say(TASKS)]);
    let home = scene.telegram.group(-900, "Home");
    let words = "not enough rights to send text messages to the chat";
    let refused = Fault::BadRequest(words);
    scene.telegram.fail_when(1, refused, move |call| {
        call.is_in(home) && !call.parameters["rich_message"].is_null()
    });
    let gateway = scene.start();
    scene.ana.says_in(home, "@peacrab_bot 1");
    scene
        .telegram
        .wait_for_message(home, |it| it.text.contains("crab") && it.rich.is_none());
    scene.ana.says("2");
    let tasks = scene.wait_for("bread");
    gateway.stop().ends_with(0);
    assert!(tasks.rich.is_some(), "{tasks:?}");
}

#[test]
fn an_address_is_never_in_a_message_that_would_fetch_it() {
    let cells = [
        "https://example.org/?q=secret1",
        "https&colon;//evil&period;example/?q=secret2",
        "ev*il*.**example**/?q=secret3",
        "10.0.0.1/?q=secret4",
    ];
    let tables = cells.map(|cell| say(&format!("| a |\n|---|\n| {cell} |")));
    let scene = Scene::playing(tables).set("richMessages", json!("on"));
    let gateway = scene.start();
    for number in 1..=cells.len() {
        scene.ana.says("more");
        scene.wait_for(&format!("secret{number}"));
    }
    gateway.stop().ends_with(0);
    assert!(scene.telegram.calls("sendRichMessage").is_empty());
}

#[test]
fn with_off_there_are_none_and_with_on_all_are() {
    for (setting, count) in [("off", 0), ("on", 2)] {
        let scene = Scene::playing([say(TABLE), say("Just words.")]);
        let scene = scene.set("richMessages", json!(setting));
        let gateway = scene.start();
        scene.ana.says("1");
        scene.wait_for("crab");
        scene.ana.says("2");
        scene.wait_for("Just");
        gateway.stop().ends_with(0);
        assert_eq!(scene.telegram.calls("sendRichMessage").len(), count);
    }
}

#[test]
fn in_a_group_the_blocks_take_the_place_of_what_was_shown_and_a_kill_repeats_nothing() {
    let gate = Gate::default();
    let scene = Scene::playing([say(TABLE).pausing_at(&gate)]);
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(home, "@peacrab_bot show me");
    let draft = scene.wait_in(home, "All");
    scene.telegram.fail_when(1, Fault::Hang, |call| {
        !call.parameters["rich_message"].is_null()
    });
    gate.open();
    scene.telegram.wait_for_beginning("editMessageText", 1);
    gateway.kill();
    let gateway = scene.start();
    let shown = scene
        .telegram
        .wait_for_message(home, |message| message.rich.is_some());
    gateway.stop().ends_with(0);
    assert_eq!(shown.id, draft.id);
    assert_eq!(scene.texts_in(home).len(), 1);
}
