//! The intake with a channel made up for it: order, files that fail, kills, strangers.

mod choices;
mod random;
pub mod scene;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;
use crate::base::approval::Answer;
use crate::base::clock::Stopwatch;
use crate::base::language::Language;
use crate::base::limits::bus::ENTRIES;
use crate::base::message::PressedMessage;
use crate::channels::kit::adapter::{Button, Failure};
use crate::channels::kit::texts::welcome;

use scene::{Gate, Outcome, PATIENCE, SECRET, Scene, edit, envelope, file, message, sender};

#[test]
fn a_batch_arrives_in_its_order_and_files_are_fetched_afterwards() {
    let mut scene = Scene::new();
    let gate = Arc::new(Gate::default());
    scene.channel.says("a", Outcome::Waits(Arc::clone(&gate)));
    scene.take(vec![
        message(1, "1", "look", &["a", "b"]),
        message(2, "1", "what is it?", &[]),
    ]);
    // The files are still at the channel.
    assert_eq!(scene.inbox.waiting().len(), 2);
    assert_eq!(scene.arrived(), envelope(1, "1", "look", &["a", "b"]));
    assert_eq!(scene.arrived(), envelope(2, "1", "what is it?", &[]));
    scene.take(vec![message(3, "1", "/stop", &[])]);
    assert_eq!(scene.arrived().text, "/stop");
    assert!(scene.has_no_event());
    gate.open();
    let fetched = scene.fetched();
    let contents: Vec<String> = fetched
        .attachments
        .iter()
        .map(|attachment| scene.content(attachment))
        .collect();
    assert_eq!(contents, ["a", "b"]);
    assert!(fetched.remote_files.is_empty() && fetched.text == "look");
    assert_eq!(scene.inbox.waiting()[0], fetched);
    scene.intake.stop();
    assert!(scene.heartbeats.late().is_none());
}

#[test]
fn a_file_is_put_beside_nothing_while_a_command_outside_the_sandbox_reads_what_is_there() {
    let mut scene = Scene::new();
    let gate = Arc::new(Gate::default());
    scene.channel.says("a", Outcome::Waits(Arc::clone(&gate)));
    scene.take(vec![message(1, "1", "look", &["a"])]);
    drop(scene.arrived());
    let watch = Stopwatch::start();
    while scene.channel.asked.lock().unwrap().is_empty() {
        assert!(watch.elapsed() < PATIENCE, "nothing is asked for");
        std::thread::yield_now();
    }
    assert!(scene.files().is_empty(), "half of it is not there");
    let held = scene.hold.hold(&Cancel::new());
    assert!(
        held.is_some(),
        "a file on its way does not hold up a command"
    );
    gate.open();
    let watch = Stopwatch::start();
    while watch.elapsed() < Duration::from_millis(500) {
        assert!(scene.files().is_empty() && scene.has_no_event());
        std::thread::yield_now();
    }
    drop(held);
    assert_eq!(scene.fetched().attachments.len(), 1);
    assert_eq!(scene.files().len(), 1);
}

#[test]
fn what_comes_twice_arrives_once() {
    let mut scene = Scene::new();
    scene.take(vec![message(1, "1", "hello", &[])]);
    scene.take(vec![
        message(1, "1", "hello", &[]),
        message(2, "1", "you", &[]),
    ]);
    assert_eq!(
        [scene.arrived().id, scene.arrived().id],
        ["fake:1", "fake:2"]
    );
    assert!(scene.has_no_event());
}

#[test]
fn a_secret_is_taken_once_and_not_stored() {
    let mut scene = Scene::new();
    scene.take(vec![
        message(1, "1", "before", &[]),
        message(2, "1", SECRET, &[]),
        message(3, "1", "after", &[]),
    ]);
    scene.take(vec![message(2, "1", SECRET, &[])]);
    let taken = scene.secrets.lock().unwrap().clone();
    assert_eq!(taken, [envelope(2, "1", SECRET, &[])]);
    assert_eq!(
        [scene.arrived().text, scene.arrived().text],
        ["before", "after"]
    );
    assert!(scene.has_no_event());
    let waiting = scene.inbox.waiting();
    assert!(
        waiting.iter().all(|message| message.id != "fake:2"),
        "{waiting:?}"
    );
    let scene = scene.killed();
    scene.take(vec![message(2, "1", SECRET, &[])]);
    assert!(
        scene.secrets.lock().unwrap().is_empty(),
        "it was taken before the kill"
    );
    assert!(!scene.stored().contains(SECRET));
}

