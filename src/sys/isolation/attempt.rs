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

/// A system call by its purpose: its number, its first arguments (the others are 0), and the error of
/// a kernel that looked at them. One that is refused with another error was blocked.
pub type Call = (&'static str, libc::c_long, [libc::c_long; 3], libc::c_int);

/// Calls on the kernel that take numbers or null pointers, so that they change nothing when they are
/// let through. 0 as the error: only success shows that.
pub const KERNEL: &[Call] = &[
    ("ask for the kernel's keys", libc::SYS_keyctl, [0, -3, 0], 0),
    (
        "use performance counters",
        libc::SYS_perf_event_open,
        [0, 0, -1],
        libc::EFAULT,
    ),
    (
        "load a program into the kernel",
        libc::SYS_bpf,
        [0xffff, 0, 0],
        libc::EINVAL,
    ),
    (
        "load a kernel module",
        libc::SYS_finit_module,
        [-1, 0, 0],
        libc::EBADF,
    ),
    (
        "use io_uring",
        libc::SYS_io_uring_setup,
        [1, 0, 0],
        libc::EFAULT,
    ),
    ("queue writes", libc::SYS_io_setup, [1, 0, 0], libc::EFAULT),
    (
        "take a lease on a file",
        libc::SYS_fcntl,
        [-1, 1024, 1],
        libc::EBADF,
    ),
    (
        "handle page faults",
        libc::SYS_userfaultfd,
        [-1, 0, 0],
        libc::EINVAL,
    ),
    (
        "restart the machine",
        libc::SYS_reboot,
        [0, 0, 0],
        libc::EINVAL,
    ),
    ("set the clock", libc::SYS_settimeofday, [0, 0, 0], 0),
    ("add swap space", libc::SYS_swapon, [0, 0, 0], libc::EFAULT),
    (
        "rename the machine",
        libc::SYS_sethostname,
        [0, -1, 0],
        libc::EINVAL,
    ),
    (
        "type into a terminal",
        libc::SYS_ioctl,
        [0, 0x5412, 0],
        libc::ENOTTY,
    ),
    (
        "open a file by its number",
        libc::SYS_open_by_handle_at,
        [libc::AT_FDCWD as libc::c_long, 0, 0],
        libc::EFAULT,
    ),
    ("watch all files", libc::SYS_fanotify_init, [0, 0, 0], 0),
    (
        "make a file system",
        libc::SYS_fsopen,
        [0, 0, 0],
        libc::EFAULT,
    ),
    (
        "join other namespaces",
        libc::SYS_setns,
        [-1, 0, 0],
        libc::EBADF,
    ),
    (
        "start a process in new namespaces",
        libc::SYS_clone3,
        [0, 0, 0],
        libc::EINVAL,
    ),
    (
        "take precedence over other processes",
        libc::SYS_setpriority,
        [0, 0, -20],
        0,
    ),
];

/// The same against another process.
pub fn on_process(pid: Pid) -> [Call; 4] {
    let pid = pid.as_raw_pid() as libc::c_long;
    [
        (
            "read the daemon's memory",
            libc::SYS_process_vm_readv,
            [pid, 0, 0],
            0,
        ),
        (
            "take the daemon's open files",
            libc::SYS_pidfd_getfd,
            [-1, 0, 0],
            libc::EBADF,
        ),
        (
            "change the daemon's limits",
            libc::SYS_prlimit64,
            [pid, libc::RLIMIT_CORE as libc::c_long, 0],
            0,
        ),
        (
            "change the daemon's priority",
            libc::SYS_setpriority,
            [0, pid, 0],
            0,
        ),
    ]
}

/// Calls on the network.
pub const NETWORK: &[Call] = &[
    (
        "read all network packets",
        libc::SYS_socket,
        [
            libc::AF_PACKET as libc::c_long,
            libc::SOCK_RAW as libc::c_long,
            0,
        ],
        0,
    ),
    (
        "forge network packets",
        libc::SYS_socket,
        [
            libc::AF_INET as libc::c_long,
            libc::SOCK_RAW as libc::c_long,
            1,
        ],
        0,
    ),
];

/// Whether the call gets through.
pub fn gets_through(call: &Call) -> bool {
    let (_, number, [first, second, third], error) = *call;
    let rest: libc::c_long = 0;
    // SAFETY: the calls of this file take numbers and null pointers, which the kernel does not follow.
    let done = unsafe { libc::syscall(number, first, second, third, rest, rest, rest) };
    let why = std::io::Error::last_os_error().raw_os_error();
    done >= 0 || error != 0 && why == Some(error)
}

/// Whether more files may be opened than before (setrlimit(2)).
pub fn lift_limit() -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let more = now.maximum.map(|most| most + 1);
    let lifted = Rlimit {
        current: more,
        maximum: more,
    };
    more.is_some() && setrlimit(Resource::Nofile, lifted).is_ok()
}

/// Whether this process can become another user, has a capability, or could get one.
pub fn gain_rights() -> bool {
    let other = if rustix::process::getuid().is_root() {
        rustix::process::Uid::from_raw(12_345)
    } else {
        rustix::process::Uid::ROOT
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
