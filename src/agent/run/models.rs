//! Which model a turn asks next.

use super::Run;
use crate::agent::budget::Budget;
use crate::agent::host::TurnEvent;

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
            self.model_name = name;
            self.budget = self.plan();
        }
    }

    /// The budget of the model that is asked next.
    pub(super) fn plan(&self) -> Budget {
        let facts = &self.facts.content;
        self.agent
            .budget(&self.model_name, &self.system, facts, &self.specs)
    }
}
