//! Messages to people, the same for every channel: those of the outbox, and what is only shown (drafts, questions, "typing").
//!
//! The `plan` decides what is done next, without threads or a clock. A few workers do it, each with its own connection. They
//! start when there is something to do and end a while after there is not: an idle gateway has no delivering thread and no
//! connection. One timer of the runtime waits for later times.

mod call;
mod ended;
mod job;
mod observer;
mod pace;
mod plan;
pub mod question;
#[cfg(test)]
mod tests;
mod work;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::task;

use crate::base::approval::{Answer, Question};
use crate::base::bus::Heartbeats;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Error;
use crate::base::limits::channels::{LONGEST_BACKOFF, STACK_BYTES};
use crate::base::message::{Address, CommandButton, DraftKey};
use crate::base::sync::{Condvar, Mutex, MutexGuard};
use crate::sandbox::files::Workspace;
use crate::store::append_log::shorten;
use crate::store::outbox::Outbox;
use crate::store::outgoing::OutgoingFiles;
use crate::store::state::Languages;
use crate::sys::{memory, random};

use crate::channels::kit::adapter::{Adapter, MenuEntry};
use crate::channels::kit::choices::Choices;
use crate::channels::kit::health::{Health, Task};
use call::{Caller, RefusedAlbums};
use job::{Content, Job, Next, Outcome, Report, Ticket};
pub use observer::Observer;
pub use plan::Wait;
use plan::{DELIVERY_WORKERS, Plan};
use work::DraftText;

use question::{Asked, ChatQuestion, Settled};
pub use question::{describe_hidden, describe_rest, reveal_influence};

/// How long a delivering thread without work lives on: as long, the next message needs no new
/// handshake.
const DELIVERY_LINGER: Duration = Duration::from_secs(30);

/// How long a call may last before another thread delivers what else there is. Most end earlier.
const DELIVERY_GROW: Duration = Duration::from_millis(300);

/// Finds the workspace that has a file.
pub type WorkspaceWith = Box<dyn Fn(&Path) -> Result<Arc<Workspace>, Error> + Send + Sync>;

/// What the deliveries of a channel are made of.
pub struct DeliveryParts {
    /// The channel.
    pub adapter: Arc<dyn Adapter>,
    /// What is to be delivered.
    pub outbox: Arc<Outbox>,
    /// Who has to know what was given up.
    pub observer: Arc<dyn Observer>,
    /// Finds the workspace from which a file is sent.
    pub workspace_with: WorkspaceWith,
    /// The files that were made for messages.
    pub outgoing: OutgoingFiles,
    /// The languages of the chats.
    pub languages: Arc<Languages>,
    /// Tells whether the time is known: certificates cannot be checked without it.
    pub clock: Clock,
    /// Where the workers show that they are alive.
    pub heartbeats: Heartbeats,
    /// The runtime whose timers wake the workers.
    pub timers: tokio::runtime::Handle,
    /// The slash commands for the channel's menu; none where the channel has no menu.
    pub menu: Box<dyn Fn() -> Vec<MenuEntry> + Send + Sync>,
    /// Quick tries for a message; after them each wait is the longest one.
    pub max_retries: u32,
    /// What is offered instead of buttons; `None` where the channel has buttons.
    pub choices: Option<Arc<Choices>>,
}

/// The deliveries of one channel. Clones share them. Only [`Delivery::stop`] blocks; all methods may be
/// called from any thread.
#[derive(Clone)]
pub struct Delivery(Arc<Shared>);

struct Shared {
    parts: DeliveryParts,
    cancel: Cancel,
    watch: Stopwatch,
    inner: Mutex<Inner>,
    /// Wakes a resting worker.
    woken: Condvar,
    /// Held while the outbox is read, so that an older state never replaces a newer one.
    reading: Mutex<()>,
    refused_albums: RefusedAlbums,
    /// See [`DELIVERY_LINGER`].
    linger: Duration,
}

