//! What a person types with a slash: answered without the model, and beside its turns.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, MODEL};
use crate::harness::model::{Gate, Model, error, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::{BOT_NAME, FOREVER, Fault, Media, Upload};
use crate::harness::terminal::{CTRL_D, RETURN, Terminal};
use crate::harness::wait_until;

#[test]
fn each_command_answers_and_none_of_them_asks_the_model() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let mut last = 0;
    for (typed, expected) in [
        ("/start", "Remind me tomorrow at 9"),
        ("/help", "Commands and files\n/sh /term"),
        ("/help /usage", "/usage: Tokens and cost by day and model"),
        ("/help nothing", "Unknown command /nothing"),
        ("/tools", "read_file"),
        ("/skills", "/skills board shows one"),
        ("/skills summarize", "Get the text into a file"),
        ("/skills lamp", "No skill named lamp."),
        ("/usage", "No requests to a model in the last 30 days."),
        ("/id", "telegram:1001"),
        ("/id@peacrab_bot", "telegram:1001"),
        ("/new", "Started a new conversation"),
        ("/stop", "Nothing is running here."),
        ("/approve", "Nothing is waiting for approval here."),
        ("/deny 123456", "Nothing is waiting for approval here."),
        ("/pair", "Add the code that the other person was given"),
        ("/pair ABCDEFGH", "ABCDEFGH"),
        ("/sh", "Add a command, for example"),
        ("/sh !", "Add a command, for example"),
        (
            "/sudo make me a sandwich",
            "Unknown command /sudo. See /help.",
        ),
    ] {
        scene.ana.says(typed);
        let answer = scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.id > last && message.text.contains(expected)
            });
        last = answer.id;
    }
    gateway.stop().ends_with(0);
}

#[test]
fn a_skill_is_shown_at_a_tap_and_an_unavailable_one_says_why() {
    let scene = Scene::playing([]);
    let lamp = scene.home.workspace("skills/lamp/SKILL.md");
    fs::create_dir_all(lamp.parent().unwrap()).unwrap();
    let front =
        "---\nname: lamp\ndescription: Light.\nrequires: {bins: [lamp-switch]}\n---\nSwitch it on.";
    fs::write(lamp, front).unwrap();
    let gateway = scene.start();
    scene.ana.says("/skills");
    let list = scene.wait_for("lamp (yours): Light.").text;
    let why = "not available: the program lamp-switch is not installed";
    assert!(list.contains(why), "{list}");
    scene.ana.presses("lamp");
    scene.wait_for("Switch it on.");
    gateway.stop().ends_with(0);
}

#[test]
fn status_shows_the_model_the_gateway_and_the_board() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says("/status");
    let status = scene.wait_for("Disk");
    for part in [
        MODEL,
        "Workspace",
        "0 active",
        "Temperature",
        "Load",
        "Memory",
        "Disk",
    ] {
        assert!(
            status.text.contains(part),
            "{part} is missing in {}",
            status.text
        );
    }
    gateway.stop().ends_with(0);
}

#[test]
fn what_only_looks_like_a_command_goes_to_the_model() {
    let scene = Scene::playing([say("A table of hosts.")]);
    let gateway = scene.start();
    scene.ana.says("/etc/hosts is what?");
    scene.wait_for("A table of hosts.");
    gateway.stop().ends_with(0);
    assert!(scene.asked(0).contains("/etc/hosts is what?"));
}

#[test]
fn a_chats_choice_of_a_model_outlives_the_gateway() {
    let scene = Scene::answering(|request| say(request.body["model"].as_str().unwrap()));
    scene.model.offers([MODEL, "other-model"]);
    let home = scene.telegram.group(-1_005, "Home");
    let gateway = scene.start();
    scene.ana.says("/model Other-MODEL");
    scene.wait_for("fake/other-model");
    gateway.kill();
    let gateway = scene.start();
    scene.ana.says("who are you?");
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| message.text == "other-model");
    scene.ana.says_in(home, &format!("@{BOT_NAME} and here?"));
    scene.wait_in(home, MODEL);
    scene.ana.says("/model default");
    scene.wait_for(&format!("fake/{MODEL}"));
    gateway.stop().ends_with(0);
}

