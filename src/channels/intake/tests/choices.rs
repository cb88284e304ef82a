//! Replies to what was offered, in a channel without buttons.

use super::*;
use crate::base::approval::Question;
use crate::base::message::CommandButton;
use crate::channels::kit::choices::Offer;

impl Scene {
    /// Offers something, and returns the number of the first choice.
    fn offers(&self, chat: &Address, rows: &[Vec<Button>]) -> String {
        let choices = self.choices.as_ref().unwrap();
        let (offer, _) = choices.prepare(chat, rows, Language::English).unwrap();
        let number = offer.first.to_string();
        choices.add(Offer {
            question: Some(7),
            ..offer
        });
        choices.sent(chat, "55");
        number
    }
}

fn question() -> Vec<Vec<Button>> {
    buttons::for_question(7, &Question::default(), Language::English)
}

fn by(person: &str, number: usize, text: &str) -> Incoming {
    Incoming::Message {
        envelope: Envelope {
            id: format!("fake:{number}"),
            is_group: true,
            ..Envelope::written(&Address::new("fake", "g"), sender(person), text)
        },
        username: String::new(),
    }
}

#[test]
fn a_number_answers_a_question_once() {
    let mut scene = Scene::without_buttons();
    let here = Address::new("fake", "1");
    let once = scene.offers(&here, &question());
    assert!(scene.intake.is_choice(&here, &once, ""));
    for other in ["1", "9", "yes", "run once"] {
        assert!(!scene.intake.is_choice(&here, other, ""), "{other}");
    }
    scene.take(vec![
        message(1, "1", "what is it?", &[]),
        message(2, "1", &once, &[]),
    ]);
    assert_eq!(scene.arrived().text, "what is it?");
    let Event::Answered {
        question: 7,
        answer: Answer::Once,
        message: pressed,
        ..
    } = scene.event()
    else {
        panic!("no answer");
    };
    assert_eq!(pressed.id, "55");
    // It is sent again after a crash, when the question is over.
    let mut scene = scene.killed();
    scene.take(vec![
        message(2, "1", &once, &[]),
        message(3, "1", &once, &[]),
    ]);
    assert_eq!(scene.arrived().id, "fake:3", "a message like any other");
    assert!(scene.has_no_event());
}

#[test]
fn only_an_owner_answers_a_question() {
    let mut scene = Scene::without_buttons();
    let once = scene.offers(&Address::new("fake", "g"), &question());
    for (number, (person, text)) in [("13", &*once), ("14", &once), ("1", "yes")]
        .into_iter()
        .enumerate()
    {
        scene.take(vec![by(person, number, text)]);
        assert_eq!(scene.arrived().text, text, "an ordinary message");
    }
    scene.take(vec![by("666", 8, &once), by("1", 9, &once)]);
    assert!(matches!(
        scene.event(),
        Event::Answered {
            answer: Answer::Once,
            ..
        }
    ));
    assert!(scene.has_no_event());
}

/// A chat in which a model is offered, as a choice with the label `large`.
fn offering_large() -> Scene {
    let scene = Scene::without_buttons();
    let here = Address::new("fake", "1");
    let rows = vec![vec![CommandButton {
        label: "large".to_owned(),
        command: "/model large".to_owned(),
    }]];
    scene.offers(&here, &buttons::for_commands(&rows, 64));
    scene
}

#[test]
fn a_choice_types_its_command_as_a_button_does() {
    let mut scene = offering_large();
    scene.take(vec![
        message(1, "1", "LARGE", &[]),
        message(1, "1", "LARGE", &[]),
    ]);
    let typed = scene.arrived();
    assert_eq!(
        (typed.text.as_str(), typed.pressed.unwrap().id.as_str()),
        ("/model large", "55")
    );
    assert!(scene.has_no_event(), "it came once");
}

#[test]
fn a_choice_in_a_reply_to_an_unknown_message_is_a_message() {
    let mut scene = offering_large();
    let outside = Incoming::Message {
        envelope: Envelope {
            quote: "> Bob: large?".to_owned(),
            ..envelope(1, "1", "LARGE", &[])
        },
        username: String::new(),
    };
    scene.take(vec![outside]);
    assert_eq!(scene.arrived().text, "LARGE");
    assert!(scene.has_no_event());
}

#[test]
fn what_is_more_than_a_reply_is_a_message() {
    let mut scene = Scene::without_buttons();
    let here = Address::new("fake", "1");
    scene.offers(&here, &question());
    let relayed = Incoming::Message {
        envelope: Envelope {
            is_relayed: true,
            ..envelope(1, "1", "1", &[])
        },
        username: String::new(),
    };
    let elsewhere = Incoming::Message {
        envelope: Envelope {
            replies_to: "another".to_owned(),
            ..envelope(2, "1", "1", &[])
        },
        username: String::new(),
    };
    scene.take(vec![relayed, elsewhere, message(3, "1", SECRET, &[])]);
    assert!(scene.arrived().is_relayed);
    assert_eq!(scene.arrived().replies_to, "another");
    assert_eq!(scene.secrets.lock().unwrap().len(), 1);
}
