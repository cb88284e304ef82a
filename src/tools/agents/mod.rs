//! Agents that work together: a task given to a subagent, and the tools of those who work on a plan.

pub mod plan;
pub mod spawn;
