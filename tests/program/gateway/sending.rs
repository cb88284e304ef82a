//! What goes out: split, paced, in order, shown while it comes, and honest about what fails.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::scene::Scene;
use crate::harness::home::Home;
use crate::harness::model::{Gate, call, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::{Call, Fault, Message};

/// Telegram's bound for one message, in UTF-16 units.
const LONGEST: usize = 4096;

fn is_to(chat: i64) -> impl Fn(&Call) -> bool {
    move |call| call.parameters["chat_id"] == chat
}

/// What is still in the outbox.
fn outbox(scene: &Scene) -> String {
    fs::read_to_string(scene.home.path().join("outbox.jsonl")).unwrap()
}

/// The shortest time between two of them.
fn shortest_gap(times: &[Instant]) -> Duration {
    times
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .min()
        .unwrap()
}

#[test]
fn a_long_answer_comes_in_order_in_messages_that_fit_one_a_second() {
    let code: Vec<String> = (0..400)
        .map(|line| format!("let line_{line} = \"🦀\";"))
        .collect();
    let words: Vec<String> = (0..600).map(|word| format!("word-{word}")).collect();
    let answer = format!(
        "{}\n\n```rust\n{}\n```\n\nThat is all.",
        words.join(" "),
        code.join("\n")
    );
    let scene = Scene::playing([say(&answer)]).set("streaming", json!(false));
    let scene = scene.set("richMessages", json!("off"));
    let gateway = scene.start();
    scene.ana.says("write it down");
    scene.wait_for("That is all.");
    gateway.stop().ends_with(0);
    let messages = scene.telegram.messages(scene.ana.chat());
    assert!(messages.len() > 2, "{}", messages.len());
    for message in &messages {
        assert!(message.text.encode_utf16().count() <= LONGEST);
    }
    let all = scene.texts().join("\n");
    let mut rest = all.as_str();
    for part in words.iter().chain(&code) {
        let found = rest.find(part.as_str());
        rest = &rest[found.unwrap_or_else(|| panic!("{part} is missing or out of order"))..];
    }
    let in_code = |message: &&Message| message.text.contains("let line_");
    for message in messages.iter().filter(in_code) {
        assert!(
            message.html.contains("<pre><code class=\"language-rust\">"),
            "{}",
            message.html
        );
    }
    let gap = shortest_gap(&scene.telegram.times(scene.ana.chat()));
    assert!(gap >= Duration::from_millis(990), "{gap:?}");
}

#[test]
fn what_telegram_cannot_parse_is_sent_as_plain_text_and_only_that() {
    let answer = format!("*one* {}\n\n*two* {}", "a".repeat(3000), "b".repeat(3000));
    let scene = Scene::playing([say(&answer)]).set("streaming", json!(false));
    let scene = scene.set("richMessages", json!("off"));
    scene.telegram.fail_next("sendMessage", Fault::ParseError);
    let gateway = scene.start();
    scene.ana.says("say it");
    scene.wait_for("two");
    gateway.stop().ends_with(0);
    let messages = scene.telegram.messages(scene.ana.chat());
    let modes: Vec<Option<&str>> = messages
        .iter()
        .map(|message| message.parse_mode.as_deref())
        .collect();
    assert_eq!(modes, [None, Some("HTML")]);
    assert!(
        messages[0].text.starts_with("one aaa"),
        "{}",
        messages[0].text
    );
}

#[test]
fn a_chat_that_has_to_wait_does_not_hold_up_the_others() {
    let scene = Scene::answering(|_| say("Here I am.")).set("allowFrom", json!(["*"]));
    let scene = scene.set("streaming", json!(false));
    let bob = scene.telegram.person(2002, "Bob", None);
    // Longer than the other's turn takes on a busy machine.
    let wait = Fault::TooManyRequests { retry_after: 10 };
    let is_ana = is_to(1001);
    scene.telegram.fail_when(1, wait, move |call| {
        call.method == "sendMessage" && is_ana(call)
    });
    let gateway = scene.start();
    let asked = Instant::now();
    scene.ana.says("hello?");
    gateway.wait_for_log("rate-limited by telegram");
    bob.says("hello?");
    scene.wait_in(bob.chat(), "Here I am.");
    assert!(scene.texts().is_empty(), "{:?}", scene.texts());
    scene.wait_for("Here I am.");
    assert!(
        asked.elapsed() >= Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    gateway.stop().ends_with(0);
}

#[test]
fn reactions_and_typing_that_have_to_wait_hold_up_nothing_else() {
    for method in ["setMessageReaction", "sendChatAction", "setMyCommands"] {
        // "Typing" is shown of work that takes a while.
        let gate = Gate::default();
        let held = gate.clone();
        let scene = Scene::answering(move |request| {
            let answer = say("Here I am.");
            match request.last_message().contains("take your time") {
                true => answer.after(&held),
                false => answer,
            }
        });
        let scene = scene.set("allowFrom", json!(["*"]));
        let bob = scene.telegram.person(2002, "Bob", None);
        scene
            .telegram
            .fail_next(method, Fault::TooManyRequests { retry_after: 3600 });
        let gateway = scene.start();
        scene.ana.says("hello? take your time");
        let words = if method == "setMyCommands" {
            "failed to set the menu of commands of telegram: rate-limited"
        } else {
            "rate-limited by telegram"
        };
        gateway.wait_for_log(words);
        bob.says("hello?");
        scene.wait_in(bob.chat(), "Here I am.");
        gate.open();
        scene.wait_for("Here I am.");
        gateway.stop().ends_with(0);
    }
}

#[test]
fn a_draft_grows_at_most_once_an_interval_and_becomes_the_answer() {
    let gate = Gate::default();
    let words: Vec<String> = (0..100).map(|word| format!("word-{word}")).collect();
    let scene = Scene::playing([say(&words.join(" ")).in_pieces(50).pausing_at(&gate)]);
    let scene = scene.set("streamEditIntervalMs", json!(300));
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("count");
    let draft = scene.wait_for("word-4");
    assert!(!draft.text.contains("word-99"));
    gate.open();
    let answer = scene.wait_for("word-99");
    gateway.stop().ends_with(0);
    assert_eq!(answer.id, draft.id);
    let messages = scene.telegram.messages(scene.ana.chat());
    assert_eq!(messages.len(), 1, "{:?}", scene.texts());
    assert!(messages[0].text.ends_with("word-99"));
}

#[test]
fn drafts_are_edited_at_most_once_an_interval() {
    let gates: Vec<Gate> = (0..4).map(|_| Gate::default()).collect();
    let steps = gates
        .iter()
        .map(|gate| call("list_dir", json!({"path": "."})).after(gate));
    let last = Gate::default();
    let scene = Scene::playing(steps.chain([say("done").after(&last)]).collect::<Vec<_>>());
    let scene = scene.set("streamEditIntervalMs", json!(1500));
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("look around");
    for (index, gate) in gates.iter().enumerate() {
        gate.open();
        scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.text.matches('▸').count() == index + 1
            });
    }
    let times = scene.telegram.edit_times(scene.ana.chat());
    assert_eq!(times.len(), gates.len() - 1);
    let gap = shortest_gap(&times);
    // The first of two may have been on its way for longer than the second.
    assert!(gap >= Duration::from_millis(1400), "{gap:?}");
    last.open();
    scene.wait_for("done");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["done"]);
}

