//! MoChat as a channel: what it can do, and the calls of one worker. It takes texts only.

use std::fs::File;

use serde_json::json;

use super::NAME;
use super::api::Api;
use super::event::{is_id, is_session};
use super::receive::{self, ReceiverParts};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::limits::channels::{
    CHAT_INTERVAL, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE, UPLOAD_BYTES,
};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{self, Plain};
use std::time::Duration;

/// Characters of one message. MoChat names no limit; a few screens are read at once.
const MESSAGE_CHARS: usize = 4000;
/// Messages to all chats in [`TOTAL_SPAN`].
const TOTAL: usize = 10;
/// See [`TOTAL`].
const TOTAL_SPAN: Duration = Duration::from_secs(1);

/// How a message is measured.
const PLAIN: Plain = Plain(Limit {
    units: MESSAGE_CHARS,
    unit: Unit::Chars,
});

/// MoChat, as the configuration describes it.
pub struct MoChat {
    making: Making,
    capabilities: Capabilities,
}

impl MoChat {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(making: Making) -> Self {
        let capabilities = Capabilities {
            buttons: false,
            edits: false,
            button_data_bytes: 0,
            // None is sent: `upload` says why.
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            typing_interval: None,
            chat_interval: CHAT_INTERVAL,
            group_rate: (TOTAL, TOTAL_SPAN),
            total_rate: (TOTAL, TOTAL_SPAN),
            reaction: String::new(),
            quotes: false,
            edit_interval: None,
        };
        Self {
            making,
            capabilities,
        }
    }
}

impl Adapter for MoChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        chat(address).ok().map(|chat| !is_session(chat))
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &PLAIN)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &PLAIN)
    }

    /// The API does not say who the agent is, so its configured id is shown once the token has worked.
    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        let Making { bot, tls, .. } = &self.making;
        let api = Api::new(bot, tls, TEST_PATIENCE, cancel)?;
        api.call("sessions/list", &json!({}))?;
        Ok(bot.text("agentUserId").to_owned())
    }

    fn connect(&self, cancel: &Cancel, _: &Heartbeat) -> Result<Box<dyn Connection>> {
        let Making { bot, tls, .. } = &self.making;
        Ok(Box::new(Api::new(bot, tls, PATIENCE, cancel)?))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            making: &self.making,
            intake,
            heartbeat,
            cancel,
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let chat = chat(to)?;
        Self::send(self, chat, post.text, is_session(chat))
    }

    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Err(Failure::MessageGone)
    }

    fn delete(&mut self, _: &Address, _: &str) -> Sent {
        Err(Failure::MessageGone)
    }

    fn upload(&mut self, _: &Address, _: &Upload<'_>) -> Sent {
        Err(Failure::Refused(
            "MoChat takes no files from agents".to_owned(),
        ))
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, _: &str, _: &mut File, _: usize) -> Sent {
        Err(Failure::Refused(
            "MoChat delivers no files to agents".to_owned(),
        ))
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}

/// The session or the panel in an address.
fn chat(to: &Address) -> Sent<&str> {
    let is_ours = to.channel == NAME && to.thread.is_none() && is_id(&to.chat);
    let refused = || Failure::Refused(format!("{to} is not a chat of MoChat"));
    is_ours.then_some(to.chat.as_str()).ok_or_else(refused)
}
