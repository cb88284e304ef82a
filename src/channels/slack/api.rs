//! Slack's Web API, as far as it is used, over one connection. Arguments are sent as a form, which each method
//! takes; some ignore JSON. <https://docs.slack.dev/apis/web-api>

pub(super) mod explain;

use std::fmt::Write;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::explain::refusal;
use super::{NAME, is_id};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::json::Members;
use crate::base::limits::channels::{IDLE, LONGEST_WAIT, USUAL_WAIT};
use crate::base::limits::http::BODY_BYTES;
use crate::base::secret::{Eraser, Secret};
use crate::channels::kit::adapter::{Button, Failure, Post, Sent};
use crate::channels::kit::rest::rates::RateLimits;
use crate::net::http::{self, Client, Response, Settings, Tls};
use crate::text::markup::split::{Limit, Unit};
use crate::text::truncate_chars;

use super::mrkdwn::{escape, sections};
use super::{EDIT_UNITS, URL_BYTES};

/// Characters of a button's label.
const LABEL_CHARS: usize = 75;
/// Buttons in one row; a block takes 25, of which five are beside each other.
const ROW_BUTTONS: usize = 5;
/// Rows of buttons; a message takes 50 blocks.
const ROWS: usize = 20;
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Messages of a chat or a thread asked for at once; Slack recommends at most 200.
const MISSED_MESSAGES: usize = 100;
/// Messages among which one is looked for that may have been sent.
const SENT_MESSAGES: usize = 50;

/// Where files are, besides the host of the API.
const FILE_HOST: &str = ".slack.com";
/// The kind of the metadata that has a message's key.
const KEY_EVENT: &str = "peacrab_message";

/// What calls are made with.
#[derive(Clone, Debug)]
pub struct Access {
    /// The API's base.
    pub base: String,
    /// The bot's token.
    pub bot: Secret,
    /// The app's token, which opens connections for events.
    pub app: Secret,
    /// A proxy's URL; none: from the environment.
    pub proxy: Option<Secret>,
}

/// A connection to the API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    cancel: Cancel,
    access: Access,
    eraser: Eraser,
    limits: Arc<RateLimits>,
    /// Called while the bytes of a file are moving.
    progress: Box<dyn Fn() + Send>,
}

/// A page of messages, as JSON, and where the next one is.
pub struct Page {
    /// The reply.
    pub reply: String,
    /// What asks for the next page; empty when there is none.
    pub cursor: String,
}

