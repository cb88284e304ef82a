//! The fake Discord by itself, for a program that is not ours: tests/discord/check.py tells it on
//! standard input what happens, one JSON object a line, and reads the answers on standard output.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::discord::{Discord, Fault, Message, Person, Place, Said, Upload};

struct Stage {
    discord: Discord,
    people: BTreeMap<u64, Person>,
}

impl Stage {
    fn play(&mut self, step: &Value) -> Value {
        let discord = &self.discord;
        let number = |name: &str| step[name].as_u64().unwrap_or_default();
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let place = Place(number("in"));
        let said = |said: Said| json!(said.message);
        let person = || self.people[&number("who")].clone();
        match text("do") {
            "person" => {
                let person = discord.person(number("id"), text("name"));
                let dm = person.chat().0;
                self.people.insert(person.id(), person);
                return json!(dm);
            }
            "guild" => return json!(discord.guild(text("name"))),
            "channel" => return json!(discord.channel(number("guild"), text("name")).0),
            "thread" => return json!(discord.thread(place, text("name")).0),
            "say" => return said(person().says_in(place, text("text"))),
            "mention" => return said(person().mentions_in(place, text("text"))),
            "reply" => return said(person().replies(place, number("to"), text("text"))),
            "send" => {
                let upload = Upload::new(text("name"), "text/plain", text("file"));
                return said(person().sends_in(place, text("text"), [upload]));
            }
            "edit" => {
                let message = number("message");
                person().edits(&Said { message, place }, text("text"));
            }
            "press" => return json!(person().presses_in(place, text("label"))),
            "use" => {
                let options = [("text", step["text"].clone())];
                return json!(person().uses_in(place, text("command"), &options));
            }
            "answer" => return json!(discord.answer(text("token"))),
            "block" => person().blocks(),
            "unblock" => person().unblocks(),
            "forbid" => discord.forbid(place),
            "remove" => discord.removes(place),
            "cut" => discord.cut_gateway(),
            "close" => discord.close_gateway(number("code") as u16),
            "reconnect" => discord.asks_to_reconnect(),
            "invalidate" => discord.invalidates(step["resumable"] == true),
            "beat" => discord.asks_for_heartbeat(),
            "acknowledge" => discord.acknowledges(step["does"] == true),
            "expire" => discord.expire_links(),
            "heartbeat" => discord.set_heartbeat(Duration::from_millis(number("millis"))),
            "window" => discord.set_identify_window(Duration::from_millis(number("millis"))),
            "limit" => {
                let time = Duration::from_millis(number("millis"));
                discord.set_limit(text("route"), number("most") as u32, time);
            }
            "fail" => discord.fail_next(text("route"), fault(text("fault"))),
            "forgive" => discord.forgives(text("words")),
            "messages" => {
                let messages = discord.messages(place);
                return messages.iter().map(shown).collect();
            }
            "state" => return state(discord),
            other => panic!("there is no step {other:?}"),
        }
        Value::Null
    }
}

fn fault(name: &str) -> Fault {
    match name {
        "too many" => Fault::TooManyRequests {
            retry_after: 0.3,
            is_global: false,
        },
        "too many of all" => Fault::TooManyRequests {
            retry_after: 0.3,
            is_global: true,
        },
        "edge" => Fault::EdgeTooManyRequests,
        "bad gateway" => Fault::BadGateway,
        "lost" => Fault::LostReply,
        other => panic!("there is no fault {other:?}"),
    }
}

fn shown(message: &Message) -> Value {
    let files = message.files.iter();
    let files: Vec<Value> = files
        .map(|file| json!([file.name, String::from_utf8_lossy(&file.bytes)]))
        .collect();
    json!({
        "id": message.id, "text": message.text, "versions": message.versions, "files": files,
        "reactions": message.reactions, "reply_to": message.reply_to, "pings": message.pings,
        "thinking": message.is_thinking, "ephemeral": message.is_ephemeral,
        "components": message.components,
    })
}

fn state(discord: &Discord) -> Value {
    let (readies, resumes) = discord.sessions();
    json!({
        "readies": readies, "resumes": resumes, "complaints": discord.complaints(),
        "rate_limited": discord.rate_limited(), "closes": discord.closes(),
        "commands": discord.commands(), "heartbeats": discord.frames(1).len(),
        "identifies": discord.frames(2).len(),
        "last_identify": discord.frames(2).last().map(|frame| frame.message.clone()),
    })
}

#[test]
#[ignore = "for tests/discord/check.py, which tells it what to do"]
fn serve() {
    let mut stage = Stage {
        discord: Discord::start(),
        people: BTreeMap::new(),
    };
    println!(
        "{}",
        json!({"url": stage.discord.url(), "token": crate::harness::discord::TOKEN})
    );
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": stage.play(&step)}));
    }
}
