//! Floor 9: the command line. One file a command; only this room prints.

pub mod agent;
pub mod channels;
pub mod completions;
mod compose;
pub mod config;
mod context;
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

pub use self::context::Context;
use self::context::HomeUse;
use self::terminal::print;
use crate::config::check::looks_secret;
use crate::confine::{CONFINE, confine_main};
use crate::error::{Exit, Result};
use crate::sys::environment;

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
    /// List the channels, let people in, try the token
    Channels(channels::Arguments),
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
    /// Which home folder the command works on.
    fn home_use(&self) -> HomeUse {
        match self {
            Self::Service(_) | Self::Completions(_) => HomeUse::Own,
            Self::Agent(_)
            | Self::Gateway(_)
            | Self::Onboard(_)
            | Self::Status(_)
            | Self::Doctor(_)
            | Self::Tools(_) => HomeUse::Readable,
            Self::Config(arguments) if !arguments.changes() => HomeUse::Readable,
            _ => HomeUse::Installed,
        }
    }

    fn run(self, context: &Context) -> Result<Exit> {
        match self {
            Self::Agent(arguments) => agent::run(context, &arguments),
            Self::Gateway(arguments) => gateway::run(context, &arguments),
            Self::Reload(arguments) => gateway::reload::run(context, &arguments),
            Self::Channels(arguments) => channels::run(context, &arguments),
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

/// Runs the program. Everything has been printed when it returns.
pub fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == CONFINE)
    {
        // A child that confines itself: it must be first, before anything else is set up.
        confine_main();
    }
    let exit = match Cli::try_parse() {
        Ok(cli) => {
            let home_use = cli.command.home_use();
            match Context::new(cli.global, environment::variables(), home_use) {
                Ok(context) => {
                    let ran = cli.command.run(&context);
                    let note = context.note_home(home_use, &ran);
                    let exit = report(ran);
                    note.iter().for_each(|note| print::complain(note));
                    exit
                }
                Err(error) => report(Err(error)),
            }
        }
        Err(error) => report_usage(&error),
    };
    ExitCode::from(exit as u8)
}

/// Prints the error, if there is one.
fn report(result: Result<Exit>) -> Exit {
    result.unwrap_or_else(|error| {
        print::complain(&error.to_string());
        error.exit()
    })
}

/// Prints help or the version, which were asked for, or what is wrong with the command line.
fn report_usage(error: &clap::Error) -> Exit {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            report(print::out(&text).map(|()| Exit::Done))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print::raw_error(&text);
            Exit::Usage
        }
        _ => {
            // The argument in the error may be an API key.
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
