//! Floor 9: the command line. One file a command; only this room prints.

pub mod agent;
pub mod channels;
pub mod completions;
mod compose;
pub mod config;
pub mod doctor;
pub mod gateway;
pub mod onboard;
pub mod send;
pub mod service;
pub mod sessions;
pub mod status;
pub mod terminal;
pub mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use self::terminal::{log, print};
use crate::config::check::looks_secret;
use crate::config::schema::Log;
use crate::config::{Home, Loaded, load};
use crate::confine::{CONFINE, confine_main};
use crate::error::{Error, Exit, Result};
use crate::provider::table::PROVIDERS;
use crate::secret::{Eraser, Secret};
use crate::sys;
use crate::sys::environment::{self, Environment};

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    failed
  2    wrong usage
  78   wrong configuration
  130  stopped

Examples:
  peacrab agent                            a conversation
  dmesg | peacrab agent                    one question, from a pipe
  peacrab onboard                          make a home, connect a model
  peacrab config explain agents.defaults   what can be set";

/// A personal AI agent that lives in a single-board computer.
#[derive(Debug, Parser)]
#[command(name = "peacrab", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Args)]
struct Global {
    /// The home folder [default: PEACRAB_HOME, else ~/.peacrab]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// The configuration file [default: config.json in the home folder]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Log more than log.level says; repeat for still more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Log less
    #[arg(short, long, global = true, action = ArgAction::Count)]
    quiet: u8,
}

/// A command is a line here, a line in [`Command::run`] and a file.
#[derive(Debug, Subcommand)]
enum Command {
    /// Talk to it: one question, or a conversation
    Agent(agent::Arguments),
    /// Run the daemon: the agent on Telegram and Discord
    Gateway(gateway::Arguments),
    /// Apply a changed configuration to the running gateway
    Reload(gateway::reload::Arguments),
    /// Tell somebody something from a script, through the gateway
    Send(send::Arguments),
    /// Manage the channels and who has access
    Channels(channels::Arguments),
    /// List or remove the commands that are always allowed
    Approvals(channels::approvals::Arguments),
    /// Make a home, connect a model
    Onboard(onboard::Arguments),
    /// Show, explain, set and check the configuration
    Config(config::Arguments),
    /// Show what is set up, which model answers, and the tokens of today
    Status(status::Arguments),
    /// List, print, export and delete conversations
    Sessions(sessions::Arguments),
    /// Try what the program stands on, and say what to do
    Doctor(doctor::Arguments),
    /// Keep the gateway running with systemd
    Service(service::Arguments),
    /// Show what the model can use
    Tools(tools::Arguments),
    /// Print the completions for a shell
    Completions(completions::Arguments),
}

impl Command {
    fn run(self, context: &Context) -> Result<Exit> {
        match self {
            Self::Agent(arguments) => agent::run(context, &arguments),
            Self::Gateway(arguments) => gateway::run(context, &arguments),
            Self::Reload(arguments) => gateway::reload::run(context, &arguments),
            Self::Channels(arguments) => channels::run(context, &arguments),
            Self::Approvals(arguments) => channels::approvals::run(context, &arguments),
            Self::Send(arguments) => send::run(context, &arguments),
            Self::Onboard(arguments) => onboard::run(context, &arguments),
            Self::Config(arguments) => config::run(context, arguments),
            Self::Status(arguments) => status::run(context, &arguments),
            Self::Sessions(arguments) => sessions::run(context, &arguments),
            Self::Doctor(arguments) => doctor::run(context, &arguments),
            Self::Service(arguments) => service::run(context, &arguments),
            Self::Tools(arguments) => tools::run(context, &arguments),
            Self::Completions(arguments) => completions::run(&arguments),
        }
    }
}

/// What every command is started with.
#[derive(Clone)]
pub struct Context {
    global: Global,
    environment: Environment,
}

impl Context {
    /// The home folder; nothing is created.
    pub fn home(&self) -> Result<Home> {
        let variable = |name: &str| self.environment.get(name).cloned();
        Home::find(self.global.home.as_deref(), variable)
    }

    /// The variables of the environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The configuration file, whether it exists or not.
    pub fn config_file(&self) -> Result<PathBuf> {
        match &self.global.config {
            Some(file) => std::path::absolute(file).map_err(Error::io("find", file)),
            None => Ok(self.home()?.config_file()),
        }
    }

    /// How much is logged: what the configuration says, moved by `-v` and `-q`.
    pub fn log_level(&self, config: &Log) -> LevelFilter {
        log::level(config.level, self.global.verbose, self.global.quiet)
    }

    /// Loads the configuration and does nothing else.
    pub fn load(&self) -> Result<Loaded> {
        load(
            &self.config_file()?,
            self.global.config.is_some(),
            &self.environment,
        )
    }

    /// Erases the secrets of the configuration, and the keys that the environment holds for providers.
    pub fn eraser(&self, loaded: &Loaded) -> Eraser {
        let variables = PROVIDERS.iter().flat_map(|provider| provider.variables);
        let keys = variables.filter_map(|name| self.environment.get(*name));
        Eraser::new(
            loaded
                .secrets
                .iter()
                .cloned()
                .chain(keys.map(|key| Secret::new(key))),
        )
    }

    /// Loads the configuration and lets it take effect on the process: says its warnings, sets the
    /// time zone, starts the log. Call it before any thread is started.
    pub fn start(&self) -> Result<Loaded> {
        // From here on keys are in memory, and commands may run under the same account.
        if let Err(error) = sys::process::set_undumpable() {
            print::complain(&format!(
                "warning: other processes of this account may read our memory: {error}"
            ));
        }
        let loaded = self.load()?;
        for warning in &loaded.warnings {
            print::complain(&format!("warning: {warning}"));
        }
        let zone = &loaded.config.agents.defaults.timezone;
        if zone != "auto" && !environment::set_time_zone(zone) {
            print::complain("warning: the time zone cannot be set now; the system's holds");
        }
        let settings = &loaded.config.log;
        let level = self.log_level(settings);
        let journal = self.environment.contains_key("JOURNAL_STREAM");
        log::start(
            level,
            log::Form::new(settings.format, journal),
            self.eraser(&loaded),
        );
        Ok(loaded)
    }
}

/// Runs the program; everything it has to say has been said when it returns.
pub fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == CONFINE)
    {
        // A child that confines itself: nothing else may have been set up by then.
        confine_main();
    }
    let exit = match Cli::try_parse() {
        Ok(cli) => {
            let context = Context {
                global: cli.global,
                environment: environment::variables(),
            };
            told(cli.command.run(&context))
        }
        Err(error) => refused(&error),
    };
    ExitCode::from(exit as u8)
}

fn told(result: Result<Exit>) -> Exit {
    result.unwrap_or_else(|error| {
        print::complain(&error.to_string());
        error.exit()
    })
}

/// Help and the version are what was asked for; anything else is wrong usage.
fn refused(error: &clap::Error) -> Exit {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            told(print::out(&text).map(|()| Exit::Done))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print::raw_error(&text);
            Exit::Usage
        }
        _ => {
            // A key may stand where no argument belongs.
            let words = text.split_inclusive([' ', '\'', '\n', '=']);
            let safe = words.map(|word| match looks_secret(word) && !word.contains('/') {
                true => "[hidden] ",
                false => word,
            });
            let safe: String = safe.collect();
            print::complain(safe.trim_start_matches("error: ").trim_end());
            Exit::Usage
        }
    }
}
