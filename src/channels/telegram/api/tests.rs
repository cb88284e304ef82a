//! The methods against a small server that plays a script.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::net::http::server::{Answer, Server, answer, silence};
use crate::net::http::with_log;

const TOKEN: &str = "123456:AAcanary-canary_canary0123456789abc";
const HERE: ChatTarget = ChatTarget {
    chat: -100,
    thread: Some(7),
};

fn config(base: &str) -> Bot {
    let mut bot = Bot::of("telegram");
    bot.api_base = base.to_owned();
    bot.token = Secret::new(TOKEN);
    bot
}

fn api_at(base: &str) -> Api {
    let patience = Duration::from_secs(60);
    Api::new(
        &Tls::new(None).unwrap(),
        &config(base),
        patience,
        &Cancel::new(),
    )
    .unwrap()
}

fn api(server: &Server) -> Api {
    api_at(&format!("http://{}", server.address))
}

fn done(result: Value) -> Answer {
    let body = json!({"ok": true, "result": result}).to_string();
    answer(
        "200 OK",
        "content-type: application/json\r\n",
        body.as_bytes(),
    )
}

/// The next request's path, in lower case, and its JSON.
fn asked(server: &Server) -> (String, Value) {
    let (head, body) = server.request_with_body();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    (path, serde_json::from_slice(&body).unwrap())
}

fn path_of(method: &str) -> String {
    format!("/bot{TOKEN}/{method}").to_lowercase()
}

#[test]
fn updates_are_asked_for_from_an_offset_on_and_waited_for() {
    let server = Server::plain([
        done(json!([{"update_id": 5, "message": {"message_id": 1, "text": "hi"}}])),
        done(json!([])),
    ]);
    let api = api(&server);
    let updates = api
        .get_updates(Some(5), 20, Duration::from_secs(50), &mut |_, _| true)
        .unwrap();
    assert_eq!(updates[0].message.as_ref().unwrap().text, "hi");
    assert!(
        api.get_updates(None, 20, Duration::ZERO, &mut |_, _| true)
            .unwrap()
            .is_empty()
    );
    let kinds = [
        "message",
        "edited_message",
        "callback_query",
        "stopped_message_generation",
    ];
    let first = json!({"offset": 5, "limit": 20, "timeout": 50, "allowed_updates": kinds});
    assert_eq!(asked(&server), (path_of("getUpdates"), first));
    let second = json!({"limit": 20, "timeout": 0, "allowed_updates": kinds});
    assert_eq!(asked(&server), (path_of("getUpdates"), second));
    assert_eq!(server.connections(), 1);
}

#[test]
fn each_method_sends_what_telegram_wants_and_leaves_out_what_is_not_set() {
    let server = Server::plain((0..11).map(|_| done(json!({"message_id": 44}))));
    let api = api(&server);
    let buttons = [vec![Button {
        text: "Yes".to_owned(),
        data: "1:yes".to_owned(),
    }]];
    let rich = MessageBody {
        text: "<b>hi</b>",
        html: true,
        buttons: &buttons,
        silent: false,
        only_for: None,
    };
    let plain = MessageBody {
        text: "hi",
        ..MessageBody::default()
    };
    let here = ChatTarget {
        chat: 8,
        thread: None,
    };
    let keyboard = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "1:yes"}]]});
    let reply = json!({"message_id": 3, "allow_sending_without_reply": true});
    let off = json!({"is_disabled": true});
    let expect = |method: &str, body: Value| assert_eq!(asked(&server), (path_of(method), body));

    assert_eq!(api.send_message(HERE, &rich, Some(3)).unwrap().id, 44);
    expect(
        "sendMessage",
        json!({"chat_id": -100, "message_thread_id": 7, "text": "<b>hi</b>", "link_preview_options": off, "parse_mode": "HTML", "reply_markup": keyboard, "reply_parameters": reply}),
    );
    assert_eq!(api.send_message(here, &plain, None).unwrap().id, 44);
    expect(
        "sendMessage",
        json!({"chat_id": 8, "text": "hi", "link_preview_options": off}),
    );
    api.edit_message_text(HERE, 4.into(), &rich).unwrap();
    expect(
        "editMessageText",
        json!({"chat_id": -100, "message_id": 4, "text": "<b>hi</b>", "link_preview_options": off, "parse_mode": "HTML", "reply_markup": keyboard}),
    );
    api.edit_reply_markup(HERE, 4, &[]).unwrap();
    expect(
        "editMessageReplyMarkup",
        json!({"chat_id": -100, "message_id": 4, "reply_markup": {"inline_keyboard": []}}),
    );
    api.delete_message(HERE, 4.into()).unwrap();
    expect("deleteMessage", json!({"chat_id": -100, "message_id": 4}));
    api.send_chat_action(HERE, "typing").unwrap();
    expect(
        "sendChatAction",
        json!({"chat_id": -100, "message_thread_id": 7, "action": "typing"}),
    );
    api.set_message_reaction(HERE, 4, "👀").unwrap();
    expect(
        "setMessageReaction",
        json!({"chat_id": -100, "message_id": 4, "reaction": [{"type": "emoji", "emoji": "👀"}]}),
    );
    api.answer_callback_query("q1", "").unwrap();
    expect("answerCallbackQuery", json!({"callback_query_id": "q1"}));
    let menu = [MenuEntry::built_in("new", |language| match language {
        Language::Chinese => "重新开始",
        Language::Japanese => "最初から",
        _ => "Start over",
    })];
    for (language, code, description) in [
        (Language::English, "", "Start over"),
        (Language::Chinese, "zh", "重新开始"),
        (Language::Japanese, "ja", "最初から"),
    ] {
        api.set_my_commands(&menu, language).unwrap();
        expect(
            "setMyCommands",
            json!({
                "commands": [{"command": "new", "description": description}],
                "language_code": code,
            }),
        );
    }
}

