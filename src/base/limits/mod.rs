//! Every bound of the program, with its unit and its reason.
//!
//! A number that decides something stands here and nowhere else, grouped by the room that obeys it.

/// Bounds of time zones.
pub mod zone {
    /// Bytes of a zone's name; the longest has 32.
    pub const NAME_BYTES: usize = 64;
    /// Bytes of a zone's file; the largest has 4 kB.
    pub const FILE_BYTES: u64 = 64 * 1024;
    /// Seconds between a zone's time and UTC, below a day, as chrono wants it; the largest is 15 h 13 min.
    pub const OFFSET_SECONDS_MAX: i32 = 86_399;
    /// Hours between a day's midnight and a change of the clocks on it (RFC 9636).
    pub const RULE_TIME_HOURS_MAX: u32 = 167;
    /// Edits between a wrong name and the one that it probably means.
    pub const SLIP_EDITS: usize = 2;
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
    /// Bytes read at a time when a log is read from its end.
    pub const BLOCK_BYTES: usize = 16 * 1024;
    /// Bytes of one line. A longer one is not ours: what goes into lines is cut below it.
    pub const LINE_BYTES: usize = 1024 * 1024;
    /// Bytes of one text in a line; what is over is cut off with a note. JSON can make six of one.
    pub const CONTENT_BYTES: usize = 160 * 1024;
    /// Bytes above which a log that is mostly dead is written anew: a thousand short messages, so
    /// that the three syncs for it are spread thin.
    pub const COMPACT_BYTES: u64 = 128 * 1024;
    /// Bytes that are reserved beyond what is needed, so that few messages need more: a block of most disks.
    pub const RESERVED_BYTES: u64 = 4096;
}

/// Bounds of the inbox.
pub mod inbox {
    /// Bytes of the records that follow a message: that it has begun, was asked about, and is done.
    pub const NOTES_BYTES: usize = 512;
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
    /// Messages that are pending at a time: what jobs and people make in a day without the network.
    pub const MESSAGES_MAX: usize = 500;
    /// Messages that are pending at a time where the next one goes to a chat for which something waits: the rest is
    /// for the others.
    pub const SHARED_MAX: usize = 450;
    /// Messages that wait for one chat at a time.
    pub const CHAT_MAX: usize = 100;
    /// Messages that wait for one chat beyond which none of the program's own is added, as of an alarm or a job.
    pub const CHAT_NOTICES_MAX: usize = 50;
    /// Messages that are pending beyond which none of the program's own is added.
    pub const NOTICES_MAX: usize = 400;
    /// Bytes of the lines that wait for one chat, but for the first of them.
    pub const CHAT_BYTES_MAX: usize = BYTES_MAX / 8;
    /// Messages that are set aside at a time; then the oldest of them is given up.
    pub const ASIDE_MAX: usize = 32;
    /// Characters that are kept of the reason why a message fails.
    pub const WHY_CHARS_MAX: usize = 200;
    /// Messages whose failure is remembered for the `peacrab send` that waits for it.
    pub const FAILURES_MAX: usize = 8;
    /// Messages with buttons, or pieces of them, of which it is known as what their chats show them: the values of a
    /// long form.
    pub const SHOWN_MAX: usize = 64;
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
    use std::time::Duration;

    /// The first user id of accounts that people log in to; those below are the system's (login.defs(5),
    /// `UID_MIN`).
    pub const LOGIN_USER_MIN: u32 = 1000;
    /// Bytes of the status that systemd shows; it takes 4096 in all and shows one line.
    pub const STATUS_BYTES: usize = 1024;
    /// How long a word to systemd may wait until it is taken.
    pub const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);
    /// Bytes of /etc/passwd that are read: thousands of accounts.
    pub const ACCOUNTS_BYTES: usize = 1024 * 1024;
    /// Bytes of a unit that lies there; ours have 4 kB.
    pub const UNIT_BYTES: usize = 64 * 1024;
}

/// Bounds of updates.
pub mod update {
    use std::time::Duration;

