//! Feishu's API, as far as it is used, over one connection.
//! <https://open.feishu.cn/document/server-docs/im-v1/introduction>

mod fault;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Seek;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::fault::{Fault, classify, explain_refusal};
use super::UPLOAD_BYTES;
use super::card::{self, Shape};
use super::content::{FileId, is_id};
use super::event::{Answered, PERSON, read_answered};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::channels::feishu::REPLY_BYTES;
use crate::base::limits::channels::{IDLE, LONGEST_WAIT};
use crate::base::message::Address;
use crate::base::secret::{Eraser, Secret};
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::{Failure, Post, Sent, Upload};
use crate::channels::kit::names;
use crate::config::channels::Bot;
use crate::net::http::multipart::Form;
use crate::net::http::{self, Client, Method, Response, Settings, Tls};

/// How long before its end a token is replaced. Feishu gives a new one in the last half hour.
const TOKEN_MARGIN: Duration = Duration::from_mins(5);
/// How long a token is valid when Feishu does not say so.
const TOKEN_TIME: Duration = Duration::from_mins(30);
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Bytes of a picture that is shown as one; a larger one goes as a file.
const IMAGE_BYTES: u64 = 10 * 1024 * 1024;

/// Feishu's servers.
const FEISHU: &str = "https://open.feishu.cn";
/// Those of Lark, as Feishu is called outside of China.
const LARK: &str = "https://open.larksuite.com";

/// The error for wrong credentials.
pub const BAD_CREDENTIALS: &str = "Feishu rejects the app's credentials: set channels.feishu.appId and channels.feishu.appSecret to the App ID and \
     App Secret on the page \"Credentials & Basic Info\" of your app, and channels.feishu.domain to lark if the app is at open.larksuite.com";

/// What all connections to the API share: the token, and how long Feishu asks to wait.
#[derive(Debug)]
pub struct Shared {
    watch: Stopwatch,
    token: Mutex<Option<(Secret, Duration)>>,
    held_until: Mutex<Duration>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            watch: Stopwatch::start(),
            token: Mutex::default(),
            held_until: Mutex::default(),
        }
    }
}

impl Shared {
    /// The token, while it is valid for some time.
    fn token(&self) -> Option<Secret> {
        let token = self.token.lock();
        let (token, until) = token.as_ref()?;
        (self.watch.elapsed() < *until).then(|| token.clone())
    }

    /// Keeps a new token for as long as it may be used.
    fn keep(&self, token: &Secret, time: Duration) {
        let until = self.watch.elapsed() + time.saturating_sub(TOKEN_MARGIN);
        *self.token.lock() = Some((token.clone(), until));
    }

    /// Forgets a token that was refused, unless there is another one already.
    fn forget(&self, refused: &Secret) {
        let mut token = self.token.lock();
        if token.as_ref().is_some_and(|(token, _)| token == refused) {
            *token = None;
        }
    }

    fn wait(&self) -> Duration {
        let until = *self.held_until.lock();
        until.saturating_sub(self.watch.elapsed())
    }

    fn hold(&self, wait: Duration) {
        let until = self.watch.elapsed() + wait.min(LONGEST_WAIT);
        let mut held = self.held_until.lock();
        *held = until.max(*held);
    }
}

/// Where a long connection is made.
pub struct Endpoint {
    /// The address, with a ticket in it.
    pub url: Secret,
    /// The service that pings are for.
    pub service: i32,
    /// The server's settings for clients.
    pub settings: Value,
}

/// A connection to the API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    cancel: Cancel,
    base: String,
    app_id: String,
    app_secret: Secret,
    eraser: Eraser,
    shared: Arc<Shared>,
    /// Called while the bytes of a file are moving.
    progress: Box<dyn Fn() + Send>,
}

/// The address of the API: that of the configuration, or the vendor's.
pub fn base(bot: &Bot) -> String {
    let configured = bot.api_base.trim_end_matches('/');
    match bot.text("domain") {
        "lark" if configured.is_empty() || configured == FEISHU => LARK.to_owned(),
        _ if configured.is_empty() => FEISHU.to_owned(),
        _ => configured.to_owned(),
    }
}

