//! The fake MoChat by itself, for a program that is not ours: tests/mochat/check.py tells it on standard input what
//! happens, one JSON object a line, and reads the answers on standard output.

use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::mochat::{AGENT, MoChat, TOKEN};

fn play(mochat: &MoChat, step: &Value) -> Value {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    match text("do") {
        "create" => mochat.create(text("chat")),
        "say" => return json!(mochat.says(text("who"), text("chat"), text("text"))),
        "texts" => return json!(mochat.texts(text("chat"))),
        "calls" => return json!(mochat.calls(text("path"))),
        "complaints" => return json!(mochat.complaints()),
        other => panic!("there is no step {other:?}"),
    }
    Value::Null
}

#[test]
#[ignore = "for tests/mochat/check.py, which tells it what to do"]
fn serve() {
    let mochat = MoChat::start();
    println!(
        "{}",
        json!({"url": mochat.url(), "token": TOKEN, "agent": AGENT})
    );
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": play(&mochat, &step)}));
    }
}
