//! The workers and their calls, with a channel made up for them and a real outbox.

mod turns;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

mod choices;

use super::plan::capabilities;
use crate::base::approval::{Answer, Cause, Question};
use crate::base::bus::{Heartbeat, Heartbeats};
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::{Address, CommandButton, DraftKey, OutgoingMessage, SessionKey};
use crate::channels::delivery::question::Asked;
use crate::channels::delivery::{Delivery, DeliveryParts, Observer};
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::choices::Choices;
use crate::channels::kit::sink::SharedSink;
use crate::config::schema::Tools;
use crate::sandbox::files::{Places, Workspace};
use crate::store::outbox::{ClosesTurn, Outbox};
use crate::store::outgoing::OutgoingFiles;
use crate::store::state::Languages;
use crate::sys::beneath::Resolver;

/// Longest wait for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);
/// A person who is asked.
const ENGLISH: Asked<'_> = Asked {
    language: Language::English,
    only_for: "",
};

type Script = dyn Fn(&str) -> Option<Failure> + Send + Sync;

/// A channel that records what it is asked for. Messages are split at `|`.
struct Channel {
    capabilities: Capabilities,
    /// What a call fails with, by its description.
    script: Box<Script>,
    calls: Mutex<Vec<String>>,
    called: Condvar,
    messages: AtomicUsize,
    connections: AtomicUsize,
}

struct Fake(Arc<Channel>);

/// What the observer was told, as lines.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Observer for Seen {
    fn sends(&self, _: &OutgoingMessage) {}

    fn shows(&self, _: &Address, _: &[Vec<CommandButton>]) {}

    fn given_up(&self, message: &OutgoingMessage, why: &str, is_chat_gone: bool) {
        let (to, text) = (&message.to, &message.text);
        let gone = if is_chat_gone { ", gone" } else { "" };
        let line = format!("{to}: {text} given up{gone}: {why}");
        self.0.lock().unwrap().push(line);
    }

    fn set_aside(&self, message: &OutgoingMessage, why: &str, is_first: bool) {
        let (to, text) = (&message.to, &message.text);
        let told = if is_first { ", first" } else { "" };
        let line = format!("{to}: {text} set aside{told}: {why}");
        self.0.lock().unwrap().push(line);
    }

    fn asked(&self, _: u64, _: &str) {}

    fn moved(&self, from: &Address, to: &Address) {
        self.0.lock().unwrap().push(format!("{from} is {to}"));
    }
}

struct Line(Arc<Channel>, Cancel);

impl Line {
    /// Records a call of a chat. One whose description has "hang" in it lasts until the end.
    fn call(&self, what: String) -> Sent {
        if what.contains("hang") && self.1.wait(PATIENCE) {
            return Err(Failure::Stopped);
        }
        let failure = (self.0.script)(&what);
        let outcome = if failure.is_some() { " failed" } else { "" };
        self.0.calls.lock().unwrap().push(what + outcome);
        self.0.called.notify_all();
        failure.map_or(Ok(()), Err)
    }
}

fn describe(post: &Post<'_>) -> String {
    let labels = post.buttons.concat().into_iter().map(|button| button.label);
    let labels = labels.collect::<Vec<_>>().join(",");
    let mode = if post.is_marked { "" } else { " plain" };
    let reply = post.reply_to.map(|to| format!(" to {to}"));
    let buttons = if labels.is_empty() {
        labels
    } else {
        format!(" [{labels}]")
    };
    format!("{}{mode}{}{buttons}", post.text, reply.unwrap_or_default())
}

impl Adapter for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        (address.chat != "none").then_some(false)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        let pieces = markdown.split('|').filter(|piece| !piece.is_empty());
        let piece = |text: &str| Piece {
            written: text.to_owned(),
            plain: text.to_owned(),
        };
        pieces.map(piece).collect()
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        self.render(markdown).pop()
    }

    fn identify(&self, _: &Cancel) -> Sent<String> {
        Ok("Fake".to_owned())
    }

    fn connect(&self, cancel: &Cancel, _: &Heartbeat) -> Result<Box<dyn Connection>> {
        self.0.connections.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Line(Arc::clone(&self.0), cancel.clone())))
    }

    fn receive(&self, _: SharedSink, _: Heartbeat, _: Cancel) {}
}