impl Api {
    /// Prepares calls; nothing is connected yet. `patience` is how long a reply may take to begin.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL is invalid.
    pub fn new(
        tls: &Tls,
        bot: &Bot,
        shared: &Arc<Shared>,
        patience: Duration,
        cancel: &Cancel,
    ) -> Result<Self> {
        let settings = Settings {
            proxy: bot.proxy.clone(),
            ..Settings::new(patience, IDLE)
        };
        let app_secret = bot.secret("appSecret");
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            cancel: cancel.clone(),
            base: base(bot),
            app_id: bot.text("appId").to_owned(),
            eraser: Eraser::new([app_secret.clone()]),
            app_secret,
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

    /// Who the bot is: its id and its name.
    pub fn get_me(&self) -> Sent<(String, String)> {
        let reply = self.call(Method::GET, "/bot/v3/info", None)?;
        let part = |name: &str| reply["bot"][name].as_str().unwrap_or_default().to_owned();
        Ok((part("open_id"), part("app_name")))
    }

    /// How a person is called; empty where the app may not know.
    pub fn get_name(&self, person: &str) -> Sent<String> {
        let path = format!("/contact/v3/users/{person}?user_id_type=open_id");
        let reply = self.call(Method::GET, &path, None)?;
        let name = reply["data"]["user"]["name"].as_str();
        Ok(names::clean_name(name.unwrap_or_default()))
    }

    /// A message that another one replies to.
    pub fn get_answered(&self, message: &str) -> Sent<Answered> {
        let path = format!(
            "/im/v1/messages/{message}?user_id_type=open_id&card_msg_content_type=user_card_content"
        );
        let reply = self.call(Method::GET, &path, None)?;
        Ok(read_answered(&reply["data"]["items"][0], &self.app_id))
    }

    /// Asks where to connect, which also tests the credentials.
    pub fn get_endpoint(&self) -> Sent<Endpoint> {
        let body = json!({"AppID": self.app_id, "AppSecret": self.app_secret.expose()});
        let reply = self.ask(Method::POST, "/callback/ws/endpoint", Some(&body), None);
        let reply = reply.map_err(|fault| fault.failure())?;
        let url = reply["data"]["URL"].as_str().unwrap_or_default();
        let is_plain = self.base.starts_with("http://") && url.starts_with("ws://");
        if !url.starts_with("wss://") && !is_plain {
            let why = "Feishu names no address for the long connection";
            return Err(Failure::Trouble(why.to_owned()));
        }
        let service = query_value(url, "service_id").parse().unwrap_or_default();
        Ok(Endpoint {
            url: Secret::new(url),
            service,
            settings: reply["data"]["ClientConfig"].clone(),
        })
    }

    /// Sends a message; returns its id.
    pub fn create_message(&self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let card = card::card(to, post);
        let sent = self.create(to, ("interactive", &card), post.reply_to, post.key);
        match sent {
            // A plain card is the fallback of a marked one, and text that of both.
            Err(Failure::Markup(said)) if !post.is_marked => {
                tracing::warn!(chat = %to, "sent as text, because Feishu rejects the card: {said}");
                let text = json!({"text": post.text.replace("<at", "<\u{200b}at")});
                self.create(to, ("text", &text.to_string()), post.reply_to, post.key)
            }
            sent => sent,
        }
    }

    /// Sends a message of a kind: as a reply, into a thread, or to a chat.
    fn create(
        &self,
        to: &Address,
        (kind, content): (&str, &str),
        reply_to: Option<&str>,
        key: Option<u64>,
    ) -> Sent<String> {
        let mut body = json!({"msg_type": kind, "content": content});
        if let Some(key) = key {
            // With this a message that is sent again within an hour is not shown twice.
            body["uuid"] = json!(format!("peacrab-{key:016x}"));
        }
        let target = to.thread.as_deref().or(reply_to);
        let Some(target) = target else {
            return self.create_in_chat(to, body);
        };
        // A quote within a thread would be lost; a reply to its first message is in it.
        let target = reply_to.unwrap_or(target);
        let is_in_thread = to.thread.is_some();
        body["reply_in_thread"] = json!(is_in_thread);
        let path = format!("/im/v1/messages/{}/reply", id(target)?);
        match self.call(Method::POST, &path, Some(&body)) {
            // The message that the thread began with is gone, and so is the thread.
            Err(Failure::MessageGone) if is_in_thread && reply_to.is_none() => {
                if let Some(body) = body.as_object_mut() {
                    body.remove("reply_in_thread");
                }
                self.create_in_chat(to, body)
            }
            reply => Ok(message_id(&reply?)),
        }
    }

    fn create_in_chat(&self, to: &Address, mut body: Value) -> Sent<String> {
        let kind = if to.chat.starts_with(PERSON) {
            "open_id"
        } else {
            "chat_id"
        };
        body["receive_id"] = json!(to.chat);
        let path = format!("/im/v1/messages?receive_id_type={kind}");
        self.call(Method::POST, &path, Some(&body))
            .map(|reply| message_id(&reply))
    }

    /// Replaces the text and the buttons of one of the bot's messages.
    pub fn edit_message(&self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        let path = format!("/im/v1/messages/{}", id(message)?);
        let body = json!({"content": card::card(to, post)});
        self.call(Method::PATCH, &path, Some(&body)).map(drop)
    }

    /// Withdraws a message.
    pub fn delete_message(&self, message: &str) -> Sent {
        let path = format!("/im/v1/messages/{}", id(message)?);
        self.call(Method::DELETE, &path, None).map(drop)
    }

    /// Adds a reaction.
    pub fn react(&self, message: &str, emoji: &str) -> Sent {
        let path = format!("/im/v1/messages/{}/reactions", id(message)?);
        let body = json!({"reaction_type": {"emoji_type": card::reaction(emoji)}});
        self.call(Method::POST, &path, Some(&body)).map(drop)
    }

    /// Sends a file.
    pub fn upload(&self, to: &Address, upload: &Upload<'_>) -> Sent {
        let length = upload
            .file
            .metadata()
            .map_err(Error::io("read", upload.name));
        let length = length.map_err(Failure::Local)?.len();
        if length > UPLOAD_BYTES {
            return Err(Failure::Local(Error::TooLarge {
                what: upload.name.to_owned(),
                limit: UPLOAD_BYTES as usize,
            }));
        }
        if length == 0 {
            return Err(Failure::Refused("Feishu takes no empty files".to_owned()));
        }
        let mut shape = match upload.voice {
            Some(_) => Shape::File("opus", "audio"),
            None => card::shape(upload.name),
        };
        if shape == Shape::Image && length > IMAGE_BYTES {
            shape = Shape::File("stream", "file");
        }
        let uploaded = match (shape, self.put_file(upload, length, shape)) {
            // It has the name of a picture, and is none that Feishu knows.
            (Shape::Image, Err(Failure::Refused(_))) => {
                shape = Shape::File("stream", "file");
                self.put_file(upload, length, shape)
            }
            (_, uploaded) => uploaded,
        };
        let key = uploaded?;
        let (kind, content) = match shape {
            Shape::Image => ("image", json!({"image_key": key})),
            Shape::File(_, kind) => (kind, json!({"file_key": key})),
        };
        self.create(to, (kind, &content.to_string()), None, upload.key)
            .map(drop)
    }

    /// Uploads a file; returns its key.
    fn put_file(&self, upload: &Upload<'_>, length: u64, shape: Shape) -> Sent<String> {
        let name = names::clean_file_name(upload.name);
        let (path, key, form) = match shape {
            Shape::Image => {
                let fields = [("image_type", json!("message"))];
                (
                    "/im/v1/images",
                    "image_key",
                    Form::new(&fields, "image", &name),
                )
            }
            Shape::File(file_type, _) => {
                let fields = [
                    ("file_type", json!(file_type)),
                    ("file_name", json!(name)),
                    (
                        "duration",
                        json!(upload.voice.map(|seconds| seconds * 1000)),
                    ),
                ];
                (
                    "/im/v1/files",
                    "file_key",
                    Form::new(&fields, "file", &name),
                )
            }
        };
        let reply = self.with_token(|token| {
            let mut file = upload.file;
            file.rewind().map_err(Error::io("read", upload.name))?;
            let authorization = format!("Bearer {}", token.expose());
            let headers = [
                ("authorization", authorization.as_str()),
                ("content-type", form.content_type.as_str()),
            ];
            let mut body = form.reader(file, length);
            let progress = |_| (self.progress)();
            let upload = http::Upload::new(&mut body, form.length(length)).with_progress(&progress);
            let url = format!("{}/open-apis{path}", self.base);
            let response = self.client.post_reader(&url, &headers, upload);
            let response = response.map_err(|error| self.fault(error))?;
            self.read(response)
        })?;
        let key = reply["data"][key].as_str().unwrap_or_default();
        match key {
            "" => Err(Failure::Trouble(
                "Feishu gives no key for the file".to_owned(),
            )),
            key => Ok(key.to_owned()),
        }
    }

    /// Downloads a file of a message, of at most `limit` bytes.
    pub fn download(&self, file: FileId<'_>, into: &mut File, limit: usize) -> Sent {
        let FileId { message, kind, key } = file;
        let url = format!(
            "{}/open-apis/im/v1/messages/{message}/resources/{key}?type={kind}",
            self.base
        );
        self.with_token(|token| {
            let authorization = format!("Bearer {}", token.expose());
            let headers = [("authorization", authorization.as_str())];
            let response = self.client.get(&url, &headers);
            let response = response.map_err(|error| self.fault(error))?;
            let done = response.download(into, limit, &|_| (self.progress)());
            done.map_err(|error| self.fault(error))?;
            Ok(Value::Null)
        })
        .map(drop)
    }

    /// Makes a call below `/open-apis` and reads its reply.
    fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Sent<Value> {
        let path = format!("/open-apis{path}");
        self.with_token(|token| self.ask(method.clone(), &path, body, Some(token)))
    }

    /// Makes a call with the token; once more with a new one when it is refused.
    fn with_token(
        &self,
        mut call: impl FnMut(&Secret) -> std::result::Result<Value, Fault>,
    ) -> Sent<Value> {
        let wait = self.shared.wait();
        if wait > SHORT_WAIT {
            return Err(Failure::RetryAfter(wait));
        }
        if !wait.is_zero() && self.cancel.wait(wait) {
            return Err(Failure::Stopped);
        }
        let token = self.token()?;
        let fault = match call(&token) {
            Err(Fault::Token(_)) => {
                self.shared.forget(&token);
                let token = self.token()?;
                call(&token)
            }
            outcome => outcome,
        };
        fault.map_err(|fault| {
            if let Fault::Held(wait) = fault {
                self.shared.hold(wait);
            }
            fault.failure()
        })
    }

    /// The token, or a new one. Feishu gives the same one to all who ask at about the same time.
    fn token(&self) -> Sent<Secret> {
        if let Some(token) = self.shared.token() {
            return Ok(token);
        }
        let body = json!({"app_id": self.app_id, "app_secret": self.app_secret.expose()});
        let path = "/open-apis/auth/v3/tenant_access_token/internal";
        let reply = self.ask(Method::POST, path, Some(&body), None);
        let reply = reply.map_err(|fault| fault.failure())?;
        let token = Secret::new(reply["tenant_access_token"].as_str().unwrap_or_default());
        if token.is_empty() {
            return Err(Failure::Trouble("Feishu gives no token".to_owned()));
        }
        let time = json::to_number(&reply["expire"]).map(Duration::from_secs);
        self.shared.keep(&token, time.unwrap_or(TOKEN_TIME));
        Ok(token)
    }

    /// Makes one request.
    fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        token: Option<&Secret>,
    ) -> std::result::Result<Value, Fault> {
        let authorization = token.map(|token| format!("Bearer {}", token.expose()));
        let mut headers = vec![("content-type", "application/json; charset=utf-8")];
        if let Some(authorization) = &authorization {
            headers.push(("authorization", authorization));
        }
        let body = body.map(Value::to_string);
        let url = format!("{}{path}", self.base);
        let response = self
            .client
            .ask(method, &url, &headers, body.as_ref().map(String::as_bytes))
            .map_err(|error| self.fault(error))?;
        self.read(response)
    }

