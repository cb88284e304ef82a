//! A model server that plays a script, records its requests, and is as strict as the real
//! ones. It speaks OpenAI chat completions and responses and Anthropic messages, streamed and whole, by the
//! request's path and its `stream` member.

mod anthropic;
mod local;
mod openai;
mod play;
mod responses;
mod script;

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};

use crate::harness::PATIENCE;
pub use crate::harness::gate::Gate;
use crate::harness::line::{Line, Rate, Rates};
use crate::harness::tls::Authority;
use crate::harness::wire::{self, Connection, RawRequest};

pub use local::Local;
use play::{json_type, play};
pub use script::{
    Step, broken_json, call, error, events, hang, html, huge, overflow, say, silence,
};

/// The input tokens that each answer reports.
pub const INPUT_TOKENS: u64 = 100;
/// The output tokens that each answer reports.
pub const OUTPUT_TOKENS: u64 = 10;

/// The wire format of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
    /// OpenAI's responses.
    Responses,
}

/// A request to the server.
#[derive(Clone, Debug)]
pub struct Request {
    /// The format, by the path.
    pub format: Format,
    /// The headers, with names in lower case.
    headers: Vec<(String, String)>,
    /// The body as it was sent.
    pub raw: String,
    /// The parsed body.
    pub body: Value,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        wire::header(&self.headers, name)
    }

    /// Whether it turns a part of a conversation into memory.
    pub fn is_consolidation(&self) -> bool {
        let tools = self.body["tools"].as_array();
        tools.is_some_and(|tools| tools.len() == 1 && tools[0].to_string().contains("save_memory"))
    }

    /// The conversation.
    pub fn messages(&self) -> &[Value] {
        let messages = match self.format {
            Format::Responses => &self.body["input"],
            _ => &self.body["messages"],
        };
        messages.as_array().map_or(&[], Vec::as_slice)
    }

    /// The last message as JSON: a tool's result, if the model has called one.
    pub fn last_message(&self) -> String {
        self.messages()
            .last()
            .map(Value::to_string)
            .unwrap_or_default()
    }
}

/// The running server. It stops when it is dropped, and fails the test then if it was asked more
/// than its script knows, or something that a real API would refuse.
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    authority: Option<Authority>,
    listener: Arc<TcpListener>,
}

type Script = dyn Fn(&Request) -> Option<Step> + Send + Sync;

struct Shared {
    script: Box<Script>,
    is_in_order: bool,
    tls: Option<Arc<rustls::ServerConfig>>,
    rates: Arc<Rates>,
    offers: Mutex<Offers>,
    /// The program that serves the model, where it is one at home.
    local: Mutex<Option<Local>>,
    seen: Mutex<Seen>,
    arrived: Condvar,
    stopping: AtomicBool,
    /// Whether its refusals are what is tested.
    may_refuse: AtomicBool,
}

/// What the server says when it is asked for its models.
struct Offers {
    names: Vec<String>,
    /// The only key with which it answers; `None` for any.
    key: Option<String>,
}

impl Default for Offers {
    fn default() -> Self {
        Self {
            names: vec!["fake-model".to_owned()],
            key: None,
        }
    }
}

#[derive(Default)]
struct Seen {
    requests: Vec<Request>,
    /// Questions about models, such as `GET /v1/models`.
    asked: Vec<String>,
    complaints: Vec<String>,
    sockets: Vec<TcpStream>,
}

