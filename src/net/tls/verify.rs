//! The check of a server's certificate: by its authority, or because it is in `tls.caFile` itself.

use std::net::IpAddr;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// A certificate that is trusted for its own names.
#[derive(Debug, PartialEq)]
pub(super) struct Pin {
    /// Its SHA-256 sum: a bundle of authorities would take 200 kB of memory.
    sum: Vec<u8>,
    /// Common name of one without alternative names, which is then its name (RFC 2818, section 3.1).
    common_name: Option<String>,
}

impl Pin {
    pub(super) fn new(certificate: &CertificateDer<'_>, root: &TrustAnchor<'_>) -> Self {
        // Object identifiers in DER: 2.5.29.17.
        let alternative_names = [0x06, 0x03, 0x55, 0x1d, 0x11];
        let has_names = certificate
            .windows(alternative_names.len())
            .any(|bytes| bytes == alternative_names);
        Self {
            sum: sum(certificate),
            common_name: common_name(&root.subject).filter(|_| !has_names),
        }
    }

    fn is_named(&self, name: &ServerName<'_>) -> bool {
        let Some(common_name) = self.common_name.as_deref() else {
            return false;
        };
        match name {
            ServerName::DnsName(name) => {
                let name = name.as_ref();
                let covers = |domain: &str| {
                    let rest = name.split_once('.').map(|(_, rest)| rest);
                    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(domain))
                };
                name.eq_ignore_ascii_case(common_name)
                    || common_name.strip_prefix("*.").is_some_and(covers)
            }
            ServerName::IpAddress(address) => common_name.parse() == Ok(IpAddr::from(*address)),
            _ => false,
        }
    }
}

fn sum(certificate: &[u8]) -> Vec<u8> {
    digest(&SHA256, certificate).as_ref().to_vec()
}

/// The last common name (2.5.4.3) in a subject.
fn common_name(subject: &[u8]) -> Option<String> {
    const TYPE: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
    let at = subject
        .windows(TYPE.len())
        .rposition(|bytes| bytes == TYPE)?;
    let [_kind, length, rest @ ..] = subject.get(at + TYPE.len()..)? else {
        return None;
    };
    let name = rest.get(..usize::from(*length))?;
    String::from_utf8(name.to_vec()).ok()
}

/// Trusts what the roots confirm, and in addition the certificates of `tls.caFile` themselves.
///
/// `openssl req -x509` makes a certificate that says it is an authority's. Most servers at home have such a
/// one, and webpki accepts none as a server's own.
#[derive(Debug)]
pub(super) struct Verifier {
    roots: Arc<WebPkiServerVerifier>,
    pins: Arc<[Pin]>,
}

impl Verifier {
    pub(super) fn new(
        roots: RootCertStore,
        provider: &Arc<CryptoProvider>,
        pins: Arc<[Pin]>,
    ) -> Result<Arc<Self>, Error> {
        let roots = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        Ok(Arc::new(Self { roots, pins }))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError as Bad;
        let verified = self.roots.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        let Err(Error::InvalidCertificate(bad)) = verified else {
            return verified;
        };
        // Its time is checked before all that a pin makes up for, and so has been right otherwise.
        let is_late = matches!(
            bad,
            Bad::Expired
                | Bad::ExpiredContext { .. }
                | Bad::NotValidYet
                | Bad::NotValidYetContext { .. }
        );
        let sum = sum(end_entity);
        match self.pins.iter().find(|pin| pin.sum == sum) {
            Some(pin) if !is_late => {
                let named =
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name);
                if !pin.is_named(server_name) {
                    named?;
                }
                Ok(ServerCertVerified::assertion())
            }
            // It is an authority's, of which nothing else is known.
            None if matches!(&bad, Bad::Other(what) if what.to_string() == "CaUsedAsEndEntity") => {
                Err(Bad::UnknownIssuer.into())
            }
            _ => Err(bad.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.roots
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.roots
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.roots.supported_verify_schemes()
    }
}
