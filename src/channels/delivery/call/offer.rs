//! Messages that offer something: with buttons, or with choices where the channel has none.

use super::Caller;
use super::put::put;
use crate::base::message::{Address, OutgoingMessage};
use crate::channels::delivery::work::DraftText;
use crate::channels::kit::adapter::{Button, Connection, Piece, Post, Sent};
use crate::channels::kit::buttons;
use crate::channels::kit::choices::{Offer, describe_commands};
use crate::text::markup;

/// Bytes of a choice's data: every command of the program's own buttons.
const CHOICE_DATA_BYTES: usize = 256;

/// A message as its channel takes it.
pub(super) struct RenderedMessage {
    pub pieces: Vec<Piece>,
    /// What its last piece offers, where there are no buttons.
    pub offer: Option<Offer>,
}

impl Caller<'_> {
    /// The pieces of a message. Without buttons, its choices are a part of its text.
    pub(super) fn render_message(&self, message: &OutgoingMessage) -> RenderedMessage {
        let adapter = &self.parts.adapter;
        let to = &message.to;
        let offered = self.offered(to, &buttons_of(message, CHOICE_DATA_BYTES));
        let Some((offer, choices)) = offered else {
            return RenderedMessage {
                pieces: adapter.render(&message.text),
                offer: None,
            };
        };
        let text = &message.text;
        RenderedMessage {
            pieces: adapter.render(format!("{text}\n\n{choices}").trim_start()),
            offer: Some(if message.command_buttons.is_empty() {
                offer
            } else {
                offer.with_text(markup::parse(text, &|_| false).text())
            }),
        }
    }

    /// What is offered in a chat instead of buttons, and the text that says so. `None` where the channel has buttons.
    pub(super) fn offered(&self, to: &Address, rows: &[Vec<Button>]) -> Option<(Offer, String)> {
        let language = self.parts.languages.get(to);
        self.parts.choices.as_ref()?.prepare(to, rows, language)
    }

    /// What stands below a draft instead of its buttons, and what it offers. A live view names the commands.
    pub(super) fn instead_of_buttons(
        &self,
        to: &Address,
        text: &DraftText,
    ) -> (String, Option<Offer>) {
        if self.parts.choices.is_none() {
            return (String::new(), None);
        }
        if text.is_live {
            let language = self.parts.languages.get(to);
            return (describe_commands(&text.buttons, language), None);
        }
        let rows = buttons::for_commands(&text.buttons, CHOICE_DATA_BYTES);
        let (offer, choices) = self.offered(to, &rows).unzip();
        (choices.unwrap_or_default(), offer)
    }

    /// Like [`put`], for a message that may offer choices.
    pub(super) fn put_offer(
        &self,
        connection: &mut dyn Connection,
        to: &Address,
        (post, plain): (&Post<'_>, &str),
        (edits, offer): (Option<&str>, Option<Offer>),
    ) -> Sent<Option<String>> {
        if let (Some(choices), Some(message)) = (&self.parts.choices, edits) {
            choices.replaced(to, message);
        }
        let Some((choices, offer)) = self.parts.choices.as_ref().zip(offer) else {
            return put(connection, to, post, plain, edits);
        };
        choices.add(offer);
        let sent = put(connection, to, post, plain, edits);
        match sent.as_ref().map(|sent| sent.as_deref().or(edits)) {
            Ok(Some(message)) => choices.sent(to, message),
            Ok(None) | Err(_) => choices.take_back(to),
        }
        sent
    }

    /// What the channel is given as buttons.
    pub(super) fn posted<'b>(&self, rows: &'b [Vec<Button>]) -> &'b [Vec<Button>] {
        match self.parts.choices {
            None => rows,
            Some(_) => &[],
        }
    }
}

/// The buttons of a message.
pub(super) fn buttons_of(message: &OutgoingMessage, data_bytes: usize) -> Vec<Vec<Button>> {
    let mut rows = buttons::for_labels(&message.buttons, data_bytes);
    rows.extend(buttons::for_commands(&message.command_buttons, data_bytes));
    rows
}
