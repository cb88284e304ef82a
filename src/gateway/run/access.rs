//! Who has work done now: looked up when it begins and between its steps, and for all of it when access has changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::WorkId;
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::message::{Address, Author, Envelope, SessionKey};
use crate::base::sync::Mutex;
use crate::gateway::Gateway;
use crate::gateway::commands::ParsedMessage;
use crate::gateway::host::Work;
use crate::schedule::job::Job;
use crate::store::session::Session;

/// Conversations of people that are remembered: some hundred bytes each. Of more those who may do
/// least are forgotten first.
const WORKERS: usize = 1_000;

/// The people who had work done in this run, each with the most that they could do then. What they have left running in
/// the background is part of it.
#[derive(Default)]
pub(in crate::gateway) struct Workers(Mutex<Vec<Worker>>);

struct Worker {
    principal: Principal,
    /// What is at work.
    works: Vec<(WorkId, Cancel)>,
}

/// A person on whose behalf something is done in a conversation.
#[derive(Clone)]
pub(in crate::gateway) struct Principal {
    pub session: SessionKey,
    /// The chat in which they have asked for it.
    pub chat: Address,
    pub author: Author,
    /// Their role.
    pub role: Role,
}

/// Work that has begun, until this is dropped.
pub(in crate::gateway) struct Begun<'a>(&'a Workers, WorkId);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut all = self.0.0.lock();
        all.iter_mut()
            .for_each(|worker| worker.works.retain(|(work, _)| *work != self.1));
    }
}

impl Workers {
    /// Work is done for the person who has caused a message.
    pub(in crate::gateway) fn join(&self, work: &Work, message: &Envelope) {
        if let Some(author) = message.author() {
            let principal = Principal {
                session: message.session.clone(),
                chat: message.address(),
                author,
                role: message.role,
            };
            self.join_as(work, principal);
        }
    }

    /// A guard that takes a piece of work from its people again once it is dropped.
    pub(in crate::gateway) fn ending_with(&self, work: &Work) -> Begun<'_> {
        Begun(self, work.id)
    }

    /// The same where it is known who they are.
    pub(in crate::gateway) fn join_as(&self, work: &Work, principal: Principal) {
        let mut all = self.0.lock();
        let is_same =
            |one: &Principal| one.session == principal.session && one.author == principal.author;
        let this = (work.id, work.cancel.clone());
        match all.iter_mut().find(|one| is_same(&one.principal)) {
            Some(worker) => {
                worker.principal.role = worker.principal.role.max(principal.role);
                worker.works.push(this);
            }
            None => {
                // Nobody makes others be forgotten by writing in many chats.
                let weight = |one: &Worker| (one.principal.role, !one.works.is_empty());
                let least = (0..all.len()).min_by_key(|index| all.get(*index).map(weight));
                if let Some(least) = least.filter(|_| all.len() >= WORKERS) {
                    all.remove(least);
                }
                all.push(Worker {
                    principal,
                    works: vec![this],
                });
            }
        }
    }
}

impl Gateway {
    /// Gives a message the role that its person has now, at most the one that they had when they wrote it. False when
    /// they have no access any more: then it is forgotten.
    pub(in crate::gateway) fn admit(&self, message: &mut Envelope) -> bool {
        let Some(author) = message.author() else {
            return true;
        };
        let chat = message.address();
        let now = self.role_in(&chat, Some(&author), message.role);
        match now {
            Some(now) => {
                message.role = now.min(message.role);
                true
            }
            None => {
                tracing::warn!(%chat, person = author.id, "not done: they have no access any more");
                self.parts.inbox.taken(&message.id);
                self.tasks.remove(&message.session);
                false
            }
        }
    }

    /// The same for a command; false also when they may not use it any more, which they are told.
    pub(in crate::gateway) fn admit_command(&self, message: &mut ParsedMessage) -> bool {
        let mut is_admitted = false;
        message.change(|message| is_admitted = self.admit(message));
        if is_admitted && !message.is_allowed() {
            self.refuse_command(message);
            return false;
        }
        is_admitted
    }

