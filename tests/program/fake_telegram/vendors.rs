//! What the program and the fake say to each other, for tests/telegram/check.py, which reads it with a library that works
//! with the real Telegram.

use serde_json::json;

use crate::gateway::scene::Scene;
use crate::harness::model::{Gate, call, say};
use crate::harness::telegram::{Media, Upload};

/// The beginning of a PNG.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\nnothing more";

#[test]
#[ignore = "make fakes reads what it prints"]
fn print() {
    let gate = Gate::default();
    let question = json!({
        "content": "Which one, **A** or `B`?",
        "buttons": [["A", "B"]],
    });
    let wish = json!({"command": "echo hi", "escalate": true, "reason": "to see"});
    let other = json!({"command": "echo ho", "escalate": true, "reason": "to see"});
    let picture =
        json!({"content": "**This** one?", "media": ["crab.png"], "buttons": [["Yes", "No"]]});
    let album = json!({"content": "**Both**.", "media": ["crab.png", "pot.png"]});
    let scene = Scene::playing([
        say("Once upon a time there was a [crab](https://example.org).").pausing_at(&gate),
        call("message", question),
        say("You chose."),
        call("message", picture),
        say("Again."),
        say("Really."),
        call("message", album),
        call(
            "message",
            json!({"content": "Here.", "media": ["crab.png", "crab.txt"]}),
        ),
        call("exec", wish),
        say(
            "# All\n\n| a | **b** |\n|---|---|\n| 1 | `2` |\n\n> quoted\n\n1. one\n2. two\n\n- [x] *done*\n\n---\n\n```sh\nls\n```",
        ),
        say("Seen."),
        say("In a topic."),
        say("In a group."),
        call("exec", other),
        say("It ran."),
    ]);
    std::fs::write(scene.home.workspace("crab.png"), PICTURE).unwrap();
    std::fs::write(scene.home.workspace("pot.png"), PICTURE).unwrap();
    std::fs::write(scene.home.workspace("crab.txt"), "crab").unwrap();
    let home = scene.telegram.group(-900, "Home");
    let forum = scene.telegram.topic(home, "Plants");
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    scene.telegram.wait_for_draft(scene.ana.chat(), "Once");
    gate.open();
    scene.wait_for("a crab.");
    scene.ana.says("ask me");
    scene.ana.presses("A");
    scene.wait_for("You chose.");
    scene.ana.says("and the picture");
    scene.wait_for("Again.");
    scene.ana.presses("No");
    scene.wait_for("Really.");
    let said = scene.ana.says("send me all of it");
    scene.ana.edits(&said, "send me all of it, please");
    scene.ana.presses("Run once");
    scene.wait_for("quoted");
    let picture = Upload::new(Media::Photo, "a.jpg", PICTURE).caption("what is it?");
    scene.ana.sends(picture);
    scene.wait_for("Seen.");
    let topic = scene.ana.opens_topic(None);
    scene.ana.says_in(topic, "and here?");
    scene.wait_in(topic, "In a topic.");
    scene.ana.says_in(forum, "@peacrab_bot and there?");
    scene.wait_in(forum, "In a group.");
    scene.ana.says_in(home, "@peacrab_bot run it");
    scene.ana.presses_in(home, "Run once");
    scene.wait_in(home, "It ran.");
    scene.ana.says_in(home, "/status");
    scene.wait_in(home, "Model");
    scene.ana.says("/sh echo begun");
    scene.wait_for("begun");
    gateway.stop().ends_with(0);
    for (method, parameters, result) in scene.telegram.exchanges() {
        println!(
            "exchange {}",
            json!({"method": method, "parameters": parameters, "result": result})
        );
    }
}
