//! A job and its runs, in the shape of nanobot's and PicoClaw's `jobs.json`.

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::due::Times;
use super::times::Schedule;
use crate::base::access::Role;
use crate::base::limits::schedule::AHEAD_MS_MAX;
use crate::base::limits::schedule::{
    ERROR_CHARS_MAX, NAME_CHARS_MAX, RUN_TRIES_MAX, UNDELIVERED_RUNS_MAX,
};
use crate::base::message::{Address, Author};
use crate::text::one_line;

/// What is planned. All times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Names it on the command line and in the key of its conversation, such as `j7k2`.
    pub id: String,
    /// For people.
    #[serde(default)]
    pub name: String,
    /// Whether it runs.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// When it runs.
    pub schedule: Schedule,
    /// What a run does.
    pub payload: Payload,
    /// Whether a run that was missed is made up for, once.
    #[serde(default = "yes", alias = "catch_up")]
    pub catch_up: bool,
    /// How its runs ended.
    #[serde(default, deserialize_with = "null_as_default")]
    pub state: State,
    /// When it was added; the phase of an interval.
    #[serde(default, alias = "created_at_ms")]
    pub created_at_ms: i64,
    /// When it was changed last.
    #[serde(default, alias = "updated_at_ms")]
    pub updated_at_ms: i64,
    /// Whether it is removed after its first run.
    #[serde(default, alias = "delete_after_run")]
    pub delete_after_run: bool,
    /// The words for the time of a job that runs once, such as `tomorrow 7:00`: a time that was reckoned with a
    /// wrong clock is [corrected](super::correct::correct). `None` for one that is a date in any case, or that was
    /// planned by a clock that a time service kept right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Who has planned it in a chat: nothing of it runs while they have no access. `None` for a job from the command line
    /// or an editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_by: Option<Author>,
    /// The role that they had then. `None` counts as an owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_role: Option<Role>,
    /// The [mark](super::edit::mark) of the request that added it: a request that is repeated after a kill
    /// finds the job. `None` for a job from the command line or an editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<String>,
    /// Its text in the file, which may have members that are not ours.
    #[serde(skip)]
    pub(super) raw: Option<Box<str>>,
}

/// What a run does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// The model gets the message, in a conversation of the job's own.
    #[default]
    AgentTurn,
    /// The message is a shell command, which runs in the sandbox without a model.
    Command,
    /// The message is delivered as it is.
    Reminder,
}

/// What a run does, and where its result goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "PayloadInFile")]
pub struct Payload {
    /// What is done with the message.
    pub kind: PayloadKind,
    /// Text for the model, a command, or text for people.
    pub message: String,
    /// Where the result goes.
    pub deliver: Deliver,
    /// The channel of the chat, such as `telegram`; `None` for the private chat of an owner.
    pub channel: Option<String>,
    /// The chat's id in the channel, and its thread after a colon.
    pub to: Option<String>,
    /// The agent that does it; `None` for the one that serves the chat.
    pub agent: Option<String>,
    /// The model; `None` for the agent's own.
    pub model: Option<String>,
    /// The key of the conversation; `None` for `cron:ID`.
    #[serde(rename = "sessionKey")]
    pub session: Option<String>,
}

/// Where the result of a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deliver {
    /// To the chat.
    #[default]
    Chat,
    /// To a file of the workspace.
    File,
    /// To both.
    Both,
    /// Nowhere.
    None,
}

impl Deliver {
    /// The words for each, as in the file and on the command line.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("chat", Self::Chat),
        ("file", Self::File),
        ("both", Self::Both),
        ("none", Self::None),
    ];

    /// Reads a word.
    pub fn parse(word: &str) -> Option<Self> {
        let mut words = Self::WORDS.iter();
        words.find(|(name, _)| *name == word).map(|(_, it)| *it)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::File => "file",
            Self::Both => "both",
            Self::None => "none",
        }
    }
}

/// The two that nanobot and PicoClaw know are written as they write them: PicoClaw reads a boolean only.
impl Serialize for Deliver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Chat => serializer.serialize_bool(true),
            Self::None => serializer.serialize_bool(false),
            Self::File | Self::Both => serializer.serialize_str(self.word()),
        }
    }
}

impl<'de> Deserialize<'de> for Deliver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let known = match Value::deserialize(deserializer)? {
            Value::Null | Value::Bool(true) => Some(Self::Chat),
            Value::Bool(false) => Some(Self::None),
            Value::String(word) => Self::parse(&word),
            _ => None,
        };
        known.ok_or_else(|| D::Error::custom("deliver must be chat, file, both or none"))
    }
}

