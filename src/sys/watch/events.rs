//! Events of the kernel for a thread that waits for many of them at once (poll(2)).

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags};

use crate::base::limits::watch::EVENT_BYTES;

/// Wakes a thread that waits, from another one (eventfd(2)).
#[derive(Debug)]
pub struct Wake(OwnedFd);

impl Wake {
    /// One that has not been used.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(eventfd(0, flags)?))
    }

    /// Wakes the thread, now or when it waits next.
    pub fn wake(&self) {
        // It fails only when the counter is full: the thread is woken already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Takes what has woken the thread.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What is seen of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// A file's content changes, or the file goes.
    Content,
    /// Names in a folder come and go.
    Names,
    /// The same, and files in it are written in place.
    Files,
}

/// Changes of many files and folders (inotify(7)).
#[derive(Debug)]
pub struct Changes(OwnedFd);

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number that [`Changes::add`] gave; `None`: events were lost, and any path may have changed.
    pub watch: Option<i32>,
    /// The name in a folder.
    pub name: Option<OsString>,
    /// Whether the path is gone, and the watch with it.
    pub is_gone: bool,
}

impl Changes {
    /// Of no path so far.
    pub fn new() -> io::Result<Self> {
        Ok(Self(inotify::init(
            CreateFlags::NONBLOCK | CreateFlags::CLOEXEC,
        )?))
    }

    /// Sees changes of a path from now on. The same path has the same number again.
    pub fn add(&self, path: &Path, interest: Interest) -> io::Result<i32> {
        let names = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR;
        let events = match interest {
            Interest::Content => {
                WatchFlags::MODIFY
                    | WatchFlags::CLOSE_WRITE
                    | WatchFlags::ATTRIB
                    | WatchFlags::DELETE_SELF
                    | WatchFlags::MOVE_SELF
            }
            Interest::Names => names,
            Interest::Files => names | WatchFlags::CLOSE_WRITE,
        };
        // Else the interest of another one in the same path would end.
        Ok(inotify::add_watch(
            &self.0,
            path,
            events | WatchFlags::MASK_ADD,
        )?)
    }

    /// Sees nothing more of a number.
    pub fn remove(&self, watch: i32) {
        // It may be gone already.
        let _ = inotify::remove_watch(&self.0, watch);
    }

    /// Takes all that has happened.
    pub fn read(&self, each: &mut dyn FnMut(Change)) {
        let mut buffer = [const { MaybeUninit::uninit() }; EVENT_BYTES];
        let mut reader = Reader::new(&self.0, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let flags = event.events();
                    let name = event.file_name();
                    let is_lost = flags.contains(ReadFlags::QUEUE_OVERFLOW);
                    each(Change {
                        watch: (!is_lost).then(|| event.wd()),
                        name: name.map(|name| OsString::from_vec(name.to_bytes().to_vec())),
                        is_gone: flags.contains(ReadFlags::IGNORED),
                    });
                }
                Err(Errno::INTR) => {}
                // Nothing is left, or nothing can be read.
                Err(_) => return,
            }
        }
    }
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A descriptor that is readable once the process has ended (pidfd_open(2)). Fails with `ESRCH` when it has.
pub fn process(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)
}

/// A socket that is readable when an address of a network interface has come or gone (rtnetlink(7)).
pub fn addresses() -> io::Result<OwnedFd> {
    // `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV6_IFADDR` of linux/rtnetlink.h.
    const GROUPS: u32 = 0x10 | 0x100;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let kind = SocketType::RAW;
    // No protocol is `NETLINK_ROUTE`.
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, None)?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
    Ok(socket)
}

/// Takes what a socket of [`addresses`] has.
pub fn clear(socket: impl AsFd) {
    let mut buffer = [0; EVENT_BYTES];
    while rustix::io::read(&socket, &mut buffer).is_ok_and(|read| read > 0) {}
}

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Waited<'a> {
    /// The descriptor.
    pub descriptor: BorrowedFd<'a>,
    /// Whether it says so out of band, as files of /proc and /sys do.
    pub is_priority: bool,
}

/// Waits until something is ready, or for a time; says for each whether it is. `None` waits for ever.
pub fn wait(waited: &[Waited<'_>], time: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> = waited
        .iter()
        .map(|one| {
            let events = if one.is_priority {
                PollFlags::PRI
            } else {
                PollFlags::IN
            };
            PollFd::from_borrowed_fd(one.descriptor, events)
        })
        .collect();
    let time = time.map(Timespec::try_from).transpose();
    let time = time.map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(&mut polled, time.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(polled.iter().map(|one| !one.revents().is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn is_ready(descriptor: BorrowedFd<'_>) -> bool {
        let waited = Waited {
            descriptor,
            is_priority: false,
        };
        wait(&[waited], Some(Duration::ZERO)).unwrap() == [true]
    }

    fn changes_of(changes: &Changes) -> Vec<Change> {
        let mut found = Vec::new();
        changes.read(&mut |change| found.push(change));
        found
    }

    #[test]
    fn a_wake_is_kept_until_it_is_taken() {
        let wake = Wake::new().unwrap();
        assert!(!is_ready(wake.as_fd()));
        wake.wake();
        wake.wake();
        assert!(is_ready(wake.as_fd()));
        wake.clear();
        assert!(!is_ready(wake.as_fd()));
    }

    #[test]
    fn a_file_that_grows_or_goes_and_a_name_that_comes_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        fs::write(&file, "1").unwrap();
        let changes = Changes::new().unwrap();
        let content = changes.add(&file, Interest::Content).unwrap();
        let names = changes.add(folder.path(), Interest::Names).unwrap();
        assert_eq!(changes_of(&changes), []);
        fs::write(&file, "12").unwrap();
        let seen = changes_of(&changes);
        assert!(seen.iter().all(|change| change.watch == Some(content)));
        assert!(!seen.is_empty());
        fs::remove_file(&file).unwrap();
        let seen = changes_of(&changes);
        assert!(seen.iter().any(|change| change.is_gone));
        let named = |change: &&Change| change.watch == Some(names);
        let name = seen.iter().find(named).unwrap().name.clone();
        assert_eq!(name.unwrap(), "log");
    }

    #[test]
    fn the_end_of_a_process_is_seen() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let handle = process(child.id()).unwrap();
        assert!(!is_ready(handle.as_fd()));
        drop(child.stdin.take());
        let waited = Waited {
            descriptor: handle.as_fd(),
            is_priority: false,
        };
        assert_eq!(wait(&[waited], None).unwrap(), [true]);
        child.wait().unwrap();
        assert!(process(0).is_err());
    }

    #[test]
    fn a_plain_file_has_nothing_out_of_band() {
        let file = tempfile::tempfile().unwrap();
        let waited = Waited {
            descriptor: file.as_fd(),
            is_priority: true,
        };
        assert_eq!(wait(&[waited], Some(Duration::ZERO)).unwrap(), [false]);
    }

    #[test]
    fn addresses_can_be_waited_for() {
        // A sandbox around the tests may have no such sockets.
        if let Ok(socket) = addresses() {
            clear(&socket);
            assert!(!is_ready(socket.as_fd()));
        }
    }
}
