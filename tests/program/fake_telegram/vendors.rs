//! What the program and the fake say to each other, for tests/telegram/check.py, which reads it with a library that works
//! with the real Telegram.

use serde_json::{Value, json};

use crate::gateway::scene::Scene;
use crate::harness::ear::voice;
use crate::harness::model::{Gate, call, say};
use crate::harness::mouth::{Mouth, Speech};
use crate::harness::telegram::{Media, Upload};

/// The beginning of a PNG.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\nnothing more";

#[test]
#[ignore = "make fakes reads what it prints"]
fn print() {
    let (gate, stopped) = (Gate::default(), Gate::default());
    let mouth = Mouth::start(|_, _| Speech::Bytes(voice(4)));
    let scene = played(&gate, &stopped, &mouth);
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
    // What is shown of it is deleted for the answer, which comes below.
    scene.ana.says_in(home, "/sh echo going; sleep 600");
    scene.wait_in(home, "going");
    scene.ana.says_in(home, "/status");
    scene.wait_in(home, "Model");
    scene.ana.says("/sh echo begun");
    scene.wait_for("begun");
    others(&scene);
    stopped.open();
    gateway.stop().ends_with(0);
    for (method, parameters, result) in scene.telegram.exchanges() {
        println!(
            "exchange {}",
            json!({"method": method, "parameters": parameters, "result": result})
        );
    }
}

/// What the model answers, the first once `gate` is open and the last while `stopped` is not, and the files that it sends.
fn played(gate: &Gate, stopped: &Gate, mouth: &Mouth) -> Scene {
    let question = json!({
        "content": "Which one, **A** or `B`?",
        "buttons": [["A", "B"]],
    });
    let wish = json!({"command": "echo hi", "escalate": true, "reason": "to see"});
    let other = json!({"command": "echo ho", "escalate": true, "reason": "to see"});
    let picture =
        json!({"content": "**This** one?", "media": ["crab.png"], "buttons": [["Yes", "No"]]});
    let album = json!({"content": "**Both**.", "media": ["crab.png", "pot.png"]});
    let sticker = json!({"content": "", "sticker": "wave"});
    let long = json!({"content": "word ".repeat(819), "buttons": [["Yes", "No"]]});
    let mut scene = Scene::playing([
        say("Once upon a time there was a [crab](https://example.org).").pausing_at(gate),
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
        call("message", sticker),
        say("That was a wave."),
        call("message", long),
        say("I asked."),
        say("You said so."),
        say("I see."),
        say("I hear."),
        say("And never came to an end.").pausing_at(stopped),
    ]);
    scene.home.set("/speech", json!({"apiBase": mouth.base()}));
    let stickers = scene.home.workspace("stickers");
    std::fs::create_dir_all(&stickers).unwrap();
    std::fs::write(stickers.join("wave.webp"), "RIFF....WEBPVP8 wave").unwrap();
    let index = json!({"wave": "stickers/wave.webp"}).to_string();
    std::fs::write(stickers.join("index.json"), index).unwrap();
    std::fs::write(scene.home.workspace("crab.png"), PICTURE).unwrap();
    std::fs::write(scene.home.workspace("pot.png"), PICTURE).unwrap();
    std::fs::write(scene.home.workspace("crab.txt"), "crab").unwrap();
    scene
}

/// A sticker, a choice below a text with no room for it, what is no text, a spoken answer, and one that is stopped.
fn others(scene: &Scene) {
    scene.ana.says("wave!");
    scene.wait_for("That was a wave.");
    scene.ana.says("ask me at length");
    scene.wait_for("I asked.");
    scene.ana.presses("Yes");
    scene.wait_for("You said so.");
    let from = json!({"id": 1001, "is_bot": false, "first_name": "Ana"});
    let chat = json!({"id": 1001, "type": "private", "first_name": "Ana"});
    let option = json!({"persistent_id": "1", "text": "sea", "voter_count": 3});
    let poll = json!({
        "id": "5", "question": "Where to?", "options": [option], "total_voter_count": 3, "is_closed": true,
        "is_anonymous": true, "type": "regular", "allows_multiple_answers": false,
        "allows_revoting": false, "members_only": false,
    });
    let list = json!({"title": "Trip", "tasks": [{"id": 1, "text": "pack"}]});
    let message = |id: i64, kind: &str, content: &Value| {
        let date = 1_795_417_200;
        json!({"message_id": id, "from": from, "chat": chat, "date": date, kind: content})
    };
    let (poll, list) = (
        message(9001, "poll", &poll),
        message(9002, "checklist", &list),
    );
    // They are not in the chat, where the program reacts to them.
    scene.telegram.forgives("message to react not found");
    scene.telegram.hold_updates();
    scene.telegram.pushes("message", poll);
    scene.telegram.pushes("message", list);
    scene.telegram.release_as(&[]);
    scene.wait_for("I see.");
    scene.ana.says("/voice on");
    scene.wait_for("/voice off ends that");
    scene
        .ana
        .sends(Upload::new(Media::Voice, "a.ogg", voice(2)));
    scene
        .ana
        .sends(Upload::new(Media::VideoNote, "a.mp4", "film"));
    scene.telegram.wait_for_calls("sendVoice", 1);
    scene.ana.says("tell me another");
    scene.telegram.wait_for_draft(scene.ana.chat(), "And nev");
    scene.ana.stops(scene.ana.chat());
    scene.wait_for("Stopped.");
}