#[test]
fn a_file_that_fails_is_tried_again_and_then_given_up_with_a_note() {
    let mut scene = Scene::new();
    let trouble = || Outcome::Fails(Failure::Trouble("502".to_owned()));
    scene.channel.says("again", trouble());
    let refused = Failure::Refused("no such file".to_owned());
    scene.channel.says("gone", Outcome::Fails(refused));
    let mut large = file("large");
    large.size = Some(1001);
    let mut envelope = envelope(1, "1", "", &["again", "gone"]);
    envelope.remote_files.push(large);
    envelope.remote_files[1].name = "x]\n[y".to_owned();
    scene.take(vec![Incoming::Message {
        envelope,
        username: String::new(),
    }]);
    scene.arrived();
    let fetched = scene.fetched();
    assert_eq!(fetched.attachments.len(), 1);
    assert_eq!(
        fetched.text,
        "[x)_(y could not be fetched: no such file]\n\
         [large.txt could not be fetched: the file is larger than the limit of 1000 bytes]"
    );
    assert_eq!(
        *scene.channel.asked.lock().unwrap(),
        ["again", "again", "gone"]
    );
    assert_eq!(scene.files().len(), 1, "what came only in part is removed");
    // An edit of the text does not lose what is to be known of the files.
    scene.take(vec![edit(1, "1", "see above")]);
    let Event::Edited { text, .. } = scene.event() else {
        panic!("no edit");
    };
    assert!(text.starts_with("see above\n[x)_(y could"), "{text}");
}

#[test]
fn one_sessions_trouble_does_not_hold_up_anothers_files() {
    let mut scene = Scene::new();
    let gate = Arc::new(Gate::default());
    scene
        .channel
        .says("slow", Outcome::Waits(Arc::clone(&gate)));
    let offline = || Outcome::Fails(Failure::Down("no route".to_owned()));
    (0..20).for_each(|_| scene.channel.says("down", offline()));
    scene.take(vec![
        message(1, "1", "", &["slow"]),
        message(2, "1", "", &["behind"]),
        message(3, "2", "", &["down"]),
        message(4, "3", "", &["quick"]),
    ]);
    (0..4).for_each(|_| drop(scene.arrived()));
    assert_eq!(scene.fetched().id, "fake:4");
    scene.channel.outcomes.lock().unwrap().remove("down");
    scene.intake.reachable();
    assert_eq!(scene.fetched().id, "fake:3");
    assert!(
        !scene
            .channel
            .asked
            .lock()
            .unwrap()
            .contains(&"behind".to_owned())
    );
    gate.open();
    assert_eq!(
        [scene.fetched().id, scene.fetched().id],
        ["fake:1", "fake:2"]
    );
    assert!(scene.channel.connections.load(Ordering::SeqCst) >= 2);
}

#[test]
fn files_of_others_hold_up_neither_an_owners_nor_each_other() {
    let mut scene = Scene::new();
    let place = Address::new("fake", "15");
    let code = scene.pairing.offer(&place, &sender("15")).unwrap();
    drop(scene.pairing.confirm(&code.unwrap(), Role::User).unwrap());
    let gate = Arc::new(Gate::default());
    scene
        .channel
        .says("slow", Outcome::Waits(Arc::clone(&gate)));
    let says = |number: usize, person: &str, chat: &str, id: &str| Incoming::Message {
        envelope: Envelope {
            id: format!("fake:{number}"),
            remote_files: vec![file(id)],
            ..Envelope::written(&Address::new("fake", chat), sender(person), "look")
        },
        username: String::new(),
    };
    scene.take(vec![
        says(1, "14", "a", "slow"),
        says(2, "14", "b", "second"),
        says(3, "14", "c", "third"),
        says(4, "15", "d", "another"),
    ]);
    (0..4).for_each(|_| drop(scene.arrived()));
    scene.take(vec![message(5, "1", "", &["own"])]);
    drop(scene.arrived());
    assert_eq!(scene.fetched().id, "fake:5");
    let mut asked = scene.channel.asked.lock().unwrap().clone();
    asked.retain(|file| file != "slow");
    assert_eq!(asked, ["own"], "the last thread is an owner's");
    gate.open();
    let fetched: Vec<String> = (0..4).map(|_| scene.fetched().id).collect();
    assert_eq!(fetched, ["fake:1", "fake:4", "fake:2", "fake:3"]);
}

