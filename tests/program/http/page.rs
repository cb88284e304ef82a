//! The web page: signing in by a link of the bot, and the chat as the person who asked for it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Door, Reply, request};
use crate::harness::PATIENCE;
use crate::harness::gate::Gate;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, call, say};
use crate::harness::telegram::{Person, Telegram};
use crate::harness::wait_until;

const OWN: &str = "X-Peacrab-Page: 1\r\nContent-Type: application/json\r\n";

/// A home with Telegram and the page; Ana (1001) is the owner.
pub(super) fn home(model: &Model, telegram: &Telegram) -> Home {
    let mut home = Home::with_telegram(model, telegram);
    home.set("/http", json!({"enabled": true, "listen": "127.0.0.1:0"}));
    home
}

/// Asks the bot for a link, and returns its secret.
pub(super) fn link(telegram: &Telegram, person: &Person) -> String {
    let before = telegram.messages(person.chat()).len();
    person.says("/web");
    wait_until("the link", || {
        let messages = telegram.messages(person.chat());
        let mut new = messages.iter().skip(before);
        new.any(|message| message.text.contains("/sign-in#"))
    });
    let messages = telegram.messages(person.chat());
    let message = messages
        .iter()
        .rev()
        .find(|message| message.text.contains("/sign-in#"));
    let text = &message.unwrap().text;
    let secret = text.split("/sign-in#").nth(1).unwrap();
    secret.split_whitespace().next().unwrap().to_owned()
}

/// A browser, with the cookie that it was given.
pub(super) struct Browser<'a> {
    pub door: &'a Door,
    pub cookie: String,
}

impl<'a> Browser<'a> {
    pub fn sign_in(door: &'a Door, secret: &str) -> Self {
        let reply = post(door, "/page/sign-in", "", OWN, &json!({"code": secret}));
        assert_eq!(reply.status, 200, "{}", reply.body);
        let set = reply.head.split("Set-Cookie: ").nth(1).unwrap();
        for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(set.contains(word), "{set}");
        }
        let cookie = set.split(';').next().unwrap().to_owned();
        Self { door, cookie }
    }

    pub fn get(&self, path: &str) -> Reply {
        let cookie = format!("Cookie: {}\r\n", self.cookie);
        self.door.raw(&request("GET", path, "", &cookie, ""))
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        post(self.door, path, &self.cookie, OWN, body)
    }

    pub fn says(&self, text: &str) {
        let body = json!({"id": format!("{text}-1"), "text": text});
        // A gateway that starts takes nothing at first.
        wait_until("it to be accepted", || {
            let reply = self.post("/page/chats/main/messages", &body);
            assert!(matches!(reply.status, 200 | 503), "{}", reply.body);
            reply.status == 200
        });
    }

    pub fn look(&self, chat: &str) -> Look {
        let mut stream = self.door.connect();
        let cookie = format!("Cookie: {}\r\n", self.cookie);
        let path = format!("/page/chats/{chat}/events");
        let asked = request("GET", &path, "", &cookie, "");
        stream.write_all(asked.as_bytes()).unwrap();
        let got = String::new();
        Look { stream, got }
    }
}

fn post(door: &Door, path: &str, cookie: &str, headers: &str, body: &Value) -> Reply {
    let cookie = match cookie {
        "" => String::new(),
        cookie => format!("Cookie: {cookie}\r\n"),
    };
    let headers = format!("{cookie}{headers}");
    door.raw(&request("POST", path, "", &headers, &body.to_string()))
}

/// A page that looks at a chat.
pub(super) struct Look {
    pub stream: TcpStream,
    got: String,
}

impl Look {
    /// Reads events until one is as it should be; returns it.
    pub fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut buffer = [0; 4096];
        let begun = Instant::now();
        loop {
            // Signs of life come all the time.
            assert!(begun.elapsed() < PATIENCE, "{}", self.got);
            while let Some((event, rest)) = self.got.split_once("\n\n") {
                let data = event.split("data: ").nth(1).map(str::to_owned);
                self.got = rest.to_owned();
                let Some(data) = data else { continue };
                let event: Value = serde_json::from_str(&data).unwrap();
                if is_it(&event) {
                    return event;
                }
            }
            let count = self.stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the stream has ended: {}", self.got);
            self.got
                .push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }

    /// Waits for a message with this text; returns it.
    pub fn message(&mut self, text: &str) -> Value {
        let find = |event: &Value| {
            let messages = event["messages"].as_array().into_iter().flatten();
            let mut found =
                messages.filter(|one| one["text"].as_str().is_some_and(|it| it.contains(text)));
            found.next_back().cloned()
        };
        let event = self.until(|event| find(event).is_some());
        find(&event).unwrap()
    }
}

