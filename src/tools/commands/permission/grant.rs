//! What allows a command without a question: an approval of exactly this, a pattern, or everything for some
//! minutes.

use super::allowance::Allowances;
use super::folders::Folders;
use super::risk::{Objection, find_any_risk};
use crate::base::access::Role;
use crate::base::approval::{AlwaysOption, Question};
use crate::sandbox::confine::SessionInfo;
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

/// Whether a session is of a job, the heartbeat or a watch: what is allowed there always is allowed to that one. It has
/// the role of a user, and only someone with at least the role of its maker changes it, after which nothing is allowed
/// to a job any more.
fn is_of_program(session: &str) -> bool {
    let channel = session.split(':').next().unwrap_or_default();
    ["cron", "heartbeat", "watch"].contains(&channel)
}

impl Commands {
    /// What allows a command without asking, if something does. What an owner allows in a chat is for no one else there.
    pub(in crate::tools::commands) fn grant(
        &self,
        request: &Request,
        question: &Question,
        caller: &Caller<'_>,
    ) -> Option<Grant> {
        if caller.role < Role::Owner && !is_of_program(caller.session) {
            return None;
        }
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

    /// Why input for a command outside the sandbox has to be seen by a person, judged together with the line that
    /// was begun. On a terminal a line that is edited, completed or recalled with keys can become anything.
    pub(in crate::tools::commands) fn input_risk(
        &self,
        session: &SessionInfo,
        input: &str,
    ) -> Option<AlwaysOption> {
        let lines = [&session.unfinished, input].concat().replace('\r', "\n");
        let is_on_terminal = session.application_cursor.is_some();
        let (finished, _) = lines.rsplit_once('\n').unwrap_or_default();
        let is_edited = |char: char| char.is_control() && char != '\n';
        let folders = Folders::since(&session.folder);
        let any_risk = || find_any_risk(&lines, folders).map(Objection::Risk);
        match self.patterns.objection_to_input(&lines).or_else(any_risk) {
            Some(Objection::Risk(risk)) => Some(AlwaysOption::TooRisky(risk)),
            _ if is_on_terminal && finished.contains(is_edited) => Some(AlwaysOption::Terminal),
            _ => None,
        }
    }

    /// What an owner has allowed for some minutes.
    pub fn allowances(&self) -> &Allowances {
        &self.allowances
    }
}
