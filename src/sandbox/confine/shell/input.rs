//! The input of a command that runs in a shell, for those who write to it meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use crate::base::approval::Answer;
use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::sandbox::confine::PIPE_BYTES;
use crate::sandbox::confine::session::{Observer, SessionEvent};

/// Writes to a command that runs, or keeps what is written for one that is about to. Clones write to the same one.
#[derive(Clone, Default)]
pub struct ShellInput(Arc<Mutex<State>>);

enum State {
    /// No command has begun: its input, and whether that has ended already.
    Early {
        text: String,
        is_closed: bool,
    },
    Connected(Connected),
    /// The command, or its input, has ended.
    Over,
}

impl Default for State {
    fn default() -> Self {
        Self::Early {
            text: String::new(),
            is_closed: false,
        }
    }
}

struct Connected {
    pipe: File,
    observer: Observer,
}

impl Connected {
    fn send(&mut self, text: &str) -> Result<bool> {
        // The person who writes it has seen it.
        (self.observer)(SessionEvent::Input(text, Some(Answer::Once)))?;
        match self.pipe.write(text.as_bytes()) {
            Ok(length) if length == text.len() => Ok(true),
            Err(error) if error.kind() != ErrorKind::WouldBlock => Ok(false),
            _ => Err(unread()),
        }
    }
}

fn unread() -> Error {
    Error::Failed("the command does not read its input".to_owned())
}

impl ShellInput {
    /// Writes a text. It does not wait: a command that has left so much unread gets nothing more. `false` when
    /// no command reads any more.
    pub fn send(&self, text: &str) -> Result<bool> {
        match &mut *self.0.lock() {
            State::Early {
                is_closed: true, ..
            }
            | State::Over => Ok(false),
            State::Early { text: early, .. } if early.len() + text.len() > PIPE_BYTES => {
                Err(unread())
            }
            State::Early { text: early, .. } => {
                early.push_str(text);
                Ok(true)
            }
            State::Connected(connected) => connected.send(text),
        }
    }

    /// Whether a command runs, or is about to, whose input has not ended.
    pub fn is_open(&self) -> bool {
        !matches!(
            *self.0.lock(),
            State::Over
                | State::Early {
                    is_closed: true,
                    ..
                }
        )
    }

    /// Whether something was written for a command that has never begun.
    pub fn is_unused(&self) -> bool {
        matches!(&*self.0.lock(), State::Early { text, .. } if !text.is_empty())
    }

    /// Takes nothing until a command begins. Returns whether something is lost that was written for it.
    pub fn refuse(&self) -> bool {
        let is_lost = self.is_unused();
        self.disconnect();
        is_lost
    }

    /// Ends the input. `false` when no command runs or is about to, or it had ended.
    pub fn close(&self) -> bool {
        match &mut *self.0.lock() {
            State::Early { is_closed, .. } => !std::mem::replace(is_closed, true),
            state @ State::Connected(_) => {
                *state = State::Over;
                true
            }
            State::Over => false,
        }
    }

    /// Opens the input for a command that begins: with what was written for it, and without what the one before it has
    /// left unread.
    pub(super) fn connect(&self, pipe: &OwnedFd, observer: &Observer) -> Result<()> {
        let failed = || Error::io("open", "the input of a command");
        // Each gets an end of its own of the same pipe (proc_pid_fd(5)).
        let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let mut options = OpenOptions::new();
        let writing = options.write(true).custom_flags(flags).open(&path);
        let writing = writing.map_err(failed())?;
        let mut options = OpenOptions::new();
        let reading = options.read(true).custom_flags(flags).open(&path);
        let mut reading = reading.map_err(failed())?;
        let mut left = [0; PIPE_BYTES];
        while reading.read(&mut left).is_ok_and(|length| length > 0) {}
        let mut connected = Connected {
            pipe: writing,
            observer: observer.clone(),
        };
        let mut state = self.0.lock();
        let is_closed = match &*state {
            State::Early { text, is_closed } => {
                if !text.is_empty() {
                    connected.send(text)?;
                }
                *is_closed
            }
            State::Connected(_) | State::Over => false,
        };
        *state = match is_closed {
            true => State::Over,
            false => State::Connected(connected),
        };
        Ok(())
    }

    /// The command has ended.
    pub(super) fn disconnect(&self) {
        *self.0.lock() = State::Over;
    }
}
