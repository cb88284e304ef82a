//! The web page between several people and tabs: what counts once, and who loses what.

use std::fs;
use std::io::Read;

use serde_json::json;

use super::Door;
use super::page::{Browser, home, link};
use crate::harness::gate::Gate;
use crate::harness::home::Home;
use crate::harness::model::{Model, call, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::Telegram;
use crate::harness::wait_until;

#[test]
fn a_choice_is_made_once_and_shown_in_every_tab() {
    let asked = json!({"content": "Pick one", "buttons": [["A*", "B"]]});
    let model = Model::playing([call("message", asked), say("I wait."), say("Fine.")]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let other = Browser::sign_in(&door, &link(&telegram, &ana));
    let (mut look, mut tab) = (browser.look("main"), other.look("main"));
    browser.says("ask me");
    let asked = look.message("Pick one");
    look.message("I wait.");
    let press = |browser: &Browser<'_>, at: usize| {
        let data = &asked["buttons"][0][at]["data"];
        let body = json!({"message": asked["id"], "data": data});
        browser.post("/page/chats/main/presses", &body).json()
    };
    assert_eq!(press(&browser, 0)["ok"], true);
    for (browser, at) in [(&browser, 0), (&other, 1)] {
        assert_eq!(press(browser, at)["notice"], "Already answered.");
    }
    for look in [&mut look, &mut tab] {
        let shown = look.message("✓ A\\*");
        assert_eq!(
            (&shown["id"], &shown["buttons"]),
            (&asked["id"], &json!([]))
        );
        look.message("Fine.");
    }
    assert_eq!(model.requests().len(), 3);
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_message_that_is_sent_again_after_a_kill_is_shown_once() {
    let model = Model::playing([say("Hello.")]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let mut look = browser.look("main");
    browser.says("greet me");
    look.message("Hello.");
    wait_until("the end of the turn", || {
        door.gateway.log().contains("turn answered")
    });
    let cookie = browser.cookie;
    door.gateway.kill();
    let door = Door::start(&home);
    let browser = Browser {
        door: &door,
        cookie,
    };
    browser.says("greet me");
    let all = browser.look("main").until(|event| event["reset"] == true);
    assert_eq!(all.to_string().matches("greet me").count(), 1, "{all}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn links_are_made_in_private_chats_alone() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let group = telegram.group(-900, "Home");
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    ana.says_in(group, "/web@peacrab_bot");
    telegram.wait_for_message(group, |message| message.text.contains("private chat"));
    let mut look = browser.look("main");
    browser.says("/web");
    look.message("only in a chat");
    let all = browser.look("main").until(|event| event["reset"] == true);
    let said = format!("{all}{:?}", telegram.messages(group));
    assert!(!said.contains("sign-in#"), "{said}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_name_lets_in_only_the_person_who_has_it() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let mut home = home(&model, &telegram);
    home.set("/channels/telegram/allowFrom", json!(["@anaxx"]));
    let named = telegram.person(5005, "Ana", Some("anaxx"));
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &named));
    let mut look = browser.look("main");
    assert_eq!(browser.get("/page/me").json()["role"], "owner");
    let renamed = telegram.person(5005, "Ana", Some("renamed"));
    renamed.says("hello");
    wait_until("the end of the access", || {
        browser.get("/page/me").json()["signed"] == false
    });
    let mut rest = String::new();
    look.stream.read_to_string(&mut rest).unwrap();
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_file_that_cannot_be_stored_is_refused_with_the_reason() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    for (path, status) in [
        (".outgoing/x", 409),
        ("../evil.txt", 409),
        ("a/../../../x", 409),
        (&"n".repeat(300), 400),
    ] {
        let file = json!({"path": path, "data": "aGk="});
        let reply = browser.post("/page/files", &file);
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
        assert!(!reply.body.contains("try again later"), "{}", reply.body);
    }
    assert!(!home.workspace("a").exists() && !home.workspace(".outgoing/x").exists());
    assert_eq!(browser.get("/page/files/missing.txt").status, 404);
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_file_of_the_page_waits_for_a_command_outside_the_sandbox() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let mut home = home(&model, &telegram);
    let (begun, go) = (home.workspace("begun"), home.workspace("go"));
    let wait = format!(
        "touch '{}'; while [ ! -e '{}' ]; do sleep 0.05; done; cat '{}' 2>&1",
        begun.display(),
        go.display(),
        home.workspace("notes.txt").display()
    );
    home.set(
        "/commands",
        json!({"deploy": {"run": wait, "where": "host"}}),
    );
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let file = json!({"path": "notes.txt", "data": "ZXZpbA=="});
    let store = || browser.post("/page/files", &file).status;
    ana.says("/deploy");
    wait_until("the command", || begun.exists());
    assert!(store() >= 400 && !home.workspace("notes.txt").exists());
    fs::write(&go, "").unwrap();
    wait_until("the file to be stored", || store() == 200);
    let said = telegram.messages(ana.chat()).into_iter();
    let said: Vec<String> = said.map(|message| message.text).collect();
    assert!(!said.concat().contains("evil"), "{said:?}");
    door.gateway.stop().ends_with(0);
}

fn run(home: &Home, words: &[&str]) -> Output {
    Program::new(home).args(words).run()
}

#[test]
fn who_is_removed_or_gets_another_role_sees_nothing_more_of_an_open_chat() {
    let gates = [Gate::default(), Gate::default()];
    let model = Model::answering({
        let gates = gates.clone();
        move |request| {
            let gate = &gates[usize::from(request.last_message().contains("second"))];
            say("one two three four five six seven eight nine ten").after(gate)
        }
    });
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let ben = telegram.person(1002, "Ben", None);
    let mut home = home(&model, &telegram);
    home.set("/channels/telegram/allowFrom", json!(["1001"]));
    let door = Door::start(&home);
    ben.says("hello");
    let told = telegram.wait_for_message(ben.chat(), |message| message.text.contains("pair"));
    let code = told
        .text
        .split_whitespace()
        .map(|word| word.trim_matches('`'));
    let is_paired = |code: &str| run(&home, &["channels", "pair", code]).code == Some(0);
    assert!(
        code.filter(|word| word.len() >= 6).any(is_paired),
        "{}",
        told.text
    );
    let owner = Browser::sign_in(&door, &link(&telegram, &ana));
    let paired = Browser::sign_in(&door, &link(&telegram, &ben));
    let (mut looks, chats) = ([owner.look("main"), paired.look("main")], [&owner, &paired]);
    for (look, (browser, text)) in looks.iter_mut().zip(chats.iter().zip(["first", "second"])) {
        look.until(|event| event["reset"] == true);
        browser.says(text);
        look.message(text);
    }
    model.wait_for_requests(2);
    run(&home, &["channels", "pair", "--remove", "1002"]).ends_with(0);
    assert_eq!(paired.get("/page/settings").status, 401);
    home.set("/channels/telegram/roles", json!({"1001": "user"}));
    run(&home, &["reload"]).ends_with(0);
    assert_eq!(owner.get("/page/settings").status, 403);
    gates.iter().for_each(Gate::open);
    for mut look in looks {
        let mut rest = String::new();
        look.stream.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("nine"), "{rest}");
    }
    // With the new role a new stream begins, and what was at work with the old one has ended.
    let all = owner.look("main").until(|event| event["reset"] == true);
    let said = all.to_string();
    assert!(said.contains("first") && !said.contains("nine"), "{said}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn four_people_with_many_tabs_leave_room_for_a_fifth() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let mut home = home(&model, &telegram);
    home.set("/channels/telegram/allowFrom", json!(["*"]));
    let door = Door::start(&home);
    let mut looks = Vec::new();
    for id in 1001..1005 {
        let person = telegram.person(id, &format!("P{id}"), None);
        let browser = Browser::sign_in(&door, &link(&telegram, &person));
        for _ in 0..8 {
            let mut look = browser.look("main");
            look.until(|event| event["reset"] == true);
            looks.push(look);
        }
        assert_eq!(browser.get("/page/chats/main/events").status, 429);
    }
    let fifth = telegram.person(1005, "Fifth", None);
    let browser = Browser::sign_in(&door, &link(&telegram, &fifth));
    browser.look("main").until(|event| event["reset"] == true);
    // One of the others' pages had to end: the oldest.
    let mut rest = String::new();
    looks[0].stream.read_to_string(&mut rest).unwrap();
    door.gateway.stop().ends_with(0);
}
