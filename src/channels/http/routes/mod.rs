//! Answers to requests: who may have which, and what each says.

mod chat;
mod exchange;
mod figures;
mod files;
mod hooks;
mod page;
mod responses;

use std::cell::RefCell;
use std::net::IpAddr;
use std::time::Duration;

use super::enabled::HttpChannel;
use super::guard::{
    Guard, HOOK_CALLS, REQUESTS, REQUESTS_SPAN, is_fine_origin, is_listed_origin, is_our_host,
};
use super::wire::reply::Reply;
use super::wire::request::Head;
use crate::base::access::Role;
use crate::base::bus::Heartbeat;
use crate::base::clock::Clock;
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::SharedSink;
use crate::channels::kit::stream::backoff::Backoff;
use crate::store::state::pairing::tokens::Token;
use crate::sys::host;

use exchange::Api;
pub use exchange::{Exchange, FAILED, REFUSED};
pub use files::{KEPT_FILES, clear_files, fetch_file, owned_name};
pub use page::Stream;

/// Bytes of the body of a question: a conversation with a photo, as base64.
const CHAT_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a body where none is needed.
const NO_BODY_BYTES: usize = 4 * 1024;
/// Bytes of the body of a hook: events of GitHub with many commits.
const HOOK_BYTES: usize = 256 * 1024;
/// Of the wrong tokens of one address these are logged, and then each that doubles their number.
const FAILED_LOGGED: u32 = 4;

/// What answers are made with.
pub struct Place<'a> {
    /// The channel.
    pub channel: &'a HttpChannel,
    /// Takes messages.
    pub intake: &'a SharedSink,
    /// Shows that the thread is alive.
    pub heartbeat: &'a Heartbeat,
    /// Whether what comes can be stored.
    pub accepting: RefCell<Backoff>,
    /// The name of this machine.
    hostname: String,
}

