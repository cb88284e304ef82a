//! Pending approvals: questions that wait for a person's answer.

mod allowance;
mod offered;
mod refused;
#[cfg(test)]
mod tests;
mod typed;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

pub use allowance::Countdowns;
use offered::PlanMessage;

use super::Gateway;
use super::agents::Hosted;
use super::commands::Call;
use crate::agent::commands::CommandAnswer;
use crate::base::approval::{AlwaysOption, Answer, Question};
use crate::base::bus::Event;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::agent::ANSWER_TIME;
use crate::base::limits::cancel::POLL;
use crate::base::limits::gateway::QUESTION_NUMBERS;
use crate::base::message::{
    Address, CommandButton, Envelope, OutgoingMessage, PressedMessage, Sender, SessionKey,
};
use crate::base::sync::{Condvar, Mutex};
use crate::channels::delivery::question::{Asked, name_command};
use crate::channels::kit::texts::answers::outcome;
use crate::channels::kit::texts::{approve as texts, question_closed};
use crate::text::markup::{inline_code, plain};
use crate::text::{reveal_but, truncate_bytes, truncate_chars};
use crate::tools::Caller;
use crate::tools::commands::{Attempt, ask_and_retry};

/// Characters of a mistyped number that are shown again.
const NUMBER_CHARS: usize = 40;
/// Characters of a command on a button that answers the question about it.
const BUTTON_CHARS: usize = 40;
/// How long a question has been in its chat before an answer without its number can be meant for it.
const READ_TIME: Duration = Duration::from_secs(2);
/// How far the clocks of channels may be ahead of the board's.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);
/// Questions remembered after they were closed; their buttons are pressed twice at once or never.
const CLOSED_QUESTIONS: usize = 16;
/// Bytes of a question of an earlier run that stay in its message when it is pressed: with why nothing was done it
/// is still one message.
const CLOSED_QUESTION_BYTES: usize = 3_000;

/// The questions of this run of the program.
#[derive(Default)]
pub struct Approvals {
    questions: Mutex<Questions>,
    answered: Condvar,
}

#[derive(Default)]
struct Questions {
    /// By their numbers.
    open: BTreeMap<u64, Open>,
    /// The numbers of those that were closed last: a button may be pressed twice.
    closed: VecDeque<u64>,
    /// The chats in which nothing was said since a person wrote there.
    heard: VecDeque<Address>,
    /// The plans that wait for a word, each as the last thing said in its chat; the oldest first.
    offered: VecDeque<offered::Offered>,
    /// The commands that were refused, each by its message's id, whose question says so already; the oldest first.
    refused: VecDeque<String>,
    /// Whether the gateway stops, so that no question waits any longer.
    is_shutting_down: bool,
}

struct Open {
    chat: Address,
    /// What it is about, as Markdown within a line.
    command: String,
    /// What its buttons say, in lower case.
    labels: Vec<(String, Answer)>,
    /// Whether someone who wrote something else was told that it waits.
    is_reminded: bool,
    /// Whether "yes" may be an answer to something else: to what was said behind the question, or before it since the
    /// person wrote; or they cannot expect the question.
    is_ambiguous: bool,
    always: AlwaysOption,
    can_allow_all: bool,
    /// When it had come to the chat as a whole; `None` before that.
    shown: Option<Shown>,
    /// Whether someone has named its number: they have seen it, even where the channel has not said yet that it is there.
    is_seen: bool,
    answer: Option<Answer>,
    /// Who gave it.
    by: String,
}

struct Shown {
    /// The message's id; empty where the channel does not say it.
    message: String,
    /// Milliseconds since 1970.
    at_ms: i64,
    /// Runs since then.
    watch: Stopwatch,
}

/// An answer to a question.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// What was answered.
    pub answer: Answer,
    /// The name of the person who answers.
    pub by: &'a str,
    /// When it was written, in seconds since 1970; `None` where the channel does not say so.
    pub sent_at: Option<i64>,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It counts.
    Yes,
    /// No open question of the chat is meant.
    Unknown,
    /// The question with this number stays open: its command can be allowed once only.
    OnceOnly(u64, AlwaysOption),
    /// The question stays open: it does not offer to allow everything.
    NotEverything,
}

