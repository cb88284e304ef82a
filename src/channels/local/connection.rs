//! The channel as the delivery sees it.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::hub::Hub;
use super::wire::{chat_of, post};
use super::{NAME, receive, socket_path};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::channels::TOTAL_SPAN;
use crate::base::limits::channels::local as limits;
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::markdown::discord::Markdown;
use crate::channels::kit::names::clean_file_name;
use crate::channels::kit::sink::SharedSink;
use crate::config::channels::Bot;
use crate::sys::{file::private_folder, random};
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{self, Document, Format, has_scheme};

/// Characters of one message to a program, so that a line stays within what small programs read.
const MESSAGE_CHARS: usize = 8 * 1024;
/// Characters of a link's address in a message.
const LINK_CHARS: usize = 2000;
/// Bytes of a file that goes to a program or comes from one.
const FILE_BYTES: usize = 50 * 1024 * 1024;
/// Bytes of a button's data.
const BUTTON_DATA_BYTES: usize = 256;
/// Messages to all chats within a second: the disk of a small board keeps up with them.
const TOTAL: usize = 50;

/// Where files for programs are, below the folder `state`.
const FILES: &str = "local";

/// The local channel.
pub struct Local {
    clock: Clock,
    capabilities: Capabilities,
    socket: PathBuf,
    files: PathBuf,
    hub: Arc<Hub>,
}

impl Local {
    /// Prepares the channel; nothing listens yet.
    pub fn new(config: Bot, clock: Clock, state: &Path) -> Self {
        let capabilities = Capabilities {
            buttons: true,
            edits: true,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: FILE_BYTES as u64,
            download_bytes: FILE_BYTES,
            typing_interval: None,
            chat_interval: Duration::ZERO,
            group_rate: (TOTAL, TOTAL_SPAN),
            total_rate: (TOTAL, TOTAL_SPAN),
            reaction: String::new(),
            quotes: true,
            edit_interval: Some(Duration::from_millis(config.stream_edit_interval_ms)),
        };
        Self {
            clock,
            capabilities,
            socket: socket_path(&config, state),
            files: state.join(FILES),
            hub: Arc::default(),
        }
    }
}

impl Adapter for Local {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        // The address does not tell, and there are no limits for groups.
        chat_of(address).map(|_| false)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &Lines)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &Lines)
    }

    fn identify(&self, _: &Cancel) -> Sent<String> {
        let folder = self.socket.parent().unwrap_or(Path::new("/"));
        match fs::metadata(folder) {
            Ok(found) if found.is_dir() => Ok(self.socket.display().to_string()),
            Ok(_) => Err(Failure::Refused(format!(
                "{} is not a folder",
                folder.display()
            ))),
            Err(error) => Err(Failure::Local(Error::io("open", folder)(error))),
        }
    }

    fn connect(&self, _: &Cancel, _: &Heartbeat) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Caller {
            hub: Arc::clone(&self.hub),
            files: self.files.clone(),
        }))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(&receive::Parts {
            socket: &self.socket,
            hub: &self.hub,
            clock: &self.clock,
            intake,
            heartbeat,
            cancel,
        });
    }
}

/// Markdown in messages of a size that every program reads.
struct Lines;

impl Format for Lines {
    fn limit(&self) -> Limit {
        Limit {
            units: MESSAGE_CHARS,
            unit: Unit::Chars,
        }
    }

    fn can_link(&self, address: &str) -> bool {
        has_scheme(address, &["http", "https"]) && address.chars().count() <= LINK_CHARS
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        Markdown.write(document, range)
    }
}

/// Writes to the programs that are subscribed.
struct Caller {
    hub: Arc<Hub>,
    files: PathBuf,
}

impl Caller {
    fn write(&self, to: &Address, line: impl FnOnce(&str) -> Value) -> Sent {
        let chat = chat(to)?;
        match self.hub.write(&chat, &line(&chat)) {
            0 => Err(Failure::Trouble(
                "no program is subscribed to the chat".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Copies a file to where the programs can read it, and deletes the oldest copies.
    fn copy(&self, upload: &Upload<'_>) -> io::Result<PathBuf> {
        let mut known: Vec<_> = fs::read_dir(&self.files)?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        known.sort();
        let over = (known.len() + 1).saturating_sub(limits::FILES);
        for (_, path) in known.iter().take(over) {
            fs::remove_file(path)?;
        }
        let name = format!("{}~{}", new_id(upload.key), clean_file_name(upload.name));
        let path = self.files.join(name);
        let mut options = File::options();
        let mut copy = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        let mut source = upload.file;
        source.rewind()?;
        io::copy(&mut source, &mut copy)?;
        Ok(path)
    }
}

impl Connection for Caller {
    fn send(&mut self, to: &Address, content: &Post<'_>) -> Sent<String> {
        let id = new_id(content.key);
        self.write(to, |chat| post("message", chat, &id, content))?;
        Ok(id)
    }

    fn edit(&mut self, to: &Address, message: &str, content: &Post<'_>) -> Sent {
        self.write(to, |chat| post("edit", chat, message, content))
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        self.write(
            to,
            |chat| json!({"type": "delete", "id": message, "chat": chat}),
        )
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        let failed = |error| Failure::Local(Error::io("copy", upload.name)(error));
        private_folder(&self.files)?;
        let path = self.copy(upload).map_err(failed)?;
        let id = new_id(upload.key);
        let sent = self.write(to, |chat| {
            json!({"type": "file", "id": id, "chat": chat, "name": upload.name, "path": path})
        });
        if sent.is_err() {
            // It is copied again for the next attempt.
            let _ = fs::remove_file(&path);
        }
        sent
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, path: &str, into: &mut File, limit: usize) -> Sent {
        let failed = |error| Failure::Local(Error::io("read", path)(error));
        // A pipe or a device would never end.
        let source = crate::sys::file::open_to_read(Path::new(path)).map_err(failed)?;
        let found = source.metadata().map_err(failed)?;
        if !found.is_file() || found.len() > limit as u64 {
            return Err(Failure::Refused(format!(
                "{path} is not a file, or too large"
            )));
        }
        let copied = io::copy(&mut source.take(limit as u64), into);
        copied.map(drop).map_err(failed)
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}

/// The id of a message or a file: the same for each attempt, so that a program recognises what comes again.
fn new_id(key: Option<u64>) -> String {
    let key = key.unwrap_or_else(|| u64::from_ne_bytes(random::bytes().unwrap_or_default()));
    format!("{key:016x}")
}

fn chat(to: &Address) -> Sent<String> {
    chat_of(to).ok_or_else(|| Failure::Refused(format!("{to} is not a chat of a local program")))
}
