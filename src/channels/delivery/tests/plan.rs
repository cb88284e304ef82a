//! The plan, without threads or a clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::base::approval::{Answer, Question};
use crate::base::language::Language;
use crate::base::limits::channels::LONGEST_BACKOFF;
use crate::base::message::{Address, DraftKey};
use crate::channels::delivery::job::{Content, Job, Next, Outcome, Report, Ticket};
use crate::channels::delivery::plan::Plan;
use crate::channels::delivery::plan::{DELIVERY_WORKERS, SET_ASIDE_TIME, SHORT_OUTAGE};
use crate::channels::delivery::question::{ChatQuestion, Settled};
use crate::channels::delivery::work::DraftText;
use crate::channels::delivery::work::{DRAFT_EDITS, TYPING_DELAY};
use crate::channels::kit::adapter::Capabilities;
use crate::store::outbox::{Backlog, Draft, Head};

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn capabilities() -> Capabilities {
    Capabilities {
        buttons: true,
        edits: true,
        button_data_bytes: 64,
        upload_bytes: 1000,
        download_bytes: 1000,
        typing_interval: Some(4 * SECOND),
        chat_interval: SECOND,
        group_rate: (20, 60 * SECOND),
        total_rate: (30, SECOND),
        reaction: "👀".to_owned(),
        quotes: false,
        edit_interval: Some(SECOND),
    }
}

fn is_group(address: &Address) -> bool {
    address.chat.starts_with('-')
}

fn empty() -> Plan {
    Plan::new(capabilities(), 5, is_group, false, Vec::new())
}

fn chat(name: &str) -> Address {
    Address::parse(&format!("fake:{name}"))
}

fn key(name: &str) -> DraftKey {
    DraftKey::command(name)
}

fn head(id: u64, to: &str, replaces: Option<&str>) -> Head {
    Head {
        id,
        to: chat(to),
        replaces: replaces.map(key),
        edits: None,
        has_files: false,
        is_silent: false,
        failed: Duration::ZERO,
    }
}

fn backlog(heads: impl IntoIterator<Item = Head>) -> Backlog {
    let heads: Vec<Head> = heads.into_iter().collect();
    Backlog {
        replaces: heads
            .iter()
            .filter_map(|head| head.replaces.clone())
            .collect(),
        heads,
    }
}

fn text(text: impl Into<String>, reply_to: &str) -> DraftText {
    DraftText {
        text: text.into(),
        reply_to: reply_to.to_owned(),
        ..DraftText::default()
    }
}

