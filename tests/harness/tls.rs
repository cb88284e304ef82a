//! TLS with a certificate authority that lives as long as the test.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;

/// A certificate authority with its certificate in a file.
pub(super) struct Authority {
    folder: TempDir,
}

impl Authority {
    /// A certificate authority, and the TLS configuration of a server at 127.0.0.1 with its certificate.
    pub(super) fn with_server() -> (Self, Arc<ServerConfig>) {
        let (pem, server) = authority_and_server();
        let folder = tempfile::tempdir().unwrap();
        let authority = Self { folder };
        fs::write(authority.file(), pem).unwrap();
        (authority, server)
    }

    /// Its certificate, in PEM.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }
}

/// A server's side of TLS for 127.0.0.1, and its authority's certificate in PEM.
fn authority_and_server() -> (String, Arc<ServerConfig>) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();

    let key = KeyPair::generate().unwrap();
    let names = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = names.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (authority.pem(), Arc::new(server))
}
