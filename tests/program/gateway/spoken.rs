//! Spoken answers: who gets them, what is said, and that the text always comes.

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::ear::voice;
use crate::harness::gate::Gate;
use crate::harness::home::KEY;
use crate::harness::model::{call, say};
use crate::harness::mouth::{Mouth, Speech};
use crate::harness::telegram::{Fault, Message};
use crate::harness::wait_until;

const ANSWER: &str = "It is **ready**.\n\n```\nls -l\n```\n\nSee [it](https://example.org/x).";
const SPOKEN: &str = "It is ready.\nSee it.";

/// The scene with a server of one's own that speaks.
fn with_mouth(mut scene: Scene, mouth: &Mouth) -> Scene {
    scene.home.set("/speech", json!({"apiBase": mouth.base()}));
    scene
}

fn speaking() -> Mouth {
    Mouth::start(|_, _| Speech::Bytes(voice(4)))
}

/// The files that the bot has sent to Ana.
fn files(scene: &Scene) -> Vec<Message> {
    let messages = scene.telegram.messages(scene.ana.chat()).into_iter();
    messages.filter(|message| message.file.is_some()).collect()
}

fn turn_on(scene: &Scene) {
    scene.ana.says("/voice on");
    scene.wait_for("/voice off ends that");
}

/// Files for messages that are still in the home.
fn left_over(scene: &Scene) -> usize {
    std::fs::read_dir(scene.home.path().join("outgoing")).map_or(0, Iterator::count)
}

#[test]
fn an_answer_is_spoken_where_the_chat_wants_it_and_its_text_comes_first() {
    let gate = Gate::default();
    let held = gate.clone();
    let mouth = Mouth::start(move |_, before| match before {
        0 => Speech::After(held.clone(), voice(4)),
        _ => Speech::Bytes(voice(4)),
    });
    let script = [
        say("Silent."),
        say(ANSWER),
        say("```\nls\n```"),
        say("Silent again."),
    ];
    let mut scene = Scene::playing(script);
    scene.home.set(
        "/providers/openai",
        json!({"apiKey": KEY, "apiBase": mouth.base()}),
    );
    scene
        .home
        .set("/speech", json!({"provider": "openai", "voice": "coral"}));
    let gateway = scene.start();
    scene.ana.says("one");
    scene.wait_for("Silent.");
    turn_on(&scene);
    scene.ana.says("two");
    mouth.wait_for(1);
    scene.wait_for("It is ready.");
    assert!(files(&scene).is_empty(), "it is still being spoken");
    gate.open();
    let sent = scene.telegram.wait_for_calls("sendVoice", 1);
    assert_eq!(sent[0]["duration"], json!("4"), "{sent:?}");
    // Code alone has no words.
    scene.ana.says("three");
    scene.wait_for("ls");
    scene.ana.says("/voice off");
    scene.wait_for("Answers are not spoken");
    scene.ana.says("four");
    scene.wait_for("Silent again.");
    scene.ana.says("/usage");
    let usage = scene.wait_for("gpt-4o-mini-tts: price unknown").text;
    assert!(
        usage.contains("openai/gpt-4o-mini-tts: price unknown"),
        "{usage}"
    );
    gateway.stop().ends_with(0);
    let [asked] = &mouth.asked()[..] else {
        panic!("{:?}", mouth.asked());
    };
    assert_eq!((asked.input.as_str(), asked.key.as_str()), (SPOKEN, KEY));
    assert_eq!(asked.by, ("gpt-4o-mini-tts".to_owned(), "coral".to_owned()));
    assert_eq!(left_over(&scene), 0);
}

