//! A crowd: people who do at random what people do, some of it before the start, and in one story the
//! gateway is killed again and again. Every message is answered or refused by name, in its chat and in
//! its order, and nothing twice.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::order::words;
use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, Step, call, say};
use crate::harness::telegram::{Fault, Media, Person, Said, Upload};

/// How long the last answers may take: a chat gets one message a second.
const LONGEST: Duration = Duration::from_secs(150);
/// Sets the seed of a crowd, to see again what went wrong.
const SEED: &str = "PEACRAB_TEST_SEED";
const NAMES: [&str; 5] = ["Ana", "Ben", "Cleo", "Dora", "Emil"];

/// Random numbers that are the same for the same seed (splitmix64).
struct Chance(u64);

impl Chance {
    /// One that the environment sets, or else the clock. It is printed where the test fails.
    fn new() -> Self {
        let set = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        let seed = set.unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::from(since.subsec_nanos()) ^ since.as_secs()
        });
        eprintln!("{SEED}={seed}");
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// What somebody has sent, and what is to come of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    /// A message, by the word in it that no other has: the model repeats it.
    Word(String),
    /// `/new`, which keeps its place among the messages.
    New,
    /// `/sh echo` of a word.
    Sh(String),
    /// A command whose answer contains these words.
    Other(&'static str, &'static str),
}

/// One of the crowd.
struct Member {
    person: Person,
    sent: Vec<Sent>,
    /// What can be edited.
    texts: Vec<(Said, String)>,
}

impl Member {
    fn new(person: Person) -> Self {
        Self {
            person,
            sent: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// A word that is in no other message.
    fn word(&self, mark: char) -> String {
        format!("{mark}{}n{}e", self.person.chat().chat, self.sent.len())
    }

    /// Does something.
    fn act(&mut self, chance: &mut Chance) {
        let word = self.word('q');
        let upload = |media, name| Upload::new(media, name, "content");
        match chance.below(100) {
            0..40 => {
                let said = self.person.says(&word);
                self.texts.push((said, word.clone()));
                self.sent.push(Sent::Word(word));
            }
            40..50 => {
                let Some((said, text)) = self.texts.last() else {
                    return;
                };
                self.person.edits(said, &format!("{text} edited"));
            }
            50..56 => {
                let name = format!("{word}.txt");
                self.person
                    .sends(upload(Media::Document, &name).caption(&word));
                self.sent.push(Sent::Word(word));
            }
            56..60 => {
                let photo = Upload::new(Media::Photo, "", b"\xff\xd8\xff");
                self.person
                    .sends_album([photo.clone().caption(&word), photo]);
                self.sent.push(Sent::Word(word));
            }
            60..68 => self.command("/id", Sent::Other("/id", "This chat:")),
            68..74 => self.command("/status", Sent::Other("/status", "Gateway:")),
            74..80 => self.command("/model", Sent::Other("/model", "Model: ")),
            80..88 => self.command("/new", Sent::New),
            _ => {
                let word = self.word('s');
                self.command(&format!("/sh echo {word}"), Sent::Sh(word));
            }
        }
    }

    fn command(&mut self, text: &str, sent: Sent) {
        self.person.says(text);
        self.sent.push(sent);
    }
}

/// What stands in a chat, read as answers.
#[derive(Debug, Default)]
struct Heard {
    /// Messages and `/new`, in their order.
    in_order: Vec<Sent>,
    beside: Vec<Sent>,
    /// What was refused or interrupted by name, as it is named.
    named: Vec<String>,
    /// What is none of these.
    strange: Vec<String>,
}

impl Heard {
    fn of(texts: &[String]) -> Self {
        let mut heard = Self::default();
        for text in texts {
            let text = text.trim();
            if let Some(words) = text.strip_prefix("heard ") {
                let words = words.split(' ').map(str::to_owned);
                heard.in_order.extend(words.map(Sent::Word));
            } else if text.starts_with("Started a new conversation") {
                heard.in_order.push(Sent::New);
            } else if let Some(names) = text.strip_prefix("Not accepted: ") {
                let names = names.split(". ").next().unwrap_or_default();
                heard.named.extend(names.split(", ").map(str::to_owned));
            } else if let Some((name, _)) = text.split_once(" was interrupted by a restart") {
                heard.named.push(name.to_owned());
            } else if text.starts_with("I have read that message already") {
                // An edit came too late.
            } else if text.contains("Gateway:") {
                heard.beside.push(Sent::Other("/status", "Gateway:"));
            } else if text.contains("This chat:") {
                heard.beside.push(Sent::Other("/id", "This chat:"));
            } else if text.contains("Model: ") {
                heard.beside.push(Sent::Other("/model", "Model: "));
            } else if let Some(word) = output_of_echo(text) {
                heard.beside.push(Sent::Sh(word.to_owned()));
            } else {
                heard.strange.push(text.to_owned());
            }
        }
        heard
    }

    /// Whether something was refused or interrupted by its name.
    fn names(&self, sent: &Sent) -> bool {
        let name = match sent {
            Sent::Word(word) => word.clone(),
            Sent::New => "/new".to_owned(),
            Sent::Sh(word) => format!("/sh echo {word}"),
            Sent::Other(command, _) => (*command).to_owned(),
        };
        let edited = format!("{name} edited");
        self.named
            .iter()
            .any(|named| *named == name || *named == edited)
    }

    /// What was sent and has no answer yet.
    fn missing<'a>(&self, sent: &'a [Sent]) -> Vec<&'a Sent> {
        let mut answers: Vec<&Sent> = self.in_order.iter().chain(&self.beside).collect();
        let is_missing = |sent: &&Sent| {
            let found = answers.iter().position(|answer| answer == sent);
            found.map(|at| answers.swap_remove(at)).is_none() && !self.names(sent)
        };
        sent.iter().filter(is_missing).collect()
    }
}

