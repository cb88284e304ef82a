//! What goes wrong on Telegram's side, and how it is said.

use std::fs;

use serde_json::json;

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Gate, say};
use crate::harness::program::Program;
use crate::harness::telegram::{Call, Fault};
use crate::harness::wait_until;

fn count(log: &str, words: &str) -> usize {
    log.matches(words).count()
}

#[test]
fn what_keeps_polling_from_working_is_said_once_and_polling_goes_on() {
    for (fault, words) in [
        (Fault::Unauthorized, "rejected the bot token"),
        (
            Fault::Conflict,
            "another program is receiving this bot's messages",
        ),
        (Fault::ServerError, "having trouble"),
        (Fault::GarbageJson, "having trouble"),
        (Fault::Cut, "failed to receive from Telegram: "),
        (
            Fault::HugeBody(9 << 20),
            "failed to receive from Telegram: ",
        ),
    ] {
        let scene = Scene::playing([say("Here I am.")]);
        scene.telegram.fail_times("getUpdates", 3, fault.clone());
        let gateway = scene.start();
        scene.ana.says("are you there?");
        scene.wait_for("Here I am.");
        let log = gateway.stop().ends_with(0).stderr;
        assert_eq!(count(&log, words), 1, "{fault:?}: {log}");
        assert_eq!(
            count(&log, "failed to receive from Telegram"),
            1,
            "{fault:?}: {log}"
        );
        assert_eq!(
            count(&log, "can receive from Telegram again"),
            1,
            "{fault:?}: {log}"
        );
    }
}

#[test]
fn updates_that_come_again_or_out_of_order_are_handled_once() {
    let scene = Scene::answering(|request| {
        let count = request
            .messages()
            .iter()
            .filter(|message| message["role"] == "user")
            .count();
        say(&format!("answer {count}"))
    });
    let gateway = scene.start();
    let first = scene.ana.says("/id one");
    scene.wait_for("telegram:1001");
    scene.telegram.repeat(first.update);
    scene.telegram.hold_updates();
    let later: Vec<_> = ["/sh echo two", "/sh echo three", "/sh echo four"]
        .map(|words| scene.ana.says(words))
        .into();
    scene.telegram.release_reversed();
    for words in ["\ntwo", "\nthree", "\nfour"] {
        scene.wait_for(words);
    }
    scene.telegram.repeat(later[1].update);
    let last = scene.ana.says("/sh echo last");
    scene.wait_for("\nlast");
    scene.telegram.wait_for_offset(last.update);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 5, "{:?}", scene.texts());
}

#[test]
fn what_comes_while_the_start_looks_at_what_was_left_is_handled_once() {
    let scene = Scene::playing([]);
    // Many journals make the look take long enough to be hit every time.
    let sessions = scene.home.path().join("sessions");
    fs::create_dir(&sessions).unwrap();
    for number in 0..5_000 {
        fs::write(sessions.join(format!("telegram_{number}.jsonl")), "").unwrap();
    }
    scene.ana.says("/id");
    scene.ana.says("/sh echo once >>count; echo counted");
    let gateway = scene.start();
    scene.wait_for("telegram:1001");
    scene.wait_for("\ncounted");
    let last = scene.ana.says("/sh echo the end");
    scene.wait_for("\nthe end");
    scene.telegram.wait_for_offset(last.update);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 3, "{:#?}", scene.texts());
    let count = fs::read_to_string(scene.home.workspace("count")).unwrap();
    assert_eq!(count, "once\n");
}