#[test]
fn the_models_of_the_server_are_listed_and_a_tap_chooses_one() {
    let scene = Scene::answering(|request| say(request.body["model"].as_str().unwrap()));
    let many = (0..50).map(|number| format!("model-{number}"));
    let names: Vec<String> = many.chain([MODEL.to_owned()]).collect();
    scene.model.offers(names);
    let gateway = scene.start();
    scene.ana.says("/model");
    let list = scene.wait_for("fake offers");
    for part in ["✓ fake-model", "model-38", "and 11 more"] {
        assert!(
            list.text.contains(part),
            "{part} is missing in {}",
            list.text
        );
    }
    assert!(!list.text.contains("model-39"), "{}", list.text);
    assert!(list.button("✓ fake-model").is_some());
    assert!(list.button("model-6").is_some() && list.button("model-7").is_none());
    scene.ana.presses("model-6");
    scene.wait_for("Model: fake/model-6");
    scene.ana.says("who are you?");
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| message.text == "model-6");
    gateway.stop().ends_with(0);
}

#[test]
fn at_the_terminal_the_models_are_a_list_and_a_mistyped_command_names_the_nearest() {
    let model = Model::playing([]);
    model.offers([MODEL, "other-model"]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    for (typed, answered) in [
        ("/MODEL", "other-model"),
        ("/modle", "Unknown command /modle. Did you mean /model?"),
        (
            "/model othr-model",
            "No model named `othr-model` at fake. Did you mean `other-model`?",
        ),
    ] {
        terminal.wait_for("› ");
        terminal.type_text(typed);
        terminal.type_text(RETURN);
        terminal.wait_for(answered);
    }
    assert!(
        terminal
            .screen()
            .contains("fake offers (choose with /model NAME):")
    );
    terminal.wait_for("› ");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn an_unknown_model_is_refused_with_the_nearest_and_an_unchecked_one_is_warned_about() {
    let scene = Scene::answering(|request| say(request.body["model"].as_str().unwrap()));
    scene.model.offers(["large-2", "large-3", MODEL]);
    let gateway = scene.start();
    scene.ana.says("/model lrge-3");
    scene.wait_for("No model named lrge-3 at fake. Did you mean large-3");
    scene.ana.says("/model nothing-like-it");
    scene.wait_for("No model named nothing-like-it at fake. /model lists what it offers.");
    scene.ana.says("who are you?");
    scene.wait_for(MODEL);
    gateway.stop().ends_with(0);

    let mut scene = Scene::playing([]);
    scene
        .home
        .set("/providers/fake/apiBase", json!("http://127.0.0.1:1/v1"));
    let gateway = scene.start();
    scene.ana.says("/model other-model");
    let told = scene.wait_for("Model: fake/other-model").text;
    assert!(told.contains("I could not check the name: "), "{told}");
    gateway.stop().ends_with(0);
}

#[test]
fn a_new_conversation_does_not_know_the_old_one() {
    let scene = Scene::playing([say("Noted."), say("I do not know.")]);
    let gateway = scene.start();
    scene.ana.says("my cat is called Tom");
    scene.wait_for("Noted.");
    scene.ana.says("/new");
    scene.wait_for("Started a new conversation");
    scene.ana.says("what is my cat called?");
    scene.wait_for("I do not know.");
    gateway.stop().ends_with(0);
    let asked = scene.model.requests()[1].body.to_string();
    assert!(!asked.contains("Tom"), "{asked}");
}

#[test]
fn stop_ends_the_turn_and_forgets_what_waits() {
    let gate = Gate::default();
    let scene = Scene::playing([
        say("Once upon a time.").pausing_at(&gate),
        say("Hello again."),
    ]);
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    scene.wait_for("Once");
    scene.ana.says("/new");
    scene.ana.says("/stop");
    scene.wait_for("Stopped. 1 reply cancelled, 1 queued message dropped.");
    gateway.wait_for_log("turn stopped");
    scene.ana.says("hello");
    scene.wait_for("Hello again.");
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let is_there = |words: &str| texts.iter().any(|text| text.contains(words));
    assert!(!is_there("Started a new conversation"), "{texts:?}");
    assert!(is_there("\n\nStopped."), "{texts:?}");
}

#[test]
fn what_touches_the_conversation_waits_for_the_turn_that_runs() {
    let gate = Gate::default();
    let scene = Scene::playing([say("Noted.").after(&gate), say("I do not know.")]);
    scene.model.offers([MODEL, "other-model"]);
    let gateway = scene.start();
    scene.ana.says("my cat is called Tom");
    scene.model.wait_for_requests(1);
    scene.ana.says("/new");
    scene.ana.says("/model other-model");
    scene.ana.says("what is my cat called?");
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    gate.open();
    scene.wait_for("I do not know.");
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let expected = [
        "Noted.",
        "Started a new",
        "fake/other-model",
        "I do not know.",
    ];
    assert_eq!(texts.len(), 1 + expected.len(), "{texts:?}");
    for (text, words) in texts[1..].iter().zip(expected) {
        assert!(text.contains(words), "{texts:?}");
    }
    let asked = &scene.model.requests()[1].body;
    assert_eq!(asked["model"], "other-model");
    assert!(!asked.to_string().contains("Tom"), "{asked}");
}

#[test]
fn a_restart_keeps_the_process_and_says_once_that_it_is_done() {
    let scene = Scene::playing([say("I am.")]);
    let mut gateway = scene.start();
    scene.ana.says("/restart");
    scene.wait_for("Restarting");
    gateway.wait_for_log("stopped, nothing left to send");
    scene.wait_for("Back.");
    scene.ana.says("are you there?");
    scene.wait_for("I am.");
    assert!(gateway.is_running());
    let log = gateway.stop().ends_with(0).stderr;
    assert_eq!(log.matches("the gateway starts").count(), 2, "{log}");
    let texts = scene.texts();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].starts_with("Restarting") && texts[1] == "Back.");
}

