use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn scope(groups: GroupPolicy) -> Scope {
    Scope {
        groups,
        only_in: Vec::new(),
        private: true,
        reply_in_thread: true,
    }
}

fn person(id: &str) -> Option<Known> {
    (id == "U1").then(|| Known {
        name: "Ana [x]".to_owned(),
        username: "ana".to_owned(),
        locale: "zh-CN".to_owned(),
    })
}

fn with<T>(scope: &Scope, read: impl FnOnce(&Reader<'_>) -> T) -> T {
    let me = Me {
        user: "UBOT".to_owned(),
        name: "crab".to_owned(),
        team: "T1".to_owned(),
    };
    read(&Reader {
        me: &me,
        scope,
        awaits: &|address, person| address.chat == "C9" && person == "U1",
        takes_part: &|address| address.thread.as_deref() == Some("1355517111.000001"),
        sender: &person,
        person: &person,
        written_by: &|_, _, _| (),
    })
}

fn event_of(scope: &Scope, event: Value) -> Option<Incoming> {
    let payload = json!({"type": "event_callback", "event_id": "Ev1", "event": event}).to_string();
    with(scope, |reader| reader.event(&payload))
}

fn mentions(event: Value) -> Option<Incoming> {
    event_of(&scope(GroupPolicy::Mention), event)
}

fn envelope(incoming: Option<Incoming>) -> Envelope {
    match incoming {
        Some(Incoming::Message { envelope, .. }) => envelope,
        other => panic!("{other:?}"),
    }
}

fn message(channel: &str, text: &str) -> Value {
    json!({
        "type": "message", "channel": channel, "user": "U1", "text": text,
        "ts": "1355517523.000005", "event_ts": "1355517523.000005",
    })
}

#[test]
fn a_private_message_is_for_us() {
    let envelope = envelope(mentions(message("D1", "a &amp; <@U1>")));
    assert_eq!(envelope.id, "slack:1355517523000005.D1");
    assert_eq!(envelope.sent_at, Some(1_355_517_523));
    assert_eq!(envelope.text, "a & @Ana (x)");
    assert_eq!(envelope.session.as_str(), "slack:D1");
    assert_eq!(envelope.reference, "1355517523.000005");
    assert!(!envelope.is_group);
    let sender = envelope.sender().unwrap();
    assert_eq!(
        (sender.id.as_str(), sender.name.as_str()),
        ("U1", "Ana (x)")
    );
    assert_eq!(sender.language, Language::Chinese);
}

#[test]
fn a_mention_is_one_message_however_it_comes() {
    let as_message = mentions(message("C1", "<@UBOT> hello"));
    let mut mention = message("C1", "<@UBOT> hello");
    mention["type"] = json!("app_mention");
    assert_eq!(as_message, mentions(mention));
    let envelope = envelope(as_message);
    assert_eq!(envelope.text, "hello");
    assert!(envelope.is_group);
    // The answer begins a thread below it.
    assert_eq!(envelope.session.as_str(), "slack:C1:1355517523.000005");
}

#[test]
fn what_is_in_a_thread_stays_there() {
    let mut event = message("C1", "<@UBOT> more");
    event["thread_ts"] = json!("1355517000.000001");
    assert_eq!(
        envelope(mentions(event.clone())).session.as_str(),
        "slack:C1:1355517000.000001"
    );
    event["channel"] = json!("D1");
    assert_eq!(
        envelope(mentions(event)).session.as_str(),
        "slack:D1:1355517000.000001"
    );
    let scope = Scope {
        reply_in_thread: false,
        ..scope(GroupPolicy::Open)
    };
    let mut first = message("C1", "hi");
    first["thread_ts"] = first["ts"].clone();
    assert_eq!(
        envelope(event_of(&scope, first)).session.as_str(),
        "slack:C1"
    );
}

#[test]
fn the_policy_decides_what_is_for_us() {
    let chatter = || message("C1", "hello all");
    assert_eq!(mentions(chatter()), None);
    assert!(event_of(&scope(GroupPolicy::Open), chatter()).is_some());
    assert_eq!(
        event_of(&scope(GroupPolicy::Off), message("C1", "<@UBOT> hi")),
        None
    );
    assert!(event_of(&scope(GroupPolicy::Off), message("D1", "hi")).is_some());
    let mut below_ours = chatter();
    below_ours["thread_ts"] = json!("1355517000.000001");
    below_ours["parent_user_id"] = json!("UBOT");
    assert!(mentions(below_ours).is_some());
    assert!(mentions(message("C9", "typed into a terminal")).is_some());
    let mut in_a_known_thread = chatter();
    in_a_known_thread["thread_ts"] = json!("1355517111.000001");
    assert!(mentions(in_a_known_thread).is_some());
    let only = Scope {
        only_in: vec!["C2".to_owned()],
        private: false,
        ..scope(GroupPolicy::Open)
    };
    assert_eq!(event_of(&only, chatter()), None);
    assert!(event_of(&only, message("C2", "hi")).is_some());
    assert_eq!(event_of(&only, message("D1", "hi")), None);
    assert_eq!(mentions(message("C1", "<@UBOTTLE> hi")), None);
}

#[test]
fn bots_and_what_no_person_wrote_mean_nothing() {
    for (member, value) in [
        ("bot_id", json!("B1")),
        ("user", json!("UBOT")),
        ("subtype", json!("channel_join")),
        ("subtype", json!("message_deleted")),
        ("subtype", json!("bot_message")),
        ("ts", json!("yesterday")),
        ("user", json!(null)),
        ("channel", json!("../x")),
        ("type", json!("reaction_added")),
        ("text", json!("")),
    ] {
        let mut event = message("D1", "hi");
        event[member] = value;
        assert_eq!(mentions(event.clone()), None, "{event}");
    }
}

#[test]
fn commands_begin_with_an_exclamation_mark_too() {
    for (text, expected) in [
        ("!sh a &amp;&amp; b", "/sh a && b"),
        ("<@UBOT> !sh curl <https://a.b>", "/sh curl https://a.b"),
        ("<@UBOT>: /help", "/help"),
        (" /sh df", "/sh df"),
        ("wow!", "wow!"),
        ("<@UBOT>", "@crab"),
    ] {
        assert_eq!(envelope(mentions(message("D1", text))).text, expected);
    }
}

#[test]
fn an_edit_has_its_text_within() {
    let edit = |text: &str, before: &str, is_edited: bool| {
        let mut inner = message("D1", text);
        if is_edited {
            inner["edited"] = json!({"user": "U1", "ts": "1355517530.000000"});
        }
        json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": "D1",
            "ts": "1355517531.000001", "message": inner, "previous_message": message("D1", before),
        })
    };
    match mentions(edit("new", "old", true)) {
        Some(Incoming::Edited {
            session,
            reference,
            text,
        }) => {
            assert_eq!((session.as_str(), text.as_str()), ("slack:D1", "new"));
            assert_eq!(reference, "1355517523.000005");
        }
        other => panic!("{other:?}"),
    }
    let mut shared = edit("/sh ls", "old", true);
    shared["message"]["attachments"] = json!([{"is_share": true, "text": "said by another"}]);
    assert_eq!(mentions(shared), None, "others' words came with it");
    assert_eq!(
        mentions(edit("same", "same", true)),
        None,
        "a preview was added"
    );
    assert_eq!(mentions(edit("new", "old", false)), None);
}

