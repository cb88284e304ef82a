//! `peacrab cron`: scheduled jobs and reminders.

mod change;
mod list;
mod texts;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::print;
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::language::Language;
use crate::base::message::Address;
use crate::base::zone::Zone;
use crate::cli::context::owner_chat;
use crate::config::resolve::expanded;
use crate::config::schema::SandboxChoice;
use crate::config::{Home, Loaded};
use crate::gateway::control::{self, CronRequest, Request};
use crate::schedule::edit::{self, Asker};
use crate::schedule::{Job, Jobs, PayloadKind, Store};
use crate::store::state::KnownTime;
use crate::text::markup;
use crate::tools::commands::describe_unseen;

const AFTER_HELP: &str = "\
Examples:
  peacrab cron add 'every day at 7' 'Say good morning, with the weather'
  peacrab cron add 'in 20m' 'Take the bread out' --remind
  peacrab cron add '0 3 * * 1' 'df -h / | tail -1' --command --name disk
  peacrab cron next
  peacrab cron edit j7k2 --when 'every 2h'

Jobs run while the gateway runs. A run that was missed, because the board was off, \
is made up for once, when it is on again. JOB is an id, a name or the beginning of one.";

/// `peacrab cron …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the jobs, the next one first
    #[command(alias = "ls")]
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Plan a job
    #[command(alias = "new")]
    Add(change::AddArguments),
    /// Show a job with all its settings and its last run
    Show {
        /// Which job
        job: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a job
    #[command(alias = "set")]
    Edit(change::EditArguments),
    /// Remove jobs
    #[command(aliases = ["rm", "delete"])]
    Remove(Chosen),
    /// Let a disabled job run again
    Enable(Chosen),
    /// Keep a job, but do not run it
    Disable(Chosen),
    /// Run a job now
    Run {
        /// Which job
        job: String,
    },
    /// Show the last runs, and how they ended
    #[command(alias = "log")]
    History {
        /// Which job [default: all]
        job: Option<String>,
        /// Number of runs
        #[arg(short = 'n', long, default_value_t = 20)]
        number: usize,
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Show the coming runs of all jobs
    Next {
        /// Number of runs
        #[arg(default_value_t = 10)]
        number: usize,
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
}

/// Some jobs.
#[derive(Debug, Args)]
struct Chosen {
    /// Which job
    #[arg(required = true, value_name = "JOB")]
    jobs: Vec<String>,
}

/// Where the jobs are, and how times are meant.
struct Planner<'a> {
    context: &'a Context,
    home: Home,
    loaded: Loaded,
    store: Store,
    zone: Zone,
    now_ms: i64,
}

impl<'a> Planner<'a> {
    fn new(context: &'a Context) -> Result<Self> {
        let loaded = context.start()?;
        let home = context.home()?;
        Ok(Self {
            store: Store::open(home.path()),
            zone: zone_of(&loaded),
            now_ms: Clock::System.now().timestamp_millis(),
            context,
            home,
            loaded,
        })
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            now_ms: self.now_ms,
            zone: &self.zone,
            language: Language::English,
            is_clock_right: KnownTime::is_synchronized(&Clock::System) == Some(true),
        }
    }

    /// The private chat in which an owner wrote last. The results of one agent are not for the chats of another.
    fn usual_chat(&self, agent: Option<&str>) -> Option<Address> {
        let agents = &self.loaded.config.agents;
        let is_served =
            |to: &Address| agent.is_none_or(|agent| agents.serving_at(to, Some(&to.chat)) == agent);
        self.owner_chat().filter(is_served)
    }

    /// Where the result of a job goes, for people.
    fn destination(&self, job: &Job) -> String {
        texts::destination(job, self.owner_chat().as_ref())
    }

    /// A note about a path in the command of a job that the sandbox hides.
    fn unseen_by(&self, job: &Job) -> Option<String> {
        let config = &self.loaded.config;
        let is_sandboxed = config.tools.exec.sandbox != SandboxChoice::Off;
        if job.payload.kind != PayloadKind::Command || !is_sandboxed {
            return None;
        }
        let workspace = self.home.workspace(&config.agents.defaults.workspace);
        let listed = config.tools.allowed_paths.iter();
        let listed = listed.chain(&config.tools.read_only_paths);
        let user_home = self.context.environment().get("HOME").map(PathBuf::from);
        let shown = listed.filter_map(|path| expanded(path, &workspace, user_home.as_deref()).ok());
        let shown: Vec<PathBuf> = shown.chain([workspace.clone()]).collect();
        let is_shown = |path: &Path| shown.iter().any(|folder| path.starts_with(folder));
        let unseen = describe_unseen(&job.payload.message, is_shown, Language::English)?;
        Some(markup::parse(&unseen, &|_| false).text().to_owned())
    }

    fn owner_chat(&self) -> Option<Address> {
        owner_chat(&self.home, &self.loaded)
    }

    /// Reads the jobs, and reports those that cannot be used.
    fn read(&self) -> Result<Jobs> {
        let jobs = self.store.read()?;
        for fault in &jobs.faults {
            print::complain(&texts::unusable(fault, &self.store.path()));
        }
        Ok(jobs)
    }

    /// Has the gateway look at the jobs again; says so where they will not run.
    fn tell_gateway(&self) {
        let request = Request::Cron(CronRequest::Changed);
        if !self.loaded.config.cron.enabled {
            print::notice(texts::SWITCHED_OFF);
        }
        match control::ask(&self.home.control(), &request) {
            Ok(Some(_)) => {}
            Ok(None) => print::notice(&texts::not_running(&self.peacrab())),
            // It sees the change in the file itself, a little later.
            Err(error) => print::notice(&texts::not_told(&error)),
        }
    }

    /// How this home's commands begin, such as `peacrab --home /srv/bot`.
    fn peacrab(&self) -> String {
        self.context.home_command(self.home.path())
    }

    fn run_now(&self, name: &str) -> Result<()> {
        let jobs = self.read()?;
        let job = edit::find(&jobs.jobs, name, Language::English)?;
        let request = Request::Cron(CronRequest::Run { id: job.id.clone() });
        match control::ask(&self.home.control(), &request)? {
            Some(answer) => print::line(&answer),
            None => Err(Error::Failed(texts::cannot_run(&self.peacrab()))),
        }
    }
}

