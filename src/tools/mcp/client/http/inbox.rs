//! Messages that come on streams of their own, for the requests that wait for them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::HttpParts;
use super::WAITING_MESSAGES;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::sync::{Condvar, Mutex};
use crate::net::http::address;
use crate::net::http::sse::Event;
use crate::tools::mcp::client::message::{self, Message};
use crate::tools::mcp::client::transport::{Incoming, Replies};
use crate::tools::mcp::client::{ADDRESS_BYTES, CALL_TIME, MESSAGE_BYTES};

/// What has come.
pub struct Inbox {
    state: Mutex<State>,
    woken: Condvar,
    server: String,
}

#[derive(Default)]
pub struct State {
    /// Whether the server has accepted the stream.
    pub is_open: bool,
    /// Where to send messages in the older transport, once it is known.
    pub address: Option<String>,
    /// The requests that wait.
    expected: Vec<u64>,
    /// Messages, or the end of a reply, and to which request each belongs; none: to whichever asks first.
    waiting: VecDeque<(Option<u64>, Result<String>)>,
    /// Why nothing comes any more.
    failure: Option<Error>,
    is_over: bool,
}

impl State {
    fn bytes(&self) -> usize {
        let length = |(_, one): &(_, Result<String>)| one.as_ref().map_or(0, String::len);
        self.waiting.iter().map(length).sum()
    }
}

impl Inbox {
    /// Nothing has come.
    pub fn new(parts: &HttpParts) -> Self {
        Self {
            state: Mutex::default(),
            woken: Condvar::new(),
            server: parts.name.clone(),
        }
    }

    /// Notes that the server has accepted the stream.
    pub fn begin(&self) {
        self.state.lock().is_open = true;
        self.woken.notify_all();
    }

    /// Takes an event of the stream at this address.
    pub fn take(self: &Arc<Self>, url: &str, event: Event<'_>, cancel: &Cancel) -> Result<()> {
        if event.name == "endpoint" {
            let address = self.endpoint(url, event.data)?;
            self.state.lock().address.get_or_insert(address);
            self.woken.notify_all();
            return Ok(());
        }
        let data = json::mend_strings(event.data);
        let answers = match message::read(&data) {
            Some(Message::Response { id, .. }) => id,
            Some(_) => None,
            None => {
                let ids = self.state.lock().expected.clone();
                return match message::unreadable(&data, &ids) {
                    Some((id, answer)) => self.put(Some(id), Ok(answer), cancel),
                    None => Ok(()),
                };
            }
        };
        self.put(answers, Ok(data.into_owned()), cancel)
    }

    /// Adds a message for a request, unless none waits for it. When too much waits already, this waits until
    /// some of it is taken.
    pub fn put(
        self: &Arc<Self>,
        id: Option<u64>,
        message: Result<String>,
        cancel: &Cancel,
    ) -> Result<()> {
        let mut message = Some(message);
        let is_put = self.wait((CALL_TIME, false), cancel, |state| {
            let is_expected = match id {
                Some(id) => state.expected.contains(&id),
                None => !state.expected.is_empty(),
            };
            let is_full = state.waiting.len() >= WAITING_MESSAGES || state.bytes() > MESSAGE_BYTES;
            match (is_expected, is_full) {
                (false, _) => {}
                (true, true) => return None,
                (true, false) => state.waiting.extend(message.take().map(|one| (id, one))),
            }
            Some(())
        })?;
        self.woken.notify_all();
        is_put.ok_or_else(|| self.closed("it sends more than is read"))
    }

    /// Where messages are sent: at the same origin, so that headers and tokens stay there.
    fn endpoint(&self, url: &str, target: &str) -> Result<String> {
        let joined = address::join(url, target.trim());
        let joined = joined.filter(|joined| joined.len() <= ADDRESS_BYTES);
        joined
            .filter(|joined| address::is_same_origin(url, joined))
            .ok_or_else(|| self.closed("it asks for messages to be sent to another server"))
    }

    /// Notes that nothing comes any more.
    pub fn end(&self, failure: Option<Error>) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.failure = failure;
        self.woken.notify_all();
    }

    /// Waits until there is something; `None` when the time is over. With `fails`, the end of the stream is
    /// an error.
    pub fn wait<T>(
        self: &Arc<Self>,
        (time, fails): (Duration, bool),
        cancel: &Cancel,
        mut find: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<Option<T>> {
        let inbox = Arc::clone(self);
        // With the lock, so that the wake-up does not come between the look and the wait.
        let _wakes = cancel.on_cancel(move || {
            let _state = inbox.state.lock();
            inbox.woken.notify_all();
        });
        let mut found = None;
        let mut state = self
            .woken
            .wait_timeout_while(self.state.lock(), time, |state| {
                found = find(state);
                found.is_none() && !(fails && state.is_over) && !cancel.is_cancelled()
            });
        match found {
            _ if cancel.is_cancelled() => Err(Error::Stopped),
            None if fails && state.is_over => Err(match state.failure.take() {
                None | Some(Error::Stopped) => self.closed("it closed the connection"),
                Some(error) => error,
            }),
            found => Ok(found),
        }
    }

    /// An error of the connection.
    pub fn closed(&self, what: &str) -> Error {
        Error::Network {
            host: format!("the MCP server {}", self.server),
            what: what.to_owned(),
        }
    }

    /// Whether nothing comes any more.
    pub fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Whether a request waits for what comes.
    pub fn is_used(&self) -> bool {
        !self.state.lock().expected.is_empty()
    }

    /// The replies to the request with this id, which is still to be sent. With `fails`, none come any more
    /// when the stream ends.
    pub fn expect(self: &Arc<Self>, id: u64, fails: bool) -> InboxReplies {
        self.state.lock().expected.push(id);
        InboxReplies {
            inbox: Arc::clone(self),
            id,
            fails,
            cancel: Cancel::new(),
        }
    }
}

/// The messages that come for one request, and those that belong to none.
pub struct InboxReplies {
    inbox: Arc<Inbox>,
    id: u64,
    fails: bool,
    cancel: Cancel,
}

impl InboxReplies {
    /// Is raised when the replies are not waited for any longer.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }
}

impl Replies for InboxReplies {
    fn next(&mut self, time: Duration, cancel: &Cancel) -> Result<Incoming> {
        let id = self.id;
        let next = self.inbox.wait((time, self.fails), cancel, |state| {
            let is_ours = |of: &Option<u64>| of.is_none_or(|of| of == id);
            let at = state.waiting.iter().position(|(of, _)| is_ours(of))?;
            Some(state.waiting.remove(at)?.1)
        })?;
        // There is room again.
        self.inbox.woken.notify_all();
        next.map_or(Ok(Incoming::Nothing), |next| next.map(Incoming::Message))
    }
}

impl Drop for InboxReplies {
    fn drop(&mut self) {
        self.cancel.cancel();
        let mut state = self.inbox.state.lock();
        state.expected.retain(|id| *id != self.id);
        state.waiting.retain(|(of, _)| *of != Some(self.id));
        drop(state);
        self.inbox.woken.notify_all();
    }
}