impl Api {
    /// Prepares calls; nothing is connected yet. `patience` is how long a reply may take to begin.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL is invalid.
    pub fn new(
        tls: &Tls,
        access: &Access,
        limits: &Arc<RateLimits>,
        patience: Duration,
        cancel: &Cancel,
    ) -> Result<Self> {
        let settings = Settings {
            proxy: access.proxy.clone(),
            ..Settings::new(patience, IDLE)
        };
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            cancel: cancel.clone(),
            access: access.clone(),
            eraser: Eraser::new([access.bot.clone(), access.app.clone()]),
            limits: Arc::clone(limits),
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

    /// The token that ends its calls.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Makes a call; returns the reply, which says `ok`.
    pub fn call(&self, method: &str, arguments: &[(&str, &str)]) -> Sent<String> {
        self.limited(method, method, &self.access.bot, arguments)
    }

    /// The same for calls whose rate limit is that of a chat.
    fn call_in(&self, method: &str, chat: &str, arguments: &[(&str, &str)]) -> Sent<String> {
        let bucket = format!("{method} {chat}");
        self.limited(method, &bucket, &self.access.bot, arguments)
    }

    /// The address of a new connection for events, with its ticket: it can be used once.
    pub fn open_connection(&self) -> Sent<Secret> {
        let method = "apps.connections.open";
        let reply = self.limited(method, method, &self.access.app, &[])?;
        let url = text_of(&reply, "url").filter(|url| url.len() <= URL_BYTES);
        url.map(|url| Secret::new(&url)).ok_or_else(unexpected)
    }

    /// The private chat with a person.
    pub fn open_private_chat(&self, person: &str) -> Sent<String> {
        let reply = self.call("conversations.open", &[("users", person)])?;
        let channel = Members::read(&reply).map(|reply| reply.members("channel"));
        let id = channel.and_then(|channel| channel.text("id"));
        id.filter(|id| is_id(id)).ok_or_else(unexpected)
    }

    /// Sends a message; returns its number.
    pub fn post(&self, chat: &str, thread: Option<&str>, post: &Post<'_>) -> Sent<String> {
        let metadata = post.key.map(|key| metadata(key).to_string());
        let blocks = blocks(post);
        let text = text(post);
        let mut arguments = vec![
            ("channel", chat),
            ("text", &text),
            ("unfurl_links", "false"),
            ("unfurl_media", "false"),
        ];
        if !post.is_marked {
            arguments.push(("mrkdwn", "false"));
        }
        if !post.buttons.is_empty() {
            arguments.push(("blocks", &blocks));
        }
        arguments.extend(metadata.as_deref().map(|metadata| ("metadata", metadata)));
        arguments.extend(thread.map(|thread| ("thread_ts", thread)));
        let reply = self.call_in("chat.postMessage", chat, &arguments)?;
        text_of(&reply, "ts").ok_or_else(unexpected)
    }

    /// Replaces the text and the buttons of one of the app's messages.
    pub fn update(&self, chat: &str, message: &str, post: &Post<'_>) -> Sent {
        let blocks = blocks(post);
        let text = text(post);
        // Where blocks show the text, this one is for notifications.
        let text = text.get(..EDITED.prefix(&text)).unwrap_or_default();
        let arguments = [
            ("channel", chat),
            ("ts", message),
            ("text", text),
            // An empty list removes the buttons that were there.
            ("blocks", &blocks),
        ];
        self.call("chat.update", &arguments).map(drop)
    }

    /// Shows a text to one person alone.
    pub fn whisper(&self, chat: &str, thread: Option<&str>, person: &str, text: &str) -> Sent {
        let mut arguments = vec![("channel", chat), ("user", person), ("text", text)];
        arguments.extend(thread.map(|thread| ("thread_ts", thread)));
        self.call_in("chat.postEphemeral", chat, &arguments)
            .map(drop)
    }

    /// Messages of a chat, newest first, or those of a thread, oldest first.
    pub fn messages(
        &self,
        chat: &str,
        thread: Option<&str>,
        (oldest, cursor): (&str, &str),
        has_metadata: bool,
    ) -> Sent<Page> {
        let most = if has_metadata {
            SENT_MESSAGES
        } else {
            MISSED_MESSAGES
        };
        let most = most.to_string();
        let mut arguments = vec![("channel", chat), ("limit", &most)];
        let pairs = [("oldest", oldest), ("cursor", cursor)];
        arguments.extend(pairs.into_iter().filter(|(_, value)| !value.is_empty()));
        if has_metadata {
            arguments.push(("include_all_metadata", "true"));
        }
        let method = match thread {
            Some(thread) => {
                arguments.push(("ts", thread));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        let reply = self.call(method, &arguments)?;
        let cursor = Members::read(&reply).map(|reply| {
            let more = reply.members("response_metadata");
            more.text_or_empty("next_cursor")
        });
        Ok(Page {
            cursor: cursor.unwrap_or_default(),
            reply,
        })
    }

    /// Asks where the bytes of a file go; returns the address and the file's id.
    pub fn begin_upload(&self, name: &str, length: u64) -> Sent<(Secret, String)> {
        let length = length.to_string();
        let arguments = [("filename", name), ("length", &length)];
        let reply = self.call("files.getUploadURLExternal", &arguments)?;
        let url = text_of(&reply, "upload_url").filter(|url| self.has_files(url));
        let id = text_of(&reply, "file_id").filter(|id| is_id(id));
        let parts = url.zip(id).ok_or_else(unexpected)?;
        Ok((Secret::new(&parts.0), parts.1))
    }

    /// Sends the bytes of a file. The address is enough, so the token is not sent.
    pub fn put_bytes(&self, url: &Secret, mut file: &File, length: u64) -> Sent {
        let progress = |_| (self.progress)();
        let upload = http::Upload::new(&mut file, length).with_progress(&progress);
        let headers = [("content-type", "application/octet-stream")];
        let response = self.client.post_reader(url.expose(), &headers, upload);
        let response = response.and_then(|response| response.read_to_end(BODY_BYTES));
        response
            .map(drop)
            .map_err(|error| self.explain(error, "upload"))
    }

    /// Shows an uploaded file in a chat, with a text if there is one.
    pub fn end_upload(
        &self,
        (chat, thread): (&str, Option<&str>),
        (file, title): (&str, &str),
        text: Option<&str>,
    ) -> Sent {
        let files = json!([{"id": file, "title": title}]).to_string();
        let mut arguments = vec![("files", files.as_str()), ("channel_id", chat)];
        arguments.extend(thread.map(|thread| ("thread_ts", thread)));
        arguments.extend(text.map(|text| ("initial_comment", text)));
        let reply = self.call("files.completeUploadExternal", &arguments);
        reply.map(drop)
    }

    /// What Slack knows about a file.
    pub fn file(&self, file: &str) -> Sent<String> {
        self.call("files.info", &[("file", file)])
    }

    /// Downloads the file at a URL of Slack's, of at most `limit` bytes, with the token.
    pub fn download(&self, url: &str, into: &mut File, limit: usize) -> Sent {
        if !self.has_files(url) {
            let why = "its URL is not one of Slack's".to_owned();
            return Err(Failure::Refused(why));
        }
        let authorization = self.authorization(&self.access.bot);
        let headers = [("authorization", authorization.as_str())];
        let response = self.client.get(url, &headers);
        let response = response.map_err(|error| match error {
            Error::Status {
                status: 404 | 410, ..
            } => Failure::MessageGone,
            // Without a right to the file, Slack leads to its login page.
            Error::Status {
                status: 300..=399 | 401 | 403,
                ..
            } => Failure::Refused(NO_RIGHT.to_owned()),
            Error::Status { status, .. } if Failure::of_file(status).is_some() => {
                Failure::Refused(format!("Slack refuses to give the file (status {status})"))
            }
            error => self.explain(error, "download"),
        })?;
        let is_page = response.header("content-type");
        let is_page = is_page.is_some_and(|kind| kind.starts_with("text/html"));
        if is_page && response.header("content-disposition").is_none() {
            return Err(Failure::Refused(NO_RIGHT.to_owned()));
        }
        let downloaded = response.download(into, limit, &|_| (self.progress)());
        downloaded
            .map(drop)
            .map_err(|error| self.explain(error, "download"))
    }

    /// Whether a URL is of a host that has files of messages: only those get the token.
    fn has_files(&self, url: &str) -> bool {
        fn origin(url: &str) -> Option<(&str, String)> {
            let (scheme, rest) = url.split_once("://")?;
            let host = rest.split(['/', '?', '#']).next()?;
            Some((scheme, host.to_ascii_lowercase()))
        }
        let Some((scheme, host)) = origin(url).filter(|(_, host)| !host.contains(['@', '\\']))
        else {
            return false;
        };
        let is_slacks = scheme == "https" && host.ends_with(FILE_HOST);
        let is_near = || origin(&self.access.base) == Some((scheme, host.clone()));
        url.len() <= URL_BYTES && (is_slacks || is_near())
    }

    /// Makes a call when the rate limits allow it, and notes the limits in its reply.
    fn limited(
        &self,
        method: &str,
        bucket: &str,
        token: &Secret,
        arguments: &[(&str, &str)],
    ) -> Sent<String> {
        let wait = self.limits.wait(bucket);
        if wait > SHORT_WAIT {
            return Err(Failure::RetryAfter(wait));
        }
        if !wait.is_zero() && self.cancel.wait(wait) {
            return Err(Failure::Stopped);
        }
        let url = format!("{}/{method}", self.access.base.trim_end_matches('/'));
        let authorization = self.authorization(token);
        let headers = [
            ("authorization", authorization.as_str()),
            (
                "content-type",
                "application/x-www-form-urlencoded; charset=utf-8",
            ),
        ];
        let response = self.client.post(&url, &headers, form(arguments).as_bytes());
        let reply = response.and_then(|response: Response| response.read_to_end(BODY_BYTES));
        let reply = reply.map_err(|error| self.explain(error, bucket))?;
        let reply = String::from_utf8(reply).map_err(|_| unexpected())?;
        let members = Members::read(&reply).ok_or_else(unexpected)?;
        if members.is_true("ok") {
            return Ok(reply);
        }
        if members.raw("error").is_none() {
            return Err(unexpected());
        }
        let failure = refusal(&members);
        if let Failure::RetryAfter(wait) = &failure {
            self.limits.hold(Some(bucket), *wait);
        }
        Err(failure)
    }

    /// The one place where a token is written into a request.
    fn authorization(&self, token: &Secret) -> String {
        format!("Bearer {}", token.expose())
    }

    /// The failure that an error means, without the tokens, which a proxy's page may have repeated.
    fn explain(&self, error: Error, bucket: &str) -> Failure {
        match error {
            Error::Status {
                status: 429,
                retry_after,
                ..
            } => {
                let wait = retry_after.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
                self.limits.hold(Some(bucket), wait);
                Failure::RetryAfter(wait)
            }
            Error::Status { status, body, .. } => {
                let body = self.eraser.clean(&body);
                match Members::read(&body).filter(|reply| reply.raw("error").is_some()) {
                    Some(reply) if status < 500 => refusal(&reply),
                    _ => Failure::Trouble(format!(
                        "Slack or a proxy is having trouble (status {status}). If this goes on, check \
                         channels.{NAME}.apiBase and channels.{NAME}.proxy."
                    )),
                }
            }
            error @ Error::Network { .. } => Failure::Down(error.to_string()),
            error @ Error::Timeout { .. } => Failure::Trouble(error.to_string()),
            Error::Stopped => Failure::Stopped,
            error => Failure::Local(error),
        }
    }
}

/// The error for a file that the app may not read.
const NO_RIGHT: &str = "Slack shows its login page instead: add the scope files:read on the page \"OAuth & Permissions\" of \
                        your app, and install it again";

fn unexpected() -> Failure {
    Failure::Trouble("unexpected reply from Slack".to_owned())
}

/// A string of a reply.
pub fn text_of(reply: &str, name: &str) -> Option<String> {
    let text = Members::read(reply)?.text(name);
    text.filter(|text| !text.is_empty())
}

/// The metadata of a message with a key.
fn metadata(key: u64) -> Value {
    json!({"event_type": KEY_EVENT, "event_payload": {"key": key.to_string()}})
}

/// Whether a message has the key in its metadata.
pub fn has_key(message: &Members<'_>, key: u64) -> bool {
    let metadata = message.members("metadata");
    let known = metadata.members("event_payload").text("key");
    metadata.text_or_empty("event_type") == KEY_EVENT && known == Some(key.to_string())
}

/// The text of a message: what is not in Slack's markup is escaped here.
fn text(post: &Post<'_>) -> String {
    if post.is_marked {
        post.text.to_owned()
    } else {
        escape(post.text)
    }
}

/// The most text of an edit without blocks.
const EDITED: Limit = Limit {
    units: EDIT_UNITS,
    unit: Unit::Utf16,
};

/// The text with its buttons, as blocks; an empty list for a text without buttons that an edit can have.
fn blocks(post: &Post<'_>) -> String {
    let mut blocks: Vec<Value> = Vec::new();
    let button = |(index, button): (usize, &Button)| {
        let label = truncate_chars(&button.label, LABEL_CHARS);
        json!({
            "type": "button", "action_id": format!("b{index}"), "value": button.data,
            "text": {"type": "plain_text", "text": label, "emoji": true},
        })
    };
    for row in post.buttons {
        let buttons: Vec<Value> = row.iter().enumerate().map(button).collect();
        for part in buttons.chunks(ROW_BUTTONS) {
            blocks.push(json!({"type": "actions", "elements": part}));
        }
    }
    blocks.truncate(ROWS);
    if !blocks.is_empty() || !EDITED.holds(&text(post)) {
        let section = |text: String| {
            let text = if post.is_marked {
                json!({"type": "mrkdwn", "text": text, "verbatim": true})
            } else {
                json!({"type": "plain_text", "text": text})
            };
            json!({"type": "section", "text": text, "expand": true})
        };
        blocks.splice(..0, sections(post.text).into_iter().map(section));
    }
    Value::from(blocks).to_string()
}

/// Arguments as a form.
fn form(arguments: &[(&str, &str)]) -> String {
    let mut form = String::new();
    for (name, value) in arguments {
        if !form.is_empty() {
            form.push('&');
        }
        form.push_str(name);
        form.push('=');
        for byte in value.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    form.push(char::from(byte));
                }
                byte => {
                    let _ = write!(form, "%{byte:02X}");
                }
            }
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(base: &str) -> Api {
        let access = Access {
            base: base.to_owned(),
            bot: Secret::new("xoxb-1"),
            app: Secret::new("xapp-1"),
            proxy: None,
        };
        let tls = Tls::new(None).unwrap();
        let (limits, cancel) = (Arc::default(), Cancel::new());
        Api::new(&tls, &access, &limits, IDLE, &cancel).unwrap()
    }

    #[test]
    fn only_slack_gets_the_token() {
        let slack = api("https://slack.com/api");
        for (url, expected) in [
            ("https://files.slack.com/files-pri/T1-F1/a.txt", true),
            ("https://slack.com/api/x", true),
            ("http://files.slack.com/a", false),
            ("https://files.slack.com.example.org/a", false),
            ("https://example.org/a?.slack.com", false),
            ("https://user@files.slack.com/a", false),
            ("https://example.org\\.slack.com/a", false),
            ("https://files.slack.com:444/a", false),
            ("file:///etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(slack.has_files(url), expected, "{url}");
        }
        assert!(api("http://127.0.0.1:9/api").has_files("http://127.0.0.1:9/files/F1"));
        assert!(!api("http://127.0.0.1:9/api").has_files("http://127.0.0.1:8/files/F1"));
    }

    #[test]
    fn buttons_are_blocks_below_the_text() {
        let row = |count: usize| -> Vec<Button> {
            let button = |number| Button {
                label: "ü".repeat(100),
                data: format!("w:{number}"),
            };
            (0..count).map(button).collect()
        };
        let buttons = [row(1), row(6)];
        let post = Post {
            text: "*a* &amp; b",
            is_marked: true,
            buttons: &buttons,
            ..Post::default()
        };
        let written: Value = crate::base::json::from_str(&blocks(&post)).unwrap();
        assert_eq!(written[0]["text"]["text"], "*a* &amp; b");
        assert_eq!(written.as_array().unwrap().len(), 4);
        assert_eq!(written[3]["elements"][0]["value"], "w:5");
        assert_ne!(
            written[2]["elements"][0]["action_id"],
            written[2]["elements"][1]["action_id"]
        );
        let label = written[1]["elements"][0]["text"]["text"].as_str().unwrap();
        assert_eq!(label.chars().count(), LABEL_CHARS);
        let bare = Post {
            buttons: &[],
            ..post
        };
        assert_eq!(blocks(&bare), "[]");
        let long = Post {
            text: &"A line of a long text.\n".repeat(300),
            ..bare
        };
        let written: Value = crate::base::json::from_str(&blocks(&long)).unwrap();
        assert_eq!(written.as_array().unwrap().len(), 3);
        let plain = Post {
            text: "a & <b>",
            is_marked: false,
            ..bare
        };
        assert_eq!(text(&plain), "a &amp; &lt;b&gt;");
    }

    #[test]
    fn a_key_is_found_again() {
        let message = json!({"ts": "1.000001", "metadata": metadata(7)}).to_string();
        let message = Members::read(&message).unwrap();
        assert!(has_key(&message, 7) && !has_key(&message, 8));
        let other = r#"{"metadata":{"event_type":"other","event_payload":{"key":"7"}}}"#;
        assert!(!has_key(&Members::read(other).unwrap(), 7));
    }

    #[test]
    fn arguments_are_a_form() {
        let form = form(&[("a", "x y&z=ü\n"), ("b", "")]);
        assert_eq!(form, "a=x%20y%26z%3D%C3%BC%0A&b=");
    }
}
