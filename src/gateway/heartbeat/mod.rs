//! The heartbeat: now and then each agent looks at its HEARTBEAT.md, and speaks only when there is news.
//!
//! A beat is no message of a person: it has a fresh conversation on a thread of its own, shows no draft and
//! asks nobody. Beats that were missed are not made up.

mod list;
mod texts;

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::agents::Hosted;
use super::commands::Call;
use super::commands::texts::format_error;
use super::cron::zone_of;
use super::time::alarm::{self, Woken};
use super::{Gateway, spawn};
use crate::agent::Outcome;
use crate::agent::commands::CommandAnswer;
use crate::agent::host::{TurnEvent, TurnHost, TurnOptions};
use crate::base::access::Role;
use crate::base::approval::{Answer, Question};
use crate::base::cancel::Cancel;
use crate::base::chat::SendRequest;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Address, Envelope, Origin, OutgoingMessage, SessionKey, Writer};
use crate::base::sync::Mutex;
use crate::store::session::{Session, store};
use crate::sys::file::{read_at_most, read_beginning};

/// Bytes of HEARTBEAT.md that are read. It is sent with each beat.
const LIST_BYTES: usize = 16 * 1024;
/// The pause before a beat is tried again when something else was running.
const BUSY_WAIT: Duration = Duration::from_secs(60);

/// The file in the workspace that says what to look at.
const FILE: &str = "HEARTBEAT.md";

/// How the key of a beat's conversation begins; its agent's id follows.
const CHANNEL: &str = "heartbeat";

/// Whether the list in a workspace has open tasks.
pub fn has_tasks(workspace: &Path) -> bool {
    let text = read_at_most(&workspace.join(FILE), LIST_BYTES).unwrap_or_default();
    list::open_tasks(&String::from_utf8_lossy(&text)).is_some()
}

/// What the configuration says about the heartbeat.
#[derive(Clone, Debug, Default)]
pub struct Rhythm {
    /// Whether there is a heartbeat.
    pub enabled: bool,
    /// The time between two beats.
    pub interval: Duration,
}

/// The state of the heartbeat.
#[derive(Default)]
pub struct Heartbeat {
    /// Wakes the loop: something that it depends on has changed.
    changed: Arc<Notify>,
    state: Mutex<State>,
    /// Raised when the gateway stops.
    cancel: Cancel,
}

#[derive(Default)]
struct State {
    /// Whether a person has turned it off until the next start.
    is_off: bool,
    is_running: bool,
    /// The chat in which a beat was asked for that has not begun.
    asked: Option<(Address, Language)>,
    /// In milliseconds since 1970.
    next_ms: Option<i64>,
    /// When the last beat was, in milliseconds since 1970, and how it went.
    last: Option<(i64, Went)>,
}

/// How a beat went. With several agents, the most important one counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Beat {
    /// No agent has anything to do.
    Empty,
    /// Within the quiet hours.
    Quiet,
    /// There is no chat that news could go to.
    NoChat,
    /// No model is connected.
    NoModel,
    /// There was no news.
    Ok,
    /// There was news, and no channel for it: it is in a file.
    Written,
    /// A person was told.
    Told,
    /// It failed, which only the log and `/heartbeat` say.
    Failed(String),
}

/// How a beat went, and whether it came to words only: no call of a tool ran.
type Went = (Beat, bool);

/// How several went: the most important one, and whether all that were as important came to words only.
fn most_important(beats: impl Iterator<Item = Went>) -> Went {
    let most = beats.reduce(|one, other| match one.0.cmp(&other.0) {
        Ordering::Less => other,
        Ordering::Equal => (one.0, one.1 && other.1),
        Ordering::Greater => one,
    });
    most.unwrap_or((Beat::Empty, false))
}

fn describe((beat, only_said): &Went, language: Language) -> String {
    let text = beat.describe(language);
    match only_said {
        true => texts::unshown(language, &text),
        false => text,
    }
}

