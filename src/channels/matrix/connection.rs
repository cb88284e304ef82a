//! Matrix as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::UPLOAD_BYTES;
use super::account::Account;
use super::address::{Target, address, is_id};
use super::api::{Api, Shared, new_transaction};
use super::html::{self, Html};
use super::receive::{self, ReceiverParts};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::limits::channels::{
    BUTTON_DATA_BYTES, CALL_TIME, CHAT_INTERVAL, PATIENCE, TEST_PATIENCE, TOTAL_SPAN,
};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::names;
use crate::channels::kit::sink::SharedSink;
use crate::config::channels::Bot;
use crate::net::http::Tls;
use crate::text::markup;

/// Time between two showings of "typing".
const TYPING_INTERVAL: Duration = Duration::from_secs(10);
/// Messages to all rooms within a second. A homeserver's own limit counts more.
const TOTAL: usize = 10;

/// Matrix, as the configuration describes it.
pub struct Matrix {
    account: Arc<Account>,
    tls: Tls,
    clock: Clock,
    state: PathBuf,
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

impl Matrix {
    /// Prepares the channel; nothing is connected yet. `state` is the folder for what it has to remember.
    pub fn new(config: &Bot, tls: Tls, clock: Clock, state: PathBuf) -> Self {
        let account = Account::of(config);
        let capabilities = Capabilities {
            buttons: false,
            edits: true,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: account.media_bytes,
            typing_interval: Some(TYPING_INTERVAL),
            chat_interval: CHAT_INTERVAL,
            group_rate: (TOTAL, TOTAL_SPAN),
            total_rate: (TOTAL, TOTAL_SPAN),
            reaction: config.react_emoji.clone(),
            quotes: config.reply_to_message,
            edit_interval: Some(Duration::from_millis(config.stream_edit_interval_ms)),
        };
        Self {
            account: Arc::new(account),
            tls,
            clock,
            state,
            capabilities,
            shared: Arc::default(),
        }
    }

