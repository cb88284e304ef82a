//! The REST API.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::server::{Answer, State};
use super::{APP_ID, BOT_ID, Call, Fault, Message, SECRET};
use crate::harness::wire::{self, RawRequest};

/// Replies to one message.
const REPLIES: usize = 5;
/// Characters of a message.
const LONGEST: usize = 5000;

/// A refusal: a status, a code and words. What is innocent can happen to any bot.
struct Refusal {
    status: u16,
    code: u64,
    words: &'static str,
    is_innocent: bool,
}

fn refuse(code: u64, words: &'static str) -> Refusal {
    Refusal {
        status: 400,
        code,
        words,
        is_innocent: false,
    }
}

fn innocent(status: u16, code: u64, words: &'static str) -> Refusal {
    Refusal {
        status,
        code,
        words,
        is_innocent: true,
    }
}

impl State {
    /// Answers a request.
    pub(super) fn answer(&mut self, request: &RawRequest) -> Answer {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let line = format!("{} {}", request.method, request.path);
        let shown = match body.get("file_data") {
            Some(_) => json!("a file"),
            None => body.clone(),
        };
        self.calls.push(Call {
            line: line.clone(),
            body: shown,
        });
        let is_message = request.method == "POST" && request.path.ends_with("/messages");
        let fault = (is_message && !self.faults.is_empty()).then(|| self.faults.remove(0));
        match fault {
            Some(Fault::TooMany) => {
                return Some((429, json!({"message": "too many requests", "code": 20028})));
            }
            Some(Fault::BadGateway) => return Some((502, json!("<html>Bad Gateway</html>"))),
            _ => {}
        }
        match self.act(request, &body) {
            Ok(_) if fault == Some(Fault::LostAnswer) => None,
            Ok(_) if fault == Some(Fault::Audit) => {
                let audit = json!({"message_audit": {"audit_id": "1"}});
                Some((
                    202,
                    json!({"code": 304_023, "message": "push message is waiting for audit now", "data": audit}),
                ))
            }
            Ok(reply) => Some((200, reply)),
            Err(refusal) => {
                if !refusal.is_innocent {
                    self.complain(format!("{}: {line} {body}", refusal.words));
                }
                let reply = json!({"message": refusal.words, "code": refusal.code, "err_code": refusal.code});
                Some((refusal.status, reply))
            }
        }
    }