/// The word that a command has written below its prompt, whatever is said about its shell.
fn output_of_echo(text: &str) -> Option<&str> {
    let (_, output) = text.strip_prefix("~ $ echo ")?.split_once('\n')?;
    let word = output.lines().next()?;
    is_word(word, 's').then_some(word)
}

fn is_word(text: &str, mark: char) -> bool {
    let inner = text
        .strip_prefix(mark)
        .and_then(|rest| rest.strip_suffix('e'));
    inner.is_some_and(|inner| inner.split('n').all(|part| part.parse::<u64>().is_ok()))
}

/// The model: it repeats what it has heard since its last answer, and sometimes looks around first.
fn answer(request: &Request) -> Step {
    let messages = request.messages();
    let is_answer = |message: &serde_json::Value| {
        message["role"] == "assistant" && message["tool_calls"].is_null()
    };
    let last = messages.iter().rposition(is_answer);
    let mut turn = request.clone();
    let since = &messages[last.map_or(0, |at| at + 1)..];
    // Once in a turn: who is written to while it looks would otherwise look again each time, and go in circles.
    let has_looked = since.iter().any(|message| message["role"] == "tool");
    turn.body = json!({"messages": since});
    let heard: Vec<String> = words(&turn)
        .iter()
        .flat_map(|text| text.split_whitespace())
        .filter(|word| is_word(word, 'q'))
        .map(str::to_owned)
        .collect();
    let number = heard.iter().map(String::len).sum::<usize>() + messages.len();
    thread::sleep(Duration::from_millis(number as u64 * 37 % 300));
    match number.is_multiple_of(3) && !has_looked {
        true => call("list_dir", json!({"path": "."})),
        false => say(&format!("heard {}", heard.join(" "))),
    }
}

/// A scene with so many people.
fn crowd(people: usize) -> (Scene, Vec<Member>) {
    let mut scene = Scene::answering(answer).set(
        "allowFrom",
        json!(["1001", "1002", "1003", "1004", "1005", "2002"]),
    );
    scene.home.set("/providers/fake/images", json!(true));
    let others = NAMES[1..people].iter().zip(1002..);
    let others = others.map(|(name, id)| scene.telegram.person(id, name, None));
    let people = [scene.ana.clone()].into_iter().chain(others);
    let members = people.map(Member::new).collect();
    (scene, members)
}

/// One after the other acts, with gaps between them.
fn act(members: &mut [Member], chance: &mut Chance, events: usize, longest_gap: u64) {
    for _ in 0..events {
        let member = chance.below(members.len() as u64);
        members[member as usize].act(chance);
        // Mostly none: what people do at once comes in one batch.
        if chance.below(3) == 0 && longest_gap > 0 {
            thread::sleep(Duration::from_millis(chance.below(longest_gap)));
        }
    }
}

