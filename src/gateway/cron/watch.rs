//! Sees when the file of jobs is changed by another program, such as an editor.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Notify;

use crate::sys::file::private_folder;
use crate::sys::watch::{Seen, Watcher};
use std::time::Duration;

/// Wait before the folder of the jobs is watched again.
const WATCH_RETRY: Duration = Duration::from_mins(1);

/// Notifies of each change of the file, until the runtime ends. Where the kernel cannot watch, a change by
/// hand is seen at the next look only; the command line tells the gateway of its own.
pub(super) async fn keep(file: PathBuf, changed: Arc<Notify>) {
    let mut is_logged = false;
    loop {
        if let Err(error) = watch(&file, &changed).await
            && !std::mem::replace(&mut is_logged, true)
        {
            tracing::warn!("failed to watch {}: {error}", file.display());
        }
        tokio::time::sleep(WATCH_RETRY).await;
        changed.notify_one();
    }
}

/// Returns when the folder is gone.
async fn watch(file: &Path, changed: &Notify) -> io::Result<()> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return Ok(());
    };
    private_folder(folder).map_err(io::Error::other)?;
    let mut watcher = Watcher::new(folder, name)?;
    // What came before it began.
    changed.notify_one();
    while watcher.seen().await? == Seen::Changed {
        changed.notify_one();
    }
    Ok(())
}