    /// Calls of the API over a connection of their own.
    pub(super) fn api(&self, patience: Duration, cancel: &Cancel) -> Result<Api> {
        Api::new(&self.tls, &self.account, &self.shared, patience, cancel)
    }
}

impl Adapter for Matrix {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        // The id does not tell, and the limits are the same.
        Target::read(address).map(|_| false)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &Html)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &Html)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        self.api(TEST_PATIENCE, cancel)?.me()
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        let api = self.api(PATIENCE, cancel)?;
        let heartbeat = heartbeat.clone();
        Ok(Box::new(
            api.with_progress(move || heartbeat.beat(CALL_TIME)),
        ))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            matrix: self,
            account: &self.account,
            state: &self.state,
            clock: &self.clock,
            intake,
            heartbeat,
            cancel,
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let (room, thread) = self.place(to)?;
        let mut content = content(post);
        if let Some(relation) = relation(thread.as_deref(), post.reply_to) {
            content["m.relates_to"] = relation;
        }
        let transaction = transaction('s', post.key);
        let sent = Self::send(self, &room, "m.room.message", &transaction, &content);
        let sent = self.or_moved(&room, sent)?;
        self.stop_typing(&room);
        Ok(sent)
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        let (room, _) = self.place(to)?;
        let new = content(post);
        let fallback = format!("* {}", new["body"].as_str().unwrap_or_default());
        // For clients that do not understand edits.
        let mut content = json!({
            "msgtype": new["msgtype"],
            "body": fallback,
            "m.mentions": {},
            "m.relates_to": {"rel_type": "m.replace", "event_id": event_id(message)?},
        });
        content["m.new_content"] = new;
        let transaction = transaction('e', post.key);
        let sent = Self::send(self, &room, "m.room.message", &transaction, &content);
        self.or_moved(&room, sent)?;
        self.stop_typing(&room);
        Ok(())
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        let (room, _) = self.place(to)?;
        let message = event_id(message)?;
        self.redact(&room, message, &["d", message].concat())
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        self.send_file(to, upload, None)
    }

    fn upload_with_text(
        &mut self,
        to: &Address,
        upload: &Upload<'_>,
        text: &Post<'_>,
    ) -> Option<Sent> {
        // Buttons become words, which stay below a message of text.
        text.buttons
            .is_empty()
            .then(|| self.send_file(to, upload, Some(text)))
    }

    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent {
        let (room, _) = self.place(to)?;
        let message = event_id(message)?;
        let content = json!({
            "m.relates_to": {"rel_type": "m.annotation", "event_id": message, "key": emoji},
        });
        let transaction = ["r", message].concat();
        match Self::send(self, &room, "m.reaction", &transaction, &content) {
            // Nothing waits for these, and one that is there already is no failure.
            Ok(_) | Err(Failure::RetryAfter(_)) => Ok(()),
            Err(Failure::Refused(said)) if said.contains("M_DUPLICATE_ANNOTATION") => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    fn typing(&mut self, to: &Address) -> Sent {
        let (room, _) = self.place(to)?;
        match self.type_in(&room) {
            Err(Failure::RetryAfter(_)) => Ok(()),
            outcome => outcome,
        }
    }

    fn fetch(&mut self, file: &str, into: &mut File, limit: usize) -> Sent {
        self.download(file, into, limit)
    }

    fn set_menu(&mut self, _commands: &[MenuEntry]) -> Sent {
        // Matrix has no menu of commands.
        Ok(())
    }
}

impl Api {
    /// Sends a file, and in the same event the text to it: the `body` is a caption where it is not the `filename` (client-server
    /// API, 1.10).
    fn send_file(&mut self, to: &Address, upload: &Upload<'_>, text: Option<&Post<'_>>) -> Sent {
        let (room, thread) = self.place(to)?;
        let name = names::clean_file_name(upload.name);
        let (message, kind) = kind_of(&name);
        let file = Self::upload(self, upload.file, &name, kind)?;
        let mut content = json!({
            "msgtype": message, "body": name, "filename": name, "url": file.uri,
            "info": {"mimetype": kind, "size": file.size}, "m.mentions": {},
        });
        if let Some(seconds) = upload.voice {
            // Clients show a voice message (MSC3245).
            content["info"]["duration"] = json!(seconds * 1000);
            content["org.matrix.msc1767.audio"] = json!({"duration": seconds * 1000});
            content["org.matrix.msc3245.voice"] = json!({});
        }
        for (member, value) in text
            .map(self::content)
            .iter()
            .filter_map(Value::as_object)
            .flatten()
        {
            if member != "msgtype" {
                content[member] = value.clone();
            }
        }
        let reply_to = text.and_then(|text| text.reply_to);
        if let Some(relation) = relation(thread.as_deref(), reply_to) {
            content["m.relates_to"] = relation;
        }
        let transaction = transaction('f', upload.key);
        let sent = Self::send(self, &room, "m.room.message", &transaction, &content);
        self.or_moved(&room, sent).map(drop)
    }

    /// The room that an address leads to, and the thread in it.
    fn place(&self, to: &Address) -> Sent<(String, Option<String>)> {
        match Target::read(to) {
            Some(Target::Room { room, thread }) => Ok((room, thread)),
            Some(Target::Person(user)) => Ok((self.private_chat(&user)?, None)),
            None => Err(Failure::Refused(format!("{to} is not a room of Matrix"))),
        }
    }

    /// A refusal may mean that the room was replaced by another one.
    fn or_moved<T>(&self, room: &str, sent: Sent<T>) -> Sent<T> {
        let said = match sent {
            Err(Failure::Refused(said)) => said,
            sent => return sent,
        };
        match self.replacement(room) {
            Ok(Some(new)) => Err(Failure::Gone {
                said,
                moved_to: Some(address(&new, None)),
            }),
            _ => Err(Failure::Refused(said)),
        }
    }
}

/// What a message says. It mentions no one: what an answer quotes must not ring elsewhere.
fn content(post: &Post<'_>) -> Value {
    // Clients make no sound for a notice.
    let kind = if post.silent { "m.notice" } else { "m.text" };
    let mut content = json!({"msgtype": kind, "m.mentions": {}});
    if !post.is_marked {
        content["body"] = json!(post.text);
        return content;
    }
    content["body"] = json!(html::plain(post.text));
    if post.text.contains(['<', '&']) {
        content["format"] = json!("org.matrix.custom.html");
        content["formatted_body"] = json!(post.text);
    }
    content
}

/// The thread that a message is in, and the message that it replies to.
fn relation(thread: Option<&str>, reply_to: Option<&str>) -> Option<Value> {
    let reply_to = reply_to.filter(|id| is_id('$', id));
    match (thread, reply_to) {
        (None, None) => None,
        (None, Some(id)) => Some(json!({"m.in_reply_to": {"event_id": id}})),
        (Some(root), reply_to) => Some(json!({
            "rel_type": "m.thread", "event_id": root, "is_falling_back": reply_to.is_none(),
            "m.in_reply_to": {"event_id": reply_to.unwrap_or(root)},
        })),
    }
}

/// What a homeserver recognises a repeated request by. A message that is edited and one that is sent in its place are
/// two requests.
fn transaction(kind: char, key: Option<u64>) -> String {
    match key {
        Some(key) => format!("{kind}{key:016x}"),
        None => new_transaction(),
    }
}

/// The id of an event, which becomes a part of a path.
fn event_id(text: &str) -> Sent<&str> {
    if is_id('$', text) {
        Ok(text)
    } else {
        Err(Failure::MessageGone)
    }
}

/// How a file is shown, and its media type, by the ending of its name.
fn kind_of(name: &str) -> (&'static str, &'static str) {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "png" => ("m.image", "image/png"),
        "jpg" | "jpeg" => ("m.image", "image/jpeg"),
        "gif" => ("m.image", "image/gif"),
        "webp" => ("m.image", "image/webp"),
        "mp3" => ("m.audio", "audio/mpeg"),
        "ogg" | "oga" | "opus" => ("m.audio", "audio/ogg"),
        "wav" => ("m.audio", "audio/wav"),
        "mp4" => ("m.video", "video/mp4"),
        "webm" => ("m.video", "video/webm"),
        "txt" | "log" | "md" | "csv" | "sh" => ("m.file", "text/plain"),
        "pdf" => ("m.file", "application/pdf"),
        _ => ("m.file", "application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_has_its_text_beside_it() {
        let post = |text, is_marked, silent| {
            content(&Post {
                text,
                is_marked,
                silent,
                ..Post::default()
            })
        };
        assert_eq!(
            post("a <strong>b</strong>", true, false),
            json!({
                "msgtype": "m.text", "m.mentions": {}, "body": "a b",
                "format": "org.matrix.custom.html", "formatted_body": "a <strong>b</strong>",
            })
        );
        let simple = json!({"msgtype": "m.notice", "m.mentions": {}, "body": "a b"});
        assert_eq!(post("a b", true, true), simple);
        assert_eq!(post("a <b>", false, false)["body"], "a <b>");
        assert_eq!(post("a <b>", false, false)["formatted_body"], Value::Null);
    }

    #[test]
    fn a_message_in_a_thread_says_so_and_replies_to_something() {
        assert_eq!(relation(None, None), None);
        assert_eq!(relation(None, Some("no id")), None);
        let reply = relation(None, Some("$q")).unwrap();
        assert_eq!(reply, json!({"m.in_reply_to": {"event_id": "$q"}}));
        let thread = relation(Some("$root"), None).unwrap();
        assert_eq!(thread["m.in_reply_to"]["event_id"], "$root");
        assert_eq!(thread["is_falling_back"], true);
        let reply = relation(Some("$root"), Some("$q")).unwrap();
        assert_eq!(reply["m.in_reply_to"]["event_id"], "$q");
        assert_eq!(reply["is_falling_back"], false);
    }

    #[test]
    fn the_same_piece_has_the_same_transaction_and_an_edit_another() {
        assert_eq!(transaction('s', Some(7)), "s0000000000000007");
        assert_ne!(transaction('s', Some(7)), transaction('e', Some(7)));
        assert_ne!(transaction('s', None), transaction('s', None));
    }

    #[test]
    fn only_ids_get_into_paths() {
        for text in ["", "$", "a", "$a b", "../x"] {
            assert!(event_id(text).is_err(), "{text}");
        }
        assert_eq!(event_id("$a-b_c").ok(), Some("$a-b_c"));
        assert_eq!(kind_of("Plot.PNG").0, "m.image");
        assert_eq!(kind_of("x").0, "m.file");
    }
}
