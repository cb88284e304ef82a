//! A button of the model's that was pressed, and its message as people see it. Pure.

use serde_json::{Value, json};

use crate::channels::kit::buttons::{self, Press};
use crate::channels::telegram::api::types::{Entity, Message};

/// A choice, and what its message shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The label of the button.
    pub label: String,
    /// The text or the caption; empty where Telegram does not say.
    pub text: String,
    /// The formatted parts of the text, as `MessageEntity`.
    pub entities: Vec<Value>,
    /// Whether the text is the caption of a file.
    pub is_caption: bool,
}

impl Chosen {
    /// Reads the choice that a button's data makes; `None` for a button of the program's own.
    pub fn read(message: &Message, data: &str) -> Option<Self> {
        let Some(Press::Text(cut)) = buttons::read(data) else {
            return None;
        };
        let mut known = message.reply_markup.inline_keyboard.iter().flatten();
        let label = known.find(|button| button.callback_data == data);
        let is_caption = message.text.is_empty();
        let (text, entities) = match is_caption {
            true => (&message.caption, &message.caption_entities),
            false => (&message.text, &message.entities),
        };
        Some(Self {
            label: label.map_or(cut, |button| button.text.clone()),
            text: text.clone(),
            entities: entities.iter().filter_map(formatted).collect(),
            is_caption,
        })
    }
}

/// A formatted part as it is sent again; `None` for what Telegram finds by itself.
fn formatted(entity: &Entity) -> Option<Value> {
    const FOUND: [&str; 4] = ["mention", "text_mention", "custom_emoji", "date_time"];
    if FOUND.contains(&entity.kind.as_str()) {
        return None;
    }
    let mut part = json!({"type": entity.kind, "offset": entity.offset, "length": entity.length});
    for (name, value) in [("url", &entity.url), ("language", &entity.language)] {
        if !value.is_empty() {
            part[name] = json!(value);
        }
    }
    Some(part)
}
