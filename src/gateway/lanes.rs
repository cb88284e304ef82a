//! Who is served when: one turn at a time in a session, so many over all, and what waits. Pure.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::gateway::WAITING;
use crate::message::{Address, Envelope};

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It waits for its turn, or for the next step of the running one.
    Waits,
    /// Too many wait already.
    Full {
        /// Whether this is the first one since there was room: the person is told once.
        first: bool,
    },
}

/// What a turn begins with.
#[derive(Debug, PartialEq, Eq)]
pub struct Start {
    /// Whose turn it is.
    pub chat: Address,
    /// What was said; none: the turn was interrupted and goes on.
    pub message: Option<Envelope>,
}

/// The sessions that have something to do.
#[derive(Debug)]
pub struct Lanes {
    lanes: BTreeMap<Address, Lane>,
    /// Those that want a turn, in the order in which they came.
    ready: VecDeque<Address>,
    running: usize,
    most: usize,
}

#[derive(Debug, Default)]
struct Lane {
    waiting: VecDeque<Envelope>,
    is_running: bool,
    resumes: bool,
    was_full: bool,
}

impl Lanes {
    /// At most so many turns at a time.
    pub fn new(most: usize) -> Self {
        Self {
            lanes: BTreeMap::new(),
            ready: VecDeque::new(),
            running: 0,
            most,
        }
    }

    /// Takes a message.
    pub fn push(&mut self, message: Envelope) -> Pushed {
        let lane = self.lanes.entry(message.address()).or_default();
        if lane.waiting.len() >= WAITING {
            let first = !std::mem::replace(&mut lane.was_full, true);
            return Pushed::Full { first };
        }
        lane.was_full = false;
        let chat = message.address();
        lane.waiting.push_back(message);
        self.want(chat);
        Pushed::Waits
    }

    /// A session's turn was interrupted and is to go on.
    pub fn resume(&mut self, chat: Address) {
        self.lanes.entry(chat.clone()).or_default().resumes = true;
        self.want(chat);
    }

    /// Puts other words in the place of those of a message that still waits; false when none does.
    pub fn edit(&mut self, chat: &Address, reference: &str, text: &str) -> bool {
        let waiting = self.lanes.get_mut(chat).map(|lane| lane.waiting.iter_mut());
        let mut waiting = waiting.into_iter().flatten();
        let found = waiting.find(|message| message.reference == reference);
        found.is_some_and(|message| {
            text.clone_into(&mut message.text);
            true
        })
    }

    /// The next turn to begin, if one may.
    pub fn next(&mut self) -> Option<Start> {
        if self.running >= self.most {
            return None;
        }
        let chat = self.ready.pop_front()?;
        let lane = self.lanes.get_mut(&chat)?;
        lane.is_running = true;
        self.running += 1;
        let message = match std::mem::take(&mut lane.resumes) {
            true => None,
            false => lane.waiting.pop_front(),
        };
        Some(Start { chat, message })
    }

    /// Everything that has come for a session whose turn is running.
    pub fn interjections(&mut self, chat: &Address) -> Vec<Envelope> {
        match self.lanes.get_mut(chat) {
            Some(lane) => lane.waiting.drain(..).collect(),
            None => Vec::new(),
        }
    }

    /// Takes back what a running turn could not keep. It waits before what has come since.
    pub fn put_back(&mut self, chat: &Address, messages: Vec<Envelope>) {
        if let Some(lane) = self.lanes.get_mut(chat) {
            let since = std::mem::replace(&mut lane.waiting, messages.into());
            lane.waiting.extend(since);
        }
    }

    /// A session's turn has ended.
    pub fn ended(&mut self, chat: &Address) {
        let Some(lane) = self.lanes.get_mut(chat) else {
            return;
        };
        lane.is_running = false;
        self.running -= 1;
        match lane.waiting.is_empty() {
            true => drop(self.lanes.remove(chat)),
            false => self.want(chat.clone()),
        }
    }

    /// Whether a session's turn is running.
    pub fn is_running(&self, chat: &Address) -> bool {
        self.lanes.get(chat).is_some_and(|lane| lane.is_running)
    }

    /// Turns that are running.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Messages that wait, over all sessions.
    pub fn waiting(&self) -> usize {
        self.lanes.values().map(|lane| lane.waiting.len()).sum()
    }

