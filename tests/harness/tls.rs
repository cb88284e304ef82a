//! TLS with a certificate that lives as long as the test.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;

/// A certificate in a file, which is all that is trusted.
pub(super) struct Authority {
    folder: TempDir,
}

impl Authority {
    /// A certificate authority, and the TLS configuration of a server at 127.0.0.1 with its certificate.
    pub(super) fn with_server() -> (Self, Arc<ServerConfig>) {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let authority = CertifiedIssuer::self_signed(authority, key).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = at_home().signed_by(&key, &authority).unwrap();
        (Self::of(&authority.pem()), server(&certificate, &key))
    }

    /// A server with a certificate that calls itself an authority's, as `openssl req -x509` makes it for most
    /// servers at home, and that certificate.
    pub(super) fn self_signed() -> (Self, Arc<ServerConfig>) {
        let mut params = at_home();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        (Self::of(&certificate.pem()), server(&certificate, &key))
    }

    fn of(pem: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Self { folder };
        fs::write(authority.file(), pem).unwrap();
        authority
    }

    /// The file, in PEM.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }
}

fn at_home() -> CertificateParams {
    CertificateParams::new(["127.0.0.1".to_owned()]).unwrap()
}

/// A server's side of TLS.
fn server(certificate: &Certificate, key: &KeyPair) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    Arc::new(server)
}
