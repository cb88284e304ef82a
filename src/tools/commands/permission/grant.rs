//! What allows a command without a question: an approval of exactly this, a pattern, or everything for some
//! minutes.

use super::allowance::Allowances;
use crate::approval::{AlwaysOption, Question};
use crate::tools::Caller;
use crate::tools::commands::{Commands, Request};

/// What allows a command without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tools::commands) enum Grant {
    /// A standing approval of exactly this.
    Exact,
    /// A pattern that it matches.
    Pattern,
    /// Everything is allowed for some minutes.
    Allowance,
}

impl Grant {
    /// For the audit log.
    pub fn decision(self) -> &'static str {
        match self {
            Self::Exact => "allowed by a standing approval",
            Self::Pattern => "allowed by a pattern",
            Self::Allowance => "allowed with everything for 10 minutes",
        }
    }
}

impl Commands {
    /// What allows a command without asking, if something does.
    pub(in crate::tools::commands) fn grant(
        &self,
        request: &Request,
        question: &Question,
        caller: &Caller<'_>,
    ) -> Option<Grant> {
        let is_offered = question.always == AlwaysOption::Offered;
        if is_offered && self.approvals.allow(question, caller.session) {
            return Some(Grant::Exact);
        }
        let uses = &request.uses;
        // What the model can write must not decide what a pattern comes to.
        let is_bound =
            uses.marks.is_empty() && uses.influences.is_empty() && uses.scripts.is_empty();
        if is_offered && is_bound && self.approvals.matches(&request.command, caller.session) {
            return Some(Grant::Pattern);
        }
        let is_allowed = question.can_allow_all && self.allowances.left(caller.session).is_some();
        is_allowed.then_some(Grant::Allowance)
    }

    /// What an owner has allowed for some minutes.
    pub fn allowances(&self) -> &Allowances {
        &self.allowances
    }
}
