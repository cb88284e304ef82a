//! WhatsApp as a channel: what it can do, and the calls of one worker.
//!
//! The bridge knows one command, to send a text. It cannot edit or delete, and knows no buttons, reactions, typing or
//! files. Each worker has a connection of its own, so that the answer to a command is the next one that comes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::markdown::Markdown;
use super::receive::{self, ReceiverParts};
use super::socket::Socket;
use super::{NAME, event, frame};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::limits::channels::{CALL_TIME, DOWNLOAD_BYTES, UPLOAD_BYTES};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::config::schema::Bot;
use crate::net::http::Tls;
use crate::text::markup;
use std::time::Duration;

/// Time in which a message has to be sent. The bridge answers once WhatsApp has it.
const SEND_TIME: Duration = Duration::from_secs(45);
/// Time between two messages to one chat. WhatsApp blocks numbers that write faster than people do.
const CHAT_INTERVAL: Duration = Duration::from_secs(1);
/// Messages to all chats in [`TOTAL_SPAN`].
const TOTAL: usize = 20;
/// See [`TOTAL`].
const TOTAL_SPAN: Duration = Duration::from_secs(60);

/// WhatsApp, as the configuration describes it.
pub struct WhatsApp {
    making: Making,
    capabilities: Capabilities,
}

impl WhatsApp {
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

impl Adapter for WhatsApp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        jid(address).ok().map(|_| event::is_group(&address.chat))
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &Markdown)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &Markdown)
    }

    /// The bridge does not say which account it is linked to.
    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        let mut socket = connect(&self.making.bot, &self.making.tls, cancel)?;
        socket.probe()?;
        socket.close();
        Ok(format!(
            "the bridge at {}",
            self.making.bot.text("bridgeUrl")
        ))
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Worker {
            bot: self.making.bot.clone(),
            tls: self.making.tls.clone(),
            cancel: cancel.clone(),
            heartbeat: heartbeat.clone(),
            socket: None,
        }))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            bot: &self.making.bot,
            tls: &self.making.tls,
            clock: &self.making.clock,
            state: &self.making.state,
            intake,
            heartbeat,
            cancel,
        });
    }
}

fn connect(bot: &Bot, tls: &Tls, cancel: &Cancel) -> Sent<Socket> {
    Socket::connect(bot, tls, cancel).map_err(|error| match error {
        Error::Stopped => Failure::Stopped,
        Error::Config(_) => Failure::Local(error),
        error => Failure::Down(error.to_string()),
    })
}

struct Worker {
    bot: Bot,
    tls: Tls,
    cancel: Cancel,
    heartbeat: Heartbeat,
    /// Once a message was sent. It was probed, so that answers are those of our commands.
    socket: Option<Socket>,
}

impl Worker {
    /// Sends a text. A connection that was not used for a while is probed first, and made anew if it is dead: after
    /// the text is under way, nobody can tell whether it was sent.
    fn send_text(&mut self, to: &str, text: &str) -> Sent {
        self.heartbeat.beat(CALL_TIME);
        let mut socket = match self.probed() {
            Some(socket) => socket,
            None => {
                let mut socket = connect(&self.bot, &self.tls, &self.cancel)?;
                socket.probe()?;
                socket
            }
        };
        let outcome = socket.command(to, &frame::send(to, text), SEND_TIME);
        if matches!(
            outcome,
            Ok(()) | Err(Failure::Refused(_) | Failure::RetryAfter(_))
        ) {
            self.socket = Some(socket);
        }
        outcome
    }

    /// The connection of the last message, if it still works.
    fn probed(&mut self) -> Option<Socket> {
        let mut socket = self.socket.take()?;
        socket.probe().ok()?;
        Some(socket)
    }
}

impl Connection for Worker {
    /// The bridge does not say which id the message got.
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        self.send_text(&jid(to)?, post.text)?;
        Ok(String::new())
    }

    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Err(Failure::MessageGone)
    }

    fn delete(&mut self, _: &Address, _: &str) -> Sent {
        Err(Failure::MessageGone)
    }

    fn upload(&mut self, _: &Address, _: &Upload<'_>) -> Sent {
        Err(Failure::Refused(
            "the WhatsApp bridge sends no files".to_owned(),
        ))
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, id: &str, into: &mut File, limit: usize) -> Sent {
        let folder = self.bot.text("mediaDir");
        let Some(path) = within(Path::new(folder), Path::new(id)).filter(|_| !folder.is_empty())
        else {
            let why = "it is not in the folder channels.whatsapp.mediaDir".to_owned();
            return Err(Failure::Refused(why));
        };
        copy(&path, into, limit)
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}

/// The path of a file directly in a folder; `None` for any other path. The name comes from the bridge, and so in the
/// end from whoever sent the file.
fn within(folder: &Path, path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    (path.parent()? == folder).then(|| folder.join(name))
}

/// Copies a file that the bridge has stored. A link in its place is refused, and a pipe blocks nothing.
fn copy(path: &Path, into: &mut File, limit: usize) -> Sent {
    let local = |error: io::Error| Failure::Local(Error::io("read", path)(error));
    let mut options = OpenOptions::new();
    options.read(true);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path).map_err(local)?;
    let status = file.metadata().map_err(local)?;
    if !status.is_file() {
        return Err(Failure::Refused("it is not a regular file".to_owned()));
    }
    if status.len() > limit as u64 {
        let what = "the file".to_owned();
        return Err(Failure::Local(Error::TooLarge { what, limit }));
    }
    io::copy(&mut file.take(limit as u64), into)
        .map(drop)
        .map_err(local)
}

/// The chat's address at WhatsApp.
fn jid(to: &Address) -> Sent<String> {
    let is_ours = to.channel == NAME && to.thread.is_none();
    let jid = event::decode(&to.chat).filter(|_| is_ours);
    jid.ok_or_else(|| Failure::Refused(format!("{to} is not a chat of WhatsApp")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chats_of_whatsapp_are_written_to() {
        let to = |text: &str| jid(&Address::parse(text)).ok();
        assert_eq!(to("whatsapp:4179").as_deref(), Some("4179@s.whatsapp.net"));
        assert_eq!(to("whatsapp:1-2@g.us").as_deref(), Some("1-2@g.us"));
        for other in [
            "whatsapp:",
            "whatsapp:ann",
            "whatsapp:4179:7",
            "telegram:4179",
        ] {
            assert_eq!(to(other), None, "{other}");
        }
    }

    #[test]
    fn only_files_of_the_bridge_are_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("media");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("a.png"), "picture").unwrap();
        std::fs::write(home.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(home.path().join("secret"), folder.join("b.png")).unwrap();
        let mut into = tempfile::tempfile().unwrap();
        let path = |name: &str| within(&folder, Path::new(name));
        assert_eq!(path("/etc/passwd"), None);
        assert_eq!(path(&folder.join("../secret").display().to_string()), None);
        assert_eq!(path(""), None);
        let file = path(&folder.join("a.png").display().to_string()).unwrap();
        assert!(copy(&file, &mut into, 100).is_ok());
        assert!(copy(&file, &mut into, 3).is_err());
        assert!(copy(&folder.join("b.png"), &mut into, 100).is_err());
        assert!(copy(&folder, &mut into, 100).is_err());
    }
}
