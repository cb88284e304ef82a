//! Bounds of WhatsApp, by way of nanobot's bridge.

use std::time::Duration;

/// Bytes of the text of a QR code; WhatsApp's has about 240.
pub const QR_BYTES: usize = 1024;
/// Time in which the bridge has to answer a ping, and to accept or to refuse a token. It is on the same machine.
pub const ANSWER_TIME: Duration = Duration::from_secs(20);
