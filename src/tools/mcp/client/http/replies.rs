//! The reply to one request: JSON, or events until the response is among them.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::{Headers, Shared, header};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::http::{COPY_BYTES, TRANSFER_RATE};
use crate::base::limits::mcp::http::REPLY_BYTES;
use crate::net::http::sse::{Parser, TooLong};
use crate::net::http::{Body, Method, PooledClient, Response, address, error_of};
use crate::text::truncate_bytes;
use crate::tools::mcp::client::message::{self, Message};
use crate::tools::mcp::client::protocol::is_modern;
use crate::tools::mcp::client::transport::{Incoming, Replies};
use crate::tools::mcp::client::{CALL_TIME, MESSAGE_BYTES};

/// Bytes of an event's id that are sent back.
const EVENT_ID_BYTES: usize = 1024;
/// How often a reply that broke off is asked for again.
const RESUMES: u32 = 100;
/// Time before that when the server names none, and the least otherwise.
const RESUME_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(100));

/// A request that is sent when its reply is waited for, because only then it is known for how long.
pub struct Prepared {
    /// Its headers.
    pub headers: Headers,
    /// Its body.
    pub json: String,
    /// The version that it is written in.
    pub version: &'static str,
    /// Whether its reply begins a session.
    pub opens_session: bool,
    /// Whether it is part of one.
    pub in_session: bool,
}

enum Stage {
    /// It is not sent yet.
    Unsent(Box<Prepared>),
    /// Events come.
    Stream(Box<Stream>),
    /// The stream has broken off, and is asked for again after the pause.
    Broken { since: Stopwatch, pause: Duration },
    /// Nothing comes any more.
    Over,
}

struct Stream {
    body: Body,
    parser: Parser,
}

/// The messages that come for one request.
pub struct HttpReplies {
    // Before the client, which gets its connection back.
    stage: Stage,
    client: PooledClient,
    shared: Arc<Shared>,
    id: u64,
    version: &'static str,
    in_session: bool,
    waiting: VecDeque<String>,
    is_answered: bool,
    /// The id of the last event.
    last_id: String,
    /// How often the stream was asked for since it last brought something.
    resumes: u32,
    /// Bytes of the stream since the last message was taken.
    received: u64,
}

impl HttpReplies {
    /// The replies to a request that is still to be sent.
    pub fn new(shared: Arc<Shared>, client: PooledClient, id: u64, prepared: Prepared) -> Self {
        Self {
            client,
            shared,
            id,
            version: prepared.version,
            in_session: prepared.in_session,
            stage: Stage::Unsent(Box::new(prepared)),
            waiting: VecDeque::new(),
            is_answered: false,
            last_id: String::new(),
            resumes: 0,
            received: 0,
        }
    }

