//! Anthropic messages (<https://docs.claude.com/en/api/messages>). Pure.

mod cache;
pub mod decode;
pub mod encode;

#[cfg(test)]
mod tests;
use std::time::Duration;

/// Blocks of content before a mark in which Anthropic looks for something cached
/// (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
const CACHE_REACH: usize = 20;
/// How long Anthropic's cache keeps what is marked, from its last use, and how long it does for more money.
const CACHE_MINUTES: Duration = Duration::from_secs(5 * 60);
/// See [`CACHE_MINUTES`].
const CACHE_HOUR: Duration = Duration::from_secs(60 * 60);
