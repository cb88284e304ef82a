//! The intake with a channel made up for it: order, files that fail, kills, strangers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::mpsc::Receiver;

use super::*;
use crate::approval::Answer;
use crate::bus;
use crate::channels::adapter::{
    Button, Capabilities, Connection, Failure, Piece, Post, Sent, Upload,
};
use crate::clock::{BUILD_EPOCH, Stopwatch};
use crate::config::schema::Tools;
use crate::files::Places;
use crate::limits::bus::ENTRIES;
use crate::message::{Media, RemoteFile};
use crate::sys::beneath::Resolver;

/// Longest wait for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the channel says when a file is asked for. What is not said is the file.
enum Outcome {
    Fails(Failure),
    /// Waits until the gate is open.
    Waits(Arc<Gate>),
}

#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        let waits = |open: &mut bool| !*open;
        let held = self.0.lock().unwrap();
        let waited = self.1.wait_timeout_while(held, PATIENCE, waits).unwrap();
        assert!(*waited.0, "the gate stayed closed");
    }
}

/// A channel that hands out files and nothing else.
struct Channel {
    capabilities: Capabilities,
    outcomes: Mutex<BTreeMap<String, VecDeque<Outcome>>>,
    /// The files that were asked for, in order.
    asked: Mutex<Vec<String>>,
    connections: AtomicUsize,
}

impl Channel {
    fn new() -> Self {
        Self {
            capabilities: Capabilities {
                button_data_bytes: 64,
                upload_bytes: 1000,
                download_bytes: 1000,
                typing_interval: None,
                chat_interval: Duration::ZERO,
                group_rate: (1, Duration::ZERO),
                total_rate: (1, Duration::ZERO),
                reaction: String::new(),
                quotes: false,
                edit_interval: Duration::ZERO,
            },
            outcomes: Mutex::default(),
            asked: Mutex::default(),
            connections: AtomicUsize::new(0),
        }
    }

    fn says(&self, file: &str, outcome: Outcome) {
        let mut outcomes = self.outcomes.lock().unwrap();
        outcomes
            .entry(file.to_owned())
            .or_default()
            .push_back(outcome);
    }
}

/// A connection to it.
struct Line(Arc<Channel>);

struct Fake(Arc<Channel>);

impl Adapter for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    fn is_group(&self, _: &Address) -> Option<bool> {
        Some(false)
    }

    fn render(&self, _: &str) -> Vec<Piece> {
        Vec::new()
    }

    fn render_draft(&self, _: &str) -> Option<Piece> {
        None
    }

    fn connect(&self, _: &Cancel, _: &Heartbeat) -> Result<Box<dyn Connection>> {
        self.0.connections.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Line(Arc::clone(&self.0))))
    }

    fn receive(&self, _: Intake, _: Heartbeat, _: Cancel) {}
}

