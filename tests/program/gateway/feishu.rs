//! People on Feishu: what they are promised there, and what its long connection does to it.

use std::fs;

use serde_json::{Value, json};

use crate::harness::ear::voice;
use crate::harness::feishu::{
    APP_ID, APP_SECRET, Chat, FOREVER, Fault, Feishu, Message, Person, Upload,
};
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Step, call, say};
use crate::harness::mouth::{Mouth, Speech};
use crate::harness::program::Program;

const ANA: &str = "ou_ana00000000000000000000000000001";
const BOB: &str = "ou_bob00000000000000000000000000002";

/// A scripted model, Feishu, and Ana, who may speak.
struct Scene {
    model: Model,
    feishu: Feishu,
    home: Home,
    ana: Person,
}

impl Scene {
    fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        Self::with(Model::playing(script))
    }

    /// See [`Model::counting`].
    fn counting() -> Self {
        Self::with(Model::counting())
    }

    fn with(model: Model) -> Self {
        let feishu = Feishu::start();
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"feishu": section(&feishu)}));
        let ana = feishu.person(ANA, "Ana");
        Self {
            model,
            feishu,
            home,
            ana,
        }
    }

    /// Sets a member of `channels.feishu`.
    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/feishu/{key}"), value);
        self
    }

    /// A gateway that is connected.
    fn start(&self) -> Gateway {
        let links = self.feishu.links();
        let gateway = Gateway::start(&self.home);
        self.feishu.wait_for_link(links + 1);
        gateway
    }

    #[track_caller]
    fn wait_for(&self, words: &str) -> Message {
        self.wait_in(&self.ana.chat(), words)
    }

    #[track_caller]
    fn wait_in(&self, chat: &Chat, words: &str) -> Message {
        self.feishu
            .wait_for_message(chat, |message| message.text.contains(words))
    }

    fn texts(&self) -> Vec<String> {
        let messages = self.feishu.messages(&self.ana.chat()).into_iter();
        messages.map(|message| message.text).collect()
    }

    /// The last words of a person in the model's request of that number, from 0.
    fn asked(&self, request: usize) -> String {
        let requests = self.model.requests();
        let messages = requests[request].messages();
        let person = messages.iter().rfind(|message| message["role"] == "user");
        person.unwrap()["content"].to_string()
    }
}

fn section(feishu: &Feishu) -> Value {
    json!({
        "enabled": true, "appId": APP_ID, "appSecret": APP_SECRET, "apiBase": feishu.url(),
        "allowFrom": [ANA],
    })
}

#[test]
fn a_message_is_answered_in_a_card_and_acknowledged() {
    let scene = Scene::playing([say("Good **morning**, *Ana* <at id=all></at>.")]);
    let gateway = scene.start();
    let said = scene.ana.says("good morning");
    let answer = scene.wait_for("Ana");
    assert_eq!(answer.kind, "interactive");
    assert_eq!(answer.text, "Good **morning**, *Ana* <at id=all></at>.");
    assert!(
        answer.content.contains("&#60;at id=all"),
        "{}",
        answer.content
    );
    scene.feishu.wait_for_all_answers();
    scene.feishu.wait_for_calls("react", 1);
    gateway.stop().ends_with(0);
    assert_eq!(scene.feishu.message(&said).reactions, ["THUMBSUP"]);
    let pending = fs::read_to_string(scene.home.path().join("outbox.jsonl")).unwrap();
    assert_eq!(pending, "");
}

