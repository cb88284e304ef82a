//! What is kept about the login to one server: `NAME.login.json`, which only its owner can read.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Challenge, metadata};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::json::Members;
use crate::sys::file::{self, Exclusive};
use crate::tools::mcp::client::http::HttpParts;

/// Bytes of what is stored about a login.
const LOGIN_BYTES: usize = 64 * 1024;

/// A login, as far as it has come. Without `Debug`, because it is secret.
#[derive(Clone, Default, PartialEq, Serialize)]
pub struct Stored {
    /// The configured address that it is for. Nothing here is used for another one.
    pub url: String,
    /// The server's identifier, which the tokens are bound to.
    pub resource: String,
    /// Who gives out the tokens.
    pub issuer: String,
    /// Where.
    pub token_endpoint: String,
    /// Who we are there.
    pub client: Registered,
    /// The token; empty: there is none.
    pub token: String,
    /// What a new token is given out for; may be empty.
    pub refresh: String,
    /// When the token expires, in milliseconds since 1970; 0: unknown.
    pub expires: i64,
    /// The rights that were asked for.
    pub scope: String,
    /// Whether the token was given to the program itself.
    pub is_own: bool,
    /// What the server wants from the next login.
    pub challenge: Challenge,
    /// How often it has refused rights that were asked for, and when it last did, in milliseconds since 1970.
    pub refusals: u32,
    /// See there.
    pub refused_at: i64,
}

/// A client of an authorization server.
#[derive(Clone, Default, PartialEq, Serialize)]
pub struct Registered {
    /// Its id.
    pub id: String,
    /// Its secret; empty where it has none or where the configuration has it.
    pub secret: String,
    /// How it says who it is, by the names of RFC 7591.
    pub method: String,
    /// Where its browsers return to.
    pub redirect: String,
    /// Whether the program has registered it there. Its id is what the server made up, such as that of the configuration.
    pub is_registered: bool,
}

impl Registered {
    /// Whether it is the client of the configuration.
    pub fn is_configured(&self, parts: &HttpParts) -> bool {
        !self.is_registered && !self.id.is_empty() && self.id == parts.server.client_id
    }
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.login.json"))
}

/// What is stored about a server; nothing when that is for another address, or cannot be read.
pub fn read(parts: &HttpParts) -> Stored {
    let path = path(&parts.logins, &parts.name);
    let content = match file::read_at_most(&path, LOGIN_BYTES) {
        Ok(content) => content,
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Stored::default();
        }
        Err(error) => {
            tracing::warn!("failed to read a login: {error}");
            return Stored::default();
        }
    };
    let Some(members) = metadata::members(&content) else {
        tracing::warn!(server = %parts.name, "the stored login is damaged: log in again");
        return Stored::default();
    };
    if members.text_or_empty("url") == parts.server.url {
        Stored::from(&members)
    } else {
        Stored::default()
    }
}

impl From<&Members<'_>> for Stored {
    fn from(members: &Members<'_>) -> Self {
        let text = |name: &str| members.text_or_empty(name);
        let number = |name: &str| members.value(name).as_i64().unwrap_or_default();
        let (client, challenge) = (members.members("client"), members.members("challenge"));
        Self {
            url: text("url"),
            resource: text("resource"),
            issuer: text("issuer"),
            token_endpoint: text("token_endpoint"),
            client: Registered {
                id: client.text_or_empty("id"),
                secret: client.text_or_empty("secret"),
                method: client.text_or_empty("method"),
                redirect: client.text_or_empty("redirect"),
                is_registered: client.is_true("is_registered"),
            },
            token: text("token"),
            refresh: text("refresh"),
            expires: number("expires"),
            scope: text("scope"),
            is_own: members.is_true("is_own"),
            challenge: Challenge {
                metadata: challenge.text_or_empty("metadata"),
                scope: challenge.text_or_empty("scope"),
                is_insufficient: challenge.is_true("is_insufficient"),
            },
            refusals: u32::try_from(number("refusals")).unwrap_or_default(),
            refused_at: number("refused_at"),
        }
    }
}

/// Waits for its turn to renew a login. One at a time: many servers take a token for renewals only once.
pub fn begin_renewing(parts: &HttpParts, cancel: &Cancel) -> Result<Exclusive> {
    file::private_folder(&parts.logins)?;
    let path = parts.logins.join(format!("{}.login.lock", parts.name));
    Exclusive::wait(&path, cancel)
}

/// Changes what is stored, one process after the other.
pub fn update(parts: &HttpParts, change: impl FnOnce(&mut Stored)) -> Result<()> {
    file::private_folder(&parts.logins)?;
    let _lock = file::lock_folder(&parts.logins)?;
    let before = read(parts);
    let mut after = before.clone();
    change(&mut after);
    after.url.clone_from(&parts.server.url);
    if after == before {
        return Ok(());
    }
    let path = path(&parts.logins, &parts.name);
    let content = serde_json::to_vec(&after)
        .map_err(|error| Error::Failed(format!("cannot write {}: {error}", path.display())))?;
    // More could not be read again.
    if content.len() > LOGIN_BYTES {
        return Err(Error::TooLarge {
            what: format!("the login to the MCP server {}", parts.name),
            limit: LOGIN_BYTES,
        });
    }
    file::write_atomic(&path, &content, 0o600)
}

/// Removes the login to a server. Whether there was one.
pub fn forget(folder: &Path, name: &str) -> Result<bool> {
    let path = path(folder, name);
    if !path.exists() {
        return Ok(false);
    }
    let _lock = file::lock_folder(folder)?;
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("remove", &path)(error)),
    }
}
