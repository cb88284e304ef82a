//! The system calls that no tool needs, with their numbers on each architecture that we ship.
//!
//! A table, so it may be long. Sources: the kernel's `arch/x86/entry/syscalls/syscall_64.tbl`,
//! `scripts/syscall.tbl` (aarch64 and riscv64 share it) and `arch/arm/tools/syscall.tbl`.

/// Stands for "this architecture does not have the call".
pub const NONE: u32 = u32::MAX;

/// Where an architecture's numbers stand in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Numbers {
    /// x86_64.
    X86 = 0,
    /// aarch64 and riscv64.
    Generic = 1,
    /// 32-bit ARM with the EABI: armv6 and armv7.
    Arm = 2,
}

/// A call's numbers: x86_64, generic, arm.
pub type Row = [u32; 3];

/// A call about which the supervisor may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `kill` and its like.
    Signal,
    /// `listen`.
    Listen,
    /// `connect`.
    Connect,
    /// `chmod`: path, mode.
    Chmod,
    /// `fchmod`: descriptor, mode.
    DescriptorMode,
    /// `fchmodat`: folder, path, mode.
    ModeAt,
    /// `fchmodat2`: folder, path, mode, flags.
    ModeAtFlags,
    /// `inotify_add_watch`: descriptor, path, mask.
    Watch,
}

/// The call that a number means in a column.
pub fn asked(column: Numbers, number: u32) -> Option<Call> {
    let is = |row: &Row| row[column as usize] == number && number != NONE;
    let others = [
        (Call::Listen, &LISTEN),
        (Call::Connect, &CONNECT),
        (Call::Watch, &WATCH),
    ];
    let signals = SIGNALS.iter().map(|(_, row)| (Call::Signal, row));
    let modes = MODES.iter().map(|(call, row, _)| (*call, row));
    let mut all = others.into_iter().chain(signals).chain(modes);
    all.find(|(_, row)| is(row)).map(|(call, _)| call)
}

/// What a refused call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// EPERM: it may not.
    Denied,
    /// ENOSYS: the kernel is too old, so that libraries take their older way.
    Absent,
}

use Answer::{Absent, Denied};

/// Calls that are refused whatever their arguments are.
pub const REFUSED: &[(&str, Row, Answer)] = &[
    // Looking into and steering other processes.
    ("ptrace", [101, 117, 26], Denied),
    ("process_vm_readv", [310, 270, 376], Denied),
    ("process_vm_writev", [311, 271, 377], Denied),
    ("kcmp", [312, 272, 378], Denied),
    ("pidfd_getfd", [438, 438, 438], Denied),
    // Changing what is mounted where.
    ("mount", [165, 40, 21], Denied),
    ("umount2", [166, 39, 52], Denied),
    ("pivot_root", [155, 41, 218], Denied),
    ("chroot", [161, 51, 61], Denied),
    ("open_tree", [428, 428, 428], Denied),
    ("move_mount", [429, 429, 429], Denied),
    ("fsopen", [430, 430, 430], Denied),
    ("fsconfig", [431, 431, 431], Denied),
    ("fsmount", [432, 432, 432], Denied),
    ("fspick", [433, 433, 433], Denied),
    ("mount_setattr", [442, 442, 442], Denied),
    ("open_tree_attr", [467, 467, 467], Denied),
    ("open_by_handle_at", [304, 265, 371], Denied),
    // New namespaces: the way to rights that the rest of the kernel then has to withstand.
    ("unshare", [272, 97, 337], Denied),
    ("setns", [308, 268, 375], Denied),
    // Their flags stand in memory, where a filter cannot read them; libraries take the older call.
    ("clone3", [435, 435, 435], Absent),
    ("openat2", [437, 437, 437], Absent),
    // Code and keys in the kernel.
    ("bpf", [321, 280, 386], Denied),
    ("init_module", [175, 105, 128], Denied),
    ("finit_module", [313, 273, 379], Denied),
    ("delete_module", [176, 106, 129], Denied),
    ("kexec_load", [246, 104, 347], Denied),
    ("kexec_file_load", [320, 294, 401], Denied),
    ("add_key", [248, 217, 309], Denied),
    ("request_key", [249, 218, 310], Denied),
    ("keyctl", [250, 219, 311], Denied),
    // The machine itself.
    ("reboot", [169, 142, 88], Denied),
    ("swapon", [167, 224, 87], Denied),
    ("swapoff", [168, 225, 115], Denied),
    ("acct", [163, 89, 51], Denied),
    ("quotactl", [179, 60, 131], Denied),
    ("quotactl_fd", [443, 443, 443], Denied),
    ("sethostname", [170, 161, 74], Denied),
    ("setdomainname", [171, 162, 121], Denied),
    ("vhangup", [153, 58, 111], Denied),
    ("iopl", [172, NONE, NONE], Denied),
    ("ioperm", [173, NONE, NONE], Denied),
    ("modify_ldt", [154, NONE, NONE], Denied),
    // The clock.
    ("settimeofday", [164, 170, 79], Denied),
    ("clock_settime", [227, 112, 262], Denied),
    ("clock_settime64", [NONE, NONE, 404], Denied),
    ("adjtimex", [159, 171, 124], Denied),
    ("clock_adjtime", [305, 266, 372], Denied),
    ("clock_adjtime64", [NONE, NONE, 405], Denied),
    // Large parts of the kernel with a history of holes.
    ("perf_event_open", [298, 241, 364], Denied),
    ("userfaultfd", [323, 282, 388], Denied),
    ("fanotify_init", [300, 262, 367], Denied),
    // What was queued is written later, also by a process that is frozen.
    ("io_setup", [206, 0, 243], Absent),
    ("io_submit", [209, 2, 246], Absent),
    ("io_uring_setup", [425, 425, 425], Absent),
    ("io_uring_enter", [426, 426, 426], Absent),
    ("io_uring_register", [427, 427, 427], Absent),
];

