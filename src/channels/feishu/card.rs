//! Messages as Feishu takes them. Pure.
//!
//! All text goes out as cards: only they have markup and buttons, and can be changed later.
//! <https://open.feishu.cn/document/uAjLw4CM/ukzMukzMukzM/feishu-cards/card-json-v2-structure>

use serde_json::{Value, json};

use crate::base::message::Address;
use crate::channels::kit::adapter::{Button, Post};
use crate::channels::kit::markdown::cards::{json_bytes, without_entities};
use crate::text::truncate_chars;

/// Characters of a button's label.
const LABEL_CHARS: usize = 60;
/// Rows of buttons below a message.
const BUTTON_ROWS: usize = 10;
/// Buttons in one row.
const ROW_BUTTONS: usize = 5;
/// Bytes of a message's text that each of its buttons carries; a reminder has fewer.
const BUTTON_TEXT_BYTES: usize = 600;

/// A message's card, as text. The buttons carry where they are, and what the message says: a press tells neither.
pub fn card(to: &Address, post: &Post<'_>) -> String {
    let text = if post.is_marked {
        json!({"tag": "markdown", "content": post.text})
    } else {
        json!({
            "tag": "div", "text": {"tag": "plain_text", "content": post.text},
        })
    };
    let mut elements = vec![text];
    let said = if post.is_marked {
        without_entities(post.text)
    } else {
        post.text.to_owned()
    };
    // A part would be taken for the whole.
    let said = Some(said).filter(|said| json_bytes(said) <= BUTTON_TEXT_BYTES);
    let place = to.within_channel();
    let rows = post.buttons.iter().flat_map(|row| row.chunks(ROW_BUTTONS));
    for row in rows.take(BUTTON_ROWS) {
        let columns: Vec<Value> = row
            .iter()
            .map(|button| column(button, &place, said.as_deref()))
            .collect();
        elements.push(json!({"tag": "column_set", "flex_mode": "flow", "columns": columns}));
    }
    json!({
        "schema": "2.0",
        // Without this it could not be changed.
        "config": {"update_multi": true},
        "body": {"elements": elements},
    })
    .to_string()
}

fn column(button: &Button, place: &str, said: Option<&str>) -> Value {
    let label = truncate_chars(&button.label, LABEL_CHARS);
    let value = json!({
        "to": place, "data": button.data, "label": label, "text": said.unwrap_or_default(),
    });
    json!({
        "tag": "column", "width": "auto",
        "elements": [{
            "tag": "button", "type": "default",
            "text": {"tag": "plain_text", "content": label},
            "behaviors": [{"type": "callback", "value": value}],
        }],
    })
}

/// The name that Feishu has for a reaction. Names are taken as they are.
pub fn reaction(emoji: &str) -> &str {
    let known = [
        ("👀", "GLANCE"),
        ("👍", "THUMBSUP"),
        ("👌", "OK"),
        ("✅", "DONE"),
        ("🎉", "PARTY"),
        ("🔥", "Fire"),
        ("🙏", "THANKS"),
        ("👏", "APPLAUSE"),
        ("💪", "MUSCLE"),
        ("🤔", "THINKING"),
        ("💯", "Hundred"),
    ];
    let bare = emoji.trim_end_matches('\u{fe0f}');
    let found = known.iter().find(|(known, _)| *known == bare);
    match found {
        Some((_, name)) => name,
        None if bare.is_ascii() => bare,
        // Feishu refuses what it does not know.
        None => "THUMBSUP",
    }
}

/// How a file is uploaded, and the kind of the message that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A picture.
    Image,
    /// A file of this type, shown by a message of this kind.
    File(&'static str, &'static str),
}

/// How a file of this name is sent. Feishu refuses a message whose kind does not match the file's type.
pub fn shape(name: &str) -> Shape {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" | "png" | "gif" | "webp" | "bmp" => Shape::Image,
        "opus" => Shape::File("opus", "audio"),
        "mp4" => Shape::File("mp4", "media"),
        "pdf" => Shape::File("pdf", "file"),
        "doc" | "docx" => Shape::File("doc", "file"),
        "xls" | "xlsx" => Shape::File("xls", "file"),
        "ppt" | "pptx" => Shape::File("ppt", "file"),
        _ => Shape::File("stream", "file"),
    }
}

#[cfg(test)]
mod tests;