impl Connection for Line {
    fn send(&mut self, _: &Address, _: &Post<'_>) -> Sent<String> {
        Err(Failure::Stopped)
    }

    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Err(Failure::Stopped)
    }

    fn delete(&mut self, _: &Address, _: &str) -> Sent {
        Err(Failure::Stopped)
    }

    fn upload(&mut self, _: &Address, _: &Upload<'_>) -> Sent {
        Err(Failure::Stopped)
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Err(Failure::Stopped)
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Err(Failure::Stopped)
    }

    fn fetch(&mut self, id: &str, into: &mut File, _: usize) -> Sent {
        self.0.asked.lock().unwrap().push(id.to_owned());
        let mut outcomes = self.0.outcomes.lock().unwrap();
        let outcome = outcomes.get_mut(id).and_then(VecDeque::pop_front);
        drop(outcomes);
        // Something of it comes in any case.
        into.write_all(id.as_bytes()).unwrap();
        match outcome {
            Some(Outcome::Fails(failure)) => Err(failure),
            Some(Outcome::Waits(gate)) => {
                gate.wait();
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn set_menu(&mut self, _: &[(&'static str, &'static str)]) -> Sent {
        Err(Failure::Stopped)
    }
}

/// A home with an intake. The person 1 may speak.
pub struct Scene {
    folder: tempfile::TempDir,
    name: &'static str,
    channel: Arc<Channel>,
    pub inbox: Arc<Inbox>,
    outbox: Arc<Outbox>,
    pairing: Arc<Pairing>,
    heartbeats: Heartbeats,
    pub heartbeat: Heartbeat,
    woken: Arc<AtomicUsize>,
    /// How often it was told that the channel is reachable again.
    pub reached: Arc<AtomicUsize>,
    pub intake: Intake,
    events: Receiver<Event>,
}

impl Scene {
    fn new() -> Self {
        Self::named("fake")
    }

    pub fn named(name: &'static str) -> Self {
        Self::at(tempfile::tempdir().unwrap(), name, Arc::new(Channel::new()))
    }

    fn at(folder: tempfile::TempDir, name: &'static str, channel: Arc<Channel>) -> Self {
        let home = folder.path();
        let workspace = home.join("workspace");
        std::fs::create_dir_all(&workspace).unwrap();
        let places = Places {
            workspace: &workspace,
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let clock = Clock::Hand(Arc::new(AtomicI64::new((BUILD_EPOCH + 1000) * 1000)));
        let inbox = Arc::new(Inbox::open(&home.join("inbox.jsonl"), clock.clone()).unwrap());
        let outbox = Arc::new(Outbox::open(&home.join("outbox.jsonl")).unwrap());
        let pairing = Arc::new(Pairing::new(&home.join("state"), clock.clone()));
        let heartbeats = Heartbeats::default();
        let woken = Arc::new(AtomicUsize::new(0));
        let (sender, events) = bus::events();
        let wakes = Arc::clone(&woken);
        let reached = Arc::new(AtomicUsize::new(0));
        let reaches = Arc::clone(&reached);
        let intake = Intake::new(IntakeParts {
            channel: name,
            inbox: Arc::clone(&inbox),
            pairing: Arc::clone(&pairing),
            allow_from: vec!["1".to_owned()],
            outbox: Arc::clone(&outbox),
            workspace: Arc::new(workspace),
            files_max_bytes: None,
            events: sender,
            clock,
            heartbeats: heartbeats.clone(),
            adapter: Arc::new(Fake(Arc::clone(&channel))),
            cancel: Cancel::new(),
            wake: Box::new(move || {
                wakes.fetch_add(1, Ordering::SeqCst);
            }),
            reachable: Box::new(move || {
                reaches.fetch_add(1, Ordering::SeqCst);
            }),
        });
        Self {
            folder,
            name,
            channel,
            inbox,
            outbox,
            pairing,
            heartbeat: heartbeats.register("test"),
            heartbeats,
            woken,
            reached,
            intake,
            events,
        }
    }

    /// The process is killed, and another one starts.
    fn killed(self) -> Self {
        self.intake.stop();
        let Self {
            folder,
            name,
            channel,
            intake,
            inbox,
            outbox,
            ..
        } = self;
        drop((intake, inbox, outbox));
        Self::at(folder, name, channel)
    }

    fn take(&self, batch: Vec<Incoming>) {
        self.intake.take(batch, &self.heartbeat).unwrap();
    }

    /// The next event.
    pub fn event(&mut self) -> Event {
        let watch = Stopwatch::start();
        loop {
            if let Ok(event) = self.events.try_recv() {
                return event;
            }
            assert!(watch.elapsed() < PATIENCE, "nothing happened");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn arrived(&mut self) -> Envelope {
        match self.event() {
            Event::Arrived(envelope) => envelope,
            other => panic!("{other:?}"),
        }
    }

    fn fetched(&mut self) -> Envelope {
        match self.event() {
            Event::Fetched(envelope) => envelope,
            other => panic!("{other:?}"),
        }
    }

    fn has_no_event(&mut self) -> bool {
        self.events.try_recv().is_err()
    }

    fn files(&self) -> BTreeSet<String> {
        let folder = self.folder.path().join("workspace/inbox");
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn content(&self, attachment: &crate::message::Attachment) -> String {
        let path = self.folder.path().join("workspace").join(&attachment.path);
        std::fs::read_to_string(path).unwrap()
    }
}

fn sender(id: &str) -> Sender {
    Sender {
        id: id.to_owned(),
        name: "Ana".to_owned(),
    }
}

fn file(id: &str) -> RemoteFile {
    RemoteFile {
        media: Media::Document,
        id: id.to_owned(),
        size: None,
        name: format!("{id}.txt"),
    }
}

fn envelope(number: usize, chat: &str, text: &str, files: &[&str]) -> Envelope {
    Envelope {
        id: format!("fake:{number}"),
        reference: number.to_string(),
        remote_files: files.iter().map(|id| file(id)).collect(),
        ..Envelope::written(&Address::new("fake", chat), sender("1"), text)
    }
}

fn message(number: usize, chat: &str, text: &str, files: &[&str]) -> Incoming {
    Incoming::Message {
        envelope: envelope(number, chat, text, files),
        username: String::new(),
    }
}

fn edit(number: usize, chat: &str, text: &str) -> Incoming {
    Incoming::Edited {
        session: Address::new("fake", chat).session(),
        reference: number.to_string(),
        text: text.to_owned(),
    }
}

#[test]
fn a_batch_arrives_in_its_order_and_files_are_fetched_afterwards() {
    let mut scene = Scene::new();
    let gate = Arc::new(Gate::default());
    scene.channel.says("a", Outcome::Waits(Arc::clone(&gate)));
    scene.take(vec![
        message(1, "1", "look", &["a", "b"]),
        message(2, "1", "what is it?", &[]),
    ]);
    // The files are still at the channel.
    assert_eq!(scene.inbox.waiting().len(), 2);
    assert_eq!(scene.arrived(), envelope(1, "1", "look", &["a", "b"]));
    assert_eq!(scene.arrived(), envelope(2, "1", "what is it?", &[]));
    scene.take(vec![message(3, "1", "/stop", &[])]);
    assert_eq!(scene.arrived().text, "/stop");
    assert!(scene.has_no_event());
    gate.open();
    let fetched = scene.fetched();
    let contents: Vec<String> = fetched
        .attachments
        .iter()
        .map(|attachment| scene.content(attachment))
        .collect();
    assert_eq!(contents, ["a", "b"]);
    assert!(fetched.remote_files.is_empty() && fetched.text == "look");
    assert_eq!(scene.inbox.waiting()[0], fetched);
    scene.intake.stop();
    assert!(scene.heartbeats.late().is_none());
}

#[test]
fn what_comes_twice_arrives_once() {
    let mut scene = Scene::new();
    scene.take(vec![message(1, "1", "hello", &[])]);
    scene.take(vec![
        message(1, "1", "hello", &[]),
        message(2, "1", "you", &[]),
    ]);
    assert_eq!(
        [scene.arrived().id, scene.arrived().id],
        ["fake:1", "fake:2"]
    );
    assert!(scene.has_no_event());
}

#[test]
fn a_file_that_fails_is_tried_again_and_then_given_up_with_a_note() {
    let mut scene = Scene::new();
    let trouble = || Outcome::Fails(Failure::Trouble("502".to_owned()));
    scene.channel.says("again", trouble());
    let refused = Failure::Refused("no such file".to_owned());
    scene.channel.says("gone", Outcome::Fails(refused));
    let mut large = file("large");
    large.size = Some(1001);
    let mut envelope = envelope(1, "1", "", &["again", "gone"]);
    envelope.remote_files.push(large);
    envelope.remote_files[1].name = "x]\n[y".to_owned();
    scene.take(vec![Incoming::Message {
        envelope,
        username: String::new(),
    }]);
    scene.arrived();
    let fetched = scene.fetched();
    assert_eq!(fetched.attachments.len(), 1);
    assert_eq!(
        fetched.text,
        "[x]_[y could not be fetched: no such file]\n\
         [large.txt could not be fetched: the file is larger than the limit of 1000 bytes]"
    );
    assert_eq!(
        *scene.channel.asked.lock().unwrap(),
        ["again", "again", "gone"]
    );
    assert_eq!(scene.files().len(), 1, "what came only in part is removed");
    // An edit of the text does not lose what is to be known of the files.
    scene.take(vec![edit(1, "1", "see above")]);
    let Event::Edited { text, .. } = scene.event() else {
        panic!("no edit");
    };
    assert!(text.starts_with("see above\n[x]_[y could"), "{text}");
}

#[test]
fn one_sessions_trouble_does_not_hold_up_anothers_files() {
    let mut scene = Scene::new();
    let gate = Arc::new(Gate::default());
    scene
        .channel
        .says("slow", Outcome::Waits(Arc::clone(&gate)));
    let offline = || Outcome::Fails(Failure::Down("no route".to_owned()));
    (0..20).for_each(|_| scene.channel.says("down", offline()));
    scene.take(vec![
        message(1, "1", "", &["slow"]),
        message(2, "1", "", &["behind"]),
        message(3, "2", "", &["down"]),
        message(4, "3", "", &["quick"]),
    ]);
    (0..4).for_each(|_| drop(scene.arrived()));
    assert_eq!(scene.fetched().id, "fake:4");
    scene.channel.outcomes.lock().unwrap().remove("down");
    scene.intake.reachable();
    assert_eq!(scene.fetched().id, "fake:3");
    assert!(
        !scene
            .channel
            .asked
            .lock()
            .unwrap()
            .contains(&"behind".to_owned())
    );
    gate.open();
    assert_eq!(
        [scene.fetched().id, scene.fetched().id],
        ["fake:1", "fake:2"]
    );
    assert!(scene.channel.connections.load(Ordering::SeqCst) >= 2);
}

#[test]
fn files_that_nobody_needs_any_more_are_not_fetched() {
    let mut scene = Scene::new();
    let gate = Arc::new(Gate::default());
    scene.channel.says("a", Outcome::Waits(Arc::clone(&gate)));
    scene.take(vec![
        message(1, "1", "", &["a", "b"]),
        message(2, "1", "", &["c"]),
    ]);
    (0..2).for_each(|_| drop(scene.arrived()));
    let watch = Stopwatch::start();
    while scene.channel.asked.lock().unwrap().is_empty() {
        assert!(watch.elapsed() < PATIENCE, "nothing is asked for");
        std::thread::yield_now();
    }
    scene.inbox.taken("fake:1");
    gate.open();
    assert_eq!(scene.fetched().id, "fake:2");
    assert_eq!(*scene.channel.asked.lock().unwrap(), ["a", "c"]);
    assert_eq!(scene.files().len(), 1);
}

#[test]
fn after_a_kill_files_are_fetched_that_were_not_and_edits_are_kept() {
    let mut scene = Scene::new();
    let offline = Outcome::Fails(Failure::Down("no route".to_owned()));
    scene.channel.says("late", offline);
    scene.take(vec![
        message(1, "1", "one", &["early"]),
        message(2, "2", "two", &["late"]),
        message(3, "1", "three", &[]),
        edit(3, "1", "third"),
        edit(9, "1", "nobody waits for this"),
    ]);
    (0..3).for_each(|_| drop(scene.arrived()));
    let (mut is_fetched, mut is_edited) = (false, false);
    while !(is_fetched && is_edited) {
        match scene.event() {
            Event::Fetched(envelope) => is_fetched = envelope.id == "fake:1",
            Event::Edited { text, .. } => is_edited = text == "third",
            other => panic!("{other:?}"),
        }
    }
    let mut scene = scene.killed();
    let waiting = scene.inbox.waiting();
    assert_eq!(waiting[0].attachments.len(), 1);
    assert_eq!(waiting[2].text, "third");
    scene.channel.asked.lock().unwrap().clear();
    for envelope in waiting {
        scene.intake.fetch_pending(envelope);
    }
    let fetched = scene.fetched();
    assert_eq!(
        (fetched.id.as_str(), fetched.attachments.len()),
        ("fake:2", 1)
    );
    assert_eq!(*scene.channel.asked.lock().unwrap(), ["late"]);
    scene.intake.stop();
    assert!(scene.has_no_event());
}

#[test]
fn what_the_inbox_cannot_take_has_no_effect_and_is_taken_later() {
    let mut scene = Scene::new();
    let press = |data: &str| Incoming::Pressed {
        id: "fake:2".to_owned(),
        address: Address::new("fake", "1"),
        is_group: false,
        sender: sender("1"),
        username: String::new(),
        message: "7".to_owned(),
        data: data.to_owned(),
    };
    let mut long = envelope(1, "1", "", &["a"]);
    long.remote_files[0].name = "x".repeat(2 * 1024 * 1024);
    let long = Incoming::Message {
        envelope: long,
        username: String::new(),
    };
    let batch = vec![press("q:7:once"), long, press("w:Yes")];
    assert!(scene.intake.take(batch, &scene.heartbeat).is_err());
    assert!(scene.has_no_event() && scene.inbox.waiting().is_empty());
    scene.take(vec![press("q:7:once"), press("w:Yes"), press("nonsense")]);
    assert!(matches!(
        scene.event(),
        Event::Answered {
            question: 7,
            answer: Answer::Once,
            ..
        }
    ));
    let pressed = scene.arrived();
    assert_eq!(
        (pressed.text.as_str(), pressed.reference.as_str()),
        ("Yes", "7")
    );
    assert!(scene.has_no_event());
}

#[test]
fn strangers_get_one_code_and_are_not_heard() {
    let mut scene = Scene::new();
    let stranger = |number: usize, id: &str, is_group: bool| Incoming::Message {
        envelope: Envelope {
            id: format!("fake:{number}"),
            is_group,
            ..Envelope::written(&Address::new("fake", id), sender(id), "let me in")
        },
        username: "ana".to_owned(),
    };
    scene.take(vec![
        stranger(1, "2", false),
        stranger(2, "2", false),
        stranger(3, "3", true),
    ]);
    assert!(scene.has_no_event() && scene.inbox.waiting().is_empty());
    assert_eq!(scene.woken.load(Ordering::SeqCst), 1);
    let pending = scene.outbox.pending();
    assert_eq!(pending.len(), 1);
    let code = scene.pairing.list().unwrap().offers[0].code.clone();
    assert!(scene.pairing.confirm(&code).is_ok());
    scene.take(vec![stranger(4, "2", false)]);
    assert_eq!(scene.arrived().id, "fake:4");
    assert!(!scene.intake.may_speak(&sender("3"), "ana"));
}

#[test]
fn a_full_queue_makes_the_receiver_wait_and_it_is_alive_meanwhile() {
    let mut scene = Scene::new();
    let batch = |from: usize| (from..from + 100).map(|number| message(number, "1", "x", &[]));
    assert_eq!(ENTRIES, 100);
    scene.take(batch(0).collect());
    let (intake, heartbeat) = (scene.intake.clone(), scene.heartbeat.clone());
    heartbeat.beat(Duration::ZERO);
    let more: Vec<Incoming> = batch(100).collect();
    let receiver = std::thread::spawn(move || intake.take(more, &heartbeat));
    let watch = Stopwatch::start();
    while scene.inbox.waiting().len() < 200 || scene.heartbeats.late().is_some() {
        assert!(
            watch.elapsed() < PATIENCE,
            "the second batch is not accepted"
        );
        std::thread::yield_now();
    }
    for number in 0..200 {
        assert_eq!(scene.arrived().id, format!("fake:{number}"));
    }
    receiver.join().unwrap().unwrap();
}

#[test]
fn when_the_gateway_stops_nothing_waits_for_it() {
    let scene = Scene::new();
    let gate = Arc::new(Gate::default());
    let batch = (0..150).map(|number| message(number, "1", "x", &[]));
    let (intake, heartbeat) = (scene.intake.clone(), scene.heartbeat.clone());
    let batch: Vec<Incoming> = batch.collect();
    let receiver = std::thread::spawn(move || intake.take(batch, &heartbeat));
    let busy = scene.intake.clone();
    busy.fetch_pending(envelope(900, "2", "", &["a"]));
    gate.open();
    scene.intake.stop();
    receiver.join().unwrap().unwrap();
    assert_eq!(scene.inbox.waiting().len(), 150);
}

#[test]
fn button_data_is_what_a_button_carries() {
    let rows: Vec<Vec<Button>> = buttons::for_question(7);
    assert!(
        rows.concat()
            .iter()
            .all(|button| buttons::read(&button.data).is_some())
    );
}

/// What a person does in one of three chats.
#[derive(Clone, Debug)]
enum Act {
    Say {
        chat: usize,
        files: Vec<Fate>,
    },
    /// Edits the message of this number, as far as there are so many.
    Edit(usize),
    /// The channel sends an earlier message again.
    Repeat(usize),
    /// The gateway is done with an earlier message.
    Take(usize),
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Comes,
    Refused,
    /// It fails once, and then comes.
    Later,
}

fn act() -> impl Strategy<Value = Act> {
    let fate = prop_oneof![
        8 => Just(Fate::Comes),
        2 => Just(Fate::Refused),
        1 => Just(Fate::Later),
    ];
    let files = prop_oneof![
        2 => Just(Vec::new()),
        1 => proptest::collection::vec(fate, 1..4),
    ];
    prop_oneof![
        6 => (0_usize..3, files).prop_map(|(chat, files)| Act::Say { chat, files }),
        2 => (0_usize..60).prop_map(Act::Edit),
        1 => (0_usize..60).prop_map(Act::Repeat),
        1 => (0_usize..60).prop_map(Act::Take),
    ]
}

/// What the gateway is told is checked while it is told.
#[derive(Default)]
struct Ledger {
    arrived: Vec<Envelope>,
    fetched: Vec<String>,
    edited: usize,
}

impl Ledger {
    fn note(&mut self, event: Event) {
        match event {
            Event::Arrived(envelope) => self.arrived.push(envelope),
            Event::Fetched(envelope) => {
                let arrived = self.arrived.iter().find(|other| other.id == envelope.id);
                let arrived = arrived.expect("files of a message that has not arrived");
                let notes = envelope.text.matches("could not be fetched").count();
                assert_eq!(
                    envelope.attachments.len() + notes,
                    arrived.remote_files.len()
                );
                assert!(envelope.remote_files.is_empty());
                self.fetched.push(envelope.id);
            }
            Event::Edited { .. } => self.edited += 1,
            other => panic!("{other:?}"),
        }
    }

    /// The messages of a session with files, or of which the files are here, in order.
    fn of<'a>(&'a self, session: &SessionKey, ids: &'a [String]) -> Vec<&'a str> {
        let is_its = |id: &&String| {
            let mut arrived = self.arrived.iter();
            arrived.any(|envelope| envelope.id == **id && envelope.session == *session)
        };
        ids.iter().filter(is_its).map(String::as_str).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_comes_arrives_once_and_in_order_with_its_files(
        batches in proptest::collection::vec(proptest::collection::vec(act(), 1..12), 1..8),
    ) {
        let mut scene = Scene::new();
        let mut ledger = Ledger::default();
        let mut said: Vec<Envelope> = Vec::new();
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for batch in batches {
            let mut incoming = Vec::new();
            for act in batch {
                match act {
                    Act::Say { chat, files } => {
                        let number = said.len();
                        let names: Vec<String> = (0..files.len()).map(|index| format!("{number}-{index}")).collect();
                        for (name, fate) in names.iter().zip(files) {
                            match fate {
                                Fate::Comes => {}
                                Fate::Refused => scene.channel.says(name, Outcome::Fails(Failure::Refused("no".to_owned()))),
                                Fate::Later => scene.channel.says(name, Outcome::Fails(Failure::RetryAfter(Duration::from_millis(5)))),
                            }
                        }
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        let envelope = envelope(number, &chat.to_string(), &format!("text {number}"), &names);
                        texts.insert(envelope.id.clone(), envelope.text.clone());
                        incoming.push(Incoming::Message { envelope: envelope.clone(), username: String::new() });
                        said.push(envelope);
                    }
                    Act::Edit(number) => if let Some(envelope) = said.get(number) {
                        let text = format!("{} edited", texts[&envelope.id]);
                        incoming.push(Incoming::Edited {
                            session: envelope.session.clone(),
                            reference: envelope.reference.clone(),
                            text: text.clone(),
                        });
                        if !taken.contains(&envelope.id) {
                            texts.insert(envelope.id.clone(), text);
                        }
                    },
                    Act::Repeat(number) => if let Some(envelope) = said.get(number) {
                        incoming.push(Incoming::Message { envelope: envelope.clone(), username: String::new() });
                    },
                    Act::Take(number) => if let Some(arrived) = ledger.arrived.get(number) {
                        scene.inbox.taken(&arrived.id);
                        taken.insert(arrived.id.clone());
                    },
                }
            }
            scene.take(incoming);
            while let Ok(event) = scene.events.try_recv() {
                ledger.note(event);
            }
        }
        let with_files: Vec<String> = said.iter()
            .filter(|envelope| !envelope.remote_files.is_empty())
            .map(|envelope| envelope.id.clone())
            .collect();
        let watch = Stopwatch::start();
        let is_open = |ledger: &Ledger| with_files.iter()
            .any(|id| !taken.contains(id) && !ledger.fetched.contains(id));
        while is_open(&ledger) {
            prop_assert!(watch.elapsed() < PATIENCE, "files are missing");
            match scene.events.try_recv() {
                Ok(event) => ledger.note(event),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        scene.intake.stop();
        while let Ok(event) = scene.events.try_recv() {
            ledger.note(event);
        }
        // Each message arrived once, in the order of the whole.
        let arrived: Vec<&String> = ledger.arrived.iter().map(|envelope| &envelope.id).collect();
        let ids: Vec<&String> = said.iter().map(|envelope| &envelope.id).collect();
        prop_assert_eq!(arrived, ids);
        // Their files came once and in the order of each session.
        for chat in ["0", "1", "2"] {
            let session = Address::new("fake", chat).session();
            let fetched = ledger.of(&session, &ledger.fetched);
            let mut wanted = ledger.of(&session, &with_files);
            wanted.retain(|id| fetched.contains(id) || !taken.contains(*id));
            prop_assert_eq!(fetched, wanted);
        }
        // A kill loses nothing of it.
        let scene = scene.killed();
        let waiting = scene.inbox.waiting();
        let left: Vec<&str> = waiting.iter().map(|envelope| envelope.id.as_str()).collect();
        let expected: Vec<&str> = said.iter()
            .map(|envelope| envelope.id.as_str())
            .filter(|id| !taken.contains(*id))
            .collect();
        prop_assert_eq!(left, expected);
        for envelope in waiting {
            let text = &texts[&envelope.id];
            prop_assert!(envelope.text.lines().next() == Some(text.as_str()), "{} {text}", envelope.text);
            prop_assert!(envelope.remote_files.is_empty());
        }
    }
}
