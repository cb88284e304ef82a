//! Stickers: `stickers/index.json` of the workspace gives pictures names, by which the model sends them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::Context;
use super::web::Web;
use crate::base::chat::ToolSpec;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::sandbox::files::Workspace;
use crate::sys::file::read_beginning;
use crate::text::{is_invisible, one_line};

/// The names, each with a file of the workspace or an address.
const INDEX: &str = "stickers/index.json";
/// The folder of what addresses gave. Those of the prompt are not written for someone who is not an owner.
const FETCHED: &str = ".stickers";
/// Bytes of the index.
const INDEX_BYTES: usize = 16 * 1024;
/// Stickers of an index: their names are in every request.
const STICKERS_MAX: usize = 64;
/// Characters of a name.
const NAME_CHARS: usize = 32;
/// Bytes of a picture that is fetched: the most that Telegram takes for a sticker.
const PICTURE_BYTES: usize = 512 * 1024;
/// Bytes of a file's beginning by which its kind is known.
const HEAD_BYTES: u64 = 12;
/// Characters of what is wrong with an index, for the model.
const FAULT_CHARS: usize = 160;

/// Adds the stickers to the tool that sends messages, where there is an index. A bad one is said there.
pub(super) fn offer(workspace: &Workspace, message: &mut ToolSpec) {
    const END: &str = r#"},"required""#;
    let Some(index) = read(workspace) else {
        return;
    };
    let member = match index {
        Ok(index) => {
            let names: Vec<&String> = index.keys().collect();
            json!({"type": "string", "enum": names, "description": "a sticker, by its name; content may be empty"})
        }
        Err(error) => json!({"type": "string", "description": format!("Not usable: {error}")}),
    };
    let end = format!(",\"sticker\":{member}{END}");
    message.parameters = message.parameters.replacen(END, &end, 1).into();
}

/// The file of a sticker; one that has an address is fetched.
pub(super) fn find(context: &Context<'_>, web: Option<&Web>, name: &str) -> Result<String> {
    let index = read(context.workspace).unwrap_or_else(|| {
        Err(Error::Failed(format!(
            "there are no stickers: {INDEX} is missing"
        )))
    })?;
    let Some(place) = index.get(name) else {
        let names: Vec<&str> = index.keys().map(String::as_str).collect();
        let names = names.join(", ");
        return Err(Error::Failed(format!(
            "there is no sticker {name:?}; there are {names}"
        )));
    };
    let no_sticker =
        |what: &str| Error::Failed(format!("{what} is neither a picture nor a sticker"));
    if !place.contains("://") {
        // It is opened again when it is sent.
        let file = context.workspace.open_read(Path::new(place))?;
        let head = read_beginning(&file, HEAD_BYTES).map_err(Error::io("read", place))?;
        return match ending_of(&head) {
            Some(_) => Ok(place.clone()),
            None => Err(no_sticker(place)),
        };
    }
    let web = web.ok_or_else(|| {
        Error::Failed(format!(
            "the sticker {name} has an address, and the web is turned off here (tools.web.enabled)"
        ))
    })?;
    let picture = web.picture(context, place, PICTURE_BYTES)?;
    let ending = ending_of(&picture).ok_or_else(|| no_sticker(&format!("what is at {place}")))?;
    let path = format!("{FETCHED}/{name}.{ending}");
    context.workspace.write(Path::new(&path), &picture)?;
    Ok(path)
}

/// The index; `None` when there is none.
fn read(workspace: &Workspace) -> Option<Result<BTreeMap<String, String>>> {
    let opened = workspace.open_read(Path::new(INDEX));
    if opened.as_ref().is_err_and(Error::is_not_found) {
        return None;
    }
    let index = opened.and_then(|file| {
        let text = read_beginning(&file, INDEX_BYTES as u64 + 1);
        parse(&text.map_err(Error::io("read", INDEX))?)
    });
    Some(index.map_err(|error| {
        let fault = one_line(&error.to_string(), FAULT_CHARS);
        Error::Failed(format!("{INDEX} cannot be used: {fault}"))
    }))
}

