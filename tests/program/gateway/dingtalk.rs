//! People on DingTalk: what they are promised there, and what its stream does to it.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stop::{order, start_on_small_disk};
use crate::disk::has_mounts_of_its_own;
use crate::harness::dingtalk::{DingTalk, Fault, Person, ROBOT, SECRET};
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Step, call, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

const ANA: &str = "manager1";

/// A scripted model, DingTalk, and Ana, who may speak.
struct Chat {
    model: Model,
    dingtalk: DingTalk,
    home: Home,
    ana: Person,
}

impl Chat {
    fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        let model = Model::playing(script);
        let dingtalk = DingTalk::start();
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"dingtalk": dingtalk.section()}));
        let ana = dingtalk.person(ANA, "Ana");
        Self {
            model,
            dingtalk,
            home,
            ana,
        }
    }

    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/dingtalk/{key}"), value);
        self
    }

    /// A gateway that is connected.
    fn start(&self) -> Gateway {
        let links = self.dingtalk.links();
        let gateway = Gateway::start(&self.home);
        self.dingtalk.wait_for_link(links + 1);
        gateway
    }

    fn texts(&self) -> Vec<String> {
        let messages = self.dingtalk.messages(ANA).into_iter();
        messages.map(|message| message.text).collect()
    }

    /// The last words of a person in the model's request of that number, from 0.
    fn asked(&self, request: usize) -> String {
        let requests = self.model.requests();
        let messages = requests[request].messages();
        let person = messages.iter().rfind(|message| message["role"] == "user");
        person.unwrap()["content"].to_string()
    }

    /// Waits until nothing is left to be sent: DingTalk cannot tell a message that is sent again.
    fn wait_until_sent(&self) {
        let outbox = self.home.path().join("outbox.jsonl");
        wait_until("the confirmation", || {
            fs::read_to_string(&outbox).is_ok_and(|text| text.is_empty())
        });
    }
}

#[test]
fn a_message_is_acknowledged_and_answered_with_a_title() {
    let chat = Chat::playing([say("# Plan\n\nGood **morning**, Ana.\nIt rains.")]);
    let gateway = chat.start();
    chat.ana.says("good morning");
    let answer = chat.dingtalk.wait_for(ANA, "rains");
    assert_eq!(answer.kind, "sampleMarkdown");
    assert_eq!(answer.title, "Plan");
    // A newline alone would be read as a space.
    assert_eq!(answer.text, "# Plan\n\nGood **morning**, Ana.  \nIt rains.");
    chat.dingtalk.wait_for_acknowledgements();
    chat.dingtalk.pings();
    assert_eq!(
        chat.dingtalk
            .emits("CALLBACK", "/v1.0/card/instances/callback"),
        404
    );
    assert_eq!(chat.dingtalk.emits("EVENT", "*"), 200);
    let output = gateway.stop().ends_with(0);
    for secret in [SECRET, "canary-token", "canary-ticket", "canary-session"] {
        assert!(!output.stderr.contains(secret), "{}", output.stderr);
    }
}

