//! Keeps the connection, receives messages and passes them on to the intake, and sends what the workers hand over.
//!
//! A server tells a message once, to those who are connected. While the inbox cannot store messages some are kept here;
//! when there are too many, the server is not read.

mod kept;
mod paste;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::NAME;
use super::PING_INTERVAL;
use super::connection::Shared;
use super::format::wrap;
use super::incoming::{Message, Reader, Seen};
use super::link::{End, Link};
use super::person::people::People;
use super::person::{Place, Proof, channel_of, identify};
use super::session::line::{Line, write};
use super::session::outgoing::AllBegun;
use super::texts;
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::language::Language;
use crate::base::limits::channels::{CALL_TIME, INBOX_BACKOFF, LONGEST_BACKOFF, PATIENCE};
use crate::base::message::{Envelope, Sender, UNKNOWN_MESSAGE};
use crate::channels::kit::health::Task;
use crate::channels::kit::names::clean_name;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::{Backoff, doubled, with_jitter};
use crate::channels::kit::stream::history::History;
use crate::store::state::{Damaged, Policy, StateFile};
use crate::sys::{memory, random};
use kept::Held;
use paste::{Paste, Whole};

/// How long what is being sent may take when the receiver ends.
const FINISH_TIME: Duration = Duration::from_secs(3);
/// How long after it was connected a bouncer may still tell what was written earlier.
const BACKLOG_TIME: Duration = Duration::from_secs(30);
/// Bytes of the file with them, and with [`PASTED`].
const STATE_BYTES: usize = 64 * 1024;
/// A connection that was shorter counts as a failure: the next one waits longer.
const STEADY: Duration = Duration::from_secs(60);
/// Lines of pastes, after their first ones, whose ids are remembered after a restart.
const PASTED: usize = 64;
/// Messages that are kept while the inbox cannot store them. With more the server is not read.
const UNSTORED: usize = 64;
/// The least time between two explanations to people without an account, and the people who are remembered for it.
const EXPLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// See [`EXPLAIN_INTERVAL`].
const EXPLAINED: usize = 32;

/// The file with what is remembered.
const FILE: &str = "irc.json";

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub shared: &'a Shared,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
}

/// What is on the disk.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Saved {
    /// When the newest message was written, in seconds since 1970.
    newest: Option<i64>,
    /// The nicks that people have.
    people: People,
    /// The ids of the last lines that were joined to the ones before: the inbox does not know them.
    pasted: VecDeque<String>,
}

struct Receiver<'a> {
    parts: ReceiverParts<'a>,
    file: StateFile<Saved>,
    history: History,
    seen: Seen,
    people: People,
    /// Messages that an earlier connection has sent in part.
    begun: AllBegun,
    reader: Reader,
    /// People who were told why they are not heard, and when that was.
    explained: VecDeque<String>,
    explained_at: Option<Duration>,
    paste: Paste,
    /// What the inbox does not have yet, on the disk.
    held: Held,
    /// Messages that the inbox could not store yet, and when to try again.
    unstored: VecDeque<Whole>,
    store_at: Duration,
    /// Whether something could not be sent because someone was not there.
    has_absent: bool,
    watch: Stopwatch,
    /// When the present connection began to work, on `watch`.
    working_since: Option<Duration>,
    /// Connections in a row that worked only for a short time.
    short_lived: u32,
    /// Failures of the server, and of the inbox.
    backoff: Backoff,
    full: Backoff,
}

/// Receives until the token is raised.
pub(super) fn run(parts: ReceiverParts<'_>) {
    let making = &parts.shared.making;
    let policy = Policy {
        bytes_max: STATE_BYTES,
        damaged: Damaged::StartFresh,
        synced: false,
    };
    let file: StateFile<Saved> = StateFile::new(making.state.join(FILE), policy);
    let saved = file.read().unwrap_or_default();
    let (held, left) = Held::open(&making.state);
    let health = parts.intake.health();
    let backoff = |task, name| Backoff::new(task, name, making.clock.clone(), health.clone());
    // What a server tells of the time before the first start was not for us.
    let began = making.clock.now_ms() / 1000;
    Receiver {
        file,
        history: History::new(saved.newest.or(Some(began))),
        seen: Seen::of(saved.pasted),
        people: saved.people,
        begun: AllBegun::default(),
        reader: Reader::default(),
        explained: VecDeque::new(),
        explained_at: None,
        paste: Paste::default(),
        held,
        unstored: left.into(),
        store_at: Duration::ZERO,
        has_absent: false,
        watch: Stopwatch::start(),
        working_since: None,
        short_lived: 0,
        backoff: backoff(Task::Receive, "receive from IRC"),
        full: backoff(Task::Accept, "accept messages from IRC"),
        parts,
    }
    .run();
}

