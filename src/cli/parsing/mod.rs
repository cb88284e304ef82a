//! What is special in reading the command line: arguments that are built late, and advice for unknown commands.

mod deferred;
mod guess;

pub use deferred::Deferred;
pub(super) use guess::{advise, shorten};