struct Inner {
    plan: Plan,
    /// Whether the outbox has changed since the plan last read it.
    is_outdated: bool,
    workers: Vec<JoinHandle<()>>,
    /// Workers that have not ended.
    alive: usize,
    /// Those of them that rest and have not been woken.
    resting: usize,
    /// Those that were woken or started and have not looked for work yet. They are counted separately: a
    /// worker that goes to rest may replace one that was woken, but not one that starts.
    woken: usize,
    starting: usize,
    /// When a job was taken last.
    taken_at: Duration,
    timer: Option<(Duration, task::JoinHandle<()>)>,
    /// What was logged about the channel being down.
    logged: String,
    health: Health,
}

impl Delivery {
    /// Prepares deliveries. No thread is started before there is something to deliver.
    pub fn new(parts: DeliveryParts) -> Self {
        Self::with_linger(parts, DELIVERY_LINGER)
    }

    /// A message is set aside after this much time of failures.
    #[cfg(test)]
    fn set_patience(&self, patience: Duration) {
        self.0.lock().plan.patience = patience;
    }

    fn with_linger(parts: DeliveryParts, linger: Duration) -> Self {
        let adapter = Arc::clone(&parts.adapter);
        let plan = Plan::new(
            adapter.capabilities().clone(),
            parts.max_retries,
            move |address| adapter.is_group(address).unwrap_or(false),
            !(parts.menu)().is_empty(),
            parts.outbox.drafts(parts.adapter.name()),
        );
        let inner = Inner {
            plan,
            is_outdated: true,
            workers: Vec::new(),
            alive: 0,
            resting: 0,
            woken: 0,
            starting: 0,
            taken_at: Duration::ZERO,
            timer: None,
            logged: String::new(),
            health: Health::default(),
        };
        Self(Arc::new(Shared {
            parts,
            cancel: Cancel::new(),
            watch: Stopwatch::start(),
            inner: Mutex::new(inner),
            woken: Condvar::new(),
            reading: Mutex::new(()),
            linger,
            refused_albums: RefusedAlbums::default(),
        }))
    }

    /// Reads the outbox, which has something new or has released something. Also to be called once after
    /// the start.
    pub fn wake(&self) {
        self.change(|inner, _| inner.is_outdated = true);
    }

    /// Sets the menu again, which has changed.
    pub fn menu_changed(&self) {
        self.change(|inner, now| inner.plan.menu_changed(now));
    }

    /// Adds the reaction to a person's message that has been accepted. What is shown of running work is above it
    /// from now on.
    pub fn accepted(&self, to: &Address, reference: &str) {
        self.change(|inner, _| {
            inner.plan.overtake(to);
            if !reference.is_empty() {
                inner.plan.react(to, reference);
            }
        });
    }

    /// Work has begun: "typing" is shown until [`Delivery::resting`].
    pub fn working(&self, work: &DraftKey, to: &Address) {
        self.change(|inner, now| inner.plan.working(work, to, now));
    }

    /// Work has ended. Its draft is deleted, unless a message in the outbox replaces it: so add that
    /// message first.
    pub fn resting(&self, work: &DraftKey) {
        self.change(|inner, _| {
            // The message that replaces the draft may be unknown so far.
            inner.is_outdated = true;
            inner.plan.resting(work);
        });
        if !self.edits() {
            // The record was there for a restart: no message is edited or deleted because of it.
            self.0.parts.outbox.set_draft(work, None);
        }
    }

    /// Shows the progress of work, as Markdown; of several texts the newest counts. It may be called more
    /// often than the channel can show it.
    pub fn draft(&self, work: &DraftKey, to: &Address, text: String, reply_to: &str) {
        self.draft_for(work, to, text, (reply_to, ""));
    }

    /// The same for what one person alone is to see in a group, by their id; empty for everyone.
    pub fn draft_for(
        &self,
        work: &DraftKey,
        to: &Address,
        text: String,
        (reply_to, only_for): (&str, &str),
    ) {
        let text = DraftText {
            text,
            reply_to: reply_to.to_owned(),
            only_for: only_for.to_owned(),
            ..DraftText::default()
        };
        self.change(|inner, now| inner.plan.draft(work, to, text, now));
    }

