//! QQ in the table.

use serde_json::{Value, json};

use super::{Place, Shown, Who};
use crate::harness::qq::{Fault, Person, Qq};
use crate::harness::wait_until;

/// The fake, with its people. In the group they have other ids.
pub struct Service {
    server: Qq,
    ana: Person,
    bob: Person,
    members: [Person; 2],
}

impl Service {
    fn at(&self, who: Who, place: Place) -> &Person {
        match (place, who) {
            (Place::Private(Who::Ana), _) => &self.ana,
            (Place::Private(Who::Stranger), _) => &self.bob,
            (Place::Group, Who::Ana) => &self.members[0],
            (Place::Group, Who::Stranger) => &self.members[1],
        }
    }
}

impl super::Service for Service {
    const NAME: &'static str = "qq";
    const LENGTH_MAX: usize = 4000;
    const BUTTONS: bool = false;
    const EDITS: bool = false;
    const ONE_MESSAGE: bool = false;

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            ("edit", "messages on QQ cannot be edited"),
            (
                "limited_catch_up",
                "QQ resumes a session or has forgotten it; nothing is asked for",
            ),
        ]
    }

    fn start() -> Self {
        let server = Qq::start();
        Self {
            ana: server.person("ANA1"),
            bob: server.person("BOB2"),
            members: [server.member("ANAG", "G1"), server.member("BOBG", "G1")],
            server,
        }
    }

    fn section(&self) -> Value {
        let mut section = self.server.section();
        section["allowFrom"] = json!(["ANA1", "ANAG"]);
        section
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let (readies, resumes) = self.server.sessions();
        Box::new(move || {
            wait_until("a session", || {
                let (now, resumed) = self.server.sessions();
                now + resumed > readies + resumes
            });
        })
    }

    /// In a group, QQ delivers only what mentions the bot.
    fn says(&self, who: Who, place: Place, text: &str) -> String {
        match place {
            Place::Group => String::new(),
            Place::Private(_) => self.at(who, place).says(text),
        }
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.at(who, place).says(text)
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.at(who, place).forwards(text);
    }

    fn sends_file(&self, who: Who, place: Place, text: &str, (name, content): (&str, &[u8])) {
        self.at(who, place).sends(text, &[(name, "file", content)]);
    }

    fn edits(&self, _: Who, _: Place, _: &str, _: &str) {
        unreachable!("messages on QQ cannot be edited")
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.server.messages(self.at(Who::Ana, place)).into_iter();
        let shown = messages.map(|message| Shown {
            id: message.id,
            written: message.text.clone(),
            text: message.text,
            buttons: message
                .buttons
                .into_iter()
                .map(|(label, _)| label)
                .collect(),
            files: message.files,
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.chars().count()
    }

    /// Without Markdown, code is what it is.
    fn is_code(shown: &Shown, text: &str) -> bool {
        shown.written.contains(text)
    }

    fn disconnect(&self) {
        self.server.cut_gateway();
    }

    fn limit_next(&self) {
        self.server.fail_next(Fault::TooMany);
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