fn wait_for_all(scene: &Scene, members: &[Member]) {
    let start = Instant::now();
    for member in members {
        loop {
            let texts = scene.texts_in(member.person.chat());
            let heard = Heard::of(&texts);
            let missing = heard.missing(&member.sent);
            if missing.is_empty() {
                break;
            }
            assert!(
                start.elapsed() < LONGEST,
                "{missing:?} of {:?} is missing in {texts:#?}",
                member.sent
            );
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The words of a chat's journals, oldest first: what the model has been told, each once.
fn journalled(scene: &Scene, member: &Member) -> Vec<String> {
    let mark = format!("q{}n", member.person.chat().chat);
    let folder = fs::read_dir(scene.home.path().join("sessions")).unwrap();
    let paths: BTreeSet<_> = folder.map(|entry| entry.unwrap().path()).collect();
    let mut words = Vec::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        for line in fs::read_to_string(path).unwrap().lines() {
            let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else {
                continue;
            };
            let content = line["content"].as_str().unwrap_or_default();
            let first = content.split_whitespace().next().unwrap_or_default();
            if line["role"] == "user" && first.starts_with(&mark) {
                words.push(first.to_owned());
            }
        }
    }
    words
}

/// What was sent and not refused, of the messages.
fn accepted(member: &Member, heard: &Heard) -> Vec<String> {
    let words = member.sent.iter().filter_map(|sent| match sent {
        Sent::Word(word) if !heard.names(sent) => Some(word.clone()),
        _ => None,
    });
    words.collect()
}

#[test]
fn everybody_in_a_crowd_is_answered_in_order_and_once() {
    let mut chance = Chance::new();
    let (scene, mut members) = crowd(NAMES.len());
    scene.telegram.fail_times("file", 3, Fault::ServerError);
    let file = Upload::new(Media::Document, "first.txt", "content");
    let word = members[0].word('q');
    members[0].person.sends(file.caption(&word));
    members[0].sent.push(Sent::Word(word));
    act(&mut members, &mut chance, 50, 0);
    let gateway = scene.start();
    act(&mut members, &mut chance, 200, 150);
    wait_for_all(&scene, &members);
    gateway.stop().ends_with(0);
    for member in &members {
        let texts = scene.texts_in(member.person.chat());
        let heard = Heard::of(&texts);
        assert!(heard.strange.is_empty(), "{texts:#?}");
        // Which of several /new was refused is not said.
        let knows_new = !heard.names(&Sent::New);
        let is_in_order = |sent: &&Sent| match sent {
            Sent::Word(_) => true,
            Sent::New => knows_new,
            _ => false,
        };
        let is_answered = |sent: &&Sent| !heard.names(sent);
        let in_order: Vec<&Sent> = member.sent.iter().filter(is_in_order).collect();
        let expected = in_order.into_iter().filter(is_answered);
        assert!(
            heard.in_order.iter().filter(is_in_order).eq(expected),
            "{:#?}\nwas answered by {texts:#?}",
            member.sent
        );
        let count = member.sent.len() - heard.in_order.len();
        assert_eq!(heard.beside.len() + heard.named.len(), count, "{texts:#?}");
        assert_eq!(journalled(&scene, member), accepted(member, &heard));
    }
}

#[test]
fn a_crowd_is_answered_although_the_gateway_is_killed_again_and_again() {
    const KILLS: usize = 6;
    let mut chance = Chance::new();
    let (scene, mut members) = crowd(3);
    let mut gateway: Option<Gateway> = None;
    for _ in 0..=KILLS {
        if let Some(gateway) = gateway.take() {
            gateway.kill();
        }
        act(&mut members, &mut chance, 8, 0);
        let started = gateway.insert(scene.start());
        if chance.below(3) > 0 {
            started.wait_for_log("ready");
        }
        act(&mut members, &mut chance, 8, 300);
        // Not a wait for something, but the instant at which the power goes.
        thread::sleep(Duration::from_millis(chance.below(1500)));
    }
    wait_for_all(&scene, &members);
    gateway.unwrap().stop().ends_with(0);
    for member in &members {
        let texts = scene.texts_in(member.person.chat());
        let heard = Heard::of(&texts);
        assert!(heard.strange.is_empty(), "{texts:#?}");
        let journalled = journalled(&scene, member);
        assert_eq!(journalled, accepted(member, &heard), "{texts:#?}");
        // What was being sent when the power went may come once more, and nothing else.
        let expected = member.sent.len();
        let all = heard.in_order.len() + heard.beside.len() + heard.named.len();
        assert!(
            all <= expected + 2 * KILLS,
            "{all} answers to {expected}: {texts:#?}"
        );
    }
}
