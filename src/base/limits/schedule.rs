//! Bounds of scheduled jobs, and of the schedules that people and models write.

use std::time::Duration;

/// Jobs of a home; a household has a dozen, and a model that plans in a loop is stopped here.
pub const JOBS_MAX: usize = 1000;
/// Bytes of `cron/jobs.json` that are read and written: a thousand jobs with their runs have about 1 MB.
pub const JOBS_FILE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a job's message: a long instruction for the model has 2 kB.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024;
/// Characters of a job's name, which is a column of a list.
pub const NAME_CHARS_MAX: usize = 60;
/// Bytes of a job's id, which is part of a file name; ours have four.
pub const ID_BYTES_MAX: usize = 64;
/// Shortest time between two runs of a job that is planned, in milliseconds: each run is some synced writes.
pub const PLANNED_EVERY_MS_MIN: i64 = 60 * 1000;
/// How often a run is begun when it is cut off each time: it may be what takes the program down.
pub const RUN_TRIES_MAX: usize = 3;
/// Runs in a row whose result a chat does not take, as one that has blocked the bot, before their job is
/// disabled: one or two may be a mistake.
pub const UNDELIVERED_RUNS_MAX: usize = 3;
/// Runs that are remembered for each job.
pub const RUNS_KEPT: usize = 20;
/// Runs that are remembered for all jobs: with many jobs each keeps fewer.
pub const RUNS_KEPT_IN_ALL: usize = 5000;
/// Runs that each job keeps at least.
pub const RUNS_KEPT_MIN: usize = 3;
/// Bytes of `cron/runs.jsonl` above which it is folded into `jobs.json`, once it is as large as that: 300
/// runs, so that a job that runs every minute rewrites the larger file five times a day.
pub const RUNS_FOLD_BYTES: u64 = 64 * 1024;
/// Bytes at the end of `cron/runs.jsonl` that are read. What we write is folded long before.
pub const RUNS_FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How wrong the clock has to have been, in milliseconds, for the time of a job to be corrected.
pub const CLOCK_ERROR_MS_MIN: i64 = 60 * 1000;
/// Jobs that are gone and whose last run stays in `cron/runs.jsonl`, in case an old copy of `jobs.json` brings
/// them back.
pub const REMOVED_JOBS_KNOWN: usize = 100;
/// Runs that the gateway knows to have begun, beside what is on the disk: the last ones of all jobs.
pub const BEGUN_RUNS_KNOWN: usize = JOBS_MAX;
/// Characters of a run's error that are remembered.
pub const ERROR_CHARS_MAX: usize = 200;
/// One-time jobs that are kept after their run, so that their history can be read; the oldest go first.
pub const SPENT_JOBS_KEPT: usize = 50;
/// Jobs of one chat that are still to run. A model that plans in a loop leaves room for the other chats.
pub const CHAT_JOBS_MAX: usize = 100;
/// How late a run is that is called late, in milliseconds: what a busy board takes is not worth a word.
pub const LATE_TOLD_MS: i64 = 2 * 60 * 1000;
/// Wait before the jobs are looked at again after they could not be read, or a run could not be noted.
pub const STORE_RETRY: Duration = Duration::from_secs(10);
/// Messages in the outbox beyond which no reminder is added: the rest is for people and turns.
pub const OUTBOX_ROOM_MAX: usize = 250;
/// The same for a chat for which nothing waits: of many chats that each get a flood, none holds it up.
pub const OUTBOX_ROOM_FIRST_MAX: usize = 400;
/// Messages that wait for one chat beyond which no reminder is added for it: what a channel takes in half a
/// minute.
pub const CHAT_ROOM_MAX: usize = 25;
/// Tries to write a reminder to the disk before it is sent without that: half a minute at most.
pub const REMINDER_STORE_TRIES_MAX: usize = 3;
/// Reminders of one look; each is three synced writes.
pub const REMINDERS_PER_LOOK_MAX: usize = 50;
/// How often the outbox is looked at for room.
pub const ROOM_LOOK: Duration = Duration::from_secs(1);
/// How often, and from when on, if there is none: the channel takes nothing, as when the network is gone.
pub const ROOM_LOOK_LATER: Duration = Duration::from_mins(1);
/// Earlier runs of a job in the model's window: it can see what it said the last time.
pub const RUNS_IN_WINDOW: usize = 1;
/// Bytes of the journal of a job's own conversation; the older part goes to the archive.
pub const JOURNAL_BYTES_MAX: u64 = 256 * 1024;
/// Journals of jobs that are kept, those that ran last: a job that runs again without one has forgotten
/// its last run, nothing else.
pub const JOURNALS_KEPT: usize = 200;
/// Files with results that are kept of each job.
pub const RESULTS_KEPT: usize = 20;
/// Characters of a job's name in the names of its files.
pub const RESULT_NAME_CHARS: usize = 40;
/// Bytes that are read at a time about changes in the folder of the jobs: an event has 16 and a name.
pub const WATCH_BYTES: usize = 1024;
/// Wait before the folder of the jobs is watched again.
pub const WATCH_RETRY: Duration = Duration::from_mins(1);

/// Bytes of a cron line. A field has lists, but no more than its values.
pub const LINE_BYTES: usize = 400;
/// Days that are searched for a cron line's next run: a February 29 that is a Monday can be 40 years away.
pub const SEARCH_DAYS: u64 = 41 * 366;
/// Changes of the clocks that are passed meanwhile; the most restless zone has four a year.
pub const SPANS: usize = 41 * 4;
/// Shortest interval: a second.
pub const EVERY_MS_MIN: i64 = 1000;
/// Longest interval, and how far ahead a time may be: 100 years.
pub const AHEAD_MS_MAX: i64 = 100 * 366 * 86_400_000;
/// Missed runs that are counted one by one.
pub const MISSED_MAX: u32 = 200;
/// How late a run may begin that is not made up for: a busy board, a restart.
pub const GRACE_MS: i64 = 60_000;
/// How far the clock may be set back before a run beyond it is taken for an error of the clock. Within
/// it, no run is repeated.
pub const SET_BACK_MS: i64 = 86_400_000;
/// Runs that a job leaves out, within that time, because their times come again. With more the job would
/// be silent for too long, and it repeats them instead.
pub const SET_BACK_RUNS_MAX: usize = 2;
/// 2020: a job that was created before it was created by a clock that was not set.
pub const CREATED_MS_MIN: i64 = 1_577_836_800_000;
/// Bytes of a time or schedule that a person writes.
pub const WHEN_BYTES: usize = 400;
/// Words at the beginning of a message that are looked at for its time.
pub const WHEN_WORDS: usize = 24;
