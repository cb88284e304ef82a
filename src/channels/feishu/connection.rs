//! Feishu as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use super::api::{Api, Shared};
use super::content::{FileId, is_id};
use super::event::{CHAT, MESSAGE, PERSON};
use super::receive::{self, ReceiverParts};
use super::{BUTTON_DATA_BYTES, UPLOAD_BYTES};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::limits::channels::{CALL_TIME, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::markdown::cards::Markdown;
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::text::markup;

/// The least time between two messages to one chat: Feishu allows five a second to all bots of a chat.
const CHAT_INTERVAL: Duration = Duration::from_millis(250);
/// The least time between two edits of one message; Feishu allows five a second.
const EDIT_INTERVAL: Duration = Duration::from_millis(400);
/// Messages to one group within [`SPAN`].
const GROUP: usize = 4;
/// Messages to all chats within [`SPAN`]: Feishu allows a thousand a minute.
const TOTAL: usize = 15;
/// See [`GROUP`] and [`TOTAL`].
const SPAN: Duration = Duration::from_secs(1);

/// Feishu, as the configuration describes it.
pub struct Feishu {
    pub(super) parts: Making,
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

impl Feishu {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(parts: Making) -> Self {
        let bot = &parts.bot;
        let edit_interval = Duration::from_millis(bot.stream_edit_interval_ms);
        let capabilities = Capabilities {
            buttons: true,
            edits: true,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            // Feishu does not show that a bot is writing.
            typing_interval: None,
            chat_interval: CHAT_INTERVAL,
            group_rate: (GROUP, SPAN),
            total_rate: (TOTAL, SPAN),
            reaction: bot.react_emoji.clone(),
            quotes: bot.reply_to_message,
            edit_interval: Some(edit_interval.max(EDIT_INTERVAL)),
        };
        Self {
            parts,
            capabilities,
            shared: Arc::default(),
        }
    }

    /// Calls of the API over a connection of their own.
    pub fn api(&self, patience: Duration, cancel: &Cancel) -> Result<Api> {
        let Making { bot, tls, .. } = &self.parts;
        Api::new(tls, bot, &self.shared, patience, cancel)
    }
}

impl Adapter for Feishu {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        is_group(address)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &Markdown)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &Markdown)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        let (_, name) = self.api(TEST_PATIENCE, cancel)?.get_me()?;
        Ok(name)
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
            feishu: self,
            intake,
            heartbeat,
            cancel,
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        self.create_message(ours(to)?, post)
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        self.edit_message(ours(to)?, message, post)
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        ours(to)?;
        self.delete_message(message)
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        Self::upload(self, ours(to)?, upload)
    }

    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent {
        ours(to)?;
        Self::react(self, message, emoji)
    }

    /// There is no such thing.
    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, file: &str, into: &mut File, limit: usize) -> Sent {
        let unknown = || Failure::Refused("it has no key".to_owned());
        self.download(FileId::parse(file).ok_or_else(unknown)?, into, limit)
    }

    /// Menus of bots are made in the developer console.
    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}

fn is_group(address: &Address) -> Option<bool> {
    let Address {
        channel,
        chat,
        thread,
    } = address;
    let thread = thread.as_deref();
    let is_thread = thread.is_none_or(|thread| thread.starts_with(MESSAGE) && is_id(thread));
    let is_ours = channel == super::NAME && is_id(chat) && is_thread;
    let is_group = chat.starts_with(CHAT);
    (is_ours && (is_group || chat.starts_with(PERSON))).then_some(is_group)
}

fn ours(to: &Address) -> Sent<&Address> {
    let refused = || Failure::Refused(format!("{to} is not a chat of Feishu"));
    is_group(to).map(|_| to).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_get_into_paths() {
        let is_group = |address| is_group(&Address::parse(address));
        assert_eq!(is_group("feishu:ou_a1"), Some(false));
        assert_eq!(is_group("feishu:oc_a1:om_b2"), Some(true));
        for address in [
            "feishu:",
            "feishu:a",
            "feishu:oc_1/2",
            "feishu:oc_1:omt_2",
            "feishu:oc_1:om_2?x",
            "lark:oc_1",
        ] {
            assert_eq!(is_group(address), None, "{address}");
            assert!(ours(&Address::parse(address)).is_err());
        }
    }
}
