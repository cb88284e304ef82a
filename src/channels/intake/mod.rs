//! Messages from people, for every channel: access, acceptance in order, and their files.
//!
//! A channel's receiver hands over what arrived, in batches. Messages are in the inbox, on the disk, when
//! [`Intake::take`] returns, so the receiver may confirm them to the channel. The gateway is notified at
//! once. Files are fetched afterwards, on other threads: receiving never waits for them, and what was
//! written after a file does not overtake it, because the session waits.

mod access;
pub use access::AccessList;
mod fetch;
mod store;
pub use store::create as new_received_file;

#[cfg(test)]
pub(super) mod tests;

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use crate::base::access::{Person, Role};
use crate::base::bus::{Event, EventSender, Heartbeat, Heartbeats};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::channels::{MESSAGE_FILES, PATIENCE};
use crate::base::message::{
    Address, Envelope, Origin, OutgoingMessage, Sender, SessionKey, Writer,
};
use crate::channels::kit::adapter::Adapter;
use crate::channels::kit::buttons::{self, Press};
use crate::channels::kit::choices::{Choices, Chosen, Reply};
use crate::channels::kit::health::Health;
use crate::channels::kit::relayed;
use crate::channels::kit::sink::{Incoming, Sink};
use crate::channels::kit::texts::{no_access, only_owners, unknown_button};
use crate::sandbox::confine::Hold;
use crate::sandbox::files::Workspace;
use crate::store::inbox::Inbox;
use crate::store::outbox::Outbox;
use crate::store::state::{Languages, Pairing};

use fetch::Fetches;
use std::time::Duration;
use store::Store;

/// People who are told that an update was set aside.
const SET_ASIDE_TOLD: usize = 4;
/// How often a full queue into the gateway is looked at.
const QUEUE_LOOK: Duration = Duration::from_millis(50);

/// Whether what a person (by their id) writes in a chat is awaited by a terminal.
pub type AwaitedBy = Box<dyn Fn(&Address, &str) -> bool + Send + Sync>;
/// Takes note that a person (by their id) has no access any more, in a chat.
pub type LostAccess = Box<dyn Fn(&Address, &str) + Send + Sync>;
/// Finds the role of a person whom another channel knows.
pub type RoleElsewhere = Box<dyn Fn(&str) -> Option<Role> + Send + Sync>;
/// Finds the workspace for the files of a message.
pub type WorkspaceFor = Box<dyn Fn(&Envelope) -> Result<Arc<Workspace>> + Send + Sync>;

/// What an intake is made of.
pub struct IntakeParts {
    /// The channel's name.
    pub channel: &'static str,
    /// Where accepted messages are kept.
    pub inbox: Arc<Inbox>,
    /// The people who are paired.
    pub pairing: Arc<Pairing>,
    /// Who has access by the configuration, and the roles.
    pub access: AccessList,
    /// The role of a person by their id, where another channel decides it; `None` where this one does.
    pub role_elsewhere: Option<RoleElsewhere>,
    /// Where pairing codes are stored for delivery.
    pub outbox: Arc<Outbox>,
    /// Finds the workspace in which the files of a message are stored.
    pub workspace_for: WorkspaceFor,
    /// The languages of the chats.
    pub languages: Arc<Languages>,
    /// Keeps received files from being put beside what a command outside the sandbox reads.
    pub hold: Arc<Hold>,
    /// Bytes of received files that are kept; `None` for no bound. See `storage.inboxMaxMb`.
    pub files_max_bytes: Option<u64>,
    /// The queue into the gateway.
    pub events: EventSender,
    /// Tells the time.
    pub clock: Clock,
    /// Where the fetching threads show that they are alive.
    pub heartbeats: Heartbeats,
    /// The channel, for connections to fetch files with.
    pub adapter: Arc<dyn Adapter>,
    /// Where outages are reported.
    pub health: Health,
    /// The command that pairs a person, without the code, such as `peacrab channels pair`.
    pub pair_command: String,
    /// Raised when nothing more is accepted: ends every wait in here, and the fetching threads.
    pub cancel: Cancel,
    /// Notifies the delivery that the outbox has something new.
    pub wake: Box<dyn Fn() + Send + Sync>,
    /// Notifies the delivery that the channel was reached again.
    pub reachable: Box<dyn Fn() + Send + Sync>,
    /// Whether what a person writes in a chat is awaited there, also where other messages are not for us.
    pub is_awaited: AwaitedBy,
    /// A person who has no access has written or pressed something in a chat.
    pub lost_access: LostAccess,
    /// Whether a message must not be stored, because a program waits for it as a secret.
    pub is_secret: Box<dyn Fn(&Envelope) -> bool + Send + Sync>,
    /// Takes such a message.
    pub take_secret: Box<dyn Fn(Envelope) + Send + Sync>,
    /// What was offered instead of buttons; `None` where the channel has buttons.
    pub choices: Option<Arc<Choices>>,
}

