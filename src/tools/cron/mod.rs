//! cron: reminders and scheduled jobs.

use std::fmt::Write;
use std::sync::Arc;

use super::arguments::Arguments;
use super::{Context, Tool};
use crate::base::access::Role;
use crate::base::chat::{ToolResult, ToolSpec};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::schedule::MESSAGE_BYTES_MAX;
use crate::base::message::{Address, Author};
use crate::base::zone::Zone;
use crate::schedule::edit::{self, Asker, Changes, NewJob};
use crate::schedule::{Deliver, Job, PayloadKind, Schedule, Store, show};
use crate::store::state::KnownTime;

/// Jobs of one chat that are still to run. A model that plans in a loop leaves room for the other chats.
const CHAT_JOBS_MAX: usize = 100;

pub(super) const CRON: ToolSpec = ToolSpec::fixed(
    "cron",
    "Reminders and scheduled jobs. add: message and when (\"20m\", \"tomorrow 7:00\", \"every 2h\", \"mon 9am\", \"0 7 * * 1-5\"; in the owner's time zone, or tz). kind reminder (default): the message is sent as it is; task: you get it as a request then; command: for the shell. Else: job (id or name, see list).",
    r#"{"type":"object","properties":{"action":{"enum":["add","list","edit","remove","enable","disable","run"]},"when":{"type":"string"},"message":{"type":"string"},"kind":{"enum":["reminder","task","command"]},"name":{"type":"string"},"tz":{"type":"string"},"job":{"type":"string"}},"required":["action"]}"#,
);

/// What runs the jobs, as far as it can be reached.
pub trait Runner: Send + Sync {
    /// The file of jobs has changed.
    fn look_again(&self);

    /// Whether jobs run at all now: whether there is a gateway.
    fn is_running(&self) -> bool;

    /// Runs a job now; returns a line for people.
    fn run(&self, id: &str) -> Result<String>;
}

/// Behind a job that was planned while nothing runs jobs.
const NO_GATEWAY: &str =
    "The gateway is not running: nothing comes until it is started with `peacrab gateway`.";

/// The jobs of the home, and what is needed to plan and run them.
pub struct Planner {
    /// The jobs.
    pub store: Store,
    /// The owner's time zone.
    pub zone: Zone,
    /// What time it is.
    pub clock: Clock,
    /// The gateway.
    pub runner: Box<dyn Runner>,
    /// The agent that does what is planned here; `None` where there is only one.
    pub agent: Option<String>,
}

/// Which jobs a conversation may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All: an owner at the terminal can read the file anyway.
    All,
    /// Those of a chat: others write in other chats.
    Chat(Address),
    /// The one with this id, from its own run: it may end itself, and plans nothing.
    OwnJob(String),
}

impl Scope {
    /// What someone with a role may see in a conversation, by its session key. The run of a job can have that of the
    /// terminal, and has the role of a user.
    pub fn of(session: &str, role: Role) -> Self {
        let address = Address::parse(session);
        match address.channel.as_str() {
            "cli" if role == Role::Owner => Self::All,
            "cli" | "cron" | "heartbeat" => Self::OwnJob(address.chat),
            _ => Self::Chat(address),
        }
    }

    /// The chat that a new job belongs to; `None` for the private chat of an owner.
    pub fn chat(&self) -> Option<&Address> {
        match self {
            Self::Chat(chat) => Some(chat),
            Self::All | Self::OwnJob(_) => None,
        }
    }

    fn has(&self, job: &Job) -> bool {
        match self {
            Self::All => true,
            Self::Chat(chat) => job.payload.chat().as_ref() == Some(chat),
            Self::OwnJob(id) => job.id == *id,
        }
    }
}

/// Someone who changes jobs.
#[derive(Clone, Copy)]
pub struct Changer<'a> {
    /// The jobs that they see.
    pub scope: &'a Scope,
    /// What they may do.
    pub role: Role,
    /// The person, where it is certain that no one else has a say in it.
    pub person: Option<&'a Author>,
    /// The language of errors.
    pub language: Language,
}

