//! The fake network by itself, for programs that are not ours: tests/irc/check.py tells it on standard input what happens,
//! one JSON object a line, and reads the answers on standard output.

use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::irc::{ACCOUNT, CHANNEL, Fault, Irc, PASSWORD, Person};

fn play(irc: &Irc, people: &mut Vec<Person>, step: &Value) -> Value {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    let found = people.iter().position(|person| person.nick == text("who"));
    match (text("do"), found) {
        ("person", _) => people.push(irc.person(text("who"), step["account"].as_str())),
        ("say", Some(at)) => return json!(people[at].says(text("text"))),
        ("say in channel", Some(at)) => return json!(people[at].says_in_channel(text("text"))),
        ("rename", Some(at)) => people[at].renames(text("nick")),
        ("texts", _) => return json!(irc.texts(text("target"))),
        ("tell", _) => irc.tells(text("line")),
        ("kick", _) => irc.kicks(),
        ("refuse", _) => irc.fail_next(Fault::Refused(404)),
        ("forgive", _) => irc.forgives(text("words")),
        ("complaints", _) => return json!(irc.complaints()),
        (other, _) => panic!("there is no step {other:?}"),
    }
    Value::Null
}

#[test]
#[ignore = "for tests/irc/check.py, which tells it what to do"]
fn serve() {
    let irc = Irc::plain();
    let mut people = Vec::new();
    println!(
        "{}",
        json!({
            "port": irc.port(), "account": ACCOUNT, "password": PASSWORD, "channel": CHANNEL,
        })
    );
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": play(&irc, &mut people, &step)}));
    }
}
