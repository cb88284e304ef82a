use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::base::message::RemoteFile;

const ME: &str = "ou_bot";

fn reader(policy: GroupPolicy) -> Reader<'static> {
    Reader {
        me: ME,
        app: "cli_1",
        policy,
        awaits: &|_, _| false,
    }
}

/// The event of a message, with some members of the message changed.
fn event(changes: &Value) -> Vec<u8> {
    let mut event = json!({
        "schema": "2.0",
        "header": {"event_id": "e1", "event_type": "im.message.receive_v1"},
        "event": {
            "sender": {"sender_id": {"open_id": "ou_ana"}, "sender_type": "user"},
            "message": {
                "message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p",
                "create_time": "1732390000123", "message_type": "text", "content": "{\"text\":\"hello\"}",
            },
        },
    });
    for (name, value) in changes.as_object().unwrap() {
        event["event"]["message"][name] = value.clone();
    }
    event.to_string().into_bytes()
}

fn written(policy: GroupPolicy, changes: &Value) -> Option<Written> {
    match reader(policy).read(&event(changes)) {
        Meaning::Message(written) => Some(*written),
        Meaning::Nothing => None,
        press @ Meaning::Press(_) => panic!("{press:?}"),
    }
}

fn envelope(changes: &Value) -> Envelope {
    written(GroupPolicy::Mention, changes).unwrap().envelope
}

fn mentioning(id: &str) -> Value {
    json!({
        "chat_type": "group", "content": "{\"text\":\"@_user_1 hello\"}",
        "mentions": [{"key": "@_user_1", "id": {"open_id": id}, "name": "Crab"}],
    })
}

#[test]
fn a_private_message_is_addressed_by_its_person() {
    let envelope = envelope(&json!({}));
    assert_eq!(envelope.id, "feishu:om_1");
    assert_eq!(envelope.sent_at, Some(1_732_390_000));
    assert_eq!(envelope.session.as_str(), "feishu:ou_ana");
    assert_eq!(envelope.address().to_string(), "feishu:ou_ana");
    assert_eq!(
        (envelope.text.as_str(), envelope.is_group),
        ("hello", false)
    );
    assert_eq!(envelope.sender().unwrap().id, "ou_ana");
}

#[test]
fn in_a_group_what_mentions_the_bot_is_for_it() {
    let ours = envelope(&mentioning(ME));
    assert_eq!(ours.address().to_string(), "feishu:oc_1");
    assert_eq!((ours.text.as_str(), ours.is_group), ("hello", true));
    assert_eq!(written(GroupPolicy::Mention, &mentioning("ou_bob")), None);
    assert_eq!(written(GroupPolicy::Off, &mentioning(ME)), None);
    let open = written(GroupPolicy::Open, &mentioning("ou_bob")).unwrap();
    assert_eq!(open.envelope.text, "@Crab hello");
    let all = json!({"chat_type": "group", "content": "{\"text\":\"@_all hello\"}"});
    assert_eq!(written(GroupPolicy::Mention, &all), None);
}

#[test]
fn what_is_awaited_counts_too() {
    let reader = Reader {
        awaits: &|chat, person| chat.chat == "oc_1" && person == "ou_ana",
        ..reader(GroupPolicy::Mention)
    };
    let group = json!({"chat_type": "group"});
    assert!(matches!(reader.read(&event(&group)), Meaning::Message(_)));
}

#[test]
fn a_reply_counts_once_it_is_known_to_be_to_the_bot() {
    let reply = json!({"chat_type": "group", "parent_id": "om_0", "root_id": "om_0"});
    let written = written(GroupPolicy::Mention, &reply).unwrap();
    assert!(!written.is_for_us);
    assert_eq!(written.clone().finish(None), None);
    let others = Answered {
        is_ours: false,
        text: "x".to_owned(),
    };
    assert_eq!(written.clone().finish(Some(&others)), None);
    let ours = Answered {
        is_ours: true,
        text: "one\ntwo".to_owned(),
    };
    let Some(Incoming::Message { envelope, .. }) = written.finish(Some(&ours)) else {
        panic!("it is not for us");
    };
    assert_eq!(envelope.quote, "> [you]: one\n> two");
    assert_eq!(envelope.replies_to, "om_0");
    assert_eq!(envelope.address().thread, None, "a quote is not a thread");
}

