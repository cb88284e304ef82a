//! A plan as a state machine: which agent works next, and what the end of one means. Pure.

use serde::{Deserialize, Serialize};

use super::agent::{Agent, Part};
use super::board::{Note, Tell};
use super::step::{Draft, Report, Step, StepState, check_texts, printable};
use crate::base::access::Role;
use crate::base::chat::Usage;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Address, Author, SessionKey};

/// Steps of a plan: what a person reads in one message, and a budget is enough for.
pub const STEPS: usize = 12;
/// Workers and critics of one plan at a time. Each needs the memory of a turn.
const AT_ONCE: usize = 2;
/// How often the planner may fail; one more failure ends the plan.
const FAILURES: u32 = 2;

/// The person for whom a plan is carried out, and where they read about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// The conversation.
    pub session: SessionKey,
    /// Where messages about it go.
    pub reply: Address,
    /// The id of the agent.
    pub agent: String,
    /// The person, where a message says so.
    #[serde(default)]
    pub author: Option<Author>,
    /// What they could do when they asked for it.
    pub role: Role,
    /// Whether there is a person who can be asked.
    pub attended: bool,
    /// The language of the program's own texts.
    pub language: Language,
}

/// A budget, or what was used of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Tokens, read and written together; as a budget 0 stands for no limit.
    pub tokens: u64,
    /// Billionths of a US dollar, likewise.
    pub cost: u64,
}

/// How far a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its steps are being written.
    #[default]
    Planning,
    /// Its steps wait for a person's word.
    Proposed,
    /// Its steps are being done.
    Running,
    /// All of it is done.
    Done,
    /// It goes on no further; [`Why`] says why.
    Failed,
    /// A person has stopped it.
    Stopped,
}

/// Why a plan has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// It has not.
    #[default]
    Not,
    /// No steps were written.
    NoSteps,
    /// A step failed that others need, or nothing but failed steps is left.
    Steps,
    /// The budget is used up.
    Budget,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its id: eight hexadecimal digits.
    pub id: String,
    /// Its place among all plans: a newer one has a larger number.
    #[serde(default)]
    pub number: u64,
    /// What is to be reached.
    pub goal: String,
    /// For whom.
    pub client: Client,
    /// Whether its steps wait for the person's word.
    pub asks: bool,
    /// What a person allows it to use at a time.
    pub grant: Limit,
    /// Its budget so far.
    pub limit: Limit,
    /// What was used of it.
    #[serde(default)]
    pub spent: Limit,
    /// How far it is.
    #[serde(default)]
    pub state: State,
    /// Why it has failed.
    #[serde(default)]
    pub why: Why,
    /// Runs of its planner so far.
    #[serde(default)]
    pub planned: u32,
    /// How often its planner has failed.
    #[serde(default)]
    pub plan_failures: u32,
    /// Whether the last of them has not ended.
    #[serde(default)]
    pub is_planning: bool,
    /// Its steps.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The notes that its agents share.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// The messages between them, oldest first.
    #[serde(default)]
    pub tells: Vec<Tell>,
    /// Whether a message was refused because there were too many.
    #[serde(default)]
    pub is_cut_short: bool,
    /// How often it has ended; it may go on afterwards.
    #[serde(default)]
    pub ends: u32,
    /// Whether its person was told how it has ended.
    #[serde(default)]
    pub is_told: bool,
}

impl Plan {
    /// A plan without steps, whose planner is the first to work.
    pub fn new(id: String, goal: &str, client: Client, asks: bool, grant: Limit) -> Self {
        Self {
            id,
            number: 0,
            goal: printable(goal).into_owned(),
            client,
            asks,
            grant,
            limit: grant,
            spent: Limit::default(),
            state: State::Planning,
            why: Why::Not,
            planned: 0,
            plan_failures: 0,
            is_planning: false,
            steps: Vec::new(),
            notes: Vec::new(),
            tells: Vec::new(),
            is_cut_short: false,
            ends: 0,
            is_told: false,
        }
    }

    /// Whether it has ended and nothing is left to be told of it.
    pub fn is_over(&self) -> bool {
        self.has_ended() && self.is_told
    }

