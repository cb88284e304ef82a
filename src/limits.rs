//! Floor 0: every bound of the program, with its unit and its reason.
//!
//! A number that decides something stands here and nowhere else, grouped by the room that obeys it.

/// Bounds of the cancellation token.
pub mod cancel {
    use std::time::Duration;

    /// How often a wait that cannot be woken looks at the token. Half of the 200 ms within which a
    /// blocked call has to break.
    pub const POLL: Duration = Duration::from_millis(100);
}

/// Bounds of the words between us and the model.
pub mod chat {
    /// Tool calls taken from one reply; what is beyond is answered with an error, not run.
    pub const CALLS_PER_REPLY: usize = 32;
    /// Bytes of one image's file. Base64 and the request double it twice, and it has to fit a board.
    pub const IMAGE_BYTES: usize = 1_500_000;
}

/// Bounds of the configuration file.
pub mod config {
    /// Bytes of a configuration file; the largest honest one is a few kilobytes.
    pub const FILE_BYTES: usize = 1024 * 1024;
    /// Bytes of a file that holds one secret (`file:PATH`).
    pub const SECRET_FILE_BYTES: usize = 64 * 1024;
    /// Problems of a file that are told at once; a screen holds no more, and mending them shows the
    /// next.
    pub const PROBLEMS: usize = 10;
    /// Characters of an offending line that are shown, and of a wrong value.
    pub const EXCERPT_CHARS: usize = 72;
}

/// Bounds of HTTP.
pub mod http {
    use std::time::Duration;

    /// Time to reach a host, per request, over all its addresses, with the TLS handshake.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
    /// Time for a name to be resolved. musl's resolver itself gives up after 10 s.
    pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
    /// Time in which a peer has to take some bytes of our request; then the line is dead.
    pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
    /// Time for a whole request to be taken: a few megabytes of images on a slow line.
    pub const SEND_TIMEOUT: Duration = Duration::from_secs(300);
    /// Addresses of a name that are tried. They share the time to connect, so that more of them
    /// would leave each too little.
    pub const ADDRESSES: usize = 8;
    /// Bytes of each connection's input and output buffer, and so of a response's head. ureq's
    /// default of 128 KiB twice is the largest single cost of a held connection on a board; nginx
    /// allows a head of 8 KiB at most by default.
    pub const BUFFER_BYTES: usize = 8 * 1024;
    /// The same for the encrypted side of a TLS connection: rustls asks for 4 KiB at a time and
    /// keeps a buffer of its own.
    pub const ENCRYPTED_BUFFER_BYTES: usize = 4 * 1024;
    /// Bytes of a response that is read whole.
    pub const BODY_BYTES: usize = 8 * 1024 * 1024;
    /// Bytes of a response that is read in pieces and not kept: an event for each of 128,000
    /// tokens, at 400 bytes an event.
    pub const STREAM_BYTES: usize = 64 * 1024 * 1024;
    /// Bytes kept of an error's body: enough for every API's JSON error and the top of a proxy's page.
    pub const ERROR_BODY_BYTES: usize = 4 * 1024;
    /// Bytes read behind the part of a body that mattered, to reach its end and keep the connection.
    pub const TAIL_BYTES: usize = 4 * 1024;
    /// Time for that tail, and for any silence in it. A new TLS connection costs about as much.
    pub const TAIL_TIMEOUT: Duration = Duration::from_millis(200);
    /// Connections kept open between the calls of one turn.
    pub const IDLE_CONNECTIONS: usize = 1;
    /// How long an open connection is believed in while tools run. Servers close theirs after 60 s
    /// or more; what they close earlier is noticed.
    pub const IDLE_AGE: Duration = Duration::from_secs(50);
    /// Stack of the thread that resolves a name. getaddrinfo of musl needs about 10 kB.
    pub const RESOLVER_STACK_BYTES: usize = 128 * 1024;
    /// TLS sessions remembered for resumption, so that the second handshake is cheap. rustls counts
    /// eight to a server: these are the model's, its fallback's and a channel's.
    pub const TLS_SESSIONS: usize = 24;
    /// Bytes of the file of added certificates; the roots of a whole distribution are 250 kB.
    pub const CA_FILE_BYTES: usize = 1024 * 1024;
}

/// Bounds of the workspace and the file tools' way into it.
pub mod sandbox {}

/// Bounds of the providers.
pub mod provider {}

/// Bounds of the journal.
pub mod session {
    /// Bytes read at a time when a journal is read from its end.
    pub const BLOCK_BYTES: usize = 16 * 1024;
    /// Bytes of journal lines that are held in memory for the history. A window of 128,000 tokens
    /// is about as long; a board with less memory has models with smaller windows.
    pub const HISTORY_BYTES: usize = 512 * 1024;
    /// Bytes of one journal line. A longer one is not ours: tool results and messages are cut below it.
    pub const LINE_BYTES: usize = 1024 * 1024;
    /// Bytes of one entry's content; what is over is cut off with a note. JSON can make six of one.
    pub const CONTENT_BYTES: usize = 160 * 1024;
    /// Bytes of a journal's file name before its ending; 255 is the file systems' own limit.
    pub const NAME_BYTES: usize = 120;
}

/// Bounds of the small facts.
pub mod state {
    /// Models counted apart within a day; a turn writes this file, so it stays small.
    pub const USAGE_MODELS: usize = 6;
    /// Days whose sums are kept: two weeks show a habit.
    pub const USAGE_DAYS: usize = 14;
    /// Bytes of the file of counts that are read; what we write is a tenth of it.
    pub const USAGE_FILE_BYTES: usize = 32 * 1024;
}

/// Bounds of the tools.
pub mod tools {}

/// Bounds of a turn.
pub mod agent {
    /// Failures of one call with the same arguments, in a row, until the model is told.
    pub const FAILURES_IN_A_ROW: u32 = 3;
    /// Times one call with the same arguments is made until the model is told.
    pub const REPEATS: u32 = 5;
    /// Different calls remembered within a turn to see repetitions; a circle is shorter.
    pub const CALLS_REMEMBERED: usize = 32;
    /// Calls that only read and run side by side, each on a thread.
    pub const CALLS_AT_ONCE: usize = 4;
    /// Stack of such a thread; a file tool needs about 20 kB.
    pub const CALL_STACK_BYTES: usize = 256 * 1024;
    /// Stack of the thread that drives a turn. TLS with ring needs 64 kB, a regular expression more.
    pub const TURN_STACK_BYTES: usize = 512 * 1024;
    /// Bytes of one bootstrap file that go into the system prompt.
    pub const BOOTSTRAP_BYTES: usize = 16 * 1024;
    /// Bytes of one message of a person.
    pub const MESSAGE_BYTES: usize = 128 * 1024;
    /// Bytes that a token is counted as when the history is fitted to the window. English has four,
    /// code and Chinese about three; less errs on the side of a history that fits.
    pub const BYTES_PER_TOKEN: usize = 3;
    /// Characters of a tool hint's argument, as nanobot shows them.
    pub const HINT_CHARS: usize = 40;
    /// Hints that the account of a turn at its bound names.
    pub const ACCOUNT_HINTS: usize = 12;
}

/// Bounds of the terminal.
pub mod cli {
    /// Bytes of a value in a log line; the number of values is that in the source.
    pub const LOG_VALUE_BYTES: usize = 1024;
    /// Bytes of an answer at a prompt; keys have a few hundred.
    pub const ANSWER_BYTES: u64 = 16 * 1024;
}
