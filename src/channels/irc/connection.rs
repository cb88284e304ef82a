//! IRC as a channel: what it can do, and the calls of one worker.

pub mod hub;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::NAME;
use super::REGISTER_TIME;
use super::format::{Formatting, strip};
use super::link::Link;
use super::person::Place;
use super::person::people::People;
use super::receive::{self, ReceiverParts};
use super::settings::Settings;
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Result;
use crate::base::limits::channels::{CALL_TIME, DOWNLOAD_BYTES, UPLOAD_BYTES};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::text::markup;
use hub::{Handed, Hub, Message};

/// Messages of all kinds to one chat or to all within [`TOTAL_SPAN`]: what counts is the pace of the lines.
const TOTAL: usize = 60;
/// See [`TOTAL`].
const TOTAL_SPAN: Duration = Duration::from_secs(60);

/// IRC, as the configuration describes it.
pub struct Irc {
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

/// What the receiver and the workers have in common.
pub(super) struct Shared {
    pub making: Making,
    pub settings: Settings,
    pub hub: Arc<Hub>,
    /// Whether the settings were tried by this object, which is then no gateway's.
    is_trial: AtomicBool,
}

impl Irc {
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
            // What counts is the pace of the lines.
            chat_interval: Duration::ZERO,
            group_rate: (TOTAL, TOTAL_SPAN),
            total_rate: (TOTAL, TOTAL_SPAN),
            reaction: String::new(),
            quotes: false,
            edit_interval: None,
        };
        let settings = Settings::new(&making.bot);
        Self {
            capabilities,
            shared: Arc::new(Shared {
                making,
                settings,
                hub: Arc::default(),
                is_trial: AtomicBool::new(false),
            }),
        }
    }
}

impl Shared {
    /// A short connection beside that of a gateway, once the server has let it in.
    fn try_out(&self, cancel: &Cancel) -> Sent<Link> {
        let wake = self
            .hub
            .waker()
            .map_err(|error| Failure::Down(format!("the system gives no descriptor: {error}")))?;
        let settings = self.settings.for_trial();
        let tls = &self.making.tls;
        let mut link = Link::open(&settings, People::default(), tls, cancel, &wake)?;
        let watch = Stopwatch::start();
        while !link.session().is_ready() {
            link.step(REGISTER_TIME.saturating_sub(watch.elapsed()))?;
        }
        Ok(link)
    }
}

impl Adapter for Irc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        Place::of(address).ok().map(|place| place.is_channel())
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &Formatting)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &Formatting)
    }

    /// Logs in under another nick, because a gateway may have the configured one.
    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        self.shared.is_trial.store(true, Ordering::Relaxed);
        let link = self.shared.try_out(cancel)?;
        let settings = &self.shared.settings;
        let network = match link.session().support().network.as_str() {
            "" => settings.server.clone(),
            network => super::session::said(network),
        };
        Ok(format!("{} on {network}", settings.nick))
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Worker {
            shared: Arc::clone(&self.shared),
            cancel: cancel.clone(),
            heartbeat: heartbeat.clone(),
        }))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            shared: &self.shared,
            intake,
            heartbeat,
            cancel,
        });
    }
}

struct Worker {
    shared: Arc<Shared>,
    cancel: Cancel,
    heartbeat: Heartbeat,
}

impl Worker {
    /// Sends a message by a connection of its own, for a test of the settings.
    fn send_alone(&self, message: Message<'_>) -> Sent<String> {
        let mut link = self.shared.try_out(&self.cancel)?;
        if let Place::Channel(name) = message.to {
            link.join(name);
        }
        self.shared.hub.send_over(&mut link, message, &self.cancel)
    }
}

impl Connection for Worker {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let place = Place::of(to)?;
        self.heartbeat.beat(CALL_TIME);
        // What begins with this character is a request to a program, and no message.
        let text = if post.is_marked {
            post.text.replace('\u{1}', "")
        } else {
            strip(post.text)
        };
        let message = Message {
            to: &place,
            text: &text,
            key: post.key,
        };
        let hub = &self.shared.hub;
        match hub.hand_over(message, &self.cancel) {
            Handed::Done(outcome) => outcome,
            Handed::Parked => hub.drive(message, &self.cancel),
            Handed::Absent if self.shared.is_trial.load(Ordering::Relaxed) => {
                self.send_alone(message)
            }
            Handed::Absent => Err(Failure::Down("not connected yet".to_owned())),
        }
    }

    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Err(Failure::MessageGone)
    }

    fn delete(&mut self, _: &Address, _: &str) -> Sent {
        Err(Failure::MessageGone)
    }

    fn upload(&mut self, _: &Address, _: &Upload<'_>) -> Sent {
        Err(Failure::Refused("IRC carries no files".to_owned()))
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, _: &str, _: &mut File, _: usize) -> Sent {
        Err(Failure::Refused("IRC carries no files".to_owned()))
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}
