//! What a client asks: a method with its parameters, in any of the forms that the API takes, or a
//! file. <https://core.telegram.org/bots/api#making-requests>

use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::harness::form::{Part, decode, parts};
use crate::harness::wire::{self, RawRequest};

use super::person::Place;

/// One call of a method.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method, such as `sendMessage`; `file` for a download.
    pub method: String,
    /// The parameters, an object. JSON in strings is parsed, and a file is replaced by its
    /// name and size.
    pub parameters: Value,
    /// When it was complete.
    pub at: Instant,
    /// When the server had done it; `None` if it failed or is not finished.
    pub done: Option<Instant>,
    /// The files, by the parameter's name.
    pub(super) files: Vec<Part>,
    /// Its number, from 1.
    pub(super) number: usize,
}

/// The method under which downloads are counted.
pub(super) const DOWNLOAD: &str = "file";

/// The method that a path names; empty for an unknown path.
pub(super) fn method_of(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    if path.starts_with("/file/bot") {
        return DOWNLOAD;
    }
    let rest = path.strip_prefix("/bot").unwrap_or_default();
    rest.split_once('/').map_or("", |(_, method)| method)
}

impl Call {
    /// Reads a request; returns its token, too. The error says why it is invalid.
    pub(super) fn read(raw: RawRequest) -> Result<(String, Self), String> {
        let (path, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
        let mut call = Self {
            method: String::new(),
            parameters: json!({}),
            at: Instant::now(),
            done: None,
            files: Vec::new(),
            number: 0,
        };
        let token = if let Some(file) = path.strip_prefix("/file/bot") {
            let (token, path) = file.split_once('/').ok_or("a file has a path")?;
            call.method = DOWNLOAD.to_owned();
            call.parameters["file_path"] = json!(decode(path));
            token
        } else {
            let method = path
                .strip_prefix("/bot")
                .and_then(|rest| rest.split_once('/'));
            let (token, method) = method.ok_or_else(|| format!("no such path: {path}"))?;
            call.method = method.to_owned();
            token
        };
        let token = decode(token);
        call.take_form(query);
        call.take_body(&raw)?;
        Ok((token, call))
    }

    /// A parameter that is a whole number, also in the form of a string.
    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        let value = &self.parameters[name];
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    }

    /// Whether it names this chat, and this topic if the place is one.
    pub fn is_in(&self, place: Place) -> bool {
        self.integer("chat_id") == Some(place.chat)
            && (place.thread.is_none() || self.integer("message_thread_id") == place.thread)
    }

    /// A string parameter; empty if it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.parameters[name].as_str().unwrap_or_default()
    }

    /// Whether a part of an album is in this field of the form.
    pub(super) fn attaches(&self, name: &str) -> bool {
        let media = self.parameters["media"].as_array();
        let attached = format!("attach://{name}");
        media.is_some_and(|media| media.iter().any(|part| part["media"] == *attached))
    }

    /// The call in one line.
    pub(super) fn line(&self) -> String {
        format!("{} {} {}", self.number, self.method, self.parameters)
    }

    fn take_body(&mut self, raw: &RawRequest) -> Result<(), String> {
        let kind = wire::header(&raw.headers, "content-type").unwrap_or_default();
        if raw.body.is_empty() {
            return Ok(());
        }
        if kind.starts_with("application/json") {
            let body: Map<String, Value> =
                serde_json::from_slice(&raw.body).map_err(|error| format!("the body: {error}"))?;
            for (name, value) in body {
                self.take(&name, value);
            }
        } else if kind.starts_with("application/x-www-form-urlencoded") {
            self.take_form(&String::from_utf8_lossy(&raw.body));
        } else if let Some((_, boundary)) = kind
            .strip_prefix("multipart/form-data")
            .and_then(|rest| rest.split_once("boundary="))
        {
            for part in parts(&raw.body, boundary.trim_matches('"'))? {
                self.take_part(part);
            }
        } else {
            return Err(format!("a body of the type {kind:?}"));
        }
        Ok(())
    }

    fn take_form(&mut self, form: &str) {
        for pair in form.split('&').filter(|pair| !pair.is_empty()) {
            let pair = pair.replace('+', " ");
            let (name, value) = pair.split_once('=').unwrap_or((&pair, ""));
            self.take(&decode(name), json!(decode(value)));
        }
    }

    fn take_part(&mut self, part: Part) {
        if let Some(file_name) = &part.file_name {
            self.parameters[&part.name] = json!({"name": file_name, "size": part.bytes.len()});
            self.files.push(part);
        } else {
            let text = String::from_utf8_lossy(&part.bytes).into_owned();
            self.take(&part.name, json!(text));
        }
    }

    /// Stores a parameter; an object or a list may be JSON in a string.
    fn take(&mut self, name: &str, value: Value) {
        const STRUCTURED: [&str; 8] = [
            "allowed_updates",
            "commands",
            "ephemeral_message_parameters",
            "media",
            "reaction",
            "reply_markup",
            "reply_parameters",
            "rich_message",
        ];
        let inner = value.as_str().filter(|_| STRUCTURED.contains(&name));
        let inner = inner.and_then(|text| serde_json::from_str(text).ok());
        self.parameters[name] = inner.unwrap_or(value);
    }
}
