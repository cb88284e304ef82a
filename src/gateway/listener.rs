//! Hears a turn for a chat: shows it, asks the person, and owes the answer before it is given.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Gateway;
use super::screen::Screen;
use crate::agent::host::{TurnEvent, TurnHost};
use crate::approval::{Answer, Question};
use crate::cancel::Cancel;
use crate::chat::Letter;
use crate::error::{Error, Result};
use crate::limits::gateway::SENT_TEXTS;
use crate::message::{Address, Envelope, Outbound, OutgoingMessage};

/// The listener of one turn.
pub struct ChatListener<'a> {
    gateway: &'a Arc<Gateway>,
    chat: Address,
    /// The message that the answer answers.
    reference: String,
    screen: Arc<Mutex<Screen>>,
    /// What the model has sent to this chat itself.
    sent: Vec<String>,
    /// What was handed to the turn and does not stand in its journal yet.
    handed: Vec<Envelope>,
}

impl<'a> ChatListener<'a> {
    /// A listener for a turn of a chat that begins with a message, or goes on.
    pub fn new(gateway: &'a Arc<Gateway>, chat: &Address, message: Option<&Envelope>) -> Self {
        Self {
            gateway,
            chat: chat.clone(),
            reference: message.map_or_else(String::new, |message| message.reference.clone()),
            screen: Arc::new(Mutex::new(Screen::new(gateway.shows()))),
            sent: Vec::new(),
            handed: Vec::new(),
        }
    }

    /// What was handed to the turn and is not in its journal.
    pub fn unread(&mut self) -> Vec<Envelope> {
        std::mem::take(&mut self.handed)
    }
}

impl ChatListener<'_> {
    /// Shows the draft when it is due, and sees to it that it is shown when it is due later.
    fn show(&self) {
        let (gateway, screen) = (Arc::clone(self.gateway), Arc::clone(&self.screen));
        let (chat, reply_to) = (self.chat.clone(), self.reference.clone());
        let show = move |screen: &mut Screen| {
            if let Some(text) = screen.due() {
                let (chat, reply_to) = (chat.clone(), reply_to.clone());
                gateway.show(Outbound::Draft {
                    chat,
                    text,
                    reply_to,
                });
            }
        };
        show(&mut lock(&self.screen));
        let mut wait = lock(&self.screen).watch();
        if wait.is_none() {
            return;
        }
        self.gateway.timers.spawn(async move {
            while let Some(time) = wait {
                tokio::time::sleep(time).await;
                let mut screen = lock(&screen);
                show(&mut screen);
                screen.watched();
                // Something else may have been shown meanwhile, and the interval begun anew.
                wait = screen.watch();
            }
        });
    }
}

impl Drop for ChatListener<'_> {
    fn drop(&mut self) {
        // A look that comes later finds nothing to show.
        lock(&self.screen).close();
    }
}

fn lock(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TurnHost for ChatListener<'_> {
    fn on_event(&mut self, event: TurnEvent<'_>) {
        if let TurnEvent::Notice(what) = event {
            tracing::warn!(chat = %self.chat, "{what}");
        }
        lock(&self.screen).on_event(&event);
        self.show();
    }

    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Answer {
        self.gateway.ask(&self.chat, question, cancel)
    }

    fn interjections(&mut self) -> Vec<Envelope> {
        let messages = self.gateway.lanes().interjections(&self.chat);
        if let Some(last) = messages.last() {
            self.reference.clone_from(&last.reference);
        }
        self.handed.clone_from(&messages);
        messages
    }

    fn journalled(&mut self, id: &str) {
        self.handed.retain(|message| message.id != id);
        self.gateway.inbox().taken(id);
    }

    fn close(&mut self, text: &str, turn: Option<u64>) -> Result<()> {
        let said = |sent: &String| sent.trim() == text.trim();
        if text.trim().is_empty() || self.sent.iter().any(said) {
            return Ok(());
        }
        let parcel = OutgoingMessage {
            reply_to: self.reference.clone(),
            replaces_draft: true,
            ..OutgoingMessage::text(&self.chat, text)
        };
        self.gateway.owe(parcel, turn)?;
        lock(&self.screen).close();
        Ok(())
    }

    fn send(&mut self, letter: Letter) -> Result<()> {
        let to = letter
            .to
            .as_deref()
            .map_or_else(|| self.chat.clone(), Address::parse);
        let parcel = OutgoingMessage {
            files: letter.files,
            buttons: letter.buttons,
            ..OutgoingMessage::text(&to, letter.text)
        };
        let is_here = parcel.to == self.chat;
        if !is_here && !self.gateway.knows(&parcel.to) {
            return Err(Error::Failed(format!(
                "{} is no chat in which somebody has spoken with me",
                parcel.to
            )));
        }
        let text = parcel.text.clone();
        self.gateway.owe(parcel, None)?;
        if is_here && self.sent.len() < SENT_TEXTS {
            self.sent.push(text);
        }
        Ok(())
    }
}
