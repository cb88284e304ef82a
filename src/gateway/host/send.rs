//! What a turn puts into the outbox.

use super::ChatHost;
use crate::agent::host::TurnHost;
use crate::agent::{Agent, Outcome, Report, Spoken};
use crate::base::access::Role;
use crate::base::bus::Event;
use crate::base::chat::SendRequest;
use crate::base::error::{Error, Result};
use crate::base::message::{Address, OutgoingMessage, Writer};
use crate::gateway::commands::texts;
use crate::store::outbox::ClosesTurn;
use crate::text::markup::plain;
use crate::text::one_line;
use crate::tools::Caller;

/// Characters of a person's name beside the conversation that they are in.
const WHO_NAME_CHARS: usize = 30;
/// Texts of the message tool that are remembered in a turn, so that the answer repeats none.
const SENT_TEXTS_MAX: usize = 8;

impl ChatHost<'_> {
    /// Whose turn it is: the conversation, which no one chooses, and in quotation marks the name that the person has.
    pub(super) fn who(&self) -> String {
        let name = one_line(&self.name, WHO_NAME_CHARS).replace('"', "'");
        if name.is_empty() {
            self.reply.to_string()
        } else {
            format!("{} \"{name}\"", self.reply)
        }
    }

    /// Stores a message that the model sends beside its answer.
    pub(super) fn send_beside(&mut self, request: SendRequest) -> Result<()> {
        let to = request.to.as_deref().map(Address::parse);
        let to = to.unwrap_or_else(|| self.reply.clone());
        let is_here = to == self.reply;
        if !is_here && !self.hosted.knows(&to) {
            return Err(Error::Failed(format!(
                "{to} is not a chat that you know: no one has written to you there"
            )));
        }
        if !is_here && self.gateway.role_in(&to, None, Role::Guest).is_none() {
            return Err(Error::Failed(format!(
                "{to} is the chat of someone who has no access any more"
            )));
        }
        let text = request.text.clone();
        let has_mark = !is_here && self.role < Role::Owner;
        if has_mark && !request.buttons.is_empty() {
            // A press would be a message of the one who presses, with their rights.
            return Err(Error::Failed(format!(
                "buttons go to the chat of this conversation only, and {to} is another one: put the choices into the words"
            )));
        }
        let agent = self.hosted.agent()?;
        let is_spoken = request.is_spoken;
        let shown = if has_mark {
            texts::from_conversation(
                self.gateway.parts.languages.get(&to),
                &plain(&self.who()),
                &request.text,
            )
        } else {
            request.text
        };
        // Whose words they are is heard, too.
        let spoken = is_spoken.then(|| self.speak(&agent, &shown));
        let files = request.files.iter();
        let mut message = OutgoingMessage {
            files: files.map(|file| self.hosted.absolute(file)).collect(),
            sticker: request.sticker,
            buttons: request.buttons,
            from: Writer::Model,
            ..OutgoingMessage::text(&to, shown)
        };
        let not_spoken = match spoken.transpose() {
            Ok(spoken) => {
                if let Some(spoken) = spoken.flatten() {
                    message.files.insert(0, spoken.path);
                    message.voice = spoken.seconds;
                }
                None
            }
            Err(error) => Some(error),
        };
        self.gateway.enqueue(self.stamped(message), None)?;
        if is_here && self.sent.len() < SENT_TEXTS_MAX {
            self.sent.push(text);
        }
        match not_spoken {
            None => Ok(()),
            Some(error) => Err(Error::Failed(format!(
                "the words are on their way, but could not be spoken: {error}"
            ))),
        }
    }

    /// Speaks the answer of a turn, where the chat wants that and the model has not sent it already. Its text is on its way;
    /// a kill meanwhile loses the voice.
    pub fn speak_answer(&self, report: &Report) {
        let text = report.text.trim();
        let is_sent = self.sent.iter().any(|sent| sent.trim() == text);
        let is_answer = matches!(report.outcome, Outcome::Answered) && !text.is_empty();
        let agent = self.hosted.agent();
        let agent = agent.ok().filter(|agent| agent.has_voice(&self.session));
        let Some(agent) = agent.filter(|_| is_answer && !is_sent && !self.is_quiet()) else {
            return;
        };
        // Others may have its slot meanwhile.
        self.gateway.events.send(Event::Waits(self.work.id));
        let stored = self.speak(&agent, text).and_then(|spoken| {
            let Some(spoken) = spoken else {
                return Ok(());
            };
            let message = OutgoingMessage {
                files: vec![spoken.path.clone()],
                voice: spoken.seconds,
                ..OutgoingMessage::text(&self.reply, "")
            };
            let stored = self.gateway.enqueue(message, None).map(drop);
            stored.inspect_err(|_| self.gateway.parts.outgoing.remove(&spoken.path))
        });
        if self.work.cancel.is_cancelled() || self.gateway.is_stopping() {
            return;
        }
        let whose = (&self.session, self.role);
        if let Some(text) = agent.note_spoken(whose, stored.as_ref().err(), self.language) {
            self.gateway.tell(&self.reply, &text);
        }
    }

    fn speak(&self, agent: &Agent, text: &str) -> Result<Option<Spoken>> {
        let caller = Caller::new(self.session.as_str(), self.role, "", &self.work.cancel);
        agent.speak(text, &self.gateway.parts.outgoing, &caller, self.language)
    }

    /// Stores the answer that closes the turn, or why it failed (`closes` is `None`), and waits while that fails. Meanwhile
    /// others may have its slot.
    pub(super) fn store_answer(
        &mut self,
        message: &OutgoingMessage,
        closes: Option<ClosesTurn>,
    ) -> Result<()> {
        if closes.is_none() && self.job.is_none() {
            self.gateway.note_failed(&self.reply, &self.reference);
        }
        let cancel = self.work.cancel.clone();
        let mut waits = false;
        let mut stored = self.gateway.enqueue(message.clone(), closes.clone());
        while let Err(error) = &stored {
            let is_passing = !matches!(error, Error::TooLarge { .. });
            if is_passing && !waits {
                waits = self.gateway.events.send(Event::Waits(self.work.id));
            }
            if !is_passing || !self.retry_write(error, &cancel) {
                break;
            }
            stored = self.gateway.enqueue(message.clone(), closes.clone());
        }
        if waits && self.gateway.events.send(Event::GoesOn(self.work.id)) {
            self.wait_for_slot();
        }
        stored.map(drop)
    }
}
