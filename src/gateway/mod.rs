//! Floor 9: the gateway. Messages from channels become turns and commands, whose outcome is stored
//! until it has been delivered.
//!
//! `scheduler` decides, `run` performs: one loop on tokio's current_thread runtime takes every event
//! from one queue. Turns and commands are blocking code on threads of their own. What these threads
//! share is [`Gateway`].

pub mod agents;
mod approvals;
mod backup;
mod board;
mod clerk;
pub mod commands;
pub mod control;
mod cron;
mod files;
pub mod heartbeat;
mod host;
mod insight;
mod memory;
mod notify;
mod plans;
mod progress;
pub mod questions;
mod recover;
mod reminders;
mod run;
mod scheduler;
mod shell;
mod tasks;
mod term;
pub mod time;
mod turns;
pub mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::base::bus::EventSender;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::agent::TURN_STACK_BYTES;
use crate::base::message::{Address, OutgoingMessage, SessionKey, Writer};
use crate::base::sync::Mutex;
use crate::board::Board;
use crate::channels::delivery::Delivery;
use crate::channels::http;
use crate::channels::intake::AccessList;
use crate::config::schema::{self, Channels};
use crate::schedule::Store;
use crate::store::backup::series::Series;
use crate::store::inbox::Inbox;
use crate::store::outbox::{ClosesTurn, Outbox};
use crate::store::outgoing::OutgoingFiles;
use crate::store::session::Session;
use crate::store::state::{
    AskedSecrets, KnownTime, Languages, LastChat, OpenQuestions, Pairing, RestartRequests, Starts,
};

pub use crate::base::bus::Ending;
use agents::{Hosted, Roster};
use approvals::Approvals;
use backup::Backups;
use clerk::Clerk;
pub use commands::Updates;
use commands::texts;
use cron::Cron;
use heartbeat::{Heartbeat, Rhythm};
use memory::Upkeep;
use plans::Planning;
use progress::DisplaySettings;
pub use run::{Channel, run};
use scheduler::Load;
use tasks::Tasks;
use term::Terminals;
use time::Timekeeper;
use watch::Watching;

/// Wait before a thread is tried again that the system could not start, doubled each time up to the second one.
const THREAD_RETRY_FIRST: Duration = Duration::from_secs(1);
/// See [`THREAD_RETRY_FIRST`].
const THREAD_RETRY_MAX: Duration = Duration::from_secs(30);

/// What a gateway is made of.
pub struct Parts {
    /// What a reload replaces.
    pub live: Arc<Mutex<Arc<Live>>>,
    /// Reads the configuration again; locked for the whole of a reload.
    pub reload: Mutex<Reload>,
    /// Fails when a start with the configuration as it is now would fail.
    pub check_start: Box<dyn Fn() -> Result<()> + Send + Sync>,
    /// Describes the settings as the configuration has them now, without secrets.
    pub settings: Box<dyn Fn() -> Result<serde_json::Value> + Send + Sync>,
    /// Accepted messages.
    pub inbox: Arc<Inbox>,
    /// Messages to be delivered.
    pub outbox: Arc<Outbox>,
    /// The people who were given access.
    pub pairing: Arc<Pairing>,
    /// The command that pairs a person, without the code, such as `peacrab channels pair`.
    pub pair_command: String,
    /// The private chat in which an owner wrote last.
    pub owner_chat: LastChat,
    /// The languages of the chats.
    pub languages: Arc<Languages>,
    /// The chats that have asked for a restart.
    pub restarts: RestartRequests,
    /// Who was asked for a secret.
    pub asked: AskedSecrets,
    /// The conversations in which a command waits for an approval.
    pub open_questions: OpenQuestions,
    /// The last known time.
    pub known_time: KnownTime,
    /// The folder of small files, for those of the channels.
    pub state: PathBuf,
    /// What updates take.
    pub updates: Updates,
    /// The scheduled jobs.
    pub jobs: Store,
    /// The machine.
    pub board: Arc<Board>,
    /// The files that were made for messages.
    pub outgoing: OutgoingFiles,
    /// What the configuration has that is not obeyed.
    pub ignored_settings: Vec<String>,
    /// What is known about starts of the machine.
    pub starts: Starts,
    /// What is watched.
    pub watches: Watching,
    /// Bytes of received files that are kept; `None` for no bound.
    pub files_max_bytes: Option<u64>,
    /// Attempts to send a message before it waits longer.
    pub send_max_retries: u32,
    /// The HTTP server for programs and browsers, if it is open.
    pub http: Option<http::Slot>,
    /// Turns at a time.
    pub max_parallel_turns: usize,
}

