//! A system call filter, written as BPF by ourselves because no crate has it for 32-bit ARM.
//!
//! It refuses what no tool needs (see `table`) and lets everything else through. It is not the boundary
//! but the ditch before it: less of the kernel can be reached, and a few things that neither
//! namespaces nor Landlock cover are closed. Layout of what it reads: `struct seccomp_data` in
//! seccomp(2); all our architectures are little-endian.

#![expect(unsafe_code, reason = "prctl(2) gets a pointer to the filter")]

pub mod caller;
pub mod few;
pub mod notify;
mod table;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W, sock_filter, sock_fprog,
};
pub use table::Call;
use table::{Answer, NONE, Numbers, Row};

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
/// SECCOMP_RET_USER_NOTIF: the supervisor decides.
const ASK: u32 = 0x7fc0_0000;
/// Numbers from here on are x32's, which share x86_64's architecture word.
const X32: u32 = 0x4000_0000;

/// All of CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}.
const NEW_NAMESPACES: u32 = 0x7e02_0000;
/// S_ISUID and S_ISGID: the file's owner or group lends its rights to whoever runs it.
const SET_ID: u32 = 0o6000;
/// O_CREAT and what is O_TMPFILE's own: with one of them `open` has a mode.
const CREATES: u32 = 0o100 | 0o20_000_000;
/// What of a socket's type is no flag (SOCK_TYPE_MASK).
const SOCKET_TYPE: u32 = 0xf;
/// PR_SET_DUMPABLE.
const SET_DUMPABLE: u32 = 4;
/// Requests that type into a terminal (TIOCSTI, TIOCLINUX) or change its driver (TIOCSETD).
const TERMINAL_REQUESTS: [u32; 3] = [0x5412, 0x541c, 0x5423];
/// Requests that name who gets a descriptor's signals: FIOSETOWN and SIOCSPGRP, and for fcntl
/// F_SETOWN and F_SETOWN_EX.
const OWNER_REQUESTS: [u32; 2] = [0x8901, 0x8902];
const OWNER_COMMANDS: [u32; 2] = [8, 15];
/// F_SETLEASE: as long as a process has a lease on a file, others wait for it or fail to open the file, whatever rights it has
/// there.
const SET_LEASE: u32 = 1024;

/// An architecture as the filter sees it.
struct Architecture {
    /// The word of linux/audit.h.
    word: u32,
    /// Its column in the table.
    numbers: Numbers,
    /// Whether its programs run on the kernel that this build is for. A 64-bit ARM kernel runs
    /// 32-bit programs: a board can have the one kind of system and the other kind of Peacrab.
    here: bool,
}

impl Architecture {
    /// Whether this build is for it; of ARM there are two.
    fn is_of_this_build(&self) -> bool {
        self.here && (self.numbers == Numbers::Arm) == cfg!(target_arch = "arm")
    }
}

const ARCHITECTURES: [Architecture; 4] = [
    Architecture {
        word: 0xc000_003e,
        numbers: Numbers::X86,
        here: cfg!(target_arch = "x86_64"),
    },
    Architecture {
        word: 0xc000_00f3,
        numbers: Numbers::Generic,
        here: cfg!(target_arch = "riscv64"),
    },
    Architecture {
        word: 0xc000_00b7,
        numbers: Numbers::Generic,
        here: cfg!(any(target_arch = "aarch64", target_arch = "arm")),
    },
    Architecture {
        word: 0x4000_0028,
        numbers: Numbers::Arm,
        here: cfg!(any(target_arch = "aarch64", target_arch = "arm")),
    },
];

/// What is done about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It is made.
    #[default]
    Allow,
    /// The supervisor decides about it.
    Ask,
    /// It is refused.
    Refuse,
}

/// What the filter refuses beyond the calls that it always refuses.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Socket families that may be opened (`AF_*`). Of AF_UNIX those without connection are not:
    /// each message could have another destination.
    pub families: Vec<u32>,
    /// Has the supervisor decide about each signal; see [`install`].
    pub asks_before_signals: bool,
    /// There is no process and no IPC namespace: a process may change its own limits and priorities
    /// only, and not share memory, semaphores or queues with others.
    pub shares_machine: bool,
    /// Refuses cutting files off by their path or by opening them to read: Landlock before its
    /// third version does not see that.
    pub no_truncation: bool,
    /// Waiting for connections.
    pub listening: Verdict,
    /// Has the supervisor make each connection.
    pub asks_before_connecting: bool,
    /// Changing a file's attributes, and watching one.
    pub attributes: Verdict,
}

impl Filter {
    /// Whether the supervisor is asked about anything.
    fn asks(&self) -> bool {
        self.asks_before_signals
            || self.asks_before_connecting
            || self.listening == Verdict::Ask
            || self.attributes == Verdict::Ask
    }
}

/// Whether the kernel takes filters at all.
pub fn available() -> bool {
    // SAFETY: a null filter is refused with EFAULT by a kernel that has filters; nothing changes.
    let asked = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, 0, 0, 0) };
    asked == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Puts the filter before this thread and all its children, for good. Needs `no_new_privs`. If it
