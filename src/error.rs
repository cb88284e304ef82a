//! Floor 1: the crate's only error type, worded for users, with the place where it happened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
            Self::Network { host, what } => write!(f, "cannot connect to {host}: {what}"),
            Self::Timeout { host, what } => write!(f, "{host} did not answer: {what}"),
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

/// What went wrong with a model, by what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The API key is missing, invalid or lacks a permission (401, 403).
    Key,
    /// The account has no credit or quota left; waiting for seconds does not help.
    Quota,
    /// Too many requests (429).
    Rate,
    /// The service is overloaded or broken (408, 409, 5xx, 529).
    Busy,
    /// The model or the path does not exist (404).
    Unknown,
    /// The request was rejected (other 4xx).
    Request,
    /// The content filter refused.
    Filter,
    /// The conversation is longer than the model's context window.
    Overflow,
    /// Connecting failed, or the connection broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The stream ended before the answer did.
    Cut,
    /// The response is not what the API specifies (HTML of a proxy, broken JSON).
    Garbage,
}

/// A model's failure, worded for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// Its kind.
    pub fault: Fault,
    /// The provider's name.
    pub provider: String,
    /// The model's name as it was sent.
    pub model: String,
    /// The server's message, or what happened, without secrets.
    pub said: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// The environment variable of the provider's API key, such as `OPENAI_API_KEY`.
    fn variable(&self) -> String {
        self.provider.to_uppercase().replace('-', "_") + "_API_KEY"
    }
}

impl fmt::Display for ModelError {
    /// The provider, its message, and what the user can do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            provider, model, ..
        } = self;
        let said = end_sentence(&self.said);
        match self.fault {
            Fault::Key if self.said == NO_KEY => write!(
                f,
                "{provider} has no API key. Set {} or providers.{provider}.apiKey",
                self.variable()
            ),
            Fault::Key => write!(
                f,
                "{provider} rejected the API key: {said} Check {} or providers.{provider}.apiKey",
                self.variable()
            ),
            Fault::Quota => write!(
                f,
                "The account at {provider} has no credit or quota left: {said} Top it up, or set another model in agents.defaults.model"
            ),
            Fault::Rate => write!(
                f,
                "Rate limit reached at {provider}: {said} Wait a little, or set other models in agents.defaults.fallbackModels"
            ),
            Fault::Busy => write!(
                f,
                "{provider} is not responding properly: {said} Try again later, or set other models in agents.defaults.fallbackModels"
            ),
            Fault::Unknown => write!(
                f,
                "{provider} has no model named {model}: {said} Check agents.defaults.model, and providers.{provider}.apiBase if it is set"
            ),
            Fault::Request => write!(
                f,
                "{provider} rejected the request for {model}: {said} Try another model, or check agents.defaults.temperature and providers.{provider}.extraBody"
            ),
            Fault::Filter => write!(
                f,
                "The content filter of {provider} refused this: {said} Rephrase it, or use another model"
            ),
            Fault::Overflow => write!(
                f,
                "The conversation is too long for {model}: {said} Start a new one with /new, or use a model with a larger context window"
            ),
            Fault::Network => write!(
                f,
                "Cannot reach {provider}: {said} Check the network, and providers.{provider}.apiBase and .proxy if they are set"
            ),
            Fault::Timeout => write!(
                f,
                "{provider} did not answer in time: {said} Try again, or raise providers.{provider}.timeoutSecs or .streamIdleTimeoutSecs"
            ),
            Fault::Cut => write!(
                f,
                "The connection to {provider} was lost mid-answer: {said} Please try again"
            ),
            Fault::Garbage => write!(
                f,
                "{provider} sent an unexpected response: {said} Check providers.{provider}.apiBase, and the proxy if there is one"
            ),
        }
    }
}

/// The message of a provider without an API key: nothing was sent.
pub const NO_KEY: &str = "no key is set";

/// The text with a full stop, unless it has one.
fn end_sentence(text: &str) -> String {
    let text = text.trim_end();
    let is_ended = text.ends_with(['.', '!', '?']);
    format!("{text}{}", if is_ended { "" } else { "." })
}

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

    #[test]
    fn a_models_failure_names_the_setting() {
        let error = Error::Model(Box::new(ModelError {
            fault: Fault::Key,
            provider: "my-proxy".to_owned(),
            model: "m".to_owned(),
            said: "Incorrect API key provided".to_owned(),
            retry_after: None,
        }));
        assert_eq!(
            error.to_string(),
            "my-proxy rejected the API key: Incorrect API key provided. Check MY_PROXY_API_KEY or providers.my-proxy.apiKey"
        );
        assert_eq!(error.exit(), Exit::Failed);
    }
}
