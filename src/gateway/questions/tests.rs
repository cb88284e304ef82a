//! Tests of the questions of servers.

use super::*;
use crate::base::chat::InputKind;
use crate::base::message::Sender;

#[test]
fn every_text_is_there_in_each_language() {
    crate::base::language::check_table(texts::TABLE);
}

fn chat(id: &str) -> Address {
    Address::new("telegram", id)
}

/// A message of a person in a chat.
fn says(id: &str, person: &str, text: &str, is_group: bool) -> Envelope {
    let sender = Sender {
        id: person.to_owned(),
        name: person.to_owned(),
        ..Sender::default()
    };
    Envelope {
        id: format!("telegram:{text}"),
        is_group,
        role: Role::User,
        ..Envelope::written(&chat(id), sender, text)
    }
}

fn whom(id: &str, person: Option<&str>) -> Whom {
    Whom {
        chat: chat(id),
        person: person.map(str::to_owned),
        role: Role::User,
    }
}

fn is_sent(_: u64) -> bool {
    true
}

fn reply(came: Option<Came>) -> Option<Reply> {
    match came? {
        Came::Reply(reply) => Some(reply),
        Came::Words(message) => Some(Reply::Text(message.text)),
        Came::Early(message) => panic!("{message:?}"),
        Came::Unasked => panic!("it came too early"),
    }
}

#[test]
fn a_button_a_command_and_a_message_answer_the_question_of_their_chat() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    let number = questions.open(whom("1", None), &cancel).unwrap();
    questions.ask(number, 7);
    let wait = || reply(questions.wait(number, &is_sent, (&cancel, &Stopwatch::start())));
    let command = |id: &str, argument: &str| {
        questions.take_command(&says(id, "ana", "/answer", false), argument)
    };
    assert!(!command("2", &format!("#{number} ok")), "another chat");
    assert!(!command("1", &format!("#{} ok", number + 1)));
    assert!(!command("1", &format!("#{number} rm -rf")));
    assert!(command("1", &format!("#{number} 2")));
    assert_eq!(wait(), Some(Reply::Pick(2)));
    assert!(command("1", "the attic"));
    assert_eq!(wait(), Some(Reply::Text("the attic".into())));
    assert!(command("1", "decline"));
    assert_eq!(wait(), Some(Reply::Decline));
    assert!(!questions.take_message(&says("2", "ana", "hello", false)));
    assert!(questions.take_message(&says("1", "ana", "hello", false)));
    assert!(!questions.take_message(&says("1", "ana", "and more", false)));
    assert_eq!(wait(), Some(Reply::Text("hello".into())));
    assert!(questions.close(number).is_none());
    assert!(!command("1", "late"));
}

#[test]
fn each_value_is_answered_by_its_own_buttons_and_messages() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    let number = questions.open(whom("1", None), &cancel).unwrap();
    let wait = || reply(questions.wait(number, &is_sent, (&cancel, &Stopwatch::start())));
    let press = |button: u64| {
        let message = says("1", "ana", "/answer", false);
        questions.take_command(&message, &format!("#{button} 0"))
    };
    let (first, _) = questions.turn_page(number);
    questions.ask(number, 7);
    assert!(press(first));
    assert_eq!(wait(), Some(Reply::Pick(0)));
    // Before the next value is asked for.
    let message = says("1", "ana", "and more", false);
    assert!(questions.take_message(&message));
    press(first);
    let (second, early) = questions.turn_page(number);
    assert_eq!(early.map(|early| early.id), Some(message.id));
    assert_ne!(first, second);
    questions.ask(number, 8);
    assert!(!press(first) && !press(number));
    assert_eq!(questions.earlier(number), [7]);
    assert!(questions.is_open_for(&says("1", "ana", "", false)));
    assert!(!questions.is_open_for(&says("2", "ana", "", false)));
    assert!(press(second));
    assert_eq!(wait(), Some(Reply::Pick(0)));
}

#[test]
fn in_a_group_only_the_person_who_is_asked_answers() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    let number = questions.open(whom("-5", Some("ana")), &cancel).unwrap();
    let button = format!("#{number} ok");
    let of = |person: &str| says("-5", person, "the attic", true);
    assert!(!questions.take_command(&of("bob"), &button));
    assert!(!questions.take_command(&of("bob"), "the cellar"));
    assert!(!questions.take_message(&of("bob")));
    assert!(questions.take_message(&of("ana")));
}

#[test]
fn who_may_do_less_than_the_turn_answers_none_of_its_questions() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    // A task, a report and a turn that goes on after a kill know of no person.
    let number = questions.open(whom("-5", None), &cancel).unwrap();
    let of = |role: Role| Envelope {
        role,
        ..says("-5", "eve", "eve's account", true)
    };
    assert!(!questions.take_message(&of(Role::Guest)));
    assert!(!questions.take_command(&of(Role::Guest), &format!("#{number} ok")));
    assert!(questions.take_message(&of(Role::User)));
}

#[test]
fn a_reply_to_an_unknown_message_is_for_the_model() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    let number = questions.open(whom("1", None), &cancel).unwrap();
    questions.ask(number, 7);
    let to = |target: &str, quote: &str| Envelope {
        replies_to: target.to_owned(),
        quote: quote.to_owned(),
        ..says("1", "ana", "yes", false)
    };
    assert!(!questions.take_message(&to(UNKNOWN_MESSAGE, "")));
    assert!(!questions.take_message(&to("", "> Bob: Shall I?")));
    assert!(questions.take_message(&to("17", "> [you]: Which one?")));
}

