//! People on QQ: what they are promised there, and what its rules do to it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Step, call, say};
use crate::harness::program::Program;
use crate::harness::qq::{Fault, Person, Qq, SECRET};

/// A scripted model, QQ, and Ana, who may speak.
struct Chat {
    model: Model,
    qq: Qq,
    home: Home,
    ana: Person,
}

impl Chat {
    fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        let model = Model::playing(script);
        let qq = Qq::start();
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"qq": qq.section()}));
        let ana = qq.person("ANA1");
        Self {
            model,
            qq,
            home,
            ana,
        }
    }

    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/qq/{key}"), value);
        self
    }

    /// A gateway that is connected.
    fn start(&self) -> Gateway {
        let (readies, resumes) = self.qq.sessions();
        let gateway = Gateway::start(&self.home);
        crate::harness::wait_until("a session", || {
            let (now, resumed) = self.qq.sessions();
            now + resumed > readies + resumes
        });
        gateway
    }

    fn texts(&self) -> Vec<String> {
        let messages = self.qq.messages(&self.ana).into_iter();
        messages.map(|message| message.text).collect()
    }
}

#[test]
fn a_message_is_answered_as_a_reply() {
    let chat = Chat::playing([say("Good **morning**, Ana.")]);
    let gateway = chat.start();
    let said = chat.ana.says("good morning");
    let answer = chat.qq.wait_for(&chat.ana, "Ana.");
    assert_eq!(
        (answer.text.as_str(), answer.reply_to.as_str()),
        ("Good morning, Ana.", said.as_str())
    );
    let sent = chat.qq.calls("POST /v2/users/ANA1/messages");
    assert!(
        sent[0].body["msg_seq"]
            .as_u64()
            .is_some_and(|number| number > 0),
        "{:?}",
        sent[0]
    );
    let output = gateway.stop().ends_with(0);
    for secret in [SECRET, "canary-access-token"] {
        assert!(!output.stderr.contains(secret), "{}", output.stderr);
    }
}

#[test]
fn each_kind_of_chat_is_answered_where_it_is() {
    let chat = Chat::playing([say("group"), say("channel"), say("direct")])
        .set("allowFrom", json!(["M1", "7"]));
    let places = [
        chat.qq.member("M1", "G1"),
        chat.qq.guest("7", "12"),
        chat.qq.direct("7", "34"),
    ];
    let gateway = chat.start();
    for (person, answer) in places.iter().zip(["group", "channel", "direct"]) {
        person.says("hello");
        chat.qq.wait_for(person, answer);
    }
    gateway.stop().ends_with(0);
    let requests = chat.model.requests();
    for request in &requests {
        let last = request.last_message();
        assert!(last.contains("hello") && !last.contains("<@"), "{last}");
    }
}

#[test]
fn what_is_too_much_for_replies_waits_for_the_next_message() {
    let script = [
        call("message", json!({"content": "two"})).and_call("message", json!({"content": "three"})),
        call("message", json!({"content": "four"})).and_call("message", json!({"content": "five"})),
        call("message", json!({"content": "six"})),
        say("seven"),
        say("eight"),
    ];
    let chat = Chat::playing(script).set("allowFrom", json!(["ANA1"]));
    let gateway = chat.start();
    chat.ana.says("tell me");
    gateway.wait_for_log("waits for the person's next one");
    chat.ana.says("go on");
    chat.qq.wait_for(&chat.ana, "eight");
    gateway.stop().ends_with(0);
    let texts = chat.texts();
    for text in ["two", "three", "four", "five", "six", "seven", "eight"] {
        assert_eq!(
            texts.iter().filter(|it| *it == text).count(),
            1,
            "{texts:?}"
        );
    }
}

#[test]
fn a_bot_that_may_write_on_its_own_does_when_no_reply_is_possible() {
    let gate = Gate::default();
    let chat = Chat::playing([say("late answer").after(&gate)]);
    chat.qq.allow_active(true);
    let gateway = chat.start();
    chat.ana.says("think about it");
    chat.model.wait_for_requests(1);
    chat.qq.close_replies();
    gate.open();
    let answer = chat.qq.wait_for(&chat.ana, "late answer");
    assert_eq!(answer.reply_to, "");
    gateway.stop().ends_with(0);
}

#[test]
fn a_lost_answer_does_not_send_a_message_twice() {
    let chat = Chat::playing([say("once"), say("held back"), say("later")]);
    let gateway = chat.start();
    chat.qq.fail_next(Fault::LostAnswer);
    chat.ana.says("one");
    chat.qq.wait_for_calls("POST /v2/users/ANA1/messages", 2);
    chat.qq.fail_next(Fault::Audit);
    chat.ana.says("two");
    chat.qq.wait_for(&chat.ana, "held back");
    chat.qq.fail_next(Fault::BadGateway);
    chat.ana.says("three");
    chat.qq.wait_for(&chat.ana, "later");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["once", "held back", "later"]);
}

#[test]
fn sessions_are_resumed_and_begun_as_the_code_of_a_close_says() {
    let chat = Chat::playing([say("one"), say("two"), say("three"), say("four")]);
    let gateway = chat.start();
    // Connections of a moment are followed by growing waits, so there are few.
    chat.qq.close_gateway(4009);
    chat.ana.says("while it is away");
    chat.qq.wait_for(&chat.ana, "one");
    assert_eq!(chat.qq.sessions(), (1, 1));
    chat.qq.close_gateway(4006);
    chat.qq.wait_for_ready(2);
    chat.ana.says("in another session");
    chat.qq.wait_for(&chat.ana, "two");
    chat.qq.expire_token();
    chat.qq.asks_to_reconnect();
    chat.qq.wait_for_resumes(2);
    chat.ana.says("with another token");
    chat.qq.wait_for(&chat.ana, "three");
    assert!(chat.qq.tokens() >= 2);
    chat.qq.forgets_sessions();
    chat.qq.cut_gateway();
    gateway.stop().ends_with(0);
    // The session of the last run is gone: another one begins.
    let gateway = chat.start();
    chat.ana.says("after a restart");
    chat.qq.wait_for(&chat.ana, "four");
    gateway.stop().ends_with(0);
}

