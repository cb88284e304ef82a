//! Sessions begin, break off, are resumed and lost.

use std::time::Duration;

use serde_json::json;

use super::{Bot, Link, Said, fails, messages};
use crate::harness::discord::{BOT_ID, Discord, Upload};
use crate::harness::wait_until;

const GUILDS: u64 = 1;
const GUILD_MESSAGES: u64 = 1 << 9;
const DIRECT: u64 = 1 << 12;
const CONTENT: u64 = 1 << 15;

#[test]
fn what_happens_without_a_connection_comes_once_when_the_session_is_resumed() {
    let discord = Discord::start();
    let ana = discord.person(1001, "Ana");
    let bot = Bot::of(&discord);
    let (mut link, session) = Link::with_session(&bot, DIRECT);
    discord.wait_for_ready(1);
    ana.says("one");
    assert_eq!(link.event("MESSAGE_CREATE")["content"], "one");
    for (round, cut) in [Discord::cut_gateway as fn(&Discord), |it| {
        it.close_gateway(4000)
    }]
    .iter()
    .enumerate()
    {
        cut(&discord);
        assert!(matches!(link.next(), Said::Gone | Said::Closed(4000)));
        let said = ana.says("two");
        ana.edits(&said, "three");
        link = Link::open(&bot, "/resume");
        // READY and "one", and what each round has added: two messages and RESUMED.
        let newest = 2 + 3 * round as u64;
        let Said::Message(two) = link.resume(&session, newest) else {
            panic!("no replay");
        };
        assert_eq!(
            (&two["d"]["content"], &two["s"]),
            (&json!("two"), &json!(newest + 1))
        );
        assert_eq!(link.event("MESSAGE_UPDATE")["content"], "three");
        link.event("RESUMED");
        discord.wait_for_resumes(round + 1);
    }
    assert_eq!(discord.sessions(), (1, 2));
    link.closes(1000);
    assert_eq!(link.next(), Said::Closed(1000));
    wait_until("the goodbye", || discord.closes().contains(&Some(1000)));
    // Those who say goodbye cannot come back.
    let mut link = Link::open(&bot, "/resume");
    let Said::Message(invalid) = link.resume(&session, 2) else {
        panic!("no opcode 9");
    };
    assert_eq!((&invalid["op"], &invalid["d"]), (&json!(9), &json!(false)));
    assert!(discord.closes().contains(&Some(1000)));
}

#[test]
fn a_second_identify_is_told_to_wait_and_the_connection_stays() {
    let discord = Discord::start();
    let bot = Bot::of(&discord);
    let (_first, _) = Link::with_session(&bot, DIRECT);
    let mut second = Link::open(&bot, "/gateway");
    let Said::Message(invalid) = second.identify(DIRECT) else {
        panic!("no opcode 9");
    };
    assert_eq!((&invalid["op"], &invalid["d"]), (&json!(9), &json!(false)));
    discord.set_identify_window(Duration::ZERO);
    let Said::Message(ready) = second.identify(DIRECT) else {
        panic!("no READY");
    };
    assert_eq!(ready["t"], "READY");
    let identifies = discord.frames(2);
    assert_eq!(identifies.len(), 3);
    assert!(identifies.is_sorted_by_key(|frame| frame.at));
}

#[test]
fn the_gateway_asks_for_what_it_wants() {
    let discord = Discord::start();
    let bot = Bot::of(&discord);
    let (mut link, session) = Link::with_session(&bot, DIRECT);
    link.says(&json!({"op": 1, "d": 1}));
    link.op(11);
    discord.acknowledges(false);
    link.says(&json!({"op": 1, "d": null}));
    discord.wait_for_frames(1, 2);
    discord.acknowledges(true);
    discord.asks_for_heartbeat();
    link.op(1);
    discord.asks_to_reconnect();
    link.op(7);
    discord.invalidates(true);
    assert_eq!(link.op(9)["d"], true);
    let mut link = Link::open(&bot, "/resume");
    assert!(matches!(link.resume(&session, 1), Said::Message(_)));
    discord.forgets_sessions();
    let mut link = Link::open(&bot, "/resume");
    let Said::Message(invalid) = link.resume(&session, 1) else {
        panic!("no opcode 9");
    };
    assert_eq!(invalid["d"], false);
}

