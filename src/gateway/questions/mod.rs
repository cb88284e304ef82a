//! What servers of tools want to know from people: asked in the chat, value by value. A button, `/answer`
//! and the next message of the chat answer.

mod texts;

use std::collections::{BTreeMap, BTreeSet};

use super::Gateway;
use super::commands::Call;
use crate::agent::interview::{Asked, Interview, Reply, shown_default};
use crate::base::access::Role;
use crate::base::bus::Event;
use crate::base::cancel::Cancel;
use crate::base::chat::{Choice, Field, FieldKind, InputAnswer, InputRequest, TextForm};
use crate::base::clock::Stopwatch;
use crate::base::language::Language;
use crate::base::limits::agent::ANSWER_TIME;
use crate::base::limits::cancel::POLL;
use crate::base::limits::gateway::QUESTION_NUMBERS;
use crate::base::limits::tools::BUTTON_CHARS;
use crate::base::message::{Address, CommandButton, Envelope, OutgoingMessage, UNKNOWN_MESSAGE};
use crate::base::sync::{Condvar, Mutex};
use crate::sys::random;
use crate::text::markup::{inline_code, plain};
use crate::text::{one_line, reveal};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Rows of buttons for the choices of a question, below which others come; Discord shows five rows.
const CHOICE_ROWS: usize = 4;
/// Buttons in a row of choices.
const CHOICES_IN_ROW: usize = 5;
/// How long after a message its question may be shown: the outbox knows a little later than the person.
const SHOWN_TIME: Duration = Duration::from_secs(2);

/// The open questions. A chat has at most one at a time, so that a message answers just one.
#[derive(Default)]
pub struct Questions {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    open: BTreeMap<u64, Open>,
    /// The ids of messages that came before their question was shown: they are for the model.
    passed: BTreeSet<String>,
    is_shutting_down: bool,
}

/// Who answers a question.
pub(super) struct Whom {
    /// The chat in which it is asked.
    pub chat: Address,
    /// The person whose answers count in a group; `None`: everyone's, as far as the role goes.
    pub person: Option<String>,
    /// The least role with which an answer counts: that of the turn that asks.
    pub role: Role,
}

struct Open {
    whom: Whom,
    /// What the buttons of the message that asks now carry.
    button: u64,
    /// The message that asks now, in the outbox.
    asked: Option<u64>,
    /// Those that asked before, for what was answered.
    earlier: Vec<u64>,
    reply: Option<Reply>,
    /// An `/answer` that names no value, and when it came.
    typed: Option<(Reply, Stopwatch)>,
    /// Whether such an answer came before its value was asked for, which its person is told.
    was_early: bool,
    /// A message of the chat, and when it came.
    words: Option<(Box<Envelope>, Stopwatch)>,
}

impl Open {
    fn is_answered_by(&self, message: &Envelope) -> bool {
        let person = self.whom.person.as_deref();
        let sender = message.sender().map(|sender| sender.id.as_str());
        let is_theirs = !message.is_group || person.is_none() || person == sender;
        self.whom.chat == message.address() && message.role >= self.whom.role && is_theirs
    }

    fn is_free(&self) -> bool {
        self.reply.is_none() && self.typed.is_none() && self.words.is_none()
    }
}

/// What came for a question.
enum Came {
    /// A button, or `/answer`.
    Reply(Reply),
    /// An `/answer` that was typed before the question could be read.
    Unasked,
    /// A message that answers it.
    Words(Box<Envelope>),
    /// A message that was written before the question could be read.
    Early(Box<Envelope>),
}

