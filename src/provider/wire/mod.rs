//! What both wire formats share. All pure.

pub mod body;
pub mod calls;
pub mod entries;
pub mod filter;
pub mod quote;
pub mod template;
pub mod think;
pub mod tokens;
pub mod written;

#[cfg(test)]
pub mod example;

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// More has to come.
    Open,
    /// The model has ended; usage may follow.
    Ended,
    /// Nothing follows.
    Over,
}