#[test]
fn what_is_written_between_two_runs_is_answered_as_a_reply() {
    let chat = Chat::playing([say("one"), say("two")]);
    let gateway = chat.start();
    chat.ana.says("hello");
    chat.qq.wait_for(&chat.ana, "one");
    // What is not confirmed yet would be sent once more.
    let outbox = chat.home.path().join("outbox.jsonl");
    crate::harness::wait_until("the confirmation", || {
        std::fs::read_to_string(&outbox).is_ok_and(|text| text.is_empty())
    });
    gateway.kill();
    let said = chat.ana.says("are you there?");
    let gateway = chat.start();
    assert_eq!(chat.qq.wait_for(&chat.ana, "two").reply_to, said);
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one", "two"]);
    assert_eq!(chat.qq.sessions(), (1, 1));
}

#[test]
fn a_link_that_a_group_does_not_take_stays_readable() {
    let chat = Chat::playing([say("See https://docs.example.org/x for more.")])
        .set("allowFrom", json!(["M1"]));
    let member = chat.qq.member("M1", "G1");
    let gateway = chat.start();
    member.says("where?");
    let answer = chat.qq.wait_for(&member, "for more.");
    assert!(
        answer.text.contains("docs。example。org/x"),
        "{}",
        answer.text
    );
    gateway.stop().ends_with(0);
}

#[test]
fn markdown_and_buttons_are_used_where_they_are_permitted() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let wish = json!({"command": format!("echo one >> {}", file.display()), "escalate": true, "reason": "to log"});
    let chat = Chat::playing([call("exec", wish), say("**done**")])
        .set("sendMarkdown", json!(true))
        .set("sendKeyboards", json!(true));
    chat.qq.allow_markdown(true);
    let gateway = chat.start();
    chat.ana.says("log it");
    let question = chat.qq.wait_for(&chat.ana, "echo one");
    assert!(
        question.is_markdown && !question.buttons.is_empty(),
        "{question:?}"
    );
    chat.ana.presses("Run once");
    let answer = chat.qq.wait_for(&chat.ana, "done");
    assert!(
        answer.is_markdown && answer.text.contains("**done**"),
        "{answer:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    assert_eq!(chat.qq.calls("PUT /interactions/").len(), 1);
    // Without the permission the same is sent as text.
    gateway.stop().ends_with(0);
}

#[test]
fn a_yes_that_quotes_another_message_allows_nothing_and_one_to_the_question_does() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let wish = json!({"command": format!("echo one >> {}", file.display()), "escalate": true, "reason": "to log"});
    let chat = Chat::playing([call("exec", wish), say("Logged.")]);
    let gateway = chat.start();
    chat.ana.says("log it");
    let question = chat.qq.wait_for(&chat.ana, "echo one");
    let shown = Instant::now();
    crate::harness::wait_until("the question can have been read", || {
        shown.elapsed() > Duration::from_secs(3)
    });
    chat.ana.quotes("other", "yes");
    chat.qq.wait_for(&chat.ana, "Waiting for approval:");
    assert!(!file.exists());
    chat.ana.quotes(&question.id, "yes");
    chat.qq.wait_for(&chat.ana, "Logged.");
    gateway.stop().ends_with(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
}

#[test]
fn markdown_that_is_not_permitted_becomes_text() {
    let chat = Chat::playing([say("**bold** words")]).set("sendMarkdown", json!(true));
    let gateway = chat.start();
    chat.ana.says("hello");
    let answer = chat.qq.wait_for(&chat.ana, "words");
    assert_eq!(
        (answer.text.as_str(), answer.is_markdown),
        ("bold words", false)
    );
    gateway.stop().ends_with(0);
}

#[test]
fn a_bot_that_is_not_let_into_guilds_hears_of_private_chats() {
    let chat = Chat::playing([say("Hello.")]);
    chat.qq.allow_guilds(false);
    let gateway = chat.start();
    chat.ana.says("hi");
    chat.qq.wait_for(&chat.ana, "Hello.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_silent_gateway_is_left_and_a_wrong_secret_explained() {
    let chat = Chat::playing([say("Hello.")]);
    chat.qq.set_heartbeat(Duration::from_millis(200));
    let gateway = chat.start();
    chat.ana.says("hi");
    chat.qq.wait_for(&chat.ana, "Hello.");
    gateway.stop().ends_with(0);

    let chat = Chat::playing([]).set("secret", json!("wrong-canary"));
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log("rejects the bot's AppID or AppSecret");
    let output = gateway.stop().ends_with(0);
    assert!(!output.stderr.contains("wrong-canary"), "{}", output.stderr);
    let tested = Program::new(&chat.home)
        .args(["channels", "test", "qq"])
        .run();
    assert_ne!(tested.code, Some(0));
    assert!(tested.stderr.contains("q.qq.com"), "{}", tested.stderr);
}

#[test]
fn the_test_of_the_channel_names_the_bot() {
    let chat = Chat::playing([]);
    let tested = Program::new(&chat.home)
        .args(["channels", "test", "qq"])
        .run()
        .ends_with(0);
    assert!(tested.stdout.contains("crab"), "{}", tested.stdout);
}
