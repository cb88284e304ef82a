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
/// Requests that are remembered: those that wait, and those whose client has gone while their turn goes on.
const REQUESTS: usize = 256;
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
    /// The turn failed, for the reason that the agent gives.
    Failed(String),
    /// The request was refused after all, for this reason.
    Refused(String),
}

/// The requests that wait, in the order in which their messages were accepted.
pub struct Hub {
    inner: Mutex<Inner>,
    wake: Arc<OwnedFd>,
}

#[derive(Default)]
struct Inner {
    requests: VecDeque<Request>,
    news: Vec<(u64, News)>,
    /// Answers by the references of their requests, the newest last.
    kept: VecDeque<(String, News)>,
    /// Messages whose turn has failed, by their chats; the reason is the answer that comes next.
    failed: Vec<(String, String)>,
    /// Chats in which a turn runs that no request began, such as about the report of a subagent.
    foreign: Vec<String>,
    last: u64,
}

/// A request whose turn has not ended.
struct Request {
    /// `None` once its client has gone.
    ticket: Option<u64>,
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
        if inner.requests.len() >= REQUESTS
            && let Some(place) = inner.requests.iter().position(|one| one.ticket.is_none())
        {
            inner.requests.remove(place);
        }
        inner.requests.push_back(Request {
            ticket: Some(ticket),
            chat: chat.to_owned(),
            reference: reference.to_owned(),
            beside: String::new(),
        });
        ticket
    }

    /// Whether the answer to a message is here, or on its way.
    pub fn knows(&self, chat: &str, reference: &str) -> bool {
        let inner = self.inner.lock();
        let mut requests = inner.requests.iter();
        requests.any(|one| one.chat == chat && one.reference == reference)
            || inner.kept.iter().any(|(of, _)| of == reference)
    }

    /// The numbers of requests that wait: of a token, in all of its conversations, and of all.
    pub fn waiting(&self, token: &str) -> (usize, usize) {
        let is_of = |one: &&Request| {
            let rest = one.chat.strip_prefix(token);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let inner = self.inner.lock();
        let waiting = || inner.requests.iter().filter(|one| one.ticket.is_some());
        (waiting().filter(is_of).count(), waiting().count())
    }

    /// The client of a request has gone, and its turn goes on.
    pub fn forget(&self, ticket: u64) {
        let mut inner = self.inner.lock();
        let mut requests = inner.requests.iter_mut();
        if let Some(request) = requests.find(|one| one.ticket == Some(ticket)) {
            request.ticket = None;
        }
        inner.news.retain(|(of, _)| *of != ticket);
    }

    /// A request whose message was not accepted.
    pub fn withdraw(&self, ticket: u64) {
        let mut inner = self.inner.lock();
        inner.requests.retain(|one| one.ticket != Some(ticket));
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
        self.inner.lock().end(chat, reference, text);
        self.wake();
    }

    /// The turn about a message has failed: the answer to it will be the reason.
    pub fn failed(&self, chat: &str, reference: &str) {
        let mut inner = self.inner.lock();
        // Each is forgotten at the end of its turn.
        if inner.failed.len() < REQUESTS {
            inner.failed.push((chat.to_owned(), reference.to_owned()));
        }
    }

    /// A message was refused after it had been accepted. Returns whether its client, if any, knows it now.
    pub fn refuse(&self, chat: &str, reference: &str, why: &str) -> bool {
        let mut inner = self.inner.lock();
        let mut requests = inner.requests.iter();
        let is_it = |one: &Request| one.chat == chat && one.reference == reference;
        let Some(place) = requests.position(is_it) else {
            return false;
        };
        let request = inner.requests.remove(place);
        if let Some(ticket) = request.and_then(|request| request.ticket) {
            inner.news.push((ticket, News::Refused(why.to_owned())));
        }
        drop(inner);
        self.wake();
        true
    }

    /// Something that is said in a chat beside the answer. Returns whether a request is to hear it.
    pub fn say(&self, chat: &str, text: &str) -> bool {
        let mut inner = self.inner.lock();
        let Some(first) = inner.running(chat).filter(|one| one.is_heard()) else {
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
        let Some(ticket) = inner.running(chat).and_then(|first| first.ticket) else {
            return;
        };
        // Of several that were not taken yet, the newest counts.
        inner
            .news
            .retain(|(of, news)| *of != ticket || !matches!(news, News::Growth(_)));
        inner.news.push((ticket, News::Growth(text.to_owned())));
        drop(inner);
        self.wake();
    }

    /// A turn in a chat begins; no request began it where `reference` is empty.
    pub fn begins(&self, chat: &str, reference: &str) {
        if reference.is_empty() {
            self.inner.lock().foreign.push(chat.to_owned());
        }
    }

    /// A turn in a chat has ended, and no answer of it is on its way. `reference` is the last message that it was about;
    /// empty for none.
    pub fn ended(&self, chat: &str, reference: &str) {
        let mut inner = self.inner.lock();
        inner.foreign.retain(|one| one != chat);
        inner.end(chat, reference, "");
        inner.failed.retain(|(of, _)| of != chat);
        drop(inner);
        self.wake();
    }
}

impl Request {
    /// Whether a client waits for it, or can ask for it again.
    fn is_heard(&self) -> bool {
        self.ticket.is_some() || self.reference.starts_with(KEYED)
    }
}

impl Inner {
    /// The request that the running turn of a chat is about: turns take the messages of a chat in their order.
    fn running(&mut self, chat: &str) -> Option<&mut Request> {
        if self.foreign.iter().any(|one| one == chat) {
            return None;
        }
        self.requests.iter_mut().find(|one| one.chat == chat)
    }

    /// Ends the requests of a chat up to that for a message, whether or not one of them is still known.
    fn end(&mut self, chat: &str, reference: &str, text: &str) {
        let mut failed = self.failed.iter();
        let has_failed = failed.any(|(of, message)| of == chat && message == reference);
        let news = |beside: String| match has_failed {
            true => News::Failed(joined(&beside, text)),
            false => News::Done {
                beside,
                text: text.to_owned(),
            },
        };
        for (ticket, reference, beside) in self.take_ended(chat, reference) {
            let news = news(beside);
            self.keep(&reference, &news);
            self.news.extend(ticket.map(|ticket| (ticket, news)));
        }
        self.keep(reference, &news(String::new()));
    }

    /// Removes the requests of a chat up to that for a message: their tickets, references, and what was said beside.
    fn take_ended(&mut self, chat: &str, reference: &str) -> Vec<(Option<u64>, String, String)> {
        let is_of_chat = |one: &Request| one.chat == chat;
        let is_last = |one: &Request| is_of_chat(one) && one.reference == reference;
        let Some(last) = self.requests.iter().rposition(is_last) else {
            return Vec::new();
        };
        let mut place = 0;
        let mut ended = Vec::new();
        self.requests.retain_mut(|one| {
            place += 1;
            let stays = place > last + 1 || !is_of_chat(one);
            if !stays {
                ended.push((
                    one.ticket,
                    std::mem::take(&mut one.reference),
                    std::mem::take(&mut one.beside),
                ));
            }
            stays
        });
        ended
    }

    /// Keeps the answer to a request that can be asked again. The first one counts: what comes later for the same request
    /// is the end of its turn.
    fn keep(&mut self, reference: &str, news: &News) {
        let bytes = match news {
            News::Done { beside, text } => beside.len() + text.len(),
            News::Failed(text) | News::Refused(text) | News::Growth(text) => text.len(),
        };
        let is_known = || self.kept.iter().any(|(of, _)| of == reference);
        if !reference.starts_with(KEYED) || bytes > KEPT_BYTES || is_known() {
            return;
        }
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((reference.to_owned(), news.clone()));
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
        hub.withdraw(hub.wait("a:x", "5"));
        let _ = (hub.wait("ab", "6"), hub.wait("a:y", "7"));
        assert_eq!((hub.waiting("a"), hub.waiting("b")), ((4, 6), (1, 6)));
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
        hub.ended("b", "2");
        assert_eq!(hub.take_news(), [(other, done("", ""))]);
    }

    #[test]
    fn a_client_that_goes_away_takes_no_answer_from_those_before_it() {
        let hub = Hub::new().unwrap();
        let (first, gone, later) = (hub.wait("a", "1"), hub.wait("a", "2"), hub.wait("a", "3"));
        hub.forget(gone);
        hub.answer("a", "2", "both");
        assert_eq!(hub.take_news(), [(first, done("", "both"))]);
        hub.forget(later);
        let newest = hub.wait("a", "4");
        hub.grow("a", "of the one that has gone");
        assert!(!hub.say("a", "beside"));
        assert_eq!(hub.take_news(), []);
        hub.answer("a", "3", "of the one that has gone");
        hub.answer("a", "4", "new");
        assert_eq!(hub.take_news(), [(newest, done("", "new"))]);
        for number in 0..2 * REQUESTS {
            hub.forget(hub.wait("a", &format!("r{number}")));
        }
        assert_eq!(hub.inner.lock().requests.len(), REQUESTS);
    }

    #[test]
    fn a_turn_that_no_request_began_answers_none() {
        let hub = Hub::new().unwrap();
        hub.begins("a", "");
        let asked = hub.wait("a", "1");
        hub.grow("a", "a report");
        assert!(!hub.say("a", "a report"));
        hub.ended("a", "");
        assert_eq!(hub.take_news(), []);
        hub.begins("a", "1");
        assert!(hub.say("a", "beside"));
        hub.answer("a", "1", "yes");
        assert_eq!(hub.take_news(), [(asked, done("beside", "yes"))]);
    }

    #[test]
    fn what_is_refused_later_is_told_and_its_key_is_free() {
        let hub = Hub::new().unwrap();
        let asked = hub.wait("a", "k1");
        assert!(hub.knows("a", "k1") && !hub.knows("b", "k1"));
        assert!(!hub.refuse("a", "k2", "full") && hub.refuse("a", "k1", "full"));
        assert_eq!(hub.take_news(), [(asked, News::Refused("full".into()))]);
        assert!(!hub.knows("a", "k1"));
        hub.answer("a", "k3", "late");
        assert!(hub.knows("b", "k3"), "a key is of one conversation");
    }

    #[test]
    fn a_failure_is_told_as_one_and_the_next_answer_is_none() {
        let hub = Hub::new().unwrap();
        let asked = hub.wait("a", "k1");
        hub.say("a", "beside");
        hub.failed("a", "k1");
        hub.answer("a", "k1", "no model");
        hub.ended("a", "k1");
        let failed = News::Failed("beside\n\nno model".into());
        assert_eq!(hub.take_news(), [(asked, failed.clone())]);
        let again = hub.wait("a", "k1");
        assert_eq!(hub.take_news(), [(again, failed)]);
        let next = hub.wait("a", "k2");
        hub.answer("a", "k2", "yes");
        assert_eq!(hub.take_news(), [(next, done("", "yes"))]);
        assert!(hub.inner.lock().failed.is_empty());
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
        assert_eq!(inner.requests.len(), 0);
    }
}