#[test]
fn two_chats_are_spoken_to_at_once_and_a_slow_voice_takes_no_ones_slot() {
    let gate = Gate::default();
    let held = gate.clone();
    let mouth = Mouth::start(move |asked, _| match asked.input.contains("Ana") {
        true => Speech::After(held.clone(), voice(4)),
        false => Speech::Bytes(voice(2)),
    });
    let scene = Scene::answering(|request| {
        let is_ana = request.last_message().contains("i am ana");
        say(if is_ana { "Hello Ana." } else { "Hello Bob." })
    });
    let mut scene = with_mouth(scene, &mouth).set("allowFrom", json!(["1001", "2002"]));
    scene
        .home
        .set("/agents/defaults/maxParallelTurns", json!(1));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    turn_on(&scene);
    bob.says("/voice on");
    scene.wait_in(bob.chat(), "/voice off ends that");
    scene.ana.says("i am ana");
    mouth.wait_for(1);
    scene.wait_for("Hello Ana.");
    bob.says("i am bob");
    scene.wait_in(bob.chat(), "Hello Bob.");
    let spoken = scene.telegram.wait_for_calls("sendVoice", 1);
    assert_eq!(spoken[0]["duration"], json!("2"));
    gate.open();
    scene.telegram.wait_for_calls("sendVoice", 2);
    gateway.stop().ends_with(0);
    let no_key = mouth.asked().iter().all(|asked| asked.key.is_empty());
    assert!(no_key, "a server of one's own gets no key");
}

#[test]
fn stop_ends_a_slow_voice_and_a_kill_speaks_nothing_twice() {
    let mouth = Mouth::start(|_, before| match before {
        0 | 1 => Speech::After(Gate::default(), voice(4)),
        _ => Speech::Bytes(voice(4)),
    });
    let script = [say("First."), say("Second."), say("Third.")];
    let scene = with_mouth(Scene::playing(script), &mouth);
    let gateway = scene.start();
    turn_on(&scene);
    scene.ana.says("one");
    mouth.wait_for(1);
    scene.wait_for("First.");
    scene.ana.says("/stop");
    scene.ana.says("two");
    scene.wait_for("Second.");
    mouth.wait_for(2);
    gateway.kill();
    let gateway = scene.start();
    scene.ana.says("three");
    scene.wait_for("Third.");
    scene.telegram.wait_for_calls("sendVoice", 1);
    gateway.stop().ends_with(0);
    let asked: Vec<String> = mouth.asked().into_iter().map(|asked| asked.input).collect();
    assert_eq!(asked, ["First.", "Second.", "Third."]);
    assert_eq!(scene.model.requests().len(), 3);
    let told = scene
        .texts()
        .iter()
        .filter(|text| text.contains("could not speak"))
        .count();
    assert_eq!(told, 0, "{:?}", scene.texts());
}

#[test]
fn a_voice_that_was_spoken_is_sent_after_a_kill_and_not_spoken_again() {
    let mouth = speaking();
    let scene = with_mouth(Scene::playing([say("Done.")]), &mouth);
    let gateway = scene.start();
    turn_on(&scene);
    scene
        .telegram
        .fail_times("sendVoice", 3, Fault::ServerError);
    scene.ana.says("one");
    scene.telegram.wait_for_calls("sendVoice", 1);
    gateway.kill();
    let gateway = scene.start();
    wait_until("the voice", || files(&scene).len() == 1);
    gateway.stop().ends_with(0);
    assert_eq!(mouth.asked().len(), 1);
    wait_until("nothing left over", || left_over(&scene) == 0);
}

