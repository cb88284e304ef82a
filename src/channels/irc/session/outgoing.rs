//! What is to be sent, one message after the other. Pure.
//!
//! A message to a person first finds out who has their nick, unless that is known: what is for Ana is not for whoever took
//! her nick. Then come its lines, and a PING behind them. The server answers in order, so that its PONG says that it has
//! read the lines, and what came before the PONG says whether it has refused them.

use std::collections::VecDeque;
use std::time::Duration;

use super::Session;
use crate::channels::adapter::{Failure, Sent};
use crate::channels::irc::format::wrap;
use crate::channels::irc::person::people::People;
use crate::channels::irc::person::{Place, is_mask, is_named_by};
use crate::channels::irc::session::line::{Line, Source, write};
use crate::limits::channels::irc::{QUEUE, USUAL_WAIT, WAIT_MAX};

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub ticket: u64,
    /// Where it goes.
    pub to: Place,
    /// Its text, with formatting.
    pub text: String,
}

/// The messages.
#[derive(Debug, Default)]
pub struct Outgoing {
    waiting: VecDeque<Request>,
    current: Option<Current>,
    /// The number of the last PING.
    pings: u64,
    finished: Vec<(u64, Sent<String>)>,
}

#[derive(Debug)]
struct Current {
    request: Request,
    stage: Stage,
    /// Why it is refused.
    failure: Option<Failure>,
    /// Whether it is asked for a second nick.
    is_second: bool,
}

#[derive(Debug)]
enum Stage {
    /// It is asked who has the nick.
    Asking {
        nick: String,
        is_sent: bool,
        found: Found,
    },
    /// The lines that are left.
    Writing {
        target: String,
        lines: VecDeque<String>,
    },
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
        match self.waiting.len() < QUEUE {
            true => self.waiting.push_back(request),
            false => {
                let why = "too many messages are waiting".to_owned();
                self.finished
                    .push((request.ticket, Err(Failure::Trouble(why))));
            }
        }
    }

    /// Nobody waits for this message any more. One that is being sent is sent to its end.
    pub fn withdraw(&mut self, ticket: u64) {
        self.waiting.retain(|request| request.ticket != ticket);
    }

    /// Whether there is nothing to send and nothing to wait for.
    pub fn is_idle(&self) -> bool {
        self.current.is_none() && self.waiting.is_empty()
    }

    /// Whether a line is ready to be sent.
    pub fn has_line(&self) -> bool {
        match &self.current {
            None => !self.waiting.is_empty(),
            Some(current) => match &current.stage {
                Stage::Asking { is_sent, .. } => !is_sent,
                Stage::Writing { .. } => true,
                Stage::Confirming { .. } => false,
            },
        }
    }

    /// What has been sent or has failed since the last call.
    pub fn take_finished(&mut self) -> Vec<(u64, Sent<String>)> {
        std::mem::take(&mut self.finished)
    }

    /// The connection is over: nothing of what waits is sent.
    pub fn fail_all(&mut self, why: &str) {
        let current = self.current.take().map(|current| current.request);
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
        loop {
            let Some(current) = &mut self.current else {
                let request = self.waiting.pop_front()?;
                self.begin(request, session, people, now);
                continue;
            };
            match &mut current.stage {
                Stage::Asking { is_sent: true, .. } | Stage::Confirming { .. } => return None,
                Stage::Asking { nick, is_sent, .. } => {
                    *is_sent = true;
                    return Some(write("WHOIS", &[nick], None));
                }
                Stage::Writing { target, lines } => {
                    let target = target.clone();
                    if let Some(line) = lines.pop_front() {
                        return Some(write("PRIVMSG", &[&target], Some(&line)));
                    }
                    self.pings += 1;
                    let token = format!("sent-{}", self.pings);
                    let ping = write("PING", &[], Some(&token));
                    current.stage = Stage::Confirming { target, token };
                    return Some(ping);
                }
            }
        }
    }

    fn begin(&mut self, request: Request, session: &Session, people: &mut People, now: Duration) {
        let stage = match &request.to {
            Place::Channel(name) if session.knows(name) => Ok(writing(name, &request, session)),
            Place::Channel(name) => Err(Failure::Refused(format!(
                "{name} is not among channels.irc.channels"
            ))),
            Place::Person(id) => match people.nick(id, now) {
                Some((nick, true)) => Ok(writing(&nick, &request, session)),
                Some((nick, false)) => Ok(asking(&nick)),
                None => request.to.likely_nick().map(asking).ok_or_else(|| {
                    Failure::Trouble(format!(
                        "the nick of {id} is not known; it is once they have written"
                    ))
                }),
            },
        };
        match stage {
            Ok(stage) => {
                self.current = Some(Current {
                    request,
                    stage,
                    failure: None,
                    is_second: false,
                });
            }
            Err(failure) => self.finished.push((request.ticket, Err(failure))),
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
                    Some(318) if is_about => {
                        let (nick, found) = (nick.clone(), std::mem::take(found));
                        self.asked(&nick, &found, session, people, now);
                    }
                    _ => {}
                }
            }
            Stage::Writing { target, .. } => {
                if let Some(failure) = refusal(line, target, session) {
                    current.failure.get_or_insert(failure);
                }
            }
            Stage::Confirming { target, token } => {
                if line.command == "PONG" && line.last() == token {
                    let id = token.clone();
                    let outcome = current.failure.take().map_or(Ok(id), Err);
                    if let (Err(_), Place::Person(id)) = (&outcome, &current.request.to) {
                        people.doubt(id);
                    }
                    self.finish(outcome);
                } else if let Some(failure) = refusal(line, target, session) {
                    current.failure.get_or_insert(failure);
                }
            }
        }
    }

    /// It is known who has the nick.
    fn asked(
        &mut self,
        nick: &str,
        found: &Found,
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
        let is_them = match is_mask(id) {
            true => is_named_by(id, &found.source, case),
            false => {
                let account = found.account.as_deref();
                account.is_some_and(|account| case.is_same(account, id))
            }
        };
        if is_them {
            people.verified(id, nick, now);
            current.stage = writing(nick, &current.request, session);
            return;
        }
        // They may have gone back to the nick that they usually have.
        let likely = current.request.to.likely_nick();
        if let Some(likely) =
            likely.filter(|likely| !case.is_same(likely, nick) && !current.is_second)
        {
            current.stage = asking(likely);
            current.is_second = true;
            return;
        }
        let why = match found.source.nick.as_str() {
            "" => format!("{id} is not on IRC now"),
            _ => format!("the one whose nick is {nick} now is not {id}"),
        };
        self.finish(Err(Failure::Trouble(why)));
    }

    fn finish(&mut self, outcome: Sent<String>) {
        if let Some(current) = self.current.take() {
            self.finished.push((current.request.ticket, outcome));
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

fn writing(target: &str, request: &Request, session: &Session) -> Stage {
    Stage::Writing {
        lines: wrap(&request.text, session.text_bytes(target)).into(),
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
        404 | 407 | 408 | 415 | 477 | 486 | 489 | 531 | 716 if is_about => Some(refused(words)),
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