impl Questions {
    /// Opens a question in a chat, once no other is open there. `None`: it was stopped, or none came to its
    /// end in time.
    fn open(&self, whom: Whom, cancel: &Cancel) -> Option<u64> {
        let watch = Stopwatch::start();
        let mut inner = self.inner.lock();
        while inner.open.values().any(|open| open.whom.chat == whom.chat) {
            if inner.is_over(cancel, &watch) {
                return None;
            }
            inner = self.changed.wait_timeout(inner, POLL);
        }
        let number = inner.draw();
        let open = Open {
            whom,
            button: number,
            asked: None,
            earlier: Vec::new(),
            reply: None,
            typed: None,
            was_early: false,
            words: None,
        };
        inner.open.insert(number, open);
        Some(number)
    }

    /// The next value of a question is asked for. Returns what the buttons for it carry, because those of the values
    /// before answer nothing any more, and a message that came before it was asked.
    fn turn_page(&self, number: u64) -> (u64, Option<Box<Envelope>>) {
        let inner = &mut *self.inner.lock();
        let button = inner.draw();
        let Some(open) = inner.open.get_mut(&number) else {
            return (button, None);
        };
        open.button = button;
        open.reply = None;
        open.was_early |= open.typed.take().is_some();
        open.earlier.extend(open.asked.take());
        let early = open.words.take().map(|(message, _)| message);
        inner
            .passed
            .extend(early.iter().map(|message| message.id.clone()));
        (button, early)
    }

    /// The messages that have asked for what was answered.
    fn earlier(&self, number: u64) -> Vec<u64> {
        let inner = self.inner.lock();
        inner
            .open
            .get(&number)
            .map_or_else(Vec::new, |open| open.earlier.clone())
    }

    /// Whether a question is open in the chat of a message.
    pub fn is_open_for(&self, message: &Envelope) -> bool {
        let inner = self.inner.lock();
        inner.open.values().any(|open| open.is_answered_by(message))
    }

    /// Notes the message that asks now.
    fn ask(&self, number: u64, message: u64) {
        if let Some(open) = self.inner.lock().open.get_mut(&number) {
            open.asked = Some(message);
        }
    }

    /// Waits for what comes next; `None`: nothing will. `is_sent` says whether a message has left the outbox.
    fn wait(
        &self,
        number: u64,
        is_sent: &dyn Fn(u64) -> bool,
        (cancel, watch): (&Cancel, &Stopwatch),
    ) -> Option<Came> {
        let mut inner = self.inner.lock();
        loop {
            if let Some(came) = inner.take(number, is_sent) {
                return Some(came);
            }
            if inner.is_over(cancel, watch) {
                return None;
            }
            inner = self.changed.wait_timeout(inner, POLL);
        }
    }

    /// Closes a question; a message that was not looked at yet is returned.
    fn close(&self, number: u64) -> Option<Box<Envelope>> {
        let mut inner = self.inner.lock();
        let words = inner.open.remove(&number).and_then(|open| open.words);
        let left = words.map(|(message, _)| message);
        if let Some(message) = &left {
            inner.passed.insert(message.id.clone());
        }
        self.changed.notify_all();
        left
    }

    /// Takes a message of a chat, which may be the reply to the question there. Returns whether it was taken.
    pub fn take_message(&self, message: &Envelope) -> bool {
        let mut inner = self.inner.lock();
        let is_words = !message.text.trim().is_empty()
            && !message.text.trim_start().starts_with('/')
            && message.attachments.is_empty()
            && message.remote_files.is_empty()
            && !message.is_relayed
            && message.target() != UNKNOWN_MESSAGE;
        if inner.passed.remove(&message.id) || !is_words {
            return false;
        }
        if message.sender().is_none() {
            return false;
        }
        let is_meant = |open: &&mut Open| open.is_answered_by(message) && open.is_free();
        // A second message in quick succession is one for the model.
        let Some(open) = inner.open.values_mut().find(is_meant) else {
            return false;
        };
        open.words = Some((Box::new(message.clone()), Stopwatch::start()));
        self.changed.notify_all();
        true
    }

