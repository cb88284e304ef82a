//! The fake homeserver for a program that is not ours: tests/matrix/check.py tells it on standard input what happens,
//! one JSON object a line, and reads the answers on standard output.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::matrix::{BOT_ID, BOT_NAME, Fault, Matrix, Message, PASSWORD, Person, TOKEN};

struct Stage {
    matrix: Matrix,
    people: BTreeMap<String, Person>,
}

impl Stage {
    fn play(&mut self, step: &Value) -> Value {
        let matrix = &self.matrix;
        let number = |name: &str| step[name].as_u64().unwrap_or_default();
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let person = || &self.people[text("who")];
        let room = text("in");
        match text("do") {
            "person" => {
                let person = matrix.person(text("id"), text("name"));
                let answer = json!([person.id(), person.chat()]);
                self.people.insert(text("id").to_owned(), person);
                return answer;
            }
            "room" => {
                let all: Vec<&Person> = self.people.values().collect();
                return json!(matrix.room(text("name"), &all));
            }
            "say" => return json!(person().says_in(room, text("text"))),
            "mention" => return json!(person().mentions_in(room, text("text"))),
            "thread" => return json!(person().says_in_thread(room, text("root"), text("text"))),
            "reply" => return json!(person().replies(room, text("to"), text("text"))),
            "edit" => return json!(person().edits(room, text("message"), text("text"))),
            "send" => {
                let file = (text("name"), "text/plain");
                return json!(person().sends(room, text("text"), file, text("file")));
            }
            "encrypt" => return json!(person().encrypts(room)),
            "invite" => return json!(person().invites("plans", true)),
            "kick" => person().kicks(room),
            "replace" => return json!(person().replaces(room)),
            "silence" => matrix.silences(room),
            "cut" => matrix.cuts(),
            "limit" => matrix.set_limit(
                number("most") as usize,
                Duration::from_millis(number("millis")),
            ),
            "fail" => matrix.fail_next(text("route"), fault(text("fault"))),
            "forgive" => matrix.forgives(text("words")),
            "messages" => return matrix.messages(room).iter().map(shown).collect(),
            "state" => {
                return json!({
                    "complaints": matrix.complaints(), "reactions": matrix.reactions(room),
                    "read": matrix.read(room), "typing": matrix.is_typing(room),
                    "limited": matrix.limited(), "membership": matrix.membership(room),
                });
            }
            other => panic!("there is no step {other:?}"),
        }
        Value::Null
    }
}

fn fault(name: &str) -> Fault {
    match name {
        "too many" => Fault::TooManyRequests(300),
        "cut" => Fault::Cut,
        other => panic!("there is no fault {other:?}"),
    }
}

fn shown(message: &Message) -> Value {
    let file = message.file.as_ref();
    json!({
        "id": message.id, "text": message.text, "html": message.html, "kind": message.kind,
        "versions": message.versions, "thread": message.thread, "reply_to": message.reply_to,
        "file": file.map(|file| json!([file.name, file.mime, String::from_utf8_lossy(&file.bytes)])),
    })
}

#[test]
#[ignore = "for tests/matrix/check.py, which tells it what to do"]
fn serve() {
    let mut stage = Stage {
        matrix: Matrix::start(),
        people: BTreeMap::new(),
    };
    println!(
        "{}",
        json!({
            "url": stage.matrix.url(), "token": TOKEN, "password": PASSWORD, "user": BOT_ID,
            "name": BOT_NAME,
        })
    );
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": stage.play(&step)}));
    }
}
