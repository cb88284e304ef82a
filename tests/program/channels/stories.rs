//! The stories, each for any channel.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::{HERE, Place, Scene, Service, Who};
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Gate, Model, Request, call, say};
use crate::harness::wait_until;

/// Their names.
pub const NAMES: [&str; 10] = [
    "code_and_tables",
    "sh",
    "mention_in_group",
    "edit",
    "outage_of_ten_minutes",
    "kills",
    "stranger",
    "a_forward_is_no_command",
    "empty_answer",
    "limited_catch_up",
];

/// How often the gateway is killed; more in a soak.
const KILLS: usize = 10;
/// The variable that says how often.
const KILLS_VARIABLE: &str = "PEACRAB_TEST_CHANNEL_KILLS";

/// Code is shown as code, and a table with each of its cells.
pub fn code_and_tables<S: Service>() {
    let scene = Scene::<S>::playing([say(
        "Look:\n\n```rust\nfn main() {\n    let a_b = 1 < 2 && *p;\n}\n```\n\n\
         | part | price |\n|---|---|\n| fan | 3 |\n| case | 12 |\n\nThat is all.",
    )]);
    let gateway = scene.start();
    scene.service.says(Who::Ana, HERE, "show me");
    scene.wait_for(HERE, "That is all.");
    gateway.stop().ends_with(0);
    let all = scene.texts(HERE).join("\n");
    for part in [
        "fn main() {",
        "    let a_b = 1 < 2 && *p;",
        "part",
        "price",
        "fan",
        "case",
        "12",
    ] {
        assert!(all.contains(part), "{part:?} is not in {all}");
    }
    assert!(!all.contains("|---|"), "{all}");
    let shown = scene.service.shown(HERE);
    let code = "let a_b = 1 < 2 && *p;";
    assert!(
        shown.iter().any(|shown| S::is_code(shown, code)),
        "{shown:?}"
    );
}

/// The chat is a remote terminal.
pub fn sh<S: Service>() {
    let scene = Scene::<S>::playing([]);
    let gateway = scene.start();
    scene.service.says(Who::Ana, HERE, "/sh echo $((6 * 7)).");
    scene.wait_for(HERE, "42.");
    scene.service.says(Who::Ana, HERE, "/sh cd /; echo moved.");
    scene.wait_for(HERE, "moved.");
    scene.service.says(Who::Ana, HERE, "/sh echo \"in $PWD.\"");
    scene.wait_for(HERE, "in /.");
    gateway.stop().ends_with(0);
}

/// In a group, the bot answers when it is named, and not otherwise.
pub fn mention_in_group<S: Service>() {
    let scene = Scene::<S>::counting();
    let gateway = scene.start();
    scene
        .service
        .says(Who::Ana, Place::Group, "nobody in particular");
    scene.service.mentions(Who::Ana, Place::Group, "what is it");
    scene.wait_for(Place::Group, "1 so far, it.");
    scene
        .service
        .mentions(Who::Stranger, Place::Group, "let me");
    scene.service.mentions(Who::Ana, Place::Group, "and now");
    scene.wait_for(Place::Group, "2 so far, now.");
    gateway.stop().ends_with(0);
    let texts = scene.texts(Place::Group);
    let answers = texts.iter().filter(|text| text.contains("so far"));
    assert_eq!(answers.count(), 2, "{texts:?}");
    assert_eq!(scene.model.requests().len(), 2);
    assert!(scene.texts(HERE).is_empty());
}

/// What is edited before the model reads it is read as it is then.
pub fn edit<S: Service>() {
    let gate = Gate::default();
    let scene = Scene::<S>::playing([say("first done").after(&gate), say("second done")]);
    let gateway = scene.start();
    scene.service.says(Who::Ana, HERE, "begin");
    scene.model.wait_for_requests(1);
    let second = scene.service.says(Who::Ana, HERE, "buy milk");
    let inbox = scene.home.path().join("inbox.jsonl");
    let has = |words: &str| fs::read_to_string(&inbox).is_ok_and(|inbox| inbox.contains(words));
    wait_until("the message", || has("buy milk"));
    scene.service.edits(Who::Ana, HERE, &second, "buy oat milk");
    wait_until("the edit", || has("buy oat milk"));
    gate.open();
    scene.wait_for(HERE, "second done");
    gateway.stop().ends_with(0);
    let asked = scene.asked(1);
    assert!(
        asked.contains("buy oat milk") && !asked.contains("buy milk"),
        "{asked}"
    );
}

