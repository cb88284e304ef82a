//! Discord's REST API, as far as it is used, over one connection.
//! <https://discord.com/developers/docs/reference>

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::types::{Channel, Message, snowflake};
use super::{DISCORD_MISSED_MESSAGES, DISCORD_UPLOAD_BYTES};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::channels::{IDLE, JSON_LEVELS_MAX, LONGEST_WAIT, SAID_CHARS, USUAL_WAIT};
use crate::base::limits::http::BODY_BYTES;
use crate::base::secret::{Eraser, Secret};
use crate::channels::kit::adapter::{Button, Failure, Post, Sent, Upload};
use crate::channels::kit::names;
use crate::channels::kit::rest::rates::RateLimits;
use crate::channels::kit::stream::session::Me;
use crate::config::schema;
use crate::net::http::address::percent_encode;
use crate::net::http::multipart::Form;
use crate::net::http::{self, Client, Method, Response, Settings, Tls};
use crate::text::{ellipsize_chars, truncate_chars};

/// Characters of a Discord button's label.
const DISCORD_LABEL_CHARS: usize = 80;
/// Buttons in one row of a Discord message, and rows.
const DISCORD_ROW_BUTTONS: usize = 5;
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
const DISCORD_SHORT_WAIT: Duration = Duration::from_secs(1);

/// The repository in the user agent when the package names none.
const NO_REPOSITORY: &str = "https://example.org/peacrab";

/// Where files are, besides the host of the API.
const FILE_HOSTS: [&str; 2] = [".discordapp.com", ".discordapp.net"];

/// The flag of a message that makes no sound (Discord's documentation, "Message Flags").
const SUPPRESS_NOTIFICATIONS: u32 = 1 << 12;
/// The flag of a voice message, whose file is Ogg with Opus.
const IS_VOICE_MESSAGE: u32 = 1 << 13;
/// The picture of a voice message, which Discord wants: one low bar, in base64.
const FLAT_WAVEFORM: &str = "EA==";
/// `SUPPRESS_EMBEDS`: Discord would fetch each address of a text for its preview, without anybody's tap.
const SUPPRESS_EMBEDS: u32 = 1 << 2;

/// The error for a wrong token.
pub const BAD_TOKEN: &str = "Discord rejects the bot's token: set channels.discord.token to the one on the page \
                             \"Bot\" of your application at https://discord.com/developers/applications";

/// Where the gateway is, and how often it may be connected to.
#[derive(Debug, Deserialize)]
pub struct GatewayAddress {
    /// The URL.
    pub url: String,
    /// How many sessions may be begun.
    #[serde(default)]
    pub session_start_limit: SessionStartLimit,
}

/// How many sessions may be begun.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub struct SessionStartLimit {
    /// Sessions that may be begun.
    pub remaining: u64,
    /// Milliseconds until there are more.
    pub reset_after: u64,
}

impl Default for SessionStartLimit {
    fn default() -> Self {
        Self {
            remaining: 1,
            reset_after: 0,
        }
    }
}

/// A connection to the API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    cancel: Cancel,
    base: String,
    token: Secret,
    user_agent: String,
    eraser: Eraser,
    limits: Arc<RateLimits>,
    /// Called while the bytes of a file are moving.
    progress: Box<dyn Fn() + Send>,
}

/// A call: the method, the path with its ids, and the bucket of the rate limits that it counts for.
struct Call<'a> {
    method: Method,
    path: &'a str,
    bucket: String,
}

impl<'a> Call<'a> {
    /// A call about a channel. Limits apply to each kind of call in each channel.
    fn in_channel(method: Method, kind: &str, channel: &str, path: &'a str) -> Self {
        let bucket = format!("{method} {kind} {channel}");
        Self {
            method,
            path,
            bucket,
        }
    }

    fn other(method: Method, path: &'a str) -> Self {
        Self {
            method,
            path,
            bucket: path.to_owned(),
        }
    }
}

