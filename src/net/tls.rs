//! Whom TLS trusts: the built-in roots, and those of `tls.caFile`.

mod verify;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};

use self::verify::{Pin, Verifier};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::sys;

/// TLS sessions remembered for resumption, so that the second handshake is cheap. rustls counts
/// eight to a server: these are the model's, its fallback's and a channel's.
const TLS_SESSIONS: usize = 24;
/// Bytes of the file of added certificates; the roots of a whole distribution are 250 kB.
const CA_FILE_BYTES: usize = 1024 * 1024;

/// The time at which certificates are checked.
#[derive(Debug)]
struct OurClock;

impl TimeProvider for OurClock {
    fn current_time(&self) -> Option<UnixTime> {
        // Before 1970 there is no time at all.
        let millis = u64::try_from(Clock::System.now_ms()).unwrap_or_default();
        Some(UnixTime::since_unix_epoch(Duration::from_millis(millis)))
    }
}

/// Whom to trust, and the sessions to resume. One per process; clones share it.
#[derive(Clone)]
pub struct Tls {
    shared: Arc<Shared>,
    /// Users besides our own and root whose servers on this machine may get a key without TLS.
    local_users: Arc<[String]>,
}

struct Shared {
    /// The certificates of `tls.caFile`, as authorities.
    added: RootCertStore,
    /// The same, as certificates that a server itself may have.
    pins: Arc<[Pin]>,
    /// Made for the first connection that needs it, which saves 20 kB where the model is local.
    config: OnceLock<Arc<ClientConfig>>,
}

impl Tls {
    /// Trusts the built-in roots and, in addition, every certificate of a PEM file.
    ///
    /// Errors name the file: it cannot be read, or contains no usable certificate.
    pub fn new(ca_file: Option<&Path>) -> Result<Self> {
        let mut added = RootCertStore::empty();
        let mut pins = Vec::new();
        if let Some(path) = ca_file {
            let pem = sys::file::read_at_most(path, CA_FILE_BYTES)
                .map_err(|error| Error::Config(format!("tls.caFile: {error}")))?;
            let certificates =
                CertificateDer::pem_slice_iter(&pem).filter_map(|section| section.ok());
            let mut ignored = 0_usize;
            for certificate in certificates {
                match added.add(certificate.clone()) {
                    Ok(()) => {
                        pins.extend(added.roots.last().map(|root| Pin::new(&certificate, root)))
                    }
                    Err(_) => ignored += 1,
                }
            }
            if pins.is_empty() {
                return Err(Error::Config(format!(
                    "tls.caFile: {} contains no usable certificate; it must be a PEM file with \
                     -----BEGIN CERTIFICATE-----",
                    path.display()
                )));
            }
            if ignored > 0 {
                tracing::warn!(file = %path.display(), ignored, "ignored unusable certificates of tls.caFile");
            }
        }
        Ok(Self {
            shared: Arc::new(Shared {
                added,
                pins: pins.into(),
                config: OnceLock::new(),
            }),
            local_users: Arc::default(),
        })
    }

    /// Trusts servers of these users, names or numbers, on this machine and without TLS, as if they
    /// were ours. See [`owner::check`](super::owner::check).
    #[must_use]
    pub fn with_local_users(self, users: &[String]) -> Self {
        Self {
            local_users: users.into(),
            ..self
        }
    }

    /// The users whose servers on this machine are trusted without TLS.
    pub fn local_users(&self) -> &[String] {
        &self.local_users
    }

    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        if let Some(config) = self.shared.config.get() {
            return Ok(config.clone());
        }
        let mut roots = self.shared.added.clone();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new(roots, &provider, self.shared.pins.clone())?;
        let mut config = ClientConfig::builder_with_details(provider, Arc::new(OurClock))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.resumption = Resumption::in_memory_sessions(TLS_SESSIONS);
        Ok(self.shared.config.get_or_init(|| Arc::new(config)).clone())
    }
}
