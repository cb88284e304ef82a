//! The loop: takes every event from the queue, lets the scheduler decide, and performs its actions.

mod access;
mod observer;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc as replies;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc::Receiver;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::approvals::Approvals;
use super::board::tell_back;
use super::clerk::Clerk;
use super::commands::texts;
use super::commands::{ParsedMessage, SH, shorten_command};
use super::host::{Reply, Work};
use super::recover::Accepted;
use super::scheduler::{Action, Input, Scheduler, WorkId};
use super::time::{self, Timekeeper};
use super::{Gateway, Parts, backup, board, control, cron, heartbeat, notify, sleep, watch};
use crate::base::access::Role;
use crate::base::bus::{self, Ending, Event, Heartbeats};
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::cancel::POLL;
use crate::base::message::{Address, Envelope, Origin, SessionKey};
use crate::base::sync::keep_from_disk;
use crate::channels::delivery::Delivery;
use crate::channels::http;
use crate::channels::intake::{AccessList, Intake};
use crate::channels::kit::adapter::Adapter;
use crate::sys::{memory, notify::Notifier};
use crate::text::count_of;
pub(super) use access::Workers;
use start::{cannot_start, deliveries, start_receiving, watch_signals};

/// A command that has run for so long is one that others are sent to look at, beside it.
const LONG_COMMAND: Duration = Duration::from_secs(15);
/// How long running turns and commands may take to end by themselves when the gateway stops.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// How long pending messages may take to be sent after that, before they are left for the next start.
const SEND_GRACE: Duration = Duration::from_secs(2);
/// How long the end of the gateway waits for terminals to close: the supervisors kill what runs in them within it.
const CLOSE_TIME: Duration = Duration::from_secs(3);

/// A channel, and who may write to it.
pub struct Channel {
    /// The channel.
    pub adapter: Arc<dyn Adapter>,
    /// The people whom the configuration allows to write to it, with their roles.
    pub access: AccessList,
}

/// The loop's own state.
pub(super) struct Loop {
    pub(super) gateway: Arc<Gateway>,
    scheduler: Scheduler,
    running: BTreeMap<WorkId, Running>,
    /// The chats that were told that there is no thread for them, until one was started.
    told: BTreeSet<Address>,
    intakes: BTreeMap<&'static str, Intake>,
    /// Set when the gateway is to end.
    ending: Option<Ending>,
}

/// A piece of work, as the loop sees it.
struct Running {
    cancel: Cancel,
    /// Tells when a command is a long one.
    grows_long: Option<AbortHandle>,
    /// The id of a command's message; may be empty.
    message: String,
    /// Its beginning, for who waits for it.
    command: String,
    replies: replies::Sender<Reply>,
}

/// The threads that receive, and what ends them.
#[derive(Default)]
struct Receivers {
    threads: Vec<JoinHandle<()>>,
    cancel: Cancel,
}

