//! `peacrab cron add`, `edit`, `enable` and `disable`.

use clap::Args;

use super::{Planner, texts};
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::Address;
use crate::cli::terminal::print;
use crate::schedule::edit::{self, Changes, NewJob};
use crate::schedule::{Deliver, Job, PayloadKind, Schedule, show};
use crate::text::reveal;

/// `peacrab cron add …`
#[derive(Debug, Args)]
pub struct AddArguments {
    /// When it runs: "in 20m", "tomorrow 7:00", "every 2h", "every day at 7", "0 7 * * 1-5"
    when: String,
    /// What to ask the model; with --remind what to remind you of; with --command what to run
    #[arg(value_name = "MESSAGE")]
    message: Vec<String>,
    #[command(flatten)]
    settings: Settings,
}

/// `peacrab cron edit …`
#[derive(Debug, Args)]
pub struct EditArguments {
    /// Which job
    job: String,
    /// When it runs
    #[arg(long)]
    when: Option<String>,
    /// The message
    #[arg(long)]
    message: Option<String>,
    /// Give the message to the model
    #[arg(long, conflicts_with_all = ["command", "remind"])]
    ask: bool,
    #[command(flatten)]
    settings: Settings,
}

/// What both take.
#[derive(Debug, Args)]
struct Settings {
    /// Run the message as a command in the sandbox, without a model
    #[arg(long, conflicts_with = "remind", visible_alias = "sh")]
    command: bool,
    /// Send the message as it is, without a model
    #[arg(long, alias = "reminder")]
    remind: bool,
    /// A name for lists
    #[arg(long)]
    name: Option<String>,
    /// The time zone of the schedule, such as Europe/Zurich
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// The chat that gets the result, such as telegram:123 [default: the private one in which an owner wrote last]
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
    to: Option<String>,
    /// Where the result goes
    #[arg(long, value_parser = ["chat", "file", "both", "none"])]
    deliver: Option<String>,
    /// The agent [default: the one of the chat]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The model [default: the agent's]
    #[arg(long)]
    model: Option<String>,
    /// The conversation that it continues [default: one of the job's own]
    #[arg(long)]
    session: Option<String>,
    /// Remove the job after its first run
    #[arg(long, overrides_with = "no_once")]
    once: bool,
    /// Keep the job after its first run (the default)
    #[arg(long, hide = true)]
    no_once: bool,
    /// Do not make up for a missed run
    #[arg(long, overrides_with = "catch_up")]
    no_catch_up: bool,
    /// Make up for a missed run, once (the default)
    #[arg(long)]
    catch_up: bool,
}

impl Settings {
    fn kind(&self) -> Option<PayloadKind> {
        match (self.command, self.remind) {
            (true, _) => Some(PayloadKind::Command),
            (_, true) => Some(PayloadKind::Reminder),
            _ => None,
        }
    }

    fn deliver(&self) -> Option<Deliver> {
        self.deliver.as_deref().and_then(Deliver::parse)
    }

    /// The chat; an empty text is that of an owner.
    fn chat(&self, planner: &Planner<'_>) -> Result<Option<Option<Address>>> {
        let Some(text) = self.to.as_deref() else {
            return Ok(None);
        };
        if text.is_empty() {
            return Ok(Some(None));
        }
        let address = Address::parse(text);
        let channels = &planner.loaded.config.channels;
        if address.chat.is_empty() || channels.named(&address.channel).is_none() {
            return Err(Error::Usage(texts::unknown_channel(&address.channel)));
        }
        Ok(Some(Some(address)))
    }

    /// The agent, if it exists; an empty text is the one of the chat.
    fn agent(&self, planner: &Planner<'_>) -> Result<Option<Option<String>>> {
        if let Some(id) = self.agent.as_deref().filter(|id| !id.is_empty()) {
            planner.loaded.clone().of_agent(Some(id))?;
        }
        Ok(self.agent.clone().map(filled))
    }
}

fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Plans a job and says what was understood.
pub fn add(planner: &Planner<'_>, arguments: AddArguments) -> Result<()> {
    let settings = &arguments.settings;
    let (schedule, message) = when_and_what(planner, &arguments)?;
    if settings.command && runs_peacrab(&message) {
        return Err(Error::Usage(texts::NO_PEACRAB.to_owned()));
    }
    let all = format!("{} {}", arguments.when, arguments.message.join(" "));
    let said = edit::said(all.trim(), message.trim());
    let deliver = settings.deliver().unwrap_or_default();
    let goes_to_chat = matches!(deliver, Deliver::Chat | Deliver::Both);
    let agent = settings.agent(planner)?.flatten();
    let new = NewJob {
        kind: settings.kind().unwrap_or_default(),
        message,
        name: settings.name.clone().unwrap_or_default(),
        // The chat that is printed is the one that gets it, although others may write until then.
        chat: match settings.chat(planner)?.flatten() {
            None if goes_to_chat => planner.usual_chat(agent.as_deref()),
            named => named,
        },
        deliver,
        agent,
        model: settings.model.clone().and_then(filled),
        session: settings.session.clone().and_then(filled),
        no_catch_up: settings.no_catch_up,
        once: settings.once,
        said: said.filter(|_| settings.tz.is_none()),
        planned_by: None,
        role: Role::Owner,
        made_from: None,
    };
    let job = edit::add(&planner.store, schedule, new, planner.asker())?;
    report(planner, "Added", &job)
}

