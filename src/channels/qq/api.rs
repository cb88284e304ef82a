//! QQ's REST API, as far as it is used, over one connection.
//! <https://bot.q.qq.com/wiki/develop/api-v2/server-inter/message/send-receive/send.html>

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::UPLOAD_BYTES;
use super::fault::{self, Fault};
use super::place::Place;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::channels::{IDLE, JSON_LEVELS_MAX};
use crate::base::limits::http::BODY_BYTES;
use crate::base::secret::{Eraser, Secret};
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::{Failure, Sent, Upload};
use crate::channels::kit::names;
use crate::config::schema::Bot;
use crate::net::http::address::percent_encode;
use crate::net::http::multipart::Form;
use crate::net::http::{self, Client, Method, Response, Settings, Tls, address};

/// Bytes of an access token; QQ's have about 100.
const TOKEN_BYTES: usize = 1024;
/// How long before its end an access token is replaced: QQ gives a new one in the last minute.
const TOKEN_MARGIN: Duration = Duration::from_secs(45);
/// The longest and the shortest time that an access token is used; QQ's live two hours.
const TOKEN_TIMES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_hours(2));

/// QQ's own servers, and those for bots that are not published.
const API: &str = "https://api.sgroup.qq.com";
const SANDBOX: &str = "https://sandbox.api.sgroup.qq.com";

/// Where files of messages are. Their URLs work for everyone, so no token is sent there.
const FILE_HOSTS: [&str; 5] = [
    ".qq.com.cn",
    ".qq.com",
    ".qpic.cn",
    ".myqcloud.com",
    ".gtimg.cn",
];

/// The access token that all connections use.
pub struct Tokens {
    watch: Stopwatch,
    /// The token, and until when it is used.
    now: Mutex<Option<(Secret, Duration)>>,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            watch: Stopwatch::start(),
            now: Mutex::default(),
        }
    }
}

impl Tokens {
    fn get(&self) -> Option<Secret> {
        let now = self.now.lock();
        let (token, until) = now.as_ref()?;
        (self.watch.elapsed() < *until).then(|| token.clone())
    }

    fn set(&self, token: &Secret, time: Duration) {
        *self.now.lock() = Some((token.clone(), self.watch.elapsed() + time));
    }

    /// QQ does not take it any more.
    pub fn forget(&self) {
        *self.now.lock() = None;
    }
}

/// A connection to the API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    base: String,
    token_url: String,
    app: String,
    secret: Secret,
    tokens: Arc<Tokens>,
    /// Called while the bytes of a file are moving.
    progress: Box<dyn Fn() + Send>,
}

/// What a message has besides the place that it goes to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// The message that it replies to.
    pub reply_to: Option<&'a str>,
    /// Tells the replies to one message apart; a repeated one is refused.
    pub sequence: u64,
}