/// asks, the listener comes back: whoever has it has to answer.
pub fn install(filter: &Filter) -> io::Result<Option<OwnedFd>> {
    const NEW_LISTENER: libc::c_uint = 8;
    const WAIT_KILLABLE: libc::c_uint = 32;
    let mut code = program(filter, |architecture| architecture.here);
    let asks = filter.asks();
    let mut done = match asks {
        true => set(&mut code, NEW_LISTENER | WAIT_KILLABLE),
        false => set(&mut code, 0),
    };
    if asks && done.is_err() {
        // Kernels before 5.19 do not know the second flag: there a signal breaks off a question.
        done = set(&mut code, NEW_LISTENER);
    }
    let number = done?;
    // SAFETY: the kernel has just made this descriptor (close-on-exec) and nobody else has it.
    Ok(asks.then(|| unsafe { OwnedFd::from_raw_fd(number) }))
}

/// Puts a program before this thread. Returns the number that the kernel gives.
fn set(code: &mut [sock_filter], flags: libc::c_uint) -> io::Result<i32> {
    const SET_FILTER: libc::c_uint = 1;
    let program = sock_fprog {
        len: u16::try_from(code.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: code.as_mut_ptr(),
    };
    // SAFETY: the kernel copies `len` instructions from `filter`, which `code` holds until here.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, SET_FILTER, flags, &raw const program) };
    match i32::try_from(done) {
        Ok(..0) => Err(io::Error::last_os_error()),
        number => Ok(number.map_err(|_| io::ErrorKind::InvalidData)?),
    }
}

/// The whole program: a part for each architecture, and the end of whoever has another one.
fn program(filter: &Filter, wanted: impl Fn(&Architecture) -> bool) -> Vec<sock_filter> {
    let mut code = vec![load(ARCHITECTURE)];
    for architecture in ARCHITECTURES.iter().filter(|one| wanted(one)) {
        let part = part(filter, architecture.numbers);
        code.push(jump(BPF_JEQ, architecture.word, 1, 0));
        // A conditional jump reaches 255 instructions, this one any number.
        code.push(instruction(BPF_JMP | BPF_JA, part.len() as u32));
        code.extend(part);
    }
    code.push(result(KILL));
    code
}

/// Adds what a call is asked, if the architecture has it.
type On<'a> = dyn FnMut(&Row, &[sock_filter]) + 'a;

/// What is asked of one architecture's calls. Every way through it ends in a result.
fn part(filter: &Filter, numbers: Numbers) -> Vec<sock_filter> {
    let mut code = vec![load(NUMBER)];
    if numbers == Numbers::X86 {
        code.extend([jump(BPF_JGE, X32, 0, 1), denied()]);
    }
    let on: &mut On<'_> = &mut |row, body| {
        let number = row[numbers as usize];
        if number != NONE {
            code.push(jump(BPF_JEQ, number, 0, body.len() as u8));
            code.extend_from_slice(body);
        }
    };
    for (_, row, answer) in table::REFUSED {
        on(row, &[refused(*answer)]);
    }
    on(
        &table::CLONE,
        &[
            argument(0),
            jump(BPF_JSET, NEW_NAMESPACES, 0, 1),
            denied(),
            result(ALLOW),
        ],
    );
    let mut requests = TERMINAL_REQUESTS.to_vec();
    if filter.asks_before_signals {
        requests.extend(OWNER_REQUESTS);
    }
    on(&table::IOCTL, &none_of(1, &requests));
    on(&table::SOCKET, &sockets(&filter.families));
    on(&table::SOCKETPAIR, &sockets(&[libc::AF_UNIX as u32]));
    match filter.listening {
        Verdict::Allow => {}
        Verdict::Ask => on(&table::LISTEN, &[result(ASK)]),
        Verdict::Refuse => on(&table::LISTEN, &[errno(libc::EACCES)]),
    }
    if filter.asks_before_connecting {
        on(&table::CONNECT, &[result(ASK)]);
        on(&table::PRCTL, &stays_dumpable());
    }
    let attributes = match filter.attributes {
        Verdict::Allow => result(ALLOW),
        Verdict::Ask => result(ASK),
        Verdict::Refuse => denied(),
    };
    for (_, row, index) in table::MODES {
        on(row, &no_set_id(*index, attributes));
    }
    for (_, row, index) in table::MAKES {
        on(row, &no_set_id(*index, result(ALLOW)));
    }
    if filter.attributes != Verdict::Allow {
        on(&table::WATCH, &[attributes]);
        for (_, row) in table::ATTRIBUTES {
            on(row, &[errno(libc::EOPNOTSUPP)]);
        }
    }
    if filter.no_truncation {
        for (_, row) in table::TRUNCATES {
            on(row, &[denied()]);
        }
    }
    others(filter, on);
    on(&table::OPEN, &opening(1, filter.no_truncation));
    on(&table::OPENAT, &opening(2, filter.no_truncation));
    code.push(result(ALLOW));
    code
}

