//! What is to be sent, one message after the other. Pure.
//!
//! For a message to a person it is first found out who has their nick, unless that is known: what is for Ana is not for
//! the one who took her nick. Then come some of its lines, and a PING behind them. The server answers in order, so that its
//! PONG says that it has read the lines, and what came before the PONG says whether it has refused them.

use std::collections::VecDeque;
use std::time::Duration;

use super::Session;
use crate::base::limits::channels::irc::ANSWER_TIME;
use crate::channels::irc::format::wrap;
use crate::channels::irc::person::people::People;
use crate::channels::irc::person::{Place, is_mask, is_named_by};
use crate::channels::irc::session::line::{Line, Source, write};
use crate::channels::irc::session::support::CaseMapping;
use crate::channels::kit::adapter::{Failure, Sent};

/// Lines after which the server is asked whether it has read them. What it has is not sent again after a broken connection.
const CONFIRM_LINES: usize = 5;
/// Pieces of which is remembered how far they were sent.
const BEGUN_PIECES: usize = 16;
/// Messages that wait for a worker's turn.
const QUEUE: usize = 16;
/// The longest wait for a rate limit that a server names.
const WAIT_MAX: Duration = Duration::from_mins(5);
/// The wait where it names none.
const USUAL_WAIT: Duration = Duration::from_secs(5);

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub ticket: u64,
    /// Where it goes.
    pub to: Place,
    /// Its text, with formatting.
    pub text: String,
    /// The same for each attempt to send it.
    pub key: Option<u64>,
}

/// How far a message was sent when the connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Begun {
    key: u64,
    /// The bytes of its lines: other ones are cut elsewhere.
    bytes: usize,
    /// Lines that the server has read.
    lines: usize,
}

/// The messages that were sent in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllBegun(VecDeque<Begun>);

impl AllBegun {
    fn lines(&self, key: Option<u64>, bytes: usize) -> usize {
        let mut all = self.0.iter();
        let found = all.find(|begun| Some(begun.key) == key && begun.bytes == bytes);
        found.map_or(0, |begun| begun.lines)
    }

    fn note(&mut self, begun: Begun) {
        self.0.retain(|known| known.key != begun.key);
        if begun.lines == 0 {
            return;
        }
        if self.0.len() >= BEGUN_PIECES {
            self.0.pop_front();
        }
        self.0.push_back(begun);
    }

    fn forget(&mut self, key: Option<u64>) {
        self.0.retain(|known| Some(known.key) != key);
    }
}

/// The messages.
#[derive(Debug, Default)]
pub struct Outgoing {
    waiting: VecDeque<Request>,
    current: Option<Current>,
    /// The number of the last PING.
    pings: u64,
    /// What was sent in part, or to its end when nobody waited for it any more.
    pub begun: AllBegun,
    finished: Vec<(u64, Sent<String>)>,
    /// Whether someone or a channel was not there since the last call of `take_absent`.
    has_absent: bool,
    /// The messages that were sent last, by their tickets.
    sent: VecDeque<(u64, Begun)>,
}

/// The message that is being sent.
#[derive(Debug)]
struct Current {
    request: Request,
    stage: Stage,
    /// What is left of it, once it is known how long its lines may be.
    lines: Option<VecDeque<String>>,
    /// The bytes of a line.
    bytes: usize,
    /// Lines that the server has read, and those that were sent since.
    confirmed: usize,
    sent: Vec<String>,
    /// Why it is refused.
    failure: Option<Failure>,
    /// Whether it is asked for a second nick.
    is_second: bool,
    /// Whether nobody waits for it any more.
    is_withdrawn: bool,
    /// When the server has to have answered the question or the PING that was sent last.
    answer_by: Duration,
}

#[derive(Debug)]
enum Stage {
    /// It is asked who has the nick.
    Asking {
        nick: String,
        is_sent: bool,
        found: Found,
    },
    /// Lines are sent, a few at a time.
    Writing { target: String },
    /// The PONG is waited for.
    Confirming { target: String, token: String },
}

/// Who has a nick.
#[derive(Debug, Default)]
struct Found {
    source: Source,
    account: Option<String>,
}

impl Outgoing {
    /// Takes a message.
    pub fn push(&mut self, request: Request) {
        if self.waiting.len() < QUEUE {
            self.waiting.push_back(request)
        } else {
            let why = "too many messages are waiting".to_owned();
            self.finished
                .push((request.ticket, Err(Failure::Trouble(why))));
        }
    }

    /// Nobody waits for this message any more. One that is being sent is sent to its end, and when it is tried again, it is
    /// only confirmed.
    pub fn withdraw(&mut self, ticket: u64) {
        self.waiting.retain(|request| request.ticket != ticket);
        if let Some(current) = &mut self.current {
            current.is_withdrawn |= current.request.ticket == ticket;
        }
        if let Some(place) = self.sent.iter().position(|(sent, _)| *sent == ticket)
            && let Some((_, sent)) = self.sent.remove(place)
        {
            self.begun.note(sent);
        }
    }