#[test]
fn in_a_group_the_bot_answers_mentions_and_replies_and_each_thread_is_a_conversation() {
    let scene = Scene::counting();
    let group = scene.feishu.group();
    let bob = scene.feishu.person(BOB, "Bob");
    let gateway = scene.start();
    scene.ana.says_in(&group, "nobody in particular");
    let root = scene.ana.mentions_both_in(&group, &bob, "first");
    let first = scene.wait_in(&group, "1 so far, @Bob.");
    assert_eq!(first.thread, None);
    scene.ana.mentions_in_thread(&group, &root, "second");
    let second = scene.wait_in(&group, "1 so far, second.");
    assert_eq!(second.thread, Some(root.clone()));
    scene.ana.replies(&group, &first.id, "third");
    scene.wait_in(&group, "2 so far, third.");
    scene.ana.replies(&group, &root, "to herself");
    scene.feishu.wait_for_all_answers();
    gateway.stop().ends_with(0);
    let asked = scene.asked(2);
    assert!(asked.contains("> [you]: 1 so far"), "{asked}");
    assert!(asked.contains("Ana"), "{asked}");
    assert_eq!(scene.feishu.messages(&group).len(), 3);
}

#[test]
fn without_the_permission_to_know_names_everything_else_works() {
    let scene = Scene::counting();
    scene.feishu.hides_names();
    let gateway = scene.start();
    scene.ana.says("one");
    scene.wait_for("1 so far, one.");
    scene.ana.says("two");
    scene.wait_for("2 so far, two.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.feishu.calls("getUser").len(), 1);
}

#[test]
fn wrong_credentials_are_said_once_with_what_to_do() {
    let scene = Scene::playing([]).set("appSecret", json!("wrong-secret-0123456789"));
    scene.feishu.forgives("10014");
    let gateway = Gateway::start(&scene.home);
    gateway.wait_for_log("failed to receive from Feishu: Feishu rejects the app's credentials");
    let output = gateway.stop().ends_with(0);
    let said = output.stderr.matches("failed to receive from Feishu");
    assert_eq!(said.count(), 1);
    assert!(!output.stderr.contains("0123456789"), "{}", output.stderr);
}

#[test]
fn a_button_allows_a_command() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let command = format!("echo x >> {}", file.display());
    let arguments = json!({"command": command, "escalate": true, "reason": "to keep a log"});
    let scene = Scene::playing([call("exec", arguments), say("done")]);
    let bob = scene.feishu.person(BOB, "Bob");
    let gateway = scene.start();
    scene.ana.says("log it");
    let asked = scene
        .feishu
        .wait_for_message(&scene.ana.chat(), |message| !message.buttons.is_empty());
    // A stranger who has got hold of the card somehow.
    let value = &asked.buttons[0].value;
    let forged = bob.presses_with(&bob.chat(), &asked.id, value);
    scene.feishu.wait_for_answer(&forged);
    assert!(!file.exists());
    let press = scene.ana.presses("Run once");
    scene.wait_for("done");
    let answer = scene.feishu.wait_for_answer(&press);
    assert_eq!(answer["data"], "e30=", "the answer to a press is an object");
    assert_eq!(fs::read_to_string(&file).unwrap(), "x\n");
    let settled = scene.feishu.wait_for_message(&scene.ana.chat(), |message| {
        message.id == asked.id && message.buttons.is_empty()
    });
    assert!(settled.text.contains(&file.display().to_string()));
    gateway.stop().ends_with(0);
}

#[test]
fn files_come_in_and_go_out() {
    let scene = Scene::playing([
        call(
            "message",
            json!({"content": "here", "media": ["plot.txt", "dot.png", "odd.png"]}),
        ),
        say("Sent."),
        say("A picture."),
    ]);
    fs::write(scene.home.workspace("plot.txt"), "a plot").unwrap();
    fs::write(scene.home.workspace("dot.png"), b"\x89PNG\r\n\x1a\n...").unwrap();
    fs::write(scene.home.workspace("odd.png"), "no picture").unwrap();
    let gateway = scene.start();
    scene.ana.sends(&Upload::file("plan.txt", "the plan"));
    scene.wait_for("Sent.");
    for (name, kind) in [
        ("plot.txt", "file"),
        ("dot.png", "image"),
        ("odd.png", "file"),
    ] {
        let sent = scene.feishu.wait_for_message(&scene.ana.chat(), |message| {
            let file = message.file.as_ref();
            file.is_some_and(|file| file.name == name)
        });
        assert_eq!(sent.kind, kind, "{name}");
    }
    let asked = scene.asked(0);
    let (_, rest) = asked.split_once("[file: ").unwrap();
    let (path, _) = rest.split_once(']').unwrap();
    let got = fs::read_to_string(scene.home.workspace(path)).unwrap();
    assert_eq!(got, "the plan");
    scene.ana.sends(&Upload::image(*b"\x89PNG\r\n\x1a\n..."));
    scene.wait_for("A picture.");
    gateway.stop().ends_with(0);
}

