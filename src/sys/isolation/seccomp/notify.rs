//! Calls that the filter hands to a supervisor (seccomp_unotify(2)). Where the arguments are numbers
//! it says whether they may go on. What they point to could change after it has looked: such a call
//! it makes itself, with a copy, and answers with what came of it.

#![expect(unsafe_code, reason = "the ioctls of a filter's descriptor")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::{ARCHITECTURES, Call, table};

/// Where the questions of a filter arrive.
pub struct Listener(OwnedFd);

/// A call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    id: u64,
    /// The thread that asks.
    pub thread: i32,
    /// What it asks for; none for a call that the filter does not ask about.
    pub call: Option<Call>,
    /// The call's arguments.
    pub arguments: [u64; 6],
}

impl Question {
    /// An argument that is an `int`.
    pub fn number(&self, index: usize) -> i32 {
        self.arguments[index] as i32
    }
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

impl Notification {
    fn call(&self) -> Option<Call> {
        let mut known = ARCHITECTURES.iter();
        let architecture = known.find(|one| one.word == self.architecture)?;
        table::asked(architecture.numbers, self.number as u32)
    }
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
/// SECCOMP_IOCTL_NOTIF_ID_VALID as kernels since 5.17 have it; they know the older one too.
const VALID: u32 = 0x4008_2102;
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
                thread: asked.pid as i32,
                call: asked.call(),
                arguments: asked.arguments,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Whether the thread still waits. What was taken from its process before is that process's:
    /// its number was not given to another one meanwhile.
    pub fn waits(&self, question: &Question) -> bool {
        // SAFETY: the kernel reads the number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), VALID as _, &raw const question.id) == 0 }
    }

    /// Lets the call go on, or refuses it with EPERM.
    pub fn decide(&self, question: &Question, allowed: bool) {
        self.respond(&Response {
            id: question.id,
            value: 0,
            error: if allowed { 0 } else { -libc::EPERM },
            flags: if allowed { CONTINUE } else { 0 },
        });
    }

    /// Says what came of the call, which was made for the thread.
    pub fn answer(&self, question: &Question, result: io::Result<i64>) {
        let (value, error) = match result {
            Ok(value) => (value, 0),
            Err(error) => (0, -error.raw_os_error().unwrap_or(libc::EACCES)),
        };
        self.respond(&Response {
            id: question.id,
            value,
            error,
            flags: 0,
        });
    }

    fn respond(&self, response: &Response) {
        const { assert!(size_of::<Response>() == 24) };
        // SAFETY: the kernel reads the structure, which has the size that the request's number says.
        // It fails when the process was killed meanwhile, which needs no answer any more.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, &raw const *response) };
    }
}

/// Whether the kernel hands calls to a supervisor.
pub fn available() -> bool {
    const GET_SIZES: libc::c_uint = 3;
    let nowhere = std::ptr::null_mut::<u8>();
    // SAFETY: a null pointer is refused with EFAULT by a kernel that knows the request.
    let asked = unsafe { libc::syscall(libc::SYS_seccomp, GET_SIZES, 0, nowhere) };
    asked == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
