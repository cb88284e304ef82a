//! What the real server accepts as blocks. <https://docs.slack.dev/reference/block-kit/blocks>

use std::collections::BTreeSet;

use serde_json::Value;

/// Checks blocks; the error says what is wrong.
pub(super) fn check(blocks: &Value) -> Result<(), String> {
    let list = blocks.as_array().ok_or("the blocks are no list")?;
    if list.len() > 50 {
        return Err(format!("{} blocks", list.len()));
    }
    list.iter().try_for_each(check_one)
}

fn check_one(block: &Value) -> Result<(), String> {
    match block["type"].as_str().unwrap_or_default() {
        "section" => check_text(&block["text"], 3000, &["mrkdwn", "plain_text"]),
        "actions" => {
            let elements = block["elements"]
                .as_array()
                .ok_or("actions without elements")?;
            if !(1..=25).contains(&elements.len()) {
                return Err(format!("{} elements", elements.len()));
            }
            let mut ids = BTreeSet::new();
            for button in elements {
                if button["type"] != "button" {
                    return Err(format!("not a button: {button}"));
                }
                check_text(&button["text"], 75, &["plain_text"])?;
                let length =
                    |name: &str| button[name].as_str().map_or(0, |text| text.chars().count());
                if length("value") > 2000 || length("action_id") > 255 {
                    return Err("a value or an id that is too long".to_owned());
                }
                if !ids.insert(button["action_id"].to_string()) {
                    return Err("two elements with one id".to_owned());
                }
            }
            Ok(())
        }
        kind => Err(format!("the fake knows no block {kind:?}")),
    }
}

fn check_text(text: &Value, most: usize, kinds: &[&str]) -> Result<(), String> {
    let kind = text["type"].as_str().unwrap_or_default();
    let length = text["text"].as_str().map_or(0, |text| text.chars().count());
    match kinds.contains(&kind) && (1..=most).contains(&length) {
        true => Ok(()),
        false => Err(format!(
            "a text of the kind {kind:?} with {length} characters"
        )),
    }
}
