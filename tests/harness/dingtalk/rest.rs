//! The API, and the older one, which takes uploads.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Answer, Call, Media, Message, State};
use super::{CLIENT_ID, Fault, SECRET};
use crate::harness::form;
use crate::harness::wire::{self, RawRequest};

/// Bytes of `msgParam`.
const PARAM_BYTES: usize = 15_000;
/// Bytes of a file.
const FILE_BYTES: usize = 20 * 1024 * 1024;
/// Messages of the robot to a group within a minute.
const GROUP_MESSAGES: usize = 20;

/// A refusal. What is innocent can happen to any client.
struct Refusal {
    status: u16,
    /// The word of the API, or the number of the older one.
    code: &'static str,
    words: String,
    is_innocent: bool,
}

fn refuse(code: &'static str, words: &str) -> Refusal {
    Refusal {
        status: 400,
        code,
        words: words.to_owned(),
        is_innocent: false,
    }
}

fn innocent(status: u16, code: &'static str, words: &str) -> Refusal {
    Refusal {
        status,
        is_innocent: true,
        ..refuse(code, words)
    }
}

impl Refusal {
    fn answer(&self) -> (u16, Value) {
        match self.code.parse::<i64>() {
            Ok(number) => (200, json!({"errcode": number, "errmsg": self.words})),
            Err(_) => {
                let reply = json!({"code": self.code, "message": self.words, "requestid": "0BAD"});
                (self.status, reply)
            }
        }
    }
}

fn route(request: &RawRequest) -> Option<&'static str> {
    let path = request.path.split('?').next().unwrap_or_default();
    Some(match (request.method.as_str(), path) {
        ("POST", "/v1.0/oauth2/accessToken") => "token",
        ("POST", "/v1.0/gateway/connections/open") => "open",
        ("POST", "/v1.0/robot/oToMessages/batchSend") => "toPerson",
        ("POST", "/v1.0/robot/groupMessages/send") => "toGroup",
        ("POST", "/v1.0/robot/messageFiles/download") => "download",
        ("POST", "/media/upload") => "upload",
        ("GET", path) if path.starts_with("/files/") => "file",
        _ => return None,
    })
}

