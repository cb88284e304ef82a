use super::*;
use crate::base::limits::channels::feishu::MESSAGE_JSON_BYTES;
use crate::channels::feishu::BUTTON_DATA_BYTES;

fn button(label: &str, data: &str) -> Button {
    Button {
        label: label.to_owned(),
        data: data.to_owned(),
    }
}

fn read(card: &str) -> Value {
    serde_json::from_str(card).unwrap()
}

#[test]
fn a_card_has_its_text_and_its_buttons() {
    let to = Address::parse("feishu:oc_1:om_2");
    let buttons = vec![
        vec![button("Run once", "q:7:once"), button("Deny", "q:7:deny")],
        vec![button("Always", "q:7:always")],
    ];
    let post = Post {
        text: "**Run** `ls`&#63;",
        is_marked: true,
        buttons: &buttons,
        ..Post::default()
    };
    let card = read(&card(&to, &post));
    assert_eq!(
        (&card["schema"], &card["config"]["update_multi"]),
        (&json!("2.0"), &json!(true))
    );
    let elements = card["body"]["elements"].as_array().unwrap();
    assert_eq!(
        elements[0],
        json!({"tag": "markdown", "content": post.text})
    );
    assert_eq!(elements.len(), 3);
    let first = &elements[1]["columns"][1]["elements"][0];
    assert_eq!(first["text"]["content"], "Deny");
    let value = &first["behaviors"][0]["value"];
    assert_eq!(value["to"], "oc_1:om_2");
    assert_eq!(
        (&value["data"], &value["text"]),
        (&json!("q:7:deny"), &json!("**Run** `ls`?"))
    );
    let plain = Post {
        is_marked: false,
        ..post
    };
    let card = read(&super::card(&to, &plain));
    assert_eq!(card["body"]["elements"][0]["text"]["tag"], "plain_text");
}

#[test]
fn the_largest_card_is_within_feishus_bound() {
    let to = Address::parse(&format!("feishu:oc_{0}:om_{0}", "0".repeat(32)));
    let row = vec![button(&"标".repeat(80), &"\"".repeat(BUTTON_DATA_BYTES)); 2];
    // A question has four buttons, a terminal a dozen short ones.
    let buttons = vec![row; 2];
    let post = Post {
        text: &"\n".repeat(MESSAGE_JSON_BYTES / 3),
        is_marked: true,
        buttons: &buttons,
        ..Post::default()
    };
    let body = json!({"content": card(&to, &post)}).to_string();
    assert!(body.len() < 30 * 1024, "{}", body.len());
    let said =
        read(&card(&to, &post))["body"]["elements"][1]["columns"][0]["elements"][0]["behaviors"][0]
            ["value"]["text"]
            .clone();
    assert_eq!(said, "", "a part would be taken for the whole");
}

#[test]
fn reactions_and_files_have_feishus_names() {
    for (emoji, expected) in [
        ("THUMBSUP", "THUMBSUP"),
        ("👀", "GLANCE"),
        ("✅", "DONE"),
        ("🦀", "THUMBSUP"),
    ] {
        assert_eq!(reaction(emoji), expected);
    }
    for (name, expected) in [
        ("a.PNG", Shape::Image),
        ("a.docx", Shape::File("doc", "file")),
        ("a.mp4", Shape::File("mp4", "media")),
        ("voice.opus", Shape::File("opus", "audio")),
        ("a.tar.gz", Shape::File("stream", "file")),
        ("png", Shape::File("stream", "file")),
    ] {
        assert_eq!(shape(name), expected, "{name}");
    }
}
