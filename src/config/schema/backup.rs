//! `backup`

use serde::Deserialize;

use crate::base::secret::Secret;

/// `backup`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Backup {
    /// Hours between two automatic backups; 0: none.
    pub every: u64,
    /// Backups that are kept.
    pub keep: usize,
    /// The folder that they are written to; empty: `backups` in the home folder.
    pub folder: String,
    /// The passphrase; empty: they are not encrypted.
    pub passphrase: Secret,
    /// Whether keys and tokens are left out.
    pub without_secrets: bool,
    /// Whether each is sent to the private chat in which an owner wrote last.
    pub send: bool,
    /// A shell command that each is given to; empty: none.
    pub run: String,
}

impl Default for Backup {
    fn default() -> Self {
        Self {
            every: 0,
            keep: 7,
            folder: String::new(),
            passphrase: Secret::default(),
            without_secrets: false,
            send: false,
            run: String::new(),
        }
    }
}