/// What is asked of calls by which one process reaches others.
fn others(filter: &Filter, on: &mut On<'_>) {
    if filter.asks_before_signals {
        for (_, row) in table::SIGNALS {
            on(row, &[result(ASK)]);
        }
        for (_, row) in table::DESCRIPTOR_SIGNALS {
            on(row, &[refused(Answer::Absent)]);
        }
    }
    let mut commands = vec![SET_LEASE];
    if filter.asks_before_signals {
        commands.extend(OWNER_COMMANDS);
    }
    for (_, row) in table::FCNTL {
        on(row, &none_of(1, &commands));
    }
    if filter.shares_machine {
        for (_, row, index, all) in table::STEERING {
            on(row, &itself(*index, *all));
        }
        for (_, row) in table::SHARED {
            on(row, &[denied()]);
        }
    }
}

/// Denies when the argument is one of the values.
fn none_of(index: u32, values: &[u32]) -> Vec<sock_filter> {
    let mut code = vec![argument(index)];
    for value in values {
        code.extend([jump(BPF_JEQ, *value, 0, 1), denied()]);
    }
    code.push(result(ALLOW));
    code
}

/// Allows sockets of these families; else EACCES, which people know.
fn sockets(families: &[u32]) -> Vec<sock_filter> {
    let unix = libc::AF_UNIX as u32;
    let mut code = vec![argument(0)];
    for family in families.iter().filter(|family| **family != unix) {
        code.extend([jump(BPF_JEQ, *family, 0, 1), result(ALLOW)]);
    }
    if families.contains(&unix) {
        code.extend([
            jump(BPF_JEQ, unix, 0, 5),
            argument(1),
            instruction(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE),
            jump(BPF_JEQ, libc::SOCK_STREAM as u32, 1, 0),
            jump(BPF_JEQ, libc::SOCK_SEQPACKET as u32, 0, 1),
            result(ALLOW),
        ]);
    }
    code.push(errno(libc::EACCES));
    code
}

/// Denies when the argument names another process than the caller, or the first one is `all`.
fn itself(index: u32, all: u32) -> [sock_filter; 7] {
    [
        argument(0),
        jump(BPF_JEQ, all, 0, 1),
        denied(),
        argument(index),
        jump(BPF_JEQ, 0, 1, 0),
        denied(),
        result(ALLOW),
    ]
}

/// Denies a mode with which a file lends its owner's or its group's rights.
fn no_set_id(index: u32, otherwise: sock_filter) -> [sock_filter; 4] {
    [
        argument(index),
        jump(BPF_JSET, SET_ID, 0, 1),
        denied(),
        otherwise,
    ]
}

/// Denies making a file with such a mode, and if asked to O_TRUNC without the right to write, which
/// Linux nevertheless obeys. The mode follows the flags.
fn opening(index: u32, no_truncation: bool) -> Vec<sock_filter> {
    let mut code = Vec::new();
    if no_truncation {
        let mask = (libc::O_ACCMODE | libc::O_TRUNC) as u32;
        code.extend([
            argument(index),
            instruction(BPF_ALU | BPF_AND | BPF_K, mask),
            jump(BPF_JEQ, (libc::O_RDONLY | libc::O_TRUNC) as u32, 0, 1),
            denied(),
        ]);
    }
    code.extend([argument(index), jump(BPF_JSET, CREATES, 0, 3)]);
    code.extend(no_set_id(index + 1, result(ALLOW)));
    code
}

/// Lets a process believe that it has closed its memory (prctl(2), PR_SET_DUMPABLE): the supervisor
/// could not take its descriptors any more. The filter keeps everybody else out anyway.
fn stays_dumpable() -> [sock_filter; 6] {
    [
        argument(0),
        jump(BPF_JEQ, SET_DUMPABLE, 0, 3),
        argument(1),
        jump(BPF_JEQ, 0, 0, 1),
        errno(0),
        result(ALLOW),
    ]
}

fn instruction(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

fn load(offset: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset)
}

/// The low half of an argument; what the filter asks about are `int`s for the kernel.
fn argument(index: u32) -> sock_filter {
    load(16 + 8 * index)
}

/// Jumps over so many instructions if the comparison holds, or if not.
fn jump(comparison: u32, k: u32, holds: u8, fails: u8) -> sock_filter {
    sock_filter {
        jt: holds,
        jf: fails,
        ..instruction(BPF_JMP | comparison | BPF_K, k)
    }
}

fn result(k: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, k)
}

fn errno(number: i32) -> sock_filter {
    result(libc::SECCOMP_RET_ERRNO | number as u32)
}

fn denied() -> sock_filter {
    refused(Answer::Denied)
}

fn refused(answer: Answer) -> sock_filter {
    errno(match answer {
        Answer::Denied => libc::EPERM,
        Answer::Absent => libc::ENOSYS,
    })
}

#[cfg(test)]
mod tests;