    /// Bytes of a release's list of checksums; one has 17 files in 2 kB.
    pub const LIST_BYTES: usize = 64 * 1024;
    /// Files in that list.
    pub const FILES_MAX: usize = 100;
    /// Bytes of a file's name in that list; ours have up to 30.
    pub const NAME_BYTES: usize = 100;
    /// Bytes of the list's signature: Ed25519's, and one more to see that it is too long.
    pub const SIGNATURE_BYTES: usize = 65;
    /// Bytes of a program. A release has 4 MB; a build for tests has ten times as many.
    pub const PROGRAM_BYTES: usize = 64 * 1024 * 1024;
    /// How long a server may take until its answer begins.
    pub const FIRST_BYTE_TIME: Duration = Duration::from_secs(20);
    /// How long a transfer may pause.
    pub const IDLE_TIME: Duration = Duration::from_secs(20);
    /// How long a new program may take to print its version; an old board reads it from a slow card.
    pub const VERSION_TIME: Duration = Duration::from_secs(20);
    /// Bytes of what it prints.
    pub const VERSION_BYTES: u64 = 200;
    /// How long a new version may take until it is ready: 3 s on a fast board, 20 s on a slow one that
    /// has interrupted turns to read.
    pub const READY_TIME: Duration = Duration::from_secs(60);
    /// How often it is looked whether it is. Each look may start systemctl.
    pub const READY_LOOK: Duration = Duration::from_millis(500);
    /// Lines of the log that are shown when a new version did not become ready.
    pub const LOG_LINES: usize = 8;
    /// Characters of a reason that a chat gets.
    pub const REASON_CHARS: usize = 600;
    /// How long a chat waits for the end of an update: to stop, start, fail, and start the old version.
    pub const CHAT_TIME: Duration = Duration::from_secs(4 * 60);
    /// Bytes of the file that keeps the chat that waits; it has 200.
    pub const WAITING_FILE_BYTES: usize = 64 * 1024;
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
    /// Bytes of a file of the host that are read; a kernel's configuration has 300 kB.
    pub const FILE_BYTES: usize = 1024 * 1024;
    /// Names of one folder of the host that are looked at.
    pub const NAMES: usize = 256;
    /// Bytes of memory below which a board needs swap space to build or convert anything.
    pub const RAM_BYTES_WITHOUT_SWAP: u64 = 600 * 1024 * 1024;
    /// Tenths of its life after which a disk should be replaced.
    pub const WORN_TENTHS: u32 = 9;
    /// Jobs that are named in a finding.
    pub const JOBS_NAMED_MAX: usize = 5;
}

/// Bounds of the words between us and the model.
pub mod chat {
    /// Tool calls taken from one reply; what is beyond is answered with an error, not run.
    pub const CALLS_PER_REPLY: usize = 32;
    /// Tool calls of one reply that are kept at all; only a model that has lost its way makes more.
    pub const CALLS_KEPT_PER_REPLY: usize = 128;
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
    /// Bytes from which on a value may be a key or a password; nothing shorter protects anything.
    pub const SECRET_BYTES: usize = 8;
    /// Bytes from which on a name with digits may be a key or a token in the wrong place; the shortest of
    /// the providers have 32.
    pub const SECRET_NAME_BYTES: usize = 16;
    /// Characters of an offending line that are shown, and of a wrong path.
    pub const EXCERPT_CHARS: usize = 72;
    /// Highest price of a model, in US dollars per million tokens; the dearest cost hundreds.
    pub const PRICE_MAX: f64 = 100_000.0;
    /// Entries of `agents.list`. Each that is used holds open folders and about as much memory as the first.
    pub const AGENTS: usize = 32;
    /// Bytes of an agent's id, which is the name of its folder too.
    pub const AGENT_ID_BYTES: usize = 32;
    /// Entries of `agents.bindings`, which are looked through for each message.
    pub const BINDINGS: usize = 256;
}

pub mod confine;
pub mod http;

/// Bounds of JSON.
pub mod json {
    /// Levels of lists and objects. A tool's schema with objects ten levels deep has as many; a level
    /// takes 4 kB of stack in a build without optimisation.
    pub const LEVELS_MAX: usize = 32;
    /// Values of a wrong shape in a document that is read without them.
    pub const SHAPES_MAX: usize = 16;
    /// Members of an object that is read one by one. Known documents about logins have up to 80.
    pub const MEMBERS_MAX: usize = 256;
}

/// Bounds of Markdown.
pub mod markup {
    /// Bytes of a code block's language; `javascript` has ten.
    pub const LANGUAGE_BYTES: usize = 32;
    /// Levels of lists that are indented; deeper ones are indented like the last.
    pub const LIST_INDENTS: usize = 8;
    /// Bytes of a table with its padding; a single wide cell would widen every row.
    pub const TABLE_BYTES: usize = 64 * 1024;
    /// Columns below which a table's cells are too narrow to wrap: its rows become records.
    pub const TABLE_COLUMN_MIN: usize = 10;
    /// Bytes of a text that may be syntax of Markdown. The parser needs about 100 bytes for each; an
    /// answer of 160 KiB in which every eighth byte is one has 20,000.
    pub const MARKDOWN_MARKS: usize = 32 * 1024;
    /// Quotes and list items that one line may open: each costs the parser for every further line.
    pub const MARKDOWN_DEPTH: usize = 32;
}

