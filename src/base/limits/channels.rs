//! Bounds of the channels.

pub mod dingtalk;
pub mod feishu;
pub mod irc;
pub mod matrix;
pub mod mochat;
pub mod qq;
pub mod slack;
pub mod whatsapp;

use std::time::Duration;

pub mod email;

/// Bytes of a received file; Telegram's servers deliver no larger ones.
pub const DOWNLOAD_BYTES: usize = 20 * 1024 * 1024;
/// Bytes of a file to be sent; Telegram's servers accept no larger ones.
pub const UPLOAD_BYTES: u64 = 50 * 1024 * 1024;
/// Longest silence within a reply of a channel's server.
pub const IDLE: Duration = Duration::from_secs(60);
/// Longest wait that a server may ask for; Telegram asks a flooded group for minutes.
pub const LONGEST_WAIT: Duration = Duration::from_mins(60);
/// Wait after too many requests when the server does not say how long.
pub const USUAL_WAIT: Duration = Duration::from_secs(5);
/// Characters kept of what a channel's server said about an error.
pub const SAID_CHARS: usize = 300;
/// Characters of a name that stand in a text: who is quoted, who was forwarded.
pub const NAME_CHARS: usize = 64;
/// Characters quoted of the message that is replied to; two or three paragraphs.
pub const QUOTE_CHARS: usize = 500;

/// Bytes of a file that goes to Discord: what a server without boosts takes.
pub const DISCORD_UPLOAD_BYTES: u64 = 10 * 1024 * 1024;
/// Chats in which a channel is asked for messages that were missed.
pub const MISSED_CHATS: usize = 32;
/// Time in which missed messages are fetched before anything newer is looked at, so that they come first.
pub const MISSED_TIME: Duration = Duration::from_secs(30);
/// The same after that has passed: newer ones wait no longer.
pub const MISSED_TURN: Duration = Duration::from_secs(1);
/// Messages asked for at once; Discord gives no more.
pub const DISCORD_MISSED_MESSAGES: usize = 100;
/// The least time between two long polls that bring nothing new.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How much later than it should an answer may begin, before the connection is given up.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long an answer may take while somebody waits at the terminal.
pub const TEST_PATIENCE: Duration = Duration::from_secs(10);
/// Updates fetched at once; Telegram returns no more.
pub const UPDATES_AT_ONCE: usize = 100;
/// Levels of lists and objects of a channel's JSON: a message in a message with keyboards has ten. A
/// level of Discord's message takes 12 kB of stack in a build without optimisation.
pub const JSON_LEVELS_MAX: usize = 16;
/// The first wait after a failure; each further one is twice as long.
pub const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Tries for the files of a message, with growing waits, before it goes on without them.
pub const FILE_TRIES: u32 = 6;
/// The longest wait after failures.
pub const LONGEST_BACKOFF: Duration = Duration::from_mins(5);
/// See [`SHORT_BACKOFF`].
pub const SHORT_OUTAGE: Duration = Duration::from_mins(10);
/// Time in which a message always fails while its channel works, until it is set aside.
pub const SET_ASIDE_TIME: Duration = Duration::from_mins(12);
/// Stack of a channel's thread. TLS with ring needs 64 kB, Markdown less.
pub const STACK_BYTES: usize = 512 * 1024;
/// Time between two messages to one chat.
pub const CHAT_INTERVAL: Duration = Duration::from_secs(1);
/// See [`TOTAL_MESSAGES`].
pub const TOTAL_SPAN: Duration = Duration::from_secs(1);
/// Bytes of a Telegram button's data.
pub const BUTTON_DATA_BYTES: usize = 64;
/// Files of one message that are fetched; an album has ten.
pub const MESSAGE_FILES: usize = 20;
/// How long the confirmation of a pressed button may take to be answered.
pub const PRESS_PATIENCE: Duration = Duration::from_secs(5);
/// The longest wait before it is tried again whether the inbox takes messages: somebody may have made
/// room on the disk and waits for it to be noticed.
pub const INBOX_BACKOFF: Duration = Duration::from_secs(30);
/// Threads that deliver for one channel at a time. Each holds a connection. One of them is never
/// taken by what is known to be slow (files, chats that have failed). Three chats that hang at their first
/// call at the same time delay the others once, by the time that a reply may take.
pub const DELIVERY_WORKERS: usize = 3;
/// How long a delivering thread without work lives on: as long, the next message needs no new
/// handshake.
pub const DELIVERY_LINGER: Duration = Duration::from_secs(30);
/// The longest that a worker's job may take without a transfer: up to three calls, each with name,
/// connection, request and reply.
pub const CALL_TIME: Duration = Duration::from_mins(5);
/// How long after it has begun work is shown as "typing": what is done earlier needs no request.
pub const TYPING_DELAY: Duration = Duration::from_millis(500);
/// Messages of people's that wait to be deleted: a few secrets.
pub const REMOVALS: usize = 16;
/// Edits of a draft after which the time to the next one is doubled: what takes long is looked at
/// less often.
pub const DRAFT_EDITS: u32 = 4;
/// Offers of choices that a channel without buttons remembers, and those of one chat: a few reminders, watches and
/// questions at a time.
pub const OFFERS: usize = 32;
/// See [`OFFERS`].
pub const OFFERS_IN_CHAT: usize = 6;
/// How long a question of the model's can be answered with a number or a word alone: until the next day at the same time.
pub const CHOICES_TIME: Duration = Duration::from_secs(24 * 3600);
/// Replies that have answered questions and are known if the channel sends them again.
pub const CHOICES_USED: usize = 32;
/// Time between two messages about the progress of work where none can be edited.
pub const SPARSE_INTERVAL: Duration = Duration::from_secs(60);
/// How long a terminal's screen must be still before it is shown where none can be edited.
pub const STILL_TIME: Duration = Duration::from_secs(2);

pub mod local;
