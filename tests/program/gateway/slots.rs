//! Who waits for whom: turns that wait for a person, commands one after another, and a `/stop` for what has
//! not begun.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, Step, call, hang, say};
use crate::harness::program::Program;
use crate::harness::telegram::{Message, Person};
use crate::harness::wait_until;

/// How many commands wait in a chat.
const COMMANDS_WAITING: usize = 50;

/// A scene in which three people may speak.
fn of_three(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> (Scene, [Person; 3]) {
    let scene = Scene::answering(answer).set(
        "allowFrom",
        json!(["1001", "1002", "1003", "1004", "1005", "2002"]),
    );
    let ben = scene.telegram.person(1002, "Ben", None);
    let cleo = scene.telegram.person(1003, "Cleo", None);
    let people = [scene.ana.clone(), ben, cleo];
    (scene, people)
}

/// A command that wants to be run outside the sandbox.
fn escalated(command: &str) -> Value {
    json!({"command": command, "escalate": true, "reason": "a test"})
}

/// A command that ends when a file of this name lies in the workspace.
fn until(file: &str, words: &str) -> String {
    format!("/sh until [ -e {file} ]; do sleep 0.05; done; echo {words}")
}

fn touch(file: &Path) {
    fs::write(file, "").unwrap();
}

fn count(texts: &[String], words: &str) -> usize {
    texts.iter().filter(|text| text.contains(words)).count()
}

#[test]
fn turns_that_wait_for_a_person_leave_their_slots_to_others() {
    let (scene, [ana, ben, cleo]) = of_three(|request| {
        let said = request.body["messages"].to_string();
        match (said.contains("delete"), request.last_message()) {
            (true, last) if last.contains(r#""role":"tool""#) => say("It is decided."),
            (true, _) => call("exec", escalated("true")),
            (false, _) => say("I have time for you."),
        }
    });
    // With the two slots of the default.
    let gateway = scene.start();
    for person in [&ana, &ben] {
        person.says("delete it");
        scene
            .telegram
            .wait_for_message(person.chat(), |message| message.markup.is_some());
    }
    cleo.says("hello?");
    scene.wait_in(cleo.chat(), "I have time for you.");
    for person in [&ana, &ben] {
        assert_eq!(count(&scene.texts_in(person.chat()), "It is decided."), 0);
        person.presses("Deny");
    }
    for person in [&ana, &ben] {
        scene.wait_in(person.chat(), "It is decided.");
    }
    gateway.stop().ends_with(0);
}

#[test]
fn a_turn_that_has_its_answer_waits_for_a_slot_and_a_stop_ends_it() {
    let (mut scene, [ana, ben, _]) = of_three(|request| {
        let said = request.body["messages"].to_string();
        match (said.contains("delete"), request.last_message()) {
            (_, last) if last.contains("hello") => say("Hello."),
            (true, last) if last.contains(r#""role":"tool""#) => say("It is decided."),
            (true, _) => call("exec", escalated("true")),
            (false, _) => hang(),
        }
    });
    let slots = "/agents/defaults/maxParallelTurns";
    scene.home.set(slots, json!(1));
    let gateway = scene.start();
    ana.says("delete it");
    scene
        .telegram
        .wait_for_message(ana.chat(), |message| message.markup.is_some());
    ben.says("take the slot");
    scene.model.wait_for_requests(2);
    ana.presses("Deny");
    scene.wait_in(ana.chat(), "Denied");
    ana.says("/stop");
    scene.wait_in(ana.chat(), "Stopped. 1 reply cancelled.");
    gateway.wait_for_log("turn stopped");
    ben.says("/stop");
    scene.wait_in(ben.chat(), "Stopped. 1 reply cancelled.");
    ana.says("hello");
    scene.wait_in(ana.chat(), "Hello.");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene.texts_in(ana.chat()), "It is decided."), 0);
}

#[test]
fn an_interrupted_turn_that_waits_for_its_slot_can_be_stopped() {
    let (mut scene, people) = of_three(|request| match request.last_message().contains("hello") {
        true => say("Hello."),
        false => hang(),
    });
    let slots = "/agents/defaults/maxParallelTurns";
    scene.home.set(slots, json!(3));
    let gateway = scene.start();
    for (person, number) in people.iter().zip(1..) {
        person.says(&format!("work {number}"));
    }
    scene.model.wait_for_requests(people.len());
    gateway.kill();

    scene.home.set(slots, json!(1));
    let gateway = scene.start();
    // One goes on, and two wait for it.
    scene.model.wait_for_requests(people.len() + 1);
    let going_on = scene.asked(people.len());
    // The one that runs is stopped last, else the next one would begin.
    let is_running = |number: &usize| going_on.contains(&format!("work {}", number + 1));
    let mut order: Vec<usize> = (0..people.len()).collect();
    order.sort_by_key(is_running);
    for number in order {
        let person = &people[number];
        person.says("/stop");
        scene.wait_in(person.chat(), "Stopped. 1 reply cancelled.");
    }
    assert_eq!(scene.model.requests().len(), people.len() + 1);
    for person in &people {
        person.says("hello");
        scene.wait_in(person.chat(), "Hello.");
    }
    gateway.stop().ends_with(0);
    // And it is not gone on with after another start.
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 2 * people.len() + 1);
}