/// What nanobot, PicoClaw and we write.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PayloadInFile {
    #[serde(default)]
    kind: PayloadKind,
    #[serde(default)]
    message: String,
    /// PicoClaw's: the command of a job that does not ask the model.
    #[serde(default)]
    command: Option<String>,
    deliver: Option<Deliver>,
    channel: Option<String>,
    to: Option<String>,
    /// nanobot's: the chat in which a job was planned. It delivers there, whatever `deliver` says.
    #[serde(alias = "origin_channel")]
    origin_channel: Option<String>,
    #[serde(alias = "origin_chat_id")]
    origin_chat_id: Option<String>,
    agent: Option<String>,
    model: Option<String>,
    #[serde(alias = "session_key")]
    session_key: Option<String>,
}

impl From<PayloadInFile> for Payload {
    fn from(file: PayloadInFile) -> Self {
        let set = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (kind, message) = match (file.kind, set(file.command)) {
            (PayloadKind::AgentTurn, Some(command)) => (PayloadKind::Command, command),
            _ => (file.kind, file.message),
        };
        let is_in_chat = file.origin_chat_id.is_some() && file.to.is_none();
        let deliver = match file.deliver {
            Some(Deliver::None) if is_in_chat => Deliver::Chat,
            deliver => deliver.unwrap_or_default(),
        };
        Self {
            kind,
            message,
            deliver,
            channel: set(file.channel).or(set(file.origin_channel)),
            to: set(file.to).or(set(file.origin_chat_id)),
            agent: set(file.agent),
            model: set(file.model),
            session: set(file.session_key),
        }
    }
}

/// How a job's runs ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// The planned time of the last run that was begun, or up to which missed runs were dealt with.
    #[serde(rename = "lastPlannedAtMs")]
    pub last_planned_ms: Option<i64>,
    /// How often the planned times went back, because the clock was set back: a time that comes again
    /// afterwards is another run, whose messages have other ids.
    #[serde(skip_serializing_if = "is_zero")]
    pub set_backs: u32,
    /// When the last run began.
    #[serde(alias = "last_run_at_ms")]
    pub last_run_at_ms: Option<i64>,
    /// How it ended.
    #[serde(alias = "last_status")]
    pub last_status: Option<Status>,
    /// Why it failed.
    #[serde(alias = "last_error")]
    pub last_error: Option<String>,
    /// The last runs, the newest last.
    #[serde(
        rename = "runHistory",
        alias = "run_history",
        deserialize_with = "null_as_default"
    )]
    pub runs: Vec<Run>,
}

/// How a run ended, or that it has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was begun, and its end is not known: it runs, or a crash has ended it.
    Running,
    /// It did what it should.
    Ok,
    /// It did not.
    #[serde(rename = "error")]
    Failed,
    /// It was left out.
    Skipped,
    /// It was begun and never ended. Also for a word that another program wrote.
    #[default]
    #[serde(other)]
    Interrupted,
}

/// One time that a job was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// When it should have begun.
    #[serde(rename = "plannedAtMs", default)]
    pub planned_ms: i64,
    /// When it began.
    #[serde(rename = "runAtMs", alias = "run_at_ms", default)]
    pub begun_ms: i64,
    /// How it ended.
    #[serde(default)]
    pub status: Status,
    /// How long it took, in milliseconds.
    #[serde(default, alias = "duration_ms")]
    pub duration_ms: i64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it ended well, and came to words only: no call of a tool ran.
    #[serde(
        default,
        deserialize_with = "is_true",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub unshown: bool,
    /// Whether the chat will never take what the run had to say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undelivered: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    /// Anything but [`Status::Running`].
    pub status: Status,
    /// Why it failed, for people.
    pub error: Option<String>,
    /// See [`Run::unshown`].
    pub unshown: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl State {
    /// Notes the planned time of a run that begins, or up to which missed runs were dealt with.
    pub fn note_planned(&mut self, planned_ms: i64) {
        self.set_backs = self.set_backs_with(planned_ms);
        self.last_planned_ms = Some(planned_ms);
    }

    /// What [`set_backs`](Self::set_backs) is once a run that is planned for this time has begun.
    pub fn set_backs_with(&self, planned_ms: i64) -> u32 {
        let goes_back = self.last_planned_ms.is_some_and(|last| planned_ms < last);
        self.set_backs.saturating_add(goes_back.into())
    }
}

/// Anything else than `true` is false, so that it costs no more than itself.
pub(super) fn is_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(deserializer)? == Value::Bool(true))
}

fn null_as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Payload {
    /// The chat that gets the result; `None` for the private chat of an owner.
    pub fn chat(&self) -> Option<Address> {
        let (channel, to) = (self.channel.as_ref()?, self.to.as_ref()?);
        Some(Address::parse(&format!("{channel}:{to}")))
    }
}

impl Job {
    /// A job that is enabled and makes up for a missed run.
    pub fn new(id: &str, schedule: Schedule, payload: Payload, now_ms: i64) -> Self {
        Self {
            id: id.to_owned(),
            name: String::new(),
            enabled: true,
            schedule,
            payload,
            catch_up: true,
            state: State::default(),
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            delete_after_run: false,
            said: None,
            planned_by: None,
            planned_role: None,
            made_from: None,
            raw: None,
        }
    }

