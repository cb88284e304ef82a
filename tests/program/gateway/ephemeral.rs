//! Messages in groups that only the owner sees who caused them.

use serde_json::json;

use super::scene::Scene;
use crate::harness::model::{call, say};
use crate::harness::telegram::{Call, Fault};

fn is_ephemeral(call: &Call) -> bool {
    !call.parameters["ephemeral_message_parameters"].is_null()
}

#[test]
fn an_owner_alone_sees_status_and_the_output_of_commands_and_all_see_the_answers() {
    let scene = Scene::playing([say("Hello.")]).set("roles", json!({"2002": "user"}));
    let home = scene.telegram.group(-900, "Home");
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    scene.ana.says_in(home, "/sh echo begun");
    let output = scene.wait_in(home, "begun");
    scene.ana.says_in(home, "/status");
    let status = scene.wait_in(home, "Model");
    scene.ana.says_in(home, "@peacrab_bot hello");
    let answer = scene.wait_in(home, "Hello.");
    bob.says_in(home, "/status");
    let theirs = scene
        .telegram
        .wait_for_message(home, |it| it.id > answer.id && it.text.contains("Model"));
    scene.ana.says("/status");
    let private = scene.wait_for("Model");
    gateway.stop().ends_with(0);
    let seen_by = [output, status, answer, theirs, private].map(|message| message.only_for);
    assert_eq!(seen_by, [Some(1001), Some(1001), None, None, None]);
}

#[test]
fn an_owner_alone_sees_the_question_and_what_became_of_it() {
    let wish = json!({"command": "echo hi", "escalate": true, "reason": "to see"});
    let scene = Scene::playing([call("exec", wish), say("It said hi.")]);
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(home, "@peacrab_bot say hi");
    let question = scene
        .telegram
        .wait_for_message(home, |message| message.button("Run once").is_some());
    scene.ana.presses_on(&question, "Run once");
    let settled = scene.wait_in(home, "Allowed once");
    scene.wait_in(home, "It said hi.");
    gateway.stop().ends_with(0);
    assert_eq!(question.only_for, Some(1001));
    assert_eq!(
        (settled.id, settled.only_for, settled.markup),
        (question.id, Some(1001), None)
    );
}

#[test]
fn what_is_said_about_an_open_question_is_for_the_owner_alone_too() {
    let wish = json!({"command": "expr 48 + 48", "escalate": true, "reason": "to see"});
    let scene = Scene::playing([call("exec", wish), say("It said so.")]);
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(home, "@peacrab_bot count");
    scene
        .telegram
        .wait_for_message(home, |message| message.button("Run once").is_some());
    scene.ana.says_in(home, "@peacrab_bot and now?");
    let waits = scene.wait_in(home, "I still need your answer");
    scene.ana.says_in(home, "/approve 1");
    let list = scene.wait_in(home, "Waiting for approval:");
    scene.ana.presses_on(&list, "✓ expr 48 + 48");
    scene.wait_in(home, "It said so.");
    gateway.stop().ends_with(0);
    assert_eq!([waits.only_for, list.only_for], [Some(1001); 2]);
    let messages = scene.telegram.messages(home);
    let allowed = messages
        .iter()
        .filter(|it| it.text.contains("Allowed once"));
    assert_eq!(allowed.count(), 1, "the question says it");
}

#[test]
fn the_output_so_far_is_replaced_and_after_a_kill_it_is_found_again() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(1000));
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(home, "/sh echo begun; sleep 600");
    let shown = scene.wait_in(home, "begun");
    assert_eq!(shown.only_for, Some(1001));
    gateway.kill();
    let gateway = scene.start();
    scene.telegram.wait_for_message(home, |it| it.id > shown.id);
    gateway.stop().ends_with(0);
    let calls = scene.telegram.calls("deleteMessage");
    assert!(calls.is_empty(), "it is no message of the group: {calls:?}");
}

#[test]
fn a_server_that_refuses_them_is_asked_once_and_all_see_them_then() {
    for fault in [Fault::BadRequest("EPHEMERAL_DISABLED"), Fault::NoMethod] {
        let scene = Scene::playing([]);
        let home = scene.telegram.group(-900, "Home");
        scene.telegram.fail_when(1, fault, is_ephemeral);
        let gateway = scene.start();
        for words in ["one", "two"] {
            scene.ana.says_in(home, &format!("/sh echo {words}"));
            assert_eq!(scene.wait_in(home, words).only_for, None);
        }
        gateway.stop().ends_with(0);
        let calls = scene.telegram.record(home);
        assert_eq!(calls.iter().filter(|call| is_ephemeral(call)).count(), 1);
    }
}

#[test]
fn what_the_group_cannot_show_to_one_person_goes_to_their_private_chat_and_later_ones_as_before() {
    let faults = [
        Fault::BadRequest("user not found"),
        Fault::BadRequest("USER_NOT_PARTICIPANT"),
        Fault::Forbidden,
    ];
    for fault in faults {
        let scene = Scene::playing([]);
        let home = scene.telegram.group(-900, "Home");
        let gateway = scene.start();
        scene.telegram.fail_when(1, fault, is_ephemeral);
        scene.ana.says_in(home, "/sh expr 48 + 48");
        scene.wait_for("96");
        scene.ana.says_in(home, "/sh echo two");
        assert_eq!(scene.wait_in(home, "two").only_for, Some(1001));
        gateway.stop().ends_with(0);
        let texts = scene.texts_in(home);
        assert!(!texts.iter().any(|text| text.contains("96")), "{texts:?}");
    }
}

#[test]
fn what_nothing_can_show_to_one_person_is_said_in_the_group_without_its_content() {
    let scene = Scene::playing([]);
    let home = scene.telegram.group(-900, "Home");
    let refused = Fault::BadRequest("user not found");
    (scene.telegram).fail_when(100, refused, is_ephemeral);
    (scene.telegram).fail_in(scene.ana.chat(), 100, Fault::Forbidden);
    let gateway = scene.start();
    scene.ana.says_in(home, "/sh expr 48 + 48");
    let line = scene.wait_in(home, "in private");
    gateway.stop().ends_with(0);
    assert_eq!(line.only_for, None);
    let texts = scene.texts_in(home);
    assert!(!texts.iter().any(|text| text.contains("96")), "{texts:?}");
}

#[test]
fn a_rate_limit_is_waited_for_and_the_setting_turns_them_off() {
    let scene = Scene::playing([]);
    let home = scene.telegram.group(-900, "Home");
    let slow = Fault::TooManyRequests { retry_after: 1 };
    scene.telegram.fail_when(1, slow, is_ephemeral);
    let gateway = scene.start();
    scene.ana.says_in(home, "/sh echo one");
    assert_eq!(scene.wait_in(home, "one").only_for, Some(1001));
    gateway.stop().ends_with(0);

    let scene = Scene::playing([]).set("ephemeral", json!(false));
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(home, "/sh echo two");
    assert_eq!(scene.wait_in(home, "two").only_for, None);
    gateway.stop().ends_with(0);
}
