//! What the thread that serves a program and the calls to it share.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::secret::Eraser;
use crate::base::sync::{Condvar, Mutex};
use crate::sandbox::files::{PromptPlaces, PromptSurvey};
use crate::text::one_line;
use crate::tools::mcp::client::message::{self, Message};
use crate::tools::mcp::client::protocol;
use crate::tools::mcp::client::transport::Incoming;
use crate::tools::mcp::client::{MESSAGE_BYTES, UNREAD_BYTES};

/// Questions that wait until their call can take them.
const QUESTIONS_WAITING: usize = 8;
/// Characters of a line that is no message in the log.
const LOGGED_CHARS: usize = 200;

/// What is known of a program before it runs.
pub struct Settings {
    /// The server's name in the configuration.
    pub name: String,
    /// What must not be told of what it writes.
    pub eraser: Eraser,
    /// The address of the workspace.
    pub root: String,
    /// How long it runs without a call.
    pub idle: Duration,
    /// How long a call waits for its turn.
    pub patience: Duration,
    /// The files of the prompt, which it does not change.
    pub kept: Option<PromptPlaces>,
}

/// The connection to a program.
pub struct Connection {
    settings: Settings,
    /// Wakes the thread.
    wake: Arc<OwnedFd>,
    state: Mutex<State>,
    changed: Condvar,
    /// Whether it has said that its lists have changed.
    lists_changed: AtomicBool,
}

struct State {
    calls: Vec<Waiting>,
    /// Messages that the thread has not taken over yet, each with a newline.
    outgoing: Vec<u8>,
    /// Bytes of messages so far, and how many of them were written to the program.
    queued: u64,
    written: u64,
    end: Option<End>,
    /// When the last call began or ended.
    used: Stopwatch,
}

struct Waiting {
    id: u64,
    /// Whether questions of the program belong to it; at most one call that is not answered has them.
    may_ask: bool,
    messages: VecDeque<String>,
    is_answered: bool,
}

/// Why a program takes no calls any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It was stopped, or not used for a while.
    Stopped,
    /// What it did, in words that go after its name.
    Failed(String),
}

/// What the thread has to do for a program that takes calls.
pub enum Due {
    /// Nothing for that time.
    Wait(Duration),
    /// End it.
    End,
}

