//! The control socket: how the command line talks with the running gateway.
//!
//! One request per connection, one line of JSON each way. Only this account and root may connect: the
//! socket has the mode 0600 in a folder of 0700, and the peer's user is checked (`SO_PEERCRED`, unix(7)).

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, FixedOffset};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};

use super::cron::zone_of;
use super::{Changes, Gateway, spawn};
use crate::base::access::Role;
use crate::base::bus::{Ending, Event};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::language::Language;
use crate::base::limits::cancel::POLL;
use crate::base::message::{Address, OutgoingMessage, Writer};
use crate::channels::delivery::Delivery;
use crate::channels::kit::health::Task;
use crate::channels::kit::texts::describe_paired;
use crate::channels::table::title;
use crate::store::state::pairing::Paired;

/// Bytes of a request over the control socket, and of its answer.
const CONTROL_BYTES: usize = 256 * 1024;
/// Messages of a channel that wait or are set aside and are told one by one.
const STUCK_SHOWN: usize = 10;
/// How long either side of the control socket may keep the other waiting.
const CONTROL_TIME: Duration = Duration::from_secs(10);
/// Connections of the control socket at a time; more are turned away.
const CONTROL_AT_ONCE: usize = 8;
/// How long the gateway waits until the channel has confirmed a message of `peacrab send`. Half of
/// [`CONTROL_TIME`], after which the command gives up.
const SEND_CONFIRM_TIME: Duration = Duration::from_secs(5);

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The gateway's status in a line.
    Status,
    /// A message to a chat.
    Send {
        /// The chat's address; `None` for the private chat of an owner.
        chat: Option<Address>,
        /// The text, as Markdown.
        text: String,
        /// Files of the workspace.
        files: Vec<String>,
        /// Whether to wait until the channel has confirmed it.
        #[serde(default)]
        waits: bool,
    },
    /// Reads the configuration again. The answer is [`Changes`] as JSON.
    Reload,
    /// Somebody's access was taken away. The answer is empty.
    AccessChanged,
    /// Which program runs. The answer is [`RunInfo`] as JSON.
    Version,
    /// A restart, as `/restart` asks for it.
    Restart,
    /// An update that was asked for in a chat did not succeed.
    UpdateFailed {
        /// The version, if that is known.
        version: Option<String>,
        /// Why nothing was changed; `None` when the new version was put in place and taken back.
        reason: Option<String>,
    },
    /// A pairing code of an unknown person.
    Pair {
        /// As it was typed.
        code: String,
        /// What the person may do.
        #[serde(default)]
        role: Role,
    },
    /// About scheduled jobs.
    Cron(CronRequest),
    /// A plot of the board's history. The answer is a PNG file, as base64.
    Plot {
        /// Names and a span, such as `temperature 24h`.
        words: String,
    },
    /// The argument of `/watch`; `changed` alone: the file of watches was changed.
    Watch(String),
}

/// A request about scheduled jobs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CronRequest {
    /// The file of jobs was changed: look at it now. The answer is empty.
    Changed,
    /// Run a job now, also one that is disabled. The answer is a line for people; an error when there is
    /// no such job, or while it is running.
    Run {
        /// Its id.
        id: String,
    },
}

/// Which program runs a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Its version.
    pub version: String,
    /// A number that another run does not have.
    pub run: u64,
    /// The path of the program.
    pub program: String,
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
    let failed = |source| Error::io("talk to the gateway at", path)(source);
    let mut stream = match connect(path, CONTROL_TIME) {
        Ok(stream) => stream,
        Err(error) if is_without_gateway(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut line = serde_json::to_vec(request).unwrap_or_default();
    line.push(b'\n');
    stream.write_all(&line).map_err(failed)?;
    match read_line(&stream)? {
        Reply::Done(text) => Ok(Some(text)),
        Reply::Failed(text) => Err(Error::Failed(text)),
    }
}

/// Whether a failed connection says that no gateway listens: there is no socket, it was left by one that has ended, or
/// its path is too long for any. A refused permission says nothing about that.
fn is_without_gateway(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, InvalidFilename, InvalidInput, NotADirectory, NotFound,
    };
    let absent = [
        NotFound,
        NotADirectory,
        ConnectionRefused,
        InvalidFilename,
        InvalidInput,
    ];
    absent.contains(&error.kind())
}

