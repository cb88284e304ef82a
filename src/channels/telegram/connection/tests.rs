use std::io::Write;

use serde_json::{Value, json};

use super::*;
use crate::base::bus::Heartbeats;
use crate::net::http::server::{Answer, Server, answer};

fn telegram(server: &Server) -> Telegram {
    let mut config = schema::Bot::of("telegram");
    config.api_base = format!("http://{}", server.address);
    Telegram::new(config, Tls::new(None).unwrap(), Clock::System)
}

fn connect(server: &Server) -> Box<dyn Connection> {
    let heartbeat = Heartbeats::default().register("test");
    let telegram = telegram(server);
    telegram.connect(&Cancel::new(), &heartbeat).unwrap()
}

fn replies(status: &str, body: &Value) -> Answer {
    answer(status, "", body.to_string().as_bytes())
}

fn sent(message: i64) -> Answer {
    replies(
        "200 OK",
        &json!({"ok": true, "result": {"message_id": message}}),
    )
}

fn refused(description: &str, more: Value) -> Answer {
    let body = json!({
        "ok": false,
        "error_code": 400,
        "description": description,
        "parameters": more,
    });
    replies("400 Bad Request", &body)
}

#[test]
fn a_post_goes_to_its_topic_with_markup_buttons_and_what_it_quotes() {
    let server = Server::plain([sent(45), sent(45)]);
    let mut connection = connect(&server);
    let to = Address::parse("telegram:-100:7");
    let buttons = [vec![adapter::Button {
        label: "Yes".to_owned(),
        data: "w:Yes".to_owned(),
    }]];
    let post = Post {
        text: "<b>hi</b>",
        is_marked: true,
        buttons: &buttons,
        reply_to: Some("3"),
        key: Some(9),
        silent: true,
        only_for: None,
    };
    assert_eq!(connection.send(&to, &post).unwrap(), "45");
    let (_, body) = server.request_with_body();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let expected = json!({
        "chat_id": -100,
        "message_thread_id": 7,
        "text": "<b>hi</b>",
        "link_preview_options": {"is_disabled": true},
        "parse_mode": "HTML",
        "disable_notification": true,
        "reply_parameters": {"message_id": 3, "allow_sending_without_reply": true},
        "reply_markup": {"inline_keyboard": [[{"text": "Yes", "callback_data": "w:Yes"}]]},
    });
    assert_eq!(body, expected);
    let plain = Post {
        text: "hi",
        ..Post::default()
    };
    connection.edit(&to, "45", &plain).unwrap();
    let (head, body) = server.request_with_body();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(head.contains("/editmessagetext"), "{head}");
    assert_eq!(
        body,
        json!({"chat_id": -100, "message_id": 45, "text": "hi", "link_preview_options": {"is_disabled": true}})
    );
}

#[test]
fn a_picture_that_telegram_refuses_goes_whole_as_a_file() {
    let server = Server::plain([
        refused("Bad Request: PHOTO_INVALID_DIMENSIONS", json!({})),
        sent(46),
    ]);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"not a picture").unwrap();
    file.rewind().unwrap();
    let upload = adapter::Upload {
        file: &file,
        name: "a.PNG",
        key: None,
        silent: false,
        only_for: None,
        voice: None,
        is_sticker: false,
    };
    let to = Address::parse("telegram:5");
    connect(&server).upload(&to, &upload).unwrap();
    for method in ["/sendphoto", "/senddocument"] {
        let (head, body) = server.request_with_body();
        let body = String::from_utf8(body).unwrap();
        assert!(
            head.contains(method) && body.contains("not a picture"),
            "{head} {body}"
        );
    }
}

