//! What was offered in each chat, and which of it a reply means. PURE.
//!
//! A number must never mean something that its writer has not seen: so an offer's numbers go on where those of the
//! other open offers of its chat end. What allows a command has random numbers, which no list in another text has. An offer of commands is over once the chat has moved on. A question of the model's
//! is open until it is answered, another one replaces it, or its time is over: an answer goes to the model, which knows
//! what has been said since.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{CHOICES_TIME, CHOICES_USED, CLOCK_TOLERANCE, OFFERS, OFFERS_IN_CHAT, READ_TIME};
use crate::base::approval::Answer;
use crate::base::language::{NO, YES};
use crate::base::message::{Address, PressedMessage, UNKNOWN_MESSAGE};
use crate::channels::kit::buttons::{self, Press};
use crate::text::truncate_bytes;

/// Bytes of an offer's message that are kept: a reminder with all of its text.
const OFFER_TEXT_BYTES: usize = 4608;
/// The command with which a plan begins, or goes on.
const PLAN_START: &str = "/plan approve";
/// Characters of a reply that can be a choice; a button's label is shorter.
const CHOICE_REPLY_CHARS: usize = 80;

/// One choice of an offer: what a button would be elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What people read.
    pub label: String,
    /// What the button would carry.
    pub data: String,
}

/// What one message offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Where.
    pub chat: Address,
    /// The message's id within the chat; empty until the channel has said it.
    #[serde(default)]
    pub message: String,
    /// The message's text without markup; empty where nothing needs it.
    #[serde(default)]
    pub text: String,
    /// The number of the first choice; 0 when the choices have no numbers.
    pub first: usize,
    /// The choices.
    pub choices: Vec<Choice>,
    /// The question that it answers, which is open until it is closed.
    #[serde(default)]
    pub question: Option<u64>,
    /// Whether the chat has not moved on since.
    pub is_current: bool,
    /// When its message had come whole, in seconds since 1970; `None` before that.
    #[serde(default)]
    pub shown_at: Option<i64>,
    /// End of the time in which a question of the model's is open, in seconds since 1970; `None` for other offers.
    #[serde(default)]
    pub until: Option<i64>,
}

impl Offer {
    /// An offer that is being made.
    pub fn new(chat: &Address, first: usize, choices: Vec<Choice>) -> Self {
        Self {
            chat: chat.clone(),
            message: String::new(),
            text: String::new(),
            first,
            choices,
            question: None,
            is_current: true,
            shown_at: None,
            until: None,
        }
    }

    /// The same as a question of the model's, asked at this time.
    #[must_use]
    pub fn asked_at(mut self, now: i64) -> Self {
        self.until = Some(now.saturating_add_unsigned(CHOICES_TIME.as_secs()));
        self
    }

    /// The same with the text of its message.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        truncate_bytes(text, OFFER_TEXT_BYTES).clone_into(&mut self.text);
        self
    }

    fn is_open(&self, now: i64) -> bool {
        match self.until {
            Some(until) => now < until,
            None => self.is_current || self.question.is_some(),
        }
    }

    /// Whether someone had the time to read it before they sent a reply, at this time where that is known.
    fn was_read(&self, sent_at: Option<i64>, now: i64) -> bool {
        self.shown_at.is_some_and(|shown| {
            // A time that is unknown, or is still to come, says nothing.
            let latest = now.saturating_add_unsigned(CLOCK_TOLERANCE.as_secs());
            let is_later = sent_at.is_some_and(|sent| (shown..=latest).contains(&sent));
            is_later && now >= shown.saturating_add_unsigned(READ_TIME.as_secs())
        })
    }

    fn is_over(&mut self) {
        self.is_current = false;
        self.until = self.until.map(|_| 0);
    }

    fn chosen(&self, choice: &Choice) -> Chosen {
        Chosen {
            is_approved_by_word: false,
            message: PressedMessage {
                id: self.message.clone(),
                text: self.text.clone(),
            },
            data: choice.data.clone(),
        }
    }

    fn by_number(&self, number: usize) -> Option<&Choice> {
        let first = Some(self.first).filter(|first| *first > 0)?;
        self.choices.get(number.checked_sub(first)?)
    }

    /// Whether a choice begins a plan, which a reply may cross as it may a question about a command.
    fn begins_plan(choice: &Choice) -> bool {
        matches!(buttons::read(&choice.data), Some(Press::Command(command)) if command.starts_with(PLAN_START))
    }

    /// Whether it asks for an approval.
    fn is_approval(&self) -> bool {
        self.choices
            .iter()
            .any(|choice| super::is_answer(&choice.data))
    }

    fn by_label(&self, label: &str) -> Option<&Choice> {
        let answer = match label {
            yes if YES.contains(&yes) => Some(Answer::Once),
            no if NO.contains(&no) => Some(Answer::Deny),
            _ => None,
        };
        if let Some(meant) = answer.filter(|_| self.is_approval()) {
            let is_meant = |choice: &&Choice| matches!(buttons::read(&choice.data), Some(Press::Answer { answer, .. }) if answer == meant);
            return self.choices.iter().find(is_meant);
        }
        let is_meant = |choice: &&Choice| {
            let others = buttons::in_other_words(&choice.data, &choice.label);
            let mut all = others.into_iter().chain([choice.label.as_str()]);
            all.any(|one| bare(one) == label)
        };
        self.choices.iter().find(is_meant)
    }
}