    /// Takes the argument of `/answer`: `#NUMBER WORD` from a button, else words. Returns whether there was
    /// such a question for this person.
    pub fn take_command(&self, message: &Envelope, argument: &str) -> bool {
        let (number, reply) = match argument
            .strip_prefix('#')
            .and_then(|rest| rest.split_once(' '))
        {
            Some((number, word)) => match (number.parse::<u64>(), read_word(word.trim())) {
                (Ok(number), Some(reply)) => (Some(number), reply),
                _ => return false,
            },
            None => match argument.trim() {
                "" => return false,
                DECLINE => (None, Reply::Decline),
                text => (None, Reply::Text(text.to_owned())),
            },
        };
        let mut inner = self.inner.lock();
        let is_meant = |open: &&mut Open| {
            number.is_none_or(|number| number == open.button) && open.is_answered_by(message)
        };
        let Some(open) = inner.open.values_mut().find(is_meant) else {
            return false;
        };
        // A button may be pressed twice.
        match number {
            Some(_) => drop(open.reply.get_or_insert(reply)),
            None => drop(open.typed.get_or_insert((reply, Stopwatch::start()))),
        }
        self.changed.notify_all();
        true
    }

    /// Ends all waiting, now and from now on: the gateway stops.
    pub fn shut_down(&self) {
        self.inner.lock().is_shutting_down = true;
        self.changed.notify_all();
    }
}

impl Inner {
    /// A number that no open question has. An old button of another run of the program has another one.
    fn draw(&self) -> u64 {
        let span = QUESTION_NUMBERS.end - QUESTION_NUMBERS.start;
        let drawn = random::bytes().map_or(0, u64::from_ne_bytes);
        let mut number = QUESTION_NUMBERS.start + drawn % span;
        let is_taken = |number| {
            let mut open = self.open.iter();
            open.any(|(key, open)| *key == number || open.button == number)
        };
        while is_taken(number) {
            number += 1;
        }
        number
    }

    fn take(&mut self, number: u64, is_sent: &dyn Fn(u64) -> bool) -> Option<Came> {
        let open = self.open.get_mut(&number)?;
        if let Some(reply) = open.reply.take() {
            return Some(Came::Reply(reply));
        }
        if std::mem::take(&mut open.was_early) {
            return Some(Came::Unasked);
        }
        let is_shown = open.asked.is_some_and(is_sent);
        if let Some((_, since)) = &open.typed
            && (is_shown || since.elapsed() >= SHOWN_TIME)
        {
            let (reply, _) = open.typed.take()?;
            return Some(if is_shown {
                Came::Reply(reply)
            } else {
                Came::Unasked
            });
        }
        let (_, since) = open.words.as_ref()?;
        if !is_shown && since.elapsed() < SHOWN_TIME {
            return None;
        }
        let (message, _) = open.words.take()?;
        if !is_shown {
            self.passed.insert(message.id.clone());
            return Some(Came::Early(message));
        }
        Some(Came::Words(message))
    }

    fn is_over(&self, cancel: &Cancel, watch: &Stopwatch) -> bool {
        self.is_shutting_down || cancel.is_cancelled() || watch.elapsed() >= ANSWER_TIME
    }
}

const ACCEPT: &str = "ok";
const DECLINE: &str = "decline";
const SKIP: &str = "skip";

fn read_word(word: &str) -> Option<Reply> {
    Some(match word {
        ACCEPT => Reply::Accept,
        DECLINE => Reply::Decline,
        SKIP => Reply::Skip,
        _ => Reply::Pick(word.parse().ok()?),
    })
}

impl Gateway {
    /// Asks the people of a chat what a server wants to know, and waits for the answer.
    pub(super) fn input(
        &self,
        whom: Whom,
        request: &InputRequest,
        language: Language,
        cancel: &Cancel,
    ) -> InputAnswer {
        let to = &whom.chat.clone();
        let Some(number) = self.questions.open(whom, cancel) else {
            return InputAnswer::Cancelled;
        };
        let answer = self.interview((number, to), request, language, cancel);
        self.pass_on(self.questions.close(number));
        let outcome = match &answer {
            InputAnswer::Declined => texts::declined(language, &inline_code(&request.server)),
            InputAnswer::Cancelled if cancel.is_cancelled() || self.is_stopping() => return answer,
            InputAnswer::Cancelled => texts::no_answer(language, &inline_code(&request.server)),
            _ => return answer,
        };
        self.tell(to, &outcome);
        answer
    }

