//! What the real server refuses is refused in its words, and fails the test.

use serde_json::{Value, json};

use super::{Bot, fails};
use crate::harness::telegram::{Media, Telegram, Upload};

/// Sends what must be refused to a server with one person, whose chat has one message of the bot's.
#[track_caller]
fn is_refused(method: &str, parameters: Value, code: u16, words: &str) {
    let telegram = Telegram::start();
    telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    bot.sends(1001, "first");
    let refusal = bot.refused(method, parameters.clone());
    assert!(
        refusal.0 == code && refusal.1.contains(words),
        "{refusal:?}"
    );
    assert!(
        fails(telegram),
        "{method} {parameters} did not fail the test"
    );
}

fn html(text: &str) -> Value {
    json!({"chat_id": 1001, "text": text, "parse_mode": "HTML"})
}

fn buttons(rows: Value) -> Value {
    json!({"chat_id": 1001, "text": "x", "reply_markup": {"inline_keyboard": rows}})
}

#[test]
fn texts_have_their_bounds() {
    for (parameters, words) in [
        (
            json!({"chat_id": 1001, "text": ""}),
            "message text is empty",
        ),
        (
            json!({"chat_id": 1001, "text": " \n "}),
            "message text is empty",
        ),
        (html("<b></b>"), "message text is empty"),
        (
            json!({"chat_id": 1001, "text": "🦀".repeat(2049)}),
            "message is too long",
        ),
        (
            html("<p>x</p>"),
            "can't parse entities: Unsupported start tag \"p\" at byte offset 0",
        ),
        (html("<b>x"), "can't parse entities: Can't find end tag"),
        (
            json!({"chat_id": 1001, "text": "x", "parse_mode": "Html5"}),
            "unsupported parse_mode",
        ),
        (
            json!({"chat_id": 9, "text": "x"}),
            "Bad Request: chat not found",
        ),
        (
            json!({"chat_id": 1001, "text": "x", "message_thread_id": 3}),
            "thread not found",
        ),
        (
            json!({"chat_id": 1001, "text": "x", "reply_parameters": {"message_id": 9}}),
            "replied not found",
        ),
        (
            json!({"chat_id": 1001, "text": "x", "parsemode": "HTML"}),
            "no parameter parsemode",
        ),
    ] {
        is_refused("sendMessage", parameters, 400, words);
    }
    let telegram = Telegram::start();
    telegram.person(1001, "Ana", None);
    Bot::of(&telegram).call(
        "sendMessage",
        html(&format!("<b>{}</b>", "&amp;".repeat(4096))),
    );
}

#[test]
fn buttons_have_their_bounds() {
    let button = |data: &str| json!({"text": "x", "callback_data": data});
    for (rows, words) in [
        (json!([[button(&"ä".repeat(33))]]), "BUTTON_DATA_INVALID"),
        (json!([[button("")]]), "BUTTON_DATA_INVALID"),
        (json!([[{"text": "x"}]]), "text buttons are unallowed"),
        (json!([[{"callback_data": "x"}]]), "must be non-empty"),
        (json!([button("x")]), "Array of Arrays"),
        (json!([vec![button("x"); 9]]), "reply markup is too long"),
        (json!(vec![[button("x")]; 101]), "reply markup is too long"),
    ] {
        is_refused("sendMessage", buttons(rows), 400, words);
    }
    is_refused(
        "sendMessage",
        json!({"chat_id": 1001, "text": "x", "reply_markup": []}),
        400,
        "object expected",
    );
}

#[test]
fn the_other_methods_have_theirs() {
    for (method, parameters, words) in [
        (
            "editMessageText",
            json!({"chat_id": 1001, "message_id": 9, "text": "x"}),
            "message to edit not found",
        ),
        (
            "deleteMessage",
            json!({"chat_id": 1001, "message_id": 9}),
            "message to delete not found",
        ),
        (
            "setMessageReaction",
            json!({"chat_id": 1001, "message_id": 9}),
            "message to react not found",
        ),
        (
            "setMessageReaction",
            json!({"chat_id": 1001, "message_id": 1, "reaction": [{"type": "emoji", "emoji": "🦀"}]}),
            "REACTION_INVALID",
        ),
        (
            "setMessageReaction",
            json!({"chat_id": 1001, "message_id": 1, "reaction": [1, 2]}),
            "REACTIONS_TOO_MANY",
        ),
        (
            "sendChatAction",
            json!({"chat_id": 1001, "action": "thinking"}),
            "wrong parameter action",
        ),
        (
            "answerCallbackQuery",
            json!({"callback_query_id": "9"}),
            "query ID is invalid",
        ),
        (
            "answerCallbackQuery",
            json!({"callback_query_id": "9", "text": "x".repeat(201)}),
            "MESSAGE_TOO_LONG",
        ),
        ("getFile", json!({"file_id": "9"}), "wrong file_id"),
        (
            "sendDocument",
            json!({"chat_id": 1001}),
            "there is no document in the request",
        ),
        ("setMyCommands", json!({}), "can't parse commands"),
        (
            "setMyCommands",
            json!({"commands": [{"command": "Stop", "description": "x"}]}),
            "BOT_COMMAND_INVALID",
        ),
        (
            "setMyCommands",
            json!({"commands": [{"command": "stop"}]}),
            "BOT_COMMAND_DESCRIPTION_INVALID",
        ),
        (
            "setMyCommands",
            json!({"commands": vec![0; 101]}),
            "BOT_COMMANDS_TOO_MUCH",
        ),
    ] {
        is_refused(method, parameters, 400, words);
    }
    is_refused("sendPoem", json!({}), 404, "Not Found");
}

