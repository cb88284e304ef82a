//! Random batches of texts, files, edits and repetitions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::super::*;
use super::scene::{Outcome, PATIENCE, Scene, envelope};
use crate::base::clock::Stopwatch;
use crate::channels::kit::adapter::Failure;

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
            Event::EditedLate { .. } => {}
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