    /// What is said about an `/answer` that answers nothing.
    pub(super) fn answer_question(self: &Arc<Self>, call: &Call<'_>) {
        let (message, language) = (call.message, call.language);
        if self.questions.take_command(message, call.argument) {
            return self.parts.inbox.taken(&message.id);
        }
        let text = if self.questions.is_open_for(message) {
            texts::answered_before(language)
        } else {
            texts::nothing_asked(language)
        };
        self.finish_with(message, Ok(text.to_owned()));
    }

    fn interview(
        &self,
        (number, to): (u64, &Address),
        request: &InputRequest,
        language: Language,
        cancel: &Cancel,
    ) -> InputAnswer {
        let mut interview = Interview::new(request);
        let mut is_first = true;
        while let Some(asked) = interview.asked() {
            let opening = (request, std::mem::take(&mut is_first));
            let (button, early) = self.questions.turn_page(number);
            self.pass_on(early);
            let message = OutgoingMessage {
                command_buttons: buttons(button, asked, language),
                ..OutgoingMessage::text(to, describe(opening, asked, language))
            };
            match self.enqueue(message, None) {
                Ok(id) => self.questions.ask(number, id),
                Err(error) => {
                    tracing::error!(chat = %to, "failed to ask for a server: {error}");
                    return InputAnswer::Cancelled;
                }
            }
            let (watch, outbox) = (Stopwatch::start(), &self.parts.outbox);
            let is_sent = |id: u64| outbox.get(id).is_none();
            loop {
                let reply = match self.questions.wait(number, &is_sent, (cancel, &watch)) {
                    Some(Came::Reply(reply)) => reply,
                    Some(Came::Words(message)) => {
                        self.parts.inbox.taken(&message.id);
                        let earlier = self.questions.earlier(number);
                        if outbox.is_shown_as(&earlier, &message.replies_to) {
                            self.tell(to, texts::answered_before(language));
                            continue;
                        }
                        Reply::Text(message.typed_text().to_owned())
                    }
                    Some(Came::Unasked) => {
                        self.tell(to, texts::not_asked_yet(language));
                        continue;
                    }
                    Some(Came::Early(message)) => {
                        self.pass_on(Some(message));
                        continue;
                    }
                    None => return InputAnswer::Cancelled,
                };
                match interview.take(&reply) {
                    Ok(Some(answer)) => return answer,
                    Ok(None) => break,
                    Err(wanted) => self.tell(to, &texts::wanted(language, &wanted)),
                }
            }
        }
        InputAnswer::Cancelled
    }

    /// Lets a message that is no answer go where it would have gone.
    fn pass_on(&self, message: Option<Box<Envelope>>) {
        if let Some(message) = message {
            self.events.send(Event::Arrived(*message));
        }
    }
}

/// The question as Markdown. What comes from the server is quoted, so that none of it can pose as a text of
/// ours.
fn describe(
    (request, is_first): (&InputRequest, bool),
    asked: Asked<'_>,
    language: Language,
) -> String {
    let server = inline_code(&request.server);
    let mut text = match asked {
        Asked::Login(_) => texts::login(language, &server),
        _ => texts::asks(language, &server),
    };
    if is_first {
        text.push_str(&quoted(&request.message));
    }
    match asked {
        Asked::Field(field) => text.push_str(&describe_field(field, language)),
        Asked::Consent => text.push_str(&format!("\n\n{}", texts::go_on(language))),
        Asked::Page(url) => {
            text.push_str(&format!(
                "\n\n{}\n\n{}",
                texts::open_page(language),
                inline_code(url)
            ));
        }
        Asked::Login(url) => {
            text.push_str(&format!(
                "\n\n{}\n\n{}",
                url_line(url),
                texts::send_address(language)
            ));
        }
    }
    text.trim().to_owned()
}