    /// Whether there is nothing to send and nothing to wait for.
    pub fn is_idle(&self) -> bool {
        self.current.is_none() && self.waiting.is_empty()
    }

    /// Whether a line is ready to be sent.
    pub fn has_line(&self) -> bool {
        match self.current.as_ref().map(|current| &current.stage) {
            None => !self.waiting.is_empty(),
            Some(Stage::Asking { is_sent, .. }) => !is_sent,
            Some(Stage::Writing { .. }) => true,
            Some(Stage::Confirming { .. }) => false,
        }
    }

    /// When the server has to have answered what it was asked.
    pub fn deadline(&self) -> Option<Duration> {
        let current = self.current.as_ref()?;
        let is_asked = matches!(
            current.stage,
            Stage::Asking { is_sent: true, .. } | Stage::Confirming { .. }
        );
        is_asked.then_some(current.answer_by)
    }

    /// Whether something has been sent or has failed since the last call of `take_finished`.
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// What has been sent or has failed since the last call.
    pub fn take_finished(&mut self) -> Vec<(u64, Sent<String>)> {
        std::mem::take(&mut self.finished)
    }

    /// Whether something could not be sent since the last call because a person or we were not there.
    pub fn take_absent(&mut self) -> bool {
        std::mem::take(&mut self.has_absent)
    }

    /// The connection is over: nothing of what waits is sent.
    pub fn fail_all(&mut self, why: &str) {
        let current = self.current.take().map(|current| {
            self.note(&current);
            current.request
        });
        let waiting = self.waiting.drain(..);
        let all = current.into_iter().chain(waiting);
        let failed = all.map(|request| (request.ticket, Err(Failure::Down(why.to_owned()))));
        self.finished.extend(failed);
    }

    /// The next line to send. The caller sends it now.
    pub fn next_line(
        &mut self,
        session: &Session,
        people: &mut People,
        now: Duration,
    ) -> Option<String> {
        while self.current.is_none() {
            let request = self.waiting.pop_front()?;
            self.go_on(Current::new(request), session, people, now);
        }
        let case = session.support().case;
        let left = self.current.take_if(|current| {
            matches!(current.stage, Stage::Writing { .. }) && current.has_left(people, case)
        });
        if let Some(mut current) = left {
            current.take_back();
            self.go_on(current, session, people, now);
            return self.next_line(session, people, now);
        }
        let current = self.current.as_mut()?;
        match &mut current.stage {
            Stage::Asking { is_sent: true, .. } | Stage::Confirming { .. } => None,
            Stage::Asking { nick, is_sent, .. } => {
                *is_sent = true;
                current.answer_by = now + ANSWER_TIME;
                Some(write("WHOIS", &[nick], None))
            }
            Stage::Writing { target } => {
                let target = std::mem::take(target);
                let line = current.next_text(&target, session, &self.begun);
                if let Some(line) = line {
                    let line = write("PRIVMSG", &[&target], Some(&line));
                    current.stage = Stage::Writing { target };
                    return Some(line);
                }
                self.pings += 1;
                let kind = if current.is_written() { "sent" } else { "part" };
                let token = format!("{kind}-{}", self.pings);
                let ping = write("PING", &[], Some(&token));
                current.stage = Stage::Confirming { target, token };
                current.answer_by = now + ANSWER_TIME;
                Some(ping)
            }
        }
    }

    /// Begins a message, or goes on with one of which a part was sent.
    fn go_on(
        &mut self,
        mut current: Current,
        session: &Session,
        people: &mut People,
        now: Duration,
    ) {
        current.is_second = false;
        let stage = match &current.request.to {
            Place::Channel(name) if session.knows(name) => Ok(writing(name)),
            Place::Channel(name) => Err(Failure::Refused(format!(
                "{name} is not among channels.irc.channels"
            ))),
            Place::Person(id) => match people.nick(id, now) {
                Some((nick, true)) => Ok(writing(&nick)),
                Some((nick, false)) => Ok(asking(&nick)),
                None => current.request.to.likely_nick().map(asking).ok_or_else(|| {
                    Failure::Trouble(format!(
                        "the nick of {id} is not known; it is once they have written"
                    ))
                }),
            },
        };
        match stage {
            Ok(stage) => {
                current.stage = stage;
                self.current = Some(current);
            }
            Err(failure) => {
                self.has_absent |= matches!(failure, Failure::Trouble(_));
                self.note(&current);
                self.finished.push((current.request.ticket, Err(failure)));
            }
        }
    }