#[test]
fn the_bot_is_asked_who_it_is_also_when_the_address_ends_with_a_slash() {
    let server = Server::plain([done(
        json!({"id": 123_456, "is_bot": true, "first_name": "P", "username": "PeaBot"}),
    )]);
    let me = api_at(&format!("http://{}/some/path//", server.address))
        .get_me()
        .unwrap();
    assert_eq!((me.id, me.username.as_str()), (123_456, "PeaBot"));
    assert_eq!(asked(&server).0, format!("/some/path{}", path_of("getMe")));
}

#[test]
fn a_file_goes_out_as_a_form_with_its_length() {
    let server = Server::plain([done(json!({"message_id": 45}))]);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[b'x'; 100_000]).unwrap();
    file.rewind().unwrap();
    let upload = Upload {
        file: &file,
        name: "../report \"final\".pdf",
        send_as: SendAs::Document,
        caption: MessageBody {
            text: "<i>here</i>",
            html: true,
            buttons: &[],
            silent: false,
            only_for: None,
        },
    };
    assert_eq!(api(&server).send_file(HERE, &upload, Some(3)).unwrap(), 45);
    let (head, body) = server.request_with_body();
    assert!(
        head.starts_with(&format!("post {} ", path_of("sendDocument"))),
        "{head}"
    );
    assert!(
        head.contains(&format!("content-length: {}\r\n", body.len())),
        "{head}"
    );
    let body = String::from_utf8(body).unwrap();
    for part in [
        "name=\"chat_id\"\r\n\r\n-100\r\n",
        "name=\"message_thread_id\"\r\n\r\n7\r\n",
        "name=\"caption\"\r\n\r\n<i>here</i>\r\n",
        "name=\"parse_mode\"\r\n\r\nHTML\r\n",
        "name=\"reply_parameters\"\r\n\r\n{\"allow_sending_without_reply\":true,\"message_id\":3}\r\n",
        "name=\"document\"; filename=\"report _final_.pdf\"\r\n\r\nxxx",
    ] {
        assert!(body.contains(part), "{part}");
    }
    assert!(body.contains(&format!("{}\r\n--peacrab-", "x".repeat(100_000))));
}

#[test]
fn a_file_that_telegram_would_not_take_is_not_sent() {
    let server = Server::plain([]);
    let file = tempfile::tempfile().unwrap();
    file.set_len(limits::channels::UPLOAD_BYTES + 1).unwrap();
    let upload = Upload {
        file: &file,
        name: "film.mp4",
        send_as: SendAs::Document,
        caption: MessageBody::default(),
    };
    let error = api(&server).send_file(HERE, &upload, None).unwrap_err();
    assert!(
        matches!(error, ApiError::Local(Error::TooLarge { .. })),
        "{error:?}"
    );
    assert_eq!(server.connections(), 0);
}

