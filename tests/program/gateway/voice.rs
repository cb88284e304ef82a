//! Voice messages: what is said in them, who may hear it, and what it can never do.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::ear::{Answer, Ear, voice, words};
use crate::harness::home::KEY;
use crate::harness::model::{Gate, call, hang, say};
use crate::harness::telegram::{Media, Person, Upload};
use crate::harness::wait_until;

/// What `/stop` may take on a busy machine; the answer it interrupts never comes.
const STOP_TIME: Duration = Duration::from_secs(20);

fn spoken(seconds: u64) -> Upload {
    Upload::new(Media::Voice, "", voice(seconds))
}

/// The scene with a server of one's own that listens.
fn with_ear(mut scene: Scene, ear: &Ear) -> Scene {
    scene
        .home
        .set("/transcription", json!({"apiBase": ear.openai()}));
    scene
}

/// A scene whose listener is a provider with a key, which is not named.
fn with_provider(mut scene: Scene, name: &str, base: &str) -> Scene {
    let section = json!({"apiKey": KEY, "apiBase": base});
    scene.home.set(&format!("/providers/{name}"), section);
    scene
}

fn count(texts: &[String], words: &str) -> usize {
    texts.iter().filter(|text| text.contains(words)).count()
}

#[test]
fn what_is_said_is_shown_and_goes_to_the_model_as_heard() {
    let ear = Ear::hearing("Buy *milk*,\nand bread.");
    let scene = Scene::playing([say("Two things."), say("Again."), say("Once more.")]);
    let scene = with_provider(scene, "openai", &ear.openai());
    let gateway = scene.start();
    scene.ana.sends(spoken(3).caption("for today"));
    scene.wait_for("Two things.");
    let shown = scene.wait_for("🎤 Buy *milk*, and bread.").text;
    assert!(
        shown.contains("openai") && shown.contains("gpt-transcribe"),
        "{shown}"
    );
    let asked = scene.asked(0);
    let marked =
        "-voice.ogg]\\n[what is said in it, as it was heard:]\\n  Buy *milk*,\\n  and bread.\"";
    assert!(
        asked.contains("for today\\n[voice message: inbox/") && asked.contains(marked),
        "{asked}"
    );
    let heard = &ear.recordings()[0];
    assert_eq!(
        (heard.model.as_str(), heard.key.as_str()),
        ("gpt-transcribe", KEY)
    );
    assert_eq!(
        (heard.file_name.as_str(), heard.media_type.as_str()),
        ("audio.ogg", "audio/ogg")
    );
    assert_eq!(heard.bytes, voice(3), "Opus goes as it is");
    scene.ana.sends(spoken(3));
    scene.wait_for("Again.");
    assert_eq!(
        count(&scene.texts(), "gpt-transcribe"),
        1,
        "it is said once"
    );
    scene.ana.says("/usage");
    let usage = scene.wait_for("openai/gpt-transcribe").text;
    assert!(
        usage.contains("openai/gpt-transcribe: price unknown"),
        "{usage}"
    );
    scene.ana.says("/voice quiet");
    let told = scene.wait_for("/voice show").text;
    assert!(told.contains("openai/gpt-transcribe"), "{told}");
    scene
        .ana
        .sends(Upload::new(Media::VideoNote, "", b"\0\0\0\x08ftypisom"));
    scene.wait_for("Once more.");
    assert_eq!(count(&scene.texts(), "🎤"), 2, "{:?}", scene.texts());
    assert!(
        scene.asked(2).contains("[video message: inbox/"),
        "{}",
        scene.asked(2)
    );
    scene.ana.says("/voice show");
    scene.wait_for("/voice quiet hides it");
    scene.ana.says("/voice loud");
    scene.wait_for("Use /voice, /voice on, /voice off, /voice quiet or /voice show.");
    gateway.stop().ends_with(0);
    assert_eq!(ear.recordings()[2].file_name, "audio.mp4");
}