impl Approvals {
    /// Opens a question of a conversation in a chat, which may be another one. Its number cannot be guessed.
    pub fn open(&self, asker: &SessionKey, chat: &Address, question: &Question) -> u64 {
        let mut questions = self.questions.lock();
        let is_own = *asker == chat.session() && question.asked_for.is_empty();
        let is_ambiguous = !is_own || !questions.heard.contains(chat);
        let open = &mut questions.open;
        loop {
            let mut bytes = [0; 8];
            // Without randomness the numbers still differ from each other.
            let _ = SystemRandom::new().fill(&mut bytes);
            let (low, span) = (
                QUESTION_NUMBERS.start,
                QUESTION_NUMBERS.end - QUESTION_NUMBERS.start,
            );
            let number = low + (u64::from_ne_bytes(bytes) + open.len() as u64) % span;
            if let Entry::Vacant(place) = open.entry(number) {
                place.insert(Open {
                    chat: chat.clone(),
                    command: name_command(question),
                    labels: typed::labels(question),
                    is_reminded: false,
                    is_ambiguous,
                    always: question.always,
                    can_allow_all: question.can_allow_all,
                    shown: None,
                    is_seen: false,
                    answer: None,
                    by: String::new(),
                });
                return number;
            }
        }
    }

    /// A question is in its chat as a whole, as this message, at this time in milliseconds since 1970.
    pub fn asked(&self, number: u64, message: &str, at_ms: i64) {
        let mut questions = self.questions.lock();
        if let Some(question) = questions.open.get_mut(&number) {
            let chat = question.chat.clone();
            question.shown = Some(Shown {
                message: message.to_owned(),
                at_ms,
                watch: Stopwatch::start(),
            });
            questions.offer(&chat, PlanMessage::Other, at_ms);
        }
    }

    /// Ends all waiting, now and from now on: the gateway stops.
    pub fn shut_down(&self) {
        self.questions.lock().is_shutting_down = true;
        self.answered.notify_all();
    }

    /// Waits for the answer, the token, the end of the time or of the gateway; closes the question. Returns also who has
    /// answered, and whether the question was shown.
    pub fn wait(&self, number: u64, cancel: &Cancel) -> (Answer, String, bool) {
        let watch = Stopwatch::start();
        let mut questions = self.questions.lock();
        loop {
            let answer = questions
                .open
                .get(&number)
                .and_then(|question| question.answer);
            let left = ANSWER_TIME.saturating_sub(watch.elapsed());
            let over = match answer {
                Some(answer) => Some(answer),
                None if cancel.is_cancelled() => Some(Answer::Stopped),
                None if questions.is_shutting_down => Some(Answer::ShuttingDown),
                None if left.is_zero() => Some(Answer::TimedOut),
                None => None,
            };
            if let Some(answer) = over {
                let (by, is_shown) = questions.close(number);
                return (answer, by, is_shown);
            }
            questions = self.answered.wait_timeout(questions, left.min(POLL));
        }
    }

    /// Answers a question of a chat; without a number the only one there, which allows its command only where the person
    /// can have read it and nothing else can be meant.
    pub fn answer(&self, chat: &Address, number: Option<u64>, given: Given<'_>) -> Taken {
        let Given { answer, by, .. } = given;
        let mut questions = self.questions.lock();
        let mut of_chat = questions
            .open
            .iter_mut()
            .filter(|(key, question)| {
                question.chat == *chat && number.is_none_or(|number| number == **key)
            })
            .filter(|(_, question)| question.answer.is_none());
        let (Some((name, question)), None) = (of_chat.next(), of_chat.next()) else {
            return Taken::Unknown;
        };
        let is_meant = !question.is_ambiguous && question.was_read(given.sent_at);
        if number.is_none() && answer.allows() && !is_meant {
            return Taken::Unknown;
        }
        if answer == Answer::Always && question.always != AlwaysOption::Offered {
            return Taken::OnceOnly(*name, question.always);
        }
        if answer == Answer::Everything && !question.can_allow_all {
            return Taken::NotEverything;
        }
        question.answer = Some(answer);
        question.is_seen = number.is_some();
        by.clone_into(&mut question.by);
        self.answered.notify_all();
        Taken::Yes
    }

