//! Bounds of MCP servers that are reached over HTTP, and of the logins to them.

use std::time::Duration;

/// Time for a server to take a notification or an answer.
pub const SEND_TIME: Duration = Duration::from_secs(30);
/// Time for a server to take the news that a call was stopped.
pub const CANCEL_TIME: Duration = Duration::from_secs(2);
/// Time for the end of a session. It is a courtesy: servers forget sessions by themselves.
pub const SESSION_END_TIME: Duration = Duration::from_secs(1);
/// Bytes of a session's id. They go along in every request.
pub const SESSION_ID_BYTES: usize = 1024;
/// Bytes of one reply of events, reports of progress included.
pub const REPLY_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of an event's id that are sent back.
pub const EVENT_ID_BYTES: usize = 1024;
/// How often a reply that broke off is asked for again.
pub const RESUMES: u32 = 100;
/// Time before that when the server names none, and the least otherwise.
pub const RESUME_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(100));
/// Time for a server to accept a stream for its questions, before a call that may end in one.
pub const LISTEN_TIME: Duration = Duration::from_secs(1);
/// Messages of a stream that wait to be taken.
pub const WAITING_MESSAGES: usize = 64;
/// Bytes of one header's value: the buffer for a request's head has 8 KiB.
pub const HEADER_BYTES: usize = 6 * 1024;

/// Time for one step of a login: a document, a registration, a token.
pub const LOGIN_TIME: Duration = Duration::from_secs(30);
/// Bytes of a document about a login.
pub const DOCUMENT_BYTES: usize = 256 * 1024;
/// Bytes of an address that a server names.
pub const ADDRESS_BYTES: usize = 2048;
/// Bytes of what is stored about a login.
pub const LOGIN_BYTES: usize = 64 * 1024;
/// How often a server may refuse rights that were asked for, within this time, until no further login is tried.
pub const STEP_UPS: (u32, Duration) = (2, Duration::from_secs(600));
/// Bytes of the list of rights in a challenge.
pub const SCOPE_BYTES: usize = 2048;
/// For how long a signed assertion holds.
pub const ASSERTION_TIME: Duration = Duration::from_secs(300);
/// Characters of an error of a login: what we say has addresses in it.
pub const FAULT_CHARS: usize = 1000;
/// Characters of what an authorization server says about an error.
pub const EXPLANATION_CHARS: usize = 300;