/// The intake of a channel. Clones share it.
#[derive(Clone)]
pub struct Intake(Arc<Shared>);

struct Shared {
    parts: IntakeParts,
    store: Store,
    fetches: Fetches,
}

/// Before the label of a button that the model made.
const BUTTON: &str = "[button]";

/// What is kept of a secret until it is typed.
const SECRET: &str = "/key";

/// What is to be done with one entry of a batch.
enum Step {
    /// A message that is to be accepted.
    Accept(Envelope),
    /// The same for one of which only its id is kept, so that it is not taken twice.
    Secret {
        kept: Envelope,
        text: String,
    },
    Edit {
        session: SessionKey,
        reference: String,
        text: String,
    },
    Tell(Event),
    /// The same for a message that has chosen an answer; `id` is the message's.
    Choose {
        id: String,
        event: Event,
    },
}

impl Sink for Intake {
    fn take(&self, batch: Vec<Incoming>, heartbeat: &Heartbeat) -> Result<usize> {
        let steps: Vec<Step> = batch
            .into_iter()
            .filter_map(|incoming| self.admit(incoming))
            .collect();
        let messages: Vec<Envelope> = steps.iter().filter_map(Step::message).cloned().collect();
        let accepted = if messages.is_empty() {
            messages
        } else {
            self.0.parts.inbox.accept(messages)?
        };
        let new = accepted.len();
        let mut accepted = accepted.into_iter().peekable();
        for step in steps {
            let event = match step {
                // What is not among the new ones was accepted before.
                Step::Accept(message) => {
                    if let (Some(choices), true) = (&self.0.parts.choices, message.is_relayed) {
                        choices.answered(&message.address(), &message.reference);
                    }
                    accepted
                        .next_if(|new| message.id.is_empty() || new.id == message.id)
                        .map(Event::Arrived)
                }
                Step::Secret { kept, text } => {
                    let new = accepted.next_if(|new| kept.id.is_empty() || new.id == kept.id);
                    if let Some(new) = new {
                        let id = new.id.clone();
                        (self.0.parts.take_secret)(Envelope { text, ..new });
                        self.0.parts.inbox.taken(&id);
                    }
                    None
                }
                Step::Edit {
                    session,
                    reference,
                    text,
                } => self.edit(session, reference, &text),
                Step::Tell(event) => Some(event),
                Step::Choose { id, event } => {
                    if let Some(choices) = &self.0.parts.choices {
                        choices.note_used(&id);
                    }
                    Some(event)
                }
            };
            // When the gateway has ended nothing is lost: the inbox has the messages.
            if event.is_some_and(|event| !self.tell(event, heartbeat)) {
                break;
            }
        }
        Ok(new)
    }

    fn holds(&self, id: &str) -> bool {
        self.0.parts.inbox.holds(id)
    }

    fn is_awaited(&self, chat: &Address, person: &str) -> bool {
        (self.0.parts.is_awaited)(chat, person)
    }

    fn is_secret(&self, message: &Envelope) -> bool {
        (self.0.parts.is_secret)(message)
    }

    fn is_choice(&self, chat: &Address, text: &str, quoted: &str) -> bool {
        let choices = self.0.parts.choices.as_ref();
        let chosen = choices.and_then(|choices| choices.find(chat, &Reply::new(text, quoted)));
        chosen.is_some_and(|chosen| {
            !chosen.is_approved_by_word && (quoted.is_empty() || chosen.message.id == quoted)
        })
    }

