//! Chats: what people write is told to the bot, and what the bot writes stands there.

use std::thread;

use serde_json::{Value, json};

use super::Bot;
use crate::harness::telegram::{BOT_NAME, Fault, Media, Said, Telegram, Upload};

/// The only update of a kind that waits for the bot.
#[track_caller]
fn the_update(bot: &Bot, kind: &str) -> Value {
    let updates = bot.polls(0, 0);
    let newest = updates.last().unwrap();
    bot.polls(newest["update_id"].as_i64().unwrap() + 1, 0);
    newest[kind].clone()
}

#[test]
fn a_message_tells_who_said_what_and_where() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", Some("ana"));
    let group = telegram.group(-1_002, "Home");
    owner.says("/start now");
    let message = the_update(&bot, "message");
    let ana = json!({"id": 1001, "is_bot": false, "first_name": "Ana", "username": "ana"});
    assert_eq!(message["from"], ana);
    assert_eq!(
        (&message["chat"]["type"], &message["chat"]["id"]),
        (&json!("private"), &json!(1001))
    );
    assert_eq!(
        message["entities"],
        json!([{"type": "bot_command", "offset": 0, "length": 6}])
    );
    owner.says_in(group, &format!("🦀 @{BOT_NAME} hi"));
    let message = the_update(&bot, "message");
    assert_eq!(
        message["chat"],
        json!({"id": -1_002, "title": "Home", "type": "supergroup"})
    );
    assert_eq!(
        message["entities"],
        json!([{"type": "mention", "offset": 3, "length": 12}])
    );
    let asked = bot.sends(-1_002, "which one?");
    owner.replies(group, asked, "the blue one");
    let replied = &the_update(&bot, "message")["reply_to_message"];
    assert_eq!(
        (&replied["text"], &replied["from"]["is_bot"]),
        (&json!("which one?"), &json!(true))
    );
}

#[test]
fn a_topic_is_a_thread_whose_messages_answer_its_opening() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", None);
    let garden = telegram.topic(telegram.group(-1_002, "Home"), "Garden");
    owner.sends_in(
        garden,
        Upload::new(Media::Photo, "", "dry").caption("water?"),
    );
    let message = the_update(&bot, "message");
    let thread = garden.thread.unwrap();
    assert_eq!(
        (&message["message_thread_id"], &message["is_topic_message"]),
        (&json!(thread), &json!(true))
    );
    assert_eq!(message["chat"]["is_forum"], true);
    assert_eq!(
        message["reply_to_message"]["forum_topic_created"]["name"],
        "Garden"
    );
    bot.call(
        "sendMessage",
        json!({"chat_id": -1_002, "message_thread_id": thread, "text": "yes"}),
    );
    let texts: Vec<String> = telegram
        .messages(garden)
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(texts, ["yes"]);
}

#[test]
fn an_edit_and_a_location_are_told() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", None);
    let said = owner.says("helo");
    owner.edits(&said, "hello");
    let edited = the_update(&bot, "edited_message");
    assert_eq!(
        (&edited["text"], &edited["message_id"]),
        (&json!("hello"), &json!(said.message))
    );
    assert!(edited["edit_date"].is_u64());
    owner.shares_location(52.5, 13.4);
    let location = &the_update(&bot, "message")["location"];
    assert_eq!(location, &json!({"latitude": 52.5, "longitude": 13.4}));
}

#[test]
fn a_file_is_named_in_the_message_and_fetched_by_its_path() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", None);
    let fetch = |file: &Value| {
        let file = bot.call("getFile", json!({"file_id": file["file_id"]}));
        let path = file["file_path"].as_str().unwrap();
        bot.get(&format!("/file/bot{}/{path}", bot.token))
    };
    owner.sends(Upload::new(Media::Document, "a.txt", "one").caption("read it"));
    let message = the_update(&bot, "message");
    assert_eq!(
        (&message["caption"], &message["document"]["file_name"]),
        (&json!("read it"), &json!("a.txt"))
    );
    assert_eq!(fetch(&message["document"]), (200, json!("one")));
    telegram.fail_next("file", Fault::ServerError);
    assert_eq!(fetch(&message["document"]).0, 502);
    let path = format!("/file/bot{}/documents/nothing", bot.token);
    telegram.forgives("Not Found");
    assert_eq!(bot.get(&path).0, 404);
    owner.sends(Upload::new(Media::Photo, "", "two"));
    let sizes = the_update(&bot, "message")["photo"].clone();
    assert_eq!(
        fetch(sizes.as_array().unwrap().last().unwrap()),
        (200, json!("two"))
    );
    for media in [Media::Voice, Media::Audio, Media::Video] {
        owner.sends(Upload::new(media, "x", "three"));
    }
    let kinds = ["voice", "audio", "video"];
    let updates = bot.polls(0, 0);
    for (update, kind) in updates[updates.len() - 3..].iter().zip(kinds) {
        assert_eq!(
            fetch(&update["message"][kind]),
            (200, json!("three")),
            "{kind}"
        );
    }
}

#[test]
fn an_album_is_one_message_a_file_with_one_number() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", None);
    let photo = |bytes: &str| Upload::new(Media::Photo, "", bytes);
    let said: Vec<Said> = owner.sends_album([photo("a").caption("both"), photo("b")]);
    let updates = bot.polls(0, 0);
    assert_eq!((said.len(), updates.len()), (2, 2));
    let album = |at: usize| updates[at]["message"]["media_group_id"].as_str().unwrap();
    assert_eq!(album(0), album(1));
}

