//! What the child tells the daemon, one line each: `note TEXT`, `confined`, `exit N`, `signal N`,
//! `stopped TEXT`, `failed TEXT`.

use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::WaitStatus;

/// What could not be done, in words that go after "cannot".
#[derive(Debug)]
pub struct Failure {
    doing: &'static str,
    error: io::Error,
}

/// Names what was being done when a result is an error.
pub trait While<T> {
    /// See [`While`].
    fn doing(self, what: &'static str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> While<T> for Result<T, E> {
    fn doing(self, what: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            doing: what,
            error: error.into(),
        })
    }
}

/// The pipe to the daemon. While somebody reads its other end the result is wanted.
pub struct Status(OwnedFd);

impl Status {
    /// Keeps the pipe that the child was given as its standard error; the command does not get it.
    pub fn open() -> io::Result<Self> {
        let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
        Ok(Self(copy))
    }

    /// All walls stand.
    pub fn confined(&self) {
        self.line("confined");
    }

    /// Something is missing that is no wall.
    pub fn note(&self, text: &str) {
        self.line(&format!("note {text}"));
    }

    /// The command was stopped by its supervisor.
    pub fn stopped(&self, why: &str) {
        self.line(&format!("stopped {why}"));
    }

    /// The walls could not be put up, or the command could not be started.
    pub fn failed(&self, failure: &Failure) {
        self.line(&format!(
            "failed cannot {}: {}",
            failure.doing, failure.error
        ));
    }

    /// How the command ended.
    pub fn ended(&self, status: WaitStatus) {
        let line = |word: &str, number: &dyn Display| self.line(&format!("{word} {number}"));
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => line("exit", &code),
            (None, Some(signal)) => line("signal", &signal),
            (None, None) => {}
        }
    }

    fn line(&self, text: &str) {
        // Where nobody listens any more there is nothing to do.
        let _ = rustix::io::write(&self.0, format!("{text}\n").as_bytes());
    }
}

impl AsFd for Status {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
