use serde_json::{Value, json};

use super::*;
use crate::base::message::UNKNOWN_MESSAGE;

fn me() -> Me {
    Me {
        id: "900".to_owned(),
        username: "pea".to_owned(),
    }
}

/// A message of Ann's in a private chat, with some members changed.
fn message(changes: Value) -> Value {
    let mut message = json!({
        "id": "1001", "channel_id": "55", "type": 0, "content": "hello", "edited_timestamp": null,
        "timestamp": "2024-11-23T19:26:40.123000+00:00",
        "author": {"id": "12", "username": "ann", "global_name": "Ann B."},
        "mentions": [], "attachments": [], "flags": 0, "referenced_message": null,
    });
    for (name, value) in changes.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

fn reader(me: &Me, policy: GroupPolicy) -> Reader<'_> {
    Reader {
        me,
        policy,
        awaits: &|_, _| false,
    }
}

fn read_as(kind: &str, data: &Value, policy: GroupPolicy) -> Meaning {
    let me = me();
    reader(&me, policy).read(kind, &data.to_string())
}

fn envelope(changes: Value) -> Option<Envelope> {
    match read_as("MESSAGE_CREATE", &message(changes), GroupPolicy::Mention) {
        Meaning::Incoming(Incoming::Message { envelope, .. }) => Some(envelope),
        Meaning::Nothing => None,
        other => panic!("{other:?}"),
    }
}

fn text(changes: Value) -> String {
    text_with_quote(&envelope(changes).unwrap())
}

