//! DingTalk in the table.

use serde_json::Value;

use super::{Place, Shown, Who};
use crate::harness::dingtalk::{DingTalk, Fault, Person};

/// The fake, with its people.
pub struct Service {
    server: DingTalk,
    ana: Person,
    bob: Person,
    group: String,
}

impl Service {
    fn person(&self, who: Who) -> &Person {
        match who {
            Who::Ana => &self.ana,
            Who::Stranger => &self.bob,
        }
    }
}

impl super::Service for Service {
    const NAME: &'static str = "dingtalk";
    const LENGTH_MAX: usize = 6000;
    const BUTTONS: bool = false;
    const EDITS: bool = false;
    const CAPTIONS: bool = false;
    const ONE_MESSAGE: bool = false;

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            ("edit", "messages on DingTalk cannot be edited"),
            (
                "limited_catch_up",
                "DingTalk sends what was not confirmed by itself; nothing is asked for",
            ),
        ]
    }

    fn start() -> Self {
        let server = DingTalk::start();
        Self {
            ana: server.person("manager1", "Ana"),
            bob: server.person("0123-bob", "Bob"),
            group: server.group(),
            server,
        }
    }

    fn section(&self) -> Value {
        self.server.section()
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let links = self.server.links();
        Box::new(move || self.server.wait_for_link(links + 1))
    }

    /// In a group, DingTalk delivers only what mentions the robot.
    fn says(&self, who: Who, place: Place, text: &str) -> String {
        match place {
            Place::Group => String::new(),
            Place::Private(_) => self.person(who).says(text),
        }
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        match place {
            Place::Group => self.person(who).says_in(&self.group, text),
            Place::Private(_) => self.person(who).says(text),
        }
    }

    fn forwards(&self, who: Who, _: Place, text: &str) {
        self.person(who).forwards(text);
    }

    fn sends_file(&self, who: Who, _: Place, _: &str, file: (&str, &[u8])) {
        self.person(who).sends("file", "", file);
    }

    fn edits(&self, _: Who, _: Place, _: &str, _: &str) {
        unreachable!("messages on DingTalk cannot be edited")
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let place = match place {
            Place::Private(who) => &self.person(who).id,
            Place::Group => &self.group,
        };
        let messages = self.server.messages(place).into_iter();
        let shown = messages.map(|message| Shown {
            id: message.id,
            written: message.text.clone(),
            text: message.text,
            buttons: Vec::new(),
            files: message.file.into_iter().collect(),
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

    fn limit_next(&self) {
        self.server.fail_next("toPerson", Fault::TooMany);
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
