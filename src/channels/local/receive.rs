//! The thread that listens: it accepts programs, and passes on what they say.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt::socket_peercred};
use serde_json::json;

use super::WRITE_TIME;
use super::hub::{Hub, Program};
use super::wire::{self, Line};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::limits::channels::PATIENCE;
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::Backoff;
use crate::sys::{memory, socket};

/// Bytes of a line from a program: a message as long as one that is pasted into a chat.
const LINE_BYTES: usize = 64 * 1024;
/// Bytes that are read from a program at a time.
const READ_BYTES: usize = 4 * 1024;
/// Longest wait for a line. Nothing is due meanwhile: it only shows that the thread is alive.
const WAIT: Duration = Duration::from_mins(10);

/// What the thread works with.
pub(super) struct Parts<'a> {
    pub socket: &'a Path,
    pub hub: &'a Hub,
    pub clock: &'a Clock,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
}

/// A program, and what it has said of a line.
struct Reading {
    program: Arc<Program>,
    buffer: Vec<u8>,
}

/// Listens until the token is raised.
pub(super) fn run(parts: &Parts<'_>) {
    let health = parts.intake.health();
    let name = "listen for local programs";
    let mut backoff = Backoff::new(Task::Receive, name, parts.clock.clone(), health);
    while !parts.cancel.is_cancelled() {
        let error = match socket::listen(parts.socket, 0o600) {
            Ok(listener) => {
                backoff.succeeded();
                match serve(parts, &listener) {
                    Ok(()) => break,
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        let why = format!("{}: {error}", parts.socket.display());
        let wait = backoff.failed(&why, None);
        parts.heartbeat.beat(wait + PATIENCE);
        parts.cancel.wait(wait);
    }
    let _ = fs::remove_file(parts.socket);
}

/// Serves programs until the token is raised.
fn serve(parts: &Parts<'_>, listener: &UnixListener) -> io::Result<()> {
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let to_wake: Arc<OwnedFd> = Arc::clone(&wake);
    let _hook = parts.cancel.on_cancel(move || {
        let _ = rustix::io::write(&*to_wake, &1_u64.to_ne_bytes());
    });
    let mut readings: Vec<Reading> = Vec::new();
    let served = loop {
        parts.heartbeat.beat(WAIT + PATIENCE);
        memory::give_back_stack();
        let ready = match wait(&wake, listener, &readings) {
            Ok(ready) => ready,
            Err(error) => break Err(error),
        };
        if parts.cancel.is_cancelled() {
            break Ok(());
        }
        parts.heartbeat.beat(PATIENCE + WRITE_TIME);
        let mut place = ready.iter().skip(2);
        readings.retain_mut(|reading| {
            let stays = match place.next() {
                Some(true) => reading.read(parts),
                _ => true,
            };
            if !stays {
                parts.hub.remove(&reading.program);
            }
            stays
        });
        if ready.get(1) == Some(&true) {
            accept(parts, listener, &mut readings);
        }
    };
    readings
        .iter()
        .for_each(|reading| parts.hub.remove(&reading.program));
    served
}

/// Waits, and returns which of these have something: the token, the listener, each program.
fn wait(wake: &OwnedFd, listener: &UnixListener, readings: &[Reading]) -> io::Result<Vec<bool>> {
    let programs = readings
        .iter()
        .map(|reading| reading.program.stream().as_fd());
    let all = [wake.as_fd(), listener.as_fd()].into_iter().chain(programs);
    let mut fds: Vec<PollFd<'_>> = all
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
        .collect();
    let time = Timespec {
        tv_sec: i64::try_from(WAIT.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: 0,
    };
    match poll(&mut fds, Some(&time)) {
        Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(Errno::INTR) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn accept(parts: &Parts<'_>, listener: &UnixListener, readings: &mut Vec<Reading>) {
    let stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
        Err(error) => {
            // Such as too many open files, which passes.
            tracing::warn!("failed to accept a local program: {error}");
            parts.cancel.wait(WRITE_TIME);
            return;
        }
    };
    let user = socket_peercred(&stream).map(|peer| peer.uid);
    let ours = rustix::process::geteuid();
    if !user.is_ok_and(|user| user == ours || user.is_root()) {
        tracing::warn!("refused a local program of another account");
        return;
    }
    let Ok(program) = Program::new(stream).map(Arc::new) else {
        return;
    };
    if !parts.hub.add(&program) {
        let _ =
            program.write(&json!({"type": "error", "error": "too many programs are connected"}));
        return;
    }
    readings.push(Reading {
        program,
        buffer: Vec::new(),
    });
}

impl Reading {
    /// Reads what has come; false when the connection is over.
    fn read(&mut self, parts: &Parts<'_>) -> bool {
        let mut bytes = [0; READ_BYTES];
        let count = match recv(self.program.stream(), &mut bytes, RecvFlags::DONTWAIT) {
            Ok((count, _)) if count > 0 => count,
            Err(Errno::AGAIN | Errno::INTR) => return true,
            _ => return false,
        };
        self.buffer
            .extend_from_slice(bytes.get(..count).unwrap_or_default());
        let Some(end) = self.buffer.iter().rposition(|byte| *byte == b'\n') else {
            let fits = self.buffer.len() <= LINE_BYTES;
            if !fits {
                self.refuse("", "the line is too long");
            }
            return fits;
        };
        let rest = self.buffer.split_off(end + 1);
        let lines = std::mem::replace(&mut self.buffer, rest);
        let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
        self.take(&lines, parts)
    }

    /// Takes whole lines in their order; false when the connection is over.
    fn take(&self, lines: &[&[u8]], parts: &Parts<'_>) -> bool {
        let mut batch: Vec<(String, Incoming)> = Vec::new();
        let mut is_new = false;
        for line in lines.iter().filter(|line| !line.trim_ascii().is_empty()) {
            match wire::read(line) {
                Ok(Line::Incoming { id, chat, incoming }) => {
                    is_new |= self.program.subscribe(Some(vec![chat]));
                    batch.push((id, *incoming));
                }
                Ok(Line::Subscribe(chats)) => {
                    is_new |= self.program.subscribe(chats);
                }
                Err(bad) => {
                    if !self.refuse(&bad.id, bad.why) {
                        return false;
                    }
                }
            }
        }
        if is_new {
            // What waits for a program is sent now.
            parts.intake.reachable();
        }
        if batch.is_empty() {
            return true;
        }
        let (ids, batch): (Vec<String>, Vec<Incoming>) = batch.into_iter().unzip();
        match parts.intake.take(batch, &parts.heartbeat) {
            Ok(_) => {
                let ack = |id: &String| json!({"type": "ack", "id": id});
                ids.iter().all(|id| self.program.write(&ack(id)).is_ok())
            }
            Err(error) => {
                tracing::warn!("failed to accept messages of a local program: {error}");
                let why = "it cannot be stored now: send it again later";
                ids.iter().all(|id| self.refuse(id, why))
            }
        }
    }

    fn refuse(&self, id: &str, why: &str) -> bool {
        let line = json!({"type": "error", "id": id, "error": why});
        self.program.write(&line).is_ok()
    }
}
