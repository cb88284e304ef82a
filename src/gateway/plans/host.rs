//! What the turn of an agent of a plan needs from its host.

use super::words;
use crate::base::access::Role;
use crate::base::chat::Usage;
use crate::base::message::Envelope;
use crate::config::schema;
use crate::gateway::Gateway;
use crate::store::plans::{Agent, Part, Plan};

/// The model that an agent is to ask; `None` for that of other subagents.
pub fn model(agent: &Agent, settings: &schema::Plan) -> Option<String> {
    let model = match agent.part {
        Part::Planner => &settings.planner_model,
        Part::Worker(_) => &settings.worker_model,
        Part::Critic(_) => &settings.critic_model,
    };
    Some(model.clone()).filter(|model| !model.is_empty())
}

impl Gateway {
    /// The messages of other agents that a worker has not read. Its turn journals each once, by its id.
    pub(in crate::gateway) fn told_to(&self, agent: &Agent, role: Role) -> Vec<Envelope> {
        let Part::Worker(step) = agent.part else {
            return Vec::new();
        };
        let Ok(plan) = self.plans.store.get(&agent.plan) else {
            return Vec::new();
        };
        let by = agent.to_string();
        let unread = plan.unread(step, &by).map(|(number, tell)| Envelope {
            role,
            ..words::told(agent, number, &tell.by, &tell.text)
        });
        unread.collect()
    }

    /// A message is in the journal of a worker.
    pub(in crate::gateway) fn note_told(&self, agent: &Agent, id: &str) {
        let Some(number) = words::number_of(agent, id) else {
            return;
        };
        super::reached(&format!("read {agent}"));
        let change = |plan: &mut Plan| {
            plan.note_read(number, &agent.to_string());
            Ok(())
        };
        // It is in the journal: the next start notes it.
        if let Err(error) = self.plans.store.change(&agent.plan, change) {
            tracing::warn!("failed to note that a message was read: {error}");
        }
    }

    /// Counts what an agent has used. Returns whether its plan may use more.
    pub(in crate::gateway) fn spend_for(&self, agent: &Agent, usage: Usage) -> bool {
        // Else it might be shown as running after its end was.
        let _active = self.plans.active.lock();
        let counted = self
            .plans
            .store
            .change(&agent.plan, |plan| Ok(plan.spend(usage)));
        match counted {
            Ok((plan, may_go_on)) => {
                self.show_plan(&plan);
                may_go_on
            }
            // The journal of the turn waits for the disk, too.
            Err(error) => {
                tracing::error!("failed to count what a plan has used: {error}");
                true
            }
        }
    }
}
