//! Matrix's client-server API, as far as it is used, over one connection.
//! <https://spec.matrix.org/latest/client-server-api/>

mod fault;
mod media;
mod rooms;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::account::Account;
use super::address::{is_id, is_user};
use super::sync;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::json::Members;
use crate::base::limits::channels::matrix::REPLY_BYTES;
use crate::base::limits::channels::{IDLE, LONGEST_WAIT};
use crate::base::secret::Eraser;
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::net::http::address::percent_encode;
use crate::net::http::{Client, Method, Response, Settings, Tls};
use crate::sys::random;

/// Bytes of a reply to a sync. A room's share is bounded by the filter; what does not fit is asked for again with one
/// event a room.
const SYNC_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of an event's content. Some of the 65,536 are for what the server adds.
const CONTENT_BYTES: usize = 62_000;
/// How long "typing" is shown.
const TYPING_TIME: Duration = Duration::from_secs(12);
/// Rooms in which "typing" is shown at a time, as far as it is taken away again.
const TYPING_ROOMS: usize = 16;
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// Where the API is on the server.
const BASE: &str = "/_matrix/client/v3";

/// What all connections of an account share.
#[derive(Debug)]
pub struct Shared {
    watch: Stopwatch,
    /// Until when the homeserver wants no calls of each kind, on the stopwatch.
    held: Mutex<[Duration; 3]>,
    /// The account's id, once it is known.
    me: Mutex<String>,
    /// The rooms in which "typing" is shown, and until when.
    typing: Mutex<Vec<(String, Duration)>>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            watch: Stopwatch::start(),
            held: Mutex::default(),
            me: Mutex::default(),
            typing: Mutex::default(),
        }
    }
}

/// The kinds of calls that a homeserver counts apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Send,
    Join,
    Other,
}

impl Kind {
    fn of(path: &str) -> Self {
        match path {
            path if path.contains("/send/") || path.contains("/redact/") => Self::Send,
            path if path.ends_with("/join") || path == "/createRoom" => Self::Join,
            _ => Self::Other,
        }
    }
}

/// A connection to the API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    cancel: Cancel,
    account: Arc<Account>,
    eraser: Eraser,
    shared: Arc<Shared>,
    /// Called while the bytes of a file are moving.
    progress: Box<dyn Fn() + Send>,
}

