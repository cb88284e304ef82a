//! The conversation with one server: how it begins, and calls.

mod hello;
mod paused;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};

pub use paused::Paused;

use super::CALL_TIME;
use super::input;
use super::message::{self, Message, RpcError};
use super::protocol::{self, Abilities, Hello};
use super::transport::{CANCELLED, Incoming, Outgoing, Replies, Transport};
use crate::base::cancel::Cancel;
use crate::base::chat::InputRequest;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::mcp::CONNECT_TIME;

/// Time for the answer to `server/discover`: servers before 2026-07-28 may ignore it.
const DISCOVER_TIME: Duration = Duration::from_secs(5);
/// How often one call may want to know more from a person.
const ROUNDS: u32 = 8;
/// Questions of a server within one round.
const QUESTIONS: usize = 8;

/// What is known before the first message.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server's name in the configuration.
    pub name: String,
    /// What we support.
    pub abilities: Abilities,
    /// The address of the workspace, such as `file:///home/pi/workspace`; it is the only root.
    pub root: String,
    /// The version that was spoken with this server before; tried first.
    pub known_version: Option<&'static str>,
    /// Time for the first answers.
    pub connect_time: Duration,
    /// Time for the answer to `server/discover`.
    pub discover_time: Duration,
}

impl Options {
    /// Nothing is known about the server but its name.
    pub fn new(name: &str, abilities: Abilities, root: String) -> Self {
        Self {
            name: name.to_owned(),
            abilities,
            root,
            known_version: None,
            connect_time: CONNECT_TIME,
            discover_time: DISCOVER_TIME,
        }
    }
}

/// A server that can be called.
pub struct Link {
    transport: Box<dyn Transport>,
    options: Options,
    hello: Hello,
    next_id: AtomicU64,
    /// Whether it has said since that its lists have changed.
    has_changed: AtomicBool,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Such as `tools/call`.
    pub method: &'static str,
    /// Its parameters, without `_meta`.
    pub params: Map<String, Value>,
    /// Arguments that go into headers too.
    pub parameters: Vec<(String, String)>,
    /// Time for the response, and between two reports of progress.
    pub patience: Duration,
}

/// How far a call has come.
pub enum Step {
    /// Its result, as JSON.
    Done(String),
    /// The server wants to know something first.
    Asked(Box<Paused>),
}

impl Link {
    /// Says hello, in the newest version that both know.
    pub fn open(
        transport: Box<dyn Transport>,
        options: Options,
        cancel: &Cancel,
    ) -> Result<Arc<Self>> {
        let mut link = Self {
            transport,
            options,
            hello: Hello::default(),
            next_id: AtomicU64::new(1),
            has_changed: AtomicBool::new(false),
        };
        link.hello = link.greet(cancel)?;
        Ok(Arc::new(link))
    }

    /// What the server says about itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Whether a new one is needed for the next call.
    pub fn is_over(&self) -> bool {
        self.transport.is_over()
    }

    /// Whether the server has said since the last time that its lists have changed.
    pub fn take_change(&self) -> bool {
        self.has_changed.swap(false, Ordering::Relaxed)
    }

    /// Takes news that came while no call was under way.
    pub fn take_notification(&self, method: &str) {
        if method.ends_with("/list_changed") {
            self.has_changed.store(true, Ordering::Relaxed);
        }
    }