    /// Whether the response has come.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    fn step(&mut self, left: Duration, cancel: &Cancel) -> Result<()> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Unsent(prepared) => self.send(&prepared, left),
            Stage::Stream(stream) => self.read(stream),
            Stage::Broken { since, pause } => {
                let pause_left = pause.saturating_sub(since.elapsed());
                if !pause_left.is_zero() {
                    cancel.wait(pause_left.min(left));
                    self.stage = Stage::Broken { since, pause };
                    return Ok(());
                }
                self.resume(left)
            }
            Stage::Over => {
                Err(self.broken("it closed the connection before the reply was complete"))
            }
        }
    }

    /// Makes a request, whose reply has to begin within the time.
    fn ask(
        &self,
        method: Method,
        headers: &Headers,
        body: Option<&[u8]>,
        time: Duration,
    ) -> Result<Response> {
        let to = (method, self.shared.parts.server.url.as_str());
        self.client.set_reply_time(Some(time));
        let response = self.shared.exchange(&self.client, to, headers, body);
        self.client.set_reply_time(None);
        response
    }

    fn send(&mut self, prepared: &Prepared, time: Duration) -> Result<()> {
        let body = Some(prepared.json.as_bytes());
        let response = self.ask(Method::POST, &prepared.headers, body, time)?;
        if prepared.opens_session && response.status() < 300 {
            self.shared.open_session(&response, prepared.version);
        }
        self.take(response)
    }

    fn resume(&mut self, time: Duration) -> Result<()> {
        let session = self.shared.session.lock().clone();
        let mut headers = header::of_session(&session.id, self.version);
        headers.push(header::pair("accept", "text/event-stream"));
        headers.push(header::pair("last-event-id", &self.last_id));
        let outcome = match self.ask(Method::GET, &headers, None, time) {
            Ok(response) if response.status() < 500 => self.take(response),
            Ok(response) => response.checked().map(drop),
            Err(error) => Err(error),
        };
        match outcome {
            Err(
                Error::Network { .. }
                | Error::Timeout { .. }
                | Error::Status {
                    status: 500..600, ..
                },
            ) => self.pause(RESUME_PAUSE.0),
            // The call was made, so that this is not the answer to it.
            Err(Error::Status { status, .. }) if !matches!(status, 401 | 403) => Err(self.broken(
                &format!("the rest of the reply cannot be had any more (it answered {status})"),
            )),
            outcome => outcome,
        }
    }

    /// Waits until the stream is asked for once more.
    fn pause(&mut self, pause: Duration) -> Result<()> {
        self.resumes += 1;
        if self.resumes > RESUMES {
            return Err(self.broken("it closed the connection again and again"));
        }
        let since = Stopwatch::start();
        self.stage = Stage::Broken { since, pause };
        Ok(())
    }

    /// Takes a reply whose body is still to be read.
    fn take(&mut self, response: Response) -> Result<()> {
        let kind = response.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
        let is_json = kind.eq_ignore_ascii_case("application/json");
        let status = response.status();
        let url = &self.shared.parts.server.url;
        let target = response.header("location");
        if (300..400).contains(&status)
            && target.and_then(|target| address::join(url, target)) == Some(format!("{url}/"))
        {
            let host = response.host().to_owned();
            return Err(Error::Status {
                host,
                status,
                retry_after: None,
                body: "its address ends with a /, which the url in the settings lacks".to_owned(),
            });
        }
        let is_over = status == 404 && self.in_session;
        if status >= 400 && (!is_json || is_over || matches!(status, 401 | 403))
            || (300..400).contains(&status)
        {
            return response.checked().map(drop);
        }
        if is_json {
            let host = response.host().to_owned();
            let body = match status {
                200..300 => response.checked()?,
                _ => response,
            };
            let body = body.read_to_end(MESSAGE_BYTES)?;
            let text = String::from_utf8_lossy(&body);
            let text = json::mend_strings(&text);
            if status >= 400
                && let Some(why) = self.refusal(status, &text)
            {
                return Err(Error::Status {
                    host,
                    status,
                    retry_after: None,
                    body: why,
                });
            }
            return self.push_whole(&text);
        }
        self.take_unnamed(response.checked()?.into_reader(REPLY_BYTES), &kind)
    }

    /// Takes a reply that should be events. The beginning says what it is: some servers give no type, or
    /// another one.
    fn take_unnamed(&mut self, mut body: Body, kind: &str) -> Result<()> {
        let mut parser = Parser::with_bytes_max(MESSAGE_BYTES);
        let mut begun = Vec::new();
        if !kind.eq_ignore_ascii_case("text/event-stream") {
            let mut buffer = [0; COPY_BYTES];
            while begun.trim_ascii().is_empty() {
                let count = body.read(&mut buffer).map_err(error_of)?;
                if count == 0 || begun.len() > COPY_BYTES {
                    break;
                }
                begun.extend_from_slice(&buffer[..count]);
            }
            let text = begun.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&begun);
            let text = text.trim_ascii_start();
            if text.starts_with(b"{") || text.starts_with(b"[") {
                body.take((MESSAGE_BYTES + 1) as u64)
                    .read_to_end(&mut begun)
                    .map_err(error_of)?;
                if begun.len() > MESSAGE_BYTES {
                    return Err(TooLong.into());
                }
                return self.push_whole(&json::mend_strings(&String::from_utf8_lossy(&begun)));
            }
            let fields = [&b"data:"[..], b"event:", b"id:", b"retry:", b":"];
            if !fields.iter().any(|field| text.starts_with(field)) {
                let what = if kind.is_empty() {
                    "nothing".to_owned()
                } else {
                    shown(kind)
                };
                let what = format!("it answered with {what} instead of JSON or events");
                return Err(self.broken(&what));
            }
            begun = text.to_vec();
        }
        self.push_events(&mut parser, &begun)?;
        self.stage = Stage::Stream(Box::new(Stream { body, parser }));
        Ok(())
    }

    /// Adds the messages of a whole body, which may be events in spite of its type.
    fn push_whole(&mut self, text: &str) -> Result<()> {
        let all = message::split(text);
        if all.first().is_some_and(|one| !one.starts_with(['{', '['])) {
            let mut parser = Parser::with_bytes_max(MESSAGE_BYTES);
            self.push_events(&mut parser, text.as_bytes())?;
            self.end_stream(parser)?;
            if !self.waiting.is_empty() {
                return Ok(());
            }
        }
        all.into_iter().for_each(|one| self.push(one));
        Ok(())
    }

    fn push_events(&mut self, parser: &mut Parser, bytes: &[u8]) -> Result<()> {
        parser.push(bytes, &mut |event| {
            self.push(&json::mend_strings(event.data));
            Ok::<_, Error>(())
        })
    }

    /// What a refusal says, unless it is the response. Servers that have forgotten a session answer 404, or
    /// 400 with a message that belongs to no request.
    fn refusal(&self, status: u16, text: &str) -> Option<String> {
        match message::read(text) {
            // Many others answer with an `error` too.
            Some(Message::Response { .. }) if !text.contains("\"jsonrpc\"") => Some(shown(text)),
            Some(Message::Response {
                id: None,
                outcome: Err(error),
            }) if status == 400 && self.in_session => Some(shown(&error.message)),
            Some(Message::Response { .. }) => None,
            _ => Some(shown(text)),
        }
    }

    /// Reads the next piece of the stream. When nothing comes in time, the stream can be read on.
    fn read(&mut self, mut stream: Box<Stream>) -> Result<()> {
        let mut buffer = [0; COPY_BYTES];
        let count = match stream.body.read(&mut buffer).map_err(error_of) {
            Ok(count) => count,
            Err(error @ Error::Timeout { .. }) => {
                self.stage = Stage::Stream(stream);
                return Err(error);
            }
            Err(Error::Network { .. }) => 0,
            Err(error) => return Err(error),
        };
        if count == 0 {
            return self.end_stream(stream.parser);
        }
        self.received += count as u64;
        self.push_events(&mut stream.parser, &buffer[..count])?;
        self.stage = Stage::Stream(stream);
        Ok(())
    }

    /// The end of a stream, which has to have the response by then, or to be resumed.
    fn end_stream(&mut self, parser: Parser) -> Result<()> {
        // A stream that was asked for again may end before its first event.
        if !parser.last_id().is_empty() && parser.last_id() != self.last_id {
            self.last_id = parser.last_id().to_owned();
            self.resumes = 0;
        }
        let pause = parser.retry().map_or(RESUME_PAUSE.0, |millis| {
            Duration::from_millis(millis).max(RESUME_PAUSE.1)
        });
        parser.finish(&mut |event| {
            // Only a whole message: its last line may be missing.
            let data = json::mend_strings(event.data);
            if message::read(&data).is_some() {
                self.push(&data);
            }
            Ok::<_, Error>(())
        })?;
        let is_usable = (1..=EVENT_ID_BYTES).contains(&self.last_id.len());
        if is_usable && !is_modern(self.version) && !self.is_answered {
            self.pause(pause)
        } else {
            Ok(())
        }
    }

    /// Adds a message of the reply.
    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let answer = match message::read(text) {
            None => message::unreadable(text, &[self.id]).map(|(_, answer)| answer),
            Some(_) => None,
        };
        let text = answer.unwrap_or_else(|| text.to_owned());
        if let Some(Message::Response { id, .. }) = message::read(&text) {
            self.is_answered |= id.is_none_or(|id| id == self.id);
        }
        self.waiting.push_back(text);
    }

    fn broken(&self, what: &str) -> Error {
        Error::Network {
            host: format!("the MCP server {}", self.shared.parts.name),
            what: what.to_owned(),
        }
    }
}

