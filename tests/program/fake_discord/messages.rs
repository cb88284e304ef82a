//! Messages, files, limits, and what goes wrong with them.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Bot, fails, messages};
use crate::harness::discord::{Discord, FOREVER, Fault, Place};
use crate::harness::gate::Gate;
use crate::harness::line::Rate;

fn scene() -> (Discord, Place, Bot) {
    let discord = Discord::start();
    let place = discord.person(1001, "Ana").chat();
    let bot = Bot::of(&discord);
    (discord, place, bot)
}

fn multipart(bot: &Bot, place: Place, bytes: &[u8]) -> (u16, Value) {
    let mut body = b"--border\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n\
        {\"content\":\"look\"}\r\n--border\r\n\
        Content-Disposition: form-data; name=\"files[0]\"; filename=\"a b.txt\"\r\n\r\n"
        .to_vec();
    body.extend_from_slice(bytes);
    body.extend_from_slice(b"\r\n--border--\r\n");
    let path = format!("/api/v10{}", messages(place));
    let kind = "multipart/form-data; boundary=border";
    let (status, _, answer) = bot.exchange("POST", &path, (kind, &body)).unwrap();
    (status, answer)
}

#[test]
fn what_the_bot_writes_stands_in_the_channel() {
    let (discord, place, bot) = scene();
    let path = messages(place);
    let buttons = json!([{"type": 1, "components": [
        {"type": 2, "style": 1, "label": "Yes", "custom_id": "yes"}]}]);
    let sent = bot.does(
        "POST",
        &path,
        json!({"content": " one ", "components": buttons}),
    );
    let one = format!("{path}/{}", sent["id"].as_str().unwrap());
    assert_eq!(sent["content"], "one");
    bot.does("PATCH", &one, json!({"content": "two"}));
    bot.does(
        "PUT",
        &format!("{one}/reactions/%F0%9F%91%80/@me"),
        Value::Null,
    );
    let ping =
        json!({"content": "<@1001> @everyone", "message_reference": {"message_id": sent["id"]}});
    bot.does("POST", &path, ping);
    let quiet = json!({"content": "<@1001>", "allowed_mentions": {"parse": []}});
    bot.does("POST", &path, quiet);
    let standing = discord.messages(place);
    assert_eq!(standing[0].versions, ["one", "two"]);
    assert_eq!(standing[0].reactions, ["👀"]);
    assert!(standing[0].components == buttons && standing[0].at <= standing[1].at);
    assert_eq!(standing[1].reply_to, Some(standing[0].id));
    assert_eq!(standing[1].pings, ["everyone", "1001"]);
    assert!(standing[2].pings.is_empty());
    bot.does("DELETE", &one, Value::Null);
    assert_eq!(discord.messages(place).len(), 2);
    let kept = bot.does("GET", &format!("{path}?limit=1"), Value::Null);
    assert_eq!(kept[0]["content"], "<@1001>");
}

#[test]
fn a_nonce_that_is_to_be_unique_sends_once() {
    let (discord, place, bot) = scene();
    let body = json!({"content": "x", "nonce": "a", "enforce_nonce": true});
    discord.fail_next("createMessage", Fault::LostReply);
    assert!(bot.ask("POST", &messages(place), &body).is_err());
    bot.does("POST", &messages(place), body);
    assert_eq!(discord.messages(place).len(), 1);
    bot.does(
        "POST",
        &messages(place),
        json!({"content": "x", "nonce": "a"}),
    );
    assert_eq!(discord.messages(place).len(), 2);
}

#[test]
fn files_come_back_under_other_names_and_the_cdn_wants_no_token() {
    let (discord, place, bot) = scene();
    let (status, sent) = multipart(&bot, place, b"crab");
    assert_eq!(
        (status, &sent["attachments"][0]["filename"]),
        (200, &json!("a_b.txt"))
    );
    let url = sent["attachments"][0]["url"].as_str().unwrap();
    let path = url.strip_prefix(&discord.url()).unwrap();
    let plain = bot.without("authorization");
    assert_eq!(plain.exchange("GET", path, ("", b"")).unwrap().2, "crab");
    discord.expire_links();
    assert_eq!(plain.exchange("GET", path, ("", b"")).unwrap().0, 404);
    assert_eq!(bot.exchange("GET", path, ("", b"")).unwrap().0, 403);
    assert!(fails(discord));
}

