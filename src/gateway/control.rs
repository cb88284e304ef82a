//! The control socket: how the command line talks with the running gateway.
//!
//! One request per connection, one line of JSON each way. Only this account and root may connect: the
//! socket has the mode 0600 in a folder of 0700, and the peer's user is checked (`SO_PEERCRED`, unix(7)).

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};

use super::{Changes, Gateway, spawn};
use crate::bus::{Ending, Event};
use crate::error::{Error, Result};
use crate::json;
use crate::language::Language;
use crate::limits::gateway::{CONTROL_AT_ONCE, CONTROL_BYTES, CONTROL_TIME};
use crate::message::{Address, OutgoingMessage};

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The gateway's status in a line.
    Status,
    /// A message to a chat.
    Send {
        /// The chat's address; `None` for the chat that was active last.
        chat: Option<Address>,
        /// The text, as Markdown.
        text: String,
        /// Files of the workspace.
        files: Vec<String>,
    },
    /// Reads the configuration again. The answer is [`Changes`] as JSON.
    Reload,
    /// A pairing code of an unknown person.
    Pair {
        /// As it was typed.
        code: String,
    },
}

/// The answer: a text for people (JSON for [`Request::Reload`]), or that of an error.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Done(String),
    Failed(String),
}

/// Asks the gateway that listens at `path`; `None` when none does.
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

/// Has the gateway that listens at `path` read its configuration again; `None` when none does. Fails
/// when the configuration is invalid: the gateway goes on with the one that it has.
pub fn reload(path: &Path) -> Result<Option<Changes>> {
    let Some(answer) = ask(path, &Request::Reload)? else {
        return Ok(None);
    };
    let changes = json::from_str(&answer);
    changes.map(Some).map_err(|error| not_understood(&error))
}

/// Listens at `path`. A failure is logged: the gateway serves people without the socket.
pub(super) fn listen(gateway: &Arc<Gateway>, path: &Path) {
    let listener = match bind(path) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(
                "failed to open the control socket, so `peacrab send` cannot reach this gateway: {error}"
            );
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
    // A gateway that was killed has left it: the lock of the home says that there is no other.
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
    json::from_slice(&line).map_err(|error| match line.len() >= CONTROL_BYTES {
        true => not_understood(&format!("it is longer than {CONTROL_BYTES} bytes")),
        false => not_understood(&error),
    })
}

fn not_understood(why: &dyn std::fmt::Display) -> Error {
    Error::Failed(format!(
        "Cannot read what came over the control socket: {why}. Is the gateway of another version?"
    ))
}

/// Reloads the configuration at SIGHUP, which is how systemd asks for it. In a terminal SIGHUP says
/// that the terminal is gone, and stops the gateway.
pub(super) fn reload_on_hangup(gateway: &Arc<Gateway>) {
    let mut signals = match signal(SignalKind::hangup()) {
        Ok(signals) => signals,
        Err(error) => return tracing::warn!("failed to listen for SIGHUP: {error}"),
    };
    let gateway = Arc::clone(gateway);
    let is_in_terminal = std::io::stdin().is_terminal();
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            if is_in_terminal {
                gateway.events.send_async(Event::End(Ending::Stopped)).await;
                return;
            }
            let reloading = Arc::clone(&gateway);
            let spawned = spawn("reload", move || {
                if let Err(error) = reloading.reload() {
                    tracing::error!("failed to reload the configuration: {error}");
                }
            });
            if let Err(error) = spawned {
                tracing::error!("failed to reload the configuration: {error}");
            }
        }
    });
}

impl Gateway {
    /// Reads the configuration again, and works with it from the next turn on.
    fn reload(&self) -> Result<Changes> {
        let reload = self.parts.reload.lock();
        let (live, changes) = reload(&self.live())?;
        let before = std::mem::replace(&mut *self.parts.live.lock(), Arc::new(live));
        drop(before);
        let (applied, restart) = (changes.applied.join(", "), changes.restart.join(", "));
        tracing::info!(applied, restart, "configuration reloaded");
        Ok(changes)
    }

    /// Answers a request of the command line.
    fn control(self: &Arc<Self>, request: Request) -> Result<String> {
        match request {
            Request::Status => Ok(self.status_line(Language::English)),
            Request::Reload => Ok(serde_json::to_string(&self.reload()?).unwrap_or_default()),
            Request::Pair { code } => self.pair(&code, Language::English),
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
