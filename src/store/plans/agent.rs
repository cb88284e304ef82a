//! The agents of a plan, by the keys of their conversations.

use std::fmt;

use crate::base::message::SessionKey;

/// The channel in the keys of the conversations of subagents. Nothing is delivered to it.
pub const CHANNEL: &str = "subagent";
/// Characters of a plan's id, which are hexadecimal digits.
const ID_CHARS: usize = 8;

/// What an agent does for its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It writes the steps.
    Planner,
    /// It does the step of this number, from 1.
    Worker(usize),
    /// It checks that step.
    Critic(usize),
}

/// One run of an agent of a plan. As a session key it is `subagent:1f93a0c2-3w1`: the first run of the worker
/// (`w`) of step 3; a critic has a `c`, and the planner is `subagent:1f93a0c2-p1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The plan's id.
    pub plan: String,
    /// What it does.
    pub part: Part,
    /// Which run of it this is, from 1.
    pub run: u32,
}

impl Agent {
    /// Reads a session key; `None` for the conversations of others.
    pub fn parse(session: &str) -> Option<Self> {
        let rest = session.strip_prefix(CHANNEL)?.strip_prefix(':')?;
        let (plan, rest) = rest.split_once('-').filter(|(plan, _)| is_id(plan))?;
        let at = rest.find(|char: char| !char.is_ascii_digit())?;
        let (step, rest) = rest.split_at(at);
        let (kind, run) = rest.split_at_checked(1)?;
        let step = || step.parse().ok();
        let part = match kind {
            "p" => Part::Planner,
            "w" => Part::Worker(step()?),
            "c" => Part::Critic(step()?),
            _ => return None,
        };
        Some(Self {
            plan: plan.to_owned(),
            part,
            run: run.parse().ok()?,
        })
    }

    /// The key of its conversation.
    pub fn session(&self) -> SessionKey {
        SessionKey::parse(&format!("{CHANNEL}:{}-{self}", self.plan))
    }
}

/// Its name among the agents of its plan, such as `3w1`.
impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Planner => write!(f, "p{}", self.run),
            Part::Worker(step) => write!(f, "{step}w{}", self.run),
            Part::Critic(step) => write!(f, "{step}c{}", self.run),
        }
    }
}

/// Whether a text may be the id of a plan; only such a text is part of a path.
pub fn is_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == ID_CHARS && text.bytes().all(is_digit)
}
