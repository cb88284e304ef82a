//! People on WhatsApp: what they are promised there, and what nanobot's bridge does to it.

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Step, say};
use crate::harness::program::Program;
use crate::harness::whatsapp::{Fault, Person, TOKEN, WhatsApp};

/// A scripted model, WhatsApp, and Ana, who may speak.
struct Chat {
    model: Model,
    whatsapp: WhatsApp,
    home: Home,
    ana: Person,
}

impl Chat {
    fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        Self::with(WhatsApp::start(), script)
    }

    fn with(whatsapp: WhatsApp, script: impl IntoIterator<Item = Step>) -> Self {
        let model = Model::playing(script);
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"whatsapp": whatsapp.section()}));
        let ana = whatsapp.person("4179111");
        Self {
            model,
            whatsapp,
            home,
            ana,
        }
    }

    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/whatsapp/{key}"), value);
        self
    }

    /// A gateway whose receiver is connected.
    fn start(&self) -> Gateway {
        let clients = self.whatsapp.clients();
        let gateway = Gateway::start(&self.home);
        self.whatsapp.wait_for_clients(clients + 1);
        gateway
    }

    fn texts(&self) -> Vec<String> {
        let messages = self.whatsapp.messages(&self.ana).into_iter();
        messages.map(|message| message.text).collect()
    }

    fn run(&self, arguments: &[&str]) -> crate::harness::program::Output {
        Program::new(&self.home).args(arguments).run()
    }
}

#[test]
fn a_message_is_answered_in_whatsapps_markup() {
    let chat = Chat::playing([say("Good **morning**, *Ana*. `x`")]);
    let gateway = chat.start();
    chat.ana.says("good morning");
    let answer = chat.whatsapp.wait_for(&chat.ana, "Ana");
    assert_eq!(answer.text, "Good *morning*, _Ana_. `x`");
    gateway.stop().ends_with(0);
}

#[test]
fn who_is_hidden_is_known_by_the_phone_number_and_answered_where_they_wrote() {
    let chat = Chat::playing([say("Hello, Ana.")]);
    let ana = chat.whatsapp.hidden_person("7700123", "4179111");
    let gateway = chat.start();
    ana.says("hi");
    chat.whatsapp.wait_for(&ana, "Hello, Ana.");
    gateway.stop().ends_with(0);
}

#[test]
fn what_whatsapp_delivers_again_is_not_answered_again() {
    let chat = Chat::playing([say("one"), say("two")]);
    let gateway = chat.start();
    let first = chat.ana.says("hello");
    chat.whatsapp.wait_for(&chat.ana, "one");
    // The same message, and one of the day before, after an interruption.
    chat.whatsapp.set_connected(false);
    chat.whatsapp.set_connected(true);
    chat.whatsapp.tells(&first);
    let yesterday = first["timestamp"].as_u64().unwrap() - 86_400;
    chat.ana.says_at(
        "/sh reboot",
        json!({"low": yesterday, "high": 0, "unsigned": true}),
    );
    chat.ana.says("again");
    chat.whatsapp.wait_for(&chat.ana, "two");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one", "two"]);
    assert_eq!(chat.model.requests().len(), 2);
}

#[test]
fn messages_of_the_last_run_are_old_after_a_restart_too() {
    let chat = Chat::playing([say("one"), say("two")]);
    let gateway = chat.start();
    let first = chat.ana.says("hello");
    chat.whatsapp.wait_for(&chat.ana, "one");
    gateway.stop().ends_with(0);
    let gateway = chat.start();
    let yesterday = first["timestamp"].as_u64().unwrap() - 86_400;
    chat.ana.says_at("/sh reboot", json!(yesterday));
    chat.ana.says("again");
    chat.whatsapp.wait_for(&chat.ana, "two");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one", "two"]);
}

#[test]
fn a_bridge_without_a_token_works_and_a_wrong_token_is_explained() {
    let chat = Chat::with(WhatsApp::with_token(None), [say("Hello.")]);
    let gateway = chat.start();
    chat.ana.says("hi");
    chat.whatsapp.wait_for(&chat.ana, "Hello.");
    gateway.stop().ends_with(0);

    let chat = Chat::playing([]).set("bridgeToken", json!("wrong-canary"));
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log("rejects the token");
    let output = gateway.stop().ends_with(0);
    assert!(!output.stderr.contains("wrong-canary"), "{}", output.stderr);
    let tested = chat.run(&["channels", "test", "whatsapp"]);
    assert_ne!(tested.code, Some(0));
    assert!(tested.stderr.contains("BRIDGE_TOKEN"), "{}", tested.stderr);
}

#[test]
fn the_test_of_the_channel_finds_the_bridge_and_sends() {
    let chat = Chat::playing([]);
    let tested = chat
        .run(&["channels", "test", "whatsapp", "--chat", "4179111"])
        .ends_with(0);
    assert!(tested.stdout.contains("bridge"), "{}", tested.stdout);
    assert_eq!(chat.texts().len(), 1);
    assert!(!tested.stdout.contains(TOKEN) && !tested.stderr.contains(TOKEN));
}

