//! People on Matrix: what they are promised there, and what a homeserver does to it.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::ear::voice;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::matrix::{BOT_ID, Fault, Matrix, Message, Person, TOKEN, section};
use crate::harness::model::{Gate, Model, Step, call, say};
use crate::harness::mouth::{Mouth, Speech};
use crate::harness::program::Program;

/// A scripted model, Matrix, and Ana, who may speak.
struct Chat {
    model: Model,
    matrix: Matrix,
    home: Home,
    ana: Person,
}

impl Chat {
    fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        Self::with(Model::playing(script))
    }

    /// See [`Model::counting`].
    fn counting() -> Self {
        Self::with(Model::counting())
    }

    fn with(model: Model) -> Self {
        let matrix = Matrix::start();
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"matrix": section(&matrix)}));
        let ana = matrix.person("ana", "Ana");
        Self {
            model,
            matrix,
            home,
            ana,
        }
    }

    /// Sets a member of `channels.matrix`.
    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/matrix/{key}"), value);
        self
    }

    /// A gateway that waits for events.
    fn start(&self) -> Gateway {
        let syncs = self.matrix.calls("sync").len();
        let gateway = Gateway::start(&self.home);
        self.matrix.wait_until_listening(syncs);
        gateway
    }

    fn wait_for(&self, words: &str) -> Message {
        self.wait_in(self.ana.chat(), words)
    }

    fn wait_in(&self, room: &str, words: &str) -> Message {
        self.matrix
            .wait_for_message(room, |message| message.text.contains(words))
    }

    fn texts(&self) -> Vec<String> {
        let messages = self.matrix.messages(self.ana.chat()).into_iter();
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

#[test]
fn a_message_is_answered_with_markup_and_its_text() {
    let chat = Chat::playing([say("Good **morning**, *Ana* <3\n\n```sh\nls | wc\n```")]);
    let gateway = chat.start();
    let said = chat.ana.says("good morning");
    let answer = chat.wait_for("Ana");
    assert_eq!(answer.text, "Good morning, Ana <3\nls | wc");
    assert_eq!(
        answer.html,
        "Good <strong>morning</strong>, <em>Ana</em> &lt;3<br>\
         <pre><code class=\"language-sh\">ls | wc</code></pre>"
    );
    chat.matrix.wait_for_read(chat.ana.chat(), &said);
    assert_eq!(
        chat.matrix.reactions(chat.ana.chat()),
        [(said, "👀".to_owned())]
    );
    let output = gateway.stop().ends_with(0);
    assert!(!output.stderr.contains(TOKEN), "{}", output.stderr);
    let pending = fs::read_to_string(chat.home.path().join("outbox.jsonl")).unwrap();
    assert_eq!(pending, "");
}

#[test]
fn what_was_written_before_the_first_start_is_not_answered_and_later_it_is() {
    let chat = Chat::counting();
    chat.ana.says("long ago");
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    gateway.stop().ends_with(0);
    chat.ana.says("two");
    let gateway = chat.start();
    chat.wait_for("2 so far, two.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts().len(), 2);
}

#[test]
fn invitations_are_accepted_and_what_was_written_with_them_is_answered() {
    let chat = Chat::counting().set("joinOnInvite", json!(false));
    let bob = chat.matrix.person("bob", "Bob");
    let gateway = chat.start();
    let private = chat.ana.invites("", true);
    chat.ana.says_in(&private, "early");
    chat.wait_in(&private, "1 so far, early.");
    assert_eq!(chat.matrix.direct(), json!({chat.ana.id(): [private]}));
    let declined = bob.invites("", true);
    let reason = chat.matrix.wait_for_membership(&declined, "leave");
    assert!(reason.contains("@bob:fake.test"), "{reason}");
    gateway.stop().ends_with(0);
}

#[test]
fn strangers_may_bring_the_bot_into_a_room_unless_it_is_forbidden() {
    let chat = Chat::playing([]);
    let bob = chat.matrix.person("bob", "Bob");
    let gateway = chat.start();
    let room = bob.invites("", true);
    chat.matrix.wait_for_membership(&room, "join");
    bob.says_in(&room, "hello?");
    chat.wait_in(&room, "/pair");
    gateway.stop().ends_with(0);
}

#[test]
fn an_invitation_that_cannot_be_accepted_now_is_accepted_later() {
    let chat = Chat::counting();
    let gateway = chat.start();
    chat.matrix.fail_times("join", 2, Fault::InternalError);
    let room = chat.ana.invites("plans", false);
    chat.matrix.wait_for_calls("join", 1);
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    chat.ana.says("two");
    chat.wait_for("2 so far, two.");
    chat.ana.says("three");
    chat.matrix.wait_for_membership(&room, "join");
    chat.ana.says_in(&room, "here");
    chat.wait_in(&room, "1 so far, here.");
    gateway.stop().ends_with(0);
}

#[test]
fn in_a_room_with_several_people_the_bot_answers_mentions_and_replies_to_it() {
    let chat = Chat::counting();
    let bob = chat.matrix.person("bob", "Bob");
    let room = chat.matrix.room("home", &[&chat.ana, &bob]);
    let gateway = chat.start();
    chat.ana.says_in(&room, "nobody in particular");
    chat.ana.mentions_in(&room, "first");
    let first = chat.wait_in(&room, "1 so far, first.");
    bob.mentions_in(&room, "stranger");
    let other = bob.says_in(&room, "well");
    chat.ana.replies(&room, &other, "not for you");
    chat.ana.replies(&room, &first.id, "third");
    chat.wait_in(&room, "2 so far, third.");
    gateway.stop().ends_with(0);
    let asked = chat.asked(1);
    assert!(asked.contains("> [you]: 1 so far"), "{asked}");
    assert_eq!(chat.matrix.messages(&room).len(), 2);
}

#[test]
fn a_third_member_makes_a_private_room_a_group() {
    let chat = Chat::counting();
    let bob = chat.matrix.person("bob", "Bob");
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    bob.joins(chat.ana.chat());
    chat.ana.says("not for the bot");
    chat.ana.mentions_in(chat.ana.chat(), "two");
    chat.wait_for("2 so far, two.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts().len(), 2);
}

#[test]
fn each_thread_is_a_conversation_and_is_answered_in_it() {
    let chat = Chat::counting();
    let gateway = chat.start();
    let root = chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    chat.ana.says_in_thread(chat.ana.chat(), &root, "within");
    let answer = chat.wait_for("1 so far, within.");
    assert_eq!(answer.thread.as_deref(), Some(root.as_str()));
    chat.ana.says_in_thread(chat.ana.chat(), &root, "again");
    chat.wait_for("2 so far, again.");
    gateway.stop().ends_with(0);
}

#[test]
fn answers_quote_where_that_is_wanted() {
    let chat = Chat::counting().set("replyToMessage", json!(true));
    let gateway = chat.start();
    let said = chat.ana.says("one");
    let answer = chat.wait_for("1 so far, one.");
    assert_eq!(answer.reply_to, Some(said));
    gateway.stop().ends_with(0);
}

#[test]
fn the_answer_takes_the_place_of_the_draft() {
    let gate = Gate::default();
    let chat = Chat::playing([
        call("list_dir", json!({"path": "."})),
        say("There is nothing at all in here.")
            .in_pieces(4)
            .pausing_at(&gate),
    ]);
    let gateway = chat.start();
    chat.ana.says("what is here?");
    let draft = chat.wait_for("list_dir");
    assert_eq!(draft.kind, "m.notice", "a draft makes no sound");
    let typing = chat.matrix.wait_for_calls("typing", 2);
    let is_typing = typing.iter().map(|call| &call.body["typing"]);
    assert_eq!(is_typing.collect::<Vec<_>>(), [true, false]);
    gate.open();
    let answer = chat.wait_for("nothing at all in here.");
    assert_eq!(answer.id, draft.id);
    assert_eq!(answer.kind, "m.text");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts(), ["There is nothing at all in here."]);
}

#[test]
fn an_edit_of_a_waiting_message_counts_and_one_by_someone_else_does_not() {
    let gate = Gate::default();
    let chat = Chat::playing([say("First.").pausing_at(&gate), say("Second.")]);
    let bob = chat.matrix.person("bob", "Bob");
    let room = chat.matrix.room("home", &[&chat.ana, &bob]);
    let mut chat = chat.set("allowFrom", json!(["@ana:fake.test", "@bob:fake.test"]));
    chat.home.set("/channels/matrix/groupPolicy", json!("open"));
    let gateway = chat.start();
    chat.ana.says_in(&room, "one");
    chat.model.wait_for_requests(1);
    let waiting = chat.ana.says_in(&room, "two");
    chat.matrix.wait_for_read(&room, &waiting);
    let forged = bob.edits(&room, &waiting, "forged");
    chat.ana.edits(&room, &waiting, "corrected");
    chat.matrix.wait_for_calls("event", 2);
    // What comes after the edits shows that they were dealt with.
    chat.ana.says("/status");
    chat.wait_for("Model");
    gate.open();
    chat.wait_in(&room, "Second.");
    gateway.stop().ends_with(0);
    let asked = chat.asked(1);
    assert!(
        asked.contains("corrected") && !asked.contains("forged"),
        "{asked}"
    );
    assert_ne!(forged, waiting);
}

#[test]
fn files_come_in_and_go_out() {
    let chat = Chat::playing([
        call(
            "message",
            json!({"content": "here", "media": ["plot.txt", "plot.png"]}),
        ),
        say("Sent."),
    ]);
    fs::write(chat.home.workspace("plot.txt"), "a plot").unwrap();
    fs::write(chat.home.workspace("plot.png"), "\u{89}PNG").unwrap();
    let gateway = chat.start();
    let file = ("plan.txt", "text/plain");
    chat.ana
        .sends(chat.ana.chat(), "what is this?", file, "the plan");
    chat.wait_for("Sent.");
    let sent = |kind: &str| {
        chat.matrix
            .wait_for_message(chat.ana.chat(), |message| message.kind == kind)
    };
    let (text, image) = (sent("m.file").file.unwrap(), sent("m.image").file.unwrap());
    assert_eq!(
        (text.name.as_str(), &*text.bytes),
        ("plot.txt", b"a plot".as_slice())
    );
    assert_eq!(image.mime, "image/png");
    gateway.stop().ends_with(0);
    let asked = chat.asked(0);
    assert!(asked.contains("what is this?"), "{asked}");
    let (_, rest) = asked.split_once("[file: ").unwrap();
    let (path, _) = rest.split_once(']').unwrap();
    assert_eq!(
        fs::read_to_string(chat.home.workspace(path)).unwrap(),
        "the plan"
    );
}

#[test]
fn an_older_homeserver_gives_files_without_the_token() {
    let chat = Chat::playing([say("I have it.")]);
    chat.matrix.serves_files_the_old_way();
    let gateway = chat.start();
    chat.ana
        .sends(chat.ana.chat(), "", ("a.txt", "text/plain"), "abc");
    chat.wait_for("I have it.");
    gateway.stop().ends_with(0);
    assert!(chat.asked(0).contains("a.txt]"), "{}", chat.asked(0));
    assert_eq!(chat.matrix.calls("oldDownload").len(), 1);
}

#[test]
fn a_file_from_a_place_without_encryption_is_not_fetched() {
    let chat = Chat::playing([say("I cannot see it.")]);
    chat.matrix.redirects_files();
    let gateway = chat.start();
    chat.ana
        .sends(chat.ana.chat(), "", ("a.txt", "text/plain"), "abc");
    gateway.wait_for_log("without encryption");
    assert_eq!(chat.matrix.calls("moved").len(), 0);
    gateway.stop().ends_with(0);
}

#[test]
fn what_is_said_while_the_network_is_gone_is_answered_once_and_in_order() {
    let chat = Chat::counting();
    let bob = chat.matrix.person("bob", "Bob");
    let room = chat.matrix.room("home", &[&chat.ana, &bob]);
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    chat.matrix.go_offline();
    chat.ana.says("two");
    // More than one sync brings, of which the first is for the bot.
    chat.ana.mentions_in(&room, "first");
    for number in 0..60 {
        bob.says_in(&room, &format!("chatter {number}"));
    }
    chat.matrix.go_online();
    chat.wait_for("2 so far, two.");
    chat.wait_in(&room, "1 so far, first.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts().len(), 2);
    assert!(chat.matrix.calls("messages").len() >= 3);
}

#[test]
fn a_place_in_the_stream_that_is_unknown_is_given_up() {
    let chat = Chat::counting();
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    gateway.stop().ends_with(0);
    chat.matrix.forgets_the_stream();
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log("the place in Matrix's events is lost");
    let syncs = chat.matrix.calls("sync").len();
    chat.matrix.wait_until_listening(syncs);
    chat.ana.says("two");
    chat.wait_for("2 so far, two.");
    gateway.stop().ends_with(0);
}

#[test]
fn limits_and_lost_replies_make_no_message_vanish_or_come_twice() {
    for fault in [
        Fault::TooManyRequests(700),
        Fault::InternalError,
        Fault::BadGateway,
        Fault::LostReply,
        Fault::Cut,
        Fault::TruncatedJson,
    ] {
        let chat = Chat::playing([say("Once and only once.")]).set("reactEmoji", json!(""));
        chat.matrix.fail_next("send", fault.clone());
        let gateway = chat.start();
        chat.ana.says("hello");
        chat.wait_for("Once and only once.");
        chat.matrix.wait_for_calls("send", 2);
        gateway.stop().ends_with(0);
        assert_eq!(chat.texts(), ["Once and only once."], "{fault:?}");
    }
}

#[test]
fn a_homeservers_limit_is_respected_and_nothing_is_lost() {
    let chat = Chat::counting().set("streaming", json!(false));
    chat.matrix.set_limit(3, Duration::from_secs(2));
    let gateway = chat.start();
    for number in 1..=4 {
        chat.ana.says(&format!("m{number}"));
        chat.wait_for(&format!("{number} so far, m{number}."));
    }
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts().len(), 4);
    assert!(chat.matrix.limited() > 0);
}

#[test]
fn a_wrong_token_is_said_once_with_what_to_do() {
    let chat = Chat::playing([]).set("accessToken", json!("syt_wrong_0123456789"));
    chat.matrix.forgives("M_UNKNOWN_TOKEN");
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log("failed to receive from Matrix: the homeserver rejects the access token");
    chat.matrix.wait_for_calls("whoami", 3);
    let output = gateway.stop().ends_with(0);
    assert_eq!(
        output
            .stderr
            .matches("failed to receive from Matrix")
            .count(),
        1
    );
    assert!(!output.stderr.contains("0123456789"), "{}", output.stderr);
}

#[test]
fn a_token_of_another_account_is_found() {
    let chat = Chat::playing([]).set("userId", json!("@other:fake.test"));
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log(&format!("the access token belongs to {BOT_ID}"));
    gateway.stop().ends_with(0);
}

#[test]
fn an_encrypted_room_is_told_once_what_to_do() {
    let chat = Chat::playing([]);
    let gateway = chat.start();
    chat.ana.encrypts(chat.ana.chat());
    let told = chat.wait_for("encrypted");
    assert_eq!(told.kind, "m.notice");
    chat.ana.encrypts(chat.ana.chat());
    gateway.stop().ends_with(0);
    let gateway = chat.start();
    chat.ana.encrypts(chat.ana.chat());
    chat.ana.says("/status");
    chat.wait_for("Model");
    gateway.stop().ends_with(0);
    let told = chat
        .texts()
        .iter()
        .filter(|text| text.contains("encrypted"))
        .count();
    assert_eq!(told, 1);
}

#[test]
fn an_answer_follows_a_room_that_was_replaced() {
    let gate = Gate::default();
    let chat = Chat::playing([say("Here I am.").pausing_at(&gate)]);
    let gateway = chat.start();
    chat.ana.says("where are you?");
    chat.model.wait_for_requests(1);
    let new = chat.ana.replaces(chat.ana.chat());
    chat.matrix.wait_for_membership(&new, "join");
    gate.open();
    chat.wait_in(&new, "Here I am.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_message_to_a_person_goes_to_their_private_room() {
    let chat = Chat::playing([]);
    let gateway = chat.start();
    let send = |text: &str| {
        let to = format!("matrix:{}", chat.ana.id());
        let arguments = ["send", "--chat", &to, text];
        Program::new(&chat.home).args(arguments).run().ends_with(0);
    };
    send("knock knock");
    chat.matrix.wait_for_calls("setDirect", 1);
    let room = chat.matrix.direct()[chat.ana.id()][0]
        .as_str()
        .unwrap()
        .to_owned();
    chat.wait_in(&room, "knock knock");
    send("again");
    chat.wait_in(&room, "again");
    assert_eq!(chat.matrix.calls("create").len(), 1);
    gateway.stop().ends_with(0);
}

#[test]
fn a_homeserver_with_a_certificate_of_its_own_is_trusted_by_its_file() {
    let matrix = Matrix::start_with_tls();
    let mut home = Home::new();
    home.set("/channels", json!({"matrix": section(&matrix)}));
    let test = |home: &Home| {
        let test = Program::new(home).args(["channels", "test", "matrix"]);
        test.run()
    };
    let refused = test(&home).ends_with(1);
    let said = [refused.stdout, refused.stderr].concat();
    assert!(
        said.contains("from an unknown authority") && said.contains("tls.caFile"),
        "{said}"
    );
    home.set("/tls/caFile", json!(matrix.authority_file()));
    test(&home).ends_with(0);
}

#[test]
fn a_spoken_answer_is_a_voice_message() {
    let mouth = Mouth::start(|_, _| Speech::Bytes(voice(4)));
    let mut chat = Chat::playing([say("Spoken.")]);
    chat.home.set("/speech", json!({"apiBase": mouth.base()}));
    let gateway = chat.start();
    chat.ana.says("/voice on");
    chat.wait_for("/voice off");
    chat.ana.says("speak");
    let place = chat.ana.chat();
    let sent = chat
        .matrix
        .wait_for_message(place, |message| message.kind == "m.audio");
    let file = sent.file.unwrap();
    assert_eq!((&*file.mime, &*file.bytes), ("audio/ogg", &*voice(4)));
    gateway.stop().ends_with(0);
}
