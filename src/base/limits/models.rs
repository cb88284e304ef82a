//! Bounds of the providers.

use std::time::Duration;

/// Bytes of one answer: text, reasoning and arguments together. 128 k tokens are about 512 kB.
pub const REPLY_BYTES: usize = 2 * 1024 * 1024;
/// Bytes read from a stream at once.
pub const READ_BYTES: usize = 4 * 1024;
/// New tries after the first failure, each after twice the wait of the one before.
pub const RETRIES: u32 = 3;
/// Time in which a server on this machine has to list its models to be taken for one.
pub const PROBE: Duration = Duration::from_millis(300);
/// Tokens of a window beyond which a server does not tell the truth: a hundred times what models have.
pub const WINDOW_TOKENS_MAX: u64 = 100_000_000;
/// Blocks of content before a mark in which Anthropic looks for something cached
/// (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
pub const CACHE_REACH: usize = 20;
/// How long Anthropic's cache keeps what is marked, from its last use, and how long it does for more money.
pub const CACHE_MINUTES: Duration = Duration::from_secs(5 * 60);
/// See [`CACHE_MINUTES`].
pub const CACHE_HOUR: Duration = Duration::from_secs(60 * 60);