impl Connection for Line {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        self.call(format!("{}: send {}", to.chat, describe(post)))?;
        Ok(self.0.messages.fetch_add(1, Ordering::SeqCst).to_string())
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        self.call(format!("{}: edit {message} {}", to.chat, describe(post)))
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        self.call(format!("{}: delete {message}", to.chat))
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        let mut content = String::new();
        (&mut &*upload.file).read_to_string(&mut content).unwrap();
        self.call(format!("{}: upload {} {content}", to.chat, upload.name))
    }

    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent {
        self.call(format!("{}: react {message} {emoji}", to.chat))
    }

    fn typing(&mut self, to: &Address) -> Sent {
        self.call(format!("{}: typing", to.chat))
    }

    fn fetch(&mut self, _: &str, _: &mut File, _: usize) -> Sent {
        Err(Failure::Stopped)
    }

    fn set_menu(&mut self, commands: &[MenuEntry]) -> Sent {
        self.call(format!("menu {}", commands.len()))
    }
}

struct Scene {
    folder: tempfile::TempDir,
    /// The runtime runs until it is dropped.
    _end: tokio::sync::oneshot::Sender<()>,
    channel: Arc<Channel>,
    outbox: Arc<Outbox>,
    seen: Arc<Seen>,
    heartbeats: Heartbeats,
    delivery: Delivery,
}

impl Scene {
    fn new(script: impl Fn(&str) -> Option<Failure> + Send + Sync + 'static) -> Self {
        Self::with(script, PATIENCE, Vec::new())
    }

    fn with(
        script: impl Fn(&str) -> Option<Failure> + Send + Sync + 'static,
        linger: Duration,
        menu: Vec<MenuEntry>,
    ) -> Self {
        Self::made(script, linger, menu, None)
    }

