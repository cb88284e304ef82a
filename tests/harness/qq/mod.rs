//! A QQ for official bots: access tokens, the gateway, private chats, groups, guilds and files. It takes replies only
//! as often and as long as the real one, and is as particular about numbers, headers and ids. qq-botpy is content with
//! it: see tests/qq/check.py. <https://bot.q.qq.com/wiki/develop/api-v2/>

mod gateway;
mod rest;
mod server;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::network::Network;
use server::{Server, State};

/// The AppID and the AppSecret in every test; the secret must never appear in the program's output.
pub const APP_ID: &str = "102012345";
/// See [`APP_ID`].
pub const SECRET: &str = "canary-of-the-app-secret-5d";
/// The bot's id.
pub const BOT_ID: &str = "8800055";

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a real one would
/// refuse, or if something that was to go wrong was never asked.
pub struct Qq {
    server: Arc<Server>,
}

/// A message of the bot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Where it is: the chat's path in the API.
    pub place: String,
    /// The text, of Markdown too.
    pub text: String,
    /// Whether it is Markdown.
    pub is_markdown: bool,
    /// The message that it replies to; empty if the bot wrote on its own.
    pub reply_to: String,
    /// Labels and data of its buttons.
    pub buttons: Vec<(String, String)>,
    /// The names and the bytes of its files.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether the bot took it back.
    pub is_deleted: bool,
}

/// What is to go wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Too many requests.
    TooMany,
    /// The page of a proxy.
    BadGateway,
    /// It is done, and the connection breaks before the answer.
    LostAnswer,
    /// QQ looks at the message before it shows it.
    Audit,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method and the path.
    pub line: String,
    /// Its body.
    pub body: Value,
}

/// Where a person writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In a private chat.
    Private,
    /// In a group, to the bot.
    Group,
    /// In a channel of a guild, to the bot.
    Channel,
    /// In the private chat of a guild.
    Direct,
}

/// A person in a chat.
#[derive(Clone)]
pub struct Person {
    server: Arc<Server>,
    /// Where.
    pub kind: Kind,
    /// The person's id there.
    pub id: String,
    /// The chat's id; in private the person's.
    pub chat: String,
}