/// Runs the gateway until a signal or a restart. It listens for the command line at `socket`. `on_signals` is called once
/// signals end it in order.
pub fn run(
    parts: Parts,
    channels: Vec<Channel>,
    socket: &Path,
    notifier: Option<Notifier>,
    on_signals: impl FnOnce(),
) -> Result<Ending> {
    let notifier = notifier.map(Arc::new);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    let (sender, mut events) = bus::events();
    watch_signals(&runtime, &sender)?;
    on_signals();
    let heartbeats = Heartbeats::default();
    let observer = observer::Deliveries::new(&parts);
    let deliveries = deliveries(&parts, &channels, &observer, (&heartbeats, &runtime));
    let access = |channel: &Channel| (channel.adapter.name(), channel.access.clone());
    let gateway = Arc::new(Gateway {
        access: channels.iter().map(access).collect(),
        approvals: Approvals::default(),
        countdowns: Default::default(),
        commands: super::shell::RunningCommands::default(),
        questions: Default::default(),
        deliveries,
        events: sender,
        timers: runtime.handle().clone(),
        load: Default::default(),
        interrupted: Default::default(),
        is_stopping: Default::default(),
        is_closing_idle: Default::default(),
        memory: Default::default(),
        cron: Default::default(),
        job_commands: Default::default(),
        clerk: Clerk::default(),
        tasks: Default::default(),
        plans: super::plans::Planning::new(&parts.state),
        owners_asked: super::host::OwnersAsked::new(),
        workers: Default::default(),
        terminals: Default::default(),
        heartbeat: Default::default(),
        backups: Default::default(),
        time: Timekeeper::new(Clock::System, parts.known_time.clone()),
        since: Stopwatch::start(),
        run: u64::from_ne_bytes(crate::sys::random::bytes()?),
        parts,
    });
    observer.attach(&gateway);
    // Before anything is received: what arrives from now on comes through the queue.
    let accepted = Accepted::read(&gateway.parts.inbox);
    gateway.load_asked();
    let mut receivers = Receivers::default();
    let intakes = start_receiving(&gateway, channels, &heartbeats, &mut receivers)?;
    let mut work = Loop {
        scheduler: Scheduler::new(gateway.parts.max_parallel_turns),
        running: BTreeMap::new(),
        told: BTreeSet::new(),
        gateway: Arc::clone(&gateway),
        intakes,
        ending: None,
    };
    let ending = runtime.block_on(async {
        control::listen(&gateway, socket);
        control::reload_on_hangup(&gateway);
        work.recover(accepted);
        tokio::spawn(board::keep(Arc::clone(&gateway)));
        tokio::spawn(cron::keep(Arc::clone(&gateway)));
        tokio::spawn(time::keep(Arc::clone(&gateway)));
        tokio::spawn(tell_back(Arc::clone(&gateway)));
        tokio::spawn(heartbeat::keep(Arc::clone(&gateway)));
        tokio::spawn(backup::keep(Arc::clone(&gateway)));
        watch::keep(&gateway);
        let kept = notify::keep(Arc::clone(&gateway), heartbeats, notifier.clone());
        tokio::spawn(kept);
        memory::give_back_stack();
        let ending = work.run(&mut events).await;
        tracing::info!("stopping");
        // systemd would end a service that stops by itself after TimeoutStopSec=, also its next run.
        if let (Some(notifier), Ending::Stopped) = (&notifier, ending) {
            notify::log_failure(notifier.stopping());
        }
        receivers.cancel.cancel();
        work.wind_down(&mut events).await;
        ending
    });
    // Threads that still send events find the queue closed.
    drop(events);
    stop(work, receivers);
    // A turn that is still running ends with the process: its journal is whole, and it continues later.
    runtime.shutdown_background();
    let _ = std::fs::remove_file(socket);
    Ok(ending)
}

/// Waits for the threads of the channels to end; they have been asked to.
fn stop(work: Loop, receivers: Receivers) {
    work.intakes.values().for_each(Intake::stop);
    for thread in receivers.threads {
        let _ = thread.join();
    }
    work.gateway.deliveries.values().for_each(Delivery::stop);
    // A thread that is not waited for may keep the agents until the process ends, and their ends would
    // not be recorded.
    work.gateway.live().agents.end_all_background();
    work.gateway.save_chats();
    work.gateway.time.save();
    if let Err(error) = work.gateway.parts.starts.end() {
        tracing::warn!("failed to note the end: {error}");
    }
    let is_trusted = work.gateway.trust().is_trusted();
    if let Err(error) = work.gateway.parts.board.save(is_trusted) {
        tracing::warn!("failed to save the history of the board: {error}");
    }
    match work.gateway.parts.outbox.count() {
        0 => tracing::info!("stopped, nothing left to send"),
        left => {
            let messages = count_of(left, "message", "messages");
            tracing::info!("stopped, {messages} left to send after the next start");
        }
    }
}

impl Loop {
    /// Takes events until the gateway is asked to end.
    async fn run(&mut self, events: &mut Receiver<Event>) -> Ending {
        keep_from_disk(true);
        #[cfg(feature = "test-hooks")]
        if std::env::var_os("PEACRAB_TEST_SYNC_ON_LOOP").is_some() {
            crate::base::sync::may_wait_for_disk();
        }
        loop {
            // A /restart that an earlier run had accepted comes from `recover`.
            if let Some(ending) = self.ending {
                return ending;
            }
            match events.recv().await {
                Some(event) => self.take(event),
                None => return Ending::Stopped,
            }
        }
    }

