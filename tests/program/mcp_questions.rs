//! Servers of tools that want to know something in the middle of a call: from a person in a chat or at the
//! terminal, or from the model.

use std::fs;

use serde_json::{Value, json};

use crate::gateway::scene::Scene;
use crate::harness::home::Home;
use crate::harness::model::{Model, Request, Step, call, say};
use crate::harness::program::Program;
use crate::harness::terminal::{RETURN, Terminal};
use crate::harness::wait_until;

/// Puts a server with the name lamp into a home.
fn put_lamp(home: &mut Home, more: Value) {
    let script = include_str!("../harness/mcp/lamp.py");
    fs::write(home.workspace("mcp.py"), script).unwrap();
    let folder = home.workspace("");
    let mut settings = json!({"command": "python3", "args": ["mcp.py", "modern"], "cwd": folder});
    let (settings_map, more) = (settings.as_object_mut().unwrap(), more);
    for (key, value) in more.as_object().unwrap() {
        settings_map.insert(key.clone(), value.clone());
    }
    home.set("/tools/mcpServers/lamp", settings);
    Program::new(home)
        .args(["mcp", "test", "lamp"])
        .run()
        .ends_with(0);
}

fn scene(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Scene {
    let mut scene = Scene::answering(answer);
    put_lamp(&mut scene.home, json!({}));
    scene
}

/// A form with a choice, a number with a default, and words.
fn form() -> Value {
    json!({"type": "object", "required": ["color", "note"], "properties": {
        "color": {"type": "string", "title": "Color", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "level": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
        "note": {"type": "string", "minLength": 2},
    }})
}

/// Calls the tool that asks, and then says what it answered.
fn asking(schema: Value) -> impl Fn(&Request) -> Step + Send + Sync + 'static {
    move |request| match request.last_message() {
        last if last.contains("\"tool\"") => say(&format!("The lamp says: {}", result_of(&last))),
        last => {
            let last: Value = serde_json::from_str(&last).unwrap();
            let words = last["content"].as_str().unwrap();
            let words = words.lines().last().unwrap();
            call(
                "mcp_lamp_ask",
                json!({"schema": schema, "message": format!("Which color for {words}?")}),
            )
        }
    }
}

fn result_of(message: &str) -> String {
    let message: Value = serde_json::from_str(message).unwrap();
    message["content"].as_str().unwrap().replace('"', "'")
}

#[test]
fn a_form_is_filled_in_with_buttons_and_messages_and_none_of_them_reaches_the_model() {
    let scene = scene(asking(form()));
    let gateway = scene.start();
    scene.ana.says("light please");
    let question = scene.wait_for("The tool server lamp asks");
    assert!(
        question.text.contains("Which color for light please?"),
        "{}",
        question.text
    );
    // The choice, the default, words that are too short, and then some that are not.
    scene.ana.presses("Green");
    scene.wait_for("level");
    scene.ana.presses("Keep: 3");
    scene.wait_for("note");
    scene.ana.says("x");
    scene.wait_for("Send 2 to");
    scene.ana.says("over the door");
    // Drafts of it have less.
    let said = scene.wait_for("'note': 'over the door'");
    for part in ["The lamp says", "'color': 'g'", "'level': 3"] {
        assert!(said.text.contains(part), "{part} in {}", said.text);
    }
    // A late press of an old button does nothing and says so.
    scene.ana.presses("Green");
    scene.wait_for("No question is open here");
    scene.ana.says("thanks");
    gateway.stop().ends_with(0);
    let asked = scene.model.requests();
    let heard = asked.iter().map(Request::last_message);
    assert!(
        !heard
            .into_iter()
            .any(|text| text.contains("\"over the door\""))
    );
}

/// Two questions with the same buttons, and one that takes any words.
fn flags() -> Value {
    json!({"type": "object", "required": ["a", "b", "c"], "properties": {
        "a": {"type": "boolean", "title": "Prepare"},
        "b": {"type": "boolean", "title": "Destroy"},
        "c": {"type": "string", "title": "Reason"},
    }})
}

#[test]
fn a_button_or_a_quote_of_an_earlier_value_answers_no_later_one() {
    let scene = scene(asking(flags()));
    let gateway = scene.start();
    scene.ana.says("light please");
    let first = scene.wait_for("Prepare");
    scene.ana.presses_on(&first, "Yes");
    scene.wait_for("Destroy");
    scene.ana.presses_on(&first, "Yes");
    scene.wait_for("This was answered already");
    scene.ana.presses("No");
    scene.wait_for("Reason");
    scene.ana.replies(scene.ana.chat(), first.id, "wrong one");
    let is_late = |text: &String| text.contains("This was answered already");
    wait_until("the second refusal", || {
        scene.texts().iter().filter(|text| is_late(text)).count() == 2
    });
    scene.ana.says("because");
    let said = scene.wait_for("'c': 'because'");
    let shown = said.text.to_lowercase();
    for part in ["the lamp says", "'a': true", "'b': false"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    gateway.stop().ends_with(0);
}

#[test]
fn two_chats_are_asked_at_once_and_each_answers_for_itself() {
    let words =
        json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
    let mut scene = Scene::answering(asking(words));
    put_lamp(&mut scene.home, json!({}));
    let scene = scene.set("allowFrom", json!(["1001", "1002"]));
    let bob = scene.telegram.person(1002, "Bob", None);
    let gateway = scene.start();
    scene.ana.says("one");
    scene.wait_for("The tool server lamp asks");
    bob.says("two");
    scene.wait_in(bob.chat(), "The tool server lamp asks");
    bob.says("/answer from Bob");
    let said = scene.wait_in(bob.chat(), "The lamp says");
    assert!(said.text.contains("'word': 'from Bob'"), "{}", said.text);
    scene.ana.says("from Ana");
    let said = scene.wait_for("'word': 'from Ana'");
    assert!(said.text.contains("The lamp says"), "{}", said.text);
    gateway.stop().ends_with(0);
}

#[test]
fn in_a_turn_without_a_person_only_who_may_do_as_much_answers() {
    let words =
        json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
    let mut scene = Scene::answering(move |request| {
        let last = request.last_message();
        let is_subagent = request.body.to_string().contains("You are a subagent");
        match is_subagent {
            true => say("The lamp is off."),
            false if last.contains("'word'") || last.contains("\\\"word\\\"") => {
                say(&format!("The lamp says: {}", result_of(&last)))
            }
            false if last.contains("The lamp is off.") => call(
                "mcp_lamp_ask",
                json!({"schema": words, "message": "Which color?"}),
            ),
            false if last.contains("\"tool\"") => say("I am looking."),
            false => call(
                "spawn",
                json!({"task": "look at the lamp", "label": "lamp"}),
            ),
        }
    });
    put_lamp(&mut scene.home, json!({}));
    let scene = scene
        .set("roles", json!({"2002": "user"}))
        .set("groupPolicy", json!("open"));
    let bob = scene.telegram.person(2002, "Bob", None);
    let group = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("owner");
    scene.ana.says_in(group, "look after the lamp");
    scene.wait_in(group, "The tool server lamp asks");
    bob.says_in(group, "/answer from Bob");
    scene.wait_in(group, "No question is open here");
    scene.ana.says_in(group, "/answer from Ana");
    let said = scene.wait_in(group, "The lamp says");
    assert!(said.text.contains("from Ana"), "{}", said.text);
    gateway.stop().ends_with(0);
}

#[test]
fn a_question_can_be_declined_and_a_stop_ends_it() {
    let scene = scene(asking(form()));
    let gateway = scene.start();
    scene.ana.says("light please");
    scene.wait_for("The tool server lamp asks");
    scene.ana.presses("✗ Decline");
    scene.wait_for("gets no answer");
    let said = scene.wait_for("'action': 'decline'");
    assert!(said.text.contains("The lamp says"), "{}", said.text);
    scene.ana.says("and once more");
    scene.wait_for("Which color for and once more?");
    scene.ana.says("/stop");
    scene.wait_for("cancelled");
    // What comes now is a message again.
    scene.ana.says("Green");
    scene.wait_for("Which color for Green?");
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_has_no_one_to_ask() {
    let mut scene = Scene::answering(asking(form()));
    put_lamp(&mut scene.home, json!({}));
    let output = Program::new(&scene.home)
        .args(["agent", "-m", "light please"])
        .run()
        .ends_with(0);
    assert!(
        output.stdout.contains("'action': 'cancel'"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_server_asks_the_model_only_where_that_is_allowed() {
    for is_allowed in [true, false] {
        let model = Model::answering(|request| match request.last_message() {
            last if last.contains("\"tool\"") => say(&format!("It got: {}", result_of(&last))),
            last if last.contains("\"Hi\"") => say("Hello lamp"),
            _ => call("mcp_lamp_sample", json!({})),
        });
        let mut home = Home::with_model(&model);
        let mut settings = json!({"sampling": is_allowed});
        settings["args"] = json!(["mcp.py", "legacy"]);
        put_lamp(&mut home, settings);
        let output = Program::new(&home)
            .args(["agent", "-m", "let it ask"])
            .run()
            .ends_with(0);
        let words = if is_allowed {
            "Hello lamp"
        } else {
            "not supported here"
        };
        assert!(output.stdout.contains(words), "{}", output.stdout);
        let of_server = |request: &Request| !request.body.to_string().contains("let it ask");
        let count = model
            .requests()
            .iter()
            .filter(|request| of_server(request))
            .count();
        assert_eq!(
            count,
            usize::from(is_allowed),
            "nothing of the conversation goes along"
        );
    }
}

#[test]
fn at_the_terminal_a_form_is_filled_in_line_by_line() {
    let model = Model::answering(asking(form()));
    let mut home = Home::with_model(&model);
    put_lamp(&mut home, json!({}));
    let mut terminal = Terminal::start(&home, &["agent", "-m", "light please"]);
    terminal.wait_for("The tool server lamp asks");
    terminal.wait_for("2. Green");
    terminal.type_text(&format!("blue{RETURN}"));
    terminal.wait_for("Type one of them");
    // What is typed before a value is asked for is no answer to it.
    terminal.type_text(&format!("green{RETURN}7{RETURN}"));
    terminal.wait_for("level");
    terminal.type_text(RETURN);
    terminal.wait_for("note");
    terminal.type_text(&format!("door{RETURN}"));
    terminal.wait_for("'level': 3");
    terminal.wait_for("'note': 'door'");
    assert_eq!(terminal.finish(), Some(0));
}