/// The channel cannot be reached for ten minutes of the clock: the answer waits for it, and so does what people write.
pub fn outage_of_ten_minutes<S: Service>() {
    let clock = Turned::at("2026-11-23T07:00:00Z");
    let gate = Gate::default();
    let mut scene = Scene::<S>::playing([say("first done").after(&gate), say("second done")]);
    scene.home.turn(&clock);
    let gateway = scene.start();
    scene.service.says(Who::Ana, HERE, "begin");
    scene.model.wait_for_requests(1);
    scene.service.outage(true);
    gate.open();
    // Something has been tried in vain.
    let state = scene.home.path().join("outbox.jsonl");
    wait_until("the answer", || {
        fs::read_to_string(&state).is_ok_and(|it| it.contains("first done"))
    });
    clock.forward(Duration::from_secs(600));
    scene.service.says(Who::Ana, HERE, "are you there");
    scene.service.outage(false);
    scene.wait_for(HERE, "first done");
    scene.wait_for(HERE, "second done");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(HERE).len(), 2, "{:?}", scene.texts(HERE));
    assert!(
        scene.asked(1).contains("are you there"),
        "{}",
        scene.asked(1)
    );
}

/// The gateway is killed at random instants: each message is answered, and none is sent again without need.
pub fn kills<S: Service>() {
    let kills = std::env::var(KILLS_VARIABLE).map_or(KILLS, |count| count.parse().unwrap());
    let scene = Scene::<S>::with(Model::answering(|request| {
        say(&words_since_answer(request))
    }));
    scene.service.forgives_haste();
    let mut seed = kills as u64;
    let mut gateway = scene.start();
    for number in 0..kills {
        scene
            .service
            .says(Who::Ana, HERE, &format!("word{number}."));
        // Not a wait for something, but the instant at which the power goes. xorshift, by Marsaglia.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_millis(seed % 300));
        gateway.kill();
        gateway = scene.start();
    }
    scene.service.says(Who::Ana, HERE, "word-last.");
    scene.wait_for(HERE, "word-last.");
    let count = |number: usize| {
        let texts = scene.texts(HERE).into_iter();
        texts
            .filter(|text| text.contains(&format!("word{number}.")))
            .count()
    };
    for number in 0..kills {
        wait_until("an answer", || count(number) > 0);
    }
    gateway.stop().ends_with(0);
    let again = (0..kills).filter(|number| count(*number) > 1);
    let again = again.count();
    // Between the channel's taking a message and its confirmation, a kill may repeat it where the channel cannot tell.
    assert!(
        again * 2 <= kills,
        "{again} of {kills} came again: {:?}",
        scene.texts(HERE)
    );
    let pending = fs::read_to_string(scene.home.path().join("outbox.jsonl")).unwrap();
    assert_eq!(pending, "");
}

/// The words that people have written since the model has answered.
fn words_since_answer(request: &Request) -> String {
    let newest_first = request.messages().iter().rev();
    let unanswered = newest_first.take_while(|message| message["role"] != "assistant");
    let texts: Vec<&str> = unanswered
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    let words: Vec<&str> = words.filter(|word| word.starts_with("word")).collect();
    format!("Seen: {}", words.join(" "))
}