    /// The same with buttons of the program's own, for something that lasts.
    pub fn show(
        &self,
        work: &DraftKey,
        to: &Address,
        text: String,
        buttons: Vec<Vec<CommandButton>>,
    ) {
        let text = DraftText {
            text,
            buttons,
            ..DraftText::default()
        };
        self.change(|inner, now| inner.plan.draft(work, to, text, now));
    }

    /// The same for a live view with buttons that type commands: it is shown at once, and as often as the channel allows.
    pub fn show_live(
        &self,
        work: &DraftKey,
        to: &Address,
        text: String,
        buttons: Vec<Vec<CommandButton>>,
    ) {
        let text = DraftText {
            text,
            buttons,
            is_live: true,
            ..DraftText::default()
        };
        self.change(|inner, now| inner.plan.draft(work, to, text, now));
    }

    /// Shows a draft again, below the messages that have come since.
    pub fn lower(&self, work: &DraftKey) {
        self.change(|inner, _| inner.plan.lower(work));
    }

    /// Deletes a person's message, by its id within the chat.
    pub fn remove(&self, to: &Address, reference: &str) {
        if !reference.is_empty() {
            self.change(|inner, _| inner.plan.remove(to, reference));
        }
    }

    /// The messages that show the progress of work, by their ids within the chat: the one that does now, and the one
    /// before it was sent again below.
    pub fn shown_by(&self, work: &DraftKey) -> Vec<String> {
        self.0.lock().plan.shown_by(work)
    }

    /// Asks for an approval, in the language of the person who is asked. It is tried until the question
    /// is shown or settled. False when too many questions are open.
    pub fn ask(&self, to: &Address, number: u64, question: Question, asked: Asked<'_>) -> bool {
        let question = ChatQuestion {
            number,
            question,
            language: asked.language,
            only_for: asked.only_for.to_owned(),
        };
        self.notify(to, Content::Question(Box::new(question)))
    }

    /// A question is over: its buttons go, and the outcome is written below it.
    /// `by` is the name of the person who has answered; empty when no one has.
    pub fn settle(&self, number: u64, answer: Answer, by: &str) {
        if let Some(choices) = &self.0.parts.choices {
            choices.close(number);
        }
        let by = by.to_owned();
        let settled = Settled { answer, by };
        self.change(|inner, _| inner.plan.settle(number, settled));
    }

    /// Sends a text that cannot be stored in the outbox, such as one about a full disk. It is tried until
    /// it is sent or the process ends. False when too many such texts are waiting.
    #[must_use]
    pub fn tell(&self, to: &Address, text: &str) -> bool {
        let text = shorten(Cow::Borrowed(text)).into_owned();
        self.notify(to, Content::Text(text))
    }

    /// The receiver has reached the channel: nothing waits for it any longer.
    pub fn reachable(&self) {
        self.change(|inner, now| inner.plan.reachable(now));
    }

    /// Bytes of the largest file that the channel takes.
    pub fn upload_bytes(&self) -> u64 {
        self.0.parts.adapter.capabilities().upload_bytes
    }

    /// What is offered where the channel has no buttons.
    pub fn choices(&self) -> Option<Arc<Choices>> {
        self.0.parts.choices.clone()
    }

    /// Whether an address is known to be a group.
    pub fn is_group(&self, to: &Address) -> bool {
        self.0.parts.adapter.is_group(to).unwrap_or(false)
    }

    /// Whether the channel can edit messages.
    pub fn edits(&self) -> bool {
        self.0.parts.adapter.capabilities().edits
    }

    /// The chats whose messages wait for another attempt.
    pub fn waits(&self) -> Vec<Wait> {
        self.0.lock().plan.waits(self.0.watch.elapsed())
    }