/// Bounds of what people read.
pub mod text {
    /// Characters in a line on a telephone.
    pub const COLUMNS: usize = 50;
    /// Marks above or below one letter; languages need two.
    pub const MARKS: usize = 2;
    /// Bytes of a mistyped word that are compared to find the nearest known one; names are shorter.
    pub const NEAREST_BYTES: usize = 100;
}

/// Bounds of the estimate of tokens.
pub mod tokens {
    /// Parts of a token in which the estimate counts.
    pub const UNIT: u64 = 100;
    /// Characters behind an accented letter in which words count as those of a language with accents.
    pub const ACCENT_REACH: u32 = 150;
    /// Bytes that a token has on average, for a text of which only the length is known. English and
    /// code have four, Chinese and JSON about three; less errs on the side of a history that fits.
    pub const BYTES_PER_TOKEN: usize = 3;
    /// Tokens of an entry beside its text: its role and what separates it from the next one.
    pub const ENTRY_TOKENS: usize = 4;
    /// Tokens that an image counts as, however long its file is.
    pub const IMAGE_TOKENS: usize = 1500;
}

pub mod memory;
pub mod models;

/// Bounds of the journal.
pub mod session {
    /// Bytes of journal lines that are held in memory for the history. A window of 128,000 tokens
    /// is about as long; a board with less memory has models with smaller windows.
    pub const HISTORY_BYTES: usize = 512 * 1024;
    /// Bytes of a journal that are read back for the history. Of old results of tools little is held, so
    /// that this is more; an old board reads and parses it in half a second.
    pub const WINDOW_READ_BYTES: usize = 2 * 1024 * 1024;
    /// Bytes of a journal that are read back to find the beginning of its last turn. A turn of 40
    /// steps with four calls each, all with results of the usual length, is 3 MB.
    pub const TURN_BYTES: usize = 16 * 1024 * 1024;
    /// Entries that are read back for the same purpose, so that many small ones fill no memory.
    pub const TURN_ENTRIES: usize = 8_000;
    /// Bytes from the beginning of a tool's result that stay when it is shortened.
    pub const SHORT_HEAD_BYTES: usize = 400;
    /// Bytes from its end that stay; the last lines of a command's output tell most.
    pub const SHORT_TAIL_BYTES: usize = 200;
    /// Bytes of a result or of a call's arguments below which shortening saves too little.
    pub const SHORT_MIN_BYTES: usize = 1200;
    /// Bytes that an image counts as in memory beside its entry; it is forgotten after its turn.
    pub const IMAGE_WEIGHT: usize = 4500;
    /// Tokens that an image counts as, however long its file is.
    pub const IMAGE_TOKENS: usize = 1_500;
    /// The part of the turns, of the results and of the window that leaves at a time when something has to:
    /// a fourth. What is in front stays the same for many turns then, and providers cache it.
    pub const STEP: usize = 4;
    /// Bytes of a journal below which it is not worth to rewrite it for the archive.
    pub const ARCHIVE_MIN_BYTES: u64 = 64 * 1024;
    /// Bytes of the summary in front of the window: three paragraphs.
    pub const SUMMARY_BYTES: usize = 6 * 1024;
    /// How long a journal may get, in sizes at which it is archived, while what is to be archived has not
    /// been consolidated: a month without a model that would do it.
    pub const PENDING_JOURNALS: u64 = 2;
    /// Bytes of a journal's file name before its ending; 255 is the file systems' own limit.
    pub const NAME_BYTES: usize = 120;
}

/// Bounds of the small facts.
pub mod state {
    use std::time::Duration;

    /// Bytes of the list of conversations that wait for an approval; as many as turns may wait.
    pub const OPEN_QUESTIONS_BYTES: usize = 16 * 1024;

