//! The fake Slack by itself, for a program that is not ours: tests/slack/check.py tells it on standard input what
//! happens, one JSON object a line, and reads the answers on standard output.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::slack::{APP_TOKEN, BOT_TOKEN, Fault, Message, Person, Place, Said, Slack};

struct Stage {
    slack: Slack,
    people: BTreeMap<String, Person>,
}

impl Stage {
    fn play(&mut self, step: &Value) -> Value {
        let slack = &self.slack;
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let place = Place {
            chat: text("in").to_owned(),
            thread: step["thread"].as_str().map(str::to_owned),
        };
        let person = || self.people[text("who")].clone();
        match text("do") {
            "person" => {
                let person = slack.person(text("id"), text("name"));
                let chat = person.chat().chat;
                self.people.insert(person.id().to_owned(), person);
                return json!(chat);
            }
            "channel" => return json!(slack.channel(text("name")).chat),
            "say" => return json!(person().says_in(&place, text("text")).ts),
            "mention" => return json!(person().mentions_in(&place, text("text")).ts),
            "send" => {
                return json!(
                    person()
                        .sends(text("text"), text("name"), "text/plain", text("file"))
                        .ts
                );
            }
            "edit" => {
                let ts = text("ts").to_owned();
                person().edits(&Said { ts, place }, text("text"));
            }
            "press" => person().presses_in(&place, text("label")),
            "use" => person().uses_in(&place, text("command"), text("text")),
            "disconnect" => slack.disconnects(text("reason")),
            "cut" => slack.cut(),
            "close" => slack.closes_the_old(),
            "limit" => slack.fail_next(text("method"), Fault::TooMany(1)),
            "forgive" => slack.forgives(text("words")),
            "settled" => slack.wait_for_acknowledgements(),
            "messages" => {
                let messages = slack.messages(&place);
                return messages.iter().map(shown).collect();
            }
            "state" => {
                let (opened, open) = slack.connections();
                return json!({
                    "opened": opened, "open": open, "complaints": slack.complaints(),
                    "answers": slack.answers(), "whispers": slack.whispers(),
                });
            }
            other => panic!("there is no step {other:?}"),
        }
        Value::Null
    }
}

fn shown(message: &Message) -> Value {
    let files = message.files.iter();
    let files: Vec<Value> = files
        .map(|file| json!([file.name, file.mime, String::from_utf8_lossy(&file.bytes)]))
        .collect();
    json!({
        "ts": message.ts, "text": message.text, "versions": message.versions, "files": files,
        "reactions": message.reactions, "thread": message.thread, "buttons": message.buttons(),
        "metadata": message.metadata,
    })
}

#[test]
#[ignore = "for tests/slack/check.py, which tells it what to do"]
fn serve() {
    let mut stage = Stage {
        slack: Slack::start(),
        people: BTreeMap::new(),
    };
    let hello = json!({"base": stage.slack.api_base(), "bot": BOT_TOKEN, "app": APP_TOKEN});
    println!("{hello}");
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": stage.play(&step)}));
    }
}
