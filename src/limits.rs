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

/// Bounds of the files of lines: journals, inbox, outbox.
pub mod append_log {
    /// Bytes read at a time when a log is read from its end.
    pub const BLOCK_BYTES: usize = 16 * 1024;
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
    /// Bytes of the lines of messages that wait, which are held in memory too. Three batches of 100
    /// messages, each as long as Telegram lets them be, fit.
    pub const BYTES: usize = 4 * 1024 * 1024;
}

/// Bounds of the outbox.
pub mod outbox {
    /// Parcels that are owed at a time: what jobs and people make in a day without the network.
    pub const PARCELS: usize = 500;
    /// Bytes of their lines, which are held in memory too: 4 KiB each.
    pub const BYTES: usize = 2 * 1024 * 1024;
    /// Chats whose running turn shows a draft; more than turns run at a time, because a draft stays
    /// noted when its turn was killed.
    pub const DRAFTS: usize = 32;
}

/// Bounds of the board's readings.
pub mod board {
    use std::time::Duration;

    /// Time between two samples of the history. A hot afternoon or a full disk shows well enough.
    pub const SAMPLE_INTERVAL: Duration = Duration::from_mins(15);
    /// Samples that are kept: a day of them, in 4 kB.
    pub const SAMPLES: usize = 96;
    /// Columns of a history's small line, so that it fits a telephone: one an hour of a day.
    pub const COLUMNS: usize = 24;
    /// Bytes of a file of /proc or /sys that are read; the longest that is wanted has 2 kB.
    pub const FILE_BYTES: usize = 16 * 1024;
    /// Names of one folder of /sys that are looked at; a host of containers has hundreds.
    pub const NAMES: usize = 256;
    /// Network interfaces that are shown, those with hardware first.
    pub const INTERFACES: usize = 8;
    /// Processors that a list may name; Linux is built for 8192 at most.
    pub const PROCESSORS: usize = 8192;
    /// The coldest and the hottest that a working sensor says, in thousandths of a degree Celsius;
    /// broken ones say -274000 or the largest number that there is.
    pub const MILLIDEGREES: std::ops::RangeInclusive<i32> = -60_000..=200_000;
}

/// Bounds of the channels.
pub mod channels {
    use std::time::Duration;

    /// Bytes of a file that comes in; Telegram's servers hand over no larger ones.
    pub const DOWNLOAD_BYTES: usize = 20 * 1024 * 1024;
    /// Bytes of a file that goes out; Telegram's servers take no larger ones.
    pub const UPLOAD_BYTES: u64 = 50 * 1024 * 1024;
    /// Time for a file to come in: 20 MB on a line of half a megabit a second take half of it.
    pub const DOWNLOAD_TIME: Duration = Duration::from_mins(10);
    /// Bytes read and written at once while a file comes in.
    pub const COPY_BYTES: usize = 8 * 1024;
    /// Longest silence within an answer of a channel's server.
    pub const IDLE: Duration = Duration::from_secs(60);
    /// Longest wait that a server may ask for; Telegram asks a flooded group for minutes.
    pub const LONGEST_WAIT: Duration = Duration::from_mins(60);
    /// Wait after too many requests when the server does not say how long.
    pub const USUAL_WAIT: Duration = Duration::from_secs(5);
    /// Characters kept of what a channel's server said about an error.
    pub const SAID_CHARS: usize = 300;
    /// Characters of a name that stand in a text: who is quoted, who was forwarded.
    pub const NAME_CHARS: usize = 64;
    /// Characters of a message that are quoted before its answer; two or three paragraphs.
    pub const QUOTE_CHARS: usize = 500;
    /// Bytes of a file's name in the workspace's inbox, with date and number below 255 bytes.
    pub const FILE_NAME_BYTES: usize = 100;
    /// Bytes of the end of a name in which an ending such as `.tar.gz` is looked for.
    pub const FILE_ENDING_BYTES: usize = 16;
    /// Files of the same name and second; an album has ten.
    pub const FILE_NUMBERS: u32 = 100;