impl State {
    /// Answers a request.
    pub(super) fn answer(&mut self, request: &RawRequest) -> Answer {
        let Some(route) = route(request) else {
            self.complain(format!(
                "no such route: {} {}",
                request.method, request.path
            ));
            return Some((404, b"{}".to_vec()));
        };
        if route == "file" {
            return Some(self.file(request));
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        self.calls.push(Call {
            route,
            body: body.clone(),
            at: Instant::now(),
        });
        let fault = self.faults.iter().position(|(of, _)| *of == route);
        let fault = fault.map(|index| self.faults.remove(index).1);
        let failed = match fault {
            Some(Fault::BadGateway) => return Some((502, b"<h1>502 Bad Gateway</h1>".to_vec())),
            Some(Fault::TooMany) => Some(innocent(
                403,
                "Forbidden.AccessDenied.QpsLimitForApi",
                "the application calls this API too often",
            )),
            Some(Fault::TokenExpired) => {
                self.token.clear();
                None
            }
            Some(Fault::NotThere) => Some(innocent(400, "staffId.notExisted", "not existed")),
            Some(Fault::InternalError) => Some(innocent(500, "InternalError", "internal error")),
            Some(Fault::FlowControlled) => {
                let people = &body["userIds"];
                let reply = json!({"processQueryKey": "", "invalidStaffIdList": [], "flowControlledStaffIdList": people});
                return Some((200, reply.to_string().into_bytes()));
            }
            Some(Fault::LostReply) | None => None,
        };
        let outcome = match failed {
            Some(refusal) => Err(refusal),
            None => self.act(route, request, &body),
        };
        if fault == Some(Fault::LostReply) {
            return None;
        }
        let (status, reply) = outcome.map_or_else(
            |refusal| {
                if !refusal.is_innocent {
                    self.complain(format!(
                        "{route}: {}: {} {body}",
                        refusal.code, refusal.words
                    ));
                }
                refusal.answer()
            },
            |reply| (200, reply),
        );
        Some((status, reply.to_string().into_bytes()))
    }

    fn act(&mut self, route: &str, request: &RawRequest, body: &Value) -> Result<Value, Refusal> {
        let header = |name| wire::header(&request.headers, name).unwrap_or_default();
        if route == "upload" {
            return self.upload(request);
        }
        if !header("content-type").starts_with("application/json") {
            return Err(refuse("InvalidContentType", "the body is no JSON"));
        }
        match route {
            "token" => return self.give_token(body),
            "open" => return self.open(body),
            _ => {}
        }
        let token = header("x-acs-dingtalk-access-token");
        if token.is_empty() {
            return Err(refuse("InvalidAuthentication", "no access token"));
        }
        if token != self.token {
            // A client learns only in this way that its token has ended.
            return Err(innocent(
                400,
                "InvalidAuthentication",
                "不合法的access_token",
            ));
        }
        if body["robotCode"] != CLIENT_ID {
            return Err(refuse("robotCode.notExist", "no such robot"));
        }
        match route {
            "download" => self.download(body),
            route => self.send(route, body),
        }
    }

    fn give_token(&mut self, body: &Value) -> Result<Value, Refusal> {
        if body["appKey"] != CLIENT_ID || body["appSecret"] != SECRET {
            let words = "无效的clientId或者clientSecret";
            return Err(innocent(400, "invalidClientIdOrSecret", words));
        }
        // Until its end one token is given to all who ask.
        if self.token.is_empty() {
            self.tokens += 1;
            self.token = format!("canary-token-{}", self.tokens);
        }
        Ok(json!({"accessToken": self.token, "expireIn": 7200}))
    }

    fn open(&mut self, body: &Value) -> Result<Value, Refusal> {
        if body["clientId"] != CLIENT_ID || body["clientSecret"] != SECRET {
            return Err(innocent(401, "authFailed", "鉴权失败"));
        }
        let topics = body["subscriptions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is_known = |topic: &Value| {
            ["EVENT", "CALLBACK"]
                .iter()
                .any(|kind| topic["type"] == *kind)
                && topic["topic"].is_string()
        };
        if topics.is_empty() || !topics.iter().all(is_known) {
            return Err(refuse("paramError", "no subscriptions"));
        }
        let ticket = self.new_id("canary-ticket-");
        self.link.tickets.push((ticket.clone(), Instant::now()));
        Ok(json!({"endpoint": format!("ws://{}/connect", self.address), "ticket": ticket}))
    }

    fn send(&mut self, route: &str, body: &Value) -> Result<Value, Refusal> {
        let bad = |words: &str| refuse("invalidParameter", words);
        let param = body["msgParam"].as_str();
        let param = param.ok_or_else(|| bad("msgParam is no string"))?;
        if param.len() > PARAM_BYTES {
            return Err(bad("msgParam is too long"));
        }
        let fields: Value = serde_json::from_str(param).map_err(|_| bad("msgParam is no JSON"))?;
        let text = |name: &str| {
            let text = fields[name].as_str().filter(|text| !text.trim().is_empty());
            text.map(str::to_owned)
                .ok_or_else(|| bad(&format!("msgParam without {name}")))
        };
        let kind = body["msgKey"].as_str().unwrap_or_default().to_owned();
        let mut message = Message {
            kind: kind.clone(),
            ..Message::default()
        };
        match kind.as_str() {
            "sampleMarkdown" => {
                message.title = text("title")?;
                message.text = text("text")?;
            }
            "sampleText" => message.text = text("content")?,
            "sampleImageMsg" => message.file = Some(self.media("image", &text("photoURL")?)?),
            "sampleFile" => {
                let (_, bytes) = self.media("file", &text("mediaId")?)?;
                text("fileType")?;
                message.file = Some((text("fileName")?, bytes));
            }
            _ => return Err(bad("an unknown msgKey")),
        }
        if route == "toGroup" {
            let group = body["openConversationId"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if !self.groups.contains(&group) {
                return Err(refuse("openConversationId.notExist", "no such group"));
            }
            self.count(&group)?;
            return Ok(json!({"processQueryKey": self.show(message, &group)}));
        }
        let people = body["userIds"].as_array().cloned().unwrap_or_default();
        if people.is_empty() || people.len() > 20 {
            return Err(bad("userIds"));
        }
        let mut unknown = Vec::new();
        let mut id = String::new();
        for person in people {
            let person = person.as_str().unwrap_or_default().to_owned();
            match self.people.contains(&person) {
                true => id = self.show(message.clone(), &person),
                false => unknown.push(person),
            }
        }
        Ok(
            json!({"processQueryKey": id, "invalidStaffIdList": unknown, "flowControlledStaffIdList": []}),
        )
    }

    fn show(&mut self, message: Message, place: &str) -> String {
        let id = self.new_id("key");
        self.messages.push(Message {
            id: id.clone(),
            place: place.to_owned(),
            ..message
        });
        id
    }

    /// Twenty messages a minute to a group.
    fn count(&mut self, group: &str) -> Result<(), Refusal> {
        self.group_times
            .retain(|(_, at)| at.elapsed() < Duration::from_secs(60));
        self.group_times.push((group.to_owned(), Instant::now()));
        let count = self
            .group_times
            .iter()
            .filter(|(of, _)| of == group)
            .count();
        match count > GROUP_MESSAGES {
            true => Err(refuse(
                "send.tooFast",
                "more than 20 messages a minute to a group",
            )),
            false => Ok(()),
        }
    }

    fn media(&self, kind: &str, id: &str) -> Result<(String, Vec<u8>), Refusal> {
        let found = self
            .media
            .iter()
            .find(|media| media.id == id && media.kind == kind);
        let media = found.ok_or_else(|| refuse("invalidParameter", "no such media"))?;
        Ok((media.name.clone(), media.bytes.clone()))
    }

    /// The older API: the token is in the URL, and errors have the status 200.
    fn upload(&mut self, request: &RawRequest) -> Result<Value, Refusal> {
        let (_, query) = request.path.split_once('?').unwrap_or_default();
        let asked = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut found = pairs.filter(|(key, _)| *key == name);
            found.next().map(|(_, value)| form::decode(value))
        };
        let token = asked("access_token").unwrap_or_default();
        if token.is_empty() || token != self.token {
            return Err(innocent(200, "40014", "不合法的access_token"));
        }
        let kind = wire::header(&request.headers, "content-type").unwrap_or_default();
        let boundary = kind
            .split_once("boundary=")
            .map_or("", |(_, boundary)| boundary);
        let parts = form::parts(&request.body, boundary.trim_matches('"'));
        let parts = parts.map_err(|why| refuse("40035", &why))?;
        let field = parts.iter().find(|part| part.name == "type");
        let field = field.map(|part| String::from_utf8_lossy(&part.bytes).into_owned());
        let kind = field.or_else(|| asked("type")).unwrap_or_default();
        if let Some(call) = self.calls.last_mut() {
            call.body = json!({"type": kind});
        }
        let file = parts.iter().find(|part| part.name == "media");
        let file = file.ok_or_else(|| refuse("40035", "a form without media"))?;
        let name = file.file_name.clone().unwrap_or_default();
        if file.bytes.is_empty() || file.bytes.len() > FILE_BYTES || name.is_empty() {
            return Err(refuse("40006", "empty, too large or without a name"));
        }
        let is_page = name.ends_with(".html") || name.ends_with(".htm");
        let marks: [&[u8]; 4] = [b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM"];
        let is_image = marks.iter().any(|mark| file.bytes.starts_with(mark));
        match kind.as_str() {
            "file" if is_page => return Err(refuse("40005", "不合法的文件类型")),
            "image" if !is_image => return Err(innocent(200, "40005", "不合法的文件类型")),
            "file" | "image" => {}
            _ => return Err(refuse("40004", "不合法的媒体文件类型")),
        }
        let id = self.new_id("@media");
        self.media.push(Media {
            id: id.clone(),
            kind: kind.clone(),
            name,
            bytes: file.bytes.to_vec(),
        });
        Ok(
            json!({"errcode": 0, "errmsg": "ok", "media_id": id, "created_at": 1_700_000_000_000_u64, "type": kind}),
        )
    }

    fn download(&mut self, body: &Value) -> Result<Value, Refusal> {
        let code = body["downloadCode"].as_str().unwrap_or_default();
        let index = self.files.iter().position(|(known, _)| known == code);
        let index = index.ok_or_else(|| refuse("invalidParameter", "no such downloadCode"))?;
        let url = format!(
            "http://{}/files/{index}?Signature=canary-signature",
            self.address
        );
        Ok(json!({"downloadUrl": url}))
    }

    /// A file of a person's. Its URL is enough, and requests must not have the token.
    fn file(&mut self, request: &RawRequest) -> (u16, Vec<u8>) {
        if wire::header(&request.headers, "x-acs-dingtalk-access-token").is_some() {
            self.complain("the server of files got a token".to_owned());
        }
        let (path, query) = request.path.split_once('?').unwrap_or_default();
        let number = path.trim_start_matches("/files/").parse::<usize>();
        let file = number.ok().and_then(|number| self.files.get(number));
        match file.filter(|_| query == "Signature=canary-signature") {
            Some((_, bytes)) => (200, bytes.clone()),
            None => (403, b"<Error/>".to_vec()),
        }
    }
}