#[test]
fn a_long_recording_is_announced_and_its_words_count_as_they_were_edited_meanwhile() {
    let gate = Gate::default();
    let held = gate.clone();
    let ear = Ear::start(move |_, _| Answer::After(held.clone(), "water the plants".to_owned()));
    let scene = with_ear(Scene::playing([say("I will.")]), &ear).with_edits();
    let gateway = scene.start();
    let said = scene.ana.sends(spoken(130).caption("for today"));
    scene.wait_for("listening to 3 minutes");
    let edit = scene.ana.edits(&said, "for tomorrow");
    scene.telegram.wait_for_offset(edit);
    // The answer to this comes behind the edit.
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    gate.open();
    scene.wait_for("I will.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    assert!(
        asked.contains("for tomorrow") && !asked.contains("for today"),
        "{asked}"
    );
    assert!(asked.contains("water the plants"), "{asked}");
}

#[test]
fn gemini_hears_in_its_own_form_and_its_tokens_are_counted() {
    let ear = Ear::hearing("Guten Tag.");
    let scene = Scene::playing([say("Hello.")]);
    let scene = with_provider(scene, "gemini", &ear.gemini());
    let gateway = scene.start();
    // Of a length that no piece of base64 ends with.
    let bytes = [voice(3), vec![7; 20_000]].concat();
    scene
        .ana
        .sends(Upload::new(Media::Voice, "", bytes.clone()));
    scene.wait_for("Hello.");
    assert!(
        scene.asked(0).contains("  Guten Tag.\""),
        "{}",
        scene.asked(0)
    );
    scene.ana.says("/usage");
    let usage = scene.wait_for("gemini/gemini-3.8-flash").text;
    assert!(usage.contains("120"), "{usage}");
    gateway.stop().ends_with(0);
    let heard = &ear.recordings()[0];
    assert_eq!(
        (heard.key.as_str(), heard.media_type.as_str()),
        (KEY, "audio/ogg")
    );
    assert_eq!(heard.bytes, bytes);
}

#[test]
fn two_people_speak_at_once_and_each_is_heard() {
    let gate = Gate::default();
    let held = gate.clone();
    let ear = Ear::start(move |recording, _| match recording.bytes == voice(3) {
        true => Answer::After(held.clone(), "three seconds".to_owned()),
        false => words("four seconds"),
    });
    let scene = Scene::answering(|request| {
        let asked = request.last_message();
        say(if asked.contains("three seconds") {
            "It was three."
        } else {
            "It was four."
        })
    });
    let scene = with_ear(scene, &ear).set("allowFrom", json!(["1001", "2002"]));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    ear.wait_for(1);
    bob.sends(spoken(4));
    scene.wait_in(bob.chat(), "It was four.");
    assert_eq!(
        count(&scene.texts(), "It was"),
        0,
        "she is still being heard"
    );
    gate.open();
    scene.wait_for("It was three.");
    gateway.stop().ends_with(0);
    assert!(
        ear.recordings().iter().all(|heard| heard.key.is_empty()),
        "a server of one's own gets no key"
    );
}

#[test]
fn stop_ends_a_slow_transcription_and_the_next_message_is_answered() {
    let ear = Ear::start(|_, before| match before {
        0 => Answer::After(Gate::default(), "too late".to_owned()),
        _ => words("second words"),
    });
    let scene = with_provider(Scene::playing([say("Heard.")]), "openai", &ear.openai());
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    ear.wait_for(1);
    let start = Instant::now();
    scene.ana.says("/stop");
    scene.wait_for("Stopped");
    scene.ana.sends(spoken(3));
    scene.wait_for("Heard.");
    assert!(start.elapsed() < STOP_TIME, "{:?}", start.elapsed());
    gateway.stop().ends_with(0);
    let asked = scene.model.requests()[0].raw.clone();
    assert!(
        asked.contains("it could not be heard") && asked.contains("second words"),
        "{asked}"
    );
    assert!(!asked.contains("too late"));
    // What was sent may have to be paid.
    let usage = std::fs::read_to_string(scene.home.path().join("state/usage.json")).unwrap();
    let usage: Value = serde_json::from_str(&usage).unwrap();
    let counted = &usage["models"]["openai/gpt-transcribe"];
    assert_eq!(
        (&counted["requests"], &counted["assumed"]),
        (&json!(2), &json!(600_000)),
        "{usage}"
    );
}