impl Api {
    /// Prepares calls; nothing is connected yet. `patience` is how long a reply may take to begin.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL is invalid.
    pub fn new(
        bot: &Bot,
        tls: &Tls,
        tokens: &Arc<Tokens>,
        patience: Duration,
        cancel: &Cancel,
    ) -> Result<Self> {
        let settings = Settings {
            proxy: bot.proxy.clone(),
            ..Settings::new(patience, IDLE)
        };
        let usual = if bot.flag("sandbox") { SANDBOX } else { API };
        let base = match bot.api_base.as_str() {
            "" => usual,
            base => base,
        };
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            base: base.trim_end_matches('/').to_owned(),
            token_url: bot.text("tokenUrl").to_owned(),
            app: bot.text("appId").to_owned(),
            secret: bot.secret("secret"),
            tokens: Arc::clone(tokens),
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

    /// The access token, a new one if the last one is about to end.
    pub fn token(&self) -> Sent<Secret> {
        if let Some(token) = self.tokens.get() {
            return Ok(token);
        }
        let body = json!({"appId": self.app, "clientSecret": self.secret.expose()}).to_string();
        let headers = [("content-type", "application/json")];
        let reply = self
            .client
            .send(Method::POST, &self.token_url, &headers, body.as_bytes())
            .and_then(|response| response.read_to_end(BODY_BYTES));
        let reply = read(&reply.map_err(|error| self.explain(error).into_failure())?)?;
        // A wrong secret is refused with the status 200. Numbers are strings here.
        let token = reply["access_token"].as_str().unwrap_or_default();
        if token.is_empty() || token.len() > TOKEN_BYTES {
            return Err(fault::no_token(&reply));
        }
        let seconds = &reply["expires_in"];
        let seconds = seconds.as_u64().or_else(|| seconds.as_str()?.parse().ok());
        let (least, most) = TOKEN_TIMES;
        let time = Duration::from_secs(seconds.unwrap_or_default());
        let token = Secret::new(token);
        self.tokens
            .set(&token, time.saturating_sub(TOKEN_MARGIN).clamp(least, most));
        Ok(token)
    }

    /// The bot's id and its name.
    pub fn me(&self) -> Sent<(String, String)> {
        let me = self.call(Method::GET, "/users/@me", &Value::Null)?;
        let text = |name: &str| me[name].as_str().unwrap_or_default().to_owned();
        Ok((text("id"), text("username")))
    }

    /// Where the gateway is.
    pub fn gateway(&self) -> Sent<String> {
        let gateway = self.call(Method::GET, "/gateway", &Value::Null)?;
        let url = gateway["url"].as_str();
        let url = url.filter(|url| url.starts_with("wss://") || url.starts_with("ws://"));
        let missing = || Failure::Trouble("QQ does not say where its gateway is".to_owned());
        url.map(str::to_owned).ok_or_else(missing)
    }

    /// Sends a message; returns its id, which is empty where QQ looks at it first, and the index by which answers to it
    /// name it, where there is one.
    pub fn send(
        &self,
        to: Place<'_>,
        mut body: Value,
        extras: Extras<'_>,
    ) -> Result<(String, String), Fault> {
        extras.add_to(&mut body, to);
        let path = format!("{}/messages", to.path());
        let sent = self.ask(Method::POST, &path, &body)?;
        let [id, index] = [&sent["id"], &sent["ext_info"]["ref_idx"]].map(json::to_text);
        Ok((id.unwrap_or_default(), index.unwrap_or_default()))
    }

    /// Takes back one of the bot's messages.
    pub fn delete(&self, to: Place<'_>, message: &str) -> Sent {
        let path = format!("{}/messages/{}", to.path(), percent_encode(message));
        self.call(Method::DELETE, &path, &Value::Null).map(drop)
    }

    /// Acknowledges a press of a button.
    pub fn acknowledge(&self, press: &str) -> Sent {
        let path = format!("/interactions/{press}");
        self.call(Method::PUT, &path, &json!({"code": 0})).map(drop)
    }

    /// Hands a file over, for one person or group; returns what a message refers to it by.
    pub fn hand_over(&self, to: Place<'_>, upload: &Upload<'_>) -> Result<String, Fault> {
        let length = length(upload).map_err(Fault::Failed)?;
        let name = names::clean_file_name(upload.name);
        let kind = match ending(&name).as_str() {
            "png" | "jpg" | "jpeg" => 1,
            "mp4" => 2,
            "silk" => 3,
            _ => 4,
        };
        let head = json!({"file_type": kind, "srv_send_msg": false, "file_name": name}).to_string();
        let head = head.trim_end_matches('}').to_owned() + ",\"file_data\":\"";
        let tail = "\"}";
        let size = head.len() as u64 + length.div_ceil(3) * 4 + tail.len() as u64;
        let path = format!("{}/files", to.path());
        let body = || {
            let encoded = Encoded::new(upload.file.take(length));
            Cursor::new(head.clone())
                .chain(encoded)
                .chain(tail.as_bytes())
        };
        let reply = self.transfer(&path, "application/json", &mut body(), size)?;
        let info = reply["file_info"].as_str().unwrap_or_default();
        match info {
            "" => {
                let why = "QQ did not take the file".to_owned();
                Err(Fault::Failed(Failure::Trouble(why)))
            }
            info => Ok(info.to_owned()),
        }
    }

    /// Sends a picture to a guild, which takes no other files.
    pub fn send_picture(
        &self,
        to: Place<'_>,
        upload: &Upload<'_>,
        extras: Extras<'_>,
    ) -> Result<String, Fault> {
        let length = length(upload).map_err(Fault::Failed)?;
        let name = names::clean_file_name(upload.name);
        if !["png", "jpg", "jpeg", "gif"].contains(&ending(&name).as_str()) {
            let why = "a guild of QQ takes only pictures".to_owned();
            return Err(Fault::Failed(Failure::Refused(why)));
        }
        let reply_to = extras.reply_to.map_or(Value::Null, Value::from);
        let form = Form::new(&[("msg_id", reply_to)], "file_image", &name);
        let path = format!("{}/messages", to.path());
        let size = form.length(length);
        let mut body = form.reader(upload.file, length);
        let sent = self.transfer(&path, &form.content_type, &mut body, size)?;
        Ok(json::to_text(&sent["id"]).unwrap_or_default())
    }

    /// Downloads a file of a message, of at most `limit` bytes.
    pub fn download(&self, url: &str, into: &mut File, limit: usize) -> Sent {
        if !self.has_files(url) {
            return Err(Failure::Refused("its URL is not one of QQ's".to_owned()));
        }
        let response = self.client.get(url, &[]);
        let response = response.map_err(|error| {
            let known = match &error {
                Error::Status { status, .. } => Failure::of_file(*status),
                _ => None,
            };
            known.unwrap_or_else(|| self.explain(error).into_failure())
        })?;
        let downloaded = response.download(into, limit, &|_| (self.progress)());
        downloaded
            .map(drop)
            .map_err(|error| self.explain(error).into_failure())
    }

    fn has_files(&self, url: &str) -> bool {
        let Some(origin) = address::origin(url) else {
            return false;
        };
        let is_qqs = FILE_HOSTS.iter().any(|end| origin.ends_with(end));
        is_qqs && origin.starts_with("https://") || address::is_same_origin(url, &self.base)
    }

    fn call(&self, method: Method, path: &str, body: &Value) -> Sent<Value> {
        self.ask(method, path, body).map_err(Fault::into_failure)
    }

    /// Makes a call, and once more with a new token if QQ does not take the present one.
    fn ask(&self, method: Method, path: &str, body: &Value) -> Result<Value, Fault> {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let send = |headers: &[(&str, &str)]| {
            let url = format!("{}{path}", self.base);
            self.client
                .send(method.clone(), &url, headers, body.as_bytes())
        };
        match self.with_token("application/json", send) {
            Err(Fault::Token) => {
                self.tokens.forget();
                self.with_token("application/json", send)
            }
            outcome => outcome,
        }
    }

    /// Posts what is read. It is not repeated with another token: the delivery does that.
    fn transfer(
        &self,
        path: &str,
        content_type: &str,
        body: &mut dyn Read,
        size: u64,
    ) -> Result<Value, Fault> {
        let outcome = self.with_token(content_type, |headers| {
            let progress = |_| (self.progress)();
            let mut body = body;
            let upload = http::Upload::new(&mut body, size).with_progress(&progress);
            let url = format!("{}{path}", self.base);
            self.client.post_reader(&url, headers, upload)
        });
        if matches!(outcome, Err(Fault::Token)) {
            self.tokens.forget();
        }
        outcome
    }

    /// The one place where the token is written into a request.
    fn with_token(
        &self,
        content_type: &str,
        send: impl FnOnce(&[(&str, &str)]) -> Result<Response>,
    ) -> Result<Value, Fault> {
        let token = self.token().map_err(Fault::Failed)?;
        let authorization = format!("QQBot {}", token.expose());
        let headers = [
            ("authorization", authorization.as_str()),
            ("x-union-appid", &self.app),
            // QQ takes no other form of it, such as one with a character set.
            ("content-type", content_type),
        ];
        let reply = send(&headers).and_then(|response| response.read_to_end(BODY_BYTES));
        let reply = reply.map_err(|error| self.explain(error))?;
        if reply.is_empty() {
            return Ok(Value::Null);
        }
        let reply = read(&reply).map_err(Fault::Failed)?;
        // What QQ looks at first, and some errors, have a status that says success.
        match json::to_number(&reply["code"]) {
            Some(code) if code != 0 => Err(fault::classify(400, &reply.to_string(), None)),
            _ => Ok(reply),
        }
    }

    /// What an error means, without secrets, which a proxy's page may have repeated.
    fn explain(&self, error: Error) -> Fault {
        match error {
            Error::Status {
                status,
                retry_after,
                body,
                ..
            } => {
                let secrets = [Some(self.secret.clone()), self.tokens.get()];
                let eraser = Eraser::new(secrets.into_iter().flatten());
                fault::classify(status, &eraser.clean(&body), retry_after)
            }
            error @ Error::Network { .. } => Fault::Failed(Failure::Down(error.to_string())),
            error @ Error::Timeout { .. } => Fault::Failed(Failure::Trouble(error.to_string())),
            Error::Stopped => Fault::Failed(Failure::Stopped),
            error => Fault::Failed(Failure::Local(error)),
        }
    }
}

impl Extras<'_> {
    fn add_to(self, body: &mut Value, to: Place<'_>) {
        if let Some(id) = self.reply_to {
            body["msg_id"] = json!(id);
        }
        if to.is_numbered() {
            body["msg_seq"] = json!(self.sequence);
        }
    }
}

