//! Random inputs, compared with a model of everything around the scheduler.

use std::collections::BTreeSet;

use super::super::refusals::REFUSED_NAMES_MAX;
use super::super::*;
use super::arrived;
use super::{key, message, with_file};

/// A model of everything around the scheduler: sent messages and running work.
struct World {
    scheduler: Scheduler,
    random: u64,
    sent: usize,
    /// The numbers of waiting messages, by session.
    open: BTreeMap<SessionKey, VecDeque<usize>>,
    /// Those of waiting commands.
    commands: BTreeMap<SessionKey, VecDeque<usize>>,
    /// Refused messages that were not reported yet.
    unreported: BTreeSet<usize>,
    /// How many forgotten messages a later refusal must count.
    uncounted: usize,
    running: BTreeMap<WorkId, Running>,
    /// How many of `sent` are finished.
    done: usize,
    waiting_for_files: Vec<Envelope>,
    /// Sessions whose interrupted turn has not continued yet.
    interrupted: BTreeSet<SessionKey>,
}

struct Running {
    session: SessionKey,
    is_turn: bool,
    is_exclusive: bool,
    is_command: bool,
    holds_slot: bool,
    wants_slot: bool,
    unread: Vec<Envelope>,
}

const SLOTS: usize = 2;
const TEXTS: [&str; 6] = ["hello", "hello", "hello", "/new", "/sh ls", "/id"];

impl World {
    fn new(seed: u64) -> Self {
        Self {
            scheduler: Scheduler::new(SLOTS),
            random: seed,
            sent: 0,
            open: BTreeMap::new(),
            commands: BTreeMap::new(),
            unreported: BTreeSet::new(),
            uncounted: 0,
            running: BTreeMap::new(),
            done: 0,
            waiting_for_files: Vec::new(),
            interrupted: BTreeSet::new(),
        }
    }

    /// A number below `most` (xorshift).
    fn pick(&mut self, most: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random as usize % most
    }

    fn numbered(&mut self, text: &str) -> Envelope {
        self.sent += 1;
        let name = self.pick(5).to_string();
        let text = format!("{text} {}", self.sent);
        Envelope {
            id: self.sent.to_string(),
            reference: self.sent.to_string(),
            ..message(&name, &text)
        }
    }

    fn work(&mut self, is_fit: impl Fn(&Running) -> bool) -> Option<WorkId> {
        let fit = self.running.iter().filter(|(_, running)| is_fit(running));
        let fit: Vec<WorkId> = fit.map(|(work, _)| *work).collect();
        (!fit.is_empty()).then(|| fit[self.pick(fit.len())])
    }

    fn next_input(&mut self) -> Option<Input> {
        Some(match self.pick(16) {
            0..=4 => {
                let text = TEXTS[self.pick(TEXTS.len())];
                let sent = self.numbered(text);
                arrived(sent)
            }
            5 => {
                let file = with_file("0", "").remote_files;
                let sent = Envelope {
                    remote_files: file,
                    ..self.numbered("album")
                };
                self.waiting_for_files.push(sent.clone());
                arrived(sent)
            }
            6 if !self.waiting_for_files.is_empty() => {
                let index = self.pick(self.waiting_for_files.len());
                let mut fetched = self.waiting_for_files.swap_remove(index);
                fetched.remote_files.clear();
                Input::Fetched(fetched)
            }
            7 if self.pick(8) == 0 => {
                let sent = self.numbered("/stop");
                arrived(sent)
            }
            8 => Input::Step(self.work(|running| running.is_turn && running.holds_slot)?),
            9 if self.pick(3) == 0 => Input::Waits(self.work(|running| running.is_command)?),
            9 => {
                let work = self.work(|running| running.is_turn && running.holds_slot)?;
                self.running.get_mut(&work)?.holds_slot = false;
                Input::Waits(work)
            }
            10 => {
                let asks = |running: &Running| {
                    running.is_turn && !running.holds_slot && !running.wants_slot
                };
                let work = self.work(asks)?;
                self.running.get_mut(&work)?.wants_slot = true;
                Input::Answered(work)
            }
            11 if self.pick(20) == 0 => {
                let name = self.pick(5).to_string();
                let is_running = self
                    .running
                    .values()
                    .any(|running| running.session == key(&name));
                if is_running || !self.interrupted.insert(key(&name)) {
                    return None;
                }
                Input::Interrupted(key(&name))
            }
            11 if self.pick(4) == 0 => Input::Consolidated(key(&self.pick(5).to_string())),
            12 => {
                let (session, number) = (key(&self.pick(5).to_string()), self.pick(self.sent + 1));
                if self
                    .commands
                    .values()
                    .flatten()
                    .any(|other| *other == number)
                {
                    return None;
                }
                Input::Edited {
                    session,
                    reference: number.to_string(),
                    text: "edited".to_owned(),
                }
            }
            13 if self.pick(2) == 0 => Input::Long(self.work(|running| running.is_command)?),
            _ => {
                let work = self.work(|_| true)?;
                self.finish(work)
            }
        })
    }

