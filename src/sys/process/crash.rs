//! A mark in a file that a crash of this program leaves, and a kill or a power cut does not.

#![expect(unsafe_code, reason = "sigaction(2)")]

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// What a crash writes to the file.
pub const MARK: u8 = b'!';

/// Where in the file. What comes before is the owner's.
pub const MARK_AT: u64 = 32;

/// The file's descriptor; -1 for none.
static FILE: AtomicI32 = AtomicI32::new(-1);

/// Has a crash leave its mark in this file. A panic, an overflow of a stack and a watchdog's signal all
/// end in SIGABRT (abort(3)).
pub fn mark_in(file: &File) -> io::Result<()> {
    keep(file.try_clone()?.into_raw_fd());
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeros are a valid sigaction, whose mask is made below; the handler makes one system call
    // that may be made in a handler (signal-safety(7)).
    let done = unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = leave_mark as *const () as libc::sighandler_t;
        // The stack that has overflowed cannot be used.
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGABRT, action, ptr::null_mut())
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Leaves no mark from now on.
pub fn forget() {
    keep(-1);
}

fn keep(descriptor: c_int) {
    let before = FILE.swap(descriptor, Ordering::Relaxed);
    if before >= 0 {
        // SAFETY: it came from `into_raw_fd`, and the swap has given it to nothing else.
        drop(unsafe { File::from_raw_fd(before) });
    }
}

extern "C" fn leave_mark(_signal: c_int) {
    let descriptor = FILE.load(Ordering::Relaxed);
    // SAFETY: the kernel reads one byte of a constant. Without a file it refuses.
    unsafe { libc::pwrite(descriptor, [MARK].as_ptr().cast(), 1, MARK_AT as _) };
}
