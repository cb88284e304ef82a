//! Plans that a turn begins by itself.

use super::ChatHost;
use crate::base::error::{Error, Result};
use crate::channels::http;
use crate::gateway::plans::grant_of;
use crate::store::plans::Client;

impl ChatHost<'_> {
    /// Begins a plan, which the person of the turn has to start. Returns what the model reads.
    pub(super) fn plan_for_person(&self, goal: &str) -> Result<String> {
        let has_reader = self.is_attended && self.reply.channel != http::NAME;
        // A report must not lead to the next plan without a person.
        // A turn that goes on after a restart does not know whose message began it, but may have begun one before.
        let is_known = self.person.is_some() || self.gateway.has_plan(&self.session);
        if self.is_quiet() || self.is_report || !has_reader || !is_known {
            return Err(Error::Failed(
                "plans begin only in a turn that a person has begun in a chat: do the steps yourself, or tell them of \
                 /plan GOAL"
                    .to_owned(),
            ));
        }
        let client = Client {
            session: self.session.clone(),
            reply: self.reply.clone(),
            agent: self.hosted.profile.id.clone(),
            author: self.author.clone(),
            role: self.role,
            attended: self.is_attended,
            language: self.language,
        };
        let grant = grant_of(&self.hosted.profile.settings.plan);
        let cancel = &self.work.cancel;
        self.gateway.begin_plan(goal, client, grant, cancel)
    }
}