impl Receiver<'_> {
    fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        // What was held when the program was killed.
        let _ = self.store();
        while !cancel.is_cancelled() {
            self.parts.heartbeat.beat(CALL_TIME);
            memory::give_back_stack();
            self.working_since = None;
            self.history.interrupted();
            self.reader = Reader::default();
            let end = self.serve();
            if cancel.is_cancelled() {
                break;
            }
            let (why, wait) = self.wait_after(end);
            self.parts.shared.hub.is_down(&why);
            if self.store().is_err() {
                break;
            }
            self.parts.heartbeat.beat(wait + PATIENCE);
            cancel.wait(wait);
        }
        // A stop keeps what has come of a paste.
        self.store_at = Duration::ZERO;
        let _ = self.flush().and_then(|()| self.store());
    }

    /// Why there is no connection, and how long to wait before the next one.
    fn wait_after(&mut self, end: End) -> (String, Duration) {
        let (why, is_fatal) = match end {
            End::Failed(why) => (why, false),
            End::Fatal(why) => (why, true),
            End::Stopped => return (String::new(), Duration::ZERO),
        };
        let worked = self.working_since.map(|since| self.watch.elapsed() - since);
        let wait = match worked {
            None => self
                .backoff
                .failed(&why, is_fatal.then_some(LONGEST_BACKOFF)),
            Some(worked) => {
                tracing::info!("lost the connection to IRC, reconnecting: {why}");
                self.short_lived = if worked >= STEADY {
                    1
                } else {
                    self.short_lived.saturating_add(1)
                };
                with_jitter(doubled(self.short_lived - 1))
            }
        };
        (why, wait)
    }

    /// Serves a connection to its end.
    fn serve(&mut self) -> End {
        let shared = self.parts.shared;
        let wake = match shared.hub.waker() {
            Ok(wake) => wake,
            Err(error) => return End::Failed(format!("the system gives no descriptor: {error}")),
        };
        // A stop ends the connection while it is made; later what is being sent is sent to its end.
        let token = Cancel::new();
        let raised = token.clone();
        let opening = self.parts.cancel.on_cancel(move || raised.cancel());
        let people = std::mem::take(&mut self.people);
        let tls = &shared.making.tls;
        let opened = Link::open(&shared.settings, people.clone(), tls, &token, &wake);
        let mut link = match opened {
            Ok(link) => link,
            Err(end) => {
                self.people = people;
                return end;
            }
        };
        while !link.session().is_ready() {
            if let Err(end) = self.step(&mut link) {
                self.people = std::mem::take(&mut link.people);
                return end;
            }
        }
        drop(opening);
        self.working_since = Some(self.watch.elapsed());
        self.backoff.succeeded();
        link.outgoing.begun = std::mem::take(&mut self.begun);
        shared.hub.is_live();
        self.parts.intake.reachable();
        let hub = Arc::clone(&shared.hub);
        let _stopping = self.parts.cancel.on_cancel(move || hub.wake());
        let end = self.listen(&mut link);
        link.outgoing.fail_all("the connection was lost");
        shared.hub.finish(link.outgoing.take_finished());
        self.begun = std::mem::take(&mut link.outgoing.begun);
        self.people = std::mem::take(&mut link.people);
        if self.parts.cancel.is_cancelled() && matches!(end, End::Stopped) {
            link.people = self.people.clone();
            link.outgoing.begun = self.begun.clone();
            shared.hub.park(link);
        }
        end
    }

    fn listen(&mut self, link: &mut Link) -> End {
        let cancel = self.parts.cancel.clone();
        while !cancel.is_cancelled() {
            if let Err(end) = self.step(link) {
                return end;
            }
        }
        let watch = Stopwatch::start();
        let left = || FINISH_TIME.saturating_sub(watch.elapsed());
        while !link.outgoing.is_idle() && !left().is_zero() {
            // What is written now is not heard: nobody would answer it.
            if let Err(end) = link.step(left()) {
                return end;
            }
            self.parts.shared.hub.finish(link.outgoing.take_finished());
        }
        End::Stopped
    }

    /// Takes what the workers have handed over, and waits for something to happen.
    fn step(&mut self, link: &mut Link) -> Result<(), End> {
        let hub = &self.parts.shared.hub;
        let (new, withdrawn) = hub.take_new();
        new.into_iter()
            .for_each(|request| link.outgoing.push(request));
        withdrawn
            .into_iter()
            .for_each(|ticket| link.outgoing.withdraw(ticket));
        let now = self.watch.elapsed();
        let mut wait = self.paste.wait(now).unwrap_or(PING_INTERVAL);
        if !self.unstored.is_empty() {
            wait = wait.min(self.store_at.saturating_sub(now));
        }
        self.parts.heartbeat.beat(wait + 2 * PATIENCE);
        // Most of the time is spent in here.
        memory::give_back_stack();
        let came = link.step(wait)?;
        hub.finish(link.outgoing.take_finished());
        self.has_absent |= link.outgoing.take_absent();
        for line in came {
            self.line(&line, link)?;
        }
        if self.paste.wait(self.watch.elapsed()) == Some(Duration::ZERO) {
            self.flush()?;
        }
        self.store()
    }

    fn line(&mut self, line: &Line, link: &mut Link) -> Result<(), End> {
        let session = link.session();
        let case = session.support().case;
        if line.command == "JOIN" && case.is_same(&line.source.nick, session.nick()) {
            self.hurry();
        }
        let policy = self.parts.shared.settings.policy;
        let Some(mut message) = self.reader.read(line, session, policy) else {
            return Ok(());
        };
        let is_old = message.is_replay && !self.history.is_new(message.time);
        let mut is_repeated = message.id.as_ref().is_some_and(|id| !self.seen.note(id));
        // Where the server marks what it repeats, this is another message with the same text.
        if is_repeated && message.is_id_made_up && !message.is_replay && session.has("batch") {
            is_repeated = false;
            message.id = None;
        }
        if is_old || is_repeated {
            tracing::debug!("ignored a message that was told before");
            return Ok(());
        }
        self.message(message, link)
    }

    /// Passes a message on, if it is for us and of someone who may be known.
    fn message(&mut self, message: Message, link: &mut Link) -> Result<(), End> {
        let intake = self.parts.intake.clone();
        let case = link.session().support().case;
        let account = message.account.as_deref();
        let known = intake.known_people();
        let (id, proof) = identify(&message.source, account, &known, case);
        let place = match &message.channel {
            // As it is spelled where it has a role.
            Some(name) => {
                let name = channel_of(name, &known, case).unwrap_or(name);
                Place::Channel(name.to_owned())
            }
            None => Place::Person(id.clone()),
        };
        let address = place.address();
        let is_awaited = intake.is_awaited(&address, &id);
        let answered = if message.is_reply {
            UNKNOWN_MESSAGE
        } else {
            ""
        };
        let is_choice = intake.is_choice(&address, &message.text, answered);
        // Programs cut a long text into lines of which only the first one names us.
        let is_more = !message.is_replay && self.paste.continues(&address, &id);
        if !message.is_for_us && !is_awaited && !is_choice && !is_more {
            return Ok(());
        }
        let sender = Sender {
            name: clean_name(&message.source.nick),
            language: Language::of_text(&message.text),
            thread_of: None,
            id,
        };
        if proof == Proof::None && !intake.has_access(&sender, "") {
            // They cannot be paired: the next one with this nick may be someone else.
            tracing::info!(sender = %sender.id, "ignored message from someone without a services account");
            if message.channel.is_none() && !message.is_replay {
                self.explain(&message, sender.language, link);
            }
            return Ok(());
        }
        if !message.is_replay {
            let now = link.now();
            if link.people.verified(&sender.id, &message.source.nick, now) {
                self.save_people(&link.people);
            }
            self.hurry();
        }
        self.note(message.time);
        let text = if is_more && message.written.starts_with('!') {
            message.written
        } else {
            message.text
        };
        let id = message.id.clone().unwrap_or_else(|| self.new_id());
        let envelope = Envelope {
            id: format!("{NAME}:{id}"),
            is_group: message.channel.is_some(),
            sent_at: message
                .time
                .or_else(|| self.now_if_live(message.is_replay, link)),
            replies_to: answered.to_owned(),
            ..Envelope::written(&address, sender, &text)
        };
        // A command is one line, and what is told again is told as it was told before.
        let is_alone =
            text.starts_with('/') || is_awaited || is_choice || intake.is_secret(&envelope);
        if is_alone || message.is_replay {
            self.flush()?;
            return self.take(Whole::one(envelope));
        }
        let before = self.paste.add(envelope, message.id, self.watch.elapsed());
        self.unstored.extend(before);
        self.hold();
        self.store()
    }

    /// Keeps what the inbox does not have yet, but for secrets, which are stored nowhere.
    fn hold(&mut self) {
        let all = self.unstored.iter().chain(self.paste.held());
        let all = all.filter(|whole| !self.parts.intake.is_secret(&whole.envelope));
        self.held.keep(all.cloned().collect());
    }

    /// The time of a line that has none, for it was written just now: where the server gives times to no lines, and is
    /// past what a bouncer may tell of earlier. In seconds since 1970.
    fn now_if_live(&self, is_replay: bool, link: &Link) -> Option<i64> {
        let is_past = |since: Duration| self.watch.elapsed() >= since + BACKLOG_TIME;
        let is_live = !is_replay
            && !link.session().has("server-time")
            && self.working_since.is_some_and(is_past);
        is_live.then(|| self.parts.shared.making.clock.now_ms() / 1000)
    }

    /// An id for a message that the server gives none.
    fn new_id(&self) -> String {
        let millis = self.parts.shared.making.clock.now_ms();
        let chance = u64::from_ne_bytes(random::bytes().unwrap_or_default());
        format!("{millis}-{chance:016x}")
    }

    /// What could not be sent is tried again, now that something has changed.
    fn hurry(&mut self) {
        if std::mem::take(&mut self.has_absent) {
            self.parts.intake.reachable();
        }
    }

    /// Tells a person why they are not heard: once, and not many people in a short time.
    fn explain(&mut self, message: &Message, language: Language, link: &mut Link) {
        let now = self.watch.elapsed();
        let host = message.source.host.clone();
        let is_early = self
            .explained_at
            .is_some_and(|at| now < at + EXPLAIN_INTERVAL);
        if is_early || self.explained.contains(&host) {
            return;
        }
        self.explained_at = Some(now);
        self.explained.push_back(host);
        let over = self.explained.len().saturating_sub(EXPLAINED);
        self.explained.drain(..over);
        let mask = message.source.mask();
        let text = if link.session().has("account-tag") {
            texts::log_in(language, &mask)
        } else {
            texts::no_accounts(language, &mask)
        };
        let nick = message.source.nick.as_str();
        for line in wrap(&text, link.session().text_bytes(nick)) {
            link.chore(write("NOTICE", &[nick], Some(&line)));
        }
    }

    fn flush(&mut self) -> Result<(), End> {
        match self.paste.take() {
            Some(whole) => self.take(whole),
            None => Ok(()),
        }
    }

    /// Passes a message to the intake behind those that wait for it.
    fn take(&mut self, whole: Whole) -> Result<(), End> {
        self.unstored.push_back(whole);
        self.store()
    }

    /// Passes what waits to the intake, and again until it is stored: the server would not send it again. The server is
    /// heard meanwhile, until too much waits.
    fn store(&mut self) -> Result<(), End> {
        while let Some(whole) = self.unstored.front() {
            let wait = self.store_at.saturating_sub(self.watch.elapsed());
            if !wait.is_zero() {
                if self.unstored.len() < UNSTORED {
                    return Ok(());
                }
                self.parts.heartbeat.beat(wait + PATIENCE);
                if self.parts.cancel.wait(wait) {
                    return Err(End::Stopped);
                }
            }
            let incoming = Incoming::Message {
                envelope: whole.envelope.clone(),
                username: String::new(),
            };
            let stored = self
                .parts
                .intake
                .take(vec![incoming], &self.parts.heartbeat);
            match stored {
                Ok(_) => {
                    self.full.succeeded();
                    self.store_at = Duration::ZERO;
                    let ids = self.unstored.pop_front().map(|whole| whole.ids);
                    self.remember(ids.unwrap_or_default());
                }
                Err(error) => {
                    let wait = self.full.failed(&error, None).min(INBOX_BACKOFF);
                    self.store_at = self.watch.elapsed() + wait;
                }
            }
        }
        if self.paste.held().is_none() {
            self.held.clear();
        }
        Ok(())
    }

    /// Keeps the ids of lines that were joined to others.
    fn remember(&self, ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        self.save(|saved| {
            saved.pasted.extend(ids);
            let over = saved.pasted.len().saturating_sub(PASTED);
            saved.pasted.drain(..over);
        });
    }

    /// Takes note of when the newest message was written.
    fn note(&mut self, time: Option<i64>) {
        let now = self.parts.shared.making.clock.now_ms() / 1000;
        let Some(newest) = self.history.accepted(time.or(Some(now)), now) else {
            return;
        };
        self.save(|saved| saved.newest = Some(newest));
    }

    fn save_people(&self, people: &People) {
        self.save(|saved| saved.people.clone_from(people));
    }

    fn save(&self, change: impl FnOnce(&mut Saved)) {
        let saved = self.file.update(|saved| {
            change(saved);
            Ok(())
        });
        if let Err(error) = saved {
            tracing::warn!("failed to save what is remembered of IRC: {error}");
        }
    }
}