    /// Whether it goes on no further by itself.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Done | State::Failed | State::Stopped)
    }

    /// Whether an agent works at it, or will without a person's word.
    pub fn is_active(&self) -> bool {
        matches!(self.state, State::Planning | State::Running)
    }

    /// The step of a number, from 1.
    pub fn step(&self, number: usize) -> Result<&Step> {
        let index = number.checked_sub(1);
        let step = index.and_then(|index| self.steps.get(index));
        step.ok_or_else(|| no_step(number, self.steps.len()))
    }

    fn step_mut(&mut self, number: usize) -> Result<&mut Step> {
        let count = self.steps.len();
        let index = number.checked_sub(1);
        let step = index.and_then(|index| self.steps.get_mut(index));
        step.ok_or_else(|| no_step(number, count))
    }

    /// Whether all of the budget is used up.
    pub fn is_spent(&self) -> bool {
        let is_over = |spent: u64, limit: u64| limit > 0 && spent >= limit;
        is_over(self.spent.tokens, self.limit.tokens) || is_over(self.spent.cost, self.limit.cost)
    }

    /// Counts what a request took. Returns whether another one may be made.
    pub fn spend(&mut self, usage: Usage) -> bool {
        let tokens = usage.input.saturating_add(usage.output);
        let cost = usage.cost.saturating_add(usage.assumed);
        self.spent.tokens = self.spent.tokens.saturating_add(tokens);
        self.spent.cost = self.spent.cost.saturating_add(cost);
        !self.is_spent()
    }

    /// Takes the steps that the planner has written, in the place of earlier ones.
    pub fn set_steps(&mut self, mut drafts: Vec<Draft>) -> Result<()> {
        if self.state != State::Planning {
            return failed("the plan has its steps already".to_owned());
        }
        if drafts.is_empty() || drafts.len() > STEPS {
            let count = drafts.len();
            return failed(format!("a plan has 1 to {STEPS} steps, not {count}"));
        }
        for (number, draft) in (1..).zip(&mut drafts) {
            draft.task = printable(&draft.task).into_owned();
            draft.proof = printable(&draft.proof).into_owned();
            draft.after.sort_unstable();
            draft.after.dedup();
            check_texts(number, &draft.task, &draft.proof)?;
            if let Some(wrong) = draft.after.iter().find(|it| **it == 0 || **it >= number) {
                return failed(format!(
                    "step {number} cannot come after step {wrong}: `after` has numbers of earlier steps"
                ));
            }
        }
        let step = |draft: Draft| Step {
            task: draft.task,
            proof: draft.proof,
            after: draft.after,
            ..Step::default()
        };
        self.steps = drafts.into_iter().map(step).collect();
        Ok(())
    }

    /// The agents that have begun and whose end is not known.
    pub fn running(&self) -> Vec<Agent> {
        let planner = self.is_planning.then_some((Part::Planner, self.planned));
        let steps = (1..).zip(&self.steps).filter_map(|(number, step)| {
            Some(match step.state {
                StepState::Working => (Part::Worker(number), step.works),
                StepState::Checking => (Part::Critic(number), step.checks),
                _ => return None,
            })
        });
        let agents = planner.into_iter().chain(steps);
        agents.map(|(part, run)| self.agent(part, run)).collect()
    }

    fn agent(&self, part: Part, run: u32) -> Agent {
        Agent {
            plan: self.id.clone(),
            part,
            run,
        }
    }

    /// The agent that begins next, if one may begin now: its step is noted as begun. What was done is checked before
    /// more is done.
    pub fn begin_next(&mut self) -> Option<Agent> {
        if self.is_spent() || self.running().len() >= AT_ONCE {
            return None;
        }
        match self.state {
            State::Planning if !self.is_planning => {
                self.planned += 1;
                self.is_planning = true;
                Some(self.agent(Part::Planner, self.planned))
            }
            State::Running => self.begin_step(),
            _ => None,
        }
    }

    fn begin_step(&mut self) -> Option<Agent> {
        let at = |state| self.steps.iter().position(|step| step.state == state);
        let found = at(StepState::Worked).or_else(|| {
            let mut steps = self.steps.iter();
            steps.position(|step| step.state == StepState::Waiting && self.may_begin(step))
        })?;
        let step = self.steps.get_mut(found)?;
        let number = found + 1;
        let (part, run) = match step.state {
            StepState::Worked => {
                step.state = StepState::Checking;
                step.checks += 1;
                (Part::Critic(number), step.checks)
            }
            _ => {
                step.state = StepState::Working;
                step.works += 1;
                (Part::Worker(number), step.works)
            }
        };
        Some(self.agent(part, run))
    }

    fn may_begin(&self, step: &Step) -> bool {
        let is_done = |number: &usize| self.step(*number).is_ok_and(Step::is_done);
        step.after.iter().all(is_done)
    }

    /// An agent has ended with a report or a failure. Returns false for one that is not at work, such as one whose end
    /// is known already: then nothing changes.
    pub fn ended(&mut self, agent: &Agent, report: Report<'_>) -> bool {
        if !self.running().contains(agent) {
            return false;
        }
        // What the end of the budget has cut short has not failed.
        let is_cut = report.is_err() && self.is_spent();
        match agent.part {
            Part::Planner => self.planner_ended(is_cut),
            Part::Worker(number) | Part::Critic(number) => {
                let is_critic = matches!(agent.part, Part::Critic(_));
                if let Ok(step) = self.step_mut(number) {
                    match (is_critic, is_cut) {
                        (true, true) => step.state = StepState::Worked,
                        (false, true) => step.state = StepState::Waiting,
                        (true, false) => step.checked(report),
                        (false, false) => step.worked(report),
                    }
                }
            }
        }
        self.settle();
        true
    }

    fn planner_ended(&mut self, is_cut: bool) {
        self.is_planning = false;
        if self.steps.is_empty() {
            self.plan_failures += u32::from(!is_cut);
            if self.plan_failures > FAILURES {
                self.end(State::Failed, Why::NoSteps);
            }
        } else if self.asks {
            self.state = State::Proposed;
        } else {
            self.state = State::Running;
        }
    }

    /// Ends it when nothing is left that could be done.
    fn settle(&mut self) {
        if !self.is_active() || !self.running().is_empty() {
            return;
        }
        if self.state == State::Running && self.steps.iter().all(Step::is_done) {
            self.end(State::Done, Why::Not);
        } else if self.is_spent() {
            self.end(State::Failed, Why::Budget);
        } else if self.clone().begin_next().is_none() {
            self.end(State::Failed, Why::Steps);
        }
    }

    fn end(&mut self, state: State, why: Why) {
        (self.state, self.why) = (state, why);
        self.ends += 1;
        self.is_told = false;
    }

    /// A person lets it begin, or go on after it has failed or was stopped: with what was left of its steps, and with
    /// another budget like the first where that was used up.
    pub fn approve(&mut self) -> Result<()> {
        match self.state {
            State::Planning | State::Running => return failed("it is running".to_owned()),
            State::Done => return failed("it is done".to_owned()),
            State::Proposed | State::Failed | State::Stopped => {}
        }
        let more = |limit: &mut u64, spent: u64, grant: u64| {
            if grant > 0 && spent >= *limit {
                *limit = spent.saturating_add(grant);
            }
        };
        more(&mut self.limit.tokens, self.spent.tokens, self.grant.tokens);
        more(&mut self.limit.cost, self.spent.cost, self.grant.cost);
        for step in &mut self.steps {
            if step.state == StepState::Failed {
                step.state = StepState::Waiting;
                (step.failures, step.refusals) = (0, 0);
            }
        }
        self.plan_failures = 0;
        self.why = Why::Not;
        self.state = match self.steps.is_empty() {
            true => State::Planning,
            false => State::Running,
        };
        self.settle();
        Ok(())
    }

    /// A person stops it. What was at work is undone in the plan and can be done later. False when it has ended.
    pub fn stop(&mut self) -> bool {
        if self.has_ended() {
            return false;
        }
        self.is_planning = false;
        for step in &mut self.steps {
            step.state = match step.state {
                StepState::Working => StepState::Waiting,
                StepState::Checking => StepState::Worked,
                state => state,
            };
        }
        self.end(State::Stopped, Why::Not);
        true
    }

    /// A person wants to do without a step that no agent is at.
    pub fn skip(&mut self, number: usize) -> Result<()> {
        let step = self.idle_step(number)?;
        step.state = StepState::Skipped;
        self.settle();
        Ok(())
    }

    /// A person changes what a step is to do, which no agent is at.
    pub fn change_step(&mut self, number: usize, task: &str) -> Result<()> {
        let step = self.idle_step(number)?;
        let task = printable(task);
        check_texts(number, &task, &step.proof)?;
        step.task = task.trim().to_owned();
        step.state = StepState::Waiting;
        (step.failures, step.refusals) = (0, 0);
        (step.result, step.objection) = (String::new(), String::new());
        Ok(())
    }

    fn idle_step(&mut self, number: usize) -> Result<&mut Step> {
        let step = self.step_mut(number)?;
        match step.state {
            StepState::Working | StepState::Checking => {
                failed(format!("an agent is at step {number} now"))
            }
            StepState::Done => failed(format!("step {number} is done")),
            _ => Ok(step),
        }
    }
}

fn no_step(number: usize, count: usize) -> Error {
    Error::Failed(format!("there is no step {number}; the plan has {count}"))
}

fn failed<T>(why: String) -> Result<T> {
    Err(Error::Failed(why))
}
