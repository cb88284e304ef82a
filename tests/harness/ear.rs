//! A server that transcribes, in OpenAI's form and in Gemini's. It is as strict as the real ones, and fails the test when
//! it is dropped if it was sent what they would refuse.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::harness::PATIENCE;
use crate::harness::form;
use crate::harness::gate::Gate;
use crate::harness::line::{Line, Rates};
use crate::harness::wire::{self, RawRequest};

/// The endings of the files that OpenAI takes, with the bytes that they begin with, after so many others
/// (<https://developers.openai.com/api/docs/guides/speech-to-text>).
const KINDS: [(&str, usize, &[u8]); 6] = [
    ("ogg", 0, b"OggS"),
    ("wav", 0, b"RIFF"),
    ("mp3", 0, b"ID3"),
    ("mp4", 4, b"ftyp"),
    ("flac", 0, b"fLaC"),
    ("webm", 0, b"\x1a\x45\xdf\xa3"),
];
/// The fields that OpenAI's package sends (transcription_create_params.py of openai 3.57.0).
const FIELDS: [&str; 11] = [
    "model",
    "response_format",
    "language",
    "prompt",
    "temperature",
    "stream",
    "chunking_strategy",
    "include[]",
    "keywords[]",
    "languages[]",
    "timestamp_granularities[]",
];

/// What it was sent.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The key; empty for none.
    pub key: String,
    /// The model.
    pub model: String,
    /// The name of the file; empty where the form has none.
    pub file_name: String,
    /// The media type.
    pub media_type: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// What it answers.