    /// How often it is looked whether another process has finished changing the state folder; a
    /// change takes a few milliseconds, and a sync on a slow card a second.
    pub const LOCK_PAUSE: Duration = Duration::from_millis(5);
    /// How often before giving up: after ten seconds the other process hangs.
    pub const LOCK_TRIES: u32 = 2000;
    /// Models counted apart within a day; a turn writes this file, so it stays small.
    pub const USAGE_MODELS: usize = 6;
    /// Bytes of a model's name there.
    pub const USAGE_NAME_BYTES: usize = 80;
    /// Days whose counts are kept: a month, and the one before to compare with.
    pub const USAGE_DAYS: usize = 62;
    /// Ended days that wait in the file of today while that of earlier days cannot be written.
    pub const USAGE_PENDING_DAYS: usize = 14;
    /// Conversations whose last turn is remembered; a turn writes this, too.
    pub const LAST_TURNS: usize = 8;
    /// Bytes of the file of earlier days that are read; what we write is at most half of it.
    pub const USAGE_DAYS_FILE_BYTES: usize = 256 * 1024;
    /// Standing approvals that are kept; who has more has lost sight of them.
    pub const APPROVALS: usize = 100;
    /// Bytes of the file of standing approvals that are read.
    pub const APPROVALS_FILE_BYTES: usize = 1024 * 1024;
    /// Approved custom tools that are kept, of all agents together.
    pub const TOOL_APPROVALS: usize = 200;
    /// Bytes of the file of approved tools that are read; what we write is a quarter of it.
    pub const TOOL_APPROVALS_FILE_BYTES: usize = 256 * 1024;
    /// Bytes of the audit log after which a new one is begun.
    pub const AUDIT_BYTES: u64 = 1_000_000;
    /// Older audit logs that are kept.
    pub const AUDIT_FILES: u32 = 3;
    /// Bytes of a command or of its input in the audit log; a command's hash stands for the rest.
    pub const AUDIT_TEXT_BYTES: usize = 4 * 1024;
    /// How long counted tokens may be in memory only while a turn runs; its end saves them.
    pub const USAGE_SAVE_INTERVAL: std::time::Duration = std::time::Duration::from_secs(10);
    /// How often another last active chat is written at most: with two people who take turns, each
    /// message would write it.
    pub const LAST_CHAT_INTERVAL: std::time::Duration = std::time::Duration::from_mins(1);
    /// Chats whose request for a restart is answered after it.
    pub const RESTARTS: usize = 10;
    /// Bytes of the file with these chats that are read; an address has about 60.
    pub const RESTARTS_FILE_BYTES: usize = 4 * 1024;
    /// Bytes of the file about starts of the machine.
    pub const STARTS_BYTES: usize = 4 * 1024;
    /// Bytes of the file of counts that are read; what we write is a tenth of it.
    pub const USAGE_FILE_BYTES: usize = 64 * 1024;
    /// Models of which is known how they count tokens and how much they take.
    pub const LEARNED_MODELS: usize = 16;
    /// Bytes of the file of them that are read; a model has about 100.
    pub const LEARNED_FILE_BYTES: usize = 16 * 1024;
    /// Estimated tokens of a request below which its report says little about the estimate.
    pub const LEARNED_TOKENS_MIN: usize = 500;
    /// Change of a factor, in hundredths, that is worth a write.
    pub const LEARNED_CHANGE: f32 = 5.0;
    /// Conversations whose choice of a model is kept; the one that chose first goes.
    pub const CHOICES: usize = 256;
    /// Bytes of the file of choices that are read; what we write is a quarter of it.
    pub const CHOICES_FILE_BYTES: usize = 256 * 1024;
    /// Bytes of the file that counts the turns of the first conversation.
    pub const INTRODUCTION_FILE_BYTES: usize = 64;
    /// Bytes of the file that names the last active chat.
    pub const RECENT_FILE_BYTES: usize = 4 * 1024;
    /// Chats whose language is remembered; those who have access are fewer.
    pub const LANGUAGES_MAX: usize = 256;
    /// Bytes of the file of languages that are read; what we write is a quarter of it.
    pub const LANGUAGES_FILE_BYTES_MAX: usize = 64 * 1024;
    /// Letters of a pairing code, of 32 each: one of 10^12 is right.
    pub const PAIRING_CODE_LETTERS: usize = 8;
    /// Seconds for which a pairing code is valid: time to find the other telephone.
    pub const PAIRING_VALID_SECS: i64 = 10 * 60;
    /// Seconds for which a code is remembered, so that an expired one can be called so.
    pub const PAIRING_KEPT_SECS: i64 = 60 * 60;
    /// Codes of strangers that are valid at a time on one channel: a crowd fills no disk.
    pub const PAIRING_OFFERS: usize = 64;
    /// Seconds for which a code keeps its place: a crowd makes the card write a few times a minute.
    pub const PAIRING_HELD_SECS: i64 = 5 * 60;
    /// Invitations that are valid at a time.
    pub const PAIRING_INVITES: usize = 4;
    /// People that are paired; who needs more names them in the configuration.
    pub const PAIRED: usize = 256;
    /// Bytes of a stranger's id that is worth a code; those of the channels are a tenth of it.
    pub const SENDER_ID_BYTES: usize = 256;
    /// Characters kept of a stranger's name, which may be anything.
    pub const SENDER_NAME_CHARS: usize = 64;
    /// Bytes of the file of pairings that are read; what we write is a quarter of it.
    pub const PAIRING_FILE_BYTES: usize = 1024 * 1024;
}

