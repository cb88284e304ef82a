//! Slack in the table.

use serde_json::{Value, json};

use super::{Place, Shown, Who};
use crate::harness::slack::{APP_TOKEN, BOT_TOKEN, Fault, Person, Place as Chat, Said, Slack};

/// The fake, with its people.
pub struct Service {
    server: Slack,
    ana: Person,
    bob: Person,
    group: Chat,
}

impl Service {
    fn person(&self, who: Who) -> &Person {
        match who {
            Who::Ana => &self.ana,
            Who::Stranger => &self.bob,
        }
    }

    fn chat(&self, place: Place) -> Chat {
        match place {
            Place::Private(who) => self.person(who).chat(),
            Place::Group => self.group.clone(),
        }
    }
}

/// What a person types: Slack's own program keeps what begins with a slash.
fn typed(text: &str) -> String {
    match text.strip_prefix('/') {
        Some(command) => format!("!{command}"),
        None => text.to_owned(),
    }
}

impl super::Service for Service {
    const NAME: &'static str = "slack";
    const PUSHES: bool = true;
    const LENGTH_MAX: usize = 12_000;

    fn start() -> Self {
        let server = Slack::start();
        // A test that starts a gateway often would wait for these most of its time.
        server.counts_no_calls();
        Self {
            ana: server.person("U0ANA", "Ana"),
            bob: server.person("U0BOB", "Bob"),
            group: server.channel("general"),
            server,
        }
    }

    fn section(&self) -> Value {
        // In threads, each mention would begin a conversation.
        json!({
            "enabled": true, "botToken": BOT_TOKEN, "appToken": APP_TOKEN,
            "apiBase": self.server.api_base(), "allowFrom": ["U0ANA"], "replyInThread": false,
        })
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let opened = self.server.connections().0;
        Box::new(move || {
            self.server.wait_for_connections(opened + 1);
        })
    }

    fn says(&self, who: Who, place: Place, text: &str) -> String {
        self.person(who).says_in(&self.chat(place), &typed(text)).ts
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.person(who).mentions_in(&self.chat(place), text).ts
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.person(who).forwards_in(&self.chat(place), text);
    }

    fn sends_file(&self, who: Who, place: Place, text: &str, (name, content): (&str, &[u8])) {
        let file = (name, "text/plain", content.to_vec());
        self.person(who).sends_in(&self.chat(place), text, file);
    }

    fn edits(&self, who: Who, place: Place, message: &str, text: &str) {
        let said = Said {
            ts: message.to_owned(),
            place: self.chat(place),
        };
        self.person(who).edits(&said, text);
    }

    fn presses(&self, who: Who, place: Place, label: &str) {
        self.person(who).presses_in(&self.chat(place), label);
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.server.messages(&self.chat(place)).into_iter();
        let shown = messages.map(|message| Shown {
            id: message.ts.clone(),
            text: message.shown(),
            buttons: message.buttons(),
            files: message
                .files
                .iter()
                .map(|file| (file.name.clone(), file.bytes.to_vec()))
                .collect(),
            written: message.text,
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.encode_utf16().count()
    }

    fn is_code(shown: &Shown, text: &str) -> bool {
        let mut blocks = shown.text.split("```").skip(1).step_by(2);
        blocks.any(|block| block.contains(text))
    }

    fn disconnect(&self) {
        self.server.cut();
    }

    fn limit_next(&self) {
        // Slack asks to wait for whole seconds.
        self.server.fail_next("chat.postMessage", Fault::TooMany(1));
    }

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        let before = self.server.calls("conversations.history").len();
        self.server
            .fail_next("conversations.history", Fault::TooMany(40));
        Box::new(move || self.server.calls("conversations.history").len() > before)
    }

    fn outage(&self, is_on: bool) {
        match is_on {
            true => self.server.go_offline(),
            false => {
                // Slack sends an event again for some minutes only.
                self.server.gives_up_on_events();
                self.server.go_online();
            }
        }
    }
}
