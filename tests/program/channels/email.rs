//! E-mail in the table.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::Value;

use super::{Place, Shown, Who};
use crate::harness::mail::{Fault, Letter, Mail, Person};

/// The fake, with its people and the conversation that each of them has.
pub struct Service {
    mail: Mail,
    ana: Person,
    bob: Person,
    /// The first mail of each conversation, by its person's address.
    threads: Mutex<BTreeMap<String, String>>,
}

impl Service {
    fn person(&self, who: Who) -> &Person {
        match who {
            Who::Ana => &self.ana,
            Who::Stranger => &self.bob,
        }
    }

    /// Somebody writes in their conversation, as an answer to its newest mail.
    fn write(&self, who: Who, letter: Letter) -> String {
        let person = self.person(who);
        let mut threads = self.threads.lock().unwrap();
        let root = threads.get(person.address()).cloned();
        let newest = self.mail.sent(person.address()).pop();
        let answers = root.into_iter().chain(newest.map(|mail| mail.id));
        let subject = match letter.subject.as_str() {
            "" => "hello".to_owned(),
            subject => subject.to_owned(),
        };
        let id = person.sends(&Letter {
            subject,
            answers: answers.collect(),
            ..letter
        });
        threads
            .entry(person.address().to_owned())
            .or_insert_with(|| id.clone());
        id
    }
}

impl super::Service for Service {
    const NAME: &'static str = "email";
    const LENGTH_MAX: usize = 20_000;
    const BUTTONS: bool = false;
    const EDITS: bool = false;

    fn lacks() -> &'static [(&'static str, &'static str)] {
        &[
            (
                "mention_in_group",
                "a mail is for the bot alone: it has neither groups nor mentions",
            ),
            ("edit", "a mail that was sent cannot be edited"),
            (
                "stranger",
                "unknown senders get no answer, as it may go to someone else; stories of its own tell about invitations",
            ),
        ]
    }

    fn start() -> Self {
        let mail = Mail::start();
        Self {
            ana: mail.person("ana@example.org", "Ana"),
            bob: mail.person("bob@example.net", "Bob"),
            threads: Mutex::default(),
            mail,
        }
    }

    fn section(&self) -> Value {
        self.mail.section()
    }

    fn connecting(&self) -> Box<dyn FnOnce() + '_> {
        let looks = |command: &String| command.starts_with("UID SEARCH UID");
        let before = self
            .mail
            .commands()
            .iter()
            .filter(|command| looks(command))
            .count();
        Box::new(move || {
            self.mail.wait_for_command("UID SEARCH UID", before + 1);
        })
    }

    fn says(&self, who: Who, _: Place, text: &str) -> String {
        let text = text.to_owned();
        self.write(
            who,
            Letter {
                text,
                ..Letter::default()
            },
        )
    }

    fn mentions(&self, who: Who, place: Place, text: &str) -> String {
        self.says(who, place, text)
    }

    fn forwards(&self, who: Who, _: Place, text: &str) {
        self.write(
            who,
            Letter {
                subject: "Fwd: hello".to_owned(),
                text: text.to_owned(),
                ..Letter::default()
            },
        );
    }

    fn sends_file(&self, who: Who, _: Place, text: &str, (name, content): (&str, &[u8])) {
        let kind = "application/octet-stream".to_owned();
        self.write(
            who,
            Letter {
                text: text.to_owned(),
                files: vec![(name.to_owned(), kind, content.to_vec())],
                ..Letter::default()
            },
        );
    }

    fn edits(&self, _: Who, _: Place, _: &str, _: &str) {
        panic!("a mail cannot be edited");
    }

    fn shown(&self, place: Place) -> Vec<Shown> {
        let Place::Private(who) = place else {
            return Vec::new();
        };
        let sent = self.mail.sent(self.person(who).address()).into_iter();
        let shown = sent.map(|mail| Shown {
            id: mail.id,
            text: mail.text,
            written: mail.html,
            buttons: Vec::new(),
            files: mail.files,
        });
        shown.collect()
    }

    fn length(text: &str) -> usize {
        text.chars().count()
    }

    fn is_code(shown: &Shown, text: &str) -> bool {
        let blocks = shown.written.split("<pre>").skip(1);
        let mut blocks = blocks.filter_map(|rest| rest.split_once("</pre>"));
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        blocks.any(|(block, _)| block.contains(&text))
    }

    fn disconnect(&self) {
        self.mail.disconnect();
    }

    fn limit_next(&self) {
        self.mail.goes_wrong(Fault::Says(
            "MAIL FROM",
            "450 4.7.1 too many mails, try again later",
        ));
    }

    fn limit_receiving(&self) -> Box<dyn Fn() -> bool + '_> {
        let fetches = || {
            let commands = self.mail.commands().into_iter();
            commands.filter(|it| it.starts_with("UID FETCH")).count()
        };
        let before = fetches();
        for _ in 0..3 {
            self.mail
                .goes_wrong(Fault::Says("UID FETCH", "NO [UNAVAILABLE] later"));
        }
        Box::new(move || fetches() >= before + 3)
    }

    fn outage(&self, is_on: bool) {
        self.mail.outage(is_on);
    }
}