impl Planner {
    /// Who asks, now.
    pub fn asker(&self, language: Language) -> Asker<'_> {
        Asker {
            now_ms: self.clock.now().timestamp_millis(),
            zone: &self.zone,
            language,
            is_clock_right: KnownTime::is_synchronized(&self.clock) == Some(true),
        }
    }

    /// The jobs that a conversation may see, the next one first, and last those that do not run again.
    pub fn jobs(&self, scope: &Scope) -> Result<Vec<Job>> {
        let mut jobs = self.store.read()?.jobs;
        jobs.retain(|job| scope.has(job));
        let now_ms = self.clock.now().timestamp_millis();
        jobs.sort_by_cached_key(|job| {
            let next = show::next_run(job, now_ms, &self.zone).filter(|_| job.enabled);
            next.unwrap_or(i64::MAX)
        });
        Ok(jobs)
    }

    /// The job of a conversation that a name, an id or the beginning of either means. Fails when it is not theirs to
    /// change.
    fn find(&self, by: Changer<'_>, name: &str) -> Result<Job> {
        let jobs = self.jobs(by.scope)?;
        let job = edit::find(&jobs, name.trim(), by.language)?;
        // The run of a job may end it, although it may do no more than a user.
        let is_itself = matches!(by.scope, Scope::OwnJob(_));
        if !is_itself && !job.may_be_changed_by(by.role, by.person) {
            let label = edit::label(job);
            return Err(Error::Failed(texts::not_yours(by.language, &label)));
        }
        Ok(job.clone())
    }

    /// Plans a job of a conversation.
    pub fn add(
        &self,
        scope: &Scope,
        schedule: Schedule,
        new: NewJob,
        language: Language,
    ) -> Result<Job> {
        let asker = self.asker(language);
        if *scope != Scope::All {
            let is_planned = |job: &&Job| show::next_run(job, asker.now_ms, asker.zone).is_some();
            let most = new.role.places(CHAT_JOBS_MAX);
            if self.jobs(scope)?.iter().filter(is_planned).count() >= most {
                return Err(Error::Failed(match new.role {
                    Role::Owner => texts::too_many(language, &most),
                    _ => texts::too_many_of_others(language, &most),
                }));
            }
        }
        let new = NewJob {
            chat: scope.chat().cloned(),
            agent: self.agent.clone(),
            ..new
        };
        let job = edit::add(&self.store, schedule, new, asker)?;
        self.runner.look_again();
        Ok(job)
    }

    /// Changes a job of a conversation.
    pub fn edit(&self, by: Changer<'_>, name: &str, changes: Changes) -> Result<Job> {
        let id = self.find(by, name)?.id;
        let job = edit::edit(&self.store, &id, changes, self.asker(by.language))?;
        self.runner.look_again();
        Ok(job)
    }

    /// Enables or disables a job of a conversation.
    pub fn enable(&self, by: Changer<'_>, name: &str, enabled: bool) -> Result<Job> {
        let id = self.find(by, name)?.id;
        let job = edit::enable(&self.store, &id, enabled, self.asker(by.language))?;
        self.runner.look_again();
        Ok(job)
    }

    /// Removes a job of a conversation. Returns what it was called.
    pub fn remove(&self, by: Changer<'_>, name: &str) -> Result<String> {
        let id = self.find(by, name)?.id;
        let label = edit::remove(&self.store, &id, by.language)?;
        self.runner.look_again();
        Ok(label)
    }

    /// Runs a job of a conversation now. Returns a line for people.
    pub fn run(&self, by: Changer<'_>, name: &str) -> Result<String> {
        let id = self.find(by, name)?.id;
        self.runner.run(&id)
    }
}

/// The language of a person who reads the answers as they are, because no model does; the offline helper names it.
fn reader(arguments: &Arguments) -> Result<Option<Language>> {
    let code = arguments.optional_text("language", "a code such as de")?;
    Ok(code.map(|code| Language::from_tag(&code)))
}

/// What the tool says to people, because `/cron` and the offline helper say it too.
mod texts {
    use crate::base::language::texts;

    texts! {
        /// Behind a job that was planned while nothing runs jobs, to a person.
        pub fn no_gateway() {
            "The gateway is not running: nothing comes until you start it with `peacrab gateway`.",
            "网关没有运行：用 `peacrab gateway` 启动之前不会发送任何内容。",
        }
        pub fn too_many(count) {
            "This chat has {count} jobs already, as many as possible. Remove some first.",
            "此聊天已有 {count} 个任务，达到上限。请先删除一些。",
        }
        /// The same to anyone but owners.
        pub fn too_many_of_others(count) {
            "There are {count} jobs already, and the other places are kept for owners.",
            "已有 {count} 个任务，其余名额保留给所有者。",
        }
        /// To someone who may do less than the person who has planned a job. `job` is its id and name.
        pub fn not_yours(job) {
            "Only an owner, or the person who planned it, can change or run {job}.",
            "只有所有者或计划它的人才能更改或运行 {job}。",
        }
    }
}

