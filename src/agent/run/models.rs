//! Which model a turn asks next.

use super::Run;
use super::attached::describe_blind;
use crate::agent::budget::Budget;
use crate::agent::host::{TurnEvent, TurnHost};
use crate::agent::{Agent, texts};
use crate::base::access::Role;
use crate::base::chat::Reply;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::tools::has_tool;

/// What a conversation is told of models that lack something, once.
pub(super) struct Told<'a> {
    agent: &'a Agent,
    role: Role,
    language: Language,
    /// See [`Run::has_pictures`].
    pub(super) has_pictures: bool,
    /// The conversation; `None` for a subagent's, which no person reads.
    session: Option<String>,
}

impl<'a> Told<'a> {
    pub(super) fn of(run: &Run<'a>) -> Self {
        let is_subagent = !run.without.is_empty();
        let session = (!is_subagent).then(|| run.session.chat().as_str().to_owned());
        Self {
            agent: run.agent,
            role: run.role,
            language: run.language,
            has_pictures: run.has_pictures,
            session,
        }
    }

    /// Tells that a model cannot use tools, unless the conversation was told; that is noted.
    pub(super) fn without_tools(&self, model: &str, host: &mut dyn TurnHost) {
        let selection = &self.agent.selection;
        let session = self.session.as_deref();
        if session.is_some_and(|session| selection.note_without_tools(session, model)) {
            let text = texts::without_tools(self.language, &model);
            host.on_event(TurnEvent::Lasting(&text));
        }
    }

    /// Tells that a model does not see the pictures that have come, unless that was told of these.
    pub(super) fn blind(&mut self, model: &str, host: &mut dyn TurnHost) {
        if std::mem::take(&mut self.has_pictures) {
            let text = describe_blind(model, self.role, self.language);
            host.on_event(TurnEvent::Lasting(&text));
        }
    }
}

impl Run<'_> {
    /// Goes on with another model than the one that had nothing to say; false when there is none.
    pub(super) fn leave_silent(&mut self) -> bool {
        let silent = self.models.model_name();
        let has_another = self.models.leave();
        if has_another {
            self.follow_model();
            let notice = texts::silent(self.language, &silent, &self.model_name);
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

    /// No model answered, and the offline helper answers instead. It can do a plain request from beginning to
    /// end; it cannot continue the work of a model, and where it has nothing to offer the failure
    /// itself is the better answer.
    pub(super) fn stand_in(&mut self, failure: Error, reply: &Reply) -> Result<()> {
        let is_going_on = self.report.failure.is_some();
        let a_model_spoke = self.report.spoke.is_some() && !is_going_on;
        if a_model_spoke || (!is_going_on && reply.tool_calls.is_empty()) {
            return Err(failure);
        }
        if !is_going_on {
            let text = self.describe(&failure);
            self.host.on_event(TurnEvent::Notice(&text));
            self.host
                .on_event(TurnEvent::Notice(texts::offline_stands_in(self.language)));
            self.report.failure = Some(failure);
        }
        Ok(())
    }
}
