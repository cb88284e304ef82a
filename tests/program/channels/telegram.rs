//! Telegram in the table.

use serde_json::{Value, json};

use super::{Place, Shown, Who};
use crate::harness::telegram::{
    BOT_NAME, Fault, Media, Person, Place as Chat, Said, TOKEN, Telegram, Upload,
};

/// The fake, with its people.
pub struct Service {
    server: Telegram,
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
            Place::Group => self.group,
        }
    }
}

impl super::Service for Service {
    const NAME: &'static str = "telegram";
    const LENGTH_MAX: usize = 4096;

    fn start() -> Self {
        let server = Telegram::start();
        Self {
            ana: server.person(1001, "Ana", Some("ana")),
            bob: server.person(2002, "Bob", None),
            group: server.group(-1_005, "Home"),
            server,
        }
    }

    fn section(&self) -> Value {
        json!({"enabled": true, "token": TOKEN, "apiBase": self.server.url(), "allowFrom": ["1001"],
            "drafts": false, "richMessages": "off"})
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        Box::new(move || {
            self.server.wait_for_poll();
        })
    }

    fn says(&self, who: Who, place: Place, text: &str) -> String {
        let said = self.person(who).says_in(self.chat(place), text);
        said.message.to_string()
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.says(who, place, &format!("@{BOT_NAME} {text}"))
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.person(who).forwards_in(self.chat(place), text);
    }

    fn sends_file(&self, who: Who, place: Place, text: &str, (name, content): (&str, &[u8])) {
        let upload = Upload::new(Media::Document, name, content).caption(text);
        self.person(who).sends_in(self.chat(place), upload);
    }

    fn edits(&self, who: Who, place: Place, message: &str, text: &str) {
        let said = Said {
            update: 0,
            message: message.parse().unwrap(),
            place: self.chat(place),
        };
        self.person(who).edits(&said, text);
    }

    fn presses(&self, who: Who, place: Place, label: &str) {
        self.person(who).presses_in(self.chat(place), label);
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.server.messages(self.chat(place)).into_iter();
        let shown = messages.map(|message| {
            let rows = message.markup.as_ref().map(|it| &it["inline_keyboard"]);
            let rows = rows.and_then(Value::as_array).into_iter().flatten();
            let buttons = rows.filter_map(Value::as_array).flatten();
            let buttons = buttons.map(|button| button["text"].as_str().unwrap().to_owned());
            let file = message.file.iter();
            Shown {
                id: message.id.to_string(),
                buttons: buttons.collect(),
                files: file
                    .map(|file| (file.name.clone(), file.bytes.to_vec()))
                    .collect(),
                text: message.text,
                written: message.html,
            }
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.encode_utf16().count()
    }

    fn is_code(shown: &Shown, text: &str) -> bool {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let mut blocks = shown.written.split("<pre").skip(1);
        blocks.any(|block| {
            block
                .split("</pre>")
                .next()
                .is_some_and(|code| code.contains(&text))
        })
    }

    fn disconnect(&self) {
        self.server.go_offline();
        self.server.go_online();
    }

    fn limit_next(&self) {
        let fault = Fault::TooManyRequests { retry_after: 1 };
        self.server.fail_next("sendMessage", fault);
    }

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        let before = self.server.calls("getUpdates").len();
        let fault = Fault::TooManyRequests { retry_after: 40 };
        self.server.fail_next("getUpdates", fault);
        Box::new(move || self.server.calls("getUpdates").len() > before)
    }

    fn outage(&self, is_on: bool) {
        match is_on {
            true => self.server.go_offline(),
            false => self.server.go_online(),
        }
    }
}