    fn has_access(&self, sender: &Sender, username: &str) -> bool {
        self.role(sender, username, None).is_some()
    }

    fn role(&self, sender: &Sender, username: &str, group: Option<&Address>) -> Option<Role> {
        let parts = &self.0.parts;
        if let Some(role_of) = &parts.role_elsewhere {
            return role_of(&sender.id);
        }
        let person = Person {
            id: &sender.id,
            username,
            group: group.map(|group| group.chat.as_str()),
            thread_of: sender.thread_of.as_deref(),
            paired: parts.pairing.role_of(parts.channel, &sender.id),
        };
        parts.access.rules().role(&person)
    }

    fn needs_name(&self, person: &str) -> bool {
        self.0.parts.access.rules().needs_name(person)
    }

    fn press_notice(
        &self,
        sender: &Sender,
        username: &str,
        group: Option<&Address>,
        data: &str,
    ) -> Option<&'static str> {
        let private = || Address::new(self.0.parts.channel, &sender.id);
        let chat = group.cloned().unwrap_or_else(private);
        let language = self.language_in(&chat, sender);
        match (self.role(sender, username, group), buttons::read(data)) {
            (None, _) => Some(no_access(language)),
            (Some(_), None) => Some(unknown_button(language)),
            (Some(role), Some(Press::Answer { .. })) if role < Role::Owner => {
                Some(only_owners(language))
            }
            (Some(_), Some(_)) => None,
        }
    }

    fn accept_invitation(&self, text: &str, chat: &Address, sender: &Sender) -> bool {
        access::accept_invitation(&self.0.parts, text, chat, sender)
    }

    fn known_people(&self) -> Vec<String> {
        let parts = &self.0.parts;
        let mut people: Vec<String> = parts.access.rules().ids().map(str::to_owned).collect();
        match parts.pairing.list() {
            Ok(list) => {
                let paired = list.paired.into_iter();
                let paired = paired.filter(|paired| paired.channel == parts.channel);
                people.extend(paired.map(|paired| paired.sender.id));
            }
            Err(error) => tracing::warn!("failed to read who is paired: {error}"),
        }
        people.sort();
        people.dedup();
        people
    }

    fn report(&self, text: &dyn Fn(Language) -> String) {
        let parts = &self.0.parts;
        let chats = self.known_people().into_iter();
        for person in chats.take(SET_ASIDE_TOLD) {
            let chat = Address::new(parts.channel, &person);
            let text = text(parts.languages.get(&chat));
            let mut message = OutgoingMessage::text(&chat, text);
            message.from = Writer::Notice;
            if let Err(error) = parts.outbox.add(&message, None) {
                tracing::warn!("failed to store a message: {error}");
            }
        }
        (parts.wake)();
    }

    fn health(&self) -> Health {
        self.0.parts.health.clone()
    }

    fn last_update(&self) -> Option<(i64, DateTime<FixedOffset>)> {
        self.0.parts.inbox.last_update(self.0.parts.channel)
    }

    fn reachable(&self) {
        (self.0.parts.reachable)();
        self.0.fetches.hurry();
    }
}

impl Intake {
    /// Creates an intake; no thread runs yet.
    pub fn new(parts: IntakeParts) -> Self {
        Self(Arc::new(Shared {
            store: Store::new(parts.files_max_bytes),
            fetches: Fetches::default(),
            parts,
        }))
    }

    /// Fetches the files of a message that was in the inbox when the gateway started. The message is
    /// sent as [`Event::Fetched`] then. Does not block.
    pub fn fetch_pending(&self, envelope: Envelope) {
        if !envelope.remote_files.is_empty() {
            fetch::enqueue(&self.0, envelope);
        }
    }

    /// Raises the cancellation token and waits until the fetching threads have ended.
    pub fn stop(&self) {
        self.0.parts.cancel.cancel();
        self.0.fetches.join();
    }