#[test]
fn what_is_refused_has_its_code() {
    let (discord, place, bot) = scene();
    discord.forgives("");
    let guild = discord.guild("Harbour");
    let general = discord.channel(guild, "general");
    let refused =
        |place, text: &str| bot.refused("POST", &messages(place), json!({"content": text}));
    assert_eq!(refused(place, " \n"), (400, 50006));
    assert_eq!(refused(place, &"é".repeat(2001)), (400, 50035));
    assert_eq!(bot.sends(place, &"é".repeat(2000)).unwrap().0, 200);
    assert_eq!(refused(Place(4), "x"), (404, 10003));
    discord.forbid(general);
    assert_eq!(refused(general, "x"), (403, 50013));
    let ana = discord.person(1002, "Ben");
    ana.blocks();
    assert_eq!(refused(ana.chat(), "x"), (403, 50007));
    ana.unblocks();
    assert_eq!(bot.sends(ana.chat(), "x").unwrap().0, 200);
    let said = ana.says("mine");
    let theirs = format!("{}/{}", messages(ana.chat()), said.message);
    assert_eq!(
        bot.refused("PATCH", &theirs, json!({"content": "x"})),
        (403, 50005)
    );
    ana.deletes(ana.chat(), said.message);
    assert_eq!(bot.refused("GET", &theirs, Value::Null), (404, 10008));
    assert_eq!(
        bot.refused("POST", "/users/@me/channels", json!({"recipient_id": "7"})),
        (400, 50033)
    );
    let wrong = bot.without("authorization");
    assert_eq!(wrong.refused("GET", "/users/@me", Value::Null), (401, 0));
}

#[test]
fn a_client_without_a_name_or_a_length_fails_the_test() {
    let (discord, place, bot) = scene();
    let nameless = bot.without("user-agent");
    assert_eq!(nameless.sends(place, "x").unwrap().0, 403);
    assert!(fails(discord));
    let (discord, _, bot) = scene();
    let mut connection =
        std::io::BufReader::new(std::net::TcpStream::connect(&bot.address).unwrap());
    let head = format!(
        "POST /api/v10/channels/1/typing HTTP/1.1\r\n{}\r\n",
        bot.head
    );
    std::io::Write::write_all(connection.get_mut(), head.as_bytes()).unwrap();
    assert_eq!(super::read_answer(&mut connection).unwrap().0, 411);
    assert!(fails(discord));
}

#[test]
fn too_many_requests_are_refused_and_impatience_fails_the_test() {
    let (discord, place, bot) = scene();
    discord.set_limit("createMessage", 2, Duration::from_millis(1_500));
    let first = bot.sends(place, "1").unwrap();
    assert!(
        first.1.contains("x-ratelimit-remaining: 1\r\n"),
        "{}",
        first.1
    );
    assert!(
        bot.sends(place, "2")
            .unwrap()
            .1
            .contains("x-ratelimit-remaining: 0\r\n")
    );
    let (status, head, body) = bot.sends(place, "3").unwrap();
    assert!(status == 429 && head.contains("x-ratelimit-bucket") && head.contains("via"));
    let wait = Duration::from_secs_f64(body["retry_after"].as_f64().unwrap());
    assert!(body["global"] == false && wait <= Duration::from_millis(1_500));
    thread::sleep(wait);
    assert_eq!(bot.sends(place, "3").unwrap().0, 200);
    discord.fail_next("createMessage", Fault::EdgeTooManyRequests);
    let (status, head, body) = bot.sends(place, "4").unwrap();
    assert!(status == 429 && !head.contains("x-ratelimit") && body.is_string());
    assert_eq!((discord.rate_limited(), discord.complaints().len()), (1, 0));
    let slow = Fault::TooManyRequests {
        retry_after: 9.5,
        is_global: false,
    };
    discord.fail_next("createMessage", slow);
    assert_eq!(bot.sends(place, "4").unwrap().2["retry_after"], 9.5);
    thread::sleep(Duration::from_millis(1_500));
    assert_eq!(bot.sends(place, "4").unwrap().0, 200);
    assert!(fails(discord));
}

