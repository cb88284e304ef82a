//! Bounds of MCP servers.

pub mod http;

use std::time::Duration;

/// Bytes of one message from a server: an image of 3 MB in base64.
pub const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Messages in one batch, which versions before 2025-06-18 have.
pub const BATCH: usize = 64;
/// Tools, resources or prompts of one server.
pub const LISTED: usize = 512;
/// Bytes of a list that are kept.
pub const LIST_BYTES: usize = 512 * 1024;
/// Bytes of a tool's name as the server says it.
pub const NAME_BYTES: usize = 256;
/// Bytes of one tool's schema.
pub const SCHEMA_BYTES: usize = 32 * 1024;
/// Time for a new server's first answer and for its lists. `npx` and `uvx` download a server when it is started first.
pub const CONNECT_TIME: Duration = Duration::from_secs(60);
/// How long a turn waits until a server is connected or its lists are read. Both go on without it.
pub const TURN_TIME: Duration = Duration::from_secs(10);
/// Time that a call can take in all, however often it reports progress.
pub const CALL_TIME: Duration = Duration::from_secs(3600);
/// Values of a form.
pub const FIELDS: usize = 20;
/// Characters of a text that a server shows to a person.
pub const SHOWN_CHARS: usize = 1000;
/// Bytes of messages that wait for a server to read them; beyond that it does not read.
pub const UNREAD_BYTES: usize = 4 * 1024 * 1024;
/// Stack of the thread that serves all programs; reading a message needs 20 kB.
pub const STACK_BYTES: usize = 256 * 1024;
/// How long a program has to end after its input was closed.
pub const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Reasons that are kept why something on a list was left out.
pub const REFUSED: usize = 16;
