//! `peacrab doctor`: tries what the program stands on and says what to do.

mod machine;
mod network;
mod report;
mod sandbox;

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::interrupt::Foreground;
use crate::config::Loaded;
use crate::error::{Exit, Result};
use report::{Report, Row};

/// `peacrab doctor …`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    subject: Option<Subject>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// What the kernel supports to sandbox commands, what is in force, and a live escape test
    Sandbox {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Runs the examination; the exit status is 1 when something failed.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    match arguments.subject {
        Some(Subject::Sandbox { json }) => sandbox::run(context, json),
        None => examine(context, arguments.json),
    }
}

/// What needs no network first: it is quick, and explains most of what fails behind it.
fn examine(context: &Context, json: bool) -> Result<Exit> {
    let mut report = Report::new(json);
    let loaded = match context.start() {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            report.add(Row::failed("config", error.to_string()))?;
            None
        }
    };
    if let Some(loaded) = &loaded {
        report.add(machine::config(context, loaded)?)?;
    }
    report.add(machine::clock())?;
    report.add(machine::disk(&context.home()?))?;
    report.add(machine::service(context))?;
    if let Some(loaded) = loaded {
        report.add(machine::sandbox(context, &loaded)?)?;
        report = beyond(context, &loaded, report)?;
    }
    report.finish()
}

/// What is reached over the network, on a thread of its own, so that Ctrl-C ends it at once.
fn beyond(context: &Context, loaded: &Loaded, mut report: Report) -> Result<Report> {
    let Some(examination) = network::prepare(context, loaded, &mut report)? else {
        return Ok(report);
    };
    let foreground = Foreground::new()?;
    foreground.run(move |cancel| {
        examination.run(&mut report, cancel)?;
        Ok(report)
    })?
}
