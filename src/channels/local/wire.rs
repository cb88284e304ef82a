//! The lines: what programs say, and what is said to them. PURE.

use serde_json::{Map, Value, json};

use super::CHATS;
use super::NAME;
use crate::base::json as parser;
use crate::base::language::Language;
use crate::base::limits::channels::MESSAGE_FILES;
use crate::base::message::{
    Address, Envelope, Media, PressedMessage, RemoteFile, Sender, UNKNOWN_MESSAGE,
};
use crate::channels::kit::adapter::{Button, Post};
use crate::channels::kit::names::{clean_file_name, clean_name};
use crate::channels::kit::relayed;
use crate::channels::kit::sink::Incoming;
use crate::text::truncate_chars;

/// Bytes of the id of a chat, a person or a message.
const ID_BYTES: usize = 128;

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Something for the intake. Whoever writes in a chat gets its messages from then on.
    Incoming {
        /// What to acknowledge; empty for nothing.
        id: String,
        chat: String,
        incoming: Box<Incoming>,
    },
    /// The program wants the messages of these chats; `None`: of all.
    Subscribe(Option<Vec<String>>),
}

/// Why a line means nothing: for the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Bad {
    pub id: String,
    pub why: &'static str,
}

/// Reads a line.
pub fn read(line: &[u8]) -> Result<Line, Bad> {
    let bad = |why| Bad {
        id: String::new(),
        why,
    };
    let value: Map<String, Value> =
        parser::from_slice(line).map_err(|_| bad("not a JSON object"))?;
    let reader = Reader(&value);
    let id = reader.text("id");
    reader.read().map_err(|why| Bad {
        id: truncate_chars(id, ID_BYTES).to_owned(),
        why,
    })
}

struct Reader<'a>(&'a Map<String, Value>);

impl Reader<'_> {
    fn text(&self, member: &str) -> &str {
        self.0
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn id(&self, member: &str, why: &'static str) -> Result<&str, &'static str> {
        let id = self.text(member);
        let is_odd = |char: char| char.is_control();
        if id.is_empty() || id.len() > ID_BYTES || id.contains(is_odd) {
            Err(why)
        } else {
            Ok(id)
        }
    }

    fn read(&self) -> Result<Line, &'static str> {
        match self.text("type") {
            "subscribe" => self.subscription(),
            "message" => self.message(),
            "press" => self.press(),
            "edit" => self.edit(),
            _ => Err("unknown type: use message, press, edit or subscribe"),
        }
    }

    fn subscription(&self) -> Result<Line, &'static str> {
        let Some(chats) = self.0.get("chats") else {
            return Ok(Line::Subscribe(None));
        };
        let chats = chats.as_array().ok_or("chats must be a list of strings")?;
        if chats.len() > CHATS {
            return Err("too many chats: leave \"chats\" out for all of them");
        }
        let names = chats.iter().map(|chat| chat.as_str().map(str::to_owned));
        let names: Option<Vec<String>> = names.collect();
        Ok(Line::Subscribe(Some(
            names.ok_or("chats must be a list of strings")?,
        )))
    }

    fn chat(&self) -> Result<&str, &'static str> {
        self.id("chat", "\"chat\" must be a string of 1 to 128 bytes")
    }

    fn own_id(&self) -> Result<&str, &'static str> {
        self.id(
            "id",
            "\"id\" must be a string of 1 to 128 bytes, another one for each line",
        )
    }

    fn sender(&self) -> Result<Sender, &'static str> {
        let from = self.0.get("from").and_then(Value::as_object);
        let from = Reader(from.ok_or("\"from\" must have the person's \"id\"")?);
        let id = from.id("id", "\"from\" must have the person's \"id\"")?;
        let name = match clean_name(from.text("name")) {
            name if name.is_empty() => clean_name(id),
            name => name,
        };
        Ok(Sender {
            id: id.to_owned(),
            name,
            language: Language::of_text(self.text("text")),
            thread_of: None,
        })
    }

    fn is_group(&self) -> bool {
        self.0
            .get("group")
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    fn message(&self) -> Result<Line, &'static str> {
        let (id, chat, sender) = (self.own_id()?, self.chat()?, self.sender()?);
        let remote_files = self.files()?;
        let text = self.text("text").trim();
        if text.is_empty() && remote_files.is_empty() {
            return Err("the message is empty");
        }
        let is_relayed = self.is_relayed();
        let text = if is_relayed && !text.is_empty() {
            relayed::describe(text)
        } else {
            text.to_owned()
        };
        let envelope = Envelope {
            id: format!("{NAME}:{id}"),
            is_group: self.is_group(),
            is_relayed,
            reference: id.to_owned(),
            replies_to: self.answered(),
            remote_files,
            ..Envelope::written(&address(chat), sender, &text)
        };
        Ok(Line::Incoming {
            id: id.to_owned(),
            chat: chat.to_owned(),
            incoming: Box::new(Incoming::Message {
                envelope,
                username: String::new(),
            }),
        })
    }

    fn is_relayed(&self) -> bool {
        let mut members = self.0.iter();
        members.any(|(name, value)| relayed::is_mark(name, value))
    }

    /// The message that it answers; empty for none.
    fn answered(&self) -> String {
        let mut members = self.0.iter();
        match self.text("replyTo") {
            "" if members.any(|(name, value)| relayed::is_answer_mark(name, value)) => {
                UNKNOWN_MESSAGE.to_owned()
            }
            known => known.to_owned(),
        }
    }

    fn files(&self) -> Result<Vec<RemoteFile>, &'static str> {
        let why = "\"files\" must be a list of absolute paths";
        let Some(files) = self.0.get("files") else {
            return Ok(Vec::new());
        };
        let files = files.as_array().ok_or(why)?.iter().take(MESSAGE_FILES + 1);
        files
            .map(|file| {
                let path = file
                    .as_str()
                    .filter(|path| path.starts_with('/'))
                    .ok_or(why)?;
                Ok(RemoteFile {
                    media: Media::Document,
                    id: path.to_owned(),
                    size: None,
                    name: clean_file_name(path),
                })
            })
            .collect()
    }

    fn press(&self) -> Result<Line, &'static str> {
        let (id, chat, sender) = (self.own_id()?, self.chat()?, self.sender()?);
        let message = self.id(
            "message",
            "\"message\" must be the id of a message with buttons",
        )?;
        let data = self.id("data", "\"data\" must be a button's data")?;
        Ok(Line::Incoming {
            id: id.to_owned(),
            chat: chat.to_owned(),
            incoming: Box::new(Incoming::Pressed {
                id: format!("{NAME}:{id}"),
                address: address(chat),
                is_group: self.is_group(),
                sender,
                username: String::new(),
                message: PressedMessage {
                    id: message.to_owned(),
                    text: self.text("text").to_owned(),
                },
                data: data.to_owned(),
            }),
        })
    }

    fn edit(&self) -> Result<Line, &'static str> {
        let (id, chat) = (self.own_id()?, self.chat()?);
        let message = self.id(
            "message",
            "\"message\" must be the id of the message that was edited",
        )?;
        // With what others said in it, it is no longer only what its author typed.
        if self.is_relayed() {
            return Err("an edit cannot be a forwarded text");
        }
        Ok(Line::Incoming {
            id: id.to_owned(),
            chat: chat.to_owned(),
            incoming: Box::new(Incoming::Edited {
                session: address(chat).session(),
                reference: message.to_owned(),
                text: self.text("text").trim().to_owned(),
            }),
        })
    }
}