fn read(reply: &[u8]) -> Sent<Value> {
    json::from_str_within(&String::from_utf8_lossy(reply), JSON_LEVELS_MAX).map_err(|error| {
        Failure::Trouble(format!(
            "unexpected reply from QQ (byte {})",
            error.column()
        ))
    })
}

fn length(upload: &Upload<'_>) -> Sent<u64> {
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
    Ok(length)
}

fn ending(name: &str) -> String {
    name.rsplit('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
}

/// Bytes as base64 while they are read, so that a file is never in memory as a whole.
struct Encoded<R> {
    from: R,
    /// What is encoded and not read yet.
    ready: Vec<u8>,
    place: usize,
}

impl<R: Read> Encoded<R> {
    /// Bytes that are encoded at a time: a multiple of three.
    const BLOCK: usize = 3 * 1024;

    fn new(from: R) -> Self {
        Self {
            from,
            ready: Vec::new(),
            place: 0,
        }
    }
}

impl<R: Read> Read for Encoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.place >= self.ready.len() {
            let mut block = Vec::with_capacity(Self::BLOCK);
            (&mut self.from)
                .take(Self::BLOCK as u64)
                .read_to_end(&mut block)?;
            self.ready = BASE64_STANDARD.encode(&block).into_bytes();
            self.place = 0;
        }
        let rest = self.ready.get(self.place..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.place += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_encoded_while_it_is_read() {
        for length in [0, 1, 2, 3, 3071, 3072, 3073, 10_000] {
            let bytes: Vec<u8> = (0..length).map(|at: u32| (at % 251) as u8).collect();
            let mut text = String::new();
            Encoded::new(bytes.as_slice())
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, BASE64_STANDARD.encode(&bytes));
            assert_eq!(text.len() as u32, length.div_ceil(3) * 4);
        }
    }

    #[test]
    fn ids_with_odd_characters_stay_one_part_of_a_path() {
        assert_eq!(percent_encode("ROBOT1.0_a-b!/.."), "ROBOT1.0_a-b%21%2F..");
    }
}