pub enum Answer {
    /// These words.
    Words(String),
    /// The same, once the gate is open.
    After(Gate, String),
    /// A refusal, with `Retry-After` where there is one.
    Status(u16, &'static str, Option<u32>),
    /// A body that is no transcription.
    Body(String),
}

/// These words.
pub fn words(text: &str) -> Answer {
    Answer::Words(text.to_owned())
}

type Listens = dyn Fn(&Recording, usize) -> Answer + Send + Sync;

/// The running server.
pub struct Ear {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    listens: Box<Listens>,
    seen: Mutex<Seen>,
    arrived: Condvar,
}

#[derive(Default)]
struct Seen {
    recordings: Vec<Recording>,
    complaints: Vec<String>,
    is_refusing: bool,
}

impl Ear {
    /// Starts it; it answers by what it is sent, and how often it was asked before.
    pub fn start(listens: impl Fn(&Recording, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            listens: Box::new(listens),
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

    /// One that hears these words in everything.
    pub fn hearing(text: &str) -> Self {
        let text = text.to_owned();
        Self::start(move |_, _| words(&text))
    }

    /// The same, where a refusal is no fault of the test.
    pub fn refusing(self) -> Self {
        self.shared.seen().is_refusing = true;
        self
    }

    /// The base URL of OpenAI's form.
    pub fn openai(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// The base URL of Gemini's models in OpenAI's form, beside which its own form is.
    pub fn gemini(&self) -> String {
        format!("{}/v1beta/openai", self.url)
    }

    /// What it was sent so far.
    pub fn recordings(&self) -> Vec<Recording> {
        self.shared.seen().recordings.clone()
    }

    /// Waits until it was sent so many recordings.
    pub fn wait_for(&self, count: usize) {
        let fewer = |seen: &mut Seen| seen.recordings.len() < count;
        let arrived = &self.shared.arrived;
        let waited = arrived.wait_timeout_while(self.shared.seen(), PATIENCE, fewer);
        let sent = waited.unwrap().0.recordings.len();
        assert!(sent >= count, "it was sent only {sent} recordings");
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let seen = self.shared.seen();
        if !thread::panicking() && !seen.is_refusing {
            assert!(seen.complaints.is_empty(), "the ear: {:?}", seen.complaints);
        }
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn serve(&self, socket: TcpStream) {
        let line = Line::new(&Arc::<Rates>::default());
        let Ok(mut connection) = wire::open(socket, &line, None) else {
            return;
        };
        while let Ok(Some(request)) = wire::read(&mut connection) {
            let is_gemini = request.path.starts_with("/v1beta/");
            let read = if is_gemini {
                of_gemini(&request)
            } else {
                of_openai(&request)
            };
            let (status, body, retry_after) = match read {
                Ok(recording) => self.answer(recording, is_gemini),
                Err(complaint) => {
                    let refusal =
                        json!({"error": {"message": complaint, "type": "invalid_request_error"}});
                    self.seen().complaints.push(complaint);
                    (400, refusal.to_string(), None)
                }
            };
            let mut headers = vec![("content-type", "application/json".to_owned())];
            headers.extend(retry_after.map(|seconds: u32| ("retry-after", seconds.to_string())));
            if wire::respond(&mut connection, status, &headers, &body).is_err() {
                return;
            }
        }
    }

    fn answer(&self, recording: Recording, is_gemini: bool) -> (u16, String, Option<u32>) {
        let before = {
            let mut seen = self.seen();
            seen.recordings.push(recording.clone());
            self.arrived.notify_all();
            seen.recordings.len() - 1
        };
        let text = match (self.listens)(&recording, before) {
            Answer::Words(text) => text,
            Answer::After(gate, text) => {
                gate.wait();
                text
            }
            Answer::Status(status, message, retry_after) => {
                let refusal = json!({"error": {"message": message, "type": "error", "code": null}});
                return (status, refusal.to_string(), retry_after);
            }
            Answer::Body(body) => return (200, body, None),
        };
        let answer = match is_gemini {
            true => json!({
                "candidates": [{
                    "content": {"role": "model", "parts": [{"text": "Hm.", "thought": true}, {"text": text}]},
                    "finishReason": "STOP", "index": 0,
                }],
                "usageMetadata": {"promptTokenCount": 120, "candidatesTokenCount": 9, "totalTokenCount": 129},
            }),
            false => json!({"text": text, "usage": {"type": "duration", "seconds": 3}}),
        };
        (200, answer.to_string(), None)
    }
}

fn of_openai(request: &RawRequest) -> Result<Recording, String> {
    if (request.method.as_str(), request.path.as_str()) != ("POST", "/v1/audio/transcriptions") {
        return Err(format!("there is no {} {}", request.method, request.path));
    }
    let header = |name| wire::header(&request.headers, name);
    let kind = header("content-type").unwrap_or_default();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=");
    let boundary = boundary.ok_or_else(|| format!("this is no form: {kind}"))?;
    let (mut file, mut model) = (None, None);
    for part in form::parts(&request.body, boundary.trim_matches('"'))? {
        match part.name.as_str() {
            "file" if file.is_none() => file = Some(part),
            "model" if model.is_none() => {
                model = Some(String::from_utf8_lossy(&part.bytes).into_owned());
            }
            "response_format" if *part.bytes != *b"json" => {
                return Err("only json is served here".to_owned());
            }
            name if FIELDS.contains(&name) && name != "model" => {}
            name => return Err(format!("unknown or repeated field {name}")),
        }
    }
    let file = file.ok_or("you must provide a file")?;
    let model = model.filter(|model| !model.is_empty());
    let file_name = file.file_name.ok_or("the file has no name")?;
    let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let known = KINDS.iter().find(|(known, ..)| *known == ending);
    let (_, at, mark) = known.ok_or_else(|| format!("unrecognized file format: {file_name}"))?;
    if !file
        .bytes
        .get(*at..)
        .is_some_and(|rest| rest.starts_with(mark))
    {
        return Err(format!("the file is no {ending}"));
    }
    if !file.mime.starts_with("audio/") {
        return Err(format!("the file is said to be {}", file.mime));
    }
    let key = header("authorization").map(|value| value.strip_prefix("Bearer ").ok_or("no Bearer"));
    Ok(Recording {
        key: key.transpose()?.unwrap_or_default().to_owned(),
        model: model.ok_or("you must provide a model")?,
        file_name,
        media_type: file.mime,
        bytes: file.bytes.to_vec(),
    })
}

fn of_gemini(request: &RawRequest) -> Result<Recording, String> {
    let model = request.path.strip_prefix("/v1beta/models/");
    let model = model.and_then(|rest| rest.strip_suffix(":generateContent"));
    let model = model.ok_or_else(|| format!("there is no {}", request.path))?;
    let header = |name| wire::header(&request.headers, name);
    if header("content-type") != Some("application/json") || header("authorization").is_some() {
        return Err("JSON with x-goog-api-key is wanted".to_owned());
    }
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    let only = |value: &Value, names: &[&str]| match value.as_object() {
        Some(members) if members.keys().all(|name| names.contains(&name.as_str())) => Ok(()),
        _ => Err(format!("only {names:?} are known")),
    };
    only(
        &body,
        &["contents", "systemInstruction", "generationConfig"],
    )?;
    only(&body["systemInstruction"], &["parts"])?;
    let content = &body["contents"][0];
    only(content, &["role", "parts"])?;
    let part = &content["parts"][0];
    only(part, &["inlineData"])?;
    only(&part["inlineData"], &["mimeType", "data"])?;
    let data = part["inlineData"]["data"].as_str().ok_or("no data")?;
    let bytes = BASE64_STANDARD.decode(data);
    Ok(Recording {
        key: header("x-goog-api-key").unwrap_or_default().to_owned(),
        model: model.to_owned(),
        file_name: String::new(),
        media_type: part["inlineData"]["mimeType"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        bytes: bytes.map_err(|error| error.to_string())?,
    })
}

/// A voice message as Telegram has it, Ogg with Opus, of so many seconds: packets of 120 ms each, without sound.
pub fn voice(seconds: u64) -> Vec<u8> {
    const PACKET: [u8; 3] = [0xfb, 6, 0];
    let page = |kind: u8, samples: u64, packets: &[&[u8]]| {
        let mut page = b"OggS\0".to_vec();
        page.push(kind);
        page.extend_from_slice(&samples.to_le_bytes());
        page.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        page.push(u8::try_from(packets.len()).unwrap());
        page.extend(packets.iter().map(|one| u8::try_from(one.len()).unwrap()));
        page.extend(packets.concat());
        page
    };
    let head: &[u8] = b"OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0";
    let tags: &[u8] = b"OpusTags\0\0\0\0\0\0\0\0";
    let count = usize::try_from((seconds * 1000 / 120).max(1)).unwrap();
    let packets = vec![PACKET.as_slice(); count];
    let sound = packets
        .chunks(200)
        .map(|packets| page(0, seconds * 48_000, packets));
    let mut all = [page(2, 0, &[head]), page(0, 0, &[tags])].concat();
    sound.for_each(|page| all.extend(page));
    all
}