/// Bounds of skills.
pub mod skills {
    /// Bytes of a SKILL.md that are read; of a larger one, `read_file` shows the rest. Guides recommend 500
    /// lines, about 20 kB, and Anthropic's own claude-api has more than 65 kB.
    pub const FILE_BYTES: usize = 256 * 1024;
    /// Skills of a workspace that are listed; the index of as many has about 20 kB.
    pub const SKILLS_MAX: usize = 100;
    /// Characters of a skill's name, as in Anthropic's specification.
    pub const NAME_CHARS: usize = 64;
    /// Characters of a description, as in Anthropic's specification.
    pub const DESCRIPTION_CHARS: usize = 1024;
    /// Characters of another value, such as a license or the name of a program.
    pub const VALUE_CHARS: usize = 200;
    /// Lines of front matter; a long one has 60.
    pub const LINES: usize = 2000;
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
    /// Bytes of an archive. It may have more than one skill.
    pub const ARCHIVE_BYTES: usize = 8 * 1024 * 1024;
    /// Names in an archive or a folder that is installed from.
    pub const NAMES_MAX: usize = 5000;
    /// Bytes of a path in a skill.
    pub const PATH_BYTES: usize = 256;
    /// Folders below each other in a skill.
    pub const DEPTH: usize = 8;
    /// Files of a skill that are named before it is installed.
    pub const FILES_SHOWN: usize = 40;
    /// Words with a `$` in a message that are looked up: prices and variables among the skills.
    pub const NAMED_MAX: usize = 12;
    /// Skills that one message can load with `$NAME`.
    pub const LOADED_MAX: usize = 3;
    /// Bytes of the instructions of each of them; the model reads the rest with `read_file`.
    pub const LOADED_BYTES: usize = 24 * 1024;
    /// How long a server may take until a skill begins to come, and how long it may pause.
    pub const SERVER_TIME: std::time::Duration = std::time::Duration::from_secs(20);
    /// Skills that get a button below the list in a chat, two in a row: Discord takes five rows.
    pub const BUTTONS_MAX: usize = 10;
    /// Characters of a description in a list.
    pub const LISTED_CHARS: usize = 160;
    /// Characters of a skill that a chat shows: a message of Telegram's.
    pub const SHOWN_CHARS: usize = 3500;
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
    /// Bytes of a value in a log line; the number of values is that in the source.
    pub const LOG_VALUE_BYTES: usize = 1024;
    /// Characters of a command in the question about it.
    pub const COMMAND_CHARS: usize = 4000;
    /// Columns of a column in the list of jobs, but for the last one.
    pub const LIST_CRON_COLUMNS: usize = 28;
    /// Lines of its beginning and its end.
    pub const COMMAND_LINES: (usize, usize) = (30, 10);
    /// Characters of what else the question shows on a line.
    pub const LINE_CHARS: usize = 300;
    /// Characters of what a running call says about itself, on the line that shows what a turn waits for.
    pub const STATUS_CHARS: usize = 60;
    /// Bytes of an answer at a prompt; keys have a few hundred.
    pub const ANSWER_BYTES: u64 = 16 * 1024;
    /// Columns of a list of names in a question: a line of 80 with a margin.
    pub const LIST_COLUMNS: usize = 76;
    /// Models that are shown at a time to choose from: with the question they fit a screen of 24 lines.
    pub const MODELS_SHOWN: usize = 15;
    /// Lines of a tool's result that `sessions show` prints: enough to recognise it.
    pub const SHOWN_RESULT_LINES: usize = 10;
    /// Characters of the same; ten lines of a terminal.
    pub const SHOWN_RESULT_CHARS: usize = 800;
    /// Columns for the names in a list of sessions; a longer one pushes its own row aside.
    pub const NAME_COLUMNS: usize = 24;
    /// Columns for what was said last in a session: the rest of a line of 80.
    pub const LAST_COLUMNS: usize = 40;
    /// How often each byte of a streamed block may be parsed, so that the time for a block grows with
    /// its length only. Blocks of up to 1 kB are still shown by the token.
    pub const PARSES_PER_BYTE: usize = 256;
    /// Bytes of piped text and of attached text files together that go into a question; the rest of a
    /// message is left for what was typed.
    pub const INLINED_BYTES: usize = 96 * 1024;
    /// Bytes of such a text that are read at a time.
    pub const INPUT_BLOCK_BYTES: usize = 16 * 1024;
    /// How long a pipe beside a question may stay silent until the person is told that it is read: less
    /// than a slow command needs for its first line, and too long to stare at nothing.
    pub const INPUT_PATIENCE: std::time::Duration = std::time::Duration::from_secs(3);
    /// Files that can be attached to a question.
    pub const ATTACHED_FILES: usize = 20;
    /// Bytes of an attached file that is neither text nor an image; it is copied to the workspace. As
    /// much as Telegram lets a bot fetch.
    pub const ATTACHED_BYTES: u64 = 20_000_000;
    /// Bytes at the beginning of a file by which its type is recognised.
    pub const SNIFFED_BYTES: u64 = 512;
    /// Conversations of single questions that are kept, for `--resume` and `sessions show`.
    pub const QUESTIONS_KEPT: usize = 50;
    /// Windows on one conversation, each with its own: `default`, `default-2`, …
    pub const WINDOWS: usize = 20;
    /// How long nothing is said of what a turn waits for, so that a quick answer does not flicker.
    pub const STATUS_DELAY: std::time::Duration = std::time::Duration::from_millis(400);
    /// How long after a return key more input means that the lines were pasted. A person is slower, and
    /// does not notice the wait; a paste over a slow line comes in pieces.
    pub const PASTE_GAP: std::time::Duration = std::time::Duration::from_millis(30);
    /// How long after an escape character the rest of a key's sequence may take.
    pub const ESCAPE_GAP: std::time::Duration = std::time::Duration::from_millis(50);
    /// Bytes of the keys that were typed ahead and are kept while a question is asked; the terminal
    /// itself keeps as many.
    pub const TYPED_AHEAD_BYTES: usize = 4096;
    /// Bytes of a text on standard input that `peacrab send` takes: more is a file to attach.
    pub const SEND_INPUT_BYTES: u64 = 4 * 1024 * 1024;
    /// Columns of a screen that does not tell its width, such as a serial console's.
    pub const COLUMNS_DEFAULT: usize = 80;
    /// Columns that text is laid out for at least; on a narrower screen the terminal wraps it.
    pub const COLUMNS_MIN: usize = 20;
    /// Columns by which code blocks are indented.
    pub const CODE_INSET: usize = 2;
    /// Lines of the prompt's history that are kept.
    pub const HISTORY_LINES: usize = 500;
    /// Bytes of the prompt's history that are read.
    pub const HISTORY_BYTES: usize = 1024 * 1024;
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
    /// Addresses of a name that are tried. They share the time to connect, so that more of them
    /// would leave each too little.
    pub const ADDRESSES: usize = 8;
    /// Stack of the thread that resolves a name. getaddrinfo of musl needs about 10 kB.
    pub const RESOLVER_STACK_BYTES: usize = 128 * 1024;
    /// Bytes of a socket's send buffer. The system's own choice grows to 4 MiB, which a line of 40 kB/s
    /// needs minutes to drain: nobody would see progress, and the wait for the reply would run out.
    /// The system doubles it for its own needs; at 100 ms to the server it allows 1 MB/s and more.
    pub const SEND_BUFFER_BYTES: usize = 128 * 1024;
    /// TLS sessions remembered for resumption, so that the second handshake is cheap. rustls counts
    /// eight to a server: these are the model's, its fallback's and a channel's.
    pub const TLS_SESSIONS: usize = 24;
    /// Bytes of the table of TCP sockets that are read, 150 each: a busy server has a thousand.
    pub const SOCKETS_BYTES: usize = 1024 * 1024;
    /// Bytes of the file of added certificates; the roots of a whole distribution are 250 kB.
    pub const CA_FILE_BYTES: usize = 1024 * 1024;
}