#[test]
fn files_that_nobody_needs_any_more_are_not_fetched() {
    let mut scene = Scene::new();
    let gate = Arc::new(Gate::default());
    scene.channel.says("a", Outcome::Waits(Arc::clone(&gate)));
    scene.take(vec![
        message(1, "1", "", &["a", "b"]),
        message(2, "1", "", &["c"]),
    ]);
    (0..2).for_each(|_| drop(scene.arrived()));
    let watch = Stopwatch::start();
    while scene.channel.asked.lock().unwrap().is_empty() {
        assert!(watch.elapsed() < PATIENCE, "nothing is asked for");
        std::thread::yield_now();
    }
    scene.inbox.taken("fake:1");
    gate.open();
    assert_eq!(scene.fetched().id, "fake:2");
    assert_eq!(*scene.channel.asked.lock().unwrap(), ["a", "c"]);
    assert_eq!(scene.files().len(), 1);
}

#[test]
fn after_a_kill_files_are_fetched_that_were_not_and_edits_are_kept() {
    let mut scene = Scene::new();
    let offline = Outcome::Fails(Failure::Down("no route".to_owned()));
    scene.channel.says("late", offline);
    scene.take(vec![
        message(1, "1", "one", &["early"]),
        message(2, "2", "two", &["late"]),
        message(3, "1", "three", &[]),
        edit(3, "1", "third"),
        edit(9, "1", "nobody waits for this"),
    ]);
    (0..3).for_each(|_| drop(scene.arrived()));
    let (mut is_fetched, mut is_edited) = (false, false);
    while !(is_fetched && is_edited) {
        match scene.event() {
            Event::Fetched(envelope) => is_fetched = envelope.id == "fake:1",
            Event::Edited { text, .. } => is_edited = text == "third",
            // That of a message which has been answered.
            Event::EditedLate { reference, .. } => assert_eq!(reference, "9"),
            other => panic!("{other:?}"),
        }
    }
    let mut scene = scene.killed();
    let waiting = scene.inbox.waiting();
    assert_eq!(waiting[0].attachments.len(), 1);
    assert_eq!(waiting[2].text, "third");
    scene.channel.asked.lock().unwrap().clear();
    for envelope in waiting {
        scene.intake.fetch_pending(envelope);
    }
    let fetched = scene.fetched();
    assert_eq!(
        (fetched.id.as_str(), fetched.attachments.len()),
        ("fake:2", 1)
    );
    assert_eq!(*scene.channel.asked.lock().unwrap(), ["late"]);
    scene.intake.stop();
    assert!(scene.has_no_event());
}

#[test]
fn what_the_inbox_cannot_take_has_no_effect_and_is_taken_later() {
    let mut scene = Scene::new();
    let press = |data: &str| Incoming::Pressed {
        id: "fake:2".to_owned(),
        address: Address::new("fake", "1"),
        is_group: false,
        sender: sender("1"),
        username: String::new(),
        message: PressedMessage {
            id: "7".to_owned(),
            text: "Which?".to_owned(),
        },
        data: data.to_owned(),
    };
    let mut long = envelope(1, "1", "", &["a"]);
    long.remote_files[0].name = "x".repeat(2 * 1024 * 1024);
    let long = Incoming::Message {
        envelope: long,
        username: String::new(),
    };
    let batch = vec![press("q:7:once"), long, press("w:Yes")];
    assert!(scene.intake.take(batch, &scene.heartbeat).is_err());
    assert!(scene.has_no_event() && scene.inbox.waiting().is_empty());
    scene.take(vec![press("q:7:once"), press("w:Yes"), press("nonsense")]);
    assert!(matches!(
        scene.event(),
        Event::Answered {
            question: 7,
            answer: Answer::Once,
            ..
        }
    ));
    let pressed = scene.arrived();
    assert_eq!(
        (pressed.text.as_str(), pressed.reference.as_str()),
        ("[button] Yes", "7")
    );
    assert!(pressed.is_relayed, "it would run as a command");
    assert!(scene.has_no_event());
}