impl Api {
    /// Prepares calls; nothing is connected yet. `patience` is how long a reply may take to begin.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL is invalid.
    pub fn new(
        tls: &Tls,
        account: &Arc<Account>,
        shared: &Arc<Shared>,
        patience: Duration,
        cancel: &Cancel,
    ) -> Result<Self> {
        let settings = Settings {
            proxy: account.proxy.clone(),
            ..Settings::new(patience, IDLE)
        };
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            cancel: cancel.clone(),
            account: Arc::clone(account),
            eraser: Eraser::new([account.token.clone()]),
            shared: Arc::clone(shared),
            progress: Box::new(|| ()),
        })
    }

    /// Calls `progress` whenever bytes of a file have moved.
    #[must_use]
    pub fn with_progress(self, progress: impl Fn() + Send + 'static) -> Self {
        Self {
            progress: Box::new(progress),
            ..self
        }
    }

    /// Bounds the time of each reply from now on; `None`: as long as something comes.
    pub fn set_patience(&self, time: Option<Duration>) {
        self.client.set_reply_time(time);
    }

    /// The id of the account that the token belongs to. It is asked for once.
    pub fn me(&self) -> Sent<String> {
        let known = self.shared.me.lock().clone();
        if !known.is_empty() {
            return Ok(known);
        }
        let reply = self.ask(Method::GET, "/account/whoami", &Value::Null)?;
        let user = Members::read(&reply).and_then(|reply| reply.text("user_id"));
        let user = user.filter(|user| is_user(user)).ok_or_else(unexpected)?;
        if !self.account.user.is_empty() && self.account.user != user {
            return Err(Failure::Down(format!(
                "the access token belongs to {user}, and channels.matrix.userId is {}: correct one of the two",
                self.account.user
            )));
        }
        self.shared.me.lock().clone_from(&user);
        Ok(user)
    }

    /// The name that a person's account shows; empty when it shows none.
    pub fn display_name(&self, user: &str) -> Sent<String> {
        let path = format!("/profile/{}/displayname", percent_encode(user));
        match self.ask(Method::GET, &path, &Value::Null) {
            Ok(reply) => {
                let name = Members::read(&reply).and_then(|reply| reply.text("displayname"));
                Ok(name.unwrap_or_default())
            }
            Err(Failure::MessageGone) => Ok(String::new()),
            Err(failure) => Err(failure),
        }
    }

    /// What has happened since a place in the stream of events, or the state of all rooms. Waits up to `wait` for
    /// something to happen. A reply that is too long is [`Failure::TooLong`].
    pub fn sync(&self, since: Option<&str>, wait: Duration, is_narrow: bool) -> Sent<String> {
        let filter = percent_encode(&sync::filter(is_narrow).to_string());
        let since = since.map_or_else(String::new, |since| {
            format!("&since={}", percent_encode(since))
        });
        let path = format!("/sync?timeout={}&filter={filter}{since}", wait.as_millis());
        match self.ask_within(Method::GET, &path, &Value::Null, SYNC_BYTES) {
            Err(Failure::Local(Error::TooLarge { .. })) => Err(Failure::TooLong),
            reply => reply,
        }
    }

    /// A page of the events of a room before a place, newest first, and not before another place.
    pub fn messages(&self, room: &str, from: &str, to: &str) -> Sent<String> {
        let filter = sync::page_filter();
        let path = format!(
            "/rooms/{}/messages?dir=b&from={}&to={}&limit={}&filter={}",
            percent_encode(room),
            percent_encode(from),
            percent_encode(to),
            filter["limit"],
            percent_encode(&filter.to_string()),
        );
        self.ask(Method::GET, &path, &Value::Null)
    }

    /// One event of a room.
    pub fn event(&self, room: &str, event: &str) -> Sent<String> {
        let (room, event) = (percent_encode(room), percent_encode(event));
        self.ask(
            Method::GET,
            &format!("/rooms/{room}/event/{event}"),
            &Value::Null,
        )
    }

    /// Sends an event; returns its id. The same transaction in the same room is done once.
    pub fn send(&self, room: &str, kind: &str, transaction: &str, content: &Value) -> Sent<String> {
        if content.to_string().len() > CONTENT_BYTES {
            return Err(Failure::TooLong);
        }
        let path = format!(
            "/rooms/{}/send/{kind}/{}",
            percent_encode(room),
            percent_encode(transaction)
        );
        self.event_id(&self.ask(Method::PUT, &path, content)?)
    }

    /// Deletes what an event says.
    pub fn redact(&self, room: &str, event: &str, transaction: &str) -> Sent {
        let path = format!(
            "/rooms/{}/redact/{}/{}",
            percent_encode(room),
            percent_encode(event),
            percent_encode(transaction)
        );
        self.ask(Method::PUT, &path, &json!({})).map(drop)
    }

    /// Shows that something is being written.
    pub fn type_in(&self, room: &str) -> Sent {
        self.set_typing(room, true)?;
        let until = self.shared.watch.elapsed() + TYPING_TIME;
        let mut rooms = self.shared.typing.lock();
        rooms.retain(|(known, _)| known != room);
        if rooms.len() >= TYPING_ROOMS {
            rooms.remove(0);
        }
        rooms.push((room.to_owned(), until));
        Ok(())
    }

    /// Something was sent to a room: "typing" is shown no longer. Nothing depends on it.
    pub fn stop_typing(&self, room: &str) {
        let now = self.shared.watch.elapsed();
        let was_shown = {
            let mut rooms = self.shared.typing.lock();
            let was_shown = rooms
                .iter()
                .any(|(known, until)| known == room && *until > now);
            rooms.retain(|(known, until)| known != room && *until > now);
            was_shown
        };
        if was_shown && let Err(failure) = self.set_typing(room, false) {
            tracing::debug!("failed to stop showing \"typing\": {failure}");
        }
    }

    fn set_typing(&self, room: &str, is_typing: bool) -> Sent {
        let me = percent_encode(&self.me()?);
        let path = format!("/rooms/{}/typing/{me}", percent_encode(room));
        let body = if is_typing {
            json!({"typing": true, "timeout": TYPING_TIME.as_millis() as u64})
        } else {
            json!({"typing": false})
        };
        self.ask(Method::PUT, &path, &body).map(drop)
    }

    /// Shows the people in a room what has been read.
    pub fn read(&self, room: &str, event: &str) -> Sent {
        let (room, event) = (percent_encode(room), percent_encode(event));
        let path = format!("/rooms/{room}/receipt/m.read/{event}");
        self.ask(Method::POST, &path, &json!({})).map(drop)
    }

    fn event_id(&self, reply: &str) -> Sent<String> {
        let id = Members::read(reply).and_then(|reply| reply.text("event_id"));
        id.filter(|id| is_id('$', id)).ok_or_else(unexpected)
    }

    /// Makes a call, whose reply is of a usual length. A body of `null` is none.
    fn ask(&self, method: Method, path: &str, body: &Value) -> Sent<String> {
        self.ask_within(method, path, body, REPLY_BYTES)
    }

    fn ask_within(&self, method: Method, path: &str, body: &Value, limit: usize) -> Sent<String> {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        self.limited(Kind::of(path), limit, || {
            let url = self.url(&[BASE, path].concat());
            let authorization = self.authorization();
            let headers = [
                ("authorization", authorization.as_str()),
                ("content-type", "application/json"),
            ];
            match method {
                // A GET is repeated when it meets a connection that was just closed.
                Method::GET => self.client.get(&url, &headers[..1]),
                method => self.client.send(method, &url, &headers, body.as_bytes()),
            }
        })
    }

    /// Makes a call when the rate limit allows it, and reads its reply.
    fn limited(
        &self,
        kind: Kind,
        limit: usize,
        send: impl FnOnce() -> Result<Response>,
    ) -> Sent<String> {
        self.wait_for_turn(kind)?;
        let reply = send().and_then(|response| response.read_to_end(limit));
        let reply = reply.map_err(|error| self.explain(error, kind))?;
        String::from_utf8(reply).map_err(|_| unexpected())
    }

    /// Waits as the homeserver has asked, if that is not long.
    fn wait_for_turn(&self, kind: Kind) -> Sent {
        let until = self.shared.held.lock()[kind as usize];
        let wait = until.saturating_sub(self.shared.watch.elapsed());
        match wait {
            wait if wait > SHORT_WAIT => Err(Failure::RetryAfter(wait)),
            wait if !wait.is_zero() && self.cancel.wait(wait) => Err(Failure::Stopped),
            _ => Ok(()),
        }
    }

    /// The one place where the token is written into a request.
    fn authorization(&self) -> String {
        format!("Bearer {}", self.account.token.expose())
    }

    fn url(&self, path: &str) -> String {
        [&self.account.base, path].concat()
    }

    /// The failure that an error means, without the token, which a proxy's page may have repeated.
    fn explain(&self, error: Error, kind: Kind) -> Failure {
        match error {
            Error::Status {
                status,
                retry_after,
                body,
                ..
            } => {
                let failure = fault::classify(status, retry_after, &self.eraser.clean(&body));
                if let Failure::RetryAfter(wait) = failure {
                    let until = self.shared.watch.elapsed() + wait.min(LONGEST_WAIT);
                    self.shared.held.lock()[kind as usize] = until;
                }
                failure
            }
            error @ Error::Network { .. } => Failure::Down(error.to_string()),
            error @ Error::Timeout { .. } => Failure::Trouble(error.to_string()),
            Error::Stopped => Failure::Stopped,
            error => Failure::Local(error),
        }
    }
}

/// A transaction that has not been before.
pub fn new_transaction() -> String {
    let bytes: [u8; 12] = random::bytes().unwrap_or_default();
    format!("n{}", hex(&bytes))
}

/// The bytes of a file.
fn length_of(file: &File, name: &str) -> Sent<u64> {
    let found = file.metadata().map_err(Error::io("read", name));
    Ok(found.map_err(Failure::Local)?.len())
}

fn unexpected() -> Failure {
    Failure::Trouble("unexpected reply from the homeserver".to_owned())
}
