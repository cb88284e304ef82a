//! A home with an intake, and a channel that hands out files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tokio::sync::mpsc::Receiver;

use super::super::*;
use crate::base::access::{Role, Rules};
use crate::base::bus;
use crate::base::clock::{BUILD_EPOCH, Stopwatch};
use crate::base::message::{Attachment, Media, RemoteFile};
use crate::channels::kit::adapter::{
    Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::choices::Choices;
use crate::channels::kit::sink::SharedSink;
use crate::config::schema::Tools;
use crate::sandbox::confine::Hold;
use crate::sandbox::files::Places;
use crate::sys::beneath::Resolver;

/// Longest wait for something that has to happen.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What the channel says when a file is asked for. What is not said is the file.
pub enum Outcome {
    Fails(Failure),
    /// Waits until the gate is open.
    Waits(Arc<Gate>),
}

#[derive(Default)]
pub struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub fn open(&self) {
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
pub struct Channel {
    capabilities: Capabilities,
    pub outcomes: Mutex<BTreeMap<String, VecDeque<Outcome>>>,
    /// The files that were asked for, in order.
    pub asked: Mutex<Vec<String>>,
    pub connections: AtomicUsize,
}

impl Channel {
    fn new() -> Self {
        Self {
            capabilities: Capabilities {
                buttons: true,
                edits: true,
                button_data_bytes: 64,
                upload_bytes: 1000,
                download_bytes: 1000,
                typing_interval: None,
                chat_interval: Duration::ZERO,
                group_rate: (1, Duration::ZERO),
                total_rate: (1, Duration::ZERO),
                reaction: String::new(),
                quotes: false,
                edit_interval: Some(Duration::ZERO),
            },
            outcomes: Mutex::default(),
            asked: Mutex::default(),
            connections: AtomicUsize::new(0),
        }
    }

    fn without_buttons() -> Self {
        let mut channel = Self::new();
        channel.capabilities.buttons = false;
        channel
    }

    pub fn says(&self, file: &str, outcome: Outcome) {
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

    fn identify(&self, _: &Cancel) -> Sent<String> {
        Ok("Fake".to_owned())
    }

    fn connect(&self, _: &Cancel, _: &Heartbeat) -> Result<Box<dyn Connection>> {
        self.0.connections.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Line(Arc::clone(&self.0))))
    }

    fn receive(&self, _: SharedSink, _: Heartbeat, _: Cancel) {}
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

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Err(Failure::Stopped)
    }
}

/// A home with an intake. The person 1 may speak.
/// What is a secret here.
pub const SECRET: &str = "hunter2";

pub struct Scene {
    folder: tempfile::TempDir,
    name: &'static str,
    pub channel: Arc<Channel>,
    pub inbox: Arc<Inbox>,
    pub outbox: Arc<Outbox>,
    pub pairing: Arc<Pairing>,
    pub heartbeats: Heartbeats,
    pub heartbeat: Heartbeat,
    pub woken: Arc<AtomicUsize>,
    /// How often it was told that the channel is reachable again.
    pub reached: Arc<AtomicUsize>,
    /// The secrets that were taken.
    pub secrets: Arc<Mutex<Vec<Envelope>>>,
    /// What was offered, where there are no buttons.
    pub choices: Option<Arc<Choices>>,
    /// Holds commands and received files apart.
    pub hold: Arc<Hold>,
    pub intake: Intake,
    pub events: Receiver<Event>,
}

impl Scene {
    pub fn new() -> Self {
        Self::named("fake")
    }

    pub fn named(name: &'static str) -> Self {
        Self::at(tempfile::tempdir().unwrap(), name, Arc::new(Channel::new()))
    }

    /// The channel has no buttons.
    pub fn without_buttons() -> Self {
        let channel = Arc::new(Channel::without_buttons());
        Self::at(tempfile::tempdir().unwrap(), "fake", channel)
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
        let workspace = Arc::new(workspace);
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
        let secrets = Arc::new(Mutex::new(Vec::new()));
        let takes = Arc::clone(&secrets);
        let choices = (!channel.capabilities.buttons)
            .then(|| Arc::new(Choices::new(&home.join("state"), name)));
        let hold = Arc::new(Hold::default());
        let intake = Intake::new(IntakeParts {
            channel: name,
            inbox: Arc::clone(&inbox),
            pairing: Arc::clone(&pairing),
            role_elsewhere: None,
            access: AccessList::new(Rules {
                allow_from: vec!["1".to_owned()],
                roles: [
                    ("13".to_owned(), Role::Guest),
                    ("14".to_owned(), Role::User),
                ]
                .into(),
                default_role: Role::User,
            }),
            outbox: Arc::clone(&outbox),
            workspace_for: Box::new(move |_| Ok(Arc::clone(&workspace))),
            health: Default::default(),
            pair_command: "peacrab channels pair".to_owned(),
            languages: Arc::new(Languages::new(&home.join("state"))),
            hold: Arc::clone(&hold),
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
            is_awaited: Box::new(|_, _| false),
            lost_access: Box::new(|_, _| {}),
            is_secret: Box::new(|message| message.text == SECRET),
            take_secret: Box::new(move |message| takes.lock().unwrap().push(message)),
            choices: choices.clone(),
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
            secrets,
            choices,
            hold,
            intake,
            events,
        }
    }

    /// The process is killed, and another one starts.
    pub fn killed(self) -> Self {
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

    /// What is on the disk of the inbox.
    pub fn stored(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("inbox.jsonl")).unwrap()
    }

    pub fn take(&self, batch: Vec<Incoming>) {
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

    pub fn fetched(&mut self) -> Envelope {
        match self.event() {
            Event::Fetched(envelope) => envelope,
            other => panic!("{other:?}"),
        }
    }

    pub fn has_no_event(&mut self) -> bool {
        self.events.try_recv().is_err()
    }

    pub fn files(&self) -> BTreeSet<String> {
        let folder = self.folder.path().join("workspace/inbox");
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    pub fn content(&self, attachment: &Attachment) -> String {
        let path = self.folder.path().join("workspace").join(&attachment.path);
        std::fs::read_to_string(path).unwrap()
    }
}

pub fn sender(id: &str) -> Sender {
    Sender {
        id: id.to_owned(),
        name: "Ana".to_owned(),
        ..Sender::default()
    }
}

pub fn file(id: &str) -> RemoteFile {
    RemoteFile {
        media: Media::Document,
        id: id.to_owned(),
        size: None,
        name: format!("{id}.txt"),
    }
}

pub fn envelope(number: usize, chat: &str, text: &str, files: &[&str]) -> Envelope {
    Envelope {
        id: format!("fake:{number}"),
        reference: number.to_string(),
        remote_files: files.iter().map(|id| file(id)).collect(),
        role: Role::Owner,
        ..Envelope::written(&Address::new("fake", chat), sender("1"), text)
    }
}

pub fn message(number: usize, chat: &str, text: &str, files: &[&str]) -> Incoming {
    Incoming::Message {
        envelope: envelope(number, chat, text, files),
        username: String::new(),
    }
}

pub fn edit(number: usize, chat: &str, text: &str) -> Incoming {
    Incoming::Edited {
        session: Address::new("fake", chat).session(),
        reference: number.to_string(),
        text: text.to_owned(),
    }
}
