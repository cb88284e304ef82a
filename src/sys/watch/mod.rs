//! Changes of a file that other programs make: inotify(7).

pub mod events;
pub mod ping;

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Bytes that are read at a time about changes in the folder of the jobs: an event has 16 and a name.
const WATCH_BYTES: usize = 1024;

/// Watches one name in a folder.
pub struct Watcher {
    inotify: AsyncFd<OwnedFd>,
    name: OsString,
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The file was written, replaced or removed.
    Changed,
    /// The folder is gone: nothing more will be seen.
    FolderGone,
}

impl Watcher {
    /// Begins to watch. Must be called on tokio's runtime.
    #[expect(
        unsafe_code,
        reason = "tokio cannot know that the descriptor stays open"
    )]
    pub fn new(folder: &Path, name: &OsStr) -> io::Result<Self> {
        let watcher = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let events = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        inotify::add_watch(&watcher, folder, events)?;
        // SAFETY: the `AsyncFd` owns the descriptor, so `as_raw_fd` returns the same open one until it drops it.
        let inotify = unsafe { AsyncFd::register_with_interest(watcher, Interest::READABLE) }?;
        Ok(Self {
            inotify,
            name: name.to_owned(),
        })
    }

    /// Waits until something is seen. Nothing runs meanwhile.
    pub async fn seen(&mut self) -> io::Result<Seen> {
        loop {
            let mut ready = self.inotify.readable().await?;
            match read(self.inotify.get_ref(), &self.name)? {
                Some(seen) => return Ok(seen),
                None => ready.clear_ready(),
            }
        }
    }
}

/// Reads all that has happened; `None` when nothing of it matters.
fn read(inotify: &OwnedFd, name: &OsStr) -> io::Result<Option<Seen>> {
    let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
    let mut buffer = [const { MaybeUninit::uninit() }; WATCH_BYTES];
    let mut reader = Reader::new(inotify, &mut buffer);
    let mut seen = None;
    loop {
        match reader.next() {
            Ok(event) if event.events().intersects(gone) => return Ok(Some(Seen::FolderGone)),
            Ok(event) => {
                // Events were lost: any of them may have been ours.
                let is_overflow = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                let is_ours = event
                    .file_name()
                    .is_some_and(|named| named.to_bytes() == name.as_encoded_bytes());
                if is_ours || is_overflow {
                    seen = Some(Seen::Changed);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => return Ok(seen),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_or_replaced_is_seen_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let name = OsStr::new("jobs.json");
            let mut watcher = Watcher::new(folder.path(), name).unwrap();
            std::fs::write(path("runs.jsonl"), "1").unwrap();
            assert_eq!(read(watcher.inotify.get_ref(), name).unwrap(), None);
            std::fs::write(path("jobs.json"), "1").unwrap();
            assert_eq!(watcher.seen().await.unwrap(), Seen::Changed);
            std::fs::write(path("new"), "2").unwrap();
            std::fs::rename(path("new"), path("jobs.json")).unwrap();
            assert_eq!(watcher.seen().await.unwrap(), Seen::Changed);
            std::fs::remove_dir_all(folder.path()).unwrap();
            while watcher.seen().await.unwrap() != Seen::FolderGone {}
        });
    }
}