    /// Whether someone with a role may change, run and remove it: with at least the role of the one who has planned it,
    /// or as that person. One of the command line, of an editor or of a hook is an owner's.
    pub fn may_be_changed_by(&self, role: Role, person: Option<&Author>) -> bool {
        let of = self.planned_by.as_ref().zip(person);
        let is_own = of.is_some_and(|(of, person)| of.id == person.id);
        role.may_change(self.planned_role.unwrap_or(Role::Owner)) || is_own
    }

    /// What of it decides whether it is due.
    pub fn times(&self) -> Times<'_> {
        Times {
            schedule: &self.schedule,
            id: &self.id,
            catch_up: self.catch_up,
            created_ms: self.created_at_ms,
            last_planned_ms: self.state.last_planned_ms,
            interrupted_ms: self.cut_off_run().map(|run| run.planned_ms),
        }
    }

    /// What it is called: its name, else the beginning of its message. On one line, at most
    /// [`NAME_CHARS_MAX`] characters.
    pub fn title(&self) -> String {
        let is_named = !self.name.trim().is_empty();
        let text = if is_named {
            &self.name
        } else {
            &self.payload.message
        };
        one_line(text, NAME_CHARS_MAX)
    }

    /// Brings times of a file that anyone can edit into a range in which they can be reckoned with.
    pub fn bound_times(&mut self) {
        let bound = |ms: &mut i64| *ms = (*ms).clamp(0, 2 * AHEAD_MS_MAX);
        bound(&mut self.created_at_ms);
        self.state.last_planned_ms.iter_mut().for_each(bound);
        self.state.last_run_at_ms.iter_mut().for_each(bound);
        for run in &mut self.state.runs {
            bound(&mut run.planned_ms);
            bound(&mut run.begun_ms);
            bound(&mut run.duration_ms);
        }
    }

    /// Notes that the chat has not taken a message of a run, and why. When the chat is gone, the run has failed, and
    /// the job is disabled once that is so for its last [`UNDELIVERED_RUNS_MAX`] runs: true is returned then. Any
    /// other refusal may be of one message only, and the run is what it was.
    pub fn note_undelivered(&mut self, planned_ms: i64, why: &str, is_chat_gone: bool) -> bool {
        let mut runs = self.state.runs.iter_mut().rev().enumerate();
        let found = runs.find(|(_, run)| run.planned_ms == planned_ms);
        let Some((index, run)) = found.filter(|(_, run)| !run.undelivered) else {
            return false;
        };
        let why = one_line(&format!("not delivered: {why}"), ERROR_CHARS_MAX);
        if !is_chat_gone {
            run.error.get_or_insert(why);
            return false;
        }
        run.undelivered = true;
        run.error = Some(why);
        // The end of a run that still runs is noted later.
        if run.status != Status::Running {
            run.status = Status::Failed;
        }
        if index == 0 {
            self.state.last_status = Some(run.status);
            self.state.last_error.clone_from(&run.error);
        }
        let disables = self.enabled && self.undelivered_runs() >= UNDELIVERED_RUNS_MAX;
        self.enabled &= !disables;
        disables
    }

    /// How many of its last runs in a row could not be delivered, since a person has changed it.
    fn undelivered_runs(&self) -> usize {
        let since = self.updated_at_ms;
        let is_counted = |run: &&Run| run.undelivered && run.begun_ms >= since;
        self.state.runs.iter().rev().take_while(is_counted).count()
    }

    /// Why the program has disabled it: what became of its last run. `None` when a person has, or when it
    /// is enabled.
    pub fn disabled_because(&self) -> Option<&str> {
        let is_ours = !self.enabled && self.undelivered_runs() >= UNDELIVERED_RUNS_MAX;
        let last = self.state.runs.last().filter(|_| is_ours)?;
        last.error.as_deref()
    }

    /// The run that was interrupted and is to be tried again: not one that was cut off again and again, as
    /// when it takes the whole program with it.
    fn cut_off_run(&self) -> Option<&Run> {
        self.open_run().filter(|_| !self.is_given_up())
    }

    /// Whether its open run was cut off so often that it is not tried again.
    pub fn is_given_up(&self) -> bool {
        let Some(run) = self.open_run() else {
            return false;
        };
        let same = |other: &&Run| other.planned_ms == run.planned_ms;
        let tries = self.state.runs.iter().rev().take_while(same).count();
        tries >= RUN_TRIES_MAX
    }

    /// The run that was begun and did not end: it runs, or it was interrupted.
    pub fn open_run(&self) -> Option<&Run> {
        let last = self.state.runs.last();
        last.filter(|run| matches!(run.status, Status::Running | Status::Interrupted))
    }
}
