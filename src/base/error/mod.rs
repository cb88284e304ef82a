//! The crate's only error type, worded for users, with the place where it happened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod model;

pub use model::{Fault, ModelError, RESETS};

/// The exit status of a command; `--help` lists them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// Failure.
    Failed = 1,
    /// The command line is invalid.
    Usage = 2,
    /// The configuration is invalid (`EX_CONFIG` of sysexits.h).
    Config = 78,
    /// Stopped by Ctrl-C or a signal.
    Stopped = 130,
}

/// Everything that can go wrong, by who has to do something about it.
#[derive(Debug)]
pub enum Error {
    /// The command line asks for something that does not exist or is not possible.
    Usage(String),
    /// The configuration cannot be used. The text has the file, line and setting, and what is valid.
    Config(String),
    /// A file operation failed.
    Io {
        /// The operation, to be read after "cannot": `read`, `write the journal`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A path leads out of the folders that tools may use, or to something that they may not use.
    /// Every way of trying gets the same text.
    Refused {
        /// The path as it was asked for.
        path: String,
        /// The rule, and what would allow it.
        why: String,
    },
    /// Connecting to a host failed, or the connection broke (name, route, TLS, reset).
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
        /// What was expected, and how long it was waited for.
        what: String,
    },
    /// A host answered with an HTTP error.
    Status {
        /// Host and port.
        host: String,
        /// The HTTP status.
        status: u16,
        /// The delay in `Retry-After`.
        retry_after: Option<Duration>,
        /// The beginning of the body.
        body: String,
    },
    /// A model did not answer, or not as its API specifies.
    Model(Box<ModelError>),
    /// A limit was exceeded.
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The user, a signal or the service stopped it.
    Stopped,
    /// Anything else: a whole sentence.
    Failed(String),
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// For `map_err`: adds the operation and the path to an I/O error.
    pub fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.as_ref().to_owned(),
            source,
        }
    }

    /// Whether a file or folder is missing, or one on the way to it.
    pub fn is_not_found(&self) -> bool {
        let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        matches!(self, Self::Io { source, .. } if kinds.contains(&source.kind()))
    }

    /// The exit status of a command that fails with this.
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
                    format_io(source),
                    advise(source)
                )
            }
            Self::Refused { path, why } => write!(f, "{path}: {why}"),
            // It was connected, and what came is at fault.
            Self::Network { host, what } if what.starts_with("its reply") => {
                write!(f, "{host}: {what}")
            }
            Self::Network { host, what } => write!(f, "cannot connect to {host}: {what}"),
            Self::Timeout { host, what } => write!(f, "{host} did not answer: {what}"),
            Self::Status {
                host, status, body, ..
            } if body.is_empty() => write!(f, "{host} answered {status}"),
            Self::Status {
                host, status, body, ..
            } => write!(f, "{host} answered {status}: {body}"),
            Self::Model(error) => error.fmt(f),
            Self::TooLarge { what, limit } => {
                write!(
                    f,
                    "{what} is larger than the limit of {}",
                    format_bytes(*limit)
                )
            }
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Error {}

/// The system's message without Rust's "(os error 2)".
fn format_io(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((message, _)) => message.to_lowercase(),
        None => text,
    }
}

/// A number of bytes for people.
fn format_bytes(bytes: usize) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// What to do about an I/O error, where that is certain.
fn advise(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => " (free some space; existing data is intact)",
        io::ErrorKind::ReadOnlyFilesystem => {
            " (the file system is mounted read-only, which a worn-out SD card can cause)"
        }
        io::ErrorKind::PermissionDenied => " (check the file's owner and permissions)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_error_has_the_operation_the_path_and_advice() {
        let full = Error::io("write", "/home/x.json")(io::Error::from_raw_os_error(28));
        assert_eq!(
            full.to_string(),
            "cannot write /home/x.json: no space left on device (free some space; existing data is intact)"
        );
        assert_eq!(full.exit(), Exit::Failed);
        assert_eq!(Error::Config(String::new()).exit() as u8, 78);
    }
}