#[test]
fn files_are_fetched_by_their_id_and_address() {
    let mut event = message("D1", "");
    event["subtype"] = json!("file_share");
    event["files"] = json!([
        {"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 7, "mode": "hosted",
         "url_private": "https://files.slack.com/x", "url_private_download": "https://files.slack.com/y"},
        {"id": "F2", "mimetype": "audio/mp4", "subtype": "slack_audio", "file_access": "check_file_info"},
        {"id": "F3", "mode": "tombstone"},
    ]);
    let files = envelope(mentions(event)).remote_files;
    assert_eq!(files.len(), 2);
    assert_eq!(
        (files[0].id.as_str(), files[0].media),
        ("F1 https://files.slack.com/y", Media::Photo)
    );
    assert_eq!((files[0].name.as_str(), files[0].size), ("a.png", Some(7)));
    assert_eq!((files[1].id.as_str(), files[1].media), ("F2", Media::Voice));
}

#[test]
fn what_is_shared_is_no_command() {
    let mut event = message("D1", "/sh x");
    event["attachments"] =
        json!([{"is_share": true, "text": "said by <@U1>"}, {"text": "a preview"}]);
    let envelope = envelope(mentions(event));
    assert_eq!(envelope.text, "/sh x\n[forwarded]\nsaid by @Ana (x)");
    assert!(envelope.is_relayed);
}

