//! Bounds of the web tools.

/// Characters of a page that the model gets, unless the call says otherwise or a result has less room.
/// nanobot's number.
pub const FETCH_CHARS: usize = 50_000;
/// Bytes of an address. Servers accept 8 kB.
pub const URL_BYTES: usize = 4 * 1024;

/// Bytes of an attribute's value. Data within addresses is longer, and not used.
pub const VALUE_BYTES: usize = 2 * 1024;

/// Results of a search, whatever the call says.
pub const RESULTS_MAX: usize = 10;
