//! The tasks that a turn gives away.

use super::Run;
use crate::agent::subagent::Inline;
use crate::base::chat::{SpawnRequest, ToolResult};
use crate::base::error::{Error, Result};

/// Tasks that one turn may give away, one after the other.
const PER_TURN: u32 = 8;
/// The agent that stands for a plan, unless one has this id.
const PLAN: &str = "plan";

impl Run<'_> {
    /// Gives a task to a subagent: beside this conversation where the host can, else within the call.
    pub(super) fn spawn(&mut self, request: &SpawnRequest) -> Result<ToolResult> {
        self.tasks_given += 1;
        if self.tasks_given > PER_TURN {
            return Err(Error::Failed(format!(
                "{} tasks were given away in this turn, which is the most: do the rest yourself",
                PER_TURN
            )));
        }
        if request.agent.as_deref() == Some(PLAN) && !self.host.has_agent(PLAN) {
            return self.host.begin_plan(&request.task).map(ToolResult::new);
        }
        if !request.waits
            && let Some(begun) = self.host.spawn(request)?
        {
            return Ok(ToolResult::new(begun));
        }
        let colleague = request.agent.as_deref().map(|id| self.host.colleague(id));
        let colleague = colleague.transpose()?;
        let agent = colleague.as_deref().unwrap_or(self.agent);
        let task = Inline {
            request,
            role: self.role,
            beside: &*self.session,
        };
        let (report, usage) = agent.run_inline(task, &mut *self.host, self.cancel)?;
        self.report.usage.add(usage);
        Ok(ToolResult {
            text: self.agent.toolbox.cleaned(&report.text).into_owned(),
            ..report
        })
    }
}