#[test]
fn the_configuration_says_what_is_shown_on_the_way() {
    for (streaming, progress, hints, expected) in [
        (
            true,
            true,
            true,
            "I look around.\n\n▸ list_dir(\".\")\n\nThere",
        ),
        (true, false, true, "▸ list_dir(\".\")\n\nThere"),
        (true, true, false, "I look around.\n\nThere"),
        (false, true, true, "I look around.\n\n▸ list_dir(\".\")"),
    ] {
        let gate = Gate::default();
        let first = say("I look around.").and_call("list_dir", json!({"path": "."}));
        let last = match streaming {
            true => say("There is nothing.").pausing_at(&gate),
            false => say("There is nothing.").after(&gate),
        };
        let scene = Scene::playing([first, last]).set("streaming", json!(streaming));
        let mut scene = scene.set("streamEditIntervalMs", json!(300));
        scene.home.set("/channels/sendProgress", json!(progress));
        scene.home.set("/channels/sendToolHints", json!(hints));
        let scene = scene.with_edits();
        let gateway = scene.start();
        scene.ana.says("look");
        let draft = scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.text.starts_with(expected)
            });
        gate.open();
        scene.wait_for("There is nothing.");
        gateway.stop().ends_with(0);
        let end = scene.telegram.message(scene.ana.chat(), draft.id);
        assert_eq!(end.text, "There is nothing.");
        assert_eq!(scene.texts().len(), 1);
    }
}