#[test]
fn a_button_is_pressed_as_soon_as_it_is_there() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", None);
    let pressing = thread::spawn({
        let owner = owner.clone();
        move || owner.presses("Allow")
    });
    let buttons = json!({"inline_keyboard": [
        [{"text": "Allow", "callback_data": "a:1"}, {"text": "Deny", "callback_data": "d:1"}]]});
    bot.call(
        "sendMessage",
        json!({"chat_id": 1001, "text": "May I?", "reply_markup": buttons}),
    );
    let pressed = pressing.join().unwrap();
    let query = the_update(&bot, "callback_query");
    assert_eq!(
        (&query["data"], &query["message"]["text"]),
        (&json!("a:1"), &json!("May I?"))
    );
    assert_eq!(query["from"]["id"], 1001);
    bot.call(
        "answerCallbackQuery",
        json!({"callback_query_id": query["id"]}),
    );
    let once_more = bot.refused(
        "answerCallbackQuery",
        json!({"callback_query_id": query["id"]}),
    );
    assert!(once_more.1.contains("query is too old"));
    assert!(owner.presses_in(owner.chat(), "Deny") > pressed);
}

#[test]
fn what_the_bot_writes_stands_in_the_chat_as_a_person_sees_it() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", None);
    let said = owner.says("hi");
    let sent = bot.call(
        "sendMessage",
        json!({
            "chat_id": 1001, "text": "<b>1 &lt; 2</b>", "parse_mode": "HTML",
            "reply_parameters": {"message_id": said.message},
        }),
    );
    let id = sent["message_id"].as_i64().unwrap();
    let message = telegram.wait_for_message(owner.chat(), |message| message.text == "1 < 2");
    assert_eq!((message.id, message.reply_to), (id, Some(said.message)));
    assert_eq!(message.html, "<b>1 &lt; 2</b>");
    let buttons = json!({"inline_keyboard": [[{"text": "Go", "url": "https://example.org"}]]});
    bot.call(
        "editMessageText",
        json!({"chat_id": "1001", "message_id": id, "text": "3"}),
    );
    bot.call(
        "editMessageReplyMarkup",
        json!({"chat_id": 1001, "message_id": id, "reply_markup": buttons}),
    );
    let message = telegram.message(owner.chat(), id);
    let texts: Vec<(usize, &str)> = message
        .versions
        .iter()
        .map(|version| (version.call, version.text.as_str()))
        .collect();
    assert_eq!(texts, [(1, "1 < 2"), (2, "3")]);
    assert_eq!((message.markup, message.parse_mode), (Some(buttons), None));
    let eyes = json!([{"type": "emoji", "emoji": "👀"}]);
    bot.call(
        "setMessageReaction",
        json!({"chat_id": 1001, "message_id": said.message, "reaction": eyes}),
    );
    assert_eq!(
        telegram.message(owner.chat(), said.message).reactions,
        ["👀"]
    );
    bot.call("deleteMessage", json!({"chat_id": 1001, "message_id": id}));
    assert!(telegram.messages(owner.chat()).is_empty());
}

#[test]
fn the_bots_files_are_kept_as_they_are() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let owner = telegram.person(1001, "Ana", None);
    let fields = [
        ("chat_id", "1001"),
        ("caption", "<i>log</i>"),
        ("parse_mode", "HTML"),
    ];
    let mut large = vec![b'\r'; 20 << 20];
    large.extend_from_slice(b"\r\n--bord\r\nend");
    bot.sends_form("sendDocument", &fields, ("document", "a;b.csv", &large))
        .unwrap();
    let message = telegram.wait_for_message(owner.chat(), |message| message.text == "log");
    let file = message.file.unwrap();
    assert_eq!(
        (file.name.as_str(), file.mime.as_str(), file.media),
        ("a;b.csv", "text/csv", Media::Document)
    );
    assert!(*file.bytes == *large);
    let png = b"\x89PNG\r\n\x1a\n...";
    bot.sends_form("sendPhoto", &[("chat_id", "1001")], ("photo", "p.png", png))
        .unwrap();
    let sent = &telegram.wait_for_calls("sendPhoto", 1)[0];
    assert_eq!(sent["photo"], json!({"name": "p.png", "size": png.len()}));
}

#[test]
fn the_times_of_a_chat_are_its_own() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let (ana, ben) = (
        telegram.person(1001, "Ana", None),
        telegram.person(1002, "Ben", None),
    );
    let id = bot.sends(1001, "one");
    bot.sends(1001, "two");
    bot.sends(1002, "other");
    bot.call(
        "editMessageText",
        json!({"chat_id": 1001, "message_id": id, "text": "1"}),
    );
    bot.call(
        "sendChatAction",
        json!({"chat_id": 1001, "action": "typing"}),
    );
    let times = telegram.times(ana.chat());
    assert!(times.len() == 2 && times[0] < times[1], "{times:?}");
    assert_eq!(
        (
            telegram.times(ben.chat()).len(),
            telegram.edit_times(ana.chat()).len()
        ),
        (1, 1)
    );
}

#[test]
fn a_call_may_come_in_any_form_that_the_api_takes() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    telegram.person(1001, "Ana", None);
    let token = bot.token.replace(':', "%3A");
    bot.get(&format!("/bot{token}/sendMessage?chat_id=1001&text=a%20b"));
    let path = format!("/bot{}/sendMessage", bot.token);
    let form = (
        "application/x-www-form-urlencoded",
        &b"chat_id=1001&text=c+%F0%9F%A6%80"[..],
    );
    bot.exchange("POST", &path, form).unwrap();
    let texts: Vec<Value> = telegram
        .calls("sendMessage")
        .into_iter()
        .map(|call| call["text"].clone())
        .collect();
    assert_eq!(texts, ["a b", "c 🦀"]);
    let commands = json!({"commands": [{"command": "stop", "description": "Stops it"}]});
    assert_eq!(bot.call("setMyCommands", commands), true);
    assert_eq!(bot.call("deleteWebhook", json!({})), true);
}
