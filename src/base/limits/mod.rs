//! Every bound of the program, with its unit and its reason.
//!
//! A number that decides something stands here and nowhere else, grouped by the room that obeys it.

/// Bounds of time zones.
pub mod zone {
    /// Bytes of a zone's name; the longest has 32.
    pub const NAME_BYTES: usize = 64;
    /// Seconds between a zone's time and UTC, below a day, as chrono wants it; the largest is 15 h 13 min.
    pub const OFFSET_SECONDS_MAX: i32 = 86_399;
}

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

/// Bounds of the files of lines: journals, inbox, outbox.
pub mod append_log {
    /// Bytes of one line. A longer one is not ours: what goes into lines is cut below it.
    pub const LINE_BYTES: usize = 1024 * 1024;
    /// Bytes of one text in a line; what is over is cut off with a note. JSON can make six of one.
    pub const CONTENT_BYTES: usize = 160 * 1024;
    /// Bytes above which a log that is mostly dead is written anew: a thousand short messages, so
    /// that the three syncs for it are spread thin.
    pub const COMPACT_BYTES: u64 = 128 * 1024;
}

/// Bounds of the inbox.
pub mod inbox {
    /// Ids of messages that are known again. A channel repeats at most the batch that we have not
    /// confirmed; Telegram's is 100.
    pub const SEEN: usize = 512;
    /// Messages that wait: a weekend of a busy group. Nothing more is accepted then.
    pub const MESSAGES: usize = 2000;
}

/// Bounds of the outbox.
pub mod outbox {
    /// Messages that are pending at a time: what jobs and people make in a day without the network.
    pub const MESSAGES_MAX: usize = 500;
    /// Messages that wait for one chat at a time.
    pub const CHAT_MAX: usize = 100;
    /// Messages that wait for one chat beyond which none of the program's own is added, as of an alarm or a job.
    pub const CHAT_NOTICES_MAX: usize = 50;
    /// Messages that are pending beyond which none of the program's own is added.
    pub const NOTICES_MAX: usize = 400;
    /// Bytes of their lines, which are held in memory too: 4 KiB each.
    pub const BYTES_MAX: usize = 2 * 1024 * 1024;
    /// Ids of messages that may be added once only, and that are known again after they were delivered.
    /// The work that adds one notes that it has ended right after that, so a kill repeats very few.
    pub const ONCE_IDS_MAX: usize = 64;
    /// Drafts that are noted; more than turns and commands run at a time, because a draft stays noted
    /// when its work was killed.
    pub const DRAFTS_MAX: usize = 32;
}

pub mod board;
pub mod channels;
pub mod clock;
pub mod gateway;
pub mod heartbeat;
pub mod schedule;

/// Bounds of the life as a service.
pub mod service {

    /// Bytes of /etc/passwd that are read: thousands of accounts.
    pub const ACCOUNTS_BYTES: usize = 1024 * 1024;
    /// Bytes of a unit that lies there; ours have 4 kB.
    pub const UNIT_BYTES: usize = 64 * 1024;
}

/// Bounds of the examination of what the program stands on.
pub mod doctor {
    /// Names of one folder of the host that are looked at.
    pub const NAMES: usize = 256;
}

/// Bounds of the words between us and the model.
pub mod chat {
    /// Bytes of one image's file. Base64 and the request double it twice, and it has to fit a board.
    pub const IMAGE_BYTES: usize = 1_500_000;
}

/// Bounds of the configuration file.
pub mod config {
    /// Bytes of a configuration file; the largest honest one is a few kilobytes.
    pub const FILE_BYTES: usize = 1024 * 1024;
    /// Bytes from which on a name with digits may be a key or a token in the wrong place; the shortest of
    /// the providers have 32.
    pub const SECRET_NAME_BYTES: usize = 16;
    /// Characters of an offending line that are shown, and of a wrong path.
    pub const EXCERPT_CHARS: usize = 72;
    /// Highest price of a model, in US dollars per million tokens; the dearest cost hundreds.
    pub const PRICE_MAX: f64 = 100_000.0;
}

pub mod confine;
pub mod http;

/// Bounds of JSON.
pub mod json {
    /// Levels of lists and objects. A tool's schema with objects ten levels deep has as many; a level
    /// takes 4 kB of stack in a build without optimisation.
    pub const LEVELS_MAX: usize = 32;
}