fn content(file: &mut File) -> String {
    let mut content = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut content).unwrap();
    content
}

#[test]
fn a_file_comes_in_up_to_its_limit() {
    let server = Server::plain([
        done(json!({"file_id": "f1", "file_size": 5, "file_path": "documents/file_1.txt"})),
        answer("200 OK", "", b"hello"),
        answer("200 OK", "", b"hello"),
        answer(
            "404 Not Found",
            "",
            br#"{"ok":false,"error_code":404,"description":"Not Found"}"#,
        ),
    ]);
    let api = api(&server);
    let found = api.get_file("f1").unwrap();
    assert_eq!(
        (found.file_size, found.file_path.as_str()),
        (Some(5), "documents/file_1.txt")
    );
    assert_eq!(
        asked(&server),
        (path_of("getFile"), json!({"file_id": "f1"}))
    );
    let mut to = tempfile::tempfile().unwrap();
    api.download(&found.file_path, &mut to, 5).unwrap();
    assert_eq!(content(&mut to), "hello");
    let path = format!("get /file{} ", path_of("documents/file_1.txt"));
    assert!(server.request().starts_with(&path));
    let large = api.download(&found.file_path, &mut to, 4).unwrap_err();
    assert!(
        matches!(large, ApiError::Local(Error::TooLarge { .. })),
        "{large:?}"
    );
    let old = api.download(&found.file_path, &mut to, 5).unwrap_err();
    assert!(matches!(old, ApiError::Refused(_)), "{old:?}");
}

#[test]
fn a_server_of_ones_own_hands_files_over_on_its_disk_and_telegrams_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = folder.path().join(TOKEN);
    std::fs::write(&on_disk, "local").unwrap();
    let path = on_disk.to_str().unwrap();
    let own = api_at("http://127.0.0.1:1");
    let mut to = tempfile::tempfile().unwrap();
    own.download(path, &mut to, 5).unwrap();
    assert_eq!(content(&mut to), "local");
    assert!(own.download(path, &mut to, 4).is_err());
    for missing in [format!("{path}.old"), folder.path().display().to_string()] {
        let error = own.download(&missing, &mut to, 5).unwrap_err();
        assert!(error.to_string().contains("--local"), "{error}");
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
    // With a raised token nothing is called, so that this is about the disk alone.
    let cancel = Cancel::new();
    cancel.cancel();
    let config = config("https://API.telegram.org");
    let official = Api::new(&Tls::new(None).unwrap(), &config, Duration::ZERO, &cancel).unwrap();
    let error = official.download(path, &mut to, 5).unwrap_err();
    assert!(matches!(error, ApiError::Stopped), "{error:?}");
}

#[test]
fn a_refusal_keeps_what_can_be_done_about_it_however_long_its_text() {
    let long = "x".repeat(3000);
    let refusals = [
        json!({"ok": false, "error_code": 429, "description": format!("Too Many Requests: {long}"), "parameters": {"retry_after": 9}}),
        json!({"ok": false, "error_code": 400, "description": format!("Bad Request: can't parse entities: {long}")}),
    ];
    let server = Server::plain(
        refusals.map(|body| answer("400 Bad Request", "", body.to_string().as_bytes())),
    );
    let api = api(&server);
    let send = || {
        api.send_message(HERE, &MessageBody::default(), None)
            .unwrap_err()
    };
    let (busy, marks) = (send(), send());
    let nine = Duration::from_secs(9);
    assert!(
        matches!(busy, ApiError::TooManyRequests { retry_after } if retry_after == nine),
        "{busy:?}"
    );
    assert!(matches!(marks, ApiError::CannotParse(_)), "{marks:?}");
}

