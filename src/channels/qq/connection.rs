//! QQ as a channel: what it can do, and the calls of one worker.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::NAME;
use super::UPLOAD_BYTES;
use super::api::{Api, Extras, Tokens};
use super::fault::{Fault, without_links};
use super::place::Place;
use super::receive::{self, ReceiverParts};
use super::replies::{Chat, Choice, Replies};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::limits::channels::{
    CALL_TIME, CHAT_INTERVAL, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE,
};
use crate::base::message::Address;
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::{
    Adapter, Button, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::markdown::discord::Markdown;
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::config::schema::Bot;
use crate::net::http::Tls;
use crate::store::state::{Damaged, Policy, StateFile};
use crate::sys::random;
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{self, Plain};
use crate::text::truncate_chars;

/// Characters of one message. Tencent's own plugin cuts at 5000.
const MESSAGE_CHARS: usize = 4000;
/// Wait of a message that can only be sent as a reply, before the next look, which asks nobody. What a person writes
/// ends it at once, unless that comes at the very moment at which the wait begins.
const REPLY_LOOK: Duration = Duration::from_secs(20);
/// Separates what QQ would read as a tag.
const ZERO_WIDTH_SPACE: char = '\u{200b}';
/// How often another message is taken to reply to, within one sending.
const CHOICES: usize = 6;
/// The largest `msg_seq`. QQ documents none; its own plugin stays below 65,536.
const SEQUENCE_MAX: u64 = 65_535;
/// Bytes of the file with the messages to reply to: ids have about 100 bytes.
const STATE_BYTES: usize = 128 * 1024;
/// Bytes of a button's data.
const BUTTON_DATA_BYTES: usize = 100;
/// Characters of a button's label.
const LABEL_CHARS: usize = 20;
/// Buttons in a row, and rows.
const ROW_BUTTONS: usize = 5;
/// Messages to all chats in [`TOTAL_SPAN`].
const TOTAL: usize = 20;
/// See [`TOTAL`].
const TOTAL_SPAN: Duration = Duration::from_secs(1);

/// The file with the session and the messages that can be replied to.
const FILE: &str = "qq.json";

/// How QQ counts without Markdown.
const PLAIN: Plain = Plain(Limit {
    units: MESSAGE_CHARS,
    unit: Unit::Chars,
});

/// QQ, as the configuration describes it.
pub struct Qq {
    bot: Bot,
    tls: Tls,
    clock: Clock,
    capabilities: Capabilities,
    tokens: Arc<Tokens>,
    memory: Arc<Memory>,
}

/// What the disk remembers.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Saved {
    /// The session with the gateway; empty for none.
    pub session: String,
    /// The event of it that was confirmed last. It may be an older one: what comes again is recognised.
    pub sequence: u64,
    /// The bot's id.
    pub me: String,
    /// What can be replied to.
    chats: VecDeque<Chat>,
}

/// What is remembered of the session and of what can be replied to, in memory and on the disk.
pub struct Memory {
    file: StateFile<Saved>,
    replies: Mutex<Replies>,
    clock: Clock,
}

impl Memory {
    fn new(state: &Path, clock: &Clock) -> Self {
        let policy = Policy {
            bytes_max: STATE_BYTES,
            damaged: Damaged::StartFresh,
            // A power cut costs a reply its message, and it waits for the next one.
            synced: false,
        };
        let file: StateFile<Saved> = StateFile::new(state.join(FILE), policy);
        let chats = file.read().unwrap_or_default().chats;
        Self {
            file,
            replies: Mutex::new(Replies::new(chats)),
            clock: clock.clone(),
        }
    }

    /// What the disk has of the session.
    pub fn saved(&self) -> Saved {
        self.file.read().unwrap_or_default()
    }

    /// Saves what is known of the session; `None` for none that can be resumed.
    pub fn save(&self, session: Option<(&str, u64)>, me: &str) {
        let chats = self.replies.lock().chats().clone();
        let (session, sequence) = session.unwrap_or_default();
        let saved = self.file.update(|saved| {
            *saved = Saved {
                session: session.to_owned(),
                sequence,
                me: me.to_owned(),
                chats,
            };
            Ok(())
        });
        if let Err(error) = saved {
            tracing::warn!("failed to save which QQ messages can be replied to: {error}");
        }
    }

    /// A person has written; returns whether something waits for it. Whoever answers after a crash has to know the
    /// message, so this comes before it is accepted, and [`Memory::save`] too.
    pub fn heard(&self, place: Place<'_>, id: &str) -> bool {
        let now = self.clock.now_ms();
        self.replies.lock().heard(place, id, now)
    }

