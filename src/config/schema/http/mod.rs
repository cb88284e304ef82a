//! `http`

mod hooks;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use hooks::{Hook, HookSignature};

/// `http`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Http {
    /// Whether the gateway has an HTTP server for programs and browsers.
    pub enabled: bool,
    /// An address with a port, or a socket's path behind `unix:`.
    pub listen: String,
    /// The certificate.
    pub tls: HttpTls,
    /// Names of hosts by which it is reached, besides those of this machine.
    pub hosts: Vec<String>,
    /// Origins of other pages that may ask.
    pub origins: Vec<String>,
    /// Who is asked for approvals.
    pub approvals: HttpApprovals,
    /// What happens when a program calls, by name.
    pub hooks: BTreeMap<String, Hook>,
}

/// `http.tls`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpTls {
    /// A PEM file of the certificate, and those up to its authority; empty: no TLS.
    pub certificate: String,
    /// A PEM file of its key.
    pub key: String,
}

/// `http.approvals`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpApprovals {
    /// What needs an approval is refused.
    #[default]
    Refuse,
    /// An owner is asked in their chat.
    Owner,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            enabled: false,
            listen: "127.0.0.1:8420".to_owned(),
            tls: HttpTls::default(),
            hosts: Vec::new(),
            origins: Vec::new(),
            approvals: HttpApprovals::Refuse,
            hooks: BTreeMap::new(),
        }
    }
}