#[test]
fn a_failure_is_told_once_and_the_text_comes_all_the_same() {
    let mouth = Mouth::start(|asked, _| match asked.input.as_str() {
        "Answer 1." | "Answer 2." => Speech::Status(404, "no such model"),
        "Answer 3." => Speech::Bytes(voice(4)),
        "Answer 4." => Speech::Bytes(b"<html>".to_vec()),
        _ => Speech::Bytes(b"RIFF\0\0\0\0WAVEfmt ".to_vec()),
    });
    let script = (1..=5).map(|number| say(&format!("Answer {number}.")));
    let scene = Scene::playing(script.collect::<Vec<_>>());
    let scene = with_mouth(scene, &mouth);
    let gateway = scene.start();
    turn_on(&scene);
    for number in 1..=5 {
        scene.ana.says(&number.to_string());
        scene.wait_for(&format!("Answer {number}."));
        mouth.wait_for(number);
    }
    scene.telegram.wait_for_calls("sendDocument", 1);
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let told: Vec<&String> = texts
        .iter()
        .filter(|text| text.contains("could not speak"))
        .collect();
    assert_eq!(told.len(), 2, "once until it worked again: {texts:?}");
    assert!(
        told[0].contains("Check speech.apiBase and speech.model"),
        "{told:?}"
    );
    assert!(told[1].contains("it did not send speech"), "{told:?}");
    let names = files(&scene)
        .into_iter()
        .map(|message| message.file.unwrap().name);
    assert_eq!(names.collect::<Vec<_>>(), ["voice.ogg", "voice.wav"]);
    assert_eq!(left_over(&scene), 0);
}

#[test]
fn a_person_who_takes_no_voice_messages_gets_a_file() {
    let mouth = speaking();
    let scene = with_mouth(Scene::playing([say("Done.")]), &mouth);
    let gateway = scene.start();
    turn_on(&scene);
    let refused = Fault::BadRequest("VOICE_MESSAGES_FORBIDDEN");
    scene.telegram.fail_next("sendVoice", refused);
    scene.ana.says("one");
    scene.telegram.wait_for_calls("sendDocument", 1);
    gateway.stop().ends_with(0);
    assert_eq!(files(&scene)[0].file.as_ref().unwrap().name, "voice.ogg");
}

#[test]
fn the_model_speaks_where_it_is_asked_to_and_only_where_something_can() {
    let words = json!({"content": "Here I am.", "voice": true});
    let script = [
        call("message", words.clone()),
        say("Here I am."),
        call("message", words),
        say("Here."),
    ];
    let mouth = Mouth::start(|_, before| match before {
        0 => Speech::Bytes(voice(4)),
        _ => Speech::Status(400, "no"),
    });
    let scene = with_mouth(Scene::playing(script), &mouth);
    let gateway = scene.start();
    scene.ana.says("answer by voice");
    scene.telegram.wait_for_calls("sendVoice", 1);
    // Else it joins the turn.
    gateway.wait_for_log("turn answered");
    scene.ana.says("again");
    scene.wait_for("Here.");
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let said = texts.iter().filter(|text| *text == "Here I am.").count();
    assert_eq!(said, 2, "its text comes along, once each: {texts:?}");
    let raw = |scene: &Scene, index: usize| scene.model.requests()[index].raw.clone();
    assert!(raw(&scene, 0).contains("comes as a voice message too"));
    assert!(
        raw(&scene, 3).contains("but could not be spoken"),
        "{}",
        raw(&scene, 3)
    );
    let scene = Scene::playing([say("Hi.")]);
    let gateway = scene.start();
    scene.ana.says("/voice on");
    scene.wait_for("Set speech.provider to openai");
    scene.ana.says("hi");
    scene.wait_for("Hi.");
    gateway.stop().ends_with(0);
    assert!(!raw(&scene, 0).contains("comes as a voice message too"));
}

