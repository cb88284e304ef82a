use std::sync::atomic::Ordering;
use std::thread;

use serde_json::{Value, json};

use super::*;
use std::sync::Arc;

use crate::base::approval::Answer;
use crate::base::bus::Event;
use crate::base::limits::inbox::MESSAGES;
use crate::base::message::{Envelope, SessionKey};
use crate::channels::intake::tests::scene::Scene;
use crate::channels::kit::sink::Sink;
use crate::net::http::server::{self, Server};

fn done(result: &Value) -> server::Answer {
    let body = json!({"ok": true, "result": result}).to_string();
    server::answer("200 OK", "", body.as_bytes())
}

fn me() -> server::Answer {
    done(&json!({"id": 900, "is_bot": true, "first_name": "Pea", "username": "peabot"}))
}

fn message(number: i64, members: Value) -> Value {
    let mut message = json!({
        "message_id": 100 + number,
        "from": {"id": 1, "is_bot": false, "first_name": "Ana"},
        "chat": {"id": 1, "type": "private"},
    });
    for (name, value) in members.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

fn text(number: i64, text: &str) -> Value {
    json!({"update_id": number, "message": message(number, json!({"text": text}))})
}

fn album(number: i64, caption: &str) -> Value {
    let members = json!({
        "media_group_id": "a",
        "caption": caption,
        "photo": [{"file_id": format!("f{number}")}],
    });
    json!({"update_id": number, "message": message(number, members)})
}

/// The next request's method, and its JSON.
fn asked(server: &Server) -> (String, Value) {
    let (head, body) = server.request_with_body();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let method = path.rsplit('/').next().unwrap_or_default().to_owned();
    (method, serde_json::from_slice(&body).unwrap())
}

/// Receives from a server while the story is told.
fn receiving(scene: &mut Scene, server: &Server, story: impl FnOnce(&mut Scene)) {
    let mut config = Bot::of("telegram");
    config.api_base = format!("http://{}", server.address);
    let cancel = Cancel::new();
    let (intake, heartbeat) = (scene.intake.clone(), scene.heartbeat.clone());
    let stops = cancel.clone();
    let receiver = thread::spawn(move || {
        run(ReceiverParts {
            tls: &Tls::new(None).unwrap(),
            config: &config,
            clock: &Clock::System,
            intake: Arc::new(intake),
            heartbeat,
            cancel: stops,
            state: None,
        });
    });
    story(scene);
    cancel.cancel();
    receiver.join().unwrap();
    scene.intake.stop();
}

/// Somebody presses the button that allows a command.
fn press(number: i64, from: i64) -> Value {
    json!({"update_id": number, "callback_query": {
        "id": format!("c{number}"),
        "from": {"id": from, "is_bot": false, "first_name": "Ana"},
        "message": {"message_id": 7, "chat": {"id": 1, "type": "private"}},
        "data": "q:7:once",
    }})
}

#[test]
fn a_batch_keeps_its_order_and_an_album_stands_where_it_began() {
    let edited = message(11, json!({"text": "two pictures?"}));
    let updates = json!([
        album(10, ""),
        text(11, "two"),
        album(12, "look"),
        {"update_id": 13, "edited_message": edited},
        press(14, 1),
        press(15, 2),
    ]);
    let none = json!([]);
    let server = Server::plain([
        done(&updates),
        me(),
        done(&json!(true)),
        done(&json!(true)),
        done(&none).after(Duration::from_secs(60)),
    ]);
    let mut scene = Scene::named("telegram");
    receiving(&mut scene, &server, |scene| {
        let album = scene.arrived();
        assert_eq!(
            (album.id.as_str(), album.text.as_str()),
            ("telegram:12", "look")
        );
        assert_eq!(
            album.reference, "112",
            "the part with the text can be edited"
        );
        let files: Vec<&str> = album
            .remote_files
            .iter()
            .map(|file| file.id.as_str())
            .collect();
        assert_eq!(files, ["f10", "f12"]);
        assert_eq!(scene.arrived().text, "two");
        let mut rest = vec![scene.event(), scene.event(), scene.event()];
        rest.retain(|event| !matches!(event, Event::Fetched(_)));
        assert!(matches!(&rest[0], Event::Edited { text, .. } if text == "two pictures?"));
        assert!(matches!(
            rest[1],
            Event::Answered {
                question: 7,
                answer: Answer::Once,
                ..
            }
        ));
        assert_eq!(
            asked(&server),
            (
                "getupdates".to_owned(),
                json!({
                    "limit": 100, "timeout": 50,
                    "allowed_updates": [
                        "message", "edited_message", "callback_query", "stopped_message_generation"
                    ],
                })
            )
        );
        assert_eq!(asked(&server).0, "getme");
        let (method, answer) = asked(&server);
        assert_eq!(
            (method.as_str(), &answer),
            ("answercallbackquery", &json!({"callback_query_id": "c14"}))
        );
        assert_eq!(
            asked(&server).1["text"],
            "You don't have access to this bot."
        );
        assert_eq!(asked(&server).1["offset"], 16);
    });
    // After a restart it goes on behind the album's last part.
    assert_eq!(scene.intake.last_update().unwrap().0, 12);
}

#[test]
fn presses_of_people_without_access_hold_up_nothing() {
    let mut updates: Vec<Value> = (10..40).map(|number| press(number, 2)).collect();
    updates.push(press(40, 1));
    let server = Server::plain([
        done(&json!(updates)),
        me(),
        done(&json!(true)),
        done(&json!(true)),
        done(&json!([])).after(Duration::from_secs(60)),
    ]);
    let mut scene = Scene::named("telegram");
    receiving(&mut scene, &server, |_| {
        assert_eq!(asked(&server).0, "getupdates");
        assert_eq!(asked(&server).0, "getme");
        let confirmed = json!({"callback_query_id": "c40"});
        assert_eq!(asked(&server).1, confirmed, "the owner comes first");
        assert_eq!(asked(&server).1["callback_query_id"], "c10");
        assert_eq!(asked(&server).1["offset"], 41);
    });
}

#[test]
fn what_the_inbox_does_not_take_is_not_confirmed() {
    let mut scene = Scene::named("telegram");
    let waiting = Envelope::typed(&SessionKey::parse("a"), "x");
    let accepted = scene.inbox.accept(vec![waiting; MESSAGES]).unwrap();
    let updates = json!([text(10, "hello")]);
    let again = (0..10).map(|_| done(&updates));
    let first = [done(&updates), me()];
    let server = Server::plain(first.into_iter().chain(again));
    receiving(&mut scene, &server, |scene| {
        assert_eq!(asked(&server).0, "getupdates");
        assert_eq!(asked(&server).0, "getme");
        assert_eq!(asked(&server).1["offset"], Value::Null);
        scene.inbox.taken(&accepted[0].id);
        assert_eq!(scene.arrived().text, "hello");
        while asked(&server).1["offset"] != 11 {}
    });
    assert_eq!(scene.reached.load(Ordering::SeqCst), 0);
}

#[test]
fn after_a_failure_it_is_told_once_that_telegram_is_reached() {
    let mut scene = Scene::named("telegram");
    let server = Server::plain([
        server::close(""),
        server::answer("502 Bad Gateway", "", b""),
        done(&json!([])),
        done(&json!([])).after(Duration::from_secs(60)),
    ]);
    receiving(&mut scene, &server, |scene| {
        let timeouts: Vec<Value> = (0..4)
            .map(|_| asked(&server).1["timeout"].clone())
            .collect();
        // What only looks whether Telegram is there does not wait for updates.
        assert_eq!(timeouts, [json!(50), json!(0), json!(50), json!(50)]);
        assert_eq!(scene.reached.load(Ordering::SeqCst), 1);
    });
}