    /// Gives running work some time to end, and stored messages some time to be sent. Work that is left
    /// then stays unfinished in its journal and continues after the next start.
    async fn wind_down(&mut self, events: &mut Receiver<Event>) {
        keep_from_disk(false);
        self.gateway.is_stopping.store(true, Ordering::SeqCst);
        self.handle(Input::Stopping);
        // An answer could take longer than the grace.
        self.gateway.approvals.shut_down();
        self.gateway.questions.shut_down();
        self.gateway.end_allowances();
        self.gateway.memory.stop();
        self.gateway.heartbeat.stop();
        self.gateway.backups.stop();
        self.gateway.terminals.shut_down();
        self.gateway.parts.watches.stop();
        self.gateway.cron.look_soon();
        let watch = Stopwatch::start();
        while !self.running.is_empty() {
            let left = STOP_GRACE.saturating_sub(watch.elapsed());
            match timeout(left, events.recv()).await {
                Ok(Some(event)) => self.take(event),
                Ok(None) | Err(_) => break,
            }
        }
        while self.gateway.cron.is_running_command() && watch.elapsed() < STOP_GRACE {
            sleep(POLL).await;
        }
        self.gateway.cron.stop();
        while (self.gateway.clerk.is_busy() || self.gateway.job_commands.is_busy())
            && watch.elapsed() < STOP_GRACE
        {
            sleep(POLL).await;
        }
        while self.gateway.terminals.is_any_open() && watch.elapsed() < CLOSE_TIME {
            sleep(POLL).await;
        }
        while self.gateway.memory.is_running() && watch.elapsed() < STOP_GRACE {
            sleep(POLL).await;
        }
        if !self.running.is_empty() {
            let turns = count_of(self.running.len(), "turn continues", "turns continue");
            tracing::warn!("{turns} after the next start");
        }
        let watch = Stopwatch::start();
        while self.gateway.parts.outbox.count() > 0 && watch.elapsed() < SEND_GRACE {
            sleep(POLL).await;
        }
    }

    /// Takes an event. Quick: what takes time gets a thread.
    pub(super) fn take(&mut self, event: Event) {
        let input = match event {
            // It is in the inbox, and the next start finds it there.
            Event::Arrived(_) | Event::Fetched(_) if self.gateway.is_stopping() => return,
            Event::Arrived(message) => {
                let message = ParsedMessage::from(message);
                if self.gateway.type_message(&message) {
                    return;
                }
                let message = self.gateway.with_own_command(message);
                if message.sender().is_some() {
                    self.note(&message);
                    self.gateway.approvals.heard(&message.address());
                }
                if !message.is_allowed() {
                    return self
                        .gateway
                        .later(move |gateway| gateway.refuse_command(&message));
                }
                if self.gateway.questions.take_message(&message)
                    || self.gateway.take_reply(&message)
                {
                    return;
                }
                Input::Arrived(self.gateway.with_typed_answer(message))
            }
            Event::Fetched(message) => Input::Fetched(message),
            Event::Edited {
                session,
                reference,
                text,
            } => Input::Edited {
                session,
                reference,
                text,
            },
            Event::EditedLate { session, reference } => {
                return self
                    .gateway
                    .later(move |gateway| gateway.tell_too_late(&session, &reference));
            }
            Event::Answered {
                address,
                sender,
                message,
                question,
                answer,
            } => {
                let pressed = (&message, question);
                self.gateway.press(&address, &sender, pressed, answer);
                return;
            }
            Event::End(ending) => {
                self.ending.get_or_insert(ending);
                return;
            }
            Event::Consolidated(_) if self.gateway.is_stopping() => return,
            Event::Consolidated(session) => Input::Consolidated(session),
            Event::Step(work) => Input::Step(work),
            Event::Waits(work) => Input::Waits(work),
            Event::GoesOn(work) => Input::Answered(work),
            Event::Asks { message, is_open } => match self.note_asking(&message, is_open) {
                Some(work) if is_open => Input::Waits(work),
                Some(work) => Input::Answered(work),
                None => return,
            },
            Event::Long(work) => Input::Long(work),
            Event::Finished { work, unread } => {
                let running = self.running.remove(&work);
                if let Some(timer) = running.and_then(|running| running.grows_long) {
                    timer.abort();
                }
                Input::Finished { work, unread }
            }
        };
        self.handle(input);
    }

