//! IRC in the table.

use serde_json::{Value, json};

use super::{HERE, Place, Shown, Who, number_of};
use crate::harness::irc::{CHANNEL, Fault, Irc, NICK, Person};
use crate::harness::wait_until;

/// The fake, with its people.
pub struct Service {
    server: Irc,
    ana: Person,
    bob: Person,
}

impl Service {
    fn person(&self, who: Who) -> &Person {
        match who {
            Who::Ana => &self.ana,
            Who::Stranger => &self.bob,
        }
    }

    fn target(&self, place: Place) -> &str {
        match place {
            Place::Private(who) => &self.person(who).nick,
            Place::Group => CHANNEL,
        }
    }
}

impl super::Service for Service {
    const NAME: &'static str = "irc";
    /// 24 lines of 400 bytes.
    const LENGTH_MAX: usize = 9623;
    const BUTTONS: bool = false;
    const EDITS: bool = false;
    const NO_FILES: Option<&'static str> = Some("IRC carries no files");

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            ("file_in", "IRC carries no files, in neither direction"),
            (
                "a_forward_is_no_command",
                "IRC has no forwards: a person can only type again what others have written",
            ),
            ("edit", "messages of IRC cannot be edited"),
            (
                "kills",
                "a server tells a message once, to those who are connected, and waits for no confirmation",
            ),
            (
                "limited_catch_up",
                "a server or bouncer tells by itself what came meanwhile; nothing is asked for",
            ),
        ]
    }

    fn start() -> Self {
        let server = Irc::start();
        Self {
            ana: server.person("ana", Some("ana")),
            bob: server.person("bob", Some("bob")),
            server,
        }
    }

    fn section(&self) -> Value {
        self.server.section()
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        vec![("/tls/caFile", json!(self.server.authority()))]
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let clients = self.server.clients();
        Box::new(move || self.server.wait_for_clients(clients + 1))
    }

    /// The server tells it only to those who are connected, except where it is a bouncer.
    fn says(&self, who: Who, place: Place, text: &str) -> String {
        if !self.server.is_bouncer() {
            self.server.wait_for_clients(1);
        }
        match place {
            Place::Private(_) => self.person(who).says(text),
            Place::Group => self.person(who).says_in_channel(text),
        }
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.says(who, place, &format!("{NICK}: {text}"))
    }

    fn forwards(&self, _: Who, _: Place, _: &str) {
        unreachable!("IRC has no forwards")
    }

    fn sends_file(&self, _: Who, _: Place, _: &str, _: (&str, &[u8])) {
        unreachable!("IRC carries no files, in neither direction")
    }

    fn edits(&self, _: Who, _: Place, _: &str, _: &str) {
        unreachable!("messages cannot be edited")
    }

    /// A question may have more than one piece.
    fn presses(&self, who: Who, place: Place, label: &str) {
        let mut number = None;
        wait_until(&format!("a choice {label:?}"), || {
            let texts = self.server.texts(self.target(place)).join("\n");
            let (_, newest) = texts
                .rsplit_once("Reply with a number:")
                .unwrap_or_default();
            number = number_of(&format!("Reply with a number:{newest}"), label);
            number.is_some()
        });
        self.says(who, place, &number.unwrap().to_string());
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        assert!(place != HERE || self.ana.nick == "ana");
        let pieces = self.server.pieces(self.target(place)).into_iter().zip(1..);
        let shown = pieces.map(|(piece, number): (_, usize)| Shown {
            id: number.to_string(),
            text: piece.text(),
            written: piece.lines.join("\n"),
            ..Shown::default()
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.len()
    }

    /// Code is what it is.
    fn is_code(shown: &Shown, text: &str) -> bool {
        shown.written.contains(text)
    }

    fn disconnect(&self) {
        self.server.cut();
    }

    fn limit_next(&self) {
        self.server.fail_next(Fault::TooFast);
    }

    /// The server is gone; a bouncer tells afterwards what was written meanwhile.
    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        Box::new(|| true)
    }

    fn outage(&self, is_on: bool) {
        match is_on {
            true => {
                self.server.keeps(true);
                self.server.go_offline();
            }
            false => self.server.go_online(),
        }
    }
}