#[test]
fn what_was_written_before_the_question_was_shown_is_for_the_model() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    let number = questions.open(whom("1", None), &cancel).unwrap();
    questions.ask(number, 7);
    let message = says("1", "ana", "my PIN is 4321", false);
    assert!(questions.take_message(&message), "it is looked at");
    let came = questions.wait(number, &|_| false, (&cancel, &Stopwatch::start()));
    let Some(Came::Early(early)) = came else {
        panic!("it was taken for the answer");
    };
    assert_eq!(early.id, message.id);
    assert!(!questions.take_message(&message), "it goes on to the model");
    assert!(questions.take_message(&message), "once");
    assert!(questions.close(number).is_some(), "nothing is lost");
}

#[test]
fn an_answer_command_answers_no_value_that_was_not_shown() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    let number = questions.open(whom("1", None), &cancel).unwrap();
    let command =
        |argument: &str| questions.take_command(&says("1", "ana", "/answer", false), argument);
    let wait = |is_sent: &dyn Fn(u64) -> bool| {
        questions.wait(number, is_sent, (&cancel, &Stopwatch::start()))
    };
    let (first, _) = questions.turn_page(number);
    questions.ask(number, 7);
    assert!(command(&format!("#{first} 0")));
    assert_eq!(reply(wait(&is_sent)), Some(Reply::Pick(0)));
    // Typed before the second value is asked for.
    for early in ["hunter22", DECLINE] {
        assert!(command(early));
        let (second, _) = questions.turn_page(number);
        questions.ask(number, 8);
        assert!(matches!(wait(&is_sent), Some(Came::Unasked)), "{early}");
        // Its own button is that of what is shown.
        assert!(command(&format!("#{second} 1")));
        assert_eq!(reply(wait(&|_| false)), Some(Reply::Pick(1)));
    }
    // Asked for, and still in the outbox.
    assert!(command("hunter22"));
    assert!(matches!(wait(&|_| false), Some(Came::Unasked)));
    assert!(command("hunter22"));
    let answer = Some(Reply::Text("hunter22".into()));
    assert_eq!(reply(wait(&is_sent)), answer);
}

#[test]
fn a_stopped_turn_and_a_stopping_gateway_end_the_wait_also_for_a_place() {
    let (questions, cancel) = (Questions::default(), Cancel::new());
    let number = questions.open(whom("1", None), &cancel).unwrap();
    let stopped = Cancel::new();
    stopped.cancel();
    let wait = |cancel| reply(questions.wait(number, &is_sent, (cancel, &Stopwatch::start())));
    assert_eq!(wait(&stopped), None);
    let second = questions.open(whom("1", None), &stopped);
    assert_eq!(second, None, "one at a time");
    questions.shut_down();
    assert_eq!(wait(&cancel), None);
}

#[test]
fn many_choices_are_numbers_and_leave_room_for_the_rest() {
    let choice = |number: usize| Choice {
        value: number.to_string(),
        title: format!("Room {number}"),
    };
    let rows = |count: usize| {
        let field = Field {
            name: "room".into(),
            title: "Room".into(),
            description: String::new(),
            kind: FieldKind::Choice((1..=count).map(choice).collect()),
            is_required: false,
            default: None,
        };
        buttons(123_456, Asked::Field(&field), Language::English)
    };
    assert_eq!(rows(4).len(), 5);
    assert_eq!(rows(4)[0][0].label, "Room 1");
    for count in [5, 20, 50] {
        let rows = rows(count);
        assert!(rows.len() <= 5, "Discord shows five");
        assert_eq!(rows[0][4].label, "5");
        assert_eq!(rows.last().unwrap().len(), 2, "skip and decline");
    }
}

#[test]
fn what_a_server_says_is_quoted_and_its_choices_are_buttons() {
    let field = Field {
        name: "room".into(),
        title: "Room\n**bold**".into(),
        description: "Which\n# one".into(),
        kind: FieldKind::Choice(vec![Choice {
            value: "a".into(),
            title: "Attic".into(),
        }]),
        is_required: true,
        default: None,
    };
    let request = InputRequest {
        server: "lamp".into(),
        message: "Press [here](https://evil)".into(),
        kind: InputKind::Form(vec![field.clone()]),
    };
    let text = describe((&request, true), Asked::Field(&field), Language::English);
    assert!(
        text.contains("\n> Room"),
        "the title is the server's: {text}"
    );
    assert!(text.contains("\n> 1") && text.contains("Attic"), "{text}");
    let next = describe((&request, false), Asked::Field(&field), Language::English);
    assert!(next.starts_with("The tool server `lamp` asks:\n"), "{next}");
    assert!(text.contains("`lamp`"), "{text}");
    assert!(!text.contains("](https"), "{text}");
    assert!(!text.contains("\n# one"), "{text}");
    let rows = buttons(123_456, Asked::Field(&field), Language::Chinese);
    assert_eq!(rows[0][0].command, "/answer #123456 0");
    assert_eq!(
        rows.last().unwrap().len(),
        1,
        "it is required and has no default"
    );
}
