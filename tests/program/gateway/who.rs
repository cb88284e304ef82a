//! Access: allowFrom, and unknown senders who are paired with a code.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::scene::Scene;
use crate::harness::model::{call, say};
use crate::harness::program::Program;
use crate::harness::telegram::{BOT_NAME, Call, Fault};
use crate::harness::terminal::{CTRL_C, Terminal};
use crate::harness::wait_until;

/// The code in what a stranger was told.
fn code(told: &str) -> String {
    let rest = told.split_once("/pair ").unwrap().1;
    rest.chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect()
}

#[test]
fn a_stranger_gets_one_code_and_with_it_is_let_in() {
    let scene = Scene::playing([say("Hello, Bob.")]);
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    bob.says("hello?");
    let told = scene.wait_in(bob.chat(), "/pair");
    assert!(told.text.contains("2002"), "{}", told.text);
    bob.says("/help");
    scene.wait_in(bob.chat(), "You don't have access yet.");
    let third = bob.says("/help");
    scene.telegram.wait_for_offset(third.update);
    assert_eq!(scene.texts_in(bob.chat()).len(), 2);

    scene.ana.says("/pair ABCDEFGH");
    scene.wait_for(
        "Unknown or expired pairing code ABCDEFGH, or it was used. A person without access",
    );
    scene
        .ana
        .says(&format!("/pair {}", code(&told.text).to_lowercase()));
    scene.wait_for("Bob (2002)");
    scene.wait_in(bob.chat(), "You're paired");
    bob.says("hello");
    scene.wait_in(bob.chat(), "Hello, Bob.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 1);
}

/// More strangers than a channel has places for codes, and an invitation that an owner makes in the chat.
#[test]
fn an_invitation_pairs_while_strangers_take_all_codes() {
    let scene = Scene::playing([say("Hello, Bob.")]);
    let gateway = scene.start();
    let mut last = None;
    for number in 0..70 {
        let stranger = scene.telegram.person(5000 + number, "Eve", None);
        last = Some(stranger.says("hello?"));
    }
    scene.telegram.wait_for_offset(last.unwrap().update);
    scene.ana.says("/pair invite nobody");
    scene.wait_for("for example");
    scene.ana.says("/pair invite user");
    let told = scene.wait_for("It works once");
    let code = code(&told.text);
    let group = scene.telegram.group(-1_005, "Home");
    scene
        .ana
        .says_in(group, &format!("@{BOT_NAME} /pair invite"));
    scene.wait_in(group, "in a private chat");
    let bob = scene.telegram.person(2002, "Bob", None);
    bob.says(&format!("/pair {}", code.to_lowercase()));
    scene.wait_in(bob.chat(), "You're paired");
    bob.says("hello");
    scene.wait_in(bob.chat(), "Hello, Bob.");
    let other = scene.telegram.person(2003, "Zoe", None);
    let again = other.says(&format!("/pair {code}"));
    scene.telegram.wait_for_offset(again.update);
    let texts = scene.texts_in(other.chat());
    assert!(
        !texts.iter().any(|text| text.contains("You're paired")),
        "{texts:?}"
    );
    gateway.stop().ends_with(0);
    let file = fs::read_to_string(scene.home.path().join("state/pairing.json")).unwrap();
    assert!(file.contains(r#""role": "user""#), "{file}");
}

#[test]
fn a_person_who_is_paired_while_no_gateway_runs_is_welcomed_by_the_next() {
    let scene = Scene::playing([]);
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    let said = bob.says("hello?");
    let told = scene.wait_in(bob.chat(), "/pair");
    scene.telegram.wait_for_offset(said.update);
    gateway.stop().ends_with(0);
    let code = code(&told.text);
    let pair = Program::new(&scene.home).args(["channels", "pair", &code]);
    let paired = pair.run().ends_with(0);
    assert_eq!(paired.stdout, "Bob (2002) is now paired on Telegram.\n");
    let gateway = scene.start();
    scene.wait_in(bob.chat(), "You're paired");
    gateway.stop().ends_with(0);

    let file = scene.home.path().join("state/pairing.json");
    fs::write(file, "{").unwrap();
    let gateway = scene.start();
    gateway.wait_for_log("pairing.json is damaged, repair or delete it");
    gateway.wait_for_log("ready");
    gateway.stop().ends_with(0);
}

#[test]
fn a_code_that_did_not_reach_the_stranger_is_sent_again() {
    let scene = Scene::playing([]);
    let bob = scene.telegram.person(2002, "Bob", None);
    let to_bob = |call: &Call| call.parameters["chat_id"] == 2002;
    scene.telegram.fail_when(1, Fault::Cut, to_bob);
    let gateway = scene.start();
    bob.says("hello?");
    scene.wait_in(bob.chat(), "/pair");
    gateway.stop().ends_with(0);
}

#[test]
fn strangers_in_groups_and_presses_of_strangers_come_to_nothing() {
    let arguments = json!({"content": "Which one?", "buttons": [["Red", "Blue"]]});
    let scene = Scene::playing([
        call("message", arguments),
        say("I have asked."),
        say("Blue it is."),
    ]);
    let bob = scene.telegram.person(2002, "Bob", None);
    let home = scene.telegram.group(-1_005, "Home");
    let gateway = scene.start();
    let said = bob.says_in(home, &format!("@{BOT_NAME} who are you?"));
    scene.telegram.wait_for_offset(said.update);
    scene.ana.says_in(home, &format!("@{BOT_NAME} ask us"));
    scene.wait_in(home, "I have asked.");
    bob.presses_in(home, "Red");
    let toasts = scene.telegram.wait_for_calls("answerCallbackQuery", 1);
    assert_eq!(toasts[0]["text"], "You don't have access to this bot.");
    scene.ana.presses_in(home, "Blue");
    scene.wait_in(home, "Blue it is.");
    gateway.stop().ends_with(0);
    let texts = scene.texts_in(home);
    assert_eq!(
        texts,
        ["Which one?\n✓ Blue (Ana)", "I have asked.", "Blue it is."]
    );
    assert!(
        scene.asked(2).contains("[Ana] [button] Blue"),
        "{}",
        scene.asked(2)
    );
}

#[test]
fn a_strangers_name_is_no_markup_in_our_words() {
    let scene = Scene::playing([]);
    let name = "[Settings](https://evil.example) **x**\u{202e}\u{200b} t.me/evil";
    let eve = scene.telegram.person(2002, name, None);
    let gateway = scene.start();
    eve.says("hello?");
    let told = scene.wait_in(eve.chat(), "/pair");
    scene.ana.says(&format!("/pair {}", code(&told.text)));
    let told = scene.wait_for("is now paired");
    let shown = "(Settings)(https://evil.example) **x** t.me/evil";
    assert_eq!(
        told.text,
        format!("{shown} (2002) is now paired on Telegram.")
    );
    assert!(
        told.html.starts_with(&format!("<code>{shown}</code> (")),
        "{}",
        told.html
    );
    gateway.stop().ends_with(0);
}

#[test]
fn names_and_everyone_can_be_allowed() {
    for (allowed, is_let_in) in [("@Bob_B", true), ("*", true), ("@bob", false)] {
        let scene = Scene::answering(|_| say("Hello.")).set("allowFrom", json!([allowed]));
        let bob = scene.telegram.person(2002, "Bob", Some("bob_b"));
        let gateway = scene.start();
        bob.says("hello");
        let words = if is_let_in { "Hello." } else { "/pair" };
        scene.wait_in(bob.chat(), words);
        gateway.stop().ends_with(0);
    }
}

/// What a person at the terminal is told is what they need: the bot, who has access, and the next step; and
/// the command in the bot's text is one that works.
#[test]
fn the_gateway_at_a_terminal_says_what_to_do_next() {
    let scene = Scene::playing([say("Hello, Bob.")]).set("allowFrom", json!([]));
    let bob = scene.telegram.person(2002, "Bob", None);
    let mut terminal = Terminal::start(&scene.home, &["gateway"]);
    terminal.wait_for(&format!("Listening as @{BOT_NAME} on Telegram."));
    terminal
        .wait_for("No one has access yet: send the bot a message, then run the command it replies");
    terminal.wait_for("Press Ctrl-C to stop.");
    bob.says("hello?");
    let sent = scene.wait_in(bob.chat(), "channels pair");
    let command = sent
        .text
        .lines()
        .find(|line| line.contains("channels pair"));
    let command = command.unwrap().trim();
    let home = scene.home.path().canonicalize().unwrap();
    assert!(
        command.contains(&format!("--home {}", home.display())),
        "{command}"
    );
    let code = command.rsplit(' ').next().unwrap();

    let waiting = Program::new(&scene.home).args(["channels", "pair"]).run();
    for part in [
        "Waiting for approval:\n  Bob (2002) on Telegram, code ",
        "valid for 10 minutes",
        &format!("channels pair {code}\n"),
    ] {
        assert!(
            waiting.stdout.contains(part),
            "{part:?} in {}",
            waiting.stdout
        );
    }
    let ran = Command::new("sh").args(["-c", command]).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(
        printed, "Bob (2002) is now paired on Telegram.\n",
        "{ran:?}"
    );
    scene.wait_in(bob.chat(), "You're paired");
    let paired = Program::new(&scene.home).args(["channels", "pair"]).run();
    assert!(
        paired
            .stdout
            .starts_with("Paired:\n  Bob (2002) on Telegram, since "),
        "{}",
        paired.stdout
    );
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());

    let mut terminal = Terminal::start(&scene.home, &["gateway"]);
    terminal.wait_for("Access: Bob (2002).");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn a_message_that_waits_for_an_attempt_is_shown_with_its_time_and_its_cause() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let status = || {
        let output = Program::new(&scene.home).args(["channels", "status"]).run();
        output.ends_with(0).stdout
    };
    gateway.wait_for_log("ready");
    scene
        .telegram
        .fail_in(scene.ana.chat(), usize::MAX, Fault::InternalError);
    scene.ana.says("/id");
    let waits = "\ntelegram: a message to telegram:1001 has been waiting since 20";
    wait_until("what waits", || status().contains(waits));
    let told = status();
    assert!(told.contains("next attempt in "), "{told}");
    assert!(!told.contains("no problems"), "{told}");
    // A start that has not tried yet knows it from the disk.
    let outbox = fs::read_to_string(scene.home.path().join("outbox.jsonl")).unwrap();
    assert!(outbox.contains("\"failing\""), "{outbox}");
    scene.telegram.heal_in(scene.ana.chat());
    scene.wait_for("1001");
    wait_until("no more", || status().contains("telegram: no problems"));
    scene
        .telegram
        .fail_next("sendMessage", Fault::TooManyRequests { retry_after: 3 });
    scene.ana.says("/id");
    let limited = "a message to telegram:1001 has been waiting";
    wait_until("a limit", || {
        let told = status();
        told.contains(limited) && told.contains("rate-limited")
    });
    gateway.stop().ends_with(0);
}

#[test]
fn an_outage_is_shown_with_its_time_and_its_cause() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let status = || Program::new(&scene.home).args(["channels", "status"]).run();
    scene.ana.says("/id");
    scene.wait_for("1001");
    let output = status();
    assert!(
        output.stdout.contains("\ntelegram: no problems\n"),
        "{}",
        output.stdout
    );
    scene.telegram.go_offline();
    gateway.wait_for_log("failed to receive from Telegram");
    let output = status();
    assert!(
        output
            .stdout
            .contains("\ntelegram: cannot receive since 20"),
        "{}",
        output.stdout
    );
    scene.telegram.go_online();
    gateway.wait_for_log("can receive from Telegram again");
    let output = status();
    assert!(
        output.stdout.contains("telegram: no problems"),
        "{}",
        output.stdout
    );
    gateway.stop().ends_with(0);
    let output = status();
    assert!(
        output.stderr.contains("No gateway is running."),
        "{}",
        output.stderr
    );
    output.ends_with(1);
}
