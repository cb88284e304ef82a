//! What is said of commands that are not run, or not always.

use super::{Approvals, CLOSED_QUESTIONS};
use crate::base::approval::AlwaysOption;
use crate::base::language::Language;
use crate::channels::kit::texts::approve as texts;
use crate::tools::commands::texts::describe_risk;

impl Approvals {
    /// Whether the question about a command that was refused says so already; asked once.
    pub fn says_refusal(&self, message: &str) -> bool {
        let refused = &mut self.questions.lock().refused;
        let found = refused.iter().position(|id| id == message);
        found.is_some_and(|at| refused.remove(at).is_some())
    }

    pub(super) fn refused(&self, message: &str) {
        let refused = &mut self.questions.lock().refused;
        if refused.len() >= CLOSED_QUESTIONS {
            refused.pop_front();
        }
        refused.push_back(message.to_owned());
    }
}

/// Why a command cannot be allowed always, and how to allow it once.
pub(super) fn once_only(language: Language, number: u64, always: AlwaysOption) -> String {
    let why = match always {
        AlwaysOption::TooRisky(risk) => texts::too_risky(language, &describe_risk(language, risk)),
        AlwaysOption::Subagent => texts::of_subagent(language).to_owned(),
        AlwaysOption::Other => texts::for_other(language).to_owned(),
        AlwaysOption::Terminal => texts::terminal(language).to_owned(),
        AlwaysOption::Changeable | AlwaysOption::Offered => texts::changeable(language).to_owned(),
    };
    format!("{why} {}", texts::allow_once(language, &number))
}
