//! A command in the foreground: its output as it comes, its end, and the end of all that it started.

mod end;
mod report;

use super::Change;
use super::policy::Policy;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::confine as bounds;
use crate::sys::process;
use crate::text::overstrike::plain;
pub use report::SupervisorReport;
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr};
use std::time::Duration;

use super::{FLOOD_BYTES, Note, OUTPUT_BYTES, OUTPUT_LOOK, PIPE_BYTES, STATUS_BYTES};
pub use end::End;

/// How long what was killed may take to be gone, on a board that is very busy. With [`KILL_GRACE`] before it this is less
/// than a gateway has to stop.
const KILL_TIME: Duration = Duration::from_secs(5);

/// The outcome of a command.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What it wrote to its output and its errors, in the order in which it came.
    pub output: Captured,
    /// What it lacked without being less isolated, such as /proc, and why it failed, where the sandbox
    /// is the reason.
    pub notes: Vec<Note>,
    /// Whether it failed because it needs more than the sandbox gives.
    pub needs_more: bool,
}

/// A child that waits for its policy.
pub struct Spawned {
    /// The supervisor.
    pub child: Child,
    /// As long as there are processes in the sandbox they may change files.
    pub change: Option<Change>,
}

/// A child with its supervisor. When it is dropped everything in it is killed.
pub struct Running {
    child: Child,
    change: Option<Change>,
    /// The command's input, where it goes on.
    pub input: Option<File>,
    /// The command's output and errors. Of a command on a terminal, the terminal's other end, which takes input too.
    pub output: File,
    status: ChildStderr,
    /// What the supervisor has reported.
    pub report: SupervisorReport,
    output_open: bool,
    status_open: bool,
}

/// What a child's pipes had.
pub struct PipeEvent {
    /// Bytes of output that are in the buffer.
    pub length: usize,
    /// Whether both pipes are at their end: all processes are gone.
    pub closed: bool,
}

impl Running {
    /// Sends a new child its policy.
    pub fn new(mut spawned: Spawned, policy: &Policy) -> Result<Self> {
        let missing = || Error::Failed("a child has no pipes".to_owned());
        let mut input = spawned.child.stdin.take().ok_or_else(missing)?;
        // A failure shows in what the child reports, or fails to report.
        let _ = input.write_all(&policy.encode());
        let mut running = Self::following(spawned)?;
        running.input = policy.keep_input.then(|| File::from(OwnedFd::from(input)));
        Ok(running)
    }

    /// Follows a child that gets its policy by other means.
    pub fn following(mut spawned: Spawned) -> Result<Self> {
        let missing = || Error::Failed("a child has no pipes".to_owned());
        let output = spawned.child.stdout.take().ok_or_else(missing)?;
        Self::with_output(spawned, File::from(OwnedFd::from(output)))
    }

    /// A child with another output: a terminal, of which this is the other end.
    pub fn with_output(spawned: Spawned, output: File) -> Result<Self> {
        let missing = || Error::Failed("a child has no pipes".to_owned());
        let Spawned { mut child, change } = spawned;
        let status = child.stderr.take().ok_or_else(missing)?;
        Ok(Self {
            child,
            change,
            input: None,
            output,
            status,
            report: SupervisorReport::default(),
            output_open: true,
            status_open: true,
        })
    }