/// A start takes long, or is killed: whoever asked for the restart is answered all the same, and once.
#[test]
fn who_asked_for_a_restart_is_answered_by_the_run_that_polls_again() {
    let scene = Scene::playing([]);
    let home = scene.telegram.group(-1_005, "Home");
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    scene.telegram.fail_in(home, FOREVER, Fault::Cut);
    scene.ana.says_in(home, &format!("/restart@{BOT_NAME}"));
    gateway.wait_for_log("stopping");
    scene.telegram.wait_for_calls("sendMessage", 1);
    gateway.kill();
    assert!(scene.texts_in(home).is_empty());
    scene.telegram.heal_in(home);
    let gateway = scene.start();
    scene.wait_in(home, "Back.");
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    gateway.stop().ends_with(0);
    let texts = scene.texts_in(home);
    let count = texts.iter().filter(|text| *text == "Back.").count();
    assert_eq!(count, 1, "{texts:?}");
    assert!(scene.texts().is_empty(), "only where it was asked for");
}

#[test]
fn a_command_without_a_model_says_how_it_ended() {
    for (line, expected) in [
        ("echo $((6 * 7))", "42"),
        ("true", "Done, no output."),
        ("echo oh; exit 3", "exit status 3"),
        ("false", "exit status 1"),
        ("echo '<b>&```' ", "<b>&```"),
        ("no-such-program", "exit status 127"),
        ("cat ../config.json", "No such file"),
    ] {
        let scene = Scene::playing([error(500, "down")]);
        let gateway = scene.start();
        scene.ana.says(&format!("/sh {line}"));
        scene.wait_for(expected);
        gateway.stop().ends_with(0);
        assert!(scene.model.requests().is_empty());
        assert_eq!(scene.texts().len(), 1);
    }
}

fn without_model() -> Scene {
    let mut scene = Scene::playing([]);
    scene.home.set("/providers", json!({}));
    scene.home.set("/agents/defaults/provider", json!("auto"));
    scene.home.set("/agents/defaults/model", json!(""));
    scene
}

#[test]
fn where_no_model_is_configured_start_shows_what_works_and_a_document_is_kept() {
    let scene = without_model();
    std::fs::write(scene.home.workspace("milk.txt"), "").unwrap();
    let gateway = scene.start();
    scene.ana.says("/start");
    let shown = scene.wait_for("No language model is connected yet");
    assert!(shown.text.contains("peacrab onboard"), "{}", shown.text);
    let examples = [
        ("remind me in 20 minutes to take the bread out", "Planned: "),
        ("how warm is the board?", "Temperature"),
        ("how much space is left?", "Disk"),
        ("list my files", "milk.txt"),
        ("/watch disk / > 90", "Watching disk / > 90"),
    ];
    let shown: Vec<&str> = shown
        .text
        .lines()
        .filter(|line| line.starts_with('•'))
        .collect();
    let known = examples.map(|(example, _)| format!("• {example}"));
    assert_eq!(shown, known, "each example is tried below");
    for (example, answer) in examples {
        let before = scene.texts().len();
        scene.ana.says(example);
        wait_until(example, || {
            scene
                .texts()
                .iter()
                .skip(before)
                .any(|text| text.contains(answer))
        });
    }
    let told = scene.texts().join("\n");
    let named = told.matches("(offline helper: type").count();
    assert_eq!(named, 1, "once in a chat: {told}");
    scene
        .ana
        .sends(Upload::new(Media::Document, "bill.pdf", "%PDF-1.4"));
    let kept = scene.wait_for("Stored as ");
    assert!(kept.text.contains("bill.pdf") && kept.text.contains("peacrab onboard"));
    gateway.stop().ends_with(0);
}

