//! The entries of `agents.list` and `agents.bindings`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::base::message::Address;

/// The id of the agent that is always there.
pub const MAIN: &str = "main";

/// An entry of `agents.list`. Its members have been checked against the table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct AgentEntry(Map<String, Value>);

impl AgentEntry {
    /// Its id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// What it says.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Whether it is to be the default agent.
    pub fn is_default(&self) -> bool {
        self.0.get("default") == Some(&Value::Bool(true))
    }

    /// A member that is a text; empty where it is not set.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// An entry of `agents.bindings`: the messages that an agent serves. What is empty fits every message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Binding {
    /// The agent's id.
    pub agent: String,
    /// The channel's name.
    pub channel: String,
    /// The chat's id; `CHAT:THREAD` for one of its threads or topics.
    pub chat: String,
    /// The id of the person in a private chat. A group is one conversation, with one agent for everyone in
    /// it, so a binding with a sender never fits a group.
    pub sender: String,
}

impl Binding {
    /// Whether it fits a chat; `person` is the one in a private chat.
    pub fn fits(&self, chat: &Address, person: Option<&str>) -> bool {
        let is_chat = || match chat.thread.as_ref() {
            Some(thread) => self.chat == format!("{}:{thread}", chat.chat),
            None => false,
        };
        (self.channel.is_empty() || self.channel == chat.channel)
            && (self.chat.is_empty() || self.chat == chat.chat || is_chat())
            && (self.sender.is_empty() || person == Some(self.sender.as_str()))
    }
}
