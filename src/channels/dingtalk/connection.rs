//! DingTalk as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use super::NAME;
use super::UPLOAD_BYTES;
use super::api::{Api, Shared};
use super::markdown::Markdown;
use super::place::Place;
use super::receive::{self, ReceiverParts};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::limits::channels::{CALL_TIME, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::text::markup;

/// The least time between two messages to one chat.
const CHAT_INTERVAL: Duration = Duration::from_millis(250);
/// Messages to one group within [`GROUP_SPAN`]: DingTalk allows a robot 20.
const GROUP: usize = 18;
/// See [`GROUP`].
const GROUP_SPAN: Duration = Duration::from_secs(60);
/// Messages to all chats within [`TOTAL_SPAN`]: DingTalk allows 20 calls of most kinds, and a message with a file is two.
const TOTAL: usize = 10;
/// See [`TOTAL`].
const TOTAL_SPAN: Duration = Duration::from_secs(1);

/// DingTalk, as the configuration describes it.
pub struct DingTalk {
    pub(super) making: Making,
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

impl DingTalk {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(making: Making) -> Self {
        let capabilities = Capabilities {
            buttons: false,
            edits: false,
            button_data_bytes: 0,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            // DingTalk does not show that a robot is writing.
            typing_interval: None,
            chat_interval: CHAT_INTERVAL,
            group_rate: (GROUP, GROUP_SPAN),
            total_rate: (TOTAL, TOTAL_SPAN),
            reaction: String::new(),
            quotes: false,
            edit_interval: None,
        };
        Self {
            making,
            capabilities,
            shared: Arc::default(),
        }
    }

    /// Calls of the API over a connection of their own.
    pub fn api(&self, patience: Duration, cancel: &Cancel) -> Result<Api> {
        let Making { bot, tls, .. } = &self.making;
        Api::new(tls, bot, &self.shared, patience, cancel)
    }
}

impl Adapter for DingTalk {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        Place::of(address).ok().map(|place| place.is_group())
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &Markdown)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &Markdown)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        self.api(TEST_PATIENCE, cancel)?.identify()
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
            dingtalk: self,
            intake,
            heartbeat,
            cancel,
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        Self::send(self, &Place::of(to)?, post)
    }

    /// There is no such thing.
    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Err(Failure::MessageGone)
    }

    fn delete(&mut self, _: &Address, _: &str) -> Sent {
        Err(Failure::MessageGone)
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        Self::upload(self, &Place::of(to)?, upload)
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, code: &str, into: &mut File, limit: usize) -> Sent {
        self.download(code, into, limit)
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}
