//! Whose a message is, and the commands of each session that run beside its turns, one after another.

use super::{ASKING_IN_CHAT_MAX, COMMANDS_IN_CHAT_MAX, COMMANDS_MAX};
use super::{Action, Kind, RefusalReason, Scheduler, Work, WorkId};
use crate::base::access::Role;
use crate::base::limits::gateway::COMMANDS_WAITING_MAX;
use crate::base::message::{Envelope, Origin, SessionKey};
use crate::gateway::commands::{ParsedMessage, SH, TERM, When};
use crate::store::plans::Agent;

pub(super) fn is_ready(message: &Envelope) -> bool {
    message.remote_files.is_empty()
}

pub(super) fn acts_at_once(message: &ParsedMessage) -> bool {
    message.when().is_some_and(|when| when != When::InOrder)
}

/// Whether it is a command of the chat's shell or terminal, which depends on those before it.
fn is_of_shell(message: &ParsedMessage) -> bool {
    let command = message.command();
    command.is_some_and(|command| command.is(SH) || command.is(TERM))
}

/// Whether it starts a turn of its own: a job's.
pub(super) fn is_of_job(message: &Envelope) -> bool {
    matches!(message.origin, Origin::Cron { .. })
}

/// Whether it is a subagent's: its task or its report.
pub(super) fn is_of_subagent(message: &Envelope) -> bool {
    matches!(
        message.origin,
        Origin::Subagent { .. } | Origin::Report { .. }
    )
}

/// The conversation that a message is a task of.
pub(super) fn parent_of(message: &Envelope) -> Option<&SessionKey> {
    match &message.origin {
        Origin::Subagent { parent, .. } => Some(parent),
        _ => None,
    }
}

/// Whether a `/stop` of this role ends a subagent, by its session and its own role: not one of a plan of someone who may
/// do more.
pub(super) fn may_stop(role: Role, session: &SessionKey, of: Role) -> bool {
    of <= role || Agent::parse(session.as_str()).is_none()
}

impl Scheduler {
    pub(super) fn enqueue_command(&mut self, message: ParsedMessage, actions: &mut Vec<Action>) {
        let key = message.session.clone();
        let has_room = self.has_room(&message);
        let asked = self.asked_in(&key);
        let session = self.sessions.entry(key.clone()).or_default();
        if !has_room || session.commands.len() >= COMMANDS_WAITING_MAX {
            return self.refuse(
                message.into_envelope(),
                RefusalReason::TooManyCommands,
                actions,
            );
        }
        let asking = session.asking.filter(|_| is_of_shell(&message));
        let oldest = asked.first().copied();
        let asking = asking.or(oldest.filter(|_| asked.len() >= ASKING_IN_CHAT_MAX));
        let told = asking.map(|other| Action::TellWaiting {
            message: Box::new(message.clone().into_envelope()),
            other,
            is_asking: true,
        });
        session.commands.push_back(message);
        if !self.lanes.contains(&key) {
            self.lanes.push_back(key);
        }
        self.start_commands(actions);
        actions.extend(told);
    }

    /// Starts the commands that wait for none before them, a session after the other.
    pub(super) fn start_commands(&mut self, actions: &mut Vec<Action>) {
        for _ in 0..self.lanes.len() {
            let Some(key) = self.lanes.pop_front() else {
                return;
            };
            while let Some(message) = self.next_command(&key) {
                match message.when() {
                    Some(When::Beside | When::Queued) => {
                        let work = self.start_command(message, Kind::Queued, actions);
                        if let Some(session) = self.sessions.get_mut(&key) {
                            session.command = Some(work);
                        }
                    }
                    _ => self.take_edited(message, actions),
                }
            }
            let session = self.sessions.get(&key);
            if session.is_some_and(|session| !session.commands.is_empty()) {
                self.lanes.push_back(key);
            } else {
                self.forget_if_idle(&key);
            }
        }
    }

    /// Takes the first command that waits in a session, if it can start now.
    fn next_command(&mut self, key: &SessionKey) -> Option<ParsedMessage> {
        let (all, of_chat) = (
            self.count(|work| work.kind == Kind::Queued),
            self.count(|work| work.kind == Kind::Queued && work.session == *key),
        );
        let asked = self.asked_in(key).len();
        let is_full = self.is_stopping
            || all >= COMMANDS_MAX
            || asked >= ASKING_IN_CHAT_MAX
            || of_chat - asked >= COMMANDS_IN_CHAT_MAX;
        let session = self.sessions.get_mut(key).filter(|_| !is_full)?;
        if session.command.is_some() {
            return None;
        }
        let asking = session.asking;
        let is_next = |message: &ParsedMessage| asking.is_none() || !is_of_shell(message);
        let next = session.commands.iter().position(is_next)?;
        let ready = session.commands.get(next).filter(|next| is_ready(next));
        ready.is_some().then(|| session.commands.remove(next))?
    }

    /// The commands of a session that have asked its person something, the oldest first.
    fn asked_in(&self, key: &SessionKey) -> Vec<WorkId> {
        let works = self.works.iter();
        let asked = works.filter(|(_, work)| work.has_asked && work.session == *key);
        asked.map(|(id, _)| *id).collect()
    }

    pub(super) fn start_command(
        &mut self,
        message: ParsedMessage,
        kind: Kind,
        actions: &mut Vec<Action>,
    ) -> WorkId {
        let work = self.add_work(message.session.clone(), kind);
        if let Some(started) = self.works.get_mut(&work) {
            started.is_of_shell = is_of_shell(&message);
        }
        let message = Box::new(message);
        actions.push(Action::StartCommand { work, message });
        work
    }

    /// A command waits for a person's answer, which may take long: those behind it need not, but for those of the same
    /// shell, whose person is told. Any other work gives its slot to others.
    pub(super) fn begin_waiting(&mut self, work: WorkId, actions: &mut Vec<Action>) {
        let asking = self.works.get_mut(&work);
        let Some(asking) = asking.filter(|it| it.kind == Kind::Queued) else {
            return self.release_slot(work);
        };
        asking.has_asked = true;
        asking.is_asking = true;
        let (key, holds_shell) = (asking.session.clone(), asking.is_of_shell);
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.command.take_if(|command| *command == work);
        if !holds_shell {
            return self.forget_if_idle(&key);
        }
        session.asking = Some(work);
        if let Some(waiting) = session.commands.iter().find(|message| is_of_shell(message)) {
            actions.push(Action::TellWaiting {
                message: Box::new(waiting.clone().into_envelope()),
                other: work,
                is_asking: true,
            });
        }
    }

    /// What was sent before a command was seen to be long keeps its order, and the person is told. What is
    /// sent from now on runs beside it: it may be there to look at it.
    pub(super) fn grew_long(&mut self, work: WorkId, actions: &mut Vec<Action>) {
        let Some(long) = self.works.get_mut(&work) else {
            return;
        };
        long.has_asked = false;
        let Some(session) = self.sessions.get_mut(&long.session) else {
            return;
        };
        let is_asking = session.asking == Some(work);
        if !is_asking && session.command != Some(work) {
            return;
        }
        let mut waiting = session.commands.iter();
        match waiting.find(|message| !is_asking || is_of_shell(message)) {
            Some(waiting) => {
                let message = Box::new(waiting.clone().into_envelope());
                actions.push(Action::TellWaiting {
                    message,
                    other: work,
                    is_asking: false,
                });
            }
            None if is_asking => session.asking = None,
            None => session.command = None,
        }
    }

    pub(super) fn count(&self, is_meant: impl Fn(&Work) -> bool) -> usize {
        self.works.values().filter(|work| is_meant(work)).count()
    }
}
