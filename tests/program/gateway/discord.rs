//! People on Discord: what they are promised there, and what its gateway does to it.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::discord::{Discord, Fault, Message, Person, Place, TOKEN, Upload};
use crate::harness::ear::voice;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Request, Step, call, say};
use crate::harness::mouth::{Mouth, Speech};
use crate::harness::telegram::Telegram;

/// A scripted model, Discord, and Ana, who may speak.
struct Chat {
    model: Model,
    discord: Discord,
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
        let discord = Discord::start();
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"discord": section(&discord)}));
        let ana = discord.person(1001, "Ana");
        Self {
            model,
            discord,
            home,
            ana,
        }
    }

    /// Sets a member of `channels.discord`.
    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/discord/{key}"), value);
        self
    }

    /// A gateway that is connected.
    fn start(&self) -> Gateway {
        let sessions = self.discord.sessions().0;
        let gateway = Gateway::start(&self.home);
        self.discord.wait_for_ready(sessions + 1);
        gateway
    }

    fn wait_for(&self, words: &str) -> Message {
        self.wait_in(self.ana.chat(), words)
    }

    fn wait_in(&self, place: Place, words: &str) -> Message {
        self.discord
            .wait_for_message(place, |message| message.text.contains(words))
    }

    fn texts(&self) -> Vec<String> {
        let messages = self.discord.messages(self.ana.chat()).into_iter();
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

fn section(discord: &Discord) -> Value {
    json!({"enabled": true, "token": TOKEN, "apiBase": discord.api_base(), "allowFrom": ["1001"]})
}

#[test]
fn a_message_is_answered_in_discords_markup() {
    let chat = Chat::playing([say("Good **morning**, <@1001> *Ana*.")]);
    let gateway = chat.start();
    let said = chat.ana.says("good morning");
    let answer = chat.wait_for("Ana");
    assert!(
        answer.text.starts_with("Good **morning**"),
        "{}",
        answer.text
    );
    assert!(answer.pings.is_empty(), "{:?}", answer.pings);
    let read = chat.discord.wait_for_calls("react", 1);
    assert!(read[0].path.contains(&said.message.to_string()));
    gateway.stop().ends_with(0);
    let pending = fs::read_to_string(chat.home.path().join("outbox.jsonl")).unwrap();
    assert_eq!(pending, "");
}

#[test]
fn in_a_server_the_bot_answers_mentions_and_each_thread_is_a_conversation() {
    let chat = Chat::counting();
    let guild = chat.discord.guild("home");
    let general = chat.discord.channel(guild, "general");
    let thread = chat.discord.thread(general, "plans");
    let gateway = chat.start();
    chat.ana.says_in(general, "nobody in particular");
    chat.ana.mentions_in(general, "first");
    let first = chat.wait_in(general, "1 so far, first.");
    chat.ana.mentions_in(thread, "second");
    chat.wait_in(thread, "1 so far, second.");
    chat.ana.replies(general, first.id, "third");
    chat.wait_in(general, "2 so far, third.");
    gateway.stop().ends_with(0);
    assert!(
        chat.asked(2).contains("> [you]: 1 so far"),
        "{}",
        chat.asked(2)
    );
}

#[test]
fn without_the_intent_mentions_are_still_answered_and_it_is_said_once() {
    let chat = Chat::counting();
    chat.discord.forbids_intent(1 << 15);
    chat.discord.set_identify_window(Duration::ZERO);
    let guild = chat.discord.guild("home");
    let general = chat.discord.channel(guild, "general");
    let gateway = chat.start();
    gateway.wait_for_log("Message Content Intent");
    chat.ana.mentions_in(general, "hello");
    chat.wait_in(general, "1 so far, hello.");
    let output = gateway.stop().ends_with(0);
    assert_eq!(output.stderr.matches("Message Content Intent").count(), 1);
}

#[test]
fn a_wrong_token_is_said_once_with_what_to_do() {
    let chat = Chat::playing([]).set("token", json!("MTEwMDA.wrong.0123456789"));
    chat.discord.forgives("401");
    let gateway = Gateway::start(&chat.home);
    gateway.wait_for_log("failed to receive from Discord: Discord rejects the bot's token");
    chat.discord.wait_for_calls("getGateway", 3);
    let output = gateway.stop().ends_with(0);
    assert_eq!(
        output
            .stderr
            .matches("failed to receive from Discord")
            .count(),
        1
    );
    assert!(!output.stderr.contains("0123456789"), "{}", output.stderr);
}

#[test]
fn a_button_allows_a_command() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let command = format!("echo x >> {}", file.display());
    let arguments = json!({"command": command, "escalate": true, "reason": "to keep a log"});
    let chat = Chat::playing([call("exec", arguments), say("done")]);
    let gateway = chat.start();
    chat.ana.says("log it");
    let token = chat.ana.presses("Run once");
    chat.wait_for("done");
    assert_eq!(chat.discord.answer(&token), Some(6));
    assert_eq!(fs::read_to_string(&file).unwrap(), "x\n");
    let settled = chat.wait_for(&file.display().to_string());
    assert_eq!(settled.components, json!([]), "the buttons are still there");
    gateway.stop().ends_with(0);
}

