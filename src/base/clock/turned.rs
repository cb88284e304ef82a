//! A clock that a test turns.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// What a test has set the clock to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turned {
    /// Milliseconds since 1970.
    pub millis: i64,
    /// How long the machine has run. When the time passes, both grow; when the clock is set, only
    /// [`millis`](Self::millis) changes.
    pub uptime: Duration,
    /// Whether a time service has set it.
    pub is_synchronized: bool,
}

impl Turned {
    /// A clock that only ever passes the time.
    pub(super) fn by_hand(millis: i64) -> Self {
        Self {
            millis,
            uptime: Duration::from_millis(millis.try_into().unwrap_or_default()),
            is_synchronized: true,
        }
    }

    /// Its time.
    pub(super) fn utc(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.millis).unwrap_or_default()
    }
}

/// Reads the file that the variable names, again each time: `MILLIS UPTIME_MILLIS SYNCHRONIZED`, the last
/// one 0 or 1. A test replaces the file to turn the clock. `None` without the variable.
#[cfg(feature = "test-hooks")]
pub(super) fn read() -> Option<Turned> {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var_os("PEACRAB_TEST_CLOCK").map(PathBuf::from));
    let text = std::fs::read_to_string(file.as_ref()?).ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    let mut number = || -> Option<i64> { numbers.next()? };
    Some(Turned {
        millis: number()?,
        uptime: Duration::from_millis(number()?.try_into().ok()?),
        is_synchronized: number()? != 0,
    })
}

/// A release reads no such file.
#[cfg(not(feature = "test-hooks"))]
pub(super) fn read() -> Option<Turned> {
    None
}
