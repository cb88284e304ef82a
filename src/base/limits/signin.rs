//! Bounds of sign-ins with subscriptions.

/// Bytes of a sign-in server's answer. Copilot's has 3 kB, ChatGPT's with its three tokens 8 kB.
pub const ANSWER_BYTES: usize = 64 * 1024;
/// Characters of what a sign-in server says about an error.
pub const EXPLANATION_CHARS: usize = 300;