#[test]
fn an_answer_waits_while_the_bridge_is_away_and_while_it_has_lost_whatsapp() {
    let gates = [Gate::default(), Gate::default()];
    let chat = Chat::playing([
        say("first").after(&gates[0]),
        say("second").after(&gates[1]),
    ]);
    let gateway = chat.start();
    chat.ana.says("one");
    chat.model.wait_for_requests(1);
    chat.whatsapp.set_connected(false);
    gates[0].open();
    chat.whatsapp.wait_for_command("send", 1);
    chat.whatsapp.set_connected(true);
    chat.whatsapp.wait_for(&chat.ana, "first");

    chat.ana.says("two");
    chat.model.wait_for_requests(2);
    let clients = chat.whatsapp.clients();
    chat.whatsapp.go_offline();
    gates[1].open();
    gateway.wait_for_log("reconnecting");
    chat.whatsapp.go_online();
    chat.whatsapp.wait_for_clients(clients + 1);
    chat.whatsapp.wait_for(&chat.ana, "second");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["first", "second"]);
}

#[test]
fn an_odd_error_and_a_broken_connection_lose_no_message() {
    let chat = Chat::playing([say("first"), say("second"), say("third")]);
    let gateway = chat.start();
    for (fault, words) in [
        (Fault::Odd, "first"),
        (Fault::Cut, "second"),
        (Fault::TooMuch, "third"),
    ] {
        chat.whatsapp.fail_next(fault);
        chat.ana.says("go on");
        chat.whatsapp.wait_for(&chat.ana, words);
    }
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["first", "second", "third"]);
}

/// The bridge gives messages no id before they are sent, so a repetition cannot be recognised.
#[test]
fn a_lost_answer_repeats_a_message_and_never_loses_it() {
    let chat = Chat::playing([say("once")]);
    let gateway = chat.start();
    chat.whatsapp.fail_next(Fault::LostAnswer);
    chat.ana.says("go on");
    crate::harness::wait_until("a repetition", || chat.texts().len() == 2);
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["once", "once"]);
}

#[test]
fn a_group_has_the_role_that_it_is_given_and_the_bot_answers_when_it_is_named() {
    let chat = Chat::playing([say("At your service.")])
        .set("roles", json!({"120363-9@g.us": "user"}))
        .set("mentionNames", json!(["@4170000", "crab"]));
    let (ours, other) = (
        chat.whatsapp.group("120363-9"),
        chat.whatsapp.group("120363-8"),
    );
    let gateway = chat.start();
    ours.says("nobody in particular");
    other.says("crab, are you there?");
    ours.says("@4170000 /sh id");
    chat.whatsapp.wait_for(&ours, "owner");
    ours.says("Crab, what is it?");
    chat.whatsapp.wait_for(&ours, "At your service.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.model.requests().len(), 1);
    assert!(chat.whatsapp.messages(&other).is_empty());
}

#[test]
fn a_group_cannot_be_an_owner() {
    for (key, value) in [
        ("allowFrom", json!(["4179111", "120363-9@g.us"])),
        ("roles", json!({"120363-9@g.us": "owner"})),
        ("allowFrom", json!(["+4179111"])),
        ("bridgeUrl", json!("http://localhost:3001")),
        ("mediaDir", json!("media")),
    ] {
        let chat = Chat::playing([]).set(key, value);
        let checked = chat.run(&["config", "check"]);
        assert_ne!(checked.code, Some(0), "{key}: {}", checked.stdout);
    }
}

#[test]
fn a_later_bridge_delivers_files_from_its_folder_and_from_nowhere_else() {
    let media = tempfile::tempdir().unwrap();
    let folder = media.path().join("media");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("wa_1.png"), "picture").unwrap();
    std::fs::write(media.path().join("secret.png"), "secret").unwrap();
    let chat = Chat::playing([say("I see.")]).set("mediaDir", json!(folder));
    let gateway = chat.start();
    let paths = [folder.join("wa_1.png"), media.path().join("secret.png")];
    chat.whatsapp.tells(&json!({
        "type": "message", "id": "A1", "sender": chat.ana.jid, "pn": "", "content": "look",
        "timestamp": 1_900_000_000, "isGroup": false, "media": paths,
    }));
    chat.whatsapp.wait_for(&chat.ana, "I see.");
    gateway.stop().ends_with(0);
    let requests = chat.model.requests();
    let asked = requests[0].messages().last().unwrap()["content"].to_string();
    assert!(
        asked.contains("wa_1.png") && asked.contains("could not be fetched"),
        "{asked}"
    );
    let inbox = chat.home.workspace("inbox");
    let files = std::fs::read_dir(inbox).unwrap().flatten();
    let contents: Vec<String> = files
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .collect();
    assert_eq!(contents, ["picture"]);
}

#[test]
fn a_login_draws_the_code_and_ends_when_the_phone_has_scanned_it() {
    let chat = Chat::playing([]);
    let program = Program::new(&chat.home).args(["channels", "login", "whatsapp"]);
    let login = Gateway::of(program);
    chat.whatsapp.wait_for_command("peacrab-probe", 1);
    chat.whatsapp.shows_code("2@first,code,of,two");
    chat.whatsapp
        .shows_code(&format!("2@{}", "abc+/DEF".repeat(29)));
    chat.whatsapp.set_connected(true);
    let output = login.finish().ends_with(0);
    let shown = output.stdout;
    assert!(
        shown.contains("Linked devices") && shown.contains("WhatsApp is linked."),
        "{shown}"
    );
    let blocks = shown
        .lines()
        .filter(|line| line.contains('▀') || line.contains('▄') || line.contains("##"));
    assert!(blocks.count() > 30, "{shown}");
}