#[test]
fn an_update_that_nobody_understands_is_passed_over() {
    let scene = Scene::playing([say("Here I am.")]);
    let gateway = scene.start();
    let chat = json!({"id": 1001, "type": "private"});
    let from = json!({"id": 1001, "is_bot": false, "first_name": "Ana"});
    for (kind, content) in [
        ("message", json!(5)),
        ("message", json!({})),
        ("message", json!({"message_id": "x", "chat": chat})),
        (
            "message",
            json!({"message_id": 90, "chat": chat, "from": from, "new_chat_title": "x"}),
        ),
        ("edited_message", json!(null)),
        (
            "callback_query",
            json!({"id": "q", "from": from, "game_short_name": "chess"}),
        ),
        (
            "callback_query",
            json!({"id": "q", "from": from, "data": "q:1:once"}),
        ),
    ] {
        scene.telegram.pushes(kind, content);
    }
    scene.ana.says("are you there?");
    scene.wait_for("Here I am.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 1);
}

#[test]
fn whatever_becomes_of_a_call_an_answer_arrives() {
    for (fault, most) in [
        (Fault::Cut, 1),
        (Fault::ServerError, 1),
        (Fault::GarbageJson, 1),
        (Fault::HugeBody(9 << 20), 1),
        (Fault::Unauthorized, 1),
        // It was done, and nobody can know.
        (Fault::LostReply, 2),
        (Fault::CutOff, 2),
        (Fault::TruncatedJson, 2),
    ] {
        let scene = Scene::playing([say("Here I am.")]).set("streaming", json!(false));
        scene.telegram.fail_next("sendMessage", fault.clone());
        let gateway = scene.start();
        scene.ana.says("are you there?");
        scene.telegram.wait_for_calls("sendMessage", 2);
        scene.wait_for("Here I am.");
        gateway.stop().ends_with(0);
        assert_eq!(scene.texts().len(), most, "{fault:?}");
    }
}

#[test]
fn a_message_that_waits_is_read_as_it_was_edited() {
    let gate = Gate::default();
    let bobs = say("Yes, Bob.").after(&gate);
    let mut scene = Scene::playing([bobs, say("Yes, Ana.")]).set("allowFrom", json!(["*"]));
    scene
        .home
        .set("/agents/defaults/maxParallelTurns", json!(1));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    bob.says("are you there?");
    scene.model.wait_for_requests(1);
    let said = scene.ana.says("are you thre?");
    let edit = scene.ana.edits(&said, "are you there at last?");
    scene.telegram.wait_for_offset(edit);
    // The answer to this comes behind the edit.
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    gate.open();
    scene.wait_for("Yes, Ana.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(1);
    assert!(
        asked.contains("at last?") && !asked.contains("thre?"),
        "{asked}"
    );
}

#[test]
fn an_edit_of_what_was_answered_comes_too_late_and_is_said_to_once() {
    let scene = Scene::playing([say("Hello."), say("All of you.")]);
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    let eve = scene.telegram.person(6, "Eve", None);
    let strange = eve.says("let me in");
    let said = scene.ana.says("hello");
    scene.wait_for("Hello.");
    let in_group = scene.ana.says_in(home, "@peacrab_bot hello all");
    scene.wait_in(home, "All of you.");
    scene.ana.edits(&in_group, "@peacrab_bot hello, all");
    eve.edits(&strange, "let me in!");
    scene.ana.edits(&said, "hello, you");
    let told = scene.wait_for("I have read that message already");
    scene.ana.edits(&said, "hello, you two");
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    gateway.stop().ends_with(0);
    assert_eq!(told.reply_to, None, "as answers do");
    assert_eq!(scene.texts().len(), 3, "{:?}", scene.texts());
    assert_eq!(scene.texts_in(home), ["All of you."]);
    assert_eq!(scene.texts_in(eve.chat()).len(), 1, "a code");
}

#[test]
fn a_wrong_token_and_a_missing_one_say_what_to_do() {
    let mut scene = Scene::playing([]);
    scene.telegram.forgives("Unauthorized");
    scene
        .home
        .set("/channels/telegram/token", json!("4812345678:wrong"));
    let gateway = scene.start();
    gateway.wait_for_log("@BotFather");
    let log = gateway.stop().ends_with(0).stderr;
    assert!(!log.contains("4812345678:wrong"), "{log}");
    for (key, value, words) in [
        ("token", json!(""), "channels.telegram.token is empty"),
        ("enabled", json!(false), "No channel is enabled"),
    ] {
        scene.home.set(&format!("/channels/telegram/{key}"), value);
        let output = Program::new(&scene.home).arg("gateway").run();
        assert_ne!(output.code, Some(0));
        output.complains_of(&[words, "@BotFather"]);
    }
}

#[test]
fn a_channel_that_refuses_a_message_gets_its_text_in_another_form() {
    let long = "word ".repeat(300);
    let scene = Scene::answering(move |_| say(&long)).set("streaming", json!(false));
    let is_send = |call: &Call| call.method == "sendMessage";
    // With and without markup and buttons; then in smaller parts.
    scene
        .telegram
        .fail_when(2, Fault::BadRequest("message is too long"), is_send);
    let gateway = scene.start();
    scene.ana.says("Hi");
    scene.wait_for("word");
    gateway.wait_for_log("turn answered");
    wait_until("the whole text", || {
        scene.texts().concat().matches("word").count() == 300
    });
    assert!(scene.texts().len() > 1, "{:?}", scene.texts());
    // As a file.
    scene
        .telegram
        .fail_when(3, Fault::BadRequest("MESSAGE_ODD"), is_send);
    scene.ana.says("Again");
    let sent = scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| message.file.is_some());
    assert_eq!(sent.file.unwrap().name, "message.txt");
    // And when nothing goes, the person hears of it.
    scene
        .telegram
        .fail_when(3, Fault::BadRequest("MESSAGE_ODD"), is_send);
    scene
        .telegram
        .fail_next("sendDocument", Fault::BadRequest("FILE_ODD"));
    scene.ana.says("Once more");
    let word = scene.wait_for("I have a message for you that could not be sent here");
    assert!(word.text.contains("MESSAGE_ODD"), "{}", word.text);
    gateway.stop().ends_with(0);
}

#[test]
fn a_second_gateway_of_the_same_home_does_not_start() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.telegram.wait_for_poll();
    let second = Gateway::start(&scene.home).finish();
    assert_ne!(second.code, Some(0));
    second.complains_of(&["already running"]);
    gateway.stop().ends_with(0);
}
