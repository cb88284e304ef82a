//! Floor 10: the command line. One file per command; only this room prints.

pub mod agent;
pub mod agents;
pub mod backup;
pub mod channels;
pub mod completions;
mod compose;
pub mod config;
mod context;
pub mod cron;
pub mod doctor;
pub mod gateway;
pub mod http;
pub mod import;
pub mod login;
pub mod mcp;
pub mod memory;
pub mod onboard;
mod parsing;
mod plot;
pub mod prompt;
pub mod send;
pub mod service;
pub mod sessions;
pub mod skills;
pub mod status;
pub mod terminal;
pub mod tools;
pub mod update;
pub mod usage;
pub mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

pub use self::context::Context;
use self::context::{HomeNote, HomeUse};
use self::parsing::Deferred;
use self::terminal::print;
use crate::base::error::{Exit, Result};
use crate::config::check::looks_secret;
use crate::sandbox::confine::{CONFINE, confine_main};
use crate::sandbox::documents::{self, READ_DOCUMENT};
use crate::sys::{environment, process};

const AFTER_HELP: &str = "\
Exit codes:
  0    success
  1    failure
  2    wrong usage
  78   invalid configuration
  130  stopped (Ctrl-C)

Examples:
  peacrab onboard                          set up Peacrab
  peacrab agent                            start a conversation
  dmesg | peacrab agent -m 'any errors?'   ask one question about some text
  peacrab config explain agents.defaults   see what can be set";

/// The first steps of a newcomer, for `peacrab` alone.
const FIRST_STEPS: &str = "\
A personal AI agent for single-board computers.

To begin:
  peacrab onboard              set up Peacrab and connect a model
  peacrab agent                chat in the terminal
  peacrab agent QUESTION       ask one question
  peacrab gateway              run the bot on Telegram and other channels
  peacrab service install      run it permanently, as a systemd service

Later:
  peacrab status               show the setup, the model and today's tokens
  peacrab doctor               check the setup and suggest fixes
  peacrab channels             see who has access, and let people in
  peacrab cron                 plan reminders and jobs
  peacrab config explain WORD  find a setting
  peacrab backup FILE          save everything in one file
  peacrab update               install a new version

peacrab help lists all commands, and peacrab COMMAND --help explains one.
";

/// The heading of the options that every command has, below its own.
const COMMON: &str = "Common options";

/// A personal AI agent for single-board computers.
#[derive(Debug, Parser)]
#[command(
    name = "peacrab",
    version = crate::update::current(),
    after_help = AFTER_HELP,
    max_term_width = 100,
    disable_help_flag = true,
    disable_version_flag = true,
    subcommand_value_name = "COMMAND"
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = COMMON)]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Args)]
struct Global {
    /// Home folder [default: $PEACRAB_HOME, else ~/.peacrab]
    #[arg(long, global = true, value_name = "DIR", help_heading = COMMON)]
    home: Option<PathBuf>,
    /// Configuration file [default: DIR/config.json]
    #[arg(long, global = true, value_name = "FILE", help_heading = COMMON)]
    config: Option<PathBuf>,
    /// More logging (repeat for even more)
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = COMMON)]
    verbose: u8,
    /// Less logging (repeat for even less)
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = COMMON)]
    quiet: u8,
    /// Print this help
    #[arg(short, long, global = true, action = ArgAction::Help, help_heading = COMMON)]
    help: Option<bool>,
}

