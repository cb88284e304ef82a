//! Commands that change jobs, and presses of the buttons of reminders: in their order, on one thread. They
//! may have to wait for the lock of the jobs, for which the loop does not wait.

use std::collections::VecDeque;
use std::sync::Arc;

use super::texts;
use crate::base::cancel::Cancel;
use crate::base::sync::Mutex;
use crate::gateway::Gateway;
use crate::gateway::commands::ParsedMessage;

/// Commands about jobs and presses of reminders' buttons that wait for the one thread that answers them.
const JOB_COMMANDS_WAITING_MAX: usize = 100;

/// What waits, and whether a thread is at it.
#[derive(Default)]
pub struct JobCommands(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    messages: VecDeque<ParsedMessage>,
    is_served: bool,
}

impl JobCommands {
    /// Whether a command waits or is being answered.
    pub fn is_busy(&self) -> bool {
        self.0.lock().is_served
    }

    /// The next one; `None` ends the thread.
    fn next(&self) -> Option<ParsedMessage> {
        let mut waiting = self.0.lock();
        let next = waiting.messages.pop_front();
        waiting.is_served = next.is_some();
        next
    }
}

impl Gateway {
    /// Answers a command about jobs after those that came before it.
    pub(in crate::gateway) fn answer_job_command(self: &Arc<Self>, message: ParsedMessage) {
        let mut waiting = self.job_commands.0.lock();
        if waiting.messages.len() >= JOB_COMMANDS_WAITING_MAX {
            drop(waiting);
            let text = texts::too_many_waiting(message.language());
            return self.finish_command(&message, text.to_owned());
        }
        waiting.messages.push_back(message);
        if std::mem::replace(&mut waiting.is_served, true) {
            return;
        }
        let gateway = Arc::clone(self);
        self.spawn_when_possible("job commands", move || {
            while let Some(message) = gateway.job_commands.next() {
                gateway.answer_command(&message, &Cancel::new());
            }
        });
    }
}