#[test]
fn a_reply_to_what_is_not_named_is_one_all_the_same() {
    for (changes, target) in [
        (json!({}), ""),
        (json!({"parent_id": "om_0", "root_id": "om_0"}), "om_0"),
        (json!({"root_id": "om_0"}), UNKNOWN_MESSAGE),
        (
            json!({"parent_id": format!("om_{}", "x".repeat(900))}),
            UNKNOWN_MESSAGE,
        ),
        (json!({"quoted": {"message_id": "om_0"}}), UNKNOWN_MESSAGE),
    ] {
        let written = written(GroupPolicy::Mention, &changes).unwrap();
        let Some(Incoming::Message { envelope, .. }) = written.finish(None) else {
            panic!("{changes}");
        };
        assert_eq!(envelope.replies_to, target, "{changes}");
    }
}

#[test]
fn a_thread_is_a_conversation_named_by_its_first_message() {
    let mut changes = mentioning(ME);
    changes["thread_id"] = json!("omt_9");
    assert_eq!(envelope(&changes).address().to_string(), "feishu:oc_1:om_1");
    changes["root_id"] = json!("om_0");
    changes["parent_id"] = json!("om_0");
    assert_eq!(envelope(&changes).address().to_string(), "feishu:oc_1:om_0");
}

#[test]
fn a_message_that_is_replied_to_is_read() {
    let message = json!({
        "message_id": "om_0", "msg_type": "text", "body": {"content": "{\"text\":\"hi @_user_1\"}"},
        "sender": {"id": "cli_app", "sender_type": "app"},
        "mentions": [{"key": "@_user_1", "id": "ou_ana", "name": "Ana"}],
    });
    let ours = read_answered(&message, "cli_app");
    assert_eq!((ours.is_ours, ours.text.as_str()), (true, "hi @Ana"));
    assert!(!read_answered(&message, "cli_other").is_ours);
    let picture = json!({"message_id": "om_0", "msg_type": "image", "body": {"content": "{\"image_key\":\"i\"}"}});
    assert_eq!(read_answered(&picture, "cli_app").text, "[a file]");
    assert_eq!(read_answered(&Value::Null, "cli_app"), Answered::default());
}

#[test]
fn files_commands_and_empty_messages() {
    let file =
        json!({"message_type": "file", "content": "{\"file_key\":\"f1\",\"file_name\":\"a.txt\"}"});
    let files: Vec<RemoteFile> = envelope(&file).remote_files;
    assert_eq!(files[0].id, "om_1 file f1");
    let mut command = mentioning(ME);
    command["content"] = json!("{\"text\":\"@_user_1 /sh echo @_user_1 x\"}");
    assert_eq!(envelope(&command).text, "/sh echo @_user_1 x");
    let mut name = mentioning(ME);
    name["content"] = json!("{\"text\":\"@_user_1\"}");
    assert_eq!(envelope(&name).text, "@Crab");
    for odd in [
        json!({"content": "{}"}),
        json!({"content": "hello"}),
        json!({"message_id": ""}),
        json!({"message_id": "om_1/../x"}),
        json!({"chat_type": "group", "chat_id": "ou_1"}),
    ] {
        assert_eq!(written(GroupPolicy::Open, &odd), None, "{odd}");
    }
}

#[test]
fn messages_of_bots_and_other_events_mean_nothing() {
    let mut event: Value = serde_json::from_slice(&event(&json!({}))).unwrap();
    event["event"]["sender"]["sender_type"] = json!("app");
    let read = |event: &Value| reader(GroupPolicy::Open).read(event.to_string().as_bytes());
    assert_eq!(read(&event), Meaning::Nothing);
    event["header"]["event_type"] = json!("im.message.reaction.created_v1");
    assert_eq!(read(&event), Meaning::Nothing);
    assert_eq!(read(&json!([])), Meaning::Nothing);
}

