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

/// Bounds of the queues between channels and gateway.
pub mod bus {
    /// Entries of each queue: some seconds of a very busy group.
    pub const ENTRIES: usize = 100;
}

/// Bounds of the inbox.
pub mod inbox {}

/// Bounds of the outbox.
pub mod outbox {}

/// Bounds of the board's readings.
pub mod board {}

/// Bounds of the channels.
pub mod channels {}

/// Bounds of the gateway.
pub mod gateway {}

/// Bounds of the life as a service.
pub mod service {
    use std::time::Duration;

    /// Bytes of the status that systemd shows; it takes 4096 in all and shows one line.
    pub const STATUS_BYTES: usize = 1024;
    /// How long a word to systemd may wait until it is taken.
    pub const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);
    /// Bytes of /etc/passwd that are read: thousands of accounts.
    pub const ACCOUNTS_BYTES: usize = 1024 * 1024;
    /// Bytes of a unit that lies there; ours have 4 kB.
    pub const UNIT_BYTES: usize = 64 * 1024;
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

/// Bounds of the workspace and the file tools' way into it, and of commands.
pub mod sandbox {
    use std::time::Duration;

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
    /// Bytes of a confined child's policy; a command line of Linux is at most 128 KiB.
    pub const POLICY_BYTES: usize = 512 * 1024;
    /// Entries of each of the policy's lists; the longest honest one has a dozen.
    pub const POLICY_ITEMS: usize = 1024;
    /// The exit status of a child that could not confine itself. The daemon reads the reason from
    /// a pipe of its own; this only has to differ from what shells use.
    pub const CONFINE_FAILED: i32 = 120;
    /// What is added to a command's chance to be killed when memory runs out (0 to 1000).
    pub const OOM_SCORE: &str = "700";
    /// How much a command stands back when the processor is busy (0 to 19).
    pub const NICENESS: i32 = 5;
    /// Names tried for a command's folder for temporary files.
    pub const TEMPORARY_NAMES: u32 = 100;
    /// How often the number of tasks is looked at while a command of root's runs. A fork bomb makes
    /// about a thousand in this time.
    pub const TASKS_LOOK: Duration = Duration::from_millis(50);
    /// Rounds of killing every descendant. One is enough unless something forks all the time.
    pub const SWEEPS: usize = 100;
    /// Wait between two such rounds, for the killed ones to be gone.
    pub const SWEEP_PAUSE: Duration = Duration::from_millis(5);
    /// Neighbours of a protected path that get their rights one by one.
    pub const NEIGHBOURS: usize = 4096;
    /// Bytes of a command's root folder, which holds names only.
    pub const ROOT_BYTES: u64 = 1024 * 1024;
    /// Bytes of a command's /dev/shm.
    pub const SHARED_BYTES: u64 = 16 * 1024 * 1024;
    /// Seconds of processor time of each process; a command in the foreground has less time anyway.
    pub const CPU_SECONDS: u64 = 3600;
    /// Bytes of writable memory of each process: as much as a large board has.
    pub const MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
    /// Bytes of one file that a command writes: an image of a system fits, a full card is far.
    pub const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;
    /// Bytes of a command's /tmp, which is memory as far as it is used.
    pub const TMP_BYTES: u64 = 256 * 1024 * 1024;
    /// Processes and threads of a command; a parallel build has fifty.
    pub const PROCESSES: u64 = 512;
    /// Open files of each process.
    pub const FILES: u64 = 1024;
    /// Bytes of output that are kept for the conversation; the rest goes to a file.
    pub const OUTPUT_BYTES: usize = 64 * 1024;
    /// Bytes of output after which a command is stopped: nobody will read it, and the card fills.
    pub const FLOOD_BYTES: u64 = 64 * 1024 * 1024;
    /// Bytes read from a pipe at once; Linux's pipes hold as many.
    pub const PIPE_BYTES: usize = 64 * 1024;
    /// Bytes read at once of what a supervisor says, which is a few lines.
    pub const STATUS_BYTES: usize = 512;
    /// How long a supervisor may take to kill everything before it is killed itself.
    pub const KILL_GRACE: Duration = Duration::from_secs(2);
    /// How long a trial of the walls may take. On the slowest board it needs 50 ms.
    pub const TRY_TIME: Duration = Duration::from_secs(10);
    /// How long the escape test waits for a process that may have outlived its command, which shows
    /// itself after 0.2 s.
    pub const OUTLIVE_TIME: Duration = Duration::from_millis(500);
    /// Levels of substitutions that are looked into when a line is split into commands.
    pub const SPLIT_DEPTH: usize = 16;
    /// Commands in the background at a time.
    pub const SESSIONS: usize = 8;
    /// Bytes of unread output that a command in the background may have; older ones are dropped.
    pub const SESSION_BYTES: usize = 128 * 1024;
    /// A command in the background that nobody asks for is killed after this.
    pub const SESSION_IDLE: Duration = Duration::from_mins(30);
    /// How long a command in the background may take to read its input.
    pub const INPUT_TIME: Duration = Duration::from_secs(5);
    /// Stack of the thread that follows a command in the background; it needs 10 kB.
    pub const SESSION_STACK_BYTES: usize = 128 * 1024;
}