impl Model {
    /// A server that answers each request with the script's next step. Requests for the memory, which come in
    /// the background, are answered beside the script, and [`requests`](Self::requests) leaves them out.
    pub fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        Self::start(in_order(script), true, false)
    }

    /// The same, and it refuses what OpenAI refuses to its newer models, beside the script.
    pub fn playing_as_openai(script: impl IntoIterator<Item = Step>) -> Self {
        let script = in_order(script);
        let answer =
            move |request: &Request| responses::refusal(request).or_else(|| script(request));
        Self::start(Box::new(answer), true, false)
    }

    /// The same, with TLS.
    pub fn playing_with_tls(script: impl IntoIterator<Item = Step>) -> Self {
        Self::start(in_order(script), true, true)
    }

    /// A server that answers each request with a function of the request.
    pub fn answering(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Self {
        Self::start(Box::new(move |request| Some(answer(request))), false, false)
    }

    /// The same, and requests that a real API would refuse are refused, and no fault of the test.
    pub fn refusing(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Self {
        let model = Self::answering(answer);
        model.shared.may_refuse.store(true, Ordering::SeqCst);
        model
    }

    /// It says how many messages of people it has seen in the conversation, and the last word of the last one: `2 so
    /// far, tide.`
    pub fn counting() -> Self {
        Self::answering(|request| {
            let messages = request.messages();
            let people = messages.iter().filter(|message| message["role"] == "user");
            let texts: Vec<&str> = people
                .map(|message| message["content"].as_str().unwrap())
                .collect();
            let word = texts.last().and_then(|text| text.split_whitespace().last());
            let word = word.unwrap_or_default();
            say(&format!("{} so far, {word}.", texts.len()))
        })
    }

    fn start(script: Box<Script>, is_in_order: bool, with_tls: bool) -> Self {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let (authority, tls) = with_tls.then(Authority::self_signed).unzip();
        let shared = Arc::new(Shared {
            script,
            is_in_order,
            tls,
            rates: Arc::default(),
            offers: Mutex::default(),
            local: Mutex::default(),
            seen: Mutex::default(),
            arrived: Condvar::new(),
            stopping: AtomicBool::new(false),
            may_refuse: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let port = Arc::clone(&listener);
        thread::spawn(move || accepting.accept(&port));
        Self {
            address,
            shared,
            authority,
            listener,
        }
    }

    /// Its URL, without a path.
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Its authority's certificate, when it speaks TLS.
    pub fn authority_file(&self) -> Option<PathBuf> {
        self.authority.as_ref().map(Authority::file)
    }

    /// Lists these models from now on, in this order.
    pub fn offers(&self, names: impl IntoIterator<Item = impl Into<String>>) {
        let names = names.into_iter().map(Into::into).collect();
        self.shared.offers.lock().unwrap().names = names;
    }

    /// Tells about its model what a program at home tells.
    pub fn serve_as(&self, local: Local) {
        *self.shared.local.lock().unwrap() = Some(local);
    }

    /// What it was asked about its models, such as `GET /v1/models`.
    pub fn asked(&self) -> Vec<String> {
        self.shared.seen().asked.clone()
    }

    /// Sets how fast its connections are. Those that are open already keep large buffers, so it is
    /// best set before there are any.
    pub fn set_rate(&self, rate: Rate) {
        self.shared.rates.set(rate);
        self.shared.rates.fit(&self.listener);
    }

    /// Sets the models that it lists, and the only key for which it does.
    pub fn set_offers(&self, names: &[&str], key: &str) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let key = Some(key.to_owned());
        *self.shared.offers.lock().unwrap() = Offers { names, key };
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.seen().requests.clone()
    }

    /// The results of all calls, in the order of the calls, as the model was given them.
    pub fn tool_results(&self) -> Vec<String> {
        let requests = self.requests();
        let told = requests.iter().filter_map(|request| {
            let last: Value = serde_json::from_str(&request.last_message()).unwrap();
            let content = last["content"].as_str().unwrap_or_default();
            (last["role"] == "tool").then(|| content.to_owned())
        });
        told.collect()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.seen().sockets.len()
    }

    /// Waits for this many requests.
    pub fn wait_for_requests(&self, count: usize) {
        let fewer = |seen: &mut Seen| seen.requests.len() < count;
        let waiting = self
            .shared
            .arrived
            .wait_timeout_while(self.shared.seen(), PATIENCE, fewer);
        // The lock is released before a panic: stopping the server needs it.
        let asked = waiting.unwrap().0.requests.len();
        assert!(asked >= count, "asked only {asked} times");
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The accepting thread sees the flag with its next connection.
        let _ = TcpStream::connect(self.address);
        let seen = self.shared.seen();
        for socket in &seen.sockets {
            let _ = socket.shutdown(Shutdown::Both);
        }
        if !thread::panicking() && !self.shared.may_refuse.load(Ordering::SeqCst) {
            assert!(
                seen.complaints.is_empty(),
                "the model server: {:?}",
                seen.complaints
            );
        }
    }
}

fn in_order(script: impl IntoIterator<Item = Step>) -> Box<Script> {
    let steps: Mutex<VecDeque<Step>> = Mutex::new(script.into_iter().collect());
    Box::new(move |request| {
        if request.is_consolidation() {
            let saved = json!({"history_entry": "They talked.", "memory_update": "# Memory"});
            return Some(call("save_memory", saved));
        }
        steps.lock().unwrap().pop_front()
    })
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for socket in listener.incoming() {
            if self.stopping.load(Ordering::SeqCst) {
                return;
            }
            let socket = socket.unwrap();
            socket.set_nodelay(true).unwrap();
            self.seen().sockets.push(socket.try_clone().unwrap());
            let shared = Arc::clone(self);
            // A client may disconnect at any time.
            thread::spawn(move || drop(shared.serve(socket)));
        }
    }

    fn serve(&self, socket: TcpStream) -> io::Result<()> {
        let line = Line::new(&self.rates);
        let mut connection = wire::open(socket.try_clone()?, &line, self.tls.as_ref())?;
        while let Some(raw) = wire::read(&mut connection)? {
            if !self.answer(&mut connection, raw)? {
                break;
            }
        }
        socket.shutdown(Shutdown::Both)
    }

    /// Answers one request; returns whether the connection stays open.
    fn answer(&self, connection: &mut Connection, raw: RawRequest) -> io::Result<bool> {
        if let Some((status, answer)) = self.tell(&raw) {
            wire::respond(connection, status, &[json_type()], &answer.to_string())?;
            return Ok(true);
        }
        if raw.method == "GET"
            && raw
                .path
                .split('?')
                .next()
                .is_some_and(|path| path.ends_with("/models"))
        {
            self.note_asked(&raw);
            let (status, answer) = self.list(&raw);
            wire::respond(connection, status, &[json_type()], &answer.to_string())?;
            return Ok(true);
        }
        let (request, turn) = match self.record(raw) {
            Ok(recorded) => recorded,
            Err(complaint) => {
                wire::respond(
                    connection,
                    400,
                    &[json_type()],
                    &openai::error(&complaint).to_string(),
                )?;
                return Ok(true);
            }
        };
        let Some(step) = (self.script)(&request) else {
            let complaint = format!("the script has no step for request {turn}");
            self.complain(complaint.clone());
            let body = request.format.error(&complaint).to_string();
            wire::respond(connection, 400, &[json_type()], &body)?;
            return Ok(true);
        };
        play(connection, step, &request, turn)
    }

    /// What a program at home tells.
    fn tell(&self, raw: &RawRequest) -> Option<(u16, Value)> {
        let local = self.local.lock().unwrap().clone()?;
        let model = self.offers.lock().unwrap().names[0].clone();
        let is_loaded = !self.seen().requests.is_empty();
        let told = local.answer(raw, &model, is_loaded)?;
        self.note_asked(raw);
        Some(told)
    }

    fn note_asked(&self, raw: &RawRequest) {
        let asked = format!("{} {}", raw.method, raw.path);
        self.seen().asked.push(asked);
    }

    /// The answer to a request for the list of models: its status and its body.
    fn list(&self, raw: &RawRequest) -> (u16, Value) {
        let offers = self.offers.lock().unwrap();
        let header = |name| wire::header(&raw.headers, name).unwrap_or_default();
        let is_right = |key: &String| {
            header("authorization") == format!("Bearer {key}") || header("x-api-key") == key
        };
        if !offers.key.as_ref().is_none_or(is_right) {
            return (401, openai::error("Incorrect API key provided."));
        }
        let names = offers.names.iter();
        let models: Vec<_> = names
            .map(|name| json!({"id": name, "object": "model"}))
            .collect();
        (200, json!({"object": "list", "data": models}))
    }

    /// Records a request that the API would accept; returns it and its number from 1.
    fn record(&self, raw: RawRequest) -> Result<(Request, usize), String> {
        let parsed =
            Request::parse(raw).inspect_err(|complaint| self.complain(complaint.clone()))?;
        if self.is_in_order && parsed.is_consolidation() {
            return Ok((parsed, 0));
        }
        let mut seen = self.seen();
        seen.requests.push(parsed.clone());
        self.arrived.notify_all();
        Ok((parsed, seen.requests.len()))
    }

    fn complain(&self, complaint: String) {
        self.seen().complaints.push(complaint);
    }
}

impl Request {
    fn parse(raw: RawRequest) -> Result<Self, String> {
        let format = match raw.path.as_str() {
            path if path.ends_with("/chat/completions") => Format::OpenAi,
            path if path.ends_with("/messages") => Format::Anthropic,
            path if path.ends_with("/responses") => Format::Responses,
            path => return Err(format!("{} {path}: no such path", raw.method)),
        };
        let body =
            serde_json::from_slice(&raw.body).map_err(|error| format!("the body: {error}"))?;
        let complaint = match format {
            Format::OpenAi => openai::complaint(&body),
            Format::Anthropic => anthropic::complaint(&body),
            Format::Responses => responses::complaint(&body),
        };
        match complaint {
            Some(complaint) => Err(format!("{complaint}: {body}")),
            None => Ok(Self {
                format,
                headers: raw.headers,
                raw: String::from_utf8_lossy(&raw.body).into_owned(),
                body,
            }),
        }
    }
}