    /// What the supervisor writes its reports to; `None` when nothing more will come.
    pub fn open_status(&self) -> Option<BorrowedFd<'_>> {
        self.status_open.then(|| self.status.as_fd())
    }

    /// The command's output; `None` when nothing more will come.
    pub fn open_output(&self) -> Option<BorrowedFd<'_>> {
        self.output_open.then(|| self.output.as_fd())
    }

    /// The supervisor. Its number is ours until `finish`.
    pub fn supervisor(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for output or a report of the supervisor, at most so long.
    pub fn read_pipes(&mut self, buffer: &mut [u8], time: Duration) -> std::io::Result<PipeEvent> {
        let status = self.status.as_fd();
        let output = if self.output_open {
            self.output.as_fd()
        } else {
            status
        };
        let status = if self.status_open { status } else { output };
        let [output_ready, status_ready] = process::readable([output, status], Some(time))?;
        let mut length = 0;
        if output_ready && self.output_open {
            length = self.read_output(buffer)?;
        }
        if status_ready && self.status_open {
            self.read_status()?;
        }
        let closed = !self.output_open && !self.status_open;
        Ok(PipeEvent { length, closed })
    }

    /// Takes what there is of the output.
    pub fn read_output(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.output.read(buffer) {
            Ok(length) => {
                self.output_open = length > 0;
                Ok(length)
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(0),
            // So a terminal says that no process has it open any more.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                self.output_open = false;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes what there is of the supervisor's reports.
    pub fn read_status(&mut self) -> std::io::Result<()> {
        let mut report = [0; STATUS_BYTES];
        let length = self.status.read(&mut report)?;
        self.status_open = length > 0;
        self.report.take(report.get(..length).unwrap_or_default());
        if self.report.grouped
            && let Some(change) = &mut self.change
        {
            change.can_freeze();
        }
        Ok(())
    }

    /// Asks the supervisor to kill everything. It takes a moment; `read_pipes` says when it is over.
    pub fn terminate(&self) {
        process::signal(self.supervisor(), Signal::TERM);
    }

    /// Follows the command to its end.
    pub fn follow(
        mut self,
        timeout: Duration,
        cancel: &Cancel,
        output: Output<'_>,
    ) -> Result<Outcome> {
        let supervisor = self.supervisor();
        let guard = cancel.on_cancel(move || process::signal(supervisor, Signal::TERM));
        let mut collector = Collector::new(OUTPUT_BYTES, output);
        let mut buffer = vec![0; PIPE_BYTES];
        let mut ended = None;
        let (watch, mut grace) = (Stopwatch::start(), None);
        let held_before = self.held_time();
        loop {
            let limit = timeout + self.held_time().saturating_sub(held_before);
            let left = match grace {
                None => limit.saturating_sub(watch.elapsed()),
                Some(until) => Duration::saturating_sub(until, watch.elapsed()),
            };
            let event = self
                .read_pipes(&mut buffer, left.min(OUTPUT_LOOK))
                .map_err(Error::io("read from", "a command"))?;
            collector.push(&buffer[..event.length]);
            if event.closed {
                break;
            }
            let why = if collector.total() > FLOOD_BYTES {
                Some(End::Stopped(format!(
                    "it wrote more than {} bytes",
                    FLOOD_BYTES
                )))
            } else if cancel.is_cancelled() {
                Some(End::Cancelled)
            } else {
                (watch.elapsed() >= limit).then_some(End::TimedOut(timeout))
            };
            match (why, grace) {
                (Some(why), None) => {
                    self.terminate();
                    ended = Some(why);
                    grace = Some(watch.elapsed() + bounds::KILL_GRACE);
                }
                (_, Some(until)) if watch.elapsed() >= until => break,
                _ => {}
            }
        }
        drop(guard);
        // The end of a cancelled command can be read before the flag is looked at.
        let cancelled = || cancel.is_cancelled().then_some(End::Cancelled);
        let ended = ended.or_else(cancelled);
        let output = collector.finish();
        self.outcome(ended, output)
    }

    /// See [`Change::held_time`].
    fn held_time(&self) -> Duration {
        let change = self.change.as_ref();
        change.map_or(Duration::ZERO, Change::held_time)
    }

    /// The outcome, once all processes are gone.
    fn outcome(mut self, ended: Option<End>, output: Captured) -> Result<Outcome> {
        let report = std::mem::take(&mut self.report);
        drop(self);
        let interrupted = matches!(ended, Some(End::Cancelled | End::TimedOut(_)));
        match report.failure() {
            Some(failure) if !interrupted => return Err(failure),
            _ => {}
        }
        Ok(Outcome {
            // A command that ended by itself at the last moment was not stopped.
            end: report.end.or(ended).unwrap_or(End::Lost),
            output,
            notes: report.notes.into_iter().map(Note::Lacked).collect(),
            needs_more: false,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !(self.output_open || self.status_open) || matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.wait();
            return;
        }
        self.terminate();
        let watch = Stopwatch::start();
        let mut buffer = [0; STATUS_BYTES];
        while watch.elapsed() < KILL_TIME {
            let left = KILL_TIME.saturating_sub(watch.elapsed());
            match self.read_pipes(&mut buffer, left) {
                Ok(event) if !event.closed => {}
                _ => break,
            }
        }
        // A supervisor that is still there hangs in the kernel; its group goes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is told of an output while it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputChunk<'a> {
    /// What came just now; empty when nothing has come for a while.
    Fresh(&'a [u8]),
    /// The output is longer than what is kept: this belongs to the whole of it, which is told from
    /// its first byte on.
    Whole(&'a [u8]),
}

/// Whoever is told of an output while it comes.
pub type Output<'a> = &'a mut dyn FnMut(OutputChunk<'_>);

/// Takes output as it comes. What is kept is the beginning and the end; once there is more than that,
/// all of it is told, what was there before included.
pub struct Collector<'a> {
    kept: Captured,
    limit: usize,
    output: Output<'a>,
    spilling: bool,
}

/// What is kept of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

impl<'a> Collector<'a> {
    /// Keeps `limit` bytes, half of them from the end.
    pub fn new(limit: usize, output: Output<'a>) -> Self {
        Self {
            kept: Captured::default(),
            limit: limit.max(2),
            output,
            spilling: false,
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.keep(piece);
        self.tell(piece);
    }

    /// Tells of a piece without keeping it.
    pub fn tell(&mut self, piece: &[u8]) {
        (self.output)(OutputChunk::Fresh(piece));
    }

    /// Keeps a piece without telling of it as it comes.
    pub fn keep(&mut self, piece: &[u8]) {
        let kept = &mut self.kept;
        kept.total += piece.len() as u64;
        let half = self.limit / 2;
        if !self.spilling && kept.total > self.limit as u64 {
            self.spilling = true;
            (self.output)(OutputChunk::Whole(&kept.head));
            (self.output)(OutputChunk::Whole(&kept.tail));
        }
        if self.spilling {
            (self.output)(OutputChunk::Whole(piece));
        }
        let (first, rest) = piece.split_at(piece.len().min(half.saturating_sub(kept.head.len())));
        kept.head.extend_from_slice(first);
        kept.tail.extend_from_slice(rest);
        // Not at every piece, for each time moves what stays.
        if kept.tail.len() > 2 * self.limit {
            kept.shorten(self.limit - half);
        }
    }

    /// How many bytes there were.
    pub fn total(&self) -> u64 {
        self.kept.total
    }

    /// What is kept.
    pub fn finish(mut self) -> Captured {
        if self.spilling {
            self.kept.shorten(self.limit - self.limit / 2);
        }
        self.kept
    }
}

impl Captured {
    fn shorten(&mut self, tail: usize) {
        let over = self.tail.len().saturating_sub(tail);
        self.tail.drain(..over);
    }

    /// How many bytes there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// An output that is no text.
    pub fn binary(total: u64) -> Self {
        Self {
            head: vec![0],
            tail: Vec::new(),
            total,
        }
    }

    /// How many bytes between the beginning and the end are not here.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Whether it is no text: it has a NUL byte, or more broken characters than an odd one.
    pub fn is_binary(&self) -> bool {
        let broken = |bytes: &[u8]| {
            let letters = String::from_utf8_lossy(bytes);
            letters.matches('\u{fffd}').count()
        };
        let seen = self.head.len() + self.tail.len();
        self.head.contains(&0)
            || self.tail.contains(&0)
            || (broken(&self.head) + broken(&self.tail)) * 10 > seen
    }

    /// The text as plain lines, with a line in place of what is left out; binary output is named as such.
    pub fn text(&self) -> String {
        if self.is_binary() {
            return format!("(binary output, {} bytes)", self.total);
        }
        if self.omitted() == 0 {
            let whole = [&self.head[..], &self.tail].concat();
            return plain(&String::from_utf8_lossy(&whole));
        }
        format!(
            "{}\n… {} bytes left out …\n{}",
            plain(&String::from_utf8_lossy(whole_letters_before(&self.head))),
            self.omitted(),
            plain(&String::from_utf8_lossy(whole_letters_after(&self.tail))),
        )
    }
}

/// Without a letter that is cut at the end.
fn whole_letters_before(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Without the rest of a letter at the beginning.
fn whole_letters_after(bytes: &[u8]) -> &[u8] {
    let cut = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_the_supervisor_says_is_read_whatever_the_pieces() {
        let mut report = SupervisorReport::default();
        for piece in ["not", "e no /proc\nconf", "ined\nsig", "nal 9\n"] {
            report.take(piece.as_bytes());
        }
        assert!(report.confined && report.failure().is_none());
        assert_eq!(report.notes, ["no /proc"]);
        assert_eq!(report.end, Some(End::Signal(9)));
    }

    #[test]
    fn a_child_that_says_nothing_has_not_run() {
        let mut report = SupervisorReport::default();
        let failure = |waited| report.failure_after(waited).unwrap().to_string();
        assert!(failure(Duration::ZERO).contains("ended before it was confined"));
        assert!(failure(crate::sandbox::confine::TRY_TIME).contains("very busy"));
        report.take(b"confined\nfailed cannot run /bin/sh: not found\n");
        let failure = report.failure().unwrap().to_string();
        assert!(failure.contains("cannot run /bin/sh"), "{failure}");
    }

    fn collected(pieces: &[&[u8]], limit: usize) -> (Captured, Vec<u8>) {
        let mut spilled = Vec::new();
        let mut fresh = Vec::new();
        let mut spool = |piece: OutputChunk<'_>| match piece {
            OutputChunk::Whole(bytes) => spilled.extend_from_slice(bytes),
            OutputChunk::Fresh(bytes) => fresh.extend_from_slice(bytes),
        };
        let mut collector = Collector::new(limit, &mut spool);
        pieces.iter().for_each(|piece| collector.push(piece));
        let captured = collector.finish();
        assert_eq!(fresh, pieces.concat(), "all of it is told as it comes");
        (captured, spilled)
    }

    #[test]
    fn what_fits_is_kept_whole_and_not_spilled() {
        let (captured, spilled) = collected(&[b"abc", b"defgh"], 8);
        assert_eq!(captured.text(), "abcdefgh");
        assert!(spilled.is_empty());
    }

    #[test]
    fn what_does_not_fit_keeps_its_ends_and_is_spilled_whole() {
        let (captured, spilled) = collected(&[b"abcdef", b"ghijklm", b"nopq"], 8);
        assert_eq!(captured.text(), "abcd\n… 9 bytes left out …\nnopq");
        assert_eq!(spilled, b"abcdefghijklmnopq");
    }

    #[test]
    fn binary_output_is_named() {
        assert_eq!(
            collected(&[b"\x7fELF\0\x01"], 100).0.text(),
            "(binary output, 6 bytes)"
        );
        assert!(!collected(&["grüß\n".as_bytes()], 100).0.is_binary());
        assert!(
            !collected(&[b"latin: gr\xfc\xdf and much more text behind it"], 100)
                .0
                .is_binary()
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_whatever_the_pieces(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
            limit in 2_usize..64,
        ) {
            let whole = pieces.concat();
            let slices: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let (captured, spilled) = collected(&slices, limit);
            prop_assert_eq!(captured.total(), whole.len() as u64);
            if whole.len() > limit {
                prop_assert_eq!(&spilled, &whole);
                prop_assert!(whole.starts_with(&captured.head) && whole.ends_with(&captured.tail));
                prop_assert_eq!(captured.head.len() + captured.tail.len(), limit);
            } else {
                prop_assert!(spilled.is_empty());
                prop_assert_eq!(captured.omitted(), 0);
            }
            let _ = captured.text();
        }
    }
}
