//! WhatsApp in the table, by way of nanobot's bridge.

use serde_json::Value;

use super::{Place, Shown, Who};
use crate::harness::whatsapp::{Fault, Person, WhatsApp};

/// The fake, with its people.
pub struct Service {
    server: WhatsApp,
    ana: Person,
    bob: Person,
    group: Person,
}

impl Service {
    fn chat(&self, place: Place) -> &Person {
        match place {
            Place::Private(Who::Ana) => &self.ana,
            Place::Private(Who::Stranger) => &self.bob,
            Place::Group => &self.group,
        }
    }
}

impl super::Service for Service {
    const NAME: &'static str = "whatsapp";
    const LENGTH_MAX: usize = 4096;
    const BUTTONS: bool = false;
    const EDITS: bool = false;
    const NO_FILES: Option<&'static str> = Some("the WhatsApp bridge sends no files");

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            ("file_in", "the bridge of v0.1.4 delivers no files"),
            (
                "mention_in_group",
                "the bridge does not tell who writes in a group, so a stranger there cannot be told from Ana",
            ),
            ("edit", "the bridge does not tell that a message was edited"),
            (
                "kills",
                "the bridge tells a message once, to those who are connected, and waits for no confirmation",
            ),
            (
                "limited_catch_up",
                "the bridge tells by itself what came meanwhile; nothing is asked for",
            ),
        ]
    }

    fn start() -> Self {
        let server = WhatsApp::start();
        Self {
            ana: server.person("4179111"),
            bob: server.person("4179222"),
            group: server.group("120363-9"),
            server,
        }
    }

    fn section(&self) -> Value {
        self.server.section()
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let clients = self.server.clients();
        Box::new(move || {
            self.server.wait_for_clients(clients + 1);
        })
    }

    /// The bridge tells it only to those who are connected.
    fn says(&self, _: Who, place: Place, text: &str) -> String {
        self.server.wait_for_clients(1);
        let said = self.chat(place).says(text);
        said["id"].as_str().unwrap_or_default().to_owned()
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.says(who, place, &format!("crab, {text}"))
    }

    fn forwards(&self, _: Who, place: Place, text: &str) {
        self.server.wait_for_clients(1);
        self.chat(place).forwards(text);
    }

    fn sends_file(&self, _: Who, _: Place, _: &str, _: (&str, &[u8])) {
        unreachable!("the bridge delivers no files")
    }

    fn edits(&self, _: Who, _: Place, _: &str, _: &str) {
        unreachable!("the bridge does not tell edits")
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.server.messages(self.chat(place)).into_iter();
        let shown = messages.map(|message| Shown {
            id: message.id.to_string(),
            written: message.text.clone(),
            text: message.text,
            ..Shown::default()
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
        self.server.cut();
    }

    fn limit_next(&self) {
        self.server.fail_next(Fault::TooMuch);
    }

    /// The bridge loses WhatsApp, which keeps what people write.
    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        Box::new(|| true)
    }

    fn outage(&self, is_on: bool) {
        self.server.set_connected(!is_on);
    }
}