/// Who is unknown gets a code and nothing else, and is let in with it.
pub fn stranger<S: Service>() {
    let there = Place::Private(Who::Stranger);
    let scene = Scene::<S>::playing([say("Hello, Bob.")]);
    let gateway = scene.start();
    scene.service.says(Who::Stranger, there, "hello?");
    let told = scene.wait_for(there, "/pair").text;
    let (_, rest) = told.split_once("/pair ").unwrap();
    let code: String = rest
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    scene.service.says(Who::Stranger, there, "/sh id");
    scene.service.says(Who::Ana, HERE, &format!("/pair {code}"));
    scene.wait_for(HERE, "is now paired");
    scene.wait_for(there, "You're paired");
    scene.service.says(Who::Stranger, there, "hello again");
    scene.wait_for(there, "Hello, Bob.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 1);
    assert!(!scene.texts(there).iter().any(|text| text.contains("uid=")));
}

/// What a person passes on is for the model: no command, no answer to a question and no pairing code.
pub fn a_forward_is_no_command<S: Service>() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let command = format!("echo one >> {}", file.display());
    let scene = Scene::<S>::with(Model::answering(move |request| {
        let newest = request.messages().last().unwrap();
        match newest["role"] == "user" && newest["content"].to_string().contains("log it") {
            true => call(
                "exec",
                json!({"command": command, "escalate": true, "reason": "to log"}),
            ),
            false => say("Read."),
        }
    }));
    scene.service.forgives_haste();
    let gateway = scene.start();
    for text in ["/sh echo $((6 * 7)).", "!sh echo $((6 * 7))."] {
        let asked = scene.model.requests().len();
        scene.service.forwards(Who::Ana, HERE, text);
        scene.model.wait_for_requests(asked + 1);
        assert!(
            scene.asked(asked).contains("sh echo"),
            "{}",
            scene.asked(asked)
        );
    }

    scene.service.says(Who::Ana, HERE, "log it");
    let question = scene.wait_for_any(HERE, "the question", |shown| {
        shown.text.contains("echo one") && shown.text.contains("outside the sandbox")
    });
    let code = question.text.split_once("/approve ").map(|(_, rest)| rest);
    let code = code.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect());
    let code: String = code.unwrap_or_default();
    for text in ["1", "yes", "/approve", &format!("/approve {code}")] {
        scene.service.forwards(Who::Ana, HERE, text);
    }
    scene.service.presses(Who::Ana, HERE, "Deny");
    let audit = scene.home.path().join("audit.jsonl");
    wait_until("the answer", || {
        fs::read_to_string(&audit).is_ok_and(|audit| audit.contains("denied"))
    });

    if S::lacks().iter().any(|(name, _)| *name == "stranger") {
        gateway.stop().ends_with(0);
        let texts = scene.texts(HERE).join("\n");
        return assert!(!texts.contains("42.") && !file.exists(), "{texts}");
    }
    let there = Place::Private(Who::Stranger);
    scene.service.says(Who::Stranger, there, "hello?");
    let told = scene.wait_for(there, "/pair").text;
    let (_, rest) = told.split_once("/pair ").unwrap();
    let code: String = rest
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let pair = format!("/pair {code}");
    scene.service.forwards(Who::Ana, HERE, &pair);
    wait_until("the forward", || {
        let requests = scene.model.requests();
        let mut all = requests.iter().flat_map(|request| request.messages());
        all.any(|message| {
            message["role"] == "user" && message["content"].to_string().contains(&pair)
        })
    });
    assert!(
        !scene
            .texts(there)
            .iter()
            .any(|text| text.contains("You're paired"))
    );
    scene.service.says(Who::Ana, HERE, &pair);
    scene.wait_for(there, "You're paired");
    scene.wait_for(HERE, "is now paired");
    gateway.stop().ends_with(0);
    let texts = scene.texts(HERE).join("\n");
    assert!(!texts.contains("42.") && !file.exists(), "{texts}");
    assert_eq!(texts.matches("is now paired").count(), 1, "{texts}");
}

/// An answer of which nothing is seen is said to be empty.
pub fn empty_answer<S: Service>() {
    let scene = Scene::<S>::playing([say("<!-- nothing to say -->"), say("Not empty.")]);
    let gateway = scene.start();
    scene.service.says(Who::Ana, HERE, "anything?");
    scene.wait_for(HERE, "(empty answer)");
    scene.service.says(Who::Ana, HERE, "and now?");
    scene.wait_for(HERE, "Not empty.");
    gateway.stop().ends_with(0);
}

/// What was written while the gateway was off is answered, although the channel limits the questions for it, a newer
/// message comes meanwhile, and the gateway is killed before the limit is over.
pub fn limited_catch_up<S: Service>() {
    let scene = Scene::<S>::with(Model::answering(|request| {
        say(&words_since_answer(request))
    }));
    let gateway = scene.start();
    scene.service.says(Who::Ana, HERE, "word-first.");
    scene.wait_for(HERE, "word-first.");
    gateway.stop().ends_with(0);
    scene.service.outage(true);
    for word in ["word-one.", "word-two.", "word-three."] {
        scene.service.says(Who::Ana, HERE, word);
    }
    scene.service.outage(false);
    let is_limited = scene.service.limit_receiving();
    let gateway = Gateway::start(&scene.home);
    wait_until("a limit", is_limited);
    scene.service.says(Who::Ana, HERE, "word-four.");
    if S::PUSHES {
        scene.wait_for(HERE, "word-four.");
    }
    gateway.kill();
    let gateway = scene.start();
    for word in ["word-one.", "word-two.", "word-three.", "word-four."] {
        scene.wait_for(HERE, word);
    }
    gateway.stop().ends_with(0);
    let all = scene.texts(HERE).join(" ");
    let words: Vec<&str> = all
        .split_whitespace()
        .filter(|it| it.starts_with("word"))
        .collect();
    assert_eq!(words.len(), 5, "{words:?}");
    if !S::PUSHES {
        let expected = [
            "word-first.",
            "word-one.",
            "word-two.",
            "word-three.",
            "word-four.",
        ];
        assert_eq!(words, expected);
    }
}
