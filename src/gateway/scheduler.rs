//! Schedules work: at most one turn or command in a session, `slots` turns overall, and beside them other
//! commands, one after another in each session. Pure: events go in, actions come out, and `run` performs them.
//!
//! Every message comes out exactly once: as the start of a turn or a command, as an interjection into a
//! running turn, refused (named, or only counted in a flood), or dropped by `/stop`. The order within a
//! session is kept, that of messages and that of the commands beside them, except for refused messages and
//! commands that act at once.

mod actions;
mod lanes;
mod refusals;
mod shares;

use std::collections::{BTreeMap, VecDeque};

use lanes::{acts_at_once, is_of_job, is_of_subagent, is_ready, may_stop, parent_of};
use refusals::Refused;
use shares::Holder;

use super::commands::{ParsedMessage, When};
use crate::base::access::Role;
use crate::base::limits::gateway::WAITING_MAX;
use crate::base::message::{Address, Envelope, SessionKey};

pub use actions::{Action, Input, Load, RefusalReason, Stopped, WorkId};

/// Commands such as `/sh` that run at a time, over all chats: each has a thread.
const COMMANDS_MAX: usize = 16;
/// Those of one chat: long ones, beside which others were started. Less, so that others have some.
const COMMANDS_IN_CHAT_MAX: usize = 4;
/// Those of one chat that have asked its person something, beside these.
const ASKING_IN_CHAT_MAX: usize = 6;

/// Turns that wait for a person and have given their slot to others; each has a thread. A turn beyond
/// them keeps its slot while it waits.
const PARKED_TURNS_MAX: usize = 16;
/// See the module.
#[derive(Debug)]
pub struct Scheduler {
    slots: usize,
    slots_held: usize,
    sessions: BTreeMap<SessionKey, Session>,
    /// Sessions that can start something, in the order in which they became able to.
    ready: VecDeque<SessionKey>,
    /// Sessions with commands that wait, the one that was served last at the end.
    lanes: VecDeque<SessionKey>,
    works: BTreeMap<WorkId, Work>,
    /// Turns that have a person's answer and wait for a slot.
    returning: VecDeque<WorkId>,
    /// Chats that were told of a refusal, with the messages refused since.
    refused: BTreeMap<(Address, RefusalReason), Refused>,
    last_work: WorkId,
    is_stopping: bool,
}

#[derive(Debug, Default)]
struct Session {
    queue: VecDeque<ParsedMessage>,
    /// The work that uses the session exclusively.
    running: Option<WorkId>,
    /// Commands that run beside that, one after another.
    commands: VecDeque<ParsedMessage>,
    /// The command that the first of these waits for.
    command: Option<WorkId>,
    /// The `/sh` or `/term` that has asked the person something, for which others like it wait.
    asking: Option<WorkId>,
    /// Whether an interrupted turn is resumed before anything else.
    is_interrupted: bool,
    /// Whether a consolidation's result is noted in its journal before anything else.
    is_consolidated: bool,
}

#[derive(Debug)]
struct Work {
    session: SessionKey,
    /// The conversation that it is a task of.
    parent: Option<SessionKey>,
    kind: Kind,
    /// Whether it is a command of the chat's shell or terminal.
    is_of_shell: bool,
    /// Whether it is a command that has asked its person something, and has not run for long since.
    has_asked: bool,
    /// Whether it is a command whose question is open.
    is_asking: bool,
    /// What the person may do whose message it is about.
    role: Role,
    /// The holder of its slot.
    holder: Holder,
    is_cancelled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Turn(Slot),
    /// A subagent's turn. It needs no slot, so that conversations go on beside it.
    Task,
    /// A command that uses its session exclusively, or the end of an abandoned turn.
    Exclusive,
    /// The note of a consolidation in the journal: a few milliseconds, which no /stop ends.
    Upkeep,
    /// A command that runs beside turns, after the commands before it.
    Queued,
    /// A command that runs beside all other work.
    Beside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Held,
    /// Released while a person is asked.
    Released,
    /// Waiting for a slot again.
    Waiting,
}

