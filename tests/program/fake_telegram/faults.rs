//! What goes wrong because the story says so.

use std::io::BufReader;
use std::net::TcpStream;
use std::thread;

use serde_json::{Value, json};

use super::{Answer, Bot, fails};
use crate::harness::gate::Gate;
use crate::harness::telegram::{FOREVER, Fault, Media, Telegram, Upload};

/// Sends `x` into a server where the next message meets a fault; returns the answer, and what
/// stands in the chat afterwards.
fn send_into(fault: Fault) -> (Answer, Vec<String>) {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    telegram.fail_next("sendMessage", fault);
    let answer = Bot::of(&telegram).ask("sendMessage", &json!({"chat_id": 1001, "text": "x"}));
    let standing = telegram
        .messages(owner.chat())
        .into_iter()
        .map(|message| message.text);
    (answer, standing.collect())
}

#[test]
fn a_scripted_error_has_the_apis_form_and_nothing_is_done() {
    for (fault, code, words) in [
        (
            Fault::TooManyRequests { retry_after: 7 },
            429,
            "Too Many Requests: retry after 7",
        ),
        (Fault::Unauthorized, 401, "Unauthorized"),
        (Fault::Conflict, 409, "Conflict: terminated"),
        (
            Fault::Forbidden,
            403,
            "Forbidden: bot was blocked by the user",
        ),
        (
            Fault::BadRequest("chat not found"),
            400,
            "Bad Request: chat not found",
        ),
        (Fault::ParseError, 400, "Bad Request: can't parse entities"),
    ] {
        let (answer, standing) = send_into(fault);
        let (status, body) = answer.unwrap();
        let description = body["description"].as_str().unwrap();
        assert!(
            status == code && description.starts_with(words),
            "{status} {body}"
        );
        assert_eq!(
            body["parameters"]["retry_after"].as_u64(),
            (code == 429).then_some(7)
        );
        assert!(standing.is_empty());
    }
}

#[test]
fn an_answer_can_be_none_of_the_apis() {
    let (answer, standing) = send_into(Fault::ServerError);
    let (status, body) = answer.unwrap();
    assert!(status == 502 && body.as_str().unwrap().starts_with("<html>") && standing.is_empty());
    let (answer, standing) = send_into(Fault::GarbageJson);
    assert!(answer.unwrap().1.is_string() && standing.is_empty());
    let (answer, standing) = send_into(Fault::HugeBody(5 << 20));
    assert!(answer.unwrap().1["result"].as_str().unwrap().len() == 5 << 20 && standing.is_empty());
    let (answer, standing) = send_into(Fault::TruncatedJson);
    let half = answer.unwrap().1;
    assert!(
        half.as_str().unwrap().starts_with("{\"ok\":true") && standing == ["x"],
        "{half}"
    );
}

#[test]
fn an_answer_can_be_lost_before_or_after_the_deed() {
    let (answer, standing) = send_into(Fault::Cut);
    assert!(answer.is_err() && standing.is_empty());
    for fault in [Fault::LostReply, Fault::CutOff] {
        let (answer, standing) = send_into(fault);
        assert!(answer.is_err() && standing == ["x"]);
    }
}

#[test]
fn an_answer_can_wait_for_the_story() {
    for (held, stands_before) in [
        (Fault::HoldUntil as fn(Gate) -> Fault, false),
        (Fault::SlowBody, true),
    ] {
        let telegram = Telegram::start();
        let owner = telegram.person(1001, "Ana", None);
        let gate = Gate::default();
        telegram.fail_next("sendMessage", held(gate.clone()));
        let sending = thread::spawn({
            let bot = Bot::of(&telegram);
            move || bot.sends(1001, "late")
        });
        telegram.wait_for_calls("sendMessage", 1);
        if stands_before {
            telegram.wait_for_message(owner.chat(), |message| message.text == "late");
        } else {
            assert!(telegram.messages(owner.chat()).is_empty());
        }
        assert!(!sending.is_finished());
        gate.open();
        sending.join().unwrap();
        assert_eq!(telegram.messages(owner.chat()).len(), 1);
    }
}

#[test]
fn an_answer_can_never_come() {
    let telegram = Telegram::start();
    telegram.fail_next("getMe", Fault::Hang);
    let hanging = thread::spawn({
        let bot = Bot::of(&telegram);
        move || bot.ask("getMe", &json!({}))
    });
    telegram.wait_for_calls("getMe", 1);
    assert!(!hanging.is_finished());
    drop(telegram);
    assert!(hanging.join().unwrap().is_err());
}