fn press(value: &Value) -> Meaning {
    let event = json!({
        "schema": "2.0", "header": {"event_id": "e7", "event_type": "card.action.trigger"},
        "event": {
            "operator": {"open_id": "ou_ana"}, "action": {"value": value, "tag": "button"},
            "context": {"open_message_id": "om_5", "open_chat_id": "oc_1"},
        },
    });
    reader(GroupPolicy::Mention).read(event.to_string().as_bytes())
}

#[test]
fn a_press_counts_where_its_button_is() {
    let value =
        |to: &str| json!({"to": to, "data": "q:7:once", "label": "运行一次", "text": "Run?"});
    let Meaning::Press(incoming) = press(&value("oc_1:om_2")) else {
        panic!("no press");
    };
    let Incoming::Pressed {
        id,
        address,
        is_group,
        sender,
        message,
        data,
        ..
    } = *incoming
    else {
        panic!("{incoming:?}");
    };
    assert_eq!((id.as_str(), data.as_str()), ("feishu:e7", "q:7:once"));
    assert_eq!(address.to_string(), "feishu:oc_1:om_2");
    assert!(is_group && sender.language == Language::Chinese);
    assert_eq!(
        (message.id.as_str(), message.text.as_str()),
        ("om_5", "Run?")
    );
    assert!(matches!(press(&value("ou_ana")), Meaning::Press(_)));
    // Another chat, another person, and cards of others.
    for to in ["oc_2", "ou_bob", "", "oc_1:a/b"] {
        assert_eq!(press(&value(to)), Meaning::Nothing, "{to}");
    }
    assert_eq!(press(&json!("text")), Meaning::Nothing);
}

proptest! {
    #[test]
    fn no_event_is_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in ".{0,80}") {
        reader(GroupPolicy::Open).read(&bytes);
        reader(GroupPolicy::Open).read(&event(&json!({"content": text})));
        reader(GroupPolicy::Open).read(&event(&json!({"mentions": text, "parent_id": text})));
    }
}

#[test]
fn numbers_and_strings_stand_for_each_other() {
    let it = envelope(&json!({"message_id": 7, "content": "{\"text\": 42}"}));
    assert_eq!((&*it.id, &*it.text), ("feishu:7", "42"));
    let file = json!({"message_type": "file", "content": "{\"file_key\": 5, \"file_name\": 6}"});
    assert_eq!(envelope(&file).remote_files[0].name, "6");
}

#[test]
fn a_forged_event_makes_no_one_of_anyone() {
    let read = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_slice(&event(&json!({}))).unwrap();
        change(&mut value);
        reader(GroupPolicy::Open).read(value.to_string().as_bytes())
    };
    assert!(matches!(read(&|_| ()), Meaning::Message(_)));
    assert!(matches!(
        read(&|it| it["header"]["app_id"] = json!("cli_1")),
        Meaning::Message(_)
    ));
    assert_eq!(
        read(&|it| it["header"]["app_id"] = json!("cli_2")),
        Meaning::Nothing
    );
    for person in [
        json!(null),
        json!(""),
        json!("*"),
        json!("ana"),
        json!(7),
        json!({"open_id": "ou_ana"}),
        json!(" ou_ana"),
        json!("ou_ana\n"),
        json!("ou_a/../b"),
        json!("ou_\u{661}x y"),
        json!(format!("ou_{}", "a".repeat(900))),
    ] {
        let forged = read(&|it| it["event"]["sender"]["sender_id"]["open_id"] = person.clone());
        assert_eq!(forged, Meaning::Nothing, "{person}");
    }
    for kind in [json!("app"), json!(null), json!(["user"]), json!("User")] {
        let forged = read(&|it| it["event"]["sender"]["sender_type"] = kind.clone());
        assert_eq!(forged, Meaning::Nothing, "{kind}");
    }
    // Whatever is not said to be private is a group.
    for kind in [
        json!(null),
        json!("group"),
        json!("topic"),
        json!(1),
        json!("P2P"),
    ] {
        match read(&|it| it["event"]["message"]["chat_type"] = kind.clone()) {
            Meaning::Message(it) => {
                assert!(
                    it.envelope.is_group && it.envelope.address().chat == "oc_1",
                    "{kind}"
                );
            }
            other => panic!("{kind}: {other:?}"),
        }
    }
}
