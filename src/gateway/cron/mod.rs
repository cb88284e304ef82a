//! Scheduled jobs: when they are due they become turns, commands or reminders.

use std::sync::Arc;

use tokio::sync::Notify;

use super::Gateway;
use crate::error::{Error, Result};

/// What the gateway knows of its jobs. The file of jobs is the truth; this is only what runs now.
#[derive(Default)]
pub struct Cron {
    /// Wakes the loop that looks for jobs.
    changed: Arc<Notify>,
}

impl Cron {
    /// Looks at the file of jobs now.
    pub fn look_soon(&self) {
        self.changed.notify_one();
    }
}

impl Gateway {
    /// Runs a job now, whatever its schedule says, and returns a line for people. Fails when there is no
    /// such job, or while it is running.
    pub(super) fn run_job(self: &Arc<Self>, id: &str) -> Result<String> {
        Err(Error::Usage(format!("There is no job {id}.")))
    }
}
