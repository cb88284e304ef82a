//! The client: sends requests and judges the replies.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, LOCATION};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use ureq::{Agent, SendBody};

use super::BUFFER_BYTES;
use super::address;
use super::connect::{self, Line, NoResolver, Reach, ReachConnector};
use super::explain::{Context, Shared, UNKNOWN_HOST};
use super::reply::head::is_kept;
use super::reply::inflate::Inflate;
use super::retry_after::retry_after;
use super::transfer::{Body, Upload, UploadFailure};
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::secret::Secret;
use crate::net::{Dialer, Failure, Guard, Lookup, Tls, known_addresses, system_lookup};

/// Time for that part: it only explains the error.
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);
/// Connections that a client keeps open between its calls, which come one after the other.
const IDLE_CONNECTIONS: usize = 1;

/// How much a client may receive, however little of it is content.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Measures the time.
    pub watch: Stopwatch,
    /// Time on that watch.
    pub time: Duration,
    /// Bytes before anything is decompressed, with headers.
    pub bytes: u64,
}

/// How one server is called.
#[derive(Clone, Debug)]
pub struct Settings {
    /// An HTTP proxy's URL; none: from `ALL_PROXY`, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
    pub proxy: Option<Secret>,
    /// Whether those variables count. With a guard they would lead around it.
    pub proxy_from_environment: bool,
    /// How names are looked up.
    pub lookup: Lookup,
    /// Time from the end of the request until the header of the reply is there; zero: as `idle`.
    pub first_byte: Duration,
    /// Longest silence within the body of the reply.
    pub idle: Duration,
    /// Tells whether dates can be believed.
    pub clock: Clock,
    /// Is asked about every address before it is dialled.
    pub guard: Guard,
    /// Whether the calls carry a key, a token or a password: then a server on this machine without TLS
    /// has to belong to a trusted user.
    pub carries_secret: bool,
    /// How long all replies may take together, and how large they may be on the wire; none: as long as
    /// something comes.
    pub bound: Option<Bound>,
    /// Whether a POST may be sent again when the connection, which was kept from an earlier call,
    /// broke before any of the reply came. Only where it does no harm if the server acts on both.
    pub may_repeat: bool,
}

impl Settings {
    /// These times, any address, the proxy of the environment, and calls that carry a secret.
    pub fn new(first_byte: Duration, idle: Duration) -> Self {
        Self {
            proxy: None,
            proxy_from_environment: true,
            lookup: system_lookup,
            first_byte,
            idle,
            clock: Clock::System,
            guard: Guard::default(),
            carries_secret: true,
            bound: None,
            may_repeat: false,
        }
    }

    /// The same for ureq, with every time and bound set that is not ours.
    fn config(&self) -> Config {
        Config::builder()
            // Names, proxies and their time limits are the connector's.
            .proxy(None)
            .user_agent(connect::USER_AGENT)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_response_header_size(BUFFER_BYTES)
            .input_buffer_size(BUFFER_BYTES)
            .output_buffer_size(BUFFER_BYTES)
            .max_idle_connections(IDLE_CONNECTIONS)
            .max_idle_connections_per_host(IDLE_CONNECTIONS)
            .max_idle_age(limits::http::IDLE_AGE)
            .timeout_per_write(Some(limits::http::WRITE_TIMEOUT))
            .timeout_send_request(Some(limits::http::WRITE_TIMEOUT))
            .timeout_recv_response(Some(self.first_byte).filter(|time| !time.is_zero()))
            .build()
    }
}

/// Calls servers for one turn. It keeps a connection open between calls, which come one after the
/// other, and dies with its token: once that is raised, every call is [`Error::Stopped`].
pub struct Client {
    agent: Agent,
    reach: Arc<Reach>,
    shared: Arc<Shared>,
}

impl Client {
    /// Prepares calls; nothing is connected yet.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL cannot be understood.
    pub fn new(tls: &Tls, settings: Settings, cancel: &Cancel) -> Result<Self> {
        let dialer = Dialer {
            lookup: settings.lookup,
            ..Dialer::new(cancel)
        };
        Self::with_dialer(tls, settings, dialer)
    }

    pub(super) fn with_dialer(tls: &Tls, settings: Settings, dialer: Dialer) -> Result<Self> {
        let dialer = Dialer {
            guard: settings.guard.clone(),
            ..dialer
        };
        let cancel = dialer.cancel.clone();
        let reach = Arc::new(Reach::new(tls, &settings, dialer)?);
        let line = Arc::new(Line::new(settings.bound));
        line.set_idle_timeout(settings.idle);
        let connector = ReachConnector {
            reach: reach.clone(),
            line: line.clone(),
        };
        Ok(Self {
            agent: Agent::with_parts(settings.config(), connector, NoResolver),
            reach,
            shared: Arc::new(Shared {
                settings,
                cancel,
                line,
            }),
        })
    }

