//! Confirmations of pressed buttons, and the choices that they show.

use std::collections::VecDeque;

use super::api::{Api, ApiError, ChatTarget};
use super::update::{Chosen, Meaning, Pressed};
use crate::base::access::Role;
use crate::base::message::Address;
use crate::channels::kit::sink::SharedSink;
use crate::channels::kit::texts::already_chosen;
use crate::text::one_line;

/// Messages of which it is known that a button was pressed. Their buttons go with that press: only presses at the same
/// moment come later.
const ANSWERED_MAX: usize = 64;
/// Characters of the name of a person who has chosen something in a group.
const NAME_CHARS: usize = 40;
/// UTF-16 units of a text, and of a caption.
const TEXT_UNITS: (usize, usize) = (4096, 1024);

/// A press that is to be confirmed.
pub(super) struct ToConfirm {
    pub callback: String,
    pub toast: &'static str,
    /// `None` without access.
    pub role: Option<Role>,
    /// The message that shows what was chosen with it.
    shown: Option<ToShow>,
}

/// A message whose buttons give way to what was chosen.
struct ToShow {
    place: ChatTarget,
    message: i64,
    chosen: Chosen,
    /// The person's name, in a group.
    who: Option<String>,
}

impl ToConfirm {
    fn of(pressed: &Pressed, intake: &SharedSink) -> Self {
        let Pressed {
            callback,
            sender,
            username,
            data,
            chat,
            is_group,
            chosen,
            message,
            ..
        } = pressed;
        let group = is_group.then_some(chat);
        let notice = intake.press_notice(sender, username, group, data);
        let role = intake.role(sender, username, group);
        let shown = || {
            Some(ToShow {
                place: ChatTarget::parse(chat)?,
                message: message.id.parse().ok()?,
                chosen: chosen.clone()?,
                who: is_group.then(|| one_line(&sender.name, NAME_CHARS)),
            })
        };
        Self {
            callback: callback.clone(),
            toast: notice.unwrap_or_default(),
            role,
            shown: role.and_then(|_| shown()),
        }
    }

    /// Confirms the press and shows what was chosen.
    pub fn confirm(&self, api: &Api) -> Result<(), ApiError> {
        let confirmed = api.answer_callback_query(&self.callback, self.toast);
        let shown = match (&self.shown, confirmed) {
            (None, confirmed) => confirmed,
            (_, Err(error)) if !error.is_final() => return Err(error),
            (Some(shown), _) => shown.show(api),
        };
        match shown {
            Err(error) if error.is_final() => {
                tracing::debug!("a pressed button is shown as it was: {error}");
                Ok(())
            }
            shown => shown,
        }
    }
}

impl ToShow {
    /// Adds the choice to the text, where there is room, and takes the buttons away.
    fn show(&self, api: &Api) -> Result<(), ApiError> {
        let Chosen {
            label,
            text,
            entities,
            is_caption,
        } = &self.chosen;
        let text = match self.who.as_deref() {
            Some(who) if !who.is_empty() => format!("{text}\n✓ {label} ({who})"),
            _ => format!("{text}\n✓ {label}"),
        };
        let most = match is_caption {
            true => TEXT_UNITS.1,
            false => TEXT_UNITS.0,
        };
        if !self.chosen.text.is_empty() && text.encode_utf16().count() <= most {
            match api.edit_formatted(self.place, self.message, (&text, entities), *is_caption) {
                Err(error) if error.is_final() => {}
                edited => return edited,
            }
        }
        api.edit_reply_markup(self.place, self.message, &[])
    }
}

/// The messages of which a choice was taken, by their chat and number.
#[derive(Default)]
pub(super) struct Answered(VecDeque<(Address, String)>);

impl Answered {
    /// Lists the presses of a batch to confirm, and removes those that come after another one of the same message.
    /// Returns the messages that the others have answered.
    pub fn take(
        &self,
        meanings: &mut [Meaning],
        presses: &mut Vec<ToConfirm>,
        intake: &SharedSink,
    ) -> Vec<(Address, String)> {
        let mut new = Vec::new();
        for meaning in meanings {
            let Meaning::Pressed(pressed) = meaning else {
                continue;
            };
            let mut press = ToConfirm::of(pressed, intake);
            if press.shown.is_some() {
                let key = (pressed.chat.clone(), pressed.message.id.clone());
                if self.0.contains(&key) || new.contains(&key) {
                    press.shown = None;
                    press.toast = already_chosen(pressed.sender.language);
                    *meaning = Meaning::Nothing;
                } else {
                    new.push(key);
                }
            }
            if !press.callback.is_empty() {
                presses.push(press);
            }
        }
        new
    }

    /// Keeps the messages that were answered.
    pub fn note(&mut self, answered: Vec<(Address, String)>) {
        self.0.extend(answered);
        let more = self.0.len().saturating_sub(ANSWERED_MAX);
        self.0.drain(..more);
    }
}
