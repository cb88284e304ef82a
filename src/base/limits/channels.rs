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
/// Formatted parts of a text that are read; Telegram has at most 100.
pub const ENTITIES: usize = 200;
/// Characters of the language of a block of code.
pub const FENCE_LANGUAGE_CHARS: usize = 40;
/// Entries of a poll or a list of tasks that the model is told; Telegram has at most 30.
pub const ENTRIES_SHOWN: usize = 30;
/// Parts of a message that is sent once more in smaller ones, because the channel refuses it.
pub const RESCUE_PARTS: usize = 4;
/// Bytes of a message that is not made smaller.
pub const RESCUE_BYTES: usize = 256;
/// Bytes of a file's name in the workspace's inbox, with date and number below 255 bytes.
pub const FILE_NAME_BYTES: usize = 100;
/// Bytes at the end of a name in which an extension such as `.tar.gz` is looked for.
pub const FILE_ENDING_BYTES: usize = 16;
/// Files of the same name and second; an album has ten.
pub const FILE_NUMBERS: u32 = 100;

/// UTF-16 units of one message's text after its markup is read: Telegram's bound.
pub const PIECE_UNITS: usize = 4096;
/// Bytes of one message as HTML: 4096 escaped units make 20 KiB; the rest is for tags.
pub const PIECE_HTML_BYTES: usize = 32 * 1024;
/// Entities of one message: Telegram shows those beyond it without markup.
pub const PIECE_ENTITIES: usize = 100;
/// Bytes of a link's tag with its address; a longer one is shown as text.
pub const LINK_BYTES: usize = 2048;
/// Bytes of all other tags that can be open at once; the longest is a code block with a language.
pub const TAGS_BYTES: usize = 256;
/// Characters of one Discord message, with its Markdown; bots get no more.
pub const DISCORD_MESSAGE_CHARS: usize = 2000;
/// Characters of a link's address in a Discord message, so that one message holds it with its words.
pub const DISCORD_LINK_CHARS: usize = 1000;
/// Bytes of a file that goes to Discord: what a server without boosts takes.
pub const DISCORD_UPLOAD_BYTES: u64 = 10 * 1024 * 1024;
/// Bytes of a Discord button's data, its `custom_id`.
pub const DISCORD_BUTTON_DATA_BYTES: usize = 100;
/// Characters of a Discord button's label.
pub const DISCORD_LABEL_CHARS: usize = 80;
/// Buttons in one row of a Discord message, and rows.
pub const DISCORD_ROW_BUTTONS: usize = 5;
/// Characters of a slash command's description at Discord.
pub const DISCORD_DESCRIPTION_CHARS: usize = 100;
/// Messages and other calls to all of Discord within a second: it allows 50.
pub const DISCORD_TOTAL: usize = 40;
/// Time between two showings of "typing", which Discord takes away after ten seconds.
pub const DISCORD_TYPING_INTERVAL: Duration = Duration::from_secs(8);
/// Rate-limit buckets of Discord's that are remembered: one of each kind for a dozen busy chats.
pub const DISCORD_BUCKETS: usize = 64;
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
pub const DISCORD_SHORT_WAIT: Duration = Duration::from_secs(1);
/// Time between two IDENTIFY: Discord refuses a second one within 5 s.
pub const DISCORD_IDENTIFY_INTERVAL: Duration = Duration::from_secs(6);
/// Time in which Discord's gateway has to say HELLO.
pub const DISCORD_HELLO_TIME: Duration = Duration::from_secs(20);
/// Time in which Discord's gateway has to begin a session, or to resume one.
pub const DISCORD_BEGIN_TIME: Duration = Duration::from_secs(60);
/// The least and the longest time between two heartbeats to Discord; it asks for about 41 s.
pub const DISCORD_HEARTBEATS: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_mins(2));
/// The longest wait until the receiver of Discord's events shows that it is alive.
pub const DISCORD_LOOK: Duration = Duration::from_secs(60);
/// A connection to Discord's gateway that was shorter counts as a failure: the next one waits longer.
pub const DISCORD_STEADY: Duration = Duration::from_secs(60);
/// Chats in which a channel is asked for messages that were missed.
pub const MISSED_CHATS: usize = 32;
/// Bytes of the file with them; an address of Slack's with a thread takes 60.
pub const MISSED_FILE_BYTES: usize = 16 * 1024;
/// Failures in a row, but for rate limits, after which missed messages are given up: a day with the longest wait.
pub const MISSED_FAILURES: u32 = 300;
/// Time in which missed messages are fetched before anything newer is looked at, so that they come first.
pub const MISSED_TIME: Duration = Duration::from_secs(30);
/// The same after that has passed: newer ones wait no longer.
pub const MISSED_TURN: Duration = Duration::from_secs(1);
/// Messages asked for at once; Discord gives no more.
pub const DISCORD_MISSED_MESSAGES: usize = 100;
/// How often one chat is asked for more missed messages.
pub const DISCORD_MISSED_PAGES: u32 = 3;
/// Messages whose ids are this much older than the newest known one are fetched again: events may come
/// slightly out of order.
pub const DISCORD_MISSED_OVERLAP: Duration = Duration::from_secs(10);
/// Bytes of an id or a token that Discord gives; none is longer than a few hundred.
pub const DISCORD_TOKEN_BYTES: usize = 1024;
/// How long a long poll waits for something to happen; Telegram allows 50 s.
pub const LONG_POLL: Duration = Duration::from_secs(50);
/// The least time between two long polls that bring nothing new.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How much later than it should an answer may begin, before the connection is given up.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long an answer may take while somebody waits at the terminal.
pub const TEST_PATIENCE: Duration = Duration::from_secs(10);
/// Updates fetched at once; Telegram returns no more.
pub const UPDATES_AT_ONCE: usize = 100;
/// Age of the newest update whose number still counts; after a week Telegram takes another one.
pub const OFFSET_AGE: Duration = Duration::from_hours(6 * 24);
/// Files of updates that crashed the program and were set aside. One is enough to find the bug.
pub const SET_ASIDE_FILES: usize = 8;
/// Bytes of such a file; a long message with its entities has 30 kB.
pub const SET_ASIDE_BYTES: usize = 64 * 1024;
/// People who are told that an update was set aside.
pub const SET_ASIDE_TOLD: usize = 4;
/// Levels of lists and objects of a channel's JSON: a message in a message with keyboards has ten. A
/// level of Discord's message takes 12 kB of stack in a build without optimisation.
pub const JSON_LEVELS_MAX: usize = 16;
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
/// The longest wait while the clock is not set, so that a channel works soon after the time is known.
pub const UNSET_CLOCK_WAIT: Duration = Duration::from_secs(10);
/// The longest wait after failures.
pub const LONGEST_BACKOFF: Duration = Duration::from_mins(5);
/// The longest wait of a message while failures have lasted for less than [`SHORT_OUTAGE`]: after a short one nobody
/// waits for minutes.
pub const SHORT_BACKOFF: Duration = Duration::from_mins(1);
/// See [`SHORT_BACKOFF`].
pub const SHORT_OUTAGE: Duration = Duration::from_mins(10);
/// The first wait after the quick tries for a message; each further one is twice as long.
pub const SLOW_WAIT: Duration = Duration::from_secs(15);
/// How much of the time in which a message fails may be missing on the disk.
pub const FAILING_NOTED: Duration = Duration::from_mins(1);
/// Time in which a message always fails while its channel works, until it is set aside.
pub const SET_ASIDE_TIME: Duration = Duration::from_mins(12);
/// Failures of a message before it is set aside, however long that takes.
pub const SET_ASIDE_TRIES: u32 = 3;
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
/// Messages of a chat that wait for a reaction.
pub const REACTIONS_WAITING: usize = 20;
/// Bytes of a Telegram button's data.
pub const BUTTON_DATA_BYTES: usize = 64;
/// Bytes of a picture that is sent as one; a larger one goes as a file.
pub const PHOTO_BYTES: u64 = 10 * 1024 * 1024;
/// How often a sender without anything to do looks whether there is something.
pub const IDLE_LOOK: Duration = Duration::from_mins(5);
/// Files of one message that are fetched; an album has ten.
pub const MESSAGE_FILES: usize = 20;
/// How often a full queue into the gateway is looked at.
pub const QUEUE_LOOK: Duration = Duration::from_millis(50);
/// Threads that fetch files for one channel at a time. Each holds a connection.
pub const FETCH_THREADS: usize = 2;
/// How long a fetching thread without work keeps its connection: the next file often follows soon.
pub const FETCH_LINGER: Duration = Duration::from_secs(10);
/// How long the files of a message are tried while the channel cannot be reached, or asks to wait. Its
/// conversation waits as long.
pub const FETCH_TIME: Duration = Duration::from_mins(10);
/// How long the confirmation of a pressed button may take to be answered.
pub const PRESS_PATIENCE: Duration = Duration::from_secs(5);
/// Received files that are kept, whatever their size: a folder of more is slow to list.
pub const INBOX_FILES: usize = 5_000;
/// Age below which a received file is never deleted: a conversation may be about it.
pub const INBOX_FILE_AGE: Duration = Duration::from_hours(24);
/// Files after which the folder of received files is looked at again.
pub const INBOX_LOOK_FILES: u64 = 50;
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
/// How long a call may last before another thread is started for what else is to be delivered. Most
/// calls end earlier, and a connection costs a handshake.
pub const DELIVERY_GROW: Duration = Duration::from_millis(300);
/// The longest that a worker's job may take without a transfer: up to three calls, each with name,
/// connection, request and reply.
pub const CALL_TIME: Duration = Duration::from_mins(5);
/// How long after it has begun work is shown as "typing": what is done earlier needs no request.
pub const TYPING_DELAY: Duration = Duration::from_millis(500);
/// Messages of people's that wait to be deleted: a few secrets.
pub const REMOVALS: usize = 16;
/// Pieces of work that show something at a time.
pub const WORKS: usize = 64;
/// Waiting reactions, over all chats.
pub const REACTIONS: usize = 200;
/// Open questions, and texts that could not be stored in the outbox.
pub const NOTICES: usize = 64;
/// Edits of a draft after which the time to the next one is doubled: what takes long is looked at
/// less often.
pub const DRAFT_EDITS: u32 = 4;
/// How often that time is doubled.
pub const DRAFT_DOUBLINGS: u32 = 3;
/// Characters of a command in the question about it: the first number with which the question is one
/// message of the channel.
pub const QUESTION_CHARS: [usize; 5] = [3200, 1600, 800, 400, 150];
/// Lines of a narrow screen that a command's beginning and its end may take in a question.
pub const QUESTION_LINES: (usize, usize) = (30, 10);
/// Characters of the model's reason and of the folder in a question.
pub const QUESTION_TEXT_CHARS: usize = 300;
/// Names of files in a question, and characters of each.
pub const QUESTION_NAMES: usize = 4;
/// See [`QUESTION_NAMES`].
pub const QUESTION_NAME_CHARS: usize = 60;
/// Lines of a script that a question shows.
pub const SCRIPT_LINES: usize = 8;
/// Characters below which the beginning of a script says nothing.
pub const SCRIPT_CHARS_MIN: usize = 40;
/// Offers of choices that a channel without buttons remembers, and those of one chat: a few reminders, watches and
/// questions at a time.
pub const OFFERS: usize = 32;
/// See [`OFFERS`].
pub const OFFERS_IN_CHAT: usize = 6;
/// How long a question of the model's can be answered with a number or a word alone: until the next day at the same time.
pub const CHOICES_TIME: Duration = Duration::from_secs(24 * 3600);
/// Bytes of an offer's message that are kept: a reminder with all of its text.
pub const OFFER_TEXT_BYTES: usize = 4608;
/// Bytes of a choice's data: every command of the program's own buttons.
pub const CHOICE_DATA_BYTES: usize = 256;
/// Characters of a reply that can be a choice; a button's label is shorter.
pub const CHOICE_REPLY_CHARS: usize = 80;
/// Replies that have answered questions and are known if the channel sends them again.
pub const CHOICES_USED: usize = 32;
/// Bytes of the file with a channel's offers.
pub const CHOICES_FILE_BYTES: usize = 512 * 1024;
/// Random numbers that are tried for the answers about a command, until none is in use.
pub const NUMBERS_TRIED: usize = 16;
/// Characters of all labels up to which choices stand on one line.
pub const CHOICES_LINE_CHARS: usize = 60;
/// Time between two messages about the progress of work where none can be edited.
pub const SPARSE_INTERVAL: Duration = Duration::from_secs(60);
/// How long a terminal's screen must be still before it is shown where none can be edited.
pub const STILL_TIME: Duration = Duration::from_secs(2);

pub mod local;
