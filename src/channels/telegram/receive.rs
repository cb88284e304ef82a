//! Receives updates by long polling and passes them to the intake.
//!
//! An update is confirmed to Telegram with the next poll, when the intake has it on the disk.

use std::path::PathBuf;
use std::time::Duration;

use super::albums::{album_id, join_albums};
use super::api::types::Update;
use super::api::{Api, ApiError, Me};
use super::press::{Answered, ToConfirm};
use super::topics::{self, Topics};
use super::trial::Trial;
use super::update::{self, Meaning, Pressed};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Error;
use crate::base::limits::channels::{
    INBOX_BACKOFF, PATIENCE, POLL_INTERVAL, PRESS_PATIENCE, UPDATES_AT_ONCE,
};
use crate::base::message::Address;
use crate::channels::kit::health::Task;
use crate::channels::kit::presses::Presses;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::Backoff;
use crate::channels::kit::texts::set_aside;
use crate::config::schema::Bot;
use crate::net::http::Tls;
use crate::sys::memory;

/// How long a long poll waits for something to happen; Telegram allows 50 s.
const LONG_POLL: Duration = Duration::from_secs(50);
/// Age of the newest update whose number still counts; after a week Telegram takes another one.
const OFFSET_AGE: Duration = Duration::from_hours(6 * 24);
/// How long the rest of an album is waited for, each time more of it has come.
const ALBUM_WAIT: Duration = Duration::from_millis(500);
/// How often that is done; an album has at most ten parts.
const ALBUM_LOOKS: u32 = 10;

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub tls: &'a Tls,
    pub config: &'a Bot,
    pub clock: &'a Clock,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
    /// Where it is noted which updates crash the program; `None` for nowhere.
    pub state: Option<PathBuf>,
}

/// Receives until the token is raised.
pub(super) fn run(parts: ReceiverParts<'_>) {
    match Receiver::new(parts) {
        Ok(receiver) => receiver.run(),
        Err(error) => tracing::error!("failed to receive from Telegram: {error}"),
    }
}

struct Receiver<'a> {
    parts: ReceiverParts<'a>,
    api: Api,
    me: Option<Me>,
    /// The first update that has not been processed.
    offset: Option<i64>,
    /// Failures of Telegram, and of the inbox.
    backoff: Backoff,
    full: Backoff,
    trial: Trial,
    topics: Topics,
    presses: Presses,
    answered: Answered,
    /// Whether the next poll only checks that Telegram can be reached: one that waits for updates would
    /// take much longer to tell.
    is_probe: bool,
}

/// Why nothing was received.
enum Fault {
    Telegram(ApiError),
    /// The inbox cannot store the messages.
    Inbox(Error),
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        Self::Telegram(error)
    }
}

impl<'a> Receiver<'a> {
    fn new(parts: ReceiverParts<'a>) -> Result<Self, Error> {
        let now = parts.clock.now();
        // After a week without updates Telegram begins at another number (the API's `Update`).
        let offset = parts.intake.last_update().and_then(|(number, at)| {
            let age = now.signed_duration_since(at).to_std().unwrap_or_default();
            (age < OFFSET_AGE).then_some(number + 1)
        });
        let patience = LONG_POLL + PATIENCE;
        let health = parts.intake.health();
        let backoff = |task, name| Backoff::new(task, name, parts.clock.clone(), health.clone());
        Ok(Self {
            api: Api::new(parts.tls, parts.config, patience, &parts.cancel)?,
            me: None,
            offset,
            backoff: backoff(Task::Receive, "receive from Telegram"),
            full: backoff(Task::Accept, "accept messages from Telegram"),
            is_probe: false,
            trial: Trial::begin(parts.state.clone()),
            topics: Topics::default(),
            presses: Presses::default(),
            answered: Answered::default(),
            parts,
        })
    }

    fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        while !cancel.is_cancelled() {
            self.parts.heartbeat.beat(LONG_POLL + 2 * PATIENCE);
            memory::give_back_stack();
            let wait = match self.poll() {
                Ok(()) => {
                    self.reached();
                    self.full.succeeded();
                    continue;
                }
                Err(Fault::Telegram(ApiError::Stopped)) => continue,
                Err(Fault::Telegram(error)) => {
                    self.is_probe = matches!(error, ApiError::Network(_) | ApiError::Timeout(_));
                    self.backoff.failed(&error, asked_wait(&error))
                }
                Err(Fault::Inbox(error)) => {
                    self.reached();
                    self.full.failed(&error, None).min(INBOX_BACKOFF)
                }
            };
            self.parts.heartbeat.beat(wait + PATIENCE);
            cancel.wait(wait);
        }
        self.trial.end();
    }

    /// Telegram has answered.
    fn reached(&mut self) {
        self.is_probe = false;
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
    }

    fn poll(&mut self) -> Result<(), Fault> {
        let time = if self.is_probe {
            Duration::ZERO
        } else {
            LONG_POLL
        };
        let watch = Stopwatch::start();
        let trial = &mut self.trial;
        let admits = &mut |number, json: &str| trial.admits(number, json);
        let updates = self
            .api
            .get_updates(self.offset, UPDATES_AT_ONCE, time, admits)?;
        let updates = self.whole_albums(updates)?;
        let next = updates
            .iter()
            .map(|update| update.update_id.saturating_add(1))
            .max();
        let has_news = next > self.offset;
        if self.trial.is_careful() {
            self.take_one_by_one(updates)?;
            self.offset = next.or(self.offset);
        } else if !updates.is_empty() {
            self.take(updates)?;
            self.offset = next.or(self.offset);
        }
        // A broken server or proxy that replies at once with nothing new must not be polled thousands of
        // times a second.
        if !has_news && !self.is_probe && watch.elapsed() < POLL_INTERVAL {
            self.parts.cancel.wait(POLL_INTERVAL);
        }
        Ok(())
    }

    /// An album comes as several updates. If the last ones belong to one, looks whether more of it
    /// has come before any of it is confirmed.
    fn whole_albums(&mut self, mut updates: Vec<Update>) -> Result<Vec<Update>, ApiError> {
        let is_album = |update: &Update| album_id(update).is_some();
        for _ in 0..ALBUM_LOOKS {
            let ends_in_album = updates.last().is_some_and(is_album);
            let first = updates.iter().map(|update| update.update_id).min();
            if !ends_in_album
                || updates.len() >= UPDATES_AT_ONCE
                || self.parts.cancel.wait(ALBUM_WAIT)
            {
                break;
            }
            let trial = &mut self.trial;
            let admits = &mut |number, json: &str| trial.admits(number, json);
            let again = self
                .api
                .get_updates(first, UPDATES_AT_ONCE, Duration::ZERO, admits)?;
            let is_whole = again.len() <= updates.len();
            if !again.is_empty() {
                updates = again;
            }
            if is_whole {
                break;
            }
        }
        Ok(updates)
    }

    /// Processes what waited after a crash, an update or an album at a time.
    fn take_one_by_one(&mut self, updates: Vec<Update>) -> Result<(), Fault> {
        for file in self.trial.take_set_aside() {
            let file = file.display();
            let report = |language| set_aside(language, &file);
            self.parts.intake.report(&report);
        }
        let mut updates = updates.into_iter().peekable();
        while let Some(first) = updates.next() {
            self.trial.note(Some(first.update_id));
            let album = album_id(&first).map(str::to_owned);
            let mut group = vec![first];
            while let Some(part) =
                updates.next_if(|update| album.is_some() && album_id(update) == album.as_deref())
            {
                group.push(part);
            }
            let taken = self.take(group);
            self.trial.note(None);
            taken?;
        }
        self.trial.passed();
        Ok(())
    }

    fn take(&mut self, updates: Vec<Update>) -> Result<(), Fault> {
        let me = match self.me.take() {
            Some(me) => me,
            None => self.api.get_me()?,
        };
        let policy = self.parts.config.group_policy;
        let intake = self.parts.intake.clone();
        let awaits = |chat: &Address, person: &str| intake.is_awaited(chat, person);
        let meanings = updates
            .into_iter()
            .map(|update| update::read(update, &me, policy, &awaits));
        let mut meanings = join_albums(meanings);
        self.me = Some(me);
        let mut presses = Vec::new();
        let answered = self.answered.take(&mut meanings, &mut presses, &intake);
        let names = self.topics.names(&meanings, &self.parts.intake);
        presses.sort_by_key(|press| std::cmp::Reverse(press.role));
        let batch = meanings.into_iter().filter_map(incoming).collect();
        let taken = self.parts.intake.take(batch, &self.parts.heartbeat);
        taken.map_err(Fault::Inbox)?;
        self.answered.note(answered);
        self.confirm(&presses);
        let ReceiverParts {
            tls,
            config,
            cancel,
            ..
        } = &self.parts;
        if !names.is_empty()
            && let Ok(api) = Api::new(tls, config, PRESS_PATIENCE, cancel)
        {
            topics::give(&api, &names);
        }
        Ok(())
    }

    /// Confirms pressed buttons, so that they stop showing progress, and shows what was chosen, as far as there is time for
    /// that. Over a separate connection: a poll may take a minute.
    fn confirm(&mut self, presses: &[ToConfirm]) {
        if presses.is_empty() {
            return;
        }
        let ReceiverParts {
            tls,
            config,
            cancel,
            ..
        } = &self.parts;
        let Ok(api) = Api::new(tls, config, PRESS_PATIENCE, cancel) else {
            return;
        };
        for press in presses {
            self.parts.heartbeat.beat(LONG_POLL + 2 * PATIENCE);
            if let Some(Err(error)) = self.presses.answer(press.role, || press.confirm(&api)) {
                tracing::debug!("failed to confirm a pressed button: {error}");
                return;
            }
        }
    }
}

/// The wait that Telegram asks for.
fn asked_wait(error: &ApiError) -> Option<Duration> {
    match error {
        ApiError::TooManyRequests { retry_after } => Some(*retry_after),
        _ => None,
    }
}

fn incoming(meaning: Meaning) -> Option<Incoming> {
    match meaning {
        Meaning::Message(received) => Some(Incoming::Message {
            envelope: received.message,
            username: received.username,
        }),
        Meaning::Edited {
            chat,
            reference,
            text,
        } => Some(Incoming::Edited {
            session: chat.session(),
            reference,
            text,
        }),
        Meaning::Pressed(pressed) => {
            let Pressed {
                number,
                chat,
                is_group,
                sender,
                username,
                message,
                data,
                ..
            } = *pressed;
            Some(Incoming::Pressed {
                id: format!("{}:{number}", super::NAME),
                address: chat,
                is_group,
                sender,
                username,
                message,
                data,
            })
        }
        Meaning::Topic(_) | Meaning::Nothing => None,
    }
}

#[cfg(test)]
mod tests;
