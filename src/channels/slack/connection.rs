//! Slack as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::BUTTON_DATA_BYTES;
use super::api::explain::is_certain;
use super::api::{Access, Api, has_key, text_of};
use super::event::{Me, Scope, file_url, is_group};
use super::mrkdwn;
use super::receive::{self, ReceiverParts};
use super::sent::Sent as SentBefore;
use super::{NAME, is_id, micros};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::json::Members;
use crate::base::limits::channels::{
    CALL_TIME, CHAT_INTERVAL, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE, TOTAL_SPAN, UPLOAD_BYTES,
};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::names;
use crate::channels::kit::rest::rates::RateLimits;
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::net::http::Tls;
use crate::text::markup;

/// Messages to all chats within a second: Slack allows several hundred a minute.
const TOTAL: usize = 4;
/// The least time between two edits of a message: Slack allows 50 edits a minute.
const EDIT_INTERVAL: Duration = Duration::from_millis(1500);
/// Pages of a thread, whose oldest messages come first, in which it is looked for.
const SENT_PAGES: u32 = 4;

/// The names of emoji that are likely as a reaction, which Slack knows by their names only.
const EMOJI: [(&str, &str); 14] = [
    ("👀", "eyes"),
    ("👍", "thumbsup"),
    ("👌", "ok_hand"),
    ("👋", "wave"),
    ("✅", "white_check_mark"),
    ("✔", "heavy_check_mark"),
    ("🤔", "thinking_face"),
    ("❤", "heart"),
    ("🔥", "fire"),
    ("🎉", "tada"),
    ("🤖", "robot_face"),
    ("🦀", "crab"),
    ("⏳", "hourglass_flowing_sand"),
    ("👂", "ear"),
];

/// Slack, as the configuration describes it.
pub struct Slack {
    access: Access,
    scope: Scope,
    tls: Tls,
    clock: Clock,
    state: PathBuf,
    capabilities: Capabilities,
    limits: Arc<RateLimits>,
    sent: Arc<SentBefore>,
}

impl Slack {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(making: Making) -> Self {
        let Making {
            bot: config,
            tls,
            clock,
            state,
        } = making;
        let access = Access {
            base: config.api_base.clone(),
            bot: config.secret("botToken"),
            app: config.secret("appToken"),
            proxy: config.proxy.clone(),
        };
        let scope = Scope {
            groups: config.group_policy,
            only_in: config.texts("groupAllowFrom"),
            private: config.text("dmPolicy") != "off",
            reply_in_thread: config.flag("replyInThread"),
        };
        let edits = Duration::from_millis(config.stream_edit_interval_ms);
        let capabilities = Capabilities {
            buttons: true,
            edits: true,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            // In socket mode there is nothing to show it with.
            typing_interval: None,
            chat_interval: CHAT_INTERVAL,
            group_rate: (TOTAL, TOTAL_SPAN),
            total_rate: (TOTAL, TOTAL_SPAN),
            reaction: emoji_name(&config.react_emoji).unwrap_or_default(),
            // Slack has threads where others quote.
            quotes: false,
            edit_interval: Some(edits.max(EDIT_INTERVAL)),
        };
        Self {
            access,
            scope,
            tls,
            clock,
            state,
            capabilities,
            limits: Arc::default(),
            sent: Arc::default(),
        }
    }

    /// Calls of the Web API over a connection of their own.
    pub fn api(&self, patience: Duration, cancel: &Cancel) -> Result<Api> {
        Api::new(&self.tls, &self.access, &self.limits, patience, cancel)
    }
}

/// Who the app is.
pub(super) fn identify(api: &Api) -> Sent<Me> {
    let reply = api.call("auth.test", &[])?;
    let unexpected = || Failure::Trouble("unexpected reply from Slack".to_owned());
    Ok(Me {
        user: text_of(&reply, "user_id")
            .filter(|id| is_id(id))
            .ok_or_else(unexpected)?,
        name: text_of(&reply, "user").unwrap_or_default(),
        team: text_of(&reply, "team_id").unwrap_or_default(),
    })
}

impl Adapter for Slack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        place(address).ok().map(|(chat, _)| is_group(chat))
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &mrkdwn::MESSAGE)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &mrkdwn::DRAFT)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        let api = self.api(TEST_PATIENCE, cancel)?;
        let me = identify(&api)?;
        // The other token. What it opens is never connected to, and ends by itself.
        api.open_connection()?;
        Ok(format!("@{}", me.name))
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        let heartbeat = heartbeat.clone();
        let api = self.api(PATIENCE, cancel)?;
        Ok(Box::new(Worker {
            api: api.with_progress(move || heartbeat.beat(CALL_TIME)),
            sent: Arc::clone(&self.sent),
        }))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            slack: self,
            access: &self.access,
            scope: &self.scope,
            tls: &self.tls,
            clock: &self.clock,
            state: &self.state,
            intake,
            heartbeat,
            cancel,
        });
    }
}