    fn sent(&self, index: String, id: &str) {
        self.replies.lock().sent(index, id);
    }

    /// The message of the bot's with this index, if it was one of the last.
    pub fn sent_as(&self, index: &str) -> Option<String> {
        self.replies.lock().sent_as(index)
    }

    fn choose(&self, place: Place<'_>, key: Option<u64>) -> Choice {
        self.replies.lock().choose(place, key, self.clock.now_ms())
    }

    fn exhausted(&self, place: Place<'_>, id: &str) {
        self.replies.lock().exhausted(place, id);
    }

    fn only_replies(&self, place: Place<'_>) {
        self.replies.lock().only_replies(place, self.clock.now_ms());
    }
}

impl Qq {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(making: Making) -> Self {
        let Making {
            bot,
            tls,
            clock,
            state,
        } = making;
        let capabilities = Capabilities {
            buttons: bot.flag("sendKeyboards"),
            edits: false,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            // It would be one of the five replies to a message.
            typing_interval: None,
            chat_interval: CHAT_INTERVAL,
            group_rate: (TOTAL, TOTAL_SPAN),
            total_rate: (TOTAL, TOTAL_SPAN),
            reaction: String::new(),
            quotes: false,
            edit_interval: None,
        };
        Self {
            memory: Arc::new(Memory::new(&state, &clock)),
            bot,
            tls,
            clock,
            capabilities,
            tokens: Arc::default(),
        }
    }

    /// Calls of the REST API over a connection of their own.
    pub fn api(&self, patience: Duration, cancel: &Cancel) -> Result<Api> {
        Api::new(&self.bot, &self.tls, &self.tokens, patience, cancel)
    }
}

impl Adapter for Qq {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        Place::of(address).ok().map(Place::is_group)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        if self.bot.flag("sendMarkdown") {
            markup::render(markdown, &Markdown)
        } else {
            markup::render(markdown, &PLAIN)
        }
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        if self.bot.flag("sendMarkdown") {
            markup::draft(markdown, &Markdown)
        } else {
            markup::draft(markdown, &PLAIN)
        }
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        Ok(self.api(TEST_PATIENCE, cancel)?.me()?.1)
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        let heartbeat = heartbeat.clone();
        let api = self.api(PATIENCE, cancel)?;
        Ok(Box::new(Worker {
            api: api.with_progress(move || heartbeat.beat(CALL_TIME)),
            memory: Arc::clone(&self.memory),
            has_markdown: self.bot.flag("sendMarkdown"),
            has_keyboards: self.bot.flag("sendKeyboards"),
        }))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            qq: self,
            bot: &self.bot,
            tls: &self.tls,
            clock: &self.clock,
            tokens: &self.tokens,
            memory: &self.memory,
            intake,
            heartbeat,
            cancel,
        });
    }
}

struct Worker {
    api: Api,
    memory: Arc<Memory>,
    has_markdown: bool,
    has_keyboards: bool,
}