#[test]
fn after_a_kill_it_listens_again_and_what_was_heard_is_not_paid_for_twice() {
    let ear = Ear::start(|_, before| match before {
        0 => Answer::After(Gate::default(), "lost".to_owned()),
        _ => words("call Eve"),
    });
    let scene = with_ear(Scene::playing([hang(), say("Eve it is.")]), &ear);
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    ear.wait_for(1);
    gateway.kill();
    let gateway = scene.start();
    scene.model.wait_for_requests(1);
    scene.wait_for("🎤 call Eve");
    // What comes behind a message is sent once that one is confirmed: else a kill has it sent again.
    scene.ana.says("/id");
    scene.wait_for("Your role here is owner.");
    gateway.kill();
    let gateway = scene.start();
    scene.wait_for("Eve it is.");
    gateway.stop().ends_with(0);
    assert_eq!(ear.recordings().len(), 2, "once in vain, once heard");
    assert!(
        scene.asked(1).contains("  call Eve\""),
        "{}",
        scene.asked(1)
    );
    assert_eq!(count(&scene.texts(), "🎤"), 1);
}

/// One rule for all of them: heard words are never what a person typed.
#[test]
fn heard_words_are_no_command_no_answer_no_approval_and_no_pairing_code() {
    let ear = Ear::start(|recording, _| match recording.bytes.len() {
        length if length == voice(3).len() => words("/sh reboot"),
        _ => words("yes"),
    });
    let escalated = json!({"command": "echo out", "escalate": true, "reason": "r"});
    let scene = Scene::playing([
        say("I only read it."),
        call("exec", escalated),
        say("Not allowed."),
    ]);
    let scene = with_ear(scene, &ear);
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    scene.wait_for("I only read it.");
    assert!(
        scene.asked(0).contains("  /sh reboot\""),
        "{}",
        scene.asked(0)
    );
    assert!(scene.audit().is_empty(), "{:?}", scene.audit());
    scene.ana.says("try it outside");
    let question = scene.wait_for_question("Run this outside the sandbox");
    let yes = [voice(3), vec![0]].concat();
    scene.ana.sends(Upload::new(Media::Voice, "", yes));
    // A command that is answered after it was taken.
    scene.ana.says("/id");
    scene.wait_for("Your role here is owner.");
    assert!(
        scene
            .telegram
            .messages(scene.ana.chat())
            .iter()
            .any(|message| { message.id == question.id && message.markup.is_some() })
    );
    scene.ana.presses("Deny");
    scene.wait_for("Not allowed.");
    gateway.stop().ends_with(0);
    let audit = scene.audit();
    assert!(
        audit
            .iter()
            .all(|record| record["decision"] != "allowed once"),
        "{audit:?}"
    );
    assert!(scene.asked(2).contains("  yes\""), "{}", scene.asked(2));
    // What a stranger says is not even heard.
    let gateway = scene.start();
    let before = ear.recordings().len();
    let eve = scene.telegram.person(6006, "Eve", None);
    eve.sends(spoken(3));
    scene.wait_in(eve.chat(), "We haven't met.");
    gateway.stop().ends_with(0);
    assert_eq!(ear.recordings().len(), before);
}

/// What Ana, an owner, and Bob, a user, are told.
fn told(ear: Option<&Ear>, settings: &Value, seconds: u64, (owner, user): (&str, &str)) {
    let scene = Scene::answering(|_| say("I read on.")).set("roles", json!({"2002": "user"}));
    let bob: Person = scene.telegram.person(2002, "Bob", None);
    let mut scene = scene;
    if let Some(ear) = ear {
        scene = with_provider(scene, "groq", &ear.openai());
    }
    scene.home.set("/transcription", settings.clone());
    let gateway = scene.start();
    for (person, words) in [(&scene.ana, owner), (&bob, user)] {
        person.sends(spoken(seconds));
        scene.wait_in(person.chat(), words);
        scene.wait_in(person.chat(), "I read on.");
    }
    gateway.stop().ends_with(0);
    for request in [0, 1] {
        let asked = scene.asked(request);
        assert!(
            asked.contains("-voice.ogg]\\n[it could not be heard"),
            "{asked}"
        );
    }
    let inbox = scene.home.workspace("inbox");
    assert_eq!(
        std::fs::read_dir(inbox).unwrap().count(),
        2,
        "the files stay"
    );
}

