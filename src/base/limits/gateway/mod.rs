//! Bounds of the gateway.

pub mod board;
pub mod term;

use std::ops::Range;
use std::time::Duration;

/// Messages that wait in one session; a person who has sent more has lost track of them.
pub const WAITING_MAX: usize = 20;
/// The numbers that questions get: short enough to be typed.
pub const QUESTION_NUMBERS: Range<u64> = 100_000..1_000_000;
/// Rows of buttons for the choices of a question, below which others come; Discord shows five rows.
pub const CHOICE_ROWS: usize = 4;
/// Buttons in a row of choices.
pub const CHOICES_IN_ROW: usize = 5;
/// Characters of a person's name beside the conversation that they are in.
pub const WHO_NAME_CHARS: usize = 30;
/// How long after a message its question may be shown: the outbox knows a little later than the person.
pub const SHOWN_TIME: Duration = Duration::from_secs(2);
/// Characters of a mistyped number that are shown again.
pub const NUMBER_CHARS: usize = 40;
/// Questions remembered after they were closed; their buttons are pressed twice at once or never.
pub const CLOSED_QUESTIONS: usize = 16;
/// Commands such as `/sh` that run at a time, over all chats: each has a thread.
pub const COMMANDS_MAX: usize = 16;
/// Those of one chat: long ones, beside which others were started. Less, so that others have some.
pub const COMMANDS_IN_CHAT_MAX: usize = 4;
/// A command that has run for so long is one that others are sent to look at, beside it.
pub const LONG_COMMAND: Duration = Duration::from_secs(15);
/// Commands that wait in one chat for those before them.
pub const COMMANDS_WAITING_MAX: usize = 50;
/// How long running turns and commands may take to end by themselves when the gateway stops.
pub const STOP_GRACE: Duration = Duration::from_secs(10);
/// How long pending messages may take to be sent after that, before they are left for the next start.
pub const SEND_GRACE: Duration = Duration::from_secs(2);
/// Bytes of a growing answer that are shown while it comes: a message of Telegram's holds less.
pub const DRAFT_BYTES: usize = 16 * 1024;
/// Lines of what has happened that are shown above it.
pub const DRAFT_LINES: usize = 8;
/// Bytes of a running command's output that are shown while it comes.
pub const SHOWN_OUTPUT_BYTES: usize = 3 * 1024;
/// A turn or a command that took at least this long ends with a message of its own, so that the phone rings: drafts
/// are silent, and after this time people look elsewhere.
pub const LONG_TURN: Duration = Duration::from_secs(15);
/// How often it is looked whether the channels' threads have begun.
pub const READY_LOOK: Duration = Duration::from_millis(50);
/// Bytes of a request over the control socket, and of its answer.
pub const CONTROL_BYTES: usize = 256 * 1024;
/// Characters of a command in an answer that cannot be a reply to it.
pub const COMMAND_CHARS: usize = 60;
/// Messages of a channel that wait or are set aside and are told one by one.
pub const STUCK_SHOWN: usize = 10;
/// How long either side of the control socket may keep the other waiting.
pub const CONTROL_TIME: Duration = Duration::from_secs(10);
/// Connections of the control socket at a time; more are turned away.
pub const CONTROL_AT_ONCE: usize = 8;
/// Texts of the message tool that are remembered in a turn, so that the answer repeats none.
pub const SENT_TEXTS_MAX: usize = 8;
/// Turns that wait for a person and have given their slot to others; each has a thread. A turn beyond
/// them keeps its slot while it waits.
pub const PARKED_TURNS_MAX: usize = 16;
/// Wait before a failed write of a turn's step is tried again. Half of [`STOP_GRACE`], so that the end
/// of the gateway does not wait for it.
pub const WRITE_RETRY: Duration = Duration::from_secs(5);
/// Failed writes of a turn after which it is given up, one minute, unless the disk is full: a person can free space,
/// but a card that is broken or read-only stays so, and others wait for the turn's slot.
pub const WRITE_TRIES_MAX: u32 = 12;
/// Wait before a thread is tried again that the system could not start, doubled each time up to the second one.
pub const THREAD_RETRY_FIRST: Duration = Duration::from_secs(1);
/// See [`THREAD_RETRY_FIRST`].
pub const THREAD_RETRY_MAX: Duration = Duration::from_secs(30);
/// Messages that a refusal names; it counts the others.
pub const REFUSED_NAMES_MAX: usize = 10;
/// Messages that are only counted until the chat is told of them, at first; each time ten times as many.
/// A kill takes the count.
pub const REFUSED_COUNT_MAX: usize = 100;
/// How long a gateway that starts waits for the lock of the home: a `peacrab send` has it for an
/// instant.
pub const LOCK_TIME: Duration = Duration::from_secs(3);
/// How long a `peacrab send` waits for a gateway that starts or ends: some seconds on a board.
pub const SEND_LOCK_TIME: Duration = Duration::from_secs(15);
/// How long the gateway waits until the channel has confirmed a message of `peacrab send`. Half of
/// [`CONTROL_TIME`], after which the command gives up.
pub const SEND_CONFIRM_TIME: Duration = Duration::from_secs(5);
/// Characters that a refusal shows of each message.
pub const REFUSED_CHARS: usize = 40;
/// Pieces of work that wait for the disk; the loop waits for room beyond that. Each arrived as a message, of which the
/// inbox holds no more than that.
pub const CLERK_WAITING_MAX: usize = 500;
/// Commands about jobs and presses of reminders' buttons that wait for the one thread that answers them.
pub const JOB_COMMANDS_WAITING_MAX: usize = 100;
/// Minutes until a reminder comes again that was snoozed.
pub const SNOOZE_MINUTES: i64 = 10;
/// Characters of a reminder. With its time and its buttons it is one message on every channel.
pub const REMINDER_CHARS: usize = 1000;
/// Characters of the name of a person who has pressed a button.
pub const REMINDER_NAME_CHARS: usize = 40;
/// Bytes of a question of an earlier run that stay in its message when it is pressed: with why nothing was done it
/// is still one message.
pub const CLOSED_QUESTION_BYTES: usize = 3_000;
/// Files that one `/get` with a pattern sends: more belong into an archive.
pub const GET_FILES_MAX: usize = 20;
/// Parts that a `/get` sends; their numbers have three digits, and the last ones would take an hour.
pub const GET_PARTS_MAX: usize = 99;
/// Bytes of the disk that stay free while something is packed.
pub const GET_FREE_BYTES: u64 = 100_000_000;
/// How long something is packed before people see how far it is, and how often then.
pub const GET_SHOWN_AFTER: Duration = Duration::from_secs(2);
/// After what time something that was packed and not delivered is removed.
pub const OUTGOING_AGE: Duration = Duration::from_hours(24);
/// Bytes that are copied or hashed at a time.
pub const COPY_BYTES: usize = 64 * 1024;
/// Names that `/ls` shows.
pub const LS_NAMES_MAX: usize = 100;
/// Characters of a name that it shows: two lines on a phone.
pub const LS_NAME_CHARS: usize = 60;