impl Api {
    /// Prepares calls; nothing is connected yet. `patience` is how long a reply may take to begin.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL is invalid.
    pub fn new(
        tls: &Tls,
        config: &schema::Bot,
        limits: &Arc<RateLimits>,
        patience: Duration,
        cancel: &Cancel,
    ) -> Result<Self> {
        let settings = Settings {
            proxy: config.proxy.clone(),
            ..Settings::new(patience, IDLE)
        };
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            cancel: cancel.clone(),
            base: config.api_base.trim_end_matches('/').to_owned(),
            token: config.token.clone(),
            user_agent: user_agent(),
            eraser: Eraser::new([config.token.clone()]),
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

    /// Who the token belongs to.
    pub fn get_me(&self) -> Sent<Me> {
        self.get("/users/@me")
    }

    /// Where the gateway is.
    pub fn get_gateway(&self) -> Sent<GatewayAddress> {
        self.get("/gateway/bot")
    }

    /// The private chat with a person, which is created if there is none.
    pub fn create_dm(&self, person: &str) -> Sent<Channel> {
        let call = Call::other(Method::POST, "/users/@me/channels");
        self.read(&call, &json!({"recipient_id": person}))
    }

    /// Messages of a channel after one with this id, oldest first; not more than
    /// `DISCORD_MISSED_MESSAGES`.
    pub fn get_messages(&self, channel: &str, after: i64) -> Sent<Vec<Message>> {
        let path =
            format!("/channels/{channel}/messages?after={after}&limit={DISCORD_MISSED_MESSAGES}");
        let call = Call::in_channel(Method::GET, "messages", channel, &path);
        let mut messages: Vec<Message> = self.read(&call, &Value::Null)?;
        messages.sort_by_key(|message| snowflake(&message.id));
        Ok(messages)
    }

    /// One message.
    pub fn get_message(&self, channel: &str, message: &str) -> Sent<Message> {
        let path = format!("/channels/{channel}/messages/{message}");
        let call = Call::in_channel(Method::GET, "message", channel, &path);
        self.read(&call, &Value::Null)
    }

    /// Sends a message; returns its id.
    pub fn create_message(&self, channel: &str, post: &Post<'_>) -> Sent<String> {
        let path = format!("/channels/{channel}/messages");
        let call = Call::in_channel(Method::POST, "messages", channel, &path);
        let mut body = content(post);
        if let Some(key) = post.key {
            // With these two a message that is sent again is not shown twice.
            body["nonce"] = json!(key.to_string());
            body["enforce_nonce"] = json!(true);
        }
        if post.silent {
            body["flags"] = json!(SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS);
        }
        if let Some(answered) = post.reply_to.and_then(snowflake) {
            body["message_reference"] = reference(answered);
        }
        let sent: Message = self.read(&call, &body)?;
        Ok(sent.id)
    }

    /// Replaces the text and the buttons of one of the bot's messages.
    pub fn edit_message(&self, channel: &str, message: &str, post: &Post<'_>) -> Sent {
        let path = format!("/channels/{channel}/messages/{message}");
        let call = Call::in_channel(Method::PATCH, "message", channel, &path);
        self.act(&call, &content(post))
    }

    /// Deletes one of the bot's messages.
    pub fn delete_message(&self, channel: &str, message: &str) -> Sent {
        let path = format!("/channels/{channel}/messages/{message}");
        let call = Call::in_channel(Method::DELETE, "message", channel, &path);
        self.act(&call, &Value::Null)
    }

    /// Sends a file, with a text if there is one.
    pub fn upload(&self, channel: &str, upload: &Upload<'_>, text: Option<&Post<'_>>) -> Sent {
        let Upload {
            file,
            name,
            key,
            silent,
            voice,
            ..
        } = *upload;
        let length = file.metadata().map_err(Error::io("read", name));
        let length = length.map_err(Failure::Local)?.len();
        if length > DISCORD_UPLOAD_BYTES {
            return Err(Failure::Local(Error::TooLarge {
                what: name.to_owned(),
                limit: DISCORD_UPLOAD_BYTES as usize,
            }));
        }
        let path = format!("/channels/{channel}/messages");
        let call = Call::in_channel(Method::POST, "messages", channel, &path);
        let mut payload = text.map_or_else(|| json!({"allowed_mentions": {"parse": []}}), content);
        if let Some(answered) = text.and_then(|text| text.reply_to).and_then(snowflake) {
            payload["message_reference"] = reference(answered);
        }
        if let Some(key) = key {
            payload["nonce"] = json!(key.to_string());
            payload["enforce_nonce"] = json!(true);
        }
        let name = names::clean_file_name(name);
        let mut form_type = None;
        let mut flags = payload["flags"].as_u64().unwrap_or_default();
        if silent {
            flags |= u64::from(SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS);
        }
        if let Some(seconds) = voice {
            flags |= u64::from(IS_VOICE_MESSAGE);
            form_type = Some("audio/ogg");
            payload["attachments"] = json!([{
                "id": 0, "filename": name, "duration_secs": seconds, "waveform": FLAT_WAVEFORM,
            }]);
        }
        if flags != 0 {
            payload["flags"] = json!(flags);
        }
        let mut form = Form::new(&[("payload_json", payload)], "files[0]", &name);
        if let Some(kind) = form_type {
            form = form.of_type(kind);
        }
        self.limited(&call, || {
            let headers = self.headers(&form.content_type);
            let headers = headers
                .each_ref()
                .map(|(name, value)| (*name, value.as_str()));
            let mut body = form.reader(file, length);
            let progress = |_| (self.progress)();
            let upload = http::Upload::new(&mut body, form.length(length)).with_progress(&progress);
            self.client
                .post_reader(&self.url(call.path), &headers, upload)
        })
        .map(drop)
    }

    /// Adds a reaction.
    pub fn react(&self, channel: &str, message: &str, emoji: &str) -> Sent {
        let emoji = percent_encode(emoji);
        let path = format!("/channels/{channel}/messages/{message}/reactions/{emoji}/@me");
        let call = Call::in_channel(Method::PUT, "reaction", channel, &path);
        self.act(&call, &Value::Null)
    }

    /// Shows for ten seconds that something is being written.
    pub fn typing(&self, channel: &str) -> Sent {
        let path = format!("/channels/{channel}/typing");
        let call = Call::in_channel(Method::POST, "typing", channel, &path);
        self.act(&call, &Value::Null)
    }

    /// Replaces all slash commands of the bot.
    pub fn set_commands(&self, commands: &Value) -> Sent {
        #[derive(Deserialize)]
        struct Application {
            id: String,
        }
        let application: Application = self.get("/applications/@me")?;
        let path = format!("/applications/{}/commands", percent_encode(&application.id));
        self.act(&Call::other(Method::PUT, &path), commands)
    }

    /// Acknowledges a press or a command, which Discord requires within three seconds. `text` is shown to the
    /// person alone; without it a press is only confirmed.
    pub fn acknowledge(&self, id: &str, token: &str, text: Option<&str>) -> Sent {
        let path = format!("/interactions/{id}/{}/callback", percent_encode(token));
        let body = match text {
            None => json!({"type": 6}),
            // 64: only the person sees it.
            Some(text) => json!({
                "type": 4,
                "data": {"content": text, "flags": 64, "allowed_mentions": {"parse": []}},
            }),
        };
        let call = Call {
            bucket: "callback".to_owned(),
            ..Call::other(Method::POST, &path)
        };
        self.act(&call, &body)
    }

    /// Downloads the file at a URL from Discord, of at most `limit` bytes. The token is not sent: such a
    /// URL works for anyone.
    pub fn download(&self, url: &str, into: &mut File, limit: usize) -> Sent {
        if !self.has_files(url) {
            let why = "its URL is not one of Discord's".to_owned();
            return Err(Failure::Refused(why));
        }
        let headers = [("user-agent", self.user_agent.as_str())];
        let response = self.client.get(url, &headers);
        let response = response.map_err(|error| {
            let known = match &error {
                Error::Status { status, .. } => Failure::of_file(*status),
                _ => None,
            };
            known.unwrap_or_else(|| self.explain(error, ""))
        })?;
        let downloaded = response.download(into, limit, &|_| (self.progress)());
        downloaded
            .map(drop)
            .map_err(|error| self.explain(error, ""))
    }

    /// Whether a URL is of a host that has files of messages.
    fn has_files(&self, url: &str) -> bool {
        let origin = |url: &str| -> Option<String> {
            let (scheme, rest) = url.split_once("://")?;
            let host = rest.split(['/', '?', '#']).next()?;
            Some(format!("{scheme}://{}", host.to_ascii_lowercase()))
        };
        let Some(host) = origin(url).filter(|origin| !origin.contains('@')) else {
            return false;
        };
        let is_discords = FILE_HOSTS.iter().any(|end| host.ends_with(end));
        is_discords && host.starts_with("https://") || origin(&self.base).as_ref() == Some(&host)
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Sent<T> {
        self.read(&Call::other(Method::GET, path), &Value::Null)
    }

    /// Makes a call and reads its reply.
    fn read<T: DeserializeOwned>(&self, call: &Call<'_>, body: &Value) -> Sent<T> {
        let reply = self.call(call, body)?;
        // From a string, as events are read: another kind of input would double the code.
        let text = String::from_utf8_lossy(&reply);
        json::lenient_from_str_within(&text, JSON_LEVELS_MAX).map_err(|error| {
            Failure::Trouble(format!(
                "unexpected reply from Discord (byte {})",
                error.column()
            ))
        })
    }

    /// Makes a call and ignores the content of the reply.
    fn act(&self, call: &Call<'_>, body: &Value) -> Sent {
        self.call(call, body).map(drop)
    }

    fn call(&self, call: &Call<'_>, body: &Value) -> Sent<Vec<u8>> {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        self.limited(call, || {
            let headers = self.headers("application/json");
            let headers = headers
                .each_ref()
                .map(|(name, value)| (*name, value.as_str()));
            let url = self.url(call.path);
            self.client
                .send(call.method.clone(), &url, &headers, body.as_bytes())
        })
    }