impl<'a> Place<'a> {
    /// With the name that the machine has now.
    pub fn new(channel: &'a HttpChannel, intake: &'a SharedSink, heartbeat: &'a Heartbeat) -> Self {
        Self {
            channel,
            intake,
            heartbeat,
            accepting: RefCell::new(Backoff::new(
                Task::Accept,
                "store requests of HTTP",
                Clock::System,
                intake.health(),
            )),
            hostname: host::name(),
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Whether the gateway works.
    Health,
    /// Its figures, for Prometheus.
    Metrics,
    /// The same as JSON.
    Status,
    /// The agents, as models.
    Models,
    /// A question, by the token of this name.
    Ask(Api, String),
    /// A call of the hook of this name, and whether a token of ours came with it.
    Hook(String, bool),
    /// Something of the web page.
    Page(Box<page::Asked>),
}

impl Route {
    /// Whether the head has said whose request it is. Only the signature behind the body says who calls a hook without a
    /// token.
    pub fn is_of_known(&self) -> bool {
        match self {
            Self::Health => false,
            Self::Hook(_, has_token) => *has_token,
            Self::Page(asked) => asked.is_of_known(),
            Self::Metrics | Self::Status | Self::Models | Self::Ask(..) => true,
        }
    }
}

/// What becomes of a request whose head is known.
pub enum Gate {
    /// Its body may come, up to a number of bytes.
    Body(usize, Route),
    /// It is answered at once.
    Reply(Reply),
    /// The same after a wait, because it may be a guess.
    Denied(Reply, Duration),
}

/// What becomes of a whole request.
pub enum Outcome {
    /// It is answered.
    Reply(Reply),
    /// It is answered after a wait, because it may be a guess.
    Guess(Reply),
    /// Its answer is being made.
    Wait(Exchange),
    /// A page looks at a chat from now on.
    Look(Box<Stream>),
}

fn refuse(status: u16, why: &str) -> Gate {
    Gate::Reply(Reply::error(status, why))
}

fn too_often(why: &str) -> Reply {
    let wait = REQUESTS_SPAN.as_secs().to_string();
    Reply::error(429, why).with("Retry-After", &wait)
}

/// Decides about a request by its head.
pub fn gate(
    place: &Place<'_>,
    head: &Head,
    guard: &mut Guard,
    (peer, now): (Option<IpAddr>, Duration),
) -> Gate {
    let config = &place.channel.config;
    let host = head.header("host").unwrap_or_default();
    if !is_our_host(host, &place.hostname, &config.hosts) {
        return refuse(
            421,
            "this host is none of ours; http.hosts in the configuration can add it",
        );
    }
    if let Some(origin) = head.header("origin")
        && !is_fine_origin(origin, host, &config.origins)
    {
        return refuse(
            403,
            "pages from this origin may not ask; http.origins in the configuration can add it",
        );
    }
    if head.method == "OPTIONS" {
        return Gate::Reply(Reply::text(204, ""));
    }
    if head.path == "/health" {
        return match head.method.as_str() {
            "GET" | "HEAD" => Gate::Body(0, Route::Health),
            _ => refuse(405, "the method has to be GET"),
        };
    }
    if let Some(name) = head.path.strip_prefix("/hooks/")
        && config
            .hooks
            .get(name)
            .is_some_and(|hook| !hook.secret.is_empty())
    {
        return hook(head, name, false);
    }
    if page::is_of_page(&head.path) {
        return page::gate(place, head, guard, (peer, now));
    }
    let (token, role) = match known_token(place, head) {
        Ok(Some(known)) => known,
        Ok(None) => return deny(head, guard, (peer, now)),
        Err(reply) => return Gate::Reply(reply),
    };
    if let Some(name) = head.path.strip_prefix("/hooks/") {
        let opens = match token.hooks.as_slice() {
            [] => role == Role::Owner,
            hooks => hooks.iter().any(|one| one == name),
        };
        return match (config.hooks.contains_key(name), opens) {
            (_, false) => refuse(403, "this token does not open the hook"),
            (false, true) => refuse(404, "unknown hook"),
            (true, true) => hook(head, name, true),
        };
    }
    if !guard.may_ask(&token.name, REQUESTS, now) {
        return Gate::Reply(too_often("too many requests within a minute"));
    }
    route(head, &token, role)
}

/// Lets a hook be called. It is counted once its caller is known.
fn hook(head: &Head, name: &str, has_token: bool) -> Gate {
    match head.method.as_str() {
        "POST" => Gate::Body(HOOK_BYTES, Route::Hook(name.to_owned(), has_token)),
        _ => refuse(405, "the method has to be POST"),
    }
}

/// The token of a request, if it is one of ours.
fn known_token(place: &Place<'_>, head: &Head) -> Result<Option<(Token, Role)>, Reply> {
    let given = head.header("authorization").unwrap_or_default();
    let given = given.split_once(' ');
    let Some((_, token)) = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
        return Ok(None);
    };
    place
        .channel
        .pairing
        .find_token(token.trim())
        .map_err(|error| {
            tracing::error!("failed to read the tokens: {error}");
            Reply::error(503, "the tokens cannot be read now")
        })
}

/// Whether the token of a request is one of ours, and still the one of this name.
fn is_still(place: &Place<'_>, head: &Head, name: &str) -> bool {
    let known = known_token(place, head);
    known.is_ok_and(|known| known.is_some_and(|(token, _)| token.name == name))
}

/// Refuses a request without a token of ours. One that has another may be a guess, and waits.
fn deny(head: &Head, guard: &mut Guard, (peer, now): (Option<IpAddr>, Duration)) -> Gate {
    let given = head.header("authorization").unwrap_or_default();
    let scheme = given.split(' ').next().unwrap_or_default();
    let why = match scheme.eq_ignore_ascii_case("bearer") {
        true => "this token is not known",
        false => "a token is needed: Authorization: Bearer TOKEN",
    };
    let reply = Reply::error(401, why);
    let reply = reply.with("WWW-Authenticate", "Bearer");
    if head.header("authorization").is_none() {
        return Gate::Reply(reply);
    }
    Gate::Denied(reply, note_guess(guard, (peer, now)))
}

/// Notes a wrong token or signature. Returns how long its answer has to wait.
pub fn note_guess(guard: &mut Guard, (peer, now): (Option<IpAddr>, Duration)) -> Duration {
    let (wait, count) = guard.failed(peer, now);
    if count <= FAILED_LOGGED || count.is_power_of_two() {
        let from = peer.map_or_else(|| "this machine".to_owned(), |peer| peer.to_string());
        tracing::warn!(from, count, "refused a wrong token of HTTP");
    }
    wait
}

fn route(head: &Head, token: &Token, role: Role) -> Gate {
    const ROUTES: [(&str, &str, Role, Route); 3] = [
        ("GET", "/metrics", Role::User, Route::Metrics),
        ("GET", "/status.json", Role::User, Route::Status),
        ("GET", "/v1/models", Role::Guest, Route::Models),
    ];
    if !token.hooks.is_empty() {
        return refuse(403, "this token opens nothing but its hooks");
    }
    let api = match head.path.as_str() {
        "/v1/chat/completions" => Some(Api::Chat),
        "/v1/responses" => Some(Api::Responses),
        _ => None,
    };
    if let Some(api) = api {
        return match head.method.as_str() {
            "POST" => Gate::Body(CHAT_BYTES, Route::Ask(api, token.name.clone())),
            _ => refuse(405, "the method has to be POST"),
        };
    }
    let found = ROUTES.iter().find(|(_, path, ..)| *path == head.path);
    let Some((method, _, least, route)) = found else {
        return refuse(404, "there is nothing at this path");
    };
    let is_method = head.method == *method || (head.method == "HEAD" && *method == "GET");
    if !is_method {
        return refuse(405, &format!("the method has to be {method}"));
    }
    if role < *least {
        return refuse(403, &format!("this needs a token with the role {least}"));
    }
    Gate::Body(NO_BODY_BYTES, route.clone())
}

/// Answers a request.
pub fn answer(
    place: &Place<'_>,
    guard: &mut Guard,
    (head, route): (&Head, &Route),
    body: &[u8],
    now: Duration,
) -> Outcome {
    let Some(host) = place.channel.slot.host() else {
        return Outcome::Reply(Reply::error(503, "the gateway is starting"));
    };
    let reply = match route {
        Route::Health => match host.trouble() {
            None => Reply::text(200, "ok\n"),
            Some(why) => {
                tracing::debug!("/health: {why}");
                Reply::text(503, "not well\n")
            }
        },
        Route::Metrics => Reply {
            kind: "text/plain; version=0.0.4; charset=utf-8",
            ..Reply::text(200, &figures::for_prometheus(&host.figures()))
        },
        Route::Status => Reply::json(200, &figures::as_json(host)),
        Route::Models => Reply::json(200, &chat::models(host)),
        // The token may have been revoked since its request began.
        Route::Ask(_, token) if !is_still(place, head, token) => {
            Reply::error(401, "the token has been revoked")
        }
        Route::Ask(api, token) => {
            return chat::ask(place, head, (*api, token), body).unwrap_or_else(Outcome::Reply);
        }
        Route::Page(asked) => return page::answer(place, host, (head, asked), body),
        Route::Hook(name, _) if hooks::needs_time(place, name) => {
            hooks::later("this machine does not know the time yet, and the signature has one")
        }
        Route::Hook(name, _) => {
            if !hooks::is_meant(place, head, name, body) {
                return Outcome::Guess(Reply::error(401, "the signature is wrong, or too old"));
            }
            // No token has a name with a space.
            match guard.may_ask(&format!("hook {name}"), HOOK_CALLS, now) {
                true => hooks::take(place, host, head, (name, body)),
                false => too_often("too many calls of the hook within a minute"),
            }
        }
    };
    Outcome::Reply(reply)
}

/// A reply with what the page of another origin needs to read it, if that origin was listed.
pub fn for_origin(place: &Place<'_>, head: &Head, mut reply: Reply) -> Reply {
    if page::is_of_page(&head.path) {
        return reply;
    }
    reply.headers.extend(page_headers(place, head));
    reply
}

/// The headers for a page of another origin (<https://fetch.spec.whatwg.org/#cors-protocol>). Cookies open nothing there,
/// so that it has only what it was given a token for.
fn page_headers(place: &Place<'_>, head: &Head) -> Vec<(&'static str, String)> {
    let origin = head.header("origin").unwrap_or_default();
    if !is_listed_origin(origin, &place.channel.config.origins) {
        return Vec::new();
    }
    let mut headers = vec![
        ("Access-Control-Allow-Origin", origin.to_owned()),
        ("Vary", "Origin".to_owned()),
    ];
    if head.method == "OPTIONS" {
        let names = "authorization, content-type, x-peacrab-session, idempotency-key";
        headers.push(("Access-Control-Allow-Headers", names.to_owned()));
        headers.push(("Access-Control-Allow-Methods", "GET, POST".to_owned()));
        headers.push(("Access-Control-Max-Age", "600".to_owned()));
    }
    headers
}