    fn finish(&mut self, work: WorkId) -> Input {
        let mut unread = self.running.remove(&work).unwrap().unread;
        // Some of the messages that the turn got are in the journal.
        let read = self.pick(unread.len() + 1);
        self.done += read;
        unread.drain(..read);
        Input::Finished { work, unread }
    }

    /// Takes the message from the queue of its session, where it must be the first.
    fn dequeue(&mut self, message: &Envelope) {
        let number: usize = message.id.parse().unwrap();
        let open = self.waiting(message).get_mut(&message.session).unwrap();
        let first = open.pop_front();
        assert_eq!(first, Some(number), "the order of {}", message.session);
    }

    /// Where a message waits.
    fn waiting(&mut self, message: &Envelope) -> &mut BTreeMap<SessionKey, VecDeque<usize>> {
        match message.text.starts_with("/sh") {
            true => &mut self.commands,
            false => &mut self.open,
        }
    }

    fn apply(&mut self, input: Input) {
        let arrived = match &input {
            Input::Arrived(message) => Some(message.clone().into_envelope()),
            _ => None,
        };
        let unread = match &input {
            Input::Finished { unread, .. } => unread.clone(),
            _ => Vec::new(),
        };
        for message in unread.iter().rev() {
            let number = message.id.parse().unwrap();
            self.open
                .entry(message.session.clone())
                .or_default()
                .push_front(number);
        }
        let mut is_out = false;
        if let Some(message) = &arrived {
            let number = message.id.parse().unwrap();
            self.waiting(message)
                .entry(message.session.clone())
                .or_default()
                .push_back(number);
            self.unreported.insert(number);
        }
        for action in self.scheduler.handle(input) {
            is_out |= self.act(action, arrived.as_ref());
        }
        if let Some(message) = arrived {
            let number = message.id.parse().unwrap();
            let is_queued = self
                .scheduler
                .sessions
                .get(&message.session)
                .is_some_and(|session| {
                    let mut queued = session.queue.iter().chain(&session.commands);
                    queued.any(|queued| queued.id == message.id)
                });
            if is_queued || is_out {
                self.unreported.remove(&number);
            }
            if !is_queued {
                let open = self.waiting(&message).get_mut(&message.session).unwrap();
                open.retain(|other| *other != number);
            }
        }
        self.check();
    }

