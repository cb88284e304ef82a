//! DingTalk's API, as far as it is used, over one connection.
//! <https://open.dingtalk.com/document/orgapp/api-overview>

use std::fs::File;
use std::io::Seek;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::UPLOAD_BYTES;
use super::fault::{Fault, classify, explain_refusal};
use super::markdown::title;
use super::place::Place;
use super::session::MESSAGES;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::channels::dingtalk::REPLY_BYTES;
use crate::base::limits::channels::{IDLE, JSON_LEVELS_MAX, LONGEST_WAIT};
use crate::base::secret::{Eraser, Secret};
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::{Failure, Post, Sent, Upload};
use crate::channels::kit::names;
use crate::config::schema::Bot;
use crate::net::http::address::percent_encode;
use crate::net::http::multipart::Form;
use crate::net::http::{self, Client, Method, Response, Settings, Tls, address};

/// Bytes of a picture that is shown as one; a larger one goes as a file.
const IMAGE_BYTES: u64 = 10 * 1024 * 1024;
/// Wait after too many messages to one chat: DingTalk counts them by the minute.
const CHAT_WAIT: Duration = Duration::from_secs(20);
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Bytes of an access token, a ticket or an endpoint; DingTalk's have about 100.
const TOKEN_BYTES: usize = 1024;
/// How long before its end an access token is replaced, as DingTalk's own libraries do.
const TOKEN_MARGIN: Duration = Duration::from_mins(5);
/// The shortest and the longest time that an access token is used; DingTalk's live two hours.
const TOKEN_TIMES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_hours(2));

/// Where DingTalk keeps files: its own hosts, and those of the cloud that it runs in.
const FILE_HOSTS: [&str; 3] = [".dingtalk.com", ".aliyuncs.com", ".alicdn.com"];

/// What all connections to the API share: the token, and how long DingTalk asks to wait.
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
        let (least, most) = TOKEN_TIMES;
        let time = time.saturating_sub(TOKEN_MARGIN).clamp(least, most);
        *self.token.lock() = Some((token.clone(), self.watch.elapsed() + time));
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