/// A command is a line here, a line in [`Command::run`] and a file.
#[derive(Debug, Subcommand)]
enum Command {
    /// Chat with the agent, or ask a single question
    #[command(visible_alias = "chat")]
    Agent(Deferred<agent::Arguments>),
    /// List the agents, with their workspaces and bindings
    Agents(Deferred<agents::Arguments>),
    /// Run the bot: the agent on Telegram and other channels
    #[command(aliases = ["start", "run", "serve"])]
    Gateway(Deferred<gateway::Arguments>),
    /// Apply a changed configuration to the running gateway
    Reload(Deferred<gateway::reload::Arguments>),
    /// Send a message from a script
    Send(Deferred<send::Arguments>),
    /// Manage the channels and who has access
    #[command(alias = "channel")]
    Channels(Deferred<channels::Arguments>),
    /// List, add or revoke the commands that are always allowed
    Approvals(Deferred<channels::approvals::Arguments>),
    /// Set up Peacrab: create its folder and connect a model
    #[command(aliases = ["setup", "init"])]
    Onboard(Deferred<onboard::Arguments>),
    /// Take over the home of nanobot, PicoClaw, OpenClaw, Hermes or zeroclaw
    #[command(alias = "migrate")]
    Import(Deferred<import::Arguments>),
    /// Sign in with a subscription (may stop working any day, the provider decides)
    #[command(alias = "signin")]
    Login(Deferred<login::Arguments>),
    /// Remove a sign-in
    #[command(alias = "signout")]
    Logout(Deferred<login::LogoutArguments>),
    /// Show, explain, change and check the settings
    Config(Deferred<config::Arguments>),
    /// Show the setup, the model in use and today's tokens
    Status(Deferred<status::Arguments>),
    /// Show the tokens and their cost, by day and model
    #[command(alias = "cost")]
    Usage(Deferred<usage::Arguments>),
    /// Manage the tokens of programs that ask over HTTP
    Http(Deferred<http::Arguments>),
    /// List the hooks that programs call over HTTP, and try them
    #[command(alias = "hooks")]
    Hook(Deferred<http::hook::Arguments>),
    /// List, show, export and delete conversations
    #[command(alias = "session")]
    Sessions(Deferred<sessions::Arguments>),
    /// List, plan, change and run scheduled jobs and reminders
    #[command(aliases = ["jobs", "schedule"])]
    Cron(Deferred<cron::Arguments>),
    /// List, add and change watches: rules over the board that speak up
    #[command(alias = "watches")]
    Watch(Deferred<watch::Arguments>),
    /// Show and search what the agent remembers, and bring back earlier versions
    Memory(Deferred<memory::Arguments>),
    /// Plot the board's temperature, load, memory, disk or network as a picture
    Plot(Deferred<plot::Arguments>),
    /// List, write, install and check skills
    #[command(alias = "skill")]
    Skills(Deferred<skills::Arguments>),
    /// Check the setup and suggest fixes
    Doctor(Deferred<doctor::Arguments>),
    /// Run the bot permanently, as a systemd service
    Service(Deferred<service::Arguments>),
    /// Save everything in one file, also while the bot runs
    Backup(Deferred<backup::Arguments>),
    /// Bring back what a backup has, or check it
    Restore(Deferred<backup::restore::Arguments>),
    /// Install a new version, or go back to the one before
    #[command(alias = "upgrade")]
    Update(Deferred<update::Arguments>),
    /// List the tools that the model can use, and manage your own
    #[command(alias = "tool")]
    Tools(Deferred<tools::Arguments>),
    /// List, add, test and call MCP servers, and sign in to them
    Mcp(Deferred<mcp::Arguments>),
    /// Show what goes to the model, and how much of its context is used
    Context(Deferred<prompt::Arguments>),
    /// Print a completion script for your shell
    #[command(alias = "completion")]
    Completions(Deferred<completions::Arguments>),
    /// Print the version
    #[command(hide = true)]
    Version,
    /// Complete a command line, for the scripts of `completions`
    #[command(name = "__complete", hide = true)]
    Complete(Deferred<completions::CompleteArguments>),
}

impl Command {
    /// Which home folder the command works on.
    fn home_use(&self) -> HomeUse {
        match self {
            Self::Service(_) | Self::Update(_) | Self::Completions(_) | Self::Version => {
                HomeUse::Own
            }
            Self::Agent(_)
            | Self::Agents(_)
            | Self::Gateway(_)
            | Self::Onboard(_)
            | Self::Status(_)
            | Self::Usage(_)
            | Self::Doctor(_)
            | Self::Context(_)
            | Self::Complete(_) => HomeUse::Readable,
            Self::Config(arguments) if !arguments.changes() => HomeUse::Readable,
            Self::Skills(arguments) if !arguments.changes() => HomeUse::Readable,
            Self::Tools(arguments) if !arguments.changes() => HomeUse::Readable,
            Self::Mcp(arguments) if !arguments.changes() => HomeUse::Readable,
            _ => HomeUse::Installed,
        }
    }