    /// Sends a body and waits until the reply begins. The values of headers count as secrets.
    ///
    /// A status of 400 or more is [`Error::Status`] with the beginning of the reply. So is a
    /// redirect, which is not followed. [`Error::Config`] means that the address or a header is
    /// invalid.
    pub fn post(&self, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Response> {
        let may_repeat = self.shared.settings.may_repeat;
        self.repeating(may_repeat, || {
            let mut reader = body;
            let upload = Upload::new(&mut reader, body.len() as u64);
            self.call(Method::POST, url, headers, Some(upload))
        })
    }

    /// Sends a body as it is read, so that it is never in memory as a whole. As
    /// [`post`](Self::post) otherwise.
    ///
    /// A transfer is given up when the line takes nothing for
    /// [`WRITE_TIMEOUT`](limits::http::WRITE_TIMEOUT), or on average less than
    /// [`TRANSFER_RATE`](limits::http::TRANSFER_RATE). A reader that fails or ends early is an
    /// [`Error::Failed`], and the connection is closed.
    pub fn post_reader(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: Upload<'_>,
    ) -> Result<Response> {
        self.call(Method::POST, url, headers, Some(body))
    }

    /// Makes a call with any method. As [`post`](Self::post), but it is never sent twice. GET and
    /// DELETE send no body.
    pub fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response> {
        let mut reader = body;
        let has_body = !matches!(method, Method::GET | Method::DELETE);
        let upload = has_body.then(|| Upload::new(&mut reader, body.len() as u64));
        self.call(method, url, headers, upload)
    }

    /// Asks for a resource and waits until the reply begins. As [`post`](Self::post), without a body.
    pub fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Response> {
        self.repeating(true, || self.call(Method::GET, url, headers, None))
    }

    /// Makes a call with any method, never twice, and gives the reply whatever its status:
    /// [`Response::checked`] judges it. Without a body for GET and DELETE.
    pub fn ask(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Response> {
        let mut reader = body.unwrap_or_default();
        let length = reader.len() as u64;
        let upload = body.map(|_| Upload::new(&mut reader, length));
        let (answer, context) = self.exchange(method, url, headers, upload)?;
        Ok(Response::new(answer, context))
    }

    /// Sets the longest silence for what comes from now on, as [`Settings::idle`].
    pub fn set_idle(&self, time: Duration) {
        self.shared.line.set_idle_timeout(time);
    }

    /// Sets how long a reply may take from now on, however little of it comes at a time; `None`: as long as
    /// something comes.
    pub fn set_reply_time(&self, time: Option<Duration>) {
        self.shared.line.set_reply_time(time);
    }

    /// Makes a call, and once more when it met a connection that the server was just closing.
    fn repeating<T>(&self, may_repeat: bool, call: impl Fn() -> Result<T>) -> Result<T> {
        match call() {
            Err(Error::Network { .. }) if may_repeat && self.shared.line.was_stale() => call(),
            outcome => outcome,
        }
    }

    /// Asks for a resource that may have moved, and follows redirects: only for what is believed for other
    /// reasons than where it comes from. As [`get`](Self::get), without headers.
    pub fn get_moved(&self, url: &str) -> Result<Response> {
        let mut url = Cow::Borrowed(url);
        for _ in 0..limits::http::REDIRECTS_MAX {
            let exchange = || self.exchange(Method::GET, &url, &[], None);
            let (answer, context) = self.repeating(true, exchange)?;
            let is_moved = answer.status().is_redirection();
            let target = answer.headers().get(LOCATION).filter(|_| is_moved);
            match target.and_then(|target| address::join(&url, target.to_str().ok()?)) {
                Some(next) => url = Cow::Owned(next),
                None => return Response::new(answer, context).checked(),
            }
        }
        Err(Error::Network {
            host: address::name(&address::parse(&url)?),
            what: "it redirects again and again".to_owned(),
        })
    }

    /// Asks for a page that may have moved, and follows no redirect: where it leads is not known yet.
    pub fn find(&self, url: &str, headers: &[(&str, &str)]) -> Result<Found> {
        let exchange = || self.exchange(Method::GET, url, headers, None);
        let (answer, context) = self.repeating(true, exchange)?;
        let is_moved = answer.status().is_redirection();
        match answer.headers().get(LOCATION).filter(|_| is_moved) {
            Some(target) => {
                let target = String::from_utf8_lossy(target.as_bytes());
                Ok(Found::Moved(target.into_owned()))
            }
            None => Response::new(answer, context).checked().map(Found::Here),
        }
    }

    /// Whether the last call sent its whole request, whatever came of it.
    pub fn was_sent(&self) -> bool {
        self.shared.line.was_sent()
    }

    /// The token that breaks its calls.
    pub fn cancel(&self) -> &Cancel {
        &self.shared.cancel
    }

    /// Whether it has been used and can be used again.
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.shared.line.is_used() && !self.shared.cancel.is_cancelled()
    }

    fn call(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<Upload<'_>>,
    ) -> Result<Response> {
        let (answer, context) = self.exchange(method, url, headers, body)?;
        Response::new(answer, context).checked()
    }

    /// Makes a call, whatever the status of its reply.
    fn exchange(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        mut body: Option<Upload<'_>>,
    ) -> Result<(ureq::http::Response<ureq::Body>, Context)> {
        if self.shared.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let uri = address::parse(url)?;
        self.reach.check(&uri)?;
        let context = Context {
            host: address::name(&uri),
            shared: self.shared.clone(),
        };
        let mut request = Request::new(());
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        for (name, value) in headers {
            let (name, value) = header(name, value)?;
            request.headers_mut().append(name, value);
        }
        self.shared.line.begin_call();
        let watch = Stopwatch::start();
        let sent = body.as_ref().map_or(0, Upload::left);
        let outcome = match &mut body {
            Some(body) => {
                // ureq sends a reader in chunks unless this says how long it is.
                request.headers_mut().insert(CONTENT_LENGTH, sent.into());
                self.agent
                    .run(request.map(|()| SendBody::from_reader(body)))
            }
            None => self.agent.run(request.map(|()| SendBody::none())),
        };
        let outcome = match body.and_then(Upload::into_failure) {
            Some(UploadFailure::Reader(failure)) => Err(Error::Failed(format!(
                "cannot read what to send to {}: {failure}",
                context.host
            ))),
            Some(UploadFailure::TooSlow(pace)) => Err(context.timeout(pace.describe())),
            None => outcome.map_err(|error| context.explain(error)),
        };
        let status = outcome.as_ref().ok().map(|answer| answer.status().as_u16());
        let millis = watch.elapsed().as_millis() as u64;
        tracing::debug!(%method, host = %context.host, status, millis, sent, "http");
        Ok((outcome?, context))
    }
}

/// What a server says about a page.
pub enum Found {
    /// It is here.
    Here(Response),
    /// It is at another address, which may be relative to this one and is only text so far.
    Moved(String),
}

/// The beginning of a reply, whose body is still to be read.
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    is_deflated: bool,
    body: ureq::Body,
    context: Context,
}

