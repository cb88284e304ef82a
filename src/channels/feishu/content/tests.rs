use proptest::prelude::*;
use serde_json::json;

use super::*;

fn said(kind: &str, content: &Value) -> String {
    read(kind, &content.to_string(), "om_1").text
}

#[test]
fn each_kind_of_message_says_something() {
    for (kind, content, expected) in [
        ("text", json!({"text": " hello "}), "hello"),
        ("sticker", json!({"file_key": "f"}), "[a sticker]"),
        (
            "location",
            json!({"name": "Zoo [2]", "latitude": "47.3", "longitude": "8.5"}),
            "[a place: Zoo (2) 47.3, 8.5]",
        ),
        ("share_user", json!({"user_id": "ou_1"}), "[a contact]"),
        (
            "vote",
            json!({"topic": "Lunch?", "options": ["a"]}),
            "[a poll: Lunch?]",
        ),
        (
            "todo",
            json!({"summary": {"title": "Bread"}}),
            "[a task: Bread]",
        ),
        ("calendar", json!({"summary": ""}), "[a calendar event]"),
        ("system", json!({"template": "x"}), ""),
        (
            "hologram",
            json!({}),
            "[a message of an unknown kind: hologram]",
        ),
        ("interactive", json!({}), "[a card]"),
        (
            "interactive",
            json!({"title": "News", "elements": [[{"tag": "text", "text": "one"}], [{"tag": "text", "text": "two"}]]}),
            "[a card]\nNews\none\ntwo",
        ),
        (
            "interactive",
            json!({"elements": [[{"text": "old"}]], "user_dsl": "{\"body\":{\"elements\":[{\"tag\":\"markdown\",\"content\":\"a&#42;b\"},{\"tag\":\"column_set\",\"columns\":[{\"elements\":[{\"tag\":\"button\",\"text\":{\"content\":\"no\"}}]}]}]}}"}),
            "[a card]\na*b",
        ),
    ] {
        assert_eq!(said(kind, &content), expected, "{kind} {content}");
    }
    assert_eq!(read("text", "{", "om_1"), Content::default());
    assert!(read("merge_forward", "{}", "om_1").is_forwarded);
}

#[test]
fn files_are_known_by_their_message_and_their_key() {
    for (kind, content, media, id, name) in [
        (
            "image",
            json!({"image_key": "img_1"}),
            Media::Photo,
            "om_1 image img_1",
            "image.jpg",
        ),
        (
            "file",
            json!({"file_key": "file_1", "file_name": "a b.txt"}),
            Media::Document,
            "om_1 file file_1",
            "a b.txt",
        ),
        (
            "audio",
            json!({"file_key": "f", "duration": 7}),
            Media::Voice,
            "om_1 file f",
            "voice.opus",
        ),
        (
            "media",
            json!({"file_key": "f", "image_key": "i", "file_name": "a.mp4"}),
            Media::Video,
            "om_1 file f",
            "a.mp4",
        ),
    ] {
        let content = read(kind, &content.to_string(), "om_1");
        assert_eq!(content.text, "", "{kind}");
        let [file] = content.files.as_slice() else {
            panic!("{kind}: {content:?}");
        };
        assert_eq!(
            (file.media, file.id.as_str(), file.name.as_str()),
            (media, id, name)
        );
        let read = FileId::parse(id).unwrap();
        assert_eq!(read.to_string(), id);
    }
    for odd in [
        "",
        "om_1 file",
        "om_1 file a/b",
        "om_1 file a?b",
        "../x image a",
    ] {
        assert_eq!(FileId::parse(odd), None, "{odd}");
    }
    let odd = json!({"file_key": "../../secret"});
    assert!(read("file", &odd.to_string(), "om_1").files.is_empty());
}

#[test]
fn rich_text_is_read_as_markdown() {
    let post = json!({
        "title": "Plan",
        "content": [
            [
                {"tag": "text", "text": "see "},
                {"tag": "a", "text": "this", "href": "https://a.org"},
                {"tag": "at", "user_id": "@_user_1", "user_name": "Bob"},
                {"tag": "emotion", "emoji_type": "SMILE"},
            ],
            [{"tag": "img", "image_key": "img_1"}],
            [{"tag": "code_block", "language": "RUST", "text": "fn f() {}"}],
            [{"tag": "a", "text": "https://b.org", "href": "https://b.org"}, {"tag": "at", "user_id": "ou_2", "user_name": "Eve"}],
        ],
    });
    let expected = "Plan\nsee [this](https://a.org)@_user_1:SMILE:\n\n```rust\nfn f() {}\n```\n\nhttps://b.org@Eve";
    let content = read("post", &post.to_string(), "om_1");
    assert_eq!(content.text, expected);
    assert_eq!(content.files[0].id, "om_1 image img_1");
    assert_eq!(said("post", &json!({"zh_cn": post})), expected);
}

fn mention(key: &str, id: &str, name: &str) -> Mention {
    Mention {
        key: key.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn mentions_become_names_and_the_bots_own_ones_go() {
    let mentions = [
        mention("@_user_1", "ou_bot", "crab"),
        mention("@_user_2", "ou_2", "Ann [x]"),
        mention("@_user_10", "ou_3", "Zoe"),
    ];
    for (text, expected) in [
        ("hello", "hello"),
        ("@_user_1 hello", "hello"),
        ("@_user_1, hello @_user_2", "hello @Ann (x)"),
        ("@_user_1 /status", "/status"),
        (
            "ask @_user_10 and @_user_2 @_user_1",
            "ask @Zoe and @Ann (x)",
        ),
        ("is @_user_1 there", "is @crab there"),
        ("@_user_1", ""),
        ("@_all lunch", "@all lunch"),
        ("a@_b @_user_7", "a@_b @_user_7"),
    ] {
        let own = without_bot(text, &mentions, "ou_bot");
        assert_eq!(with_names(own, &mentions), expected, "{text}");
    }
    assert_eq!(without_bot("@_user_1 x", &mentions, ""), "@_user_1 x");
}

proptest! {
    #[test]
    fn nothing_is_too_odd(
        text in "(@_user_[0-9]{1,2}|@_|@|[a-z ,]|ü){0,12}",
        kind in "text|post|image|interactive|todo|file|[a-z]{1,5}",
        content in "[\\[\\]{}\":,a-z0-9]{0,60}",
    ) {
        let mentions = [mention("@_user_1", "ou_bot", "crab"), mention("@_user_2", "ou_2", "Ann")];
        let own = without_bot(&text, &mentions, "ou_bot");
        prop_assert!(!own.starts_with("@_user_1 ") && text.contains(own));
        with_names(&text, &mentions);
        read(&kind, &content, "om_1");
    }
}