impl Connection {
    pub(super) fn new(settings: Settings, wake: Arc<OwnedFd>) -> Self {
        Self {
            settings,
            wake,
            state: Mutex::new(State {
                calls: Vec::new(),
                outgoing: Vec::new(),
                queued: 0,
                written: 0,
                end: None,
                used: Stopwatch::start(),
            }),
            changed: Condvar::new(),
            lists_changed: AtomicBool::new(false),
        }
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Whether the program could change what the prompt has now, at the changed paths too.
    pub fn is_open_to(&self, now: &Result<PromptSurvey>, changed: &[String]) -> bool {
        let kept = self.settings.kept.as_ref();
        kept.is_some_and(|kept| !kept.are_still(now, changed))
    }

    /// Why it takes no calls any more; `None` while it does.
    pub fn end(&self) -> Option<End> {
        self.state.lock().end.clone()
    }

    /// Whether it has said since the last time that its lists have changed.
    pub fn take_change(&self) -> bool {
        self.lists_changed.swap(false, Ordering::Relaxed)
    }

    /// How many bytes were sent to it until now; see [`Self::has_seen_since`].
    pub fn mark(&self) -> u64 {
        self.state.lock().queued
    }

    /// Whether the program can have read anything that was sent to it since the mark.
    pub fn has_seen_since(&self, mark: u64) -> bool {
        self.state.lock().written > mark
    }

    /// Asks the program to end. Calls that wait fail.
    pub fn stop(&self) {
        self.end_with(End::Stopped);
        self.wake();
    }

    pub(super) fn wake(&self) {
        // A full counter wakes as well.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// The first reason stays.
    pub(super) fn end_with(&self, end: End) {
        let mut state = self.state.lock();
        state.end.get_or_insert(end);
        state.outgoing = Vec::new();
        self.changed.notify_all();
    }

    /// What the thread has to do.
    pub(super) fn due(&self) -> Due {
        let mut state = self.state.lock();
        if state.end.is_some() {
            return Due::End;
        }
        let left = self.settings.idle.saturating_sub(state.used.elapsed());
        match (state.calls.is_empty(), left.is_zero()) {
            (false, _) => Due::Wait(self.settings.idle),
            (true, false) => Due::Wait(left),
            (true, true) => {
                state.end = Some(End::Stopped);
                Due::End
            }
        }
    }

    pub(super) fn take_outgoing(&self) -> Vec<u8> {
        std::mem::take(&mut self.state.lock().outgoing)
    }

    pub(super) fn add_written(&self, length: usize) {
        self.state.lock().written += length as u64;
    }

    /// Sends a message.
    pub(super) fn send(&self, json: &str) -> Result<()> {
        self.put(&mut self.state.lock(), json)?;
        self.wake();
        Ok(())
    }

    /// Sends a request; its messages wait until [`Self::forget`]. One that may ask waits for its turn first.
    pub(super) fn request(
        self: &Arc<Self>,
        id: u64,
        json: &str,
        may_ask: bool,
        cancel: &Cancel,
    ) -> Result<()> {
        let _hook = self.wake_on(cancel);
        let watch = Stopwatch::start();
        let mut state = self.state.lock();
        let is_open = |call: &Waiting| call.may_ask && !call.is_answered;
        while may_ask && state.end.is_none() && state.calls.iter().any(is_open) {
            if cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            let left = self.settings.patience.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return Err(self.fault("is busy with another call, which may wait for an answer"));
            }
            state = self.changed.wait_timeout(state, left);
        }
        self.put(&mut state, json)?;
        state.used = Stopwatch::start();
        state.calls.push(Waiting {
            id,
            may_ask,
            messages: VecDeque::new(),
            is_answered: false,
        });
        drop(state);
        self.wake();
        Ok(())
    }

    fn put(&self, state: &mut State, json: &str) -> Result<()> {
        if let Some(end) = &state.end {
            return Err(self.ended(end));
        }
        let unread = state.queued.saturating_sub(state.written) as usize;
        if unread + json.len() > UNREAD_BYTES {
            return Err(self.fault("does not read what is sent to it"));
        }
        // One message is one line.
        debug_assert!(!json.contains('\n'), "{json}");
        state.queued += json.len() as u64 + 1;
        state.outgoing.extend_from_slice(json.as_bytes());
        state.outgoing.push(b'\n');
        Ok(())
    }

    pub(super) fn forget(&self, id: u64) {
        let mut state = self.state.lock();
        let place = state.calls.iter().position(|call| call.id == id);
        let gone = place.map(|place| state.calls.swap_remove(place));
        state.used = Stopwatch::start();
        self.changed.notify_all();
        drop(state);
        // Questions that it has not taken get no answer.
        for text in gone.into_iter().flat_map(|call| call.messages) {
            if let Some(Message::Request { id, .. }) = message::read(&text) {
                let outcome = Err((-32603, "the call has ended"));
                let _ = self.send(&message::response(id.get(), outcome));
            }
        }
    }

    /// Ends what waits here when the token is raised.
    fn wake_on(self: &Arc<Self>, cancel: &Cancel) -> impl Sized + use<> {
        let other = Arc::clone(self);
        cancel.on_cancel(move || {
            // With the lock, or the wait could begin between its look at the token and this.
            let _state = other.state.lock();
            other.changed.notify_all();
        })
    }

    /// Waits for the next message of a request.
    pub(super) fn next(
        self: &Arc<Self>,
        id: u64,
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Incoming> {
        let _hook = self.wake_on(cancel);
        let watch = Stopwatch::start();
        let mut state = self.state.lock();
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            let call = state.calls.iter_mut().find(|call| call.id == id);
            if let Some(text) = call.and_then(|call| call.messages.pop_front()) {
                return Ok(Incoming::Message(text));
            }
            if let Some(end) = &state.end {
                return Err(self.ended(end));
            }
            let left = time.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return Ok(Incoming::Nothing);
            }
            state = self.changed.wait_timeout(state, left);
        }
    }

    fn ended(&self, end: &End) -> Error {
        match end {
            End::Stopped => self.fault("was stopped"),
            End::Failed(why) => self.fault(why),
        }
    }

    fn fault(&self, what: &str) -> Error {
        Error::Failed(format!("the MCP server {} {what}", self.settings.name))
    }

    /// What the program wrote, without secrets and control characters.
    pub(super) fn cleaned(&self, text: &str) -> String {
        let plain = |char: char| char.is_control() && char != '\n';
        self.settings.eraser.clean(text).replace(plain, " ")
    }

    /// Takes a line of the program's output.
    pub(super) fn take_line(&self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        // Behind what was written without the end of its line.
        let begun = line
            .find("{\"jsonrpc\"")
            .filter(|_| !line.trim_start().starts_with(['{', '[']));
        let line = &line[begun.unwrap_or(0)..];
        for one in message::split(&json::mend_strings(line)) {
            self.take(one);
        }
    }