    /// Each command stays a function of its own, so that only the one that runs is in memory.
    fn run(self, context: &Context) -> Result<Exit> {
        match self {
            Self::Agent(arguments) => agent::run(context, &arguments),
            Self::Agents(arguments) => agents::run(context, &arguments),
            Self::Gateway(arguments) => gateway::run(context, &arguments),
            Self::Reload(arguments) => gateway::reload::run(context, &arguments),
            Self::Channels(arguments) => channels::run(context, &arguments),
            Self::Approvals(arguments) => channels::approvals::run(context, &arguments),
            Self::Send(arguments) => send::run(context, &arguments),
            Self::Onboard(arguments) => onboard::run(context, &arguments),
            Self::Import(arguments) => import::run(context, arguments.0),
            Self::Login(arguments) => login::run(context, &arguments),
            Self::Logout(arguments) => login::log_out(context, &arguments),
            Self::Config(arguments) => config::run(context, arguments.0),
            Self::Status(arguments) => status::run(context, &arguments),
            Self::Usage(arguments) => usage::run(context, &arguments),
            Self::Http(arguments) => http::run(context, arguments.0),
            Self::Hook(arguments) => http::hook::run(context, arguments.0),
            Self::Sessions(arguments) => sessions::run(context, &arguments),
            Self::Cron(arguments) => cron::run(context, arguments.0),
            Self::Watch(arguments) => watch::run(context, arguments.0),
            Self::Memory(arguments) => memory::run(context, &arguments),
            Self::Plot(arguments) => plot::run(context, &arguments),
            Self::Skills(arguments) => skills::run(context, arguments.0),
            Self::Doctor(arguments) => doctor::run(context, &arguments),
            Self::Service(arguments) => {
                if let Some(service) = service::planned(context, &arguments)? {
                    gateway::check_service(&service)?;
                }
                service::run(context, &arguments)
            }
            Self::Backup(arguments) => backup::run(context, arguments.0),
            Self::Restore(arguments) => backup::restore::run(context, arguments.0),
            Self::Update(arguments) => update::run(context, arguments.0),
            Self::Tools(arguments) => tools::run(context, arguments.0),
            Self::Mcp(arguments) => mcp::run(context, arguments.0),
            Self::Context(arguments) => prompt::run(context, &arguments),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Version => print::out(&Cli::command().render_version()).map(|()| Exit::Done),
            Self::Complete(arguments) => completions::complete(context, &arguments),
        }
    }
}

/// All commands and their options: the manual pages are made from them.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program. Everything has been printed when it returns.
pub fn main() -> ExitCode {
    process::keep_children();
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == CONFINE)
    {
        // A child that confines itself: it must be first, before anything else is set up.
        confine_main();
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == READ_DOCUMENT)
    {
        documents::main();
    }
    let exit = match Cli::try_parse() {
        Ok(cli) => {
            let home_use = cli.command.home_use();
            // Its own messages name the file.
            let names_home = matches!(cli.command, Command::Config(_));
            let fills_home = matches!(cli.command, Command::Restore(_));
            match Context::new(cli.global, environment::variables(), home_use) {
                Ok(context) => {
                    let ran = cli.command.run(&context);
                    let note = context.note_home(home_use, &ran);
                    let is_clear = |note: &HomeNote| {
                        names_home || fills_home && matches!(note, HomeNote::Unconfigured(_))
                    };
                    report_at(ran, note.filter(|note| !is_clear(note)))
                }
                Err(error) => report(Err(error)),
            }
        }
        Err(mut error) => report_usage(&mut error),
    };
    ExitCode::from(exit as u8)
}

/// Whether the list of commands has this name.
pub fn has_command(name: &str) -> bool {
    let command = Cli::command();
    command.find_subcommand(name).is_some_and(|found| {
        let mut others = found.get_visible_aliases();
        let is_listed = found.get_name() == name || others.any(|other| other == name);
        is_listed && !found.is_hide_set()
    })
}

