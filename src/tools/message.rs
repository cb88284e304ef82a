//! message: sends a person something besides the answer, with files and buttons.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::base::chat::{Effect, SendRequest, ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::base::limits::tools::{BUTTON_CHARS, FILES_SENT};
use crate::base::message::Address;
use crate::text::markup::shows_nothing;

use crate::text::{looks_latin, one_line};

use super::arguments::Arguments;
use super::web::Web;
use super::{Context, Tool, stickers};

/// Rows of buttons, as many as a telephone shows at once.
const BUTTON_ROWS: usize = 8;
/// Buttons side by side; more cannot be read.
const BUTTONS_IN_ROW: usize = 4;

pub(super) const MESSAGE: ToolSpec = ToolSpec::fixed(
    "message",
    "Send the person something beside your answer: files (media: paths), buttons (rows of words; a press \
     comes back as a message), or words while you go on. Without channel and chat_id it goes to this chat.",
    r#"{"type":"object","properties":{"content":{"type":"string"},"channel":{"type":"string"},"chat_id":{"type":"string"},"media":{"type":"array","items":{"type":"string"}},"buttons":{"type":"array","items":{"type":"array","items":{"type":"string"}}}},"required":["content"]}"#,
);

/// The same where words can be spoken.
pub(super) const SPOKEN_MESSAGE: ToolSpec = ToolSpec::fixed(
    "message",
    "Send the person something beside your answer: files (media: paths), buttons (rows of words; a press \
     comes back as a message), or words while you go on. Without channel and chat_id it goes to this chat. With voice, \
     content comes as a voice message too: only where the person asks for one. Then answer with the same words.",
    r#"{"type":"object","properties":{"content":{"type":"string"},"voice":{"type":"boolean"},"channel":{"type":"string"},"chat_id":{"type":"string"},"media":{"type":"array","items":{"type":"string"}},"buttons":{"type":"array","items":{"type":"array","items":{"type":"string"}}}},"required":["content"]}"#,
);

/// How answers to a question for approval begin, with nothing between their letters.
const OUR_ANSWERS: [&str; 7] = [
    "runonce", "always", "deny", "denied", "allow", "approve", "revoke",
];

/// Runs the tool.
pub(super) struct Messages {
    /// Fetches stickers that have an address.
    pub web: Option<Arc<Web>>,
}

impl Tool for Messages {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        message(context, arguments, self.web.as_deref())
    }
}

fn message(context: &Context<'_>, arguments: &Arguments, web: Option<&Web>) -> Result<ToolResult> {
    let content = arguments.text("content", "the words; may be empty when there are files")?;
    let mut files = arguments.texts("media", "a list of paths")?;
    let sticker = arguments.optional_text("sticker", "a sticker's name")?;
    let sticker = sticker.filter(|name| !name.is_empty());
    let is_spoken = arguments.flag("voice")?;
    if sticker.is_some() && (is_spoken || !files.is_empty()) {
        return Err(Error::Failed(
            "a sticker goes without media and voice: send them in another message".to_owned(),
        ));
    }
    let buttons = buttons(arguments)?;
    let is_blank = shows_nothing(&content);
    if is_blank && sticker.is_none() && files.is_empty() {
        return Err(Error::Failed(
            "there is nothing to send: content shows nothing and media names no file".to_owned(),
        ));
    }
    if is_blank && !buttons.is_empty() {
        return Err(Error::Failed(
            "buttons need words above them: say in content what to choose".to_owned(),
        ));
    }
    if files.len() > FILES_SENT {
        return Err(Error::Failed(format!(
            "media names {} files; at most {FILES_SENT} go at a time",
            files.len()
        )));
    }
    for file in &files {
        // It is opened again when it is sent. This check lets the model correct it.
        context.workspace.open_read(Path::new(file))?;
    }
    let to = address(context, arguments)?;
    if let Some(name) = &sticker {
        files.push(stickers::find(context, web, name)?);
    }
    let request = SendRequest {
        to,
        text: context.eraser.clean(&content).into_owned(),
        files,
        buttons,
        sticker: sticker.map(Cow::into_owned),
        is_spoken,
    };
    Ok(ToolResult {
        text: "It is on its way.".to_owned(),
        effect: Some(Effect::Send(Box::new(request))),
        ..ToolResult::default()
    })
}

/// The address of the chat that the call names; `None` for this chat.
fn address(context: &Context<'_>, arguments: &Arguments) -> Result<Option<String>> {
    let channel = arguments.optional_text("channel", "a channel's name, such as telegram")?;
    let chat = arguments.optional_text("chat_id", "a chat's id")?;
    let here = Address::parse(context.caller.session);
    let channel = channel.filter(|name| !name.is_empty());
    let channel = channel.as_deref().unwrap_or(&here.channel);
    match chat.filter(|id| !id.is_empty()) {
        Some(chat) => Ok(Some(Address::new(channel, &chat).to_string())),
        None if channel == here.channel => Ok(None),
        None => Err(Error::Failed(format!(
            "channel is {channel}, and this chat is on {}: chat_id has to say which chat there",
            here.channel
        ))),
    }
}

