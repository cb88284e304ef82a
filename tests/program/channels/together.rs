//! All channels at once, and what a connected one takes.

use std::fs;
use std::thread::{sleep, spawn};
use std::time::Duration;

use serde_json::Value;

use super::{HERE, Service, Who};
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, say};
use crate::harness::program::{PEACRAB, Program};
use crate::harness::wait_until;

/// The program to measure instead of the one for tests, whose pages are not those that people run.
const MEASURED: &str = "PEACRAB_TEST_MEASURED";
/// Set where that program is on an emulated card. Elsewhere the disk's read-ahead decides on what is resident, and it is
/// only printed.
const ON_CARD: &str = "PEACRAB_TEST_CARD";
/// Bytes of anonymous memory that a connected channel may add. On a busy machine the same one takes a seventh more or less.
const CHANNEL_BYTES: u64 = 132 * 1024;
/// By how much two runs of the same gateway differ: two pages.
const NOISE_BYTES: u64 = 8 * 1024;
/// Bytes of anonymous memory with all of them after an answer on each, and of resident memory at most.
const ALL_BYTES: u64 = 2_180_000;
const ALL_PEAK_BYTES: u64 = 8_930_000;
/// What people write.
const WORDS: [&str; 2] = ["apples", "oranges"];
/// Before it is looked at, an idle gateway gets this time to come to rest, longer than its threads linger: it is
/// measured, and nothing waits for it.
const SETTLES: Duration = Duration::from_secs(35);
/// How often a gateway with one more channel is measured.
const RUNS: usize = 3;

/// A channel of any kind.
struct Channel {
    name: &'static str,
    section: Value,
    settings: Vec<(&'static str, Value)>,
    act: Box<dyn Act>,
}

/// What is asked of it.
trait Act {
    fn connecting(&self) -> Box<dyn FnOnce() + '_>;
    fn says(&self, text: &str);
    fn has(&self, text: &str) -> bool;
}

impl<S: Service> Act for S {
    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        Service::connecting(self)
    }

    fn says(&self, text: &str) {
        Service::says(self, Who::Ana, HERE, text);
    }

    fn has(&self, text: &str) -> bool {
        self.shown(HERE)
            .iter()
            .any(|shown| shown.text.contains(text))
    }
}

fn channel<S: Service + 'static>() -> Channel {
    let service = S::start();
    Channel {
        name: S::NAME,
        section: service.section(),
        settings: service.settings(),
        act: Box::new(service),
    }
}

fn channels() -> Vec<Channel> {
    vec![
        channel::<super::telegram::Service>(),
        channel::<super::discord::Service>(),
        channel::<super::slack::Service>(),
        channel::<super::matrix::Service>(),
        channel::<super::email::Service>(),
        channel::<super::feishu::Service>(),
        channel::<super::local::Service>(),
        channel::<super::whatsapp::Service>(),
        channel::<super::qq::Service>(),
        channel::<super::mochat::Service>(),
        channel::<super::dingtalk::Service>(),
        channel::<super::irc::Service>(),
    ]
}

fn home(model: &Model, channels: &[&Channel]) -> Home {
    let mut home = Home::with_model(model);
    let sections = channels
        .iter()
        .map(|channel| (channel.name.to_owned(), channel.section.clone()));
    home.set("/channels", Value::Object(sections.collect()));
    for (pointer, value) in channels.iter().flat_map(|channel| &channel.settings) {
        home.set(pointer, value.clone());
    }
    home
}

/// A gateway that is connected to these.
fn start(home: &Home, channels: &[&Channel]) -> Gateway {
    let connected: Vec<_> = channels
        .iter()
        .map(|channel| channel.act.connecting())
        .collect();
    let program = std::env::var(MEASURED).unwrap_or_else(|_| PEACRAB.to_owned());
    let gateway = Gateway::of(Program::of(&program, home).arg("gateway"));
    connected.into_iter().for_each(|connected| connected());
    gateway
}