    /// Takes a message: to the call that it is for, or answers it here, for a call may wait for a person.
    fn take(&self, text: &str) {
        match message::read(text) {
            Some(Message::Response { id, outcome }) => {
                let mut state = self.state.lock();
                let mut calls = state.calls.iter_mut().filter(|call| !call.is_answered);
                // An error about what the program could not read names no request.
                let call = match id {
                    Some(id) => calls.find(|call| call.id == id),
                    None => calls
                        .next()
                        .filter(|_| outcome.is_err() && calls.next().is_none()),
                };
                if let Some(call) = call {
                    call.is_answered = true;
                    call.messages.push_back(text.to_owned());
                    self.changed.notify_all();
                }
            }
            Some(Message::Notification { method, params }) => {
                if method.ends_with("/list_changed") {
                    self.lists_changed.store(true, Ordering::Relaxed);
                } else if method == "notifications/progress" {
                    self.take_progress(text, params.map(|params| params.get()));
                }
            }
            Some(Message::Request { id, method, .. }) => {
                if self.take_question(&method, text) {
                    return;
                }
                let outcome = protocol::plain_answer(&method, &self.settings.root);
                // A program that asks and does not read is found by the next call.
                let _ = self.send(&message::response(id.get(), outcome));
            }
            None => {
                let mut state = self.state.lock();
                let calls = state.calls.iter().filter(|call| !call.is_answered);
                let ids: Vec<u64> = calls.map(|call| call.id).collect();
                if let Some((id, answer)) = message::unreadable(text, &ids) {
                    let mut calls = state.calls.iter_mut();
                    if let Some(call) = calls.find(|call| call.id == id) {
                        call.is_answered = true;
                        call.messages.push_back(answer);
                    }
                    self.changed.notify_all();
                }
                drop(state);
                let line = one_line(&self.cleaned(text), LOGGED_CHARS);
                tracing::debug!(server = %self.settings.name, "ignored a line that is not a message: {line}");
            }
        }
    }

    /// Of several reports that no one has read yet the last one counts.
    fn take_progress(&self, text: &str, params: Option<&str>) {
        let params: Option<Map<String, Value>> =
            params.and_then(|params| json::from_str(params).ok());
        let token = params.and_then(|mut params| params.remove("progressToken"));
        let id = token.and_then(|token| json::to_number(&token));
        let mut state = self.state.lock();
        let mut calls = state.calls.iter_mut();
        let Some(call) = calls.find(|call| Some(call.id) == id && !call.is_answered) else {
            return;
        };
        let is_progress =
            |text: &String| matches!(message::read(text), Some(Message::Notification { .. }));
        call.messages.retain(|text| !is_progress(text));
        call.messages.push_back(text.to_owned());
        self.changed.notify_all();
    }

