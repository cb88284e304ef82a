//! The HTTP server as a channel: what the delivery sees of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::hook;
use super::host::Slot;
use super::hub::Hub;
use super::server::{self, Listen};
use super::site::Site;
use super::web::view::View;
use super::web::{Web, WebChannel};
use super::{NAME, Opened, PAGE};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::sink::SharedSink;
use crate::config::schema::Http;
use crate::store::state::Pairing;

/// Bytes of a file that a client sends: photos of telephones, in the base64 of a request of 8 MiB.
const FILE_BYTES: usize = 6 * 1024 * 1024;
/// Time between two looks at a growing answer: people read no faster.
const GROWTH_INTERVAL: Duration = Duration::from_millis(250);
/// Messages a second to all clients together: each is a step in memory.
const TOTAL: usize = 1_000;

/// The channel.
pub struct HttpChannel {
    capabilities: Capabilities,
    pub(super) config: Http,
    pub(super) listen: Listen,
    pub(super) pairing: Arc<Pairing>,
    pub(super) slot: Slot,
    pub(super) hub: Arc<Hub>,
    /// Where files are until the message that has them is in its workspace.
    pub(super) files: PathBuf,
    /// The web page.
    pub(super) web: Arc<Web>,
}

/// Fails as [`open`] would fail.
pub fn check(config: &Http) -> Result<()> {
    if config.enabled {
        hook::check(&config.hooks)?;
        server::prepare(config)?;
    }
    Ok(())
}

/// Prepares the HTTP server when it is enabled; nothing listens yet. Fails when it never could, such as without a certificate.
pub fn open(config: &Http, pairing: &Arc<Pairing>, state: &Path) -> Result<Option<Opened>> {
    if !config.enabled {
        return Ok(None);
    }
    hook::check(&config.hooks)?;
    let listen = server::prepare(config)?;
    let slot = Slot::new(Site::new(config, listen.address(), listen.has_tls()));
    let hub = Arc::new(Hub::new()?);
    let web = Arc::new(Web {
        view: View::new(Arc::clone(hub.wake_fd())),
        intake: OnceLock::new(),
        received: state.join(PAGE),
        files: state.join("web-files"),
    });
    let page = Arc::new(WebChannel::new(&web));
    let channel = HttpChannel {
        capabilities: Capabilities {
            buttons: true,
            edits: true,
            button_data_bytes: 256,
            upload_bytes: 0,
            download_bytes: FILE_BYTES,
            typing_interval: None,
            chat_interval: Duration::ZERO,
            group_rate: (TOTAL, Duration::from_secs(1)),
            total_rate: (TOTAL, Duration::from_secs(1)),
            reaction: String::new(),
            quotes: true,
            edit_interval: Some(GROWTH_INTERVAL),
        },
        listen,
        config: config.clone(),
        pairing: Arc::clone(pairing),
        slot: slot.clone(),
        hub,
        files: state.join(NAME),
        web,
    };
    Ok(Some((vec![Arc::new(channel), page], slot)))
}

impl Adapter for HttpChannel {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        (address.channel == NAME).then_some(false)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        vec![piece(markdown)]
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        Some(piece(markdown))
    }

    fn identify(&self, _: &Cancel) -> Sent<String> {
        Ok(self.listen.to_string())
    }

    fn connect(&self, _: &Cancel, _: &Heartbeat) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Clients {
            hub: Arc::clone(&self.hub),
            files: self.files.clone(),
        }))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        server::run(self, &intake, &heartbeat, &cancel);
    }

    fn awaits_turns(&self) -> bool {
        true
    }

    fn turn_begins(&self, to: &Address, reference: &str) {
        self.hub.begins(&to.within_channel(), reference);
    }

    fn turn_failed(&self, to: &Address, reference: &str) {
        self.hub.failed(&to.within_channel(), reference);
    }

    fn refused(&self, to: &Address, reference: &str, why: &str) -> bool {
        self.hub.refuse(&to.within_channel(), reference, why)
    }

    fn turn_ended(&self, to: &Address, reference: &str) {
        self.hub.ended(&to.within_channel(), reference);
    }
}

/// Clients read Markdown.
fn piece(markdown: &str) -> Piece {
    Piece {
        written: markdown.to_owned(),
        plain: markdown.to_owned(),
    }
}

/// The clients whose requests wait.
struct Clients {
    hub: Arc<Hub>,
    files: PathBuf,
}

impl Connection for Clients {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let chat = to.within_channel();
        match post.reply_to {
            Some(reference) => self.hub.answer(&chat, reference, post.text),
            None if self.hub.say(&chat, post.text) => {}
            None => {
                return Err(Failure::Refused(
                    "a client of HTTP gets nothing but the answers to its requests".to_owned(),
                ));
            }
        }
        Ok("1".to_owned())
    }

    fn preview(&mut self, to: &Address, _: u32, post: &Post<'_>) -> Option<Sent> {
        self.hub.grow(&to.within_channel(), post.text);
        Some(Ok(()))
    }

    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Ok(())
    }

    fn delete(&mut self, _: &Address, _: &str) -> Sent {
        Ok(())
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        let text = format!("[{}: a client of HTTP gets no files]", upload.name);
        self.hub.say(&to.within_channel(), &text);
        Ok(())
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, id: &str, into: &mut File, limit: usize) -> Sent {
        super::routes::fetch_file(&self.files, id, into, limit)
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}