    /// The open question of a chat that is this message.
    fn of_message(&self, chat: &Address, message: &str) -> Option<u64> {
        let questions = self.questions.lock();
        let is_meant = |shown: &Shown| !message.is_empty() && shown.message == message;
        let mut open = questions.open.iter();
        let found = open.find(|(_, question)| {
            question.chat == *chat && question.shown.as_ref().is_some_and(is_meant)
        });
        found.map(|(number, _)| *number)
    }

    /// The numbers of a chat's open questions, with the command of each.
    pub fn open_in(&self, chat: &Address) -> Vec<(u64, String)> {
        let questions = self.questions.lock();
        let of_chat = questions
            .open
            .iter()
            .filter(|(_, question)| question.chat == *chat);
        let with_command = |(number, question): (&u64, &Open)| (*number, question.command.clone());
        of_chat.map(with_command).collect()
    }

    /// Whether each open question of a chat has been shown there.
    pub fn is_shown(&self, chat: &Address) -> bool {
        let questions = self.questions.lock();
        let mut of_chat = questions.open.values().filter(|open| open.chat == *chat);
        of_chat.all(|open| open.shown.is_some())
    }

    /// Whether a question is of this run: open, or closed not long ago.
    pub fn knows(&self, number: u64) -> bool {
        let questions = self.questions.lock();
        questions.open.contains_key(&number) || questions.closed.contains(&number)
    }
}

/// The work that a question is about.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    /// The agent whose command it is.
    pub hosted: &'a Arc<Hosted>,
    /// The conversation.
    pub session: &'a SessionKey,
    /// Where it is asked.
    pub to: &'a Address,
    /// The language of the person who is asked.
    pub language: Language,
    /// Their id, where they alone are to see the question in a group; may be empty.
    pub only_for: &'a str,
}

impl Gateway {
    /// Asks a person for approval in their language, and waits for the answer.
    pub(super) fn ask(
        self: &Arc<Self>,
        asker: &Asker<'_>,
        question: &Question,
        cancel: &Cancel,
    ) -> Answer {
        self.ask_shown(asker, question, cancel).0
    }

    /// The same, and whether the question was shown.
    fn ask_shown(
        self: &Arc<Self>,
        asker: &Asker<'_>,
        question: &Question,
        cancel: &Cancel,
    ) -> (Answer, bool) {
        let Asker {
            session,
            to,
            language,
            only_for,
            ..
        } = *asker;
        // A private chat is named after its person, who is alone there.
        let only_for = Some(only_for).filter(|person| *person != to.chat);
        let only_for = only_for.unwrap_or_default();
        let asked = Asked { language, only_for };
        let number = self.approvals.open(session, to, question);
        let is_asked = self
            .delivery(to)
            .is_some_and(|delivery| delivery.ask(to, number, question.clone(), asked));
        if !is_asked {
            tracing::error!(chat = %to, "failed to ask for approval: too many questions are open");
            let given = Given {
                answer: Answer::Unattended,
                by: "",
                sent_at: None,
            };
            self.approvals.answer(to, Some(number), given);
        }
        let (answer, by, is_shown) = self.approvals.wait(number, cancel);
        if let Some(delivery) = self.delivery(to) {
            delivery.settle(number, answer, &by);
        }
        if answer == Answer::Everything {
            self.begin_allowance(asker);
        }
        (answer, is_shown)
    }