/// What a reload of the configuration replaces. Work that is running goes on with what it began with.
pub struct Live {
    /// Run the turns.
    pub agents: Roster,
    /// What people see of running turns.
    pub channels: Channels,
    /// Where new versions come from; empty: nowhere.
    pub update_url: String,
    /// Automatic backups.
    pub backups: Series,
    /// When the agents look at their HEARTBEAT.md.
    pub rhythm: Rhythm,
    /// Whether and when jobs run.
    pub cron: schema::Cron,
    /// Commands of the configuration.
    pub commands: BTreeMap<String, schema::OwnCommand>,
    /// What is watched without a rule, and who is told.
    pub watch: schema::Watch,
}

/// Reads the configuration again and makes what follows from it. Fails when the configuration is
/// invalid, and has changed nothing then.
pub type Reload = Box<dyn Fn(&Live) -> Result<(Live, Changes)> + Send + Sync>;

/// What a reload came to: the changed settings, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Those that are in effect.
    pub applied: Vec<String>,
    /// Those that the next start applies.
    pub restart: Vec<String>,
    /// What the configuration has that is not obeyed, each with its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// What the loop and the threads of turns and commands share.
pub struct Gateway {
    parts: Parts,
    approvals: Approvals,
    /// What is allowed for some minutes.
    countdowns: approvals::Countdowns,
    questions: questions::Questions,
    /// By the channel's name.
    deliveries: BTreeMap<&'static str, Delivery>,
    /// Who may write to each channel.
    access: BTreeMap<&'static str, AccessList>,
    events: EventSender,
    /// Runs tasks that wait for a time.
    timers: Handle,
    /// How much runs and waits, from the scheduler.
    load: Mutex<Load>,
    /// The agents of the turns that the last run has left unfinished.
    interrupted: Mutex<BTreeMap<SessionKey, String>>,
    is_stopping: AtomicBool,
    /// Whether a task waits to close idle connections to the models.
    is_closing_idle: AtomicBool,
    /// What is to be consolidated.
    memory: Upkeep,
    /// The scheduled jobs.
    cron: Cron,
    /// Commands about jobs that wait.
    job_commands: reminders::JobCommands,
    /// What waits for the disk.
    clerk: Clerk,
    /// The tasks of subagents.
    tasks: Tasks,
    /// The plans that some of them work on.
    plans: Planning,
    /// How often owners were asked for others.
    owners_asked: host::OwnersAsked,
    /// The people for whom something is done.
    workers: run::Workers,
    /// The open terminals.
    terminals: Terminals,
    /// The clock, and whether it can be trusted.
    time: Timekeeper,
    heartbeat: Heartbeat,
    backups: Backups,
    since: Stopwatch,
    /// The commands that people have typed and that run.
    commands: shell::RunningCommands,
    /// Tells this run of the gateway from others.
    run: u64,
}

