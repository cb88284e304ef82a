//! The bounds that several rooms obey, or that protect the memory, the disk or the time of the whole, each with its unit and
//! its reason.
//!
//! The bound of a single file is a private constant of it; what a folder shares is in its `mod.rs`.

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
    /// Messages that wait: a weekend of a busy group. Nothing more is accepted then.
    pub const MESSAGES: usize = 2000;
}

/// Bounds of the outbox.
pub mod outbox {
    /// Ids of messages that may be added once only, and that are known again after they were delivered.
    /// The work that adds one notes that it has ended right after that, so a kill repeats very few.
    pub const ONCE_IDS_MAX: usize = 64;
}

/// Bounds of the board's readings.
pub mod board {
    use std::time::Duration;

    /// Time between two samples of the history.
    pub const SAMPLE_INTERVAL: Duration = Duration::from_mins(5);
    /// Columns of a history's small line, so that it fits a telephone: one an hour of a day.
    pub const COLUMNS: usize = 24;
    /// Bytes of a file of /proc or /sys that are read; the longest that is wanted has 2 kB.
    pub const FILE_BYTES: usize = 16 * 1024;
    /// Names of one folder of /sys that are looked at; a host of containers has hundreds.
    pub const NAMES: usize = 256;
    /// Network interfaces that are shown, those with hardware first.
    pub const INTERFACES: usize = 8;
}
/// Bounds of the channels.
pub mod channels {
    /// Bounds of DingTalk. <https://open.dingtalk.com/document/orgapp/the-robot-sends-a-group-message>
    pub mod dingtalk {
        /// Bytes of a reply of the API; the largest has a signed URL.
        pub const REPLY_BYTES: usize = 64 * 1024;
    }
    /// Bounds of Feishu.
    pub mod feishu {
        /// Bytes of an event; a text message has at most 150 kB, and is escaped twice.
        pub const EVENT_BYTES: usize = 1024 * 1024;
        /// People whose names are remembered.
        pub const NAMES: usize = 32;
        /// Bytes of a reply of the API; the largest are messages of 150 kB.
        pub const REPLY_BYTES: usize = 1024 * 1024;
        /// Bytes of the same within the request, where it is JSON within JSON. Feishu takes 30 kB with the buttons.
        pub const MESSAGE_JSON_BYTES: usize = 20 * 1024;
    }
    /// Bounds of IRC. <https://modern.ircdocs.horse/>
    pub mod irc {
        use std::time::Duration;

        /// Time for the server to answer who has a nick, or to confirm lines. Without it the connection counts as dead.
        pub const ANSWER_TIME: Duration = Duration::from_secs(60);
    }
    /// Bounds of the Matrix channel.
    pub mod matrix {
        /// Bytes of a page of older events, of one event, and of other small replies.
        pub const REPLY_BYTES: usize = 1024 * 1024;
    }
    /// Bounds of WhatsApp, by way of nanobot's bridge.
    pub mod whatsapp {
        use std::time::Duration;

        /// Time in which the bridge has to answer a ping, and to accept or to refuse a token. It is on the same machine.
        pub const ANSWER_TIME: Duration = Duration::from_secs(20);
    }

    use std::time::Duration;

    /// Bounds of e-mail.
    pub mod email {
        use std::time::Duration;

        /// Time in which a server has to answer a command. An SMTP server may check a mail for minutes before it
        /// confirms it (RFC 5321, section 4.5.3.2.6).
        pub const ANSWER_TIME: Duration = Duration::from_mins(2);
        /// Header fields that are looked at.
        pub const FIELDS: usize = 400;
    }

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