/// Bounds of the estimate of tokens.
pub mod tokens {
    /// Bytes that a token has on average, for a text of which only the length is known. English and
    /// code have four, Chinese and JSON about three; less errs on the side of a history that fits.
    pub const BYTES_PER_TOKEN: usize = 3;
}

pub mod memory;
pub mod models;

/// Bounds of the journal.
pub mod session {
    /// Bytes of journal lines that are held in memory for the history. A window of 128,000 tokens
    /// is about as long; a board with less memory has models with smaller windows.
    pub const HISTORY_BYTES: usize = 512 * 1024;
    /// Bytes of the summary in front of the window: three paragraphs.
    pub const SUMMARY_BYTES: usize = 6 * 1024;
    /// How long a journal may get, in sizes at which it is archived, while what is to be archived has not
    /// been consolidated: a month without a model that would do it.
    pub const PENDING_JOURNALS: u64 = 2;
}

/// Bounds of the small facts.
pub mod state {
    use std::time::Duration;

    /// How often it is looked whether another process has finished changing the state folder; a
    /// change takes a few milliseconds, and a sync on a slow card a second.
    pub const LOCK_PAUSE: Duration = Duration::from_millis(5);
    /// How often before giving up: after ten seconds the other process hangs.
    pub const LOCK_TRIES: u32 = 2000;
    /// Days whose counts are kept: a month, and the one before to compare with.
    pub const USAGE_DAYS: usize = 62;
    /// Letters of a pairing code, of 32 each: one of 10^12 is right.
    pub const PAIRING_CODE_LETTERS: usize = 8;
    /// Seconds for which a pairing code is valid: time to find the other telephone.
    pub const PAIRING_VALID_SECS: i64 = 10 * 60;
    /// People that are paired; who needs more names them in the configuration.
    pub const PAIRED: usize = 256;
}

/// Bounds of skills.
pub mod skills {
    /// Skills of a workspace that are listed; the index of as many has about 20 kB.
    pub const SKILLS_MAX: usize = 100;
    /// Characters of a skill's name, as in Anthropic's specification.
    pub const NAME_CHARS: usize = 64;
    /// Levels of lists and maps in front matter; OpenClaw's have five.
    pub const LEVELS: usize = 16;
    /// Faults of a skill that are kept.
    pub const FAULTS: usize = 20;
    /// Programs, variables or systems that a skill may name, each.
    pub const REQUIREMENTS: usize = 32;
    /// Files of a skill that is installed; large ones have 60.
    pub const FILES_MAX: usize = 500;
    /// Bytes of all files of a skill that is installed: they are held in memory meanwhile.
    pub const PACKAGE_BYTES: usize = 8 * 1024 * 1024;
    /// Names in an archive or a folder that is installed from.
    pub const NAMES_MAX: usize = 5000;
    /// Characters of a description in a list.
    pub const LISTED_CHARS: usize = 160;
}

pub mod agent;
pub mod mcp;
pub mod picture;
pub mod signin;
pub mod tools;
pub mod watch;
pub mod web;
/// Bounds of the terminal.
pub mod cli {
    /// What is ignored of a configuration, as far as each command says it; `config check` says all.
    pub const IGNORED_SHOWN: usize = 3;
    /// Characters of what else the question shows on a line.
    pub const LINE_CHARS: usize = 300;
    /// Characters of what a running call says about itself, on the line that shows what a turn waits for.
    pub const STATUS_CHARS: usize = 60;
    /// Bytes of an answer at a prompt; keys have a few hundred.
    pub const ANSWER_BYTES: u64 = 16 * 1024;
    /// Bytes of piped text and of attached text files together that go into a question; the rest of a
    /// message is left for what was typed.
    pub const INLINED_BYTES: usize = 96 * 1024;
    /// Columns of a screen that does not tell its width, such as a serial console's.
    pub const COLUMNS_DEFAULT: usize = 80;
}

/// Bounds of the workspace and of the file tools' way into it.
pub mod files;

/// Bounds of connections.
pub mod net {
    use std::time::Duration;

    /// Time for a name to be resolved. musl's resolver itself gives up after 10 s.
    pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
    /// Time to reach a host over all its addresses, with a proxy's tunnel and the TLS handshake.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
    /// Bytes of a socket's send buffer. The system's own choice grows to 4 MiB, which a line of 40 kB/s
    /// needs minutes to drain: nobody would see progress, and the wait for the reply would run out.
    /// The system doubles it for its own needs; at 100 ms to the server it allows 1 MB/s and more.
    pub const SEND_BUFFER_BYTES: usize = 128 * 1024;
}