#[test]
fn nothing_is_shown_on_the_way_where_nothing_is_wanted() {
    let gate = Gate::default();
    let first = say("I look around.").and_call("list_dir", json!({"path": "."}));
    let scene = Scene::playing([first, say("Nothing.").after(&gate)]);
    let mut scene = scene
        .set("streaming", json!(false))
        .set("reactEmoji", json!(""));
    scene.home.set("/channels/sendProgress", json!(false));
    scene.home.set("/channels/sendToolHints", json!(false));
    let gateway = scene.start();
    scene.ana.says("look");
    scene.model.wait_for_requests(2);
    // That the bot is at work is shown all the same.
    let typing = scene.telegram.wait_for_calls("sendChatAction", 1);
    assert_eq!(typing[0]["action"], "typing");
    gate.open();
    scene.wait_for("Nothing.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.telegram.calls("editMessageText").len(), 0);
    assert_eq!(scene.telegram.calls("setMessageReaction").len(), 0);
}

#[test]
fn a_message_that_was_accepted_gets_a_reaction() {
    let scene = Scene::playing([say("Hello.")]);
    let gateway = scene.start();
    let said = scene.ana.says("hello");
    scene.wait_for("Hello.");
    scene.telegram.wait_for_calls("setMessageReaction", 1);
    gateway.stop().ends_with(0);
    let message = scene.telegram.message(said.place, said.message);
    assert_eq!(message.reactions, ["👀"]);
}

#[test]
fn an_answer_quotes_what_it_answers_where_that_is_wanted() {
    for (streaming, quotes) in [(false, true), (true, true), (true, false)] {
        let gate = Gate::default();
        let scene = Scene::playing([say("Well, hello.").pausing_at(&gate)]);
        let scene = scene
            .set("replyToMessage", json!(quotes))
            .set("streaming", json!(streaming));
        let scene = scene.with_edits();
        let gateway = scene.start();
        let said = scene.ana.says("hello");
        if streaming {
            scene.wait_for("Well");
        }
        gate.open();
        let answer = scene.wait_for("Well, hello.");
        gateway.stop().ends_with(0);
        assert_eq!(
            answer.reply_to,
            quotes.then_some(said.message),
            "streaming: {streaming}"
        );
    }
}

#[test]
fn what_the_message_tool_has_said_is_not_said_again() {
    let scene = Scene::playing([
        call("message", json!({"content": "The door is open."})),
        say("The door is open."),
    ]);
    let gateway = scene.start();
    scene.ana.says("is the door open?");
    scene.wait_for("The door is open.");
    scene.model.wait_for_requests(2);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["The door is open."]);
}