    /// Answers a message that came while no call was under way.
    pub fn take(&self, text: &str, cancel: &Cancel) -> Result<()> {
        match message::read(text) {
            Some(Message::Notification { method, .. }) => self.take_notification(&method),
            Some(Message::Request { id, method, .. }) => {
                self.answer_plain(id.get(), &method, cancel)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Asks a program to say when its lists change, which it does unasked before 2026-07-28.
    pub(super) fn subscribe(&self, cancel: &Cancel) -> Result<()> {
        let version = self.hello.version;
        if !protocol::is_modern(version) {
            return Ok(());
        }
        let mut params = Map::new();
        let meta = protocol::meta(version, self.options.abilities);
        params.insert("_meta".to_owned(), meta.into());
        let kinds = ["tools", "resources", "prompts"];
        let filter: Map<String, Value> = kinds
            .into_iter()
            .map(|kind| (format!("{kind}ListChanged"), true.into()))
            .collect();
        params.insert("notifications".to_owned(), filter.into());
        // The response would be its end, and no one waits for that.
        let method = "subscriptions/listen";
        let json = message::request(self.next_id(), method, params);
        self.send(&json, method, version, cancel)
    }

    /// Begins a call.
    pub fn call(
        self: &Arc<Self>,
        call: Call,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Step> {
        let id = self.next_id();
        let replies = self.send_request(id, &call, self.hello.version, cancel)?;
        let exchange = Exchange {
            link: Arc::clone(self),
            call,
            id,
            replies,
            rounds: 0,
        };
        exchange.follow(cancel, progress)
    }

    /// Makes a call that a server answers without a question.
    pub fn ask(self: &Arc<Self>, call: Call, cancel: &Cancel) -> Result<String> {
        match self.call(call, cancel, &mut |_| ())? {
            Step::Done(result) => Ok(result),
            Step::Asked(paused) => {
                paused.give_up();
                Err(self.fault("asked a question instead of an answer"))
            }
        }
    }

    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn send_request(
        &self,
        id: u64,
        call: &Call,
        version: &'static str,
        cancel: &Cancel,
    ) -> Result<Box<dyn Replies>> {
        let mut params = call.params.clone();
        let mut meta = match call.method {
            "initialize" => Map::new(),
            _ => protocol::meta(version, self.options.abilities),
        };
        if reports_progress(call.method) {
            meta.insert("progressToken".to_owned(), id.into());
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), meta.into());
        }
        let name = ["name", "uri"]
            .iter()
            .find_map(|key| call.params.get(*key)?.as_str());
        let name = name.filter(|_| call.method != "initialize");
        let json = message::request(id, call.method, params);
        let outgoing = Outgoing {
            json: &json,
            method: call.method,
            name,
            parameters: &call.parameters,
            version,
        };
        self.transport.request(id, &outgoing, cancel)
    }

    fn send(&self, json: &str, method: &str, version: &'static str, cancel: &Cancel) -> Result<()> {
        let outgoing = Outgoing {
            json,
            method,
            name: None,
            parameters: &[],
            version,
        };
        self.transport.send(&outgoing, cancel)
    }

    fn respond(
        &self,
        id: &str,
        outcome: std::result::Result<Value, (i64, &str)>,
        cancel: &Cancel,
    ) -> Result<()> {
        self.send(
            &message::response(id, outcome),
            "",
            self.hello.version,
            cancel,
        )
    }

    /// Answers a request that needs no person.
    fn answer_plain(&self, id: &str, method: &str, cancel: &Cancel) -> Result<()> {
        let outcome = protocol::plain_answer(method, &self.options.root);
        self.respond_aside(id, outcome, cancel)
    }

    /// Sends an answer that the call does not depend on: when it does not reach the server, the call goes on.
    fn respond_aside(
        &self,
        id: &str,
        outcome: std::result::Result<Value, (i64, &str)>,
        cancel: &Cancel,
    ) -> Result<()> {
        match self.respond(id, outcome, cancel) {
            Err(Error::Stopped) => Err(Error::Stopped),
            Err(error) => {
                tracing::debug!(server = %self.options.name, "failed to answer an MCP server: {error}");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Whether we have said that we can answer this.
    fn can(&self, method: &str) -> bool {
        match method {
            "elicitation/create" => self.options.abilities.elicitation,
            "sampling/createMessage" => self.options.abilities.sampling,
            _ => false,
        }
    }

    /// The error of a server that did this.
    pub(super) fn fault(&self, what: &str) -> Error {
        Error::Failed(format!("the MCP server {} {what}", self.options.name))
    }

    fn answered(&self, error: &RpcError) -> Error {
        self.fault(&format!("answered: {error}"))
    }

    fn unknown_version(&self) -> Error {
        self.fault("speaks no version of the protocol that is known here")
    }

    fn silent(&self, call: &Call) -> Error {
        Error::Timeout {
            host: format!("the MCP server {}", self.options.name),
            what: format!(
                "{} took more than {} s",
                call.method,
                call.patience.as_secs()
            ),
        }
    }
}

/// Whether the server is asked for reports of its progress.
fn reports_progress(method: &str) -> bool {
    matches!(method, "tools/call" | "resources/read" | "prompts/get")
}

/// A call that is under way.
struct Exchange {
    link: Arc<Link>,
    call: Call,
    id: u64,
    replies: Box<dyn Replies>,
    rounds: u32,
}

impl Exchange {
    /// Follows the call to its response, or to a question.
    fn follow(mut self, cancel: &Cancel, progress: &mut dyn FnMut(&str)) -> Result<Step> {
        let (total, mut quiet) = (Stopwatch::start(), Stopwatch::start());
        loop {
            let left = self.call.patience.saturating_sub(quiet.elapsed());
            if left.is_zero() || total.elapsed() > CALL_TIME {
                self.say_cancelled("it took too long");
                return Err(self.link.silent(&self.call));
            }
            let text = match self.replies.next(left, cancel) {
                Ok(Incoming::Message(text)) => text,
                Ok(Incoming::Nothing) => continue,
                Err(error) => {
                    if matches!(error, Error::Stopped) {
                        self.say_cancelled("the person stopped it");
                    }
                    return Err(error);
                }
            };
            match message::read(&text) {
                Some(Message::Response { id, outcome }) if id.is_none_or(|id| id == self.id) => {
                    return match outcome {
                        Ok(result) => self.end(result.get(), cancel, progress),
                        Err(error) => Err(self.link.answered(&error)),
                    };
                }
                Some(Message::Notification { method, params }) => {
                    if method == "notifications/progress"
                        && reports_progress(self.call.method)
                        && let Some(text) = paused::progress_text(params, self.id)
                    {
                        if !text.is_empty() {
                            progress(&text);
                        }
                        quiet = Stopwatch::start();
                    }
                    self.link.take_notification(&method);
                }
                Some(Message::Request { id, method, params }) => {
                    let params = params.map_or("{}", |params| params.get());
                    match self.question(&method, params) {
                        None => self.link.answer_plain(id.get(), &method, cancel)?,
                        Some(Err(why)) => {
                            let answer = Err((-32602, why.as_str()));
                            self.link.respond_aside(id.get(), answer, cancel)?;
                        }
                        Some(Ok(request)) => {
                            let id = id.get().to_owned();
                            return self.pause(vec![(id, request)], Resume::Respond);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A question for a person or a model. `None`: it is none, or not one that we have said we answer.
    fn question(
        &self,
        method: &str,
        params: &str,
    ) -> Option<std::result::Result<InputRequest, String>> {
        let is_ours = self.link.can(method);
        is_ours.then(|| input::read(&self.link.options.name, method, params))
    }

    fn pause(mut self, questions: Vec<(String, InputRequest)>, resume: Resume) -> Result<Step> {
        self.rounds += 1;
        let error = (self.rounds > ROUNDS).then(|| self.asked_too_often());
        let mut waiting = VecDeque::from(questions);
        let Some((key, request)) = waiting.pop_front() else {
            return Err(self.link.fault("asked nothing"));
        };
        let paused = Box::new(Paused {
            exchange: self,
            key,
            request,
            waiting,
            answers: Map::new(),
            resume,
        });
        match error {
            Some(error) => {
                paused.give_up();
                Err(error)
            }
            None => Ok(Step::Asked(paused)),
        }
    }

    fn asked_too_often(&self) -> Error {
        self.link.fault(&format!("asked more than {ROUNDS} times"))
    }

    /// The end of this request, which is the call's unless the server wants to know more first.
    fn end(self, result: &str, cancel: &Cancel, progress: &mut dyn FnMut(&str)) -> Result<Step> {
        let Some(wanted) = input::read_required(result) else {
            return Ok(Step::Done(result.to_owned()));
        };
        let mut questions = Vec::new();
        let mut answers = Map::new();
        for (key, method, params) in wanted.requests.into_iter().take(QUESTIONS) {
            match method.as_str() {
                "roots/list" => drop(answers.insert(key, protocol::roots(&self.link.options.root))),
                _ => match self.question(&method, &params) {
                    Some(Ok(request)) => questions.push((key, request)),
                    Some(Err(why)) => return Err(self.link.fault(&why)),
                    None => return Err(self.link.fault("asked for what is not supported here")),
                },
            }
        }
        let resume = Resume::Retry(wanted.state);
        if questions.is_empty() {
            return self.retry(answers, resume, cancel, progress);
        }
        let mut step = self.pause(questions, resume)?;
        if let Step::Asked(paused) = &mut step {
            paused.answers = answers;
        }
        Ok(step)
    }

    /// Makes the request again, with the answers.
    fn retry(
        mut self,
        answers: Map<String, Value>,
        resume: Resume,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Step> {
        self.rounds += 1;
        if self.rounds > ROUNDS {
            return Err(self.asked_too_often());
        }
        let mut call = self.call.clone();
        if !answers.is_empty() {
            call.params
                .insert("inputResponses".to_owned(), answers.into());
        }
        if let Resume::Retry(Some(state)) = resume {
            call.params.insert("requestState".to_owned(), state.into());
        }
        self.id = self.link.next_id();
        self.replies = self
            .link
            .send_request(self.id, &call, self.link.hello.version, cancel)?;
        self.follow(cancel, progress)
    }

    /// Says that the response is not waited for any longer.
    fn say_cancelled(&self, reason: &str) {
        if !self.link.transport.announces_cancel() {
            return;
        }
        let params = json!({"requestId": self.id, "reason": reason});
        let json = message::notification(CANCELLED, Some(params));
        // The call's own token may be raised already.
        let sent = self
            .link
            .send(&json, CANCELLED, self.link.hello.version, &Cancel::new());
        if let Err(error) = sent {
            tracing::debug!(server = %self.link.options.name, "failed to cancel a call: {error}");
        }
    }
}

/// How an answer reaches the server.
enum Resume {
    /// As the response to its request.
    Respond,
    /// With the request, which is made again, together with this text.
    Retry(Option<String>),
}
