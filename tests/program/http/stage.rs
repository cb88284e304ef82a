//! A gateway with the web page for a real browser: `make web`.

use std::io::BufRead;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::Door;
use super::page::{home, link};
use crate::harness::gate::Gate;
use crate::harness::model::{Model, Request, Step, call, say};
use crate::harness::telegram::Telegram;
use crate::harness::wait_until;

const COUNT: &str = "one two three four five six seven eight nine ten";
const MARKDOWN: &str = "## What I found\n\n- *two* **services** run\n- one is [documented](https://example.org/)\n\n\
    | service | memory |\n|---|---|\n| nginx | 12 MB |\n| sshd | 4 MB |\n\n```sh\nsystemctl status nginx\n```\n\
    <img src=x onerror=alert(1)>";

fn answer(request: &Request, gate: &Gate) -> Step {
    let last = request.last_message();
    if last.contains("count") {
        return say(COUNT).in_pieces(10).pausing_at(gate);
    }
    if last.contains("run it") {
        let command = json!({"command": "id", "escalate": true, "reason": "to see who I am"});
        return call("exec", command);
    }
    match last.contains("uid=") {
        true => say("It ran outside the sandbox."),
        false => say(MARKDOWN),
    }
}

/// Serves until its input ends. A line `link` prints the secret of a new link, `link de` of one whose page is in German,
/// and `open` lets a waiting answer go on.
#[test]
#[ignore = "for the browser of `make web`"]
fn serve() {
    let gate = Arc::new(Mutex::new(Gate::default()));
    let to_wait = Arc::clone(&gate);
    let model = Model::answering(move |request| {
        let gate = to_wait.lock().unwrap().clone();
        answer(request, &gate)
    });
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let home = home(&model, &telegram);
    std::fs::write(home.workspace("notes.txt"), "the notes").unwrap();
    let door = Door::start(&home);
    println!("{}", json!({"address": door.address.to_string()}));
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.split_whitespace();
        let done = match (words.next(), words.next()) {
            (Some("link"), language) => {
                if let Some(language) = language {
                    let messages = || telegram.messages(ana.chat()).len();
                    let before = messages();
                    ana.says(&format!("/lang {language}"));
                    wait_until("the language", || messages() > before);
                }
                link(&telegram, &ana)
            }
            (Some("open"), None) => {
                std::mem::take(&mut *gate.lock().unwrap()).open();
                String::new()
            }
            _ => panic!("{line}"),
        };
        println!("{}", json!({"done": done}));
    }
    door.gateway.stop().ends_with(0);
}
