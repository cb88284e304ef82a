//! Discord in the table.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Place, Shown, Who};
use crate::harness::discord::{Discord, Fault, Person, Place as Channel, Said, TOKEN, Upload};

/// The fake, with its people.
pub struct Service {
    server: Discord,
    ana: Person,
    bob: Person,
    group: Channel,
}

impl Service {
    fn person(&self, who: Who) -> &Person {
        match who {
            Who::Ana => &self.ana,
            Who::Stranger => &self.bob,
        }
    }

    fn channel(&self, place: Place) -> Channel {
        match place {
            Place::Private(who) => self.person(who).chat(),
            Place::Group => self.group,
        }
    }
}

impl super::Service for Service {
    const NAME: &'static str = "discord";
    const PUSHES: bool = true;
    const LENGTH_MAX: usize = 2000;

    fn start() -> Self {
        let server = Discord::start();
        // A test that starts a gateway often would wait for this most of its time.
        server.set_identify_window(Duration::ZERO);
        let guild = server.guild("home");
        Self {
            ana: server.person(1001, "Ana"),
            bob: server.person(2002, "Bob"),
            group: server.channel(guild, "general"),
            server,
        }
    }

    fn section(&self) -> Value {
        json!({
            "enabled": true, "token": TOKEN, "apiBase": self.server.api_base(), "allowFrom": ["1001"],
        })
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let (sessions, resumes) = self.server.sessions();
        Box::new(move || {
            crate::harness::wait_until("a session", || {
                let (now, resumed) = self.server.sessions();
                now + resumed > sessions + resumes
            });
        })
    }

    fn says(&self, who: Who, place: Place, text: &str) -> String {
        let said = self.person(who).says_in(self.channel(place), text);
        said.message.to_string()
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        let said = self.person(who).mentions_in(self.channel(place), text);
        said.message.to_string()
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.person(who).forwards_in(self.channel(place), text);
    }

    fn sends_file(&self, who: Who, place: Place, text: &str, (name, content): (&str, &[u8])) {
        let upload = Upload::new(name, "text/plain", content);
        self.person(who)
            .sends_in(self.channel(place), text, [upload]);
    }

    fn edits(&self, who: Who, place: Place, message: &str, text: &str) {
        let said = Said {
            message: message.parse().unwrap(),
            place: self.channel(place),
        };
        self.person(who).edits(&said, text);
    }

    fn presses(&self, who: Who, place: Place, label: &str) {
        self.person(who).presses_in(self.channel(place), label);
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.server.messages(self.channel(place)).into_iter();
        let shown = messages.map(|message| {
            let rows = message.components.as_array().into_iter().flatten();
            let buttons = rows
                .filter_map(|row| row["components"].as_array())
                .flatten();
            let buttons = buttons.map(|button| button["label"].as_str().unwrap().to_owned());
            let files = message.files.iter();
            Shown {
                id: message.id.to_string(),
                buttons: buttons.collect(),
                files: files
                    .map(|file| (file.name.clone(), file.bytes.to_vec()))
                    .collect(),
                written: message.text.clone(),
                text: message.text,
            }
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.chars().count()
    }

    fn is_code(shown: &Shown, text: &str) -> bool {
        let mut blocks = shown.written.split("```").skip(1).step_by(2);
        blocks.any(|block| block.contains(text))
    }

    fn disconnect(&self) {
        self.server.cut_gateway();
    }

    fn limit_next(&self) {
        let fault = Fault::TooManyRequests {
            retry_after: 0.5,
            is_global: false,
        };
        self.server.fail_next("createMessage", fault);
    }

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        let before = self.server.calls("getMessages").len();
        let fault = Fault::TooManyRequests {
            retry_after: 40.0,
            is_global: false,
        };
        self.server.fail_next("getMessages", fault);
        Box::new(move || self.server.calls("getMessages").len() > before)
    }

    fn outage(&self, is_on: bool) {
        match is_on {
            true => self.server.go_offline(),
            false => self.server.go_online(),
        }
    }
}
