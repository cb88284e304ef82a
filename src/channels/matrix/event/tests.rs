use serde_json::{Value, json};

use super::*;

const ME: &str = "@bot:x.org";
const ROOM: &str = "!r:x.org";

/// Reads an event in a group, or in a private chat, with the policy.
fn read_in(
    is_group: bool,
    policy: GroupPolicy,
    event: &Value,
    needed: Option<&Value>,
) -> Option<Incoming> {
    let name_of = |user: &str| match user {
        "@ana:x.org" => "Ana".to_owned(),
        _ => String::new(),
    };
    let reader = Reader {
        me: ME,
        my_name: "Crabby Bot",
        room: ROOM,
        is_group,
        policy,
        name_of: &name_of,
        awaits: &|place, person| place.thread.is_some() && person == "@eve:x.org",
    };
    let texts = [Some(event), needed].map(|event| event.map(Value::to_string));
    let event = Event::read(texts[0].as_deref()?)?;
    let needed = texts[1].as_deref().and_then(Event::read);
    reader.read(&event, needed.as_ref())
}

fn private(event: &Value) -> Option<Envelope> {
    envelope(read_in(false, GroupPolicy::Mention, event, None))
}

fn mentioned(event: &Value) -> Option<Envelope> {
    envelope(read_in(true, GroupPolicy::Mention, event, None))
}

fn envelope(incoming: Option<Incoming>) -> Option<Envelope> {
    match incoming? {
        Incoming::Message { envelope, .. } => Some(envelope),
        other => panic!("{other:?}"),
    }
}

fn from(sender: &str, content: Value) -> Value {
    json!({"event_id": "$e", "sender": sender, "type": "m.room.message", "content": content})
}

fn ana(content: Value) -> Value {
    from("@ana:x.org", content)
}

fn text(body: &str) -> Value {
    json!({"msgtype": "m.text", "body": body})
}

fn with(mut content: Value, key: &str, value: Value) -> Value {
    content[key] = value;
    content
}

#[test]
fn a_text_is_a_message_with_its_sender_and_its_place() {
    let mut event = ana(text(" hello \n"));
    event["origin_server_ts"] = json!(1_769_851_697_611_u64);
    let message = private(&event).unwrap();
    assert_eq!(message.sent_at, Some(1_769_851_697));
    assert_eq!(message.id, "matrix:$e");
    assert_eq!(message.text, "hello");
    assert_eq!(message.address().to_string(), "matrix:!r%3Ax.org");
    let sender = message.sender().unwrap();
    assert_eq!(
        (sender.id.as_str(), sender.name.as_str()),
        ("@ana:x.org", "Ana")
    );
    let message = private(&from("@bob:x.org", text("你好"))).unwrap();
    assert_eq!(message.sender().unwrap().name, "bob");
    assert_eq!(message.language(), Language::Chinese);
}

#[test]
fn what_is_ours_or_no_message_means_nothing() {
    for event in [
        from(ME, text("hello")),
        ana(json!({"msgtype": "m.notice", "body": "a bot says"})),
        ana(json!({"msgtype": "m.key.verification.request", "body": "x"})),
        ana(json!({})),
        ana(text("  ")),
        ana(json!({"msgtype": "m.text", "body": {}})),
        json!({"event_id": "$e", "sender": "@ana:x.org", "type": "m.reaction", "content": text("x")}),
        json!({"event_id": "x", "sender": "@ana:x.org", "type": "m.room.message", "content": text("x")}),
    ] {
        assert_eq!(private(&event), None, "{event}");
    }
}

#[test]
fn an_emote_a_place_and_a_sticker_are_described() {
    let emote = ana(json!({"msgtype": "m.emote", "body": "waves"}));
    assert_eq!(private(&emote).unwrap().text, "* Ana waves");
    let place = ana(json!({"msgtype": "m.location", "body": "Home", "geo_uri": "geo:1,2"}));
    assert_eq!(private(&place).unwrap().text, "[a location: geo:1,2 Home]");
    let mut sticker = ana(json!({"body": "a [crab]", "url": "mxc://x.org/a"}));
    sticker["type"] = json!("m.sticker");
    assert_eq!(private(&sticker).unwrap().text, "[a sticker: a (crab)]");
}