/// The connection of one worker.
struct Worker {
    api: Api,
    sent: Arc<SentBefore>,
}

impl Worker {
    /// The chat and the thread of an address, with the private chat for a person.
    fn place<'a>(&self, to: &'a Address) -> Sent<(String, Option<&'a str>)> {
        let (chat, thread) = place(to)?;
        if !chat.starts_with(['U', 'W']) {
            return Ok((chat.to_owned(), thread));
        }
        let known = self.sent.private_chat(chat);
        let id = match known {
            Some(known) => known,
            None => {
                let id = self.api.open_private_chat(chat)?;
                self.sent.note_private_chat(chat, &id);
                id
            }
        };
        Ok((id, thread))
    }

    /// The message that was sent with this key, if the last one to this chat is in doubt and arrived.
    fn find_sent(&self, chat: &str, thread: Option<&str>, key: u64) -> Sent<Option<String>> {
        let mut cursor = String::new();
        for _ in 0..SENT_PAGES {
            let page = match self.api.messages(chat, thread, ("", &cursor), true) {
                Ok(page) => page,
                Err(
                    failure @ (Failure::RetryAfter(_)
                    | Failure::Trouble(_)
                    | Failure::Down(_)
                    | Failure::Stopped),
                ) => return Err(failure),
                Err(failure) => {
                    tracing::debug!(
                        "failed to look for a message that may have been sent: {failure}"
                    );
                    return Ok(None);
                }
            };
            let reply = Members::read(&page.reply).unwrap_or_default();
            for message in reply.list("messages").unwrap_or_default() {
                let message = Members::read(message.get()).unwrap_or_default();
                if has_key(&message, key) {
                    return Ok(message.text("ts"));
                }
            }
            // The newest messages of a chat come first, those of a thread last.
            if page.cursor.is_empty() || thread.is_none() {
                break;
            }
            cursor = page.cursor;
        }
        Ok(None)
    }

    fn post(
        &self,
        to: &Address,
        (chat, thread): (&str, Option<&str>),
        post: &Post<'_>,
    ) -> Sent<String> {
        let Some(key) = post.key else {
            return self.api.post(chat, thread, post);
        };
        if !self.sent.is_settled(to)
            && let Some(ts) = self.find_sent(chat, thread, key)?
        {
            self.sent.settle(to, true);
            return Ok(ts);
        }
        self.sent.settle(to, false);
        let outcome = self.api.post(chat, thread, post);
        self.sent.settle(to, is_certain(&outcome));
        outcome
    }

    /// Uploads a file; an earlier attempt may have come as far as showing it.
    fn show_file(
        &self,
        (chat, thread): (&str, Option<&str>),
        upload: &Upload<'_>,
        (length, text): (u64, Option<&str>),
    ) -> Sent {
        let name = names::clean_file_name(upload.name);
        let earlier = upload.key.and_then(|key| self.sent.upload(key));
        let file = match earlier {
            Some(file) => {
                if self.is_shown(&file, chat)? {
                    return Ok(());
                }
                file
            }
            None => {
                let (url, file) = self.api.begin_upload(&name, length)?;
                self.api.put_bytes(&url, upload.file, length)?;
                file
            }
        };
        if let Some(key) = upload.key {
            self.sent.note_upload(key, Some(&file));
        }
        let outcome = self.api.end_upload((chat, thread), (&file, &name), text);
        let is_over = is_certain(&outcome) && !matches!(outcome, Err(Failure::RetryAfter(_)));
        if let Some(key) = upload.key.filter(|_| is_over) {
            self.sent.note_upload(key, None);
        }
        outcome
    }

    /// Sends a file, with a text if there is one.
    fn send_file(&self, to: &Address, upload: &Upload<'_>, text: Option<&str>) -> Sent {
        let (chat, thread) = self.place(to)?;
        let length = upload
            .file
            .metadata()
            .map_err(Error::io("read", upload.name));
        let length = length.map_err(Failure::Local)?.len();
        if length == 0 {
            return Err(Failure::Refused("Slack takes no empty files".to_owned()));
        }
        if length > UPLOAD_BYTES {
            return Err(Failure::Local(Error::TooLarge {
                what: upload.name.to_owned(),
                limit: UPLOAD_BYTES as usize,
            }));
        }
        self.show_file((&chat, thread), upload, (length, text))
    }

    /// Whether a file is shown in a chat.
    fn is_shown(&self, file: &str, chat: &str) -> Sent<bool> {
        let reply = self.api.file(file)?;
        let reply = Members::read(&reply).unwrap_or_default();
        let file = reply.members("file");
        let lists = ["channels", "groups", "ims"].map(|list| file.texts(list).unwrap_or_default());
        Ok(lists.concat().iter().any(|shown| shown == chat))
    }
}

