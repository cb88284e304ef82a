use super::*;
use crate::base::approval::Risk;

fn given(answer: Answer) -> Given<'static> {
    Given {
        answer,
        by: "Ana",
        sent_at: None,
    }
}

#[test]
fn an_answer_reaches_the_question_of_its_chat_once() {
    let approvals = Approvals::default();
    let (here, there) = (Address::new("telegram", "1"), Address::new("telegram", "2"));
    let number = approvals.open(&here.session(), &here, &Question::default());
    let answer = |chat, number, answer| approvals.answer(chat, number, given(answer));
    let elsewhere = answer(&there, Some(number), Answer::Once);
    assert_eq!(elsewhere, Taken::Unknown, "another chat");
    let other = answer(&here, Some(number + 1), Answer::Once);
    assert_eq!(other, Taken::Unknown, "another question");
    assert_eq!(answer(&here, Some(number), Answer::Once), Taken::Yes);
    let again = answer(&here, Some(number), Answer::Deny);
    assert_eq!(again, Taken::Unknown, "it is answered");
    assert_eq!(approvals.wait(number, &Cancel::new()).0, Answer::Once);
    assert!(approvals.open_in(&here).is_empty());
    let late = answer(&here, Some(number), Answer::Deny);
    assert_eq!(late, Taken::Unknown, "it is over");
    assert!(approvals.knows(number));
    assert!(!approvals.knows(number + 1), "of another run");
}

#[test]
fn without_a_number_two_open_questions_are_one_too_many() {
    let approvals = Approvals::default();
    let chat = Address::new("telegram", "1");
    let open = || approvals.open(&chat.session(), &chat, &Question::default());
    let (first, second) = (open(), open());
    assert_ne!(first, second);
    assert_eq!(
        approvals.answer(&chat, None, given(Answer::Deny)),
        Taken::Unknown
    );
    let answered = approvals.answer(&chat, Some(second), given(Answer::Always));
    assert_eq!(answered, Taken::Yes);
}

#[test]
fn an_answer_without_a_number_allows_only_what_can_have_been_read() {
    let approvals = Approvals::default();
    let chat = Address::new("telegram", "1");
    let answer = |answer| approvals.answer(&chat, None, given(answer));
    for allows in [Answer::Once, Answer::Always, Answer::Everything] {
        let number = approvals.open(&chat.session(), &chat, &Question::default());
        assert_eq!(answer(allows), Taken::Unknown, "not shown");
        approvals.asked(number, "17", 5_000_500);
        assert_eq!(approvals.of_message(&chat, "17"), Some(number));
        assert_eq!(approvals.of_message(&chat, "18"), None);
        assert_eq!(answer(allows), Taken::Unknown, "just shown");
        approvals.questions.lock().close(number);
    }
    for (age, sent_at, expected) in [
        (READ_TIME, None, false),
        (READ_TIME, Some(5_000), true),
        (READ_TIME, Some(5_062), true),
        (READ_TIME, Some(5_063), false),
        (Duration::from_mins(1), Some(5_063), true),
        (READ_TIME, Some(i64::MAX), false),
        (READ_TIME, Some(4_999), false),
        (READ_TIME - Duration::from_millis(1), Some(5_010), false),
    ] {
        assert_eq!(
            is_read(5_000_500, age, sent_at),
            expected,
            "{age:?} {sent_at:?}"
        );
    }
    approvals.open(&chat.session(), &chat, &Question::default());
    assert_eq!(answer(Answer::Deny), Taken::Yes, "a refusal always counts");
}

#[test]
fn what_stops_the_machine_is_allowed_once_only() {
    let approvals = Approvals::default();
    let chat = Address::new("telegram", "1");
    let always = AlwaysOption::TooRisky(Risk::Power);
    let number = approvals.open(
        &chat.session(),
        &chat,
        &Question {
            always,
            ..Question::default()
        },
    );
    let answer = |answer| approvals.answer(&chat, Some(number), given(answer));
    assert_eq!(answer(Answer::Always), Taken::OnceOnly(number, always));
    assert_eq!(answer(Answer::Once), Taken::Yes);
}

#[test]
fn a_question_whose_number_is_named_was_shown_although_the_channel_has_not_said_so() {
    let (approvals, chat) = (Approvals::default(), Address::new("fake", "1"));
    for (is_named, is_shown) in [(true, true), (false, false)] {
        let number = approvals.open(&chat.session(), &chat, &Question::default());
        let named = is_named.then_some(number);
        let taken = approvals.answer(&chat, named, given(Answer::Deny));
        assert_eq!(taken, Taken::Yes);
        assert_eq!(approvals.wait(number, &Cancel::new()).2, is_shown);
    }
}

#[test]
fn a_stopped_turn_and_a_stopping_gateway_end_the_wait() {
    let (approvals, cancel) = (Approvals::default(), Cancel::new());
    let number = approvals.open(
        &Address::new("telegram", "1").session(),
        &Address::new("telegram", "1"),
        &Question::default(),
    );
    cancel.cancel();
    assert_eq!(approvals.wait(number, &cancel).0, Answer::Stopped);
    approvals.shut_down();
    let open = || {
        approvals.open(
            &Address::new("telegram", "1").session(),
            &Address::new("telegram", "1"),
            &Question::default(),
        )
    };
    let (unanswered, answered) = (open(), open());
    let chat = Address::new("telegram", "1");
    approvals.answer(&chat, Some(answered), given(Answer::Once));
    let wait = |number| approvals.wait(number, &Cancel::new()).0;
    assert_eq!(wait(unanswered), Answer::ShuttingDown);
    assert_eq!(wait(answered), Answer::Once);
    assert!(!Answer::Stopped.allows() && !Answer::ShuttingDown.allows());
}
