//! Streamable HTTP: each message is a request of its own, and its reply is JSON or a stream of events
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>). The
//! versions before have sessions and streams that can be resumed.
//!
//! The configured headers and the token of a login go to the configured origin and nowhere else, and no
//! redirect is followed.

mod clean;
mod header;
mod idle;
mod inbox;
mod replies;
mod stream;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::MESSAGE_BYTES;
use super::oauth::{self, Challenge};
use super::protocol::is_modern;
use super::transport::{CANCELLED, Outgoing, Replies, Transport};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::config::schema::McpServer;
use crate::net::http::sse::TooLong;
use crate::net::http::{Client, Method, Pool, PooledClient, Response, Settings, Tls, address};
use clean::Clean;
use replies::{HttpReplies, Prepared};
use stream::Stream;

/// Messages of a stream that wait to be taken.
const WAITING_MESSAGES: usize = 64;

/// Time for a server to take a notification or an answer.
const SEND_TIME: Duration = Duration::from_secs(30);
/// Time for a server to take the news that a call was stopped.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// Time for the end of a session. It is a courtesy: servers forget sessions by themselves.
const SESSION_END_TIME: Duration = Duration::from_secs(1);
/// Bytes of a session's id. They go along in every request.
const SESSION_ID_BYTES: usize = 1024;

/// What a connection to a server is made of.
#[derive(Clone)]
pub struct HttpParts {
    /// The server's name in the configuration.
    pub name: String,
    /// Its section there.
    pub server: McpServer,
    /// Whom to trust.
    pub tls: Tls,
    /// The folder with the logins.
    pub logins: PathBuf,
    /// What time it is.
    pub clock: Clock,
}

/// A server that is reached over HTTP.
pub struct Http(Arc<Shared>);

/// What the requests to one server share.
struct Shared {
    parts: HttpParts,
    pool: Pool,
    session: Mutex<Session>,
    is_modern: AtomicBool,
    /// The stream of the older transport, where the server has that one.
    stream: Mutex<Option<Arc<Stream>>>,
    listener: Mutex<Listener>,
    idle: Mutex<idle::Idle>,
}

/// A session of the versions until 2025-11-25; without an id there is none.
#[derive(Clone, Default)]
struct Session {
    id: String,
    version: &'static str,
}

/// The stream beside the replies that a session of the versions until 2025-11-25 may have.
#[derive(Default)]
enum Listener {
    /// It was not asked for.
    #[default]
    None,
    /// The server has none.
    Refused,
    /// It was opened.
    Open(Arc<Stream>),
}

type Headers = Vec<(String, String)>;

impl Http {
    /// Prepares requests; nothing is connected yet.
    ///
    /// Fails with [`Error::Config`] when the address cannot be used.
    pub fn new(parts: HttpParts) -> Result<Self> {
        address::parse(&parts.server.url)?;
        Ok(Self(Arc::new(Shared::new(parts))))
    }
}

impl Transport for Http {
    fn request(
        &self,
        id: u64,
        message: &Outgoing<'_>,
        cancel: &Cancel,
    ) -> Result<Box<dyn Replies>> {
        let shared = &self.0;
        shared.touch();
        let clean = Clean::new(&shared.parts);
        shared
            .is_modern
            .store(is_modern(message.version), Ordering::Relaxed);
        if let Some(stream) = shared.stream() {
            let replies = stream.expect(id);
            let time = (SEND_TIME, cancel);
            let sent = shared.post_away(stream.address(), &header::of_older(), message.json, time);
            sent.map_err(|error| clean.error(error))?;
            return Ok(clean.over(Box::new(replies)));
        }
        if message.method == "initialize" {
            *shared.session.lock() = Session::default();
            *shared.listener.lock() = Listener::None;
        }
        shared.session.lock().version = message.version;
        let session = shared.session.lock().clone();
        let prepared = Prepared {
            headers: header::of_message(message, &session.id),
            json: message.json.to_owned(),
            version: message.version,
            opens_session: message.method == "initialize",
            in_session: !session.id.is_empty(),
        };
        // Only these may end in a question to a person or a model.
        let may_ask = matches!(
            message.method,
            "tools/call" | "resources/read" | "prompts/get"
        );
        let listener = if may_ask && prepared.in_session {
            shared.listen(&session, cancel)?
        } else {
            None
        };
        let client = match &listener {
            // The thread that reads has a token of its own.
            Some(_) => shared.client(&Cancel::new())?,
            None => shared.client(cancel)?,
        };
        let replies = HttpReplies::new(Arc::clone(shared), client, id, prepared);
        Ok(match listener {
            Some(listener) => clean.over(Box::new(listener.beside(replies, id)?)),
            None => clean.over(Box::new(replies)),
        })
    }

