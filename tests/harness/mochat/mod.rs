//! A MoChat with sessions and panels, whose requests for news wait until there are some. nanobot's own channel is content
//! with it: see tests/mochat/check.py. There is no other specification.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::harness::network::Network;
use crate::harness::shared::{self, Recent, last};
use crate::harness::wire::{self, RawRequest};

/// The agent's token in every test; it must never appear in the program's output.
pub const TOKEN: &str = "claw_canary_19af";
/// The agent's user id.
pub const AGENT: &str = "agent9";

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a real one would
/// refuse, or if something that was to go wrong was never asked.
pub struct MoChat {
    server: Arc<Server>,
}

/// What is to go wrong with the next message of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Too many requests: a code in a reply whose status is 200.
    TooMany,
    /// The page of a proxy.
    BadGateway,
}

type Server = shared::Server<State>;

#[derive(Default)]
struct State {
    /// All messages: the chat, the author, and the message.
    messages: Vec<(String, String, Value)>,
    sessions: Vec<String>,
    panels: Vec<String>,
    /// The paths of all requests.
    calls: Vec<String>,
    /// What clients have read of each session.
    cursors: BTreeMap<String, u64>,
    faults: Vec<Fault>,
    /// How many questions for news are refused.
    limited: usize,
    complaints: Vec<String>,
}

