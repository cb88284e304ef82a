//! The filter, run as the kernel would.

use super::*;

const ERRNO: u32 = libc::SECCOMP_RET_ERRNO;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const EACCES: u32 = libc::SECCOMP_RET_ERRNO | libc::EACCES as u32;

/// Runs the program as the kernel would (the few instructions that we use).
fn answer<const N: usize>(
    code: &[sock_filter],
    architecture: u32,
    number: u32,
    arguments: [u64; N],
) -> u32 {
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
        for number in [1, 3, 59, 63, 64] {
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
        shares_machine: true,
        no_truncation: true,
        listening: Verdict::Ask,
        asks_before_connecting: true,
        attributes: Verdict::Ask,
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
        assert_eq!(ask(table::FCNTL[0].1, [0, 1024, 1]), EPERM);
        assert_eq!(ask(table::IOCTL, [0, 0x8901, 0]), EPERM);
        for (name, row, index, all) in table::STEERING {
            let mut arguments = [9; 3];
            assert_eq!(ask(*row, arguments), EPERM, "{name}");
            arguments[*index as usize] = 0;
            assert_eq!(ask(*row, arguments), ALLOW, "{name}");
            if *all != NONE {
                arguments[0] = u64::from(*all);
                assert_eq!(ask(*row, arguments), EPERM, "{name}");
            }
        }
        for (name, row) in table::SHARED {
            assert!([EPERM, ALLOW].contains(&ask(*row, [0; 3])), "{name}");
        }
        assert_eq!(ask(table::LISTEN, [3, 5, 0]), ASK);
        assert_eq!(ask(table::CONNECT, [3, 5, 0]), ASK);
        assert_eq!(ask(table::WATCH, [3, 5, 0]), ASK);
        assert_eq!(ask(table::PRCTL, [4, 0, 0]), ERRNO);
        assert_eq!(ask(table::PRCTL, [4, 1, 0]), ALLOW);
        assert_eq!(ask(table::PRCTL, [15, 0, 0]), ALLOW);
        let truncate = libc::O_TRUNC as u64;
        assert_eq!(ask(table::OPENAT, [0, 0, truncate]), EPERM);
        assert_eq!(ask(table::OPENAT, [0, 0, truncate | 1]), ALLOW);
    });
}

#[test]
fn no_file_gets_a_mode_that_lends_rights() {
    let strict = Filter {
        attributes: Verdict::Ask,
        ..Filter::default()
    };
    for (filter, otherwise) in [(Filter::default(), ALLOW), (strict, ASK)] {
        let code = program(&filter, |_| true);
        each_architecture(|word, column| {
            let ask = |row: &Row, index: u32, mode| {
                let mut arguments = [0; 4];
                arguments[index as usize] = mode;
                let no_call = row[column] == NONE;
                (!no_call).then(|| answer(&code, word, row[column], arguments))
            };
            for (call, row, index) in table::MODES {
                for mode in [0o4755, 0o2755, 0o6000] {
                    assert_eq!(ask(row, *index, mode).unwrap_or(EPERM), EPERM, "{call:?}");
                }
                let plain = ask(row, *index, 0o1777).unwrap_or(otherwise);
                assert_eq!(plain, otherwise, "{call:?}");
            }
            for (name, row, index) in table::MAKES {
                assert_eq!(
                    ask(row, *index, 0o104_755).unwrap_or(EPERM),
                    EPERM,
                    "{name}"
                );
                assert_eq!(
                    ask(row, *index, 0o100_755).unwrap_or(ALLOW),
                    ALLOW,
                    "{name}"
                );
            }
            let open =
                |flags, mode| answer(&code, word, table::OPENAT[column], [0, 0, flags, mode]);
            assert_eq!(open(0o100, 0o4755), EPERM);
            assert_eq!(open(libc::O_TMPFILE as u64 | 2, 0o2755), EPERM);
            assert_eq!(open(0o101, 0o755), ALLOW);
            assert_eq!(
                open(0, 0o4755),
                ALLOW,
                "nothing is made, so this is no mode"
            );
        });
    }
}

#[test]
fn unix_sockets_have_a_connection_or_are_none() {
    let filter = Filter {
        families: vec![1, 2],
        ..Filter::default()
    };
    let code = program(&filter, |_| true);
    each_architecture(|word, column| {
        let ask = |row: Row, family, kind| answer(&code, word, row[column], [family, kind, 0]);
        for row in [table::SOCKET, table::SOCKETPAIR] {
            assert_eq!(ask(row, 1, 1), ALLOW);
            assert_eq!(ask(row, 1, 5 | libc::SOCK_CLOEXEC as u64), ALLOW);
            assert_eq!(ask(row, 1, 2), EACCES);
            assert_eq!(ask(row, 1, 3 | libc::SOCK_CLOEXEC as u64), EACCES);
            assert_eq!(ask(row, 38, 1), EACCES);
        }
        assert_eq!(ask(table::SOCKET, 2, 2), ALLOW);
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
    let mut here = ARCHITECTURES.iter().filter(|one| one.here);
    // A kernel for 64-bit ARM runs 32-bit programs, so both builds filter both; their own comes last on 32 bits.
    let own = match cfg!(target_arch = "arm") {
        true => here.next_back(),
        false => here.next(),
    };
    let column = own.unwrap().numbers as usize;
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
        (table::SOCKETPAIR, libc::SYS_socketpair),
        (table::CONNECT, libc::SYS_connect),
        (table::LISTEN, libc::SYS_listen),
        (table::PRCTL, libc::SYS_prctl),
        (table::WATCH, libc::SYS_inotify_add_watch),
        (table::MODES[1].1, libc::SYS_fchmod),
        (table::MODES[2].1, libc::SYS_fchmodat),
        (table::MAKES[2].1, libc::SYS_mknodat),
        (table::ATTRIBUTES[0].1, libc::SYS_setxattr),
        (table::ATTRIBUTES[5].1, libc::SYS_fremovexattr),
        (table::SHARED[0].1, libc::SYS_shmget),
        (table::SHARED[6].1, libc::SYS_semtimedop),
        (table::SHARED[11].1, libc::SYS_msgctl),
        (table::SHARED[13].1, libc::SYS_mq_unlink),
    ] {
        assert_eq!(Ok(row[column]), u32::try_from(number));
    }
}

#[test]
fn a_number_means_its_call_on_its_architecture() {
    each_architecture(|_, column| {
        let numbers = [Numbers::X86, Numbers::Generic, Numbers::Arm][column];
        assert_eq!(
            table::asked(numbers, table::LISTEN[column]),
            Some(Call::Listen)
        );
        assert_eq!(table::asked(numbers, 452), Some(Call::ModeAtFlags));
        assert_eq!(
            table::asked(numbers, table::SIGNALS[0].1[column]),
            Some(Call::Signal)
        );
        assert_eq!(table::asked(numbers, table::SOCKET[column]), None);
        assert_eq!(table::asked(numbers, NONE), None);
    });
}