#[track_caller]
fn take(plan: &mut Plan, now: Duration) -> Ticket {
    match plan.take(now) {
        Next::Do(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn waits_until(plan: &Plan, now: Duration) -> Duration {
    match plan.look(now) {
        Next::At(at) => at,
        other => panic!("{other:?}"),
    }
}

fn done(message: &str) -> Outcome {
    Outcome::Done {
        message: Some(message.to_owned()),
        is_last: true,
    }
}

fn finish(plan: &mut Plan, ticket: Ticket, outcome: Outcome, now: Duration) -> Vec<Report> {
    plan.finish(ticket, outcome, now, 0.0)
}

fn denied() -> Settled {
    Settled {
        answer: Answer::Deny,
        by: "Ana".to_owned(),
    }
}

fn question(number: u64) -> Content {
    Content::Question(Box::new(ChatQuestion {
        number,
        question: Question::default(),
        language: Language::English,
        only_for: String::new(),
    }))
}

mod drafts;
mod sparse;

#[test]
fn typing_begins_late_and_is_repeated_until_the_work_ends() {
    let mut plan = empty();
    plan.working(&key("a"), &chat("1"), SECOND);
    assert_eq!(waits_until(&plan, SECOND), SECOND + TYPING_DELAY);
    let ticket = take(&mut plan, 2 * SECOND);
    assert!(matches!(ticket.job, Job::Type { .. }));
    finish(&mut plan, ticket, done(""), 2 * SECOND);
    assert_eq!(waits_until(&plan, 2 * SECOND), 6 * SECOND);
    plan.resting(&key("a"));
    assert!(matches!(plan.look(9 * SECOND), Next::Nothing));
}

fn trouble() -> Outcome {
    Outcome::Trouble("500".to_owned())
}

/// Tries what the backlog has until the time is over, or something else comes up. Returns how often.
fn fail_until(plan: &mut Plan, heads: &[Head], now: &mut Duration, end: Duration) -> usize {
    let mut tries = 0;
    while *now < end {
        plan.set_backlog(backlog(heads.iter().cloned()));
        match plan.take(*now) {
            Next::Do(ticket) if matches!(ticket.job, Job::Deliver { .. }) => {
                finish(plan, ticket, trouble(), *now);
                tries += 1;
            }
            Next::At(at) => *now = at,
            other => panic!("{other:?}"),
        }
    }
    tries
}

/// Lets what the backlog has fail until it is set aside; returns when.
fn waits_until_aside(plan: &mut Plan, mut now: Duration) -> Duration {
    loop {
        match plan.take(now) {
            Next::Do(ticket) if matches!(ticket.job, Job::SetAside { .. }) => return now,
            Next::Do(ticket) => drop(finish(plan, ticket, trouble(), now)),
            Next::At(at) => now = at,
            Next::Nothing => panic!("nothing is left"),
        }
    }
}

#[test]
fn a_message_that_always_fails_is_set_aside_while_its_channel_works() {
    let mut plan = empty();
    let heads = [head(1, "1", None)];
    let mut now = SECOND;
    fail_until(&mut plan, &heads, &mut now, SET_ASIDE_TIME / 2);
    // Another chat is answered meanwhile.
    assert!(plan.notify(&chat("2"), Content::Text("x".to_owned())));
    let ticket = take(&mut plan, now);
    assert!(matches!(ticket.job, Job::Deliver { .. }), "{ticket:?}");
    finish(&mut plan, ticket, trouble(), now);
    let ticket = take(&mut plan, now);
    assert!(matches!(ticket.job, Job::Notify { .. }), "{ticket:?}");
    finish(&mut plan, ticket, done("9"), now);
    fail_until(&mut plan, &heads, &mut now, SET_ASIDE_TIME);
    plan.set_backlog(backlog(heads));
    let at = now;
    assert!(at <= SET_ASIDE_TIME + 2 * LONGEST_BACKOFF);
    let ticket = take(&mut plan, at);
    let is_first = matches!(&ticket.job, Job::SetAside { id: 1, why, .. } if why == "500");
    assert!(is_first, "{ticket:?}");
    finish(&mut plan, ticket, done(""), at);
    // The next one of the chat does not wait for what the first one has made wait.
    plan.set_backlog(backlog([head(2, "1", None)]));
    let ticket = take(&mut plan, at);
    assert!(matches!(ticket.job, Job::Deliver { id: 2, .. }));
    finish(&mut plan, ticket, done("10"), at);
    // It is tried again when somebody asks for that, for as long as before.
    plan.set_backlog(backlog([head(1, "1", None)]));
    let ticket = take(&mut plan, at + SECOND);
    assert!(matches!(ticket.job, Job::Deliver { id: 1, .. }));
    finish(&mut plan, ticket, trouble(), at + SECOND);
    let at = waits_until(&plan, at + SECOND);
    assert!(matches!(
        take(&mut plan, at).job,
        Job::Deliver { id: 1, .. }
    ));
}

#[test]
fn while_a_channel_answers_nothing_but_errors_every_message_is_kept_in_order() {
    let mut plan = empty();
    let heads = [head(1, "1", None), head(2, "2", None)];
    let mut now = SECOND;
    let day = SECOND * 24 * 3600;
    let tries = fail_until(&mut plan, &heads, &mut now, day);
    assert!(tries > 300, "{tries}");
}

#[test]
fn a_question_is_asked_until_it_is_shown_or_settled() {
    let mut plan = empty();
    assert!(plan.notify(&chat("1"), question(7)));
    let ticket = take(&mut plan, SECOND);
    let trouble = Outcome::Trouble("500".to_owned());
    finish(&mut plan, ticket, trouble, SECOND);
    let at = waits_until(&plan, SECOND);
    let ticket = take(&mut plan, at.max(2 * SECOND));
    assert!(matches!(ticket.job, Job::Notify { .. }));
    // It is settled while it is on its way: then it is shown and settled.
    plan.settle(7, denied());
    finish(&mut plan, ticket, done("55"), 9 * SECOND);
    let ticket = take(&mut plan, 9 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Settle { message, settled, .. }
            if message == "55" && *settled == denied()),
        "{ticket:?}"
    );
    finish(&mut plan, ticket, done(""), 9 * SECOND);
    plan.notify(&chat("1"), question(8));
    plan.settle(8, denied());
    assert!(
        matches!(plan.look(99 * SECOND), Next::Nothing),
        "never asked"
    );
}

#[test]
fn a_channel_that_is_down_makes_everything_wait_and_one_call_tries_it() {
    let mut plan = empty();
    plan.set_backlog(backlog([head(1, "1", None), head(2, "2", None)]));
    let (one, two) = (take(&mut plan, SECOND), take(&mut plan, SECOND));
    let down = || Outcome::Down("no route".to_owned());
    assert_eq!(finish(&mut plan, one, down(), SECOND).len(), 1);
    let first = waits_until(&plan, SECOND);
    finish(&mut plan, two, down(), SECOND);
    assert_eq!(waits_until(&plan, SECOND), first, "they failed together");
    let mut now = first;
    for _ in 0..20 {
        now += SECOND;
        let ticket = take(&mut plan, now);
        assert!(matches!(plan.look(now), Next::Nothing), "one at a time");
        finish(&mut plan, ticket, down(), now);
        now = waits_until(&plan, now);
    }
    assert_eq!(waits_until(&plan, now - SECOND) - now, Duration::ZERO);
    let ticket = take(&mut plan, now);
    finish(&mut plan, ticket, down(), now);
    assert_eq!(waits_until(&plan, now), now + LONGEST_BACKOFF);
    plan.reachable(now);
    let ticket = take(&mut plan, now + SECOND);
    let reports = finish(&mut plan, ticket, done("5"), now + SECOND);
    assert_eq!(reports, [Report::Back]);
}

#[test]
fn after_the_quick_tries_a_chat_in_trouble_waits_longer() {
    let mut plan = empty();
    plan.set_backlog(backlog([head(1, "1", None)]));
    let mut now = SECOND;
    let mut waits = Vec::new();
    for _ in 0..10 {
        let ticket = take(&mut plan, now);
        let reports = finish(&mut plan, ticket, Outcome::Trouble("502".to_owned()), now);
        let is_first = waits.is_empty();
        assert!(
            matches!(&reports[..], [Report::Trouble { is_first: first, .. }] if *first == is_first)
        );
        let at = waits_until(&plan, now).max(now + SECOND);
        waits.push((at - now).as_secs());
        now = at;
    }
    assert_eq!(waits, [1, 1, 2, 4, 8, 15, 30, 60, 60, 60]);
}

/// The jitter makes no wait longer than the longest one, and after an hour of errors that is what is waited.
#[test]
fn a_chat_in_trouble_is_tried_every_minute_at_first_and_never_after_more_than_the_longest_wait() {
    for chance in [0.0, 0.3, 1.0] {
        for outcome in [Outcome::Trouble, Outcome::Down] {
            let mut plan = empty();
            plan.set_backlog(backlog([head(1, "1", None)]));
            let (mut now, mut longest) = (SECOND, [Duration::ZERO; 2]);
            while now < 3600 * SECOND {
                let ticket = take(&mut plan, now);
                plan.finish(ticket, outcome("502".to_owned()), now, chance);
                let at = waits_until(&plan, now).max(now + SECOND);
                let is_late = usize::from(now > SHORT_OUTAGE + SECOND);
                longest[is_late] = longest[is_late].max(at - now);
                now = at;
            }
            let [short, long] = longest.map(|wait| wait.as_secs());
            assert!(short <= 75 && (225..=300).contains(&long), "{longest:?}");
        }
    }
}

#[test]
fn a_restart_does_not_begin_the_patience_with_a_message_again() {
    let mut plan = empty();
    let waits = Head {
        failed: SET_ASIDE_TIME - 60 * SECOND,
        ..head(1, "1", None)
    };
    plan.set_backlog(backlog([waits.clone()]));
    let mut now = SECOND;
    // The channel works: another chat was answered.
    fail_until(
        &mut plan,
        std::slice::from_ref(&waits),
        &mut now,
        2 * SECOND,
    );
    plan.reachable(now);
    fail_until(
        &mut plan,
        std::slice::from_ref(&waits),
        &mut now,
        60 * SECOND,
    );
    plan.set_backlog(backlog([waits]));
    let at = waits_until_aside(&mut plan, now);
    assert!(at <= 120 * SECOND, "{at:?}");
}

#[test]
fn what_waits_is_told_with_its_reason_and_the_next_attempt() {
    let mut plan = empty();
    plan.set_backlog(backlog([head(1, "1", None), head(2, "2", None)]));
    assert_eq!(plan.waits(SECOND), []);
    let (one, two) = (take(&mut plan, SECOND), take(&mut plan, SECOND));
    finish(&mut plan, one, trouble(), SECOND);
    finish(&mut plan, two, Outcome::RetryAfter(40 * SECOND), SECOND);
    let told = plan.waits(SECOND).into_iter();
    let told: Vec<_> = told
        .map(|it| (it.message, it.next.as_millis(), it.why))
        .collect();
    assert_eq!(
        told,
        [
            (Some(1), 500, "500".to_owned()),
            (Some(2), 40_000, "rate-limited".to_owned()),
        ]
    );
}

#[test]
fn files_leave_a_worker_to_the_others_and_questions_do_not_wait_for_them() {
    let mut plan = empty();
    let file = |id, to| Head {
        has_files: true,
        ..head(id, to, None)
    };
    plan.set_backlog(backlog([
        file(1, "1"),
        file(2, "2"),
        file(3, "3"),
        head(4, "4", None),
    ]));
    let tickets: Vec<Ticket> = (0..2).map(|_| take(&mut plan, SECOND)).collect();
    let third = take(&mut plan, SECOND);
    assert!(matches!(third.job, Job::Deliver { id: 4, .. }), "{third:?}");
    finish(&mut plan, third, done("5"), SECOND);
    plan.set_backlog(backlog([file(1, "1"), file(2, "2"), file(3, "3")]));
    assert!(matches!(plan.look(SECOND), Next::Nothing));
    plan.notify(&chat("1"), question(7));
    let asked = take(&mut plan, 3 * SECOND);
    assert!(matches!(asked.job, Job::Notify { .. }), "{asked:?}");
    assert_eq!(tickets.len() + 1, DELIVERY_WORKERS);
}

/// A source of random numbers that can be repeated (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// One message of the made-up outbox.
#[derive(Debug)]
struct Message {
    id: u64,
    to: Address,
    pieces: u64,
    sent: u64,
    replaces: Option<DraftKey>,
    has_files: bool,
}

/// The chats: three that always answer, a group and one of its topics with all kinds of faults, one
/// that answers 500, and one that hangs.
const CHATS: [&str; 7] = ["1", "2", "4", "-3", "-3:7", "5", "6"];
const HEALTHY: usize = 3;
/// How long a hanging call lasts, and the longest upload.
const HANG: Duration = Duration::from_secs(30);
const UPLOAD: Duration = Duration::from_secs(600);

struct World {
    random: Random,
    plan: Plan,
    now: Duration,
    outbox: VecDeque<Message>,
    /// Those that were set aside, until the faults are over.
    aside: VecDeque<Message>,
    last_id: u64,
    running: Vec<(Duration, Ticket)>,
    /// Begins of messages by chat, and of all.
    begun: BTreeMap<String, Vec<Duration>>,
    all_begun: Vec<Duration>,
    delivered: BTreeMap<String, Vec<(u64, u64)>>,
    added: BTreeMap<String, Vec<(u64, u64)>>,
    /// Since when a healthy chat could be served.
    waiting: BTreeMap<String, Duration>,
    has_outages: bool,
    is_healed: bool,
    events: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut plan = empty();
        plan.patience = 60 * SECOND;
        Self {
            random: Random(seed * 2 + 1),
            plan,
            now: Duration::ZERO,
            outbox: VecDeque::new(),
            aside: VecDeque::new(),
            last_id: 0,
            running: Vec::new(),
            begun: BTreeMap::new(),
            all_begun: Vec::new(),
            delivered: BTreeMap::new(),
            added: BTreeMap::new(),
            waiting: BTreeMap::new(),
            has_outages: seed.is_multiple_of(4),
            is_healed: false,
            events: 0,
        }
    }

    /// Something that comes from outside.
    fn input(&mut self) {
        self.events += 1;
        let name = CHATS[self.random.below(CHATS.len() as u64) as usize];
        let to = chat(name);
        let work = key(&format!("{name}/{}", self.random.below(2)));
        match self.random.below(12) {
            0..4 if self.outbox.len() < 60 => self.add(name, &work),
            4 => self.plan.working(&work, &to, self.now),
            5 => self.plan.resting(&work),
            6 | 7 => {
                let written = self.random.below(1000).to_string();
                self.plan.draft(&work, &to, text(written, ""), self.now);
            }
            8 => self.plan.react(&to, "3"),
            9 => {
                let number = self.random.below(9);
                self.plan.notify(&to, question(number));
            }
            10 => (0..9).for_each(|number| self.plan.settle(number, denied())),
            _ if self.random.below(9) == 0 => self.plan.reachable(self.now),
            _ => {}
        }
    }

    fn add(&mut self, name: &str, work: &DraftKey) {
        self.last_id += 1;
        let message = Message {
            id: self.last_id,
            to: chat(name),
            pieces: 1 + self.random.below(3),
            sent: 0,
            replaces: (self.random.below(2) == 0).then(|| work.clone()),
            has_files: self.random.below(6) == 0,
        };
        let pieces = (0..message.pieces).map(|piece| (message.id, piece));
        self.added
            .entry(name.to_owned())
            .or_default()
            .extend(pieces);
        self.outbox.push_back(message);
        self.tell();
    }

    /// Tells the plan what the outbox holds.
    fn tell(&mut self) {
        let mut backlog = Backlog::default();
        let mut seen: Vec<&Address> = Vec::new();
        for message in &self.outbox {
            let replaces = message.replaces.clone().filter(|_| message.sent == 0);
            backlog.replaces.extend(replaces.clone());
            if !seen.contains(&&message.to) {
                seen.push(&message.to);
                backlog.heads.push(Head {
                    id: message.id,
                    to: message.to.clone(),
                    replaces,
                    edits: None,
                    has_files: message.has_files,
                    is_silent: false,
                    failed: Duration::ZERO,
                });
            }
        }
        self.plan.set_backlog(backlog);
    }

    /// Lets the workers take what they can.
    fn take(&mut self) {
        while self.running.len() < DELIVERY_WORKERS {
            let Next::Do(ticket) = self.plan.take(self.now) else {
                break;
            };
            self.events += 1;
            self.check(&ticket);
            let time = self.duration(&ticket.job);
            self.running.push((self.now + time, ticket));
        }
    }

    fn check(&mut self, ticket: &Ticket) {
        let now = self.now;
        if let Job::Deliver { to, id, .. } = &ticket.job {
            let oldest = self.outbox.iter().find(|message| message.to == *to);
            assert_eq!(oldest.map(|message| message.id), Some(*id), "out of order");
            let same = |other: &Ticket| matches!(&other.job, Job::Deliver { to: other, .. } | Job::Show { to: other, .. } if other == to);
            assert!(
                !self.running.iter().any(|(_, other)| same(other)),
                "two at once"
            );
            if let Some(since) = self.waiting.remove(&to.to_string()) {
                let waited = now.saturating_sub(since);
                let most = HANG + 10 * SECOND;
                assert!(
                    self.has_outages || waited <= most,
                    "{to} starved for {waited:?}"
                );
            }
        }
        if let Job::Deliver { to, .. } | Job::Show { to, .. } | Job::Notify { to, .. } = &ticket.job
        {
            let of_chat = self.begun.entry(to.chat.clone()).or_default();
            of_chat.push(now);
            self.all_begun.push(now);
            let within = |times: &[Duration], span: Duration| {
                let recent = times.iter().rev().take_while(|at| now - **at < span);
                recent.count()
            };
            assert!(within(of_chat, SECOND) <= 1, "too fast for {to}");
            let is_held = is_group(to) && within(of_chat, 60 * SECOND) > 20;
            assert!(!is_held, "too fast for the group");
            assert!(within(&self.all_begun, SECOND) <= 30, "too fast");
        }
    }

    fn address(job: &Job) -> Option<&Address> {
        match job {
            Job::Deliver { to, .. }
            | Job::SetAside { to, .. }
            | Job::Delete { to, .. }
            | Job::Show { to, .. }
            | Job::Notify { to, .. }
            | Job::Settle { to, .. }
            | Job::Remove { to, .. }
            | Job::React { to, .. }
            | Job::Type { to } => Some(to),
            Job::SetMenu => None,
        }
    }

    fn duration(&mut self, job: &Job) -> Duration {
        let name = Self::address(job).map(|to| to.chat.clone());
        match job {
            _ if self.is_healed => Duration::from_millis(50),
            Job::SetAside { .. } => Duration::from_millis(1),
            _ if name.as_deref() == Some("6") => HANG,
            Job::Deliver {
                has_files: true, ..
            } => Duration::from_secs(self.random.below(UPLOAD.as_secs())),
            _ => Duration::from_millis(self.random.below(200)),
        }
    }

    fn outcome(&mut self, job: &Job) -> Outcome {
        let name = Self::address(job)
            .map(|to| to.chat.clone())
            .unwrap_or_default();
        let is_healthy = self.is_healed || CHATS[..HEALTHY].contains(&name.as_str());
        let succeeded = Outcome::Done {
            message: Some(self.random.below(1_000_000).to_string()),
            is_last: true,
        };
        if self.has_outages && !self.is_healed && self.random.below(8) == 0 {
            return Outcome::Down("no route".to_owned());
        }
        match (name.as_str(), self.random.below(12)) {
            _ if is_healthy => succeeded,
            ("5" | "6", _) => Outcome::Trouble("500".to_owned()),
            (_, 0) => Outcome::RetryAfter(Duration::from_secs(self.random.below(90))),
            (_, 1) => Outcome::Trouble("502".to_owned()),
            (_, 2) => Outcome::Dropped,
            (_, 3) => Outcome::Stopped,
            _ => succeeded,
        }
    }

    /// A call ends: the outbox records it, and the plan is told.
    fn end(&mut self, index: usize) {
        self.events += 1;
        let (_, ticket) = self.running.swap_remove(index);
        let mut outcome = self.outcome(&ticket.job);
        if let Job::SetAside { id, .. } = &ticket.job {
            let index = self.outbox.iter().position(|message| message.id == *id);
            let message = self.outbox.remove(index.expect("it is pending"));
            self.aside.extend(message);
            outcome = done("");
        }
        if let Job::Deliver { id, to, .. } = &ticket.job {
            let message = self.outbox.iter_mut().find(|message| message.id == *id);
            let message = message.expect("it is pending");
            let delivered = self.delivered.entry(to.to_string()).or_default();
            match &outcome {
                Outcome::Done { .. } => {
                    delivered.push((*id, message.sent));
                    message.sent += 1;
                }
                Outcome::Dropped => {
                    delivered.extend((message.sent..message.pieces).map(|piece| (*id, piece)));
                    message.sent = message.pieces;
                }
                _ => {}
            }
            self.outbox.retain(|message| message.sent < message.pieces);
        }
        let chance = self.random.below(100) as f32 / 100.0;
        self.plan.finish(ticket, outcome, self.now, chance);
        self.tell();
    }

    /// Goes to the next time at which something happens, at most so far.
    fn advance(&mut self, most: Duration) {
        let mut next = self.now + most;
        for (at, _) in &self.running {
            next = next.min(*at);
        }
        if let Next::At(at) = self.plan.look(self.now) {
            next = next.min(at);
        }
        self.now = next.max(self.now);
        while let Some(index) = self.running.iter().position(|(at, _)| *at <= self.now) {
            self.end(index);
        }
        self.note_waiting();
    }

    /// Notes which healthy chats wait although nothing of their own keeps them waiting.
    fn note_waiting(&mut self) {
        for name in &CHATS[..HEALTHY] {
            let to = chat(name);
            let is_running = self
                .running
                .iter()
                .any(|(_, ticket)| Self::address(&ticket.job) == Some(&to));
            let is_waiting = self.outbox.iter().any(|message| message.to == to);
            let last = self.begun.get(*name).and_then(|times| times.last());
            let is_paced = last.is_some_and(|last| *last + 2 * SECOND > self.now);
            let ready = is_waiting && !is_running && !is_paced;
            // Files wait for files.
            let has_files = self.outbox.iter().find(|message| message.to == to);
            let has_files = has_files.is_some_and(|message| message.has_files);
            match ready && !has_files {
                true => _ = self.waiting.entry(to.to_string()).or_insert(self.now),
                false => _ = self.waiting.remove(&to.to_string()),
            }
        }
    }
}

#[test]
fn with_random_faults_order_and_pace_are_kept_and_nobody_is_lost_or_starves() {
    let mut events = 0;
    let (mut seed, mut aside) = (0, 0);
    while events < 120_000 {
        seed += 1;
        let mut world = World::new(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..1500 {
                world.input();
                world.take();
                let most = Duration::from_millis(world.random.below(1500));
                world.advance(most);
            }
            world.is_healed = true;
            aside += world.aside.len();
            world.outbox.extend(world.aside.drain(..));
            let by_id = world.outbox.make_contiguous();
            by_id.sort_by_key(|message| message.id);
            world.tell();
            let mut steps = 0;
            while !(world.outbox.is_empty() && world.running.is_empty()) {
                world.take();
                world.advance(3600 * SECOND);
                steps += 1;
                assert!(steps < 100_000, "{} messages are stuck", world.outbox.len());
            }
        }));
        assert!(outcome.is_ok(), "seed {seed}");
        let names = |map: &BTreeMap<String, Vec<(u64, u64)>>| -> Vec<Vec<(u64, u64)>> {
            let of_chat = |(to, pieces): (&String, &Vec<(u64, u64)>)| {
                let mut pieces = pieces.clone();
                // Where something was set aside, it came later.
                if !CHATS[..HEALTHY]
                    .iter()
                    .any(|name| chat(name).to_string() == *to)
                {
                    pieces.sort_unstable();
                }
                pieces
            };
            map.iter().map(of_chat).collect()
        };
        assert_eq!(names(&world.delivered), names(&world.added), "seed {seed}");
        events += world.events;
    }
    assert!(seed > 5, "only {seed} worlds");
    assert!(aside > 0, "nothing was set aside");
}