/// Bounds of the providers.
pub mod provider {
    use std::time::Duration;

    /// Bytes of one line of a stream. A line holds one delta; the largest honest one is a whole
    /// file in the arguments of a call that a server sends in one piece.
    pub const LINE_BYTES: usize = 1024 * 1024;
    /// Bytes of one answer: text, reasoning and arguments together. 128 k tokens are about 512 kB.
    pub const REPLY_BYTES: usize = 2 * 1024 * 1024;
    /// Bytes read from a stream at once.
    pub const READ_BYTES: usize = 4 * 1024;
    /// Characters kept of what the other side said about an error.
    pub const SAID_CHARS: usize = 300;
    /// New tries after the first failure, each after twice the wait of the one before.
    pub const RETRIES: u32 = 3;
    /// Wait before the first new try. The following ones are 2 and 4 s.
    pub const FIRST_WAIT: Duration = Duration::from_secs(1);
    /// Longest wait that a server may ask for. Beyond it the person is better served by an answer
    /// that says so, or by a fallback model.
    pub const LONGEST_WAIT: Duration = Duration::from_secs(60);
    /// Failures in a row after which a model is left alone for a while.
    pub const BREAKER_FAILURES: u32 = 3;
    /// How long a failing model is left alone.
    pub const BREAKER_REST: Duration = Duration::from_secs(60);
    /// Parameters that may be given up one after the other because a server refuses them.
    pub const LEARNINGS: u32 = 3;
    /// Time in which a server on this machine has to list its models to be taken for one.
    pub const PROBE: Duration = Duration::from_millis(300);
    /// Tokens that older Anthropic models may think, by effort. 1024 is the API's least.
    pub const THINKING_LOW: u32 = 1024;
    /// See [`THINKING_LOW`].
    pub const THINKING_MEDIUM: u32 = 4096;
    /// See [`THINKING_LOW`].
    pub const THINKING_HIGH: u32 = 16_384;
    /// Characters of one tool's result in an answer of the offline helper.
    pub const OFFLINE_RESULT_CHARS: usize = 4000;
}

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
    /// Standing approvals that are kept; who has more has lost sight of them.
    pub const APPROVALS: usize = 100;
    /// Bytes of the file of standing approvals that are read.
    pub const APPROVALS_FILE_BYTES: usize = 1024 * 1024;
    /// Bytes of the audit log after which a new one is begun.
    pub const AUDIT_BYTES: u64 = 1_000_000;
    /// Older audit logs that are kept.
    pub const AUDIT_FILES: u32 = 3;
    /// Bytes of a command in the audit log; its hash stands for the rest.
    pub const AUDIT_COMMAND_BYTES: usize = 4 * 1024;
    /// Bytes of the file of counts that are read; what we write is a tenth of it.
    pub const USAGE_FILE_BYTES: usize = 32 * 1024;
}

/// Bounds of the tools.
pub mod tools {
    use std::time::Duration;

    /// Characters of a hint's argument, as nanobot shows them: what fits a line on a telephone.
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
pub mod agent {
    use std::time::Duration;

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
    /// How long a question to a person waits; then it counts as denied.
    pub const ANSWER_TIME: Duration = Duration::from_mins(10);
    /// Bytes that the history always gets, however small the window is said to be.
    pub const HISTORY_FLOOR_BYTES: usize = 4 * 1024;
    /// Hints that the account of a turn at its bound names.
    pub const ACCOUNT_HINTS: usize = 12;
}

/// Bounds of the terminal.
pub mod cli {
    /// Bytes of a value in a log line; the number of values is that in the source.
    pub const LOG_VALUE_BYTES: usize = 1024;
    /// Bytes of an answer at a prompt; keys have a few hundred.
    pub const ANSWER_BYTES: u64 = 16 * 1024;
    /// Lines of a tool's result that `sessions show` prints: enough to recognise it.
    pub const SHOWN_RESULT_LINES: usize = 10;
    /// Characters of the same; ten lines of a terminal.
    pub const SHOWN_RESULT_CHARS: usize = 800;
    /// Columns for the names in a list of sessions; a longer one pushes its own row aside.
    pub const NAME_COLUMNS: usize = 24;
    /// Columns for what was said last in a session: the rest of a line of 80.
    pub const LAST_COLUMNS: usize = 40;
    /// Lines of the prompt's history that are kept.
    pub const HISTORY_LINES: usize = 500;
    /// Bytes of the prompt's history that are read.
    pub const HISTORY_BYTES: usize = 1024 * 1024;
}
