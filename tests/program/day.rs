//! A day with one person: questions in two languages, tools with long results, photos, and new
//! conversations. It prints what the model was sent, beside what the whole history would have cost.
//!
//! `make day` runs 300 turns; the test has fewer.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, Request, Step, call, say};
use crate::harness::telegram::{Message, Telegram};

/// What a reply and its request may have together; a window that the turns of the test fill, and a usual one.
const WINDOWS: (usize, usize) = (24_000, 128_000);
/// What a reply may have.
const REPLY: usize = 1_000;

/// What was sent to the model, in tokens.
#[derive(Default)]
struct Sent {
    requests: usize,
    consolidations: usize,
    tokens: usize,
    /// Of them, those that follow the same bytes as in the request before.
    cached: usize,
    /// What it would be if each request had all of its conversation.
    raw: usize,
    largest: usize,
    /// The messages of the request before, and what has been said since the last `/new`.
    before: String,
    said: usize,
}

/// About how many tokens a text is.
fn tokens(text: &str) -> usize {
    let wide = text.chars().filter(|char| !char.is_ascii()).count();
    let plain = text.chars().count() - wide;
    plain / 4 + wide
}

impl Sent {
    fn take(&mut self, request: &Request) {
        let fixed = tokens(&request.body["tools"].to_string());
        let messages = request.messages();
        let text: String = messages
            .iter()
            .map(|message| format!("{message}\n"))
            .collect();
        let system = messages
            .first()
            .map_or(0, |message| tokens(&message.to_string()));
        let same = text
            .bytes()
            .zip(self.before.bytes())
            .take_while(|(new, old)| new == old);
        let same = text.floor_char_boundary(same.count());
        let all = fixed + tokens(&text);
        self.requests += 1;
        self.tokens += all;
        self.largest = self.largest.max(all);
        if same > 0 {
            self.cached += fixed + tokens(&text[..same]);
        }
        if let Some(last) = messages.last() {
            self.said += tokens(&last.to_string());
        }
        self.raw += fixed + system + self.said;
        self.before = text;
    }
}

/// What the model does: it reads a file for every third question, and looks twice for every ninth.
fn answer(request: &Request, sent: &Mutex<Sent>) -> Step {
    let mut sent = sent.lock().unwrap();
    if request.body["tools"].to_string().contains("save_memory") {
        sent.consolidations += 1;
        let about = json!({"history_entry": "[2026-11-23 10:00] They talked about the board.",
            "memory_update": "# Memory\n- The owner asks about the board."});
        return call("save_memory", about);
    }
    sent.take(request);
    let messages = request.messages();
    let is_person = |message: &&Value| message["role"] == "user";
    let asked = messages.iter().rfind(is_person).unwrap()["content"].to_string();
    let number = asked.rsplit_once("number ").unwrap().1;
    let number: usize = number
        .split(|char: char| !char.is_ascii_digit())
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let results = messages
        .iter()
        .rev()
        .take_while(|message| message["role"] == "tool");
    let looked = results.count();
    let steps = messages
        .iter()
        .rev()
        .take_while(|message| message["role"] != "user")
        .count();
    if number.is_multiple_of(3) && looked == 0 || number.is_multiple_of(9) && steps < 4 {
        return call(
            "read_file",
            json!({"path": format!("log-{}.txt", (number + steps) % 5)}),
        );
    }
    let text = match number % 2 {
        0 => format!(
            "Answer {number}. {}",
            "The board is fine and the log has no errors. ".repeat(6)
        ),
        _ => format!(
            "Answer {number}. {}",
            "树莓派一切正常，日志里没有错误。".repeat(8)
        ),
    };
    sent.said += tokens(&text);
    say(&text)
}

fn question(number: usize) -> String {
    let text = match number % 4 {
        0 => "How warm is the board, and what did the log say in the last hour?",
        1 => "树莓派现在怎么样？昨天的日志里有什么特别的吗？",
        2 => "[photo: inbox/balcony.jpg] Which plant is this?",
        _ => "Please look into the log and compare it with what you found before.",
    };
    format!("{text} This is question number {number}")
}

/// The peak of a process's resident memory, in kB.
fn peak(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_day_stays_in_the_window() {
    let turns: usize = std::env::var("DAY_TURNS").map_or(45, |turns| turns.parse().unwrap());
    let window = match turns < 300 {
        true => WINDOWS.0,
        false => WINDOWS.1,
    };
    let sent = Arc::new(Mutex::new(Sent::default()));
    let script = Arc::clone(&sent);
    let model = Model::answering(move |request| answer(request, &script));
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    home.set("/agents/defaults/contextWindowTokens", json!(window));
    home.set("/agents/defaults/maxTokens", json!(REPLY));
    home.set("/channels/telegram/streaming", json!(false));
    for number in 0..5 {
        let line =
            format!("10:0{number} sensor {number}: 21.5 C, humidity 40 %, all units active\n");
        fs::write(
            home.workspace(&format!("log-{number}.txt")),
            line.repeat(180),
        )
        .unwrap();
    }
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let gateway = Gateway::start(&home);
    let mut early = 0;
    for number in 1..=turns {
        ana.says(&question(number));
        let is_answer = |message: &Message| message.text.contains(&format!("Answer {number}."));
        telegram.wait_for_message(ana.chat(), is_answer);
        if number.is_multiple_of(turns / 3 + 1) {
            ana.says("/new");
            telegram.wait_for_message(ana.chat(), |message| {
                message.text.contains("new conversation")
            });
            sent.lock().unwrap().said = 0;
        }
        if number == 15 {
            early = peak(gateway.id());
        }
    }
    let late = peak(gateway.id());
    gateway.stop().ends_with(0);
    let sent = sent.lock().unwrap();
    let share = |part: usize| 100 * part / sent.tokens;
    eprintln!(
        "{turns} turns, {} requests, {} consolidations: {} tokens sent, {} with the whole history; \
         {} % behind the same beginning; the largest had {}; peak {early} kB, then {late} kB",
        sent.requests,
        sent.consolidations,
        sent.tokens,
        sent.raw,
        share(sent.cached),
        sent.largest
    );
    // Both counts are estimates.
    assert!(
        sent.largest + REPLY < window * 115 / 100,
        "{} tokens",
        sent.largest
    );
    assert!(
        sent.largest > window / 2,
        "the window was never full: {}",
        sent.largest
    );
    assert!(
        sent.tokens < sent.raw,
        "{} sent, {} raw",
        sent.tokens,
        sent.raw
    );
    assert!(share(sent.cached) >= 50, "{} %", share(sent.cached));
    // One for each /new besides.
    assert!(
        sent.consolidations <= turns.div_ceil(50) + 2,
        "{}",
        sent.consolidations
    );
    assert!(late < early + 16 * 1024, "{early} kB, then {late} kB");
}