/// Prints the error, if there is one.
fn report(result: Result<Exit>) -> Exit {
    result.unwrap_or_else(|error| {
        print::complain(&error.to_string());
        error.exit()
    })
}

/// Prints the error, if there is one, and in which home folder it happened.
fn report_at(ran: Result<Exit>, note: Option<HomeNote>) -> Exit {
    match (ran, note) {
        (Err(error), Some(HomeNote::Used(home))) => {
            print::complain(&with_home(&error.to_string(), &home));
            error.exit()
        }
        (ran, note) => {
            let exit = report(ran);
            match note {
                Some(HomeNote::Used(home)) => print::notice(&home),
                Some(HomeNote::Unconfigured(text)) => print::complain(&text),
                None => {}
            }
            exit
        }
    }
}

/// An error with the home folder: in its line, or below a list, whose last entry it is not about.
fn with_home(error: &str, home: &str) -> String {
    let between = if error.contains('\n') { "\n" } else { " " };
    format!("{error}{between}({home})")
}

/// Prints help or the version, which were asked for, or what is wrong with the command line.
fn report_usage(error: &mut clap::Error) -> Exit {
    let advice = parsing::advise(error);
    let text = error.to_string();
    // "Usage: peacrab [OPTIONS] <COMMAND>", whatever the program's file is called.
    let is_whole = |line: &str| line.ends_with(" <COMMAND>") && line.split(' ').count() == 4;
    let is_first = text
        .lines()
        .any(|line| line.starts_with("Usage: ") && is_whole(line));
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            report(print::out(&text).map(|()| Exit::Done))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print::guide(if is_first { FIRST_STEPS } else { &text });
            Exit::Usage
        }
        _ => {
            let text = match &advice {
                Some(_) if is_first => parsing::shorten(&text),
                _ => text,
            };
            // The argument in the error may be an API key.
            let words = text.split_inclusive([' ', '\'', '\n', '=']);
            let safe = words.map(|word| {
                if looks_secret(word) && !word.contains('/') {
                    "[hidden] "
                } else {
                    word
                }
            });
            let safe: String = safe.collect();
            let plain = in_plain_words(&safe);
            print::complain(plain.trim_start_matches("error: ").trim_end());
            if let Some(advice) = advice {
                print::notice(&advice);
            }
            Exit::Usage
        }
    }
}

/// An error of the command line without what only programmers say of numbers.
fn in_plain_words(error: &str) -> String {
    error
        .replace(
            ": invalid digit found in string",
            ": it must be a whole number",
        )
        .replace(
            ": number too large to fit in target type",
            ": it is too large",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_refused_in_plain_words() {
        for (typed, expected) in [
            ("zz", "'zz' for '<NUMBER>...': it must be a whole number"),
            ("99999999999999999999999999", ": it is too large"),
        ] {
            let line = ["peacrab", "watch", "remove", typed];
            let error = Cli::command().try_get_matches_from(line).unwrap_err();
            let text = in_plain_words(&error.to_string());
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_lines_of_a_help_are_left_to_the_terminal() {
        let mut program = Cli::command();
        program.build();
        for command in program.get_subcommands().chain([&program]) {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            let broken = lines
                .windows(2)
                .find(|pair| is_prose(pair[0]) && is_prose(pair[1]));
            assert_eq!(broken, None, "{}", command.get_name());
            let is_long = |line: &&&str| line.starts_with(' ') && line.chars().count() > 80;
            assert_eq!(lines.iter().find(is_long), None, "{}", command.get_name());
        }
        assert!(FIRST_STEPS.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn the_home_folder_is_not_a_part_of_a_lists_last_entry() {
        let home = "home folder: /srv/crab";
        assert_eq!(
            with_home("It failed.", home),
            "It failed. (home folder: /srv/crab)"
        );
        let list = with_home("Choose one:\n- a\n- b", home);
        assert_eq!(list, "Choose one:\n- a\n- b\n(home folder: /srv/crab)");
    }
}
