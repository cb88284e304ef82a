//! Where the HTTP server listens.

use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::link::Link;
use crate::base::error::{Error, Result};
use crate::config::schema::Http;
use crate::sys;

/// Bytes of the file of a certificate, with those between it and its authority, or of a key.
const PEM_BYTES: usize = 256 * 1024;
/// Bytes of a socket's path, with the zero at its end (unix(7)).
const PATH_BYTES: usize = 108;
/// How a path begins that names a socket.
const UNIX: &str = "unix:";

/// Where the HTTP server listens, and with which certificate.
pub struct Listen {
    at: At,
    tls: Option<Arc<ServerConfig>>,
}

enum At {
    Address(SocketAddr),
    Path(PathBuf),
}

impl Listen {
    /// The address; `None` for a socket's path.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.at {
            At::Address(address) => Some(*address),
            At::Path(_) => None,
        }
    }

    /// Whether it has a certificate.
    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.at, &self.tls) {
            (At::Path(path), _) => write!(f, "{UNIX}{}", path.display()),
            (At::Address(address), None) => write!(f, "http://{address}"),
            (At::Address(address), Some(_)) => write!(f, "https://{address}"),
        }
    }
}

/// Reads where to listen, and the certificate. Warns of what others on the network could read.
pub fn prepare(config: &Http) -> Result<Listen> {
    let at = parse(&config.listen)?;
    let tls = match (&*config.tls.certificate, &*config.tls.key) {
        ("", "") => None,
        ("", _) | (_, "") => {
            return Err(Error::Config(
                "http.tls needs both certificate and key".to_owned(),
            ));
        }
        (certificate, key) => Some(read_tls(certificate, key)?),
    };
    if let (At::Address(address), None) = (&at, &tls)
        && !address.ip().is_loopback()
    {
        tracing::warn!(
            "http.listen is {address} without http.tls: anyone on the network in between can read tokens and conversations"
        );
    }
    Ok(Listen { at, tls })
}

fn parse(text: &str) -> Result<At> {
    let path = text
        .strip_prefix(UNIX)
        .or(Some(text).filter(|text| text.starts_with('/')));
    if let Some(path) = path {
        return match path.len() < PATH_BYTES && path.starts_with('/') {
            true => Ok(At::Path(PathBuf::from(path))),
            false => Err(Error::Config(format!(
                "http.listen: invalid socket path {path:?}: it has to begin with / and to have at most 107 bytes"
            ))),
        };
    }
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map(At::Address).map_err(|_| {
        Error::Config(format!(
            "http.listen: invalid address {text:?}: it needs a port, such as 127.0.0.1:8420, 0.0.0.0:8420 or [::]:8420"
        ))
    })
}

fn read_tls(certificate: &str, key: &str) -> Result<Arc<ServerConfig>> {
    let read = |name: &str, path: &str| {
        sys::file::read_at_most(Path::new(path), PEM_BYTES)
            .map_err(|error| Error::Config(format!("http.tls.{name}: {error}")))
    };
    let wrong = |name: &str, path: &str, why: &dyn fmt::Display| {
        Error::Config(format!("http.tls.{name}: {path}: {why}"))
    };
    let pem = read("certificate", certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .filter_map(std::result::Result::ok)
        .collect();
    if chain.is_empty() {
        let why = "no certificate in PEM, with -----BEGIN CERTIFICATE-----";
        return Err(wrong("certificate", certificate, &why));
    }
    let private = PrivateKeyDer::from_pem_slice(&read("key", key)?)
        .map_err(|_| wrong("key", key, &"no private key in PEM"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, private)
        })
        .map_err(|error| wrong("certificate", certificate, &error))?;
    Ok(Arc::new(config))
}

/// Accepts connections.
pub struct Listener {
    socket: Socket,
    tls: Option<Arc<ServerConfig>>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listen {
    /// Begins to listen.
    pub fn bind(&self) -> io::Result<Listener> {
        let socket = match &self.at {
            At::Address(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?;
                tracing::info!("HTTP: listening on {address}");
                Socket::Tcp(listener)
            }
            At::Path(path) => {
                // Users who may enter its folder may connect, such as a proxy's; a token opens the HTTP server.
                let listener = sys::socket::listen(path, 0o666)?;
                tracing::info!("HTTP: listening on {UNIX}{}", path.display());
                Socket::Unix(listener)
            }
        };
        Ok(Listener {
            socket,
            tls: self.tls.clone(),
        })
    }

    /// Removes the socket's file.
    pub fn remove(&self) {
        if let At::Path(path) = &self.at {
            let _ = fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(listener) => listener.as_fd(),
            Socket::Unix(listener) => listener.as_fd(),
        }
    }
}

impl Listener {
    /// The port; `None` for a socket's path.
    pub fn port(&self) -> Option<u16> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            Socket::Unix(_) => None,
        }
    }

    /// The next connection.
    pub fn accept(&self) -> io::Result<Link> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                Link::tcp(stream, peer.ip(), self.tls.clone())
            }
            Socket::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                Link::unix(stream)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_are_addresses_with_ports_and_paths() {
        for (text, shown) in [
            ("127.0.0.1:8420", "http://127.0.0.1:8420"),
            ("localhost:1", "http://127.0.0.1:1"),
            ("[::1]:8420", "http://[::1]:8420"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
            ("/run/a.sock", "unix:/run/a.sock"),
        ] {
            let listen = Listen {
                at: parse(text).unwrap(),
                tls: None,
            };
            assert_eq!(listen.to_string(), shown);
        }
        for text in [
            "",
            "8420",
            ":8420",
            "127.0.0.1",
            "crab:8420",
            "unix:a",
            &format!("/{}", "a".repeat(PATH_BYTES)),
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["crab.local".to_owned()]).unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("cert"), made.cert.pem()).unwrap();
        fs::write(path("key"), made.signing_key.serialize_pem()).unwrap();
        let config = |certificate: String, key: String| {
            let mut config = Http::default();
            (config.tls.certificate, config.tls.key) = (certificate, key);
            prepare(&config).map(|listen| listen.to_string())
        };
        assert!(
            config(path("cert"), path("key"))
                .unwrap()
                .starts_with("https://")
        );
        for (certificate, key) in [
            (path("cert"), String::new()),
            (String::new(), path("key")),
            (path("key"), path("key")),
            (path("cert"), path("cert")),
            (path("none"), path("key")),
        ] {
            assert!(config(certificate, key).is_err());
        }
    }
}