#[test]
fn a_ticket_that_is_refused_is_not_used_again() {
    let chat = Chat::playing([say("here")]);
    chat.dingtalk.refuse_link();
    chat.dingtalk.refuse_link();
    let gateway = chat.start();
    chat.ana.says("are you there?");
    chat.dingtalk.wait_for(ANA, "here");
    // The fake complains about a ticket that comes twice.
    assert_eq!(chat.dingtalk.calls("open").len(), 3);
    let output = gateway.stop().ends_with(0);
    assert!(
        !output.stderr.contains("canary-ticket"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_disconnect_is_followed_by_a_new_connection_with_a_new_ticket() {
    let chat = Chat::playing([say("one"), say("two"), say("three")]);
    let gateway = chat.start();
    for (round, answer) in ["one", "two", "three"].into_iter().enumerate() {
        chat.dingtalk.disconnects();
        // The server has no connection now: what is said comes with the next one.
        chat.ana.says(&format!("say {answer}"));
        chat.dingtalk.wait_for(ANA, answer);
        assert_eq!(chat.dingtalk.links(), round + 2);
    }
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one", "two", "three"]);
}

#[test]
fn what_comes_again_is_answered_once() {
    let chat = Chat::playing([say("one"), say("two")]);
    let gateway = chat.start();
    chat.dingtalk.lose_acknowledgement();
    let first = chat.ana.says("hello");
    chat.dingtalk.wait_for(ANA, "one");
    chat.dingtalk.wait_for_link(2);
    chat.dingtalk.wait_for_acknowledgements();
    assert_eq!(chat.dingtalk.sendings(&first), 2);
    chat.wait_until_sent();
    gateway.stop().ends_with(0);
    let gateway = chat.start();
    chat.dingtalk.repeats(&first);
    chat.dingtalk.wait_for_acknowledgements();
    assert_eq!(chat.dingtalk.sendings(&first), 3);
    chat.ana.says("and now?");
    chat.dingtalk.wait_for(ANA, "two");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one", "two"]);
    assert_eq!(chat.model.requests().len(), 2);
}

#[test]
fn a_token_that_ends_in_the_middle_is_replaced() {
    let chat = Chat::playing([
        say("one"),
        say("two"),
        call("message", json!({"content": "here", "media": ["a.txt"]})),
        say("three"),
    ]);
    fs::write(chat.home.workspace("a.txt"), "a").unwrap();
    let gateway = chat.start();
    chat.ana.says("hello");
    chat.dingtalk.wait_for(ANA, "one");
    assert_eq!(chat.dingtalk.tokens(), 1);
    chat.dingtalk.expire_token();
    chat.ana.says("go on");
    chat.dingtalk.wait_for(ANA, "two");
    assert_eq!(chat.dingtalk.tokens(), 2);
    // The older API says the same with a number, and the status of a success.
    chat.dingtalk.fail_next("upload", Fault::TokenExpired);
    chat.ana.says("send it");
    chat.dingtalk.wait_for(ANA, "three");
    let sent = chat
        .dingtalk
        .wait_for_message(ANA, |message| message.file.is_some());
    assert_eq!(sent.file, Some(("a.txt".to_owned(), b"a".to_vec())));
    gateway.stop().ends_with(0);
    assert_eq!(chat.dingtalk.tokens(), 3);
    assert_eq!(chat.dingtalk.calls("upload").len(), 2);
}

#[test]
fn limits_of_all_calls_and_of_one_person_delay_a_message() {
    let chat = Chat::playing([say("one")]);
    let gateway = chat.start();
    chat.dingtalk.fail_next("toPerson", Fault::TooMany);
    chat.dingtalk.fail_next("toPerson", Fault::BadGateway);
    chat.dingtalk.fail_next("toPerson", Fault::InternalError);
    chat.ana.says("hello");
    chat.dingtalk.wait_for(ANA, "one");
    let calls = chat.dingtalk.calls("toPerson");
    assert_eq!(calls.len(), 4);
    let waited = calls[1].at - calls[0].at;
    assert!(waited.as_millis() >= 900, "{waited:?}");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one"]);
}

#[test]
fn a_success_that_reaches_no_one_is_no_success() {
    let chat = Chat::playing([say("one"), say("two")]);
    let gateway = chat.start();
    chat.dingtalk.fail_next("toPerson", Fault::FlowControlled);
    chat.ana.says("hello");
    // DingTalk counts messages to a person by the minute, so the next try comes later than this test ends.
    chat.dingtalk.wait_for_calls("toPerson", 1);
    gateway.stop().ends_with(0);
    let outbox = fs::read_to_string(chat.home.path().join("outbox.jsonl")).unwrap();
    assert!(outbox.contains("one"), "{outbox}");
    let gateway = chat.start();
    chat.dingtalk.wait_for(ANA, "one");
    chat.wait_until_sent();
    chat.dingtalk.fail_next("toPerson", Fault::NotThere);
    chat.ana.says("you are not in the app's range any more");
    gateway.wait_for_log("staffId.notExisted");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one"]);
}

#[test]
fn a_lost_reply_is_told_by_a_second_message() {
    let chat = Chat::playing([say("once or twice")]);
    let gateway = chat.start();
    chat.dingtalk.fail_next("toPerson", Fault::LostReply);
    chat.ana.says("hello");
    chat.dingtalk.wait_for_calls("toPerson", 2);
    chat.wait_until_sent();
    gateway.stop().ends_with(0);
    // DingTalk cannot tell that it is the same. A message that comes twice is better than none.
    assert_eq!(chat.texts(), ["once or twice", "once or twice"]);
}

#[test]
fn wrong_credentials_are_explained() {
    let chat = Chat::playing([]).set("clientSecret", json!("wrong"));
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log("set channels.dingtalk.clientId and channels.dingtalk.clientSecret");
    gateway.stop().ends_with(0);
    let output = Program::new(&chat.home)
        .args(["channels", "test", "dingtalk"])
        .run()
        .ends_with(1);
    assert!(output.stderr.contains("Client Secret"), "{}", output.stderr);
}

#[test]
fn the_command_line_tries_both_ways_and_sends_to_people_and_groups() {
    let chat = Chat::playing([]);
    let group = chat.dingtalk.group();
    let output = Program::new(&chat.home)
        .args(["channels", "test", "dingtalk", "--chat", ANA])
        .run()
        .ends_with(0);
    assert!(output.stdout.contains("dingcrab0001"), "{}", output.stdout);
    assert_eq!(chat.dingtalk.calls("open").len(), 1);
    assert_eq!(chat.dingtalk.messages(ANA).len(), 1);
    let gateway = chat.start();
    Program::new(&chat.home)
        .args([
            "send",
            "--chat",
            &format!("dingtalk:{group}"),
            "hello, group",
        ])
        .run()
        .ends_with(0);
    chat.dingtalk.wait_for(&group, "hello, group");
    gateway.stop().ends_with(0);
}

#[test]
fn a_file_of_each_kind_comes_in() {
    let script = ["one", "two", "three", "four", "five"].map(say);
    let chat = Chat::playing(script);
    let gateway = chat.start();
    let content = "the plan\nü\0\u{ff}".as_bytes();
    let kinds: [(&str, &str, &[u8]); 4] = [
        ("file", "plan.txt", content),
        ("picture", "picture.jpg", b"\xff\xd8\xff picture"),
        ("video", "video.mp4", b"video"),
        ("audio", "voice.amr", b"#!AMR"),
    ];
    for ((kind, name, bytes), answer) in kinds.into_iter().zip(["one", "two", "three", "four"]) {
        chat.ana.sends(kind, "turn on the light", (name, bytes));
        chat.dingtalk.wait_for(ANA, answer);
    }
    chat.ana.sends_rich("look at this", b"\x89PNG picture");
    chat.dingtalk.wait_for(ANA, "five");
    gateway.stop().ends_with(0);
    for (number, (kind, name, bytes)) in kinds.into_iter().enumerate() {
        let asked = chat.asked(number);
        let (_, rest) = asked
            .split_once(": inbox/")
            .unwrap_or_else(|| panic!("{asked}"));
        let (path, _) = rest.split_once(']').unwrap();
        assert!(path.ends_with(name), "{path}");
        let stored = fs::read(chat.home.workspace(&format!("inbox/{path}"))).unwrap();
        assert_eq!(stored, bytes, "{kind}");
    }
    let heard = chat.asked(3);
    assert!(
        heard.contains("understood it] turn on the light"),
        "{heard}"
    );
    assert!(chat.asked(4).contains("look at this"), "{}", chat.asked(4));
}

#[test]
fn a_file_of_each_kind_goes_out() {
    let media = json!(["plot.png", "fake.jpg", "notes.txt", "page.html"]);
    let chat = Chat::playing([
        call("message", json!({"content": "here", "media": media})),
        say("Sent."),
    ]);
    for (name, bytes) in [
        ("plot.png", b"\x89PNG plot".as_slice()),
        ("fake.jpg", b"no picture"),
        ("notes.txt", b"notes"),
        ("page.html", b"<p>page"),
    ] {
        fs::write(chat.home.workspace(name), bytes).unwrap();
    }
    let gateway = chat.start();
    chat.ana.says("send it all");
    chat.dingtalk.wait_for(ANA, "Sent.");
    chat.wait_until_sent();
    gateway.stop().ends_with(0);
    let messages = chat.dingtalk.messages(ANA).into_iter();
    let files: Vec<_> = messages
        .filter_map(|message| Some((message.kind, message.file?)))
        .collect();
    let file =
        |kind: &str, name: &str, bytes: &[u8]| (kind.to_owned(), (name.to_owned(), bytes.to_vec()));
    assert_eq!(
        files,
        [
            file("sampleImageMsg", "plot.png", b"\x89PNG plot"),
            // It is none that DingTalk shows, so it comes as a file.
            file("sampleFile", "fake.jpg", b"no picture"),
            file("sampleFile", "notes.txt", b"notes"),
            // DingTalk takes no pages.
            file("sampleFile", "page.html.txt", b"<p>page"),
        ]
    );
}

#[test]
fn in_a_group_everyone_is_answered_there_and_outsiders_are_strangers() {
    let chat = Chat::playing([say("to the group"), say("to Ana")]);
    let group = chat.dingtalk.group();
    let eve = chat.dingtalk.outsider("Eve");
    let gateway = chat.start();
    eve.says_in(&group, "let me in");
    // A private chat without a staff id cannot be answered.
    eve.says("hello?");
    gateway.wait_for_log("without a staff id");
    chat.ana.says_in(&group, "what is it?");
    chat.dingtalk.wait_for(&group, "to the group");
    chat.ana.says("and here?");
    chat.dingtalk.wait_for(ANA, "to Ana");
    chat.dingtalk.wait_for_acknowledgements();
    gateway.stop().ends_with(0);
    assert!(chat.asked(0).contains("what is it?"), "{}", chat.asked(0));
    assert!(!chat.asked(1).contains("what is it?"), "{}", chat.asked(1));
    let script_end = chat.model.requests().len();
    assert_eq!(script_end, 2);
}

#[test]
fn a_group_gets_no_more_than_it_may() {
    let messages = (0..30).map(|number| json!({"content": format!("part {number}.")}));
    let mut messages: Vec<Value> = messages.collect();
    let first = call("message", messages.remove(0));
    let all = messages
        .into_iter()
        .fold(first, |step, message| step.and_call("message", message));
    let chat = Chat::playing([all, say("done")]);
    let group = chat.dingtalk.group();
    let gateway = chat.start();
    chat.ana.says_in(&group, "write much");
    // More would be refused, and the fake complain. The rest waits for the next minute.
    chat.dingtalk.wait_for(&group, "part 17.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.dingtalk.messages(&group).len(), 18);
    let outbox = fs::read_to_string(chat.home.path().join("outbox.jsonl")).unwrap();
    assert!(outbox.contains("part 18."), "{outbox}");
}

#[test]
fn a_reply_brings_what_it_replies_to() {
    let chat = Chat::playing([say("Because.")]);
    let gateway = chat.start();
    chat.ana.replies("It rains.", "why?");
    chat.dingtalk.wait_for(ANA, "Because.");
    gateway.stop().ends_with(0);
    let asked = chat.asked(0);
    assert!(
        asked.contains("> [you]: It rains.") && asked.contains("why?"),
        "{asked}"
    );
    assert!(!asked.contains(ROBOT), "{asked}");
}

#[test]
fn a_yes_to_another_message_or_without_its_time_allows_nothing() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let wish = json!({"command": format!("echo one >> {}", file.display()), "escalate": true, "reason": "to log"});
    let chat = Chat::playing([call("exec", wish), say("Logged.")]);
    let gateway = chat.start();
    chat.ana.says("log it");
    let question = chat.dingtalk.wait_for(ANA, "echo one");
    let shown = Instant::now();
    wait_until("the question can have been read", || {
        shown.elapsed() > Duration::from_secs(3)
    });
    let now = || chrono::Utc::now().timestamp_millis();
    let says_yes = |replied: Value, key: &str, at: Value| {
        let text =
            json!({"content": "yes", "isReplyMsg": !replied.is_null(), "repliedMsg": replied});
        let members = json!({"text": text, "originalProcessQueryKey": key, "createAt": at});
        chat.ana.tell(None, "text", members);
    };
    let bobs = json!({"senderId": "$:bob", "msgId": "msgOld==", "content": {"text": "Shall I water the plants?"}});
    let yeses = [
        (bobs.clone(), "", json!(now())),
        (bobs, "keyOther", json!(now())),
        (json!({"msgId": "msgOld=="}), "", json!(now())),
        (Value::Null, "", Value::Null),
        (Value::Null, "", json!("soon")),
    ];
    for (told, (replied, key, at)) in [1, 1, 2, 3, 4].into_iter().zip(yeses) {
        says_yes(replied, key, at);
        chat.dingtalk.wait_for_acknowledgements();
        // What answers a known message is about that one: what waits was said before.
        wait_until("what waits", || {
            let texts = chat.texts();
            let waits = texts
                .iter()
                .filter(|text| text.contains("Waiting for approval:"));
            waits.count() == told
        });
    }
    assert!(!file.exists());
    let tomorrow = json!(now() + 86_400_000);
    says_yes(Value::Null, "", tomorrow);
    chat.dingtalk
        .wait_for(ANA, "may have been meant for something else");
    assert!(!file.exists());
    says_yes(json!({"senderId": ROBOT}), &question.id, json!(now()));
    chat.dingtalk.wait_for(ANA, "Logged.");
    gateway.stop().ends_with(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
}

#[test]
fn what_is_said_while_the_network_is_away_is_answered_once() {
    let gate = Gate::default();
    let chat = Chat::playing([say("one").after(&gate), say("two")]);
    let gateway = chat.start();
    chat.ana.says("begin");
    chat.model.wait_for_requests(1);
    chat.dingtalk.go_offline();
    let later = chat.ana.says("go on");
    gate.open();
    chat.dingtalk.go_online();
    chat.dingtalk.wait_for(ANA, "two");
    chat.dingtalk.sends_again();
    chat.dingtalk.wait_for_acknowledgements();
    assert_eq!(chat.dingtalk.sendings(&later), 1);
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["one", "two"]);
}

#[test]
fn what_a_full_disk_cannot_keep_is_not_acknowledged() {
    if !has_mounts_of_its_own() {
        return;
    }
    let mut chat = Chat::playing([say("one")]);
    // From a user namespace of its own the program doesn't see that the fake's port is the test's.
    chat.home.set("/tls/localServerUsers", json!(["*"]));
    let (gateway, mut orders) = start_on_small_disk(&chat.home);
    chat.dingtalk.wait_for_link(1);
    order(&gateway, &orders, "fill 1");
    let said = chat.ana.says(&"ä".repeat(4000));
    gateway.wait_for_log("inbox.jsonl: no space left on device");
    // Each connection brings it again, and none takes it.
    chat.dingtalk.wait_for_link(2);
    assert!(!chat.dingtalk.is_acknowledged(&said));
    assert!(chat.model.requests().is_empty());
    order(&gateway, &orders, "free 1");
    chat.dingtalk.wait_for(ANA, "one");
    chat.dingtalk.wait_for_acknowledgements();
    writeln!(orders, "end").unwrap();
    gateway.finish().ends_with(0);
    let _ = fs::remove_dir(format!("{}.small", chat.home.path().display()));
    assert_eq!(chat.model.requests().len(), 1);
}
