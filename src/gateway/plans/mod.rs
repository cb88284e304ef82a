//! Plans: a planner writes the steps to a goal, workers do them and critics check them, each as a subagent.
//!
//! The file of a plan says who is at work, and the inbox holds the message of each agent until the file says how it
//! has ended. So a kill at any instant loses no step and does none twice.

mod command;
mod host;
mod show;
mod texts;
mod words;

use std::sync::Arc;
use std::time::Duration;

use super::Gateway;
use super::host::Work;
use super::recover::Accepted;
use super::tasks::{REPORT_RETRY, Task};
use crate::agent::{Outcome, Report};
use crate::base::bus::Event;
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::message::{Envelope, Origin, OutgoingMessage};
use crate::base::sync::Mutex;
use crate::store::plans::{Agent, Plan, Plans, State};
use crate::text::markup::plain;

pub(super) use command::grant_of;
pub(super) use host::model;

/// Between the attempts to note that a plan is stopped. A short time: nothing wakes the thread before its end.
const STOP_RETRY: Duration = Duration::from_secs(2);

/// The plans, and which of them have not ended.
pub struct Planning {
    store: Plans,
    /// Their ids, the one that a new agent has begun for last at the end. Held while agents are begun and ended, so that none is begun twice.
    active: Mutex<Vec<String>>,
}

impl Planning {
    /// With the plans below the folder `state`.
    pub fn new(state: &std::path::Path) -> Self {
        Self {
            store: Plans::new(state),
            active: Mutex::default(),
        }
    }
}

impl Gateway {
    /// After a start: goes on with the plans that have not ended. Returns the messages of agents that begin now.
    pub(super) fn resume_plans(&self, accepted: &Accepted) -> Vec<Envelope> {
        let plans = self.plans.store.list();
        let open = plans.into_iter().filter(|plan| !plan.is_over());
        let ids: Vec<String> = open.map(|plan| plan.id).collect();
        if ids.is_empty() {
            return Vec::new();
        }
        // What the last run has begun has its place already.
        self.note_tasks(accepted.waiting());
        *self.plans.active.lock() = ids;
        self.move_plans()
    }

    /// Goes on with all plans: their agents that may begin do, and what has ended is told.
    pub(super) fn advance_plans(&self) {
        for message in self.move_plans() {
            self.events.send(Event::Arrived(message));
        }
    }

    /// The same; returns the messages of agents that have begun. They are in the inbox.
    fn move_plans(&self) -> Vec<Envelope> {
        let mut begun = Vec::new();
        if self.is_stopping() {
            return begun;
        }
        let mut active = self.plans.active.lock();
        active.retain(|id| match self.move_plan(id, &mut begun) {
            Ok(plan) => !plan.has_ended(),
            Err(error) => {
                tracing::error!(plan = id, "failed to go on with a plan: {error}");
                true
            }
        });
        // One new agent for each plan in turn, so that a long plan leaves places for others.
        let mut passed = 0;
        while passed < active.len() {
            active.rotate_left(1);
            let Some(id) = active.last() else { break };
            let has_begun = self.begin_next(id, &mut begun).unwrap_or_else(|error| {
                tracing::error!(plan = id, "failed to begin an agent: {error}");
                false
            });
            passed = if has_begun { 0 } else { passed + 1 };
        }
        begun
    }

    fn move_plan(&self, id: &str, begun: &mut Vec<Envelope>) -> Result<Plan> {
        let mut plan = self.plans.store.get(id)?;
        let client = &plan.client;
        let role = self.role_in(&client.reply, client.author.as_ref(), client.role);
        if !plan.has_ended() && role.is_none() {
            tracing::warn!(plan = id, "stopped: its person has no access any more");
            plan = self.plans.store.change(id, |plan| Ok(plan.stop()))?.0;
        }
        plan = self.begin_again(plan, begun)?;
        self.show_plan(&plan);
        if plan.has_ended() && !plan.is_told {
            plan = self.end_plan(&plan)?;
        }
        Ok(plan)
    }

