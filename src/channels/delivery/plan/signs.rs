//! Reactions and "typing": what may be left out, and waits for everything else.

use super::*;

impl Plan {
    /// The next of them.
    pub(super) fn reaction(&self, search: &mut Search) -> Option<Job> {
        let reaction = self.reactions.iter().find_map(|(to, message)| {
            let held = self.pace.held_until(&to.chat);
            let at = self.ready_at(to, Destination::reaction_at);
            let may = search.is_due(at.map(|at| at.max(held))) && self.has_slow_worker();
            may.then(|| Job::React {
                to: to.clone(),
                message: message.clone(),
            })
        });
        reaction.or_else(|| {
            self.capabilities.typing_interval?;
            self.works.values().find_map(|work| {
                let to = &work.to;
                let held = self.pace.held_until(&to.chat);
                let at = self.ready_at(to, Destination::reaction_at);
                let at = at
                    .zip(work.typing_at)
                    .map(|(destination, typing)| destination.max(typing).max(held));
                let may = search.is_due(at) && self.has_slow_worker();
                may.then(|| Job::Type { to: to.clone() })
            })
        })
    }
}