#[test]
fn slash_commands_can_be_chosen() {
    let chat = Chat::playing([say("hello")]);
    let gateway = chat.start();
    chat.ana.says("hi");
    chat.wait_for("hello");
    chat.discord.wait_for_calls("putCommands", 1);
    while chat.discord.commands().is_empty() {
        std::thread::yield_now();
    }
    let token = chat.ana.uses("sh", &[("text", json!("echo $((6 * 7))"))]);
    chat.wait_for("42");
    assert_eq!(chat.discord.answer(&token), Some(4));
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_of_a_stranger_in_a_server_is_refused_for_them_alone() {
    let chat = Chat::playing([say("hello")]);
    let guild = chat.discord.guild("home");
    let general = chat.discord.channel(guild, "general");
    let bob = chat.discord.person(2002, "Bob");
    let gateway = chat.start();
    chat.ana.says("hi");
    chat.wait_for("hello");
    while chat.discord.commands().is_empty() {
        std::thread::yield_now();
    }
    bob.uses_in(general, "sh", &[("text", json!("id"))]);
    let refusal = chat.wait_in(general, "have access");
    assert!(refusal.is_ephemeral);
    gateway.stop().ends_with(0);
    assert_eq!(chat.discord.messages(general).len(), 1);
}

#[test]
fn a_file_whose_link_has_expired_is_fetched_by_its_new_one() {
    let chat = Chat::playing([say("I have it.")]);
    let gateway = chat.start();
    let gate = Gate::default();
    chat.discord
        .fail_next("cdn", Fault::HoldUntil(gate.clone()));
    chat.ana
        .sends("keep this", [Upload::new("a.txt", "text/plain", "abc")]);
    chat.discord.wait_for_calls("cdn", 1);
    chat.discord.expire_links();
    gate.open();
    chat.wait_for("I have it.");
    gateway.stop().ends_with(0);
    assert!(chat.asked(0).contains("a.txt]"), "{}", chat.asked(0));
    assert_eq!(chat.discord.calls("getMessage").len(), 1);
}

#[test]
fn what_is_said_while_the_connection_is_gone_is_answered_once() {
    let chat = Chat::counting();
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    for (round, lose) in [
        Discord::cut_gateway as fn(&Discord),
        |discord| {
            discord.close_gateway(4000);
        },
        Discord::asks_to_reconnect,
    ]
    .iter()
    .enumerate()
    {
        lose(&chat.discord);
        chat.ana.says(&format!("round{round}"));
        chat.discord.wait_for_resumes(round + 1);
        chat.wait_for(&format!("{} so far, round{round}.", round + 2));
    }
    gateway.stop().ends_with(0);
    assert_eq!(chat.discord.sessions(), (1, 3));
    assert_eq!(chat.texts().len(), 4);
}

#[test]
fn what_is_said_while_there_is_no_session_is_fetched() {
    let chat = Chat::counting();
    let guild = chat.discord.guild("home");
    let general = chat.discord.channel(guild, "general");
    let gateway = chat.start();
    chat.ana.says("one");
    chat.wait_for("1 so far, one.");
    chat.ana.mentions_in(general, "first");
    chat.wait_in(general, "1 so far, first.");
    chat.discord.invalidates(false);
    chat.ana.says("two");
    chat.ana.mentions_in(general, "second");
    chat.ana.says_in(general, "nobody in particular");
    chat.wait_for("2 so far, two.");
    chat.wait_in(general, "2 so far, second.");
    chat.ana.says("three");
    chat.wait_for("3 so far, three.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.discord.sessions(), (2, 0));
    let identifies = chat.discord.frames(2);
    assert!(identifies[1].at - identifies[0].at >= Duration::from_secs(5));
    assert_eq!(chat.texts().len(), 3);
}

#[test]
fn a_connection_that_stops_answering_is_replaced() {
    let chat = Chat::counting();
    chat.discord.set_heartbeat(Duration::from_millis(200));
    let gateway = chat.start();
    chat.discord.wait_for_frames(1, 2);
    chat.discord.acknowledges(false);
    chat.discord.wait_for_resumes(1);
    chat.discord.acknowledges(true);
    chat.ana.says("hello");
    chat.wait_for("1 so far, hello.");
    gateway.stop().ends_with(0);
    let closes = chat.discord.closes();
    assert_eq!(closes[0], Some(4000), "{closes:?}");
}

#[test]
fn limits_and_lost_replies_make_no_message_vanish_or_come_twice() {
    for fault in [
        Fault::TooManyRequests {
            retry_after: 0.7,
            is_global: false,
        },
        Fault::TooManyRequests {
            retry_after: 0.7,
            is_global: true,
        },
        Fault::EdgeTooManyRequests,
        Fault::InternalError,
        Fault::BadGateway,
        Fault::LostReply,
        Fault::Cut,
        Fault::TruncatedJson,
    ] {
        let chat = Chat::playing([say("Once and only once.")]);
        chat.discord.fail_next("createMessage", fault.clone());
        let gateway = chat.start();
        chat.ana.says("hello");
        chat.wait_for("Once and only once.");
        chat.discord.wait_for_calls("createMessage", 2);
        gateway.stop().ends_with(0);
        assert_eq!(chat.texts(), ["Once and only once."], "{fault:?}");
    }
}

#[test]
fn a_reminder_is_moved_and_done_at_a_tap() {
    let clock = Turned::at("2026-11-23T07:00:00Z");
    let mut chat = Chat::playing([]);
    chat.home.turn(&clock);
    let gateway = chat.start();
    chat.ana.says("/remind 20m *bread* (brown)");
    let set = chat.wait_for("today 07:20, in 20 min");
    let reminder = |not: &[&Message]| {
        let not: Vec<_> = not.iter().map(|message| message.id).collect();
        chat.discord.wait_for_message(chat.ana.chat(), |message| {
            message.text.starts_with('⏰') && !not.contains(&message.id)
        })
    };
    clock.forward(Duration::from_secs(20 * 60));
    let first = reminder(&[&set]);
    chat.ana.presses("Snooze 10 min");
    let moved = chat.wait_for("💤 Again today 07:30");
    assert_eq!(moved.id, first.id);
    assert_eq!(moved.components, json!([]), "the buttons are still there");
    clock.forward(Duration::from_secs(10 * 60));
    let second = reminder(&[&set, &first]);
    assert_eq!(second.text, first.text, "it is quoted once");
    chat.ana.presses("✓ Done");
    let done = chat.wait_for("✓ Done 07:30");
    assert_eq!(done.id, second.id);
    gateway.stop().ends_with(0);
}

#[test]
fn telegram_and_discord_work_side_by_side() {
    let mut scene = Scene::answering(|request: &Request| {
        let text = request.messages().last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned();
        let word = text.split_whitespace().last().unwrap_or_default();
        say(&format!("You wrote {word}."))
    });
    let discord = Discord::start();
    scene.home.set("/channels/discord", section(&discord));
    let ana = discord.person(1001, "Ana");
    let gateway = scene.start();
    discord.wait_for_ready(1);
    scene.ana.says("telegram");
    ana.says("discord");
    scene.wait_for("You wrote telegram.");
    discord.wait_for_message(ana.chat(), |message| {
        message.text.contains("You wrote discord.")
    });
    gateway.stop().ends_with(0);
    assert_eq!(discord.messages(ana.chat()).len(), 1);
    assert_eq!(scene.texts().len(), 1);
    let _: &Telegram = &scene.telegram;
}

#[test]
fn a_terminal_is_shown_and_typed_into_here_too() {
    let chat = Chat::playing([]);
    let gateway = chat.start();
    chat.ana.says("/term sh");
    chat.wait_for("█");
    chat.ana.says("echo $((40+2)).");
    let screen = chat.wait_for("42.");
    assert!(screen.text.starts_with("```"), "{}", screen.text);
    chat.ana.presses("Ctrl-D");
    chat.wait_for("Terminal closed: exit status 0");
    gateway.stop().ends_with(0);
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
        .discord
        .wait_for_message(place, |message| message.is_voice);
    assert_eq!(&*sent.files[0].bytes, &*voice(4));
    gateway.stop().ends_with(0);
}