/// The address of a chat: colons separate the parts of one.
pub fn address(chat: &str) -> Address {
    Address::new(NAME, &chat.replace('%', "%25").replace(':', "%3A"))
}

/// The chat of an address, as programs name it; `None` when it is none of ours.
pub fn chat_of(address: &Address) -> Option<String> {
    let is_ours = address.channel == NAME && address.thread.is_none() && !address.chat.is_empty();
    is_ours.then(|| address.chat.replace("%3A", ":").replace("%25", "%"))
}

/// A line for a message, or with the new content of one.
pub fn post(kind: &str, chat: &str, id: &str, post: &Post<'_>) -> Value {
    let mut line = json!({"type": kind, "id": id, "chat": chat, "text": post.text});
    let button = |button: &Button| json!({"label": button.label, "data": button.data});
    let row = |row: &Vec<Button>| row.iter().map(button).collect::<Vec<_>>();
    let rows: Vec<Vec<Value>> = post.buttons.iter().map(row).collect();
    if !rows.is_empty() {
        line["buttons"] = json!(rows);
    }
    if let Some(message) = post.reply_to {
        line["replyTo"] = json!(message);
    }
    if post.silent {
        line["silent"] = json!(true);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: Value) -> Result<Line, Bad> {
        read(line.to_string().as_bytes())
    }

    #[test]
    fn a_message_has_its_person_chat_and_files() {
        let line = said(json!({
            "type": "message", "id": "7", "chat": "home:1", "from": {"id": "ana", "name": "Ana [x]"},
            "text": " hello ", "files": ["/tmp/a b.txt"], "replyTo": "m1", "group": true,
        }));
        let Ok(Line::Incoming { id, chat, incoming }) = line else {
            panic!("{line:?}");
        };
        let Incoming::Message { envelope, .. } = *incoming else {
            panic!("no message");
        };
        assert_eq!(
            (id.as_str(), chat.as_str(), envelope.id.as_str()),
            ("7", "home:1", "local:7")
        );
        assert_eq!(envelope.address().to_string(), "local:home%3A1");
        assert_eq!(chat_of(&envelope.address()).as_deref(), Some("home:1"));
        assert_eq!(
            (envelope.text.as_str(), envelope.replies_to.as_str()),
            ("hello", "m1")
        );
        assert_eq!(envelope.sender().unwrap().name, "Ana (x)");
        assert_eq!(envelope.remote_files[0].name, "a b.txt");
        assert!(envelope.is_group);
    }

    #[test]
    fn a_reply_says_so_also_without_what_it_answers() {
        for (member, value, target) in [
            ("replyTo", json!("m1"), "m1"),
            ("replyTo", json!(7), UNKNOWN_MESSAGE),
            ("quote", json!("shall I?"), UNKNOWN_MESSAGE),
            ("replyTo", json!(""), ""),
            ("files", json!(["/tmp/reply=1"]), ""),
        ] {
            let line = json!({"type": "message", "id": "7", "chat": "home", "from": {"id": "ana"}, "text": "yes", member: value});
            let Ok(Line::Incoming { incoming, .. }) = said(line.clone()) else {
                panic!("{line}");
            };
            let Incoming::Message { envelope, .. } = *incoming else {
                panic!("{line}");
            };
            assert_eq!(envelope.replies_to, target, "{line}");
        }
    }

    #[test]
    fn an_edit_with_the_words_of_others_is_refused() {
        for (mark, is_taken) in [("isForwarded", false), ("isEdited", true)] {
            let edit = json!({"type": "edit", "id": "9", "chat": "home", "message": "7", "text": "/sh id", mark: true});
            assert_eq!(said(edit).is_ok(), is_taken, "{mark}");
        }
    }

    #[test]
    fn a_press_an_edit_and_a_subscription_are_read() {
        let press = said(json!({
            "type": "press", "id": "8", "chat": "home", "from": {"id": "ana"}, "message": "m1", "data": "q:1:once",
        }));
        assert!(matches!(press, Ok(Line::Incoming { ref incoming, .. })
            if matches!(**incoming, Incoming::Pressed { ref data, .. } if data == "q:1:once")));
        let edit =
            said(json!({"type": "edit", "id": "9", "chat": "home", "message": "7", "text": "hi"}));
        assert!(matches!(edit, Ok(Line::Incoming { ref incoming, .. })
            if matches!(**incoming, Incoming::Edited { ref reference, .. } if reference == "7")));
        assert_eq!(
            said(json!({"type": "subscribe"})),
            Ok(Line::Subscribe(None))
        );
        let some = said(json!({"type": "subscribe", "chats": ["a"]}));
        assert_eq!(some, Ok(Line::Subscribe(Some(vec!["a".to_owned()]))));
    }

    #[test]
    fn what_lacks_something_is_refused_with_its_id() {
        let whole = json!({
            "type": "message", "id": "7", "chat": "home", "from": {"id": "ana"}, "text": "hello",
        });
        assert!(said(whole.clone()).is_ok());
        for member in ["type", "id", "chat", "from", "text"] {
            let mut line = whole.clone();
            line.as_object_mut().unwrap().remove(member);
            let bad = said(line).unwrap_err();
            let id = if member == "id" { "" } else { "7" };
            assert_eq!(bad.id, id, "{member}");
        }
        for (member, value) in [
            ("id", json!("x".repeat(129))),
            ("id", json!(7)),
            ("chat", json!("a\nb")),
            ("from", json!("ana")),
            ("files", json!(["relative"])),
            ("files", json!("/a")),
        ] {
            let mut line = whole.clone();
            line[member] = value.clone();
            assert!(said(line).is_err(), "{member}: {value}");
        }
        for line in ["", "[]", "null", "{", "\u{0}"] {
            assert!(read(line.as_bytes()).is_err(), "{line}");
        }
        let many = json!({"type": "subscribe", "chats": vec!["x"; CHATS + 1]});
        assert!(said(many).is_err());
    }

    #[test]
    fn every_chat_is_an_address_and_comes_back() {
        for chat in ["a", "a:b", "100%", "%3A", "a%3Ab:%25", "ü"] {
            let address = address(chat);
            assert_eq!(Address::parse(&address.to_string()), address);
            assert_eq!(chat_of(&address).as_deref(), Some(chat));
        }
        for other in ["telegram:1", "local:a:b", "local:"] {
            assert_eq!(chat_of(&Address::parse(other)), None, "{other}");
        }
    }
}
