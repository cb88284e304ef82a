//! Answers in private chats while they are written: drafts of Telegram's own, which are no messages.

use std::time::{Duration, Instant};

use serde_json::json;

use super::scene::Scene;
use crate::harness::model::{Gate, call, say};
use crate::harness::telegram::{FOREVER, Fault};

const STORY: &str = "Once upon a time there was a crab.";

#[test]
fn an_answer_is_a_draft_while_it_comes_and_then_one_message_that_rings() {
    let (first, second) = (Gate::default(), Gate::default());
    let scene = Scene::playing([
        say(STORY).pausing_at(&first),
        call("read_file", json!({"path": "crab.txt"})),
        say("It lives **in a bottle**.").pausing_at(&second),
    ]);
    std::fs::write(scene.home.workspace("crab.txt"), "in a bottle").unwrap();
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    let chat = scene.ana.chat();
    let draft = scene.telegram.wait_for_draft(chat, "Once upon");
    assert!(draft.can_stop, "{draft:?}");
    assert_eq!(scene.texts(), Vec::<String>::new());
    first.open();
    scene.wait_for(STORY);
    scene.ana.says("where is it?");
    let steps = scene.telegram.wait_for_draft(chat, "It lives");
    assert!(
        steps.text.contains("▸ read_file") && steps.id != draft.id,
        "{steps:?} after {draft:?}"
    );
    second.open();
    scene.wait_for("It lives in a bottle.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), [STORY, "It lives in a bottle."]);
    let calls = scene.telegram.calls("sendMessage");
    assert!(
        calls
            .iter()
            .all(|call| call["disable_notification"] != true),
        "{calls:?}"
    );
    assert!(scene.telegram.calls("editMessageText").is_empty());
    assert!(scene.telegram.calls("deleteMessage").is_empty());
}

#[test]
fn the_button_of_a_draft_stops_what_is_being_written() {
    let gate = Gate::default();
    let scene = Scene::playing([say(STORY).pausing_at(&gate), say("Something else.")]);
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    scene.telegram.wait_for_draft(scene.ana.chat(), "Once");
    scene.ana.stops(scene.ana.chat());
    let half = scene.wait_for("\n\nStopped.");
    assert!(half.text.starts_with("Once upon"), "{}", half.text);
    scene.wait_for("1 reply cancelled");
    scene.ana.says("and now?");
    scene.wait_for("Something else.");
    gateway.stop().ends_with(0);
    // It is no press of a button below a message.
    assert!(scene.telegram.calls("answerCallbackQuery").is_empty());
}

#[test]
fn the_button_of_a_draft_is_of_no_use_to_a_person_without_access() {
    let gate = Gate::default();
    let mut scene = Scene::playing([say(STORY).pausing_at(&gate)]);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001"]));
    let gateway = scene.start();
    let eve = scene.telegram.person(6, "Eve", None);
    scene.ana.says("tell me a story");
    scene.telegram.wait_for_draft(scene.ana.chat(), "Once");
    let stop = json!({"chat": {"id": 6, "type": "private", "first_name": "Eve"}, "draft_id": 1});
    let group = json!({"chat": {"id": -6, "type": "supergroup", "title": "x"}, "draft_id": 1});
    scene.telegram.pushes("stopped_message_generation", stop);
    let last = scene.telegram.pushes("stopped_message_generation", group);
    scene.telegram.wait_for_offset(last);
    gate.open();
    scene.wait_for(STORY);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts_in(eve.chat()), Vec::<String>::new());
}