    /// Hands an input to the scheduler and performs what it decides.
    pub(super) fn handle(&mut self, input: Input) {
        for action in self.scheduler.handle(input) {
            self.perform(action);
        }
        *self.gateway.load.lock() = self.scheduler.load();
    }

    /// Fetches the files of a message that was accepted before the start.
    pub(super) fn fetch(&self, message: Envelope) {
        if let Some(intake) = self.intakes.get(message.address().channel.as_str()) {
            intake.fetch_pending(message);
        }
    }

    /// Acknowledges a person's message, and notes an owner's chat.
    fn note(&self, message: &Envelope) {
        let to = message.address();
        let parts = &self.gateway.parts;
        // A client of HTTP hears of nothing by itself, and a page only while it is open.
        let is_person = !http::is_client(&to.channel);
        let is_owner = message.role == Role::Owner && !message.is_group && is_person;
        let owner = message.author().filter(|_| is_owner);
        if owner.is_some_and(|owner| parts.owner_chat.note(&to, owner)) {
            self.gateway.later(|gateway| gateway.save_chats());
        }
        if let Some(delivery) = self.gateway.delivery(&to) {
            delivery.accepted(&to, &message.reference);
        }
    }

    fn perform(&mut self, action: Action) {
        let gateway = Arc::clone(&self.gateway);
        match action {
            Action::StartTurn { work, message } => self.start_turn(work, *message),
            Action::ResumeTurn { work, session } => {
                let to = address_of(&session);
                self.start(
                    work,
                    "turn",
                    (&to, Language::default()),
                    move |gateway, work| {
                        let _begun = gateway.workers.ending_with(work);
                        gateway.run_turn(work, &session, None);
                    },
                );
            }
            Action::AbandonTurn { work, session } => {
                let to = address_of(&session);
                self.start(
                    work,
                    "turn",
                    (&to, Language::default()),
                    move |gateway, work| {
                        gateway.abandon_turn(work, &session);
                    },
                );
            }
            Action::ApplyConsolidation { work, session } => {
                let to = address_of(&session);
                self.start(
                    work,
                    "memory",
                    (&to, Language::default()),
                    move |gateway, work| gateway.apply_consolidation(work, &session),
                );
            }
            Action::StartCommand { work, message } => self.start_command(work, message),
            Action::TellWaiting {
                message,
                other,
                is_asking,
            } => {
                let other = self.running.get(&other);
                let other = other.map_or_else(String::new, |other| other.command.clone());
                gateway.later(move |gateway| gateway.tell_waiting(&message, &other, is_asking));
            }
            Action::Command(message) => {
                gateway.answer_command_soon(*message);
            }
            Action::Stopped { message, count } => gateway.answer_stop(*message, count),
            Action::Interject { work, messages } => self.reply(work, Reply::Messages(messages)),
            Action::Continue(work) => self.reply(work, Reply::Continue),
            Action::Cancel(work) => {
                if let Some(running) = self.running.get(&work) {
                    running.cancel.cancel();
                }
            }
            Action::Refuse {
                messages,
                more,
                reason,
            } => gateway.later(move |gateway| gateway.refuse(&messages, more, reason)),
            Action::Forget(message) => gateway.forget(&message),
            Action::Drop(messages) => {
                for message in &messages {
                    gateway.forget(message);
                    gateway.drop_run(message);
                    gateway.tasks.remove(&message.session);
                }
            }
        }
    }

