//! The input of a command that runs in a shell, for those who write to it meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use crate::approval::Answer;
use crate::confine::session::{Observer, SessionEvent};
use crate::error::{Error, Result};
use crate::limits::confine::PIPE_BYTES;
use crate::sync::Mutex;

/// Writes to a command that runs. Clones write to the same one.
#[derive(Clone, Default)]
pub struct ShellInput(Arc<Mutex<Option<Connected>>>);

struct Connected {
    pipe: File,
    observer: Observer,
}

impl ShellInput {
    /// Writes a text. It does not wait: a command that has left so much unread gets nothing more. `false` when
    /// no command reads any more.
    pub fn send(&self, text: &str) -> Result<bool> {
        let mut connected = self.0.lock();
        let Some(connected) = &mut *connected else {
            return Ok(false);
        };
        // The person who writes it has seen it.
        (connected.observer)(SessionEvent::Input(text, Some(Answer::Once)))?;
        match connected.pipe.write(text.as_bytes()) {
            Ok(length) if length == text.len() => Ok(true),
            Err(error) if error.kind() != ErrorKind::WouldBlock => Ok(false),
            _ => Err(Error::Failed(
                "the command does not read its input".to_owned(),
            )),
        }
    }

    /// Whether a command runs whose input has not ended.
    pub fn is_connected(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Ends the input. `false` when no command runs, or it had ended.
    pub fn close(&self) -> bool {
        self.0.lock().take().is_some()
    }

    /// Opens the input for a command that begins: without what the one before it has left unread.
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
        *self.0.lock() = Some(Connected {
            pipe: writing,
            observer: observer.clone(),
        });
        Ok(())
    }

    pub(super) fn disconnect(&self) {
        self.0.lock().take();
    }
}
