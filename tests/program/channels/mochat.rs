//! MoChat in the table.

use serde_json::Value;

use super::{Place, Shown, Who};
use crate::harness::mochat::{Fault, MoChat};

/// The fake, with its people.
pub struct Service {
    server: MoChat,
}

fn chat(place: Place) -> &'static str {
    match place {
        Place::Private(Who::Ana) => "session_ana",
        Place::Private(Who::Stranger) => "session_bob",
        Place::Group => "panel1",
    }
}

fn name(who: Who) -> &'static str {
    match who {
        Who::Ana => "ana",
        Who::Stranger => "bob",
    }
}

impl super::Service for Service {
    const NAME: &'static str = "mochat";
    const LENGTH_MAX: usize = 4000;
    const BUTTONS: bool = false;
    const EDITS: bool = false;
    const NO_FILES: Option<&'static str> = Some("MoChat takes no files");

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            ("file_in", "MoChat delivers no files to agents"),
            ("edit", "what is edited is not among the news of a session"),
        ]
    }

    fn start() -> Self {
        let server = MoChat::start();
        for chat in ["session_ana", "session_bob", "panel1"] {
            server.create(chat);
        }
        Self { server }
    }

    fn section(&self) -> Value {
        self.server.section()
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let watched = self.server.calls("sessions/watch");
        Box::new(move || {
            // Each session once.
            self.server.wait_for_calls("sessions/watch", watched + 2);
        })
    }

    fn says(&self, who: Who, place: Place, text: &str) -> String {
        let id = self.server.says(name(who), chat(place), text);
        if who == Who::Stranger && place != Place::Group {
            // Sessions are read one after the other, and the story counts on the order.
            self.server.wait_until_read(chat(place));
        }
        id
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.says(who, place, &format!("<@agent9> {text}"))
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.server.forwards(name(who), chat(place), text);
    }

    fn sends_file(&self, _: Who, _: Place, _: &str, _: (&str, &[u8])) {
        unreachable!("MoChat delivers no files")
    }

    fn edits(&self, _: Who, _: Place, _: &str, _: &str) {
        unreachable!("MoChat does not tell edits")
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let texts = self.server.texts(chat(place)).into_iter().zip(1..);
        let shown = texts.map(|(text, number): (String, usize)| Shown {
            id: number.to_string(),
            written: text.clone(),
            text,
            ..Shown::default()
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.chars().count()
    }

    /// Without markup, code is what it is.
    fn is_code(shown: &Shown, text: &str) -> bool {
        shown.written.contains(text)
    }

    fn disconnect(&self) {
        self.server.go_offline();
        self.server.go_online();
    }

    fn limit_next(&self) {
        self.server.fail_next(Fault::TooMany);
    }

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        let before = self.server.calls("sessions/watch");
        self.server.limits_watching(1);
        Box::new(move || self.server.calls("sessions/watch") > before)
    }

    fn outage(&self, is_on: bool) {
        match is_on {
            true => self.server.go_offline(),
            false => self.server.go_online(),
        }
    }
}