/// The time zone of jobs that name none.
pub fn zone_of(loaded: &Loaded) -> Zone {
    Zone::find(&loaded.config.cron.tz).unwrap_or_else(Zone::system)
}

/// The ids of the jobs with what they are called, for completions.
pub fn names(home: &Home) -> Vec<(String, String)> {
    let jobs = Store::open(home.path()).read().unwrap_or_default().jobs;
    let named = |job: &crate::schedule::Job| (job.id.clone(), job.title());
    jobs.iter().map(named).collect()
}

/// Runs the action on the home's jobs.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let planner = Planner::new(context)?;
    match arguments.action.unwrap_or(Action::List { json: false }) {
        Action::List { json } => list::print_jobs(&planner, json)?,
        Action::Add(arguments) => change::add(&planner, arguments)?,
        Action::Show { job, json } => list::print_job(&planner, &job, json)?,
        Action::Edit(arguments) => change::edit(&planner, arguments)?,
        Action::Remove(chosen) => {
            for name in &chosen.jobs {
                let removed = edit::remove(&planner.store, name, Language::English)?;
                print::line(&texts::removed(&removed))?;
            }
            planner.tell_gateway();
        }
        Action::Enable(chosen) => change::enable(&planner, &chosen.jobs, true)?,
        Action::Disable(chosen) => change::enable(&planner, &chosen.jobs, false)?,
        Action::Run { job } => planner.run_now(&job)?,
        Action::History { job, number, json } => {
            list::print_history(&planner, job.as_deref(), number, json)?;
        }
        Action::Next { number, json } => list::print_next(&planner, number, json)?,
    }
    Ok(Exit::Done)
}