impl Connection for Worker {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let (chat, thread) = self.place(to)?;
        match self.post(to, (&chat, thread), post) {
            // The thread's first message was deleted.
            Err(Failure::Refused(said)) if thread.is_some() && is_thread_gone(&said) => {
                self.post(to, (&chat, None), post)
            }
            outcome => outcome,
        }
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        let (chat, _) = self.place(to)?;
        match self.api.update(&chat, id(message)?, post) {
            // What is sent anew may be longer than what is edited.
            Err(Failure::TooLong) => {
                let _ = self.delete(to, message);
                Err(Failure::MessageGone)
            }
            outcome => outcome,
        }
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        let (chat, _) = self.place(to)?;
        let arguments = [("channel", chat.as_str()), ("ts", id(message)?)];
        self.api.call("chat.delete", &arguments).map(drop)
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
        // A comment on a file has no buttons.
        text.buttons
            .is_empty()
            .then(|| self.send_file(to, upload, Some(text.text)))
    }

    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent {
        let (chat, _) = self.place(to)?;
        let arguments = [
            ("channel", chat.as_str()),
            ("timestamp", id(message)?),
            ("name", emoji),
        ];
        match self.api.call("reactions.add", &arguments) {
            // Reactions have a rate limit of their own, and nothing waits for them.
            Err(Failure::RetryAfter(_)) => Ok(()),
            Err(Failure::Refused(said)) if said.ends_with("already_reacted") => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, file: &str, into: &mut File, limit: usize) -> Sent {
        let (id, url) = file.split_once(' ').unwrap_or((file, ""));
        if !url.is_empty() {
            return self.api.download(url, into, limit);
        }
        // Of a file from another workspace, only its id came.
        let unknown = || Failure::Refused("it has no URL".to_owned());
        if !is_id(id) {
            return Err(unknown());
        }
        let reply = self.api.file(id)?;
        let reply = Members::read(&reply).unwrap_or_default();
        let url = file_url(&reply.members("file")).ok_or_else(unknown)?;
        self.api.download(&url, into, limit)
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        // An app's commands stand in its manifest, which its tokens cannot change.
        Ok(())
    }
}

/// The chat and the thread of an address.
fn place(to: &Address) -> Sent<(&str, Option<&str>)> {
    let chat = to.chat.as_str();
    let thread = to.thread.as_deref();
    let is_chat = to.channel == NAME && is_id(chat) && chat.starts_with(['C', 'D', 'G', 'U', 'W']);
    if is_chat && thread.is_none_or(|thread| micros(thread).is_some()) {
        Ok((chat, thread))
    } else {
        Err(Failure::Refused(format!("{to} is not a chat of Slack")))
    }
}

/// The number of a message.
fn id(text: &str) -> Sent<&str> {
    micros(text).map(|_| text).ok_or(Failure::MessageGone)
}

fn is_thread_gone(said: &str) -> bool {
    [
        "thread_not_found",
        "cannot_reply_to_message",
        "invalid_thread_ts",
    ]
    .iter()
    .any(|error| said.ends_with(error))
}

/// The name of an emoji, given as a name or as itself; `None` when there is none.
pub(super) fn emoji_name(emoji: &str) -> Option<String> {
    let emoji = emoji.trim().trim_matches(':').trim_end_matches('\u{fe0f}');
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_+-".contains(c);
    if !emoji.is_empty() && emoji.chars().all(is_name) {
        return Some(emoji.to_owned());
    }
    let known = EMOJI.iter().find(|(known, _)| *known == emoji);
    known.map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_and_numbers_are_addresses() {
        for (address, expected) in [
            ("slack:D0123", Some(("D0123", None))),
            ("slack:U0123", Some(("U0123", None))),
            (
                "slack:C0123:1355517523.000005",
                Some(("C0123", Some("1355517523.000005"))),
            ),
            ("slack:", None),
            ("slack:general", None),
            ("slack:F0123", None),
            ("slack:C0123:7", None),
            ("discord:C0123", None),
        ] {
            let address = Address::parse(address);
            assert_eq!(place(&address).ok(), expected, "{address}");
        }
        assert!(id("1.2").is_err() && id("1355517523.000005").is_ok());
    }

    #[test]
    fn a_reaction_is_known_by_its_name() {
        for (emoji, expected) in [
            ("eyes", Some("eyes")),
            (":eyes:", Some("eyes")),
            ("👀", Some("eyes")),
            ("❤️", Some("heart")),
            ("+1", Some("+1")),
            ("", None),
            ("🜁", None),
        ] {
            assert_eq!(emoji_name(emoji).as_deref(), expected, "{emoji}");
        }
    }
}
