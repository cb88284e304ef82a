//! A client's request to the REST API: a route with its parameters and files.

use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::form::{self, Part, decode};
use crate::harness::wire::{self, RawRequest};

use super::fault::Refusal;
use super::store::Place;

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The route, such as `createMessage`; see [`ROUTES`].
    pub route: &'static str,
    /// The method, such as `POST`.
    pub method: String,
    /// The path without the API's base.
    pub path: String,
    /// The channel that the path names.
    pub place: Option<Place>,
    /// The body's JSON.
    pub parameters: Value,
    /// The names and sizes of its files.
    pub files: Vec<(String, usize)>,
    /// When it was complete.
    pub at: Instant,
    /// When the server had done it; `None` if it failed or is not finished.
    pub done: Option<Instant>,
    pub(super) parts: Vec<Part>,
    pub(super) query: String,
    /// The part of the path at the route's `*`.
    pub(super) arguments: Vec<String>,
    pub(super) number: usize,
}

/// The routes: their names, methods and paths.
pub(super) const ROUTES: [(&str, &str, &str); 26] = [
    ("getGateway", "GET", "/gateway/bot"),
    ("getMe", "GET", "/users/@me"),
    ("getApplication", "GET", "/applications/@me"),
    ("getApplication", "GET", "/oauth2/applications/@me"),
    ("createDm", "POST", "/users/@me/channels"),
    ("getChannel", "GET", "/channels/*"),
    ("getMessages", "GET", "/channels/*/messages"),
    ("getMessage", "GET", "/channels/*/messages/*"),
    ("createMessage", "POST", "/channels/*/messages"),
    ("editMessage", "PATCH", "/channels/*/messages/*"),
    ("deleteMessage", "DELETE", "/channels/*/messages/*"),
    ("typing", "POST", "/channels/*/typing"),
    ("react", "PUT", "/channels/*/messages/*/reactions/*/@me"),
    (
        "unreact",
        "DELETE",
        "/channels/*/messages/*/reactions/*/@me",
    ),
    ("callback", "POST", "/interactions/*/*/callback"),
    ("followUp", "POST", "/webhooks/*/*"),
    ("getOriginal", "GET", "/webhooks/*/*/messages/@original"),
    ("editOriginal", "PATCH", "/webhooks/*/*/messages/@original"),
    (
        "deleteOriginal",
        "DELETE",
        "/webhooks/*/*/messages/@original",
    ),
    ("editFollowUp", "PATCH", "/webhooks/*/*/messages/*"),
    ("deleteFollowUp", "DELETE", "/webhooks/*/*/messages/*"),
    ("getCommands", "GET", "/applications/*/commands"),
    ("putCommands", "PUT", "/applications/*/commands"),
    (
        "getGuildCommands",
        "GET",
        "/applications/*/guilds/*/commands",
    ),
    (
        "putGuildCommands",
        "PUT",
        "/applications/*/guilds/*/commands",
    ),
    ("cdn", "GET", "/attachments/*/*/*"),
];

/// The API's base. Requests without the version in their path get an old one.
const BASE: &str = "/api/v10";
/// The path of files.
const CDN: &str = "/attachments/";

impl Call {
    /// Reads the head of a request: its route and the ids in its path. `None` if there is no such route.
    pub(super) fn route(raw: &RawRequest) -> Option<Self> {
        let (path, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
        let path = match path.strip_prefix(BASE) {
            Some(path) => path,
            None if path.starts_with(CDN) => path,
            None => return None,
        };
        let (route, arguments) = ROUTES.iter().find_map(|(name, method, pattern)| {
            let arguments = arguments(pattern, path).filter(|_| *method == raw.method);
            Some((*name, arguments?))
        })?;
        let is_channel = path.starts_with("/channels/");
        let place = arguments.first().filter(|_| is_channel);
        Some(Self {
            route,
            method: raw.method.clone(),
            path: path.to_owned(),
            place: place.and_then(|id| id.parse().ok()).map(Place),
            parameters: json!({}),
            files: Vec::new(),
            at: Instant::now(),
            done: None,
            parts: Vec::new(),
            query: query.to_owned(),
            arguments,
            number: 0,
        })
    }

    /// Reads the body. The error is the reason for a refusal.
    pub(super) fn take_body(&mut self, raw: &RawRequest) -> Result<(), Refusal> {
        self.at = Instant::now();
        let broken = || Refusal::new(400, 50109, "The request body contains invalid JSON.");
        let kind = wire::header(&raw.headers, "content-type").unwrap_or_default();
        if raw.body.is_empty() {
            return Ok(());
        }
        if kind.starts_with("application/json") {
            self.parameters = serde_json::from_slice(&raw.body).map_err(|_| broken())?;
            return Ok(());
        }
        let boundary = kind.strip_prefix("multipart/form-data");
        let boundary = boundary.and_then(|rest| rest.split_once("boundary="));
        let Some((_, boundary)) = boundary else {
            let words = "Expected \"Content-Type\" header to be one of {'application/json', 'multipart/form-data'}.";
            return Err(Refusal::form("_", "CONTENT_TYPE_INVALID", words));
        };
        let parts = form::parts(&raw.body, boundary.trim_matches('"')).map_err(|_| broken())?;
        for part in parts {
            if part.name == "payload_json" {
                self.parameters = serde_json::from_slice(&part.bytes).map_err(|_| broken())?;
            } else if let Some(name) = &part.file_name {
                self.files.push((name.clone(), part.bytes.len()));
                self.parts.push(part);
            } else {
                let text = String::from_utf8_lossy(&part.bytes).into_owned();
                self.parameters[&part.name] = json!(text);
            }
        }
        Ok(())
    }

    /// A number in the path.
    pub(super) fn id(&self, place: usize) -> u64 {
        self.arguments
            .get(place)
            .and_then(|id| id.parse().ok())
            .unwrap_or_default()
    }

    /// A parameter of the query.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        let mut pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The call in one line.
    pub(super) fn line(&self) -> String {
        format!(
            "{} {} {} {}",
            self.number, self.method, self.path, self.parameters
        )
    }

    /// The bucket whose limit it counts for: the route and the channel, or the webhook and its token.
    pub(super) fn bucket(&self) -> String {
        let major = match self.path.starts_with("/webhooks/") {
            true => 2,
            false => usize::from(self.place.is_some()),
        };
        format!("{}:{}", self.route, self.arguments[..major].join(":"))
    }
}

/// The part of a path at the pattern's `*`; `None` if the path does not match.
fn arguments(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    let mut found = Vec::new();
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(found),
            (Some("*"), Some(part)) if !part.is_empty() => found.push(decode(part)),
            (Some(wanted), Some(part)) if wanted == decode(part) => {}
            _ => return None,
        }
    }
}
