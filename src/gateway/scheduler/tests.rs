use std::collections::BTreeSet;

use super::*;
use crate::message::{Attachment, Media, RemoteFile, Sender};

fn key(name: &str) -> SessionKey {
    SessionKey::parse(&format!("telegram:{name}"))
}

fn message(name: &str, text: &str) -> Envelope {
    let address = Address::new("telegram", name);
    Envelope {
        id: format!("{name}/{text}"),
        reference: text.to_owned(),
        ..Envelope::written(&address, Sender::default(), text)
    }
}

fn with_file(name: &str, text: &str) -> Envelope {
    let file = RemoteFile {
        media: Media::Photo,
        id: "f".to_owned(),
        size: None,
        name: "a.jpg".to_owned(),
    };
    Envelope {
        remote_files: vec![file],
        ..message(name, text)
    }
}

/// What an action does, in a word for the tests.
fn told(action: &Action) -> String {
    let texts = |messages: &[Envelope]| {
        let texts: Vec<&str> = messages.iter().map(|message| &*message.text).collect();
        texts.join(",")
    };
    match action {
        Action::StartTurn { work, message } => format!("turn {work} {}", message.text),
        Action::ResumeTurn { work, session } => format!("resume {work} {session}"),
        Action::AbandonTurn { work, session } => format!("abandon {work} {session}"),
        Action::StartCommand { work, message } => format!("command {work} {}", message.text),
        Action::Command(message) => format!("now {}", message.text),
        Action::Interject { work, messages } => format!("interject {work} {}", texts(messages)),
        Action::Continue(work) => format!("continue {work}"),
        Action::Cancel(work) => format!("cancel {work}"),
        Action::Refuse {
            messages,
            more: 0,
            reason,
        } => format!("refuse {} {reason:?}", texts(messages)),
        Action::Refuse { more, reason, .. } => format!("refuse many, {more} more {reason:?}"),
        Action::Forget(message) => format!("forget {}", message.text),
        Action::Drop(messages) => format!("drop {}", texts(messages)),
        Action::Stopped { count, .. } => format!(
            "stopped {} {} {}",
            count.turns, count.commands, count.messages
        ),
    }
}

struct Scene(Scheduler);

impl Scene {
    fn new(slots: usize) -> Self {
        Self(Scheduler::new(slots))
    }

    fn does(&mut self, input: Input) -> Vec<String> {
        self.0.handle(input).iter().map(told).collect()
    }

    fn hears(&mut self, name: &str, text: &str) -> Vec<String> {
        self.does(Input::Arrived(message(name, text)))
    }