/// The words for the kinds of jobs, as the model and people know them.
pub const KINDS: [(&str, PayloadKind); 3] = [
    ("reminder", PayloadKind::Reminder),
    ("task", PayloadKind::AgentTurn),
    ("command", PayloadKind::Command),
];

impl Tool for Arc<Planner> {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let caller = context.caller;
        let scope = Scope::of(caller.session, caller.role);
        let reader = reader(arguments)?;
        let language = reader.unwrap_or_default();
        let by = Changer {
            scope: &scope,
            role: caller.role,
            // Elsewhere messages of others may have joined the turn: its role is the least of theirs.
            person: caller.in_person(),
            language,
        };
        let action = arguments.text("action", ACTIONS)?;
        let changes_schedule = matches!(&*action, "add" | "edit" | "enable" | "run");
        if changes_schedule && (matches!(scope, Scope::OwnJob(_)) || !caller.is_asked) {
            return Err(Error::Failed(
                "a scheduled job or a watch cannot plan, change or start jobs: say in your answer what should \
                 be planned"
                    .to_owned(),
            ));
        }
        let wanted = || arguments.text("job", "the id or the name of a job");
        let text = match &*action {
            "list" => self.list(&scope, reader)?,
            "add" => {
                let schedule = self.schedule(arguments)?.ok_or_else(|| {
                    Error::Failed("when is missing, such as \"tomorrow 7:00\"".to_owned())
                })?;
                let job = self.add(&scope, schedule, new_job(context, arguments)?, language)?;
                let note = match reader {
                    _ if self.runner.is_running() => "",
                    None => NO_GATEWAY,
                    Some(language) => texts::no_gateway(language),
                };
                let line = self.line(&job, reader) + if note.is_empty() { "" } else { "\n" };
                format!("Planned {line}{note}")
            }
            "edit" => {
                let name = arguments.optional_text("name", "a short name")?;
                let changes = Changes {
                    schedule: self.schedule(arguments)?,
                    kind: kind(arguments)?,
                    message: message(context, arguments)?,
                    name: name.map(|name| context.eraser.clean(&name).into_owned()),
                    deliver: deliver(arguments)?,
                    by: caller.author.cloned().map(|author| (author, caller.role)),
                    ..Changes::default()
                };
                let job = self.edit(by, &wanted()?, changes)?;
                format!("Changed {}", self.line(&job, reader))
            }
            "enable" | "disable" => {
                let enabled = action == "enable";
                let job = self.enable(by, &wanted()?, enabled)?;
                format!("Now: {}", self.line(&job, reader))
            }
            "remove" => format!("Removed {}.", self.remove(by, &wanted()?)?),
            "run" => Planner::run(self, by, &wanted()?)?,
            other => {
                return Err(Error::Failed(format!(
                    "action wants {ACTIONS}, not {other:?}"
                )));
            }
        };
        Ok(ToolResult::new(text))
    }
}

/// The job that a call adds.
fn new_job(context: &Context<'_>, arguments: &Arguments) -> Result<NewJob> {
    let caller = context.caller;
    let message = message(context, arguments)?.ok_or_else(|| {
        Error::Failed("message is missing: what to say, to ask you or to run".to_owned())
    })?;
    let name = arguments.optional_text("name", "a short name")?;
    Ok(NewJob {
        kind: kind(arguments)?.unwrap_or(PayloadKind::Reminder),
        message,
        name: context.eraser.clean(&name.unwrap_or_default()).into_owned(),
        deliver: deliver(arguments)?.unwrap_or_default(),
        said: said(arguments)?,
        // A call that a kill has interrupted is not made again, but the model makes another one.
        made_from: edit::mark(caller.message, &format!("{arguments:?}")),
        planned_by: caller.author.cloned(),
        role: caller.role,
        ..NewJob::default()
    })
}

/// The words for the time of a call, in the owner's time zone.
fn said(arguments: &Arguments) -> Result<Option<String>> {
    let wants = "a time such as \"tomorrow 7:00\"";
    let zone = arguments.optional_text("tz", "a time zone")?;
    let words = arguments.optional_text("when", wants)?;
    let words = words.filter(|_| zone.is_none());
    Ok(words.and_then(|words| edit::said(&words, "")))
}

