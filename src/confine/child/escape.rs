//! Tries to get out, from inside, by the system calls themselves, and says what happened: a line
//! for each attempt, `held NAME` or `out NAME`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::process::Pid;

use crate::sys::attempt;

/// What the daemon tells the attempts: where its bait is.
pub mod bait {
    /// A file with a secret.
    pub const SECRET: &str = "SECRET";
    /// A folder outside, and a socket in it.
    pub const FOLDER: &str = "FOLDER";
    /// The daemon's number.
    pub const DAEMON: &str = "DAEMON";
    /// A port on which the daemon listens, if the network is to be shut.
    pub const PORT: &str = "PORT";
    /// The name of the socket in the folder.
    pub const SOCKET: &str = "bait.sock";
    /// The name of the file that an attempt makes in the folder.
    pub const FILE: &str = "bait.out";
}

/// Makes every attempt and ends the process.
pub fn try_everything(told: &[(OsString, OsString)]) -> ! {
    let find = |name: &str| {
        let found = told.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_os_str())
            .unwrap_or_default()
    };
    let mut report = String::new();
    for (name, got_out) in attempts(&find) {
        report.push_str(if got_out { "out " } else { "held " });
        report.push_str(name);
        report.push('\n');
    }
    let mut rest = report.as_bytes();
    while let Ok(length) = rustix::io::write(rustix::stdio::stdout(), rest) {
        rest = &rest[length..];
        if rest.is_empty() {
            std::process::exit(0);
        }
    }
    std::process::exit(1)
}

fn attempts<'a>(find: &impl Fn(&str) -> &'a OsStr) -> Vec<(&'static str, bool)> {
    let secret = PathBuf::from(find(bait::SECRET));
    let folder = PathBuf::from(find(bait::FOLDER));
    let number = |name: &str| {
        find(name)
            .to_str()
            .and_then(|text| text.parse::<i32>().ok())
    };
    let daemon = number(bait::DAEMON).and_then(Pid::from_raw);
    let of_daemon = |file: &str| {
        PathBuf::from(format!(
            "/proc/{}/{file}",
            number(bait::DAEMON).unwrap_or(0)
        ))
    };
    let readable = |path: &PathBuf| fs::read(path).is_ok_and(|content| !content.is_empty());
    let writable = |path: &str| OpenOptions::new().append(true).open(path).is_ok();
    let devices = [
        "/dev/mem",
        "/dev/sda",
        "/dev/vda",
        "/dev/mmcblk0",
        "/dev/nvme0n1",
    ];
    let mut made = vec![
        ("read a secret", readable(&secret)),
        (
            "read the daemon's environment",
            readable(&of_daemon("environ")),
        ),
        (
            "read the daemon's files",
            readable(&of_daemon("root").join(secret.strip_prefix("/").unwrap_or(&secret))),
        ),
        (
            "write outside",
            fs::write(folder.join(bait::FILE), "x").is_ok(),
        ),
        (
            "write to /etc",
            writable("/etc/passwd") || fs::write("/etc/peacrab-bait", "").is_ok(),
        ),
        (
            "write to the kernel's settings",
            writable("/proc/sys/kernel/core_pattern"),
        ),
        (
            "open a disk",
            devices.iter().any(|path| fs::File::open(path).is_ok()),
        ),
        (
            "signal the daemon",
            daemon.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok()),
        ),
        ("trace the daemon", daemon.is_some_and(attempt::trace)),
        (
            "reach a service's socket",
            UnixStream::connect(folder.join(bait::SOCKET)).is_ok(),
        ),
        ("keep an open file", attempt::descriptors_from(3) > 0),
        (
            "mount",
            attempt::mount_over(&std::env::current_dir().unwrap_or_default()),
        ),
        ("ask for the kernel's keys", attempt::keyring()),
        ("watch the kernel", attempt::performance_events()),
        ("change the root", rustix::process::chroot("/").is_ok()),
        ("gain rights", attempt::gain_rights()),
    ];
    if let Some(port) = number(bait::PORT).and_then(|port| u16::try_from(port).ok()) {
        made.push((
            "reach the network",
            TcpStream::connect(("127.0.0.1", port)).is_ok(),
        ));
    }
    // The last, for everything after it would be tried with other rights.
    made.push(("make a user namespace", attempt::new_user_namespace()));
    made
}