    /// Begins each agent again, under its name, that the file has as begun and the inbox does not.
    fn begin_again(&self, mut plan: Plan, begun: &mut Vec<Envelope>) -> Result<Plan> {
        for agent in plan.running() {
            let message = words::message(&plan, &agent);
            if self.parts.inbox.holds(&message.id) {
                continue;
            }
            let accepted = self.parts.inbox.accept(vec![message])?;
            if accepted.is_empty() {
                // It was accepted, and dropped before it had begun.
                let why = Err("it was not begun");
                let change = |plan: &mut Plan| Ok(plan.ended(&agent, why));
                plan = self.plans.store.change(&plan.id, change)?.0;
            }
            self.note_tasks(&accepted);
            begun.extend(accepted);
            reached(&format!("accepted {agent}"));
        }
        Ok(plan)
    }

    /// Begins the next agent of a plan, if there is one and a place for it. Returns whether it has begun.
    fn begin_next(&self, id: &str, begun: &mut Vec<Envelope>) -> Result<bool> {
        let mut plan = self.plans.store.get(id)?;
        let Some(agent) = plan.clone().begin_next() else {
            return Ok(false);
        };
        let key = agent.session();
        let label = words::label(&plan, &agent);
        let task = Task::of(&key, &plan.client.session, &label);
        if self.tasks.add(task, plan.client.role).is_err() {
            return Ok(false);
        }
        let begin = |plan: &mut Plan| Ok(plan.begin_next());
        let accepted = self.plans.store.change(id, begin).and_then(|now| {
            plan = now.0;
            reached(&format!("begun {agent}"));
            let message = words::message(&plan, &agent);
            self.parts.inbox.accept(vec![message])
        });
        // What is in the file alone begins with the next change of any plan.
        begun.extend(accepted.inspect_err(|_| self.tasks.remove(&key))?);
        reached(&format!("accepted {agent}"));
        self.show_plan(&plan);
        Ok(true)
    }

    /// Gives accepted tasks their places.
    fn note_tasks(&self, messages: &[Envelope]) {
        for message in messages {
            if let Origin::Subagent { parent, label, .. } = &message.origin {
                self.tasks.of(message, parent, label);
            }
        }
    }

    /// Does the work of an agent of a plan on its thread, and notes how it has ended.
    pub(super) fn run_plan_agent(
        self: &Arc<Self>,
        work: &Work,
        message: &Envelope,
        agent: &Agent,
        run: impl FnOnce() -> Option<Result<String>>,
    ) {
        let plan = self.plans.store.get(&agent.plan);
        let is_running = plan.is_ok_and(|plan| plan.running().contains(agent));
        if !is_running {
            // Its end is known, or the plan was stopped meanwhile.
            self.parts.inbox.taken(&message.id);
            return;
        }
        match run() {
            Some(report) => {
                reached(&format!("ended {agent}"));
                self.end_agent(work, message, agent, report);
            }
            None if work.cancel.is_cancelled() => self.stop_plan_of_agent(message, agent),
            // It goes on after the next start.
            None => {}
        }
    }

    /// Notes how an agent has ended, again and again while the disk does not allow it, and forgets its message.
    fn end_agent(&self, work: &Work, message: &Envelope, agent: &Agent, report: Result<String>) {
        let report = report.map_err(|error| error.to_string());
        let report = report.as_deref().map_err(String::as_str);
        loop {
            let noted = {
                let _active = self.plans.active.lock();
                self.plans.store.note_end(agent, report)
            };
            match noted {
                Ok(_) => break,
                Err(error) => {
                    tracing::error!("failed to note the end of {agent}, trying again: {error}")
                }
            }
            // The message stays in the inbox, and the next start notes it.
            if self.is_stopping() || work.cancel.is_cancelled() {
                return;
            }
            work.cancel.wait(REPORT_RETRY);
        }
        reached(&format!("noted {agent}"));
        self.parts.inbox.taken(&message.id);
    }