#[test]
fn where_no_model_is_configured_reminders_are_listed_in_the_language_of_the_person_and_cancelled_by_their_words()
 {
    let scene = without_model();
    let gateway = scene.start();
    for reminder in ["take the bread out", "call mum"] {
        scene
            .ana
            .says(&format!("remind me in 20 minutes to {reminder}"));
        scene.wait_for(&format!("{reminder}: "));
    }
    scene.ana.says("有哪些提醒？");
    let listed = scene.wait_for("take the bread out，时间：").text;
    assert!(!listed.contains("reminder"), "{listed}");
    scene.ana.says("cancel the milk reminder");
    scene.wait_for("Which one? Type /cron remove");
    scene.ana.says("cancel the bread reminder");
    scene.wait_for("(take the bread out)");
    scene.ana.says("list my reminders");
    wait_until("the other one is left", || {
        scene
            .texts()
            .last()
            .is_some_and(|text| text.contains("call mum: ") && !text.contains("bread"))
    });
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_runs_where_no_model_is_configured() {
    let scene = without_model();
    let gateway = scene.start();
    scene.ana.says("/sh echo hi");
    scene.wait_for("hi");
    gateway.stop().ends_with(0);
}

#[test]
fn where_no_model_is_configured_an_unclear_yes_lists_what_waits() {
    let scene = without_model();
    let gateway = scene.start();
    scene.ana.says("/sh! echo outside");
    scene.wait_for("outside the sandbox");
    scene.ana.says("how warm is the board?");
    scene.wait_for("I still need your answer");
    scene.wait_for("Temperature");
    for words in ["yes", "ok, fine"] {
        let asked = scene.ana.says(words).message;
        scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.id > asked && message.button("✓ echo outside").is_some()
            });
    }
    scene.ana.presses("✓ echo outside");
    scene.wait_for("\noutside");
    gateway.stop().ends_with(0);
    assert!(
        !scene
            .texts()
            .iter()
            .any(|text| text.contains("can't tell what this answers"))
    );
}

#[test]
fn a_long_output_shows_its_end_and_comes_whole_as_a_file() {
    for lines in [2_000, 200_000] {
        let scene = Scene::playing([]);
        let gateway = scene.start();
        scene.ana.says(&format!("/sh seq 1 {lines}"));
        let file = scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| message.file.is_some());
        gateway.stop().ends_with(0);
        let file = file.file.unwrap();
        let whole = String::from_utf8_lossy(&file.bytes).into_owned();
        let first = scene.texts()[0].clone();
        assert!(
            first.starts_with("The beginning is left out here"),
            "{first}"
        );
        assert!(first.ends_with(&format!("\n{lines}")), "{first}");
        assert!(!first.contains("\n1\n"), "{first}");
        assert_eq!(whole.lines().count(), lines, "{}", &whole[..200]);
        assert!(whole.starts_with("1\n2\n"));
    }
}

#[test]
fn output_is_shown_while_it_comes_and_stop_ends_the_command() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let gateway = scene.start();
    scene.ana.says("/sh echo one; sleep 600");
    scene.wait_for("\none");
    scene.ana.says("/stop");
    scene.wait_for("Stopped. 1 command ended.");
    scene.wait_for("stopped");
    gateway.stop().ends_with(0);
    let mut texts = scene.texts();
    // Which of them is first is as it happens.
    texts.sort();
    let output = "~ $ echo one; sleep 600\none\n\nstopped";
    assert_eq!(texts, ["Stopped. 1 command ended.", output]);
}

