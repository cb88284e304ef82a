//! The web page as a channel: its chats are those of the people who are signed in.
//!
//! The server of HTTP receives for it. Its chats live in `view`, where the server finds what is new.

pub mod looks;
pub mod view;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use self::view::{Message, View};
use super::PAGE;
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::limits::channels::PATIENCE;
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::sink::SharedSink;
use crate::sys::file::private_folder;
use crate::sys::random;

/// Bytes of a file that goes to a page, or comes from one.
pub const FILE_BYTES: usize = 6 * 1024 * 1024;
/// Files for pages that are kept, half of them for one person.
const FILES: usize = 16;
/// Time between two looks at a growing answer: people read no faster.
const GROWTH_INTERVAL: Duration = Duration::from_millis(200);
/// How often work is shown to go on.
const WORKING_INTERVAL: Duration = Duration::from_secs(5);
/// Messages a second to all pages together: each is a step in memory.
const TOTAL: usize = 1_000;
/// How often the waiting thread shows that it is alive.
const WAIT: Duration = Duration::from_mins(10);

/// What the server and the channel of the page share.
pub struct Web {
    /// What the chats show.
    pub view: View,
    /// Takes what people send from the page; empty before the gateway is complete.
    pub intake: OnceLock<SharedSink>,
    /// Where files that people send wait for their message.
    pub received: PathBuf,
    /// Where files for people are.
    pub files: PathBuf,
}

/// The channel.
pub struct WebChannel {
    capabilities: Capabilities,
    web: Arc<Web>,
}

impl WebChannel {
    /// A channel whose chats are there.
    pub fn new(web: &Arc<Web>) -> Self {
        Self {
            capabilities: Capabilities {
                buttons: true,
                edits: true,
                button_data_bytes: 256,
                upload_bytes: FILE_BYTES as u64,
                download_bytes: FILE_BYTES,
                typing_interval: Some(WORKING_INTERVAL),
                chat_interval: Duration::ZERO,
                group_rate: (TOTAL, Duration::from_secs(1)),
                total_rate: (TOTAL, Duration::from_secs(1)),
                reaction: String::new(),
                quotes: false,
                edit_interval: Some(GROWTH_INTERVAL),
            },
            web: Arc::clone(web),
        }
    }
}

impl Adapter for WebChannel {
    fn name(&self) -> &'static str {
        PAGE
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        (address.channel == PAGE).then_some(false)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        vec![piece(markdown)]
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        Some(piece(markdown))
    }

    fn identify(&self, _: &Cancel) -> Sent<String> {
        Ok("the web page".to_owned())
    }

    fn connect(&self, _: &Cancel, _: &Heartbeat) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Pages(Arc::clone(&self.web))))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        // The server of HTTP receives, on its own thread.
        let _ = self.web.intake.set(intake);
        loop {
            heartbeat.beat(WAIT + PATIENCE);
            if cancel.wait(WAIT) {
                return;
            }
        }
    }

    fn awaits_turns(&self) -> bool {
        true
    }

    fn turn_ended(&self, to: &Address, _: &str) {
        self.web.view.rested(&to.within_channel());
    }
}

/// The page reads Markdown.
fn piece(markdown: &str) -> Piece {
    Piece {
        written: markdown.to_owned(),
        plain: markdown.to_owned(),
    }
}

/// The pages that look, and those that will.
struct Pages(Arc<Web>);

fn message(post: &Post<'_>) -> Message {
    Message {
        text: post.text.to_owned(),
        is_marked: post.is_marked,
        buttons: post.buttons.to_vec(),
        ..Message::default()
    }
}

impl Connection for Pages {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        Ok(self.0.view.add(&to.within_channel(), message(post)))
    }

    fn preview(&mut self, to: &Address, _: u32, post: &Post<'_>) -> Option<Sent> {
        self.0.view.draft(&to.within_channel(), post.text);
        Some(Ok(()))
    }

    fn edit(&mut self, to: &Address, id: &str, post: &Post<'_>) -> Sent {
        let edited = self.0.view.edit(&to.within_channel(), id, |one| {
            post.text.clone_into(&mut one.text);
            one.is_marked = post.is_marked;
            one.buttons = post.buttons.to_vec();
        });
        edited.then_some(()).ok_or(Failure::MessageGone)
    }

    fn delete(&mut self, to: &Address, id: &str) -> Sent {
        let removed = self.0.view.remove(&to.within_channel(), id);
        removed.then_some(()).ok_or(Failure::MessageGone)
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        let id = self.keep(&to.chat, upload).map_err(Failure::Local)?;
        let message = Message {
            file: Some((id, upload.name.to_owned())),
            ..Message::default()
        };
        self.0.view.add(&to.within_channel(), message);
        Ok(())
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, to: &Address) -> Sent {
        self.0.view.working(&to.within_channel());
        Ok(())
    }

    fn fetch(&mut self, id: &str, into: &mut File, limit: usize) -> Sent {
        super::routes::fetch_file(&self.0.received, id, into, limit)
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}

impl Pages {
    /// Copies a file for a person to where the pages find it; returns its id.
    fn keep(&self, person: &str, upload: &Upload<'_>) -> Result<String> {
        let folder = &self.0.files;
        private_folder(folder)?;
        super::routes::clear_files(folder, FILES);
        let id = format!("{:032x}", u128::from_ne_bytes(random::bytes()?));
        let id = super::routes::owned_name(person, &id);
        let path = folder.join(&id);
        let mut source = upload.file;
        let copied = File::create_new(&path)
            .and_then(|mut made| io::copy(&mut source, &mut made))
            .map_err(Error::io("write", &path));
        match copied {
            Ok(_) => Ok(id),
            Err(error) => {
                let _ = std::fs::remove_file(&path);
                Err(error)
            }
        }
    }
}