    /// A person has stopped an agent: its plan goes on no further. Tries it again while the disk does not allow it, and
    /// forgets the agent's message then.
    fn stop_plan_of_agent(&self, message: &Envelope, agent: &Agent) {
        loop {
            let stopped = {
                let _active = self.plans.active.lock();
                self.plans.store.change(&agent.plan, |plan| {
                    let is_at_work = plan.running().contains(agent);
                    Ok(is_at_work && plan.stop())
                })
            };
            match stopped {
                Ok(_) => return self.parts.inbox.taken(&message.id),
                Err(error) => tracing::error!("failed to stop a plan, trying again: {error}"),
            }
            // The message stays in the inbox, and the plan goes on after the next start.
            if self.is_stopping() {
                return;
            }
            Cancel::new().wait(STOP_RETRY);
        }
    }

    /// Stops the plan that is at work for a conversation, if there is one and this role may stop it. Returns what to say
    /// of a plan that could not be stopped, or nothing.
    pub(super) fn stop_plans_of(&self, stop: &Envelope) -> String {
        let mut note = String::new();
        let active = self.plans.active.lock();
        for id in &*active {
            let is_ours = |plan: &Plan| {
                let client = &plan.client;
                client.session == stop.session
                    && stop.role.may_change(client.role)
                    && plan.is_active()
            };
            if !self.plans.store.get(id).is_ok_and(|plan| is_ours(&plan)) {
                continue;
            }
            let change = |plan: &mut Plan| Ok(is_ours(plan) && plan.stop());
            match self.plans.store.change(id, change) {
                Ok((_, true)) => self.tasks.cancel_plan(id),
                Ok(_) => {}
                Err(error) => {
                    tracing::error!("failed to stop a plan: {error}");
                    note = texts::not_stopped(stop.language(), &plain(&error.to_string()));
                }
            }
        }
        drop(active);
        self.advance_plans();
        note
    }

    /// Tells the person how a plan has ended, and the conversation what came of it; then the plan is over.
    fn end_plan(&self, plan: &Plan) -> Result<Plan> {
        let (client, key) = (&plan.client, show::key(plan));
        let (text, buttons) = show::describe(plan, client.language);
        self.tell_with(OutgoingMessage {
            replaces: Some(key.clone()),
            once: format!("plan:{}:{}", plan.id, plan.ends),
            command_buttons: buttons,
            ..OutgoingMessage::text(&client.reply, text)
        });
        if let Some(delivery) = self.delivery(&client.reply) {
            delivery.resting(&key);
        }
        reached(&format!("told {}", plan.ends));
        if plan.state != State::Stopped {
            for report in self.parts.inbox.accept(vec![words::report(plan)])? {
                let events = self.events.clone();
                self.timers.spawn(async move {
                    events.send_async(Event::Arrived(report)).await;
                });
            }
        }
        reached(&format!("reported {}", plan.ends));
        let told = self.plans.store.change(&plan.id, |plan| {
            plan.is_told = true;
            Ok(())
        })?;
        self.plans.store.prune();
        Ok(told.0)
    }
}

/// The report of an agent of a plan: only a whole answer is one.
pub(super) fn report_of(report: Report) -> Result<String> {
    use crate::agent::subagent;
    use crate::base::error::Error;
    match report.outcome {
        Outcome::Bounded(_) => Err(Error::Failed(report.full_text().into_owned())),
        _ => subagent::report_of(report),
    }
}

/// Ends the process as a power cut would, once at each step, where a test names a file that keeps those that it was at.
#[cfg(feature = "test-hooks")]
fn reached(step: &str) {
    use std::io::Write;
    let Some(path) = std::env::var_os("PEACRAB_TEST_PLAN_CUTS") else {
        return;
    };
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    if !before.lines().any(|line| line == step) {
        let mut options = std::fs::OpenOptions::new();
        let file = options.append(true).create(true).open(&path);
        let _ = file.and_then(|mut file| file.write_all(format!("{step}\n").as_bytes()));
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    }
}

#[cfg(not(feature = "test-hooks"))]
fn reached(_step: &str) {}
