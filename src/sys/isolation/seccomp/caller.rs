//! The process behind a question of the filter: its memory and its descriptors. Each is taken once;
//! what is decided about is the copy.

#![expect(unsafe_code, reason = "connect(2) with an address as bytes")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::notify;

/// Whether a supervisor may take from its descendants here what it needs: a kernel from 5.6 on, a
/// /proc, and no setting that keeps it out (Yama, 2: only with privileges).
pub fn available() -> bool {
    let yama = std::fs::read("/proc/sys/kernel/yama/ptrace_scope");
    let kept_out = yama.is_ok_and(|value| value.first().is_some_and(|first| *first >= b'2'));
    let own = pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
    // No process has that many descriptors.
    let taken = own.and_then(|own| pidfd_getfd(own, i32::MAX, PidfdGetfdFlags::empty()));
    // Not opened: a process that is not dumpable may not open even its own.
    let has_memory = std::fs::exists("/proc/self/mem").unwrap_or(false);
    !kept_out && has_memory && taken.err() == Some(Errno::BADF) && notify::available()
}

/// A process that waits for an answer. One that is gone meanwhile may have another process in its
/// place: see [`notify::Listener::waits`].
pub struct Caller {
    thread: i32,
    process: OwnedFd,
}

impl Caller {
    /// The process of a thread.
    pub fn of(thread: i32) -> io::Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status"))?;
        let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let group = group.and_then(|group| group.trim().parse().ok());
        let process = group.and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        Ok(Self {
            thread,
            process: pidfd_open(process, PidfdFlags::empty())?,
        })
    }

    /// What one of its descriptors stands for.
    pub fn descriptor(&self, number: i32) -> io::Result<OwnedFd> {
        match pidfd_getfd(&self.process, number, PidfdGetfdFlags::empty()) {
            // So it is said of a process whose memory is closed to us.
            Err(Errno::PERM) => Err(Errno::ACCESS.into()),
            other => Ok(other?),
        }
    }

    /// The folder in which it is.
    pub fn folder(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/cwd", self.thread);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
    }

    /// At most `length` bytes of its memory; fewer where it ends.
    pub fn bytes(&self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        let memory = File::open(format!("/proc/{}/mem", self.thread)).map_err(|_| Errno::ACCESS)?;
        let mut bytes = vec![0; length];
        // Past the last page the kernel says EIO.
        let read = rustix::io::pread(&memory, &mut bytes, address).map_err(|_| Errno::FAULT)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// A path in its memory, without the zero at its end.
    pub fn path(&self, address: u64) -> io::Result<Vec<u8>> {
        let mut bytes = self.bytes(address, libc::PATH_MAX as usize)?;
        let end = bytes.iter().position(|byte| *byte == 0);
        bytes.truncate(end.ok_or(Errno::NAMETOOLONG)?);
        Ok(bytes)
    }
}

/// Connects a socket to an address as the kernel reads it (`struct sockaddr`).
pub fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the kernel copies `length` bytes, which is what there is.
    let done = unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The path by which a descriptor of this process can be named in a call.
pub fn path_of(descriptor: impl AsFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd())
}
