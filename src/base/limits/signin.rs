//! Bounds of sign-ins with subscriptions.

use std::time::Duration;

/// Time for one request to a sign-in server.
pub const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Time for a token to be revoked: `peacrab logout` removes it here in any case.
pub const REVOKE_TIME: Duration = Duration::from_secs(10);
/// Bytes of a sign-in server's answer. Copilot's has 3 kB, ChatGPT's with its three tokens 8 kB.
pub const ANSWER_BYTES: usize = 64 * 1024;
/// Bytes of what is stored about a sign-in.
pub const STORED_BYTES: usize = 32 * 1024;
/// Bytes of a token: a request's head has 8 KiB.
pub const TOKEN_BYTES: usize = 6 * 1024;
/// Bytes of an account's id.
pub const ACCOUNT_BYTES: usize = 200;
/// How long before its end a token is renewed.
pub const EARLY: Duration = Duration::from_secs(120);
/// How long a person has for GitHub's device code, whatever the server says.
pub const DEVICE_TIME: Duration = Duration::from_secs(900);
/// Shortest and longest pause between two questions whether the code was entered.
pub const DEVICE_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The pause when the server names none (RFC 8628, section 3.2), and how much longer it gets after `slow_down`.
pub const DEVICE_PAUSE_USUAL: Duration = Duration::from_secs(5);
/// Characters of the code that the person enters.
pub const USER_CODE_CHARS: usize = 40;
/// Characters of what a sign-in server says about an error.
pub const EXPLANATION_CHARS: usize = 300;
/// Pieces in which an address may be pasted: a terminal cuts long lines.
pub const PASTES_MAX: usize = 20;
