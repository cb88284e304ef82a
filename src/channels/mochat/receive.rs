//! Polls sessions and panels, and passes what is new on to the intake. What was read is noted on the disk when the intake
//! has it.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::Api;
use super::event::{Reader, is_id, is_session, time};
use super::places::Places;
use super::{MESSAGES, TARGETS};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::json;
use crate::base::limits::channels::{CALL_TIME, INBOX_BACKOFF, PATIENCE};
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::health::Task;
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::Backoff;
use crate::store::state::{Damaged, Policy, StateFile};
use crate::sys::memory;

/// How often the lists of sessions and panels are looked at where all are followed.
const REFRESH: Duration = Duration::from_secs(30);
/// How often each panel is looked at: the server tells nothing new of panels by itself.
const PANEL_LOOK: Duration = Duration::from_secs(10);
/// The shortest time in milliseconds that one session is waited for, where several are followed.
const WATCH_MS_MIN: u64 = 1000;
/// The least time between two requests that bring nothing: a server that does not wait must not be flooded.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes of the file with what was read: an entry of each target.
const STATE_BYTES: usize = 64 * 1024;

/// The file with what was read.
const FILE: &str = "mochat.json";

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub making: &'a Making,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
}

/// Why a round is over.
enum End {
    /// MoChat failed.
    Failed(Failure),
    /// The inbox cannot store the messages.
    Inbox(Error),
    Stopped,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::Stopped,
            failure => Self::Failed(failure),
        }
    }
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::from(Failure::from(error))
    }
}

struct Receiver<'a> {
    parts: ReceiverParts<'a>,
    sessions: Vec<String>,
    panels: Vec<String>,
    /// Whether all sessions, and all panels, are followed.
    follows_all: [bool; 2],
    places: Places,
    file: StateFile<Places>,
    /// When this run began, in milliseconds since 1970.
    began: i64,
    watch: Stopwatch,
    /// When the lists and the panels were looked at last, on `watch`.
    refreshed: Option<Duration>,
    looked: Option<Duration>,
    /// Failures of MoChat, and of the inbox.
    backoff: Backoff,
    full: Backoff,
}

/// Receives until the token is raised.
pub(super) fn run(parts: ReceiverParts<'_>) {
    let Making {
        bot, clock, state, ..
    } = parts.making;
    let policy = Policy {
        bytes_max: STATE_BYTES,
        damaged: Damaged::StartFresh,
        synced: false,
    };
    let file: StateFile<Places> = StateFile::new(state.join(FILE), policy);
    let follows = |name: &str| -> (Vec<String>, bool) {
        let all = bot.texts(name);
        let is_all = all.iter().any(|id| id.trim() == "*");
        let ids = all.iter().map(|id| id.trim().to_owned());
        (ids.filter(|id| is_id(id)).take(TARGETS).collect(), is_all)
    };
    let (sessions, all_sessions) = follows("sessions");
    let (panels, all_panels) = follows("panels");
    let health = parts.intake.health();
    let backoff = |task, name| Backoff::new(task, name, clock.clone(), health.clone());
    Receiver {
        sessions,
        panels,
        follows_all: [all_sessions, all_panels],
        places: file.read().unwrap_or_default(),
        file,
        began: clock.now_ms(),
        watch: Stopwatch::start(),
        refreshed: None,
        looked: None,
        backoff: backoff(Task::Receive, "receive from MoChat"),
        full: backoff(Task::Accept, "accept messages from MoChat"),
        parts,
    }
    .run();
}

