//! Matrix in the table.

use serde_json::Value;

use super::{Place, Shown, Who};
use crate::harness::matrix::{Fault, Matrix, Person, section};

/// The fake, with its people.
pub struct Service {
    server: Matrix,
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

    fn room(&self, place: Place) -> &str {
        match place {
            Place::Private(who) => self.person(who).chat(),
            Place::Group => &self.group,
        }
    }
}

impl super::Service for Service {
    const NAME: &'static str = "matrix";
    const LENGTH_MAX: usize = 14_000;
    const BUTTONS: bool = false;

    fn start() -> Self {
        let server = Matrix::start();
        let (ana, bob) = (server.person("ana", "Ana"), server.person("bob", "Bob"));
        Self {
            group: server.room("home", &[&ana, &bob]),
            ana,
            bob,
            server,
        }
    }

    fn section(&self) -> Value {
        section(&self.server)
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let before = self.server.calls("sync").len();
        Box::new(move || {
            self.server.wait_until_listening(before);
        })
    }

    fn says(&self, who: Who, place: Place, text: &str) -> String {
        self.person(who).says_in(self.room(place), text)
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.person(who).mentions_in(self.room(place), text)
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.person(who).forwards_in(self.room(place), text);
    }

    fn sends_file(&self, who: Who, place: Place, text: &str, (name, content): (&str, &[u8])) {
        let file = (name, "text/plain");
        self.person(who)
            .sends(self.room(place), text, file, content);
    }

    fn edits(&self, who: Who, place: Place, message: &str, text: &str) {
        self.person(who).edits(self.room(place), message, text);
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.server.messages(self.room(place)).into_iter();
        let shown = messages.map(|message| Shown {
            id: message.id,
            text: message.text,
            written: message.html,
            buttons: Vec::new(),
            files: message
                .file
                .map(|file| (file.name, file.bytes.to_vec()))
                .into_iter()
                .collect(),
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.len()
    }

    fn is_code(shown: &Shown, text: &str) -> bool {
        let html = shown.written.replace("&lt;", "<").replace("&amp;", "&");
        let mut blocks = html.split("<pre>").skip(1);
        blocks.any(|block| {
            let code = block.split("</pre>").next();
            code.is_some_and(|code| code.contains(text))
        })
    }

    fn disconnect(&self) {
        self.server.cuts();
    }

    fn limit_next(&self) {
        self.server
            .fail_when(1, Fault::TooManyRequests(500), |call| {
                call.route == "send" && call.arguments[1] == "m.room.message"
            });
    }

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        let before = self.server.calls("sync").len();
        self.server
            .fail_next("sync", Fault::TooManyRequests(40_000));
        Box::new(move || self.server.calls("sync").len() > before)
    }

    fn outage(&self, is_on: bool) {
        match is_on {
            true => self.server.go_offline(),
            false => self.server.go_online(),
        }
    }
}