    fn want(&mut self, chat: Address) {
        let is_running = self.is_running(&chat);
        if !is_running && !self.ready.contains(&chat) {
            self.ready.push_back(chat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chat(name: &str) -> Address {
        Address::new("telegram", name)
    }

    fn message(name: &str, text: &str) -> Envelope {
        Envelope {
            reference: text.to_owned(),
            ..Envelope::typed(&chat(name).session(), text)
        }
    }

    fn start(lanes: &mut Lanes) -> Option<(String, Option<String>)> {
        let Start { chat, message } = lanes.next()?;
        Some((chat.chat, message.map(|message| message.text)))
    }

    fn starts(name: &str, text: &str) -> Option<(String, Option<String>)> {
        Some((name.to_owned(), Some(text.to_owned())))
    }

    #[test]
    fn a_session_has_one_turn_at_a_time_and_all_together_have_so_many() {
        let mut lanes = Lanes::new(2);
        for (name, text) in [("a", "1"), ("a", "2"), ("b", "3"), ("c", "4")] {
            assert_eq!(lanes.push(message(name, text)), Pushed::Waits);
        }
        assert_eq!(start(&mut lanes), starts("a", "1"));
        assert_eq!(start(&mut lanes), starts("b", "3"));
        assert_eq!(start(&mut lanes), None);
        lanes.ended(&chat("a"));
        assert_eq!(start(&mut lanes), starts("c", "4"), "a has to queue again");
        lanes.ended(&chat("b"));
        assert_eq!(start(&mut lanes), starts("a", "2"));
    }

    #[test]
    fn what_comes_during_a_turn_is_given_to_it() {
        let mut lanes = Lanes::new(2);
        lanes.push(message("a", "1"));
        lanes.next();
        lanes.push(message("a", "2"));
        lanes.push(message("a", "3"));
        assert_eq!(start(&mut lanes), None);
        let given = lanes.interjections(&chat("a"));
        assert_eq!(given.len(), 2);
        lanes.ended(&chat("a"));
        assert_eq!(start(&mut lanes), None, "nothing is left");
        assert_eq!(lanes.running(), 0);
    }

    #[test]
    fn the_person_is_told_once_that_too_much_waits() {
        let mut lanes = Lanes::new(1);
        for number in 0..WAITING {
            assert_eq!(lanes.push(message("a", &number.to_string())), Pushed::Waits);
        }
        assert_eq!(lanes.push(message("a", "x")), Pushed::Full { first: true });
        assert_eq!(lanes.push(message("a", "x")), Pushed::Full { first: false });
        lanes.next();
        assert_eq!(lanes.push(message("a", "y")), Pushed::Waits);
        assert_eq!(lanes.push(message("a", "x")), Pushed::Full { first: true });
    }

    #[test]
    fn an_interrupted_turn_goes_on_before_what_waits() {
        let mut lanes = Lanes::new(1);
        lanes.resume(chat("a"));
        lanes.push(message("a", "1"));
        assert_eq!(start(&mut lanes), Some(("a".to_owned(), None)));
        lanes.ended(&chat("a"));
        assert_eq!(start(&mut lanes), starts("a", "1"));
    }

    #[test]
    fn an_edit_counts_only_while_nobody_has_read_the_message() {
        let mut lanes = Lanes::new(1);
        lanes.push(message("a", "1"));
        assert!(lanes.edit(&chat("a"), "1", "one"));
        assert!(!lanes.edit(&chat("b"), "1", "one"));
        assert_eq!(start(&mut lanes), starts("a", "one"));
        assert!(!lanes.edit(&chat("a"), "1", "uno"));
    }

    proptest! {
        #[test]
        fn every_message_that_was_taken_begins_a_turn_or_is_given_to_one(
            steps in proptest::collection::vec((0u8..4, 0u8..3), 0..200),
        ) {
            let mut lanes = Lanes::new(2);
            let (mut taken, mut served) = (0, 0);
            let mut running: Vec<Address> = Vec::new();
            for (step, name) in steps {
                let name = name.to_string();
                match step {
                    0 => taken += usize::from(lanes.push(message(&name, "x")) == Pushed::Waits),
                    1 => {
                        if let Some(start) = lanes.next() {
                            prop_assert!(!running.contains(&start.chat), "two turns in a session");
                            served += usize::from(start.message.is_some());
                            running.push(start.chat);
                        }
                    }
                    2 if running.contains(&chat(&name)) => {
                        served += lanes.interjections(&chat(&name)).len();
                    }
                    _ => if let Some(ended) = running.pop() {
                        lanes.ended(&ended);
                    },
                }
                prop_assert!(running.len() <= 2);
                prop_assert_eq!(lanes.running(), running.len());
                prop_assert_eq!(lanes.waiting(), taken - served);
            }
        }
    }
}