#[test]
fn a_command_speaks_in_the_sandbox() {
    let mut scene = Scene::playing([say("One 'two' $HOME."), say("Two."), say("Three.")]);
    let line = r#"test ! -e "$PEACRAB_HOME/config.json" || exit 4; printf OggS >"$1"; cat >>"$1"; echo chatter"#;
    scene.home.set("/speech/command", json!(line));
    let gateway = scene.start();
    turn_on(&scene);
    scene.ana.says("one");
    wait_until("the voice", || files(&scene).len() == 1);
    gateway.stop().ends_with(0);
    let file = files(&scene).remove(0).file.unwrap();
    assert_eq!(*file.bytes, *b"OggSOne 'two' $HOME.");
    let homes = std::fs::read_dir(scene.home.path().join("programs")).unwrap();
    let mut homes = homes.flatten().map(|entry| entry.path());
    let own = homes.next().unwrap();
    assert_eq!(homes.next(), None, "a line has one home");
    let left = std::fs::read_dir(&own).unwrap();
    assert_eq!(left.count(), 0, "nothing stays there");
    let audit = scene.audit();
    // No other command reads or writes there.
    let command = audit[0]["command"].as_str().unwrap();
    assert!(
        command.contains("/programs/commands.") && command.contains(own.to_str().unwrap()),
        "{command}"
    );
    assert!(
        !audit[0]["command"].as_str().unwrap().contains("One"),
        "{audit:?}"
    );
    scene
        .home
        .set("/speech/command", json!("echo no such voice >&2; exit 3"));
    let gateway = scene.start();
    scene.ana.says("two");
    let told = scene.wait_for("I could not speak this answer").text;
    assert!(
        told.contains("exit status 3") && told.contains("no such voice"),
        "{told}"
    );
    gateway.stop().ends_with(0);
    // A link out of the workspace is not followed.
    scene
        .home
        .set("/speech/command", json!(r#"ln -s /etc/hostname "$1""#));
    let gateway = scene.start();
    scene.ana.says("/voice on");
    scene.ana.says("three");
    scene.wait_for("Three.");
    let texts = |scene: &Scene| {
        scene
            .texts()
            .iter()
            .filter(|text| text.contains("could not speak"))
            .count()
    };
    wait_until("the second failure", || texts(&scene) == 2);
    gateway.stop().ends_with(0);
    assert_eq!(files(&scene).len(), 1);
}

#[test]
fn speaking_counts_for_the_limit_of_the_day() {
    let mouth = speaking();
    let long = "A sentence of some words. ".repeat(200);
    let mut scene = Scene::answering(move |_| say(&long));
    scene.home.set(
        "/providers/openai",
        json!({"apiKey": KEY, "apiBase": mouth.base()}),
    );
    scene
        .home
        .set("/speech", json!({"provider": "openai", "maxChars": 1000}));
    // A price that is not known counts as $30 for a million characters.
    scene.home.set("/limits", json!({"usdPerDay": 0.025}));
    let gateway = scene.start();
    turn_on(&scene);
    scene.ana.says("one");
    mouth.wait_for(1);
    scene.telegram.wait_for_calls("sendVoice", 1);
    scene.ana.says("two");
    scene.wait_for("Daily cost limit");
    gateway.stop().ends_with(0);
    let asked = mouth.asked();
    assert_eq!(asked.len(), 1);
    let input = &asked[0].input;
    assert!(input.len() <= 1000 && input.ends_with("words."), "{input}");
    let usage = std::fs::read_to_string(scene.home.path().join("state/usage.json")).unwrap();
    let usage: Value = serde_json::from_str(&usage).unwrap();
    let counted = &usage["models"]["openai/gpt-4o-mini-tts"];
    assert_eq!(counted["assumed"], json!(input.len() * 30_000), "{usage}");
}

#[test]
#[ignore = "for tests/voice/real.py, which listens"]
fn a_spoken_answer_is_heard() {
    let variable = |name: &str| std::env::var(format!("PEACRAB_TEST_{name}")).unwrap();
    let words = variable("ANSWER_WORDS");
    let answer = format!("**{words}**\n\n```\nls\n```");
    let mut scene = Scene::playing([say(&answer)]);
    let line = r#"espeak-ng -v en-us -s 140 --stdin -w "$1""#;
    scene.home.set("/speech/command", json!(line));
    let gateway = scene.start();
    turn_on(&scene);
    scene.ana.says("when?");
    scene.telegram.wait_for_calls("sendVoice", 1);
    wait_until("the voice", || files(&scene).len() == 1);
    gateway.stop().ends_with(0);
    let file = files(&scene).remove(0).file.unwrap();
    std::fs::write(variable("ANSWER"), &*file.bytes).unwrap();
}
