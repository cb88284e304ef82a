//! Requests that wait for an answer, and the answers that come for them.
//!
//! The thread of the connections adds and removes the requests; the delivering ones bring what was said.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;

/// The first letter of the reference of a request that has a key: it can be asked again.
pub const KEYED: char = 'k';
/// Answers that are kept for clients that ask again with the same key.
const KEPT: usize = 8;
/// Bytes of an answer that is kept for that, and of what is said beside one; of a longer one nothing is kept.
const KEPT_BYTES: usize = 64 * 1024;

/// Something for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The answer as far as it is written.
    Growth(String),
    /// The answer, and what was said beside it.
    Done {
        /// Said on the way, such as by the agent's tool `message`; may be empty.
        beside: String,
        /// The answer; may be empty.
        text: String,
    },
}

/// The requests that wait.
pub struct Hub {
    inner: Mutex<Inner>,
    wake: Arc<OwnedFd>,
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<Waiting>,
    news: Vec<(u64, News)>,
    /// Answers by the references of their requests, the newest last.
    kept: VecDeque<(String, News)>,
    last: u64,
}

struct Waiting {
    ticket: u64,
    chat: String,
    reference: String,
    /// What was said beside the answer.
    beside: String,
}

impl Hub {
    /// A hub for which nothing waits.
    pub fn new() -> Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = wake.map_err(|error| Error::io("create", "an event")(error.into()))?;
        Ok(Self {
            inner: Mutex::default(),
            wake: Arc::new(wake),
        })
    }

    /// Readable when there are news.
    pub fn wake_fd(&self) -> &Arc<OwnedFd> {
        &self.wake
    }

    /// Makes [`Hub::wake_fd`] readable.
    pub fn wake(&self) {
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }

    /// A request waits for the answer to a message from now on. Returns its ticket.
    pub fn wait(&self, chat: &str, reference: &str) -> u64 {
        let mut inner = self.inner.lock();
        inner.last += 1;
        let ticket = inner.last;
        if let Some((_, done)) = inner.kept.iter().find(|(of, _)| of == reference) {
            let done = done.clone();
            inner.news.push((ticket, done));
            drop(inner);
            self.wake();
            return ticket;
        }
        inner.waiting.push_back(Waiting {
            ticket,
            chat: chat.to_owned(),
            reference: reference.to_owned(),
            beside: String::new(),
        });
        ticket
    }

    /// The number of requests of a token that wait, in all of its conversations.
    pub fn waiting_of(&self, token: &str) -> usize {
        let is_of = |one: &&Waiting| {
            let rest = one.chat.strip_prefix(token);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        self.inner.lock().waiting.iter().filter(is_of).count()
    }

    /// A request waits no longer.
    pub fn forget(&self, ticket: u64) {
        let mut inner = self.inner.lock();
        inner.waiting.retain(|one| one.ticket != ticket);
        inner.news.retain(|(of, _)| *of != ticket);
    }

    /// What has come since.
    pub fn take_news(&self) -> Vec<(u64, News)> {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut count);
        std::mem::take(&mut self.inner.lock().news)
    }

    /// The answer to a message in a chat. Requests before it were part of the same turn, and get it too.
    pub fn answer(&self, chat: &str, reference: &str, text: &str) {
        let mut inner = self.inner.lock();
        inner.end(chat, reference, text);
        inner.keep(reference, "", text);
        drop(inner);
        self.wake();
    }

    /// Something that is said in a chat beside the answer. Returns whether anyone waits there.
    pub fn say(&self, chat: &str, text: &str) -> bool {
        let mut inner = self.inner.lock();
        let Some(first) = inner.waiting.iter_mut().find(|one| one.chat == chat) else {
            return false;
        };
        if first.beside.len() + text.len() <= KEPT_BYTES {
            first.beside = joined(&first.beside, text);
        }
        true
    }

    /// The answer in a chat as far as it is written.
    pub fn grow(&self, chat: &str, text: &str) {
        let mut inner = self.inner.lock();
        let Some(first) = inner.waiting.iter().find(|one| one.chat == chat) else {
            return;
        };
        let ticket = first.ticket;
        // Of several that were not taken yet, the newest counts.
        inner
            .news
            .retain(|(of, news)| *of != ticket || !matches!(news, News::Growth(_)));
        inner.news.push((ticket, News::Growth(text.to_owned())));
        drop(inner);
        self.wake();
    }

    /// The turn that a message began has ended, and no answer to it is on its way. `reference` is empty where the message
    /// is not known any more.
    pub fn ended(&self, chat: &str, reference: &str) {
        let mut inner = self.inner.lock();
        inner.end(chat, reference, "");
        inner.keep(reference, "", "");
        drop(inner);
        self.wake();
    }
}

