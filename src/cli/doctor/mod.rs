//! `peacrab doctor`: checks the setup and suggests fixes.

mod hearing;
mod jobs;
mod machine;
mod mcp;
mod network;
mod report;
mod sandbox;
mod service;
mod tools;

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::interrupt::Foreground;
use crate::base::error::{Exit, Result};
use crate::config::Loaded;
use report::{Report, Row};

/// `peacrab doctor …`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    subject: Option<Subject>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Show what the kernel offers to sandbox commands and what is in use, and try to escape
    Sandbox {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what the service needs from this system, and how to switch on what is missing
    Service {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the checks; the exit status is 1 when something failed.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    match arguments.subject {
        Some(Subject::Sandbox { json }) => sandbox::run(context, json),
        Some(Subject::Service { json }) => service::run(context, json),
        None => examine(context, arguments.json),
    }
}

/// Checks first what needs no network: it is quick, and explains most of what fails later.
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
    if let Some(row) = machine::account(context)? {
        report.add(row)?;
    }
    report.add(machine::clock(&context.home()?))?;
    report.add(machine::disk(&context.home()?))?;
    if let Some(row) = machine::state_files(&context.home()?) {
        report.add(row)?;
    }
    report.add(machine::service(context))?;
    if let Some(row) = loaded.as_ref().and_then(machine::updates) {
        report.add(row)?;
    }
    if let Some(loaded) = loaded {
        if let Some(row) = jobs::jobs(&context.home()?, &loaded) {
            report.add(row)?;
        }
        if let Some(row) = machine::agents(context, &loaded)? {
            report.add(row)?;
        }
        let loaded = loaded.of_agent(None)?;
        report.add(machine::sandbox(context, &loaded)?)?;
        if let Some(row) = tools::tools(context, &loaded)? {
            report.add(row)?;
        }
        if let Some(row) = mcp::mcp(context, &loaded)? {
            report.add(row)?;
        }
        if let Some(row) = tools::search(context, &loaded) {
            report.add(row)?;
        }
        let voice = [hearing::hearing, hearing::speaking];
        for row in voice.iter().filter_map(|check| check(context, &loaded)) {
            report.add(row)?;
        }
        report = beyond(context, &loaded, report)?;
    }
    report.finish()
}

/// Checks what is reached over the network, on a thread of its own, so that Ctrl-C ends it at once.
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
