//! Bounds of a turn.

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
/// Bytes of the system prompt's first part: who the agent is, its rules, the machine and the folders.
pub const IDENTITY_BYTES: usize = 4 * 1024;
/// Bytes of the list of folders in it; a household names a handful.
pub const REACH_BYTES: usize = 1024;
/// Bytes of one bootstrap file that go into the system prompt: 1,500 tokens, which each request costs.
pub const BOOTSTRAP_BYTES: usize = 6 * 1024;
/// Bytes of all bootstrap files together.
pub const BOOTSTRAP_TOTAL_BYTES: usize = 20 * 1024;
/// Bytes of all skills together that are always loaded.
pub const SKILLS_LOADED_BYTES: usize = 8 * 1024;
/// Bytes of the index of the other skills: about 15 of them.
pub const SKILL_INDEX_BYTES: usize = 3 * 1024;
/// Characters of the reasons why a skill is not available, in the index: two programs and a variable.
pub const SKILL_REASONS_CHARS: usize = 240;
/// Characters of a skill's description in the index. The format of Agent Skills allows 1,024.
pub const SKILL_DESCRIPTION_CHARS: usize = 240;
/// Bytes that are read beyond the budget of a file, so that a secret is recognised before it is cut.
pub const PROMPT_MARGIN_BYTES: usize = 1024;
/// Bytes of one message of a person.
pub const MESSAGE_BYTES: usize = 128 * 1024;
/// Reports of progress that wait to be shown; more are dropped.
pub const PROGRESS_WAITING: usize = 4;
/// How long a question to a person waits; then it counts as denied.
pub const ANSWER_TIME: Duration = Duration::from_mins(10);
/// Times a question that is too long for the model is asked again, each time with half of it: from
/// 128,000 tokens to 8,000.
pub const OVERFLOW_RETRIES: u32 = 4;
/// Tokens that the history always gets, however small the window is said to be.
pub const HISTORY_FLOOR_TOKENS: usize = 1_300;
/// Tokens of a model's window, where neither the configuration nor its server tells.
pub const WINDOW_TOKENS: u32 = 128_000;
/// Tokens of a window below which a request has the small prompt and the few tools.
pub const SMALL_WINDOW_TOKENS: u32 = 8_000;
/// The part of such a window, and of one that a server told, that a reply may have: a fourth.
pub const REPLY_SHARE: u32 = 4;
/// Bytes of the workspace's files in the small prompt, all together.
pub const SMALL_BOOTSTRAP_BYTES: usize = 800;
/// Bytes of MEMORY.md in the small prompt.
pub const SMALL_FACTS_BYTES: usize = 600;
/// Models that are kept ready over all conversations; a household has no more.
pub const MODELS_HELD: usize = 4;
/// Background commands that are named when they are ended.
pub const ENDED_NAMES: usize = 5;
/// Characters shown of each of them.
pub const ENDED_CHARS: usize = 60;
/// Hints that the account of a turn at its bound names.
pub const ACCOUNT_HINTS: usize = 12;
/// Models that `/model` lists as text; a provider with more has a page for them.
pub const MODELS_LISTED_MAX: usize = 40;
/// Jobs that `/cron` and `/remind` list, those that run next: two screens of a phone.
pub const JOBS_LISTED_MAX: usize = 40;
/// Models that get a button below that list, as many as a phone shows at once.
pub const MODEL_BUTTONS_MAX: usize = 8;
/// Turns after which the first conversation ends by itself: enough for a few questions in passing.
pub const INTRODUCTION_TURNS: u32 = 20;
/// Bytes of BOOTSTRAP.md that go into the system prompt; of USER.md, those that are looked at then.
pub const INTRODUCTION_BYTES: u64 = 4 * 1024;

/// Bounds of the requests that turn old turns into memory.
pub mod consolidation {
    use std::time::Duration;