    /// Takes a line of the server's.
    pub fn receive(&mut self, line: &Line, session: &Session, people: &mut People, now: Duration) {
        let Some(current) = &mut self.current else {
            return;
        };
        let case = session.support().case;
        let about = line.parameter(1);
        match &mut current.stage {
            Stage::Asking { nick, found, .. } => {
                let is_about = case.is_same(about, nick);
                match line.number() {
                    Some(311) if is_about => {
                        found.source = Source {
                            nick: about.to_owned(),
                            user: line.parameter(2).to_owned(),
                            host: line.parameter(3).to_owned(),
                        };
                    }
                    Some(330) if is_about => found.account = Some(line.parameter(2).to_owned()),
                    // RPL_TRYAGAIN: the server is busy.
                    Some(263) => self.finish(Err(Failure::RetryAfter(USUAL_WAIT))),
                    // The end of the answer, or nobody has the nick: not every server says the end then.
                    Some(318 | 401 | 402 | 406) if is_about => {
                        let (nick, found) = (nick.clone(), std::mem::take(found));
                        self.asked((&nick, &found), session, people, now);
                    }
                    // The server does not know the question.
                    Some(421) if about.eq_ignore_ascii_case("WHOIS") => {
                        let nick = nick.clone();
                        self.asked((&nick, &Found::default()), session, people, now);
                    }
                    _ => {}
                }
            }
            Stage::Confirming { token, .. }
                if line.command == "PONG" && line.last() == token.as_str() =>
            {
                let token = token.clone();
                self.confirmed(token, session, people, now);
            }
            Stage::Writing { target } | Stage::Confirming { target, .. } => {
                if let Some(failure) = refusal(line, target, session) {
                    current.failure.get_or_insert(failure);
                }
            }
        }
    }

    /// The server has read the lines that were sent.
    fn confirmed(&mut self, token: String, session: &Session, people: &mut People, now: Duration) {
        let Some(mut current) = self.current.take() else {
            return;
        };
        if let Some(failure) = current.failure.take() {
            self.note(&current);
            let is_there = match &current.request.to {
                Place::Person(id) => {
                    people.doubt(id);
                    false
                }
                Place::Channel(name) => session.is_in(name),
            };
            self.has_absent |= !is_there && matches!(failure, Failure::Trouble(_));
            self.finished.push((current.request.ticket, Err(failure)));
            return;
        }
        let (sent, case) = (current.sent.len(), session.support().case);
        match current.has_left(people, case) {
            // They were not there any more when the lines came, or left right after it.
            true => current.take_back(),
            false => {
                current.confirmed += sent;
                current.sent.clear();
            }
        }
        if current.is_written() {
            self.end(current, token)
        } else {
            self.go_on(current, session, people, now)
        }
    }

    /// All of a message is confirmed.
    fn end(&mut self, current: Current, token: String) {
        let ticket = current.request.ticket;
        match current.begun() {
            Some(begun) if current.is_withdrawn => self.begun.note(begun),
            Some(begun) => {
                self.begun.forget(current.request.key);
                if self.sent.len() >= BEGUN_PIECES {
                    self.sent.pop_front();
                }
                self.sent.push_back((ticket, begun));
            }
            None => {}
        }
        self.finished.push((ticket, Ok(token)));
    }

    /// It is known who has the nick.
    fn asked(
        &mut self,
        (nick, found): (&str, &Found),
        session: &Session,
        people: &mut People,
        now: Duration,
    ) {
        let Some(current) = &mut self.current else {
            return;
        };
        let Place::Person(id) = &current.request.to else {
            return;
        };
        let case = session.support().case;
        let is_them = if is_mask(id) {
            is_named_by(id, &found.source, case)
        } else {
            let account = found.account.as_deref();
            account.is_some_and(|account| case.is_same(account, id))
        };
        if is_them {
            people.verified(id, nick, now);
            current.stage = writing(nick);
            return;
        }
        // They may have gone back to the nick that they usually have.
        let likely = current.request.to.likely_nick();
        let likely = likely.filter(|likely| !case.is_same(likely, nick) && !current.is_second);
        if let Some(likely) = likely {
            current.stage = asking(likely);
            current.is_second = true;
            return;
        }
        let why = match found.source.nick.as_str() {
            "" => format!("{id} is not on IRC now"),
            _ => format!("the one whose nick is {nick} now is not {id}"),
        };
        self.has_absent = true;
        self.finish(Err(Failure::Trouble(why)));
    }

    fn note(&mut self, current: &Current) {
        if let Some(begun) = current.begun() {
            self.begun.note(begun);
        }
    }

    fn finish(&mut self, outcome: Sent<String>) {
        if let Some(current) = self.current.take() {
            self.note(&current);
            self.finished.push((current.request.ticket, outcome));
        }
    }
}