const ACTIONS: &str = "add, list, edit, remove, enable, disable or run";

impl Planner {
    /// The schedule that a call names: in words, or in the members that other programs have for it.
    fn schedule(&self, arguments: &Arguments) -> Result<Option<Schedule>> {
        let wants = "a time such as \"tomorrow 7:00\", \"every 2h\" or \"0 7 * * 1-5\"";
        let mut words = None;
        for name in ["when", "at", "cron_expr", "schedule"] {
            let given = arguments.optional_text(name, wants)?;
            words = words.or(given.filter(|words| !words.trim().is_empty()));
        }
        let seconds = arguments.number("every_seconds", "a number of seconds")?;
        let every = seconds.map(|seconds| format!("every {seconds}s").into());
        let Some(words) = words.or(every) else {
            return Ok(None);
        };
        let tz = arguments.optional_text("tz", "a time zone such as Europe/Zurich")?;
        let asker = self.asker(Language::English);
        edit::schedule(&words, tz.as_deref(), asker).map(Some)
    }

    /// The jobs as a list; a person gets those that run again.
    fn list(&self, scope: &Scope, reader: Option<Language>) -> Result<String> {
        let mut jobs = self.jobs(scope)?;
        let now_ms = self.clock.now().timestamp_millis();
        let is_left = |job: &Job| show::next_run(job, now_ms, &self.zone).is_some();
        jobs.retain(|job| reader.is_none() || is_left(job));
        if jobs.is_empty() {
            return Ok("No jobs are planned.".to_owned());
        }
        let lines = jobs
            .iter()
            .map(|job| format!("- {}", self.line(job, reader)));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// A job for a person, or for the model: `j7k2 (call mum): reminder, every day at 07:00. Next: tomorrow 07:00, in 9 h`.
    fn line(&self, job: &Job, reader: Option<Language>) -> String {
        let asker = self.asker(reader.unwrap_or_default());
        if let Some(language) = reader {
            return show::line(job, asker.now_ms, asker.zone, language);
        }
        let listed = show::list(job, asker.now_ms, asker.zone, Language::English);
        let mut kinds = KINDS.iter();
        let kind = kinds.find(|(_, kind)| *kind == job.payload.kind);
        let kind = kind.map_or("job", |(word, _)| *word);
        let mut line = format!(
            "{} ({}): {kind}, {}. Next: {}",
            listed.id, listed.title, listed.schedule, listed.next
        );
        if let Some(note) = listed.note {
            let _ = write!(line, ". Last run: {note}");
        }
        line
    }
}

/// The message of a call without secrets; `None` when it has none.
fn message(context: &Context<'_>, arguments: &Arguments) -> Result<Option<String>> {
    let wants = "what to say, to ask you or to run";
    let Some(message) = arguments.optional_text("message", wants)? else {
        return Ok(None);
    };
    let message = context.eraser.clean(message.trim()).into_owned();
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(Error::TooLarge {
            what: "the message".to_owned(),
            limit: MESSAGE_BYTES_MAX,
        });
    }
    Ok(Some(message).filter(|message| !message.is_empty()))
}

fn kind(arguments: &Arguments) -> Result<Option<PayloadKind>> {
    let wants = "reminder, task or command";
    let Some(word) = arguments.optional_text("kind", wants)? else {
        return Ok(None);
    };
    let word = word.trim().to_lowercase();
    let found = KINDS.iter().find(|(known, _)| *known == word);
    let found = found.map(|(_, kind)| *kind);
    // What the file calls it.
    let found = found.or((word == "agent_turn").then_some(PayloadKind::AgentTurn));
    let wrong = || Error::Failed(format!("kind wants {wants}, not {word:?}"));
    found.ok_or_else(wrong).map(Some)
}

fn deliver(arguments: &Arguments) -> Result<Option<Deliver>> {
    let wants = "chat, file, both or none";
    let Some(word) = arguments.optional_text("deliver", wants)? else {
        return Ok(None);
    };
    let found = match word.trim().to_lowercase().as_str() {
        "true" => Some(Deliver::Chat),
        "false" => Some(Deliver::None),
        word => Deliver::parse(word),
    };
    let wrong = || Error::Failed(format!("deliver wants {wants}, not {word:?}"));
    found.ok_or_else(wrong).map(Some)
}

#[cfg(test)]
mod tests;