fn parse(text: &[u8]) -> Result<BTreeMap<String, String>> {
    if text.len() > INDEX_BYTES {
        return Err(Error::Failed(format!(
            "it has more than {INDEX_BYTES} bytes"
        )));
    }
    let index: BTreeMap<String, String> = json::from_slice(text).map_err(|error| {
        Error::Failed(format!(
            "it must be an object of names with files or addresses: {error}"
        ))
    })?;
    // Some letters, such as Hangul fillers, cannot be seen.
    let is_plain =
        |char: char| char.is_alphanumeric() && !is_invisible(char) || matches!(char, '-' | '_');
    let is_name =
        |name: &str| (1..=NAME_CHARS).contains(&name.chars().count()) && name.chars().all(is_plain);
    if index.is_empty() || index.len() > STICKERS_MAX {
        return Err(Error::Failed(format!(
            "it has {} names, and 1 to {STICKERS_MAX} are taken",
            index.len()
        )));
    }
    match index.keys().position(|name| !is_name(name)) {
        None => Ok(index),
        // Not the name itself: it would be in every request.
        Some(at) => Err(Error::Failed(format!(
            "name {} is not 1 to {NAME_CHARS} letters, digits, - or _",
            at + 1
        ))),
    }
}

/// The ending of a file for what it begins with.
fn ending_of(picture: &[u8]) -> Option<&'static str> {
    Some(match picture {
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => "webp",
        [0x89, b'P', b'N', b'G', ..] => "png",
        [0xff, 0xd8, 0xff, ..] => "jpg",
        [b'G', b'I', b'F', b'8', ..] => "gif",
        // A Lottie animation of Telegram's is compressed with gzip.
        [0x1f, 0x8b, ..] => "tgs",
        [0x1a, 0x45, 0xdf, 0xa3, ..] => "webm",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chat::Effect;
    use crate::tools::message::MESSAGE;
    use crate::tools::tests::Bench;

    fn bench(index: &str) -> Bench {
        let mut bench = Bench::new(1000);
        bench.toolbox = bench.toolbox.with_chats(false);
        bench.put("stickers/index.json", index);
        bench
    }

    fn parameters(bench: &Bench) -> serde_json::Value {
        let specs = bench.toolbox.specs();
        let spec = specs.iter().find(|spec| spec.name == MESSAGE.name).unwrap();
        serde_json::from_str(&spec.parameters).unwrap()
    }

    #[test]
    fn the_model_is_told_of_stickers_only_where_there_are_some() {
        let mut without = Bench::new(1000);
        without.toolbox = without.toolbox.with_chats(false);
        let specs = without.toolbox.specs();
        assert!(specs.contains(&MESSAGE));
        let bench =
            bench(r#"{"wave": "stickers/wave.webp", "crab": "https://example.org/crab.webp"}"#);
        let parameters = parameters(&bench);
        assert_eq!(
            parameters["properties"]["sticker"]["enum"],
            json!(["crab", "wave"])
        );
        assert_eq!(parameters["required"], json!(["content"]));
    }

    #[test]
    fn a_sticker_is_sent_by_its_name() {
        let bench = bench(
            r#"{"wave": "stickers/wave.webp", "gone": "stickers/gone.webp", "text": "stickers/a.txt"}"#,
        );
        bench.put("stickers/wave.webp", "RIFF....WEBPVP8 ");
        bench.put("stickers/a.txt", "RIFF");
        let sent = bench.run("message", json!({"content": "", "sticker": "wave"}));
        let Some(Effect::Send(sent)) = sent.effect else {
            panic!("{sent:?}");
        };
        assert_eq!(
            (sent.files, sent.sticker.as_deref()),
            (vec!["stickers/wave.webp".to_owned()], Some("wave"))
        );
        for (name, complaint) in [
            ("wink", "there are gone, text, wave"),
            ("gone", "gone.webp"),
            ("text", "stickers/a.txt is neither a picture nor a sticker"),
        ] {
            let result = bench.run("message", json!({"content": "", "sticker": name}));
            assert!(
                result.failed && result.text.contains(complaint),
                "{}",
                result.text
            );
        }
    }

    #[test]
    fn a_bad_index_is_said_in_one_short_line() {
        let many: BTreeMap<String, &str> = (0..=STICKERS_MAX)
            .map(|number| (number.to_string(), "a"))
            .collect();
        for (index, fault) in [
            ("[1]", "an object of names"),
            ("{\"a\": 1}", "an object of names"),
            ("{}", "0 names"),
            ("{\"a b\": \"c\"}", "name 1 is not"),
            ("{\"a\u{3164}\": \"c\"}", "name 1 is not"),
            (&json!(many).to_string(), "65 names"),
            (&"x".repeat(INDEX_BYTES + 1), "more than"),
        ] {
            let bench = bench(index);
            let said = parameters(&bench)["properties"]["sticker"]["description"].to_string();
            assert!(said.contains(fault) && said.len() < 300, "{said}");
            let result = bench.run("message", json!({"content": "", "sticker": "a"}));
            assert!(
                result.failed && result.text.contains(fault),
                "{}",
                result.text
            );
        }
    }
}
