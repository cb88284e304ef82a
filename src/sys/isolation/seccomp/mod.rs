//! A system call filter, written as BPF by ourselves because no crate has it for 32-bit ARM.
//!
//! It refuses what no tool needs (see `table`) and lets everything else through. It is not the boundary
//! but the ditch before it: less of the kernel can be reached, and a few things that neither
//! namespaces nor Landlock cover are closed. Layout of what it reads: `struct seccomp_data` in
//! seccomp(2); all our architectures are little-endian.

#![expect(unsafe_code, reason = "prctl(2) gets a pointer to the filter")]

pub mod notify;
mod table;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W, sock_filter, sock_fprog,
};
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
/// Requests that type into a terminal (TIOCSTI, TIOCLINUX) or change its driver (TIOCSETD).
const TERMINAL_REQUESTS: [u32; 3] = [0x5412, 0x541c, 0x5423];
/// Requests that name who gets a descriptor's signals: FIOSETOWN and SIOCSPGRP, and for fcntl
/// F_SETOWN and F_SETOWN_EX.
const OWNER_REQUESTS: [u32; 2] = [0x8901, 0x8902];
const OWNER_COMMANDS: [u32; 2] = [8, 15];

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

/// What the filter refuses beyond the calls that it always refuses.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Socket families that may be opened (`AF_*`).
    pub families: Vec<u32>,
    /// Has the supervisor decide about each signal; see [`install`].
    pub asks_before_signals: bool,
    /// Lets a process change its own limits and priorities only: where there is no process namespace
    /// it could else do that to every process of its user.
    pub steers_itself_only: bool,
    /// Refuses cutting files off by their path or by opening them to read: Landlock before its
    /// third version does not see that.
    pub no_truncation: bool,
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
    const SET_FILTER: libc::c_uint = 1;
    const NEW_LISTENER: libc::c_uint = 8;
    let mut code = program(filter, |architecture| architecture.here);
    let program = sock_fprog {
        len: u16::try_from(code.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: code.as_mut_ptr(),
    };
    let asks = filter.asks_before_signals;
    let flags = if asks { NEW_LISTENER } else { 0 };
    // SAFETY: the kernel copies `len` instructions from `filter`, which `code` holds until here.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, SET_FILTER, flags, &raw const program) };
    let number = i32::try_from(done).map_err(|_| io::ErrorKind::InvalidData)?;
    match (number, asks) {
        (..0, _) => Err(io::Error::last_os_error()),
        (_, false) => Ok(None),
        // SAFETY: the kernel has just made this descriptor (close-on-exec) and nobody else has it.
        (descriptor, true) => Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) })),
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

