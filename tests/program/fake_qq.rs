//! The fake QQ by itself, for a program that is not ours: tests/qq/check.py tells it on standard input what happens,
//! one JSON object a line, and reads the answers on standard output.

use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::qq::{APP_ID, Fault, Kind, Person, Qq, SECRET};

fn person(qq: &Qq, step: &Value) -> Person {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    match text("kind") {
        "group" => qq.member(text("who"), text("chat")),
        "channel" => qq.guest(text("who"), text("chat")),
        "direct" => qq.direct(text("who"), text("chat")),
        _ => qq.person(text("who")),
    }
}

fn play(qq: &Qq, step: &Value) -> Value {
    let person = person(qq, step);
    let number = |name: &str| step[name].as_u64().unwrap_or_default();
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    match text("do") {
        "say" => return json!(person.says(text("text"))),
        "send" => {
            return json!(person.sends(text("text"), &[(text("name"), "image/png", b"picture")]));
        }
        "press" => return json!(person.presses(text("label"))),
        "messages" => {
            let messages = qq.messages(&person);
            let messages = messages.iter().map(|message| {
                let files: Vec<&str> = message.files.iter().map(|(name, _)| name.as_str()).collect();
                json!({"text": message.text, "reply_to": message.reply_to, "is_markdown": message.is_markdown,
                    "files": files, "buttons": message.buttons})
            });
            return messages.collect();
        }
        "sessions" => return json!(qq.sessions()),
        "ready" => qq.wait_for_ready(number("count") as usize),
        "active" => qq.allow_active(step["is"] == true),
        "markdown" => qq.allow_markdown(step["is"] == true),
        "cut" => qq.cut_gateway(),
        "close" => qq.close_gateway(number("code") as u16),
        "end replies" => qq.close_replies(),
        "audit" => qq.fail_next(Fault::Audit),
        "forgive" => qq.forgives(text("words")),
        "complaints" => return json!(qq.complaints()),
        other => panic!("there is no step {other:?}"),
    }
    assert!(person.kind == Kind::Private || !person.chat.is_empty());
    Value::Null
}

#[test]
#[ignore = "for tests/qq/check.py, which tells it what to do"]
fn serve() {
    let qq = Qq::start();
    println!(
        "{}",
        json!({"url": qq.url(), "id": APP_ID, "token": SECRET})
    );
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", json!({"answer": play(&qq, &step)}));
    }
}
