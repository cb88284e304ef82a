//! Feishu in the table.

use serde_json::{Value, json};

use super::{Place, Shown, Who};
use crate::harness::feishu::{APP_ID, APP_SECRET, Chat, Fault, Feishu, Person, Upload};

const ANA: &str = "ou_ana00000000000000000000000000001";

/// The fake, with its people.
pub struct Service {
    server: Feishu,
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

impl super::Service for Service {
    const NAME: &'static str = "feishu";
    const LENGTH_MAX: usize = 16 * 1024;
    const CAPTIONS: bool = false;
    const ONE_MESSAGE: bool = false;

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            ("edit", "Feishu tells bots nothing of edited messages"),
            (
                "limited_catch_up",
                "Feishu sends what was not confirmed by itself; nothing is asked for",
            ),
        ]
    }

    fn start() -> Self {
        let server = Feishu::start();
        Self {
            ana: server.person(ANA, "Ana"),
            bob: server.person("ou_bob00000000000000000000000000002", "Bob"),
            group: server.group(),
            server,
        }
    }

    fn section(&self) -> Value {
        json!({
            "enabled": true, "appId": APP_ID, "appSecret": APP_SECRET, "apiBase": self.server.url(),
            "allowFrom": [ANA],
        })
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let links = self.server.links();
        Box::new(move || {
            self.server.wait_for_link(links + 1);
        })
    }

    fn says(&self, who: Who, place: Place, text: &str) -> String {
        self.person(who).says_in(&self.chat(place), text)
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.person(who).mentions_in(&self.chat(place), text)
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.person(who).forwards_in(&self.chat(place), text);
    }

    fn sends_file(&self, who: Who, place: Place, _: &str, (name, content): (&str, &[u8])) {
        let upload = Upload::file(name, content);
        self.person(who).sends_in(&self.chat(place), &upload);
    }

    fn edits(&self, _: Who, _: Place, message: &str, _: &str) {
        unreachable!("nobody would hear that {message} was edited");
    }

    fn presses(&self, who: Who, place: Place, label: &str) {
        self.person(who).presses_in(&self.chat(place), label);
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.server.messages(&self.chat(place)).into_iter();
        let shown = messages.map(|message| {
            let buttons = message.buttons.iter();
            let file = message.file.as_ref();
            Shown {
                id: message.id.clone(),
                buttons: buttons.map(|button| button.label.clone()).collect(),
                files: file
                    .map(|file| (file.name.clone(), file.bytes.to_vec()))
                    .into_iter()
                    .collect(),
                written: message.content.clone(),
                text: message.text.clone(),
            }
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.len()
    }

    fn is_code(shown: &Shown, text: &str) -> bool {
        let mut blocks = shown.text.split("```").skip(1).step_by(2);
        blocks.any(|block| block.contains(text))
    }

    fn disconnect(&self) {
        self.server.cut_links();
    }

    fn forgives_haste(&self) {
        self.server
            .forgives("230020 trigger message frequency limit");
    }

    fn limit_next(&self) {
        // Feishu asks to wait for whole seconds.
        self.server
            .fail_next("createMessage", Fault::RateLimited(1));
    }

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        Box::new(|| true)
    }

    fn outage(&self, is_on: bool) {
        match is_on {
            true => self.server.go_offline(),
            false => self.server.go_online(),
        }
    }
}
