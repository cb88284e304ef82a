//! People on Slack: what is special there: threads, connections that replace each other, and messages that are
//! looked for before they are sent again.

use std::fs;

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Step, call, say};
use crate::harness::program::Program;
use crate::harness::slack::{APP_TOKEN, BOT_TOKEN, Fault, Message, Person, Place, Slack};

/// A scripted model, Slack, and Ana, who may speak.
struct Chat {
    model: Model,
    slack: Slack,
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
        let slack = Slack::start();
        let ana = slack.person("U0ANA", "Ana");
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"slack": section(&slack)}));
        Self {
            model,
            slack,
            home,
            ana,
        }
    }

    /// Sets a member of `channels.slack`.
    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/slack/{key}"), value);
        self
    }

    /// A gateway that is connected.
    fn start(&self) -> Gateway {
        let opened = self.slack.connections().0;
        let gateway = Gateway::start(&self.home);
        self.slack.wait_for_connections(opened + 1);
        gateway
    }

    fn wait_for(&self, words: &str) -> Message {
        self.wait_in(&self.ana.chat(), words)
    }

    fn wait_in(&self, place: &Place, words: &str) -> Message {
        self.slack
            .wait_for_message(place, |message| message.shown().contains(words))
    }

    fn texts(&self) -> Vec<String> {
        let messages = self.slack.messages(&self.ana.chat()).into_iter();
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

fn section(slack: &Slack) -> Value {
    json!({
        "enabled": true, "botToken": BOT_TOKEN, "appToken": APP_TOKEN, "apiBase": slack.api_base(),
        "allowFrom": ["U0ANA"],
    })
}

#[test]
fn a_message_is_answered_in_slacks_markup() {
    let chat = Chat::playing([say(
        "Good **morning**, <!channel> [you](https://a.b) & *Ana*.",
    )]);
    let gateway = chat.start();
    let said = chat.ana.says("good morning");
    let answer = chat.wait_for("Ana");
    assert_eq!(
        answer.text,
        "Good *morning*, &lt;!channel&gt; <https://a.b|you> &amp; _Ana_."
    );
    chat.slack.wait_for_calls("reactions.add", 1);
    chat.slack.wait_for_acknowledgements();
    let output = gateway.stop().ends_with(0);
    let read = chat.slack.message(&chat.ana.chat(), &said.ts);
    assert_eq!(read.reactions, ["eyes"]);
    let pending = fs::read_to_string(chat.home.path().join("outbox.jsonl")).unwrap();
    assert_eq!(pending, "");
    assert!(!output.stderr.contains("anary"), "{}", output.stderr);
}

#[test]
fn a_mention_begins_a_thread_in_which_no_other_is_needed() {
    let chat = Chat::counting();
    let general = chat.slack.channel("general");
    let gateway = chat.start();
    chat.ana.says_in(&general, "nobody in particular");
    let first = chat.ana.mentions_in(&general, "first");
    let thread = general.below(&first.ts);
    chat.wait_in(&thread, "1 so far, first.");
    chat.ana.says_in(&thread, "second");
    chat.wait_in(&thread, "2 so far, second.");
    let other = chat.ana.mentions_in(&general, "third");
    chat.wait_in(&general.below(&other.ts), "1 so far, third.");
    gateway.stop().ends_with(0);
    let gateway = chat.start();
    chat.ana.says_in(&thread, "fourth");
    chat.wait_in(&thread, "3 so far, fourth.");
    gateway.stop().ends_with(0);
    let all = chat.slack.messages(&general);
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(
        all.iter().all(|message| message.thread.is_some()),
        "{all:?}"
    );
}

#[test]
fn without_threads_a_channel_is_one_conversation() {
    let chat = Chat::counting().set("replyInThread", json!(false));
    let general = chat.slack.channel("general");
    let gateway = chat.start();
    chat.ana.mentions_in(&general, "first");
    chat.wait_in(&general, "1 so far, first.");
    chat.ana.mentions_in(&general, "second");
    let answer = chat.wait_in(&general, "2 so far, second.");
    assert_eq!(answer.thread, None);
    gateway.stop().ends_with(0);
}

#[test]
fn an_event_that_is_repeated_is_answered_once() {
    let chat = Chat::counting();
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    // The newest event is the answer itself, which comes back too.
    chat.slack.wait_for_acknowledgements();
    chat.slack.repeats_the_last_event();
    let said = chat.ana.says("two");
    chat.slack.repeats_the_last_event();
    chat.wait_for("2 so far, two.");
    chat.slack.wait_for_acknowledgements();
    let event = json!({
        "type": "message", "channel": chat.ana.chat().chat, "user": "U0ANA", "text": "two", "ts": said.ts,
        "channel_type": "im",
    });
    chat.slack.says(&event);
    chat.ana.says("three");
    chat.wait_for("3 so far, three.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts().len(), 3, "{:?}", chat.texts());
}

#[test]
fn a_connection_is_replaced_before_it_ends() {
    let chat = Chat::counting();
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    for (round, reason) in ["warning", "refresh_requested"].into_iter().enumerate() {
        chat.slack.disconnects(reason);
        chat.slack.wait_for_connections(round + 2);
        // They are shared out between the two connections.
        for number in 0..4 {
            chat.ana.says(&format!("round{round}{number}"));
            chat.wait_for(&format!("so far, round{round}{number}."));
        }
        chat.slack.closes_the_old();
        chat.slack.wait_for_open(1);
    }
    chat.ana.says("last");
    chat.wait_for("10 so far, last.");
    chat.slack.wait_for_acknowledgements();
    gateway.stop().ends_with(0);
    assert_eq!(chat.slack.connections().0, 3);
    assert_eq!(chat.texts().len(), 10);
}

#[test]
fn what_is_said_while_nothing_is_connected_is_fetched() {
    let chat = Chat::counting();
    let general = chat.slack.channel("general");
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    let first = chat.ana.mentions_in(&general, "first");
    let thread = general.below(&first.ts);
    chat.wait_in(&thread, "1 so far, first.");
    chat.slack.wait_for_acknowledgements();
    chat.slack.go_offline();
    chat.ana.says("two");
    chat.ana.says_in(&thread, "second");
    chat.ana.says_in(&general, "nobody in particular");
    let other = chat.ana.mentions_in(&general, "third");
    chat.slack.gives_up_on_events();
    chat.slack.go_online();
    chat.wait_for("2 so far, two.");
    chat.wait_in(&thread, "2 so far, second.");
    chat.wait_in(&general.below(&other.ts), "1 so far, third.");
    gateway.stop().ends_with(0);
    chat.ana.says("three");
    chat.slack.gives_up_on_events();
    let gateway = chat.start();
    chat.wait_for("3 so far, three.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts().len(), 3, "{:?}", chat.texts());
    assert_eq!(chat.slack.messages(&general).len(), 3);
}

#[test]
fn commands_can_be_written_in_three_ways() {
    let chat = Chat::playing([]);
    let general = chat.slack.channel("general");
    let bob = chat.slack.person("U0BOB", "Bob");
    let gateway = chat.start();
    chat.ana.says("!sh echo $((6 * 7)) && echo '<ok>'");
    chat.wait_for("<ok>");
    chat.ana.says(" /sh echo $((6 * 8)).");
    chat.wait_for("48.");
    chat.ana
        .uses_in(&chat.ana.chat(), "/peacrab", "sh echo $((6 * 9)).");
    chat.wait_for("54.");
    bob.uses_in(&general, "/peacrab", "sh id");
    chat.slack.wait_for_acknowledgements();
    gateway.stop().ends_with(0);
    let answers = chat.slack.answers();
    assert_eq!(answers[0], "✓ `/sh echo $((6 * 9)).`");
    assert!(answers[1].contains("have access"), "{answers:?}");
    assert!(chat.slack.messages(&general).is_empty());
}

#[test]
fn a_button_allows_a_command_and_a_stranger_is_refused_for_them_alone() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let command = format!("echo x >> {}", file.display());
    let arguments = json!({"command": command, "escalate": true, "reason": "to keep a log"});
    let chat = Chat::playing([call("exec", arguments), say("done")]);
    let general = chat.slack.channel("general");
    let bob = chat.slack.person("U0BOB", "Bob");
    let gateway = chat.start();
    chat.ana.mentions_in(&general, "log it");
    bob.presses_in(&general, "Run once");
    chat.slack.wait_for_calls("chat.postEphemeral", 1);
    chat.slack.wait_for_acknowledgements();
    assert!(!file.exists());
    chat.ana.presses_in(&general, "Run once");
    chat.wait_in(&general, "done");
    assert_eq!(fs::read_to_string(&file).unwrap(), "x\n");
    let settled = chat.slack.wait_for_message(&general, |message| {
        message.text.contains("Allowed once") && message.buttons().is_empty()
    });
    assert!(settled.thread.is_some());
    gateway.stop().ends_with(0);
    let whispers = chat.slack.whispers();
    assert_eq!(whispers[0].0, bob.id());
}

#[test]
fn files_come_in_and_go_out_once() {
    for fault in [None, Some(Fault::LostReply), Some(Fault::BadGateway)] {
        let chat = Chat::playing([
            call("message", json!({"content": "here", "media": ["plot.txt"]})),
            say("Sent."),
        ]);
        fs::write(chat.home.workspace("plot.txt"), "a plot").unwrap();
        if let Some(fault) = &fault {
            chat.slack
                .fail_next("files.completeUploadExternal", fault.clone());
        }
        let gateway = chat.start();
        chat.ana
            .sends("what is this?", "plan.txt", "text/plain", "the plan");
        chat.wait_for("Sent.");
        let has_file = |message: &Message| !message.files.is_empty();
        let sent = chat.slack.wait_for_message(&chat.ana.chat(), has_file);
        gateway.stop().ends_with(0);
        assert_eq!(
            (sent.files[0].name.as_str(), &*sent.files[0].bytes),
            ("plot.txt", &b"a plot"[..])
        );
        let all = chat.slack.messages(&chat.ana.chat());
        assert_eq!(
            all.iter().filter(|message| has_file(message)).count(),
            1,
            "{fault:?}"
        );
        let asked = chat.asked(0);
        let (_, rest) = asked.split_once("[file: ").unwrap();
        let (path, _) = rest.split_once(']').unwrap();
        let stored = fs::read_to_string(chat.home.workspace(path)).unwrap();
        assert_eq!(stored, "the plan");
    }
}

#[test]
fn a_login_page_is_no_file() {
    let chat = Chat::playing([say("I see.")]);
    chat.slack.fail_next("download", Fault::LoginPage);
    let gateway = chat.start();
    chat.ana.sends("look", "plan.txt", "text/plain", "the plan");
    chat.wait_for("I see.");
    gateway.stop().ends_with(0);
    assert!(chat.asked(0).contains("files:read"), "{}", chat.asked(0));
}

#[test]
fn limits_and_lost_replies_make_no_message_vanish_or_come_twice() {
    for fault in [
        Fault::TooMany(1),
        Fault::Error("internal_error"),
        Fault::BadGateway,
        Fault::LostReply,
        Fault::Cut,
        Fault::TruncatedJson,
    ] {
        let chat = Chat::playing([say("Once and only once.")]);
        chat.slack.fail_next("chat.postMessage", fault.clone());
        let gateway = chat.start();
        chat.ana.says("hello");
        chat.wait_for("Once and only once.");
        gateway.stop().ends_with(0);
        assert_eq!(chat.texts(), ["Once and only once."], "{fault:?}");
    }
}

#[test]
fn a_message_that_may_have_arrived_before_a_kill_is_looked_for() {
    let chat = Chat::counting();
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    let looks = chat.slack.calls("conversations.history").len();
    let gate = Gate::default();
    chat.slack.fail_next("chat.postMessage", Fault::LostReply);
    chat.slack
        .fail_next("conversations.history", Fault::HoldUntil(gate.clone()));
    chat.ana.says("two");
    chat.slack
        .wait_for_calls("conversations.history", looks + 1);
    gateway.kill();
    gate.open();
    let gateway = chat.start();
    chat.ana.says("three");
    chat.wait_for("3 so far, three.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.texts().len(), 3, "{:?}", chat.texts());
}

#[test]
fn a_thread_whose_first_message_was_deleted_is_answered_in_the_channel() {
    let gate = Gate::default();
    let chat = Chat::playing([say("Here.").after(&gate)]);
    let general = chat.slack.channel("general");
    let gateway = chat.start();
    let said = chat.ana.mentions_in(&general, "where?");
    chat.model.wait_for_requests(1);
    chat.ana.deletes(&general, &said.ts);
    gate.open();
    let answer = chat.wait_in(&general, "Here.");
    assert_eq!(answer.thread, None);
    gateway.stop().ends_with(0);
}

#[test]
fn without_the_right_to_names_people_are_still_answered() {
    let chat = Chat::counting();
    for scope in ["users:read", "channels:read", "reactions:write"] {
        chat.slack.takes_scope(scope);
    }
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    chat.ana.says("two");
    chat.wait_for("2 so far, two.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.slack.calls("users.info").len(), 1);
}

#[test]
fn names_that_take_long_do_not_hold_a_message_for_longer_than_slack_waits() {
    let chat = Chat::counting();
    let gateway = chat.start();
    let gate = Gate::default();
    let held = Fault::HoldUntil(gate.clone());
    chat.slack.fail_times("users.info", 6, held);
    let people = ["U0B", "U0C", "U0D", "U0E", "U0F"].map(str::to_owned);
    chat.ana.mentions_people_in(&chat.ana.chat(), &people);
    chat.model.wait_for_requests(1);
    gate.open();
    gateway.stop().ends_with(0);
    let calls = chat.slack.calls("users.info");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].argument("user"), chat.ana.id());
}

#[test]
fn people_whom_a_stranger_mentions_are_not_looked_up() {
    let chat = Chat::counting();
    let eve = chat.slack.person("U0EVE", "Eve");
    let gateway = chat.start();
    let people = ["U0B", "U0C", "U0D"].map(str::to_owned);
    eve.mentions_people_in(&eve.chat(), &people);
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    gateway.stop().ends_with(0);
    let calls = chat.slack.calls("users.info");
    let asked: Vec<&str> = calls.iter().map(|call| call.argument("user")).collect();
    assert_eq!(asked, [eve.id(), chat.ana.id()]);
}

#[test]
fn people_who_are_mentioned_do_not_hide_the_name_that_gives_the_sender_a_role() {
    let chat = Chat::counting()
        .set("allowFrom", json!(["*"]))
        .set("roles", json!({"@eve": "guest"}));
    let eve = chat.slack.person("U0EVE", "Eve");
    let people: Vec<String> = (0..8).map(|number| format!("U0B{number}")).collect();
    for id in &people {
        chat.slack.person(id, id);
    }
    let gateway = chat.start();
    eve.mentions_people_in(&eve.chat(), &people);
    chat.model.wait_for_requests(1);
    gateway.stop().ends_with(0);
    let tools = chat.model.requests()[0].body["tools"].to_string();
    assert!(!tools.contains("\"exec\""), "{tools}");
}

#[test]
fn without_the_name_that_gives_the_sender_a_role_a_message_waits_to_be_repeated() {
    let chat = Chat::counting()
        .set("allowFrom", json!(["*"]))
        .set("roles", json!({"@eve": "guest"}));
    let eve = chat.slack.person("U0EVE", "Eve");
    let gateway = chat.start();
    chat.slack
        .fail_next("users.info", Fault::Error("internal_error"));
    eve.says("hello");
    chat.slack.wait_for_calls("users.info", 1);
    chat.slack.gives_up_on_events();
    chat.slack.repeats_the_last_event();
    chat.wait_in(&eve.chat(), "1 so far, hello.");
    chat.slack.wait_for_acknowledgements();
    gateway.stop().ends_with(0);
    let tools = chat.model.requests()[0].body["tools"].to_string();
    assert!(!tools.contains("\"exec\""), "{tools}");
    assert_eq!(chat.slack.calls("users.info").len(), 2);
}

#[test]
fn a_channel_that_the_app_is_not_in_says_what_to_do() {
    let chat = Chat::playing([say("Hello?")]);
    let general = chat.slack.channel("general");
    let gateway = chat.start();
    let gate = Gate::default();
    chat.slack
        .fail_next("users.info", Fault::HoldUntil(gate.clone()));
    chat.ana.mentions_in(&general, "hello");
    chat.slack.wait_for_calls("users.info", 1);
    chat.slack.kicks(&general);
    gate.open();
    gateway.wait_for_log("invite the app to the channel with /invite");
    gateway.stop().ends_with(0);
    assert!(chat.slack.messages(&general).is_empty());
}

#[test]
fn a_wrong_token_is_said_once_with_what_to_do() {
    let chat = Chat::playing([]).set("appToken", json!("xapp-1-wrong-0123456789"));
    chat.slack.forgives("invalid_auth");
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log("failed to receive from Slack: Slack rejects a token");
    chat.slack.wait_for_calls("apps.connections.open", 3);
    let output = gateway.stop().ends_with(0);
    let said = output.stderr.matches("failed to receive from Slack");
    assert_eq!(said.count(), 1, "{}", output.stderr);
    assert!(!output.stderr.contains("0123456789"), "{}", output.stderr);
}

#[test]
fn the_channel_is_tried_from_the_command_line() {
    let chat = Chat::playing([]);
    let tried = |chat: &Chat| {
        let program = Program::new(&chat.home);
        program.args(["channels", "test", "slack"]).run()
    };
    let output = tried(&chat).ends_with(0);
    assert!(output.stdout.contains("@crab"), "{}", output.stdout);
    chat.slack
        .fail_next("apps.connections.open", Fault::Error("missing_scope"));
    let output = tried(&chat).ends_with(1);
    let said = output.stdout + &output.stderr;
    assert!(said.contains("missing_scope"), "{said}");
    assert_eq!(chat.slack.connections().0, 0);
}
