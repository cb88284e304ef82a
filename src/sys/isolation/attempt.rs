//! System calls that a confined process must not get through with: `doctor sandbox` tries them.
//! Each does no harm if it is let through after all.

#![expect(unsafe_code, reason = "calls that no library offers safely")]

use rustix::process::Pid;
use rustix::thread::{CapabilitySet, UnshareFlags};

/// Whether another process can be traced (ptrace(2)); it is let go at once.
pub fn trace(pid: Pid) -> bool {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_SEIZE and PTRACE_DETACH take no memory, and the tracee is not stopped.
    unsafe {
        let traced = libc::ptrace(libc::PTRACE_SEIZE, pid.as_raw_pid(), none, none) == 0;
        if traced {
            libc::ptrace(libc::PTRACE_DETACH, pid.as_raw_pid(), none, none);
        }
        traced
    }
}

/// Whether a user namespace can be made, in which one may do everything.
pub fn new_user_namespace() -> bool {
    // SAFETY: only the user namespace is left; no memory and no descriptor is concerned.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }.is_ok()
}

/// Whether something can be mounted over a folder.
pub fn mount_over(folder: &std::path::Path) -> bool {
    let flags = rustix::mount::MountFlags::empty();
    let none: Option<&std::ffi::CStr> = None;
    rustix::mount::mount("tmpfs", folder, "tmpfs", flags, none).is_ok()
}

/// Whether the kernel can be asked for its keys (keyctl(2), KEYCTL_GET_KEYRING_ID).
pub fn keyring() -> bool {
    // SAFETY: it takes numbers only and answers with a number; -3 is the session's keyring.
    unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 0) >= 0 }
}

/// Whether the kernel's performance counters answer: a call with nonsense is refused with another
/// error than the filter's.
pub fn performance_events() -> bool {
    // SAFETY: a null pointer is refused with EFAULT.
    let opened = unsafe { libc::syscall(libc::SYS_perf_event_open, 0, 0, -1, -1, 0) };
    opened >= 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Whether this process can become another user, has a capability, or could get one.
pub fn gain_rights() -> bool {
    let other = match rustix::process::getuid().is_root() {
        true => rustix::process::Uid::from_raw(12_345),
        false => rustix::process::Uid::ROOT,
    };
    let capable = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective | sets.permitted != CapabilitySet::empty());
    let could = !rustix::thread::no_new_privs().unwrap_or(false);
    capable || could || rustix::thread::set_thread_uid(other).is_ok()
}

/// How many descriptors from `first` on would go on to a program that is run.
pub fn descriptors_from(first: i32) -> usize {
    let open = |number: &i32| {
        // SAFETY: fcntl(2) with F_GETFD takes a number only; one that is no descriptor is refused.
        let flags = unsafe { libc::fcntl(*number, libc::F_GETFD) };
        flags >= 0 && flags & libc::FD_CLOEXEC == 0
    };
    (first..1024).filter(open).count()
}
