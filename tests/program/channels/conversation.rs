//! One conversation with all that people do in a chat, the same on every channel: a person talks with the bot, the
//! power and the network fail, and at the end every answer is there once.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::{HERE, Scene, Service, Shown, Who};
use crate::harness::gateway::Gateway;
use crate::harness::model::{Gate, Model, Step, call, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

/// Bytes of a long answer, where the channel's messages are shorter.
const LONG_BYTES: usize = 20_000;

/// Its parts, in this order. One that a channel lacks is left out.
pub const PARTS: [&str; 10] = [
    "text",
    "file_in",
    "file_out",
    "streaming",
    "choices",
    "approval",
    "long_answer",
    "kill_in_turn",
    "rate_limit",
    "lost_connection",
];

/// A conversation that goes on.
struct Talk<S> {
    scene: Scene<S>,
    script: Arc<Mutex<VecDeque<Step>>>,
    gateway: Gateway,
    /// What has to be in the chat once at the end.
    said: Vec<String>,
}

impl<S: Service> Talk<S> {
    fn begin() -> Self {
        let script = Arc::<Mutex<VecDeque<Step>>>::default();
        let steps = Arc::clone(&script);
        let scene = Scene::<S>::with(Model::answering(move |request| {
            let step = steps.lock().unwrap().pop_front();
            step.unwrap_or_else(|| panic!("nothing to say to {}", request.last_message()))
        }));
        scene.service.forgives_haste();
        Self {
            gateway: scene.start(),
            scene,
            script,
            said: Vec::new(),
        }
    }

    /// What the model does next. Returns how many requests it has had.
    fn plays(&self, steps: impl IntoIterator<Item = Step>) -> usize {
        self.script.lock().unwrap().extend(steps);
        self.scene.model.requests().len()
    }

    fn says(&self, text: &str) {
        self.scene.service.says(Who::Ana, HERE, text);
    }

    /// Waits for words that are in the chat once, also at the end.
    #[track_caller]
    fn hears(&mut self, words: &str) -> Shown {
        self.said.push(words.to_owned());
        self.scene.wait_for(HERE, words)
    }

    fn outbox(&self) -> String {
        fs::read_to_string(self.scene.home.path().join("outbox.jsonl")).unwrap_or_default()
    }

    /// The power goes, and comes back once `meanwhile` is over.
    fn kill(self, meanwhile: impl FnOnce(&S)) -> Self {
        let Self {
            scene,
            script,
            gateway,
            said,
        } = self;
        gateway.kill();
        meanwhile(&scene.service);
        Self {
            gateway: scene.start(),
            scene,
            script,
            said,
        }
    }

    fn text(mut self) -> Self {
        self.plays([say("Good **morning**, Ana.")]);
        self.says("good morning");
        let shown = self.hears("morning");
        assert!(
            shown.text.ends_with("Ana.") && !shown.id.is_empty(),
            "{shown:?}"
        );
        assert!(self.scene.asked(0).contains("good morning"));
        self
    }

    /// A person's file is in the workspace, and the model knows where.
    fn file_in(mut self) -> Self {
        let asked = self.plays([say("I have it.")]);
        let content = "the plan\nü\0\u{ff}".as_bytes();
        let text = if S::CAPTIONS { "what is this?" } else { "" };
        self.scene
            .service
            .sends_file(Who::Ana, HERE, text, ("plan.txt", content));
        self.hears("I have it.");
        let asked = self.scene.asked(asked);
        assert!(asked.contains(text), "{asked}");
        let (_, rest) = asked.split_once("[file: ").unwrap();
        let (path, _) = rest.split_once(']').unwrap();
        assert!(path.ends_with("plan.txt"), "{path}");
        assert_eq!(fs::read(self.scene.home.workspace(path)).unwrap(), content);
        self
    }

    /// A file of the workspace comes into the chat, or the person hears why it does not.
    fn file_out(mut self) -> Self {
        fs::write(self.scene.home.workspace("plot.txt"), "a plot").unwrap();
        self.plays([
            call(
                "message",
                json!({"content": "Look here.", "media": ["plot.txt"]}),
            ),
            say("It is sent."),
        ]);
        self.says("plot it");
        self.hears("Look here.");
        self.hears("It is sent.");
        match S::NO_FILES {
            Some(words) => drop(self.hears(words)),
            None => {
                let shown = self
                    .scene
                    .wait_for_any(HERE, "a file", |shown| !shown.files.is_empty());
                assert_eq!(shown.files, [("plot.txt".to_owned(), b"a plot".to_vec())]);
                self.script_sends_file();
            }
        }
        self
    }

    /// A script sends a file with a text, which are one message where the channel has such messages.
    fn script_sends_file(&mut self) {
        let report = self.scene.home.path().join("report.txt");
        fs::write(&report, "all is well").unwrap();
        Program::new(&self.scene.home)
            .args(["send", "--channel", S::NAME, "--file"])
            .arg(report.to_str().unwrap())
            .arg("The **daily** report.")
            .run()
            .ends_with(0);
        let text = self.hears("daily");
        let is_report = |shown: &Shown| shown.files.iter().any(|(name, _)| name == "report.txt");
        let file = self.scene.wait_for_any(HERE, "the report", is_report);
        assert_eq!(file.files[0].1, b"all is well");
        assert_eq!(text.id == file.id, S::ONE_MESSAGE, "{text:?} {file:?}");
    }

    /// A tool is used, and an answer grows; it takes the place of what was shown on the way.
    fn streaming(mut self) -> Self {
        let gate = Gate::default();
        let answer = say("The list of files has the plot in it.").in_pieces(4);
        let asked = self.plays([
            call("list_dir", json!({"path": "."})),
            answer.pausing_at(&gate),
        ]);
        self.says("what is here?");
        self.scene.model.wait_for_requests(asked + 2);
        let draft = S::EDITS.then(|| self.scene.wait_for(HERE, "list_dir"));
        gate.open();
        let answer = self.hears("has the plot in it.");
        if let Some(draft) = draft {
            assert_eq!(answer.id, draft.id);
        }
        assert!(!self.scene.texts(HERE).join("\n").contains("list_dir"));
        self
    }

    /// A question of the model's is answered after the turn's closing words, which come late.
    fn choices(mut self) -> Self {
        let gate = Gate::default();
        let arguments = json!({"content": "Which colour?", "buttons": [["Red", "Blue"]]});
        let asked = self.plays([
            call("message", arguments),
            say("Tell me when you know.").after(&gate),
            say("It will be Blue."),
        ]);
        self.says("paint it");
        self.hears("Which colour?");
        self.scene.model.wait_for_requests(asked + 2);
        gate.open();
        self.hears("Tell me when you know.");
        self.scene.service.presses(Who::Ana, HERE, "Blue");
        self.hears("It will be Blue.");
        let asked = self.scene.asked(asked + 2);
        assert!(asked.contains("[button] Blue"), "{asked}");
        self
    }

    /// A command waits for its approval, which a button or a reply gives; then the question is closed.
    fn approval(mut self) -> Self {
        let outside = tempfile::tempdir().unwrap();
        let file: PathBuf = outside.path().join("log");
        let wish = |word: &str| -> Value {
            let command = format!("echo {word} >> {}", file.display());
            json!({"command": command, "escalate": true, "reason": "to keep a log"})
        };
        self.plays([
            call("exec", wish("one")),
            say("The first is done."),
            call("exec", wish("two")),
            say("The second is done."),
        ]);
        self.says("log it");
        // A draft may show the command before it is asked about.
        let question = self.scene.wait_for_any(HERE, "the question", |shown| {
            shown.text.contains("echo one") && shown.text.contains("outside the sandbox")
        });
        assert_eq!(question.buttons.is_empty(), !S::BUTTONS, "{question:?}");
        self.scene.service.presses(Who::Ana, HERE, "Run once");
        self.hears("The first is done.");
        assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
        let is_closed = |texts: &[String]| texts.iter().any(|it| it.contains("✓ Allowed once"));
        if S::EDITS {
            wait_until("the outcome", || is_closed(&self.scene.texts(HERE)));
        }
        self.says("again");
        self.scene.wait_for(HERE, "echo two");
        self.scene.service.presses(Who::Ana, HERE, "Deny");
        self.hears("The second is done.");
        assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
        assert_eq!(is_closed(&self.scene.texts(HERE)), S::EDITS);
        if S::EDITS {
            wait_until("no buttons", || {
                let shown = self.scene.service.shown(HERE);
                let mut questions = shown.iter().filter(|shown| shown.text.contains("echo "));
                questions.all(|shown| shown.buttons.is_empty())
            });
        }
        let audit = fs::read_to_string(self.scene.home.path().join("audit.jsonl")).unwrap();
        assert!(
            audit.contains("allowed once") && audit.contains("denied"),
            "{audit}"
        );
        self
    }

    /// A long answer comes in several messages within the channel's limit, in order, and no word of it is lost.
    fn long_answer(mut self) -> Self {
        let mut long = String::from("Long begin.");
        let mut count = 0;
        // Words of several bytes, so that bytes, characters and UTF-16 units differ.
        while S::length(&long) < LONG_BYTES.max(2 * S::LENGTH_MAX) {
            long += &format!(" wörd{count}🦀");
            count += 1;
        }
        long += " Long end.";
        self.plays([say(&long)]);
        self.says("tell me everything");
        self.hears("Long end.");
        let shown = self.scene.service.shown(HERE);
        let begin = shown.iter().rposition(|it| it.text.contains("Long begin."));
        let pieces = &shown[begin.unwrap()..];
        assert!(pieces.len() > 1, "{} messages", pieces.len());
        for piece in pieces {
            let length = S::length(&piece.text);
            assert!(length <= S::LENGTH_MAX, "{length}: {}", piece.text);
        }
        let words = pieces.iter().flat_map(|it| it.text.split_whitespace());
        assert!(words.eq(long.split_whitespace()), "{pieces:?}");
        self
    }

    /// The power goes while an answer grows, and while one waits for its channel.
    fn kill_in_turn(mut self) -> Self {
        let gate = Gate::default();
        let asked = self.plays([
            call("list_dir", json!({"path": "."})),
            say("Half of this is lost with the power.")
                .in_pieces(4)
                .pausing_at(&gate),
            say("After the power cut everything is here."),
        ]);
        self.says("go on for long");
        self.scene.model.wait_for_requests(asked + 2);
        if S::EDITS {
            self.scene.wait_for(HERE, "list_dir");
            // Of a draft whose id has not come back, nothing can be known after a kill.
            wait_until("a record of the draft", || {
                self.outbox().contains(r#""message":""#)
            });
        }
        self = self.kill(|_| gate.open());
        self.hears("After the power cut everything is here.");
        let remains = |texts: &[String]| texts.iter().any(|it| it.contains("Half of this"));
        wait_until("no rest of a draft", || !remains(&self.scene.texts(HERE)));

        let gate = Gate::default();
        let asked = self.plays([say("This was kept over the power cut.").after(&gate)]);
        self.says("and once more");
        self.scene.model.wait_for_requests(asked + 1);
        self.scene.service.outage(true);
        gate.open();
        wait_until("the answer in the outbox", || {
            self.outbox().contains("This was kept")
        });
        self = self.kill(|service| service.outage(false));
        self.hears("This was kept over the power cut.");
        self
    }

    /// A refusal because of too many messages delays the message.
    fn rate_limit(mut self) -> Self {
        self.plays([say("Not too fast."), say("Nor too slow.")]);
        self.scene.service.limit_next();
        self.says("one");
        self.hears("Not too fast.");
        self.says("two");
        self.hears("Nor too slow.");
        self
    }

    /// The connection breaks while the model works: the answer comes once, and so does what is said meanwhile.
    fn lost_connection(mut self) -> Self {
        let gate = Gate::default();
        let asked = self.plays([
            say("It was said before.").after(&gate),
            say("It was said behind."),
        ]);
        self.says("begin");
        self.scene.model.wait_for_requests(asked + 1);
        self.scene.service.disconnect();
        self.says("go on then");
        gate.open();
        self.hears("It was said before.");
        self.hears("It was said behind.");
        assert!(self.scene.asked(asked + 1).contains("go on then"));
        self
    }

    fn part(self, name: &str) -> Self {
        match name {
            "text" => self.text(),
            "file_in" => self.file_in(),
            "file_out" => self.file_out(),
            "streaming" => self.streaming(),
            "choices" => self.choices(),
            "approval" => self.approval(),
            "long_answer" => self.long_answer(),
            "kill_in_turn" => self.kill_in_turn(),
            "rate_limit" => self.rate_limit(),
            "lost_connection" => self.lost_connection(),
            other => unreachable!("no part is called {other}"),
        }
    }
}

/// Everything is said, and everything is in the chat once.
fn tell<S: Service>() {
    let mut talk = Talk::<S>::begin();
    for name in PARTS {
        match S::lacks().iter().find(|(lacking, _)| *lacking == name) {
            Some((_, why)) => eprintln!("{}: {name}: {why}", S::NAME),
            None => talk = talk.part(name),
        }
    }
    wait_until("an empty outbox", || talk.outbox().is_empty());
    let outbox = talk.scene.home.path().join("outbox.jsonl");
    talk.gateway.stop().ends_with(0);
    assert_eq!(fs::read_to_string(outbox).unwrap(), "");
    let all = talk.scene.texts(HERE).join("\n");
    for words in &talk.said {
        assert_eq!(all.matches(words.as_str()).count(), 1, "{words}: {all}");
    }
}

macro_rules! all {
    ($($channel:ident),+) => {
        [$((stringify!($channel), tell::<super::$channel::Service> as fn())),+]
    };
}

/// All at the same time: most of it is the time that a channel wants between two messages.
#[test]
fn the_same_conversation_succeeds_on_every_channel() {
    let all = all!(
        telegram, discord, slack, email, matrix, local, feishu, whatsapp, qq, mochat, dingtalk, irc
    );
    let talks = all.map(|(name, tell)| {
        let talk = thread::Builder::new().name(name.to_owned()).spawn(tell);
        (name, talk.unwrap())
    });
    let failed = talks.map(|(name, talk)| talk.join().is_err().then_some(name));
    let failed: Vec<_> = failed.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{failed:?}");
}
