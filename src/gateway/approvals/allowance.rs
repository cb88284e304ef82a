//! Everything is allowed in a chat for some minutes: the message that counts them down, and how it ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Asker;
use crate::agent::Agent;
use crate::agent::commands::CommandAnswer;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::{Address, CommandButton, DraftKey, OutgoingMessage, SessionKey};
use crate::base::sync::Mutex;
use crate::gateway::Gateway;
use crate::gateway::agents::Hosted;
use crate::gateway::commands::Call;
use crate::gateway::commands::texts;
use crate::gateway::sleep;

/// How often the time that is left of it is shown.
const ALLOWANCE_SHOWN: Duration = Duration::from_mins(1);

/// The conversations whose allowance is counted down, with where that is shown.
#[derive(Default)]
pub struct Countdowns(Mutex<BTreeMap<SessionKey, (Address, Language)>>);

impl Countdowns {
    /// Whether it has just begun to be counted.
    fn begin(&self, asker: &Asker<'_>) -> bool {
        let shown = (asker.to.clone(), asker.language);
        let before = self.0.lock().insert(asker.session.clone(), shown);
        before.is_none()
    }

    /// Whether it was counted until now: only one says that it is over.
    fn end(&self, session: &SessionKey) -> bool {
        self.0.lock().remove(session).is_some()
    }

    fn all(&self) -> Vec<(SessionKey, Address)> {
        let all = self.0.lock();
        let all = all
            .iter()
            .map(|(session, (to, _))| (session.clone(), to.clone()));
        all.collect()
    }

    fn take(&self) -> Vec<(SessionKey, Address, Language)> {
        let all = std::mem::take(&mut *self.0.lock()).into_iter();
        all.map(|(session, (to, language))| (session, to, language))
            .collect()
    }
}

impl Gateway {
    /// Allows everything in a conversation, and counts the time down in its chat.
    pub(super) fn begin_allowance(self: &Arc<Self>, asker: &Asker<'_>) {
        let agent = match asker.hosted.agent() {
            Ok(agent) => agent,
            Err(error) => {
                tracing::error!("failed to allow everything: {error}");
                return;
            }
        };
        let Some(commands) = agent.toolbox().commands() else {
            return;
        };
        commands.allowances().begin(asker.session.as_str());
        tracing::warn!(session = %asker.session, "everything is allowed for 10 minutes");
        if !self.countdowns.begin(asker) {
            return;
        }
        let (gateway, hosted) = (Arc::clone(self), Arc::clone(asker.hosted));
        let (session, to, language) = (asker.session.clone(), asker.to.clone(), asker.language);
        self.timers.spawn(async move {
            while let Some(left) = left(&hosted, &session) {
                gateway.show_allowance(&session, &to, left, language);
                sleep(until_next(left)).await;
            }
            if gateway.countdowns.end(&session) {
                gateway.later(move |gateway| {
                    let key = DraftKey::allowance(&session);
                    gateway.end_allowance(&key, &to, texts::allowance_over(language));
                });
            }
        });
    }

    fn show_allowance(
        &self,
        session: &SessionKey,
        to: &Address,
        left: Duration,
        language: Language,
    ) {
        if let Some(delivery) = self.delivery(to) {
            let text = texts::allowance_left(language, &minutes(left));
            let revoke = CommandButton {
                label: texts::revoke(language).to_owned(),
                command: "/approvals revoke".to_owned(),
            };
            delivery.show(&DraftKey::allowance(session), to, text, vec![vec![revoke]]);
        }
    }

    /// Ends the allowance of the conversation in which this is asked for, and says whether there was one.
    pub(in crate::gateway) fn answer_approvals(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        if call.argument != "revoke" {
            return self.have_agent_answer(call, Agent::answer_approvals);
        }
        let (message, language) = (call.message, call.language);
        let session = &message.session;
        let hosted = self.agent_for(&self.live(), session, Some(message));
        let text = if self.revoke_allowance(&hosted, session, &message.address()) {
            texts::allowance_revoked
        } else {
            texts::allowance_none
        };
        Ok(text(language).to_owned().into())
    }

    /// Ends all allowances: the owners who gave them may be owners no longer.
    pub(in crate::gateway) fn revoke_allowances(self: &Arc<Self>) {
        let live = self.live();
        for (session, chat) in self.countdowns.all() {
            let hosted = self.agent_for(&live, &session, None);
            self.revoke_allowance(&hosted, &session, &chat);
        }
    }

    /// Ends the allowance of a conversation. Returns whether there was one.
    pub(in crate::gateway) fn revoke_allowance(
        &self,
        hosted: &Hosted,
        session: &SessionKey,
        chat: &Address,
    ) -> bool {
        let commands = hosted.made().and_then(|agent| agent.toolbox().commands());
        let is_revoked = commands.is_some_and(|it| it.allowances().revoke(session.as_str()));
        if self.countdowns.end(session)
            && let Some(delivery) = self.delivery(chat)
        {
            delivery.resting(&DraftKey::allowance(session));
        }
        is_revoked
    }

    /// Says that the allowances are over, because the gateway stops.
    pub(in crate::gateway) fn end_allowances(&self) {
        for (session, to, language) in self.countdowns.take() {
            let key = DraftKey::allowance(&session);
            self.end_allowance(&key, &to, texts::allowance_restarted(language));
        }
    }

    /// Says that the allowances of the last run are over: nothing of them is kept across a restart.
    pub(in crate::gateway) fn end_left_allowances(&self) {
        for channel in self.deliveries.keys() {
            for draft in self.parts.outbox.drafts(channel) {
                if draft.key.allowed_session().is_some() {
                    let language = self.parts.languages.get(&draft.to);
                    self.end_allowance(&draft.key, &draft.to, texts::allowance_restarted(language));
                }
            }
        }
    }

    fn end_allowance(&self, key: &DraftKey, to: &Address, text: &str) {
        self.tell_with(OutgoingMessage {
            replaces: Some(key.clone()),
            silent: true,
            ..OutgoingMessage::text(to, text)
        });
        if let Some(delivery) = self.delivery(to) {
            delivery.resting(key);
        }
    }
}

fn left(hosted: &Hosted, session: &SessionKey) -> Option<Duration> {
    let agent = hosted.agent().ok()?;
    let commands = agent.toolbox().commands()?;
    commands.allowances().left(session.as_str())
}

/// Minutes as people count them: the last one is 1.
fn minutes(left: Duration) -> u64 {
    left.as_secs().div_ceil(ALLOWANCE_SHOWN.as_secs()).max(1)
}

/// How long the number of minutes stays the same.
fn until_next(left: Duration) -> Duration {
    let whole = ALLOWANCE_SHOWN.saturating_mul(u32::try_from(minutes(left) - 1).unwrap_or(0));
    // A little more, so that it is not shown twice.
    left.saturating_sub(whole) + Duration::from_millis(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minutes_count_down_to_one_and_each_is_shown_once() {
        let mut left = Duration::from_mins(10);
        let mut shown = Vec::new();
        while !left.is_zero() {
            shown.push(minutes(left));
            left = left.saturating_sub(until_next(left));
        }
        assert_eq!(shown, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    }
}