impl Beat {
    fn describe(&self, language: Language) -> String {
        match self {
            Self::Empty => texts::empty(language).to_owned(),
            Self::Quiet => texts::quiet(language).to_owned(),
            Self::NoChat => texts::no_chat(language).to_owned(),
            Self::NoModel => texts::no_model(language).to_owned(),
            Self::Ok => texts::ok(language).to_owned(),
            Self::Written => texts::written(language).to_owned(),
            Self::Told => texts::told(language).to_owned(),
            Self::Failed(error) => texts::failed(language, error),
        }
    }
}

impl Heartbeat {
    /// Looks again when the next beat is.
    pub fn look_again(&self) {
        self.changed.notify_one();
    }

    /// Ends a running beat, and begins no other.
    pub fn stop(&self) {
        self.cancel.cancel();
    }
}

/// Waits for each beat, and begins it.
pub(super) async fn keep(gateway: Arc<Gateway>) {
    let heartbeat = &gateway.heartbeat;
    gateway.time.watch(&heartbeat.changed);
    loop {
        let next = gateway.plan_beat();
        let woken = alarm::until(gateway.clock(), next, &heartbeat.changed).await;
        if gateway.is_stopping() {
            return;
        }
        let asked = heartbeat.state.lock().asked.take();
        if asked.is_some() {
            gateway.begin_beat(asked);
        } else if woken == Woken::Due {
            gateway.beat_if_idle();
        }
    }
}

impl Gateway {
    /// When the next beat is, in milliseconds since 1970; `None` while there is none.
    fn plan_beat(&self) -> Option<i64> {
        let rhythm = &self.live().rhythm;
        let mut state = self.heartbeat.state.lock();
        if !rhythm.enabled || state.is_off || !self.trust().is_trusted() {
            state.next_ms = None;
            return None;
        }
        // A clock that was set back, or a shorter interval, does not make the pause longer.
        let latest = self
            .clock()
            .now_ms()
            .saturating_add(millis(rhythm.interval));
        let next = state.next_ms.map_or(latest, |next| next.min(latest));
        state.next_ms = Some(next);
        state.next_ms
    }

    /// Begins a beat, unless anything else is running: then a little later.
    fn beat_if_idle(self: &Arc<Self>) {
        let now = self.clock().now_ms();
        let is_beating = self.heartbeat.state.lock().is_running;
        let is_busy = is_beating || self.load.lock().running > 0;
        let wait = if is_busy {
            BUSY_WAIT
        } else {
            self.live().rhythm.interval
        };
        self.heartbeat.state.lock().next_ms = Some(now.saturating_add(millis(wait)));
        if is_busy {
            return;
        }
        if self.is_quiet_now() {
            self.note_beat((Beat::Quiet, false))
        } else {
            self.begin_beat(None)
        }
    }

    /// Begins a beat on a thread, unless one is running. `asked`: where and in which language a person has
    /// asked for it.
    fn begin_beat(self: &Arc<Self>, asked: Option<(Address, Language)>) {
        if std::mem::replace(&mut self.heartbeat.state.lock().is_running, true) {
            return;
        }
        let gateway = Arc::clone(self);
        let spawned = spawn("heartbeat", move || {
            let went = gateway.beat(asked.is_some());
            gateway.note_beat(went.clone());
            if let Some((to, language)) = asked.filter(|_| went.0 != Beat::Told) {
                gateway.tell(&to, &texts::result(language, &describe(&went, language)));
            }
            gateway.close_connections_later();
        });
        if let Err(error) = spawned {
            self.note_beat((Beat::Failed(error.to_string()), false));
        }
    }

    fn note_beat(&self, went: Went) {
        let now = self.clock().now();
        // Before the log says so: what waits for the end of a beat finds it over.
        let mut state = self.heartbeat.state.lock();
        state.is_running = false;
        state.last = Some((now.timestamp_millis(), went.clone()));
        drop(state);
        let time = now.format("%Y-%m-%d %H:%M");
        match &went.0 {
            Beat::Failed(error) => tracing::warn!("the heartbeat of {time} failed: {error}"),
            _ => {
                let what = describe(&went, Language::English);
                tracing::debug!("heartbeat of {time}: {what}");
            }
        }
    }

