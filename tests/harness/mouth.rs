//! A server that speaks, with OpenAI's `/audio/speech`. It fails the test when it is dropped if it was sent what the real one
//! would refuse.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::harness::PATIENCE;
use crate::harness::gate::Gate;
use crate::harness::line::{Line, Rates};
use crate::harness::wire::{self, RawRequest};

/// The members that OpenAI's package sends (speech_create_params.py of openai 3.57.0).
const MEMBERS: [&str; 7] = [
    "input",
    "model",
    "voice",
    "instructions",
    "response_format",
    "speed",
    "stream_format",
];
/// Characters that it takes.
const INPUT_CHARS: usize = 4096;

/// What it was asked to say.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The key; empty for none.
    pub key: String,
    /// The text.
    pub input: String,
    /// The model and the voice.
    pub by: (String, String),
}

/// What it answers.
pub enum Speech {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The same, once the gate is open.
    After(Gate, Vec<u8>),
    /// A refusal.
    Status(u16, &'static str),
}

type Speaks = dyn Fn(&Asked, usize) -> Speech + Send + Sync;

/// The running server.
pub struct Mouth {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    speaks: Box<Speaks>,
    seen: Mutex<(Vec<Asked>, Vec<String>)>,
    arrived: Condvar,
}

impl Mouth {
    /// Starts it; it answers by what it is asked, and how often it was before.
    pub fn start(speaks: impl Fn(&Asked, usize) -> Speech + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            speaks: Box::new(speaks),
            seen: Mutex::default(),
            arrived: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.serve(socket));
            }
        });
        Self { url, shared }
    }

    /// Its base URL.
    pub fn base(&self) -> &str {
        &self.url
    }

    /// What it was asked to say so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.seen.lock().unwrap().0.clone()
    }

    /// Waits until it was asked so often.
    pub fn wait_for(&self, count: usize) {
        let (seen, arrived) = (self.shared.seen.lock().unwrap(), &self.shared.arrived);
        let waited = arrived.wait_timeout_while(seen, PATIENCE, |seen| seen.0.len() < count);
        let asked = waited.unwrap().0.0.len();
        assert!(asked >= count, "it was asked only {asked} times");
    }
}

impl Drop for Mouth {
    fn drop(&mut self) {
        if !thread::panicking() {
            let complaints = &self.shared.seen.lock().unwrap().1;
            assert!(complaints.is_empty(), "the mouth: {complaints:?}");
        }
    }
}

impl Shared {
    fn serve(&self, socket: TcpStream) {
        let line = Line::new(&Arc::<Rates>::default());
        let Ok(mut connection) = wire::open(socket, &line, None) else {
            return;
        };
        while let Ok(Some(request)) = wire::read(&mut connection) {
            let (status, kind, body) = match read(&request) {
                Ok(asked) => self.answer(asked),
                Err(complaint) => {
                    self.seen.lock().unwrap().1.push(complaint.clone());
                    refusal(400, &complaint)
                }
            };
            let headers = [("content-type", kind.to_owned())];
            if wire::respond(&mut connection, status, &headers, &body).is_err() {
                return;
            }
        }
    }

    fn answer(&self, asked: Asked) -> (u16, &'static str, Vec<u8>) {
        let before = {
            let mut seen = self.seen.lock().unwrap();
            seen.0.push(asked.clone());
            self.arrived.notify_all();
            seen.0.len() - 1
        };
        let bytes = match (self.speaks)(&asked, before) {
            Speech::Bytes(bytes) => bytes,
            Speech::After(gate, bytes) => {
                gate.wait();
                bytes
            }
            Speech::Status(status, message) => return refusal(status, message),
        };
        (200, "audio/opus", bytes)
    }
}

fn refusal(status: u16, message: &str) -> (u16, &'static str, Vec<u8>) {
    let refusal = json!({"error": {"message": message, "type": "invalid_request_error"}});
    (status, "application/json", refusal.to_string().into_bytes())
}

fn read(request: &RawRequest) -> Result<Asked, String> {
    if (request.method.as_str(), request.path.as_str()) != ("POST", "/v1/audio/speech") {
        return Err(format!("there is no {} {}", request.method, request.path));
    }
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    let members = body.as_object().ok_or("no object")?;
    if let Some(name) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        return Err(format!("unknown member {name}"));
    }
    let text = |name: &str| match body[name].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("{name} is missing")),
    };
    if text("response_format")? != "opus" {
        return Err("only opus is served here".to_owned());
    }
    let input = text("input")?;
    if input.chars().count() > INPUT_CHARS {
        return Err("string_above_max_length".to_owned());
    }
    let key = wire::header(&request.headers, "authorization");
    let key = key.map(|value| value.strip_prefix("Bearer ").ok_or("no Bearer"));
    Ok(Asked {
        key: key.transpose()?.unwrap_or_default().to_owned(),
        input,
        by: (text("model")?, text("voice")?),
    })
}
