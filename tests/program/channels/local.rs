//! The local channel in the table, and what is special about it.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{HERE, Place, Scene, Service as _, Shown, Who};
use crate::harness::gateway::Gateway;
use crate::harness::local::{LocalMessage, LocalProgram};
use crate::harness::model::{Gate, say};
use crate::harness::wait_until;

/// A program with its people.
pub struct Service {
    program: LocalProgram,
}

fn chat(place: Place) -> &'static str {
    match place {
        Place::Private(Who::Ana) => "ana: here",
        Place::Private(Who::Stranger) => "bob",
        Place::Group => "home",
    }
}

fn from(who: Who) -> Value {
    match who {
        Who::Ana => json!({"id": "ana", "name": "Ana"}),
        Who::Stranger => json!({"id": "bob", "name": "Bob"}),
    }
}

impl Service {
    fn newest(&self, place: Place, holds: impl Fn(&LocalMessage) -> bool) -> LocalMessage {
        let mut found = None;
        wait_until("a message", || {
            found = self.program.messages(chat(place)).into_iter().rfind(&holds);
            found.is_some()
        });
        found.unwrap()
    }
}

impl super::Service for Service {
    const NAME: &'static str = "local";
    const LENGTH_MAX: usize = 8192;
    const ONE_MESSAGE: bool = false;

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            (
                "mention_in_group",
                "the program passes on only what is for the bot",
            ),
            ("rate_limit", "a socket refuses nothing because of its rate"),
            (
                "limited_catch_up",
                "a program on this machine writes when it is connected; nothing is asked for",
            ),
        ]
    }

    fn start() -> Self {
        Self {
            program: LocalProgram::start(),
        }
    }

    fn section(&self) -> Value {
        json!({"enabled": true, "socket": self.program.socket(), "allowFrom": ["ana"]})
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let before = self.program.connections();
        Box::new(move || {
            wait_until("a connection", || self.program.connections() > before);
        })
    }

    fn says(&self, who: Who, place: Place, text: &str) -> String {
        let is_group = place == Place::Group;
        self.program.says(json!({
            "type": "message", "chat": chat(place), "from": from(who), "text": text, "group": is_group,
        }))
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.says(who, place, text)
    }

    fn forwards(&self, who: Who, place: Place, text: &str) {
        self.program.says(json!({
            "type": "message", "chat": chat(place), "from": from(who), "text": text, "forwarded": true,
        }));
    }

    fn sends_file(&self, who: Who, place: Place, text: &str, (name, content): (&str, &[u8])) {
        let path = self.program.file(name, content);
        self.program.says(json!({
            "type": "message", "chat": chat(place), "from": from(who), "text": text, "files": [path],
        }));
    }

    fn edits(&self, who: Who, place: Place, message: &str, text: &str) {
        self.program.says(json!({
            "type": "edit", "chat": chat(place), "from": from(who), "message": message, "text": text,
        }));
    }

    fn presses(&self, who: Who, place: Place, label: &str) {
        let has = |message: &LocalMessage| message.buttons.iter().any(|(own, _)| own == label);
        let message = self.newest(place, has);
        let (_, data) = message
            .buttons
            .iter()
            .find(|(own, _)| own == label)
            .unwrap();
        self.program.says(json!({
            "type": "press", "chat": chat(place), "from": from(who), "message": message.id, "data": data,
            "text": message.text,
        }));
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let messages = self.program.messages(chat(place)).into_iter();
        let shown = messages.map(|message| Shown {
            id: message.id,
            buttons: message
                .buttons
                .into_iter()
                .map(|(label, _)| label)
                .collect(),
            files: message.file.into_iter().collect(),
            written: message.text.clone(),
            text: message.text,
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
        self.program.disconnect();
    }

    fn limit_next(&self) {}

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        Box::new(|| true)
    }

    fn outage(&self, is_on: bool) {
        self.program.set_offline(is_on);
    }
}

#[test]
fn a_line_is_acknowledged_once_it_is_stored_and_again_when_it_comes_again() {
    let gate = Gate::default();
    let scene = Scene::<Service>::playing([say("Hello.").after(&gate)]);
    let gateway = scene.start();
    let program = &scene.service.program;
    let mode = std::fs::metadata(program.socket())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    scene.service.says(Who::Ana, HERE, "good morning");
    wait_until("the acknowledgement", || program.unacknowledged() == 0);
    let inbox = std::fs::read_to_string(scene.home.path().join("inbox.jsonl")).unwrap();
    assert!(inbox.contains("good morning"), "{inbox}");
    // The same id is the same message.
    let again = json!({
        "type": "message", "id": "1", "chat": chat(HERE), "from": from(Who::Ana), "text": "good morning",
    });
    program.writes(format!("{again}\n{again}\n").as_bytes());
    gate.open();
    scene.wait_for(HERE, "Hello.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 1);
    assert!(!program.socket().exists(), "it is removed");
}

#[test]
fn what_makes_no_sense_is_refused_and_the_rest_is_taken() {
    let scene = Scene::<Service>::playing([say("Hello.")]);
    let gateway = scene.start();
    let program = &scene.service.program;
    program.writes(b"nonsense\n\n{\"type\":\"dance\",\"id\":\"x7\"}\n");
    scene.service.says(Who::Ana, HERE, "hello");
    scene.wait_for(HERE, "Hello.");
    let errors = program.errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(errors[1]["id"], "x7");
    // A line without an end is not collected for ever.
    let before = program.connections();
    program.writes(&vec![b'x'; 65 * 1024]);
    wait_until("another connection", || program.connections() > before);
    gateway.stop().ends_with(0);
}

#[test]
fn what_a_chat_is_owed_waits_for_a_program() {
    let gate = Gate::default();
    let scene = Scene::<Service>::playing([say("Here I am.").after(&gate)]);
    let gateway = scene.start();
    scene.service.says(Who::Ana, HERE, "hello");
    scene.model.wait_for_requests(1);
    scene.service.outage(true);
    gate.open();
    gateway.wait_for_log("no program is subscribed to the chat");
    gateway.stop().ends_with(0);
    let gateway = Gateway::start(&scene.home);
    scene.service.outage(false);
    scene.wait_for(HERE, "Here I am.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(HERE).len(), 1);
}