#[test]
fn an_edit_whose_reply_is_lost_and_an_answer_whose_draft_was_deleted_arrive_once() {
    let gate = Gate::default();
    let scene = Scene::playing([
        say("One two.").pausing_at(&gate),
        say("Three four.").pausing_at(&gate),
    ]);
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene
        .telegram
        .fail_next("editMessageText", Fault::LostReply);
    scene.ana.says("count");
    scene.wait_for("One");
    gate.open();
    scene.telegram.wait_for_calls("editMessageText", 1);
    scene.ana.says("go on");
    scene.wait_for("Three four.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["One two.", "Three four."]);
}

#[test]
fn a_deleted_draft_is_replaced_by_a_new_message() {
    let gate = Gate::default();
    let scene = Scene::playing([say("One two.").pausing_at(&gate)]);
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("count");
    let draft = scene.wait_for("One");
    scene.ana.deletes(scene.ana.chat(), draft.id);
    gate.open();
    scene.wait_for("One two.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["One two."]);
}

#[test]
fn whoever_has_blocked_the_bot_ends_their_delivery_and_nobody_elses() {
    let scene = Scene::answering(|_| say("Here I am.")).set("allowFrom", json!(["*"]));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    bob.says("hello");
    bob.blocks();
    gateway.wait_for_log("bot was blocked by the user");
    scene.ana.says("hello");
    scene.wait_for("Here I am.");
    let output = gateway.stop().ends_with(0);
    assert!(
        output
            .stderr
            .contains("failed to deliver a message, giving up"),
        "{}",
        output.stderr
    );
    assert_eq!(outbox(&scene), "");
}

#[test]
fn a_chat_that_does_not_exist_ends_its_delivery() {
    let scene = Scene::playing([]);
    scene.telegram.forgives("chat not found");
    let gateway = scene.start();
    let arguments = ["send", "--chat", "424242", "anybody there?"];
    gateway.wait_for_log("ready");
    let output = Program::new(&scene.home).args(arguments).run().ends_with(1);
    output.complains_of(&["Not sent to telegram:424242", "chat not found"]);
    gateway.wait_for_log("chat not found");
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    gateway.stop().ends_with(0);
    assert_eq!(outbox(&scene), "");
}

#[test]
fn the_menu_has_exactly_the_commands_of_help() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let menu = scene.telegram.wait_for_calls("setMyCommands", 1)[0]["commands"].clone();
    scene.ana.says("/help all");
    let help = scene.wait_for("/help").text;
    gateway.stop().ends_with(0);
    let listed: Vec<&str> = help
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('/'))
        .collect();
    let names = menu
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["command"].as_str().unwrap());
    for name in names.clone() {
        assert!(listed.contains(&name), "{name} is not in {help}");
    }
    let count = help
        .lines()
        .filter(|line| line.contains("• /") || line.starts_with('/'))
        .count();
    assert_eq!(count, names.count(), "{help}");
}

/// `peacrab send` with these arguments, reading this.
fn send(scene: &Scene, arguments: &[&str], input: &str) -> Output {
    let program = Program::new(&scene.home).arg("send").args(arguments);
    program.stdin(input).run()
}

#[test]
fn send_tells_whether_the_message_was_sent_or_queued() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let to_ana = ["--chat", "1001", "All", "is", "well."];
    let output = send(&scene, &to_ana, "").ends_with(0);
    assert_eq!(output.stdout, "Sent to telegram:1001.\n");
    assert_eq!(scene.texts(), ["All is well."]);
    scene.telegram.go_offline();
    let output = send(&scene, &to_ana, "").ends_with(0);
    assert!(
        output
            .stdout
            .starts_with("Queued: not confirmed by Telegram yet."),
        "{output:?}"
    );
    let arguments = ["--no-wait", "--chat", "1001", "Later."];
    let output = send(&scene, &arguments, "").ends_with(0);
    assert_eq!(output.stdout, "Queued for telegram:1001.\n");
    scene.telegram.go_online();
    scene.wait_for("Later.");
    gateway.stop().ends_with(0);
    let output = send(&scene, &to_ana, "").ends_with(0);
    assert!(
        output.stdout.starts_with("Queued: no gateway is running."),
        "{output:?}"
    );
    let output = send(&scene, &["-q", "--chat", "1001", "hush"], "").ends_with(0);
    assert_eq!(output.stdout, "");
}

