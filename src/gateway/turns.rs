//! Turns on their threads: from the message to the released answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::commands::texts::{self, format_error};
use super::host::{ChatHost, Work};
use super::run::address_of;
use super::{Gateway, cron};
use crate::agent::host::TurnHost;
use crate::agent::{Outcome, Report, describe_failure, subagent};
use crate::base::access::Role;
use crate::base::bus::Event;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Address, DraftKey, Envelope, Origin, OutgoingMessage, SessionKey};
use crate::channels::delivery::Delivery;
use crate::store::outbox::ClosesTurn;
use crate::store::session::Session;

impl Gateway {
    /// Runs a turn to its end: about a message, or the one that was interrupted.
    pub(super) fn run_turn(
        self: &Arc<Self>,
        work: &Work,
        session: &SessionKey,
        message: Option<&Envelope>,
    ) {
        let hosted = self.agent_for(&self.live(), session, message);
        let mut host = ChatHost::new(self, work, &hosted, session, message);
        let (to, draft) = (host.reply().clone(), DraftKey::turn(session));
        if let Some(delivery) = self.delivery(&to) {
            delivery.working(&draft, &to);
            delivery.turn_begins(&to, host.reference());
        }
        let result = self.try_turn(&mut host, work, session, message);
        if message.is_none() {
            self.interrupted.lock().remove(session);
        }
        let changed = host.describe_changed();
        if work.cancel.is_cancelled() {
            // It may have started a command after the /stop ended those that were running.
            let role = message.map_or(Role::Owner, |message| message.role);
            self.live().agents.end_background_for(session, role);
        }
        match &result {
            Ok(_) => self.release(session),
            Err(error) => self.fail_turn(error, work, &to, message),
        }
        if let Ok(Some(report)) = &result {
            host.speak_answer(report);
        }
        if let Some(text) = changed {
            self.tell(&to, &text);
        }
        // Before the loop starts this session's next turn, which must not find this one's draft.
        if let Some(delivery) = self.delivery(&to) {
            delivery.resting(&draft);
            delivery.turn_ended(&to, host.reference());
        }
        let (work, unread) = (work.id, host.into_unread());
        self.events.send(Event::Finished { work, unread });
        self.close_connections_later();
    }

    fn close_idle_connections(&self) -> Option<Duration> {
        // The agents share them.
        self.live().agents.default_agent().close_idle_connections()
    }

    /// Closes the connections to the models once they have been idle for their time, so that they
    /// cost no memory while there is nothing to do.
    pub(super) fn close_connections_later(self: &Arc<Self>) {
        if self.is_closing_idle.swap(true, Ordering::SeqCst) {
            return;
        }
        let gateway = Arc::clone(self);
        self.timers.spawn(async move {
            while let Some(left) = gateway.close_idle_connections() {
                super::sleep(left).await;
            }
            gateway.is_closing_idle.store(false, Ordering::SeqCst);
        });
    }

    /// Runs a turn, and returns how it came out; `None` for one that had ended before a kill.
    pub(super) fn try_turn(
        self: &Arc<Self>,
        host: &mut ChatHost<'_>,
        work: &Work,
        key: &SessionKey,
        message: Option<&Envelope>,
    ) -> Result<Option<Report>> {
        let mut session = self.open_patiently(host, work, key)?;
        let ended = self.turn_in(&mut session, host, work, message);
        host.note_end(&session);
        ended
    }

    fn turn_in(
        self: &Arc<Self>,
        session: &mut Session,
        host: &mut ChatHost<'_>,
        work: &Work,
        message: Option<&Envelope>,
    ) -> Result<Option<Report>> {
        let key = &session.chat().clone();
        let role = session.role_with(message.map(|message| message.role));
        host.set_role(role);
        if message.is_none() || !session.authors().is_empty() {
            let Some(now) = self.resume_for(work, session, host.reply(), role) else {
                tracing::warn!(session = %key, "an interrupted turn ends: its person has no access any more");
                let agent = host.hosted().agent()?;
                agent.abandon(session, host, &work.cancel)?;
                return Ok(None);
            };
            host.set_role(now.min(role));
        }
        let is_known = message.is_none_or(|message| session.holds(&message.id));
        if !session.is_unfinished() && is_known {
            // A power cut has taken the note that the session has the message. A task stays until its
            // report is stored.
            message
                .iter()
                .filter(|message| !matches!(message.origin, Origin::Subagent { .. }))
                .for_each(|message| self.parts.inbox.taken(&message.id));
            return Ok(None);
        }
        // After a start, earlier answers are held again.
        self.parts.outbox.release_before(key, session.length());
        self.deliveries.values().for_each(Delivery::wake);
        if is_known && self.end_answered(host, work, session)? {
            return Ok(None);
        }
        let watch = Stopwatch::start();
        let agent = host.hosted().agent()?;
        let report = agent.run(session, message, host, &work.cancel);
        let report = report.inspect_err(|_| self.withdraw(key))?;
        let outcome = match &report.outcome {
            Outcome::Answered => "answered",
            Outcome::Bounded(_) => "ended at a limit",
            Outcome::Stopped => "stopped",
            Outcome::Failed(_) => "failed",
        };
        let (seconds, steps) = (watch.elapsed().as_secs(), report.steps);
        tracing::info!(session = %key, steps, seconds, "turn {outcome}");
        let id = host.hosted().profile.id.clone();
        if ![cron::CHANNEL, subagent::CHANNEL].contains(&key.parts().0) {
            self.plan_consolidation((&id, &agent), session);
        }
        Ok(Some(report))
    }