#[test]
fn rich_text_is_read_and_odd_events_are_acknowledged() {
    let scene = Scene::counting();
    let gateway = scene.start();
    let ids = [
        scene
            .feishu
            .emits("im.chat.member.bot.added_v1", &json!({})),
        scene.feishu.emits("im.message.receive_v1", &json!(["odd"])),
        scene
            .feishu
            .emits("card.action.trigger", &json!({"action": {}})),
    ];
    for id in &ids {
        scene.feishu.wait_for_answer(id);
    }
    scene.ana.posts(&json!({
        "title": "Plan",
        "content": [[{"tag": "text", "text": "do "}, {"tag": "text", "text": "this", "style": ["bold"]}]],
    }));
    scene.wait_for("1 so far, this.");
    gateway.stop().ends_with(0);
    assert!(scene.asked(0).contains("Plan"), "{}", scene.asked(0));
}

#[test]
fn an_event_in_pieces_is_one_and_one_that_comes_again_is_answered_once() {
    let scene = Scene::counting();
    let gateway = scene.start();
    scene.feishu.set_parts(3);
    scene.ana.says("one");
    scene.wait_for("1 so far, one.");
    scene.feishu.wait_for_all_answers();
    scene.feishu.repeats("");
    scene.feishu.wait_for_all_answers();
    gateway.stop().ends_with(0);
    scene.feishu.repeats("");
    let gateway = scene.start();
    scene.feishu.wait_for_all_answers();
    scene.feishu.set_parts(1);
    scene.ana.says("two");
    scene.wait_for("2 so far, two.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 2, "{:?}", scene.texts());
}

#[test]
fn what_is_said_while_the_connection_is_gone_is_answered_once() {
    let scene = Scene::counting();
    let gateway = scene.start();
    scene.ana.says("one");
    scene.wait_for("1 so far, one.");
    let ways: [fn(&Feishu); 3] = [
        Feishu::cut_links,
        |feishu| feishu.close_links(1000),
        |feishu| {
            feishu.refuse_link(1_000_040_350);
            feishu.cut_links();
        },
    ];
    for (round, lose) in ways.iter().enumerate() {
        lose(&scene.feishu);
        scene.ana.says(&format!("round{round}"));
        scene.feishu.wait_for_link(round + 2);
        scene.wait_for(&format!("{} so far, round{round}.", round + 2));
    }
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 4);
}

#[test]
fn a_connection_that_stops_answering_is_replaced() {
    let scene = Scene::counting();
    scene.feishu.set_ping_interval(1);
    let gateway = scene.start();
    scene.feishu.wait_for_pings(2);
    scene.feishu.answers_pings(false);
    scene.feishu.wait_for_link(2);
    scene.feishu.answers_pings(true);
    scene.ana.says("hello");
    scene.wait_for("1 so far, hello.");
    gateway.stop().ends_with(0);
}