/// A message that may choose something.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// What it says.
    pub text: &'a str,
    /// The message that it replies to; may be empty, or [`UNKNOWN_MESSAGE`].
    pub quoted: &'a str,
    /// When it was sent, in seconds since 1970, where the channel says so.
    pub sent_at: Option<i64>,
}

impl<'a> Reply<'a> {
    /// One that was sent at a time which is not known.
    pub const fn new(text: &'a str, quoted: &'a str) -> Self {
        Self {
            text,
            quoted,
            sent_at: None,
        }
    }
}

/// What a reply has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The message that offered it.
    pub message: PressedMessage,
    /// What its button would carry.
    pub data: String,
    /// Whether it answers a question about a command by nothing but a word, which only counts in a private chat.
    pub is_approved_by_word: bool,
}

/// The offers of a channel, oldest first, and the replies that have answered questions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Book {
    offers: Vec<Offer>,
    #[serde(default)]
    used: VecDeque<String>,
}

impl Book {
    /// The number of the next choice in a chat.
    pub fn next_number(&self, chat: &Address, now: i64) -> usize {
        let open = self
            .of(chat)
            .filter(|offer| offer.is_open(now) && offer.first > 0 && !offer.is_approval());
        let ends = open.map(|offer| offer.first + offer.choices.len());
        ends.max().unwrap_or(1)
    }

    /// Whether a number is one of an open offer in a chat.
    pub fn has_number(&self, chat: &Address, number: usize) -> bool {
        self.of(chat).any(|offer| offer.by_number(number).is_some())
    }

    /// Adds an offer. Of too many the oldest goes.
    pub fn add(&mut self, offer: Offer) {
        let is_same = |other: &Offer| other.chat == offer.chat;
        if self.of(&offer.chat).count() >= OFFERS_IN_CHAT
            && let Some(oldest) = self.offers.iter().position(is_same)
        {
            self.offers.remove(oldest);
        }
        if self.offers.len() >= OFFERS {
            self.offers.remove(0);
        }
        self.offers.push(offer);
    }

    /// The offer that was made last in a chat has come there, as this message. A question replaces the one before.
    pub fn sent(&mut self, chat: &Address, message: &str, now: i64) {
        let Some(at) = self.unsent(chat) else {
            return;
        };
        let (before, newest) = self.offers.split_at_mut(at);
        message.clone_into(&mut newest[0].message);
        newest[0].shown_at = Some(now);
        if newest[0].until.is_some() {
            let questions = before.iter_mut().filter(|offer| offer.until.is_some());
            questions
                .filter(|offer| offer.chat == *chat)
                .for_each(Offer::is_over);
        }
    }

    /// A message's question of the model's has been answered. Returns whether anything has changed.
    pub fn answered(&mut self, chat: &Address, message: &str) -> bool {
        let mut questions = self.offers.iter_mut().filter(|it| it.until.is_some());
        let found = questions.find(|it| it.chat == *chat && it.message == message);
        found.map(Offer::is_over).is_some()
    }

    /// The offer that was made last in a chat has not come there.
    pub fn take_back(&mut self, chat: &Address) {
        if let Some(last) = self.unsent(chat) {
            self.offers.remove(last);
        }
    }

    /// A message offers something else now, or nothing.
    pub fn replaced(&mut self, chat: &Address, message: &str) {
        self.offers
            .retain(|offer| offer.chat != *chat || offer.message != message);
    }

    /// Something else was said in a chat, by the agent or by a person: a number may be an answer to that from now on.
    /// Returns whether anything has changed.
    pub fn moved_on(&mut self, chat: &Address, is_by_person: bool) -> bool {
        let offers = self.offers.iter_mut();
        let offers = offers.filter(|offer| is_by_person || offer.until.is_none());
        let current = offers.filter(|offer| offer.chat == *chat && offer.is_current);
        let count = current.map(|offer| offer.is_current = false).count();
        count > 0
    }

    /// A question is over. Its message can still be replied to, until the chat moves on.
    pub fn close(&mut self, question: u64) -> bool {
        let mut offers = self.offers.iter_mut();
        let offer = offers.find(|offer| offer.question == Some(question));
        offer.is_some_and(|offer| offer.question.take().is_some())
    }

    /// What a reply chooses in a chat.
    pub fn find(&self, chat: &Address, reply: &Reply<'_>, now: i64) -> Option<Chosen> {
        self.find_read(chat, reply, now, &|offer| {
            offer.was_read(reply.sent_at, now)
        })
    }

    /// Whether a reply would allow a command or begin a plan, had its writer been able to read what is offered.
    pub fn is_early(&self, chat: &Address, reply: &Reply<'_>, now: i64) -> bool {
        self.find(chat, reply, now).is_none()
            && self.find_read(chat, reply, now, &|_| true).is_some()
    }

