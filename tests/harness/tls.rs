//! TLS with a certificate that lives as long as the test.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;

/// A certificate in a file, which is all that is trusted.
pub(super) struct Authority {
    folder: TempDir,
}

impl Authority {
    /// A certificate, and the TLS configuration of a server at 127.0.0.1 that has it.
    pub(super) fn with_server() -> (Self, Arc<ServerConfig>) {
        let (pem, server) = authority_and_server();
        let folder = tempfile::tempdir().unwrap();
        let authority = Self { folder };
        fs::write(authority.file(), pem).unwrap();
        (authority, server)
    }

    /// The file, in PEM.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }
}

/// A server's side of TLS for 127.0.0.1, and its certificate in PEM: its own, and calling itself an authority's, as
/// `openssl req -x509` makes it for most servers at home.
fn authority_and_server() -> (String, Arc<ServerConfig>) {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (certificate.pem(), Arc::new(server))
}