    /// Lets every agent look at its list, one after the other.
    fn beat(self: &Arc<Self>, is_asked: bool) -> Went {
        let live = self.live();
        let beats = live.agents.all().iter().map(|hosted| {
            let failed = |error| Beat::Failed(format_error(&error, Language::English));
            let beat = self.beat_of(hosted, is_asked);
            beat.unwrap_or_else(|error| (failed(error), false))
        });
        most_important(beats)
    }

    fn beat_of(self: &Arc<Self>, hosted: &Hosted, is_asked: bool) -> Result<Went> {
        // An agent that has no list is not made for it.
        if hosted.folder.join(FILE).symlink_metadata().is_err() {
            return Ok((Beat::Empty, false));
        }
        let agent = hosted.agent()?;
        let file = agent.toolbox().workspace().open_read(Path::new(FILE))?;
        let text = read_beginning(&file, LIST_BYTES as u64).map_err(Error::io("read", FILE))?;
        let text = String::from_utf8_lossy(&text);
        let Some(tasks) = list::open_tasks(&text) else {
            return Ok((Beat::Empty, false));
        };
        // The news of one agent is not for the chats of another.
        let is_served = |to: &Address| self.live().agents.serves(hosted, to);
        let has_channels = !self.deliveries.is_empty();
        let to = match self.owner_chat().filter(is_served) {
            Some(to) => to,
            None if has_channels => return Ok((Beat::NoChat, false)),
            // What the list says can be done without anybody to tell.
            None => Address::new(CHANNEL, &hosted.profile.id),
        };
        let key = SessionKey::parse(&format!("{CHANNEL}:{}", hosted.profile.id));
        if agent.lacks_model(&key) {
            return Ok((Beat::NoModel, false));
        }
        // Each beat begins afresh, and one journal is kept, to look at.
        if store::path_of(&hosted.sessions, &key).exists() {
            store::delete(&hosted.sessions, &key)?;
        }
        let mut session = Session::open(&hosted.sessions, &key, hosted.journals.clone())?;
        let tasks = agent.toolbox().cleaned(&tasks).into_owned();
        let message = Envelope {
            origin: Origin::Heartbeat,
            reply: has_channels.then(|| to.clone()),
            role: Role::User,
            attended: false,
            ..Envelope::typed(&key, &prompt(&tasks))
        };
        let mut host = QuietHost {
            gateway: self,
            hosted,
            to: &to,
            has_sent: false,
        };
        let cancel = &self.heartbeat.cancel;
        let report = agent.run(&mut session, Some(&message), &mut host, cancel);
        agent.end_background(&key);
        let has_sent = host.has_sent;
        let report = report?;
        if let Some(error) = report.failure {
            return Err(error);
        }
        let text = report.full_text().into_owned();
        let news = match report.outcome {
            Outcome::Answered | Outcome::Bounded(_) => list::news(&text),
            Outcome::Stopped => return Err(Error::Stopped),
            Outcome::Failed(error) => return Err(error),
        };
        let beat = match news {
            // They may have begun meanwhile.
            Some(_) if !is_asked && self.is_quiet_now() => Beat::Quiet,
            Some(news) if !has_channels => {
                self.write_news(hosted, (CHANNEL, news), cancel)?;
                Beat::Written
            }
            Some(news) => {
                let news = OutgoingMessage {
                    from: Writer::Notice,
                    ..OutgoingMessage::text(&to, news)
                };
                self.enqueue(news, None)?;
                Beat::Told
            }
            None if has_sent => Beat::Told,
            None => Beat::Ok,
        };
        Ok((beat, session.only_said("")))
    }

    fn is_quiet_now(&self) -> bool {
        self.is_quiet(&zone_of(&self.live().cron.tz))
    }

    /// Answers `/heartbeat`.
    pub(super) fn answer_heartbeat(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let language = call.language;
        match call.argument.to_ascii_lowercase().as_str() {
            "" | "status" => {}
            word @ ("on" | "off") => {
                self.heartbeat.state.lock().is_off = word == "off";
                // The loop does the same, but the answer is already right.
                self.plan_beat();
                self.heartbeat.look_again();
            }
            "now" => {
                let mut state = self.heartbeat.state.lock();
                if state.is_running {
                    return Ok(texts::is_running(language).to_owned().into());
                }
                state.asked = Some((call.message.address(), language));
                self.heartbeat.look_again();
                return Ok(texts::looking(language).to_owned().into());
            }
            _ => return Err(Error::Usage(texts::usage(language).to_owned())),
        }
        Ok(self.describe_heartbeat(language).into())
    }

