//! A filter for a process that only computes: it has memory and its open pipes, and nothing else of the kernel.

use std::io;

use libc::{BPF_JEQ, c_long};

use super::{ALLOW, ARCHITECTURE, ARCHITECTURES, KILL, NUMBER, denied, jump, load, result};

/// Memory by the name that the architecture has for it.
#[cfg(target_arch = "arm")]
const MAP: c_long = libc::SYS_mmap2;
#[cfg(not(target_arch = "arm"))]
const MAP: c_long = libc::SYS_mmap;

/// The calls of a program that has started: reading, writing, memory, and its end.
const CALLS: [c_long; 18] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    MAP,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Puts the filter before this thread, for good: every other call fails. Needs `no_new_privs`.
pub fn install() -> io::Result<()> {
    let own = ARCHITECTURES.iter().find(|one| one.is_of_this_build());
    let own = own.ok_or(io::ErrorKind::Unsupported)?;
    let mut code = vec![
        load(ARCHITECTURE),
        jump(BPF_JEQ, own.word, 1, 0),
        result(KILL),
        load(NUMBER),
    ];
    for call in CALLS {
        code.extend([jump(BPF_JEQ, call as u32, 0, 1), result(ALLOW)]);
    }
    code.push(denied());
    super::set(&mut code, 0).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_left_is_memory_and_open_pipes() {
        let (mut pipe, mut end) = io::pipe().unwrap();
        // A filter is of one thread.
        let filtered = std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            install().unwrap();
            let memory = vec![7_u8; 16 << 20];
            let failures = [
                File::open("/proc/self/status").map(drop),
                File::create("/tmp/x").map(drop),
                TcpListener::bind("127.0.0.1:0").map(drop),
                Command::new("/bin/true").spawn().map(drop),
            ];
            io::Write::write_all(&mut end, &memory[..4]).unwrap();
            failures.map(|tried| tried.map_err(|error| error.kind()))
        });
        let denied = Err(io::ErrorKind::PermissionDenied);
        assert_eq!(filtered.join().unwrap(), [denied; 4]);
        let mut read = [0; 4];
        io::Read::read_exact(&mut pipe, &mut read).unwrap();
        assert_eq!(read, [7; 4]);
    }
}
