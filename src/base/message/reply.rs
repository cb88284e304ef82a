//! What a message replies to, as far as it is known.

use super::Envelope;

/// The target of a reply whose message is not known: no message has this id.
pub const UNKNOWN_MESSAGE: &str = "?";

impl Envelope {
    /// Whether it replies to a message: with a quote and no target to one outside of its chat.
    pub fn is_reply(&self) -> bool {
        !self.target().is_empty()
    }

    /// The message that a word in it is about, where it replies to one: [`UNKNOWN_MESSAGE`] where it does not say which.
    /// Empty for a message that replies to none.
    pub fn target(&self) -> &str {
        match self.replies_to.as_str() {
            "" if !self.quote.is_empty() => UNKNOWN_MESSAGE,
            target => target,
        }
    }
}