impl Receiver<'_> {
    fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        while !cancel.is_cancelled() {
            self.parts.heartbeat.beat(CALL_TIME);
            memory::give_back_stack();
            let wait = match self.poll() {
                End::Stopped => Duration::ZERO,
                End::Failed(Failure::RetryAfter(wait)) => {
                    let why = format!("rate-limited for {} s", wait.as_secs());
                    self.backoff.failed(&why, Some(wait))
                }
                End::Failed(failure) => self.backoff.failed(&failure, None),
                End::Inbox(error) => self.full.failed(&error, None).min(INBOX_BACKOFF),
            };
            self.parts.heartbeat.beat(wait + PATIENCE);
            cancel.wait(wait);
        }
    }

    /// Polls until something fails.
    fn poll(&mut self) -> End {
        let watch_ms = self.parts.making.bot.number("watchTimeoutMs");
        let patience = Duration::from_millis(watch_ms) + PATIENCE;
        let Making { bot, tls, .. } = self.parts.making;
        let api = match Api::new(bot, tls, patience, &self.parts.cancel) {
            Ok(api) => api,
            Err(error) => return error.into(),
        };
        loop {
            if let Err(end) = self.round(&api, watch_ms) {
                return end;
            }
        }
    }

    /// Looks at everything once.
    fn round(&mut self, api: &Api, watch_ms: u64) -> Result<(), End> {
        let begun = self.watch.elapsed();
        self.refresh(api)?;
        self.look_at_panels(api)?;
        // Several sessions share the time; with panels, none may take all of it.
        let count = self.sessions.len().max(1) as u64;
        let most = if self.panels.is_empty() {
            watch_ms
        } else {
            watch_ms.min(PANEL_LOOK.as_millis() as u64)
        };
        let share = (most / count).max(WATCH_MS_MIN.min(watch_ms));
        for session in self.sessions.clone() {
            self.look_at_session(api, &session, share)?;
        }
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
        let least = if self.sessions.is_empty() {
            PANEL_LOOK
        } else {
            POLL_INTERVAL
        };
        let rest = least.saturating_sub(self.watch.elapsed().saturating_sub(begun));
        self.parts.heartbeat.beat(rest + PATIENCE);
        if self.parts.cancel.wait(rest) {
            Err(End::Stopped)
        } else {
            Ok(())
        }
    }

    /// Whether something is due that was done at a time.
    fn is_due(&self, last: Option<Duration>, every: Duration) -> bool {
        last.is_none_or(|last| self.watch.elapsed() >= last + every)
    }

    /// Looks for new sessions and panels, where all are followed.
    fn refresh(&mut self, api: &Api) -> Result<(), End> {
        if self.follows_all == [false; 2] || !self.is_due(self.refreshed, REFRESH) {
            return Ok(());
        }
        let [all_sessions, all_panels] = self.follows_all;
        if all_sessions {
            let list = self.call(api, "sessions/list", &json!({}))?;
            add_new(&mut self.sessions, &list["sessions"], &["sessionId"]);
        }
        if all_panels {
            let list = self.call(api, "groups/get", &json!({}))?;
            let mut panels = list["panels"].clone();
            // Others are no chats.
            if let Some(panels) = panels.as_array_mut() {
                panels.retain(|panel| json::to_number(&panel["type"]).is_none_or(|kind| kind == 0));
            }
            add_new(&mut self.panels, &panels, &["id", "_id"]);
        }
        self.refreshed = Some(self.watch.elapsed());
        Ok(())
    }

    fn call(&self, api: &Api, path: &str, body: &Value) -> Result<Value, End> {
        self.parts.heartbeat.beat(CALL_TIME);
        Ok(api.call(path, body)?)
    }

    fn look_at_session(&mut self, api: &Api, session: &str, time_ms: u64) -> Result<(), End> {
        let known = self.places.cursor(session);
        let body = json!({
            "sessionId": session, "cursor": known.unwrap_or_default(), "timeoutMs": time_ms, "limit": MESSAGES,
        });
        // Most of the time is spent in here.
        memory::give_back_stack();
        let news = self.call(api, "sessions/watch", &body)?;
        let events = news["events"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut cursor = json::to_number(&news["cursor"]);
        let mut batch = Vec::new();
        for event in events.iter().take(2 * MESSAGES) {
            let sequence = json::to_number(&event["seq"]);
            let at = time(&event["timestamp"]);
            cursor = cursor.max(sequence);
            let is_message = event["type"] == "message.add";
            if is_message
                && self
                    .places
                    .is_new_in_session(session, sequence, at, self.began)
            {
                batch.extend(self.read(session, &event["payload"], ""));
            }
        }
        self.take(batch)?;
        // One that is empty was read, too.
        let cursor = cursor.or_else(|| known.is_none().then_some(0));
        if cursor.is_some_and(|cursor| self.places.read_session(session, cursor)) {
            self.save();
        }
        Ok(())
    }

    fn look_at_panels(&mut self, api: &Api) -> Result<(), End> {
        if self.panels.is_empty() || !self.is_due(self.looked, PANEL_LOOK) {
            return Ok(());
        }
        for panel in self.panels.clone() {
            let body = json!({"panelId": panel, "limit": MESSAGES});
            let news = self.call(api, "groups/panels/messages", &body)?;
            let group = news["groupId"].as_str().unwrap_or_default().to_owned();
            let messages = news["messages"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let mut read = Vec::new();
            let mut batch = Vec::new();
            // The newest comes first.
            for message in messages.iter().take(MESSAGES).rev() {
                let at = time(&message["createdAt"]);
                let id = message["messageId"].as_str().filter(|id| is_id(id));
                let id = id.unwrap_or_default().to_owned();
                if self.places.is_new_in_panel(&panel, &id, at, self.began) {
                    read.extend(at.map(|at| (id, at)));
                    batch.extend(self.read(&panel, message, &group));
                }
            }
            self.take(batch)?;
            let mut is_new = false;
            for (id, at) in read {
                is_new |= self.places.read_panel(&panel, &id, at);
            }
            if is_new {
                self.save();
            }
        }
        self.looked = Some(self.watch.elapsed());
        Ok(())
    }

    fn read(&self, target: &str, message: &Value, group: &str) -> Option<Incoming> {
        let bot = &self.parts.making.bot;
        let intake = &self.parts.intake;
        let reader = Reader {
            me: bot.text("agentUserId"),
            policy: bot.group_policy,
            awaits: &|chat, person| intake.is_awaited(chat, person),
        };
        reader.read(target, message, group)
    }

    /// Passes messages to the intake, which stores them.
    fn take(&mut self, batch: Vec<Incoming>) -> Result<(), End> {
        if batch.is_empty() {
            return Ok(());
        }
        let taken = self.parts.intake.take(batch, &self.parts.heartbeat);
        taken.map_err(End::Inbox)?;
        self.full.succeeded();
        Ok(())
    }

    fn save(&self) {
        let saved = self.file.update(|saved| {
            saved.clone_from(&self.places);
            Ok(())
        });
        if let Err(error) = saved {
            tracing::warn!("failed to save what was read from MoChat: {error}");
        }
    }
}

/// Adds the ids of a list that are not known yet.
fn add_new(known: &mut Vec<String>, list: &Value, keys: &[&str]) {
    for entry in list.as_array().into_iter().flatten() {
        let id = keys.iter().find_map(|key| entry[key].as_str());
        let is_new = |id: &&str| is_id(id) && !known.iter().any(|known| known == id);
        if let Some(id) = id.filter(is_new)
            && known.len() < TARGETS
            && is_session(id) == keys.contains(&"sessionId")
        {
            known.push(id.to_owned());
        }
    }
}