    /// Tells a person, once for each message, that they have edited it too late. In a group it may not have been for us.
    pub(super) fn tell_too_late(self: &Arc<Self>, session: &SessionKey, reference: &str) {
        let to = address_of(session);
        let is_private = self
            .delivery(&to)
            .is_some_and(|delivery| !delivery.is_group(&to));
        let hosted = self.agent_for(&self.live(), session, None);
        let is_known = hosted.knows(&to) && self.role_in(&to, None, Role::Guest).is_some();
        if is_private && is_known {
            let language = self.parts.languages.get(&to);
            self.tell_with(OutgoingMessage {
                once: format!("late:{session}:{reference}"),
                reply_to: reference.to_owned(),
                ..OutgoingMessage::text(&to, texts::edited_late(language))
            });
        }
    }

    /// Ends a turn that was killed after its answer was stored and before the journal recorded the
    /// end. The model is not asked again: the answer will be delivered. False for any other turn.
    fn end_answered(
        &self,
        host: &mut ChatHost<'_>,
        work: &Work,
        session: &mut Session,
    ) -> Result<bool> {
        let closes = ClosesTurn {
            session: session.chat().clone(),
            journal: session.length(),
        };
        let mut pending = self.parts.outbox.pending().into_iter();
        let Some(answer) = pending.find(|pending| pending.closes.as_ref() == Some(&closes)) else {
            return Ok(false);
        };
        let ended = session.end_answered(&answer.message.text, &mut |error| {
            host.retry_write(error, &work.cancel)
        });
        ended.inspect_err(|_| self.withdraw(session.chat()))?;
        Ok(true)
    }

    /// Opens the session, again and again while the disk does not allow it.
    fn open_patiently(
        &self,
        host: &mut ChatHost<'_>,
        work: &Work,
        key: &SessionKey,
    ) -> Result<Session> {
        loop {
            match self.open(host.hosted(), key, (host.reply(), host.language())) {
                Err(error @ Error::Io { .. }) if host.retry_write(&error, &work.cancel) => {}
                opened => return opened,
            }
        }
    }

    /// Tells the person, unless the turn goes on after the next start.
    fn fail_turn(&self, error: &Error, work: &Work, to: &Address, message: Option<&Envelope>) {
        if self.is_stopping() {
            tracing::warn!(chat = %to, "a turn goes on after the next start: {error}");
            return;
        }
        tracing::error!(chat = %to, "failed to run a turn: {error}");
        if !work.cancel.is_cancelled() {
            let language = message.map_or_else(Language::default, Envelope::language);
            let text = match message.map_or(Role::Owner, |message| message.role) {
                Role::Owner => format_error(error, language),
                role => describe_failure(error, role, language),
            };
            let reply_to = message.map_or_else(String::new, |message| message.reference.clone());
            self.note_failed(to, &reply_to);
            self.tell_with(OutgoingMessage {
                reply_to,
                ..OutgoingMessage::text(to, text)
            });
        }
        message
            .iter()
            .for_each(|message| self.parts.inbox.taken(&message.id));
    }

    /// Says that what comes next about a message is the reason of a failure.
    pub(super) fn note_failed(&self, to: &Address, reference: &str) {
        if let Some(delivery) = self.delivery(to) {
            delivery.turn_failed(to, reference);
        }
    }

    /// Gives up the answer that was stored for a failed turn, unless the turn goes on after the next
    /// start: held, it would keep back all else in its chat.
    fn withdraw(&self, session: &SessionKey) {
        if self.is_stopping() {
            return;
        }
        if let Err(error) = self.parts.outbox.withdraw(session) {
            tracing::warn!(%session, "failed to note that an answer is given up: {error}");
        }
    }

    /// Records that an interrupted turn is not to go on.
    pub(super) fn abandon_turn(self: &Arc<Self>, work: &Work, key: &SessionKey) {
        let hosted = self.agent_for(&self.live(), key, None);
        let mut host = ChatHost::new(self, work, &hosted, key, None);
        let opened = Session::open(&hosted.sessions, key, hosted.journals.clone());
        let abandoned = opened.and_then(|mut session| {
            let agent = hosted.agent()?;
            agent.abandon(&mut session, &mut host, &work.cancel)
        });
        if let Err(error) = abandoned {
            tracing::error!(session = %key, "failed to end an interrupted turn: {error}");
        }
        self.release(key);
        let unread = Vec::new();
        self.events.send(Event::Finished {
            work: work.id,
            unread,
        });
    }
}