#[test]
fn a_status_that_promises_a_result_is_not_believed_without_one() {
    let refused = r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#;
    let bodies = [
        refused,
        "<html>Log in</html>",
        "[]",
        r#"{"ok":true}"#,
        r#"{"ok":true,"result":7}"#,
    ];
    let server = Server::plain(bodies.map(|body| answer("200 OK", "", body.as_bytes())));
    let api = api(&server);
    let errors: Vec<ApiError> = bodies.iter().map(|_| api.get_me().unwrap_err()).collect();
    assert!(matches!(errors[0], ApiError::Token), "{errors:?}");
    assert!(matches!(errors[1], ApiError::Server(_)), "{errors:?}");
    assert!(matches!(errors[2], ApiError::Server(_)), "{errors:?}");
    assert!(matches!(errors[3], ApiError::Refused(_)), "{errors:?}");
    assert!(matches!(errors[4], ApiError::Server(_)), "{errors:?}");
}

#[test]
fn the_token_stands_in_no_error() {
    let page = format!("<p>No route to http://telegram/bot{TOKEN}/getMe</p>");
    let echo = json!({"ok": false, "error_code": 400, "description": format!("no {TOKEN}, {}", &TOKEN[7..])});
    let server = Server::plain([
        answer("502 Bad Gateway", "", page.as_bytes()),
        answer("400 Bad Request", "", echo.to_string().as_bytes()),
        answer(
            "302 Found",
            &format!("location: https://login/bot{TOKEN}\r\n"),
            b"",
        ),
        answer("404 Not Found", "", page.as_bytes()),
        answer("200 OK", "content-encoding: br\r\n", page.as_bytes()),
        answer("200 OK", "content-length: 1\r\n", page.as_bytes()),
    ]);
    let reached = api(&server);
    let mut errors: Vec<ApiError> = (0..6).map(|_| reached.get_me().unwrap_err()).collect();
    for base in ["http://127.0.0.1:1", "not an address", "ftp://x", ""] {
        let api = api_at(base);
        errors.push(api.get_me().unwrap_err());
        let mut to = tempfile::tempfile().unwrap();
        errors.push(api.download("a b", &mut to, 1).unwrap_err());
    }
    assert_eq!(errors.len(), 14);
    for error in errors {
        let shown = format!("{error} {error:?}").to_lowercase();
        assert!(!shown.contains("canary"), "{shown}");
    }
}

thread_local! {
    static LOGGED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A log that writes everything at every level.
struct Everything;

impl tracing::field::Visit for Everything {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        LOGGED.with_borrow_mut(|logged| logged.push_str(&format!("{field}={value:?} ")));
    }
}

impl tracing::Subscriber for Everything {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Self);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn the_token_and_peoples_words_stand_in_no_log_line() {
    let odd = json!([{"update_id": 7, "message": {"message_id": "canary"}}]);
    let server = Server::plain([done(odd), done(json!("canary"))]);
    let api = api(&server);
    with_log(Everything, || {
        let updates = api
            .get_updates(None, 9, Duration::ZERO, &mut |_, _| true)
            .unwrap();
        assert_eq!((updates.len(), updates[0].update_id), (1, 7));
        let error = api.get_me().unwrap_err();
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    });
    let logged = LOGGED.take();
    assert!(
        logged.contains("update_id=7") && logged.contains("host=127.0.0.1:"),
        "{logged}"
    );
    assert!(!logged.to_lowercase().contains("canary"), "{logged}");
}

#[test]
fn a_silent_server_is_a_timeout_and_a_raised_token_ends_the_wait() {
    let server = Server::plain([silence(), silence()]);
    let base = format!("http://{}", server.address);
    let tls = Tls::new(None).unwrap();
    let hasty = Api::new(
        &tls,
        &config(&base),
        Duration::from_millis(50),
        &Cancel::new(),
    )
    .unwrap();
    let error = hasty
        .get_updates(None, 1, Duration::from_secs(50), &mut |_, _| true)
        .unwrap_err();
    assert!(matches!(error, ApiError::Timeout(_)), "{error:?}");
    server.request();

    let cancel = Cancel::new();
    let patient = Api::new(&tls, &config(&base), Duration::from_secs(80), &cancel).unwrap();
    let raiser = cancel.clone();
    let raised = std::thread::spawn(move || {
        server.request();
        raiser.cancel();
    });
    let error = patient
        .get_updates(None, 1, Duration::from_secs(50), &mut |_, _| true)
        .unwrap_err();
    assert!(matches!(error, ApiError::Stopped), "{error:?}");
    raised.join().unwrap();
}
