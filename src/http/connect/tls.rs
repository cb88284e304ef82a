//! TLS over whatever transport reaches the host: the built-in roots, and those of `tls.caFile`.

use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::stream::check_room;
use super::time_left;
use crate::error::{Error, Result};
use crate::http::address;
use crate::{limits, sys};

/// Whom to trust, and the sessions to resume. One per process; clones share it.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    /// The certificates of `tls.caFile`.
    added: RootCertStore,
    /// Made for the first connection that needs it: 20 kB that a board with a local model saves.
    config: OnceLock<Arc<ClientConfig>>,
}

impl Tls {
    /// Trusts the built-in roots and, in addition, every certificate of a PEM file.
    ///
    /// Errors name the file: it cannot be read, or holds no certificate that can be used.
    pub fn new(ca_file: Option<&Path>) -> Result<Self> {
        let mut added = RootCertStore::empty();
        if let Some(path) = ca_file {
            let pem = sys::file::read_at_most(path, limits::http::CA_FILE_BYTES)
                .map_err(|error| Error::Config(format!("tls.caFile: {error}")))?;
            let certificates =
                CertificateDer::pem_slice_iter(&pem).filter_map(|section| section.ok());
            let (used, ignored) = added.add_parsable_certificates(certificates);
            if used == 0 {
                return Err(Error::Config(format!(
                    "tls.caFile: {} holds no certificate that can be used; it has to be a PEM file \
                     with -----BEGIN CERTIFICATE-----",
                    path.display()
                )));
            }
            if ignored > 0 {
                tracing::warn!(file = %path.display(), ignored, "tls.caFile: some certificates cannot be used");
            }
        }
        Ok(Self(Arc::new(Shared {
            added,
            config: OnceLock::new(),
        })))
    }

    fn config(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        if let Some(config) = self.0.config.get() {
            return Ok(config.clone());
        }
        let mut roots = self.0.added.clone();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.resumption = Resumption::in_memory_sessions(limits::http::TLS_SESSIONS);
        Ok(self.0.config.get_or_init(|| Arc::new(config)).clone())
    }
}

/// Puts TLS over a transport to an https host.
pub struct TlsConnector(pub Tls);

impl Connector<Box<dyn Transport>> for TlsConnector {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<Box<dyn Transport>>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() || transport.is_tls() {
            return Ok(Some(transport));
        }
        let (host, _) = address::host_and_port(details.uri).ok_or(ureq::Error::HostNotFound)?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| ureq::Error::Tls("its name cannot stand in a certificate"))?;
        let config = self.0.config().map_err(std::io::Error::other)?;
        let mut connection = ClientConnection::new(config, name).map_err(std::io::Error::other)?;
        let mut sock = TransportAdapter::new(transport, details.current_time.clone());
        sock.set_timeout(time_left(details));
        connection.complete_io(&mut sock)?;
        Ok(Some(Box::new(TlsTransport {
            buffers: LazyBuffers::new(limits::http::BUFFER_BYTES, limits::http::BUFFER_BYTES),
            stream: StreamOwned::new(connection, sock),
        })))
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        Ok(self.stream.write_all(&self.buffers.output()[..amount])?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        check_room(&mut self.buffers)?;
        self.stream.get_mut().set_timeout(timeout);
        let amount = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}