    /// Chats in which a channel is asked for messages that were missed.
    pub const MISSED_CHATS: usize = 32;
    /// Time in which missed messages are fetched before anything newer is looked at, so that they come first.
    pub const MISSED_TIME: Duration = Duration::from_secs(30);
    /// The same after that has passed: newer ones wait no longer.
    pub const MISSED_TURN: Duration = Duration::from_secs(1);
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
    /// Stack of a channel's thread. TLS with ring needs 64 kB, Markdown less.
    pub const STACK_BYTES: usize = 512 * 1024;
    /// Time between two messages to one chat.
    pub const CHAT_INTERVAL: Duration = Duration::from_secs(1);
    /// Span within which a channel takes so many messages to all chats (Telegram 30).
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
    /// The longest that a worker's job may take without a transfer: up to three calls, each with name,
    /// connection, request and reply.
    pub const CALL_TIME: Duration = Duration::from_mins(5);

    /// Bounds of the local channel.
    pub mod local {
        /// Programs that are connected at a time.
        pub const PROGRAMS: usize = 16;
        /// Copies of files for programs that are kept, whatever they do with them.
        pub const FILES: usize = 32;
    }
}
/// Bounds of the clock, and of the trust in it.
pub mod clock {
    use std::time::Duration;

    /// How often a clock is read that a test turns.
    pub const TURNED_LOOK: Duration = Duration::from_millis(20);
}
/// Bounds of the gateway.
pub mod gateway {
    /// Bounds of the commands about the board.
    pub mod board {
        /// Commands of the configuration.
        pub const OWN_COMMANDS_MAX: usize = 30;
    }
    /// Bounds of terminals: their emulation, and those that are open in chats.
    pub mod term {
        /// Columns and rows of a terminal that is asked for without a size: what programs expect.
        pub const SIZE: (u16, u16) = (80, 24);
        /// Characters of a window's title that are kept.
        pub const TITLE_CHARS: usize = 80;

        /// Times that a key is pressed by one `/key`.
        pub const KEYS_MAX: usize = 100;
    }

    use std::ops::Range;
    use std::time::Duration;

    /// Messages that wait in one session; a person who has sent more has lost track of them.
    pub const WAITING_MAX: usize = 20;
    /// The numbers that questions get: short enough to be typed.
    pub const QUESTION_NUMBERS: Range<u64> = 100_000..1_000_000;
    /// Commands that wait in one chat for those before them.
    pub const COMMANDS_WAITING_MAX: usize = 50;
    /// Bytes of a running command's output that are shown while it comes.
    pub const SHOWN_OUTPUT_BYTES: usize = 3 * 1024;
    /// Wait before a failed write of a turn's step is tried again. Half of the time that a stop waits for turns, so that the end
    /// of the gateway does not wait for it.
    pub const WRITE_RETRY: Duration = Duration::from_secs(5);
}
/// Bounds of scheduled jobs, and of the schedules that people and models write.
pub mod schedule {
    /// Jobs of a home; a household has a dozen, and a model that plans in a loop is stopped here.
    pub const JOBS_MAX: usize = 1000;
    /// Bytes of a job's message: a long instruction for the model has 2 kB.
    pub const MESSAGE_BYTES_MAX: usize = 4 * 1024;
    /// Characters of a job's name, which is a column of a list.
    pub const NAME_CHARS_MAX: usize = 60;
    /// How often a run is begun when it is cut off each time: it may be what takes the program down.
    pub const RUN_TRIES_MAX: usize = 3;
    /// Runs in a row whose result a chat does not take, as one that has blocked the bot, before their job is
    /// disabled: one or two may be a mistake.
    pub const UNDELIVERED_RUNS_MAX: usize = 3;
    /// Characters of a run's error that are remembered.
    pub const ERROR_CHARS_MAX: usize = 200;
    /// How late a run is that is called late, in milliseconds: what a busy board takes is not worth a word.
    pub const LATE_TOLD_MS: i64 = 2 * 60 * 1000;
    /// Messages in the outbox beyond which no reminder is added: the rest is for people and turns.
    pub const OUTBOX_ROOM_MAX: usize = 250;
    /// Messages that wait for one chat beyond which no reminder is added for it: what a channel takes in half a
    /// minute.
    pub const CHAT_ROOM_MAX: usize = 25;