    fn act(&mut self, request: &RawRequest, body: &Value) -> Result<Value, Refusal> {
        let header = |name| wire::header(&request.headers, name).unwrap_or_default();
        let is_form = header("content-type").starts_with("multipart/form-data; boundary=");
        let has_body = ["POST", "PUT"].contains(&request.method.as_str());
        if has_body && header("content-type") != "application/json" && !is_form {
            return Err(refuse(
                11_264,
                "the content type is not exactly application/json",
            ));
        }
        if request.path == "/app/getAppAccessToken" {
            return Ok(self.give_token(body));
        }
        if self.token.is_empty() || header("authorization") != format!("QQBot {}", self.token) {
            return Err(innocent(401, 11_244, "token not exist or expire"));
        }
        let parts: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["gateway"]) => Ok(json!({"url": format!("ws://{}/websocket", self.address)})),
            ("GET", ["gateway", "bot"]) => Ok(json!({
                "url": format!("ws://{}/websocket", self.address), "shards": 1,
                "session_start_limit": {"total": 1000, "remaining": 990, "reset_after": 1000, "max_concurrency": 1},
            })),
            ("GET", ["users", "@me"]) => {
                Ok(json!({"id": BOT_ID, "username": "crab", "avatar": ""}))
            }
            ("POST", ["v2", kind @ ("users" | "groups"), id, "messages"]) => {
                self.message(&format!("/v2/{kind}/{id}"), body)
            }
            ("POST", [kind @ ("channels" | "dms"), id, "messages"]) => {
                let place = format!("/{kind}/{id}");
                match is_form {
                    true => self.picture(&place, &request.body),
                    false => self.message(&place, body),
                }
            }
            ("POST", ["v2", kind @ ("users" | "groups"), id, "files"]) => {
                self.hand_over(&format!("/v2/{kind}/{id}"), body)
            }
            ("DELETE", [rest @ .., "messages", id]) => {
                let place = format!("/{}", rest.join("/"));
                let id = id.replace("%21", "!");
                let found = self
                    .messages
                    .iter_mut()
                    .find(|message| message.id == id && message.place == place);
                let message = found.ok_or_else(|| refuse(10_003, "no such message"))?;
                message.is_deleted = true;
                Ok(Value::Null)
            }
            ("PUT", ["interactions", id]) => {
                let found = self.presses.iter_mut().find(|(press, _, _)| press == id);
                let (_, at, is_done) = found.ok_or_else(|| refuse(10_003, "no such press"))?;
                if at.elapsed().as_secs() >= 3 {
                    return Err(refuse(
                        10_004,
                        "a press was acknowledged after three seconds",
                    ));
                }
                *is_done = true;
                Ok(json!({}))
            }
            _ => Err(refuse(11_248, "no such path")),
        }
    }

    /// Everything is a string here, and a wrong secret is refused with the status 200.
    fn give_token(&mut self, body: &Value) -> Value {
        if body["appId"] != APP_ID || body["clientSecret"] != SECRET {
            return json!({"code": 100_016, "message": "invalid appid or secret"});
        }
        if self.token.is_empty() {
            self.tokens += 1;
            self.token = format!("canary-access-token-{}", self.tokens);
        }
        json!({"access_token": self.token, "expires_in": "7200"})
    }

    fn message(&mut self, place: &str, body: &Value) -> Result<Value, Refusal> {
        let is_new = place.starts_with("/v2/");
        let markdown = body["markdown"]["content"].as_str();
        let content = body["content"].as_str().unwrap_or_default();
        let text = markdown.unwrap_or(content);
        let kind = match is_new {
            true => body["msg_type"].as_u64().unwrap_or_default(),
            false => u64::from(markdown.is_some()) * 2,
        };
        if text.chars().count() > LONGEST {
            return Err(refuse(50_006, "the message is too long"));
        }
        if kind == 0 && content.trim().is_empty() {
            return Err(refuse(50_006, "the message is empty"));
        }
        if kind == 2 && !self.allows_markdown {
            return Err(innocent(400, 304_036, "no permission for markdown"));
        }
        if place.starts_with("/v2/groups/") && kind == 0 && text.contains("://") {
            let host = text.split("://").nth(1).unwrap_or_default();
            let host = host.split(['/', ' ', '\n']).next().unwrap_or_default();
            if host.contains('.') {
                return Err(innocent(
                    400,
                    40_054_010,
                    "a link is not allowed in a group",
                ));
            }
        }
        let mut files = Vec::new();
        if kind == 7 {
            let info = body["media"]["file_info"].as_str().unwrap_or_default();
            let handed = self
                .handed
                .iter()
                .find(|(own, to, _, _)| own == info && to == place);
            let (_, _, name, bytes) =
                handed.ok_or_else(|| refuse(40_034_010, "the file is not of this chat"))?;
            files.push((name.clone(), bytes.clone()));
        }
        let reply_to = self.reply(place, body, is_new)?;
        let rows = body["keyboard"]["content"]["rows"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if !rows.is_empty() && kind != 2 {
            return Err(refuse(304_057, "buttons without Markdown"));
        }
        let buttons = rows
            .iter()
            .flat_map(|row| row["buttons"].as_array().cloned().unwrap_or_default());
        let buttons = buttons.map(|button| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (
                text(&button["render_data"]["label"]),
                text(&button["action"]["data"]),
            )
        });
        let message = Message {
            id: self.next_id(),
            place: place.to_owned(),
            text: text.to_owned(),
            is_markdown: kind == 2,
            reply_to,
            buttons: buttons.collect(),
            files,
            is_deleted: false,
        };
        let id = message.id.clone();
        self.messages.push(message);
        let index = json!({"ref_idx": format!("REFIDX_{id}")});
        Ok(json!({"id": id, "timestamp": "2026-01-01T00:00:00+08:00", "ext_info": index}))
    }

    /// The message that is replied to. Replies are limited, and numbered in the newer API.
    fn reply(&mut self, place: &str, body: &Value, is_new: bool) -> Result<String, Refusal> {
        let Some(id) = body["msg_id"].as_str() else {
            return match self.allows_active {
                true => Ok(String::new()),
                false => Err(innocent(400, 40_034_102, "the bot may only reply")),
            };
        };
        let sequence = match is_new {
            // Without a number it is the first.
            true => body["msg_seq"].as_u64().unwrap_or(1),
            false => 0,
        };
        let Some(heard) = self.heard.get_mut(id).filter(|heard| heard.place == place) else {
            return Err(refuse(
                40_034_024,
                "the message to reply to is not of this chat",
            ));
        };
        if is_new && heard.sequences.contains(&sequence) {
            return Err(innocent(400, 40_054_005, "this number was used before"));
        }
        if !heard.is_open || heard.sequences.len() >= REPLIES {
            return Err(innocent(
                400,
                40_034_024,
                "the message takes no more replies",
            ));
        }
        heard.sequences.push(sequence);
        Ok(id.to_owned())
    }

    fn hand_over(&mut self, place: &str, body: &Value) -> Result<Value, Refusal> {
        if !(1..=4).contains(&body["file_type"].as_u64().unwrap_or_default()) {
            return Err(refuse(850_012, "no kind of file"));
        }
        if body["srv_send_msg"] != false {
            return Err(refuse(850_013, "it would be sent at once"));
        }
        // QQ fetches what has a URL.
        let data = STANDARD.decode(body["file_data"].as_str().unwrap_or_default());
        let bytes = data.map_err(|_| refuse(850_014, "the file is not base64"))?;
        if bytes.is_empty() && !body["url"].is_string() {
            return Err(refuse(850_015, "neither a file nor its URL"));
        }
        let name = body["file_name"].as_str().unwrap_or("file").to_owned();
        let info = format!("info-{}", self.handed.len() + 1);
        self.handed
            .push((info.clone(), place.to_owned(), name, bytes));
        Ok(json!({"file_uuid": "u", "file_info": info, "ttl": 3600}))
    }

    /// A picture in a guild, as a form.
    fn picture(&mut self, place: &str, body: &[u8]) -> Result<Value, Refusal> {
        let text = String::from_utf8_lossy(body);
        let field = |name: &str| {
            let (_, rest) = text.split_once(&format!("name=\"{name}\""))?;
            let (_, rest) = rest.split_once("\r\n\r\n")?;
            Some(rest.split("\r\n--").next().unwrap_or_default().to_owned())
        };
        let picture =
            field("file_image").ok_or_else(|| refuse(50_006, "a form without a picture"))?;
        let name = text
            .split("filename=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let name = name.unwrap_or_default().to_owned();
        let reply = json!({"msg_id": field("msg_id")});
        let reply_to = self.reply(place, &reply, false)?;
        let message = Message {
            id: self.next_id(),
            place: place.to_owned(),
            reply_to,
            files: vec![(name, picture.into_bytes())],
            ..Message::default()
        };
        let id = message.id.clone();
        self.messages.push(message);
        Ok(json!({"id": id}))
    }
}
