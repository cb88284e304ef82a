//! Power cuts: the gateway is killed at any instant, again and again, while people talk with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, Request, Step, call, say};
use crate::harness::program::Program;
use crate::harness::telegram::{Fault, Message, Person, Place, Telegram};

/// How often the gateway is killed, over all homes.
const KILLS: usize = 300;
const HOMES: usize = 2;
/// The people who talk in each home, at the same time.
const PEOPLE: i64 = 4;
/// Messages of all people of a home that the test wants at least.
const MESSAGES: usize = 50;
/// Each so many messages are two at once: the second comes while the first one's turn runs.
const PAIRED: usize = 4;
/// Each so many answers' confirmation is lost on its way.
const LOST: usize = 17;
/// About how long a request and what follows it take. The kill comes at a random part of it.
const SPAN: Duration = Duration::from_millis(30);

/// What the model says when it has written the lines of these messages.
const DONE: &str = "Done:";
/// How the answer to `/id` begins.
const ID_ANSWER: &str = "This chat:";

/// The model appends a line for each message that asks for one, one call at a time, and then names
/// the messages that it answers.
fn next_step(request: &Request) -> Step {
    let messages = request.messages();
    let is_answer = |message: &Value| {
        message["role"] == "assistant"
            && message["content"]
                .as_str()
                .is_some_and(|text| text.contains(DONE))
    };
    let since = messages
        .iter()
        .rposition(is_answer)
        .map_or(0, |place| place + 1);
    let open: Vec<String> = messages[since..].iter().flat_map(asked).collect();
    let called = |line: &String| messages[since..].iter().any(|message| calls(message, line));
    match open.iter().find(|line| !called(line)) {
        Some(line) => call(
            "append_file",
            json!({"path": "log.txt", "content": format!("{line}\n")}),
        ),
        None => say(&format!("{DONE} {}", open.join(" "))),
    }
}

/// The lines that a person's message asks for. Neighbouring messages of a person come as one.
fn asked(message: &Value) -> Vec<String> {
    let text = match message["role"] == "user" {
        true => message["content"].as_str().unwrap_or_default(),
        false => "",
    };
    let lines = text.lines().filter_map(|line| line.strip_prefix("write "));
    lines.map(str::to_owned).collect()
}

fn calls(message: &Value, line: &str) -> bool {
    let calls = message["tool_calls"].as_array();
    let mut arguments = calls
        .into_iter()
        .flatten()
        .filter_map(|call| call["function"]["arguments"].as_str());
    arguments.any(|arguments| arguments.contains(&format!("\"{line}\\n\"")))
}

/// The lines that a message of the bot's says are written; panics when it is something else.
fn done(text: &str) -> Vec<&str> {
    let lines = text.strip_prefix(DONE);
    lines
        .unwrap_or_else(|| panic!("nobody expects {text:?}"))
        .split_whitespace()
        .collect()
}

#[test]
fn whatever_is_killed_when_nothing_is_lost_or_done_twice() {
    let homes: Vec<_> = (0..HOMES)
        .map(|seed| thread::spawn(move || Story::new(seed as u64).run()))
        .collect();
    let hits: Vec<Hits> = homes.into_iter().map(|home| home.join().unwrap()).collect();
    let sum = |of: fn(&Hits) -> usize| hits.iter().map(of).sum::<usize>();
    let (turns, pending, waiting) = (
        sum(|hits| hits.in_turns),
        sum(|hits| hits.pending),
        sum(|hits| hits.waiting),
    );
    // It is worth something only when the kills hit what they are meant for.
    assert!(
        turns > 50 && pending > 10 && waiting > 5,
        "{turns} in turns, {pending} to be delivered, {waiting} waiting"
    );
}

/// What the kills hit.
#[derive(Default)]
struct Hits {
    /// A turn had begun and not ended.
    in_turns: usize,
    /// An answer waited for delivery.
    pending: usize,
    /// A message was accepted, and no session had it.
    waiting: usize,
}

/// One home with its servers.
struct Story {
    home: Home,
    model: Arc<Model>,
    telegram: Arc<Telegram>,
    people: Vec<Person>,
    chance: Chance,
    hits: Hits,
    /// By answer: how many kills came while it waited for delivery. At each of them it may have been on its way.
    unconfirmed: BTreeMap<String, usize>,
    /// Answers whose confirmation the network has lost.
    lost: Arc<Mutex<Vec<String>>>,
}