impl Inner {
    /// Ends the requests of a chat up to that for a message; of an unknown message all.
    fn end(&mut self, chat: &str, reference: &str, text: &str) {
        let of_chat = |one: &Waiting| one.chat == chat;
        let last = match reference {
            "" => Some(u64::MAX),
            _ => {
                let mut waiting = self.waiting.iter().rev();
                waiting
                    .find(|one| of_chat(one) && one.reference == reference)
                    .map(|one| one.ticket)
            }
        };
        let Some(last) = last else {
            return;
        };
        let (ended, waiting): (Vec<Waiting>, Vec<Waiting>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|one| of_chat(one) && one.ticket <= last);
        self.waiting = waiting.into();
        for one in ended {
            self.keep(&one.reference, &one.beside, text);
            let (beside, text) = (one.beside, text.to_owned());
            self.news.push((one.ticket, News::Done { beside, text }));
        }
    }

    /// Keeps the answer to a request that can be asked again. The first one counts: what comes later for the same request
    /// is the end of its turn.
    fn keep(&mut self, reference: &str, beside: &str, text: &str) {
        let is_known = || self.kept.iter().any(|(of, _)| of == reference);
        if !reference.starts_with(KEYED) || beside.len() + text.len() > KEPT_BYTES || is_known() {
            return;
        }
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        let (beside, text) = (beside.to_owned(), text.to_owned());
        let done = News::Done { beside, text };
        self.kept.push_back((reference.to_owned(), done));
    }
}

/// Two texts with an empty line between them.
pub fn joined(first: &str, second: &str) -> String {
    match (first, second) {
        ("", text) | (text, "") => text.to_owned(),
        (first, second) => format!("{first}\n\n{second}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(beside: &str, text: &str) -> News {
        let (beside, text) = (beside.to_owned(), text.to_owned());
        News::Done { beside, text }
    }

    #[test]
    fn an_answer_goes_to_its_request_and_to_those_before_it_in_the_same_chat() {
        let hub = Hub::new().unwrap();
        let (first, other) = (hub.wait("a", "1"), hub.wait("b", "2"));
        let (second, later) = (hub.wait("a", "3"), hub.wait("a", "4"));
        hub.forget(hub.wait("a:x", "5"));
        let _ = (hub.wait("ab", "6"), hub.wait("a:y", "7"));
        assert_eq!((hub.waiting_of("a"), hub.waiting_of("b")), (4, 1));
        hub.grow("a", "ye");
        hub.grow("a", "yes");
        assert!(hub.say("a", "beside") && !hub.say("c", "x"));
        assert_eq!(hub.take_news(), [(first, News::Growth("yes".into()))]);
        hub.answer("a", "3", "yes!");
        let news = hub.take_news();
        assert_eq!(
            news,
            [(first, done("beside", "yes!")), (second, done("", "yes!"))]
        );
        hub.forget(later);
        hub.ended("a", "4");
        assert_eq!(hub.take_news(), []);
        hub.ended("b", "");
        assert_eq!(hub.take_news(), [(other, done("", ""))]);
    }

    #[test]
    fn the_same_key_gets_the_same_answer_whether_or_not_it_was_waited_for() {
        let hub = Hub::new().unwrap();
        let gone = hub.wait("a", "k1");
        hub.forget(gone);
        hub.answer("a", "k1", "late");
        hub.ended("a", "k1");
        assert_eq!(hub.take_news(), []);
        for _ in 0..2 {
            let again = hub.wait("a", "k1");
            assert_eq!(hub.take_news(), [(again, done("", "late"))]);
        }
        let heard = hub.wait("a", "k2");
        hub.say("a", "beside");
        hub.answer("a", "k2", "now");
        assert_eq!(hub.take_news(), [(heard, done("beside", "now"))]);
        let again = hub.wait("a", "k2");
        assert_eq!(hub.take_news(), [(again, done("beside", "now"))]);
        hub.ended("a", "k3");
        let empty = hub.wait("a", "k3");
        assert_eq!(hub.take_news(), [(empty, done("", ""))]);
    }

    #[test]
    fn few_and_short_answers_are_kept_and_only_those_that_have_a_key() {
        let hub = Hub::new().unwrap();
        for number in 0..2 * KEPT {
            hub.answer("a", &format!("k{number}"), "x");
            hub.answer("a", &format!("r{number}"), "x");
        }
        hub.answer("a", "klong", &"x".repeat(KEPT_BYTES + 1));
        let inner = hub.inner.lock();
        let kept: Vec<&str> = inner.kept.iter().map(|(of, _)| of.as_str()).collect();
        let newest: Vec<String> = (KEPT..2 * KEPT)
            .map(|number| format!("k{number}"))
            .collect();
        assert_eq!(kept, newest);
        assert_eq!(inner.waiting.len(), 0);
    }
}
