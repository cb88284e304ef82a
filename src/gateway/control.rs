//! The control socket: how the command line talks with the running gateway.
//!
//! One request a connection, one line of JSON each way. Only this account and root may connect: the
//! socket is 0600 in a folder of 0700, and the peer's user is checked besides (`SO_PEERCRED`, unix(7)).

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;

use super::{Gateway, spawn};
use crate::channels::health::Task;
use crate::channels::names::title;
use crate::channels::texts::paired;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::json;
use crate::language::Language;
use crate::limits::gateway::{CONTROL_AT_ONCE, CONTROL_BYTES, CONTROL_TIME};
use crate::message::{Address, OutgoingMessage};
use crate::state::pairing::Paired;

/// What can be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How it goes.
    Status,
    /// Something for a person.
    Send {
        /// The key of a chat; none: the one where somebody spoke last.
        chat: Option<Address>,
        /// The words.
        text: String,
        /// Files of the workspace.
        files: Vec<String>,
    },
    /// A stranger's code.
    Pair {
        /// As it was told.
        code: String,
    },
}

/// What is answered: words for the person, or an error's.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Done(String),
    Failed(String),
}

/// Asks the gateway that listens at `path`; none when none does.
pub fn ask(path: &Path, request: &Request) -> Result<Option<String>> {
    let Ok(mut stream) = UnixStream::connect(path) else {
        return Ok(None);
    };
    let failed = |source| Error::io("talk with the gateway at", path)(source);
    let mut line = serde_json::to_vec(request).unwrap_or_default();
    line.push(b'\n');
    stream
        .set_read_timeout(Some(CONTROL_TIME))
        .and_then(|()| stream.set_write_timeout(Some(CONTROL_TIME)))
        .and_then(|()| stream.write_all(&line))
        .map_err(failed)?;
    match read_line(&stream)? {
        Reply::Done(text) => Ok(Some(text)),
        Reply::Failed(text) => Err(Error::Failed(text)),
    }
}

/// Listens at `path`. What stands in the way is told in the log: people are served without it.
pub(super) fn listen(gateway: &Arc<Gateway>, path: &Path) {
    let listener = match bind(path) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!("`peacrab send` and its like will not reach this gateway: {error}");
            return;
        }
    };
    let gateway = Arc::clone(gateway);
    tokio::spawn(async move {
        let busy = Arc::new(());
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Such as too many open files, which passes.
                    tracing::warn!("failed to accept on the control socket: {error}");
                    tokio::time::sleep(CONTROL_TIME).await;
                    continue;
                }
            };
            let user = stream.peer_cred().map(|peer| peer.uid());
            let ours = rustix::process::geteuid().as_raw();
            let is_allowed = user.is_ok_and(|user| user == ours || user == 0);
            if !is_allowed || Arc::strong_count(&busy) > CONTROL_AT_ONCE {
                continue;
            }
            let (gateway, busy) = (Arc::clone(&gateway), Arc::clone(&busy));
            let serve = move || {
                let served = stream
                    .into_std()
                    .map_err(Error::io("take over", "a connection"));
                if let Err(error) = served.and_then(|stream| serve(&gateway, &stream)) {
                    tracing::debug!("control: {error}");
                }
                drop(busy);
            };
            if let Err(error) = spawn("control", serve) {
                tracing::warn!("failed to answer on the control socket: {error}");
            }
        }
    });
}

fn bind(path: &Path) -> Result<UnixListener> {
    // Left by a gateway that was killed: whoever holds the home's lock is the only one.
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).map_err(Error::io("listen at", path))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .map_err(Error::io("set the mode of", path))?;
    Ok(listener)
}

fn serve(gateway: &Arc<Gateway>, mut stream: &UnixStream) -> Result<()> {
    let failed = |source| Error::io("talk with", "the command line")(source);
    stream.set_nonblocking(false).map_err(failed)?;
    stream
        .set_read_timeout(Some(CONTROL_TIME))
        .map_err(failed)?;
    stream
        .set_write_timeout(Some(CONTROL_TIME))
        .map_err(failed)?;
    let answer = read_line(stream).and_then(|request| gateway.control(request));
    let reply = match answer {
        Ok(text) => Reply::Done(text),
        Err(error) => Reply::Failed(error.to_string()),
    };
    let mut line = serde_json::to_vec(&reply).unwrap_or_default();
    line.push(b'\n');
    stream.write_all(&line).map_err(failed)
}

fn read_line<T: for<'a> Deserialize<'a>>(stream: &UnixStream) -> Result<T> {
    let mut line = Vec::new();
    BufReader::new(stream.take(CONTROL_BYTES as u64))
        .read_until(b'\n', &mut line)
        .map_err(Error::io("read from", "the control socket"))?;
    json::from_slice(&line).map_err(|error| {
        let what = match line.len() >= CONTROL_BYTES {
            true => format!("it is longer than {CONTROL_BYTES} bytes"),
            false => error.to_string(),
        };
        Error::Failed(format!(
            "what came over the control socket is not understood: {what}"
        ))
    })
}

impl Gateway {
    /// A line about each channel: whether it can be reached.
    fn channel_lines(&self) -> String {
        let now = Clock::System.now();
        let mut text = String::new();
        for (name, delivery) in &self.deliveries {
            let outages = delivery.health().outages();
            if outages.is_empty() {
                let _ = write!(text, "\n{name}: no problems");
            }
            for outage in outages {
                let task = match outage.task {
                    Task::Receive => "receive",
                    Task::Accept => "accept messages",
                    Task::Send => "send",
                };
                let minutes = now.signed_duration_since(outage.since).num_minutes().max(0);
                let since = outage.since.format("%Y-%m-%d %H:%M");
                let error = &outage.error;
                let _ = write!(
                    text,
                    "\n{name}: cannot {task} since {since} ({minutes} min): {error}"
                );
            }
        }
        text
    }

    /// Does what the command line asks.
    fn control(self: &Arc<Self>, request: Request) -> Result<String> {
        match request {
            Request::Status => Ok(self.figures() + &self.channel_lines()),
            Request::Pair { code } => {
                let Paired {
                    channel, sender, ..
                } = self.pair(&code, Language::English)?;
                let person = format!("{} ({})", sender.name, sender.id);
                Ok(paired(Language::English, &person, &title(&channel)))
            }
            Request::Send { chat, text, files } => {
                let chat = chat.or_else(|| self.parts.recent.get()).ok_or_else(|| {
                    Error::Usage("No chat yet. Message the bot first, or use --chat ID.".to_owned())
                })?;
                let message = OutgoingMessage {
                    files,
                    ..OutgoingMessage::text(&chat, text)
                };
                self.enqueue(message, None)?;
                Ok(format!("on its way to {chat}"))
            }
        }
    }
}