/// Connects to a socket. Each wait on it ends after `time`; so does that for a listener that accepts nothing
/// (connect(2), EAGAIN): root must not wait for ever at a socket of the service's account.
fn connect(path: &Path, time: Duration) -> io::Result<UnixStream> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    let stream = UnixStream::from(socket);
    stream.set_write_timeout(Some(time))?;
    stream.set_read_timeout(Some(time))?;
    rustix::net::connect(&stream, &SocketAddrUnix::new(path)?)?;
    Ok(stream)
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
            // Those who wait for a confirmation leave room for others.
            let can_wait = Arc::strong_count(&busy) <= CONTROL_AT_ONCE / 2;
            let (gateway, busy) = (Arc::clone(&gateway), Arc::clone(&busy));
            let serve = move || {
                let served = stream
                    .into_std()
                    .map_err(Error::io("accept", "a connection"));
                if let Err(error) = served.and_then(|stream| serve(&gateway, &stream, can_wait)) {
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

fn serve(gateway: &Arc<Gateway>, mut stream: &UnixStream, can_wait: bool) -> Result<()> {
    let failed = |source| Error::io("talk to", "the command line")(source);
    stream.set_nonblocking(false).map_err(failed)?;
    stream
        .set_read_timeout(Some(CONTROL_TIME))
        .map_err(failed)?;
    stream
        .set_write_timeout(Some(CONTROL_TIME))
        .map_err(failed)?;
    let request = read_line(stream);
    let restarts = matches!(request, Ok(Request::Restart));
    let answer = request.and_then(|request| gateway.control(request, can_wait));
    let restarts = restarts && answer.is_ok();
    let reply = match answer {
        Ok(text) => Reply::Done(text),
        Err(error) => Reply::Failed(error.to_string()),
    };
    let mut line = serde_json::to_vec(&reply).unwrap_or_default();
    line.push(b'\n');
    let written = stream.write_all(&line).map_err(failed);
    if restarts {
        // Only now, because the next run of the program ends this thread.
        gateway.events.send(Event::End(Ending::Restart));
    }
    written
}

fn read_line<T: for<'a> Deserialize<'a>>(stream: &UnixStream) -> Result<T> {
    let mut line = Vec::new();
    BufReader::new(stream.take(CONTROL_BYTES as u64))
        .read_until(b'\n', &mut line)
        .map_err(Error::io("read from", "the control socket"))?;
    json::from_slice(&line).map_err(|error| {
        if line.len() >= CONTROL_BYTES {
            not_understood(&format!("it is longer than {CONTROL_BYTES} bytes"))
        } else {
            not_understood(&error)
        }
    })
}

fn not_understood(why: &dyn std::fmt::Display) -> Error {
    Error::Failed(format!(
        "Cannot read what came over the control socket: {why}. Is the gateway of another version?"
    ))
}

/// Reloads the configuration at SIGHUP, which is how systemd asks for it. The kernel sends it too when a
/// terminal is gone, which stops a gateway that was started there.
pub(super) fn reload_on_hangup(gateway: &Arc<Gateway>) {
    let mut signals = match signal(SignalKind::hangup()) {
        Ok(signals) => signals,
        Err(error) => return tracing::warn!("failed to listen for SIGHUP: {error}"),
    };
    let gateway = Arc::clone(gateway);
    let had_terminal = std::io::stdin().is_terminal();
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            // One that is gone answers no more questions (EIO), so it is no terminal any longer.
            if had_terminal && !std::io::stdin().is_terminal() {
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

/// A time for people, with how long ago that is.
fn format_since(since: DateTime<FixedOffset>, now: DateTime<FixedOffset>) -> String {
    let minutes = now.signed_duration_since(since).num_minutes().max(0);
    format!("{} ({minutes} min)", since.format("%Y-%m-%d %H:%M"))
}

/// A time in milliseconds since 1970, in the zone of another one.
fn time_of(millis: i64, like: DateTime<FixedOffset>) -> Option<DateTime<FixedOffset>> {
    Some(DateTime::from_timestamp_millis(millis)?.with_timezone(like.offset()))
}

impl Gateway {
    /// A line about each channel: whether it can be reached.
    fn channel_lines(&self) -> String {
        let now = Clock::System.now();
        let mut text = String::new();
        for (name, delivery) in &self.deliveries {
            let outages = delivery.health().outages();
            let stuck = self.stuck_lines(name, delivery, now);
            if outages.is_empty() && stuck.is_empty() {
                let _ = write!(text, "\n{name}: no problems");
            }
            for line in stuck.iter().take(STUCK_SHOWN) {
                let _ = write!(text, "\n{name}: {line}");
            }
            let more = stuck.len().saturating_sub(STUCK_SHOWN);
            if more > 0 {
                let _ = write!(text, "\n{name}: {more} more like these");
            }
            for outage in outages {
                let task = match outage.task {
                    Task::Receive => "receive",
                    Task::Accept => "accept messages",
                    Task::Send => "send",
                };
                let (since, error) = (format_since(outage.since, now), &outage.error);
                let _ = write!(text, "\n{name}: cannot {task} since {since}: {error}");
            }
        }
        text
    }

    /// A line about each message of a channel that waits for another attempt or is set aside.
    fn stuck_lines(
        &self,
        channel: &str,
        delivery: &Delivery,
        now: DateTime<FixedOffset>,
    ) -> Vec<String> {
        let outbox = &self.parts.outbox;
        let since = |id: u64| outbox.failing(id).and_then(|it| time_of(it.since_ms, now));
        let waits = delivery.waits().into_iter().map(|wait| {
            let begun = now - wait.lasts;
            let since = wait.message.and_then(since).unwrap_or(begun);
            let (since, next) = (format_since(since, now), wait.next.as_secs());
            let (to, why) = (&wait.to, &wait.why);
            format!(
                "a message to {to} has been waiting since {since}, next attempt in {next} s: {why}"
            )
        });
        let aside = outbox.aside().into_iter();
        let aside = aside.filter(|pending| pending.message.to.channel == channel);
        let aside = aside.map(|pending| {
            let (to, failing) = (&pending.message.to, outbox.failing(pending.id));
            let why = failing.map_or_else(String::new, |it| it.why);
            let since = since(pending.id).map_or_else(|| "earlier".to_owned(), |it| format_since(it, now));
            format!("a message to {to} has failed since {since} and is set aside (/retry sends it again): {why}")
        });
        waits.chain(aside).collect()
    }

    /// Reads the configuration again, and works with it from the next turn on.
    fn reload(self: &Arc<Self>) -> Result<Changes> {
        let reload = self.parts.reload.lock();
        let (live, changes) = reload(&self.live())?;
        let before = std::mem::replace(&mut *self.parts.live.lock(), Arc::new(live));
        self.heartbeat.look_again();
        self.backups.look_again();
        self.cron.look_soon();
        if before.commands != self.live().commands {
            self.deliveries
                .values()
                .for_each(|delivery| delivery.menu_changed());
        }
        self.parts.watches.look_again();
        self.end_work_of_others();
        drop(before);
        let list = |paths: &[String]| match paths {
            [] => "none".to_owned(),
            paths => paths.join(", "),
        };
        let (applied, restart) = (list(&changes.applied), list(&changes.restart));
        tracing::info!(applied, restart, "configuration reloaded");
        Ok(changes)
    }

    /// Answers a request of the command line.
    fn control(self: &Arc<Self>, request: Request, can_wait: bool) -> Result<String> {
        match request {
            Request::Status => Ok(self.status_line(Language::English) + &self.channel_lines()),
            Request::Reload => Ok(serde_json::to_string(&self.reload()?).unwrap_or_default()),
            Request::AccessChanged => {
                self.end_work_of_others();
                Ok(String::new())
            }
            Request::Version => Ok(serde_json::to_string(&self.run_info()).unwrap_or_default()),
            Request::Restart => {
                (self.parts.check_start)()?;
                Ok("Restarting.".to_owned())
            }
            Request::UpdateFailed { version, reason } => {
                tracing::warn!(version, reason, "the update was not installed");
                self.end_update(reason);
                Ok(String::new())
            }
            Request::Cron(CronRequest::Changed) => {
                self.cron.look_soon();
                Ok(String::new())
            }
            Request::Watch(argument) if argument == "changed" => {
                self.parts.watches.look_again();
                Ok(String::new())
            }
            Request::Watch(argument) => self.watch_control(&argument),
            Request::Cron(CronRequest::Run { id }) => self.run_job(&id, Language::English),
            Request::Plot { words } if words.is_empty() => Ok(self.parts.board.list_values()),
            Request::Plot { words } => {
                let zone = zone_of(&self.live().cron.tz);
                let png = self.parts.board.plot_words(&words, &zone)?;
                Ok(BASE64_STANDARD.encode(png))
            }
            Request::Pair { code, role } => {
                let Paired {
                    channel, sender, ..
                } = self.pair(&code, role, Language::English)?;
                let person = format!("{} ({})", sender.name, sender.id);
                Ok(describe_paired(
                    Language::English,
                    &person,
                    &title(&channel),
                    role,
                ))
            }
            Request::Send {
                chat,
                text,
                files,
                waits,
            } => {
                let chat = chat.or_else(|| self.owner_chat()).ok_or_else(|| {
                    Error::Usage("No chat yet. Message the bot first, or use --chat ID.".to_owned())
                })?;
                let message = OutgoingMessage {
                    files,
                    from: Writer::Notice,
                    ..OutgoingMessage::text(&chat, text)
                };
                let id = self.enqueue(message, None)?;
                if waits && can_wait {
                    self.wait_for_delivery(id, &chat)
                } else {
                    Ok(format!("Queued for {chat}."))
                }
            }
        }
    }

    fn run_info(&self) -> RunInfo {
        RunInfo {
            version: crate::update::current().to_owned(),
            run: self.run,
            program: self.parts.updates.program.display().to_string(),
        }
    }

    /// Waits until a message is delivered or given up, or for [`SEND_CONFIRM_TIME`].
    fn wait_for_delivery(&self, id: u64, chat: &Address) -> Result<String> {
        let watch = Stopwatch::start();
        while self.parts.outbox.get(id).is_some() {
            if watch.elapsed() >= SEND_CONFIRM_TIME || self.is_stopping() {
                let channel = title(&chat.channel);
                return Ok(format!(
                    "Queued: not confirmed by {channel} yet. The gateway keeps trying."
                ));
            }
            std::thread::sleep(POLL);
        }
        match self.parts.outbox.failure(id) {
            None => Ok(format!("Sent to {chat}.")),
            Some(reason) => Err(Error::Failed(format!("Not sent to {chat}: {reason}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_permission_is_not_a_gateway_that_does_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let absent =
            |path: &Path| connect(path, CONTROL_TIME).is_err_and(|it| is_without_gateway(&it));
        let path = folder.path().join("control.sock");
        assert!(absent(&path), "no socket");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(absent(&path), "left by a gateway that has ended");
        assert!(
            absent(&folder.path().join("x".repeat(200))),
            "no path of a socket"
        );
        for number in [libc::EACCES, libc::EPERM, libc::EAGAIN, libc::EMFILE] {
            let error = io::Error::from_raw_os_error(number);
            assert!(!is_without_gateway(&error), "{error}");
        }
    }

    #[test]
    fn a_listener_that_accepts_nothing_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let time = Duration::from_millis(10);
        let _first = connect(&path, time).unwrap();
        let error = connect(&path, time).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
