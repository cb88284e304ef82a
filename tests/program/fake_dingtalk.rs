//! The fake DingTalk by itself, for a program that is not ours: tests/dingtalk/check.py tells it on standard input
//! what happens, one JSON object a line, and reads the answers on standard output.

use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::dingtalk::{CLIENT_ID, DingTalk, Person, SECRET};

fn play(dingtalk: &DingTalk, ana: &Person, group: &str, step: &Value) -> Value {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    match text("do") {
        "say" => return json!(ana.says(text("text"))),
        "say in group" => return json!(ana.says_in(group, text("text"))),
        "send" => return json!(ana.sends(text("kind"), text("text"), (text("name"), b"content"))),
        "send rich" => return json!(ana.sends_rich(text("text"), b"\x89PNG")),
        "messages" => {
            let messages = dingtalk.messages(text("place"));
            let messages = messages.iter().map(|message| {
                let file = message.file.as_ref();
                let file = file.map(|(name, bytes)| json!([name, String::from_utf8_lossy(bytes)]));
                json!({"kind": message.kind, "title": message.title, "text": message.text, "file": file})
            });
            return messages.collect();
        }
        "acknowledged" => dingtalk.wait_for_acknowledgements(),
        "sendings" => return json!(dingtalk.sendings(text("message"))),
        "lose" => dingtalk.lose_acknowledgement(),
        "link" => dingtalk.wait_for_link(step["count"].as_u64().unwrap_or_default() as usize),
        "ping" => dingtalk.pings(),
        "disconnect" => dingtalk.disconnects(),
        "cut" => dingtalk.cut_links(),
        "expire" => dingtalk.expire_token(),
        "forgive" => dingtalk.forgives(text("words")),
        "complaints" => return json!(dingtalk.complaints()),
        other => panic!("there is no step {other:?}"),
    }
    Value::Null
}

#[test]
#[ignore = "for tests/dingtalk/check.py, which tells it what to do"]
fn serve() {
    let dingtalk = DingTalk::start();
    let ana = dingtalk.person("manager1", "Ana");
    let group = dingtalk.group();
    println!(
        "{}",
        json!({"url": dingtalk.url(), "id": CLIENT_ID, "token": SECRET, "group": group})
    );
    for line in std::io::stdin().lock().lines() {
        let step = serde_json::from_str(&line.unwrap()).unwrap();
        let answer = play(&dingtalk, &ana, &group, &step);
        println!("{}", json!({"answer": answer}));
    }
}