/// A connection to the API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    cancel: Cancel,
    base: String,
    old_base: String,
    client_id: String,
    client_secret: Secret,
    robot: String,
    shared: Arc<Shared>,
    /// Called while the bytes of a file are moving.
    progress: Box<dyn Fn() + Send>,
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
        let client_id = bot.text("clientId").to_owned();
        let robot = match bot.text("robotCode") {
            "" => client_id.clone(),
            robot => robot.to_owned(),
        };
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            cancel: cancel.clone(),
            base: bot.api_base.trim_end_matches('/').to_owned(),
            old_base: bot.text("oapiBase").trim_end_matches('/').to_owned(),
            client_id,
            client_secret: bot.secret("clientSecret"),
            robot,
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

    /// Tries the credentials, for what goes out and for what comes in; returns the robot's code, since DingTalk does
    /// not say how it is called.
    pub fn identify(&self) -> Sent<String> {
        self.token()?;
        self.open_stream()?;
        Ok(self.robot.clone())
    }

    /// Asks for a connection to the stream; returns its address with a ticket, which is valid once and for 90 seconds.
    pub fn open_stream(&self) -> Sent<Secret> {
        let body = json!({
            "clientId": self.client_id,
            "clientSecret": self.client_secret.expose(),
            "subscriptions": [{"type": "CALLBACK", "topic": MESSAGES}],
            "ua": concat!("peacrab/", env!("CARGO_PKG_VERSION")),
        });
        let reply = self.ask("/v1.0/gateway/connections/open", &body, None);
        let reply = reply.map_err(Fault::failure)?;
        let part = |name: &str| {
            let text = reply[name].as_str().unwrap_or_default();
            Some(text).filter(|text| (1..=TOKEN_BYTES).contains(&text.len()))
        };
        let endpoint = part("endpoint").filter(|url| self.is_endpoint(url));
        let (Some(endpoint), Some(ticket)) = (endpoint, part("ticket")) else {
            let why = "DingTalk names no address for the stream";
            return Err(Failure::Trouble(why.to_owned()));
        };
        let mark = if endpoint.contains('?') { '&' } else { '?' };
        let url = format!("{endpoint}{mark}ticket={}", percent_encode(ticket));
        Ok(Secret::new(&url))
    }

    fn is_endpoint(&self, url: &str) -> bool {
        let is_plain = self.base.starts_with("http://") && url.starts_with("ws://");
        url.starts_with("wss://") || is_plain
    }

    /// Sends a message; returns its id.
    pub fn send(&self, to: &Place, post: &Post<'_>) -> Sent<String> {
        if post.is_marked {
            let param = json!({"title": title(post.text), "text": post.text});
            self.deliver(to, "sampleMarkdown", &param)
        } else {
            self.deliver(to, "sampleText", &json!({"content": post.text}))
        }
    }

    /// Sends a message of a kind.
    fn deliver(&self, to: &Place, kind: &str, param: &Value) -> Sent<String> {
        let mut body = json!({
            "robotCode": self.robot,
            "msgKey": kind,
            // JSON within the JSON.
            "msgParam": param.to_string(),
        });
        let path = match to {
            Place::Person(id) => {
                body["userIds"] = json!([id]);
                "/v1.0/robot/oToMessages/batchSend"
            }
            Place::Group(id) => {
                body["openConversationId"] = json!(id);
                "/v1.0/robot/groupMessages/send"
            }
        };
        let reply = self.call(path, &body)?;
        // Whom it did not reach is in the reply of a success.
        let has_people = |list: &str| reply[list].as_array().is_some_and(|list| !list.is_empty());
        if has_people("flowControlledStaffIdList") {
            return Err(Failure::RetryAfter(CHAT_WAIT));
        }
        if has_people("invalidStaffIdList") {
            return Err(Failure::Gone {
                said: "DingTalk does not know the person, or the robot is not available to them"
                    .to_owned(),
                moved_to: None,
            });
        }
        let id = reply["processQueryKey"].as_str();
        Ok(id.unwrap_or_default().to_owned())
    }

    /// Sends a file: a picture as one, unless DingTalk does not take it so.
    pub fn upload(&self, to: &Place, upload: &Upload<'_>) -> Sent {
        let length = upload.file.metadata();
        let length = length.map_err(Error::io("read", upload.name));
        let length = length.map_err(Failure::Local)?.len();
        if length > UPLOAD_BYTES {
            return Err(Failure::Local(Error::TooLarge {
                what: upload.name.to_owned(),
                limit: UPLOAD_BYTES as usize,
            }));
        }
        if length == 0 {
            return Err(Failure::Refused("DingTalk takes no empty files".to_owned()));
        }
        let name = file_name(upload.name);
        let ending = ending(&name);
        let is_picture = ["png", "jpg", "jpeg", "gif", "bmp"].contains(&ending.as_str());
        if is_picture && length <= IMAGE_BYTES {
            match self.put_file(upload, length, "image", &name) {
                Ok(id) => {
                    let sent = self.deliver(to, "sampleImageMsg", &json!({"photoURL": id}));
                    return sent.map(drop);
                }
                // It has the name of a picture, and is none that DingTalk knows.
                Err(Failure::Refused(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        let id = self.put_file(upload, length, "file", &name)?;
        let param = json!({"mediaId": id, "fileName": name, "fileType": ending});
        self.deliver(to, "sampleFile", &param).map(drop)
    }

    /// Uploads a file; returns its id.
    fn put_file(&self, upload: &Upload<'_>, length: u64, kind: &str, name: &str) -> Sent<String> {
        let form = Form::new(&[("type", json!(kind))], "media", name);
        let reply = self.with_token(|token| {
            let mut file = upload.file;
            file.rewind().map_err(Error::io("read", upload.name))?;
            let headers = [("content-type", form.content_type.as_str())];
            let mut body = form.reader(file, length);
            let progress = |_| (self.progress)();
            let upload = http::Upload::new(&mut body, form.length(length)).with_progress(&progress);
            let token = percent_encode(token.expose());
            let url = format!("{}/media/upload?access_token={token}", self.old_base);
            let response = self.client.post_reader(&url, &headers, upload);
            self.read(response.map_err(|error| self.fault(error))?)
        })?;
        match reply["media_id"].as_str().unwrap_or_default() {
            "" => Err(Failure::Trouble(
                "DingTalk gives no id for the file".to_owned(),
            )),
            id => Ok(id.to_owned()),
        }
    }

    /// Downloads a file of a message, of at most `limit` bytes.
    pub fn download(&self, code: &str, into: &mut File, limit: usize) -> Sent {
        let body = json!({"downloadCode": code, "robotCode": self.robot});
        let reply = self.call("/v1.0/robot/messageFiles/download", &body)?;
        let url = reply["downloadUrl"].as_str().unwrap_or_default();
        let unknown = || Failure::Refused("its URL is not one of DingTalk's".to_owned());
        let url = self.file_url(url).ok_or_else(unknown)?;
        let response = self.client.get(&url, &[]).map_err(|error| {
            // The URL is valid for some minutes, and the file for some days.
            let known = match &error {
                Error::Status { status, .. } => Failure::of_file(*status),
                _ => None,
            };
            known.unwrap_or_else(|| self.fault(error).failure())
        })?;
        let done = response.download(into, limit, &|_| (self.progress)());
        done.map(drop).map_err(|error| self.fault(error).failure())
    }

    /// The URL of a file, always with TLS; `None` if it is not one of DingTalk's.
    fn file_url(&self, url: &str) -> Option<String> {
        if address::is_same_origin(url, &self.base) {
            return Some(url.to_owned());
        }
        let url = match url.strip_prefix("http://") {
            Some(rest) => format!("https://{rest}"),
            None => url.to_owned(),
        };
        let origin = address::origin(&url)?;
        let is_theirs = FILE_HOSTS.iter().any(|host| origin.ends_with(host));
        (is_theirs && origin.starts_with("https://")).then_some(url)
    }

    /// Makes a call and reads its reply.
    fn call(&self, path: &str, body: &Value) -> Sent<Value> {
        self.with_token(|token| self.ask(path, body, Some(token)))
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
        let outcome = match call(&token) {
            Err(Fault::Token(_)) => {
                self.shared.forget(&token);
                let token = self.token()?;
                call(&token)
            }
            outcome => outcome,
        };
        outcome.map_err(|fault| {
            if let Fault::Held(wait) = fault {
                self.shared.hold(wait);
            }
            fault.failure()
        })
    }

    /// The token, or a new one.
    fn token(&self) -> Sent<Secret> {
        if let Some(token) = self.shared.token() {
            return Ok(token);
        }
        let body = json!({"appKey": self.client_id, "appSecret": self.client_secret.expose()});
        let reply = self.ask("/v1.0/oauth2/accessToken", &body, None);
        let reply = reply.map_err(Fault::failure)?;
        let token = reply["accessToken"].as_str().unwrap_or_default();
        if token.is_empty() || token.len() > TOKEN_BYTES {
            return Err(Failure::Trouble("DingTalk gives no token".to_owned()));
        }
        let token = Secret::new(token);
        let time = json::to_number(&reply["expireIn"]).unwrap_or_default();
        self.shared.keep(&token, Duration::from_secs(time));
        Ok(token)
    }

    /// Makes one request.
    fn ask(
        &self,
        path: &str,
        body: &Value,
        token: Option<&Secret>,
    ) -> std::result::Result<Value, Fault> {
        let mut headers = vec![("content-type", "application/json")];
        if let Some(token) = token {
            headers.push(("x-acs-dingtalk-access-token", token.expose()));
        }
        let body = body.to_string();
        let url = format!("{}{path}", self.base);
        let response = self
            .client
            .ask(Method::POST, &url, &headers, Some(body.as_bytes()))
            .map_err(|error| self.fault(error))?;
        self.read(response)
    }

    /// Reads a reply. One of the older API says in its body whether the call was carried out.
    fn read(&self, response: Response) -> std::result::Result<Value, Fault> {
        let status = response.status();
        let wait = response.header("retry-after");
        let wait = wait.and_then(|seconds| seconds.trim().parse().ok());
        let body = response.read_to_end(REPLY_BYTES);
        let body = body.map_err(|error| self.fault(error))?;
        let text = String::from_utf8_lossy(&body);
        let Ok(reply) = json::from_str_within::<Value>(&text, JSON_LEVELS_MAX) else {
            return Err(Fault::Failed(explain_refusal(status)));
        };
        let is_done = reply["errcode"].as_i64().is_none_or(|code| code == 0);
        if status < 400 && is_done {
            Ok(reply)
        } else {
            Err(self.classify(status, &text, wait.map(Duration::from_secs)))
        }
    }

    /// What an error reply means, without secrets, which a proxy's page may have repeated.
    fn classify(&self, status: u16, body: &str, wait: Option<Duration>) -> Fault {
        let secrets = [Some(self.client_secret.clone()), self.shared.token()];
        let eraser = Eraser::new(secrets.into_iter().flatten());
        let reply = json::from_str_within(&eraser.clean(body), JSON_LEVELS_MAX);
        classify(status, &reply.unwrap_or_default(), wait)
    }

    /// The fault that an error means.
    fn fault(&self, error: Error) -> Fault {
        Fault::Failed(match error {
            Error::Status {
                status,
                retry_after,
                body,
                ..
            } => return self.classify(status, &body, retry_after),
            error @ Error::Network { .. } => Failure::Down(error.to_string()),
            error @ Error::Timeout { .. } => Failure::Trouble(error.to_string()),
            Error::Stopped => Failure::Stopped,
            error => Failure::Local(error),
        })
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

/// The name under which a file goes out: DingTalk takes no pages of HTML.
fn file_name(name: &str) -> String {
    let name = names::clean_file_name(name);
    match ending(&name).as_str() {
        "htm" | "html" => name + ".txt",
        _ => name,
    }
}

/// How a file's name ends, in lower case; `bin` where it has no ending, because DingTalk wants one.
fn ending(name: &str) -> String {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.len() {
        1..=10 => ending.to_ascii_lowercase(),
        _ => "bin".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(base: &str) -> Api {
        let mut bot = Bot::of("dingtalk");
        base.clone_into(&mut bot.api_base);
        let tls = Tls::new(None).unwrap();
        let patience = Duration::from_secs(1);
        Api::new(&tls, &bot, &Arc::default(), patience, &Cancel::default()).unwrap()
    }

    #[test]
    fn files_come_from_dingtalk_with_tls() {
        let api = api("https://api.dingtalk.com");
        for (url, expected) in [
            (
                "https://down.dingtalk.com/x",
                Some("https://down.dingtalk.com/x"),
            ),
            (
                "http://zjk.oss-cn-zhangjiakou.aliyuncs.com/a?b=c",
                Some("https://zjk.oss-cn-zhangjiakou.aliyuncs.com/a?b=c"),
            ),
            (
                "https://api.dingtalk.com/file",
                Some("https://api.dingtalk.com/file"),
            ),
            ("https://dingtalk.com.example.org/x", None),
            ("https://192.168.0.1/x", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(api.file_url(url).as_deref(), expected, "{url}");
        }
        assert!(api.is_endpoint("wss://x/connect") && !api.is_endpoint("ws://x/connect"));
    }

    #[test]
    fn each_file_has_an_ending_that_dingtalk_takes() {
        for (name, expected, kind) in [
            ("plan.PDF", "plan.PDF", "pdf"),
            ("page.html", "page.html.txt", "txt"),
            ("Makefile", "Makefile", "bin"),
            ("a/b.tar.gz", "b.tar.gz", "gz"),
        ] {
            let name = file_name(name);
            assert_eq!((name.as_str(), ending(&name).as_str()), (expected, kind));
        }
    }

    #[test]
    fn a_token_is_kept_for_its_time_and_forgotten_when_it_is_refused() {
        let shared = Shared::default();
        let (one, two) = (Secret::new("one"), Secret::new("two"));
        assert_eq!(shared.token(), None);
        shared.keep(&one, Duration::from_secs(7200));
        assert_eq!(shared.token(), Some(one.clone()));
        shared.keep(&two, Duration::from_secs(7200));
        shared.forget(&one);
        assert_eq!(shared.token(), Some(two.clone()));
        shared.forget(&two);
        assert_eq!(shared.token(), None);
    }
}