#[test]
fn a_message_of_another_kind_or_another_person_is_not_edited() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let said = owner.says("mine").message;
    let fields = [("chat_id", "1001")];
    bot.sends_form("sendDocument", &fields, ("document", "a.txt", b"x"))
        .unwrap();
    telegram.forgives("message can't be edited");
    telegram.forgives("there is no text in the message");
    let edit = |id: i64| {
        bot.refused(
            "editMessageText",
            json!({"chat_id": 1001, "message_id": id, "text": "x"}),
        )
        .1
    };
    assert!(edit(said).contains("can't be edited"));
    assert!(edit(said + 1).contains("there is no text"));
}

#[test]
fn files_have_their_bounds() {
    for (method, name, size, code, words) in [
        ("sendDocument", "document", 0, 400, "must be non-empty"),
        ("sendDocument", "document", (50 << 20) + 1, 413, "Too Large"),
        (
            "sendPhoto",
            "photo",
            (10 << 20) + 1,
            400,
            "too big for a photo",
        ),
        ("sendPhoto", "photo", 10, 400, "IMAGE_PROCESS_FAILED"),
    ] {
        let telegram = Telegram::start();
        telegram.person(1001, "Ana", None);
        let bytes = vec![b'x'; size];
        let sent =
            Bot::of(&telegram).sends_form(method, &[("chat_id", "1001")], (name, "f", &bytes));
        let (status, body) = sent.unwrap();
        let description = body["description"].as_str().unwrap();
        assert!(
            status == code && description.contains(words),
            "{status} {body}"
        );
        assert!(fails(telegram));
    }
}

#[test]
fn a_wrong_token_and_a_wrong_path_fail_the_test() {
    let telegram = Telegram::start();
    let mut stranger = Bot::of(&telegram);
    stranger.token.push('x');
    let (status, body) = stranger.ask("getMe", &json!({})).unwrap();
    let unauthorized = json!({"ok": false, "error_code": 401, "description": "Unauthorized"});
    assert_eq!((status, body), (401, unauthorized));
    assert!(fails(telegram));
    for token in ["", "/x/"] {
        let telegram = Telegram::start();
        let mut lost = Bot::of(&telegram);
        lost.token = token.to_owned();
        assert!(lost.ask("getMe", &json!({})).unwrap().0 > 400);
        assert!(fails(telegram));
    }
}

#[test]
fn a_body_that_nobody_understands_fails_the_test() {
    for (kind, body) in [
        ("application/json", "{\"chat_id\": "),
        ("text/plain", "chat_id=1001"),
        (
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny",
        ),
        ("multipart/form-data; boundary=b", "--c\r\n"),
    ] {
        let telegram = Telegram::start();
        let bot = Bot::of(&telegram);
        let path = format!("/bot{}/sendMessage", bot.token);
        let answer = bot.exchange("POST", &path, (kind, body.as_bytes()));
        assert_eq!(answer.unwrap().0, 404, "{body}");
        assert!(fails(telegram), "{body}");
    }
}

#[test]
fn what_the_documentation_forbids_is_taken_and_fails_the_test() {
    let telegram = Telegram::start();
    telegram.person(1001, "Ana", None);
    Bot::of(&telegram).call("sendMessage", html("<b><code>R&D</code></b>"));
    assert!(fails(telegram));
}

#[test]
fn what_people_do_meanwhile_is_nobodys_fault() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let id = bot.sends(1001, "same");
    let edit = json!({"chat_id": 1001, "message_id": id, "text": "same"});
    assert!(
        bot.refused("editMessageText", edit.clone())
            .1
            .contains("message is not modified")
    );
    owner.deletes(owner.chat(), id);
    assert!(
        bot.refused("editMessageText", edit)
            .1
            .contains("message to edit not found")
    );
    owner.blocks();
    let refusal = bot.refused("sendMessage", json!({"chat_id": 1001, "text": "x"}));
    assert_eq!(
        refusal,
        (403, "Forbidden: bot was blocked by the user".to_owned())
    );
    owner.unblocks();
    owner.sends(Upload::new(
        Media::Document,
        "large",
        vec![0; (20 << 20) + 1],
    ));
    let file = bot.polls(0, 0)[0]["message"]["document"]["file_id"].clone();
    assert!(
        bot.refused("getFile", json!({"file_id": file}))
            .1
            .contains("file is too big")
    );
}
