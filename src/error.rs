//! Floor 1: the crate's one error, in the user's words, with the place where it happened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod model;

pub use model::{Fault, ModelError};

/// What a command's exit status means; it stands in `--help` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The configuration is wrong (`EX_CONFIG` of sysexits.h).
    Config = 78,
    /// Stopped by Ctrl-C or a signal.
    Stopped = 130,
}

/// Everything that can go wrong, told apart by who has to do something about it.
#[derive(Debug)]
pub enum Error {
    /// The command line asks for something that does not exist. Says what does.
    Usage(String),
    /// The configuration cannot be used. Says which file, key and line, and what would do.
    Config(String),
    /// The system refused something with a file.
    Io {
        /// What was being done, as in "cannot …": `read`, `write the journal`.
        doing: &'static str,
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A path leads out of the folders that tools may use, or to something that they may not.
    /// One and the same text for every way of trying.
    Refused {
        /// The path as it was asked for.
        path: String,
        /// Which rule did it, and what would allow it.
        why: String,
    },
    /// No connection to a host, or it broke (name, route, TLS, reset).
    Network {
        /// Host and port.
        host: String,
        /// What happened.
        what: String,
    },
    /// A host did not answer in time.
    Timeout {
        /// Host and port.
        host: String,
        /// What was waited for, and how long.
        what: String,
    },
    /// A host answered with an HTTP error.
    Status {
        /// Host and port.
        host: String,
        /// The HTTP status.
        status: u16,
        /// What `Retry-After` asks for.
        retry_after: Option<Duration>,
        /// The beginning of the body.
        body: String,
    },
    /// A model did not answer, or not with what its API promises.
    Model(Box<ModelError>),
    /// A bound was hit.
    TooLarge {
        /// What is too large.
        what: String,
        /// The bound, in bytes.
        limit: usize,
    },
    /// The person, a signal or the service stopped it.
    Stopped,
    /// Anything else: a whole sentence.
    Failed(String),
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// For `map_err`: an I/O error with what was being done to which path.
    pub fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.as_ref().to_owned(),
            source,
        }
    }

    /// The exit status that a command ends with when this ends it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Config(_) => Exit::Config,
            Self::Stopped => Exit::Stopped,
            _ => Exit::Failed,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Config(text) | Self::Failed(text) => f.write_str(text),
            Self::Io {
                doing,
                path,
                source,
            } => {
                write!(
                    f,
                    "cannot {doing} {}: {}{}",
                    path.display(),
                    plain(source),
                    advice(source)
                )
            }
            Self::Refused { path, why } => write!(f, "{path}: {why}"),
            Self::Network { host, what } => write!(f, "no connection to {host}: {what}"),
            Self::Timeout { host, what } => write!(f, "{host} does not answer: {what}"),
            Self::Status {
                host, status, body, ..
            } => write!(f, "{host} answered {status}: {body}"),
            Self::Model(error) => error.fmt(f),
            Self::TooLarge { what, limit } => {
                write!(f, "{what} is larger than the limit of {}", size(*limit))
            }
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Error {}

/// The system's words without Rust's "(os error 2)".
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

/// Bytes as a person reads them.
fn size(bytes: usize) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// What a person can do about an I/O error, where that is certain.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => " (free some space; nothing that was there is lost)",
        io::ErrorKind::ReadOnlyFilesystem => {
            " (the file system is mounted read-only; a worn card does that by itself)"
        }
        io::ErrorKind::PermissionDenied => " (check the owner and the mode)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_error_says_what_where_and_what_to_do() {
        let full = Error::io("write", "/home/x.json")(io::Error::from_raw_os_error(28));
        assert_eq!(
            full.to_string(),
            "cannot write /home/x.json: no space left on device (free some space; nothing that was there is lost)"
        );
        assert_eq!(full.exit(), Exit::Failed);
        assert_eq!(Error::Config(String::new()).exit() as u8, 78);
    }
}