    /// Begins the work of a message that was admitted, or of a job, which is done for the person who has planned it.
    pub(in crate::gateway) fn begin_work(
        &self,
        work: &Work,
        message: &Envelope,
        job: Option<&Job>,
    ) -> Begun<'_> {
        self.workers.join(work, message);
        let planner = job.and_then(|job| job.planned_by.clone().zip(job.payload.chat()));
        if let Some((author, chat)) = planner {
            let (session, role) = (message.session.clone(), Role::User);
            self.workers.join_as(
                work,
                Principal {
                    session,
                    chat,
                    author,
                    role,
                },
            );
        }
        // Access may have changed in between.
        self.check_workers_of(work);
        self.workers.ending_with(work)
    }

    /// Stops work at hand when one of those for whom it is done may do less than before.
    pub(in crate::gateway) fn check_workers_of(&self, work: &Work) {
        let all = self.workers.0.lock();
        let is_at_it = |one: &&Worker| one.works.iter().any(|(id, _)| *id == work.id);
        let lost = all.iter().filter(is_at_it).any(|one| self.has_lost(one));
        drop(all);
        if lost {
            work.cancel.cancel();
        }
    }

    fn has_lost(&self, worker: &Worker) -> bool {
        let Principal {
            chat, author, role, ..
        } = &worker.principal;
        let now = self.role_in(chat, Some(author), *role);
        now.is_none_or(|now| now < *role)
    }

    /// Goes on with a turn for the people whose messages it is about: its work ends when one of them loses their access.
    /// Returns the least of their roles now; `None` when one has no access. Where the journal does not name them, the chat
    /// decides as far as it can.
    pub(in crate::gateway) fn resume_for(
        &self,
        work: &Work,
        session: &Session,
        chat: &Address,
        role: Role,
    ) -> Option<Role> {
        let authors = session.authors();
        if authors.is_empty() {
            return self.role_in(chat, None, role);
        }
        let mut least = role;
        for author in authors {
            least = least.min(self.role_in(chat, Some(author), role)?);
            let principal = Principal {
                session: session.chat().clone(),
                chat: chat.clone(),
                author: author.clone(),
                role,
            };
            self.workers.join_as(work, principal);
        }
        self.check_workers_of(work);
        Some(least)
    }

    /// Access has changed: ends what is done for people who may do less than before. In a conversation of several
    /// people all that is left in the background ends. Blocks until it is gone.
    pub(in crate::gateway) fn end_work_of_others(self: &Arc<Self>) {
        self.close_terminals_of_others();
        self.revoke_allowances();
        let mut sessions = BTreeMap::new();
        self.workers.0.lock().retain(|worker| {
            let is_lost = self.has_lost(worker);
            if is_lost {
                let Principal {
                    session,
                    chat,
                    author,
                    ..
                } = &worker.principal;
                let person = &author.id;
                tracing::warn!(%chat, person, "their work ends: they may do less than before");
                worker.works.iter().for_each(|(_, cancel)| cancel.cancel());
                sessions.insert(session.clone(), chat.clone());
            }
            !is_lost
        });
        let live = self.live();
        for (session, chat) in sessions {
            let hosted = self.agent_for(&live, &session, None);
            self.revoke_allowance(&hosted, &session, &chat);
            live.agents.end_background(&session);
            live.agents.end_in_shells(&session);
        }
    }

    /// The same, not on this thread, where something was done for a person who has no access any more.
    pub(in crate::gateway) fn end_work_soon(self: &Arc<Self>, person: &str) {
        let all = self.workers.0.lock();
        let is_known = all
            .iter()
            .any(|worker| worker.principal.author.id == person);
        drop(all);
        if is_known {
            self.later(|gateway| gateway.end_work_of_others());
        }
    }
}