#[test]
fn mistakes_close_the_connection_with_their_codes() {
    let discord = Discord::start();
    discord.forgives("");
    discord.forbids_intent(CONTENT);
    let bot = Bot::of(&discord);
    let code = |message| {
        let mut link = Link::open(&bot, "/gateway");
        link.says(&message);
        link.next()
    };
    let identify = |token: &str, intents: u64| json!({"op": 2, "d": {"token": token, "intents": intents, "properties": {}}});
    let token = crate::harness::discord::TOKEN;
    assert_eq!(code(json!({"op": 99})), Said::Closed(4001));
    assert_eq!(code(json!("hello")), Said::Closed(4002));
    assert_eq!(code(json!({"op": 3, "d": {}})), Said::Closed(4003));
    assert_eq!(code(identify("wrong", 1)), Said::Closed(4004));
    assert_eq!(
        code(json!({"op": 2, "d": {"token": token}})),
        Said::Closed(4013)
    );
    assert_eq!(code(identify(token, CONTENT)), Said::Closed(4014));
    let (mut link, session) = Link::with_session(&bot, DIRECT);
    assert_eq!(link.identify(DIRECT), Said::Closed(4005));
    assert_eq!(
        Link::open(&bot, "/resume").resume(&session, 7),
        Said::Closed(4007)
    );
    assert!(discord.complaints().is_empty());
}

#[test]
fn who_does_not_beat_is_given_up() {
    let discord = Discord::start();
    let (mut link, _) = {
        let bot = Bot::of(&discord);
        Link::with_session(&bot, DIRECT)
    };
    discord.set_heartbeat(Duration::from_millis(50));
    let mut quick = std::net::TcpStream::connect(&Bot::of(&discord).address).unwrap();
    std::io::Write::write_all(
        &mut quick,
        b"GET /gateway?v=10&encoding=json HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\n\
          connection: Upgrade\r\nsec-websocket-version: 13\r\n\
          sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    )
    .unwrap();
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut quick, &mut all).unwrap();
    assert!(all.ends_with(&4009_u16.to_be_bytes()));
    link.says(&json!({"op": 1, "d": 1}));
    link.op(11);
}

#[test]
fn without_the_intent_messages_of_servers_say_nothing_unless_they_mean_the_bot() {
    let discord = Discord::start();
    let ana = discord.person(1001, "Ana");
    let guild = discord.guild("Harbour");
    let general = discord.channel(guild, "general");
    let thread = discord.thread(general, "crabs");
    let bot = Bot::of(&discord);
    let (mut link, _) = Link::with_session(&bot, GUILDS | GUILD_MESSAGES | DIRECT);
    let created = link.event("GUILD_CREATE");
    assert_eq!(created["threads"][0]["id"], thread.0.to_string());
    let file = || Upload::new("a.txt", "text/plain", "a");
    ana.sends_in(general, "secret", [file()]);
    let event = link.event("MESSAGE_CREATE");
    assert_eq!(
        (&event["content"], &event["attachments"]),
        (&json!(""), &json!([]))
    );
    assert_eq!(event["guild_id"], guild.to_string());
    ana.mentions_in(thread, "look");
    let event = link.event("MESSAGE_CREATE");
    assert_eq!(event["content"], format!("<@{BOT_ID}> look"));
    ana.sends("privately", [file()]);
    let event = link.event("MESSAGE_CREATE");
    assert_eq!(
        (&event["content"], event["guild_id"].is_null()),
        (&json!("privately"), true)
    );
    // One's own come back, and whoever does not want them does not get them.
    bot.does("POST", &messages(general), json!({"content": "mine"}));
    assert_eq!(link.event("MESSAGE_CREATE")["content"], "mine");
    discord.removes(thread);
    assert_eq!(link.event("THREAD_DELETE")["id"], thread.0.to_string());
    discord.set_identify_window(Duration::ZERO);
    let (mut deaf, _) = Link::with_session(&bot, 0);
    ana.says("unheard");
    discord.dispatches("INTERACTION_CREATE", ana.chat(), &json!({"made": "up"}));
    assert_eq!(deaf.event("INTERACTION_CREATE")["made"], "up");
}

#[test]
fn a_client_that_breaks_the_rules_of_the_gateway_fails_the_test() {
    let discord = Discord::start();
    let mut link = Link::open(&Bot::of(&discord), "/gateway");
    link.says(&json!("hello"));
    assert_eq!(link.next(), Said::Closed(4002));
    assert!(fails(discord));
}