    /// Longest interval, and how far ahead a time may be: 100 years.
    pub const AHEAD_MS_MAX: i64 = 100 * 366 * 86_400_000;
    /// Bytes of a time or schedule that a person writes.
    pub const WHEN_BYTES: usize = 400;
}

/// Bounds of the life as a service.
pub mod service {

    /// Bytes of /etc/passwd that are read: thousands of accounts.
    pub const ACCOUNTS_BYTES: usize = 1024 * 1024;
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
    /// Characters of an offending line that are shown, and of a wrong path.
    pub const EXCERPT_CHARS: usize = 72;
    /// Highest price of a model, in US dollars per million tokens; the dearest cost hundreds.
    pub const PRICE_MAX: f64 = 100_000.0;
    /// Characters of the passphrase of backups: fewer are guessed by trying.
    pub const PASSPHRASE_CHARS_MIN: usize = 8;
}

/// Bounds of commands within kernel isolation.
pub mod confine {

    use std::time::Duration;

    /// How long a supervisor may take to kill everything before it is killed itself.
    pub const KILL_GRACE: Duration = Duration::from_secs(2);
    /// How long a command outside the sandbox waits for what changes files and cannot be frozen.
    pub const SETTLE_TIME: Duration = Duration::from_secs(3);
}
/// Bounds of HTTP.
pub mod http {
    use std::time::Duration;

    /// Time in which a peer has to take some bytes of our request; then the line is dead.
    pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
    /// Bytes a second below which a transfer is given up as a whole: half of what a phone gets without
    /// 3G. 12 MB may take 26 minutes, 50 MB less than two hours.
    pub const TRANSFER_RATE: u64 = 8 * 1024;
    /// Bytes of a download that are read and written at once.
    pub const COPY_BYTES: usize = 8 * 1024;
    /// Bytes of a response that is read whole.
    pub const BODY_BYTES: usize = 8 * 1024 * 1024;
    /// Bytes of a response that is read in pieces and not kept: an event for each of 128,000
    /// tokens, at 400 bytes an event.
    pub const STREAM_BYTES: usize = 64 * 1024 * 1024;
    /// Bytes of one server-sent event, and of one of its lines. It holds one delta of a model's reply;
    /// the largest honest one is a whole file in a tool call that is sent in one piece.
    pub const EVENT_BYTES: usize = 1024 * 1024;
    /// Bytes kept of an error's body: enough for every API's JSON error and the top of a proxy's page.
    pub const ERROR_BODY_BYTES: usize = 4 * 1024;
    /// How long an idle connection is kept open: while tools run, and for the person's next message.
    /// Servers close theirs after 60 s or more; what they close earlier is noticed.
    pub const IDLE_AGE: Duration = Duration::from_secs(50);
    /// Bytes of one message of a websocket. The largest honest ones describe a whole Discord server, with
    /// its roles, channels and emoji, in one or two megabytes.
    pub const WEBSOCKET_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
    /// Redirects that are followed one after the other, where they are at all; a download of GitHub has two.
    pub const REDIRECTS_MAX: usize = 5;
}

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

/// Bounds of the memory.
pub mod memory {
    use std::time::Duration;

    /// Bytes of MEMORY.md that go into the system prompt: about 2,000 tokens in every request.
    pub const FACTS_BYTES: usize = 8 * 1024;
    /// Bytes of a MEMORY.md that the model writes. What is longer costs more in each request than it helps.
    pub const UPDATE_BYTES_MAX: usize = 32 * 1024;
    /// Bytes of one day's notes that go into the system prompt, from their end.
    pub const NOTE_BYTES: usize = 3 * 1024;
    /// Days whose notes go into the system prompt, today included.
    pub const NOTE_DAYS: u64 = 3;
    /// How long a conversation rests until it is consolidated.
    pub const IDLE_TIME: Duration = Duration::from_secs(6 * 60 * 60);
}
/// Bounds of the providers.
pub mod models {
    use std::time::Duration;

