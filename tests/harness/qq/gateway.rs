//! The gateway: sessions begin, are resumed and lost.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};

use super::BOT_ID;
use super::server::{Server, Session, State};
use crate::harness::discord::websocket::{Received, WebSocket};
use crate::harness::wire::Connection;

/// The intents of guilds: their private chats, and what mentions the bot.
const GUILDS: u64 = 1 << 12 | 1 << 30 | 1 << 9;

impl Server {
    /// Serves a connection to its end.
    pub(super) fn gateway(
        &self,
        connection: &mut Connection,
        client: &Arc<WebSocket>,
    ) -> io::Result<()> {
        let heartbeat = self.state().heartbeat;
        client.say(&json!({"op": 10, "d": {"heartbeat_interval": heartbeat}}).to_string());
        let end = loop {
            let frame = match client.read(connection) {
                Ok(Received::Text(text)) => {
                    serde_json::from_str::<Value>(&text).unwrap_or_default()
                }
                Ok(Received::Close(code)) => {
                    client.close(code.unwrap_or(1000), "");
                    // Who says goodbye cannot come back.
                    if code.is_none_or(|code| code == 1000 || code == 1001) {
                        self.change(|state| state.end_session(client));
                    }
                    break Ok(());
                }
                Ok(Received::Binary(_)) => {
                    self.change(|state| state.complain("a binary message".to_owned()));
                    break Ok(());
                }
                Ok(Received::Breach(breach)) => {
                    self.change(|state| state.complain(breach));
                    break Ok(());
                }
                Err(error) => break Err(error),
            };
            if let Err((code, why)) = self.change(|state| state.frame(&frame, client)) {
                client.close(code, why);
                // The client's close frame.
                break client.read(connection).map(drop);
            }
        };
        self.change(|state| {
            for session in state.sessions.values_mut() {
                if session
                    .client
                    .as_ref()
                    .is_some_and(|own| Arc::ptr_eq(own, client))
                {
                    session.client = None;
                }
            }
        });
        end
    }
}

impl State {
    fn end_session(&mut self, client: &Arc<WebSocket>) {
        let is_own = |session: &Session| {
            let own = session.client.as_ref();
            own.is_some_and(|own| Arc::ptr_eq(own, client))
        };
        self.sessions.retain(|_, session| !is_own(session));
    }

    fn frame(&mut self, frame: &Value, client: &Arc<WebSocket>) -> Result<(), (u16, &'static str)> {
        let data = &frame["d"];
        match frame["op"].as_u64() {
            Some(1) => {
                if !data.is_null() && !data.is_u64() {
                    self.complain(format!("a heartbeat with {data}"));
                }
                client.say(&json!({"op": 11}).to_string());
                Ok(())
            }
            Some(2) => {
                self.check_token(data)?;
                let intents = data["intents"].as_u64().ok_or((4013, "invalid intents"))?;
                if self.forbids_guilds && intents & GUILDS != 0 {
                    return Err((4014, "disallowed intents"));
                }
                if data["shard"]
                    .as_array()
                    .is_none_or(|shard| shard.len() != 2)
                {
                    return Err((4010, "invalid shard"));
                }
                self.readies += 1;
                let id = format!("session-{}", self.readies);
                let ready = json!({"op": 0, "s": 1, "t": "READY", "d": {
                    "version": 1, "session_id": id, "shard": data["shard"],
                    "user": {"id": BOT_ID, "username": "crab", "bot": true},
                }});
                client.say(&ready.to_string());
                let session = Session {
                    events: vec![ready],
                    client: Some(Arc::clone(client)),
                };
                self.sessions.insert(id, session);
                Ok(())
            }
            Some(6) => {
                self.check_token(data)?;
                let id = data["session_id"].as_str().unwrap_or_default();
                let seen = data["seq"].as_u64().unwrap_or_default() as usize;
                let Some(session) = self.sessions.get_mut(id) else {
                    client.say(&json!({"op": 9, "d": false}).to_string());
                    return Ok(());
                };
                if seen > session.events.len() {
                    return Err((4007, "invalid seq"));
                }
                session.events[seen..]
                    .iter()
                    .for_each(|event| client.say(&event.to_string()));
                let resumed = json!({"op": 0, "s": session.events.len(), "t": "RESUMED", "d": ""});
                client.say(&resumed.to_string());
                session.client = Some(Arc::clone(client));
                self.resumes += 1;
                Ok(())
            }
            op => {
                self.complain(format!("a frame with the opcode {op:?}"));
                Err((4001, "invalid opcode"))
            }
        }
    }

    fn check_token(&mut self, data: &Value) -> Result<(), (u16, &'static str)> {
        let is_right = !self.token.is_empty() && data["token"] == format!("QQBot {}", self.token);
        is_right.then_some(()).ok_or((4004, "invalid token"))
    }
}