    fn made(
        script: impl Fn(&str) -> Option<Failure> + Send + Sync + 'static,
        linger: Duration,
        menu: Vec<MenuEntry>,
        choices: Option<Arc<Choices>>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let timers = runtime.handle().clone();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        std::thread::spawn(move || runtime.block_on(ended));
        let channel = Arc::new(Channel {
            capabilities: Capabilities {
                buttons: choices.is_none(),
                edits: choices.is_none(),
                chat_interval: Duration::ZERO,
                quotes: true,
                edit_interval: Some(Duration::from_millis(20)),
                ..capabilities()
            },
            script: Box::new(script),
            calls: Mutex::default(),
            called: Condvar::new(),
            messages: AtomicUsize::new(50),
            connections: AtomicUsize::new(0),
        });
        let places = Places {
            workspace: &folder.path().join("workspace"),
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let workspace = Arc::new(workspace);
        let outbox = Arc::new(Outbox::open(&folder.path().join("outbox.jsonl")).unwrap());
        let heartbeats = Heartbeats::default();
        let seen = Arc::<Seen>::default();
        let parts = DeliveryParts {
            adapter: Arc::new(Fake(Arc::clone(&channel))),
            outbox: Arc::clone(&outbox),
            observer: Arc::clone(&seen) as Arc<dyn Observer>,
            outgoing: OutgoingFiles::new(folder.path().join("outgoing")),
            workspace_with: Box::new(move |_| Ok(Arc::clone(&workspace))),
            languages: Arc::new(Languages::new(folder.path())),
            clock: Clock::System,
            heartbeats: heartbeats.clone(),
            timers,
            menu: Box::new(move || menu.clone()),
            max_retries: 5,
            choices,
        };
        Self {
            delivery: Delivery::with_linger(parts, linger),
            folder,
            _end: end,
            channel,
            outbox,
            seen,
            heartbeats,
        }
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join("workspace").join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn send(&self, message: &OutgoingMessage) {
        self.outbox.add(message, None).unwrap();
        self.delivery.wake();
    }

    fn say(&self, to: &str, text: &str) {
        self.send(&OutgoingMessage::text(&chat(to), text));
    }

    fn calls(&self) -> Vec<String> {
        self.channel.calls.lock().unwrap().clone()
    }

    /// Waits until a call has been made.
    #[track_caller]
    fn wait_for(&self, what: &str) {
        let calls = self.channel.calls.lock().unwrap();
        let is_missing = |calls: &mut Vec<String>| !calls.iter().any(|call| call == what);
        let waited = self
            .channel
            .called
            .wait_timeout_while(calls, PATIENCE, is_missing);
        let (calls, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "{what:?} is not in {calls:?}");
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let watch = Stopwatch::start();
        while !is_so() {
            assert!(watch.elapsed() < PATIENCE, "{what}: {:?}", self.calls());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn wait_until_empty(&self) {
        self.wait_until("messages are pending", || self.outbox.count() == 0);
    }

    fn alive(&self) -> usize {
        self.delivery.0.lock().alive
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.delivery.stop();
    }
}

fn chat(name: &str) -> Address {
    Address::new("fake", name)
}

fn server_error() -> Option<Failure> {
    Some(Failure::Trouble("502".to_owned()))
}

#[test]
fn a_chat_that_hangs_and_one_in_trouble_delay_nobody_and_an_end_is_an_end() {
    let scene = Scene::new(|call| call.starts_with("sick").then(server_error).flatten());
    scene.say("hanging", "first");
    scene.say("sick", "second");
    for number in 0..20 {
        scene.say(&number.to_string(), "third");
    }
    scene.wait_for("19: send third");
    scene.wait_for("sick: send second failed");
    scene.say("1", "fourth");
    scene.wait_for("1: send fourth");
    assert_eq!(scene.heartbeats.late(), None);
    scene.delivery.stop();
    assert_eq!(scene.alive(), 0);
    let left: Vec<String> = scene
        .outbox
        .pending()
        .into_iter()
        .map(|left| left.message.text)
        .collect();
    assert_eq!(left, ["first", "second"]);
}

#[test]
fn workers_come_when_something_is_pending_and_go_when_nothing_is() {
    let linger = Duration::from_millis(50);
    let scene = Scene::with(
        |_| None,
        linger,
        vec![MenuEntry::built_in("help", |_| "Help")],
    );
    assert_eq!(scene.alive(), 0);
    scene.say("1", "hello");
    scene.wait_for("menu 1");
    scene.wait_until("a worker stays", || scene.alive() == 0);
    assert_eq!(scene.calls(), ["1: send hello", "menu 1"]);
    scene.say("1", "again");
    scene.wait_for("1: send again");
    scene.wait_until("a worker stays", || scene.alive() == 0);
    assert_eq!(scene.channel.connections.load(Ordering::SeqCst), 2);
}

/// A worker that took the place of a starting one made it count below zero: from then on every worker
/// that went to rest was woken at once, and one of them ran for ever.
#[test]
fn a_worker_that_rests_does_not_take_the_place_of_one_that_starts() {
    let scene = Scene::with(|_| None, Duration::from_millis(1), Vec::new());
    let shared = &scene.delivery.0;
    let mut inner = shared.lock();
    inner.starting = 1;
    let (mut inner, is_over) = shared.rest(inner);
    assert!(is_over && inner.starting == 1 && inner.woken == 0);
    inner.starting = 0;
}

#[test]
fn pieces_come_in_order_then_files_and_the_rest_after_a_failure() {
    let failures = AtomicUsize::new(0);
    let scene = Scene::new(move |call| match call.contains("two") {
        true if failures.fetch_add(1, Ordering::SeqCst) == 0 => server_error(),
        _ => None,
    });
    let message = OutgoingMessage {
        files: vec![scene.file("a.txt", "content"), "/etc/shadow".to_owned()],
        buttons: vec![vec!["Yes".to_owned()]],
        reply_to: "7".to_owned(),
        ..OutgoingMessage::text(&chat("1"), "one|two")
    };
    scene.send(&message);
    scene.wait_until_empty();
    let calls = scene.calls();
    assert_eq!(
        calls[..4],
        [
            "1: send one to 7",
            "1: send two [Yes] failed",
            "1: send two [Yes]",
            "1: upload a.txt content"
        ]
    );
    assert!(
        calls[4].starts_with("1: send The file `shadow` could not be sent: "),
        "{calls:?}"
    );
}

#[test]
fn a_picture_that_was_made_for_a_message_is_deleted_with_it_and_no_other_file_is() {
    let scene = Scene::new(|call| match call {
        "2: send gone" => Some(Failure::Gone {
            said: "blocked".to_owned(),
            moved_to: None,
        }),
        _ => None,
    });
    let pictures = scene.folder.path().join("outgoing");
    std::fs::create_dir(&pictures).unwrap();
    let picture = |name: &str| {
        let path = pictures.join(name);
        std::fs::write(&path, "pixels").unwrap();
        path.to_str().unwrap().to_owned()
    };
    let own = scene.file("own.txt", "content");
    let sent = OutgoingMessage {
        files: vec![picture("1~plot.png"), own.clone()],
        made_files: vec![picture("1~plot.png")],
        ..OutgoingMessage::text(&chat("1"), "")
    };
    let refused = OutgoingMessage {
        files: vec![picture("2~plot.png")],
        made_files: vec![picture("2~plot.png")],
        ..OutgoingMessage::text(&chat("2"), "gone")
    };
    let kept = OutgoingMessage {
        files: vec![picture("3~plot.png")],
        ..OutgoingMessage::text(&chat("3"), "")
    };
    [sent, refused, kept]
        .iter()
        .for_each(|message| scene.send(message));
    scene.wait_until_empty();
    let calls = scene.calls();
    assert!(
        calls.contains(&"1: upload plot.png pixels".to_owned()),
        "{calls:?}"
    );
    let begin = std::time::Instant::now();
    let left = || {
        let entries = std::fs::read_dir(&pictures).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    // The outbox is empty a moment before the files are gone.
    while left() != ["3~plot.png"] {
        assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", left());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(std::path::Path::new(&own).exists());
}

#[test]
fn rejected_markup_goes_as_plain_text_and_final_failures_end_their_message() {
    let scene = Scene::new(|call| match call {
        "1: send *a*" => Some(Failure::Markup("unclosed".to_owned())),
        "2: send b" => Some(Failure::Gone {
            said: "blocked".to_owned(),
            moved_to: None,
        }),
        "3: send c" => Some(Failure::Gone {
            said: "upgraded".to_owned(),
            moved_to: Some(chat("9")),
        }),
        _ => None,
    });
    for (to, text) in [
        ("1", "*a*"),
        ("2", "b"),
        ("3", "c"),
        ("none", "d"),
        ("3", "e"),
    ] {
        let message = OutgoingMessage::text(&chat(to), text);
        scene.outbox.add(&message, None).unwrap();
    }
    scene.delivery.wake();
    scene.wait_until_empty();
    let mut calls = scene.calls();
    calls.sort();
    assert_eq!(
        calls,
        [
            "1: send *a* failed",
            "1: send *a* plain",
            "2: send b failed",
            "3: send c failed",
            "9: send c",
            "9: send e"
        ]
    );
    let mut seen = scene.seen.0.lock().unwrap().clone();
    seen.sort();
    let expected = [
        "fake:2: b given up, gone: blocked",
        "fake:3 is fake:9",
        "fake:none: d given up, gone: not an address of the channel",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_channel_that_is_down_is_tried_again_when_the_receiver_reaches_it() {
    let is_down = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let scene = Scene::new(move |_| {
        let is_down = down.load(Ordering::SeqCst);
        is_down.then(|| Failure::Down("no route".to_owned()))
    });
    scene.say("1", "one");
    scene.say("2", "two");
    // By now the next try is seconds away.
    scene.wait_until("it is not tried", || scene.calls().len() >= 4);
    is_down.store(false, Ordering::SeqCst);
    scene.delivery.reachable();
    scene.wait_until_empty();
    let calls = scene.calls();
    let sent: BTreeMap<&str, usize> = calls.iter().fold(BTreeMap::new(), |mut sent, call| {
        *sent.entry(call.as_str()).or_default() += 1;
        sent
    });
    assert_eq!((sent["1: send one"], sent["2: send two"]), (1, 1));
}

#[test]
fn a_message_that_always_fails_is_set_aside_and_the_rest_of_its_chat_goes_on() {
    let is_mended = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&is_mended);
    let scene = Scene::new(move |what| {
        let is_bad = what.contains("send bad") && seen.load(Ordering::SeqCst) == 0;
        is_bad.then(server_error).flatten()
    });
    scene.delivery.set_patience(Duration::from_secs(3));
    scene.say("1", "bad");
    scene.wait_for("1: send bad failed");
    scene.say("1", "good");
    // Alone, the first one is no proof that the channel works.
    scene.say("2", "hello");
    scene.wait_for("1: send good");
    scene.wait_until("messages wait", || scene.outbox.count() == 0);
    let told = scene.seen.0.lock().unwrap().clone();
    assert_eq!(told, ["fake:1: bad set aside, first: 502"]);
    assert_eq!(scene.outbox.count_aside(), 1);
    is_mended.store(1, Ordering::SeqCst);
    assert_eq!(scene.outbox.retry().unwrap(), 1);
    scene.delivery.wake();
    scene.wait_for("1: send bad");
    scene.wait_until_empty();
}