    fn send(&self, message: &Outgoing<'_>, cancel: &Cancel) -> Result<()> {
        let shared = &self.0;
        shared.touch();
        let (stream, session) = (shared.stream(), shared.session.lock().clone());
        let (url, headers) = match &stream {
            Some(stream) => (stream.address(), header::of_older()),
            None => (
                shared.parts.server.url.as_str(),
                header::of_message(message, &session.id),
            ),
        };
        match message.method {
            CANCELLED => {
                shared.post_aside(url.to_owned(), headers, message.json.to_owned());
                Ok(())
            }
            _ => shared.post_away(url, &headers, message.json, (SEND_TIME, cancel)),
        }
    }

    fn fall_back(&self, cancel: &Cancel) -> Result<bool> {
        let shared = &self.0;
        if shared.stream().is_some() {
            return Ok(false);
        }
        match Stream::open_older(shared, cancel) {
            Ok(stream) => {
                shared.is_modern.store(false, Ordering::Relaxed);
                *shared.stream.lock() = Some(Arc::new(stream));
                Ok(true)
            }
            Err(Error::Stopped) => Err(Error::Stopped),
            Err(error) => {
                let server = &shared.parts.name;
                tracing::debug!(%server, "it does not have the older transport either: {error}");
                Ok(false)
            }
        }
    }

    fn is_over(&self) -> bool {
        self.0.stream().is_some_and(|stream| stream.is_over())
    }