    /// Starts the turn of a message: a job's, a subagent's or a conversation's.
    fn start_turn(&mut self, work: WorkId, mut message: Envelope) {
        let (to, language) = (message.address(), message.language());
        let job = self.gateway.claimed(&message);
        self.start(work, "turn", (&to, language), move |gateway, work| {
            if !gateway.admit(&mut message) {
                let (work, unread) = (work.id, Vec::new());
                gateway.events.send(Event::Finished { work, unread });
                return;
            }
            let planned = job.as_ref().map(|claim| &claim.run.job);
            let _begun = gateway.begin_work(work, &message, planned);
            match (job, &message.origin) {
                (Some(claim), _) => gateway.run_job_turn(work, &message, &claim),
                (_, Origin::Subagent { .. }) => gateway.run_task(work, &message),
                _ => gateway.run_turn(work, &message.session, Some(&message)),
            }
        });
    }

    /// Starts a command, which is timed until it has ended.
    fn start_command(&mut self, work: WorkId, message: Box<ParsedMessage>) {
        let (to, language) = (message.address(), message.language());
        let (id, command) = (message.id.clone(), shorten_command(&message));
        if message.command().is_some_and(|command| command.is(SH)) {
            self.gateway.commands.expect(&message);
        }
        self.start(work, "command", (&to, language), move |gateway, work| {
            let mut message = message;
            if !gateway.admit_command(&mut message) {
                let (work, unread) = (work.id, Vec::new());
                gateway.events.send(Event::Finished { work, unread });
                return;
            }
            let _begun = gateway.begin_work(work, &message, None);
            gateway.run_command(work, &message);
        });
        if let Some(running) = self.running.get_mut(&work) {
            (running.message, running.command) = (id, command);
        }
        self.time(work);
    }

    /// The command that waits for an answer about the message from now on, or not any more: only its own work counts
    /// for how long it runs. `None` where nothing waits.
    fn note_asking(&mut self, message: &str, is_open: bool) -> Option<WorkId> {
        let mut running = self.running.iter_mut();
        let (work, running) = running.find(|(_, running)| running.message == message)?;
        let work = *work;
        if let Some(timer) = running.grows_long.take() {
            timer.abort();
        }
        if !is_open {
            self.time(work);
        }
        Some(work)
    }

    /// Has the scheduler told when a command has become a long one.
    fn time(&mut self, work: WorkId) {
        let events = self.gateway.events.clone();
        if let Some(running) = self.running.get_mut(&work) {
            let timer = self.gateway.timers.spawn(async move {
                sleep(long_command()).await;
                events.send_async(Event::Long(work)).await;
            });
            running.grows_long = Some(timer.abort_handle());
        }
    }

    fn reply(&self, work: WorkId, reply: Reply) {
        if let Some(running) = self.running.get(&work) {
            let _ = running.replies.send(reply);
        }
    }

    /// Starts work on a thread. While the system has none left, it keeps its place, and its chat is told once.
    fn start(
        &mut self,
        id: WorkId,
        name: &'static str,
        (to, language): (&Address, Language),
        run: impl FnOnce(&Arc<Gateway>, &Work) + Send + 'static,
    ) {
        let (sender, receiver) = replies::channel();
        let cancel = Cancel::new();
        let work = Work {
            id,
            cancel: cancel.clone(),
            replies: receiver,
        };
        let gateway = Arc::clone(&self.gateway);
        let waits = self
            .gateway
            .spawn_when_possible(name, move || run(&gateway, &work));
        let running = Running {
            cancel,
            grows_long: None,
            message: String::new(),
            command: String::new(),
            replies: sender,
        };
        self.running.insert(id, running);
        match waits {
            None => self.told.clear(),
            Some(error) if self.told.insert(to.clone()) => {
                let text = texts::thread_failed(language, &error);
                // Not stored, which takes a thread.
                self.gateway.tell_at_once(to, &text);
            }
            Some(_) => {}
        }
    }
}

/// After how long the next command of a chat runs beside one.
fn long_command() -> Duration {
    #[cfg(feature = "test-hooks")]
    if std::env::var_os("PEACRAB_TEST_EVERY_COMMAND_IS_LONG").is_some() {
        return Duration::ZERO;
    }
    LONG_COMMAND
}

/// Where an interrupted turn's answer goes.
pub(super) fn address_of(session: &SessionKey) -> Address {
    Address::parse(session.as_str())
}