    /// Where the outages of the channel are reported.
    pub fn health(&self) -> Health {
        self.0.lock().health.clone()
    }

    /// Ends every call and waits until the workers have ended. What was not confirmed stays in the
    /// outbox. Must not be called on the runtime's own thread.
    pub fn stop(&self) {
        self.0.cancel.cancel();
        let workers = {
            let mut inner = self.0.lock();
            if let Some((_, timer)) = inner.timer.take() {
                timer.abort();
            }
            std::mem::take(&mut inner.workers)
        };
        self.0.woken.notify_all();
        for worker in workers {
            let _ = worker.join();
        }
    }

    fn notify(&self, to: &Address, content: Content) -> bool {
        let mut is_added = false;
        self.change(|inner, _| is_added = inner.plan.notify(to, content));
        is_added
    }

    fn change(&self, change: impl FnOnce(&mut Inner, Duration)) {
        let mut inner = self.0.lock();
        change(&mut inner, self.0.watch.elapsed());
        self.0.schedule(&mut inner);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Schedules what is to be done: now by a worker, or later by the timer.
    fn schedule(self: &Arc<Self>, inner: &mut Inner) {
        if self.cancel.is_cancelled() {
            return;
        }
        let now = self.watch.elapsed();
        let next = match inner.is_outdated {
            true => now,
            false => match inner.plan.look(now) {
                Next::Do(_) => now,
                Next::At(at) => at,
                Next::Nothing => return,
            },
        };
        if next > now {
            self.set_timer(inner, next, now);
        } else if inner.woken + inner.starting > 0 {
            // A worker is about to look, and schedules the rest.
        } else if inner.resting > 0 {
            inner.resting -= 1;
            inner.woken += 1;
            self.woken.notify_one();
        } else if inner.alive >= DELIVERY_WORKERS {
            // The first worker that is free takes it.
        } else if inner.alive > 0 && now < inner.taken_at + DELIVERY_GROW {
            // Most calls are short: another connection is made only where one is not.
            let grow_at = inner.taken_at + DELIVERY_GROW;
            self.set_timer(inner, grow_at, now);
        } else {
            self.start_worker(inner, now);
        }
    }

    fn set_timer(self: &Arc<Self>, inner: &mut Inner, at: Duration, now: Duration) {
        if let Some((set, timer)) = &inner.timer {
            if *set <= at {
                return;
            }
            timer.abort();
        }
        let shared = Arc::clone(self);
        let timer = self.parts.timers.spawn(async move {
            tokio::time::sleep(at.saturating_sub(now)).await;
            let mut inner = shared.lock();
            inner.timer = None;
            shared.schedule(&mut inner);
        });
        inner.timer = Some((at, timer));
    }

    fn start_worker(self: &Arc<Self>, inner: &mut Inner, now: Duration) {
        inner.workers.retain(|worker| !worker.is_finished());
        let shared = Arc::clone(self);
        let worker = thread::Builder::new()
            .name("delivery".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || shared.work());
        match worker {
            Ok(worker) => {
                inner.workers.push(worker);
                inner.alive += 1;
                inner.starting += 1;
            }
            Err(error) => {
                tracing::error!("failed to start a delivering thread: {error}");
                self.set_timer(inner, now + LONGEST_BACKOFF, now);
            }
        }
    }

    /// Runs a worker until it has been idle for a while.
    fn work(self: Arc<Self>) {
        let mut caller = Caller::new(&self.parts, &self.cancel, &self.refused_albums);
        let mut inner = self.lock();
        inner.starting -= 1;
        while !self.cancel.is_cancelled() {
            if inner.is_outdated {
                drop(inner);
                self.read_outbox();
                inner = self.lock();
                continue;
            }
            let now = self.watch.elapsed();
            match inner.plan.take(now) {
                Next::Do(ticket) => {
                    inner.taken_at = now;
                    self.schedule(&mut inner);
                    drop(inner);
                    let outcome = caller.call(&ticket.job);
                    inner = self.lock();
                    if let Some((id, time, why)) = self.finish(&mut inner, ticket, outcome) {
                        drop(inner);
                        let now_ms = self.parts.clock.now_ms();
                        self.parts.outbox.note_failing(id, time, &why, now_ms);
                        inner = self.lock();
                    }
                }
                Next::At(_) | Next::Nothing => {
                    self.schedule(&mut inner);
                    caller.rest();
                    let is_over;
                    (inner, is_over) = self.rest(inner);
                    if is_over {
                        break;
                    }
                }
            }
        }
        inner.alive -= 1;
        drop(inner);
        drop(caller);
        // It stays mapped until the thread is joined.
        memory::give_back_stack();
    }

    /// Waits to be woken; true when nothing was to be done for so long that the worker ends.
    fn rest<'a>(&'a self, mut inner: MutexGuard<'a, Inner>) -> (MutexGuard<'a, Inner>, bool) {
        inner.resting += 1;
        let is_quiet = |inner: &mut Inner| inner.woken == 0 && !self.cancel.is_cancelled();
        inner = self.woken.wait_timeout_while(inner, self.linger, is_quiet);
        if inner.woken > 0 {
            inner.woken -= 1;
            return (inner, false);
        }
        inner.resting = inner.resting.saturating_sub(1);
        // Since no worker was woken, there is nothing to do.
        (inner, true)
    }