fn press(message: Value) -> Option<Incoming> {
    let payload = json!({
        "type": "block_actions", "user": {"id": "U2", "username": "bob"}, "channel": {"id": "C1"},
        "message": message, "actions": [{"type": "button", "value": "q:1:once", "action_ts": "1355517600.5"}],
    });
    with(&scope(GroupPolicy::Mention), |reader| {
        reader.press(&payload.to_string())
    })
}

#[test]
fn a_press_names_its_message_and_thread() {
    match press(json!({"ts": "1355517524.000001", "text": "a &lt;b&gt; <https://a.b>"})) {
        Some(Incoming::Pressed {
            id,
            address,
            is_group,
            sender,
            username,
            message,
            data,
        }) => {
            assert_eq!(id, "slack:press.1355517600.5.U2");
            assert_eq!((address.to_string().as_str(), is_group), ("slack:C1", true));
            assert_eq!((sender.id.as_str(), sender.name.as_str()), ("U2", "bob"));
            assert_eq!((username.as_str(), data.as_str()), ("bob", "q:1:once"));
            assert_eq!(message.text, "a <b> https://a.b");
        }
        other => panic!("{other:?}"),
    }
    let in_thread = json!({"ts": "1355517524.000001", "thread_ts": "1355517000.000001"});
    match press(in_thread) {
        Some(Incoming::Pressed { address, .. }) => {
            assert_eq!(address.to_string(), "slack:C1:1355517000.000001");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(press(json!({})), None);
}

#[test]
fn slash_commands_are_ours_with_and_without_our_name() {
    for (command, text, expected) in [
        ("/peacrab", "sh df -h", "/sh df -h"),
        ("/peacrab", "", "/help"),
        ("/crab", "/sh a &amp; b", "/sh a & b"),
        ("/peacrab-dev", "!help", "/help"),
        ("/sh", "df", "/sh df"),
        ("/new", "", "/new"),
    ] {
        let payload = json!({
            "command": command, "text": text, "channel_id": "D1", "user_id": "U1", "user_name": "ana",
            "trigger_id": "13345224609.738474920.8088930838d88f008e0",
        });
        let read = with(&scope(GroupPolicy::Mention), |reader| {
            reader.command(&payload.to_string())
        });
        let envelope = envelope(read);
        assert_eq!(envelope.text, expected);
        assert_eq!(
            envelope.id,
            "slack:command.13345224609.738474920.8088930838d88f008e0"
        );
        assert_eq!(envelope.reference, "");
    }
}

proptest! {
    #[test]
    fn any_payload_is_read(text in any::<String>(), member in "[a-z_]{1,12}", value in "[\\[\\]{}\"a-z0-9:,.]{0,40}") {
        let mut event = message("C1", &text);
        event[member] = json!(value);
        let _ = event_of(&scope(GroupPolicy::Open), event);
        with(&scope(GroupPolicy::Open), |reader| {
            let _ = (reader.event(&text), reader.press(&text), reader.command(&text));
        });
    }
}

#[test]
fn a_forged_message_makes_no_one_of_anyone() {
    let changed = |changes: Value| {
        let mut event = message("D1", "hello");
        for (name, value) in changes.as_object().unwrap() {
            event[name] = value.clone();
        }
        event_of(&scope(GroupPolicy::Mention), event)
    };
    assert!(changed(json!({})).is_some());
    for changes in [
        json!({"user": null}),
        json!({"user": ""}),
        json!({"user": {"id": "U1"}}),
        json!({"user": "*"}),
        json!({"user": "u1"}),
        json!({"user": " U1"}),
        json!({"user": "U1\n"}),
        json!({"user": "U1/../U2"}),
        json!({"user": "U".repeat(500)}),
        json!({"user": "UBOT"}),
        json!({"bot_id": "B1"}),
        json!({"bot_id": ""}),
        json!({"bot_profile": {"id": "B1"}}),
        json!({"subtype": "bot_message"}),
        json!({"subtype": "channel_join"}),
        json!({"channel": "../users"}),
        json!({"channel": ["D1"]}),
        json!({"ts": "1"}),
        json!({"ts": "1.000005/../x"}),
        json!({"ts": null}),
    ] {
        assert_eq!(changed(changes.clone()), None, "{changes}");
    }
}

#[test]
fn an_event_of_another_workspace_is_not_ours_and_names_from_there_do_not_count() {
    let scope = scope(GroupPolicy::Open);
    let read = |more: Value| {
        let mut payload = json!({"type": "event_callback", "event": message("D1", "hello")});
        for (name, value) in more.as_object().unwrap() {
            payload[name] = value.clone();
        }
        with(&scope, |reader| reader.event(&payload.to_string()))
    };
    for (more, is_ours) in [
        (json!({"team_id": "T1"}), true),
        (json!({}), true),
        (
            json!({"team_id": "T2", "authorizations": [{"team_id": "T1"}]}),
            true,
        ),
        (json!({"team_id": "T2"}), false),
        (
            json!({"team_id": "T2", "authorizations": [{"team_id": "T3"}]}),
            false,
        ),
    ] {
        assert_eq!(read(more.clone()).is_some(), is_ours, "{more}");
    }
    let name_of = |more: Value| {
        let mut event = message("D1", "hello");
        for (name, value) in more.as_object().unwrap() {
            event[name] = value.clone();
        }
        match event_of(&scope, event) {
            Some(Incoming::Message { username, .. }) => username,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(name_of(json!({"user_team": "T1", "team": "T1"})), "ana");
    for team in ["user_team", "source_team", "team"] {
        assert_eq!(name_of(json!({team: "T2"})), "", "{team}");
    }
    let press = |more: Value| {
        let mut payload = json!({
            "type": "block_actions", "channel": {"id": "D1"}, "user": {"id": "U7", "username": "ana", "team_id": "T1"},
            "message": {"ts": "1355517523.000005"}, "actions": [{"value": "x", "action_ts": "1.000001"}],
        });
        for (name, value) in more.as_object().unwrap() {
            payload[name] = value.clone();
        }
        match with(&scope, |reader| reader.press(&payload.to_string())) {
            Some(Incoming::Pressed {
                sender, username, ..
            }) => Some((sender.id, username)),
            _ => None,
        }
    };
    let of = |name: &str| Some(("U7".to_owned(), name.to_owned()));
    assert_eq!(press(json!({})), of("ana"));
    assert_eq!(press(json!({"team": {"id": "T2"}})), None);
    assert_eq!(
        press(json!({"user": {"id": "U7", "username": "ana", "team_id": "T2"}})),
        of("")
    );
    assert_eq!(press(json!({"user": {"id": "UBOT"}})), None);
    assert_eq!(press(json!({"user": "U7"})), None);
}
