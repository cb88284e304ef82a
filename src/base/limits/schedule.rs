//! Bounds of scheduled jobs, and of the schedules that people and models write.

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
/// Runs that are remembered for each job.
pub const RUNS_KEPT: usize = 20;
/// Runs that each job keeps at least.
pub const RUNS_KEPT_MIN: usize = 3;
/// Characters of a run's error that are remembered.
pub const ERROR_CHARS_MAX: usize = 200;
/// How late a run is that is called late, in milliseconds: what a busy board takes is not worth a word.
pub const LATE_TOLD_MS: i64 = 2 * 60 * 1000;
/// Messages in the outbox beyond which no reminder is added: the rest is for people and turns.
pub const OUTBOX_ROOM_MAX: usize = 250;
/// Messages that wait for one chat beyond which no reminder is added for it: what a channel takes in half a
/// minute.
pub const CHAT_ROOM_MAX: usize = 25;
/// Tries to write a reminder to the disk before it is sent without that: half a minute at most.
pub const REMINDER_STORE_TRIES_MAX: usize = 3;

/// Longest interval, and how far ahead a time may be: 100 years.
pub const AHEAD_MS_MAX: i64 = 100 * 366 * 86_400_000;
/// Bytes of a time or schedule that a person writes.
pub const WHEN_BYTES: usize = 400;
