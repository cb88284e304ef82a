//! A channel without buttons and edits.

use super::*;
use crate::base::message::CommandButton;
use crate::channels::kit::choices::{Choices, Reply};

impl Scene {
    fn sparse(
        script: impl Fn(&str) -> Option<Failure> + Send + Sync + 'static,
    ) -> (Self, Arc<Choices>) {
        let folder = tempfile::tempdir().unwrap();
        let choices = Arc::new(Choices::new(folder.path(), "fake"));
        let scene = Self::made(script, PATIENCE, Vec::new(), Some(Arc::clone(&choices)));
        (scene, choices)
    }
}

fn reminder(text: &str) -> OutgoingMessage {
    OutgoingMessage {
        command_buttons: vec![vec![CommandButton {
            label: "Done".to_owned(),
            command: "/remind done".to_owned(),
        }]],
        ..OutgoingMessage::text(&chat("1"), text)
    }
}

#[test]
fn choices_are_below_the_last_piece_and_mean_its_message() {
    let failures = AtomicUsize::new(0);
    let (scene, choices) = Scene::sparse(move |call| match call.contains("two") {
        true if failures.fetch_add(1, Ordering::SeqCst) == 0 => server_error(),
        _ => None,
    });
    scene.send(&reminder("one|two"));
    scene.wait_for("1: send two\n\nReply with a number: **1** Done");
    scene.wait_until_empty();
    scene.wait_until("no id", || {
        let chosen = choices.find(&chat("1"), &Reply::new("1", ""));
        chosen.is_some_and(|chosen| chosen.message.id == "51" && chosen.message.text == "one|two")
    });
    assert_eq!(scene.calls()[0], "1: send one");
    scene.send(&reminder("three"));
    scene.wait_for("1: send three\n\nReply with a number: **2** Done");
    // What a turn says may be a question of its own.
    let answer = OutgoingMessage {
        replaces: Some(DraftKey::turn(&chat("1").session())),
        ..OutgoingMessage::text(&chat("1"), "how many?")
    };
    scene.send(&answer);
    scene.wait_until_empty();
    scene.wait_until("they count", || {
        choices.find(&chat("1"), &Reply::new("1", "")).is_none()
    });
}

#[test]
fn a_question_is_answered_in_words_and_closed_quietly() {
    let (scene, choices) = Scene::sparse(|_| None);
    let ask = |number| {
        let question = Question {
            command: "ls".to_owned(),
            ..Question::default()
        };
        assert!(scene.delivery.ask(&chat("1"), number, question, ENGLISH));
        let shown = || {
            scene
                .calls()
                .iter()
                .any(|call| call.contains(&format!("/deny {number}")))
        };
        scene.wait_until("no question", shown);
    };
    ask(4711);
    let asked = scene.calls()[0].clone();
    assert!(
        asked.contains("Reply with a number: **") && asked.contains("** Run once · **"),
        "{asked}"
    );
    let chosen = choices.find(&chat("1"), &Reply::new("deny", "")).unwrap();
    assert_eq!(chosen.data, "q:4711:deny");
    scene.delivery.settle(4711, Answer::Deny, "Ana");
    ask(4712);
    scene.delivery.settle(4712, Answer::TimedOut, "");
    scene.wait_for("1: send **✗ Denied: no answer in time**: `ls` to 51");
    let calls = scene.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(
        !calls
            .iter()
            .any(|call| call.contains("edit") || call.contains('['))
    );
}

#[test]
fn a_screen_names_its_keys_and_is_never_edited() {
    let (scene, _) = Scene::sparse(|_| None);
    let draft = DraftKey::terminal("fake:1");
    let key = |label: &str, command: &str| CommandButton {
        label: label.to_owned(),
        command: command.to_owned(),
    };
    let show = |text: &str| {
        let buttons = vec![vec![
            key("Enter", "/key enter"),
            key("Close", "/term close"),
        ]];
        scene
            .delivery
            .show_live(&draft, &chat("1"), text.to_owned(), buttons);
    };
    show("$ _");
    scene.delivery.lower(&draft);
    scene.wait_for("1: send $ _\n\nPress a key with `/key`: enter. Also `/term close`");
    // After a restart its chat is told that it is closed.
    scene.wait_until("no record", || scene.outbox.drafts("fake").len() == 1);
    show("$ ls");
    scene.delivery.lower(&draft);
    scene.wait_for("1: send $ ls\n\nPress a key with `/key`: enter. Also `/term close`");
    scene.send(&OutgoingMessage {
        replaces: Some(draft.clone()),
        ..OutgoingMessage::text(&chat("1"), "closed")
    });
    scene.delivery.resting(&draft);
    scene.wait_for("1: send closed");
    scene.wait_until_empty();
    assert_eq!(scene.outbox.drafts("fake"), []);
    assert_eq!(scene.calls().len(), 3, "{:?}", scene.calls());
}