#[test]
fn a_message_to_an_impossible_address_is_an_error_at_once() {
    let scene = Scene::playing([]);
    for (arguments, complaint) in [
        (["--channel", "pigeon"], "Known channels: telegram, discord"),
        (["--channel", "discord"], "discord is not enabled"),
        (["--chat", "pigeon:5"], "Known channels: telegram, discord"),
        (["--chat", "Ana"], "not a chat ID"),
        (["--chat", "0"], "not a chat ID"),
        (["--chat", "telegram:1001:x"], "not a chat ID"),
    ] {
        let output = send(&scene, &[&arguments[..], &["hello"]].concat(), "");
        output.ends_with(2).complains_of(&[complaint]);
    }
    let empty = send(&scene, &["--chat", "1001"], "").ends_with(2);
    empty.complains_of(&["Nothing to send"]);
    assert!(!empty.stderr.contains("home folder"), "{empty:?}");
}

#[test]
fn where_it_was_looked_is_said_of_a_home_that_is_not_the_usual_one() {
    let home = Home::new();
    let pair = || Program::new(&home).args(["channels", "pair", "NOPE"]);
    let looked = "which has no configuration. Use --home DIR";
    pair().run().ends_with(2).complains_of(&[looked]);
    let usual = pair().env("PEACRAB_HOME", "").run().ends_with(2);
    assert!(!usual.stderr.contains(looked), "{usual:?}");
    home.write_config("{}");
    pair().run().ends_with(2).complains_of(&["(home folder: "]);
}

#[test]
fn before_anyone_is_paired_it_is_said_that_the_bot_has_to_run() {
    let home = Home::new();
    home.write_config("{}");
    let pair = Program::new(&home).args(["channels", "pair"]).run();
    assert!(pair.stdout.contains("Send the bot a message"), "{pair:?}");
    pair.complains_of(&["No gateway is running."]);
}

#[test]
fn a_text_with_columns_keeps_them_and_a_long_one_becomes_a_file() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let table = "NAME    AGE\nweb     5d\ndb      12d\n";
    send(&scene, &["--chat", "1001"], table).ends_with(0);
    assert_eq!(
        scene.wait_for("NAME").html,
        format!("<pre>{}</pre>", table.trim_end())
    );
    send(&scene, &["--chat", "1001", "-"], "It is **done**.").ends_with(0);
    assert_eq!(scene.wait_for("It is").html, "It is <b>done</b>.");
    send(&scene, &["--chat", "1001", "--code", "**raw**"], "").ends_with(0);
    assert_eq!(scene.wait_for("**raw**").html, "<pre>**raw**</pre>");
    let lines: Vec<String> = (0..2000).map(|line| format!("line {line}")).collect();
    let long = lines.join("\n");
    send(&scene, &["--chat", "1001"], &long).ends_with(0);
    let message = scene.wait_for("line 1999");
    assert!(
        message.text.encode_utf16().count() <= LONGEST,
        "{}",
        message.text
    );
    let has_file = |message: &Message| message.file.is_some();
    let message = scene.telegram.wait_for_message(scene.ana.chat(), has_file);
    let file = message.file.unwrap();
    assert_eq!(
        (file.name.as_str(), &file.bytes[..]),
        ("output.txt", long.as_bytes())
    );
    gateway.stop().ends_with(0);
}

#[test]
fn a_message_reaches_a_gateway_that_is_just_starting() {
    for _ in 0..3 {
        let scene = Scene::playing([]);
        let gateway = scene.start();
        send(&scene, &["--chat", "1001", "Good morning."], "").ends_with(0);
        scene.wait_for("Good morning.");
        gateway.stop().ends_with(0);
        assert_eq!(scene.texts(), ["Good morning."]);
    }
}

#[test]
fn the_owner_hears_of_an_answer_that_can_no_longer_reach_its_person() {
    let gate = Gate::default();
    let scene = Scene::playing([say("Hello, Bob.").after(&gate)]);
    let scene = scene.set("roles", json!({"2002": "user"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    scene.ana.says("/status");
    scene.wait_for("Model");
    bob.says("hello");
    scene.model.wait_for_requests(1);
    bob.blocks();
    gate.open();
    let told = scene.wait_for("can't be delivered and is lost");
    gateway.stop().ends_with(0);
    assert!(told.text.contains("Telegram (2002)"), "{told:?}");
    assert!(told.text.contains("blocked by the user"), "{told:?}");
}