#[test]
fn one_channel_can_be_in_trouble_while_others_are_not() {
    let (discord, place, bot) = scene();
    let other = discord.person(1002, "Ben").chat();
    for (fault, status) in [
        (Fault::InternalError, 500),
        (Fault::BadGateway, 502),
        (Fault::MissingPermissions, 403),
        (Fault::CannotSend, 403),
        (Fault::UnknownChannel, 404),
        (Fault::Unauthorized, 401),
    ] {
        discord.fail_in(place, FOREVER, fault);
        assert_eq!(bot.sends(place, "x").unwrap().0, status);
        assert_eq!(
            bot.ask("POST", &format!("/channels/{}/typing", place.0), &json!({}))
                .unwrap()
                .0,
            status
        );
        discord.heal_in(place);
    }
    assert_eq!(bot.sends(place, "x").unwrap().0, 200);
    discord.fail_in(place, 1, Fault::TruncatedJson);
    assert!(bot.sends(place, "x").unwrap().2.is_string());
    discord.fail_times("getMe", FOREVER, Fault::Cut);
    assert!(bot.ask("GET", "/users/@me", &Value::Null).is_err());
    discord.heal();
    bot.does("GET", "/users/@me", Value::Null);
    let record = discord.record(place);
    assert_eq!(record.iter().filter(|call| call.done.is_some()).count(), 2);
    assert!(
        record
            .iter()
            .all(|call| call.method == "POST" && call.place == Some(place))
    );
    let gate = Gate::default();
    discord.fail_next("createMessage", Fault::HoldUntil(gate.clone()));
    discord.fail_when(1, Fault::Hang, move |call| call.place == Some(other));
    let held = thread::spawn({
        let bot = bot.clone();
        move || bot.sends(place, "held")
    });
    discord.wait_for_calls("createMessage", 9);
    let hanging = thread::spawn(move || bot.sends(other, "x"));
    discord.wait_for_calls("createMessage", 10);
    assert!(!held.is_finished() && !hanging.is_finished());
    gate.open();
    assert_eq!(held.join().unwrap().unwrap().0, 200);
    discord.wait_for_message(place, |message| message.text == "held");
    drop(discord);
    assert!(hanging.join().unwrap().is_err());
}

#[test]
fn a_fault_that_nobody_meets_fails_the_test() {
    let (discord, ..) = scene();
    discord.fail_next("createMessage", Fault::Cut);
    assert!(fails(discord));
}

#[test]
fn lines_can_be_slow_and_networks_go() {
    let (discord, place, bot) = scene();
    discord.set_rate_of("createMessage", Rate::up(100_000));
    let before = Instant::now();
    let uploading = thread::spawn({
        let bot = bot.clone();
        move || multipart(&bot, place, &[b'a'; 100_000]).0
    });
    discord.wait_for_beginning("createMessage", 1);
    bot.does("GET", "/users/@me", Value::Null);
    assert!(!uploading.is_finished());
    assert_eq!(uploading.join().unwrap(), 200);
    assert!(before.elapsed() >= Duration::from_millis(800));
    assert_eq!(
        discord.calls("createMessage")[0].files,
        [("a b.txt".to_owned(), 100_000)]
    );
    discord.set_rate(Rate::both(1_000));
    discord.set_full_speed();
    discord.go_offline();
    assert!(bot.sends(place, "x").is_err());
    discord.go_online();
    bot.does("GET", "/users/@me", Value::Null);
    assert!(discord.connections() >= 3);
}
