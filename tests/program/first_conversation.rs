//! The first conversation in a new home: the agent gets to know its owner, in passing.

use std::fs;

use serde_json::{Value, json};

use crate::harness::home::Home;
use crate::harness::model::{Model, Request, Step, call, hang, say};
use crate::harness::program::{Output, Program};

/// How the part of the prompt begins that asks for it.
const PART: &str = "# First conversation";

/// A home right after `peacrab onboard`.
fn new_home(model: &Model) -> Home {
    let home = Home::with_model(model);
    let output = Program::new(&home)
        .args(["onboard", "--non-interactive"])
        .run();
    let output = output.ends_with(0);
    assert!(output.stdout.contains("Say \"skip\""), "{output:?}");
    home
}

fn ask(home: &Home, text: &str) -> Output {
    Program::new(home)
        .args(["agent", "-s", "default", "-m", text])
        .run()
}

fn is_asked_to(request: &Request) -> bool {
    request.messages()[0].to_string().contains(PART)
}

fn write(path: &str, content: &str) -> Step {
    call("write_file", json!({"path": path, "content": content}))
}

#[test]
fn the_owner_is_written_down_and_the_part_ends() {
    let model = Model::playing([
        say("21 °C. And what may I call you?"),
        write("USER.md", "- Name: Ana\n- Language: English\n"),
        say("Hello, Ana. What is this board for?"),
        write("IDENTITY.md", "You are Crabby and water the garden.\n"),
        write("BOOTSTRAP.md", ""),
        say("I will look after the garden."),
        say("Good morning, Ana."),
    ]);
    let home = new_home(&model);
    for text in ["How warm is it?", "I'm Ana", "The garden. You are Crabby."] {
        ask(&home, text).ends_with(0);
    }
    assert!(!home.workspace("BOOTSTRAP.md").exists());
    ask(&home, "Good morning").ends_with(0);
    let requests = model.requests();
    let asked: Vec<bool> = requests.iter().map(is_asked_to).collect();
    assert_eq!(asked, [true, true, true, true, true, true, false]);
    let prompt = requests[6].messages()[0].to_string();
    assert!(prompt.contains("Name: Ana") && prompt.contains("You are Crabby"));
}

#[test]
fn who_skips_it_is_served_and_not_asked_again() {
    let model = Model::playing([
        write("BOOTSTRAP.md", ""),
        say("Fine. What can I do?"),
        say("Done."),
    ]);
    let home = new_home(&model);
    ask(&home, "skip").ends_with(0);
    ask(&home, "make a note").ends_with(0);
    assert!(!is_asked_to(&model.requests()[2]));
    let user = fs::read_to_string(home.workspace("USER.md")).unwrap();
    assert!(user.contains("- Name:\n"), "{user}");
}

#[test]
fn a_first_conversation_that_was_killed_goes_on() {
    let model = Model::playing([
        write("USER.md", "- Name: Ana\n"),
        hang(),
        say("Where were we?"),
        say("Which language do you like?"),
    ]);
    let home = new_home(&model);
    let mut running = Program::new(&home)
        .args(["agent", "-s", "default", "-m", "I'm Ana"])
        .start();
    model.wait_for_requests(2);
    running.kill();
    let user = fs::read_to_string(home.workspace("USER.md")).unwrap();
    assert_eq!(user, "- Name: Ana\n");
    Program::new(&home)
        .args(["agent", "-s", "default", "--resume"])
        .run()
        .ends_with(0);
    ask(&home, "hello?").ends_with(0);
    assert!(model.requests().iter().all(is_asked_to));
}

#[test]
fn an_owner_who_is_known_is_never_asked() {
    let model = Model::answering(|_| say("Hello, Ben."));
    let home = new_home(&model);
    fs::write(home.workspace("USER.md"), "- Name: Ben\n").unwrap();
    ask(&home, "hi").ends_with(0);
    assert!(!is_asked_to(&model.requests()[0]));
    assert!(!home.workspace("BOOTSTRAP.md").exists());

    // Nor is one whose home was there before.
    let home = Home::with_model(&model);
    fs::write(home.workspace("AGENTS.md"), "Be kind.\n").unwrap();
    let onboard = Program::new(&home)
        .args(["onboard", "--non-interactive"])
        .run();
    assert!(!onboard.ends_with(0).stdout.contains("skip"));
    assert!(!home.workspace("BOOTSTRAP.md").exists());
}

#[test]
fn it_ends_by_itself_after_some_turns() {
    let model = Model::answering(|_| say("Done. And your name?"));
    let home = new_home(&model);
    let state = home.path().join("state/introduction.json");
    ask(&home, "one").ends_with(0);
    let turns: Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
    assert_eq!(turns, json!(1));
    fs::write(&state, "19").unwrap();
    ask(&home, "the last of them").ends_with(0);
    ask(&home, "one more").ends_with(0);
    let asked: Vec<bool> = model.requests().iter().map(is_asked_to).collect();
    assert_eq!(asked, [true, true, false]);
    assert!(!home.workspace("BOOTSTRAP.md").exists());
}