    fn announces_cancel(&self) -> bool {
        !self.0.is_modern.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn new(parts: HttpParts) -> Self {
        Self {
            pool: Pool::new(parts.tls.clone()),
            parts,
            session: Mutex::default(),
            is_modern: AtomicBool::new(false),
            stream: Mutex::default(),
            listener: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    fn stream(&self) -> Option<Arc<Stream>> {
        self.stream.lock().clone()
    }

    /// The stream beside the replies; `None`: the server has none.
    fn listen(&self, session: &Session, cancel: &Cancel) -> Result<Option<Arc<Stream>>> {
        let mut listener = self.listener.lock();
        match &*listener {
            Listener::Refused => return Ok(None),
            Listener::Open(stream) if !stream.is_over() => return Ok(Some(Arc::clone(stream))),
            _ => {}
        }
        let headers = header::of_session(&session.id, session.version);
        match Stream::listen(self, headers, cancel) {
            Ok(stream) => {
                let stream = Arc::new(stream);
                *listener = Listener::Open(Arc::clone(&stream));
                Ok(Some(stream))
            }
            Err(Error::Stopped) => Err(Error::Stopped),
            Err(_) => {
                *listener = Listener::Refused;
                Ok(None)
            }
        }
    }

    /// A client for one request at a time, with the connection of an earlier one where that is open.
    fn client(&self, cancel: &Cancel) -> Result<PooledClient> {
        let carries_secret = !self.parts.server.headers.is_empty() || oauth::has_token(&self.parts);
        let settings = Settings {
            carries_secret,
            clock: self.parts.clock.clone(),
            ..Settings::new(Duration::ZERO, SEND_TIME)
        };
        let key = if carries_secret { "secret" } else { "plain" };
        let client = self.pool.client(key, settings, cancel)?;
        client.set_reply_time(None);
        Ok(client)
    }

    /// Makes a request with the configured headers and with the token of the login, which is renewed where
    /// that needs no person. The reply has any status.
    fn exchange(
        &self,
        client: &Client,
        (method, url): (Method, &str),
        headers: &[(String, String)],
        body: Option<&[u8]>,
    ) -> Result<Response> {
        let (parts, cancel) = (&self.parts, client.cancel());
        let mut names = parts.server.headers.keys();
        let has_own = names.any(|name| name.eq_ignore_ascii_case("authorization"));
        let mut is_second = false;
        loop {
            let token = if has_own {
                None
            } else {
                oauth::token(parts, cancel)?
            };
            let bearer = token
                .as_ref()
                .map(|token| format!("Bearer {}", token.expose()));
            let plain = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()));
            let configured = parts
                .server
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.expose()));
            let mut all: Vec<(&str, &str)> = plain.chain(configured).collect();
            all.extend(bearer.as_deref().map(|value| ("authorization", value)));
            let response = client.ask(method.clone(), url, &all, body)?;
            let status = response.status();
            if has_own && status == 401 {
                return Err(Error::Failed(format!(
                    "the MCP server {} refuses the Authorization header in its settings (401)",
                    parts.name
                )));
            }
            if has_own || !matches!(status, 401 | 403) {
                return Ok(response);
            }
            let challenge = Challenge::read(response.all("www-authenticate"));
            let refused = oauth::Refused {
                status,
                challenge,
                token: token.as_ref(),
                is_second,
            };
            if !oauth::renew(parts, &refused, cancel)? {
                return Ok(response);
            }
            is_second = true;
        }
    }

    /// Sends a message whose reply says nothing.
    fn post_away(
        &self,
        url: &str,
        headers: &[(String, String)],
        json: &str,
        (time, cancel): (Duration, &Cancel),
    ) -> Result<()> {
        let client = self.client(cancel)?;
        client.set_idle(time);
        client.set_reply_time(Some(time));
        let to = (Method::POST, url);
        let response = self.exchange(&client, to, headers, Some(json.as_bytes()))?;
        let body = response.checked()?.into_reader(MESSAGE_BYTES);
        body.finish();
        Ok(())
    }

    /// Sends a message on a thread, because what was stopped must not wait for the server.
    fn post_aside(&self, url: String, headers: Headers, json: String) {
        let alone = Self::new(self.parts.clone());
        let sends = move || {
            let time = (CANCEL_TIME, &Cancel::new());
            if let Err(error) = alone.post_away(&url, &headers, &json, time) {
                let server = &alone.parts.name;
                tracing::debug!(%server, "failed to cancel a call: {error}");
            }
        };
        let _ = crate::base::sync::spawn(std::thread::Builder::new(), Box::new(sends));
    }

    /// Notes the session that the reply to `initialize` begins.
    fn open_session(&self, response: &Response, version: &'static str) {
        let id = response.header("mcp-session-id").unwrap_or_default();
        let is_usable =
            id.len() <= SESSION_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_graphic());
        if is_usable {
            let id = id.to_owned();
            *self.session.lock() = Session { id, version };
        }
    }

    /// Says that the session is not needed any longer.
    fn end_session(&self) {
        let session = std::mem::take(&mut *self.session.lock());
        if session.id.is_empty() {
            return;
        }
        let alone = Self::new(self.parts.clone());
        let cancel = Cancel::new();
        let of_thread = cancel.clone();
        let (done, is_done) = mpsc::channel::<()>();
        let ends = move || {
            let headers = header::of_session(&session.id, session.version);
            let to = (Method::DELETE, alone.parts.server.url.as_str());
            let ended = alone
                .client(&of_thread)
                .and_then(|client| alone.exchange(&client, to, &headers, None));
            drop(ended);
            drop(done);
        };
        if crate::base::sync::spawn(std::thread::Builder::new(), Box::new(ends)).is_ok() {
            let _ = is_done.recv_timeout(SESSION_END_TIME);
            cancel.cancel();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.end_session();
    }
}

impl From<TooLong> for Error {
    fn from(TooLong: TooLong) -> Self {
        Self::TooLarge {
            what: "a message of an MCP server".to_owned(),
            limit: MESSAGE_BYTES,
        }
    }
}