    /// Does what a person has typed in a chat, once they have allowed what has to be.
    pub(in crate::gateway) fn run_typed<T>(
        self: &Arc<Self>,
        message: &Envelope,
        hosted: &Arc<Hosted>,
        cancel: &Cancel,
        attempt: impl FnMut(&Caller<'_>) -> Result<Attempt<T>>,
    ) -> Result<T> {
        let ask = |question: &Question| self.ask_writer(message, hosted, question, cancel);
        ask_and_retry(
            &Caller::of(message, cancel),
            message.language(),
            ask,
            attempt,
        )
    }

    /// The answer to a question about what a person has typed in a chat, and has begun: they are asked there, unless a
    /// standing approval allows it. A kill before the answer has it asked again.
    fn ask_writer(
        self: &Arc<Self>,
        message: &Envelope,
        hosted: &Arc<Hosted>,
        question: &Question,
        cancel: &Cancel,
    ) -> Result<Answer> {
        if question.is_standing {
            return Ok(Answer::Standing);
        }
        let inbox = &self.parts.inbox;
        inbox.ask(&message.id)?;
        let asker = Asker {
            hosted,
            session: &message.session,
            to: &message.address(),
            language: message.language(),
            only_for: message.only_for(),
        };
        let tell = |is_open| {
            let message = message.id.clone();
            self.events.send(Event::Asks { message, is_open })
        };
        tell(true);
        let (answer, is_shown) = self.ask_shown(&asker, question, cancel);
        tell(false);
        let by_person = matches!(answer, Answer::Deny | Answer::Stopped);
        if by_person && is_shown && self.edits(asker.to) {
            self.approvals.refused(&message.id);
        }
        if answer.allows() {
            inbox.begin(&message.id)?;
        }
        Ok(answer)
    }

    /// Answers `/deny`.
    pub(super) fn deny(self: &Arc<Self>, call: &Call<'_>) {
        self.answer_with(call, call.argument, Answer::Deny);
    }

    /// Answers `/approve`.
    pub(super) fn approve(self: &Arc<Self>, call: &Call<'_>) {
        let lower = call.argument.to_ascii_lowercase();
        let endings = [("always", Answer::Always), ("all", Answer::Everything)];
        let mut endings = endings.into_iter();
        let found = endings.find_map(|(word, answer)| Some((lower.strip_suffix(word)?, answer)));
        let (number, answer) = found.unwrap_or((call.argument, Answer::Once));
        self.answer_with(call, number, answer);
    }

    fn answer_with(&self, call: &Call<'_>, number: &str, answer: Answer) {
        match self.settle(call.message, number, answer).transpose() {
            Some(said) => self.finish_with(call.message, said),
            None => self.parts.inbox.taken(&call.message.id),
        }
    }

    /// Answers an open question of a chat, and returns what is to be said about it: `None` where the question itself
    /// shows that it was denied.
    fn settle(
        &self,
        message: &Envelope,
        number: &str,
        answer: Answer,
    ) -> Result<Option<CommandAnswer>> {
        let (to, language) = (&message.address(), message.language());
        let by = message.sender().map_or("", |sender| sender.name.as_str());
        let number = match number.trim() {
            // A reply names the question that it quotes.
            "" => self.approvals.of_message(to, &message.replies_to),
            text => {
                let number = text.parse().map_err(|_| {
                    let text = inline_code(truncate_chars(text, NUMBER_CHARS));
                    Error::Usage(texts::not_a_number(language, &text))
                })?;
                Some(number)
            }
        };
        // What an app with buttons sends as a command has no time, and is never late.
        let has_buttons = self.delivery(to).is_some_and(|it| it.choices().is_none());
        let now = || has_buttons.then(|| Clock::System.now_ms() / 1000);
        let given = Given {
            answer,
            by,
            sent_at: message.sent_at.or_else(now),
        };
        let open = self.approvals.open_in(to);
        let was_shown = self.approvals.is_shown(to);
        // A reply to something else is no answer to a question, which may look like that.
        let is_elsewhere = number.is_none() && message.is_reply() && answer.allows();
        let taken = if is_elsewhere {
            Taken::Unknown
        } else {
            self.approvals.answer(to, number, given)
        };
        let text = match taken {
            Taken::Yes if (number.is_some() || was_shown) && self.edits(to) => return Ok(None),
            Taken::Yes => {
                let is_meant = |open: &&(u64, String)| number.is_none_or(|number| number == open.0);
                let command = open.iter().find(is_meant).map_or("", |open| &open.1);
                format!("{}: {command}", outcome(language, answer))
            }
            Taken::OnceOnly(number, always) => refused::once_only(language, number, always),
            Taken::NotEverything => texts::not_everything(language).to_owned(),
            Taken::Unknown => {
                return Ok(Some(self.list_open(to, language, (number, answer), &open)));
            }
        };
        Ok(Some(CommandAnswer::private(text)))
    }

    /// The open questions of a chat, where it is not clear which one an answer is for: as buttons where there are any, else
    /// with what to type.
    fn list_open(
        &self,
        to: &Address,
        language: Language,
        (number, answer): (Option<u64>, Answer),
        open: &[(u64, String)],
    ) -> CommandAnswer {
        let how = |number: &u64| match answer {
            Answer::Deny => format!("/deny {number}"),
            Answer::Always => format!("/approve {number} always"),
            Answer::Everything => format!("/approve {number} all"),
            _ => format!("/approve {number}"),
        };
        // A choice by words could be meant for something else.
        let has_buttons = self.delivery(to).is_some_and(|it| it.choices().is_none());
        let mut buttons = Vec::new();
        let text = match open {
            [] => texts::nothing_open(language).to_owned(),
            [(only, _)] if number.is_none() => texts::not_sure(language, &how(only)),
            open if has_buttons => {
                let sign = if answer.allows() { "✓" } else { "✗" };
                let button = |(number, command): &(u64, String)| {
                    let command = truncate_chars(command.trim_matches('`'), BUTTON_CHARS);
                    vec![CommandButton {
                        label: format!("{sign} {command}"),
                        command: how(number),
                    }]
                };
                buttons.extend(open.iter().map(button));
                let lines = open.iter().map(|(_, command)| format!("- {command}"));
                texts::which(language, &lines.collect::<Vec<_>>().join("\n"))
            }
            open => {
                let line =
                    |(number, command): &(u64, String)| format!("- {command} {}", how(number));
                let lines: Vec<String> = open.iter().map(line).collect();
                texts::which(language, &lines.join("\n"))
            }
        };
        CommandAnswer {
            text,
            buttons,
            is_private: true,
        }
    }

    /// Takes the answer that a pressed button gives.
    pub(super) fn press(
        self: &Arc<Self>,
        to: &Address,
        person: &Sender,
        (message, question): (&PressedMessage, u64),
        answer: Answer,
    ) {
        let given = Given {
            answer,
            by: &person.name,
            sent_at: None,
        };
        let taken = self.approvals.answer(to, Some(question), given);
        tracing::info!(chat = %to, sender = %person.id, ?taken, "{answer}");
        match taken {
            Taken::Yes => {}
            Taken::OnceOnly(number, always) => {
                self.say_later(to, &refused::once_only(person.language, number, always));
            }
            Taken::NotEverything => self.say_later(to, texts::not_everything(person.language)),
            // Its message says what became of it.
            Taken::Unknown if self.approvals.knows(question) && self.edits(to) => {}
            Taken::Unknown if !self.edits(to) => {
                self.say_later(to, question_closed(person.language))
            }
            // Of an earlier run: its message loses the buttons.
            Taken::Unknown => {
                let said = truncate_bytes(&message.text, CLOSED_QUESTION_BYTES);
                let said = plain(&reveal_but(said, &["\n"]));
                let closed = question_closed(person.language);
                self.tell_later(OutgoingMessage {
                    edits: message.id.clone(),
                    ..OutgoingMessage::text(to, format!("{said}\n\n{closed}").trim())
                });
            }
        }
    }
}

impl Open {
    /// Whether someone can have read the question before they wrote, at this time where that is known.
    fn was_read(&self, sent_at: Option<i64>) -> bool {
        let shown = self.shown.as_ref();
        shown.is_some_and(|shown| is_read(shown.at_ms, shown.watch.elapsed(), sent_at))
    }
}

/// Whether a question that was shown at this time, and for so long, can have been read by someone who wrote then. A time
/// that is unknown, or is still to come, says nothing.
fn is_read(shown_ms: i64, age: Duration, sent_at: Option<i64>) -> bool {
    let shown = shown_ms.div_euclid(1000);
    let latest = shown.saturating_add_unsigned((age + CLOCK_TOLERANCE).as_secs());
    sent_at.is_some_and(|sent| (shown..=latest).contains(&sent)) && age >= READ_TIME
}

impl Questions {
    /// Closes a question, and returns who has answered it, and whether it was shown.
    fn close(&mut self, number: u64) -> (String, bool) {
        let closed = self.open.remove(&number);
        if self.closed.len() >= CLOSED_QUESTIONS {
            self.closed.pop_front();
        }
        self.closed.push_back(number);
        closed.map_or_else(Default::default, |question| {
            (question.by, question.is_seen || question.shown.is_some())
        })
    }
}