impl Current {
    fn new(request: Request) -> Self {
        Self {
            stage: writing(""),
            lines: None,
            bytes: 0,
            confirmed: 0,
            sent: Vec::new(),
            failure: None,
            is_second: false,
            is_withdrawn: false,
            answer_by: Duration::ZERO,
            request,
        }
    }

    /// How far it was sent; `None` when that is no more than what was known before.
    fn begun(&self) -> Option<Begun> {
        let key = self.lines.as_ref().and(self.request.key)?;
        Some(Begun {
            key,
            bytes: self.bytes,
            lines: self.confirmed,
        })
    }

    /// Whether all lines were sent.
    fn is_written(&self) -> bool {
        self.lines.as_ref().is_some_and(VecDeque::is_empty)
    }

    /// The next line, until the server is to be asked whether it has read them.
    fn next_text(&mut self, target: &str, session: &Session, begun: &AllBegun) -> Option<String> {
        let bytes = session.text_bytes(target);
        if self.lines.is_none() {
            let mut lines: VecDeque<String> = wrap(&self.request.text, bytes).into();
            self.confirmed = begun.lines(self.request.key, bytes).min(lines.len());
            lines.drain(..self.confirmed);
            self.bytes = bytes;
            self.lines = Some(lines);
        }
        let lines = self.lines.as_mut()?;
        if bytes < self.bytes {
            // Another nick, for which there is less room.
            *lines = lines.iter().flat_map(|line| wrap(line, bytes)).collect();
            self.bytes = bytes;
        }
        let line = (self.sent.len() < CONFIRM_LINES).then(|| lines.pop_front())??;
        self.sent.push(line.clone());
        Some(line)
    }

    /// Whether the one whom it is for has left, or has another nick, since it was found out where they are.
    fn has_left(&self, people: &People, case: CaseMapping) -> bool {
        let (Stage::Writing { target } | Stage::Confirming { target, .. }) = &self.stage else {
            return false;
        };
        match &self.request.to {
            Place::Person(id) => !people.is_at(id, target, case),
            Place::Channel(_) => false,
        }
    }

    /// What was sent last may not have reached them: it is sent again.
    fn take_back(&mut self) {
        let lines = self.lines.get_or_insert_default();
        for line in self.sent.drain(..).rev() {
            lines.push_front(line);
        }
    }
}

fn asking(nick: &str) -> Stage {
    Stage::Asking {
        nick: nick.to_owned(),
        is_sent: false,
        found: Found::default(),
    }
}

fn writing(target: &str) -> Stage {
    Stage::Writing {
        target: target.to_owned(),
    }
}

/// What a line says against a message to a target, if it is about that.
fn refusal(line: &Line, target: &str, session: &Session) -> Option<Failure> {
    let (number, words) = match line.number() {
        Some(number) => (number, super::said(line.last())),
        // IRCv3 standard replies: FAIL PRIVMSG CODE :words.
        None if line.command == "FAIL" && line.parameter(0) == "PRIVMSG" => {
            (0, super::said(line.last()))
        }
        None => return None,
    };
    let case = session.support().case;
    let is_about = number == 0
        || line
            .parameters
            .iter()
            .skip(1)
            .any(|word| case.is_same(word, target));
    let refused = |words: String| Failure::Refused(format!("the server refuses it: {words}"));
    match number {
        0 if line.parameter(1).contains("RATE") => Some(Failure::RetryAfter(USUAL_WAIT)),
        0 => Some(refused(words)),
        263 => Some(Failure::RetryAfter(USUAL_WAIT)),
        // The target changes too fast; some other numbers for the same.
        439 | 707 if is_about => Some(Failure::RetryAfter(wait_in(&words))),
        // The person has left between the question and the lines, and comes back.
        401 if is_about => Some(Failure::Trouble(format!("{target} is not on IRC now"))),
        403 if is_about && !session.is_in(target) => Some(Failure::Trouble(format!(
            "there is no channel {target} now"
        ))),
        // We are not in it at the moment, and are on our way.
        404 | 442 if is_about && !session.is_in(target) => {
            Some(Failure::Trouble(format!("{target} is not joined: {words}")))
        }
        // Only some may speak there now.
        404 if is_about => Some(Failure::Trouble(format!("the server refuses it: {words}"))),
        407 | 408 | 415 | 477 | 486 | 489 | 531 | 716 if is_about => Some(refused(words)),
        412 | 417 => Some(refused(words)),
        _ => None,
    }
}

/// The seconds in words such as `Please wait 12 seconds.`
fn wait_in(words: &str) -> Duration {
    let mut numbers = words.split(|char: char| !char.is_ascii_digit());
    let seconds = numbers.find_map(|word| word.parse().ok());
    seconds
        .map_or(USUAL_WAIT, Duration::from_secs)
        .min(WAIT_MAX)
}

#[cfg(test)]
mod tests;