#[test]
fn a_failure_is_told_to_the_owner_with_what_to_do_and_to_others_without() {
    let tell_owner = "Please tell my owner";
    told(
        None,
        &json!({}),
        3,
        (
            "Set transcription.provider to openai, groq, gemini or mistral",
            tell_owner,
        ),
    );
    let refused = Ear::start(|_, _| Answer::Status(401, "Invalid API Key", None));
    told(
        Some(&refused),
        &json!({}),
        3,
        ("Check GROQ_API_KEY or providers.groq.apiKey", tell_owner),
    );
    assert_eq!(
        refused.recordings().len(),
        2,
        "a wrong key is not tried again"
    );
    let silent = Ear::hearing(" \n");
    told(
        Some(&silent),
        &json!({}),
        3,
        ("I heard no words", "I heard no words"),
    );
    let long = Ear::hearing("unused");
    let too_long = "too long: 11 minutes. I listen to at most 10";
    told(Some(&long), &json!({}), 601, (too_long, too_long));
    assert!(long.recordings().is_empty(), "nothing was sent");
    let odd = Ear::start(|_, _| Answer::Body("<html>".to_owned()));
    told(
        Some(&odd),
        &json!({}),
        3,
        ("it did not send what it heard", tell_owner),
    );
    let named = json!({"provider": "nobody"});
    told(
        None,
        &named,
        3,
        (
            "Unknown provider \"nobody\" in transcription.provider",
            tell_owner,
        ),
    );
    let named = json!({"provider": "openai"});
    told(None, &named, 3, ("openai has no API key", tell_owner));
    let missing = Ear::start(|_, _| Answer::Status(404, "no such model", None));
    let own = json!({"apiBase": missing.openai()});
    told(
        None,
        &own,
        3,
        (
            "Check transcription.apiBase and transcription.model",
            tell_owner,
        ),
    );
}

#[test]
fn a_busy_server_is_asked_again_when_it_says_so() {
    let ear = Ear::start(|_, before| match before {
        0 => Answer::Status(429, "slow down", Some(1)),
        1 => Answer::Status(503, "overloaded", None),
        _ => words("at last"),
    });
    let scene = with_ear(Scene::playing([say("Good.")]), &ear);
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    scene.wait_for("Good.");
    gateway.stop().ends_with(0);
    assert!(scene.asked(0).contains("  at last\""));
    assert_eq!(ear.recordings().len(), 3);
}