#[test]
fn a_link_signs_in_once_and_a_guess_does_not() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let secret = link(&telegram, &ana);
    // A preview of the link changes nothing.
    let page = door.get("/sign-in", "");
    assert!(page.status == 200 && page.body.contains("/page/app.js"));
    for policy in ["default-src 'none'", "frame-ancestors 'none'"] {
        assert!(page.head.contains(policy), "{}", page.head);
    }
    let guess = json!({"code": "0".repeat(64)});
    assert_eq!(post(&door, "/page/sign-in", "", OWN, &guess).status, 403);
    let browser = Browser::sign_in(&door, &secret);
    let again = json!({"code": secret});
    assert_eq!(post(&door, "/page/sign-in", "", OWN, &again).status, 403);
    let me = browser.get("/page/me").json();
    assert_eq!(
        (&me["signed"], &me["role"]),
        (&json!(true), &json!("owner"))
    );
    assert_eq!(me["name"], "Ana");
    let wrong = Browser {
        door: &door,
        cookie: format!("peacrab={}", "0".repeat(64)),
    };
    assert_eq!(wrong.get("/page/me").json()["signed"], false);
    assert_eq!(wrong.get("/page/chats/main/events").status, 401);
    // What the page may do is no other program's: a cookie is no token.
    assert_eq!(browser.get("/status.json").status, 401);
    ana.says("/web off");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("Signed out"));
    assert_eq!(browser.get("/page/me").json()["signed"], false);
    let cookie = browser.cookie;
    let output = door.gateway.stop().ends_with(0);
    let state = fs::read_to_string(home.path().join("state/pairing.json")).unwrap_or_default();
    for told in [&output.stderr, &state] {
        assert!(!told.contains(&secret) && !told.contains(&browser_secret(&cookie)));
    }
}

fn browser_secret(cookie: &str) -> String {
    cookie.split_once('=').unwrap().1.to_owned()
}