#[test]
fn commands_of_a_chat_run_one_after_another_and_no_chat_waits_for_another() {
    let (scene, [ana, ben, _]) = of_three(|_| hang());
    let order = scene.home.workspace("order");
    let go = scene.home.workspace("go");
    // All of it is there before the start.
    ben.says(&until("go", "ben"));
    ben.says("/sh echo the next");
    ana.says("/sh sleep 0.3; cd /usr");
    ana.says("hello");
    for number in 1..=12 {
        ana.says(&format!("/sh pwd; echo {number} >>{}", order.display()));
    }
    ana.says("/sh echo all");
    let gateway = scene.start();
    scene.wait_in(ana.chat(), "\nall");
    let numbers: String = (1..=12).map(|number| format!("{number}\n")).collect();
    assert_eq!(fs::read_to_string(order).unwrap(), numbers);
    let texts = scene.texts_in(ana.chat());
    assert_eq!(count(&texts, "\n/usr"), 12, "{texts:#?}");
    assert_eq!(count(&scene.texts_in(ben.chat()), "\nthe next"), 0);
    touch(&go);
    scene.wait_in(ben.chat(), "\nthe next");
    gateway.stop().ends_with(0);
}

#[test]
fn commands_that_wait_are_bounded_and_a_stop_overtakes_them() {
    let (scene, [ana, ben, _]) = of_three(|_| hang());
    ana.says(&until("go", "never"));
    for _ in 0..COMMANDS_WAITING {
        ana.says("/sh echo one of many");
    }
    ana.says("/sh echo too many");
    ben.says("/sh echo ben");
    let gateway = scene.start();
    let told = scene.wait_in(ana.chat(), "Not accepted");
    assert_eq!(
        told.text,
        "Not accepted: /sh echo too many. 50 commands are already waiting here; /stop clears them. Please \
         send it again later."
    );
    scene.wait_in(ben.chat(), "\nben");
    ana.says("/stop");
    scene.wait_in(ana.chat(), "50 queued messages dropped");
    ana.says("/sh echo now");
    scene.wait_in(ana.chat(), "\nnow");
    let log = gateway.stop().ends_with(0).stderr;
    assert!(log.contains("refused"), "{log}");
    let texts = scene.texts_in(ana.chat());
    assert_eq!(count(&texts, "one of many"), 0, "{texts:#?}");
}

#[test]
fn a_kill_leaves_waiting_commands_in_their_order() {
    let (scene, [ana, ..]) = of_three(|_| hang());
    let begun = scene.home.workspace("begun");
    ana.says("/sh touch begun; sleep 600");
    for word in ["two", "three"] {
        ana.says(&format!("/sh echo {word} >>order; cat order"));
    }
    let gateway = scene.start();
    wait_until("the first command runs", || begun.exists());
    gateway.kill();
    let gateway = scene.start();
    scene.wait_in(ana.chat(), "was interrupted by a restart");
    scene.wait_in(ana.chat(), "\ntwo\nthree");
    gateway.stop().ends_with(0);
    let order = fs::read_to_string(scene.home.workspace("order")).unwrap();
    assert_eq!(order, "two\nthree\n");
}

#[test]
fn two_commands_at_once_own_a_message_each() {
    let scene = Scene::playing([]).set("replyToMessage", json!(true));
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_EVERY_COMMAND_IS_LONG", "1"));
    let lines = ["one", "two"].map(|name| {
        let wait = until(name, &format!("end of {name}"));
        let command = wait.strip_prefix("/sh ").unwrap();
        format!("echo beginning of {name}; {command}; sleep 0.2")
    });
    // Both are shown while they run.
    let [(one, first), (two, second)] = [0, 1].map(|at| {
        let said = scene.ana.says(&format!("/sh {}", lines[at]));
        let name = ["one", "two"][at];
        (said, scene.wait_for(&format!("\nbeginning of {name}")))
    });
    let (said, drafts) = ([one, two], [first, second]);
    assert_ne!(drafts[0].id, drafts[1].id);
    for name in ["two", "one"] {
        touch(&scene.home.workspace(name));
        scene.wait_for(&format!("\nend of {name}"));
    }
    gateway.stop().ends_with(0);
    let messages = scene.telegram.messages(scene.ana.chat());
    let outcome = |message: &Message| (message.reply_to, message.text.clone());
    let mut outcomes: Vec<_> = messages.iter().map(outcome).collect();
    outcomes.sort();
    let mut expected = [0, 1].map(|at| {
        let name = ["one", "two"][at];
        let line = &lines[at];
        let text = format!("~ $ {line}\nbeginning of {name}\nend of {name}");
        (Some(said[at].message), text)
    });
    expected.sort();
    assert_eq!(outcomes, expected);
}

#[test]
fn a_command_is_on_record_before_it_ends_and_its_end_too() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let command = until("go", "the end").replace("/sh ", "");
    scene.ana.says(&format!("/sh echo begun; {command}"));
    scene.wait_for("\nbegun");
    let records = || {
        let log = fs::read_to_string(scene.home.path().join("audit.jsonl")).unwrap_or_default();
        let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    let begun = records();
    assert_eq!(begun.len(), 1, "{begun:#?}");
    assert!(begun[0].to_string().contains("echo begun"), "{begun:#?}");
    touch(&scene.home.workspace("go"));
    scene.wait_for("\nthe end");
    let ended = records();
    assert_eq!(ended.len(), 2, "{ended:#?}");
    assert_eq!(ended[1]["event"], "end", "{ended:#?}");
    gateway.stop().ends_with(0);
}
