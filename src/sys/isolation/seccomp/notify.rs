//! Calls that the filter hands to a supervisor, who says whether they may go on
//! (seccomp_unotify(2)). Only for calls whose arguments are numbers: those cannot change meanwhile.

#![expect(unsafe_code, reason = "the ioctls of a filter's descriptor")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Where the questions of a filter arrive.
pub struct Listener(OwnedFd);

/// A call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    id: u64,
    /// The call's first argument, as a signed number.
    pub target: i32,
}

/// `struct seccomp_notif`
#[repr(C)]
#[derive(Default)]
struct Notification {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`
#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: u32 = 0xc050_2100;
const SEND: u32 = 0xc018_2101;
/// SECCOMP_USER_NOTIF_FLAG_CONTINUE, from kernel 5.5 on.
const CONTINUE: u32 = 1;

impl Listener {
    /// Takes the descriptor that installing the filter gave.
    pub fn new(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// The next call that waits. An error of kind `NotFound` means that its process was killed
    /// meanwhile.
    pub fn question(&self) -> io::Result<Question> {
        const { assert!(size_of::<Notification>() == 80) };
        let mut asked = Notification::default();
        // SAFETY: the kernel fills the structure, which has the size that the request's number says.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &raw mut asked) };
        match done {
            0 => Ok(Question {
                id: asked.id,
                target: asked.arguments[0] as i32,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Lets the call go on, or refuses it with EPERM.
    pub fn answer(&self, question: Question, allowed: bool) {
        const { assert!(size_of::<Response>() == 24) };
        let response = Response {
            id: question.id,
            value: 0,
            error: if allowed { 0 } else { -libc::EPERM },
            flags: if allowed { CONTINUE } else { 0 },
        };
        // SAFETY: the kernel reads the structure, which has the size that the request's number says.
        // It fails when the process was killed meanwhile, which needs no answer any more.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, &raw const response) };
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
