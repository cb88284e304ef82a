//! The folder of received files: their names, and what is deleted when there are too many.

use std::fs::File;
use std::io;
use std::path::Path;

use chrono::{DateTime, FixedOffset};

use crate::channels::names;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::files::{Next, Workspace};
use crate::inbox::Inbox;
use crate::limits::channels::{FILE_NUMBERS, INBOX_FILE_AGE, INBOX_FILES, INBOX_LOOK_FILES};
use crate::sync::Mutex;
use crate::sys::at::Kind;

/// The folder within the workspace.
const FOLDER: &str = "inbox";
/// The share of the bound on bytes after which it is looked whether it is exceeded.
const LOOK_SHARE: u64 = 16;

/// Keeps the folder within its bounds.
#[derive(Debug)]
pub(super) struct Store {
    max_bytes: Option<u64>,
    max_files: usize,
    /// Files and bytes stored since the folder was last looked at; `None` before the first look.
    since: Mutex<Option<(u64, u64)>>,
}

/// A file that was received, as the folder has it.
#[derive(Debug)]
struct Received {
    modified: i64,
    name: String,
    size: u64,
}

impl Store {
    pub fn new(max_bytes: Option<u64>) -> Self {
        Self {
            max_bytes,
            max_files: INBOX_FILES,
            since: Mutex::default(),
        }
    }

    /// A file of so many bytes has been stored. Deletes the oldest files if there are too many; what a
    /// message in the inbox needs stays, and so does what is younger than [`INBOX_FILE_AGE`].
    pub fn stored(&self, bytes: u64, workspace: &Workspace, inbox: &Inbox, clock: &Clock) {
        if !self.is_look_due(bytes) {
            return;
        }
        if !clock.is_set() {
            tracing::debug!("received files are not tidied up while the clock is not set");
            return;
        }
        match self.tidy(workspace, inbox, clock.now().timestamp()) {
            Ok((0, _)) => {}
            Ok((files, bytes)) => {
                tracing::info!(files, bytes, "deleted the oldest received files");
            }
            Err(error) => tracing::warn!("failed to tidy up received files: {error}"),
        }
    }

    fn is_look_due(&self, bytes: u64) -> bool {
        let mut since = self.since.lock();
        let (files, bytes) = match *since {
            Some((files, before)) => (files + 1, before.saturating_add(bytes)),
            None => (INBOX_LOOK_FILES, bytes),
        };
        let share = self.max_bytes.map_or(u64::MAX, |max| max / LOOK_SHARE);
        let is_due = files >= INBOX_LOOK_FILES || bytes >= share;
        *since = Some(if is_due { (0, 0) } else { (files, bytes) });
        is_due
    }

    /// Returns how many files were deleted, and their bytes.
    fn tidy(&self, workspace: &Workspace, inbox: &Inbox, now: i64) -> Result<(usize, u64)> {
        let mut files = list(workspace)?;
        let mut bytes: u64 = files.iter().map(|file| file.size).sum();
        let mut count = files.len();
        let max_bytes = self.max_bytes.unwrap_or(u64::MAX);
        let mut deleted = (0, 0);
        if count <= self.max_files && bytes <= max_bytes {
            return Ok(deleted);
        }
        files.sort_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
        let needed = inbox.files();
        let age = i64::try_from(INBOX_FILE_AGE.as_secs()).unwrap_or(i64::MAX);
        for file in files {
            if count <= self.max_files && bytes <= max_bytes {
                break;
            }
            let path = format!("{FOLDER}/{}", file.name);
            if now.saturating_sub(file.modified) < age || needed.contains(&path) {
                continue;
            }
            workspace.remove(Path::new(&path))?;
            count -= 1;
            bytes -= file.size;
            deleted = (deleted.0 + 1, deleted.1 + file.size);
        }
        Ok(deleted)
    }
}

/// Makes a file with a name that none has yet: `20261121-143005-NAME`. Returns its path within the
/// workspace too.
pub(super) fn create(
    workspace: &Workspace,
    name: &str,
    now: DateTime<FixedOffset>,
) -> Result<(String, File)> {
    let date = now.format("%Y%m%d-%H%M%S");
    let name = names::clean(name);
    let mut number = 1;
    loop {
        let path = match number {
            1 => format!("{FOLDER}/{date}-{name}"),
            _ => format!("{FOLDER}/{date}-{number}-{name}"),
        };
        match workspace.create(Path::new(&path)) {
            Err(Error::Io { source, .. })
                if source.kind() == io::ErrorKind::AlreadyExists && number < FILE_NUMBERS =>
            {
                number += 1;
            }
            created => return Ok((path, created?)),
        }
    }
}

/// The files that [`create`] made. Others were put there by the person or the agent, and stay.
fn list(workspace: &Workspace) -> Result<Vec<Received>> {
    let mut files = Vec::new();
    workspace.walk(Path::new(FOLDER), &mut |found| {
        let name = found.path.to_str().filter(|name| is_received(name));
        if let Some(name) = name.filter(|_| found.status.kind == Kind::File) {
            files.push(Received {
                modified: found.status.modified,
                name: name.to_owned(),
                size: found.status.size,
            });
        }
        Next::Pass
    })?;
    Ok(files)
}

/// Whether a name begins as [`create`] begins it.
fn is_received(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() > 16
        && bytes[..16].iter().enumerate().all(|(at, byte)| match at {
            8 | 15 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