#[test]
fn a_press_that_does_not_count_is_answered_at_once() {
    let scene = Scene::new();
    let chinese = |id: &str| Sender {
        language: Language::Chinese,
        ..sender(id)
    };
    let notice = |sender: &Sender, data| scene.intake.press_notice(sender, "", None, data);
    assert_eq!(notice(&sender("1"), "q:7:once"), None);
    let unknown = notice(&sender("1"), "nonsense");
    assert_eq!(unknown, Some("This button no longer works."));
    let denied = notice(&sender("2"), "q:7:once");
    assert_eq!(denied, Some("You don't have access to this bot."));
    assert_eq!(notice(&chinese("1"), "nonsense"), Some("此按钮已失效。"));
}

#[test]
fn the_language_is_what_was_chosen_or_what_the_app_said_last() {
    let mut scene = Scene::new();
    let (place, mut number) = (Address::new("fake", "1"), 0);
    let mut language_of = |scene: &mut Scene, text: &str, said: Option<Language>| {
        number += 1;
        let sender = Sender {
            language: said.unwrap_or_else(|| Language::of_text(text)),
            ..sender("1")
        };
        scene.take(vec![Incoming::Message {
            envelope: Envelope {
                id: format!("fake:{number}"),
                is_language_guessed: said.is_none(),
                ..Envelope::written(&place, sender, text)
            },
            username: String::new(),
        }]);
        scene.arrived().language()
    };
    let german = Some(Language::German);
    assert_eq!(language_of(&mut scene, "hi", None), Language::English);
    assert_eq!(language_of(&mut scene, "/id", german), Language::German);
    assert_eq!(language_of(&mut scene, "hi", None), Language::German);
    assert_eq!(language_of(&mut scene, "你好", None), Language::Chinese);
    assert_eq!(
        language_of(&mut scene, "hi", None),
        Language::English,
        "it was a guess"
    );

    let languages = Arc::clone(&scene.intake.0.parts.languages);
    languages.choose(&place, Some(Language::Japanese)).unwrap();
    for said in [None, german] {
        assert_eq!(language_of(&mut scene, "hi", said), Language::Japanese);
    }
    let press = scene
        .intake
        .press_notice(&sender("1"), "", None, "nonsense");
    assert_eq!(press, Some(unknown_button(Language::Japanese)));
    languages.choose(&place, None).unwrap();
    assert_eq!(languages.get(&place), Language::German);
}

#[test]
fn each_message_has_the_role_of_its_sender_and_only_owners_answer_questions() {
    let mut scene = Scene::new();
    let place = Address::new("fake", "g");
    let says = |id: &str, number: usize, files: &[&str]| Incoming::Message {
        envelope: Envelope {
            id: format!("fake:{number}"),
            role: Role::Owner,
            remote_files: files.iter().map(|id| file(id)).collect(),
            ..Envelope::written(&place, sender(id), "hello")
        },
        username: String::new(),
    };
    scene.take(vec![says("13", 1, &["a"])]);
    let guest = scene.arrived();
    assert_eq!(guest.role, Role::Guest);
    assert!(guest.remote_files.is_empty());
    assert_eq!(guest.text, "hello\n[1 file was not fetched]");
    scene.take(vec![says("14", 2, &[])]);
    let user = scene.arrived();
    assert_eq!(user.role, Role::User);
    for (id, counts) in [("13", false), ("14", false), ("1", true)] {
        let notice = scene.intake.press_notice(&sender(id), "", None, "q:7:once");
        let only = Some("Only an owner can answer this.");
        assert_eq!(notice, only.filter(|_| !counts), "{id}");
        let pressed = |number: usize, data: &str| Incoming::Pressed {
            id: format!("fake:{id}{number}"),
            address: place.clone(),
            is_group: true,
            sender: sender(id),
            username: String::new(),
            message: PressedMessage {
                id: "7".to_owned(),
                text: String::new(),
            },
            data: data.to_owned(),
        };
        scene.take(vec![pressed(3, "q:7:once")]);
        let is_answered = matches!(scene.events.try_recv(), Ok(Event::Answered { .. }));
        assert_eq!(is_answered, counts, "{id}");
        scene.take(vec![pressed(4, "c:/sh ls")]);
        let command = scene.arrived();
        assert_eq!(command.role == Role::Owner, counts);
    }
}