    /// Makes a call when the rate limits allow it, and notes the limits in its reply.
    fn limited(&self, call: &Call<'_>, send: impl FnOnce() -> Result<Response>) -> Sent<Vec<u8>> {
        let wait = self.limits.wait(&call.bucket);
        if wait > DISCORD_SHORT_WAIT {
            return Err(Failure::RetryAfter(wait));
        }
        if !wait.is_zero() && self.cancel.wait(wait) {
            return Err(Failure::Stopped);
        }
        let response = send().map_err(|error| self.explain(error, &call.bucket))?;
        if response.header("x-ratelimit-remaining") == Some("0") {
            let reset = response.header("x-ratelimit-reset-after");
            if let Some(wait) = reset.and_then(|seconds| seconds_of(seconds.parse().ok()?)) {
                self.limits.hold(Some(&call.bucket), wait);
            }
        }
        let reply = response.read_to_end(BODY_BYTES);
        reply.map_err(|error| self.explain(error, &call.bucket))
    }

    /// The one place where the token is written into a request.
    fn headers(&self, content_type: &str) -> [(&'static str, String); 3] {
        [
            ("authorization", format!("Bot {}", self.token.expose())),
            ("user-agent", self.user_agent.clone()),
            ("content-type", content_type.to_owned()),
        ]
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// The failure that an error means, without the token, which a proxy's page may have repeated.
    fn explain(&self, error: Error, bucket: &str) -> Failure {
        match error {
            Error::Status {
                status,
                retry_after,
                body,
                ..
            } => {
                let body = self.eraser.clean(&body);
                match status {
                    429 => self.too_many(Refusal::read(&body), retry_after, bucket),
                    status => classify(status, &body),
                }
            }
            error @ Error::Network { .. } => Failure::Down(error.to_string()),
            error @ Error::Timeout { .. } => Failure::Trouble(error.to_string()),
            Error::Stopped => Failure::Stopped,
            error => Failure::Local(error),
        }
    }

    /// Too many requests: of one kind, of the whole bot, or, where a page says so, of this address.
    fn too_many(&self, refusal: Option<Refusal>, asked: Option<Duration>, bucket: &str) -> Failure {
        let is_global = refusal.as_ref().is_none_or(|refusal| refusal.global);
        let said = refusal.and_then(|refusal| seconds_of(refusal.retry_after?));
        let wait = said.or(asked).unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
        let bucket = Some(bucket).filter(|_| !is_global);
        self.limits.hold(bucket, wait);
        Failure::RetryAfter(wait)
    }
}

/// The user agent that Discord requires of bots; its edge refuses others.
fn user_agent() -> String {
    let repository = match env!("CARGO_PKG_REPOSITORY") {
        "" => NO_REPOSITORY,
        repository => repository,
    };
    format!("DiscordBot ({repository}, {})", env!("CARGO_PKG_VERSION"))
}

/// Seconds as Discord gives them, and a little more, because its clock and ours differ.
fn seconds_of(seconds: f64) -> Option<Duration> {
    const MARGIN: Duration = Duration::from_millis(50);
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(wait.saturating_add(MARGIN))
}

/// The body of an error reply.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    code: u64,
    message: String,
    retry_after: Option<f64>,
    global: bool,
}

impl Refusal {
    /// `None` for a body that is not Discord's, such as a proxy's page.
    fn read(body: &str) -> Option<Self> {
        let refusal: Self = json::from_str_within(body, JSON_LEVELS_MAX).ok()?;
        Some(refusal).filter(|refusal| !refusal.message.is_empty())
    }
}

/// The failure that an error reply means. The codes are those of
/// <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>.
fn classify(status: u16, body: &str) -> Failure {
    let Some(refusal) = Refusal::read(body) else {
        return Failure::Trouble(format!(
            "Discord or a proxy is having trouble (status {status}). If this goes on, check \
             channels.discord.apiBase and channels.discord.proxy."
        ));
    };
    let said = refusal.message.replace(char::is_control, " ");
    let said = format!(
        "Discord refused the request: {}",
        ellipsize_chars(&said, SAID_CHARS)
    );
    let gone = |said: String| Failure::Gone {
        said,
        moved_to: None,
    };
    match (status, refusal.code) {
        (401, 50027) => Failure::MessageGone,
        (401, _) => Failure::Down(BAD_TOKEN.to_owned()),
        (500.., _) => Failure::Trouble(said.replace("refused the request", "is having trouble")),
        // Message; interaction: unknown, and answered before.
        (_, 10008 | 10062 | 40060) => Failure::MessageGone,
        // Not ours; too old to be edited so often.
        (_, 50005 | 30046) => Failure::MessageGone,
        // Channel, server, person: unknown.
        (_, 10003 | 10004 | 10013) => gone(said),
        (_, 50001) => gone(format!("{said} (the bot can no longer see this channel)")),
        (_, 50007) => gone(format!(
            "{said} (they must share a server with the bot and allow messages from its members)"
        )),
        (_, 50013) => Failure::Refused(format!(
            "{said} (in this channel the bot needs: View Channel, Send Messages, Send Messages in \
             Threads, Attach Files, Add Reactions, Read Message History)"
        )),
        (_, 50035) if body.contains("MAX_LENGTH") && body.contains("\"content\"") => {
            Failure::TooLong
        }
        _ => Failure::Refused(said),
    }
}

/// The text and the buttons of a message. Only the person who is replied to is notified.
fn content(post: &Post<'_>) -> Value {
    json!({
        "content": post.text,
        "components": rows(post.buttons),
        "allowed_mentions": {"parse": [], "replied_user": true},
        "flags": SUPPRESS_EMBEDS,
    })
}

/// The message that another one replies to, which may be gone.
fn reference(answered: i64) -> Value {
    json!({"message_id": answered.to_string(), "fail_if_not_exists": false})
}

/// Rows of buttons, within Discord's bounds: 5 rows of 5, and no two with the same data.
fn rows(buttons: &[Vec<Button>]) -> Vec<Value> {
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for row in buttons {
        let new = row.iter().filter(|button| {
            let is_new = !seen.contains(&button.data.as_str()) && !button.data.is_empty();
            seen.push(&button.data);
            is_new
        });
        let new: Vec<Value> = new
            .map(|button| {
                json!({
                    "type": 2, "style": 2, "custom_id": button.data,
                    "label": truncate_chars(&button.label, DISCORD_LABEL_CHARS),
                })
            })
            .collect();
        for part in new.chunks(DISCORD_ROW_BUTTONS) {
            rows.push(json!({"type": 1, "components": part}));
        }
    }
    rows.truncate(DISCORD_ROW_BUTTONS);
    rows
}

#[cfg(test)]
mod tests;