#[test]
fn commands_at_the_same_time_have_a_message_each() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_EVERY_COMMAND_IS_LONG", "1"));
    scene.ana.says("/sh echo one; sleep 600");
    let first = scene.wait_for("\none");
    scene.ana.says("/sh echo two; sleep 600");
    let second = scene.wait_for("\ntwo");
    assert_ne!(first.id, second.id);
    let shown = ["one", "two"].map(|word| format!("~ $ echo {word}; sleep 600\n{word}"));
    assert_eq!(scene.texts(), shown);
    scene.ana.says("/stop");
    scene.wait_for("Stopped. 2 commands ended.");
    for words in ["\none\n\nstopped", "\ntwo\n\nstopped"] {
        scene.wait_for(words);
    }
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 3, "{:?}", scene.texts());
}

#[test]
fn a_command_outside_the_sandbox_asks_first_and_patterns_refuse() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("made");
    let mut scene = Scene::playing([]);
    scene
        .home
        .set("/tools/exec", json!({"denyPatterns": ["fortune"]}));
    let gateway = scene.start();
    scene.ana.says(&format!("/sh !touch {}", file.display()));
    scene.wait_for("outside the sandbox");
    assert!(!file.exists());
    scene.ana.presses("Run once");
    scene.wait_for("Done, no output.");
    assert!(file.exists());
    scene.ana.says("/sh !touch another");
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.text.contains("touch another")
        });
    scene.ana.presses("Deny");
    scene.wait_for("✗ Denied by");
    scene.ana.says("/sh fortune");
    scene.wait_for("Not run: the configuration forbids it (tools.exec.denyPatterns: fortune).");
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_runs_beside_a_turn() {
    let gate = Gate::default();
    let scene = Scene::playing([say("Once upon a time.").pausing_at(&gate)]);
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    scene.wait_for("Once");
    scene.ana.says("/sh echo beside");
    let output = scene.wait_for("\nbeside");
    // What is shown of the turn stands below it again, although the model says nothing more.
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.id > output.id && message.text.starts_with("Once")
        });
    gate.open();
    scene.wait_for("Once upon a time.");
    gateway.stop().ends_with(0);
    let output = "~ $ echo beside\nbeside";
    assert_eq!(scene.texts(), [output, "Once upon a time."]);
}

fn send(scene: &Scene, arguments: &[&str], stdin: &str) -> Output {
    Program::new(&scene.home)
        .arg("send")
        .args(arguments)
        .stdin(stdin)
        .run()
}

#[test]
fn scripts_tell_the_owner_something_through_the_running_gateway() {
    let scene = Scene::playing([]);
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    let mode = |name: &str| {
        fs::metadata(scene.home.path().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    gateway.wait_for_log("ready");
    let socket = fs::read_dir(scene.home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| name.contains("sock"))
        .unwrap();
    assert_eq!((mode(&socket), mode("")), (0o600, 0o700));
    send(&scene, &["too early"], "")
        .ends_with(1)
        .complains_of(&["No chat yet"]);
    scene.ana.says("/id");
    scene.wait_for("1001");
    send(&scene, &["The **backup** is done"], "").ends_with(0);
    let sent = scene.wait_for("backup");
    assert_eq!(sent.html, "The <b>backup</b> is done");
    send(&scene, &["-"], "from a pipe").ends_with(0);
    scene.wait_for("from a pipe");
    send(&scene, &["--chat", "2002", "for Bob"], "").ends_with(0);
    scene.wait_in(bob.chat(), "for Bob");
    let report = scene.home.path().join("report.txt");
    fs::write(&report, "all well").unwrap();
    send(&scene, &["--file", report.to_str().unwrap(), "Today"], "").ends_with(0);
    let message = scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| message.file.is_some());
    let file = message.file.unwrap();
    assert_eq!(
        (file.name.as_str(), &file.bytes[..]),
        ("report.txt", &b"all well"[..])
    );
    for (arguments, words) in [
        (vec![""], "Nothing to send"),
        (vec!["--file", "/nowhere/x", "x"], "/nowhere/x"),
        (vec!["--channel", "signal", "--chat", "1", "x"], "signal"),
    ] {
        let output = send(&scene, &arguments, "");
        assert_ne!(output.code, Some(0));
        output.complains_of(&[words]);
    }
    gateway.stop().ends_with(0);
    assert!(!scene.home.path().join(&socket).exists());
}

#[test]
fn without_a_gateway_it_waits_for_the_next_one() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("1001");
    gateway.kill();
    let output = send(&scene, &["while you were away"], "").ends_with(0);
    assert!(
        output.stdout.contains("no gateway is running"),
        "{output:?}"
    );
    let gateway = scene.start();
    scene.wait_for("while you were away");
    gateway.stop().ends_with(0);
}