    /// Bytes of one answer: text, reasoning and arguments together. 128 k tokens are about 512 kB.
    pub const REPLY_BYTES: usize = 2 * 1024 * 1024;
    /// Bytes read from a stream at once.
    pub const READ_BYTES: usize = 4 * 1024;
    /// New tries after the first failure, each after twice the wait of the one before.
    pub const RETRIES: u32 = 3;
    /// Time in which a server on this machine has to list its models to be taken for one.
    pub const PROBE: Duration = Duration::from_millis(300);
    /// Tokens of a window beyond which a server does not tell the truth: a hundred times what models have.
    pub const WINDOW_TOKENS_MAX: u64 = 100_000_000;
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
    /// Characters of a description in a list.
    pub const LISTED_CHARS: usize = 160;
}

/// Bounds of a turn.
pub mod agent {
    use std::time::Duration;

    /// Stack of such a thread; a file tool needs about 20 kB.
    pub const CALL_STACK_BYTES: usize = 256 * 1024;
    /// Stack of the thread that drives a turn. TLS with ring needs 64 kB, a regular expression more.
    pub const TURN_STACK_BYTES: usize = 512 * 1024;
    /// Bytes of one message of a person.
    pub const MESSAGE_BYTES: usize = 128 * 1024;
    /// How long a question to a person waits; then it counts as denied.
    pub const ANSWER_TIME: Duration = Duration::from_mins(10);
    /// Tokens that the history always gets, however small the window is said to be.
    pub const HISTORY_FLOOR_TOKENS: usize = 1_300;
    /// Tokens of a window below which a request has the small prompt and the few tools.
    pub const SMALL_WINDOW_TOKENS: u32 = 8_000;

    /// Bounds of subagents.
    pub mod subagent {
        /// Bytes of a report; a longer one keeps its ends.
        pub const REPORT_BYTES: usize = 24 * 1024;
        /// Journals that are kept to look at, the newest ones.
        pub const JOURNALS_KEPT: usize = 20;
    }
}
/// Bounds of MCP servers.
pub mod mcp {
    /// Bounds of MCP servers that are reached over HTTP, and of the logins to them.
    pub mod http {
        /// Bytes of one reply of events, reports of progress included.
        pub const REPLY_BYTES: usize = 64 * 1024 * 1024;
    }

    use std::time::Duration;

    /// Messages in one batch, which versions before 2025-06-18 have.
    pub const BATCH: usize = 64;
    /// Tools, resources or prompts of one server.
    pub const LISTED: usize = 512;
    /// Time for a new server's first answer and for its lists. `npx` and `uvx` download a server when it is started first.
    pub const CONNECT_TIME: Duration = Duration::from_secs(60);
    /// Values of a form.
    pub const FIELDS: usize = 20;
    /// Characters of a text that a server shows to a person.
    pub const SHOWN_CHARS: usize = 1000;
    /// Reasons that are kept why something on a list was left out.
    pub const REFUSED: usize = 16;
}
/// Bounds of the tools.
pub mod tools {
    use std::time::Duration;