impl Qq {
    /// A server without any messages.
    pub fn start() -> Self {
        let network = Network::new();
        let state = State {
            address: network.address().to_string(),
            heartbeat: 41_250,
            ..State::default()
        };
        let server = Server::new(network, state);
        server.listen();
        Self { server }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.network.address())
    }

    /// The section of the configuration, for Ana with the open id ANA1.
    pub fn section(&self) -> Value {
        json!({
            "enabled": true, "appId": APP_ID, "secret": SECRET, "apiBase": self.url(),
            "tokenUrl": format!("{}/app/getAppAccessToken", self.url()), "allowFrom": ["ANA1"],
        })
    }

    /// A person in their private chat.
    pub fn person(&self, id: &str) -> Person {
        self.at(Kind::Private, id, id)
    }

    /// A person in a group, where they have an id of their own.
    pub fn member(&self, id: &str, group: &str) -> Person {
        self.at(Kind::Group, id, group)
    }

    /// A person in a channel of a guild.
    pub fn guest(&self, id: &str, channel: &str) -> Person {
        self.at(Kind::Channel, id, channel)
    }

    /// A member of a guild in their private chat with the bot.
    pub fn direct(&self, id: &str, guild: &str) -> Person {
        self.at(Kind::Direct, id, guild)
    }

    fn at(&self, kind: Kind, id: &str, chat: &str) -> Person {
        Person {
            server: Arc::clone(&self.server),
            kind,
            id: id.to_owned(),
            chat: chat.to_owned(),
        }
    }

    /// Waits until this many sessions were started, and one is connected.
    pub fn wait_for_ready(&self, count: usize) {
        self.server
            .wait_until(&format!("session {count}"), |state| {
                (state.readies >= count && state.is_connected()).then_some(())
            });
    }

    /// Waits until sessions were resumed this many times.
    pub fn wait_for_resumes(&self, count: usize) {
        self.server.wait_until(&format!("resume {count}"), |state| {
            (state.resumes >= count && state.is_connected()).then_some(())
        });
    }

    /// How many sessions were started and resumed.
    pub fn sessions(&self) -> (usize, usize) {
        let state = self.server.state();
        (state.readies, state.resumes)
    }

    /// The bot's messages where a person is, oldest first.
    pub fn messages(&self, person: &Person) -> Vec<Message> {
        let place = person.path();
        let state = self.server.state();
        let messages = state
            .messages
            .iter()
            .filter(|message| message.place == place);
        messages.cloned().collect()
    }

    /// Waits for a message of the bot where a person is; returns the oldest that has these words.
    pub fn wait_for(&self, person: &Person, words: &str) -> Message {
        self.wait_for_message(person, |message| message.text.contains(words))
    }

    /// Waits for a message of the bot that fulfils a condition.
    pub fn wait_for_message(&self, person: &Person, holds: impl Fn(&Message) -> bool) -> Message {
        let place = person.path();
        self.server.wait_until("a message", |state| {
            let mut messages = state.messages.iter();
            messages
                .find(|message| message.place == place && holds(message))
                .cloned()
        })
    }

    /// All requests whose line begins like this.
    pub fn calls(&self, line: &str) -> Vec<Call> {
        let state = self.server.state();
        let calls = state
            .calls
            .iter()
            .filter(|call| call.line.starts_with(line));
        calls.cloned().collect()
    }

    /// Waits for this many of them.
    pub fn wait_for_calls(&self, line: &str, count: usize) -> Vec<Call> {
        self.server
            .wait_until(&format!("request {count} of {line}"), |state| {
                let calls = state
                    .calls
                    .iter()
                    .filter(|call| call.line.starts_with(line));
                let calls: Vec<Call> = calls.cloned().collect();
                (calls.len() >= count).then_some(calls)
            })
    }

    /// Makes the next sending of a message go wrong.
    pub fn fail_next(&self, fault: Fault) {
        self.server.change(|state| state.faults.push(fault));
    }

    /// Sets whether the bot may write without a reply; at first it may not.
    pub fn allow_active(&self, is_allowed: bool) {
        self.server.change(|state| state.allows_active = is_allowed);
    }

    /// Sets whether the bot may send Markdown; at first it may not.
    pub fn allow_markdown(&self, is_allowed: bool) {
        self.server
            .change(|state| state.allows_markdown = is_allowed);
    }

    /// Sets whether the bot may hear of guilds; at first it may.
    pub fn allow_guilds(&self, is_allowed: bool) {
        self.server
            .change(|state| state.forbids_guilds = !is_allowed);
    }

    /// Takes no more replies to what was written so far: the time is over.
    pub fn close_replies(&self) {
        self.server.change(|state| {
            state
                .heard
                .values_mut()
                .for_each(|heard| heard.is_open = false)
        });
    }

    /// Takes the access token back that is in use.
    pub fn expire_token(&self) {
        self.server.change(|state| state.token.clear());
    }

    /// How many access tokens were given.
    pub fn tokens(&self) -> usize {
        self.server.state().tokens
    }

    /// Sets the time between heartbeats, for new connections.
    pub fn set_heartbeat(&self, every: Duration) {
        self.server
            .change(|state| state.heartbeat = every.as_millis() as u64);
    }

    /// Cuts the gateway's connections without a close frame. Sessions stay.
    pub fn cut_gateway(&self) {
        self.server.change(|state| state.close_gateway(None));
    }

    /// Closes the gateway's connections with a code.
    pub fn close_gateway(&self, code: u16) {
        self.server.change(|state| state.close_gateway(Some(code)));
    }

    /// Asks clients to reconnect: opcode 7.
    pub fn asks_to_reconnect(&self) {
        self.server
            .change(|state| state.tell_all(&json!({"op": 7})));
    }

    /// Makes all sessions impossible to resume.
    pub fn forgets_sessions(&self) {
        self.server.change(|state| state.sessions.clear());
    }

    /// Cuts the network: connections break, and new ones are refused. Sessions stay.
    pub fn go_offline(&self) {
        self.server.network.close();
        self.server.change(|state| state.close_gateway(None));
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// A complaint with these words does not fail the test.
    pub fn forgives(&self, words: &str) {
        self.server
            .change(|state| state.forgiven.push(words.to_owned()));
    }

    /// What clients have done that the real server would refuse.
    pub fn complaints(&self) -> Vec<String> {
        self.server.state().complaints.clone()
    }
}

impl Person {
    /// Says something; in groups and channels to the bot. Returns the message's id.
    pub fn says(&self, text: &str) -> String {
        self.sends(text, &[])
    }

    /// The same with files: their names, kinds and bytes.
    pub fn sends(&self, text: &str, files: &[(&str, &str, &[u8])]) -> String {
        self.tells(text, files, &json!({}))
    }

    /// Quotes the message with this id, which may be of anyone.
    pub fn quotes(&self, message: &str, text: &str) -> String {
        let index = format!("REFIDX_{message}");
        let quoted = json!({"msg_idx": index, "content": "Shall I water the plants?"});
        let scene = json!({"source": "default", "ext": [format!("ref_msg_idx={index}"), "msg_idx=REFIDX_new"]});
        let more = json!({"message_type": 103, "msg_elements": [quoted], "message_scene": scene});
        self.tells(text, &[], &more)
    }