/// Whether a command is one of this program, which has no home folder in the sandbox.
fn runs_peacrab(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let program = words.next().and_then(|word| word.rsplit('/').next());
    program == Some("peacrab") && words.next().is_some_and(|word| !word.starts_with('-'))
}

/// Finds out where the schedule ends and the message begins: they are two arguments, or the words of a
/// sentence.
fn when_and_what(planner: &Planner<'_>, arguments: &AddArguments) -> Result<(Schedule, String)> {
    let tz = arguments.settings.tz.as_deref();
    let message = arguments.message.join(" ");
    let first = edit::schedule(&arguments.when, tz, planner.asker());
    if let (Ok(schedule), false) = (&first, message.trim().is_empty()) {
        return Ok((schedule.clone(), message));
    }
    if let (Err(_), [_]) = (&first, arguments.message.as_slice())
        && arguments.when.contains(' ')
    {
        // Both are there: what is wrong with the time is no part of the message.
        return first.map(|schedule| (schedule, message));
    }
    let all = format!("{} {message}", arguments.when);
    match edit::split(all.trim(), tz, planner.asker())? {
        Some((_, "")) => Err(Error::Usage(texts::NO_MESSAGE.to_owned())),
        Some((schedule, rest)) => Ok((schedule, rest.to_owned())),
        None => match first {
            Ok(_) => Err(Error::Usage(texts::NO_MESSAGE.to_owned())),
            Err(error) if arguments.message.len() == 1 => Err(error),
            Err(_) => Err(Error::Usage(texts::NO_SCHEDULE.to_owned())),
        },
    }
}

/// Changes a job and says how it is now.
pub fn edit(planner: &Planner<'_>, arguments: EditArguments) -> Result<()> {
    let settings = &arguments.settings;
    if settings.command && arguments.message.as_deref().is_some_and(runs_peacrab) {
        return Err(Error::Usage(texts::NO_PEACRAB.to_owned()));
    }
    let (when, tz) = (arguments.when.as_deref(), settings.tz.as_deref());
    let schedule = match when.or(tz) {
        Some(_) => {
            let jobs = planner.read()?;
            let job = edit::find(&jobs.jobs, &arguments.job, Language::English)?;
            edit::reschedule(job, when, tz, planner.asker())?
        }
        None => None,
    };
    let set = |yes: bool, no: bool| (yes || no).then_some(yes);
    let changes = Changes {
        schedule,
        kind: arguments
            .ask
            .then_some(PayloadKind::AgentTurn)
            .or(settings.kind()),
        message: arguments.message.clone(),
        name: settings.name.clone(),
        chat: settings.chat(planner)?,
        deliver: settings.deliver(),
        agent: settings.agent(planner)?,
        model: settings.model.clone().map(filled),
        session: settings.session.clone().map(filled),
        catch_up: set(settings.catch_up, settings.no_catch_up),
        once: set(settings.once, settings.no_once),
        by: None,
    };
    if changes.is_empty() {
        return Err(Error::Usage(texts::NO_CHANGE.to_owned()));
    }
    let job = edit::edit(&planner.store, &arguments.job, changes, planner.asker())?;
    report(planner, "Changed", &job)
}

/// Enables or disables jobs.
pub fn enable(planner: &Planner<'_>, names: &[String], enabled: bool) -> Result<()> {
    for name in names {
        let job = edit::enable(&planner.store, name, enabled, planner.asker())?;
        if enabled {
            report_runs(planner, "Enabled", &job)?
        } else {
            print::line(&reveal(&format!("Disabled {}.", edit::label(&job))))?
        }
    }
    planner.tell_gateway();
    Ok(())
}

fn report(planner: &Planner<'_>, what: &str, job: &Job) -> Result<()> {
    report_runs(planner, what, job)?;
    let row = |name: &str, value: &str| print::line(&format!("  {name:<9}  {}", reveal(value)));
    row("action", &texts::action(job))?;
    row("result to", &planner.destination(job))?;
    if job.delete_after_run {
        row("then", "the job is removed")?;
    }
    if let Some(unseen) = planner.unseen_by(job) {
        print::notice(&unseen);
    }
    planner.tell_gateway();
    Ok(())
}

/// A job with its schedule in words and its next three runs.
fn report_runs(planner: &Planner<'_>, what: &str, job: &Job) -> Result<()> {
    let listed = show::list(job, planner.now_ms, &planner.zone, Language::English);
    let mut runs = show::next_runs(job, planner.now_ms, &planner.zone, 3);
    if job.delete_after_run {
        runs.truncate(1);
    }
    let label = reveal(&edit::label(job)).into_owned();
    print::line(&format!("{what} {label}: {}", reveal(&listed.schedule)))?;
    for (index, at_ms) in runs.iter().enumerate() {
        let text = match index {
            0 => format!("  next run   {}", listed.next),
            _ => {
                let time = show::time(*at_ms, planner.now_ms, &planner.zone, Language::English);
                format!("             {time}")
            }
        };
        print::line(&text)?;
    }
    Ok(())
}
