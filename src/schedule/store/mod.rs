//! `cron/jobs.json`, which has what is planned, and `cron/runs.jsonl`, which has what was run since.
//!
//! The files are the truth. Each change locks the folder, reads, changes and writes, so that the command
//! line and the gateway never overwrite each other.

mod file;
mod log;

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use file::Contents;
use log::{RunEvent, newest_of_each, replay};

use super::job::{Job, Run, RunOutcome, Status};
use crate::base::error::{Error, Result};
use crate::base::limits::schedule::{ERROR_CHARS_MAX, JOBS_MAX};
use crate::base::message::Address;
use crate::base::sync::Mutex;
use crate::store::append_log::{AppendLog, Durability, to_line};
use crate::store::state::approvals::Approvals;
use crate::sys;
use crate::text::{grouped, one_line};

pub use file::Fault;

/// Runs that are remembered for each job.
const RUNS_KEPT: usize = 20;
/// Runs that each job keeps at least.
const RUNS_KEPT_MIN: usize = 3;

/// Bytes of `cron/jobs.json` that are read and written: a thousand jobs with their runs have about 1 MB.
const JOBS_FILE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of `cron/runs.jsonl` above which it is folded into `jobs.json`, once it is as large as that: 300
/// runs, so that a job that runs every minute rewrites the larger file five times a day.
const RUNS_FOLD_BYTES: u64 = 64 * 1024;
/// Bytes at the end of `cron/runs.jsonl` that are read. What we write is folded long before.
const RUNS_FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Jobs that are gone and whose last run stays in `cron/runs.jsonl`, in case an old copy of `jobs.json` brings
/// them back.
const REMOVED_JOBS_KNOWN: usize = 100;

/// The jobs of a home. Opening it reads and creates nothing; clones share a lock within the process.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// Held while something is written: the [stamp](Self::changed) of the file of jobs, and up to which
    /// number the log's lines are in it.
    writing: Arc<Mutex<Option<(u64, u64)>>>,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Jobs {
    /// The jobs in the order of the file, with the state after their last run.
    pub jobs: Vec<Job>,
    /// Jobs of the file that cannot be used.
    pub faults: Vec<Fault>,
}

impl Jobs {
    /// The job with this id.
    pub fn find(&self, id: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == id)
    }
}

/// Reads the list of jobs of another program, as if they had never run and belonged to no conversation and agent. Fails
/// when it is not such a list.
pub fn read_foreign(text: &[u8]) -> Result<Jobs, String> {
    let Contents {
        mut jobs, faults, ..
    } = file::parse(text)?;
    for job in &mut jobs {
        job.bound_times();
        job.state = super::job::State::default();
        (job.planned_by, job.planned_role) = (None, None);
        (job.made_from, job.raw) = (None, None);
        job.payload.agent = None;
        job.payload.model = None;
        job.payload.session = None;
    }
    Ok(Jobs { jobs, faults })
}

impl Store {
    /// The jobs below a home folder, in `cron/`.
    pub fn open(home_folder: &Path) -> Self {
        Self {
            folder: home_folder.join("cron"),
            writing: Arc::default(),
        }
    }

    /// The file of jobs, which people may edit.
    pub fn path(&self) -> PathBuf {
        self.folder.join("jobs.json")
    }

    /// The standing approvals of the home, of which jobs have some.
    pub(super) fn approvals(&self) -> Approvals {
        let home = self.folder.parent().unwrap_or(&self.folder);
        Approvals::new(&home.join("state"))
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("runs.jsonl")
    }

    /// Reads the jobs, without a lock. Fails when the whole file cannot be used; a job that cannot is in
    /// the faults.
    pub fn read(&self) -> Result<Jobs> {
        let (contents, _) = self.load()?;
        let Contents { jobs, faults, .. } = contents;
        Ok(Jobs { jobs, faults })
    }