    /// Whether the action is about the message that has just arrived.
    fn act(&mut self, action: Action, arrived: Option<&Envelope>) -> bool {
        let is_new = |message: &Envelope| arrived.is_some_and(|arrived| arrived.id == message.id);
        match action {
            Action::StartTurn { work, message } => {
                self.dequeue(&message);
                assert!(message.remote_files.is_empty());
                self.begin(work, message.session.clone(), true, true);
                self.done += 1;
                return is_new(&message);
            }
            Action::ResumeTurn { work, session } => {
                assert!(self.interrupted.remove(&session));
                self.begin(work, session, true, true);
            }
            Action::AbandonTurn { work, session } => {
                assert!(self.interrupted.remove(&session));
                self.begin(work, session, false, true);
            }
            Action::ApplyConsolidation { work, session } => {
                self.begin(work, session, false, true);
            }
            Action::StartCommand { work, message } => {
                let is_beside = message.text.starts_with("/sh");
                self.dequeue(&message);
                self.begin(work, message.session.clone(), false, !is_beside);
                self.done += 1;
                return is_new(&message);
            }
            Action::TellWaiting { message, .. } => {
                let number: usize = message.id.parse().unwrap();
                assert!(self.commands[&message.session].contains(&number));
            }
            Action::Command(message) => {
                self.done += 1;
                return is_new(&message);
            }
            Action::Interject { work, messages } => {
                messages.iter().for_each(|message| self.dequeue(message));
                self.running.get_mut(&work).unwrap().unread.extend(messages);
            }
            Action::Continue(work) => {
                let running = self.running.get_mut(&work).unwrap();
                assert!(running.wants_slot);
                (running.wants_slot, running.holds_slot) = (false, true);
            }
            Action::Cancel(work) => assert!(self.running.contains_key(&work)),
            Action::Forget(message) => {
                self.uncounted += 1;
                self.done += 1;
                assert!(is_new(&message));
                return true;
            }
            Action::Refuse { messages, more, .. } => {
                assert!(!messages.is_empty() && messages.len() <= REFUSED_NAMES_MAX);
                self.uncounted -= more;
                for message in &messages {
                    assert!(
                        self.unreported.remove(&message.id.parse().unwrap()),
                        "reported twice"
                    );
                }
                self.done += messages.len();
                return messages.iter().any(is_new);
            }
            Action::Drop(messages) => {
                messages.iter().for_each(|message| self.dequeue(message));
                self.done += messages.len();
            }
            Action::Stopped { message, .. } => {
                self.done += 1;
                return is_new(&message);
            }
        }
        false
    }

    fn begin(&mut self, work: WorkId, session: SessionKey, is_turn: bool, is_exclusive: bool) {
        let other = self
            .running
            .values()
            .find(|running| running.session == session && running.is_exclusive);
        assert!(
            !is_exclusive || other.is_none(),
            "two at a time in {session}"
        );
        let running = Running {
            session,
            is_turn,
            is_exclusive,
            is_command: !is_turn && !is_exclusive,
            holds_slot: is_turn,
            wants_slot: false,
            unread: Vec::new(),
        };
        self.running.insert(work, running);
    }

    fn check(&self) {
        let turns = self
            .running
            .values()
            .filter(|running| running.holds_slot)
            .count();
        let parked = self
            .running
            .values()
            .filter(|running| running.is_turn && !running.holds_slot);
        assert!(turns <= SLOTS && parked.count() <= PARKED_TURNS_MAX);
        let commands = self.running.values().filter(|running| running.is_command);
        assert!(commands.count() <= COMMANDS_MAX);
        let queues = self.open.values().chain(self.commands.values());
        let waiting: usize = queues.map(VecDeque::len).sum();
        assert_eq!(self.scheduler.load().waiting, waiting);
        assert_eq!(self.scheduler.load().running, self.running.len());
        let handed: usize = self
            .running
            .values()
            .map(|running| running.unread.len())
            .sum();
        assert_eq!(
            self.sent,
            self.done + handed + waiting + self.unreported.len()
        );
    }

    /// Finishes everything.
    fn settle(&mut self) {
        while let Some(mut fetched) = self.waiting_for_files.pop() {
            fetched.remote_files.clear();
            self.apply(Input::Fetched(fetched));
        }
        while let Some(work) = self.work(|_| true) {
            let input = self.finish(work);
            self.apply(input);
        }
        assert_eq!(self.sent, self.done, "each message is finished once");
        assert_eq!(self.uncounted, 0, "each refusal was reported");
        assert!(self.scheduler.sessions.is_empty() && self.scheduler.ready.is_empty());
        assert!(self.scheduler.lanes.is_empty());
        assert!(self.interrupted.is_empty());
    }
}

/// A million random events: each message is handled once, in order, and no limit is exceeded.
#[test]
fn each_message_is_handled_once_and_in_order_whatever_happens() {
    const ROUNDS: u64 = 500;
    const EVENTS: usize = 2_000;
    for round in 1..=ROUNDS {
        let mut world = World::new(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..EVENTS {
            if let Some(input) = world.next_input() {
                world.apply(input);
            }
        }
        world.settle();
    }
}
