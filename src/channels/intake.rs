//! Messages from people.

/// What a channel's receiver hands its messages to.
#[derive(Debug)]
pub struct Intake {}