impl Replies for HttpReplies {
    fn next(&mut self, time: Duration, cancel: &Cancel) -> Result<Incoming> {
        let watch = Stopwatch::start();
        self.received = 0;
        let of_client = self.client.cancel().clone();
        let _stops = cancel.on_cancel(move || of_client.cancel());
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Ok(Incoming::Message(message));
            }
            if cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            // A large message on a slow line is not silence.
            let earned = Duration::from_secs(self.received / TRANSFER_RATE);
            let time = time.max((time + earned).min(CALL_TIME));
            let left = time.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return Ok(Incoming::Nothing);
            }
            // The next millisecond, so that the time is over when the client says so.
            self.client.set_idle(left + Duration::from_millis(1));
            match self.step(left, cancel) {
                Err(Error::Timeout { .. }) if watch.elapsed() >= time => {
                    return Ok(Incoming::Nothing);
                }
                outcome => outcome?,
            }
        }
    }
}

impl Drop for HttpReplies {
    /// Keeps the connection when the server is at the end of its reply. Otherwise it is closed, which since
    /// 2026-07-28 gives the request up.
    fn drop(&mut self) {
        self.shared.touch();
        if let Stage::Stream(stream) = std::mem::replace(&mut self.stage, Stage::Over)
            && self.is_answered
        {
            stream.body.finish();
        }
    }
}

/// The beginning of what a server says, as it can be shown.
fn shown(text: &str) -> String {
    let plain: String = text.chars().filter(|char| !char.is_control()).collect();
    truncate_bytes(&plain, crate::base::limits::http::ERROR_BODY_BYTES).to_owned()
}
