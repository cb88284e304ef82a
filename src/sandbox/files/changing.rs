//! Changes of kept files: nothing that is to leave them as they are runs meanwhile. While a file takes another one's
//! place it is a new one, which the kernel does not protect in what runs already.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::kept;
use super::roots::{Failure, Guard, Intent, Mark, Root, Rule};
use super::{Kept, Workspace, guard_places};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::base::sync::{Condvar, Mutex, MutexGuard};
use crate::sandbox::hold::{Hold, Writing};

/// Ends what keeps the places, and returns whether it is gone. It is asked until it is.
pub type End = Arc<dyn Fn() -> bool + Send + Sync>;

/// How long a change waits for what is ended. A process that hangs in the kernel takes longer.
const END_TIME: Duration = Duration::from_secs(10);
/// How long what would keep the places waits for changes to be over.
const CHANGE_TIME: Duration = Duration::from_secs(15);

/// How many changes are at work in each workspace, by its real path.
type Changes = BTreeMap<PathBuf, usize>;

static CHANGES: Mutex<Changes> = Mutex::new(Changes::new());
static OVER: Condvar = Condvar::new();

/// As long as this is there, no command outside the sandbox runs that may read what is changed, and nothing begins that
/// keeps the places of the workspace.
pub(super) struct Changing {
    #[expect(dead_code)]
    writing: Writing,
    #[expect(dead_code)]
    unkept: Option<Unkept>,
}

/// As long as this is there, nothing begins that keeps the places of the workspace.
struct Unkept(PathBuf);

impl Unkept {
    fn begin(workspace: &Path) -> Self {
        *CHANGES.lock().entry(workspace.to_owned()).or_default() += 1;
        Self(workspace.to_owned())
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        let mut changes = CHANGES.lock();
        if let Some(count) = changes.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                changes.remove(&self.0);
            }
        }
        OVER.notify_all();
    }
}

/// As long as this is there, no change begins.
pub(super) struct Unchanged(#[expect(dead_code)] MutexGuard<'static, Changes>);

/// Waits until nothing is changed in a workspace.
pub(super) fn wait_for_changes(workspace: &Path) -> Result<Unchanged> {
    let is_changing = |changes: &mut Changes| changes.contains_key(workspace);
    let mut changes = OVER.wait_timeout_while(CHANGES.lock(), CHANGE_TIME, is_changing);
    if is_changing(&mut changes) {
        return Err(Error::Failed(
            "files of the prompt are being changed; try again when that is done".to_owned(),
        ));
    }
    Ok(Unchanged(changes))
}

impl Workspace {
    /// Begins to change what is at a path. Where that is kept, and new to what keeps it, this ends first.
    pub(super) fn changing(&self, root: &Root, path: &Path) -> Result<Changing, Failure> {
        let writing = Hold::of_process().write().map_err(io::Error::other)?;
        let unkept = self.unkept(root, path)?;
        Ok(Changing { writing, unkept })
    }

    fn unkept(&self, root: &Root, path: &Path) -> Result<Option<Unkept>, Failure> {
        // What is refused needs nothing to end.
        if self.kept == Kept::PromptAndReceived {
            return Ok(None);
        }
        let Some(workspace) = self.folders.roots.workspace_path() else {
            return Ok(None);
        };
        let changing = Unkept::begin(workspace);
        if !kept::is_any_at_work(workspace) {
            return Ok(Some(changing));
        }
        let guards = guard_places(workspace, Kept::Prompt).map_err(io::Error::other)?;
        let marks: io::Result<Vec<Mark>> = guards.iter().map(Guard::mark).collect();
        let marks = marks?;
        let is_kept = |path: &Path| {
            let found = self.locate(root, path, Intent::Write, &marks);
            matches!(found, Err(Failure::Rule(Rule::ReadOnly)))
        };
        // In a folder that is kept nothing is new.
        let beside = path.with_file_name("-");
        if !is_kept(path) || is_kept(&beside) {
            return Ok(None);
        }
        let watch = Stopwatch::start();
        while !kept::end_all(workspace) {
            if watch.elapsed() > END_TIME {
                let why = "a command that has to leave it as it is does not end";
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, why).into());
            }
            std::thread::sleep(POLL);
        }
        Ok(Some(changing))
    }
}