/// `clone`, whose first argument are the flags on all of these architectures.
pub const CLONE: Row = [56, 220, 120];
/// `ioctl`, whose second argument is the request.
pub const IOCTL: Row = [16, 29, 54];
/// `socket`, whose first two arguments are the family and the type.
pub const SOCKET: Row = [41, 198, 281];
/// `socketpair`, with the same arguments.
pub const SOCKETPAIR: Row = [53, 199, 288];
/// `connect`.
pub const CONNECT: Row = [42, 203, 283];
/// `listen`.
pub const LISTEN: Row = [50, 201, 284];
/// `prctl`.
pub const PRCTL: Row = [157, 167, 172];
/// `inotify_add_watch`.
pub const WATCH: Row = [254, 27, 317];
/// Calls that set a file's mode, and which argument that is.
pub const MODES: &[(Call, Row, u32)] = &[
    (Call::Chmod, [90, NONE, 15], 1),
    (Call::DescriptorMode, [91, 52, 94], 1),
    (Call::ModeAt, [268, 53, 333], 2),
    (Call::ModeAtFlags, [452, 452, 452], 2),
];
/// Calls that make a file with a mode, and which argument that is.
pub const MAKES: &[(&str, Row, u32)] = &[
    ("creat", [85, NONE, 8], 1),
    ("mknod", [133, NONE, 14], 1),
    ("mknodat", [259, 33, 324], 2),
];
/// Calls that set a file's further attributes, its access control list among them.
pub const ATTRIBUTES: &[(&str, Row)] = &[
    ("setxattr", [188, 5, 226]),
    ("lsetxattr", [189, 6, 227]),
    ("fsetxattr", [190, 7, 228]),
    ("removexattr", [197, 14, 235]),
    ("lremovexattr", [198, 15, 236]),
    ("fremovexattr", [199, 16, 237]),
    ("setxattrat", [463, 463, 463]),
    ("removexattrat", [466, 466, 466]),
    ("file_setattr", [469, 469, 469]),
];
/// Memory, semaphores and queues that everybody on the machine shares, by number and not by name.
pub const SHARED: &[(&str, Row)] = &[
    ("shmget", [29, 194, 307]),
    ("shmat", [30, 196, 305]),
    ("shmctl", [31, 195, 308]),
    ("semget", [64, 190, 299]),
    ("semop", [65, 193, 298]),
    ("semctl", [66, 191, 300]),
    ("semtimedop", [220, 192, 312]),
    ("semtimedop_time64", [NONE, NONE, 420]),
    ("msgget", [68, 186, 303]),
    ("msgsnd", [69, 189, 301]),
    ("msgrcv", [70, 188, 302]),
    ("msgctl", [71, 187, 304]),
    ("mq_open", [240, 180, 274]),
    ("mq_unlink", [241, 181, 275]),
];
/// Calls that send a signal to the process or thread that their first argument names.
pub const SIGNALS: &[(&str, Row)] = &[
    ("kill", [62, 129, 37]),
    ("tkill", [200, 130, 238]),
    ("tgkill", [234, 131, 268]),
    ("rt_sigqueueinfo", [129, 138, 178]),
    ("rt_tgsigqueueinfo", [297, 240, 363]),
];
/// Calls that send one to what a descriptor stands for; libraries fall back to those above.
pub const DESCRIPTOR_SIGNALS: &[(&str, Row)] = &[
    ("pidfd_open", [434, 434, 434]),
    ("pidfd_send_signal", [424, 424, 424]),
];
/// `fcntl`, whose second argument is the command.
pub const FCNTL: &[(&str, Row)] = &[("fcntl", [72, 25, 55]), ("fcntl64", [NONE, NONE, 221])];
/// Calls that change how a process runs, and which argument names the process: 0 is the caller. Then
/// what the first argument is where 0 stands for all processes of the user (PRIO_USER,
/// IOPRIO_WHO_USER).
pub const STEERING: &[(&str, Row, u32, u32)] = &[
    ("prlimit64", [302, 261, 369], 0, NONE),
    ("setpriority", [141, 140, 97], 1, 2),
    ("ioprio_set", [251, 30, 314], 1, 3),
    ("sched_setparam", [142, 118, 154], 0, NONE),
    ("sched_setscheduler", [144, 119, 156], 0, NONE),
    ("sched_setaffinity", [203, 122, 241], 0, NONE),
    ("sched_setattr", [314, 274, 380], 0, NONE),
];
/// Calls that cut a file off by its path.
pub const TRUNCATES: &[(&str, Row)] = &[
    ("truncate", [76, 45, 92]),
    ("truncate64", [NONE, NONE, 193]),
];
/// `open`, whose second argument are the flags.
pub const OPEN: Row = [2, NONE, 5];
/// `openat`, whose third argument are the flags.
pub const OPENAT: Row = [257, 56, 322];
