//! Floor 9: the command line.

pub mod markdown;
