//! Floor 7: the ways by which people reach us from afar, each with its door.
//!
//! A channel turns what comes in into [`message`](crate::message)s and knows nothing of who answers
//! them.

pub mod names;
pub mod telegram;
pub mod utf16;