#[test]
fn an_expired_token_is_replaced_and_nothing_is_lost() {
    let scene = Scene::counting();
    let gateway = scene.start();
    scene.ana.says("one");
    scene.wait_for("1 so far, one.");
    scene.feishu.expire_token();
    scene.ana.says("two");
    scene.wait_for("2 so far, two.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.feishu.tokens(), 2);
    assert_eq!(scene.texts().len(), 2);
}

#[test]
fn limits_and_lost_replies_make_no_message_vanish_or_come_twice() {
    for fault in [
        Fault::RateLimited(1),
        Fault::ChatRateLimited,
        Fault::TokenExpired,
        Fault::InternalError,
        Fault::BadGateway,
        Fault::LostReply,
        Fault::Cut,
    ] {
        let scene = Scene::playing([say("Once and only once.")]);
        scene.feishu.fail_next("createMessage", fault.clone());
        let gateway = scene.start();
        scene.ana.says("hello");
        scene.wait_for("Once and only once.");
        scene.feishu.wait_for_calls("createMessage", 2);
        gateway.stop().ends_with(0);
        assert_eq!(scene.texts(), ["Once and only once."], "{fault:?}");
    }
}

#[test]
fn a_card_that_is_refused_goes_as_plain_text() {
    let scene = Scene::playing([say("**Bold** words.")]);
    scene.feishu.fail_when(FOREVER, Fault::CardRefused, |call| {
        call.route == "createMessage" && call.parameters["msg_type"] == "interactive"
    });
    let gateway = scene.start();
    scene.ana.says("hello");
    let answer = scene.wait_for("Bold words.");
    assert_eq!(answer.kind, "text");
    gateway.stop().ends_with(0);
}

#[test]
fn an_answer_to_a_withdrawn_message_comes_without_the_quote() {
    let gate = Gate::default();
    let scene = Scene::playing([say("Here it is.").pausing_at(&gate), say("And here.")])
        .set("replyToMessage", json!(true))
        .set("streaming", json!(false));
    let gateway = scene.start();
    let said = scene.ana.says("where?");
    scene.feishu.wait_for_all_answers();
    scene.ana.withdraws(&said);
    gate.open();
    let answer = scene.wait_for("Here it is.");
    assert_eq!(answer.parent, None);
    let said = scene.ana.says("and now?");
    let answer = scene.wait_for("And here.");
    assert_eq!(answer.parent, Some(said));
    gateway.stop().ends_with(0);
}

#[test]
fn a_long_answer_comes_in_several_cards_in_their_order() {
    let words: String = (0..6000).map(|number| format!("word{number} ")).collect();
    let scene = Scene::playing([say(&words)]).set("streaming", json!(false));
    let gateway = scene.start();
    scene.ana.says("talk");
    scene.wait_for("word5999");
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    assert!(texts.len() > 2, "{}", texts.len());
    assert_eq!(texts.join(" ").split_whitespace().count(), 6000);
    assert_eq!(scene.feishu.rate_limited(), 0);
}

#[test]
fn a_command_runs_and_a_terminal_is_shown() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says("/sh echo $((6 * 7))");
    scene.wait_for("42");
    scene.ana.says("/term sh");
    scene.wait_for("█");
    scene.ana.says("echo $((40+3)).");
    scene.wait_for("43.");
    scene.ana.presses("Ctrl-D");
    scene.wait_for("Terminal closed: exit status 0");
    gateway.stop().ends_with(0);
}

#[test]
fn the_channel_can_be_tried() {
    let scene = Scene::playing([]);
    let output = Program::new(&scene.home)
        .args(["channels", "test", "feishu"])
        .run()
        .ends_with(0);
    assert!(output.stdout.contains("peacrab"), "{}", output.stdout);
    assert!(!output.stdout.contains(APP_SECRET));
}

#[test]
fn a_spoken_answer_is_a_voice_message() {
    let mouth = Mouth::start(|_, _| Speech::Bytes(voice(4)));
    let mut scene = Scene::playing([say("Spoken.")]);
    scene.home.set("/speech", json!({"apiBase": mouth.base()}));
    let gateway = scene.start();
    scene.ana.says("/voice on");
    scene.wait_for("/voice off");
    scene.ana.says("speak");
    let sent = scene
        .feishu
        .wait_for_message(&scene.ana.chat(), |message| message.kind == "audio");
    assert_eq!(&*sent.file.unwrap().bytes, &*voice(4));
    gateway.stop().ends_with(0);
}