#[test]
fn an_invitation_pairs_its_sender_and_is_not_a_message() {
    let mut scene = Scene::new();
    let said = |number: usize, text: &str, is_relayed: bool| Incoming::Message {
        envelope: Envelope {
            id: format!("fake:{number}"),
            is_relayed,
            ..Envelope::written(&Address::new("fake", "2"), sender("2"), text)
        },
        username: String::new(),
    };
    let code = scene.pairing.invite(Role::Owner).unwrap();
    scene.take(vec![said(1, &code, true)]);
    assert!(
        !scene.pairing.is_paired("fake", "2"),
        "somebody else wrote it"
    );
    scene.take(vec![said(2, &format!("/pair {code}"), false)]);
    assert!(scene.pairing.is_paired("fake", "2") && scene.has_no_event());
    let told = scene.outbox.pending().pop().unwrap().message;
    assert_eq!(
        (told.text.as_str(), told.to.chat.as_str()),
        (welcome(Language::English), "2")
    );
    scene.take(vec![said(3, "hello", false)]);
    assert_eq!(scene.arrived().text, "hello");
}

#[test]
fn strangers_get_one_code_and_are_not_heard() {
    let mut scene = Scene::new();
    let stranger = |number: usize, id: &str, is_group: bool| Incoming::Message {
        envelope: Envelope {
            id: format!("fake:{number}"),
            is_group,
            ..Envelope::written(&Address::new("fake", id), sender(id), "let me in")
        },
        username: "ana".to_owned(),
    };
    scene.take(vec![
        stranger(1, "2", false),
        stranger(2, "2", false),
        stranger(5, "2", false),
        stranger(3, "3", true),
    ]);
    assert!(scene.has_no_event() && scene.inbox.waiting().is_empty());
    let pending = scene.outbox.pending();
    let mut texts = pending.into_iter().map(|it| it.message.text);
    let said = "You don't have access yet. My message with the code";
    assert!(texts.next().is_some_and(|text| text.contains("/pair ")));
    assert!(texts.next().is_some_and(|text| text.starts_with(said)));
    assert_eq!(texts.next(), None, "a reminder comes once");
    assert_eq!(scene.woken.load(Ordering::SeqCst), 2);
    let code = scene.pairing.list().unwrap().offers[0].code.clone();
    assert!(scene.pairing.confirm(&code, Role::Owner).is_ok());
    scene.take(vec![stranger(4, "2", false)]);
    assert_eq!(scene.arrived().id, "fake:4");
    assert!(!scene.intake.has_access(&sender("3"), "ana"));
}

#[test]
fn a_full_queue_makes_the_receiver_wait_and_it_is_alive_meanwhile() {
    let mut scene = Scene::new();
    let batch = |from: usize| (from..from + 100).map(|number| message(number, "1", "x", &[]));
    assert_eq!(ENTRIES, 100);
    scene.take(batch(0).collect());
    let (intake, heartbeat) = (scene.intake.clone(), scene.heartbeat.clone());
    heartbeat.beat(Duration::ZERO);
    let more: Vec<Incoming> = batch(100).collect();
    let receiver = std::thread::spawn(move || intake.take(more, &heartbeat));
    let watch = Stopwatch::start();
    while scene.inbox.waiting().len() < 200 || scene.heartbeats.late().is_some() {
        assert!(
            watch.elapsed() < PATIENCE,
            "the second batch is not accepted"
        );
        std::thread::yield_now();
    }
    for number in 0..200 {
        assert_eq!(scene.arrived().id, format!("fake:{number}"));
    }
    receiver.join().unwrap().unwrap();
}

#[test]
fn when_the_gateway_stops_nothing_waits_for_it() {
    let scene = Scene::new();
    let gate = Arc::new(Gate::default());
    let batch = (0..150).map(|number| message(number, "1", "x", &[]));
    let (intake, heartbeat) = (scene.intake.clone(), scene.heartbeat.clone());
    let batch: Vec<Incoming> = batch.collect();
    let receiver = std::thread::spawn(move || intake.take(batch, &heartbeat));
    let busy = scene.intake.clone();
    busy.fetch_pending(envelope(900, "2", "", &["a"]));
    gate.open();
    scene.intake.stop();
    receiver.join().unwrap().unwrap();
    assert_eq!(scene.inbox.waiting().len(), 150);
}

#[test]
fn button_data_is_what_a_button_carries() {
    let rows: Vec<Vec<Button>> = buttons::for_question(7, &Default::default(), Language::English);
    assert!(
        rows.concat()
            .iter()
            .all(|button| buttons::read(&button.data).is_some())
    );
}