impl Scheduler {
    /// A scheduler that runs at most `slots` turns at a time.
    pub fn new(slots: usize) -> Self {
        Self {
            slots: slots.max(1),
            slots_held: 0,
            sessions: BTreeMap::new(),
            ready: VecDeque::new(),
            lanes: VecDeque::new(),
            works: BTreeMap::new(),
            returning: VecDeque::new(),
            refused: BTreeMap::new(),
            last_work: 0,
            is_stopping: false,
        }
    }

    /// Takes an input, and returns the actions to perform, in order.
    pub fn handle(&mut self, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Arrived(message) => self.arrived(message, &mut actions),
            Input::Fetched(message) => self.fetched(message),
            Input::Edited {
                session,
                reference,
                text,
            } => self.edited(&session, &reference, text),
            Input::Interrupted(session) => {
                self.sessions
                    .entry(session.clone())
                    .or_default()
                    .is_interrupted = true;
                self.make_ready(&session);
            }
            Input::Consolidated(session) => {
                let held = self.sessions.entry(session.clone()).or_default();
                held.is_consolidated = true;
                self.make_ready(&session);
            }
            Input::Step(work) => {
                let messages = self.interjections(work);
                actions.push(Action::Interject { work, messages });
            }
            Input::Waits(work) => self.begin_waiting(work, &mut actions),
            Input::Answered(work) => self.want_slot(work, &mut actions),
            Input::Finished { work, unread } => self.finished(work, unread, &mut actions),
            Input::Long(work) => self.grew_long(work, &mut actions),
            Input::Stopping => {
                self.is_stopping = true;
                self.report_refused(&mut actions);
            }
        }
        self.start(&mut actions);
        actions
    }

    /// The number of running works and waiting messages.
    pub fn load(&self) -> Load {
        Load {
            running: self.works.len(),
            waiting: self
                .sessions
                .values()
                .map(|session| session.queue.len() + session.commands.len())
                .sum(),
        }
    }

    fn arrived(&mut self, message: ParsedMessage, actions: &mut Vec<Action>) {
        match message.when() {
            Some(When::Stop) => self.stop(message, actions),
            Some(When::AtOnce | When::Answer | When::WithJobs) => {
                actions.push(Action::Command(Box::new(message)))
            }
            Some(When::Beside) if self.count(|work| work.kind == Kind::Beside) < COMMANDS_MAX => {
                self.start_command(message, Kind::Beside, actions);
            }
            Some(When::Beside | When::Queued) => self.enqueue_command(message, actions),
            Some(When::InOrder) | None => self.enqueue(message, actions),
        }
    }

    fn enqueue(&mut self, message: ParsedMessage, actions: &mut Vec<Action>) {
        let key = message.session.clone();
        let has_room = self.has_room(&message);
        let session = self.sessions.entry(key.clone()).or_default();
        // Few jobs run at a time, and each message of theirs has a run that waits for it.
        // A report is what somebody waits for, and few subagents run too.
        let is_inner = is_of_job(&message) || is_of_subagent(&message);
        if !has_room || session.queue.len() >= WAITING_MAX && !is_inner {
            return self.refuse(message.into_envelope(), RefusalReason::QueueFull, actions);
        }
        session.queue.push_back(message);
        self.make_ready(&key);
    }

    fn fetched(&mut self, message: Envelope) {
        let key = message.session.clone();
        let waiting = self.waiting_in(&key).find(|other| other.id == message.id);
        if let Some(found) = waiting {
            found.change(|found| {
                found.attachments = message.attachments;
                // An edit may have come while the files were fetched; a note about a file counts with it.
                if !found.remote_files.is_empty() {
                    found.text = message.text;
                }
                found.remote_files.clear();
            });
        }
        self.make_ready(&key);
    }

    /// The messages and commands that wait in a session.
    fn waiting_in(&mut self, key: &SessionKey) -> impl Iterator<Item = &mut ParsedMessage> {
        let session = self.sessions.get_mut(key).into_iter();
        session.flat_map(|session| session.queue.iter_mut().chain(&mut session.commands))
    }

    fn edited(&mut self, session: &SessionKey, reference: &str, text: String) {
        let mut waiting = self.waiting_in(session);
        if let Some(message) = waiting.find(|message| message.reference == reference) {
            message.change(|message| {
                message.text = text;
                // Those were the words before.
                message.unmarked.clear();
            });
            // An edit makes no command of it that the person may not use.
            if !message.is_allowed() {
                message.change(|message| message.is_relayed = true);
            }
        }
    }

    /// The messages at the head of the queue of a turn's session that can be read now, up to the first
    /// command: what was sent after that belongs after it.
    fn interjections(&mut self, work: WorkId) -> Vec<Envelope> {
        let session = self.works.get(&work).filter(|work| !work.is_cancelled);
        let role = session.map_or(Role::Owner, |work| work.role);
        let session = session.and_then(|work| self.sessions.get_mut(&work.session));
        let Some(session) = session.filter(|session| session.running == Some(work)) else {
            return Vec::new();
        };
        // A report has a turn of its own: the running one may deliver elsewhere, or be another agent's.
        let is_readable = |message: &&ParsedMessage| {
            is_ready(message)
                && message.command().is_none()
                && !is_of_job(message)
                && !is_of_subagent(message)
                // A turn does for no one what they could not have it do.
                && message.role >= role
        };
        let count = session.queue.iter().take_while(is_readable).count();
        let read = session.queue.drain(..count);
        read.map(ParsedMessage::into_envelope).collect()
    }

    fn release_slot(&mut self, work: WorkId) {
        let parked = |work: &&Work| matches!(work.kind, Kind::Turn(slot) if slot != Slot::Held);
        if self.works.values().filter(parked).count() >= PARKED_TURNS_MAX {
            return;
        }
        if let Some(Kind::Turn(slot)) = self.works.get_mut(&work).map(|work| &mut work.kind)
            && *slot == Slot::Held
        {
            *slot = Slot::Released;
            self.slots_held -= 1;
        }
    }

    fn want_slot(&mut self, work: WorkId, actions: &mut Vec<Action>) {
        let answered = self.works.get_mut(&work).map(|work| {
            work.is_asking = false;
            &mut work.kind
        });
        match answered {
            Some(Kind::Turn(slot @ Slot::Released)) => {
                *slot = Slot::Waiting;
                self.returning.push_back(work);
            }
            Some(_) => actions.push(Action::Continue(work)),
            None => {}
        }
    }

    fn finished(&mut self, work: WorkId, unread: Vec<Envelope>, actions: &mut Vec<Action>) {
        let Some(ended) = self.works.remove(&work) else {
            return;
        };
        self.returning.retain(|other| *other != work);
        if ended.kind == Kind::Turn(Slot::Held) {
            self.slots_held -= 1;
        }
        if ended.kind == Kind::Queued {
            let session = self.sessions.get_mut(&ended.session);
            if let Some(session) = session {
                session.command.take_if(|command| *command == work);
                session.asking.take_if(|asking| *asking == work);
            }
            self.forget_if_idle(&ended.session);
        } else if ended.kind != Kind::Beside
            && let Some(session) = self.sessions.get_mut(&ended.session)
        {
            session.running = None;
            match ended.is_cancelled {
                // The person sent /stop after these.
                true if !unread.is_empty() => actions.push(Action::Drop(unread)),
                _ => unread
                    .into_iter()
                    .rev()
                    .for_each(|message| session.queue.push_front(message.into())),
            }
            self.make_ready(&ended.session);
        }
        self.report_refused(actions);
    }

    /// Stops the work of a conversation, and drops its waiting messages.
    fn stop(&mut self, message: ParsedMessage, actions: &mut Vec<Action>) {
        let mut count = Stopped::default();
        for (id, work) in &mut self.works {
            let is_task = work.parent.as_ref() == Some(&message.session)
                && may_stop(message.role, &work.session, work.role);
            let is_ours = work.session == message.session && work.kind != Kind::Upkeep;
            if (is_ours || is_task) && !std::mem::replace(&mut work.is_cancelled, true) {
                match work.kind {
                    Kind::Task => count.tasks += 1,
                    Kind::Turn(_) => count.turns += 1,
                    Kind::Queued if work.is_asking => count.questions += 1,
                    Kind::Exclusive | Kind::Queued | Kind::Beside | Kind::Upkeep => {
                        count.commands += 1
                    }
                }
                actions.push(Action::Cancel(*id));
            }
        }
        self.drop_tasks(&message, &mut count, actions);
        let session = self.sessions.entry(message.session.clone()).or_default();
        let waiting = session.queue.drain(..);
        let waiting = waiting.chain(session.commands.drain(..));
        let waiting: Vec<_> = waiting.map(ParsedMessage::into_envelope).collect();
        count.messages = waiting.len();
        if !waiting.is_empty() {
            actions.push(Action::Drop(waiting));
        }
        if std::mem::take(&mut session.is_interrupted) {
            count.turns += 1;
            let work = self.add_work(message.session.clone(), Kind::Exclusive);
            let session = message.session.clone();
            if let Some(session) = self.sessions.get_mut(&session) {
                session.running = Some(work);
            }
            actions.push(Action::AbandonTurn { work, session });
        }
        self.forget_if_idle(&message.session);
        let message = Box::new(message.into_envelope());
        actions.push(Action::Stopped { message, count });
    }

    /// Drops the tasks of a conversation that have not begun.
    fn drop_tasks(&mut self, stop: &Envelope, count: &mut Stopped, actions: &mut Vec<Action>) {
        let mut emptied = Vec::new();
        for (key, session) in &mut self.sessions {
            let is_task = |message: &ParsedMessage| {
                parent_of(message) == Some(&stop.session) && may_stop(stop.role, key, message.role)
            };
            if session.queue.iter().any(is_task) {
                let waiting = session.queue.drain(..);
                let waiting: Vec<_> = waiting.map(ParsedMessage::into_envelope).collect();
                count.tasks += waiting.len();
                actions.push(Action::Drop(waiting));
                emptied.push(key.clone());
            }
        }
        for key in emptied {
            self.forget_if_idle(&key);
        }
    }

    /// Starts what may start: returning turns before new ones.
    fn start(&mut self, actions: &mut Vec<Action>) {
        while self.slots_held < self.slots
            && let Some(work) = self.returning.pop_front()
        {
            if let Some(Kind::Turn(slot)) = self.works.get_mut(&work).map(|work| &mut work.kind) {
                *slot = Slot::Held;
                self.slots_held += 1;
                actions.push(Action::Continue(work));
            }
        }
        if self.is_stopping {
            return;
        }
        self.start_commands(actions);
        self.put_owners_first();
        let mut passed_over = VecDeque::new();
        while let Some(key) = self.ready.pop_front() {
            self.run_edited(&key, actions);
            match self.start_in(&key) {
                Some(action) => actions.push(action),
                None if self.can_start(&key) => passed_over.push_back(key),
                None => self.forget_if_idle(&key),
            }
        }
        self.ready = passed_over;
    }

    /// An edit can turn a waiting message into a command that acts at once: it acts when it is the next.
    fn run_edited(&mut self, key: &SessionKey, actions: &mut Vec<Action>) {
        while self.can_start(key)
            && let Some(session) = self.sessions.get_mut(key)
            && !session.is_interrupted
            && let Some(message) = session
                .queue
                .pop_front_if(|message| is_ready(message) && acts_at_once(message))
        {
            self.take_edited(message, actions);
        }
    }

    /// Takes a message again that an edit has changed, except for the answer to a question.
    fn take_edited(&mut self, message: ParsedMessage, actions: &mut Vec<Action>) {
        match message.when() {
            // The open question may be another one than the person saw.
            Some(When::Answer) => actions.push(Action::Refuse {
                messages: vec![message.into_envelope()],
                more: 0,
                reason: RefusalReason::Edited,
            }),
            _ => self.arrived(message, actions),
        }
    }

    /// Starts the next work of a session; `None` if there is none, or no slot for it.
    fn start_in(&mut self, key: &SessionKey) -> Option<Action> {
        if !self.can_start(key) {
            return None;
        }
        let session = self.sessions.get_mut(key)?;
        // A turn that was interrupted is recognised by the length of its journal.
        if session.is_consolidated && !session.is_interrupted {
            session.is_consolidated = false;
            let work = self.take_session(key, Kind::Upkeep);
            let session = key.clone();
            return Some(Action::ApplyConsolidation { work, session });
        }
        let command = session
            .queue
            .front()
            .filter(|message| message.command().is_some());
        if command.is_some() && !session.is_interrupted {
            let message = Box::new(session.queue.pop_front()?);
            let work = self.take_session(key, Kind::Exclusive);
            return Some(Action::StartCommand { work, message });
        }
        let parent = session.queue.front();
        let parent = parent.and_then(|message| parent_of(message)).cloned();
        if parent.is_some() {
            let message = Box::new(session.queue.pop_front()?.into_envelope());
            let work = self.take_session(key, Kind::Task);
            if let Some(started) = self.works.get_mut(&work) {
                started.parent = parent;
                started.role = message.role;
            }
            return Some(Action::StartTurn { work, message });
        }
        if self.slots_held >= self.slots {
            return None;
        }
        if std::mem::take(&mut session.is_interrupted) {
            self.slots_held += 1;
            let work = self.take_session(key, Kind::Turn(Slot::Held));
            let session = key.clone();
            return Some(Action::ResumeTurn { work, session });
        }
        self.start_turn(key)
    }

    /// Whether a session has work to start, apart from the slot that it may need.
    fn can_start(&self, key: &SessionKey) -> bool {
        self.sessions.get(key).is_some_and(|session| {
            session.running.is_none()
                && (session.is_interrupted
                    || session.is_consolidated
                    || session.queue.front().is_some_and(|next| is_ready(next)))
        })
    }

    fn make_ready(&mut self, key: &SessionKey) {
        if self.can_start(key) && !self.ready.contains(key) {
            self.ready.push_back(key.clone());
        } else {
            self.forget_if_idle(key);
        }
    }

    fn forget_if_idle(&mut self, key: &SessionKey) {
        let is_idle = |session: &Session| {
            session.queue.is_empty()
                && session.running.is_none()
                && session.commands.is_empty()
                && session.command.is_none()
                && session.asking.is_none()
                && !session.is_interrupted
                && !session.is_consolidated
        };
        if self.sessions.get(key).is_some_and(is_idle) {
            self.sessions.remove(key);
        }
    }

    fn take_session(&mut self, key: &SessionKey, kind: Kind) -> WorkId {
        let work = self.add_work(key.clone(), kind);
        if let Some(session) = self.sessions.get_mut(key) {
            session.running = Some(work);
        }
        work
    }

    fn add_work(&mut self, session: SessionKey, kind: Kind) -> WorkId {
        self.last_work += 1;
        let work = Work {
            session,
            parent: None,
            kind,
            is_of_shell: false,
            has_asked: false,
            is_asking: false,
            role: Role::Owner,
            holder: Holder::default(),
            is_cancelled: false,
        };
        self.works.insert(self.last_work, work);
        self.last_work
    }
}

#[cfg(test)]
mod tests;
