//! The order of turns, and the slots that one person may hold: writing in many chats keeps no owner waiting.

use super::{Action, Kind, Scheduler, Slot};
use crate::base::access::Role;
use crate::base::limits::gateway::WAITING_MAX;
use crate::base::limits::inbox::MESSAGES;
use crate::base::message::{Envelope, SessionKey};

/// Messages of one person who is no owner that wait, over all chats: three of these may be full.
const PERSON_WAITING_MAX: usize = 3 * WAITING_MAX;
/// The same of all of them: the rest of the inbox is for owners.
const OTHERS_WAITING_MAX: usize = MESSAGES / 2;

/// The holder of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Holder {
    /// An owner, or no person: nothing limits them.
    #[default]
    Unlimited,
    /// All guests together.
    Guests,
    /// A user, by channel and id.
    User(String, String),
}

impl Holder {
    /// The holder of a turn that a message starts.
    pub fn of(message: &Envelope) -> Self {
        let Some(sender) = message.sender() else {
            return Self::Unlimited;
        };
        match message.role {
            Role::Owner => Self::Unlimited,
            Role::Guest => Self::Guests,
            _ => Self::User(message.address().channel, sender.id.clone()),
        }
    }
}

impl Scheduler {
    /// Puts the sessions in which an owner waits before the others.
    pub(super) fn put_owners_first(&mut self) {
        let sessions = &self.sessions;
        let waits = |key: &SessionKey| {
            sessions.get(key).is_some_and(|session| {
                let mut queue = session.queue.iter();
                session.is_interrupted
                    || queue.any(|next| next.role == Role::Owner && next.sender().is_some())
            })
        };
        let ready = self.ready.make_contiguous();
        ready.sort_by_cached_key(|key| !waits(key));
    }

    /// Whether one more message of its writer's may wait.
    pub(super) fn has_room(&self, message: &Envelope) -> bool {
        if Holder::of(message) == Holder::Unlimited {
            return true;
        }
        let (mut own, mut others) = (0, 0);
        let sessions = self.sessions.values();
        for waiting in sessions.flat_map(|session| session.queue.iter().chain(&session.commands)) {
            if Holder::of(waiting) != Holder::Unlimited {
                others += 1;
                own += usize::from(waiting.origin == message.origin);
            }
        }
        own < PERSON_WAITING_MAX && others < OTHERS_WAITING_MAX
    }

    /// Starts a turn for the first message of a session, if its writer may hold one more slot.
    pub(super) fn start_turn(&mut self, key: &SessionKey) -> Option<Action> {
        let next = self.sessions.get(key)?.queue.front()?;
        if !self.has_share(next) {
            return None;
        }
        let message = Box::new(
            self.sessions
                .get_mut(key)?
                .queue
                .pop_front()?
                .into_envelope(),
        );
        let work = self.take_session(key, Kind::Turn(Slot::Held));
        self.slots_held += 1;
        if let Some(started) = self.works.get_mut(&work) {
            started.role = message.role;
            started.holder = Holder::of(&message);
        }
        Some(Action::StartTurn { work, message })
    }

    /// Whether the writer of a message may hold one more slot: one is left to others, where there are several.
    fn has_share(&self, message: &Envelope) -> bool {
        let holder = Holder::of(message);
        let held = self.works.values().filter(|work| {
            matches!(work.kind, Kind::Turn(Slot::Held | Slot::Waiting)) && work.holder == holder
        });
        holder == Holder::Unlimited || held.count() < (self.slots - 1).max(1)
    }
}