impl MoChat {
    /// A server without any messages.
    pub fn start() -> Self {
        let server = Server::new(Network::new(), State::default());
        server.listen();
        Self { server }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.network.address())
    }

    /// The section of the configuration: everything is followed, and ana may speak.
    pub fn section(&self) -> Value {
        json!({
            "enabled": true, "baseUrl": self.url(), "clawToken": TOKEN, "agentUserId": AGENT,
            "sessions": ["*"], "panels": ["*"], "allowFrom": ["ana"], "watchTimeoutMs": 1000,
        })
    }

    /// Creates a session (its id begins with `session_`) or a panel.
    pub fn create(&self, chat: &str) {
        self.server
            .change(|state| match chat.starts_with("session_") {
                true => state.sessions.push(chat.to_owned()),
                false => state.panels.push(chat.to_owned()),
            });
    }

    /// Somebody writes; returns the message's id.
    pub fn says(&self, author: &str, chat: &str, text: &str) -> String {
        self.says_at(author, chat, text, now_ms())
    }

    /// Forwards what somebody else has written.
    pub fn forwards(&self, author: &str, chat: &str, text: &str) -> String {
        self.server.change(|state| {
            let id = state.add(author, chat, text, now_ms());
            if let Some((_, _, message)) = state.messages.last_mut() {
                message["meta"] = json!({"forwardedFrom": "eve"});
            }
            id
        })
    }

    /// The same at a time, in milliseconds since 1970.
    pub fn says_at(&self, author: &str, chat: &str, text: &str, at: i64) -> String {
        self.server
            .change(|state| state.add(author, chat, text, at))
    }

    /// The texts of the agent in a chat, oldest first.
    pub fn texts(&self, chat: &str) -> Vec<String> {
        let state = self.server.state();
        let texts = state
            .messages
            .iter()
            .filter(|(own, author, _)| own == chat && author == AGENT);
        texts
            .map(|(_, _, message)| message["content"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Waits for a text of the agent in a chat that contains these words.
    pub fn wait_for(&self, chat: &str, words: &str) -> String {
        self.server.wait_until(words, |state| {
            state.messages.iter().find_map(|(own, author, message)| {
                let text = message["content"].as_str()?;
                (own == chat && author == AGENT && text.contains(words)).then(|| text.to_owned())
            })
        })
    }

    /// Waits for this many requests of a path.
    pub fn wait_for_calls(&self, path: &str, count: usize) {
        let what = format!("request {count} of {path}");
        self.server.wait_until(&what, |state| {
            let calls = state.calls.iter().filter(|call| *call == path);
            (calls.count() >= count).then_some(())
        });
    }

    /// Waits until a client has read all of a session.
    pub fn wait_until_read(&self, session: &str) {
        let what = format!("a client that reads all of {session}");
        self.server.wait_until(&what, |state| {
            let (_, newest) = state.events(session, 0);
            let read = state.cursors.get(session).copied().unwrap_or_default();
            (read >= newest).then_some(())
        });
    }

    /// How many requests of a path there were.
    pub fn calls(&self, path: &str) -> usize {
        self.server
            .state()
            .calls
            .iter()
            .filter(|call| *call == path)
            .count()
    }

    /// Refuses questions for what is new in a session, because there were too many.
    pub fn limits_watching(&self, times: usize) {
        self.server.change(|state| state.limited = times);
    }

    /// Makes the next message of the agent go wrong.
    pub fn fail_next(&self, fault: Fault) {
        self.server.change(|state| state.faults.push(fault));
    }

    /// Cuts the network: connections break, and new ones are refused.
    pub fn go_offline(&self) {
        self.server.network.close();
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// What clients have done that the real server would refuse.
    pub fn complaints(&self) -> Vec<String> {
        self.server.state().complaints.clone()
    }
}

fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64
}

impl State {
    fn add(&mut self, author: &str, chat: &str, text: &str, at: i64) -> String {
        let id = format!("m{}", self.messages.len() + 1);
        let group = if chat.starts_with("session_") {
            ""
        } else {
            "group1"
        };
        let at = chrono::DateTime::from_timestamp_millis(at)
            .unwrap()
            .to_rfc3339();
        let message = json!({
            "messageId": id, "author": author, "content": text, "meta": {}, "groupId": group, "converseId": chat,
            "createdAt": at, "authorInfo": {"nickname": author, "agentId": author},
        });
        self.messages
            .push((chat.to_owned(), author.to_owned(), message));
        id
    }

    /// The events of a session after a number, and the newest number.
    fn events(&self, session: &str, cursor: u64) -> (Vec<Value>, u64) {
        let messages = self.messages.iter().filter(|(chat, _, _)| chat == session);
        let numbered = messages.zip(1_u64..);
        let events = numbered.clone().filter(|(_, number)| *number > cursor);
        let events = events.map(|((_, _, message), number)| {
            json!({"seq": number, "type": "message.add", "timestamp": message["createdAt"], "payload": message})
        });
        (events.collect(), numbered.count() as u64)
    }
}

impl Recent for State {
    fn recent(&self) -> Vec<String> {
        last(self.calls.iter().cloned())
    }
}

impl Server {
    fn listen(self: &Arc<Self>) {
        let server = Arc::clone(self);
        self.network.listen(move |socket| server.serve(socket));
    }

    fn serve(&self, socket: &TcpStream) -> io::Result<()> {
        let line = self.network.line();
        let mut connection = wire::open(socket.try_clone()?, &line, None)?;
        while let Some(request) = wire::read(&mut connection)? {
            let headers = [("content-type", "application/json".to_owned())];
            let (status, text) = self.answer(&request);
            wire::respond(&mut connection, status, &headers, &text)?;
        }
        Ok(())
    }

    fn answer(&self, request: &RawRequest) -> (u16, String) {
        let path = request
            .path
            .strip_prefix("/api/claw/")
            .unwrap_or_default()
            .to_owned();
        self.change(|state| state.calls.push(path.clone()));
        if path.ends_with("/send") && !self.state().faults.is_empty() {
            return match self.change(|state| state.faults.remove(0)) {
                Fault::TooMany => (200, json!({"code": 429, "message": "too many"}).to_string()),
                Fault::BadGateway => (502, "<html>Bad Gateway</html>".to_owned()),
            };
        }
        if path == "sessions/watch" && self.state().limited > 0 {
            self.change(|state| state.limited -= 1);
            return (200, json!({"code": 429, "message": "too many"}).to_string());
        }
        match self.act(request, &path) {
            Ok(data) => (200, json!({"code": 200, "data": data}).to_string()),
            // The status is 200 all the same.
            Err((code, words)) => (200, json!({"code": code, "message": words}).to_string()),
        }
    }

    fn act(&self, request: &RawRequest, path: &str) -> Result<Value, (u16, String)> {
        let complain = |code: u16, words: String| {
            self.change(|state| state.complaints.push(format!("{path}: {words}")));
            Err((code, words))
        };
        if wire::header(&request.headers, "x-claw-token") != Some(TOKEN) {
            return Err((401, "invalid token".to_owned()));
        }
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return complain(400, "no JSON".to_owned());
        };
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let state = self.state();
        match path {
            "sessions/list" => {
                let list = state.sessions.iter();
                let list: Vec<Value> = list
                    .map(|id| json!({"sessionId": id, "converseId": format!("converse-{id}")}))
                    .collect();
                Ok(json!({"sessions": list}))
            }
            "groups/get" => {
                let list = state.panels.iter().map(|id| json!({"id": id, "type": 0}));
                let other = json!({"id": "not-a-chat", "type": 1});
                Ok(json!({"groupId": "group1", "panels": list.chain([other]).collect::<Vec<_>>()}))
            }
            "sessions/watch" if state.sessions.iter().any(|id| id == text("sessionId")) => {
                drop(state);
                Ok(self.watch(&body))
            }
            "groups/panels/messages" if state.panels.iter().any(|id| id == text("panelId")) => {
                let messages = state.messages.iter().rev();
                let messages = messages.filter(|(chat, _, _)| chat == text("panelId"));
                let limit = body["limit"].as_u64().unwrap_or(100) as usize;
                let messages: Vec<Value> = messages
                    .take(limit)
                    .map(|(_, _, message)| message.clone())
                    .collect();
                Ok(json!({"groupId": "group1", "messages": messages}))
            }
            "sessions/send" | "groups/panels/send" => {
                let (key, known) = match path {
                    "sessions/send" => ("sessionId", &state.sessions),
                    _ => ("panelId", &state.panels),
                };
                let chat = text(key).to_owned();
                let is_known = known.contains(&chat);
                drop(state);
                if !is_known || text("content").trim().is_empty() {
                    return complain(404, format!("no such chat or no text: {body}"));
                }
                // One's own messages come back.
                let id = self.change(|state| state.add(AGENT, &chat, text("content"), now_ms()));
                Ok(json!({"messageId": id}))
            }
            _ => {
                drop(state);
                complain(404, format!("unknown: {body}"))
            }
        }
    }

    /// Waits for news of a session, as long as the client wants.
    fn watch(&self, body: &Value) -> Value {
        let session = body["sessionId"].as_str().unwrap_or_default();
        let cursor = body["cursor"].as_u64().unwrap_or_default();
        self.change(|state| state.cursors.insert(session.to_owned(), cursor));
        let time = Duration::from_millis(body["timeoutMs"].as_u64().unwrap_or_default());
        self.wait(time, |state| {
            (!state.events(session, cursor).0.is_empty()).then_some(())
        });
        let (events, newest) = self.state().events(session, cursor);
        json!({"sessionId": session, "cursor": newest, "events": events})
    }
}

impl Drop for MoChat {
    fn drop(&mut self) {
        self.server.network.close();
        if thread::panicking() {
            return;
        }
        let state = self.server.state();
        let unmet = state
            .faults
            .iter()
            .map(|fault| format!("nobody met {fault:?}"));
        let complaints: Vec<String> = state.complaints.iter().cloned().chain(unmet).collect();
        drop(state);
        assert!(complaints.is_empty(), "MoChat: {complaints:#?}");
    }
}
