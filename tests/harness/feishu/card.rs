//! What Feishu takes as a message's content, and what people see of it.

use serde_json::Value;

use super::fault::Refusal;
use super::store::Button;

/// Bytes of a request with a card; one with text may have more.
const CARD_BYTES: usize = 30 * 1024;
const TEXT_BYTES: usize = 150 * 1024;
/// Tables of a card, and elements.
const TABLES: usize = 5;
const ELEMENTS: usize = 200;

/// What people see of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub text: String,
    pub buttons: Vec<Button>,
}

/// Checks the content of a message; `bytes` is the length of the whole request.
pub(super) fn check(kind: &str, content: &Value, bytes: usize) -> Result<Seen, Refusal> {
    let Some(content) = content.as_str() else {
        return Err(invalid("content is not a string"));
    };
    let Ok(content) = serde_json::from_str::<Value>(content) else {
        return Err(invalid("content is not in JSON format"));
    };
    let most = if kind == "text" {
        TEXT_BYTES
    } else {
        CARD_BYTES
    };
    if bytes > most {
        return Err(Refusal::new(
            230_025,
            "The length of the message content reaches its limit",
        ));
    }
    match kind {
        "text" => {
            let text = content["text"].as_str().filter(|text| !text.is_empty());
            let text = text.ok_or_else(|| invalid("text is empty"))?;
            if text.contains("<at ") {
                return Err(invalid("a text that notifies somebody"));
            }
            Ok(Seen {
                text: text.to_owned(),
                buttons: Vec::new(),
            })
        }
        "interactive" => card(&content),
        "image" | "file" | "audio" | "media" => Ok(Seen::default()),
        kind => Err(invalid(&format!("msg_type {kind}"))),
    }
}

fn invalid(words: &str) -> Refusal {
    let words = format!("Your request contains an invalid request parameter, ext={words}");
    Refusal::new(230_001, &words)
}

fn refused(code: u32, words: &str) -> Refusal {
    let words = format!(
        "Failed to create card content, ext=ErrCode: {code}; ErrMsg: {words}; ErrorValue: ; "
    );
    Refusal::new(230_099, &words)
}

fn card(card: &Value) -> Result<Seen, Refusal> {
    if card["schema"] != "2.0" {
        return Err(refused(200_621, "this test takes cards of the version 2.0"));
    }
    if card["config"]["update_multi"] != true {
        return Err(refused(200_340, "a card that nobody could change"));
    }
    let elements = card["body"]["elements"].as_array();
    let elements = elements.filter(|elements| !elements.is_empty());
    let elements = elements.ok_or_else(|| refused(200_621, "no elements"))?;
    let mut seen = Seen::default();
    let mut count = 0;
    for element in elements {
        read(element, &mut seen, &mut count)?;
    }
    if count > ELEMENTS {
        return Err(refused(11_311, "card element number over limit"));
    }
    if tables(&seen.text) > TABLES {
        return Err(refused(11_310, "card table number over limit"));
    }
    Ok(seen)
}

fn read(element: &Value, seen: &mut Seen, count: &mut usize) -> Result<(), Refusal> {
    *count += 1;
    let words = |value: &Value| {
        let words = value.as_str().filter(|words| !words.is_empty());
        let words = words.map(str::to_owned);
        words.ok_or_else(|| refused(11_246, "content is empty"))
    };
    match element["tag"].as_str().unwrap_or_default() {
        "markdown" => seen.text += &decode(&words(&element["content"])?),
        "div" if element["text"]["tag"] == "plain_text" => {
            seen.text += &words(&element["text"]["content"])?;
        }
        "column_set" => {
            for column in list(&element["columns"])? {
                if column["tag"] != "column" {
                    return Err(refused(
                        200_621,
                        "a column_set of something else than columns",
                    ));
                }
                *count += 1;
                for inner in list(&column["elements"])? {
                    read(inner, seen, count)?;
                }
            }
        }
        "button" => {
            let behaviors = list(&element["behaviors"])?;
            let value = &behaviors[0]["value"];
            if behaviors[0]["type"] != "callback" || !value.is_object() {
                return Err(refused(200_621, "a button that does nothing"));
            }
            if element["text"]["tag"] != "plain_text" {
                return Err(refused(200_621, "a button without a label"));
            }
            seen.buttons.push(Button {
                label: words(&element["text"]["content"])?,
                value: value.clone(),
            });
        }
        // Cards of the version 2.0 have no such element any more.
        tag => {
            return Err(refused(200_861, &format!("unsupported tag {tag}")));
        }
    }
    Ok(())
}

fn list(value: &Value) -> Result<&Vec<Value>, Refusal> {
    let list = value.as_array().filter(|list| !list.is_empty());
    list.ok_or_else(|| refused(200_621, "an empty list"))
}

/// Tables outside of code.
fn tables(markdown: &str) -> usize {
    let mut is_code = false;
    let lines = markdown.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.contains('|') && line.contains("---")
    });
    lines.count()
}

/// Entities as people see them.
pub(super) fn decode(text: &str) -> String {
    let mut pieces = text.split("&#");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let decoded = piece.split_once(';').and_then(|(code, rest)| {
            let char = char::from_u32(code.parse().ok()?)?;
            Some((char, rest))
        });
        match decoded {
            Some((char, rest)) => {
                out.push(char);
                out += rest;
            }
            None => out += &format!("&#{piece}"),
        }
    }
    out
}

/// The names of reactions that the fake knows; the real list is longer.
pub(super) const REACTIONS: [&str; 12] = [
    "THUMBSUP", "OK", "DONE", "GLANCE", "PARTY", "Fire", "THANKS", "APPLAUSE", "MUSCLE",
    "THINKING", "Hundred", "Pin",
];
