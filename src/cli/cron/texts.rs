//! What `peacrab cron` says.

use std::fmt::Display;
use std::path::Path;

use crate::base::limits::schedule::UNDELIVERED_RUNS_MAX;
use crate::base::message::Address;
use crate::config::channels;
use crate::schedule::{Deliver, Fault, Job, PayloadKind};

/// There are no jobs.
pub const NO_JOBS: &str =
    "No jobs yet. To plan one: peacrab cron add 'every day at 7' 'Say good morning'";
/// No job has run.
pub const NO_RUNS: &str = "No job has run yet.";
/// Nothing is planned.
pub const NOTHING_PLANNED: &str = "No runs are planned.";
/// The setting that stops all jobs.
pub const SWITCHED_OFF: &str =
    "Jobs are switched off. To run them: peacrab config set cron.enabled true";
/// A command line without a schedule.
pub const NO_SCHEDULE: &str = "When should it run? Begin with a time such as 'in 20m', 'tomorrow 7:00', \
    'every 2h', 'every day at 7' or '0 7 * * 1-5'.";
/// A command line without a message.
pub const NO_MESSAGE: &str =
    "The message is missing. For example: peacrab cron add 'in 20m' 'Take the bread out' --remind";
/// A command of this program as a job.
pub const NO_PEACRAB: &str = "Commands of jobs run in the sandbox, where peacrab and its home folder are not there. \
    For a backup every day: peacrab config set backup.every 24. For anything else use the system's cron (crontab -e).";
/// An edit without a change.
pub const NO_CHANGE: &str =
    "Nothing to change. `peacrab cron edit --help` lists what can be changed.";

/// A job in the file that cannot be used.
pub fn unusable(fault: &Fault, file: &Path) -> String {
    format!(
        "cannot use {fault}. Repair or remove it in {}",
        file.display()
    )
}

/// No gateway runs.
pub fn not_running(peacrab: &str) -> String {
    format!("The gateway is not running. Jobs run while it does: {peacrab} gateway")
}

/// The gateway did not understand.
pub fn not_told(error: &dyn Display) -> String {
    format!("The gateway could not be told of the change: {error}")
}

/// A job cannot run without a gateway.
pub fn cannot_run(peacrab: &str) -> String {
    format!(
        "The gateway is not running, and it is what runs jobs. Start it with: {peacrab} gateway"
    )
}

/// Why the program has disabled a job.
pub fn disabled_because(why: &str, enable: &str) -> String {
    format!(
        "after {UNDELIVERED_RUNS_MAX} results in a row that could not be delivered ({why}). To go on: {enable}"
    )
}

/// A job was removed.
pub fn removed(label: &str) -> String {
    format!("Removed {label}.")
}

/// A channel that there is not.
pub fn unknown_channel(name: &str) -> String {
    format!(
        "Unknown channel \"{name}\".{} Write the chat with its channel, such as telegram:ID.",
        channels::did_you_mean(name)
    )
}

/// What a run does, for people.
pub fn action(job: &Job) -> String {
    match job.payload.kind {
        PayloadKind::Reminder => "sends the message as it is, without a model".to_owned(),
        PayloadKind::Command => "runs the message as a command in the sandbox".to_owned(),
        PayloadKind::AgentTurn => {
            let payload = &job.payload;
            let parts = [
                ("agent", &payload.agent),
                ("model", &payload.model),
                ("conversation", &payload.session),
            ];
            let parts = parts
                .iter()
                .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
            let parts: Vec<String> = parts.collect();
            if parts.is_empty() {
                "gives the message to the model".to_owned()
            } else {
                format!("gives the message to the model ({})", parts.join(", "))
            }
        }
    }
}

/// Where the result of a job goes, for people; `owner` is the private chat in which an owner wrote last.
pub fn destination(job: &Job, owner: Option<&Address>) -> String {
    let chat = match (job.payload.chat(), owner) {
        (Some(chat), _) => chat.to_string(),
        (None, Some(owner)) => format!("{owner} (the private chat in which an owner wrote last)"),
        (None, None) => {
            let waits = match job.payload.kind {
                PayloadKind::Reminder => "it waits until an owner writes; ",
                _ => "",
            };
            format!(
                "the private chat in which an owner wrote last (none yet: {waits}--to names a chat)"
            )
        }
    };
    match job.payload.deliver {
        Deliver::Chat => chat,
        Deliver::File => "a file of the workspace".to_owned(),
        Deliver::Both => format!("{chat}, and a file of the workspace"),
        Deliver::None => "nowhere".to_owned(),
    }
}