/// Somebody writes on each channel, and all are answered.
fn talk(channels: &[&Channel], text: &str) {
    channels.iter().for_each(|channel| channel.act.says(text));
    for channel in channels {
        wait_until(&format!("an answer on {}", channel.name), || {
            channel.act.has(&format!("You said {text}."))
        });
    }
}

fn model() -> Model {
    Model::answering(|request| {
        let asked = request.last_message();
        let word = WORDS.iter().rfind(|word| asked.contains(**word));
        say(&format!("You said {}.", word.unwrap_or(&"nothing")))
    })
}

/// Bytes of a line of a process's status, such as `VmHWM:`.
fn status(gateway: &Gateway, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn all_channels_are_served_at_once() {
    let model = model();
    let all = channels();
    let all: Vec<&Channel> = all.iter().collect();
    let home = home(&model, &all);
    let gateway = start(&home, &all);
    WORDS.iter().for_each(|word| talk(&all, word));
    gateway.stop().ends_with(0);
}

/// Bytes of anonymous memory of a gateway once it has come to rest.
fn idle(gateway: &Gateway) -> u64 {
    sleep(SETTLES);
    status(gateway, "RssAnon:")
}

/// What a gateway takes at least that is connected to Telegram alone, or to one more channel. A busy machine has it take a
/// page or two more now and then.
fn with_telegram_and<S: Service + 'static>() -> u64 {
    (0..RUNS).map(|_| one_run_with::<S>()).min().unwrap()
}

fn one_run_with<S: Service + 'static>() -> u64 {
    let model = model();
    let mut both = vec![channel::<super::telegram::Service>()];
    if S::NAME != both[0].name {
        both.push(channel::<S>());
    }
    let both: Vec<&Channel> = both.iter().collect();
    let home = home(&model, &both);
    let gateway = start(&home, &both);
    let taken = idle(&gateway);
    gateway.stop().ends_with(0);
    taken
}

macro_rules! each {
    ($($channel:ident),+) => {{
        let measured = [$((
            stringify!($channel),
            spawn(with_telegram_and::<super::$channel::Service>),
        )),+];
        measured.map(|(name, taken)| (name, taken.join().unwrap()))
    }};
}

/// `make footprint` runs it with the program that people run.
#[test]
#[ignore = "measures for three minutes"]
fn a_connected_channel_takes_little_memory() {
    let taken = each!(
        telegram, discord, slack, matrix, email, feishu, local, whatsapp, qq, mochat, dingtalk, irc
    );
    let ((_, alone), others) = taken.split_first().unwrap();
    println!("anonymous memory of a gateway with Telegram: {alone} bytes");
    let more = others
        .iter()
        .map(|(name, with)| (name, with.saturating_sub(*alone)));
    let large = more
        .inspect(|(name, more)| println!("  with {name}, more: {more} bytes"))
        .filter(|(_, more)| *more > CHANNEL_BYTES + NOISE_BYTES);
    let large: Vec<_> = large.collect();

    let model = model();
    let all = channels();
    let all: Vec<&Channel> = all.iter().collect();
    let home = home(&model, &all);
    let gateway = start(&home, &all);
    println!("with all {}: {} bytes", all.len(), idle(&gateway));
    talk(&all, WORDS[0]);
    let answered = idle(&gateway);
    let peak = status(&gateway, "VmHWM:");
    println!(
        "  after an answer on each: {answered} bytes; resident {} bytes, at most {peak}",
        status(&gateway, "VmRSS:")
    );
    gateway.stop().ends_with(0);
    assert!(large.is_empty(), "more than {CHANNEL_BYTES}: {large:?}");
    assert!(answered <= ALL_BYTES, "more than {ALL_BYTES}");
    let on_card = std::env::var_os(ON_CARD).is_some();
    assert!(
        !on_card || peak <= ALL_PEAK_BYTES,
        "more than {ALL_PEAK_BYTES}"
    );
}
