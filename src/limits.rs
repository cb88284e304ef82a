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
}

/// Bounds of HTTP.
pub mod http {
    use std::time::Duration;

    /// Time to reach a host, per request, over all its addresses, with the TLS handshake.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
    /// Time for a name to be resolved. musl's resolver itself gives up after 10 s.
    pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
    /// Bytes of each connection's input and output buffer. ureq's default of 128 KiB twice is the
    /// largest single cost of a held connection on a board.
    pub const BUFFER_BYTES: usize = 8 * 1024;
    /// Bytes of a response that is read whole.
    pub const BODY_BYTES: usize = 8 * 1024 * 1024;
    /// Bytes kept of an error's body: enough for every API's JSON error and the top of a proxy's page.
    pub const ERROR_BODY_BYTES: usize = 4 * 1024;
    /// Connections kept open between the calls of one turn.
    pub const IDLE_CONNECTIONS: usize = 1;
    /// Stack of the thread that resolves a name. getaddrinfo of musl needs about 10 kB.
    pub const RESOLVER_STACK_BYTES: usize = 128 * 1024;
    /// TLS sessions remembered for resumption, so that the second handshake is cheap.
    pub const TLS_SESSIONS: usize = 8;
}

/// Bounds of the workspace and the file tools' way into it.
pub mod sandbox {
    /// Bytes of a path; Linux's PATH_MAX less the closing zero.
    pub const PATH_BYTES: usize = 4095;
    /// Links followed in one path, as many as Linux follows (path_resolution(7)).
    pub const LINKS: usize = 40;
    /// How often openat2 is asked again when a rename somewhere in the system disturbs it (EAGAIN).
    pub const RESOLVE_TRIES: usize = 16;
    /// Folders held open while a path is resolved without openat2; a process may have 1024 files.
    pub const RESOLVE_HANDLES: usize = 128;
    /// Folders below each other that a listing or search goes down, each held open meanwhile.
    pub const WALK_DEPTH: usize = 32;
    /// Names that one listing or search looks at: some seconds on a slow card.
    pub const WALK_NAMES: usize = 50_000;
    /// Names of one folder that are held and sorted: about a megabyte.
    pub const FOLDER_NAMES: usize = 10_000;
}

/// Bounds of the providers.
pub mod provider {}

/// Bounds of the journal.
pub mod session {}

/// Bounds of the tools.
pub mod tools {
    use std::time::Duration;

    /// Characters of a hint's argument: what fits a line on a telephone.
    pub const HINT_CHARS: usize = 40;
    /// Characters that one read_file gives, however large a result may be.
    pub const READ_CHARS: usize = 128 * 1024;
    /// Characters kept free in a result for the note that says how to go on.
    pub const NOTE_CHARS: usize = 240;
    /// Bytes at a file's beginning by which it is told what it is.
    pub const SNIFF_BYTES: usize = 8 * 1024;
    /// Bytes of a line that are held; the rest of a longer one is passed over.
    pub const LINE_BYTES: usize = 128 * 1024;
    /// Bytes of a file that is edited: it is held whole, twice.
    pub const EDIT_BYTES: usize = 2 * 1024 * 1024;
    /// Places shown when the text to be replaced is not found.
    pub const EDIT_CANDIDATES: usize = 3;
    /// Lines shown of each such place.
    pub const EDIT_CANDIDATE_LINES: usize = 12;
    /// Line numbers named when the text to be replaced stands in several places.
    pub const EDIT_PLACES: usize = 10;
    /// Names in a listing, unless the call says otherwise.
    pub const LIST_NAMES: usize = 200;
    /// Names in a listing, whatever the call says.
    pub const LIST_NAMES_MOST: usize = 5000;
    /// Matching lines of a search, unless the call says otherwise.
    pub const GREP_MATCHES: usize = 100;
    /// Matching lines of a search, whatever the call says.
    pub const GREP_MATCHES_MOST: usize = 1000;
    /// Lines around a match, whatever the call says.
    pub const GREP_CONTEXT_MOST: usize = 20;
    /// Characters shown of a line that a search finds; minified files have one line.
    pub const GREP_LINE_CHARS: usize = 300;
    /// Bytes that one search reads: some ten seconds on a board.
    pub const GREP_BYTES: u64 = 256 * 1024 * 1024;
    /// Bytes of a regular expression as it is written.
    pub const PATTERN_BYTES: usize = 1000;
    /// Bytes of a regular expression as it is held.
    pub const PATTERN_HELD_BYTES: usize = 512 * 1024;
    /// How long results that were too long are kept.
    pub const RESULTS_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    /// Bytes of all results that are kept.
    pub const RESULTS_BYTES: u64 = 64 * 1024 * 1024;
}

/// Bounds of a turn.
pub mod agent {}

/// Bounds of the terminal.
pub mod cli {}