    fn read_outbox(&self) {
        let _one_at_a_time = self.reading.lock();
        let was_outdated = std::mem::replace(&mut self.lock().is_outdated, false);
        if was_outdated {
            let backlog = self.parts.outbox.backlog(self.parts.adapter.name());
            self.lock().plan.set_backlog(backlog);
        }
    }

    /// Returns the message whose failure is to be noted, for how long it has failed, and why.
    fn finish(
        self: &Arc<Self>,
        inner: &mut Inner,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Option<(u64, Duration, String)> {
        inner.is_outdated |= matches!(ticket.job, Job::Deliver { .. } | Job::SetAside { .. });
        let [chance] = random::bytes().unwrap_or_default();
        let chance = f32::from(chance) / f32::from(u8::MAX);
        let now = self.watch.elapsed();
        let mut noted = None;
        for report in inner.plan.finish(ticket, outcome, now, chance) {
            if let Report::Trouble {
                why,
                failing: Some((id, time)),
                ..
            } = &report
            {
                noted = Some((*id, *time, why.clone()));
            }
            self.log(inner, report);
        }
        noted
    }

    fn log(&self, inner: &mut Inner, report: Report) {
        let channel = self.parts.adapter.name();
        match report {
            Report::Down { why } => {
                let why = match self.parts.clock.is_set() {
                    true => why,
                    // Certificates cannot be checked before the time is known.
                    false => format!("waiting for the clock to be set ({why})"),
                };
                let now = self.parts.clock.now();
                inner.health.failed(Task::Send, &why, now);
                if inner.logged == why {
                    tracing::debug!("failed to send to {channel}: {why}");
                } else {
                    tracing::warn!("failed to send to {channel}: {why}");
                    inner.logged = why;
                }
            }
            Report::Back => {
                inner.health.succeeded(Task::Send);
                inner.logged.clear();
                tracing::info!("sending to {channel} works again");
            }
            Report::RateLimited { to, wait } => {
                tracing::warn!(chat = %to, seconds = wait.as_secs(), "rate-limited by {channel}");
            }
            Report::Trouble {
                to, why, is_first, ..
            } if is_first => {
                tracing::warn!(chat = %to, "failed to send a message, trying again: {why}");
            }
            Report::Trouble { to, why, .. } => {
                tracing::debug!(chat = %to, "failed to send a message, trying again: {why}");
            }
            Report::NotShown { to, why } => {
                tracing::debug!(chat = %to, "failed to show a draft, a reaction or \"typing\": {why}");
            }
            Report::NoMenu { why } => {
                tracing::warn!("failed to set the menu of commands of {channel}: {why}");
            }
        }
    }
}