    /// UTF-16 units of one message's text after its markup is read: Telegram's bound.
    pub const PIECE_UNITS: usize = 4096;
    /// Bytes of one message as HTML: 4096 escaped units make 20 KiB; the rest is for tags.
    pub const PIECE_HTML_BYTES: usize = 32 * 1024;
    /// Marked stretches of one message: Telegram shows those beyond it unmarked.
    pub const PIECE_ENTITIES: usize = 100;
    /// Bytes of a link's tag with its address; a longer one is shown as text.
    pub const LINK_BYTES: usize = 2048;
    /// Bytes of all other tags that can be open at once; the longest is a code block with a language.
    pub const TAGS_BYTES: usize = 256;
    /// Bytes of a code block's language; `javascript` has ten.
    pub const LANGUAGE_BYTES: usize = 32;
    /// Levels of lists that are indented; deeper ones stand below the last.
    pub const LIST_INDENTS: usize = 8;
    /// Bytes of a table with its padding; a single wide cell would widen every row.
    pub const TABLE_BYTES: usize = 64 * 1024;
    /// Bytes of a text that may be syntax of Markdown. The parser needs about 100 bytes for each; an
    /// answer of 160 KiB in which every eighth byte is one has 20,000.
    pub const MARKDOWN_MARKS: usize = 32 * 1024;
    /// Quotes and list items that one line may open: each costs the parser for every further line.
    pub const MARKDOWN_DEPTH: usize = 32;
    /// How long a long poll waits for something to happen; Telegram allows 50 s.
    pub const LONG_POLL: Duration = Duration::from_secs(50);
    /// How much later than it should an answer may begin, before the connection is given up.
    pub const PATIENCE: Duration = Duration::from_secs(30);
    /// How long an answer may take while somebody waits at the terminal.
    pub const TEST_PATIENCE: Duration = Duration::from_secs(10);
    /// Updates taken at once; Telegram gives no more.
    pub const UPDATES_AT_ONCE: usize = 100;
    /// Age of the newest update whose number still counts; after a week Telegram takes another one.
    pub const OFFSET_AGE: Duration = Duration::from_hours(6 * 24);
    /// How long the rest of an album is waited for, each time more of it has come.
    pub const ALBUM_WAIT: Duration = Duration::from_millis(500);
    /// How often that is done; an album has at most ten parts.
    pub const ALBUM_LOOKS: u32 = 10;
    /// The first wait after a failure; each further one is twice as long.
    pub const FIRST_WAIT: Duration = Duration::from_millis(500);
    /// Tries for the files of a message, with growing waits, before it goes on without them.
    pub const FILE_TRIES: u32 = 6;
    /// How often a sender that rests after a failure looks whether Telegram is reached again.
    pub const OUTAGE_LOOK: Duration = Duration::from_secs(2);
    /// The longest wait after failures.
    pub const LONGEST_BACKOFF: Duration = Duration::from_mins(5);
    /// Stack of a channel's thread. TLS with ring needs 64 kB, Markdown less.
    pub const STACK_BYTES: usize = 512 * 1024;
    /// Time between two messages to one chat.
    pub const CHAT_INTERVAL: Duration = Duration::from_secs(1);
    /// Messages to one group within [`GROUP_SPAN`].
    pub const GROUP_MESSAGES: usize = 20;
    /// See [`GROUP_MESSAGES`].
    pub const GROUP_SPAN: Duration = Duration::from_secs(60);
    /// Messages to all chats within [`TOTAL_SPAN`].
    pub const TOTAL_MESSAGES: usize = 30;
    /// See [`TOTAL_MESSAGES`].
    pub const TOTAL_SPAN: Duration = Duration::from_secs(1);
    /// How often "typing" is shown, which Telegram takes away after five seconds.
    pub const TYPING_INTERVAL: Duration = Duration::from_secs(4);
    /// Chats that show something at a time.
    pub const DISPLAYS: usize = 64;
    /// Messages of a chat that wait for a sign.
    pub const REACTIONS_WAITING: usize = 20;
    /// Bytes of what stands for a button.
    pub const BUTTON_DATA_BYTES: usize = 64;
    /// Bytes of a picture that is sent as one; a larger one goes as a file.
    pub const PHOTO_BYTES: u64 = 10 * 1024 * 1024;
    /// How often a sender without anything to do looks whether there is something.
    pub const IDLE_LOOK: Duration = Duration::from_mins(5);
}

/// Bounds of the gateway.
pub mod gateway {
    use std::ops::Range;
    use std::time::Duration;

    /// Messages that wait in one session; a person who has sent more has lost sight of them.
    pub const WAITING: usize = 20;
    /// The numbers that questions get: short enough to be typed.
    pub const QUESTION_NUMBERS: Range<u64> = 100_000..1_000_000;
    /// Questions remembered after they were closed; their buttons are pressed twice at once or never.
    pub const CLOSED_QUESTIONS: usize = 16;
    /// Typed commands that run at a time, over all chats: each has a thread.
    pub const COMMANDS_AT_ONCE: usize = 8;
    /// How long running turns and commands may take to end by themselves when the gateway stops.
    pub const STOP_GRACE: Duration = Duration::from_secs(10);
    /// How long what is owed may take to be sent after that, before it is left for the next start.
    pub const SEND_GRACE: Duration = Duration::from_secs(2);
    /// Bytes of a growing answer that are shown while it comes: a message of Telegram's holds less.
    pub const DRAFT_BYTES: usize = 16 * 1024;
    /// Lines of what has happened that are shown above it.
    pub const DRAFT_LINES: usize = 8;
    /// Bytes of a running command's output that are shown while it comes.
    pub const SHOWN_OUTPUT_BYTES: usize = 3 * 1024;
    /// How often it is looked whether there is nothing to do: five times a long poll.
    pub const REST_LOOK: Duration = Duration::from_secs(10);
    /// How often it is looked whether the channels' threads have begun.
    pub const READY_LOOK: Duration = Duration::from_millis(50);
    /// Bytes of a request over the control socket, and of its answer.
    pub const CONTROL_BYTES: usize = 256 * 1024;
    /// How long either side of the control socket may keep the other waiting.
    pub const CONTROL_TIME: Duration = Duration::from_secs(10);
    /// Connections of the control socket at a time; more are turned away.
    pub const CONTROL_AT_ONCE: usize = 8;
    /// Texts of the message tool that are remembered in a turn, so that the answer repeats none.
    pub const SENT_TEXTS: usize = 8;
}

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

