//! Which model a turn asks next.

use super::Run;
use crate::agent::budget::Budget;
use crate::agent::host::TurnEvent;
use crate::tools::has_tool;

impl Run<'_> {
    /// Goes on with another model than the one that had nothing to say; false when there is none.
    pub(super) fn leave_silent(&mut self) -> bool {
        let silent = self.models.model_name();
        let has_another = self.models.leave();
        if has_another {
            self.follow_model();
            let notice = format!("{silent} gave no answer; using {} instead", self.model_name);
            self.host.on_event(TurnEvent::Notice(&notice));
        }
        has_another
    }

    /// Tokens that the turn has used.
    pub(super) fn tokens_used(&self) -> u64 {
        let usage = &self.report.usage;
        usage.input.saturating_add(usage.output)
    }

    /// Plans for the model that is asked next, when that is another than before.
    pub(super) fn follow_model(&mut self) {
        let name = self.models.model_name();
        if name != self.model_name {
            let was_small = self.agent.is_small(&self.model_name);
            self.model_name = name;
            self.agent.learn_window(&mut self.models);
            if self.agent.is_small(&self.model_name) != was_small {
                let is_subagent = !self.without.is_empty();
                self.system = self
                    .agent
                    .system_prompt(&self.model_name, self.role, is_subagent);
                self.choose_tools();
            }
            self.budget = self.plan();
        }
    }

    /// The model is told about the tools that there are by now, as many as its window takes.
    pub(super) fn choose_tools(&mut self) {
        self.specs = self.agent.toolbox.specs_for(self.session.chat().as_str());
        self.specs
            .retain(|spec| has_tool(self.role, &spec.name) && !self.without.contains(&&*spec.name));
        self.agent.fit_tools(&self.model_name, &mut self.specs);
    }

    /// The budget of the model that is asked next.
    pub(super) fn plan(&self) -> Budget {
        let facts = &self.facts.content;
        self.agent
            .budget(&self.model_name, &self.system, facts, &self.specs)
    }
}