impl Story {
    fn new(seed: u64) -> Self {
        let model = Arc::new(Model::answering(next_step));
        let telegram = Arc::new(Telegram::start());
        let mut home = Home::with_telegram(&model, &telegram);
        let ids: Vec<String> = (1..=PEOPLE).map(|id| id.to_string()).collect();
        home.set("/channels/telegram/allowFrom", json!(ids));
        let people = (1..=PEOPLE).map(|id| telegram.person(id, "Ana", None));
        Self {
            people: people.collect(),
            home,
            model,
            telegram,
            chance: Chance(seed),
            hits: Hits::default(),
            unconfirmed: BTreeMap::new(),
            lost: Arc::default(),
        }
    }

    fn run(mut self) -> Hits {
        self.lose_confirmations();
        let is_over = Arc::new(AtomicBool::new(false));
        let talks: Vec<_> = self
            .people
            .iter()
            .map(|person| {
                let (telegram, person) = (Arc::clone(&self.telegram), person.clone());
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || talk(&telegram, &person, &is_over))
            })
            .collect();
        for _ in 0..KILLS / HOMES {
            self.kill_once();
        }
        is_over.store(true, Ordering::SeqCst);
        let gateway = Gateway::start(&self.home);
        let said: Vec<usize> = talks.into_iter().map(|talk| talk.join().unwrap()).collect();
        assert!(said.iter().sum::<usize>() >= MESSAGES, "{said:?}");
        self.repeat_what_was_answered(gateway);
        for (person, count) in self.people.iter().zip(said) {
            self.check_answers(person.chat(), count);
        }
        self.check_files();
        self.hits
    }

    /// Now and then Telegram has the answer, and the gateway does not hear of it.
    fn lose_confirmations(&self) {
        let (lost, count) = (Arc::clone(&self.lost), Mutex::new(0));
        self.telegram
            .fail_when(usize::MAX, Fault::LostReply, move |call| {
                let text = call.parameters["text"].as_str().unwrap_or_default();
                if call.method != "sendMessage" || !text.starts_with(DONE) {
                    return false;
                }
                let mut count = count.lock().unwrap();
                *count += 1;
                let is_lost = *count % LOST == 0;
                if is_lost {
                    lost.lock().unwrap().push(text.to_owned());
                }
                is_lost
            });
    }

    /// Starts the gateway, and kills it at a random instant after a random request.
    fn kill_once(&mut self) {
        let (asked, sent) = (
            self.model.requests().len(),
            self.telegram.calls("sendMessage").len(),
        );
        let gateway = Gateway::start(&self.home);
        let count = 1 + (self.chance.next() * 4.0) as usize;
        if self.chance.next() < 0.5 {
            self.model.wait_for_requests(asked + count);
        } else {
            self.telegram
                .wait_for_calls("sendMessage", sent + count.min(2));
        }
        // Not a wait for something, but the instant at which the power goes.
        thread::sleep(SPAN.mul_f64(self.chance.next()));
        let output = gateway.kill();
        assert!(!output.stderr.contains("ERROR"), "{output:#?}");
        self.look();
    }

    /// Counts what the kill hit, and notes which answers waited for delivery.
    fn look(&mut self) {
        let pending = self.pending();
        self.hits.pending += usize::from(!pending.is_empty());
        self.hits.waiting += usize::from(!self.waiting().is_empty());
        let unfinished = |id: &i64| {
            let journal = self.journal(*id);
            let last = journal.lines().last().unwrap_or_default().to_owned();
            !last.is_empty() && !last.contains("\"turn\"")
        };
        self.hits.in_turns += usize::from((1..=PEOPLE).any(|id| unfinished(&id)));
        for text in pending {
            *self.unconfirmed.entry(text).or_default() += 1;
        }
    }

    /// Telegram sends updates again that were answered long ago: nothing comes of it.
    fn repeat_what_was_answered(&self, gateway: Gateway) {
        let asked = self.model.requests().len();
        let newest = self.telegram.offset();
        for update in newest - 20..=newest {
            self.telegram.repeat(update);
        }
        self.people[0].says("/id");
        let is_answer = |message: &Message| message.text.starts_with(ID_ANSWER);
        self.telegram
            .wait_for_message(self.people[0].chat(), is_answer);
        gateway.stop().ends_with(0);
        assert_eq!(self.model.requests().len(), asked);
    }

    /// What the bot has said of what is done.
    fn sent(&self, place: Place) -> Vec<String> {
        let messages = self.telegram.messages(place).into_iter();
        messages
            .map(|message| message.text)
            .filter(|text| !text.starts_with(ID_ANSWER))
            // A kill in the middle of a write leaves a part of a line, and the person hears of it.
            .filter(|text| !(text.starts_with("Note: ") && text.contains("torn by a crash")))
            // A draft that was sent just before a kill stays: nothing knows of it. On a busy machine there are some.
            .filter(|text| !text.starts_with("▸ "))
            .collect()
    }

    /// Each message is answered, in order; twice only where the confirmation was lost.
    fn check_answers(&self, place: Place, count: usize) {
        let sent = self.sent(place);
        let mut distinct = sent.clone();
        distinct.dedup();
        let answered: Vec<&str> = distinct.iter().flat_map(|text| done(text)).collect();
        let expected: Vec<String> = (1..=count).map(|number| line(place.chat, number)).collect();
        assert_eq!(answered, expected, "{sent:#?}");
        let lost = self.lost.lock().unwrap();
        for text in &distinct {
            let times = sent.iter().filter(|other| *other == text).count();
            let kills = self.unconfirmed.get(text).copied().unwrap_or(0);
            let losses = lost.iter().filter(|other| *other == text).count();
            assert!(
                times <= 1 + kills + losses,
                "{text:?} came {times} times; {kills} kills and {losses} lost confirmations allow for it"
            );
        }
    }

    fn check_files(&self) {
        let log = std::fs::read_to_string(self.home.workspace("log.txt")).unwrap();
        let mut lines: Vec<&str> = log.lines().collect();
        lines.sort_unstable();
        let twice = lines.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "a tool ran twice");
        let outbox = std::fs::read_to_string(self.home.path().join("outbox.jsonl")).unwrap();
        assert_eq!(outbox, "");
        assert_eq!(self.waiting(), Vec::<String>::new());
        for person in 1..=PEOPLE {
            let session = format!("telegram:{person}");
            let shown = Program::new(&self.home).args(["sessions", "show", &session]);
            let shown = shown.run().ends_with(0);
            let said = format!("{}{}", shown.stdout, shown.stderr);
            assert!(
                !said.contains("torn") && !said.contains("unreadable"),
                "{said}"
            );
        }
    }

    fn journal(&self, person: i64) -> String {
        let file = format!("sessions/telegram_{person}.jsonl");
        std::fs::read_to_string(self.home.path().join(file)).unwrap_or_default()
    }

    /// The texts that wait for delivery, by the outbox's lines.
    fn pending(&self) -> Vec<String> {
        let mut pending = BTreeMap::new();
        for record in self.records("outbox.jsonl") {
            if let Some(text) = record["message"]["text"].as_str() {
                pending.insert(record["id"].as_u64(), text.to_owned());
            }
            if let Some(id) = record["done"].as_u64() {
                pending.remove(&Some(id));
            }
        }
        pending.into_values().collect()
    }

    /// The ids of messages that were accepted and that no session has.
    fn waiting(&self) -> Vec<String> {
        let mut waiting = Vec::new();
        for record in self.records("inbox.jsonl") {
            if let Some(id) = record["accepted"]["id"].as_str() {
                waiting.push(id.to_owned());
            }
            if let Some(id) = record["taken"].as_str() {
                waiting.retain(|other| other != id);
            }
        }
        waiting
    }

    fn records(&self, file: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.home.path().join(file)).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

fn line(person: i64, number: usize) -> String {
    format!("p{person}n{number}")
}

/// Says one thing after the other, each when the one before is answered; returns how many.
fn talk(telegram: &Telegram, person: &Person, is_over: &AtomicBool) -> usize {
    let place = person.chat();
    let mut count = 0;
    while !is_over.load(Ordering::SeqCst) {
        let messages = if (count + 1) % PAIRED == 0 { 2 } else { 1 };
        for _ in 0..messages {
            count += 1;
            person.says(&format!("write {}", line(place.chat, count)));
        }
        let last = line(place.chat, count);
        telegram.wait_for_message(place, |message| {
            message.text.split_whitespace().any(|word| word == last)
        });
    }
    count
}

/// Random instants that are the same in each run of the test (splitmix64).
struct Chance(u64);

impl Chance {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }
}
