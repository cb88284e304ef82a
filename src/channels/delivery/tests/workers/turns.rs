//! What belongs to a turn: its draft, its answer and its questions.

use super::*;

#[test]
fn an_answer_is_edited_into_its_draft_and_sent_where_that_is_gone() {
    let scene = Scene::new(|call| call.starts_with("2: edit").then_some(Failure::MessageGone));
    for (name, message) in [("1", "50"), ("2", "51")] {
        let key = DraftKey::command(name);
        scene
            .delivery
            .draft(&key, &chat(name), "draft".to_owned(), "7");
        scene.wait_for(&format!("{name}: send draft to 7"));
        scene.wait_until("no draft is noted", || {
            scene.outbox.draft(&key).as_deref() == Some(message)
        });
        let answer = OutgoingMessage {
            replaces: Some(key.clone()),
            ..OutgoingMessage::text(&chat(name), "answer")
        };
        // It closes a turn: until that has ended it is held, and its draft stays.
        let session = SessionKey::parse("fake:x");
        let closes = ClosesTurn {
            session: session.clone(),
            journal: 9,
        };
        scene.outbox.add(&answer, Some(closes)).unwrap();
        scene.delivery.resting(&key);
        scene.outbox.release(&session);
        scene.delivery.wake();
        scene.wait_until_empty();
    }
    assert_eq!(
        scene.calls(),
        [
            "1: send draft to 7",
            "1: edit 50 answer",
            "2: send draft to 7",
            "2: edit 51 answer failed",
            "2: send answer"
        ]
    );
    assert!(scene.outbox.drafts("fake").is_empty());
}

#[test]
fn work_that_ends_without_an_answer_leaves_no_draft() {
    let scene = Scene::new(|_| None);
    let key = DraftKey::command("a");
    scene.delivery.accepted(&chat("1"), "7");
    scene.delivery.working(&key, &chat("1"));
    scene
        .delivery
        .draft(&key, &chat("1"), "draft".to_owned(), "");
    scene.wait_for("1: typing");
    scene.delivery.resting(&key);
    scene.wait_for("1: delete 50");
    scene.wait_until("a draft is noted", || {
        scene.outbox.drafts("fake").is_empty()
    });
    assert_eq!(
        scene.calls(),
        [
            "1: react 7 👀",
            "1: send draft",
            "1: typing",
            "1: delete 50"
        ]
    );
}

#[test]
fn a_question_is_shown_whole_and_settled_and_a_text_is_told_without_the_outbox() {
    let scene = Scene::new(|_| None);
    let question = Question {
        command: "reboot".to_owned(),
        folder: "/w".to_owned(),
        reason: String::new(),
        cause: Cause::Configured,
        ..Question::default()
    };
    assert!(scene.delivery.ask(&chat("1"), 554_137, question, ENGLISH));
    let text = "Run this in the sandbox?\n```sh\nreboot\n```\n\nFolder: `/w`\n\
                Why I'm asking: tools.exec.approval is \"always\".";
    let asked = format!(
        "1: send {text}\n\nExpires in 10 minutes. You can also type /approve 554137 or /deny 554137."
    );
    scene.wait_until("it is not asked", || !scene.calls().is_empty());
    let calls = scene.calls();
    assert!(calls[0].starts_with(&asked), "{calls:?}");
    assert!(
        calls[0].ends_with("[Run once,Deny,Always this command]"),
        "{calls:?}"
    );
    scene.delivery.settle(554_137, Answer::Deny, "");
    scene.wait_for("1: edit 50 **✗ Denied**: `reboot`");
    assert!(scene.delivery.tell(&chat("1"), "The disk is full."));
    scene.wait_for("1: send The disk is full.");
    assert_eq!(scene.outbox.count(), 0);
}

#[test]
fn where_the_file_with_a_long_command_is_refused_all_of_it_comes_as_text_before_its_question() {
    let scene = Scene::new(|call| {
        let is_file = call.contains("upload");
        is_file.then(|| Failure::Refused("no files here".to_owned()))
    });
    let question = Question {
        command: format!("first{}last", " x".repeat(9_000)),
        folder: "/w".to_owned(),
        ..Question::default()
    };
    let command = question.command.clone();
    assert!(scene.delivery.ask(&chat("1"), 554_137, question, ENGLISH));
    let is_asked = |call: &String| call.ends_with("[Run once,Deny,Always this command]");
    scene.wait_until("it is not asked", || scene.calls().iter().any(is_asked));
    let calls = scene.calls();
    let texts = calls.iter().filter(|call| call.contains("send"));
    let shown = texts.take_while(|call| !is_asked(call)).flat_map(|call| {
        let text = call.split_once(": send ").unwrap().1;
        text.chars().filter(|char| !matches!(char, '|' | '…' | '`'))
    });
    let visible = |char: &char| !char.is_whitespace();
    let shown: String = shown.filter(visible).collect();
    let whole: String = command.chars().filter(visible).collect();
    assert!(shown.contains(&whole), "{calls:?}");
}

#[test]
fn a_command_that_is_too_long_comes_whole_as_a_file_before_its_question() {
    let scene = Scene::new(|_| None);
    let question = Question {
        command: format!("first{}last", " x".repeat(9_000)),
        folder: "/w".to_owned(),
        ..Question::default()
    };
    let file = format!("1: upload command.sh {}", question.command);
    assert!(scene.delivery.ask(&chat("1"), 554_137, question, ENGLISH));
    scene.wait_until("it is not asked", || scene.calls().len() >= 2);
    let calls = scene.calls();
    assert_eq!(calls[0], file);
    assert!(
        calls[1].contains("… 16,009 characters left out …"),
        "{}",
        calls[1]
    );
    assert!(calls[1].ends_with("[Run once,Deny,Always this command]"));
    scene.delivery.settle(554_137, Answer::Deny, "");
    scene.wait_until("it is not settled", || {
        scene
            .calls()
            .iter()
            .any(|call| call.starts_with("1: edit 50 **✗ Denied**: `first x x"))
    });
    assert_eq!(scene.calls().len(), 3);
}