impl Worker {
    /// Sends something as a reply, or without one where QQ allows it, or not yet.
    fn reply(
        &self,
        place: Place<'_>,
        key: Option<u64>,
        send: impl Fn(Extras<'_>) -> std::result::Result<(String, String), Fault>,
    ) -> Sent<String> {
        let sequence = match key {
            Some(key) => key % SEQUENCE_MAX + 1,
            None => u64::from(u16::from_be_bytes(random::bytes().unwrap_or([1, 1]))).max(1),
        };
        for _ in 0..CHOICES {
            let reply_to = match self.memory.choose(place, key) {
                Choice::Reply(id) => Some(id),
                Choice::Active => None,
                Choice::Wait { is_new } => return Err(wait(place, is_new)),
            };
            let extras = Extras {
                reply_to: reply_to.as_deref(),
                sequence,
            };
            match (send(extras), &reply_to) {
                (Ok((id, index)), _) => {
                    self.memory.sent(index, &id);
                    return Ok(id);
                }
                // It was sent, and its answer was lost; or it is shown later.
                (Err(Fault::Repeated), Some(_)) if key.is_some() => return Ok(String::new()),
                (Err(Fault::Audited), _) => return Ok(String::new()),
                (Err(Fault::Closed | Fault::OnlyReplies), Some(id)) => {
                    self.memory.exhausted(place, id);
                }
                (Err(Fault::Closed | Fault::OnlyReplies), None) => self.memory.only_replies(place),
                (Err(fault), _) => return Err(fault.into_failure()),
            }
        }
        Err(wait(place, false))
    }

    /// The kinds of message that are tried: a link is taken out only where QQ does not take it.
    fn send_body(
        &self,
        place: Place<'_>,
        post: &Post<'_>,
        extras: Extras<'_>,
    ) -> std::result::Result<(String, String), Fault> {
        match self
            .api
            .send(place, self.body(place, post, post.text), extras)
        {
            Err(Fault::Link) => {
                let text = without_links(post.text);
                self.api.send(place, self.body(place, post, &text), extras)
            }
            outcome => outcome,
        }
    }

    fn body(&self, place: Place<'_>, post: &Post<'_>, text: &str) -> Value {
        let has_keyboard = self.has_keyboards && !post.buttons.is_empty();
        let text = without_tags(text);
        let mut body = if self.has_markdown && (post.is_marked || has_keyboard) {
            json!({"markdown": {"content": text}})
        } else {
            json!({"content": text})
        };
        let has_markdown = body.get("markdown").is_some();
        if place.is_numbered() {
            body["msg_type"] = json!(if has_markdown { 2 } else { 0 });
        }
        if has_keyboard {
            body["keyboard"] = json!({"content": {"rows": rows(post.buttons)}});
        }
        body
    }
}

/// The text with each tag of QQ's broken: such as `<qqbot-cmd-enter …>`, which a tap sends as the person's own words, and
/// mentions. QQ reads them in messages of every kind, also in code:
/// <https://bot.q.qq.com/wiki/develop/api-v2/server-inter/message/trans/text-chain.html>.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        out.push_str(before);
        out.push('<');
        let is_address = ["https://", "http://"]
            .iter()
            .any(|scheme| behind.starts_with(scheme));
        let is_tag = |c: char| c.is_alphabetic() || "@#/!?".contains(c);
        if !is_address && behind.starts_with(is_tag) {
            out.push(ZERO_WIDTH_SPACE);
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// What cannot be sent before the person writes again.
fn wait(place: Place<'_>, is_new: bool) -> Failure {
    if is_new {
        tracing::info!(
            chat = place.chat(),
            "QQ lets the bot only reply, so a message waits for the person's next one"
        );
    }
    Failure::RetryAfter(REPLY_LOOK)
}

impl Connection for Worker {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let place = Place::of(to)?;
        self.reply(place, post.key, |extras| {
            self.send_body(place, post, extras)
        })
    }

    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Err(Failure::MessageGone)
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        self.api.delete(Place::of(to)?, message)
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        let place = Place::of(to)?;
        if !place.is_numbered() {
            let send = |extras: Extras<'_>| {
                let sent = self.api.send_picture(place, upload, extras);
                sent.map(|id| (id, String::new()))
            };
            return self.reply(place, upload.key, send).map(drop);
        }
        let info = match self.api.hand_over(place, upload) {
            // With a new token it works.
            Err(Fault::Token) => return Err(Failure::Trouble("QQ wants another token".to_owned())),
            outcome => outcome.map_err(Fault::into_failure)?,
        };
        // QQ shows a space in place of the text.
        let body = json!({"msg_type": 7, "content": " ", "media": {"file_info": info}});
        let send = |extras: Extras<'_>| self.api.send(place, body.clone(), extras);
        self.reply(place, upload.key, send).map(drop)
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, url: &str, into: &mut File, limit: usize) -> Sent {
        self.api.download(url, into, limit)
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}

/// Rows of buttons, which everyone may press: the intake decides whose press counts.
fn rows(buttons: &[Vec<Button>]) -> Vec<Value> {
    let mut number = 0;
    let mut button = |button: &Button| {
        number += 1;
        let label = truncate_chars(&button.label, LABEL_CHARS);
        json!({
            "id": number.to_string(),
            "render_data": {"label": label, "visited_label": label, "style": 1},
            "action": {
                "type": 1, "permission": {"type": 2}, "data": button.data,
                "unsupport_tips": "QQ is too old for this button",
            },
        })
    };
    let rows = buttons.iter().take(ROW_BUTTONS);
    rows.map(|row| {
        let row: Vec<Value> = row.iter().take(ROW_BUTTONS).map(&mut button).collect();
        json!({"buttons": row})
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_broken_wherever_they_are_and_addresses_stay() {
        for (text, written) in [
            (
                "a <qqbot-cmd-enter text=\"%2Fpair\" />",
                "a <\u{200b}qqbot-cmd-enter text=\"%2Fpair\" />",
            ),
            ("`<@!1>` <@everyone>", "`<\u{200b}@!1>` <\u{200b}@everyone>"),
            ("<<emoji:1></b>", "<<\u{200b}emoji:1><\u{200b}/b>"),
            (
                "<https://example.org> 1 < 2 <3",
                "<https://example.org> 1 < 2 <3",
            ),
        ] {
            assert_eq!(without_tags(text), written);
        }
    }
}
