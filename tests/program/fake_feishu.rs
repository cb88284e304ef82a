//! The fake Feishu by itself, for a program that is not ours: tests/feishu/check.py tells it on standard input what
//! happens, one JSON object a line, and reads the answers on standard output.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::feishu::{APP_ID, APP_SECRET, Chat, Fault, Feishu, Message, Person, Upload};

struct Stage {
    feishu: Feishu,
    people: BTreeMap<String, Person>,
}

impl Stage {
    fn play(&mut self, step: &Value) -> Value {
        let feishu = &self.feishu;
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let number = |name: &str| step[name].as_u64().unwrap_or_default();
        let chat = Chat(text("in").to_owned());
        let person = || self.people[text("who")].clone();
        match text("do") {
            "person" => {
                let person = feishu.person(text("id"), text("name"));
                let chat = person.chat().0;
                self.people.insert(person.id().to_owned(), person);
                return json!(chat);
            }
            "group" => return json!(feishu.group().0),
            "say" => return json!(person().says_in(&chat, text("text"))),
            "mention" => return json!(person().mentions_in(&chat, text("text"))),
            "thread" => {
                let root = text("to");
                return json!(person().mentions_in_thread(&chat, root, text("text")));
            }
            "reply" => return json!(person().replies(&chat, text("to"), text("text"))),
            "post" => return json!(person().posts(&step["content"])),
            "send" => {
                let upload = Upload::file(text("name"), text("file"));
                return json!(person().sends_in(&chat, &upload));
            }
            "press" => return json!(person().presses_in(&chat, text("label"))),
            "withdraw" => person().withdraws(text("message")),
            "parts" => feishu.set_parts(number("parts") as usize),
            "interval" => feishu.set_ping_interval(number("seconds")),
            "cut" => feishu.cut_links(),
            "refuse" => feishu.refuse_link(number("code") as i64),
            "expire" => feishu.expire_token(),
            "again" => feishu.sends_again(),
            "fail" => feishu.fail_next(text("route"), fault(text("fault"))),
            "forgive" => feishu.forgives(text("words")),
            "messages" => {
                let messages = feishu.messages(&chat);
                return messages.iter().map(shown).collect();
            }
            "message" => return shown(&feishu.message(text("message"))),
            "answer" => return feishu.wait_for_answer(text("event")),
            "state" => return state(feishu),
            other => panic!("there is no step {other:?}"),
        }
        Value::Null
    }
}

fn fault(name: &str) -> Fault {
    match name {
        "too many" => Fault::RateLimited(1),
        "too many in the chat" => Fault::ChatRateLimited,
        "tables" => Fault::CardRefused,
        other => panic!("there is no fault {other:?}"),
    }
}

fn shown(message: &Message) -> Value {
    let file = message.file.as_ref();
    let file = file.map(|file| json!([file.name, file.kind, String::from_utf8_lossy(&file.bytes)]));
    let labels: Vec<&str> = message
        .buttons
        .iter()
        .map(|button| button.label.as_str())
        .collect();
    json!({
        "id": message.id, "kind": message.kind, "text": message.text, "buttons": labels,
        "parent": message.parent, "thread": message.thread, "file": file,
        "reactions": message.reactions, "versions": message.versions,
    })
}

fn state(feishu: &Feishu) -> Value {
    let events = feishu.events();
    let answered = events.iter().filter(|event| event.answer.is_some()).count();
    json!({
        "links": feishu.links(), "pings": feishu.pings(), "tokens": feishu.tokens(),
        "complaints": feishu.complaints(), "closes": feishu.closes(), "events": events.len(),
        "answered": answered, "sent": events.iter().map(|event| event.sent).collect::<Vec<_>>(),
    })
}

#[test]
#[ignore = "for tests/feishu/check.py, which tells it what to do"]
fn serve() {
    let mut stage = Stage {
        feishu: Feishu::start(),
        people: BTreeMap::new(),
    };
    println!(
        "{}",
        json!({"url": stage.feishu.url(), "app": APP_ID, "secret": APP_SECRET})
    );
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": stage.play(&step)}));
    }
}