#[test]
fn faults_are_counted_chosen_and_healed() {
    let telegram = Telegram::start();
    telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let status = |text: &str| {
        bot.ask("sendMessage", &json!({"chat_id": 1001, "text": text}))
            .unwrap()
            .0
    };
    telegram.fail_when(1, Fault::ParseError, |call| {
        call.parameters["text"] == "bad"
    });
    telegram.fail_times("sendMessage", 2, Fault::ServerError);
    assert_eq!(
        [
            status("good"),
            status("bad"),
            status("good"),
            status("good")
        ],
        [502, 400, 502, 200]
    );
    telegram.fail_times("sendMessage", usize::MAX, Fault::ServerError);
    assert_eq!(status("good"), 502);
    telegram.heal();
    assert_eq!(status("good"), 200);
    assert_eq!(telegram.calls("sendMessage").len(), 6);
}

#[test]
fn one_chat_can_be_in_trouble_while_others_are_not() {
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    telegram.person(1002, "Ben", None);
    let bot = Bot::of(&telegram);
    let status = |method: &str, chat: i64| {
        let parameters = match method {
            "sendMessage" => json!({"chat_id": chat, "text": "x"}),
            _ => json!({"chat_id": chat, "action": "typing"}),
        };
        bot.ask(method, &parameters).unwrap().0
    };
    telegram.fail_in(ana.chat(), 1, Fault::TooManyRequests { retry_after: 1 });
    telegram.fail_in(ana.chat(), FOREVER, Fault::InternalError);
    assert_eq!(status("sendMessage", 1001), 429);
    for method in ["sendMessage", "sendChatAction"] {
        assert_eq!([status(method, 1001), status(method, 1002)], [500, 200]);
    }
    telegram.heal_in(ana.chat());
    assert_eq!(status("sendMessage", 1001), 200);
    let record = telegram.record(ana.chat());
    let worked: Vec<bool> = record.iter().map(|call| call.done.is_some()).collect();
    assert_eq!(worked, [false, false, false, true]);
    assert!(
        record
            .iter()
            .all(|call| call.done.is_none_or(|done| done >= call.at))
    );

    telegram.fail_in(ana.chat(), FOREVER, Fault::Hang);
    let hanging = thread::spawn({
        let bot = bot.clone();
        move || bot.ask("sendMessage", &json!({"chat_id": 1001, "text": "x"}))
    });
    telegram.wait_for_calls("sendMessage", 5);
    assert_eq!(status("sendMessage", 1002), 200);
    drop(telegram);
    assert!(hanging.join().unwrap().is_err());
}

#[test]
fn one_file_can_be_out_of_reach() {
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let [first, second] = ["a", "b"].map(|name| {
        let said = ana.sends(Upload::new(Media::Document, name, name));
        let file = bot.polls(0, 0).pop().unwrap()["message"]["document"]["file_id"].clone();
        let path = bot.call("getFile", json!({"file_id": file}))["file_path"].clone();
        (
            said,
            format!("/file/bot{}/{}", bot.token, path.as_str().unwrap()),
        )
    });
    telegram.fail_download(&second.0, FOREVER, Fault::InternalError);
    assert_eq!([bot.get(&first.1).0, bot.get(&second.1).0], [200, 500]);
}

#[test]
fn a_fault_that_nobody_meets_fails_the_test() {
    let telegram = Telegram::start();
    telegram.fail_next("sendMessage", Fault::Hang);
    assert!(fails(telegram));
}

#[test]
fn the_network_goes_and_comes_back_at_the_same_port() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let mut kept = BufReader::new(TcpStream::connect(&bot.address).unwrap());
    bot.ask_on(&mut kept, "getMe", &json!({})).unwrap();
    for _ in 0..3 {
        telegram.go_offline();
        assert!(bot.ask_on(&mut kept, "getMe", &json!({})).is_err());
        let refused = TcpStream::connect(&bot.address).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        telegram.go_online();
        kept = BufReader::new(TcpStream::connect(&bot.address).unwrap());
        let me: Value = bot.ask_on(&mut kept, "getMe", &json!({})).unwrap().1;
        assert_eq!(me["ok"], true);
    }
}
