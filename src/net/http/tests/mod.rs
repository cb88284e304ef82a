//! The client against small servers on this machine: what it makes of good, bad and silent ones.

mod answers;
mod cancelled;
pub mod log;
pub mod proxied;
mod reached;
mod secured;
pub mod server;
mod uploaded;

use std::time::Duration;

use super::{Client, Settings, Tls};
use crate::base::cancel::Cancel;
use crate::base::secret::Secret;
use crate::net::{Dialer, Lookup};

/// Patient enough for a busy machine; tests of a time limit set their own.
fn settings() -> Settings {
    Settings::new(Duration::from_secs(60), Duration::from_secs(60))
}

fn dialer(cancel: &Cancel, lookup: Lookup) -> Dialer {
    Dialer {
        lookup,
        ..Dialer::new(cancel)
    }
}

fn client() -> Client {
    client_with(settings())
}

fn client_with(settings: Settings) -> Client {
    Client::new(&Tls::new(None).unwrap(), settings, &Cancel::new()).unwrap()
}

fn through(proxy: &str) -> Settings {
    Settings {
        proxy: Some(Secret::new(proxy)),
        ..settings()
    }
}

/// The authorities of a PEM text, which stands in a file no longer than needed.
fn trusting(pem: &str) -> Tls {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, pem).unwrap();
    Tls::new(Some(&file)).unwrap()
}