    fn ends(&mut self, work: WorkId) -> Vec<String> {
        let unread = Vec::new();
        self.does(Input::Finished { work, unread })
    }
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_session_has_one_turn_at_a_time_and_all_together_have_so_many() {
    let mut scene = Scene::new(2);
    assert_eq!(scene.hears("a", "1"), ["turn 1 1"]);
    assert_eq!(scene.hears("a", "2"), NOTHING);
    assert_eq!(scene.hears("b", "3"), ["turn 2 3"]);
    assert_eq!(scene.hears("c", "4"), NOTHING);
    assert_eq!(scene.ends(1), ["turn 3 4"], "c came before a's second");
    assert_eq!(scene.ends(2), ["turn 4 2"]);
}

#[test]
fn what_arrives_during_a_turn_is_given_to_it_and_what_it_did_not_read_comes_first_again() {
    let mut scene = Scene::new(2);
    scene.hears("a", "1");
    scene.hears("a", "2");
    assert_eq!(scene.does(Input::Step(1)), ["interject 1 2"]);
    assert_eq!(scene.does(Input::Step(1)), ["interject 1 "]);
    scene.hears("a", "3");
    let unread = vec![message("a", "2")];
    let work = 1;
    assert_eq!(scene.does(Input::Finished { work, unread }), ["turn 2 2"]);
    assert_eq!(scene.does(Input::Step(2)), ["interject 2 3"]);
}

#[test]
fn a_command_that_touches_the_conversation_keeps_its_place() {
    let mut scene = Scene::new(2);
    assert_eq!(scene.hears("a", "1"), ["turn 1 1"]);
    assert_eq!(scene.hears("a", "/new"), NOTHING);
    assert_eq!(scene.hears("a", "2"), NOTHING);
    assert_eq!(
        scene.does(Input::Step(1)),
        ["interject 1 "],
        "2 is for the new one"
    );
    assert_eq!(scene.hears("a", "/status"), ["now /status"]);
    assert_eq!(scene.ends(1), ["command 2 /new"]);
    assert_eq!(scene.hears("b", "3"), ["turn 3 3"]);
    assert_eq!(scene.ends(2), ["turn 4 2"]);
}

#[test]
fn a_command_needs_no_slot() {
    let mut scene = Scene::new(1);
    scene.hears("a", "1");
    assert_eq!(scene.hears("b", "/new"), ["command 2 /new"]);
    assert_eq!(scene.hears("b", "/sh df"), ["command 3 /sh df"]);
}

#[test]
fn a_message_with_files_waits_for_them_and_the_text_behind_it_too() {
    let mut scene = Scene::new(2);
    assert_eq!(scene.does(Input::Arrived(with_file("a", "album"))), NOTHING);
    assert_eq!(scene.hears("a", "what is this?"), NOTHING);
    assert_eq!(scene.hears("b", "1"), ["turn 1 1"]);
    let fetched = Envelope {
        attachments: vec![Attachment {
            media: Media::Photo,
            path: "inbox/a.jpg".to_owned(),
        }],
        ..message("a", "album")
    };
    let actions = scene.0.handle(Input::Fetched(fetched));
    let [Action::StartTurn { work: 2, message }] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    assert_eq!(message.attachments.len(), 1);
    assert_eq!(scene.does(Input::Step(2)), ["interject 2 what is this?"]);
}

#[test]
fn a_turn_that_waits_for_a_person_gives_its_slot_to_others() {
    let mut scene = Scene::new(1);
    scene.hears("a", "1");
    scene.hears("b", "2");
    assert_eq!(scene.does(Input::Waits(1)), ["turn 2 2"]);
    scene.hears("c", "3");
    assert_eq!(scene.does(Input::Answered(1)), NOTHING, "the slot is taken");
    assert_eq!(scene.ends(2), ["continue 1"], "before a new turn");
    assert_eq!(scene.ends(1), ["turn 3 3"]);
    scene.does(Input::Waits(3));
    assert_eq!(scene.does(Input::Answered(3)), ["continue 3"]);
}

#[test]
fn stop_ends_what_runs_and_forgets_what_waits() {
    let mut scene = Scene::new(1);
    scene.hears("a", "1");
    scene.hears("a", "/sh sleep 60");
    scene.hears("a", "2");
    scene.hears("b", "3");
    assert_eq!(
        scene.hears("a", "/stop"),
        ["cancel 1", "cancel 2", "drop 2", "stopped 1 1 1"]
    );
    assert_eq!(scene.hears("a", "/stop"), ["stopped 0 0 0"], "nothing new");
    scene.hears("a", "4");
    let unread = vec![message("a", "0")];
    let ended = Input::Finished { work: 1, unread };
    assert_eq!(scene.does(ended), ["drop 0", "turn 3 3"]);
    assert_eq!(scene.ends(3), ["turn 4 4"]);
}

#[test]
fn an_interrupted_turn_goes_on_first_and_can_be_stopped_before_it_has_a_slot() {
    let mut scene = Scene::new(1);
    assert_eq!(
        scene.does(Input::Interrupted(key("a"))),
        ["resume 1 telegram:a"]
    );
    assert_eq!(scene.does(Input::Interrupted(key("b"))), NOTHING);
    scene.hears("b", "1");
    assert_eq!(
        scene.hears("b", "/stop"),
        ["drop 1", "abandon 2 telegram:b", "stopped 1 0 1"]
    );
    assert_eq!(scene.hears("b", "2"), NOTHING);
    assert_eq!(scene.ends(1), NOTHING, "b's journal is being closed");
    assert_eq!(scene.ends(2), ["turn 3 2"]);
}

#[test]
fn refusals_are_told_to_each_chat_by_name_and_not_one_by_one() {
    let mut scene = Scene::new(1);
    scene.hears("a", "0");
    for number in 1..=WAITING_MAX {
        assert_eq!(scene.hears("a", &number.to_string()), NOTHING);
    }
    assert_eq!(scene.hears("a", "x"), ["refuse x QueueFull"]);
    assert_eq!(scene.hears("a", "y"), NOTHING);
    assert_eq!(scene.hears("a", "z"), NOTHING);
    assert_eq!(
        scene.hears("b", "/new"),
        ["command 2 /new"],
        "others are served"
    );
    assert_eq!(scene.ends(2), ["refuse y,z QueueFull"]);
    assert_eq!(scene.ends(1), ["turn 3 1"]);
    assert_eq!(scene.hears("a", "fits"), NOTHING);
    assert_eq!(scene.hears("a", "w"), ["refuse w QueueFull"]);
}

#[test]
fn a_flood_is_counted_and_not_kept() {
    let mut scene = Scene::new(1);
    scene.hears("a", "work");
    for _ in 0..=WAITING_MAX + REFUSED_NAMES_MAX {
        scene.hears("a", "flood");
    }
    for _ in 0..3 {
        assert_eq!(scene.hears("a", "flood"), ["forget flood"]);
    }
    let ended = scene.ends(1);
    assert!(
        ended.contains(&"refuse many, 3 more QueueFull".to_owned()),
        "{ended:?}"
    );
}

#[test]
fn each_chat_is_told_that_too_many_commands_run() {
    let mut scene = Scene::new(1);
    for _ in 0..COMMANDS_MAX {
        scene.hears("a", "/sh sleep 60");
    }
    assert_eq!(
        scene.hears("a", "/sh ls"),
        ["refuse /sh ls TooManyCommands"]
    );
    assert_eq!(
        scene.hears("b", "/sh ls"),
        ["refuse /sh ls TooManyCommands"]
    );
    assert_eq!(scene.hears("b", "/sh df"), NOTHING);
    assert_eq!(scene.ends(1), ["refuse /sh df TooManyCommands"]);
    assert_eq!(
        scene.hears("c", "/sh ls"),
        [format!("command {} /sh ls", COMMANDS_MAX + 1)]
    );
}

#[test]
fn an_edit_counts_only_while_the_message_waits() {
    let mut scene = Scene::new(1);
    let edit = |text: &str| Input::Edited {
        session: key("a"),
        reference: "2".to_owned(),
        text: text.to_owned(),
    };
    scene.hears("a", "1");
    scene.hears("a", "2");
    scene.does(edit("two"));
    assert_eq!(scene.ends(1), ["turn 2 two"]);
    scene.does(edit("zwei"));
    assert_eq!(scene.ends(2), NOTHING);
    assert_eq!(scene.0.load(), Load::default());
}

#[test]
fn a_message_that_was_edited_into_a_command_acts_as_one() {
    let mut scene = Scene::new(1);
    scene.hears("a", "1");
    for reference in ["2", "3", "4"] {
        scene.hears("a", reference);
    }
    for (reference, text) in [("2", "/id"), ("3", "/sh ls")] {
        scene.does(Input::Edited {
            session: key("a"),
            reference: reference.to_owned(),
            text: text.to_owned(),
        });
    }
    assert_eq!(scene.ends(1), ["now /id", "command 2 /sh ls", "turn 3 4"]);
    scene.hears("a", "5");
    scene.does(Input::Edited {
        session: key("a"),
        reference: "5".to_owned(),
        text: "/stop".to_owned(),
    });
    assert_eq!(scene.ends(3), ["cancel 2", "stopped 0 1 0"]);
}

#[test]
fn an_edit_answers_no_question() {
    let mut scene = Scene::new(1);
    scene.hears("a", "1");
    for (reference, text) in [("2", "/approve always"), ("3", "/deny 123456")] {
        scene.hears("a", reference);
        scene.does(Input::Edited {
            session: key("a"),
            reference: reference.to_owned(),
            text: text.to_owned(),
        });
    }
    let refused = [
        "refuse /approve always Edited",
        "refuse /deny 123456 Edited",
    ];
    assert_eq!(scene.ends(1), refused);
}

#[test]
fn what_was_relayed_is_no_command() {
    let mut scene = Scene::new(1);
    for (number, text) in ["/stop", "/sh ls", "/approve always", "/new"]
        .iter()
        .enumerate()
    {
        let relayed = Envelope {
            is_relayed: true,
            ..message("a", text)
        };
        let work = number as WorkId + 1;
        assert_eq!(
            scene.does(Input::Arrived(relayed)),
            [format!("turn {work} {text}")]
        );
        scene.ends(work);
    }
}

#[test]
fn nothing_is_started_any_more_when_the_gateway_stops() {
    let mut scene = Scene::new(1);
    scene.hears("a", "1");
    scene.does(Input::Waits(1));
    scene.does(Input::Stopping);
    assert_eq!(scene.hears("b", "2"), NOTHING);
    assert_eq!(
        scene.does(Input::Answered(1)),
        ["continue 1"],
        "what runs ends in order"
    );
    assert_eq!(scene.ends(1), NOTHING);
    assert_eq!(
        scene.0.load(),
        Load {
            running: 0,
            waiting: 1
        }
    );
}

/// A model of the outside: what was sent, and what is open.
struct World {
    scheduler: Scheduler,
    random: u64,
    sent: usize,
    /// The numbers of messages that wait or were handed over, by session.
    open: BTreeMap<SessionKey, VecDeque<usize>>,
    /// Messages that were refused and of which the person has not been told yet.
    untold: BTreeSet<usize>,
    /// Those that are forgotten and that a refusal must count.
    uncounted: usize,
    running: BTreeMap<WorkId, Running>,
    /// Those of `sent` that came out.
    done: usize,
    waiting_for_files: Vec<Envelope>,
    /// Sessions whose interrupted turn has not begun.
    interrupted: BTreeSet<SessionKey>,
}

struct Running {
    session: SessionKey,
    is_turn: bool,
    is_exclusive: bool,
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
            untold: BTreeSet::new(),
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
                Input::Arrived(sent)
            }
            5 => {
                let file = with_file("0", "").remote_files;
                let sent = Envelope {
                    remote_files: file,
                    ..self.numbered("album")
                };
                self.waiting_for_files.push(sent.clone());
                Input::Arrived(sent)
            }
            6 if !self.waiting_for_files.is_empty() => {
                let index = self.pick(self.waiting_for_files.len());
                let mut fetched = self.waiting_for_files.swap_remove(index);
                fetched.remote_files.clear();
                Input::Fetched(fetched)
            }
            7 if self.pick(8) == 0 => {
                let sent = self.numbered("/stop");
                Input::Arrived(sent)
            }
            8 => Input::Step(self.work(|running| running.is_turn && running.holds_slot)?),
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
            12 => Input::Edited {
                session: key(&self.pick(5).to_string()),
                reference: self.pick(self.sent + 1).to_string(),
                text: "edited".to_owned(),
            },
            _ => {
                let work = self.work(|_| true)?;
                self.finish(work)
            }
        })
    }

    fn finish(&mut self, work: WorkId) -> Input {
        let mut unread = self.running.remove(&work).unwrap().unread;
        // A part of what was handed over is in the journal.
        let read = self.pick(unread.len() + 1);
        self.done += read;
        unread.drain(..read);
        Input::Finished { work, unread }
    }

    /// The message left the queue of its session: nothing that came before it may still be there.
    fn leaves(&mut self, message: &Envelope) {
        let number: usize = message.id.parse().unwrap();
        let open = self.open.get_mut(&message.session).unwrap();
        let first = open.pop_front();
        assert_eq!(first, Some(number), "the order of {}", message.session);
    }

    fn apply(&mut self, input: Input) {
        let arrived = match &input {
            Input::Arrived(message) => Some(message.clone()),
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
            self.open
                .entry(message.session.clone())
                .or_default()
                .push_back(number);
            self.untold.insert(number);
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
                .is_some_and(|session| session.queue.iter().any(|queued| queued.id == message.id));
            if is_queued || is_out {
                self.untold.remove(&number);
            }
            if !is_queued {
                let open = self.open.get_mut(&message.session).unwrap();
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
                self.leaves(&message);
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
            Action::StartCommand { work, message } => {
                let is_beside = message.text.starts_with("/sh");
                if !is_beside {
                    self.leaves(&message);
                }
                self.begin(work, message.session.clone(), false, !is_beside);
                self.done += 1;
                return is_new(&message);
            }
            Action::Command(message) => {
                self.done += 1;
                return is_new(&message);
            }
            Action::Interject { work, messages } => {
                messages.iter().for_each(|message| self.leaves(message));
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
                        self.untold.remove(&message.id.parse().unwrap()),
                        "told twice"
                    );
                }
                self.done += messages.len();
                return messages.iter().any(is_new);
            }
            Action::Drop(messages) => {
                messages.iter().for_each(|message| self.leaves(message));
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
        let waiting: usize = self.open.values().map(VecDeque::len).sum();
        assert_eq!(self.scheduler.load().waiting, waiting);
        assert_eq!(self.scheduler.load().running, self.running.len());
        let handed: usize = self
            .running
            .values()
            .map(|running| running.unread.len())
            .sum();
        assert_eq!(self.sent, self.done + handed + waiting + self.untold.len());
    }

    /// Everything that is open comes to its end.
    fn settle(&mut self) {
        while let Some(mut fetched) = self.waiting_for_files.pop() {
            fetched.remote_files.clear();
            self.apply(Input::Fetched(fetched));
        }
        while let Some(work) = self.work(|_| true) {
            let input = self.finish(work);
            self.apply(input);
        }
        assert_eq!(self.sent, self.done, "each message came out once");
        assert_eq!(self.uncounted, 0, "each refusal was reported");
        assert!(self.scheduler.sessions.is_empty() && self.scheduler.ready.is_empty());
        assert!(self.interrupted.is_empty());
    }
}

/// A million random events: each message comes out once, in its order, and every bound holds.
#[test]
fn whatever_happens_each_message_comes_out_once_and_in_order() {
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