impl Response {
    /// Its status.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// Host and port of the server.
    pub fn host(&self) -> &str {
        &self.context.host
    }

    /// The values of a header that may be there several times, as far as they can be shown.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        debug_assert!(is_kept(name), "{name} is not kept");
        let values = self.headers.get_all(name).into_iter();
        values.filter_map(|value| value.to_str().ok())
    }

    /// The value of a header, if it is there and can be shown.
    pub fn header(&self, name: &str) -> Option<&str> {
        debug_assert!(is_kept(name), "{name} is not kept");
        self.headers.get(name)?.to_str().ok()
    }

    /// The body, to be read in pieces, of at most `limit` bytes.
    pub fn into_reader(self, limit: usize) -> Body {
        let reader = self.body.into_reader();
        let reader: Box<dyn Read + Send> = if self.is_deflated {
            Box::new(Inflate::new(reader))
        } else {
            Box::new(reader)
        };
        Body::new(reader, limit, self.context)
    }

    /// The whole body, of at most `limit` bytes.
    pub fn read_to_end(self, limit: usize) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.download(&mut content, limit, &|_| ())?;
        Ok(content)
    }

    /// Writes the whole body, of at most `limit` bytes, to `to` as it comes, and gives its length.
    ///
    /// `progress` is told how many bytes have come so far, each time some have. The transfer is
    /// given up when nothing comes for the time in [`Settings::idle`], or on average less than
    /// [`TRANSFER_RATE`](limits::http::TRANSFER_RATE).
    pub fn download(self, to: &mut dyn Write, limit: usize, progress: &dyn Fn(u64)) -> Result<u64> {
        self.into_reader(limit).copy(to, progress)
    }

    fn new(answer: ureq::http::Response<ureq::Body>, context: Context) -> Self {
        let (mut head, body) = answer.into_parts();
        let encoding = head.headers.get(CONTENT_ENCODING);
        let is_deflated = encoding.is_some_and(|encoding| encoding == "deflate");
        if is_deflated {
            head.headers.remove(CONTENT_ENCODING);
            head.headers.remove(CONTENT_LENGTH);
        }
        Self {
            status: head.status,
            headers: head.headers,
            is_deflated,
            body,
            context,
        }
    }

    /// The reply of a server that has done what was asked; [`Error::Status`] for any other, a redirect
    /// included.
    pub fn checked(self) -> Result<Self> {
        if self.status.is_success() {
            // ureq takes away the other encoding that is decoded.
            if let Some(encoding) = self.header(CONTENT_ENCODING.as_str()) {
                let encoding: String = encoding.chars().take(40).collect();
                return Err(Error::Network {
                    what: format!(
                        "its reply is compressed in a way that was not asked for ({encoding})"
                    ),
                    host: self.context.host,
                });
            }
            return Ok(self);
        }
        let status = self.status();
        let host = self.context.host.clone();
        let clock = &self.context.shared.settings.clock;
        let retry_after = retry_after(status, &self.headers, clock);
        let body = if self.status.is_redirection() {
            redirect(self.header(LOCATION.as_str()))
        } else {
            self.beginning()?
        };
        Err(Error::Status {
            host,
            status,
            retry_after,
            body,
        })
    }

    /// The beginning of the body as text: what came before it broke, if it did.
    fn beginning(self) -> Result<String> {
        let shared = self.context.shared.clone();
        let mut content = Vec::new();
        let mut body = self.into_reader(limits::http::BODY_BYTES);
        let mut rest = body.by_ref().take(limits::http::ERROR_BODY_BYTES as u64);
        let mut buffer = [0; 512];
        let watch = Stopwatch::start();
        shared.line.set_idle_timeout(ERROR_BODY_TIME);
        while watch.elapsed() < ERROR_BODY_TIME {
            match rest.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => content.extend_from_slice(&buffer[..count]),
            }
        }
        if content.len() >= limits::http::ERROR_BODY_BYTES {
            drop_last_word(&mut content);
        }
        shared.line.set_idle_timeout(shared.settings.idle);
        if shared.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        body.finish();
        Ok(printable(&content))
    }
}