    /// Reads a reply, whose code says whether the call was carried out.
    fn read(&self, response: Response) -> std::result::Result<Value, Fault> {
        let status = response.status();
        let reset = response.header("x-ogw-ratelimit-reset");
        let reset = reset.and_then(|seconds| seconds.trim().parse().ok());
        let reset = reset.map(Duration::from_secs);
        let body = response.read_to_end(REPLY_BYTES);
        let body = body.map_err(|error| self.fault(error))?;
        let text = String::from_utf8_lossy(&body);
        match json::from_str::<Value>(&text) {
            Ok(reply) if reply["code"] == 0 && status < 400 => Ok(reply),
            Ok(reply) => Err(self.clean(&reply, status, reset)),
            Err(_) => Err(Fault::Failed(explain_refusal(status))),
        }
    }

    fn clean(&self, reply: &Value, status: u16, reset: Option<Duration>) -> Fault {
        let said = reply["msg"].as_str().unwrap_or_default();
        let said = self.eraser.clean(said);
        classify(status, reply["code"].as_i64(), &said, reset)
    }

    /// The fault that an error means.
    fn fault(&self, error: Error) -> Fault {
        let failure = match error {
            Error::Status {
                status,
                retry_after,
                body,
                ..
            } => {
                return match json::from_str::<Value>(&body) {
                    Ok(reply) => self.clean(&reply, status, retry_after),
                    Err(_) => Fault::Failed(explain_refusal(status)),
                };
            }
            error @ Error::Network { .. } => Failure::Down(error.to_string()),
            error @ Error::Timeout { .. } => Failure::Trouble(error.to_string()),
            Error::Stopped => Failure::Stopped,
            error => Failure::Local(error),
        };
        Fault::Failed(failure)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

/// An id that becomes a part of a path.
fn id(text: &str) -> Sent<&str> {
    is_id(text).then_some(text).ok_or(Failure::MessageGone)
}

fn message_id(reply: &Value) -> String {
    let id = reply["data"]["message_id"].as_str();
    id.unwrap_or_default().to_owned()
}

/// A value of a URL's query.
fn query_value<'a>(url: &'a str, name: &str) -> &'a str {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .map_or("", |(_, value)| value)
}