/// An address that we have made ourselves, to be pressed.
fn url_line(url: &str) -> String {
    format!("<{url}>")
}

fn describe_field(field: &Field, language: Language) -> String {
    let mut said = one_line(&field.title, BUTTON_CHARS);
    if !field.description.trim().is_empty() {
        said.push('\n');
        said.push_str(field.description.trim());
    }
    if let FieldKind::Choice(of) | FieldKind::Choices { of, .. } = &field.kind {
        for (at, one) in of.iter().enumerate() {
            let _ = write!(said, "\n{}. {}", at + 1, one_line(&one.title, BUTTON_CHARS));
        }
    }
    let text = quoted(&said);
    let how = match &field.kind {
        FieldKind::Choices { .. } => texts::choose_several(language),
        FieldKind::Choice(_) | FieldKind::Flag => texts::choose(language),
        FieldKind::Text {
            form: TextForm::Email,
            ..
        } => texts::email(language),
        FieldKind::Text {
            form: TextForm::Uri,
            ..
        } => texts::uri(language),
        FieldKind::Text {
            form: TextForm::Date,
            ..
        } => texts::date(language),
        FieldKind::Text {
            form: TextForm::DateTime,
            ..
        } => texts::time(language),
        FieldKind::Text { .. } | FieldKind::Number { .. } => texts::write(language),
    };
    format!("{text}\n\n{how}")
}

/// Words of a server as quoted lines.
fn quoted(text: &str) -> String {
    let text = reveal(text.trim());
    if text.is_empty() {
        return String::new();
    }
    let lines = text.lines().map(|line| format!("\n> {}", plain(line)));
    format!("\n{}", lines.collect::<String>())
}

/// Few choices have a row each; more of them have their numbers in the text. A channel shows few rows.
fn choice_rows(
    of: &[Choice],
    button: &dyn Fn(&str, &str) -> CommandButton,
) -> Vec<Vec<CommandButton>> {
    let all = of.iter().enumerate();
    if of.len() <= CHOICE_ROWS {
        return all
            .map(|(at, one)| vec![button(&one.title, &at.to_string())])
            .collect();
    }
    let numbered: Vec<CommandButton> = all
        .take(CHOICE_ROWS * CHOICES_IN_ROW)
        .map(|(at, _)| button(&(at + 1).to_string(), &at.to_string()))
        .collect();
    numbered.chunks(CHOICES_IN_ROW).map(<[_]>::to_vec).collect()
}

fn buttons(number: u64, asked: Asked<'_>, language: Language) -> Vec<Vec<CommandButton>> {
    let button = |label: &str, word: &str| CommandButton {
        label: one_line(label, BUTTON_CHARS),
        command: format!("/answer #{number} {word}"),
    };
    let decline = button(texts::decline(language), DECLINE);
    let field = match asked {
        Asked::Field(field) => field,
        Asked::Login(_) => return vec![vec![decline]],
        Asked::Consent | Asked::Page(_) => {
            return vec![vec![button(texts::done(language), ACCEPT), decline]];
        }
    };
    let mut rows: Vec<Vec<CommandButton>> = match &field.kind {
        FieldKind::Choice(of) => choice_rows(of, &button),
        FieldKind::Flag => {
            vec![vec![
                button(texts::yes(language), "0"),
                button(texts::no(language), "1"),
            ]]
        }
        _ => Vec::new(),
    };
    let mut last = Vec::new();
    match shown_default(field) {
        Some(value) => last.push(button(&texts::keep(language, &value), SKIP)),
        None if !field.is_required => last.push(button(texts::skip(language), SKIP)),
        None => {}
    }
    last.push(decline);
    rows.push(last);
    rows
}

#[cfg(test)]
mod tests;