    /// What is to be done with an entry; `None` when the sender has no access, or it is not for us.
    fn admit(&self, incoming: Incoming) -> Option<Step> {
        match incoming {
            Incoming::Message { envelope, username } => {
                let sender = envelope.sender().cloned().unwrap_or_default();
                let place = envelope.address();
                let group = envelope.is_group.then_some(&place);
                access::note_name(&self.0.parts, &sender, &username);
                if let Some(role) = self.role(&sender, &username, group) {
                    let envelope = Envelope {
                        role,
                        username,
                        ..self.in_language(envelope)
                    };
                    return match self.choose(&envelope) {
                        Chose::Nothing => Some(self.accept(within_bounds(envelope))),
                        Chose::Before => None,
                        Chose::Button(pressed) => self.admit_choice(envelope.id, *pressed),
                    };
                }
                (self.0.parts.lost_access)(&place, &sender.id);
                access::refuse(&self.0.parts, &envelope, &sender);
                None
            }
            Incoming::Edited {
                session,
                reference,
                text,
            } => Some(Step::Edit {
                session,
                reference,
                text,
            }),
            Incoming::Pressed {
                id,
                address,
                is_group,
                sender,
                username,
                message,
                data,
            } => {
                let group = is_group.then_some(&address);
                access::note_name(&self.0.parts, &sender, &username);
                let Some(role) = self.role(&sender, &username, group) else {
                    (self.0.parts.lost_access)(&address, &sender.id);
                    return None;
                };
                let language = self.language_in(&address, &sender);
                let sender = Sender { language, ..sender };
                Some(match buttons::read(&data)? {
                    // What it would allow is not theirs to allow.
                    Press::Answer { .. } if role < Role::Owner => return None,
                    Press::Answer { question, answer } => Step::Tell(Event::Answered {
                        address,
                        sender,
                        message,
                        question,
                        answer,
                    }),
                    Press::Command(command) => Step::Accept(Envelope {
                        id,
                        is_group,
                        role,
                        username,
                        pressed: Some(message),
                        ..Envelope::written(&address, sender, &command)
                    }),
                    Press::Text(text) => Step::Accept(Envelope {
                        id,
                        is_group,
                        role,
                        username,
                        reference: message.id,
                        is_relayed: true,
                        described: BUTTON.to_owned(),
                        ..Envelope::written(&address, sender, &format!("{BUTTON} {text}"))
                    }),
                })
            }
        }
    }

    /// What a message chooses of what was offered in its chat. What a terminal reads is no choice.
    fn choose(&self, envelope: &Envelope) -> Chose {
        let parts = &self.0.parts;
        let Some(choices) = &parts.choices else {
            return Chose::Nothing;
        };
        if choices.was_used(&envelope.id) {
            return Chose::Before;
        }
        let (address, sender) = (envelope.address(), envelope.sender());
        let sender = sender.cloned().unwrap_or_default();
        let has_files = !envelope.remote_files.is_empty() || !envelope.attachments.is_empty();
        if envelope.is_relayed || has_files || (parts.is_awaited)(&address, &sender.id) {
            return Chose::Nothing;
        }
        let sent_at = envelope.sent_at;
        let reply = Reply {
            sent_at,
            ..Reply::new(&envelope.text, envelope.target())
        };
        let chosen = choices.find(&address, &reply);
        let may = |data: &str| match buttons::read(data) {
            Some(Press::Answer { .. }) => envelope.role == Role::Owner,
            pressed => pressed.is_some(),
        };
        let is_private = |chosen: &Chosen| !envelope.is_group || !chosen.is_approved_by_word;
        let chosen = chosen.filter(is_private);
        let Some(chosen) = chosen.filter(|chosen| may(&chosen.data)) else {
            if !envelope.text.starts_with('/') && !choices.is_early(&address, &reply) {
                // The conversation goes on about something else.
                choices.moved_on(&address, true);
            }
            return Chose::Nothing;
        };
        Chose::Button(Box::new(Incoming::Pressed {
            id: envelope.id.clone(),
            address,
            is_group: envelope.is_group,
            sender,
            username: envelope.username.clone(),
            message: chosen.message,
            data: chosen.data,
        }))
    }

    fn admit_choice(&self, id: String, pressed: Incoming) -> Option<Step> {
        Some(match self.admit(pressed)? {
            Step::Tell(event) => Step::Choose { id, event },
            step => step,
        })
    }

