//! The fake WhatsApp bridge by itself, for programs that are not ours: tests/whatsapp/check.py tells it on standard
//! input what happens, one JSON object a line, and reads the answers on standard output.

use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::whatsapp::{Fault, Person, TOKEN, WhatsApp};

fn person(whatsapp: &WhatsApp, step: &Value) -> Person {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    match (text("group"), text("hidden")) {
        ("", "") => whatsapp.person(text("who")),
        ("", hidden) => whatsapp.hidden_person(hidden, text("who")),
        (group, _) => whatsapp.group(group),
    }
}

fn play(whatsapp: &WhatsApp, step: &Value) -> Value {
    let person = person(whatsapp, step);
    match step["do"].as_str().unwrap_or_default() {
        "say" => person.says(step["text"].as_str().unwrap_or_default()),
        "messages" => {
            let messages = whatsapp.messages(&person).into_iter();
            messages.map(|message| Value::from(message.text)).collect()
        }
        "clients" => json!(whatsapp.clients()),
        "wait" => {
            whatsapp.wait_for_clients(step["count"].as_u64().unwrap_or_default() as usize);
            Value::Null
        }
        "connected" => {
            whatsapp.set_connected(step["is"] == true);
            Value::Null
        }
        "code" => {
            whatsapp.shows_code(step["text"].as_str().unwrap_or_default());
            Value::Null
        }
        "fail" => {
            whatsapp.fail_next(Fault::Odd);
            Value::Null
        }
        "cut" => {
            whatsapp.cut();
            Value::Null
        }
        "forgive" => {
            whatsapp.forgives(step["words"].as_str().unwrap_or_default());
            Value::Null
        }
        "complaints" => json!(whatsapp.complaints()),
        other => panic!("there is no step {other:?}"),
    }
}

#[test]
#[ignore = "for tests/whatsapp/check.py, which tells it what to do"]
fn serve() {
    let whatsapp = WhatsApp::start();
    println!("{}", json!({"url": whatsapp.url(), "token": TOKEN}));
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": play(&whatsapp, &step)}));
    }
}
