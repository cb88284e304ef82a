//! What encoders ask of a conversation.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::base::chat::{Entry, EntryKind, Image, ToolSpec};
use crate::base::json;

/// Where the running turn begins: after the assistant's last entry that calls no tool.
pub fn running_turn(entries: &[&Entry]) -> usize {
    let closes = |entry: &&Entry| entry.kind == EntryKind::Assistant && entry.tool_calls.is_empty();
    entries.iter().rposition(closes).map_or(0, |last| last + 1)
}

/// A piece of a message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Text.
    Text(&'a str),
    /// An image.
    Image(&'a Image),
    /// Where an image would be, for a model that does not see.
    Unseen(&'a Image),
    /// Which file the image after it is.
    Caption(&'a Image),
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Caption(image) => write!(f, "[image {}]", image.path),
            Self::Image(image) | Self::Unseen(image) => {
                write!(f, "[image {}: this model cannot see images]", image.path)
            }
        }
    }
}

/// An entry's parts: its text, if there is any, and its images.
pub fn parts(entry: &Entry, sees: bool) -> impl Iterator<Item = Part<'_>> {
    let text = Some(entry.content.as_str()).filter(|text| !text.trim().is_empty());
    let image = move |image| {
        if sees {
            Part::Image(image)
        } else {
            Part::Unseen(image)
        }
    };
    let images = entry.images.iter().map(image);
    text.map(Part::Text).into_iter().chain(images)
}

/// Writes a value by its `Display`, straight into the JSON text.
pub struct Shown<T>(pub T);

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Several parts as one text, with an empty line between them.
pub struct Joined<'a, 'p>(pub &'p [Part<'a>]);

impl fmt::Display for Joined<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

/// A tool's schema, as it goes into the request. The tool registry has checked that it is JSON.
pub fn parameters(tool: &ToolSpec) -> &RawValue {
    json::borrowed_from_str(&tool.parameters).unwrap_or(RawValue::NULL)
}

/// A call's arguments as a JSON object. What a model wrote that is none would make servers refuse
/// the whole conversation, so it goes back as the member `arguments` of one.
pub fn arguments(written: &str) -> Cow<'_, RawValue> {
    let written = match written.trim() {
        "" => "{}",
        written => written,
    };
    match json::borrowed_from_str::<&RawValue>(written) {
        Ok(object) if written.starts_with('{') => Cow::Borrowed(object),
        _ => {
            // A text always becomes JSON.
            let wrapped = serde_json::value::to_raw_value(&Wrapped { arguments: written });
            wrapped.map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned)
        }
    }
}

#[derive(Serialize)]
struct Wrapped<'a> {
    arguments: &'a str,
}

/// A call's id as Anthropic takes it: letters, digits, `_` and `-`. Other providers' ids have more.
pub fn plain_id(id: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if id.chars().all(is_plain) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(id.replace(|letter| !is_plain(letter), "_"))
}

/// A call's id as OpenAI's Responses API takes it. Longer ones are hashed.
pub fn bounded_id(id: &str) -> Cow<'_, str> {
    /// <https://developers.openai.com/api/reference/resources/responses>
    const CHARS: usize = 64;
    if id.chars().count() <= CHARS {
        Cow::Borrowed(id)
    } else {
        short_id(id)
    }
}

/// A call's id as Mistral takes it: nine letters or digits. Others are hashed (FNV-1a).
pub fn short_id(id: &str) -> Cow<'_, str> {
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Cow::Owned(format!("{:09x}", hash & 0xf_ffff_ffff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        for (written, object) in [
            (r#" {"a":1} "#, r#"{"a":1}"#),
            ("", "{}"),
            (r#"{"a":1"#, r#"{"arguments":"{\"a\":1"}"#),
            ("[1]", r#"{"arguments":"[1]"}"#),
        ] {
            assert_eq!(arguments(written).get(), object);
        }
    }

    #[test]
    fn ids_fit_the_api_that_gets_them() {
        assert_eq!(plain_id("call_A-1"), "call_A-1");
        assert_eq!(plain_id("functions.ls:0"), "functions_ls_0");
        assert_eq!(short_id("abcDEF123"), "abcDEF123");
        let short = short_id("call_1");
        assert_eq!(short.len(), 9);
        assert_ne!(short, short_id("call_2"));
    }

    #[test]
    fn the_running_turn_begins_after_the_last_answer() {
        let call = crate::base::chat::ToolCall {
            id: "1".to_owned(),
            name: "ls".to_owned(),
            arguments: String::new(),
            signature: None,
        };
        let mut calling = Entry::new(EntryKind::Assistant, "");
        calling.tool_calls.push(call);
        let person = Entry::new(EntryKind::Person, "hi");
        let answer = Entry::new(EntryKind::Assistant, "done");
        assert_eq!(running_turn(&[]), 0);
        assert_eq!(running_turn(&[&person]), 0);
        assert_eq!(running_turn(&[&person, &calling, &answer]), 3);
        assert_eq!(running_turn(&[&person, &answer, &person, &calling]), 2);
    }
}
