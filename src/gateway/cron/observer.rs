//! What becomes of the results of jobs after they were handed over: a chat that takes nothing any more, and
//! a group that has got another address.

use crate::channels::delivery::Observer;
use crate::cron::Store;
use crate::message::{Address, OutgoingMessage};
use crate::watch;

/// Notes in the jobs what the deliveries learn.
pub struct JobObserver(pub Store, pub watch::Store);

impl Observer for JobObserver {
    fn given_up(&self, message: &OutgoingMessage, why: &str, is_chat_gone: bool) {
        let Some(run) = &message.run else { return };
        let (job, planned_ms) = (&run.job, run.planned_ms);
        match self.0.note_undelivered(job, planned_ms, why, is_chat_gone) {
            Ok(true) => tracing::error!(
                job = %run.job, chat = %message.to,
                "disabled a job whose results cannot be delivered: {why}"
            ),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(job = %run.job, "failed to note what was not delivered: {error}");
            }
        }
    }

    fn moved(&self, from: &Address, to: &Address) {
        if let Err(error) = self.1.move_chat(from, to) {
            tracing::error!(chat = %from, "failed to change the chat of watches: {error}");
        }
        match self.0.move_chat(from, to) {
            Ok(0) => {}
            Ok(jobs) => {
                tracing::info!(chat = %from, to = %to, jobs, "the jobs of the group follow")
            }
            // The next message to the old address brings it up again.
            Err(error) => {
                tracing::error!(chat = %from, "failed to change the chat of jobs: {error}")
            }
        }
    }
}