/// What is asked of one architecture's calls. Every way through it ends in a result.
fn part(filter: &Filter, numbers: Numbers) -> Vec<sock_filter> {
    let mut code = vec![load(NUMBER)];
    if numbers == Numbers::X86 {
        code.extend([jump(BPF_JGE, X32, 0, 1), denied()]);
    }
    let mut on = |row: &Row, body: &[sock_filter]| {
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
    on(&table::SOCKET, &one_of(0, &filter.families));
    if filter.asks_before_signals {
        for (_, row) in table::SIGNALS {
            on(row, &[result(ASK)]);
        }
        for (_, row) in table::DESCRIPTOR_SIGNALS {
            on(row, &[refused(Answer::Absent)]);
        }
        for (_, row) in table::FCNTL {
            on(row, &none_of(1, &OWNER_COMMANDS));
        }
    }
    if filter.steers_itself_only {
        for (_, row, index) in table::STEERING {
            on(row, &itself(*index));
        }
    }
    if filter.no_truncation {
        for (_, row) in table::TRUNCATES {
            on(row, &[denied()]);
        }
        on(&table::OPEN, &no_reading_truncation(1));
        on(&table::OPENAT, &no_reading_truncation(2));
        on(&table::OPENAT2, &[refused(Answer::Absent)]);
    }
    code.push(result(ALLOW));
    code
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

/// Allows only when the argument is one of the values; else EACCES, which people know.
fn one_of(index: u32, values: &[u32]) -> Vec<sock_filter> {
    let mut code = vec![argument(index)];
    for value in values {
        code.extend([jump(BPF_JEQ, *value, 0, 1), result(ALLOW)]);
    }
    code.push(errno(libc::EACCES));
    code
}

/// Denies when the argument names another process than the caller.
fn itself(index: u32) -> [sock_filter; 4] {
    [
        argument(index),
        jump(BPF_JEQ, 0, 1, 0),
        denied(),
        result(ALLOW),
    ]
}

/// Denies O_TRUNC without the right to write, which Linux nevertheless obeys.
fn no_reading_truncation(index: u32) -> [sock_filter; 5] {
    let mask = (libc::O_ACCMODE | libc::O_TRUNC) as u32;
    [
        argument(index),
        instruction(BPF_ALU | BPF_AND | BPF_K, mask),
        jump(BPF_JEQ, (libc::O_RDONLY | libc::O_TRUNC) as u32, 0, 1),
        denied(),
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
mod tests {
    use super::*;

    const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    const EACCES: u32 = libc::SECCOMP_RET_ERRNO | libc::EACCES as u32;

    /// Runs the program as the kernel would (the few instructions that we use).
    fn answer(code: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 3]) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(architecture.to_le_bytes());
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut at, mut a) = (0, 0);
        loop {
            let step = &code[at];
            at += 1;
            let fork = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match u32::from(step.code) {
                0x20 => {
                    let from = step.k as usize;
                    a = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                }
                0x54 => a &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += fork(a == step.k),
                0x35 => at += fork(a >= step.k),
                0x45 => at += fork(a & step.k != 0),
                0x06 => return step.k,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    fn each_architecture(check: impl Fn(u32, usize)) {
        for architecture in &ARCHITECTURES {
            check(architecture.word, architecture.numbers as usize);
        }
    }

    #[test]
    fn what_stands_in_the_table_is_refused_and_the_rest_is_not() {
        let code = program(&Filter::default(), |_| true);
        assert!(table::REFUSED.len() > 50);
        each_architecture(|word, column| {
            for (name, row, expected) in table::REFUSED {
                if row[column] != NONE {
                    let expected = match expected {
                        Answer::Denied => EPERM,
                        Answer::Absent => ENOSYS,
                    };
                    assert_eq!(answer(&code, word, row[column], [0; 3]), expected, "{name}");
                }
            }
            for number in [0, 1, 3, 59, 63, 64] {
                assert_eq!(answer(&code, word, number, [0; 3]), ALLOW, "{number}");
            }
        });
    }

    #[test]
    fn a_foreign_architecture_ends_the_process() {
        let code = program(&Filter::default(), |one| one.here);
        assert_eq!(answer(&code, 0x4000_0003, 1, [0; 3]), KILL);
        assert!(ARCHITECTURES.iter().any(|one| one.here));
        for other in ARCHITECTURES.iter().filter(|one| !one.here) {
            assert_eq!(answer(&code, other.word, 1, [0; 3]), KILL);
        }
        let code = program(&Filter::default(), |_| true);
        assert_eq!(answer(&code, 0xc000_003e, X32 | 1, [0; 3]), EPERM);
    }

    #[test]
    fn arguments_decide_where_a_call_is_needed() {
        let filter = Filter {
            families: vec![2, 10],
            asks_before_signals: true,
            steers_itself_only: true,
            no_truncation: true,
        };
        let code = program(&filter, |_| true);
        each_architecture(|word, column| {
            let ask = |row: Row, arguments| answer(&code, word, row[column], arguments);
            assert_eq!(ask(table::CLONE, [0x11, 0, 0]), ALLOW);
            assert_eq!(ask(table::CLONE, [0x1000_0011, 0, 0]), EPERM);
            assert_eq!(ask(table::IOCTL, [0, 0x5401, 0]), ALLOW);
            assert_eq!(ask(table::IOCTL, [0, 0x5412, 0]), EPERM);
            assert_eq!(ask(table::IOCTL, [0, 0xffff_ffff_0000_5412, 0]), EPERM);
            assert_eq!(ask(table::SOCKET, [2, 0, 0]), ALLOW);
            assert_eq!(ask(table::SOCKET, [1, 0, 0]), EACCES);
            for (name, row) in table::SIGNALS {
                assert_eq!(ask(*row, [77, 9, 0]), ASK, "{name}");
            }
            assert_eq!(ask(table::FCNTL[0].1, [0, 8, 77]), EPERM);
            assert_eq!(ask(table::FCNTL[0].1, [0, 4, 0]), ALLOW);
            assert_eq!(ask(table::IOCTL, [0, 0x8901, 0]), EPERM);
            for (name, row, index) in table::STEERING {
                let mut arguments = [9; 3];
                assert_eq!(ask(*row, arguments), EPERM, "{name}");
                arguments[*index as usize] = 0;
                assert_eq!(ask(*row, arguments), ALLOW, "{name}");
            }
            let truncate = libc::O_TRUNC as u64;
            assert_eq!(ask(table::OPENAT, [0, 0, truncate]), EPERM);
            assert_eq!(ask(table::OPENAT, [0, 0, truncate | 1]), ALLOW);
            assert_eq!(ask(table::OPENAT2, [0; 3]), ENOSYS);
        });
    }

    #[test]
    fn without_families_there_are_no_sockets() {
        let code = program(&Filter::default(), |_| true);
        each_architecture(|word, column| {
            assert_eq!(
                answer(&code, word, table::SOCKET[column], [1, 0, 0]),
                EACCES
            );
        });
    }

    /// The table is written by hand; the compiler's headers know the numbers of this machine.
    #[test]
    fn the_numbers_are_those_of_the_headers() {
        let here = ARCHITECTURES.iter().find(|one| one.here).unwrap();
        let column = here.numbers as usize;
        let in_table = |name: &str| {
            let found = table::REFUSED.iter().find(|(call, ..)| *call == name);
            found.unwrap_or_else(|| panic!("{name}")).1[column]
        };
        for (name, number) in [
            ("ptrace", libc::SYS_ptrace),
            ("mount", libc::SYS_mount),
            ("umount2", libc::SYS_umount2),
            ("unshare", libc::SYS_unshare),
            ("setns", libc::SYS_setns),
            ("bpf", libc::SYS_bpf),
            ("keyctl", libc::SYS_keyctl),
            ("reboot", libc::SYS_reboot),
            ("clone3", libc::SYS_clone3),
            ("perf_event_open", libc::SYS_perf_event_open),
            ("userfaultfd", libc::SYS_userfaultfd),
            ("finit_module", libc::SYS_finit_module),
            ("open_by_handle_at", libc::SYS_open_by_handle_at),
        ] {
            assert_eq!(Ok(in_table(name)), u32::try_from(number), "{name}");
        }
        for (row, number) in [
            (table::CLONE, libc::SYS_clone),
            (table::IOCTL, libc::SYS_ioctl),
            (table::SOCKET, libc::SYS_socket),
            (table::OPENAT, libc::SYS_openat),
        ] {
            assert_eq!(Ok(row[column]), u32::try_from(number));
        }
    }
}
