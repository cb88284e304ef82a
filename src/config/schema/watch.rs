//! `watch`

use serde::Deserialize;

/// `watch`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Watch {
    /// Whether anything is watched.
    pub enabled: bool,
    /// The chat that the built-in watches tell; empty: the private one in which an owner wrote last.
    pub to: String,
    /// What is watched without a rule.
    pub built_in: BuiltInWatches,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            enabled: true,
            to: String::new(),
            built_in: BuiltInWatches::default(),
        }
    }
}

/// `watch.builtIn`
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BuiltInWatches {
    /// Degrees Celsius; `None`: as the board says; 0: not watched.
    pub temperature: Option<u64>,
    /// Percent of the space of a file system; 0: not watched.
    pub disk: u64,
    /// Percent of the inodes of a file system; 0: not watched.
    pub inodes: u64,
    /// Memory pressure.
    pub pressure: bool,
    /// Processes that the kernel ends for want of memory.
    pub oom: bool,
    /// A voltage that is too low.
    pub undervoltage: bool,
    /// A processor that is throttled.
    pub throttling: bool,
    /// File systems that become read-only.
    pub read_only: bool,
    /// Services that fail.
    pub units: bool,
    /// A clock that cannot be trusted.
    pub clock: bool,
    /// New addresses.
    pub address: bool,
    /// Logins over ssh.
    pub login: bool,
}

impl Default for BuiltInWatches {
    fn default() -> Self {
        Self {
            temperature: None,
            disk: 90,
            inodes: 90,
            pressure: true,
            oom: true,
            undervoltage: true,
            throttling: true,
            read_only: true,
            units: true,
            clock: true,
            address: true,
            login: true,
        }
    }
}