/// Bounds of the examination of what the program stands on.
pub mod doctor {
    use std::time::Duration;

    /// How long a name may take to be resolved. What takes longer is felt in every conversation.
    pub const LOOKUP_TIME: Duration = Duration::from_secs(5);
    /// How long a server may take, from the connection to the end of its answer.
    pub const SERVER_TIME: Duration = Duration::from_secs(8);
    /// Stack of the thread that waits for that time; it does nothing else.
    pub const TIMER_STACK_BYTES: usize = 64 * 1024;
    /// Free bytes of the disk below which a journal may soon not be written.
    pub const FREE_BYTES: u64 = 16 * 1024 * 1024;
    /// Free bytes below which it is time to tidy up: some weeks of conversations with files.
    pub const FREE_BYTES_COMFORTABLE: u64 = 256 * 1024 * 1024;
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
    /// Problems of a file that are told at once; a screen holds no more, and the next show then.
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
    /// Time for a whole request to be taken: a file of 50 MB on a line of half a megabit a second.
    pub const SEND_TIMEOUT: Duration = Duration::from_mins(15);
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
    /// How often whoever watches an output is told that nothing new has come.
    pub const OUTPUT_LOOK: Duration = Duration::from_secs(1);
    /// Bytes read from a pipe at once: a screen of output. Each command at work holds them.
    pub const PIPE_BYTES: usize = 8 * 1024;
    /// Bytes read at once of what a supervisor says, which is a few lines.
    pub const STATUS_BYTES: usize = 512;
    /// How long a supervisor may take to kill everything before it is killed itself.
    pub const KILL_GRACE: Duration = Duration::from_secs(2);
    /// How long a trial of the walls may take. On the slowest board it needs 50 ms.
    pub const TRY_TIME: Duration = Duration::from_secs(10);
    /// How long the escape test waits for a process that outlives its command; it shows after 0.2 s.
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
    /// Bytes of journal lines that are held in memory for the history. A window of 128,000 tokens
    /// is about as long; a board with less memory has models with smaller windows.
    pub const HISTORY_BYTES: usize = 512 * 1024;
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
    /// Conversations whose choice of a model is kept; the one that chose first goes.
    pub const CHOICES: usize = 256;
    /// Bytes of the file of choices that are read; what we write is a quarter of it.
    pub const CHOICES_FILE_BYTES: usize = 256 * 1024;
    /// Bytes of the file that names the last active chat.
    pub const RECENT_FILE_BYTES: usize = 4 * 1024;
    /// Letters of a pairing code, of 32 each: one of 10^12 is right.
    pub const PAIRING_CODE_LETTERS: usize = 8;
    /// Seconds for which a pairing code is valid: time to find the other telephone.
    pub const PAIRING_VALID_SECS: i64 = 10 * 60;
    /// Seconds after which the same person may get another code.
    pub const PAIRING_PAUSE_SECS: i64 = 60 * 60;
    /// Codes given out within that time, over all strangers: a crowd fills no disk.
    pub const PAIRING_OFFERS: usize = 64;
    /// People that are paired; who needs more names them in the configuration.
    pub const PAIRED: usize = 256;
    /// Bytes of a stranger's id that is worth a code; those of the channels are a tenth of it.
    pub const SENDER_ID_BYTES: usize = 256;
    /// Characters kept of a stranger's name, which may be anything.
    pub const SENDER_NAME_CHARS: usize = 64;
    /// Bytes of the file of pairings that are read; what we write is a quarter of it.
    pub const PAIRING_FILE_BYTES: usize = 1024 * 1024;
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
    /// Files that one call of message sends.
    pub const FILES_SENT: usize = 10;
    /// Rows of buttons, as many as a telephone shows at once.
    pub const BUTTON_ROWS: usize = 8;
    /// Buttons side by side; more cannot be read.
    pub const BUTTONS_IN_ROW: usize = 4;
    /// Characters of a button. What comes back with a press has 64 bytes on Telegram.
    pub const BUTTON_CHARS: usize = 40;
    /// Bytes of a long output that wait until a whole line of it can be written to its file.
    pub const SPILL_BYTES: usize = 16 * 1024;
    /// Characters of a typed command's output that are shown in a chat, about a message of Telegram's;
    /// of more, the end, with the whole in a file.
    pub const SHELL_CHARS: usize = 3500;
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
    /// Bytes below the frame in use that a stack keeps when it gives back: room for giving back.
    pub const STACK_KEPT: usize = 16 * 1024;
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
    /// Models that are kept ready over all conversations; a household has no more.
    pub const MODELS_HELD: usize = 4;
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