#[test]
fn each_failure_says_what_can_be_done_about_it() {
    let moved = json!({"migrate_to_chat_id": -1001});
    let server = Server::plain([
        refused(
            "Bad Request: group chat was upgraded to a supergroup chat",
            moved,
        ),
        refused("Bad Request: message to delete not found", json!({})),
        replies("502 Bad Gateway", &json!("a proxy's page")),
        replies(
            "401 Unauthorized",
            &json!({"ok": false, "description": "Unauthorized"}),
        ),
    ]);
    let mut connection = connect(&server);
    let to = Address::parse("telegram:-7");
    let post = Post {
        text: "hi",
        ..Post::default()
    };
    let error = connection.send(&to, &post).unwrap_err();
    assert!(
        matches!(&error, Failure::Gone { moved_to: Some(to), .. }
            if to.to_string() == "telegram:-1001"),
        "{error:?}"
    );
    let error = connection.delete(&to, "5").unwrap_err();
    assert!(matches!(error, Failure::MessageGone), "{error:?}");
    let error = connection.typing(&to).unwrap_err();
    assert!(matches!(error, Failure::Trouble(_)), "{error:?}");
    let error = connection.send(&to, &post).unwrap_err();
    assert!(matches!(error, Failure::Down(_)), "{error:?}");
    let strange = Address::parse("telegram:x");
    let error = connection.send(&strange, &post).unwrap_err();
    assert!(matches!(error, Failure::Refused(_)), "{error:?}");
}

/// The watchdog is fed while its bytes move, and only then: a call that falls silent is noticed.
#[test]
fn a_transfer_keeps_the_heartbeat_and_other_calls_do_not() {
    let found = json!({"ok": true, "result": {"file_id": "a", "file_path": "documents/a"}});
    let server = Server::plain([
        sent(7),
        replies("200 OK", &found),
        answer("200 OK", "", b"some bytes"),
        replies("200 OK", &json!({"ok": true, "result": true})),
    ]);
    let heartbeats = Heartbeats::default();
    let heartbeat = heartbeats.register("delivery");
    let telegram = telegram(&server);
    let mut connection = telegram.connect(&Cancel::new(), &heartbeat).unwrap();
    let break_promise = || {
        heartbeat.beat(Duration::ZERO);
        Cancel::new().wait(Duration::from_millis(2));
        assert_eq!(heartbeats.late(), Some("delivery"));
    };
    let to = Address::parse("telegram:5");
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"some bytes").unwrap();
    file.rewind().unwrap();
    let upload = adapter::Upload {
        file: &file,
        name: "a.txt",
        key: None,
        silent: false,
        only_for: None,
        voice: None,
        is_sticker: false,
    };

    break_promise();
    connection.upload(&to, &upload).unwrap();
    assert_eq!(heartbeats.late(), None);
    break_promise();
    connection.fetch("a", &mut file, 100).unwrap();
    assert_eq!(heartbeats.late(), None);
    break_promise();
    connection.typing(&to).unwrap();
    assert_eq!(heartbeats.late(), Some("delivery"));
}

#[test]
fn groups_are_known_by_their_ids_and_other_channels_are_none() {
    let server = Server::plain([]);
    let telegram = telegram(&server);
    for (address, expected) in [
        ("telegram:5", Some(false)),
        ("telegram:-5:7", Some(true)),
        ("telegram:x", None),
        ("discord:5", None),
    ] {
        assert_eq!(
            telegram.is_group(&Address::parse(address)),
            expected,
            "{address}"
        );
    }
}

#[test]
fn an_album_ends_where_kinds_do_not_mix_or_it_grows_too_large() {
    let mib = 1024 * 1024;
    let kinds = |files: &[(&str, u64)]| {
        let handles = files.iter().map(|(_, bytes)| {
            let file = tempfile::tempfile().unwrap();
            file.set_len(*bytes).unwrap();
            file
        });
        let handles: Vec<File> = handles.collect();
        let uploads = files
            .iter()
            .zip(&handles)
            .map(|((name, _), file)| adapter::Upload {
                file,
                name,
                key: None,
                silent: false,
                only_for: None,
                voice: None,
                is_sticker: false,
            });
        let uploads: Vec<adapter::Upload<'_>> = uploads.collect();
        album(&uploads, MessageBody::default()).map(|album| album.kinds)
    };
    let (photo, video, document) = ("photo", "video", "document");
    let mixed = [("a.png", 1), ("b.MP4", 1), ("c.txt", 1)];
    assert_eq!(kinds(&mixed), Some(vec![photo, video]));
    assert_eq!(kinds(&mixed[1..]), None);
    let large = [("a.png", 11 * mib), ("b.txt", 1)];
    assert_eq!(kinds(&large), Some(vec![document; 2]));
    let heavy = [("a.mp4", 30 * mib), ("b.mp4", 19 * mib), ("c.mp4", 2 * mib)];
    assert_eq!(kinds(&heavy), Some(vec![video; 2]));
    assert_eq!(kinds(&[("a.txt", 1); 12]), Some(vec![document; 10]));
}