#[test]
fn an_answer_grows_on_the_page_and_is_there_when_it_is_opened_again() {
    let gate = Gate::default();
    let text = "one two three four five six seven eight nine ten";
    let model = Model::playing([
        call("list_dir", json!({"path": "."})),
        say(text).in_pieces(10).pausing_at(&gate),
        say("later"),
    ]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let mut look = browser.look("main");
    look.until(|event| event["reset"] == true);
    browser.says("count");
    assert_eq!(look.message("count")["own"], true);
    look.until(|event| {
        let draft = event["draft"].as_str().unwrap_or_default();
        draft.contains("list_dir") && draft.contains("one") && !draft.contains("nine")
    });
    // The page is closed while the answer is being written, which stops nothing.
    drop(look);
    gate.open();
    wait_until("the end of the turn", || {
        door.gateway.log().contains("turn answered")
    });
    browser.look("main").message("nine ten");
    let mut look = browser.look("main");
    let all = look.until(|event| event["reset"] == true);
    assert_eq!(all["messages"].as_array().unwrap().len(), 2, "{all}");
    // The same message again, for want of an answer to it, is not another one.
    browser.says("count");
    // A command of the chat.
    browser.says("/status");
    look.message("Conversation");
    drop(look);
    assert_eq!(model.requests().len(), 2);
    let cookie = browser.cookie;
    door.gateway.stop().ends_with(0);
    // After a restart the journal has it.
    let door = Door::start(&home);
    let browser = Browser {
        door: &door,
        cookie,
    };
    let all = browser.look("main").until(|event| event["reset"] == true);
    let said = all["messages"].to_string();
    assert!(said.contains("count") && said.contains("ten"), "{said}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_question_that_was_accepted_survives_a_kill_and_so_does_the_browser() {
    let gate = Gate::default();
    let model = Model::playing([say("never").after(&gate), say("After all.")]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let secret = link(&telegram, &ana);
    door.gateway.kill();
    let door = Door::start(&home);
    let cookie = Browser::sign_in(&door, &secret).cookie;
    door.gateway.kill();
    let door = Door::start(&home);
    let browser = Browser {
        door: &door,
        cookie: cookie.clone(),
    };
    browser.says("remember the milk");
    model.wait_for_requests(1);
    door.gateway.kill();
    gate.open();
    let door = Door::start(&home);
    let browser = Browser {
        door: &door,
        cookie,
    };
    let mut look = browser.look("main");
    look.message("After all.");
    door.gateway.stop().ends_with(0);
}

#[test]
fn an_approval_has_buttons_and_is_for_the_page_that_shows_it() {
    let escalated = json!({"command": "id", "escalate": true, "reason": "a test"});
    let model = Model::playing([
        call("exec", escalated.clone()),
        say("Refused."),
        call("exec", escalated),
        say("I may not."),
    ]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let ben = telegram.person(1002, "Ben", None);
    let mut home = home(&model, &telegram);
    home.set("/channels/telegram/allowFrom", json!(["1001"]));
    home.set("/channels/telegram/roles", json!({"1002": "user"}));
    let door = Door::start(&home);
    let owner = Browser::sign_in(&door, &link(&telegram, &ana));
    let user = Browser::sign_in(&door, &link(&telegram, &ben));
    assert_eq!(user.get("/page/me").json()["role"], "user");
    let mut look = owner.look("main");
    owner.says("run id");
    let asked = look.until(|event| event["messages"].to_string().contains("Deny"));
    let messages = asked["messages"].as_array().unwrap();
    let asked = messages
        .iter()
        .find(|one| one["buttons"] != json!([]))
        .unwrap();
    let buttons: Vec<&Value> = asked["buttons"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .collect();
    let deny = buttons.iter().find(|one| one["label"] == "Deny").unwrap();
    let press = json!({"message": asked["id"], "data": deny["data"]});
    // Neither in another person's chat nor in another conversation is there such a button.
    for (browser, chat) in [(&user, "main"), (&owner, "other")] {
        let reply = browser.post(&format!("/page/chats/{chat}/presses"), &press);
        assert_eq!(reply.status, 404, "{}", reply.body);
    }
    let mut others = user.look("main");
    let seen = others.until(|event| event["reset"] == true).to_string();
    assert!(!seen.contains("run id"), "{seen}");
    let reply = owner.post("/page/chats/main/presses", &press);
    assert_eq!(reply.status, 200, "{}", reply.body);
    look.message("Refused.");
    // A user's approval is asked of the owner, in the chat in which they wrote last, which is never the page.
    user.says("run id");
    telegram.wait_for_message(ana.chat(), |message| {
        message.markup.is_some() && message.text.contains("Ben")
    });
    ana.presses("Deny");
    others.message("I may not.");
    door.gateway.stop().ends_with(0);
}

#[test]
fn who_loses_their_access_is_signed_out_and_a_stream_ends() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let mut look = browser.look("main");
    look.until(|event| event["reset"] == true);
    let pairing = home.path().join("state/pairing.json");
    let mut state: Value = serde_json::from_str(&fs::read_to_string(&pairing).unwrap()).unwrap();
    state["browsers"] = json!([]);
    fs::write(&pairing, state.to_string()).unwrap();
    let said = json!({"id": "1", "text": "hello"});
    let reply = browser.post("/page/chats/main/messages", &said);
    assert_eq!(reply.status, 401, "{}", reply.body);
    // The next sign of life finds out.
    let mut rest = String::new();
    look.stream.read_to_string(&mut rest).unwrap();
    assert_eq!(model.requests().len(), 0);
    door.gateway.stop().ends_with(0);
}

#[test]
fn nothing_but_the_page_itself_can_use_its_cookie() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let mut home = home(&model, &telegram);
    home.set("/http/origins", json!(["https://app.example"]));
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let body = json!({"id": "1", "text": "hello"});
    let say = |headers: &str| {
        let path = "/page/chats/main/messages";
        post(&door, path, &browser.cookie, headers, &body).status
    };
    for headers in [
        "",
        "X-Peacrab-Page: 1\r\n",
        "X-Peacrab-Page: 1\r\nContent-Type: text/plain\r\n",
        "Content-Type: application/json\r\n",
        &format!("{OWN}Origin: http://evil.example\r\n"),
        &format!("{OWN}Origin: https://app.example\r\n"),
        &format!("{OWN}Origin: null\r\n"),
        &format!("{OWN}Sec-Fetch-Site: cross-site\r\n"),
        &format!("{OWN}Sec-Fetch-Site: same-site\r\n"),
    ] {
        assert_eq!(say(headers), 403, "{headers}");
    }
    // Such a page may ask whether it may, and hears that it may not.
    let asked = "Origin: https://app.example\r\n";
    let reply = door.raw(&request(
        "OPTIONS",
        "/page/chats/main/messages",
        "",
        asked,
        "",
    ));
    assert!(!reply.head.contains("Access-Control"), "{}", reply.head);
    assert_eq!(model.requests().len(), 0);
    assert_eq!(
        browser.post("/page/chats/..%2fmain/messages", &body).status,
        404
    );
    assert_eq!(
        browser
            .get("/page/chats/main/files/../../config.json")
            .status,
        404
    );
    assert_eq!(browser.get("/page/nothing").status, 404);
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_file_comes_along_and_one_of_the_agents_can_be_loaded() {
    let model = Model::playing([
        call(
            "write_file",
            json!({"path": "notes.txt", "content": "the notes"}),
        ),
        call(
            "message",
            json!({"content": "Here.", "media": ["notes.txt"]}),
        ),
        say("Sent."),
    ]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let mut look = browser.look("main");
    let file = json!({"name": "milk.txt", "data": "bWlsaw=="});
    let body = json!({"id": "1", "text": "look", "files": [file]});
    assert_eq!(browser.post("/page/chats/main/messages", &body).status, 200);
    // It may come along with the words, or alone.
    let file_of = |event: &Value| {
        let messages = event["messages"].as_array()?;
        let mut files = messages.iter().map(|one| &one["file"]);
        files.find(|file| file.is_object()).cloned()
    };
    let event = look.until(|event| file_of(event).is_some());
    let sent = file_of(&event).unwrap();
    assert_eq!(sent["name"], "notes.txt");
    let path = |chat: &str| format!("/page/chats/{chat}/files/{}", sent["id"].as_str().unwrap());
    let loaded = browser.get(&path("main"));
    assert_eq!((loaded.status, loaded.body.as_str()), (200, "the notes"));
    assert!(
        loaded
            .head
            .contains("attachment; filename*=UTF-8''notes.txt")
    );
    assert_eq!(browser.get(&path("other")).status, 404);
    let said = model.requests()[0].body["messages"].to_string();
    assert!(said.contains("milk.txt"), "{said}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_guest_sees_nothing_of_the_board_and_files_are_the_owners() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let people = [(1001, "owner"), (1002, "user"), (1003, "guest")];
    let mut home = home(&model, &telegram);
    let roles = json!({"1002": "user", "1003": "guest"});
    home.set("/channels/telegram/roles", roles);
    fs::write(home.workspace("notes.txt"), "the notes").unwrap();
    let door = Door::start(&home);
    for (id, role) in people {
        let person = telegram.person(id, role, None);
        let browser = Browser::sign_in(&door, &link(&telegram, &person));
        assert_eq!(browser.get("/page/me").json()["role"], role);
        let may = |least: &str| match role {
            "guest" => false,
            "user" => least == "user",
            _ => true,
        };
        for (path, least) in [
            ("board/600", "user"),
            ("reports/usage", "user"),
            ("usage", "user"),
            ("reports/watch", "owner"),
            ("audit", "owner"),
            ("settings", "owner"),
            ("folders/", "owner"),
            ("files/notes.txt", "owner"),
        ] {
            let reply = browser.get(&format!("/page/{path}"));
            assert_eq!(
                reply.status == 200,
                may(least),
                "{role}: {path}: {}",
                reply.body
            );
        }
        let file = json!({"path": format!("{role}.txt"), "data": "aGk="});
        assert_eq!(
            browser.post("/page/files", &file).status == 200,
            may("owner"),
            "{role}"
        );
        // No other command is a report.
        assert!(browser.get("/page/reports/restart").status != 200);
    }
    door.gateway.stop().ends_with(0);
}

#[test]
fn the_board_the_work_and_the_files_are_shown() {
    let model = Model::playing([say("Hello.")]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let mut home = home(&model, &telegram);
    let prices = json!({"fake-*": {"input": 10_000, "output": 100_000}});
    home.set("/providers/fake/prices", prices);
    fs::create_dir(home.workspace("folder")).unwrap();
    let secret = home.path().join("config.json");
    std::os::unix::fs::symlink(&secret, home.workspace("leak.json")).unwrap();
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let board = browser.get("/page/board/3600").json();
    let curves = board["curves"].as_array().unwrap();
    assert!(
        curves.iter().any(|curve| curve["name"] == "memory"),
        "{board}"
    );
    assert!(
        board["status"].as_str().unwrap().contains("Memory"),
        "{board}"
    );
    wait_until("the agent", || {
        browser.get("/page/reports/status").json()["text"].is_string()
    });
    for (name, words) in [
        ("status", "Gateway"),
        ("usage", "No requests"),
        ("cron", "job"),
        ("watch", ""),
    ] {
        let report = browser.get(&format!("/page/reports/{name}")).json();
        let text = report["text"].as_str().unwrap();
        assert!(!text.is_empty() && text.contains(words), "{name}: {text}");
    }
    browser.says("hello");
    browser.look("main").message("Hello.");
    wait_until("the cost of today", || {
        let days = browser.get("/page/usage").json();
        let days = days.as_array().unwrap();
        let today = days.last().unwrap();
        assert_eq!((days.len(), &days[0]["tokens"]), (30, &json!(0)));
        (&today["tokens"], &today["cost"]) == (&json!(110), &json!(2.0))
    });
    let settings = browser.get("/page/settings").json();
    let setting = |path: &str| {
        let all = settings.as_array().unwrap();
        let one = all.iter().find(|one| one["path"] == path);
        one.unwrap_or_else(|| panic!("{path}: {settings}")).clone()
    };
    let enabled = setting("http.enabled");
    assert_eq!(
        (&enabled["value"], &enabled["default"]),
        (&json!("true"), &json!("false"))
    );
    assert!(!enabled["meaning"].as_str().unwrap().is_empty());
    assert_eq!(setting("log.level")["value"], Value::Null, "the default");
    // A secret is set, and that is all that is shown of it.
    assert!(setting("channels.telegram.token")["value"].is_string());
    let config = fs::read_to_string(home.path().join("config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    let token = config["channels"]["telegram"]["token"].as_str().unwrap();
    assert!(token.len() > 8 && !settings.to_string().contains(token));
    let file = |overwrite: bool, data: &str| {
        let body = json!({"path": "folder/a b.txt", "data": data, "overwrite": overwrite});
        browser.post("/page/files", &body).status
    };
    assert_eq!(file(false, "aGk="), 200);
    assert_eq!(file(false, "aG8="), 409, "it is there");
    assert_eq!(file(true, "aG8="), 200);
    let listed = browser.get("/page/folders/folder").json();
    assert_eq!(listed["names"][0]["name"], "a b.txt");
    assert_eq!(browser.get("/page/files/folder%2Fa%20b.txt").body, "ho");
    // The sandbox of the file tools decides what a path may reach.
    for path in ["..%2Fconfig.json", "%2Fetc%2Fpasswd", "leak.json"] {
        let reply = browser.get(&format!("/page/files/{path}"));
        assert!(reply.status != 200, "{path}: {}", reply.body);
    }
    let bad = json!({"path": "../evil.txt", "data": "aGk="});
    assert!(browser.post("/page/files", &bad).status != 200);
    assert!(!home.path().join("evil.txt").exists());
    door.gateway.stop().ends_with(0);
}

#[test]
fn where_there_is_no_address_the_bot_says_what_to_set() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let mut home = Home::with_telegram(&model, &telegram);
    let socket = format!("unix:{}", home.path().join("http.sock").display());
    for (http, setting) in [
        (json!({}), "http.enabled"),
        (json!({"enabled": true, "listen": socket}), "http.hosts"),
    ] {
        home.set("/http", http);
        let gateway = Gateway::start(&home);
        ana.says("/web");
        telegram.wait_for_message(ana.chat(), |message| message.text.contains(setting));
        gateway.stop().ends_with(0);
    }
}

#[test]
fn what_a_review_has_refused_is_never_an_answer_on_the_page() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::answering(move |request| {
        let text = request.body["messages"].to_string();
        let is_review = text.contains("You check the answer");
        match (is_review, text.contains("A reviewer has read")) {
            (true, _) => match text.split("# The answer").nth(1) {
                Some(answer) if answer.contains("One milk") => say("HOLDS"),
                _ => say("FAILS: there is one."),
            },
            (false, true) => say("One milk.").after(&held),
            (false, false) => say("Nine milk."),
        }
    });
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let mut home = home(&model, &telegram);
    home.set("/agents/defaults/review", json!("on"));
    let door = Door::start(&home);
    let browser = Browser::sign_in(&door, &link(&telegram, &ana));
    let said = |browser: &Browser<'_>| {
        let all = browser.look("main").until(|event| event["reset"] == true);
        all["messages"].to_string()
    };
    browser.says("how much milk?");
    // While the answer is written again, and once it is there.
    model.wait_for_requests(3);
    let meanwhile = said(&browser);
    assert!(meanwhile.contains("how much milk?"), "{meanwhile}");
    assert!(!meanwhile.contains("Nine milk"), "{meanwhile}");
    gate.open();
    browser.look("main").message("One milk.");
    let cookie = browser.cookie;
    door.gateway.stop().ends_with(0);
    // After a restart the page reads the journal.
    let door = Door::start(&home);
    let browser = Browser {
        door: &door,
        cookie,
    };
    let all = said(&browser);
    assert!(
        all.contains("One milk.") && !all.contains("Nine milk"),
        "{all}"
    );
    door.gateway.stop().ends_with(0);
}
