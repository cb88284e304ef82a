//! What most stories here begin with: a scripted model, Telegram, and Ana, who may speak.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, Request, Step};
use crate::harness::systemd::Watchdog;
use crate::harness::telegram::{Message, Person, Place, Telegram};

/// Everything but the gateway itself, which each story starts.
pub struct Scene {
    pub model: Model,
    pub telegram: Telegram,
    pub home: Home,
    pub ana: Person,
}

impl Scene {
    /// The model plays a script. Without a step it must not be asked.
    pub fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        Self::with(Model::playing(script))
    }

    /// The model answers by what it is asked.
    pub fn answering(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Self {
        Self::with(Model::answering(answer))
    }

    fn with(model: Model) -> Self {
        let telegram = Telegram::start();
        let home = Home::with_telegram(&model, &telegram);
        let ana = telegram.person(1001, "Ana", Some("ana"));
        Self {
            model,
            telegram,
            home,
            ana,
        }
    }

    /// Sets a member of `channels.telegram`.
    pub fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/telegram/{key}"), value);
        self
    }

    /// Has progress shown by messages that are edited, as in groups.
    pub fn with_edits(self) -> Self {
        self.set("drafts", Value::Bool(false))
    }

    pub fn start(&self) -> Gateway {
        Gateway::start(&self.home)
    }

    /// The same under a manager with a watchdog of this time.
    pub fn start_with_watchdog(&self, every: Duration) -> (Gateway, Watchdog) {
        Gateway::with_watchdog(&self.home, every)
    }

    /// Waits for a message of the bot's in Ana's chat that contains these words.
    pub fn wait_for(&self, words: &str) -> Message {
        self.wait_in(self.ana.chat(), words)
    }

    /// Waits for a message of the bot's in a place that contains these words.
    pub fn wait_in(&self, place: Place, words: &str) -> Message {
        self.telegram
            .wait_for_message(place, |message| message.text.contains(words))
    }

    /// Waits for a message with buttons in Ana's chat that contains these words.
    pub fn wait_for_question(&self, words: &str) -> Message {
        self.telegram.wait_for_message(self.ana.chat(), |message| {
            message.text.contains(words) && message.markup.is_some()
        })
    }

    /// What stands in Ana's chat from the bot, oldest first.
    pub fn texts(&self) -> Vec<String> {
        self.texts_in(self.ana.chat())
    }

    /// What stands in a place from the bot, oldest first.
    pub fn texts_in(&self, place: Place) -> Vec<String> {
        let messages = self.telegram.messages(place).into_iter();
        messages.map(|message| message.text).collect()
    }

    /// What was decided about commands, as it is on record.
    pub fn audit(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.home.path().join("audit.jsonl")).unwrap_or_default();
        log.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|record| record["event"] != "end")
            .collect()
    }

    /// The last words of a person in the model's request of that number, from 0.
    pub fn asked(&self, request: usize) -> String {
        let requests = self.model.requests();
        let messages = requests[request].messages();
        let person = messages.iter().rfind(|message| message["role"] == "user");
        person.unwrap()["content"].to_string()
    }
}