    fn find_read(
        &self,
        chat: &Address,
        reply: &Reply<'_>,
        now: i64,
        was_read: &dyn Fn(&Offer) -> bool,
    ) -> Option<Chosen> {
        let (text, quoted) = (reply.text.trim(), reply.quoted);
        if text.is_empty() || text.contains('\n') || text.chars().count() > CHOICE_REPLY_CHARS {
            return None;
        }
        let is_of_another =
            !quoted.is_empty() && !self.of(chat).any(|offer| offer.message == quoted);
        let is_meant = |offer: &&Offer| match quoted {
            "" => offer.is_open(now),
            UNKNOWN_MESSAGE => false,
            // A mail always replies to one, such as to the closing words below a question.
            _ if is_of_another => offer.until.is_some() && offer.is_open(now),
            message => offer.message == message,
        };
        let newest_first = || self.of(chat).rev().filter(is_meant);
        let may_be_chosen = |offer: &Offer, choice: &Choice| {
            !quoted.is_empty() || !Offer::begins_plan(choice) || was_read(offer)
        };
        if let Some(number) = number(text) {
            let found = |offer: &Offer| {
                let choice = offer.by_number(number)?;
                let mut chosen =
                    Some(offer.chosen(choice)).filter(|_| may_be_chosen(offer, choice))?;
                let is_passed = quoted.is_empty() && !offer.is_current;
                if offer.until.is_some() && (is_passed || is_of_another) {
                    // The model may have asked for a number since, in its own words.
                    chosen.data += &format!(" (typed: {number})");
                }
                Some(chosen)
            };
            // What is quoted may be the message that is being sent: its id is not known yet. The numbers of approvals are
            // in no other one.
            let is_unknown = quoted == UNKNOWN_MESSAGE;
            let may_be_quoted = |offer: &&Offer| {
                let may_be = is_of_another && offer.message.is_empty();
                offer.is_approval() && (may_be || is_unknown && offer.is_open(now))
            };
            let newest_first = self.of(chat).rev();
            let mut meant = newest_first.filter(|offer| is_meant(offer) || may_be_quoted(offer));
            return meant.find_map(found);
        }
        let label = bare(text);
        if label.is_empty() {
            return None;
        }
        let mut found = newest_first().filter_map(|offer| Some((offer, offer.by_label(&label)?)));
        let (offer, choice) = found.next()?;
        if !offer.is_approval() || !quoted.is_empty() {
            return may_be_chosen(offer, choice).then(|| offer.chosen(choice));
        }
        // A word may answer whatever was said last, or another question, which it may have crossed.
        let is_alone = newest_first().count() == 1;
        let refuses = matches!(
            buttons::read(&choice.data),
            Some(Press::Answer {
                answer: Answer::Deny,
                ..
            })
        );
        let is_meant = is_alone && offer.is_current;
        (is_meant && (refuses || was_read(offer))).then(|| Chosen {
            is_approved_by_word: true,
            ..offer.chosen(choice)
        })
    }

    /// Notes that a reply has answered a question; `id` is the message's.
    pub fn note_used(&mut self, id: &str) {
        if self.used.len() >= CHOICES_USED {
            self.used.pop_front();
        }
        self.used.push_back(id.to_owned());
    }

    /// Whether a message has answered a question before: the channel has sent it again.
    pub fn was_used(&self, id: &str) -> bool {
        !id.is_empty() && self.used.iter().any(|used| used == id)
    }

    /// The offers as the next run of the program takes them: a question does not outlive its run.
    pub fn restored(mut self) -> Self {
        let over = self.offers.len().saturating_sub(OFFERS);
        self.offers.drain(..over);
        for offer in &mut self.offers {
            offer.question = None;
        }
        self.offers.retain(|offer| !offer.message.is_empty());
        let over = self.used.len().saturating_sub(CHOICES_USED);
        self.used.drain(..over);
        self
    }

    fn of(&self, chat: &Address) -> impl DoubleEndedIterator<Item = &Offer> {
        self.offers.iter().filter(move |offer| offer.chat == *chat)
    }

    fn unsent(&self, chat: &Address) -> Option<usize> {
        let is_unsent = |offer: &Offer| offer.chat == *chat && offer.message.is_empty();
        self.offers.iter().rposition(is_unsent)
    }
}

/// The number that a reply is, such as `2`, `2.` or `２`.
fn number(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(['.', ')', '。', '）', '、']);
    let digit = |char: char| match char {
        '０'..='９' => char::from_digit(char as u32 - '０' as u32, 10),
        char => char.is_ascii_digit().then_some(char),
    };
    let digits: Option<String> = digits.chars().map(digit).collect();
    digits?.parse().ok()
}

/// A label without the signs around it, in lower case: `✓ Done` is `done`.
fn bare(label: &str) -> String {
    let is_sign = |char: char| !char.is_alphanumeric() && !matches!(char, '?' | '？');
    label.trim_matches(is_sign).to_lowercase()
}
