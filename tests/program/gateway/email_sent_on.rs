//! What outsiders can do with mails: send on what a person wrote to them, and fill the mailbox.

use std::fs;

use serde_json::json;

use super::email::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::mail::{CHECKER, Letter};
use crate::harness::wait_until;

/// What the server says of a mail of Ana's that comes from elsewhere: her signature is valid.
fn sent_on() -> String {
    format!(
        "{CHECKER}; dkim=pass header.d=example.org header.b=abcdefgh; spf=pass smtp.mailfrom=eve@evil.example; \
         dmarc=pass header.from=example.org"
    )
}

fn signed(names: &str) -> String {
    format!("DKIM-Signature: v=1; d=example.org; h={names}; b=abcdefghijk\r\n")
}

const ALL: &str = "from:to:cc:subject:date:message-id:content-type:content-transfer-encoding";

#[test]
fn a_mail_that_an_outsider_sends_on_runs_nothing() {
    let scene = Scene::counting();
    let gateway = scene.start();
    let command = |checked: String, names: &str| Letter {
        subject: "hi".to_owned(),
        text: "/sh echo $((40 + 2)) apples".to_owned(),
        checked: Some(checked),
        fields: signed(names),
        ..Letter::default()
    };
    let spf = || format!("{CHECKER}; spf=pass smtp.mailfrom=ana@example.org");
    let twice = Letter {
        fields: "Subject: another\r\n".to_owned(),
        ..command(spf(), ALL)
    };
    let to_eve = Letter {
        to: Some("Eve <eve@evil.example>".to_owned()),
        ..command(sent_on(), ALL)
    };
    let old = Letter {
        date: Some("Mon, 2 Nov 2020 10:00:00 +0000".to_owned()),
        ..command(sent_on(), ALL)
    };
    let unsigned = command(sent_on(), "from:to:subject:date:message-id:mime-version");
    // As often as someone sends these, they take no room from her own, and the model none of their words.
    for (letter, why) in [
        (twice, "a field twice"),
        (to_eve, "not addressed to this mailbox"),
        (unsigned, "its signature vouches"),
    ] {
        scene.ana.sends(&letter);
        gateway.wait_for_log(why);
    }
    // An old one is as she has written it.
    scene.ana.sends(&old);
    scene.model.wait_for_requests(1);
    let asked = scene.asked(0);
    let why = "not of the last 7 days";
    assert!(asked.contains(why) && asked.contains("/sh echo"), "{asked}");
    assert!(
        !scene.texts().iter().any(|text| text.contains("42 apples")),
        "{:?}",
        scene.texts()
    );
    // What her signature vouches for as a whole is her own word.
    scene.ana.sends(&command(sent_on(), ALL));
    scene.wait_for("42 apples");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 1);
    let told = scene.texts();
    let told = told
        .iter()
        .filter(|text| text.contains("someone else may have sent it on"));
    assert_eq!(told.count(), 1);
}

#[test]
fn a_number_that_names_no_question_answers_none() {
    let scene = Scene::counting();
    let gateway = scene.start();
    scene.ana.writes("hi", "/sh! echo $((40 + 2)) apples");
    let question = scene
        .mail
        .wait_for("a question", |mail| mail.text.contains("Run once"));
    let before = question.text.split(" Run once").next().unwrap();
    let number = before
        .rsplit(|char: char| !char.is_ascii_digit())
        .next()
        .unwrap();
    scene.ana.sends(&Letter {
        text: number.to_owned(),
        fields: format!(
            "In-Reply-To: x\r\nReferences: {}\r\n",
            question.references.join(" ")
        ),
        ..Letter::default()
    });
    scene.mail.wait_for_command("UID STORE 2", 1);
    scene.ana.replies(&question, "no");
    wait_until("the end of the question", || scene.texts().len() > 1);
    gateway.stop().ends_with(0);
    assert!(
        !scene.texts().iter().any(|text| text.contains("42 apples")),
        "{:?}",
        scene.texts()
    );
}

#[test]
fn more_mails_than_are_taken_within_an_hour_wait_for_their_turn() {
    let scene = Scene::counting().set("autoReplyEnabled", json!(false));
    let gateway = scene.start();
    for number in 1..=31 {
        scene.ana.writes("hi", &format!("question {number}"));
    }
    gateway.wait_for_log("a mail waits");
    scene.mail.wait_for_idle();
    scene.model.wait_for_requests(30);
    gateway.stop().ends_with(0);
    let state = fs::read_to_string(scene.home.path().join("state/email.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let is_asked = || {
        let requests = scene.model.requests();
        let mut asked = requests.iter().map(|request| request.last_message());
        asked.any(|message| message.contains("question 31"))
    };
    assert!(!is_asked());
    assert_eq!(
        state["place"]["waiting"],
        json!([["ana@example.org", 31]]),
        "{state}"
    );
    // The hours are counted anew.
    let gateway = Gateway::start(&scene.home);
    wait_until("the mail that has waited", is_asked);
    gateway.stop().ends_with(0);
}

#[test]
fn of_mails_of_strangers_a_bounded_part_is_fetched() {
    let scene = Scene::counting();
    let gateway = scene.start();
    let eve = scene.mail.person("eve@evil.example", "Eve");
    for _ in 0..40 {
        eve.writes("hi", &"<p>words</p>\r\n".repeat(1000));
    }
    scene.ana.writes("hi", "hello");
    scene.wait_for("1 so far, hello.");
    gateway.stop().ends_with(0);
    let commands = scene.mail.commands();
    let fetched = |bytes: &str| {
        let all = commands.iter();
        all.filter(|command| command.contains("BODY.PEEK[1]") && command.contains(bytes))
            .count()
    };
    assert_eq!((fetched("<0.4096>"), fetched("<0.")), (30, 31));
}