/// Drops what a text was cut in: half a key is not recognised as one.
fn drop_last_word(content: &mut Vec<u8>) {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>,;()[]{}".contains(byte);
    let end = content.iter().rposition(is_between);
    content.truncate(end.unwrap_or_default());
}

/// What a redirect means to the person who configured the address.
fn redirect(target: Option<&str>) -> String {
    let to = match target.and_then(address::origin) {
        Some(origin) => format!(" to {origin}"),
        None => String::new(),
    };
    format!("a redirect{to}, which is not followed; use that address instead")
}

/// Text from the other side without control characters, so that it can be shown.
pub(super) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let is_shown = |char: &char| !char.is_control() || *char == '\n';
    text.trim().chars().filter(is_shown).collect()
}

/// A header that can be sent. Its value counts as a secret.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        Error::Config(format!(
            "`{}` is not a valid header name",
            name.escape_debug()
        ))
    })?;
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Error::Config(format!(
            "the value of the header {name} contains a newline or another control character; check \
             the API key or header you entered"
        ))
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Looks the host of a URL up as a call would, and gives how many addresses it has; none where
/// nothing has to be looked up.
pub fn look_up(url: &str, time: Duration, cancel: &Cancel) -> Result<Option<usize>> {
    let uri = address::parse(url)?;
    let (host, port) = address::host_and_port(&uri).unwrap_or_default();
    if known_addresses(host, port).is_some() {
        return Ok(None);
    }
    match Dialer::new(cancel).resolve(host, port, time) {
        Ok(addresses) => Ok(Some(addresses.len())),
        Err(_) if cancel.is_cancelled() => Err(Error::Stopped),
        Err(Failure::ResolveTimeout) => Err(Error::Timeout {
            host: host.to_owned(),
            what: format!("its name could not be resolved within {} s", time.as_secs()),
        }),
        Err(_) => Err(Error::Network {
            host: host.to_owned(),
            what: UNKNOWN_HOST.to_owned(),
        }),
    }
}