fn text_with_quote(message: &Envelope) -> String {
    let parts = [message.quote.as_str(), message.text.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn mention() -> Value {
    json!([{"id": "900", "username": "pea"}])
}

#[test]
fn a_private_message_is_for_us() {
    let meaning = read_as("MESSAGE_CREATE", &message(json!({})), GroupPolicy::Off);
    let Meaning::Incoming(Incoming::Message { envelope, username }) = meaning else {
        panic!("{meaning:?}");
    };
    assert_eq!(username, "ann");
    assert_eq!(envelope.id, "discord:1001");
    assert_eq!(envelope.sent_at, Some(1_732_390_000));
    assert_eq!(envelope.session.as_str(), "discord:55");
    assert_eq!(envelope.reference, "1001");
    assert_eq!(envelope.sender().unwrap().name, "Ann B.");
    assert_eq!(
        (envelope.text.as_str(), envelope.is_group),
        ("hello", false)
    );
}

#[test]
fn in_a_server_the_policy_decides() {
    let plain = message(json!({"guild_id": "3"}));
    let mentioned =
        message(json!({"guild_id": "3", "content": "<@900> hello", "mentions": mention()}));
    let reply = message(json!({
        "guild_id": "3", "type": 19,
        "referenced_message": {"id": "9", "content": "the answer", "author": {"id": "900"}},
    }));
    use GroupPolicy::{Mention, Off, Open};
    for (data, policy, expected) in [
        (&plain, Mention, None),
        (&plain, Open, Some("hello")),
        (&plain, Off, None),
        (&mentioned, Mention, Some("hello")),
        (&mentioned, Off, None),
        (&reply, Mention, Some("> [you]: the answer\n\nhello")),
    ] {
        let text = match read_as("MESSAGE_CREATE", data, policy) {
            Meaning::Incoming(Incoming::Message { envelope, .. }) => {
                assert!(envelope.is_group);
                Some(text_with_quote(&envelope))
            }
            _ => None,
        };
        assert_eq!(text.as_deref(), expected, "{data} {policy:?}");
    }
}

#[test]
fn a_reply_is_one_also_when_what_it_answers_is_gone() {
    let reference = json!({"message_id": "9", "channel_id": "55"});
    for (changes, target) in [
        (json!({}), ""),
        (
            json!({"type": 19, "message_reference": reference, "referenced_message": null}),
            "9",
        ),
        (json!({"message_reference": reference}), "9"),
        (
            json!({"type": 19, "referenced_message": {"id": "8", "author": {"id": "900"}}}),
            "8",
        ),
        (json!({"type": 19}), UNKNOWN_MESSAGE),
        (
            json!({"type": 19, "message_reference": {"channel_id": "55"}}),
            UNKNOWN_MESSAGE,
        ),
        (
            json!({"message_reference": {"type": 1, "message_id": "9"}}),
            "",
        ),
    ] {
        let meaning = read_as(
            "MESSAGE_CREATE",
            &message(changes.clone()),
            GroupPolicy::Off,
        );
        let Meaning::Incoming(Incoming::Message { envelope, .. }) = meaning else {
            panic!("{changes}");
        };
        assert_eq!(envelope.replies_to, target, "{changes}");
    }
}

#[test]
fn what_is_awaited_of_a_person_is_for_us() {
    let plain = message(json!({"guild_id": "3"}));
    let author = plain["author"]["id"].as_str().unwrap().to_owned();
    let me = me();
    for (awaited, is_for_us) in [(author.as_str(), true), ("77", false)] {
        let awaits = |_: &Address, person: &str| person == awaited;
        let reader = Reader {
            awaits: &awaits,
            ..reader(&me, GroupPolicy::Mention)
        };
        let meaning = reader.read("MESSAGE_CREATE", &plain.to_string());
        assert_eq!(meaning != Meaning::Nothing, is_for_us);
    }
}

#[test]
fn what_nobody_said_to_us_is_nothing() {
    for changes in [
        json!({"author": {"id": "900", "username": "pea", "bot": true}}),
        json!({"author": {"id": "900", "username": "pea"}}),
        json!({"author": {"id": "13", "username": "other", "bot": true}}),
        json!({"webhook_id": "77"}),
        json!({"type": 7}),
        json!({"type": 21}),
        json!({"content": " \n"}),
        json!({"id": "x"}),
        json!({"id": ""}),
        json!({"channel_id": "5/6"}),
        json!({"author": {"id": "12; DROP"}}),
    ] {
        assert_eq!(envelope(changes.clone()), None, "{changes}");
    }
    for kind in ["TYPING_START", "GUILD_CREATE", ""] {
        assert_eq!(
            read_as(kind, &message(json!({})), GroupPolicy::Open),
            Meaning::Nothing
        );
    }
}

#[test]
fn a_forwarded_command_is_no_command() {
    let forwarded = json!([{"message": {"content": "/sh rm -rf ."}}]);
    for (content, is_relayed) in [("", true), ("/sh", true)] {
        let changes = json!({"content": content, "message_snapshots": forwarded});
        assert_eq!(envelope(changes).unwrap().is_relayed, is_relayed);
    }
    assert!(!envelope(json!({"content": "/sh ls"})).unwrap().is_relayed);
}

#[test]
fn a_name_is_one_line_without_what_hides() {
    let author = json!({"id": "12", "username": "a", "global_name": "Ann]\u{202e}\n[Bob"});
    let said = envelope(json!({"author": author})).unwrap();
    assert_eq!(said.sender().unwrap().name, "Ann) (Bob");
}

#[test]
fn names_stand_for_ids() {
    let people = json!([{"id": "900", "username": "pea"}, {"id": "13", "username": "bob", "global_name": "Bob"}]);
    for (content, expected) in [
        ("<@900>: ask <@13> and <@!13>", "ask @Bob and @Bob"),
        ("<@!900> hi", "hi"),
        ("hi <@900>", "hi"),
        ("<@900>", "@pea"),
        ("ask <@900> now", "ask @pea now"),
        ("<:party:123> <a:dance:5> <:x:y>", ":party: :dance: <:x:y>"),
        ("a < b > c <", "a < b > c <"),
        ("<@99> <#5> <", "<@99> <#5> <"),
        ("<<@13>>", "<@Bob>"),
        ("/sh echo <@13>", "/sh echo <@13>"),
        ("<@900> /sh echo <@!13>", "/sh echo <@!13>"),
    ] {
        let read = text(json!({"content": content, "mentions": people}));
        assert_eq!(read, expected, "{content}");
    }
}

#[test]
fn what_is_answered_is_quoted() {
    let answered = |answered: Value| json!({"referenced_message": answered, "type": 19});
    let author = json!({"id": "13", "username": "bob"});
    for (reply, expected) in [
        (
            json!({"content": "one\ntwo", "author": author}),
            "> bob: one\n> two\n\nhello",
        ),
        (
            json!({"content": "", "attachments": [{}], "author": author}),
            "> bob: [a file]\n\nhello",
        ),
        (json!({"content": "", "author": author}), "hello"),
        (
            json!({"content": "", "sticker_items": [{"name": "Wave"}], "author": author}),
            "> bob: [a sticker: Wave]\n\nhello",
        ),
        (Value::Null, "hello"),
    ] {
        assert_eq!(text(answered(reply)), expected);
    }
    let long = "x".repeat(5000);
    let cut = text(answered(json!({"content": long, "author": author})));
    assert!(cut.len() < 600, "{}", cut.len());
}

#[test]
fn what_is_forwarded_comes_along() {
    let read = envelope(json!({
        "content": "", "message_snapshots": [{"message": {
            "content": "news", "attachments": [{"id": "5", "filename": "a.png", "url": "https://cdn/a"}],
        }}],
    }));
    let read = read.unwrap();
    assert_eq!(read.text, "[forwarded]\nnews");
    assert_eq!(read.remote_files.len(), 1);
}

#[test]
fn files_are_fetched_by_their_address_and_known_by_their_message() {
    let file = |name: &str, kind: &str| json!({"id": "8", "filename": name, "content_type": kind, "size": 5, "url": "https://cdn/x y"});
    let read = envelope(json!({
        "content": "", "flags": 8192,
        "attachments": [file("a.png", "image/png"), file("v.ogg", "audio/ogg; x"), file("", "")],
    }));
    let files = read.unwrap().remote_files;
    let media: Vec<Media> = files.iter().map(|file| file.media).collect();
    assert_eq!(media, [Media::Photo, Media::Voice, Media::Document]);
    assert_eq!(
        (files[0].name.as_str(), files[2].name.as_str()),
        ("a.png", "file")
    );
    let expected = FileId {
        channel: "55",
        message: "1001",
        attachment: "8",
        url: "https://cdn/x y",
    };
    assert_eq!(FileId::parse(&files[0].id), Some(expected));
    assert_eq!(FileId::parse("1 2 3"), None);
}

#[test]
fn an_edit_is_one_of_its_author() {
    let edited = message(json!({"edited_timestamp": "2026-11-22T08:00:00Z", "content": "hallo"}));
    let meaning = read_as("MESSAGE_UPDATE", &edited, GroupPolicy::Mention);
    let Meaning::Incoming(Incoming::Edited {
        reference, text, ..
    }) = meaning
    else {
        panic!("{meaning:?}");
    };
    assert_eq!((reference.as_str(), text.as_str()), ("1001", "hallo"));
    let forwarded = json!([{"message": {"content": "/sh rm -rf ."}}]);
    let relayed = message(json!({
        "edited_timestamp": "2026-11-22T08:00:00Z", "content": "hallo", "message_snapshots": forwarded,
    }));
    assert_eq!(
        read_as("MESSAGE_UPDATE", &relayed, GroupPolicy::Mention),
        Meaning::Nothing
    );
    let preview = message(json!({}));
    assert_eq!(
        read_as("MESSAGE_UPDATE", &preview, GroupPolicy::Mention),
        Meaning::Nothing
    );
}

fn interaction(changes: Value) -> Meaning {
    let mut data = json!({
        "id": "2001", "token": "tok", "type": 3, "channel_id": "55",
        "user": {"id": "12", "username": "ann"},
        "data": {"custom_id": "q:1:once", "component_type": 2}, "message": {"id": "1001"},
    });
    for (name, value) in changes.as_object().unwrap() {
        data[name] = value.clone();
    }
    read_as("INTERACTION_CREATE", &data, GroupPolicy::Mention)
}

#[test]
fn a_pressed_button_and_a_chosen_command() {
    let Meaning::Interaction {
        incoming,
        id,
        token,
    } = interaction(json!({}))
    else {
        panic!();
    };
    assert_eq!((id.as_str(), token.as_str()), ("2001", "tok"));
    assert!(
        matches!(incoming, Incoming::Pressed { message, data, is_group: false, .. }
        if message.id == "1001" && data == "q:1:once")
    );
    let chosen = interaction(json!({
        "type": 2, "guild_id": "3", "user": null, "message": null,
        "member": {"nick": "Annie", "user": {"id": "12", "username": "ann"}},
        "data": {"name": "sh", "type": 1, "options": [{"name": "text", "type": 3, "value": " uptime "}]},
    }));
    let Meaning::Interaction { incoming, .. } = chosen else {
        panic!("{chosen:?}");
    };
    let Incoming::Message { envelope, .. } = incoming else {
        panic!();
    };
    assert_eq!(envelope.text, "/sh uptime");
    assert_eq!((envelope.reference.as_str(), envelope.is_group), ("", true));
    assert_eq!(envelope.sender().unwrap().name, "Annie");
    for hint in [
        json!({"context": 2}),
        json!({"channel": {"type": 3}}),
        json!({"guild_id": "3"}),
    ] {
        let Meaning::Interaction { incoming, .. } = interaction(hint.clone()) else {
            panic!("{hint}");
        };
        assert!(
            matches!(incoming, Incoming::Pressed { is_group: true, .. }),
            "{hint}"
        );
    }
    for changes in [
        json!({"type": 5}),
        json!({"user": null}),
        json!({"id": "x"}),
        json!({"channel_id": null}),
    ] {
        assert_eq!(interaction(changes.clone()), Meaning::Nothing, "{changes}");
    }
}

proptest::proptest! {
    #[test]
    fn any_event_is_read(name in "content|author|mentions|attachments|id|type|flags|member|referenced_message",
        text in ".{0,40}", number in proptest::num::u64::ANY, what in 0..4_usize) {
        let value = [json!(text), json!(number), json!([{"id": text}]), json!({"id": number, "content": text})];
        for kind in ["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"] {
            let meaning = read_as(kind, &message(json!({name.as_str(): value[what]})), GroupPolicy::Open);
            if let Meaning::Incoming(Incoming::Message { envelope, .. }) = meaning {
                assert!(!envelope.text.is_empty() || !envelope.remote_files.is_empty());
            }
        }
    }

    #[test]
    fn names_for_mentions_takes_any_text(text in "[<>@!:a0-9é ]{0,40}") {
        names_for_mentions(&text, &[]);
    }
}

#[test]
fn an_event_that_is_nested_deeply_is_ignored() {
    let nested = |levels: usize| {
        let inner = message(json!({})).to_string();
        let open = inner.replace(r#""referenced_message":null"#, r#""referenced_message":"#);
        let (before, after) = open.split_once(r#""referenced_message":"#).unwrap();
        let before = format!(r#"{before}"referenced_message":"#);
        format!("{}null{}", before.repeat(levels), after.repeat(levels))
    };
    for (levels, is_read) in [(15, true), (17, false), (127, false), (10_000, false)] {
        let data = nested(levels);
        // The loop needs some of it too.
        let stack = crate::base::limits::channels::STACK_BYTES * 3 / 4;
        let thread = std::thread::Builder::new().stack_size(stack);
        let read = thread.spawn(move || {
            let (me, policy) = (me(), GroupPolicy::Mention);
            reader(&me, policy).read("MESSAGE_CREATE", &data) != Meaning::Nothing
        });
        assert_eq!(read.unwrap().join().unwrap(), is_read, "{levels}");
    }
}

/// Each line is a message that is not as Discord sends it, and what becomes of it: nothing, or a message in a group or in
/// private by someone with this id.
#[test]
fn a_forged_message_makes_no_one_of_anyone_and_no_private_chat_of_a_server() {
    let long = "9".repeat(400);
    let nothing = [
        json!({"author": null}),
        json!({"author": {}}),
        json!({"author": {"username": "ann"}}),
        json!({"author": "12"}),
        json!({"author": [12]}),
        json!({"author": {"id": {"id": "12"}}}),
        json!({"author": {"id": "*", "username": "*"}}),
        json!({"author": {"id": "012"}}),
        json!({"author": {"id": " 12"}}),
        json!({"author": {"id": "12\n"}}),
        json!({"author": {"id": "12\u{0}"}}),
        json!({"author": {"id": "+12"}}),
        json!({"author": {"id": "-12"}}),
        json!({"author": {"id": "\u{661}\u{662}"}}),
        json!({"author": {"id": "1/../12"}}),
        json!({"author": {"id": long}}),
        json!({"author": {"id": "900", "username": "pea"}}),
        json!({"author": {"id": "12", "bot": true}}),
        json!({"webhook_id": "12"}),
        json!({"webhook_id": {}}),
        json!({"webhook_id": 0}),
        json!({"type": 20}),
        json!({"id": "../1001"}),
        json!({"id": "01001"}),
        json!({"channel_id": "../../users/@me"}),
        json!({"channel_id": "55:66"}),
        json!({"channel_id": ""}),
        // In a server without a mention, also where the server is not named.
        json!({"guild_id": "7"}),
        json!({"guild_id": ""}),
        json!({"channel_type": 0}),
        json!({"channel_type": 3}),
        json!({"channel_type": 11}),
        json!({"member": {"nick": "Ann"}}),
    ];
    for changes in nothing {
        assert_eq!(envelope(changes.clone()), None, "{changes}");
    }
    for (changes, is_group) in [
        (json!({"channel_type": 1}), false),
        (
            json!({"channel_type": null, "member": null, "guild_id": null}),
            false,
        ),
        (json!({"channel_type": 0, "mentions": mention()}), true),
        (json!({"member": {}, "mentions": mention()}), true),
        (
            json!({"channel_type": 1, "guild_id": "7", "mentions": mention()}),
            true,
        ),
    ] {
        let it = envelope(changes.clone()).unwrap();
        assert_eq!(
            (it.is_group, &*it.sender().unwrap().id),
            (is_group, "12"),
            "{changes}"
        );
    }
    // The event of an edit is read like the message.
    for changes in [
        json!({"author": {"id": "900"}}),
        json!({"webhook_id": "1"}),
        json!({"author": {}}),
    ] {
        let mut edit = message(changes);
        edit["edited_timestamp"] = json!("2026-01-01");
        edit["content"] = json!("/sh reboot");
        assert_eq!(
            read_as("MESSAGE_UPDATE", &edit, GroupPolicy::Open),
            Meaning::Nothing,
            "{edit}"
        );
    }
}

#[test]
fn a_forged_press_is_no_one_elses() {
    let press = |changes: Value| {
        let mut press = json!({
            "id": "77", "type": 3, "token": "t", "channel_id": "55", "data": {"custom_id": "x"},
            "message": {"id": "1"}, "user": {"id": "12", "username": "ann"},
        });
        for (name, value) in changes.as_object().unwrap() {
            press[name] = value.clone();
        }
        match read_as("INTERACTION_CREATE", &press, GroupPolicy::Mention) {
            Meaning::Interaction {
                incoming:
                    Incoming::Pressed {
                        sender, is_group, ..
                    },
                ..
            } => Some((sender.id, is_group)),
            Meaning::Nothing => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(press(json!({})), Some(("12".to_owned(), false)));
    let member = |id: &str| json!({"user": {"id": id, "username": "bob"}});
    for (changes, expected) in [
        (
            json!({"user": null, "member": member("13"), "guild_id": "7"}),
            Some(("13".to_owned(), true)),
        ),
        (
            json!({"user": null, "member": member("13")}),
            Some(("13".to_owned(), true)),
        ),
        (json!({"member": member("13"), "guild_id": "7"}), None),
        (
            json!({"member": member("12"), "guild_id": "7"}),
            Some(("12".to_owned(), true)),
        ),
        (json!({"user": null}), None),
        (json!({"user": ["12"]}), None),
        (json!({"user": null, "member": {"user": ["12"]}}), None),
        (json!({"user": {"id": "900"}}), None),
        (json!({"user": {"id": "12", "bot": true}}), None),
        (json!({"user": {"id": "012"}}), None),
        (json!({"user": {"id": "*"}}), None),
        (json!({"id": "../77"}), None),
        (json!({"channel_id": "x"}), None),
    ] {
        assert_eq!(press(changes.clone()), expected, "{changes}");
    }
}
