//! Sign-ins with subscriptions, in place of API keys. Each may stop working any day: the provider decides.
//!
//! A [`SignIn`] is only where a sign-in is kept and how its servers are reached; nothing is read before a token is
//! needed. Tokens are renewed before they expire, and once after a server has refused one. Many tokens for renewals
//! can be used once, so one process at a time renews, and reads the file again when it is its turn.
//!
//! All addresses are built in: nothing in the configuration, and nothing that a server says, leads a token elsewhere.

mod addresses;
pub mod codex;
pub mod copilot;
mod store;
#[cfg(test)]
mod tests;
mod web;

use std::fmt;
use std::path::PathBuf;

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::base::secret::Secret;
use crate::net::http::Tls;
use addresses::Addresses;
use std::time::Duration;
use store::Stored;
use web::Web;

/// Bytes of a sign-in server's answer. Copilot's has 3 kB, ChatGPT's with its three tokens 8 kB.
const ANSWER_BYTES: usize = 64 * 1024;
/// Characters of what a sign-in server says about an error.
const EXPLANATION_CHARS: usize = 300;

/// How long before its end a token is renewed.
const EARLY: Duration = Duration::from_secs(120);

/// A subscription that models can be used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// ChatGPT's, by the endpoint of the Codex command line.
    Codex,
    /// GitHub Copilot's.
    Copilot,
}

/// What is said of each subscription.
pub const CAVEAT: &str = "may stop working any day, the provider decides";

impl Service {
    /// All.
    pub const ALL: [Self; 2] = [Self::Codex, Self::Copilot];

    /// The provider's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Codex => "openai-codex",
            Self::Copilot => "github-copilot",
        }
    }
}

/// Why there is no token.
#[derive(Debug)]
pub enum Failure {
    /// A person has to sign in. Says why the sign-in has ended; empty: there was none.
    SignedOut(String),
    /// It may work later.
    Failed(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Where all sign-ins are kept, and how their servers are reached.
#[derive(Clone)]
pub struct SignIns {
    /// The folder, which is created when it is needed.
    pub folder: PathBuf,
    /// Whom connections trust.
    pub tls: Tls,
    /// Tells when tokens expire.
    pub clock: Clock,
}

impl SignIns {
    /// The sign-in with a service. `proxy` is a proxy's URL; `None` takes it from the environment.
    pub fn of(&self, service: Service, proxy: Option<Secret>) -> SignIn {
        SignIn {
            service,
            addresses: Addresses::of(service),
            ins: self.clone(),
            proxy,
        }
    }
}

/// The sign-in with one service.
#[derive(Clone)]
pub struct SignIn {
    service: Service,
    addresses: Addresses,
    ins: SignIns,
    proxy: Option<Secret>,
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.service.fmt(f)
    }
}

/// What a request to a model needs.
pub struct Access {
    /// The token, which goes as `Authorization: Bearer`.
    pub token: Secret,
    /// The endpoint, without a slash at its end.
    pub base: String,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

impl SignIn {
    /// The service.
    pub fn service(&self) -> Service {
        self.service
    }

    /// The usual endpoint, without a slash at its end.
    pub fn base(&self) -> &str {
        &self.addresses.api
    }

    /// Whether there is one. Does not say whether the service still takes it.
    pub fn is_there(&self) -> bool {
        !self.read().is_empty()
    }

    /// What a request needs now. A token that is about to expire is renewed first; where that fails it is used as
    /// long as the service takes it.
    pub fn access(&self, cancel: &Cancel) -> Result<Access, Failure> {
        let mut stored = self.read();
        if stored.is_empty() {
            return Err(Failure::SignedOut(String::new()));
        }
        if stored.token.is_empty() || self.is_due(&stored) && !stored.refresh.is_empty() {
            match self.renewed(&stored.token, false, cancel) {
                Ok(new) => stored = new,
                Err(Failure::Failed(Error::Stopped)) => return Err(Error::Stopped.into()),
                Err(failure) if stored.token.is_empty() => return Err(failure),
                Err(Failure::SignedOut(reason)) => self.log(&reason),
                Err(Failure::Failed(error)) => self.log(&error.to_string()),
            }
        }
        let base = if stored.api.is_empty() {
            self.addresses.api.clone()
        } else {
            stored.api
        };
        Ok(Access {
            token: stored.token,
            base,
            headers: match self.service {
                Service::Codex => codex::headers(stored.account),
                Service::Copilot => copilot::headers(),
            },
        })
    }

    /// Replaces a token that the service has refused.
    pub fn renew(&self, refused: &Secret, cancel: &Cancel) -> Result<(), Failure> {
        self.renewed(refused, true, cancel).map(drop)
    }

    /// Forgets the sign-in, and revokes its tokens where the service has a way; a service that does not answer
    /// changes nothing here. Whether there was one.
    pub fn forget(&self, cancel: &Cancel) -> crate::base::error::Result<bool> {
        if !self.is_there() {
            return Ok(false);
        }
        let _lock = self.lock(cancel)?;
        let stored = self.read();
        self.remove()?;
        if self.service == Service::Codex
            && let Err(error) = codex::revoke(self, &stored, cancel)
        {
            self.log(&error.to_string());
        }
        Ok(true)
    }

    /// Whether a token is about to expire. A clock that was never set says nothing.
    fn is_due(&self, stored: &Stored) -> bool {
        let end = stored.expires.saturating_sub(EARLY.as_millis() as i64);
        stored.expires > 0 && self.ins.clock.is_set() && end <= self.ins.clock.now_ms()
    }

    /// When something expires that is good for so many seconds, in milliseconds since 1970; 0: unknown.
    fn expiry(&self, seconds: Option<u64>) -> i64 {
        let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok());
        match seconds.filter(|seconds| *seconds > 0 && self.ins.clock.is_set()) {
            Some(seconds) => (seconds.saturating_mul(1000)).saturating_add(self.ins.clock.now_ms()),
            None => 0,
        }
    }

    /// What is stored once the token `old` is replaced. `is_refused`: the service does not take it any more.
    fn renewed(&self, old: &Secret, is_refused: bool, cancel: &Cancel) -> Result<Stored, Failure> {
        let _lock = self.lock(cancel)?;
        let mut stored = self.read();
        // Another process was faster.
        if stored.token != *old && !stored.token.is_empty() {
            return Ok(stored);
        }
        let reason = if stored.refresh.is_empty() {
            "it has expired, and cannot be renewed".to_owned()
        } else {
            // A full disk is found before a token is spent that can be used only once.
            self.write(&stored)?;
            let web = Web::new(self, cancel)?.hiding([&stored.token, &stored.refresh]);
            let asked = match self.service {
                Service::Codex => codex::refresh(self, &web, &stored),
                Service::Copilot => copilot::exchange(self, &web, &stored.refresh),
            };
            match asked {
                Ok(new) => {
                    self.write(&new)?;
                    return Ok(new);
                }
                Err(Failure::SignedOut(reason)) => reason,
                Err(failure) => return Err(failure),
            }
        };
        // It is not asked for again.
        stored.refresh = Secret::default();
        if is_refused {
            stored.token = Secret::default();
        }
        if stored.is_empty() {
            self.remove()?
        } else {
            self.write(&stored)?
        }
        Err(Failure::SignedOut(reason))
    }

    fn log(&self, what: &str) {
        tracing::info!(
            provider = self.service.name(),
            "failed to renew or revoke a sign-in: {what}"
        );
    }
}
