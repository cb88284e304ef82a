//! What a shell leaves running between two commands, and what that writes.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::Shell;
use super::follower::Follower;
use super::{HELD_BYTES_OF_ALL, STOP_LOOK, STOP_STEPS};
use crate::base::clock::Stopwatch;
use crate::sandbox::confine::OutputChunk;
use crate::sandbox::confine::{FLOOD_BYTES, PIPE_BYTES, STATUS_BYTES};
use crate::sys::process;

/// How often that is looked at while programs run in the background.
const HELD_LOOK: Duration = Duration::from_secs(10);
/// Bytes of output that programs in the background write between two commands; older ones are dropped.
const UNREAD_BYTES: usize = 16 * 1024;
/// How often it is read, and how much at once: what writes more waits, so it costs next to nothing.
const UNREAD_PACE: Duration = Duration::from_secs(1);
/// See [`UNREAD_PACE`]: what a pipe holds.
const UNREAD_PACE_BYTES: usize = 64 * 1024;
/// Processes in the background that a list shows.
const LISTED_PROCESSES: usize = 10;

/// What programs in the background have written since the last command.
#[derive(Debug, Default)]
pub struct Unread {
    /// The end of it, as plain lines.
    pub text: String,
    /// Whether they were ended because they wrote too much.
    pub is_flooded: bool,
}

impl Shell {
    /// Waits between two commands, and takes what programs in the background write, at a pace: the pipe stays
    /// full meanwhile, and they wait for it. `None` when the shell has ended or nobody came for it in this time.
    pub(super) fn keep(mut self, idle: Duration, woken: &UnixStream) -> Option<Self> {
        let watch = Stopwatch::start();
        let mut buffer = vec![0; STATUS_BYTES];
        let mut read_now = 0;
        // Looked at once a pace: it reads /proc.
        let mut has_background = self.has_background();
        loop {
            let left = idle.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return None;
            }
            let look = match has_background {
                true => HELD_LOOK.min(left),
                false => left,
            };
            let read = self.wait("", woken, &mut buffer, look).ok()?;
            self.unread.extend_from_slice(buffer.get(..read.length)?);
            let over = self.unread.len().saturating_sub(UNREAD_BYTES);
            self.unread.drain(..over);
            self.written += read.length as u64;
            read_now += read.length;
            if is_readable(woken.as_fd()) {
                return Some(self);
            }
            if !self.is_alive || self.held_bytes() > HELD_BYTES_OF_ALL {
                return None;
            }
            if self.written > FLOOD_BYTES {
                self.end_background();
                (self.written, self.is_flooded) = (0, true);
            }
            if read_now >= UNREAD_PACE_BYTES || self.is_silent() {
                read_now = 0;
                self.pause(woken, UNREAD_PACE.min(left)).ok()?;
                has_background = self.has_background();
            }
        }
    }

    fn is_silent(&self) -> bool {
        !self.running.open_output().is_some_and(is_readable)
    }

    /// Waits for everything but output.
    fn pause(&self, woken: &UnixStream, time: Duration) -> std::io::Result<()> {
        let control = self.control.as_fd();
        let status = self.running.open_status().unwrap_or(control);
        process::readable([status, control, woken.as_fd()], Some(time)).map(drop)
    }

    /// Takes what programs in the background have written since the last command.
    pub fn take_unread(&mut self) -> Unread {
        let mut buffer = vec![0; PIPE_BYTES];
        let unread = std::mem::take(&mut self.unread);
        let mut ignored = |_: OutputChunk<'_>| {};
        let mut follower = Follower::new(&mut ignored);
        follower.push(&unread);
        // What cannot be read now shows with the next command.
        let _ = self.read_rest(&mut buffer, |bytes| follower.push(bytes));
        self.written = 0;
        Unread {
            text: follower.finish().text(),
            is_flooded: std::mem::take(&mut self.is_flooded),
        }
    }

    pub(super) fn processes(&self) -> Vec<Pid> {
        process::descendants_of(self.running.supervisor())
    }

    /// Of these, what is in the background, with all descendants that it has by now.
    pub(super) fn others(&self, before: &[Pid]) -> Vec<Pid> {
        let mut others = Vec::new();
        for pid in before.iter().filter(|pid| !self.own.contains(pid)) {
            others.push(*pid);
            others.extend(process::descendants_of(*pid));
        }
        others.sort_unstable_by_key(|pid| pid.as_raw_pid());
        others.dedup();
        others.retain(|pid| !process::has_ended(*pid));
        others
    }

    /// The processes that run in it, nearest first, without these others and their descendants.
    pub(super) fn processes_since(&self, others: &[Pid]) -> Vec<Pid> {
        let mut all = process::descendants_but(self.running.supervisor(), others);
        all.retain(|pid| !self.own.contains(pid) && !process::has_ended(*pid));
        all
    }

    /// What runs in the background: the beginning of each command line.
    pub fn background(&self) -> Vec<String> {
        let all = self.processes_since(&[]);
        let names = all
            .into_iter()
            .filter_map(|pid| command_line(pid.as_raw_pid()));
        names.take(LISTED_PROCESSES).collect()
    }

    /// Ends what runs in the background, and returns the beginning of each command line.
    pub fn end_background(&mut self) -> Vec<String> {
        let names = self.background();
        let Ok((none, _open)) = UnixStream::pair() else {
            return Vec::new();
        };
        for (signal, time) in [Signal::TERM, Signal::KILL]
            .into_iter()
            .zip(&STOP_STEPS[1..])
        {
            let watch = Stopwatch::start();
            let mut told = Vec::new();
            while watch.elapsed() < *time {
                let left = self.processes_since(&[]);
                if left.is_empty() {
                    return names;
                }
                for pid in left {
                    if signal == Signal::KILL || !told.contains(&pid) {
                        process::signal(pid, signal);
                        told.push(pid);
                    }
                }
                if self.pause(&none, STOP_LOOK).is_err() {
                    return names;
                }
            }
        }
        names
    }
}

/// The command line of a process; `None` when it has ended.
fn command_line(pid: i32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn is_readable(descriptor: BorrowedFd<'_>) -> bool {
    process::readable([descriptor], Some(Duration::ZERO)).is_ok_and(|[is_readable]| is_readable)
}

/// A folder as a prompt shows it: HOME and what is below it behind `~`.
pub fn short_folder(folder: &Path, home: &Path) -> String {
    match folder.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => folder.display().to_string(),
    }
}