#[test]
fn a_server_without_drafts_is_asked_once() {
    let (first, second) = (Gate::default(), Gate::default());
    let scene = Scene::playing([
        say(STORY).pausing_at(&first),
        say("It went on.").in_pieces(2).pausing_at(&second),
    ]);
    scene
        .telegram
        .fail_times("sendMessageDraft", 1, Fault::NoMethod);
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    let draft = scene.wait_for("Once");
    first.open();
    let answer = scene.wait_for("a crab.");
    assert_eq!(answer.id, draft.id);
    scene.ana.says("and then?");
    scene.wait_for("It we");
    second.open();
    scene.wait_for("It went on.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.telegram.calls("sendMessageDraft").len(), 1);
    assert_eq!(scene.texts(), [STORY, "It went on."]);
}

#[test]
fn groups_get_messages_and_so_does_everybody_where_drafts_are_off() {
    let (first, second) = (Gate::default(), Gate::default());
    let scene = Scene::playing([say(STORY).pausing_at(&first)]);
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(home, "@peacrab_bot tell me a story");
    let draft = scene.wait_in(home, "Once");
    first.open();
    assert_eq!(scene.wait_in(home, "a crab.").id, draft.id);
    gateway.stop().ends_with(0);
    assert!(scene.telegram.calls("sendMessageDraft").is_empty());

    let scene = Scene::playing([say(STORY).pausing_at(&second)]).set("drafts", json!(false));
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    let draft = scene.wait_for("Once");
    second.open();
    assert_eq!(scene.wait_for("a crab.").id, draft.id);
    gateway.stop().ends_with(0);
    assert!(scene.telegram.calls("sendMessageDraft").is_empty());
}

#[test]
fn markup_that_telegram_refuses_is_shown_as_it_is() {
    let gate = Gate::default();
    let scene = Scene::playing([say("**Once** upon a time there was a crab.").pausing_at(&gate)]);
    scene
        .telegram
        .fail_when(FOREVER, Fault::ParseError, |call| {
            call.method == "sendMessageDraft" && !call.parameters["parse_mode"].is_null()
        });
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    let draft = scene.telegram.wait_for_draft(scene.ana.chat(), "Once");
    assert!(!draft.text.contains('<'), "{draft:?}");
    gate.open();
    scene.wait_for("a crab.");
    gateway.stop().ends_with(0);
}

#[test]
fn what_a_question_is_about_is_a_message_above_it() {
    let wish = json!({"command": "echo hi", "escalate": true, "reason": "to see"});
    let scene = Scene::playing([say("First I look.").and_call("exec", wish), say("Done.")]);
    let gateway = scene.start();
    scene.ana.says("look");
    let question = scene.wait_for_question("Run this outside the sandbox");
    let steps = scene.wait_for("First I look.");
    assert!(steps.id < question.id, "{steps:?} {question:?}");
    scene.ana.presses("Run once");
    let done = scene.wait_for("Done.");
    gateway.stop().ends_with(0);
    assert!(done.id > question.id, "{done:?}");
}

#[test]
fn a_draft_that_is_rate_limited_or_hangs_holds_back_no_answer() {
    for fault in [Fault::TooManyRequests { retry_after: 600 }, Fault::Hang] {
        let gate = Gate::default();
        let scene = Scene::playing([say(STORY).pausing_at(&gate)]);
        scene.telegram.fail_next("sendMessageDraft", fault);
        let gateway = scene.start();
        scene.ana.says("tell me a story");
        scene.telegram.wait_for_beginning("sendMessageDraft", 1);
        let begun = Instant::now();
        gate.open();
        scene.wait_for(STORY);
        let waited = begun.elapsed();
        gateway.stop().ends_with(0);
        assert!(waited < Duration::from_secs(20), "{waited:?}");
    }
}

#[test]
fn an_answer_whose_draft_is_refused_in_the_middle_goes_on_as_a_message() {
    let gates: [Gate; 3] = std::array::from_fn(|_| Gate::default());
    let look = say("First I look.").and_call("read_file", json!({"path": "crab.txt"}));
    let scene = Scene::playing([
        look.pausing_at(&gates[0]),
        say("It lives in a bottle.").pausing_at(&gates[1]),
        say("Again and again.").pausing_at(&gates[2]),
    ]);
    std::fs::write(scene.home.workspace("crab.txt"), "in a bottle").unwrap();
    let refused = Fault::BadRequest("TEXTDRAFT_PEER_INVALID");
    scene.telegram.fail_when(1, refused, |call| {
        let text = call.parameters["text"].as_str().unwrap_or_default();
        call.method == "sendMessageDraft" && text.contains("It lives")
    });
    let gateway = scene.start();
    scene.ana.says("where is it?");
    scene.telegram.wait_for_draft(scene.ana.chat(), "First");
    gates[0].open();
    let shown = scene.wait_for("It lives");
    gates[1].open();
    let answer = scene.wait_for("in a bottle.");
    assert_eq!(answer.id, shown.id);
    scene.ana.says("say it again");
    scene.telegram.wait_for_draft(scene.ana.chat(), "Again");
    gates[2].open();
    scene.wait_for("Again and again.");
    gateway.stop().ends_with(0);
}

#[test]
fn the_button_of_a_draft_is_answered_in_the_language_of_the_app() {
    let gate = Gate::default();
    let scene = Scene::playing([say(STORY).pausing_at(&gate)]);
    let eva = scene.telegram.person(1001, "Eva", None).speaking("de");
    let gateway = scene.start();
    eva.says("erzähl mir etwas");
    scene.telegram.wait_for_draft(eva.chat(), "Once");
    eva.stops(eva.chat());
    let stopped = scene.wait_for("1 Antwort");
    gateway.stop().ends_with(0);
    assert!(!stopped.text.contains("Stopped"), "{stopped:?}");
}