#[test]
fn files_have_a_name_and_perhaps_a_caption() {
    let file = |kind: &str, more: Value| {
        let mut content = json!({"msgtype": kind, "body": "look", "url": "mxc://x.org/abc"});
        for (key, value) in more.as_object().unwrap() {
            content[key] = value.clone();
        }
        private(&ana(content))
    };
    let plain = file("m.image", json!({"info": {"size": 9}})).unwrap();
    assert_eq!(plain.text, "");
    let expected = RemoteFile {
        media: Media::Photo,
        id: "mxc://x.org/abc".to_owned(),
        size: Some(9),
        name: "look".to_owned(),
    };
    assert_eq!(plain.remote_files, [expected]);
    let with_caption = file("m.file", json!({"filename": "a.txt"})).unwrap();
    assert_eq!(with_caption.text, "look");
    assert_eq!(with_caption.remote_files[0].name, "a.txt");
    let voice = file("m.audio", json!({"org.matrix.msc3245.voice": {}})).unwrap();
    assert_eq!(voice.remote_files[0].media, Media::Voice);
    assert_eq!(file("m.video", json!({"url": "https://x.org/a"})), None);
    assert_eq!(
        file(
            "m.file",
            json!({"url": null, "file": {"url": "mxc://x.org/a"}})
        ),
        None
    );
}

#[test]
fn in_a_group_only_what_names_us_is_for_us() {
    for content in [
        text("Crabby Bot: hello"),
        text("crabby bot, hello"),
        text("@bot hello"),
        text("bot: hello"),
        text("@bot:x.org hello"),
        text("[@bot:x.org](https://matrix.to/#/@bot:x.org) hello"),
        with(text("bot: hello"), "m.mentions", json!({})),
        with(
            text("hello"),
            "m.mentions",
            json!({"user_ids": ["@a:x", ME]}),
        ),
        with(
            text("hello"),
            "formatted_body",
            json!("<a href=\"https://matrix.to/#/@bot:x.org\">Crabby</a> hello"),
        ),
    ] {
        let message = mentioned(&ana(content.clone()));
        assert_eq!(
            message.map(|message| message.text).as_deref(),
            Some("hello"),
            "{content}"
        );
    }
    assert_eq!(
        mentioned(&ana(text("Crabby Bot"))).unwrap().text,
        "Crabby Bot"
    );
    assert_eq!(
        mentioned(&ana(text("Crabby Bot: /sh id"))).unwrap().text,
        "/sh id"
    );
    for content in [
        text("hello"),
        text("bots are fun"),
        text("> <@bot:x.org> hi\n\nwell"),
        with(text("ask @bot:x.org"), "m.mentions", json!({})),
        with(
            text("hello"),
            "m.mentions",
            json!({"user_ids": ["@a:x"], "room": true}),
        ),
    ] {
        assert_eq!(mentioned(&ana(content.clone())), None, "{content}");
    }
    let any = ana(text("hello"));
    assert!(read_in(true, GroupPolicy::Open, &any, None).is_some());
    let named = ana(text("bot: hello"));
    assert_eq!(read_in(true, GroupPolicy::Off, &named, None), None);
}

#[test]
fn a_reply_to_us_is_for_us_and_quotes() {
    let reply = |body: &str| {
        let relation = json!({"m.in_reply_to": {"event_id": "$q"}});
        ana(with(text(body), "m.relates_to", relation))
    };
    let replied = |sender: &str, body: &str| json!({"event_id": "$q", "sender": sender, "type": "m.room.message", "content": text(body)});
    let read = |reply: &Value, replied: &Value| {
        envelope(read_in(true, GroupPolicy::Mention, reply, Some(replied)))
    };
    let message = read(
        &reply("> <@bot:x.org> one\n\nand then?"),
        &replied(ME, "one\ntwo"),
    );
    let message = message.unwrap();
    assert_eq!(message.text, "and then?");
    assert_eq!(message.quote, "> [you]: one\n> two");
    assert_eq!(message.replies_to, "$q");
    assert_eq!(read(&reply("hm"), &replied("@ana:x.org", "one")), None);
    let named = read(&reply("bot: hm"), &replied("@ana:x.org", "one")).unwrap();
    assert_eq!(named.quote, "> Ana: one");
    let mut other = replied(ME, "one");
    other["event_id"] = json!("$other");
    assert_eq!(read(&reply("hm"), &other), None);
    assert_eq!(read(&reply("bot: hm"), &other).unwrap().quote, "");
}

