//! A client's request: a route with its parameters.

use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::form::decode;
use crate::harness::wire::RawRequest;

use super::fault::Refusal;

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The route, such as `send`; see [`ROUTES`].
    pub route: &'static str,
    /// The method, such as `PUT`.
    pub method: String,
    /// The path.
    pub path: String,
    /// The body's JSON.
    pub body: Value,
    /// When it was complete.
    pub at: Instant,
    /// The parts of the path at the route's `*`.
    pub arguments: Vec<String>,
    pub(super) query: String,
    pub(super) number: usize,
}

/// The routes: their names, methods and paths.
pub(super) const ROUTES: [(&str, &str, &str); 25] = [
    ("login", "POST", "/_matrix/client/v3/login"),
    ("whoami", "GET", "/_matrix/client/v3/account/whoami"),
    ("name", "GET", "/_matrix/client/v3/profile/*/displayname"),
    ("profile", "GET", "/_matrix/client/v3/profile/*"),
    ("sync", "GET", "/_matrix/client/v3/sync"),
    ("messages", "GET", "/_matrix/client/v3/rooms/*/messages"),
    ("event", "GET", "/_matrix/client/v3/rooms/*/event/*"),
    (
        "members",
        "GET",
        "/_matrix/client/v3/rooms/*/joined_members",
    ),
    (
        "tombstone",
        "GET",
        "/_matrix/client/v3/rooms/*/state/m.room.tombstone",
    ),
    ("join", "POST", "/_matrix/client/v3/rooms/*/join"),
    ("join", "POST", "/_matrix/client/v3/join/*"),
    ("leave", "POST", "/_matrix/client/v3/rooms/*/leave"),
    ("send", "PUT", "/_matrix/client/v3/rooms/*/send/*/*"),
    ("redact", "PUT", "/_matrix/client/v3/rooms/*/redact/*/*"),
    ("typing", "PUT", "/_matrix/client/v3/rooms/*/typing/*"),
    (
        "receipt",
        "POST",
        "/_matrix/client/v3/rooms/*/receipt/m.read/*",
    ),
    ("create", "POST", "/_matrix/client/v3/createRoom"),
    (
        "getDirect",
        "GET",
        "/_matrix/client/v3/user/*/account_data/m.direct",
    ),
    (
        "setDirect",
        "PUT",
        "/_matrix/client/v3/user/*/account_data/m.direct",
    ),
    ("upload", "POST", "/_matrix/media/v3/upload"),
    ("download", "GET", "/_matrix/client/v1/media/download/*/*"),
    ("download", "GET", "/_matrix/client/v1/media/download/*/*/*"),
    ("oldDownload", "GET", "/_matrix/media/v3/download/*/*"),
    ("versions", "GET", "/_matrix/client/versions"),
    ("moved", "GET", "/moved/*"),
];

impl Call {
    /// Reads the head of a request. `None` if there is no such route.
    pub(super) fn route(raw: &RawRequest) -> Option<Self> {
        let (path, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
        // Older clients name an older version, which is the same for all that is here.
        let path = path.replacen("/client/r0/", "/client/v3/", 1);
        let path = path.replacen("/media/r0/", "/media/v3/", 1);
        let (route, arguments) = ROUTES.iter().find_map(|(name, method, pattern)| {
            let arguments = arguments(pattern, &path).filter(|_| *method == raw.method);
            Some((*name, arguments?))
        })?;
        Some(Self {
            route,
            method: raw.method.clone(),
            path: path.clone(),
            body: json!({}),
            at: Instant::now(),
            arguments,
            query: query.to_owned(),
            number: 0,
        })
    }

    /// Reads the body. The error is the reason for a refusal.
    pub(super) fn take_body(&mut self, raw: &RawRequest) -> Result<(), Refusal> {
        self.at = Instant::now();
        if self.route == "upload" || self.method == "GET" {
            return Ok(());
        }
        // As Synapse does it: these may come without a body.
        if raw.body.is_empty() && ["join", "leave"].contains(&self.route) {
            return Ok(());
        }
        let not_json = || Refusal::new(400, "M_NOT_JSON", "Content not JSON.");
        self.body = serde_json::from_slice(&raw.body).map_err(|_| not_json())?;
        match self.body.is_object() {
            true => Ok(()),
            false => Err(not_json()),
        }
    }

    /// A part of the path.
    pub(super) fn argument(&self, place: usize) -> &str {
        self.arguments.get(place).map_or("", String::as_str)
    }

    /// A parameter of the query.
    pub(super) fn asked(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&');
        let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(key, _)| *key == name)
            .map(|(_, value)| decode(&value.replace('+', " ")))
    }

    /// The call in one line.
    pub(super) fn line(&self) -> String {
        let mut body = self.body.to_string();
        body.truncate(body.floor_char_boundary(300));
        format!("{} {} {} {body}", self.number, self.method, self.path)
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