    /// Whether a request was handed to a call. It names none, so only one call at a time may get any.
    fn take_question(&self, method: &str, text: &str) -> bool {
        if !matches!(method, "elicitation/create" | "sampling/createMessage") {
            return false;
        }
        let mut state = self.state.lock();
        let mut calls = state.calls.iter_mut();
        let Some(call) = calls.find(|call| call.may_ask && !call.is_answered) else {
            return false;
        };
        let bytes: usize = call.messages.iter().map(String::len).sum();
        if call.messages.len() >= QUESTIONS_WAITING || bytes + text.len() > MESSAGE_BYTES {
            return false;
        }
        call.messages.push_back(text.to_owned());
        self.changed.notify_all();
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    fn connection() -> Arc<Connection> {
        let settings = Settings {
            name: "lamp".to_owned(),
            eraser: Eraser::default(),
            root: "file:///w".to_owned(),
            idle: Duration::from_secs(60),
            patience: Duration::ZERO,
            kept: None,
        };
        let wake = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        Arc::new(Connection::new(settings, Arc::new(wake)))
    }

    /// The messages that a call has got so far.
    fn taken(connection: &Arc<Connection>, id: u64) -> Vec<String> {
        let mut texts = Vec::new();
        while let Ok(Incoming::Message(text)) = connection.next(id, Duration::ZERO, &Cancel::new())
        {
            texts.push(text);
        }
        texts
    }

    fn request(connection: &Arc<Connection>, id: u64, may_ask: bool) -> Result<()> {
        connection.request(id, "{}", may_ask, &Cancel::new())
    }

    #[test]
    fn a_question_belongs_to_the_only_call_that_may_ask() {
        let connection = connection();
        let question = r#"{"id":"q","method":"elicitation/create","params":{}}"#;
        request(&connection, 1, false).unwrap();
        request(&connection, 2, true).unwrap();
        let busy = request(&connection, 3, true).unwrap_err().to_string();
        assert!(busy.contains("busy with another call"), "{busy}");
        connection.take_line(question);
        assert!(taken(&connection, 1).is_empty());
        assert_eq!(taken(&connection, 2), [question]);
        connection.take_line(r#"{"id":2,"result":{}}"#);
        request(&connection, 3, true).unwrap();
        connection.take_line(question);
        assert_eq!(taken(&connection, 2).len(), 1, "the answer");
        drop(connection.take_outgoing());
        // A question that its call has not taken gets an error when the call ends.
        connection.forget(3);
        let out = String::from_utf8(connection.take_outgoing()).unwrap();
        assert!(out.contains("\"q\"") && out.contains("error"), "{out}");
    }

    #[test]
    fn a_flood_leaves_what_counts() {
        let connection = connection();
        request(&connection, 1, true).unwrap();
        for number in 0..1000 {
            let params = format!(r#"{{"progressToken":1,"progress":{number}}}"#);
            connection.take_line(&format!(
                r#"{{"method":"notifications/progress","params":{params}}}"#
            ));
            connection.take_line(r#"{"id":"q","method":"elicitation/create","params":{}}"#);
            connection.take_line(r#"{"id":99,"result":{}}"#);
            connection.take_line(r#"{"method":"notifications/tools/list_changed"}"#);
        }
        let messages = taken(&connection, 1);
        assert_eq!(messages.len(), QUESTIONS_WAITING);
        assert!(
            messages.iter().any(|text| text.contains("999")),
            "the last report"
        );
        let out = String::from_utf8(connection.take_outgoing()).unwrap();
        let refused = out.lines().filter(|line| line.contains("-32601"));
        assert_eq!(refused.count(), 1000 + 1 - QUESTIONS_WAITING);
        assert!(connection.take_change() && !connection.take_change());
    }

    #[test]
    fn an_error_without_an_id_is_for_the_only_call() {
        let connection = connection();
        let error = r#"{"id":null,"error":{"code":-32700,"message":"unreadable"}}"#;
        request(&connection, 1, false).unwrap();
        request(&connection, 2, false).unwrap();
        connection.take_line(error);
        assert!(taken(&connection, 1).is_empty() && taken(&connection, 2).is_empty());
        connection.forget(2);
        connection.take_line(error);
        assert_eq!(taken(&connection, 1), [error]);
    }

    #[test]
    fn an_answer_that_is_not_json_fails_its_call_at_once() {
        let connection = connection();
        request(&connection, 1, false).unwrap();
        request(&connection, 2, false).unwrap();
        connection.take_line(r#"{"jsonrpc":"2.0","id":2,"result":{"load":NaN}}"#);
        assert!(taken(&connection, 1).is_empty());
        let answer = taken(&connection, 2).remove(0);
        assert!(
            answer.contains("-32700") && answer.contains("NaN"),
            "{answer}"
        );
        connection.take_line(r#"[{"jsonrpc":"2.0","id":1,"result":Infinity}]"#);
        assert!(taken(&connection, 1).remove(0).contains("Infinity"));
    }

    #[test]
    fn a_log_on_the_output_costs_no_message() {
        let connection = connection();
        request(&connection, 1, false).unwrap();
        connection.take_line("[INFO] ready at http://127.0.0.1:1");
        connection.take_line("{ port: 3000 }");
        connection.take_line("starting...\u{1b}[0m{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        assert_eq!(
            taken(&connection, 1),
            ["{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"]
        );
    }

    #[test]
    fn an_idle_connection_ends_and_one_with_a_call_does_not() {
        let mut connection = Arc::into_inner(connection()).unwrap();
        connection.settings.idle = Duration::ZERO;
        let connection = Arc::new(connection);
        request(&connection, 1, false).unwrap();
        assert!(matches!(connection.due(), Due::Wait(_)));
        connection.forget(1);
        assert!(matches!(connection.due(), Due::End));
        let fault = request(&connection, 2, false).unwrap_err().to_string();
        assert_eq!(fault, "the MCP server lamp was stopped");
    }

    proptest! {
        #[test]
        fn whatever_a_program_writes_is_taken(line in "[\\[\\]{}\":,a-z0-9 ]{0,80}") {
            let connection = connection();
            request(&connection, 1, true).unwrap();
            connection.take_line(&line);
        }
    }
}
