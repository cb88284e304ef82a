//! Explains failed calls to people.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::CertificateError;
use ureq::Timeout;

use super::client::Settings;
use super::connect::{Line, Unreachable};
use super::{CONNECT_TIMEOUT, HEAD_BYTES, RESOLVE_TIMEOUT};
use crate::base::cancel::Cancel;
use crate::base::error::Error;
use crate::base::limits;
use crate::net::{Failure, is_local_name};

/// Why a name without an address cannot be called.
pub const UNKNOWN_HOST: &str = "cannot resolve its name; check the name and your network";

/// What the calls of a client have in common.
pub struct Shared {
    pub settings: Settings,
    pub cancel: Cancel,
    pub line: Arc<Line>,
}

/// What an error needs to know about the call that failed.
#[derive(Clone)]
pub struct Context {
    /// Host and port.
    pub host: String,
    /// What the calls of a client have in common.
    pub shared: Arc<Shared>,
}

impl Context {
    /// The error as the program knows it. Once the token is raised, that is why anything broke.
    pub fn explain(&self, error: ureq::Error) -> Error {
        if self.shared.cancel.is_cancelled() {
            return Error::Stopped;
        }
        match error {
            ureq::Error::Timeout(phase) => self.timeout(self.waited(phase)),
            ureq::Error::Io(error) => self.network(self.io(&error)),
            ureq::Error::LargeResponseHeader(..) => Error::TooLarge {
                what: format!("the header of the reply from {}", self.host),
                limit: HEAD_BYTES,
            },
            ureq::Error::BodyExceedsLimit(limit) => Error::TooLarge {
                what: format!("the reply from {}", self.host),
                limit: usize::try_from(limit).unwrap_or(usize::MAX),
            },
            ureq::Error::Other(inner) => self.other(inner),
            error => self.network(describe(&error)),
        }
    }

    /// The same for a stream that is read and written without ureq.
    pub fn explain_io(&self, error: &io::Error) -> Error {
        if self.shared.cancel.is_cancelled() {
            return Error::Stopped;
        }
        match error.kind() {
            io::ErrorKind::TimedOut => self.timeout("it did not answer in time".to_owned()),
            _ => self.network(self.io(error)),
        }
    }

    /// The host was too slow.
    pub fn timeout(&self, what: String) -> Error {
        Error::Timeout {
            host: self.host.clone(),
            what,
        }
    }

    /// The connection failed.
    pub fn network(&self, what: String) -> Error {
        Error::Network {
            host: self.host.clone(),
            what,
        }
    }

    fn waited(&self, phase: Timeout) -> String {
        let (what, time) = match phase {
            Timeout::RecvResponse => ("no reply began within", self.shared.settings.first_byte),
            Timeout::PerRead => ("its reply stopped for", self.shared.settings.idle),
            Timeout::Global => (
                "its reply did not end within",
                self.shared.line.total_time(),
            ),
            Timeout::PerWrite => (
                "it accepted nothing of the request for",
                limits::http::WRITE_TIMEOUT,
            ),
            _ => (
                "it did not accept the request within",
                limits::http::WRITE_TIMEOUT,
            ),
        };
        format!("{what} {} s", time.as_secs_f32())
    }

    fn io(&self, error: &io::Error) -> String {
        let inner = error.get_ref();
        if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return self.tls(error);
        }
        let what = match error.kind() {
            io::ErrorKind::ConnectionRefused if self.is_by_local_name() => {
                "it refuses connections on 127.0.0.1; check that the server is running and the port is \
                 right. For IPv6 write [::1] instead of the name"
            }
            io::ErrorKind::ConnectionRefused => {
                "it refuses connections; check that the server is running and the port is right"
            }
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::NetworkDown => "no route to it; check your network",
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => "it reset the connection",
            io::ErrorKind::UnexpectedEof => {
                "it closed the connection before the reply was complete"
            }
            _ => return error.to_string(),
        };
        what.to_owned()
    }

    fn is_by_local_name(&self) -> bool {
        let host = self.host.rsplit_once(':');
        host.is_some_and(|(name, _)| is_local_name(name))
    }

    fn tls(&self, error: &rustls::Error) -> String {
        use rustls::Error as Tls;
        match error {
            Tls::InvalidCertificate(error) => self.certificate(error),
            Tls::InvalidMessage(_) => {
                "it does not use TLS on this port; the address may have to begin with http://"
                    .to_owned()
            }
            error => format!("the TLS connection failed: {error}"),
        }
    }

    fn certificate(&self, error: &CertificateError) -> String {
        use CertificateError as Bad;
        let what = match error {
            Bad::UnknownIssuer => {
                "its certificate is from an unknown authority; if it is your own, set tls.caFile to \
                 its PEM file"
            }
            Bad::Expired | Bad::ExpiredContext { .. } => "its certificate has expired",
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => "its certificate is not valid yet",
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "its certificate is for another name; check the address"
            }
            error => return format!("its certificate cannot be trusted: {error}"),
        };
        let dated = what.ends_with("expired") || what.ends_with("yet");
        let clock = &self.shared.settings.clock;
        let today = clock.now().format("%Y-%m-%d");
        match dated {
            true if !clock.is_set() => format!(
                "the clock says {today}; certificates cannot be checked until the time is set"
            ),
            true => format!("{what}; the clock says {today}"),
            false => what.to_owned(),
        }
    }

    fn other(&self, inner: Box<dyn std::error::Error + Send + Sync>) -> Error {
        match inner.downcast::<Unreachable>() {
            Ok(error) => self.unreachable(*error),
            Err(inner) => self.network(inner.to_string()),
        }
    }

    /// Why there is no connection.
    pub fn unreachable(&self, error: Unreachable) -> Error {
        if self.shared.cancel.is_cancelled() {
            return Error::Stopped;
        }
        if let Some(proxy) = error.proxy {
            let at_proxy = Self {
                host: format!("{proxy} (the proxy on the way to {})", self.host),
                shared: self.shared.clone(),
            };
            return at_proxy.unreachable(error.failure.into());
        }
        let within =
            |what, time: Duration| self.timeout(format!("{what} within {} s", time.as_secs()));
        match error.failure {
            Failure::UnknownHost => self.network(UNKNOWN_HOST.to_owned()),
            Failure::ResolveTimeout => within("its name could not be resolved", RESOLVE_TIMEOUT),
            Failure::ConnectTimeout => within("no connection was made", CONNECT_TIMEOUT),
            Failure::Refused { address, why } => self.network(format!(
                "connecting to {} is not allowed: {why}",
                address.ip()
            )),
            Failure::Untrusted(what) => self.network(what),
            Failure::Io(error) => self.network(self.io(&error)),
        }
    }
}

fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Protocol(error) => format!("its reply is not HTTP ({error})"),
        ureq::Error::Decompress(..) => "its compressed reply is damaged or incomplete".to_owned(),
        error => error.to_string(),
    }
}
