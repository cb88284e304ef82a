//! Sees when the file of jobs is changed by another program, such as an editor.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::limits::cron::{WATCH_BYTES, WATCH_RETRY};
use crate::sys;

/// Notifies of each change of a file, until the runtime ends. Where the kernel cannot watch, changes by
/// hand are seen at the next look only; the command line tells the gateway of its own.
pub(super) async fn keep(file: PathBuf, changed: Arc<Notify>) {
    loop {
        if let Err(error) = watch(&file, &changed).await {
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
    sys::file::private_folder(folder).map_err(io::Error::other)?;
    let watcher: OwnedFd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    // A file that is written in place, one that takes its place, and one that is taken away.
    let events = WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    inotify::add_watch(&watcher, folder, events)?;
    let watcher = AsyncFd::with_interest(watcher, Interest::READABLE)?;
    loop {
        let mut ready = watcher.readable().await?;
        let mut buffer = [const { MaybeUninit::uninit() }; WATCH_BYTES];
        let mut reader = Reader::new(watcher.get_ref(), &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let of_folder = inotify::ReadFlags::DELETE_SELF
                        | inotify::ReadFlags::MOVE_SELF
                        | inotify::ReadFlags::IGNORED;
                    if event.events().intersects(of_folder) {
                        return Ok(());
                    }
                    let named = event.file_name();
                    if named.is_none_or(|named| named.to_bytes() == name.as_encoded_bytes()) {
                        changed.notify_one();
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        ready.clear_ready();
    }
}