    /// Characters kept free in a result for the note that says how to go on.
    pub const NOTE_CHARS: usize = 240;
    /// Objects and arrays within each other in the schema of a custom tool.
    pub const CUSTOM_SCHEMA_DEPTH_MAX: usize = 5;
    /// The largest length that such a schema may name.
    pub const CUSTOM_SCHEMA_COUNT_MAX: u64 = 1_000_000;
    /// Files that one call of message sends.
    pub const FILES_SENT: usize = 10;
    /// Characters of a button. What comes back with a press has 64 bytes on Telegram.
    pub const BUTTON_CHARS: usize = 40;
    /// Characters of a typed command's output that are shown in a chat, about a message of Telegram's;
    /// of more, the end, with the whole in a file.
    pub const SHELL_CHARS: usize = 3500;
    /// How long results that were too long are kept.
    pub const RESULTS_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    /// Bytes of a script that a question shows.
    pub const SCRIPT_HEAD_BYTES: usize = 1000;
    /// Bytes of an unfinished line of input that are kept to be checked together with its rest.
    pub const INPUT_LINE_BYTES: usize = 4 * 1024;
    /// Bytes of a tool's name: what OpenAI and Anthropic accept.
    pub const TOOL_NAME_BYTES_MAX: usize = 64;
    /// Words of a pattern of allowed commands.
    pub const ALLOWED_WORDS_MAX: usize = 24;
}
/// Bounds of watches.
pub mod watch {
    use std::time::Duration;

    /// Watches of a home: what a person can still overlook, and what 60 kB hold.
    pub const WATCHES_MAX: usize = 32;

    /// The longest time in a rule, in seconds: 30 days.
    pub const SECONDS_MAX: u64 = 30 * 24 * 3600;
    /// Seconds between two looks at the board's values: a rise of the temperature takes minutes.
    pub const VALUE_EVERY_SECONDS: u64 = 30;
    /// Seconds between two looks at what the kernel reports by itself, in case it did not.
    pub const EVENT_EVERY_SECONDS: u64 = 300;

    /// A wait of this length returns the thread's unused stack to the kernel first.
    pub const REST: Duration = Duration::from_secs(1);

    /// How much later than planned a look may be, in times of its interval: beyond that nothing is known about the time
    /// between, such as after a suspend.
    pub const GAP_INTERVALS: i64 = 3;

    /// How long a host has to answer one question.
    pub const HOST_TIMEOUT: Duration = Duration::from_secs(3);
    /// Bytes of a file of /proc, /sys or /run that is read.
    pub const SYSTEM_BYTES: usize = 32 * 1024;
    /// Bytes of the buffer for the kernel's notifications.
    pub const EVENT_BYTES: usize = 4096;
}
/// Bounds of the web tools.
pub mod web {
    /// Characters of a page that the model gets, unless the call says otherwise or a result has less room.
    /// nanobot's number.
    pub const FETCH_CHARS: usize = 50_000;
    /// Bytes of an address. Servers accept 8 kB.
    pub const URL_BYTES: usize = 4 * 1024;

    /// Bytes of an attribute's value. Data within addresses is longer, and not used.
    pub const VALUE_BYTES: usize = 2 * 1024;
}
/// Bounds of the terminal.
pub mod cli {
    /// What is ignored of a configuration, as far as each command says it; `config check` says all.
    pub const IGNORED_SHOWN: usize = 3;
    /// Characters of what else the question shows on a line.
    pub const LINE_CHARS: usize = 300;
    /// Bytes of an answer at a prompt; keys have a few hundred.
    pub const ANSWER_BYTES: u64 = 16 * 1024;
    /// Columns of a screen that does not tell its width, such as a serial console's.
    pub const COLUMNS_DEFAULT: usize = 80;
}

/// Bounds of the workspace and of the file tools' way into it.
/// Bounds of the workspace and of the file tools' way into it.
pub mod files {
    /// Links followed in one path, as many as Linux follows (path_resolution(7)).
    pub const LINKS: usize = 40;
    /// Things that links of the prompt lead to. Each is a mount in the view of a command.
    pub const PROMPT_LINKS: usize = 64;
}

/// Bounds of connections.
pub mod net {
    /// Bytes of a socket's send buffer. The system's own choice grows to 4 MiB, which a line of 40 kB/s
    /// needs minutes to drain: nobody would see progress, and the wait for the reply would run out.
    /// The system doubles it for its own needs; at 100 ms to the server it allows 1 MB/s and more.
    pub const SEND_BUFFER_BYTES: usize = 128 * 1024;
}
