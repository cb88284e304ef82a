//! Discord.

pub mod markdown;