impl Gateway {
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// What holds now. Each piece of work takes it once, at its beginning.
    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.parts.live.lock())
    }

    fn display_settings(&self, to: &Address) -> DisplaySettings {
        if to.channel == http::NAME {
            return DisplaySettings::of_programs();
        }
        if to.channel == http::PAGE {
            return DisplaySettings::of_pages();
        }
        let settings = DisplaySettings::new(&self.live().channels, &to.channel);
        DisplaySettings {
            // The beginning of an answer that never changes would stay beside the answer.
            streaming: settings.streaming && self.edits(to),
            ..settings
        }
    }

    /// Whether the channel of an address can edit messages.
    fn edits(&self, to: &Address) -> bool {
        self.delivery(to).is_none_or(Delivery::edits)
    }

    /// The delivery of an address's channel.
    fn delivery(&self, to: &Address) -> Option<&Delivery> {
        self.deliveries.get(to.channel.as_str())
    }

    /// Stores a message for delivery: it is on the disk when this returns. Secrets are removed from it.
    /// Returns its number in the outbox.
    fn enqueue(&self, message: OutgoingMessage, closes: Option<ClosesTurn>) -> Result<u64> {
        let Some(delivery) = self.delivery(&message.to) else {
            let known: Vec<&str> = self.deliveries.keys().copied().collect();
            return Err(Error::Failed(format!(
                "No channel {:?} here. Channels: {}",
                message.to.channel,
                known.join(", ")
            )));
        };
        let live = self.live();
        let text = live
            .agents
            .default_agent()
            .toolbox()
            .cleaned(&message.text)
            .into_owned();
        let message = self
            .parts
            .outgoing
            .taken_along(OutgoingMessage { text, ..message });
        let id = self.parts.outbox.add(&message, closes)?;
        delivery.wake();
        Ok(id)
    }

    /// Delivers the answer that closed a session's turn: the journal has recorded the turn's end.
    fn release(&self, session: &SessionKey) {
        self.parts.outbox.release(session);
        self.deliveries.values().for_each(Delivery::wake);
    }

    /// Writes in which chat an owner wrote last. Reminders may have waited for one.
    fn save_chats(&self) {
        if let Err(error) = self.parts.owner_chat.save() {
            tracing::warn!("failed to save the owner's chat: {error}");
        }
        self.cron.look_soon();
    }

    /// Sends a text to a chat. When it cannot be stored, it is sent without being stored.
    fn tell(&self, to: &Address, text: &str) {
        self.tell_with(OutgoingMessage::text(to, text));
    }

    /// The same for a message with more than its text.
    fn tell_with(&self, message: OutgoingMessage) {
        let (to, text) = (message.to.clone(), message.text.clone());
        let notice = OutgoingMessage {
            from: Writer::Notice,
            ..message
        };
        if let Err(error) = self.enqueue(notice, None) {
            tracing::error!(chat = %to, "failed to store a message, sending it at once: {error}");
            self.tell_at_once(&to, &text);
        }
    }

    /// Sends a text that could not be stored.
    fn tell_at_once(&self, to: &Address, text: &str) {
        let is_taken = self.delivery(to).is_some_and(|it| it.tell(to, text));
        if !is_taken {
            tracing::error!(chat = %to, "gave up a message that could not be stored: too many are waiting");
        }
    }

    /// Opens a session of an agent, and tells the chat what was repaired.
    fn open(
        &self,
        hosted: &Hosted,
        session: &SessionKey,
        (reply, language): (&Address, Language),
    ) -> Result<Session> {
        let settings = Self::settings_of(&hosted.journals, session);
        let opened = Session::open(&hosted.sessions, session, settings)?;
        for repair in opened.repairs() {
            tracing::warn!(%session, "{repair}");
            self.tell(reply, &texts::repaired(language, repair));
        }
        Ok(opened)
    }
}

impl Gateway {
    /// Starts work on a thread. While the system has none left, a timer tries again until the gateway stops.
    /// Returns why it has to wait.
    fn spawn_when_possible(
        self: &Arc<Self>,
        name: &'static str,
        run: impl FnOnce() + Send + 'static,
    ) -> Option<std::io::Error> {
        let work: Box<dyn FnOnce() + Send> = Box::new(run);
        // A thread that is not started drops its closure, and must not drop the work.
        let work = Arc::new(Mutex::new(Some(work)));
        let start = move || {
            let work = Arc::clone(&work);
            spawn(name, move || {
                let taken = work.lock().take();
                taken.into_iter().for_each(|run| run());
            })
        };
        let error = start().err()?;
        tracing::error!("failed to start a thread, trying again: {error}");
        let gateway = Arc::clone(self);
        self.timers.spawn(async move {
            let mut wait = THREAD_RETRY_FIRST;
            loop {
                sleep(wait).await;
                if gateway.is_stopping() || start().is_ok() {
                    return;
                }
                wait = wait.saturating_mul(2).min(THREAD_RETRY_MAX);
            }
        });
        Some(error)
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    #[cfg(feature = "test-hooks")]
    if std::env::var_os("PEACRAB_TEST_NO_THREADS").is_some_and(|file| PathBuf::from(file).exists())
    {
        return Err(rustix::io::Errno::AGAIN.into());
    }
    let builder = thread::Builder::new().name(name.to_owned());
    crate::base::sync::spawn(builder.stack_size(TURN_STACK_BYTES), Box::new(run))
}

/// Waits on the runtime.
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}