    /// Forwards what somebody else has written.
    pub fn forwards(&self, text: &str) -> String {
        let elements = json!([{"content": text, "author": {"id": "EVE"}}]);
        let more = json!({"message_type": 102, "msg_elements": elements});
        self.tells(text, &[], &more)
    }

    fn tells(&self, text: &str, files: &[(&str, &str, &[u8])], more: &Value) -> String {
        self.server.change(|state| {
            let id = state.next_id();
            let attachments: Vec<Value> = files
                .iter()
                .map(|(name, kind, bytes)| state.add_file(name, kind, bytes))
                .collect();
            let mut event =
                json!({"id": id, "content": text, "timestamp": chrono::Utc::now().to_rfc3339()});
            for (name, value) in more.as_object().into_iter().flatten() {
                event[name] = value.clone();
            }
            if !attachments.is_empty() {
                event["attachments"] = json!(attachments);
            }
            let kind = match self.kind {
                Kind::Private => {
                    event["author"] =
                        json!({"id": self.id, "user_openid": self.id, "union_openid": self.id});
                    "C2C_MESSAGE_CREATE"
                }
                Kind::Group => {
                    event["content"] = json!(format!(" {text} "));
                    event["group_id"] = json!(self.chat);
                    event["group_openid"] = json!(self.chat);
                    event["author"] = json!({"id": self.id, "member_openid": self.id});
                    "GROUP_AT_MESSAGE_CREATE"
                }
                Kind::Channel => {
                    event["content"] = json!(format!("<@!{BOT_ID}> {text}"));
                    event["channel_id"] = json!(self.chat);
                    event["guild_id"] = json!("1");
                    event["author"] = json!({"id": self.id, "username": "Ana", "bot": false});
                    event["member"] =
                        json!({"nick": "Ana", "joined_at": "2026-01-01T00:00:00+08:00"});
                    event["mentions"] = json!([{"id": BOT_ID, "username": "crab", "bot": true}]);
                    "AT_MESSAGE_CREATE"
                }
                Kind::Direct => {
                    event["guild_id"] = json!(self.chat);
                    event["channel_id"] = json!("77");
                    event["src_guild_id"] = json!("1");
                    event["direct_message"] = json!(true);
                    event["author"] = json!({"id": self.id, "username": "Ana", "bot": false});
                    event["member"] = json!({"joined_at": "2026-01-01T00:00:00+08:00"});
                    "DIRECT_MESSAGE_CREATE"
                }
            };
            state.heard.insert(
                id.clone(),
                server::Heard {
                    place: self.path(),
                    is_open: true,
                    sequences: Vec::new(),
                },
            );
            state.dispatch(kind, &event);
            id
        })
    }

    /// Presses the newest button with this label. Returns the id of the press.
    pub fn presses(&self, label: &str) -> String {
        let place = self.path();
        self.server.change(|state| {
            let (message, data) = state
                .messages
                .iter()
                .rev()
                .filter(|message| message.place == place)
                .find_map(|message| {
                    let button = message.buttons.iter().find(|(own, _)| own == label)?;
                    Some((message.id.clone(), button.1.clone()))
                })
                .unwrap_or_else(|| panic!("there is no button {label:?}"));
            let id = format!("press{}", state.presses.len() + 1);
            state.presses.push((id.clone(), Instant::now(), false));
            let mut event = json!({
                "id": id, "type": 11, "application_id": APP_ID, "version": 1,
                "data": {"type": 11, "resolved": {"button_data": data, "button_id": "1", "message_id": message}},
            });
            match self.kind {
                Kind::Group => {
                    event["chat_type"] = json!(1);
                    event["group_openid"] = json!(self.chat);
                    event["group_member_openid"] = json!(self.id);
                }
                _ => {
                    event["chat_type"] = json!(2);
                    event["user_openid"] = json!(self.id);
                }
            }
            state.dispatch("INTERACTION_CREATE", &event);
            id
        })
    }

    /// The chat's path in the API.
    pub fn path(&self) -> String {
        let chat = &self.chat;
        match self.kind {
            Kind::Private => format!("/v2/users/{chat}"),
            Kind::Group => format!("/v2/groups/{chat}"),
            Kind::Channel => format!("/channels/{chat}"),
            Kind::Direct => format!("/dms/{chat}"),
        }
    }
}

impl Drop for Qq {
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
        assert!(complaints.is_empty(), "QQ: {complaints:#?}");
    }
}