    fn accept(&self, envelope: Envelope) -> Step {
        if !(self.0.parts.is_secret)(&envelope) {
            return Step::Accept(envelope);
        }
        // After a crash at this moment it is a key for a terminal that is gone, which its person is told.
        let mut kept = envelope;
        kept.quote.clear();
        let text = kept.typed_text().to_owned();
        kept.text = SECRET.to_owned();
        kept.unmarked.clear();
        Step::Secret { kept, text }
    }

    /// The message with the language in which its sender reads the program's texts. That of their app is noted. Letters
    /// alone do not tell which one it is: then it is what the app has said before.
    fn in_language(&self, mut envelope: Envelope) -> Envelope {
        let (place, languages) = (envelope.address(), &self.0.parts.languages);
        let Origin::Person(sender) = &mut envelope.origin else {
            return envelope;
        };
        if envelope.is_language_guessed && sender.language.is_default() {
            let said = languages.said(&place);
            sender.language = said.filter(|it| !it.has_wide_marks()).unwrap_or_default();
        }
        if !envelope.is_group
            && let Err(error) = languages.note(&place, sender.language)
        {
            tracing::warn!("failed to save the language of a chat: {error}");
        }
        sender.language = self.language_in(&place, sender);
        envelope
    }

    /// The language in which a person reads the program's texts in a chat.
    fn language_in(&self, chat: &Address, sender: &Sender) -> Language {
        let languages = &self.0.parts.languages;
        // Telegram's own Stop comes without the language of the app.
        let said = (languages.said(chat)).filter(|_| sender.language.is_default());
        let chosen = languages.chosen(chat).or(said);
        chosen.unwrap_or(sender.language)
    }

    /// An edit counts only while the message waits.
    fn edit(&self, session: SessionKey, reference: String, text: &str) -> Option<Event> {
        let inbox = &self.0.parts.inbox;
        match inbox.edit(&session, &reference, text) {
            Some(text) => Some(Event::Edited {
                session,
                reference,
                text,
            }),
            // It says that already.
            None if inbox.is_unread(&session, &reference) => None,
            None => Some(Event::EditedLate { session, reference }),
        }
    }

    /// Notifies the gateway, and starts to fetch the files of a message once the gateway knows of it.
    fn tell(&self, event: Event, heartbeat: &Heartbeat) -> bool {
        let with_files = match &event {
            Event::Arrived(envelope) if !envelope.remote_files.is_empty() => Some(envelope.clone()),
            _ => None,
        };
        let is_sent = self.0.send(event, heartbeat);
        if let Some(envelope) = with_files.filter(|_| is_sent) {
            fetch::enqueue(&self.0, envelope);
        }
        is_sent
    }
}

impl Shared {
    /// Sends an event. Waits while the queue is full; false when the gateway has ended.
    fn send(&self, event: Event, heartbeat: &Heartbeat) -> bool {
        self.parts.events.send_while(event, &mut || {
            heartbeat.beat(PATIENCE);
            !self.parts.cancel.wait(QUEUE_LOOK)
        })
    }
}

/// What a message has chosen.
enum Chose {
    Nothing,
    /// An answer, when the channel has sent it before.
    Before,
    Button(Box<Incoming>),
}

impl Step {
    fn message(&self) -> Option<&Envelope> {
        match self {
            Self::Accept(message) | Self::Secret { kept: message, .. } => Some(message),
            _ => None,
        }
    }
}

/// The message with no more files than a message may have. A guest's files are not fetched. What was forwarded says
/// so, even if it is nothing but a file: a recording has words, too.
fn within_bounds(mut envelope: Envelope) -> Envelope {
    if envelope.is_relayed && envelope.text.is_empty() {
        envelope.text = relayed::describe("");
        envelope.described.clone_from(&envelope.text);
    }
    let most = match envelope.role {
        Role::Guest => 0,
        Role::User | Role::Owner => MESSAGE_FILES,
    };
    let more = envelope.remote_files.len().saturating_sub(most);
    if more > 0 {
        envelope.remote_files.truncate(most);
        let files = match (most, more) {
            (0, 1) => "file was",
            (0, _) => "files were",
            _ => "more files were",
        };
        let gap = if envelope.text.is_empty() { "" } else { "\n" };
        envelope.text += &format!("{gap}[{more} {files} not fetched]");
    }
    envelope
}
