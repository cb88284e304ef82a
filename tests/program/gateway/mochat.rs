//! People on MoChat: what they are promised there.

use std::fs;

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::mochat::{Fault, MoChat, TOKEN};
use crate::harness::model::{Model, Step, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

/// A scripted model, MoChat with a session and a panel, and ana, who may speak.
struct Chat {
    model: Model,
    mochat: MoChat,
    home: Home,
}

impl Chat {
    fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        let model = Model::playing(script);
        let mochat = MoChat::start();
        mochat.create("session_ana");
        mochat.create("panel1");
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"mochat": mochat.section()}));
        Self {
            model,
            mochat,
            home,
        }
    }

    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/mochat/{key}"), value);
        self
    }

    /// A gateway that has read the session once.
    fn start(&self) -> Gateway {
        let watched = self.mochat.calls("sessions/watch");
        let gateway = Gateway::start(&self.home);
        self.mochat.wait_for_calls("sessions/watch", watched + 1);
        gateway
    }
}

#[test]
fn a_message_is_answered_and_the_history_is_not() {
    let chat = Chat::playing([say("Good **morning**, Ana.")]);
    chat.mochat
        .says_at("ana", "session_ana", "/sh reboot", 1_700_000_000_000);
    let gateway = chat.start();
    chat.mochat.says("ana", "session_ana", "good morning");
    assert_eq!(
        chat.mochat.wait_for("session_ana", "Ana."),
        "Good morning, Ana."
    );
    let output = gateway.stop().ends_with(0);
    assert_eq!(chat.mochat.texts("session_ana").len(), 1);
    assert_eq!(chat.model.requests().len(), 1);
    assert!(!output.stderr.contains(TOKEN), "{}", output.stderr);
}

#[test]
fn what_is_written_between_two_runs_is_answered_once() {
    let chat = Chat::playing([say("one"), say("two"), say("three")]);
    let gateway = chat.start();
    chat.mochat.says("ana", "session_ana", "hello");
    chat.mochat.wait_for("session_ana", "one");
    gateway.stop().ends_with(0);
    chat.mochat.says("ana", "session_ana", "are you there?");
    let gateway = chat.start();
    chat.mochat.wait_for("session_ana", "two");
    // MoChat cannot tell a message that is sent again: one whose answer is lost would come twice.
    let outbox = chat.home.path().join("outbox.jsonl");
    wait_until("the confirmation", || {
        fs::read_to_string(&outbox).is_ok_and(|text| text.is_empty())
    });
    chat.mochat.go_offline();
    chat.mochat.says("ana", "session_ana", "and now?");
    chat.mochat.go_online();
    chat.mochat.wait_for("session_ana", "three");
    gateway.stop().ends_with(0);
    assert_eq!(chat.mochat.texts("session_ana"), ["one", "two", "three"]);
}

#[test]
fn in_a_panel_the_bot_answers_when_it_is_mentioned() {
    let chat = Chat::playing([say("It is late.")]);
    let gateway = chat.start();
    chat.mochat.says("ana", "panel1", "nobody in particular");
    chat.mochat.says("bob", "panel1", "@agent9 what about me?");
    chat.mochat.says("ana", "panel1", "<@agent9> what is it?");
    chat.mochat.wait_for("panel1", "It is late.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.model.requests().len(), 1);
    let asked = chat.model.requests()[0].last_message();
    assert!(
        asked.contains("what is it?") && !asked.contains("agent9"),
        "{asked}"
    );
}

#[test]
fn a_session_that_begins_meanwhile_is_followed() {
    let chat = Chat::playing([say("Hello.")]);
    let gateway = chat.start();
    chat.mochat.create("session_new");
    chat.mochat.says("ana", "session_new", "hi");
    chat.mochat.wait_for("session_new", "Hello.");
    gateway.stop().ends_with(0);
}

#[test]
fn errors_lose_no_message() {
    let chat = Chat::playing([say("one"), say("two")]);
    let gateway = chat.start();
    for (fault, words) in [(Fault::TooMany, "one"), (Fault::BadGateway, "two")] {
        chat.mochat.fail_next(fault);
        chat.mochat.says("ana", "session_ana", "go on");
        chat.mochat.wait_for("session_ana", words);
    }
    gateway.stop().ends_with(0);
    assert_eq!(chat.mochat.texts("session_ana"), ["one", "two"]);
}

#[test]
fn the_test_of_the_channel_finds_a_wrong_token() {
    let chat = Chat::playing([]);
    let tested = Program::new(&chat.home)
        .args(["channels", "test", "mochat"])
        .run()
        .ends_with(0);
    assert!(tested.stdout.contains("agent9"), "{}", tested.stdout);
    let chat = chat.set("clawToken", json!("wrong-canary"));
    let tested = Program::new(&chat.home)
        .args(["channels", "test", "mochat"])
        .run();
    assert_ne!(tested.code, Some(0));
    assert!(
        tested.stderr.contains("clawToken") && !tested.stderr.contains("canary"),
        "{}",
        tested.stderr
    );
}
