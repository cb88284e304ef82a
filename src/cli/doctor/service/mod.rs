//! `peacrab doctor service`: what the service needs from this system, and how to switch on what is missing.

mod facts;
mod kernel;
mod system;
#[cfg(test)]
mod tests;
mod unit;

use std::path::Path;

use super::report::Report;
use crate::base::clock::Clock;
use crate::base::error::{Exit, Result};
use crate::cli::Context;
use facts::Facts;

/// Runs the checks; the exit status is 1 when something failed.
pub fn run(context: &Context, json: bool) -> Result<Exit> {
    let mut report = Report::new(json);
    let facts = Facts::of_host(Path::new("/"));
    let home = context.home()?;
    for row in unit::rows(context) {
        report.add(row)?;
    }
    for row in system::rows(&facts, home.path(), Clock::System.is_set()) {
        report.add(row)?;
    }
    for row in kernel::rows(&facts) {
        report.add(row)?;
    }
    report.finish()
}
