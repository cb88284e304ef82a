//! Bounds of WhatsApp, by way of nanobot's bridge.

use std::time::Duration;

/// Characters of one message. WhatsApp takes 65,536, but folds what is longer than a few screens.
pub const MESSAGE_CHARS: usize = 4096;
/// Bytes of an id, an address or a status that the bridge sends; none is longer than a hundred.
pub const ID_BYTES: usize = 256;
/// Bytes of the text of a QR code; WhatsApp's has about 240.
pub const QR_BYTES: usize = 1024;
/// Bytes of a person's text; WhatsApp takes 65,536 characters of up to four bytes.
pub const CONTENT_BYTES: usize = 256 * 1024;
/// Files of one message; the bridge delivers one.
pub const FILES: usize = 8;
/// The longest silence of the bridge before it is asked whether it still answers.
pub const LOOK: Duration = Duration::from_secs(60);
/// Time in which the bridge has to answer a ping, and to accept or to refuse a token. It is on the same machine.
pub const ANSWER_TIME: Duration = Duration::from_secs(20);
/// Time in which a message has to be sent. The bridge answers once WhatsApp has it.
pub const SEND_TIME: Duration = Duration::from_secs(45);
/// A connection to the bridge that was shorter counts as a failure: the next one waits longer.
pub const STEADY: Duration = Duration::from_secs(60);
/// Seconds by which a message may be older than the newest one before an interruption: messages of different chats
/// come slightly out of order.
pub const OVERLAP_SECS: i64 = 10 * 60;
/// Seconds that the newest message is ahead of the one on the disk before the disk is written again. Fewer would
/// wear the card, and the overlap is longer.
pub const SAVE_SECS: i64 = 60;
/// Seconds that a message's time may be ahead of the clock; what is later counts as now.
pub const AHEAD_SECS: i64 = 10 * 60;
/// Bytes of the file with the time of the newest message.
pub const STATE_BYTES: usize = 4096;
/// Time between two messages to one chat. WhatsApp blocks numbers that write faster than people do.
pub const CHAT_INTERVAL: Duration = Duration::from_secs(1);
/// Messages to all chats in [`TOTAL_SPAN`].
pub const TOTAL: usize = 20;
/// See [`TOTAL`].
pub const TOTAL_SPAN: Duration = Duration::from_secs(60);
/// How often a login looks whether it was cancelled or whether the QR code is out of date.
pub const LOGIN_LOOK: Duration = Duration::from_secs(5);
/// How long a login waits for the code to be scanned. WhatsApp replaces the code about every 20 seconds, and gives
/// up after a few.
pub const LOGIN_TIME: Duration = Duration::from_mins(5);
/// How long a login waits for the first code: a bridge that is not linked sends one every 20 seconds, after it has
/// connected again.
pub const CODE_TIME: Duration = Duration::from_secs(90);