    /// Changes the jobs. Nothing is written when `change` fails, or when the file cannot be used.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Job>) -> Result<T>) -> Result<T> {
        self.change_contents(|contents| {
            let result = change(&mut contents.jobs)?;
            check(&contents.jobs)?;
            Ok(result)
        })
    }

    /// Removes a job that cannot be used from the file; false if there is none with this id.
    pub fn remove_unusable(&self, id: &str) -> Result<bool> {
        self.change_contents(|contents| {
            let before = contents.faults.len();
            let is_meant = |fault: &Fault| fault.id.as_deref() == Some(id);
            contents.faults.retain(|fault| !is_meant(fault));
            Ok(contents.faults.len() < before)
        })
    }

    /// Notes on the disk that a run begins.
    pub fn begin(&self, id: &str, planned_ms: i64, now_ms: i64) -> Result<()> {
        self.record(RunEvent {
            n: 0,
            id: id.to_owned(),
            planned: planned_ms,
            at: now_ms,
            status: Status::Running,
            ms: 0,
            error: None,
            unshown: false,
        })
    }

    /// Notes on the disk how a run ended. One that was never begun, such as a skipped one, counts from now.
    pub fn end(&self, id: &str, planned_ms: i64, now_ms: i64, outcome: &RunOutcome) -> Result<()> {
        let error = outcome.error.as_deref();
        self.record(RunEvent {
            n: 0,
            id: id.to_owned(),
            planned: planned_ms,
            at: now_ms,
            status: outcome.status,
            ms: outcome.duration_ms,
            error: error.map(|error| one_line(error, ERROR_CHARS_MAX)),
            unshown: outcome.unshown,
        })
    }

    /// Notes that a message of a run was not taken, and why. Returns whether the job was disabled because of it:
    /// see [`Job::note_undelivered`].
    pub fn note_undelivered(
        &self,
        id: &str,
        planned_ms: i64,
        why: &str,
        is_chat_gone: bool,
    ) -> Result<bool> {
        self.change(|jobs| {
            let job = jobs.iter_mut().find(|job| job.id == id);
            Ok(job.is_some_and(|job| job.note_undelivered(planned_ms, why, is_chat_gone)))
        })
    }

    /// Has the jobs of a chat deliver to another one. Returns how many they are.
    pub fn move_chat(&self, from: &Address, to: &Address) -> Result<usize> {
        let is_there = |job: &Job| job.payload.chat().as_ref() == Some(from);
        if !self.read()?.jobs.iter().any(is_there) {
            return Ok(0);
        }
        self.change(|jobs| {
            let there = jobs.iter_mut().filter(|job| is_there(job));
            Ok(there
                .map(|job| {
                    job.payload.channel = Some(to.channel.clone());
                    job.payload.to = Some(to.within_channel());
                })
                .count())
        })
    }

    /// The last runs of a job, the newest first; none for a job that does not exist.
    pub fn runs(&self, id: &str, most: usize) -> Result<Vec<Run>> {
        let jobs = self.read()?;
        let runs = jobs.find(id).map(|job| job.state.runs.iter().rev());
        Ok(runs.into_iter().flatten().take(most).cloned().collect())
    }

    /// A number that differs when the file of jobs has changed; 0 when there is none.
    pub fn changed(&self) -> u64 {
        let Ok(metadata) = std::fs::metadata(self.path()) else {
            return 0;
        };
        let parts = [
            metadata.ino(),
            metadata.len(),
            metadata.mtime() as u64,
            metadata.mtime_nsec() as u64,
        ];
        // FNV-1a, by words.
        let mix = |hash: u64, part: &u64| (hash ^ part).wrapping_mul(0x0100_0000_01b3);
        parts.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// The jobs up to their last run, and the text of the file. The log is read first: what is folded in
    /// between is then seen twice and not missed.
    fn load(&self) -> Result<(Contents, Vec<u8>)> {
        let log = self.read_log()?;
        let text = self.read_file()?;
        let mut contents = file::parse(&text).map_err(|reason| {
            Error::Failed(format!(
                "The list of jobs {} cannot be read: {reason}. It was left as it is. Repair it, or move it \
                 away to start with an empty list.",
                self.path().display()
            ))
        })?;
        replay(&log, &mut contents);
        contents.jobs.iter_mut().for_each(Job::bound_times);
        Ok((contents, text))
    }

    fn read_file(&self) -> Result<Vec<u8>> {
        let path = self.path();
        match sys::file::read_at_most(&path, JOBS_FILE_BYTES_MAX) {
            // A link to a stick that is not there must not be replaced.
            Err(Error::Io { source, .. })
                if source.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() =>
            {
                Ok(Vec::new())
            }
            read => read,
        }
    }

    /// The end of the log.
    fn read_log(&self) -> Result<Vec<u8>> {
        let path = self.log_path();
        let read = |mut file: File| {
            let over = file.metadata()?.len().saturating_sub(RUNS_FILE_BYTES_MAX);
            file.seek(SeekFrom::Start(over))?;
            sys::file::read_beginning(&file, RUNS_FILE_BYTES_MAX)
        };
        match sys::file::open_to_read(&path).and_then(read) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            log => log.map_err(Error::io("read", &path)),
        }
    }

    fn change_contents<T>(&self, change: impl FnOnce(&mut Contents) -> Result<T>) -> Result<T> {
        let _writing = self.writing.lock();
        let _lock = self.lock()?;
        let (mut contents, before) = self.load()?;
        let result = change(&mut contents)?;
        self.write(contents, &before)?;
        Ok(result)
    }

    fn lock(&self) -> Result<Option<OwnedFd>> {
        sys::file::private_folder(&self.folder)?;
        sys::file::lock_folder(&self.folder)
    }

    /// Writes what has changed. The log is in the file then, and begins again with the newest line of each
    /// job.
    fn write(&self, contents: Contents, before: &[u8]) -> Result<()> {
        let jobs = contents.jobs.len();
        let after = contents.render();
        if after.as_bytes() == before || (before.is_empty() && contents_is_empty(&after)) {
            return Ok(());
        }
        if after.len() > JOBS_FILE_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "The list of jobs".to_owned(),
                limit: JOBS_FILE_BYTES_MAX,
            });
        }
        sys::file::write_atomic(&self.target()?, after.as_bytes(), 0o600)?;
        if self.log_path().exists() {
            // Its lines have numbers: those that are in the file already are not counted again.
            let shortened = self
                .open_log()
                .and_then(|mut log| self.shorten(&mut log, jobs));
            if let Err(error) = shortened {
                tracing::warn!("failed to shorten the log of runs: {error}");
            }
        }
        Ok(())
    }

    /// Leaves only the newest line of each job in the log.
    fn shorten(&self, log: &mut AppendLog, jobs: usize) -> Result<()> {
        let kept = newest_of_each(&self.read_log()?, jobs + REMOVED_JOBS_KNOWN);
        log.restart(&kept, Durability::Synced)
    }

    /// The file that is written: what a link points to, which stays a link. Fails when that is outside of the
    /// home, where other programs may be in charge.
    fn target(&self) -> Result<PathBuf> {
        let path = self.path();
        if !path.is_symlink() {
            return Ok(path);
        }
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(Error::io("follow the link", path))
        };
        let (target, home) = (
            real(&path)?,
            real(self.folder.parent().unwrap_or(&self.folder))?,
        );
        if target.starts_with(&home) {
            return Ok(target);
        }
        Err(Error::Failed(format!(
            "The list of jobs {} is a link to {}, which is outside of {}, so it is not changed. Replace the \
             link with the file itself.",
            path.display(),
            target.display(),
            home.display()
        )))
    }

    fn open_log(&self) -> Result<AppendLog> {
        let path = self.log_path();
        let opened = AppendLog::open(&path, |line| RunEvent::parse(line).is_some())?;
        opened.ok_or_else(|| {
            let path = path.display();
            Error::Failed(format!("Another program has locked {path}. Try again."))
        })
    }

    fn record(&self, mut event: RunEvent) -> Result<()> {
        let mut writing = self.writing.lock();
        let _lock = self.lock()?;
        let mut log = self.open_log()?;
        event.n = self.last_number(&log, &mut writing)?.saturating_add(1);
        log.append(&to_line(&event), Durability::Synced)?;
        let length = log.length();
        if length > RUNS_FILE_BYTES_MAX {
            // It could not be folded for long. Only the newest runs count.
            self.shorten(&mut log, JOBS_MAX)?;
        }
        drop(log);
        let jobs = std::fs::metadata(self.path()).map_or(0, |metadata| metadata.len());
        if length > RUNS_FOLD_BYTES.max(jobs) {
            let folded = self
                .load()
                .and_then(|(contents, before)| self.write(contents, &before));
            if let Err(error) = folded {
                tracing::warn!("failed to shorten the log of runs, which keeps growing: {error}");
            }
        }
        Ok(())
    }

    /// The number of the newest line, also of one that is in the file of jobs already: that may come from
    /// another board, whose log was longer.
    fn last_number(&self, log: &AppendLog, known: &mut Option<(u64, u64)>) -> Result<u64> {
        let mut lines = log.tail();
        let read = Error::io("read", log.path());
        let last = lines.previous().map_err(read)?;
        let last = last.and_then(|line| RunEvent::parse(&line.bytes));
        let stamp = self.changed();
        let folded_to = match *known {
            Some((before, folded_to)) if before == stamp => folded_to,
            _ => self.load()?.0.folded_to,
        };
        *known = Some((stamp, folded_to));
        Ok(last.map_or(folded_to, |event| event.n.max(folded_to)))
    }
}

/// Whether a file with this text would say nothing.
fn contents_is_empty(text: &str) -> bool {
    text == Contents::default().render()
}

/// What keeps a list from being written.
fn check(jobs: &[Job]) -> Result<()> {
    if jobs.len() > JOBS_MAX {
        return Err(Error::Failed(format!(
            "There are {} jobs already, as many as possible. Remove some first.",
            grouped(JOBS_MAX)
        )));
    }
    let mut ids = HashSet::new();
    for job in jobs {
        let reason = if ids.insert(&job.id) {
            file::check(job)
        } else {
            Err("another job has the same id".to_owned())
        };
        reason.map_err(|reason| Error::Failed(format!("Job {}: {reason}", job.id)))?;
    }
    Ok(())
}

#[cfg(test)]
mod copies;
#[cfg(test)]
mod tests;