#[test]
fn a_command_hears_in_the_sandbox_and_its_errors_are_the_owners() {
    let mut scene = Scene::playing([say("Heard."), say("Not heard."), say("Nor that.")]);
    let line = r#"echo loading >&2; head -c 4 "$1"; echo " it's"; cat "$PEACRAB_HOME/config.json""#;
    scene.home.set(
        "/transcription/command",
        json!(format!("{line} 2>/dev/null || true")),
    );
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    scene.wait_for("Heard.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    assert!(
        asked.contains("  OggS it's\"") && !asked.contains("loading"),
        "{asked}"
    );
    assert!(
        scene.audit()[0]["command"]
            .as_str()
            .unwrap()
            .contains("head -c 4")
    );
    scene.home.set(
        "/transcription/command",
        json!("echo no such model >&2; exit 3"),
    );
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    let told = scene.wait_for("I could not hear this voice message").text;
    assert!(
        told.contains("exit status 3") && told.contains("no such model"),
        "{told}"
    );
    scene.wait_for("Not heard.");
    gateway.stop().ends_with(0);
    scene.home.set("/transcription/command", json!("yes"));
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    scene.wait_for("what the command wrote");
    scene.wait_for("Nor that.");
    gateway.stop().ends_with(0);
    let line = format!(
        "echo begun >{}/begun; sleep 3600",
        scene.home.workspace("").display()
    );
    scene.home.set("/transcription/command", json!(line));
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    let begun = scene.home.workspace("begun");
    wait_until("the command", || begun.exists());
    scene.ana.says("/stop");
    scene.wait_for("Stopped");
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_that_hears_for_an_owner_loads_nothing_of_the_workspace_and_leaves_the_prompt() {
    let mut scene = Scene::playing([say("Heard.")]);
    for name in [".heard", "heard"] {
        fs::write(scene.home.workspace(name), "planted").unwrap();
    }
    let soul = scene.home.workspace("SOUL.md");
    fs::write(&soul, "kind\n").unwrap();
    let line = format!(
        "cat ~/.heard heard 2>/dev/null; echo kept >~/kept; cat ~/kept; echo new >{}",
        soul.display()
    );
    scene
        .home
        .set("/transcription/command", json!(format!("({line}); true")));
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    scene.wait_for("Heard.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    assert!(
        asked.contains("kept") && !asked.contains("planted"),
        "{asked}"
    );
    assert_eq!(fs::read_to_string(soul).unwrap(), "kind\n");
}

#[test]
fn listening_counts_for_the_limit_of_the_day() {
    let ear = Ear::hearing("ten minutes of it");
    let scene = Scene::answering(|_| say("unused"));
    let mut scene = with_provider(scene, "openai", &ear.openai());
    // A price that is not known counts as $0.006 a minute.
    scene.home.set("/limits", json!({"usdPerDay": 0.05}));
    let gateway = scene.start();
    scene.ana.sends(spoken(600));
    scene.wait_for("🎤 ten minutes of it");
    scene.wait_for("$0.05");
    scene.ana.sends(spoken(3));
    scene.wait_for("I could not hear this voice message");
    gateway.stop().ends_with(0);
    assert_eq!(ear.recordings().len(), 1);
    assert!(scene.model.requests().is_empty(), "the model costs too");
}

#[test]
fn where_it_is_turned_off_a_voice_message_is_a_file() {
    let ear = Ear::hearing("unused");
    let mut scene = with_provider(Scene::playing([say("A file.")]), "openai", &ear.openai());
    scene.home.set("/transcription", json!({"enabled": false}));
    let gateway = scene.start();
    scene.ana.sends(spoken(3));
    scene.wait_for("A file.");
    scene.ana.says("/voice");
    scene.wait_for("transcription.enabled");
    gateway.stop().ends_with(0);
    assert!(
        scene.asked(0).contains("-voice.ogg]\""),
        "{}",
        scene.asked(0)
    );
    assert!(ear.recordings().is_empty());
}

/// The model does what was said where it has understood it.
#[test]
#[ignore = "for tests/voice/real.py, which speaks and listens"]
fn a_spoken_reminder_becomes_one() {
    let variable = |name: &str| std::env::var(format!("PEACRAB_TEST_{name}")).unwrap();
    let spoken = |name: &str| Upload::new(Media::Voice, "", std::fs::read(variable(name)).unwrap());
    let mut scene = Scene::answering(|request| {
        let last = request.messages().last().unwrap();
        match last["content"].as_str().unwrap() {
            _ if last["role"] == "tool" => say("I will."),
            heard if heard.contains("  remind me in two minutes") => call(
                "cron",
                json!({"action": "add", "kind": "reminder", "message": "you asked me to", "when": "in 2 minutes"}),
            ),
            _ => say("That is no reminder."),
        }
    });
    scene.home.set(
        "/transcription",
        json!({"apiBase": variable("EAR"), "maxMinutes": 1}),
    );
    let gateway = scene.start();
    scene.ana.sends(spoken("REMIND"));
    scene.wait_for("🎤 remind me in two minutes");
    scene.wait_for("I will.");
    scene.ana.sends(spoken("CALL"));
    scene.wait_for("That is no reminder.");
    gateway.stop().ends_with(0);
    let jobs = std::fs::read_to_string(scene.home.path().join("cron/jobs.json")).unwrap();
    assert_eq!(jobs.matches("you asked me to").count(), 1, "{jobs}");
}

#[test]
#[ignore = "for tests/openai/ear.py, which asks it"]
fn serve() {
    let ear = Ear::start(|recording, _| match recording.model.as_str() {
        "wrong-key" => Answer::Status(401, "Invalid API Key", None),
        _ => words("hello"),
    });
    let ear = ear.refusing();
    println!("{}", json!({"url": ear.openai()}));
    for line in std::io::stdin().lines() {
        let step: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let recordings = ear.recordings().into_iter().map(|one| {
            json!({"model": one.model, "key": one.key, "file_name": one.file_name, "bytes": one.bytes.len()})
        });
        let answer = match step["do"].as_str() {
            Some("voice") => json!(voice(3)),
            _ => recordings.collect(),
        };
        println!("{}", json!({ "answer": answer }));
    }
}
