//! What is kept about a sign-in: `NAME.json`, which only its owner can read.

use std::io::ErrorKind;
use std::path::PathBuf;

use serde_json::json;

use super::SignIn;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::json::Members;
use crate::base::secret::Secret;
use crate::sys::file::{self, Exclusive};

/// Bytes of what is stored about a sign-in.
const STORED_BYTES: usize = 32 * 1024;

/// A sign-in.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// What requests carry; empty: there is none yet, or none any more.
    pub token: Secret,
    /// What the next token is given out for; empty: it was refused. For Copilot it is GitHub's token.
    pub refresh: Secret,
    /// When the token expires, in milliseconds since 1970; 0: unknown.
    pub expires: i64,
    /// The account's id; may be empty.
    pub account: String,
    /// The endpoint that the service names; empty: the usual one.
    pub api: String,
}

impl Stored {
    /// Whether there is nothing to sign in with.
    pub fn is_empty(&self) -> bool {
        self.token.is_empty() && self.refresh.is_empty()
    }
}

impl SignIn {
    fn path(&self, ending: &str) -> PathBuf {
        let name = self.service.name();
        self.ins.folder.join(format!("{name}.{ending}"))
    }

    /// Waits for its turn to change the file.
    pub(super) fn lock(&self, cancel: &Cancel) -> Result<Exclusive> {
        file::private_folder(&self.ins.folder)?;
        Exclusive::wait(&self.path("lock"), cancel)
    }

    /// What is stored; nothing when it is damaged, or is for another server.
    pub(super) fn read(&self) -> Stored {
        let content = match file::read_at_most(&self.path("json"), STORED_BYTES) {
            Ok(content) => content,
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Stored::default();
            }
            Err(error) => {
                tracing::warn!("failed to read a sign-in: {error}");
                return Stored::default();
            }
        };
        let members = str::from_utf8(&content).ok().and_then(Members::read);
        let Some(members) = members else {
            let provider = self.service.name();
            tracing::warn!(provider, "the stored sign-in is damaged: sign in again");
            return Stored::default();
        };
        if members.text_or_empty("issuer") != self.addresses.issuer {
            return Stored::default();
        }
        let api = members.text_or_empty("api");
        Stored {
            token: Secret::new(&members.text_or_empty("token")),
            refresh: Secret::new(&members.text_or_empty("refresh")),
            expires: members.value("expires").as_i64().unwrap_or_default(),
            account: members.text_or_empty("account"),
            api: if self.addresses.may_be_api(&api) {
                api
            } else {
                String::new()
            },
        }
    }

    /// Stores it. The caller has the lock.
    pub(super) fn write(&self, stored: &Stored) -> Result<()> {
        let content = json!({
            "issuer": self.addresses.issuer,
            "token": stored.token.expose(),
            "refresh": stored.refresh.expose(),
            "expires": stored.expires,
            "account": stored.account,
            "api": stored.api,
        });
        file::write_atomic(&self.path("json"), content.to_string().as_bytes(), 0o600)
    }

    /// Removes it.
    pub(super) fn remove(&self) -> Result<()> {
        let path = self.path("json");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }
}
