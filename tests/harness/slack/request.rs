//! A client's call of a method, or for a file.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;

use crate::harness::form::decode;
use crate::harness::wire::{self, RawRequest};

/// The methods that do not read JSON.
const FORM_ONLY: [&str; 8] = [
    "conversations.history",
    "conversations.replies",
    "users.info",
    "users.conversations",
    "files.getUploadURLExternal",
    "files.info",
    "auth.test",
    "apps.connections.open",
];

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method, such as `chat.postMessage`; `upload` and `download` for the servers of files.
    pub method: String,
    /// Its arguments.
    pub arguments: BTreeMap<String, String>,
    /// When it was complete.
    pub at: Instant,
    pub(super) path: String,
    pub(super) token: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Call {
    /// Reads a request; `None` if there is no such path.
    pub(super) fn read(raw: &RawRequest) -> Option<Self> {
        let (path, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
        let method = if let Some(method) = path.strip_prefix("/api/") {
            method.to_owned()
        } else if path.starts_with("/upload/") {
            "upload".to_owned()
        } else if path.starts_with("/files-pri/") {
            "download".to_owned()
        } else {
            return None;
        };
        let header = |name| wire::header(&raw.headers, name);
        let mut token = header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "))
            .map(str::to_owned);
        let mut arguments = BTreeMap::new();
        form(query, &mut arguments);
        let kind = header("content-type").unwrap_or_default();
        if path.starts_with("/api/") {
            let body = String::from_utf8_lossy(&raw.body);
            if kind.starts_with("application/x-www-form-urlencoded") {
                form(&body, &mut arguments);
            } else if kind.starts_with("application/json") && !FORM_ONLY.contains(&method.as_str())
            {
                let json: Value = serde_json::from_str(&body).unwrap_or_default();
                for (name, value) in json.as_object().into_iter().flatten() {
                    let text = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    arguments.insert(name.clone(), text);
                }
            }
            token = token.or_else(|| arguments.remove("token"));
        }
        Some(Self {
            method,
            arguments,
            at: Instant::now(),
            path: path.to_owned(),
            token,
            body: raw.body.clone(),
        })
    }

    /// An argument; empty if it is missing.
    pub fn argument(&self, name: &str) -> &str {
        self.arguments.get(name).map_or("", String::as_str)
    }

    /// An argument as JSON; null if it is missing or invalid.
    pub(super) fn json(&self, name: &str) -> Value {
        serde_json::from_str(self.argument(name)).unwrap_or_default()
    }

    /// The call in one line.
    pub(super) fn line(&self) -> String {
        format!("{} {:?}", self.method, self.arguments)
    }

    /// What its rate limit counts.
    pub(super) fn bucket(&self) -> String {
        match self.method.as_str() {
            "chat.postMessage" => format!("{} {}", self.method, self.argument("channel")),
            method => method.to_owned(),
        }
    }
}

fn form(text: &str, arguments: &mut BTreeMap<String, String>) {
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        arguments.insert(decode(name), decode(&value.replace('+', " ")));
    }
}