#[test]
fn a_thread_is_a_place_of_its_own_and_its_fallback_is_no_reply() {
    let relation = |is_fallback: bool| {
        json!({
            "rel_type": "m.thread", "event_id": "$root", "is_falling_back": is_fallback,
            "m.in_reply_to": {"event_id": "$last"},
        })
    };
    let said = |is_fallback| ana(with(text("hi"), "m.relates_to", relation(is_fallback)));
    let message = private(&said(true)).unwrap();
    assert_eq!(message.address().to_string(), "matrix:!r%3Ax.org:$root");
    assert_eq!(message.replies_to, "");
    assert_eq!(private(&said(false)).unwrap().replies_to, "$last");
    for odd in [
        json!({"m.in_reply_to": {"event_id": "no id"}}),
        json!({"is_falling_back": true, "m.in_reply_to": {"event_id": 7}}),
    ] {
        let odd = private(&ana(with(text("yes"), "m.relates_to", odd))).unwrap();
        assert_eq!(odd.replies_to, UNKNOWN_MESSAGE);
    }
    let secret = from(
        "@eve:x.org",
        with(text("hi"), "m.relates_to", relation(true)),
    );
    assert!(mentioned(&secret).is_some(), "a terminal waits for it");
}

#[test]
fn an_edit_with_the_words_of_others_does_not_count() {
    let forward = json!({"event_id": "$x"});
    let edit = |new: Value, mark: &str| {
        let content = json!({
            "msgtype": "m.text", "body": "* new", "m.new_content": new, mark: forward,
            "m.relates_to": {"rel_type": "m.replace", "event_id": "$q"},
        });
        from("@ana:x.org", content)
    };
    let original = |content: Value| json!({"event_id": "$q", "sender": "@ana:x.org", "type": "m.room.message", "content": content});
    let marked = |content: Value| with(content, "m.forwarded", forward.clone());
    let (plain, mark) = (original(text("old")), "m.forwarded");
    for (edit, original, is_taken) in [
        (edit(text("/sh id"), "m.other"), &plain, true),
        (edit(text("/sh id"), mark), &plain, false),
        (edit(marked(text("/sh id")), "m.other"), &plain, false),
        (
            edit(text("/sh id"), "m.other"),
            &original(marked(text("old"))),
            false,
        ),
    ] {
        let read = read_in(false, GroupPolicy::Open, &edit, Some(original));
        assert_eq!(read.is_some(), is_taken, "{edit:?}");
    }
}

#[test]
fn an_edit_counts_when_it_is_of_the_same_person() {
    let edit = |sender: &str| {
        let content = json!({
            "msgtype": "m.text", "body": "* new", "m.new_content": text("new"),
            "m.relates_to": {"rel_type": "m.replace", "event_id": "$q"},
        });
        from(sender, content)
    };
    let original = |content: Value| json!({"event_id": "$q", "sender": "@ana:x.org", "type": "m.room.message", "content": content});
    let thread = json!({"rel_type": "m.thread", "event_id": "$root"});
    for (content, session) in [
        (text("old"), "matrix:!r%3Ax.org"),
        (
            with(text("old"), "m.relates_to", thread),
            "matrix:!r%3Ax.org:$root",
        ),
    ] {
        let read = read_in(
            true,
            GroupPolicy::Mention,
            &edit("@ana:x.org"),
            Some(&original(content)),
        );
        let Some(Incoming::Edited {
            session: of,
            reference,
            text,
        }) = read
        else {
            panic!("{read:?}");
        };
        assert_eq!(
            (of.as_str(), reference.as_str(), text.as_str()),
            (session, "$q", "new")
        );
    }
    let old = original(text("old"));
    assert_eq!(
        read_in(false, GroupPolicy::Open, &edit("@eve:x.org"), Some(&old)),
        None
    );
    assert_eq!(
        read_in(false, GroupPolicy::Open, &edit("@ana:x.org"), None),
        None
    );
    let id = |event: &Value| {
        let text = event.to_string();
        needed(&Event::read(&text).unwrap())
    };
    assert_eq!(id(&edit("@ana:x.org")).as_deref(), Some("$q"));
    assert_eq!(id(&ana(text("x"))), None);
}