    /// Tokens of the conversation that one request turns into memory. With half a window of 100 turns
    /// one request is usually enough.
    pub const CHUNK_TOKENS: usize = 24_000;
    /// The same for a model with a small window: what is left beside the memory, but at least this.
    pub const CHUNK_TOKENS_MIN: usize = 1_000;
    /// Bytes of a text that count as a token when a part is read; code and Chinese have three.
    pub const BYTES_PER_TOKEN: usize = 3;
    /// Tokens of the instructions, of the tool and of punctuation.
    pub const FRAME_TOKENS: usize = 1_000;
    /// Bytes of one text of a person or of the model in the request; the ends of a longer one stay.
    pub const TEXT_BYTES: usize = 4 * 1024;
    /// Bytes of a tool's result.
    pub const RESULT_BYTES: usize = 400;
    /// Bytes of the arguments of a call.
    pub const ARGUMENTS_BYTES: usize = 200;
    /// Bytes of a paragraph for HISTORY.md; a longer one is cut.
    pub const PARAGRAPH_BYTES: usize = 3 * 1024;
    /// Tokens of the answer beside those of the memory itself: the paragraph, and thoughts.
    pub const ANSWER_TOKENS: u32 = 2_000;
    /// The part of the model's window that an answer may have when the first one was cut off: a fourth.
    pub const ANSWER_SHARE: usize = 4;
    /// Bytes of the memory in the request that even the smallest window has room for.
    pub const FACTS_BYTES_MIN: usize = 1024;
    /// Times that the model is asked about one part of a conversation: once it may hear why its answer
    /// cannot be used, once that it drops too much, and the memory may change meanwhile.
    pub const ASKS_MAX: u32 = 6;
    /// Times that a part which is too long for the model is halved.
    pub const HALVINGS_MAX: u32 = 4;
    /// Wait after the first failure; it doubles with each further one.
    pub const BACKOFF_FIRST: Duration = Duration::from_mins(1);
    /// Longest wait after a failure.
    pub const BACKOFF_MAX: Duration = Duration::from_hours(6);
    /// Conversations that wait for their consolidation; the least urgent one is left out.
    pub const WAITING_MAX: usize = 64;
    /// Journals that are looked at after a start, the newest ones.
    pub const JOURNALS_MAX: usize = 64;
    /// Percent of the model's window that a conversation may use before its older half becomes a
    /// summary.
    pub const WINDOW_PERCENT: usize = 60;
    /// Bytes of a file with a result that is not applied yet. The memory and the paragraph fit, with
    /// six bytes of JSON for each of theirs.
    pub const STAGED_BYTES: usize = 512 * 1024;
    /// Results that wait for their journal; more means that they cannot be applied.
    pub const STAGED_MAX: usize = 256;
}

/// Messages that one turn may send beside its answer: what a person reads of it in one go.
pub const SENDS_PER_TURN: u32 = 20;

/// Bounds of subagents.
pub mod subagent {
    use std::time::Duration;

    /// Questions to the model that one subagent may take.
    pub const STEPS: u32 = 15;
    /// Tokens that one may use, read and written together: its steps with a window of 20,000 each.
    pub const TOKENS: u64 = 300_000;
    /// How many run at once beside the conversations. Each needs the memory of a turn.
    pub const AT_ONCE: usize = 2;
    /// Tasks that one turn may give away, one after the other.
    pub const PER_TURN: u32 = 8;
    /// Bytes of a task: what the subagent has to know.
    pub const TASK_BYTES: usize = 16 * 1024;
    /// Characters of the label that people see.
    pub const LABEL_CHARS: usize = 60;
    /// Bytes of a report; a longer one keeps its ends.
    pub const REPORT_BYTES: usize = 24 * 1024;
    /// Journals that are kept to look at, the newest ones.
    pub const JOURNALS_KEPT: usize = 20;
    /// How often a report that cannot be stored is tried again.
    pub const REPORT_RETRY: Duration = Duration::from_secs(5);
}