fn buttons(arguments: &Arguments) -> Result<Vec<Vec<String>>> {
    let rows = arguments.rows("buttons", "rows of words, such as [[\"Yes\",\"No\"]]")?;
    let label = |word: &String| one_line(word, usize::MAX);
    let row = |row: &Vec<String>| row.iter().map(label).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let fits = |word: &String| !word.is_empty() && word.chars().count() <= BUTTON_CHARS;
    let is_fine =
        |row: &Vec<String>| !row.is_empty() && row.len() <= BUTTONS_IN_ROW && row.iter().all(fits);
    if rows.len() > BUTTON_ROWS || !rows.iter().all(is_fine) {
        return Err(Error::Failed(format!(
            "buttons must be at most {BUTTON_ROWS} rows of 1 to {BUTTONS_IN_ROW} buttons with words of at most \
             {BUTTON_CHARS} characters"
        )));
    }
    if let Some(label) = rows.iter().flatten().find(|label| poses_as_ours(label)) {
        return Err(Error::Failed(format!(
            "the button {label:?} looks like one of the program's own, which ask for approval or run commands. \
             A press of yours only comes back as a message: choose other words"
        )));
    }
    Ok(rows)
}

/// Whether people could take a label for an answer to the program's own question, or for a command.
fn poses_as_ours(label: &str) -> bool {
    let letters = label.chars().filter(|char| char.is_alphanumeric());
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    label.starts_with('/')
        || looks_latin(label)
        || OUR_ANSWERS.iter().any(|word| letters.starts_with(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::tests::Bench;

    #[test]
    fn message_is_there_where_people_are_in_chats_and_says_what_is_to_be_sent() {
        let mut bench = Bench::new(1000);
        assert!(bench.run("message", json!({"content": "hi"})).failed);
        bench.toolbox = bench.toolbox.with_chats(false);
        bench.put("plot.png", "x");
        let result = bench.run(
            "message",
            json!({"content": "Look", "media": "plot.png", "buttons": ["Yes", "No"]}),
        );
        let Some(Effect::Send(sent)) = result.effect else {
            panic!("{result:?}");
        };
        assert_eq!((sent.to, sent.text.as_str()), (None, "Look"));
        assert_eq!(sent.files, ["plot.png"]);
        assert_eq!(sent.buttons, [["Yes", "No"]]);
    }

    #[test]
    fn message_refuses_what_cannot_be_sent() {
        let mut bench = Bench::new(1000);
        bench.toolbox = bench.toolbox.with_chats(false);
        for (arguments, complaint) in [
            (json!({"content": " "}), "nothing to send"),
            (json!({"content": "a", "media": ["../secret"]}), "secret"),
            (
                json!({"content": "a", "media": ["missing.txt"]}),
                "missing.txt",
            ),
            (json!({"content": "a", "buttons": [["x".repeat(41)]]}), "40"),
            (json!({"content": "a", "channel": "telegram"}), "chat_id"),
            (
                json!({"content": "a", "buttons": [["\u{2800}\u{3000}\u{200b}"]]}),
                "1 to 4",
            ),
        ] {
            let result = bench.run("message", arguments.clone());
            assert!(result.failed && result.effect.is_none(), "{arguments}");
            assert!(result.text.contains(complaint), "{}", result.text);
        }
    }

    #[test]
    fn a_button_neither_hides_its_words_nor_poses_as_one_of_ours() {
        let mut bench = Bench::new(1000);
        bench.toolbox = bench.toolbox.with_chats(false);
        let labels = |label: &str| {
            let arguments = json!({"content": "a", "buttons": [[label]]});
            match bench.run("message", arguments).effect {
                Some(Effect::Send(sent)) => Some(sent.buttons.concat().remove(0)),
                _ => None,
            }
        };
        let wide = "\u{3000}\u{2800}\u{a0}\u{3164} ".repeat(50);
        for (label, shown) in [
            (format!("{wide}Red{wide}or\u{202e} blue"), "Red or blue"),
            ("🌱 Water\nthem".to_owned(), "🌱 Water them"),
            ("Denmark".to_owned(), "Denmark"),
        ] {
            assert_eq!(labels(&label).as_deref(), Some(shown));
        }
        for label in [
            "/approve always",
            &format!("{wide}/approve always"),
            "Run once",
            "run  ONCE ✓",
            "✗ Deny",
            "D.e.n.y",
            "De\u{200b}ny",
            "✓ Allow once",
            "Always this command",
            "Approve",
            "D\u{435}ny",
            "\u{ff24}\u{ff45}\u{ff4e}\u{ff59}",
            "\u{1d403}eny",
        ] {
            assert_eq!(labels(label), None, "{label:?}");
        }
    }
}