    fn describe_heartbeat(&self, language: Language) -> String {
        let rhythm = &self.live().rhythm;
        let state = self.heartbeat.state.lock();
        let time = |ms: i64| {
            let now = self.clock().now();
            let time = chrono::DateTime::from_timestamp_millis(ms).unwrap_or_default();
            time.with_timezone(now.offset()).format("%H:%M").to_string()
        };
        let mut text = match state.next_ms {
            _ if !rhythm.enabled => texts::disabled(language).to_owned(),
            _ if state.is_off => texts::off(language).to_owned(),
            Some(next) => {
                let minutes = rhythm.interval.as_secs() / 60;
                texts::next(language, &minutes, &time(next))
            }
            None => texts::waits_for_clock(language).to_owned(),
        };
        if let Some((at, went)) = &state.last {
            text.push('\n');
            text += &texts::last(language, &time(*at), &describe(went, language));
        }
        text
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn prompt(tasks: &str) -> String {
    format!(
        "[Heartbeat: a regular check that no person has asked for. No person is waiting, so do not ask \
         anything.]\n\
         Below is your list, HEARTBEAT.md. Do what is due now. Mark a task that is finished \
         and does not recur as done in the file (`- [x]`). If there is news that your person should \
         read now, answer with it, briefly. Otherwise answer only {}.\n\n{tasks}",
        list::OK
    )
}

/// The host of a beat: it shows nothing and asks no one.
struct QuietHost<'a> {
    gateway: &'a Arc<Gateway>,
    hosted: &'a Hosted,
    to: &'a Address,
    /// Whether the model has sent a message with its tool.
    has_sent: bool,
}

impl TurnHost for QuietHost<'_> {
    fn options(&self) -> TurnOptions {
        TurnOptions {
            payer: Some(Role::Owner),
            ..TurnOptions::default()
        }
    }

    fn on_event(&mut self, event: TurnEvent<'_>) {
        if let TurnEvent::Notice(what) = event {
            tracing::debug!("heartbeat: {what}");
        }
    }

    fn ask(&mut self, _question: &Question, _cancel: &Cancel) -> Answer {
        Answer::Unattended
    }

    fn send(&mut self, request: SendRequest) -> Result<()> {
        let to = request.to.as_deref().map(Address::parse);
        let to = to.unwrap_or_else(|| self.to.clone());
        if to != *self.to && !self.hosted.knows(&to) {
            return Err(Error::Failed(format!(
                "{to} is not a chat that you know: no one has written to you there"
            )));
        }
        if self.gateway.is_quiet_now() {
            return Err(Error::Failed(
                "these are quiet hours: nothing is sent to a chat now".to_owned(),
            ));
        }
        let files = request.files.iter();
        let message = OutgoingMessage {
            files: files.map(|file| self.hosted.absolute(file)).collect(),
            sticker: request.sticker,
            buttons: request.buttons,
            from: Writer::Model,
            ..OutgoingMessage::text(&to, request.text)
        };
        self.gateway.enqueue(message, None)?;
        self.has_sent = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_came_to_words_only_when_all_of_its_important_beats_did() {
        let most = |beats: &[Went]| most_important(beats.iter().cloned());
        let (talked, worked) = ((Beat::Ok, true), (Beat::Ok, false));
        assert_eq!(most(&[]), (Beat::Empty, false));
        assert_eq!(most(&[talked.clone(), worked.clone()]), worked);
        assert_eq!(most(&[worked.clone(), talked.clone()]), worked);
        assert_eq!(most(&[(Beat::Empty, false), talked.clone()]), talked);
        assert_eq!(most(&[talked.clone(), talked.clone()]), talked);
        let told = (Beat::Told, true);
        assert_eq!(most(&[told.clone(), worked, talked]), told);
    }
}
